"""Derivatives of operators inside PyTorch: reverse mode of any order, forward mode, `vmap`."""

from __future__ import annotations

from typing import Any

import pytest

import texpr as tx

torch: Any = pytest.importorskip("torch")

from tests.bridges.torch.operators import GATHER, LINEAR, POWER, SILU, TOP  # noqa: E402
from tests.bridges.torch.test_registered import rand  # noqa: E402

SILU_64 = tx.op("op silu_64(X: f64[N]) -> Y: f64[N] { Y[i] = X[i] / (1 + exp(-X[i])) }")


def f64(*shape: int, grad: bool = True) -> Any:
    return rand(*shape, dtype=torch.float64, grad=grad)


SAMPLES: list[tuple[tx.Op, tuple, dict[str, object]]] = [
    (SILU_64, (f64(5),), {}),
    (LINEAR, (f64(3, 4), f64(4, 2)), {}),
    (LINEAR, (f64(3, 4, grad=False), f64(4, 2), f64(2)), {}),
    (POWER, (f64(2, 3),), {"p": 3}),
    (GATHER, (f64(4), torch.tensor([1, 1, 3])), {}),
]


@pytest.mark.parametrize("op,inputs,constants", SAMPLES, ids=lambda v: getattr(v, "__name__", ""))
def test_gradients_are_right_to_the_second_order(op: tx.Op, inputs: tuple, constants: dict[str, object]):
    f = tx.torch.op(op)
    call = lambda *given: f(*given, **constants)  # noqa: E731
    assert torch.autograd.gradcheck(call, inputs)
    assert torch.autograd.gradgradcheck(call, inputs)
    through_dispatcher = lambda *given: f.overload(*given, **constants)  # noqa: E731
    assert torch.autograd.gradcheck(through_dispatcher, inputs)


def test_forward_mode_is_right():
    f = tx.torch.op(SILU_64)
    assert torch.autograd.gradcheck(f, (f64(5),), check_forward_ad=True, check_backward_ad=False)


def test_a_third_derivative():
    f, x = tx.torch.op(SILU_64), f64(4)
    theirs = torch.nn.functional.silu
    for _ in range(3):
        f, theirs = derivative(f), derivative(theirs)
    torch.testing.assert_close(f(x), theirs(x))


def derivative(f: Any) -> Any:
    return lambda x: torch.autograd.grad(f(x).sum(), x, create_graph=True)[0]


def test_outputs_without_a_gradient():
    x = rand(3, 4, grad=True)
    values, places = tx.torch.op(TOP)(x)
    assert values.requires_grad and not places.requires_grad
    values.sum().backward()
    assert torch.equal(x.grad, torch.nn.functional.one_hot(places, 4).float())


def test_only_what_is_asked_for_is_computed():
    f, a, b = tx.torch.op(LINEAR), rand(3, 4), rand(4, 2, grad=True)
    f(a, b).sum().backward()
    assert a.grad is None
    torch.testing.assert_close(b.grad, a.T @ torch.ones(3, 2))
    assert hasattr(torch.ops.texpr, "affine_grad_B")


def test_a_result_of_many_that_nobody_needs():
    op = tx.op("op both_of(X: f64[N]) -> (Y: f64[N], Z: f64[N]) { Y[i] = 2 * X[i]\n Z[i] = X[i] * X[i] }")
    x = f64(3)
    tx.torch.op(op)(x)[1].sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())


def test_changes_in_place_between_are_refused():
    f, x = tx.torch.op(SILU), rand(3, grad=True)
    y = x * 1
    z = f(y)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_no_graph_without_a_need():
    f, x = tx.torch.op(SILU), rand(3, grad=True)
    with torch.no_grad():
        assert f(x).grad_fn is None
    with torch.inference_mode():
        assert not f(x).requires_grad
    assert f(x.detach()).grad_fn is None


