"""What optimizers take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from texpr.nn.core.parameter import Parameter

Params = Iterable[Parameter] | Iterable[Mapping[str, Any]]
"""Parameters, or groups of them with options."""

Betas = tuple[float, float]
"""What is kept of two running means in a step."""
