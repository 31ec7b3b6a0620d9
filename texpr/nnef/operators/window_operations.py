"""Windows that move over tensors: convolutions, pools, and other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import I64, numpy_dtype
from texpr.nnef.graph_values import Known
from texpr.nnef.operation_table import Operation, operation
from texpr.nnef.operation_texts import at, each, names, number, ranges, typed, wide, written
from texpr.nnef.operators.shape_operations import padded
from texpr.support.frozen_dataclass import frozen

_LETTERS = "UHW"


@frozen
class Window:
    """Places of windows, by axis.

    Attributes:
        size, stride, step: elements of a window, elements from one window to the next, elements
        from one of a window to the next. before, after: elements around the tensor.
        count: how many windows there are.
    """

    size: list[int]
    stride: list[int]
    step: list[int]
    before: list[int]
    after: list[int]
    count: list[int]

    @property
    def active(self) -> list[int]:
        """Axes along which windows are more than single elements in turn."""
        each_axis = zip(self.size, self.stride, self.before, self.after)
        return [k for k, (n, s, b, a) in enumerate(each_axis) if (n, s, b, a) != (1, 1, 0, 0)]


def window(
    about: Operation, extents: Sequence[int], size: Sequence[int], padding: Any, stride: Any, dilation: Any
) -> Window:
    """The windows that attributes say. Without padding there are `ceil(n / stride)` of them, and the
    elements around are shared out evenly, the last one behind.
    """
    rank = len(extents)
    steps, strides = list(dilation or [1] * rank), list(stride or [1] * rank)
    if {len(size), len(steps), len(strides), len(padding or extents)} != {rank}:
        raise about.refuse(
            f"its attributes are not of {rank} axes: size {list(size)}, padding {padding}, stride {stride}"
        )
    if any(type(n) is not int or n < 1 for n in (*size, *steps, *strides)):
        raise about.refuse(f"size {list(size)}, stride {strides}, dilation {steps}: all are at least 1")
    span = [d * (k - 1) + 1 for d, k in zip(steps, size)]
    if padding:
        before, after = [p for p, _ in padding], [q for _, q in padding]
    else:
        total = [max((-(-n // s) - 1) * s + k - n, 0) for n, s, k in zip(extents, strides, span)]
        before, after = [t // 2 for t in total], [t - t // 2 for t in total]
    free = [n + b + a - k for n, b, a, k in zip(extents, before, after, span)]
    if any(f < 0 for f in free):
        raise about.refuse(
            f"windows of {span} do not fit into {list(extents)} with padding {before}, {after}"
        )
    return Window(list(size), strides, steps, before, after, [f // s + 1 for f, s in zip(free, strides)])


def places(w: Window, out: Sequence[str], inside: Sequence[str]) -> list[str]:
    """Indices of the tensor for an element of a window."""
    found = []
    for k, (o, i) in enumerate(zip(out, inside)):
        whole = w.size[k] == 1 and w.stride[k] == 1 and not w.before[k]
        found.append(o if whole else f"{w.stride[k]}*{o} + {w.step[k]}*{i} - {w.before[k]}")
    return found


def _within(w: Window, inside: Sequence[str]) -> str:
    """The elements of a window, in order."""
    chosen = [k for k in range(len(w.size)) if w.size[k] > 1] or [len(w.size) - 1]
    return ", ".join(f"{inside[k]} in 0..{w.size[k]}" for k in chosen)


def _indices(w: Window) -> tuple[list[str], list[str]]:
    """Names for windows, and for elements of them: 0 where a window has one."""
    rank = len(w.size)
    inside = names("r", rank)
    chosen = [k for k in range(rank) if w.size[k] > 1] or [rank - 1]
    return names("y", rank), [n if k in chosen else "0" for k, n in enumerate(inside)]


@operation("conv", numbers=True)
def _convolution(
    about: Operation, input: Any, filter: Any, bias: Any, border: str, padding: Any, stride: Any, dilation: Any,  # noqa: A002
    groups: int,
) -> Any:  # fmt: skip
    rank, parts = input.ndim - 2, groups or input.shape[1]
    if (
        rank < 1
        or filter.ndim != input.ndim
        or input.shape[1] != filter.shape[1] * parts
        or filter.shape[0] % parts
    ):
        raise about.refuse(
            f"a filter of shape {list(filter.shape)} in {parts} groups on an input of shape {list(input.shape)}"
        )
    w = window(about, input.shape[2:], filter.shape[2:], padding, stride, dilation)
    before = list(w.before)
    if before != w.after or border not in ("constant", "ignore") or min(before) < 0:
        around = [(0, 0), (0, 0), *zip(w.before, w.after)]
        input, before = padded(about, input, around, border), [0] * rank  # noqa: A001
    given = (input, filter, *_bias(about, bias, filter.shape[0]))
    if rank > 3:
        raise about.refuse(f"windows over {rank} axes; up to 3 are read")
    letters = _LETTERS[-rank:]
    constants = {
        f"{kind}{c}": v
        for kind, values in (("S", w.stride), ("P", before), ("D", w.step))
        for c, v in zip(letters, values)
    }
    if rank == 2 and parts == 1:
        return ops.conv2d(*given, **constants)
    return (ops.conv2d_grouped if rank == 2 else getattr(ops, f"conv{rank}d"))(*given, G=parts, **constants)


def _bias(about: Operation, bias: Any, channels: int) -> tuple[Any, ...]:
    """A bias for each channel; nothing where it is 0."""
    if not hasattr(bias, "size"):
        if bias == 0:
            return ()
        bias = about.tensor([float(bias)] * channels, about.evaluation.float_type)
    if bias.size == channels:
        return (bias.reshape(channels),)
    if bias.size == 1:
        return (bias.reshape(1).broadcast_to(channels),)
    raise about.refuse(f"a bias of shape {list(bias.shape)} for {channels} channels")


@operation("deconv", numbers=True)
def _transposed(
    about: Operation, input: Any, filter: Any, bias: Any, border: str, padding: Any, stride: Any, dilation: Any,  # noqa: A002
    output_shape: Any, groups: int,
) -> Any:  # fmt: skip
    about.word("border", border, "constant", "ignore")
    if about.evaluation.tract and filter.ndim == input.ndim and groups and filter.shape[0] % groups == 0:
        filter = _by_inputs(filter, groups)  # noqa: A001
    rank, parts = input.ndim - 2, groups or (output_shape[1] if output_shape else filter.shape[0])
    if rank < 1 or filter.ndim != input.ndim or input.shape[1] != filter.shape[0] or filter.shape[0] % parts:
        raise about.refuse(
            f"a filter of shape {list(filter.shape)} in {parts} groups on an input of shape {list(input.shape)}"
        )
    w = _spread(about, input.shape[2:], filter.shape[2:], padding, stride, dilation, output_shape)
    c, k, t = filter.shape[0] // parts, filter.shape[1], input.dtype
    added = _bias(about, bias, k * parts)
    inside, image, out = names("r", rank), names("x", rank), names("y", rank)
    spread = ", ".join(
        f"{s}*{i} + {d}*{r} - {b}" for s, i, d, r, b in zip(w.stride, image, w.step, inside, w.before)
    )
    terms = ", ".join((*inside, *image))
    extents = (input.shape[0], parts, k, *w.size, *input.shape[2:])
    spans = ranges(("n", "g", "k", *inside, *image), extents)
    extra, first = (f", bias: {t}[({parts}, {k})]", "bias[(g, k)]") if added else ("", "0")
    return written(
        f"op nnef_deconv(X: {t}[{input.shape[0]}, ({parts}, {c}), {', '.join(map(str, input.shape[2:]))}], "
        f"W: {t}[({parts}, {c}), {k}, {', '.join(map(str, w.size))}]{extra}) -> "
        f"Y: {t}[{input.shape[0]}, ({parts}, {k}), {', '.join(map(str, w.count))}] {{ "
        f"P[n, g, k, {terms}] = sum(c: X[n, (g, c), {', '.join(image)}] * W[(g, c), k, {', '.join(inside)}])  "
        f"Y[n, (g, k), {', '.join(out)}] = {first}  Y[n, (g, k), {spread} | drop] += P[n, g, k, {terms}]  "
        f"{spans} }}"
    )(input, filter, *added)


def _by_inputs(filter: Any, groups: int) -> Any:  # noqa: A002
    """A filter of tract, (outputs, inputs of a group, ...), as NNEF has it: (inputs, outputs of a
    group, ...).
    """
    size = filter.shape[2:]
    parts = filter.reshape(groups, filter.shape[0] // groups, filter.shape[1], *size)
    return parts.swapaxes(1, 2).reshape(groups * filter.shape[1], filter.shape[0] // groups, *size)


def _spread(
    about: Operation, extents: Sequence[int], size: Sequence[int], padding: Any, stride: Any, dilation: Any,
    wanted: Any,
) -> Window:  # fmt: skip
    """Windows that are written instead of read; `count` is the extents of what they are written to."""
    rank = len(extents)
    steps, strides = list(dilation or [1] * rank), list(stride or [1] * rank)
    wanted = list(wanted)[-rank:] if wanted else None
    if {len(size), len(steps), len(strides), len(padding or extents)} != {rank}:
        raise about.refuse(f"its attributes are not of {rank} axes")
    span = [d * (k - 1) + 1 for d, k in zip(steps, size)]
    whole = [s * (n - 1) + k for s, n, k in zip(strides, extents, span)]
    if padding:
        before, after = [p for p, _ in padding], [q for _, q in padding]
        count = wanted or [m - b - a for m, b, a in zip(whole, before, after)]
    else:
        count = wanted or [n * s for n, s in zip(extents, strides)]
        total = [max(m - c, 0) for m, c in zip(whole, count)]
        before, after = [t // 2 for t in total], [t - t // 2 for t in total]
    if any(type(c) is not int or not 0 < c <= 1 << 31 for c in count):
        raise about.refuse(f"an output of shape {count}")
    return Window(list(size), strides, steps, before, after, count)


def _outside(about: Operation, x: Any, w: Window, border: str, low: str) -> tuple[Any, Window, str]:
    """A tensor, its windows, and what is read outside of it.

    Args:
        low: what is read where the border is ignored.
    """
    about.word("border", border, "constant", "ignore", "replicate", "reflect", "reflect-even")
    if border in ("constant", "ignore"):
        return x, w, "0" if border == "constant" else low
    if border == "replicate":
        return x, w, "clamp"
    rank = len(w.size)
    moved = Window(w.size, w.stride, w.step, [0] * rank, [0] * rank, w.count)
    return padded(about, x, list(zip(w.before, w.after)), border), moved, "0"


@operation("max_pool", "max_pool_with_index", "argmax_pool")
def _max_pool(
    about: Operation, input: Any, size: Any, border: str, padding: Any, stride: Any, dilation: Any  # noqa: A002
) -> Any:  # fmt: skip
    w = window(about, input.shape, size, padding, stride, dilation)
    t = input.dtype
    border = "ignore" if about.evaluation.tract and border == "constant" else border
    x, w, outside = _outside(about, input, w, border, "-inf" if t.is_float else f"lowest({t})")
    out, inside = _indices(w)
    read = f"X[{', '.join(places(w, out, inside))} | {outside}]"
    value, spans = f"max({_within(w, inside)}: {read})", ranges(out, w.count)
    if about.name == "max_pool":
        return written(
            f"op nnef_max_pool(X: {typed(t, x.shape)}) -> Y: {typed(t, w.count)} {{ Y{at(out)} = {value}  {spans} }}"
        )(x)
    place = "0"
    for n, name in zip(w.size, inside):
        place = name if place == "0" else f"({place})*{n} + {name}"
    found = written(
        f"op nnef_max_places(X: {typed(t, x.shape)}) -> (Y: {typed(t, w.count)}, I: {typed('i64', w.count)}) {{ "
        f"Y{at(out)} = {value}  {spans}  I{at(out)} = min({_within(w, inside)}: if {read} == Y{at(out)} then "
        f"i64({place}) else {prod(w.size) - 1})  {spans} }}"
    )(x)
    return found if about.name == "max_pool_with_index" else found[1]


@operation("box", "avg_pool")
def _box(
    about: Operation, input: Any, size: Any, border: str, padding: Any, stride: Any, dilation: Any,  # noqa: A002
    normalize: bool = True,
) -> Any:  # fmt: skip
    w = window(about, input.shape, size, padding, stride, dilation)
    t = input.dtype
    x, w, outside = _outside(about, input, w, border, "0")
    out, inside = _indices(w)
    value = f"sum({_within(w, inside)}: X[{', '.join(places(w, out, inside))} | {outside}])"
    if normalize:
        value = f"{value} / {_count(w, out, inside, x.shape, t, border)}"
    return written(
        f"op nnef_box(X: {typed(t, x.shape)}) -> Y: {typed(t, w.count)} {{ Y{at(out)} = {t}({value})  "
        f"{ranges(out, w.count)} }}"
    )(x)


def _count(w: Window, out: list[str], inside: list[str], extents: Sequence[int], t: Any, border: str) -> str:
    """Number of elements of a window that count: all, or those inside where the border is ignored."""
    if border != "ignore" or not any((*w.before, *w.after)):
        return number(float(prod(w.size)))
    spots = places(w, out, inside)
    ends = " and ".join(
        f"({s}) >= 0 and ({s}) < {n}" for s, n, b, a in zip(spots, extents, w.before, w.after) if b or a
    )
    return f"sum<{wide(t)}>({_within(w, inside)}: if {ends} then 1 else 0)"


@operation("debox")
def _debox(
    about: Operation, input: Any, size: Any, border: str, padding: Any, stride: Any, dilation: Any,  # noqa: A002
    output_shape: Any, normalize: bool,
) -> Any:  # fmt: skip
    about.word("border", border, "constant", "ignore")
    w = _spread(about, input.shape, size, padding, stride, dilation, output_shape)
    found = _written_back(input, w, f"X{at(names('x', input.ndim))}", input.shape)
    return each("scale", f"{{0}} * {1 / prod(w.size)!r}", found) if normalize else found


def _written_back(x: Any, w: Window, value: str, extents: Sequence[int], *more: Any, extra: str = "") -> Any:
    """Every element added to all elements of its window, as far as these are inside."""
    rank, t = len(w.size), x.dtype
    inside, image, out = names("r", rank), names("x", rank), names("y", rank)
    spread = ", ".join(
        f"{s}*{i} + {d}*{r} - {b}" for s, i, d, r, b in zip(w.stride, image, w.step, inside, w.before)
    )
    return written(
        f"op nnef_spread(X: {typed(t, extents)}{extra}) -> Y: {typed(t, w.count)} {{ Y{at(out)} = 0  "
        f"Y[{spread} | drop] += {value}  {ranges((*image, *inside), (*extents, *w.size))} }}"
    )(x, *more)


@operation("sample")
def _sample(
    about: Operation, input: Any, index: Any, size: Any, border: str, padding: Any, stride: Any, dilation: Any  # noqa: A002
) -> Any:  # fmt: skip
    w = window(about, input.shape, size, padding, stride, dilation)
    if list(index.shape) != w.count:
        raise about.refuse(f"places of shape {list(index.shape)} for {w.count} windows")
    t = input.dtype
    x, w, outside = _outside(about, input, w, border, "0")
    out = names("y", len(w.size))
    inside = [
        f"(I{at(out)} // {prod(w.size[k + 1 :])} % {w.size[k]})" if w.size[k] > 1 else "0"
        for k in range(len(w.size))
    ]
    spots = ", ".join(places(w, out, inside))
    return written(
        f"op nnef_sample(X: {typed(t, x.shape)}, I: {typed(index.dtype, index.shape)}) -> Y: {typed(t, w.count)} {{ "
        f"Y{at(out)} = X[{spots} | {outside}]  {ranges(out, w.count)} }}"
    )(x, index)


@operation("desample")
def _desample(
    about: Operation, input: Any, index: Any, size: Any, border: str, padding: Any, stride: Any, dilation: Any,  # noqa: A002
    output_shape: Any,
) -> Any:  # fmt: skip
    about.word("border", border, "constant", "ignore")
    if tuple(index.shape) != tuple(input.shape):
        raise about.refuse(f"places of shape {list(index.shape)} for an input of shape {list(input.shape)}")
    w = _spread(about, input.shape, size, padding, stride, dilation, output_shape)
    image, inside = names("x", input.ndim), names("r", input.ndim)
    place = inside[0]
    for n, name in zip(w.size[1:], inside[1:]):
        place = f"({place})*{n} + {name}"
    value = f"if I{at(image)} == {place} then X{at(image)} else 0"
    return _written_back(input, w, value, input.shape, index, extra=f", I: {typed(index.dtype, index.shape)}")


@operation("nearest_downsample")
def _nearest_down(about: Operation, input: Any, factor: Any) -> Any:  # noqa: A002
    _check_factor(about, input, factor)
    return input[
        (
            slice(None),
            slice(None),
            *(slice(None, n // f * f or None, f) for n, f in zip(input.shape[2:], factor)),
        )
    ]


@operation("nearest_upsample")
def _nearest_up(about: Operation, input: Any, factor: Any) -> Any:  # noqa: A002
    _check_factor(about, input, factor)
    for k, f in enumerate(factor):
        if f > 1:
            places_ = np.repeat(np.arange(input.shape[2 + k]), f)
            input = ops.take(input, about.tensor(Known.of(places_)), axis=2 + k)  # noqa: A001
    return input


def _check_factor(about: Operation, x: Any, factor: Any) -> None:
    if len(factor) != x.ndim - 2 or any(type(f) is not int or f < 1 for f in factor):
        raise about.refuse(f"factors {factor} for an input of {x.ndim} axes")


@operation("multilinear_upsample")
def _multilinear(about: Operation, input: Any, factor: Any, method: str, border: str) -> Any:  # noqa: A002
    about.word("method", method, "symmetric", "asymmetric", "aligned")
    about.word("border", border, "replicate", "constant")
    _check_factor(about, input, factor)
    for k, f in enumerate(factor):
        n = input.shape[2 + k]
        i = np.arange(n * f, dtype=np.float64)
        spots = {
            "symmetric": (i + 0.5) / f - 0.5,
            "asymmetric": i / f,
            "aligned": i * (n - 1) / max(n * f - 1, 1),
        }[method]
        input = interpolated(about, input, 2 + k, spots, border == "constant" and method != "aligned")  # noqa: A001
    return input


_BETWEEN = """op nnef_between<T: float>(X: T[*A:axis, N, *B], P: i64[M], W: T[M, 2]; axis = 0) -> Y: T[*A, M, *B] {
  Y[*a, i, *b] = W[i, 0] * X[*a, P[i], *b | clamp] + W[i, 1] * X[*a, P[i] + 1, *b | clamp]
}"""


def interpolated(about: Operation, x: Any, axis: int, spots: np.ndarray, zero_outside: bool = False) -> Any:
    """Elements between those of an axis, linearly; outside is the border, or 0."""
    n, low = x.shape[axis], np.floor(spots).astype(np.int64)
    weights = np.stack([1 - (spots - low), spots - low], 1)
    if zero_outside:
        both = np.stack([low, low + 1], 1)
        weights = np.where((both >= 0) & (both < n), weights, 0)
    held = Known.of(weights.astype(numpy_dtype(wide(x.dtype))), x.dtype)
    return written(_BETWEEN)(
        x, about.tensor(Known.of(low.astype(np.int64), I64)), about.tensor(held), axis=axis
    )
