"""Attention: the operator of library where it is exact, products and a softmax otherwise."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import BOOL
from texpr.pt2.aten_conversion import Call
from texpr.pt2.converters_of_aten import aten
from texpr.pt2.element_texts import each, number


@aten("scaled_dot_product_attention")
def _attention(
    call: Call,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(scale Q K^T + mask) V over the last two axes."""
    if dropout_p:
        raise call.refuse("dropout of attention weights", help="export model.eval()")
    if enable_gqa and key.shape[-3] != query.shape[-3]:
        times = query.shape[-3] // key.shape[-3]
        key, value = (_repeated(x, times) for x in (key, value))
    outer = np.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    query, key, value = (x.broadcast_to(*outer, *x.shape[-2:]) for x in (query, key, value))
    usual = 1 / sqrt(query.shape[-1])
    if scale is not None and abs(scale - usual) > 1e-12:
        factor = number(scale / usual, query.dtype)
        query = each("scale", f"{{0}} * {factor}", query, result=query.dtype)
    if is_causal:
        return _causal(call, query, key, value)
    if attn_mask is None:
        return ops.attention(query, key, value)
    return _masked(call, query, key, value, attn_mask)


def _repeated(x: Any, times: int) -> Any:
    """Heads of keys and values, each for several heads of queries."""
    spread = x.expand_dims(x.ndim - 2).broadcast_to(*x.shape[:-2], times, *x.shape[-2:])
    return spread.reshape(*x.shape[:-3], x.shape[-3] * times, *x.shape[-2:])


def _causal(call: Call, query: Any, key: Any, value: Any) -> Any:
    """Row i sees the first i + 1 columns."""
    rows, columns = query.shape[-2], key.shape[-2]
    if rows == columns:
        return ops.attention_causal(query, key, value)
    seen = call.constant(np.tri(rows, columns, dtype=bool))
    return _masked(call, query, key, value, seen)


def _masked(call: Call, query: Any, key: Any, value: Any, mask: Any) -> Any:
    """Rows that see nothing are 0, as PyTorch has them."""
    t = query.dtype
    scores = query @ key.swapaxes(-1, -2)
    root = number(1 / sqrt(query.shape[-1]), t)
    text = f"if {{1}} then {{0}} * {root} else -inf" if mask.dtype == BOOL else f"{{0}} * {root} + {{1}}"
    given = mask if mask.dtype == BOOL else mask.astype(t)
    scores = each("scores", text, scores, given, result=t)
    weights = ops.softmax(scores, axis=scores.ndim - 1)
    if mask.dtype == BOOL:
        weights = each("weights", "if isnan({0}) and not {1} then 0 else {0}", weights, given, result=t)
    return weights @ value


@aten(
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
)
def _fused_attention(
    call: Call,
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: Any = None,
    scale: float | None = None,
    attn_bias: Any = None,
    compute_log_sumexp: bool = False,
    return_debug_mask: bool = False,
) -> Any:
    mask = attn_bias if attn_mask is None else attn_mask
    found = _attention(call, query, key, value, mask, dropout_p, is_causal, scale)
    return found, call.constant(np.zeros(0, np.float32))


@aten("_safe_softmax")
def _safe_softmax(call: Call, self: Any, dim: int, dtype: Any = None) -> Any:
    """Softmax that is 0 where all numbers are -inf."""
    x = self if dtype is None else self.astype(dtype)
    found = ops.softmax(x, axis=dim % x.ndim)
    return each("safe", "if isnan({0}) and {1} == (-inf) then 0 else {0}", found, x, result=x.dtype)
