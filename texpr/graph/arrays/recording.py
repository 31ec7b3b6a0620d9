"""Recording of operators on tensors: in a program that is captured, and for gradients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

active_capture: ContextVar[Any] = ContextVar("texpr_active_capture", default=None)
"""The `graph.capture.Capture` whose `with` block is running, or None: operators on variables
alone belong to it too.
"""
recording_variable: ContextVar[bool] = ContextVar("texpr_recording", default=True)


def is_recording() -> bool:
    """True unless gradients are switched off: in a block of `no_grad`."""
    return recording_variable.get()


@contextmanager
def recording(wanted: bool) -> Iterator[None]:
    """Within the block, gradients flow through what is computed, or they do not."""
    before = recording_variable.set(wanted)
    try:
        yield
    finally:
        recording_variable.reset(before)
