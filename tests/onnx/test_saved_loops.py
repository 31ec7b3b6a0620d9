"""Recurrences, orders, shifts, special functions and random numbers that are saved: ONNX's reference
and texpr give what the interpreter gives.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import ops

onnx = pytest.importorskip("onnx")

from onnx.reference import ReferenceEvaluator  # noqa: E402

F, RNG = np.float32, np.random.default_rng(0)


def normal(*shape):
    return RNG.normal(size=shape).astype(F)


def check(path, operator, *given, bound=2e-6, again=False, **constants):
    """Saved and run: the interpreter's results. Gives the operators of the graph."""
    names = [f"x{k}" for k in range(len(given))]
    tx.onnx.save(lambda *xs: operator(*xs, **constants), path, given, inputs=names)
    proto = onnx.load(path)
    wanted = tx.interpret(operator, *given, **constants)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    with np.errstate(all="ignore"):
        results = [ReferenceEvaluator(proto).run(None, dict(zip(names, given)))]
    if again:
        found = tx.onnx.load(path)(*given)
        results.append(found if isinstance(found, tuple) else (found,))
    for result in results:
        for y, w in zip(map(np.asarray, result), map(np.asarray, wanted), strict=True):
            assert (y.dtype, y.shape) == (w.dtype, w.shape)
            np.testing.assert_allclose(y, w, rtol=bound, atol=bound if w.dtype.kind == "f" else 0)
    return [n.op_type for n in proto.graph.node if n.op_type != "Constant"]


@pytest.mark.parametrize(
    "text",
    [
        "op decay(X: f32[N]) -> Y: f32[N] { Y[i] = 0.5 * Y[i - 1 | 0] + X[i] }",
        "op back(X: f32[N]) -> Y: f32[N] { Y[i] = 0.5 * Y[i + 1 | 2] + X[i] }",
        "op two(X: f32[N]) -> Y: f32[N] { Y[i] = 0.5 * Y[i - 1 | 0] - 0.25 * Y[i - 2 | 1] + X[i] }",
        "op base(X: f32[N]) -> Y: f32[N + 2] { Y[0] = 3  Y[N + 1] = 7  Y[i + 1] = Y[i] * X[i]  for i in 0..N }",
        "op both(X: f32[N]) -> (A: f32[N], B: f32[N]) { A[i] = B[i - 1 | 1] + X[i]  B[i] = 0.5 * A[i] }",
        "op every(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 0.1 * sum(j in 0..i: Y[j]) }",
        "op halves(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + (if i == 0 then 0 else Y[i // 2 | clamp]) }",
        "op counted(X: f32[N]) -> Y: i64[N] { Y[i] = Y[i - 1 | 0] + (if X[i] > 0 then 1 else 0) }",
        "op flags(X: f32[N]) -> Y: bool[N] { Y[i] = Y[i - 1 | false] or X[i] > 1 }",
    ],
    ids=lambda text: text[3 : text.index("(")],
)
def test_recurrences(tmp_path, text):
    assert "Loop" in check(
        tmp_path / "m.onnx", tx.op(text), normal(3 if "decay" in text else 6), again="decay" in text
    )


LEVENSHTEIN = """op distance(A: f32[N], B: f32[M]) -> D: f32[N + 1, M + 1] {
  D[i, 0] = f32(i)  for i in 0..N + 1
  D[0, j + 1] = f32(j + 1)  for j in 0..M
  D[i + 1, j + 1] = min(min(D[i, j + 1], D[i + 1, j]) + 1, D[i, j] + (if A[i] == B[j] then 0 else 1))  for i in 0..N, j in 0..M
}"""
CHOLESKY = """op root(A: f32[N, N]) -> L: f32[N, N] {
  L[i, j] = if i < j then 0 else if i == j then sqrt(A[j, j] - sum(k in 0..j: L[j, k] * L[j, k]))
            else (A[i, j] - sum(k in 0..j: L[i, k] * L[j, k])) / L[j, j]
}"""


def test_choices_of_truth_values_are_no_where(tmp_path):
    """ONNX Runtime has no Where of them."""
    text = "op f(X: bool[N], p: i64[N]) -> Y: bool[N] { Y[i] = if X[i] then X[p[i] | false] else X[i - 1 | true] }"
    given = np.array([True, False, True, True]), np.array([-1, 0, 1, 5])
    assert "Where" not in check(tmp_path / "m.onnx", tx.op(text), *given)


def test_recurrences_along_two_axes(tmp_path):
    a, b = (RNG.integers(0, 3, n).astype(F) for n in (5, 4))
    check(tmp_path / "m.onnx", tx.op(LEVENSHTEIN), a, b)
    m = normal(4, 4)
    check(tmp_path / "m.onnx", tx.op(CHOLESKY), m @ m.T + 4 * np.eye(4, dtype=F))


