"""Operators that captured networks are made of."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.autodiff.checking import check_gradient
from texpr import ops
from texpr.ir.dtypes import F64, I64

RANDOM = np.random.default_rng(0)


NAMES = (
    "adam_update",
    "add",
    "affine",
    "conv2d",
    "conv2d_grouped",
    "copy",
    "cross_entropy",
    "divide",
    "dropout",
    "flatten3",
    "flatten4",
    "flatten5",
    "linear",
    "matmul",
    "maxpool2d",
    "mean_all",
    "momentum_update",
    "multiply",
    "negative",
    "nesterov_update",
    "next_seed",
    "relu",
    "sgd_update",
    "sigmoid",
    "softmax",
    "squared_error",
    "subtract",
    "sum_all",
    "tanh",
)
"""What captured networks are made of; `tests/ops` has the whole library."""


def example(name: str) -> tuple[dict[str, object], list[np.ndarray]]:
    """Constants and inputs for each operator."""
    one, image = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(2, 3, 5, 6))
    match name:
        case "linear":
            return {}, [one, RANDOM.normal(size=(2, 4)), RANDOM.normal(size=2)]
        case "matmul":
            return {}, [one, RANDOM.normal(size=(4, 2))]
        case "conv2d":
            return {"SH": 2, "PW": 1, "DH": 2}, [
                image,
                RANDOM.normal(size=(2, 3, 2, 3)),
                RANDOM.normal(size=2),
            ]
        case "conv2d_grouped":
            return {"G": 3, "PH": 1}, [image, RANDOM.normal(size=(6, 1, 2, 3)), RANDOM.normal(size=6)]
        case "maxpool2d":
            return {"PH": 1}, [image]
        case "cross_entropy":
            return {}, [one, np.array([0, 3, 2])]
        case "softmax":
            return {"axis": 1}, [one]
        case "flatten3" | "flatten4" | "flatten5":
            return {}, [RANDOM.normal(size=(2, 3, 2, 2, 2)[: int(name[-1])])]
        case "dropout":
            return {"p": 0.25}, [one, np.array(7, np.uint64)]
        case "next_seed":
            return {}, [np.array(7, np.uint64)]
        case "affine":
            return {}, [one, np.array(2.0), np.array(3.0)]
    program = getattr(ops, name).program()
    return {}, [RANDOM.uniform(0.5, 1.5, size=(3, 4) if t.dims else ()) for t in program.inputs]


@pytest.mark.parametrize("name", NAMES)
def test_compiled_equals_interpreted_and_gradients_are_right(name: str):
    operator, (constants, arrays) = getattr(ops, name), example(name)
    found, expected = operator(*arrays, **constants), tx.interpret(operator, *arrays, **constants)
    for a, b in zip(*((r,) if isinstance(r, np.ndarray) else r for r in (found, expected)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    program = operator.program(
        {v: I64 if kind == "int" else F64 for v, kind in operator.signature.variables}, constants
    )
    if any(t.dtype.is_float for t in program.outputs):
        check_gradient(program, *arrays)


def test_cross_entropy_does_not_overflow():
    logits = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]], np.float32)
    np.testing.assert_allclose(ops.cross_entropy(logits, np.array([1, 2])), [2e4, np.log(3)], rtol=1e-6)


def test_an_unknown_operator():
    with pytest.raises(AttributeError) as caught:
        _ = ops.softmaks
    assert str(caught.value) == "texpr.ops has no `softmaks`: did you mean `softmax`?"
