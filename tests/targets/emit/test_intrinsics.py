"""No kernel asks a processor for what it lacks: LLVM would end the process."""

from __future__ import annotations

from dataclasses import replace

import pytest

import texpr as tx
from tests.autoschedule.gpu.test_gemm import HALF
from texpr.compiler import pass_pipeline
from texpr.targets import compile_kernel, find_target
from texpr.targets.gpu.intrinsics import check_intrinsics, first_processor
from texpr.targets.gpu.ptx import NAMES


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("llvm.nvvm.read.ptx.sreg.tid.x", 70),
        ("llvm.nvvm.read.ptx.sreg.clusterid.y", 90),
        ("llvm.nvvm.mma.m16n8k16.row.col.bf16", 80),
        ("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3", 75),
        ("llvm.nvvm.mma.m16n8k32.row.col.f32.e5m2.e4m3.f32", 89),
        ("llvm.nvvm.cp.async.ca.shared.global.8.s", 80),
        ("llvm.nvvm.cp.async.bulk.tensor.g2s.tile.5d", 90),
        ("llvm.fma.f32", 70),
        ("llvm.vector.reduce.fmaximum.v4f32", 70),
        ("llvm.fptosi.sat.i8.f64", 70),
    ],
)
def test_the_first_processor(name: str, first: int):
    assert first_processor(name) == first
    for target in NAMES:
        if int(target[3:5]) >= first:
            check_intrinsics([name, "texpr_softmax"], find_target(target))
        else:
            with pytest.raises(tx.CompileError, match=f"{target} has no .* it is there from sm_{first} on"):
                check_intrinsics([name], find_target(target))


@pytest.mark.parametrize(
    "name",
    [
        "llvm.nvvm.barrier0",
        "llvm.nvvm.cp.async.cg.shared.global.8",
        "llvm.exp.f32",
        "llvm.log2.f32",
        "llvm.nvvm.read.ptx.sreg.tid.w",
        "llvm.nvvm.mma.m16n8k16.row.col.bf16.more",
    ],
)
def test_others_are_in_no_table(name: str):
    """LLVM ends the process over some, and takes others for functions that somebody else has."""
    with pytest.raises(AssertionError, match="is not in the table of intrinsics"):
        first_processor(name)


@pytest.mark.parametrize(
    ("schedule", "processor", "said"),
    [
        ("sm_80", "sm_75", "sm_75 has no "),
        ("sm_80", "sm_70", "sm_70 has no "),
        ("sm_90a", "sm_86", "sm_86 has no "),
    ],
)
def test_a_record_that_promises_too_much(schedule: str, processor: str, said: str):
    """The machine of a newer processor on an older one: refused before LLVM sees it."""
    wrong = replace(find_target(processor), machine=find_target(schedule).machine)
    kernel = pass_pipeline.prepared(
        tx.schedule(tx.op(HALF), M=512, N=512, K=512).auto(schedule).kernel, wrong
    )
    with pytest.raises(tx.CompileError) as error:
        compile_kernel(kernel, wrong)
    assert str(error.value).startswith(f"error[target]: {said}")
    assert error.value.help == "compile for such a processor, or schedule for this one: auto()"
