"""Recurrences on CPUs."""
