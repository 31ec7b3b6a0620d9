"""`backward()`: the same values lazily and in traced functions; derivatives of derivatives.
Numbers are those of torch 2.13 in f64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import texpr as tx
from texpr import nn

MODES = {
    "lazily": lambda f: f,
    "traced": tx.jit,
    "traced in a function that is": lambda f: tx.jit(lambda *args: tx.jit(f)(*args)),
}
mode = pytest.mark.parametrize("run", MODES.values(), ids=MODES)
Mode = Callable[[Callable], Callable]


def leaf(*values: float) -> tx.Tensor:
    return tx.tensor([float(v) for v in values], requires_grad=True)


def spread(n: int, *shape: int, scale: float = 1.0, offset: float = 0.0, grad: bool = True) -> tx.Tensor:
    return tx.tensor((np.linspace(-1, 1, n) * scale + offset).reshape(shape), requires_grad=grad)


def taken(x: tx.Tensor) -> tx.Tensor:
    """The gradient so far, which is forgotten."""
    found, x.grad = x.grad, None
    return found


@mode
def test_a_gradient_is_a_number_without_history(run: Mode):
    def f(w, x, y):
        ((x @ w - y) ** 2).mean().backward()
        inner = taken(w)
        ((x @ (w - 0.5 * inner) - y) ** 2).mean().backward()
        return w.grad, inner.requires_grad, w.requires_grad

    x, y, w = spread(6, 3, 2, grad=False), spread(3, 3, 1, grad=False), spread(2, 2, 1)
    gradient, second, first = run(f)(w, x, y)
    a, b, c = x.numpy(), y.numpy(), w.numpy()
    moved = c - 0.5 * 2 * a.T @ (a @ c - b) / 3
    np.testing.assert_allclose(gradient.numpy(), 2 * a.T @ (a @ moved - b) / 3)
    assert first and not second


@mode
def test_meta_learning(run: Mode):
    def f(w, x, y):
        ((x @ w - y) ** 2).mean().backward(create_graph=True)
        inner = taken(w)
        ((x @ (w - 0.5 * inner) - y) ** 2).mean().backward()
        return w.grad

    x, y, w = spread(6, 3, 2, grad=False), spread(3, 3, 1, grad=False), spread(2, 2, 1)
    a, b, c = x.numpy(), y.numpy(), w.numpy()
    hessian = 2 * a.T @ a / 3
    moved = c - 0.5 * 2 * a.T @ (a @ c - b) / 3
    np.testing.assert_allclose(
        run(f)(w, x, y).numpy(), (np.eye(2) - 0.5 * hessian) @ (2 * a.T @ (a @ moved - b) / 3)
    )


@mode
def test_a_gradient_penalty(run: Mode):
    def f(w, v, x):
        (tx.ops.tanh(x @ w) @ v).sum().backward(create_graph=True)
        slope, w.grad, v.grad = x.grad, None, None
        penalty = (((slope**2).sum(1).sqrt() - 1) ** 2).mean()
        penalty.backward()
        return penalty, w.grad, v.grad

    penalty, dw, dv = run(f)(spread(12, 3, 4, scale=0.7), spread(4, 4), spread(15, 5, 3))
    assert penalty.item() == pytest.approx(0.11330640929570712, rel=1e-12)
    np.testing.assert_allclose(
        dw.numpy().ravel()[:6],
        [
            0.2742038920211618,
            0.1247768370505428,
            -0.12233413749652766,
            -0.2539286147252863,
            0.26406625337322404,
            0.1235554872735352,
        ],
        rtol=1e-11,
    )
    np.testing.assert_allclose(dv.numpy()[:2], [0.19618326832869226, 0.07284601783712341], rtol=1e-11)


@mode
def test_a_differential_equation(run: Mode):
    def f(w, c, t):
        u = tx.ops.tanh(t @ w) @ c
        u.sum().backward(create_graph=True)
        taken(t).sum().backward(create_graph=True)
        curvature, w.grad, c.grad = taken(t), None, None
        residual = ((curvature[:, 0] + u) ** 2).mean()
        residual.backward()
        return residual, w.grad, c.grad

    residual, dw, dc = run(f)(spread(4, 1, 4, scale=2.0), spread(4, 4, offset=0.5), spread(6, 6, 1))
    assert residual.item() == pytest.approx(8.70163869665113, rel=1e-12)
    np.testing.assert_allclose(
        dw.numpy().ravel(),
        [-5.117994465077998, 0.2755150978706241, 1.377575489353121, 15.353983395233998],
        rtol=1e-11,
    )
    np.testing.assert_allclose(
        dc.numpy(),
        [-8.712071388677495, 0.03129807607908752, -0.03129807607908752, 8.712071388677495],
        rtol=1e-10,
    )


@mode
def test_derivatives_of_higher_order_and_along_directions(run: Mode):
    def f(x, v):
        (x**3).sum().backward(create_graph=True)
        first = taken(x)
        first.backward(v, create_graph=True)
        second = taken(x)
        second.sum().backward()
        return first, second, x.grad

    first, second, third = run(f)(leaf(1, 2, 3), tx.tensor([1.0, 2.0, 4.0]))
    assert (first.tolist(), second.tolist(), third.tolist()) == ([3, 12, 27], [6, 24, 72], [6, 12, 24])


@mode
def test_gradients_that_are_added_up_have_the_history_of_all(run: Mode):
    def f(x):
        (x**3).sum().backward(create_graph=True)
        (x.grad * x).sum().backward()
        return x.grad

    assert run(f)(leaf(1, 2, 3)).tolist() == [12, 48, 108]


@mode
def test_gradients_flow_to_cotangents_in_second_derivatives_alone(run: Mode):
    def f(x, c):
        (x**3).backward(c, create_graph=True)
        first, before = taken(x), c.grad
        first.sum().backward()
        return x.grad, c.grad, before

    dx, dc, before = run(f)(leaf(1, 2, 3), leaf(1, 2, 4))
    assert (dx.tolist(), dc.tolist(), before) == ([6, 24, 72], [3, 12, 27], None)


@mode
@pytest.mark.parametrize(
    "cotangent",
    [np.array([1.0, 0.0, 2.0], "f4"), [1, 0, 2], tx.tensor([1, 0, 2])],
    ids=["array", "list", "tensor"],
)
def test_cotangents(run: Mode, cotangent: object):
    def f(x):
        (x * x).backward(cotangent)
        (x * x).sum().backward(2)
        return x.grad

    assert run(f)(leaf(1, 2, 3)).tolist() == [6, 8, 24]


@mode
def test_a_second_call_adds_the_same_again(run: Mode):
    def f(x):
        loss = (x * x).sum()
        loss.backward(retain_graph=True)
        loss.backward()
        twice = taken(x)
        loss.backward()
        return twice, x.grad

    assert [g.tolist() for g in run(f)(leaf(1, 2))] == [[4, 8], [2, 4]]


@mode
def test_a_number_is_a_leaf_too(run: Mode):
    def f(x):
        x.backward()
        return x.grad

    assert run(f)(tx.tensor(3.0, requires_grad=True)).item() == 1


@mode
def test_blocks_without_gradients(run: Mode):
    def f(x):
        with tx.no_grad():
            scale = (x * x).sum()
            nothing = scale.requires_grad
        loss = (x * scale).sum()
        with tx.no_grad():
            loss.backward()
        return x.grad, nothing

    gradient, nothing = run(f)(leaf(1, 2, 3))
    assert gradient.tolist() == [14, 14, 14] and not nothing


@mode
def test_leaves_in_the_middle(run: Mode):
    def f(x):
        y = x * x
        before = y * 1
        z = y.detach().requires_grad_()
        assert z.requires_grad and z.is_leaf and not y.is_leaf
        ((z * z).sum() + before.sum()).backward()
        return z.grad, x.grad, y.grad

    dz, dx, dy = run(f)(leaf(1, 2, 3))
    assert (dz.tolist(), dx.tolist(), dy) == ([2, 8, 18], [2, 4, 6], None)


@mode
def test_what_was_computed_before_a_tensor_became_a_leaf_has_no_gradient(run: Mode):
    def f(x):
        y = x + 1
        before = y * 100
        y.requires_grad_()
        (y * y + before).sum().backward()
        return y.grad

    assert run(f)(tx.tensor([1.0, 2.0])).tolist() == [4, 6]


@mode
def test_elements_that_are_assigned(run: Mode):
    def f(x):
        y = x * 2
        z = y * 3
        y[0] = 5.0
        y += 1
        (y * z).sum().backward()
        return x.grad, y

    gradient, y = run(f)(leaf(1, 2))
    assert gradient.tolist() == [36, 24 * 2 + 6]
    assert y.tolist() == [6, 5]


COMPLAINTS = {
    "error[gradient]: nothing that the tensor is computed from requires a gradient\n  help: make a leaf with "
    "tx.tensor(data, "
    "requires_grad=True)": lambda x: _of_no_history(x),
    "error[gradient]: the tensor is [2], no single number\n  help: reduce it, for example with .sum(), or "
    "give a cotangent: .backward(g)": lambda x: (x * x).backward(),
    "error[shape]: the cotangent is [3], the tensor [2]": lambda x: (x * x).backward(np.ones(3)),
    "error[gradient]: the tensor is computed from others that require gradients\n  help: use .detach()": lambda x: (
        (x * x).requires_grad_(False)
    ),
    'error[gradient]: a tensor of bool has no gradient\n  help: convert it: .astype("f32")': lambda x: (
        x > 0
    ).requires_grad_(),
}


def _of_no_history(x):
    (x * x).sum().backward()
    x.grad.sum().backward()


@mode
@pytest.mark.parametrize("text", COMPLAINTS)
def test_complaints(run: Mode, text: str):
    with pytest.raises(tx.CallError) as error:
        run(COMPLAINTS[text])(leaf(1, 2))
    assert str(error.value) == text


@mode
def test_a_function_that_is_called_without_gradients(run: Mode):
    def f(x):
        y = x * x
        return y, y.requires_grad

    traced = run(f)
    x = leaf(1, 2)
    assert traced(x)[1] is True
    with tx.no_grad():
        assert traced(x)[1] is False
    assert traced(x)[1] is True


def test_a_module_that_is_first_called_without_gradients():
    layer = nn.Linear(2, 1).double()
    x = leaf(1, 2)
    with tx.no_grad():
        layer(x)
    layer(x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), layer.weight.data[0])


class Frozen(nn.Module):
    """A layer whose result counts as data where it is added."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        with tx.no_grad():
            target = self.layer(x)
        return self.layer(x) * target


