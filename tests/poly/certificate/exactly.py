"""Kernels run with every access checked: what is wrong with final loops at some sizes, found by
running them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from tests.poly.nests import COMPARE
from texpr.ir.expr import (
    Add,
    And,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Not,
    Or,
    Read,
    Select,
    Sub,
    Tensor,
    Var,
)
from texpr.ir.loop import Alloc, For, If, Kernel, Stmt, Store
from texpr.ir.loop_kind import SERIAL, UNROLLED, LoopKind

BINARY = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    Max: max,
    Min: min,
    FloorDiv: lambda a, b: a // b if b else 0,
    Mod: lambda a, b: a % b if b else 0,
}
UPDATES = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": max, "min": min}
Element = tuple[int, tuple[int, ...]]


class Wrong(Exception):
    """Something happens that must not."""


@dataclass
class Memory:
    """One buffer: its cells as far as they are written, those that nobody read yet, and which
    sums were started where.
    """

    shape: tuple[int, ...]
    cells: dict[tuple[int, ...], int] = field(default_factory=dict)
    unread: set[tuple[int, ...]] = field(default_factory=set)
    started: set[tuple[tuple[int, ...], ...]] = field(default_factory=set)


class Machine:
    """Runs a kernel on integers, iteration by iteration.

    Attributes:
        touched: for each open loop that runs at once, what each iteration read, and what it wrote
            where.
    """

    def __init__(self, kernel: Kernel, inputs: Mapping[str, np.ndarray], sizes: Mapping[Var, int]) -> None:
        self.kernel, self.values = kernel, dict(sizes)
        self.memory: dict[Tensor, Memory] = {}
        self.touched: list[list[tuple[set[Element], dict[Element, int]]]] = []
        self.lives: list[Memory] = []
        for t in (*kernel.inputs, *kernel.outputs, *kernel.temporaries):
            self.allocate(t)
        for t in kernel.inputs:
            self.memory[t].cells = {at: int(v) for at, v in np.ndenumerate(inputs[t.name])}

    def allocate(self, t: Tensor) -> None:
        self.memory[t] = Memory(tuple(self.value(n) for n in t.shape))
        self.lives.append(self.memory[t])  # No two have one `id`.

    def cell(self, t: Tensor, indices: tuple[Expr, ...]) -> tuple[int, ...]:
        at = tuple(self.value(i) for i in indices)
        if not all(0 <= i < n for i, n in zip(at, self.memory[t].shape)):
            raise Wrong(f"{t.name}{at} does not exist")
        return at

    def read(self, t: Tensor, at: tuple[int, ...]) -> int:
        if at not in self.memory[t].cells:
            raise Wrong(f"{t.name}{at} is not written")
        for iterations in self.touched:
            iterations[-1][0].add((id(self.memory[t]), at))
        self.memory[t].unread.discard(at)
        return self.memory[t].cells[at]

    def is_written(self, e: Read) -> bool:
        return self.cell(e.tensor, e.indices) in self.memory[e.tensor].cells

    def value(self, e: Expr) -> int:
        match e:
            case Const(value):
                return int(value)
            case Var():
                return self.values[e]
            case Read(t, indices):
                return self.read(t, self.cell(t, indices))
            case Select(cond, then, orelse):
                return self.value(then if self.value(cond) else orelse)
            case And(a, b):
                return int(bool(self.value(a)) and bool(self.value(b)))
            case Or(a, b):
                return int(bool(self.value(a)) or bool(self.value(b)))
            case Not(a):
                return int(not self.value(a))
            case Neg(a):
                return -self.value(a)
            case Cast(a):
                return self.value(a)
            case Call("abs", (a,)):
                return abs(self.value(a))
            case Compare(op, a, b):
                return int(COMPARE[op](self.value(a), self.value(b)))
        return BINARY[type(e)](self.value(e.lhs), self.value(e.rhs))  # type: ignore[attr-defined]

    def store(self, s: Store) -> None:
        at = self.cell(s.tensor, s.indices)
        if s.equation < 0 and s.update is None and isinstance(s.value, Read) and not self.is_written(s.value):
            self.memory[s.tensor].cells.pop(at, None)  # Nothing is copied, and nothing may be read there.
            return
        value = self.value(s.value)
        memory = self.memory[s.tensor]
        if s.update is not None:
            value = UPDATES[s.update](self.read(s.tensor, at), value)
        elif s.is_start:
            instance = at, tuple(self.value(i) for i in s.at)
            if instance in memory.started:
                raise Wrong(f"the same sum is started twice in {s.tensor.name}{at}")
            memory.started.add(instance)
        elif at in memory.unread and memory.cells[at] != value:
            raise Wrong(f"{s.tensor.name}{at} is another value before anybody reads it")
        for iterations in self.touched:
            iterations[-1][1][id(memory), at] = value
        memory.cells[at] = value
        memory.unread.add(at)

    def run(self, body: tuple[Stmt, ...]) -> None:
        for s in body:
            match s:
                case Alloc(t):
                    self.allocate(t)
                case If(cond, inner):
                    if self.value(cond):
                        self.run(inner)
                case For(var, extent, inner, kind):
                    self.loop(var, self.value(extent), inner, kind)
                case Store():
                    self.store(s)

    def loop(self, var: Var, extent: int, body: tuple[Stmt, ...], kind: LoopKind) -> None:
        at_once = kind not in (SERIAL, UNROLLED)
        iterations: list[tuple[set[Element], dict[Element, int]]] = []
        if at_once:
            self.touched.append(iterations)
        for k in range(extent):
            self.values[var] = k
            iterations.append((set(), {}))
            self.run(body)
        if at_once:
            self.touched.pop()
            _apart(iterations)


def _apart(iterations: list[tuple[set[Element], dict[Element, int]]]) -> None:
    """Two iterations may write one value to one element, which no other reads: so do tiles that
    overlap.
    """
    written: dict[Element, int] = {}
    read: set[Element] = set()
    for reads, writes in iterations:
        if (
            writes.keys() & read
            or reads & written.keys()
            or any(written.get(e, value) != value for e, value in writes.items())
        ):
            raise Wrong("iterations that run at once meet")
        written |= writes
        read |= reads


def outputs(
    kernel: Kernel, inputs: Mapping[str, np.ndarray], sizes: Mapping[Var, int]
) -> Iterator[np.ndarray]:
    """What the kernel computes.

    Raises:
        Wrong: an element does not exist, is not written, is written twice, or iterations that run
            at once meet.
    """
    machine = Machine(kernel, inputs, sizes)
    machine.run(kernel.body)
    for t in kernel.outputs:
        memory = machine.memory[t]
        if len(memory.cells) != np.prod(memory.shape, dtype=int):
            raise Wrong(f"{t.name} is not computed everywhere")
        result = np.empty(memory.shape, np.int64)
        for at, value in memory.cells.items():
            result[at] = (value + (1 << 63)) % (1 << 64) - (1 << 63)
        yield result
