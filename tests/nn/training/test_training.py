"""What a training can do besides plain steps: accumulation, 16 bits, going on where it stopped,
loaders, callbacks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr import nn, ops
from texpr.nn.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, random_split

ROOT = Path(__file__).parents[3]
RANDOM = np.random.default_rng(0)
CENTERS = RANDOM.normal(size=(3, 5)) * 2
Y = RANDOM.integers(0, 3, 70)
X = (CENTERS[Y] + RANDOM.normal(size=(70, 5))).astype(np.float32)


def network(dtype: str = "f32") -> nn.Sequential:
    nn.manual_seed(0)
    return nn.Sequential(
        nn.Linear(5, 16, dtype=dtype),
        nn.BatchNorm1d(16, dtype=dtype),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(16, 3, dtype=dtype),
    )


def trainer(dtype: str = "f32", **options) -> nn.Trainer:
    model = network(dtype)
    return nn.Trainer(
        model,
        nn.CrossEntropyLoss(),
        nn.optim.Adam(model.parameters(), lr=0.02),
        metrics=["accuracy"],
        **options,
    )


def complaint(run, kind: type[Exception] = tx.Error) -> str:
    with pytest.raises(kind) as caught:
        run()
    return str(caught.value)


def everything(t: nn.Trainer) -> dict[str, bytes]:
    """All bits of a training."""
    state = {n: v.data.tobytes() for n, v in (*t.model.named_parameters(), *t.model.named_buffers())}
    return state | {n: v.tobytes() for n, v in t.optimizer.state_dict().items() if isinstance(v, np.ndarray)}


# Accumulation


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_accumulated_batches_are_the_large_batch(reduction: str):
    results: list[dict[str, np.ndarray]] = []
    for size, count in ((10, 7), (70, 1)):
        nn.manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 8, dtype="f64"), nn.Tanh(), nn.Linear(8, 3, dtype="f64"))
        optimizer = nn.optim.SGD(model.parameters(), lr=0.05, momentum=0.9).clip_grad_norm_(3.0)
        t = nn.Trainer(model, nn.CrossEntropyLoss(reduction=reduction), optimizer, accumulate=count)
        t.fit(X, Y, epochs=4, batch_size=size, progress=False)
        assert optimizer.steps == 4
        results.append(model.state_dict())
    for name, value in results[0].items():
        np.testing.assert_allclose(value, results[1][name], rtol=1e-12, atol=1e-14, err_msg=name)


def test_what_is_left_of_an_epoch_is_an_update_too():
    steps = []
    t = trainer(accumulate=3)
    listener = nn.Callback()
    listener.on_step_end = lambda trainer, step, values: steps.append((step, trainer.position))  # type: ignore[method-assign]
    t.fit(X, Y, epochs=1, batch_size=16, progress=False, callbacks=[listener])
    assert steps == [(1, 3), (2, 5)] and t.optimizer.steps == 2
    by_hand = nn.TrainingStep(
        network(), nn.CrossEntropyLoss(), nn.optim.SGD(network().parameters()), accumulate=2
    )
    assert by_hand.flush() and by_hand.optimizer.steps == 0


# 16 bits


@pytest.mark.parametrize(
    ("options", "dtype"),
    [({"precision": "bf16"}, "f32"), ({"precision": "f16"}, "f32"), ({}, "bf16"), ({}, "f16")],
)
def test_16_bits_learn_as_well(options: dict, dtype: str):
    model = network(dtype)
    t = nn.Trainer(
        model,
        nn.CrossEntropyLoss(),
        nn.optim.SGD(model.parameters(), lr=0.4, momentum=0.8),
        ["accuracy"],
        **options,
    )
    history = t.fit(X, Y, epochs=8, batch_size=35, progress=False)
    assert history["loss"][-1] < 0.3 * history["loss"][0]
    assert t.evaluate(X, Y)["accuracy"] > 0.9 and t.predict(X).shape == (70, 3)
    assert {str(p.dtype) for p in t.model.parameters()} == {dtype}


def test_steps_that_overflow_are_left_out_and_counted():
    t = trainer(precision="f16", loss_scale=nn.LossScale(2.0**20, growth_interval=3))
    history = t.fit(X, Y, epochs=4, batch_size=35, progress=False)
    scale = t.step.loss_scale
    assert history["skipped"][0] > 0 and sum(history["skipped"]) == scale.skipped < 8
    assert t.optimizer.steps == 8 - scale.skipped and scale.get_scale() < 2.0**20
    assert all(np.isfinite(p.data).all() for p in t.model.parameters())
    bad = X.copy()
    bad[3] = np.nan
    t = trainer(precision="f16")
    assert (
        complaint(lambda: t.fit(bad, Y, epochs=40, batch_size=70, progress=False))
        == """\
