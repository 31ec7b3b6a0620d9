"""Loops that count pairs: what depends on what in them, found by running every instance, and
questions about their numbers.
"""

from __future__ import annotations

from itertools import product

from hypothesis import event, given
from hypothesis import strategies as st

from tests.ir.index.test_uncollapse import cut
from tests.poly.nests import (
    ZERO,
    at,
    carried_by_brute_force,
    events,
    kernel,
    loop,
    meet,
    outer,
    plus,
    put,
    tensor,
    times,
)
from tests.profiles import examples
from texpr.ir.build import compare
from texpr.ir.expr import Add, Axis, Expr, FloorDiv, Mod, Mul, Var, index
from texpr.ir.index.uncollapse import parted
from texpr.ir.loop import For, Kernel, Store
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import statements, substitute
from texpr.poly import always, anti_dependence, carried_dependence, dependence_on, never, read_after_write
from texpr.support.errors import ScheduleError

M, N = Var("M"), Var("N")
A = tensor("A", M, N)
SIZES = [(m, n) for m, n in product(range(1, 5), range(1, 7))]


@st.composite
def kernels(draw) -> Kernel:
    """A joined loop, alone or in tiles, around a store and a read of an element near it."""
    v, r = Var("v"), Var("r")
    a, b = FloorDiv(v, N), Mod(v, N)

    def near() -> tuple[Expr, Expr]:
        shape = draw(st.sampled_from(["plain", "plain", "plain", "row", "column", "turned"]))
        x, y = (
            plus(a, draw(st.sampled_from([0, 0, 0, 1, -1, 2]))),
            plus(b, draw(st.sampled_from([0, 0, 0, 1, -1, -3]))),
        )
        return {"plain": (x, y), "row": (x, index(0)), "column": (index(0), y), "turned": (y, x)}[shape]

    written = (a, b) if draw(st.booleans()) else near()
    body = put(A, written, Add(at(A, *near()), ZERO), update=draw(st.sampled_from([None, None, "add"])))
    nest = loop(v, Mul(M, N), body)
    if draw(st.booleans()):
        nest = cut(nest, draw(st.sampled_from([2, 3])), draw(st.sampled_from(["guard", "clip"])))
    return kernel(loop(r, 2, nest) if draw(st.integers(0, 3)) == 0 else nest)


@given(kernels(), st.data())
@examples(50)
def test_what_a_loop_carries(k: Kernel, data: st.DataObject):
    """Nothing that is accepted depends on anything; what is refused with an example does in it."""
    asked = data.draw(st.sampled_from([n for n in statements(k) if isinstance(n, For)]))
    try:
        found = carried_dependence(k, asked)
    except ScheduleError:
        event("not proven")
        return
    event("independent" if found is None else "conflict")
    if found is None:
        assert not any(next(carried_by_brute_force(k, asked, {M: m, N: n}), None) for m, n in SIZES)
        return
    sizes = {M: found.sizes["M"], N: found.sizes["N"]}
    run = events(k, sizes)
    first, second = (
        next(x for x in run if x.store is s and x.named == where) for s, where in (found.source, found.sink)
    )
    assert (A, found.element) in meet(first, second)
    depth = first.loops.index(asked.var)
    assert (
        first.iteration[:depth] == second.iteration[:depth]
        and first.iteration[depth] < second.iteration[depth]
    )


@st.composite
def pairs(draw) -> Kernel:
    """Two stores in a joined loop, the first in a loop of its own, alone or in tiles."""
    r, v, k = Var("r"), Var("v"), Var("k")

    def element() -> tuple[Expr, ...]:
        row, column = (
            draw(st.sampled_from([FloorDiv(v, N), FloorDiv(v, N), plus(FloorDiv(v, N), 1), index(0)])),
            draw(st.sampled_from([Mod(v, N), Mod(v, N), k, plus(Mod(v, N), k), r])),
        )
        return row, column

    first = loop(k, 2, put(A, element(), at(A, *element())))
    second = substitute(put(A, element(), at(A, *element())), {k: index(1)})
    nest = loop(v, Mul(M, N), first, second) if draw(st.booleans()) else loop(v, Mul(M, N), second, first)
    return kernel(loop(r, 2, cut(nest, 2, "guard") if draw(st.integers(0, 2)) == 0 else nest))


