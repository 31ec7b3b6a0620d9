"""Layouts of copies that default schedules ask for."""

from __future__ import annotations

from string import ascii_lowercase

from texpr.ir.expr import Tensor


def dimension_names(buffer: Tensor) -> str:
    """A letter for each dimension, as layouts name them; `y` and `z` are free."""
    return ascii_lowercase[:24][: buffer.rank]


def layout_with_last_dim(buffer: Tensor, last: int) -> str:
    """A layout with that dimension last."""
    names = dimension_names(buffer)
    return f"{' '.join(names)} -> {' '.join(n for d, n in enumerate(names) if d != last)} {names[last]}"
