"""Operands of products that are scaled along the sum: the other operand takes the scale.

    T[c, p] = X[c, p] * s[c];  Y[k, p] = sum(c: W[k, c] * T[c, p])   ->   sum(c: W[k, c] * (X[c, p] * s[c]))

The default schedule of such a sum multiplies the two factors first that have the fewest elements
(`autoschedule/rewrites/contraction_order.py`), so `T` is neither written nor read. Networks scale
channels so (squeeze and excitation: Hu et al., CVPR 2018).
"""

from __future__ import annotations

from texpr.graph.fusion.axis_points import points
from texpr.ir.dtypes import F32, F64
from texpr.ir.expr import Axis, Expr, Read, Reduce, Var
from texpr.ir.tensor import Equation
from texpr.ir.traverse import factors, free_variables, substitute

GAIN = 2
"""The least quotient of the products of a scale with its own operand and with the other one."""


def scales_operand(producer: Equation, reader: Equation, read: Read, total: Reduce) -> bool:
    """True if a tensor, which a sum of products reads, is one factor with all of its indices and
    scales, whose products with the sum's other factors are fewer.
    """
    if total.where is not None or total.op != "sum" or read.guard is not None:
        return False
    if producer.target.dtype not in (F32, F64):  # short floats round each product
        return False
    others = [f for f in factors(total.body) if f is not read]
    axes = {a.var: a for a in (*reader.axes, *total.axes)}
    if len(others) != len(factors(total.body)) - 1 or any(not isinstance(i, Var) for i in producer.indices):
        return False
    places = dict(zip((a.var for a in producer.axes), _by_axis(producer, read), strict=True))
    given = [substitute(f, places) for f in factors(producer.value)]
    whole = _several(read, axes)
    scales = [f for f in given if not whole <= _several(f, axes)]
    taken = set[Var]().union(*(_several(f, axes) for f in (*others, *scales)))
    fewer = GAIN * points(axes[v] for v in taken) <= points(axes[v] for v in whole)
    return fewer and 0 < len(scales) == len(given) - 1 and all(_several(f, axes) for f in scales)


def _by_axis(producer: Equation, read: Read) -> list[Expr]:
    """The index that a read has for each axis of the equation that it reads."""
    by_variable = dict(zip(producer.indices, read.indices, strict=True))
    return [by_variable[a.var] for a in producer.axes]


def _several(node: Expr, axes: dict[Var, Axis]) -> set[Var]:
    """The axes of more than one iteration that an expression depends on."""
    return {v for v in free_variables(node) if v in axes and points([axes[v]]) > 1}
