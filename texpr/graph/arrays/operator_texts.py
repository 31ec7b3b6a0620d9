"""Operators that methods of tensors stand for, written as text for the ranks, dtypes and shapes at
hand.

Elementwise operators and reductions have symbolic sizes, so one text serves all shapes of a rank
that broadcast alike. What takes elements from places (slices, reshapes) is written for its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from texpr.compiler import Op, op
from texpr.ir.dtypes import I64, DType, int_range
from texpr.ir.shapes import Shape
from texpr.support.errors import CallError

written: Callable[[str], Op] = lru_cache(maxsize=4096)(op)
"""The operator of a text; the same object for the same text."""


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape that all of these have together, aligned at the last axis.

    Raises:
        CallError: they do not fit each other.
    """
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    result = []
    for extents in zip(*padded):
        others = {n for n in extents if n != 1}
        if len(others) > 1:
            raise CallError(
                f"shapes {' and '.join(str(list(s)) for s in shapes)} do not fit each other",
                code="shape",
                help="axes are aligned at the last one; extents must be equal, or 1",
            )
        result.append(others.pop() if others else 1)
    return tuple(result)


def elementwise(
    name: str,
    expression: str,
    shapes: Sequence[Shape],
    dtypes: Sequence[DType],
    result: DType,
    computed: DType | None = None,
    ranges: Sequence[str] = ("", "", ""),
    values: str = "",
) -> Op:
    """Y = expression of the elements of A, B, C; `{0}`, `{1}`, `{2}` in it.

    Args:
        result: the dtype of Y.
        computed: the dtype to which elements are converted first; None for no conversion.
        ranges: what is declared of the values of each operand.
        values: what is declared of those of Y.
    """
    whole = broadcast(shapes)
    inputs, reads = [], []
    for letter, shape, t, within in zip("ABC", shapes, dtypes, ranges):
        dims, at = _aligned(shape, whole)
        inputs.append(f"{letter}: {_typed(t, dims)}{within}")
        read = f"{letter}{_at(at)}"
        reads.append(read if computed in (None, t) else f"{computed}({read})")
    axes = [f"i{k}" for k in range(len(whole))]
    dims = [f"N{k}" for k in range(len(whole))]
    return written(
        f"op {name}({', '.join(inputs)}) -> Y: {_typed(result, dims)}{values} {{ Y{_at(axes)} = "
        f"{expression.format(*reads)} }}"
    )


def reduction(
    name: str,
    text: str,
    rank: int,
    axes: Sequence[int],
    keepdims: bool,
    t: DType,
    result: DType,
    computed: DType,
    in_axis: bool = False,
) -> Op:
    """Y = text, in which `{over}` are the axes that are reduced, `{x}` an element of X as
    `computed`, `{count}` how many there are.

    Args:
        in_axis: Y is places on the one axis that is reduced.
    """
    kept = [k for k in range(rank) if k not in axes]
    dims = [f"N{k}" if k in kept else "1" for k in range(rank) if k in kept or keepdims]
    at = [f"i{k}" if k in kept else "0" for k in range(rank) if k in kept or keepdims]
    read = f"X{_at([f'i{k}' for k in range(rank)])}"
    filled = text.format(
        over=", ".join(f"i{k}" for k in axes),
        x=read if t == computed else f"{computed}({read})",
        count=" * ".join(f"N{k}" for k in axes),
        kept=_at(f"i{k}" for k in kept),
        t=computed,
    )
    *before, last = filled.split(" ;; ")
    body = "  ".join([*before, f"Y{_at(at)} = {last}"])
    inside = _typed(t, [f"N{k}" for k in range(rank)])
    within = f" in 0..N{axes[0]}" if in_axis else ""
    return written(f"op {name}(X: {inside}) -> Y: {_typed(result, dims)}{within} {{ {body} }}")


def permuted(order: Sequence[int], t: DType) -> Op:
    """Axis k of Y is axis `order[k]` of X."""
    rank = len(order)
    dims, axes = [f"N{k}" for k in range(rank)], [f"i{k}" for k in range(rank)]
    return written(
        f"op permute(X: {_typed(t, dims)}) -> Y: {_typed(t, [dims[k] for k in order])} "
        f"{{ Y{_at(axes[k] for k in order)} = X{_at(axes)} }}"
    )


