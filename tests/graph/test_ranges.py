"""Ranges of loops that data say, in programs of several operators."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.graph.fusion.flops import operations

X, STARTS, ENDS = np.arange(5.0), np.array([0, 1, 2], "i4"), np.array([0, 3, 5], "i4")
OPERATORS = {
    "op f(X: f64[N], s: i32[M] in 0..N+1, n: i32[M] in 0..N+1) -> Y: f64[M] { Y[i] = sum(k in s[i]..n[i]: "
    "X[k]) }": ([0, 3, 9], [0, 1, 2, 1, 1]),
    "op f(X: f64[N], s: i32[M], n: i32[M]) -> Y: f64[M] { Y[i] = sum(k in max(0, s[i])..min(n[i], N): X[k]) "
    "}": ([0, 3, 9], [0, 1, 2, 1, 1]),
    "op f(X: f64[N], s: i32[M] in 0..M, n: i32[M] in 0..N+1) -> Y: f64[M] { Y[i] = sum(k in 0..n[s[i]]: "
    "X[k]) }": ([0, 3, 10], [2, 2, 2, 1, 1]),
    "op f(X: f64[N], s: i32[M] in 0..N+1, n: i32[M]) -> Y: f64[M] { Y[i] = if n[i] > 3 then sum(k in "
    "0..s[i]: X[k] ** 2) else 0 }": ([0, 0, 1], [0, 2, 0, 0, 0]),
}


class Layer(nn.Module):
    """The operator as a module."""

    def __init__(self, op: tx.Op) -> None:
        super().__init__()
        self.op = op

    def forward(self, *arrays):
        return self.op(*arrays)


@pytest.mark.parametrize("text", OPERATORS)
def test_in_all_modes(text: str):
    op, (values, slope) = tx.op(text), OPERATORS[text]

    def gradient(x):
        op(x, STARTS, ENDS).sum().backward()
        return x.grad

    tensors = [tx.tensor(a) for a in (X, STARTS, ENDS)]
    layer, traced = Layer(op), tx.jit(lambda *a: op(*a))
    for found in (
        op(X, STARTS, ENDS),
        op(*tensors),
        traced(X, STARTS, ENDS),
        layer(X, STARTS, ENDS),
        layer(*tensors),
    ):
        assert np.asarray(found).tolist() == values
    for derived in (gradient, tx.jit(gradient)):
        assert derived(tx.tensor(X, requires_grad=True)).tolist() == slope


def test_costs_count_the_whole_range():
    program = tx.op(next(iter(OPERATORS))).program()
    assert operations(program, dict(zip(program.sizes, (100, 10)))) == 10 * 100
