"""Typed arithmetic. A literal or a size is weak: computed in i64 or f64 and rounded once, to the
type its neighbour has.

`Arithmetic` is the arithmetic of the language: integers fold, floats below 32 bits are computed in
f32, narrow integers meet an index at i64. Mixing is refused with the conversion to write.
"""

from __future__ import annotations

import math
import operator
from typing import NamedTuple

from texpr.ir import build
from texpr.ir.dtypes import BOOL, F32, F64, I64, U64, DType, int_range, most, round_float
from texpr.ir.expr import (
    Add,
    Call,
    Cast,
    Compare,
    Const,
    Div,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Pow,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
)
from texpr.ir.interpreter.random import RANDOM
from texpr.ir.traverse import walk
from texpr.lang.syntax import tree
from texpr.lang.syntax.advice import chosen, compared, converted, words
from texpr.support.errors import CheckError
from texpr.support.fixes import Fix
from texpr.support.frozen_dataclass import replace
from texpr.support.source import Span

_COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class Value(NamedTuple):
    """An expression on its way into the IR.

    `weak` is "" for a value of a definite type; "literal" for numbers and sizes (dtype i64 or f64
    until materialized); "parameter" for a rank-0 integer input, which is an affine parameter at i64
    and has its own type elsewhere.
    """

    expr: Expr
    weak: str = ""

    @property
    def dtype(self) -> DType:
        return self.expr.dtype


_FLOATS = {
    "+": Add,
    "-": Sub,
    "*": Mul,
    "/": Div,
    "//": FloorDiv,
    "%": Mod,
    "**": Pow,
    "max": Max,
    "min": Min,
}
_INTEGERS = {
    "+": build.add,
    "-": build.sub,
    "*": build.mul,
    "//": build.floordiv,
    "%": build.mod,
    "max": build.maximum,
    "min": build.minimum,
}
_NUMBERS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "max": max,
    "min": min,
}


def literal(value: int | float | bool, span: Span | None = None) -> Value:
    """A number as written; `true` and `false` are not weak."""
    if isinstance(value, bool):
        return Value(Const(value, dtype=BOOL, span=span))
    return Value(Const(value, dtype=F64 if isinstance(value, float) else I64, span=span), "literal")


def describe(value: Value) -> str:
    """The type of a value in words."""
    if value.weak == "literal":
        return "a float literal" if value.dtype.is_float else "an integer"
    return str(own_dtype(value))


def own_dtype(value: Value) -> DType:
    """The type of a value where nothing around it asks for another: the declared one of a
    parameter, or of a choice of parameters.
    """
    if value.weak != "parameter":
        return value.dtype
    found = {
        e.operand.dtype if isinstance(e, Cast) else e.dtype
        for e in _choices(value.expr)
        if not isinstance(e, Const)
    }
    return found.pop() if len(found) == 1 else value.dtype


def _choices(e: Expr) -> list[Expr]:
    """The values one of which `e` is."""
    found: list[Expr] = []
    stack = [e]
    while stack:
        match stack.pop():
            case Select(_, then, orelse):
                stack += [orelse, then]
            case choice:
                found.append(choice)
    return found


def at(e: Expr, span: Span) -> Expr:
    """`e` with a place. Variables have none of their own: they are shared."""
    return replace(e, span=span) if e.span is None and e.parts else e


def as_i64(e: Expr, span: Span | None) -> Expr:
    """An integer as an index."""
    if isinstance(e, Const):
        return Const(e.value, dtype=I64, span=e.span)
    return e if e.dtype == I64 else Cast(e, dtype=I64, span=span)


def materialize(value: Value, dtype: DType, span: Span) -> Expr:
    """A weak value at the type its neighbour asks for."""
    done: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(value.expr, False)]
    while stack:
        e, ready = stack.pop()
        if not isinstance(e, Select):
            done.append(_leaf(Value(e, value.weak), dtype, span))
        elif ready:
            orelse, then = done.pop(), done.pop()
            done.append(Select(e.cond, then, orelse, dtype=dtype, span=e.span))
        else:
            stack += [(e, True), (e.orelse, False), (e.then, False)]
    return done[0]


