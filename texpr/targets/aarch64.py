"""AArch64: NEON, as the host or as a foreign target; with SVE for masks and gathers."""

from __future__ import annotations

import platform

from texpr.ir.loop import Kernel
from texpr.ir.machine import Machine
from texpr.runtime import host
from texpr.targets import llvm
from texpr.targets.base import Launch, Target
from texpr.targets.cpu import emit_module
from texpr.targets.instructions import transposes

NAMES = ("aarch64", "aarch64+dotprod", "aarch64+sve")
_TRIPLE = "aarch64-unknown-linux-gnu"
_CACHES = (64 << 10, 512 << 10)
_FEATURES = {"aarch64": "+neon", "aarch64+dotprod": "+neon,+dotprod", "aarch64+sve": "+neon,+sve"}


def target(name: str) -> Target | None:
    """`aarch64` (ARMv8.0 with NEON), `aarch64+dotprod` (with products of bytes), `aarch64+sve`, or `native` on such a host."""
    if name == "native" and platform.machine() == "aarch64":
        machine = Machine(16, 32, host.caches() or _CACHES, host.cores(), instructions=_instructions("asimddp" in host.cpu_features()))
        return Target(name, _TRIPLE, host.cpu_name(), llvm.host_features(), machine, _emit, native=True)
    if name not in _FEATURES:
        return None
    machine = Machine(16, 32, _CACHES, 4, instructions=_instructions("dotprod" in name))
    return Target(name, _TRIPLE, "generic", _FEATURES[name], machine, _emit)


def _instructions(dot: bool) -> frozenset[str]:
    return transposes(16) | ({"sdot", "udot"} if dot else set())


def _emit(kernel: Kernel, target: Target, alone: bool) -> tuple[str, tuple[Launch, ...]]:
    # Vectors have 128 bits, so the code is right on every length of SVE; code for longer ones is silently wrong on shorter machines.
    attributes = "vscale_range(1,16)" if "+sve" in target.features.split(",") else ""
    return emit_module(kernel, attributes, alone=alone), ()
