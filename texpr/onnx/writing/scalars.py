"""Scalar expressions as nodes: every operand is a tensor, and they broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from texpr.ir.arithmetic import compute_dtype
from texpr.ir.dtypes import BOOL, DType
from texpr.ir.expr import Add, And, Binary, Call, Cast, Compare, Div, Expr, FloorDiv, Max, Min, Mod, Mul, Neg, Not, Or, Pow, Select, Sub
from texpr.onnx.writing.graph import Graph, Inexpressible, Value, known

_BINARY: dict[type, str] = {Add: "Add", Sub: "Sub", Mul: "Mul", Div: "Div", Pow: "Pow", Max: "Max", Min: "Min", And: "And", Or: "Or"}
_COMPARE = {"<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual", "==": "Equal"}
_SAME = {"exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos",
         "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "tanh": "Tanh",
         "sigmoid": "Sigmoid", "erf": "Erf", "gelu": "Gelu", "floor": "Floor", "ceil": "Ceil", "rint": "Round", "round": "Round",
         "abs": "Abs", "sign": "Sign", "isnan": "IsNaN", "isinf": "IsInf",
         "bit_and": "BitwiseAnd", "bit_or": "BitwiseOr", "bit_xor": "BitwiseXor"}


class Scalars:
    """Applies scalar operators to tensors of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def apply(self, op: str, *args: Value, dtype: DType | None = None, **attributes: object) -> Value:
        """A node whose result has the shape that its operands have together."""
        shape = np.broadcast_shapes(*(a.shape for a in args))
        return self.graph.add(op, args, shape, dtype or args[-1].dtype, **attributes)

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
                return self.apply("Where", *args)
            case Neg():
                return self.apply("Neg", *args)
            case Not():
                return self.apply("Not", *args)
            case Cast():
                return self._cast(args[0], e.dtype)
            case Call(name):
                return self._call(name, args)
            case _:
                raise Inexpressible(f"an expression {type(e).__name__}")

    def _cast(self, x: Value, t: DType) -> Value:
        if t == BOOL and x.dtype != BOOL:
            return self.apply("Not", self.apply("Equal", x, self.number(0, x), dtype=BOOL))
        return self.graph.cast(x, t)

    def _floor_divide(self, a: Value, b: Value) -> Value:
        """ONNX truncates; x // 0 is 0."""
        if a.dtype.is_float:
            return self.apply("Floor", self.apply("Div", a, b))
        zero, one = self.number(0, b), self.number(1, b)
        nothing = self.apply("Equal", b, zero, dtype=BOOL)
        safe = self.apply("Where", nothing, one, b)
        rest = self.apply("Mod", a, safe)
        return self.apply("Where", nothing, zero, self.apply("Div", self.apply("Sub", a, rest), safe))

    def _remainder(self, a: Value, b: Value) -> Value:
        """With the sign of b; x % 0 is 0 of integers."""
        if a.dtype.is_float:
            return self.apply("Sub", a, self.apply("Mul", b, self.apply("Floor", self.apply("Div", a, b))))
        nothing = self.apply("Equal", b, self.number(0, b), dtype=BOOL)
        rest = self.apply("Mod", a, self.apply("Where", nothing, self.number(1, b), b))
        return self.apply("Where", nothing, self.number(0, a), rest)

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
        return self.apply("Not", self.apply("Or", self.apply("IsNaN", x, dtype=BOOL), self.apply("IsInf", x, dtype=BOOL)))

    def _minus_one(self, x: Value) -> Value:
        """exp(x) - 1: Elu is it below 0."""
        away = self.apply("Sub", self.apply("Exp", x), self.number(1, x))
        return self.apply("Where", self.apply("Less", x, self.number(0, x), dtype=BOOL), self.apply("Elu", x), away)

    def _truncated(self, x: Value) -> Value:
        return self.apply("Mul", self.apply("Sign", x), self.apply("Floor", self.apply("Abs", x)))

    def _signed(self, x: Value, y: Value) -> Value:
        """|x| with the sign of y, that of -0 from 1 / y."""
        inverse = self.apply("Reciprocal", y)
        below = self.apply("Less", self.apply("Where", self.apply("Equal", y, self.number(0, y), dtype=BOOL), inverse, y),
                           self.number(0, y), dtype=BOOL)
        size = self.apply("Abs", x)
        return self.apply("Where", below, self.apply("Neg", size), size)


_FORMULAS: dict[str, Callable[..., Value]] = {
    "exp2": lambda s, x: s.apply("Exp", s.apply("Mul", x, s.number(np.log(2), x))),
    "expm1": Scalars._minus_one,
    "log2": lambda s, x: s._scaled("Log", x, 1 / np.log(2)),
    "log10": lambda s, x: s._scaled("Log", x, 1 / np.log(10)),
    "log1p": lambda s, x: s.apply("Log", s.apply("Add", x, s.number(1, x))),
    "cbrt": lambda s, x: s.apply("Mul", s.apply("Sign", x), s.apply("Pow", s.apply("Abs", x), s.number(1 / 3, x))),
    "hypot": lambda s, x, y: s.apply("Sqrt", s.apply("Add", s.apply("Mul", x, x), s.apply("Mul", y, y))),
    "rsqrt": lambda s, x: s.apply("Reciprocal", s.apply("Sqrt", x)),
    "erfc": lambda s, x: s.apply("Sub", s.number(1, x), s.apply("Erf", x)),
    "trunc": Scalars._truncated,
    "fmod": lambda s, x, y: s.apply("Mod", x, y, fmod=1),
    "copysign": Scalars._signed,
    "isfinite": Scalars._finite,
    "fma": lambda s, x, y, z: s.apply("Add", s.apply("Mul", x, y), z),
    "detach": lambda s, x: x,
    "with_slope": lambda s, y, x, slope: y,
}
