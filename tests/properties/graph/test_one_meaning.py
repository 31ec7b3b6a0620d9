"""A function gives the same values and gradients lazily, step by step, traced, and in a module;
what was called before does not matter.

Bit for bit where no sum is reordered, or where all sums are exact; else in a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import texpr as tx
from tests.profiles import examples
from tests.properties.graph.functions import Function, Step, expressions, functions
from texpr import nn

BOUND = {"float32": 2e-4, "float64": 1e-12}
"""Relative to the largest value: sums of up to 64 products of numbers up to 2.5, a few after
each other.
"""


class Layer(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def _eager(f: Function) -> Function:
    """Every step computed at once."""

    def now(step: Step) -> Step:
        return Step(step.name, lambda *x: step.compute(*x).realize(), step.of)

    return Function(f.shapes, f.dtypes, tuple(map(now, f.steps)), f.exact, f.many)


def _tensors(f: Function, requires_grad: bool = False) -> list[tx.Tensor]:
    return [tx.tensor(a, requires_grad=requires_grad) for a in f.arrays()]


def _same(f: Function, found: Any, wanted: Any, where: str, exact: bool) -> None:
    for k, (a, b) in enumerate(zip(found, wanted, strict=True)):
        x, y = (np.asarray(v.numpy() if hasattr(v, "numpy") else v) for v in (a, b))
        assert (x.dtype, x.shape) == (y.dtype, y.shape), (where, k)
        if exact:
            np.testing.assert_array_equal(x, y, err_msg=f"{where}, {k}")
        else:
            scale = float(np.max(np.abs(y), initial=1.0, where=np.isfinite(y)))
            bound = BOUND.get(str(y.dtype), 0) * scale
            np.testing.assert_allclose(x, y, rtol=0, atol=bound, err_msg=f"{where}, {k}")


def _check_values(f: Function, exact: bool) -> None:
    wanted = [y.realize() for y in _eager(f)(*_tensors(f))]
    traced, layer = tx.jit(f), Layer(f)
    _same(f, f(*_tensors(f)), wanted, "lazily", exact)
    _same(f, traced(*_tensors(f)), wanted, "traced", exact)
    _same(f, traced(*f.arrays()), wanted, "traced, later", exact)
    _same(f, layer(*_tensors(f)), wanted, "module", exact)
    _same(f, layer(*f.arrays()), wanted, "module on arrays", exact)
    _same(f, tx.jit(layer)(*f.arrays()), wanted, "traced module", exact)


def _slopes(f: Callable, create_graph: bool = False) -> Callable:
    """The derivatives of a weighted sum of the results; with `create_graph`, of the square of
    those.
    """

    def slopes(*inputs: Any) -> tuple:
        total = sum((y.astype("f64") * y.astype("f64") * 0.5 + y.astype("f64")).sum() for y in f(*inputs))
        if not total.requires_grad:
            return ()
        total.backward(create_graph=create_graph)
        found = [x.grad for x in inputs]
        if create_graph and any(g is not None and g.requires_grad for g in found):
            for x in inputs:
                x.grad = None
            sum((g * g).astype("f64").sum() for g in found if g is not None).backward()
            found += [x.grad for x in inputs]
        return tuple(x * 0 if g is None else g for g, x in zip(found, [*inputs, *inputs]))

    return slopes


def _check_gradients(f: Function, exact: bool, create_graph: bool) -> None:
    wanted = _slopes(_eager(f), create_graph)(*_tensors(f, True))
    slopes, layer = _slopes(f, create_graph), _slopes(Layer(f), create_graph)
    traced = tx.jit(slopes)
    _same(f, slopes(*_tensors(f, True)), wanted, "lazily", exact)
    _same(f, traced(*_tensors(f, True)), wanted, "traced", exact)
    _same(f, traced(*_tensors(f, True)), wanted, "traced, later", exact)
    _same(f, layer(*_tensors(f, True)), wanted, "module", exact)
    if not create_graph:
        _same(f, _slopes(tx.jit(f))(*_tensors(f, True)), wanted, "through a traced function", exact)


@examples(3)
@given(f=functions(rounded=False))
def test_values_that_are_exact(f: Function):
    _check_values(f, exact=True)


@examples(3)
@given(f=functions(sums=False))
def test_values_without_sums(f: Function):
    _check_values(f, exact=True)


@examples(3)
@given(f=functions())
def test_values(f: Function):
    _check_values(f, exact=False)


@pytest.mark.parametrize("create_graph", [False, True], ids=["first", "second"])
@examples(3)
@given(f=functions(rounded=False, most=4))
def test_gradients_that_are_exact(create_graph: bool, f: Function):
    _check_gradients(f, exact=True, create_graph=create_graph)


@pytest.mark.parametrize("create_graph", [False, True], ids=["first", "second"])
@examples(3)
@given(f=functions(most=4))
def test_gradients(create_graph: bool, f: Function):
    _check_gradients(f, exact=False, create_graph=create_graph)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@examples(3)
@given(texts=expressions())
def test_operators_by_name(dtype: str, texts: tuple[str, str]):
    """Elements have no sums: all agree bit for bit. Gradients of operators are simplified as a
    whole.
    """
    expression, code = texts
    t = {"f4": "f32", "f8": "f64"}[dtype]
    op = tx.op(f"op f(X: {t}[N], Y: {t}[N]) -> Z: {t}[N] {{ Z[i] = 0 * X[i] + 0 * Y[i] + {expression} }}")
    f = eval(f"lambda X, Y: 0 * X + 0 * Y + {code}", {"tx": tx, "abs": abs})
    x, y = (np.linspace(-2, 3, 11) / 7).astype(dtype), np.linspace(2, -1, 11).astype(dtype)

    def slopes(function: Callable) -> Any:
        a, b = (tx.tensor(v, requires_grad=True) for v in (x, y))
        function(a, b).sum().backward()
        return [g for g in (a.grad, b.grad) if g is not None]

    def tensors(function: Callable) -> Any:
        return [function(tx.tensor(x), tx.tensor(y))]

    wanted = [op(x, y)]
    given = {
        "operator on tensors": tensors(op),
        "lazily": tensors(f),
        "traced": tensors(tx.jit(f)),
        "traced operator": [tx.jit(lambda a, b: op(a, b))(x, y)],
        "module": tensors(Layer(op)),
        "module on arrays": [Layer(f)(x, y)],
    }
    for where, found in given.items():
        np.testing.assert_array_equal(np.asarray(found[0]), wanted[0], err_msg=where)
    by_name, lazily = slopes(op), slopes(f)
    for a, b in zip(by_name, lazily, strict=True):
        np.testing.assert_allclose(
            a.numpy(),
            b.numpy(),
            rtol=0,
            atol={"f4": 1e-4, "f8": 1e-12}[dtype] * max(1, np.abs(b.numpy()).max()),
        )
