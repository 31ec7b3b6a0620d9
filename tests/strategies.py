"""What random tests draw: arrays of every dtype and layout, scalar expressions, and small
Programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from tests.programs import axis, number, reduction
from texpr.ir.dtypes import BF16, BOOL, DTYPES, F32, F64, I32, I64, DType, int_range, numpy_dtype, stored
from texpr.ir.expr import (
    Add,
    Axis,
    Call,
    Cast,
    Compare,
    Div,
    Expr,
    FloorDiv,
    Guard,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Read,
    Select,
    Sub,
    Tensor,
    Var,
    index,
    plain,
)
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Equation, Program

dtypes = st.sampled_from(list(DTYPES.values()))
floats = st.sampled_from([t for t in DTYPES.values() if t.is_float])
integers = st.sampled_from([t for t in DTYPES.values() if t.is_int])


def shapes(rank: int = 3, largest: int = 5, smallest: int = 0) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of at most `rank` dimensions."""
    return st.lists(st.integers(smallest, largest), max_size=rank).map(tuple)


def special_values(t: DType) -> np.ndarray:
    """The values of a type where arithmetic goes wrong, as stored."""
    if t == BOOL:
        return np.array([False, True])
    if t.is_int:
        lo, hi = int_range(t)
        return np.array(
            sorted({lo, lo + 1, hi, hi - 1, 0, 1, 2, 3, 7, *((-1, -2, -7) if lo else ())}), numpy_dtype(t)
        )
    if t == BF16:
        return np.array(
            [
                0,
                0x8000,
                1,
                0x8001,
                0x3F80,
                0xBF80,
                0x3F81,
                0x4040,
                0xC0E0,
                0x7F7F,
                0xFF7F,
                0x7F80,
                0xFF80,
                0x7FC0,
            ],
            np.uint16,
        )
    # zeros, denormal and normal numbers next to each other, 1, 1.5 and -2.5, the last numbers,
    # infinities, NaN
    if t.as_bits:
        return np.array(
            [
                0,
                0x80,
                1,
                0x81,
                3,
                4,
                7,
                8,
                0x38,
                0x3C,
                0xBC,
                0x42,
                0xC2,
                0x7B,
                0xFB,
                0x7C,
                0xFC,
                0x7E,
                0xFE,
                0x7F,
            ],
            np.uint8,
        )
    limits = np.finfo(numpy_dtype(t))
    return np.array(
        [
            0.0,
            -0.0,
            1,
            -1,
            1.5,
            -2.5,
            3,
            7.25,
            -7.25,
            0.1,
            limits.max,
            limits.min,
            limits.tiny,
            limits.smallest_subnormal,
            np.inf,
            -np.inf,
            np.nan,
        ],
        limits.dtype,
    )


def elements(t: DType) -> st.SearchStrategy[np.generic]:
    """One stored element: small numbers mostly, special ones sometimes."""
    special = st.sampled_from(list(special_values(t)))
    if t == BOOL:
        return special
    if t.is_int:
        return st.one_of(st.integers(max(int_range(t)[0], -9), 9).map(numpy_dtype(t).type), special)
    if t == BF16:
        return st.one_of(st.integers(0x3F00, 0x4200).map(np.uint16), special)
    if t.as_bits:
        return st.one_of(st.integers(-8, 8).map(lambda k: np.uint8(stored(k / 4, t))), special)
    return st.one_of(st.integers(-64, 64).map(lambda k: numpy_dtype(t).type(k / 8)), special)


@st.composite
def arrays(draw: st.DrawFn, t: DType, shape: tuple[int, ...]) -> np.ndarray:
    """A plain array of stored elements."""
    count = int(np.prod(shape, dtype=int))
    return np.array(draw(st.lists(elements(t), min_size=count, max_size=count)), numpy_dtype(t)).reshape(
        shape
    )


def _every_other(a: np.ndarray) -> np.ndarray:
    return np.repeat(a, 2, axis=0)[::2] if a.ndim else a


def _misaligned(a: np.ndarray) -> np.ndarray:
    memory = np.zeros(a.nbytes + 1, np.uint8)
    view = memory[1:].view(a.dtype).reshape(a.shape)
    view[...] = a
    return view


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "plain": lambda a: a,
    "fortran": np.asfortranarray,
    "negative": lambda a: np.ascontiguousarray(a[::-1])[::-1] if a.ndim else a,
    "negative inside": lambda a: np.ascontiguousarray(a[..., ::-1])[..., ::-1] if a.ndim else a,
    "every other": _every_other,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "misaligned": _misaligned,
    "byte-swapped": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "read-only": lambda a: _read_only(a.copy()),
}
"""The same values in other places of memory."""


def _read_only(a: np.ndarray) -> np.ndarray:
    a.flags.writeable = False
    return a


layouts = st.sampled_from(list(LAYOUTS))


@st.composite
def laid_out(draw: st.DrawFn, t: DType, shape: tuple[int, ...]) -> np.ndarray:
    """An array in any memory layout, a broadcast one among them."""
    if shape and draw(st.integers(0, 4)) == 0:
        return np.broadcast_to(draw(arrays(t, (1, *shape[1:]))), shape)
    return LAYOUTS[draw(layouts)](draw(arrays(t, shape)))


