"""Operators that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import BOOL, I64, DType, numpy_dtype
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import at, axes, ranges, typed, written
from texpr.onnx.values import Known


@converter("Reshape", known=(1,))
def _reshape(node: Node, x: Any, shape: Any = None) -> Any:
    wanted = node.ints(1, "shape") or []
    if not node.attr("allowzero", 0):
        wanted = [x.shape[k] if n == 0 else n for k, n in enumerate(wanted)]
    if x.size == 0 and -1 in wanted:
        wanted[wanted.index(-1)] = 0
    return x.reshape(tuple(wanted))


@converter("Flatten")
def _flatten(node: Node, x: Any) -> Any:
    axis = node.attr("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(
        int(np.prod(x.shape[:axis], dtype=np.int64)), int(np.prod(x.shape[axis:], dtype=np.int64))
    )


@converter("Transpose")
def _transpose(node: Node, x: Any) -> Any:
    return x.transpose(*(node.attr("perm") or range(x.ndim)[::-1])) if x.ndim > 1 else x


@converter("Squeeze", known=(1,))
def _squeeze(node: Node, x: Any, _: Any = None) -> Any:
    given = node.ints(1, "axes")
    return x.squeeze(None if given is None else tuple(given))


@converter("Unsqueeze", known=(1,))
def _unsqueeze(node: Node, x: Any, _: Any = None) -> Any:
    given = node.ints(1, "axes") or []
    rank = x.ndim + len(given)
    new = {a % rank for a in given}
    rest = iter(x.shape)
    return x.reshape(tuple(1 if k in new else next(rest) for k in range(rank)))


@converter("Concat")
def _concat(node: Node, *given: Any) -> Any:
    axis = node.axis(node.attr("axis", 1), given[0].ndim)  # the default is that of versions before 4
    full = [x for x in given if x.shape[axis]] or [given[0]]
    return full[0] if len(full) == 1 else ops.concat(full, axis=axis)


def part(x: Any, axis: int, start: int, stop: int) -> Any:
    """Elements start to stop of an axis."""
    return x[(*[slice(None)] * axis, slice(start, stop))]


@converter("Split", known=(1,), inferred=False)
def _split(node: Node, x: Any, _: Any = None) -> Any:
    axis, count = node.attr("axis", 0), len(node.outputs)
    if not -x.ndim <= axis < x.ndim or node.attr("num_outputs", count) != count:
        raise node.refuse(
            f"{count} parts along axis {axis} of {list(x.shape)}, num_outputs is "
            f"{node.attr('num_outputs', count)}"
        )
    n = x.shape[axis]
    largest = -(-n // count)
    sizes = node.ints(1, "split") or [min(largest, max(n - k * largest, 0)) for k in range(count)]
    if len(sizes) != count or min(sizes) < 0 or sum(sizes) != n:
        raise node.refuse(f"parts of {sizes} elements of an axis of {n}, and {count} outputs")
    axis %= x.ndim
    ends = np.cumsum(sizes)
    return tuple(part(x, axis, int(e - s), int(e)) for s, e in zip(sizes, ends))


@converter("Slice", known=(1, 2, 3, 4))
def _slice(node: Node, x: Any, *_: Any) -> Any:
    starts, ends = node.ints(1, "starts") or [], node.ints(2, "ends") or []
    chosen = (node.attr("axes") if node.version < 10 else node.ints(3)) or list(range(len(starts)))
    steps = node.ints(4) or [1] * len(starts)
    key = [slice(None)] * x.ndim
    for a, start, end, step in zip(chosen, starts, ends, steps):
        a = node.axis(a, x.ndim)
        n = x.shape[a]
        if step < 0:  # an end before the first element, which Python would count from the end
            end = end + n if -n <= end < 0 else end
            end = None if end < 0 else end
        key[a] = slice(start + n if -n <= start < 0 else max(start, 0) if start < -n else start, end, step)
    return x[tuple(key)]


def _wrapped(index: str, n: int) -> str:
    return f"(if {index} < 0 then i64({index}) + {n} else i64({index}))"


def taken(name: str, x: Any, idx: Any, result: list[int], place: list[str]) -> Any:
    """Elements of X at places that count from the end where they are negative. Places that are
    known are checked; computed ones that are outside are those of the border.
    """
    names = axes("i", len(result))
    return written(
        f"op {name}(X: {typed(x.dtype, x.shape)}, P: {typed(idx.dtype, idx.shape)}) -> Y: "
        f"{typed(x.dtype, result)} "
        f"{{ Y{at(names)} = X[{', '.join(place)} | clamp]  {ranges(names, result)} }}"
    )(x, idx)


def check_places(node: Node, k: int, lowest: int, extent: int) -> None:
    """Refuse places outside of an axis, where they are known."""
    value = node.values[k]
    if (
        isinstance(value, Known)
        and value.array.size
        and not (lowest <= int(value.array.min()) and int(value.array.max()) < extent)
    ):
        raise node.refuse(
            f"a place is outside of {lowest}..{extent}: {int(value.array.min())} to {int(value.array.max())}"
        )


def _check_points(node: Node, extents: Sequence[int]) -> None:
    """Refuse points outside of the first axes, where they are known: the last axis of input 1
    has their coordinates.
    """
    value = node.values[1]
    if not isinstance(value, Known) or not value.array.size:
        return
    for k, n in enumerate(extents):
        lowest, highest = int(value.array[..., k].min()), int(value.array[..., k].max())
        if not -n <= lowest <= highest < n:
            raise node.refuse(f"a place is outside of {-n}..{n}: {lowest} to {highest} along axis {k}")


@converter("Gather")
def _gather(node: Node, x: Any, idx: Any) -> Any:
    axis = node.axis(node.attr("axis", 0), x.ndim)
    n, r = x.shape[axis], idx.ndim
    check_places(node, 1, -n, n)
    known = node.values[1]
    if isinstance(known, Known) and known.array.size == 1 and r == 0:
        return x[(*[slice(None)] * axis, int(known.array))]
    result = [*x.shape[:axis], *idx.shape, *x.shape[axis + 1 :]]
    index = _wrapped(f"P{at(f'i{axis + k}' for k in range(r))}", n)
    place = [*axes("i", axis), index, *(f"i{k}" for k in range(axis + r, len(result)))]
    return taken("gather", x, idx, result, place)


@converter("GatherElements")
def _gather_elements(node: Node, x: Any, idx: Any) -> Any:
    axis = node.axis(node.attr("axis", 0), x.ndim)
    check_places(node, 1, -x.shape[axis], x.shape[axis])
    names = axes("i", x.ndim)
    place = [_wrapped(f"P{at(names)}", x.shape[k]) if k == axis else n for k, n in enumerate(names)]
    return taken("gather_elements", x, idx, list(idx.shape), place)


@converter("GatherND")
def _gather_nd(node: Node, x: Any, idx: Any) -> Any:
    b, last = node.attr("batch_dims", 0), idx.shape[-1]
    _check_points(node, x.shape[b : b + last])
    result = [*idx.shape[:-1], *x.shape[b + last :]]
    outer = axes("i", idx.ndim - 1)
    place = [
        *outer[:b],
        *(_wrapped(f"P{at([*outer, k])}", x.shape[b + k]) for k in range(last)),
        *(f"i{k}" for k in range(idx.ndim - 1, len(result))),
    ]
    return taken("gather_nd", x, idx, result, place)


_FOLDS = {"add": "+=", "mul": "*=", "max": "max=", "min": "min="}
_BOOL_FOLDS = {"add": "max=", "mul": "min=", "max": "max=", "min": "min="}
"""The sum of booleans is `or`, their product `and`."""


@converter("ScatterElements", "Scatter")
def _scatter_elements(node: Node, x: Any, idx: Any, updates: Any) -> Any:
    axis, names = node.axis(node.attr("axis", 0), x.ndim), axes("j", x.ndim)
    check_places(node, 1, -x.shape[axis], x.shape[axis])
    place = [_wrapped(f"P{at(names)}", x.shape[k]) if k == axis else n for k, n in enumerate(names)]
    return _scattered(node, x, idx, updates, place, names)


@converter("ScatterND")
def _scatter_nd(node: Node, x: Any, idx: Any, updates: Any) -> Any:
    if not updates.ndim:  # one element, as a list of one
        idx, updates = idx.expand_dims(0), updates.expand_dims(0)
    names, outer = axes("j", updates.ndim), axes("j", idx.ndim - 1)
    last = idx.shape[-1]
    _check_points(node, x.shape[:last])
    if not last:  # updates of everything, one after the other
        x, idx = x.expand_dims(0), node.run.tensor(Known.of(np.zeros((*idx.shape[:-1], 1), np.int64)))
        return _scattered(
            node, x, idx, updates, [f"P{at([*outer, 0])}", *names[idx.ndim - 1 :]], names
        ).squeeze(0)
    place = [*(_wrapped(f"P{at([*outer, k])}", x.shape[k]) for k in range(last)), *names[idx.ndim - 1 :]]
    return _scattered(node, x, idx, updates, place, names)


def _scattered(node: Node, x: Any, idx: Any, updates: Any, place: list[str], names: list[str]) -> Any:
    t, whole = x.dtype, axes("i", x.ndim)
    if not updates.size or not x.size:
        return x
    fold = (_BOOL_FOLDS if t == BOOL else _FOLDS).get(node.word("reduction", "none", *_FOLDS))
    spans = ranges(names, updates.shape)
    head = (
        f"op scatter(X: {typed(t, x.shape)}, P: {typed(idx.dtype, idx.shape)}, U: {typed(t, updates.shape)}) "
        f"-> Y: {typed(t, x.shape)}"
    )
    if fold is not None:
        body = f"Y{at(whole)} = X{at(whole)}  Y[{', '.join(place)} | drop] {fold} U{at(names)}  {spans}"
        return written(f"{head} {{ {body} }}")(x, idx, updates)
    # Of several updates of one element the last one counts: the one whose number, in the order of
    # memory, is the largest.
    order, number = "0", updates.shape
    for name, n in zip(names, number):
        order = f"({order}) * {n} + {name}"
    back, rest = [], updates.size
    for n in number:
        rest //= max(n, 1)
        back.append(f"last{at(whole)} // {max(rest, 1)} % {max(n, 1)}")
    body = (
        f"let last: {typed('i64', x.shape)}  last{at(whole)} = -1  last[{', '.join(place)} | drop] max= "
        f"{order}  {spans}  "
        f"Y{at(whole)} = if last{at(whole)} >= 0 then U[{', '.join(back)} | clamp] else X{at(whole)}"
    )
    return written(f"{head} {{ {body} }}")(x, idx, updates)


@converter("Expand", known=(1,))
def _expand(node: Node, x: Any, _: Any) -> Any:
    return x.broadcast_to(np.broadcast_shapes(x.shape, tuple(node.ints(1))))


@converter("Tile", known=(1, 2))
def _tile(node: Node, x: Any, *_: Any) -> Any:
    every = node.ints(1)
    if node.version < 6:
        every = [1] * x.ndim
        every[node.axis(int(node.one(2)), x.ndim)] = int(node.one(1))
    for axis, times in enumerate(every):
        x = ops.tile(x, axis=axis, times=times) if times > 1 else part(x, axis, 0, 0) if times == 0 else x
    return x


_MODES = {"edge": "clamp(I, 0, N - 1)", "wrap": "(I) % N"}


@converter("Pad", known=(1, 3))
def _pad(node: Node, x: Any, pads: Any = None, value: Any = None, _: Any = None) -> Any:
    given, mode = (
        node.ints(1, "pads" if node.version > 1 else "paddings"),
        node.word("mode", "constant", "reflect", *_MODES),
    )
    axes_given = node.ints(3)
    chosen = [node.axis(a, x.ndim) for a in (range(x.ndim) if axes_given is None else axes_given)]
    if len(given) != 2 * len(chosen):
        raise node.refuse(f"pads are {given}, and there are {len(chosen)} axes")
    if not any(given):
        return x
    before, after = [0] * x.ndim, [0] * x.ndim
    for k, a in enumerate(chosen):
        before[a], after[a] = given[k], given[k + len(chosen)]
    for a, (lo, hi) in enumerate(zip(before, after)):  # what is taken away goes first
        x = part(x, a, max(-lo, 0), x.shape[a] - max(-hi, 0)) if lo < 0 or hi < 0 else x
    before, after = [max(n, 0) for n in before], [max(n, 0) for n in after]
    if mode == "constant" and value is None:
        fill = np.full((), node.attr("value", 0.0))
        value = node.run.tensor(Known.of(fill)).astype(x.dtype.name)
    result, names = [n + p + q for n, p, q in zip(x.shape, before, after)], axes("i", x.ndim)
    place = [_padded(name, p, n, mode) for name, p, n in zip(names, before, x.shape)]
    if mode != "constant":
        return written(
            f"op pad(X: {typed(x.dtype, x.shape)}) -> Y: {typed(x.dtype, result)} {{ Y{at(names)} = "
            f"X{at(place)}  "
            f"{ranges(names, result)} }}"
        )(x)
    value = value.reshape(()) if value.shape else value
    return written(
        f"op pad(X: {typed(x.dtype, x.shape)}, v: {x.dtype}) -> Y: {typed(x.dtype, result)} "
        f"{{ Y{at(names)} = X[{', '.join(place)} | v]  {ranges(names, result)} }}"
    )(x, value)


def _padded(name: str, before: int, n: int, mode: str) -> str:
    inside = f"{name} - {before}" if before else name
    if mode == "constant":
        return inside
    if mode == "reflect" and n > 1:
        return (
            f"{n - 1} - abs({n - 1} - ({inside} + {(2 * n - 2) * (before // (2 * n - 2) + 1)}) % {2 * n - 2})"
        )
    return "0" if mode == "reflect" else _MODES[mode].replace("I", inside).replace("N", str(n))


@converter("DepthToSpace")
def _depth_to_space(node: Node, x: Any) -> Any:
    n, c, h, w = x.shape
    b = node.attr("blocksize")
    if node.word("mode", "DCR", "CRD") == "CRD":
        return ops.pixel_shuffle(x, R=b, Q=b)
    return (
        x.reshape(n, b, b, c // (b * b), h, w)
        .transpose(0, 3, 4, 1, 5, 2)
        .reshape(n, c // (b * b), h * b, w * b)
    )


@converter("SpaceToDepth")
def _space_to_depth(node: Node, x: Any) -> Any:
    n, c, h, w = x.shape
    b = node.attr("blocksize")
    order = (0, 1, 3, 5, 2, 4) if node.word("mode", "DCR", "CRD") == "CRD" else (0, 3, 5, 1, 2, 4)
    return x.reshape(n, c, h // b, b, w // b, b).transpose(*order).reshape(n, c * b * b, h // b, w // b)


@converter("Trilu", known=(1,))
def _triangle(node: Node, x: Any, _: Any = None) -> Any:
    names, shift, side = axes("i", x.ndim), int(node.one(1, 0)), ">=" if node.attr("upper", 1) else "<="
    zero = "false" if x.dtype == BOOL else "0"
    if not x.size:
        return x
    return written(
        f"op trilu(X: {typed(x.dtype, x.shape)}) -> Y: {typed(x.dtype, x.shape)} {{ Y{at(names)} = "
        f"if {names[-1]} {side} {names[-2]} + {shift} then X{at(names)} else {zero} }}"
    )(x)


@converter("OneHot", known=(1,))
def _one_hot(node: Node, idx: Any, depth: Any, values: Any) -> Any:
    n = int(np.ravel(node.known(1))[0])
    axis = node.attr("axis", -1) % (idx.ndim + 1)
    names = axes("i", idx.ndim + 1)
    result = [*idx.shape[:axis], n, *idx.shape[axis:]]
    index = f"i64(P{at(names[:axis] + names[axis + 1 :])})"
    text = (
        f"op one_hot(P: {typed(idx.dtype, idx.shape)}, V: {values.dtype}[2]) -> Y: "
        f"{typed(values.dtype, result)} {{ Y{at(names)} = "
        f"if {index} == {names[axis]} or {index} + {n} == {names[axis]} then V[1] else V[0]  "
        f"{ranges(names, result)} }}"
    )
    return written(text)(idx, values)


@converter("ReverseSequence")
def _reverse_sequence(node: Node, x: Any, lengths: Any) -> Any:
    time, batch, names = node.attr("time_axis", 0), node.attr("batch_axis", 1), axes("i", x.ndim)
    i, n = names[time], f"L[{names[batch]}]"
    place = [f"(if {i} < {n} then {n} - 1 - {i} else {i})" if k == time else a for k, a in enumerate(names)]
    return written(
        f"op reverse_sequence(X: {typed(x.dtype, x.shape)}, L: i64[{x.shape[batch]}]) -> Y: "
        f"{typed(x.dtype, x.shape)} "
        f"{{ Y{at(names)} = X[{', '.join(place)} | clamp]  {ranges(names, x.shape)} }}"
    )(x, lengths)


@converter("Compress", known=(1,))
def _compress(node: Node, x: Any, _: Any) -> Any:
    if not node.has("axis"):
        x = x.reshape(x.size)
    axis = node.axis(node.attr("axis", 0), x.ndim)
    chosen = np.flatnonzero(node.known(1)[: x.shape[axis]]).astype(np.int64)
    return x[(*[slice(None)] * axis, node.run.tensor(Known.of(chosen)))]


_TOP = """op top<T: num>(X: T[R, N]; k) -> (Y: T[R, k], I: i64[R, k]) require k <= N {
  rank[r, i] = sum<i64>(j: if BEFORE or SAME and j < i then 1 else 0)
  I[r, p] = 0  for p in 0..k
  I[r, rank[r, i] | drop] += i  for i in 0..N
  Y[r, p] = X[r, I[r, p] | clamp]
}"""
"""An element's rank is how many stand before it; among equal ones, those that come first."""


