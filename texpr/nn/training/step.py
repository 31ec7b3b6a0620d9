"""One training step, and one evaluation, as compiled programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from texpr.compiler import op
from texpr.graph import Capture, Plan, Symbolic, Variable
from texpr.graph.execution.parcels import Arrival, Parcel
from texpr.ir.dtypes import F32, DType, accumulator, numpy_dtype
from texpr.nn.core.argument_checks import whole
from texpr.nn.core.bounded_cache import LruCache
from texpr.nn.core.hooks import observe
from texpr.nn.core.inputs import as_input
from texpr.nn.core.module import Module, dtype_of, structure
from texpr.nn.core.parameter import Parameter
from texpr.nn.core.protocol import ModuleLike
from texpr.nn.data.checks import as_target, check_labels
from texpr.nn.losses import Loss
from texpr.nn.optim import Optimizer
from texpr.nn.training.example_weights import checked_weights
from texpr.nn.training.loss_divisor import SUM, Divisor, divisor_of
from texpr.nn.training.precision import LossScale, MixedCapture, narrow_dtype
from texpr.runtime.call.signal_guard import deferred_interrupts
from texpr.support.errors import CallError, CompileError
from texpr.support.frozen_dataclass import frozen
from texpr.support.warn import warn

LossFunction = Callable[[Any, Any], Any]
"""Of the model's output and the target; one float."""

Spec = tuple[tuple[int, ...], DType]
"""Shape and dtype of a batch."""

_ACCUMULATE = op("""op accumulate<T: float>(total: T[*S], g: T[*S], weight: f64) -> new: T[*S] {
  new[*s] = if weight == 0 then total[*s] else total[*s] + T(weight) * g[*s]
}""")


