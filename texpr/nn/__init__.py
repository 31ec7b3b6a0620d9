"""Neural networks: names, argument order, formulas and weight layouts of torch.nn, and a Keras-like Trainer above.

A module is a shell around operators of `texpr.ops`: called on arrays or trained, it is captured as a Program (`texpr.graph`), so that
forward, backward and the optimizer's update are one compiled plan. NumPy holds data; it computes nothing but metrics.
"""

from texpr.nn import callbacks, init, optim
from texpr.nn.activations import Identity, ReLU, Sigmoid, Softmax, Tanh
from texpr.nn.callbacks import EarlyStopping
from texpr.nn.checkpoint import load, save
from texpr.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from texpr.nn.dropout import Dropout
from texpr.nn.history import History
from texpr.nn.init import manual_seed
from texpr.nn.layers import Conv2d, Flatten, Linear, MaxPool2d
from texpr.nn.losses import CrossEntropyLoss, Loss, MSELoss
from texpr.nn.module import Module
from texpr.nn.parameter import Buffer, Parameter
from texpr.nn.summary import summary
from texpr.nn.trainer import Trainer
from texpr.nn.training import TrainingStep

__all__ = [
    "Buffer", "Conv2d", "CrossEntropyLoss", "Dropout", "EarlyStopping", "Flatten", "History", "Identity", "Linear", "Loss", "MSELoss",
    "MaxPool2d", "Module", "ModuleDict", "ModuleList", "Parameter", "ParameterDict", "ParameterList", "ReLU", "Sequential", "Sigmoid",
    "Softmax", "Tanh", "Trainer", "TrainingStep", "callbacks", "init", "load", "manual_seed", "optim", "save", "summary",
]
