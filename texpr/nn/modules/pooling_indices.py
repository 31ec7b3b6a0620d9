"""Places of the largest elements in their windows, as torch's `return_indices` says: place in the
plane of the last axes, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

from texpr.compiler import Op, op
from texpr.support.errors import CallError


def window_places(
    x: Any,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    more: Sequence[int],
) -> Any:
    """The places (batch, channels, ...) of the largest elements of windows; the first of equal
    ones, never one of the padding.

    Args:
        more: what is added behind, beyond the padding.
    """
    axes = range(len(kernel))
    out = [
        (n + 2 * p + e - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d, e in zip(x.shape[2:], kernel, stride, padding, dilation, more)
    ]
    reads = [f"{stride[k]}*y{k} + {dilation[k]}*r{k} - {padding[k]}" for k in axes]
    ranges = ", ".join(f"r{k} in 0..{kernel[k]}" for k in axes)
    found = [f"{stride[k]}*y{k} + {dilation[k]}*a{k}[{_at(axes)}] - {padding[k]}" for k in axes]
    inside = " and ".join(f"0 <= {reads[k]} and {reads[k]} < {x.shape[2 + k]}" for k in axes)
    text = f"argmax({ranges} where {inside}: X[n, c, {', '.join(reads)} | -inf])"
    return _places(str(x.dtype), tuple(x.shape), tuple(out), text, tuple(found))(x)


def adaptive_places(x: Any, wanted: Sequence[int]) -> Any:
    """The places of the largest elements of `wanted` windows along each of the last axes."""
    shape, axes = x.shape[2:], range(len(wanted))
    first = [f"((y{k}*{n})//{m})" for k, (n, m) in enumerate(zip(shape, wanted))]
    inside = " and ".join(
        f"({first[k]} + r{k})*{m} < (y{k} + 1)*{n}" for k, (n, m) in enumerate(zip(shape, wanted))
    )
    ranges = ", ".join(f"r{k} in 0..{(n + m - 1) // m + 1}" for k, (n, m) in enumerate(zip(shape, wanted)))
    reads = ", ".join(f"{first[k]} + r{k}" for k in axes)
    found = [f"{first[k]} + a{k}[{_at(axes)}]" for k in axes]
    text = f"argmax({ranges}: if {inside} then X[n, c, {reads} | -inf] else -inf)"
    return _places(str(x.dtype), tuple(x.shape), tuple(wanted), text, tuple(found))(x)


@lru_cache(maxsize=256)
def _places(
    dtype: str, shape: tuple[int, ...], out: tuple[int, ...], largest: str, found: tuple[str, ...]
) -> Op:
    """The operator of an argmax whose results are places inside of windows."""
    if min(out, default=1) < 1:
        raise CallError(f"the windows do not fit into {list(shape[2:])}", code="shape")
    axes = range(len(out))
    head, dims = f"{shape[0]}, {shape[1]}, ", ", ".join(map(str, out))
    lets = "\n".join(f"  let a{k}: i64[{head}{dims}]" for k in axes)
    place = " + ".join(f"({found[k]})*{prod(shape[2 + k + 1 :])}" for k in axes)
    return op(f"""op largest_places(X: {dtype}[{", ".join(map(str, shape))}]) -> I: i64[{head}{dims}] {{
{lets}
  {", ".join(f"a{k}[{_at(axes)}]" for k in axes)} = {largest}
  I[{_at(axes)}] = {place}
}}""")


def _at(axes: Sequence[int]) -> str:
    return ", ".join(["n", "c", *(f"y{k}" for k in axes)])
