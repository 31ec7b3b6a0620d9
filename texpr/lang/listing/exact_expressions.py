"""The arithmetic of listings: every node as it is written, nothing folded, nothing converted."""

from __future__ import annotations

from texpr.ir.dtypes import BOOL, F64, I64, DType
from texpr.ir.expr import (
    Add,
    And,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Not,
    Or,
    Select,
    Sub,
    Var,
)
from texpr.ir.interpreter.random import RANDOM
from texpr.lang.elaboration.typed_values import Arithmetic, Value, literal_at, materialize
from texpr.lang.syntax import tree
from texpr.support.frozen_dataclass import replace
from texpr.support.source import Span

_INTEGERS = {"+": Add, "-": Sub, "*": Mul, "//": FloorDiv, "%": Mod, "max": Max, "min": Min}


class ExactArithmetic(Arithmetic):
    """Sizes and loop variables are i64; only literals take the type of their neighbour."""

    def size(self, var: Var) -> Value:
        return Value(var)

    def fits_pack(self, pack: bool, node: tree.Tree) -> bool:
        """After a split, the index of a pack is an expression."""
        return not isinstance(node, tree.PackName)

    def accumulate(self, e: Expr, dtype: DType) -> Expr:
        return e

    def compute(self, e: Expr) -> Expr:
        return e

    def meet(self, x: Expr, y: Expr) -> tuple[Expr, Expr]:
        return x, y

    def integer(self, symbol: str, x: Expr, y: Expr) -> Expr:
        return _INTEGERS[symbol](x, y)

    def integer_negation(self, e: Expr) -> Expr:
        return Neg(e)

    def fold(self, symbol: str, a: Const, b: Const, span: Span) -> Value:
        dtype = F64 if a.dtype.is_float or b.dtype.is_float else I64
        x, y = (Value(materialize(Value(v, "literal"), dtype, span)) for v in (a, b))
        return self.binary(symbol, x, y, span)

    def comparison(self, symbol: str, x: Expr, y: Expr) -> Expr:
        return Compare(symbol, x, y)

    def choice(self, cond: Expr, then: Expr, orelse: Expr) -> Expr:
        return Select(cond, then, orelse)

    def convert(self, value: Value, dtype: DType, span: Span) -> Value:
        e = value.expr
        if isinstance(e, Call) and e.function in RANDOM and e.dtype != dtype == F64:
            return Value(replace(e, dtype=F64))
        if value.weak and isinstance(e, Const) and dtype != BOOL:
            return Value(literal_at(e, dtype, span))
        return Value(Cast(e, dtype=dtype, span=span))

    def conjunction(self, a: Expr, b: Expr) -> Expr:
        return And(a, b)

    def disjunction(self, a: Expr, b: Expr) -> Expr:
        return Or(a, b)

    def negation(self, a: Expr) -> Expr:
        return Not(a)
