"""Sums of products that are products of sums: the law of `factor_out` and `premultiply`, read off
the new equations.

    specification:   Y[i, l] = sum(j, k: A[i, j] * B[j, k] * C[k, l])
    implementation:  T[j, l] = sum(k: B[j, k] * C[k, l]),  Y[i, l] = sum(j: A[i, j] * T[j, l])

The LAW holds of numbers, and of integers that wrap; floats are rounded otherwise. T may be a
product alone, a sum over no index. With its sum in the place of every read of T, each equation must
be the specified one but for the order of its factors and indices. A term that a condition of T
leaves out is one that the specified sum has not either, or 0. Nothing here is shared with the
steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from texpr.ir.affine import linear
from texpr.ir.build import add, compare, conjunction
from texpr.ir.expr import Axis, Expr, Mul, Node, Read, Reduce, Sub, Var
from texpr.ir.index.float_lower_bounds import single_definitions
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import children, equal, rewrite, substitute, walk
from texpr.poly.certificate.engine.obligations import conjuncts
from texpr.poly.certificate.rewrites.derivation import Derivation, with_counterparts
from texpr.support.frozen_dataclass import frozen, replace

LAW = "sum(a * b) = sum(a) * b"


def check(derivation: Derivation) -> tuple[Derivation, list[str]]:
    """Undo the rewrite in the implementation: put specified sums of products in the place of
    products of sums.

    Named are the targets of floats: integers are not rounded.
    """
    implementation, known = derivation.implementation, derivation.specified_names()
    sums = {
        name: e
        for name, e in single_definitions(implementation).items()
        if name not in known and _is_sum_or_product(e)
    }
    equations: list[Equation | Invoke] = []
    names: list[str] = []
    replaced: list[Equation] = []
    for new, old in with_counterparts(implementation, derivation.specification):
        restored = (
            _as_specified(old, new, sums)
            if old is not None and isinstance(new, Equation) and not equal(old, new)
            else None
        )
        equations.append(new if restored is None else restored)
        if restored is not None and isinstance(new, Equation):
            replaced.append(new)
            names += [restored.target.name] if restored.target.dtype.is_float else []
    return derivation.implemented(_without_unused(equations, replaced, sums)), names


def _without_unused(
    equations: Sequence[Equation | Invoke], replaced: list[Equation], sums: Mapping[str, Equation]
) -> tuple[Equation | Invoke, ...]:
    """The equations without the sums that nothing reads now.

    Args:
        replaced: equations in whose place others stand.
    """
    used = list(equations)
    while replaced:
        for name in {n.tensor.name for n in walk(replaced.pop()) if isinstance(n, Read)} & sums.keys():
            if not any(isinstance(n, Read) and n.tensor.name == name for n in walk(*used)):
                replaced.append(sums[name])
                used = [e for e in used if e is not sums[name]]
    return tuple(used)


def _is_sum_or_product(e: Equation) -> bool:
    """True if an equation has a sum, or a product, for each element, and no conditions of its
    own.
    """
    alone = e.where is None and e.guard is None and e.value.dtype == e.target.dtype
    return alone and (isinstance(e.value, Mul) or isinstance(e.value, Reduce) and e.value.op == "sum")


@frozen
class _Terms:
    """A sum of products: its indices, factors and conditions."""

    axes: tuple[Axis, ...]
    factors: tuple[Expr, ...]
    conditions: tuple[Expr, ...]


def _as_specified(old: Equation, new: Equation, sums: Mapping[str, Equation]) -> Equation | None:
    """The specified equation, with further conditions of its sum if the new one has any; None if
    the new one, with sums in the place of its reads, is another one.
    """
    if len(new.axes) != len(old.axes):
        return None
    into = {a.var: b.var for a, b in zip(new.axes, old.axes)}
    renamed = replace(
        substitute(new, into), axes=tuple(replace(substitute(a, into), var=into[a.var]) for a in new.axes)
    )
    old_product, new_product = (
        _find_product_of_sums(old.value, {}),
        _find_product_of_sums(renamed.value, sums),
    )
    if (
        old_product is None
        or new_product is None
        or old_product.dtype != new_product.dtype
        or not _has_inner_sum(new_product, sums)
    ):
        return None
    wanted, found = _terms(old_product, old.axes, {}), _terms(new_product, old.axes, sums)
    reductions = [n for n in walk(old_product) if isinstance(n, Reduce)]
    with_new_product = rewrite(old, lambda n: new_product if n is old_product else None)
    if wanted is None or found is None or len(reductions) != 1 or not equal(with_new_product, renamed):
        return None
    more = _extra_conditions(found, wanted, old)
    if not more:
        return None if more is None else old
    fewer = replace(reductions[0], where=conjunction(*_conditions(reductions[0]), *more))
    return rewrite(old, lambda n: fewer if n is reductions[0] else None)


def _find_product_of_sums(value: Expr, sums: Mapping[str, Equation]) -> Expr | None:
    """The one product in a value that has sums, or elements that are such; None if there are
    several.
    """
    stack: list[Node] = [value]
    found: list[Expr] = []
    while stack:
        n = stack.pop()
        if isinstance(n, Reduce) or isinstance(n, Mul) and any(_is_sum(f, sums) for f in _factors(n)):
            found.append(n)
        else:
            stack += children(n)
    return found[0] if len(found) == 1 else None


def _has_inner_sum(e: Expr, sums: Mapping[str, Equation]) -> bool:
    """True if a factor of a product, or of the terms of a sum, is a sum."""
    return any(_is_sum(f, sums) for f in _factors(e.body if isinstance(e, Reduce) else e))


def _is_sum(e: Expr, sums: Mapping[str, Equation]) -> bool:
    return isinstance(e, Reduce) or isinstance(e, Read) and e.tensor.name in sums


def _factors(e: Expr) -> Iterator[Expr]:
    """The factors of a product. Depth is that of the product."""
    if isinstance(e, Mul):
        yield from _factors(e.lhs)
        yield from _factors(e.rhs)
    else:
        yield e


def _conditions(e: Reduce) -> tuple[Expr, ...]:
    return () if e.where is None else tuple(conjuncts(e.where))


def _terms(e: Expr, around: tuple[Axis, ...], sums: Mapping[str, Equation]) -> _Terms | None:
    """A product of sums as one sum of products; None where it is none. Depth is that of the sums in
    each other.

    Args:
        around: the indices that it stands under.
    """
    axes: tuple[Axis, ...] = ()
    factors: list[Expr] = []
    conditions: tuple[Expr, ...] = ()
    for f in _factors(e):
        is_sum = isinstance(f, Read) and f.tensor.name in sums
        inner = _element(f, around, sums) if isinstance(f, Read) and is_sum else f
        if (
            inner is None
            or isinstance(inner, Reduce)
            and (inner.op != "sum" or inner.dtype != inner.body.dtype)
        ):
            return None
        if not is_sum and not isinstance(inner, Reduce):
            factors.append(f)
            continue
        axes_inside, body = (inner.axes, inner.body) if isinstance(inner, Reduce) else ((), inner)
        below = _terms(body, (*around, *axes_inside), sums)
        if below is None:
            return None
        axes += (*axes_inside, *below.axes)
        factors += below.factors
        conditions += (*(_conditions(inner) if isinstance(inner, Reduce) else ()), *below.conditions)
    return _Terms(axes, tuple(factors), conditions)


def _element(read: Read, around: Sequence[Axis], sums: Mapping[str, Equation]) -> Expr | None:
    """The sum or product that an element is, if its equation has that element: each of its
    indices is one around, of the same range.
    """
    e = sums[read.tensor.name]
    values: dict[Var, Expr] = {}
    for axis, i, at in zip(e.axes, e.indices, read.indices, strict=True):
        index_here = (
            at if i is axis.var else add(at, i.rhs) if isinstance(i, Sub) and i.lhs is axis.var else None
        )
        axis_around = (
            None
            if index_here is None
            else next((a for a in around if equal(linear(index_here).expr(), a.var)), None)
        )
        if axis_around is None:
            return None
        values[axis.var] = axis_around.var
    for axis in e.axes:
        axis_around = next(a for a in around if a.var is values[axis.var])
        if not all(
            map(
                equal,
                (substitute(axis.lo, values), substitute(axis.hi, values)),
                (axis_around.lo, axis_around.hi),
            )
        ):
            return None
    return substitute(e.value, values)


def _extra_conditions(found: _Terms, wanted: _Terms, e: Equation) -> list[Expr] | None:
    """The conditions that a sum has and another one, which is the same otherwise, has not; None if
    they differ in anything else.

    Args:
        e: the equation of the other one: what its own conditions say, and that all its ranges have
            indices, holds wherever a term is.
    """
    names = {a.var.name: a.var for a in wanted.axes}
    into: dict[Var, Expr] = {a.var: names[a.var.name] for a in found.axes if a.var.name in names}
    axes = {a.var.name: a for a in found.axes}
    if (
        len(axes) != len(found.axes)
        or axes.keys() != names.keys()
        or len(found.factors) != len(wanted.factors)
    ):
        return None
    for a in wanted.axes:
        mine = axes[a.var.name]
        if not all(map(equal, (substitute(mine.lo, into), substitute(mine.hi, into)), (a.lo, a.hi))):
            return None
    factors, conditions = (
        [substitute(f, into) for f in found.factors],
        [substitute(c, into) for c in found.conditions],
    )
    for f in wanted.factors:
        same = next((k for k, other in enumerate(factors) if equal(f, other)), None)
        if same is None:
            return None
        del factors[same]
    if any(not any(equal(c, other) for other in conditions) for c in wanted.conditions):
        return None
    where = () if e.where is None else conjuncts(e.where)
    holds = [*wanted.conditions, *where, *(compare("<", a.lo, a.hi) for a in (*e.axes, *wanted.axes))]
    return [c for c in conditions if not any(equal(c, known) for known in holds)]
