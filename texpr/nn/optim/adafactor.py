"""Adafactor: second moments as an outer product of rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np

from texpr.compiler import op
from texpr.graph import Capture, Symbolic
from texpr.ir.dtypes import DType
from texpr.nn.core.parameter import Parameter
from texpr.nn.optim.argument_types import Params
from texpr.nn.optim.group import Group
from texpr.nn.optim.optimizer import Optimizer

_VECTOR = op("""op adafactor_vector<T: float>(p: T[*S], g: T[*S], v: T[*S], share: f64, rho: f64, eps1: f64, eps2: f64, d: f64, shrink: f64)
   -> (new: T[*S], new_v: T[*S]) {
  scale = max(T(eps2), sqrt(sum(*s: p[*s] * p[*s]) / numel(S)))
  new_v[*s] = v[*s] + T(share) * (g[*s] * g[*s] - v[*s])
  u[*s] = g[*s] / sqrt(max(T(eps1 * eps1), new_v[*s]))
  limit = max(1, sqrt(sum(*s: u[*s] * u[*s]) / numel(S)) / T(d))
  new[*s] = T(shrink) * p[*s] - scale * T(rho) / limit * u[*s]
}""")
_MATRIX = op("""op adafactor_matrix<T: float>(p: T[*S, R, C], g: T[*S, R, C], row: T[*S, R], col: T[*S, C], share: f64, rho: f64, eps1: f64,
                               eps2: f64, d: f64, shrink: f64) -> (new: T[*S, R, C], new_row: T[*S, R], new_col: T[*S, C]) {
  scale = max(T(eps2), sqrt(sum(*s, r, c: p[*s, r, c] * p[*s, r, c]) / (numel(S) * T(R * C))))
  new_row[*s, r] = row[*s, r] + T(share) * (sum(c: g[*s, r, c] * g[*s, r, c]) / T(C) - row[*s, r])
  new_col[*s, c] = col[*s, c] + T(share) * (sum(r: g[*s, r, c] * g[*s, r, c]) / T(R) - col[*s, c])
  whole[*s] = max(T(eps1), sum(r: new_row[*s, r]) / T(R))
  u[*s, r, c] = g[*s, r, c] / sqrt(max(T(eps1 * eps1), new_row[*s, r] * new_col[*s, c] / whole[*s]))
  limit = max(1, sqrt(sum(*s, r, c: u[*s, r, c] * u[*s, r, c]) / (numel(S) * T(R * C))) / T(d))
  new[*s, r, c] = T(shrink) * p[*s, r, c] - scale * T(rho) / limit * u[*s, r, c]
}""")
_NUMBERS = ("share", "rho", "eps1", "eps2", "d", "shrink")


class Adafactor(Optimizer):
    """Adafactor: for matrices, the mean squares of rows and of columns stand for those of elements.

    `u = g / sqrt(v)` with `v = row col / mean(row)`, where the share `t^beta2_decay` of `row` and
    `col` is new in step t. `u` is divided by `max(1, rms(u) / d)`, and the step is `max(eps2, rms(p))
    min(lr, 1 / sqrt(t)) u`. Parameters of one dimension keep `v` itself. Shazeer and Stern,
    Adafactor: Adaptive Learning Rates with Sublinear Memory Cost, 2018.

    Args:
        params: the parameters to change, or dicts of groups with options of their own.
        lr: the largest relative step.
        beta2_decay: the exponent of the share of what is new, at most 0.
        eps: the least root of `v`, where None or 0 is the epsilon of the dtype, and the least scale
            of a parameter.
        d: the largest root mean square of a step before it is scaled, at least 1.
        weight_decay: the share `lr weight_decay` of p that each step takes away.
        maximize: step along the gradient, not against it.
    Raises:
        CallError: no parameters, something else among them, or an option out of its range.
    Example:
        >>> w = nn.Parameter(np.float32([[1.0, 2.0]]))
        >>> optimizer = nn.optim.Adafactor([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> bool(w.data[0, 0] < 1.0)
        True
    """

    limits = {"beta2_decay": (-1e300, 1e-300), "d": (1.0, float("inf"))}

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            beta2_decay=beta2_decay,
            eps=(eps[0] or 0.0, eps[1]),
            d=d,
            weight_decay=weight_decay,
            maximize=bool(maximize),
        )

    def numbers(self, group: Group, step: int) -> Mapping[str, float]:
        return {
            "share": step ** group["beta2_decay"],
            "rho": min(group["lr"], 1 / sqrt(step)),
            "eps1": group["eps"][0],
            "eps2": group["eps"][1],
            "d": group["d"],
            "shrink": 1 - group["lr"] * group["weight_decay"],
        }

    def state_shape(self, parameter: Parameter, name: str) -> tuple[int, ...]:
        shape = parameter.shape
        return {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}.get(name, shape)

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        scalars = [self._scalar(capture, parameter, name) for name in _NUMBERS]
        value = capture.latest(parameter)
        if len(parameter.shape) < 2:
            variance = self.state(parameter, "variance")
            new, new_v = _VECTOR(value, gradient, capture.variable(variance), *scalars)  # type: ignore[misc]
            capture.assign(parameter, new)
            capture.assign(variance, new_v)
            return
        row, col = (self.state(parameter, name) for name in ("row_var", "col_var"))
        shape = parameter.shape
        flat = (
            capture.variable(row).reshape(shape[:-1]),
            capture.variable(col).reshape((*shape[:-2], shape[-1])),
        )
        new, *moments = _MATRIX(value, gradient, *flat, *scalars)  # type: ignore[misc]
        capture.assign(parameter, new)
        for variable, moment in zip((row, col), moments):
            capture.assign(variable, moment.reshape(variable.shape))

    def _scalar(self, capture: Capture, parameter: Parameter, name: str) -> Symbolic:
        if name == "eps1" and not self.group(parameter)["eps"][0]:
            return capture.constant(np.array(_epsilon(parameter.dtype)), "eps1")
        return self.number(capture, parameter, name)

    def structure(self) -> tuple:
        """A key of a captured step: parameters have the epsilon of their dtype if the first `eps` is 0."""
        return *super().structure(), tuple(bool(g["eps"][0]) for g in self.param_groups)


def _epsilon(dtype: DType) -> float:
    """The distance of 1 to the next number."""
    return 2.0 ** -{"f64": 52, "f32": 23, "f16": 10, "bf16": 7}.get(dtype.name, 23)
