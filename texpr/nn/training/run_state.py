"""Trainings in files: everything that a training needs to go on as if it had never stopped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from texpr.nn.checkpoint import read_arrays, write_arrays
from texpr.nn.core.inputs import as_input
from texpr.nn.core.module import Module, compare_states
from texpr.nn.optim import Optimizer
from texpr.nn.training.callback_states import packed, unpacked
from texpr.nn.training.callbacks import Callback
from texpr.nn.training.history import History
from texpr.nn.training.measurements import Measurements
from texpr.nn.training.step import TrainingStep
from texpr.support.errors import CallError, CheckpointError

_VERSION = 2


_COUNTS = ("first_epoch", "epoch", "position", "steps", "skipped")
_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    CallError,
    CheckpointError,
)
"""The errors of values that are not of the right kind."""


@dataclass
class Run:
    """State of a `fit`.

    Attributes:
        first_epoch: epochs that were made by fits before, which decide the order of examples.
        epoch: epochs that are done.
        position: batches of the running epoch that are done.
        steps: updates that were made.
        skipped: updates of this epoch that were left out.
        ended: a callback has ended the training.
        data: the numbers that decide the batches, as far as they are known.
        states: of callbacks, from a file: those that no callback has taken stay for a later one.
    """

    first_epoch: int = 0
    epoch: int = 0
    position: int = 0
    steps: int = 0
    skipped: int = 0
    ended: bool = False
    data: dict[str, int] = field(default_factory=dict)
    history: History = field(default_factory=History)
    measured: Measurements = field(default_factory=Measurements)
    listeners: Sequence[Callback] = ()
    states: list[tuple[str, Any]] = field(default_factory=list)

    def end_epoch(self, values: Mapping[str, float], seconds: float = nan, examples: int = 0) -> None:
        """An epoch is done."""
        self.history.add(values, seconds, examples)
        self.epoch, self.position, self.skipped, self.measured = self.epoch + 1, 0, 0, Measurements()

    def state_dict(self, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """The run as JSON has it; arrays of callbacks are added to `arrays`."""
        states = [(c.key(), state) for c in self.listeners if (state := c.state_dict())] + self.states
        return {
            **{n: getattr(self, n) for n in (*_COUNTS, "ended")},
            "data": self.data,
            "history": dict(self.history),
            **self.measured.state_dict(arrays),
            "callbacks": [
                [key, packed(state, f"callbacks.{k}", arrays)] for k, (key, state) in enumerate(states)
            ],
        }

    @staticmethod
    def of(state: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Run:
        """The run of a `state_dict`.

        Raises:
            ValueError, TypeError, KeyError, AttributeError: it is none.
        """
        counts = {n: state[n] for n in _COUNTS}
        if not all(type(v) is int and v >= 0 for v in counts.values()) or type(state["ended"]) is not bool:
            raise ValueError("a count is no number")
        history = History({n: list(values) for n, values in state["history"].items()})
        if any(
            len(v) != counts["epoch"] or not all(type(x) in (int, float) for x in v) for v in history.values()
        ):
            raise ValueError("the history is not of a number per epoch")
        if not all(type(v) is int for v in state["data"].values()):
            raise ValueError("what is known of the data is no number")
        states = [(str(key), unpacked(each, arrays)) for key, each in state["callbacks"]]
        return Run(
            **counts,
            ended=state["ended"],
            data=dict(state["data"]),
            history=history,
            measured=Measurements.of(state, arrays),
            states=states,
        )

    def restore(self, data: Mapping[str, int], listeners: Sequence[Callback]) -> None:
        """Give callbacks their states. Callbacks without one begin anew, and states without a
        callback stay.

        Raises:
            CheckpointError: the data are others than those that were saved, or a state is not of
                its callback.
        """
        if self.data != data:
            before, now = (
                ", ".join(f"{n} {v}" for n, v in each.items()) or "of another kind"
                for each in (self.data, data)
            )
            raise CheckpointError(
                f"the training was saved with batches of {before}, and goes on with {now}",
                code="checkpoint",
                help="pass the same data, batch_size, shuffle and seed",
            )
        self.listeners, left = listeners, list(self.states)
        for listener in listeners:
            key = listener.key()
            found = next((each for each in left if each[0] == key), None)
            if found is None:
                continue
            left = [each for each in left if each is not found]
            try:
                listener.load_state_dict(found[1])
            except _UNREADABLE as error:
                raise CheckpointError(
                    f"the state of {key} cannot be read ({_reason(error)})", code="checkpoint"
                ) from None
        self.states = left


def save_run(path: str | Path, model: Module, optimizer: Optimizer, step: TrainingStep, run: Run) -> None:
    """Write a training."""
    if step.pending:
        raise CallError(
            f"gradients of {step.pending} batches were added up and not used yet",
            code="training",
            help="save after an update, such as in on_step_end",
        )
    state = optimizer.state_dict()
    arrays = {name: v.numbers() for name, v in variables_of(model, step).items()}
    arrays |= {f"optimizer.{n}": a for n, a in state.items() if isinstance(a, np.ndarray)}
    about = {
        "version": _VERSION,
        "optimizer": {n: v for n, v in state.items() if not isinstance(v, np.ndarray)},
        "kind": type(optimizer).__name__,
        "run": run.state_dict(arrays),
        "loss_scale": None if step.loss_scale is None else step.loss_scale.state_dict(),
    }
    write_arrays(path, arrays, about)


def load_run(path: str | Path, model: Module, optimizer: Optimizer, step: TrainingStep) -> Run:
    """Take a training's state into model, optimizer and step; where it is. All of it fits, or
    nothing is taken.
    """
    arrays, about = read_arrays(path)
    own = variables_of(model, step)
    values = {n: a for n, a in arrays.items() if n.startswith(("model.", "loss."))}
    missing, unexpected, wrong = compare_states(own, {n: (a.shape, a.dtype.name) for n, a in values.items()})
    listed = {"": wrong, "missing: ": missing, "unexpected: ": unexpected}
    notes = [f"{kind}{n.removeprefix('model.')}" for kind, names in listed.items() for n in names]
    try:
        if not isinstance(about, dict) or about["version"] != _VERSION:
            raise ValueError("another version")
        run, kind = Run.of(about["run"], arrays), about["kind"]
        state = {
            **about["optimizer"],
            **{n.removeprefix("optimizer."): a for n, a in arrays.items() if n.startswith("optimizer.")},
        }
        scale = about["loss_scale"]
    except _UNREADABLE as error:
        raise CheckpointError(
            f"{path} holds no state of a training that can be read ({_reason(error)})", code="checkpoint"
        ) from None
    if kind != type(optimizer).__name__:
        notes.append(f"the optimizer is {kind}, expected {type(optimizer).__name__}")
    if (scale is None) != (step.loss_scale is None):
        notes.append("one of the trainings scales its loss, the other does not")
    if notes:
        raise CheckpointError(f"{path} is of another training", code="checkpoint", notes=notes)
    with unless_refused(model, optimizer, step):
        try:
            optimizer.load_state_dict(state)
            if step.loss_scale is not None:
                step.loss_scale.load_state_dict(scale)
        except _UNREADABLE as error:
            raise CheckpointError(
                f"{path} holds no state of {kind} that can be read ({_reason(error)})", code="checkpoint"
            ) from None
    for name, variable in own.items():
        variable.data = as_input(values[name], variable.dtype).array
    return run


@contextmanager
def unless_refused(model: Module, optimizer: Optimizer, step: TrainingStep) -> Iterator[None]:
    """Within the block, a state is taken; where it is refused, everything has its old values
    again.
    """
    kept, values = optimizer.state_dict(), {v: v.held().copy() for v in variables_of(model, step).values()}
    scale = None if step.loss_scale is None else step.loss_scale.state_dict()
    try:
        yield
    except CheckpointError:
        optimizer.load_state_dict(kept)
        for variable, value in values.items():
            variable.data = value
        if step.loss_scale is not None and scale is not None:
            step.loss_scale.load_state_dict(scale)
        raise


def _reason(error: BaseException) -> str:
    """The message of an error; its type where it has none."""
    return getattr(error, "message", None) or str(error) or type(error).__name__


def variables_of(model: Module, step: TrainingStep) -> dict[str, Any]:
    """All parameters and buffers by name, also those that `state_dict` leaves out, such as seeds,
    and the parameters of the loss.
    """
    own = dict(model.named_parameters()) | dict(model.named_buffers())
    found = {f"model.{name}": variable for name, variable in own.items()}
    if isinstance(step.loss, Module):
        found |= {f"loss.{name}": variable for name, variable in step.loss.named_parameters()}
    return found
