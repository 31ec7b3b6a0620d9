"""Recurrences that are read and saved again are the same nodes, and mean the same to ONNX's
reference.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

onnx = pytest.importorskip("onnx")

from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

F, RNG = np.float32, np.random.default_rng(0)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
LENGTH, BATCH, INSIDE, HIDDEN = 5, 3, 4, 2


def proto(op: str, names: str, **attributes) -> onnx.ModelProto:
    """A model of one node with weights, and of the further inputs: B, steps, h0, c0, p."""
    d = 2 if attributes.get("direction") == "bidirectional" else 1
    gates = GATES[op] * HIDDEN
    data = {"W": (d, gates, INSIDE), "R": (d, gates, HIDDEN), "B": (d, 2 * gates), "p": (d, 3 * HIDDEN)}
    places = ["x", "W", "R", "B", "steps", "h0", "c0", "p"]
    used = [n for n in places if n in ("x", "W", "R") or n in names.split()]
    given = [n if n in used else "" for n in places[: places.index(used[-1]) + 1]]
    results = ["y", "h", "c"][: 3 if op == "LSTM" else 2]
    states = (d, BATCH, HIDDEN)
    infos = {"x": (1, [LENGTH, BATCH, INSIDE]), "steps": (6, [BATCH]), "h0": (1, states), "c0": (1, states)}
    graph = helper.make_graph(
        [helper.make_node(op, given, results, hidden_size=HIDDEN, **attributes)],
        "g",
        [helper.make_tensor_value_info(n, *infos[n]) for n in used if n in infos],
        [helper.make_tensor_value_info(n, 1, None) for n in results],
        [numpy_helper.from_array(RNG.standard_normal(data[n]).astype(F) / 2, n) for n in used if n in data],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


def inputs(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    values = {n: RNG.standard_normal((LENGTH, BATCH, INSIDE)).astype(F) for n in ("x",)}
    values["steps"] = np.array([5, 2, 0], np.int32)
    return {
        v.name: values[v.name]
        if v.name in values
        else RNG.standard_normal([d.dim_value for d in v.type.tensor_type.shape.dim]).astype(F)
        for v in model.graph.input
    }


CASES = [
    ("RNN", "", {}),
    ("RNN", "B steps h0", {"direction": "reverse", "activations": ["Relu"]}),
    ("RNN", "B", {"direction": "bidirectional", "activations": ["Tanh", "Elu"], "activation_alpha": [0.5]}),
    ("GRU", "B", {"linear_before_reset": 1}),
    ("GRU", "B steps h0", {"direction": "bidirectional"}),
    ("GRU", "", {"clip": 0.25, "direction": "reverse"}),
    ("LSTM", "B h0 c0", {}),
    ("LSTM", "steps p", {"direction": "reverse"}),
    ("LSTM", "B steps h0 c0 p", {"direction": "bidirectional"}),
    ("LSTM", "B", {"input_forget": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("op", "names", "attributes"), CASES)
def test_the_same_node_is_saved(op, names, attributes, tmp_path):
    made = proto(op, names, **attributes)
    given = inputs(made)
    loaded = tx.onnx.load(made)
    found = loaded(**given)
    tx.onnx.save(loaded, tmp_path / "again.onnx", tuple(given.values()), inputs=list(given))
    saved = onnx.load(tmp_path / "again.onnx")
    assert [n.op_type for n in saved.graph.node] == [op]
    again = tx.onnx.load(saved)(**given)
    for y, z in zip(found, again, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-6)  # kernels may be fused in other ways


@pytest.mark.parametrize("version", [3, 7, 14])
def test_one_output_of_several_sizes(version, tmp_path):
    """Two nodes of other sizes, of which only the last state is asked for, in versions old and new."""
    attributes = {"output_sequence": 0} if version < 7 else {}
    weights = [(3 * n, k) for n, m in ((2, 4), (5, 4)) for k in (m, n)]
    nodes = [
        helper.make_node("GRU", ["x", f"W{n}", f"R{n}"], ["", f"y{n}"], hidden_size=n, **attributes)
        for n in (2, 5)
    ]
    names = ("W2", "R2", "W5", "R5")
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [LENGTH, BATCH, INSIDE])],
        [helper.make_tensor_value_info(f"y{n}", 1, None) for n in (2, 5)],
        [
            numpy_helper.from_array(RNG.standard_normal((1, *s)).astype(F) / 2, n)
            for n, s in zip(names, weights)
        ],
    )
    loaded = tx.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)]))
    x = RNG.standard_normal((LENGTH, BATCH, INSIDE)).astype(F)
    tx.onnx.save(loaded, tmp_path / "again.onnx", (x,), inputs=["x"])
    saved = onnx.load(tmp_path / "again.onnx")
    assert [(n.op_type, n.output[0], n.attribute[0].i) for n in saved.graph.node] == [
        ("GRU", "", 2),
        ("GRU", "", 5),
    ]
    wanted = ReferenceEvaluator(saved).run(None, {"x": x})
    for y, w in zip(loaded(x), wanted, strict=True):
        np.testing.assert_allclose(y, w, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("op", "names"), [("RNN", "B h0"), ("GRU", "B h0"), ("LSTM", "B h0 c0 p")])
def test_what_is_saved_means_the_same(op, names, tmp_path):
    """For ONNX's reference, which knows one direction and no lengths."""
    made = proto(op, names)
    given = inputs(made)
    loaded = tx.onnx.load(made)
    tx.onnx.save(loaded, tmp_path / "again.onnx", tuple(given.values()), inputs=list(given))
    wanted = ReferenceEvaluator(str(tmp_path / "again.onnx")).run(None, given)
    for y, w in zip(loaded(**given), wanted, strict=True):
        np.testing.assert_allclose(y, w, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_ends_of_sequences(direction):
    """Beside each sequence alone."""
    made = proto("GRU", "B steps", direction=direction)
    weights = {t.name: numpy_helper.to_array(t) for t in made.graph.initializer}
    alone = proto("GRU", "B", direction=direction)
    for t in alone.graph.initializer:
        t.CopyFrom(numpy_helper.from_array(weights[t.name], t.name))
    alone.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    alone.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 1
    given, one = inputs(made), tx.onnx.load(alone)
    y, h = tx.onnx.load(made)(**given)
    for k, n in enumerate(given["steps"]):
        assert not y[n:, :, k].any()
        if n:
            wanted = one(given["x"][:n, k : k + 1])
            np.testing.assert_allclose(y[:n, :, k], wanted[0][:, :, 0], rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(h[:, k], wanted[1][:, 0], rtol=1e-5, atol=1e-6)
        else:
            assert not h[:, k].any()
