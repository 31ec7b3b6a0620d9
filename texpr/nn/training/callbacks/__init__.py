"""Callbacks of `Trainer.fit`: functions `f(trainer, epoch, values)`, called after each epoch, or
objects with methods for more events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from texpr.nn.training.callbacks.callback import Callback, Listener, as_callback
    from texpr.nn.training.callbacks.stopping import EarlyStopping, LearningRate
    from texpr.nn.training.callbacks.writers import Checkpoint, CSVLog, JSONLog, Plot, TensorBoard

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
offer_late(__name__)