def _order(t: DType, largest: bool) -> dict[str, str]:
    """Conditions that X[r, j] comes before X[r, i] and that they are equal: NaN is larger than all
    numbers, and equal to itself.
    """
    before = f"X[r, j] {'>' if largest else '<'} X[r, i]"
    if not t.is_float:
        return {"BEFORE": before, "SAME": "X[r, j] == X[r, i]"}
    only, other = "ji" if largest else "ij"
    return {
        "BEFORE": f"({before} or isnan(X[r, {only}]) and not isnan(X[r, {other}]))",
        "SAME": "(X[r, j] == X[r, i] or isnan(X[r, j]) and isnan(X[r, i]))",
    }


@converter("TopK", known=(1,))
def _top(node: Node, x: Any, _: Any = None) -> Any:
    axis, count = node.axis(node.attr("axis", -1), x.ndim), node.ints(1, "k")[0]
    order = [k for k in range(x.ndim) if k != axis] + [axis]
    shape = tuple(x.shape[k] for k in order[:-1])
    if not 0 <= count <= x.shape[axis]:
        raise node.refuse(f"{count} of {x.shape[axis]} elements")
    if not count * prod(shape):
        none = [*x.shape[:axis], count, *x.shape[axis + 1 :]]
        return tuple(Known(np.zeros(none, numpy_dtype(t)), t) for t in (x.dtype, I64))
    rows = (x.transpose(*order) if x.ndim > 1 else x).reshape(prod(shape), x.shape[axis])
    text = _TOP
    for word, meaning in _order(x.dtype, bool(node.attr("largest", 1))).items():
        text = text.replace(word, meaning)
    found = written(text)(rows, k=count)
    back = [order.index(k) for k in range(x.ndim)]
    return tuple(y.reshape(*shape, count).transpose(*back) if x.ndim > 1 else y.reshape(count) for y in found)


