"""What is asked of two statements of one loop, one answer after the other: which way they depend
on each other, and how far apart.
"""

from __future__ import annotations

import pytest

import texpr as tx
from tests.poly.nests import ZERO, at, kernel, less, loop, outer, plus, put, tensor, times
from texpr.ir.dtypes import F32, I32, I64
from texpr.ir.expr import Cast, Compare, Const, Expr, Max, Mul, Select, Tensor, Var
from texpr.ir.loop import For, If, Kernel, Store
from texpr.ir.traverse import walk
from texpr.lang import parse_kernel
from texpr.poly import (
    anti_dependence,
    carried_dependence,
    dependence_on,
    flow_stays_within,
    read_after_write,
    reassociable,
    reversed_dependence,
    runs_same_instances,
    written_once,
)
from texpr.poly.constraints.conversion import Converter
from texpr.poly.constraints.linear_forms import ANYTHING, Unknown
from texpr.poly.dependence import kernel_model as nest
from texpr.poly.dependence import legality

KERNEL = """kernel k(X: f32[N], p: i32[N + 8] in 0..N distinct, q: i32[4, N] in 0..N distinct, w: i32[N] in 0..N,\
 a: i64, b: i64) -> Y: f32[N]
  let T: f32[N + 8]
  let S: i32[N + 8]
  for i in 0..N
    {0}
"""
PAIRS = {
    # statements: how far before the second the first runs, at most, that it depends on; the same
    # the other way round; None: on no iteration
    "the same element": ("T[i] = X[i]\n    Y[i] = T[i]", 0, None),
    "the next one": ("Y[i] = T[i]\n    T[i + 1] = X[i]", None, 1),
    "one of two on": ("T[i] = X[i]\n    Y[i] = T[i + 2]", None, 2),
    "written over": ("Y[i] = T[i]\n    T[i] = X[i]", 0, None),
    "written over later": ("Y[i] = T[i + 3]\n    T[i] = X[i]", 3, None),
    "written twice": ("T[i + 1] = X[i]\n    T[i] = X[i]", 1, None),
    "another tensor": ("T[i] = X[i]\n    Y[i] = X[i]", None, None),
    "read twice": ("T[i] = X[i]\n    Y[i] = X[i]", None, None),
    "an index is read": ("S[i] = 1\n    Y[i64(S[i])] = X[i]", 0, None),
    "a condition reads": ("S[i] = 1\n    if S[i] < 3\n      Y[i] = X[i]", 0, None),
    "distinct": ("Y[i64(p[i])] = X[i]\n    Y[i64(p[i])] += X[i]", 0, None),
    "distinct, the next": ("Y[i64(p[i])] = X[i]\n    Y[i64(p[i + 1])] += X[i]", None, 1),
    "distinct, two before": ("Y[i64(p[i + 2])] = X[i]\n    Y[i64(p[i])] += X[i]", 2, None),
    "not distinct": ("Y[i64(w[i])] = X[i]\n    Y[i64(w[i])] += X[i]", 0, 1),
    "distinct, another factor": ("T[i64(p[i])] = X[i]\n    T[2 * i64(p[i])] += X[i]", 0, 1),
    "distinct, shifted": ("T[i64(p[i])] = X[i]\n    T[i64(p[i]) + 1] += X[i]", 0, 1),
    "a sum of distinct": ("T[i64(p[i]) + i] = X[i]\n    T[i64(p[i]) + i] += X[i]", 0, 1),
    "distinct in one row": ("Y[i64(q[2, i])] = X[i]\n    Y[i64(q[2, i])] += X[i]", 0, None),
    "distinct in other rows": ("Y[i64(q[2, i])] = X[i]\n    Y[i64(q[3, i])] += X[i]", 0, 1),
    "distinct and not": ("Y[i64(p[i])] = X[i]\n    Y[i64(w[i])] += X[i]", 0, 1),
    "distinct in a tensor each": ("Y[i64(q[2, i])] = X[i]\n    Y[i64(p[i])] += X[i]", 0, 1),
}


def k_of(body: str) -> Kernel:
    return parse_kernel(KERNEL.format(body))


