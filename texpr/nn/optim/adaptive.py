"""Steps by what gradients were before: RMSprop, Adagrad, Adadelta, Rprop; and averaged gradient
descent.
"""

from __future__ import annotations

from collections.abc import Mapping

from texpr import ops
from texpr.graph import Capture, Symbolic
from texpr.nn.core.parameter import Parameter
from texpr.nn.optim.argument_types import Params
from texpr.nn.optim.group import Group
from texpr.nn.optim.optimizer import Optimizer


class RMSprop(Optimizer):
    """Gradient over its root mean square: `p = p - lr g / (sqrt(v) + eps)`, with a running mean v
    of g^2.

    With momentum, `b = momentum b + g / (sqrt(v) + eps)` and `p = p - lr b`. Tieleman and Hinton,
    Lecture 6.5, 2012.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the learning rate.
        alpha: the share of the old in v.
        eps: keeps divisors away from 0.
        weight_decay: times p, is added to the gradient.
        momentum: the share of the old in b.
        centered: subtract the square of the mean gradient from v.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, something else among them, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> optimizer = nn.optim.RMSprop([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(float(w.data[0]), 4)
        0.0
    """

    limits = {"alpha": (0.0, 1.0)}

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            alpha=alpha,
            eps=eps,
            weight_decay=weight_decay,
            momentum=momentum,
            centered=bool(centered),
            maximize=bool(maximize),
        )

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        group = self.group(parameter)
        if group["momentum"] == 0 and not group["centered"]:
            return self.apply(
                capture,
                ops.rmsprop_update,
                parameter,
                gradient,
                ("square_avg",),
                ("lr", "alpha", "eps", "weight_decay"),
            )
        return self.apply(
            capture,
            ops.rmsprop_momentum_update,
            parameter,
            gradient,
            ("square_avg", "grad_avg", "momentum_buffer"),
            ("lr", "alpha", "eps", "momentum", "weight_decay"),
            centered=group["centered"],
        )

    def structure(self) -> tuple:
        """A momentum that was 0 and is set later needs a buffer."""
        return *super().structure(), tuple(g["momentum"] == 0 for g in self.param_groups)


class Adagrad(Optimizer):
    """Gradient over the root of all squares:
    `p = p - lr / (1 + (t - 1) lr_decay) g / (sqrt(sum of g^2) + eps)`.

    Duchi, Hazan and Singer, Adaptive Subgradient Methods, 2011.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the learning rate.
        lr_decay: the rate at which steps shrink.
        weight_decay: times p, is added to the gradient.
        initial_accumulator_value: the sum before the first step.
        eps: keeps divisors away from 0.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, something else among them, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> optimizer = nn.optim.Adagrad([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(float(w.data[0]), 4)
        0.9
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
            maximize=bool(maximize),
        )

    def numbers(self, group: Group, step: int) -> Mapping[str, float]:
        return {**super().numbers(group, step), "slower": group["lr"] / (1 + (step - 1) * group["lr_decay"])}

    def first_state(self, parameter: Parameter, name: str) -> float:
        return self.group(parameter)["initial_accumulator_value"]

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        self.apply(
            capture, ops.adagrad_update, parameter, gradient, ("sum",), ("slower", "eps", "weight_decay")
        )


class Adadelta(Optimizer):
    """Steps in the units of the parameter: `d = sqrt(u + eps) / sqrt(v + eps) g` and
    `p = p - lr d`.

    v and u are running means of g^2 and of d^2. Zeiler, ADADELTA, 2012.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the learning rate.
        rho: the share of the old in the means.
        eps: keeps divisors away from 0.
        weight_decay: times p, is added to the gradient.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, something else among them, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> optimizer = nn.optim.Adadelta([w])
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(float(w.data[0]), 4)
        0.9968
    """

    limits = {"rho": (0.0, 1.0)}

    def __init__(
        self,
        params: Params,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=bool(maximize))

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        self.apply(
            capture,
            ops.adadelta_update,
            parameter,
            gradient,
            ("square_avg", "acc_delta"),
            ("lr", "rho", "eps", "weight_decay"),
        )


class Rprop(Optimizer):
    """Resilient propagation: `p = p - sign(g) s`, whose size s grows by `etas[1]` while the
    gradient keeps its sign and shrinks by `etas[0]` where it changes.

    Riedmiller and Braun, A Direct Adaptive Method for Faster Backpropagation Learning: RPROP, 1993.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the first size.
        etas: the factors of sizes, down and up.
        step_sizes: the least and the largest size.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, something else among them, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> optimizer = nn.optim.Rprop([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(float(w.data[0]), 4)
        0.9
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr=lr, etas=etas, step_sizes=step_sizes, maximize=bool(maximize))

    def first_state(self, parameter: Parameter, name: str) -> float:
        return self.group(parameter)["lr"] if name == "step_size" else 0.0

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        self.apply(
            capture,
            ops.rprop_update,
            parameter,
            gradient,
            ("prev", "step_size"),
            ("eta2", "eta1", "step_size1", "step_size2"),
        )


class ASGD(Optimizer):
    """Averaged gradient descent: from step t0 on, the state `ax` is the mean of the parameters.

    Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, 1992.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the learning rate.
        lambd: the rate at which parameters shrink.
        alpha: the power by which the learning rate falls.
        t0: the step from which parameters are averaged.
        weight_decay: times p, is added to the gradient.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, something else among them, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> optimizer = nn.optim.ASGD([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(float(w.data[0]), 4)
        0.8
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params, lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, maximize=bool(maximize)
        )

    def numbers(self, group: Group, step: int) -> Mapping[str, float]:
        before = step - 1
        eta = group["lr"] / (1 + group["lambd"] * group["lr"] * before) ** group["alpha"]
        return {
            **super().numbers(group, step),
            "eta": eta,
            "gain": 1 / max(1.0, before - group["t0"]),
            "shrink": 1 - group["lambd"] * eta,
        }

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        self.apply(
            capture, ops.asgd_update, parameter, gradient, ("ax",), ("eta", "gain", "shrink", "weight_decay")
        )
