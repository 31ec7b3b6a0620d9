"""AArch64: NEON, as the host or as a foreign target; with SVE for masks and gathers; SVE of 512
bits.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable

from texpr.ir.loop import Kernel
from texpr.ir.machine import Machine
from texpr.runtime import host
from texpr.targets.common.instruction_names import transposes
from texpr.targets.common.qemu import in_qemu
from texpr.targets.common.records import Launch, Target
from texpr.targets.cpu.llvm_module import emit_module
from texpr.targets.cpu.scalable_vectors import ScalableEmitter
from texpr.targets.emit.outline_nests import OutliningEmitter

NAMES = ("aarch64", "aarch64+dotprod", "aarch64+bf16", "aarch64+i8mm", "aarch64+sve", "a64fx")
_TRIPLE = "aarch64-unknown-linux-gnu"
_QEMU = in_qemu("aarch64")
_CACHES = (64 << 10, 512 << 10)
_FEATURES = {
    "aarch64": "+neon",
    "aarch64+dotprod": "+neon,+dotprod",
    "aarch64+bf16": "+neon,+dotprod,+bf16",
    "aarch64+i8mm": "+neon,+dotprod,+i8mm",
    "aarch64+sve": "+neon,+sve",
}
_WIDE = 64
"""Bytes of a64fx's vectors; tiles for scalable vectors fill them, and are a multiple of shorter
ones.
"""
_LENGTH = """define internal i1 @tx_fits() noinline nounwind {
  %n = call i64 @llvm.vscale.i64()
  %fits = icmp eq i64 %n, 4
  ret i1 %fits
}"""
"""The check of the vector length. It does not promise a length, as kernels do: LLVM would believe
it.
"""
_DOTS = {"dotprod": {"sdot", "udot"}, "bf16": {"bfdot", "bfmmla"}, "i8mm": {"smmla", "ummla"}}
"""The instructions that add products, by LLVM's name of the feature."""


def target(name: str) -> Target | None:
    """`aarch64` (ARMv8.0 with NEON), `aarch64+dotprod` (with products of bytes), `aarch64+bf16` (of
    bf16 too), `aarch64+i8mm` (of bytes in squares), `aarch64+sve`, `a64fx` (SVE of 512 bits), or
    `native` on such a host."""
    if name == "native" and platform.machine() == "aarch64":
        machine = Machine(
            16,
            32,
            host.caches() or _CACHES,
            host.cores(),
            has_memory_operands=False,
            has_indexed_fma=True,
            instructions=_instructions(host.cpu_features()),
        )
        return Target(
            name, _TRIPLE, host.cpu_name(), host.llvm_features(), machine, _emit, native=True, emulate=_QEMU
        )
    if name == "a64fx":
        # Squares are transposed in the lower parts of registers: shuffles of 512 bits go through
        # memory.
        machine = Machine(
            _WIDE,
            32,
            (64 << 10, 8 << 20),
            4,
            has_memory_operands=False,
            instructions=transposes(16),
            scalable_bytes=_WIDE,
        )
        return Target(
            name,
            _TRIPLE,
            name,
            "+sve",
            machine,
            _emit_wide,
            emulate=in_qemu("aarch64", "a64fx"),
            vectors_checked=True,
        )
    if name not in _FEATURES:
        return None
    features = [feature.removeprefix("+") for feature in _FEATURES[name].split(",")]
    machine = Machine(
        16,
        32,
        _CACHES,
        4,
        has_memory_operands=False,
        has_indexed_fma=True,
        instructions=_instructions(features),
        scalable_bytes=_WIDE if "sve" in features else 0,
    )
    return Target(name, _TRIPLE, "generic", _FEATURES[name], machine, _emit, emulate=_QEMU)


def _instructions(features: Iterable[str]) -> frozenset[str]:
    return transposes(16).union(*(_DOTS.get(feature, ()) for feature in features))


class _NeonCode(OutliningEmitter):
    """Emitter for NEON. Slow paths have a calling convention that preserves half of the vector
    registers, so that constants of the loops around a call stay in them.
    """

    cold_calling_convention = "aarch64_vector_pcs"


class _SveCode(ScalableEmitter, OutliningEmitter):
    """Loops over lanes of any length, nests in functions of their own."""


def _emit(kernel: Kernel, target: Target, alone: bool) -> tuple[str, tuple[Launch, ...]]:
    # Vectors have 128 bits, so the code is right on every length of SVE; code for longer ones is
    # silently wrong on shorter machines.
    attributes = "vscale_range(1,16)" if "+sve" in target.features.split(",") else ""
    return emit_module(kernel, attributes, alone=alone, using=_SveCode if attributes else _NeonCode), ()


def _emit_wide(kernel: Kernel, target: Target, alone: bool) -> tuple[str, tuple[Launch, ...]]:
    """Vectors of exactly 512 bits: on shorter ones the code would be silently wrong, so it asks
    for their length first.
    """
    return emit_module(kernel, "vscale_range(4,4)", alone=alone, using=_SveCode, check=_LENGTH), ()
