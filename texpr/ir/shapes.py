"""Sizes at a call: bound from the shapes of the inputs, evaluated, and turned into the shapes of
outputs.

Callers see `Tensor.dims` (a pack has any rank, a group `(C, H)` is one axis); programs see
`Tensor.shape`. `bind_sizes` goes from the callers' shapes to sizes, `caller_shape` and `flat_shape`
come back.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from math import prod
from numbers import Integral
from typing import Any

from texpr.ir.affine import linear
from texpr.ir.dtypes import BOOL, I64
from texpr.ir.expr import (
    Add,
    And,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Dim,
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
    Select,
    Sub,
    Tensor,
    Var,
)
from texpr.ir.traverse import postorder, variables
from texpr.support.errors import CallError

Sizes = Mapping[Var, int]
Shape = tuple[int, ...]

_BINARY: dict[type, Callable[[int, int], int]] = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    Max: max,
    Min: min,
    FloorDiv: lambda a, b: a // b if b else 0,
    Mod: lambda a, b: a % b if b else 0,
    And: lambda a, b: bool(a) and bool(b),
    Or: lambda a, b: bool(a) or bool(b),
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def evaluate_size(expr: Expr, sizes: Sizes) -> int:
    """The value of an integer (or bool) expression over sizes, in exact integers. Every variable
    must have a value.
    """
    if isinstance(expr, Const | Var):
        return _size_of(expr, {}, sizes)
    value: dict[int, int] = {}
    for node in postorder(expr):
        value[id(node)] = _size_of(node, value, sizes)
    return value[id(expr)]


def _size_of(node: Node, value: dict[int, int], sizes: Sizes) -> int:
    match node:
        case Const(number):
            return int(number)
        case Var(name):
            assert node in sizes, f"the size {name} has no value"
            return sizes[node]
        case Compare(op, a, b):
            return _COMPARE[op](value[id(a)], value[id(b)])
        case Select(cond, then, orelse):
            return value[id(then)] if value[id(cond)] else value[id(orelse)]
        case Neg(a):
            return -value[id(a)]
        case Not(a):
            return not value[id(a)]
        case Cast(a):
            return value[id(a)]
        case Call("abs", (a,)):
            return abs(value[id(a)])
        case (
            Add(a, b)
            | Sub(a, b)
            | Mul(a, b)
            | Max(a, b)
            | Min(a, b)
            | FloorDiv(a, b)
            | Mod(a, b)
            | And(a, b)
            | Or(a, b)
        ):
            return _BINARY[type(node)](value[id(a)], value[id(b)])
        case _:
            raise AssertionError(f"{type(node).__name__} in a size")


def value_at(expr: Expr, values: Sizes, otherwise: int) -> int | None:
    """The value of an index or a condition on indices, in exact integers; None where data are part
    of it.

    Args:
        otherwise: the value of all other variables.
    """
    value: dict[int, int] = {}
    for node in postorder(expr):
        match node:
            case Var():
                value[id(node)] = values.get(node, otherwise)
            case Const() | Compare() | Select() | Neg() | Not() | Binary() if node.dtype in (I64, BOOL):
                value[id(node)] = _size_of(node, value, values)
            case _:
                return None
    return value[id(expr)]


def flat_shape(tensor: Tensor, sizes: Sizes) -> Shape:
    """The shape that indices run over."""
    return tuple(evaluate_size(size, sizes) for size in tensor.shape)


def caller_shape(tensor: Tensor, sizes: Sizes, packs: Mapping[Var, Shape]) -> Shape:
    """The shape callers see: packs opened, groups multiplied. A pack nobody bound is one
    dimension.
    """
    shape: Shape = ()
    for dim in tensor.dims:
        pack = dim.sizes[0]
        if dim.pack and isinstance(pack, Var) and pack in packs:
            shape += packs[pack]
        else:
            shape += (prod(evaluate_size(size, sizes) for size in dim.sizes),)
    return shape


def bind_sizes(
    inputs: Sequence[Tensor], shapes: Sequence[Shape], known: Sizes | None = None
) -> tuple[dict[Var, int], dict[Var, Shape]]:
    """Values of the sizes, and shapes of the packs, that these shapes of the inputs mean.

    Args:
        known: sizes that were given by other means.
    Raises:
        CallError: a rank or an extent that does not fit; it names the tensor, the axis and both
            extents.
    """
    sizes: dict[Var, int] = dict(known or {})
    packs: dict[Var, Shape] = {}
    pieces = _split(inputs, shapes, packs)
    pending = [piece for piece in pieces if not _bind(piece, sizes)]
    while pending:
        rest = [piece for piece in pending if not _bind(piece, sizes)]
        if len(rest) == len(pending):
            break
        pending = rest
    for piece in pending:
        _refuse_unknown(piece, sizes)
    return sizes, packs


_Piece = tuple[Tensor, int, Dim, Shape]
"""A tensor, the first axis, its dimension, and the extents the array has there."""


def _split(inputs: Sequence[Tensor], shapes: Sequence[Shape], packs: dict[Var, Shape]) -> list[_Piece]:
    """Every dimension of every input with its extents. A tensor whose packs have unknown ranks
    waits for the others.
    """
    pieces: list[_Piece] = []
    waiting = list(zip(inputs, shapes, strict=True))
    while waiting:
        rest = []
        for tensor, shape in waiting:
            lengths = _lengths(tensor, len(shape), packs)
            if lengths is None:
                rest.append((tensor, shape))
            else:
                pieces += _cut(tensor, shape, lengths, packs)
        if len(rest) == len(waiting):
            tensor, shape = rest[0]
            raise CallError(
                f"the {len(shape)} dimensions of `{tensor.name}` can be divided between its packs in several "
                f"ways",
                code="rank",
                help="give the axis where one pack ends as a constant",
            )
        waiting = rest
    return pieces


def _lengths(tensor: Tensor, rank: int, packs: dict[Var, Shape]) -> list[int] | None:
    """Number of axes of each dimension; None while that is open."""
    lengths = [_length(dim, packs) for dim in tensor.dims]
    left = rank - sum(n for n in lengths if n is not None)
    open_packs = {dim.sizes[0] for dim, n in zip(tensor.dims, lengths) if n is None}
    count = lengths.count(None)
    if left < 0 or (left != 0 and count == 0) or (len(open_packs) == 1 and left % count):
        raise _rank_error(tensor, rank, sum(n or 0 for n in lengths), count > 0)
    if len(open_packs) > 1:
        return None
    return [left // count if n is None else n for n in lengths]


def _length(dim: Dim, packs: dict[Var, Shape]) -> int | None:
    if not dim.pack:
        return 1
    pack = dim.sizes[0]
    if isinstance(pack, Var) and pack in packs:
        return len(packs[pack])
    return dim.length


def _rank_error(tensor: Tensor, found: int, expected: int, at_least: bool) -> CallError:
    more = "at least " if at_least else ""
    return CallError(f"`{tensor.name}` has {_count(found)}, expected {more}{expected}", code="rank")


def _count(rank: int) -> str:
    return "1 dimension" if rank == 1 else f"{rank} dimensions"


def _cut(tensor: Tensor, shape: Shape, lengths: list[int], packs: dict[Var, Shape]) -> list[_Piece]:
    pieces: list[_Piece] = []
    axis = 0
    for dim, length in zip(tensor.dims, lengths):
        extents = tuple(map(_extent, shape[axis : axis + length]))
        pack = dim.sizes[0] if dim.pack else None
        if isinstance(pack, Var) and packs.setdefault(pack, extents) != extents:
            raise CallError(
                f"`{tensor.name}` has shape {extents} for the pack *{pack.name}, but {packs[pack]} was found "
                f"before",
                code="shape",
            )
        pieces.append((tensor, axis, dim, extents))
        axis += length
    return pieces


def _extent(n: Any) -> int:
    """An extent as an integer of Python; what a framework traces with stays what it is."""
    return int(n) if isinstance(n, Integral) else n


def _bind(piece: _Piece, sizes: dict[Var, int]) -> bool:
    """Use one dimension: give a value to its only unknown size, or compare. False where more
    than one size is unknown.
    """
    tensor, axis, dim, extents = piece
    found = prod(extents)
    if len(dim.sizes) == 1 and isinstance(size := dim.sizes[0], Var) and size not in sizes:
        sizes[size] = found
        return True
    unknown = [size for size in dim.sizes if any(v not in sizes for v in variables(size))]
    rest = prod(evaluate_size(size, sizes) for size in dim.sizes if not any(size is u for u in unknown))
    if not unknown:
        if found != rest:
            raise _extent_error(tensor, axis, dim, found, rest)
        return True
    if len(unknown) > 1 or rest == 0:
        return False
    if found % rest:
        raise CallError(
            f"axis {axis} of `{tensor.name}` has extent {found}, not a multiple of {rest}", code="shape"
        )
    return _solve(
        unknown[0],
        found // rest,
        sizes,
        lambda: CallError(
            f"axis {axis} of `{tensor.name}` has extent {found}, which no size gives", code="shape"
        ),
    )


def _solve(size: Expr, value: int, sizes: dict[Var, int], refuse: Callable[[], CallError]) -> bool:
    """Find the unknown of `size == value` where it is linear in one."""
    form = linear(size)
    unknown = [t for t, _ in form.terms if t not in sizes]
    if len(unknown) != 1 or not isinstance(unknown[0], Var) or not form.is_affine:
        return False
    known = sum(c * sizes[t] for t, c in form.terms if isinstance(t, Var) and t in sizes) + form.constant
    factor = form.coefficient(unknown[0])
    if (value - known) % factor or (value - known) // factor < 0:
        raise refuse()
    sizes[unknown[0]] = (value - known) // factor
    return True


def _extent_error(tensor: Tensor, axis: int, dim: Dim, found: int, expected: int) -> CallError:
    names = [size.name for size in dim.sizes if isinstance(size, Var)]
    label = f"{names[0]} = " if len(dim.sizes) == 1 and names else ""
    return CallError(
        f"axis {axis} of `{tensor.name}` has extent {found}, expected {label}{expected}", code="shape"
    )


def _refuse_unknown(piece: _Piece, sizes: Sizes) -> None:
    tensor, axis, dim, extents = piece
    names = sorted({v.name for size in dim.sizes for v in variables(size) if v not in sizes})
    raise CallError(
        f"axis {axis} of `{tensor.name}`, extent {prod(extents)}, does not tell the sizes {', '.join(names)} "
        f"apart",
        code="shape",
        help="give all but one of them by name",
    )
