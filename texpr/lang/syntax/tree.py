"""The syntax tree of a text, before any name has a meaning. Every node knows its place."""

from __future__ import annotations

from texpr.support.frozen_dataclass import frozen_by_identity
from texpr.support.source import Span


@frozen_by_identity
class Tree:
    """A piece of syntax."""

    span: Span


@frozen_by_identity
class Word(Tree):
    """A name where it is declared or called."""

    text: str


@frozen_by_identity
class Number(Tree):
    """A literal; `value` is an int, float or bool."""

    value: int | float | bool


@frozen_by_identity
class Name(Tree):
    """A name in an expression."""

    text: str


@frozen_by_identity
class Unary(Tree):
    """`-x` or `not x`."""

    operator: str
    operand: Tree


@frozen_by_identity
class Binary(Tree):
    """`lhs operator rhs`: arithmetic, `and`, `or`."""

    operator: str
    lhs: Tree
    rhs: Tree


@frozen_by_identity
class Comparison(Tree):
    """A chain `a <= b < c`: one operand more than operators."""

    operators: tuple[str, ...]
    operands: tuple[Tree, ...]


@frozen_by_identity
class Conditional(Tree):
    """`if cond then then else orelse`."""

    cond: Tree
    then: Tree
    orelse: Tree


@frozen_by_identity
class Group(Tree):
    """`(c, h)`: one grouped dimension."""

    items: tuple[Tree, ...]


@frozen_by_identity
class PackName(Tree):
    """`*s` as an index or argument."""

    text: str


@frozen_by_identity
class Guard(Tree):
    """A guard behind `|`: a mode, or a value."""

    mode: str
    value: Tree | None


@frozen_by_identity
class Access(Tree):
    """`X[i, j | guard]`."""

    name: Word
    indices: tuple[Tree, ...]
    guard: Guard | None


@frozen_by_identity
class Keyword(Tree):
    """`axis=2` among the arguments of a call."""

    name: Word
    value: Tree


@frozen_by_identity
class Call(Tree):
    """`name(arguments)`: a scalar function, cast, `fn` or operator."""

    name: Word
    arguments: tuple[Tree, ...]


@frozen_by_identity
class Range(Tree):
    """`lo..hi`."""

    lo: Tree
    hi: Tree


@frozen_by_identity
class Binder(Tree):
    """`k`, `*s` or `k in lo..hi`."""

    name: str
    pack: bool
    range: Range | None


@frozen_by_identity
class Reduction(Tree):
    """`op<parameter>(binders where where: body)`."""

    op: str
    parameter: Word | None
    binders: tuple[Binder, ...]
    where: Tree | None
    body: Tree


@frozen_by_identity
class PackDim(Tree):
    """`*A` or `*A:length`."""

    size: Tree
    length: Tree | None


@frozen_by_identity
class Type(Tree):
    """`f32[N, (C, H)] in 0..V distinct`."""

    dtype: Word
    dims: tuple[Tree, ...]
    range: Range | None = None
    distinct: bool = False


@frozen_by_identity
class Declaration(Tree):
    """`X: f32[N]`, with a default where it is an optional input."""

    name: Word
    type: Type
    default: Tree | None = None


@frozen_by_identity
class Constant(Tree):
    """`S = 1` or `eps: f32 = 1e-5` after `;`."""

    name: Word
    dtype: Word | None
    default: Tree | None


@frozen_by_identity
class TypeVariable(Tree):
    """`T` or `T: float`."""

    name: Word
    kind: Word | None


@frozen_by_identity
class Target(Tree):
    """A left side: `Y[n, k | drop]`."""

    name: Word
    indices: tuple[Tree, ...]
    guard: Guard | None


@frozen_by_identity
class Let(Tree):
    """`let V: f32[L + 1]`."""

    declaration: Declaration


@frozen_by_identity
class Equation(Tree):
    """`targets update value for ranges where where`; `update` is `=`, `+=`, `*=`, `max=` or
    `min=`.
    """

    targets: tuple[Target, ...]
    update: str
    value: Tree
    ranges: tuple[Binder, ...]
    where: Tree | None


@frozen_by_identity
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


@frozen_by_identity
class Function(Tree):
    """`fn gelu(v) = ...`."""

    name: Word
    parameters: tuple[Word, ...]
    body: Tree


@frozen_by_identity
class Use(Tree):
    """`use "math.tx": gelu, softmax` or `use ops: softmax`; `origin` is the path or the
    library's name.
    """

    origin: Word
    file: bool
    names: tuple[Word, ...]


@frozen_by_identity
class Header(Tree):
    """The inputs and outputs of a listing of a kernel."""

    inputs: tuple[Declaration, ...]
    outputs: tuple[Declaration, ...]
