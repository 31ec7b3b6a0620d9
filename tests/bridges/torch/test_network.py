"""Networks of texpr as modules of torch: the same as torch's own, in step with the network."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import texpr as tx
from texpr import nn

torch: Any = pytest.importorskip("torch")

from tests.bridges.torch.test_registered import rand  # noqa: E402


def pair(p: float = 0.0) -> tuple[nn.Module, Any, Any]:
    """A network, the same as a module of torch, and one of torch's own layers with its values."""
    nn.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(p), nn.Linear(8, 2, bias=False)
    )
    theirs = torch.nn.Sequential(
        torch.nn.Linear(4, 8),
        torch.nn.BatchNorm1d(8),
        torch.nn.ReLU(),
        torch.nn.Dropout(p),
        torch.nn.Linear(8, 2, bias=False),
    )
    net = tx.torch.module(model)
    theirs.load_state_dict(net.state_dict())
    return model, net, theirs


def close(one: Any, other: Any) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("training", [True, False])
def test_values_gradients_and_statistics_are_torchs(training: bool, compiled: bool):
    _, net, theirs = pair()
    net.train(training), theirs.train(training)
    call = torch.compile(net, fullgraph=True, backend="aot_eager") if compiled else net
    x = rand(6, 4, grad=True)
    for _ in range(2):
        found, wanted = call(x), theirs(x)
    close(found, wanted)
    gradients = torch.autograd.grad(found.square().sum(), [x, *net.parameters()])
    for one, other in zip(
        gradients, torch.autograd.grad(wanted.square().sum(), [x, *theirs.parameters()]), strict=True
    ):
        close(one, other)
    assert list(net.state_dict()) == list(theirs.state_dict())
    for one, other in zip(net.state_dict().values(), theirs.state_dict().values()):
        close(one, other)


def test_an_optimizer_of_torch_trains_both():
    model, net, theirs = pair()
    x, target = rand(16, 4), rand(16, 2)
    for module in (net, theirs):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
        for _ in range(10):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(module(x), target).backward()
            optimizer.step()
    close(net(x), theirs(x))
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value, net.state_dict()[name].numpy())


def test_what_one_side_changes_the_other_has():
    model, net, _ = pair()
    x, target = rand(6, 4), np.ones((6, 2), np.float32)
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        nn.MSELoss()(model(tx.tensor(x.numpy())), tx.tensor(target)).backward()
        optimizer.step()
    net.eval()
    np.testing.assert_allclose(net(x).detach().numpy(), model(x.numpy()), rtol=1e-6, atol=1e-6)
    with torch.no_grad():
        net.get_parameter("0.weight").add_(1)
    np.testing.assert_allclose(net(x).detach().numpy(), model(x.numpy()), rtol=1e-6, atol=1e-6)
    net.load_state_dict({n: torch.zeros_like(t) for n, t in net.state_dict().items()})
    assert not model.state_dict()["4.weight"].any() and not net(x).any()


def test_memory_is_shared():
    model, net, _ = pair()
    assert net.get_parameter("0.weight").data_ptr() == model[0].weight.data.ctypes.data


def test_dropout_draws_anew_and_not_in_evaluation():
    _, net, _ = pair(p=0.5)
    net.train()
    x = rand(6, 4)
    assert not torch.equal(net(x), net(x))
    net.eval()
    assert torch.equal(net(x), net(x))


def test_parts_are_set_to_evaluation_alone():
    model, net, _ = pair()
    net.get_submodule("1").eval()
    assert not model[1].training and model[0].training
    before = net.get_buffer("1.running_mean").clone()
    net(rand(6, 4))
    assert torch.equal(net.get_buffer("1.running_mean"), before)


def test_frozen_parameters_have_no_gradient():
    model, _, _ = pair()
    model[0].requires_grad_(False)
    net = tx.torch.module(model)
    net(rand(6, 4)).sum().backward()
    assert net.get_parameter("0.weight").grad is None
    assert net.get_parameter("4.weight").grad is not None


def test_copies_share_with_copies():
    model, net, _ = pair()
    net.eval()
    x = rand(3, 4)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torch.equal(other(x), net(x)) and other.model is not model
        with torch.no_grad():
            other.get_parameter("4.weight").zero_()
        assert not other.model.state_dict()["4.weight"].any() and net(x).any()


def test_export_calls_the_network():
    _, net, _ = pair()
    net.eval()
    x = rand(3, 4)
    exported = torch.export.export(net, (x,))
    assert "texpr.network" in str(exported.graph)
    assert torch.equal(exported.module()(x), net(x))


def test_a_16_bit_network():
    pytest.importorskip("ml_dtypes")
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    model.to("bf16")
    net, x = tx.torch.module(model), rand(3, 4, dtype=torch.bfloat16)
    net(x).sum().backward()
    weight, bias = net.get_parameter("0.weight"), net.get_parameter("0.bias")
    assert weight.dtype == weight.grad.dtype == torch.bfloat16
    wanted = (x.float() @ weight.float().T + bias.float()).relu()
    torch.testing.assert_close(net(x).float(), wanted, rtol=0.02, atol=0.02)


class Twofold(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.again = self.first

    def forward(self, a: Any, b: Any) -> Any:
        return self.first(a) + self.again(b), (a * b).argmax(axis=1)


def test_several_inputs_and_results_and_shared_layers():
    net = tx.torch.module(Twofold())
    assert [n for n, _ in net.named_parameters()] == ["first.weight", "first.bias"]
    a, b = rand(2, 3, grad=True), rand(2, 3)
    total, places = net(a, b)
    assert places.dtype == torch.int64 and not places.requires_grad
    total.sum().backward()
    w = net.get_parameter("first.weight")
    close(w.grad, torch.ones(2, 3).T @ (a.detach() + b))
    close(a.grad, torch.ones(2, 3) @ w.detach())


def test_threads_are_torchs():
    from texpr.runtime.native import native_library

    _, net, _ = pair()
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            net(rand(6, 4)).sum().backward()
            assert native_library.threads() == threads
    finally:
        torch.set_num_threads(before)


def test_refusals():
    _, net, _ = pair()
    with pytest.raises(tx.CallError) as caught:
        tx.torch.module(3)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "error[module]: found 'int' where a network belongs\n  help: tx.torch.module takes a module of texpr.nn"
    )
    with pytest.raises(tx.CallError) as caught:
        net.double()(rand(3, 4, dtype=torch.float64))
    assert str(caught.value) == (
        "error[dtype]: Sequential: `weight` is torch.float64[8, 4], and the network has f32[8, 4]\n"
        '  help: convert the network of texpr, model.to("f64"), and call tx.torch.module(model) again'
    )
    with pytest.raises(tx.CallError, match="expected a tensor"):
        pair()[1]([1.0])


def test_second_derivatives_are_refused():
    net = tx.torch.module(nn.Sequential(nn.Linear(3, 3), nn.Tanh()))
    x = rand(2, 3, grad=True)
    (first,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable|does not require grad"):
        first.sum().backward()
