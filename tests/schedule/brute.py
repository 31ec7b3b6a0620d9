"""Legality by enumeration: every statement instance of a kernel at given sizes, what it touches, and which pairs must keep their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from unittest import mock

import numpy as np

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
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.traverse import children
from texpr.poly.legality import reassociable

Element = tuple[str, tuple[int, ...]]
Name = tuple[object, ...]


@dataclass(frozen=True)
class Event:
    """An instance of a store: its name (the same in every order), its loops, and the elements it reads and writes."""

    name: Name
    store: Store
    loops: tuple[tuple[Var, int], ...]
    reads: frozenset[Element]
    writes: Element


@dataclass
class Machine:
    """Runs the integers of a kernel: indices and conditions. Floats are all 0.

    Attributes:
        data: the input tensors that indices are made of.
    """

    sizes: Mapping[Var, int]
    data: Mapping[str, np.ndarray]
    values: dict[Var, int] = field(default_factory=dict)
    reads: set[Element] = field(default_factory=set)

    def value(self, e: Expr) -> int:
        match e:
            case Const(value):
                return int(value) if isinstance(value, int | bool) else 0
            case Var():
                return self.values[e] if e in self.values else self.sizes[e]
            case Read(tensor, indices):
                at = tuple(self.value(i) for i in indices)
                self.reads.add((tensor.name, at))
                return int(self.data[tensor.name][at]) if tensor.name in self.data else 0
            case Select(condition, a, b):
                return self.value(a if self.value(condition) else b)
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
            case Compare(operator, a, b):
                return int(COMPARE[operator](self.value(a), self.value(b)))
            case Call(function, arguments):
                values = [self.value(a) for a in arguments]
                return abs(values[0]) if function == "abs" else 0
        values = [self.value(a) for a in children(e) if isinstance(a, Expr)]
        return BINARY[type(e)](*values) if type(e) in BINARY else 0


COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b}
BINARY: dict[type, Callable[[int, int], int]] = {
    Add: lambda a, b: a + b, Sub: lambda a, b: a - b, Mul: lambda a, b: a * b, Max: max, Min: min,
    FloorDiv: lambda a, b: a // b if b else 0, Mod: lambda a, b: a % b if b else 0}


def events(kernel: Kernel, sizes: Mapping[Var, int], data: Mapping[str, np.ndarray]) -> Iterator[Event]:
    """All instances in the order in which they run, loops that claim to be parallel one iteration after another."""
    machine = Machine(sizes, data)
    yield from _run(machine, kernel.body, ())


def _run(machine: Machine, body: tuple[Stmt, ...], loops: tuple[tuple[Var, int], ...]) -> Iterator[Event]:
    for node in body:
        match node:
            case For(var, extent, inside):
                for k in range(machine.value(extent)):
                    machine.values[var] = k
                    yield from _run(machine, inside, (*loops, (var, k)))
                machine.values.pop(var, None)
            case If(condition, inside):
                if machine.value(condition):
                    yield from _run(machine, inside, loops)
            case Store(tensor, indices):
                machine.reads = set()
                machine.value(node.value)
                written = tensor.name, tuple(machine.value(i) for i in indices)
                if node.update:
                    machine.reads.add(written)
                at = tuple(machine.value(i) for i in node.at)
                name = (node.equation, tensor.name, node.start, node.update, at)
                yield Event(name, node, loops, frozenset(machine.reads), written)


def dependent(a: Event, b: Event) -> bool:
    """Whether two instances may not change places."""
    if a.store is b.store and a.writes == b.writes and reassociable(a.store):
        return bool((a.reads | {a.writes}) & ({b.writes} - {a.writes}) | ({a.writes} - {b.writes}) & b.reads)
    return a.writes == b.writes or a.writes in b.reads or b.writes in a.reads


def turned_around(before: Kernel, after: Kernel, sizes: Mapping[Var, int], data: Mapping[str, np.ndarray]) -> tuple[Event, Event] | None:
    """Two instances that depend on each other and run in another order in `after`."""
    old = list(events(before, sizes, data))
    place = {event.name: k for k, event in enumerate(events(after, sizes, data))}
    assert len(place) == len(old) == len({event.name for event in old}), "the step loses or repeats instances"
    return next(((a, b) for a, b in combinations(old, 2) if place[a.name] > place[b.name] and dependent(a, b)), None)


def meeting(kernel: Kernel, loop: Var, sizes: Mapping[Var, int], data: Mapping[str, np.ndarray], private: frozenset[str],
            lanes: bool = False) -> tuple[Event, Event] | None:
    """Two iterations of `loop`, the loops around it alike, that touch one element which at least one of them writes.

    Args:
        private: tensors of which every iteration has its own.
        lanes: updates whose order does not matter may meet.
    """
    inside = [e for e in events(kernel, sizes, data) if any(v is loop for v, _ in e.loops)]
    for a, b in combinations(inside, 2):
        depth = next(k for k, (v, _) in enumerate(a.loops) if v is loop)
        if a.loops[:depth] == b.loops[:depth] and a.loops[depth] != b.loops[depth] and _touch(a, b, private, lanes):
            return a, b
    return None


def _touch(a: Event, b: Event, private: frozenset[str], lanes: bool) -> bool:
    if lanes and a.store is b.store and a.writes == b.writes and reassociable(a.store):
        return False
    shared = {a.writes} & (b.reads | {b.writes}) | {b.writes} & (a.reads | {a.writes})
    return any(tensor not in private for tensor, _ in shared)


def unchecked() -> mock._patch:
    """While this holds, every order passes as legal: steps then do what they would have refused."""
    return mock.patch.multiple("texpr.poly", reordered=lambda *a, **k: None, carried=lambda *a, **k: None)


def index_data(inputs: tuple[Tensor, ...], sizes: Mapping[Var, int], shapes: Callable[[Tensor], tuple[int, ...]],
               seed: int) -> dict[str, np.ndarray]:
    """Integers for the inputs that have a range: all alike for seed 0, where the most instances meet."""
    generator = np.random.default_rng(seed)
    made = {}
    for t in inputs:
        if t.value_range is not None:
            shape = shapes(t)
            high = Machine(sizes, {}).value(t.value_range[1])
            made[t.name] = np.zeros(shape, int) if seed == 0 else generator.integers(0, max(high, 1), shape)
    return made
