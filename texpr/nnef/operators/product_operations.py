"""Products of matrices, and normalization by running statistics."""

from __future__ import annotations

from typing import Any

from texpr import ops
from texpr.nnef.operation_table import Operation, operation
from texpr.nnef.operation_texts import each
from texpr.nnef.operators.element_operations import common


@operation("matmul", "tract_core_matmul")
def _matmul(
    about: Operation, A: Any, B: Any, transposeA: bool, transposeB: bool, transposeC: bool = False
) -> Any:  # noqa: N803
    found = _turned(A, transposeA) @ _turned(B, transposeB)
    return _turned(found, transposeC)


def _turned(x: Any, swap: bool) -> Any:
    return x.swapaxes(-1, -2) if swap and x.ndim > 1 else x


@operation("linear", numbers=True)
def _linear(about: Operation, input: Any, filter: Any, bias: Any) -> Any:  # noqa: A002
    weight = (
        filter.reshape(filter.shape[-2:]) if filter.size == filter.shape[-1] * filter.shape[-2] else filter
    )
    if (
        weight.ndim == 2
        and hasattr(bias, "size")
        and bias.size == weight.shape[0]
        and bias.shape[-1] == bias.size
    ):
        return ops.linear(input, weight, bias.reshape(bias.size))
    if weight.ndim == 2 and not hasattr(bias, "size") and bias == 0:
        return ops.linear(input, weight)
    return each("add", "{0} + {1}", *common(about, input @ weight.swapaxes(-1, -2), bias))


@operation("batch_normalization", numbers=True)
def _batch_norm(
    about: Operation, input: Any, mean: Any, variance: Any, offset: Any, scale: Any, epsilon: float  # noqa: A002
) -> Any:  # fmt: skip
    statistics = [mean, variance, scale, offset]
    channels = input.shape[1] if input.ndim > 1 else 0
    if input.ndim > 1 and all(hasattr(v, "size") and v.size == channels for v in statistics):
        flat = [v.reshape(channels) for v in statistics]
        return ops.batch_norm(input, *flat, eps=float(epsilon))
    away = each("sub", "{0} - {1}", *common(about, input, mean))
    scaled = each("scale", "{0} * {1}", *common(about, away, scale))
    spread = each("div", f"{{0}} / sqrt({{1}} + {float(epsilon)!r})", *common(about, scaled, variance))
    return each("add", "{0} + {1}", *common(about, spread, offset))