class TrainingStep:
    """Loss, gradients and updates of a batch as one program: `loss = step(x, y)`.

    The program is captured and compiled once per shapes of batches. It holds all that depends on
    the model's structure, so modules may be frozen, released or exchanged between steps.

    Args:
        loss: a loss, or any function of output and target that applies operators and gives one
            float.
        accumulate: batches per update. Their gradients are averaged with what the loss divides by
            as weights (examples, elements, labels that are not ignored, class weights), or added
            where the loss is a sum: what one batch of all of them gives, within rounding. Running
            statistics are those of each batch. A sum of means that divide by different numbers, and
            a loss that is no mean, count by examples.
        precision: "bf16" or "f16" lets products compute in 16 bits (`texpr.nn.training.precision`);
            parameters and their updates stay f32.
        loss_scale: of "f16"; `LossScale()` unless given.
    Attributes:
        pending: batches since the last update.
        total: what the loss divides by, added up over these batches.
    Raises:
        CallError: an argument that is none of those above; in a call, arrays that the model or the loss
            does not take.
    Example:
        >>> model = nn.Linear(2, 1)
        >>> step = nn.TrainingStep(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
        >>> x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)
        >>> first, second = step(x, y), step(x, y)
        >>> second < first
        True
    """

    def __init__(
        self,
        model: Module,
        loss: LossFunction,
        optimizer: Optimizer,
        *,
        accumulate: int = 1,
        precision: str | None = None,
        loss_scale: LossScale | None = None,
    ) -> None:
        self.model, self.loss, self.optimizer = model, loss, optimizer
        self.accumulate = whole("TrainingStep", "accumulate", accumulate)
        self.narrow = narrow_dtype(precision)
        if self.narrow is not None and model.dtype not in (None, F32):
            raise CallError(
                f"precision={precision!r} is for models of f32, this one is {model.dtype}",
                code="dtype",
                help="model.float()",
            )
        if loss_scale is not None and precision != "f16":
            raise CallError("loss_scale is for precision='f16'", code="arguments")
        self.loss_scale = loss_scale or (LossScale() if precision == "f16" else None)
        self.pending, self.total = 0, 0.0
        self._plans: LruCache[LossPlan] = LruCache()
        self._updates: LruCache[Plan] = LruCache()
        self._sums: dict[Parameter, Variable] = {}
        self._touched: dict[Parameter, None] = {}
        self._share = Variable(np.float64(1), "share")
        self._parameters: LruCache[list[Parameter]] = LruCache(4)

    def __call__(self, x: object, y: object, sample_weight: object = None) -> float:
        """Make a step on a batch; the loss before the step.

        Args:
            sample_weight: how much each example counts; a mean divides by the sum of the weights.
        Raises:
            CallError: a label is out of range, or arrays do not fit the model.
        """
        found = structure(self.model)
        dtype = dtype_of(found)
        given, target = as_input(x, dtype), as_target(y, bool(getattr(self.loss, "labels", False)), dtype)
        inputs = [given, target]
        if sample_weight is not None:
            inputs.append(checked_weights(sample_weight, given.array.shape[0], dtype))
        plan = self._planned(tuple(each.spec for each in inputs), found)
        self.check_labels(target.array, plan)
        for k, each in enumerate(inputs):
            plan.fill(k, each.array)
        value = self.compute(plan)
        self.commit(plan)
        return value

    def save(
        self,
        path: str | Path,
        x: object,
        y: object,
        *,
        header: str | Path | None = None,
        target: str = "native",
        name: str = "step",
    ) -> None:
        """Write one step on batches of these shapes as a C function: `texpr_NAME_call(x, y, loss,
        output, weights)`.

        Parameters, buffers and the optimizer's state lie in a block of memory that the caller
        gives, which is read and written; `PATH.weights` holds it as it is now. What the optimizer
        computes anew for each step in Python (a learning rate on a schedule, Adam's corrections)
        stays as it is for the next step.

        Raises:
            CompileError: the target is unknown or a GPU, another suffix, steps that accumulate or
                scale the loss.
            CallError: arrays that do not fit the model.
        """
        if self.accumulate > 1 or self.loss_scale is not None:
            raise CompileError(
                "a step that accumulates gradients or scales its loss decides in Python what comes next",
                code="save",
                help="save a step in f32 or bf16, of one batch",
            )
        captured = self._captured([as_input(each, self.model.dtype).spec for each in (x, y)])
        with captured.capture as capture:
            self._append_updates(capture, self._gradients(capture, captured.loss))
        self.optimizer.prepare()
        Plan(captured.capture, [captured.loss, captured.output]).save(
            path, header=header, target=target, weights="beside", name=name
        )

    def reset(self) -> None:
        """Forget gradients that were added up and not used."""
        self.pending, self.total = 0, 0.0
        self._touched = {}

    def check_labels(self, y: np.ndarray, plan: Plan) -> None:
        """Raise CallError for a label that is no class of the model's output."""
        if getattr(self.loss, "labels", False) and y.dtype.kind in "iu":
            shape = plan.results[1].shape
            classes = self.loss.classes(shape) if isinstance(self.loss, Loss) else shape[-1]
            check_labels(y, classes, getattr(self.loss, "ignore_index", None))

    def compute(self, plan: Plan) -> float:
        """Everything but the assignments, on what the plan's inputs hold."""
        self.optimizer.prepare()
        if not self.pending:
            for total in self._sums.values():
                total.data[...] = 0
        plan.compute()
        return float(plan.value(0))

    def commit(self, plan: LossPlan) -> bool:
        """The assignments of the last `compute`; False where an update was left out (see
        `flush`).
        """
        if self.accumulate == 1:
            return self._assigned(plan)
        with deferred_interrupts:
            plan.commit()
            self._touched |= dict.fromkeys(p for p, total in self._sums.items() if total in plan.assigned)
            self.pending, self.total = self.pending + 1, 1.0 if plan.is_sum else self.total + plan.weight()
        return self.flush() if self.pending >= self.accumulate else True

    def flush(self) -> bool:
        """Update by the gradients that were added up, if there are any.

        Returns:
            False where the update is left out: gradients overflow f16, or the loss divides by 0 in
            all of these batches.
        """
        if not self.pending:
            return True
        if not self.total:
            self.reset()
            return False
        touched = tuple(self._touched)
        key = self.optimizer.structure(), touched, self.optimizer.clocks.those(touched), Variable.moves
        plan = self._updates.get_or_make(key, self._update)
        self.optimizer.prepare()
        self._share.data[...] = 1 / self.total
        plan.compute()
        with deferred_interrupts:
            assigned = self._assigned(plan)
            self.reset()
        return assigned

    def _assigned(self, plan: Plan) -> bool:
        """The assignments of an update, unless gradients overflow; the scale of the loss stays
        as it is until they are there.
        """
        finite = self.loss_scale is None or isfinite(plan.value(-1))
        with deferred_interrupts:
            if finite:
                plan.commit()
                self.optimizer.count(self._updated(plan))
            if self.loss_scale is not None:
                self.loss_scale.update(finite)
        return finite

    def _updated(self, plan: Plan) -> list[Parameter]:
        """The parameters that a plan updates; of the latest plans they are known."""

        def found() -> list[Parameter]:
            assigned = set(plan.assigned)
            return [p for p in self.optimizer.parameters if p.requires_grad and p in assigned]

        return self._parameters.get_or_make(plan, found)

    def plan(self, *inputs: Spec) -> LossPlan:
        """The program for batches of these shapes. Its inputs are x, y and weights if there are
        some, its first results the loss and the output.
        """
        return self._planned(inputs, structure(self.model))

    def _planned(self, inputs: tuple[Spec, ...], found: tuple) -> LossPlan:
        key = inputs, found, self.optimizer.structure()
        plan = self._plans.get_or_make(key, lambda: self._make(inputs))
        if plan.clocks != self.optimizer.clocks.those(
            self._updated(plan)
        ):  # another program has updated some of its parameters
            self._plans.forget(key)
            plan = self._plans.get_or_make(key, lambda: self._make(inputs))
        return plan

    def _captured(self, inputs: Sequence[Spec]) -> CapturedLoss:
        return CapturedLoss.of(self.model, self.loss, inputs, self.narrow)

    def _make(self, inputs: Sequence[Spec]) -> LossPlan:
        captured = self._captured(inputs)
        with captured.capture as capture:
            gradients = self._gradients(capture, captured.loss)
            if self.accumulate > 1:
                self._add(capture, gradients, captured.weight(capture))
                return LossPlan(captured)
            plan = LossPlan(captured, self._append_updates(capture, gradients))
        plan.clocks = self.optimizer.clocks.those(self._updated(plan))
        return plan

    def _gradients(self, capture: Capture, loss: Symbolic) -> dict[Parameter, Symbolic]:
        trained = [p for p in self.optimizer.parameters if p.requires_grad]
        if not trained:
            warn("all parameters of the optimizer are frozen: nothing is trained")
        scaled = loss if self.loss_scale is None else self.loss_scale.scaled(capture, loss)
        gradients = capture.gradients(scaled, [capture.variable(p) for p in trained])
        lost = [p for p, g in zip(trained, gradients) if g is None]
        if lost:
            listing = ", ".join(f"{p.name} {list(p.shape)}" for p in lost)
            warn(
                f"the loss does not depend on {len(lost)} of the optimizer's parameters, which stay as they "
                f"are: {listing}"
            )
        return {p: g for p, g in zip(trained, gradients) if g is not None}

    def _append_updates(self, capture: Capture, gradients: dict[Parameter, Symbolic]) -> list[Symbolic]:
        """Append the updates; further results."""
        largest = []
        if self.loss_scale is not None and gradients:
            gradients, norm = self.loss_scale.unscaled(capture, gradients)
            largest = [norm]
        self.optimizer.append_updates(capture, gradients)
        return largest

    def _add(self, capture: Capture, gradients: dict[Parameter, Symbolic], weight: Symbolic) -> None:
        """Add gradients up."""
        for p, total in self._totals(capture, gradients, weight).items():
            capture.assign(self._sums[p], total)

    def _totals(
        self, capture: Capture, gradients: dict[Parameter, Symbolic], weight: Symbolic
    ) -> dict[Parameter, Symbolic]:
        """The sums of before and these gradients, in f32 at least. What counts for nothing adds
        nothing: its gradient is NaN.
        """
        found = {}
        for p, g in gradients.items():
            wide = accumulator(p.dtype)
            if p not in self._sums or self._sums[p].device != p.device:
                self._sums[p] = Variable(
                    np.zeros(p.shape, numpy_dtype(wide)), f"{p.name}_gradients", device=p.device
                )
            found[p] = _ACCUMULATE(capture.variable(self._sums[p]), g.astype(wide), weight.astype("f64"))
        return found  # type: ignore[return-value]

    def _update(self) -> Plan:
        """A program that updates by the mean of what was added up."""
        return self._update_by(self._sums)

    def _update_by(self, sums: Mapping[Parameter, Variable], arrivals: Sequence[Arrival] = ()) -> Plan:
        capture = Capture("update")
        with capture:
            share = capture.variable(self._share)
            gradients = {
                p: (capture.variable(sums[p]) * share.astype(sums[p].dtype)).astype(p.dtype)
                for p in self._touched
            }
            return Plan(capture, self._append_updates(capture, gradients), arrivals=arrivals)


