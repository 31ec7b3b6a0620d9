"""Hooks and observers around a `forward`, and the name of the layer in complaints."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from texpr.graph.capture.protocol import CaptureLike
from texpr.nn.core.protocol import ModuleLike
from texpr.nn.core.pytree import leaves
from texpr.support.errors import CallError
from texpr.support.tracebacks import forwards

Observer = Callable[[ModuleLike, tuple[Any, ...], Any, int, int], None]
"""Called after a forward with the module, its inputs and outputs, and which equations of the
capture are its own.
"""

_observer: ContextVar[Observer | None] = ContextVar("texpr_nn_observer", default=None)


Hook = Callable[..., Any]


class Handle:
    """A hook that is registered, until `remove`."""

    def __init__(self, registry: dict[Handle, Hook], hook: Hook) -> None:
        self._registry = registry
        registry[self] = hook

    def remove(self) -> None:
        """Register the hook no longer."""
        self._registry.pop(self, None)


def run_forward(
    module: ModuleLike, capture: CaptureLike, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Run `forward` and the hooks around it, tell the observer, and add the module's name to
    complaints.
    """
    before = len(capture.equations)
    try:
        with capture.made_by(module):
            outputs = _with_hooks(module, inputs, options)
        if module._recomputed and module.training:
            capture.recompute(before, leaves(outputs))
    except CallError as error:
        if not any(note.startswith("in the layer ") for note in error.notes):
            # The first line of a module's text: it goes on with all modules inside.
            name = repr(module).split("\n", 1)[0].removesuffix("(")
            error.notes = (*error.notes, f"in the layer {name}")
        raise
    observer = _observer.get()
    if observer is not None:
        observer(module, inputs, outputs, before, len(capture.equations))
    return outputs


@forwards
def _with_hooks(module: ModuleLike, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    for hook in tuple(module._pre_hooks.values()):
        changed = hook(module, inputs)
        if changed is not None:
            inputs = changed if isinstance(changed, tuple) else (changed,)
    outputs = module.forward(*inputs, **options)
    for hook in tuple(module._hooks.values()):
        changed = hook(module, inputs, outputs)
        outputs = outputs if changed is None else changed
    return outputs


def is_watched(module: ModuleLike) -> bool:
    """True if somebody sees each forward of a module, or changes it."""
    return bool(module._hooks or module._pre_hooks) or _observer.get() is not None


def observe(observer: Observer, run: Callable[[], Any]) -> Any:
    """Run with an observer."""
    token = _observer.set(observer)
    try:
        return run()
    finally:
        _observer.reset(token)
