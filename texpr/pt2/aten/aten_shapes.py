"""Operators that rearrange elements: shapes, orders of axes, joins and parts."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.arrays import operator_texts
from texpr.graph.lazy import concat, stack
from texpr.pt2.aten.aten_writes import put
from texpr.pt2.aten_conversion import Call
from texpr.pt2.converters_of_aten import aten
from texpr.pt2.element_texts import alike, each
from texpr.pt2.memory_layouts import part, part_if_possible


@aten("view", "_unsafe_view", "_reshape_alias", shares=part)
@aten("reshape", shares=part_if_possible)
def _view(call: Call, self: Any, size: Any = None, shape: Any = None, stride: Any = None) -> Any:
    wanted = shape if size is None else size
    if not isinstance(wanted, list):
        raise call.refuse("bits as another dtype")
    return self.reshape(tuple(wanted))


@aten("view_as", shares=part)
@aten("reshape_as", shares=part_if_possible)
def _view_as(call: Call, self: Any, other: Any) -> Any:
    return self.reshape(other.shape)


@aten("flatten", shares=part_if_possible)
def _flatten(call: Call, self: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    if not self.ndim:
        return self.reshape(1)
    first, last = start_dim % self.ndim, end_dim % self.ndim
    return self.reshape(*self.shape[:first], prod(self.shape[first : last + 1]), *self.shape[last + 1 :])


@aten("unflatten", shares=part)
def _unflatten(call: Call, self: Any, dim: int, sizes: list[int]) -> Any:
    k, parts = dim % self.ndim, list(sizes)
    if -1 in parts:
        parts[parts.index(-1)] = self.shape[k] // -prod(parts)
    return self.reshape(*self.shape[:k], *parts, *self.shape[k + 1 :])


@aten("permute", shares=part)
def _permute(call: Call, self: Any, dims: list[int]) -> Any:
    return self.transpose(tuple(d % self.ndim for d in dims)) if self.ndim else self


@aten("transpose", "swapaxes", "swapdims", shares=part)
def _transpose(call: Call, self: Any, dim0: int = 0, dim1: int = 0, axis0: int = 0, axis1: int = 0) -> Any:
    return self.swapaxes(dim0 or axis0, dim1 or axis1) if self.ndim else self


@aten("t", "numpy_T", shares=part)
def _t(call: Call, self: Any) -> Any:
    return self.T if self.ndim > 1 else self


@aten("mT", "adjoint", shares=part)
def _matrix_transpose(call: Call, self: Any) -> Any:
    return self.swapaxes(-1, -2)


@aten("movedim", "moveaxis", shares=part)
def _movedim(call: Call, self: Any, source: Any, destination: Any) -> Any:
    return np.moveaxis(self, source, destination)


@aten("squeeze", shares=part)
def _squeeze(call: Call, self: Any, dim: Any = None) -> Any:
    given = range(self.ndim) if dim is None else dim if isinstance(dim, list) else [dim]
    gone = {d % self.ndim for d in given if self.ndim}
    return self.reshape(tuple(n for k, n in enumerate(self.shape) if n != 1 or k not in gone))


@aten("unsqueeze", shares=part)
def _unsqueeze(call: Call, self: Any, dim: int) -> Any:
    return self.expand_dims(dim % (self.ndim + 1))


@aten("expand", shares=part)
def _expand(call: Call, self: Any, size: list[int], implicit: bool = False) -> Any:
    new = len(size) - self.ndim
    own = [1] * new + list(self.shape)
    return self.broadcast_to(tuple(m if n == -1 else n for n, m in zip(size, own)))


@aten("expand_as", shares=part)
def _expand_as(call: Call, self: Any, other: Any) -> Any:
    return self.broadcast_to(other.shape)


@aten("broadcast_to", shares=part)
def _broadcast_to(call: Call, self: Any, size: list[int]) -> Any:
    return _expand(call, self, size)


@aten("broadcast_tensors")
def _broadcast_tensors(call: Call, tensors: list[Any]) -> Any:
    shape = np.broadcast_shapes(*[x.shape for x in tensors])
    return [x.broadcast_to(shape) for x in tensors]


@aten("cat", "concat", "concatenate")
def _cat(call: Call, tensors: list[Any], dim: int = 0) -> Any:
    given = [x for x in tensors if x.shape != (0,)]  # PyTorch leaves these out, whatever the others are
    return concat(alike(*given), axis=dim) if len(given) > 1 else (given or tensors)[0]


@aten("stack")
def _stack(call: Call, tensors: list[Any], dim: int = 0) -> Any:
    return stack(alike(*tensors), axis=dim)


@aten("hstack")
def _hstack(call: Call, tensors: list[Any]) -> Any:
    return concat(alike(*tensors), axis=1 if tensors[0].ndim > 1 else 0)


@aten("vstack")
def _vstack(call: Call, tensors: list[Any]) -> Any:
    return concat(alike(*[x if x.ndim > 1 else x.reshape(1, -1) for x in tensors]), axis=0)


@aten("split", "split_with_sizes", shares=part)
def _split(call: Call, self: Any, split_size: Any = None, split_sizes: Any = None, dim: int = 0) -> Any:
    return list(self.split(split_sizes if split_size is None else split_size, dim))


@aten("chunk", shares=part)
def _chunk(call: Call, self: Any, chunks: int, dim: int = 0) -> Any:
    return list(self.chunk(chunks, dim))


@aten("tensor_split", shares=part)
def _tensor_split(call: Call, self: Any, sections: Any = None, indices: Any = None, dim: int = 0) -> Any:
    return list(np.array_split(self, sections if indices is None else indices, axis=dim))


@aten("unbind", shares=part)
def _unbind(call: Call, self: Any, dim: int = 0) -> Any:
    return list(self.unbind(dim))


def _at(x: Any, axis: int, item: Any) -> Any:
    return x[(slice(None),) * (axis % x.ndim) + (item,)]


@aten("select", shares=part)
def _select(call: Call, self: Any, dim: int, index: int) -> Any:
    return _at(self, dim, index)


@aten("slice", shares=part)
def _slice(
    call: Call, self: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    return _at(self, dim, slice(start, end, step))


@aten("narrow", shares=part)
def _narrow(call: Call, self: Any, dim: int, start: int, length: int) -> Any:
    return self.narrow(dim, start, length)


@aten("flip")
def _flip(call: Call, self: Any, dims: list[int]) -> Any:
    return self.flip(*dims)


@aten("roll")
def _roll(call: Call, self: Any, shifts: Any, dims: Any = ()) -> Any:
    if not dims:
        return self.reshape(-1).roll(shifts[0] if isinstance(shifts, list) else shifts, 0).reshape(self.shape)
    for shift, dim in zip(shifts, dims):
        self = self.roll(shift, dim)
    return self


@aten("repeat")
def _repeat(call: Call, self: Any, repeats: list[int]) -> Any:
    return np.tile(self.reshape(*[1] * (len(repeats) - self.ndim), *self.shape), tuple(repeats))


@aten("tile")
def _tile(call: Call, self: Any, dims: list[int]) -> Any:
    return np.tile(self, tuple(dims))


@aten("repeat_interleave.self_int")
def _repeat_interleave(
    call: Call, self: Any, repeats: int, dim: int | None = None, output_size: int | None = None
) -> Any:
    x, k = (self.reshape(-1), 0) if dim is None else (self, dim % self.ndim)
    spread = x.expand_dims(k + 1).broadcast_to(*x.shape[: k + 1], repeats, *x.shape[k + 1 :])
    return spread.reshape(*x.shape[:k], x.shape[k] * repeats, *x.shape[k + 1 :])


_MODES = {"reflect": ops.pad_reflect, "replicate": ops.pad_edge, "circular": ops.pad_circular}


@aten("pad", "constant_pad_nd")
def _pad(call: Call, self: Any, pad: list[int], mode: str = "constant", value: float | None = None) -> Any:
    """Elements before and after each axis, the last axis first; negative numbers cut."""
    x = self
    for k, (before, after) in enumerate(zip(pad[::2], pad[1::2])):
        axis = x.ndim - 1 - k
        first, last = max(-before, 0), x.shape[axis] - max(-after, 0)
        x = x if (first, last) == (0, x.shape[axis]) else _at(x, axis, slice(first, last))
        sides = {"axis": axis, "before": max(before, 0), "after": max(after, 0)}
        if not (sides["before"] or sides["after"]):
            continue
        if mode == "constant":
            number = value or 0
            x = ops.pad(x, **sides, value=float(number) if x.dtype.is_float else int(number))
        else:
            x = _MODES[mode](x, **sides)
    return x


def _padding(mode: str, rank: int) -> None:
    name = {"reflect": "reflection", "replicate": "replication"}[mode]

    @aten(f"{name}_pad{rank}d")
    def convert(call: Call, self: Any, padding: list[int]) -> Any:
        return _pad(call, self, padding, mode)


for _mode in ("reflect", "replicate"):
    for _rank in (1, 2, 3):
        _padding(_mode, _rank)


@aten("pixel_shuffle")
def _pixel_shuffle(call: Call, self: Any, upscale_factor: int) -> Any:
    x = self.reshape(-1, *self.shape[-3:])
    found = ops.pixel_shuffle(x, R=upscale_factor, Q=upscale_factor)
    return found.reshape(*self.shape[:-3], *found.shape[-3:])


@aten("pixel_unshuffle")
def _pixel_unshuffle(call: Call, self: Any, downscale_factor: int) -> Any:
    x = self.reshape(-1, *self.shape[-3:])
    found = ops.pixel_unshuffle(x, R=downscale_factor, Q=downscale_factor)
    return found.reshape(*self.shape[:-3], *found.shape[-3:])


@aten("channel_shuffle")
def _channel_shuffle(call: Call, self: Any, groups: int) -> Any:
    return ops.channel_shuffle(self, G=groups)


@aten("tril")
def _tril(call: Call, self: Any, diagonal: int = 0) -> Any:
    return self.tril(diagonal)


@aten("triu")
def _triu(call: Call, self: Any, diagonal: int = 0) -> Any:
    return self.triu(diagonal)


@aten("diagonal", shares=part)
def _diagonal(call: Call, self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return np.diagonal(self, offset, dim1, dim2)


@aten("meshgrid")
def _meshgrid(call: Call, tensors: list[Any], indexing: Any = "ij") -> Any:
    return list(np.meshgrid(*tensors, indexing=indexing))


@aten("unfold", shares=part)
def _unfold(call: Call, self: Any, dimension: int, size: int, step: int) -> Any:
    """Windows along an axis; what is in one becomes the last axis."""
    axis = dimension % self.ndim
    starts = np.arange(0, self.shape[axis] - size + 1, step)
    found = _at(self, axis, starts[:, None] + np.arange(size))
    return np.moveaxis(found, axis + 1, -1)


@aten("as_strided", shares=part)
def _as_strided(
    call: Call, self: Any, size: list[int], stride: list[int], storage_offset: int | None = None
) -> Any:
    """Elements at a distance from each other in the memory of a tensor that is laid out by rows."""
    if not call.by_rows():
        raise call.refuse("the memory of a tensor that is not laid out by rows from its start")
    first, count = storage_offset or 0, prod(self.shape)
    if min(first, 0, *size, *stride) < 0:
        raise call.refuse("negative sizes or strides")
    last = first + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if prod(size) and last >= count:
        raise call.refuse(f"element {last} of {count}")
    terms = [str(first), *(f"{s}*i{k}" for k, s in enumerate(stride))]
    at, t = [" + ".join(terms)], self.dtype
    return operator_texts.taken((count,), at, tuple(size), t)(self.reshape(-1))


@aten("slice_scatter")
def _slice_scatter(
    call: Call,
    self: Any,
    src: Any,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Any:
    return put(self, dim, slice(start, end, step), src)


@aten("select_scatter")
def _select_scatter(call: Call, self: Any, src: Any, dim: int, index: int) -> Any:
    return put(self, dim, index, src)


@aten("diff")
def _diff(call: Call, self: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    return np.diff(self, n, dim, *((prepend,) if append is None else (prepend, append)))


@aten("atleast_1d", shares=part)
def _at_least_one_axis(call: Call, self: Any) -> Any:
    return self if self.ndim else self.reshape(1)


@aten("outer", "ger")
def _outer(call: Call, self: Any, vec2: Any) -> Any:
    a, b = alike(self, vec2)
    return each("outer", "{0} * {1}", a.reshape(-1, 1), b.reshape(1, -1), result=a.dtype)
