"""What nobody should do with networks and trainings: an error that says so, never a wrong
number, a hang or a crash.
"""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr import nn

X = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
Y = np.arange(8) % 3


def network() -> nn.Sequential:
    nn.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))


def trainer(**options) -> nn.Trainer:
    model = network()
    return nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters()), **options)


def complaint(run, kind: type[Exception] = tx.Error) -> str:
    with pytest.raises(kind) as caught:
        run()
    return str(caught.value)


def contains_itself():
    model = nn.Sequential(nn.Linear(4, 4))
    model.append(nn.Sequential(nn.ReLU(), model))


def another_fit(t: nn.Trainer, epoch: int, values: object):
    t.fit(X, Y, progress=False)


def resumed(x: np.ndarray, y: np.ndarray, folder: Path):
    t = trainer()
    t.fit(X, Y, progress=False)
    t.save(folder / "run.safetensors")
    t.fit(x, y, epochs=3, progress=False, resume=folder / "run.safetensors")


def step() -> nn.TrainingStep:
    model = network()
    return nn.TrainingStep(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters()))


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (
            lambda folder: network()([[1, 2], [3]]),
            "error[type]: an argument is no array: setting an array element with a sequence.",
        ),
        (
            lambda folder: network().load_state_dict(None),
            "error[checkpoint]: state_dict is a NoneType, expected arrays by name",
        ),
        (
            lambda folder: network().load_state_dict({**network().state_dict(), 3: X}),
            "error[checkpoint]: state_dict is a dict, expected",
        ),
        (
            lambda folder: contains_itself(),
            "error[module]: `1` of Sequential would contain it\n  help: modules are trees, or share parts",
        ),
        (
            lambda folder: trainer(metrics=[lambda o, t: o]).fit(X, Y, progress=False),
            "error[metric]: the metric `<lambda>` gives a ndarray",
        ),
        (
            lambda folder: step()(X, Y.astype(np.float32)),
            "error[data]: the labels are float32, expected integers",
        ),
        (
            lambda folder: resumed(X[:3], Y[:3], folder),
            "error[checkpoint]: the training was saved with batches of examples 8, batch_size 32",
        ),
        (
            lambda folder: trainer().fit(X, Y, epochs=2, progress=False, callbacks=[another_fit]),
            "error[training]: fit is called while it runs",
        ),
        (
            lambda folder: nn.CrossEntropyLoss()(network()(tx.tensor(X)), tx.tensor(Y - 1)),
            "error[data]: the label y[0] is -1, expected 0 to 2",
        ),
    ],
)
def test_complaints(run, text: str, tmp_path: Path):
    assert complaint(lambda: run(tmp_path)).startswith(text)


def test_only_files_are_replaced(tmp_path: Path):
    text = complaint(lambda: nn.save(network(), tmp_path), OSError)
    assert "it is there, and no file that can be replaced" in text and tmp_path.is_dir()
    assert not [p for p in tmp_path.parent.iterdir() if p.name.startswith(f".{tmp_path.name}")]


def test_a_step_takes_integers_of_any_width():
    assert step()(X, Y.astype(np.int32)) == step()(X, Y.astype(np.uint8)) == step()(X, Y)


def test_a_training_is_copied_and_pickled_with_its_state():
    for accumulate in (1, 2):
        t = trainer(accumulate=accumulate)
        t.fit(X, Y, epochs=2, batch_size=4, progress=False)
        others = copy.deepcopy(t), pickle.loads(pickle.dumps(t))
        expected = t.fit(X, Y, batch_size=4, progress=False)
        for other in others:
            assert other.optimizer.param_groups[0]["params"][0] is next(other.model.parameters())
            assert other.fit(X, Y, batch_size=4, progress=False) == expected
            for p, q in zip(t.model.parameters(), other.model.parameters()):
                np.testing.assert_array_equal(p.data, q.data)


def test_nothing_to_train_is_said():
    t = trainer()
    t.model.requires_grad_(False)
    with pytest.warns(UserWarning, match="all parameters of the optimizer are frozen: nothing is trained"):
        t.fit(X, Y, progress=False)


def test_modules_that_are_exchanged_after_they_were_called():
    model = network()
    before = model(X)
    model[1] = nn.Tanh()
    assert not (model(X) == before).any()
    model[2] = nn.Linear(5, 7)
    assert model(X).shape == (8, 7)


@pytest.mark.parametrize(
    ("name", "place"),
    [("Checkpoint", "callbacks are in nn.callbacks"), ("F", "from texpr.nn import functional as F")],
)
def test_names_that_are_elsewhere(name: str, place: str):
    with pytest.raises(AttributeError, match=place):
        getattr(nn, name)


def test_a_path_is_no_template():
    with pytest.raises(tx.CallError) as caught:
        nn.callbacks.Checkpoint("m-{epoch}.safetensors")
    assert (
        str(caught.value)
        == """\
error[arguments]: Checkpoint: the path m-{epoch}.safetensors is not filled in: it is one file
  help: Checkpoint("run.safetensors", keep=3) keeps files of epochs: run-0007.safetensors"""
    )
