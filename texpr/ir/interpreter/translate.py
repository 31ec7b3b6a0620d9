"""Scalar expressions as Python statements, for the instance-by-instance interpreter.

Bools and integers become Python's, floats NumPy scalars, those that NumPy lacks an f32. Every node
is one assignment, so depth does not matter; a `Select` whose sides read memory becomes an `if`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from texpr.ir.dtypes import BOOL, DType, int_range, numpy_dtype, rounded
from texpr.ir.expr import (
    Add,
    And,
    Binary,
    Call,
    Cast,
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
    Read,
    Select,
    Sub,
    Tensor,
    Var,
)
from texpr.ir.functions import FUNCTIONS
from texpr.ir.interpreter.arithmetic import Array, binary, call, cast, compute_dtype
from texpr.ir.traverse import children, walk

_SYMBOL: dict[type[Binary], str] = {Add: "+", Sub: "-", Mul: "*", Div: "/", And: "and", Or: "or"}


class ExprWriter:
    """Source lines of a function under construction, and what its names stand for."""

    def __init__(self, buffers: Mapping[Tensor, Array], names: dict[Var, str]) -> None:
        self.lines: list[str] = []
        self.indent = 1
        self.namespace: dict[str, object] = {"_outside": _outside}
        self.names = names
        self._arrays = {tensor: self.constant(array) for tensor, array in buffers.items()}
        self._shapes = {tensor: array.shape for tensor, array in buffers.items()}
        self._done: dict[int, str] = {}
        self._count = 0

    def line(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    def fresh(self, what: str = "t") -> str:
        self._count += 1
        return f"{what}{self._count}"

    def bind(self, var: Var) -> str:
        """A name for a loop variable."""
        return self.names.setdefault(var, self.fresh("i"))

    def constant(self, value: object) -> str:
        """A name for an object."""
        name = f"k{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def assign(self, text: str) -> str:
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def forget(self) -> None:
        """Values computed before this line are not used after it."""
        self._done = {}

    def expr(self, root: Expr) -> str:
        """Write the statements that compute an expression; the name or literal of its value."""
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in self._done:
                continue
            below = (node.cond,) if isinstance(node, Select) and _is_lazy(node) else children(node)
            if not ready and below:
                stack.append((node, True))
                stack.extend((child, False) for child in below)
            else:
                self._done[id(node)] = self._node(node)
        return self._done[id(root)]

    def _node(self, node: Node) -> str:
        done = self._done
        match node:
            case Const(value):
                return self._literal(value, node.dtype)
            case Var(name):
                assert node in self.names, f"the variable {name} is not in scope"
                return self.names[node]
            case Read(tensor, indices, None):
                return self.assign(
                    self.element_value(self.element(tensor, [done[id(i)] for i in indices]), tensor.dtype)
                )
            case Select(cond, then, orelse) if _is_lazy(node):
                return self._branches(done[id(cond)], then, orelse)
            case Select(cond, then, orelse):
                return self.assign(f"{done[id(then)]} if {done[id(cond)]} else {done[id(orelse)]}")
            case Compare(op, a, b):
                return self.assign(f"bool({done[id(a)]} {op} {done[id(b)]})")
            case Binary(a, b):
                exact = node.dtype.bits == 64 and _is_index(node)
                return self.assign(
                    combine(type(node), done[id(a)], done[id(b)], node.dtype, self, exact=exact)
                )
            case Neg(a):
                return self.assign(_wrapped(f"-{done[id(a)]}", node.dtype))
            case Not(a):
                return self.assign(f"not {done[id(a)]}")
            case Cast(a):
                return self.assign(converted(done[id(a)], a.dtype, node.dtype, self))
            case Call(name, args):
                function = self.constant(_scalar_call(name, [a.dtype for a in args], node.dtype))
                return self.assign(f"{function}({', '.join(done[id(a)] for a in args)})")
            case _:
                raise AssertionError(f"no meaning for {type(node).__name__} in a kernel")

    def _literal(self, value: int | float | bool, t: DType) -> str:
        if not t.is_float:
            return f"({value!r})"
        return self.constant(compute_dtype(t).type(value))

    def _branches(self, cond: str, then: Expr, orelse: Expr) -> str:
        name, before = self.fresh(), dict(self._done)
        for head, side in ((f"if {cond}:", then), ("else:", orelse)):
            self.line(head)
            self.indent += 1
            value = self.expr(side)
            self.line(f"{name} = {value}")
            self.indent -= 1
            self._done = dict(before)
        return name

    def element(self, tensor: Tensor, indices: list[str]) -> str:
        """The place `array[i, j]`, after a line that checks it."""
        array, shape = self._arrays[tensor], self._shapes[tensor]
        if not indices:
            return f"{array}[()]"
        checks = " and ".join(f"0 <= {i} < {n}" for i, n in zip(indices, shape, strict=True))
        self.line(f"if not ({checks}): _outside({tensor.name!r}, {shape!r}, {', '.join(indices)})")
        return f"{array}[{', '.join(indices)}]"

    def renew(self, tensor: Tensor, poison: Array) -> None:
        """Give a tensor new memory from here to the end of the function: every thread has its
        own.
        """
        self.line(f"{self._arrays[tensor]} = {self.constant(poison)}.copy()")

    def element_value(self, place: str, t: DType) -> str:
        """The value of an element, as values of its type are held."""
        return place if t.is_float else f"{place}.item()"


def _outside(name: str, shape: tuple[int, ...], *indices: int) -> None:
    raise AssertionError(f"{name}[{', '.join(map(str, indices))}] is outside its shape {shape}")


def _is_lazy(node: Select) -> bool:
    return any(isinstance(below, Read) for below in walk(node.then, node.orelse))


def _is_index(node: Node) -> bool:
    """Arithmetic over loop variables and sizes alone: it never overflows."""
    return all(
        isinstance(below, Var | Const | Add | Sub | Mul | FloorDiv | Mod | Max | Min) for below in walk(node)
    )


def _wrapped(text: str, t: DType) -> str:
    if not t.is_int:
        return text
    mask = (1 << t.bits) - 1
    half = 1 << (t.bits - 1)
    return f"(({text}) + {half} & {mask}) - {half}" if t.is_signed else f"({text}) & {mask}"


def combine(kind: type[Binary], a: str, b: str, t: DType, out: ExprWriter, *, exact: bool = False) -> str:
    """The operator `kind` on two values of type `t`. `exact`: the result is known not to
    overflow.
    """
    if kind in (Max, Min):
        if t.is_float:
            return f"{out.constant(_larger if kind is Max else _smaller)}({a}, {b})"
        return f"{a} if {a} {'>=' if kind is Max else '<='} {b} else {b}"
    if kind in (FloorDiv, Mod) and t.is_int:
        text = f"({a} {'//' if kind is FloorDiv else '%'} {b} if {b} else 0)"
    elif kind in _SYMBOL:
        text = f"{a} {_SYMBOL[kind]} {b}"
        if t.as_bits:
            return f"{out.constant(_round(t))}({text})"
    else:
        return f"{out.constant(_scalar_binary(kind, t))}({a}, {b})"
    return text if exact else _wrapped(text, t)


def converted(text: str, source: DType, target: DType, out: ExprWriter) -> str:
    """A value of type `source` as one of type `target`."""
    if source == target:
        return text
    if target.is_int and not source.is_float:
        lo, hi = int_range(target)
        fits = source == BOOL or (int_range(source)[0] >= lo and int_range(source)[1] <= hi)
        return f"int({text})" if fits else _wrapped(text, target)
    return f"{out.constant(_scalar_cast(source, target))}({text})"


def _larger(a: np.floating, b: np.floating) -> np.floating:
    if a > b or a != a:
        return a
    if b > a or b != b:
        return b
    return b if np.signbit(a) else a


def _smaller(a: np.floating, b: np.floating) -> np.floating:
    if a < b or a != a:
        return a
    if b < a or b != b:
        return b
    return a if np.signbit(a) else b


@cache
def _round(t: DType) -> Callable[[np.floating], np.floating]:
    return lambda x: np.float32(rounded(x, t))


def _held(result: Array, t: DType) -> object:
    """A rank-0 result as values of `t` are held."""
    return compute_dtype(t).type(result) if t.is_float else np.asarray(result).item()


def _scalar_binary(kind: type[Binary], t: DType) -> Callable[..., object]:
    return lambda a, b: _held(binary(kind, a, b, t), t)


def _scalar_cast(source: DType, target: DType) -> Callable[..., object]:
    held = compute_dtype(source)
    return lambda a: _held(cast(held.type(a), source, target), target)


def _scalar_call(name: str, operands: Sequence[DType], result: DType) -> Callable[..., object]:
    if operands[0].is_float and result.is_float and not result.as_bits and name != "fma":
        reference, kind = FUNCTIONS[name].reference, numpy_dtype(result).type
        return lambda *args: kind(reference(*map(np.float64, args)))
    held = [compute_dtype(t).type for t in operands]
    return lambda *args: _held(call(name, [kind(a) for kind, a in zip(held, args)], result), result)
