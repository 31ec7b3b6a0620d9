"""Differences between x86 processors in the code of expressions and statements, as classes that
targets compose.
"""

from __future__ import annotations

from functools import cache, partial
from math import copysign

from texpr.ir.dtypes import BOOL, F32, F64, I32, DType
from texpr.ir.expr import Call, Const, Max, Min, Tensor
from texpr.ir.loop import Kernel, Store
from texpr.targets.emit.float_conversion import saturated
from texpr.targets.emit.function import Value, constant, lanes_suffix, memory_type, vector_type
from texpr.targets.emit.pass_selection import becomes_registers
from texpr.targets.emit.scalar_arithmetic import neutral
from texpr.targets.emit.statements import Emitter

ACCUMULATORS = 28
"""Number of accumulators beside which the operands of two rows do not fit: two of two registers,
and a value for all lanes.
"""

_FLOAT_BITS = {"half": 16, "float": 32, "double": 64}


class X86Emitter(Emitter):
    """Loads take whole addresses; non-temporal stores wait for sfence; extremes with constants,
    conversions, order of accumulators.
    """

    adds_addresses = True

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self._updated_accumulators: tuple[str, set[tuple[Tensor, int]]] = "", set()
        self._in_registers = cache(partial(becomes_registers, kernel))

    def assignment(self, s: Store) -> None:
        if s.update == "add" and self.lane is not None and s.tensor.scope == "stack":
            first = self._flat(s.tensor, s.indices).without(self.lane)
            if not first.terms:
                self._order_loads(s.tensor, first.constant)
        super().assignment(s)

    def _order_loads(self, tensor: Tensor, first: int) -> None:
        """Keep LLVM from loading operands of a second term beside those of the first, where
        accumulators leave no registers: it orders loads by such a fence, which is no instruction.
        """
        (block, added), here = self._updated_accumulators, self.function.block
        again = (tensor, first) in added
        if block == here and again and len(added) >= ACCUMULATORS and self._in_registers(tensor):
            self.function.emit('fence syncscope("singlethread") acq_rel')
        if block != here or again:
            added = set()
        added.add((tensor, first))
        self._updated_accumulators = here, added

    def nontemporal_fence(self) -> list[str]:
        self.declared["llvm.x86.sse.sfence"] = "declare void @llvm.x86.sse.sfence()"
        return ["  call void @llvm.x86.sse.sfence()"]

    def _extreme(self, e: Max | Min) -> Value:
        """An extreme with a number: the machine's own gives the other operand where that is NaN. It
        does not order zeros, so a mask does.
        """
        other, number = (e.rhs, e.lhs) if isinstance(e.lhs, Const) else (e.lhs, e.rhs)
        which = "max" if isinstance(e, Max) else "min"
        if (
            not isinstance(number, Const)
            or e.dtype not in (F32, F64)
            or not _is_exact(float(number.value), which)
        ):
            return super()._extreme(e)
        a, c = self._unify_lanes(self.value(other), self.value(number))
        if number.value:
            return self.select(
                self._pure(f"fcmp {'ogt' if which == 'max' else 'olt'} {c}, {a.text}", BOOL, a.lanes), c, a
            )
        return self.select(
            self._pure(f"fcmp {'ugt' if which == 'max' else 'ult'} {a}, {c.text}", BOOL, a.lanes), a, c
        )

    def extreme(self, which: str, a: Value, b: Value) -> Value:
        """The extreme of scalars, hidden from LLVM's facts about them: beside an operand that is no
        NaN it looks in the other for quiet NaN only (vfpclass).
        """
        a, b = self._unify_lanes(a, b)
        if a.dtype in (F32, F64) and a.text.startswith("%") and b.text.startswith("%") and not a.lanes:
            a, b = self._fenced(a), self._fenced(b)
        return super().extreme(which, a, b)

    def _fenced(self, a: Value) -> Value:
        """The same value, about which LLVM has no facts."""
        return Value(self.intrinsic(f"llvm.arithmetic.fence.{self.suffix(a)}", a.type, str(a)), a.dtype)

    def float_to_int(self, a: Value, t: DType) -> Value:
        """A conversion that saturates, for all lanes at once: LLVM converts the lanes of a vector
        one by one where a conversion saturates.
        """
        return saturated(self._pure, a, t) if a.lanes else super().float_to_int(a, t)


