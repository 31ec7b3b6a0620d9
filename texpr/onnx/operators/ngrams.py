"""Counts of short sequences of numbers, as models of texts have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import written
from texpr.onnx.values import Known

_COUNTED = """op count_sequences(X: i64[B, C], P: i64[K, N]; skips) -> Y: i64[B, K] require skips >= 1 {
  Y[b, k] = sum<i64>(s in 0..skips, i in 0..C: if LAST and EQUAL then 1 else 0)
}"""


def _counted(n: int) -> str:
    """The text for sequences of n numbers, each s + 1 places behind the one before."""
    equal = " and ".join(f"X[b, i + {j} * (s + 1) | clamp] == P[k, {j}]" for j in range(n))
    return (
        _COUNTED.replace("LAST", f"i + {n - 1} * (s + 1) < C")
        .replace("EQUAL", equal)
        .replace(", N]", f", {n}]")
    )


def _pools(pool: Sequence[int], starts: Sequence[int]) -> Iterator[tuple[int, np.ndarray]]:
    """Sequences of each length, and the length: `starts` says where those of 1, 2, ... begin."""
    ends = [*starts[1:], len(pool)]
    for n, (start, end) in enumerate(zip(starts, ends), 1):
        yield n, np.array(pool[start:end], np.int64)


@converter("TfIdfVectorizer")
def _vector(node: Node, x: Any) -> Any:
    pool, starts, places = (node.attr(n) for n in ("pool_int64s", "ngram_counts", "ngram_indexes"))
    weights, mode = node.attr("weights"), node.word("mode", "TF", "IDF", "TFIDF")
    least, most, skips = (node.attr(n) for n in ("min_gram_length", "max_gram_length", "max_skip_count"))
    if pool is None or not x.dtype.is_int or x.ndim not in (1, 2) or skips < 0:
        raise node.refuse(f"{x.dtype}{list(x.shape)}; integers in one or two dimensions are read")
    if sorted(starts) != list(starts) or min(starts, default=0) < 0 or max(starts, default=0) > len(pool):
        raise node.refuse(f"ngram_counts are {starts}, and the pool has {len(pool)} numbers")
    rows = x.astype("i64") if x.ndim == 2 else x.astype("i64").reshape(1, -1)
    width, first, found = max(places) + 1, 0, []
    for n, given in _pools(pool, starts):
        if given.size % n:
            raise node.refuse(f"{given.size} numbers of the pool are sequences of {n}")
        count, start = given.size // n, first
        first += count
        if not count or not least <= n <= most:
            continue
        table = np.zeros((count, width))
        here = slice(start, first)
        table[np.arange(count), places[here]] = 1 if weights is None or mode == "TF" else weights[here]
        sequences = node.run.tensor(Known.of(given.reshape(count, n)))
        counted = written(_counted(n))(rows, sequences, skips=1 if n == 1 else skips + 1)
        counted = counted.clip(0, 1) if mode == "IDF" else counted
        found.append(counted.astype("f32") @ node.run.tensor(Known.of(table.astype(np.float32))))
    shape = (*x.shape[:-1], width)
    if not found:
        return Known.of(np.zeros(shape, np.float32))
    return sum(found[1:], found[0]).reshape(shape)
