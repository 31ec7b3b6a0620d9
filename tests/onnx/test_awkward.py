"""Operators on values that do not compare, on integers that floats do not hold, on nothing, and on
one number. The right values are those of ONNX's reference evaluator and of ONNX Runtime 1.32, which
agree unless a comment says otherwise.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

pytest.importorskip("onnx")

from tests.onnx.models import run  # noqa: E402

nan, inf = np.nan, np.inf
F, H, D, I, J = np.float32, np.float16, np.float64, np.int64, np.int32  # noqa: E741


def same(found, *wanted):
    """Equal with the signs of zeros, shapes and dtypes."""
    found = found if isinstance(found, tuple) else (found,)
    for y, w in zip(found, wanted, strict=True):
        assert (y.dtype, y.shape) == (w.dtype, w.shape), f"{y.dtype}{list(y.shape)}"
        np.testing.assert_array_equal(y, w)
        assert y.dtype.kind != "f" or np.array_equal(np.signbit(y)[y == 0], np.signbit(w)[w == 0]), y


@pytest.mark.parametrize(
    ("x", "largest", "values", "places"),
    [
        ([1, nan, 2], 1, [nan, 2], [1, 2]),
        ([1, nan, 2], 0, [1, 2], [0, 2]),
        ([1, nan, 3, nan, 2], 1, [nan, nan, 3, 2, 1], [1, 3, 2, 4, 0]),
        ([1, nan, 3, nan, 2], 0, [1, 2, 3, nan, nan], [0, 4, 2, 1, 3]),
        ([inf, -inf, nan, 0, -0.0], 1, [nan, inf, 0, -0.0, -inf], [2, 0, 3, 4, 1]),
        ([inf, -inf, nan, 0, -0.0], 0, [-inf, 0, -0.0, inf, nan], [1, 3, 4, 0, 2]),
    ],
)
@pytest.mark.parametrize("t", [F, H, D])
def test_nan_is_the_largest_of_the_topmost(x, largest, values, places, t):
    found = run("TopK", [np.array(x, t), np.array([len(values)])], 11, 2, largest=largest)
    same(found, np.array(values, t), np.array(places))


def test_the_topmost_of_integers_and_of_nothing():
    same(
        run("TopK", [np.array([-(2**63), 2**63 - 1, 0]), np.array([2])], 11, 2),
        np.array([2**63 - 1, 0]),
        np.array([1, 2]),
    )
    for shape, axis, k in (((0, 3), 0, 0), ((0, 3), 1, 2), ((3,), 0, 0)):
        wanted = list(shape)
        wanted[axis] = k
        same(
            run("TopK", [np.zeros(shape, F), np.array([k])], 11, 2, axis=axis),
            np.zeros(wanted, F),
            np.zeros(wanted, I),
        )


REDUCED = {
    "ReduceSum": -3,
    "ReduceProd": -3,
    "ReduceMax": -3,
    "ReduceMin": -3,
    "ReduceL1": 3,
    "ReduceL2": 3,
    "ReduceSumSquare": 9,
    "ReduceLogSum": nan,
    "ReduceMean": -3,
    "ReduceLogSumExp": -3,
}


@pytest.mark.parametrize("op", REDUCED)
def test_one_number_is_reduced(op):
    """As a scalar, and each element alone where the list of axes is empty and says nothing."""
    version, wanted, none = 13 if op == "ReduceSum" else 18, F(REDUCED[op]), np.zeros(0, I)
    for keepdims in (0, 1):
        same(run(op, [F(-3)], version, keepdims=keepdims), wanted)
        same(run(op, [F(-3), none], version, keepdims=keepdims, noop_with_empty_axes=1), wanted)
        same(
            run(op, [np.full((2, 1), -3, F), none], version, keepdims=keepdims, noop_with_empty_axes=1),
            np.full((2, 1), wanted),
        )
        same(
            run(op, [np.zeros((0, 2), F), none], version, keepdims=keepdims, noop_with_empty_axes=1),
            np.zeros((0, 2), F),
        )
    same(run(op, [F(-3)], 11), wanted)
    if wanted == wanted:
        same(run(op, [J(-3)], version), J(wanted))
        same(run(op, [np.full(2, -3, J), none], version, noop_with_empty_axes=1), np.full(2, wanted, J))


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        (np.array([3, -4], J), 0),
        (np.array([-3, -4], I), -3),
        (np.array([7, 4], I), 5),
        (np.array([2**62, 2**62 - 2]), 2**62 - 1),
        (np.array([3, 4], np.uint32), 3),
        (np.array([-3, 0, -3, -1], J), -1),
    ],
)
def test_means_of_integers_are_cut_towards_zero(x, wanted):
    same(run("ReduceMean", [x], 18, keepdims=0), np.array(wanted, x.dtype))


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("version", [11, 13])
def test_softmax_of_nothing(op, version):
    for shape in ((0, 3), (3, 0), (2, 0, 3)):
        same(run(op, [np.zeros(shape, F)], version, axis=1), np.zeros(shape, F))


def test_axes_that_do_not_exist_are_refused():
    for op, more in (("ArgMax", []), ("Softmax", []), ("TopK", [np.array([1])]), ("CumSum", [np.array(0)])):
        with pytest.raises(tx.CallError, match=f"{op}: .*(axis|rank)"):
            run(op, [F(3), *more], 13, 2 if op == "TopK" else 1)


def test_the_axis_of_a_running_sum_may_be_a_list_of_one():  # ONNX Runtime takes it, as the schema does
    same(run("CumSum", [np.array([1, nan, 2], F), np.array([0])], 14, exclusive=1), np.array([0, 1, nan], F))


@pytest.mark.parametrize(
    ("x", "y", "wanted"),
    [
        (
            [3, 7, -3, 2, -1, 0],
            [39, 22, 39, 63, 5, 0],
            [4052555153018976267, 3909821048582988049, -4052555153018976267, -(2**63), -1, 1],
        ),
        ([2, 2, -2, 1, -1, -1], [-1, -2, -1, -5, -3, -2], [0, 0, 0, 1, -1, 1]),
        ([3], [[2], [0]], [[9], [1]]),
    ],
)
def test_powers_of_integers_are_exact(x, y, wanted):  # NumPy
    for constants in ((), (1,)):
        same(run("Pow", [np.array(x), np.array(y)], 15, constants=constants), np.array(wanted))
    assert run("Pow", [np.zeros((0, 1), I), np.array(y)[:1]], 15).shape == (0, 1)


def test_powers_hold_both_types():
    assert run("Pow", [np.array([-2], F), np.array([2**31 + 1])], 15) == -inf
    same(run("Pow", [np.array([2, 3], J), np.array([0.5, 2], F)], 15), np.array([1, 9], J))
    assert run("Pow", [np.array([2], F), np.array([0.1])], 15) == F(2**0.1)


@pytest.mark.parametrize("t", [H, F, D])
def test_remainders_have_the_sign_of_the_divisor(t):
    x, y = (
        np.array([-4, 4, 5.5, -5.5, 0.0, -0.0, nan, -1, 1], t),
        np.array([2, -2, 2, 2, 2, -2, 2, inf, -inf], t),
    )
    same(run("Mod", [x, y], 28), np.array([0.0, -0.0, 1.5, 0.5, 0.0, -0.0, nan, inf, -inf], t))
    same(run("Mod", [x, y], 13, fmod=1), np.array([-0.0, 0.0, 1.5, -1.5, 0.0, -0.0, nan, -1, 1], t))


def test_constants_of_types_that_numpy_lacks():
    """Bits are no numbers."""
    y = run("EyeLike", [np.zeros((2, 3), F)], 22, dtype=16)
    assert y.dtype.name in ("bfloat16", "float32") and np.array_equal(y.astype(F), np.eye(2, 3))
    y = run("HannWindow", [np.array(4)], 17, constants=(0,), output_datatype=16)
    assert np.array_equal(y.astype(F), [0, 0.5, 1, 0.5])
    bf16 = run("Cast", [np.ones((1, 4, 1), F)], 20, to=16)
    np.testing.assert_allclose(
        run("DFT", [bf16], 20).astype(F)[0], [[4, 0], [0, 0], [0, 0], [0, 0]], atol=1e-6
    )


def test_truth_is_padded():
    x = np.array([[False, True], [True, True]])
    same(
        run("CenterCropPad", [x, np.array([3, 1])], 18, constants=(1,)), np.array([[False], [True], [False]])
    )


def bools(*values):
    return np.array(values, bool)


@pytest.mark.parametrize(
    ("reduction", "wanted"),
    [
        ("none", bools(0, 1, 1, 1)),
        ("add", bools(1, 1, 1, 1)),
        ("max", bools(1, 1, 1, 1)),
        ("mul", bools(0, 0, 1, 0)),
        ("min", bools(0, 0, 1, 0)),
    ],
)
@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_updates_of_truth(op, reduction, wanted):  # their sum is `or`, their product `and`
    places = np.array([1, 0, 2, 3, 3])
    places = places[:, None] if op == "ScatterND" else places
    assert np.array_equal(
        run(op, [bools(1, 0, 1, 0), places, bools(1, 0, 1, 1, 1)], 18, reduction=reduction), wanted
    )


@pytest.mark.parametrize(
    ("reduction", "wanted"), [("none", 5), ("add", 8), ("mul", 15), ("max", 5), ("min", 3)]
)
def test_one_element_is_updated(reduction, wanted):
    same(
        run("ScatterND", [np.array([[0, 1], [2, 3]], F), np.array([-1, 1]), F(5)], 18, reduction=reduction),
        np.array([[0, 1], [2, wanted]], F),
    )


def test_nothing_is_padded():
    same(run("Pad", [np.array(3, F), np.zeros(0, np.int64)], 13), np.array(3, F))
    same(run("Pad", [np.zeros((0, 2), F), np.zeros(4, np.int64)], 13, mode="reflect"), np.zeros((0, 2), F))


@pytest.mark.parametrize("training", [0, 1])
def test_samples_of_one_channel_may_have_no_axis_for_it(training):
    x, one = np.array([0, 1, 2, 3], F), np.ones(1, F)
    found = run(
        "BatchNormalization",
        [x, one, one, one, 2 * one],
        15,
        1 + 2 * training,
        epsilon=0.0,
        training_mode=training,
    )
    y = found[0] if training else found
    np.testing.assert_allclose(
        y, 1 + ((x - 1.5) / np.sqrt(1.25) if training else (x - 1) / np.sqrt(2)), rtol=1e-6
    )  # f32


@pytest.mark.parametrize("op", ["BlackmanWindow", "HammingWindow", "HannWindow"])
def test_windows_of_no_and_one_element(op):
    same(run(op, [np.array(0)], 17), np.zeros(0, F))
    assert np.isnan(run(op, [np.array(1)], 17, periodic=0)).tolist() == [True]  # 0 / 0 in ONNX's formula
    with pytest.raises(tx.CallError, match="a window of -1 elements"):
        run(op, [np.array(-1)], 17)


@pytest.mark.parametrize("t", [I, J, F, D])
def test_thresholds_between_integers(t):
    same(
        run("Binarizer", [np.array([0, 1, 2, 3], t)], 1, domain="ai.onnx.ml", threshold=1.5),
        np.array([0, 0, 1, 1], t),
    )
