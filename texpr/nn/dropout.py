"""Dropout, whose masks are functions of a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.nn import init
from texpr.nn.arguments import number
from texpr.nn.module import Module
from texpr.nn.parameter import Buffer


class Dropout(Module):
    """In training, every element is 0 with probability p, else divided by 1 - p; in evaluation, nothing happens.

    The mask is a function of `seed`, a u64 that every training step (and every call in training mode) increases by one. The first seed is
    drawn when the layer is made, so `nn.manual_seed` repeats all masks, whatever the schedules and the threads are.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = number("Dropout", "p", p, 0.0, 1.0)
        self.seed = Buffer(init.generator().integers(1 << 63, dtype=np.uint64), persistent=False, name="seed")

    def forward(self, x: Any) -> Any:
        if not self.training or self.p == 0:
            return x
        capture = x.capture
        seed = capture.latest(self.seed)
        capture.assign(self.seed, ops.next_seed(seed))
        return ops.dropout(x, seed, p=self.p)

    def extra_repr(self) -> str:
        return f"p={self.p:g}"
