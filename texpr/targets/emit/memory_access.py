"""Loads and stores of tensors."""

from __future__ import annotations

from texpr.targets.emit.stores import Stores
from texpr.targets.emit.strided_loads import StridedLoads


class Accesses(StridedLoads, Stores):
    """Adds loads and stores to expressions."""
