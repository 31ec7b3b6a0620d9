"""Guards of reads that are never outside their tensors are dropped."""

from __future__ import annotations

from texpr.graph.passes.index_bounds import Bounds, bounds_of, extremes
from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.expr import Axis, Expr, Node, Read
from texpr.ir.tensor import Equation, Program, with_equations
from texpr.ir.traverse import rewrite, walk
from texpr.support.frozen_dataclass import replace


def drop_guards(program: Program) -> Program:
    """`X[i + r | 0]` is `X[i + r]` where the ranges of the axes keep the index inside."""
    equations = tuple(_unguarded(e) if isinstance(e, Equation) else e for e in program.equations)
    return with_equations(program, equations)


def _unguarded(equation: Equation) -> Equation:
    guarded = [n for n in walk(equation.value) if isinstance(n, Read) and n.guard is not None]
    if not guarded:
        return equation
    bounds = bounds_of(n for n in walk(equation) if isinstance(n, Axis))

    def rule(node: Node) -> Node | None:
        if isinstance(node, Read) and node.guard is not None and is_inside(node, bounds):
            return replace(node, guard=None)
        return None

    return rewrite(equation, rule)  # type: ignore[return-value]


def is_inside(read: Read, bounds: Bounds) -> bool:
    """True if the indices stay inside the tensor for all values of the variables."""
    return all(_between(i, integer(n), bounds) for i, n in zip(read.indices, read.tensor.shape))


def _between(index: Expr, extent: int | None, bounds: Bounds) -> bool:
    ends = extremes(linear(index), bounds)
    return extent is not None and ends is not None and ends[0] >= 0 and ends[1] < extent
