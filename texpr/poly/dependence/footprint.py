"""Footprint of one iteration of a loop: a box of the tensor, from the indices of a tile that no
edge clips.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from texpr.ir.affine import Linear, ceiling, linear, same_value
from texpr.ir.build import add, compare, conjunction, disjunction, integer, mul, sub
from texpr.ir.expr import Axis, Const, Expr, FloorDiv, Max, Min, Mod, Read, Select, Tensor, index
from texpr.ir.loop import For, If, Kernel
from texpr.ir.traverse import variables, walk
from texpr.poly.constraints.access_sites import inside, sites
from texpr.poly.constraints.conditions import always
from texpr.poly.constraints.conversion import Converter
from texpr.poly.constraints.linear_forms import Truth, conjoined
from texpr.poly.constraints.proof_thread import one_at_a_time
from texpr.poly.constraints.solver import Assumptions, OutOfQuota, run_within_quota
from texpr.poly.dependence.kernel_model import (
    Nest,
    contains_loop,
    model,
    placed_stores,
    subkernel,
    within_extent,
)
from texpr.support.frozen_dataclass import frozen_by_identity


@frozen_by_identity
class Footprint:
    """The elements `bases[d] <= i < bases[d] + extents[d]` along each dimension. It may reach
    outside the tensor.

    Attributes:
        bases: over sizes and the variables of the loops around.
        extents: over sizes; constants where the tile has one size.
    """

    bases: tuple[Expr, ...]
    extents: tuple[Expr, ...]


@frozen_by_identity
class _Use:
    """A read or a store with the loops inside the iteration that enclose it, outermost first,
    and when it happens.
    """

    indices: tuple[Expr, ...]
    inner: tuple[For, ...]
    condition: Truth


@one_at_a_time
def footprint(
    kernel: Kernel, tensor: Tensor, loops: Sequence[For], *, kinds: Collection[str] = ("read", "write")
) -> Footprint | None:
    """The box of `tensor` that one iteration of `loops` touches; None if it touches nothing.

    The box is that of a tile no edge clips, so its extents are constants wherever those of the
    loops inside are; clamps and conditions are left out. Proven to hold every access; where that
    takes too long it is the whole tensor. Along a dimension whose indices are not affine it is the
    whole tensor; so it is where the base depends on data that are not there in some iteration,
    whose uses a condition holds off.

    Args:
        loops: nested loops of the kernel, outermost first; one iteration of each. None for the
            whole kernel.
        kinds: `read`, `write` (updates included) or both.
    """
    near = subkernel(kernel, [s for s in kernel.body if not loops or contains_loop(s, loops[0].var)])
    try:
        nest = run_within_quota(lambda: model(near))
    except OutOfQuota:
        return Footprint(tuple(index(0) for _ in tensor.shape), tensor.shape)
    uses = list(_uses(nest, tensor, loops, kinds))
    if not uses:
        return None
    boxes = [_along(uses, d, size, loops, nest.converter) for d, size in enumerate(tensor.shape)]
    boxes = [
        box if _is_there(kernel, box[0], loops) else (index(0), size)
        for box, size in zip(boxes, tensor.shape)
    ]
    return Footprint(tuple(base for base, _ in boxes), tuple(extent for _, extent in boxes))


def _is_there(kernel: Kernel, base: Expr, loops: Sequence[For]) -> bool:
    """True if data that the base depends on are elements of their tensors in every iteration of
    the loops.
    """
    data = [n for n in walk(base) if isinstance(n, Read)]
    if not data:
        return True
    axes = [Axis(n.var, index(0), n.extent) for n in loops]
    return always(
        conjunction(*(inside(n.indices, n.tensor.shape) for n in data)),
        axes,
        (*kernel.requires, *_conditions(kernel, loops)),
    )


def _conditions(kernel: Kernel, loops: Sequence[For]) -> list[Expr]:
    """The conditions around the innermost of nested loops."""
    found: list[Expr] = []
    body = kernel.body
    while loops:
        node = next(s for s in body if isinstance(s, For | If) and contains_loop(s, loops[-1].var))
        if isinstance(node, For) and node.var is loops[-1].var:
            break
        found += [node.cond] if isinstance(node, If) else []
        body = node.body
    return found


def _uses(nest: Nest, tensor: Tensor, loops: Sequence[For], kinds: Collection[str]) -> Iterator[_Use]:
    for store, around, conditions in placed_stores(nest.kernel):
        if [n.var for n in around[: len(loops)]] != [n.var for n in loops]:
            continue
        inner = around[len(loops) :]
        domain = Truth((nest.facts,), ())
        for loop in around:
            if loop in inner and "read" in kinds:
                yield from _reads((loop.extent,), tensor, inner, domain, nest.converter)
            domain = conjoined(domain, within_extent(nest.converter, loop))
        for condition in conditions:
            domain = conjoined(domain, nest.converter.truth(condition))
        if "write" in kinds and store.tensor is tensor:
            yield _Use(store.indices, inner, domain)
        if "read" in kinds:
            yield from _reads(
                (*store.indices, store.value, *conditions), tensor, inner, domain, nest.converter
            )


def _reads(
    roots: Sequence[Expr], tensor: Tensor, inner: tuple[For, ...], domain: Truth, converter: Converter
) -> Iterator[_Use]:
    for site in sites(roots, converter, domain):
        if isinstance(site.node, Read) and site.node.tensor is tensor:
            yield _Use(site.node.indices, inner, site.condition)


def _along(
    uses: Sequence[_Use], d: int, size: Expr, loops: Sequence[For], converter: Converter
) -> tuple[Expr, Expr]:
    """Base and extent along one dimension."""
    found = _box([(u.indices[d], u.inner) for u in uses], loops)
    if (
        found is None
        or same_value(found[1], size)
        and not variables(found[0]) & {n.var for n in loops if _several(n.extent)}
    ):
        return index(0), size  # a box of that size that moves reaches outside
    return (
        found
        if all(_plain(u, d) or _holds(converter, u.condition, u.indices[d], *found) for u in uses)
        else (index(0), size)
    )


def _several(extent: Expr) -> bool:
    return (integer(extent) or 0) > 1


def _plain(use: _Use, d: int) -> bool:
    """True if nothing was left out of the index or of the extents of the loops, so that the box
    needs no proof.
    """
    return unclamped(use.indices[d]) is use.indices[d] and not any(
        isinstance(n.extent, Min) for n in use.inner
    )


def _holds(converter: Converter, condition: Truth, i: Expr, base: Expr, extent: Expr) -> bool:
    """True if `base <= i < base + extent` is proven under the condition."""
    outside = converter.truth(disjunction(compare("<", i, base), compare("<=", add(base, extent), i)))
    try:
        return not run_within_quota(
            lambda: any(any(map(Assumptions(converter, c).allows, outside.true)) for c in condition.true)
        )
    except OutOfQuota:
        return False


def _box(uses: Sequence[tuple[Expr, tuple[For, ...]]], loops: Sequence[For]) -> tuple[Expr, Expr] | None:
    """The smallest box along one dimension that linear arithmetic finds: the lowest index and
    how many from there on.
    """
    spans = [_span(linear(unclamped(i)), inner) for i, inner in uses]
    low, high = spans[0] or (None, None)
    for span in spans[1:]:
        if span is None or low is None or high is None:
            return None
        low, high = _further(low, span[0], -1), _further(high, span[1], 1)
    if low is None or high is None:
        return None
    reach = _extreme(linear(sub(high.expr(), low.expr())), loops, 1)
    return None if reach is None else (low.expr(), linear(add(reach.expr(), index(1))).expr())


def unclamped(e: Expr) -> Expr:
    """An index as it is away from the edges: clamps, or what is left of them, and the turns of
    `wrap` and `reflect` left out.
    """
    match e:
        case Max(Const(), inside):
            return unclamped(inside)
        case Min(inside, _) | Select(orelse=Select(orelse=inside)):
            return inside
    return e


def _span(form: Linear, inner: Sequence[For]) -> tuple[Linear, Linear] | None:
    """Smallest and largest value over the inner loops, in terms of what is outside them; None
    where that is not linear.
    """
    low, high = _extreme(form, inner, -1), _extreme(form, inner, 1)
    return None if low is None or high is None else (low, high)


def _extreme(form: Linear, inner: Sequence[For], sign: int) -> Linear | None:
    """The largest (sign 1) or smallest (sign -1) value that a linear form takes in the loops;
    None where it is not linear.
    """
    for loop in reversed(inner):
        form = _quotients(form, loop, sign)
        c = form.coefficient(loop.var)
        if any(loop.var in variables(t) for t, _ in form.terms if t is not loop.var):
            return None
        rest = form.without(loop.var)
        if c * sign > 0:
            longest = ceiling(loop.extent)
            last = sub(loop.extent if longest is None else index(longest), index(1))
            rest = linear(add(rest.expr(), mul(last, index(c))))
        form = rest
    return form


def _quotients(form: Linear, loop: For, sign: int) -> Linear:
    """The form with its quotients by constants at their extremes in the loop: they grow with what
    is divided; and its remainders at theirs, 0 and the constant less 1."""
    remainders = [
        (t, c, by)
        for t, c in form.terms
        if isinstance(t, Mod) and (by := integer(t.rhs) or 0) > 0 and loop.var in variables(t.lhs)
    ]
    for t, c, by in remainders:
        rest = Linear(tuple(other for other in form.terms if other[0] is not t), form.constant)
        form = linear(add(rest.expr(), index(c * (by - 1) if c * sign > 0 else 0)))
    terms = [
        (t, c, by)
        for t, c in form.terms
        if isinstance(t, FloorDiv) and (by := integer(t.rhs) or 0) > 0 and loop.var in variables(t.lhs)
    ]
    for t, c, by in terms:
        x = _extreme(linear(t.lhs), [loop], sign if c > 0 else -sign)
        if x is None or any(k % by for _, k in x.terms):
            continue
        whole = Linear(tuple((v, k // by) for v, k in x.terms), x.constant // by)
        rest = Linear(tuple(other for other in form.terms if other[0] is not t), form.constant)
        form = linear(add(rest.expr(), mul(whole.expr(), index(c))))
    return form


def _further(a: Linear, b: Linear, sign: int) -> Linear | None:
    """The larger (sign 1) or the smaller of two forms that differ by a constant."""
    difference = linear(sub(a.expr(), b.expr()))
    if difference.terms:
        return None
    return a if difference.constant * sign >= 0 else b
