"""ARMv7 with NEON: addresses of 32 bits, sixteen registers of 128. Numbers below the normal ones
are 0 in its vectors of f32.
"""

from __future__ import annotations

from math import gcd

from texpr.ir.affine import Linear, ceiling, linear
from texpr.ir.build import conjunction, conjuncts, integer, sub
from texpr.ir.dtypes import I32, I64, DType, int_range
from texpr.ir.expr import (
    Add,
    And,
    Compare,
    Const,
    Div,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Or,
    Select,
    Sub,
    Tensor,
    Var,
    index,
)
from texpr.ir.loop import For, Kernel, Prefetch, Stmt
from texpr.ir.machine import Machine
from texpr.passes.analysis.intervals import Ranges, interval
from texpr.passes.analysis.row_major import flat_index
from texpr.support.frozen_dataclass import replace
from texpr.targets.common.instruction_names import transposes
from texpr.targets.common.qemu import in_qemu
from texpr.targets.common.records import Launch, Target
from texpr.targets.cpu.llvm_module import emit_module
from texpr.targets.emit.function import Value, register_type
from texpr.targets.emit.outline_nests import OutliningEmitter
from texpr.targets.emit.statements import Emitter
from texpr.targets.emit.stores import LINE

NAMES = ("armv7",)
# LLVM takes a triple of three parts for one of a processor without floats.
_TRIPLE = "armv7-unknown-linux-gnueabihf"
_CACHES = (32 << 10, 1 << 20)


def target(name: str) -> Target | None:
    """`armv7`: with NEON and VFPv4, as from Cortex-A15 and A7 on."""
    if name not in NAMES:
        return None
    machine = Machine(
        16,
        16,
        _CACHES,
        4,
        has_memory_operands=False,
        address_registers=12,
        has_indexed_fma=True,
        instructions=transposes(16),
    )
    return Target(
        name, _TRIPLE, "cortex-a15", "+neon,+vfp4", machine, _emit, address_bits=32, emulate=in_qemu("armv7")
    )


_HEAP_ALIGNMENT = 8
"""Alignment in bytes of memory that a kernel allocates."""


