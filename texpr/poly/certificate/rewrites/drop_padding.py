"""Sums without terms that are 0 since a factor lies outside of its tensor: what `trim` claims, read off the new equations.

Said: sum(k: X[f(k) | 0] * w[k]). Computed: sum(k where c: X[f(k) | 0] * w[k]). Wherever a term is left out, f(k) is no index of X, so that
the term is 0 * w[k]: 0 or -0 if w[k] is finite, which changes no sum that starts at 0. Nothing here is shared with the step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

from texpr.ir.build import compare, conjunction, negation
from texpr.ir.expr import Cast, Const, Expr, Mul, Read, Reduce, index
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import equal, rewrite, walk
from texpr.poly.certificate.engine.isl_frame import Frame, Parameters
from texpr.poly.certificate.engine.obligations import Refuted, conjuncts


def with_trimmed(said: Program, computed: Program, parameters: Parameters, facts: isl.Set) -> tuple[Program, tuple[str, ...]]:
    """What is said, with the equations of another program that say the same but for such terms in their places; their targets' names.

    Raises:
        Refuted: a term that is left out may be another number than 0.
    """
    if len(said.equations) != len(computed.equations):
        return said, ()
    equations = list(said.equations)
    names: list[str] = []
    for k, (old, new) in enumerate(zip(said.equations, computed.equations)):
        pairs = [] if equal(old, new) or not isinstance(old, Equation) or not isinstance(new, Equation) else _fewer(old, new)
        if pairs and isinstance(new, Equation):
            for whole, reduction in pairs:
                _check(new, whole, reduction, parameters, facts)
            equations[k] = new
            names.append(new.target.name)
    return replace(said, equations=tuple(equations)), tuple(names)


def _fewer(old: Equation, new: Equation) -> list[tuple[Reduce, Reduce]]:
    """Sums of the new equation with and without the terms that it leaves out; nothing if it differs in anything else."""
    before, after = ([n for n in walk(e.value) if isinstance(n, Reduce)] for e in (old, new))
    pairs = [(replace(b, where=_first(b.where, _count(a.where))), b) for a, b in zip(before, after) if _count(b.where) > _count(a.where)]
    whole = {id(b): a for a, b in pairs}
    restored = rewrite(new, lambda n: whole.get(id(n)))
    return pairs if len(before) == len(after) and equal(old, restored) else []


def _count(where: Expr | None) -> int:
    return 0 if where is None else len(conjuncts(where))


def _first(where: Expr | None, count: int) -> Expr | None:
    return conjunction(*conjuncts(where)[:count]) if where is not None and count else None


def _check(e: Equation, whole: Reduce, fewer: Reduce, parameters: Parameters, facts: isl.Set) -> None:
    """A term that is left out has a factor that is 0."""
    assert fewer.where is not None
    axes = (*e.axes, *whole.axes)
    frame = Frame(parameters, [a.var for a in axes])
    ranges = [c for a in axes for c in (compare("<=", a.lo, a.var), compare("<", a.var, a.hi))]
    known = [c for c in (e.where, whole.where) if c is not None]
    there = [c for read in _zeros(whole.body) for c in _inside(read)]
    plain = frame.plain(conjunction(*ranges, *known, *there, negation(fewer.where)))
    left = frame.holds(conjunction(plain, frame.bounds())) & frame.universe().intersect_params(facts)
    if whole.op != "sum" or not whole.dtype.is_float or not left.is_empty():
        raise Refuted("values", f"the sum of {e.target.name} is without a term that is not 0", None, frame, left)


def _zeros(term: Expr) -> Iterator[Read]:
    """Factors of a term that are 0 outside of their tensor. Depth is that of the product."""
    match term:
        case Mul(a, b):
            yield from _zeros(a)
            yield from _zeros(b)
        case Cast(a) if term.dtype.is_float and a.dtype.is_float:
            yield from _zeros(a)
        case Read(guard=guard) if guard is not None and guard.mode == "value" and isinstance(guard.value, Const) and guard.value.value == 0:
            yield term


def _inside(read: Read) -> Iterator[Expr]:
    for i, size in zip(read.indices, read.tensor.shape):
        yield compare("<=", index(0), i)
        yield compare("<", i, size)
