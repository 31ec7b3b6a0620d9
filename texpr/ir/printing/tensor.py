"""Programs as DSL text, with dtypes and constants filled in. What is printed parses back to an
equal program.

A range, shape or dtype is written only where the language's inference would not find the same one.
"""

from __future__ import annotations

from collections.abc import Iterable

from texpr.ir.build import integer
from texpr.ir.dtypes import I64, U64, DType
from texpr.ir.expr import Add, Axis, Const, Expr, Mul, Node, Read, Select, Tensor, Var, index
from texpr.ir.extern import is_extern
from texpr.ir.printing.expr import Names, Part, Writer, binder, element, inferred_size, literal_text
from texpr.ir.printing.loop import UPDATES
from texpr.ir.printing.types import RESERVED, type_items, unused
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import equal, variables, walk
from texpr.support.frozen_dataclass import replace

WIDE = 80  # of a longer head, the outputs go to a line of their own


def show_program(program: Program, with_callees: bool = False) -> str:
    """`program` as an `op`; `with_callees` prints the operators that it calls before it, with
    numbers where names would repeat.
    """
    programs = _distinctly_named([*callees(program), program]) if with_callees else [program]
    return "\n".join(_show_one(p) for p in programs)


def _distinctly_named(programs: list[Program]) -> list[Program]:
    """The same programs, callees before callers, each with a name of its own; the last one keeps
    its name.
    """
    taken = {programs[-1].name}
    new: dict[int, Program] = {}
    for program in programs:
        name = program.name if program is programs[-1] else unused(program.name, taken)
        taken.add(name)
        calls = tuple(
            replace(e, program=new[id(e.program)]) if isinstance(e, Invoke) else e for e in program.equations
        )
        new[id(program)] = replace(program, name=name, equations=calls)
    return list(new.values())


def callees(program: Program) -> list[Program]:
    """The programs called below `program`, each once, callees before callers."""
    found: dict[int, Program] = {}
    stack = [(program, False)]
    while stack:
        current, ready = stack.pop()
        if ready:
            found.setdefault(id(current), current)
            continue
        stack.append((current, True))
        stack += [
            (e.program, False)
            for e in current.equations
            if isinstance(e, Invoke) and id(e.program) not in found
        ]
    found.pop(id(program))
    return list(found.values())


def program_names(program: Program) -> Names:
    """The name of each variable and tensor in the text: its own name, with a number where two would
    be confused.
    """
    names = Names(parameters=_parameters(program))
    taken = set(RESERVED) | {str(name) for name, _ in program.constants}
    for thing in (*program.inputs, *program.outputs, *program.temporaries, *program.sizes):
        text = unused(thing.name, taken)
        taken.add(text)
        names[thing] = f"numel({text})" if isinstance(thing, Var) and thing.pack else text
    for equation in program.equations:
        _name_indices(equation, names, taken)
    return names


def _parameters(program: Program) -> list[Tensor]:
    return [x for x in program.inputs if not x.dims and x.dtype.is_int and x.dtype not in (I64, U64)]


def _name_indices(equation: Node, names: Names, taken: set[str]) -> None:
    """Each index of an equation has its own name; equations may share names."""
    used = set(taken)
    for node in walk(equation):
        if isinstance(node, Axis):
            text = unused(node.var.name, used)
            used.add(text)
            names[node.var] = f"*{text}" if node.var.pack else text


def _show_one(program: Program) -> str:
    writer = Writer(program_names(program))
    names = writer.names
    for line in program.doc.splitlines():
        writer.write(f"# {line}".rstrip() + "\n")
    start = writer.length
    writer.write(f"{'extern ' if is_extern(program) else ''}op {program.name}(")
    _declarations(writer, program.inputs)
    if program_constants := [(n, v) for n, v in program.constants if not isinstance(v, DType)]:
        writer.write(
            "; " + ", ".join(f"{name} = {_constant_text(value)}" for name, value in program_constants)
        )
    writer.write(")\n   -> " if writer.length - start > WIDE else ") -> ")
    writer.write("" if len(program.outputs) == 1 else "(")
    _declarations(writer, program.outputs)
    writer.write("" if len(program.outputs) == 1 else ")")
    for k, condition in enumerate(program.requires):
        writer.items("\n   require " if k == 0 else ", ", Part(condition))
    if is_extern(program):
        writer.write("\n")
        return writer.text
    writer.write(" {\n")
    declared = {*program.inputs, *program.outputs, *undeducible(program)}
    for tensor in program.temporaries:
        if tensor in declared:
            writer.write("  let ")
            _declarations(writer, (tensor,))
            writer.write("\n")
    for equation in program.equations:
        writer.items("  ", *_statement(equation, declared, names), "\n")
    writer.write("}\n")
    return writer.text


