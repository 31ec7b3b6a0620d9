"""The part of a production that computes a box of its tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr import poly
from texpr.ir.affine import Linear, linear, same_value
from texpr.ir.build import add, compare, conjunction, floordiv, integer, sub
from texpr.ir.expr import Axis, Expr, Read, Tensor, Var, index
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.printing.types import unused
from texpr.ir.traverse import statements as statements_of
from texpr.ir.traverse import variables, walk
from texpr.passes.lowering.naive_nest import guarded
from texpr.schedule.steps.placement.producer import Production, linear_index
from texpr.schedule.structure.indices import put, tidy
from texpr.schedule.structure.loops import qualified, stores
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class Span:
    """Indices along one dimension: `extent` of them from `base` on. The whole dimension is None."""

    base: Expr
    extent: Expr


@frozen
class Place:
    """A place for statements: the loops and conditions around them.

    Attributes:
        loops: the loops around, outermost first.
        conditions: those around, and what is known of the sizes.
    """

    loops: tuple[For, ...]
    conditions: tuple[Expr, ...]

    def always(self, condition: Expr, inner: Sequence[Axis]) -> bool:
        """True if a condition is proven for every iteration."""
        around = [Axis(n.var, index(0), n.extent) for n in self.loops]
        return poly.always(
            condition,
            [*around, *inner],
            [c for c in self.conditions if not any(isinstance(n, Read) for n in walk(c))],
        )


def needed_box(kernel: Kernel, tensor: Tensor, loops: Sequence[For]) -> tuple[Span | None, ...]:
    """The part of `tensor` that one iteration of `loops` reads, along each dimension; None where
    that is, or may be, all of it.
    """
    found = poly.footprint(kernel, tensor, loops, kinds=("read",))
    assert found is not None, "nothing in the loops reads the tensor"
    return tuple(
        _part(base, extent, size) for base, extent, size in zip(found.bases, found.extents, tensor.shape)
    )


def _part(base: Expr, extent: Expr, size: Expr) -> Span | None:
    longer = linear(sub(extent, size))
    if not longer.terms and longer.constant >= 0 or integer(extent) is None and not variables(base):
        return None
    return Span(base, extent)


@frozen
class Cut:
    """The iterations of a loop that are left: `count` of them from `start` on, of these the ones
    for which `conditions` hold.
    """

    start: Expr
    count: Expr
    conditions: tuple[Expr, ...] = ()


def restricted(production: Production, box: Sequence[Span | None], place: Place) -> tuple[Stmt, ...]:
    """The statements of the production with their loops over elements cut to the box, and clipped
    to where they run.

    for i in 0..n: T[i] = f   ->   for i in 0..extent: if 0 <= base + i and base + i < n: T[base + i] = f

    A loop that a tile of the tensor needs as a whole stays; so more than the box may be computed,
    never less.
    """
    cuts: dict[str, Cut] = {}
    for store in production.stores:
        if store.tensor is production.tensor:
            cuts = _joined_cuts(cuts, _cuts(production, store, box))
    return cut_loops(production.statements, cuts, place)


def cut_loops(
    statements: Sequence[Stmt], cuts: Mapping[str, Cut], place: Place, values: dict[Var, Expr] | None = None
) -> tuple[Stmt, ...]:
    """The statements with loops cut, by qualified name, and clipped to where they run; `values`
    collects what became of their variables.
    """
    return tuple(
        n for s in statements for n in _restricted(s, cuts, place, (), {} if values is None else values)
    )


def _joined_cuts(cuts: dict[str, Cut], more: dict[str, Cut]) -> dict[str, Cut]:
    """A loop around several stores is cut only where all agree."""
    different = {
        name
        for name in cuts.keys() & more.keys()
        if not (
            same_value(cuts[name].start, more[name].start) and same_value(cuts[name].count, more[name].count)
        )
    }
    return {name: cut for name, cut in (cuts | more).items() if name not in different}


def _cuts(production: Production, store: Store, box: Sequence[Span | None]) -> dict[str, Cut]:
    """For each dimension the loop with the largest stride is cut to what reaches into the box."""
    own = {
        n.var: n
        for s in production.statements
        if store in stores(s)
        for n in statements_of(s)
        if isinstance(n, For)
    }
    cuts: dict[str, Cut] = {}
    for at, span in zip(store.indices, box):
        form = linear_index(at, own) if span is not None else None
        if span is None or form is None or not form[0]:
            continue
        terms, rest = form
        loop, c = max(((own[v], c) for v, c in terms), key=lambda t: t[1])
        others = [(integer(own[v].extent), k) for v, k in terms if v is not loop.var]
        reach = [k * (extent - 1) for extent, k in others if extent is not None]
        if c <= 0 or len(reach) < len(others) or qualified(loop) in cuts or not _alone(production, loop):
            continue
        cut = _cut(span, rest, c, sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach))
        if cut is not None:
            cuts[qualified(loop)] = cut
    return cuts


def _cut(span: Span, rest: Linear, c: int, low: int, high: int) -> Cut | None:
    """The v for which `c * v + rest + x` can be in the span, for an x of low..high."""
    form = linear(sub(span.base, rest.expr()))
    if c == 1:
        return Cut(
            linear(sub(form.expr(), index(high))).expr(), linear(add(span.extent, index(high - low))).expr()
        )
    extent = integer(span.extent)
    if extent is None:
        return None
    if all(k % c == 0 for _, k in form.terms):
        first, last = -((high - form.constant) // c), (form.constant + extent - 1 - low) // c
        return Cut(
            Linear(tuple((t, k // c) for t, k in form.terms), first).expr(), index(max(last - first + 1, 0))
        )
    return Cut(
        floordiv(add(form.expr(), index(c - 1 - high)), index(c)), index((extent - 1 + high - low) // c + 1)
    )


def _alone(production: Production, loop: For) -> bool:
    """Each iteration of the loop, and of the copies that distribution made of it, keeps to its
    own elements of what is private.
    """
    own = {n.var: n for s in production.statements for n in statements_of(s) if isinstance(n, For)}
    for tensor in production.private:
        accesses = [
            n
            for s in production.statements
            for n in walk(s)
            if isinstance(n, Store | Read) and n.tensor is tensor
        ]
        ways = [_ways(n, own, qualified(loop)) for n in accesses]
        if ways and not set.intersection(*ways):
            return False
    return True


_Way = tuple[int, frozenset[tuple[str, int]], int]
"""A dimension, the names of the loops in its index with their strides, and what is added."""


def _ways(access: Store | Read, own: Mapping[Var, For], name: str) -> set[_Way]:
    """Dimensions whose index tells the iteration of the loop called `name`."""
    found: set[_Way] = set()
    for d, i in enumerate(access.indices):
        form = linear(i)
        loops = [(own[t], c) for t, c in form.terms if isinstance(t, Var) and t in own]
        reach = [abs(c) * ((integer(n.extent) or 1 << 62) - 1) for n, c in loops if qualified(n) != name]
        stride = max((c for n, c in loops if qualified(n) == name), default=0)
        if stride > sum(reach) and len(loops) == len(form.terms):
            found.add((d, frozenset((qualified(n), c) for n, c in loops), form.constant))
    return found


def _restricted(
    s: Stmt, cuts: Mapping[str, Cut], place: Place, inner: tuple[Axis, ...], values: dict[Var, Expr]
) -> tuple[Stmt, ...]:
    """A statement with its loops cut. Depth is that of the loop nest."""
    match s:
        case If(_, body):
            return (
                replace(s, body=tuple(n for b in body for n in _restricted(b, cuts, place, inner, values))),
            )
        case For() if qualified(s) in cuts:
            return _cut_loop(s, cuts, place, inner, values)
        case For(var, extent, body):
            here = (*inner, Axis(var, index(0), extent))
            return (
                replace(s, body=tuple(n for b in body for n in _restricted(b, cuts, place, here, values))),
            )
    return (s,)


def _cut_loop(
    loop: For, cuts: Mapping[str, Cut], place: Place, inner: tuple[Axis, ...], values: dict[Var, Expr]
) -> tuple[Stmt, ...]:
    """The loop over what is left of it, with what it clips; without a loop where one iteration
    is left.
    """
    cut = cuts[qualified(loop)]
    alone = integer(cut.count) == 1
    taken = {n.var.name for n in place.loops} | {a.var.name for a in inner}
    var = loop.var if loop.var.name not in taken else replace(loop.var, name=unused(loop.var.name, taken))
    at = tidy(cut.start if alone else add(cut.start, var))
    values[loop.var] = at
    here = inner if alone else (*inner, Axis(var, index(0), cut.count))
    asked = [
        compare("<=", index(0), at),
        compare("<", at, loop.extent),
        *(put(c, {loop.var: at}) for c in cut.conditions),
    ]
    conditions = [c for c in asked if not place.always(c, here)]
    body = tuple(n for b in loop.body for n in _restricted(put(b, {loop.var: at}), cuts, place, here, values))
    body = guarded(conjunction(*conditions), body)
    return body if alone else (replace(loop, var=var, extent=cut.count, body=body),)