@given(pairs(), st.integers(1, 3))
@examples(50)
def test_what_happens_in_one_iteration(k: Kernel, depth: int):
    """Of some loops around: reads of what was written, writes over what others read, and what
    needs what.
    """
    loops = [n for n in statements(k) if isinstance(n, For)][:depth]
    if depth == 3 and len(loops[1].body) != 1:  # Without tiles the third loop is not around both stores.
        loops = loops[:2]
    names = [n.var for n in loops]
    one, two = (s for s in statements(k) if isinstance(s, Store))
    outside = len(loops) - 1
    asked = {
        "read": (read_after_write(k, A, loops), lambda x, y: x.writes & y.reads),
        "over": (
            anti_dependence(k, {one}, len(loops)),
            lambda x, y: x.store is one and y.store is two and x.reads & y.writes,
        ),
        "needs": (
            dependence_on(k, {two}, {one}, outside, 1),
            lambda x, y: x.store is one and y.store is two and meet(x, y),
        ),
    }
    for sizes in ({M: m, N: n} for m, n in product(range(1, 4), range(1, 5))):
        run = [x for x in events(k, sizes) if all(v in x.loops for v in names)]
        for kind, (found, meets) in asked.items():
            count, near = (outside, 1) if kind == "needs" else (len(loops), 0)
            happens = any(
                x.iteration[:count] == y.iteration[:count] and meets(x, y)
                for n, x in enumerate(run)
                for y in run[n + 1 :]
                if kind != "needs" or y.iteration[count] - x.iteration[count] <= near
            )
            assert not happens or found is not None, f"{kind}\n{show_kernel(k)}"


def test_one_iteration_of_the_loop_over_tiles():
    """Holds pairs of different rows; and is around what its tiles of tiles are around."""
    r, v = Var("r"), Var("v")
    a, b = FloorDiv(v, N), Mod(v, N)
    first, second = put(A, (plus(a, 1), b), at(A, a, b)), put(A, (a, b), ZERO)
    nest = cut(loop(v, Mul(M, N), first, second), 4, "guard")
    k = kernel(loop(r, 2, For(nest.var, nest.extent, (cut(outer(kernel(*nest.body)), 2, "guard"),))))
    loops = [n for n in statements(k) if isinstance(n, For)]
    one, two = (n for n in statements(k) if isinstance(n, Store))
    assert parted(k).loops and len(loops) == 4
    assert read_after_write(k, A, loops[:2]) and not read_after_write(k, A, loops)
    assert anti_dependence(k, {one}, 2) and anti_dependence(k, {one}, 4) and not anti_dependence(k, {two}, 4)
    assert dependence_on(k, {one}, {one}, 2, 0) and not dependence_on(k, {two}, {two}, 3, 0)


def test_questions_about_a_joined_loop():
    v, o, i = Var("v"), Var("o"), Var("i")
    pair = [Axis(v, index(0), Mul(M, N))]
    assert always(compare("<", FloorDiv(v, N), M), pair)
    assert always(compare("<", Mod(v, N), N), pair)
    assert not always(compare("<", FloorDiv(v, N), N), pair)
    assert not always(compare("<", FloorDiv(v, M), M), pair)
    assert never(compare("==", FloorDiv(v, N), M), pair)
    assert always(compare("<", FloorDiv(v, N), index(3)), pair, (compare("<", FloorDiv(v, N), index(3)),))
    count = plus(times(o, 4), i)
    tiles = [Axis(o, index(0), FloorDiv(plus(Mul(M, N), 3), index(4))), Axis(i, index(0), index(4))]
    inside = compare("<", count, Mul(M, N))
    assert always(compare("<", FloorDiv(count, N), M), tiles, (inside,))
    assert not always(compare("<", FloorDiv(count, N), M), tiles)
    assert not always(inside, tiles)
    assert not always(inside, tiles, (compare("<", FloorDiv(count, N), M),))
