"""BitCast between all types of as many bits."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

onnx = pytest.importorskip("onnx")

from onnx import helper  # noqa: E402

from tests.onnx.models import model, run  # noqa: E402

NUMBERS = {
    "f4": 1,
    "u1": 2,
    "i1": 3,
    "u2": 4,
    "i2": 5,
    "i4": 6,
    "i8": 7,
    "?": 9,
    "f2": 10,
    "f8": 11,
    "u4": 12,
    "u8": 13,
}
BITS = np.random.default_rng(0).integers(0, 256, 48, dtype=np.uint8)


PAIRS = [
    (a, b)
    for a in NUMBERS
    for b in NUMBERS
    if "?" not in a + b and np.dtype(a).itemsize == np.dtype(b).itemsize
]


@pytest.mark.parametrize(("source", "to"), PAIRS)
def test_bits_stay(source, to):
    """Those of NaN, too. Floats are known to the program, integers are computed by it."""
    x = BITS.view(source)
    for constants in ((), (0,)):
        found = run("BitCast", [x], 26, constants=constants, to=NUMBERS[to])
        assert found.dtype == to and found.tobytes() == x.tobytes()


def test_floats_are_known_to_the_program():
    nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("BitCast", ["n"], ["y"], to=6)]
    loaded = tx.onnx.load(model(nodes, [("x", [2])], [("y", [2], 6)], opset=26))
    for x in (np.array([1, -2], np.float32), np.array([0.5, 3], np.float32)):
        assert np.array_equal(loaded(x), (-x).view(np.int32))
    with pytest.raises(tx.CallError, match="input 0 of BitCast, which has floats, must be known"):
        tx.jit(loaded)(tx.tensor(x))


def test_truth_values_and_other_widths():
    assert run("BitCast", [np.array([True, False])], 26, to=2).tolist() == [1, 0]
    with pytest.raises(tx.CallError, match="of u8 to i16; types of as many bits, 8 or more, are read"):
        run("BitCast", [BITS], 26, to=5)
