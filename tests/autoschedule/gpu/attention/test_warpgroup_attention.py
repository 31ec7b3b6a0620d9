"""Attention by warpgroups: scores and exponentials stay in registers between two products of
wgmma, boxes of keys and values come ahead.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.autoschedule.gpu.attention.test_warp_attention import CAUSAL, HALF, RANGES
from tests.schedule.steps.hardware.test_async_mma import computed, later, without
from tests.targets.cases import Case, emitted, problem
from tests.targets.gpu.sass import count, instructions, loops
from tests.targets.gpu.test_barriers import OF_WARP, without_barrier
from tests.targets.gpu.test_ptx import assemble
from tests.targets.gpu.test_warpgroups import SM90
from texpr import poly
from texpr.autoschedule.gpu.attention.warpgroup_attention import ByTwoWarpgroups, ByWarpgroup
from texpr.compiler import pass_pipeline
from texpr.ir.expr import Node, index
from texpr.ir.loop import Barrier, Commit, CommitProducts, For, Kernel, Wait, WaitProducts
from texpr.ir.loop_kind import Thread
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import equal, rewrite
from texpr.lang import parse_kernel
from texpr.runtime.emulator import fibers
from texpr.targets import Artifact, compile_kernel, plan

F16 = HALF.replace("bf16", "f16")
CASES = [
    Case("half", HALF, ((1, 64, 64), (1, 192, 64), (1, 192, 64))),
    Case("half", HALF, ((2, 128, 64), (2, 128, 64), (2, 128, 64))),
    Case("half", F16, ((1, 64, 128), (1, 128, 128), (1, 128, 128))),
    Case("half", HALF, ((1, 128, 64), (1, 128, 64), (1, 128, 128))),
    Case("causal", CAUSAL, ((1, 128, 128), (1, 128, 128), (1, 128, 64))),
    *(Case("ranges", RANGES, ((1, n, 64), (1, n, 64), (1, n, 64))) for n in (192, 256)),
]


@cache
def scheduled(case: Case) -> tx.Schedule:
    """With two warpgroups where rows are enough for them, though blocks are few here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ByTwoWarpgroups, "suits", ByWarpgroup.suits)
        s = tx.Schedule(problem(case).program, problem(case).sizes).auto("sm_90a")
        assert s.kernel is s.kernel  # steps are chosen when they are asked for
        return s


@cache
def prepared(case: Case) -> Kernel:
    """The kernel as it is emitted."""
    return pass_pipeline.prepared(scheduled(case).kernel, SM90)


@cache
def large(heads: int, d: int = 64, e: int = 64) -> tx.Schedule:
    """By default, of a thousand rows and terms a head."""
    return tx.schedule(tx.op(HALF), H=heads, S=1024, T=1024, D=d, E=e).auto("sm_90a")


@cache
def expected(case: Case) -> np.ndarray:
    return problem(case).expected[0]


