"""Names of a text and their places: declarations, uses, scopes.

Inside an operator nothing hides anything: tensors, sizes, constants and type variables belong to
the operator, an index to its equation, the index of a reduction to the reduction. Operators and
functions belong to the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from texpr.lang.elaboration.name_scope import below
from texpr.lang.syntax import tree
from texpr.support.source import Span
from texpr.tools.lsp.declarations import Declared, parsed

Range = tuple[int, int]
GLOBAL = ("operator", "function", "imported")
"""Kinds of names that belong to the text."""


@dataclass(eq=False)
class Symbol:
    """A name with one meaning.

    Attributes:
        kind: operator, function, imported, type, constant, size, pack, input, output, tensor,
            index, bound index or parameter.
        places: all places where it is written, the declaration among them: keys, in order.
        node: the syntax that declares it.
        owner: the operator or function that it belongs to.
        scope: the syntax in which it has its meaning.
    """

    name: str
    kind: str
    declared: Range
    places: dict[Range, None]
    node: tree.Tree
    owner: tree.Tree
    scope: tree.Tree

    def moved(self, by: int) -> Symbol:
        """The same name in a text in which its declaration begins later."""
        places = {(a + by, b + by): None for a, b in self.places}
        a, b = self.declared
        return Symbol(self.name, self.kind, (a + by, b + by), places, self.node, self.owner, self.scope)


@dataclass(eq=False)
class Local:
    """Names of one declaration.

    Attributes:
        calls: words that may mean an operator or function of the text.
        keywords: names of arguments, each with the operator that is called.
    """

    symbols: list[Symbol] = field(default_factory=list)
    calls: list[tree.Word] = field(default_factory=list)
    keywords: list[tuple[str, tree.Word]] = field(default_factory=list)


def symbols(parts: list[Declared]) -> list[Symbol]:
    """All names of a text, with all their places."""
    found: list[Symbol] = []
    locals_ = [(part, local(part.text)) for part in parts]
    known: dict[str, Symbol] = {}
    for part, names in locals_:
        for symbol in (s.moved(part.start) for s in names.symbols):
            found.append(symbol)
            if symbol.kind in GLOBAL:
                known.setdefault(symbol.name, symbol)
    constants = {
        (s.owner.name.text, s.name): s
        for s in found
        if s.kind in ("constant", "input") and isinstance(s.owner, tree.Operator)
    }
    for part, names in locals_:
        for word in names.calls:
            _add(known.get(word.text), word.span, part.start)
        for callee, word in names.keywords:
            _add(constants.get((callee, word.text)), word.span, part.start)
    return found


def _add(symbol: Symbol | None, span: Span, by: int) -> None:
    if symbol is not None:
        symbol.places[span.start + by, span.stop + by] = None


def symbol_at(found: Iterable[Symbol], offset: int) -> Symbol | None:
    """The name at a place; the end of a name belongs to it."""
    return next((s for s in found for a, b in s.places if a <= offset <= b), None)


@lru_cache(maxsize=4096)
def local(text: str) -> Local:
    """Names of a declaration's text."""
    names = Local()
    for item in parsed(text).items:
        match item:
            case tree.Operator():
                _Operator(item, names).resolve()
            case tree.Function():
                _function(item, names)
            case tree.Use():
                for word in item.names:
                    names.symbols.append(_symbol(word, "imported", item, item, item))
    return names


def _symbol(word: tree.Tree, kind: str, node: tree.Tree, owner: tree.Tree, scope: tree.Tree) -> Symbol:
    name, place = _named(word)
    return Symbol(name, kind, place, {place: None}, node, owner, scope)


def _named(node: tree.Tree) -> tuple[str, Range]:
    """The name that a piece of syntax writes, and its place: `*s` and `k in 0..N` without the
    rest.
    """
    match node:
        case tree.Binder(span, name, pack):
            start = span.source.text.index(name, span.start + pack)
            return name, (start, start + len(name))
        case tree.PackName(span, text):
            return text, (span.stop - len(text), span.stop)
        case tree.Word(span, text) | tree.Name(span, text):
            return text, (span.start, span.stop)
        case tree.Access(_, name, _, _) | tree.Target(_, name, _, _):
            return _named(name)
    raise AssertionError(f"no name in {type(node).__name__}")


def _function(item: tree.Function, names: Local) -> None:
    names.symbols.append(_symbol(item.name, "function", item, item, item))
    scope = {w.text: _symbol(w, "parameter", w, item, item) for w in item.parameters}
    names.symbols += scope.values()
    _resolve(item.body, scope, names, item)