class Armv7Emitter(Emitter):
    """Emitter for addresses of 32 bits.

    A loop counts in one register where its extent is known to fit one: in 64 bits it would take
    two, and two for its end. So are indices compared, without what both sides have. Hints ask for a
    line once, as each takes an address. LLVM loads vectors of bytes by way of the stack, unless
    they stand at multiples of their size.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.ranges: Ranges = {}

    def statements(self, body: tuple[Stmt, ...]) -> None:
        super().statements(_without_repeated_prefetches(body))

    def loop(self, loop: For) -> None:
        self.ranges.pop(loop.var, None)
        _, most = bounds(loop.extent, self.ranges)
        self.ranges[loop.var] = loop.extent if most is None else index(max(0, most))
        super().loop(loop)

    def parameter_type(self, v: Var) -> DType:
        return I32 if self._fits_i32(v) else I64

    def counter_type(self, loop: For) -> DType:
        most = ceiling(self.ranges[loop.var])
        return I32 if most is not None and most <= int_range(I32)[1] else I64

    def _evaluate(self, e: Expr) -> Value:
        if (
            not isinstance(e, Compare | Max | Min)
            or e.lhs.dtype != I64
            or not self._fits_i32(e.lhs)
            or not self._fits_i32(e.rhs)
        ):
            return super()._evaluate(e)
        if not isinstance(e, Compare):
            return self.cast(
                self.extreme("max" if isinstance(e, Max) else "min", *self._as_i32(e.lhs, e.rhs)), I64
            )
        sides = cancel_common_terms(e)
        return self._compare(
            e.op, *(self._as_i32(*sides) if all(map(self._fits_i32, sides)) else self._as_i32(e.lhs, e.rhs))
        )

    def _as_i32(self, *sides: Expr) -> list[Value]:
        """Indices that fit 32 bits, in that type."""
        return self._unify_lanes(*(self.cast(self.value(side), I32) for side in sides))

    def _arithmetic(self, e: Add | Sub | Mul | Div | And | Or) -> Value:
        """Arithmetic; a division by a value that all lanes share is emitted lane by lane. NEON has
        no division, so LLVM makes one of each lane anyhow, and the divisor need not be in each lane
        of a register.
        """
        if (
            not isinstance(e, Div)
            or not e.dtype.is_float
            or not (a := self.value(e.lhs)).lanes
            or (b := self.value(e.rhs)).lanes
        ):
            return super()._arithmetic(e)
        b, text = self.cast(b, a.dtype), "poison"
        for k in range(a.lanes):
            lane = self.function.pure(f"extractelement {a}, i64 {k}")
            lane = self.function.pure(f"fdiv {register_type(a.dtype)} {lane}, {b.text}")
            text = self.function.pure(
                f"insertelement {a.type} {text}, {register_type(a.dtype)} {lane}, i64 {k}"
            )
        return Value(text, a.dtype, a.lanes)

    def _fits_i32(self, e: Expr) -> bool:
        """True if an index is seen to fit 32 bits."""
        least, most = bounds(e, self.ranges)
        first, last = int_range(I32)
        return least is not None and most is not None and first <= least and most <= last

    def alignment(self, tensor: Tensor, indices: tuple[Expr, ...] = ()) -> int:
        least = super().alignment(tensor, indices)
        if tensor.scope == "global" or tensor.dtype.bytes > 2 or not indices:
            return least
        flat = flat_index(tensor, indices)
        if (
            self.lane is not None
            and flat.coefficient(self.lane) == 1
            and not any(self._differs_between_lanes(t) for t, _ in flat.terms)
        ):
            flat = flat.without(self.lane)
        return gcd(
            _HEAP_ALIGNMENT, *(n * tensor.dtype.bytes for n in (flat.constant, *(c for _, c in flat.terms)))
        )

    def _conditional(self, e: Select) -> Value:
        """Test conditions that all lanes have in common first: a row of them is loaded, or none,
        without a mask to branch on lane by lane.
        """
        parts = conjuncts(e.cond)
        common = [p for p in parts if not self.value(p).lanes]
        if 0 < len(common) < len(parts) and isinstance(e.orelse, Const):
            inner = replace(e, cond=conjunction(*(p for p in parts if p not in common)))
            return super()._conditional(replace(e, cond=conjunction(*common), then=inner))
        return super()._conditional(e)


class _Armv7Code(Armv7Emitter, OutliningEmitter):
    """Nests in functions of their own."""


def bounds(e: Expr, ranges: Ranges) -> tuple[int | None, int | None]:
    """The smallest and the largest value that an index may have in iterations of loops with these
    extents; None where unknown.

    (i + 1) // 16 - i % 4   with i in 0..32   ->   -3, 2
    """
    found = interval(e, ranges)
    if None not in found:
        return found
    match e:
        case Add(a, b) | Sub(a, b):
            (low, high), (least, most) = bounds(a, ranges), bounds(b, ranges)
            if isinstance(e, Sub):
                least, most = None if most is None else -most, None if least is None else -least
            return (
                None if low is None or least is None else low + least,
                None if high is None or most is None else high + most,
            )
        case Mod(_, b) if (n := integer(b) or 0) > 0:
            return 0, n - 1
        case Mul(a, b) | FloorDiv(a, b) if (n := integer(b) or 0) > 0:
            low, high = bounds(a, ranges)
            if isinstance(e, Mul):
                return low if low is None else low * n, high if high is None else high * n
            return low if low is None else low // n, high if high is None else high // n
    return found


def cancel_common_terms(e: Compare) -> tuple[Expr, Expr]:
    """The sides of a comparison without their common terms, which would take a register: `i + j < i
    + 4` becomes `j < 4`.
    """
    form = linear(sub(e.lhs, e.rhs))
    left = Linear(tuple((t, c) for t, c in form.terms if c > 0), max(form.constant, 0))
    right = Linear(tuple((t, -c) for t, c in form.terms if c < 0), max(-form.constant, 0))
    return left.expr(), right.expr()


def _without_repeated_prefetches(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements without prefetches that the one before has done, for the same element or a
    neighbour of it in a line of memory.
    """
    kept: list[Stmt] = []
    last: Prefetch | None = None
    for s in body:
        if isinstance(s, Prefetch) and last is not None and _same_line(s, last):
            continue
        last = s if isinstance(s, Prefetch) else None
        kept.append(s)
    return tuple(kept)


def _same_line(s: Prefetch, other: Prefetch) -> bool:
    if s.tensor is not other.tensor:
        return False
    apart = linear(sub(*(flat_index(each.tensor, each.indices).expr() for each in (s, other))))
    return not apart.terms and abs(apart.constant) * s.tensor.dtype.bytes < LINE


def _emit(kernel: Kernel, target: Target, alone: bool) -> tuple[str, tuple[Launch, ...]]:
    return emit_module(kernel, "", alone=alone, using=_Armv7Code, address_bits=target.address_bits), ()
