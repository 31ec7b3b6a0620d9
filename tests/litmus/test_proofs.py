"""Named schedules, legal and illegal: what the proofs must say about each, and the smallest
example of those that are refused.
"""

from __future__ import annotations

import pytest

from tests.poly.nests import (
    ZERO,
    at,
    carried_by_brute_force,
    e,
    kernel,
    less,
    loop,
    outer,
    plus,
    put,
    tensor,
    times,
)
from texpr.ir.dtypes import BOOL, F32, I32, I64
from texpr.ir.expr import Add, Cast, Compare, Const, FloorDiv, Mod, Mul, Select, Sub, Var
from texpr.ir.loop import Alloc, For, If, Kernel, Store
from texpr.ir.store_kind import START
from texpr.ir.traverse import substitute
from texpr.poly import Conflict, carried_dependence, flow_stays_within, reassociable, reversed_dependence
from texpr.poly.constraints import solver
from texpr.support.errors import ScheduleError

N, M, K = Var("N"), Var("M"), Var("K")
i, j, k = Var("i"), Var("j"), Var("k")


def interchanged(nest: Kernel) -> Conflict | None:
    """The two outer loops of a perfect nest, swapped."""
    (outer,) = nest.body
    (inner,) = outer.body
    after = kernel(For(inner.var, inner.extent, (For(outer.var, outer.extent, inner.body),)))
    return reversed_dependence(nest, after, {s: s for s in inner.body}, {})


def stencil(di: int, dj: int) -> Kernel:
    """A[i+1, j+1] = A[i+1-di, j+1-dj], away from the edges."""
    A = tensor("A", N, M)
    return kernel(
        loop(
            i,
            Sub(N, e(2)),
            loop(j, Sub(M, e(2)), put(A, (plus(i, 1), plus(j, 1)), at(A, plus(i, 1 - di), plus(j, 1 - dj)))),
        )
    )


def test_interchange_of_distance_1_minus_1_is_refused():
    conflict = interchanged(stencil(1, -1))
    assert conflict is not None
    assert (conflict.kind, conflict.element, conflict.sizes) == ("flow", (1, 2), {"M": 4, "N": 4})
    assert (conflict.source[1], conflict.sink[1]) == ({"i": 0, "j": 1}, {"i": 1, "j": 0})


@pytest.mark.parametrize("distance", [(1, 1), (1, 0), (0, 1), (0, 0)])
def test_interchange_of_other_distances_is_legal(distance):
    assert interchanged(stencil(*distance)) is None


FREE = {(1, 0): (False, True), (0, 1): (True, False), (1, 1): (False, True), (0, 0): (True, True)}


@pytest.mark.parametrize("distance", FREE)
def test_parallel_of_a_distance(distance):
    nest = stencil(*distance)
    rows, columns = loops_of(nest)
    assert (carried_dependence(nest, rows) is None, carried_dependence(nest, columns) is None) == FREE[
        distance
    ]


def test_parallel_of_a_recurrence_is_refused():
    a = tensor("a", N)
    nest = kernel(loop(i, Sub(N, e(1)), put(a, (plus(i, 1),), Add(at(a, i), ZERO))))
    conflict = carried_dependence(nest, outer(nest))
    assert conflict is not None
    assert (conflict.kind, conflict.element, conflict.sizes) == ("flow", (1,), {"N": 3})
    assert (conflict.source[1], conflict.sink[1]) == ({"i": 0}, {"i": 1})


def test_parallel_of_two_writers_per_element_is_refused():
    B = tensor("B", N)
    nest = kernel(loop(i, N, put(B, (FloorDiv(i, e(2)),), ZERO)))
    conflict = carried_dependence(nest, outer(nest))
    assert conflict is not None
    assert (conflict.kind, conflict.element, conflict.sizes) == ("output", (0,), {"N": 2})
    assert (conflict.source[1], conflict.sink[1]) == ({"i": 0}, {"i": 1})


def matmul(**rest) -> tuple[Kernel, Store, Store]:
    A, B, C = tensor("A", M, K), tensor("B", K, N), tensor("C", M, N)
    start = put(C, (i, j), ZERO, role=START)
    update = put(C, (i, j), Mul(at(A, i, k), at(B, k, j)), "add", **rest)
    return kernel(loop(i, M, loop(j, N, start, loop(k, K, update))), inputs=(A, B)), start, update


def loops_of(nest: Kernel) -> list[For]:
    found, body = [], nest.body
    while True:
        inner = next((s for s in body if isinstance(s, For)), None)
        if inner is None:
            return found
        found.append(inner)
        body = inner.body


def test_parallel_of_matmul():
    nest, *_ = matmul()
    assert [carried_dependence(nest, n) is None for n in loops_of(nest)] == [True, True, False]
    assert carried_dependence(nest, loops_of(nest)[2]).kind == "flow"  # type: ignore[union-attr]


def test_reduction_loop_is_free_once_reassociation_is_given_up():
    nest, *_ = matmul(reassoc=True)
    assert carried_dependence(nest, loops_of(nest)[2]) is not None
    assert carried_dependence(nest, loops_of(nest)[2], free=reassociable) is None
    exact, *_ = matmul()
    assert carried_dependence(exact, loops_of(exact)[2], free=reassociable) is not None


