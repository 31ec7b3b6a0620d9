"""Training as one call: batches, epochs, measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from texpr.distributed.elsewhere_names import NO_SYNC
from texpr.graph import Plan
from texpr.ir.dtypes import readable
from texpr.nn.core.argument_checks import number, one_of, whole
from texpr.nn.core.module import Module
from texpr.nn.data import DataLoader
from texpr.nn.data.checks import checked_inputs
from texpr.nn.metrics import Metric
from texpr.nn.optim import Optimizer
from texpr.nn.training.batches import Batch, Batches
from texpr.nn.training.callbacks import Callback, Listener, as_callback
from texpr.nn.training.example_weights import Weights
from texpr.nn.training.history import History
from texpr.nn.training.measurements import MetricFunction, named_metrics
from texpr.nn.training.precision import LossScale
from texpr.nn.training.progress_bar import Progress
from texpr.nn.training.run_state import Run, load_run, save_run, unless_refused, variables_of
from texpr.nn.training.step import LossFunction, TrainingStep
from texpr.nn.training.trainer_parts import (
    NOTHING,
    Evaluating,
    Evaluations,
    check_parts,
    fill,
    mean_loss,
    nothing_counts,
    of_batch,
    of_ranks,
)
from texpr.runtime.call.signal_guard import deferred_interrupts
from texpr.support.errors import CallError, CheckpointError
from texpr.support.late import late
from texpr.support.suggest import suggests

if TYPE_CHECKING:
    from texpr.distributed import Communicator
    from texpr.nn.training.data_parallel import parallel_step, training_team
    from texpr.nn.training.data_parallel.parallel_step import ParallelStep
    from texpr.nn.training.data_parallel.training_team import Team
else:
    parallel_step = late("texpr.nn.training.data_parallel.parallel_step")
    training_team = late("texpr.nn.training.data_parallel.training_team")


@suggests({"no_sync": NO_SYNC})
class Trainer:
    """Fits a model to examples, evaluates it, and predicts with it.

    Args:
        model: called on batches; examples lie along axis 0.
        loss: of output and target, such as `CrossEntropyLoss()`.
        optimizer: over the parameters to train.
        metrics: a list, or a dict by names. Each is a name ("accuracy", "top_5_accuracy",
            "precision", "recall", "f1", "auc", "mae", "mse", "rmse", "r2", "perplexity"), an
            `nn.Metric`, or a function of outputs and targets. Functions get NumPy's arrays of a
            batch. They give a mean over targets, or a pair of a mean and its weight beside other
            batches. Ignored labels do not count, and sample weights neither.
        seed: of the order of examples.
        on_nan: what happens when a step's loss is NaN or infinite. "raise": the parameters keep
            their values and the message names the step and the layer. "skip": the parameters keep
            their values and the training goes on. "ignore": the step is made.
        accumulate: batches per update (`TrainingStep`): what one batch of all of them gives, within
            rounding. The last update of an epoch takes what is left.
        precision: "f32", or "bf16" or "f16" for products in 16 bits; steps whose gradients overflow
            f16 are left out, and `skipped` of the history counts them.
        loss_scale: of "f16".
        comm: the ranks that train together (`texpr.distributed.init()`): each makes its share of the
            batches, all have the same parameters after each step. Every rank calls `fit` with the
            same data and the same arguments; see the guide on distributed training.
        bucket_cap_mb: megabytes (2^20 bytes) of gradients that are reduced over the ranks at once,
            while the backward pass goes on.
        reduction: "fast", or "ordered": the bits of one process with `accumulate=comm.size`.
        device: where the model is moved to, and trained; it stays where it is unless given.
    Attributes:
        history: of the fit that runs, or ran last.
        epoch, position: how many epochs of that fit are done, and how many batches of the one that
        runs.
    Raises:
        CallError: no module, an argument that is none of those above, a metric of an unknown name, or an
            optimizer without a parameter of the model.
    Example:
        >>> model = nn.Linear(2, 1)
        >>> trainer = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
        >>> x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)
        >>> history = trainer.fit(x, y, epochs=20, progress=False)
        >>> history["loss"][-1] < history["loss"][0]
        True
        >>> trainer.predict(x).shape
        (8, 1)
        >>> sorted(trainer.evaluate(x, y))
        ['loss']
    """

    def __init__(
        self,
        model: Module,
        loss: LossFunction,
        optimizer: Optimizer,
        metrics: Sequence[str | Metric | MetricFunction] | Mapping[str, str | Metric | MetricFunction] = (),
        seed: int = 0,
        on_nan: str = "raise",
        *,
        accumulate: int = 1,
        precision: str = "f32",
        loss_scale: LossScale | None = None,
        device: str | None = None,
        comm: Communicator | None = None,
        bucket_cap_mb: float = 25.0,
        reduction: str = "fast",
    ) -> None:
        check_parts(model, loss, optimizer)
        self.on_nan = one_of("Trainer", "on_nan", on_nan, ("raise", "skip", "ignore"))
        self.model, self.loss, self.optimizer = model if device is None else model.to(device), loss, optimizer
        self.metrics = named_metrics(metrics, loss)
        self.comm, self._team = comm, None if comm is None else training_team.team_of(comm)
        options: dict[str, Any] = {"accumulate": accumulate, "precision": precision, "loss_scale": loss_scale}
        together: dict[str, Any] = {
            "bucket_cap_mb": number("Trainer", "bucket_cap_mb", bucket_cap_mb),
            "reduction": one_of("Trainer", "reduction", reduction, ("fast", "ordered")),
            "leaves_out": on_nan == "skip",
        }
        self.step = (
            TrainingStep(model, loss, optimizer, **options)
            if self._team is None
            else parallel_step.ParallelStep(model, loss, optimizer, self._team.comm, **options, **together)
        )
        self._seed = whole("Trainer", "seed", seed, 0)
        self._evaluations = Evaluations(self.step, self.metrics, self._check_labels)
        self._batch_size = 256
        self._labels_seen: np.ndarray | None = None
        self._run = Run()
        self._epochs_before = 0
        self._loaded: Run | None = None
        self._fitting = False

    @property
    def history(self) -> History:
        return self._run.history

    @property
    def epoch(self) -> int:
        return self._run.epoch

    @property
    def position(self) -> int:
        return self._run.position

    def fit(
        self,
        x: object,
        y: object = None,
        epochs: int = 1,
        batch_size: int = 32,
        validation_data: tuple[object, object] | Iterable[Any] | None = None,
        shuffle: bool = True,
        progress: bool = True,
        callbacks: Sequence[Listener | Callback] = (),
        *,
        resume: str | Path | None = None,
        sample_weight: object = None,
        class_weight: Weights | None = None,
        validation_split: float = 0.0,
    ) -> History:
        """Train.

        Args:
            x, y: examples and targets along axis 0. Floats become the model's dtype; labels are
                integers. Or x alone: a `DataLoader`, or anything that gives pairs of arrays, or
                triples with weights of examples, whenever it is iterated over.
            batch_size: examples per step; the last step of an epoch takes what is left.
            validation_data: (x, y), (x, y, sample_weight) or a loader, evaluated after each epoch
                as `val_loss` and so on.
            progress: show a line per epoch.
            callbacks: functions called after each epoch, or callbacks; see
                `texpr.nn.training.callbacks`.
            resume: a file that `Trainer.save` or `nn.callbacks.Checkpoint` writes. Where it is
                there, the training goes on from it, bit for bit as if it had never stopped;
                `epochs` counts those before, too.
            sample_weight: how much the loss of each example counts, or of each place of its
                target. A mean divides by the sum of the weights.
            class_weight: a dict or an array with a weight for each class, or "balanced", which
                gives all classes one sum of weights. They multiply `sample_weight`, and do not
                count in validation.
            validation_split: the share of the examples, drawn at random by the seed, that are not
                trained on and serve as `validation_data`.
        Returns:
            the means over each epoch, as they were during training, batches weighted by what the
            loss divides by (`TrainingStep`); NaN where nothing was measured. A loss that is a sum
            is added up.
        Raises:
            CallError: data that do not fit the model or each other, or a label that is no class.
            CheckpointError: `resume` is the file of another training, or damaged.
            Error: the loss is not finite; see `on_nan`.
        """
        if self._fitting:
            raise CallError(
                "fit is called while it runs",
                code="training",
                help="a callback returns True to end the training",
            )
        epochs, batch_size = whole("fit", "epochs", epochs, 0), whole("fit", "batch_size", batch_size)
        listeners = sorted(map(as_callback, callbacks), key=lambda c: c.saves)
        if self._team is not None:
            listeners, progress = self._team.heard(listeners), progress and self._team.comm.is_main
        data = self._batches(x, y, batch_size, shuffle, sample_weight, self._team)
        data, validation = self._held_out(data, validation_data, validation_split, batch_size)
        if class_weight is not None:
            data = data.weighed(class_weight, self.loss)
        self._batch_size = batch_size
        if self._team is not None:
            self._team.same_arguments(resume=resume is not None)
        if resume is not None and self._of_main(Path(resume).exists):
            self._go_on(resume, data.about(), listeners)
        else:
            self._begin(data.about(), listeners)
        self._share()
        if self._team is not None:
            self._team.same_arguments(
                epochs=epochs,
                batch_size=batch_size,
                shuffle=shuffle,
                validation=validation is not None,
                **training_team.choices(data, validation, self.metrics, listeners),
            )
            self._team.same_parts(self.model, self.loss, self.optimizer)
        self._fitting = True
        try:
            for listener in listeners:
                listener.on_train_begin(self)
            self._epochs(data, validation, epochs, Progress(epochs, progress), listeners)
        finally:
            self._loaded, self._fitting = None, False
            for listener in listeners:
                listener.on_train_end(self)
        if self._team is not None:
            self._team.check_same(variables_of(self.model, self.step).values(), "at the end of fit")
        return self.history

    def save(self, path: str | Path) -> None:
        """Write the whole training: parameters, buffers, the optimizer's state, history and where
        it is. The file is replaced in one step. Of several ranks, the first one writes.

        Raises:
            CallError: gradients were added up and not used yet; callbacks are called where there
                are none.
            OSError: the file cannot be written; what was there before stays.
        """
        if self._team is None or self._team.comm.is_main:
            save_run(path, self.model, self.optimizer, self.step, self._run)

    def load(self, path: str | Path) -> None:
        """Take the state of a training that was saved: the next `fit` goes on from there. Of
        several ranks, the first one reads, all call this, and their number may be another one.

        Raises:
            CheckpointError: the file is damaged, or of another training; nothing is taken then.
        """
        self._run = self._loaded = self._of_main(
            lambda: load_run(path, self.model, self.optimizer, self.step)
        )
        self._labels_seen = None
        self._share()

    def _of_main(self, make: Callable[[], Any]) -> Any:
        """The value that rank 0 makes."""
        return make() if self._team is None else self._team.of_main(make)

    def _share(self) -> None:
        """Let all ranks have what rank 0 has."""
        if self._team is not None:
            own = variables_of(self.model, self.step)
            self._team.share(own, self.optimizer, self.step.loss_scale)

    def evaluate(
        self, x: object, y: object = None, batch_size: int | None = None, *, sample_weight: object = None
    ) -> dict[str, float]:
        """Loss and metrics on data, in evaluation mode: what one batch of all examples gives,
        within rounding. Each rank evaluates by itself; a sharded loader is evaluated by all ranks
        together.

        Args:
            x, y: as for `fit`.
            batch_size: that of the last `fit` unless given, so that kernels are there already.
            sample_weight: as for `fit`; metrics do not take it.
        Raises:
            CallError: data that do not fit the model or each other.
        """
        size = self._size("evaluate", batch_size)
        team = self._team if isinstance(x, DataLoader) and x.shard.size > 1 else None
        return self._evaluations.measured(self._batches(x, y, size, False, sample_weight, team), team)

    def predict(self, x: object, batch_size: int | None = None) -> np.ndarray:
        """The model's outputs in evaluation mode.

        Args:
            batch_size: that of the last `fit` unless given.
        Raises:
            CallError: data that do not fit the model.
        """
        given, size = readable(*checked_inputs(x, self.model.dtype)), self._size("predict", batch_size)
        with Evaluating(self.model):
            return np.concatenate(
                [self.model(given[start : start + size]) for start in range(0, len(given), size)]
            )

    def _size(self, owner: str, batch_size: int | None) -> int:
        return self._batch_size if batch_size is None else whole(owner, "batch_size", batch_size)

    def _batches(
        self,
        x: object,
        y: object,
        batch_size: int,
        shuffle: bool,
        weight: object = None,
        team: Team | None = None,
    ) -> Batches:
        """The batches of this process, or this rank's share of them."""
        labels, shard = bool(getattr(self.loss, "labels", False)), (0, 1) if team is None else team.shard
        return Batches.of(x, y, self.model.dtype, labels, batch_size, shuffle, self._seed, weight, shard)

    def _held_out(
        self, data: Batches, given: Any, share: float, batch_size: int
    ) -> tuple[Batches, Batches | None]:
        """The data to train on, and those of validation."""
        if not share:
            return data, None if given is None else self._validation(given, batch_size)
        if given is not None:
            raise CallError("fit has both validation_data and validation_split", code="arguments")
        return data.split(number("fit", "validation_split", share, 0.0, 1.0))

    def _validation(self, data: Any, batch_size: int) -> Batches:
        if isinstance(data, Iterable) and not isinstance(data, tuple | list | np.ndarray | dict | str):
            return self._batches(data, None, batch_size, False, team=self._team)
        if not (isinstance(data, tuple | list) and len(data) in (2, 3)):
            raise CallError(
                "validation_data is no pair of examples and targets",
                code="arguments",
                help="validation_data=(xv, yv)",
            )
        weight = data[2] if len(data) == 3 else None
        return self._batches(data[0], data[1], batch_size, False, weight, self._team)

    def _go_on(self, path: str | Path, data: dict[str, int], listeners: Sequence[Callback]) -> None:
        """Load a training and begin; where one of both is refused, everything stays as it is."""
        before = self._run, self._loaded
        with unless_refused(self.model, self.optimizer, self.step):
            try:
                self.load(path)
                self._begin(data, listeners)
            except CheckpointError:
                self._run, self._loaded = before
                raise

    def _begin(self, data: dict[str, int], listeners: Sequence[Callback]) -> None:
        """A new run, or the one that was loaded."""
        self.step.reset()
        self._run.listeners = listeners
        if self._loaded is None:
            self._epochs_before += self._run.epoch
            self._run = Run(first_epoch=self._epochs_before, data=data, listeners=listeners)
        else:
            self._run.restore(data, listeners)
            self._epochs_before = self._run.first_epoch

    def _epochs(
        self,
        data: Batches,
        validation: Batches | None,
        epochs: int,
        shown: Progress,
        listeners: Sequence[Callback],
    ) -> None:
        run, team = self._run, self._team
        while run.epoch < epochs and not run.ended:
            self.model.train()
            data.go_to(run.first_epoch + run.epoch, run.position)
            batches: Iterable[Batch | None] = data if team is None else self._rounds(data)
            for batch in shown.batches(run.epoch, batches, data.left):
                loss, count = self._train_on(batch, run)
                shown.examples += count
            shown.trained()
            if self.step.pending:
                self._counted(self.step.flush, loss, run)
            if not run.position:
                raise CallError(
                    "the data have no batches",
                    code="data",
                    help="a loader must give batches whenever it is iterated over",
                )
            values = run.measured.values(self.metrics)
            if self.step.loss_scale is not None:
                values["skipped"] = float(run.skipped)
            if validation is not None:
                values |= {f"val_{n}": v for n, v in self._evaluations.measured(validation, team).items()}
            values["lr"] = self.optimizer.lr
            with deferred_interrupts:
                run.end_epoch(values, *shown.took)
            shown.epoch(run.epoch - 1, values)
            for listener in listeners:
                run.ended |= listener.on_epoch_end(self, run.epoch - 1, values) is True
            if team is not None:
                run.ended = team.any(run.ended)
                team.check_same(variables_of(self.model, self.step).values(), f"after epoch {run.epoch}")

    def _counted(self, commit: Callable[[], bool], loss: float, run: Run) -> None:
        """Assign and count that as one: Ctrl-C comes before, or once those who listen know of
        the update.
        """
        before, made = run.steps, True
        try:
            with deferred_interrupts:
                updates = self.optimizer.steps
                made = commit()
                run.skipped += not made
                run.steps += self.optimizer.steps - updates
        finally:
            if run.steps > before:
                for listener in run.listeners:
                    listener.on_step_end(self, run.steps, {"loss": loss})
        if not made and self.step.loss_scale is None and self.on_nan == "raise":
            raise nothing_counts(self.step, run.epoch)

    def _train_on(self, batch: Batch | None, run: Run) -> tuple[float, int]:
        """Make a step, or a part of one; the loss, and the number of examples."""
        if self._team is not None:
            return self._round(batch, run, self._team)
        assert batch is not None
        plan = self.step.plan(*batch.specs)
        self._check_labels(batch, plan)
        fill(plan, batch)
        loss = self.step.compute(plan)
        counts = self._counts(loss, plan.weight())
        assigns = counts or self.step.loss_scale is not None
        if not assigns and self.on_nan == "raise":
            raise of_batch(self.step, loss, plan.weight(), batch, run.epoch)
        metrics = self._evaluations.metrics_of(plan, batch) if counts else NOTHING

        def commit() -> bool:
            assigned = self.step.commit(plan) if assigns else True
            run.position += 1
            if counts:
                run.measured.take(self.metrics, plan.is_sum, loss, plan.weight(), metrics)
            return assigned

        self._counted(commit, loss, run)
        return loss, len(batch.x.array)

    def _counts(self, loss: float, weight: float) -> bool:
        """True if a batch enters the measurements."""
        several = self.step.accumulate > 1 or self._team is not None
        return isfinite(loss) or self.on_nan == "ignore" or (several and not weight)

    def _rounds(self, data: Batches) -> Iterator[Batch | None]:
        """The batches of this rank, and None while others have batches yet."""
        batches = iter(data)
        while True:
            batch = next(batches, None)
            if not self._parallel.open(None if batch is None else batch.specs):
                return
            yield batch

    @property
    def _parallel(self) -> ParallelStep:
        assert isinstance(self.step, parallel_step.ParallelStep)
        return self.step

    def _round(self, batch: Batch | None, run: Run, team: Team) -> tuple[float, int]:
        """A batch on each rank that has one; the loss, and the number of examples."""
        step, plan = self._parallel, None
        if batch is not None:
            plan = step.plan(*batch.specs)
            self._check_labels(batch, plan)
            fill(plan, batch)
        turns = step.measure(plan)
        counted = [t for t in turns if self._counts(t.loss, t.weight)]
        assigned = turns if step.loss_scale is not None else counted
        if len(assigned) < len(turns) and self.on_nan == "raise":
            raise of_ranks(step, [t for t in turns if t not in counted], batch, run.epoch)
        own = next((t for t in counted if t.rank == team.comm.rank), None)
        metrics = [NOTHING] * team.comm.size
        if self.metrics:
            metrics = team.comm.gather_object(
                NOTHING
                if own is None or plan is None or batch is None
                else self._evaluations.metrics_of(plan, batch)
            )

        def commit() -> bool:
            made = step.commit_round(plan, assigned)
            run.position += len(turns)
            for t in counted:
                run.measured.take(self.metrics, t.is_sum, t.loss, t.weight, metrics[t.rank])
            return made

        loss = mean_loss(counted)
        self._counted(commit, loss, run)
        return loss, sum(t.examples for t in turns)

    def _check_labels(self, batch: Batch, plan: Plan) -> None:
        """Once per array of labels: the number of classes is known when the model is captured."""
        if self._labels_seen is not batch.labels:
            self.step.check_labels(batch.labels, plan)
            self._labels_seen = batch.labels
