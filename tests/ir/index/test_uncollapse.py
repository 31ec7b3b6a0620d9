"""Joined loops as the two loops they were: every instance is run, before and after, in the same
order; and where nothing is parted.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.poly.nests import ZERO, at, evaluate, events, kernel, less, loop, plus, put, tensor, times
from tests.profiles import examples
from texpr.ir.build import add, floordiv, integer, maximum, minimum, mul, sub
from texpr.ir.dtypes import I64
from texpr.ir.expr import Add, Expr, FloorDiv, Mod, Mul, Read, Var, index
from texpr.ir.index.uncollapse import Parted, divides_by_sizes, is_natural, parted
from texpr.ir.loop import Alloc, Barrier, For, If, Kernel, Prefetch, Stmt
from texpr.ir.loop_kind import VECTOR, parse_loop_kind
from texpr.ir.traverse import statements, variables, walk
from texpr.passes.analysis.substitution import folded

M, N, K, L = (Var(v) for v in "MNKL")
SIZES = (0, 1, 2, 3, 5)
FACTORS = (
    N,
    M,
    K,
    plus(N, 1),
    maximum(sub(N, index(2)), index(0)),
    floordiv(plus(N, 3), index(4)),
    mul(N, K),
    index(3),
    Mul(K, index(2)),
)
A, B, DATA = tensor("A", 9), tensor("B", 9), tensor("DATA", 9, dtype=I64)


def joined(v: Var, over: Expr, by: Expr, body) -> For:
    """for v in 0..m*n: body(v // n, v % n)"""
    return loop(v, mul(over, by), *body(FloorDiv(v, by), Mod(v, by)))


def cut(n: For, factor: int, tail: str) -> For:
    """The loop in tiles, as `split` makes them."""
    o, i = Var(n.var.name + "o"), Var(n.var.name + "i")
    whole = Add(times(o, factor), i)
    body = tuple(folded(s, {n.var: whole}) for s in n.body)
    extent = index(factor)
    if tail == "clip":
        extent = minimum(extent, sub(n.extent, mul(o, index(factor))))
    else:
        body = (If(less(whole, n.extent), body),)
    return For(o, floordiv(add(n.extent, index(factor - 1)), index(factor)), (For(i, extent, body),), n.kind)


@st.composite
def nests(draw) -> Kernel:
    """A loop outside, one to three loops joined, tiles of tiles of them, a loop inside;
    conditions between.
    """
    r, v, k = Var("r"), Var("v"), Var("k")
    over, by, third = (draw(st.sampled_from(FACTORS)) for _ in range(3))
    shift = draw(st.sampled_from([None, None, r]))
    if shift is not None:
        by = plus(by, shift)

    def inside(*numbers: Expr) -> tuple[Stmt, ...]:
        stores: tuple[Stmt, ...] = (
            put(A, numbers, ZERO, at=numbers),
            put(B, (numbers[0],), at(A, *reversed(numbers)), at=numbers),
        )
        if draw(st.booleans()):
            stores = (
                loop(
                    k, draw(st.sampled_from([K, index(2), plus(numbers[-1], 1)])), *stores, put(B, (k,), ZERO)
                ),
            )
        if draw(st.booleans()):
            stores = (If(less(numbers[-1], draw(st.sampled_from([index(2), L]))), stores),)
        return (*stores, put(A, (0,), ZERO)) if draw(st.integers(0, 3)) == 0 else stores

    shape = draw(st.sampled_from(["pair", "pair", "left", "right"]))
    if shape == "pair":
        nest = joined(v, over, by, inside)
    elif shape == "left":
        nest = joined(v, mul(over, third), by, lambda a, b: inside(FloorDiv(a, third), Mod(a, third), b))
    else:
        nest = joined(v, over, mul(by, third), lambda a, b: inside(a, FloorDiv(b, third), Mod(b, third)))
    if draw(st.booleans()):
        nest = cut(
            nest, draw(st.sampled_from([1, 2, 3, 4])), draw(st.sampled_from(["guard", "guard", "clip"]))
        )
        inner = nest.body[0]
        if draw(st.booleans()) and isinstance(inner, For) and integer(inner.extent) is not None:
            nest = For(
                nest.var,
                nest.extent,
                (cut(inner, draw(st.sampled_from([1, 2, 3])), draw(st.sampled_from(["guard", "clip"]))),),
            )
    body: Stmt = loop(r, 2, nest) if shift is not None or draw(st.booleans()) else nest
    return kernel(body)


def assert_same_instances(k: Kernel, at_sizes) -> Parted:
    """The stores of the parted kernel run in the same order, on the same elements, in iterations
    that its maps say.
    """
    p = parted(k)
    renewed: dict[Expr, Expr] = {}
    for numbers in at_sizes:
        sizes = dict(zip((M, N, K, L), numbers))
        old, new = events(k, sizes), events(p.kernel, sizes)
        assert [(x.store, x.reads, x.writes) for x in old] == [
            (p.origin.get(x.store, x.store), x.reads, x.writes) for x in new
        ]
        for x, y in zip(old, new):
            was, now = sizes | dict(zip(x.loops, x.iteration)), sizes | dict(zip(y.loops, y.iteration))
            assert {v: evaluate(p.values.get(v, v), now, {}, set()) for v in x.loops} == {
                v: was[v] for v in x.loops
            }
            assert {v: evaluate(p.counts.get(v, v), was, {}, set()) for v in y.loops} == {
                v: now[v] for v in y.loops
            }
            assert p.loops_of(*x.loops) == y.loops
            assert p.within(y.loops, x.loops) == len(y.loops)
            for i in x.store.at:
                new_i = renewed[i] if i in renewed else renewed.setdefault(i, p.renewed(i))
                assert not variables(new_i) & p.loops.keys() and evaluate(new_i, now, {}, set()) == evaluate(
                    i, was, {}, set()
                )
    return p


@given(nests(), st.lists(st.tuples(*[st.sampled_from((0, 1, 2, 3))] * 4), min_size=2, max_size=2))
@examples(40)
def test_the_same_instances_in_the_same_order(k: Kernel, sizes: list[tuple[int, ...]]):
    assert_same_instances(k, sizes)


def tiles(extent: Expr, count: Expr, *body: Stmt, outer: Expr | None = None, inner: Expr | int = 4) -> For:
    return loop(
        o,
        outer if outer is not None else floordiv(plus(extent, 3), index(4)),
        loop(i, inner, If(less(count, extent), body)),
    )


v, o, i = Var("v"), Var("o"), Var("i")
MN = Mul(M, N)
AGAIN = plus(times(FloorDiv(v, index(4)), 4), Mod(v, index(4)))
COUNT = plus(times(o, 4), i)
TEN = plus(times(o, 10), times(i, 4), v)
USE = put(A, (FloorDiv(v, N), Mod(v, N)), ZERO)
TILED = put(A, (FloorDiv(COUNT, N), Mod(COUNT, N)), ZERO)
PARTED = {
    "pair": loop(v, MN, USE),
    "only the quotient": loop(v, MN, put(A, (FloorDiv(v, N),), ZERO, update="add")),
    "only what is left": loop(v, MN, put(A, (Mod(v, M),), ZERO, update="add")),
    "number of rows": loop(v, Mul(N, index(3)), USE),
    "hint": loop(v, MN, Prefetch(A, (plus(v, 8),)), USE),
    "hint between": loop(
        o,
        floordiv(plus(MN, 3), index(4)),
        Prefetch(A, (times(o, 4),)),
        loop(i, 4, If(less(COUNT, MN), (TILED,))),
    ),
    "tiles": tiles(MN, COUNT, TILED),
    "tiles of tiles": loop(
        o,
        floordiv(plus(MN, 3), index(4)),
        loop(
            i,
            2,
            loop(
                v,
                2,
                If(
                    less(plus(times(o, 4), times(i, 2), v), MN),
                    (put(A, (FloorDiv(plus(times(o, 4), times(i, 2), v), N),), ZERO, update="add"),),
                ),
            ),
        ),
    ),
    "a buffer of the tile": loop(
        o, floordiv(plus(MN, 3), index(4)), Alloc(B), loop(i, 4, If(less(COUNT, MN), (TILED,)))
    ),
    "joined tiles": loop(
        v,
        Mul(floordiv(plus(MN, 3), index(4)), index(4)),
        If(less(AGAIN, MN), (put(A, (FloorDiv(AGAIN, N),), ZERO, update="add"),)),
    ),
}
KEPT = {
    "extent one too short": loop(v, sub(MN, index(1)), USE),
    "extent of another row": loop(v, Mul(M, plus(N, 1)), USE),
    "another divisor": loop(v, MN, put(A, (FloorDiv(v, N), Mod(v, M)), ZERO)),
    "no factor": loop(v, MN, put(A, (FloorDiv(v, K), Mod(v, K)), ZERO)),
    "the count itself": loop(v, MN, USE, put(B, (v,), ZERO)),
    "a sum of it": loop(v, MN, put(A, (FloorDiv(plus(v, 1), N), Mod(v, N)), ZERO)),
    "a factor that may be negative": loop(
        v, Mul(sub(M, index(2)), sub(N, index(2))), put(A, (FloorDiv(v, sub(N, index(2))),), ZERO)
    ),
    "constants": loop(v, Mul(M, index(4)), put(A, (FloorDiv(v, index(4)), Mod(v, index(4))), ZERO)),
    "guard one too far": tiles(plus(MN, 1), COUNT, TILED, outer=floordiv(plus(MN, 3), index(4))),
    "guard one too early": tiles(sub(MN, index(1)), COUNT, TILED, outer=floordiv(plus(MN, 3), index(4))),
    "no guard": loop(o, floordiv(plus(MN, 3), index(4)), loop(i, 4, TILED)),
    "a tile too short": tiles(MN, COUNT, TILED, inner=3),
    "a tile too few": tiles(MN, COUNT, TILED, outer=floordiv(MN, index(4))),
    "the digit itself": tiles(MN, COUNT, TILED, put(B, (i,), ZERO)),
    "a digit twice": tiles(MN, COUNT, put(A, (FloorDiv(plus(times(o, 4), i, i), N),), ZERO)),
    "more in the tile": loop(
        o, floordiv(plus(MN, 3), index(4)), put(B, (0,), ZERO), loop(i, 4, If(less(COUNT, MN), (TILED,)))
    ),
    "a buffer that lanes share": loop(
        o,
        floordiv(plus(MN, 3), index(4)),
        Alloc(B),
        For(i, index(4), (If(less(COUNT, MN), (put(B, (0,), ZERO), TILED)),), VECTOR),
    ),
    "threads that meet": tiles(MN, COUNT, TILED, Barrier()),
    "a loop between": loop(
        o, floordiv(plus(MN, 3), index(4)), loop(v, K, loop(i, 4, If(less(COUNT, MN), (TILED,))))
    ),
    "tiles outside in": loop(i, 4, loop(o, floordiv(plus(MN, 3), index(4)), If(less(COUNT, MN), (TILED,)))),
    "clipped tiles, one too few": loop(
        o, floordiv(MN, index(4)), loop(i, minimum(index(4), sub(MN, times(o, 4))), TILED)
    ),
    "clipped tiles of another length": loop(
        o, floordiv(plus(MN, 3), index(4)), loop(i, minimum(index(4), sub(MN, times(o, 3))), TILED)
    ),
    "tiles of nothing": tiles(MN, COUNT, TILED, inner=0),
    "constant tiles of nothing": loop(
        o, 2, loop(i, 0, loop(v, MN, put(A, (FloorDiv(plus(times(o, 4), i), N),), ZERO)))
    ),
    "clipped tiles of nothing": loop(
        o, floordiv(plus(MN, 3), index(4)), loop(i, minimum(index(0), sub(MN, times(o, 4))), TILED)
    ),
    "rows and one more": loop(v, plus(Mul(N, index(3)), 1), USE),
    "tiles of tiles, one too few": loop(
        o,
        floordiv(plus(MN, 9), index(10)),
        loop(
            i,
            2,
            loop(
                v,
                4,
                If(
                    less(plus(times(i, 4), v), 10),
                    (If(less(TEN, MN), (put(A, (FloorDiv(TEN, N),), ZERO, update="add"),)),),
                ),
            ),
        ),
    ),
    "data between tiles": loop(
        o,
        floordiv(plus(MN, 3), index(4)),
        If(less(at(DATA, 0), 1), (loop(i, 4, If(less(COUNT, MN), (TILED,))),)),
    ),
    "data": loop(v, Mul(M, at(B, 0)), put(A, (FloorDiv(v, at(B, 0)),), ZERO)),
}


@pytest.mark.parametrize("name", PARTED)
def test_parted(name: str):
    p = assert_same_instances(kernel(PARTED[name]), product(SIZES, SIZES, (1,), (1,)))
    assert p.loops and not divides_by_sizes(kernel(PARTED[name]))


@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str):
    k = kernel(KEPT[name])
    assert parted(k).kernel is k and not parted(k).loops


