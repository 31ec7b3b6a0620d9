"""Operators that copy, convert, or make tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from texpr.graph import Symbolic
from texpr.ir.dtypes import BOOL, F32, I64, DType, stored
from texpr.pt2.aten_conversion import Call
from texpr.pt2.converters_of_aten import aten
from texpr.pt2.element_texts import each
from texpr.pt2.memory_layouts import same, same_if_alike

MOST_MADE = 1 << 28
"""Elements of a tensor that a program makes of numbers alone."""


@aten("clone", "lift_fresh_copy", "lift_fresh", "alias_copy")
@aten("contiguous", shares=same_if_alike)
def _clone(call: Call, self: Any, memory_format: Any = None) -> Any:
    return self.own()


@aten("alias", "conj", "resolve_conj", "resolve_neg", "positive", shares=same)
def _alias(call: Call, self: Any) -> Any:
    return self.own()


@aten("detach", shares=same)
def _detach(call: Call, self: Any) -> Any:
    return self.detach() if self.dtype.is_float else self.own()


@aten("_to_copy")
@aten("to", shares=same_if_alike)
def _to(
    call: Call,
    self: Any,
    dtype: DType | None = None,
    other: Any = None,
    device: Any = None,
    layout: Any = None,
    pin_memory: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Any:
    wanted = dtype if isinstance(dtype, DType) else other.dtype if isinstance(other, Symbolic) else self.dtype
    return self.astype(wanted)


@aten("type_as", shares=same_if_alike)
def _type_as(call: Call, self: Any, other: Any) -> Any:
    return self.astype(other.dtype)


@aten("_assert_tensor_metadata")
def _assert(call: Call, **_: Any) -> Any:
    """Nothing: what a program states of a tensor holds, as shapes and dtypes are its own."""
    return ()


@aten("copy")
def _copy(call: Call, self: Any, src: Any, non_blocking: bool = False) -> Any:
    return src.astype(self.dtype).broadcast_to(self.shape)


@aten("fill")
def _fill(call: Call, self: Any, value: Any) -> Any:
    return _full_like(call, self, value)


@aten("zero")
def _zero(call: Call, self: Any) -> Any:
    return _full_like(call, self, 0)


def _made(call: Call, array: Any, dtype: DType) -> Any:
    return call.constant(stored(np.asarray(array), dtype), dtype)


def _full(call: Call, size: Any, value: Any, dtype: DType) -> Any:
    """A tensor of one number: it is repeated, and not kept as often as it is there."""
    count = math.prod(size)
    if any(n < 0 for n in size) or count > MOST_MADE:
        raise call.refuse(f"a tensor of shape {list(size)}; up to {MOST_MADE:,} elements are made")
    one = value.astype(dtype).reshape(()) if isinstance(value, Symbolic) else _made(call, value, dtype)
    return one.broadcast_to(tuple(size)) if size else one


def _dtype_of(value: Any) -> DType:
    if isinstance(value, Symbolic):
        return value.dtype
    return BOOL if isinstance(value, bool) else I64 if isinstance(value, int) else F32


@aten("full")
def _new(
    call: Call,
    size: list[int],
    fill_value: Any,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    return _full(call, size, fill_value, dtype or _dtype_of(fill_value))


def _constant_maker(name: str, value: int) -> None:
    @aten(name)
    def made(
        call: Call,
        size: list[int],
        dtype: DType | None = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
        memory_format: Any = None,
    ) -> Any:
        return _full(call, size, value, dtype or F32)

    @aten(f"{name}_like")
    def like(
        call: Call,
        self: Any,
        dtype: DType | None = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
        memory_format: Any = None,
    ) -> Any:
        return _full(call, self.shape, value, dtype or self.dtype)

    @aten(f"new_{name}")
    def new(
        call: Call,
        self: Any,
        size: list[int],
        dtype: DType | None = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
    ) -> Any:
        return _full(call, size, value, dtype or self.dtype)


for _name, _value in (("zeros", 0), ("ones", 1), ("empty", 0)):
    _constant_maker(_name, _value)


@aten("full_like")
def _full_like(
    call: Call,
    self: Any,
    fill_value: Any,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: Any = None,
) -> Any:
    return _full(call, self.shape, fill_value, dtype or self.dtype)


@aten("new_full")
def _new_full(
    call: Call,
    self: Any,
    size: list[int],
    fill_value: Any,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    return _full(call, size, fill_value, dtype or self.dtype)


@aten("empty_strided")
def _empty_strided(
    call: Call,
    size: list[int],
    stride: list[int],
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    return _full(call, size, 0, dtype or F32)


@aten("scalar_tensor", "tensor")
def _scalar(
    call: Call,
    s: Any,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    return _made(call, s, dtype or (F32 if isinstance(s, int | float) else _dtype_of(s)))


@aten("arange")
def _arange(
    call: Call,
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    first, last = (0, start) if end is None else (start, end)
    count = math.ceil((last - first) / step) if step else -1
    if not 0 <= count <= MOST_MADE:
        raise call.refuse(f"{count:,} numbers; up to {MOST_MADE:,} are made")
    whole = all(isinstance(v, int) for v in (first, last, step))
    values = first + np.arange(count, dtype=np.int64 if whole else np.float64) * step
    return _made(call, values, dtype or (I64 if whole else F32))


@aten("linspace")
def _linspace(
    call: Call,
    start: Any,
    end: Any,
    steps: int,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    if not 0 <= steps <= MOST_MADE:
        raise call.refuse(f"{steps:,} numbers; up to {MOST_MADE:,} are made")
    return _made(call, np.linspace(start, end, steps), dtype or F32)


@aten("eye")
def _eye(
    call: Call,
    n: int,
    m: int | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    if n * (n if m is None else m) > MOST_MADE:
        raise call.refuse(f"{n} rows; up to {MOST_MADE:,} elements are made")
    return _made(call, np.eye(n, m), dtype or F32)


@aten("one_hot")
def _one_hot(call: Call, self: Any, num_classes: int = -1) -> Any:
    if num_classes < 0:
        raise call.refuse("the number of classes depends on values", help="say num_classes")
    classes = call.constant(np.arange(num_classes, dtype=np.int64))
    return each("one_hot", "if {0} == {1} then 1 else 0", self.expand_dims(self.ndim), classes, result=I64)


@aten("fill_diagonal")
def _fill_diagonal(call: Call, self: Any, fill_value: Any, wrap: bool = False) -> Any:
    if self.ndim != 2 or wrap:
        raise call.refuse("diagonals of other tensors than matrices")
    inside = call.constant(np.eye(*self.shape, dtype=bool))
    return self.masked_fill(inside, fill_value)
