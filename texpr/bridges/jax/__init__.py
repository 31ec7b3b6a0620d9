"""Operators inside JAX: XLA calls their kernels, and JAX differentiates and batches them by the
operators that are derived from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late

if TYPE_CHECKING:
    from texpr.bridges.jax.jax_operator import op

__all__ = ["op"]

offer_late(__name__)
