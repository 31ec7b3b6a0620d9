"""Unrolled loops are written out, and those of one iteration inside of others or around loops
for threads, and of few that ask which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr.ir.affine import Linear, linear
from texpr.ir.build import TRUE, integer
from texpr.ir.dtypes import I64
from texpr.ir.expr import Compare, Const, Expr, Sub, Var, index
from texpr.ir.index.overflow import is_wild
from texpr.ir.loop import For, If, Kernel, Stmt
from texpr.ir.loop_kind import PARALLEL, SERIAL, UNROLLED, InstructionNest
from texpr.ir.traverse import statements
from texpr.passes.analysis.substitution import folded, folded_anew
from texpr.support.frozen_dataclass import replace

MOST_GUARDED_ITERATIONS = 8
"""Iterations of a triangle's last tile, at most, where what each does is all that is written."""


def expand_unrolled(kernel: Kernel, *, launches: bool = True) -> Kernel:
    """for v in 0..2 unroll: S   ->   S[v := 0]; S[v := 1]        for w: for v in 0..1: S   ->   for w: S[v := 0]

    for v in 0..2: if v < 1: S   if v < 2: T   ->   S[v := 0]; T[v := 0]; T[v := 1]

    Args:
        launches: an outermost loop may be a launch: one of a single iteration stays, unless it
            holds loops for threads.
    """
    body = _all(kernel.body, {}, False, inside=not launches)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _all(
    body: tuple[Stmt, ...], values: Mapping[Var, Expr], anew: bool, inside: bool = True
) -> tuple[Stmt, ...]:
    """Statements where variables have these values, written out: itself where nothing changes.

    Args:
        anew: the result is to stand beside another copy.
        inside: no loop among them is a launch.
    """
    new = tuple(n for s in body for n in _expanded(s, values, anew, inside))
    return body if len(new) == len(body) and all(a is b for a, b in zip(new, body)) else new


def _expanded(s: Stmt, values: Mapping[Var, Expr], anew: bool, inside: bool) -> Sequence[Stmt]:
    """One statement. Every copy of what stands inside is written once, however many loops around
    it are unrolled.
    """
    match s:
        case If(cond, body):
            cond, body = _at(cond, values), _all(body, values, anew)
            if getattr(cond, "value", None) is False or not body:
                return ()
            return (s,) if cond is s.cond and body is s.body else (If(cond, body),)
        case For(var, extent):
            s = _in_loops(s) if isinstance(s.kind, InstructionNest) else s
            extent, body = _at(extent, values), s.body
            if s.kind == UNROLLED or _is_single(s, extent) and (inside or _has_threads(s)):
                return _iterations(replace(s, extent=extent), values, anew)
            own = replace(var) if anew else var
            body = _all(body, {**values, var: own} if anew else values, anew)
            # Nor is its extent read: that the array has such an element may be what a condition
            # inside says.
            if not body:
                return ()
            loop = (
                s
                if body is s.body and own is var and extent is s.extent
                else replace(s, var=own, extent=extent, body=body)
            )
            return _iterations(loop, {}, False) if _asks_which(loop) else (loop,)
    return (folded_anew(s, values),) if anew else (folded(s, values),) if values else (s,)


def _in_loops(nest: For) -> For:
    """The nest of an instruction, whose loops are not written out, however they are marked."""
    if not any(isinstance(n, For) and n.kind == UNROLLED for n in statements(nest)):
        return nest
    body = tuple(_in_loops(s) if isinstance(s, For) else s for s in nest.body)
    return replace(nest, body=body, kind=SERIAL if nest.kind == UNROLLED else nest.kind)


def _iterations(loop: For, values: Mapping[Var, Expr], anew: bool) -> list[Stmt]:
    n = integer(loop.extent)
    assert n is not None, "an unrolled loop has a constant extent"
    return [new for k in range(n) for new in _all(loop.body, {**values, loop.var: index(k)}, anew or k > 0)]


def _at(e: Expr, values: Mapping[Var, Expr]) -> Expr:
    return folded(e, values) if values and type(e) is not Const else e


def _is_single(loop: For, extent: Expr) -> bool:
    return loop.kind in (SERIAL, PARALLEL) and integer(extent) == 1


def _has_threads(loop: For) -> bool:
    return any(isinstance(n, For) and n.kind == PARALLEL for n in statements(*loop.body))


def _asks_which(loop: For) -> bool:
    """True if each statement stands under a condition that says of the iterations alone which run
    it, and a third of all is left out.
    """
    n, asked = (
        integer(loop.extent) or 0,
        [_of_iterations(s.cond, loop.var) for s in loop.body if isinstance(s, If)],
    )
    conditions = [c for c in asked if c is not None]
    if (
        loop.kind != SERIAL
        or not 1 < n <= MOST_GUARDED_ITERATIONS
        or not 1 < len(conditions) == len(loop.body)
    ):
        return False
    runs = sum(folded(c, {loop.var: index(k)}) is TRUE for c in conditions for k in range(n))
    return 3 * runs <= 2 * n * len(conditions)


def _of_iterations(c: Expr, var: Var) -> Compare | None:
    """608 * i + j < 608 * i + 7   ->   j < 7, if that is what a condition comes to; None if it
    asks for anything else.
    """
    if not isinstance(c, Compare) or c.lhs.dtype != I64 or is_wild(c):
        return None
    form = linear(Sub(c.lhs, c.rhs))
    return (
        replace(c, lhs=Linear(form.terms, 0).expr(), rhs=index(-form.constant))
        if [t for t, _ in form.terms] == [var]
        else None
    )
