"""x86-64: the machine this process runs on, and the psABI levels."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import replace
from functools import cache, partial
from math import copysign

from texpr.ir.dtypes import BOOL, F32, F64, I32, DType
from texpr.ir.expr import Call, Const, Max, Min, Tensor
from texpr.ir.loop import Kernel, Store
from texpr.ir.machine import Machine
from texpr.runtime import host
from texpr.targets.common import llvm_backend as llvm
from texpr.targets.common.qemu import in_qemu
from texpr.targets.common.records import Launch, Target
from texpr.targets.cpu.amx_tiles import OF_FEATURE, PERMISSION, REGISTERS, uses_tiles
from texpr.targets.cpu.module import emit_module
from texpr.targets.cpu.nan_tracking import RememberingEmitter
from texpr.targets.emit.float_conversion import saturated
from texpr.targets.emit.function import Value, constant
from texpr.targets.emit.instructions import transposes
from texpr.targets.emit.pass_selection import becomes_registers

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

FILLING = 28
"""Sums in registers beside which two rows of what they share have no place: two of two registers, and a value for all lanes."""

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


class WideEmitter(RememberingEmitter):
    """AVX-512 has instructions for a product with a power of two, and for extremes; stores past the caches wait for sfence.

    What is seldom called keeps the registers that it uses: loops around the call would load all their constants in each iteration.
    """

    adds_addresses = True

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self._added: tuple[str, set[tuple[Tensor, int]]] = "", set()
        self._in_registers = cache(partial(becomes_registers, kernel))

    def rare_attributes(self, result: Value) -> str:
        """Before a function gives what has less than 256 bits LLVM clears the upper halves of all registers (vzeroupper), those too that
        it has just put back.
        """
        wide = result.lanes * result.dtype.bits >= 256
        return 'noinline "no_caller_saved_registers"' if wide else "noinline"

    def assignment(self, s: Store) -> None:
        if s.update == "add" and self.lane is not None and s.tensor.scope == "stack":
            first = self._flat(s.tensor, s.indices).without(self.lane)
            if not first.terms:
                self._in_order(s.tensor, first.constant)
        super().assignment(s)

    def _in_order(self, tensor: Tensor, first: int) -> None:
        """Sums that fill the registers leave none to what a second term of them needs, which LLVM would load beside the first one's: it
        orders loads by such a fence, which is no instruction.
        """
        (block, added), here = self._added, self.function.block
        again = (tensor, first) in added
        if block == here and again and len(added) >= FILLING and self._in_registers(tensor):
            self.function.emit('fence syncscope("singlethread") acq_rel')
        if block != here or again:
            added = set()
        added.add((tensor, first))
        self._added = here, added

    def drained(self) -> list[str]:
        self.declared["llvm.x86.sse.sfence"] = "declare void @llvm.x86.sse.sfence()"
        return ["  call void @llvm.x86.sse.sfence()"]

    def _extreme(self, e: Max | Min) -> Value:
        """Beside a number the machine's own extreme gives the other operand where that is NaN. Of zeros it knows one, so a mask tells."""
        other, number = (e.rhs, e.lhs) if isinstance(e.lhs, Const) else (e.lhs, e.rhs)
        which = "max" if isinstance(e, Max) else "min"
        if not isinstance(number, Const) or e.dtype not in (F32, F64) or not _stands(float(number.value), which):
            return super()._extreme(e)
        a, c = self._same(self.value(other), self.value(number))
        if number.value:
            return self.select(self._one(f"fcmp {'ogt' if which == 'max' else 'olt'} {c}, {a.text}", BOOL, a.lanes), c, a)
        return self.select(self._one(f"fcmp {'ugt' if which == 'max' else 'ult'} {a}, {c.text}", BOOL, a.lanes), a, c)

    def extreme(self, which: str, a: Value, b: Value) -> Value:
        """One instruction that tells zeros apart, and one sum where an operand is NaN; LLVM takes six."""
        a, b = self._same(a, b)
        if a.dtype in (F32, F64) and a.text.startswith("%") and b.text.startswith("%") and not a.lanes:
            return super().extreme(which, *(self._of_any_kind(v) for v in (a, b)))
        if not self._is_wide(a) or "splat" in a.text + b.text:
            return super().extreme(which, a, b)
        ranged = self.of_numbers(which, a, b)
        unordered = self._one(f"fcmp uno {a}, {b.text}", BOOL, a.lanes)
        return self.select(unordered, self._one(f"fadd {a}, {b.text}", a.dtype, a.lanes), ranged)

    def _of_any_kind(self, a: Value) -> Value:
        """The same, of which LLVM knows nothing. Beside an operand that is no NaN it looks for quiet NaN only (vfpclass) in the other."""
        return Value(self.intrinsic(f"llvm.arithmetic.fence.{self.suffix(a)}", a.type, str(a)), a.dtype)

    def of_numbers(self, which: str, a: Value, b: Value) -> Value:
        return self._masked("range", a, str(a), str(b), f"i32 {5 if which == 'max' else 4}")

    def whole(self, a: Value, t: DType) -> Value:
        """LLVM converts the lanes of a vector one by one where a conversion saturates."""
        return saturated(self._one, a, t) if a.lanes else super().whole(a, t)

    def over_lanes(self, update: str, a: Value) -> Value:
        if update not in ("max", "min") or self.mask is not None or not self._is_wide(a):
            return super().over_lanes(update, a)
        d = a.lanes // 2
        while d:
            picks = ", ".join(f"i32 {(k + d) % a.lanes}" for k in range(a.lanes))
            other = self._one(f"shufflevector {a}, {a.type} poison, <{a.lanes} x i32> <{picks}>", a.dtype, a.lanes)
            a, d = self.extreme(update, a, other), d // 2
        return self._one(f"extractelement {a}, i64 0", a.dtype, 0)

    @staticmethod
    def _is_wide(a: Value) -> bool:
        return a.dtype in (F32, F64) and a.lanes * a.dtype.bits == 512

    def _masked(self, name: str, like: Value, *operands: str) -> Value:
        """An instruction of all lanes of a register, in the form that takes a mask and a rounding."""
        suffix, mask = ("ps", "i16 -1") if like.dtype == F32 else ("pd", "i8 -1")
        operands = (*operands, f"{like.type} zeroinitializer", mask, "i32 4")
        text = self.intrinsic(f"llvm.x86.avx512.mask.{name}.{suffix}.512", like.type, *operands)
        return Value(text, like.dtype, like.lanes)

    def _call(self, e: Call) -> Value:
        if e.function != "scale":
            return super()._call(e)
        a, n = self._same(*(self.value(operand) for operand in e.args))
        if self._is_wide(a):
            return self._masked("scalef", a, str(a), str(n))
        if a.lanes and (bits := a.lanes * a.dtype.bits) in (128, 256):
            # Beside indices of 64 bits there are fewer lanes. LLVM converts those one by one where a conversion saturates.
            name = f"llvm.x86.avx512.mask.scalef.{'ps' if a.dtype == F32 else 'pd'}.{bits}"
            return Value(self.intrinsic(name, a.type, str(a), str(n), f"{a.type} zeroinitializer", "i8 -1"), a.dtype, a.lanes)
        whole = self.cast(n, I32)
        return Value(self.intrinsic(f"llvm.ldexp.{self.suffix(a)}.{self.suffix(whole)}", a.type, str(a), str(whole)), a.dtype, a.lanes)


