"""Training on tiny data: results, repeatability, data that do not fit."""

from __future__ import annotations

import re

import numpy as np
import pytest

import texpr as tx
from texpr import nn, ops
from texpr.graph import Plan
from texpr.runtime.native import native_library

RANDOM = np.random.default_rng(0)
CENTERS = RANDOM.normal(size=(3, 5)) * 2
Y = RANDOM.integers(0, 3, 70)
X = (CENTERS[Y] + RANDOM.normal(size=(70, 5))).astype(np.float32)


def trainer(dtype: str = "f32", seed: int = 0, lr: float = 0.02, **options) -> nn.Trainer:
    nn.manual_seed(seed)
    model = nn.Sequential(nn.Linear(5, 16, dtype=dtype), nn.ReLU(), nn.Linear(16, 3, dtype=dtype))
    return nn.Trainer(
        model,
        nn.CrossEntropyLoss(),
        nn.optim.Adam(model.parameters(), lr=lr),
        metrics=["accuracy"],
        **options,
    )


def complaint(run, kind: type[Exception] = tx.CallError) -> str:
    with pytest.raises(kind) as caught:
        run()
    return str(caught.value)


def test_it_learns_and_measures(capsys):
    t = trainer()
    history = t.fit(X, Y, epochs=12, batch_size=16, validation_data=(X[:20], Y[:20]))
    assert list(history) == ["loss", "accuracy", "val_loss", "val_accuracy", "lr"] and history.epochs == 12
    assert history["loss"][-1] < 0.3 * history["loss"][0] and history["accuracy"][-1] > 0.9
    result, outputs = t.evaluate(X, Y), t.predict(X)
    assert outputs.shape == (70, 3) and result["accuracy"] == np.mean(outputs.argmax(1) == Y)
    each = np.log(np.exp(outputs).sum(1)) - outputs[np.arange(70), Y]
    assert abs(result["loss"] - each.mean()) < 1e-5
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 12
    assert re.fullmatch(
        r"epoch  1/12  loss \d\.\d{4}  accuracy \d\.\d{4}  val_loss \d\.\d{4}  val_accuracy \d\.\d{4}  "
        r"lr 0\.02  (\d+ ms|\d+\.\d s)  [\d,]+ samples/s  ETA .+",
        lines[0],
    )


def test_silence(capsys):
    trainer().fit(X, Y, epochs=1, progress=False)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_the_same_seed_gives_the_same_bits():
    results, threads = [], native_library.threads()
    try:
        for count in (1, 2, 3):
            native_library.set_threads(count)
            nn.manual_seed(4)
            model = nn.Sequential(
                nn.Linear(5, 512), nn.ReLU(), nn.Linear(512, 256), nn.Tanh(), nn.Linear(256, 3)
            )
            t = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters()), seed=7)
            history = t.fit(X, Y, epochs=3, batch_size=64, progress=False)
            results.append((history, [p.data.tobytes() for p in model.parameters()]))
    finally:
        native_library.set_threads(threads)
    assert results[0] == results[1] == results[2]


def test_another_seed_gives_other_results():
    losses = [trainer(seed=seed).fit(X, Y, epochs=1, progress=False)["loss"] for seed in (4, 4, 5)]
    assert losses[0] == losses[1] != losses[2]


def test_fit_is_the_loop_written_by_hand():
    t, by_hand = trainer("f64"), trainer("f64")
    history = t.fit(X, Y, epochs=2, batch_size=32, shuffle=False, progress=False)
    step, x, y = (
        nn.TrainingStep(by_hand.model, by_hand.loss, by_hand.optimizer),
        X.astype(np.float64),
        Y.astype(np.int64),
    )
    for epoch in range(2):
        losses = [step(x[k : k + 32], y[k : k + 32]) for k in (0, 32, 64)]
        assert history["loss"][epoch] == (32 * losses[0] + 32 * losses[1] + 6 * losses[2]) / 70
    for a, b in zip(t.model.parameters(), by_hand.model.parameters()):
        np.testing.assert_array_equal(a.data, b.data)


