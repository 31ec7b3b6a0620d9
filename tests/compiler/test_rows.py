"""Default schedules of nests that are joined by row: normalizations over rows that the caches do not hold."""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.ir.machine import Machine
from texpr.schedule import auto

ROWS = Machine(64, 32, (32 << 10, 1 << 20, 32 << 20), 2, streams=True)
SOFTMAX = tx.op("""op softmax(X: f32[N, M]) -> Y: f32[N, M] {
  m[i] = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}""")


def _steps(op: tx.Op, **sizes: int) -> list[str]:
    return [str(step) for step in auto(tx.schedule(op, **sizes).kernel, ROWS)[0]]


@pytest.mark.parametrize("n, m, early", [(4096, 1024, True), (65536, 1024, True), (64, 1024, False), (64, 100000, False)])
def test_rows_from_memory_are_asked_for_while_functions_are_computed(n, m, early):
    """Where the second cache does not hold the tensor, and has room for two rows."""
    steps = _steps(SOFTMAX, N=n, M=m)
    assert [step for step in steps if step.startswith("prefetch")] == ['prefetch("X", "Y.i", 1, at="e.jo")'] * early


def test_light_rows_are_left_to_the_hardware():
    op = tx.op("op f(X: f32[N, M]) -> Y: f32[N, M] { m[i] = sum(j: X[i, j])  v[i] = sum(j: X[i, j] * m[i])  Y[i, j] = X[i, j] * v[i] }")
    assert not any(step.startswith("prefetch") for step in _steps(op, N=65536, M=1024))


@pytest.mark.parametrize("value, n, ahead", [
    ("tanh(X[i, j] + b[j])", 4096, True), ("X[i, j] + b[j]", 4096, False), ("tanh(X[i, j] + b[j])", 16, False),
    ("tanh(X[j, i] + b[j])", 4096, False)], ids=["functions", "light", "near", "across"])
def test_vectors_from_memory_are_asked_for_while_functions_are_computed(value, n, ahead):
    """A kilobyte early, of what nothing else reads."""
    steps = _steps(tx.op(f"op f(X: f32[N, N], b: f32[N]) -> Y: f32[N, N] {{ Y[i, j] = {value} }}"), N=n)
    assert [step for step in steps if step.startswith("prefetch")] == ['prefetch("X", "Y.jo", 8)'] * ahead


def test_what_a_row_keeps_near_is_not_computed_twice():
    """256 MB of exponentials, of which a row is used at a time."""
    steps = _steps(SOFTMAX, N=65536, M=1024)
    assert 'inline("e")' not in steps and 'compute_at("e", "Y.i", recompute=False)' in steps


def test_reciprocals_of_rows_are_computed_with_their_rows():
    op = tx.op("op f(X: f32[A, D, B]) -> Y: f32[A, D, B] { q[a, b] = sum(d: X[a, d, b] * X[a, d, b])  "
               "Y[a, d, b] = X[a, d, b] / max(sqrt(q[a, b]), 1e-9) }")
    steps = _steps(op, A=200, D=200, B=200)
    assert 'compute_at("Y_inv", "Y.a", recompute=False)' in steps and 'compute_at("q", "Y.a", recompute=False)' in steps
