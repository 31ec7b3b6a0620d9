"""Operators as older versions define them. Values are those of the definitions, and of ONNX Runtime
1.32 for Scan, which runs no other operator of versions before 7; the models that ONNX has of
PyTorch in version 6 were compared beside, all 112.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402

from tests.onnx.models import model, run  # noqa: E402

F = np.float32
A = np.arange(6, dtype=F).reshape(1, 2, 3)


@pytest.mark.parametrize("version", [1, 6])
@pytest.mark.parametrize(
    ("op", "of"),
    [
        ("Add", np.add),
        ("Sub", np.subtract),
        ("Mul", np.multiply),
        ("Pow", np.power),
        ("Less", np.less),
        ("Equal", np.equal),
    ],
)
def test_dimensions_of_the_second_operand_stand_where_the_axis_says(op, of, version):
    pair, row = np.array([1, 2], F), np.array([1, 2, 3], F)
    if op == "Equal":
        pair, row = pair.astype(np.int64), row.astype(np.int64)
    a = A.astype(pair.dtype)
    assert np.array_equal(run(op, [a, pair], version, broadcast=1, axis=1), of(a, pair[:, None]))
    assert np.array_equal(run(op, [a, row], version, broadcast=1), of(a, row))
    assert np.array_equal(run(op, [a, row], version, broadcast=1, axis=-1), of(a, row))
    assert np.array_equal(run(op, [a, a], version), of(a, a))
    with pytest.raises(tx.CallError, match="`broadcast` is 0"):
        run(op, [a, row], version)


def test_truth_of_old_versions():
    a, b = np.array([[True, False], [True, True]]), np.array([True, False])
    assert run("And", [a, b], 6, broadcast=1, axis=0).tolist() == [[True, False], [False, False]]
    with pytest.raises(tx.CallError, match="has no place in"):
        run("Xor", [a, b[None]], 6, broadcast=1, axis=1)


@pytest.mark.parametrize(
    ("op", "arrays", "version", "attributes", "wanted"),
    [
        ("Cast", [np.array([1.5, -2], F)], 1, {"to": "INT32"}, np.array([1, -2], np.int32)),
        ("Concat", [A, A], 1, {}, np.concatenate([A, A], 1)),
        ("Tile", [A, np.array(2, F), np.array(1, F)], 1, {}, np.tile(A, (1, 2, 1))),
        ("Pad", [np.array([1, 2], F)], 1, {"paddings": [1, 2], "value": 7.0}, np.array([7, 1, 2, 7, 7], F)),
        ("Reshape", [A], 1, {"shape": [3, -1]}, A.reshape(3, 2)),
        ("Selu", [np.array([-1, 2], F)], 1, {}, np.array([1.0507 * 1.6732 * np.expm1(-1), 2 * 1.0507], F)),
        ("Upsample", [A[None]], 1, {"height_scale": 1.0, "width_scale": 2.0}, A[None].repeat(2, 3)),
        ("PRelu", [-A, np.array([2, 3], F)], 6, {}, -A * np.array([[2], [3]], F)),
        ("PRelu", [-A, np.array([2], F)], 1, {}, -2 * A),
        ("Dropout", [A], 6, {"is_test": 1}, A),
        (
            "BatchNormalization",
            [A, *(np.array(v, F) for v in ([1, 1], [0, 0], [1, 1], [4, 1]))],
            6,
            {"is_test": 1, "epsilon": 0.0},
            (A - 1) / np.array([[2], [1]], F),
        ),
        (
            "Gemm",
            [A[0], A[0].T.copy(), np.array([1, 2], F)],
            6,
            {"broadcast": 1},
            A[0] @ A[0].T + np.array([1, 2], F),
        ),
        ("Softmax", [A], 1, {}, (np.exp(A) / np.exp(A).sum()).astype(F)),
        ("Clip", [A], 1, {"min": 1.0, "max": 3.0, "consumed_inputs": [0]}, A.clip(1, 3)),
        ("ReduceSum", [A], 1, {"axes": [1], "keepdims": 0}, A.sum(1)),
    ],
)
def test_old_forms(op, arrays, version, attributes, wanted):
    found = run(op, arrays, version, **attributes)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(
        found, wanted, rtol=2e-6, atol=1e-6
    )  # f32, one rounding of exp and of the sum of six


def test_a_split_by_numbers_that_are_an_input():
    found = run("Split", [np.arange(3, dtype=F), np.array([1, 2], F)], 1, 2)
    assert [y.tolist() for y in found] == [[0], [1, 2]]


def test_masks_of_dropout_have_the_type_that_the_version_says():
    for version, t in ((7, F), (10, bool), (12, bool)):
        y, mask = run("Dropout", [A], version, 2)
        assert np.array_equal(y, A) and mask.dtype == t and mask.all()


def test_types_that_a_cast_does_not_know():
    with pytest.raises(tx.CallError, match="to is `NUMBER`"):
        run("Cast", [A], 1, to="NUMBER")


def scan_8(**attributes):
    """Running sums of each sequence of a batch, and their squares."""

    def vector(name, *shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Mul", ["t", "t"], ["y"])],
        "body",
        [vector("s"), vector("x")],
        [vector("t"), vector("y")],
    )
    node = helper.make_node(
        "Scan", ["n", "s0", "xs"], ["last", "ys"], body=body, num_scan_inputs=1, **attributes
    )
    inputs, outputs = (
        [("n", [2], TensorProto.INT64), ("s0", [2]), ("xs", [2, 3])],
        [("last", [2]), ("ys", [2, 3])],
    )
    return tx.onnx.load(model([node], inputs, outputs, opset=8))


def test_scans_of_a_batch():
    s0, xs = np.array([0, 1], F), np.array([[1, 2, 3], [4, 5, 6]], F)
    last, ys = scan_8()(np.array([3, 2]), s0, xs)
    assert last.tolist() == [6, 10] and ys.tolist() == [[1, 9, 36], [25, 100, 0]]
    last, ys = scan_8(directions=[1])(np.array([2, 3]), s0, xs)
    assert last.tolist() == [3, 16] and ys.tolist() == [[4, 9, 0], [49, 144, 256]]
    last, ys = scan_8()(np.array([0, 1]), s0, xs)
    assert last.tolist() == [0, 5] and ys.tolist() == [[0, 0, 0], [25, 0, 0]]
    with pytest.raises(tx.CallError, match=r"sequences of \[4, 1\] elements"):
        scan_8()(np.array([4, 1]), s0, xs)
