"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Mapping

from texpr import ops
from texpr.graph import Capture, Symbolic
from texpr.nn.core.parameter import Parameter
from texpr.nn.optim.argument_types import Params
from texpr.nn.optim.group import Group
from texpr.nn.optim.optimizer import Optimizer
from texpr.support.errors import CallError


class SGD(Optimizer):
    """Stochastic gradient descent with momentum: `b = momentum b + (1 - dampening) g` and
    `p = p - lr b`.

    The first step takes `b = g`. With `nesterov`, `p = p - lr (g + momentum b)`. Sutskever et al.,
    On the Importance of Initialization and Momentum in Deep Learning, 2013.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the learning rate.
        momentum: the share of the old in `b`.
        dampening: the share of the gradient that is left out.
        weight_decay: times p, is added to the gradient.
        nesterov: look ahead by the momentum.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, an option out of its range, or `nesterov` without a momentum or
            with a dampening.
    Example:
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> optimizer = nn.optim.SGD([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(float(w.data[0]), 4)
        0.8
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=bool(nesterov),
            maximize=bool(maximize),
        )
        if any(g["nesterov"] and (g["momentum"] == 0 or g["dampening"] != 0) for g in self.param_groups):
            raise CallError("SGD: nesterov needs a momentum above 0 and no dampening", code="arguments")
        self._with_momentum = any(g["momentum"] > 0 for g in self.param_groups)

    def numbers(self, group: Group, step: int) -> Mapping[str, float]:
        return {**super().numbers(group, step), "gain": 1.0 if step == 1 else 1 - group["dampening"]}

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        group = self.group(parameter)
        if not self._with_momentum:
            return self.apply(capture, ops.sgd_update, parameter, gradient, numbers=("lr", "weight_decay"))
        operator = ops.nesterov_update if group["nesterov"] else ops.momentum_update
        return self.apply(
            capture,
            operator,
            parameter,
            gradient,
            ("momentum_buffer",),
            ("lr", "gain", "momentum", "weight_decay"),
        )

    def structure(self) -> tuple:
        """A momentum that was 0 and is set later needs a buffer."""
        self._with_momentum = self._with_momentum or any(g["momentum"] > 0 for g in self.param_groups)
        return *super().structure(), self._with_momentum
