"""Weight of an instance of an equation in the element it is folded into.

The value of `T[e(x)] op= v(x)` changes with v(x) by a weight: 1 for `+=`. For `max=` and `min=` it
is 1 / n where v(x) is what n instances found, else 0: PyTorch's scatter_reduce shares in the same
way. For `*=` it is the product of all other factors: from the product of those that are not 0, and
from the number and the sum of the others (the sum is 0, and has the derivatives that are needed).
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.autodiff.core.algebra import convert, minus, over, times, zero
from texpr.autodiff.core.contribution import inside, read_guard
from texpr.autodiff.core.names import freshen
from texpr.autodiff.core.primal import Forward
from texpr.ir import build
from texpr.ir.dtypes import I64, DType, accumulator
from texpr.ir.expr import Cast, Compare, Div, Expr, Read, Select, Sub, Tensor, index
from texpr.ir.tensor import Equation
from texpr.support.frozen_dataclass import replace


class Folds:
    """The weights of a program's folds; what they read becomes equations of `forward`."""

    def __init__(self, forward: Forward) -> None:
        self.forward = forward
        self._definitions: dict[Tensor, list[Equation]] = {}
        self._helpers: dict[tuple[Tensor, str], Tensor] = {}
        for equation in forward.equations:
            if isinstance(equation, Equation):
                self._definitions.setdefault(equation.target, []).append(equation)

    def weighted(self, equation: Equation, adjoint: Expr) -> Expr:
        """The adjoint of the element that an instance is folded into, times its weight; a
        tangent of the value in the same way.
        """
        updates = {e.update for e in self._definitions[equation.target]} - {None}
        if updates <= {"add"}:
            return adjoint
        found = self._product(equation, adjoint) if updates == {"mul"} else self._extreme(equation, adjoint)
        if equation.guard is None or equation.guard.mode != "drop":
            return found
        return Select(
            inside(Read(equation.target, equation.indices)), found, zero(found.dtype)
        )  # Of what is dropped nothing is told.

    def _extreme(self, equation: Equation, adjoint: Expr) -> Expr:
        hit = _hits(equation)
        definitions = self._definitions[equation.target]
        ones = [Select(_hits(e), index(1), index(0)) for e in definitions]
        count = self._helper(equation, "ties", I64, "add", ones)
        return Select(hit, over(adjoint, Cast(count, dtype=adjoint.dtype)), zero(adjoint.dtype))

    def _product(self, equation: Equation, adjoint: Expr) -> Expr:
        wide = accumulator(equation.target.dtype)
        values = [convert(e.value, wide) for e in self._definitions[equation.target]]
        nothing = zero(wide)
        zeros = [Compare("==", v, nothing) for v in values]
        others = self._helper(
            equation,
            "factors",
            wide,
            "mul",
            [Select(z, build.literal(1, wide), v) for z, v in zip(zeros, values)],
        )
        number = self._helper(equation, "zeros", I64, "add", [Select(z, index(1), index(0)) for z in zeros])
        total = self._helper(
            equation, "zero_sum", wide, "add", [Select(z, v, nothing) for z, v in zip(zeros, values)]
        )
        value = convert(equation.value, wide)
        own = Compare("==", value, nothing)
        product = times(convert(adjoint, wide), Select(own, others, Div(others, value)))
        left = Select(own, Sub(number, index(1)), number)
        one = times(product, Select(own, minus(total, value), total))
        result = Select(
            Compare("==", left, index(0)), product, Select(Compare("==", left, index(1)), one, nothing)
        )
        return convert(result, adjoint.dtype)

    def _helper(
        self, equation: Equation, label: str, dtype: DType, update: str, values: Sequence[Expr]
    ) -> Read:
        """Reads, where the equation folds, a tensor that the same instances are folded into with
        other values.
        """
        target = equation.target
        if (target, label) not in self._helpers:
            helper = Tensor(
                self.forward.names.fresh(f"{target.name}_{label}"), dtype, target.dims, span=target.span
            )
            self._helpers[target, label] = helper
            for definition, value in zip(self._definitions[target], values, strict=True):
                folded = replace(
                    definition, target=helper, value=value, update=update if definition.update else None
                )
                self.forward.equations.append(freshen(folded, self.forward.names.reserved))
        helper = self._helpers[target, label]
        return Read(helper, equation.indices, read_guard(equation.guard, helper))


def _hits(equation: Equation) -> Expr:
    """The condition that the value of an instance is the value that its element became."""
    found = Read(equation.target, equation.indices, read_guard(equation.guard, equation.target))
    return Compare("==", convert(equation.value, equation.target.dtype), found)