def test_a_convolutional_network_has_the_right_gradients():
    nn.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1, dtype="f64"),
        nn.Tanh(),
        nn.MaxPool2d(2),
        nn.Conv2d(3, 2, 2, stride=2, dtype="f64"),
        nn.Sigmoid(),
        nn.Flatten(),
        nn.Linear(8, 3, dtype="f64"),
    )
    x, y = RANDOM.normal(size=(2, 2, 8, 9)), np.array([0, 2])
    loss = nn.CrossEntropyLoss()
    before = model.state_dict()
    nn.TrainingStep(model, loss, nn.optim.SGD(model.parameters(), lr=1.0))(x, y)
    gradients = {n: before[n] - a for n, a in model.state_dict().items()}
    model.load_state_dict(before)
    for name, parameter in model.named_parameters():
        for element in [tuple(RANDOM.integers(0, parameter.shape)) for _ in range(4)]:
            kept, sides = parameter.data[element], []
            for change in (1e-5, -1e-5):
                parameter.data[element] = kept + change
                sides.append(float(loss(model(x), y)))
            parameter.data[element] = kept
            assert abs((sides[0] - sides[1]) / 2e-5 - gradients[name][element]) < 1e-8, name


def test_own_loss_metric_and_layer():
    swish = tx.op("op swish<T: float>(X: T[*S]) -> Y: T[*S] { Y[*s] = X[*s] * sigmoid(X[*s]) }")

    class Swish(nn.Module):
        def forward(self, x):
            return swish(x)

    def half(output, target):
        return ops.mean_all(ops.squared_error(output, target)) * 0.5

    def largest(outputs: np.ndarray, targets: np.ndarray) -> float:
        return float(np.abs(outputs - targets).max())

    model = nn.Sequential(nn.Linear(5, 8), Swish(), nn.Linear(8, 1))
    t = nn.Trainer(model, half, nn.optim.SGD(model.parameters(), 0.02, momentum=0.9), [largest])
    history = t.fit(X, X[:, :1] + X[:, 1:2] ** 2, epochs=25, batch_size=35, progress=False)
    assert list(history) == ["loss", "largest", "lr"] and history["loss"][-1] < 0.5 * history["loss"][0]


def test_callbacks_and_early_stopping(tmp_path):
    seen = []
    t = trainer()
    history = t.fit(
        X,
        Y,
        epochs=5,
        progress=False,
        callbacks=[lambda own, epoch, values: seen.append((own, epoch, values["loss"]))],
    )
    assert seen == [(t, k, history["loss"][k]) for k in range(5)]
    assert (
        trainer(lr=0.0)
        .fit(X, Y, epochs=9, progress=False, callbacks=[nn.EarlyStopping("accuracy", 2, "max")])
        .epochs
        == 3
    )
    history.save(tmp_path / "history.csv")
    rows = (tmp_path / "history.csv").read_text().splitlines()
    assert (
        rows[0] == "epoch,loss,accuracy,lr"
        and rows[5] == f"5,{history['loss'][4]!r},{history['accuracy'][4]!r},{history['lr'][4]!r}"
    )
    assert (
        complaint(lambda: t.fit(X, Y, progress=False, callbacks=[nn.EarlyStopping("val_los")]))
        == """\
error[arguments]: EarlyStopping: `val_los` is not measured
  help: measured are loss, accuracy, lr"""
    )


def test_nan_names_the_step_and_the_layer_and_spares_the_parameters():
    bad = X.copy()
    bad[40, 2] = np.nan
    t = trainer()
    t.model[2].weight.data[1, 1] = 3
    with pytest.raises(tx.Error) as caught:
        t.fit(bad, Y, batch_size=35, shuffle=False, progress=False)
    assert (
        str(caught.value)
        == """\
error[nan]: the loss is nan in step 2 (epoch 1)
    the output of layer `0`, Linear(5, 16), is not finite
  help: lower the learning rate, or look for NaN in the data; the parameters are as they were before this step"""
    )
    assert all(np.isfinite(p.data).all() for p in t.model.parameters()) and t.optimizer.steps == 1
    t = trainer(on_nan="skip")
    t.fit(bad, Y, batch_size=35, shuffle=False, progress=False)
    assert all(np.isfinite(p.data).all() for p in t.model.parameters()) and t.optimizer.steps == 1
    t = trainer(on_nan="ignore")
    t.fit(bad, Y, batch_size=35, shuffle=False, progress=False)
    assert not all(np.isfinite(p.data).all() for p in t.model.parameters()) and t.optimizer.steps == 2


