"""Weights of batches: means, metrics and gradients are those of one batch of all examples;
updates that are left out are none.
"""

from __future__ import annotations

from functools import partial
from math import isnan, nan

import numpy as np
import pytest

import texpr as tx
from texpr import nn, ops
from texpr.graph import Capture, Symbolic
from texpr.ir.dtypes import F64, I64, DType
from texpr.nn.metrics import Accuracy
from texpr.nn.training.loss_divisor import divisor_of
from texpr.nn.training.measurements import Averages, Measurements

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(24, 5))
LABELS = RANDOM.integers(0, 4, 24)
LABELS[:9] = -100
TARGETS = RANDOM.random((24, 4))
WEIGHT = np.array([0.5, 2.0, 0.0, 1.5])


def complaint(run) -> str:
    with pytest.raises(tx.Error) as caught:
        run()
    return str(caught.value)


class Cubic(nn.Loss):
    def each(self, input, target):
        return abs((input - target) * (input - target) * (input - target))


def rows(output, target):
    """The mean over the examples of a sum over their elements."""
    return ((output - target) * (output - target)).sum(axis=1).mean()


def masked(output, target):
    """The mean over the elements whose target is above 1/2, written by hand."""
    mask = (target > 0.5).astype("f64")
    return 2 * ((output - target) * (output - target) * mask).sum() / mask.sum().maximum(1.0)


# (loss, targets, number, True if the number is computed from data, True if it is a sum); 24
# examples of 4 outputs
DIVISORS = [
    (nn.CrossEntropyLoss(), LABELS, None, True, False),
    (nn.NLLLoss(WEIGHT), LABELS, None, True, False),
    (lambda o, t: 0.5 * nn.CrossEntropyLoss(WEIGHT)(o, t) + 3, LABELS, None, True, False),
    (nn.CrossEntropyLoss(reduction="sum"), LABELS, 1, False, True),
    (lambda o, t: ops.sum_all(o * t) / 2, TARGETS, 1, False, True),
    (nn.CrossEntropyLoss(), TARGETS, 24, False, False),
    (nn.MSELoss(), TARGETS, 96, False, False),
    (Cubic(), TARGETS, 96, False, False),
    (nn.BCEWithLogitsLoss(WEIGHT), TARGETS, 96, False, False),
    (nn.KLDivLoss("batchmean"), TARGETS, 24, False, False),
    (nn.MultiMarginLoss(), np.abs(LABELS) % 4, 24, False, False),
    (rows, TARGETS, 24, False, False),
    (masked, TARGETS, None, True, False),
    (lambda o, t: ((o - t) * (o - t)).mean(axis=0).sum(), TARGETS, 24, False, False),
    (lambda o, t: ((o - t) * (o - t)).sum(axis=0).mean(), TARGETS, 1, False, True),
    (lambda o, t: 1 - 2 * (o * t).sum() / (o.sum() + t.sum()), TARGETS, 24, False, False),
    (lambda o, t: (o * t).max(), TARGETS, 24, False, False),
]


@pytest.mark.parametrize("row", DIVISORS, ids=map(str, range(len(DIVISORS))))
def test_the_number_that_a_loss_divides_by_is_found_in_its_program(row):
    loss, targets, number, of_data, is_sum = row
    capture = Capture("loss")
    dtype: DType = I64 if targets.dtype.kind == "i" else F64
    x, y = capture.input("x", X.shape, F64), capture.input("y", targets.shape, dtype)
    with capture:
        found = divisor_of(loss(nn.Linear(5, 4, dtype="f64")(x), y), 24)
    assert (found.tensor is not None, found.is_sum) == (of_data, is_sum)
    assert of_data or found.number == number


def test_a_penalty_of_the_parameters_does_not_count():
    capture = Capture("loss")
    layer = nn.Linear(5, 4)
    x, y = capture.input("x", (6, 5), layer.weight.dtype), capture.input("y", (6,), I64)
    with capture:
        penalty = ops.sum_square(Symbolic(capture.variable(layer.weight).tensor, capture), count=2)
        found = divisor_of(nn.CrossEntropyLoss()(layer(x), y) + penalty * 0.1, 6)
    assert found.tensor is not None


LOSSES = [
    nn.CrossEntropyLoss(),
    nn.CrossEntropyLoss(WEIGHT, label_smoothing=0.1),
    nn.CrossEntropyLoss(ignore_index=2, reduction="sum"),
    lambda o, t: nn.CrossEntropyLoss()(o, t) * 2,
    masked,
]


