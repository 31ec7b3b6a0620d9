"""Learning rates over time, with torch.optim.lr_scheduler's names, formulas and defaults: the same
numbers, bit for bit.

A scheduler changes the options of an optimizer's groups; call `step()` after each epoch, or after
each batch where that is meant. Nothing is compiled anew. `nn.callbacks.LearningRate(scheduler)`
does so in `Trainer.fit`.
"""

from texpr.nn.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from texpr.nn.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from texpr.nn.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from texpr.nn.optim.lr_scheduler.factors import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from texpr.nn.optim.lr_scheduler.plateau import ReduceLROnPlateau
from texpr.nn.optim.lr_scheduler.scheduler import LRScheduler
from texpr.support.suggest import suggest_names

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

suggest_names(__name__)
