"""Size expressions as JSON values: numbers, names, and lists of an operation and its operands."""

from __future__ import annotations

from collections.abc import Mapping

from texpr.ir.expr import (
    Add,
    And,
    Binary,
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
    index,
)

_BINARY: dict[str, type[Binary]] = {c.__name__: c for c in (Add, Sub, Mul, Max, Min, FloorDiv, Mod, And, Or)}


def size_to_json(e: Expr) -> object:
    """`e` as a JSON value; `size_from_json` reads it again.

    Raises:
        AssertionError: it is no expression over sizes.
    """
    match e:
        case Const(value):
            return int(value)
        case Var(name):
            return name
        case Cast(a):  # sizes are exact integers, whatever their dtype
            return size_to_json(a)
        case Neg(a) | Not(a):
            return [type(e).__name__, size_to_json(a)]
        case Compare(op, a, b):
            return ["Compare", op, size_to_json(a), size_to_json(b)]
        case Select(cond, then, orelse):
            return ["Select", *map(size_to_json, (cond, then, orelse))]
        case Call("abs", (a,)):
            return ["abs", size_to_json(a)]
        case Binary(lhs=a, rhs=b) if type(e).__name__ in _BINARY:
            return [type(e).__name__, size_to_json(a), size_to_json(b)]
        case _:
            raise AssertionError(f"{type(e).__name__} in a size")


def size_from_json(data: object, sizes: Mapping[str, Var]) -> Expr:
    """The expression that `size_to_json` wrote.

    Args:
        sizes: the variables by name.
    Raises:
        ValueError: it wrote no such thing.
    """
    match data:
        case int():
            return index(data)
        case str() if data in sizes:
            return sizes[data]
        case ["Neg", a]:
            return Neg(size_from_json(a, sizes))
        case ["Not", a]:
            return Not(size_from_json(a, sizes))
        case ["Compare", "<" | "<=" | ">" | ">=" | "==" | "!=" as op, a, b]:
            return Compare(op, size_from_json(a, sizes), size_from_json(b, sizes))
        case ["Select", *parts] if len(parts) == 3:
            return Select(*(size_from_json(p, sizes) for p in parts))
        case ["abs", a]:
            return Call("abs", (size_from_json(a, sizes),))
        case [str() as name, a, b] if name in _BINARY:
            return _BINARY[name](size_from_json(a, sizes), size_from_json(b, sizes))
        case _:
            raise ValueError(f"no size: {data!r:.80}")
