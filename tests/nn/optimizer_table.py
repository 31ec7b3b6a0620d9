"""Optimizers and schedulers as texts that mean the same in texpr.nn.optim and torch.optim.

`tests/nn/optim/test_trajectories.py` compares them with what was stored of torch,
`scripts/optimizers.py` with torch itself.
"""

from __future__ import annotations

import numpy as np

STEPS = 50
START, FACTOR = np.linspace(-1, 1, 6).reshape(2, 3), 1.5
TARGET = np.array([[1.0, -2.0, 0.5], [3.0, 0.0, -1.0]])
"""The loss is the mean of (FACTOR * p - TARGET)^2."""

OPTIMIZERS = (
    "SGD(p, lr=0.1)",
    "SGD(p, lr=0.1, weight_decay=0.3)",
    "SGD(p, 0.05, momentum=0.9, weight_decay=0.1)",
    "SGD(p, 0.05, 0.9, 0.4)",
    "SGD(p, 0.05, momentum=0.8, nesterov=True)",
    "SGD(p, 0.01, maximize=True)",
    "Adam(p, lr=0.05)",
    "Adam(p, 0.05, (0.8, 0.9), 1e-4, 0.2)",
    "Adam(p, 0.05, amsgrad=True)",
    "Adam(p, 0.05, maximize=True)",
    "AdamW(p, lr=0.05)",
    "AdamW(p, lr=0.05, weight_decay=0.3, amsgrad=True)",
    "Adamax(p, lr=0.05, weight_decay=0.1)",
    "NAdam(p, lr=0.05)",
    "NAdam(p, lr=0.05, weight_decay=0.1, decoupled_weight_decay=True)",
    "RAdam(p, lr=0.05)",
    "RAdam(p, lr=0.05, betas=(0.8, 0.9), weight_decay=0.1)",
    "RAdam(p, lr=0.05, weight_decay=0.1, decoupled_weight_decay=True)",
    "RMSprop(p)",
    "RMSprop(p, 0.02, alpha=0.9, weight_decay=0.1, momentum=0.8)",
    "RMSprop(p, 0.02, centered=True)",
    "RMSprop(p, 0.02, momentum=0.5, centered=True)",
    "Adagrad(p, lr=0.3)",
    "Adagrad(p, 0.3, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5)",
    "Adadelta(p)",
    "Adadelta(p, lr=3.0, rho=0.8, weight_decay=0.1)",
    "Rprop(p)",
    "Rprop(p, 0.1, etas=(0.4, 1.3), step_sizes=(1e-3, 0.5))",
    "ASGD(p, 0.05)",
    "SparseAdam(p, lr=0.05)",
    "SparseAdam(p, 0.05, (0.8, 0.9), 1e-4, maximize=True)",
    "Adafactor(p, lr=0.3)",
    "Adafactor(p, 0.1, -0.5, (1e-3, 1e-2), 1.5, 0.2)",
    "LBFGS(p, 0.3, max_iter=2, history_size=3)",
    "LBFGS(p, max_iter=3, line_search_fn='strong_wolfe')",
    "LBFGS(p, 4.0, max_iter=1, line_search_fn='strong_wolfe')",
    "ASGD(p, 0.05, lambd=0.01, alpha=0.5, t0=10, weight_decay=0.1)",
)
EPOCHS = 40
SCHEDULERS = (
    "StepLR(o, 3, 0.5)",
    "MultiStepLR(o, [2, 5, 5, 20], 0.3)",
    "ConstantLR(o, 0.25, 7)",
    "LinearLR(o)",
    "LinearLR(o, 0.2, 0.8, 9)",
    "ExponentialLR(o, 0.9)",
    "PolynomialLR(o, 11, 2.0)",
    "CosineAnnealingLR(o, 7, 0.01)",
    "CosineAnnealingWarmRestarts(o, 4, 2, 0.001)",
    "LambdaLR(o, lambda epoch: 0.95 ** epoch)",
    "MultiplicativeLR(o, lambda epoch: 0.9 if epoch % 2 else 1.05)",
    "OneCycleLR(o, 0.5, total_steps=41)",
    "OneCycleLR(o, 0.5, epochs=6, steps_per_epoch=7, anneal_strategy='linear', three_phase=True)",
    "CyclicLR(o, 0.01, 0.3, 4)",
    "CyclicLR(o, 0.01, 0.3, 3, 5, mode='triangular2')",
    "CyclicLR(o, 0.01, 0.3, 4, mode='exp_range', gamma=0.95)",
    "CyclicLR(o, 0.01, 0.3, 4, cycle_momentum=False, scale_fn=lambda x: 1 / (5 ** (x * 0.0001)), "
    "scale_mode='iterations')",
    "SequentialLR(o, [LinearLR(o, 0.1, 1.0, 5), ExponentialLR(o, 0.9)], [5])",
    "SequentialLR(o, [ConstantLR(o, 0.1, 20), StepLR(o, 2), CosineAnnealingLR(o, 10)], [4, 12])",
    "ChainedScheduler([ConstantLR(o, 0.5, 4), ExponentialLR(o, 0.9)])",
    "ReduceLROnPlateau(o, patience=2, cooldown=1)",
    "ReduceLROnPlateau(o, 'max', 0.5, 1, threshold_mode='abs', min_lr=0.01)",
)
METRICS = [abs(np.sin(k * 0.7)) + 1 / (k + 1) for k in range(EPOCHS)]
"""What ReduceLROnPlateau looks at."""


def rates(scheduler: object, optimizer: object) -> list[list[float]]:
    """The learning rate and the momentum in each epoch."""
    found = []
    for metric in METRICS:
        group = optimizer.param_groups[0]  # type: ignore[attr-defined]
        found.append([float(group["lr"]), float(group["momentum"])])
        scheduler.step(metric) if "Plateau" in type(scheduler).__name__ else scheduler.step()  # type: ignore[attr-defined]
    return found
