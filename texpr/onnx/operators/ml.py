"""Operators of ai.onnx.ml that prepare features: numbers stand for categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import F32, F64, I64, DType, numpy_dtype
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import axes, each, number, ranges, typed, written
from texpr.onnx.operators.movement import check_places, taken
from texpr.onnx.text_values import Texts
from texpr.onnx.validation import refuse_large
from texpr.onnx.values import Known

ML = "ai.onnx.ml"


def floats(x: Any) -> Any:
    """Features as f32, or as they are where they are f64."""
    return x if x.dtype in (F32, F64) else x.astype(F32.name)


def numbers(node: Node, name: str, t: DType = F32) -> np.ndarray:
    """The floats of an attribute as a type; none where it is absent."""
    return np.array(node.attr(name) or [], np.float64).astype(numpy_dtype(t))


def matrix(node: Node, x: Any) -> Any:
    """Rows of features as floats.

    Raises:
        CallError: another number of axes.
    """
    if x.ndim not in (1, 2):
        raise node.refuse(f"rows of features have 1 or 2 axes, and the shape is {list(x.shape)}")
    return floats(x) if x.ndim == 2 else floats(x).reshape(1, -1)


def table(node: Node, values: Any) -> Any:
    """An array as a tensor of the program."""
    return node.run.tensor(Known.of(np.asarray(values)))


@converter("Binarizer", domain=ML)
def _binarize(node: Node, x: Any) -> Any:
    text, t = f"if {{0}} > {number(node.attr('threshold', 0.0))} then 1 else 0", x.dtype
    return each("binarizer", text, x, computed=t if t.is_float else F64).astype(t.name)


@converter("ArrayFeatureExtractor", domain=ML)
def _features(node: Node, x: Any, places: Any) -> Any:
    check_places(node, 1, 0, x.shape[-1])
    rows = x if x.ndim > 1 else x.reshape(1, -1)
    result = [*rows.shape[:-1], places.size]
    names = axes("i", len(result))
    return taken(
        "features", rows, places.reshape(-1).astype(I64.name), result, [*names[:-1], f"P[{names[-1]}]"]
    )


def _per_feature(node: Node, x: Any, name: str, default: float, t: DType) -> Any:
    """Numbers of an attribute: one for each element of the last axis, or one for all.

    Raises:
        CallError: another number of them.
    """
    found = numbers(node, name, t)
    found = found if found.size else np.array([default], numpy_dtype(t))
    if found.size not in (1, x.shape[-1] if x.ndim else 1):
        raise node.refuse(f"{name} has {found.size} numbers for {list(x.shape)}")
    return table(node, found if x.ndim else found.reshape(()))


@converter("Scaler", domain=ML)
def _scale(node: Node, x: Any) -> Any:
    given = floats(x)
    offset, scale = (_per_feature(node, given, n, d, given.dtype) for n, d in (("offset", 0), ("scale", 1)))
    return each("scaler", "({0} - {1}) * {2}", given, offset, scale).astype(F32.name)


@converter("Imputer", domain=ML)
def _impute(node: Node, x: Any) -> Any:
    t = x.dtype
    kind = "float" if t.is_float else "int64"
    values = node.attr(f"imputed_value_{kind}s") or []
    if x.ndim == 0 or len(values) not in (1, x.shape[-1]):
        raise node.refuse(f"{len(values)} numbers, imputed_value_{kind}s, for {list(x.shape)}")
    replaced = node.attr(f"replaced_value_{kind}", 0)
    absent = (
        "isnan({0})" if replaced != replaced else f"{{0}} == {number(replaced) if t.is_float else replaced}"
    )
    given = table(node, np.array(values).astype(numpy_dtype(t)))
    return each("imputer", f"if {absent} then {{1}} else {{0}}", x, given)


_NORMS = {
    "MAX": "max(k: abs(X[n, k]))",
    "L1": "sum(k: abs(X[n, k]))",
    "L2": "sqrt(sum(k: X[n, k] * X[n, k]))",
}


@converter("Normalizer", domain=ML)
def _normalize(node: Node, x: Any) -> Any:
    norm, rows = node.word("norm", *_NORMS), matrix(node, x)
    if rows.shape[1] == 0:
        return x.astype(F32.name)
    text = (
        f"op normalizer<T: float>(X: T[N, K]) -> Y: T[N, K] {{ d[n] = max({_NORMS[norm]}, 1e-30) "
        f"Y[n, k] = X[n, k] / d[n] }}"
    )
    return written(text)(rows).reshape(*x.shape).astype(F32.name)


@converter("OneHotEncoder", domain=ML, texts=True)
def _one_hot(node: Node, x: Any) -> Any:
    words, categories = node.attr("cats_strings") or [], node.attr("cats_int64s") or []
    if words and isinstance(x, Texts):
        given = np.equal.outer(x.array, np.array(words, object)).astype(np.float32)
        if not node.attr("zeros", 1) and given.size and not given.any(-1).all():
            raise node.refuse("zeros is 0, and an element is none of the categories")
        return table(node, given)
    if isinstance(x, Texts):
        raise node.refuse("its input is texts, and it has no cats_strings")
    if not categories or len(set(categories)) < len(categories):
        raise node.refuse(f"cats_int64s are {categories[:8]}")
    if not node.attr("zeros", 1):
        raise node.refuse("zeros is 0: that all values are categories is not known before they are there")
    names = axes("i", x.ndim)
    inside = ", ".join([*names, "c"])
    shape = [*x.shape, len(categories)]
    text = (
        f"op one_hot<T: num>(X: {typed('T', x.shape)}, C: i64[{len(categories)}]) -> Y: {typed('f32', shape)} {{ "
        f"Y[{inside}] = if X{'[' + ', '.join(names) + ']' if names else ''} == T(C[c]) then 1 else 0 "
        f"{ranges([*names, 'c'], shape)} }}"
    )
    return written(text)(x, table(node, np.array(categories, np.int64)))


@converter("FeatureVectorizer", domain=ML)
def _joined(node: Node, *given: Any) -> Any:
    sizes = node.attr("inputdimensions") or [v.shape[-1] if v.ndim else 1 for v in given]
    if len(sizes) != len(given) or any(v.ndim not in (1, 2) for v in given) or any(n < 0 for n in sizes):
        raise node.refuse(
            f"inputdimensions are {sizes} for shapes {', '.join(str(list(v.shape)) for v in given)}"
        )
    refuse_large(node.op, [given[0].shape[0], sum(sizes)], F32, True)
    parts = []
    for x, n in zip(given, sizes):
        rows = floats(x).astype(F32.name)
        rows = rows if x.ndim == 2 else rows.reshape(-1, 1)
        if n <= rows.shape[1]:
            parts.append(rows[:, :n])
        else:
            nothing = np.zeros((rows.shape[0], n - rows.shape[1]), np.float32)
            parts.append(ops.concat(rows, table(node, nothing), axis=1))
    return parts[0] if len(parts) == 1 else ops.concat(*parts, axis=1)


def _lists(node: Node, side: str) -> np.ndarray:
    """The keys or values of a table of labels.

    Raises:
        CallError: there are none.
    """
    tensor, words = node.attr(f"{side}_tensor"), node.attr(f"{side}_strings")
    if tensor is not None:
        return np.ravel(tensor.numbers())
    if words:
        return np.array(words, object)
    whole, fractions = node.attr(f"{side}_int64s"), node.attr(f"{side}_floats")
    if not whole and not fractions:
        raise node.refuse(f"it has no {side} of numbers")
    return np.array(whole, np.int64) if whole else np.array(fractions, np.float32)


def _label_of_texts(node: Node, x: Any, keys: np.ndarray, values: np.ndarray, default: Any) -> Any:
    """Labels where keys or values are texts, by a table in Python.

    Raises:
        CallError: texts where the keys are numbers, or the other way round.
    """
    given = x.array if isinstance(x, Texts) else node.known(0)
    if (given.dtype == object) != (keys.dtype == object):
        raise node.refuse("its keys are of another kind than its input")
    names = dict(zip(keys.tolist(), values.tolist()))  # the last of equal keys counts
    found = np.empty(given.shape, values.dtype)
    found.ravel()[:] = [names.get(v, default) for v in given.ravel().tolist()]
    return Texts(found) if values.dtype == object else table(node, found)


@converter("CategoryMapper", domain=ML, texts=True)
def _category(node: Node, x: Any) -> Any:
    words = np.array(node.attr("cats_strings") or [], object)
    places = np.array(node.attr("cats_int64s") or [], np.int64)
    if words.size != places.size:
        raise node.refuse(f"{words.size} cats_strings and {places.size} cats_int64s")
    if isinstance(x, Texts):
        return _label_of_texts(node, x, words, places, node.attr("default_int64", -1))
    return _label_of_texts(node, x, places, words, node.attr("default_string", "_Unused"))


@converter("LabelEncoder", domain=ML, texts=True)
def _label(node: Node, x: Any) -> Any:
    if node.version == 1:
        raise node.refuse("version 1 has a list of classes; version 2 or later is read")
    keys, values = _lists(node, "keys"), _lists(node, "values")
    if keys.shape != values.shape:
        raise node.refuse(f"{keys.size} keys and {values.size} values")
    given = node.attr("default_tensor")
    default = (
        np.ravel(given.numbers())
        if given is not None
        else np.array([node.attr("default_string", "_Unused")], object)
        if values.dtype == object
        else np.array([node.attr("default_int64", -1)], np.int64)
        if values.dtype == np.int64
        else np.array([node.attr("default_float", -0.0)], np.float32)
    ).astype(values.dtype)
    if default.size != 1:
        raise node.refuse(f"the default has {default.size} elements")
    if object in (keys.dtype, values.dtype) or isinstance(x, Texts):
        return _label_of_texts(node, x, keys, values, default[0])
    # The last of equal keys counts; NaN is a key as any other.
    names = axes("i", x.ndim)
    at = f"[{', '.join(names)}]" if names else ""
    same = f"X{at} == K[k]" + (f" or isnan(X{at}) and isnan(K[k])" if x.dtype.is_float else "")
    text = (
        f"op label(X: {typed(x.dtype, x.shape)}, K: {x.dtype}[{keys.size}], V: {Known.of(values).dtype}"
        f"[{keys.size + 1}]) -> Y: {typed(Known.of(values).dtype, x.shape)} {{ "
        f"p{at} = max(k: if {same} then k + 1 else 0) {ranges(names, x.shape)} "
        f"Y{at} = V[p{at} | clamp] {ranges(names, x.shape)} }}"
    )
    held = Known.of(keys.astype(numpy_dtype(x.dtype)))
    return written(text)(x, node.run.tensor(held), table(node, np.concatenate([default, values])))
