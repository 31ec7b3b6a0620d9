"""Loops that count pairs: what depends on what in them, found by running every instance, and questions about their numbers."""

from __future__ import annotations

from itertools import product

from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.ir.test_parted import cut
from tests.poly.nests import ZERO, at, carried_by_brute_force, events, kernel, loop, meet, plus, put, tensor, times
from texpr.ir.build import compare
from texpr.ir.expr import Add, Axis, Expr, FloorDiv, Mod, Mul, Var, index
from texpr.ir.loop import For, Kernel
from texpr.ir.traverse import statements
from texpr.poly import always, carried, never
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
        x, y = plus(a, draw(st.sampled_from([0, 0, 0, 1, -1, 2]))), plus(b, draw(st.sampled_from([0, 0, 0, 1, -1, -3])))
        return {"plain": (x, y), "row": (x, index(0)), "column": (index(0), y), "turned": (y, x)}[shape]

    written = (a, b) if draw(st.booleans()) else near()
    body = put(A, written, Add(at(A, *near()), ZERO), update=draw(st.sampled_from([None, None, "add"])))
    nest = loop(v, Mul(M, N), body)
    if draw(st.booleans()):
        nest = cut(nest, draw(st.sampled_from([2, 3])), draw(st.sampled_from(["guard", "clip"])))
    return kernel(loop(r, 2, nest) if draw(st.integers(0, 3)) == 0 else nest)


@given(kernels(), st.data())
@settings(max_examples=160, deadline=None, derandomize=True)
def test_what_a_loop_carries(k: Kernel, data: st.DataObject):
    """Nothing that is accepted depends on anything; what is refused with an example does in it."""
    asked = data.draw(st.sampled_from([n for n in statements(k) if isinstance(n, For)]))
    try:
        found = carried(k, asked)
    except ScheduleError:
        event("not proven")
        return
    event("independent" if found is None else "conflict")
    if found is None:
        assert not any(next(carried_by_brute_force(k, asked, {M: m, N: n}), None) for m, n in SIZES)
        return
    sizes = {M: found.sizes["M"], N: found.sizes["N"]}
    run = events(k, sizes)
    first, second = (next(x for x in run if x.store is s and x.named == where) for s, where in (found.source, found.sink))
    assert (A, found.element) in meet(first, second)
    depth = first.loops.index(asked.var)
    assert first.iteration[:depth] == second.iteration[:depth] and first.iteration[depth] < second.iteration[depth]


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
