"""What holds in one case, of one loop or for one access of several, and not of the others."""

from __future__ import annotations

from tests.poly.nests import ZERO, at, e, kernel, less, loop, outer, plus, put, tensor, times
from texpr.ir.dtypes import I64
from texpr.ir.expr import And, Compare, Expr, FloorDiv, Max, Min, Or, Select, Sub, Tensor, Var
from texpr.ir.loop import If, Kernel, Store
from texpr.ir.traverse import substitute
from texpr.poly import (
    carried_dependence,
    flow_stays_within,
    footprint,
    reversed_dependence,
    runs_in_order,
    runs_same_instances,
)
from texpr.poly.dependence import kernel_model as nest

N, M, K = Var("N"), Var("M"), Var("K")
i, j, k = Var("i"), Var("j"), Var("k")
Y, Z, T = tensor("Y", 99), tensor("Z", 99), tensor("T", 99)


def in_order_of(at_iteration: Expr, *stores: Store) -> bool:
    """Whether a loop over the stores may run its iterations in this order."""
    made = tuple(put(s.tensor, s.indices, s.value) for s in stores)
    before, after = kernel(loop(i, 4, *stores)), kernel(loop(i, 4, *made))
    return (
        reversed_dependence(before, after, dict(zip(made, stores)), {s: {i: at_iteration} for s in made})
        is None
    )


def test_an_order_that_stays_in_one_case_only():
    """0 1 3 2: of the first half all comes before, and the second is turned round."""
    needs = put(Y, (plus(i, 1),), at(Y, i))
    for turned, where in ((Sub(e(5), i), less(i, 2)), (Sub(e(1), i), Compare(">=", i, e(2)))):
        kept_first = Select(where, i, turned)
        assert in_order_of(Select(where, i, i), needs)
        assert not in_order_of(kept_first, needs)
        assert in_order_of(kept_first, put(Y, (i,), at(Z, i)))


def test_the_next_iteration_of_two_halves():
    """2 3 0 1: neighbours in a half keep their order, and those across it do not."""
    halves = Select(less(i, 2), plus(i, 2), Sub(i, e(2)))
    assert not in_order_of(halves, put(Y, (plus(i, 1),), at(Y, i)))
    assert in_order_of(halves, put(Y, (i,), at(Z, i)))


def test_a_quotient_is_of_the_instance_that_runs():
    """Two statements change places, in a loop that counts from 0 instead of 2: `i // 2` is 0
    there, and 1 where the element was meant.
    """
    half = FloorDiv(i, e(2))

    def both(element: Expr, condition: Expr, *values: int) -> tuple[Kernel, list[Store]]:
        stores = [put(Y, (element,), at(Z, value)) for value in values]
        return kernel(loop(i, 4, If(condition, tuple(stores)))), stores

    before, (first, second) = both(plus(i, half), Compare("<=", e(2), i), 0, 1)
    for values in ((0, 1), (1, 0)):
        after, made = both(plus(i, half, 3), less(plus(i, half), 2), *values)
        origin = {s: (first, second)[value] for s, value in zip(made, values)}
        instance: dict = {s: {i: plus(i, 2)} for s in made}
        assert runs_same_instances(before, after, origin, instance)
        assert (reversed_dependence(before, after, origin, instance) is None) == (values == (0, 1))


def test_an_instance_that_runs_again_in_a_further_loop():
    """Of two loops of a nest, one says which instance it is, and the other runs it again."""
    first = put(Y, (i,), ZERO)
    before = kernel(loop(i, 4, first))
    for extent, once in ((1, True), (2, False)):
        for around in (True, False):
            one = put(Y, (i,), ZERO)
            nest = loop(k, extent, loop(i, 4, one)) if around else loop(i, 4, loop(k, extent, one))
            assert runs_same_instances(before, kernel(nest), {one: first}, {one: {}}) == once


def test_an_instance_that_runs_again_in_a_further_case():
    first = put(Y, (i,), ZERO)
    before = kernel(loop(i, 4, first))
    for value, once in (
        (Select(less(i, 2), plus(i, 2), Sub(i, e(2))), True),
        (Select(less(i, 2), i, Sub(i, e(2))), False),
        (Max(i, e(1)), False),
        (Min(i, e(2)), False),
    ):
        one = put(Y, (i,), ZERO)
        assert runs_same_instances(before, kernel(loop(i, 4, one)), {one: first}, {one: {i: value}}) == once


