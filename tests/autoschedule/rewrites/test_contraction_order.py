"""Default schedules sum the indices of products of several tensors in the order that takes the
least work.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.autoschedule.rewrites.contraction_order import _Product
from texpr.ir.expr import Var
from texpr.ir.machine import Machine
from texpr.targets import find_target

X86 = find_target("x86-64-v4").machine


def _taken(text: str, target: str = "x86-64-v4", **sizes: int) -> list[str]:
    s = tx.schedule(tx.op(text), **sizes).auto(target)
    steps = [str(step) for step in s.steps if step.name in ("factor_out", "premultiply")]
    assert ("factor_out" in s.certificate().rewrites) == bool(steps)
    return steps


def _op(inputs: str, result: str, text: str) -> str:
    return f"op f({inputs}) -> Y: f32[{result}] {{ {text} }}"


CHAIN = _op(
    "A: f32[I, J], B: f32[J, K], C: f32[K, L]", "I, L", "Y[i, l] = sum(j, k: A[i, j] * B[j, k] * C[k, l])"
)


@pytest.mark.parametrize("target", ["x86-64-v4", "aarch64", "sm_80"])
def test_a_chain_begins_where_it_is_narrow(target: str):
    assert _taken(CHAIN, target, I=64, J=64, K=64, L=4) == ['factor_out("Y.k", reassoc=True)']
    assert _taken(CHAIN, target, I=4, J=64, K=64, L=64) == ['factor_out("Y.j", reassoc=True)']


def test_of_equal_orders_the_last_index_is_first():
    assert _taken(CHAIN, I=64, J=64, K=64, L=64) == ['factor_out("Y.k", reassoc=True)']


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (
            _op("x: f32[99], A: f32[99, 80], y: f32[80]", "1", "Y[o] = sum(i, j: x[i] * A[i, j] * y[j])"),
            ["Y_sum.i"],
        ),
        (
            _op(
                "A: f32[9, 30, 40], B: f32[30, 40, 20], C: f32[20, 50]",
                "9, 50",
                "Y[i, m] = sum(j, k, l: A[i, j, k] * B[j, k, l] * C[l, m])",
            ),
            ["Y.j, Y.k"],
        ),
        (
            _op(
                "G: f32[8, 8, 8], U: f32[32, 8], V: f32[32, 8], W: f32[32, 8]",
                "32, 32, 32",
                "Y[i, j, k] = sum(a, b, c: G[a, b, c] * U[i, a] * V[j, b] * W[k, c])",
            ),
            ["Y.c", "Y.b"],
        ),
        (_op("A: f32[99, 80], w: f32[80]", "80", "Y[k] = sum(i: A[i, k] * w[k])"), ["Y.i"]),
        (
            _op("a: f32[99], A: f32[99, 80], x: f32[80]", "99", "Y[i] = sum(k: a[i] * A[i, k] * x[k])"),
            ["Y.k"],
        ),
    ],
)
def test_orders(text: str, steps: list[str]):
    assert [
        step[len('factor_out("') : -len('", reassoc=True)')].replace('"', "") for step in _taken(text)
    ] == steps


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("Y[i, j] = sum(k: A[i, k] * w[k] * B[k, j])", ["0, 1"]),
        ("Y[i, j] = sum(k: A[i, k] * B[k, j] * w[k])", ["0, 2"]),
        ("Y[i, j] = sum(k: w[k] * A[i, k] * B[k, j] * w[k])", ["0, 3", "0, 2"]),
        ("Y[i, j] = sum(k: A[i, k] * A[j, k] * B[i, k])", ["0, 2"]),
    ],
)
def test_factors_with_few_indices_are_multiplied_beforehand(text: str, steps: list[str]):
    taken = _taken(_op("A: f32[96, 96], w: f32[96], B: f32[96, 96]", "96, 96", text))
    assert taken == [f'premultiply("Y.k", {step}, reassoc=True)' for step in steps]


@pytest.mark.parametrize(
    "text",
    [
        _op(
            "A: f32[64, 64], B: f32[64, 64]", "64, 64", "Y[i, j] = sum(k: A[i, k] * B[k, j])"
        ),  # nothing to take out
        _op(
            "a: f32[9999], b: f32[9999], c: f32[9999]", "1", "Y[o] = sum(k: a[k] * b[k] * c[k])"
        ),  # each is used once
        _op(
            "A: f32[64, 64], B: f32[64, 64], C: f32[64, 8]",
            "64, 8",
            "Y[i, j] = sum(k: exp(A[i, k]) * B[i, k] * C[k, j])",
        ),  # eight uses
        _op(
            "A: f32[64, 4], w: f32[4], B: f32[4, 64]", "64, 64", "Y[i, j] = sum(k: A[i, k] * w[k] * B[k, j])"
        ),  # four terms
        _op(
            "A: f32[3, 3], B: f32[3, 3], C: f32[3, 3]",
            "3, 3",
            "Y[i, l] = sum(j, k: A[i, j] * B[j, k] * C[k, l])",
        ),  # little to save
        _op(
            "A: f32[64, 64], B: f32[64, 64], C: f32[64, 64]",
            "64, 64",
            "Y[i, l] = sum(j, k where k < j: A[i, j] * B[j, k] * C[k, l])",
        ),
    ],
)
def test_what_stays(text: str):
    assert _taken(text) == []


def test_unknown_sizes_stay():
    assert _taken(CHAIN) == [] and _taken(CHAIN, I=64, J=64, K=64) == []


def _least(product: _Product) -> float:
    """By trying every order of single indices and blocks."""
    best = product.whole

    def go(left, spent: float) -> None:
        nonlocal best
        best = min(best, spent + product._sum(left, product.result))
        there = [v for v in product.terms if any(v in f for f, _ in left)]
        for mask in range(1, 1 << len(there)):
            new = product._without(left, frozenset(v for k, v in enumerate(there) if mask >> k & 1))
            if new is not None and spent + new[0] < best:
                go(new[1], spent + new[0])

    go(product.factors, 0.0)
    return best


def _drawn(rng: np.random.Generator, machine: Machine, terms: int) -> _Product:
    variables = [Var(f"v{k}") for k in range(terms + 2)]
    factors = tuple(
        (frozenset(v for v in variables if rng.random() < 0.4), 1) for _ in range(int(rng.integers(3, 6)))
    )
    extents = {v: int(rng.integers(2, 50)) for v in variables}
    return _Product(machine, 4, factors, frozenset(variables[:2]), tuple(variables[2:]), extents)


def test_no_order_takes_less():
    rng = np.random.default_rng(0)
    apart = 0
    for _ in range(60):
        product = _drawn(rng, X86, int(rng.integers(1, 5)))
        first, cost = product._every()
        assert cost == pytest.approx(_least(product))
        apart += bool(first)
        assert cost <= product._one_by_one()[1] <= product.whole
    assert apart > 20


def test_many_indices_are_taken_one_by_one():
    count = 9
    inputs = ", ".join(f"A{k}: f32[8, 8]" for k in range(count + 1))
    terms = " * ".join(
        f"A{k}[{'i' if k == 0 else f'k{k}'}, {'j' if k == count else f'k{k + 1}'}]" for k in range(count + 1)
    )
    steps = _taken(
        _op(inputs, "8, 8", f"Y[i, j] = sum({', '.join(f'k{k + 1}' for k in range(count))}: {terms})")
    )
    assert len(steps) == count - 1


def test_values_of_a_default_schedule():
    op, rng = tx.op(CHAIN), np.random.default_rng(1)
    arrays = [rng.integers(-3, 4, shape).astype("f4") for shape in ((20, 30), (30, 25), (25, 18))]
    np.testing.assert_array_equal(op(*arrays), arrays[0] @ arrays[1] @ arrays[2])
    slope = tx.grad(op, wrt="B")
    np.testing.assert_array_equal(
        slope(*arrays, np.ones((20, 18), "f4")), arrays[0].T @ np.ones((20, 18), "f4") @ arrays[2].T
    )
