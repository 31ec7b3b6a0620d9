"""Calls of modules on arrays: a plan, and how its results are nested."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from texpr.graph import Plan
from texpr.graph.capture.capture import Capture
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.execution.placement import to_host
from texpr.graph.execution.plan_records import Origin
from texpr.ir.dtypes import DType, readable
from texpr.nn.core import pytree
from texpr.support.frozen_dataclass import frozen


@frozen
class CompiledCall:
    """A compiled forward pass, and how its results are nested."""

    plan: Plan
    nesting: pytree.Skeleton
    dtypes: tuple[DType, ...]

    @staticmethod
    def of(
        capture: Capture, outputs: Any, results: Sequence[Symbolic], prepack: bool, origin: Origin | None
    ) -> CompiledCall:
        """The call of a module that was captured.

        Args:
            outputs: what it gave, nested, and `results` the tensors in there.
            origin: what it was captured from, if that is known.
        """
        nesting = pytree.skeleton(outputs)
        note = _written(outputs) if origin is not None else None
        plan = Plan(
            capture, results, prepack=prepack, origin=None if note is None else origin, note=json.dumps(note)
        )
        return CompiledCall(plan, nesting, tuple(r.dtype for r in results))

    @staticmethod
    def found(origin: Origin) -> CompiledCall | None:
        """The call that was kept for an origin."""
        found = Plan.found(origin)
        if found is None:
            return None
        plan, note = found
        try:
            nesting = pytree.skeleton(_read(json.loads(note)))
        except (ValueError, TypeError):
            return None
        dtypes = plan.result_dtypes
        return CompiledCall(plan, nesting, dtypes) if nesting.values.count(None) == len(dtypes) else None

    def __call__(self, arrays: Sequence[np.ndarray]) -> Any:
        return pytree.rebuild(self.nesting, map(readable, map(to_host, self.plan(*arrays)), self.dtypes))


_KINDS: dict[str, type] = {"tuple": tuple, "list": list}


def _written(tree: Any) -> object:
    """Nested results as JSON: 0 for a tensor; None where there is something else among them."""
    if type(tree) in _KINDS.values():
        parts = [_written(x) for x in tree]
        return None if None in parts else [type(tree).__name__, *parts]
    return 0 if isinstance(tree, Symbolic) else None


def _read(written: Any) -> Any:
    """Nested results with arrays as tensors.

    Raises:
        ValueError: it is nothing that `_written` gives.
    """
    match written:
        case 0:
            return np.empty(0)
        case [("tuple" | "list") as kind, *parts]:
            return _KINDS[kind](map(_read, parts))
    raise ValueError(f"no results: {written!r:.80}")