def _leaf(value: Value, dtype: DType, span: Span) -> Expr:
    e = value.expr
    if (
        dtype == BOOL
        or (e.dtype.is_float and not dtype.is_float)
        or (value.weak == "parameter" and dtype.is_float)
    ):
        raise CheckError(
            f"found {describe(value)} where {dtype} is needed",
            span,
            code="dtype",
            help=f"convert it: {dtype}(...)",
        )
    if isinstance(e, Const):
        return literal_at(e, dtype, span)
    if isinstance(e, Cast) and e.operand.dtype == dtype and value.weak == "parameter":
        return e.operand
    return e if e.dtype == dtype else Cast(e, dtype=dtype, span=span)


def literal_at(e: Const, dtype: DType, span: Span) -> Const:
    """A number as written, at a type it must fit."""
    if dtype.is_int:
        lo, hi = int_range(dtype)
        if not lo <= e.value <= hi:
            raise CheckError(f"{e.value} does not fit {dtype} ({lo}..{hi})", e.span or span, code="dtype")
        return Const(e.value, dtype=dtype, span=e.span or span)
    value = float(e.value)
    rounded = round_float(e.value, dtype)
    endless = math.isinf(most(dtype))
    if math.isinf(value) and not endless:
        raise CheckError(
            f"{dtype} has no infinity",
            e.span or span,
            code="dtype",
            help=f"its largest number is {most(dtype):g}",
        )
    if math.isfinite(value) and not math.isfinite(rounded):
        way_out = "write inf if you mean it" if endless else f"its largest number is {most(dtype):g}"
        raise CheckError(f"{e.value} does not fit {dtype}", e.span or span, code="dtype", help=way_out)
    return Const(rounded, dtype=dtype, span=e.span or span)


