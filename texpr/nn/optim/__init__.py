"""Optimizers, with torch.optim's names, formulas and defaults. Their updates are operators (`texpr/ops/optimize.tx`)."""

from texpr.nn.optim.adam import Adam, AdamW
from texpr.nn.optim.optimizer import Optimizer
from texpr.nn.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
