"""Models whose parameters are means over those of another one."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from texpr import ops
from texpr.graph import Capture, Plan
from texpr.nn.core.argument_checks import number
from texpr.nn.core.bounded_cache import LruCache
from texpr.nn.core.module import Module, structure
from texpr.nn.core.parameter import Buffer
from texpr.runtime.call.signal_guard import deferred_interrupts
from texpr.support.errors import CallError


class AveragedModel(Module):
    """Copy of a model whose parameters are means over the models that `update_parameters` has seen.

    The first update copies. Then `p = p + (1 - decay) (q - p)` with the model's parameter q, an
    exponential moving average; without `decay`, each model counts the same. Izmailov et al.,
    Averaging Weights Leads to Wider Optima, 2018.

    Args:
        model: the model that is copied.
        decay: the share of the old, at least 0 and below 1; None for plain means.
        use_buffers: average buffers of floats too; else they are copied.
    Attributes:
        module: the copy.
        n_averaged: the number of models that were seen.
    Shapes: those of the model.
    Raises:
        CallError: the model is no module, or `decay` is out of its range.
    Example:
        >>> model = nn.Linear(2, 1)
        >>> averaged = nn.optim.AveragedModel(model, decay=0.9)
        >>> averaged.update_parameters(model)
        >>> int(averaged.n_averaged.numpy())
        1
    """

    n_averaged: Buffer

    def __init__(self, model: Module, decay: float | None = None, use_buffers: bool = False) -> None:
        super().__init__()
        if not isinstance(model, Module):
            raise CallError(
                f"AveragedModel: the model is {model!r}, expected a module",
                code="arguments",
                help=f"make one: {model.__name__}(...)" if isinstance(model, type) else "",
            )
        self.module = copy.deepcopy(model)
        self.decay = None if decay is None else number("AveragedModel", "decay", decay, 0.0, 1.0)
        self.use_buffers = bool(use_buffers)
        self.register_buffer("n_averaged", np.int64(0))
        self._share = Buffer(np.float64(1), persistent=False, name="share")
        self._updates: LruCache[Plan] = LruCache()

    def forward(self, *inputs: Any, **options: Any) -> Any:
        return self.module(*inputs, **options)

    def update_parameters(self, model: Module) -> None:
        """Take in the model as it is now; it has the same structure."""
        count = int(self.n_averaged.numpy())
        self._share.data[...] = (
            1.0 if count == 0 else 1 / (count + 1) if self.decay is None else 1 - self.decay
        )
        plan = self._updates.get_or_make(
            (structure(self.module), structure(model)), lambda: self._captured(model)
        )
        plan.compute()
        with deferred_interrupts:
            plan.commit()
            self.n_averaged.data[...] = count + 1
            if not self.use_buffers:
                for own, other in zip(self.module.buffers(), model.buffers()):
                    own.data = other.data

    def _captured(self, model: Module) -> Plan:
        capture = Capture("average")
        pairs = [*zip(self.module.parameters(), model.parameters(), strict=True)]
        pairs += [
            p for p in zip(self.module.buffers(), model.buffers()) if self.use_buffers and p[0].dtype.is_float
        ]
        with capture:
            for own, other in pairs:
                share = capture.variable(self._share).astype(own.dtype)
                capture.assign(own, ops.lerp(own, other, share))  # type: ignore[arg-type]
        return Plan(capture, [])
