"""Listings of loops, read back."""
