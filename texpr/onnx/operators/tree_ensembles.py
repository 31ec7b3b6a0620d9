"""Ensembles of decision trees. All trees are walked down in step, by tables of their nodes; leaves
lead to themselves. Breiman, Friedman, Olshen, Stone, Classification and Regression Trees, 1984.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import F32, F64, numpy_dtype
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node, evaluated
from texpr.onnx.operator_definitions import each, written
from texpr.onnx.operators.ml import ML, table
from texpr.onnx.text_values import Texts
from texpr.onnx.validation import refuse_large
from texpr.support.frozen_dataclass import frozen

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_SIGNS = ("<=", "<", ">=", ">", "==", "!=")
_MEMBER = len(_MODES)
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")

_DESCEND = """op descend<T: float>(X: T[B, F], root: i64[R], feature: i64[K], split: T[K], mode: i64[K],
  missing: i64[K], yes: i64[K], no: i64[K]; D) -> Y: i64[B, R] require D >= 0 {
  let at: i64[D + 1, B, R]
  at[0, b, r] = root[r]
  at[d + 1, b, r] = if TEST then yes[at[d, b, r] | clamp] else no[at[d, b, r] | clamp]  for d in 0..D, b in 0..B, r in 0..R
  Y[b, r] = at[D, b, r]
}"""
_LEAVES = """op leaves<T: float>(at: i64[B, R], W: T[K, M], has: bool[K, M]) -> Y: T[B, M] require R >= 1 {
  Y[b, m] = RESULT
}"""
_RESULTS = {
    "SUM": "sum(r: W[at[b, r], m | clamp])",
    "AVERAGE": "sum(r: W[at[b, r], m | clamp]) / T(R)",
    "MIN": "min(r: if has[at[b, r], m | clamp] then W[at[b, r], m | clamp] else inf)",
    "MAX": "max(r: if has[at[b, r], m | clamp] then W[at[b, r], m | clamp] else -inf)",
}


@frozen
class _Trees:
    """Nodes of all trees, and leaves behind them, by their places.

    Attributes:
        yes, no: where they lead to.
        weights: of leaves, by target.
        has: which targets a leaf has a weight for.
    """

    roots: list[int]
    feature: list[int]
    split: list[float]
    mode: list[int]
    missing: list[int]
    yes: list[int]
    no: list[int]
    weights: np.ndarray
    has: np.ndarray

    def depth(self, node: Node) -> int:
        """Steps until all trees are at leaves.

        Raises:
            CallError: children that there are not, or a circle of them.
        """
        count, steps = len(self.yes), 0
        if any(not 0 <= k < count for k in (*self.yes, *self.no, *self.roots)):
            raise node.refuse(f"a child is outside of {count} nodes and leaves")
        ends = {n for n in range(count) if self.yes[n] == self.no[n] == n}
        here = set(self.roots) - ends
        while here:
            here, steps = {k for n in here for k in (self.yes[n], self.no[n])} - ends, steps + 1
            if steps > count:
                raise node.refuse("a node is below itself")
        return steps


def _unweighted(node: Node, count: int, targets: int) -> tuple[np.ndarray, np.ndarray]:
    """Leaves without weights: the weights for each target, and which there are.

    Raises:
        CallError: there is no target.
        ResourceError: the tables are larger than constants may be.
    """
    if targets < 1:
        raise node.refuse(f"n_targets is {targets}; 1 or more are read")
    refuse_large(node.op, [count, targets], F64, True)
    return np.zeros((count, targets)), np.zeros((count, targets), bool)


def _walked(node: Node, x: Any, trees: _Trees, aggregate: str) -> Any:
    """The combined weights of the leaves that each row comes to."""
    t = x.dtype
    inside = all(0 <= f < x.shape[-1] for f in trees.feature) if x.ndim else False
    if x.ndim != 2 or not trees.roots or not inside:
        raise node.refuse(
            f"{len(trees.roots)} trees of {max(trees.feature, default=0) + 1} features for {list(x.shape)}"
        )
    here = "at[d, b, r]"
    value = f"X[b, feature[{here} | clamp] | clamp]"
    tests = {m: f"{value} {_SIGNS[m]} split[{here} | clamp]" for m in sorted(set(trees.mode))}
    if "!=" in "".join(tests.values()):
        tests[5] = f"({tests[5]} and not isnan({value}))"
    test = " or ".join(f"mode[{here} | clamp] == {m} and {v}" for m, v in tests.items())
    test = next(iter(tests.values())) if len(tests) == 1 else test
    if any(trees.missing):
        test = f"(isnan({value}) and missing[{here} | clamp] == 1 or {test})"
    root, feature, mode, missing, yes, no = (
        table(node, np.array(v, np.int64))
        for v in (trees.roots, trees.feature, trees.mode, trees.missing, trees.yes, trees.no)
    )
    split = table(node, np.array(trees.split, numpy_dtype(t)))
    at = written(_DESCEND.replace("TEST", test))(
        x, root, feature, split, mode, missing, yes, no, D=trees.depth(node)
    )
    weights = table(node, trees.weights.astype(numpy_dtype(t)))
    return written(_LEAVES.replace("RESULT", _RESULTS[aggregate]))(at, weights, table(node, trees.has))


def transformed(node: Node, scores: Any, name: str) -> Any:
    """Scores as chances."""
    if name == "SOFTMAX":
        return ops.softmax(scores, axis=1)
    if name == "LOGISTIC":
        return scores.sigmoid()
    if name == "PROBIT":
        return each("probit", "sqrt(2.0) * erfinv(2 * {0} - 1)", scores)
    if name == "SOFTMAX_ZERO":
        kept = each("kept", "if {0} == 0 then -inf else {0}", scores)
        return each("zero", "if {0} == 0 then 0 else {1}", scores, ops.softmax(kept, axis=1))
    return scores


def labelled(node: Node, scores: Any, labels: list[int]) -> Any:
    """The label of the largest score of each row."""
    text = (
        "op labelled<T: num>(S: T[N, C], L: i64[C]) -> Y: i64[N] { k[n] = argmax(c in 0..C: S[n, c]) "
        "Y[n] = L[k[n] | clamp] }"
    )
    return written(text)(scores, table(node, np.array(labels, np.int64)))


def named(node: Node, labels: Any, words: Sequence[str]) -> Any:
    """The texts that labels are the numbers of; labels themselves where there are no texts.

    Raises:
        NeedsValue: the node's input is not known.
        CallError: a label has no text.
    """
    if not words:
        return labels
    node.known(0)
    (values,) = evaluated(node.run.capture, [labels])
    places = np.asarray(values.array)
    if places.max(initial=0) >= len(words):
        raise node.refuse(f"a row has label {places.max()}, and classlabels_strings are {len(words)}")
    return Texts(np.array(words, object)[places])


@converter("TreeEnsemble", domain=ML)
def _ensemble(node: Node, x: Any) -> Any:
    mode = [int(v) for v in np.ravel(node.attr("nodes_modes").numbers())]
    split, leaves = (np.ravel(node.attr(n).numbers()) for n in ("nodes_splits", "leaf_weights"))
    count, targets = len(mode), node.attr("n_targets", 1)
    columns = {
        n: node.attr(f"nodes_{n}")
        for n in ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")
    }
    missing = node.attr("nodes_missing_value_tracks_true") or [0] * count
    ids = node.attr("leaf_targetids")
    if len({count, len(split), len(missing), *map(len, columns.values())}) > 1 or len(ids) != len(leaves):
        raise node.refuse("its lists of nodes, or of leaves, have different lengths")
    if any(not 0 <= k < targets for k in ids) or any(not 0 <= m <= _MEMBER for m in mode):
        raise node.refuse(f"targets are {sorted(set(ids))} of {targets}, modes {sorted(set(mode))}")
    weights, has = _unweighted(node, count + len(ids), targets)
    weights[count + np.arange(len(ids)), ids], has[count + np.arange(len(ids)), ids] = leaves, True
    yes, no = (
        [k + count * leaf for k, leaf in zip(columns[f"{side}nodeids"], columns[f"{side}leafs"])]
        for side in ("true", "false")
    )
    trees = _with_leaves(
        node.attr("tree_roots"), columns["featureids"], split.tolist(), mode, missing, yes, no, weights, has
    )
    members = node.attr("membership_values")
    trees = _chained(node, trees, [] if members is None else np.ravel(members.numbers()).tolist())
    found = _walked(node, x, trees, _AGGREGATES[node.attr("aggregate_function", 1)])
    return transformed(node, found, TRANSFORMS[node.attr("post_transform", 0)])


def _with_leaves(
    roots: Sequence[int],
    feature: Sequence[int],
    split: Sequence[float],
    mode: Sequence[int],
    missing: Sequence[int],
    yes: Sequence[int],
    no: Sequence[int],
    weights: np.ndarray,
    has: np.ndarray,
) -> _Trees:
    """With leaves behind the nodes, as many as there are more weights, which lead to themselves."""
    count, more = len(mode), len(weights) - len(mode)
    own, usual = range(count, count + more), next((m for m in mode if m != _MEMBER), 0)
    filled = ([*v, *[f] * more] for v, f in ((feature, 0), (split, 0.0), (mode, usual), (missing, 0)))
    return _Trees(list(roots), *filled, [*yes, *own], [*no, *own], weights, has)  # type: ignore[arg-type]


def _chained(node: Node, trees: _Trees, members: list[float]) -> _Trees:
    """Nodes that ask for one of several numbers as one node for each number: sets are given in the
    order of their nodes, with NaN behind each.
    """
    if _MEMBER not in trees.mode:
        return trees
    lists, rest = [], members
    for _ in range(trees.mode.count(_MEMBER)):
        end = next((k for k, v in enumerate(rest) if v != v), len(rest))
        lists.append(rest[:end])
        rest = rest[end + 1 :]
    columns = [list(v) for v in (trees.feature, trees.split, trees.mode, trees.missing, trees.yes, trees.no)]
    feature, split, mode, missing, yes, no = columns
    for k, values in zip([k for k, m in enumerate(trees.mode) if m == _MEMBER], lists):
        if not values:
            raise node.refuse("a set of membership_values has no number")
        chain = [k, *range(len(mode), len(mode) + len(values) - 1)]
        for column, given in zip(columns, (feature[k], 0.0, 0, missing[k], yes[k], no[k])):
            column.extend([given] * (len(values) - 1))
        for place, value in zip(chain, values):
            split[place], mode[place] = value, _MODES.index("BRANCH_EQ")
        for place, behind in zip(chain, chain[1:]):
            no[place] = behind
    more = np.zeros((len(mode) - len(trees.mode), trees.weights.shape[1]))
    weights, has = np.concatenate([trees.weights, more]), np.concatenate([trees.has, more.astype(bool)])
    return _Trees(trees.roots, feature, split, mode, missing, yes, no, weights, has)  # type: ignore[arg-type]


def _numbers(node: Node, name: str) -> list[float]:
    """Floats of an attribute, or of the tensor that version 3 has in its place."""
    tensor = node.attr(f"{name}_as_tensor")
    return list(node.attr(name) or []) if tensor is None else np.ravel(tensor.numbers()).tolist()


@frozen
class _Forest:
    """Trees as versions 1 to 3 of the two older operators have them, and numbers that are added."""

    trees: _Trees
    base: list[float]

    @staticmethod
    def of(node: Node, side: str, targets: int) -> _Forest:
        """Of the attributes of a node.

        Args:
            side: `target` or `class`, with which the names of attributes begin.
        Raises:
            CallError: lists of different lengths, nodes and targets that there are not.
        """
        keys = list(zip(node.attr("nodes_treeids") or [], node.attr("nodes_nodeids") or []))
        place, count = {key: k for k, key in enumerate(keys)}, len(keys)
        words, split = node.attr("nodes_modes") or [], _numbers(node, "nodes_values")
        feature, missing = node.attr("nodes_featureids") or [], node.attr("nodes_missing_value_tracks_true")
        children = [node.attr(f"nodes_{way}nodeids") or [] for way in ("true", "false")]
        ends = list(zip(node.attr(f"{side}_treeids") or [], node.attr(f"{side}_nodeids") or []))
        ids, values = node.attr(f"{side}_ids") or [], _numbers(node, f"{side}_weights")
        missing = missing or [0] * count
        lists = (place, words, split, feature, missing, *children)
        if {len(v) for v in lists} != {count}:
            raise node.refuse("its lists of nodes have different lengths, or a node is there twice")
        known = all(w == "LEAF" or w in _MODES for w in words) and all(e in place for e in ends)
        if not known or not len(ends) == len(ids) == len(values) or any(not 0 <= k < targets for k in ids):
            raise node.refuse("it has modes, or weights of nodes or targets, that there are not")
        leaf = [w == "LEAF" for w in words]
        usual = next((_MODES.index(w) for w in words if w != "LEAF"), 0)
        yes, no = (
            [k if leaf[k] else place.get((keys[k][0], child), -1) for k, child in enumerate(way)]
            for way in children
        )
        weights, has = _unweighted(node, count, targets)
        for end, k, value in zip(ends, ids, values):
            weights[place[end], k] += value
            has[place[end], k] = True
        roots = list({tree: k for k, (tree, _) in reversed(list(enumerate(keys)))}.values())[::-1]
        mode = [usual if w == "LEAF" else _MODES.index(w) for w in words]
        feature = [0 if is_leaf else f for is_leaf, f in zip(leaf, feature)]
        trees = _Trees(roots, feature, split, mode, list(missing), yes, no, weights, has)
        base = _numbers(node, "base_values")
        if len(base) not in (0, 1, targets):
            raise node.refuse(f"{len(base)} base_values for {targets} results")
        return _Forest(trees, base)

    def scores(self, node: Node, x: Any, aggregate: str) -> Any:
        """Of each row, for each target."""
        given = x if x.dtype.is_float else x.astype(F32.name)
        found = _walked(node, given, self.trees, aggregate)
        if not self.base:
            return found
        return found + table(node, np.array(self.base, numpy_dtype(given.dtype)))


@converter("TreeEnsembleRegressor", domain=ML)
def _regressor(node: Node, x: Any) -> Any:
    aggregate = node.word("aggregate_function", "SUM", "AVERAGE", "MIN", "MAX")
    found = _Forest.of(node, "target", node.attr("n_targets", 1)).scores(node, x, aggregate)
    return transformed(node, found, node.word("post_transform", *TRANSFORMS)).astype(F32.name)


@converter("TreeEnsembleClassifier", domain=ML)
def _classifier(node: Node, x: Any) -> Any:
    words, transform = node.attr("classlabels_strings") or [], node.word("post_transform", *TRANSFORMS)
    labels = list(range(len(words))) if len(words) > 1 else node.attr("classlabels_int64s") or []
    if not labels or len(labels) == 1 and labels != [1]:
        raise node.refuse(
            f"classlabels_int64s are {labels} and classlabels_strings {list(words)}; there are two or more, or 1"
        )
    scores = _Forest.of(node, "class", len(labels)).scores(node, x, "SUM").astype(F32.name)
    used = set(node.attr("class_ids") or [])
    if len(used) == 1:  # one score for two classes
        own = scores[:, used.pop()].reshape(-1, 1)
        other = each("other", "1 - {0}", own) if transform in ("NONE", "PROBIT") else -own
        scores = ops.concat(other, own, axis=1)
        labels = labels if len(labels) == 2 else [0, 1]
    if len(labels) != scores.shape[1]:
        raise node.refuse(f"{len(labels)} labels for {scores.shape[1]} scores")
    scores = transformed(node, scores, transform)
    return named(node, labelled(node, scores, labels), words), scores