error[nan]: gradients overflow f16 even where the loss is scaled by 3.05176e-05
  help: look for NaN in data and parameters, lower the learning rate, or train in bf16 or f32"""
    )
    assert t.optimizer.steps == 0 and all(np.isfinite(p.data).all() for p in t.model.parameters())


def test_the_scale_grows_and_small_gradients_survive():
    scale = nn.LossScale(4.0, growth_interval=2)
    for finite, expected in ((True, 4), (True, 8), (True, 8), (False, 4), (True, 4), (True, 8)):
        scale.update(finite)
        assert scale.get_scale() == expected

    def tiny(output, target):
        return ops.mean_all(output) * 1e-9

    moved = []
    for options in ({}, {"loss_scale": nn.LossScale(1.0)}):
        nn.manual_seed(0)
        model = nn.Linear(4, 1)
        before = model.weight.data.copy()
        step = nn.TrainingStep(
            model, tiny, nn.optim.SGD(model.parameters(), lr=1e9), precision="f16", **options
        )
        step(np.ones((2, 4), np.float32), np.ones((2, 1), np.float32))
        moved.append(before - model.weight.data)
    np.testing.assert_allclose(moved[0], 1, rtol=1e-2)
    assert (moved[1] == 0).all(), "without a scale, the gradients vanish"


def test_precision_is_refused_where_it_has_no_sense():
    assert (
        complaint(lambda: trainer("f64", precision="bf16"))
        == """\
error[dtype]: precision='bf16' is for models of f32, this one is f64
  help: model.float()"""
    )
    assert (
        complaint(lambda: trainer(precision="f8"))
        == "error[arguments]: Trainer: precision is 'f8', expected f32, bf16 or f16"
    )
    assert (
        complaint(lambda: trainer(loss_scale=nn.LossScale()))
        == "error[arguments]: loss_scale is for precision='f16'"
    )


# Going on


class Stop(Exception):
    pass


def stop_after(steps: int) -> nn.Callback:
    listener = nn.Callback()

    def stop(trainer, step, values):
        if step == steps:
            raise Stop

    listener.on_step_end = stop  # type: ignore[method-assign]
    return listener


def parts(t: nn.Trainer, path: Path) -> list[nn.Callback]:
    scheduler = nn.optim.lr_scheduler.MultiStepLR(t.optimizer, milestones=[1, 2], gamma=0.5)
    return [
        nn.EarlyStopping("loss", 9),
        nn.callbacks.LearningRate(scheduler),
        nn.callbacks.Checkpoint(path, every=1),
    ]


@pytest.mark.parametrize(
    ("stop", "options"),
    [(2, {}), (4, {"accumulate": 2}), (8, {"precision": "f16"})],
    ids=["", "accumulated", "f16"],
)
def test_a_training_that_goes_on_is_one_that_never_stopped(tmp_path: Path, options: dict, stop: int):
    whole = trainer(**options)
    path = tmp_path / "whole.safetensors"
    expected = whole.fit(
        X,
        Y,
        epochs=4,
        batch_size=16,
        progress=False,
        validation_data=(X[:9], Y[:9]),
        callbacks=parts(whole, path),
    )
    path = tmp_path / "part.safetensors"
    first = trainer(**options)
    with pytest.raises(Stop):
        first.fit(
            X,
            Y,
            epochs=4,
            batch_size=16,
            progress=False,
            validation_data=(X[:9], Y[:9]),
            callbacks=[*parts(first, path), stop_after(stop)],
        )
    nn.manual_seed(77)
    model = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
    second = nn.Trainer(
        model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters(), lr=0.5), ["accuracy"], **options
    )
    history = second.fit(
        X,
        Y,
        epochs=4,
        batch_size=16,
        progress=False,
        validation_data=(X[:9], Y[:9]),
        callbacks=[*parts(second, path), nn.Callback()],
        resume=path,
    )
    assert (
        history == expected
        and everything(second) == everything(whole)
        and second.optimizer.lr == whole.optimizer.lr
    )
    again = second.fit(
        X,
        Y,
        epochs=4,
        batch_size=16,
        progress=False,
        callbacks=[*parts(second, path), nn.Callback()],
        resume=path,
    )
    assert again == expected and everything(second) == everything(whole), "all epochs are done"


KILLED = """
import sys
import numpy as np
from texpr import nn
from tests.nn.training.test_training import X, Y, trainer
listener = nn.Callback()
listener.on_step_end = lambda trainer, step, values: print("step", flush=True)
trainer().fit(X, Y, epochs=500, batch_size=16, progress=False, callbacks=[nn.callbacks.Checkpoint(sys.argv[1], every=1), listener])
"""


def test_a_training_that_is_killed_goes_on(tmp_path: Path):
    path = tmp_path / "run.safetensors"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    for _ in range(7):
        assert process.stdout.readline() == b"step\n"
    process.kill()
    process.wait()
    killed, whole = trainer(), trainer()
    killed.load(path)
    epochs = killed.epoch + 1
    assert killed.optimizer.steps >= 6
    rest = killed.fit(
        X,
        Y,
        epochs=epochs,
        batch_size=16,
        progress=False,
        callbacks=[nn.callbacks.Checkpoint(path), nn.Callback()],
    )
    assert rest == whole.fit(X, Y, epochs=epochs, batch_size=16, progress=False) and everything(
        killed
    ) == everything(whole)


def test_files_of_other_trainings(tmp_path: Path):
    path = tmp_path / "run.safetensors"
    t = trainer()
    t.fit(X, Y, epochs=1, progress=False)
    t.save(path)
    model = nn.Linear(5, 3)
    other = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters()))
    before = model.state_dict()
    text = complaint(lambda: other.load(path))
    start = "is of another training\n    missing: weight\n    missing: bias\n    unexpected: 0.bias"
    assert text.startswith(f"error[checkpoint]: {path} {start}")
    assert text.endswith("the optimizer is Adam, expected SGD")
    assert all((before[n] == v).all() for n, v in model.state_dict().items())
    nn.save(t.model, path)
    assert (
        complaint(lambda: t.load(path))
        == f"""\
