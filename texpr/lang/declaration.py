"""A parsed text as its users see it: operators with their signatures, not yet of any dtype, rank or constant."""

from __future__ import annotations

from dataclasses import dataclass

from texpr.ir.dtypes import DTYPES
from texpr.lang import tree
from texpr.lang.functions import is_scalar_function
from texpr.lang.parser import parse_program
from texpr.lang.scope import duplicate, unknown
from texpr.support.errors import CheckError
from texpr.support.source import Source, Span

KINDS = ("float", "int", "num", "any")


@dataclass(frozen=True, slots=True)
class TypeVariableSpec:
    """`T: float`; `kind` is one of `float int num any`."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class InputSpec:
    """An input or output as declared.

    Attributes:
        dtype: a dtype's name or a type variable.
        rank: how many dimensions callers see, or None where a pack makes it depend on the call.
        least_rank: the dimensions that are not packs.
        optional: it has a default.
    """

    name: str
    dtype: str
    rank: int | None
    least_rank: int
    optional: bool
    span: Span


@dataclass(frozen=True, slots=True)
class ConstantSpec:
    """A compile-time constant. `dtype` is its stated type or None; without a default it must be given."""

    name: str
    dtype: str | None
    required: bool
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class OpDeclaration:
    """An `op` of a text. `elaborate` makes a Program of it for dtypes and constants."""

    name: str
    doc: str
    type_variables: tuple[TypeVariableSpec, ...]
    inputs: tuple[InputSpec, ...]
    constants: tuple[ConstantSpec, ...]
    outputs: tuple[InputSpec, ...]
    extern: bool
    tree: tree.Operator
    module: Module

    @property
    def text(self) -> str:
        """The operator as written."""
        return self.tree.span.text

    @property
    def span(self) -> Span:
        return self.tree.name.span


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """All that one text declares."""

    source: Source
    ops: dict[str, OpDeclaration]
    functions: dict[str, tree.Function]


def parse(text: str, name: str = "<text>") -> Module:
    """The operators and scalar functions of a text.

    Raises:
        ParseError: the text is not in the language.
        CheckError: two operators or functions have one name.
        ResourceError: the text is too long.
    """
    source, items = parse_program(text, name)
    module = Module(source, {}, {})
    places: dict[str, Span] = {}
    for item in items:
        assert isinstance(item, tree.Operator | tree.Function)
        if item.name.text in places:
            raise duplicate(item.name.text, item.name.span, places[item.name.text])
        if item.name.text in DTYPES or isinstance(item, tree.Function) and is_scalar_function(item.name.text):
            kind = "type" if item.name.text in DTYPES else "function"
            raise CheckError(f"`{item.name.text}` is a {kind} of the language", item.name.span, code="name", help="choose another name")
        places[item.name.text] = item.name.span
        if isinstance(item, tree.Function):
            module.functions[item.name.text] = item
        else:
            module.ops[item.name.text] = _declaration(item, module)
    return module


def _declaration(op: tree.Operator, module: Module) -> OpDeclaration:
    for v in op.type_variables:
        if v.kind is not None and v.kind.text not in KINDS:
            raise unknown("class of types", v.kind.text, v.kind.span, KINDS)
    variables = tuple(TypeVariableSpec(v.name.text, v.kind.text if v.kind else "any") for v in op.type_variables)
    constants = tuple(ConstantSpec(c.name.text, c.dtype.text if c.dtype else None, c.default is None, c.span) for c in op.constants)
    return OpDeclaration(op.name.text, documentation(op), variables, tuple(map(_input, op.inputs)), constants,
                         tuple(map(_input, op.outputs)), op.body is None, op, module)


def _input(d: tree.Declaration) -> InputSpec:
    packs = any(isinstance(dim, tree.PackDim) for dim in d.type.dims)
    least = sum(not isinstance(dim, tree.PackDim) for dim in d.type.dims)
    return InputSpec(d.name.text, d.type.dtype.text, None if packs else least, least, d.default is not None, d.span)


def documentation(op: tree.Operator) -> str:
    """The comment lines directly above an operator, else those that begin its body."""
    source = op.span.source
    number, _ = source.position(op.span.start)
    lines: list[str] = []
    while number > 1 and source.line(number - 1).lstrip().startswith("#"):
        number -= 1
        lines.insert(0, source.line(number))
    if not lines and op.body is not None:
        for line in source.text[op.inside : op.span.stop].split("\n")[1:]:
            if not line.lstrip().startswith("#"):
                break
            lines.append(line)
    return "\n".join(line.strip().lstrip("#").strip() for line in lines)