@frozen
class CapturedLoss:
    """A program of the loss and the output.

    Attributes:
        divisor: the number that the loss divides by.
    """

    capture: Capture
    loss: Symbolic
    output: Symbolic
    divisor: Divisor

    @staticmethod
    def of(
        model: Module, loss: LossFunction, inputs: Sequence[Spec], narrow: DType | None = None
    ) -> CapturedLoss:
        """Capture a model and a loss for batches of these shapes.

        Args:
            inputs: x, y, and the weights of examples if there are some.
            narrow: the 16 bits of mixed precision; the output is f32 then.
        Raises:
            CallError: the loss is not one float.
        """
        capture = Capture("step") if narrow is None else MixedCapture("step", narrow)
        given, target, *weight = (capture.input(n, *spec) for n, spec in zip(("x", "y", "w"), inputs))
        with capture:
            output = _output(model, capture, given)
            if not isinstance(output, Symbolic):
                raise CallError(
                    f"the model gives a {type(output).__name__}, expected one tensor", code="training"
                )
            value = _weighed(loss)(output, target, *weight) if weight else loss(output, target)
            if not isinstance(value, Symbolic) or value.shape != () or not value.dtype.is_float:
                raise CallError(
                    f"the loss is {value!r}, expected one float",
                    code="training",
                    help="reduce it, such as with texpr.ops.mean_all",
                )
            is_sum = getattr(loss, "reduction", "mean") == "sum"
            divisor = SUM if is_sum else divisor_of(value, given.shape[0] if given.shape else 1)
            return CapturedLoss(capture, _wide(value), _wide(output), divisor)

    def weight(self, capture: Capture) -> Symbolic:
        """Weight of a batch beside others, as a number of the program."""
        tensor = self.divisor.tensor
        return (
            capture.constant(np.array(self.divisor.number), "weight")
            if tensor is None
            else Symbolic(tensor, capture)
        )


