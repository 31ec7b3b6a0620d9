"""Convolutions and pooling: windows that move over images of any number of axes."""

from __future__ import annotations

from math import prod
from typing import Any

from texpr import ops
from texpr.ir.dtypes import I32
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import at, axes, each, number, ranges, typed, wide, written
from texpr.support.frozen_dataclass import frozen

_AUTO = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@frozen
class Window:
    """Places of windows, by axis.

    Attributes:
        size, stride, step: elements of a window, elements from one window to the next, elements
        from one of a window to the next. before, after: elements around the image.
        count: how many windows there are.
    """

    size: list[int]
    stride: list[int]
    step: list[int]
    before: list[int]
    after: list[int]
    count: list[int]

    @property
    def by_axis(self) -> tuple[list[int], ...]:
        """All numbers, in the order of the attributes."""
        return self.size, self.stride, self.step, self.before, self.after, self.count


def window(node: Node, extents: tuple[int, ...], size: list[int]) -> Window:
    """The windows that the attributes of a node say."""
    rank = len(extents)
    stride, step = node.attr("strides") or [1] * rank, node.attr("dilations") or [1] * rank
    pads, auto = node.attr("pads") or [0] * 2 * rank, node.word("auto_pad", *_AUTO)
    before, after = list(pads[:rank]), list(pads[rank:])
    span = [d * (k - 1) + 1 for d, k in zip(step, size)]
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        total = [max((-(-n // s) - 1) * s + k - n, 0) for n, s, k in zip(extents, stride, span)]
        less = [t // 2 for t in total]
        more = [t - t // 2 for t in total]
        before, after = (less, more) if auto == "SAME_UPPER" else (more, less)
    elif auto == "VALID":
        before, after = [0] * rank, [0] * rank
    free = [n + b + a - k for n, b, a, k in zip(extents, before, after, span)]
    if any(f < 0 for f in free):
        raise node.refuse(f"windows of {span} do not fit into {list(extents)}")
    count = [f // s + 1 for f, s in zip(free, stride)]
    if node.attr("ceil_mode", 0):
        count = [-(-f // s) + 1 for f, s in zip(free, stride)]
        count = [c - 1 if (c - 1) * s >= n + b else c for c, s, n, b in zip(count, stride, extents, before)]
    return Window(list(size), list(stride), list(step), before, after, count)


def places(w: Window, out: list[str], inside: list[str]) -> list[str]:
    """Indices of the image for an element of a window."""
    return [f"{s}*{o} + {d}*{i} - {b}" for s, o, d, i, b in zip(w.stride, out, w.step, inside, w.before)]


@converter("Conv")
def _convolution(node: Node, x: Any, weight: Any, bias: Any = None) -> Any:
    w, groups = window(node, x.shape[2:], list(weight.shape[2:])), node.attr("group", 1)
    return convolved(node, x, weight, bias, w, groups)


def convolved(node: Node, x: Any, weight: Any, bias: Any, w: Window, groups: int) -> Any:
    """A convolution by the operator of the library for its rank, if there is one."""
    rank = x.ndim - 2
    flat = next((k for k in range(rank) if rank > 1 and _is_flat(x, weight, w, k)), None)
    if flat is not None:
        rest = Window(*([v for j, v in enumerate(each) if j != flat] for each in w.by_axis))
        found = convolved(node, x.squeeze(2 + flat), weight.squeeze(2 + flat), bias, rest, groups)
        return found.expand_dims(2 + flat)
    if rank not in (1, 2, 3):
        return _any_rank(x, weight, w, groups, *(() if bias is None else (bias,)))
    before = list(w.before)
    if before != w.after:
        for k, (b, a) in enumerate(zip(w.before, w.after)):
            x = ops.pad(x, axis=2 + k, before=b, after=a) if b or a else x
        before = [0] * rank
    letters = "UHW"[-rank:]
    constants = {
        f"{kind}{c}": v
        for kind, values in (("S", w.stride), ("P", before), ("D", w.step))
        for c, v in zip(letters, values)
    }
    given = (x, weight) if bias is None else (x, weight, bias)
    if rank == 2 and groups == 1:
        return ops.conv2d(*given, **constants)
    return (ops.conv2d_grouped if rank == 2 else getattr(ops, f"conv{rank}d"))(*given, G=groups, **constants)


def _is_flat(x: Any, weight: Any, w: Window, k: int) -> bool:
    """True for an axis of one element in the image, the windows and the result: exporters write a
    convolution over one axis as one over two.
    """
    return x.shape[2 + k] == weight.shape[2 + k] == w.count[k] == 1 and not w.before[k] and not w.after[k]


@converter("ConvTranspose")
def _transposed(node: Node, x: Any, weight: Any, bias: Any = None) -> Any:
    rank, groups = x.ndim - 2, node.attr("group", 1)
    size, stride = list(weight.shape[2:]), node.attr("strides") or [1] * rank
    step, extra = node.attr("dilations") or [1] * rank, node.attr("output_padding") or [0] * rank
    whole = [
        s * (n - 1) + d * (k - 1) + 1 + e for s, n, d, k, e in zip(stride, x.shape[2:], step, size, extra)
    ]
    pads, auto, wanted = (
        node.attr("pads") or [0] * 2 * rank,
        node.word("auto_pad", *_AUTO),
        node.attr("output_shape"),
    )
    before, after = list(pads[:rank]), list(pads[rank:])
    if wanted or auto in ("SAME_UPPER", "SAME_LOWER"):
        wanted = list(wanted)[-rank:] if wanted else [n * s for n, s in zip(x.shape[2:], stride)]
        total = [max(m - n, 0) for m, n in zip(whole, wanted)]
        less, more = [t // 2 for t in total], [t - t // 2 for t in total]
        before, after = (less, more) if auto == "SAME_UPPER" else (more, less)
        whole = [max(m, n) for m, n in zip(whole, wanted)]
    count = [m - b - a for m, b, a in zip(whole, before, after)]
    out, inside, image = axes("y", rank), axes("r", rank), axes("x", rank)
    t, c, k = x.dtype, x.shape[1] // groups, weight.shape[1]
    spread = ", ".join(
        f"{s}*{i} + {d}*{r} - {b}" for s, i, d, r, b in zip(stride, image, step, inside, before)
    )
    terms = ", ".join((*inside, *image))
    ranges = ", ".join(
        f"{i} in 0..{m}"
        for i, m in zip(("n", "g", "k", *inside, *image), (x.shape[0], groups, k, *size, *x.shape[2:]))
    )
    bias_type, first = ("", "0") if bias is None else (f", bias: {t}[({groups}, {k})]", "bias[(g, k)]")
    text = (
        f"op conv_transpose(X: {t}[{x.shape[0]}, ({groups}, {c}), {', '.join(map(str, x.shape[2:]))}], "
        f"W: {t}[({groups}, {c}), {k}, {', '.join(map(str, size))}]{bias_type}) -> "
        f"Y: {t}[{x.shape[0]}, ({groups}, {k}), {', '.join(map(str, count))}] {{ "
        f"P[n, g, k, {terms}] = sum(c: X[n, (g, c), {', '.join(image)}] * W[(g, c), k, {', '.join(inside)}]) "
        f" "
        f"Y[n, (g, k), {', '.join(out)}] = {first}  Y[n, (g, k), {spread} | drop] += P[n, g, k, {terms}]  "
        f"for {ranges} }}"
    )
    return written(text)(x, weight, *(() if bias is None else (bias,)))


@converter("ConvInteger")
def _convolution_of_integers(node: Node, x: Any, weight: Any, x_zero: Any = None, w_zero: Any = None) -> Any:
    return integer_convolution(node, x, weight, x_zero, w_zero)


def integer_convolution(node: Node, x: Any, weight: Any, x_zero: Any, w_zero: Any) -> Any:
    """A convolution of small integers without their zero points, in i32."""
    left, right = x.astype("i32"), weight.astype("i32")
    left = (
        left
        if x_zero is None
        else each("less", "{0} - {1}", left, x_zero.astype("i32").reshape(()), result=I32)
    )
    if w_zero is not None:
        zero = w_zero.astype("i32")
        zero = zero.reshape(-1, *[1] * (weight.ndim - 1)) if zero.size > 1 else zero.reshape(())
        right = each("less", "{0} - {1}", right, zero, result=I32)
    w, groups = window(node, x.shape[2:], list(weight.shape[2:])), node.attr("group", 1)
    return _any_rank(left, right, w, groups)


def _any_rank(x: Any, weight: Any, w: Window, groups: int, *bias: Any) -> Any:
    """A convolution of any number of axes, of integers too."""
    rank, t = x.ndim - 2, x.dtype
    out, inside = axes("y", rank), axes("r", rank)
    k, c = weight.shape[0] // groups, weight.shape[1]
    more, first = (f", bias: {t}[({groups}, {k})]", "bias[(g, k)] + ") if bias else ("", "")
    text = (
        f"op conv_any(X: {t}[{x.shape[0]}, ({groups}, {c}), {', '.join(map(str, x.shape[2:]))}], "
        f"W: {t}[({groups}, {k}), {c}, {', '.join(map(str, w.size))}]{more}) -> "
        f"Y: {t}[{x.shape[0]}, ({groups}, {k}), {', '.join(map(str, w.count))}] {{ Y[n, (g, k), "
        f"{', '.join(out)}] = {first}"
        f"sum(c, {', '.join(inside)}: X[n, (g, c), {', '.join(places(w, out, inside))} | 0] * W[(g, k), c, "
        f"{', '.join(inside)}])  "
        f"for n in 0..{x.shape[0]}, g in 0..{groups}, k in 0..{k}, {ranges(out, w.count)[4:]} }}"
    )
    return written(text)(x, weight, *bias)


@converter("MaxPool")
def _max_pool(node: Node, x: Any) -> Any:
    w = window(node, x.shape[2:], node.attr("kernel_shape"))
    result = [*x.shape[:2], *w.count]
    rank = len(w.size)
    out, inside = axes("y", rank), axes("r", rank)
    within = ", ".join(f"{r} in 0..{k}" for r, k in zip(inside, w.size))
    spots, t = places(w, out, inside), x.dtype
    low = "-inf" if t.is_float else f"lowest({t})"
    whole = ["n", "c", *out]
    value = f"max({within}: X[n, c, {', '.join(spots)} | {low}])"
    spans = ranges(whole, result)
    if len(node.outputs) < 2 or not node.outputs[1]:
        return written(
            f"op maxpool(X: {typed(t, x.shape)}) -> Y: {typed(t, result)} {{ Y{at(whole)} = {value}  {spans} "
            f"}}"
        )(x)
    return _max_places(node, x, w, result, value)


def _max_places(node: Node, x: Any, w: Window, result: list[int], value: str) -> Any:
    """The largest elements, and the place of the first element of each window that is it: inside
    of the image, as padding is no place.
    """
    rank, t, extents = len(w.size), x.dtype, x.shape[2:]
    out, inside = axes("y", rank), axes("r", rank)
    whole, spots = ["n", "c", *out], places(w, out, inside)
    number, place = "0", "0"
    for k in range(rank):
        number = f"({number}) * {w.size[k]} + {inside[k]}"
    found = places(
        w, out, [f"(first{at(whole)} // {prod(w.size[k + 1 :])} % {w.size[k]})" for k in range(rank)]
    )
    for k in range(rank)[::-1] if node.attr("storage_order", 0) else range(rank):
        place = f"({place}) * {extents[k]} + {found[k]}"
    ends = " and ".join(f"({s}) >= 0 and ({s}) < {n}" for s, n in zip(spots, extents))
    read, spans = f"X[n, c, {', '.join(spots)} | clamp]", ranges(whole, result)
    equal = f"({read} == Y{at(whole)}" + (f" or isnan({read}))" if t.is_float else ")")
    within = ", ".join(f"{r} in 0..{k}" for r, k in zip(inside, w.size))
    return written(
        f"op maxpool(X: {typed(t, x.shape)}) -> (Y: {typed(t, result)}, I: {typed('i64', result)}) {{ "
        f"let first: {typed('i64', result)}  Y{at(whole)} = {value}  {spans}  "
        f"first{at(whole)} = min({within}: if {ends} and {equal} then {number} else {prod(w.size)})  {spans} "
        f" "
        f"I{at(whole)} = (n*{x.shape[1]} + c) * {prod(extents)} + {place}  {spans} }}"
    )(x)


@converter("AveragePool", "LpPool")
def _average_pool(node: Node, x: Any) -> Any:
    w = window(node, x.shape[2:], node.attr("kernel_shape"))
    result, rank, t = [*x.shape[:2], *w.count], len(w.size), x.dtype
    out, inside = axes("y", rank), axes("r", rank)
    within = ", ".join(f"{r} in 0..{k}" for r, k in zip(inside, w.size))
    read = f"X[n, c, {', '.join(places(w, out, inside))} | 0]"
    if node.op == "LpPool":
        p = node.order()
        value = f"{t}(sum({within}: abs({wide(t)}({read})) ** {number(p)}) ** {number(1 / p)})"
    else:
        # Elements of a window that count: those inside of the image, or of the image and its
        # padding.
        around = bool(node.attr("count_include_pad", 0))
        spots = places(w, out, inside)
        ends = [
            f"({s}) >= {-b if around else 0} and ({s}) < {n + a if around else n}"
            for s, b, a, n in zip(spots, w.before, w.after, x.shape[2:])
        ]
        value = (
            f"{t}(sum({within}: {read}) / sum<{'f32' if t.bits < 32 else t}>({within}: if "
            f"{' and '.join(ends)} then 1 else 0))"
        )
    return written(
        f"op pool(X: {typed(t, x.shape)}) -> Y: {typed(t, result)} {{ Y{at(['n', 'c', *out])} = {value}  "
        f"{ranges(['n', 'c', *out], result)} }}"
    )(x)