def stretched(shape: Shape, to: Shape, t: DType) -> Op:
    """X repeated along axes of extent 1, and along new ones in front."""
    first = len(to) - len(shape)
    at = ["0" if n == 1 else f"i{first + k}" for k, n in enumerate(shape)]
    return written(
        f"op broadcast_to(X: {_typed(t, shape)}) -> Y: {_typed(t, to)} "
        f"{{ Y{_at(f'i{k}' for k in range(len(to)))} = X{_at(at)}  {_ranges(to)} }}"
    )


def flattened(shape: Shape, t: DType) -> Op:
    """All elements in the order of memory."""
    dims, axes = [f"N{k}" for k in range(len(shape))], ", ".join(f"i{k}" for k in range(len(shape)))
    return written(
        f"op flatten(X: {_typed(t, dims)}) -> Y: {t}[({', '.join(dims)})] {{ Y[({axes})] = X[{axes}] }}"
    )


def unflattened(shape: Shape, t: DType) -> Op:
    """A line of elements as an array of this shape."""
    axes = ", ".join(f"i{k}" for k in range(len(shape)))
    group = f"({', '.join(map(str, shape))})"
    return written(f"op reshape(X: {t}[{group}]) -> Y: {_typed(t, shape)} {{ Y[{axes}] = X[({axes})] }}")


def taken(
    shape: Shape, at: Sequence[str], result: Shape, t: DType, places: Sequence[tuple[Shape, int]] = ()
) -> Op:
    """Y = X at these indices, over axes `i0`, `i1`, ... of Y.

    Args:
        places: shapes of the integer arrays `P0`, `P1`, ... that the indices name, and the extents
            of the axes which they count along, from the end where they are negative.
    """
    given = "".join(f", P{k}: {_typed_in(s, n)}" for k, (s, n) in enumerate(places))
    return written(
        f"op take(X: {_typed(t, shape)}{given}) -> Y: {_typed(t, result)} "
        f"{{ Y{_at(f'i{k}' for k in range(len(result)))} = X{_at(at)}  {_ranges(result)} }}"
    )


def windows(shape: Shape, axis: int, size: int, step: int, t: DType) -> Op:
    """Y = windows of X along an axis, of so many elements and `step` apart, as its last axis."""
    at, result = [f"i{k}" for k in range(len(shape))], [*shape, size]
    result[axis] = (shape[axis] - size) // step + 1
    at[axis] = f"{step}*{at[axis]} + i{len(shape)}"
    return taken(shape, at, tuple(result), t)


def put(shape: Shape, condition: str, at: Sequence[str], values: Shape, t: DType) -> Op:
    """Y = U at these indices where the condition holds, over axes `i0`, `i1`, ... of X; X
    elsewhere.
    """
    axes = _at(f"i{k}" for k in range(len(shape)))
    new = f"U{_at(at)}"
    value = new if not condition else f"if {condition} then {new} else X{axes}"
    typed = _typed(t, shape)
    return written(
        f"op put(X: {typed}, U: {_typed(t, values)}) -> Y: {typed} {{ Y{axes} = {value}  {_ranges(shape)} }}"
    )


def constant(shape: Shape, t: DType, result: Shape, computed: DType, number: str) -> Op:
    """Y is one number everywhere. X says only where Y lies."""
    return written(
        f"op full(X: {_typed(t, shape)}) -> Y: {_typed(computed, result)} "
        f"{{ Y{_at(f'i{k}' for k in range(len(result)))} = {number}  {_ranges(result)} }}"
    )


