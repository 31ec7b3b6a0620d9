"""Bars: what was promised of a measurement."""

from __future__ import annotations


def verdict(value: float, bar: float | None) -> str:
    """`over` where a value is above its bar, else nothing."""
    return "over" if bar is not None and value > bar else ""
