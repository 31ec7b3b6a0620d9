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


class AveragedModel(Module):
    """A copy of a model that `update_parameters` moves towards it; its parameters are means over
    the models it has seen.

    The first update copies; then p = p + (1 - decay) * (model's p - p), an exponential moving
    average; or, where decay is None, each model counts the same. Izmailov et al., Averaging Weights
    Leads to Wider Optima, 2018. Buffers are copied unless `use_buffers`.
    """

    n_averaged: Buffer

    def __init__(self, model: Module, decay: float | None = None, use_buffers: bool = False) -> None:
        super().__init__()
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
