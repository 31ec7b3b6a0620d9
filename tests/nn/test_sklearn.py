"""Networks as estimators of scikit-learn: its own checks, and what these do not ask."""

from __future__ import annotations

import pickle
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import texpr as tx
from tests.repo.source import ROOT
from texpr import nn

SMALL = {"batch_size": 512, "epochs": 40, "lr": 0.05, "module_args": {"hidden": ()}, "random_state": 0}
EXCEPTIONS = {"check_sample_weight_equivalence_on_dense_data"}
"""Checks that fail; `docs/guide/scikit_learn.md` has the reasons."""
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).astype(np.float32)
LABELS = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
NUMBERS = X @ np.float32([1, -2, 0.5])


def network(inputs: int, outputs: int, hidden: int = 8, dropout: float = 0.0) -> nn.Module:
    return nn.Sequential(
        nn.Linear(inputs, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, outputs)
    )


def name_of(check) -> str:
    return getattr(check, "func", check).__name__


CHECKS = [
    pytest.param(
        made,
        check,
        marks=[pytest.mark.xfail] * (name_of(check) in EXCEPTIONS),
        id=f"{kind.__name__}-{name_of(check)}",
    )
    for kind in (nn.sklearn.Classifier, nn.sklearn.Regressor)
    for made, check in estimator_checks_generator(kind(**SMALL))
]


@pytest.mark.parametrize(("made", "check"), CHECKS)
def test_checks_of_scikit_learn(made, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(made)


def test_exceptions_stand_in_the_page():
    page = (ROOT / "docs" / "guide" / "scikit_learn.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in EXCEPTIONS)


def test_labels_of_any_kind():
    for labels in (LABELS, LABELS == "yes", np.where(LABELS == "yes", 7, -3), LABELS.astype(object)):
        model = nn.sklearn.Classifier(network, random_state=0, epochs=60, batch_size=60).fit(X, labels)
        assert model.classes_.tolist() == sorted(set(labels.tolist()))
        assert model.score(X, labels) > 0.9 and model.predict(X).dtype == labels.dtype
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-6)
        assert ((model.decision_function(X) > 0) == (model.predict(X) == model.classes_[1])).all()
        assert model.n_features_in_ == 3 and len(model.history_["loss"]) == 60


def test_searches_pipelines_and_folds():
    pipeline = make_pipeline(
        StandardScaler(), nn.sklearn.Classifier(network, random_state=0, epochs=10, batch_size=30)
    )
    assert cross_val_score(pipeline, X, LABELS, cv=2).mean() > 0.6
    grid = {"classifier__module_args": [{"hidden": 1}, {"hidden": 8}], "classifier__lr": [0.0, 0.05]}
    found = GridSearchCV(pipeline, grid, cv=2).fit(X, LABELS)
    assert found.best_params_["classifier__lr"] == 0.05 and found.best_score_ > 0.8


def test_a_module_is_copied_by_each_fit():
    module = network(3, 1)
    before = [p.data.copy() for p in module.parameters()]
    model = nn.sklearn.Regressor(module, random_state=0, epochs=3)
    first, second = model.fit(X, NUMBERS).predict(X), model.fit(X, NUMBERS).predict(X)
    assert np.array_equal(first, second) and first.shape == (60,) and model.module_ is not module
    assert all(np.array_equal(a, p.data) for a, p in zip(before, module.parameters()))
    assert np.array_equal(clone(model).fit(X, NUMBERS).predict(X), first)


def test_random_state():
    def predicted(state) -> np.ndarray:
        return nn.sklearn.Regressor(random_state=state, epochs=2).fit(X, NUMBERS).predict(X)

    nn.manual_seed(5)
    drawn = nn.init.generator().normal()
    nn.manual_seed(5)
    one = predicted(1)
    assert nn.init.generator().normal() == drawn, "the generator of the thread is left alone"
    assert np.array_equal(one, predicted(1)) and not np.array_equal(one, predicted(2))
    assert np.array_equal(predicted(np.random.RandomState(3)), predicted(np.random.RandomState(3)))


def test_several_targets():
    y = np.stack([NUMBERS, -NUMBERS], axis=1)
    model = nn.sklearn.Regressor(random_state=0, epochs=100, lr=0.05, module_args={"hidden": ()}).fit(X, y)
    assert model.predict(X).shape == (60, 2) and model.score(X, y) > 0.99


def test_weights_of_examples():
    weights = (LABELS == "yes").astype(float)
    model = nn.sklearn.Classifier(random_state=0, epochs=20).fit(X, LABELS, sample_weight=weights)
    assert set(model.predict(X)) == {"yes"}


def test_losses_and_optimizers():
    for loss, module in (
        (nn.BCEWithLogitsLoss(), None),
        (nn.NLLLoss(), lambda n, m: nn.Sequential(network(n, m), nn.LogSoftmax(dim=1))),
    ):
        model = nn.sklearn.Classifier(module, loss=loss, optimizer=nn.optim.Adam, random_state=0, epochs=30)
        assert model.fit(X, LABELS).score(X, LABELS) > 0.9
        probabilities = model.predict_proba(X)
        assert probabilities.shape == (60, 2) and np.allclose(probabilities.sum(axis=1), 1, atol=1e-6)
        assert ((probabilities[:, 1] > 0.5) == (model.predict(X) == "yes")).all()


def test_images():
    images = RNG.normal(size=(20, 1, 6, 6)).astype(np.float32)
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2))
    model = nn.sklearn.Classifier(module, random_state=0, epochs=2).fit(images, LABELS[:20])
    assert model.predict(images).shape == (20,)


