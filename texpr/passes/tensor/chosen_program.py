"""One of two programs, chosen by a condition that is data: `tx.cond`.

Both become equations of one program. Where a program is not chosen, its equations have the value 0
without reading what they were made of (`if` is lazy), and so have their derivatives: what is not
chosen has no part in a gradient, whatever its values would be. Sums of products stay as they are,
so that schedules know them; they are sums of zeros then.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.build import literal
from texpr.ir.dtypes import BOOL
from texpr.ir.expr import (
    Add,
    Axis,
    Cast,
    Const,
    Expr,
    Guard,
    Mul,
    Neg,
    Not,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
    index,
)
from texpr.ir.printing.types import claimed
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import walk
from texpr.passes.analysis.substitution import over_tensors, with_fresh_variables
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import replace

_PRODUCTS = Add, Sub, Mul, Neg, Cast, Read, Const, Reduce, Axis, Var, Guard


def chosen(name: str, then: Program, orelse: Program, operands: int) -> Program:
    """The program `pred, operands, what `then` shares, what `orelse` shares -> results`.

    Args:
        then, orelse: equations alone, of as many inputs of the same shapes first (`operands`), with
            outputs of the same shapes and dtypes.
    Raises:
        CheckError: an operator of the runtime stands in one of them.
    """
    taken: set[str] = {name}
    pred = Tensor(claimed("pred", taken), BOOL, ())
    given = tuple(replace(t, name=claimed(t.name, taken), value_range=None) for t in then.inputs[:operands])
    first = _Side(then, Read(pred, ()), given, taken)
    second = _Side(orelse, Not(Read(pred, ()), dtype=BOOL), given, taken)
    outputs = tuple(replace(t, name=claimed("result", taken), value_range=None) for t in then.outputs)
    last = [
        _elementwise(o, Select(Read(pred, ()), Read(a, i), Read(b, i), dtype=o.dtype), i)
        for o, a, b in zip(outputs, first.outputs, second.outputs)
        for i in [tuple(Var(f"i{k}") for k in range(o.rank))]
    ]
    return Program(
        name,
        (pred, *given, *first.shared, *second.shared),
        outputs,
        (*first.equations, *second.equations, *last),
    )


class _Side:
    """One of the two programs, under a condition.

    Attributes:
        shared: its inputs behind the operands.
    """

    def __init__(self, program: Program, holds: Expr, given: Sequence[Tensor], taken: set[str]) -> None:
        self.equations: list[Equation] = []
        others: dict[Tensor, Tensor] = {}
        for tensor in program.inputs:
            if tensor.value_range is not None:
                raise CheckError(
                    f"cond: `{tensor.name}` is used as an index, and is 0 where a side is not chosen",
                    code="cond",
                    help="index before cond, and pass what was found",
                )
        self.shared = [replace(t, name=claimed(t.name, taken)) for t in program.inputs[len(given) :]]
        for tensor, outer in zip(program.inputs, (*given, *self.shared)):
            inner = replace(outer, name=claimed(f"{outer.name}_taken", taken))
            indices = tuple(Var(f"i{k}") for k in range(outer.rank))
            value = Select(holds, Read(outer, indices), literal(0, outer.dtype), dtype=outer.dtype)
            self.equations.append(_elementwise(inner, value, indices))
            others[tensor] = inner
        for tensor in (*program.temporaries, *program.outputs):
            others.setdefault(tensor, replace(tensor, name=claimed(tensor.name, taken)))
        for equation in program.equations:
            if isinstance(equation, Invoke):
                raise CheckError(
                    f"cond: `{equation.program.name}` is an operator of the runtime, which would run on either side",
                    code="cond",
                    help="call it before cond, and pass what it gives",
                )
            self.equations.append(_under(over_tensors(with_fresh_variables(equation), others), holds))
        self.outputs = [others[t] for t in program.outputs]


def _under(equation: Equation, holds: Expr) -> Equation:
    """An equation whose value is not computed where a condition does not hold."""
    if isinstance(equation.value, Reduce) and all(
        isinstance(n, _PRODUCTS) and getattr(n, "op", "sum") == "sum" for n in walk(equation.value)
    ):
        return equation
    neutral = 1 if equation.update == "mul" else 0
    bounds = equation.target.value_range
    otherwise = bounds[0] if bounds is not None else literal(neutral, equation.value.dtype)
    return replace(equation, value=Select(holds, equation.value, otherwise, dtype=equation.value.dtype))


def _elementwise(target: Tensor, value: Expr, indices: tuple[Var, ...]) -> Equation:
    axes = tuple(Axis(v, index(0), size) for v, size in zip(indices, target.shape))
    return Equation(target, indices, axes, value)
