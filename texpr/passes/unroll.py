"""Unrolled loops are written out, and those of one iteration inside of others or around loops for threads, and of few that ask which."""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.affine import Linear, linear
from texpr.ir.build import TRUE, integer
from texpr.ir.dtypes import I64
from texpr.ir.expr import Compare, Expr, Node, Sub, Var, index
from texpr.ir.loop import For, If, Kernel, Stmt
from texpr.ir.reach import is_wild
from texpr.ir.traverse import is_plain, rewrite, statements
from texpr.passes.renew import folded, folded_anew

FEW = 8
"""Iterations of a triangle's last tile, at most, where what each does is all that is written."""


def expand_unrolled(kernel: Kernel) -> Kernel:
    """for v in 0..2 unroll: S   ->   S[v := 0]; S[v := 1]        for w: for v in 0..1: S   ->   for w: S[v := 0]

    for v in 0..2: if v < 1: S   if v < 2: T   ->   S[v := 0]; T[v := 0]; T[v := 1]
    """

    def rule(node: Node) -> Node | None:
        if not isinstance(node, For | If | Kernel):
            return None
        body: list[Stmt] = []
        inside = not isinstance(node, Kernel)  # an outermost loop may be a launch, unless it holds loops for threads
        for s in node.body:
            single = isinstance(s, For) and _is_single(s) and (inside or _has_threads(s))
            body += _copies(s) if isinstance(s, For) and (s.kind == "unroll" or single or _asks_which(s)) else (s,)
        return None if all(a is b for a, b in zip(body, node.body)) and len(body) == len(node.body) else replace(node, body=tuple(body))

    return rewrite(kernel, rule, keep=is_plain)  # type: ignore[return-value]


def _is_single(loop: For) -> bool:
    return loop.kind == "serial" and integer(loop.extent) == 1


def _has_threads(loop: For) -> bool:
    return any(isinstance(n, For) and n.kind == "parallel" for n in statements(loop))


def _asks_which(loop: For) -> bool:
    """Whether each statement stands under a condition that says of the iterations alone which run it, and a third of all is left out."""
    n, asked = integer(loop.extent) or 0, [_of_iterations(s.cond, loop.var) for s in loop.body if isinstance(s, If)]
    conditions = [c for c in asked if c is not None]
    if loop.kind != "serial" or not 1 < n <= FEW or not 1 < len(conditions) == len(loop.body):
        return False
    runs = sum(folded(c, {loop.var: index(k)}) is TRUE for c in conditions for k in range(n))
    return 3 * runs <= 2 * n * len(conditions)


def _of_iterations(c: Expr, var: Var) -> Compare | None:
    """608 * i + j < 608 * i + 7   ->   j < 7, if that is what a condition comes to; None if it asks for anything else."""
    if not isinstance(c, Compare) or c.lhs.dtype != I64 or is_wild(c):
        return None
    form = linear(Sub(c.lhs, c.rhs))
    return replace(c, lhs=Linear(form.terms, 0).expr(), rhs=index(-form.constant)) if [t for t, _ in form.terms] == [var] else None


def _copies(loop: For) -> list[Stmt]:
    extent = integer(loop.extent)
    assert extent is not None, "an unrolled loop has a constant extent"
    result: list[Stmt] = []
    for k in range(extent):
        for s in loop.body:
            new = (folded_anew if k else folded)(s, {loop.var: index(k)})
            if not _never(new):
                result.append(new)
    return result


def _never(s: Stmt) -> bool:
    return isinstance(s, If) and getattr(s.cond, "value", None) is False