def product(left: Shape, right: Shape, t: DType) -> Op:
    """A @ B of NumPy for two axes at least on each side: leading axes broadcast. Sums of small
    integers are i32, and wrap as the result.
    """
    whole = broadcast([left[:-2], right[:-2]])
    (a, at_a), (b, at_b) = _aligned(left[:-2], whole), _aligned(right[:-2], whole)
    outer, at = [f"N{k}" for k in range(len(whole))], [f"i{k}" for k in range(len(whole))]
    value = f"sum(k: A{_at([*at_a, 'i', 'k'])} * B{_at([*at_b, 'k', 'j'])})"
    value = f"{t}({value})" if t.is_int and t.bits < 32 else value
    return written(
        f"op matmul(A: {_typed(t, [*a, 'M', 'K'])}, B: {_typed(t, [*b, 'K', 'N'])}) -> C: "
        f"{_typed(t, [*outer, 'M', 'N'])} "
        f"{{ C{_at([*at, 'i', 'j'])} = {value} }}"
    )


def power(shapes: Sequence[Shape], dtypes: Sequence[DType], t: DType) -> Op:
    """A ** B of integers, computed in `t`, which wraps: squares, and products where a bit of B
    is set, from the highest bit on.
    """
    whole, (kind, by), bits = broadcast(shapes), dtypes, dtypes[1].bits - dtypes[1].is_signed
    (a, at_a), (b, at_b) = (_aligned(s, whole) for s in shapes)
    dims, at = [f"N{k}" for k in range(len(whole))], [f"i{k}" for k in range(len(whole))]
    before, base = f"r{_at([*at, 'k - 1'])[:-1]} | 1]", f"{t}(A{_at(at_a)})" if kind != t else f"A{_at(at_a)}"
    bit = f"bit_and(shr(exponent{_at(at_b)}, {by}({bits - 1} - k)), 1)"
    # Ranges end before their upper bound, which an i64 has to hold.
    positive = f" in 0..{int_range(by)[1] + (by.bits < 64)}" if by.is_signed else ""
    return written(
        f"op power(A: {_typed(kind, a)}, exponent: {_typed(by, b)}{positive}) -> Y: {_typed(t, dims)} {{ "
        f"let r: {_typed(t, [*dims, bits])}  "
        f"r{_at([*at, 'k'])} = {before} * {before} * (if {bit} != 0 then {base} else 1)  "
        f"Y{_at(at)} = r{_at([*at, bits - 1])} }}"
    )


def constant_power(rank: int, t: DType, exponent: int) -> Op:
    """A ** exponent of integers, which wrap, for an exponent above 0: the product of the squares
    of squares that its bits name.
    """
    typed, at = _typed(t, [f"N{k}" for k in range(rank)]), _at(f"i{k}" for k in range(rank))
    squares = ["A", *(f"s{k}" for k in range(1, exponent.bit_length()))]
    equations = "  ".join(f"{b}{at} = {a}{at} * {a}{at}" for a, b in zip(squares, squares[1:]))
    value = " * ".join(f"{s}{at}" for k, s in enumerate(squares) if exponent >> k & 1)
    return written(f"op power(A: {typed}) -> Y: {typed} {{ {equations}  Y{at} = {value} }}")


def _aligned(shape: Shape, whole: Shape) -> tuple[list[str], list[str]]:
    """Dimensions and indices of an operand of a result: 1 and 0 where it is repeated."""
    first = len(whole) - len(shape)
    alone = [n == 1 and whole[first + k] != 1 for k, n in enumerate(shape)]
    return (
        ["1" if a else f"N{first + k}" for k, a in enumerate(alone)],
        ["0" if a else f"i{first + k}" for k, a in enumerate(alone)],
    )


def _typed(t: DType, dims: Sequence[object]) -> str:
    return f"{t}[{', '.join(map(str, dims))}]" if dims else str(t)


def _typed_in(shape: Shape, extent: int) -> str:
    return f"{_typed(I64, shape)} in {-extent}..{extent}"


def _at(indices: object) -> str:
    found = list(map(str, indices))  # type: ignore[call-overload]
    return f"[{', '.join(found)}]" if found else ""


def _ranges(shape: Shape) -> str:
    """The ranges of the axes, which indices alone need not tell."""
    return "for " + ", ".join(f"i{k} in 0..{n}" for k, n in enumerate(shape)) if shape else ""