def test_pickles_and_words():
    model = nn.sklearn.Classifier(network, random_state=0, epochs=2).fit(X, LABELS)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert repr(nn.sklearn.Regressor(lr=0.5)) == "Regressor(lr=0.5)"


def refused(call, text: str):
    with pytest.raises(tx.CallError) as raised:
        call()
    assert str(raised.value) == text


def test_mistakes():
    three = np.arange(60) % 3
    refused(
        lambda: nn.sklearn.Classifier(loss=nn.BCEWithLogitsLoss()).fit(X, three),
        "error[arguments]: BCEWithLogitsLoss() is for two classes; y has 3\n  help: loss=nn.CrossEntropyLoss()",
    )
    refused(
        lambda: nn.sklearn.Classifier(network(3, 2), module_args={"hidden": 3}).fit(X, LABELS),
        "error[arguments]: module_args are for a builder, and `module` is a module\n"
        "  help: give module=lambda inputs, outputs, ...: nn.Sequential(...)",
    )
    refused(
        lambda: nn.sklearn.Regressor(lambda n, m: None).fit(X, NUMBERS),
        "error[arguments]: `module` gave a NoneType, expected a module\n"
        "  help: a builder takes the numbers of features and of outputs, and gives a module",
    )
    model = nn.sklearn.Classifier(loss=nn.MultiMarginLoss(), random_state=0, epochs=1).fit(X, LABELS)
    refused(
        lambda: model.predict_proba(X),
        "error[arguments]: outputs that MultiMarginLoss() has trained mean no probabilities\n"
        "  help: decision_function gives the outputs; CrossEntropyLoss, NLLLoss and BCEWithLogitsLoss train "
        "probabilities",
    )
    with pytest.raises(NotFittedError):
        nn.sklearn.Regressor().predict(X)


def test_scikit_learn_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    for name in ("texpr.nn.sklearn.estimators", "texpr.nn.sklearn"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(nn, "sklearn")
    with pytest.raises(tx.MissingExtra) as raised:
        _ = nn.sklearn.Classifier
    assert str(raised.value) == (
        'error[import]: nn.sklearn needs sklearn.base\n  help: pip install "texpr[sklearn]"'
    )


def test_a_builder_without_arguments_is_refused():
    with pytest.raises(tx.CallError) as caught:
        nn.sklearn.Classifier(lambda: nn.Linear(2, 2)).fit(np.ones((4, 2)), [0, 1, 0, 1])
    assert caught.value.message.startswith(
        "the builder of the network does not take the numbers of features and outputs: "
    )
    assert caught.value.help == "module=lambda features, outputs: nn.Sequential(...), or give a module"
