"""Arithmetic of indices: digits, bounds, overflow."""
