"""The scalar expression language of both IRs.

Every node has a `dtype`; `parts` names the fields that hold child nodes (a node, a tuple of nodes,
or None). Index arithmetic is the same language at dtype i64. Nodes compare by identity;
`traverse.equal` compares structure.
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from texpr.ir.dtypes import BOOL, I64, DType
from texpr.ir.swizzle import Swizzle
from texpr.support.frozen_dataclass import node
from texpr.support.source import Span


class Node:
    """Anything that has parts. What is asked of many nodes again and again is remembered in them
    (see `traverse.tensors`).
    """

    __slots__ = ("_tensors", "_variables")
    parts: ClassVar[tuple[str, ...]] = ()


@node
class Expr(Node):
    """A scalar value. `span` is where the user wrote it, if anywhere."""

    dtype: DType = field(kw_only=True, default=None)  # type: ignore[assignment]
    span: Span | None = field(kw_only=True, default=None)


@node
class Const(Expr):
    """A literal. Integers and bools hold an `int`/`bool`, floats a `float` already rounded to
    `dtype`.
    """

    value: int | float | bool


@node
class Var(Expr):
    """An index, a size or a constant: an object that binds once; the name is for printing. A
    pack index or size has `pack`.
    """

    name: str
    pack: bool = False

    def __post_init__(self) -> None:
        if self.dtype is None:
            object.__setattr__(self, "dtype", I64)


@node
class Unary(Expr):
    """One operand, and its dtype unless said otherwise."""

    parts: ClassVar = ("operand",)
    implied: ClassVar = {"dtype": "operand.dtype"}
    operand: Expr


@node
class Neg(Unary):
    """Minus. Integers wrap."""


@node
class Not(Unary):
    """Logical not of a bool."""


@node
class Cast(Unary):
    """`operand` converted to `dtype`: float to int truncates and saturates (NaN gives 0), int to
    int wraps, x to bool is x != 0.
    """


@node
class Binary(Expr):
    """Both operands have the same dtype, and so has the result unless said otherwise."""

    parts: ClassVar = ("lhs", "rhs")
    implied: ClassVar = {"dtype": "lhs.dtype"}
    lhs: Expr
    rhs: Expr


@node
class Add(Binary):
    """Sum. Integers wrap."""


@node
class Sub(Binary):
    """Difference. Integers wrap."""


@node
class Mul(Binary):
    """Product. Integers wrap."""


@node
class Div(Binary):
    """IEEE quotient of floats."""


@node
class FloorDiv(Binary):
    """Quotient rounded down. Integers: x // 0 is 0 and INT_MIN // -1 is INT_MIN, as NumPy has
    them.
    """


@node
class Mod(Binary):
    """lhs - rhs * (lhs // rhs), with the sign of rhs. Integers: x % 0 is 0."""


@node
class Pow(Binary):
    """lhs to the power rhs, floats."""


@node
class Max(Binary):
    """The larger; NaN if either is NaN; -0 is below +0."""


@node
class Min(Binary):
    """The smaller; NaN if either is NaN; -0 is below +0."""


@node
class Compare(Expr):
    """`op` is one of `< <= > >= == !=`; operands have one dtype, the result is bool. False with
    NaN, but `!=` true.
    """

    parts: ClassVar = ("lhs", "rhs")
    op: str
    lhs: Expr
    rhs: Expr

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", BOOL)


@node
class And(Binary):
    """Logical and of bools, both sides defined."""


@node
class Or(Binary):
    """Logical or of bools, both sides defined."""


@node
class Select(Expr):
    """`if cond then then else orelse`, lazy: the side not taken is not read."""

    parts: ClassVar = ("cond", "then", "orelse")
    implied: ClassVar = {"dtype": "then.dtype"}
    cond: Expr
    then: Expr
    orelse: Expr


@node
class Call(Expr):
    """A scalar function of `functions.FUNCTIONS`, such as `exp`."""

    parts: ClassVar = ("args",)
    implied: ClassVar = {"dtype": "args[0].dtype"}
    function: str
    args: tuple[Expr, ...]


@node
class Guard(Node):
    """The value of a read outside its array. `mode`: `value` (then `value` is it), `clamp`, `wrap`,
    `reflect`; `drop` for writes.
    """

    parts: ClassVar = ("value",)
    mode: str
    value: Expr | None = None


@node
class Dim:
    """One dimension as callers see it. A plain one has one size; `(C, H)` has several; a pack has
    one size, `numel` of it.

    `length` is the number of dimensions in a pack, where the text says it (`*A:axis`).
    """

    sizes: tuple[Expr, ...]
    pack: bool = False
    length: int | None = None


@node
class Tensor(Node):
    """An array: input, output or intermediate of a Program; buffer of a Kernel.

    Attributes:
        dims: the dimensions callers see; `shape` is the flat tuple of sizes that indices run over.
        value_range: integer elements lie in `lo <= x < hi`.
        distinct: no two elements of a row, along the last axis, are equal.
        scope: where a buffer lives: `global`, or `stack` once a pass has placed it near its use.
        swizzle: how the elements of a shared buffer lie, if not row by row. Only where they lie:
            indices are what they were.
    """

    name: str
    dtype: DType
    dims: tuple[Dim, ...]
    value_range: tuple[Expr, Expr] | None = None
    distinct: bool = False
    scope: str = "global"
    span: Span | None = None
    swizzle: Swizzle | None = None

    @property
    def shape(self) -> tuple[Expr, ...]:
        return tuple([size for dim in self.dims for size in dim.sizes])

    @property
    def rank(self) -> int:
        return sum([len(dim.sizes) for dim in self.dims])


@node
class Read(Expr):
    """An element of `tensor`; `indices` has one i64 expression per entry of `tensor.shape`. Loop
    IR has no guards.
    """

    parts: ClassVar = ("indices", "guard")
    implied: ClassVar = {"dtype": "tensor.dtype"}
    tensor: Tensor
    indices: tuple[Expr, ...] = ()
    guard: Guard | None = None


@node
class Axis(Node):
    """An index variable with its range `lo <= var < hi`."""

    parts: ClassVar = ("lo", "hi")
    var: Var
    lo: Expr
    hi: Expr


@node
class Reduce(Expr):
    """`op(axes where where: body)`: `sum prod max min argmax argmin any all`, folded from its
    identity in lexicographic order.

    `dtype` is the accumulator's; argmax and argmin have dtype i64 and one axis (`which` selects the
    axis where there are several).
    """

    parts: ClassVar = ("axes", "where", "body")
    op: str
    axes: tuple[Axis, ...]
    body: Expr
    where: Expr | None = None
    which: int = 0


def plain(*sizes: Expr) -> tuple[Dim, ...]:
    """Dimensions of a tensor without packs and groups."""
    return tuple(Dim((size,)) for size in sizes)


def index(value: int) -> Const:
    """An i64 literal."""
    return Const(value, dtype=I64)
