"""LinearCrossEntropyLoss: what a linear layer and cross entropy give, chunk by chunk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from texpr import nn

ROWS, FEATURES, CLASSES = 20, 6, 11
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(ROWS, FEATURES))
T = RANDOM.integers(0, CLASSES, ROWS)
T[3:6] = -100


def pair(**options: object) -> tuple[nn.LinearCrossEntropyLoss, nn.CrossEntropyLoss]:
    nn.manual_seed(1)
    bias = bool(options.pop("bias", False))
    chunked = nn.LinearCrossEntropyLoss(FEATURES, CLASSES, bias, chunk=7, dtype="f64", **options)  # type: ignore[arg-type]
    return chunked, nn.CrossEntropyLoss(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bias": True},
        {"reduction": "sum"},
        {"label_smoothing": 0.2, "bias": True},
        {"weight": np.linspace(0.5, 2, CLASSES), "ignore_index": 4},
    ],
    ids=str,
)
def test_values_and_gradients(options: dict):
    loss, plain = pair(**dict(options))
    target = np.where(T == -100, options.get("ignore_index", -100), T)
    results = []
    for function in (loss, lambda x, t: plain(loss.linear(x), t)):
        for p in loss.parameters():
            p.grad = None
        x = tx.tensor(X, requires_grad=True)
        value = function(x, tx.tensor(target)) * 3.0
        value.backward()
        results.append([value.numpy(), x.grad.numpy(), *(p.grad.numpy() for p in loss.parameters())])
    # One sum of 20 terms in another order: 20 roundings of f64 of numbers below 10.
    for found, wanted in zip(*results, strict=True):
        assert np.allclose(found, wanted, rtol=1e-13, atol=1e-14)


def test_one_chunk_and_no_reduction_are_the_plain_loss():
    loss, plain = pair(reduction="none")
    assert np.allclose(loss(X, T), plain(loss.linear(X), T))
    whole = nn.LinearCrossEntropyLoss(FEATURES, CLASSES, dtype="f64")
    assert np.allclose(whole(X, T), nn.CrossEntropyLoss()(whole.linear(X), T))
    words, targets = X.reshape(4, 5, FEATURES), T.reshape(4, 5)
    assert np.allclose(whole(words, targets), whole(X, T))


def trained(chunk: int | None, **options: object) -> tuple[nn.Trainer, nn.LinearCrossEntropyLoss]:
    nn.manual_seed(2)
    model = nn.Linear(FEATURES, FEATURES, dtype="f64")
    loss = nn.LinearCrossEntropyLoss(FEATURES, CLASSES, chunk=chunk, dtype="f64")
    optimizer = nn.optim.SGD([*model.parameters(), *loss.parameters()], lr=0.5)
    trainer = nn.Trainer(model, loss, optimizer)
    trainer.fit(X, T, epochs=3, batch_size=20, progress=False, **options)  # type: ignore[arg-type]
    return trainer, loss


@pytest.mark.parametrize("options", [{}, {"sample_weight": RANDOM.random(ROWS)}], ids=["alike", "weighed"])
def test_trainings_are_those_of_the_plain_loss(options: dict):
    (chunked, loss), (whole, other) = trained(6, **options), trained(None, **options)
    assert np.allclose(chunked.history["loss"], whole.history["loss"], rtol=1e-12)
    assert np.allclose(loss.linear.weight.data, other.linear.weight.data, rtol=1e-11)
    found = chunked.evaluate(X, T)["loss"]
    assert found == pytest.approx(float(nn.CrossEntropyLoss()(loss.linear(chunked.predict(X)), T)))


def test_weights_of_examples_and_of_words():
    trainer, _ = trained(6)
    words, targets, weights = X.reshape(4, 5, FEATURES), T.reshape(4, 5), RANDOM.random((4, 5))
    for given in (weights[:, :1], weights):
        wanted = trainer.evaluate(X, T, sample_weight=np.broadcast_to(given, (4, 5)).ravel())["loss"]
        given = given.squeeze()
        assert trainer.evaluate(words, targets, sample_weight=given)["loss"] == pytest.approx(wanted)
    with pytest.raises(tx.CallError) as caught:
        trainer.evaluate(words, targets, sample_weight=weights[:, :4])
    assert str(caught.value) == (
        "error[shape]: sample_weight has shape [4, 4], the losses have [4, 5]\n"
        "  help: give a weight for each example, or for each element of the loss"
    )


def test_the_weight_is_saved_with_the_training(tmp_path: Path):
    trainer, loss = trained(6)
    trainer.save(tmp_path / "run.safetensors")
    again, other = trained(6)
    other.linear.weight.data[...] = 0
    again.load(tmp_path / "run.safetensors")
    assert np.array_equal(other.linear.weight.data, loss.linear.weight.data)


def test_metrics_of_features_are_refused():
    model = nn.Linear(FEATURES, FEATURES)
    loss = nn.LinearCrossEntropyLoss(FEATURES, CLASSES)
    trainer = nn.Trainer(model, loss, nn.optim.SGD(model.parameters()), ["accuracy"])
    with pytest.raises(tx.CallError) as caught:
        trainer.fit(X, T, progress=False)
    assert str(caught.value) == (
        "error[metric]: accuracy: outputs are [20, 6] and targets [20]: the outputs are features, which "
        "LinearCrossEntropyLoss makes logits of\n"
        "  help: call the metric on logits: metric(loss.linear(features), y)"
    )
    with pytest.raises(
        tx.CallError, match=r"the targets are f64\[20, 1\], expected class numbers of shape \[20\]"
    ):
        loss(X.astype("f4"), np.ones((20, 1)))


def intermediates(rows: int, chunk: int) -> int:
    """Bytes of the intermediate tensors of a step."""
    loss = nn.LinearCrossEntropyLoss(16, 4000, chunk=chunk)
    model = nn.Linear(16, 16)
    step = nn.TrainingStep(model, loss, nn.optim.SGD([*model.parameters(), *loss.parameters()]))
    return step.plan(((rows, 16), tx.ir.dtypes.F32), ((rows,), tx.ir.dtypes.I64)).arena.size


def test_memory_is_that_of_a_chunk():
    """Logits of 1024 x 4000 take 15.6 MiB, those of a chunk an eighth; a second chunk may be
    there beside it, but never all of them.
    """
    logits = 1024 * 4000 * 4
    chunked = intermediates(1024, 128)
    assert chunked < logits / 2 and intermediates(1024, 1024) > logits
    assert intermediates(2048, 128) < chunked + logits / 4, "more rows take no more chunks at once"


def test_places_and_probabilities():
    """Arguments as torch has them: losses of several places, targets that are probabilities."""
    random = np.random.default_rng(0)
    loss = nn.LinearCrossEntropyLoss(5, 3, out_features=(2, 4), ignore_index=None, dtype="f64", bias=True)
    x, target = random.standard_normal((6, 5)), random.integers(0, 3, (6, 2, 4))
    w, b = loss.linear.weight.numpy(), loss.linear.bias.numpy()
    logits = (x @ w.T + b).reshape(6, 3, 2, 4)
    assert loss(x, target) == pytest.approx(nn.CrossEntropyLoss()(logits, target))
    flat = nn.LinearCrossEntropyLoss(5, 3, dtype="f64", reduction="none")
    shares = random.dirichlet(np.ones(3), (2, 6))
    logits = np.stack([x, x]) @ flat.linear.weight.numpy().T
    expected = -(shares * (logits - np.log(np.exp(logits).sum(-1, keepdims=True)))).sum(-1)
    np.testing.assert_allclose(flat(np.stack([x, x]), shares), expected, rtol=1e-10)


def test_torchs_options():
    class Options:
        batch_chunk_size = 2

    assert nn.LinearCrossEntropyLoss(5, 3, options=Options(), device="cpu").chunk == 2
