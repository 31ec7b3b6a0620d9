"""Derivatives of expressions and functions, and what both modes share."""
