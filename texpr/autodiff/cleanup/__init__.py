"""Derivatives made short: simplification, common parts, bounds of reads."""
