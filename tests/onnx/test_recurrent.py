"""Recurrent layers: activations, their numbers, clips, coupled gates. The right values are those
of ONNX Runtime 1.32.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

import texpr as tx  # noqa: E402
from tests.onnx.models import run  # noqa: E402

F = np.float32
FUNCTIONS = {
    "Tanh": np.tanh,
    "Sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "Relu": lambda v: np.maximum(v, 0),
    "Softsign": lambda v: v / (1 + abs(v)),
    "Softplus": lambda v: np.log1p(np.exp(v)),
    "Affine": lambda v: 0.5 * v + 0.25,
    "LeakyRelu": lambda v: np.where(v < 0, 0.5 * v, v),
    "ThresholdedRelu": lambda v: np.where(v > 0.5, v, 0),
    "ScaledTanh": lambda v: 0.5 * np.tanh(0.25 * v),
    "HardSigmoid": lambda v: np.clip(0.5 * v + 0.25, 0, 1),
    "Elu": lambda v: np.where(v < 0, 0.5 * np.expm1(v), v),
}
X = np.array([[[1.0]], [[-2.0]], [[0.3]]], F)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("clip", [None, 0.4])
def test_activations(name, clip):
    numbers = {"activation_alpha": [0.5], "activation_beta": [0.25]}
    more = (
        numbers
        if name in ("Affine", "ScaledTanh", "HardSigmoid")
        else {"activation_alpha": [0.5]}
        if name in ("LeakyRelu", "ThresholdedRelu", "Elu")
        else {}
    )
    more = more if clip is None else {**more, "clip": clip}
    y = run(
        "RNN",
        [X, np.array([[[0.7]]], F), np.array([[[-0.5]]], F)],
        14,
        hidden_size=1,
        activations=[name],
        **more,
    )
    h, wanted = np.zeros(1), []
    for x in X.ravel():
        v = 0.7 * x - 0.5 * h
        h = FUNCTIONS[name](v if clip is None else np.clip(v, -clip, clip))
        wanted.append(h)
    np.testing.assert_allclose(y.ravel(), np.ravel(wanted), rtol=1e-5, atol=1e-6)


def test_gates_that_are_coupled():
    weight, recurrence = np.array([[[0.3], [0.5], [-0.7], [0.9]]], F), np.zeros((1, 4, 1), F)
    y, _, c = run("LSTM", [X[:2], weight, recurrence], 14, 3, hidden_size=1, input_forget=1)
    sigmoid = FUNCTIONS["Sigmoid"]
    cell = 0.0
    for x in X[:2].ravel():
        let_in = sigmoid(0.3 * x)
        cell = (1 - let_in) * cell + let_in * np.tanh(0.9 * x)
    np.testing.assert_allclose([c.item(), y.ravel()[-1]], [cell, sigmoid(-1.0) * np.tanh(cell)], rtol=1e-5)


def test_numbers_are_taken_in_order():
    given = [np.ones((1, 1, 1), F), np.full((1, 3, 1), 1, F), np.zeros((1, 3, 1), F)]
    y = run(
        "GRU",
        given,
        14,
        hidden_size=1,
        activations=["hardsigmoid", "LEAKYRELU"],
        activation_alpha=[0.125, 2.0],
        activation_beta=[0.5],
    )
    np.testing.assert_allclose(
        y.ravel(), [1 - 0.625], rtol=1e-6
    )  # (1 - z) g with z = clamp(1/8 + 1/2) and g = 1
    with pytest.raises(tx.CallError, match=r"GRU: activations are \['Gelu', 'Tanh'\]; 2 of tanh, sigmoid, "):
        run("GRU", given, 14, hidden_size=1, activations=["Gelu", "Tanh"])
