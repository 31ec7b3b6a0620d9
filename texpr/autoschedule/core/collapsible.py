"""Loops that walk through memory as one loop would."""

from __future__ import annotations

from texpr.autoschedule.core.nest import Nest
from texpr.ir.build import integer
from texpr.ir.loop import For
from texpr.ir.traverse import variables


def are_one(nest: Nest, outer: For, inner: For) -> bool:
    """True if each access moves by one iteration of the outer loop as by all of the inner one, and
    no index condition names either loop: it would be computed for each element then.
    """
    if variables(*nest.conditions) & {outer.var, inner.var}:
        return False
    size = integer(inner.extent)
    steps = [(a.stride(outer.var), a.stride(inner.var)) for a in nest.accesses]
    return size is not None and all(
        far is not None and step is not None and far == step * size for far, step in steps
    )
