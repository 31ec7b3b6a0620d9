"""Small kernels by hand, and what happens in them found by running every instance."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from texpr.ir.dtypes import F32
from texpr.ir.expr import (
    Add,
    And,
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
    Read,
    Select,
    Sub,
    Tensor,
    Var,
    index,
    plain,
)
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.traverse import children, variables, walk

COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
ZERO = Const(0.0, dtype=F32)


def e(x: object) -> Expr:
    return index(x) if isinstance(x, int) else x  # type: ignore[return-value]


def plus(*terms: object) -> Expr:
    total = e(terms[0])
    for t in terms[1:]:
        total = Add(total, e(t))
    return total


def times(x: Expr, factor: int) -> Expr:
    return Mul(x, index(factor))


def less(a: object, b: object) -> Expr:
    return Compare("<", e(a), e(b))


def tensor(name: str, *shape: object, dtype=F32, **rest) -> Tensor:
    return Tensor(name, dtype, plain(*map(e, shape)), **rest)


def at(t: Tensor, *indices: object) -> Read:
    return Read(t, tuple(map(e, indices)))


def put(t: Tensor, indices: tuple, value: Expr, update: str | None = None, **rest) -> Store:
    return Store(t, tuple(map(e, indices)), value, update, **rest)


def loop(var: Var, extent: object, *body: Stmt) -> For:
    return For(var, e(extent), body)


def outer(k: Kernel) -> For:
    """The first loop of a kernel."""
    first = k.body[0]
    assert isinstance(first, For)
    return first


def kernel(*body: Stmt, inputs: tuple[Tensor, ...] = (), requires: tuple[Expr, ...] = ()) -> Kernel:
    written = dict.fromkeys(s.tensor for s in walk(*body) if isinstance(s, Store))
    bound = {n.var for n in walk(*body) if isinstance(n, For)}
    sizes = sorted(variables(*body) - bound, key=lambda v: v.name)
    return Kernel("k", inputs, tuple(written), (), tuple(sizes), body, requires=requires)


@dataclass(frozen=True)
class Event:
    """One instance of a store: its iteration and the elements it reads and writes. An update
    writes.
    """

    store: Store
    loops: tuple[Var, ...]
    iteration: tuple[int, ...]
    reads: frozenset
    writes: frozenset

    @property
    def named(self) -> dict[str, int]:
        return {v.name: k for v, k in zip(self.loops, self.iteration)}


def events(k: Kernel, sizes: Mapping[Var, int], data: Mapping[Tensor, Mapping] | None = None) -> list[Event]:
    """All instances in the order of execution."""
    found: list[Event] = []
    _run(k.body, dict(sizes), (), found, data or {}, frozenset())
    return found


def _run(
    body: tuple[Stmt, ...],
    values: dict[Var, int],
    loops: tuple[Var, ...],
    found: list[Event],
    data,
    conditions: frozenset,
) -> None:
    for s in body:
        match s:
            case For(var, extent, inside):
                for n in range(evaluate(extent, values, data, set())):
                    _run(inside, values | {var: n}, (*loops, var), found, data, conditions)
            case If(cond, inside):
                read: set = set()
                if evaluate(cond, values, data, read):
                    _run(inside, values, loops, found, data, conditions | read)
            case Store(t, indices, value):
                read = set(conditions)
                element = t, tuple(evaluate(i, values, data, read) for i in indices)
                evaluate(value, values, data, read)
                found.append(
                    Event(s, loops, tuple(values[v] for v in loops), frozenset(read), frozenset({element}))
                )


def evaluate(x: Expr, values: Mapping[Var, int], data, read: set) -> int:
    """The value of an integer expression; floats count as 0. Adds the elements that are read."""

    def of(y: Expr) -> int:
        return evaluate(y, values, data, read)

    match x:
        case Const(value):
            return int(value)
        case Var():
            return values[x]
        case Read(t, indices):
            element = tuple(map(of, indices))
            read.add((t, element))
            return data.get(t, {}).get(element, 0)
        case Select(c, then, orelse):
            return of(then) if of(c) else of(orelse)
        case Neg(a):
            return -of(a)
        case Not(a):
            return not of(a)
        case Cast(a):
            return of(a)
        case Compare(op, a, b):
            return COMPARE[op](of(a), of(b))
    left, right = (of(c) for c in children(x) if isinstance(c, Expr))
    match x:
        case Add():
            return left + right
        case Sub():
            return left - right
        case Mul():
            return left * right
        case FloorDiv():
            return left // right if right else 0
        case Mod():
            return left % right if right else 0
        case Max():
            return max(left, right)
        case Min():
            return min(left, right)
        case And():
            return left and right
        case Or():
            return left or right
    raise AssertionError(x)


def meet(a: Event, b: Event) -> frozenset:
    """The elements that keep the two instances in order."""
    return (a.writes & (b.reads | b.writes)) | (a.reads & b.writes)


def ignorable(a: Event, b: Event) -> bool:
    """Updates of one store that may change places, and nothing else between the two."""
    s = a.store
    if (
        s is not b.store
        or s.update is None
        or not (s.reassoc or s.update in ("max", "min") or not s.tensor.dtype.is_float)
    ):
        return False
    return not (a.writes & b.reads) and not (a.reads & b.writes)


def carried_by_brute_force(
    k: Kernel, at_loop: For, sizes: Mapping[Var, int], data=None
) -> Iterator[tuple[Event, Event]]:
    """Pairs of instances in different iterations of the loop, equal in the loops around it, that
    meet.
    """
    found = [x for x in events(k, sizes, data) if at_loop.var in x.loops]
    for a, b in product(found, found):
        depth = a.loops.index(at_loop.var)
        if (
            a.iteration[:depth] == b.iteration[:depth]
            and a.iteration[depth] < b.iteration[depth]
            and meet(a, b)
        ):
            yield a, b
