"""Quantization: in what it is computed, and what its attributes say."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from tests.onnx.models import run  # noqa: E402

nan, inf = np.nan, np.inf
F, H, S, U = np.float32, np.float16, np.int8, np.uint8


@pytest.mark.parametrize(
    ("x", "scale", "version", "attributes", "wanted"),
    [
        (
            np.array([0.25, 1.05], H),
            H(0.1),
            23,
            {},
            [2, 10],
        ),  # the reference, and ONNX Runtime: divided in f16
        (np.array([0.25, 1.05], H), H(0.1), 21, {}, [3, 11]),  # ONNX Runtime: in f32 before version 23
        (np.array([0.25, 1.05], H), F(0.1), 23, {}, [2, 10]),
        (np.array([0.25006, 1.05], F), F(0.1), 23, {}, [3, 10]),
        (np.array([0.25006, 1.05], F), F(0.1), 23, {"precision": 10}, [2, 10]),
        (np.array([0.25006, 1.05], F), F(0.1), 23, {"precision": 16}, [2, 10]),
        (
            np.array([nan, inf, -inf, 1e30], F),
            F(0.1),
            10,
            {},
            [-128, 127, -128, 127],
        ),  # NaN is the lowest, as both have it
    ],
)
def test_what_is_divided_in_which_type(x, scale, version, attributes, wanted):
    assert run("QuantizeLinear", [x, scale, S(0)], version, **attributes).tolist() == wanted


def test_the_type_of_what_was_quantized():
    x, zero = np.array([1, 60], U), U(7)
    for scale, given, t in ((F(0.1), 10, H), (H(0.1), 1, F), (F(0.1), 0, F), (H(0.1), 0, H)):
        y = run("DequantizeLinear", [x, scale, zero], 23, **({"output_dtype": given} if given else {}))
        assert y.dtype == t and np.array_equal(y, (np.array([-6, 53], F) * F(scale)).astype(t))
    assert run("DequantizeLinear", [np.array([70000], np.int32), H(0.5)], 19).tolist() == [
        35008
    ]  # the nearest of f16; 70000 is none


def test_scales_of_zero_leave_the_zero_point():
    given = [
        np.array([[[7, 9]]], U),
        F(0.02),
        U(3),
        np.zeros((1, 1, 1), U),
        np.zeros(1, F),
        np.array([1], U),
        F(5),
        U(50),
    ]
    assert run("QLinearConv", given, 10).tolist() == [[[50, 50]]]


@pytest.mark.parametrize("rows", [2, 3])
def test_scales_of_each_row(
    rows,
):  # by ONNX's text; the reference and ONNX Runtime take one scale of all rows alone
    a, b = np.arange(2 * rows, dtype=np.uint8).reshape(rows, 2), np.array([[1, 2], [3, 4]], np.uint8)
    scales, zeros = np.array([1, 2, 3][:rows], np.float32), np.array([0, 1, 2][:rows], np.uint8)
    wanted = (a.astype(int) - zeros[:, None]) @ b * scales[:, None] + 100
    one, zero = np.float32(1), np.uint8(0)
    assert np.array_equal(
        run("QLinearMatMul", [a, scales, zeros, b, one, zero, one, np.uint8(100)], 21), wanted
    )