error[checkpoint]: {path} holds arrays, but no state of a training
  help: nn.load reads weights"""
    )
    t.save(path)
    step = nn.TrainingStep(t.model, t.loss, t.optimizer, accumulate=2)
    step(X[:4], Y[:4])
    t.step = step
    assert complaint(lambda: t.save(path)).startswith(
        "error[training]: gradients of 1 batches were added up and not used yet"
    )


def test_every_cut_of_a_training_is_noticed(tmp_path: Path):
    t, path = trainer(), tmp_path / "run.safetensors"
    t.fit(X, Y, epochs=1, progress=False)
    t.save(path)
    data, before = path.read_bytes(), everything(t)
    for end in range(0, len(data), 211):
        path.write_bytes(data[:end])
        with pytest.raises(tx.CheckpointError):
            t.load(path)
    assert everything(t) == before
    path.write_bytes(data.replace(b'\\"epoch\\": 1', b'\\"epoch\\": -'))
    with pytest.raises(tx.CheckpointError):
        t.load(path)


# Loaders


def test_loaders_give_every_example_once():
    data = TensorDataset(X, Y)
    for workers in (0, 3):
        loader = DataLoader(data, batch_size=16, shuffle=True, num_workers=workers, seed=5)
        first, second = [[y for _, y in loader] for _ in range(2)]
        assert [len(b) for b in first] == [16, 16, 16, 16, 6] and len(loader) == 5
        assert sorted(np.concatenate(first)) == sorted(Y) and not np.array_equal(
            np.concatenate(first), np.concatenate(second)
        )
        assert [len(x) for x, _ in DataLoader(data, 16, drop_last=True, num_workers=workers)] == [16] * 4
        np.testing.assert_array_equal(
            np.concatenate([x for x, _ in DataLoader(data, 9, num_workers=workers)]), X
        )


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_goes_on_in_the_middle(workers: int):
    def make() -> DataLoader:
        return DataLoader(TensorDataset(X), 16, shuffle=True, num_workers=workers, seed=3)

    whole = [b[0] for _ in range(2) for b in make_all(make)]
    loader, seen = make(), []
    for batch in loader:
        seen.append(batch[0])
        if len(seen) == 2:
            break
    other = make()
    other.load_state_dict(json.loads(json.dumps(loader.state_dict())))
    seen += [b[0] for b in other]
    for a, b in zip(seen, whole, strict=False):
        np.testing.assert_array_equal(a, b)
    assert len(seen) == 5 and other.epoch == 1
    again = [b[0] for b in loader]
    assert len(again) == 5 and not np.array_equal(again[0], whole[0]), "an iteration that was left is over"


def make_all(make) -> list:
    loader = make()
    return [*loader, *loader]


class Words(Dataset):
    """Examples that are made one by one; one of them may fail."""

    def __init__(self, bad: int = -1) -> None:
        self.bad, self.threads = bad, set()

    def __len__(self) -> int:
        return 20

    def __getitem__(self, index: int):
        self.threads.add(threading.current_thread().name)
        if index == self.bad:
            raise ValueError(f"example {index} is broken")
        return {"x": np.full(3, index, np.float32), "y": index % 3}


def test_loaders_of_examples_and_their_errors():
    data = Words()
    batches = list(DataLoader(data, 8, num_workers=2))
    assert [b["x"].shape for b in batches] == [(8, 3), (8, 3), (4, 3)] and batches[1]["y"].tolist() == [
        k % 3 for k in range(8, 16)
    ]
    assert all(name.startswith("texpr-loader") for name in data.threads)
    with pytest.raises(ValueError, match="example 11 is broken") as caught:
        list(DataLoader(Words(bad=11), 8, num_workers=2))
    assert any(entry.name == "__getitem__" for entry in caught.traceback)
    assert complaint(lambda: DataLoader(3)).startswith(
        "error[data]: DataLoader: int has no length or no examples by number"
    )  # type: ignore[arg-type]
    ragged = [np.ones(2), np.ones(3)]
    assert (
        complaint(lambda: next(iter(DataLoader(ragged, 2))))
        == """\
