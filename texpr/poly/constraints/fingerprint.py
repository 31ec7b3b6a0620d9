"""Structural fingerprints of expressions."""

from __future__ import annotations

from dataclasses import fields

from texpr.ir.expr import Axis, Expr, Node, Var
from texpr.ir.traverse import children


def fingerprint(e: Expr) -> tuple:
    """A hashable value that is equal for structurally equal expressions over the same variables and
    tensors.

    What reductions bind counts by its position: `argmax(i: X[i])` and `argmax(j: X[j])` are one
    value.
    """
    bound: dict[Var, int] = {}
    numbers: dict[int, int] = {}
    entries: dict[tuple, int] = {}
    stack: list[tuple[Node, bool]] = [(e, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in numbers:
            continue
        if not ready:
            stack.append((node, True))
            stack += [(c, False) for c in reversed(children(node))]
            continue
        rest = tuple(
            getattr(node, f.name)
            for f in fields(node)  # type: ignore[arg-type]
            if f.name != "span" and f.name not in node.parts
        )
        own = (
            bound.get(node, node)
            if isinstance(node, Var)
            else bound.setdefault(node.var, len(bound))
            if isinstance(node, Axis)
            else rest
        )
        numbers[id(node)] = entries.setdefault(
            (type(node), own, tuple(numbers[id(c)] for c in children(node))), len(entries)
        )
    return tuple(entries)
