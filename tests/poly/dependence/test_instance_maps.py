"""Whether a kernel runs the instances of another one once each, and what an iteration has for
itself, against running them.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.poly.nests import ZERO, at, e, events, kernel, less, loop, plus, put, tensor
from tests.properties.poly.test_verdicts import SOME, evaluate_at, rewritten, variables_of
from texpr.ir.build import add, integer
from texpr.ir.dtypes import BOOL, I32, I64
from texpr.ir.expr import Cast, Compare, Const, Expr, Var, index
from texpr.ir.loop import Alloc, For, If, Kernel, Store
from texpr.ir.traverse import rewrite, substitute, walk
from texpr.poly import carried_dependence, flow_stays_within, reassociable, runs_in_order, runs_same_instances

Origin = dict[Store, Store]
Instance = dict[Store, dict[Var, Expr]]


def runs_once(before: Kernel, after: Kernel, origin: Origin, instance: Instance) -> bool:
    """Every instance of `before` runs once in `after`, and none that it has not."""
    ran: Counter[tuple] = Counter()
    for x in events(after, {}):
        values = dict(zip(x.loops, x.iteration))
        old = instance[x.store]
        ran[
            origin[x.store], tuple(evaluate_at(old[v], values) for v in variables_of(before, origin[x.store]))
        ] += 1
    return ran == Counter((x.store, x.iteration) for x in events(before, {}))


def longer(after: Kernel, number: int, by: int) -> Kernel:
    """A loop an iteration longer or shorter."""
    loops = [n for n in walk(after) if isinstance(n, For)]
    chosen = loops[number % len(loops)]
    extent = index(max((integer(chosen.extent) or 0) + by, 0))
    return rewrite(
        after, lambda n: For(n.var, extent, n.body) if isinstance(n, For) and n.var is chosen.var else None
    )  # type: ignore[return-value]


def unconditional(after: Kernel) -> Kernel:
    true = Const(True, dtype=BOOL)
    return rewrite(after, lambda n: If(true, n.body) if isinstance(n, If) else None)  # type: ignore[return-value]


def again(after: Kernel, origin: Origin, instance: Instance, extent: int) -> tuple[Kernel, Origin, Instance]:
    """The first nest once more, its outermost loop of so many iterations."""
    first = after.body[0]
    assert isinstance(first, For)
    new = {n.var: Var(n.var.name + "y") for n in walk(first) if isinstance(n, For)}
    body = tuple(substitute(s, new) for s in first.body)
    old_stores, stores = ([n for s in b for n in walk(s) if isinstance(n, Store)] for b in (first.body, body))
    body = tuple(
        rewrite(s, lambda n: For(new.get(n.var, n.var), n.extent, n.body) if isinstance(n, For) else None)
        for s in body
    )
    stores = [n for s in body for n in walk(s) if isinstance(n, Store)]
    origin = origin | {s: origin[old] for s, old in zip(stores, old_stores)}
    instance = instance | {
        s: {v: substitute(x, new) for v, x in instance[old].items()} for s, old in zip(stores, old_stores)
    }
    nest = For(new[first.var], index(extent), body)  # type: ignore[arg-type]
    return kernel(*after.body, nest), origin, instance


@SOME
@given(
    rewritten(),
    st.sampled_from(["", "longer", "shorter", "unconditional", "again", "shifted"]),
    st.integers(0, 5),
)
def test_same_work(nests, fault: str, number: int):
    before, after, origin, instance = nests
    match fault:
        case "longer" | "shorter":
            after = longer(after, number, 1 if fault == "longer" else -1)
        case "unconditional":
            after = unconditional(after)
        case "again":
            after, origin, instance = again(after, origin, instance, number % 3)
        case "shifted":
            store = [*instance][number % len(instance)]
            instance = instance | {store: {v: add(x, index(number % 2)) for v, x in instance[store].items()}}
    assert runs_same_instances(before, after, origin, instance) == runs_once(before, after, origin, instance)


def test_an_instance_that_runs_twice():
    """In a nest of its own, each of them without repetition."""
    i, k = Var("i"), Var("k")
    X, Y = tensor("X", Var("N")), tensor("Y", Var("N"))
    N = X.shape[0]
    first, one, two = put(Y, (i,), at(X, i)), put(Y, (i,), at(X, i)), put(Y, (k,), at(X, k))
    before = kernel(loop(i, N, first), inputs=(X,))
    twice = kernel(loop(i, N, one), loop(k, 1, two), inputs=(X,))
    assert runs_same_instances(before, kernel(loop(i, N, one), inputs=(X,)), {one: first}, {one: {}})
    assert not runs_same_instances(before, twice, {one: first, two: first}, {one: {}, two: {i: e(k)}})
    assert not runs_in_order(twice, before, (), {one: first, two: first}, {one: {}, two: {i: e(k)}})
    again = kernel(loop(i, N, one, put(Y, (i,), at(X, i))), inputs=(X,))
    other = next(s for s in walk(again) if isinstance(s, Store) and s is not one)
    assert not runs_same_instances(before, again, {one: first, other: first}, {one: {}, other: {}})
    alone, before = put(Y, (0,), ZERO), kernel(first := put(Y, (0,), ZERO))
    assert runs_same_instances(before, kernel(alone), {alone: first}, {alone: {}})
    other = put(Y, (0,), ZERO)
    assert not runs_same_instances(
        before, kernel(alone, other), {alone: first, other: first}, {alone: {}, other: {}}
    )


def test_one_statement_of_two_that_runs_less():
    i, j, Y, Z = Var("i"), Var("j"), tensor("Y", 4), tensor("Z", 4)
    old, new = ((put(Y, (i,), ZERO), put(Z, (j,), ZERO)) for _ in range(2))
    before = kernel(loop(i, 4, old[0]), loop(j, 4, old[1]))
    for extents in ((4, 4), (3, 4), (4, 3)):
        after = kernel(loop(i, extents[0], new[0]), loop(j, extents[1], new[1]))
        assert runs_same_instances(before, after, dict(zip(new, old)), {s: {} for s in new}) == (
            extents == (4, 4)
        )


def test_a_buffer_is_of_all_loops_around_its_allocation():
    i, j = Var("i"), Var("j")
    t, Y = tensor("t", 1), tensor("Y", 4, 4)
    inside = (put(t, (0,), ZERO), put(Y, (i, j), at(t, 0)))
    own, shared = loop(i, 4, loop(j, 4, Alloc(t), *inside)), loop(i, 4, loop(j, 4, *inside))
    under = loop(i, 4, loop(j, 4, If(Const(True, dtype=BOOL), (Alloc(t), *inside))))
    for nest, depends in ((own, False), (shared, True), (under, False)):
        for each in (nest, nest.body[0]):
            assert isinstance(each, For)
            assert (carried_dependence(kernel(nest), each) is not None) == depends


def test_what_data_lets_run_covers_no_more_than_that():
    """The data is the same in the statement that writes and in the one that reads, and so one
    may run without the other.
    """
    i, T, Y, s = Var("i"), tensor("T", 4), tensor("Y", 4), tensor("s", 1, dtype=I32)
    asked = Cast(at(s, 0), dtype=I64)
    for least, most, covered in ((0, 5, True), (0, -1, False), (3, 2, True), (3, 5, True)):
        written = (
            If(Compare("<", index(-1), asked), (put(T, (i,), ZERO),))
            if covered
            else If(less(asked, most), (put(T, (i,), ZERO),))
        )
        nest = loop(i, 4, written, If(Compare("<", index(least), asked), (put(Y, (i,), at(T, i)),)))
        assert flow_stays_within(kernel(nest, inputs=(s,)), T, [nest]) == covered


def test_places_that_differ_by_a_constant_are_apart():
    i, Y = Var("i"), tensor("Y", 8)
    for by, meets in ((0, False), (1, True), (4, False)):
        nest = loop(i, 4, put(Y, (i,), ZERO), put(Y, (plus(i, by),), ZERO))
        assert (carried_dependence(kernel(nest), nest) is not None) == meets


def test_extremes_may_be_found_in_any_order():
    i, y, x = Var("i"), tensor("y", 1), tensor("x", 4)
    for update, free in (("max", True), ("min", True), ("add", False), ("mul", False)):
        nest = loop(i, 4, put(y, (0,), at(x, i), update))
        assert (carried_dependence(kernel(nest, inputs=(x,)), nest, free=reassociable) is None) == free
