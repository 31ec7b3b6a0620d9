"""Names and their meanings inside one operator. Indices, tensors, sizes and constants share one
namespace; nothing shadows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from texpr.ir.dtypes import DTYPES, DType
from texpr.ir.expr import Expr, Tensor, Var
from texpr.ir.functions import FUNCTIONS
from texpr.lang.elaboration.typed_values import Value
from texpr.lang.syntax import tree
from texpr.lang.syntax.advice import TYPES
from texpr.support.errors import CheckError
from texpr.support.fixes import Fix, Write
from texpr.support.frozen_dataclass import frozen, replace
from texpr.support.source import Span
from texpr.support.spelling import nearest

USUAL = {
    "float": "f32",
    "double": "f64",
    "half": "f16",
    "int": "i32",
    "long": "i64",
    "bfloat16": "bf16",
    "fp8": "f8e4m3",
    "f8": "f8e4m3",
    "e4m3": "f8e4m3",
    "float8": "f8e4m3",
    "float8_e4m3fn": "f8e4m3",
    "float8_e4m3": "f8e4m3",
    "float8e4m3fn": "f8e4m3",
    "f8e4m3fn": "f8e4m3",
    "e5m2": "f8e5m2",
    "float8_e5m2": "f8e5m2",
    "float8e5m2": "f8e5m2",
}
"""Names of the types in other languages."""


class Use(NamedTuple):
    """An index alone in an unguarded read: it runs over `size`, axis `axis` of `tensor`."""

    size: Expr
    tensor: str
    axis: int
    span: Span


@frozen
class Scope:
    """Names bound where an expression stands, and how it is read.

    Attributes:
        local: indices (`Var`) and arguments of an inlined `fn` (`Value`).
        index: an index position: integers become i64.
        widen: inside a sum or product: "default" or the type its integer operands are converted to.
        inlining: the `fn`s around, outermost first.
        outside: outside of equations, where only sizes and constants have a meaning.
    """

    local: dict[str, Var | Value] = field(default_factory=dict)
    index: bool = False
    widen: DType | str = ""
    inlining: tuple[str, ...] = ()
    outside: bool = False

    def bind(self, names: dict[str, Var]) -> Scope:
        return replace(self, local={**self.local, **names})

    def as_index(self) -> Scope:
        return self if self.index else replace(self, index=True, widen="")

    def as_value(self) -> Scope:
        return self if not self.index and not self.widen else replace(self, index=False, widen="")

    def unwidened(self) -> Scope:
        return self if not self.widen else replace(self, widen="")

    def widening(self, wanted: DType | str) -> Scope:
        return self if self.widen == wanted else replace(self, widen=wanted)


OUTSIDE = Scope(index=True, outside=True)


@dataclass(slots=True)
class Names:
    """All names of an operator, with the place of their declaration.

    Attributes:
        defaults: what reads of an absent optional input give.
        parameters: rank-0 integer inputs, affine parameters of index arithmetic.
        refined: tensors as declared, with what the calls that define them say of their values.
    """

    dtypes: dict[str, DType] = field(default_factory=dict)
    constants: dict[str, Value] = field(default_factory=dict)
    sizes: dict[str, Var] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    defaults: dict[str, Value] = field(default_factory=dict)
    parameters: set[Tensor] = field(default_factory=set)
    places: dict[str, Span] = field(default_factory=dict)
    refined: dict[Tensor, Tensor] = field(default_factory=dict)

    def refine(self, declared: Tensor, found: Tensor) -> Tensor:
        """A tensor declared without a range takes over what the call that defines it promises of
        its values.
        """
        if declared.value_range is not None or not (found.value_range or found.distinct):
            return declared
        known = replace(declared, value_range=found.value_range, distinct=declared.distinct or found.distinct)
        self.refined[declared] = self.tensors[declared.name] = known
        return known

    def declare(self, name: str, span: Span) -> None:
        """Refuse a second meaning of a name."""
        if name in DTYPES:
            raise CheckError(f"`{name}` is the name of a type", span, code="name")
        if name in self.places:
            raise duplicate(name, span, self.places[name])
        self.places[name] = span

    def dtype(self, word: tree.Word) -> DType:
        """The type a word stands for."""
        found = self.dtypes.get(word.text) or DTYPES.get(word.text)
        if found is None:
            if word.text in TYPES:
                raise CheckError(f"unknown type `{word.text}`", word.span, code="name", help=TYPES[word.text])
            usual = USUAL.get(word.text.lower())
            raise unknown("type", word.text, word.span, (usual,) if usual else (*self.dtypes, *DTYPES))
        return found

    def __contains__(self, name: str) -> bool:
        return name in self.constants or name in self.sizes or name in self.tensors

    def __iter__(self) -> Iterator[str]:
        return iter((*self.tensors, *self.sizes, *self.constants))


def duplicate(name: str, span: Span, first: Span) -> CheckError:
    """A name with two meanings; both places are shown."""
    return CheckError(
        f"`{name}` already has a meaning",
        span,
        code="name",
        label="second",
        notes=shown("first", first),
        help="one name means one thing in an operator; choose another",
    )


def shown(word: str, place: Span) -> tuple[str, ...]:
    """A second place of an error, as its notes."""
    return f"{word}: {place}", *place.caret().split("\n")


def unknown(kind: str, name: str, span: Span, known: Iterable[str]) -> CheckError:
    """A name without meaning, and the one probably meant."""
    options = list(dict.fromkeys(known))
    found = options[0] if len(options) == 1 else nearest(name, options)
    listed = ", ".join(options[:12])
    meant = (
        [Fix(f"did you mean `{found}`?", (Write(name, found),) if span.text == name else ())] if found else []
    )
    return CheckError(
        f"unknown {kind} `{name[:60]}`",
        span,
        code="name",
        fixes=[*meant, *([Fix(f"known here: {listed}")] if listed else [])],
    )


def below(root: tree.Tree) -> Iterator[tree.Tree]:
    """`root` and all syntax under it, in the order of the text."""
    stack: list[tree.Tree] = [root]
    while stack:
        node = stack.pop()
        yield node
        inside: list[tree.Tree] = []
        for f in fields(node):
            part = getattr(node, f.name)
            inside += [p for p in (part if type(part) is tuple else (part,)) if isinstance(p, tree.Tree)]
        stack += reversed(inside)


def names_in(root: tree.Tree) -> dict[str, Span]:
    """Names of tensors, sizes and indices used below `root`, with the place of the first use."""
    found: dict[str, Span] = {}
    for node in below(root):
        if isinstance(node, tree.Name | tree.PackName):
            found.setdefault(node.text, node.span)
        elif isinstance(node, tree.Access):
            found.setdefault(node.name.text, node.name.span)
    return found


def values_in(root: tree.Tree) -> Iterator[tree.Tree]:
    """The numbers, names and reads that the value is made of: none of conditions, comparisons,
    indices and ranges.
    """
    stack: list[tree.Tree] = [root]
    while stack:
        match stack.pop():
            case tree.Number() | tree.Name() as leaf:
                yield leaf
            case tree.Access(_, _, _, guard) as read:
                yield read
                stack += [guard.value] if guard is not None and guard.value is not None else []
            case tree.Conditional(_, _, then, orelse):
                stack += [orelse, then]
            case tree.Reduction(_, op, _, _, _, body) if op not in ("argmax", "argmin", "any", "all"):
                stack.append(body)
            case tree.Binary(_, _, lhs, rhs):
                stack += [rhs, lhs]
            case tree.Unary(_, _, operand):
                stack.append(operand)
            case tree.Call(_, name, arguments) if name.text not in DTYPES and name.text not in _OF_BOOL:
                stack += reversed(arguments)


_OF_BOOL = frozenset(name for name, f in FUNCTIONS.items() if f.result == "bool")
