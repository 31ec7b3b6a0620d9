"""Trainings that go on: the states of callbacks, and files whose values are of other kinds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from struct import pack, unpack
from typing import Any

import numpy as np
import pytest

import texpr as tx
from texpr import nn
from texpr.nn.training.callback_states import packed, unpacked

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(64, 5)).astype("f4"), RANDOM.integers(0, 4, 64)


class Stop(Exception):
    pass


class Kill(nn.Callback):
    def __init__(self, at: int) -> None:
        self.at = at

    def on_step_end(self, trainer, step, values):
        if step == self.at:
            raise Stop


def trainer(lr: float = 40.0, **options) -> nn.Trainer:
    nn.manual_seed(0)
    model = nn.Linear(5, 4)
    return nn.Trainer(
        model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=lr, momentum=0.5), **options
    )


def fit(t: nn.Trainer, callbacks: list, epochs: int = 6, **options) -> nn.History:
    return t.fit(
        X,
        Y,
        epochs=epochs,
        batch_size=16,
        progress=False,
        validation_data=(X, Y),
        callbacks=callbacks,
        **options,
    )


def bits(t: nn.Trainer) -> bytes:
    return b"".join(v.tobytes() for v in t.model.state_dict().values())


@pytest.mark.parametrize("at", [9, 22])
def test_the_best_parameters_come_back_after_a_training_went_on(tmp_path: Path, at: int):
    """They are of the first epoch; the training is stopped in the third and in the sixth one."""

    def stopping() -> nn.Callback:
        return nn.EarlyStopping("val_loss", patience=5, restore_best=True)

    whole, part, after = trainer(), trainer(), trainer()
    expected = fit(whole, [stopping()], 10)
    path = tmp_path / "run"
    with pytest.raises(Stop):
        fit(part, [stopping(), nn.callbacks.Checkpoint(path, every=2), Kill(at)], 10)
    assert fit(after, [stopping(), nn.callbacks.Checkpoint(path)], 10, resume=path) == expected
    best = min(expected["val_loss"])
    assert bits(after) == bits(whole) and after.evaluate(X, Y)["loss"] == best != expected["val_loss"][-1]
    again = trainer()
    fit(again, [stopping()], 10, resume=path)
    assert bits(again) == bits(whole), "a training that has ended gives its best parameters, too"


class Counts(nn.Callback):
    """A state of all kinds."""

    def __init__(self) -> None:
        self.epochs, self.seen, self.mean, self.shape = 0, {}, np.zeros(5, "f4"), ()

    def on_epoch_end(self, trainer, epoch, values):
        self.epochs += 1
        self.seen[epoch] = np.float32(values["loss"])
        self.mean = self.mean + np.float32(self.epochs)
        self.shape = (self.epochs, "x")

    def state_dict(self):
        return {
            "epochs": self.epochs,
            "seen": self.seen,
            "mean": self.mean,
            "nested": [self.shape, None, True],
        }

    def load_state_dict(self, state_dict):
        self.epochs, self.seen, self.mean, self.shape = (
            state_dict[n] for n in ("epochs", "seen", "mean", "nested")
        )
        self.shape = self.shape[0]


def test_callbacks_come_and_go(tmp_path: Path):
    """States go to the callbacks they are of, and wait for those that are not there."""
    path, heard = tmp_path / "run", []

    def log(trainer, epoch, values):
        heard.append(epoch)

    t = trainer(0.1)
    fit(
        t,
        [
            nn.EarlyStopping("loss", 9),
            Counts(),
            nn.EarlyStopping("val_loss", 9),
            nn.callbacks.Checkpoint(path),
        ],
        2,
    )
    t, second = trainer(0.1), nn.EarlyStopping("val_loss", 9)
    fit(t, [log, second], 3, resume=path)
    assert heard == [2] and second.state_dict()["best"] == t.history["val_loss"][-1]
    t.save(path)
    t, counts, first = trainer(0.1), Counts(), nn.EarlyStopping("loss", 9)
    fit(t, [nn.callbacks.Checkpoint(path, monitor="loss"), first, counts], 4, resume=path)
    assert (
        counts.epochs == 3
        and list(counts.seen) == [0, 1, 3]
        and counts.shape == (3, "x")
        and counts.mean.tolist() == [6.0] * 5
    )
    assert counts.mean.dtype == np.float32 and first.state_dict()["best"] == t.history["loss"][-1]
    fit(trainer(0.1), [], 5, resume=path)


def test_callable_objects_may_have_a_state(tmp_path: Path):
    class Total:
        value = 0.0

        def __call__(self, trainer, epoch, values):
            self.value += values["loss"]

        def state_dict(self):
            return {"value": self.value}

        def load_state_dict(self, state_dict):
            self.value = state_dict["value"]

    totals = [Total(), Total()]
    path = tmp_path / "run"
    fit(trainer(), [totals[0], nn.callbacks.Checkpoint(path)], 2)
    t = trainer()
    fit(t, [totals[1]], 3, resume=path)
    assert totals[1].value == sum(t.history["loss"])


def test_states_that_no_file_holds(tmp_path: Path):
    counts = Counts()
    counts.seen = {"x": object()}
    with pytest.raises(tx.CallError) as caught:
        fit(trainer(), [counts, nn.callbacks.Checkpoint(tmp_path / "run", every=1)])
    assert (
        str(caught.value)
        == """\
error[checkpoint]: `callbacks.0.seen.x` of a training is a object, which no file holds
  help: a callback's state_dict has numbers, texts, arrays, and lists, tuples and dicts of them"""
    )


