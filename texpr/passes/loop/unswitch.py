"""Conditions that are the same in all iterations of an innermost loop are asked before it."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.build import negation
from texpr.ir.expr import Expr, Node
from texpr.ir.loop import For, If, Kernel, Stmt
from texpr.ir.loop_kind import SERIAL, VECTOR
from texpr.ir.traverse import equal, is_plain, rewrite, statements, tensors, variables
from texpr.passes.analysis.substitution import folded_anew
from texpr.support.frozen_dataclass import replace


def unswitch(kernel: Kernel) -> Kernel:
    """for k in 0..n: S   if c: T   ->   if c: for k in 0..n: S   T        if not c: for k in 0..n: S

    Where a single condition is asked, so that there are two loops; what is under it then is no
    branch between sums in registers. The condition that all statements stand under leaves the loop
    in `tighten_bounds`.
    """

    def rule(node: Node) -> Node | None:
        if not isinstance(node, For | If | Kernel):
            return None
        body = [new for s in node.body for new in (_apart(s) if isinstance(s, For) else (s,))]
        return None if len(body) == len(node.body) else replace(node, body=tuple(body))

    return rewrite(kernel, rule, keep=is_plain)  # type: ignore[return-value]


def _apart(loop: For) -> Sequence[Stmt]:
    """The loop where its condition holds, and where it does not."""
    condition = _asked(loop)
    if condition is None:
        return (loop,)
    whole = tuple(each for s in loop.body for each in (s.body if isinstance(s, If) else (s,)))
    rest = replace(loop, body=tuple(s for s in loop.body if not isinstance(s, If)))
    return If(condition, (replace(loop, body=whole),)), If(negation(condition), (folded_anew(rest, {}),))


def _asked(loop: For) -> Expr | None:
    """The one condition of an innermost loop, beside statements without, if it is of loops
    around alone.
    """
    conditions = [s.cond for s in loop.body if isinstance(s, If)]
    counting = [n for n in statements(*loop.body) if isinstance(n, For) and n.kind != VECTOR]
    if loop.kind != SERIAL or not conditions or len(conditions) == len(loop.body) or counting:
        return None
    first = conditions[0]
    fixed = loop.var not in variables(first) and not tensors(first)
    return first if fixed and all(equal(first, c) for c in conditions) else None
