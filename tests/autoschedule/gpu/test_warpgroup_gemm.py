"""What `auto("sm_90a")` makes of contractions of bf16 and f16: products of warpgroups, in flight
while copies run ahead.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.autoschedule.gpu.test_direct_convolution import HALF as CHANNELS_LAST
from tests.autoschedule.gpu.test_direct_convolution import POINTS
from tests.autoschedule.gpu.test_gemm import HALF, LINEAR
from tests.schedule.steps.hardware.test_async_mma import computed
from tests.targets.cases import Case, kernel_of, problem
from tests.targets.gpu.sass import count, instructions, loops
from tests.targets.gpu.test_ptx import assemble
from tests.targets.gpu.test_warpgroups import SM90
from texpr.autoschedule.gpu import warpgroup_gemm as warpgroups
from texpr.autoschedule.gpu.gpu_costs import GpuCosts
from texpr.targets import compile_kernel, emit_llvm

LEFT = (
    "op left(A: bf16[K, M], B: bf16[N, K]) -> C: f32[M, N] { C[i, j] = sum(k: f32(A[k, i]) * f32(B[j, k])) }"
)
BOTH = (
    "op both(A: bf16[K, M], B: bf16[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: f32(A[k, i]) * f32(B[k, j])) }"
)
BATCHED = """
op batched(A: f16[H, M, K], B: f16[H, K, N]) -> C: f32[H, M, N] { C[h, i, j] = sum(k: f32(A[h, i, k]) * f32(B[h, k, j])) }"""
LAYER = """
op layer(A: bf16[M, K], B: bf16[N, K], b: f32[N]) -> Y: bf16[M, N] {
  Y[i, j] = bf16(max(b[j] + sum(k: f32(A[i, k]) * f32(B[j, k])), 0))
}"""
CASES = [
    ("", Case("linear", LINEAR, ((128, 128), (256, 128)))),
    ("_tb", Case("half", HALF, ((130, 192), (192, 264)))),
    ("_ta", Case("left", LEFT, ((200, 264), (72, 200)))),
    ("_tab", Case("both", BOTH, ((264, 136), (264, 72)))),
    ("_tb", Case("batched", BATCHED, ((2, 96, 136), (2, 136, 64)))),
    ("", Case("layer", LAYER, ((100, 90), (70, 90), (70,)))),
    ("_tb", Case("half", HALF, ((33, 70), (70, 82)))),
]
WINDOWS = [
    ("x", "co", Case("window", CHANNELS_LAST, ((1, 4, 56, 64), (3, 3, 64, 64)), {"S": 1, "P": 1})),
    ("x", "co", Case("window", CHANNELS_LAST, ((1, 3, 65, 72), (2, 2, 72, 128)), {"S": 1, "P": 0})),
    ("n", "rqco", Case("window", CHANNELS_LAST, ((64, 4, 5, 64), (2, 2, 64, 64)), {"S": 2, "P": 0})),
    ("x", "co", Case("points", POINTS, ((2, 3, 64, 64), (40, 64)))),
]


def scheduled(given: Case) -> tx.Schedule:
    return tx.Schedule(problem(given).program, problem(given).sizes).auto("sm_90a")


def right(found: np.ndarray, expected: np.ndarray) -> bool:
    """f32 sums of 256 products of normal numbers of size 2: 1e-4; bf16 has 8 bits."""
    if found.dtype == np.uint16:
        found, expected = ((a.astype(np.uint32) << 16).view(np.float32) for a in (found, expected))
        return np.allclose(found, expected, rtol=1e-2, atol=1e-3)
    return np.allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("few", (128, 1), ids=("small", "large"))
@pytest.mark.parametrize(("turned", "given"), CASES, ids=lambda e: str(e) if isinstance(e, Case) else "")
def test_emulated(turned: str, given: Case, few: int, monkeypatch: pytest.MonkeyPatch):
    """With tiles for few blocks, and for many of them; any number of rows and columns, and terms
    that fill no tile.
    """
    monkeypatch.setattr(warpgroups, "GPU_COSTS", GpuCosts(few_tiles=few))
    s = scheduled(given)
    lines = s.script()
    assert (
        f'{turned}", reassoc=True)' in lines
        and 'async_mma("' in lines
        and "mma_" not in lines.replace("wgmma_", "")
    )
    kernel = kernel_of(given, SM90, s)
    for backwards in (False, True):
        assert right(computed(kernel, given, backwards), problem(given).expected[0])


@pytest.mark.parametrize(
    ("row", "terms", "given"), WINDOWS, ids=lambda e: str(e) if isinstance(e, Case) else ""
)
def test_windows(row: str, terms: str, given: Case):
    """Channels last: rows are positions, or images; copies run on from one position of the
    window to the next, where it has one tile.
    """
    s = scheduled(given)
    assert f'tensorize("Y.{row}i", "wgmma_' in s.script() and f'async_mma("Y.{terms}"' in s.script()
    s.certificate()
    kernel = kernel_of(given, SM90, s)
    for backwards in (False, True):
        np.testing.assert_allclose(
            computed(kernel, given, backwards), problem(given).expected[0], rtol=1e-4, atol=1e-3
        )


@pytest.mark.parametrize(
    ("turned", "given"), (CASES[0], CASES[3], CASES[4]), ids=lambda e: str(e) if isinstance(e, Case) else ""
)
def test_certified(turned: str, given: Case):
    assert scheduled(given).certificate().flushed == ("C",)


def test_images_of_few_positions_are_for_warps():
    given = Case("window", CHANNELS_LAST, ((2, 16, 16, 64), (3, 3, 64, 64)), {"S": 1, "P": 1})
    assert ', "mma_bf16"' in scheduled(given).script()


TALL = {
    "linear": (LINEAR, 4096),
    "half": (HALF, 4096),
    "both": (BOTH, 4096),
    "layer": (LAYER, 4000),
    "middle": (LAYER, 1536),
}


@pytest.mark.parametrize("name", TALL)
def test_assembled(name: str, tmp_path: Path):
    """No spills, nothing that the assembler serializes, and a loop of four products that are one
    group.
    """
    text, n = TALL[name]
    kernel = tx.schedule(tx.op(text), M=n, N=n, K=n).auto("sm_90a")
    ptx = compile_kernel(_prepared(kernel), SM90).assembly
    said = assemble(ptx, "sm_90a", tmp_path)
    assert (
        " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said
        and "C75" not in said
        and ".local" not in ptx
    )
    code = instructions(ptx, "sm_90a", tmp_path)
    body = next(b for b in loops(code) if count(b, "HGMMA"))
    assert (
        count(code, f"HGMMA.64x{128 if name == 'middle' else 256}x16.F32.BF16") == count(body, "HGMMA") == 4
        and count(code, "HMMA") == 0
    )
    assert sum(operands.endswith("gsb0") for op, operands in body if op.startswith("HGMMA")) == 1
    assert [operands for op, operands in body if op.startswith("WARPGROUP.DEPBAR")] == ["gsb0, 0x1"]
    boxes = {"half": 1 + 4, "both": 2 + 4}.get(
        name, 2
    )  # of an operand that is turned, one for each panel of 64 rows or columns
    walks = kernel.script().count("max_blocks")  # each is another place where the next copies may come from
    assert (
        walks == (0 if name == "middle" else 2)
        and count(body, "UTMALDG") == boxes * (1 + walks)
        and count(body, "LDGSTS") == 0
    )


@pytest.mark.parametrize("terms", (64, 128))
def test_products_of_few_terms_are_assembled(terms: int, tmp_path: Path):
    """Two blocks would have the shared memory, and registers for one: the assembler is not told
    to leave room for both.
    """
    s = tx.schedule(tx.op(LINEAR), M=2048, N=2048, K=terms).auto("sm_90a")
    said = assemble(compile_kernel(_prepared(s), SM90).assembly, "sm_90a", tmp_path)
    assert (
        '"wgmma_bf16_n256"' in s.script()
        and "0 bytes spill stores, 0 bytes spill loads" in said
        and "fatal" not in said
    )


def _prepared(s: tx.Schedule):
    from texpr.compiler import pass_pipeline

    return pass_pipeline.prepared(s.kernel, SM90)


OTHERS = {
    "copies of two bytes": Case("half", HALF, ((64, 63), (63, 64))),
    "few terms": Case("half", HALF, ((64, 32), (32, 64))),
    "any size": Case("half", HALF, ((64, 64), (64, 64)), fixed=False),
}


@pytest.mark.parametrize("given", OTHERS.values(), ids=OTHERS)
def test_other_contractions_are_for_warps(given: Case):
    s = tx.Schedule(problem(given).program, problem(given).sizes if given.fixed else {}).auto("sm_90a")
    assert ', "mma_bf16"' in s.script() and "wgmma" not in s.script()


def test_other_processors_have_none():
    given = CASES[0][1]
    assert "wgmma" not in tx.Schedule(problem(given).program, problem(given).sizes).auto("sm_90").script()


@pytest.mark.parametrize("given", (CASES[5][1], CASES[6][1]), ids=str)
def test_tiles_have_no_bank_conflicts(given: Case):
    listing = str(scheduled(given))
    assert (
        "instruction.wgmma_" in listing
        and "without bank conflicts" in listing
        and "-way bank conflicts" not in listing
    )


def test_descriptors():
    """Rows of 128 bytes exchanged (bit 62), eight of them after 1024 bytes; panels of 64 rows
    after 8192, where an operand is turned.
    """
    text = emit_llvm(kernel_of(Case("half", HALF, ((64, 64), (64, 256))), SM90), SM90)[0]
    assert f"or i64 %a7, {1 << 62 | 1024 // 16 << 32}" in text and f"or i32 %a2, {1 << 16}" in text
    assert f"or i64 %b7, {1 << 62 | 1024 // 16 << 32}" in text and f"or i32 %b2, {8192 // 16 << 16}" in text
    assert "1, 1, 1, 0, 1;" in text


def test_picture(golden):
    golden(tx.schedule(tx.op(HALF), M=4096, N=4096, K=4096).auto("sm_90a").script())
