"""Tensors that lie one after the other in the memory of another one, which joins them.

    Y[n, i] = A[n, i] for i in 0..K;  Y[n, K + i] = B[n, i]

Where `n` has one value, `A` and `B` are the two parts of `Y` in memory: what computes them may write
there, and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from texpr.autodiff.cleanup.simplify import reads
from texpr.graph.passes.flatten_calls import shape_of, viewed
from texpr.ir.build import integer
from texpr.ir.expr import Read, Tensor, plain
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.passes.analysis.row_major import flat_index
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class Part:
    """A tensor in the memory of another one.

    Attributes:
        start: its first element, in elements of the other.
    """

    tensor: Tensor
    start: int


def joined_runs(equations: Sequence[Equation | Invoke], alignment: int = 1) -> list[Equation]:
    """The equations of a tensor in the order of memory, if each defines elements that are neighbours
    there, and there are several; else none.

    Args:
        alignment: bytes, at multiples of which tensors have to begin.
    """
    found = [
        (start, e) for e in equations if isinstance(e, Equation) and (start := _run_start(e)) is not None
    ]
    if len(found) < 2 or len(found) != len(equations):
        return []
    found.sort(key=lambda each: each[0])
    end = 0
    for start, e in found:
        if start != end or start * e.target.dtype.bytes % alignment:
            return []
        end += _instances(e)
    whole = end == prod(shape_of(found[0][1].target))
    return [e for _, e in found] if whole else []


def whole_source(equation: Equation) -> Tensor | None:
    """The tensor that an equation copies, in the order of its memory; else None."""
    value = equation.value
    if not isinstance(value, Read) or value.guard is not None or value.tensor is equation.target:
        return None
    same = replace(equation, target=value.tensor, indices=value.indices)
    whole = _run_start(same) == 0 and _instances(equation) == prod(shape_of(value.tensor))
    return value.tensor if whole and value.tensor.dtype == equation.target.dtype else None


def part_of(equation: Equation, name: str) -> tuple[Equation, Equation]:
    """A run of elements as a tensor of its own, and the copy of it to where it was."""
    target = replace(equation.target, name=name, dims=plain(*(a.hi for a in equation.axes)))
    indices = tuple(a.var for a in equation.axes)
    return replace(equation, target=target, indices=indices), replace(equation, value=Read(target, indices))


def placements(program: Program, alignment: int = 1) -> dict[Tensor, tuple[Part, ...]]:
    """Tensors that join others, which may be computed in their memory.

    Args:
        alignment: bytes, at multiples of which tensors have to begin.
    """
    makers: dict[Tensor, list[Equation | Invoke]] = {}
    for e in program.equations:
        for t in e.targets:
            makers.setdefault(t, []).append(e)
    sources = {t: s for t, (e, *more) in makers.items() if not more and (s := viewed(e)) is not None}

    def root(tensor: Tensor) -> Tensor:
        while tensor in sources:
            tensor = sources[tensor]
        return tensor

    # What is given, and results, which have memory of their own.
    taken = {*program.inputs, *map(root, program.outputs), *program.outputs}
    found: dict[Tensor, tuple[Part, ...]] = {}
    for tensor, equations in makers.items():
        parts = _copied(equations, alignment) if tensor not in taken else []
        roots = {root(p.tensor) for p in parts}
        if parts and len(roots) == len(parts) and roots.isdisjoint(taken) and tensor not in roots:
            found[tensor] = tuple(parts)
            taken |= roots
    return found


def _copied(equations: Sequence[Equation | Invoke], alignment: int) -> list[Part]:
    """The tensors that equations copy one after the other, if they do that alone."""
    parts: list[Part] = []
    start = 0
    for e in joined_runs(equations, alignment):
        source = whole_source(e)
        if source is None or len(reads(e)) != 1:
            return []
        parts.append(Part(source, start))
        start += _instances(e)
    return parts


def _run_start(equation: Equation) -> int | None:
    """The first element of those that an equation defines, if they are neighbours in memory in the
    order of its axes; else None.
    """
    if equation.update is not None or equation.where is not None or equation.guard is not None:
        return None
    counts = {a.var: integer(a.hi) or 0 for a in equation.axes if integer(a.lo) == 0}
    place = flat_index(equation.target, equation.indices)
    if (
        len(counts) != len(equation.axes)
        or 0 in counts.values()
        or any(t not in counts for t, _ in place.terms)
    ):
        return None
    step = 1
    for var, count in reversed(counts.items()):
        if count != 1 and place.coefficient(var) != step:
            return None
        step *= count
    return place.constant


def _instances(equation: Equation) -> int:
    return prod(integer(a.hi) or 0 for a in equation.axes)
