"""Kernels as indented loops. What is printed parses back (`lang.parse_kernel`); every node has a
place for carets.

    kernel matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) allow_fma
      let C_acc: f32[M, N]
      for C.i in 0..M parallel
        ...
"""

from __future__ import annotations

from collections.abc import Mapping

from texpr.ir.expr import Node, Tensor, Var
from texpr.ir.loop import (
    Alloc,
    Barrier,
    Commit,
    CommitProducts,
    ExternCall,
    For,
    If,
    Kernel,
    Poll,
    Prefetch,
    Stmt,
    Store,
    Wait,
    WaitProducts,
)
from texpr.ir.loop_kind import SERIAL
from texpr.ir.printing.expr import SUM, Names, Part, Writer, element
from texpr.ir.printing.types import MARKS, RESERVED, size_variables, type_items, unused
from texpr.ir.traverse import statements, walk
from texpr.support.source import Source, Span

FMA_MARKS = {"": "", "sums": ' allow_fma("sums")', "all": " allow_fma"}
UPDATES = {None: "=", "add": "+=", "mul": "*=", "max": "max=", "min": "min="}


def show_kernel(kernel: Kernel, notes: Mapping[Var, str] | None = None) -> str:
    """The loop nest of `kernel`; `notes` become comments behind the loops of the given
    variables.
    """
    return _print(kernel, notes or {}).text


def full_listing(kernel: Kernel) -> str:
    """The loop nest with what listings leave out: behind each store, the instance of its
    equation (`at[i, j, k]`).
    """
    return _print(kernel, {}, instances=True).text


def source_kernel(kernel: Kernel, notes: Mapping[Var, str] | None = None) -> tuple[Source, dict[int, Span]]:
    """The listing as a source named `kernel`, with the place of each node by its `id`. A loop's
    place is its first line.
    """
    writer = _print(kernel, notes or {})
    source = Source("kernel", writer.text)
    return source, {key: Span(source, *place) for key, place in writer.spans.items()}


def kernel_names(kernel: Kernel) -> Names:
    """The name of each variable and tensor in the listing: its own name, with a number where two
    would be confused.
    """
    names = Names()
    taken = set(RESERVED | MARKS)
    allocated = [node.tensor for node in walk(kernel) if isinstance(node, Alloc)]
    for thing in (*kernel.inputs, *kernel.outputs, *kernel.temporaries, *allocated, *_sizes(kernel)):
        text = unused(thing.name, taken)
        taken.add(text)
        names[thing] = f"numel({text})" if isinstance(thing, Var) and thing.pack else text
    _name_loops(kernel.body, names, taken)
    return names


def _sizes(kernel: Kernel) -> tuple[Var, ...]:
    loops = {node.var for node in statements(kernel) if isinstance(node, For)}
    used = (node for node in walk(kernel) if isinstance(node, Var) and node not in loops)
    declared = size_variables((*kernel.inputs, *kernel.outputs, *kernel.temporaries))
    return tuple(dict.fromkeys((*kernel.sizes, *declared, *used)))


def _name_loops(body: tuple[Stmt, ...], names: Names, taken: set[str]) -> None:
    """Loops beside each other may share a name, nested ones may not."""
    stack = [(statement, frozenset(taken)) for statement in body]
    while stack:
        statement, outside = stack.pop()
        if isinstance(statement, For):
            names[statement.var] = unused(statement.var.name, outside)
            outside |= {names[statement.var]}
        if isinstance(statement, For | If):
            stack += [(below, outside) for below in statement.body]


def _print(kernel: Kernel, notes: Mapping[Var, str], *, instances: bool = False) -> Writer:
    names = kernel_names(kernel)
    writer = Writer(names)
    _header(writer, kernel, names)
    stack: list[tuple[Stmt, int]] = [(s, 1) for s in reversed(kernel.body)]
    while stack:
        statement, depth = stack.pop()
        writer.write("\n" + "  " * depth)
        start = writer.length
        writer.items(*_line(statement, names))
        writer.mark(statement, start)
        for stands_for in walk(*statement.effect) if isinstance(statement, ExternCall) else ():
            writer.mark(stands_for, start)
        if isinstance(statement, Store) and instances and statement.at:
            writer.items(
                "  at[",
                *(item for k, e in enumerate(statement.at) for item in ((", ",) if k else ()) + (Part(e),)),
                "]",
            )
        if isinstance(statement, For):
            writer.mark(statement.var, start)
            writer.write(f"  # {notes[statement.var]}" if statement.var in notes else "")
        if isinstance(statement, For | If):
            stack += [(s, depth + 1) for s in reversed(statement.body)]
    writer.write("\n")
    return writer


