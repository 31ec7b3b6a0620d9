"""Guards of reads that are never outside their tensors are dropped."""

from __future__ import annotations

from collections.abc import Mapping

from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.expr import Axis, Expr, Node, Read, Var
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import rewrite, walk
from texpr.support.frozen_dataclass import replace

Bounds = Mapping[Var, tuple[int, int]]
"""Smallest and largest value of index variables."""


def drop_guards(program: Program) -> Program:
    """`X[i + r | 0]` is `X[i + r]` where the ranges of the axes keep the index inside."""
    equations = tuple(_unguarded(e) if isinstance(e, Equation) else e for e in program.equations)
    return (
        program
        if all(a is b for a, b in zip(equations, program.equations))
        else replace(program, equations=equations)
    )


def _unguarded(equation: Equation) -> Equation:
    guarded = [n for n in walk(equation.value) if isinstance(n, Read) and n.guard is not None]
    if not guarded:
        return equation
    axes = [n for n in walk(equation) if isinstance(n, Axis)]
    bounds = {
        a.var: (lo, hi - 1)
        for a in axes
        if (lo := integer(a.lo)) is not None and (hi := integer(a.hi)) is not None and lo < hi
    }

    def rule(node: Node) -> Node | None:
        if isinstance(node, Read) and node.guard is not None and is_inside(node, bounds):
            return replace(node, guard=None)
        return None

    return rewrite(equation, rule)  # type: ignore[return-value]


def is_inside(read: Read, bounds: Bounds) -> bool:
    """True if the indices stay inside the tensor for all values of the variables."""
    return all(_between(i, integer(n), bounds) for i, n in zip(read.indices, read.tensor.shape))


def _between(index: Expr, extent: int | None, bounds: Bounds) -> bool:
    form = linear(index)
    if extent is None or not all(t in bounds for t, _ in form.terms):
        return False
    ends = [(c * bounds[t][0], c * bounds[t][1]) for t, c in form.terms]  # type: ignore[index]
    return form.constant + sum(map(min, ends)) >= 0 and form.constant + sum(map(max, ends)) < extent