def scalar_exprs(t: DType, leaves: Sequence[Expr], size: int = 8) -> st.SearchStrategy[Expr]:
    """Expressions of type `t` over leaves of type `t`, whose value every interpreter gives bit
    for bit.
    """
    start = st.sampled_from([*leaves, *leaves, *(number(k, t) for k in (0, 1, 2, 3))])
    return st.recursive(start, lambda below: _grown(t, below), max_leaves=size)


def _grown(t: DType, below: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    binary = [Add, Sub, Mul, Max, Min, *([Div] if t.is_float else [FloorDiv, Mod])]
    conditions = st.builds(Compare, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), below, below)
    return st.one_of(
        st.builds(lambda kind, a, b: kind(a, b), st.sampled_from(binary), below, below),
        st.builds(Neg, below),
        st.builds(lambda a: Call("abs", (a,)), below),
        st.builds(Select, conditions, below, below),
        st.builds(lambda a: Cast(Cast(a, dtype=F64 if t != F64 else F32), dtype=t), below),
    )


@dataclass(frozen=True, slots=True, repr=False)
class Case:
    """A program and arrays to call it with."""

    program: Program
    arrays: tuple[np.ndarray, ...]

    def _repr_pretty_(self, printer, cycle: bool) -> None:
        printer.text(repr(self))

    def __repr__(self) -> str:
        return "\n".join(
            [
                show_program(self.program),
                *(f"{x.name} = {a!r}" for x, a in zip(self.program.inputs, self.arrays)),
            ]
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A small program: elementwise, guarded, reduced or scattered, over one or two inputs; sizes
    from 1 to 5.
    """
    t = draw(st.sampled_from([F32, F64, I32, I64]))
    sizes = [Var("M"), Var("N")]
    extents = {size: draw(st.integers(2, 5)) for size in sizes}
    ranks = draw(st.lists(st.integers(0, 2), min_size=1, max_size=2))
    inputs = [
        Tensor(f"X{k}", t, plain(*(draw(st.sampled_from(sizes)) for _ in range(rank))))
        for k, rank in enumerate(ranks)
    ]
    inputs.append(Tensor("Z", t, plain(*sizes)))  # so that every size is bound
    axes = [axis(Var(name), draw(st.sampled_from(sizes))) for name in "ij"[: draw(st.integers(1, 2))]]
    leaves: list[Expr] = [draw(_reads(x, axes, t)) for x in inputs]
    binder = axis(Var("k"), draw(st.sampled_from(sizes)))
    body = draw(scalar_exprs(t, [draw(_reads(x, [*axes, binder], t)) for x in inputs], 3))
    leaves.append(
        reduction(
            draw(st.sampled_from(["sum", "prod", "max", "min"])),
            [binder],
            body,
            draw(_conditions(axes, binder)),
        )
    )
    target = Tensor("Y", t, plain(*(a.hi for a in axes)))
    equations = [Equation(target, tuple(a.var for a in axes), tuple(axes), draw(scalar_exprs(t, leaves, 5)))]
    if draw(st.booleans()):
        equations.append(draw(_updates(target, inputs, t)))
    program = Program("case", tuple(inputs), (target,), tuple(equations), tuple(sizes))
    return Case(
        program,
        tuple(draw(arrays(t, tuple(extents[s] for s in x.shape if isinstance(s, Var)))) for x in inputs),
    )


def _conditions(axes: list[Axis], binder: Axis) -> st.SearchStrategy[Expr | None]:
    return st.sampled_from(
        [None, Compare("<=", binder.var, axes[0].var), Compare("!=", binder.var, index(1))]
    )


@st.composite
def _reads(draw: st.DrawFn, tensor: Tensor, axes: list[Axis], t: DType) -> Read:
    """A read that a guard keeps inside."""
    indices, mode = [], draw(st.sampled_from(["value", "clamp", "wrap", "reflect"]))
    needs_guard = False
    for size in tensor.shape:
        same = [a.var for a in axes if a.hi is size]
        offset = draw(st.integers(-1, 1)) if same else 0
        needs_guard = needs_guard or offset != 0
        base = draw(st.sampled_from([index(0), *same]))
        indices.append(base if offset == 0 else Add(base, index(offset)))
    value = number(draw(st.integers(0, 2)), t) if mode == "value" else None
    return Read(tensor, tuple(indices), Guard(mode, value) if needs_guard else None)


@st.composite
def _updates(draw: st.DrawFn, target: Tensor, inputs: list[Tensor], t: DType) -> Equation:
    """Y[(i + c) // 2, ...] op= e, where elements are hit several times and some writes are
    dropped.
    """
    axes = [axis(Var(name), size) for name, size in zip("uv", target.shape)]
    value = draw(scalar_exprs(t, [draw(_reads(x, axes, t)) for x in inputs], 3))
    first = FloorDiv(Add(axes[0].var, index(draw(st.integers(-1, 1)))), index(2))
    mode = draw(st.sampled_from(["drop", "clamp"]))
    op = draw(st.sampled_from(["add", "mul", "max", "min"]))
    return Equation(target, (first, *(a.var for a in axes[1:])), tuple(axes), value, op, guard=Guard(mode))
