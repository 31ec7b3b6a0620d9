"""Who is computing: the path of the module whose `forward` runs, for messages and for summaries."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from texpr.graph import Capture
from texpr.support.errors import CallError

if TYPE_CHECKING:
    from texpr.nn.module import Module

Observer = Callable[["Module", tuple[Any, ...], Any, int, int], None]
"""Called after a forward with the module, its inputs and outputs, and which equations of the capture are its own."""

_observer: ContextVar[Observer | None] = ContextVar("texpr_nn_observer", default=None)


def observed(module: Module, capture: Capture, inputs: tuple[Any, ...]) -> Any:
    """Run `forward`, tell the observer, and add the module's name to complaints."""
    before = len(capture.equations)
    try:
        outputs = module.forward(*inputs)
    except CallError as error:
        if not any(note.startswith("in the layer ") for note in error.notes):
            error.notes = (*error.notes, f"in the layer {module!r}")
        raise
    observer = _observer.get()
    if observer is not None:
        observer(module, inputs, outputs, before, len(capture.equations))
    return outputs


def observe(observer: Observer, run: Callable[[], Any]) -> Any:
    """Run with an observer."""
    token = _observer.set(observer)
    try:
        return run()
    finally:
        _observer.reset(token)
