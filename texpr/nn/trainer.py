"""Training as one call: batches, epochs, measurements."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from texpr.graph import Plan
from texpr.nn.arguments import whole
from texpr.nn.callbacks import Callback
from texpr.nn.data import batches, check_labels, checked_inputs, checked_targets, fill
from texpr.nn.history import History
from texpr.nn.losses import Loss
from texpr.nn.metrics import Averages, Metric, named_metrics
from texpr.nn.module import Module, structure
from texpr.nn.optim import Optimizer
from texpr.nn.progress import Progress
from texpr.nn.recent import Recent
from texpr.nn.training import LossFunction, TrainingStep, captured_loss, first_bad_layer
from texpr.support.errors import CallError, Error


class Trainer:
    """Fits a model to examples, evaluates it, and predicts with it.

    Args:
        model: called on batches; examples lie along axis 0.
        loss: of output and target, such as `CrossEntropyLoss()`.
        optimizer: over the parameters to train.
        metrics: "accuracy", or functions of outputs and targets.
        seed: of the order of examples.
        on_nan: what happens when a step's loss is NaN or infinite. "raise": the parameters keep their values and the message names the
            step and the layer. "skip": the parameters keep their values and the training goes on. "ignore": the step is made.
    """

    def __init__(self, model: Module, loss: LossFunction, optimizer: Optimizer, metrics: Sequence[str | Metric] = (), seed: int = 0,
                 on_nan: str = "raise") -> None:
        if not isinstance(model, Module):
            raise CallError(f"the model is a {type(model).__name__}, expected a module", code="arguments")
        if not callable(loss) or isinstance(loss, type):
            raise CallError(f"the loss is {loss!r}, expected a function such as nn.CrossEntropyLoss()", code="arguments")
        if not isinstance(optimizer, Optimizer):
            raise CallError(f"the optimizer is {optimizer!r}, expected one such as nn.optim.Adam(model.parameters())", code="arguments")
        if on_nan not in ("raise", "skip", "ignore"):
            raise CallError(f"on_nan is {on_nan!r}, expected raise, skip or ignore", code="arguments")
        self.model, self.loss, self.optimizer, self.on_nan = model, loss, optimizer, on_nan
        self.metrics = named_metrics(metrics)
        self.step = TrainingStep(model, loss, optimizer)
        self._order = np.random.default_rng(whole("Trainer", "seed", seed, 0))
        self._evaluations: Recent[Plan] = Recent()
        self._batch_size = 256
        self._labels_seen: np.ndarray | None = None

    def fit(self, x: object, y: object, epochs: int = 1, batch_size: int = 32, validation_data: tuple[object, object] | None = None,
            shuffle: bool = True, progress: bool = True, callbacks: Sequence[Callback] = ()) -> History:
        """Train.

        Args:
            x, y: examples and targets along axis 0. Floats become the model's dtype; labels are integers.
            batch_size: examples per step; the last step of an epoch takes what is left.
            validation_data: (x, y), evaluated after each epoch as `val_loss` and so on.
            progress: show a line per epoch.
            callbacks: called after each epoch; see `texpr.nn.callbacks`.
        Returns:
            the means over each epoch's batches, as they were during training.
        Raises:
            CallError: data that do not fit the model or each other, or a label that is no class.
            Error: the loss is not finite; see `on_nan`.
        """
        x, y = self._checked(x, y)
        if validation_data is not None and not (isinstance(validation_data, tuple | list) and len(validation_data) == 2):
            raise CallError("validation_data is no pair of examples and targets", code="arguments", help="validation_data=(xv, yv)")
        validation = None if validation_data is None else self._checked(*validation_data)
        epochs, batch_size = whole("fit", "epochs", epochs, 0), whole("fit", "batch_size", batch_size)
        self._batch_size = batch_size
        history, shown = History(), Progress(epochs, progress)
        for epoch in range(epochs):
            self.model.train()
            order = self._order.permutation(len(x)) if shuffle else None
            averages, plans = Averages(), {}
            for part in shown.batches(epoch, batches(len(x), batch_size, order), -(-len(x) // batch_size)):
                size = _length(part)
                if size not in plans:
                    plans[size] = self.step.plan((size, *x.shape[1:]), x.dtype, (size, *y.shape[1:]), y.dtype)
                self._train_on(plans[size], x, y, part, averages, epoch)
            values = averages.means()
            if validation is not None:
                values |= {f"val_{n}": v for n, v in self._measured(*validation, batch_size).items()}
            history.add(values)
            shown.epoch(epoch, values)
            if any([callback(self, epoch, values) is True for callback in callbacks]):
                break
        return history

    def evaluate(self, x: object, y: object, batch_size: int | None = None) -> dict[str, float]:
        """Loss and metrics on data, in evaluation mode: means over the examples.

        Args:
            batch_size: that of the last `fit` unless given, so that kernels are there already.
        Raises:
            CallError: data that do not fit the model or each other.
        """
        return self._measured(*self._checked(x, y), self._size("evaluate", batch_size))

    def predict(self, x: object, batch_size: int | None = None) -> np.ndarray:
        """The model's outputs in evaluation mode.

        Args:
            batch_size: that of the last `fit` unless given.
        Raises:
            CallError: data that do not fit the model.
        """
        x, size = checked_inputs(x, self.model.dtype), self._size("predict", batch_size)
        modes = _evaluating(self.model)
        try:
            return np.concatenate([self.model(x[start : start + size]) for start in range(0, len(x), size)])
        finally:
            _restore(modes)

    def _size(self, owner: str, batch_size: int | None) -> int:
        return self._batch_size if batch_size is None else whole(owner, "batch_size", batch_size)

    def _checked(self, x: object, y: object) -> tuple[np.ndarray, np.ndarray]:
        x = checked_inputs(x, self.model.dtype)
        return x, checked_targets(y, len(x), bool(getattr(self.loss, "labels", False)), self.model.dtype)

    def _train_on(self, plan: Plan, x: np.ndarray, y: np.ndarray, part: np.ndarray | slice, averages: Averages, epoch: int) -> None:
        self._check_labels(y, plan)
        fill(plan.inputs[0], x, part)
        fill(plan.inputs[1], y, part)
        loss = self.step.compute(plan)
        if not isfinite(loss) and self.on_nan != "ignore":
            if self.on_nan == "raise":
                raise self._not_finite(loss, plan.inputs[0], epoch)
            return
        self.step.commit(plan)
        averages.add({"loss": loss, **self._metrics(plan)}, _length(part))

    def _metrics(self, plan: Plan) -> dict[str, float]:
        return {name: metric(plan.results[1], plan.inputs[1]) for name, metric in self.metrics.items()}

    def _check_labels(self, y: np.ndarray, plan: Plan) -> None:
        """Once per array of labels: the number of classes is known when the model is captured."""
        if getattr(self.loss, "labels", False) and self._labels_seen is not y:
            shape = plan.results[1].shape
            classes = self.loss.classes(shape) if isinstance(self.loss, Loss) else shape[-1]
            if y.dtype.kind != "f":
                check_labels(y, classes, getattr(self.loss, "ignore_index", None))
            self._labels_seen = y

    def _not_finite(self, loss: float, x: np.ndarray, epoch: int) -> Error:
        reason = first_bad_layer(self.model, x)
        return Error(f"the loss is {loss} in step {self.optimizer.steps + 1} (epoch {epoch + 1})", code="nan",
                     notes=(reason or "all outputs of layers are finite: the loss itself is not",),
                     help="lower the learning rate, or look for NaN in the data; the parameters are as they were before this step")

    def _measured(self, x: np.ndarray, y: np.ndarray, size: int) -> dict[str, float]:
        modes, averages = _evaluating(self.model), Averages()
        try:
            for part in batches(len(x), size, None):
                plan = self._evaluation(x[part], y[part])
                self._check_labels(y, plan)
                fill(plan.inputs[0], x, part)
                fill(plan.inputs[1], y, part)
                plan.run()
                averages.add({"loss": float(plan.results[0]), **self._metrics(plan)}, _length(part))
        finally:
            _restore(modes)
        return averages.means()

    def _evaluation(self, x: np.ndarray, y: np.ndarray) -> Plan:
        key = (x.shape, x.dtype, y.shape, y.dtype, structure(self.model))

        def make() -> Plan:
            capture, loss, output = captured_loss(self.model, self.loss, x.shape, x.dtype, y.shape, y.dtype)
            return Plan(capture, [loss, output])

        return self._evaluations.get_or_make(key, make)


def _length(part: np.ndarray | slice) -> int:
    return part.stop - part.start if isinstance(part, slice) else len(part)


def _evaluating(model: Module) -> list[tuple[Module, bool]]:
    """Set a model to evaluation; the modes before."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    return modes


def _restore(modes: list[tuple[Module, bool]]) -> None:
    for module, training in modes:
        module.training = training