class FewRegisters(WideEmitter):
    """AVX2: 16 registers do not hold the constants of a function beside its values, so those that are multiplied and added, and the bits
    of an absolute value, come from memory, as operands."""

    remembers = False

    def rare_attributes(self, result: Value) -> str:
        return "noinline"

    @staticmethod
    def _is_wide(a: Value) -> bool:
        """False: AVX2 has no instruction for 512 bits, which floats of 16 bits have once they are f32."""
        return False

    def _call(self, e: Call) -> Value:
        whole = e.dtype in (F32, F64) and self.lanes * e.dtype.bits == 256
        if e.function == "abs" and whole and self.value(e.args[0]).lanes:
            return self._without_sign(self.value(e.args[0]))
        if e.function != "fma" or not whole or not any(self.value(a).lanes for a in e.args):
            return super()._call(e)
        args = [self._where_used(a) if isinstance(a, Const) else self.broadcast(self.value(a), self.lanes) for a in e.args]
        a = args[0]
        return Value(self.intrinsic(f"llvm.fma.{self.suffix(a)}", a.type, *map(str, args)), a.dtype, a.lanes)

    def _where_used(self, e: Const) -> Value:
        """A constant for all lanes, from memory. LLVM would load it before the loop, and put aside what there is no register for then: it
        leaves a load alone that is volatile.
        """
        a = constant(e.value, e.dtype, self.lanes)
        name = f"@constant.{e.dtype}.{a.text.partition('0x')[2].rstrip(')')}"
        return Value(self._from_constant(name, a.type, str(a)), a.dtype, a.lanes)

    def _without_sign(self, a: Value) -> Value:
        bits = f"<{a.lanes} x i{a.dtype.bits}>"
        most = self._from_constant(f"@most.i{a.dtype.bits}", bits, f"{bits} splat (i{a.dtype.bits} {(1 << (a.dtype.bits - 1)) - 1})")
        f = self.function
        size = f.define(f"and {bits} {f.define(f'bitcast {a} to {bits}')}, {most}")
        return Value(f.define(f"bitcast {bits} {size} to {a.type}"), a.dtype, a.lanes)

    def _from_constant(self, name: str, type: str, value: str) -> str:
        self.declared[name] = f"{name} = private unnamed_addr constant {value}, align 32"
        return self.function.define(f"load volatile {type}, ptr {name}, align 32")


def _stands(number: float, which: str) -> bool:
    """Whether the number stands for itself: no NaN, and of the zeros the one that is chosen before the other."""
    return number == number and (number != 0 or (copysign(1, number) > 0) == (which == "max"))


def _emit(kernel: Kernel, target: Target, alone: bool) -> tuple[str, tuple[Launch, ...]]:
    # Without these, LLVM splits 512-bit vectors on some CPUs.
    width = target.machine.vector_bytes * 8
    attributes = f'"prefer-vector-width"="{width}" "min-legal-vector-width"="{width}"'
    emitter = WideEmitter if width == 512 else FewRegisters
    # Code in this process is made for it after it was asked.
    check = PERMISSION if alone and uses_tiles(kernel) else ""
    return emit_module(kernel, attributes, alone=alone, using=emitter, check=check), ()