error[data]: examples cannot be stacked: float64[2], float64[3]
  help: give collate_fn, or pad them"""
    )
    assert len(next(iter(DataLoader(ragged, 2, collate_fn=list)))) == 2
    assert (
        complaint(lambda: DataLoader(Words(), 4).load_state_dict({**DataLoader(Words(), 5).state_dict()}))
        == "error[checkpoint]: the loader was saved with batch_size 5, and has 4"
    )


def test_parts_of_data_sets():
    data = TensorDataset(X, Y)
    split = random_split(data, [0.5, 0.25, 0.25], seed=1)
    assert [len(p) for p in split] == [36, 17, 17] and sorted(k for p in split for k in p.indices) == list(
        range(70)
    )
    both = ConcatDataset([Subset(data, [3, 1]), data])
    assert len(both) == 72 and both[1][1] == Y[1] and both[2][1] == Y[0] and both[-1][1] == Y[-1]
    assert complaint(lambda: Subset(data, [70])) == "error[data]: Subset: an index is outside of 0 to 69"
    assert (
        complaint(lambda: TensorDataset(X, Y[:3]))
        == "error[data]: TensorDataset: the arrays have shapes [70, 5], [3], expected equal lengths of axis 0"
    )
    assert (
        complaint(lambda: random_split(data, [3, 4]))
        == "error[data]: random_split: lengths [3, 4] do not add up to 70, or to 1"
    )


def test_fit_takes_loaders():
    by_array, by_loader, by_list = trainer(), trainer(), trainer()
    expected = by_array.fit(X, Y, epochs=3, batch_size=16, progress=False)
    loader = DataLoader(TensorDataset(X, Y), 16, shuffle=True, num_workers=2)
    assert (
        by_loader.fit(loader, epochs=3, progress=False, validation_data=loader)["loss"] == expected["loss"]
    ), "validation takes no epoch"
    assert by_loader.evaluate(DataLoader(TensorDataset(X, Y), 16)) == by_array.evaluate(X, Y)
    by_list.fit([(X[:32], Y[:32]), (X[32:], Y[32:])], epochs=2, progress=False)
    assert by_list.optimizer.steps == 4
    t = trainer()
    assert complaint(lambda: t.fit(X, epochs=1)).startswith(
        "error[data]: there are no targets, and x is a ndarray, expected a loader"
    )
    assert complaint(lambda: t.fit(iter([(X, Y)]))).startswith(
        "error[data]: there are no targets, and x is a list_iterator"
    )
    assert (
        complaint(lambda: t.fit([(X, Y, Y, Y)]))
        == "error[data]: a batch is a tuple of 4, expected a pair of examples and targets\n"
        "  help: give (x, y), or (x, y, weights of the examples)"
    )
    assert complaint(lambda: t.fit([], progress=False)).startswith("error[data]: the data have no batches")
    bad = Y.copy()
    bad[9] = 5
    assert complaint(lambda: t.fit([(X, Y), (X, bad)], progress=False)).startswith(
        "error[data]: the label y[9] is 5, expected 0 to 2"
    )


def test_a_step_by_hand_names_bad_labels():
    model = network()
    step = nn.TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters(), lr=0.1))
    bad = Y.copy()
    bad[4] = -1
    assert (
        complaint(lambda: step(X, bad))
        == """\
