"""Gradients that `backward()` of lazy tensors has left in parameters, made smaller. Compiled
steps do so by the optimizer's own methods.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isfinite
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph.lazy import Tensor
from texpr.graph.lazy.making import tensor
from texpr.nn.core.argument_checks import number
from texpr.nn.core.parameter import Parameter
from texpr.nn.optim.clipping import total_norm
from texpr.support.errors import CallError

Parameters = Iterable[Parameter] | Parameter


def get_total_norm(
    tensors: Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """The norm of all elements of all tensors as one vector, f64; 0 of none.

    Raises:
        CallError: it is not finite, and that is an error.
    """
    kind = inf if norm_type == inf else number("get_total_norm", "norm_type", norm_type, 1.0)
    given: list[Any] = list(tensors)
    norm: Any = total_norm(given, kind) if given else tensor(np.float64(0))
    if error_if_nonfinite and not isfinite(float(norm)):
        raise CallError(
            f"the norm of the gradients is {float(norm)}",
            code="gradient",
            help="error_if_nonfinite=False goes on",
        )
    return norm


def clip_grad_norm_(
    parameters: Parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale the gradients so that their norm as one vector is at most max_norm; the norm before.
    Pascanu et al., 2013.
    """
    given = _with_gradients("clip_grad_norm_", parameters)
    norm = get_total_norm([p.grad for p in given if p.grad is not None], norm_type, error_if_nonfinite)
    clip_grads_with_norm_(given, max_norm, norm)
    return norm


def clip_grads_with_norm_(parameters: Parameters, max_norm: float, total_norm: Tensor) -> None:
    """Scale the gradients by the smaller of 1 and max_norm / (total_norm + 1e-6)."""
    limit = tensor(np.float64(number("clip_grads_with_norm_", "max_norm", max_norm)))
    for p in _with_gradients("clip_grads_with_norm_", parameters):
        p.grad = ops.clip_by_norm(p.grad, total_norm, limit).realize()  # type: ignore[union-attr]


def clip_grad_value_(parameters: Parameters, clip_value: float) -> None:
    """Bring every element of the gradients between -clip_value and clip_value."""
    limit = number("clip_grad_value_", "clip_value", clip_value)
    for p in _with_gradients("clip_grad_value_", parameters):
        p.grad = ops.clip(p.grad, lo=-limit, hi=limit).realize()  # type: ignore[union-attr]


def _with_gradients(function: str, parameters: Parameters) -> list[Parameter]:
    """The parameters that have a gradient."""
    given = [parameters] if isinstance(parameters, Parameter) else list(parameters)
    for p in given:
        if not isinstance(p, Parameter):
            raise CallError(
                f"{function}: {p!r} is no parameter", code="arguments", help="pass model.parameters()"
            )
    return [p for p in given if p.grad is not None]
