"""Listings of kernels, as `ir.printing.loop` prints them, back to kernels: lines and indentation
here, expressions by the grammar.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from texpr.ir.build import integer
from texpr.ir.expr import Expr, Tensor, Var
from texpr.ir.extern import extern_effect
from texpr.ir.index.overflow import USUAL_SIZE
from texpr.ir.loop import (
    Alloc,
    Barrier,
    Commit,
    CommitProducts,
    ExternCall,
    For,
    If,
    Kernel,
    Poll,
    Prefetch,
    Stmt,
    Store,
    Wait,
    WaitProducts,
)
from texpr.ir.loop_kind import SERIAL, parse_loop_kind
from texpr.ir.store_kind import MODE_WORDS, PARTIAL_START, PLAIN, ROLE_WORDS, START, VALUE, StoreMode
from texpr.ir.swizzle import Swizzle
from texpr.lang.elaboration.equation_elaboration import UPDATES
from texpr.lang.elaboration.name_scope import Names, Scope, unknown
from texpr.lang.elaboration.scalars import Scalars
from texpr.lang.elaboration.signatures import bind_sizes, tensor
from texpr.lang.listing.exact_expressions import ExactArithmetic
from texpr.lang.syntax import tree
from texpr.lang.syntax.characters import as_source
from texpr.lang.syntax.parser import parse_part
from texpr.support.errors import CheckError, ParseError
from texpr.support.frozen_dataclass import replace
from texpr.support.source import Source, Span
from texpr.support.trampoline import run

_WORD = "[A-Za-z_][A-Za-z0-9_]*"
_KERNEL = re.compile(rf"kernel\s+({_WORD})\s*")
_FMA_MARKS = {' allow_fma("sums")': "sums", " allow_fma": "all", " contract": "all"}
_FOR = re.compile(rf"for\s+(?:({_WORD}(?:\.[0-9]+)?)\.)?({_WORD})\s+in\s+")
_MARK = rf"(?:{'|'.join((*ROLE_WORDS, *MODE_WORDS))}|reassoc|copy|eq [0-9]{{1,9}})"
_AT = re.compile(r"  +at\[.*\]$")
_MARKS = re.compile(rf"  +({_MARK}(?: {_MARK})*)$")
_NOTE = r"@[A-Za-z_][A-Za-z0-9_]*\([^()]*\)"
_NOTES = re.compile(rf"  +({_NOTE}(?: {_NOTE})*)$")
_PLAIN = {
    "barrier": Barrier,
    "barrier cluster": partial(Barrier, True),
    "commit": Commit,
    "commit products": CommitProducts,
    "poll": Poll,
}
_WAIT = re.compile(r"wait ([0-9]{1,4})(?:( products)| at (.+) of ([0-9]{1,4}) phase (.+))?")
_COMMIT = re.compile(r"commit at (.+) of ([0-9]{1,4}) brings (.+)")
_SCOPE = re.compile(rf"  +({_WORD})(?: swizzle\(([0-9]+), ([0-9]+), ([0-9]+)\))?$")


_EXTERN = re.compile(
    rf"(?P<targets>{_WORD}(?:, *{_WORD})*) = extern (?P<name>{_WORD})\((?P<arguments>[^()]*)\)"
    r"(?: +eq (?P<equation>[0-9]{1,9}))?"
)


class Line(NamedTuple):
    """A line that says something: its indentation and the place of its text, comment and
    surrounding space aside.
    """

    indent: int
    start: int
    stop: int


@dataclass(slots=True)
class Block:
    """An open `for` or `if`, or the kernel itself, whose statements are being read."""

    indent: int
    head: For | If | None
    scope: Scope
    body: list[Stmt] = field(default_factory=list)
    inside: int | None = None


def parse_kernel(text: str, name: str = "kernel") -> Kernel:
    """The kernel that a listing describes: `equal(parse_kernel(show_kernel(k)), k)`.

    Raises:
        ParseError: the text is not a listing.
        CheckError: a name is unknown or types do not fit.
    """
    source = as_source(text, name)
    return _Reader(source).kernel()


def lines_of(source: Source) -> list[Line]:
    """The lines of a listing without blank ones and comments."""
    lines: list[Line] = []
    start = 0
    for raw in source.text.split("\n"):
        said = raw.split("#", 1)[0].rstrip(" \t\r")
        body = said.lstrip(" ")
        if body:
            indent = len(said) - len(body)
            lines.append(Line(indent, start + indent, start + len(said)))
        start += len(raw) + 1
    return lines


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines = lines_of(source)
        self.names = Names()
        self.scalars = Scalars(
            self.names, {}, ExactArithmetic(), largest=USUAL_SIZE
        )  # sizes may be constants here

    def text(self, line: Line) -> str:
        return self.source.text[line.start : line.stop]

    def span(self, line: Line) -> Span:
        return Span(self.source, line.start, line.stop)

    def kernel(self) -> Kernel:
        if not self.lines:
            raise ParseError(
                "empty listing",
                Span(self.source, 0, 0),
                help="a listing begins with: kernel name(...) -> (...)",
            )
        first = self.lines[0]
        found = _KERNEL.match(self.source.text, first.start, first.stop)
        if found is None:
            raise ParseError(
                "a listing begins with `kernel`",
                self.span(first),
                help="kernel name(X: f32[N]) -> (Y: f32[N])",
            )
        fma, mark = next(
            ((fma, mark) for mark, fma in _FMA_MARKS.items() if self.text(first).endswith(mark)), ("", "")
        )
        header: tree.Header = parse_part(self.source, "header", found.end(), first.stop - len(mark))
        head = list(self._head())
        lets = [self._let(line) for word, line in head if word == "let"]
        sizes = self._sizes(
            [line for word, line in head if word == "sizes"],
            [*header.inputs, *header.outputs, *(d for d, _, _ in lets)],
        )
        inputs, outputs = (tuple(self._declare(d) for d in part) for part in (header.inputs, header.outputs))
        temporaries = tuple(self._declare(*let) for let in lets)
        requires = tuple(self._require(line) for word, line in head if word == "require")
        body = self._body(self.lines[1 + len(head) :])
        return Kernel(found.group(1), inputs, outputs, temporaries, sizes, body, fma, requires)

    def _head(self) -> Iterator[tuple[str, Line]]:
        for line in self.lines[1:]:
            word = self.text(line).split(" ", 1)[0]
            if word not in ("sizes", "require", "let"):
                return
            yield word, line

    def _let(self, line: Line) -> tuple[tree.Declaration, str, Swizzle | None]:
        found = _SCOPE.search(self.text(line))
        stop = line.start + found.start() if found else line.stop
        declared = parse_part(self.source, "declaration", line.start + len("let"), stop)
        scope, *numbers = found.groups() if found else ("global",)
        if not numbers or numbers[0] is None:
            return declared, scope, None
        lies = Swizzle(*map(int, numbers))
        if not lies.is_one_to_one or scope != "shared":
            raise ParseError(
                f"{lies} gives two elements one place, or the buffer is not shared",
                self.span(line),
                help="three powers of two: at least two units, and rows of at least as many elements",
            )
        return declared, scope, lies

    def _declare(self, d: tree.Declaration, scope: str = "global", lies: Swizzle | None = None) -> Tensor:
        self.names.declare(d.name.text, d.name.span)
        made = replace(tensor(d, self.scalars, scope), swizzle=lies)
        self.names.tensors[made.name] = made
        return made

    def _sizes(self, lines: list[Line], declarations: list[tree.Declaration]) -> tuple[Var, ...]:
        """The sizes in order: as a `sizes` line lists them, else as they appear in shapes."""
        listed: list[Var] = []
        for line in lines:
            for word in self.text(line).removeprefix("sizes").split(","):
                listed.append(Var(word.strip().removeprefix("*"), word.strip().startswith("*")))
                self.names.sizes[listed[-1].name] = listed[-1]
                self.names.places[listed[-1].name] = self.span(line)
        found = bind_sizes(declarations, self.names)
        return tuple(listed) if lines else found

    def _require(self, line: Line) -> Expr:
        node = parse_part(self.source, "expression", line.start + len("require"), line.stop)
        return self.scalars.condition(node, Scope())

    def _body(self, lines: list[Line]) -> tuple[Stmt, ...]:
        blocks = [Block(-1, None, Scope())]
        for line in lines:
            while len(blocks) > 1 and line.indent <= blocks[-1].indent:
                self._close(blocks)
            block = blocks[-1]
            if block.inside is None:
                block.inside = line.indent
            if line.indent != block.inside:
                raise ParseError(
                    f"the line is indented by {line.indent}, its block by {block.inside}", self.span(line)
                )
            self._statement(line, blocks)
        while len(blocks) > 1:
            self._close(blocks)
        return tuple(blocks[0].body)

    def _close(self, blocks: list[Block]) -> None:
        block = blocks.pop()
        body = tuple(block.body)
        match block.head:
            case For() as loop:
                blocks[-1].body.append(replace(loop, body=body))
            case If(cond):
                blocks[-1].body.append(If(cond, body))

    def _statement(self, line: Line, blocks: list[Block]) -> None:
        text, block = self.text(line), blocks[-1]
        if text in _PLAIN:
            block.body.append(_PLAIN[text]())
        elif (wait := _WAIT.fullmatch(text)) is not None:
            block.body.append(
                WaitProducts(int(wait[1]))
                if wait[2]
                else Wait(int(wait[1]), *self._counted(line, block.scope, wait, 3, 5), int(wait[4] or 0))
            )
        elif (commit := _COMMIT.fullmatch(text)) is not None:
            block.body.append(Commit(*self._counted(line, block.scope, commit, 1, 3), int(commit[2])))
        elif (found := _EXTERN.fullmatch(text)) is not None:
            block.body.append(self._extern(line, found))
        elif text.startswith("let "):
            block.body.append(Alloc(self._declare(*self._let(line))))
        elif text.startswith("prefetch "):
            block.body.append(self._prefetch(line, block.scope))
        elif text.startswith("if "):
            node = parse_part(self.source, "expression", line.start + len("if"), line.stop)
            blocks.append(Block(line.indent, If(self.scalars.condition(node, block.scope), ()), block.scope))
        elif text.startswith("for "):
            loop = self._for(line, block.scope)
            blocks.append(Block(line.indent, loop, block.scope.bind({loop.var.name: loop.var})))
        else:
            block.body.append(self._store(line, block.scope))

    def _counted(
        self, line: Line, scope: Scope, found: re.Match[str], first: int, second: int
    ) -> tuple[Expr | None, Expr | None]:
        """The integers behind a wait for bulk copies, or behind their commit."""

        def value(group: int) -> Expr | None:
            if found[group] is None:
                return None
            start, stop = found.span(group)
            return self.scalars.index(
                parse_part(self.source, "expression", line.start + start, line.start + stop), scope
            )

        return value(first), value(second)

    def _prefetch(self, line: Line, scope: Scope) -> Prefetch:
        node = parse_part(self.source, "expression", line.start + len("prefetch"), line.stop)
        match node:
            case tree.Access(name=name, indices=indices):
                known = self._tensor(name.text, line)
            case tree.Name(text=text):  # of rank 0
                known, indices = self._tensor(text, line), ()
            case _:
                raise ParseError("what is fetched early is an element, as in prefetch X[i]", node.span)
        return Prefetch(known, run(self.scalars.indices(known, indices, node.span, scope, False)))

    def _for(self, line: Line, scope: Scope) -> For:
        found = _FOR.match(self.source.text, line.start, line.stop)
        if found is None:
            raise ParseError("a loop is `for i in 0..n`", self.span(line))
        marks = _NOTES.search(self.text(line))
        notes = tuple(self._note(word, line) for word in re.findall(_NOTE, marks.group(1))) if marks else ()
        line = line._replace(stop=line.start + marks.start()) if marks else line
        word = self.text(line).rsplit(" ", 1)[-1]
        kind = parse_loop_kind(word)
        stop = line.stop if kind is None else line.stop - len(word)
        limits: tree.Range = parse_part(self.source, "range", found.end(), stop)
        if integer(self.scalars.index(limits.lo, scope)) != 0:
            raise ParseError("loops count from 0", limits.lo.span)
        name = found.group(2)
        if name in scope.local or name in self.names:
            raise CheckError(
                f"the loop variable `{name}` hides another `{name}`",
                self.span(line),
                code="name",
                help=f"call it {name}_1",
            )
        extent = self.scalars.index(limits.hi, scope)
        return For(Var(name), extent, (), kind or SERIAL, found.group(1) or "", notes)

    def _note(self, word: str, line: Line) -> tuple[str, str | int | float | bool]:
        """`@key(value)` behind a loop."""
        key, _, value = word[1:-1].partition("(")
        try:
            return key, ast.literal_eval(value)
        except (ValueError, SyntaxError):
            raise ParseError(
                f"a mark is a number, a bool or text in quotes, not {value}", self.span(line)
            ) from None

    def _extern(self, line: Line, found: re.Match[str]) -> ExternCall:
        """`p = extern argsort(X; down=True)  eq 1`."""
        given, _, constants = found.group("arguments").partition(";")
        inputs, outputs = (
            tuple(self._tensor(word.strip(), line) for word in part.split(",") if word.strip())
            for part in (given, found.group("targets"))
        )
        values = tuple(
            (n.strip(), _literal(v.strip()))
            for n, _, v in (c.partition("=") for c in constants.split(",") if c.strip())
        )
        equation = int(found.group("equation") or 0)
        return ExternCall(
            found.group("name"), inputs, outputs, values, extern_effect(inputs, outputs, equation), equation
        )

    def _tensor(self, name: str, line: Line) -> Tensor:
        known = self.names.tensors.get(name)
        if known is None:
            raise unknown("tensor", name, self.span(line), self.names.tensors)
        return known

    def _store(self, line: Line, scope: Scope) -> Store:
        hint = _AT.search(self.text(line))
        at = self._instance(line.start + hint.start(), line.stop, scope) if hint else ()
        line = line._replace(stop=line.start + hint.start()) if hint else line
        marks = _MARKS.search(self.text(line))
        words = marks.group(1).split() if marks else []
        stop = line.start + marks.start() if marks else line.stop
        node: tree.Equation = parse_part(self.source, "store", line.start, stop)
        (target,) = node.targets
        if target.guard is not None:
            raise ParseError("a store has no guard", target.guard.span)
        known = self.names.tensors.get(target.name.text)
        if known is None:
            raise unknown("tensor", target.name.text, target.name.span, self.names.tensors)
        indices = run(self.scalars.indices(known, target.indices, target.span, scope, False))
        value = self.scalars.arithmetic.store(
            self.scalars.value(node.value, scope), known.dtype, node.value.span
        )
        equation = int(words[words.index("eq") + 1]) if "eq" in words else -int("copy" in words)
        return Store(
            known,
            indices,
            value,
            UPDATES[node.update],
            PARTIAL_START if "part" in words else START if "start" in words else VALUE,
            "reassoc" in words,
            equation,
            at,
            self._mode(words, line),
        )

    def _mode(self, words: list[str], line: Line) -> StoreMode:
        modes = list(dict.fromkeys(MODE_WORDS[word] for word in words if word in MODE_WORDS))
        if len(modes) > 1:
            raise ParseError(f"a store is {modes[0]} or {modes[1]}, not both", self.span(line))
        return modes[0] if modes else PLAIN

    def _instance(self, start: int, stop: int, scope: Scope) -> tuple[Expr, ...]:
        """`at[i, j]`, which the grammar takes for an element."""
        node: tree.Access = parse_part(self.source, "expression", start, stop)
        return tuple(self.scalars.index(each, scope) for each in node.indices)


def _literal(text: str) -> int | float | bool:
    if text in ("True", "False"):
        return text == "True"
    return float(text) if any(c in text for c in ".en") else int(text)
