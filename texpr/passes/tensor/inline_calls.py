"""Calls of operators become their equations, so that one kernel can be scheduled as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from texpr.ir.build import add, mul, product
from texpr.ir.expr import Axis, Call, Dim, Expr, Node, Read, Reduce, Tensor, Var, index, plain
from texpr.ir.extern import is_extern
from texpr.ir.interpreter.random import RANDOM
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import rewrite, tensors
from texpr.passes.analysis.substitution import folded, over_tensors, resized, with_fresh_variables
from texpr.support.frozen_dataclass import replace


def inline_calls(program: Program) -> Program:
    """A program without `Invoke`: each call is replaced by the callee's equations, its temporaries
    renamed after the first target.

    Calls of extern operators stay; an extern operator itself becomes one.
    """
    if is_extern(program):
        return replace(program, equations=(Invoke(program.outputs, program, program.inputs, program.span),))
    while any(_written(e) for e in program.equations):
        names = {t.name for t in (*program.inputs, *program.outputs, *program.temporaries)}
        equations: list[Equation | Invoke] = []
        for equation in program.equations:
            equations += (
                _inlined(equation, names)
                if isinstance(equation, Invoke) and _written(equation)
                else [equation]
            )
        program = replace(program, equations=tuple(equations))
    return program


def needed(program: Program) -> Program:
    """Without the temporaries that neither an output nor a call of outside code needs."""
    writers: dict[Tensor, list[Equation | Invoke]] = {}
    for e in program.equations:
        for target in e.targets:
            writers.setdefault(target, []).append(e)
    found: dict[Tensor, None] = dict.fromkeys(program.outputs)
    for e in program.equations:
        if isinstance(e, Invoke):
            found |= dict.fromkeys((*e.args, *e.targets))
    left = list(found)
    while left:
        new = [
            t
            for e in writers.get(left.pop(), ())
            if isinstance(e, Equation)
            for t in tensors(e)
            if t not in found
        ]
        found |= dict.fromkeys(new)
        left += new
    if all(t in found for t in program.temporaries):
        return program
    return replace(
        program, equations=tuple(e for e in program.equations if isinstance(e, Invoke) or e.target in found)
    )


def _written(e: Equation | Invoke) -> bool:
    """True if it is a call of an operator that has equations."""
    return isinstance(e, Invoke) and not is_extern(e.program)


def _inlined(call: Invoke, names: set[str]) -> list[Equation | Invoke]:
    callee = with_fresh_variables(call.program)
    packs: dict[Var, tuple[Expr, ...]] = {}
    values: dict[Var, Expr] = {}
    waiting = list(zip(callee.inputs, call.args))
    while waiting:
        k = next((k for k, (parameter, _) in enumerate(waiting) if len(_unknown(parameter, packs)) <= 1), 0)
        _bind(*waiting.pop(k), values, packs)
    callee = expand_packs(callee, packs)
    renamed: dict[Tensor, Tensor] = {}
    for t in callee.temporaries:
        name = _unused(f"{call.targets[0].name}_{t.name}", names)
        names.add(name)
        renamed[t] = replace(resized(t, values), name=name)
    renamed |= dict(zip(callee.inputs, call.args)) | dict(zip(callee.outputs, call.targets))
    return list(folded(over_tensors(callee, renamed), values).equations)


def _unused(name: str, names: set[str]) -> str:
    while name in names:
        name += "_"
    return name


def _unknown(parameter: Tensor, packs: dict[Var, tuple[Expr, ...]]) -> list[Dim]:
    """The packs of which neither a length is stated nor another input has told the dimensions."""
    return [d for d in parameter.dims if d.pack and d.length is None and d.sizes[0] not in packs]


def _bind(
    parameter: Tensor, argument: Tensor, values: dict[Var, Expr], packs: dict[Var, tuple[Expr, ...]]
) -> None:
    """Match the callee's dimensions against the argument's; a pack takes what the other
    dimensions leave, or its stated length.
    """
    given = list(argument.dims)
    fixed = sum(1 if not d.pack else d.length or len(packs.get(d.sizes[0], ())) for d in parameter.dims)  # type: ignore[arg-type]
    for dim in parameter.dims:
        if not dim.pack:
            for size, actual in zip(dim.sizes, given.pop(0).sizes):
                if isinstance(size, Var):
                    values.setdefault(size, actual)
            continue
        var = dim.sizes[0]
        if dim.length is not None:
            count = dim.length
        elif var in packs:
            count = len(packs[var])  # type: ignore[index]
        else:
            count = len(argument.dims) - fixed
        if len(given) == 1 and given[0].pack and len(argument.dims) == len(parameter.dims):
            count = 1
        taken, given = given[:count], given[count:]
        if isinstance(var, Var) and var not in packs:
            packs[var] = tuple(s for d in taken for s in d.sizes)


def expand_packs(program: Program, packs: Mapping[Var, tuple[Expr, ...]]) -> Program:
    """Each pack becomes as many dimensions as it has sizes here; index variables over it become as
    many variables.

    Where a variable is a number, for random numbers, `loop.place_buffers` and what argmax finds, it
    becomes the row-major position.
    """
    indices: dict[Var, tuple[Var, ...]] = {}
    flat: dict[Var, Expr] = {}

    def axes(old: tuple[Axis, ...]) -> tuple[Axis, ...]:
        new: list[Axis] = []
        for axis in old:
            sizes = packs.get(axis.hi) if isinstance(axis.hi, Var) else None  # type: ignore[arg-type]
            if sizes is None:
                new.append(axis)
                continue
            # Equations may share index variables.
            indices.setdefault(axis.var, tuple(Var(f"{axis.var.name}{k}") for k in range(len(sizes))))
            flat[axis.var] = reduce(
                lambda x, n: add(mul(x, n[1]), n[0]), zip(indices[axis.var], sizes), index(0)
            )
            new += [Axis(v, axis.lo, size) for v, size in zip(indices[axis.var], sizes)]
        return tuple(new)

    def spread(old: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(e for i in old for e in (indices.get(i, (i,)) if isinstance(i, Var) else (i,)))

    def declare(node: Node) -> Node | None:
        if isinstance(node, Reduce) and node.op in ("argmax", "argmin"):
            before, found = len(axes(node.axes[: node.which])), axes(node.axes[node.which : node.which + 1])
            node = replace(node, axes=axes(node.axes))
            each = [replace(node, which=before + k) for k in range(len(found))]
            return (
                reduce(lambda x, n: add(mul(x, n[1].hi), n[0]), zip(each[1:], found[1:]), each[0])
                if each
                else index(0)
            )
        return replace(node, axes=axes(node.axes)) if isinstance(node, Equation | Reduce) else None

    def use(node: Node) -> Node | None:
        if isinstance(node, Read | Equation):
            return replace(node, indices=spread(node.indices))
        if isinstance(node, Call) and node.function in RANDOM:
            return replace(node, args=tuple(flat.get(x, x) if isinstance(x, Var) else x for x in node.args))
        return None

    tensors = (*program.inputs, *program.outputs, *program.temporaries)
    renewed = over_tensors(program, {t: replace(t, dims=_expanded(t.dims, packs)) for t in tensors})
    renewed = rewrite(rewrite(renewed, declare), use)
    return folded(renewed, {var: product(sizes) for var, sizes in packs.items()} | flat)  # type: ignore[return-value]


def _expanded(dims: tuple[Dim, ...], packs: Mapping[Var, tuple[Expr, ...]]) -> tuple[Dim, ...]:
    result: list[Dim] = []
    for dim in dims:
        sizes = packs.get(dim.sizes[0]) if dim.pack else None  # type: ignore[arg-type]
        result += [dim] if sizes is None else plain(*sizes)
    return tuple(result)
