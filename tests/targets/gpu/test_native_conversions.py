"""Numbers rounded to bf16 on a GPU: an instruction for two of them, where tensor cores want
such, and arithmetic before.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.runtime.emulator.test_fibers import SM80, emulated
from tests.targets.cases import Case, kernel_of, problem
from tests.targets.gpu.sass import count, instructions
from texpr.ir.dtypes import BF16, readable
from texpr.targets import emit_llvm, find_target

SM75 = find_target("sm_75")
ROUND = "op r(X: f32[N]) -> Y: bf16[N] { Y[i] = bf16(X[i]) }"
WIDE = ROUND.replace("f32", "f64")
ENDS = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)


def every_upper_half() -> np.ndarray:
    """All signs, exponents and fractions of bf16 with what is between it and the next one:
    exact, near, halfway, denormal, NaN too.
    """
    return (np.arange(1 << 16, dtype=np.uint32)[:, None] << 16 | ENDS).view(np.float32).ravel()


def rounded(text: str, values: np.ndarray, target: str, script: str | None = None) -> np.ndarray:
    s = tx.schedule(tx.op(text), N=len(values))
    s = s.auto(target) if script is None else s.replay(script)
    return np.asarray(s.compile(target).emulate(values))


@pytest.mark.parametrize(
    "script",
    (None, 'split("i", 256)\nbind("io", "block.x")\nbind("ii", "thread.x")'),
    ids=("vectors", "one each"),
)
def test_every_number(script: str | None):
    values = every_upper_half()
    found, expected = rounded(ROUND, values, "sm_80", script), np.asarray(tx.interpret(tx.op(ROUND), values))
    nan = np.isnan(values)
    np.testing.assert_array_equal(found[~nan], expected[~nan])
    assert np.isnan(readable(found[nan], BF16)).all()


def test_f64_is_rounded_once():
    values = np.array(
        [1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, 1 + 3 * 2.0**-8 - 2.0**-40, -1e-300, 1e300, 2.0**-133]
    )
    np.testing.assert_array_equal(rounded(WIDE, values, "sm_80"), tx.interpret(tx.op(WIDE), values))


def test_halves_are_in_order():
    """The upper one is named first."""
    given = Case("r", ROUND, ((64,),))
    swapped = lambda text: re.sub(r"(ff2bf16x2\.rn\()(float %\w+), (float %\w+)\)", r"\1\3, \2)", text)  # noqa: E731
    (found,), (expected,) = emulated(given), problem(given).expected
    np.testing.assert_array_equal(found, expected)
    assert not np.array_equal(emulated(given, change=swapped)[0], expected)


def test_older_processors_have_none():
    values = every_upper_half()[::7]
    np.testing.assert_array_equal(rounded(ROUND, values, "sm_75"), tx.interpret(tx.op(ROUND), values))
    given = Case("r", ROUND, ((64,),))
    assert (
        "ff2bf16x2" not in emit_llvm(kernel_of(given, SM75), SM75)[0]
        and "ff2bf16x2" in emit_llvm(kernel_of(given, SM80), SM80)[0]
    )


def test_on_a_processor(tmp_path: Path):
    """Four numbers of a thread: two instructions, and none that looks for NaN."""
    ptx = tx.schedule(tx.op(ROUND), N=1 << 20).auto(SM80.name).compile(SM80.name).ptx
    code = instructions(ptx, SM80.name, tmp_path)
    assert count(code, "F2FP") == 2 * count(code, "LDG.E.128") == 2 and count(code, "FSETP") == 0
