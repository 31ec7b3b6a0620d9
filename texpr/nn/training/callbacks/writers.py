"""Callbacks that write what happens: checkpoints, logs, pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import inf, isnan
from pathlib import Path
from typing import IO, Any

from texpr.nn.checkpoint import require_safetensors
from texpr.nn.core.argument_checks import whole
from texpr.nn.training.callbacks.callback import Best, Callback, measured
from texpr.nn.training.protocol import TrainerLike
from texpr.support.errors import CallError
from texpr.support.extras import needs
from texpr.support.files import write_file


class Checkpoint(Callback):
    """File with the whole training (`Trainer.save`) after each epoch: `fit(..., resume=path)` goes
    on from it.

    The file is replaced in one step: whoever reads it, also after a crash, finds the old training
    or the new one.

    Args:
        path: the file.
        every: save after so many updates as well.
        monitor: save only after epochs in which this measurement is better than ever before.
        mode: "min" or "max": which is better.
        keep: keep so many epochs in files of their own, `run-0007.safetensors` for epoch 7 beside
            `run.safetensors`: the newest, or with `monitor` the best ones. Older ones of this
            training are deleted.
    Raises:
        MissingExtra: safetensors is not installed.
        CallError: an argument out of its range, or `monitor` is not measured.
    Example:
        >>> model = nn.Linear(2, 1)
        >>> trainer = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
        >>> x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)
        >>> history = trainer.fit(x, y, epochs=2, progress=False, callbacks=[nn.callbacks.Checkpoint("run.safetensors")])
        >>> history = trainer.fit(x, y, epochs=3, progress=False, resume="run.safetensors")
        >>> history.epochs
        3
    """

    saves = True

    def __init__(
        self,
        path: str | Path,
        every: int | None = None,
        monitor: str | None = None,
        mode: str = "min",
        keep: int | None = None,
    ) -> None:
        self.path, self.monitor = Path(path), monitor
        if "{epoch" in self.path.name:
            raise CallError(
                f"Checkpoint: the path {self.path.name} is not filled in: it is one file",
                code="arguments",
                help='Checkpoint("run.safetensors", keep=3) keeps files of epochs: run-0007.safetensors',
            )
        self.every = None if every is None else whole("Checkpoint", "every", every)
        self.keep = None if keep is None else whole("Checkpoint", "keep", keep)
        self._best = Best("Checkpoint", mode)
        self._kept: list[tuple[float, int]] = []
        """Values, the smaller the better, and epochs (from 1) of the files, best first."""
        require_safetensors("writing weights")  # before the training, not after its first epoch

    def on_train_begin(self, trainer: TrainerLike) -> None:
        if trainer.epoch == 0:
            self._kept, self._best.value = [], inf

    def on_step_end(self, trainer: TrainerLike, step: int, values: Mapping[str, float]) -> None:
        if self.every is not None and step % self.every == 0:
            trainer.save(self.path)

    def on_epoch_end(self, trainer: TrainerLike, epoch: int, values: Mapping[str, float]) -> None:
        improves = self.monitor is None or self._best.improves(measured(self, self.monitor, values))
        dropped = None if self.keep is None else self._rank(epoch + 1, values)
        if improves:
            trainer.save(self.path)
        if dropped == epoch + 1 or self.keep is None:
            return
        trainer.save(self.file(epoch + 1))
        if dropped is not None:
            self.file(dropped).unlink(missing_ok=True)

    def file(self, epoch: int) -> Path:
        """The file of an epoch, counted from 1."""
        return self.path.with_name(f"{self.path.stem}-{epoch:04}{self.path.suffix}")

    def _rank(self, epoch: int, values: Mapping[str, float]) -> int | None:
        """Take an epoch among those that are kept; the epoch that leaves, if there are too many."""
        value = -float(epoch) if self.monitor is None else measured(self, self.monitor, values)
        value = -value if self.monitor is not None and self._best.mode == "max" else value
        self._kept = sorted([*self._kept, (inf if isnan(value) else value, epoch)])
        assert self.keep is not None
        return self._kept.pop()[1] if len(self._kept) > self.keep else None

    def key(self) -> str:
        return f"Checkpoint({self.monitor}, {self._best.mode})"

    def state_dict(self) -> dict[str, Any]:
        best = {} if self.monitor is None else {"best": self._best.value}
        return best if self.keep is None else {**best, "kept": self._kept}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        if "best" in state_dict:
            self._best.load(state_dict["best"])
        self._kept = [(float(value), int(epoch)) for value, epoch in state_dict.get("kept", ())]


class _Log(Callback):
    """A text file that grows by a line per epoch. Where a training goes on, lines of epochs that
    it makes again are taken out.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file: IO[str] | None = None

    def on_train_begin(self, trainer: TrainerLike) -> None:
        self._begin_again(self._kept(trainer))

    def _kept(self, trainer: TrainerLike) -> list[str]:
        """The lines of the epochs that are done."""
        raise NotImplementedError

    def _begin_again(self, lines: list[str]) -> None:
        self.on_train_end()
        write_file(self.path, "".join(line + "\n" for line in lines).encode())
        self._file = self.path.open("a", encoding="utf-8", newline="")

    def _write(self, line: str) -> None:
        assert self._file is not None, "fit has begun"
        self._file.write(line + "\n")
        self._file.flush()

    def on_train_end(self, trainer: TrainerLike | None = None) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class CSVLog(_Log):
    """Table in CSV with a row per epoch; the first row names the columns.

    A new measurement gets a column, with NaN for the epochs before.

    Args:
        path: the file.
    Raises:
        OSError: the file cannot be written.
    Example:
        >>> model = nn.Linear(2, 1)
        >>> trainer = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
        >>> x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)
        >>> history = trainer.fit(x, y, epochs=2, progress=False, callbacks=[nn.callbacks.CSVLog("log.csv")])
        >>> open("log.csv").readline().strip()
        'epoch,loss,lr'
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self._names: tuple[str, ...] = ()

    def _kept(self, trainer: TrainerLike) -> list[str]:
        self._names = tuple(trainer.history)
        return trainer.history.rows() if trainer.epoch else []

    def on_epoch_end(self, trainer: TrainerLike, epoch: int, values: Mapping[str, float]) -> None:
        if self._names == tuple(trainer.history):
            self._write(trainer.history.rows()[-1])
        else:
            self._begin_again(self._kept(trainer))


class JSONLog(_Log):
    """JSON object per epoch and line; NaN and infinite numbers are null, which JSON has.

    Args:
        path: the file.
    Raises:
        OSError: the file cannot be written.
    Example:
        >>> model = nn.Linear(2, 1)
        >>> trainer = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
        >>> x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)
        >>> history = trainer.fit(x, y, epochs=2, progress=False, callbacks=[nn.callbacks.JSONLog("log.jsonl")])
        >>> len(open("log.jsonl").readlines())
        2
    """

    def _kept(self, trainer: TrainerLike) -> list[str]:
        if not trainer.epoch or not self.path.exists():
            return []
        return [
            line
            for line in self.path.read_text(encoding="utf-8").splitlines()
            if 0 < _epoch(line) <= trainer.epoch
        ]

    def on_epoch_end(self, trainer: TrainerLike, epoch: int, values: Mapping[str, float]) -> None:
        finite = {n: v if abs(v) < float("inf") else None for n, v in values.items()}
        self._write(json.dumps({"epoch": epoch + 1, "lr": trainer.optimizer.lr, **finite}))


def _epoch(line: str) -> int:
    """The epoch of a line; 0 where it is damaged."""
    try:
        return int(json.loads(line)["epoch"])
    except (ValueError, TypeError, LookupError):
        return 0


class Plot(Callback):
    """Picture of the curves so far (`History.plot`), after each epoch.

    Args:
        path: the picture; its ending says which kind.
    Raises:
        MissingExtra: matplotlib is not installed.
    Example:
        >>> model = nn.Linear(2, 1)
        >>> trainer = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
        >>> x, y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)
        >>> history = trainer.fit(x, y, epochs=2, progress=False, callbacks=[nn.callbacks.Plot("curves.png")])
        >>> open("curves.png", "rb").read(4)
        b'\x89PNG'
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def on_epoch_end(self, trainer: TrainerLike, epoch: int, values: Mapping[str, float]) -> None:
        trainer.history.plot(self.path)


