"""Copies of loops that are one: random ones, every instance run; the same instances in the same
order, and folds judged as by running.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cmp_to_key
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.poly.nests import ZERO, Event, at, e, events, kernel, loop, plus, tensor, times
from tests.profiles import examples
from texpr.ir.expr import Add, And, Compare, Expr, Select, Tensor, Var
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.printing.loop import show_kernel
from texpr.poly import Storage
from texpr.poly.constraints.linear_forms import Conjunction, Form
from texpr.poly.dependence.kernel_model import Nest, Statement, model
from texpr.poly.dependence.merged_copies import merge_copies

N = Var("N")
A = tensor("A", 9, 9, 9)
SIZES = range(4)
SOME = examples(50)

STARTS = (0, 1, 1, 2, plus(N, -1), N, plus(N, 1))
LENGTHS = (1, 1, 2, N, plus(N, -1), plus(N, -2), 3)


@st.composite
def ranges(draw) -> list[tuple[object, object]]:
    """Where copies of a loop start and how long they are: often one after the other."""
    if draw(st.booleans()):
        return draw(
            st.sampled_from(
                [
                    [(0, 1), (1, plus(N, -1))],
                    [(0, plus(N, -1)), (plus(N, -1), 1)],
                    [(0, 2), (2, plus(N, -2))],
                    [(0, 1), (1, N)],
                    [(0, 1), (1, plus(N, -2)), (plus(N, -1), 1)],
                    [(0, 1), (1, plus(N, -1)), (plus(N, -1), 1)],
                    [(1, plus(N, -1)), (0, 1)],
                ]
            )
        )
    return draw(
        st.lists(st.tuples(st.sampled_from(STARTS), st.sampled_from(LENGTHS)), min_size=1, max_size=3)
    )


@st.composite
def bodies(draw, t: Var, around: tuple[Expr, ...], depth: int) -> list[Stmt]:
    """Copies of a loop over further copies or over a store of the element they count, which
    reads others.
    """
    made: list[Stmt] = []
    for start, length in draw(ranges()):
        v = Var(f"{'ij'[len(around)]}{len(made)}")
        here = (*around, plus(v, start))
        inside = (
            draw(bodies(t, here, depth - 1)) if depth else [draw(stores(t, here, q)) for q in draw(ORDERS)]
        )
        extra = [draw(stores(t, here, 2))] if depth and draw(st.integers(0, 5)) == 0 else []
        made.append(loop(v, length, *(extra + inside if draw(st.booleans()) else inside + extra)))
    return made


ORDERS = st.sampled_from([(0,), (0,), (0,), (0, 1), (0, 1), (1, 0), (0, 0)])


@st.composite
def stores(draw, t: Var, here: tuple[Expr, ...], equation: int) -> Stmt:
    i, j = here if len(here) == 2 else (*here, e(0))

    value: Expr = ZERO
    for _ in range(draw(st.integers(0, 2))):
        x, y = plus(i, draw(st.integers(-2, 1))), plus(j, draw(st.sampled_from([0, 0, -1, 1])))
        read = at(A, plus(t, draw(st.sampled_from([0, 1, 1, -1]))), x, y)
        inside = And(
            And(Compare("<=", e(0), x), Compare("<", x, N)), And(Compare("<=", e(0), y), Compare("<", y, N))
        )
        some = draw(st.sampled_from([None, inside, inside, Compare("<", i, e(1))]))
        value = Add(value, read if some is None else Select(some, read, ZERO))
    update = draw(st.sampled_from([None, None, None, "max"]))
    first = plus(t, 1) if draw(st.integers(0, 4)) else plus(times(t, -1), 2)
    store = Store(A, (first, i, j), value, update, equation=equation, at=(t, *here))
    return (
        If(Compare(draw(st.sampled_from(["<", ">="])), i, e(1)), (store,))
        if draw(st.integers(0, 7)) == 0
        else store
    )


@st.composite
def kernels(draw) -> Kernel:
    t = Var("t")
    body = draw(bodies(t, (), draw(st.integers(0, 1))))
    start = (
        [loop(v := Var("s"), N, Store(A, (e(0), v, e(0)), ZERO, equation=5, at=(v,)))]
        if draw(st.booleans())
        else []
    )
    return kernel(*start, loop(t, draw(st.integers(1, 3)), *body))


def instances(nest: Nest, size: int) -> list[tuple]:
    """What happens, in order, as the statements of a nest say."""
    found = [
        (s, x)
        for s in nest.statements
        for x in product(range(-1, 7), repeat=len(s.loops))
        if holds(s.domain, values(s, x, size))
    ]
    return [
        happens(s, values(s, x, size))
        for s, x in sorted(found, key=cmp_to_key(lambda a, b: -1 if runs_first(*a, *b) else 1))
    ]


def values(s: Statement, iteration: tuple[int, ...], size: int) -> dict:
    return {N: size, **{n.var: x for n, x in zip(s.loops, iteration)}}


def value(form: Form, given: dict) -> int:
    return form.constant + sum(c * given[k] for k, c in form.terms)


def holds(pieces: tuple[Conjunction, ...], given: dict) -> bool:
    return any(
        all((value(c.form, given) == 0 if c.equality else value(c.form, given) >= 0) for c in p)
        for p in pieces
    )


def runs_first(s: Statement, x: tuple[int, ...], t: Statement, y: tuple[int, ...]) -> bool:
    shared = s.common(t)
    return (
        (x[:shared], s.order) < (y[:shared], t.order) if x[:shared] == y[:shared] else x[:shared] < y[:shared]
    )


def happens(s: Statement, given: dict) -> tuple:
    def elements(*kinds: str) -> frozenset:
        return frozenset(
            (a.tensor, tuple(value(f, given) for f in at))
            for a in s.accesses
            if a.kind in kinds
            for p, at in a.cases
            if holds((p,), given)
        )

    return s.store.equation, elements("read"), elements("write", "update")


@SOME
@given(kernels())
def test_the_same_happens_in_the_same_order(k: Kernel):
    for size in SIZES:
        expected = [(x.store.equation, x.reads, x.writes) for x in events(k, {N: size})]
        assert instances(merge_copies(model(k)), size) == expected, show_kernel(k)


def clashes(
    found: list[Event], tensor: Tensor, d: int, depth: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Elements that are read after another one has taken their place, and not been written
    since; with that one.
    """
    held: dict[tuple, dict[tuple[int, ...], None]] = {}
    for x in found:
        own = x.writes if x.store.update else frozenset()
        for _, element in [y for y in x.reads | own if y[0] is tensor]:
            place = (*element[:d], element[d] % depth, *element[d + 1 :])
            since = list(held.get(place, ()))
            last = since.index(element) if element in since else -1
            yield from ((element, other) for other in since[last + 1 :])
        for _, element in x.writes:
            place = (*element[:d], element[d] % depth, *element[d + 1 :])
            written = held.setdefault(place, {})
            if not (x.store.update and element not in written):
                written.pop(element, None)
            written[element] = None


