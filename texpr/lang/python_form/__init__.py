"""Operators written as Python functions."""
