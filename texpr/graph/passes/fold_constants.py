"""Constant folding: values known when the program is captured are computed then."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from texpr.autodiff.cleanup.simplify import definitions
from texpr.graph.passes.law_matcher import computed
from texpr.ir.build import integer, literal
from texpr.ir.dtypes import BOOL
from texpr.ir.expr import (
    Add,
    Axis,
    Cast,
    Const,
    Div,
    Expr,
    Max,
    Min,
    Mul,
    Neg,
    Node,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
)
from texpr.ir.interpreter.arithmetic import cast, literal_array, load, quiet
from texpr.ir.tensor import Equation, Program, with_equations
from texpr.ir.traverse import rewrite

_OPERATORS = (Add, Sub, Mul, Div, Max, Min)
"""Operators whose result every processor rounds the same way."""


def known_scalars(constants: Mapping[Tensor, np.ndarray]) -> dict[Tensor, Const]:
    """Constants of rank 0 as literals."""
    with quiet():
        return {t: Const(load(a, t.dtype).item(), dtype=t.dtype) for t, a in constants.items() if a.ndim == 0}


def fold_constants(program: Program, scalars: Mapping[Tensor, Const]) -> Program:
    """Arithmetic on literals is done, and sums of no terms; tensors that have one value everywhere
    are that value where they are read.

    Args:
        scalars: inputs that are the same in every run.
    """
    known: dict[Tensor, Expr] = dict(scalars)
    equations = list(program.equations)
    whole = definitions(equations)

    def rule(node: Node) -> Node | None:
        match node:
            case Read(tensor=t, guard=None) if t in known:
                return known[t]
            case Cast(Const(value=value, dtype=source)) if not (source.is_float and node.dtype.is_int):
                with quiet():
                    return Const(
                        np.asarray(cast(literal_array(value, source), source, node.dtype)).item(),
                        dtype=node.dtype,
                    )
            case Neg(Const(value=value)) if node.dtype.is_float:
                return literal(-value, node.dtype)
            case Select(Const(value=value), then, orelse):
                return then if value else orelse
            case Reduce("sum", axes) if any(map(_is_empty, axes)):
                return literal(0, node.dtype)
        if (
            isinstance(node, _OPERATORS)
            and isinstance(node.lhs, Const)
            and isinstance(node.rhs, Const)
            and node.dtype != BOOL
        ):
            return computed(type(node), node.lhs, node.rhs)
        return None

    for k, e in enumerate(equations):
        if not isinstance(e, Equation):
            continue
        folded: Equation = rewrite(e, rule)  # type: ignore[assignment]
        equations[k] = folded
        if (
            isinstance(folded.value, Const)
            and whole.get(e.target) is e
            and e.target not in program.outputs
            and folded.value.dtype == e.target.dtype
        ):
            known[e.target] = folded.value
    return with_equations(program, equations)


def _is_empty(axis: Axis) -> bool:
    lo, hi = integer(axis.lo), integer(axis.hi)
    return lo is not None and hi is not None and hi <= lo
