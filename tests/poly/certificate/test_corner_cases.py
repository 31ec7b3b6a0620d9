"""Certificates of loops that the other tests seldom lead to: what is refused of them, and what
is proven.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import texpr as tx
from texpr.compiler.pass_pipeline import ready
from texpr.ir.expr import Var
from texpr.ir.loop_kind import InstructionNest
from texpr.ir.printing.loop import full_listing
from texpr.lang import parse_kernel
from texpr.poly.certificate import certify

SUM = "op total(X: f32[2, 4]) -> y: f32[2] { y[n] = sum(k: X[n, k]) }"
SHARED_LOAN = """
kernel total(X: f32[2, 4]) -> (y: f32[2])
  let acc: f32[2]
  for n0 in 0..2
    acc[n0] = 0.0  start  at[n0]
  for n in 0..2
    let tile: f32[2]  stack
    for a in 0..2
      tile[a] = acc[n]  copy
    for o in 0..2
      for b in 0..2
        tile[b] += X[n, o * 2 + b]  at[n, o * 2 + b]
    for c in 0..2
      acc[n] = tile[c]  copy
  for n1 in 0..2
    y[n1] = acc[n1]  at[n1]
"""
TWICE = "op twice(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] * 2 }"
CALLED = (
    "op products(X: f32[N], k: i64[N], m: i64, n: i64) -> Y: f32[N] { Y[i] = if %s then X[i] else X[i] * 2 }"
)

WRONG = {
    "two elements of a buffer stand for one of the lender": (SUM, SHARED_LOAN, ""),
    "a copy past the end of a buffer that nothing reads": (
        "op four(X: f32[4]) -> Y: f32[4] { Y[i] = X[i] for i in 0..4 }",
        """
kernel four(X: f32[4]) -> (Y: f32[4])
  let T: f32[4]
  for i in 0..4
    T[i + 9] = X[i]  copy
  for i1 in 0..4
    Y[i1] = X[i1]  at[i1]
""",
        "T is written outside its shape",
    ),
    "an input is overwritten": (
        TWICE,
        """
kernel twice(X: f32[N]) -> (Y: f32[N])
  for i in 0..N
    X[i] = X[i] * 2.0  at[i]
  for i1 in 0..N
    Y[i1] = X[i1]  at[i1]
""",
        "it writes an input",
    ),
    "an array of another length": (
        TWICE,
        """
kernel twice(X: f32[M]) -> (Y: f32[M])
  for i in 0..M
    Y[i] = X[i] * 2.0  at[i]
""",
        "it has no size N",
    ),
    "an array of another length beside one of the right one": (
        "op pair(X: f32[N], Z: f32[M]) -> Y: f32[N] { Y[i] = X[i] * Z[0] }",
        """
kernel pair(X: f32[N], Z: f32[N]) -> (Y: f32[M])
  for i in 0..N
    Y[i] = X[i] * Z[0]  at[i]
""",
        "is not the array that the program says",
    ),
    "an array of fewer dimensions": (
        TWICE,
        """
kernel twice(X: f32[N]) -> (Y: f32[N, 1])
  for i in 0..N
    Y[i, 0] = X[i] * 2.0  at[i]
""",
        "is not the array that the program says",
    ),
    "an array of another type": (
        TWICE,
        """
kernel twice(X: f32[N]) -> (Y: f64[N])
  for i in 0..N
    Y[i] = f64(X[i] * 2.0)  at[i]
""",
        "is not the array that the program says",
    ),
    "a copy from where data says, which may be outside": (
        "op looked(X: f32[N], k: i64[N]) -> Y: f32[N] { Y[i] = X[k[i] | 0] }",
        """
kernel looked(X: f32[N], k: i64[N]) -> (Y: f32[N])
  let T: f32[N]
  for i in 0..N
    T[i] = X[k[i]]  copy
  for i1 in 0..N
    Y[i1] = if 0 <= k[i1] and k[i1] < N then T[i1] else 0.0  at[i1]
""",
        "X is read outside its shape",
    ),
    "an element that exists only by a requirement of the kernel": (
        TWICE,
        """
kernel twice(X: f32[N]) -> (Y: f32[N])
  require N >= 4
  for i in 0..N
    Y[i] = X[i] * 2.0  at[i]
  Y[3] = X[3] * 2.0  at[3]
""",
        "X is read outside its shape",
    ),
    "an element before the first where a choice of numbers says": (
        "op four(X: f32[4]) -> Y: f32[4] { Y[i] = X[i] for i in 0..4 }",
        """
kernel four(X: f32[4]) -> (Y: f32[4])
  for i in 0..4
    Y[i] = if (if i < 2 then 0 else 5) < 1 and X[i - 1] > 0.0 then X[i] else X[i]  at[i]
