"""Contractions on a GPU: tiles in shared memory, sums in registers, products of tiles by warps."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.runtime.emulator.test_fibers import SM80, emulated, lowered
from tests.targets.cases import MATMUL, Case, kernel_of, problem
from tests.targets.gpu.test_barriers import CALL, without_barrier
from tests.targets.gpu.test_ptx import assemble
from texpr.support.errors import CompileError
from texpr.targets import compile_kernel, emit_llvm, find_target

BATCHED = (
    "op batched(A: f32[H, M, K], B: f32[H, K, N]) -> C: f32[H, M, N] { C[h, i, j] = sum(k: A[h, i, k] * B[h, "
    "k, j]) }"
)
HALF = (
    "op half(A: bf16[M, K], B: bf16[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: f32(A[i, k]) * f32(B[k, j])) }"
)
LINEAR = (
    "op linear(A: bf16[M, K], B: bf16[N, K]) -> C: f32[M, N] { C[i, j] = sum(k: f32(A[i, k]) * f32(B[j, k])) "
    "}"
)
BYTES = "op bytes(A: i8[M, K], B: i8[N, K]) -> C: i32[M, N] { C[i, j] = sum(k: i32(A[i, k]) * i32(B[j, k])) }"


def case(name: str, text: str, *shapes: tuple[int, ...], fixed: bool = True) -> Case:
    return Case(name, text, shapes, fixed=fixed)


THREADS = [
    case("f32", MATMUL, (128, 64), (64, 128)),
    case("f32", MATMUL, (100, 50), (50, 70)),
    case("f32", MATMUL, (66, 33), (33, 70), fixed=False),
    case("batched", BATCHED, (3, 64, 32), (3, 32, 64)),
    case("f64", MATMUL.replace("f32", "f64"), (64, 32), (32, 64)),
]
WARPS = [
    case("half", HALF, (128, 64), (64, 128)),
    case("half", HALF, (70, 48), (48, 72)),
    case("linear", LINEAR, (64, 32), (72, 32)),
    case("f16", HALF.replace("bf16", "f16"), (64, 64), (64, 64)),
    case("bytes", BYTES, (70, 64), (64, 64)),
    case("half", HALF, (33, 21), (21, 40), fixed=False),
    case("linear", LINEAR, (40, 37), (36, 37)),
    case("bytes", BYTES, (40, 50), (36, 50)),
]


ENDS = case("half", HALF, (100, 50), (50, 70))
"""Copies of the first terms need no conditions where those of later ones do: two ways to tell
what the buffers hold.
"""


@pytest.mark.parametrize("given", (*THREADS, *WARPS), ids=str)
def test_emulated(given: Case):
    """f32 sums of 64 products of normal numbers of size 2: 1e-4; bf16 and f16 products are exact
    in f32, f64 to 1e-12.
    """
    (found,), (expected,) = emulated(given), problem(given).expected
    tolerance = 1e-12 if found.dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("given", (THREADS[1], THREADS[2], WARPS[1], WARPS[4], WARPS[5], ENDS), ids=str)
def test_certified(given: Case):
    program, sizes = problem(given).program, problem(given).sizes
    certificate = tx.Schedule(program, sizes if given.fixed else {}).auto("sm_80").certificate()
    assert certificate.flushed == (("C",) if given in (WARPS[1], WARPS[5], ENDS) else ())


def compiled(text: str, m: int, n: int, k: int, turned: bool = False) -> str:
    s = tx.schedule(tx.op(text), M=m, N=n, K=k).auto("sm_80")
    return compile_kernel(_prepared(s), SM80).assembly


def _prepared(s: tx.Schedule):
    from texpr.compiler import pass_pipeline

    return pass_pipeline.prepared(s.kernel, SM80)


@pytest.mark.parametrize(
    ("text", "instruction", "most"),
    [
        (MATMUL, "fma.rn.f32", 128),
        (HALF, "mma.sync.aligned.m16n8k16", 168),
        (LINEAR, "ldmatrix.sync.aligned.m8n8.x4.shared", 168),
        (BYTES, "mma.sync.aligned.m16n8k32", 168),
    ],
)
def test_large_tiles_stay_in_registers(text: str, instruction: str, most: int, tmp_path: Path):
    """A product of 4096: no spills, no local memory; copies that go on meanwhile are begun and
    waited for at one barrier.
    """
    ptx = compiled(text, 4096, 4096, 4096)
    said = assemble(ptx, "sm_80", tmp_path)
    assert instruction in ptx and ".local" not in ptx
    assert " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said
    assert int(re.findall(r"Used (\d+) registers", said)[0]) <= most
    assert ptx.count("bar.sync") == 1 and "cp.async.cg.shared.global" in ptx


@pytest.mark.parametrize("given", [THREADS[0], WARPS[0]])
def test_the_barrier_matters(given: Case):
    assert lowered(given)[1].count(CALL) == 1
    (found,), (expected,) = emulated(given, change=without_barrier(0)), problem(given).expected
    assert not np.allclose(found, expected, rtol=1e-3)


@pytest.mark.parametrize("given", WARPS, ids=str)
def test_any_number_of_terms(given: Case):
    assert (
        ', "mma_'
        in tx.Schedule(problem(given).program, problem(given).sizes if given.fixed else {})
        .auto("sm_80")
        .script()
    )


def test_terms_past_the_end_must_be_zeros():
    """Copies that take what lies behind a row, where they would have stored 0."""
    given = case("terms", HALF, (40, 50), (50, 72))
    change = lambda text: re.sub(r"select i1 (%\w+), i32 (\d+), i32 0", r"select i1 \1, i32 \2, i32 \2", text)  # noqa: E731
    (found,), (expected,) = emulated(given), problem(given).expected
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    (found,) = emulated(given, change=change)
    assert not np.allclose(found, expected, rtol=1e-3)


def test_a_processor_without_the_instruction():
    """Before sm_80 threads multiply; a script that wants warps to is refused, since the code
    generator would end the process.
    """
    given, old = WARPS[0], find_target("sm_75")
    assert "mma" not in tx.Schedule(problem(given).program, problem(given).sizes).auto("sm_75").script()
    script = tx.Schedule(problem(given).program, problem(given).sizes).auto("sm_80").script()
    with pytest.raises(CompileError, match="this target has no instruction zero_mma_f32"):
        kernel_of(given, old, script)


def test_an_instruction_of_a_warp_needs_one():
    given = case("half", HALF, (16, 16), (16, 8))
    script = 'split("k", 16)\nreorder("ko", "i", "j", "ki")\ntensorize("i", "mma_bf16", reassoc=True)'
    with pytest.raises(CompileError) as error:
        emit_llvm(kernel_of(given, SM80, script), SM80)
    assert str(error.value) == (
        "error[target]: mma_bf16 is run by a warp: 32 threads along thread.x, and no loop over them around "
        "it\n"
        "  help: bind loops of 32 iterations to thread.x, and loops over warps to thread.y"
    )


def test_picture(golden):
    golden(tx.schedule(tx.op(HALF), M=256, N=256, K=64).auto("sm_80").script())


@pytest.mark.parametrize("given", (WARPS[0], WARPS[2], WARPS[3], WARPS[4]), ids=str)
def test_tiles_have_no_bank_conflicts(given: Case):
    """Neither copies into shared memory nor loads of rows from there, and no byte of it is left
    unused.
    """
    listing = str(tx.Schedule(problem(given).program, problem(given).sizes).auto("sm_80"))
    assert listing.count("without bank conflicts") >= 4 and "-way bank conflicts" not in listing
    assert listing.count("shared swizzle(") == 2


ATTENTION = """
op attention(Q: f32[S, D], K: f32[T, D], V: f32[T, D]) -> O: f32[S, D] {
  s[i, j] = sum(d: Q[i, d] * K[j, d])
  m[i] = max(j: s[i, j])
  e[i, j] = exp(s[i, j] - m[i])
  O[i, d] = sum(j: e[i, j] * V[j, d]) / sum(j: e[i, j])
}"""


def test_what_a_product_reads_too_leaves_the_registers():
    """A row of `e` is summed by a block, and read by another launch as an operand."""
    given = case("attention", ATTENTION, (36, 32), (64, 32), (64, 32))
    np.testing.assert_allclose(emulated(given)[0], problem(given).expected[0], rtol=1e-4, atol=1e-4)


def test_many_dimensions():
    """Elements of threads are told apart in tensors of many dimensions too."""
    text = (
        "op many(A: f32[2, 2, 2, 2, M, K], B: f32[2, 2, 2, 2, K, N]) -> C: f32[2, 2, 2, 2, M, N] {"
        " C[a, b, c, d, i, j] = sum(k: A[a, b, c, d, i, k] * B[a, b, c, d, k, j]) }"
    )
    emit_llvm(kernel_of(case("many", text, (2, 2, 2, 2, 64, 16), (2, 2, 2, 2, 16, 64)), SM80), SM80)
