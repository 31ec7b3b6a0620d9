"""Lark's callbacks for SkriptND: tokens and parts become trees."""

from __future__ import annotations

import re
from typing import Any

from lark import Token, v_args

from texpr.nnef.syntax import skript_tree
from texpr.nnef.syntax.text_builder import Pair, Refused, TextBuilder, nodes_of, number_of, start_of, stop_of

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Count(list):
    """A count: nothing, or an expression."""


@v_args(inline=True)
class SkriptBuilder(TextBuilder):
    """A method for each alternative of the grammar. All tokens are among the arguments."""

    skipped, inner = TextBuilder.absent, TextBuilder.first

    def skipped_more(self, items: list[Any], *_: Any) -> list[Any]:
        """A list without what is not used."""
        return items

    def word(self, token: Token) -> Pair:
        """A word as it is."""
        return Pair((token,))

    def import_line(self, _: Token, names: list[skript_tree.Named], __: Token) -> list[str]:
        """Modules."""
        return [n.name for n in names]

    def operator(self, keyword: Token, name: Token, _: Token, blocks: list[Any], last: Token) -> Any:
        """An operator."""
        held: dict[str, list[Any]] = {}
        for word, items in blocks:
            if word in held:
                raise Refused(f"`@{word}` is there twice", name, "join the two blocks")
            held[word] = items
        return skript_tree.Operator(start_of(keyword), stop_of(last), str(name), held)

    def public_operator(self, _: Token, *parts: Any) -> Any:
        """An operator whose names others see."""
        return self.operator(*parts)

    def block(self, word: Token, _: Token, items: list[Any], __: Token) -> Pair:
        """A block."""
        return Pair((str(word)[1:], items))

    def kind(self, name: Token, _: Token, base: Token, *rest: Token) -> skript_tree.Kind:
        """A type of `@dtype`."""
        return skript_tree.Kind(
            start_of(name), stop_of(base), str(name), str(base), str(rest[1]) if len(rest) > 1 else ""
        )

    def parameter(self, name: Pair, _: Token, kind: skript_tree.Typed, *rest: Any) -> skript_tree.Parameter:
        """A declaration."""
        given = [r for r in rest if not isinstance(r, Token)]
        default, bounds = given if given else (None, [])
        return skript_tree.Parameter(start_of(name), stop_of(rest[-1]), str(name[0]), kind, default, bounds)

    def type(self, flags: list[Any], name: Pair, rank: Any, shape: Any, pack: Any) -> skript_tree.Typed:
        """A type."""
        start = start_of(flags[0] if flags else name)
        words = [str(f) for f in flags]
        length = pack[0] if pack else None
        return skript_tree.Typed(
            start, stop_of(name), words, str(name[0]), rank, shape, pack is not None, length
        )

    def pack(self, _: Token, count: Any) -> list[Any]:
        """`..(count)` of a type."""
        return [count[0] if count else None]

    def count(self, _: Token, __: list[Any], expr: Any, *___: Any) -> Count:
        """A count in brackets."""
        return Count([expr])

    def extent(self, flags: list[Any], extent: skript_tree.Extent) -> skript_tree.Extent:
        """A part of a shape."""
        return extent

    def spread_extent(self, flags: list[Any], _: Token, extent: skript_tree.Extent) -> skript_tree.Extent:
        """A part of a shape that each tensor of a pack has its own of."""
        extent.spread = True
        return extent

    def bounded_extent(self, value: Any, _: Any = None, bound: Any = None) -> skript_tree.Extent:
        """A dimension."""
        return skript_tree.Extent(start_of(value), stop_of(value), value, False, None, bound)

    def packed_extent(self, value: Any, *rest: Any) -> skript_tree.Extent:
        """Dimensions."""
        *bound, count = [r for r in rest if not isinstance(r, Token)]
        return skript_tree.Extent(
            start_of(value),
            stop_of(value),
            value,
            True,
            count[0] if count else None,
            bound[0] if bound else None,
        )

    def using(self, target: Any, *rest: Any) -> skript_tree.Using:
        """A helper symbol."""
        value = nodes_of(rest)[-1]
        if isinstance(target, Pair):
            target = skript_tree.Named(start_of(target), stop_of(target), str(target[0]))
        return skript_tree.Using(start_of(target), stop_of(value), target, value)

    def assertion(self, condition: Any, *rest: Any) -> skript_tree.Assertion:
        """A condition."""
        given = nodes_of(rest)
        text, shown = given if given else (None, [])
        message = text.value if text else ""
        return skript_tree.Assertion(start_of(condition), stop_of(condition), condition, message, shown)

    def append_labelled(self, items: list[Any], _: Token, label: Any, __: Token, value: Any) -> list[Any]:
        """A value with a label."""
        items.append(value)
        return items

    def text(self, token: Token) -> skript_tree.Value:
        """A text."""
        return skript_tree.Value(start_of(token), stop_of(token), _ESCAPED.sub(r"\1", str(token)[1:-1]))

    def longer_text(self, text: skript_tree.Value, token: Token) -> skript_tree.Value:
        """Two texts beside each other."""
        return skript_tree.Value(text.start, stop_of(token), f"{text.value}{self.text(token).value}")

    def unrolled(
        self, _: Token, __: Token, ___: Token, name: Token, ____: Token, count: Any, *_____: Any
    ) -> Pair:
        """`unroll..(name -> count)`"""
        return Pair((str(name), count))

    def pair(self, name: Pair, _: Token, value: Any) -> Pair:
        """A name with a value."""
        return Pair((str(name[0]), value))

    def append_bound(self, items: list[Any], _: Token, name: Pair, __: Token, value: Any) -> list[Any]:
        """`, name < value`"""
        items.append(Pair((str(name[0]), value)))
        return items

    def formula(self, *parts: Any) -> skript_tree.Formula:
        """An equation of `@lower`."""
        unrolled, named, target, operator, value, bounds, condition, last = parts
        return skript_tree.Formula(
            start_of(target), stop_of(last), unrolled, named, target, str(operator), value, bounds, condition
        )

    plain_formula = formula

    def component(self, targets: list[Any], _: Token, right: Any, last: Token) -> skript_tree.Component:
        """A line of `@compose`."""
        return skript_tree.Component(start_of(targets[0]), stop_of(last), targets, right)

    def target(self, name: Pair) -> skript_tree.Target:
        """A name."""
        return skript_tree.Target(start_of(name), stop_of(name), str(name[0]))

    def packed_target(self, name: Pair, *_: Any) -> skript_tree.Target:
        """A name of a pack."""
        return skript_tree.Target(start_of(name), stop_of(name), str(name[0]), True)

    def typed_target(self, name: Pair, _: Token, kind: skript_tree.Typed) -> skript_tree.Target:
        """A name with its type."""
        return skript_tree.Target(start_of(name), stop_of(name), str(name[0]), kind.packed, None, kind)

    def target_items(self, first: Token, items: list[Any], last: Token) -> skript_tree.Target:
        """Names for the items of a pack."""
        return skript_tree.Target(start_of(first), stop_of(last), "", False, items)

    def omitted(self, token: Token) -> skript_tree.Omitted:
        """`~`"""
        return skript_tree.Omitted(start_of(token), stop_of(token))

    def step(self, value: Any) -> skript_tree.Step:
        """An invocation or a value."""
        return skript_tree.Step(value.start, value.stop, value)

    def labelled_step(self, label: Token, _: Token, value: Any) -> Any:
        """The same with a label."""
        return value if isinstance(value, skript_tree.Scope) else self.step(value)

    def scope(
        self, first: Token, components: Any, _: Token, values: Any, __: Token, last: Token
    ) -> skript_tree.Scope:
        """A block that yields."""
        return skript_tree.Scope(start_of(first), stop_of(last), components, values)

    def branch(self, first: Token, condition: Any, _: Token, yes: Any, no: Any) -> skript_tree.Branch:
        """A branch."""
        return skript_tree.Branch(start_of(first), no.stop, condition, yes, no)

    elif_ = branch

    def last_else(self, _: Token, step: Any) -> Any:
        """The last branch."""
        return step

    def carried_item(self, name: Pair, *rest: Any) -> Pair:
        """A value that goes from step to step."""
        *kind, value = nodes_of(rest)
        return Pair((str(name[0]), kind[0] if kind else None, value))

    def iterations(self, _: Token, __: Token, *rest: Any) -> Pair:
        """The index and the count of a loop."""
        given = nodes_of(rest)
        names = [t for t in rest if isinstance(t, Token) and t.type == "NAME"]
        return Pair((str(names[0]) if names else "", given[0] if given else None))

    def loop(self, *parts: Any) -> skript_tree.Loop:
        """A loop."""
        carried, scanned, before, word, iterations, body, after = parts
        index, count = iterations or ("", None)
        tested = before is not None or after is not None
        return skript_tree.Loop(start_of(word), body.stop, carried, scanned, index, count, body, tested)

    def loop_without_test(self, carried: Any, scanned: Any, *rest: Any) -> skript_tree.Loop:
        """A loop that nothing is tested before."""
        return self.loop(carried, scanned, None, *rest)

    def select(self, condition: Any, _: Token, yes: Any, *no: Any) -> skript_tree.Select:
        """`c ? a : b`"""
        last = no[-1] if no else yes
        return skript_tree.Select(condition.start, last.stop, condition, yes, no[-1] if no else None)

    def coalesce(self, x: Any, _: Token, otherwise: Any) -> skript_tree.Coalesce:
        """`x ?? y`"""
        return skript_tree.Coalesce(x.start, otherwise.stop, x, otherwise)

    def binary(self, x: Any, operator: Token, y: Any) -> skript_tree.Infix:
        """An operator between two operands."""
        return skript_tree.Infix(x.start, y.stop, str(operator), x, y)

    def fold(self, x: Any, operator: Token, dots: Token) -> skript_tree.Fold:
        """A fold."""
        return skript_tree.Fold(x.start, stop_of(dots), str(operator), x, len(dots) == 3)

    def unary(self, operator: Token, x: Any) -> skript_tree.Prefix:
        """An operator before its operand."""
        return skript_tree.Prefix(start_of(operator), x.stop, str(operator), x)

    def substitute(self, indexed: Any, _: Token, value: Any) -> skript_tree.Substitute:
        """`x[i] <- v`"""
        if not isinstance(indexed, skript_tree.Index):
            raise Refused("`<-` needs an index before it, as in `x[i] <- v`", indexed)
        return skript_tree.Substitute(indexed.start, value.stop, indexed.x, indexed.index, value)

    def index(self, x: Any, _: Token, index: Any, last: Token) -> skript_tree.Index:
        """`x[i]`"""
        return skript_tree.Index(x.start, stop_of(last), x, index)

    def no_indices(self, x: Any, _: Token, last: Token) -> skript_tree.Access:
        """`x[]`"""
        return skript_tree.Access(x.start, stop_of(last), x, [])

    def access(self, x: Any, _: Token, first: Any, *rest: Any) -> skript_tree.Access:
        """`x[i, j]`"""
        more = next((r for r in rest if isinstance(r, list)), [])
        return skript_tree.Access(x.start, stop_of(rest[-1]), x, [first, *more])

    def integer(self, token: Token) -> skript_tree.Value:
        """A whole number."""
        return skript_tree.Value(start_of(token), stop_of(token), number_of(token, int))

    def real(self, token: Token) -> skript_tree.Value:
        """A number with a point or an exponent."""
        return skript_tree.Value(start_of(token), stop_of(token), number_of(token, float))

    def text_literal(self, text: skript_tree.Value) -> skript_tree.Value:
        """A text as a value."""
        return text

    def truth(self, token: Token) -> skript_tree.Value:
        """true or false."""
        return skript_tree.Value(start_of(token), stop_of(token), token == "true")

    def infinite(self, token: Token) -> skript_tree.Value:
        """inf"""
        return skript_tree.Value(start_of(token), stop_of(token), float("inf"))

    def pi(self, token: Token) -> skript_tree.Value:
        """pi"""
        return skript_tree.Value(start_of(token), stop_of(token), 3.141592653589793)

    def name(self, named: skript_tree.Named) -> skript_tree.Named:
        """A name."""
        return named

    def parenthesized(self, _: Token, x: Any, __: Token) -> Any:
        """The same value."""
        return x

    def zip(self, first: Token, x: Any, _: Token, more: list[Any], last: Token) -> skript_tree.Zip:
        """Packs whose items are taken in turn."""
        return skript_tree.Zip(start_of(first), stop_of(last), [x, *more])

    def bounded(self, first: Token, index: Any, *rest: Any) -> skript_tree.Bounded:
        """An index that may be outside."""
        low, high = nodes_of(rest) or (None, None)
        return skript_tree.Bounded(start_of(first), stop_of(rest[-1]), index, low, high)

    def call_type(self, name: Token, *rest: Any) -> skript_tree.Invocation:
        """A conversion."""
        return skript_tree.Invocation(start_of(name), stop_of(rest[-1]), str(name), [], {}, nodes_of(rest))

    def call(self, name: skript_tree.Named, types: list[str], *rest: Any) -> skript_tree.Invocation:
        """An invocation."""
        brace = isinstance(rest[0], Token) and rest[0] == "{"
        given = nodes_of(rest)
        arguments = given[1] if brace and len(given) > 1 else [] if brace else given[0]
        named = dict(given[0]) if brace else {}
        return skript_tree.Invocation(name.start, stop_of(rest[-1]), name.name, types, named, arguments)

    def no_items(self, first: Token, last: Token) -> skript_tree.ItemList:
        """`[]`"""
        return skript_tree.ItemList(start_of(first), stop_of(last), [])

    def list(self, first: Token, items: list[Any], last: Token) -> skript_tree.ItemList:
        """`[a, b]`"""
        return skript_tree.ItemList(start_of(first), stop_of(last), items)

    def expand(self, x: Any, dots: Token, count: Any) -> skript_tree.Expand:
        """`x..`"""
        return skript_tree.Expand(x.start, stop_of(dots), x, count[0] if count else None)

    def range(self, first: Any, colon: Token, last: Any, *rest: Any) -> skript_tree.Range:
        """`a:b:c`"""
        step = rest[1] if rest else None
        start = first.start if first else start_of(colon)
        stop = next((p.stop for p in (step, last) if p), stop_of(colon))
        return skript_tree.Range(start, stop, first, last, step)

    def generics(self, token: Token) -> list[str]:
        """Types between `<` and `>`."""
        return re.findall(r"\w+", str(token))

    def qualified(self, token: Token) -> skript_tree.Named:
        """A name."""
        return skript_tree.Named(start_of(token), stop_of(token), str(token))

    def longer_name(self, first: skript_tree.Named, _: Token, name: Pair) -> skript_tree.Named:
        """A name with a member."""
        return skript_tree.Named(first.start, stop_of(name), f"{first.name}.{name[0]}")


setattr(SkriptBuilder, "elif", SkriptBuilder.elif_)