@converter("TensorScatter", known=(2,))
def _tensor_scatter(node: Node, past: Any, update: Any, _: Any = None) -> Any:
    starts = node.ints(2) or [0] * past.shape[0]
    axis, names = node.axis(node.attr("axis", -2), past.ndim), axes("j", past.ndim)
    circular = node.word("mode", "linear", "circular") == "circular"
    if not circular and any(not 0 <= s <= past.shape[axis] - update.shape[axis] for s in starts):
        raise node.refuse(f"{update.shape[axis]} elements from {starts} on of an axis of {past.shape[axis]}")
    places = node.run.tensor(Known.of(np.array(starts, np.int64)))
    i = f"(P[{names[0]}] + {names[axis]})"
    place = [n if k != axis else f"{i} % {past.shape[axis]}" if circular else i for k, n in enumerate(names)]
    return _scattered(node, past, places, update, place, names)


@converter("CenterCropPad", known=(1,))
def _center(node: Node, x: Any, _: Any) -> Any:
    chosen = [node.axis(a, x.ndim) for a in (node.attr("axes") or range(x.ndim))]
    for a, wanted in zip(chosen, node.ints(1)):
        n = x.shape[a]
        if wanted < n:
            x = part(x, a, (n - wanted) // 2, (n - wanted) // 2 + wanted)
        elif wanted > n:
            given = x.astype("u8") if x.dtype == BOOL else x
            x = ops.pad(given, axis=a, before=(wanted - n) // 2, after=wanted - n - (wanted - n) // 2).astype(
                x.dtype.name
            )
    return x


@converter("Unique", known=(0,))
def _unique(node: Node, x: Any) -> Any:
    values, axis = node.known(0), node.attr("axis")
    found, first, inverse, counts = np.unique(
        values, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    if not node.attr("sorted", 1):
        order = np.argsort(first)
        found = np.take(found, order, 0 if axis is None else axis)
        inverse, first, counts = np.argsort(order)[inverse], first[order], counts[order]
    return tuple(
        Known.of(np.asarray(v))
        for v in (found, *(np.ravel(n).astype(np.int64) for n in (first, inverse, counts)))
    )
