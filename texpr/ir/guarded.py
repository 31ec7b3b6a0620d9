"""Reads in expressions, and when they happen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from texpr.ir.build import negation
from texpr.ir.expr import Expr, Node, Read, Select
from texpr.ir.traverse import children


def guarded_reads(roots: Sequence[Expr]) -> Iterator[tuple[Read, tuple[Expr, ...]]]:
    """Reads with what the selections around them say where they happen."""
    stack: list[tuple[Node, tuple[Expr, ...]]] = [(e, ()) for e in roots]
    while stack:
        node, facts = stack.pop()
        if isinstance(node, Read):
            yield node, facts
        if isinstance(node, Select):
            stack += [
                (node.cond, facts),
                (node.then, (*facts, node.cond)),
                (node.orelse, (*facts, negation(node.cond))),
            ]
        else:
            stack += [(c, facts) for c in children(node)]
