"""Calls become equations over tensors whose extents are numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from math import prod
from operator import is_

from texpr.ir.build import add, floordiv, integer, mod, mul
from texpr.ir.expr import Axis, Dim, Expr, Read, Tensor, Var, index, plain
from texpr.ir.extern import is_extern
from texpr.ir.shapes import Shape, bind_sizes, evaluate_size
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import equal
from texpr.passes.analysis.substitution import over_tensors
from texpr.passes.tensor.inline_calls import inline_calls
from texpr.support.frozen_dataclass import replace


def flatten(program: Program) -> Program:
    """Every call replaced by the equations of its operator; calls of extern operators stay."""
    inlined = inline_calls(with_views(program))
    grouped = {
        t: replace(t, dims=plain(*t.shape))
        for t in inlined.temporaries
        if any(len(d.sizes) > 1 for d in t.dims)
    }
    return over_tensors(inlined, grouped)


def with_views(program: Program) -> Program:
    """Insert a `view` where an operator sees other dimensions than its caller, because it takes
    some together.

    Programs that it calls and whose extents are numbers, such as captured modules, get theirs too.
    What is printed of this parses back.
    """
    names = {t.name for t in (*program.inputs, *program.outputs, *program.temporaries)}
    equations: list[Equation | Invoke] = []
    for e in program.equations:
        equations += _seen(_inside(e), names) if isinstance(e, Invoke) and not is_extern(e.program) else [e]
    return (
        program
        if all(map(is_, equations, program.equations))
        else replace(program, equations=tuple(equations))
    )


def _inside(call: Invoke) -> Invoke:
    """The call of the same program with views."""
    callee = call.program if call.program.sizes else with_views(call.program)
    return call if callee is call.program else replace(call, program=callee)


def _seen(call: Invoke, names: set[str]) -> Iterator[Equation | Invoke]:
    """The call on tensors of the dimensions that it has, between views of those it is given."""
    callee = call.program
    sizes, packs = bind_sizes(callee.inputs, [shape_of(t) for t in call.args])

    def seen(formal: Tensor, actual: Tensor) -> Tensor:
        if all(len(d.sizes) == 1 for d in formal.dims):
            return actual
        dims: list[Dim] = []
        for d in formal.dims:
            lengths = packs[d.sizes[0]] if d.pack else [evaluate_size(n, sizes) for n in d.sizes]  # type: ignore[index]
            dims += plain(*map(index, lengths)) if d.pack else [Dim(tuple(map(index, lengths)))]
        name = next(n for k in count(1) if (n := f"{actual.name}_view{k if k > 1 else ''}") not in names)
        names.add(name)
        return Tensor(name, actual.dtype, tuple(dims))

    inside = [seen(f, a) for f, a in zip(callee.inputs, call.args)]
    results = [seen(f, a) for f, a in zip(callee.outputs, call.targets)]
    yield from (view(i, a) for i, a in zip(inside, call.args) if i is not a)
    same = all(map(is_, (*inside, *results), (*call.args, *call.targets)))
    yield call if same else replace(call, targets=tuple(results), args=tuple(inside))
    yield from (view(a, r) for a, r in zip(call.targets, results) if r is not a)


def shape_of(tensor: Tensor) -> Shape:
    """The shape of a tensor whose extents are numbers."""
    return tuple(integer(n) for n in tensor.shape)  # type: ignore[misc]


def view(target: Tensor, source: Tensor) -> Equation:
    """`target` has the elements of `source` in the order of memory: dimensions are split and
    joined.
    """
    axes = tuple(Axis(Var(f"i{k}"), index(0), n) for k, n in enumerate(target.shape))
    indices: list[Expr] = []
    for own, others in _blocks(shape_of(target), shape_of(source)):
        flat: Expr = index(0)
        for k in own:
            flat = add(mul(flat, axes[k].hi), axes[k].var)
        extents = [shape_of(source)[d] for d in others]
        for j, extent in enumerate(extents):
            part = floordiv(flat, index(prod(extents[j + 1 :])))
            indices.append(part if j == 0 else mod(part, index(extent)))
    return Equation(target, tuple(a.var for a in axes), axes, Read(source, tuple(indices)))


def _blocks(target: Shape, source: Shape) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Ranges of dimensions of both that hold as many elements, as short as can be."""
    i = j = 0
    while i < len(target) or j < len(source):
        first, other = i, j
        n = m = 1
        if i < len(target):
            n, i = target[i], i + 1
        if j < len(source):
            m, j = source[j], j + 1
        while n != m and (i < len(target) or j < len(source)):
            if (n < m and i < len(target)) or j == len(source):
                n, i = n * target[i], i + 1
            else:
                m, j = m * source[j], j + 1
        yield range(first, i), range(other, j)


def viewed(equation: Equation | Invoke) -> Tensor | None:
    """The tensor that an equation is a view of, if it is one."""
    if (
        not isinstance(equation, Equation)
        or equation.update is not None
        or not isinstance(equation.value, Read)
    ):
        return None
    source, target = equation.value.tensor, equation.target
    if (
        source is target
        or source.dtype != target.dtype
        or equation.value.guard is not None
        or equation.where is not None
    ):
        return None
    if prod(shape_of(source)) != prod(shape_of(target)) or 0 in shape_of(target):
        return None
    return source if equal(view(target, source), replace(equation, span=None)) else None
