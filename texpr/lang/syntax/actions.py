"""Syntax trees from the parser's reductions. Lark calls the methods of `TreeBuilder` while it
parses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from lark import Transformer

from texpr.lang.syntax import advice, tree
from texpr.lang.syntax.lexer import SourceToken
from texpr.lang.syntax.words import GUARD_WORDS, REDUCTIONS
from texpr.support.errors import ParseError
from texpr.support.source import Source, Span
from texpr.support.spelling import suggestion


class Located(NamedTuple):
    """A tree or a list on the parser's stack, with its place in the source. An empty list has no
    source.

    Parentheses belong to the place of the tree in them, not to its span.
    """

    value: Any
    source: Source | None = None
    start_pos: int = 0
    end_pos: int = 0


Method = Callable[[Any, list[Any]], Located]
"""A function that Lark calls with the symbols of a reduction."""


def _list(make: Callable[[Any, list[Any]], Any]) -> Method:
    """A method of tokens, trees and lists, whose result has no span."""

    def method(self: Any, symbols: list[Any]) -> Located:
        placed = [s for s in symbols if s.source is not None]
        value = make(self, [s.value if type(s) is Located else s for s in symbols])
        if not placed:
            return Located(value)
        return Located(value, placed[0].source, placed[0].start_pos, placed[-1].end_pos)

    return method


def _tree(make: Callable[[Any, Span, list[Any]], Any]) -> Method:
    """A method of a span and of the tokens, trees and lists in it. The first one is never an
    empty list.
    """

    def method(self: Any, symbols: list[Any]) -> Located:
        first, last = symbols[0], symbols[-1]
        if last.source is None:
            last = next(s for s in reversed(symbols) if s.source is not None)
        source, start, stop = first.source, first.start_pos, last.end_pos
        value = make(self, Span(source, start, stop), [s.value if type(s) is Located else s for s in symbols])
        return Located(value, source, start, stop)

    return method


def _word(token: SourceToken) -> tree.Word:
    return tree.Word(token.span, token.value)


class TreeBuilder(Transformer):
    """A method for each alternative of the grammar, by its name there."""

    none = _list(lambda self, c: [])
    nothing = _list(lambda self, c: None)
    one = _list(lambda self, c: [c[0]])
    second = parentheses = _list(lambda self, c: c[1])

    @_list
    def more(self, c: list[Any]) -> list[Any]:
        c[0].append(c[-1])
        return c[0]

    append = more

    @_tree
    def operator(self, span: Span, c: list[Any]) -> tree.Operator:
        _, name, variables, _, inputs, constants, _, _, outputs, requires, brace, statements, _ = c
        return tree.Operator(
            span,
            _word(name),
            tuple(variables),
            tuple(inputs),
            tuple(constants),
            tuple(outputs),
            tuple(requires),
            tuple(statements),
            brace.end_pos,
        )

    @_tree
    def extern(self, span: Span, c: list[Any]) -> tree.Operator:
        _, _, name, variables, _, inputs, constants, _, _, outputs, requires = c
        return tree.Operator(
            span,
            _word(name),
            tuple(variables),
            tuple(inputs),
            tuple(constants),
            tuple(outputs),
            tuple(requires),
            None,
            span.stop,
        )

    @_tree
    def function(self, span: Span, c: list[Any]) -> tree.Function:
        _, name, _, parameters, _, _, body = c
        return tree.Function(span, _word(name), tuple(_word(p) for p in parameters), body)

    @_tree
    def use(self, span: Span, c: list[Any]) -> tree.Use:
        file = c[1].type == "STRING"
        origin = tree.Word(c[1].span, c[1].value.strip('"'))
        return tree.Use(span, origin, file, tuple(_word(n) for n in c[3]))

    @_tree
    def type_variable(self, span: Span, c: list[Any]) -> tree.TypeVariable:
        return tree.TypeVariable(span, _word(c[0]), _word(c[2]) if len(c) > 1 else None)

    @_tree
    def header(self, span: Span, c: list[Any]) -> tree.Header:
        return tree.Header(span, tuple(c[1]), tuple(c[4]))

    @_tree
    def declaration(self, span: Span, c: list[Any]) -> tree.Declaration:
        return tree.Declaration(span, _word(c[0]), c[2])

    @_tree
    def optional(self, span: Span, c: list[Any]) -> tree.Declaration:
        return tree.Declaration(span, c[0].name, c[0].type, c[2])

    @_tree
    def shaped(self, span: Span, c: list[Any]) -> tree.Type:
        return tree.Type(span, _word(c[0]), tuple(c[2]) if len(c) == 4 else ())

    @_tree
    def ranged_type(self, span: Span, c: list[Any]) -> tree.Type:
        return tree.Type(span, c[0].dtype, c[0].dims, c[2], len(c) == 4)

    @_tree
    def distinct_type(self, span: Span, c: list[Any]) -> tree.Type:
        return tree.Type(span, c[0].dtype, c[0].dims, None, True)

    @_tree
    def pack_dim(self, span: Span, c: list[Any]) -> tree.PackDim:
        return tree.PackDim(span, c[1], c[3] if len(c) > 2 else None)

    @_tree
    def constant(self, span: Span, c: list[Any]) -> tree.Constant:
        return tree.Constant(span, _word(c[0]), _word(c[2]) if len(c) > 1 else None, None)

    @_tree
    def constant_default(self, span: Span, c: list[Any]) -> tree.Constant:
        return tree.Constant(span, _word(c[0]), _word(c[2]) if len(c) > 3 else None, c[-1])

    @_tree
    def let(self, span: Span, c: list[Any]) -> tree.Let:
        return tree.Let(span, c[1])

    @_tree
    def equation(self, span: Span, c: list[Any]) -> tree.Equation:
        targets, update, value, ranges, where = c
        return tree.Equation(span, tuple(targets), update.value, value, tuple(ranges), where)

    @_tree
    def store(self, span: Span, c: list[Any]) -> tree.Equation:
        return tree.Equation(span, (c[0],), c[1].value, c[2], (), None)

    @_tree
    def target(self, span: Span, c: list[Any]) -> tree.Target:
        return tree.Target(span, _word(c[0]), tuple(c[2]) if len(c) > 1 else (), None)

    @_tree
    def guarded_target(self, span: Span, c: list[Any]) -> tree.Target:
        guard: tree.Guard = c[4]
        if guard.value is not None:
            raise ParseError(
                "a value outside the array can only be read, not written",
                guard.span,
                help="a left side takes `| drop`, `| clamp`, `| wrap` or `| reflect`",
            )
        return tree.Target(span, _word(c[0]), tuple(c[2]), guard)

    @_tree
    def binder(self, span: Span, c: list[Any]) -> tree.Binder:
        return tree.Binder(span, c[0].value, False, c[2])

    @_tree
    def pack_binder(self, span: Span, c: list[Any]) -> tree.Binder:
        return tree.Binder(span, c[1].value, True, c[3])

    @_tree
    def range(self, span: Span, c: list[Any]) -> tree.Range:
        return tree.Range(span, c[0], c[2])

    @_tree
    def pack(self, span: Span, c: list[Any]) -> tree.PackName:
        return tree.PackName(span, c[1].value)

    @_tree
    def guard(self, span: Span, c: list[Any]) -> tree.Guard:
        match c[0]:
            # In parentheses it is a value.
            case tree.Name(place, word) if word in GUARD_WORDS and place.start == span.start:
                return tree.Guard(span, word, None)
        return tree.Guard(span, "value", c[0])

    @_tree
    def conditional(self, span: Span, c: list[Any]) -> tree.Conditional:
        return tree.Conditional(span, c[1], c[3], c[5])

    @_tree
    def binary(self, span: Span, c: list[Any]) -> tree.Binary:
        return tree.Binary(span, c[1].value, c[0], c[2])

    @_tree
    def unary(self, span: Span, c: list[Any]) -> tree.Unary:
        return tree.Unary(span, c[0].value, c[1])

    @_tree
    def compare(self, span: Span, c: list[Any]) -> tree.Comparison:
        return tree.Comparison(span, (c[1].value,), (c[0], c[2]))

    @_tree
    def compare_more(self, span: Span, c: list[Any]) -> tree.Comparison:
        return tree.Comparison(span, (*c[0].operators, c[1].value), (*c[0].operands, c[2]))

    @_tree
    def integer(self, span: Span, c: list[Any]) -> tree.Number:
        digits = c[0].value.lstrip("0") or "0"
        if len(digits) > 20 or int(digits) >= 1 << 64:
            raise ParseError("an integer literal fits no type: it needs more than 64 bits", span)
        return tree.Number(span, int(digits))

    @_tree
    def real(self, span: Span, c: list[Any]) -> tree.Number:
        value = math.nan if c[0].value == "nan" else float(c[0].value)
        if math.isinf(value) and c[0].value != "inf":
            raise ParseError(f"`{c[0].value[:40]}` does not fit f64", span, help="write inf if you mean it")
        return tree.Number(span, value)

    @_tree
    def truth(self, span: Span, c: list[Any]) -> tree.Number:
        return tree.Number(span, c[0].value == "true")

    @_tree
    def name(self, span: Span, c: list[Any]) -> tree.Name:
        return tree.Name(span, c[0].value)

    @_tree
    def access(self, span: Span, c: list[Any]) -> tree.Access:
        return tree.Access(span, _word(c[0]), tuple(c[2]), None)

    @_tree
    def guarded_access(self, span: Span, c: list[Any]) -> tree.Access:
        if c[4].mode == "drop":
            raise ParseError(
                "`drop` is for writing, and this is a read",
                c[4].span,
                help="a read takes `| value`, `| clamp`, `| wrap` or `| reflect`",
            )
        return tree.Access(span, _word(c[0]), tuple(c[2]), c[4])

    @_tree
    def group(self, span: Span, c: list[Any]) -> tree.Group:
        return tree.Group(span, (c[1], *c[3]))

    callee = _list(lambda self, c: (c[0], None))
    typed_callee = _list(lambda self, c: (c[0], c[2]))

    @_tree
    def argument_in(self, span: Span, c: list[Any]) -> tree.Binder:
        if not isinstance(c[0], tree.Name):
            raise ParseError("a binder is a name; found an expression before `in`", c[0].span)
        return tree.Binder(span, c[0].text, False, c[2])

    @_tree
    def keyword(self, span: Span, c: list[Any]) -> tree.Keyword:
        return tree.Keyword(span, _word(c[0]), c[2])

    @_tree
    def call(self, span: Span, c: list[Any]) -> tree.Call:
        (token, parameter), arguments = c[0], c[2] if len(c) > 3 else []
        if token.type == "REDUCE" and (token.value not in ("max", "min") or parameter is not None):
            raise ParseError(
                f"`{token.value}` needs binders", span, help=f"{token.value}(k: X[k]) says what to run over"
            )
        if token.type == "REDUCE" and len(arguments) < 2:
            raise ParseError(
                f"`{token.value}` of one value",
                span,
                help=f"{token.value}(a, b) compares values, {token.value}(k: X[k]) runs over an index",
            )
        for previous, argument in zip([None, *arguments], arguments):
            if isinstance(argument, tree.Binder):
                raise ParseError(
                    "`in` makes a binder, but no `:` follows",
                    argument.span,
                    help=f"{token.value}(k in 0..n: X[k])",
                )
            if isinstance(previous, tree.Keyword) and not isinstance(argument, tree.Keyword):
                raise ParseError("a value after a keyword", argument.span, help="keywords come last")
        return tree.Call(span, _word(token), tuple(arguments))

    @_tree
    def reduction(self, span: Span, c: list[Any]) -> tree.Reduction:
        (token, parameter), arguments = c[0], c[2]
        if token.type != "REDUCE":
            raise ParseError(
                f"`{token.value}` is not a reduction",
                token.span,
                help=advice.REDUCTIONS.get(token.value)
                or suggestion(token.value, REDUCTIONS)
                or f"reductions are {', '.join(sorted(REDUCTIONS))}",
            )
        where = c[4] if len(c) > 6 else None
        binders = tuple(_as_binder(a) for a in arguments)
        return tree.Reduction(
            span, token.value, None if parameter is None else _word(parameter), binders, where, c[-2]
        )

    reduction_where = reduction


def _as_binder(argument: tree.Tree) -> tree.Binder:
    match argument:
        case tree.Binder():
            return argument
        case tree.Name(span, text):
            return tree.Binder(span, text, False, None)
        case tree.PackName(span, text):
            return tree.Binder(span, text, True, None)
    raise ParseError(
        "a binder is a name, `name in lo..hi` or `*name`; found an expression before `:`", argument.span
    )
