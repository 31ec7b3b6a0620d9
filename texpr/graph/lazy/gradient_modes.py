"""Blocks in which gradients are recorded, or not."""

from __future__ import annotations

from contextlib import AbstractContextManager

from texpr.graph.arrays.recording import recording
from texpr.support.errors import CallError


def no_grad() -> AbstractContextManager[None]:
    """Block in which no gradient flows through what is computed. It decorates functions, too.

    Example:
        >>> x = tx.ones(2, requires_grad=True)
        >>> with tx.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """
    return recording(False)


def enable_grad() -> AbstractContextManager[None]:
    """Block in which gradients flow, inside of one of `no_grad`. It decorates functions, too.

    Example:
        >>> x = tx.ones(2, requires_grad=True)
        >>> with tx.no_grad(), tx.enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True
    """
    return recording(True)


def set_grad_enabled(mode: bool) -> AbstractContextManager[None]:
    """Block in which gradients flow, or do not. It does nothing unless it is a block or a decorator.

    Args:
        mode: True if they do.
    Raises:
        CallError: `mode` is not a truth value.
    Example:
        >>> x = tx.ones(2, requires_grad=True)
        >>> for training in (True, False):
        ...     with tx.set_grad_enabled(training):
        ...         print((x * 2).requires_grad)
        True
        False
    """
    if not isinstance(mode, bool):
        raise CallError(
            f"set_grad_enabled of {mode!r}", code="arguments", help="with tx.set_grad_enabled(True): ..."
        )
    return recording(mode)
