"""Parametrizations against numbers of torch 2.13.0 (`torch.nn.utils.parametrizations`, f64)."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.nn.utils.parametrizations import (
    is_parametrized,
    register_parametrization,
    remove_parametrizations,
    spectral_norm,
    weight_norm,
)

X = np.array([[1.0, 2.0, -1.0], [0.5, 0.0, 3.0]])
OUTPUTS = [-3.0, 0.6, -1.65, 4.65]
# (dim, shape of g, gradients of g and v for sum(y^2), where g is 1.5 times the norm of v).
WEIGHT_NORM = [
    (
        0,
        (2, 1),
        [13.2097612939, 24.771470974],
        [5.2714286119, -7.9521428574, -2.5007136887, 2.4942863485, -15.242142947, 8.6464288917],
    ),
    (
        1,
        (1, 3),
        [8.6487216531, 10.1823380537, 26.9463567282],
        [1.246153825, -7.2000001073, 2.0769233031, 6.2307694966, -7.2000001073, 0.4153846359],
    ),
    (
        None,
        (),
        [26.8567868945],
        [12.5999996456, -3.5550000625, -1.0349995693, 3.9600004679, -10.8450001521, 15.9749999253],
    ),
]
TOLERANCE = 1e-6
"""torch's first weights were rounded to f32."""


def layer() -> nn.Linear:
    found = nn.Linear(3, 2, dtype="f64")
    found.weight.data[...] = np.linspace(-1, 1, 6).reshape(2, 3)
    found.bias.data[...] = 0
    return found


@pytest.mark.parametrize(("dim", "shape", "d_length", "d_direction"), WEIGHT_NORM)
def test_weight_norm(
    dim: int | None, shape: tuple[int, ...], d_length: list[float], d_direction: list[float]
):
    found = weight_norm(layer(), dim=dim)
    assert np.allclose(found(X), layer()(X))
    length, direction = found.parametrizations.weight._parameters.values()
    assert length.shape == shape and direction.shape == (2, 3)
    length.data = length.numpy() * 1.5
    y = found(tx.tensor(X))
    (y * y).sum().backward()
    assert np.allclose(y.numpy().ravel(), OUTPUTS, atol=TOLERANCE)
    assert np.allclose(length.grad.numpy().ravel(), d_length, rtol=TOLERANCE)
    assert np.allclose(direction.grad.numpy().ravel(), d_direction, rtol=TOLERANCE, atol=TOLERANCE)


def test_spectral_norm():
    found = spectral_norm(layer())
    names = ["bias", *(f"parametrizations.weight.{n}" for n in ("0._u", "0._v", "original"))]
    state = found.state_dict()
    assert sorted(state) == names
    u, v = np.array([0.6, 0.8]), np.array([1.0, 0, 0])
    found.load_state_dict(state | {names[1]: u, names[2]: v})
    y = found(tx.tensor(X))
    (y * y).sum().backward()
    wanted = [-1.537412271, 0.3074824725, -0.8455766964, 2.3829889445]
    gradient = [7.4476032607, 2.515124093, 2.4871900623, 0.2122976736, -0.5030246759, 9.7134710446]
    assert np.allclose(y.numpy().ravel(), wanted, atol=TOLERANCE)
    assert np.allclose(found.parametrizations.weight.original.grad.numpy().ravel(), gradient, atol=TOLERANCE)
    state = found.state_dict()
    assert np.allclose(state[names[1]], [-0.9805806779, 0.1961161239], atol=TOLERANCE)
    assert np.allclose(state[names[2]], [0.7839294919, 0.5427204361, 0.3015113264], atol=TOLERANCE)
    found.eval()
    assert np.allclose(found(X).ravel(), wanted, atol=TOLERANCE)
    largest = np.linalg.svd(spectral_norm(layer()).weight.numpy())[1][0]
    assert largest == pytest.approx(1.0, abs=1e-6)


def test_they_are_trained_copied_saved_and_removed(tmp_path):
    nn.manual_seed(0)
    model = nn.Sequential(weight_norm(nn.Linear(3, 4)), nn.Tanh(), spectral_norm(nn.Linear(4, 2)))
    trainer = nn.Trainer(model, nn.MSELoss(), nn.optim.Adam(model.parameters(), lr=0.05))
    history = trainer.fit(X, X[:, :2], epochs=10, progress=False)
    assert history["loss"][-1] < history["loss"][0]
    wanted = trainer.predict(X)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.allclose(other.eval()(X), wanted, atol=1e-6)
    fresh = nn.Sequential(weight_norm(nn.Linear(3, 4)), nn.Tanh(), spectral_norm(nn.Linear(4, 2)))
    fresh.load_state_dict(model.state_dict())
    assert np.allclose(fresh.eval()(X), wanted, atol=1e-6)
    for layer in (model[0], model[2]):
        assert is_parametrized(layer) and is_parametrized(layer, "weight")
        remove_parametrizations(layer, "weight")
        assert type(layer) is nn.Linear and sorted(layer.state_dict()) == ["bias", "weight"]
    assert np.allclose(model.eval()(X), wanted, atol=1e-6)


def test_convolutions_and_functions_of_ones_own():
    image = np.random.default_rng(0).normal(size=(2, 3, 5, 5)).astype("f4")
    for convolution in (nn.Conv2d(3, 4, 3), nn.ConvTranspose2d(3, 4, 3)):
        wanted = convolution(image)
        assert np.allclose(weight_norm(convolution)(image), wanted, atol=1e-5)
        assert spectral_norm(remove_parametrizations(convolution, "weight"))(image).shape == wanted.shape

    class Symmetric(nn.Module):
        def forward(self, x: tx.Tensor) -> tx.Tensor:
            return (x + x.T) / 2

    square = register_parametrization(nn.Linear(3, 3, dtype="f64"), "weight", Symmetric())
    assert np.allclose(square.weight.numpy(), square.weight.numpy().T)


def test_what_is_not_trained_stays_so():
    found = layer()
    found.weight.requires_grad = False
    weight_norm(found)
    assert not any(p.requires_grad for p in found.parametrizations.parameters())
    assert not remove_parametrizations(found, "weight").weight.requires_grad
    assert remove_parametrizations(weight_norm(layer()), "weight").weight.requires_grad


def test_mistakes():
    found = weight_norm(layer())
    for run, message in (
        (
            lambda: weight_norm(found),
            "error[module]: Linear has no parameter `weight`: it is parametrized already\n  help: it has bias",
        ),
        (lambda: weight_norm(layer(), dim=2), "error[rank]: weight_norm: there is no axis 2 of 2"),
        (lambda: spectral_norm(layer(), dim=-3), "error[rank]: spectral_norm: there is no axis -3 of 2"),
        (
            lambda: spectral_norm(layer(), dim="rows"),  # type: ignore[arg-type]
            "error[arguments]: spectral_norm: dim is 'rows', expected an integer",
        ),
        (
            lambda: setattr(found, "weight", 1.0),
            "error[module]: `weight` of Linear is a function of others\n  help: write to "
            ".parametrizations.weight, or call remove_parametrizations first",
        ),
        (
            lambda: remove_parametrizations(layer(), "weight"),
            "error[module]: `weight` of Linear is not parametrized",
        ),
    ):
        with pytest.raises(tx.CallError) as caught:
            run()
        assert str(caught.value) == message
