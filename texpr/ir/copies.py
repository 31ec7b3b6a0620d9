"""Stores that copy: what asynchronous ones may be."""

from __future__ import annotations

from typing import NamedTuple

from texpr.ir.build import TRUE
from texpr.ir.expr import Const, Expr, Read, Select
from texpr.ir.loop import Store


class Copy(NamedTuple):
    """An element that is stored as it is where `within` holds, and 0 elsewhere."""

    source: Read
    within: Expr


def copy_of(s: Store) -> Copy | None:
    """The copy that a store makes; None if it computes something."""
    match s.value:
        case _ if s.update is not None:
            return None
        case Read() as read:
            return Copy(read, TRUE)
        case Select(within, Read() as read, Const(0) as zero) if str(zero.value) in (
            "0",
            "0.0",
        ):  # not -0.0, nor False
            return Copy(read, within)
    return None
