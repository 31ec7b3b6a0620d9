"""GPU kernels on the CPU give what the interpreter gives; faults planted in them show."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest

import texpr as tx
from tests.targets.cases import CASES, Case, assert_close, conv2d, kernel_of, matmul, problem, sizes_of
from tests.targets.gpu.test_ptx import TILES
from texpr.ir.loop import Kernel
from texpr.targets import Artifact, Launch, emit_llvm, emulate, find_target

SM80 = find_target("sm_80")


@lru_cache(maxsize=2)
def lowered(case: Case, steps: str | tx.Schedule | None = None) -> tuple[Kernel, str, tuple[Launch, ...]]:
    """The kernel of a case, its text and its launches: made once for a run and one with a fault."""
    kernel = kernel_of(case, SM80, steps)
    return kernel, *emit_llvm(kernel, SM80)


def emulated(
    case: Case, steps: str | tx.Schedule | None = None, change: Callable[[str], str] = lambda text: text
) -> list[np.ndarray]:
    """The outputs of a case as the emulator has them."""
    given = problem(case)
    kernel, text, launches = lowered(case, steps)
    outputs = given.empty()
    emulate(
        Artifact(SM80, change(text), "", "", b"", launches, kernel.temporaries),
        "",
        given.inputs,
        outputs,
        sizes_of(case, kernel),
    )
    return outputs


@pytest.mark.parametrize("case", (*CASES, matmul(4, 0, 3), matmul(0, 2, 3)), ids=str)
def test_emulated_kernels(case: Case):
    assert_close(emulated(case), problem(case).expected)


@pytest.mark.parametrize(
    "case", (matmul(33, 17, 65), matmul(5, 7, 3, fixed=False), matmul(1, 0, 1, fixed=False)), ids=str
)
def test_tiles_with_threads_left_over(case: Case):
    assert_close(emulated(case, TILES), problem(case).expected)


def test_no_bound_loop():
    assert_close(emulated(conv2d(2, 1), ""), problem(conv2d(2, 1)).expected)


def test_what_is_rarely_needed_of_several_lanes():
    """A branch that is taken where any lane needs it, in a large expression whose parts are used
    again and again.
    """
    given = Case("gamma", "op g(X: f32[N]) -> Y: f32[N] { Y[i] = gamma(X[i]) }", ((64,),))
    assert "vector.reduce.or" in lowered(given)[1]
    np.testing.assert_allclose(emulated(given)[0], problem(given).expected[0], rtol=1e-4)
