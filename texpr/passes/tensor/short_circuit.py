"""`and` and `or` look at their right side only where the left one does not decide: as `if`s
where that side may read outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from texpr.ir.affine import same_value
from texpr.ir.build import FALSE, TRUE, integer
from texpr.ir.dtypes import BOOL
from texpr.ir.expr import And, Axis, Expr, Node, Or, Read, Reduce, Select, Var
from texpr.ir.tensor import Equation, Invoke, Program, with_equations
from texpr.ir.traverse import rewrite, walk


def lazy_logic(program: Program) -> Program:
    """Logic whose right side needs the left one becomes conditional; the rest stays, which costs no
    branch.

    i > 0 and X[i - 1] > 0   ->   if i > 0 then X[i - 1] > 0 else false
    """
    equations = tuple(e if isinstance(e, Invoke) else _lazy(e) for e in program.equations)
    return with_equations(program, equations)


def _lazy(equation: Equation) -> Equation:
    if not any(isinstance(n, And | Or) for n in walk(equation)):
        return equation
    ranges = {a.var: a for a in (*equation.axes, *_binders(equation))}

    def rule(node: Node) -> Node | None:
        match node:
            case And(a, b) if not _always_inside(b, ranges):
                return Select(a, b, FALSE, dtype=BOOL, span=node.span)
            case Or(a, b) if not _always_inside(b, ranges):
                return Select(a, TRUE, b, dtype=BOOL, span=node.span)
        return None

    return rewrite(equation, rule)  # type: ignore[return-value]


def _binders(equation: Equation) -> Iterable[Axis]:
    return (a for n in walk(equation) if isinstance(n, Reduce) for a in n.axes)


def _always_inside(e: Expr, ranges: Mapping[Var, Axis]) -> bool:
    """Every read below is guarded, or indexed by variables that run over its dimensions."""
    return all(
        r.guard is not None or all(_runs_over(i, n, ranges) for i, n in zip(r.indices, r.tensor.shape))
        for r in walk(e)
        if isinstance(r, Read)
    )


def _runs_over(i: Expr, n: Expr, ranges: Mapping[Var, Axis]) -> bool:
    axis = ranges.get(i) if isinstance(i, Var) else None
    return axis is not None and (low := integer(axis.lo)) is not None and low >= 0 and same_value(axis.hi, n)