class Arithmetic:
    """The meaning of operators and conversions in the language.

    Attributes:
        of_numbers: reductions of weak values, and intermediates whose type came from numbers alone.
            Their type is rarely meant.
    """

    def __init__(self) -> None:
        self.of_numbers: set[Expr | Tensor] = set()

    def variable(self, var: Var) -> Value:
        """An index: i64."""
        return Value(var)

    def size(self, var: Var) -> Value:
        """A size: weak."""
        return Value(var, "literal")

    def fits_pack(self, pack: bool, node: tree.Tree) -> bool:
        """A pack is indexed whole, and nothing else is."""
        return pack == isinstance(node, tree.PackName)

    def accumulate(self, e: Expr, dtype: DType) -> Expr:
        """The body of a reduction at the accumulator's type, where that is usual for it."""
        usual = e.dtype.is_float == dtype.is_float and e.dtype.bits < dtype.bits and e.dtype != BOOL
        return Cast(e, dtype=dtype, span=e.span) if usual else e

    def compute(self, e: Expr) -> Expr:
        """`e` at the type that arithmetic on it is done in."""
        return Cast(e, dtype=F32, span=e.span) if e.dtype.is_float and e.dtype.bits < 32 else e

    def unify(self, a: Value, b: Value, what: str, span: Span) -> tuple[Expr, Expr, str]:
        """Two operands at one type, and how weak it is."""
        if a.weak and b.weak:
            dtype = F64 if a.dtype.is_float or b.dtype.is_float else I64
            weak = "parameter" if "parameter" in (a.weak, b.weak) else "literal"
            return materialize(a, dtype, span), materialize(b, dtype, span), weak
        if a.weak or b.weak:
            strong, weak = (b, a) if a.weak else (a, b)
            if weak.dtype.is_float and strong.dtype.is_int:
                raise CheckError(
                    f"{what} needs two values of one type; found {describe(a)} and {describe(b)}",
                    span,
                    code="dtype",
                    fixes=[converted("convert the integer: ", F32, strong.expr)],
                )
        if a.weak:
            return materialize(a, b.dtype, span), b.expr, ""
        if b.weak:
            return a.expr, materialize(b, a.dtype, span), ""
        x, y = a.expr, b.expr
        if x.dtype != y.dtype:
            x, y = self.meet(x, y)
        if x.dtype != y.dtype:
            raise CheckError(
                f"{what} needs two values of one type; found {a.dtype} and {b.dtype}",
                span,
                code="dtype",
                fixes=[self.conversion(a.expr, b.expr), Fix("bring both to one type")],
            )
        return x, y, ""

    def conversion(self, a: Expr, b: Expr) -> Fix:
        """The suggested conversion where two types meet: the wider one, except for a value whose
        type comes from numbers as they were written.
        """
        if BOOL in (a.dtype, b.dtype):
            return chosen("choose a number: ", a if a.dtype == BOOL else b)
        wider, other = (
            (a, b) if (a.dtype.is_float, a.dtype.bits) > (b.dtype.is_float, b.dtype.bits) else (b, a)
        )
        if self.is_of_numbers(wider) and other.dtype.is_float:
            said = f"a {wider.op} of numbers" if isinstance(wider, Reduce) else f"`{words(wider)}`"
            return converted(f"{said} is {wider.dtype}, as numbers are; convert it: ", other.dtype, wider)
        return converted("convert one of them: ", wider.dtype, other)

    def is_of_numbers(self, e: Expr) -> bool:
        """True if the type of a value came from numbers alone."""
        return e in self.of_numbers or isinstance(e, Read) and e.tensor in self.of_numbers

    def meet(self, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        """Floats below 32 bits meet f32 there; narrower integers meet i64 there."""
        x, y = self.compute(x), self.compute(y)
        if x.dtype == I64 and _fits_i64(y.dtype):
            y = as_i64(y, y.span)
        elif y.dtype == I64 and _fits_i64(x.dtype):
            x = as_i64(x, x.span)
        return x, y

    def binary(self, symbol: str, a: Value, b: Value, span: Span) -> Value:
        """`a symbol b` for arithmetic operators, `max` and `min`."""
        if a.weak and b.weak and isinstance(a.expr, Const) and isinstance(b.expr, Const):
            return self.fold(symbol, a.expr, b.expr, span)
        if not a.weak:
            a = Value(self.compute(a.expr))
        if not b.weak:
            b = Value(self.compute(b.expr))
        if symbol in ("/", "**") and a.weak and b.weak:
            a, b = (Value(materialize(v, F64, span), "literal") for v in (a, b))
        x, y, weak = self.unify(a, b, f"`{symbol}`", span)
        self.refuse(symbol, x.dtype, span)
        if x.dtype.is_int:
            if weak and isinstance(y, Const) and y.value == 0 and symbol in ("//", "%"):
                raise CheckError(f"`{symbol}` by zero", span, code="constant")
            return Value(at(self.integer(symbol, x, y), span), weak)
        return Value(_FLOATS[symbol](x, y, span=span), weak)

    def integer(self, symbol: str, x: Expr, y: Expr) -> Expr:
        return _INTEGERS[symbol](x, y)

    def refuse(self, symbol: str, dtype: DType, span: Span) -> None:
        """Operators that do not exist at a type."""
        if dtype == BOOL:
            raise CheckError(
                f"`{symbol}` of bools",
                span,
                code="dtype",
                help="logic is `and`, `or`, `not`; count with if c then 1 else 0",
            )
        if dtype.is_int and symbol == "/":
            raise CheckError(
                f"`/` of {dtype}: division needs floats",
                span,
                code="dtype",
                help="`//` is the quotient rounded down; or convert: f32(a) / f32(b)",
            )
        if dtype.is_int and symbol == "**":
            raise CheckError(
                f"`**` of {dtype}: a power needs floats",
                span,
                code="dtype",
                help="multiply, or convert: f32(a) ** f32(b)",
            )

    def fold(self, symbol: str, a: Const, b: Const, span: Span) -> Value:
        """Two numbers: integers exactly, floats in f64 as IEEE has it."""
        if a.dtype.is_int and b.dtype.is_int and symbol not in ("/", "**"):
            if b.value == 0 and symbol in ("//", "%"):
                raise CheckError(f"`{symbol}` by zero", span, code="constant")
            value = _NUMBERS[symbol](a.value, b.value)
            if not -(1 << 63) <= value < 1 << 64:
                raise CheckError("a constant needs more than 64 bits", span, code="constant")
            return literal(value, span)
        return literal(_float_operation(symbol, float(a.value), float(b.value)), span)

    def negate(self, a: Value, span: Span) -> Value:
        """`-a`."""
        if a.weak and isinstance(a.expr, Const):
            return literal(-a.expr.value, span)
        e = a.expr if a.weak else self.compute(a.expr)
        self.refuse("-", e.dtype, span)
        return Value(at(self.integer_negation(e), span) if e.dtype.is_int else Neg(e, span=span), a.weak)

    def integer_negation(self, e: Expr) -> Expr:
        return build.neg(e)

    def compare(self, symbol: str, a: Value, b: Value, span: Span) -> Expr:
        """`a symbol b`, a bool."""
        if not a.weak:
            a = Value(self.compute(a.expr))
        if not b.weak:
            b = Value(self.compute(b.expr))
        x, y, _ = self.unify(*self._beside_a_size(a, b), f"`{symbol}`", span)
        if x.dtype == BOOL and symbol not in ("==", "!="):
            raise CheckError(f"`{symbol}` of bools", span, code="dtype")
        return at(self.comparison(symbol, x, y), span)

    def _beside_a_size(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Two sides of a comparison, a narrow integer beside a size as an i64: 8 bits do not
        hold every size.
        """
        for strong, weak in ((a, b), (b, a)):
            narrow = not strong.weak and strong.dtype.is_int and strong.dtype.bits < 64
            if (
                narrow
                and weak.weak
                and weak.dtype.is_int
                and any(isinstance(n, Var | Read) for n in walk(weak.expr))
            ):
                wide = Value(as_i64(strong.expr, strong.expr.span)), Value(as_i64(weak.expr, weak.expr.span))
                return wide if strong is a else (wide[1], wide[0])
        return a, b

    def comparison(self, symbol: str, x: Expr, y: Expr) -> Expr:
        if x.dtype.is_int:
            return build.compare(symbol, x, y)
        if isinstance(x, Const) and isinstance(y, Const):
            return build.TRUE if _COMPARISONS[symbol](x.value, y.value) else build.FALSE
        return Compare(symbol, x, y)

    def select(self, cond: Expr, then: Value, orelse: Value, span: Span) -> Value:
        """`if cond then then else orelse`."""
        x, y, weak = self.unify(then, orelse, "`if`", span)
        return Value(at(self.choice(cond, x, y), span), weak)

    def choice(self, cond: Expr, then: Expr, orelse: Expr) -> Expr:
        return build.select(cond, then, orelse)

    def convert(self, value: Value, dtype: DType, span: Span) -> Value:
        """An explicit conversion `f32(x)`; of a literal, the literal at that type, and of a
        random number one of 53 bits.
        """
        e = value.expr
        if isinstance(e, Call) and e.function in RANDOM and dtype == F64:
            return Value(replace(e, dtype=F64))
        if (
            value.weak == "literal"
            and isinstance(e, Const)
            and dtype != BOOL
            and not (e.dtype.is_float and dtype.is_int)
        ):
            return Value(literal_at(e, dtype, span))
        if value.weak == "parameter" and isinstance(e, Cast) and e.operand.dtype != I64:
            e = e.operand if dtype != I64 else e
        return Value(e if e.dtype == dtype else Cast(e, dtype=dtype, span=span))

    def conjunction(self, a: Expr, b: Expr) -> Expr:
        return build.conjunction(a, b)

    def disjunction(self, a: Expr, b: Expr) -> Expr:
        return build.disjunction(a, b)

    def negation(self, a: Expr) -> Expr:
        return build.negation(a)

    def store(self, value: Value, dtype: DType, span: Span) -> Expr:
        """`value` as an element of a tensor of `dtype`: a float may become narrower, an integer
        i64, nothing else changes.
        """
        if value.weak:
            return materialize(value, dtype, span)
        e = value.expr
        if e.dtype == dtype:
            return e
        narrower = (
            e.dtype.is_float
            and dtype.is_float
            and (e.dtype.bits > dtype.bits or e.dtype.bits < 32 and dtype != F64)
        )
        if narrower or (dtype == I64 and _fits_i64(e.dtype)):
            return Cast(e, dtype=dtype, span=span)
        way_out = converted("convert it: ", dtype, e)
        if BOOL in (e.dtype, dtype):
            way_out = chosen("choose: ", e) if e.dtype == BOOL else compared(words(e))
        raise CheckError(
            f"the value is {e.dtype}, the tensor is {dtype}", span, code="dtype", fixes=[way_out]
        )


def _fits_i64(t: DType) -> bool:
    return t.is_int and t != U64


def _float_operation(symbol: str, a: float, b: float) -> float:
    try:
        match symbol:
            case "/":
                return a / b
            case "**":
                return float(a**b) if not isinstance(a**b, complex) else math.nan
            case "max" | "min":
                return math.nan if math.isnan(a) or math.isnan(b) else _NUMBERS[symbol](a, b)
        return float(_NUMBERS[symbol](a, b))
    except OverflowError:
        return math.inf
    except ZeroDivisionError:
        if symbol == "%" or a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b) if symbol != "**" else math.inf
