"""Products that go on while their threads do: waits stand where they must, for all sizes; a fault
is found by the proof and seen by the emulator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.autoschedule.gpu.test_gemm import LINEAR
from tests.targets.cases import Case, emitted, kernel_of, problem
from tests.targets.gpu.sass import count, instructions, loops
from tests.targets.gpu.test_ptx import assemble
from tests.targets.gpu.test_warpgroups import SM90, script
from texpr import poly
from texpr.compiler import pass_pipeline
from texpr.ir.build import mod
from texpr.ir.expr import Mod, Node, index
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import Barrier, CommitProducts, For, If, Kernel, Stmt, WaitProducts
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import equal, rewrite
from texpr.lang import parse_kernel
from texpr.passes.loop.check_async import check_arrivals
from texpr.runtime.emulator import fibers
from texpr.support.errors import CompileError, ScheduleError
from texpr.targets import Artifact, compile_kernel, emit_llvm, plan

ONE = 'pipeline("ko", 3, asynchronous=True, lead=1)\nasync_mma("ko", 1)\n'
"""Three buffers: one is copied to, one is read by the products that begin, one by those that are
under way.
"""
NONE = 'pipeline("ko", 2, asynchronous=True)\nasync_mma("ko")\n'
GIVEN = Case("linear", LINEAR, ((64, 384), (64, 384)), fixed=True)


def computed(kernel: Kernel, given: Case, backwards: bool) -> np.ndarray:
    """What the emulator makes of a kernel of which nothing was proven."""
    text, launches = emitted(kernel, SM90)
    ready = plan(Artifact(SM90, "", "", "", b"", launches, kernel.temporaries), {})
    out = problem(given).empty()
    fibers.run(
        text,
        ready.launches,
        problem(given).inputs,
        out,
        ready.scratch,
        [],
        backwards=backwards,
        maps=ready.maps,
    )
    return out[0]


@cache
def scheduled(lines: str = ONE) -> tx.Schedule:
    return tx.Schedule(problem(GIVEN).program, problem(GIVEN).sizes).replay(script(pipelined=lines))


def right(found: np.ndarray, given: Case = GIVEN) -> bool:
    """Products of bf16 are exact in f32; f32 sums of 384 of normal numbers of size 2: 1e-4."""
    return np.allclose(found, problem(given).expected[0], rtol=1e-4, atol=1e-4)


def test_picture(golden):
    golden(show_kernel(scheduled().kernel))


@pytest.mark.parametrize(
    "lines", (ONE, NONE, ONE.replace("3", "4").replace("lead=1", "lead=2")), ids=("one", "none", "ahead")
)
@pytest.mark.parametrize("n", (64, 256))
def test_emulated(lines: str, n: int):
    """Products at once and copies late, and the other way round; fewer iterations than buffers
    included.
    """
    for terms in (64, 128, 448):
        given = Case("linear", LINEAR, ((128, terms), (2 * n, terms)), fixed=True)
        kernel = kernel_of(given, SM90, script(n, pipelined=lines))
        assert right(computed(kernel, given, False), given) and right(computed(kernel, given, True), given)


def test_certified():
    assert scheduled().certificate().flushed == ("C",)


def test_a_listing_says_it_all():
    kernel = scheduled().kernel
    assert equal(parse_kernel(show_kernel(kernel)), kernel)


def test_the_interpreter_is_done_where_it_stands():
    assert right(interpret_kernel(scheduled().kernel, problem(GIVEN).inputs, {})[0])


@pytest.mark.parametrize("n", (64, 128, 256))
def test_assembled(n: int, tmp_path: Path):
    """Four products of an iteration are one group of the processor; nothing but the barrier's
    instructions waits for them in the loop.
    """
    given = Case("linear", LINEAR, ((64, 512), (n, 512)), fixed=True)
    text = compile_kernel(kernel_of(given, SM90, script(n, pipelined=ONE)), SM90).assembly
    said = assemble(text, "sm_90a", tmp_path)
    assert (
        " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said
        and "C75" not in said
        and ".local" not in text
    )
    code = instructions(text, "sm_90a", tmp_path)
    body = next(b for b in loops(code) if count(b, "HGMMA"))
    products = [operands.rpartition(", ")[2] for op, operands in body if op.startswith("HGMMA")]
    assert len(products) == 4 and [p == "gsb0" for p in products] == [False, False, False, True]
    assert [operands for op, operands in body if op.startswith("WARPGROUP.DEPBAR")] == ["gsb0, 0x1"]
    assert count(body, "WARPGROUP.ARRIVE") == 1


# Faults.


def without(
    kind: type[Stmt], which: Callable[[Stmt], bool] = lambda s: True
) -> Callable[[Node], Node | None]:
    def rule(node: Node) -> Node | None:
        if isinstance(node, For | If) and any(isinstance(s, kind) and which(s) for s in node.body):
            return replace(node, body=tuple(s for s in node.body if not (isinstance(s, kind) and which(s))))
        return None

    return rule


def later(pending: int) -> Callable[[Node], Node | None]:
    """A wait of so many groups that lets one more go on."""
    return lambda node: (
        WaitProducts(pending + 1) if isinstance(node, WaitProducts) and node.pending == pending else None
    )


def swapped(node: Node) -> Node | None:
    """The wait behind the barrier: others' products may still read."""
    match node:
        case For(body=(copied, WaitProducts() as wait, Barrier() as barrier, *rest)):
            return replace(node, body=(copied, barrier, wait, *rest))
    return None