def test_recurrences_of_the_library(tmp_path):
    x = normal(5, 3)
    for operator in (ops.cumprod, ops.cummax, ops.logcumsumexp, ops.moving_average, ops.cummin_places):
        assert set(check(tmp_path / "m.onnx", operator, x, axis=1)) <= {"Loop", "Expand"}
    scores = np.log(RNG.dirichlet(np.ones(5), (6, 2))).astype(F)
    lengths = np.array([6, 5]), np.array([2, 1])
    assert "Loop" in check(tmp_path / "m.onnx", ops.ctc_loss, scores, np.array([[1, 1], [2, 3]]), *lengths)


def test_a_recurrence_of_any_batch(tmp_path):
    path = tmp_path / "m.onnx"
    dims = {"x": {1: "batch"}, "y": {1: "batch"}}
    tx.onnx.save(lambda x, y: ops.linear_scan(x, y), path, (normal(4, 2), normal(4, 2)), dims=dims)
    x, y = normal(4, 7), normal(4, 7)
    (found,) = ReferenceEvaluator(str(path)).run(None, {"x": x, "y": y})
    np.testing.assert_allclose(found, tx.interpret(ops.linear_scan, x, y), rtol=1e-6, atol=1e-6)
    with pytest.raises(tx.CallError, match="the program depends on the dimension t: a constant"):
        tx.onnx.save(ops.cumprod, path, normal(4, 2), inputs=["x"], dims={"x": {0: "t"}})


@pytest.mark.parametrize("t", ["u1", "i2", "i8", "u8", "f2", "f4", "f8"])
def test_orders_by_topk(tmp_path, t):
    rows = RNG.integers(0, 4, (3, 9)).astype(t)
    if rows.dtype.kind == "f":
        rows[RNG.random(rows.shape) < 0.3] = np.nan
        rows[0, :2] = np.inf
    else:
        rows[0, :2] = np.iinfo(t).min, np.iinfo(t).max
    for operator in (ops.sort, ops.sort_descending, ops.argsort, ops.argsort_descending):
        assert set(check(tmp_path / "m.onnx", operator, rows)) <= {"TopK", "Cast", "Add"}
    assert "TopK" in check(tmp_path / "m.onnx", ops.topk, rows, k=4)
    check(tmp_path / "m.onnx", ops.topk, rows, k=0)
    best = tx.op(
        "extern op top_rows<T: num>(X: T[*S, N]; k) -> p: i64[*S, k] in 0..N distinct "
        "op best<T: num>(X: T[M, N]) -> Y: T[M, 2] { p = top_rows(X, k=2) Y[m, i] = X[m, p[m, 1 - i]] }"
    )
    assert "TopK" in check(tmp_path / "m.onnx", best, rows)
    for operator in (ops.searchsorted, ops.searchsorted_right):
        check(tmp_path / "m.onnx", operator, np.sort(rows[0]), rows[1])


@pytest.mark.parametrize("t", ["u1", "i1", "u4", "i4", "i8", "u8"])
def test_shifts_by_any_number(tmp_path, t):
    ends = np.iinfo(t)
    x = np.array([ends.min, ends.max, 5, 100, 77, 0] * 4, t)
    by = np.repeat(np.array([0, 3, ends.bits, -1 if ends.min else ends.max], t), 6)
    check(tmp_path / "m.onnx", ops.shift_left, x, by)
    check(tmp_path / "m.onnx", ops.shift_right, x, by)


@pytest.mark.parametrize(("t", "bound"), [("f4", 2e-6), ("f8", 1e-11)])
def test_functions_that_onnx_lacks(tmp_path, t, bound):
    x = np.array([np.nan, np.inf, -np.inf, 0, -0.0, -3, -2.5, 1e-3, 0.4, 1, 1.5, 2, 7, 8.6, 33, -0.2], t)
    for name in ("lgamma", "gamma", "digamma", "trigamma"):
        own = tx.op(f"op f<T: float>(X: T[N]) -> Y: T[N] {{ Y[i] = {name}(X[i]) }}")
        check(tmp_path / "m.onnx", own, x, bound=bound)
    inside = np.array([-2, -1, -0.999999, -0.5, -1e-8, 0, 1e-3, 0.3, 0.7, 0.99, 0.9999, 1, np.nan], t)
    check(tmp_path / "m.onnx", ops.erfinv, inside, bound=min(bound, 1e-6))
    ends = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2.5, -1e-30]
    y, across = (v.ravel().astype(t) for v in np.meshgrid(ends, ends))
    check(tmp_path / "m.onnx", ops.atan2, y, across, bound=min(bound, 1e-6))


def test_random_numbers_are_those_of_the_seed(tmp_path):
    seed, x = np.array((1 << 40) | 77, np.uint64), normal(2, 3)
    check(tmp_path / "m.onnx", ops.uniform_like, x, seed, bound=0)
    check(tmp_path / "m.onnx", ops.normal_like, x, seed)
    own = tx.op(
        "op f(s: u64; N) -> (Y: f32[N], Z: f32[N]) { Y[i] = uniform(s, i, i, i)  Z[i] = normal(s, i) }"
    )
    check(tmp_path / "m.onnx", own, seed, N=3)
    assert "BitwiseXor" in check(tmp_path / "m.onnx", ops.dropout, x, seed, p=0.5)
