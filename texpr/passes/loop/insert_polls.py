"""Loops ask now and then whether the user pressed Ctrl-C."""

from __future__ import annotations

from texpr.ir.affine import ceiling
from texpr.ir.build import add, floordiv, minimum, mul, sub
from texpr.ir.expr import Node, Var, index
from texpr.ir.index.overflow import interval_of
from texpr.ir.loop import For, If, Kernel, Poll, Stmt
from texpr.ir.loop_kind import PARALLEL, SERIAL, VECTOR, InstructionNest
from texpr.ir.traverse import rewrite
from texpr.passes.analysis.substitution import folded
from texpr.support.frozen_dataclass import replace

# Iterations of the innermost bodies between two polls: well under a millisecond of work even if
# each calls a slow function on a vector, and some thousand times the cost of a poll. Loops below
# `SHORT` in all need none.
WORK = 1 << 12
SHORT = 1 << 16
_UNKNOWN = 1 << 20


def insert_polls(kernel: Kernel) -> Kernel:
    """Put a poll at the head of each loop body that is worth it: the innermost bodies with at least
    `WORK` below them, and all above.

    A loop with many cheap iterations is cut into strips first: `for v in 0..n` with a poll per
    strip of `WORK` iterations.
    """

    def rule(node: Node) -> Node | None:
        if not isinstance(node, For | If | Kernel):
            return None
        return replace(node, body=tuple(_polled(s) for s in node.body))

    return rewrite(kernel, rule, keep=_vector_or_leaf)  # type: ignore[return-value]


def _vector_or_leaf(node: Node) -> bool:
    return not isinstance(node, For | If | Kernel) or (isinstance(node, For) and _is_one(node))


def _is_one(loop: For) -> bool:
    """True if all iterations run at once, in lanes."""
    return loop.kind == VECTOR or isinstance(loop.kind, InstructionNest)


def _polled(s: Stmt) -> Stmt:
    if not isinstance(s, For) or s.kind not in (SERIAL, PARALLEL) or any(isinstance(b, Poll) for b in s.body):
        return s
    below = sum(work(b) for b in s.body)
    if below >= WORK or (s.kind == PARALLEL and below * (ceiling(s.extent) or _UNKNOWN) >= WORK):
        return replace(s, body=(Poll(), *s.body))
    extent = ceiling(s.extent)
    if extent is not None and below * extent < SHORT:
        return s
    return _strips(s, max(1, WORK // max(1, below)))


def _strips(loop: For, length: int) -> Stmt:
    """Strips of `length` iterations; the last one has what is left."""
    outer, inner = Var(loop.var.name + "o"), Var(loop.var.name + "i")
    start = mul(outer, index(length))
    body: tuple[Stmt, ...] = tuple(folded(b, {loop.var: add(start, inner)}) for b in loop.body)
    left = minimum(index(length), sub(loop.extent, start))
    strips = floordiv(add(loop.extent, index(length - 1)), index(length))
    return For(outer, strips, (Poll(), For(inner, left, body, tensor=loop.tensor)), loop.kind, loop.tensor)


def work(s: Stmt) -> int:
    """A lower bound on how many innermost statement instances a statement runs; symbolic extents
    count as many.
    """
    total = 0
    stack: list[tuple[Stmt, int]] = [(s, 1)]
    while stack:
        node, times = stack.pop()
        if isinstance(node, For):
            if isinstance(node.kind, InstructionNest):
                total += times
                continue
            extent = ceiling(node.extent)
            times = times * (_UNKNOWN if extent is None else 1 if node.kind == VECTOR else extent)
            stack += [(b, times) for b in node.body]
        elif isinstance(node, If):
            stack += [(b, times) for b in node.body]
        else:
            total += times
    return total


def most_work(kernel: Kernel, largest: int) -> int:
    """An upper bound on how many innermost bodies a kernel runs, a vector counted as one, where no
    size is above `largest`.

    Where an extent is not bounded by sizes, such as one that data gives, it is as much as any.
    """
    known: dict[Var, tuple[int, int] | None] = {size: (0, largest) for size in kernel.sizes}
    total = 0
    stack: list[tuple[Stmt, int]] = [(s, 1) for s in kernel.body]
    while stack:
        node, times = stack.pop()
        if isinstance(node, For) and not isinstance(node.kind, InstructionNest):
            count = interval_of(node.extent, known)
            most = _UNKNOWN if count is None else max(0, count[1])
            known[node.var] = None if count is None else (0, max(0, most - 1))
            stack += [(b, times * (1 if node.kind == VECTOR else most)) for b in node.body]
        elif isinstance(node, If):
            stack += [(b, times) for b in node.body]
        else:
            total += times
    return total