@pytest.mark.parametrize("loss", LOSSES, ids=map(str, range(len(LOSSES))))
def test_accumulated_batches_are_the_large_batch(loss):
    """24 examples in one batch, and in 4 of 7, 7, 7 and 3: the first one has no label that
    counts.
    """
    labels = np.where(LABELS < 0, 2, LABELS) if getattr(loss, "ignore_index", -100) == 2 else LABELS
    targets, found = TARGETS if loss is masked else labels, []
    for count, size in ((1, 24), (4, 7)):
        nn.manual_seed(0)
        model = nn.Linear(5, 4, dtype="f64")
        t = nn.Trainer(
            model,
            loss,
            nn.optim.SGD(model.parameters(), lr=0.1),
            [] if loss is masked else ["accuracy"],
            accumulate=count,
        )
        history = t.fit(X, targets, epochs=2, batch_size=size, shuffle=False, progress=False)
        assert t.optimizer.steps == 2
        measured = [*history.values(), *t.evaluate(X, targets).values()]
        found.append([*map(np.array, measured), *model.state_dict().values()])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_sequences_of_several_lengths_count_by_their_elements():
    """Batches of 2 x 3 and 2 x 9 numbers: the mean is over 24 numbers."""
    batches = [(RANDOM.normal(size=(2, n)), RANDOM.normal(size=(2, n))) for n in (3, 9)]

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(np.float64(2))

        def forward(self, x):
            return x * x.capture.variable(self.w)

    def far(outputs: np.ndarray, targets: np.ndarray) -> float:
        return float(np.mean(np.abs(outputs - targets)))

    model = Twice()
    t = nn.Trainer(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.0), [far])
    each = np.concatenate([(2 * x - y).ravel() for x, y in batches])
    expected = {"loss": (each**2).mean(), "far": np.abs(each).mean()}
    assert t.evaluate(batches) == pytest.approx(expected, rel=1e-12)
    history = t.fit(batches, progress=False)
    assert {n: history[n][0] for n in expected} == pytest.approx(expected, rel=1e-12)


def test_batches_of_nothing():
    """All labels of all batches of an update are ignored: there is no update."""
    y = np.full(24, -100)
    none = "no target of the batches of step 1 (epoch 1) counts"
    for options, error in (
        ({}, none),
        ({"accumulate": 2}, none),
        ({"accumulate": 5}, none),
        ({"accumulate": 2, "on_nan": "skip"}, ""),
    ):
        nn.manual_seed(0)
        model = nn.Linear(5, 4, dtype="f64")
        before = model.state_dict()
        t = nn.Trainer(
            model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters()), ["accuracy"], **options
        )
        if error:
            assert complaint(partial(t.fit, X, y, batch_size=8, progress=False)).startswith(
                f"error[nan]: {error}"
            )
        else:
            history = t.fit(X, y, batch_size=8, progress=False)
            assert list(history) == ["loss", "accuracy", "lr"] and isnan(
                history["loss"][0] + history["accuracy"][0]
            )
        assert t.optimizer.steps == 0 and all((before[n] == a).all() for n, a in model.state_dict().items())
    assert all(map(isnan, t.evaluate(X, y).values()))


def test_means_of_nothing_are_nan():
    means = Averages()
    means.add("loss", nan, 0)
    values = Measurements(means).values({"far": len})
    assert list(values) == ["loss", "far"] and all(map(isnan, values.values()))
    means.add("loss", 3.0, 2)
    means.add("loss", 6.0, 4)
    means.add_sum("far", 5.0)
    means.add_sum("far", 7.0)
    assert means.means() == {"loss": 5.0, "far": 12.0} == Averages.of(means.state_dict()).means()


# Accuracy

LOGITS = np.array([[0.1, 2.0, -1.0], [3.0, 0.0, 1.0], [0.5, 0.4, 0.6], [0.0, 1.0, 9.0]])


def of_places(classes: int, *places: int) -> tuple[np.ndarray, np.ndarray]:
    outputs = RANDOM.normal(size=(6, classes, *places))
    targets = outputs.argmax(1)
    targets[:3] = (targets[:3] + 1) % classes
    return outputs, targets


