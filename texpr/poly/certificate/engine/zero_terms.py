"""Terms that add nothing: a sum that starts at +0 takes them past the end of its range.

Such a sum is never -0 in between: x + y is -0 only where both are, and x + 0 is x for everything
else. A product of two zeros is +0 if neither is -0; of a zero and anything else it may be NaN, or
-0, so both have to be zero.
"""

from __future__ import annotations

from texpr.ir.expr import Add, Call, Cast, Const, Expr, Mul, Select
from texpr.poly.certificate.engine.case_split import is_integer_condition, simplify_assuming, split_condition
from texpr.poly.certificate.engine.obligations import Context


def adds_nothing(term: Expr, instances: Context) -> bool:
    """True if a term of a sum that starts at +0 is surely +0 for all of these instances, of
    which there are some.
    """
    stack = [(term, instances)]
    while stack:
        e, context = stack.pop()
        match e:
            case Const(value) if str(value) in ("0", "0.0"):
                continue
            case Mul(a, b) | Add(a, b):
                stack += [(a, context), (b, context)]
                continue
            case Cast(operand) | Call("tf32", (operand,)):
                stack.append((operand, context))
                continue
            case Select(cond) if is_integer_condition(cond) and (condition := split_condition(e)) is not None:
                halves = zip(context.split_on(condition), (True, False))
                stack += [
                    (simplify_assuming(e, condition, holds), inside)
                    for inside, holds in halves
                    if inside is not None
                ]
                continue
        if context is instances or not context.is_empty:
            return False
    return True
