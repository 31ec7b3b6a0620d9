"""Gradients made smaller before they are used."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import inf, isinf

import numpy as np

from texpr import ops
from texpr.graph import Capture, Symbolic, Variable
from texpr.nn.core.argument_checks import number
from texpr.nn.core.parameter import Parameter

Gradients = Mapping[Parameter, Symbolic]


class ClipNorm:
    """All gradients times min(1, max_norm / (norm + 1e-6)), where norm is that of all their
    elements as one vector.

    Pascanu, Mikolov and Bengio, On the Difficulty of Training Recurrent Neural Networks, 2013.
    """

    def __init__(self, max_norm: float, norm_type: float = 2.0) -> None:
        self.max_norm = Variable(np.float64(number("clip_grad_norm_", "max_norm", max_norm)), "max_norm")
        self.norm_type = inf if norm_type == inf else number("clip_grad_norm_", "norm_type", norm_type, 1.0)

    def __call__(self, capture: Capture, gradients: Gradients) -> dict[Parameter, Symbolic]:
        norm = total_norm(list(gradients.values()), self.norm_type)
        limit = capture.variable(self.max_norm)
        return {p: ops.clip_by_norm(g, norm, limit) for p, g in gradients.items()}  # type: ignore[misc]


class ClipValue:
    """Every element of a gradient between -clip_value and clip_value."""

    def __init__(self, clip_value: float) -> None:
        self.clip_value = number("clip_grad_value_", "clip_value", clip_value)

    def __call__(self, capture: Capture, gradients: Gradients) -> dict[Parameter, Symbolic]:
        return {p: ops.clip(g, lo=-self.clip_value, hi=self.clip_value) for p, g in gradients.items()}  # type: ignore[misc]


def total_norm(tensors: list[Symbolic], norm_type: float = 2.0) -> Symbolic:
    """The norm of all elements of all tensors, f64."""
    each = [_power(t, norm_type) for t in tensors]
    if isinf(norm_type):
        return reduce(ops.maximum, each)  # type: ignore[arg-type]
    return ops.power(reduce(ops.add, each), exponent=1 / norm_type)  # type: ignore[arg-type]


def _power(tensor: Symbolic, norm_type: float) -> Symbolic:
    """The largest |x|, or the sum of |x|^p."""
    whole = {"axis": 0, "count": tensor.ndim}
    if isinf(norm_type):
        return ops.to_f64(ops.norm_max(tensor, **whole))  # type: ignore[return-value]
    if norm_type == 2:
        return ops.to_f64(ops.sum_square(tensor, **whole))  # type: ignore[return-value]
    return ops.to_f64(ops.reduce_sum(ops.power(ops.abs(tensor), exponent=norm_type), **whole))  # type: ignore[return-value]