class TensorBoard(Callback):
    """Event files for TensorBoard: the measurements of each epoch, and with `every`, the loss after
    that many updates.

    Args:
        folder: where the files are written.
        every: updates between two losses.
    Raises:
        MissingExtra: tensorboard is not installed.
    Example:
        >>> try:
        ...     callbacks = [nn.callbacks.TensorBoard("runs", every=100)]
        ... except tx.MissingExtra:
        ...     callbacks = []  # the package tensorboard is not installed
        >>> len(callbacks) <= 1
        True
    """

    def __init__(self, folder: str | Path, every: int | None = None) -> None:
        self.folder, self.every = (
            Path(folder),
            None if every is None else whole("TensorBoard", "every", every),
        )
        self._writer: Any = None
        _tensorboard()

    def on_train_begin(self, trainer: TrainerLike) -> None:
        self._writer = _tensorboard()[0](str(self.folder))

    def on_step_end(self, trainer: TrainerLike, step: int, values: Mapping[str, float]) -> None:
        if self.every is not None and step % self.every == 0:
            self._add("step/loss", values["loss"], trainer.optimizer.steps)

    def on_epoch_end(self, trainer: TrainerLike, epoch: int, values: Mapping[str, float]) -> None:
        for name, value in {**values, "lr": trainer.optimizer.lr}.items():
            self._add(f"epoch/{name}", value, epoch + 1)
        self._writer.flush()

    def _add(self, tag: str, value: float, step: int) -> None:
        _, event, summary = _tensorboard()
        self._writer.add_event(
            event(step=step, summary=summary(value=[summary.Value(tag=tag, simple_value=value)]))
        )

    def on_train_end(self, trainer: TrainerLike) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _tensorboard() -> tuple[Any, Any, Any]:
    with needs("board", "writing for TensorBoard"):
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    return EventFileWriter, Event, Summary