@pytest.mark.parametrize(
    ("loss", "outputs", "targets", "share", "count"),
    [
        (nn.CrossEntropyLoss(), LOGITS, np.array([1, 0, 0, 2]), 0.75, 4),
        (nn.CrossEntropyLoss(), LOGITS, np.array([1, -100, 0, -100]), 0.5, 2),
        (nn.CrossEntropyLoss(ignore_index=1), LOGITS, np.array([1, 0, 0, 2]), 2 / 3, 3),
        (nn.CrossEntropyLoss(), LOGITS, np.eye(3)[[1, 0, 0, 2]], 0.75, 4),
        (nn.CrossEntropyLoss(), *of_places(4, 5), 0.5, 30),
        (nn.CrossEntropyLoss(), *of_places(5, 5), 0.5, 30),
        (nn.NLLLoss(), *of_places(3, 4, 3), 0.5, 72),
        (nn.CrossEntropyLoss(), *of_places(4, 4, 4), 0.5, 96),
        (lambda o, t: o, np.moveaxis(of_places(4, 5)[0], 1, 2), np.zeros((6, 5), int), None, 30),
        (lambda o, t: o, LOGITS, np.array([1, -100, 0, -100]), 0.5, 2),
        (nn.BCEWithLogitsLoss(), LOGITS[:, :1] - 0.3, np.array([[0.0], [1], [0], [0]]), 0.75, 4),
        (nn.BCEWithLogitsLoss(), LOGITS[:, 0] - 0.3, np.array([0, 1, 0, 0]), 0.75, 4),
        (nn.BCELoss(), np.array([[0.4], [0.6], [0.7]]), np.array([[0.0], [1], [0]]), 2 / 3, 3),
        (nn.BCEWithLogitsLoss(), LOGITS - 0.5, (LOGITS > 0.7).astype(float), 11 / 12, 12),
        (nn.SoftMarginLoss(), LOGITS[:, :1] - 0.3, np.array([[-1.0], [1], [1], [1]]), 0.75, 4),
        (lambda o, t: o, LOGITS[:, :1] - 0.3, np.array([0.0, 1, 0, 0]), 0.75, 4),
        (nn.MSELoss(), LOGITS, np.eye(3)[[1, 0, 0, 2]], 0.75, 4),
    ],
)
def test_accuracy(loss, outputs: np.ndarray, targets: np.ndarray, share: float | None, count: int):
    metric = Accuracy().of(loss)
    state = metric.measure(outputs, targets)
    expected = float(np.mean(outputs.argmax(-1) == targets)) if share is None else share
    assert (metric.value(state), state["count"]) == (pytest.approx(expected), count)


@pytest.mark.parametrize(
    ("loss", "outputs", "targets", "reason"),
    [
        (
            nn.MSELoss(),
            LOGITS[:, :1],
            np.ones((4, 1)),
            "outputs are [4, 1] and targets [4, 1]: MSELoss does not say which output means yes",
        ),
        (
            nn.BCELoss(),
            LOGITS,
            np.ones((4, 1)),
            "outputs are [4, 3] and targets [4, 1]: there is one output per target",
        ),
        (
            nn.MultiLabelMarginLoss(),
            LOGITS,
            np.array([[0, -1, 0]] * 4),
            "outputs are [4, 3] and targets [4, 3]: targets are lists of classes",
        ),
        (
            nn.CrossEntropyLoss(),
            LOGITS,
            np.ones((4, 2), int),
            "outputs are [4, 3] and targets [4, 2]: expected a target per place, and classes on axis 1",
        ),
        (
            lambda o, t: o,
            *of_places(5, 5),
            "outputs are [6, 5, 5] and targets [6, 5]: classes may lie on axis 1 or on the last one",
        ),
    ],
)
def test_accuracy_is_refused_where_it_is_open(loss, outputs: np.ndarray, targets: np.ndarray, reason: str):
    help = (
        "give the metric a threshold, such as nn.metrics.Accuracy(threshold=0.5)"
        if "means yes" in reason
        else "pass a function of outputs and targets in its place"
    )
    found = complaint(lambda: Accuracy().of(loss)(outputs, targets))
    assert found == f"error[metric]: accuracy: {reason}\n  help: {help}"


