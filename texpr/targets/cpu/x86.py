"""x86-64: the machine this process runs on, and the psABI levels."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from typing import TYPE_CHECKING

from texpr.ir.loop import Kernel
from texpr.ir.machine import Machine
from texpr.runtime import host
from texpr.support.frozen_dataclass import frozen, replace
from texpr.support.late import late
from texpr.targets.common.instruction_names import TILE_INSTRUCTIONS, TILE_REGISTERS, transposes
from texpr.targets.common.qemu import in_qemu
from texpr.targets.common.records import Launch, Target

if TYPE_CHECKING:
    from texpr.targets.cpu import x86_module
else:
    x86_module = late("texpr.targets.cpu.x86_module")


@frozen
class CpuTraits:
    """Traits of a microarchitecture that schedules should know, and features do not tell.

    Attributes:
        prefers_nontemporal_stores, fma_per_cycle, split_load_cost: as `Machine` has them.
        half_vectors_beyond: the level of cache, from 1, beyond a part of which halves of vectors of
            512 bits are faster; 0 for none.
        part: of that level.
        multiplies_bf16_pairs: vdpbf16ps adds products faster than fused multiply-adds of f32 do.
    """

    prefers_nontemporal_stores: bool = False
    fma_per_cycle: int = 1
    split_load_cost: int = 1
    half_vectors_beyond: int = 0
    part: float = 1
    multiplies_bf16_pairs: bool = False


MICROARCHITECTURES: dict[str, CpuTraits] = {
    # `python -m bench.x86 --only rowwise`: rows are faster by non-temporal stores. The limits that
    # it prints: vdpbf16ps adds products faster than multiply-adds of f32 do.
    "znver": CpuTraits(prefers_nontemporal_stores=True, multiplies_bf16_pairs=True),
    # Two multiply-adds of 256 bits begin in a cycle: AMD, Software Optimization Guide for Family 19h.
    "znver3": CpuTraits(prefers_nontemporal_stores=True, fma_per_cycle=2, multiplies_bf16_pairs=True),
    # It computes in halves of 512 bits. `--only rowwise`: halves are faster where arrays do not
    # stay in the second cache.
    "znver4": CpuTraits(prefers_nontemporal_stores=True, multiplies_bf16_pairs=True, half_vectors_beyond=2),
    # `--only gemm,gemm-types`: faster by schedules for two multiply-adds in a cycle; loads across
    # lines were not seen to wait. `--only rowwise`: halves of vectors are faster where the third
    # cache is short of room.
    "znver5": CpuTraits(
        prefers_nontemporal_stores=True,
        fma_per_cycle=2,
        multiplies_bf16_pairs=True,
        half_vectors_beyond=3,
        part=0.5,
    ),
    # `--only rowwise`: as Zen. It loads and multiplies as Granite Rapids does, where the rest was
    # measured.
    "sapphirerapids": CpuTraits(prefers_nontemporal_stores=True, fma_per_cycle=2, split_load_cost=2),
    # The same; by the limits that `bench.x86` prints, vdpbf16ps adds half as many products as
    # multiply-adds of f32 do.
    "emeraldrapids": CpuTraits(prefers_nontemporal_stores=True, fma_per_cycle=2, split_load_cost=2),
    # `--only gemm,gemm-types`: two whole vectors are loaded in a cycle, or one across two lines of
    # memory, which products then wait for: f32 products of 128 to 512 took up to a fifth longer by
    # schedules that do not see to it.
    "graniterapids": CpuTraits(prefers_nontemporal_stores=True, fma_per_cycle=2, split_load_cost=2),
    # Its products have not been tried.
    "graniterapids-d": CpuTraits(prefers_nontemporal_stores=True),
}
"""Traits by LLVM's name of the processor, or a prefix of it; others have no traits. On Cascade Lake
non-temporal stores were not faster (`--only rowwise`); others that begin two multiply-adds in a
cycle have not been tried.
"""

SHARED_CACHE_PER_CORE = 16 << 20
"""Bytes of a third level of cache that a core can count on."""

NAMES = ("native", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4+amx")
_AMX_FEATURES = ("amx-tile", "amx-bf16", "amx-int8", "avx512vnni")
"""LLVM's names of features that all processors with tiles have."""
_VNNI_INSTRUCTIONS = frozenset({"vpdpbusd", "vpdpbssd", "vpdpwssd"})
"""The instructions of avx512vnni."""
_TRIPLE = "x86_64-unknown-linux-gnu"
_QEMU = in_qemu("x86_64")


