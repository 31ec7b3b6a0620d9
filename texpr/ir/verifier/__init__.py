"""Invariants of programs and loops, checked between passes."""
