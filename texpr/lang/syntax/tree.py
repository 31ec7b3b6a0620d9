"""The syntax tree of a text, before any name has a meaning. Every node knows its place."""

from __future__ import annotations

from dataclasses import dataclass

from texpr.support.source import Span


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A piece of syntax."""

    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Word(Tree):
    """A name where it is declared or called."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Number(Tree):
    """A literal; `value` is an int, float or bool."""

    value: int | float | bool


@dataclass(frozen=True, slots=True, eq=False)
class Name(Tree):
    """A name in an expression."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Tree):
    """`-x` or `not x`."""

    operator: str
    operand: Tree


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Tree):
    """`lhs operator rhs`: arithmetic, `and`, `or`."""

    operator: str
    lhs: Tree
    rhs: Tree


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Tree):
    """A chain `a <= b < c`: one operand more than operators."""

    operators: tuple[str, ...]
    operands: tuple[Tree, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Conditional(Tree):
    """`if cond then then else orelse`."""

    cond: Tree
    then: Tree
    orelse: Tree


@dataclass(frozen=True, slots=True, eq=False)
class Group(Tree):
    """`(c, h)`: one grouped dimension."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PackName(Tree):
    """`*s` as an index or argument."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Guard(Tree):
    """A guard behind `|`: a mode, or a value."""

    mode: str
    value: Tree | None


@dataclass(frozen=True, slots=True, eq=False)
class Access(Tree):
    """`X[i, j | guard]`."""

    name: Word
    indices: tuple[Tree, ...]
    guard: Guard | None


@dataclass(frozen=True, slots=True, eq=False)
class Keyword(Tree):
    """`axis=2` among the arguments of a call."""

    name: Word
    value: Tree


@dataclass(frozen=True, slots=True, eq=False)
class Call(Tree):
    """`name(arguments)`: a scalar function, cast, `fn` or operator."""

    name: Word
    arguments: tuple[Tree, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Range(Tree):
    """`lo..hi`."""

    lo: Tree
    hi: Tree


@dataclass(frozen=True, slots=True, eq=False)
class Binder(Tree):
    """`k`, `*s` or `k in lo..hi`."""

    name: str
    pack: bool
    range: Range | None


@dataclass(frozen=True, slots=True, eq=False)
class Reduction(Tree):
    """`op<parameter>(binders where where: body)`."""

    op: str
    parameter: Word | None
    binders: tuple[Binder, ...]
    where: Tree | None
    body: Tree


@dataclass(frozen=True, slots=True, eq=False)
class PackDim(Tree):
    """`*A` or `*A:length`."""

    size: Tree
    length: Tree | None


@dataclass(frozen=True, slots=True, eq=False)
class Type(Tree):
    """`f32[N, (C, H)] in 0..V distinct`."""

    dtype: Word
    dims: tuple[Tree, ...]
    range: Range | None = None
    distinct: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Declaration(Tree):
    """`X: f32[N]`, with a default where it is an optional input."""

    name: Word
    type: Type
    default: Tree | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Tree):
    """`S = 1` or `eps: f32 = 1e-5` after `;`."""

    name: Word
    dtype: Word | None
    default: Tree | None


@dataclass(frozen=True, slots=True, eq=False)
class TypeVariable(Tree):
    """`T` or `T: float`."""

    name: Word
    kind: Word | None


@dataclass(frozen=True, slots=True, eq=False)
class Target(Tree):
    """A left side: `Y[n, k | drop]`."""

    name: Word
    indices: tuple[Tree, ...]
    guard: Guard | None


@dataclass(frozen=True, slots=True, eq=False)
class Let(Tree):
    """`let V: f32[L + 1]`."""

    declaration: Declaration


@dataclass(frozen=True, slots=True, eq=False)
class Equation(Tree):
    """`targets update value for ranges where where`; `update` is `=`, `+=`, `*=`, `max=` or
    `min=`.
    """

    targets: tuple[Target, ...]
    update: str
    value: Tree
    ranges: tuple[Binder, ...]
    where: Tree | None


@dataclass(frozen=True, slots=True, eq=False)
class Operator(Tree):
    """An `op`. `body` is None for an `extern op`; `inside` is where its body begins."""

    name: Word
    type_variables: tuple[TypeVariable, ...]
    inputs: tuple[Declaration, ...]
    constants: tuple[Constant, ...]
    outputs: tuple[Declaration, ...]
    requires: tuple[Tree, ...]
    body: tuple[Let | Equation, ...] | None
    inside: int


@dataclass(frozen=True, slots=True, eq=False)
class Function(Tree):
    """`fn gelu(v) = ...`."""

    name: Word
    parameters: tuple[Word, ...]
    body: Tree


@dataclass(frozen=True, slots=True, eq=False)
class Use(Tree):
    """`use "math.tx": gelu, softmax` or `use ops: softmax`; `origin` is the path or the
    library's name.
    """

    origin: Word
    file: bool
    names: tuple[Word, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Header(Tree):
    """The inputs and outputs of a listing of a kernel."""

    inputs: tuple[Declaration, ...]
    outputs: tuple[Declaration, ...]