""",
        "X is read outside its shape",
    ),
    "an element that no iteration may have written": (
        "op first(X: f32[4], Z: f32[N]) -> Y: f32[4] { Y[i] = X[0] for i in 0..4 }",
        """
kernel first(X: f32[4], Z: f32[N]) -> (Y: f32[4])
  let T: f32
  for k in 0..N
    T = X[0]  copy
  for i in 0..4
    Y[i] = T  at[i]
""",
        "T is read where nothing was written",
    ),
    "no element, by a requirement of the kernel": (
        TWICE,
        """
kernel twice(X: f32[N]) -> (Y: f32[N])
  require N <= 0
  for i in 0..0
    Y[i] = X[i] * 2.0  at[i]
""",
        "an element of Y is not computed",
    ),
    "a buffer that is copied from itself": (
        TWICE,
        """
kernel twice(X: f32[N]) -> (Y: f32[N])
  let T: f32[N]
  for i in 0..N
    T[i] = T[i]  copy
  for i1 in 0..N
    Y[i1] = T[i1] * 2.0  at[i1]
""",
        "",
    ),
    "a condition that its store changes": (
        "op g(X: f32[N]) -> Y: f32[N] { Y[i] = 1 }",
        """
kernel g(X: f32[N]) -> (Y: f32[N])
  for i in 0..N
    Y[i] = 1.0  at[i]
  for i1 in 0..N
    if Y[i1] > 0.0
      Y[i1] = 1.0  at[i1]
""",
        "a condition reads Y, which is written under it",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_refused(name: str):
    op, loops, said = WRONG[name]
    with pytest.raises(tx.ScheduleError) as e:
        certify(parse_kernel(loops), ready(tx.op(op).program()))
    assert e.value.code == "certificate" and said in str(e.value), str(e.value)


def test_two_sizes_of_one_name_are_refused():
    loops = parse_kernel("""
kernel twice(X: f32[N]) -> (Y: f32[N])
  for i in 0..N
    Y[i] = X[i] * 2.0  at[i]
""")
    with pytest.raises(tx.CertificateError, match="two of its sizes have one name"):
        certify(replace(loops, sizes=(*loops.sizes, Var("N"))), ready(tx.op(TWICE).program()))


@pytest.mark.parametrize("name", ["mma_tf32", "nothing"])
def test_an_instruction_is_claimed_for_no_instance_of_it(name: str):
    schedule = tx.schedule(tx.op(TWICE))
    loop = schedule.kernel.body[0]
    schedule.kernel = replace(schedule.kernel, body=(replace(loop, kind=InstructionNest(name)),))
    with pytest.raises(tx.CertificateError, match=f"the loop `i` is no instance of `{name}`"):
        schedule.certificate()


UNASKED = """
kernel products(X: f32[N], k: i64[N], m: i64, n: i64) -> (Y: f32[N])
  for i in 0..N
    Y[i] = X[i]  at[i]
