"""Tables whose rows are looked up by index."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from texpr import ops
from texpr.nn import init
from texpr.nn.arguments import no_option, one_of, whole
from texpr.nn.calls import parameter, present
from texpr.nn.inputs import as_input
from texpr.nn.module import Module
from texpr.nn.parameter import Parameter
from texpr.support.errors import CallError


class _Table(Module):
    """Rows with first values as torch's: normally distributed, but for row padding_idx, which is 0."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None, max_norm: float | None,
                 scale_grad_by_freq: bool, sparse: bool, _weight: object, dtype: object) -> None:
        super().__init__()
        name = type(self).__name__
        self.num_embeddings, self.embedding_dim = whole(name, "num_embeddings", num_embeddings), whole(name, "embedding_dim", embedding_dim)
        if padding_idx is not None and not -self.num_embeddings <= padding_idx < self.num_embeddings:
            raise CallError(f"{name}: padding_idx is {padding_idx}, there are {num_embeddings} rows", code="arguments")
        self.padding_idx = None if padding_idx is None else padding_idx % self.num_embeddings
        no_option(name, "max_norm", max_norm, "rows that are looked up would change without a step; scale .weight.data between steps")
        no_option(name, "scale_grad_by_freq", scale_grad_by_freq, "weigh the loss of each example instead")
        no_option(name, "sparse", sparse, "gradients are dense; leave it out")
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

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}" + ("" if self.padding_idx is None else f", padding_idx={self.padding_idx}")


class Embedding(_Table):
    """Row i of a table of (num_embeddings, embedding_dim) for every index i (i64). Row padding_idx gets no gradient."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
                 norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: object = None, *,
                 dtype: object = "f32") -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, scale_grad_by_freq, sparse, _weight, dtype)

    def forward(self, input: Any) -> Any:
        if self.padding_idx is None:
            return ops.embedding(self.weight, input)
        return ops.embedding_padded(self.weight, input, padding=self.padding_idx)


class EmbeddingBag(_Table):
    """The sum, mean or largest elements of the rows of every bag of indices; row padding_idx does not count.

    Bags are rows of indices (bags, indices), or one line of indices with the place where each bag begins (`offsets`, the first is 0).
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: object = None,
                 include_last_offset: bool = False, padding_idx: int | None = None, *, dtype: object = "f32") -> None:
        self_mode = one_of("EmbeddingBag", "mode", mode, ("sum", "mean", "max"))
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, scale_grad_by_freq, sparse, _weight, dtype)
        self.mode, self.include_last_offset = self_mode, bool(include_last_offset)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        if (input.ndim, offsets is None) not in ((2, True), (1, False)):
            raise CallError("EmbeddingBag: expected rows of indices, or a line of indices and offsets", code="rank")
        if per_sample_weights is not None and self.mode != "sum":
            raise CallError(f"EmbeddingBag: per_sample_weights with mode {self.mode!r}, expected sum", code="arguments")
        where = () if offsets is None else (offsets,)
        name = "embedding_bag" if offsets is None else "embedding_offsets"
        constants = {"padding": -1 if self.padding_idx is None else self.padding_idx}
        if self.mode == "max":
            y = getattr(ops, f"{name}_max")(self.weight, input, *where, **constants)
        else:
            scales = present(scale=per_sample_weights)
            y = getattr(ops, name)(self.weight, input, *where, **scales, mean=self.mode == "mean", **constants)
        return ops.slice(y, count=y.shape[0] - 1) if self.include_last_offset and offsets is not None else y

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, mode={self.mode!r}"