def test_a_private_tensor_carries_nothing():
    t, Y = tensor("t"), tensor("Y", N)
    nest = kernel(loop(i, N, put(t, (), ZERO), put(Y, (i,), at(t))))
    assert carried_dependence(nest, outer(nest)) is not None
    assert carried_dependence(nest, outer(nest), private=(t,)) is None


def tiled_matmul(order: str, update_first: bool = False) -> Conflict | None:
    """Matmul with tiles of 32 and 64, loops in the given order (o and p are the tiles of i and
    j, a and b the insides).
    """
    nest, start, update = matmul()
    o, p, a, b = (Var(x) for x in "opab")
    values = {i: plus(times(o, 32), a), j: plus(times(p, 64), b)}
    inside = lambda s: If(less(values[i], M), (If(less(values[j], N), (substitute(s, values),)),))  # noqa: E731
    extents = {o: FloorDiv(plus(M, 31), e(32)), p: FloorDiv(plus(N, 63), e(64)), a: e(32), b: e(64), k: K}
    s, u = inside(start), inside(update)
    own = {v: Var(v.name) for v in (o, p, a, b)}
    first = substitute(s, own)
    for v in (b, a, p, o):
        first = loop(own[v], extents[v], first)
    second = u
    for v in reversed([{"o": o, "p": p, "a": a, "b": b, "k": k}[x] for x in order]):
        second = loop(v, extents[v], second)
    body = (second, first) if update_first else (first, second)
    new_start, new_update = first, second
    while not isinstance(new_start, Store):
        new_start = new_start.body[0]  # type: ignore[union-attr]
    while not isinstance(new_update, Store):
        new_update = new_update.body[0]  # type: ignore[union-attr]
    renamed = {v: substitute(x, own) for v, x in values.items()}
    return reversed_dependence(
        nest,
        Kernel("k", nest.inputs, nest.outputs, (), nest.sizes, body),
        {new_start: start, new_update: update},
        {new_start: renamed, new_update: values},
    )


@pytest.mark.parametrize("order", ["opabk", "opkab", "kopab", "pokba", "koapb"])
def test_tiled_matmul_is_legal_in_any_order(order):
    assert tiled_matmul(order) is None


def test_start_after_update_is_refused():
    conflict = tiled_matmul("opkab", update_first=True)
    assert conflict is not None
    assert (conflict.kind, conflict.sizes, conflict.element) == ("flow", {"K": 1, "M": 1, "N": 1}, (0, 0))


def test_lost_instances_are_our_bug():
    a = tensor("a", N)
    s = put(a, (i,), ZERO)
    nest = kernel(loop(i, N, s))
    with pytest.raises(AssertionError):
        reversed_dependence(nest, kernel(loop(i, Sub(N, e(1)), s)), {s: s}, {})
    o, p = Var("o"), Var("p")
    t = put(a, (plus(times(o, 3), p),), ZERO)
    with pytest.raises(AssertionError):
        overlapping = kernel(
            loop(o, FloorDiv(plus(N, 2), e(3)), loop(p, 4, If(less(plus(times(o, 3), p), N), (t,))))
        )
        reversed_dependence(nest, overlapping, {t: s}, {t: {i: plus(times(o, 3), p)}})


def test_reversal_of_a_recurrence_is_refused():
    a = tensor("a", N)
    s = put(a, (plus(i, 1),), Add(at(a, i), ZERO))
    nest = kernel(loop(i, Sub(N, e(1)), s))
    r = Var("r")
    back = Sub(Sub(N, e(2)), r)
    t = substitute(s, {i: back})
    assert reversed_dependence(nest, kernel(loop(r, Sub(N, e(1)), t)), {t: s}, {t: {i: back}}) is not None
    free = put(a, (i,), ZERO)
    u = substitute(free, {i: back})
    assert (
        reversed_dependence(
            kernel(loop(i, Sub(N, e(1)), free)), kernel(loop(r, Sub(N, e(1)), u)), {u: free}, {u: {i: back}}
        )
        is None
    )


def scatter(distinct: bool = False, dtype=F32, update: str | None = None) -> Kernel:
    idx = tensor("idx", N, dtype=I32, value_range=(e(0), M), distinct=distinct)
    H = tensor("H", M, dtype=dtype)
    return kernel(
        loop(i, N, put(H, (Cast(at(idx, i), dtype=I64),), Const(1, dtype=dtype), update)), inputs=(idx,)
    )


def test_scatter():
    conflict = carried_dependence(scatter(), loop(i, N))
    assert conflict is not None and conflict.sizes == {"N": 2} and conflict.kind == "output"
    assert carried_dependence(scatter(distinct=True), loop(i, N)) is None
    assert carried_dependence(scatter(update="add", dtype=I32), loop(i, N), free=reassociable) is None
    assert carried_dependence(scatter(update="add", dtype=F32), loop(i, N), free=reassociable) is not None