def test_blocks_without_gradients_in_modules():
    model = Frozen().double()
    x = leaf(1, 2)
    y = model(x)
    (y.sum()).backward()
    w, target = model.layer.weight.data, x.numpy() @ model.layer.weight.data.T + model.layer.bias.data
    np.testing.assert_allclose(x.grad.numpy(), target @ w)


def test_second_derivatives_of_modules_reach_their_parameters():
    nn.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    x = spread(15, 5, 3)
    model(x).sum().backward(create_graph=True)
    slope = taken(x)
    for parameter in model.parameters():
        parameter.grad = None
    ((slope**2).sum(1) - 1).sum().backward()
    first, second = model[0].weight, model[2].weight

    def penalty() -> float:
        hidden = 1 - np.tanh(x.numpy() @ first.data.T + model[0].bias.data) ** 2
        return (((hidden * second.data[0]) @ first.data) ** 2).sum()

    for parameter in (first, second, model[0].bias):
        for place in np.ndindex(parameter.shape):
            step = np.zeros(parameter.shape)
            step[place] = 1e-6
            kept = parameter.data.copy()
            parameter.data = kept + step
            high = penalty()
            parameter.data = kept - step
            low = penalty()
            parameter.data = kept
            assert parameter.grad.numpy()[place] == pytest.approx((high - low) / 2e-6, rel=1e-6, abs=1e-8)
