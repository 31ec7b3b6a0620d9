"""Tables whose rows are looked up by index."""

from __future__ import annotations

from math import inf
from typing import Any, Self

import numpy as np

from texpr import ops
from texpr.ir.dtypes import I64
from texpr.nn import init
from texpr.nn.core.argument_checks import number, one_of, whole
from texpr.nn.core.inputs import as_input
from texpr.nn.core.layer_operations import parameter, present
from texpr.nn.core.module import Module
from texpr.nn.core.parameter import Parameter
from texpr.support.errors import CallError


def _indices(input: Any) -> Any:
    """Integers of any width as those that operators look up with."""
    return input.astype(I64) if input.dtype.is_int and input.dtype != I64 else input


class _Table(Module):
    """Rows with first values as torch's: normally distributed, but for row padding_idx, which is 0.

    Args:
        max_norm: rows that are looked up and are longer are first brought to this norm, in the
            weight itself.
        norm_type: the p of that norm, above 0 or infinite.
        scale_grad_by_freq: the gradient of a row is divided by how often a call names it.
        sparse: means nothing: gradients have the same values and are dense.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: float | None,
        norm_type: float,
        scale_grad_by_freq: bool,
        sparse: bool,
        _weight: object,
        dtype: object,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.num_embeddings, self.embedding_dim = (
            whole(name, "num_embeddings", num_embeddings),
            whole(name, "embedding_dim", embedding_dim),
        )
        if padding_idx is not None and not -self.num_embeddings <= padding_idx < self.num_embeddings:
            raise CallError(
                f"{name}: padding_idx is {padding_idx}, there are {num_embeddings} rows", code="arguments"
            )
        self.padding_idx = None if padding_idx is None else padding_idx % self.num_embeddings
        self.max_norm = None if max_norm is None else number(name, "max_norm", max_norm)
        self.norm_type = inf if norm_type == inf else number(name, "norm_type", norm_type)
        if self.norm_type == 0:
            raise CallError(f"{name}: norm_type is 0, expected a number above 0", code="arguments")
        self.scale_grad_by_freq, self.sparse = bool(scale_grad_by_freq), bool(sparse)
        self.weight = parameter(self, "weight", (self.num_embeddings, self.embedding_dim), dtype)
        if _weight is None:
            self.reset_parameters()
        else:
            self.weight.data = as_input(_weight, self.weight.dtype).array

    weight: Parameter

    def reset_parameters(self) -> None:
        """Draw the first values anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx] = 0

    @classmethod
    def from_pretrained(cls, embeddings: object, freeze: bool = True, **options: Any) -> Self:
        """A table of these rows; trained only if freeze is False."""
        rows = np.asarray(embeddings)
        table = cls(*rows.shape, _weight=rows, dtype=rows.dtype, **options)
        table.weight.requires_grad = not freeze
        return table

    def _rows(self, input: Any) -> Any:
        """The rows as the indices find them."""
        rows: Any = self.weight
        if self.max_norm is not None:
            capture = input.capture
            rows = ops.embedding_limited(
                capture.latest(self.weight), input, limit=self.max_norm, p=self.norm_type
            )
            capture.assign(self.weight, rows)
        return ops.embedding_by_frequency(rows, input) if self.scale_grad_by_freq else rows

    def extra_repr(self) -> str:
        shown = [f"{self.num_embeddings}, {self.embedding_dim}"]
        shown += [
            f"{name}={getattr(self, name)}"
            for name in ("padding_idx", "max_norm")
            if getattr(self, name) is not None
        ]
        shown += [f"norm_type={self.norm_type:g}"] if self.norm_type != 2 else []
        return ", ".join(
            [*shown, *(f"{name}=True" for name in ("scale_grad_by_freq", "sparse") if getattr(self, name))]
        )


class Embedding(_Table):
    """Table of vectors: row `i` of a (num_embeddings, embedding_dim) matrix for every index `i`.

    Args:
        padding_idx: a row that gets no gradient; it starts at 0.
        max_norm: rows that are looked up are scaled to at most this norm.
        norm_type: the order of that norm.
        scale_grad_by_freq: divide a row's gradient by the number of its uses in the batch.
        sparse: accepted as torch's; gradients are dense.
    Shapes:
        weight: (num_embeddings, embedding_dim)
        input: (...), integers in 0..num_embeddings - 1
        output: (..., embedding_dim)
    Raises:
        CallError: a size is no integer of at least 1, `padding_idx` is no row, or an index is out
            of range.
    Example:
        >>> layer = nn.Embedding(10, 4)
        >>> layer(np.array([[1, 2, 3]])).shape
        (1, 3, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: object = None,
        *,
        dtype: object = "f32",
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            dtype,
        )

    def forward(self, input: Any) -> Any:
        input = _indices(input)
        rows = self._rows(input)
        return (
            ops.embedding(rows, input)
            if self.padding_idx is None
            else ops.embedding_padded(rows, input, padding=self.padding_idx)
        )


class EmbeddingBag(_Table):
    """Sum, mean or maximum of the table's rows in every bag of indices.

    Bags are rows of indices, or one line of indices with the place where each bag begins. Row
    `padding_idx` does not count.

    Args:
        mode: "sum", "mean" or "max".
        include_last_offset: `offsets` ends with the number of indices.
        max_norm, norm_type, scale_grad_by_freq, sparse: as of Embedding.
    Shapes:
        weight: (num_embeddings, embedding_dim)
        input: (bags, indices), or (indices,) with `offsets`
        offsets: (bags,), the first is 0
        per_sample_weights: the shape of the input, for sums alone
        output: (bags, embedding_dim)
    Raises:
        CallError: a wrong size or mode, offsets without a line of indices or the reverse, weights
            for another mode than sum, or an index out of range.
    Example:
        >>> layer = nn.EmbeddingBag(10, 4, mode="sum")
        >>> layer(np.array([[1, 2], [4, 4]])).shape
        (2, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: object = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        *,
        dtype: object = "f32",
    ) -> None:
        self_mode = one_of("EmbeddingBag", "mode", mode, ("sum", "mean", "max"))
        if self_mode == "max" and scale_grad_by_freq:
            raise CallError(
                "EmbeddingBag: scale_grad_by_freq with mode 'max', expected sum or mean", code="arguments"
            )
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            dtype,
        )
        self.mode, self.include_last_offset = self_mode, bool(include_last_offset)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        if (input.ndim, offsets is None) not in ((2, True), (1, False)):
            raise CallError(
                "EmbeddingBag: expected rows of indices, or a line of indices and offsets", code="rank"
            )
        if per_sample_weights is not None and self.mode != "sum":
            raise CallError(
                f"EmbeddingBag: per_sample_weights with mode {self.mode!r}, expected sum", code="arguments"
            )
        input = _indices(input)
        where, rows = () if offsets is None else (_indices(offsets),), self._rows(input)
        name = "embedding_bag" if offsets is None else "embedding_offsets"
        constants = {"padding": -1 if self.padding_idx is None else self.padding_idx}
        if self.mode == "max":
            y = getattr(ops, f"{name}_max")(rows, input, *where, **constants)
        else:
            scales = present(scale=per_sample_weights)
            y = getattr(ops, name)(rows, input, *where, **scales, mean=self.mode == "mean", **constants)
        return ops.slice(y, count=y.shape[0] - 1) if self.include_last_offset and offsets is not None else y

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, mode={self.mode!r}"
