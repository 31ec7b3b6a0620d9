"""What answers to a shifted maximum, where tensors are made of each other."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

TEXTS = {
    "a choice in a recurrence": """op f(X: f64[T], p: bool[T]) -> y: f64 {
  let h: f64[T + 1]
  let c: f64[T]
  h[0] = 1
  c[t] = if p[t] then h[t] else 0  for t in 0..T
  h[t + 1] = if p[t] then c[t] * X[t] else h[t] + X[t]  for t in 0..T
  y = sum(t in 0..T + 1: h[t])
}""",
    "a choice that is summed up": """op f(X: f64[T], p: bool[T]) -> y: f64 {
  m[t] = if p[t] then X[t] else 0
  c[t] = c[t - 1 | 0] + m[t]
  y = sum(t: exp(c[t] - m[t]))
}""",
    "two that need each other": """op f(X: f64[T], p: bool[T]) -> y: f64 {
  let a: f64[T]
  let b: f64[T]
  m[t] = if p[t] then X[t] else 0
  a[t] = b[t - 1 | 0] * 0.5
  b[t] = a[t] + m[t]
  y = sum(t: a[t] * a[t])
}""",
    "softmax in a recurrence": """op f(X: f64[T, N], p: bool[T]) -> y: f64 require N >= 1 {
  let h: f64[T + 1, N]
  let m: f64[T]
  let e: f64[T, N]
  h[0, i] = 0.1
  m[t] = max(i: h[t, i])
  e[t, i] = exp(h[t, i] - m[t])
  h[t + 1, i] = X[t, i] * e[t, i] / sum(j: e[t, j])  for t in 0..T
  y = sum(i: h[T, i] * h[T, i])
}""",
}


@pytest.mark.parametrize("name", TEXTS)
def test_gradients_through_recurrences(name: str):
    operator = tx.op(TEXTS[name])
    random = np.random.default_rng(0)
    x = random.standard_normal((4, 3) if name.startswith("softmax") else 4)
    assert tx.check_grad(operator, x, np.array([True, False, True, True])) < 1e-7


def test_maxima_in_a_recurrence_still_need_no_gradient():
    """Where outputs do not depend on the maximum, neither it nor its place has a cotangent."""
    assert "argmax" not in str(tx.grad(tx.op(TEXTS["softmax in a recurrence"]), ["X"]))