error[data]: the label y[4] is -1, expected 0 to 2
    1 of 70 labels are out of range; the model has 3 outputs
  help: nn.CrossEntropyLoss(ignore_index=-1), if labels of -1 do not count"""
    )


# Callbacks


def test_logs_and_pictures(tmp_path: Path):
    t = trainer()
    listeners = [
        nn.callbacks.CSVLog(tmp_path / "log.csv"),
        nn.callbacks.JSONLog(tmp_path / "log.jsonl"),
        nn.callbacks.Plot(tmp_path / "curves.png"),
    ]
    history = t.fit(X, Y, epochs=2, progress=False, validation_data=(X, Y), callbacks=listeners)
    rows = (tmp_path / "log.csv").read_text().splitlines()
    assert rows[0] == "epoch,loss,accuracy,val_loss,val_accuracy,lr" and rows[2].split(",")[:2] == [
        "2",
        repr(history["loss"][1]),
    ]
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert (
        [line["epoch"] for line in lines] == [1, 2]
        and lines[1]["val_loss"] == history["val_loss"][1]
        and lines[0]["lr"] == 0.02
    )
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert [axes.get_title() for axes in history.plot().axes] == ["loss", "accuracy", "lr"]
    assert sorted(os.listdir(tmp_path)) == ["curves.png", "log.csv", "log.jsonl"]


def test_the_best_model_is_kept(tmp_path: Path):
    model = nn.Linear(2, 1)
    seen: list[np.ndarray] = []
    losses = iter([3.0, 1.0, 2.0, 2.5, 0.1])

    def metric(outputs, targets):
        return next(losses)

    t = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1), [metric])
    x, y = np.ones((4, 2), np.float32), np.zeros((4, 1), np.float32)
    best = nn.callbacks.Checkpoint(tmp_path / "best.safetensors", monitor="metric")
    history = t.fit(
        x,
        y,
        epochs=5,
        progress=False,
        callbacks=[
            lambda trainer, epoch, values: seen.append(model.weight.data.copy()),
            nn.EarlyStopping("metric", 2, restore_best=True),
            best,
        ],
    )
    assert history["metric"] == [3.0, 1.0, 2.0, 2.5]
    np.testing.assert_array_equal(model.weight.data, seen[1])
    other = nn.Linear(2, 1)
    nn.Trainer(other, nn.MSELoss(), nn.optim.SGD(other.parameters(), lr=0.1)).load(
        tmp_path / "best.safetensors"
    )
    np.testing.assert_array_equal(other.weight.data, seen[1])


def test_exceptions_in_callbacks_end_the_training_cleanly(tmp_path: Path):
    t = trainer()
    log = nn.callbacks.CSVLog(tmp_path / "log.csv")

    def broken(trainer, epoch, values):
        if epoch == 1:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        t.fit(X, Y, epochs=5, progress=False, callbacks=[log, broken])
    assert log._file is None and t.history.epochs == 2 and t.optimizer.steps == 6
    t.fit(X, Y, epochs=1, progress=False)
    assert (
        complaint(lambda: t.fit(X, Y, callbacks=[nn.EarlyStopping]))
        == f"""\
error[arguments]: a callback is {nn.EarlyStopping!r}, expected a function of the trainer, the epoch and the measurements, or an nn.Callback
  help: make one: EarlyStopping(...)"""
    )


def test_schedules_by_step():
    t = trainer()
    scheduler = nn.optim.lr_scheduler.StepLR(t.optimizer, step_size=1, gamma=0.5)
    t.fit(
        X,
        Y,
        epochs=1,
        batch_size=35,
        progress=False,
        callbacks=[nn.callbacks.LearningRate(scheduler, every="step")],
    )
    assert t.optimizer.lr == 0.02 / 4


def test_tensorboard_is_asked_for(tmp_path: Path):
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        assert (
            complaint(lambda: nn.callbacks.TensorBoard(tmp_path), ImportError)
            == 'error[import]: writing for TensorBoard needs tensorboard\n  help: pip install "texpr[board]"'
        )
        return
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    history = trainer().fit(
        X, Y, epochs=2, progress=False, callbacks=[nn.callbacks.TensorBoard(tmp_path, every=1)]
    )
    read = EventAccumulator(str(tmp_path)).Reload()
    np.testing.assert_allclose([e.value for e in read.Scalars("epoch/loss")], history["loss"], rtol=1e-6)
    assert len(read.Scalars("step/loss")) == 6