def test_scatter_into_a_row_of_its_own_is_free():
    idx = tensor("idx", N, dtype=I32, value_range=(e(0), M))
    H = tensor("H", N, M)
    nest = kernel(loop(i, N, put(H, (i, Cast(at(idx, i), dtype=I64)), ZERO)), inputs=(idx,))
    assert carried_dependence(nest, outer(nest)) is None


def test_conditions_keep_instances_apart():
    a = tensor("a", times(N, 2))
    evens = kernel(
        loop(i, times(N, 2), If(Compare("==", Mod(i, e(2)), e(0)), (put(a, (i,), at(a, plus(i, 1))),)))
    )
    assert carried_dependence(evens, outer(evens)) is None
    lazy = kernel(loop(i, N, put(a, (i,), Select(less(i, 1), at(a, plus(i, N)), ZERO))))
    assert carried_dependence(lazy, outer(lazy)) is None
    eager = kernel(loop(i, N, put(a, (i,), Select(less(i, 1), at(a, plus(i, 1)), ZERO))))
    assert carried_dependence(eager, outer(eager)).kind == "anti"  # type: ignore[union-attr]


def test_a_condition_on_data_may_hold():
    mask, a = tensor("mask", N, dtype=BOOL), tensor("a", N)
    nest = kernel(loop(i, Sub(N, e(1)), If(at(mask, i), (put(a, (plus(i, 1),), at(a, i)),))), inputs=(mask,))
    assert carried_dependence(nest, outer(nest)) is not None


def test_a_symbolic_stride_may_meet_anything():
    a = tensor("a", times(N, 100))
    nest = kernel(loop(i, N, put(a, (Mul(i, M),), ZERO)))
    assert carried_dependence(nest, outer(nest)) is not None


def test_values_stay_within():
    t, u, X, Y = tensor("t", M), tensor("u", M), tensor("X", N, M), tensor("Y", N, M)
    fill = loop(j, M, put(t, (j,), at(X, i, j)))
    use = loop(k, M, put(Y, (i, k), Add(at(t, k), at(t, Sub(Sub(M, e(1)), k)))))
    nest = kernel(loop(i, N, fill, use), inputs=(X,))
    assert flow_stays_within(nest, t, [outer(nest)])
    late = kernel(loop(i, N, use, fill), inputs=(X,))
    assert not flow_stays_within(late, t, [outer(late)])
    half = kernel(loop(i, N, loop(j, Sub(M, e(1)), put(t, (j,), at(X, i, j))), use), inputs=(X,))
    assert not flow_stays_within(half, t, [outer(half)])
    summed = kernel(
        loop(
            i,
            N,
            put(u, (0,), ZERO),
            loop(j, M, put(u, (0,), at(X, i, j), "add")),
            loop(k, M, put(Y, (i, k), at(u, 0))),
        )
    )
    assert flow_stays_within(summed, u, [outer(summed)])
    unstarted = kernel(
        loop(i, N, loop(j, M, put(u, (0,), at(X, i, j), "add")), loop(k, M, put(Y, (i, k), at(u, 0))))
    )
    assert not flow_stays_within(unstarted, u, [outer(unstarted)])
    masked = kernel(loop(i, N, If(Compare("<", at(X, i, 0), ZERO), (fill,)), use), inputs=(X,))
    assert not flow_stays_within(masked, t, [outer(masked)])


def test_brute_force_agrees_on_the_recurrence():
    a = tensor("a", N)
    nest = kernel(loop(i, Sub(N, e(1)), put(a, (plus(i, 1),), Add(at(a, i), ZERO))))
    assert not list(carried_by_brute_force(nest, outer(nest), {N: 2}))
    assert list(carried_by_brute_force(nest, outer(nest), {N: 3}))


def test_a_buffer_of_each_iteration_carries_nothing():
    t, Y = tensor("t"), tensor("Y", N)
    body = put(t, (), ZERO), put(Y, (i,), at(t))
    nest = kernel(loop(i, N, Alloc(t), *body))
    assert carried_dependence(nest, outer(nest)) is None
    assert carried_dependence(kernel(Alloc(t), loop(i, N, *body)), loop(i, N)) is not None


def test_a_condition_that_its_own_body_changes_is_refused():
    mask = tensor("mask", N, dtype=BOOL)
    changing = kernel(loop(i, N, If(at(mask, i), (put(mask, (i,), Const(False, dtype=BOOL)),))))
    with pytest.raises(ScheduleError) as e:
        carried_dependence(changing, outer(changing))
    assert (
        str(e.value)
        == """error[order]: a condition reads mask, which the statements under it write
  help: compute a condition into a tensor of its own"""
    )


def test_a_question_that_takes_too_long_is_not_answered_with_yes(monkeypatch):
    monkeypatch.setattr(solver, "QUOTA", 50)
    nest, *_ = matmul()
    with pytest.raises(ScheduleError) as e:
        carried_dependence(nest, loops_of(nest)[2])
    assert (
        str(e.value)
        == """error[order]: running the iterations of `k` in another order cannot be proven legal within the quota
  help: give the sizes as constants, or take this step before the loops are split"""
    )
    monkeypatch.undo()
    assert carried_dependence(nest, loops_of(nest)[2], free=reassociable) is not None
