"""Callbacks of `Trainer.fit`: functions `f(trainer, epoch, values)`, called after each epoch, or
objects with methods for more events.
"""

from texpr.nn.training.callbacks.callback import Callback, Listener, as_callback
from texpr.nn.training.callbacks.stopping import EarlyStopping, LearningRate
from texpr.nn.training.callbacks.writers import Checkpoint, CSVLog, JSONLog, Plot, TensorBoard
from texpr.support.suggest import suggest_names

__all__ = [
    "CSVLog",
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "JSONLog",
    "LearningRate",
    "Listener",
    "Plot",
    "TensorBoard",
    "as_callback",
]

suggest_names(__name__)
