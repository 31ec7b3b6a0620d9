"""`tx.vmap` of functions of tensors: the same numbers as one example after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr import nn

random = np.random.default_rng(3)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "elements": lambda x: x * 2 + x.exp(),
    "reduction": lambda x: (x - x.mean()) / (x.std() + 1),
    "softmax": lambda x: x.softmax(),
    "product": lambda x: x @ x.T,
    "shape": lambda x: x.reshape(-1)[: x.shape[0]],
    "places": lambda x: x.argmax(-1),
    "order": lambda x: x.sort(-1)[0] if isinstance(x.sort(-1), tuple) else x.sort(-1),
    "joined": lambda x: tx.cat([x, x[::-1] * 0.5]),
    "choice": lambda x: tx.where(x > 0, x, x.sum()),
    "a number": lambda x: x.sum(),
}


def stacked(f: Callable[[Any], Any], xs: np.ndarray, axis: int) -> np.ndarray:
    return np.stack([f(tx.tensor(x)).numpy() for x in np.moveaxis(xs, axis, 0)])


@examples(10)
@given(st.sampled_from(sorted(FUNCTIONS)), st.integers(0, 2), st.integers(1, 3))
def test_one_after_the_other(name: str, axis: int, count: int):
    f, xs = FUNCTIONS[name], np.moveaxis(random.standard_normal((count, 3, 2)), 0, axis)
    wanted = stacked(f, xs, axis)
    np.testing.assert_allclose(tx.vmap(f, axis)(xs).numpy(), wanted, rtol=1e-12, atol=1e-14)
    compiled = tx.jit(lambda a: tx.vmap(f, axis, -1)(a))
    np.testing.assert_allclose(compiled(xs).numpy(), np.moveaxis(wanted, 0, -1), rtol=1e-12, atol=1e-14)


def test_nested():
    x, y = random.standard_normal((3, 4)), random.standard_normal((5, 4))
    table = tx.vmap(lambda a: tx.vmap(lambda b: (a * b).sum())(y))(x)
    np.testing.assert_allclose(table.numpy(), x @ y.T, rtol=1e-12)


def test_arguments_and_results_are_nested():
    def f(pair: Any, scale: Any, options: Any = None) -> Any:
        return {"sum": pair["a"] + pair["b"] * scale, "same": (scale, options)}

    a, b, s = random.standard_normal((3, 2)), random.standard_normal((3, 2)), np.float64(2)
    found = tx.vmap(f, in_axes=(0, None))({"a": a, "b": b}, s, options=None)
    np.testing.assert_allclose(found["sum"].numpy(), a + 2 * b)
    assert found["same"][0].shape == (3,) and found["same"][1] is None
    by_name = tx.vmap(f, in_axes={"pair": 0})({"a": a, "b": b}, s)
    np.testing.assert_allclose(by_name["sum"].numpy(), a + 2 * b)


def test_gradients_flow_to_what_is_used_from_outside():
    w = tx.tensor(random.standard_normal(4), requires_grad=True)
    layer, x = nn.Linear(4, 3), tx.tensor(random.standard_normal((5, 4)), requires_grad=True)
    y = tx.vmap(lambda r: (r * w).sum() + layer(r.astype("f32")).sum().astype("f64"))(x)
    y.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), x.numpy().sum(0), rtol=1e-12)
    np.testing.assert_allclose(layer.bias.grad.numpy(), np.full(3, 5), rtol=1e-6)
    wanted = w.numpy() + layer.weight.numpy().sum(0)
    np.testing.assert_allclose(x.grad.numpy(), np.broadcast_to(wanted, (5, 4)), rtol=1e-5)


def test_a_gradient_for_each_example():
    def gradient(x: Any, w: Any) -> Any:
        w.requires_grad_()
        ((x * w).sum() ** 2).backward()
        return w.grad

    x, w = random.standard_normal((3, 4)), random.standard_normal(4)
    found = tx.vmap(gradient, (0, None))(x, w)
    np.testing.assert_allclose(found.numpy(), 2 * (x @ w)[:, None] * x, rtol=1e-12)


def test_the_same_function_is_compiled_once():
    f = tx.vmap(lambda x: x * 3 + 1)
    first = f(np.ones((2, 3))).realize()
    assert f(np.zeros((2, 3))).node is None or f(np.zeros((2, 3))).node.program is not None
    a, b = f(tx.ones((2, 3))), f(tx.zeros((2, 3)))
    assert a.node.program is b.node.program and first.shape == (2, 3)


def test_compiled_functions_and_operators_of_tensors():
    x = random.standard_normal((3, 4))
    f = tx.jit(lambda v: (v * 2).sum())
    wanted = (x * 2).sum(1)
    np.testing.assert_allclose(tx.vmap(f)(x).numpy(), wanted)
    np.testing.assert_allclose(tx.jit(tx.vmap(f))(x).numpy(), wanted)
    t = tx.tensor(x, requires_grad=True)
    (tx.vmap(tx.ops.softmax)(t) * x).sum().backward()
    assert t.grad is not None and t.grad.shape == (3, 4)


def test_axes_by_name_of_any_number_of_arguments():
    x, y, z = random.standard_normal((3, 2, 4))
    columns = tx.vmap(lambda a, *rest: a + rest[0] * rest[1], in_axes={"a": 0, "rest": 0})
    assert (columns(x, y, z).numpy() == x + y * z).all()
    shared = tx.vmap(lambda a, *rest: a + rest[0] * rest[1], in_axes={"a": 0})
    assert (shared(x, y[0], z[0]).numpy() == x + y[0] * z[0]).all()
    named = tx.vmap(lambda a, **others: a + others["b"], in_axes={"b": 1})
    assert (named(x[0, 0], b=y).numpy() == x[0, 0] + y.T).all()


def assigns(x: Any) -> Any:
    x[0] = 1.0
    return x


counter = nn.BatchNorm1d(2)
REFUSED = {
    "other counts": (
        lambda: tx.vmap(lambda a, b: a + b)(np.ones((2, 3)), np.ones((4, 3))),
        "error[shape]: vmap of <lambda>: arguments of 2 and 4 examples, of shapes [2, 3] and [4, 3]\n"
        "  help: in_axes names the axis of each argument that holds the examples",
    ),
    "no axis": (
        lambda: tx.vmap(lambda a: a)(np.float64(1)),
        "error[arguments]: vmap of <lambda>: an argument of shape [] has no axis 0\n"
        "  help: in_axes=None is for arguments that all examples share",
    ),
    "nothing is mapped": (
        lambda: tx.vmap(lambda a: a)(2.0),
        "error[arguments]: vmap of <lambda>: no argument is mapped\n"
        "  help: in_axes=0 maps all tensors along their first axis",
    ),
    "too many axes": (
        lambda: tx.vmap(lambda a: a, (0, 0))(np.ones(2)),
        "error[arguments]: in_axes has 2 axes, <lambda> is given 1 argument by position\n"
        "  help: give one for each, None for those that all examples share; or a dict by name",
    ),
    "no such parameter": (
        lambda: tx.vmap(lambda a: a, {"b": 0})(np.ones(2)),
        "error[arguments]: in_axes: <lambda> has no parameter `b`\n  help: its parameters are a",
    ),
    "too many results": (
        lambda: tx.vmap(lambda a: a, 0, (0, 0))(np.ones(2)),
        "error[arguments]: out_axes has 2 axes, <lambda> has 1 result\n"
        "  help: give one for each tensor that it returns, or an int for all",
    ),
    "elements": (
        lambda: tx.vmap(assigns)(np.ones((2, 2))),
        "error[symbolic]: vmap: assigns assigns to elements of its arguments\n"
        "  help: work on a copy: x = x.copy()",
    ),
    "no function": (
        lambda: tx.vmap(3),  # type: ignore[call-overload]
        "error[arguments]: vmap takes an operator or a function, not 3\n"
        "  help: tx.vmap(tx.ops.softmax), or tx.vmap(lambda x: x * x)",
    ),
    "variables": (
        lambda: tx.vmap(lambda x: counter(x))(np.ones((2, 3, 2), "f4")),
        "error[symbolic]: vmap: <lambda> assigns to the variable `num_batches_tracked`\n"
        "  help: return the new value, and assign it outside; or put modules in evaluation mode: .eval()",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str):
    call, message = REFUSED[what]
    with pytest.raises(tx.Error) as e:
        call()
    assert str(e.value) == message


def test_values_are_not_there():
    with pytest.raises(tx.CallError, match="without values, and true or false was asked of it"):
        tx.vmap(lambda x: x if x.sum() > 0 else -x)(np.ones((2, 3)))
