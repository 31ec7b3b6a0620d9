"""Elementwise nests on CPUs."""
