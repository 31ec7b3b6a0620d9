"""LLVM IR of kernels for x86-64, by the width of its vectors."""

from __future__ import annotations

from texpr.ir.loop import Kernel
from texpr.targets.common.records import Launch, Target
from texpr.targets.cpu.amx_tiles import PERMISSION_CHECK, AmxEmitter, uses_tiles
from texpr.targets.cpu.llvm_module import emit_module
from texpr.targets.cpu.nan_tracking import NanTrackingEmitter
from texpr.targets.cpu.x86_emitters import Avx512Emitter, ShortVectorEmitter, X86Emitter
from texpr.targets.emit.outline_nests import OutliningEmitter


class _Avx512Code(Avx512Emitter, NanTrackingEmitter, AmxEmitter, X86Emitter):
    """512 bits: 32 registers, with masks."""


class _ShortVectorCode(ShortVectorEmitter, X86Emitter, OutliningEmitter):
    """256 bits or fewer: 16 registers, which sums fill: what other nests need must not be in them.
    Parts of one nest need the same.
    """

    outlines_parts = False


def emit(kernel: Kernel, target: Target, alone: bool) -> tuple[str, tuple[Launch, ...]]:
    """LLVM IR of a kernel; see `targets.emit_llvm`."""
    # Without these, LLVM splits 512-bit vectors on some CPUs.
    width = target.machine.vector_bytes * 8
    attributes = f'"prefer-vector-width"="{width}" "min-legal-vector-width"="{width}"'
    emitter = _Avx512Code if width == 512 else _ShortVectorCode
    # Code in this process is made for it after it was asked.
    check = PERMISSION_CHECK if alone and uses_tiles(kernel) else ""
    return emit_module(kernel, attributes, alone=alone, using=emitter, check=check), ()