"""
WRAPPING = [
    "i * 4294967297 >= 0",
    "i64(X[i]) + 1 > i64(X[i])",
    "k[i] * k[0] + 1 > k[i] * k[0]",
    "m * n + 1 > m * n",
    "m + 1 > m",
    "(if k[i] > 0 then k[i] else n) + 1 > 1",
    "max(k[i], 0) + 1 > 0",
    "k[i] * 3 // 3 == k[i]",
    "abs(m) >= 0",
    "sum<i64>(j: k[j]) + 1 > sum<i64>(j: k[j])",
]


@pytest.mark.parametrize("condition", WRAPPING)
def test_data_of_64_bits_may_wrap(condition: str):
    op = tx.op(CALLED % condition)
    with pytest.raises(tx.ScheduleError) as e:
        certify(parse_kernel(UNASKED), ready(op.program()))
    assert e.value.label == "values"
    assert tx.schedule(op).certificate()


NEAR = [
    "k[i] < 0 or k[i] > 5 or k[i] + 1 < 8",
    "k[i] < -9 or k[i] > 5 or m < 0 or m > 5 or k[i] * 3 - m < 16",
    "k[i] < 0 or max(k[i], 0) > 5 or 2 * max(k[i], 0) + 1 < 12",
]


@pytest.mark.parametrize("condition", NEAR)
def test_data_near_to_0_does_not_wrap(condition: str):
    """Only a second attempt knows of it. The condition always holds, so the kernel need not ask."""
    certify(parse_kernel(UNASKED), ready(tx.op(CALLED % condition).program()))


STAYS = [
    "i64(i32(X[i])) + 1 > i64(i32(X[i]))",
    "i64(b[i]) + 1 > i64(b[i])",
    "i64(r[i]) + 1 > 0",
    "abs(i64(b[i])) >= 0",
    "i64(r[i]) % 3 < 3",
    "i * i >= 0",
    "N * N >= 0",
    "i % N < N",
    "i % N >= 0",
    "i64(b[i]) < 32768",
    "r[i] < 1000 or i64(r[i]) < N",
]


@pytest.mark.parametrize("condition", STAYS)
def test_what_is_known_of_data_and_products(condition: str):
    """The condition always holds, so the kernel need not ask."""
    value = f"if {condition} then X[i] else X[i] * 2"
    op = tx.op(f"op known(X: f32[N], b: i16[N], r: i32[N] in 0..N) -> Y: f32[N] {{ Y[i] = {value} }}")
    loops = (
        "kernel known(X: f32[N], b: i16[N], r: i32[N] in 0..N) -> (Y: f32[N])\n  for i in 0..N\n    Y[i] = "
        "X[i]  at[i]\n"
    )
    certify(parse_kernel(loops), ready(op.program()))


PROVEN = {
    "data in the values of a private buffer": (
        """op looked_up(X: f32[N], idx: i32[N] in 0..N) -> Y: f32[N] {
  T[i] = if idx[i] > 2 then X[idx[i]] else 1
  Y[i] = T[i] + T[i + 1 | 0] }""",
        'split("Y.i", 4)\ncompute_at("T", "Y.io")\nparallel("Y.io")',
    ),
    "a division by less than nothing": (
        "op down(X: f32[N]) -> Y: f32[N] { Y[i] = X[N - 1 + i // -1] + X[i % -2 | 0] }",
        'split("i", 3)',
    ),
}


@pytest.mark.parametrize("name", PROVEN)
def test_proven(name: str):
    op, script = PROVEN[name]
    assert tx.schedule(tx.op(op)).replay(script).certificate().bit_exact


ROWS = "op rows(p: i32[M, N] in 0..N distinct, X: f32[M, N]) -> Y: f32[N] { Y[k] = 0  Y[p[i, j]] += X[i, j] }"
ROW_LOOPS = """
kernel rows(p: i32[M, N] in 0..N distinct, X: f32[M, N]) -> (Y: f32[N])
  for k in 0..N
    Y[k] = 0.0  eq 0  at[k]
  for i in 0..M
    for j in 0..N parallel
      Y[i64(p[i, j])] += X[i, j]  eq 1  at[i, j]
"""


def test_a_row_of_distinct_values_is_shared():
    certify(parse_kernel(ROW_LOOPS), ready(tx.op(ROWS).program()))
    for old, new in ((" distinct", ""), ("for i in 0..M", "for i in 0..M parallel")):
        with pytest.raises(tx.ScheduleError, match="use one element of Y") as e:
            certify(parse_kernel(ROW_LOOPS.replace(old, new)), ready(tx.op(ROWS.replace(old, new)).program()))
        assert e.value.label == "races"


@pytest.mark.parametrize(
    "steps",
    [lambda s: s.auto(), lambda s: s.parallel("Y.1.i"), lambda s: s.split("Y.1.i", 4).vectorize("Y.1.ii")],
)
@pytest.mark.parametrize("dtype", ["i32", "i64", "u8"])
def test_updates_at_distinct_places_run_at_once(steps, dtype: str):
    op = tx.op(
        f"op f(p: {dtype}[N] in 0..K distinct, X: f32[N], Z: f32[K]) -> Y: f32[K] {{ Y[k] = Z[k]  Y[p[i]] += "
        f"X[i] }}"
    )
    assert steps(tx.schedule(op)).certificate()


FOLDED = (
    "op f(b: i32[3], V: i32[4], X: i32[4] in 0..3) -> (H: i32[3], Y: i32[3]) { H[v] = b[v]  H[X[i]] += V[i]  "
    "Y[v] = H[v] * 2 }"
)
FOLDED_LOOPS = """
kernel f(b: i32[3], V: i32[4], X: i32[4] in 0..3) -> (H: i32[3], Y: i32[3])
  let P: i32[3]
  for H.0.v in 0..3
    H[v] = b[v]  at[v]
  for H.1.v in 0..3
    P[v] = 0  part eq 1  at[v]
  for H.1.i in 0..4
    P[i64(X[i])] += V[i]  reassoc eq 1  at[i]
  for H.1.v in 0..3
    H[v] += P[v]  reassoc eq 1  at[v]
  for Y.v in 0..3
    Y[v] = H[v] * 2  eq 2  at[v]
