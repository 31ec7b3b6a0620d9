"""Trainings in files: everything that a training needs to go on as if it had never stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from texpr.nn.callbacks import Callback
from texpr.nn.checkpoint import read_arrays, write_arrays
from texpr.nn.history import History
from texpr.nn.inputs import as_input
from texpr.nn.metrics import Averages
from texpr.nn.module import Module, compare_states
from texpr.nn.optim import Optimizer
from texpr.nn.training import TrainingStep
from texpr.support.errors import CallError, CheckpointError

_VERSION = 1


@dataclass
class Run:
    """Where a `fit` is.

    Attributes:
        first_epoch: epochs that were made by fits before, which decide the order of examples.
        epoch: epochs that are done.
        position: batches of the running epoch that are done.
        steps: updates that were made or left out.
        skipped: updates of this epoch that were left out.
        ended: a callback has ended the training.
        data: what decides the batches, as far as it is known.
        states: of callbacks, from a file.
    """

    first_epoch: int = 0
    epoch: int = 0
    position: int = 0
    steps: int = 0
    skipped: int = 0
    ended: bool = False
    data: dict[str, int] = field(default_factory=dict)
    history: History = field(default_factory=History)
    averages: Averages = field(default_factory=Averages)
    listeners: Sequence[Callback] = ()
    states: list[list[Any]] = field(default_factory=list)

    def end_epoch(self, values: Mapping[str, float]) -> None:
        """An epoch is done."""
        self.history.add(values)
        self.epoch, self.position, self.skipped, self.averages = self.epoch + 1, 0, 0, Averages()

    def state_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        numbers = {n: getattr(self, n) for n in ("first_epoch", "epoch", "position", "steps", "skipped", "ended")}
        return {**numbers, "data": self.data, "history": dict(self.history), "averages": self.averages.state_dict(),
                "callbacks": [[type(c).__name__, c.state_dict()] for c in self.listeners]}

    @staticmethod
    def of(state: Mapping[str, Any]) -> Run:
        """The run of a `state_dict`."""
        numbers = {n: state[n] for n in ("first_epoch", "epoch", "position", "steps", "skipped", "ended")}
        if not all(isinstance(v, int) and v >= 0 for v in numbers.values()):
            raise ValueError("a count is no number")
        history = History({str(n): [float(v) for v in values] for n, values in state["history"].items()})
        return Run(**numbers, data=dict(state["data"]), history=history, averages=Averages.of(state["averages"]),
                   states=list(state["callbacks"]))

    def restore(self, data: Mapping[str, int], listeners: Sequence[Callback]) -> None:
        """Give callbacks their states.

        Raises:
            CheckpointError: they, or the data, are others than those that were saved.
        """
        if self.data != data:
            before, now = (", ".join(f"{n} {v}" for n, v in each.items()) or "of another kind" for each in (self.data, data))
            raise CheckpointError(f"the training was saved with batches of {before}, and goes on with {now}", code="checkpoint",
                                  help="pass the same data, batch_size, shuffle and seed")
        kinds, saved = [type(c).__name__ for c in listeners], [kind for kind, _ in self.states]
        if kinds != saved:
            raise CheckpointError(f"the training was saved with callbacks {', '.join(saved) or 'none'}, and goes on with "
                                  f"{', '.join(kinds) or 'none'}", code="checkpoint", help="pass the same callbacks in the same order")
        self.listeners = listeners
        for listener, (_, state) in zip(listeners, self.states):
            listener.load_state_dict(state)


def save_run(path: str | Path, model: Module, optimizer: Optimizer, step: TrainingStep, run: Run) -> None:
    """Write a training."""
    if step.pending:
        raise CallError(f"gradients of {step.pending} batches were added up and not used yet", code="training",
                        help="save after an update, such as in on_step_end")
    state = optimizer.state_dict()
    arrays = {f"model.{name}": v.numpy() for name, v in _variables(model).items()}
    arrays |= {f"optimizer.{n}": a for n, a in state.items() if isinstance(a, np.ndarray)}
    about = {"version": _VERSION, "optimizer": {n: v for n, v in state.items() if not isinstance(v, np.ndarray)},
             "kind": type(optimizer).__name__, "run": run.state_dict(),
             "loss_scale": None if step.loss_scale is None else step.loss_scale.state_dict()}
    write_arrays(path, arrays, about)


def load_run(path: str | Path, model: Module, optimizer: Optimizer, step: TrainingStep) -> Run:
    """Take a training's state into model, optimizer and step; where it is. All of it fits, or nothing is taken."""
    arrays, about = read_arrays(path)
    own = _variables(model)
    values = {n.removeprefix("model."): a for n, a in arrays.items() if n.startswith("model.")}
    missing, unexpected, wrong = compare_states(own, {n: (a.shape, a.dtype.name) for n, a in values.items()})
    notes = [*wrong, *(f"missing: {n}" for n in missing), *(f"unexpected: {n}" for n in unexpected)]
    try:
        if not isinstance(about, dict) or about["version"] != _VERSION:
            raise ValueError("another version")
        run, kind = Run.of(about["run"]), about["kind"]
        state = {**about["optimizer"], **{n.removeprefix("optimizer."): a for n, a in arrays.items() if n.startswith("optimizer.")}}
        scale = about["loss_scale"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{path} holds no state of a training that can be read ({error})", code="checkpoint") from None
    if kind != type(optimizer).__name__:
        notes.append(f"the optimizer is {kind}, expected {type(optimizer).__name__}")
    if (scale is None) != (step.loss_scale is None):
        notes.append("one of the trainings scales its loss, the other does not")
    if notes:
        raise CheckpointError(f"{path} is of another training", code="checkpoint", notes=notes)
    optimizer.load_state_dict(state)
    for name, variable in own.items():
        variable.data = as_input(values[name], variable.dtype).array
    if step.loss_scale is not None:
        step.loss_scale.load_state_dict(scale)
    return run


def _variables(model: Module) -> dict[str, Any]:
    """All parameters and buffers by name, also those that `state_dict` leaves out, such as seeds."""
    return dict(model.named_parameters()) | dict(model.named_buffers())