def test_metrics_say_what_they_count():
    def share(outputs: np.ndarray, targets: np.ndarray) -> tuple[float, int]:
        known = targets >= 0
        return float(np.mean(outputs.argmax(1)[known] == targets[known])) if known.any() else nan, int(
            known.sum()
        )

    def first(outputs: np.ndarray, targets: np.ndarray) -> float:
        return float(np.mean(outputs[targets >= 0, 0])) if (targets >= 0).any() else nan

    model = nn.Linear(5, 4, dtype="f64")
    t = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters()), ["accuracy", share, first])
    found, outputs = t.evaluate(X, LABELS, batch_size=7), model(X)
    assert (
        found["accuracy"]
        == pytest.approx(found["share"])
        == pytest.approx(np.mean(outputs.argmax(1)[9:] == LABELS[9:]))
    )
    assert found["first"] == pytest.approx(outputs[9:, 0].mean())
    text = complaint(lambda: nn.Trainer(model, t.loss, t.optimizer, [share, share]))
    assert text == (
        "error[arguments]: two measurements are called 'share'\n"
        "  help: give one another name: metrics={'another': ...}"
    )


# Updates that are left out, epochs in which nothing is measured


class Heard(nn.Callback):
    def __init__(self) -> None:
        self.steps: list[int] = []

    def on_step_end(self, trainer, step, values):
        self.steps.append(step)


@pytest.mark.parametrize(
    "options",
    [{"precision": "f16", "loss_scale": nn.LossScale(2.0**60)}, {"on_nan": "skip"}],
    ids=["f16", "skip"],
)
def test_updates_that_are_left_out_are_no_updates(options: dict):
    nn.manual_seed(0)
    model = nn.Linear(5, 4)
    optimizer, heard = nn.optim.Adam(model.parameters(), lr=0.01), Heard()
    t = nn.Trainer(model, nn.CrossEntropyLoss(), optimizer, **options)
    rate = nn.callbacks.LearningRate(nn.optim.lr_scheduler.ExponentialLR(optimizer, 0.5), every="step")
    bad = X * (nan if "on_nan" in options else 1)
    history = t.fit(bad, np.abs(LABELS) % 4, epochs=2, batch_size=8, progress=False, callbacks=[rate, heard])
    assert (optimizer.steps, optimizer.lr, heard.steps, history.epochs) == (0, 0.01, [], 2)
    assert history.get("skipped", [3, 3]) == [3, 3]


class Sometimes:
    """Batches that are NaN, or none at all, in the second epoch."""

    def __init__(self, batches: list) -> None:
        self.epoch, self.batches = 0, batches

    def __iter__(self):
        self.epoch += 1
        yield from self.batches if self.epoch != 2 else [(x * nan, y) for x, y in self.batches[:1]]


class Seldom(Sometimes):
    def __iter__(self):
        self.epoch += 1
        yield from self.batches if self.epoch != 2 else []


def test_histories_have_an_entry_per_epoch(tmp_path):
    nn.manual_seed(0)
    model, batch = nn.Linear(5, 4, dtype="f64"), [(X, np.abs(LABELS) % 4)]
    t = nn.Trainer(
        model, nn.CrossEntropyLoss(), nn.optim.SGD(model.parameters()), ["accuracy"], on_nan="skip"
    )
    listeners = [nn.EarlyStopping("loss", 5), nn.callbacks.CSVLog(tmp_path / "log.csv")]
    history = t.fit(
        Sometimes(batch), epochs=3, progress=False, validation_data=Seldom(batch), callbacks=listeners
    )
    assert {n: [isnan(v) for v in values] for n, values in history.items() if n != "lr"} == dict.fromkeys(
        ["loss", "accuracy", "val_loss", "val_accuracy"], [False, True, False]
    )
    history.save(tmp_path / "history.csv")
    assert (tmp_path / "history.csv").read_text() == (tmp_path / "log.csv").read_text()
    assert (tmp_path / "log.csv").read_text().splitlines()[2] == "2,nan,nan,nan,nan,0.001"


def test_measurements_that_come_and_go():
    history = nn.History()
    history.add({"loss": 1.0})
    history.add({"loss": 2.0, "val_loss": 3.0})
    history.add({"val_loss": 4.0})
    assert {n: list(map(str, v)) for n, v in history.items()} == {
        "loss": ["1.0", "2.0", "nan"],
        "val_loss": ["nan", "3.0", "4.0"],
    }
    assert history.rows() == ["epoch,loss,val_loss", "1,1.0,nan", "2,2.0,3.0", "3,nan,4.0"]
