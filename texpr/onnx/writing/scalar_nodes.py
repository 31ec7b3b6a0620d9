"""Scalar expressions as nodes: every operand is a tensor, and they broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from texpr.ir.dtypes import BOOL, F32, F64, I32, I64, U64, DType, int_range
from texpr.ir.expr import (
    Add,
    And,
    Binary,
    Call,
    Cast,
    Compare,
    Div,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Not,
    Or,
    Pow,
    Select,
    Sub,
)
from texpr.ir.interpreter.arithmetic import compute_dtype
from texpr.onnx.writing.graph import Graph, Inexpressible, Value, known
from texpr.passes.math.coefficients import ERFCX_F64, ERFCX_SHORT

_BINARY: dict[type, str] = {
    Add: "Add",
    Sub: "Sub",
    Mul: "Mul",
    Div: "Div",
    Pow: "Pow",
    Max: "Max",
    Min: "Min",
    And: "And",
    Or: "Or",
}
_COMPARE = {"<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual", "==": "Equal"}
_SAME = {
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "asin": "Asin",
    "acos": "Acos",
    "atan": "Atan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "asinh": "Asinh",
    "acosh": "Acosh",
    "atanh": "Atanh",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "erf": "Erf",
    "gelu": "Gelu",
    "floor": "Floor",
    "ceil": "Ceil",
    "rint": "Round",
    "round": "Round",
    "abs": "Abs",
    "sign": "Sign",
    "isnan": "IsNaN",
    "isinf": "IsInf",
    "bit_and": "BitwiseAnd",
    "bit_or": "BitwiseOr",
    "bit_xor": "BitwiseXor",
}


class Scalars:
    """Applies scalar operators to tensors of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def apply(self, op: str, *args: Value, dtype: DType | None = None, **attributes: object) -> Value:
        """A node whose result has the shape that its operands have together."""
        shape = np.broadcast_shapes(*(a.shape for a in args))
        return self.graph.add(op, args, shape, dtype or args[-1].dtype, **attributes)

    def choose(self, condition: Value, a: Value, b: Value) -> Value:
        """`a` where a condition holds; runtimes have no Where of truth values."""
        if a.dtype != BOOL:
            return self.apply("Where", condition, a, b)
        first = self.apply("And", condition, a)
        return self.apply("Or", first, self.apply("And", self.apply("Not", condition), b))

    def number(self, value: float, like: Value) -> Value:
        """A number of the dtype of another tensor."""
        return known(np.array(value, compute_dtype(like.dtype)), like.dtype)

    def node(self, e: Expr, args: Sequence[Value]) -> Value:
        """An expression of these operands.

        Raises:
            Inexpressible: ONNX has no operators for it.
        """
        match e:
            case FloorDiv():
                return self._floor_divide(*args)
            case Mod():
                return self._remainder(*args)
            case Binary():
                return self.apply(_BINARY[type(e)], *args)
            case Compare("!="):
                return self.apply("Not", self.apply("Equal", *args, dtype=BOOL))
            case Compare(op):
                return self.apply(_COMPARE[op], *args, dtype=BOOL)
            case Select():
                return self.choose(*args)
            case Neg():
                return self._negative(args[0])
            case Not():
                return self.apply("Not", *args)
            case Cast():
                return self._cast(args[0], e.dtype)
            case Call(name):
                return self._call(name, args)
            case _:
                raise Inexpressible(f"an expression {type(e).__name__}")

    def _negative(self, x: Value) -> Value:
        """Unsigned integers wrap."""
        if x.dtype.is_float or x.dtype.is_signed:
            return self.apply("Neg", x)
        return self.graph.cast(
            self.apply("Neg", self.graph.cast(x, I32 if x.dtype.bits < 32 else I64)), x.dtype
        )

    def _cast(self, x: Value, t: DType) -> Value:
        if t == BOOL and x.dtype != BOOL:
            return self.apply("Not", self.apply("Equal", x, self.number(0, x), dtype=BOOL))
        if x.dtype.is_float and not t.is_float:
            return self._to_integer(self.graph.cast(x, F32) if x.dtype.bits < 32 else x, t)
        return self.graph.cast(x, t)

    def _to_integer(self, x: Value, t: DType) -> Value:
        """Saturates, with 0 for NaN; of numbers outside the type ONNX's Cast says nothing."""
        lowest, highest = int_range(t)
        x = self.apply("Where", self.apply("IsNaN", x, dtype=BOOL), self.number(0, x), x)
        kind = compute_dtype(x.dtype)
        last = kind.type(highest)
        exact = int(last) == highest
        if not exact:  # the largest number below
            last = np.nextafter(last, kind.type(0))
        inside = self.apply("Min", self.apply("Max", x, self.number(lowest, x)), self.number(last, x))
        found = self.graph.cast(inside, t)
        if exact:
            return found
        above = self.apply("Greater", x, self.number(last, x), dtype=BOOL)
        if t == U64:  # by its bits: runtimes have no Where of it
            return self.graph.cast(
                self.apply(
                    "Where", above, self.number(-1, known(np.zeros(()), I64)), self.graph.cast(found, I64)
                ),
                t,
            )
        return self.apply("Where", above, known(np.array(highest, compute_dtype(t)), t), found)

    def _floor_divide(self, a: Value, b: Value) -> Value:
        """ONNX truncates; x // 0 is 0 of integers."""
        if a.dtype.is_float:
            return self._floor_of_floats(a, b)
        if a.dtype.bits < 64:  # differences and -(lowest) fit into a larger type
            wide = I32 if a.dtype.bits < 32 else I64
            return self.graph.cast(
                self._floor_divide_wide(self.graph.cast(a, wide), self.graph.cast(b, wide)), a.dtype
            )
        if not a.dtype.is_signed:  # without Where, which runtimes do not have of u64
            return self.apply(
                "Mul", self.apply("Div", a, self._harmless(b)), self.apply("Min", b, self.number(1, b))
            )
        zero = self.number(0, b)
        nothing = self.apply("Equal", b, zero, dtype=BOOL)
        safe = self._harmless(b)
        found = self.apply("Div", a, safe)
        rest = self.apply("Sub", a, self.apply("Mul", found, safe))
        found = self.apply("Sub", found, self.graph.cast(self._below(rest, safe), b.dtype))
        negative = self.apply("Equal", b, self.number(-1, b), dtype=BOOL)
        return self.apply(
            "Where", nothing, zero, self.apply("Where", negative, self.apply("Sub", zero, a), found)
        )

    def _floor_divide_wide(self, a: Value, b: Value) -> Value:
        """Of numbers that are far from the ends of their type."""
        zero = self.number(0, b)
        nothing = self.apply("Equal", b, zero, dtype=BOOL)
        safe = self.apply("Where", nothing, self.number(1, b), b)
        found = self.apply("Div", self.apply("Sub", a, self.apply("Mod", a, safe)), safe)
        return self.apply("Where", nothing, zero, found)

    def _harmless(self, b: Value) -> Value:
        """A divisor of integers with 1 for 0 and for -1, by which the lowest integer has no
        quotient.
        """
        if not b.dtype.is_signed:
            return self.apply("Max", b, self.number(1, b))
        bad = self.apply(
            "And",
            self.apply("GreaterOrEqual", b, self.number(-1, b), dtype=BOOL),
            self.apply("LessOrEqual", b, self.number(0, b), dtype=BOOL),
            dtype=BOOL,
        )
        return self.apply("Where", bad, self.number(1, b), b)

    def _below(self, rest: Value, b: Value) -> Value:
        """True where a rest is not 0, and its sign is not that of the divisor."""
        zero = self.number(0, b)
        signs = self.apply(
            "Xor",
            self.apply("Less", rest, zero, dtype=BOOL),
            self.apply("Less", b, zero, dtype=BOOL),
            dtype=BOOL,
        )
        return self.apply(
            "And", signs, self.apply("Not", self.apply("Equal", rest, zero, dtype=BOOL)), dtype=BOOL
        )

    def _floor_of_floats(self, a: Value, b: Value) -> Value:
        """The integer of which `a - fmod(a, b)` is the multiple; a / b where b is 0."""
        plain, rest = self.apply("Div", a, b), self.apply("Mod", a, b, fmod=1)
        found = self.apply("Round", self.apply("Div", self.apply("Sub", a, rest), b))
        found = self.apply("Sub", found, self.graph.cast(self._below(rest, b), a.dtype))
        return self.apply("Where", self.apply("Equal", b, self.number(0, b), dtype=BOOL), plain, found)

    def _remainder(self, a: Value, b: Value) -> Value:
        """With the sign of b; x % 0 is 0 of integers."""
        if a.dtype.is_float:
            rest = self.apply("Mod", a, b, fmod=1)
            return self.apply("Where", self._below(rest, b), self.apply("Add", rest, b), rest)
        if a.dtype.bits < 32:  # runtimes have few operators of these
            return self.graph.cast(self._remainder(self.graph.cast(a, I32), self.graph.cast(b, I32)), a.dtype)
        return self.apply("Mod", a, self._harmless(b))

    def _call(self, name: str, args: Sequence[Value]) -> Value:
        if name in _SAME:
            return self.apply(_SAME[name], *args, dtype=BOOL if name in ("isnan", "isinf") else None)
        formula = _FORMULAS.get(name)
        if formula is None:
            raise Inexpressible(f"the function {name}")
        return formula(self, *args)

    def _scaled(self, op: str, x: Value, factor: float) -> Value:
        return self.apply("Mul", self.apply(op, x), self.number(factor, x))

    def _finite(self, x: Value) -> Value:
        return self.apply(
            "Not", self.apply("Or", self.apply("IsNaN", x, dtype=BOOL), self.apply("IsInf", x, dtype=BOOL))
        )

    def _minus_one(self, x: Value) -> Value:
        """exp(x) - 1. Near to 0 the digits that the subtraction loses are put back: W. Kahan's u
        = exp(x), (u - 1) * x / log(u).
        """
        u, one = self.apply("Exp", x), self.number(1, x)
        tiny, ratio = self.apply("Equal", u, one, dtype=BOOL), self.apply("Div", x, self.apply("Log", u))
        return self._restored(x, tiny, self.apply("Sub", u, one), ratio)

    def _log_of_more(self, x: Value) -> Value:
        """log(1 + x), as W. Kahan's u = 1 + x, log(u) * x / (u - 1) near to 0."""
        one = self.number(1, x)
        u = self.apply("Add", x, one)
        away = self.apply("Sub", u, one)
        return self._restored(
            x, self.apply("Equal", u, one, dtype=BOOL), self.apply("Log", u), self.apply("Div", x, away)
        )

    def _restored(self, x: Value, tiny: Value, rough: Value, ratio: Value) -> Value:
        """x where it is tiny, `rough * ratio` where it is below 1, else `rough`."""
        near = self.apply("Less", self.apply("Abs", x), self.number(1, x), dtype=BOOL)
        return self.apply(
            "Where", tiny, x, self.apply("Mul", rough, self.apply("Where", near, ratio, self.number(1, x)))
        )

    def _length(self, x: Value, y: Value) -> Value:
        """sqrt(x*x + y*y), whose squares neither overflow nor vanish."""
        x, y = self.apply("Abs", x), self.apply("Abs", y)
        large, small = self.apply("Max", x, y), self.apply("Min", x, y)
        ratio = self.apply("Div", small, large)
        beyond = self.apply("Sqrt", self.apply("Add", self.apply("Mul", ratio, ratio), self.number(1, x)))
        found = self.apply(
            "Where",
            self.apply("Equal", small, self.number(0, x), dtype=BOOL),
            large,
            self.apply("Mul", large, beyond),
        )
        endless = self.apply(
            "Or", self.apply("IsInf", x, dtype=BOOL), self.apply("IsInf", y, dtype=BOOL), dtype=BOOL
        )
        return self.apply("Where", endless, self.number(np.inf, x), found)

    def complement(self, x: Value) -> Value:
        """erfc(x), of which 1 - erf(x) loses the digits: exp(-a^2) (1 + s P(s - 1)) / (1 + 2 a) of a = |x| and s = 2 a / (a + 4).

        Shepherd and Laframboise, Chebyshev Approximation of (1 + 2x) exp(x^2) erfc x, Mathematics
        of Computation 1981.
        """
        one, a = self.number(1, x), self.apply("Min", self.apply("Abs", x), self.number(30, x))
        double = self.apply("Add", a, a)
        s = self.apply("Div", double, self.apply("Add", a, self.number(4, x)))
        curve = self.polynomial(self.apply("Sub", s, one), ERFCX_F64 if x.dtype == F64 else ERFCX_SHORT)
        ratio = self.apply(
            "Div", self.apply("Add", self.apply("Mul", s, curve), one), self.apply("Add", double, one)
        )
        found = self.apply("Mul", self._exp_of_square(a), ratio)
        below = self.apply("Less", x, self.number(0, x), dtype=BOOL)
        found = self.apply("Where", below, self.apply("Sub", self.number(2, x), found), found)
        return self.apply("Where", self.apply("IsNaN", x, dtype=BOOL), x, found)

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """The coefficient of the highest power comes last."""
        found = self.number(coefficients[-1], x)
        for c in coefficients[-2::-1]:
            found = self.apply("Add", self.apply("Mul", found, x), self.number(c, x))
        return found

    def _exp_of_square(self, a: Value) -> Value:
        """exp(-a^2): the square of what a has in sixteenths is exact, and the rest is small."""
        head = self._scaled("Floor", self.apply("Mul", a, self.number(16, a)), 1 / 16)
        rest = self.apply("Mul", self.apply("Sub", head, a), self.apply("Add", head, a))
        square = self.apply("Mul", head, self.apply("Neg", head))
        return self.apply("Mul", self.apply("Exp", square), self.apply("Exp", rest))

    def _truncated(self, x: Value) -> Value:
        return self.apply("Mul", self.apply("Sign", x), self.apply("Floor", self.apply("Abs", x)))

    def signed(self, x: Value, y: Value) -> Value:
        """|x| with the sign of y, that of -0 from 1 / y."""
        inverse = self.apply("Reciprocal", y)
        below = self.apply(
            "Less",
            self.apply("Where", self.apply("Equal", y, self.number(0, y), dtype=BOOL), inverse, y),
            self.number(0, y),
            dtype=BOOL,
        )
        size = self.apply("Abs", x)
        return self.apply("Where", below, self.apply("Neg", size), size)


_FORMULAS: dict[str, Callable[..., Value]] = {
    "exp2": lambda s, x: s.apply("Pow", s.number(2, x), x),
    "expm1": Scalars._minus_one,
    "log2": lambda s, x: s._scaled("Log", x, 1 / np.log(2)),
    "log10": lambda s, x: s._scaled("Log", x, 1 / np.log(10)),
    "log1p": Scalars._log_of_more,
    "cbrt": lambda s, x: s.apply(
        "Mul", s.apply("Sign", x), s.apply("Pow", s.apply("Abs", x), s.number(1 / 3, x))
    ),
    "hypot": Scalars._length,
    "rsqrt": lambda s, x: s.apply("Reciprocal", s.apply("Sqrt", x)),
    "erfc": Scalars.complement,
    "trunc": Scalars._truncated,
    "fmod": lambda s, x, y: s.apply("Mod", x, y, fmod=1),
    "copysign": Scalars.signed,
    "isfinite": Scalars._finite,
    "fma": lambda s, x, y, z: s.apply("Add", s.apply("Mul", x, y), z),
    "detach": lambda s, x: x,
    "with_slope": lambda s, y, x, slope: y,
}
