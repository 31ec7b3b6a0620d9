"""What each alternative of the grammar becomes. Lists are built by `LISTS` without a place, trees by `TREES` with theirs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from texpr.lang.syntax import advice, tree
from texpr.lang.syntax.lexer import REDUCTIONS, Token
from texpr.support.errors import ParseError
from texpr.support.source import Span
from texpr.support.spelling import suggestion


def _word(span: Span, token: Token) -> tree.Word:
    return tree.Word(Span(span.source, token.start, token.stop), token.text)


def _append(c: list[Any]) -> list[Any]:
    c[0].append(c[-1])
    return c[0]


LISTS: dict[str, Callable[[list[Any]], Any]] = {
    "none": lambda c: [],
    "nothing": lambda c: None,
    "one": lambda c: [c[0]],
    "more": _append,
    "append": _append,
    "second": lambda c: c[1],
    "parentheses": lambda c: c[1],
}


def _operator(span: Span, c: list[Any]) -> tree.Operator:
    _, name, variables, _, inputs, constants, _, _, outputs, requires, brace, statements, _ = c
    return tree.Operator(span, _word(span, name), tuple(variables), tuple(inputs), tuple(constants), tuple(outputs), tuple(requires),
                         tuple(statements), brace.stop)


def _extern(span: Span, c: list[Any]) -> tree.Operator:
    _, _, name, variables, _, inputs, constants, _, _, outputs, requires = c
    return tree.Operator(span, _word(span, name), tuple(variables), tuple(inputs), tuple(constants), tuple(outputs), tuple(requires),
                         None, span.stop)


def _function(span: Span, c: list[Any]) -> tree.Function:
    _, name, _, parameters, _, _, body = c
    return tree.Function(span, _word(span, name), tuple(_word(span, p) for p in parameters), body)


def _use(span: Span, c: list[Any]) -> tree.Use:
    file = c[1].type == "STRING"
    origin = tree.Word(_word(span, c[1]).span, c[1].text.strip('"'))
    return tree.Use(span, origin, file, tuple(_word(span, n) for n in c[3]))


def _type_variable(span: Span, c: list[Any]) -> tree.TypeVariable:
    return tree.TypeVariable(span, _word(span, c[0]), _word(span, c[2]) if len(c) > 1 else None)


def _header(span: Span, c: list[Any]) -> tree.Header:
    return tree.Header(span, tuple(c[1]), tuple(c[4]))


def _declaration(span: Span, c: list[Any]) -> tree.Declaration:
    return tree.Declaration(span, _word(span, c[0]), c[2])


def _optional(span: Span, c: list[Any]) -> tree.Declaration:
    return tree.Declaration(span, c[0].name, c[0].type, c[2])


def _shaped(span: Span, c: list[Any]) -> tree.Type:
    return tree.Type(span, _word(span, c[0]), tuple(c[2]) if len(c) == 4 else ())


def _ranged_type(span: Span, c: list[Any]) -> tree.Type:
    return tree.Type(span, c[0].dtype, c[0].dims, c[2], len(c) == 4)


def _distinct_type(span: Span, c: list[Any]) -> tree.Type:
    return tree.Type(span, c[0].dtype, c[0].dims, None, True)


def _pack_dim(span: Span, c: list[Any]) -> tree.PackDim:
    return tree.PackDim(span, c[1], c[3] if len(c) > 2 else None)


def _constant(span: Span, c: list[Any]) -> tree.Constant:
    return tree.Constant(span, _word(span, c[0]), _word(span, c[2]) if len(c) > 1 else None, None)


def _constant_default(span: Span, c: list[Any]) -> tree.Constant:
    return tree.Constant(span, _word(span, c[0]), _word(span, c[2]) if len(c) > 3 else None, c[-1])


def _let(span: Span, c: list[Any]) -> tree.Let:
    return tree.Let(span, c[1])


def _equation(span: Span, c: list[Any]) -> tree.Equation:
    targets, update, value, ranges, where = c
    return tree.Equation(span, tuple(targets), update.text, value, tuple(ranges), where)


def _store(span: Span, c: list[Any]) -> tree.Equation:
    return tree.Equation(span, (c[0],), c[1].text, c[2], (), None)


def _target(span: Span, c: list[Any]) -> tree.Target:
    return tree.Target(span, _word(span, c[0]), tuple(c[2]) if len(c) > 1 else (), None)


def _guarded_target(span: Span, c: list[Any]) -> tree.Target:
    guard: tree.Guard = c[4]
    if guard.value is not None:
        raise ParseError("a value outside the array can only be read, not written", guard.span,
                         help="a left side takes `| drop`, `| clamp`, `| wrap` or `| reflect`")
    return tree.Target(span, _word(span, c[0]), tuple(c[2]), guard)


def _binder(span: Span, c: list[Any]) -> tree.Binder:
    return tree.Binder(span, c[0].text, False, c[2])


def _pack_binder(span: Span, c: list[Any]) -> tree.Binder:
    return tree.Binder(span, c[1].text, True, c[3])


def _range(span: Span, c: list[Any]) -> tree.Range:
    return tree.Range(span, c[0], c[2])


def _pack(span: Span, c: list[Any]) -> tree.PackName:
    return tree.PackName(span, c[1].text)


def _guard_value(span: Span, c: list[Any]) -> tree.Guard:
    return tree.Guard(span, "value", c[0])


def _guard_mode(span: Span, c: list[Any]) -> tree.Guard:
    return tree.Guard(span, c[0].text, None)


def _conditional(span: Span, c: list[Any]) -> tree.Conditional:
    return tree.Conditional(span, c[1], c[3], c[5])


def _binary(span: Span, c: list[Any]) -> tree.Binary:
    return tree.Binary(span, c[1].text, c[0], c[2])


def _unary(span: Span, c: list[Any]) -> tree.Unary:
    return tree.Unary(span, c[0].text, c[1])


def _compare(span: Span, c: list[Any]) -> tree.Comparison:
    return tree.Comparison(span, (c[1].text,), (c[0], c[2]))


def _compare_more(span: Span, c: list[Any]) -> tree.Comparison:
    return tree.Comparison(span, (*c[0].operators, c[1].text), (*c[0].operands, c[2]))


def _integer(span: Span, c: list[Any]) -> tree.Number:
    digits = c[0].text.lstrip("0") or "0"
    if len(digits) > 20 or int(digits) >= 1 << 64:
        raise ParseError("an integer literal fits no type: it needs more than 64 bits", span)
    return tree.Number(span, int(digits))


def _real(span: Span, c: list[Any]) -> tree.Number:
    value = math.nan if c[0].text == "nan" else float(c[0].text)
    if math.isinf(value) and c[0].text != "inf":
        raise ParseError(f"`{c[0].text[:40]}` does not fit f64", span, help="write inf if you mean it")
    return tree.Number(span, value)


def _truth(span: Span, c: list[Any]) -> tree.Number:
    return tree.Number(span, c[0].text == "true")


def _name(span: Span, c: list[Any]) -> tree.Name:
    return tree.Name(span, c[0].text)


def _access(span: Span, c: list[Any]) -> tree.Access:
    return tree.Access(span, _word(span, c[0]), tuple(c[2]), None)


def _guarded_access(span: Span, c: list[Any]) -> tree.Access:
    if c[4].mode == "drop":
        raise ParseError("`drop` is for writing, and this is a read", c[4].span,
                         help="a read takes `| value`, `| clamp`, `| wrap` or `| reflect`")
    return tree.Access(span, _word(span, c[0]), tuple(c[2]), c[4])


def _group(span: Span, c: list[Any]) -> tree.Group:
    return tree.Group(span, (c[1], *c[3]))


def _callee(span: Span, c: list[Any]) -> tuple[Token, Token | None]:
    return c[0], None


def _typed_callee(span: Span, c: list[Any]) -> tuple[Token, Token | None]:
    return c[0], c[2]


def _argument_in(span: Span, c: list[Any]) -> tree.Binder:
    if not isinstance(c[0], tree.Name):
        raise ParseError("a binder is a name; found an expression before `in`", c[0].span)
    return tree.Binder(span, c[0].text, False, c[2])


def _keyword(span: Span, c: list[Any]) -> tree.Keyword:
    return tree.Keyword(span, _word(span, c[0]), c[2])


def _call(span: Span, c: list[Any]) -> tree.Call:
    (token, parameter), arguments = c[0], c[2] if len(c) > 3 else []
    if token.type == "REDUCE" and (token.text not in ("max", "min") or parameter is not None):
        raise ParseError(f"`{token.text}` needs binders", span, help=f"{token.text}(k: X[k]) says what to run over")
    if token.type == "REDUCE" and len(arguments) < 2:
        raise ParseError(f"`{token.text}` of one value", span,
                         help=f"{token.text}(a, b) compares values, {token.text}(k: X[k]) runs over an index")
    for previous, argument in zip([None, *arguments], arguments):
        if isinstance(argument, tree.Binder):
            raise ParseError("`in` makes a binder, but no `:` follows", argument.span, help=f"{token.text}(k in 0..n: X[k])")
        if isinstance(previous, tree.Keyword) and not isinstance(argument, tree.Keyword):
            raise ParseError("a value after a keyword", argument.span, help="keywords come last")
    return tree.Call(span, _word(span, token), tuple(arguments))


def _reduction(span: Span, c: list[Any]) -> tree.Reduction:
    (token, parameter), arguments = c[0], c[2]
    if token.type != "REDUCE":
        raise ParseError(f"`{token.text}` is not a reduction", _word(span, token).span,
                         help=advice.REDUCTIONS.get(token.text) or suggestion(token.text, REDUCTIONS)
                         or f"reductions are {', '.join(sorted(REDUCTIONS))}")
    where = c[4] if len(c) > 6 else None
    binders = tuple(_as_binder(a) for a in arguments)
    return tree.Reduction(span, token.text, None if parameter is None else _word(span, parameter), binders, where, c[-2])


def _as_binder(argument: tree.Tree) -> tree.Binder:
    match argument:
        case tree.Binder():
            return argument
        case tree.Name(span, text):
            return tree.Binder(span, text, False, None)
        case tree.PackName(span, text):
            return tree.Binder(span, text, True, None)
    raise ParseError("a binder is a name, `name in lo..hi` or `*name`; found an expression before `:`", argument.span)


TREES: dict[str, Callable[[Span, list[Any]], Any]] = {
    f.__name__.removeprefix("_"): f
    for f in (
        _operator, _extern, _function, _use, _type_variable, _header, _declaration, _optional, _shaped, _ranged_type, _distinct_type,
        _pack_dim, _constant, _constant_default, _let, _equation, _store, _target, _guarded_target, _binder, _pack_binder, _range,
        _pack, _guard_value, _guard_mode, _conditional, _binary, _unary, _compare, _compare_more, _integer, _real, _truth, _name,
        _access, _guarded_access, _group, _callee, _typed_callee, _argument_in, _keyword, _call, _reduction,
    )
} | {"reduction_where": _reduction}
