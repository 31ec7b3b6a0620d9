"""Layouts of buffers in memory: dimensions reordered, cut into panels, padded. Values and the order
of execution stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from texpr import poly
from texpr.ir.affine import Linear, ceiling
from texpr.ir.build import add, compare, conjunction, floordiv, integer, negation
from texpr.ir.expr import Axis, Expr, Node, Read, Tensor, Var, index, plain
from texpr.ir.loop import For, If, Kernel, Prefetch, Stmt, Store
from texpr.ir.traverse import rewrite
from texpr.passes.lowering.naive_nest import divided
from texpr.schedule.legality.independence import check_changed
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import stores
from texpr.schedule.structure.tensors import find_temporary
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import frozen, replace

LARGEST = 1 << 20
_ITEM = re.compile(r"([A-Za-z_]\w*)(?:([/%])([1-9][0-9]{0,6}))?$")
Place = Callable[[Sequence[Expr], Mapping[Var, Expr]], tuple[Expr, ...]]
"""A function of indices, and of the loops around with their extents, that gives an element's place.
"""


@frozen
class _Item:
    """One dimension of the new layout: an old one, its tiles (`/`), or the place in a tile
    (`%`).
    """

    dimension: int
    part: str
    factor: int

    def size(self, n: Expr) -> Expr:
        match self.part:
            case "/":
                return floordiv(add(n, index(self.factor - 1)), index(self.factor))
            case "%":
                return index(self.factor)
        return n

    def place(self, i: Expr, ranges: Mapping[Var, Expr]) -> Expr:
        if not self.part:
            return i
        tile, rest = divided(i, self.factor, ranges)
        return tile if self.part == "/" else rest


@step(order_of_sums="kept")
def layout(kernel: Kernel, tensor: str, form: str) -> Kernel:
    """Change how a buffer lies in memory: the order of its dimensions, and dimensions cut into
    tiles. Packing, panels elsewhere.

    layout("B_cache", "k j -> j/16 k j%16")   B_cache[k, j]   ->   B_cache[j // 16, k, j % 16]

    Legal where two elements never get one place, which is proven for the form. The last tile may be
    partly unused. Inputs and outputs lie as the caller has them; `cache_read` and `cache_write`
    make buffers.

    Args:
        form: names for the dimensions, then the new ones: `j` is a dimension as it was, `j/16` the
            tile, `j%16` the place in the tile.
    Raises:
        ScheduleError: no such buffer, a form that does not name each dimension once, or one that
            gives two elements one place; or iterations that run at once are no longer proven to
            have a buffer each.
    Example:
        op = tx.op('''op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {
          C[i, j] = sum(k: A[i, k] * B[k, j])
        }''')
        s = tx.schedule(op, K=64, N=64).cache_read("B")
        s.layout("B_cache", "k j -> j/16 k j%16")
    Refused:
        tx.schedule(op).cache_read("B").layout("B_cache", "k j -> j/16 k j%8")
    Elsewhere: Halide `reorder_storage`; TVM `transform_layout`; Exo `rearrange_dim`, `divide_dim`;
    MLIR `transform.structured.pack`.
    """
    t = find_temporary(kernel, tensor, "layout")
    items = _parsed(t, form)
    _check_injective(t, items, form)
    small = replace(t, dims=plain(*(item.size(t.shape[item.dimension]) for item in items)))
    after = moved(
        kernel,
        t,
        small,
        lambda indices, ranges: tuple(item.place(indices[item.dimension], ranges) for item in items),
    )
    check_changed(after, set(stores(after)) - set(stores(kernel)), "layout")
    return after


def times(e: Expr, factor: int) -> Expr:
    """A size times a factor."""
    return Linear(((e, factor),), 0).expr() if integer(e) is None else index((integer(e) or 0) * factor)


def is_number(n: object) -> bool:
    """True if it is an integer, and no bool."""
    return isinstance(n, int) and not isinstance(n, bool)


def moved(kernel: Kernel, old: Tensor, new: Tensor, place: Place) -> Kernel:
    """The kernel with `new` in place of the temporary `old`, its elements at other places."""

    def over(statement: Stmt, ranges: Mapping[Var, Expr]) -> Stmt:
        def rule(node: Node) -> Node | None:
            match node:
                case Read(t, indices) | Store(t, indices) | Prefetch(t, indices) if t is old:
                    return replace(node, tensor=new, indices=place(indices, ranges))
            return None

        match statement:
            case For(var, extent, body):
                longest = ceiling(extent)
                inner = {**ranges, var: extent if longest is None else index(longest)}
                below, count = tuple(over(s, inner) for s in body), rewrite(extent, rule)
                return (
                    statement
                    if count is extent and _unchanged(below, body)
                    else replace(statement, extent=count, body=below)
                )
            case If(cond, body):
                below, asked = tuple(over(s, ranges) for s in body), rewrite(cond, rule)
                return (
                    statement
                    if asked is cond and _unchanged(below, body)
                    else replace(statement, cond=asked, body=below)
                )
        return rewrite(statement, rule)

    temporaries = tuple(new if t is old else t for t in kernel.temporaries)
    return replace(kernel, body=tuple(over(s, {}) for s in kernel.body), temporaries=temporaries)


def _unchanged(a: Sequence[Stmt], b: Sequence[Stmt]) -> bool:
    return all(x is y for x, y in zip(a, b))


def _parsed(t: Tensor, form: str) -> list[_Item]:
    def wrong(why: str) -> ScheduleError:
        names = " ".join("ijklmnopqrstuvwxyz"[: t.rank])
        last = "ijklmnopqrstuvwxyz"[t.rank - 1 : t.rank]
        return ScheduleError(
            f"layout of {t.name}: {why}",
            code="layout",
            notes=[f"form: {form}"],
            help=f'as in "{names} -> {last}/16 {names[:-2]} {last}%16"'
            if t.rank > 1
            else 'as in "i -> i/16 i%16"',
        )

    if not isinstance(form, str) or form.count("->") != 1:
        raise wrong("the form is text with one ->")
    left, right = (side.split() for side in form.split("->"))
    if len(left) != t.rank or len(set(left)) != len(left):
        raise wrong(f"{t.rank} different names stand before the arrow, one for each dimension")
    items = []
    for text in right:
        found = _ITEM.match(text)
        if found is None or found.group(1) not in left:
            raise wrong(f"`{text}` is not a dimension")
        items.append(_Item(left.index(found.group(1)), found.group(2) or "", int(found.group(3) or 1)))
    for d, name in enumerate(left):
        parts = sorted((item.part, item.factor) for item in items if item.dimension == d)
        tiled = len(parts) == 2 and parts[0][0] == "%" and parts[1][0] == "/"
        if not (len(parts) == 1 and parts[0][0] == "") and not tiled:
            raise wrong(f"`{name}` must stand behind the arrow once as it is, or once with / and once with %")
    return items


def _check_injective(t: Tensor, items: Sequence[_Item], form: str) -> None:
    """No two elements get one place, and every place lies in the new shape."""
    here, there = ([Axis(Var(f"{side}{d}"), index(0), n) for d, n in enumerate(t.shape)] for side in "xy")
    places = [[item.place(axes[item.dimension].var, {}) for item in items] for axes in (here, there)]
    meet = conjunction(*(compare("==", a, b) for a, b in zip(*places)))
    apart = negation(conjunction(*(compare("==", a.var, b.var) for a, b in zip(here, there))))
    if not poly.never(conjunction(meet, apart), [*here, *there]):
        raise ScheduleError(
            f"layout of {t.name} may give two elements one place",
            code="layout",
            notes=[f"form: {form}"],
            help="use one factor for / and % of a dimension",
        )
    within = (
        c
        for p, item in zip(places[0], items)
        for c in (compare("<=", index(0), p), compare("<", p, item.size(t.shape[item.dimension])))
    )
    assert all(poly.always(c, here) for c in within), "a place outside the new shape"