def stays(*body, requires: tuple[Expr, ...] = (), inputs: tuple[Tensor, ...] = ()) -> bool:  # noqa: ANN002
    """Whether what is read of T was written in the same iteration of an outer loop."""
    nest = loop(Var("o"), 3, *body)
    return flow_stays_within(kernel(nest, requires=requires, inputs=inputs), T, [nest])


def test_two_writes_cover_what_a_requirement_says():
    parts = (
        loop(i, K, put(T, (i,), ZERO)),
        loop(j, Sub(M, K), put(T, (plus(j, K),), ZERO)),
        loop(k, N, put(Y, (k,), at(T, k))),
    )
    fits, cut = Compare("<=", N, M), Compare("<=", K, M)
    assert stays(*parts, requires=(fits, cut))
    assert not stays(*parts, requires=(cut,))
    assert not stays(*parts[1:], requires=(fits, cut))


def test_elements_at_numbers_of_data():
    """The same number in all iterations; another one is another element, or may be."""
    for some in (None, (e(0), e(9))):
        s, t = (tensor(name, dtype=I64, value_range=some) for name in "st")
        for read, same, near in ((at(s), True, True), (at(t), False, False), (plus(at(s), 1), False, True)):
            write, use = put(T, (at(s),), ZERO), put(Y, (0,), at(T, read))
            assert stays(write, use, inputs=(s, t)) == same
            if some is not None:  # Else the sum may wrap.
                assert stays(loop(i, 2, put(T, (plus(at(s), i),), ZERO)), use, inputs=(s, t)) == near


def test_a_write_somewhere_covers_nothing_for_sure():
    p, X = tensor("p", 99, dtype=I64), tensor("X", 99)
    for place, sure in (
        (i, True),
        (at(p, i), False),
        (FloorDiv(at(p, i), e(2)), False),
        (Min(i, at(p, i)), False),
        (Max(at(p, 0), i), False),
        (times(i, 2), False),
    ):
        write, read = loop(i, 4, put(T, (place,), at(X, i))), loop(j, 4, put(Y, (j,), at(T, j)))
        assert stays(write, read, inputs=(p, X)) == sure, place


def test_a_write_where_one_of_two_conditions_holds():
    """One is on data, of which nothing is known, and the other on loops."""
    X = tensor("X", 99)
    positive, low, high = Compare(">", at(X, i), ZERO), less(i, 2), Compare(">=", i, e(2))
    read = loop(j, 4, put(Y, (j,), at(T, j)))
    for condition, sure in (
        (Or(low, high), True),
        (Or(positive, low), False),
        (Or(low, positive), False),
        (And(positive, low), False),
    ):
        assert stays(loop(i, 4, If(condition, (put(T, (i,), at(X, i)),))), read, inputs=(X,)) == sure


def test_rows_that_hold_each_value_once():
    """Two nests over the same elements become one where they meet in one iteration only."""
    X, W = tensor("X", 9, 9), tensor("W", 9, 9)
    p = tensor("p", 9, 9, dtype=I64, distinct=True, value_range=(e(0), e(9)))
    q = tensor("q", 9, 9, dtype=I64, value_range=(e(0), e(9)))
    b, c, n, m = Var("b"), Var("c"), Var("n"), Var("m")
    for rows, row, other, one in (
        (p, c, c, True),
        (q, c, c, False),
        (p, plus(c, 0), Sub(e(3), c), False),
        (p, Sub(e(3), c), c, False),
    ):
        first, second = put(X, (b, at(rows, b, n)), ZERO), put(W, (c, m), at(X, other, at(rows, row, m)))
        again = put(W, (b, n), at(X, *(substitute(x, {c: b, m: n}) for x in (other, at(rows, row, m)))))
        before = kernel(loop(b, 4, loop(n, 9, first)), loop(c, 4, loop(m, 9, second)), inputs=(p, q))
        copy = put(X, first.indices, ZERO)
        after = kernel(loop(b, 4, loop(n, 9, copy, again)), inputs=(p, q))
        instance: dict = {copy: {}, again: {c: b, m: n}}
        assert (reversed_dependence(before, after, {copy: first, again: second}, instance) is None) == one


