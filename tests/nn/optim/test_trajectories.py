"""Optimizers and schedulers against what was stored of PyTorch (`scripts/optimizers.py
--record`).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.nn.core.test_module import complaint
from tests.nn.optimizer_table import OPTIMIZERS, SCHEDULERS, rates
from tests.nn.trajectories import schedule, trajectory
from texpr import nn

STORED = json.loads((Path(__file__).parents[1] / "optimizers.json").read_text())
FIRST = {text.partition("(")[0]: text for text in reversed(OPTIMIZERS)}


@pytest.mark.parametrize(
    "text", sorted({*FIRST.values(), *(t for t in OPTIMIZERS if "True" in t or "Adafactor" in t)})
)
def test_fifty_steps_end_where_torchs_do(text: str):
    np.testing.assert_allclose(trajectory(text)[-1], STORED[text], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("text", SCHEDULERS)
def test_rates_are_torchs_exactly(text: str):
    np.testing.assert_array_equal(schedule(text), STORED[text])


def test_lion():
    p, m = np.linspace(-1, 1, 6), np.zeros(6)
    target = np.array([1.0, -2.0, 0.5, 3.0, 0.0, -1.0])
    found = trajectory("Lion(p, lr=0.01, betas=(0.8, 0.9), weight_decay=0.1)")
    for step in range(50):
        g = 2 * (1.5 * p - target) * 1.5 / 6
        p, m = p * (1 - 0.001) - 0.01 * np.sign(0.8 * m + 0.2 * g), 0.9 * m + 0.1 * g
        np.testing.assert_allclose(found[step], p, rtol=1e-10, atol=1e-12)


def optimizer() -> nn.optim.SGD:
    return nn.optim.SGD([nn.Parameter(np.zeros(1))], lr=0.1, momentum=0.7)


@pytest.mark.parametrize(
    "text",
    [
        "OneCycleLR(o, 0.5, total_steps=41)",
        "CosineAnnealingWarmRestarts(o, 4, 2)",
        "SequentialLR(o, [ConstantLR(o, 0.1, 20), StepLR(o, 2)], [4])",
        "ReduceLROnPlateau(o, patience=2)",
    ],
)
def test_schedules_go_on_from_their_state(text: str):
    whole = schedule(text)
    o = optimizer()
    names = {**vars(nn.optim.lr_scheduler), "o": o}
    scheduler = eval(text, names)
    rates(scheduler, o)
    state, options = json.loads(
        json.dumps([scheduler.state_dict(), {k: v for k, v in o.param_groups[0].items() if k != "params"}])
    )
    again = optimizer()
    other = eval(text, {**names, "o": again})
    again.param_groups[0].update(options)
    other.load_state_dict(state)
    assert other.get_last_lr() == scheduler.get_last_lr() and again.lr == o.lr
    assert len(whole) == 40


def test_the_callback_changes_the_rate_of_a_fit():
    model = nn.Sequential(nn.Linear(2, 1))
    o = nn.optim.SGD(model.parameters(), lr=0.1)
    trainer = nn.Trainer(model, nn.MSELoss(), o)
    halve = nn.callbacks.LearningRate(nn.optim.lr_scheduler.ExponentialLR(o, 0.5))
    trainer.fit(np.ones((4, 2)), np.ones((4, 1)), epochs=3, progress=False, callbacks=[halve])
    assert o.lr == 0.1 * 0.5 * 0.5 * 0.5
    with pytest.raises(tx.CallError) as caught:
        plateau = nn.callbacks.LearningRate(nn.optim.lr_scheduler.ReduceLROnPlateau(o))
        trainer.fit(np.ones((4, 2)), np.ones((4, 1)), progress=False, callbacks=[plateau])
    assert (
        str(caught.value)
        == "error[arguments]: LearningRate: `val_loss` is not measured\n  help: measured are loss, lr"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("StepLR(o, 0)", "StepLR: step_size is 0, expected an integer of at least 1"),
        ("StepLR(3, 1)", "StepLR: 3 is no optimizer"),
        ("LinearLR(o, 0.0)", "LinearLR: start_factor is 0, expected a number above 0"),
        ("ConstantLR(o, 1.5)", "ConstantLR: factor is 1.5, expected a number from 0 to 1"),
        ("OneCycleLR(o, 0.1)", "OneCycleLR: neither total_steps nor epochs and steps_per_epoch are given"),
        (
            "CyclicLR(a, 0.1, 0.2)",
            "CyclicLR: Adagrad has neither momentum nor betas\n  help: cycle_momentum=False leaves them "
            "alone",
        ),
        (
            "LambdaLR(o, [abs, abs])",
            "LambdaLR: lr_lambda is [<built-in function abs>, <built-in function abs>], expected a function, "
            "or one "
            "per group",
        ),
        (
            "SequentialLR(o, [ExponentialLR(o, 0.9)], [3])",
            "SequentialLR: 1 schedulers and 1 milestones, expected one less",
        ),
        (
            "ReduceLROnPlateau(o, 'least')",
            "ReduceLROnPlateau: mode and threshold_mode are 'least' and 'rel', expected min or max and rel "
            "or abs",
        ),
        (
            "CosineAnnealingLR(o, 3, last_epoch=2)",
            "CosineAnnealingLR: last_epoch is 2, and no group has an initial_lr\n"
            "  help: load the state of the optimizer first",
        ),
    ],
)
def test_refused(text: str, expected: str):
    names = {
        **vars(nn.optim.lr_scheduler),
        "o": optimizer(),
        "a": nn.optim.Adagrad([nn.Parameter(np.zeros(1))]),
    }
    assert complaint(lambda: eval(text, names)) == f"error[arguments]: {expected}"
