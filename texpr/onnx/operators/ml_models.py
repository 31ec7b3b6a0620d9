"""Models of ai.onnx.ml whose labels are numbers: linear ones, and support vectors (Cortes and Vapnik,
Support-Vector Networks, 1995) with chances by Platt's method and pairwise coupling (Wu, Lin, Weng,
Probability Estimates for Multi-class Classification by Pairwise Coupling, 2004).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import F32, I64
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import each, number, written
from texpr.onnx.operators.ml import ML, matrix, numbers, table
from texpr.onnx.operators.tree_ensembles import TRANSFORMS, labelled, named, transformed
from texpr.onnx.validation import refuse_large

_COUPLING = """op couple<T: float>(Q: T[N, C, C]; steps) -> Y: T[N, C] {
  let P: T[steps + 1, N, C]
  let G: T[steps + 1, N, C]
  let V: T[steps + 1, N]
  P[0, n, c] = 1 / T(C)
  G[0, n, c] = 0
  V[0, n] = 0
  g[m, n, c] = if m % C == 0 then sum(k: Q[n, c, k] * P[m, n, k]) else G[m, n, c]  for m in 0..steps
  v[m, n] = if m % C == 0 then sum(c: P[m, n, c] * g[m, n, c]) else V[m, n]  for m in 0..steps
  stop[m, n] = stop[m - 1, n | false] or m % C == 0 and max(c: abs(g[m, n, c] - v[m, n])) < 0.005 / T(C)  for m in 0..steps
  d[m, n] = (v[m, n] - g[m, n, m % C]) / Q[n, m % C, m % C]  for m in 0..steps
  P[m + 1, n, c] = if stop[m, n] then P[m, n, c] else (P[m, n, c] + (if c == m % C then d[m, n] else 0)) / (1 + d[m, n])  for m in 0..steps
  G[m + 1, n, c] = (g[m, n, c] + d[m, n] * Q[n, m % C, c]) / (1 + d[m, n])  for m in 0..steps
  V[m + 1, n] = (v[m, n] + d[m, n] * (d[m, n] * Q[n, m % C, m % C] + 2 * g[m, n, m % C])) / ((1 + d[m, n]) * (1 + d[m, n]))  for m in 0..steps
  Y[n, c] = P[steps, n, c]
}"""


def above(scores: Any, threshold: float, then: int, orelse: int, column: int = 0) -> Any:
    """One label of two, by a column of the scores."""
    text = f"if {{0}} >= {number(threshold)} then {then} else {orelse}"
    return each("above", text, scores[:, column], result=I64)


def _labels(node: Node) -> tuple[list[int], list[str]]:
    """The labels of classes, and their texts, of which labels are the places."""
    words = node.attr("classlabels_strings") or []
    return list(range(len(words))) if words else node.attr("classlabels_ints") or [], words


def _coefficients(node: Node, x: Any, rows: int) -> np.ndarray:
    found = numbers(node, "coefficients", x.dtype)
    if rows <= 0 or found.size != rows * x.shape[1]:
        raise node.refuse(f"{found.size} coefficients for {rows} rows of {x.shape[1]} features")
    return found.reshape(rows, x.shape[1])


def _linear(node: Node, x: Any, rows: int) -> Any:
    weight = _coefficients(node, x, rows)
    shift = numbers(node, "intercepts", x.dtype)
    if shift.size not in (0, 1, rows):
        raise node.refuse(f"{shift.size} intercepts for {rows} results")
    found = x @ table(node, np.ascontiguousarray(weight.T))
    return found + table(node, shift) if shift.size else found


@converter("LinearRegressor", domain=ML)
def _regressor(node: Node, x: Any) -> Any:
    found = _linear(node, matrix(node, x), node.attr("targets", 1))
    return transformed(node, found, node.word("post_transform", *TRANSFORMS)).astype(F32.name)


@converter("LinearClassifier", domain=ML)
def _classifier(node: Node, x: Any) -> Any:
    given, (labels, words) = matrix(node, x), _labels(node)
    count = len(node.attr("coefficients") or [])
    scores = _linear(node, given, count // max(given.shape[1], 1))
    if scores.shape[1] == 1 and len(labels) == 2:
        scores = ops.concat(-scores, scores, axis=1)
    transform = node.word("post_transform", *TRANSFORMS)
    scores = transformed(node, scores, transform)
    if scores.shape[1] == 1 and words:
        raise node.refuse("one score of texts has no second label")
    if scores.shape[1] == 1:
        found = above(scores, 0.0 if transform == "NONE" else 0.5, labels[0] if labels else 1, 0)
    else:
        labels = labels or list(range(scores.shape[1]))
        if len(labels) != scores.shape[1]:
            raise node.refuse(f"{len(labels)} labels for {scores.shape[1]} scores")
        found = labelled(node, scores, labels)
    return named(node, found, words), scores.astype(F32.name)


def _kernel(node: Node, x: Any, vectors: np.ndarray, kind: str) -> Any:
    """Rows by vectors."""
    given = table(node, vectors)
    parameters = [float(v) for v in node.attr("kernel_params") or [0.0, 0.0, 0.0]]
    if len(parameters) != 3 or not np.isfinite(parameters[2]):
        raise node.refuse(f"kernel_params are {parameters}; there are gamma, coef0 and degree")
    gamma, shift = map(number, parameters[:2])
    if kind == "RBF":
        text = (
            f"op rbf<T: float>(X: T[N, K], S: T[M, K]) -> Y: T[N, M] {{ "
            f"Y[n, m] = exp(-{gamma} * sum(k: (X[n, k] - S[m, k]) * (X[n, k] - S[m, k]))) }}"
        )
        return written(text)(x, given)
    dot = x @ given.T
    scaled = f"{{0}} * {gamma} + {shift}"
    if kind == "POLY":
        return each("poly", f"({scaled}) ** {int(parameters[2])}.0", dot)
    return each("sigmoid", f"tanh({scaled})", dot) if kind == "SIGMOID" else dot


def _support(node: Node, x: Any, count: int) -> Any:
    """The kernel of each row with each support vector."""
    vectors = numbers(node, "support_vectors", x.dtype)
    if count <= 0 or vectors.size != count * x.shape[1]:
        raise node.refuse(f"{vectors.size} numbers for {count} support vectors of {x.shape[1]} features")
    kind = node.word("kernel_type", "LINEAR", "POLY", "RBF", "SIGMOID")
    return _kernel(node, x, vectors.reshape(count, x.shape[1]), kind)


@converter("SVMRegressor", domain=ML)
def _support_regressor(node: Node, x: Any) -> Any:
    node.word("post_transform", "NONE")
    given, count, rho = matrix(node, x), node.attr("n_supports", 0), numbers(node, "rho")
    if rho.size != 1:
        raise node.refuse(f"rho has {rho.size} numbers, expected 1")
    if count:
        weight = numbers(node, "coefficients", given.dtype)
        if weight.size != count:
            raise node.refuse(f"{weight.size} coefficients for {count} support vectors")
        found = _support(node, given, count) @ table(node, weight.reshape(-1, 1))
    else:
        found = given @ table(node, _coefficients(node, given, 1).T.copy())
    found = each("shifted", f"{{0}} + {number(rho[0])}", found)
    if node.attr("one_class", 0):
        found = each("side", "if {0} > 0 then 1 else -1", found)
    return found.astype(F32.name)


@converter("SVMClassifier", domain=ML)
def _support_classifier(node: Node, x: Any) -> Any:
    given, (labels, words) = matrix(node, x), _labels(node)
    counts, classes = node.attr("vectors_per_class") or [], max(len(labels), 1)
    transform = node.word("post_transform", *TRANSFORMS)
    coefficients = numbers(node, "coefficients", given.dtype)
    positive = coefficients.size > 0 and coefficients.min() >= 0
    rho, chances = numbers(node, "rho", given.dtype), bool(node.attr("prob_a"))
    if rho.size == 0:
        raise node.refuse("it has no rho")
    if sum(counts) == 0:
        weight = _coefficients(node, given, classes)
        scores = given @ table(node, weight.T.copy()) + table(node, rho[:1])
        votes, chances = scores, False
    else:
        if len(counts) != classes or classes < 2 or min(counts) < 0:
            raise node.refuse(f"vectors_per_class are {counts} for {classes} labels")
        scores = _pairwise(node, given, counts, coefficients, rho)
        votes = _votes(node, scores, classes)
        scores = _coupled(node, scores, classes) if chances else scores
    found = _decided(node, votes, labels, rho.size == 1, positive and not chances, sum(counts) > 0)
    if scores.shape[1] == 1 and len(labels) == 2:
        scores = ops.concat(-scores, scores, axis=1)
    return named(node, found, words), transformed(node, scores, transform).astype(F32.name)


def _decided(node: Node, votes: Any, labels: list[int], one: bool, positive: bool, counted: bool) -> Any:
    """The labels of rows, as the definition of the operator has them for two classes and for more.

    Args:
        one: whether there is one pair of classes.
        positive: whether all coefficients are 0 or more, and there are no chances.
        counted: whether votes are counts, of which one is above 0.
    """
    if not one or len(labels) == 2 and not positive:
        return labelled(node, votes, labels or list(range(votes.shape[1])))
    if counted:
        return table(node, np.full(votes.shape[0], labels[1] if len(labels) == 2 else 1))
    best = written("op best<T: num>(S: T[N, C]) -> Y: T[N] { Y[n] = max(c: S[n, c]) }")(votes)
    if len(labels) != 2:
        return each("side", "if {0} > 0 then 1 else 0", best, result=I64)
    usual = labelled(node, votes, labels)
    return each("second", f"if {{0}} >= 0.5 then {labels[1]} else {{1}}", best, usual, result=I64)


def _pairwise(node: Node, x: Any, counts: list[int], coefficients: np.ndarray, rho: np.ndarray) -> Any:
    """A score for each pair of classes: above 0 for the first.

    Raises:
        CallError: numbers of coefficients or rho that the classes do not have.
        ResourceError: the matrix of vectors by pairs is larger than constants may be.
    """
    total, classes = sum(counts), len(counts)
    if coefficients.size != total * (classes - 1) or rho.size != classes * (classes - 1) // 2:
        raise node.refuse(
            f"{coefficients.size} coefficients and {rho.size} rho for {classes} classes of {total} vectors"
        )
    refuse_large(node.op, [total, rho.size], x.dtype, True)
    weight = coefficients.reshape(classes - 1, total)
    ends = np.cumsum([0, *counts])
    of = [slice(*v) for v in zip(ends, ends[1:])]
    columns = np.zeros((total, rho.size), weight.dtype)
    for p, (i, j) in enumerate(zip(*np.triu_indices(classes, 1))):
        columns[of[i], p], columns[of[j], p] = weight[j - 1, of[i]], weight[i, of[j]]
    return _support(node, x, total) @ table(node, columns) + table(node, rho)


def _places(node: Node, classes: int) -> Any:
    """The column of each two classes among scores of pairs."""
    first, second = np.triu_indices(classes, 1)
    found = np.zeros((classes, classes), np.int64)
    found[first, second] = found[second, first] = np.arange(first.size)
    return table(node, found)


def _votes(node: Node, scores: Any, classes: int) -> Any:
    """The number of pairs that each class wins."""
    text = """op votes<T: float>(S: T[N, M], p: i64[C, C]) -> Y: i64[N, C] {
  won[n, i, j] = if i < j then S[n, p[i, j] | clamp] > 0 else S[n, p[i, j] | clamp] <= 0  for n in 0..N, i in 0..C, j in 0..C
  Y[n, i] = sum(j: if i != j and won[n, i, j] then 1 else 0)
}"""
    return written(text)(scores, _places(node, classes))


def _coupled(node: Node, scores: Any, classes: int) -> Any:
    """Chances of classes from the scores of pairs."""
    pairs = classes * (classes - 1) // 2
    a, b = (numbers(node, n, scores.dtype) for n in ("prob_a", "prob_b"))
    if a.size != pairs or b.size != pairs:
        raise node.refuse(f"{a.size} prob_a and {b.size} prob_b for {pairs} pairs of classes")
    chance = each("platt", "sigmoid(-({0} * {1} + {2}))", scores, table(node, a), table(node, b))
    chance = each("kept", "min(max({0}, 1e-7), 1 - 1e-7)", chance)
    text = """op products<T: float>(R: T[N, M], p: i64[C, C]) -> Q: T[N, C, C] {
  r[n, i, j] = if i == j then 0 else if i < j then R[n, p[i, j] | clamp] else 1 - R[n, p[i, j] | clamp]  for n in 0..N, i in 0..C, j in 0..C
  Q[n, i, j] = if i == j then sum(k: r[n, k, i] * r[n, k, i]) else -r[n, j, i] * r[n, i, j]
}"""
    products = written(text)(chance, _places(node, classes))
    return written(_COUPLING)(products, steps=classes * max(100, classes))
