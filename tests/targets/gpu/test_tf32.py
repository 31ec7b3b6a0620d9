"""Tensor cores for f32 rounded to tf32, where that is said, and for f64: products whose lanes
read their elements from shared memory.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.autoschedule.gpu.test_gemm import BATCHED, _prepared
from tests.runtime.emulator.test_fibers import SM80, emulated
from tests.targets.cases import MATMUL, Case, kernel_of, problem
from tests.targets.gpu.sass import count, instructions
from tests.targets.gpu.test_ptx import assemble
from texpr.ir.functions import FUNCTIONS
from texpr.targets import compile_kernel, find_target

TURNED = "op turned(A: f32[K, M], B: f32[N, K]) -> C: f32[M, N] { C[i, j] = sum(k: A[k, i] * B[j, k]) }"
SHAPES = [
    ("f32", MATMUL, ((128, 64), (64, 128)), True),
    ("ends", MATMUL, ((100, 50), (50, 70)), True),
    ("symbolic", MATMUL, ((33, 21), (21, 40)), False),
    ("batched", BATCHED, ((3, 64, 32), (3, 32, 64)), True),
    ("turned", TURNED, ((40, 64), (72, 40)), True),
]
ROUNDED = [Case(name, text, shapes, fixed=fixed) for name, text, shapes, fixed in SHAPES]
DOUBLE = [
    Case(f"{name} f64".removeprefix("f32 "), text.replace("f32", "f64"), shapes, fixed=fixed)
    for name, text, shapes, fixed in SHAPES
]
FAULTS = {
    "not rounded": lambda text: re.sub(
        r"call i32 @llvm\.nvvm\.f2tf32\.rna\(float (%\w+)\)", r"bitcast float \1 to i32", text
    ),
    "other lanes": lambda text: re.sub(
        r"(mma\.m16n8k8\.row\.col\.tf32\(i32 %\w+), (i32 %\w+), (i32 %\w+)", r"\1, \3, \2", text
    ),
}


def scheduled(given: Case, target: str = "sm_80") -> tx.Schedule:
    with tx.options(tf32=True):
        return tx.Schedule(problem(given).program, problem(given).sizes if given.fixed else {}).auto(target)


def rounded(given: Case) -> tuple[np.ndarray, np.ndarray]:
    """The exact sums of products of rounded factors, and how far off sums in any order may be:
    2^-23 a term of their absolute values.
    """
    a, b = (FUNCTIONS["tf32"].reference(np.asarray(x, "f8")) for x in problem(given).inputs)
    a, b = (a.T, b.T) if given.name == "turned" else (a, b)
    return a @ b, a.shape[-1] * 2.0**-23 * (np.abs(a) @ np.abs(b))


@pytest.mark.parametrize("given", ROUNDED, ids=str)
def test_emulated(given: Case):
    s = scheduled(given)
    assert 'tf32("C.k")' in s.script() and '"mma_tf32", reassoc=True' in s.script()
    exact, bound = rounded(given)
    assert (np.abs(emulated(given, s)[0] - exact) <= bound).all()


@pytest.mark.parametrize("change", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_seen(change):
    given = ROUNDED[0]
    exact, bound = rounded(given)
    assert not (np.abs(emulated(given, scheduled(given), change)[0] - exact) <= bound).all()


@pytest.mark.parametrize("given", DOUBLE, ids=str)
def test_f64(given: Case):
    """By default: its products are those of f64, added in another order."""
    script = (
        tx.Schedule(problem(given).program, problem(given).sizes if given.fixed else {})
        .auto("sm_80")
        .script()
    )
    assert '"mma_f64", reassoc=True' in script
    np.testing.assert_allclose(emulated(given)[0], problem(given).expected[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ROUNDED[1],
            "reassociated: C; flushed: denormal numbers are zeros in C; tf32: factors are rounded to tf32 in "
            "C",
        ),
        (
            ROUNDED[2],
            "reassociated: C; flushed: denormal numbers are zeros in C; tf32: factors are rounded to tf32 in "
            "C",
        ),
        (
            ROUNDED[4],
            "reassociated: C; flushed: denormal numbers are zeros in C; tf32: factors are rounded to tf32 in "
            "C",
        ),
        (DOUBLE[1], "reassociated: C"),
        (DOUBLE[2], "reassociated: C"),
        (DOUBLE[3], "reassociated: C"),
    ],
)
def test_certified(given: Case, said: str):
    assert (
        scheduled(given).certificate().rounding
        == f"{said}; contracted: products are added to sums in one rounding"
    )


def test_f32_is_f32_unless_it_is_said():
    given = ROUNDED[0]
    script = tx.Schedule(problem(given).program, problem(given).sizes).auto("sm_80").script()
    assert "tf32" not in script and "mma" not in script
    assert (
        "tf32" not in scheduled(given, "sm_75").script() and "tf32" not in scheduled(given, "native").script()
    )


def test_eager_operators_ask_the_option():
    rng = np.random.default_rng(0)
    a, b = (tx.tensor(rng.standard_normal((64, 64)).astype("f4"), device="emulated") for _ in range(2))
    plain = (a @ b).numpy()
    with tx.options(tf32=True):
        near = (a @ b).numpy()
    assert (
        not np.array_equal(plain, near)
        and np.allclose(plain, near, atol=0.1)
        and np.array_equal((a @ b).numpy(), plain)
    )


def test_anywhere_on_a_gpu():
    """The function is one instruction for f32, arithmetic for f64."""
    x = np.concatenate([np.random.default_rng(0).standard_normal(100), [np.inf, -0.0, 1e300]])
    for dtype in ("f32", "f64"):
        op = tx.op(f"op r(X: {dtype}[N]) -> Y: {dtype}[N] {{ Y[i] = tf32(X[i]) }}")
        with np.errstate(over="ignore"):
            values = x.astype(dtype.replace("f32", "f4").replace("f64", "f8"))
        kernel = tx.schedule(op, N=len(x)).auto("sm_80").compile("sm_80")
        assert ("cvt.rna.tf32.f32" in kernel.ptx) is (dtype == "f32")
        np.testing.assert_array_equal(kernel.emulate(values), tx.interpret(op, values))


def assembly(text: str, target: str = "sm_80") -> str:
    with tx.options(tf32=True):
        s = tx.schedule(tx.op(text), M=4096, N=4096, K=4096).auto(target)
    return compile_kernel(_prepared(s), SM80).assembly


@pytest.mark.parametrize(
    ("text", "opcode"),
    [
        (MATMUL, "HMMA.1688.F32.TF32"),
        (TURNED, "HMMA.1688.F32.TF32"),
        (MATMUL.replace("f32", "f64"), "DMMA.884"),
    ],
)
def test_processor(text: str, opcode: str, tmp_path: Path):
    """No spills, and copies that go on meanwhile."""
    ptx = assembly(text)
    said = assemble(ptx, "sm_80", tmp_path)
    assert " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said and ".local" not in ptx
    code = instructions(ptx, "sm_80", tmp_path)
    assert (
        count(code, opcode) >= 32
        and count(code, "LDGSTS") > 0
        and count(code, "LDL") == count(code, "STL") == 0
    )


@pytest.mark.parametrize("given", (ROUNDED[0], ROUNDED[4], DOUBLE[0]), ids=str)
def test_picture(golden, given: Case):
    golden(scheduled(given).script())


def test_newer_processors_too():
    assert (
        "mma_f64" in scheduled(DOUBLE[0], "sm_90").script()
        and "mma_tf32" in scheduled(ROUNDED[0], "sm_90a").script()
    )
    assert kernel_of(ROUNDED[0], find_target("sm_90"), scheduled(ROUNDED[0]).script()) is not None
