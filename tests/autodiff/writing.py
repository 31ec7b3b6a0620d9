"""A short way to write programs by hand: overloaded operators over the node constructors."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.build import fold
from texpr.ir.dtypes import F64, I64, DType
from texpr.ir.expr import (
    Add,
    Axis,
    Call,
    Cast,
    Compare,
    Const,
    Dim,
    Div,
    Expr,
    FloorDiv,
    Guard,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Pow,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
)
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import rewrite, walk


class Value:
    """An expression with Python's operators; numbers take the dtype of the other side."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __add__(self, other):
        return _binary(Add, self, other)

    def __radd__(self, other):
        return _binary(Add, other, self)

    def __sub__(self, other):
        return _binary(Sub, self, other)

    def __rsub__(self, other):
        return _binary(Sub, other, self)

    def __mul__(self, other):
        return _binary(Mul, self, other)

    def __rmul__(self, other):
        return _binary(Mul, other, self)

    def __truediv__(self, other):
        return _binary(Div, self, other)

    def __rtruediv__(self, other):
        return _binary(Div, other, self)

    def __floordiv__(self, other):
        return _binary(FloorDiv, self, other)

    def __mod__(self, other):
        return _binary(Mod, self, other)

    def __pow__(self, other):
        return _binary(Pow, self, other)

    def __lt__(self, other):
        return _compare("<", self, other)

    def __le__(self, other):
        return _compare("<=", self, other)

    def __gt__(self, other):
        return _compare(">", self, other)

    def eq(self, other):
        return _compare("==", self, other)

    def ne(self, other):
        return _compare("!=", self, other)

    def __neg__(self):
        return Value(Neg(self.expr))


def expr(x: object, dtype: DType = F64) -> Expr:
    if isinstance(x, Value):
        return x.expr
    return Const(float(x) if dtype.is_float else x, dtype=dtype)  # type: ignore[arg-type]


def _pair(a: object, b: object) -> tuple[Expr, Expr]:
    dtype = (a if isinstance(a, Value) else b).expr.dtype  # type: ignore[union-attr]
    return expr(a, dtype), expr(b, dtype)


def _binary(node: type, a: object, b: object) -> Value:
    return Value(node(*_pair(a, b)))


def _compare(op: str, a: object, b: object) -> Value:
    return Value(Compare(op, *_pair(a, b)))


class Array:
    """A tensor that reads with `A[i, j]`; a guard comes last, as a string or as `("value", v)`."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __getitem__(self, key: object) -> Value:
        return Value(Read(self.tensor, *position(key)))


def position(key: object) -> tuple[tuple[Expr, ...], Guard | None]:
    keys = key if isinstance(key, tuple) else (key,)
    guard = None
    if keys and isinstance(keys[-1], Guard):
        keys, guard = keys[:-1], keys[-1]
    return tuple(rewrite(expr(k, I64), fold) for k in keys), guard  # type: ignore[return-value]


def or_value(value: object, dtype: DType = F64) -> Guard:
    return Guard("value", expr(value, dtype))


def names(text: str) -> list[Value]:
    """Variables; `*s` is a pack."""
    return [Value(Var(n.lstrip("*"), n.startswith("*"))) for n in text.split()]


def array(
    name: str,
    *sizes: object,
    dtype: DType = F64,
    value_range: tuple[object, object] | None = None,
    pack: int | None = None,
) -> Array:
    """`pack` is the length of its packs, where several make it ambiguous."""
    shape = [rewrite(expr(s, I64), fold) for s in sizes]
    bounds = None if value_range is None else (expr(value_range[0], I64), expr(value_range[1], I64))
    dims = tuple(Dim((s,), True, pack) if isinstance(s, Var) and s.pack else Dim((s,)) for s in shape)
    return Array(Tensor(name, dtype, dims, bounds))


def axis(v: Value, lo: object, hi: object) -> Axis:
    return Axis(v.expr, rewrite(expr(lo, I64), fold), rewrite(expr(hi, I64), fold))  # type: ignore[arg-type]


def axes(*pairs: object) -> tuple[Axis, ...]:
    """`axes(i, N, j, M)`: i in 0..N, j in 0..M; an extent may be a pair of bounds."""
    flat = list(zip(pairs[::2], pairs[1::2]))
    return tuple(axis(v, *extent) if isinstance(extent, tuple) else axis(v, 0, extent) for v, extent in flat)  # type: ignore[arg-type]


def reduce(op: str, over: Sequence[Axis], body: Value, where: Value | None = None, which: int = 0) -> Value:
    dtype = I64 if op in ("argmax", "argmin") else body.expr.dtype
    return Value(
        Reduce(op, tuple(over), body.expr, None if where is None else where.expr, which, dtype=dtype)
    )


def call(name: str, *args: Value) -> Value:
    return Value(Call(name, tuple(expr(a) for a in args)))


def to(dtype: DType, x: Value) -> Value:
    return Value(Cast(x.expr, dtype=dtype))


def maximum(a: object, b: object) -> Value:
    return _binary(Max, a, b)


def minimum(a: object, b: object) -> Value:
    return _binary(Min, a, b)


def iff(cond: Value, then: object, orelse: object) -> Value:
    return Value(Select(cond.expr, *_pair(then, orelse)))


def equation(
    target: Array,
    key: object,
    over: Sequence[Axis],
    value: object,
    update: str | None = None,
    where: Value | None = None,
) -> Equation:
    indices, guard = position(key)
    return Equation(
        target.tensor,
        indices,
        tuple(over),
        expr(value, target.tensor.dtype),
        update,
        None if where is None else where.expr,
        guard,
    )


def invoke(targets: Sequence[Array], program: Program, *args: Array) -> Invoke:
    return Invoke(tuple(t.tensor for t in targets), program, tuple(a.tensor for a in args))


def program(
    name: str,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    equations: Sequence[Equation | Invoke],
    sizes: Sequence[Value] = (),
    requires: Sequence[Value] = (),
) -> Program:
    given = [s.expr for s in sizes]
    order = dict.fromkeys(v for a in inputs for size in a.tensor.shape for v in walk(size) if v in given)
    return Program(
        name,
        tuple(a.tensor for a in inputs),
        tuple(a.tensor for a in outputs),
        tuple(equations),
        tuple(order),  # type: ignore[arg-type]
        tuple(r.expr for r in requires),
    )
