"""Sequences of no tensors, optionals, and values whose shapes a model does not declare. Right is
what ONNX's reference evaluator and ONNX Runtime 1.32 give, which agree here unless a comment says
otherwise.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402

TYPES = {"f4": 1, "u1": 2, "i4": 6, "i8": 7, "?": 9, "f2": 10, "f8": 11}
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def tensor(number=1, shape=None):
    return helper.make_tensor_type_proto(number, shape)


def sequence(number=1):
    return helper.make_sequence_type_proto(tensor(number))


def optional(kind):
    return helper.make_optional_type_proto(kind)


BOOL = tensor(9)


def load(nodes, inputs, outputs, opset=18):
    """A model whose inputs and outputs have these types, without shapes."""
    infos = [[helper.make_value_info(n, t) for n, t in given.items()] for given in (inputs, outputs)]
    graph = helper.make_graph([helper.make_node(op, i, o, **a) for op, i, o, a in nodes], "g", *infos)
    return tx.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))


@pytest.mark.parametrize("code", TYPES)
def test_sequences_of_no_tensors_have_a_type(code):
    t, x = TYPES[code], np.array([1, 0, 1], code)
    made = load(
        [
            ("SequenceEmpty", [], ["s"], {"dtype": t}),
            ("SequenceInsert", ["s", "x"], ["r"], {}),
            ("SequenceInsert", ["r", "x"], ["q"], {}),
            ("ConcatFromSequence", ["q"], ["y"], {"axis": 0}),
        ],
        {"x": tensor(t)},
        {"y": tensor(t)},
    )
    y = made(x)
    assert y.dtype == x.dtype and y.tolist() == [*x, *x]
    emptied = load(
        [
            ("SequenceConstruct", ["x"], ["s"], {}),
            ("SequenceErase", ["s"], ["e"], {}),
            ("SequenceInsert", ["e", "x"], ["y"], {}),
        ],
        {"x": tensor(t)},
        {"y": sequence(t)},
    )
    given = load(
        [("SequenceInsert", ["s", "x"], ["y"], {})], {"s": sequence(t), "x": tensor(t)}, {"y": sequence(t)}
    )
    for found in (emptied(x), given([], x), given((), x), given([x], x)[1:]):
        assert [v.dtype for v in found] == [x.dtype] and np.array_equal(found[0], x)
    count = load([("SequenceLength", ["s"], ["y"], {})], {"s": sequence(t)}, {"y": tensor(7)})
    assert (count([]), count([x, x])) == (0, 2)
    assert load([("Identity", ["s"], ["y"], {})], {"s": sequence(t)}, {"y": sequence(t)})([]) == []


def test_nothing_to_join_or_to_take_away():
    for op, attributes in (("ConcatFromSequence", {"axis": 0}), ("SequenceErase", {})):
        with pytest.raises(tx.CallError, match=f"{op}: there are no tensors in the sequence"):
            load(
                [(op, ["s"], ["y"], attributes)],
                {"s": sequence()},
                {"y": tensor() if op[0] == "C" else sequence()},
            )([])
    with pytest.raises(tx.CallError, match="dtype is string, which texpr does not have"):
        load([("SequenceEmpty", [], ["y"], {"dtype": TensorProto.STRING})], {}, {"y": sequence(8)})()
    split = load(
        [("SplitToSequence", ["x"], ["s"], {"axis": 0}), ("SequenceInsert", ["s", "x"], ["y"], {})],
        {"x": tensor(7)},
        {"y": sequence(7)},
    )
    assert [v.tolist() for v in split(np.zeros((0, 2), np.int64))] == [[]]


@pytest.mark.parametrize("opset", [15, 18])
@pytest.mark.parametrize(
    ("kind", "value"), [(tensor(), X), (tensor(7), np.array(3)), (sequence(), [X, X[:1]]), (sequence(7), [])]
)
def test_optionals(kind, value, opset):
    has = load([("OptionalHasElement", ["o"], ["y"], {})], {"o": optional(kind)}, {"y": BOOL}, opset)
    assert (has(value), has(None), has(o=None)) == (True, False, False)
    get = load([("OptionalGetElement", ["o"], ["y"], {})], {"o": optional(kind)}, {"y": kind}, opset)
    found = get(value)
    assert (
        len(found) == len(value) and all(map(np.array_equal, found, value))
        if isinstance(value, list)
        else np.array_equal(found, value)
    )
    with pytest.raises(tx.CallError, match="OptionalGetElement: the optional is absent"):
        get(None)


@pytest.mark.parametrize("opset", [15, 18])
def test_optionals_that_are_made(opset):
    for given, wanted in (({}, False), ({"x": tensor()}, True)):  # the reference says True of both
        nodes = [
            ("Optional", list(given), ["o"], {} if given else {"type": tensor()}),
            ("OptionalHasElement", ["o"], ["y"], {}),
        ]
        assert load(nodes, given, {"y": BOOL}, opset)(*([X] if given else [])) == wanted
    alike = load(
        [("Identity", ["o"], ["p"], {}), ("OptionalHasElement", ["p"], ["y"], {})],
        {"o": optional(tensor())},
        {"y": BOOL},
        16,
    )
    assert (alike(None), alike(X)) == (False, True)
    assert load([("OptionalHasElement", [], ["y"], {})], {}, {"y": BOOL})() == False  # noqa: E712  an array
    assert load([("OptionalHasElement", ["x"], ["y"], {})], {"x": tensor()}, {"y": BOOL})(X) == True  # noqa: E712


def test_shapes_that_are_not_declared():
    """Exporters leave them out; no shape is declared by that, and models stay as they were
    given.
    """
    made = load([("Relu", ["x"], ["y"], {})], {"x": tensor()}, {"y": tensor()})
    for x in (X - 2, X[0] - 2, np.float32(-1)):
        assert np.array_equal(made(x), np.maximum(x, 0))
    infos = [helper.make_value_info(n, tensor()) for n in "xy"]
    proto = helper.make_model(
        helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", infos[:1], infos[1:])
    )
    before = proto.SerializeToString()
    tx.onnx.load(proto)
    assert proto.SerializeToString() == before
