"""Models that are wrong on purpose: every one is an error of texpr, at once, and nothing large
is allocated.
"""

from __future__ import annotations

import os
import random
import sys

import numpy as np
import pytest

import texpr as tx

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from tests.onnx.models import model  # noqa: E402
from texpr.onnx.backend import cases, left_out  # noqa: E402

X = np.ones(3, np.float32)
node = helper.make_node


def one(made, **data):
    """A model of one node from x to y."""
    return model([made], [("x", ["n"])], [("y", ["m"])], data)


def changed(change):
    made = one(node("Add", ["x", "w"], ["y"]), w=X)
    change(made)
    return made


def wrong_field(made):
    made.graph.initializer[0].ClearField("raw_data")
    made.graph.initializer[0].int64_data.extend([1, 2, 3])


def functions(*bodies):
    """A model of functions F0, F1, ... of my.own, the last of which is called."""
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("my.own", 1)]
    made = [
        helper.make_function("my.own", f"F{k}", ["a"], ["b"], body, sets) for k, body in enumerate(bodies)
    ]
    return model(
        [node(f"F{len(bodies) - 1}", ["x"], ["y"], domain="my.own")],
        [("x", ["n"])],
        [("y", ["n"])],
        functions=made,
        domains=["my.own"],
    )


def call(k, a, b):
    return node(f"F{k}", [a], [b], domain="my.own")


def sparse(extent, place):
    made = one(node("Add", ["x", "w"], ["y"]))
    values, places = helper.make_tensor("w", 1, [1], [1.0]), helper.make_tensor("i", 7, [1], [place])
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [extent]))
    return made


def loop(inner, **data):
    """A loop of `n` rounds around h, whose body is the nodes of `inner` from h to h2, or
    nothing.
    """
    infos = [
        helper.make_tensor_value_info(n, t, s)
        for n, t, s in (("k", 7, []), ("c", 9, []), ("h", 1, [3]), ("h2", 1, [3]))
    ]
    body = helper.make_graph(inner, "body", infos[:3], [infos[1], infos[3] if inner else infos[2]])
    return node("Loop", ["n", "", "h"], ["h2"], body=body)


def nested_loops():
    made = loop([loop([loop([])])])
    made.input[2], made.output[0] = "x", "y"
    return one(made, n=np.int64(9000))


@pytest.mark.parametrize(
    ("made", "kind", "words"),
    [
        (lambda: functions([call(0, "a", "b")]), tx.CheckpointError, "breaks a rule of ONNX: Cycle detected"),
        (nested_loops, tx.ResourceError, "more than 20,000 nodes of the model run"),
        (
            lambda: functions(*[[node("Neg", ["a"], ["b"])]], *[[call(k, "a", "b")] for k in range(60)]),
            tx.ResourceError,
            "run deeper than 48",
        ),
        (
            lambda: functions([node("NoSuch", ["a"], ["b"])]),
            tx.onnx.UnsupportedOp,
            "ai.onnx.NoSuch, version 21: 1 node",
        ),
        (
            lambda: one(node("ConstantOfShape", ["s"], ["y"]), s=np.array([2**20, 2**20])),
            tx.ResourceError,
            r"1048576 \* 1048576 elements",
        ),
        (
            lambda: one(node("Expand", ["x", "s"], ["y"]), s=np.array([2**42, 2**20, 3])),
            tx.ResourceError,
            "the limit is 281,474,976,710,656",
        ),
        (
            lambda: one(node("Range", ["a", "b", "c"], ["y"]), a=0, b=2**50, c=1),
            tx.ResourceError,
            "Range: the result has 1125899906842624",
        ),
        (
            lambda: one(node("Range", ["a", "b", "c"], ["y"]), a=0, b=5, c=0),
            tx.CallError,
            "Range: from 0 to 5 by 0",
        ),
        (
            lambda: one(node("Range", ["a", "b", "c"], ["y"]), a=0.0, b=np.nan, c=1.0),
            tx.CallError,
            "Range: from 0.0 to nan",
        ),
        (
            lambda: one(node("Resize", ["x", "", "s"], ["y"]), s=np.array([np.nan], "f4")),
            tx.CallError,
            "the result has dimensions",
        ),
        (lambda: one(node("Softmax", ["x"], ["y"], axis=5)), tx.CallError, r"'axis' must be in \[-1 , 0\]"),
        (
            lambda: one(node("LayerNormalization", ["x", "w"], ["y"], axis=2**31), w=X),
            tx.CallError,
            "axis is 2147483648",
        ),
        (lambda: one(node("Split", ["x"], ["y"], num_outputs=2)), tx.CallError, "1 parts along axis 0"),
        (
            lambda: one(node("Split", ["x", "s"], ["y"]), s=np.array([7])),
            tx.CallError,
            r"parts of \[7\] elements of an axis of 3",
        ),
        (
            lambda: one(node("Add", ["x", "w"], ["y"]), w=np.ones(3, int)),
            tx.CallError,
            r"input 1 is tensor\(int64\), and another one",
        ),
        (
            lambda: one(node("Pad", ["x", "p"], ["y"], mode="nonsense"), p=np.array([1, 1])),
            tx.CallError,
            "mode is `nonsense`; constant",
        ),
        (
            lambda: changed(lambda m: setattr(m.graph.initializer[0], "data_type", 99)),
            tx.onnx.UnsupportedOp,
            "element type 99",
        ),
        (lambda: changed(wrong_field), tx.CheckpointError, r"`w` of f32\[3\] needs 3 elements and has 0"),
        (
            lambda: changed(lambda m: m.graph.initializer.append(m.graph.initializer[0])),
            tx.CheckpointError,
            "initializer `w` is defined twice",
        ),
        (
            lambda: changed(lambda m: m.graph.input.append(m.graph.input[0])),
            tx.CheckpointError,
            "the input `x` is defined twice",
        ),
        (
            lambda: changed(lambda m: m.opset_import.append(helper.make_opsetid("ai.onnx", 9))),
            tx.CheckpointError,
            "operator set `` is defined",
        ),
        (
            lambda: changed(lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 0)),
            tx.CheckpointError,
            "neither a tensor nor",
        ),
        (
            lambda: sparse(2**42, 0),
            tx.ResourceError,
            "the sparse tensor `w`: the result has 4398046511104 elements",
        ),
        (lambda: sparse(3, 5), tx.CheckpointError, "breaks a rule of ONNX: Sparse tensor"),
        (
            lambda: changed(lambda m: m.graph.initializer[0].int32_data.append(1)),
            tx.CheckpointError,
            "has values in raw_data and in int32_data",
        ),
        (
            lambda: changed(lambda m: setattr(m.graph.initializer[0].segment, "end", 3)),
            tx.CheckpointError,
            "is a part of one that comes in several",
        ),
        (
            lambda: one(node("Scan", ["x"], ["y"], num_scan_inputs=0, body=loop([]).attribute[0].g)),
            tx.CallError,
            "num_scan_inputs is 0",
        ),
    ],
)
def test_hostile_models(made, kind, words):
    with pytest.raises(kind, match=words):
        tx.onnx.load(made())(X)


