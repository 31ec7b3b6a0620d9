"""Passes over tensor IR."""
