"""Activation checkpointing of modules."""

from __future__ import annotations

from typing import TypeVar

from texpr.graph.capture.variable import Structures
from texpr.nn.core.module import Module
from texpr.support.errors import CallError

M = TypeVar("M", bound=Module)


def checkpoint(module: M, enabled: bool = True) -> M:
    """Let gradients compute what is inside of a module again, rather than keep it from the forward
    pass: less memory, at the price of a second forward pass.

    A deep network of blocks that are each checkpointed keeps the inputs of blocks, and the inside
    of one of them. The last block is not computed again, since its gradient begins at once. Where
    an optimizer changes the parameters in the same step, they have no second arrays. Values and gradients stay the same; names in `state_dict` too. It holds for
    `Trainer`, `TrainingStep` and functions under `tx.jit` that call `backward()`, in training mode.
    Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016.

    Args:
        module: is changed.
        enabled: False keeps what is inside again.
    Raises:
        CallError: it is no module.
    Example:
        >>> blocks = [nn.utils.checkpoint(nn.Sequential(nn.Linear(4, 4), nn.Tanh())) for _ in range(3)]
        >>> model = nn.Sequential(*blocks)
        >>> step = nn.TrainingStep(model, nn.MSELoss(), nn.optim.SGD(model.parameters(), lr=0.1))
        >>> x = np.ones((2, 4), np.float32)
        >>> step(x, x) > step(x, x)
        True
    """
    if not isinstance(module, Module):
        raise CallError(f"checkpoint: {module!r} is no module", code="arguments")
    object.__setattr__(module, "_recomputed", bool(enabled))
    Structures.change()
    return module