def test_a_loop_of_which_one_access_of_several_depends():
    one, other = put(Y, (i,), at(Z, i)), put(T, (i,), at(T, plus(i, 1)))
    for body, free in (((one,), True), ((other,), False), ((one, other), False), ((other, one), False)):
        nest = kernel(loop(i, 4, *(put(s.tensor, s.indices, s.value) for s in body)))
        assert (carried_dependence(nest, outer(nest)) is None) == free


def test_one_statement_of_two_that_keeps_its_place():
    """The second runs one iteration ahead: the loop is shared as before, and only the first runs
    when it did.
    """
    X = tensor("X", 4)
    first, second = put(T, (i,), at(X, i)), put(Y, (i,), at(T, i))
    before = kernel(loop(i, 4, first, second), inputs=(X,))
    for by, kept in ((0, True), (1, False)):
        one, ahead, rest = (
            put(T, (i,), at(X, i)),
            put(Y, (plus(i, by),), at(T, plus(i, by))),
            put(Y, (0,), at(T, 0)),
        )
        parts = (loop(i, 4, one, If(less(plus(i, by), 4), (ahead,))), *((rest,) if by else ()))
        origin, instance = (
            {one: first, ahead: second, rest: second},
            {one: {}, ahead: {i: plus(i, by)}, rest: {i: e(0)}},
        )
        assert (reversed_dependence(before, kernel(*parts, inputs=(X,)), origin, instance) is None) == kept


def test_two_kernels_whose_expressions_are_remembered_apart(monkeypatch):
    """A loop of one of them is no size of the other."""
    monkeypatch.setattr(nest, "_MOST_EXPRESSIONS", -1)
    first, r = put(Y, (plus(i, 1),), at(Y, i)), Var("r")
    before = kernel(loop(i, 4, first))
    for at_iteration, kept in ((r, True), (Sub(e(3), r), False)):
        one = put(Y, (plus(at_iteration, 1),), at(Y, at_iteration))
        assert (
            reversed_dependence(before, kernel(loop(r, 4, one)), {one: first}, {one: {i: at_iteration}})
            is None
        ) == kept


def test_folds_of_two_nests_that_change_places():
    """As equations say it, where the sum may not be another; one whose updates are marked may."""
    X = tensor("X", 4)
    for marked in (False, True):
        old, new = ([put(Y, (0,), at(X, v), "add", reassoc=marked) for v in (i, j)] for _ in range(2))
        before = kernel(loop(i, 4, old[0]), loop(j, 4, old[1]), inputs=(X,))
        for turned in (False, True):
            nests = [loop(i, 4, new[0]), loop(j, 4, new[1])]
            after = kernel(*(nests[::-1] if turned else nests), inputs=(X,))
            assert runs_in_order(after, before, {Y}, dict(zip(new, old)), {s: {} for s in new}) == (
                marked or not turned
            )


def test_a_box_that_holds_an_access_in_one_case_only():
    """At j > 5 the index is below the box that begins at j."""
    X, clipped = tensor("X", 20), Min(plus(j, i), e(5))
    for where, held in ((less(j, 3), True), (Or(less(j, 3), less(7, j)), False), (less(7, j), False)):
        around = loop(j, 9, If(where, (loop(i, 4, put(Y, (i,), at(X, clipped))),)))
        box = footprint(kernel(around, inputs=(X,)), X, [around])
        assert box is not None
        assert (box.bases == (j,)) == held


def test_many_cases_of_which_some_happen_in_one_of_two():
    """Six indices of two cases each are too many at once; each happens where the loop is on one
    side of a gap or the other.
    """
    W = tensor("W", *([9] * 6))
    places = tuple(Max(Sub(i, e(4)), e(0)) for _ in range(6))
    where = Or(less(i, 3), less(5, i))
    for other, apart in ((0, True), (4, False)):
        nest_of = loop(i, 9, If(where, (put(W, places, ZERO), put(Y, (i,), at(W, *([other] * 6))))))
        assert (carried_dependence(kernel(nest_of), nest_of) is not None) == (other in (0, 4)), apart