def target(name: str) -> Target | None:
    """The target of `native` on an x86-64 host, one of the psABI levels, or the last of these with
    tiles (AMX).
    """
    if name == "native" and platform.machine() == "x86_64":
        return Target(
            name,
            _TRIPLE,
            host.cpu_name(),
            host.llvm_features(),
            _host_machine(),
            _emit,
            native=True,
            emulate=_QEMU,
        )
    levels = {
        "x86-64": (16, 16, False),
        "x86-64-v2": (16, 16, False),
        "x86-64-v3": (32, 16, True),
        "x86-64-v4": (64, 32, True),
    }
    if name in levels:
        width, registers, fma = levels[name]
        return Target(
            name, _TRIPLE, name, "", _machine(width, registers, (32768, 524288), 4, fma), _emit, emulate=_QEMU
        )
    if name == "x86-64-v4+amx":
        machine = _machine(64, 32, (49152, 2 << 20), 4, True)
        machine = with_tiles(
            replace(machine, instructions=machine.instructions | _VNNI_INSTRUCTIONS), _AMX_FEATURES
        )
        features = ",".join(f"+{feature}" for feature in _AMX_FEATURES)
        return Target(name, _TRIPLE, "x86-64-v4", features, machine, _emit, emulate=_QEMU)
    return None


def traits_of(cpu: str) -> CpuTraits:
    """The traits of the processor that LLVM calls `cpu`: those of the longest name that it
    begins with.
    """
    fitting = [name for name in MICROARCHITECTURES if cpu.startswith(name)]
    return MICROARCHITECTURES[max(fitting, key=len)] if fitting else CpuTraits()


def _host_machine() -> Machine:
    features, traits = host.cpu_features(), traits_of(host.cpu_name())
    wide = {"avx512f", "avx512dq", "avx512vl"} <= set(features)
    caches = _usable(host.caches(), host.cores())
    machine = _machine(64 if wide else 32, 32 if wide else 16, caches, host.cores(), "fma" in features)
    machine = replace(
        machine,
        prefers_nontemporal_stores=traits.prefers_nontemporal_stores,
        half_vector_threshold_bytes=_half_vector_threshold(traits, caches) if wide else 0,
        fma_per_cycle=traits.fma_per_cycle,
        split_load_cost=traits.split_load_cost,
    )
    if "avx512vnni" in features:
        machine = replace(machine, instructions=machine.instructions | _VNNI_INSTRUCTIONS)
    if "avx512bf16" in features:
        unprofitable = frozenset() if traits.multiplies_bf16_pairs else frozenset({"vdpbf16ps"})
        machine = replace(
            machine, instructions=machine.instructions | {"vdpbf16ps"}, unprofitable_instructions=unprofitable
        )
    return with_tiles(machine, features) if wide and host.tiles_permitted() else machine


def with_tiles(machine: Machine, features: Iterable[str]) -> Machine:
    """The machine with the instructions for tiles that its features have."""
    if "amx-tile" not in features:
        return machine
    return replace(
        machine,
        tile_registers=TILE_REGISTERS,
        instructions=machine.instructions.union(*(TILE_INSTRUCTIONS.get(f, ()) for f in features)),
    )


def _half_vector_threshold(traits: CpuTraits, caches: tuple[int, ...]) -> int:
    """Bytes of arrays from which half vectors of 512 bits are faster; 0 for never."""
    level = traits.half_vectors_beyond
    return int(caches[level - 1] * traits.part) if 0 < level <= len(caches) else 0


def _usable(caches: tuple[int, ...], cores: int) -> tuple[int, ...]:
    """Cache bytes that hold the work of these cores: a third level may serve many others, which a
    virtual machine does not show.
    """
    return (*caches[:2], *(min(size, max(SHARED_CACHE_PER_CORE * cores, caches[1])) for size in caches[2:]))


def _machine(vector_bytes: int, registers: int, caches: tuple[int, ...], cores: int, fma: bool) -> Machine:
    functions = frozenset({"scale"}) if vector_bytes == 64 else frozenset()
    return Machine(
        vector_bytes,
        registers,
        caches,
        cores,
        fma=fma,
        functions=functions,
        instructions=transposes(vector_bytes),
    )


def _emit(kernel: Kernel, target: Target, alone: bool) -> tuple[str, tuple[Launch, ...]]:
    return x86_module.emit(kernel, target, alone)
