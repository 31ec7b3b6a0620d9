"""Random operators: nothing defines their numbers, so their distributions are looked at. Bounds are
five standard deviations of what is measured.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import nn

onnx = pytest.importorskip("onnx")

from onnx import helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from tests.onnx.models import model, run  # noqa: E402
from texpr.onnx import kept_nodes  # noqa: E402

F = np.float32
COUNT = 60_000
SHAPE = (200, 300)


def near(found, wanted, spread, count=COUNT):
    assert abs(found - wanted) < 5 * spread / np.sqrt(count)


@pytest.mark.parametrize("t", [np.float16, F, np.float64])
def test_normal_numbers(t):
    y = run("RandomNormalLike", [np.zeros(SHAPE, t)], 22, mean=2.0, scale=3.0)
    assert (y.dtype, y.shape) == (t, SHAPE)
    y = y.astype(np.float64)
    near(y.mean(), 2, 3)
    near(y.std(), 3, 3 / np.sqrt(2))
    near((y > 5).mean(), 0.15866, 0.366)


def test_uniform_numbers():
    y = run("RandomUniform", [], 22, shape=SHAPE, low=-1.0, high=3.0)
    assert y.dtype == F and -1 <= y.min() and y.max() < 3
    near(y.mean(), 1, 4 / np.sqrt(12))
    near((y < 0).mean(), 0.25, 0.433)
    assert run("RandomUniform", [], 22, shape=[0, 3]).shape == (0, 3)


@pytest.mark.parametrize(("number", "t"), [(9, bool), (7, np.int64), (1, F)])
def test_yes_or_no(number, t):
    chances = np.broadcast_to(np.array([0, 0.3, 1], F), (COUNT, 3))
    y = run("Bernoulli", [chances.copy()], 22, dtype=number)
    assert y.dtype == t and set(np.unique(y)) == {0, 1}
    assert not y[:, 0].any() and y[:, 2].all()
    near(y[:, 1].mean(), 0.3, 0.458)


def test_classes_by_their_chances():
    chances = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]], F)
    with np.errstate(divide="ignore"):
        y = run("Multinomial", [np.log(chances)], 22, sample_size=COUNT, dtype=7)
    assert (y.dtype, y.shape) == (np.int64, (2, COUNT))
    for row, wanted in zip(y, chances):
        for share, p in zip(np.bincount(row, minlength=3) / COUNT, wanted):
            near(share, p, max(np.sqrt(p * (1 - p)), 1e-6))


def test_dropout_in_training():
    x, yes = np.full(SHAPE, 0.3, F), np.array(True)
    y, kept = run("Dropout", [x, F(0.25), yes], 22, 2)
    assert kept.dtype == bool and np.array_equal(y, np.where(kept, x / F(0.75), 0))
    near(kept.mean(), 0.75, 0.433)
    for ratio, training in ((0, yes), (0.5, np.array(False))):
        y, kept = run("Dropout", [x, F(ratio), training], 22, 2)
        assert np.array_equal(y, x) and kept.all()
    with pytest.raises(tx.CallError, match="ratio is 1, expected 0 or more and less than 1"):
        run("Dropout", [x, F(1), yes], 22)


def drawing(**attributes):
    nodes = [helper.make_node("RandomUniform", [], [name], shape=[5], **attributes) for name in "ab"]
    return tx.onnx.load(
        model([*nodes, helper.make_node("Add", ["a", "b"], ["y"])], [], [("a", [5]), ("y", [5])])
    )


def test_every_use_and_every_call_draws_others():
    drawn = drawing()
    (a, y), (a2, _) = drawn(), drawn()
    assert len({*a.tolist(), *(y - a).tolist(), *a2.tolist()}) == 15
    assert drawn.state_dict() == {}


def test_seeds_repeat_numbers():
    first, again = drawing(seed=7.0), drawing(seed=7.0)
    calls = [first()[1] for _ in range(2)]
    assert np.array_equal(again()[1], calls[0]) and np.array_equal(again()[1], calls[1])
    assert not np.array_equal(drawing(seed=8.0)()[1], calls[0])
    nn.manual_seed(3)
    unseeded = drawing()()[1]
    nn.manual_seed(3)
    assert np.array_equal(drawing()()[1], unseeded)


LOGARITHMS, THIRDS = np.log(np.array([[0.1, 0.2, 0.7]], F)), np.full(SHAPE, 0.3, F)
SAVED = {
    "RandomNormal": ([], {"shape": SHAPE, "mean": 2.0, "scale": 3.0}, 2, 3),
    "RandomNormalLike": ([np.zeros(SHAPE, F)], {"mean": -1.0, "dtype": 11}, -1, 1),
    "RandomUniform": ([], {"shape": SHAPE, "low": -1.0, "high": 3.0, "seed": 4.0}, 1, 4 / np.sqrt(12)),
    "RandomUniformLike": ([np.zeros(SHAPE, F)], {}, 0.5, 1 / np.sqrt(12)),
    "Bernoulli": ([THIRDS], {"dtype": 6}, 0.3, 0.458),
    "Multinomial": ([LOGARITHMS], {"sample_size": COUNT, "dtype": 7}, 1.6, 0.663),
    "Dropout": ([THIRDS], {}, 0.3, 0.173),
}


@pytest.mark.parametrize("op", SAVED)
def test_nodes_are_saved_as_they_are_and_draw_by_their_distribution(op, tmp_path):
    arrays, attributes, mean, spread = SAVED[op]
    more = {"ratio": F(0.25), "training": np.array(True)} if op == "Dropout" else {}
    made = helper.make_node(op, [*(["x"] * len(arrays)), *more], ["y"], **attributes)
    kind = attributes.get("dtype", 1)
    proto = model([made], [("x", a.shape) for a in arrays], [("y", None, kind)], more, 22)
    tx.onnx.save(tx.onnx.load(proto), tmp_path / "m.onnx", tuple(arrays))
    again = onnx.load(tmp_path / "m.onnx")
    node = again.graph.node[-1]
    read = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    assert node.op_type == op and set(read) == set(attributes)
    assert all(np.array_equal(read[n], v) for n, v in attributes.items())
    assert {n.op_type for n in again.graph.node[:-1]} <= {"Constant"} and not again.graph.initializer
    drawn = [tx.onnx.load(again)(*arrays)]
    if op != "Multinomial":  # which ONNX's reference does not have
        drawn += ReferenceEvaluator(again).run(None, dict(zip(["x"], arrays)))
    for y in drawn:
        assert y.dtype == helper.tensor_dtype_to_np_dtype(kind)
        near(y.astype(np.float64).mean(), mean, spread)
        near(y.astype(np.float64).std(), spread, spread * 2)


def test_numbers_of_nodes_that_are_not_nodes_any_more_are_not_saved(tmp_path, monkeypatch):
    monkeypatch.delitem(kept_nodes.ALIKE, "RandomUniform")
    with pytest.raises(
        tx.onnx.UnsupportedOp, match="random nodes are saved as nodes, and one is not what it was"
    ):
        tx.onnx.save(drawing(), tmp_path / "m.onnx", ())


def test_what_cannot_be_drawn():
    with pytest.raises(tx.CallError, match="scale is -1; a deviation is 0 or more"):
        run("RandomNormal", [], 22, shape=[2], scale=-1.0)
    with pytest.raises(tx.ResourceError, match="the limit is"):
        run("RandomNormal", [], 22, shape=[1 << 30, 1 << 30])
    with pytest.raises(tx.CallError, match=r"by chances of shape \[2, 0\]"):
        run("Multinomial", [np.zeros((2, 0), F)], 22)
