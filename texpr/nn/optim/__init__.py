"""Optimizers, with torch.optim's names, formulas and defaults. Their updates are operators
(`texpr/ops/library/optimize.tx`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from texpr.nn.optim import lr_scheduler
    from texpr.nn.optim.adafactor import Adafactor
    from texpr.nn.optim.adam import Adam, Adamax, AdamW, Lion, NAdam, RAdam, SparseAdam
    from texpr.nn.optim.adaptive import ASGD, Adadelta, Adagrad, RMSprop, Rprop
    from texpr.nn.optim.averaged import AveragedModel
    from texpr.nn.optim.lbfgs import LBFGS
    from texpr.nn.optim.muon import Muon
    from texpr.nn.optim.optimizer import Optimizer
    from texpr.nn.optim.sgd import SGD

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "AveragedModel",
    "Lion",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
]

_ABSENT = {"swa_utils": "AveragedModel is in texpr.nn.optim itself"}
suggest_names(__name__, _ABSENT)
offer_late(__name__)
