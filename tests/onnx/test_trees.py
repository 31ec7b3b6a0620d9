"""Ensembles of trees, beside a walk node by node."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

onnx = pytest.importorskip("onnx")

from onnx import numpy_helper  # noqa: E402

from tests.onnx.models import run  # noqa: E402

F = np.float32
RNG = np.random.default_rng(0)
ML = "ai.onnx.ml"
X = RNG.integers(-2, 3, (40, 3)).astype(F)
X[3, 1] = X[7, 0] = np.nan
TESTS = [np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal]


def grown(depth, modes, targets, members=False):
    """A random tree as the attributes of TreeEnsemble: nodes of a full tree, their children behind them."""
    inner = 2**depth - 1
    leaves = inner + 1
    kinds = RNG.choice(modes, inner)
    yes, no = (
        [k if k < inner else k - inner for k in (2 * n + side for n in range(inner))] for side in (1, 2)
    )
    is_leaf = [int(2 * n + 1 >= inner) for n in range(inner)]
    sets = [v for m in kinds if m == 6 for v in (*RNG.choice(np.arange(-2, 3), 2, replace=False), np.nan)]
    tensor = numpy_helper.from_array
    return {
        "n_targets": targets,
        "tree_roots": [0],
        "nodes_featureids": RNG.integers(0, 3, inner).tolist(),
        "nodes_splits": tensor(RNG.integers(-2, 3, inner).astype(F)),
        "nodes_modes": tensor(np.array(kinds, np.uint8)),
        "nodes_truenodeids": yes,
        "nodes_falsenodeids": no,
        "nodes_trueleafs": is_leaf,
        "nodes_falseleafs": is_leaf,
        "nodes_missing_value_tracks_true": RNG.integers(0, 2, inner).tolist(),
        "leaf_targetids": RNG.integers(0, targets, leaves).tolist(),
        "leaf_weights": tensor(RNG.standard_normal(leaves).astype(F)),
        **({"membership_values": tensor(np.array(sets, F))} if members else {}),
    }


def walked(x, tree):
    """The target and the weight of the leaf that a row comes to."""
    splits, modes, weights = (
        numpy_helper.to_array(tree[f"{n}"]) for n in ("nodes_splits", "nodes_modes", "leaf_weights")
    )
    sets, all_members = (
        {},
        list(numpy_helper.to_array(tree["membership_values"])) if "membership_values" in tree else [],
    )
    for k in np.flatnonzero(modes == 6):
        end = next(i for i, v in enumerate(all_members) if v != v)
        sets[k], all_members = all_members[:end], all_members[end + 1 :]
    node = 0
    while True:
        value = x[tree["nodes_featureids"][node]]
        if np.isnan(value):
            goes = tree["nodes_missing_value_tracks_true"][node]
        else:
            goes = value in sets[node] if modes[node] == 6 else TESTS[modes[node]](value, splits[node])
        side = "true" if goes else "false"
        child, is_leaf = tree[f"nodes_{side}nodeids"][node], tree[f"nodes_{side}leafs"][node]
        if is_leaf:
            return tree["leaf_targetids"][child], weights[child]
        node = child


@pytest.mark.parametrize("modes", [[0], [3], range(6), [0, 6]])
def test_every_row_comes_to_its_leaf(modes):
    tree = grown(3, list(modes), 2, 6 in modes)
    found = run("TreeEnsemble", [X], 5, domain=ML, aggregate_function=1, **tree)
    wanted = np.zeros((len(X), 2), F)
    for row, x in zip(wanted, X):
        target, weight = walked(x, tree)
        row[target] = weight
    assert found.dtype == F and np.array_equal(found, wanted)


def forest():
    """Two trees of a regressor: x0 <= 0 ? (x1 > 1 ? 1 : 2) : 3 and x2 < 0 ? -1 : 5; weights of two targets."""
    return {
        "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
        "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
        "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
        "nodes_values": [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        "nodes_truenodeids": [1, 2, 0, 0, 0, 1, 0, 0],
        "nodes_falsenodeids": [4, 3, 0, 0, 0, 2, 0, 0],
        "n_targets": 2,
        "target_treeids": [0, 0, 0, 1, 1, 1],
        "target_nodeids": [2, 3, 4, 1, 2, 2],
        "target_ids": [0, 0, 0, 0, 0, 1],
        "target_weights": [1.0, 2.0, 3.0, -1.0, 5.0, 7.0],
    }


def leaves(x):
    first = 1.0 if x[0] <= 0 and x[1] > 1 else 2.0 if x[0] <= 0 else 3.0
    return first, (-1.0, None) if x[2] < 0 else (5.0, 7.0)


@pytest.mark.parametrize("way", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_a_forest(way):
    x = X[~np.isnan(X).any(1)]
    found = run(
        "TreeEnsembleRegressor", [x], 3, domain=ML, aggregate_function=way, base_values=[0.5, 0.0], **forest()
    )
    for y, (first, (second, other)) in zip(found, map(leaves, x)):
        fold = {"SUM": sum, "AVERAGE": lambda v: sum(v) / 2, "MIN": min, "MAX": max}[way]
        assert y[0] == fold([first, second]) + 0.5
        if other is not None:
            assert y[1] == (3.5 if way == "AVERAGE" else 7)
    assert np.array_equal(
        run("TreeEnsembleRegressor", [x.astype(np.int64)], 1, domain=ML, **forest()),
        run("TreeEnsembleRegressor", [x], 1, domain=ML, **forest()),
    )


def test_scores_become_chances():
    scores = run("TreeEnsembleRegressor", [X[:4]], 3, domain=ML, **forest())
    soft = run("TreeEnsembleRegressor", [X[:4]], 3, domain=ML, post_transform="SOFTMAX", **forest())
    e = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(soft, e / e.sum(1, keepdims=True), rtol=1e-6)
    logistic = run("TreeEnsembleRegressor", [X[:4]], 3, domain=ML, post_transform="LOGISTIC", **forest())
    np.testing.assert_allclose(logistic, 1 / (1 + np.exp(-scores)), rtol=1e-6)


def test_trees_that_are_none():
    circle = forest()
    circle["nodes_truenodeids"] = [0, *circle["nodes_truenodeids"][1:]]
    circle["nodes_truenodeids"][1] = 0
    with pytest.raises(tx.CallError, match="a node is below itself"):
        run("TreeEnsembleRegressor", [X], 3, domain=ML, **circle)
    outside = forest()
    outside["nodes_falsenodeids"] = [9, *outside["nodes_falsenodeids"][1:]]
    with pytest.raises(tx.CallError, match="a child is outside of 8 nodes and leaves"):
        run("TreeEnsembleRegressor", [X], 3, domain=ML, **outside)
    with pytest.raises(tx.CallError, match=r"2 trees of 3 features for \[40, 2\]"):
        run("TreeEnsembleRegressor", [X[:, :2].copy()], 3, domain=ML, **forest())
    for feature in (-1, 3):
        bad = {**forest(), "nodes_featureids": [feature, *forest()["nodes_featureids"][1:]]}
        with pytest.raises(tx.CallError, match="2 trees of . features"):
            run("TreeEnsembleRegressor", [X], 3, domain=ML, **bad)
    with pytest.raises(tx.CallError, match="have different lengths"):
        run("TreeEnsembleRegressor", [X], 3, domain=ML, **{**forest(), "nodes_values": [0.0]})


@pytest.mark.parametrize(
    ("targets", "error", "words"),
    [
        (1 << 40, tx.ResourceError, r"has 8 \* 1099511627776 elements; the limit is constants of"),
        (0, tx.CallError, "n_targets is 0; 1 or more are read"),
    ],
)
def test_targets_have_a_limit(targets, error, words):
    given = forest() | {"n_targets": targets}
    if not targets:
        given = {k: v for k, v in given.items() if not k.startswith("target_")}
    with pytest.raises(error, match=words):
        run("TreeEnsembleRegressor", [X], 3, domain=ML, **given)
