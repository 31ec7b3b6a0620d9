"""Clusters of blocks on sm_90a, and copies that their blocks order together: right in the
emulator, proven, and faults found by either.
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
from tests.autoschedule.gpu.test_gemm import LINEAR
from tests.schedule.steps.hardware.test_async_mma import swapped, without
from tests.schedule.steps.hardware.test_bulk_copy import (
    _always_begun,
    _counted,
    _more,
    _other_counter,
    _other_phase,
    _unconditional,
    emulated,
    right,
    warpgroups,
)
from tests.targets.cases import Case, emitted, kernel_of, problem
from tests.targets.gpu.sass import count, instructions
from tests.targets.gpu.test_ptx import assemble
from tests.targets.gpu.test_warpgroups import SM90
from texpr import poly
from texpr.compiler import pass_pipeline
from texpr.ir.build import compare
from texpr.ir.expr import Node, Read, index
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import Barrier, For, If, Kernel, Store, Wait, is_bulk
from texpr.ir.loop_kind import BulkCopy, Cluster
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import equal, rewrite, walk
from texpr.lang import parse_kernel
from texpr.runtime.emulator import fibers
from texpr.support.errors import CompileError, ScheduleError
from texpr.targets import compile_kernel, emit_llvm, find_target
from texpr.targets.gpu.clusters import read_by_descriptors_alone

BOUND = 'bind("jo", "block.x")\nbind("io", "block.y")\n'
PLAIN = 'pipeline("ko", 3, asynchronous=True)\nbulk_copy("ko")\n'
FLYING = 'pipeline("ko", 4, asynchronous=True, lead=2)\nasync_mma("ko", 1)\nbulk_copy("ko")\n'
COLUMNS = (
    'split("jo", 2, tail="exact")\nbind("joo", "block.x")\nbind("joi", "cluster.x")\nbind("io", "block.y")\n'
)
ROWS = (
    'split("io", 2, tail="exact")\nbind("jo", "block.x")\nbind("ioo", "block.y")\nbind("ioi", "cluster.y")\n'
)
BOTH = COLUMNS.replace('bind("io", "block.y")\n', "") + ROWS.replace('bind("jo", "block.x")\n', "")
WALKING = """split("io", 2, tail="exact")
bind("jo", "block.x")
bind("ioo", "block.y", max_blocks=2)
bind("ioi", "cluster.y")
reorder("iooi", "jo", "ioi", "iooo")
"""
SHARED = "op weighted(X: f32[T, 64], w: f32[H]) -> Y: f32[H, 64] { Y[h, i] = sum(t: X[t, 63 - i] * w[h]) }"
BY_THREADS = """
split("h", 2, tail="exact")
bind("ho", "block.x")
bind("hi", "cluster.x")
reorder("t", "i")
set_scope("Y_acc", "register")
cache_read("X", "t")
set_scope("X_cache", "shared")
bind("i", "thread.x")
pipeline("t", 3, asynchronous=True)
bulk_copy("t")
multicast("X_cache", "hi")
"""
ALONE = BY_THREADS.partition("pipeline")[0]


def clustered(bound: str, ahead: str, more: str, tail: str = "exact") -> str:
    return warpgroups(tail=tail).replace(BOUND, bound).replace(PLAIN, ahead) + more


A, B = 'multicast("A_cache", "joi")\n', 'multicast("B_cache", "ioi")\n'


def linear(rows: int, columns: int, terms: int) -> Case:
    return Case("linear", LINEAR, ((rows, terms), (columns, terms)), fixed=True)


CASES = {
    "columns": (linear(128, 256, 384), clustered(COLUMNS, FLYING, A)),
    "rows": (linear(128, 128, 384), clustered(ROWS, FLYING, B)),
    "both": (linear(256, 128, 256), clustered(BOTH, FLYING, A + B)),
    "four": (linear(64, 256, 256), clustered(COLUMNS.replace('"jo", 2', '"jo", 4'), FLYING, A)),
    "done at once": (linear(128, 128, 448), clustered(COLUMNS, PLAIN, A)),
    "ends": (linear(100, 90, 200), clustered(COLUMNS, FLYING, A, "pad")),
    "walking": (
        linear(640, 128, 192),
        clustered(WALKING, FLYING.replace("lead=2", 'lead=2, through="iooo"'), B),
    ),
    "by threads": (Case("weighted", SHARED, ((7, 64), (4,)), fixed=True), BY_THREADS),
}
"""Clusters of 2 and 4 along columns, along rows and along both; tiles that end outside; five
rows of tiles for two clusters.
"""


@cache
def schedule(which: str) -> tx.Schedule:
    case, lines = CASES[which]
    return tx.Schedule(problem(case).program, problem(case).sizes).replay(lines)


@pytest.mark.parametrize("backwards", (False, True))
@pytest.mark.parametrize("which", CASES)
def test_emulated(which: str, backwards: bool):
    """Copies early and late; the first and the last block of a cluster slow."""
    case, lines = CASES[which]
    assert right(emulated(kernel_of(case, SM90, lines), case, backwards), case)


@pytest.mark.parametrize("which", CASES)
def test_certified(which: str):
    assert schedule(which).certificate().flushed == (() if which == "by threads" else ("C",))


def test_picture(golden):
    golden(show_kernel(schedule("both").kernel))


def test_a_listing_says_it_all():
    kernel = schedule("both").kernel
    assert equal(parse_kernel(show_kernel(kernel)), kernel)
    assert "clusters of 4 blocks" in str(schedule("both"))


def test_elsewhere_each_block_has_a_copy_of_its_own():
    case, _ = CASES["ends"]
    assert right(interpret_kernel(schedule("ends").kernel, problem(case).inputs, {})[0], case)


def test_blocks_run_together_without_copies_too():
    case, kernel = CASES["by threads"][0], kernel_of(CASES["by threads"][0], SM90, ALONE)
    text, _ = emit_llvm(kernel, SM90)
    assert '"nvvm.cluster_dim"="2,1,1"' in text and "barrier.cluster" not in text and "clusterid.x" in text
    assert right(emulated(kernel, case, False), case)


# Faults.


def _of_a_block(node: Node) -> Node | None:
    """Nobody waits for what other blocks still read."""
    return Barrier() if isinstance(node, Barrier) else None


def _too_far(node: Node) -> Node | None:
    """Copies of iterations that do not come are begun, and expected."""
    after = _always_begun(node)
    return rewrite(after, _unconditional) if after is not None else None


def _along(axes: str) -> Callable[[Node], Node | None]:
    """Other copies, or all of them, are ordered together."""
    return lambda node: (
        replace(node, kind=BulkCopy(axes)) if isinstance(node, For) and is_bulk(node) else None
    )


def _one_block_waits(more: bool) -> Callable[[Node], Node | None]:
    """A barrier that one block leaves out, or one `more` that only one comes to."""

    def rule(node: Node) -> Node | None:
        if not isinstance(node, For) or not isinstance(node.body[0], Wait):
            return None
        (first, *_) = (
            n.var for n in walk(schedule("columns").kernel) if isinstance(n, For) and n.kind == Cluster("x")
        )
        alone = compare("==", first, index(0))
        if more:
            return replace(node, body=(*node.body, If(alone, (Barrier(True),))))
        return replace(node, body=tuple(If(alone, (s,)) if isinstance(s, Barrier) else s for s in node.body))

    return rule


FAULTS: dict[str, tuple[Callable[[Node], Node | None], str]] = {
    "barriers of blocks": (_of_a_block, "turn"),
    "no barrier": (without(Barrier), "turn"),
    "no wait": (without(Wait), "turn"),
    "wrong parity": (_counted(_other_phase), "phase"),
    "wrong counter": (_counted(_other_counter), "counter"),
    "too many bytes": (_more(64), "bytes"),
    "bytes of its own part": (_more(-4096), "bytes"),
    "begins what is not expected": (_always_begun, "bytes"),
    "begins what is not waited for": (_too_far, "left"),
    "tiles that differ": (_along("x"), "apart"),
    "along another axis": (_along("y"), "apart"),
    "one block does not wait": (_one_block_waits(False), "turn"),
    "one block waits": (_one_block_waits(True), "uneven"),
}


def caught(kernel: Kernel, case: Case, change: Callable[[str], str] = lambda text: text) -> bool:
    """Whether the emulator finds fault with a kernel, in one of the two orders."""

    def wrong(backwards: bool) -> bool:
        try:
            return not right(emulated(kernel, case, backwards, change), case)
        except AssertionError as error:
            return (
                re.search(
                    "copies that does not end|told twice|under way|has ended|than a cluster|threads",
                    str(error),
                )
                is not None
            )

    return any(map(wrong, (False, True)))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch):
    """By the proof, before code is made, and by the emulator where code is made all the same."""
    change, kind = FAULTS[fault]
    case, kernel = CASES["columns"][0], schedule("columns").kernel
    wrong = rewrite(kernel, change)
    assert not equal(wrong, kernel) and poly.unproven_copy(kernel) is None
    found = poly.unproven_copy(wrong)
    assert found is not None and found.kind == kind
    if (
        "along another" not in fault and "one block" not in fault
    ):  # there is no code for that axis, and barriers stand under no condition
        monkeypatch.setattr(pass_pipeline, "check_arrivals", lambda kernel: kernel)
        assert caught(pass_pipeline.prepared(wrong, SM90), case)


@pytest.mark.parametrize("which", ("columns", "walking"))
def test_products_of_other_blocks_are_waited_for(which: str, monkeypatch: pytest.MonkeyPatch):
    """In front of the barrier of the cluster, not behind it: the next copies overwrite what
    products read.
    """
    monkeypatch.setattr(pass_pipeline, "check_arrivals", lambda kernel: kernel)
    wrong = rewrite(schedule(which).kernel, swapped)
    found = poly.unproven_product(wrong)
    assert poly.unproven_copy(wrong) is None and found is not None and found.kind == "operand"
    assert caught(pass_pipeline.prepared(wrong, SM90), CASES[which][0])


@pytest.mark.parametrize("fault", [f for f in FAULTS if "begins" not in f and f != "tiles that differ"])
def test_for_all_sizes(fault: str):
    """Any number of rows, which clusters fill or not, and of terms."""
    change, kind = FAULTS[fault]
    s = tx.schedule(tx.op(SHARED)).replay(BY_THREADS.replace("exact", "pad"))
    found = poly.unproven_copy(rewrite(s.kernel, change))
    assert poly.unproven_copy(s.kernel) is None and found is not None and found.kind == kind
    assert s.certificate() is not None


@pytest.mark.parametrize("which", ("done at once", "walking", "by threads"))
def test_reads_of_other_blocks_are_waited_for(which: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pass_pipeline, "check_arrivals", lambda kernel: kernel)
    wrong = rewrite(schedule(which).kernel, _of_a_block)
    found = poly.unproven_copy(wrong)
    assert (
        found is not None
        and found.kind == "turn"
        and caught(pass_pipeline.prepared(wrong, SM90), CASES[which][0])
    )


MEETING = (
    r"  call void @llvm\.nvvm\.barrier\.cluster\.arrive[\w.]*\(\)\n  call void "
    r"@llvm\.nvvm\.barrier\.cluster\.wait\.aligned\(\)\n"
)
IN_CODE = {
    "counters that are not there": lambda text: re.sub(MEETING, "", text, count=1),
    "a block is left out": lambda text: text.replace("i16 3,", "i16 1,"),
    "one block too many": lambda text: text.replace("i16 3,", "i16 7,"),
    "for itself alone": lambda text: text.replace("i1 true", "i1 false"),
    "the other part": lambda text: re.sub(r"(tile\.2d\([^\n]*i32 )%v\d+(, i16 3)", r"\g<1>0\2", text),
}


@pytest.mark.parametrize("fault", IN_CODE)
def test_a_fault_of_code_is_seen(fault: str):
    case, lines = CASES["columns"]
    kernel, change = kernel_of(case, SM90, lines), IN_CODE[fault]
    assert change(text := emitted(kernel, SM90)[0]) != text
    assert not caught(kernel, case) and caught(kernel, case, change)


# The emulator.

TOGETHER = """
@s = internal addrspace(3) global [16 x i8] undef, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.clusterid.x()
declare void @llvm.nvvm.barrier.cluster.arrive.aligned()
declare void @llvm.nvvm.barrier.cluster.wait.aligned()
define ptx_kernel void @k(ptr addrspace(1) %t0) nounwind "nvvm.maxntid"="1,1,1" "nvvm.cluster_dim"="2,1,1" {
entry:
  %block = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctaid.x()
  %cluster = call i32 @llvm.nvvm.read.ptx.sreg.clusterid.x()
  store i32 %block, ptr addrspace(3) @s
  %meets = icmp ult i32 %block, 2
  br i1 %meets, label %meet, label %done
meet:
  call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  br label %done
done:
  %mine = load i32, ptr addrspace(3) @s
  %pair = mul i32 %cluster, 2
  %k = add i32 %pair, %block
  %at = getelementptr i32, ptr addrspace(1) %t0, i32 %k
  store i32 %mine, ptr addrspace(1) %at
  ret void
}
"""


@pytest.mark.parametrize("backwards", (False, True))
def test_blocks_have_memory_of_their_own(backwards: bool):
    out = np.full(4, -1, "i4")
    fibers.run(TOGETHER, [("k", (4, 1, 1), (1, 1, 1), 0)], [], [out], [], [], backwards=backwards)
    assert out.tolist() == [0, 1, 0, 1]


def test_a_block_that_does_not_come():
    with pytest.raises(
        AssertionError,
        match="threads wait at different places: warp 0 of block 1 ended, warp 0 of block 0 at barrier",
    ):
        fibers.run(
            TOGETHER.replace("%block, 2", "%block, 1"),
            [("k", (2, 1, 1), (1, 1, 1), 0)],
            [],
            [np.empty(4, "i4")],
            [],
            [],
        )


def test_a_grid_has_whole_clusters():
    with pytest.raises(AssertionError, match="a grid has whole clusters"):
        fibers.run(TOGETHER, [("k", (3, 1, 1), (1, 1, 1), 0)], [], [np.empty(4, "i4")], [], [])


# Processors.


@pytest.mark.parametrize(
    ("which", "shared", "alone", "cluster"),
    [
        ("columns", 2, 2, "2, 1, 1"),
        ("rows", 2, 2, "1, 2, 1"),
        ("both", 4, 0, "2, 2, 1"),
        ("walking", 3, 3, "1, 2, 1"),
        ("by threads", 2, 0, "2, 1, 1"),
    ],
)
def test_assembled(which: str, shared: int, alone: int, cluster: str, tmp_path: Path):
    """No spills and no message C75..; in the loop a barrier of the cluster, without fences where
    only products read.
    """
    case, lines = CASES[which]
    text = compile_kernel(kernel_of(case, SM90, lines), SM90).assembly
    said = assemble(text, "sm_90a", tmp_path)
    assert (
        " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said
        and "C75" not in said
        and ".local" not in text
    )
    assert f".explicitcluster\n.reqnctapercluster {cluster}\n" in text
    code = instructions(text, "sm_90a", tmp_path)
    copies = [op for op, _ in code if op.startswith("UTMALDG")]
    assert sum(op.endswith("MULTICAST") for op in copies) == shared and len(copies) == shared + alone
    assert count(code, "UCGABAR_ARV") == count(code, "UCGABAR_WAIT") == 2 and count(
        code, "MEMBAR.ALL.GPU"
    ) == (which == "by threads")


def test_who_reads_what_is_copied():
    """Only where products alone do, a barrier of the cluster shows nothing."""
    kernel = schedule("columns").kernel
    (nest,), buffers = kernel.body, {t for t in kernel.temporaries if t.scope == "shared"}
    plain = Store(kernel.outputs[0], (index(0), index(0)), Read(next(iter(buffers)), (index(0),) * 3))
    assert len(buffers) == 2 and read_by_descriptors_alone(nest, buffers)
    assert not read_by_descriptors_alone(
        If(compare("<", index(0), kernel.outputs[0].shape[0]), (nest, plain)), buffers
    )


def test_other_processors_lack_it():
    case, _ = CASES["by threads"]
    with pytest.raises(CompileError) as error:
        emit_llvm(kernel_of(case, find_target("sm_80"), ALONE), find_target("sm_80"))
    assert str(error.value) == (
        "error[target]: sm_80 has no clusters of blocks, and `hi` is bound to cluster.x\n"
        "  help: sm_90 and sm_90a have them; bind it to block.x, or leave it out"
    )
    text, _ = emit_llvm(kernel_of(case, find_target("sm_90"), ALONE), find_target("sm_90"))
    assert '"nvvm.cluster_dim"="2,1,1"' in text


# Refusals.


def _refusal(case: Case, lines: str) -> str:
    with pytest.raises((CompileError, ScheduleError)) as error:
        emit_llvm(kernel_of(case, SM90, lines), SM90)
    return re.sub(r"(test_\w+\.py|<\w+>):\d+", r"\1:LINE", str(error.value))


def test_refusals(golden):
    given = linear(64, 640, 128)
    symbolic = Case(
        "row", "op row(X: f32[N, 64]) -> Y: f32[N, 64] { Y[i, j] = 2 * X[i, j] }", ((8, 64),), fixed=False
    )
    golden(
        "\n\n".join(
            [
                _refusal(given, clustered(COLUMNS.replace('"jo", 2', '"jo", 10'), FLYING, A)),
                _refusal(given, clustered(COLUMNS.replace('"jo", 2', '"jo", 5'), FLYING, A)),
                _refusal(
                    given,
                    clustered(COLUMNS.replace('"jo", 2', '"jo", 4').replace("exact", "guard"), FLYING, A),
                ),
                _refusal(given, clustered(COLUMNS, FLYING, 'multicast("B_cache", "joi")\n')),
                _refusal(given, clustered(COLUMNS, FLYING, 'multicast("A_cache", "joo")\n')),
                _refusal(given, clustered(COLUMNS, FLYING, 'multicast("A_cache")\n')),
                _refusal(given, clustered(COLUMNS, FLYING.replace('bulk_copy("ko")\n', ""), A)),
                _refusal(given, clustered(COLUMNS.replace('"cluster.x"', '"cluster.w"'), FLYING, A)),
                _refusal(symbolic, 'bind("i", "cluster.x")\n'),
            ]
        )
    )
