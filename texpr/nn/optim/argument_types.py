"""Types of optimizers' arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from texpr.nn.core.parameter import Parameter

Params = Iterable[Parameter] | Iterable[Mapping[str, Any]]
"""Parameters, or groups of them with options."""

Betas = tuple[float, float]
"""Decay rates of two running means per step."""