def least(k: Kernel, sink: Store, source: Store) -> int | None:
    """At how many iterations before it the sink depends on the source, as far as 4."""
    return next((n for n in range(4) if dependence_on(k, {sink}, {source}, 0, n) is not None), None)


@pytest.mark.parametrize("name", PAIRS)
def test_two_statements(name: str):
    body, forward, backward = PAIRS[name]
    k = k_of(body)
    first, second = (s for s in walk(k) if isinstance(s, Store))
    assert (least(k, second, first), least(k, first, second)) == (forward, backward)


ONCE = {
    "each element": ("T[i] = X[i]", True),
    "an element by all": ("T[0] = X[i]", False),
    "an element by two": ("T[i // 2] = X[i]", False),
    "by two statements": ("T[i] = X[i]\n    T[i + 1] = X[i]", False),
    "another beside them": ("T[i + 1] = X[i]\n    if i < 1\n      T[i] = X[i]", True),
    "updated": ("T[i] = X[i]\n    T[i] += X[i]", False),
    "another updated": ("T[i + 1] = X[i]\n    if i < 1\n      T[i] += X[i]", False),
    "read": ("T[i] = X[i]\n    Y[i] = T[i]", True),
    "not at all": ("Y[i] = X[i]", True),
}


@pytest.mark.parametrize("name", ONCE)
def test_what_is_written_once(name: str):
    """An update is no write: what was there stays in the sum."""
    body, once = ONCE[name]
    k = k_of(body)
    t = next(t for t in k.temporaries if t.name == "T")
    assert written_once(k, t) is once


OVER = {
    # What the reader reads is written over later: by any iteration, by the same one, by the same
    # one of two loops.
    "at once": ("Y[i] = T[i]\n    T[i] = X[i]", 0, (True, True, False)),
    "later": ("Y[i] = T[i + 3]\n    T[i] = X[i]", 0, (True, False, False)),
    "updated": ("Y[i] = T[i]\n    T[i] += X[i]", 0, (True, True, False)),
    "before": ("T[i] = X[i]\n    Y[i] = T[i]", 1, (False, False, False)),
    "read by another": ("Y[i] = T[i]\n    T[i] = X[i]", 1, (False, False, False)),
    "by itself": ("T[i] = T[i + 1]\n    Y[i] = X[i]", 0, (False, False, False)),
    "what it writes": ("Y[i] = T[i]\n    Y[i] = X[i]", 0, (False, False, False)),
    "in loops of their own": (
        "for j in 0..4\n      Y[i] = T[j]\n    for h in 0..4\n      T[h] = X[i]",
        0,
        (True, True, False),
    ),
    "in one loop": ("for j in 0..4\n      Y[i] = T[j]\n      T[j] = X[i]", 0, (True, True, True)),
}


@pytest.mark.parametrize("name", OVER)
def test_what_is_written_over(name: str):
    body, reader, answers = OVER[name]
    k = k_of(body)
    stores = [s for s in walk(k) if isinstance(s, Store)]
    assert tuple(anti_dependence(k, {stores[reader]}, depth) is not None for depth in range(3)) == answers


def test_updates_in_any_order():
    """Sums of floats keep their order unless it is given up; what is written does as well,
    whatever its type.
    """
    i, x = Var("i"), tensor("x", 4)
    for dtype, update, reassoc, free in (
        (F32, "add", False, False),
        (F32, "add", True, True),
        (F32, "max", False, True),
        (F32, "min", False, True),
        (F32, "mul", False, False),
        (I32, "add", False, True),
        (I32, None, False, False),
    ):
        k = kernel(
            loop(i, 4, put(tensor("y", 1, dtype=dtype), (0,), at(x, i), update, reassoc=reassoc)), inputs=(x,)
        )
        assert (carried_dependence(k, outer(k), free=reassociable) is None) == free


def test_one_instance_of_an_equation_run_twice():
    """It writes the same value again; another instance does not, nor does one that the equation
    does not tell.
    """
    i, j, Y = Var("i"), Var("j"), tensor("Y", 4)
    for instance, free in (((j,), True), ((plus(j, 2),), True), ((i,), False), ((i, j), False), ((), False)):
        k = kernel(loop(i, 4, loop(j, 4, put(Y, (j,), ZERO, at=instance))))
        assert (carried_dependence(k, outer(k)) is None) == free