def right(found: np.ndarray, case: Case) -> bool:
    """Exponentials are rounded to 8 bits, relative to another maximum."""
    return np.allclose(found, expected(case), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_emulated(case: Case):
    """Copies late and products early, or the other way round; one warpgroup and two, one panel
    of a row and several.
    """
    lines = scheduled(case).script()
    kind = "f16" if '"wgmma_f16' in lines else "bf16"
    assert f'"wgmma_{kind}_n64"' in lines and f'"wgmma_{kind}_n{case.shapes[2][2]}_ra_tb"' in lines
    assert (
        ('"thread.z"' in lines) == (case.shapes[0][1] % 128 == 0)
        and lines.count("commit_mma_group") == 2
        and "bulk_copy(" in lines
    )
    kernel = prepared(case)
    number = CASES.index(case)
    assert all(
        right(computed(kernel, case, backwards), case)
        for backwards in ((False, True) if number == 0 else (number % 2 == 0,))
    )


@pytest.mark.parametrize("case", (CASES[1], CASES[4], CASES[6]), ids=str)
def test_certified(case: Case):
    said = scheduled(case).certificate().rounding
    assert (
        "exp(a - m) * exp(m - n) = exp(a - n) in O_sum, O_sum_" in said
        and "flushed: denormal numbers are zeros in s, O_sum_run" in said
    )


def test_blocks_above_the_diagonal_are_not_computed():
    """Sums that end there: block io of 128 rows walks along 2 io + 2 blocks of 64 terms."""
    assert "for O_sum__run.1.c in 0..io * 2 + 2  #" in str(scheduled(CASES[6]))
    assert "for O_sum__run.1.c in 0..2  #" in str(scheduled(CASES[4]))


def test_a_listing_says_it_all():
    kernel = scheduled(CASES[1]).kernel
    assert equal(parse_kernel(show_kernel(kernel)), kernel)


SIZES = {"narrow": (64, 64), "wide": (128, 128), "apart": (64, 128)}


@pytest.mark.parametrize("name", SIZES)
def test_assembled(name: str, tmp_path: Path):
    """One launch, whose loop has the products of a block of terms, each of two groups with one
    fence and one wait, and one barrier: no spills, nothing serialized, no scores in memory, one
    thread that orders boxes.
    """
    d, e = SIZES[name]
    s = large(32, d, e)
    ptx = compile_kernel(pass_pipeline.prepared(s.kernel, SM90), SM90).assembly
    said = assemble(ptx, "sm_90a", tmp_path)
    assert ptx.count(".entry") == 1 and ".local" not in ptx and "C75" not in said
    assert " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said
    code = instructions(ptx, "sm_90a", tmp_path)
    hot = max(loops(code), key=lambda body: count(body, "HGMMA"))
    products = [(op, operands.split(", ")[1]) for op, operands in hot if op.startswith("HGMMA")]
    scores, sums = products[: d // 16], products[d // 16 :]
    assert all(op == "HGMMA.64x64x16.F32.BF16" and left.startswith("gdesc") for op, left in scores)
    assert len(sums) == 4 and all(
        op == f"HGMMA.64x{e}x16.F32.BF16" and left.startswith("R") for op, left in sums
    )
    assert (
        sum(operands.endswith("gsb0") for op, operands in hot if op.startswith("HGMMA"))
        == count(hot, "WARPGROUP.ARRIVE")
        == 2
    )
    assert (
        count(hot, "MUFU.EX2") == 33 and len(hot) <= 400 + 8 * (d + e) // 8
    )  # an exponential for each score of a lane, one for a row
    assert (
        count(hot, "BAR") == 1
        and count(hot, "UTMALDG") == (d + e) // 64
        and count(hot, "STG") == count(hot, "LDG") == 0
    )


# Faults.


def shorter(node: Node) -> Node | None:
    """Some threads leave out a loop that all of them have."""
    if (
        isinstance(node, For)
        and node.kind == Thread("z")
        and not any(isinstance(s, WaitProducts) for s in node.body)
    ):
        return replace(node, extent=index(1))
    return None


FAULTS: dict[str, tuple[Callable[[Node], Node | None], Callable[[Kernel], poly.Unproven | None], str]] = {
    "sums are not waited for": (without(WaitProducts), poly.unproven_product, "unfinished"),
    "the waits are too little": (later(0), poly.unproven_product, "unfinished"),
    "products in no group": (without(CommitProducts), poly.unproven_product, "unfinished"),
    "copies are not waited for": (without(Wait), poly.unproven_copy, "turn"),
    "copies in no group": (without(Commit), poly.unproven_copy, "bytes"),
    "no barrier": (without(Barrier), poly.unproven_copy, "turn"),
    "not all threads wait": (shorter, poly.unproven_product, "uncounted"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str):
    change, proof, kind = FAULTS[fault]
    kernel = scheduled(CASES[1]).kernel
    wrong = rewrite(kernel, change)
    assert not equal(wrong, kernel) and proof(kernel) is None
    found = proof(wrong)
    assert found is not None and found.kind == kind


def emulated(change: Callable[[str], str], case: Case, backwards: bool) -> np.ndarray:
    kernel = prepared(case)
    text, launches = emitted(kernel, SM90)
    changed = change(text)
    assert changed != text
    ready, out = (
        plan(Artifact(SM90, "", "", "", b"", launches, kernel.temporaries), {}),
        problem(case).empty(),
    )
    fibers.run(
        changed,
        ready.launches,
        problem(case).inputs,
        out,
        ready.scratch,
        [],
        backwards=backwards,
        maps=ready.maps,
    )
    return out[0]


SEEN: dict[str, Callable[[str], str]] = {
    "no wait for sums": lambda text: text.replace("@texpr.wgmma.wait.0.", "@texpr.wgmma.wait.7."),
    "no barrier of the block": without_barrier(1),
    "no barrier of a warp": without_barrier(3, OF_WARP),
    "other terms of the left operand": lambda text: re.sub(
        r"(ptr %v\d+), (ptr %v\d+), (ptr %v\d+), (ptr addrspace\(3\))", r"\2, \1, \3, \4", text
    ),
}


@pytest.mark.parametrize("fault", SEEN)
def test_a_fault_is_seen(fault: str):
    def passes(backwards: bool) -> bool:
        try:
            return right(emulated(SEEN[fault], CASES[0], backwards), CASES[0])
        except AssertionError as error:
            assert "a thread waits for a phase of copies that does not end" in str(error)
            return False

    assert not all(map(passes, (False, True)))


# Choice.


def test_chosen_by_structure():
    """Factors that are not rounded, rows that fill no row of 128 bytes, sums that registers do
    not hold; processors without warpgroups.
    """
    exact = HALF.replace("f32(bf16(e[h, i, j]))", "e[h, i, j]")
    for text, sizes in ((exact, {"D": 64, "E": 64}), (HALF, {"D": 32, "E": 64}), (HALF, {"D": 64, "E": 192})):
        assert "_ra" not in tx.schedule(tx.op(text), H=1, S=64, T=64, **sizes).auto("sm_90a").script()
    assert '"mma_bf16"' in tx.schedule(tx.op(HALF), H=1, S=64, T=64, D=64, E=64).auto("sm_90").script()


@pytest.mark.parametrize(("heads", "two"), [(16, False), (17, True)])
def test_two_warpgroups_where_blocks_are_enough(heads: int, two: bool):
    """128 blocks of 128 rows are fewer than processors, 136 are not."""
    assert ('"thread.z"' in large(heads).script()) == two


def test_picture(golden):
    golden(large(32).script())
