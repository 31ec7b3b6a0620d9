"""Parts of `Trainer` that know nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import nan
from typing import TYPE_CHECKING

from texpr.graph import Plan
from texpr.ir.dtypes import readable
from texpr.nn.core.bounded_cache import LruCache
from texpr.nn.core.inputs import NetworkInput
from texpr.nn.core.module import Module, structure
from texpr.nn.losses import Loss
from texpr.nn.metrics import Metric
from texpr.nn.optim import Optimizer
from texpr.nn.training.batches import Batch, Batches
from texpr.nn.training.measurements import Measured, Measurements, MetricFunction, counted_targets, measure
from texpr.nn.training.step import CapturedLoss, LossPlan, TrainingStep, first_bad_layer
from texpr.support.errors import CallError, Error

if TYPE_CHECKING:
    from texpr.nn.training.data_parallel.parallel_step import ParallelStep, Turn
    from texpr.nn.training.data_parallel.training_team import Team

NOTHING = Measured({}, {})
"""A batch of which nothing was measured."""


def check_parts(model: object, loss: object, optimizer: object) -> None:
    """Raise CallError where model, loss and optimizer are not what they are named, or are swapped."""
    order = "the order is Trainer(model, loss, optimizer)"
    if isinstance(model, Loss) and not isinstance(loss, Loss):
        raise CallError(f"the model is a loss, {model!r}", code="arguments", help=order)
    if not isinstance(model, Module):
        raise CallError(
            f"the model is a {type(model).__name__}, expected a module",
            code="arguments",
            help=order if isinstance(loss, Module) and not isinstance(loss, Loss) else "",
        )
    if loss is model:
        raise CallError(
            "the loss is the model", code="arguments", help="pass a loss such as nn.CrossEntropyLoss()"
        )
    if not callable(loss) or isinstance(loss, type):
        swapped = isinstance(loss, Optimizer)
        raise CallError(
            f"the loss is {loss!r}, expected a function such as nn.CrossEntropyLoss()",
            code="arguments",
            help=order if swapped else f"make one: {loss.__name__}()" if isinstance(loss, type) else "",
        )
    if not isinstance(optimizer, Optimizer):
        raise CallError(
            f"the optimizer is {optimizer!r}, expected one such as nn.optim.Adam(model.parameters())",
            code="arguments",
        )
    own = {*model.parameters(), *(loss.parameters() if isinstance(loss, Module) else ())}
    if own and own.isdisjoint(optimizer.parameters):
        raise CallError(
            f"the optimizer has {len(optimizer.parameters)} parameters, none of which is the model's",
            code="arguments",
            help=f"make it of this model: nn.optim.{type(optimizer).__name__}(model.parameters())",
        )


def fill(plan: Plan, batch: Batch) -> None:
    """Give a plan a batch."""
    plan.fill(0, batch.x.array)
    plan.fill(1, batch.y.array)
    if batch.weight is not None:
        plan.fill(2, batch.weight.array)


class Evaluating:
    """Sets a model and a loss to evaluation, and back."""

    def __init__(self, *parts: object) -> None:
        self._parts = [part for part in parts if isinstance(part, Module)]

    def __enter__(self) -> None:
        self._modes = [(module, module.training) for part in self._parts for module in part.modules()]
        for part in self._parts:
            part.eval()

    def __exit__(self, *_: object) -> None:
        for module, training in self._modes:
            module.training = training


class Evaluations:
    """Measurements of data in evaluation mode.

    Args:
        step: whose model and loss they are.
        metrics: by name.
        check_labels: raises CallError for labels of a batch that are no classes.
    """

    def __init__(
        self,
        step: TrainingStep,
        metrics: Mapping[str, Metric | MetricFunction],
        check_labels: Callable[[Batch, Plan], None],
    ) -> None:
        self._step, self._metrics, self._check_labels = step, metrics, check_labels
        self._plans: LruCache[LossPlan] = LruCache()

    def measured(self, data: Batches, team: Team | None = None) -> dict[str, float]:
        """The loss and all metrics; over the data of all ranks, where each has its share."""
        measured = Measurements()
        with Evaluating(self._step.model, self._step.loss):
            found = self._each(data)
            for each in found if team is None else team.in_turn(found):
                measured.take(self._metrics, *each)
        return measured.values(self._metrics)

    def _each(self, data: Batches) -> Iterator[tuple[bool, float, float, Measured]]:
        for batch in data:
            plan = self._plan(batch)
            self._check_labels(batch, plan)
            fill(plan, batch)
            plan.run()
            yield plan.is_sum, float(plan.value(0)), plan.weight(), self.metrics_of(plan, batch)

    def _plan(self, batch: Batch) -> LossPlan:
        step = self._step

        def make() -> LossPlan:
            return LossPlan(CapturedLoss.of(step.model, step.loss, batch.specs, step.narrow))

        return self._plans.get_or_make((batch.specs, structure(step.model)), make)

    def metrics_of(self, plan: Plan, batch: Batch) -> Measured:
        """All metrics of a batch that a plan has run on."""
        if not self._metrics:
            return NOTHING
        return measure(self._metrics, plan.value(1), readable(*batch.y), self._step.loss)


def nothing_counts(step: TrainingStep, epoch: int) -> Error:
    """The error of a loss that divides by 0."""
    return Error(
        f"no target of the batches of step {step.optimizer.steps + 1} (epoch {epoch + 1}) counts",
        code="nan",
        notes=("the loss divides by 0",),
        help="leave such batches out, or pass on_nan='skip'",
    )


def not_finite(step: TrainingStep, loss: float, x: NetworkInput, epoch: int) -> Error:
    """The error of a loss that is no number, with the layer that it comes from."""
    reason = first_bad_layer(step.model, *x)
    return Error(
        f"the loss is {loss} in step {step.optimizer.steps + 1} (epoch {epoch + 1})",
        code="nan",
        notes=(reason or "all outputs of layers are finite: the loss itself is not",),
        help="lower the learning rate, or look for NaN in the data; the parameters are as they were "
        "before this step",
    )


def of_batch(step: TrainingStep, loss: float, weight: float, batch: Batch, epoch: int) -> Error:
    """The error of a batch whose loss is no number, or that has no target which counts."""
    counts = weight and counted_targets(readable(*batch.y), step.loss)
    return not_finite(step, loss, batch.x, epoch) if counts else nothing_counts(step, epoch)


def of_ranks(step: ParallelStep, bad: Sequence[Turn], batch: Batch | None, epoch: int) -> Error:
    """The same, where batches of some ranks are bad."""
    own = next((t for t in bad if t.rank == step.comm.rank), None)
    if own is not None and batch is not None:
        return of_batch(step, own.loss, own.weight, batch, epoch)
    return Error(
        f"the loss of rank {bad[0].rank} is {bad[0].loss} in step {step.optimizer.steps + 1} "
        f"(epoch {epoch + 1})",
        code="nan",
        help="see what that rank says; the parameters are as they were before this step",
    )


def mean_loss(turns: Sequence[Turn]) -> float:
    """The loss of all batches of a round together; NaN where none counts."""
    if turns and turns[0].is_sum:
        return sum(t.loss for t in turns)
    weight = sum(t.weight for t in turns)
    return sum(t.loss * t.weight for t in turns if t.weight) / weight if weight else nan