def test_lanes_take_their_element_of_a_buffer_along():
    lanes = For(i, index(4), (If(less(COUNT, MN), (put(A, (FloorDiv(COUNT, N),), at(B, i)),)),), VECTOR)
    after = parted(kernel(loop(o, floordiv(plus(MN, 3), index(4)), Alloc(B), lanes))).kernel
    inner = [n for n in statements(after) if isinstance(n, For)][-1]
    assert isinstance(made := inner.body[0], Alloc) and made.tensor is B
    assert [integer(n.indices[0]) for n in walk(after) if isinstance(n, Read) and n.tensor is B] == [0]


def test_loops_that_count_the_same():
    """In one iteration of some loops of a kernel: both numbers of a joined loop, none of a part
    of its tiles.
    """
    p = parted(kernel(loop(b := Var("b"), K, PARTED["tiles"])))
    loops = (b, *p.loops[o])
    assert p.loops_of(b, o) == p.loops_of(b, o, i) == loops
    assert [p.within(loops, given) for given in ((), (b,), (b, o), (b, i), (b, o, i), (o, i))] == [
        0,
        1,
        1,
        1,
        3,
        0,
    ]


def test_what_marks_become():
    def marked(*kinds: str) -> list[str]:
        nest = loop(o, floordiv(plus(MN, 3), index(4)), loop(i, 4, If(less(COUNT, MN), (TILED,))))
        outer, inner = map(parse_loop_kind, kinds)
        nest = For(o, nest.extent, (For(i, index(4), nest.body[0].body, inner),), outer)  # type: ignore[union-attr]
        return [str(n.kind) for n in statements(parted(kernel(nest)).kernel) if isinstance(n, For)]

    assert marked("serial", "unroll") == ["serial", "serial"]
    assert marked("parallel", "serial") == marked("parallel", "unroll") == ["parallel", "parallel"]
    assert marked("serial", "vector") == ["vector", "vector"]
    assert marked("parallel", "vector") == marked("block.x", "thread.x") == ["parallel", "parallel"]
    assert marked("serial", "instruction.vpdpbusd") == ["serial", "instruction.vpdpbusd"]


def test_the_same_loops_are_the_same_again():
    """Statements of a nest that a step leaves as it is are known from before."""
    k = kernel(PARTED["pair"], loop(Var("w"), 3))
    first, second = parted(k), parted(kernel(PARTED["pair"]))
    assert first.kernel.body[0] is second.kernel.body[0]


@pytest.mark.parametrize(
    "natural",
    [
        M,
        index(0),
        plus(M, 1),
        Mul(M, N),
        floordiv(M, index(2)),
        minimum(M, N),
        maximum(sub(M, index(1)), index(0)),
    ],
)
def test_natural(natural: Expr):
    assert is_natural(natural)


@pytest.mark.parametrize(
    "other",
    [
        sub(M, index(1)),
        index(-1),
        minimum(M, sub(N, index(1))),
        maximum(sub(M, index(1)), sub(N, index(1))),
        Mul(M, sub(N, index(1))),
    ],
)
def test_not_seen_to_be_natural(other: Expr):
    assert not is_natural(other)
