"""Counts of a program's arithmetic, from its equations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from texpr.ir.build import sub
from texpr.ir.expr import (
    Add,
    Axis,
    Call,
    Div,
    Expr,
    Max,
    Min,
    Mul,
    Neg,
    Node,
    Pow,
    Read,
    Reduce,
    Sub,
    Var,
    index,
)
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import children, equal, rewrite, variables, walk

_ARITHMETIC = (Add, Sub, Mul, Div, Max, Min, Neg, Pow, Call)


def operations(program: Program, sizes: Mapping[Var, int]) -> int:
    """Float operations of one run, a fold into a reduction counted as one."""
    return sum(operations_of(e, sizes) for e in _equations(program))


def multiply_adds(program: Program, sizes: Mapping[Var, int]) -> int:
    """Terms of all sums of products: the MACs of a layer."""
    total = 0
    for equation in _equations(program):
        seen: list[Reduce] = []
        for node in walk(equation.value):
            if (
                isinstance(node, Reduce)
                and node.op == "sum"
                and node.dtype.is_float
                and isinstance(node.body, Mul)
                and _is_new(node, seen)
            ):
                total += _points(equation.axes, sizes) * _points(node.axes, sizes)
    return total


def _equations(program: Program) -> list[Equation]:
    """The equations of a program; calls in it are not followed."""
    return [e for e in program.equations if not isinstance(e, Invoke)]


def operations_of(equation: Equation, sizes: Mapping[Var, int]) -> int:
    """Float operations of one equation; reductions that are equal are computed once."""
    kinds = (Reduce, *_ARITHMETIC)
    nodes = _evaluated(equation, sizes)
    return sum(times for node, times in nodes if isinstance(node, kinds) and node.dtype.is_float)


def iterations(program: Program, sizes: Mapping[Var, int]) -> int:
    """Iterations of all equations and of their reductions."""
    return sum(
        times
        for e in _equations(program)
        for node, times in _evaluated(e, sizes)
        if node is e.value or isinstance(node, Reduce)
    )


def _evaluated(equation: Equation, sizes: Mapping[Var, int]) -> Iterator[tuple[Expr, int]]:
    """Each expression of an equation and how often it is evaluated, a reduction for each term; of equal
    reductions one.
    """
    seen: list[Reduce] = []
    stack: list[tuple[Expr, int]] = [(equation.value, _points(equation.axes, sizes))]
    while stack:
        node, times = stack.pop()
        if isinstance(node, Reduce):
            if not _is_new(node, seen):
                continue
            times *= _points(node.axes, sizes)
        yield node, times
        stack += [(child, times) for child in children(node) if isinstance(child, Expr)]


def _is_new(reduction: Reduce, seen: list[Reduce]) -> bool:
    """True if no equal reduction was seen; it is from now on."""
    if any(equal(reduction, other) for other in seen):
        return False
    seen.append(reduction)
    return True


def _points(axes: tuple[Axis, ...], sizes: Mapping[Var, int]) -> int:
    """Instances of the axes; a bound that depends on another index counts as if that were 0, one
    that data say as if they were as far out as their range lets them be.
    """
    return prod(max(0, _value(axis.hi, sizes, 1) - _value(axis.lo, sizes, 0)) for axis in axes)


def _value(bound: Expr, sizes: Mapping[Var, int], end: int) -> int:
    """A bound as a number; of data, the first (0) or the last (1) value of their range, 0
    without any.
    """

    def rule(node: Node) -> Node | None:
        return _limit(node, end) if isinstance(node, Read) else None

    known: Expr = rewrite(bound, rule)  # type: ignore[assignment]
    return evaluate_size(known, {v: sizes.get(v, 0) for v in variables(known)})


def _limit(read: Read, end: int) -> Expr:
    found = read.tensor.value_range
    return index(0) if found is None else sub(found[1], index(1)) if end else found[0]
