"""One training step, and one evaluation, as compiled programs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from texpr.graph import Capture, Plan, Symbolic
from texpr.ir.dtypes import from_numpy
from texpr.nn.module import Module, structure
from texpr.nn.observe import observe
from texpr.nn.optim import Optimizer
from texpr.nn.recent import Recent
from texpr.support.errors import CallError

LossFunction = Callable[[Any, Any], Any]
"""Of the model's output and the target; one float."""


class TrainingStep:
    """Loss, gradients and updates of a batch as one program: `loss = step(x, y)`.

    The program is captured and compiled once per shapes of batches. It holds all that depends on the model's structure, so modules
    may be frozen, released or exchanged between steps.

    Args:
        loss: a loss, or any function of output and target that applies operators and gives one float.
    """

    def __init__(self, model: Module, loss: LossFunction, optimizer: Optimizer) -> None:
        self.model, self.loss, self.optimizer = model, loss, optimizer
        self._plans: Recent[Plan] = Recent()

    def __call__(self, x: np.ndarray, y: np.ndarray) -> float:
        """Make a step on a batch; the loss before the step.

        Raises:
            CallError: a label is out of range, or arrays do not fit the model.
        """
        plan = self.plan(x.shape, x.dtype, y.shape, y.dtype)
        np.copyto(plan.inputs[0], x)
        np.copyto(plan.inputs[1], y)
        value = self.compute(plan)
        self.commit(plan)
        return value

    def compute(self, plan: Plan) -> float:
        """Everything but the assignments, on what the plan's inputs hold."""
        self.optimizer.prepare()
        plan.compute()
        return float(plan.results[0])

    def commit(self, plan: Plan) -> None:
        """The assignments of the last `compute`."""
        plan.commit()
        self.optimizer.steps += 1

    def plan(self, x_shape: tuple[int, ...], x_dtype: np.dtype, y_shape: tuple[int, ...], y_dtype: np.dtype) -> Plan:
        """The program for batches of these shapes. Its inputs are x and y, its results the loss and the output."""
        key = (x_shape, x_dtype, y_shape, y_dtype, structure(self.model), self.optimizer.structure())
        return self._plans.get_or_make(key, lambda: self._make(x_shape, x_dtype, y_shape, y_dtype))

    def _make(self, *shapes_and_dtypes: Any) -> Plan:
        capture, loss, output = captured_loss(self.model, self.loss, *shapes_and_dtypes)
        with capture:
            self._append_updates(capture, loss)
        return Plan(capture, [loss, output])

    def _append_updates(self, capture: Capture, loss: Symbolic) -> None:
        trained = [p for p in self.optimizer.parameters if p.requires_grad]
        gradients = capture.gradients(loss, [capture.variable(p) for p in trained])
        lost = [p for p, g in zip(trained, gradients) if g is None]
        if lost:
            listing = ", ".join(f"{p.name} {list(p.shape)}" for p in lost)
            warnings.warn(f"the loss does not depend on {len(lost)} of the optimizer's parameters, which stay as they are: {listing}",
                          UserWarning, stacklevel=6)
        self.optimizer.append_updates(capture, {p: g for p, g in zip(trained, gradients) if g is not None})


def captured_loss(model: Module, loss: LossFunction, x_shape: tuple[int, ...], x_dtype: np.dtype, y_shape: tuple[int, ...],
                  y_dtype: np.dtype) -> tuple[Capture, Symbolic, Symbolic]:
    """A program of the loss and the output.

    Raises:
        CallError: the loss is not one float.
    """
    capture = Capture("step")
    x = capture.input("x", x_shape, from_numpy(x_dtype))  # type: ignore[arg-type]
    y = capture.input("y", y_shape, from_numpy(y_dtype))  # type: ignore[arg-type]
    with capture:
        output = model(x)
        if not isinstance(output, Symbolic):
            raise CallError(f"the model gives a {type(output).__name__}, expected one tensor", code="training")
        value = loss(output, y)
    if not isinstance(value, Symbolic) or value.shape != () or not value.dtype.is_float:
        raise CallError(f"the loss is {value!r}, expected one float", code="training", help="reduce it, such as with texpr.ops.mean_all")
    return capture, value, output


def first_bad_layer(model: Module, x: np.ndarray) -> str:
    """The first layer whose parameters or outputs on `x` are not all finite, described; empty if there is none."""
    for name, parameter in model.named_parameters():
        if not np.isfinite(parameter.data).all():
            return f"the parameter `{name}` is not finite"
    capture = Capture("diagnosis")
    names = {module: name for name, module in model.named_modules()}
    found: list[tuple[str, Symbolic]] = []

    def note(module: Module, inputs: tuple, outputs: Any, first: int, last: int) -> None:
        if not module._modules and isinstance(outputs, Symbolic) and outputs.dtype.is_float and last > first:
            found.append((f"the output of layer `{names.get(module, '?')}`, {module!r}, is not finite", outputs))

    with capture:
        observe(note, lambda: model(capture.input("x", x.shape, from_numpy(x.dtype))))  # type: ignore[arg-type]
    plan = Plan(capture, [symbol for _, symbol in found])
    np.copyto(plan.inputs[0], x)
    plan.compute()
    return next((text for (text, _), result in zip(found, plan.results) if not np.isfinite(result).all()), "")

