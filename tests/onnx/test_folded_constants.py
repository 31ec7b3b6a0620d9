"""Nodes of constants are computed when a model becomes a program."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import texpr as tx  # noqa: E402
from tests.onnx.models import model  # noqa: E402
from texpr.graph.execution import constant_values  # noqa: E402

MATRIX = np.arange(12_000, dtype="f4").reshape(100, 120) % 7


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """The programs that are compiled for constants, of models that are not on disk."""
    made: list[object] = []

    def noted(*given: object) -> object:
        made.append(given)
        return plan(*given)

    plan = constant_values.Plan
    monkeypatch.setattr(constant_values, "Plan", noted)
    with tx.options(cache_dir=None):
        yield made


def of_constants(op: str, arrays: list) -> np.ndarray:
    """The value of a node of nodes `Constant`."""
    h = onnx.helper
    names = [f"x{k}" for k in range(len(arrays))]
    tensors = [onnx.numpy_helper.from_array(np.asarray(a)) for a in arrays]
    nodes = [h.make_node("Constant", [], [n], value=t) for n, t in zip(names, tensors)]
    nodes += [h.make_node(op, names, ["c"]), h.make_node("Add", ["c", "x"], ["y"])]
    return np.asarray(tx.onnx.load(model(nodes, [("x", [])], [("y", None)]))(np.float32(0)))


@pytest.mark.parametrize(
    ("op", "arrays", "expected"),
    [
        ("Cos", [MATRIX], np.cos(MATRIX)),
        ("Transpose", [MATRIX], MATRIX.T),
        ("CumSum", [MATRIX[:20, :40], np.int64(1)], np.cumsum(MATRIX[:20, :40], 1)),
    ],
)
def test_the_interpreter_computes_them(op: str, arrays: list, expected: np.ndarray, plans: list[object]):
    """No compiler is loaded for them."""
    found = of_constants(op, arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert not plans


def test_kernels_compute_what_takes_long(plans: list[object]):
    """Many elements one behind the other."""
    found = of_constants("CumSum", [MATRIX, np.int64(0)])
    np.testing.assert_array_equal(found, np.cumsum(MATRIX, 0))
    assert len(plans) == 1
