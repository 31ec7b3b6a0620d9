"""Weights of examples and classes, a share for validation, checkpoints that are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.utils.class_weight import compute_class_weight

import texpr as tx
from texpr import nn

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(30, 4)).astype("f4")
Y = RANDOM.integers(0, 3, 30)
W = RANDOM.random(30)
CE = nn.CrossEntropyLoss


def trainer(loss: nn.Loss | None = None, outputs: int = 3, **options: object) -> nn.Trainer:
    nn.manual_seed(0)
    model = nn.Linear(4, outputs)
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1)
    return nn.Trainer(model, CE() if loss is None else loss, optimizer, **options)  # type: ignore[arg-type]


def fitted(t: nn.Trainer, y: np.ndarray = Y, **options: object) -> np.ndarray:
    t.fit(X, y, epochs=2, batch_size=16, progress=False, **options)  # type: ignore[arg-type]
    return t.model.state_dict()["weight"]


def complaint(run: Callable[[], object]) -> str:
    with pytest.raises(tx.CallError) as caught:
        run()
    return str(caught.value)


def test_a_mean_divides_by_the_sum_of_the_weights():
    t = trainer()
    probabilities = np.exp(t.predict(X).astype(float))
    probabilities /= probabilities.sum(1, keepdims=True)
    wanted = log_loss(Y, probabilities, sample_weight=W)
    assert t.evaluate(X, Y, 7, sample_weight=W)["loss"] == pytest.approx(wanted, rel=1e-5)
    assert t.evaluate([(X[:9], Y[:9], W[:9]), (X[9:], Y[9:], W[9:])])["loss"] == pytest.approx(
        wanted, rel=1e-5
    )


def test_an_example_of_weight_2_counts_like_two():
    twice = np.concatenate([X, X[:5]]), np.concatenate([Y, Y[:5]])
    weights = np.where(np.arange(30) < 5, 2.0, 1.0)
    one, other = trainer(), trainer()
    one.fit(X, Y, batch_size=64, progress=False, sample_weight=weights)
    other.fit(*twice, batch_size=64, progress=False)
    for name, value in one.model.state_dict().items():
        assert np.allclose(value, other.model.state_dict()[name], atol=1e-6)


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        (nn.MSELoss(), RANDOM.normal(size=(30, 3))),
        (nn.BCEWithLogitsLoss(), RANDOM.integers(0, 2, (30, 3))),
        (nn.CrossEntropyLoss(label_smoothing=0.1), np.where(Y == 2, -100, Y)),
        (nn.CrossEntropyLoss(), np.full((30, 3), 1 / 3)),
        (nn.MultiMarginLoss(), Y),
        (nn.KLDivLoss("batchmean"), np.full((30, 3), 1 / 3)),
    ],
)
def test_equal_weights_change_nothing(loss: nn.Loss, y: np.ndarray):
    ones = trainer(loss).evaluate(X, y, 30, sample_weight=np.full(30, 0.5))
    assert ones["loss"] == pytest.approx(trainer(loss).evaluate(X, y, 30)["loss"], rel=1e-5)


def test_sums_are_weighed():
    loss = nn.MSELoss(reduction="sum")
    target = np.zeros((30, 3))
    t = trainer(loss)
    wanted = (W[:, None] * t.predict(X).astype(float) ** 2).sum()
    assert t.evaluate(X, target, sample_weight=W)["loss"] == pytest.approx(wanted, rel=1e-5)


def test_weights_of_classes():
    weights = [1.0, 2.0, 0.5]
    wanted = fitted(trainer(CE(weights)))
    assert np.allclose(fitted(trainer(), class_weight=weights), wanted, atol=1e-6)
    assert np.allclose(fitted(trainer(), class_weight=dict(enumerate(weights))), wanted, atol=1e-6)
    balanced = compute_class_weight("balanced", classes=np.arange(3), y=Y)
    wanted = fitted(trainer(), class_weight=balanced)
    assert np.allclose(fitted(trainer(), class_weight="balanced"), wanted, atol=1e-6)
    loader = [(X[:16], Y[:16]), (X[16:], Y[16:])]
    t, other = trainer(), trainer(CE(weights))
    t.fit(loader, progress=False, class_weight=weights)
    other.fit(loader, progress=False)
    assert np.allclose(t.model.weight.data, other.model.weight.data, atol=1e-6)
    binary = (Y > 0).astype("f4")[:, None]
    positive = nn.BCEWithLogitsLoss(reduction="sum", pos_weight=[3.0])
    found = trainer(nn.BCEWithLogitsLoss(reduction="sum"), 1)
    assert np.allclose(
        fitted(found, binary, class_weight={0: 1.0, 1: 3.0}), fitted(trainer(positive, 1), binary), atol=1e-5
    )


def test_weights_that_mean_nothing():
    t = trainer()
    refusals = {
        "sample_weight has 29 weights for 30 examples": {"sample_weight": W[:29]},
        "sample_weight has a weight that is no finite number of at least 0\n"
        "  help: weight 0 leaves an example out": {"sample_weight": -W},
        "class_weight has no weight of class 2\n  help: it has those of 0, 1": {"class_weight": [1.0, 2.0]},
        "class_weight is 'even', expected 'balanced', a dict or an array": {"class_weight": "even"},
        "validation_split=0.01 of 30 examples leaves 0 for validation\n  help: both parts need an example": {
            "validation_split": 0.01
        },
        "fit has both validation_data and validation_split": {
            "validation_split": 0.5,
            "validation_data": (X, Y),
        },
    }
    for message, options in refusals.items():
        text = complaint(lambda options=options: t.fit(X, Y, progress=False, **options))
        assert text.split("]: ", 1)[1] == message
    regression = trainer(nn.MSELoss())
    assert complaint(lambda: regression.fit(X, np.ones((30, 3)), progress=False, class_weight=[1.0])) == (
        "error[arguments]: class_weight: the targets of MSELoss are no class numbers\n"
        "  help: pass sample_weight, a weight for each example"
    )
    own = trainer()
    own.step.loss = own.loss = lambda o, t: CE()(o, t)
    assert complaint(lambda: own.fit(X, Y, progress=False, sample_weight=W)) == (
        "error[arguments]: <lambda> does not say the loss of each example, which weights want\n"
        "  help: make it a subclass of nn.Loss with `each`"
    )


def test_a_share_for_validation():
    t = trainer()
    history = t.fit(X, Y, epochs=2, progress=False, validation_split=0.2, batch_size=24)
    assert "val_loss" in history and t.optimizer.steps == 2
    again = trainer().fit(X, Y, epochs=2, progress=False, validation_split=0.2, batch_size=24)
    assert again == history


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_checkpoints_that_are_kept(tmp_path: Path):
    values = iter([5.0, 1.0, 4.0, 2.0, 3.0])

    class Given(nn.Callback):
        def on_epoch_end(self, trainer: object, epoch: int, measured: dict) -> None:
            measured["given"] = next(values)

    best = nn.callbacks.Checkpoint(tmp_path / "best" / "run.safetensors", monitor="given", keep=2)
    newest = nn.callbacks.Checkpoint(tmp_path / "new" / "run.safetensors", keep=2)
    for folder in ("best", "new"):
        (tmp_path / folder).mkdir()
    t = trainer()
    t.fit(X, Y, epochs=3, progress=False, callbacks=[Given(), best, newest])
    assert files(tmp_path / "best") == ["run-0002.safetensors", "run-0003.safetensors", "run.safetensors"]
    other = trainer()
    best, newest = (
        nn.callbacks.Checkpoint(best.path, monitor="given", keep=2),
        nn.callbacks.Checkpoint(newest.path, keep=2),
    )
    other.fit(X, Y, epochs=5, progress=False, callbacks=[Given(), best, newest], resume=newest.path)
    assert files(tmp_path / "new") == ["run-0004.safetensors", "run-0005.safetensors", "run.safetensors"]
    assert files(tmp_path / "best") == ["run-0002.safetensors", "run-0004.safetensors", "run.safetensors"]
    fourth = trainer()
    fourth.load(best.file(4))
    assert fourth.epoch == 4


def test_rates_and_times_are_noted(capsys: pytest.CaptureFixture[str]):
    t = trainer()
    schedule = nn.callbacks.LearningRate(nn.optim.lr_scheduler.ExponentialLR(t.optimizer, 0.5))
    history = t.fit(X, Y, epochs=3, callbacks=[schedule])
    assert history["lr"] == [0.1, 0.05, 0.025]
    assert len(history.seconds) == 3 and all(n > 0 for n in history.samples_per_second)
    lines = capsys.readouterr().out.splitlines()
    assert "lr 0.05" in lines[1] and "samples/s" in lines[1] and "ETA" in lines[1] and "ETA" not in lines[2]
