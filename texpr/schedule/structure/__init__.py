"""Nests, loops and accesses as steps see them."""
