"""Steps where programs of the other tests seldom lead: what they do there, and what they refuse."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.drawing import Scheduled, check, random_arrays
from texpr.ir.interpreter.loop import ORDERS
from texpr.ir.printing.loop import show_kernel

LOOKED_UP = """op looked_up(E: f32[N, M], idx: i32[L] in 0..N, X: f32[K]) -> (Z: f32[K], Y: f32[K, M]) require K <= L {
  Z[n] = X[n] * 2
  Y[k, d] = E[idx[k], d] for k in 0..K, d in 0..M }"""
MERGED = """op merged(X: f32[N]) -> (A: f32[N], B: f32[N]) {
  A[i] = X[i] * 2
  B[i] = 1
  B[i] += A[i] for i in 0..N where i < 3 }"""
RAGGED = "op ragged(X: f32[B, N, N]) -> Y: f32[B, N] { Y[b, i] = sum(j in 0..i + 1: X[b, i, j]) }"
BACKWARDS = (
    "op backwards(X: f32[N]) -> Y: f32[N] {\n  let T: f32[N]\n  T[N - 1 - i] = X[i] + 1\n  Y[i] = T[i] * T[N "
    "- 1 - i] }"
)
BOTH = "op both(X: f32[N]) -> y: f32 {\n  let T: f32[2]\n  T[i] = X[i | 0] for i in 0..2\n  y = T[0] - T[1] }"
ALL = "op all_of(X: f32[4]) -> Y: f32[4] {\n  T[i] = X[i] * 2\n  Y[i] = T[3 - i] }"
LENGTHS = "op lengths(X: f32[N, M], n: i64[N] in 0..M) -> Y: f32[N] { Y[i] = sum(j in 0..n[i]: X[i, j]) }"
COUNTED = """op counted(X: f32[N, M], L: i32[N] in 0..4) -> Y: f32[N] {
  n[i] = L[i] + 1
  Y[i] = sum(j in 0..n[i]: X[i, j | 0]) }"""
BLUR = "op blur(X: f32[N]) -> Y: f32[N] { h[i] = X[i] * 2  Y[i] = h[i] + h[i-1 | 0] }"
PRODUCT = "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"


def scheduled(text: str, script: str, **sizes: int) -> tx.Schedule:
    return tx.schedule(tx.op(text), **sizes).replay(script)


def computes(s: tx.Schedule, *sizes: int) -> None:
    """It gives what the program means, in any order of what runs at once, with all sizes the
    same.
    """
    for n in sizes:
        bound = dict.fromkeys(s.program.sizes, n)
        for order in ORDERS:
            check(
                Scheduled(s.program, bound, s.kernel, s.steps),
                s.kernel,
                random_arrays(s.program, bound),
                order,
            )


def refusal(text: str, script: str, **sizes: int) -> str:
    with pytest.raises(tx.ScheduleError) as e:
        scheduled(text, script, **sizes)
    return str(e.value)


def test_a_box_at_an_index_of_data_after_another_nest():
    s = scheduled(LOOKED_UP, 'cache_read("E", "Y.k")')
    assert "E_cache: f32[1, M]" in show_kernel(s.kernel)
    computes(s, 1, 2, 3, 4)


def test_a_condition_among_the_statements_of_a_loop_is_cut_off():
    s = scheduled(MERGED, 'compute_at("A", "B.1.i")\nfission("B.1.i")')
    assert (
        len([line for line in show_kernel(s.kernel).splitlines() if "for B.1.i" in line or "for i" in line])
        >= 2
    )
    computes(s, 0, 2, 5)


def test_a_triangle_stays_one_where_its_loops_stay():
    s = scheduled(RAGGED, 'reorder("b", "i")')
    assert "if " not in show_kernel(s.kernel)
    computes(s, 0, 3)


def test_inline_of_what_is_stored_backwards():
    s = scheduled(BACKWARDS, 'inline("T")')
    assert "T" not in [t.name for t in s.kernel.temporaries]
    computes(s, 0, 1, 4)


def test_two_elements_do_not_fit_one_place():
    assert "keeps too few elements" in refusal(BOTH, 'fold_storage("T", 0, 1)')


def test_no_fold_where_all_is_needed():
    assert "no depth up to 3 is enough for `T` along dimension 0" in refusal(ALL, 'fold_storage("T", 0)')


def test_skew_of_a_loop_whose_length_is_data():
    assert "has no known maximum over `i`" in refusal(LENGTHS, 'skew("j", "i")')


@pytest.mark.parametrize("sizes", [{}, {"K": 7}, {"K": 8}])
def test_all_that_an_iteration_fetches_is_fetched_ahead(sizes: dict[str, int]):
    script = (
        'split("k", 2)\nreorder("ko", "i", "j", "ki")\ncache_read("A", "ko")\ncache_read("B", '
        '"ko")\npipeline("ko")'
    )
    s = scheduled(PRODUCT, script, **sizes)
    assert "A_cache: f32[2, M" in show_kernel(s.kernel) and "B_cache: f32[2, 2, " in show_kernel(s.kernel)
    for n in (0, 1, 4, 7):
        bound = {v: sizes.get(v.name, n) for v in s.program.sizes}
        check(Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound))


@pytest.mark.parametrize(
    "script",
    [
        "",
        'compute_at("n", "Y.i")',
        'compute_at("n", "Y.i", recompute=True)',
        'inline("n")',
        'compute_at("n", "Y.i")\npipeline("n")',
        'compute_at("n", "Y.i")\nfold_storage("n", 0, 1)',
        'layout("n", "i -> i/4 i%4")',
        'cache_read("n", "Y.i")',
        'compute_at("n", "Y.i")\nsplit("Y.i", 4)\ncache_write("n", "Y.io")',
    ],
)
def test_a_range_reads_what_the_kernel_computes(script: str):
    s = scheduled(COUNTED, script)
    computes(s, 1, 2, 5)
    x, lengths = np.arange(20, dtype=np.float32).reshape(5, 4), np.array([0, 3, 1, 2, 0], np.int32)
    with tx.options(certify="warn", cache_dir=None), warnings.catch_warnings():
        warnings.simplefilter("ignore", tx.CertificateWarning)
        assert s.compile()(x, lengths).tolist() == [x[i, : lengths[i] + 1].sum() for i in range(5)]


def test_a_range_that_is_not_computed_yet():
    said = refusal(
        COUNTED.replace("Y: f32", "(Z: f32[N], Y: f32").replace(
            "f32[N] {\n", "f32[N]) {\n  Z[i] = X[i, 0 | 0]\n"
        ),
        'compute_at("Y", "Z.i", recompute=False)',
    )
    assert "reverses a dependence" in said and "both use n[0]" in said


def test_dimensions_and_loops_by_handle():
    s = tx.schedule(tx.op(BLUR))
    loop = s.loops[1]
    s.compute_at("h", loop).fold_storage("h", loop)
    assert "h: f32[2]" in show_kernel(s.kernel)


PAST_THE_END = "op past(X: i32[N], Z: i32[M]) -> y: i32 { y = max(r in 0..N: Z[r | 0] - Z[r | 1]) }"
LOWER = "op lower(X: f64[M]) -> Y: f64[M] { Y[i] = X[i] - sum(r in 0..i: X[r]) }"


def test_reads_that_never_happen_keep_their_buffer():
    """Behind the part of the loop in which the cache is filled."""
    computes(scheduled(PAST_THE_END, 'cache_read("Z", "r")\npartition("r")'), 1, 3)


@pytest.mark.filterwarnings("error")
def test_partial_sums_of_no_rows():
    s = scheduled(LOWER, 'rfactor("r", reassoc=True)')
    assert "let Y_acc_part: f64[M, max(M - 1, 0)]" in show_kernel(s.kernel)
    computes(s, 0, 1, 2, 5)


def test_a_list_is_a_tuple_in_scripts():
    s = tx.schedule(tx.op(PRODUCT)).tile("i", "j", sizes=[4, 8])  # type: ignore[arg-type]
    assert s.script() == 'tile("i", "j", sizes=(4, 8))\n'
    assert tx.schedule(tx.op(PRODUCT)).replay(s.script()).script() == s.script()


def test_cases_along_the_loop_whose_iterations_go_together():
    """The loop that tells cases apart is also the one of which several iterations are taken
    together.
    """
    op = tx.op("""op f(A: f64[6, 3, 4], B: f64[6, 3, 4]) -> Y: f64[4, 3, 4] {
  Y[i, j, k] = (if i == 3 then A[0, j, k] else 0) + (if i == 2 then B[0, j, k] else 0)
}""")
    a, b = np.arange(72.0).reshape(6, 3, 4), np.arange(72.0, 144).reshape(6, 3, 4)
    np.testing.assert_array_equal(op(a, b), [np.zeros((3, 4)), np.zeros((3, 4)), b[0], a[0]])


@pytest.mark.parametrize(
    "value", ["k[i] * 3 // 3", "k[i] * 3 % 3", "(k[i] + k[i]) // 2", "(k[i] * 4 + 1) // 4", "k[i] * 4 // 2"]
)
@pytest.mark.parametrize("dtype", ["i64", "u64", "i32", "i8"])
@pytest.mark.parametrize("tail", ["mask", "peel", "overlap"])
def test_products_of_data_wrap_before_tiles_divide_them(tail, dtype, value):
    """Quotients of index arithmetic are simplified in tiles; three times a number that is large
    is another number.
    """
    op = tx.op(f"op f(k: {dtype}[N]) -> Y: {dtype}[N] {{ Y[i] = {value} }}")
    s = tx.schedule(op, N=11).split("i", 4, tail=tail)
    bits = int(dtype[1:])
    k = (
        np.random.default_rng(bits)
        .integers(0, 1 << bits, 11, dtype=np.uint64)
        .astype(f"{dtype[0]}{bits // 8}")
    )
    np.testing.assert_array_equal(s.compile()(k), tx.interpret(op, k))
