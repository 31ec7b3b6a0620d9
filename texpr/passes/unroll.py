"""Unrolled loops are written out, and those of one iteration inside of others or around loops for threads."""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.build import integer
from texpr.ir.expr import Node, index
from texpr.ir.loop import For, If, Kernel, Stmt
from texpr.ir.traverse import is_plain, rewrite
from texpr.passes.renew import folded, folded_anew


def expand_unrolled(kernel: Kernel) -> Kernel:
    """for v in 0..2 unroll: S   ->   S[v := 0]; S[v := 1]        for w: for v in 0..1: S   ->   for w: S[v := 0]"""

    def rule(node: Node) -> Node | None:
        if not isinstance(node, For | If | Kernel):
            return None
        body: list[Stmt] = []
        inside = not isinstance(node, Kernel)  # an outermost loop may be a launch, unless it holds loops for threads
        for s in node.body:
            single = isinstance(s, For) and _is_single(s) and (inside or any(isinstance(b, For) and b.kind == "parallel" for b in s.body))
            body += _copies(s) if isinstance(s, For) and (s.kind == "unroll" or single) else (s,)
        return None if all(a is b for a, b in zip(body, node.body)) and len(body) == len(node.body) else replace(node, body=tuple(body))

    return rewrite(kernel, rule, keep=is_plain)  # type: ignore[return-value]


def _is_single(loop: For) -> bool:
    return loop.kind == "serial" and integer(loop.extent) == 1


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