"""


def test_a_part_of_a_fold_is_not_the_whole():
    """Every element may be folded into, so nothing but what it started from tells that the part
    is not the element of the program.
    """
    program = ready(tx.op(FOLDED).program())
    certify(parse_kernel(FOLDED_LOOPS), program)
    in_place_of_the_whole = FOLDED_LOOPS.replace("Y[v] = H[v] * 2", "Y[v] = P[v] * 2")
    in_the_output = FOLDED_LOOPS.replace("H[v] = b[v]  at[v]", "H[v] = 0  part eq 1  at[v]")
    for wrong in (in_place_of_the_whole, in_the_output):
        with pytest.raises(tx.ScheduleError, match="holds parts of what is folded, not all of it") as e:
            certify(parse_kernel(wrong), program)
        assert e.value.label == "sums"


SUMMED = (
    "op f(b: i32[3], A: i32[4, 5], X: i32[4] in 0..3) -> H: i32[3] { H[v] = b[v]  H[X[i]] += 2 * sum(k: A[i, "
    "k]) }"
)
SUMMED_LOOPS = """
kernel f(b: i32[3], A: i32[4, 5], X: i32[4] in 0..3) -> (H: i32[3])
  let S: i32[4]
  let T: i32[4]
  let P: i32[2, 3]
  for H.0.v in 0..3
    H[v] = b[v]  at[v]
  for o in 0..2
    for v in 0..3
      P[o, v] = 0  part eq 1  at[v]
  for i in 0..4
    S[i] = 0  start eq 1  at[i]
    for k in 0..5
      S[i] += A[i, k]  reassoc eq 1  at[i, k]
    P[i % 2, i64(X[i])] += S[i] * 2  reassoc eq 1  at[i]
  for v in 0..3
    for o in 0..2
      H[v] += P[o, v]  reassoc eq 1  at[v]
"""
ONE_TERM = "P[i % 2, i64(X[i])] += A[i, 0]  reassoc eq 1  at[i, 0]"
ONE_VALUE = """T[i] = 0  start eq 1  at[i]
    T[i] += S[i] * 2  reassoc eq 1  at[i]
    P[i % 2, i64(X[i])] += T[i] * 2  reassoc eq 1  at[i]"""


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (
            "P[i % 2, i64(X[i])] += S[i] * 2  reassoc eq 1  at[i]",
            ONE_TERM,
            "the update folds a term of a reduction into P",
        ),
        (
            "P[i % 2, i64(X[i])] += S[i] * 2  reassoc eq 1  at[i]",
            ONE_VALUE,
            "the update folds a reduction into T",
        ),
        (
            "S[i] = 0  start",
            "S[i] = 0  part",
            "a fold start from another value|what is folded|folds otherwise|instance",
        ),
        ("P[o, v] = 0  part", "P[o, v] = 0  start", "instance|another value|folds|element"),
        ("for i in 0..4", "for i in 0..3", "a contribution to H is missing"),
        ("for k in 0..5", "for k in 0..4", "a contribution to S is missing"),
        ("for o in 0..2\n      H", "for o in 0..1\n      H", "a contribution to H is missing"),
        ("i % 2", "i % 2 * 0", "^$"),
    ],
)
def test_a_fold_of_sums_has_parts_and_totals(old: str, new: str, what: str):
    """What the equation folds and what its reduction sums are told apart by the start."""
    program = ready(tx.op(SUMMED).program())
    certify(parse_kernel(SUMMED_LOOPS), program)
    assert old in SUMMED_LOOPS
    wrong = parse_kernel(SUMMED_LOOPS.replace(old, new))
    if what == "^$":
        certify(wrong, program)
        return
    with pytest.raises(tx.ScheduleError, match=what):
        certify(wrong, program)


BACK = """op back(X: f32[4, N]) -> Y: f32[4, N] {
  m[t, i] = max(X[t, i], Y[t, i - 1 | 0])
  Y[t, i] = X[t, i] + (if t < 3 then if not m[t, i] == 0 then Y[t + 1, i] / m[t, i] else 0 else 0)
}"""


def test_a_condition_on_what_a_recurrence_computes_in_place():
    """The condition on indices is written otherwise; that on data stands under a `not`, and what
    it reads is written out.
    """
    schedule = tx.schedule(tx.op(BACK)).inline("m")
    assert str(schedule.certificate()).startswith("certificate of back: bit-exact")
    program, loops = ready(tx.op(BACK).program()), full_listing(schedule.kernel)
    for old, new in (
        ("not max", "max"),
        ("if not max(X[3 - t, i]", "if not max(X[2 - t, i]"),
        ("== 0.0 then", "== 1.0 then"),
    ):
        assert old in loops
        with pytest.raises(tx.ScheduleError):
            certify(parse_kernel(loops.replace(old, new, 1)), program)
