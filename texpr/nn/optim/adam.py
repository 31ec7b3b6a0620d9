"""Adam and its kin: running means of the gradient and of its square."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from texpr import ops
from texpr.graph import Capture, Symbolic
from texpr.nn.core.parameter import Parameter
from texpr.nn.optim.argument_types import Betas, Params
from texpr.nn.optim.group import Group
from texpr.nn.optim.optimizer import Optimizer

_BELOW_ONE = {"betas": (0.0, 1.0)}
_MEANS = ("exp_avg", "exp_avg_sq")
_SHARED = ("beta1", "beta2", "eps", "decay", "shrink")


class Adam(Optimizer):
    """Adaptive moments: `p = p - lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + eps)`.

    `m` and `v` are running means of g and of g^2. Kingma and Ba, Adam, 2015. `amsgrad` divides by
    the largest v so far: Reddi, Kale and Kumar, On the Convergence of Adam and Beyond, 2018.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the learning rate.
        betas: the shares of the old in the running means of g and of g^2.
        eps: keeps divisors away from 0.
        weight_decay: times p, is added to the gradient.
        amsgrad: take the largest v so far.
        decoupled_weight_decay: shrink p by `lr weight_decay` instead.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, something else among them, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> optimizer = nn.optim.Adam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(float(w.data[0]), 4)
        0.9
    """

    limits = _BELOW_ONE

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            amsgrad=bool(amsgrad),
            maximize=bool(maximize),
            decoupled_weight_decay=bool(decoupled_weight_decay),
        )

    def numbers(self, group: Group, step: int) -> Mapping[str, float]:
        beta1, beta2 = group["betas"]
        return {
            **super().numbers(group, step),
            **decays(group),
            "step_size": group["lr"] / (1 - beta1**step),
            "root": sqrt(1 - beta2**step),
        }

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        largest = self.group(parameter)["amsgrad"]
        operator, states = (
            (ops.amsgrad_update, (*_MEANS, "max_exp_avg_sq")) if largest else (ops.adam_update, _MEANS)
        )
        self.apply(capture, operator, parameter, gradient, states, ("step_size", "root", *_SHARED))


class AdamW(Adam):
    """Adam with decoupled weight decay: `p = (1 - lr weight_decay) p` before the step.

    Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the learning rate.
        betas: the shares of the old in the running means of g and of g^2.
        eps: keeps divisors away from 0.
        weight_decay: times lr, is the share by which p shrinks.
        amsgrad: take the largest v so far.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, something else among them, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> optimizer = nn.optim.AdamW([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(float(w.data[0]), 4)
        0.899
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True
        )


class SparseAdam(Optimizer):
    """Adam that leaves rows alone whose gradient is 0, with their means: rows of a table that a
    step did not look up.

    `p = p - lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)`, where t counts all steps.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the learning rate.
        betas: the shares of the old in the running means of g and of g^2.
        eps: keeps divisors away from 0.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, something else among them, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> optimizer = nn.optim.SparseAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(float(w.data[0]), 4)
        0.9
    """

    limits = _BELOW_ONE

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, maximize=bool(maximize))

    def numbers(self, group: Group, step: int) -> Mapping[str, float]:
        beta1, beta2 = group["betas"]
        return {
            **super().numbers(group, step),
            "step_size": group["lr"] * sqrt(1 - beta2**step) / (1 - beta1**step),
        }

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        self.apply(
            capture,
            ops.sparse_adam_update,
            parameter,
            gradient,
            _MEANS,
            ("step_size", "beta1", "beta2", "eps"),
        )


class Adamax(Optimizer):
    """Adam with the infinity norm: `u = max(beta2 u, |g| + eps)` and
    `p = p - lr / (1 - beta1^t) m / u`.

    Kingma and Ba, Adam, 2015.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the learning rate.
        betas: the shares of the old in the running means of g and of g^2.
        eps: keeps divisors away from 0.
        weight_decay: times p, is added to the gradient.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, something else among them, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> optimizer = nn.optim.Adamax([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(float(w.data[0]), 4)
        0.9
    """

    limits = _BELOW_ONE

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=bool(maximize)
        )

    def numbers(self, group: Group, step: int) -> Mapping[str, float]:
        return {**super().numbers(group, step), "step_size": group["lr"] / (1 - group["betas"][0] ** step)}

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        numbers = "step_size", "beta1", "beta2", "eps", "weight_decay"
        self.apply(capture, ops.adamax_update, parameter, gradient, ("exp_avg", "exp_inf"), numbers)


