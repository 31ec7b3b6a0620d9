"""AArch64: NEON, as the host or as a foreign target."""

from __future__ import annotations

import platform

from texpr.ir.loop import Kernel
from texpr.ir.machine import Machine
from texpr.runtime import host
from texpr.targets import llvm
from texpr.targets.base import Launch, Target
from texpr.targets.cpu import emit_module

NAMES = ("aarch64",)
_TRIPLE = "aarch64-unknown-linux-gnu"


def target(name: str) -> Target | None:
    """`aarch64` (ARMv8.0 with NEON), or `native` on such a host."""
    machine = Machine(16, 32, (65536, 524288), host.cores())
    if name == "native" and platform.machine() == "aarch64":
        return Target(name, _TRIPLE, host.cpu_name(), llvm.host_features(), machine, _emit, native=True)
    return Target(name, _TRIPLE, "generic", "+neon", machine, _emit) if name == "aarch64" else None


def _emit(kernel: Kernel, target: Target, alone: bool) -> tuple[str, tuple[Launch, ...]]:
    return emit_module(kernel, "", alone=alone), ()
