"""Operators on texts, which run in Python when a program is made."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.text_values import TEXT, Texts
from texpr.onnx.validation import refuse_large
from texpr.onnx.values import Known


def _plain(text: str) -> str:
    """Without accents: letters that Unicode composes of a base and marks lose the marks."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


@converter("StringNormalizer", control=True, texts=True)
def _normalize(node: Node, x: Any) -> Any:
    if not isinstance(x, Texts) or x.ndim not in (1, 2) or x.ndim == 2 and x.shape[0] != 1:
        raise node.refuse(f"it takes a vector of texts, or one row of them, and got {list(x.shape)}")
    action = node.word("case_change_action", "NONE", "LOWER", "UPPER")
    changed = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}[action]
    exact, stops = node.attr("is_case_sensitive", 0), node.attr("stopwords") or []
    stops = set(stops) if exact else {changed(w) for w in stops}
    words = []
    for text in map(_plain, x.array.ravel()):
        word = text if exact else changed(text)
        kept = " ".join(w for w in word.split(" ") if w not in stops)
        words += [changed(kept)] if kept else []
    found = words or [""]
    return Texts(np.array([found] if x.ndim == 2 else found, object))


@converter("StringConcat", control=True, texts=True)
def _joined(node: Node, x: Any, y: Any) -> Any:
    try:
        a, b = np.broadcast_arrays(x.array, y.array)
    except ValueError:
        raise node.refuse(f"shapes {list(x.shape)} and {list(y.shape)} do not broadcast") from None
    found = np.empty(a.shape, object)
    found.ravel()[:] = [v + w for v, w in zip(a.ravel(), b.ravel())]
    return Texts(found)


@converter("StringSplit", control=True, inferred=False, texts=True)
def _split(node: Node, x: Any) -> Any:
    most = node.attr("maxsplit")
    parts = [v.split(node.attr("delimiter") or None, -1 if most is None else most) for v in x.array.ravel()]
    longest = max(map(len, parts), default=0)
    refuse_large(node.op, [*x.shape, longest], TEXT, True)
    found = np.empty((len(parts), longest), object)
    for row, part in zip(found, parts):
        row[:] = [*part, *[""] * (longest - len(part))]
    counts = np.array([len(p) for p in parts], np.int64).reshape(x.shape)
    return Texts(found.reshape(*x.shape, longest)), Known.of(counts)