def test_states_are_packed_and_unpacked():
    state = {
        "a": (1, 2.5, "x", None, True),
        "b": {3: [np.arange(3), {"$array": "a"}]},
        "c": np.float64(2),
        "d": [[], (), {}],
    }
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(packed(state, "s", arrays))
    found = unpacked(json.loads(text), arrays)
    assert repr(found) == repr({**state, "c": 2.0})


SCHEDULERS = {
    "StepLR": lambda o, s: s.StepLR(o, 2, 0.5),
    "MultiStepLR": lambda o, s: s.MultiStepLR(o, [1, 3], 0.5),
    "ReduceLROnPlateau": lambda o, s: s.ReduceLROnPlateau(o, factor=0.5, patience=0, cooldown=1),
    "OneCycleLR": lambda o, s: s.OneCycleLR(o, 0.5, total_steps=20),
    "CyclicLR": lambda o, s: s.CyclicLR(o, 0.1, 0.4, 2),
    "CosineAnnealingWarmRestarts": lambda o, s: s.CosineAnnealingWarmRestarts(o, 2, 2),
    "LambdaLR": lambda o, s: s.LambdaLR(o, lambda k: 0.9**k),
    "SequentialLR": lambda o, s: s.SequentialLR(o, [s.ConstantLR(o), s.ExponentialLR(o, 0.5)], [2]),
    "ChainedScheduler": lambda o, s: s.ChainedScheduler([s.LinearLR(o), s.ExponentialLR(o, 0.5)]),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedules_go_on(tmp_path: Path, name: str):
    """Rates of six epochs, stopped in the fourth."""
    path, rates = tmp_path / "run", []
    for stop, resume in ((99, None), (14, None), (99, path)):
        t, seen = trainer(1.0), []
        rate = nn.callbacks.LearningRate(SCHEDULERS[name](t.optimizer, nn.optim.lr_scheduler))
        note = lambda own, epoch, values, seen=seen: seen.append(own.optimizer.lr)  # noqa: E731
        listeners = [rate, Kill(stop), note, nn.callbacks.Checkpoint(path, every=1)]
        try:
            fit(t, listeners[: 4 if stop == 14 else 3], 6, resume=resume)
        except Stop:
            pass
        rates.append(seen)
    assert rates[1] + rates[2] == rates[0] and len(rates[0]) == 6


def test_logs_of_a_training_that_goes_on(tmp_path: Path):
    """Epochs that are made again have one line, and a new measurement gets a column."""
    path, logs = tmp_path / "run", [tmp_path / "log.csv", tmp_path / "log.jsonl"]

    def both() -> list[nn.Callback]:
        return [nn.callbacks.CSVLog(logs[0]), nn.callbacks.JSONLog(logs[1])]

    t = trainer(0.1)
    t.fit(X, Y, epochs=2, batch_size=16, progress=False)
    t.save(path)
    t = trainer(0.1)
    t.fit(X, Y, epochs=5, batch_size=16, progress=False, resume=path, callbacks=both())
    t = trainer(0.1)
    history = fit(t, both(), 4, resume=path)
    rows = logs[0].read_text().splitlines()
    assert (
        rows == history.rows()
        and rows[0] == "epoch,loss,lr,val_loss"
        and rows[1].endswith(",nan")
        and len(rows) == 5
    )
    assert [json.loads(line)["epoch"] for line in logs[1].read_text().splitlines()] == [3, 4]


# Damaged files


def places(value: Any, *path: Any) -> Iterator[tuple]:
    """All places in a tree of lists and dicts."""
    yield path
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(inner, *path, key)


def changed(value: Any, path: tuple, new: Any) -> Any:
    if not path:
        return new
    copied = value.copy()
    copied[path[0]] = changed(value[path[0]], path[1:], new)
    return copied


def test_values_of_other_kinds_are_refused_or_mean_the_same(tmp_path: Path):
    """Whatever stands in a file, it is loaded or a CheckpointError, and then nothing is taken."""
    path, bad = tmp_path / "run", tmp_path / "bad"

    def make() -> tuple[nn.Trainer, list]:
        t = trainer(0.1, precision="f16")
        rate = nn.callbacks.LearningRate(nn.optim.lr_scheduler.MultiStepLR(t.optimizer, [2, 5]))
        return t, [
            rate,
            nn.EarlyStopping("loss", 9, restore_best=True),
            nn.callbacks.Checkpoint(path, monitor="loss"),
        ]

    t, listeners = make()
    fit(t, listeners, 2)
    data = path.read_bytes()
    length = unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    about = json.loads(header["__metadata__"]["texpr"])
    t, listeners = make()
    before, steps, refused = bits(t), t.optimizer.steps, 0
    for place in places(about):
        for new in ("x", None, -1, 2.5, [], {}, True, ["x"], {"x": [None]}):
            header["__metadata__"]["texpr"] = json.dumps(changed(about, place, new))
            text = json.dumps(header).encode()
            bad.write_bytes(pack("<Q", len(text)) + text + data[8 + length :])
            try:
                t._go_on(bad, t_data(about), listeners)
            except tx.CheckpointError:
                refused += 1
                assert (bits(t), t.optimizer.steps) == (before, steps), (place, new)
            else:
                t, listeners = make()
    assert refused > 550


def t_data(about: dict) -> dict[str, int]:
    """The batches that the file is of."""
    return about["run"]["data"]