def behind(node: Node) -> Node | None:
    """The last wait behind the use of the sums."""
    match node:
        case For(body=(*before, WaitProducts() as wait, last)):
            return replace(node, body=(*before, last, wait))
    return None


def fewer(node: Node) -> Node | None:
    """Two buffers in place of three."""
    return mod(node.lhs, index(2)) if isinstance(node, Mod) and equal(node.rhs, index(3)) else None


def early(node: Node) -> Node | None:
    """The group ends before its products begin."""
    match node:
        case For(body=(*before, products, CommitProducts() as commit)):
            return replace(node, body=(*before, commit, products))
    return None


FAULTS = {
    "no wait": (without(WaitProducts), "unfinished"),
    "no last wait": (without(WaitProducts, lambda s: s.pending == 0), "unfinished"),
    "no wait in the loop": (without(WaitProducts, lambda s: s.pending == 1), "operand"),
    "no commit": (without(CommitProducts), "unfinished"),
    "the last wait is too little": (later(0), "unfinished"),
    "a wait in the loop is too little": (later(1), "operand"),
    "the wait is too late for others": (swapped, "operand"),
    "the last wait is too late": (behind, "unfinished"),
    "too few buffers": (fewer, "operand"),
    "committed too early": (early, "unfinished"),
}


def refused_and_made(
    kernel: Kernel, fault: tuple[Callable[[Node], Node | None], str], monkeypatch: pytest.MonkeyPatch
) -> Kernel:
    """A kernel with a fault, which the proof refuses, made ready for code all the same."""
    change, kind = fault
    wrong = rewrite(kernel, change)
    assert not equal(wrong, kernel)
    found = poly.unproven_product(wrong)
    assert found is not None and found.kind == kind
    with pytest.raises(ScheduleError, match="async_mma and commit_mma_group place waits"):
        pass_pipeline.prepared(wrong, SM90)
    monkeypatch.setattr(pass_pipeline, "check_arrivals", lambda kernel: kernel)
    return pass_pipeline.prepared(wrong, SM90)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch):
    """The proof refuses it before code is made; where code is made all the same, another result
    shows it.
    """
    wrong = refused_and_made(scheduled().kernel, FAULTS[fault], monkeypatch)
    assert not all(right(computed(wrong, GIVEN, backwards)) for backwards in (False, True))


