"""The first processor that has each intrinsic which kernels for GPUs call: one table, which every
kernel is held against before LLVM sees it.

LLVM ends the process where the processor lacks one, and takes a misspelt one for a function that
somebody else has.

Source: PTX ISA 8.5, "Target ISA Notes" of each instruction, NVIDIA 2024.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from texpr.support.errors import CompileError
from texpr.targets.common.records import Target

EVERYWHERE = frozenset(
    {
        "sqrt",
        "floor",
        "ceil",
        "trunc",
        "roundeven",
        "fabs",
        "fma",
        "maximum",
        "minimum",
        "fptosi.sat",
        "fptoui.sat",
        "smax",
        "smin",
        "umax",
        "umin",
        "abs",
        "masked.load",
        "masked.store",
        "masked.gather",
        "masked.scatter",
        *(
            f"vector.reduce.{op}"
            for op in (
                "fadd",
                "fmul",
                "fmaximum",
                "fminimum",
                "add",
                "mul",
                "or",
                "smax",
                "smin",
                "umax",
                "umin",
            )
        ),
    }
)
"""Intrinsics of LLVM's own that the backend has code for on every processor; their names go on
with types.
"""

_NVVM = "llvm.nvvm."
_FIRST = tuple(
    (re.compile(pattern), first)
    for pattern, first in (
        (r"read\.ptx\.sreg\.(tid|ctaid)\.[xyz]", 70),
        (r"read\.ptx\.sreg\.(clusterid|cluster\.ctaid)\.[xyz]", 90),
        (r"barrier\.cta\.sync\.aligned\.all|bar\.warp\.sync|shfl\.sync\.bfly\.i32", 70),
        (r"barrier\.cluster\.(arrive|arrive\.relaxed|wait)\.aligned", 90),
        (r"ex2\.approx\.ftz\.f32", 70),
        (r"f2tf32\.rna|f2bf16\.rn|ff2bf16x2\.rn", 80),
        (r"ldmatrix\.sync\.aligned\.m8n8\.x4\.(trans\.)?b16\.p3", 75),
        (r"mma\.m16n8k16\.row\.col\.(bf16|f32\.f32)", 80),
        (r"mma\.m16n8k8\.row\.col\.tf32|mma\.m16n8k32\.row\.col\.s8|mma\.m8n8k4\.row\.col\.f64", 80),
        (r"mma\.m16n8k32\.row\.col\.f32\.e[45]m[32]\.e[45]m[32]\.f32", 89),
        (
            r"cp\.async\.(ca\.shared\.global\.(4|8)|cg\.shared\.global\.16)(\.s)?|cp\.async\.(commit|wait)\.group",
            80,
        ),
        (r"cp\.async\.bulk\.tensor\.g2s\.tile\.[1-5]d", 90),
        (r"mbarrier\.init\.shared", 80),
        (r"mbarrier\.(arrive\.expect\.tx|try\.wait\.parity)\.scope\.cta\.space\.cta", 90),
        (r"fence\.mbarrier_init\.release\.cluster|fence\.proxy\.async\.shared_cta", 90),
    )
)
"""Of NVIDIA's intrinsics, whose names follow `llvm.nvvm.`: the first processor that has them."""


def first_processor(name: str) -> int:
    """The first processor that has an intrinsic: 70 for what all have.

    Raises:
        AssertionError: it is not in the table.
    """
    if name.startswith(_NVVM):
        found = next(
            (first for pattern, first in _FIRST if pattern.fullmatch(name.removeprefix(_NVVM))), None
        )
        assert found is not None, f"{name} is not in the table of intrinsics"
        return found
    base = name.removeprefix("llvm.")
    while base not in EVERYWHERE and "." in base:
        base = base.rpartition(".")[0]
    assert base in EVERYWHERE, f"{name} is not in the table of intrinsics"
    return 70


def check_intrinsics(names: Iterable[str], target: Target) -> None:
    """Refuse intrinsics that the processor of a target lacks.

    Raises:
        CompileError: it lacks one of these intrinsics.
    """
    has = int(target.cpu.removeprefix("sm_")[:2])
    for name in names:
        if name.startswith("llvm.") and first_processor(name) > has:
            raise CompileError(
                f"{target.name} has no {name.removeprefix(_NVVM)}; it is there from "
                f"sm_{first_processor(name)} on",
                code="target",
                help="compile for such a processor, or schedule for this one: auto()",
            )