def test_an_interrupted_step_changes_nothing(monkeypatch):
    t = trainer()
    t.fit(X, Y, epochs=1, progress=False)
    before, steps = t.model.state_dict(), t.optimizer.steps

    def interrupted(plan):
        plan.runner.bound()()
        raise KeyboardInterrupt

    monkeypatch.setattr(Plan, "compute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        t.fit(X, Y, progress=False)
    assert t.optimizer.steps == steps
    for name, value in t.model.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_evaluation_restores_the_modes():
    t = trainer()
    t.model[0].eval()
    t.evaluate(X, Y)
    t.predict(X)
    assert [m.training for m in t.model.modules()] == [True, False, True, True]


def labels(change) -> np.ndarray:
    y = Y.copy()
    y[17] = change
    return y


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (
            lambda t: t.fit(X, labels(-1)),
            "error[data]: the label y[17] is -1, expected 0 to 2\n"
            "    1 of 70 labels are out of range; the model has 3 outputs\n"
            "  help: nn.CrossEntropyLoss(ignore_index=-1), if labels of -1 do not count",
        ),
        (
            lambda t: t.evaluate(X, labels(3)),
            "error[data]: the label y[17] is 3, expected 0 to 2\n"
            "    1 of 70 labels are out of range; the model has 3 outputs",
        ),
        (
            lambda t: t.fit(X, Y.astype(float)),
            "error[data]: the labels are float64, expected integers\n"
            "  help: convert them: y.astype(np.int64)",
        ),
        (lambda t: t.fit(X, Y[:-1]), "error[data]: x has 70 examples and y 69 targets"),
        (lambda t: t.fit(X, 3), "error[data]: x has 70 examples and y 1 target"),
        (
            lambda t: t.fit(X[:0], Y[:0]),
            "error[data]: x has shape (0, 5), expected at least one example along axis 0",
        ),
        (
            lambda t: t.fit(X.astype(str), Y),
            "error[dtype]: the input has dtype <U32, which texpr does not have\n"
            "  help: convert it: x.astype(...)",
        ),
        (
            lambda t: t.fit(X, Y, epochs=-1),
            "error[arguments]: fit: epochs is -1, expected an integer of at least 0",
        ),
        (
            lambda t: t.fit(X, Y, batch_size=0),
            "error[arguments]: fit: batch_size is 0, expected an integer of at least 1",
        ),
        (
            lambda t: t.fit(X, Y, validation_data=X),
            "error[arguments]: validation_data is no pair of examples and targets\n  help: "
            "validation_data=(xv, yv)",
        ),
        (lambda t: t.fit(X, Y, validation_data=(X, Y[:5])), "error[data]: x has 70 examples and y 5 targets"),
    ],
)
def test_data_that_do_not_fit(run, text: str):
    assert complaint(lambda: run(trainer())) == text


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda m: nn.Trainer("model", nn.MSELoss(), nn.optim.SGD(m.parameters())),
            "error[arguments]: the model is a str, expected a module",
        ),
        (
            lambda m: nn.Trainer(nn.MSELoss(), m, nn.optim.SGD(m.parameters())),
            "error[arguments]: the model is a loss, MSELoss()\n  help: the order is Trainer(model, loss, optimizer)",
        ),
        (
            lambda m: nn.Trainer(m, nn.MSELoss, nn.optim.SGD(m.parameters())),
            "error[arguments]: the loss is <class 'texpr.nn.losses.regression.MSELoss'>, expected a function "
            "such as nn.CrossEntropyLoss()\n  help: make one: MSELoss()",
        ),
        (
            lambda m: nn.Trainer(m, nn.MSELoss(), "adam"),
            "error[arguments]: the optimizer is 'adam', expected one such as "
            "nn.optim.Adam(model.parameters())",
        ),
        (
            lambda m: nn.Trainer(m, nn.MSELoss(), nn.optim.SGD(m.parameters()), metrics=["acuracy"]),
            "error[arguments]: there is no metric 'acuracy'\n  help: did you mean `accuracy`?",
        ),
        (
            lambda m: nn.Trainer(m, nn.MSELoss(), nn.optim.SGD(m.parameters()), metrics="accuracy"),
            "error[arguments]: metrics is 'accuracy', expected a list\n  help: write metrics=['accuracy']",
        ),
        (
            lambda m: nn.Trainer(m, nn.MSELoss(), nn.optim.SGD(m.parameters()), on_nan="stop"),
            "error[arguments]: Trainer: on_nan is 'stop', expected raise, skip or ignore",
        ),
        (
            lambda m: nn.Trainer(m, nn.MSELoss(reduction="none"), nn.optim.SGD(m.parameters())).fit(
                X, X[:, :2], progress=False
            ),
            "error[training]: the loss is <symbolic squared_error_1: f32[32, 2]>, expected one float\n"
            "  help: reduce it, such as with texpr.ops.mean_all",
        ),
    ],
)
def test_trainers_refuse(make, text: str):
    assert complaint(lambda: make(nn.Linear(5, 2))) == text
