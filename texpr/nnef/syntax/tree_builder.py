"""Lark's callbacks: tokens and parts become trees."""

from __future__ import annotations

from typing import Any

from lark import Token, v_args

from texpr.nnef.syntax.graph_tree import (
    Assignment,
    Binary,
    Call,
    Choice,
    Comprehension,
    Declared,
    Document,
    Fragment,
    Graph,
    Items,
    Literal,
    Name,
    Part,
    Subscript,
    Unary,
)
from texpr.nnef.syntax.text_builder import Pair, Refused, TextBuilder, number_of, start_of, stop_of
from texpr.support.source import Source, Span

_UNKNOWN = Source("", "")


@v_args(inline=True)
class TreeBuilder(TextBuilder):
    """A method for each alternative of the grammar. All tokens are among the arguments."""

    def document(self, version: Any, extensions: Any, fragments: Any, graph: Graph) -> Document:
        """A whole file."""
        known: dict[str, Fragment] = {}
        for each in fragments:
            known[each.name] = each  # torch-to-nnef writes some twice; they are alike
        return Document(
            str(version),
            [[str(w) for w in words] for words in extensions],
            list(known.values()),
            graph,
            _UNKNOWN,
        )

    def version_number(self, _: Token, number: Token, __: Token) -> Token:
        """The version of a file."""
        if not number.startswith("1."):
            raise Refused(f"version {number} of NNEF; 1.0 is read", number)
        return number

    def fragment(self, *parts: Any) -> Fragment:
        """A declaration of an operation, or its definition."""
        _, name, _, parameters, _, _, _, results, _, body = parts
        named = str(name).partition("<")
        return Fragment(named[0].strip(), bool(named[1]), parameters, results, body, _UNKNOWN)

    def parameter(self, name: Token, _: Token, kind: str, __: Any = None, default: Any = None) -> Declared:
        """A parameter or a result."""
        return Declared(str(name), kind, default)

    def word(self, name: Token) -> Any:
        """A word of the language, as it is."""
        return Token.new_borrow_pos("WORD", str(name), name)

    def plain_type(self, name: Token) -> str:
        """A type of one word."""
        return str(name)

    def any_type(self, _: Token) -> str:
        """`?`"""
        return "?"

    def any_tensor(self, *_: Token) -> str:
        """A tensor of any type."""
        return "tensor<?>"

    def tensor_type(self, _: Token, __: Token, element: Token, ___: Token) -> str:
        """A tensor."""
        return f"tensor<{element}>"

    def array_type(self, element: str, *_: Token) -> str:
        """An array."""
        return f"{element}[]"

    def tuple_type(self, _: Token, types: list[str], __: Token) -> str:
        """A tuple."""
        return f"({','.join(types)})"

    def graph(self, *parts: Any) -> Graph:
        """The graph of a file."""
        _, name, _, inputs, _, _, _, outputs, _, _, body, _ = parts
        return Graph(
            str(name),
            [*map(str, inputs)],
            [*map(str, outputs)],
            body,
            Span(_UNKNOWN, start_of(name), stop_of(name)),
        )

    def assignment(self, target: Any, _: Token, value: Any, __: Token) -> Assignment:
        """A line of a body."""
        return Assignment(target, value)

    def bare_tuple(self, first: Any, _: Token, more: list[Any]) -> Items:
        """Targets without brackets."""
        return Items(first.start, more[-1].stop, [first, *more], True)

    def name(self, token: Token) -> Name:
        """A name."""
        return Name(start_of(token), stop_of(token), str(token))

    def number(self, token: Token) -> Literal:
        """A number: an integer without a dot and an exponent."""
        value = number_of(token, float if any(c in token for c in ".eE") else int)
        return Literal(start_of(token), stop_of(token), value)

    def text(self, token: Token) -> Literal:
        """A text in quotes."""
        return Literal(start_of(token), stop_of(token), str(token[1:-1]))

    def truth(self, token: Token) -> Literal:
        """true or false."""
        return Literal(start_of(token), stop_of(token), token == "true")

    def no_items(self, first: Token, last: Token) -> Items:
        """An empty array."""
        return Items(start_of(first), stop_of(last), [])

    def array(self, first: Token, items: list[Any], last: Token) -> Items:
        """An array."""
        return Items(start_of(first), stop_of(last), items)

    def tuple(self, first: Token, items: list[Any], last: Token) -> Items:
        """Targets in round brackets."""
        return Items(start_of(first), stop_of(last), items, True)

    def longer_tuple(self, first: Token, item: Any, _: Token, items: list[Any], last: Token) -> Items:
        """A tuple of two or more."""
        return Items(start_of(first), stop_of(last), [item, *items], True)

    def choice(self, yes: Any, _: Token, condition: Any, __: Token, no: Any) -> Choice:
        """`yes if condition else no`."""
        return Choice(yes.start, no.stop, yes, condition, no)

    def binary(self, x: Any, operator: Token, y: Any) -> Binary:
        """An operator between two operands."""
        return Binary(x.start, y.stop, str(operator), x, y)

    less = greater = binary

    def unary(self, operator: Token, x: Any) -> Unary:
        """An operator before its operand."""
        return Unary(start_of(operator), x.stop, str(operator), x)

    def comprehension(self, *parts: Any) -> Comprehension:
        """An array, item by item."""
        first, _, iterators, _, result, last = parts
        return self._each(first, iterators, None, result, last)

    def filtered(self, *parts: Any) -> Comprehension:
        """An array of those items that a condition lets through."""
        first, _, iterators, _, condition, _, result, last = parts
        return self._each(first, iterators, condition, result, last)

    def _each(self, first: Token, iterators: Any, condition: Any, result: Any, last: Token) -> Comprehension:
        names, sources = [str(n) for n, _ in iterators], [s for _, s in iterators]
        return Comprehension(start_of(first), stop_of(last), names, sources, condition, result)

    def iterator(self, name: Token, _: Token, source: Any) -> Any:
        """A name and what it goes through."""
        return Pair((name, source))

    def subscript(self, of: Any, _: Token, index: Any, last: Token) -> Subscript:
        """An item of an array."""
        return Subscript(of.start, stop_of(last), of, index)

    def part(self, of: Any, _: Token, low: Any, __: Token, high: Any, last: Token) -> Part:
        """Some items of an array."""
        return Part(of.start, stop_of(last), of, low, high)

    def argument(self, value: Any) -> Any:
        """An argument by position."""
        return Pair((None, value))

    def named_argument(self, name: Token, _: Token, value: Any) -> Any:
        """An argument by name."""
        return Pair((name, value))

    def entry(self, label: Token, _: Token, *parts: Any) -> Any:
        """A line of `graph.quant`."""
        return Pair((str(label[1:-1]), self.call(*parts[:-1])))

    def call(self, name: Token, _: Token, arguments: list[Any], last: Token) -> Call:
        """A call of an operation."""
        word, kind = str(name).partition("<")[::2]
        given: list[Any] = []
        named: dict[str, Any] = {}
        for key, value in arguments:
            if key is None and named:
                raise Refused("an argument by position behind one by name", value)
            if key is None:
                given.append(value)
            elif str(key) in named:
                raise Refused(f"`{key}` is given twice", key)
            else:
                named[str(key)] = value
        generic = kind.strip(" \t>?=")
        return Call(start_of(name), stop_of(last), word.strip(), generic, given, named)
