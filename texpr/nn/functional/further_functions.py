"""Functions that no layer stands for: attention on its own, padding, one-hot, normalised vectors."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import BOOL
from texpr.nn.core.argument_checks import axis, number, one_of, whole
from texpr.nn.core.layer_operations import present
from texpr.nn.core.module import Module
from texpr.nn.functional.module_function import ModuleFunction
from texpr.nn.modules.dropout import Dropout
from texpr.nn.modules.padding import padded
from texpr.support.errors import CallError

_MODES = {"constant": "zeros", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}


class _Attention(Module):
    """Scaled dot-product attention: softmax(Q K^T scale + mask) V, over axes in front of the last two.

    A mask of truth values is true where a column is seen; of floats, it is added to the scores.
    """

    def __init__(
        self,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> None:
        super().__init__()
        self.is_causal, self.scale, self.enable_gqa = bool(is_causal), scale, bool(enable_gqa)
        self.dropout = Dropout(dropout_p) if dropout_p else None

    def forward(self, query: Any, key: Any, value: Any, attn_mask: Any = None) -> Any:
        if self.is_causal and attn_mask is not None:
            raise CallError(
                "attention has attn_mask and is_causal", code="arguments", help="give one of them"
            )
        if self.enable_gqa and key.shape[-3] != query.shape[-3]:
            times = query.shape[-3] // key.shape[-3]
            key, value = (ops.repeat(x, axis=x.ndim - 3, times=times) for x in (key, value))
        if self.scale is not None:
            query = query * (self.scale * sqrt(query.shape[-1]))
        rows, columns = query.shape[-2], key.shape[-2]
        if self.is_causal and (rows != columns or self.dropout is not None):
            attn_mask = query.capture.constant(np.tri(rows, columns, dtype=bool), "causal")
        if self.dropout is not None:
            return self._weighed(query, key, value, attn_mask)
        if attn_mask is None:
            return (ops.attention_causal if self.is_causal else ops.attention)(query, key, value)
        if attn_mask.dtype == BOOL:
            mask = attn_mask.broadcast_to((*query.shape[:-1], columns))
            return ops.attention_masked(query, key, value, mask)
        if attn_mask.ndim == 2:
            mask = attn_mask.astype(query.dtype).broadcast_to((rows, columns))
            return ops.attention_bias(query, key, value, mask)
        return self._weighed(query, key, value, attn_mask)

    def _weighed(self, query: Any, key: Any, value: Any, mask: Any) -> Any:
        scores = query @ key.swapaxes(-1, -2) * (1 / sqrt(query.shape[-1]))
        if mask is not None:
            scores = _seen(mask, scores) if mask.dtype == BOOL else scores + mask.astype(scores.dtype)
        weights = ops.softmax(scores)
        return (weights if self.dropout is None else self.dropout(weights)) @ value


def _seen(mask: Any, scores: Any) -> Any:
    return scores.where(mask.broadcast_to(scores.shape), float("-inf"))


class _Pad(Module):
    """Elements added around the last axes, two numbers for each, the last axis first; numbers below 0
    take elements away. Modes: "constant", "reflect", "replicate" and "circular".
    """

    def __init__(self, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> None:
        super().__init__()
        if len(pad) % 2:
            raise CallError(f"pad has {len(pad)} numbers", code="arguments", help="two for each axis")
        self.sides = list(zip(pad[::2], pad[1::2]))[::-1]
        self.mode = _MODES[one_of("pad", "mode", mode, tuple(_MODES))]
        self.value = value

    def forward(self, input: Any) -> Any:
        if len(self.sides) > input.ndim:
            raise CallError(f"pad of {len(self.sides)} axes of {input.ndim}", code="rank")
        constants = present(value=self.value) if self.mode == "zeros" else {}
        return padded(input, self.sides, self.mode, **constants)


class _OneHot(Module):
    """1 at the place that an integer names and 0 elsewhere, along a new last axis: i64."""

    def __init__(self, num_classes: int = -1) -> None:
        super().__init__()
        if num_classes == -1:
            raise CallError(
                "one_hot without num_classes: the shape would depend on data",
                code="arguments",
                help="F.one_hot(target, num_classes=10)",
            )
        self.num_classes = whole("one_hot", "num_classes", num_classes)

    def forward(self, input: Any) -> Any:
        return ops.one_hot(input.astype("i64"), C=self.num_classes).astype("i64")  # type: ignore[union-attr]


class _Normalize(Module):
    """Vectors along an axis divided by their p-norm, or by eps where that is less."""

    def __init__(self, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> None:
        super().__init__()
        self.p, self.dim, self.eps = number("normalize", "p", p), dim, number("normalize", "eps", eps)

    def forward(self, input: Any) -> Any:
        place = axis("normalize", input, self.dim, "dim")
        if self.p == 2:
            return ops.normalize(input, axis=place, eps=self.eps)
        return input / input.norm(self.p, axis=place, keepdims=True).clip(self.eps, None)


class _Embedding(Module):
    """Rows of a table at places; the row `padding_idx` gets no gradient."""

    def __init__(self, padding_idx: int | None = None) -> None:
        super().__init__()
        self.padding_idx = padding_idx

    def forward(self, input: Any, weight: Any) -> Any:
        places = input.astype("i64")
        if self.padding_idx is None:
            return ops.embedding(weight, places)
        return ops.embedding_padded(weight, places, padding=self.padding_idx % weight.shape[0])


class _BatchNorm(Module):
    """Batch normalization: by the statistics that are given, or in training by those of the batch.
    `nn.BatchNorm2d` keeps running statistics, which this function does not change.
    """

    function = "batch_norm"

    def __init__(self, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.by_batch, self.eps = bool(training), number("batch_norm", "eps", eps)

    def forward(
        self,
        input: Any,
        running_mean: Any = None,
        running_var: Any = None,
        weight: Any = None,
        bias: Any = None,
    ) -> Any:
        given = present(weight=weight, bias=bias)
        if not self.by_batch:
            if running_mean is None or running_var is None:
                raise CallError(
                    f"{self.function} by statistics that are not given",
                    code="arguments",
                    help="give running_mean and running_var, or take those of the input",
                )
            return ops.batch_norm(input, running_mean, running_var, **given, eps=self.eps)
        if running_mean is not None or running_var is not None:
            raise CallError(
                f"{self.function} by statistics of the input would change the running ones",
                code="arguments",
                help="the module, such as nn.BatchNorm2d, keeps them; without them give None",
            )
        return self._of_input(input, given)

    def _of_input(self, input: Any, given: dict[str, Any]) -> Any:
        return ops.batch_norm_training(input, **given, eps=self.eps)[0]


class _InstanceNorm(_BatchNorm):
    """Instance normalization of each sample and channel by its own statistics, or by those that are
    given.
    """

    function = "instance_norm"

    def __init__(self, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__(use_input_stats, momentum, eps)

    def _of_input(self, input: Any, given: dict[str, Any]) -> Any:
        return ops.instance_norm(input, **given, eps=self.eps)


scaled_dot_product_attention = ModuleFunction(
    "scaled_dot_product_attention",
    _Attention,
    signature="query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, "
    "enable_gqa=False",
)
pad = ModuleFunction("pad", _Pad)
one_hot = ModuleFunction("one_hot", _OneHot)
normalize = ModuleFunction("normalize", _Normalize)
embedding = ModuleFunction("embedding", _Embedding)
batch_norm = ModuleFunction(
    "batch_norm",
    _BatchNorm,
    signature="input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, "
    "eps=1e-5",
)
instance_norm = ModuleFunction(
    "instance_norm",
    _InstanceNorm,
    signature="input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, "
    "momentum=0.1, eps=1e-5",
)
