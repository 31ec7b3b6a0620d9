"""Ctrl-C in the middle of an update, and failures: values, and all that counts updates, change
together or not at all.
"""

from __future__ import annotations

import signal

import numpy as np
import pytest

import texpr as tx
from texpr import nn, ops

X, Y = np.linspace(-1, 1, 40, dtype=np.float32).reshape(8, 5), np.arange(8) % 3


@pytest.fixture(autouse=True)
def handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Pressed:
    """A lazy tensor that waits for an old value: the user presses Ctrl-C when that is about to
    change.
    """

    def kept(self):
        signal.raise_signal(signal.SIGINT)


class PressedScale(nn.LossScale):
    def update(self, finite):
        super().update(finite)
        signal.raise_signal(signal.SIGINT)


def network() -> nn.Linear:
    nn.manual_seed(0)
    return nn.Linear(5, 3)


def test_a_step_by_hand_is_counted():
    model = network()
    optimizer, before = nn.optim.Adam(model.parameters()), model.weight.numpy().copy()
    ops.mean_all(model(tx.tensor(X))).backward()
    model.weight.leaf = Pressed()
    with pytest.raises(KeyboardInterrupt):
        optimizer.step()
    assert optimizer.steps == 1 and not np.array_equal(model.weight.numpy(), before)


def test_an_average_is_counted():
    model = network()
    mean = nn.optim.AveragedModel(model)
    model.weight.data[...] += 1
    weight = next(iter(mean.module.parameters()))
    weight.leaf = Pressed()
    with pytest.raises(KeyboardInterrupt):
        mean.update_parameters(model)
    assert mean.n_averaged.numpy() == 1 and np.array_equal(weight.numpy(), model.weight.numpy())


@pytest.mark.parametrize("accumulate", [1, 2])
def test_the_scale_of_the_loss_and_the_step_are_one(accumulate: int):
    model, scale = network(), PressedScale(growth_interval=1)
    step = nn.TrainingStep(
        model,
        nn.CrossEntropyLoss(),
        nn.optim.SGD(model.parameters(), lr=0.1),
        precision="f16",
        loss_scale=scale,
        accumulate=accumulate,
    )
    before = model.weight.numpy().copy()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(accumulate):
            step(X, Y)
    assert (scale.get_scale(), step.optimizer.steps, step.pending) == (2 * 65536.0, 1, 0)
    assert not np.array_equal(model.weight.numpy(), before)


class Sees:
    """A lazy tensor that waits for an old value, and notes the scale when that is about to
    change.
    """

    def __init__(self, scale):
        self.scale = scale

    def kept(self):
        self.seen = self.scale.get_scale()


def test_an_update_finds_the_scale_that_its_gradients_have():
    """Kernels that run last read it: it grows behind them."""
    model, scale = network(), nn.LossScale(growth_interval=1)
    step = nn.TrainingStep(
        model,
        nn.CrossEntropyLoss(),
        nn.optim.SGD(model.parameters(), lr=0.1),
        precision="f16",
        loss_scale=scale,
    )
    model.weight.leaf = sees = Sees(scale)
    step(X, Y)
    assert (sees.seen, scale.get_scale()) == (65536.0, 2 * 65536.0)


def test_a_batch_whose_update_fails_is_not_counted():
    class Fails:
        def kept(self):
            raise MemoryError

    model = network()
    trainer = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters()))
    model.weight.leaf = Fails()
    with pytest.raises(MemoryError):
        trainer.fit(X, Y, batch_size=4, progress=False)
    assert (trainer.position, trainer.optimizer.steps, trainer.step.pending) == (0, 0, 0)


def test_an_epoch_ends_as_one():
    """What is noted of it and that it is over: nothing comes in between."""
    model = network()
    trainer = nn.Trainer(model, nn.CrossEntropyLoss(), nn.optim.Adam(model.parameters()))
    add = nn.History.add

    def pressed(history, *values):
        add(history, *values)
        signal.raise_signal(signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(nn.History, "add", pressed)
        trainer.fit(X, Y, batch_size=4, progress=False)
    assert (trainer.history.epochs, trainer.epoch, trainer.position) == (1, 1, 0)
