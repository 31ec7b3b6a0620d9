"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from texpr import ops
from texpr.graph import Capture, Symbolic
from texpr.nn.arguments import number
from texpr.nn.optim.optimizer import Optimizer, assign_all
from texpr.nn.parameter import Parameter
from texpr.support.errors import CallError


class SGD(Optimizer):
    """Gradient descent with momentum: b = momentum * b + (1 - dampening) * g, p = p - lr * b, where g has weight_decay * p added.

    The first step takes b = g. Nesterov: p = p - lr * (g + momentum * b). Sutskever et al., On the importance of initialization and
    momentum, 2013.
    """

    def __init__(self, params: Iterable[Parameter], lr: float = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
                 nesterov: bool = False) -> None:
        super().__init__(params, lr)
        self.momentum, self.dampening = number("SGD", "momentum", momentum), number("SGD", "dampening", dampening)
        self.weight_decay, self.nesterov = number("SGD", "weight_decay", weight_decay), bool(nesterov)
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise CallError("SGD: nesterov needs a momentum above 0 and no dampening", code="arguments")

    def numbers(self, step: int) -> Mapping[str, float]:
        return {"lr": self.lr, "gain": 1.0 if step == 1 else 1 - self.dampening}

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        value, lr = capture.variable(parameter), self.number(capture, "lr", parameter.dtype)
        if self.momentum == 0:
            new = ops.sgd_update(value, gradient, lr, decay=self.weight_decay)
            capture.assign(parameter, new)  # type: ignore[arg-type]
            return
        buffer, gain = self.state(parameter, "momentum"), self.number(capture, "gain", parameter.dtype)
        operator = ops.nesterov_update if self.nesterov else ops.momentum_update
        values = operator(value, gradient, capture.variable(buffer), lr, gain, momentum=self.momentum, decay=self.weight_decay)
        assign_all(capture, (parameter, buffer), values)  # type: ignore[arg-type]
