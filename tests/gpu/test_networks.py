"""Networks on a device: nothing in them changes, and the training is that of the host."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.graph import Variable
from texpr.support.errors import CallError

DEVICE, NAME = "emulated", "emulated:0"
X = np.random.default_rng(0).uniform(-1, 1, (12, 6)).astype(np.float32)
Y = np.random.default_rng(1).integers(0, 3, 12)


def network() -> nn.Sequential:
    nn.manual_seed(3)
    return nn.Sequential(
        nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3)
    )


@pytest.fixture(autouse=True, scope="module")
def without_certificates() -> Iterator[None]:
    """Other tests prove kernels; it is half of the time."""
    with tx.options(certify=False):
        yield


def small() -> nn.Sequential:
    nn.manual_seed(4)
    return nn.Sequential(nn.Linear(6, 3))


def trainer(
    device: str | None = None, make: Callable[[], nn.Sequential] = network, **options: Any
) -> nn.Trainer:
    model = make()
    return nn.Trainer(
        model,
        nn.CrossEntropyLoss(),
        nn.optim.Adam(model.parameters(), lr=0.05),
        metrics=["accuracy"],
        device=device,
        **options,
    )


def fit(made: nn.Trainer, epochs: int = 2, **options: Any) -> dict[str, list[float]]:
    return dict(made.fit(X, Y, epochs=epochs, batch_size=4, progress=False, **options))


@pytest.fixture(scope="module")
def on_host() -> nn.Trainer:
    made = trainer()
    fit(made, validation_data=(X, Y))
    return made


def test_a_training_is_that_of_the_host(on_host: nn.Trainer):
    made = trainer(DEVICE)
    history = fit(made, validation_data=(X, Y))
    assert made.model.device == NAME and all(v.device == NAME for v in made.optimizer._state.values())
    for name, values in on_host.history.items():
        np.testing.assert_allclose(history[name], values, rtol=1e-4, err_msg=name)
    for name, array in on_host.model.state_dict().items():
        np.testing.assert_allclose(made.model.state_dict()[name], array, rtol=1e-3, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(made.predict(X), on_host.predict(X), rtol=1e-3, atol=1e-4)
    assert all(len(p.runner._bindings) == 2 for p in made.step._plans._made.values()), (
        "variables alternate: a graph for each"
    )


def test_a_training_goes_on_bit_for_bit(tmp_path: Path):
    whole = trainer(DEVICE)
    fit(whole, 2)
    half = trainer(DEVICE)
    fit(half, 1)
    half.save(tmp_path / "run.safetensors")
    rest = trainer(DEVICE)
    fit(rest, 2, resume=tmp_path / "run.safetensors")
    for name, array in whole.model.state_dict().items():
        assert array.tobytes() == rest.model.state_dict()[name].tobytes(), name
    assert dict(whole.history) == dict(rest.history)


def test_weights_go_through_files(tmp_path: Path):
    model = network().to(DEVICE)
    nn.save(model, tmp_path / "m.safetensors")
    host = network()
    for p in host.parameters():
        p.data[...] = 0
    nn.load(host, tmp_path / "m.safetensors")
    back = network().to(DEVICE)
    back.load_state_dict(host.state_dict())
    for name, array in model.state_dict().items():
        assert np.array_equal(array, host.state_dict()[name]) and np.array_equal(
            array, back.state_dict()[name]
        )
    assert back.device == NAME and copy.deepcopy(back).device == NAME and back.cpu().device == "cpu"


def test_parameters_are_made_where_the_option_says():
    with tx.options(device=DEVICE):
        model = nn.Sequential(nn.Embedding(5, 4, padding_idx=1), nn.Linear(4, 2))
    assert model.device == NAME and not model.state_dict()["0.weight"][1].any()
    assert model(np.array([0, 1])).shape == (2, 2)
    assert isinstance(model(np.array([0, 1])), np.ndarray)


def test_calls_follow_a_model_that_moves():
    model = network().eval()
    host = model(X)
    np.testing.assert_allclose(model.to(DEVICE)(X), host, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.to("cpu")(X), host, rtol=1e-5, atol=1e-6)


def test_steps_by_hand():
    def steps(device: str) -> tuple[list[float], nn.Module]:
        model = small().to(device)
        optimizer, loss_of = nn.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), nn.CrossEntropyLoss()
        x, y, losses = tx.tensor(X, device=device), tx.tensor(Y, device=device), []
        for _ in range(2):
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, model

    host, there = steps("cpu"), steps(DEVICE)
    np.testing.assert_allclose(there[0], host[0], rtol=1e-5)
    assert there[1].device == NAME and all(p.grad.device == NAME for p in there[1].parameters())


@pytest.mark.parametrize("options", ({"accumulate": 2}, {"precision": "f16"}), ids=str)
def test_other_steps(options: dict[str, Any]):
    host, there = trainer(None, small, **options), trainer(DEVICE, small, **options)
    rtol = 2e-2 if "precision" in options else 1e-4
    np.testing.assert_allclose(fit(there, 1)["loss"], fit(host, 1)["loss"], rtol=rtol)


def test_an_optimizer_follows_its_parameters():
    made = trainer(None, small)
    fit(made, 1)
    made.model.to(DEVICE)
    fit(made, 1)
    assert {v.device for v in made.optimizer._state.values()} == {NAME}


def test_a_loss_that_is_not_finite_is_explained():
    made = trainer(DEVICE, small)
    weights = made.model[0].weight.numpy()
    weights[0, 0] = np.nan
    made.model[0].weight.data[...] = weights
    with pytest.raises(tx.Error, match="the parameter `0.weight` is not finite"):
        fit(made, 1)


def test_data_elsewhere():
    model = network().to(DEVICE)
    with pytest.raises(CallError, match="lies on cpu, one of .* on emulated:0"):
        model(tx.tensor(X))
    model[0].weight.move("cpu")
    with pytest.raises(CallError, match="move what belongs together to one device"):
        model(X)


def test_a_variable_is_converted_and_assigned_where_it_lies():
    v = Variable(np.arange(3, dtype=np.float32), "v", device=DEVICE)
    v.convert(tx.tensor([1.0]).dtype)
    assert v.device == NAME and v.data.dtype == np.float64
    v.data = np.full(3, 2.0)
    v.data = Variable(np.full(3, 5.0), "w", device=DEVICE).data
    assert v.numpy().tolist() == [5, 5, 5]
    with pytest.raises(CallError, match="lies on emulated:0, and NumPy asks for it"):
        np.asarray(v)
