"""Reverse mode: adjoints of programs."""
