"""Scalar expressions to LLVM IR, for one iteration or for all lanes of a vector loop at once."""

from __future__ import annotations

from texpr.ir.dtypes import BOOL
from texpr.ir.expr import (
    Add,
    And,
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
    Read,
    Select,
    Sub,
)
from texpr.ir.traverse import children
from texpr.targets.emit.casts import Casts
from texpr.targets.emit.conditional_values import ConditionalValues
from texpr.targets.emit.function import Value, constant
from texpr.targets.emit.scalar_arithmetic import ScalarArithmetic
from texpr.targets.emit.scalar_functions import ScalarFunctions


class Expressions(Casts, ScalarArithmetic, ScalarFunctions, ConditionalValues):
    """Values of expressions. They are remembered per statement by node identity, so a shared node
    is computed once.
    """

    def value(self, root: Expr) -> Value:
        """The value of an expression. Depth-first with a stack, so that depth is no limit."""
        found = self._known(root)
        if found is not None:
            return found
        known, stack = self.known, [root]
        opened: set[int] = set()
        while stack:
            e = stack[-1]
            key = id(e)
            if key not in known.entries:
                if key not in opened:
                    opened.add(key)
                    below = () if isinstance(e, Read) or self._branches(e) else children(e)
                    pending = [c for c in below if isinstance(c, Expr) and self._known(c) is None]
                    if pending:
                        stack += pending
                        continue
                known.add(key, (e, self._evaluate(e)))
            stack.pop()
        return known.entries[id(root)][1]

    def load(self, read: Read) -> Value:
        raise NotImplementedError

    def _evaluate(self, e: Expr) -> Value:
        match e:
            case Read():
                return self.load(e)
            case Add() | Sub() | Mul() | Div() | And() | Or():
                return self._arithmetic(e)
            case Compare(op, lhs, rhs):
                return self._compare(op, *self._unify_lanes(self.value(lhs), self.value(rhs)))
            case Max() | Min():
                return self._extreme(e)
            case Neg(a):
                a = self.value(a)
                if a.dtype.is_float:
                    return self._pure(f"fneg {a}", a.dtype, a.lanes)
                return self._pure(
                    f"sub {a.type} {constant(0, a.dtype, a.lanes).text}, {a.text}", a.dtype, a.lanes
                )
            case Not(a):
                a = self.value(a)
                return self._pure(f"xor {a}, {constant(True, BOOL, a.lanes).text}", BOOL, a.lanes)
            case Cast(a):
                return self.cast(self.value(a), e.dtype)
            case Select() if self._branches(e):
                return self._conditional(e)
            case Select(c, t, o):
                return self.select(self.value(c), self.value(t), self.value(o))
            case FloorDiv() | Mod():
                return self._division(e)
            case Call(function="rarely"):
                return self._with_slow_path(e)
            case Call():
                return self._call(e)
        raise AssertionError(f"no code for {type(e).__name__}")
