"""ARMv7 with NEON: addresses of 32 bits, sixteen registers of 128. Numbers below the normal ones are 0 in its vectors of f32."""

from __future__ import annotations

from texpr.ir.loop import Kernel
from texpr.ir.machine import Machine
from texpr.targets.base import Launch, Target
from texpr.targets.cpu import emit_module
from texpr.targets.execute import in_qemu
from texpr.targets.instructions import transposes

NAMES = ("armv7",)
# LLVM takes a triple of three parts for one of a processor without floats.
_TRIPLE = "armv7-unknown-linux-gnueabihf"
_CACHES = (32 << 10, 1 << 20)


def target(name: str) -> Target | None:
    """`armv7`: with NEON and VFPv4, as from Cortex-A15 and A7 on."""
    if name not in NAMES:
        return None
    machine = Machine(16, 16, _CACHES, 4, loads_apart=True, lane_products=True, instructions=transposes(16))
    return Target(name, _TRIPLE, "cortex-a15", "+neon,+vfp4", machine, _emit, address_bits=32, emulate=in_qemu("armv7"))


def _emit(kernel: Kernel, target: Target, alone: bool) -> tuple[str, tuple[Launch, ...]]:
    return emit_module(kernel, "", alone=alone, address_bits=target.address_bits), ()
