"""`prefetch`: elements asked for some iterations early."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr import poly
from texpr.ir.build import add, compare, conjunction, integer, minimum, sub
from texpr.ir.expr import Axis, Expr, Read, Tensor, Var, index
from texpr.ir.loop import For, If, Kernel, Prefetch, Stmt, Store
from texpr.ir.loop_kind import UNROLLED, VECTOR, InstructionNest
from texpr.ir.traverse import equal, walk
from texpr.passes.analysis.substitution import folded
from texpr.schedule.analysis.access import Access
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, loops_around, replace_loops, span_of, stores
from texpr.schedule.structure.tensors import find_tensor
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

FARTHEST = 1 << 20
LINE = 64
"""Bytes that come from memory at once."""


@step(order_of_sums="kept")
def prefetch(
    kernel: Kernel, tensor: str, loop: str | Var, distance: int, *, at: str | Var | None = None
) -> Kernel:
    """Ask for what reads of a tensor need `distance` iterations of `loop` later. A hint: always
    legal. Software prefetching elsewhere.

    for k in 0..n: S[A[i, k]]   -- prefetch("A", "k", 8) -->   for k in 0..n: { prefetch A[i, min(k + 8, n - 1)]; S[A[i, k]] }

    It stands in front of each statement that reads or updates the tensor, outside of vector and
    unrolled loops, and asks for their first element. For lanes that lie side by side it asks for
    each cache line. In front of an instruction, and of lanes into which rows are woven, it asks for
    each row that they take. It follows a buffer into another layout, and goes where its tensor
    goes. Machines that have no such instruction leave it out.

    Args:
        distance: 1 to 2^20 iterations.
        at: the only loop in which it stands, if not in all that read the tensor: one inside of
            `loop` that computes while memory is idle.
    Raises:
        ScheduleError: no such tensor, nothing under the loops reads it, a bad distance, or an
            address that depends on data which might not be there that early.
    Source: Mowry, Lam and Gupta, Design and Evaluation of a Compiler Algorithm for Prefetching,
    ASPLOS 1992.
    Example:
        op = tx.op("op rows(X: f32[M, N]) -> y: f32[M] { y[i] = sum(j: X[i, j]) }")
        s = tx.schedule(op)
        s.prefetch("X", "i", 4)
    Refused:
        op = tx.op('''op chained(X: f32[N], at: i32[M] in 0..N) -> y: f32[M] {
          h[i] = X[i] * 2
          y[i] = h[at[i]]
        }''')
        tx.schedule(op).prefetch("X", "y.i", 4)
    Elsewhere: Halide `prefetch`; TVM none; Exo none; MLIR `memref.prefetch` (an operation).
    """
    t, found = find_tensor(kernel, tensor), find_loops(kernel, loop)
    if not isinstance(distance, int) or isinstance(distance, bool) or not 1 <= distance <= FARTHEST:
        raise ScheduleError(
            f"prefetch distance {distance!r} is not an integer from 1 to 2^20",
            span_of(kernel, found[0]),
            code="prefetch",
        )
    within = found if at is None else find_loops(kernel, at)
    users = [n for n in found if any(_reads(s, t) for inner in _below(n, within) for s in stores(inner))]
    if not users:
        place = "" if at is None else f"`{within[0].var.name}` under "
        raise ScheduleError(
            f"nothing under {place}`{found[0].var.name}` reads {tensor}",
            span_of(kernel, found[0]),
            code="prefetch",
            help=f"name a loop around a statement that reads {tensor}",
        )
    for n in users:
        _check_addresses(kernel, n, t, distance)
    return replace_loops(kernel, users, lambda n: replace(n, body=_with_prefetches(n, t, distance, within)))


def _ahead(loop: For, distance: int) -> Mapping[Var, Expr]:
    return {loop.var: minimum(add(loop.var, index(distance)), sub(loop.extent, index(1)))}


def _reads(s: Store, t: Tensor) -> list[Read]:
    """The different reads of the tensor in a statement; an update is one."""
    found: list[Read] = [Read(t, s.indices)] if s.tensor is t and s.update is not None else []
    for n in walk(*s.indices, s.value):
        if isinstance(n, Read) and n.tensor is t and not any(equal(n, other) for other in found):
            found.append(n)
    return found


def _below(loop: For, within: Sequence[For]) -> list[For]:
    """The given loops that are the loop or lie in it."""
    return [n for n in walk(loop) if isinstance(n, For) and any(n is other for other in within)]


def _with_prefetches(loop: For, t: Tensor, distance: int, within: Sequence[For]) -> tuple[Stmt, ...]:
    """The body of the loop with a prefetch in front of each reader in one of the loops `within`."""
    ahead = _ahead(loop, distance)
    inside = {id(s) for n in _below(loop, within) for s in stores(n)}

    def over(s: Stmt, woven: bool = False) -> tuple[Stmt, ...]:
        match s:
            case Store():
                return (
                    *(
                        Prefetch(t, tuple(folded(i, ahead) for i in r.indices))
                        for r in _reads(s, t)
                        if id(s) in inside
                    ),
                    s,
                )
            case For(kind=InstructionNest()):
                return (
                    *(
                        _lines(s, r, ahead)
                        for each in stores(s)
                        for r in _reads(each, t)
                        if id(each) in inside
                    ),
                    s,
                )
            case For() | If():
                below = [b for each in s.body for b in over(each, isinstance(s, For) and s.kind == VECTOR)]
                if isinstance(s, For) and s.kind not in (VECTOR, UNROLLED):
                    return (replace(s, body=tuple(below)),)
                hints = [b for b in below if _is_hint(b)]
                lines = (
                    line for b in hints for line in (_in_front(s, b, woven) if isinstance(s, For) else (b,))
                )
                return (*lines, replace(s, body=tuple(b for b in below if not any(b is h for h in hints))))
        return (s,)

    return tuple(p for s in loop.body for p in over(s))


def _is_hint(s: Stmt) -> bool:
    """True if a statement only prefetches: it is a prefetch, or a loop of nothing else."""
    return isinstance(s, Prefetch) or isinstance(s, For) and all(map(_is_hint, s.body))


def _in_front(loop: For, hint: Stmt, woven: bool) -> tuple[Stmt, ...]:
    """Prefetches in front of a loop of the elements its iterations need: the first of each line
    along lanes, each row that is woven into lanes, the first element of others.
    """
    extent = integer(loop.extent)
    if not (loop.kind == VECTOR or woven) or extent is None or not isinstance(hint, Prefetch):
        return (folded(hint, {loop.var: index(0)}),)
    elements, stride = LINE // hint.tensor.dtype.bytes, Access(hint.tensor, hint.indices).stride(loop.var)
    apart = range(extent) if woven and (stride or 0) >= elements else (0,)
    starts = range(0, extent, elements) if stride == 1 else apart
    return tuple(folded(hint, {loop.var: index(n)}) for n in starts)


def _lines(nest: For, read: Read, ahead: Mapping[Var, Expr]) -> Stmt:
    """A prefetch in front of an instruction, for each row that it takes of the tensor: in loops
    along which elements lie apart.
    """
    access = Access(read.tensor, read.indices)
    loops = [n for n in walk(nest) if isinstance(n, For)]
    apart = [n for n in loops if (access.stride(n.var) or 0) * read.tensor.dtype.bytes >= LINE]
    first = {n.var: index(0) for n in loops if n not in apart}
    hint: Stmt = Prefetch(read.tensor, tuple(folded(i, {**ahead, **first}) for i in read.indices))
    for n in reversed(apart):
        again = replace(n.var)
        hint = For(again, n.extent, (folded(hint, {n.var: again}),), tensor=n.tensor)
    return hint


def _check_addresses(kernel: Kernel, loop: For, t: Tensor, distance: int) -> None:
    """Data that addresses depend on exist that early, whatever conditions hold."""
    ahead = _ahead(loop, distance)
    stack: list[tuple[Stmt, tuple[For, ...]]] = [(s, (*loops_around(kernel, loop), loop)) for s in loop.body]
    while stack:
        node, around = stack.pop()
        if isinstance(node, For | If):
            stack += [(s, (*around, node) if isinstance(node, For) else around) for s in node.body]
        if not isinstance(node, Store):
            continue
        axes = [Axis(n.var, index(0), n.extent) for n in around]
        for data in (
            d
            for r in _reads(node, t)
            for i in r.indices
            for d in walk(folded(i, ahead))
            if isinstance(d, Read)
        ):
            inside = conjunction(
                *(
                    c
                    for i, n in zip(data.indices, data.tensor.shape)
                    for c in (compare("<=", index(0), i), compare("<", i, n))
                )
            )
            if data.tensor not in kernel.inputs or not poly.always(inside, axes, kernel.requires):
                raise ScheduleError(
                    f"the address of {t.name} depends on {data.tensor.name}, which may not have an element "
                    f"that early",
                    span_of(kernel, node),
                    code="prefetch",
                    help=f"prefetch {data.tensor.name} instead",
                )
