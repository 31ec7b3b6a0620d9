"""Metrics against scikit-learn over whole epochs, in batches of any sizes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import exp, isnan

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr import nn
from texpr.nn import metrics as m

CE, BCE, LOGITS = nn.CrossEntropyLoss(), nn.BCELoss(), nn.BCEWithLogitsLoss()
AVERAGES = ("macro", "micro", "weighted")


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def over_batches(metric: nn.Metric, outputs: np.ndarray, targets: np.ndarray, cuts: list[int]) -> object:
    """The value of states that are merged batch by batch."""
    parts = [metric.measure(o, t) for o, t in zip(np.split(outputs, cuts), np.split(targets, cuts))]
    state = parts[0]
    for part in parts[1:]:
        state = metric.merged(state, part)
    return metric.value(state)


def alike(found: object, wanted: object, tolerance: float = 1e-12) -> bool:
    return np.allclose(found, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)  # type: ignore[arg-type]


@st.composite
def epochs(draw: st.DrawFn) -> tuple[np.random.Generator, int, list[int]]:
    count = draw(st.integers(1, 30))
    cuts = sorted(draw(st.lists(st.integers(0, count), max_size=4)))
    return np.random.default_rng(draw(st.integers(0, 2**32))), count, cuts


def counts_of(average: str) -> list[tuple[nn.Metric, Callable[..., float]]]:
    return [
        (m.Precision(average), sk.precision_score),
        (m.Recall(average), sk.recall_score),
        (m.F1(average), sk.f1_score),
    ]


@examples(60)
@given(epochs(), st.integers(3, 6))
def test_classes(case: tuple[np.random.Generator, int, list[int]], classes: int):
    random, count, cuts = case
    outputs = random.integers(0, 4, (count, classes)).astype("f4")  # with ties
    targets = random.integers(0, random.integers(1, classes + 1), count)
    answers, every = outputs.argmax(1), range(classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert over_batches(m.Accuracy().of(CE), outputs, targets, cuts) == sk.accuracy_score(
            targets, answers
        )
        top = over_batches(m.Accuracy(2).of(CE), outputs, targets, cuts)
        assert top == sk.top_k_accuracy_score(targets, outputs, k=2, labels=every)
        for average in AVERAGES:
            for metric, peer in counts_of(average):
                found = over_batches(metric.of(CE), outputs, targets, cuts)
                assert alike(found, peer(targets, answers, average=average)), (metric.name, average)
        for metric, peer in counts_of("none"):
            found = over_batches(metric.of(CE), outputs, targets, cuts)
            assert alike(found, peer(targets, answers, average=None, labels=every))
        matrix = over_batches(m.ConfusionMatrix().of(CE), outputs, targets, cuts)
        assert np.array_equal(matrix, sk.confusion_matrix(targets, answers, labels=every))  # type: ignore[arg-type]
        perplexity = exp(sk.log_loss(targets, softmax(outputs.astype(float)), labels=every))
        assert alike(over_batches(m.Perplexity().of(CE), outputs, targets, cuts), perplexity)


@examples(40)
@given(epochs(), st.integers(3, 5), st.sampled_from(["macro", "weighted"]))
def test_areas_of_classes(case: tuple[np.random.Generator, int, list[int]], classes: int, average: str):
    random, count, cuts = case
    outputs, targets = random.normal(size=(count, classes)), random.integers(0, classes, count)
    outputs, every = np.round(outputs, 1), list(range(classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("ovr", "ovo") if len(np.unique(targets)) > 1 else ("ovr",):
            found = over_batches(m.AUC(average, kind).of(CE), outputs, targets, cuts)
            wanted = sk.roc_auc_score(
                targets, softmax(outputs), average=average, multi_class=kind, labels=every
            )
            assert alike(found, wanted)


@examples(60)
@given(epochs(), st.booleans())
def test_yes_and_no(case: tuple[np.random.Generator, int, list[int]], has_axis: bool):
    random, count, cuts = case
    outputs = np.round(random.normal(size=count), 1)
    targets = (random.random(count) < random.choice([0.0, 0.5, 1.0])).astype(float)
    shape = (count, 1) if has_axis else (count,)
    answers = outputs > 0
    given, wanted = outputs.reshape(shape), targets.reshape(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert over_batches(m.Accuracy().of(LOGITS), given, wanted, cuts) == sk.accuracy_score(
            targets, answers
        )
        pairs = [(m.Precision(), sk.precision_score), (m.Recall(), sk.recall_score), (m.F1(), sk.f1_score)]
        for metric, peer in pairs:
            assert alike(over_batches(metric.of(LOGITS), given, wanted, cuts), peer(targets, answers))
        for average in AVERAGES:
            for metric, peer in counts_of(average):
                found = over_batches(metric.of(LOGITS), given, wanted, cuts)
                assert alike(found, peer(targets, answers, average=average))
        area = over_batches(m.AUC().of(LOGITS), given, wanted, cuts)
        assert alike(area, sk.roc_auc_score(targets, outputs))
        matrix = over_batches(m.ConfusionMatrix().of(LOGITS), given, wanted, cuts)
        assert np.array_equal(matrix, sk.confusion_matrix(targets, answers, labels=[0, 1]))  # type: ignore[arg-type]


@examples(40)
@given(epochs(), st.integers(2, 5))
def test_several_labels(case: tuple[np.random.Generator, int, list[int]], labels: int):
    random, count, cuts = case
    outputs = np.round(random.random((count, labels)), 1)
    targets = (random.random((count, labels)) < 0.4).astype("f4")
    answers = outputs > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for average in (*AVERAGES, "none"):
            for metric, peer in counts_of(average):
                found = over_batches(metric.of(BCE), outputs, targets, cuts)
                wanted = peer(targets, answers, average=None if average == "none" else average)
                assert alike(found, wanted), (metric.name, average)
        for average in ("macro", "weighted"):
            found = over_batches(m.AUC(average).of(BCE), outputs, targets, cuts)
            if average == "macro" or targets.sum():
                assert alike(found, sk.roc_auc_score(targets, outputs, average=average))
        matrix = over_batches(m.ConfusionMatrix().of(BCE), outputs, targets, cuts)
        assert np.array_equal(matrix, sk.multilabel_confusion_matrix(targets, answers))  # type: ignore[arg-type]


@examples(60)
@given(epochs(), st.sampled_from([(), (1,), (3,)]), st.booleans())
def test_numbers(case: tuple[np.random.Generator, int, list[int]], places: tuple[int, ...], constant: bool):
    random, count, cuts = case
    outputs, targets = random.normal(size=(2, count, *places))
    targets = np.full_like(targets, 2.0) if constant else targets + 1000
    pairs = [
        (m.MAE(), sk.mean_absolute_error),
        (m.MSE(), sk.mean_squared_error),
        (m.RMSE(), sk.root_mean_squared_error),
        (m.R2(), sk.r2_score),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for metric, peer in pairs:
            found = over_batches(metric.of(nn.MSELoss()), outputs, targets, cuts)
            assert alike(found, peer(targets, outputs), 1e-9), metric.name


def test_ignored_labels_count_for_nothing():
    random = np.random.default_rng(0)
    outputs, targets = random.normal(size=(8, 3, 5)), random.integers(0, 3, (8, 5))
    targets[::2, 1:] = -100
    kept = targets != -100
    rows, true = np.moveaxis(outputs, 1, 2)[kept], targets[kept]
    assert alike(m.F1().of(CE)(outputs, targets), sk.f1_score(true, rows.argmax(1), average="macro"))
    assert alike(m.Perplexity().of(CE)(outputs, targets), exp(sk.log_loss(true, softmax(rows))))
    found = m.AUC().of(CE)(outputs, targets)
    assert alike(found, sk.roc_auc_score(true, softmax(rows), multi_class="ovr"))
    two = np.random.default_rng(1).normal(size=(20, 2))
    labels = np.arange(20) % 2
    assert alike(m.AUC().of(CE)(two, labels), sk.roc_auc_score(labels, softmax(two)[:, 1]))
    assert alike(m.F1().of(CE)(two, labels), sk.f1_score(labels, two.argmax(1)))


def test_nothing_is_nan():
    targets = np.full(4, -100)
    for metric in (m.Accuracy(), m.Precision(), m.F1("micro"), m.AUC(), m.Perplexity()):
        assert isnan(metric.of(CE)(np.zeros((4, 3)), targets)), metric.name
    assert isnan(m.R2()(np.ones(1), np.ones(1)))
    assert m.Precision(zero_division=1.0).of(LOGITS)(-np.ones(3), np.ones(3)) == 1.0


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(tx.CallError) as caught:
        call()
    return str(caught.value)


def trainer(loss: nn.Loss, *metrics: object) -> nn.Trainer:
    model = nn.Linear(2, 3)
    return nn.Trainer(model, loss, nn.optim.SGD(model.parameters()), list(metrics))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("loss", "metric", "message"),
    [
        (
            CE,
            "mae",
            "error[metric]: mae: the targets of CrossEntropyLoss are class numbers\n"
            "  help: metrics=['accuracy', 'f1'] are of classes",
        ),
        (
            LOGITS,
            "r2",
            "error[metric]: r2: the targets of BCEWithLogitsLoss are yes and no, and its outputs are logits\n"
            "  help: metrics=['accuracy', 'f1'] are of classes",
        ),
        (
            nn.MSELoss(),
            "auc",
            "error[metric]: auc: MSELoss compares numbers, which are neither right nor wrong\n"
            "  help: metrics=['mae', 'rmse', 'r2'] are of numbers",
        ),
        (
            nn.MultiMarginLoss(),
            "perplexity",
            "error[metric]: perplexity: MultiMarginLoss is no likelihood of classes\n"
            "  help: it is for nn.CrossEntropyLoss and nn.NLLLoss",
        ),
        (
            CE,
            "confusion_matrix",
            "error[metric]: the metric `confusion_matrix` is an array, which no history holds\n"
            "  help: call it on arrays: metric(trainer.predict(x), y)",
        ),
        (
            CE,
            "f2",
            "error[arguments]: there is no metric 'f2'\n  help: known are accuracy, auc, f1, mae, mse, perplexity, precision, "
            "r2, recall, rmse",
        ),
        (
            CE,
            m.F1,
            "error[arguments]: a metric is <class 'texpr.nn.metrics.class_metrics.F1'>, expected a name, a "
            "metric, or a function of outputs and targets\n  help: make one: F1()",
        ),
    ],
)
def test_a_metric_that_means_nothing_is_refused(loss: nn.Loss, metric: object, message: str):
    assert refusal(lambda: trainer(loss, metric)) == message


def test_a_batch_that_means_nothing_is_refused():
    outputs, targets = np.ones((4, 3)), np.ones((4, 3)) / 2
    assert refusal(lambda: m.Accuracy().of(nn.MSELoss())(outputs, targets)) == (
        "error[metric]: accuracy: outputs are [4, 3] and targets [4, 3]: MSELoss compares numbers, and the "
        "targets are no one-hot rows\n  help: metrics=['mae', 'r2'] of numbers"
    )
    assert refusal(lambda: m.Accuracy(3).of(CE)(outputs, np.zeros(4, int))) == (
        "error[metric]: top_3_accuracy: outputs are [4, 3] and targets [4]: the 3 best of 3 classes are always "
        "right\n  help: pass a function of outputs and targets in its place"
    )
    assert refusal(lambda: m.F1("binary").of(CE)(outputs, np.zeros(4, int))) == (
        "error[metric]: f1: outputs are [4, 3] and targets [4]: average='binary' is of yes and no, there are 3 "
        "classes\n  help: average='macro', 'micro' or 'weighted'"
    )
    assert m.Accuracy(threshold=0.5).of(nn.MSELoss())(np.array([[0.7], [0.2]]), np.array([[1], [1]])) == 0.5


X = np.random.default_rng(3).normal(size=(50, 2)).astype("f4")
Y = (X[:, 0] > 0).astype("i8") + (X[:, 1] > 0.5)


def test_the_trainer_measures_epochs_not_batches(tmp_path):
    names = ["accuracy", "top_2_accuracy", "precision", "recall", "f1", "auc", "perplexity"]
    loss = nn.metrics.WholeEpoch(lambda o, t: sk.cohen_kappa_score(t, o.argmax(1)))
    nn.manual_seed(0)
    t = trainer(CE, *names, loss)
    history = t.fit(X, Y, epochs=1, batch_size=16, progress=False)
    assert list(history)[: len(names) + 2] == ["loss", *names, "<lambda>"]
    found, outputs = t.evaluate(X, Y, 7), t.predict(X)
    answers = outputs.argmax(1)
    assert alike(found["f1"], sk.f1_score(Y, answers, average="macro"))
    assert alike(found["auc"], sk.roc_auc_score(Y, softmax(outputs.astype(float)), multi_class="ovr"), 1e-6)
    assert alike(found["<lambda>"], sk.cohen_kappa_score(Y, answers))
    assert alike(found["perplexity"], exp(found["loss"]), 1e-6)


def test_metrics_go_on_in_the_middle_of_an_epoch(tmp_path):
    def made() -> nn.Trainer:
        nn.manual_seed(0)
        return trainer(CE, "f1", "auc", "accuracy")

    path = tmp_path / "run.safetensors"

    class Stop(nn.Callback):
        def on_step_end(self, trainer: object, step: int, values: object) -> None:
            if step == 2:
                trainer.save(path)  # type: ignore[attr-defined]

    whole = made().fit(X, Y, epochs=2, batch_size=16, progress=False, callbacks=[Stop()])
    assert made().fit(X, Y, epochs=2, batch_size=16, progress=False, resume=path) == whole
