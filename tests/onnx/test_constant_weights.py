"""Weights in `Constant` nodes and in branches are parameters; numbers of formulas are not."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from tests.onnx.models import model  # noqa: E402

F = np.float32
RNG = np.random.default_rng(0)


def constant(name: str, values: object) -> onnx.NodeProto:
    return helper.make_node(
        "Constant", [], [name], value=numpy_helper.from_array(np.asarray(values, F), name)
    )


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(F)


def loaded(nodes, inputs, outputs, **options) -> tx.onnx.OnnxModel:
    return tx.onnx.load(model(nodes, inputs, outputs), **options)


NODE = helper.make_node


def paddle() -> list[onnx.NodeProto]:
    """A convolution, statistics, learned scale and shift, a hard sigmoid, a linear layer: no
    initializers.
    """
    return [
        constant("mean", [1.0, 2.0, 3.0]),  # of the input: no layer stands before it
        NODE("Sub", ["x", "mean"], ["centred"]),
        NODE("Transpose", ["centred"], ["first"], perm=[0, 3, 1, 2]),
        constant("conv.w", floats(4, 3, 3, 3)),
        NODE("Conv", ["first", "conv.w"], ["c"], pads=[1] * 4),
        *(
            constant(f"norm.{n}", v)
            for n, v in {
                "w": floats(4),
                "b": floats(4),
                "mean": floats(4),
                "variance": abs(floats(4)) + 1,
            }.items()
        ),
        NODE("BatchNormalization", ["c", "norm.w", "norm.b", "norm.mean", "norm.variance"], ["n"]),
        constant("scale", [1.5]),
        constant("shift", [-0.25]),
        NODE("Mul", ["scale", "n"], ["p"]),
        NODE("Add", ["p", "shift"], ["q"]),
        constant("three", [3.0]),
        constant("six", [6.0]),
        constant("zero", 0.0),
        constant("end", 6.0),
        NODE("Add", ["q", "three"], ["r"]),
        NODE("Clip", ["r", "zero", "end"], ["s"]),
        NODE("Mul", ["q", "s"], ["t"]),
        NODE("Div", ["t", "six"], ["u"]),
        NODE("GlobalAveragePool", ["u"], ["v"]),
        NODE("Flatten", ["v"], ["w"]),
        constant("fc.w", floats(4, 2)),
        constant("fc.b", floats(2)),
        NODE("MatMul", ["w", "fc.w"], ["z"]),
        NODE("Add", ["z", "fc.b"], ["y"]),
    ]


def test_constants_that_are_used_like_weights_are_parameters():
    nodes = paddle()
    given = [("x", ["n", 8, 8, 3])], [("y", ["n", 2])]
    proto = model(nodes, *given)
    before = proto.SerializeToString()
    found, fixed = tx.onnx.load(proto), tx.onnx.load(proto, constants="fixed")
    assert proto.SerializeToString() == before
    assert [n for n, _ in found.named_parameters()] == [
        "conv.w", "norm.w", "norm.b", "scale", "shift", "fc.w", "fc.b"
    ]  # fmt: skip
    assert [n for n, _ in found.named_buffers()] == ["norm.mean", "norm.variance"]
    assert not fixed.state_dict()
    x = floats(2, 8, 8, 3)
    np.testing.assert_allclose(found(x), fixed(x), rtol=1e-5, atol=1e-6)
    values = {n.output[0]: numpy_helper.to_array(n.attribute[0].t) for n in nodes if n.op_type == "Constant"}
    for name, value in found.state_dict().items():
        np.testing.assert_array_equal(value, values[name])


def test_they_are_trained_and_saved(tmp_path):
    found = loaded(paddle(), [("x", ["n", 8, 8, 3])], [("y", ["n", 2])])
    before = {n: np.array(v) for n, v in found.state_dict().items()}
    x, y = floats(8, 8, 8, 3), floats(8, 2)
    trainer = nn.Trainer(found, nn.MSELoss(), nn.optim.SGD(found.parameters(), lr=1e-3))
    losses = trainer.fit(x, y, epochs=3, batch_size=8, progress=False)["loss"]
    assert losses[-1] < losses[0]
    changed = {n for n, v in found.state_dict().items() if not np.array_equal(v, before[n])}
    assert changed == {n for n, _ in found.named_parameters()}
    tx.onnx.save(found.eval(), tmp_path / "tuned.onnx", x[:1], dims={"x": {0: "n"}}, inputs=["x"])
    again = tx.onnx.load(tmp_path / "tuned.onnx")
    assert list(again.state_dict()) == list(found.state_dict())
    np.testing.assert_allclose(again(x), found(x), rtol=1e-4, atol=1e-5)


def branch(name: str, weight: np.ndarray, *more: onnx.NodeProto, initializer: bool = False):
    """A graph `y = x @ w`, whose weight has the same name in every branch."""
    data = [numpy_helper.from_array(weight, "w")] if initializer else []
    nodes = [] if initializer else [constant("w", weight)]
    out = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    return helper.make_graph([*nodes, *more, NODE("MatMul", ["x", "w"], [name])], name, [], [out], data)


BOOL = TensorProto.BOOL


@pytest.mark.parametrize("initializer", [False, True])
def test_weights_in_branches(initializer):
    a, b = floats(3, 2), floats(3, 2)
    node = NODE(
        "If", ["c"], ["y"],
        then_branch=branch("p", a, initializer=initializer), else_branch=branch("q", b),
    )  # fmt: skip
    found = loaded([node], [("c", [], BOOL), ("x", ["n", 3])], [("y", ["n", 2])])
    state = found.state_dict()
    assert set(state) == {"y.then_branch.w", "y.else_branch.w"}
    np.testing.assert_array_equal(state["y.then_branch.w"], a)
    np.testing.assert_array_equal(state["y.else_branch.w"], b)
    x = floats(4, 3)
    for c, w in ((True, a), (False, b)):
        np.testing.assert_allclose(found(np.array(c), x), x @ w, rtol=1e-5, atol=1e-6)


def test_a_name_that_is_alone_stays_as_it_is():
    """Also deep in branches, behind operators that move elements, and where a branch gives the
    weight itself.
    """
    a, tail = floats(4, 3), helper.make_tensor_value_info("t", TensorProto.FLOAT, None)
    inner = helper.make_graph(
        [constant("deep", a), NODE("Slice", ["deep", "from", "to"], ["t"])], "inner", [], [tail]
    )
    given = helper.make_graph(
        [constant("plain", floats(3, 2))],
        "given",
        [],
        [helper.make_tensor_value_info("plain", TensorProto.FLOAT, None)],
    )
    outer = helper.make_graph(
        [
            NODE("If", ["c"], ["part"], then_branch=inner, else_branch=inner_of(floats(2, 3))),
            NODE("Transpose", ["part"], ["turned"], perm=[1, 0]),
            NODE("MatMul", ["x", "turned"], ["o"]),
        ],
        "outer",
        [],
        [helper.make_tensor_value_info("o", TensorProto.FLOAT, None)],
    )
    nodes = [
        NODE("Constant", [], ["from"], value_ints=[0]),
        NODE("Constant", [], ["to"], value_ints=[2]),
        NODE("If", ["c"], ["u"], then_branch=given, else_branch=given_twin(floats(3, 2))),
        NODE("If", ["c"], ["h"], then_branch=outer, else_branch=branch("e", floats(3, 2))),
        NODE("MatMul", ["x", "u"], ["i"]),
        NODE("Add", ["h", "i"], ["y"]),
    ]
    found = loaded(nodes, [("c", [], BOOL), ("x", ["n", 3])], [("y", ["n", 2])])
    state = found.state_dict()
    assert set(state) == {"deep", "other", "plain", "twin", "w"}
    x = floats(5, 3)
    np.testing.assert_allclose(
        found(np.array(True), x), x @ a[:2].T + x @ state["plain"], rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        found(np.array(False), x), x @ state["w"] + x @ state["twin"], rtol=1e-5, atol=1e-6
    )


def inner_of(values: np.ndarray) -> onnx.GraphProto:
    out = helper.make_tensor_value_info("other", TensorProto.FLOAT, None)
    return helper.make_graph([constant("other", values)], "other", [], [out])


def given_twin(values: np.ndarray) -> onnx.GraphProto:
    out = helper.make_tensor_value_info("twin", TensorProto.FLOAT, None)
    return helper.make_graph([constant("twin", values)], "twin", [], [out])


def test_a_name_of_the_main_graph_keeps_its_meaning():
    """A branch has a weight that is called as a later value outside; its uses are renamed, in
    branches of the branch too.
    """
    a, b = floats(3, 3), floats(3, 3)
    other = helper.make_graph(
        [NODE("Neg", ["x"], ["o"])], "other", [], [helper.make_tensor_value_info("o", 1, None)]
    )
    shown = helper.make_graph(
        [NODE("MatMul", ["x", "w"], ["m"])], "shown", [], [helper.make_tensor_value_info("m", 1, None)]
    )
    inside = [NODE("If", ["d"], ["k"], then_branch=shown, else_branch=other)]
    out = helper.make_tensor_value_info("p", 1, None)
    there = helper.make_graph(
        [constant("w", a), *inside, NODE("MatMul", ["k", "w"], ["p"])], "there", [], [out]
    )
    nodes = [
        NODE("If", ["c"], ["h"], then_branch=there, else_branch=branch("q", b)),
        NODE("Mul", ["h", "h"], ["w"]),
        NODE("Add", ["w", "x"], ["y"]),
    ]
    proto = model(nodes, [("c", [], BOOL), ("d", [], BOOL), ("x", [3, 3])], [("y", [3, 3])])
    found = tx.onnx.load(proto)
    assert set(found.state_dict()) == {"h.then_branch.w", "h.else_branch.w"}
    x = floats(3, 3)
    for c, d, h in ((1, 1, x @ a @ a), (1, 0, -x @ a), (0, 0, x @ b)):
        np.testing.assert_allclose(
            found(np.array(bool(c)), np.array(bool(d)), x), h * h + x, rtol=1e-4, atol=1e-5
        )


def test_tables_recurrences_and_lists_of_floats():
    nodes = [
        constant("table", floats(7, 4)),
        NODE("Constant", [], ["levels"], value_floats=[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]),
        NODE("Gather", ["table", "i"], ["e"]),
        NODE("Gather", ["levels", "i"], ["l"]),
        NODE("Constant", [], ["last"], value_ints=[-1]),
        NODE("Unsqueeze", ["l", "last"], ["lu"]),
        NODE("Mul", ["e", "lu"], ["x"]),
        constant("W", floats(1, 9, 4)),
        constant("R", floats(1, 9, 3)),
        constant("B", floats(1, 18)),
        NODE("GRU", ["x", "W", "R", "B"], ["", "h"], hidden_size=3),
        NODE("Constant", [], ["row"], value_floats=[1.0, 2.0, 3.0]),
        NODE("Mul", ["h", "row"], ["y"]),
    ]  # fmt: skip
    given = [("i", ["t", "n"], TensorProto.INT64)], [("y", [1, "n", 3])]
    found = loaded(nodes, *given)
    assert [n for n, _ in found.named_parameters()] == ["table", "W", "R", "B", "row"]
    i = RNG.integers(0, 7, (5, 2))
    np.testing.assert_allclose(found(i), loaded(nodes, *given, constants="fixed")(i), rtol=1e-5, atol=1e-6)


def test_a_mask_is_no_weight():
    mask = np.where(np.tri(4) > 0, 0, -1e9)
    nodes = [
        constant("w", floats(3, 4)),
        constant("mask", mask),
        constant("half", [0.5]),
        NODE("MatMul", ["x", "w"], ["s"]),
        NODE("Mul", ["s", "half"], ["h"]),
        NODE("Add", ["h", "mask"], ["y"]),
    ]
    assert list(loaded(nodes, [("x", [4, 3])], [("y", [4, 4])]).state_dict()) == ["w"]


def test_constants_of_models_that_texpr_wrote_stay_constants(tmp_path):
    filters = floats(3, 3)

    class Filtered(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            return self.layer(x) @ filters

    network = Filtered()
    tx.onnx.save(network, tmp_path / "f.onnx", floats(2, 3))
    assert list(tx.onnx.load(tmp_path / "f.onnx").state_dict()) == ["layer.weight", "layer.bias"]


def test_what_constants_may_be():
    with pytest.raises(tx.CallError, match="constants is 'weights', expected `parameters` or `fixed`"):
        loaded(paddle(), [("x", ["n", 8, 8, 3])], [("y", ["n", 2])], constants="weights")