def _constant_text(value: object) -> str:
    if isinstance(value, float):
        return literal_text(value, DType("f", 64))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _declarations(writer: Writer, tensors: Iterable[Tensor]) -> None:
    for k, tensor in enumerate(tensors):
        writer.items(", " if k else "", f"{writer.names[tensor]}: ", *type_items(tensor))


def undeducible(program: Program) -> set[Tensor]:
    """The intermediates whose shape or dtype is other than what inference finds."""
    definitions: dict[Tensor, list[Equation | Invoke]] = {}
    for e in program.equations:
        for tensor in e.targets:
            definitions.setdefault(tensor, []).append(e)
    never = _circular(definitions)
    weak = _parameters(program)
    return {
        tensor
        for tensor in program.temporaries
        if tensor in never or _needs_declaration(tensor, definitions[tensor], weak)
    }


def _circular(definitions: dict[Tensor, list[Equation | Invoke]]) -> set[Tensor]:
    """The tensors that need themselves, directly or by others, and those between: no order of
    inference reaches them.
    """
    needs = {
        t: {n.tensor for e in found if isinstance(e, Equation) for n in walk(e) if isinstance(n, Read)}
        & definitions.keys()
        for t, found in definitions.items()
    }
    left = set(needs)
    while outside := {t for t in left if not needs[t] & left or not any(t in needs[other] for other in left)}:
        left -= outside
    return left


def _needs_declaration(
    tensor: Tensor, definitions: list[Equation | Invoke], parameters: list[Tensor]
) -> bool:
    only = definitions[0]
    if isinstance(only, Invoke):
        return len(definitions) > 1
    bare = all(x is axis.var for x, axis in zip(only.indices, only.axes)) and len(only.indices) == len(
        only.axes
    )
    literal = (
        _is_weak(only.value, parameters)
        or tensor.value_range is not None
        or any(len(d.sizes) > 1 for d in tensor.dims)
    )
    if (
        len(definitions) > 1
        or not bare
        or literal
        or only.guard is not None
        or tensor.dtype != only.value.dtype
    ):
        return True
    return any(
        integer(axis.lo) != 0
        or (size := inferred_size(axis.var, only.value)) is None
        or not equal(axis.hi, size)
        or not equal(axis.hi, declared)
        or dim.pack != axis.var.pack
        for axis, declared, dim in zip(only.axes, tensor.shape, tensor.dims)
    )


def _is_weak(value: Expr, parameters: list[Tensor]) -> bool:
    """True if a value takes its type from what it meets: its own would be another one where it is
    read.
    """
    match value:
        case Const():
            return True
        case Read(tensor):
            return tensor in parameters
        case Select(_, then, orelse):
            return _is_weak(then, parameters) and _is_weak(orelse, parameters)
    return False


def _statement(equation: Equation | Invoke, declared: set[Tensor], names: Names) -> list[str | Part]:
    if isinstance(equation, Invoke):
        return [_call_text(equation, names)]
    result = element(equation.target, _with_all_axes(equation), equation.guard, names)
    result += [f" {UPDATES[equation.update]} ", Part(equation.value)]
    separator = "  for "
    for axis in equation.axes:
        items = binder(axis, _left_size(axis, equation, equation.target in declared), names)
        if len(items) > 1:
            result += [separator, *items]
            separator = ", "
    return result if equation.where is None else [*result, "  where ", Part(equation.where)]


def _with_all_axes(equation: Equation) -> tuple[Expr, ...]:
    """The indices of the left side; an axis that no index depends on, as in `Y[i - i]`, is 0
    times there, so that the text binds it.
    """
    indices, unused = (
        list(equation.indices),
        [a.var for a in equation.axes if a.var not in variables(*equation.indices)],
    )
    at = next((k for k, i in enumerate(indices) if not (isinstance(i, Var) and i.pack)), None)
    for var in unused:
        if at is not None and not var.pack:
            indices[at] = Add(indices[at], Mul(index(0), var))
    return tuple(indices)


def _left_size(axis: Axis, equation: Equation, declared: bool) -> Expr | None:
    """Size by rule 2: the declared dimension where the index stands bare on the left, else the size
    that the reads agree on.
    """
    if declared and equation.guard is None:
        for x, size in zip(equation.indices, equation.target.shape):
            if x is axis.var:
                return size
    roots = [equation.value, *equation.indices, *([equation.where] if equation.where is not None else [])]
    return inferred_size(axis.var, *roots)


def _call_text(call: Invoke, names: Names) -> str:
    arguments = [names[t] for t in call.args]
    arguments += [
        f"{name}={_constant_text(value)}"
        for name, value in call.program.constants
        if not isinstance(value, DType)
    ]
    targets = ", ".join(names[t] for t in call.targets)
    return f"{targets} = {call.program.name}({', '.join(arguments)})"
