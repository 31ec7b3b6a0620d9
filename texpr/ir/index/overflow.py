"""Index arithmetic at the sizes of a call: it is proven with integers of any size and computed in
64 bits, so it has to fit them.

Intervals bound every index, extent, range and comparison of indices, in exact integers. Data that
states no range is left out: no proof looks into sums and products of it. So are factors above
`LARGEST_FACTOR`, which are no index arithmetic: such products wrap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from texpr.ir.dtypes import BOOL, I64, U64, int_range
from texpr.ir.expr import (
    Add,
    Axis,
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
    Node,
    Read,
    Reduce,
    Select,
    Sub,
    Var,
)
from texpr.ir.printing.expr import show
from texpr.ir.shapes import Sizes, evaluate_size
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import children, postorder, variables, walk
from texpr.support.errors import ResourceError

LARGEST_FACTOR = 1 << 32
SMALL_FACTOR = 1 << 8
USUAL_SIZE = 1 << 48
"""Sizes below it times a few small factors fit: only programs with other products are looked at
then.
"""

Interval = tuple[int, int]
_LIMIT = 1 << 63


def is_wild(e: Expr) -> bool:
    """True if a value of 64 bits of which nothing is known, or a product that is no index
    arithmetic, is part of an expression, so that arithmetic in it may wrap.
    """
    return any(
        isinstance(n, Mul)
        and n.dtype == I64
        and any(isinstance(c, Const) and abs(c.value) > LARGEST_FACTOR for c in (n.lhs, n.rhs))
        or isinstance(n, Read)
        and n.dtype in (I64, U64)
        and n.tensor.value_range is None
        or isinstance(n, Reduce)
        and n.dtype == I64
        and n.op in ("sum", "prod")
        or isinstance(n, Cast)
        and n.dtype == I64
        and n.operand.dtype.is_float
        for n in walk(e)
    )


def programs_of(program: Program) -> list[Program]:
    """The program and all that it calls, each once."""
    found = {id(program): program}
    stack = [program]
    while stack:
        called = [e.program for e in stack.pop().equations if isinstance(e, Invoke)]
        stack += [p for p in called if id(p) not in found]
        found.update((id(p), p) for p in called)
    return list(found.values())


def has_products(program: Program) -> bool:
    """True if an equation, of the program or of what it calls, multiplies more than a size by small
    constants.
    """
    return any(
        isinstance(e, Equation) and not _is_small(e) for p in programs_of(program) for e in p.equations
    )


def check_reach(program: Program, sizes: Sizes) -> None:
    """Refuse sizes for which index arithmetic would not fit 64 bits. Calls are not looked into.

    Raises:
        ResourceError: it shows the expression.
    """
    usual = all(n < USUAL_SIZE for n in sizes.values())
    for equation in program.equations:
        if isinstance(equation, Equation) and not (usual and _is_small(equation)):
            _check(program, equation, sizes)


def _is_small(equation: Equation) -> bool:
    """No product but by small constants."""
    return all(
        any(isinstance(c, Const) and abs(c.value) <= SMALL_FACTOR for c in (n.lhs, n.rhs))
        for n in walk(equation)
        if isinstance(n, Mul) and n.dtype == I64
    )


def _check(program: Program, equation: Equation, sizes: Sizes) -> None:
    known: dict[Var, Interval | None] = {v: (n, n) for v, n in sizes.items()}
    found: dict[int, Interval | None] = {}
    for axis in _axes(equation):
        lo, hi = (_interval(e, known, found, program) for e in (axis.lo, axis.hi))
        open_ended = lo is None or hi is None or lo[0] == -_LIMIT or hi[1] == _LIMIT - 1
        known[axis.var] = None if open_ended else (lo[0], max(lo[0], hi[1] - 1))  # type: ignore[index]
    for e in _roots(equation):
        _interval(e, known, found, program)
    if any(n >= USUAL_SIZE for n in sizes.values()):
        _check_data(program, equation, found)


def _check_data(program: Program, equation: Equation, found: Mapping[int, Interval | None]) -> None:
    """Data in sums that no guard looks at, or that say a range, was proven to be between such
    sums of sizes as are far from 64 bits.
    """
    unguarded = [
        e for n in walk(equation) if isinstance(n, Read | Equation) and n.guard is None for e in n.indices
    ]
    ends = [e for a in _axes(equation) for e in (a.lo, a.hi)]
    for e in (
        *(e for e in unguarded if isinstance(e, Add | Sub | Mul | Neg) and found.get(id(e)) is None),
        *ends,
    ):
        if is_wild(e):
            raise ResourceError(
                f"{program.name}: `{show(e)}` may leave 64 bits where a size is 2^48 or more",
                e.span or program.span,
                code="size",
                help="declare a range of values, or guard the read",
            )


def _axes(equation: Equation) -> Iterator[Axis]:
    """Outer ones first, for ranges may depend on them."""
    yield from equation.axes
    stack: list[Node] = list(reversed(children(equation)))
    while stack:
        node = stack.pop()
        if isinstance(node, Reduce):
            yield from node.axes
        stack += reversed(children(node))


def _roots(equation: Equation) -> Iterator[Expr]:
    yield from equation.indices
    for node in walk(equation):
        match node:
            case Read(_, indices):
                yield from indices
            case Compare(_, a, b) if a.dtype == I64:
                yield from (a, b)


def _interval(
    root: Expr, known: Mapping[Var, Interval | None], found: dict[int, Interval | None], program: Program
) -> Interval | None:
    """Bounds of an integer expression, None where nothing is known."""
    for node in postorder(root):
        if id(node) not in found and isinstance(node, Expr) and node.dtype != BOOL:
            bounds = found[id(node)] = _bounds(node, _of_operands(node, found), known)
            if bounds is not None and node.dtype == I64 and not -_LIMIT <= bounds[0] <= bounds[1] < _LIMIT:
                raise _too_large(program, node, bounds, known)
    return found.get(id(root))


def interval_of(e: Expr, known: Mapping[Var, Interval | None]) -> Interval | None:
    """Bounds of index arithmetic where its variables are within theirs, in exact integers; None
    where nothing is known.
    """
    found: dict[int, Interval | None] = {}
    for node in postorder(e):
        if isinstance(node, Expr) and node.dtype != BOOL:
            found[id(node)] = _bounds(node, _of_operands(node, found), known)
    return found.get(id(e))


def _of_operands(node: Expr, found: Mapping[int, Interval | None]) -> list[Interval | None]:
    """Bounds of what a node is made of. Of data that one extreme bounds on one side, arithmetic
    wraps: nothing is known there.
    """
    below = [found.get(id(c)) for c in children(node)]
    if isinstance(node, Max | Min | Select):
        return below
    return [
        None
        if b is not None and isinstance(c, Max | Min | Select) and (b[0] == -_LIMIT or b[1] == _LIMIT - 1)
        else b
        for c, b in zip(children(node), below)
    ]


def _too_large(
    program: Program, node: Expr, bounds: Interval, known: Mapping[Var, Interval | None]
) -> ResourceError:
    far = max(bounds, key=abs)
    used = ", ".join(
        f"{v.name} = {b[0]}"
        for v in sorted(variables(node), key=lambda v: v.name)
        if (b := known.get(v)) and b[0] == b[1]
    )
    return ResourceError(
        f"{program.name}: `{show(node)}` reaches {far}{f' at {used}' if used else ''}: indices are 64-bit "
        f"integers",
        node.span or program.span,
        code="size",
    )


def _bounds(
    node: Expr, below: list[Interval | None], known: Mapping[Var, Interval | None]
) -> Interval | None:
    match node:
        case Const(value):
            return (int(value), int(value)) if node.dtype.is_int else None
        case Var():
            return known.get(node)
        case Read(tensor, guard=guard):
            if not tensor.value_range:
                return _of_type(node)
            declared = _declared(tensor.value_range, known)
            if guard is None or guard.value is None:
                return declared
            return _union(
                declared,
                _bounds(guard.value, [], known) if isinstance(guard.value, Const | Var) else _of_type(node),
            )
        case Select():
            return _union(below[1], below[2])
        case Cast(operand):
            return below[0] if operand.dtype.is_int and node.dtype == I64 else _of_type(node)
        case Neg():
            return None if below[0] is None else (-below[0][1], -below[0][0])
        case Call("abs"):
            return None if below[0] is None else (0, max(map(abs, below[0])))
        case Mul(a, b) if any(isinstance(c, Const) and abs(c.value) > LARGEST_FACTOR for c in (a, b)):
            return None
        case Max() | Min():
            return _extreme(node, below[0], below[1]) if node.dtype == I64 else _of_type(node)
        case Add() | Sub() | Mul() | FloorDiv() | Mod():
            return (
                None
                if below[0] is None or below[1] is None or node.dtype != I64
                else _combined(node, below[0], below[1])
            )
    return _of_type(node)


def _extreme(node: Max | Min, a: Interval | None, b: Interval | None) -> Interval | None:
    """Of `clamp(x, 0, N)` both ends are known whatever x is; of one extreme one is, and the
    other is the end of the type.
    """
    if a is None and b is None:
        return None
    (low, high), (least, most) = (x or (-_LIMIT, _LIMIT - 1) for x in (a, b))
    return (max(low, least), max(high, most)) if isinstance(node, Max) else (min(low, least), min(high, most))


def _combined(node: Expr, a: Interval, b: Interval) -> Interval:
    match node:
        case Add():
            return a[0] + b[0], a[1] + b[1]
        case Sub():
            return a[0] - b[1], a[1] - b[0]
        case Mul():
            ends = [x * y for x, y in product(a, b)]
            return min(ends), max(ends)
        case FloorDiv():
            far = max(map(abs, a))
            return (a[0] // b[0], a[1] // b[0]) if b[0] == b[1] > 0 else (-far, far)
        case Mod():
            far = max(map(abs, b))
            return -far, far
    raise AssertionError(f"no bounds of {type(node).__name__}")


def _union(a: Interval | None, b: Interval | None) -> Interval | None:
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))


def _of_type(node: Expr) -> Interval | None:
    """The values of a narrow integer type."""
    return int_range(node.dtype) if node.dtype.is_int and node.dtype.bits < 64 else None


def _declared(bounds: tuple[Expr, Expr], known: Mapping[Var, Interval | None]) -> Interval | None:
    sizes = {v: b[0] for v, b in known.items() if b is not None and b[0] == b[1]}
    lo, hi = (evaluate_size(e, sizes) if variables(e) <= sizes.keys() else None for e in bounds)
    return None if lo is None or hi is None else (lo, max(lo, hi - 1))