class NAdam(Optimizer):
    """Adam with Nesterov momentum: the step takes the gradient and the mean of the next step.

    The momentum of step t is `mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2)`. Dozat, Incorporating
    Nesterov Momentum into Adam, 2016.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the learning rate.
        betas: the shares of the old in the running means of g and of g^2.
        eps: keeps divisors away from 0.
        weight_decay: times p, is added to the gradient.
        momentum_decay: the rate at which the momentum approaches beta1.
        decoupled_weight_decay: shrink p by `lr weight_decay` instead.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, something else among them, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> optimizer = nn.optim.NAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(float(w.data[0]), 4)
        0.8944
    """

    limits = _BELOW_ONE

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            momentum_decay=momentum_decay,
            decoupled_weight_decay=bool(decoupled_weight_decay),
            maximize=bool(maximize),
        )
        self._products: dict[int, tuple[int, float]] = {}

    def numbers(self, group: Group, step: int) -> Mapping[str, float]:
        beta1, beta2 = group["betas"]
        now, ahead = (beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        product = self._product(group, step)
        return {
            **super().numbers(group, step),
            **decays(group),
            "root": sqrt(1 - beta2**step),
            "now": group["lr"] * (1 - now) / (1 - product),
            "ahead": group["lr"] * ahead / (1 - product * ahead),
        }

    def _product(self, group: Group, step: int) -> float:
        """Of the factors of all steps so far, from what was found for the step before."""
        known, product = self._products.get(id(group), (0, 1.0))
        known, product = (known, product) if known < step else (0, 1.0)
        for t in range(known + 1, step + 1):
            if t == step:
                self._products[id(group)] = t - 1, product
            product *= group["betas"][0] * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"]))
        return product

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        self.apply(capture, ops.nadam_update, parameter, gradient, _MEANS, ("now", "ahead", "root", *_SHARED))


class RAdam(Optimizer):
    """Rectified Adam: gradient descent with momentum as long as v is known from few gradients.

    Afterwards the step of Adam is multiplied by a factor that corrects the variance of v. Liu et
    al., On the Variance of the Adaptive Learning Rate and Beyond, 2020.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the learning rate.
        betas: the shares of the old in the running means of g and of g^2.
        eps: keeps divisors away from 0.
        weight_decay: times p, is added to the gradient.
        decoupled_weight_decay: shrink p by `lr weight_decay` instead.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, something else among them, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> optimizer = nn.optim.RAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(float(w.data[0]), 4)
        0.8
    """

    limits = _BELOW_ONE

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: Betas = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            decoupled_weight_decay=bool(decoupled_weight_decay),
            maximize=bool(maximize),
        )

    def numbers(self, group: Group, step: int) -> Mapping[str, float]:
        beta1, beta2 = group["betas"]
        power = beta2**step
        most = 2 / (1 - beta2) - 1
        length = most - 2 * step * power / (1 - power)
        known = (
            sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
            if length > 5
            else 0.0
        )
        return {
            **super().numbers(group, step),
            **decays(group),
            "step_size": group["lr"] / (1 - beta1**step),
            "rectified": known * sqrt(1 - power),
        }

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        self.apply(
            capture, ops.radam_update, parameter, gradient, _MEANS, ("step_size", "rectified", *_SHARED)
        )


class Lion(Optimizer):
    """Sign of a running mean: `p = p - lr sign(beta1 m + (1 - beta1) g)`, then
    `m = beta2 m + (1 - beta2) g`.

    No element moves by more than lr, weight decay aside. Chen et al., Symbolic Discovery of
    Optimization Algorithms, 2023.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the learning rate.
        betas: the shares of the old in the step and in the mean.
        weight_decay: times lr, is the share by which p shrinks.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, something else among them, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> optimizer = nn.optim.Lion([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(float(w.data[0]), 4)
        0.9
    """

    limits = _BELOW_ONE

    def __init__(
        self,
        params: Params,
        lr: float = 1e-4,
        betas: Betas = (0.9, 0.99),
        weight_decay: float = 0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, weight_decay=weight_decay, maximize=bool(maximize))

    def numbers(self, group: Group, step: int) -> Mapping[str, float]:
        return {**super().numbers(group, step), "shrink": 1 - group["lr"] * group["weight_decay"]}

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        self.apply(
            capture, ops.lion_update, parameter, gradient, ("exp_avg",), ("lr", "beta1", "beta2", "shrink")
        )


def decays(group: Group) -> dict[str, float]:
    """Weight decay as a part of the gradient, or apart from it."""
    apart = group.get("decoupled_weight_decay", False)
    return (
        {"decay": 0.0, "shrink": 1 - group["lr"] * group["weight_decay"]}
        if apart
        else {"decay": group["weight_decay"], "shrink": 1.0}
    )
