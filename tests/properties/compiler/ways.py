"""One operator, computed in every way there is."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.compare import assert_same_bits
from texpr.ir.shapes import bind_sizes
from texpr.runtime.process import qemu

WAYS = ["naive", "default", "symbolic", "vectors", "tails", "aarch64", "gpu"]
"""Loops as written; what a call compiles; that for symbolic sizes; vectors with masks, or with a
rest; other machines.
"""


def computed(way: str, op: tx.Op, *arrays: object, **constants: object) -> tuple[np.ndarray, ...]:
    """What the operator gives. Tests of ways that this machine lacks are skipped."""
    match way:
        case "default":
            return _several(op(*arrays, **constants))
        case "symbolic":
            return _several(tx.schedule(op, **constants).auto().compile()(*arrays))
    scheduled = tx.schedule(op, **constants, **_extents(op, arrays, constants))
    match way:
        case "naive":
            result = scheduled.compile()(*arrays)
        case "vectors":
            result = _vectorized(scheduled, None).compile()(*arrays)
        case "tails":
            result = _vectorized(scheduled, "peel").compile()(*arrays)
        case "aarch64" if tool := qemu.missing_tool():
            pytest.skip(f"{tool} is not installed")
        case "aarch64":
            result = scheduled.auto("aarch64").compile("aarch64").emulate(*arrays)
        case _:
            result = scheduled.auto("sm_80").compile("sm_80").emulate(*arrays)
    return _several(result)


def _several(result: object) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(r) for r in (result if isinstance(result, tuple) else (result,)))


def _extents(op: tx.Op, arrays: tuple[object, ...], constants: dict[str, object]) -> dict[str, int]:
    """The sizes by name; packs are left open."""
    inputs = op.program(constants=constants).inputs[: len(arrays)]
    return {v.name: n for v, n in bind_sizes(inputs, [np.shape(a) for a in arrays])[0].items() if not v.pack}  # type: ignore[arg-type]


def _vectorized(scheduled: tx.Schedule, tail: str | None) -> tx.Schedule:
    """Every loop that may become a vector, as one: whole with masks, or in pieces of 4 with a
    rest.
    """
    for loop in [str(handle.name) for handle in scheduled.loops]:
        try:
            if tail is None:
                scheduled.vectorize(loop)
            else:
                scheduled.split(loop, 4, tail=tail)
                scheduled.vectorize(f"{loop}i")
        except tx.Error:
            continue
    return scheduled


def assert_everywhere(way: str, op: tx.Op, *arrays: object, ulps: int = 0, **constants: object) -> None:
    """The bits of the interpreter; or as many units in the last place of the largest element
    next to them.
    """
    found = computed(way, op, *arrays, **constants)
    with np.errstate(all="ignore"):
        expected = tx.interpret(op, *arrays, **constants)
    for a, b in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        if ulps == 0 or b.dtype.kind != "f":
            assert_same_bits(a, np.asarray(b))
            continue
        finite = np.isfinite(b)
        np.testing.assert_array_equal(a[~finite], b[~finite])
        np.testing.assert_allclose(
            a[finite], b[finite], rtol=0, atol=ulps * np.spacing(np.max(np.abs(b[finite]), initial=1))
        )