def test_names_may_be_anything():
    for name in (
        "0.weight",
        "a b",
        "é",
        "<script>",
        "%x",
        "forward",
        "_proto",
        "malloc",
        "x" * 10_000,
        "for",
        'a"b\n',
    ):
        loaded = tx.onnx.load(one(node("Add", ["x", name], ["y"]), **{name: X}))
        with tx.options(verify=True):
            assert np.array_equal(loaded(X), 2 * X) and list(loaded.state_dict()) == [name]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_file_that_never_ends_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "m.onnx")
    with pytest.raises(tx.CheckpointError, match="is not a file"):
        tx.onnx.load(tmp_path / "m.onnx")


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(tx.onnx.MissingExtra) as error:
        tx.onnx.load("model.onnx")
    assert str(error.value) == 'error[import]: a model in ONNX needs onnx\n  help: pip install "texpr[onnx]"'
    assert isinstance(error.value, ImportError)


def test_values_that_are_not_known():
    made = model(
        [node("Reshape", ["x", "s"], ["y"])],
        [("x", ["n"]), ("s", ["k"], TensorProto.INT64)],
        [("y", list("ab"))],
    )
    loaded = tx.onnx.load(made)
    with pytest.raises(tx.CallError) as error:
        tx.jit(lambda x, s: loaded(x, s))(X, np.array([3, 1]))
    assert (
        str(error.value)
        == """\
error[value]: input 1 of Reshape must be known when the program is made, and it is computed from `s`
    in the layer OnnxModel(x: f32[n], s: i64[k] -> y)
  help: call the model on arrays, outside of programs that are captured"""
    )


def mutated(case, r: random.Random):
    """A node test with an attribute or an input that it should not have."""
    made = type(case.model)()
    made.CopyFrom(case.model)
    inputs = [np.array(numpy_helper.to_array(v) if hasattr(v, "dims") else v) for v in case.data_sets[0][0]]
    values = (-1, 0, 3, 7, -9, 1 << 31, -(1 << 40), 1 << 62)
    attributes = [a for n in made.graph.node for a in n.attribute]
    if attributes and r.random() < 0.6:
        a = r.choice(attributes)
        if a.type == a.INTS and a.ints:
            a.ints[r.randrange(len(a.ints))] = r.choice(values)
        elif a.type == a.STRING:
            a.s = b"nonsense"
        else:
            a.i, a.f = r.choice(values), r.choice((float("nan"), float("inf"), -1.0))
    elif inputs:
        k = r.randrange(len(inputs))
        x = inputs[k]
        if x.dtype == np.int64 and x.size:
            x.reshape(-1)[r.randrange(x.size)] = r.choice(values)
        inputs[k] = r.choice((x, x[None], x[:0] if x.ndim else x, x.reshape(-1)[:1]))
    for v, x in zip(made.graph.input, inputs):
        v.type.CopyFrom(
            helper.make_tensor_type_proto(
                v.type.tensor_type.elem_type, [f"{v.name}{k}" for k in range(x.ndim)]
            )
        )
    return made, inputs


def test_node_tests_that_were_tampered_with():
    kept = [c for c in cases() if not left_out(c) and c.data_sets and len(c.model.graph.node) == 1]
    refused = 0
    for k, case in enumerate(kept[3::80]):
        made, inputs = mutated(case, random.Random(k))
        try:
            tx.onnx.load(made)(*inputs)
        except tx.Error:
            refused += 1
    assert refused >= 4