def test_what_the_kernel_computes_differs_from_iteration_to_iteration():
    """One expression has another value each time."""
    i, S, T, Y = Var("i"), tensor("S", 1, dtype=I32), tensor("T", 9), tensor("Y", 9)
    where = Cast(at(S, 0), dtype=I64)
    first, second = put(T, (where,), ZERO), put(Y, (i,), at(T, plus(where, 1)))
    for inputs, meets in (((), True), ((S,), False)):
        assert (
            dependence_on(kernel(loop(i, 4, first, second), inputs=inputs), {second}, {first}, 0, 2)
            is not None
        ) == meets


def test_floats_are_not_looked_into():
    x = tensor("x", 4)
    for e in (
        Const(1.5, dtype=F32),
        Select(less(Var("n"), 1), ZERO, at(x, 0)),
        Max(at(x, 0), ZERO),
        Compare("<", at(x, 0), at(x, 0)),
    ):
        found = Converter((), (x,))
        if e.dtype == F32:
            ((_, form),) = found.values(e).cases
            assert isinstance(form.terms[0][0], Unknown)
        else:
            assert found.truth(e) is ANYTHING


def test_private_tensors_do_not_count():
    k = k_of(PAIRS["the same element"][0])
    first, second = (s for s in walk(k) if isinstance(s, Store))
    assert dependence_on(k, {second}, {first}, 0, 0, {first.tensor}) is None


def test_the_example_is_a_value_that_flows_where_there_is_one():
    y, i, x = tensor("y", 1), Var("i"), tensor("x", 4)
    k = kernel(loop(i, 4, put(y, (0,), plus(at(y, 0), at(x, i)))), inputs=(x,))
    conflict = carried_dependence(k, outer(k))
    assert conflict is not None and conflict.kind == "flow"


@pytest.mark.parametrize(
    "name, body",
    {
        "value": "Y[i] = T[i]",
        "index": "Y[i64(S[i])] = X[i]",
        "condition": "if S[i] < 3\n      Y[i] = X[i]",
    }.items(),
)
def test_what_is_read_is_found(name: str, body: str):
    k = k_of(f"T[i] = X[i]\n    S[i] = 1\n    {body}")
    read = {t.name: read_after_write(k, t, [outer(k)]) is not None for t in k.temporaries}
    assert read == {"T": name == "value", "S": name != "value"}


def test_only_what_is_in_the_loop_is_read_too_late():
    """What a loop beside it writes is none of its business."""
    k = k_of(
        "for j in 0..N\n      T[j] = X[j]\n    for r in 0..N\n      Y[r] = T[r]\n    for t in 0..N\n      "
        "T[t] = Y[t]"
    )
    loops = {n.var.name: n for n in walk(k) if isinstance(n, For)}
    T = next(t for t in k.temporaries if t.name == "T")
    assert read_after_write(k, T, [loops["i"], loops["r"]]) is None
    assert read_after_write(k, T, [loops["i"]]) is not None


TWO = """for j in 0..i
      T[j] = X[j]
    for h in 0..N
      if i {} h
        T[h] = X[h]
    for r in 0..N
      Y[r] = T[r]"""
STAYS = {
    # What a read sees was written in its iteration; names of what the whole kernel has in common
    # may be any.
    "written": ("T[i] = X[i]\n    Y[i] = T[i]", True),
    "where a number says so": ("if a < 5\n      T[i] = X[i]\n    Y[i] = T[i]", False),
    "both where a number says so": ("if a < 5\n      T[i] = X[i]\n    if a < 3\n      Y[i] = T[i]", True),
    "where another number says so": ("if a < 5\n      T[i] = X[i]\n    if b < 3\n      Y[i] = T[i]", False),
    "at a number": (
        "if 0 <= a and a < N\n      T[a] = X[i]\n    if 0 <= a and a < N\n      Y[i] = T[a]",
        True,
    ),
    "at another number": ("T[max(a, 0)] = X[i]\n    Y[i] = T[max(b, 0)]", False),
    "half of it": (
        "for j in 0..N // 2\n      T[j] = X[j]\n    for r in 0..N\n      if 2 * r + 1 < N\n        Y[r] = "
        "T[r]",
        True,
    ),
    "as many as data say": (
        "for j in 0..i64(w[i]) + 1\n      T[j] = X[j]\n    for r in 0..N\n      Y[r] = T[r]",
        False,
    ),
    "by two writers": (TWO.format("<="), True),
    "not by two writers": (TWO.format("<"), False),
}