class Avx512Emitter(Emitter):
    """AVX-512 has instructions for a product with a power of two, and for extremes.

    Outlined slow paths keep the registers that they use: loops around the call would load all their
    constants in each iteration.
    """

    def slow_path_attributes(self, result: Value) -> str:
        """Attributes that avoid vzeroupper: before a function gives what has less than 256 bits
        LLVM clears the upper halves of all registers (vzeroupper), those too that it has just put
        back.
        """
        wide = result.lanes * result.dtype.bits >= 256
        return 'noinline "no_caller_saved_registers"' if wide else "noinline"

    def separate_load(self, loaded: str, element: str, lanes: int) -> str:
        """The loaded lanes behind an asm without instructions, in registers of 128 to 512 bits:
        LLVM 22 makes masked loads operands of masked arithmetic, and may take them out again
        without their mask (`findings/llvm22_masked_load.sh`).
        """
        bits = _FLOAT_BITS.get(element) or int(element[1:])
        whole = max(128 // bits, 1 << (lanes - 1).bit_length())
        count = min(whole, 512 // bits)
        parts = [
            self._separate(loaded, element, bits, lanes, range(k, k + count)) for k in range(0, whole, count)
        ]
        while len(parts) > 1:
            parts = [
                self._shuffled(a, b, element, count, range(2 * count))
                for a, b in zip(parts[::2], parts[1::2])
            ]
            count *= 2
        return (
            parts[0] if whole == lanes else self._shuffled(parts[0], "poison", element, whole, range(lanes))
        )

    def _separate(self, loaded: str, element: str, bits: int, lanes: int, picks: range) -> str:
        """Lanes of a loaded vector, hidden from LLVM's knowledge that they were loaded."""
        all_of_it = picks == range(lanes)
        part = loaded if all_of_it else self._shuffled(loaded, "poison", element, lanes, picks)
        t, words = f"<{len(picks)} x {element}>", f"<{len(picks) * bits // 32} x i32>"
        given = self.function.define(f"bitcast {t} {part} to {words}")
        held = self.function.define(f'call {words} asm "", "=v,0"({words} {given})')
        return self.function.define(f"bitcast {words} {held} to {t}")

    def _shuffled(self, a: str, b: str, element: str, lanes: int, picks: range) -> str:
        """Lanes of two vectors of so many lanes, one behind the other; what is behind both is anything."""
        t = f"<{lanes} x {element}>"
        chosen = ", ".join(f"i32 {k}" if k < 2 * lanes else "i32 poison" for k in picks)
        return self.function.define(f"shufflevector {t} {a}, {t} {b}, <{len(picks)} x i32> <{chosen}>")

    def extreme(self, which: str, a: Value, b: Value) -> Value:
        """The extreme by one instruction that orders zeros, and one sum for a NaN; LLVM takes six."""
        a, b = self._unify_lanes(a, b)
        if not self._has_ranges(a) or not a.text.startswith("%") or not b.text.startswith("%"):
            return super().extreme(which, a, b)
        ranged = self.extreme_of_numbers(which, a, b)
        unordered = self._pure(f"fcmp uno {a}, {b.text}", BOOL, a.lanes)
        return self.select(unordered, self._pure(f"fadd {a}, {b.text}", a.dtype, a.lanes), ranged)

    def extreme_of_numbers(self, which: str, a: Value, b: Value) -> Value:
        """The extreme of registers of numbers, -0 below +0; of NaN and a number it may be
        either.
        """
        choice = f"i32 {5 if which == 'max' else 4}"
        if self._is_register(a):
            return self._masked("range", a, str(a), str(b), choice)
        letter = "s" if a.dtype == F32 else "d"
        name, count = "llvm.x86.avx512.mask.range", a.lanes or 128 // a.dtype.bits
        t = f"<{count} x {Value('', a.dtype).type}>"
        zeros = f"{t} zeroinitializer"
        if a.lanes:
            kind, last = f"p{letter}.{a.lanes * a.dtype.bits}", (choice, zeros, "i8 -1")
            return Value(self.intrinsic(f"{name}.{kind}", t, str(a), str(b), *last), a.dtype, count)
        first = [f"{t} {self.function.pure(f'insertelement {t} poison, {v}, i64 0')}" for v in (a, b)]
        text = self.intrinsic(f"{name}.s{letter}", t, *first, zeros, "i8 -1", choice, "i32 4")
        return self._pure(f"extractelement {t} {text}, i64 0", a.dtype, 0)

    def reduce_lanes(self, update: str, a: Value) -> Value:
        """Extremes of lanes as those of whole registers: lanes that are missing repeat others. One
        comparison of all says if one is NaN.
        """
        if update not in ("max", "min") or a.dtype not in (F32, F64):
            return super().reduce_lanes(update, a)
        a = self.broadcast(a, self.lanes)
        if self.mask is not None:
            a = self.select(self.mask, a, constant(neutral(update, a.dtype), a.dtype, a.lanes))
        register, lanes = 512 // a.dtype.bits, a.lanes
        parts = [
            self._picked(a, [(k + n % lanes) % lanes for n in range(register)])
            for k in range(0, lanes, register)
        ]
        found = parts[0]
        for part in parts[1:]:
            found = self.extreme_of_numbers(update, found, part)
        distance = min(register, 1 << (lanes - 1).bit_length()) // 2
        while distance:
            turned = self._picked(found, [(k + distance) % register for k in range(register)])
            found, distance = self.extreme_of_numbers(update, found, turned), distance // 2
        first = self._pure(f"extractelement {found}, i64 0", a.dtype, 0)
        nans = self._pure(f"fcmp uno {a}, {a.text}", BOOL, lanes)
        some = self.intrinsic(f"llvm.vector.reduce.or.{lanes_suffix(lanes)}i1", "i1", str(nans))
        return self.select(Value(some, BOOL), constant(float("nan"), a.dtype), first)

    def _picked(self, a: Value, lanes: list[int]) -> Value:
        """A register of some lanes of a value."""
        if lanes == list(range(a.lanes)):
            return a
        picks = ", ".join(f"i32 {k}" for k in lanes)
        text = f"shufflevector {a}, {a.type} poison, <{len(lanes)} x i32> <{picks}>"
        return self._pure(text, a.dtype, len(lanes))

    @staticmethod
    def _has_ranges(a: Value) -> bool:
        """True if an instruction gives the extreme of both values, or of registers of them."""
        return a.dtype in (F32, F64) and a.lanes * a.dtype.bits in (0, 128, 256, 512)

    @staticmethod
    def _is_register(a: Value) -> bool:
        return a.dtype in (F32, F64) and a.lanes * a.dtype.bits == 512

    def _masked(self, name: str, like: Value, *operands: str) -> Value:
        """An instruction of all lanes of a register, in the form that takes a mask and a
        rounding.
        """
        suffix, mask = ("ps", "i16 -1") if like.dtype == F32 else ("pd", "i8 -1")
        operands = (*operands, f"{like.type} zeroinitializer", mask, "i32 4")
        text = self.intrinsic(f"llvm.x86.avx512.mask.{name}.{suffix}.512", like.type, *operands)
        return Value(text, like.dtype, like.lanes)

    def _call(self, e: Call) -> Value:
        if e.function != "scale":
            return super()._call(e)
        a, n = self._unify_lanes(*(self.value(operand) for operand in e.args))
        if self._is_register(a):
            return self._masked("scalef", a, str(a), str(n))
        if a.lanes and (bits := a.lanes * a.dtype.bits) in (128, 256):
            # Beside indices of 64 bits there are fewer lanes. LLVM converts those one by one where
            # a conversion saturates.
            name = f"llvm.x86.avx512.mask.scalef.{'ps' if a.dtype == F32 else 'pd'}.{bits}"
            return Value(
                self.intrinsic(name, a.type, str(a), str(n), f"{a.type} zeroinitializer", "i8 -1"),
                a.dtype,
                a.lanes,
            )
        whole = self.cast(n, I32)
        return Value(
            self.intrinsic(f"llvm.ldexp.{self.suffix(a)}.{self.suffix(whole)}", a.type, str(a), str(whole)),
            a.dtype,
            a.lanes,
        )


class ShortVectorEmitter(Emitter):
    """AVX2: 16 registers do not hold the constants of a function beside its values, so those that
    are multiplied and added, and the bits of an absolute value, come from memory, as operands.

    Where the first lanes are on, they are stored in parts: LLVM makes one instruction of a store
    under a mask, which many of these processors take apart into many.
    """

    def masked_store(self, tensor: Tensor, text: str, address: str, align: int, stride: int) -> None:
        """Emit stores of parts of the lanes, if the first ones are known to be on."""
        on = None if stride < 0 or self.lane is None else self.enclosing.first_lanes(self.lane, self.lanes)
        if on is None:
            super().masked_store(tensor, text, address, align, stride)
            return
        element, at = memory_type(tensor.dtype), 0
        size, t, space = tensor.dtype.bytes, vector_type(element, self.lanes), self.space(tensor)
        while at < on:
            part = 1 << (on - at).bit_length() - 1
            picks = ", ".join(f"i32 {k}" for k in range(at, at + part))
            taken = self.function.define(f"shufflevector {t} {text}, {t} poison, <{part} x i32> <{picks}>")
            place = self.function.define(f"getelementptr inbounds {element}, ptr{space} {address}, i64 {at}")
            step = min(align, at * size & -(at * size) or align)
            self.function.emit(f"store <{part} x {element}> {taken}, ptr{space} {place}, align {step}")
            at += part

    def _call(self, e: Call) -> Value:
        whole = e.dtype in (F32, F64) and self.lanes * e.dtype.bits == 256
        if e.function == "abs" and whole and self.value(e.args[0]).lanes:
            return self._without_sign(self.value(e.args[0]))
        if e.function != "fma" or not whole or not any(self.value(a).lanes for a in e.args):
            return super()._call(e)
        args = [
            self._constant_operand(a) if isinstance(a, Const) else self.broadcast(self.value(a), self.lanes)
            for a in e.args
        ]
        a = args[0]
        return Value(self.intrinsic(f"llvm.fma.{self.suffix(a)}", a.type, *map(str, args)), a.dtype, a.lanes)

    def _constant_operand(self, e: Const) -> Value:
        """A constant for all lanes, loaded where it is used. LLVM would load it before the loop,
        and put aside what there is no register for then: it leaves a load alone that is volatile.
        """
        a = constant(e.value, e.dtype, self.lanes)
        name = f"@constant.{e.dtype}.{a.text.partition('0x')[2].rstrip(')')}"
        return Value(self._load_constant(name, a.type, str(a)), a.dtype, a.lanes)

    def _without_sign(self, a: Value) -> Value:
        bits = f"<{a.lanes} x i{a.dtype.bits}>"
        most = self._load_constant(
            f"@most.i{a.dtype.bits}", bits, f"{bits} splat (i{a.dtype.bits} {(1 << (a.dtype.bits - 1)) - 1})"
        )
        f = self.function
        size = f.define(f"and {bits} {f.define(f'bitcast {a} to {bits}')}, {most}")
        return Value(f.define(f"bitcast {bits} {size} to {a.type}"), a.dtype, a.lanes)

    def _load_constant(self, name: str, type: str, value: str) -> str:
        self.declared[name] = f"{name} = private unnamed_addr constant {value}, align 32"
        return self.function.define(f"load volatile {type}, ptr {name}, align 32")


def _is_exact(number: float, which: str) -> bool:
    """True if the number stands for itself: no NaN, and of the zeros the one that is chosen before
    the other.
    """
    return number == number and (number != 0 or (copysign(1, number) > 0) == (which == "max"))
