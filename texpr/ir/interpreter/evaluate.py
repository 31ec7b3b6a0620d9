"""Scalar expressions at many points at once: the vectorised half of the interpreter.

Nothing is masked on the way: a read outside its array, or of an element nobody defined yet, gives
some number and marks the point as `bad`. A `Select` keeps only the marks of the side it takes,
which makes it lazy; whoever uses a result asserts that it is good.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from texpr.ir.expr import (
    And,
    Axis,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Guard,
    Neg,
    Node,
    Not,
    Or,
    Read,
    Reduce,
    Select,
    Tensor,
    Var,
)
from texpr.ir.interpreter.arithmetic import (
    COMPARE,
    Array,
    binary,
    call,
    cast,
    compute_dtype,
    fold,
    identity,
    literal_array,
    order_key,
)
from texpr.ir.traverse import children
from texpr.support.frozen_dataclass import frozen

BLOCK = 1 << 20
"""Points evaluated together."""


@frozen
class Lanes:
    """Values at many points, and where they do not exist (None: nowhere). Both broadcast to the
    shape of the points.
    """

    values: Array
    bad: Array | None = None


@frozen
class Buffer:
    """The elements of a tensor, types that NumPy lacks as f32, and which of them are defined
    (None: all).
    """

    values: Array
    defined: Array | None = None


@frozen
class Points:
    """A grid of instances: the value of every variable, as an array that broadcasts to `shape`;
    `active` says which points exist.
    """

    env: Mapping[Var, Array]
    shape: tuple[int, ...]
    active: Array
    bad: Array | None = None


Buffers = Mapping[Tensor, Buffer]


def evaluate(expr: Expr, points: Points, buffers: Buffers) -> Lanes:
    """The values of an expression."""
    done: dict[int, Lanes] = {}
    stack: list[tuple[Node, bool]] = [(expr, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        below = () if isinstance(node, Reduce) else children(node)
        if not ready and below:
            stack.append((node, True))
            stack.extend((child, False) for child in below)
        else:
            done[id(node)] = _value(node, done, points, buffers)
    return done[id(expr)]


def _value(node: Node, done: dict[int, Lanes], points: Points, buffers: Buffers) -> Lanes:
    match node:
        case Const(value):
            return Lanes(literal_array(value, node.dtype))
        case Var():
            return Lanes(points.env[node])
        case Guard(_, value):
            return Lanes(np.array(0)) if value is None else done[id(value)]
        case Read():
            return _read(node, done, buffers)
        case Reduce():
            return reduce(node, points, buffers)
        case Select(cond, then, orelse):
            return _select(done[id(cond)], done[id(then)], done[id(orelse)])
        case And(a, b) | Or(a, b):
            return _logic(node, done[id(a)], done[id(b)])
        case _:
            below = [done[id(child)] for child in children(node)]
            return Lanes(
                _apply(node, [lanes.values for lanes in below]), either(*(lanes.bad for lanes in below))
            )


def _apply(node: Node, args: list[Array]) -> Array:
    match node:
        case Compare(op):
            return COMPARE[op](*args)
        case Binary():
            return binary(type(node), args[0], args[1], node.dtype)
        case Call(name):
            return call(name, args, node.dtype)
        case Cast(operand):
            return np.asarray(cast(args[0], operand.dtype, node.dtype))
        case Neg():
            return np.negative(args[0])
        case Not():
            return np.logical_not(args[0])
        case _:
            raise AssertionError(f"no meaning for {type(node).__name__}")


def either(*bad: Array | None) -> Array | None:
    """Points that are bad in one of them."""
    result: Array | None = None
    for marks in bad:
        if marks is not None:
            result = marks if result is None else result | marks
    return result


def _select(cond: Lanes, then: Lanes, orelse: Lanes) -> Lanes:
    values = np.where(cond.values, then.values, orelse.values)
    if then.bad is None and orelse.bad is None:
        return Lanes(values, cond.bad)
    taken = np.where(
        cond.values, False if then.bad is None else then.bad, False if orelse.bad is None else orelse.bad
    )
    return Lanes(values, either(cond.bad, taken))


def _logic(node: And | Or, lhs: Lanes, rhs: Lanes) -> Lanes:
    """The right side is only needed where the left one does not decide."""
    values = _apply(node, [lhs.values, rhs.values])
    if rhs.bad is None:
        return Lanes(values, lhs.bad)
    needed = lhs.values if isinstance(node, And) else np.logical_not(lhs.values)
    return Lanes(values, either(lhs.bad, rhs.bad & needed))


def _read(node: Read, done: dict[int, Lanes], buffers: Buffers) -> Lanes:
    buffer = buffers[node.tensor]
    indices = [done[id(e)] for e in node.indices]
    places, outside = place(
        [lanes.values for lanes in indices], buffer.values.shape, node.guard.mode if node.guard else ""
    )
    if buffer.values.size:
        values = buffer.values[places]
        missing = None if buffer.defined is None else ~buffer.defined[places]
    else:
        values, missing = np.zeros(outside.shape, buffer.values.dtype), None
    bad = either(*(lanes.bad for lanes in indices))
    if node.guard is None or node.guard.mode != "value":
        return Lanes(values, either(bad, missing, outside if outside.any() else None))
    inside = _select(Lanes(outside), done[id(node.guard)], Lanes(values, missing))
    return Lanes(inside.values, either(bad, inside.bad))


def place(indices: Sequence[Array], shape: tuple[int, ...], mode: str) -> tuple[tuple[Array, ...], Array]:
    """Places inside an array for indices folded as `mode` says, and which points had none."""
    outside = np.zeros(np.broadcast_shapes(*(i.shape for i in indices)), bool)
    places = []
    for i, n in zip(indices, shape):
        folded = _folded(i, n, mode)
        outside = outside | (folded < 0) | (folded >= n)
        places.append(np.clip(folded, 0, max(n - 1, 0)))
    return tuple(places), outside


def _folded(i: Array, n: int, mode: str) -> Array:
    match mode:
        case "clamp":
            return np.clip(i, 0, max(n - 1, 0))
        case "wrap":
            return np.where(i < 0, i + n, np.where(i >= n, i - n, i))
        case "reflect":
            return np.where(i < 0, -i, np.where(i >= n, 2 * (n - 1) - i, i))
        case "" | "value" | "drop":
            return i
    raise AssertionError(f"no guard {mode}")


def blocks(
    axes: Sequence[Axis],
    outer: Points,
    buffers: Buffers,
    *,
    first: tuple[int, int] | None = None,
    where: Expr | None = None,
) -> Iterator[Points]:
    """The instances of `axes` at the points of `outer`, in lexicographic order, in blocks. The new
    axes lead.

    Args:
        first: the range of the first axis to use instead of all of it.
    """
    ranges = _bounding(axes, outer, buffers)
    if first is not None:
        ranges[0] = first
    for cut in itertools.product(*_cuts(ranges, max(1, BLOCK // max(1, prod(outer.shape))))):
        yield _block(axes, cut, outer, buffers, where)


def _bounding(axes: Sequence[Axis], outer: Points, buffers: Buffers) -> list[tuple[int, int]]:
    """For every axis the smallest range that holds its ranges at all points."""
    ranges: list[tuple[int, int]] = []
    for k, axis in enumerate(axes):
        here = _grid(axes[:k], ranges, outer)
        lo, hi = evaluate(axis.lo, here, buffers).values, evaluate(axis.hi, here, buffers).values
        low, high = (int(lo.min()), int(hi.max())) if lo.size and hi.size else (0, 0)
        ranges.append((low, max(low, high)))
    return ranges


def _cuts(ranges: list[tuple[int, int]], budget: int) -> list[list[tuple[int, int]]]:
    """Cut ranges into pieces so that a block has about `budget` points and blocks in product
    order are in lexicographic order.
    """
    pieces: list[list[tuple[int, int]]] = []
    for lo, hi in reversed(ranges):
        step = max(1, min(budget, hi - lo))
        pieces.append([(start, min(start + step, hi)) for start in range(lo, hi, step)])
        budget = budget // step if step >= hi - lo else 1
    return pieces[::-1]


def _grid(axes: Sequence[Axis], ranges: Sequence[tuple[int, int]], outer: Points) -> Points:
    """The product of ranges in front of the points of `outer`."""
    env, count = dict(outer.env), len(axes)
    for k, (axis, (lo, hi)) in enumerate(zip(axes, ranges)):
        env[axis.var] = np.arange(lo, hi, dtype=np.int64).reshape(
            (hi - lo,) + (1,) * (count - k - 1 + len(outer.shape))
        )
    return Points(env, tuple(hi - lo for lo, hi in ranges) + outer.shape, outer.active, outer.bad)


def _block(
    axes: Sequence[Axis], cut: Sequence[tuple[int, int]], outer: Points, buffers: Buffers, where: Expr | None
) -> Points:
    here = _grid(axes, cut, outer)
    active, bad = np.asarray(here.active), here.bad
    for axis in axes:
        lo, hi = evaluate(axis.lo, here, buffers), evaluate(axis.hi, here, buffers)
        active = active & (here.env[axis.var] >= lo.values) & (here.env[axis.var] < hi.values)
        bad = either(bad, lo.bad, hi.bad)
    if where is not None:
        cond = evaluate(where, here, buffers)
        bad = either(bad, None if cond.bad is None else cond.bad & active)
        active = active & cond.values
    return Points(here.env, here.shape, np.broadcast_to(active, here.shape), bad)


def reduce(node: Reduce, points: Points, buffers: Buffers) -> Lanes:
    """Fold the body over the instances of the axes, in order, starting from the identity."""
    result = _Arg(node) if node.op in ("argmax", "argmin") else _Fold(node)
    bad: Array | None = None
    everywhere = Points(points.env, points.shape, np.array(True))
    for block in blocks(node.axes, everywhere, buffers, where=node.where):
        body = evaluate(node.body, block, buffers)
        marks = either(block.bad, None if body.bad is None else body.bad & block.active)
        if marks is not None:
            marks = np.broadcast_to(marks, block.shape)
            bad = either(bad, np.asarray(marks.any(axis=tuple(range(len(node.axes))))))
        count = prod(block.shape[: len(node.axes)])
        flat = (count, *block.shape[len(node.axes) :])
        if count:
            result.add(
                np.broadcast_to(body.values, block.shape).reshape(flat), block.active.reshape(flat), block
            )
    return Lanes(np.asarray(result.value), bad)


class _Fold:
    """A running `sum prod max min any all`."""

    def __init__(self, node: Reduce) -> None:
        self.node = node
        self.value = literal_array(identity(node.op, node.dtype), node.dtype)

    def add(self, values: Array, active: Array, block: Points) -> None:
        node = self.node
        values = np.asarray(cast(values, node.body.dtype, node.dtype))
        # -0.0 rather than the identity 0.0 for points that do not exist: adding it changes nothing.
        neutral = -0.0 if node.op == "sum" and node.dtype.is_float else identity(node.op, node.dtype)
        values = np.where(active, values, literal_array(neutral, node.dtype))
        start = np.broadcast_to(self.value, values.shape[1:])[None]
        self.value = fold(node.op, np.concatenate([start, values]), node.dtype)


class _Arg:
    """A running argmax or argmin: the first of the best, and the first NaN before everything."""

    def __init__(self, node: Reduce) -> None:
        self.node = node
        self.value: Array = literal_array(np.iinfo(np.int64).max, node.dtype)
        self.best: Array | None = None

    def add(self, values: Array, active: Array, block: Points) -> None:
        key = self._key(values)
        top = np.where(active, key, np.iinfo(key.dtype).min).max(axis=0)
        hits = active & (key == top)
        found = hits.any(axis=0)
        which = np.broadcast_to(block.env[self.node.axes[self.node.which].var], block.shape).reshape(
            values.shape
        )
        position = np.take_along_axis(which, hits.argmax(axis=0)[None], axis=0)[0]
        if self.best is None:
            self.best, self.seen = top, np.zeros(top.shape, bool)
        better = found & (~self.seen | (top > self.best))
        self.value = np.where(better, position, self.value)
        self.best = np.asarray(np.where(better, top, self.best))
        self.seen = self.seen | found

    def _key(self, values: Array) -> Array:
        """Integers that are larger where a value is better."""
        t = self.node.body.dtype
        # Adding 0.0 makes -0 a 0: they tie.
        key = (
            order_key(values + values.dtype.type(0), 1)
            if t.is_float
            else values.astype(np.uint8)
            if t.kind == "bool"
            else values
        )
        if self.node.op == "argmax":
            return key
        flipped = ~key
        return np.where(np.isnan(values), np.iinfo(key.dtype).max, flipped) if t.is_float else flipped


def constant_points(sizes: Mapping[Var, int]) -> Points:
    """One point with only sizes in scope."""
    return Points({var: np.array(value, np.int64) for var, value in sizes.items()}, (), np.array(True))


def new_buffer(tensor: Tensor, shape: tuple[int, ...]) -> Buffer:
    """A tensor of which nothing is defined yet."""
    return Buffer(np.zeros(shape, compute_dtype(tensor.dtype)), np.zeros(shape, bool))
