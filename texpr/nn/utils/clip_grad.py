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
from texpr.support.tracebacks import boundary

Parameters = Iterable[Parameter] | Parameter


@boundary
def get_total_norm(
    tensors: Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Norm of all elements of all tensors as one vector, f64; 0 of none.

    Args:
        tensors: such as gradients.
        norm_type: the order of the norm, may be infinite.
        error_if_nonfinite: refuse a norm that is NaN or infinite.
    Raises:
        CallError: it is not finite, and that is an error.
    Example:
        >>> nn.utils.get_total_norm([tx.tensor([3.0]), tx.tensor([4.0])]).item()
        5.0
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


@boundary
def clip_grad_norm_(
    parameters: Parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale gradients so that their norm as one vector is at most `max_norm`; the norm before.

    Pascanu, Mikolov and Bengio, On the Difficulty of Training Recurrent Neural Networks, 2013.

    Args:
        parameters: a parameter, or several.
        max_norm: the largest norm.
        norm_type: the order of the norm, may be infinite.
        error_if_nonfinite: refuse a norm that is NaN or infinite.
    Raises:
        CallError: the norm is not finite, and that is an error.
    Example:
        >>> w = nn.Parameter(np.float32([3.0, 4.0]))
        >>> (w * w).sum().backward()
        >>> nn.utils.clip_grad_norm_([w], 1.0).item()
        10.0
        >>> np.round(w.grad.numpy(), 3).tolist()
        [0.6000000238418579, 0.800000011920929]
    """
    given = _with_gradients("clip_grad_norm_", parameters)
    norm = get_total_norm([p.grad for p in given if p.grad is not None], norm_type, error_if_nonfinite)
    clip_grads_with_norm_(given, max_norm, norm)
    return norm


@boundary
def clip_grads_with_norm_(parameters: Parameters, max_norm: float, total_norm: Tensor) -> None:
    """Scale gradients by the smaller of 1 and `max_norm / (total_norm + 1e-6)`.

    Args:
        parameters: a parameter, or several.
        max_norm: the largest norm.
        total_norm: their norm, see `get_total_norm`.
    Raises: nothing of its own.
    Example:
        >>> w = nn.Parameter(np.float32([3.0, 4.0]))
        >>> (w * w).sum().backward()
        >>> nn.utils.clip_grads_with_norm_([w], 1.0, nn.utils.get_total_norm([w.grad]))
        >>> np.round(w.grad.numpy(), 3).tolist()
        [0.6000000238418579, 0.800000011920929]
    """
    limit = tensor(np.float64(number("clip_grads_with_norm_", "max_norm", max_norm)))
    for p in _with_gradients("clip_grads_with_norm_", parameters):
        p.grad = ops.clip_by_norm(p.grad, total_norm, limit).realize()  # type: ignore[union-attr]


@boundary
def clip_grad_value_(parameters: Parameters, clip_value: float) -> None:
    """Clamp every element of the gradients to -clip_value..clip_value.

    Args:
        parameters: a parameter, or several.
        clip_value: the largest absolute value.
    Raises: nothing of its own.
    Example:
        >>> w = nn.Parameter(np.float32([3.0, 4.0]))
        >>> (w * w).sum().backward()
        >>> nn.utils.clip_grad_value_([w], 7.0)
        >>> w.grad.tolist()
        [6.0, 7.0]
    """
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