def _header(writer: Writer, kernel: Kernel, names: Names) -> None:
    writer.write(f"kernel {kernel.name}(")
    _tensors(writer, kernel.inputs, names)
    writer.write(") -> (")
    _tensors(writer, kernel.outputs, names)
    writer.write(")" + FMA_MARKS[kernel.fma])
    writer.mark(kernel, 0)
    if kernel.sizes != size_variables((*kernel.inputs, *kernel.outputs, *kernel.temporaries)):
        writer.write("\n  sizes " + ", ".join(f"*{v.name}" if v.pack else names[v] for v in kernel.sizes))
    for condition in kernel.requires:
        writer.items("\n  require ", Part(condition))
    for tensor in kernel.temporaries:
        writer.write("\n  let ")
        _tensors(writer, (tensor,), names)
        writer.write(_home(tensor))


def _home(tensor: Tensor) -> str:
    """The scope of a buffer, and the permutation of its elements, as text."""
    lies = "" if tensor.swizzle is None else f" {tensor.swizzle}"
    return "" if tensor.scope == "global" else f"  {tensor.scope}{lies}"


def _tensors(writer: Writer, tensors: tuple[Tensor, ...], names: Names) -> None:
    for k, tensor in enumerate(tensors):
        writer.write(", " if k else "")
        start = writer.length
        writer.items(f"{names[tensor]}: ", *type_items(tensor))
        writer.mark(tensor, start)


def _line(statement: Node, names: Names) -> list[str | Part]:
    match statement:
        case For(var, extent, _, kind, tensor):
            name = f"{tensor}.{names[var]}" if tensor else names[var]
            marks = "".join(f" @{key}({value!r})" for key, value in statement.notes)
            return [
                f"for {name} in 0..",
                Part(extent, SUM),
                "" if kind == SERIAL else f" {kind}",
                marks and f" {marks}",
            ]
        case If(cond):
            return ["if ", Part(cond)]
        case Store(tensor, indices, value, update):
            return [
                *element(tensor, indices, None, names),
                f" {UPDATES[update]} ",
                Part(value),
                *_marks(statement),
            ]
        case Alloc(tensor):
            return [f"let {names[tensor]}: ", *type_items(tensor), _home(tensor)]
        case ExternCall(name, inputs, outputs, constants):
            given = ", ".join(names[t] for t in inputs) + "".join(
                f"{', ' if k else '; '}{n}={v!r}" for k, (n, v) in enumerate(constants)
            )
            return [
                f"{', '.join(names[t] for t in outputs)} = extern {name}({given})",
                *_call_mark(statement),
            ]
        case Prefetch(tensor, indices):
            return ["prefetch ", *element(tensor, indices, None, names)]
        case Barrier(cluster):
            return ["barrier cluster" if cluster else "barrier"]
        case Commit(slot, brings, slots):
            return (
                ["commit"]
                if slot is None or brings is None
                else ["commit at ", Part(slot), f" of {slots} brings ", Part(brings)]
            )
        case Wait(pending, slot, phase, slots):
            counted = (
                []
                if slot is None or phase is None
                else [" at ", Part(slot), f" of {slots} phase ", Part(phase)]
            )
            return [f"wait {pending}", *counted]
        case CommitProducts():
            return ["commit products"]
        case WaitProducts(pending):
            return [f"wait {pending} products"]
        case Poll():
            return ["poll"]
    raise AssertionError(f"no text for {type(statement).__name__}")


def _call_mark(call: ExternCall) -> list[str | Part]:
    return [f"  eq {call.equation}"] if call.equation > 0 else []


def _marks(store: Store) -> list[str | Part]:
    words = (str(store.role), "reassoc" if store.reassoc else "", str(store.mode), *_equation(store))
    marks = [word for word in words if word]
    return ["  " + " ".join(marks)] if marks else []


def _equation(store: Store) -> list[str]:
    return ["copy"] if store.equation < 0 else [f"eq {store.equation}"] if store.equation else []
