"""Models that were read and are saved again: their nodes stay what they were, in the version that is
written, and another runtime computes the same.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

onnx = pytest.importorskip("onnx")

from onnx import helper  # noqa: E402

from texpr.onnx.kept_nodes import ALIKE  # noqa: E402
from texpr.tools.bench.onnx_models import Tried, folders, nodes  # noqa: E402
from texpr.tools.bench.onnx_saving import find_runtime  # noqa: E402

RUN = find_runtime()[1]
F = np.float32
RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 4, 5)).astype(F)


def read(op, arrays, version, outputs=1, constants=(), **attributes):
    """A model of one node, and its inputs; `constants` are places of initializers of integers."""
    names = [f"x{k}" for k in range(len(arrays))]
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for k, (n, a) in enumerate(zip(names, arrays))
        if k not in constants
    ]
    data = [onnx.numpy_helper.from_array(arrays[k], names[k]) for k in constants]
    results = [f"y{k}" for k in range(outputs)]
    outs = [helper.make_tensor_value_info(n, 1, None) for n in results]
    graph = helper.make_graph([helper.make_node(op, names, results, **attributes)], "g", infos, outs, data)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
    return tx.onnx.load(made), [a for k, a in enumerate(arrays) if k not in constants]


def again(tmp_path, model, given, **options):
    """Operators after it was saved; another runtime gives what it gives."""
    path = tmp_path / "again.onnx"
    tx.onnx.save(model, path, tuple(given), inputs=list(model.inputs), **options)
    proto = onnx.load(path)
    wanted = model(*given)
    for y, w in zip(
        RUN(path, dict(zip(model.inputs, given))), wanted if isinstance(wanted, tuple) else (wanted,)
    ):
        assert y.dtype == w.dtype
        np.testing.assert_allclose(y, w, rtol=1e-5, atol=1e-6)  # f32
    return [n.op_type for n in proto.graph.node if n.op_type != "Constant"]


CASES = [
    ("Clip", [X], 6, {"min": -0.5, "max": 0.5}, ["Clip"]),
    ("Clip", [X], 6, {"max": 0.5}, ["Clip"]),
    ("Pad", [X], 2, {"pads": [0, 0, 1, 0, 0, 0, 2, 1], "value": 3.0}, ["Pad"]),
    ("Pad", [X], 2, {"pads": [0, 0, 1, 1, 0, 0, 1, 1], "mode": "reflect"}, ["Pad"]),
    ("Slice", [X], 1, {"starts": [1, -3], "ends": [3, 100], "axes": [1, 3]}, ["Slice"]),
    ("Slice", [X], 1, {"starts": [1, 0], "ends": [2, 2]}, ["Slice"]),
    ("ReduceMean", [X], 1, {"axes": [1, -1], "keepdims": 0}, ["ReduceMean"]),
    ("ReduceSum", [X], 11, {"keepdims": 1}, ["ReduceSum"]),
    ("Unsqueeze", [X], 1, {"axes": [0, 5]}, ["Unsqueeze"]),
    ("Squeeze", [X[:1]], 1, {}, ["Squeeze"]),
    ("Squeeze", [X[:1]], 11, {"axes": [0]}, ["Squeeze"]),
    ("Add", [X, X[0, :, 0, 0]], 6, {"broadcast": 1, "axis": 1}, ["Reshape", "Add"]),
    ("Mul", [X, X[0, 0, 0]], 6, {"broadcast": 1}, ["Mul"]),
    ("PRelu", [X, X[0, :, 0, 0]], 6, {}, ["Reshape", "PRelu"]),
    ("PRelu", [X, X[0, 0, 0, :1]], 6, {}, ["PRelu"]),
    ("Gemm", [X[0, 0], X[0, 0].T.copy(), X[0, 0, 0, :4]], 6, {"broadcast": 1, "alpha": 0.5}, ["Gemm"]),
    ("Softmax", [X], 11, {"axis": 3}, ["Softmax"]),
    ("Softmax", [X], 11, {"axis": 1}, ["Reshape", "Softmax", "Reshape"]),
    ("LeakyRelu", [X], 1, {"alpha": 0.1, "consumed_inputs": [0]}, ["LeakyRelu"]),
    ("MaxPool", [X], 12, {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER"}, ["MaxPool"]),
    ("Elu", [X], 6, {"alpha": 2.0}, ["Elu"]),
    ("Einsum", [X, X], 12, {"equation": "abij,abkj->abik"}, ["Einsum"]),
]


@pytest.mark.parametrize(("op", "arrays", "version", "attributes", "wanted"), CASES)
def test_a_node_stays_one(tmp_path, op, arrays, version, attributes, wanted):
    model, given = read(op, arrays, version, **attributes)
    assert again(tmp_path, model, given) == wanted


def test_several_outputs(tmp_path):
    for version, attributes in (
        (2, {"axis": 3, "split": [2, 3]}),
        (11, {"axis": 3}),
        (18, {"axis": 3, "num_outputs": 2}),
    ):
        x = X if "split" in attributes or version == 18 else X[..., :4].copy()
        model, given = read("Split", [x], version, 2, **attributes)
        assert again(tmp_path, model, given) == ["Split"]
    model, given = read("TopK", [X, np.array([2])], 11, 2, constants=(1,))
    assert again(tmp_path, model, given) == ["TopK"]


def test_dimensions_keep_names(tmp_path):
    """Inputs that decide shapes depend on them, so such nodes are written by what they compute."""
    model, given = read("Expand", [X[:, :1], np.array([2, 3, 4, 5])], 13, constants=(1,))
    assert again(tmp_path, model, given) == ["Expand"]
    graph = helper.make_graph(
        [helper.make_node("LeakyRelu", ["x0"], ["y0"])],
        "g",
        [helper.make_tensor_value_info("x0", 1, ["n", 3, 4, 5])],
        [helper.make_tensor_value_info("y0", 1, None)],
    )
    model = tx.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)]))
    assert again(tmp_path, model, [X], dims={"x0": {0: "batch"}}) == ["LeakyRelu"]
    y = RUN(tmp_path / "again.onnx", {"x0": np.concatenate([X, X])})[0]
    assert np.array_equal(y[:2], y[2:])


def test_parameters_that_were_trained_are_saved(tmp_path):
    weights = RNG.standard_normal((3, 5)).astype(F)
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w"], ["h"], transB=1), helper.make_node("Selu", ["h"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", 1, [4, 5])],
        [helper.make_tensor_value_info("y", 1, [4, 3])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = tx.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)]))
    x = X[0, 0]
    dict(model.named_parameters())["w"].data = 2 * weights
    assert again(tmp_path, model, [x]) == ["Gemm", "Selu"]
    saved = tx.onnx.load(tmp_path / "again.onnx").state_dict()
    assert np.array_equal(saved["w"], 2 * weights)


def test_a_model_inside_of_a_function(tmp_path):
    model, _ = read("Elu", [X], 6, alpha=2.0)
    path = tmp_path / "inside.onnx"
    tx.onnx.save(lambda x: model(x + 1) * 2, path, (X,), inputs=["x"])
    assert [n.op_type for n in onnx.load(path).graph.node if n.op_type != "Constant"] == ["Add", "Elu", "Mul"]
    np.testing.assert_allclose(RUN(path, {"x": X})[0], 2 * model(X + 1), rtol=1e-5)


def test_versions_of_the_table_are_versions_of_operators():
    for op, version in ALIKE.items():
        schema = onnx.defs.get_schema(op, max(version, onnx.defs.get_schema(op).since_version))
        assert version <= 21 and schema.since_version >= version, op


SAMPLE = [f for part in ("pytorch-converted", "pytorch-operator") for f in folders(part)][::13]


@pytest.mark.parametrize("folder", SAMPLE, ids=lambda f: f.name)
def test_models_of_the_package_onnx(tmp_path, folder):
    """All of them: python -m texpr bench onnx --models."""
    tried = Tried(folder)
    tried.run()
    assert tried.again(tmp_path / "again.onnx") <= max(1.1 * nodes(tried.proto), nodes(tried.proto) + 1)


def test_values_that_decide_the_program_are_not_saved(tmp_path):
    """Also where the model was called on arrays before, and knows them."""
    model, given = read("Expand", [X[:, :1], np.array([2, 3, 4, 5])], 13)
    assert model(*given).shape == (2, 3, 4, 5)
    with pytest.raises(tx.CallError, match="input 1 of Expand must be known"):
        tx.onnx.save(model, tmp_path / "again.onnx", tuple(given), inputs=["x0", "x1"])
    assert not list(tmp_path.iterdir())


def test_gradients_are_not_saved(tmp_path):
    folder = next(f for f in folders("simple") if f.name == "test_gradient_of_add_and_mul")
    tried = Tried(folder)
    with pytest.raises(tx.onnx.UnsupportedOp) as error:
        tried.again(tmp_path / "again.onnx")
    assert "a gradient inside of the program" in str(error.value)
