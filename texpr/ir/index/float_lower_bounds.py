"""Lower bounds of floats, read off equations: rules that rounding keeps, since it is monotone. A
bound says nothing of NaN.

sum(k: exp(f(k) - max(k: f(k)))) is at least 1: one of its terms is exp(0), no other one is
negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isnan, sqrt

from texpr.ir.dtypes import DType, numpy_dtype
from texpr.ir.expr import Add, Call, Cast, Const, Div, Expr, Max, Min, Mul, Read, Reduce, Select, Sub, Var
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import equal, postorder, substitute

NEVER_NEGATIVE = ("exp", "exp2", "abs", "sigmoid", "erfc", "cosh")
Bounds = Mapping[str, float]
"""Of elements of tensors, by name; of those that are missing nothing is known."""


def least_of_tensors(program: Program) -> Bounds:
    """Lower bounds of the elements of computed tensors."""
    definitions = single_definitions(program)
    found: dict[str, float] = {}
    for e in program.equations:
        if isinstance(e, Equation) and e.target.name in definitions:
            found[e.target.name] = least(e.value, found, definitions)
    return found


def single_definitions(program: Program) -> dict[str, Equation]:
    """Equations that alone define their tensors."""
    found: dict[str, Equation | None] = {}
    for e in program.equations:
        for t in e.targets:
            alone = isinstance(e, Equation) and e.update is None and t.name not in found
            found[t.name] = e if alone and isinstance(e, Equation) else None
    return {name: e for name, e in found.items() if e is not None}


def least(value: Expr, tensors: Bounds, definitions: Mapping[str, Equation]) -> float:
    """Lower bound of a value that is no NaN; -inf if nothing is known."""
    known: dict[int, float] = {}
    for n in postorder(value):
        if isinstance(n, Expr):
            known[id(n)] = _rounded(_least(n, known, tensors, definitions), n.dtype)
    return known[id(value)]


def _least(
    e: Expr, known: Mapping[int, float], tensors: Bounds, definitions: Mapping[str, Equation]
) -> float:
    def of(part: Expr) -> float:
        return known[id(part)]

    match e:
        case Const(value) if not isinstance(value, bool) and not isnan(value):
            return float(value)
        case Read(tensor, _, guard):
            outside = of(guard.value) if guard is not None and guard.value is not None else inf
            return min(tensors.get(tensor.name, -inf), outside)
        case Add(a, b):
            return of(a) + of(b)
        case Mul(a, b):
            return 0.0 if equal(a, b) else _of_product(of(a), of(b))
        case Div(a, b):
            return 0.0 if of(a) >= 0 and of(b) > 0 else -inf  # 1 / -0 is -inf
        case Max(a, b):
            return max(of(a), of(b))
        case Min(a, b) | Select(_, a, b):
            return min(of(a), of(b))
        case Call("sqrt", (a,)):
            return sqrt(max(of(a), 0.0))
        case Call(function) if function in NEVER_NEGATIVE:
            return 0.0
        case Cast(a) if e.dtype.is_float and (a.dtype.is_float or isinstance(a, Const)):
            return of(a)
        case Reduce("max" | "min", body=body):
            return of(body)
        case Reduce("sum", body=body, where=where) if of(body) >= 0:
            return 1.0 if where is None and _has_greatest(e, definitions) else 0.0
    return -inf


def _of_product(a: float, b: float) -> float:
    return a * b if a >= 0 and b >= 0 and max(a, b) < inf else -inf


def _rounded(bound: float, dtype: DType | None) -> float:
    """The bound as a number of a type: no result that rounds is below it."""
    if dtype is None or not dtype.is_float or dtype.bits < 32:
        return -inf if dtype is None or dtype.is_float else bound
    return float(numpy_dtype(dtype).type(min(bound, 3e38)))


def _has_greatest(total: Reduce, definitions: Mapping[str, Equation]) -> bool:
    """True if a sum has exponentials of all values relative to the greatest of them as its terms."""
    exponential = _written_out(total.body, definitions)
    match exponential:
        case Call("exp" | "exp2", (Sub(value, Read() as greatest),)):
            among = _written_out(greatest, definitions)
            return isinstance(among, Reduce) and equal(
                among, Reduce("max", total.axes, value, dtype=among.dtype)
            )
    return False


def _written_out(e: Expr, definitions: Mapping[str, Equation]) -> Expr:
    """The definition of the element that is read, with the read's indices; any other expression as
    it is.
    """
    if not isinstance(e, Read) or e.guard is not None or e.tensor.name not in definitions:
        return e
    found = definitions[e.tensor.name]
    places: dict[Var, Expr] = {v: i for v, i in zip(found.indices, e.indices) if isinstance(v, Var)}
    return substitute(found.value, places) if len(places) == len(found.indices) else e


def reciprocal_is_normal(divisor: Expr, tensors: Bounds, definitions: Mapping[str, Equation]) -> bool:
    """True if a divisor is NaN or at least the least normal number: its reciprocal is finite then,
    and wrong by a rounding.
    """
    normal = {32: 2.0**-126, 64: 2.0**-1022}.get(divisor.dtype.bits if divisor.dtype.is_float else 0, inf)
    return least(divisor, tensors, definitions) >= normal
