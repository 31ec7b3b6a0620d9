"""Layouts of copies that default schedules ask for."""

from __future__ import annotations

from texpr.ir.expr import Tensor


def layout_with_last_dim(buffer: Tensor, last: int) -> str:
    """A layout with that dimension last."""
    names = "abcdefghijklmnop"[: buffer.rank]
    return f"{' '.join(names)} -> {' '.join(n for d, n in enumerate(names) if d != last)} {names[last]}"
