"""Conditions on sizes as users write them in steps: `N % 16 == 0 and M >= 64`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping

from texpr.ir.build import add, compare, conjunction, disjunction, floordiv, integer, mod, mul, negation, sub
from texpr.ir.expr import Expr, Var, index
from texpr.support.errors import ScheduleError

LONGEST = 200
LARGEST = 1 << 40
_ARITHMETIC: dict[type, Callable[[Expr, Expr], Expr]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.FloorDiv: floordiv,
    ast.Mod: mod,
}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_WORDS = {
    "%": "mod",
    "//": "div",
    "*": "times",
    "+": "plus",
    "-": "minus",
    "==": "eq",
    "!=": "ne",
    "<=": "le",
    ">=": "ge",
    "<": "lt",
    ">": "gt",
    "(": "",
    ")": "",
    "and": "_",
    "or": "_or_",
}


def in_words(text: str) -> str:
    """A condition as part of a name: `N % 16 == 0 and M >= 64`   ->   `Nx16_Mge64`."""
    parts: list[str] = re.findall(r"\w+|//|[<>=!]=|[-%*+<>()]", re.sub(r"%\s*(\d+)\s*==\s*0\b", r"x\1", text))
    return "".join(_WORDS.get(p, p) for p in parts)


def condition_on(text: str, sizes: Mapping[str, Var]) -> Expr:
    """The condition that a text says of sizes.

    Raises:
        ScheduleError: it is none, or speaks of something else.
    """
    wrong = ScheduleError(
        f"{text[:LONGEST]!r} is no condition on sizes",
        code="specialize",
        help='as in "N % 16 == 0 and M >= 64"',
    )
    if len(text) > LONGEST:
        raise wrong
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise wrong from None
    return _condition(tree, sizes, wrong)


def _condition(node: ast.expr, sizes: Mapping[str, Var], wrong: ScheduleError) -> Expr:
    """Depth is that of a text of at most `LONGEST` characters."""
    match node:
        case ast.BoolOp(ast.And(), values):
            return conjunction(*(_condition(v, sizes, wrong) for v in values))
        case ast.BoolOp(ast.Or(), [first, *others]):
            found = _condition(first, sizes, wrong)
            for v in others:
                found = disjunction(found, _condition(v, sizes, wrong))
            return found
        case ast.UnaryOp(ast.Not(), value):
            return negation(_condition(value, sizes, wrong))
        case ast.Compare(left, ops, comparators) if all(type(op) in _COMPARISONS for op in ops):
            sides = [_number(e, sizes, wrong) for e in (left, *comparators)]
            return conjunction(
                *(compare(_COMPARISONS[type(op)], a, b) for op, a, b in zip(ops, sides, sides[1:]))
            )
    raise wrong


def _number(node: ast.expr, sizes: Mapping[str, Var], wrong: ScheduleError) -> Expr:
    match node:
        case ast.Constant(int() as value) if not isinstance(value, bool) and value <= LARGEST:
            return index(value)
        case ast.Name(name) if name in sizes:
            return sizes[name]
        case ast.Name(name):
            raise ScheduleError(
                f"`{name}` is no symbolic size of the kernel",
                code="specialize",
                help=f"its symbolic sizes: {', '.join(sizes) or 'none'}",
            )
        case ast.BinOp(left, op, right) if type(op) in _ARITHMETIC:
            a, b = _number(left, sizes, wrong), _number(right, sizes, wrong)
            constant = (
                isinstance(op, ast.Add | ast.Sub)
                or (integer(b) or 0) > 0
                or isinstance(op, ast.Mult)
                and integer(a) is not None
            )
            if constant:
                return _ARITHMETIC[type(op)](a, b)
    raise wrong
