"""Muon: momentum whose matrix is made orthogonal."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np

from texpr import ops
from texpr.compiler import op
from texpr.graph import Capture, Symbolic
from texpr.nn.core.argument_checks import one_of, whole
from texpr.nn.core.parameter import Parameter
from texpr.nn.optim.argument_types import Params
from texpr.nn.optim.group import Group
from texpr.nn.optim.optimizer import Optimizer
from texpr.support.errors import CallError

_MOMENTUM = op("""op muon_momentum<T: float>(g: T[M, N], buf: T[M, N], momentum: f64, ahead: f64, eps: f64)
   -> (direction: T[M, N], new_buf: T[M, N]) {
  new_buf[i, j] = T(momentum) * buf[i, j] + T(1 - momentum) * g[i, j]
  u[i, j] = T(ahead) * new_buf[i, j] + T(1 - ahead) * g[i, j]
  direction[i, j] = u[i, j] / max(T(eps), sqrt(sum(r, c: u[r, c] * u[r, c])))
}""")
_NEWTON_SCHULZ = op("""op newton_schulz<T: float>(X: T[M, N], a: f64, b: f64, c: f64) -> Y: T[M, N] {
  G[i, j] = sum(k: X[i, k] * X[j, k])
  H[i, j] = T(b) * G[i, j] + T(c) * sum(k: G[i, k] * G[k, j])
  Y[i, j] = T(a) * X[i, j] + sum(k: H[i, k] * X[k, j])
}""")
_STEP = op("""op muon_step<T: float>(p: T[M, N], o: T[M, N], lr: f64, shrink: f64) -> new: T[M, N] {
  new[i, j] = T(shrink) * p[i, j] - T(lr) * o[i, j]
}""")


class Muon(Optimizer):
    """Momentum of matrices, made orthogonal: `p = (1 - lr weight_decay) p - lr' O`, where O is near
    the orthogonal matrix next to the momentum.

    `b = momentum b + (1 - momentum) g`, with `nesterov` looked ahead from once more. Its norm
    becomes 1, and `ns_steps` iterations `X = a X + (b X X^T + c (X X^T)^2) X` bring its singular
    values near 1. They are computed in the parameter's type; torch computes them in bf16. `lr'` is
    `lr sqrt(max(1, rows / columns))`. Jordan et al., Muon: An Optimizer for Hidden Layers in Neural
    Networks, 2024; Liu et al., Muon is Scalable for LLM Training, 2025.

    It is for matrices of hidden layers. Biases, embeddings and the last layer are for AdamW.

    Args:
        params: parameters of two dimensions, or dicts of groups with options of their own.
        lr: the learning rate.
        weight_decay: the share `lr weight_decay` of p that each step takes away.
        momentum: the share of the old in b.
        nesterov: look ahead by the momentum.
        ns_coefficients: a, b and c of the iteration.
        eps: the least norm that is divided by.
        ns_steps: iterations, below 100.
        adjust_lr_fn: "original", "match_rms_adamw": `lr' = 0.2 lr sqrt(max(rows, columns))`, or
            "spectral_unclamped": `lr' = lr sqrt(rows / columns)`.
    Raises:
        CallError: no parameters, one that is no matrix, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.eye(2, dtype=np.float32))
        >>> optimizer = nn.optim.Muon([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> bool(w.data[0, 0] < 1.0)
        True
    """

    limits = {"momentum": (0.0, 1.0), "ns_coefficients": (-1e300, 1e300)}

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        self.ns_steps = whole("Muon", "ns_steps", ns_steps)
        if self.ns_steps >= 100:
            raise CallError(f"Muon: ns_steps is {ns_steps}, expected fewer than 100", code="arguments")
        self.adjust_lr_fn = one_of(
            "Muon",
            "adjust_lr_fn",
            adjust_lr_fn or "original",
            ("original", "match_rms_adamw", "spectral_unclamped"),
        )
        super().__init__(
            params,
            lr=lr,
            weight_decay=weight_decay,
            momentum=momentum,
            nesterov=bool(nesterov),
            ns_coefficients=tuple(ns_coefficients),
            eps=eps,
        )

    def add_param_group(self, param_group: Mapping[str, object]) -> None:
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            if len(p.shape) != 2:
                self.param_groups.pop()
                raise CallError(
                    f"Muon: the parameter {p.name} has shape {list(p.shape)}, expected a matrix",
                    code="arguments",
                    help="give such parameters to another optimizer, such as AdamW",
                )

    def numbers(self, group: Group, step: int) -> Mapping[str, float]:
        a, b, c = group["ns_coefficients"]
        ahead = group["momentum"] if group["nesterov"] else 1.0
        shrink = 1 - group["lr"] * group["weight_decay"]
        return {**super().numbers(group, step), "a": a, "b": b, "c": c, "ahead": ahead, "shrink": shrink}

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        def scalars(*names: str) -> list[Symbolic]:
            return [self.number(capture, parameter, name) for name in names]

        buffer = self.state(parameter, "momentum_buffer")
        known = capture.variable(buffer)
        found, new = _MOMENTUM(gradient, known, *scalars("momentum", "ahead", "eps"))  # type: ignore[misc]
        rows, columns = parameter.shape
        # The products of the iteration are squares of the first extent: the smaller one is cheaper.
        found = found.T if rows > columns else found
        coefficients = scalars("a", "b", "c")
        for _ in range(self.ns_steps):
            found = _NEWTON_SCHULZ(found, *coefficients)
        found = found.T if rows > columns else found
        rate, shrink = scalars("lr", "shrink")
        rate = ops.multiply(rate, capture.constant(np.array(self._ratio(rows, columns))))
        capture.assign(buffer, new)
        capture.assign(parameter, _STEP(capture.latest(parameter), found, rate, shrink))  # type: ignore[arg-type]

    def _ratio(self, rows: int, columns: int) -> float:
        """The learning rate of a matrix, over that of the group."""
        if self.adjust_lr_fn == "match_rms_adamw":
            return 0.2 * sqrt(max(rows, columns))
        least = 1 if self.adjust_lr_fn == "original" else 0
        return sqrt(max(least, rows / columns))
