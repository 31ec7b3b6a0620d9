"""Attention with several heads: Vaswani et al., Attention Is All You Need, 2017."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from texpr import ops
from texpr.graph import Symbolic
from texpr.nn import init
from texpr.nn.core.argument_checks import whole
from texpr.nn.core.layer_operations import parameter, present, without_batch, zeros
from texpr.nn.core.module import Module
from texpr.nn.core.parameter import Parameter
from texpr.nn.modules.dropout import Dropout
from texpr.nn.modules.linear import Linear
from texpr.support.errors import CallError


@dataclass
class Masks:
    """Masks added to scores, by the names of `ops.attention_masks`: for all (L, S), for columns (N,
    S), for every head (N * H, L, S).
    """

    mask: Any = None
    padding: Any = None
    bias: Any = None

    def each(self) -> dict[str, Any]:
        """The masks that are there."""
        return present(mask=self.mask, padding=self.padding, bias=self.bias)

    def with_column(self) -> Masks:
        """Of one more column, which all see."""
        return Masks(**{name: ops.pad(m, axis=m.ndim - 1, after=1) for name, m in self.each().items()})


class MultiheadAttention(Module):
    """Attention with several heads: `softmax(Q K^T / sqrt(d) + mask) V` for each head of d =
    embed_dim / num_heads features, and a projection of their results.

    Vaswani et al., Attention Is All You Need, 2017.

    Args:
        embed_dim, num_heads: features, and the heads that share them.
        dropout: of the attention weights, in training.
        add_bias_kv: append a learned row to keys and values.
        add_zero_attn: append a row of zeros to keys and values.
        kdim, vdim: features of keys and values, embed_dim unless given.
        batch_first: the batch is axis 0.
    Shapes:
        query: (length, batch, embed_dim), or (batch, length, embed_dim) with `batch_first`, or
            (length, embed_dim)
        key, value: the same with a length of their own and kdim, vdim features
        key_padding_mask: (batch, columns), true or -inf for columns that are hidden
        attn_mask: (rows, columns), or (batch * heads, rows, columns)
        output: a pair of the shape of `query` and the weights (batch, rows, columns), None without
            `need_weights`
    Raises:
        CallError: heads do not divide the features, `is_causal` without a mask, a mask with other
            axes, or inputs do not fit.
    Example:
        >>> x = tx.randn(5, 2, 8)
        >>> output, weights = nn.MultiheadAttention(8, 4)(x, x, x)
        >>> output.shape, weights.shape
        ((5, 2, 8), (2, 5, 5))
    """

    if TYPE_CHECKING:
        __call__: Callable[..., Any]  # several results

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        *,
        dtype: object = "f32",
    ) -> None:
        super().__init__()
        self.embed_dim = whole("MultiheadAttention", "embed_dim", embed_dim)
        self.num_heads = whole("MultiheadAttention", "num_heads", num_heads)
        if self.embed_dim % self.num_heads:
            raise CallError(
                f"MultiheadAttention: {embed_dim} features cannot be divided among {num_heads} heads",
                code="arguments",
            )
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.batch_first, self.add_zero_attn = bool(batch_first), bool(add_zero_attn)
        self._drop = Dropout(dropout)
        self._packed = self.kdim == self.vdim == self.embed_dim
        e = self.embed_dim
        if self._packed:
            self.in_proj_weight = parameter(self, "in_proj_weight", (3 * e, e), dtype)
        else:
            self.q_proj_weight = parameter(self, "q_proj_weight", (e, e), dtype)
            self.k_proj_weight = parameter(self, "k_proj_weight", (e, self.kdim), dtype)
            self.v_proj_weight = parameter(self, "v_proj_weight", (e, self.vdim), dtype)
        self.in_proj_bias = parameter(self, "in_proj_bias", (3 * e,), dtype) if bias else None
        self.bias_k = parameter(self, "bias_k", (1, 1, e), dtype) if add_bias_kv else None
        self.bias_v = parameter(self, "bias_v", (1, 1, e), dtype) if add_bias_kv else None
        self.out_proj = Linear(e, e, bias, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the first values anew: projections as Glorot and Bengio have them, biases 0."""
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if name in self._parameters:
                init.xavier_uniform_(self._parameters[name])
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for row in (self.bias_k, self.bias_v):
            if row is not None:
                init.xavier_normal_(row)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """The results, and where need_weights, how much each column counts: the mean over the heads
        unless average_attn_weights is False.

        Args:
            key_padding_mask: (batch, columns): true, or -inf, where a column is not seen.
            attn_mask: (rows, columns) or (batch * heads, rows, columns), in the same way.
            is_causal: says that attn_mask hides what comes later; it is given all the same.
        """
        if is_causal and attn_mask is None:
            raise CallError(
                "MultiheadAttention: is_causal needs the attn_mask that it speaks of", code="arguments"
            )
        alone = query.ndim == 2
        own = query is key and key is value
        if alone:
            query, key, value = (ops.expand(x, axis=0, times=1) for x in (query, key, value))
            key_padding_mask = (
                None if key_padding_mask is None else ops.expand(key_padding_mask, axis=0, times=1)
            )
        elif not self.batch_first:
            query = ops.swap_axes(query)
            key, value = (query, query) if own else (ops.swap_axes(key), ops.swap_axes(value))
        q, k, v = self._projected(query, key, value, own)
        k, v, masks = self._with_rows(k, v, self._masks(query, key_padding_mask, attn_mask))
        y, weights = self._attended(q, k, v, masks, need_weights)
        y = self.out_proj(ops.merge_heads(y))
        if weights is not None and average_attn_weights:
            weights = ops.reduce_mean(weights, axis=1)
        if alone:
            return without_batch(y), None if weights is None else without_batch(weights)
        return y if self.batch_first else ops.swap_axes(y), weights

    def _projected(self, query: Any, key: Any, value: Any, own: bool) -> tuple[Any, Any, Any]:
        """Queries, keys and values of all heads: (batch, heads, length, features)."""
        if own and self._packed:
            x = ops.linear(query, self.in_proj_weight, **present(bias=self.in_proj_bias))
            return tuple(ops.split_packed_heads(x, H=self.num_heads))  # type: ignore[return-value]
        found = []
        for k, (x, name) in enumerate(
            zip((query, key, value), ("q_proj_weight", "k_proj_weight", "v_proj_weight"))
        ):
            weight = self._part(self.in_proj_weight, k) if self._packed else self._parameters[name]
            bias = None if self.in_proj_bias is None else self._part(self.in_proj_bias, k)
            found.append(ops.split_heads(ops.linear(x, weight, **present(bias=bias)), H=self.num_heads))
        return tuple(found)  # type: ignore[return-value]

    def _part(self, packed: Any, position: int) -> Any:
        return ops.slice(packed, start=position * self.embed_dim, count=self.embed_dim)

    def _with_rows(self, k: Any, v: Any, masks: Masks) -> tuple[Any, Any, Masks]:
        """The rows that add_bias_kv and add_zero_attn ask for."""
        for rows in (
            (self.bias_k, self.bias_v) if self.bias_k is not None else None,
            "zero" if self.add_zero_attn else None,
        ):
            if rows is None:
                continue
            n, h, _, d = k.shape
            more = (zeros(k, (n, h, 1, d)),) * 2 if rows == "zero" else tuple(self._row(r, n) for r in rows)
            k, v, masks = ops.concat(k, more[0], axis=2), ops.concat(v, more[1], axis=2), masks.with_column()
        return k, v, masks

    def _row(self, row: Any, batch: int) -> Any:
        return ops.split_heads(ops.expand(ops.pick(row), axis=0, times=batch), H=self.num_heads)

    def _masks(self, query: Symbolic, key_padding_mask: Any, attn_mask: Any) -> Masks:
        padding, mask = (None if m is None else as_bias(m, query) for m in (key_padding_mask, attn_mask))
        if mask is not None and mask.ndim not in (2, 3):
            raise CallError(
                f"MultiheadAttention: attn_mask has {mask.ndim} dimensions, expected 2 or 3", code="rank"
            )
        return Masks(mask, padding) if mask is None or mask.ndim == 2 else Masks(None, padding, mask)

    def _attended(self, q: Any, k: Any, v: Any, masks: Masks, need_weights: bool) -> tuple[Any, Any]:
        if not need_weights and not (self.training and self._drop.p > 0):
            return ops.attention_masks(q, k, v, **masks.each()), None
        weights = self._drop(ops.attention_weights(q, k, **masks.each()))
        return ops.batched_matmul(weights, v), weights if need_weights else None

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}"

    def __repr__(self) -> str:
        return f"MultiheadAttention({self.extra_repr()})"


def as_bias(mask: Any, like: Symbolic) -> Any:
    """A mask that is true where something is hidden as one that is added; others are that
    already.
    """
    if mask.dtype.name == "bool":
        return ops.mask_bias(mask, zeros(like, ()))
    return mask