class _Operator:
    """One operator, its names being found."""

    def __init__(self, op: tree.Operator, names: Local) -> None:
        self.op, self.names = op, names
        self.scope: dict[str, Symbol] = {}

    def resolve(self) -> None:
        """Add all its names and their places."""
        op = self.op
        self.names.symbols.append(_symbol(op.name, "operator", op, op, op))
        self._declare_head()
        statements = op.body or ()
        for statement in statements:
            if isinstance(statement, tree.Let):
                self._declare(statement.declaration.name, "tensor", statement.declaration)
        for statement in statements:
            for target in statement.targets if isinstance(statement, tree.Equation) else ():
                if target.name.text not in self.scope:
                    self._declare(target.name, "tensor", target)
        self.names.symbols += self.scope.values()
        for node in self._parts():
            _resolve(node, self.scope, self.names, op)
        for statement in statements:
            if isinstance(statement, tree.Equation):
                self._equation(statement)

    def _declare_head(self) -> None:
        op = self.op
        for variable in op.type_variables:
            self._declare(variable.name, "type", variable)
        for constant in op.constants:
            self._declare(constant.name, "constant", constant)
        for d in op.inputs:
            for word, pack in _bare_sizes(d.type.dims):
                self._declare(word, "pack" if pack else "size", d)
        for kind, group in (("input", op.inputs), ("output", op.outputs)):
            for d in group:
                self._declare(d.name, kind, d)

    def _declare(self, word: tree.Tree, kind: str, node: tree.Tree) -> None:
        name, _ = _named(word)
        self.scope.setdefault(name, _symbol(word, kind, node, self.op, self.op))

    def _parts(self) -> list[tree.Tree]:
        op = self.op
        lets = [s for s in op.body or () if isinstance(s, tree.Let)]
        return [*op.inputs, *op.constants, *op.outputs, *op.requires, *lets]

    def _equation(self, equation: tree.Equation) -> None:
        """The indices of the left side, then all that the equation writes."""
        indices: dict[str, Symbol] = {}
        roots = [i for target in equation.targets for i in target.indices]
        for node in (n for root in roots for n in below(root)):
            if isinstance(node, tree.Name | tree.PackName) and node.text not in self.scope:
                indices.setdefault(node.text, _symbol(node, "index", node, self.op, equation))
        self.names.symbols += indices.values()
        scope = {**self.scope, **indices}
        for binder in equation.ranges:
            _use(binder, scope)
        _resolve(equation, scope, self.names, self.op)


def _bare_sizes(dims: tuple[tree.Tree, ...]) -> Iterator[tuple[tree.Name, bool]]:
    """The names that stand alone in a dimension, in a group or behind a star."""
    for dim in dims:
        match dim:
            case tree.Name():
                yield dim, False
            case tree.Group(_, items):
                yield from ((item, False) for item in items if isinstance(item, tree.Name))
            case tree.PackDim(_, tree.Name() as name):
                yield name, True


def _use(node: tree.Tree, scope: dict[str, Symbol]) -> None:
    name, place = _named(node)
    symbol = scope.get(name)
    if symbol is not None:
        symbol.places[place] = None


def _resolve(root: tree.Tree, scope: dict[str, Symbol], names: Local, owner: tree.Tree) -> None:
    """Add the places of the names below `root` to the names that they mean."""
    stack: list[tuple[tree.Tree, dict[str, Symbol]]] = [(root, scope)]
    while stack:
        node, known = stack.pop()
        match node:
            case tree.Name() | tree.PackName() | tree.Access() | tree.Target():
                _use(node, known)
            case tree.Declaration(_, word) | tree.Constant(_, word):
                _use(word, known)
            case tree.Reduction(_, _, parameter, binders):
                known = _bound(node, binders, known, names, owner)
                if parameter is not None:
                    _use(parameter, known)
            case tree.Call(_, word, arguments):
                if word.text in known and known[word.text].kind == "type":
                    _use(word, known)
                names.calls.append(word)
                names.keywords += [(word.text, a.name) for a in arguments if isinstance(a, tree.Keyword)]
        for word in _types(node):
            _use(word, known)
        stack += [(child, known) for child in reversed(_children(node))]


def _bound(
    node: tree.Tree,
    binders: tuple[tree.Binder, ...],
    known: dict[str, Symbol],
    names: Local,
    owner: tree.Tree,
) -> dict[str, Symbol]:
    """The scope inside a reduction."""
    bound = {b.name: _symbol(b, "bound index", b, owner, node) for b in binders}
    names.symbols += bound.values()
    return {**known, **bound}


def _types(node: tree.Tree) -> list[tree.Word]:
    """Words for element types that a piece of syntax writes itself."""
    match node:
        case tree.Type(_, dtype):
            return [dtype]
        case tree.Constant(_, _, tree.Word() as dtype):
            return [dtype]
    return []


_LEAVES = (tree.Word,)


def _children(node: tree.Tree) -> list[tree.Tree]:
    """The syntax directly below, without words, which are looked at with what holds them."""
    found: list[tree.Tree] = []
    for name in type(node).__dataclass_fields__:
        value = getattr(node, name)
        found += [p for p in (value if type(value) is tuple else (value,)) if isinstance(p, tree.Tree)]
    return [p for p in found if not isinstance(p, _LEAVES)]
