"""Sums without terms that are 0 since a factor lies outside of its tensor: the law of
`drop_padding`, read off the new equations.

    specification:   sum(k: X[f(k) | 0] * w[k])
    implementation:  sum(k where c: X[f(k) | 0] * w[k])

Wherever a term is left out, f(k) is no index of X, so that the term is 0 * w[k]: 0 or -0 if w[k] is
finite, which changes no sum that starts at 0. Nothing here is shared with the step.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from texpr.ir.build import compare, conjunction, negation
from texpr.ir.expr import Const, Expr, Guard, Read, Reduce, index
from texpr.ir.tensor import Equation
from texpr.ir.traverse import equal, rewrite, walk
from texpr.poly.certificate.engine.isl_frame import Frame, Parameters
from texpr.poly.certificate.engine.obligations import Refuted, conjuncts
from texpr.poly.certificate.rewrites.derivation import Derivation, factors_of_floats
from texpr.support.frozen_dataclass import replace


def check(derivation: Derivation) -> tuple[Derivation, list[str]]:
    """Apply the rewrite to the specification: leave out the terms that the implementation leaves
    out.

    Raises:
        Refuted: a term that is left out may be another number than 0.
    """
    specification, implementation = derivation.specification, derivation.implementation
    if len(specification.equations) != len(implementation.equations):
        return derivation, []
    equations = list(specification.equations)
    names: list[str] = []
    for k, (old, new) in enumerate(zip(specification.equations, implementation.equations)):
        if not isinstance(old, Equation) or not isinstance(new, Equation):
            continue
        if pairs := _shortened_sums(old, new):
            for full, reduction in pairs:
                _check_dropped_terms(new, full, reduction, derivation.parameters, derivation.facts)
            equations[k] = new
            names.append(new.target.name)
    return derivation.specified(equations), names


def _shortened_sums(old: Equation, new: Equation) -> list[tuple[Reduce, Reduce]]:
    """Sums of the new equation with and without the terms that it leaves out; nothing if it
    differs in anything else.
    """
    before, after = ([n for n in walk(e.value) if isinstance(n, Reduce)] for e in (old, new))
    pairs = [
        (replace(b, where=_first_conjuncts(b.where, _count(a.where))), b)
        for a, b in zip(before, after)
        if _count(b.where) > _count(a.where)
    ]
    full = {id(b): a for a, b in pairs}
    restored = rewrite(new, lambda n: full.get(id(n)))
    return pairs if len(before) == len(after) and equal(old, restored) else []


def _count(where: Expr | None) -> int:
    return 0 if where is None else len(conjuncts(where))


def _first_conjuncts(where: Expr | None, count: int) -> Expr | None:
    return conjunction(*conjuncts(where)[:count]) if where is not None and count else None


def _check_dropped_terms(
    e: Equation, full: Reduce, fewer: Reduce, parameters: Parameters, facts: isl.Set
) -> None:
    """Prove that every term that is left out has a factor that is 0."""
    assert fewer.where is not None
    axes = (*e.axes, *full.axes)
    frame = Frame(parameters, [a.var for a in axes])
    ranges = [c for a in axes for c in (compare("<=", a.lo, a.var), compare("<", a.var, a.hi))]
    known = [c for c in (e.where, full.where) if c is not None]
    in_bounds = [c for read in _padded_factors(full.body) for c in _in_bounds(read)]
    plain = frame.abstract(conjunction(*ranges, *known, *in_bounds, negation(fewer.where)))
    failing = frame.holds(conjunction(plain, frame.bounds())) & frame.universe().intersect_params(facts)
    if full.op != "sum" or not full.dtype.is_float or not failing.is_empty():
        raise Refuted(
            "values", f"the sum of {e.target.name} is without a term that is not 0", None, frame, failing
        )


def _padded_factors(term: Expr) -> Iterator[Read]:
    """Factors of a term that are 0 outside of their tensor."""
    for factor in factors_of_floats(term):
        match factor:
            case Read(guard=Guard("value", Const(0))):
                yield factor


def _in_bounds(read: Read) -> Iterator[Expr]:
    for i, size in zip(read.indices, read.tensor.shape):
        yield compare("<=", index(0), i)
        yield compare("<", i, size)
