"""A parsed text as its users see it: operators with their signatures, not yet of any dtype, rank
or constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from texpr.ir.dtypes import DTYPES
from texpr.lang.elaboration.axis_spec import AxisSpec
from texpr.lang.elaboration.function_calls import YIELDING, is_scalar_function
from texpr.lang.elaboration.name_scope import below, duplicate, unknown
from texpr.lang.elaboration.pack_splits import axes_of
from texpr.lang.syntax import tree
from texpr.lang.syntax.parser import parse_program
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import frozen, frozen_by_identity
from texpr.support.source import Source, Span
from texpr.support.spelling import suggestion

Find = Callable[[tree.Use, tree.Word, str], Source]
"""The source that a name of a `use` comes from; the last argument is the source that uses it."""

KINDS = ("float", "int", "num", "any")


@frozen
class TypeVariableSpec:
    """`T: float`; `kind` is one of `float int num any`."""

    name: str
    kind: str


@frozen
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


@frozen
class ConstantSpec:
    """A compile-time constant. `dtype` is its stated type or None; without a default it must be
    given.
    """

    name: str
    dtype: str | None
    required: bool
    span: Span


@frozen_by_identity
class OpDeclaration:
    """An `op` of a text. `elaborate` makes a Program of it for dtypes and constants."""

    name: str
    doc: str
    type_variables: tuple[TypeVariableSpec, ...]
    inputs: tuple[InputSpec, ...]
    constants: tuple[ConstantSpec, ...]
    outputs: tuple[InputSpec, ...]
    axes: tuple[AxisSpec, ...]
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


@frozen_by_identity
class Module:
    """All that one text declares, and what it `use`s: operators of other texts in `imported`, their
    functions beside its own.

    Attributes:
        find: what found the other texts.
    """

    source: Source
    ops: dict[str, OpDeclaration]
    functions: dict[str, tree.Function]
    uses: list[tree.Use] = field(default_factory=list)
    imported: dict[str, OpDeclaration] = field(default_factory=dict)
    find: Find | None = None

    def in_library(self, name: str, span: Span) -> bool:
        """True if `use ops: name` finds an operator or a function."""
        if self.find is None:
            return False
        word = tree.Word(span, name)
        try:
            self.find(tree.Use(span, tree.Word(span, "ops"), False, (word,)), word, self.source.name)
        except CheckError:
            return False
        return True


def parse(text: str, name: str = "<text>", find: Find | None = None, only: str | None = None) -> Module:
    """The operators and scalar functions of a text.

    Args:
        find: gives the text that a `use` means; without it nothing can be used.
        only: read one operator and what it needs, where all definitions begin lines.
    Raises:
        ParseError: the text is not in the language.
        CheckError: two operators or functions have one name; a `use` leads nowhere or in a circle.
        ResourceError: the text is too long.
    """
    root = _module(text, name, only, find)
    modules = {name: root}
    edges: dict[str, list[tuple[tree.Word, Module]]] = {}
    queue = [root]
    for module in queue:
        listed = edges[module.source.name] = []
        for use in module.uses:
            for word in use.names:
                found = _found(find, use, word, module)
                if found.name not in modules:
                    modules[found.name] = _module(found.text, found.name)
                    queue.append(modules[found.name])
                listed.append((word, modules[found.name]))
    for module in _dependencies_first(modules, edges):
        for word, other in edges[module.source.name]:
            _bring(module, word, other)
    return root


def _found(find: Find | None, use: tree.Use, word: tree.Word, module: Module) -> Source:
    if find is None:
        raise CheckError(f"`{use.origin.text}` cannot be found from here", use.origin.span, code="use")
    return find(use, word, module.source.name)


def _dependencies_first(
    modules: dict[str, Module], edges: dict[str, list[tuple[tree.Word, Module]]]
) -> list[Module]:
    waiting = dict(modules)
    order: list[Module] = []
    while waiting:
        ready = [n for n in waiting if all(other.source.name not in waiting for _, other in edges[n])]
        if not ready:
            raise _circle(waiting, edges)
        order += [waiting.pop(n) for n in ready]
    return order


def _circle(waiting: dict[str, Module], edges: dict[str, list[tuple[tree.Word, Module]]]) -> CheckError:
    path: list[str] = []
    name, place = next(iter(waiting)), None
    while name not in path:
        path.append(name)
        place, name = next(
            (word.span, other.source.name) for word, other in edges[name] if other.source.name in waiting
        )
    chain = " -> ".join([*path[path.index(name) :], name])
    return CheckError(
        f"files use each other in a circle: {chain}",
        place,
        code="use",
        help="put what both need into a third file",
    )


def _bring(module: Module, word: tree.Word, other: Module) -> None:
    """Make a name of another text known in this one; a function comes with the functions it
    calls.
    """
    name = word.text
    if name in other.ops:
        _check_free(module, name, word.span, other.ops[name])
        module.imported[name] = other.ops[name]
        return
    if name not in other.functions:
        raise CheckError(
            f"`{other.source.name}` defines no `{name}`",
            word.span,
            code="use",
            help=suggestion(name, (*other.ops, *other.functions)),
        )
    needed = [name]
    for each in needed:
        _check_free(module, each, word.span, other.functions[each])
        module.functions[each] = other.functions[each]
        called = {c.name.text: c for c in below(other.functions[each].body) if isinstance(c, tree.Call)}
        needed += [n for n in called if n in other.functions and n not in needed]


def _check_free(module: Module, name: str, span: Span, meant: OpDeclaration | tree.Function) -> None:
    known = module.ops.get(name) or module.imported.get(name) or module.functions.get(name)
    if known is not None and known is not meant:
        raise duplicate(name, span, known.span)


def _module(text: str, name: str, only: str | None = None, find: Find | None = None) -> Module:
    source, items = parse_program(text, name, only)
    module = Module(source, {}, {}, find=find)
    places: dict[str, Span] = {}
    for item in items:
        if isinstance(item, tree.Use):
            module.uses.append(item)
            continue
        assert isinstance(item, tree.Operator | tree.Function)
        if item.name.text in places:
            raise duplicate(item.name.text, item.name.span, places[item.name.text])
        taken = (
            isinstance(item, tree.Function)
            and is_scalar_function(item.name.text)
            and item.name.text not in YIELDING
        )
        if item.name.text in DTYPES or taken:
            kind = "type" if item.name.text in DTYPES else "function"
            raise CheckError(
                f"`{item.name.text}` is a {kind} of the language",
                item.name.span,
                code="name",
                help="choose another name",
            )
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
    variables = tuple(
        TypeVariableSpec(v.name.text, v.kind.text if v.kind else "any") for v in op.type_variables
    )
    constants = tuple(
        ConstantSpec(c.name.text, c.dtype.text if c.dtype else None, c.default is None, c.span)
        for c in op.constants
    )
    return OpDeclaration(
        op.name.text,
        documentation(op),
        variables,
        tuple(map(_input, op.inputs)),
        constants,
        tuple(map(_input, op.outputs)),
        axes_of(op),
        op.body is None,
        op,
        module,
    )


def _input(d: tree.Declaration) -> InputSpec:
    packs = any(isinstance(dim, tree.PackDim) for dim in d.type.dims)
    least = sum(not isinstance(dim, tree.PackDim) for dim in d.type.dims)
    return InputSpec(
        d.name.text, d.type.dtype.text, None if packs else least, least, d.default is not None, d.span
    )


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
