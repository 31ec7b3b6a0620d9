"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt

from texpr import ops
from texpr.graph import Capture, Symbolic
from texpr.nn.arguments import number
from texpr.nn.optim.optimizer import Optimizer, assign_all
from texpr.nn.parameter import Parameter


class Adam(Optimizer):
    """Steps of about lr in every coordinate, from running means of the gradient and of its square.

    p = p - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps); weight_decay * p is added to the gradient. Kingma and Ba, Adam,
    2015.
    """

    def __init__(self, params: Iterable[Parameter], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0) -> None:
        super().__init__(params, lr)
        first, second = betas
        self.betas = number(self._name, "betas[0]", first, below=1), number(self._name, "betas[1]", second, below=1)
        self.eps, self.weight_decay = number(self._name, "eps", eps), number(self._name, "weight_decay", weight_decay)

    def numbers(self, step: int) -> Mapping[str, float]:
        beta1, beta2 = self.betas
        return {"lr": self.lr, "step_size": self.lr / (1 - beta1**step), "root": sqrt(1 - beta2**step)}

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        self._append(capture, parameter, gradient, ops.adam_update, (), {"decay": self.weight_decay})

    def _append(self, capture: Capture, parameter: Parameter, gradient: Symbolic, operator: ops.Op, more: tuple[Symbolic, ...],
                constants: dict[str, float]) -> None:
        mean, square = self.state(parameter, "mean"), self.state(parameter, "square")
        numbers = [self.number(capture, name, parameter.dtype) for name in ("step_size", "root")]
        inputs = (capture.variable(parameter), gradient, capture.variable(mean), capture.variable(square), *numbers, *more)
        values = operator(*inputs, beta1=self.betas[0], beta2=self.betas[1], eps=self.eps, **constants)
        assign_all(capture, (parameter, mean, square), values)  # type: ignore[arg-type]


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter itself: p = (1 - lr * weight_decay) * p before the step.

    Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019.
    """

    def __init__(self, params: Iterable[Parameter], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)

    def numbers(self, step: int) -> Mapping[str, float]:
        return {**super().numbers(step), "shrink": 1 - self.lr * self.weight_decay}

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        shrink = self.number(capture, "shrink", parameter.dtype)
        self._append(capture, parameter, gradient, ops.adamw_update, (shrink,), {})
