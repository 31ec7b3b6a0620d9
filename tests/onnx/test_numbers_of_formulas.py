"""Single numbers that an exporter writes as initializers are no weights: training leaves them."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn

pytest.importorskip("onnx")

from onnx import helper  # noqa: E402

from tests.onnx.models import model  # noqa: E402

F = np.float32


def test_numbers_of_rank_0_are_not_trained_by_themselves():
    """The bound of a maximum is -inf, an exponent would have the logarithm of what it raises."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Pow", ["a", "two"], ["b"]),
        helper.make_node("Max", ["bound", "b"], ["c"]),
        helper.make_node("Mul", ["c", "scale"], ["y"]),
    ]
    rng = np.random.default_rng(0)
    data = {"w": rng.standard_normal((3, 2)).astype(F), "two": F(2), "bound": F(-np.inf), "scale": F(0.5)}
    proto = model(nodes, [("x", ["n", 3])], [("y", ["n", 2])], data)
    x, y = rng.standard_normal((8, 3)).astype(F), np.ones((8, 2), F)
    for trained in ({"w"}, {"w", "scale"}):
        loaded = tx.onnx.load(proto)
        parameters = dict(loaded.named_parameters())
        assert list(parameters) == list(data)
        parameters["scale"].requires_grad = "scale" in trained
        assert {n for n, p in parameters.items() if p.requires_grad} == trained
        optimizer = nn.optim.Adam(loaded.parameters(), lr=0.01)
        losses = nn.Trainer(loaded, nn.MSELoss(), optimizer).fit(x, y, epochs=5, progress=False)["loss"]
        assert losses[-1] < losses[0]
        changed = {n for n, v in loaded.state_dict().items() if not np.array_equal(v, data[n])}
        assert changed == trained
