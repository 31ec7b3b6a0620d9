"""Expressions of indices in terms of other indices of the same element: solved for, with quotients
and remainders put together.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from texpr.ir.affine import Linear, linear
from texpr.ir.build import add, mul
from texpr.ir.dtypes import I64
from texpr.ir.expr import Const, Expr, FloorDiv, Mod, Read, Select, Sub, Tensor, Var, index
from texpr.ir.traverse import children, variables, walk, with_children
from texpr.poly.certificate.engine.isl_frame import structurally_equal
from texpr.poly.certificate.engine.program_semantics import Total
from texpr.support.frozen_dataclass import replace

Invariant = Set[Var | Tensor]
"""Variables, and tensors, that are the same for all instances in question."""


def reindex(e: Expr, cells: Sequence[Expr], invariant: Invariant, to: Sequence[Expr]) -> Expr | None:
    """`e`, an expression of loops whose `cells` are these, in terms of other indices of the same
    element; None if they do not tell.

    Depth is that of what a copy copies.
    """
    if isinstance(e, Read) and e.tensor not in invariant:
        return None
    if isinstance(e, Read) and len(e.indices) == len(cells):
        offsets = [linear(Sub(i, c)) for i, c in zip(e.indices, cells)]
        if not any(_variant_terms(f, invariant) for f in offsets):
            return replace(e, indices=tuple(add(t, f.expr()) for t, f in zip(to, offsets)))
    below = children(e)
    if e.dtype == I64 and not isinstance(e, Read | Total | Select):
        return _solve_for_indices(e, cells, invariant, to)
    if not below:
        return e
    new = [reindex(c, cells, invariant, to) if isinstance(c, Expr) else c for c in below]
    return None if any(n is None for n in new) else with_children(e, tuple(new))  # type: ignore[return-value]


def _with_dividends(cells: Sequence[Expr], to: Sequence[Expr]) -> list[tuple[Expr, Expr]]:
    """Add the dividend of each pair of a quotient and a remainder, as an index of its own."""
    found = list(zip(cells, to))
    for cell, there in found:  # Grows.
        match cell:
            case Mod(dividend, Const(value) as n) if value:
                quotient = next(
                    (
                        t
                        for c, t in found
                        if isinstance(c, FloorDiv)
                        and structurally_equal(c.rhs, n)
                        and structurally_equal(c.lhs, dividend)
                    ),
                    None,
                )
                found += [] if quotient is None else [(dividend, add(mul(quotient, n), there))]
    return found


def recombine_quotients(e: Expr) -> Expr:
    """Recombine quotients and remainders: `x // 4 * 4 + x % 4` is x."""
    form = linear(e)
    for rest, c in form.terms:
        match rest:
            case Mod(dividend, Const(n)) if n:
                for quotient, d in form.terms:
                    if (
                        isinstance(quotient, FloorDiv)
                        and d == c * n
                        and structurally_equal(quotient.rhs, rest.rhs)
                        and (structurally_equal(quotient.lhs, dividend))
                    ):
                        others = Linear(
                            tuple(t for t in form.terms if t[0] is not rest and t[0] is not quotient),
                            form.constant,
                        )
                        return recombine_quotients(add(others.expr(), mul(dividend, index(c))))
    return e


def _solve_for_indices(
    e: Expr, cells: Sequence[Expr], invariant: Invariant, to: Sequence[Expr]
) -> Expr | None:
    rest_form, result = linear(e), index(0)
    if any(isinstance(c, Mod) for c in cells):
        cells, to = zip(*_with_dividends(cells, to))
    for cell, target in zip(cells, to):
        rest = _subtract(rest_form, cell, 1)
        if _variant_terms(rest_form, invariant) and not _variant_terms(rest, invariant):
            return recombine_quotients(add(target, rest.expr()))
    order = sorted(range(len(cells)), key=lambda k: len(_variant_terms(linear(cells[k]), invariant)))
    for k in order:
        inner = _variant_terms(linear(cells[k]), invariant)
        if not inner:
            continue
        term, c = inner[0]
        mine = next((d for t, d in rest_form.terms if structurally_equal(t, term)), 0)
        if mine == 0 or mine % c:
            continue
        rest_form = _subtract(rest_form, cells[k], mine // c)
        result = add(result, mul(to[k], index(mine // c)))
    for term, c in _variant_terms(rest_form, invariant):
        parts = [reindex(part, cells, invariant, to) for part in _of_division(term)]
        if not parts or any(part is None for part in parts):
            return None
        rest_form = _subtract(rest_form, term, c)
        result = add(result, mul(with_children(term, tuple(parts)), index(c)))  # type: ignore[arg-type]
    return recombine_quotients(add(result, rest_form.expr()))


def _of_division(e: Expr) -> tuple[Expr, ...]:
    """The operands of a quotient or remainder; none of any other expression."""
    return (e.lhs, e.rhs) if isinstance(e, FloorDiv | Mod) else ()


def _subtract(form: Linear, e: Expr, factor: int) -> Linear:
    return linear(add(form.expr(), mul(e, index(-factor))))


def _variant_terms(form: Linear, invariant: Invariant) -> list[tuple[Expr, int]]:
    """The terms that differ between instances within the lifetime of the buffer."""
    return [
        (t, c)
        for t, c in form.terms
        if not variables(t) <= invariant
        or not {n.tensor for n in walk(t) if isinstance(n, Read)} <= invariant
    ]