@pytest.mark.parametrize("name", STAYS)
def test_values_stay_in_an_iteration(name: str):
    body, stays = STAYS[name]
    k = k_of(body)
    assert flow_stays_within(k, next(t for t in k.temporaries if t.name == "T"), [outer(k)]) == stays


def test_what_is_used_outside_does_not_stay():
    """Not even where nothing else is used beside it."""
    body, stays = STAYS["written"]
    for more, expected in (
        ("", stays),
        ("\n  for j in 0..N\n    T[j] = 0.0", False),
        ("\n  for j in 0..N\n    Y[j] = 0.0", stays),
    ):
        k = k_of(body + more)
        assert flow_stays_within(k, next(t for t in k.temporaries if t.name == "T"), [outer(k)]) == expected


def test_one_store_under_other_loops():
    """What is remembered of a statement is so for its loops and conditions."""
    i, y, x = Var("i"), tensor("y", 1), tensor("x", 4)
    s = put(y, (0,), at(x, i))
    meets = [
        carried_dependence(k, outer(k)) is not None
        for k in (
            kernel(loop(i, n, body), inputs=(x,))
            for n, body in ((4, s), (1, s), (4, If(less(i, 1), (s,))), (4, If(less(i, 2), (s,))))
        )
    ]
    assert meets == [True, False, False, True]


@pytest.mark.parametrize(
    "value, loops",
    [
        (lambda k, h: times(k, 2), 1),
        (lambda k, h: plus(k, 1), 1),
        (lambda k, h: plus(k, h), 2),
        (lambda k, h: plus(h, 0), 1),
    ],
)
def test_other_instances_are_not_the_same_work(value, loops: int):
    """Loops of the same extents do not run the same instances where these are others."""
    i, j, h, g, Y = Var("i"), Var("j"), Var("k"), Var("h"), tensor("Y", 9, 9)
    old, new = put(Y, (i, j), ZERO), put(Y, (h, g), ZERO)
    before, after = kernel(loop(i, 4, loop(j, 4, old))), kernel(loop(h, 4, loop(g, 4, new)))
    assert runs_same_instances(before, after, {new: old}, {new: {i: h, j: g}})
    assert not runs_same_instances(before, after, {new: old}, {new: {i: value(h, g), j: g}})


def ranges(extent: Expr, condition: Expr | None, x: Tensor) -> tuple[Kernel, Store]:
    i, Y = Var("i"), tensor("Y", 9)
    s = put(Y, (i,), ZERO)
    return kernel(loop(i, extent, s if condition is None else If(condition, (s,))), inputs=(x,)), s


@pytest.mark.parametrize(
    "old, new, same",
    [
        ((4, 2), (4, 2), True),
        ((4, 2), (4, None), False),
        ((4, None), (4, 2), False),
        ((4, 2), (4, 3), False),
        ((None, 2), (None, 2), True),
        ((None, None), (4, None), False),
        ((4, None), (None, None), False),
    ],
)
def test_what_data_say_of_all_instances(old: tuple, new: tuple, same: bool):
    """A number that is read is one number in both kernels."""
    x = tensor("x", 1, dtype=I32)
    number = Cast(at(x, 0), dtype=I64)
    made = [
        ranges(number if n is None else plus(n), None if most is None else less(number, most), x)
        for n, most in (old, new)
    ]
    (before, first), (after, second) = made
    i, k = (outer(each).var for each in (before, after))
    assert runs_same_instances(before, after, {second: first}, {second: {i: k}}) == same


def test_what_the_kernel_computes_is_not_taken_to_be_distinct():
    """Its elements are so only once all of them are there."""
    i, p, Y = Var("i"), tensor("p", 4, dtype=I32, distinct=True), tensor("Y", 4)
    nest = loop(i, 4, put(Y, (Cast(at(p, i), dtype=I64),), ZERO))
    assert carried_dependence(kernel(nest, inputs=(p,)), nest) is None
    assert carried_dependence(kernel(nest), nest) is not None


