"""How many blocks run at once: by hand, and in listings."""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.aot import find_tool
from texpr.schedule.analysis.occupancy import occupancy, resident
from texpr.targets import find_target

HALF = (
    "op half(A: bf16[M, K], B: bf16[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: f32(A[i, k]) * f32(B[k, j])) }"
)


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        (
            "sm_80",
            (256, 75776, 126),
            (2, "shared memory"),
        ),  # 2 of 76,800 bytes in 167,936; registers for 2 as well
        ("sm_80", (256, 37888, 126), (2, "registers")),  # a warp has 4,096 registers, a block 32,768
        ("sm_80", (256, 0, 32), (8, "threads")),
        ("sm_80", (32, 0, 32), (32, "blocks")),
        ("sm_80", (100, 0, 0), (16, "threads")),  # four warps
        ("sm_86", (256, 75776, 0), (1, "shared memory")),
        ("sm_75", (1024, 0, 65), (0, "registers")),
        ("sm_70", (128, 48 << 10, 0), (2, "shared memory")),  # nothing is kept back there
    ],
)
def test_blocks_at_once(name: str, given: tuple[int, int, int], found: tuple[int, str]):
    processor = find_target(name).machine.multiprocessor
    assert resident(processor, *given) == found


def test_in_words():
    processor = find_target("sm_80").machine.multiprocessor
    assert (
        occupancy(processor, 256, 75776, 126)
        == "2 at once on a processor, 25 % of its threads (limited by shared memory)"
    )
    assert occupancy(processor, 1024, 0, 128) == "no block fits a processor (registers)"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (
            "sm_80",
            "65536 bytes of shared memory, 2 at once on a processor, 25 % of its threads (limited by shared "
            "memory)",
        ),
        (
            "sm_86",
            "49152 bytes of shared memory, 2 at once on a processor, 33 % of its threads (limited by shared "
            "memory)",
        ),
    ],
)
def test_listings_of_a_target_say_it(target: str, said: str):
    assert f"blocks of 256 threads, {said}" in str(
        tx.schedule(tx.op(HALF), M=4096, N=4096, K=4096).auto(target)
    )


def test_of_compiled_code():
    """No spills, and registers for two blocks: 4,096 of a warp at most."""
    kernel = tx.schedule(tx.op(HALF), M=4096, N=4096, K=4000).auto("sm_80").compile("sm_80")
    if find_tool("ptxas") is None:
        pytest.skip("ptxas is not installed: pip install nvidia-cuda-nvcc")
    said = kernel.occupancy()
    assert said.startswith("texpr_half_0: 12")
    assert (
        "registers, 0 bytes spilled, 65536 bytes of shared memory; blocks of 256 threads, 2 at once on a "
        "processor" in said
    )


def test_of_a_cpu():
    with pytest.raises(tx.Error, match="native is no GPU"):
        tx.schedule(tx.op(HALF), M=64, N=64, K=64).compile().occupancy()
