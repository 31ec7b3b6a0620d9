"""Operations of tract's extensions, as torch-to-nnef writes them."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph import Symbolic
from texpr.graph.arrays.rearranging import on_side
from texpr.ir.dtypes import BOOL, DTYPES, I64
from texpr.nnef.graph_values import Known, leaves
from texpr.nnef.operation_table import Operation, operation
from texpr.nnef.operation_texts import at, each, from_end, names, number, ranges, typed, wide, written
from texpr.nnef.operators.element_operations import floats
from texpr.nnef.operators.shape_operations import gathered
from texpr.nnef.operators.window_operations import interpolated

_FUNCTIONS = {
    "tract_core_erf": "erf({0})",
    "tract_core_hard_swish": "{0} * clamp({0} / 6 + 0.5, 0, 1)",
    "tract_core_round_even": "rint({0})",
}
_BITS = {
    "tract_core_bitand": "bit_and",
    "tract_core_bitor": "bit_or",
    "tract_core_bitxor": "bit_xor",
    "tract_shl": "shl",
    "tract_shr": "shr",
}
_SCATTERS = {
    "none": ops.scatter,
    "add": ops.scatter_add,
    "mul": ops.scatter_multiply,
    "max": ops.scatter_max,
    "min": ops.scatter_min,
}


@operation(*_FUNCTIONS)
def _function(about: Operation, input: Any) -> Any:  # noqa: A002
    return each(about.name[11:], _FUNCTIONS[about.name], input)


@operation("tract_transformers_silu")
def _silu(about: Operation, input: Any) -> Any:  # noqa: A002
    return ops.silu(input)


@operation("tract_transformers_gelu_approximate")
def _gelu(about: Operation, input: Any, fast_impl: bool) -> Any:  # noqa: A002
    return ops.gelu_tanh(input)


@operation("tract_core_cast")
def _cast(about: Operation, input: Any, to: str) -> Any:  # noqa: A002
    name = "i64" if to == "tdim" else to
    if name not in DTYPES:
        raise about.refuse(f"`{to}`; {', '.join(DTYPES)} are read")
    return input.astype(name) if input.dtype != DTYPES[name] else input


@operation("tract_core_shape_of", raw=True)
def _shape(about: Operation, input: Any) -> Known:  # noqa: A002
    shape = about.tensor(input).shape
    return Known.of(np.array(shape, np.int64).reshape(len(shape)))


@operation("tract_core_broadcast")
def _broadcast(about: Operation, input: Any, shape: Sequence[int]) -> Any:  # noqa: A002
    return input.broadcast_to(*(n if type(n) is int else about.refuse("shape") for n in shape))


@operation("tract_core_range")
def _range(about: Operation, start: Any, end: Any, step: Any) -> Known:
    if (
        step == 0
        or any(not isinstance(v, int | float) for v in (start, end, step))
        or (end - start) / step > 1 << 24
    ):
        raise about.refuse(f"from {start} to {end} by {step}")
    return Known.of(
        np.arange(
            start,
            end,
            step,
            dtype=np.int64 if all(isinstance(v, int) for v in (start, end, step)) else np.float32,
        )
    )


@operation("tract_core_is_inf")
def _is_inf(about: Operation, input: Any, detect_positive: bool, detect_negative: bool) -> Any:  # noqa: A002
    tests = [
        f"{{0}} == {v}" for v, wanted in (("inf", detect_positive), ("(-inf)", detect_negative)) if wanted
    ]
    return each("is_inf", " or ".join(tests) or "false", input, result=BOOL)


@operation("tract_core_is_nan")
def _is_nan(about: Operation, input: Any) -> Any:  # noqa: A002
    return each("is_nan", "isnan({0})", input, result=BOOL)


@operation("tract_core_xor")
def _xor(about: Operation, a: Any, b: Any) -> Any:
    return each("xor", "{0} != {1}", a, b)


@operation(*_BITS)
def _bits(about: Operation, a: Any, b: Any) -> Any:
    return each("bits", f"{_BITS[about.name]}({{0}}, {{1}})", a, b)


@operation("tract_core_bitnot")
def _not_bits(about: Operation, input: Any) -> Any:  # noqa: A002
    return each("not", "not {0}" if input.dtype == BOOL else "-{0} - 1", input)


@operation("tract_core_gather")
def _gather(about: Operation, input: Any, indices: Any, axis: int, datum_type: str) -> Any:  # noqa: A002
    return gathered(about, input, indices, about.axis(axis, input.ndim))


@operation("tract_core_gather_elements")
def _gather_elements(about: Operation, input: Any, indices: Any, axis: int) -> Any:  # noqa: A002
    chosen, index = about.axis(axis, input.ndim), names("i", input.ndim)
    inside = [from_end(f"P{at(index)}", input.shape[k]) if k == chosen else n for k, n in enumerate(index)]
    return _taken(input, indices, list(indices.shape), inside)


@operation("tract_core_gather_nd")
def _gather_nd(about: Operation, input: Any, indices: Any, batch_dims: int) -> Any:  # noqa: A002
    b, last = batch_dims, indices.shape[-1]
    result = [*indices.shape[:-1], *input.shape[b + last :]]
    outer = names("i", indices.ndim - 1)
    inside = [*outer[:b], *(from_end(f"P{at([*outer, k])}", input.shape[b + k]) for k in range(last))]
    return _taken(input, indices, result, [*inside, *(f"i{k}" for k in range(indices.ndim - 1, len(result)))])


def _taken(x: Any, places: Any, result: list[int], inside: list[str]) -> Any:
    index = names("i", len(result))
    return written(
        f"op nnef_taken(X: {typed(x.dtype, x.shape)}, P: {typed(places.dtype, places.shape)}) -> Y: "
        f"{typed(x.dtype, result)} {{ Y{at(index)} = X[{', '.join(inside)} | clamp]  {ranges(index, result)} }}"
    )(x, places)


@operation("tract_core_scatter_elements")
def _scatter(about: Operation, input: Any, indices: Any, updates: Any, axis: int, reduction: str) -> Any:  # noqa: A002
    about.word("reduction", reduction, *_SCATTERS)
    chosen = about.axis(axis, input.ndim)
    wrapped = each(
        "place", f"if {{0}} < 0 then {{0}} + {input.shape[chosen]} else {{0}}", indices.astype("i64")
    )
    return _SCATTERS[reduction](input, wrapped, updates.astype(input.dtype.name), axis=chosen)


@operation("tract_core_one_hot")
def _one_hot(about: Operation, input: Any, axis: int, dim: int, value_off: float, value_on: float) -> Any:  # noqa: A002
    t, place = about.evaluation.float_type, about.axis(axis, input.ndim + 1)
    result = [*input.shape[:place], dim, *input.shape[place:]]
    index = names("i", len(result))
    rest = [n for k, n in enumerate(index) if k != place]
    return written(
        f"op nnef_one_hot(X: {typed(input.dtype, input.shape)}) -> Y: {typed(t, result)} {{ Y{at(index)} = if "
        f"X{at(rest)} == {index[place]} then {number(float(value_on))} else {number(float(value_off))}  "
        f"{ranges(index, result)} }}"
    )(input)


@operation("tract_core_trilu")
def _triangle(about: Operation, input: Any, upper: bool, k: int) -> Any:  # noqa: A002
    if input.ndim < 2:
        raise about.refuse(f"a triangle of a tensor of {input.ndim} axes, which needs two")
    return on_side(input, k, upper=upper)


@operation("tract_core_topk")
def _topk(about: Operation, input: Any, k: int, axis: int, largest: bool) -> Any:  # noqa: A002
    place, rank = about.axis(axis, input.ndim), input.ndim
    order = [*(a for a in range(rank) if a != place), place]
    back = [order.index(a) for a in range(rank)]
    x = input.transpose(*order) if rank > 1 else input
    values, where = ops.topk(x if largest else each("neg", "-{0}", x), k=k)
    values = values if largest else each("neg", "-{0}", values)
    return tuple(v.transpose(*back) if rank > 1 else v for v in (values, where))


@operation("tract_core_mean_of_squares_reduce")
def _mean_of_squares(about: Operation, input: Any, axes: Sequence[int]) -> Any:  # noqa: A002
    return (input * input).mean(about.axes(axes, input.ndim), keepdims=True)


@operation("tract_transformers_rms_norm")
def _rms_norm(about: Operation, input: Any, axis: int, eps: float) -> Any:  # noqa: A002
    chosen, t = about.axis(axis, input.ndim), input.dtype
    x = input.astype(wide(t).name)
    scale = each("scale", f"1 / sqrt({{0}} + {float(eps)!r})", (x * x).mean(chosen, keepdims=True))
    return (x * scale).astype(t.name)


@operation("tract_core_einsum")
def _einsum(about: Operation, inputs: list[Any], expr: str, acc: str, output: str) -> Any:
    t = inputs[0].dtype
    found: Any = ops.einsum(expr.replace(" ", ""), *(x.astype(acc) if acc in DTYPES else x for x in inputs))
    return found.astype(output if output in DTYPES else t.name)


@operation("tract_transformers_sdpa", numbers=True)
def _attention(
    about: Operation, q: Any, k: Any, v: Any, mask: Any, scale: float, datum_type: str, acc_datum_type: str,
    is_causal: bool,
) -> Any:  # fmt: skip
    """Softmax of scaled products of queries and keys, times values; groups of queries may share keys."""
    if q.ndim == 4 and q.shape[1] != k.shape[1]:
        if q.shape[1] % k.shape[1]:
            raise about.refuse(f"{q.shape[1]} heads of queries, {k.shape[1]} of keys")
        shared = about.tensor(Known.of(np.repeat(np.arange(k.shape[1]), q.shape[1] // k.shape[1])))
        k, v = ops.take(k, shared, axis=1), ops.take(v, shared, axis=1)
    factor = float(scale) or 1 / sqrt(q.shape[-1])
    if factor * sqrt(q.shape[-1]) != 1:
        q = each("scale", f"{{0}} * {factor * sqrt(q.shape[-1])!r}", q)
    if isinstance(mask, Symbolic):
        return _masked(q, k, v, mask)
    if is_causal and q.shape[-2] > k.shape[-2]:
        raise about.refuse(f"{q.shape[-2]} causal queries of {k.shape[-2]} keys")
    if is_causal and q.shape[-2] < k.shape[-2]:
        length = q.shape[-2]  # the first query sees the first key alone
        k, v = k[..., :length, :], v[..., :length, :]
    return (ops.attention_causal if is_causal else ops.attention)(q, k, v)


def _masked(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """Attention to what a mask has as true, or with what it adds to scores."""
    if mask.dtype == BOOL:
        mask = each("mask", "if {0} then 0 else (-inf)", mask, result=q.dtype)
    mask = mask.reshape(*[1] * (q.ndim - mask.ndim), *mask.shape).astype(q.dtype.name)
    scores = each("scores", f"{{0}} * {1 / sqrt(q.shape[-1])!r} + {{1}}", q @ k.swapaxes(-1, -2), mask)
    return ops.softmax(scores, axis=scores.ndim - 1) @ v


@operation("tract_core_resize")
def _resize(
    about: Operation, input: Any, scales: Any, sizes: Any, interpolator: str, coord_transformer: str, nearest_mode: str  # noqa: A002
) -> Any:  # fmt: skip
    """Every axis by itself, at places that are known when the program is made."""
    about.word("interpolator", interpolator, "nearest", "linear")
    about.word(
        "coord_transformer",
        coord_transformer,
        "asymmetric",
        "half_pixel",
        "align_corners",
        "pytorch_half_pixel",
    )
    given = [float(v) for v in leaves(scales)] or [s / n for s, n in zip(leaves(sizes), input.shape)]
    wanted = [int(v) for v in leaves(sizes)] or [int(np.floor(f * n)) for f, n in zip(given, input.shape)]
    if len(given) != input.ndim or min(wanted) < 1 or max(wanted) > 1 << 24:
        raise about.refuse(f"sizes {wanted} of {list(input.shape)}")
    for axis, (factor, size) in enumerate(zip(given, wanted)):
        n = input.shape[axis]
        if size == n and factor == 1:
            continue
        i = np.arange(size, dtype=np.float64)
        spots = {
            "asymmetric": i / factor,
            "half_pixel": (i + 0.5) / factor - 0.5,
            "pytorch_half_pixel": (i + 0.5) / factor - 0.5 if size > 1 else i * 0,
            "align_corners": i * (n - 1) / max(size - 1, 1),
        }[coord_transformer]
        if interpolator == "linear":
            input = interpolated(about, input, axis, spots)  # noqa: A001
            continue
        modes = {"floor": np.floor, "ceil": np.ceil, "round_prefer_floor": lambda v: np.ceil(v - 0.5)}
        about.word("nearest_mode", nearest_mode, *modes)
        places = np.clip(modes[nearest_mode](spots), 0, n - 1).astype(np.int64)
        input = ops.take(input, about.tensor(Known.of(places, I64)), axis=axis)  # noqa: A001
    return floats(about, input)
