"""AArch64: NEON, as the host or as a foreign target; with SVE for masks and gathers."""

from __future__ import annotations

import platform
from collections.abc import Iterable

from texpr.ir.loop import Kernel
from texpr.ir.machine import Machine
from texpr.runtime import host
from texpr.targets import llvm
from texpr.targets.base import Launch, Target
from texpr.targets.cpu import emit_module
from texpr.targets.execute import in_qemu
from texpr.targets.instructions import transposes

NAMES = ("aarch64", "aarch64+dotprod", "aarch64+bf16", "aarch64+sve")
_TRIPLE = "aarch64-unknown-linux-gnu"
_QEMU = in_qemu("aarch64")
_CACHES = (64 << 10, 512 << 10)
_FEATURES = {"aarch64": "+neon", "aarch64+dotprod": "+neon,+dotprod", "aarch64+bf16": "+neon,+dotprod,+bf16", "aarch64+sve": "+neon,+sve"}
_DOTS = {"dotprod": {"sdot", "udot"}, "bf16": {"bfdot"}}
"""The instructions that add products, by LLVM's name of the feature."""


def target(name: str) -> Target | None:
    """`aarch64` (ARMv8.0 with NEON), `aarch64+dotprod` (with products of bytes), `aarch64+bf16` (of bf16 too), `aarch64+sve`, or `native`
    on such a host."""
    if name == "native" and platform.machine() == "aarch64":
        machine = Machine(16, 32, host.caches() or _CACHES, host.cores(), lane_products=True,
                          instructions=_instructions(host.cpu_features()))
        return Target(name, _TRIPLE, host.cpu_name(), llvm.host_features(), machine, _emit, native=True, emulate=_QEMU)
    if name not in _FEATURES:
        return None
    machine = Machine(16, 32, _CACHES, 4, lane_products=True,
                      instructions=_instructions(feature.removeprefix("+") for feature in _FEATURES[name].split(",")))
    return Target(name, _TRIPLE, "generic", _FEATURES[name], machine, _emit, emulate=_QEMU)


def _instructions(features: Iterable[str]) -> frozenset[str]:
    return transposes(16).union(*(_DOTS.get(feature, ()) for feature in features))


def _emit(kernel: Kernel, target: Target, alone: bool) -> tuple[str, tuple[Launch, ...]]:
    # Vectors have 128 bits, so the code is right on every length of SVE; code for longer ones is silently wrong on shorter machines.
    attributes = "vscale_range(1,16)" if "+sve" in target.features.split(",") else ""
    return emit_module(kernel, attributes, alone=alone), ()