@SOME
@given(kernels(), st.integers(0, 2), st.integers(1, 3))
def test_a_fold_loses_what_is_lost_by_running(k: Kernel, d: int, depth: int):
    found = Storage(k, A, d).overwrite(depth)
    lost = {size: set(clashes(events(k, {N: size}), A, d, depth)) for size in SIZES}
    if found is None:
        assert not any(lost.values()), show_kernel(k)
    elif (size := found.sizes.get("N", 0)) in SIZES:
        assert (found.element, found.other) in lost[size], show_kernel(k)


def test_copies_made_by_steps_are_one():
    op = tx.op("""op f(X: f32[N, M]) -> Y: f32[N, M] {
      let U: f32[3, N, M]
      U[0, i, j] = X[i, j]
      U[t+1, i, j] = U[t, i+1, j | 0] + U[t+1, i, j-1 | 0]  for t in 0..2
      Y[i, j] = U[2, i, j] }""")
    s = tx.schedule(op).replay('peel("U.1.i", 1, 1)\npeel("U.1.j", 1, 1)')
    nest = model(s.kernel)
    assert len(nest.statements) == 11
    assert [(s.store.equation, len(s.domain)) for s in merge_copies(nest).statements] == [
        (0, 1),
        (1, 1),
        (2, 1),
    ]
    plain = model(tx.schedule(op).kernel)
    assert merge_copies(plain) is plain


def test_copies_in_another_order_are_not():
    """What counts on in the text must do so in the iterations, too."""

    def copies(first: int, second: int) -> Kernel:
        def copy(name: str, start: int) -> For:
            return loop(v := Var(name), 2, Store(A, (e(0), e(0), plus(v, start)), ZERO, at=(plus(v, start),)))

        return kernel(copy("i", first), copy("j", second))

    assert [len(merge_copies(model(copies(*x))).statements) for x in ((0, 2), (0, 3), (0, 1), (2, 0))] == [
        1,
        1,
        2,
        2,
    ]
