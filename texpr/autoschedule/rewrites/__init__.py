"""Choices of algebraic rewrites for default schedules."""
