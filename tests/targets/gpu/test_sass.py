"""The processor's own instructions of default schedules: products by tensor cores, copies past
the registers, nothing in local memory.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import texpr as tx
from tests.autoschedule.gpu.attention.test_flash_attention import HEADS
from tests.autoschedule.gpu.test_direct_convolution import HALF as WINDOWS
from tests.autoschedule.gpu.test_gemm import BYTES, HALF
from tests.runtime.emulator.test_fibers import SM80
from tests.targets.cases import MATMUL
from tests.targets.gpu.sass import count, instructions, loops
from tests.targets.gpu.test_warpgroups import SM90
from texpr.compiler import pass_pipeline
from texpr.targets import compile_kernel

SOFTMAX = """
op softmax(X: f32[M, N]) -> Y: f32[M, N] {
  m[i] = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  z[i] = sum(j: e[i, j])
  Y[i, j] = e[i, j] / z[i]
}"""


@cache
def assembly(text: str, **sizes: int) -> str:
    return compile_kernel(
        pass_pipeline.prepared(tx.schedule(tx.op(text), **sizes).auto("sm_80").kernel, SM80), SM80
    ).assembly


def product(text: str) -> str:
    return assembly(text, M=4096, N=4096, K=4096)


def in_memory(code: list[tuple[str, str]]) -> int:
    """Loads and stores of a thread's own memory: spills, and arrays that are no registers."""
    return count(code, "LDL") + count(code, "STL")


@pytest.mark.parametrize(
    ("text", "opcode", "others"), [(HALF, "HMMA.16816.F32.BF16", 64), (BYTES, "IMMA.16832.S8.S8", 96)]
)
def test_products_on_tensor_cores(text: str, opcode: str, others: int, tmp_path: Path):
    """The hot loop has 32 products of tiles, 12 loads of rows from shared memory, four copies of 16
    bytes for each thread; all others are for addresses and the loop.
    """
    code = instructions(product(text), "sm_80", tmp_path)
    hot = max(loops(code), key=lambda body: count(body, opcode))
    assert in_memory(code) == 0
    assert count(hot, opcode) == count(code, opcode) == 32
    assert (
        count(hot, "LDSM") == 12
        and count(hot, "LDGSTS.E.BYPASS.128") == 4
        and count(hot, "LDG") == count(hot, "STS") == 0
    )
    assert count(hot, "BAR") == 1 and len(hot) <= 32 + 12 + 4 + others


def test_products_of_threads(tmp_path: Path):
    """64 products for every 4 vectors from shared memory, to which copies go past the registers.
    Nine of ten instructions are products.
    """
    code = instructions(product(MATMUL), "sm_80", tmp_path)
    hot = min((body for body in loops(code) if count(body, "FFMA")), key=len)
    assert in_memory(code) == 0
    assert count(hot, "FFMA") == 16 * count(hot, "LDS.128") > 0.88 * len(hot) and count(hot, "LDS") == count(
        hot, "LDS.128"
    )
    assert count(code, "LDGSTS.E.BYPASS.128") > 0 and count(code, "LDG") == 0


def test_softmax_has_one_exponential_and_no_quotient_for_an_element(tmp_path: Path):
    """Each thread has 32 elements, in its registers."""
    code = instructions(assembly(SOFTMAX, M=4096, N=8192), "sm_80", tmp_path)
    assert in_memory(code) == count(code, "FCHK") == 0 and count(code, "MUFU.RCP") < 8
    assert count(code, "LDG.E.128.CONSTANT") == count(code, "STG.E.128") == 8 and len(code) < 32 * 32


def test_convolutions_on_tensor_cores(tmp_path: Path):
    """The edges of the image are zeros that the copies themselves store."""
    code = instructions(assembly(WINDOWS, N=8, H=56, W=56, C=64, K=64, R=3, Q=3, S=1, P=1), "sm_80", tmp_path)
    hot = max(loops(code), key=lambda body: -len(body) if count(body, "HMMA") else -len(code))
    assert in_memory(code) == count(code, "STS") == count(code, "LDG") == 0
    assert (
        count(hot, "HMMA.16816.F32.BF16")
        == 2 * count(hot, "LDSM")
        == 4 * count(hot, "LDGSTS.E.BYPASS.128")
        == 16
    )


def test_attention_stays_on_the_processor(tmp_path: Path):
    """One launch; 64 products for every 16 loads from shared memory, in both products; what
    reaches memory are the results.
    """
    text = assembly(HEADS, H=16, S=512, T=512, D=64, E=64)
    code = instructions(text, "sm_80", tmp_path)
    inner = [body for body in loops(code) if count(body, "FFMA") == 64]
    assert text.count(".entry") == 1 and in_memory(code) == 0
    assert len(inner) == 2 and all(count(body, "LDS") == 16 and len(body) < 96 for body in inner)
    assert count(code, "STG") == 64 * 64 // 256


ATTENTION = """
op attention(Q: bf16[A, L, D], K: bf16[A, M, D], V: bf16[A, M, D]) -> O: bf16[A, L, D] {
  p[a, i, j] = sum(d: Q[a, i, d] * K[a, j, d])
  m[a, i] = max(j: p[a, i, j])
  e[a, i, j] = exp((p[a, i, j] - m[a, i]) * rsqrt(bf16(D)))
  O[a, i, v] = sum(j: bf16(e[a, i, j]) * V[a, j, v]) / sum(j: e[a, i, j])
}"""


def test_attention_by_warpgroups(tmp_path: Path):
    """Of a score: a difference, a product, a power, an extreme, a sum; of a weighted sum one
    multiply-add, and what a descriptor takes.
    """
    s = tx.schedule(tx.op(ATTENTION), A=64, L=4096, M=4096, D=64).auto("sm_90a")
    code = instructions(
        compile_kernel(pass_pipeline.prepared(s.kernel, SM90), SM90).assembly, "sm_90a", tmp_path
    )
    hot = min((body for body in loops(code) if count(body, "HGMMA")), key=len)
    assert in_memory(code) == 0 and count(hot, "HGMMA") == 8 and len(hot) < 430
    assert (
        count(hot, "MUFU") <= 34
        and count(hot, "FMUL") <= 36
        and count(hot, "FFMA") <= 36
        and count(hot, "FADD") <= 72
    )


def test_rows_are_folded_by_lanes(tmp_path: Path):
    """Five exchanges for the extreme of a row, five for its sum, and vectors of 16 bytes."""
    code = instructions(assembly(SOFTMAX, M=1024, N=256), "sm_80", tmp_path)
    assert in_memory(code) == 0 and count(code, "SHFL") == 10
    assert count(code, "LDG.E.128.CONSTANT") == count(code, "STG.E.128") == 2


def test_spills_are_seen(tmp_path: Path):
    """The same code with 64 registers has them."""
    assert (
        in_memory(instructions(product(HALF).replace(".maxntid", ".maxnreg 64\n.maxntid"), "sm_80", tmp_path))
        > 0
    )
