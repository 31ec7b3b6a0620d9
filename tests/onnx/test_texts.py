"""Texts: known when a program is made, and computed in Python."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402

F, TEXT, ML = np.float32, TensorProto.STRING, "ai.onnx.ml"
X = np.array([[1, 0, 0], [0, 3, 0], [0, 0, 2]], F)


def one(op, inputs, outputs, domain="", version=3, **attributes):
    """A model of one node; inputs and outputs are (name, element type)."""
    graph = helper.make_graph(
        [helper.make_node(op, [n for n, _ in inputs], [n for n, _ in outputs], domain=domain, **attributes)],
        "g",
        [helper.make_tensor_value_info(n, t, ["N"] if t == TEXT or t == 7 else ["N", 3]) for n, t in inputs],
        [helper.make_tensor_value_info(n, t, None) for n, t in outputs],
    )
    sets = [helper.make_opsetid("", 21), helper.make_opsetid(ML, version)]
    return helper.make_model(graph, opset_imports=sets)


def loaded(*about, **attributes):
    return tx.onnx.load(one(*about, **attributes))


@pytest.mark.parametrize(
    ("attributes", "given", "wanted"),
    [
        ({}, ["Monday", "", "\u00fcber"], ["Monday", "uber"]),
        ({"stopwords": ["monday"], "is_case_sensitive": 1}, ["Monday", "monday"], ["Monday"]),
        ({"stopwords": ["Monday"], "case_change_action": "LOWER"}, ["monday", "Tea Monday"], ["tea "]),
        (
            {"stopwords": ["monday"], "is_case_sensitive": 1, "case_change_action": "UPPER"},
            ["monday", "b"],
            ["B"],
        ),
        ({"stopwords": ["a"]}, ["a", "a"], [""]),
    ],
)
def test_normalized_texts(attributes, given, wanted):
    model = loaded("StringNormalizer", [("x", TEXT)], [("y", TEXT)], **attributes)
    found = model(np.array(given))
    assert found.dtype == object and [v.rstrip() for v in found] == [v.rstrip() for v in wanted]


def test_joined_and_split_texts():
    model = loaded("StringConcat", [("x", TEXT), ("z", TEXT)], [("y", TEXT)])
    assert model(np.array(["a", "b"]), np.array(["c", "d"])).tolist() == ["ac", "bd"]
    parts, counts = loaded("StringSplit", [("x", TEXT)], [("y", TEXT), ("n", 7)], delimiter=",")(["a,b", "c"])
    assert parts.tolist() == [["a", "b"], ["c", ""]] and counts.tolist() == [2, 1]


def test_labels_of_texts():
    model = loaded(
        "LabelEncoder", [("x", TEXT)], [("y", 7)], ML, keys_strings=["a", "b"], values_int64s=[3, 4]
    )
    assert model(np.array(["a", "q", "b"])).tolist() == [3, -1, 4] and model(["b"]).tolist() == [4]
    model = loaded(
        "LabelEncoder", [("x", 7)], [("y", TEXT)], ML, keys_int64s=[1, 2], values_strings=["u", "v"]
    )
    assert model(np.array([1, 2, 5])).tolist() == ["u", "v", "_Unused"]
    model = loaded("CategoryMapper", [("x", TEXT)], [("y", 7)], ML, 1, cats_strings=["a"], cats_int64s=[5])
    assert model(np.array(["a", "b"])).tolist() == [5, -1]
    model = loaded("CategoryMapper", [("x", 7)], [("y", TEXT)], ML, 1, cats_strings=["a"], cats_int64s=[5])
    assert model(np.array([5, 6])).tolist() == ["a", "_Unused"]
    model = loaded("OneHotEncoder", [("x", TEXT)], [("y", 1)], ML, 1, cats_strings=["a", "b"])
    assert model(np.array(["b", "q"])).tolist() == [[0, 1], [0, 0]]


def test_classifiers_whose_labels_are_texts():
    words = {"classlabels_strings": ["cat", "dog", "owl"]}
    model = loaded(
        "LinearClassifier",
        [("x", 1)],
        [("y", TEXT), ("z", 1)],
        ML,
        1,
        coefficients=np.eye(3).ravel().tolist(),
        intercepts=[0.0] * 3,
        **words,
    )
    for _ in range(2):
        found, scores = model(X[[2, 0, 1]])
        assert found.tolist() == ["owl", "cat", "dog"] and np.array_equal(scores, X[[2, 0, 1]])
    with pytest.raises(tx.CallError, match="must be known when the program is made"):
        tx.jit(lambda x: model(x)[1])(X)


def test_labels_and_categories_without_texts():
    machine = {"classlabels_strings": ["cat"], "coefficients": [1.0] * 3, "rho": [0.0]}
    model = loaded("SVMClassifier", [("x", 1)], [("y", TEXT), ("z", 1)], ML, 1, **machine)
    with pytest.raises(tx.CallError, match="a row has label 1, and classlabels_strings are 1"):
        model(X)
    model = loaded("OneHotEncoder", [("x", TEXT)], [("y", 1)], ML, 1, cats_int64s=[1, 2])
    with pytest.raises(tx.CallError, match="its input is texts, and it has no cats_strings"):
        model(np.array(["a", "b"]))


def test_texts_that_are_none(tmp_path):
    model = loaded("StringNormalizer", [("x", TEXT)], [("y", TEXT)])
    for bad in (np.ones(3), ["a", 1]):
        with pytest.raises(tx.CallError, match="input `x` has other elements than texts|dtype"):
            model(np.array(bad, object) if isinstance(bad, list) else bad)
    with pytest.raises(tx.onnx.UnsupportedOp, match="the example has texts, which no program has"):
        tx.onnx.save(model, tmp_path / "m.onnx", np.array(["a"]))
    wrong = one("Neg", [("x", 1)], [("y", 1)])
    wrong.graph.initializer.add(name="w", data_type=TEXT, dims=[2], string_data=[b"a"])
    with pytest.raises(tx.CheckpointError, match=r"`w` of string\[2\] needs 2 elements and has 1"):
        tx.onnx.load(wrong)
    wrong.graph.initializer[0].ClearField("string_data")
    wrong.graph.initializer[0].raw_data = b"abcd"
    with pytest.raises(tx.CheckpointError, match="the tensor `w` of texts has values in raw_data"):
        tx.onnx.load(wrong)


A = np.array([["b", "", "\u00fc"], ["a", "b", "c"]], object)
PLACES = np.array([[1, 0, 2], [0, 0, 1]])
MOVED = {
    "Concat": ((A, A), {"axis": 1}, lambda: np.concatenate((A, A), 1)),
    "Reshape": ((A, np.array([3, -1])), {}, lambda: A.reshape(3, 2)),
    "Flatten": ((A,), {"axis": 0}, lambda: A.reshape(1, 6)),
    "Transpose": ((A,), {}, lambda: A.T),
    "Unsqueeze": ((A, np.array([0])), {}, lambda: A[None]),
    "Squeeze": ((A[:1], np.array([0])), {}, lambda: A[0]),
    "Expand": ((A, np.array([2, 2, 3])), {}, lambda: np.broadcast_to(A, (2, 2, 3))),
    "Tile": ((A, np.array([1, 2])), {}, lambda: np.tile(A, (1, 2))),
    "Gather": ((A, np.array([2, 0])), {"axis": 1}, lambda: A[:, [2, 0]]),
    "GatherElements": ((A, PLACES), {"axis": 1}, lambda: np.take_along_axis(A, PLACES, 1)),
    "GatherND": ((A, np.array([[0, 2], [1, 1]])), {}, lambda: A[[0, 1], [2, 1]]),
    "Slice": ((A, np.array([1]), np.array([3]), np.array([1])), {}, lambda: A[:, 1:3]),
    "Compress": ((A, np.array([True, False, True])), {"axis": 1}, lambda: A[:, [0, 2]]),
    "Where": ((A == "b", A, A[::-1].copy()), {}, lambda: np.where(A == "b", A, A[::-1])),
    "Equal": ((A, np.array(["a", "b", "c"], object)), {}, lambda: A == np.array(["a", "b", "c"], object)),
}


def moving(op, given, outputs=1, **attributes):
    """A model of one node whose inputs are all inputs of the graph."""
    names = [f"x{k}" for k in range(len(given))]
    infos = [helper.make_tensor_value_info(n, kind_of(x), x.shape) for n, x in zip(names, given)]
    ends = [f"y{k}" for k in range(outputs)]
    nodes = [helper.make_node(op, names, ends, **attributes)]
    graph = helper.make_graph(
        nodes,
        "g",
        infos,
        [helper.make_tensor_value_info(n, 9 if op == "Equal" else TEXT, None) for n in ends],
    )
    return tx.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))


def kind_of(x):
    return TEXT if x.dtype == object else TensorProto.BOOL if x.dtype == bool else TensorProto.INT64


@pytest.mark.parametrize("op", MOVED)
def test_texts_are_moved_and_compared(op):
    given, attributes, wanted = MOVED[op]
    found = moving(op, given, **attributes)(*given)
    assert found.dtype == (bool if op == "Equal" else object) and np.array_equal(found, wanted())


def test_texts_are_split_and_may_be_none():
    found = moving("Split", [A], 3, axis=1)(A)
    assert [np.array_equal(y, A[:, k : k + 1]) for k, y in enumerate(found)] == [True] * 3
    none = np.zeros((0, 3), object)
    assert moving("Transpose", [none])(none).shape == (3, 0)


def test_operators_that_have_no_texts():
    with pytest.raises(tx.CallError, match="Pad: elements are texts"):
        moving("Pad", [A, np.array([0, 0, 0, 1])])(A, np.array([0, 0, 0, 1]))


def test_texts_have_a_limit():
    many = np.full(40_000, "a")
    row, column = (helper.make_tensor_value_info(n, TEXT, s) for n, s in (("x", [1, "N"]), ("z", ["M", 1])))
    nodes = [helper.make_node("StringConcat", ["x", "z"], ["y"])]
    graph = helper.make_graph(nodes, "g", [row, column], [helper.make_tensor_value_info("y", TEXT, None)])
    joined = tx.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
    with pytest.raises(tx.ResourceError, match=r"StringConcat: the result has 40000 \* 40000 elements"):
        joined(many[None], many[:, None])
    split = loaded("StringSplit", [("x", TEXT)], [("y", TEXT), ("n", 7)], delimiter=",")
    with pytest.raises(tx.ResourceError, match=r"StringSplit: the result has 40000 \* 40001 elements"):
        split(np.array([*many[1:], "," * 40_000], object))
