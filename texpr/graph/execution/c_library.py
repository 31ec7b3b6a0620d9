"""A planned program as one function of C: its kernels, a function that calls them in order, its
weights.

What a run needs between its kernels lies in one block from malloc, planned as a plan's own memory
is. Variables and constants are part of the object, or variables lie in memory that the caller
gives: then a program that assigns to them (a training step) can be saved too, and what it assigns
is copied there once every kernel has succeeded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from texpr import aot
from texpr.compiler import CompiledKernel
from texpr.compiler.schedule import Schedule
from texpr.graph.execution.arena import ALIGNMENT, Arena, lifetimes, make_arena
from texpr.graph.fusion.producer_consumer import tensor_bytes
from texpr.graph.lowering.launch_sequence import Launch
from texpr.ir.expr import Tensor
from texpr.support.errors import CompileError
from texpr.support.frozen_dataclass import frozen
from texpr.targets import Artifact, Target, find_target, link_kernels, symbol_of

WHERE = ("inside", "beside")
"""Places of variables: in the object, or in memory that the caller gives."""
MOST_INSIDE = 64 << 20
"""Bytes that an object holds; LLVM reads them as text."""


@frozen
class Exported:
    """A plan's export of itself.

    Attributes:
        inputs, results: as the plan has them.
        variables: with their values.
        constants: likewise.
        updates: for each variable's tensor that the program assigns to, the tensor that it becomes.
        views: tensors that are other tensors' memory.
        starts: the first elements of those that are parts of it.
    """

    name: str
    launches: Sequence[Launch]
    inputs: Sequence[Tensor]
    results: Sequence[Tensor]
    variables: Mapping[Tensor, np.ndarray]
    constants: Mapping[Tensor, np.ndarray]
    updates: Mapping[Tensor, Tensor]
    views: Mapping[Tensor, Tensor]
    starts: Mapping[Tensor, int] = field(default_factory=dict)


@frozen
class Library:
    """A program as code, what a C program is told of it, and the bytes that the caller gives it,
    if it asks for any.
    """

    artifact: Artifact
    function: aot.Function
    weights: bytes | None


def export(program: Exported, target_name: str, where: str) -> Library:
    """One object of a plan.

    Args:
        where: variables are, one of `WHERE`.
    Raises:
        CompileError: no such target or place, a GPU, weights inside that are assigned to or too
            large.
    """
    target = find_target(target_name)
    if target.gpu or target.build is not None:  # it is LLVM that joins kernels
        raise CompileError(
            f"a whole program for {target.name} is not one object",
            code="save",
            help="choose a CPU that LLVM compiles for, or save its kernels alone",
        )
    aot.check_symbol(program.name)
    _check_place(program, where)
    kernels = _kernels(program.launches, target)
    parts = _Parts(program, where, target)
    text = parts.text([(kernels[n.kernel][0], part) for n in program.launches for part in n.parts()])
    artifact = link_kernels(
        [k.c_code.renamed(name) for name, k in kernels.values()], text, symbol_of(program.name), target
    )
    return Library(artifact, parts.function(k for _, k in kernels.values()), parts.given)


def _check_place(program: Exported, where: str) -> None:
    if where not in WHERE:
        raise CompileError(f"weights are {' or '.join(WHERE)}, not {where!r}", code="save")
    if where == "inside" and program.updates:
        raise CompileError(
            f"{program.name} assigns to its variables, which cannot be inside of an object",
            code="save",
            help='write weights="beside"; to save a network, call model.eval() first',
        )
    size = sum(
        a.nbytes
        for a in (*program.constants.values(), *(program.variables.values() if where == "inside" else ()))
    )
    if size > MOST_INSIDE:
        raise CompileError(
            f"{size:,} bytes of weights do not go into an object, which holds {MOST_INSIDE:,}",
            code="save",
            help='write weights="beside"',
        )


def _kernels(launches: Sequence[Launch], target: Target) -> dict[CompiledKernel, tuple[str, CompiledKernel]]:
    """For every kernel of this machine a name of its own, and the kernel of the target."""
    found: dict[CompiledKernel, tuple[str, CompiledKernel]] = {}
    for k in (n.kernel for n in launches):
        if k not in found:
            made = k if target.native else Schedule(k.program, k.sizes).auto(target.name).compile(target.name)
            found[k] = f"{len(found)}.{k.name}", made
    return found


@dataclass(slots=True)
class _Block:
    """Arrays one after the other, each at a whole line."""

    places: dict[Tensor, int] = field(default_factory=dict)
    data: bytearray = field(default_factory=bytearray)

    def add(self, tensor: Tensor, value: np.ndarray) -> None:
        self.places[tensor] = len(self.data)
        content = np.ascontiguousarray(value).tobytes()
        self.data += content + bytes(-len(content) % ALIGNMENT)


class _Parts:
    """The function that calls the kernels, and where everything lies."""

    def __init__(self, program: Exported, where: str, target: Target) -> None:
        self.program, self.target = program, target
        self.word = f"i{target.address_bits}"
        """The type of a size in the C library."""
        self.inside, self.beside = _Block(), _Block()
        for tensor, value in program.constants.items():
            self.inside.add(tensor, value)
        for tensor, value in program.variables.items():
            (self.inside if where == "inside" else self.beside).add(tensor, value)
        self.given = bytes(self.beside.data) if where == "beside" else None
        self._slots = {t: k for k, t in enumerate(program.inputs)}
        self._copied: list[tuple[Tensor, int]] = []
        for k, t in enumerate(program.results, len(program.inputs)):
            if t in self._slots or t in program.views or t in self._values():
                self._copied.append((t, k))
            else:
                self._slots[t] = k
        self.arena = self._arena()

    def _values(self) -> set[Tensor]:
        return {*self.inside.places, *self.beside.places}

    def _root(self, tensor: Tensor) -> Tensor:
        return self.program.views.get(tensor, tensor)

    def _arena(self) -> Arena:
        """Places of what is neither given nor a result that is written where the caller wants
        it.
        """
        elsewhere = {*self._slots, *self._values()}
        steps = [
            (
                [self._root(t) for t in n.inputs],
                [r for t in n.outputs if (r := self._root(t)) not in elsewhere],
            )
            for n in self.program.launches
        ]
        kept = {self._root(t) for t in (*(t for t, _ in self._copied), *self.program.updates.values())}
        return make_arena(lifetimes(steps, kept - elsewhere))

    def text(self, calls: Sequence[tuple[str, Launch]]) -> str:
        """LLVM IR of the function, over kernels of these names."""
        most = max((len(n.inputs) + len(n.outputs) + len(n.lengths) for _, n in calls), default=1)
        each = (line for k, (name, launch) in enumerate(calls) for line in self._call(k, name, launch))
        lines = [*self._entry(most), *each, *self._end(len(calls))]
        declared = [
            f'declare i32 @"{symbol_of(name)}"(ptr)' for name in dict.fromkeys(name for name, _ in calls)
        ]
        data = [
            f'@weights = internal constant [{len(self.inside.data)} x i8] c"{_escaped(self.inside.data)}", '
            f"align {ALIGNMENT}"
        ]
        return "\n".join(
            [
                *(data if self.inside.data else ()),
                f"declare ptr @malloc({self.word})",
                "declare void @free(ptr)",
                f"declare void @llvm.memcpy.p0.p0.{self.word}(ptr, ptr, {self.word}, i1)",
                *declared,
                f'define i32 @"{symbol_of(self.program.name)}"(ptr %slots) nounwind {{',
                *lines,
                "}",
                "",
            ]
        )

    def _entry(self, most: int) -> Iterator[str]:
        count = len(self.program.inputs) + len(self.program.results) + (self.given is not None)
        yield from ("entry:", f"  %words = alloca [{most} x i64], align 8")
        for k in range(count):
            yield from (
                f"  %slot{k} = getelementptr i64, ptr %slots, i64 {k}",
                f"  %p{k} = load ptr, ptr %slot{k}, align 8",
            )
        yield from (
            f"  %memory = call ptr @malloc({self.word} {self.arena.size + ALIGNMENT})",
            "  %none = icmp eq ptr %memory, null",
            "  br i1 %none, label %out, label %start",
            "out:",
            "  ret i32 2",
            "start:",
            "  %number = ptrtoint ptr %memory to i64",
            f"  %after = add i64 %number, {ALIGNMENT - 1}",
            f"  %line = and i64 %after, -{ALIGNMENT}",
            "  %block = inttoptr i64 %line to ptr",
            "  br label %launch0",
        )

    def _call(self, k: int, name: str, launch: Launch) -> Iterator[str]:
        yield f"launch{k}:"
        for j, t in enumerate((*launch.inputs, *launch.outputs)):
            yield from (
                f"  %a{k}.{j} = {self._address(t)}",
                f"  %i{k}.{j} = ptrtoint ptr %a{k}.{j} to i64",
                f"  %w{k}.{j} = getelementptr i64, ptr %words, i64 {j}",
                f"  store i64 %i{k}.{j}, ptr %w{k}.{j}, align 8",
            )
        for j, length in enumerate(launch.lengths, len(launch.inputs) + len(launch.outputs)):
            yield from (
                f"  %w{k}.{j} = getelementptr i64, ptr %words, i64 {j}",
                f"  store i64 {length}, ptr %w{k}.{j}, align 8",
            )
        yield from (
            f'  %r{k} = call i32 @"{symbol_of(name)}"(ptr %words)',
            f"  %good{k} = icmp eq i32 %r{k}, 0",
            f"  br i1 %good{k}, label %launch{k + 1}, label %leave",
        )

    def _end(self, count: int) -> Iterator[str]:
        """Copies of what is needed elsewhere; memory is given back on every way out."""
        yield f"launch{count}:"
        copies = [(f"getelementptr i8, ptr %p{k}, i64 0", t) for t, k in self._copied]
        copies += [(self._address(variable), value) for variable, value in self.program.updates.items()]
        for n, (to, t) in enumerate(copies):
            yield from (
                f"  %to{n} = {to}",
                f"  %from{n} = {self._address(t)}",
                f"  call void @llvm.memcpy.p0.p0.{self.word}(ptr %to{n}, ptr %from{n}, {self.word} "
                f"{tensor_bytes(t)}, i1 false)",
            )
        yield from ("  br label %leave", "leave:")
        ways = ", ".join([f"[ 0, %launch{count} ]", *(f"[ %r{k}, %launch{k} ]" for k in range(count))])
        yield from (f"  %status = phi i32 {ways}", "  call void @free(ptr %memory)", "  ret i32 %status")

    def _address(self, tensor: Tensor) -> str:
        root = self._root(tensor)
        if root in self._slots:
            base, at = f"%p{self._slots[root]}", 0
        elif root in self.inside.places:
            base, at = "@weights", self.inside.places[root]
        elif root in self.beside.places:
            base, at = f"%p{len(self.program.inputs) + len(self.program.results)}", self.beside.places[root]
        else:
            base, at = "%block", self.arena.offset[root]
        at += self.program.starts.get(tensor, 0) * tensor.dtype.bytes
        return f"getelementptr i8, ptr {base}, i64 {at}"

    def function(self, kernels: Iterable[CompiledKernel]) -> aot.Function:
        """The description of the function for callers."""
        program = self.program
        parameters = [aot.parameter_of(t) for t in program.inputs]
        names = _distinct(
            [f"result{k}" if len(program.results) > 1 else "result" for k in range(len(program.results))],
            program.inputs,
        )
        parameters += [aot.parameter_of(t, name, written=True) for t, name in zip(program.results, names)]
        facts = [
            f"Workspace: {self.arena.size:,} bytes from malloc, and what kernels need; free again when it "
            f"returns."
        ]
        if self.given is None:
            facts.append(f"Weights: {len(self.inside.data):,} bytes, part of the object.")
        else:
            parameters.append(self._weights())
            facts += ["The arrays of the weights, by their first byte: " + ", ".join(self._contents()) + "."]
            facts += (
                ["What it assigns to them is there when it has returned 0, and as it was otherwise."]
                if program.updates
                else []
            )
        needs = {line: None for k in kernels for line in aot.function_of(k.kernel, self.target).needs}
        return aot.Function(
            program.name, aot.described(self.target), tuple(parameters), tuple(facts), tuple(needs)
        )

    def _weights(self) -> aot.Parameter:
        (name,) = _distinct(["weights"], self.program.inputs)
        note = "what the file beside the code holds, at a multiple of 64 bytes" + (
            ", read and written" if self.program.updates else ""
        )
        return aot.Parameter(
            name, "unsigned char", f"[{len(self.beside.data)}]", bool(self.program.updates), note
        )

    def _contents(self) -> Iterator[str]:
        for tensor, at in self.beside.places.items():
            p = aot.parameter_of(tensor)
            yield f"{at} {p.name} {p.type}{p.shape}"


def _distinct(names: Sequence[str], inputs: Sequence[Tensor]) -> list[str]:
    taken = {t.name for t in inputs}
    return [f"{name}_" if name in taken else name for name in names]


def _escaped(data: bytes | bytearray) -> str:
    return "".join(map(_BYTES.__getitem__, data))


_BYTES = [f"\\{k:02X}" for k in range(256)]
