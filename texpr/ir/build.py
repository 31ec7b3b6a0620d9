"""Constructors that fold constants and neutral elements of integer arithmetic. Floats are left
as they are: IEEE has few laws.
"""

from __future__ import annotations

from texpr.ir.dtypes import BOOL, DType, int_range
from texpr.ir.expr import (
    Add,
    And,
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

TRUE, FALSE = Const(True, dtype=BOOL), Const(False, dtype=BOOL)


def integer(e: Expr) -> int | None:
    """The value of an integer literal, else None."""
    return int(e.value) if isinstance(e, Const) and e.dtype.is_int else None


def literal(value: int | float | bool, dtype: DType) -> Const:
    """A constant of the given type; integers wrap into its range."""
    if dtype.is_int:
        lo, hi = int_range(dtype)
        value = (int(value) - lo) % (hi - lo + 1) + lo
    elif dtype.is_float:
        value = float(value)
    return Const(value, dtype=dtype)


def add(a: Expr, b: Expr) -> Expr:
    """`a + b`, with constants gathered on the right."""
    x, y = integer(a), integer(b)
    if x is not None and y is not None:
        return literal(x + y, a.dtype)
    if x == 0:
        return b
    if y == 0:
        return a
    if y is not None and isinstance(a, Add) and (z := integer(a.rhs)) is not None:
        return add(a.lhs, literal(y + z, a.dtype))
    if y is not None and y < 0:
        return sub(a, literal(-y, a.dtype))
    return Add(a, b)


def sub(a: Expr, b: Expr) -> Expr:
    """`a - b`, with constants gathered on the right."""
    x, y = integer(a), integer(b)
    if x is not None and y is not None:
        return literal(x - y, a.dtype)
    if y == 0:
        return a
    if a is b and a.dtype.is_int:
        return literal(0, a.dtype)
    if y is not None and isinstance(a, Add) and (z := integer(a.rhs)) is not None:
        return add(a.lhs, literal(z - y, a.dtype))
    if y is not None and isinstance(a, Sub) and (z := integer(a.rhs)) is not None:
        return sub(a.lhs, literal(z + y, a.dtype))
    return Sub(a, b)


def mul(a: Expr, b: Expr) -> Expr:
    """`a * b`, a constant on the right."""
    x, y = integer(a), integer(b)
    if x is not None and y is not None:
        return literal(x * y, a.dtype)
    if x is not None:
        a, b, x, y = b, a, y, x
    if y == 0 or y == 1:
        return a if y == 1 else b
    return Mul(a, b)


def floordiv(a: Expr, b: Expr) -> Expr:
    """`a // b`."""
    x, y = integer(a), integer(b)
    if y == 1:
        return a
    if x is not None and y:
        return literal(x // y, a.dtype)
    return FloorDiv(a, b)


def mod(a: Expr, b: Expr) -> Expr:
    """`a % b`."""
    x, y = integer(a), integer(b)
    if y == 1:
        return literal(0, a.dtype)
    if x is not None and y:
        return literal(x % y, a.dtype)
    return Mod(a, b)


def neg(a: Expr) -> Expr:
    """`-a`."""
    x = integer(a)
    return Neg(a) if x is None else literal(-x, a.dtype)


def maximum(a: Expr, b: Expr) -> Expr:
    """The larger of `a` and `b`."""
    x, y = integer(a), integer(b)
    if x is not None and y is not None:
        return literal(max(x, y), a.dtype)
    return a if a is b else Max(a, b)


def minimum(a: Expr, b: Expr) -> Expr:
    """The smaller of `a` and `b`."""
    x, y = integer(a), integer(b)
    if x is not None and y is not None:
        return literal(min(x, y), a.dtype)
    return a if a is b else Min(a, b)


_COMPARE = {
    "<": int.__lt__,
    "<=": int.__le__,
    ">": int.__gt__,
    ">=": int.__ge__,
    "==": int.__eq__,
    "!=": int.__ne__,
}


def compare(op: str, a: Expr, b: Expr) -> Expr:
    """`a op b`."""
    x, y = integer(a), integer(b)
    if x is not None and y is not None:
        return TRUE if _COMPARE[op](x, y) else FALSE
    return Compare(op, a, b)


def conjunction(*conditions: Expr) -> Expr:
    """All of them, TRUE for none."""
    result: Expr = TRUE
    for c in conditions:
        if _is(c, False):
            return FALSE
        if not _is(c, True):
            result = c if _is(result, True) else And(result, c)
    return result


def conjuncts(e: Expr) -> list[Expr]:
    """The conditions that all must hold."""
    found, stack = [], [e]
    while stack:
        node = stack.pop()
        if isinstance(node, And):
            stack += [node.rhs, node.lhs]
        else:
            found.append(node)
    return found


def disjunction(a: Expr, b: Expr) -> Expr:
    """Either of them."""
    if _is(a, True) or _is(b, False):
        return a
    if _is(b, True) or _is(a, False):
        return b
    return Or(a, b)


def negation(a: Expr) -> Expr:
    """`not a`."""
    if _is(a, True) or _is(a, False):
        return FALSE if _is(a, True) else TRUE
    return a.operand if isinstance(a, Not) else Not(a)


def select(cond: Expr, then: Expr, orelse: Expr) -> Expr:
    """`then` if `cond` holds, else `orelse`."""
    if _is(cond, True):
        return then
    return orelse if _is(cond, False) else Select(cond, then, orelse, dtype=then.dtype)


def _is(e: Expr, value: bool) -> bool:
    return isinstance(e, Const) and e.dtype == BOOL and e.value is value


def is_natural(e: Expr) -> bool:
    """True if an integer is seen not to be negative: sizes and loop variables are not, nor is
    what is made of them without a difference.
    """
    match e:
        case Const(value):
            return value >= 0
        case Var():
            return True
        case Add(a, b) | Mul(a, b) | FloorDiv(a, b) | Min(a, b):
            return is_natural(a) and is_natural(b)
        case Mod(_, b):
            return is_natural(b)
        case Max(a, b):
            return is_natural(a) or is_natural(b)
    return False


def product(sizes: tuple[Expr, ...]) -> Expr:
    """The number of elements of a shape, 1 for rank 0, and 0 where a size is negative: that of a
    range that ends before it begins.
    """
    from_left: Expr = Const(1, dtype=sizes[0].dtype) if sizes else literal(1, DType("i", 64))
    for size in sizes:
        from_left = mul(from_left, size if is_natural(size) else maximum(size, literal(0, size.dtype)))
    return from_left


REBUILD = {
    Add: add,
    Sub: sub,
    Mul: mul,
    FloorDiv: floordiv,
    Mod: mod,
    Max: maximum,
    Min: minimum,
    And: conjunction,
    Or: disjunction,
}


_OF_INTEGERS = frozenset({Add, Sub, Mul, FloorDiv, Mod, Max, Min, Compare})
_OTHERS = frozenset({Select, Not, Neg, And, Or})
FOLDED = _OTHERS.union(_OF_INTEGERS)
"""The classes of nodes that `fold` may change."""


def _stays(kind: type, a: Expr, b: Expr) -> bool:
    """True if a sum or product is already in simplest form, as most are: a variable times a number,
    or a sum with a positive number as its last term.
    """
    if type(b) is not Const or isinstance(a, Const | Add | Sub):
        return False
    return kind is Mul and b.value not in (0, 1) or kind is Add and b.value > 0


def fold(node: object) -> Expr | None:
    """The rewrite rule that applies the constructors above; use it with `rewrite` after a
    substitution. None where nothing folds, so that what is remembered of a node stays known.
    """
    kind = type(node)
    if kind in _OF_INTEGERS:
        a, b = node.lhs, node.rhs  # type: ignore[attr-defined]
        if (
            not (a is b or isinstance(a, Const) or isinstance(b, Const))
            or not a.dtype.is_int
            or _stays(kind, a, b)
        ):
            return None
        made = compare(node.op, a, b) if isinstance(node, Compare) else REBUILD[kind](a, b)  # type: ignore[index]
        return None if isinstance(made, kind) and made.lhs is a and made.rhs is b else made  # type: ignore[attr-defined]
    if kind not in _OTHERS:
        return None
    match node:
        case Select(Const() as c, t, o):
            return select(c, t, o)
        case Not(a) if isinstance(a, Const | Not):
            return negation(a)
        case Neg(Const() as a) if a.dtype.is_int:
            return neg(a)
        case And(a, b) | Or(a, b) if isinstance(a, Const) or isinstance(b, Const):
            return REBUILD[kind](a, b)  # type: ignore[index]
    return None
