"""Calls in torch's graph of what gradients flow through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch

Tensors = Sequence[torch.Tensor | None]


class Differentiated(Protocol):
    """The operator that is called: `registered.TorchOp`."""

    def compute(self, tensors: Tensors, constants: Mapping[str, object]) -> Any:
        """The results, without a gradient."""
        ...

    def gradients(
        self, tensors: Tensors, constants: Mapping[str, object], cotangents: Tensors, needed: Sequence[bool]
    ) -> Sequence[torch.Tensor | None]:
        """The cotangent of each input that is needed, else None."""
        ...

    def tangents(
        self, tensors: Tensors, constants: Mapping[str, object], tangents: Tensors
    ) -> Sequence[torch.Tensor]:
        """The tangents of the float outputs, for those of the inputs."""
        ...

    def mapped(
        self, tensors: Tensors, constants: Mapping[str, object], axes: Sequence[int | None], size: int
    ) -> Any:
        """The results of every slice along `axes`, stacked in front."""
        ...


class Differentiable(torch.autograd.Function):
    """A call where only reverse mode is at work: the forms that take the least time."""

    @staticmethod
    def forward(
        ctx: Any, op: Differentiated, constants: Mapping[str, object], *tensors: torch.Tensor | None
    ) -> Any:
        ctx.op, ctx.constants = op, constants
        ctx.save_for_backward(*tensors)
        found = op.compute(tensors, constants)
        _mark(ctx, found)
        return found

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor) -> Any:
        needed = ctx.needs_input_grad[2:]
        return None, None, *ctx.op.gradients(ctx.saved_tensors, ctx.constants, cotangents, needed)


class Transformed(torch.autograd.Function):
    """A call inside transformations of `torch.func`, or with tangents of forward mode."""

    @staticmethod
    def forward(op: Differentiated, constants: Mapping[str, object], *tensors: torch.Tensor | None) -> Any:
        return op.compute(tensors, constants)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.op, ctx.constants, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.floats = _mark(ctx, output)

    backward = Differentiable.backward

    @staticmethod
    def jvp(ctx: Any, _op: None, _constants: None, *tangents: torch.Tensor | None) -> Any:
        found = iter(ctx.op.tangents(ctx.saved_tensors, ctx.constants, tangents))
        results = tuple([next(found) if is_float else None for is_float in ctx.floats])
        return results[0] if len(results) == 1 else results

    @staticmethod
    def vmap(info: Any, axes: tuple[Any, ...], op: Differentiated, constants: Any, *tensors: Any) -> Any:
        found = op.mapped(tensors, constants, axes[2:], info.batch_size)
        return found, (0,) * len(found) if isinstance(found, tuple) else 0


def _mark(ctx: Any, found: Any) -> list[bool]:
    """Tell torch which results have no gradient; for each, whether it is a float."""
    if not isinstance(found, tuple) and found.is_floating_point():
        return [True]
    results = found if isinstance(found, tuple) else (found,)
    floats = [t.is_floating_point() for t in results]
    if not all(floats):
        ctx.mark_non_differentiable(*[t for t, is_float in zip(results, floats) if not is_float])
    return floats