def test_an_operator_without_a_gradient_says_so_when_it_is_asked():
    op = tx.op("extern op noise_of(X: f32[N]) -> Y: f32[N]")
    tx.register_extern("noise_of", lambda X: X)  # noqa: N803
    x = rand(3, grad=True)
    found = tx.torch.op(op)(x)
    with pytest.raises(tx.CheckError, match="its gradient has to be given"):
        found.sum().backward()


def test_parameters_of_a_module_are_trained():
    f = tx.torch.op(LINEAR)

    class Linear(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight, self.bias = torch.nn.Parameter(rand(3, 1)), torch.nn.Parameter(torch.zeros(1))

        def forward(self, x: Any) -> Any:
            return f(x, self.weight, self.bias)

    net, x = Linear(), rand(32, 3)
    target = x @ torch.tensor([[1.0], [-2.0], [0.5]]) + 3
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(300):
        optimizer.zero_grad()
        (net(x) - target).square().mean().backward()
        optimizer.step()
    torch.testing.assert_close(net.weight.detach(), torch.tensor([[1.0], [-2.0], [0.5]]), atol=1e-3, rtol=0)


SILU_OF = torch.nn.functional.silu
TRANSFORMED = {
    "grad": lambda f: torch.func.grad(lambda x: f(x).sum()),
    "jacrev": torch.func.jacrev,
    "jacfwd": torch.func.jacfwd,
    "hessian": lambda f: torch.func.hessian(lambda x: f(x).sum()),
    "jvp": lambda f: lambda x: torch.func.jvp(f, (x,), (x * 2,)),
    "vjp": lambda f: lambda x: torch.func.vjp(f, x)[1](x),
    "grad of vmap": lambda f: torch.func.grad(lambda x: torch.func.vmap(f)(torch.stack([x, 2 * x])).sum()),
    "vmap of grad": lambda f: (
        lambda x: torch.func.vmap(torch.func.grad(lambda y: f(y).sum()))(x.expand(3, -1))
    ),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformations_of_torch(name: str):
    x = f64(5).detach()
    found, wanted = (TRANSFORMED[name](f)(x) for f in (tx.torch.op(SILU_64), SILU_OF))
    for one, other in zip(torch.utils._pytree.tree_leaves(found), torch.utils._pytree.tree_leaves(wanted)):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (2, 1), (0, 0)])
def test_vmap_along_any_axis(axes: tuple[int | None, ...]):
    f = tx.torch.op(LINEAR)
    shapes = [(2, 3), (3, 4)]
    for k, axis in enumerate(axes):
        if axis is not None:
            shapes[k] = (*shapes[k][:axis], 5, *shapes[k][axis:])
    a, b = (f64(*shape) for shape in shapes)
    found = torch.func.vmap(f, in_dims=axes, out_dims=1)(a, b)
    torch.testing.assert_close(found, torch.func.vmap(torch.matmul, in_dims=axes, out_dims=1)(a, b))
    assert torch.autograd.gradcheck(torch.func.vmap(f, in_dims=axes), (a, b))


def test_vmap_of_several_results_and_of_vmap():
    values, places = torch.func.vmap(tx.torch.op(TOP))(rand(2, 3, 4))
    assert values.shape == places.shape == (2, 3)
    outer = torch.func.vmap(torch.func.vmap(tx.torch.op(SILU)))(rand(2, 3, 4))
    torch.testing.assert_close(outer, SILU_OF(rand(2, 3, 4)))


def test_a_batch_is_one_call():
    f = tx.torch.op(tx.op("op plus_one(X: f64[N]) -> Y: f64[N] { Y[i] = X[i] + 1 }"))
    torch.func.vmap(f)(f64(4, 3))
    assert torch.ops.texpr.plus_one_vmap_0.default is f.mapped_along((0,)).overload


def test_what_is_registered_with_torch_is_mapped_too():
    x, overload = rand(3, 4), tx.torch.op(SILU).overload
    assert overload is torch.ops.texpr.silu.default
    torch.testing.assert_close(torch.func.vmap(overload)(x), SILU_OF(x))
