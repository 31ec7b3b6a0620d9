"""x86-64: the machine this process runs on, and the psABI levels."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import replace

from texpr.ir.loop import Kernel
from texpr.ir.machine import Machine
from texpr.runtime import host
from texpr.targets.common import llvm_backend as llvm
from texpr.targets.common.qemu import in_qemu
from texpr.targets.common.records import Launch, Target
from texpr.targets.cpu.amx_tiles import OF_FEATURE, PERMISSION, REGISTERS, AmxEmitter, uses_tiles
from texpr.targets.cpu.module import emit_module
from texpr.targets.cpu.nan_tracking import NanTrackingEmitter
from texpr.targets.cpu.x86_emitters import Avx512Emitter, ShortVectorEmitter, X86Emitter
from texpr.targets.emit.instructions import transposes

_STREAMING = ("znver", "sapphirerapids", "emeraldrapids", "graniterapids")
"""Processors on which stores past the caches made rows of `python -m bench.x86 --only rowwise` faster; on Cascade Lake they did not."""

_TWICE = ("znver5", "sapphirerapids", "emeraldrapids", "graniterapids")
"""Processors that begin two fused multiply-adds of whole vectors in a cycle, and on which rows of `python -m bench.x86 --only
gemm,gemm-types` are faster by schedules that see to it: found on Zen 5 and Granite Rapids, whose two predecessors load and multiply alike.
Others that do have not been tried."""

_CROSSED = ("sapphirerapids", "emeraldrapids", "graniterapids")
"""Of these, those that load two whole vectors in a cycle, or one across two lines of memory, which products then wait for: f32 products of
128 to 512 took up to a fifth longer on Granite Rapids by schedules that do not see to it. Zen 5 was not seen to wait."""

_PAIRED = ("znver",)
"""Processors on which vdpbf16ps adds products faster than fused multiply-adds of f32 do, as the limits that `python -m bench.x86` prints
tell; on Emerald Rapids it adds half as many."""

SHARE = 16 << 20
"""Bytes of a third level of cache that a core can count on."""

NAMES = ("native", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4+amx")
_TILED = ("amx-tile", "amx-bf16", "amx-int8", "avx512vnni")
"""LLVM's names of features that all processors with tiles have."""
_GROUPS = frozenset({"vpdpbusd", "vpdpbssd", "vpdpwssd"})
"""The instructions of avx512vnni."""
_TRIPLE = "x86_64-unknown-linux-gnu"
_QEMU = in_qemu("x86_64")


def target(name: str) -> Target | None:
    """`native` on an x86-64 host, one of the psABI levels, or the last of these with tiles (AMX)."""
    if name == "native" and platform.machine() == "x86_64":
        features = host.cpu_features()
        wide = {"avx512f", "avx512dq", "avx512vl"} <= set(features)
        machine = _machine(64 if wide else 32, 32 if wide else 16, _held(host.caches(), host.cores()), host.cores(), "fma" in features)
        machine = replace(machine, prefers_nontemporal_stores=host.cpu_name().startswith(_STREAMING),
                          half_vector_threshold_bytes=_halves(machine) if wide else 0,
                          fma_per_cycle=2 if host.cpu_name() in _TWICE else 1, split_load_cost=2 if host.cpu_name() in _CROSSED else 1)
        if "avx512vnni" in features:
            machine = replace(machine, instructions=machine.instructions | _GROUPS)
        if "avx512bf16" in features:
            outrun = frozenset() if host.cpu_name().startswith(_PAIRED) else frozenset({"vdpbf16ps"})
            machine = replace(machine, instructions=machine.instructions | {"vdpbf16ps"}, unprofitable_instructions=outrun)
        if wide and host.tiles_permitted():
            machine = with_tiles(machine, features)
        return Target(name, _TRIPLE, host.cpu_name(), llvm.host_features(), machine, _emit, native=True, emulate=_QEMU)
    levels = {"x86-64": (16, 16, False), "x86-64-v2": (16, 16, False), "x86-64-v3": (32, 16, True), "x86-64-v4": (64, 32, True)}
    if name in levels:
        width, registers, fma = levels[name]
        return Target(name, _TRIPLE, name, "", _machine(width, registers, (32768, 524288), 4, fma), _emit, emulate=_QEMU)
    if name == "x86-64-v4+amx":
        machine = _machine(64, 32, (49152, 2 << 20), 4, True)
        machine = with_tiles(replace(machine, instructions=machine.instructions | _GROUPS), _TILED)
        features = ",".join(f"+{feature}" for feature in _TILED)
        return Target(name, _TRIPLE, "x86-64-v4", features, machine, _emit, emulate=_QEMU)
    return None


def with_tiles(machine: Machine, features: Iterable[str]) -> Machine:
    """The machine with the instructions for tiles that its features have."""
    if "amx-tile" not in features:
        return machine
    return replace(machine, tile_registers=REGISTERS, instructions=machine.instructions.union(*(OF_FEATURE.get(f, ()) for f in features)))


def _halves(machine: Machine) -> int:
    """Bytes of arrays from which on halves of vectors of 512 bits are faster: on Zen 4, which computes in halves, where they do not stay in
    the second cache; on Zen 5 where the third one is short of room.
    """
    far = {"znver4": machine.caches[:2][-1:], "znver5": tuple(size // 2 for size in machine.caches[2:])}
    return next(iter(far.get(host.cpu_name(), ())), 0)


def _held(caches: tuple[int, ...], cores: int) -> tuple[int, ...]:
    """What the caches hold of the work of these cores: a third level may serve many others, which a virtual machine does not show."""
    return (*caches[:2], *(min(size, max(SHARE * cores, caches[1])) for size in caches[2:]))


def _machine(vector_bytes: int, registers: int, caches: tuple[int, ...], cores: int, fma: bool) -> Machine:
    functions = frozenset({"scale"}) if vector_bytes == 64 else frozenset()
    return Machine(vector_bytes, registers, caches, cores, fma=fma, functions=functions, instructions=transposes(vector_bytes))


class _Avx512Code(Avx512Emitter, NanTrackingEmitter, AmxEmitter, X86Emitter):
    """512 bits: 32 registers, with masks."""


class _ShortVectorCode(ShortVectorEmitter, X86Emitter):
    """256 bits or fewer: 16 registers."""


def _emit(kernel: Kernel, target: Target, alone: bool) -> tuple[str, tuple[Launch, ...]]:
    # Without these, LLVM splits 512-bit vectors on some CPUs.
    width = target.machine.vector_bytes * 8
    attributes = f'"prefer-vector-width"="{width}" "min-legal-vector-width"="{width}"'
    emitter = _Avx512Code if width == 512 else _ShortVectorCode
    # Code in this process is made for it after it was asked.
    check = PERMISSION if alone and uses_tiles(kernel) else ""
    return emit_module(kernel, attributes, alone=alone, using=emitter, check=check), ()
