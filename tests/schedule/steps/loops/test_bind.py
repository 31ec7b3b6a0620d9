"""Loops bound to at most so many blocks or threads, which walk over all iterations."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.schedule.steps.cases import EIGHT, listing, refusals
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.support.errors import ScheduleError

ADD = tx.op("op add(X: f32[M, N], Y: f32[M, N]) -> Z: f32[M, N] { Z[i, j] = X[i, j] + 2 * Y[i, j] }")
RUNNING = tx.op("op running(X: f32[M]) -> Y: f32[M] { Y[0] = X[0]  Y[i] = Y[i - 1] + X[i] where 1 <= i }")


@pytest.mark.parametrize("fixed", (True, False))
@pytest.mark.parametrize("shape", [(1, 1), (7, 13), (12, 5), (0, 3)])
@pytest.mark.parametrize(("blocks", "threads"), [(1, 4), (4, 5), (12, 64)])
def test_values_and_certificate(blocks: int, threads: int, shape: tuple[int, int], fixed: bool):
    sizes = dict(zip("MN", shape)) if fixed else {}
    s = (
        tx.schedule(ADD, **sizes)
        .bind("i", "block.x", max_blocks=blocks)
        .bind("j", "thread.x", max_blocks=threads)
    )
    x, y = (np.random.default_rng(k).standard_normal(shape, np.float32) for k in range(2))
    np.testing.assert_array_equal(
        interpret_kernel(s.kernel, [x, y], dict(zip("MN", shape)) if not fixed else {})[0], x + 2 * y
    )
    assert s.certificate().bit_exact
    np.testing.assert_array_equal(np.asarray(s.compile("sm_80").emulate(x, y)), x + 2 * y)


def test_it_is_said_to_the_launch():
    """As many blocks as are asked for, whatever the size is, and no loop where there are no more
    iterations.
    """
    s = tx.schedule(ADD, N=8).bind("i", "block.x", max_blocks=4).bind("j", "thread.x", max_blocks=8)
    assert s.script() == 'bind("i", "block.x", max_blocks=4)\nbind("j", "thread.x", max_blocks=8)\n'
    assert [n.name for n in s.loops] == ["ii", "io", "j"]
    assert tx.schedule(ADD, N=8).replay(s.script()).script() == s.script()


def test_iterations_that_depend_on_each_other_are_refused():
    with pytest.raises(ScheduleError, match="iterations depend on each other"):
        tx.schedule(RUNNING, M=8).bind("Y.1.i", "block.x", max_blocks=2)


LISTINGS = {
    "bind": ("stencil", {"M": 64, "N": 64}, 's.bind("i", "block.x").bind("j", "thread.x")'),
    "bind_at_most": (
        "stencil",
        {"M": 70, "N": 64},
        's.bind("i", "block.x", max_blocks=16).bind("j", "thread.x", max_blocks=32)',
    ),
    "bind_at_most_symbolic": (
        "stencil",
        {},
        's.bind("i", "block.x", max_blocks=16, names=("round", "block"))',
    ),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.bind("i", "block.w")'),
    ("matmul", EIGHT, 's.bind("i", None)'),
    ("matmul", EIGHT, 's.bind("i", "warp")'),
    ("matmul", EIGHT, 's.bind("i", "warpgroup.x")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
