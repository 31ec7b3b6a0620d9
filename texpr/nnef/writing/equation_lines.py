"""Operators by their equations: formulas of elements, reductions, and elements read from other places."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from texpr.graph.capture.capture import bind_call
from texpr.ir.dtypes import BOOL
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
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Not,
    Or,
    Pow,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
    index,
)  # fmt: skip
from texpr.ir.extern import is_extern
from texpr.ir.shapes import caller_shape, evaluate_size
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import children
from texpr.nnef.writing.graph_lines import GraphLines, Inexpressible, Named, kind_of
from texpr.passes.tensor.fix_sizes import specialize
from texpr.passes.tensor.inline_calls import expand_packs

_BINARY = {
    Add: "add",
    Sub: "sub",
    Mul: "mul",
    Div: "div",
    Pow: "pow",
    Max: "max",
    Min: "min",
    And: "and",
    Or: "or",
}
_COMPARE = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_REDUCE = {
    "sum": "sum_reduce",
    "max": "max_reduce",
    "min": "min_reduce",
    "any": "any_reduce",
    "all": "all_reduce",
}
_SAME = frozenset(
    "exp log sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid gelu floor ceil abs sign "
    "log2".split()
)
_NUMBERS = {Add: np.add, Sub: np.subtract, Mul: np.multiply, FloorDiv: np.floor_divide, Mod: np.mod}
MOST_POINTS = 1 << 24
"""Of an equation whose reads have to be looked at one by one."""


def written(graph: GraphLines, program: Program, args: Sequence[Named]) -> list[Named]:
    """The results of a program for these arguments, in the callers' shapes.

    Raises:
        Inexpressible: NNEF has no operations for it.
    """
    if is_extern(program):
        raise Inexpressible("code from outside of the language")
    sizes, packs = bind_call(program, [a.shape for a in args])
    shapes = [caller_shape(t, sizes, packs) for t in program.outputs]
    concrete = specialize(expand_packs(program, {v: tuple(map(index, s)) for v, s in packs.items()}), sizes)
    values = {t: graph.reshape(a, _flat(t)) for t, a in zip(concrete.inputs, args)}
    for unit in concrete.equations:
        if (
            not isinstance(unit, Equation)
            or unit.update is not None
            or unit.where is not None
            or unit.guard is not None
        ):
            raise Inexpressible("an equation that is no formula of elements")
        if unit.target in values:
            raise Inexpressible("a tensor in several parts")
        values[unit.target] = _Formula(graph, values, unit).result()
    return [graph.reshape(values[t], shape) for t, shape in zip(concrete.outputs, shapes)]


def _flat(t: Tensor) -> tuple[int, ...]:
    return tuple(evaluate_size(e, {}) for e in t.shape)


class _Formula:
    """One equation. Every part of it has an axis for each index in scope, of extent 1 where it does not
    depend on that.
    """

    def __init__(self, graph: GraphLines, values: dict[Tensor, Named], unit: Equation) -> None:
        self.graph, self.values, self.unit = graph, values, unit
        self.axes: list[Axis] = list(unit.axes)

    def result(self) -> Named:
        """The target."""
        shape, rank = _flat(self.unit.target), len(self.axes)
        order = [self._number(i) for i in self.unit.indices]
        fixed = [k for k, (p, n) in enumerate(zip(order, shape)) if p.size == 1 and n == 1 and not p.any()]
        rest = [k for k in range(len(shape)) if k not in fixed or self._is_axis(self.unit.indices[k])]
        fixed = [k for k in fixed if k not in rest]
        inner = tuple(shape[k] for k in rest)
        if len(rest) != rank or any(
            order[k].shape != _along(a, rank, shape[k])
            or not np.array_equal(order[k].ravel(), np.arange(shape[k]))
            for a, k in enumerate(rest)
        ):
            raise Inexpressible("a tensor in several parts")
        found = self.convert(self.unit.value)
        if found.shape != inner:
            found = self._filled(found, inner)
        return self.graph.add("unsqueeze", [found], shape, found.dtype, axes=fixed) if fixed else found

    def _is_axis(self, e: Expr) -> bool:
        return isinstance(e, Var) and any(a.var == e for a in self.axes)

    def _filled(self, x: Named, shape: Sequence[int]) -> Named:
        """A tensor that is the same along some axes, or a number, in its whole shape."""
        if x.number is not None:
            values = np.full(
                shape,
                x.number,
                dtype=np.float32 if x.dtype.is_float else bool if x.dtype == BOOL else np.int64,
            )
            return self.graph.variable(self.graph.name("constant"), values, x.dtype)
        return self.graph.add("tile", [x], shape, x.dtype, repeats=[n // m for n, m in zip(shape, x.shape)])

    def _extents(self) -> list[int]:
        return [evaluate_size(a.hi, {}) - evaluate_size(a.lo, {}) for a in self.axes]

    def convert(self, e: Expr) -> Named:
        """An expression.

        Raises:
            Inexpressible: NNEF has no operations for it.
        """
        match e:
            case Const():
                return self.graph.number(e.value, e.dtype)
            case Read():
                return self._read(e)
            case Reduce():
                return self._reduced(e)
            case Call():
                return self._called(e)
            case Cast():
                x = self.convert(e.operand)
                if x.number is not None:
                    return self.graph.number(x.number, e.dtype)
                same = kind_of(x.dtype) == kind_of(e.dtype)
                return Named(x.name, x.shape, e.dtype) if same else self.graph.add(
                    f"cast<{kind_of(e.dtype)}>", [x], x.shape, e.dtype
                )  # fmt: skip
        given = [self.convert(c) for c in children(e) if isinstance(c, Expr)]
        op = _operation(e)
        if all(x.number is not None for x in given):
            raise Inexpressible("a formula of numbers alone")
        return self._apply(op, given, BOOL if isinstance(e, Compare) else given[-1].dtype)

    def _apply(self, op: str, given: Sequence[Named], dtype: object) -> Named:
        shape = np.broadcast_shapes(*(x.shape for x in given))
        return self.graph.add(op, given, shape, dtype)  # type: ignore[arg-type]

    def _called(self, e: Call) -> Named:
        x, *more = (self.convert(a) for a in e.args)
        if e.function in _SAME and not more and x.number is None:
            return self._apply(e.function, [x], x.dtype)
        if e.function == "expm1" and x.number is None:
            return self._apply(
                "sub", [self._apply("exp", [x], x.dtype), self.graph.number(1, x.dtype)], x.dtype
            )
        if e.function == "log1p" and x.number is None:
            return self._apply(
                "log", [self._apply("add", [x, self.graph.number(1, x.dtype)], x.dtype)], x.dtype
            )
        raise Inexpressible(f"the function {e.function}")

    def _reduced(self, e: Reduce) -> Named:
        if e.where is not None or e.which or e.op not in _REDUCE:
            raise Inexpressible(f"a reduction `{e.op}`")
        first = len(self.axes)
        self.axes += e.axes
        body = self.convert(e.body)
        wanted, count = self._extents(), len(e.axes)
        del self.axes[first:]
        axes = list(range(first, first + count))
        if body.number is not None or [body.shape[a] for a in axes] != [wanted[a] for a in axes]:
            raise Inexpressible("a reduction of what is the same everywhere")
        shape = [1 if k in axes else n for k, n in enumerate(body.shape)]
        found = self.graph.add(_REDUCE[e.op], [body], shape, e.dtype, axes=axes)
        return self.graph.add("squeeze", [found], shape[:first], e.dtype, axes=axes)

    def _read(self, e: Read) -> Named:
        x = self.values.get(e.tensor)
        if x is None:
            raise Inexpressible("a tensor that is computed later")
        if x.number is not None:
            return x
        places = [self._number(i) for i in e.indices]
        if any(p.size and not (0 <= p.min() and p.max() < n) for p, n in zip(places, x.shape)):
            raise Inexpressible("elements around a tensor")
        used = [[a for a, n in enumerate(p.shape) if n != 1] for p in places]
        flat = [a for found in used for a in found]
        if max(map(len, used), default=0) > 1 or len(set(flat)) < len(flat):
            return self._regrouped(x, places)
        for k, p in enumerate(places):
            x = self._along(x, k, p.ravel())
        return self._spread(x, [found[0] if found else None for found in used])

    def _along(self, x: Named, k: int, places: np.ndarray) -> Named:
        """These elements of an axis."""
        n, many = x.shape[k], len(places)
        if many == n and np.array_equal(places, np.arange(n)):
            return x
        step = int(places[1] - places[0]) if many > 1 else 1
        if step < 1 or not np.array_equal(places, places[0] + step * np.arange(many)):
            raise Inexpressible("elements in another order")
        shape = [*x.shape[:k], many, *x.shape[k + 1 :]]
        first, last = int(places[0]), int(places[-1]) + 1
        more = {} if step == 1 else {"stride": [step]}
        return self.graph.add("slice", [x], shape, x.dtype, axes=[k], begin=[first], end=[last], **more)

    def _spread(self, x: Named, axes: Sequence[int | None]) -> Named:
        """Each axis of a tensor at the index that it stands for."""
        kept = [k for k, a in enumerate(axes) if a is not None]
        if len(kept) < len(axes):
            gone = [k for k in range(len(axes)) if k not in kept]
            x = self.graph.add("squeeze", [x], [x.shape[k] for k in kept], x.dtype, axes=gone)
        stand = [a for a in axes if a is not None]
        x = self.graph.transpose(x, sorted(range(len(stand)), key=lambda j: stand[j]))
        new = [a for a in range(len(self.axes)) if a not in stand]
        if not new:
            return x
        rest = iter(x.shape)
        shape = [1 if a in new else next(rest) for a in range(len(self.axes))]
        return self.graph.add("unsqueeze", [x], shape, x.dtype, axes=new)

    def _regrouped(self, x: Named, places: Sequence[np.ndarray]) -> Named:
        """All elements in their order, in another shape."""
        extents = self._extents()
        if prod(extents) != x.size or x.size > MOST_POINTS:
            raise Inexpressible("elements in another order")
        whole = np.zeros((1,) * len(extents), np.int64)
        for k, p in enumerate(places):
            whole = whole + p * prod(x.shape[k + 1 :])
        if whole.shape != tuple(extents) or not np.array_equal(whole.ravel(), np.arange(x.size)):
            raise Inexpressible("elements in another order")
        return self.graph.reshape(x, extents)

    def _number(self, e: Expr) -> np.ndarray:
        """An index for all values of those in scope.

        Raises:
            Inexpressible: it depends on data.
        """
        match e:
            case Const():
                return np.full((1,) * len(self.axes), int(e.value))
            case Var():
                for k, a in enumerate(self.axes):
                    if a.var == e:
                        low, high = evaluate_size(a.lo, {}), evaluate_size(a.hi, {})
                        return np.arange(low, high).reshape(_along(k, len(self.axes), high - low))
            case Neg():
                return -self._number(e.operand)
            case Add() | Sub() | Mul() | FloorDiv() | Mod():
                return _NUMBERS[type(e)](self._number(e.lhs), self._number(e.rhs))
        raise Inexpressible("places that are computed")


def _along(k: int, rank: int, n: int) -> tuple[int, ...]:
    """The shape of a row along an axis."""
    return tuple(n if j == k else 1 for j in range(rank))


def _operation(e: Expr) -> str:
    match e:
        case Compare():
            return _COMPARE[e.op]
        case Select():
            return "select"
        case Neg():
            return "neg"
        case Not():
            return "not"
    if type(e) not in _BINARY:
        raise Inexpressible(f"an expression {type(e).__name__}")
    return _BINARY[type(e)]