@pytest.mark.parametrize(
    ("place", "meets"),
    {
        "k + P[i]": False,  # one number in a row
        "2 * k - 3 * P[i + 1]": False,
        "P[P[i] % 8] + k": False,
        "k + P[k]": True,
        "k + P[i + k]": True,
        "P[i]": True,
        "k % 2 + P[i]": True,
        "k + S[i]": True,  # other iterations may write it
    }.items(),
)
def test_rows_that_begin_where_data_say(place: str, meets: bool):
    """Elements of a row differ; those of two rows may not."""
    text = f"""kernel k(P: i64[M] in 0..8, X: f32[8]) -> Y: f32[M]
  let T: f32[M]
  let S: i64[M]
  for i in 0..M - 8
    for k in 0..8
      T[{place}] = X[k]
      S[i] = 1
"""
    found = parse_kernel(text)
    rows = found.body[0]
    assert isinstance(rows, For) and isinstance(rows.body[0], For)
    free = {s for s in rows.body[0].body if isinstance(s, Store) and s.tensor.name == "S"}
    assert (carried_dependence(found, rows.body[0], free=free.__contains__) is not None) == meets
    assert carried_dependence(found, rows, free=free.__contains__) is not None


def test_converters_of_their_own(monkeypatch: pytest.MonkeyPatch):
    """Two kernels may know of other variables, where too many expressions were forgotten in
    between.
    """
    i, k, X, Y = Var("i"), Var("k"), tensor("X", Var("N")), tensor("Y", Var("N"))
    old, new, again = put(Y, (i,), at(X, i)), put(Y, (k,), at(X, k)), put(Y, (k,), at(X, k))
    before, after, less_of_it = (
        kernel(loop(v, X.shape[0], s), inputs=(X,))
        for v, s in ((i, old), (k, new), (k, If(less(0, k), (again,))))
    )
    monkeypatch.setattr(nest, "_MOST_EXPRESSIONS", -1)
    for origin in ({new: old, again: old},):
        assert runs_same_instances(before, after, origin, {new: {i: k}})
        assert not runs_same_instances(before, less_of_it, origin, {again: {i: k}})
        assert not runs_same_instances(less_of_it, before, {old: again}, {old: {k: i}})
        assert reversed_dependence(before, after, origin, {new: {i: k}}) is None


def test_products_of_sizes_are_one_number_in_all_kernels(monkeypatch: pytest.MonkeyPatch):
    """Also where the expressions of the first kernel were forgotten before the second."""
    N, M, i, k, Y = Var("N"), Var("M"), Var("i"), Var("k"), tensor("Y", 99)
    old, new, more = put(Y, (i,), ZERO), put(Y, (k,), ZERO), put(Y, (k,), ZERO)
    before, after, longer = (
        kernel(loop(v, Mul(N, size), s)) for v, size, s in ((i, M, old), (k, M, new), (k, N, more))
    )
    monkeypatch.setattr(nest, "_MOST_EXPRESSIONS", -1)
    assert runs_same_instances(before, after, {new: old}, {new: {i: k}})
    assert not runs_same_instances(before, longer, {more: old}, {more: {i: k}})


def test_an_order_that_new_loops_tell_takes_no_question(monkeypatch: pytest.MonkeyPatch):
    """A reader whose loops were joined has quotients in its indices; the loop that both share after
    the step says that what it reads was written before.
    """
    op = tx.op(
        """op f(X: f32[8, 4, 16]) -> Y: f32[8, 4, 16] {
             T[c, y, x] = X[c, y, x] + 1
             Y[c, y, x] = T[c, y, x] * 2
           }"""
    )
    s = tx.schedule(op).split("T.x", 8).fuse("Y.y", "Y.x", name="yx")
    monkeypatch.setattr(legality, "conflict_questions", no_question)
    assert s.compute_at("T", "Y.c", recompute=False).steps[-1].name == "compute_at"


def no_question(*arguments: object, **options: object) -> None:
    raise AssertionError("a question")
