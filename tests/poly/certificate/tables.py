"""Kernels put together of parts, and what is said of them: tables for single arguments of the
certificate.
"""

from __future__ import annotations

import texpr as tx
from texpr.compiler.pass_pipeline import ready
from texpr.lang import parse_kernel
from texpr.poly.certificate import certify

Rows = dict[str, tuple[str, str, str]]
"""By name: an operator, loops, and the obligation that is not proven; nothing if the loops are
right.
"""


def under(head: str, *parts: str) -> str:
    """Statements in a loop or under a condition."""
    return f"\n{head}" + "".join(parts).replace("\n", "\n  ")


def kernel(head: str, *parts: str) -> str:
    """A kernel of these statements."""
    return f"kernel {head}" + "".join(parts).replace("\n", "\n  ") + "\n"


def out(head: str) -> str:
    """The head of a kernel, from that of an operator."""
    inputs, _, output = head.partition("-> ")
    return f"{inputs}-> ({output.strip('()')})"


def changed(op: str, loops: str, rows: dict[str, tuple[str, str, str]]) -> Rows:
    """Kernels in which something stands in the place of a part of the text."""
    assert all(old in loops for old, _, _ in rows.values())
    return {name: (op, loops.replace(old, new), obligation) for name, (old, new, obligation) in rows.items()}


def refused(op: str, loops: str) -> str:
    """The obligation that is not proven of loops; nothing if all are."""
    try:
        certify(parse_kernel(loops), ready(tx.op(op).program()))
    except tx.ScheduleError as e:
        assert e.code == "certificate", str(e)
        return e.label
    return ""
