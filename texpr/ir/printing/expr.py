"""Scalar expressions as DSL text: minimal parentheses, every conversion visible, nothing recursive.

What is printed parses back to the same nodes. A literal is printed bare where its neighbour gives
it its type, else inside a cast: `x + 1.0`, but `exp(f32(1.0))`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from texpr.ir.affine import same_value
from texpr.ir.build import integer
from texpr.ir.dtypes import BOOL, F32, DType, accumulator, round_float
from texpr.ir.expr import (
    Add,
    And,
    Axis,
    Call,
    Cast,
    Compare,
    Const,
    Div,
    Expr,
    FloorDiv,
    Guard,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Node,
    Not,
    Or,
    Pow,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
)
from texpr.ir.interpreter.random import RANDOM
from texpr.ir.traverse import equal, walk
from texpr.support.errors import ResourceError


class Names(dict[Var | Tensor, str]):
    """Names of variables and tensors where their own names would be ambiguous.

    Attributes:
        parameters: narrower integers of rank 0, computed in i64 as indices are, unless something of
            a definite type is beside them.
    """

    def __init__(
        self, given: Mapping[Var | Tensor, str] | None = None, parameters: Iterable[Tensor] = ()
    ) -> None:
        super().__init__(given or {})
        self.parameters = frozenset(parameters)


LIMIT = 1 << 22
IF, OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, POWER, ATOM = range(10)
_LEFT = {
    Or: (" or ", OR),
    And: (" and ", AND),
    Add: (" + ", SUM),
    Sub: (" - ", SUM),
    Mul: (" * ", PRODUCT),
    Div: (" / ", PRODUCT),
    FloorDiv: (" // ", PRODUCT),
    Mod: (" % ", PRODUCT),
}


class Part(NamedTuple):
    """A child still to be printed: with parentheses if it binds weaker than `level`; `bare` if a
    literal needs no cast.
    """

    node: Expr
    level: int = IF
    bare: bool = True


class _End(NamedTuple):
    node: Node
    start: int


Items = list["str | Part | _End"]


class Writer:
    """Text under construction, with the place of every node."""

    def __init__(self, names: Names | None = None) -> None:
        self.names = names or Names()
        self.pieces: list[str] = []
        self.length = 0
        self.spans: dict[int, tuple[int, int]] = {}

    def write(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)

    def mark(self, node: Node, start: int) -> None:
        """`node` is what has been written since `start`."""
        self.spans.setdefault(id(node), (start, self.length))

    def items(self, *items: str | Part) -> None:
        """Write texts and expressions in order."""
        stack: Items = list(reversed(items))
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                self.write(item)
            elif isinstance(item, _End):
                self.mark(item.node, item.start)
            else:
                stack.append(_End(item.node, self.length))
                stack.extend(reversed(self._layout(item)))
            if self.length > LIMIT:
                raise ResourceError(f"the program prints as more than {LIMIT} characters")

    def _layout(self, part: Part) -> list[str | Part]:
        inside = layout(part.node, part.bare, self.names)
        return ["(", *inside, ")"] if binding(part.node, part.bare) < part.level else inside

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def show(expr: Expr, names: Names | None = None) -> str:
    """`expr` as DSL text; `names` says how variables and tensors are called where their own
    names would be ambiguous.
    """
    writer = Writer(names)
    writer.items(Part(expr))
    return writer.text


def binding(e: Expr, bare: bool) -> int:
    """Precedence of the outermost operator of `e`."""
    match e:
        case Select():
            return IF
        case Or() | And() | Add() | Sub() | Mul() | Div() | FloorDiv() | Mod():
            return _LEFT[type(e)][1]
        case Not():
            return NOT
        case Compare():
            return COMPARE
        case Neg():
            return UNARY
        case Const(value) if bare and literal_text(value, e.dtype).startswith("-"):
            return UNARY
        case Pow():
            return POWER
    return ATOM


def layout(e: Expr, bare: bool, names: Names) -> list[str | Part]:
    """The texts and children that `e` is printed as."""
    match e:
        case Const(value):
            text = literal_text(value, e.dtype)
            return [text if bare or e.dtype == BOOL else f"{e.dtype}({text})"]
        case Var():
            return [_variable(e, names)]
        case Or() | And() | Add() | Sub() | Mul() | Div() | FloorDiv() | Mod():
            operator, level = _LEFT[type(e)]
            left, right = _operands(names, e.lhs, e.rhs)
            return [left._replace(level=level), operator, right._replace(level=level + 1)]
        case Pow(lhs, rhs):
            left, right = _operands(names, lhs, rhs)
            return [left._replace(level=ATOM), " ** ", right._replace(level=UNARY)]
        case Compare(op, lhs, rhs):
            left, right = _operands(names, lhs, rhs)
            return [left._replace(level=SUM), f" {op} ", right._replace(level=SUM)]
        case Max(lhs, rhs) | Min(lhs, rhs):
            return ["max(" if isinstance(e, Max) else "min(", *separated(_operands(names, lhs, rhs)), ")"]
        case Neg(x):
            return ["-", Part(x, UNARY, False)]
        case Not(x):
            return ["not ", Part(x, NOT)]
        case Cast(x):
            return [f"{e.dtype}(", Part(x, IF, _is_parameter(x, names)), ")"]
        case Select(cond, then, orelse):
            left, right = _operands(names, then, orelse)
            if bare:
                left, right = Part(then), Part(orelse)
            return ["if ", Part(cond), " then ", left, " else ", right]
        case Call(function, (seed, *indices)) if function in RANDOM:
            entries = [x for i in indices for x in (", ", _index(i, names))]
            call: list[str | Part] = [f"{function}(", Part(seed), *entries, ")"]
            return call if e.dtype == F32 else [f"{e.dtype}(", *call, ")"]
        case Call(function, args):
            return [f"{function}(", *separated(_operands(names, *args)), ")"]
        case Read() if _is_parameter(e, names) and not bare:
            return [f"{e.dtype}(", Part(e), ")"]
        case Read(tensor, indices, guard):
            return element(tensor, indices, guard, names)
        case Reduce():
            return _reduction(e, names)
    raise AssertionError(f"no text for {type(e).__name__}")


def _operands(names: Names, *operands: Expr) -> list[Part]:
    """Operands of one type: literals and parameters are bare when another operand tells the
    type; else the first one tells it.
    """
    weak = [isinstance(x, Const) or _is_parameter(x, names) for x in operands]
    told = not all(weak)
    return [Part(x, IF, bare and (told or k > 0)) for k, (x, bare) in enumerate(zip(operands, weak))]


def _is_parameter(e: Expr, names: Names) -> bool:
    """A rank-0 integer that alone, or beside a literal or another one, is computed in i64."""
    return isinstance(e, Read) and e.tensor in names.parameters


def separated(parts: list[Part]) -> list[str | Part]:
    """The parts with commas between."""
    result: list[str | Part] = []
    for part in parts:
        result += [", ", part] if result else [part]
    return result


def _variable(var: Var, names: Names) -> str:
    if var in names:
        return f"place({names[var]})" if names[var].startswith("*") else names[var]
    return f"numel({var.name})" if var.pack else var.name


def element(tensor: Tensor, indices: tuple[Expr, ...], guard: Guard | None, names: Names) -> list[str | Part]:
    """`X[i, (c, h), *b | 0.0]`: one entry per dimension callers see."""
    result: list[str | Part] = [names.get(tensor, tensor.name)]
    position = 0
    for dim in tensor.dims:
        entries = [_index(x, names) for x in indices[position : position + len(dim.sizes)]]
        position += len(dim.sizes)
        result.append(", " if position > len(dim.sizes) else "[")
        result += entries if len(dim.sizes) == 1 else ["(", *_joined(entries), ")"]
    if guard is not None:
        result.append(" | ")
        result.append(guard.mode if guard.value is None else Part(guard.value))
    return [*result, "]"] if tensor.dims else result


def _joined(entries: list[str | Part]) -> list[str | Part]:
    return [x for k, entry in enumerate(entries) for x in ((", ", entry) if k else (entry,))]


def _index(e: Expr, names: Names) -> str | Part:
    if isinstance(e, Var) and e.pack and names.get(e, "*").startswith("*"):
        return names.get(e, f"*{e.name}")
    return Part(e)


def _reduction(e: Reduce, names: Names) -> list[str | Part]:
    result: list[str | Part] = [e.op]
    if e.op in ("argmax", "argmin"):
        result += [f"<{e.which}>"] if e.which else []
    elif e.dtype != default_accumulator(e.op, e.body.dtype):
        result.append(f"<{e.dtype}>")
    result.append("(")
    for k, axis in enumerate(e.axes):
        result += [", "] if k else []
        result += binder(axis, inferred_size(axis.var, *_scope(e, k)), names)
    if e.where is not None:
        result += [" where ", Part(e.where)]
    return [*result, ": ", Part(e.body, IF, _is_parameter(e.body, names)), ")"]


def _scope(e: Reduce, k: int) -> list[Node]:
    later = [bound for axis in e.axes[k + 1 :] for bound in (axis.lo, axis.hi)]
    return [*([e.where] if e.where is not None else []), e.body, *later]


def binder(axis: Axis, inferred: Expr | None, names: Names) -> list[str | Part]:
    """`k in lo..hi`, or just `k` where the range is what inference finds."""
    name = names.get(axis.var, f"*{axis.var.name}" if axis.var.pack else axis.var.name)
    if inferred is not None and integer(axis.lo) == 0 and equal(axis.hi, inferred):
        return [name]
    return [f"{name} in ", Part(axis.lo, SUM), "..", Part(axis.hi, SUM)]


def inferred_size(var: Var, *roots: Node) -> Expr | None:
    """The size that unguarded reads with `var` alone as an index agree on; None where there is
    none or they differ.
    """
    sizes = [
        size
        for n in walk(*roots)
        if isinstance(n, Read) and n.guard is None
        for x, size in zip(n.indices, n.tensor.shape)
        if x is var
    ]
    if not sizes or not all(equal(size, sizes[0]) or same_value(size, sizes[0]) for size in sizes):
        return None
    return sizes[0] if all(equal(size, sizes[0]) for size in sizes) else None


def default_accumulator(op: str, t: DType) -> DType:
    """The type a reduction over `t` has unless the text says otherwise; only sums and products
    widen integers.
    """
    return accumulator(t) if op in ("sum", "prod") or t.is_float else t


def literal_text(value: int | float | bool, dtype: DType) -> str:
    """The shortest text that reads back as `value` at `dtype`."""
    if isinstance(value, bool) or not dtype.is_float:
        return str(value).lower()
    value = float(value)
    if math.isnan(value) or math.isinf(value):
        return "nan" if math.isnan(value) else "-inf" if value < 0 else "inf"
    texts = (f"{value:.{digits}g}" for digits in range(1, 18))
    text = next(text for text in texts if round_float(float(text), dtype) == value)
    return text if any(c in text for c in ".e") else text + ".0"
