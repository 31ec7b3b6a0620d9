"""ARMv7 with NEON: addresses of 32 bits, sixteen registers of 128. Numbers below the normal ones are 0 in its vectors of f32."""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from texpr.ir.affine import ceiling
from texpr.ir.build import conjunction, conjuncts
from texpr.ir.dtypes import I32, I64, DType, int_range
from texpr.ir.expr import Compare, Const, Expr, Select, Tensor
from texpr.ir.loop import For, Kernel
from texpr.ir.machine import Machine
from texpr.passes.flatten import flat_index
from texpr.passes.intervals import Ranges, interval
from texpr.targets.apart import ApartEmitter
from texpr.targets.base import Launch, Target
from texpr.targets.cpu import emit_module
from texpr.targets.execute import in_qemu
from texpr.targets.function import Value
from texpr.targets.instructions import transposes

NAMES = ("armv7",)
# LLVM takes a triple of three parts for one of a processor without floats.
_TRIPLE = "armv7-unknown-linux-gnueabihf"
_CACHES = (32 << 10, 1 << 20)


def target(name: str) -> Target | None:
    """`armv7`: with NEON and VFPv4, as from Cortex-A15 and A7 on."""
    if name not in NAMES:
        return None
    machine = Machine(16, 16, _CACHES, 4, loads_apart=True, address_registers=12, lane_products=True, instructions=transposes(16))
    return Target(name, _TRIPLE, "cortex-a15", "+neon,+vfp4", machine, _emit, address_bits=32, emulate=in_qemu("armv7"))


_OWN = 8
"""Bytes of which memory that a kernel asks for begins at a multiple."""


class NarrowEmitter(ApartEmitter):
    """Addresses of 32 bits.

    A loop counts in one register where its extent is known to fit one: in 64 bits it would take two, and two for its end. So are indices
    compared. LLVM loads vectors of bytes by way of the stack, unless they stand at multiples of their size.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.ranges: Ranges = {}

    def loop(self, loop: For) -> None:
        self.ranges.pop(loop.var, None)
        self.ranges[loop.var] = loop.extent
        super().loop(loop)

    def counter(self, loop: For) -> DType:
        most = ceiling(loop.extent)
        return I32 if most is not None and most <= int_range(I32)[1] or self._is_narrow(loop.extent) else I64

    def _combined(self, e: Expr) -> Value:
        if not isinstance(e, Compare) or e.lhs.dtype != I64 or not self._is_narrow(e.lhs) or not self._is_narrow(e.rhs):
            return super()._combined(e)
        return self._compare(e.op, *self._same(*(self.cast(self.value(side), I32) for side in (e.lhs, e.rhs))))

    def _is_narrow(self, e: Expr) -> bool:
        """Whether an index is seen to fit 32 bits."""
        least, most = interval(e, self.ranges)
        first, last = int_range(I32)
        return least is not None and most is not None and first <= least and most <= last

    def alignment(self, tensor: Tensor, indices: tuple[Expr, ...] = ()) -> int:
        least = super().alignment(tensor, indices)
        if tensor.scope == "global" or tensor.dtype.bytes > 2 or not indices:
            return least
        flat = flat_index(tensor, indices)
        if self.lane is not None and flat.coefficient(self.lane) == 1 and not any(self._varies(t) for t, _ in flat.terms):
            flat = flat.without(self.lane)
        return gcd(_OWN, *(n * tensor.dtype.bytes for n in (flat.constant, *(c for _, c in flat.terms))))

    def _lazy(self, e: Select) -> Value:
        """What all lanes have in common is asked first: a row of them is loaded, or none, without a mask to branch on lane by lane."""
        parts = conjuncts(e.cond)
        common = [p for p in parts if not self.value(p).lanes]
        if 0 < len(common) < len(parts) and isinstance(e.orelse, Const):
            inner = replace(e, cond=conjunction(*(p for p in parts if p not in common)))
            return super()._lazy(replace(e, cond=conjunction(*common), then=inner))
        return super()._lazy(e)


def _emit(kernel: Kernel, target: Target, alone: bool) -> tuple[str, tuple[Launch, ...]]:
    return emit_module(kernel, "", alone=alone, using=NarrowEmitter, address_bits=target.address_bits), ()
