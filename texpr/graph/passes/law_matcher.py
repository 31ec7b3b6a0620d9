"""Algebraic laws as text, and the machine that applies them.

A law reads `x * 1 = x`. Names from x on stand for any expression, `a b m n r` for literals, whose
arithmetic is done when the law is applied; `e if c else f`, comparisons, `and or not`, `**`, `//`,
`%` and function names are those of the language. `either order` is understood of `+ * max min and
or == !=`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache

import numpy as np

from texpr.ir.build import literal
from texpr.ir.dtypes import BOOL, DType
from texpr.ir.expr import (
    Add,
    And,
    Binary,
    Call,
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
    Node,
    Not,
    Or,
    Pow,
    Select,
    Sub,
)
from texpr.ir.interpreter.arithmetic import binary, literal_array, quiet
from texpr.ir.traverse import children, equal, rewrite
from texpr.support.frozen_dataclass import frozen

Found = dict[str, Expr]
"""The expression that each name of a pattern stands for."""

_BINARY: dict[type[ast.AST], type[Binary]] = {
    ast.Add: Add,
    ast.Sub: Sub,
    ast.Mult: Mul,
    ast.Div: Div,
    ast.FloorDiv: FloorDiv,
    ast.Mod: Mod,
    ast.Pow: Pow,
    ast.And: And,
    ast.Or: Or,
}
_NAMED = {"max": Max, "min": Min}
_COMPARE: dict[type[ast.AST], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_EITHER_ORDER = (Add, Mul, Max, Min, And, Or)
LITERALS = "abmnr"
MOST_ROUNDS = 8


@frozen
class Law:
    """`before` is written as `after` wherever it stands.

    Attributes:
        text: both sides.
        kind: dtypes that it holds for: `float`, `int`, `bool`, `narrow` (floats below 64 bits) or
            `any`.
        exact: the values are the same bit for bit, NaN, infinities and signed zeros included.
        when: what must hold of the literals.
    """

    text: str
    kind: str
    exact: bool
    when: Callable[[Mapping[str, float]], bool] | None = None
    before: ast.expr = field(init=False)
    after: ast.expr = field(init=False)

    def __post_init__(self) -> None:
        before, after = self.text.split(" = ")
        object.__setattr__(self, "before", ast.parse(before.strip(), mode="eval").body)
        object.__setattr__(self, "after", ast.parse(after.strip(), mode="eval").body)

    def __str__(self) -> str:
        return f"{self.text}  ({self.kind}, {'exact' if self.exact else 'reassociates'})"

    def apply(self, e: Expr) -> Expr | None:
        """`e` rewritten, if it has the form of the left side."""
        for found in _matches(self.before, e, {}):
            operand = _operand_dtype(e)
            if not _is_of(operand, self.kind):
                return None
            numbers = {n: float(v.value) for n, v in found.items() if n in LITERALS}  # type: ignore[attr-defined]
            if self.when is None or self.when(numbers):
                return _built(self.after, found, e.dtype, operand)
        return None


def _operand_dtype(e: Expr) -> DType:
    """Of the numbers that a condition compares first; of any other expression, its own."""
    while isinstance(e, Compare | And | Or | Not):
        e = e.operand if isinstance(e, Not) else e.lhs
    return e.dtype


def _is_of(dtype: DType, kind: str) -> bool:
    match kind:
        case "float":
            return dtype.is_float
        case "narrow":
            return dtype.is_float and dtype.bits < 64
        case "int":
            return dtype.is_int
        case "bool":
            return dtype == BOOL
    return True


def _matches(pattern: ast.expr, e: Expr, found: Found) -> Iterator[Found]:
    """All ways in which `e` has the form."""
    match pattern:
        case ast.Name(name):
            if name in found:
                if equal(found[name], e):
                    yield found
            elif name not in LITERALS or (isinstance(e, Const) and e.dtype != BOOL):
                yield {**found, name: e}
        case ast.Constant() | ast.UnaryOp(ast.USub(), ast.Constant()):
            if isinstance(e, Const) and _same_number(_number(pattern), e):
                yield found
        case ast.UnaryOp(op, operand):
            if isinstance(e, Neg if isinstance(op, ast.USub) else Not):
                yield from _matches(operand, e.operand, found)
        case ast.IfExp(test, body, orelse):
            if isinstance(e, Select):
                yield from _all((test, body, orelse), (e.cond, e.then, e.orelse), found)
        case ast.Compare(left, [op], [right]):
            if isinstance(e, Compare) and e.op == _COMPARE[type(op)]:
                yield from _all((left, right), (e.lhs, e.rhs), found)
                if e.op in ("==", "!="):
                    yield from _all((left, right), (e.rhs, e.lhs), found)
        case ast.Call(ast.Name(name), args) if name not in _NAMED:
            if isinstance(e, Call) and e.function == name and len(e.args) == len(args):
                yield from _all(args, e.args, found)
        case _:
            kind, operands = _form(pattern)
            if type(e) is kind:
                yield from _all(operands, (e.lhs, e.rhs), found)
                if kind in _EITHER_ORDER:
                    yield from _all(operands, (e.rhs, e.lhs), found)


def _all(patterns: Sequence[ast.expr], expressions: Sequence[Expr], found: Found) -> Iterator[Found]:
    if not patterns:
        yield found
        return
    for first in _matches(patterns[0], expressions[0], found):
        yield from _all(patterns[1:], expressions[1:], first)


def _form(pattern: ast.expr) -> tuple[type[Binary], Sequence[ast.expr]]:
    match pattern:
        case ast.BinOp(lhs, op, rhs):
            return _BINARY[type(op)], (lhs, rhs)
        case ast.BoolOp(op, operands):
            return _BINARY[type(op)], operands
        case ast.Call(ast.Name(name), args):
            return _NAMED[name], args
    raise AssertionError(f"no form of a law: {ast.dump(pattern)}")


def _number(pattern: ast.expr) -> int | float | bool:
    match pattern:
        case ast.Constant(value):
            return value  # type: ignore[return-value]
        case ast.UnaryOp(ast.USub(), ast.Constant(value)):
            return -float(value)  # type: ignore[arg-type]
    raise AssertionError(f"no number: {ast.dump(pattern)}")


def _same_number(wanted: int | float | bool, e: Const) -> bool:
    """A whole number stands for that of the dtype; of zeros the sign counts, and `1e999` is the
    infinity.
    """
    if isinstance(wanted, bool) or e.dtype == BOOL:
        return isinstance(wanted, bool) and e.dtype == BOOL and e.value is wanted
    return e.value == wanted and (
        not e.dtype.is_float or math.copysign(1, e.value) == math.copysign(1, wanted)
    )


def _built(pattern: ast.expr, found: Found, dtype: DType, operand: DType) -> Expr:
    """The right side: `operand` is the dtype of the literals in comparisons."""

    def below(p: ast.expr, dtype: DType = dtype) -> Expr:
        return _built(p, found, dtype, operand)

    match pattern:
        case ast.Name(name):
            return found[name]
        case ast.Constant() | ast.UnaryOp(ast.USub(), ast.Constant()):
            return literal(_number(pattern), dtype)
        case ast.UnaryOp(ast.USub(), inner):
            return Neg(below(inner))
        case ast.UnaryOp(ast.Not(), inner):
            return Not(below(inner))
        case ast.IfExp(test, body, orelse):
            return Select(below(test, BOOL), below(body), below(orelse))
        case ast.Compare(left, [op], [right]):
            return Compare(_COMPARE[type(op)], below(left, operand), below(right, operand))
        case ast.Call(ast.Name(name), args) if name not in _NAMED:
            return Call(name, tuple(below(a) for a in args))
    kind, operands = _form(pattern)
    lhs, rhs = (below(p) for p in operands)
    if isinstance(lhs, Const) and isinstance(rhs, Const) and dtype != BOOL:
        return computed(kind, lhs, rhs)
    return kind(lhs, rhs)


def computed(kind: type[Binary], lhs: Const, rhs: Const) -> Const:
    """The value of an operator on literals, rounded as at run time."""
    with quiet():
        value = binary(
            kind, literal_array(lhs.value, lhs.dtype), literal_array(rhs.value, rhs.dtype), lhs.dtype
        )
    return Const(np.asarray(value).item(), dtype=lhs.dtype)


class _Table:
    """Laws by what they rewrite: for most expressions there are none.

    Attributes:
        kinds: the classes of the left sides.
    """

    def __init__(self, laws: tuple[Law, ...]) -> None:
        self._laws = laws
        self._known: dict[tuple[object, ...], tuple[Law, ...]] = {}
        self.kinds = frozenset(_root(law.before) for law in laws)

    def of(self, e: Expr) -> tuple[Law, ...]:
        """The laws that `e` may have the form of, as far as its dtype and the classes of its
        operands tell.
        """
        kinds = tuple([type(child) for child in children(e)])
        key = type(e), _operand_dtype(e), kinds
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(
                law
                for law in self._laws
                if _root(law.before) is key[0] and _is_of(key[1], law.kind) and _may_have(law.before, kinds)
            )
        return found


@lru_cache(maxsize=8)
def _table(laws: tuple[Law, ...]) -> _Table:
    return _Table(laws)


def _may_have(pattern: ast.expr, kinds: tuple[type, ...]) -> bool:
    """True if operands of these classes, in either order, may have the forms of those of the
    pattern.
    """
    below = _operands(pattern)
    return len(below) == len(kinds) and any(
        all(map(_may_be, below, order))
        and (ast.dump(below[0]) != ast.dump(below[-1]) or order[0] is order[-1])
        for order in (kinds, kinds[::-1])
    )


def _may_be(pattern: ast.expr, kind: type) -> bool:
    """True if an expression of this class may have the form."""
    match pattern:
        case ast.Name(name):
            return name not in LITERALS or kind is Const
        case ast.Constant() | ast.UnaryOp(ast.USub(), ast.Constant()):
            return kind is Const
    return kind is _root(pattern)


def _operands(pattern: ast.expr) -> Sequence[ast.expr]:
    """The patterns of the operands, in the order of `children`."""
    match pattern:
        case ast.UnaryOp(_, operand):
            return (operand,)
        case ast.IfExp(test, body, orelse):
            return test, body, orelse
        case ast.Compare(left, _, [right]):
            return left, right
        case ast.Call(ast.Name(name), args) if name not in _NAMED:
            return args
    return _form(pattern)[1]


def _root(pattern: ast.expr) -> type[Expr]:
    match pattern:
        case ast.UnaryOp(ast.USub()):
            return Neg
        case ast.UnaryOp():
            return Not
        case ast.IfExp():
            return Select
        case ast.Compare():
            return Compare
        case ast.Call(ast.Name(name)) if name not in _NAMED:
            return Call
    return _form(pattern)[0]


def simplified(root: Node, laws: tuple[Law, ...]) -> Node:
    """`root` with all laws applied, innermost expressions first, until none applies."""
    table = _table(laws)

    def rule(node: Node) -> Node | None:
        now, rounds = node, 0
        while rounds < MOST_ROUNDS and type(now) in table.kinds:
            new = next((r for law in table.of(now) if (r := law.apply(now)) is not None), None)  # type: ignore[arg-type]
            if new is None:
                break
            now, rounds = new, rounds + 1
        return None if now is node else now

    for _ in range(MOST_ROUNDS):
        before, root = root, rewrite(root, rule, kinds=table.kinds)
        if root is before:
            break
    return root
