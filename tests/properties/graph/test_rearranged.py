"""Random chains of reshape, transpose, slice, pad and concat are NumPy's, and no vector loop
divides by a constant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from texpr import ops
from texpr.graph import Capture, Plan
from texpr.ir.dtypes import F32

Step = tuple[str, Any]
MOST = 3000
"""Elements."""


def _factors(n: int) -> Iterator[tuple[int, ...]]:
    """Some shapes of so many elements."""
    yield (n,)
    for a in (k for k in range(2, n + 1) if n % k == 0):
        yield a, n // a
        yield from ((a, b, n // a // b) for b in range(2, n // a + 1) if n // a % b == 0)


@st.composite
def _steps(draw: Callable[..., Any]) -> tuple[tuple[int, ...], list[Step]]:
    shape = first = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 4, 6, 8, 16]), min_size=1, max_size=4)))
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(
            st.sampled_from(["reshape", "reshape", "transpose", "transpose", "slice", "pad", "concat"])
        )
        axis = draw(st.integers(0, len(shape) - 1))
        step, shape = _drawn(draw, kind, shape, axis)
        steps.append((kind, step))
        if not 0 < prod(shape) <= MOST:
            return first, steps[:-1]
    return first, steps


def _drawn(
    draw: Callable[..., Any], kind: str, shape: tuple[int, ...], axis: int
) -> tuple[Any, tuple[int, ...]]:
    """What a step does, and the shape behind it."""
    n = shape[axis]
    match kind:
        case "reshape":
            wanted = draw(st.sampled_from(list(_factors(prod(shape)))))
            return wanted, wanted
        case "transpose":
            order = draw(st.permutations(range(len(shape))))
            return order, tuple(shape[k] for k in order)
        case "slice":
            low, step = draw(st.integers(0, n - 1)), draw(st.sampled_from([1, 1, 2]))
            part = tuple(slice(low, None, step) if k == axis else slice(None) for k in range(len(shape)))
            return part, tuple(
                len(range(n)[p]) if k == axis else m for k, (p, m) in enumerate(zip(part, shape))
            )
        case "pad":
            more = draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
            return (axis, *more), tuple(m + sum(more) if k == axis else m for k, m in enumerate(shape))
    return axis, tuple(2 * m if k == axis else m for k, m in enumerate(shape))


def _padded(x: np.ndarray, axis: int, before: int, after: int) -> np.ndarray:
    return np.pad(x, [(before, after) if k == axis else (0, 0) for k in range(x.ndim)])


def _apply(x: Any, steps: list[Step], joined: Callable, padded: Callable) -> Any:
    for kind, step in steps:
        match kind:
            case "reshape":
                x = x.reshape(step)
            case "transpose":
                x = x.transpose(tuple(step))
            case "slice":
                x = x[step]
            case "pad":
                x = padded(x, *step)
            case "concat":
                x = joined((x, x * 2), axis=step)
    return x


DIVISION = re.compile(r"= (?:[su](?:div|rem)|[al]shr|and) <\d+ x i64>.*")
"""A quotient or a remainder of the indices of lanes; those by powers of two are shifts and masks."""


def divisions(plan: Plan) -> list[str]:
    """Quotients and remainders in vector loops of a plan's kernels."""
    return [line for launch in plan.launches for k in launch.kernels for line in DIVISION.findall(k.text)]


ENDS: dict[str, Callable[[Any, Any], Any]] = {
    "nothing": lambda x, w: x,
    "double": lambda x, w: x * 2 + 1,
    "product": lambda x, w: x @ w,
    "sum": lambda x, w: x.sum(-1),
}


def _check(shape: tuple[int, ...], steps: list[Step], more: str) -> None:
    x = np.arange(prod(shape), dtype="f4").reshape(shape)
    capture = Capture()
    found = _apply(
        capture.input("x", shape, F32),
        steps,
        ops.concat,
        lambda x, d, a, b: ops.pad(x, axis=d, before=a, after=b),
    )
    wanted = _apply(x, steps, np.concatenate, _padded)
    w = np.arange(wanted.shape[-1] * 8, dtype="f4").reshape(wanted.shape[-1], 8) % 7
    plan = Plan(capture, [ENDS[more](found, capture.constant(w))])
    (result,) = plan(x)
    np.testing.assert_allclose(result, ENDS[more](wanted, w), rtol=1e-4)
    assert not divisions(plan)


@given(case=_steps(), more=st.sampled_from(list(ENDS)))
@examples(80)
def test_chains(case: tuple[tuple[int, ...], list[Step]], more: str):
    _check(*case, more)


KNOWN: dict[str, tuple[tuple[int, ...], list[Step]]] = {
    "channel shuffle": (
        (1, 12, 8, 8),
        [("reshape", (1, 2, 6, 8, 8)), ("transpose", (0, 2, 1, 3, 4)), ("reshape", (1, 12, 8, 8))],
    ),
    "pixel shuffle": (
        (2, 12, 5, 8),
        [("reshape", (2, 3, 2, 2, 5, 8)), ("transpose", (0, 1, 4, 2, 5, 3)), ("reshape", (2, 3, 10, 16))],
    ),
    "windows": (
        (2, 6, 9, 16),
        [("reshape", (2, 2, 3, 3, 3, 16)), ("transpose", (0, 1, 3, 2, 4, 5)), ("reshape", (12, 9, 16))],
    ),
    "patches": (
        (2, 3, 8, 12),
        [("reshape", (2, 3, 2, 4, 3, 4)), ("transpose", (0, 2, 4, 1, 3, 5)), ("reshape", (2, 6, 48))],
    ),
    "rows of a slice before zeros": (
        (3, 2, 2),
        [("slice", (slice(1, None), slice(None), slice(None))), ("pad", (2, 1, 1))],
    ),
}


@pytest.mark.parametrize("more", ENDS)
@pytest.mark.parametrize("name", KNOWN)
def test_known_chains(name: str, more: str):
    _check(*KNOWN[name], more)
