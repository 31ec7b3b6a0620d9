"""Operators: sums and products, divisions, comparisons, extremes, and values of lanes that are
reduced to one.
"""

from __future__ import annotations

from texpr.ir.build import integer
from texpr.ir.dtypes import BOOL, DType, int_range
from texpr.ir.expr import Add, And, Div, Expr, FloorDiv, Max, Min, Mod, Mul, Neg, Or, Sub
from texpr.targets.emit.function import Value, constant
from texpr.targets.emit.value_builder import ValueBuilder

_INT = {Add: "add", Sub: "sub", Mul: "mul"}
_FLOAT = {Add: "fadd", Sub: "fsub", Mul: "fmul", Div: "fdiv"}
_LOGIC = {And: "and", Or: "or"}
_FLOAT_COMPARE = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}
_INT_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class ScalarArithmetic(ValueBuilder):
    """Adds operators of one or two values."""

    def _arithmetic(self, e: Add | Sub | Mul | Div | And | Or) -> Value:
        a, b = self._unify_lanes(self.value(e.lhs), self.value(e.rhs))
        if a.dtype.is_float:
            flags = " contract" if self.fma == "all" and not isinstance(e, Div) else ""
            if flags and isinstance(e, Add | Sub) and isinstance(e.lhs, Mul) and _is_product(e.rhs):
                # Of two products the second is joined with the sum, in whatever kernel: LLVM would
                # join the one that has fewer uses.
                x, y = self._unify_lanes(self.value(e.lhs.lhs), self.value(e.lhs.rhs))
                a = self.broadcast(self._pure(f"fmul {x}, {y.text}", x.dtype, x.lanes), a.lanes)
            return self._pure(f"{_FLOAT[type(e)]}{flags} {a}, {b.text}", a.dtype, a.lanes)
        table = _LOGIC if isinstance(e, And | Or) else _INT
        return self._pure(f"{table[type(e)]} {a}, {b.text}", a.dtype, a.lanes)

    def _compare(self, op: str, a: Value, b: Value) -> Value:
        if a.dtype.is_float:
            return self._pure(f"fcmp {_FLOAT_COMPARE[op]} {a}, {b.text}", BOOL, a.lanes)
        sign = "s" if a.dtype.is_signed else "u"
        word = {"==": "eq", "!=": "ne"}.get(op) or sign + _INT_COMPARE[op]
        return self._pure(f"icmp {word} {a}, {b.text}", BOOL, a.lanes)

    def _extreme(self, e: Max | Min) -> Value:
        return self.extreme("max" if isinstance(e, Max) else "min", self.value(e.lhs), self.value(e.rhs))

    def extreme(self, which: str, a: Value, b: Value) -> Value:
        """max or min; NaN-propagating, -0 below +0."""
        a, b = self._unify_lanes(a, b)
        if a.dtype == BOOL:
            return self._pure(f"{'or' if which == 'max' else 'and'} {a}, {b.text}", BOOL, a.lanes)
        word = f"{which}imum" if a.dtype.is_float else f"{'s' if a.dtype.is_signed else 'u'}{which}"
        return Value(
            self.intrinsic(f"llvm.{word}.{self.suffix(a)}", a.type, str(a), str(b)), a.dtype, a.lanes
        )

    def reduce_lanes(self, update: str, a: Value) -> Value:
        """The values of all running lanes folded into one. Sums and products in a tree: their
        order was given up.
        """
        a = self.broadcast(a, self.lanes)
        if self.mask is not None:
            a = self.select(self.mask, a, constant(neutral(update, a.dtype), a.dtype, a.lanes))
        scalar = Value("", a.dtype).type
        if update in ("max", "min"):
            word = f"f{update}imum" if a.dtype.is_float else f"{'s' if a.dtype.is_signed else 'u'}{update}"
        else:
            word = ("f" if a.dtype.is_float else "") + update
        name = f"llvm.vector.reduce.{word}.{self.suffix(a)}"
        if a.dtype.is_float and update in ("add", "mul"):
            start = constant(neutral(update, a.dtype), a.dtype)
            return Value(self.intrinsic(name, scalar, str(start), str(a), flags="reassoc "), a.dtype)
        return Value(self.intrinsic(name, scalar, str(a)), a.dtype)

    def _division(self, e: FloorDiv | Mod) -> Value:
        a, b = self._unify_lanes(self.value(e.lhs), self.value(e.rhs))
        d = integer(e.rhs)
        if d is not None and d > 0 and d & (d - 1) == 0:
            shift = "ashr" if a.dtype.is_signed else "lshr"
            if isinstance(e, FloorDiv):
                return self._pure(
                    f"{shift} {a}, {constant(d.bit_length() - 1, a.dtype, a.lanes).text}", a.dtype, a.lanes
                )
            return self._pure(f"and {a}, {constant(d - 1, a.dtype, a.lanes).text}", a.dtype, a.lanes)
        return self._general_division(e, a, b, d)

    def _general_division(self, e: FloorDiv | Mod, a: Value, b: Value, d: int | None) -> Value:
        """Floor division or remainder: x // 0 and x % 0 are 0, INT_MIN // -1 is INT_MIN (x86 would
        trap on both).
        """
        zero, one = constant(0, a.dtype, a.lanes), constant(1, a.dtype, a.lanes)
        if d == -1:
            return self._pure(f"sub {zero}, {a.text}", a.dtype, a.lanes) if isinstance(e, FloorDiv) else zero
        undefined: Value | None = None
        if not d:
            undefined = self._compare("==", b, zero)
            trap = undefined
            if a.dtype.is_signed:
                least = self._compare("==", a, constant(int_range(a.dtype)[0], a.dtype, a.lanes))
                minus = self._compare("==", b, constant(-1, a.dtype, a.lanes))
                over = self._pure(f"and {least}, {minus.text}", BOOL, a.lanes)
                trap = self._pure(f"or {undefined}, {over.text}", BOOL, a.lanes)
            b = self.select(trap, one, b)
        sign = "s" if a.dtype.is_signed else "u"
        quotient = self._pure(f"{sign}div {a}, {b.text}", a.dtype, a.lanes)
        rest = self._pure(f"{sign}rem {a}, {b.text}", a.dtype, a.lanes)
        if a.dtype.is_signed:
            mixed = self._pure(f"xor {rest}, {b.text}", a.dtype, a.lanes)
            below = self.mask_and(self._compare("<", mixed, zero), self._compare("!=", rest, zero))
            quotient = self.select(
                below, self._pure(f"sub {quotient}, {one.text}", a.dtype, a.lanes), quotient
            )
            rest = self.select(below, self._pure(f"add {rest}, {b.text}", a.dtype, a.lanes), rest)
        result = quotient if isinstance(e, FloorDiv) else rest
        return result if undefined is None else self.select(undefined, zero, result)


def neutral(update: str, t: DType) -> int | float:
    """The neutral element of an update: folding it in changes nothing, -0 included: x + -0 is x for
    both zeros.
    """
    match update:
        case "add":
            return -0.0 if t.is_float else 0
        case "mul":
            return 1
        case "max":
            return float("-inf") if t.is_float else int_range(t)[0]
        case "min":
            return float("inf") if t.is_float else int_range(t)[1]
    raise AssertionError(f"no update {update}")


def _is_product(e: Expr) -> bool:
    """True if it is a product, which a sum may be joined with."""
    return isinstance(e.operand if isinstance(e, Neg) else e, Mul)