class LossPlan(Plan):
    """A plan whose first results are a loss and an output.

    Attributes:
        is_sum: the loss of several batches is the sum of theirs.
        clocks: by which the updates of its parameters were counted when it was captured.
    """

    def __init__(
        self, captured: CapturedLoss, more: Sequence[Symbolic] = (), parcels: Sequence[Parcel] = ()
    ) -> None:
        divisor = captured.divisor
        weight = [] if divisor.tensor is None else [captured.weight(captured.capture)]
        super().__init__(captured.capture, [captured.loss, captured.output, *weight, *more], parcels=parcels)
        self.clocks: tuple[int, ...] = ()
        self.is_sum, self._weight = divisor.is_sum, divisor.number if divisor.tensor is None else None

    def weight(self) -> float:
        """Weight of the last run's batch beside others: the number that its loss divides by, 1
        where it is a sum.
        """
        return float(self.value(2)) if self._weight is None else self._weight


def _weighed(loss: LossFunction) -> Callable[..., Any]:
    """The loss with weights of examples."""
    if not isinstance(loss, Loss):
        raise CallError(
            f"{getattr(loss, '__name__', type(loss).__name__)} does not say the loss of each example, which "
            f"weights want",
            code="arguments",
            help="make it a subclass of nn.Loss with `each`",
        )
    return loss.weighed


def _output(model: Module, capture: Capture, x: Symbolic) -> Any:
    if not isinstance(capture, MixedCapture):
        return model(x)
    with capture.mixed():
        found = model(x)
    return _wide(found) if isinstance(found, Symbolic) else found


def _wide(x: Symbolic) -> Symbolic:
    """Floats of 16 bits as f32."""
    return x.astype(F32) if x.dtype.is_float and x.dtype.bits < 32 else x


def first_bad_layer(model: Module, x: np.ndarray, dtype: DType) -> str:
    """The first layer whose parameters or outputs on `x` are not all finite, described; empty if
    there is none.
    """
    for name, parameter in model.named_parameters():
        if not np.isfinite(parameter.numbers()).all():
            return f"the parameter `{name}` is not finite"
    capture = Capture("diagnosis")
    names: dict[object, str] = {module: name for name, module in model.named_modules()}
    found: list[tuple[str, Symbolic]] = []

    def note(module: ModuleLike, inputs: tuple, outputs: Any, first: int, last: int) -> None:
        if not module._modules and isinstance(outputs, Symbolic) and outputs.dtype.is_float and last > first:
            found.append(
                (
                    f"the output of layer `{names.get(module, '?')}`, {module!r}, is not finite",
                    outputs.astype("f32"),
                )
            )

    with capture:
        observe(note, lambda: model(capture.input("x", x.shape, dtype)))
    plan = Plan(capture, [symbol for _, symbol in found])
    plan.fill(0, x)
    plan.compute()
    return next((text for k, (text, _) in enumerate(found) if not np.isfinite(plan.value(k)).all()), "")