def test_a_wait_for_all_covers_what_is_in_a_group():
    kernel = rewrite(scheduled(NONE).kernel, without(CommitProducts))
    found = poly.unproven_product(kernel)
    assert found is not None and found.kind == "unfinished"


def test_a_fault_is_told():
    with pytest.raises(ScheduleError) as error:
        check_arrivals(rewrite(scheduled().kernel, behind))
    assert (
        str(error.value)
        == """\
error[arrival]: products for C_acc are not proven to be done here: no wait for products in front of it covers them
  --> kernel:42:11
  42 |           C[io * 64 + ii, jo * 64 + ji] = C_acc[io * 64 + ii, jo * 64 + ji]
     |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    begun by: C_acc[io * 64 + ii, jo * 64 + ji] += f32(A_cache[ko % 3, io * 64 + ii, kio * 16 + kii]) \
* f32(B_cache[ko % 3, jo * 64 + ji, kio * 16 + kii])  reassoc asynchronous
  help: async_mma and commit_mma_group place waits and barriers; steps after it must leave them where they are"""
    )


def refusal(lines: str, whole: str = "") -> str:
    with pytest.raises(ScheduleError) as error:
        tx.Schedule(problem(GIVEN).program, problem(GIVEN).sizes).replay(whole or script(pipelined=lines))
    return str(error.value)


def test_too_few_buffers():
    assert "error[arrival]: products for C_acc read what this overwrites, and are not proven" in refusal(
        ONE.replace("3", "2")
    )


def test_no_products():
    assert (
        refusal("", 'async_mma("k")')
        == """\
error[async_mma]: no iteration of `C.k` runs products that can be begun and waited for
  --> <op>:1:73
  1 | op linear(A: bf16[M, K], B: bf16[N, K]) -> C: f32[M, N] { C[i, j] = sum(k: f32(A[i, k]) * f32(B[j, k])) }
    |                                                                         ^ now `for C.k in 0..384`
    step 1, script:1: async_mma("k")
  help: tensorize(..., "wgmma_bf16_n64", reassoc=True) makes such products"""
    )


def test_groups_are_counted():
    assert (
        refusal('async_mma("ko", 9)\n')
        == """\
error[async_mma]: products of 0 to 7 iterations are in flight, not 9
    step 30, script:30: async_mma("ko", 9)"""
    )


def test_atomic_updates_are_not_asynchronous():
    assert "`C_acc` is updated by the instruction wgmma_bf16_n64, which is not atomic" in refusal(
        NONE + 'atomic("C_acc", reassoc=True)\n'
    )


def test_copies_run_ahead():
    assert (
        refusal('pipeline("ko", 3, asynchronous=True, lead=3)\n')
        == """\
error[pipeline]: copies into 3 buffers run 1 to 2 iterations ahead, not 3
    step 30, script:30: pipeline("ko", 3, asynchronous=True, lead=3)
  help: only those of asynchronous=True may run less than depth - 1 iterations ahead"""
    )
    assert "copies into 3 buffers run 1 to 2 iterations ahead, not 1" in refusal(
        'pipeline("ko", 3, lead=1)\n'
    )


def test_registers_are_known():
    """Two tiles of rows one after the other, in a loop that is not written out."""
    given = Case("linear", LINEAR, ((128, 128), (64, 128)), fixed=True)
    lines = script(pipelined=ONE).replace(
        'split("i", 64, tail="exact")', 'split("i", 128, tail="exact")\nsplit("ii", 64, tail="exact")'
    )
    lines = lines.replace('"kio", "ii"', '"kio", "iio", "iii"').replace('tensorize("ii"', 'tensorize("iii"')
    with pytest.raises(CompileError) as error:
        emit_llvm(kernel_of(given, SM90, lines), SM90)
    assert (
        str(error.value)
        == """\
error[target]: products that go on add to registers, and which of C_acc depends on a loop
  help: unroll the loops between async_mma's and the product"""
    )
