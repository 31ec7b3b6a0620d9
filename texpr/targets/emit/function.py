"""LLVM IR as text: values, constants and the function under construction."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Generic, TypeVar

from texpr.ir.dtypes import BOOL, DType, stored
from texpr.support.frozen_dataclass import record


@cache
def register_type(t: DType) -> str:
    """The LLVM type of a value in a register. A bf16 is its 16 bits: where LLVM keeps one as a
    float, x86 loses denormals. Of floats of 8 bits LLVM has none."""
    match t.kind:
        case "bool":
            return "i1"
        case "i" | "u":
            return f"i{t.bits}"
    if t.as_bits:
        return f"i{t.bits}"
    return {16: "half", 32: "float", 64: "double"}[t.bits]


def memory_type(t: DType) -> str:
    """The LLVM type of an element in memory: bools are bytes."""
    return "i8" if t == BOOL else register_type(t)


class Scalable(int):
    """A number of lanes for each 128 bits that the processor's registers have, as LLVM writes
    it.
    """

    def __format__(self, spec: str) -> str:
        return f"vscale x {int(self)}"


def lanes_suffix(lanes: int) -> str:
    """A number of lanes in the name of an overloaded intrinsic; nothing for a scalar."""
    return f"nxv{int(lanes)}" if isinstance(lanes, Scalable) else f"v{lanes}" if lanes else ""


@record
class Value:
    """An SSA value or constant: its text, element type, and lanes (0 for a scalar)."""

    text: str
    dtype: DType
    lanes: int = 0

    @property
    def type(self) -> str:
        return vector_type(register_type(self.dtype), self.lanes)

    def __str__(self) -> str:
        return f"{self.type} {self.text}"


def vector_type(element: str, lanes: int) -> str:
    """The type of `lanes` elements; 0 lanes are a scalar."""
    return f"<{lanes} x {element}>" if lanes else element


def constant(value: int | float | bool, t: DType, lanes: int = 0) -> Value:
    """A literal, or a vector of it."""
    text = _scalar_text(value, t)
    return Value(f"splat ({register_type(t)} {text})" if lanes else text, t, lanes)


def _scalar_text(value: int | float | bool, t: DType) -> str:
    match t.kind, t.bits:
        case "bool", _:
            return "true" if value else "false"
        case "i" | "u", _:
            return str(int(value))
        case "f", 16:
            return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
        case "f", 32:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        case _ if t.as_bits:
            return str(int(stored(value, t)))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def iota(t: DType, lanes: int) -> Value:
    """<0, 1, 2, ...>."""
    return Value("<" + ", ".join(f"{register_type(t)} {k}" for k in range(lanes)) + ">", t, lanes)


K = TypeVar("K")
V = TypeVar("V")


class Scoped(Generic[K, V]):
    """A dictionary that drops, at the end of a scope, the keys added in it. A key is added once."""

    def __init__(self, entries: dict[K, V] | None = None) -> None:
        self.entries: dict[K, V] = {} if entries is None else entries
        self._order: list[K] = []

    def add(self, key: K, value: V) -> None:
        self.entries[key] = value
        self._order.append(key)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Forget at the end of the block all entries added in it."""
        mark = len(self._order)
        yield
        for key in self._order[mark:]:
            del self.entries[key]
        del self._order[mark:]


class Function:
    """The function under construction: lines, current block, stack slots with their addresses,
    exits, and the code that every exit runs.

    Values without effects are computed once for all of the code that their block dominates: what an
    `if` or a loop has inside is a `region` of its own, after which its values are forgotten.
    """

    def __init__(self, header: str) -> None:
        self.header = header
        self.slots: list[str] = []
        self.stack_slots: set[str] = set()
        self.lines: list[str] = []
        self.block = "entry"
        self.counter = 0
        self.exits: list[tuple[int, str]] = []
        self.heap: list[str] = []
        self.epilogue: list[str] = []
        self._values: Scoped[str, str] = Scoped()
        self.region = self._values.scope

    def fresh(self, prefix: str = "v") -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def emit(self, line: str) -> None:
        self.lines.append("  " + line)

    def define(self, instruction: str) -> str:
        name = "%" + self.fresh()
        self.emit(f"{name} = {instruction}")
        return name

    def pure(self, instruction: str) -> str:
        """The value of an instruction that depends on its operands alone."""
        name = self._values.entries.get(instruction)
        if name is None:
            name = self.define(instruction)
            self._values.add(instruction, name)
        return name

    def start(self, label: str) -> None:
        """Begin a block; the one before must have ended in a branch."""
        self.lines.append(f"{label}:")
        self.block = label

    def branch(self, label: str) -> None:
        self.emit(f"br label %{label}")

    def slot(self, type_: str, alignment: int) -> str:
        """Stack memory for the whole function."""
        name = "%" + self.fresh("slot")
        self.stack_slots.add(name)
        self.slots.append(f"  {name} = alloca {type_}, align {alignment}")
        return name

    def heap_buffer(self, size: str) -> str:
        """Memory of `size` bytes until the function returns, on every way out; status 2 if there
        is none.
        """
        held = self.slot("ptr", 8)
        self.slots.append(f"  store ptr null, ptr {held}, align 8")
        pointer = self.define(f"call ptr @tx_alloc(i64 {size})")
        self.emit(f"store ptr {pointer}, ptr {held}, align 8")
        self.heap.append(held)
        self.leave_if(self.define(f"icmp eq ptr {pointer}, null"), 2)
        return pointer

    def leave_if(self, condition: str, status: int) -> None:
        """Return `status` where the i1 `condition` holds."""
        after = self.fresh("on")
        self.emit(f"br i1 {condition}, label %leave, label %{after}")
        self.exits.append((status, self.block))
        self.start(after)

    def text(self) -> str:
        """The finished function; it returns i32, 0 unless it left early."""
        body = [self.header + " {", "entry:", *self.slots, *self.lines]
        self.exits.append((0, self.block))
        phis = ", ".join(f"[ {status}, %{block} ]" for status, block in self.exits)
        body += ["  br label %leave", "leave:", f"  %status = phi i32 {phis}"]
        for k, held in enumerate(self.heap):
            body += [f"  %held{k} = load ptr, ptr {held}, align 8", f"  call void @tx_free(ptr %held{k})"]
        return "\n".join([*body, *self.epilogue, "  ret i32 %status", "}"])
