"""Mixed precision: which operators compute in 16 bits, and a loss that is scaled so that small
gradients do not vanish in f16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from texpr import ops
from texpr.compiler import Op
from texpr.graph import Capture, Symbolic, Variable
from texpr.ir.dtypes import DTYPES, F32, DType
from texpr.nn.core.argument_checks import number, one_of, whole
from texpr.nn.core.parameter import Parameter
from texpr.support.errors import Error

NARROW = frozenset(
    {
        "linear",
        "bilinear",
        "matmul",
        "batched_matmul",
        "matmul_nt",
        "matmul_tn",
        "matvec",
        "outer",
        "dot",
        "gemm",
        "conv1d",
        "conv2d",
        "conv2d_grouped",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "rnn_cell",
        "rnn_relu_cell",
        "rnn",
        "rnn_relu",
        "lstm_cell",
        "lstm",
        "lstm_projected",
        "gru_cell",
        "gru",
        "rnn_bidirectional",
        "lstm_bidirectional",
        "gru_bidirectional",
    }
)
"""Operators that compute in 16 bits: products of many terms, which have their sums in f32
anyway.
"""

WIDE = frozenset(
    {
        "softmax",
        "log_softmax",
        "softmin",
        "logsumexp",
        "attention",
        "attention_causal",
        "attention_bias",
        "attention_masked",
        "attention_grouped",
        "attention_masks",
        "attention_weights",
        "batch_norm",
        "batch_norm_training",
        "running_update",
        "cumulative_update",
        "layer_norm",
        "rms_norm",
        "group_norm",
        "instance_norm",
        "local_response_norm",
        "normalize",
        "exp",
        "expm1",
        "log",
        "log1p",
        "log2",
        "log10",
        "pow",
        "power",
        "reciprocal",
        "rsqrt",
        "softplus",
        "sum_all",
        "mean_all",
        "reduce_sum",
        "reduce_prod",
        "reduce_mean",
        "reduce_var",
        "reduce_std",
        "norm2",
        "sum_square",
        "norm_p",
        "cumsum",
        "cumprod",
        "cosine_similarity",
        "row_distance",
        "row_distance_p",
    }
)
"""Operators that compute in f32: sums, what grows fast, and what divides. All others compute in
the widest dtype of their inputs.
"""


class MixedCapture(Capture):
    """A capture that lets products compute in 16 bits, while parameters, buffers and the loss are
    f32.

    The operators are those of torch.amp.autocast, but for attention, which is one operator here and
    computes in f32.
    """

    def __init__(self, name: str, narrow: DType) -> None:
        super().__init__(name)
        self._narrow, self._active = narrow, False

    @contextmanager
    def mixed(self):
        """Within the block, dtypes are chosen; outside of it, they must be equal as everywhere."""
        self._active = True
        try:
            yield
        finally:
            self._active = False

    def apply(
        self, operator: Op, inputs: Mapping[str, object], constants: Mapping[str, object]
    ) -> Symbolic | tuple[Symbolic, ...]:
        return super().apply(operator, self._aligned(operator, inputs) if self._active else inputs, constants)

    def assign(self, variable: Variable, value: Symbolic) -> None:
        """Let a variable have this value, in its own dtype, after the program."""
        super().assign(
            variable, value.astype(variable.dtype) if self._active and variable.dtype.is_float else value
        )

    def _aligned(self, operator: Op, inputs: Mapping[str, object]) -> dict[str, object]:
        """The inputs, those of a dtype variable as floats of one dtype."""
        name, variables = operator.signature.name, dict(operator.signature.variables)
        generic = [p.name for p in operator.signature.inputs if p.dtype in variables and p.name in inputs]
        floats = {n: x for n in generic if (x := self._float(inputs[n])) is not None}
        if not floats:
            return dict(inputs)
        wanted = (
            self._narrow
            if name in NARROW
            else F32
            if name in WIDE
            else max((x.dtype for x in floats.values()), key=lambda t: t.bits)
        )
        return {**inputs, **{n: x.astype(wanted) for n, x in floats.items()}}

    def _float(self, value: object) -> Any:
        """A float input as a symbolic tensor; None for everything else."""
        if isinstance(value, Symbolic | Variable):
            found = self.latest(value) if isinstance(value, Variable) else value
            return found if found.dtype.is_float else None
        return self.constant(value) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else None


class LossScale:
    """Dynamic loss scaling: a factor of the loss, and so of all gradients, that grows until
    gradients overflow.

    Such steps are left out, and the factor shrinks. Names and defaults are those of
    torch.amp.GradScaler. Micikevicius et al., Mixed Precision Training, 2018.

    Args:
        init_scale: the first factor.
        growth_factor, growth_interval: by how much it grows after that many good steps.
        backoff_factor: by how much it shrinks.
    Attributes:
        skipped: the number of steps that were left out.
    Raises:
        CallError: an argument out of its range.
    Example:
        >>> scale = nn.LossScale(init_scale=1024.0)
        >>> scale.update(finite=False)
        >>> scale.get_scale(), scale.skipped
        (512.0, 1)
    """

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
    ) -> None:
        self._scale = Variable(
            np.float32(number("LossScale", "init_scale", init_scale, 2.0**-14)), "loss_scale"
        )
        self.growth_factor = number("LossScale", "growth_factor", growth_factor, 1.0)
        self.backoff_factor = number("LossScale", "backoff_factor", backoff_factor, 0.0, 1.0)
        self.growth_interval = whole("LossScale", "growth_interval", growth_interval)
        self.skipped = self._good = 0

    def get_scale(self) -> float:
        """The factor of the next step."""
        return float(self._scale.data)

    def scaled(self, capture: Capture, loss: Symbolic) -> Symbolic:
        """The loss times the factor, f32."""
        return loss.astype(F32) * capture.variable(self._scale)

    def unscaled(
        self, capture: Capture, gradients: Mapping[Parameter, Symbolic]
    ) -> tuple[dict[Parameter, Symbolic], Symbolic]:
        """Gradients of the loss itself, and a number that is not finite where one of them is
        not.
        """
        share = 1.0 / capture.variable(self._scale)
        found = {p: (g.astype(F32) * share).astype(g.dtype) for p, g in gradients.items()}
        return found, _largest(list(found.values()))

    def update(self, finite: bool) -> None:
        """Note whether the gradients of a step were finite.

        Raises:
            Error: they overflow at every factor.
        """
        self._good = self._good + 1 if finite else 0
        if not finite:
            self.skipped += 1
            self._scale.data[...] *= self.backoff_factor
        elif self._good == self.growth_interval:
            self._good = 0
            self._scale.data[...] = min(self.get_scale() * self.growth_factor, float(np.float32(2.0**100)))
        if self.get_scale() < 2.0**-14:
            raise Error(
                f"gradients overflow f16 even where the loss is scaled by {self.get_scale():g}",
                code="nan",
                help="look for NaN in data and parameters, lower the learning rate, or train in bf16 or f32",
            )

    def state_dict(self) -> dict[str, float]:
        """The factor, how many steps in a row were good, and how many were left out."""
        return {"scale": self.get_scale(), "good": self._good, "skipped": self.skipped}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from the state of another one."""
        self._scale.data[...] = number("LossScale", "scale", state_dict["scale"], 2.0**-14)
        self._good, self.skipped = (
            whole("LossScale", name, state_dict[name], 0) for name in ("good", "skipped")
        )


def _largest(gradients: Sequence[Symbolic]) -> Symbolic:
    """The largest size of an element; NaN where there is one."""
    sizes = [ops.to_f32(ops.norm_max(g, axis=0, count=g.ndim)) for g in gradients]
    found = sizes[0]
    for each in sizes[1:]:
        found = ops.maximum(found, each)
    return found  # type: ignore[return-value]


def narrow_dtype(precision: str | None) -> DType | None:
    """The dtype of mixed precision: None for None and "f32"."""
    return (
        None
        if precision in (None, "f32")
        else DTYPES[one_of("Trainer", "precision", precision, ("f32", "bf16", "f16"))]
    )
