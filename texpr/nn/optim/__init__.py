"""Optimizers, with torch.optim's names, formulas and defaults. Their updates are operators (`texpr/ops/optimize.tx`)."""

from texpr.nn.optim import lr_scheduler
from texpr.nn.optim.adam import Adam, Adamax, AdamW, Lion, NAdam, RAdam
from texpr.nn.optim.adaptive import ASGD, Adadelta, Adagrad, RMSprop, Rprop
from texpr.nn.optim.averaged import AveragedModel
from texpr.nn.optim.optimizer import Optimizer
from texpr.nn.optim.sgd import SGD

__all__ = ["ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "AveragedModel", "Lion", "NAdam", "Optimizer", "RAdam",
           "RMSprop", "Rprop", "lr_scheduler"]
