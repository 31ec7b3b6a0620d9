"""Optimizers, with torch.optim's names, formulas and defaults. Their updates are operators (`texpr/ops/optimize.tx`)."""

from texpr.nn.optim import lr_scheduler
from texpr.nn.optim.adam import Adam, Adamax, AdamW, Lion, NAdam, RAdam
from texpr.nn.optim.adaptive import ASGD, Adadelta, Adagrad, RMSprop, Rprop
from texpr.nn.optim.averaged import AveragedModel
from texpr.nn.optim.optimizer import Optimizer
from texpr.nn.optim.sgd import SGD

__all__ = ["ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "AveragedModel", "Lion", "NAdam", "Optimizer", "RAdam",
           "RMSprop", "Rprop", "lr_scheduler"]

_ABSENT = {
    "LBFGS": "its step computes the loss as often as its line search needs, and a step here is one program; scipy.optimize.minimize takes "
             "a function that returns loss and gradients",
    "SparseAdam": "gradients are dense here, and Adam takes them",
}


def __getattr__(name: str) -> object:
    """Say why something that torch.optim has is not here."""
    reason = f": {_ABSENT[name]}" if name in _ABSENT else ""
    raise AttributeError(f"texpr.nn.optim has no {name}{reason}")
