"""Calls inside expressions: conversions, the scalar functions of the language, and `fn`s, which
are inlined.
"""

from __future__ import annotations

from texpr.ir.dtypes import BOOL, DTYPES, F32, F64, U64, int_range, most
from texpr.ir.expr import Call, Const, Var
from texpr.ir.functions import FUNCTIONS
from texpr.ir.interpreter.random import RANDOM
from texpr.lang.elaboration.elaboration_context import ElaborationContext
from texpr.lang.elaboration.name_scope import Scope, unknown
from texpr.lang.elaboration.typed_values import Value, describe, materialize
from texpr.lang.syntax import tree
from texpr.lang.syntax.advice import FUNCTIONS as FUNCTIONS_ELSEWHERE
from texpr.support.errors import CheckError, ResourceError
from texpr.support.fixes import imported
from texpr.support.spelling import counted
from texpr.support.trampoline import Steps

MAX_INLINED = 20_000
BUILTINS = ("max", "min", "clamp", "numel", "lowest", "place")
YIELDING = ("gelu",)
"""Functions that the language did not always have: a text may define its own `fn` of such a
name.
"""


def is_scalar_function(name: str) -> bool:
    """True if every text has a scalar function of this name."""
    return name in FUNCTIONS or name in BUILTINS or name in DTYPES or name in RANDOM


def call(s: ElaborationContext, node: tree.Call, scope: Scope) -> Steps:
    """`f(x, y)` inside an expression."""
    name = node.name.text
    for argument in node.arguments:
        if isinstance(argument, tree.Keyword):
            raise CheckError(
                f"`{name}` takes no keywords here",
                argument.span,
                code="call",
                help="an operator is called as a whole right side: P = softmax(X, axis=1)",
            )
    if name in s.names.dtypes or name in DTYPES:
        (argument,) = _arguments(node, 1)
        value = yield s.steps(argument, scope.as_value())
        return s.arithmetic.convert(value, s.names.dtype(node.name), node.span)
    if name in ("numel", "lowest"):
        return _of_a_name(s, node)
    if name == "place" and name not in s.functions:
        return (yield _place(s, node, scope))
    if name in RANDOM and name not in s.functions:
        return (yield _random(s, node, scope))
    if name not in FUNCTIONS and name not in s.functions and name not in BUILTINS:
        raise _unknown_function(s, node)
    values = []
    for argument in node.arguments:
        values.append((yield s.steps(argument, scope)))
    if name in s.functions:
        return (yield _inline(s, node, values, scope))
    return _function(s, node, values) if name in FUNCTIONS else _extreme(s, node, values)


def _arguments(node: tree.Call, count: int) -> tuple[tree.Tree, ...]:
    if len(node.arguments) != count:
        raise CheckError(
            f"`{node.name.text}` takes {counted(count, 'argument')}, found {len(node.arguments)}",
            node.span,
            code="call",
        )
    return node.arguments


def _extreme(s: ElaborationContext, node: tree.Call, values: list[Value]) -> Value:
    if node.name.text == "clamp":
        _arguments(node, 3)
        return s.arithmetic.binary(
            "min", s.arithmetic.binary("max", values[0], values[1], node.span), values[2], node.span
        )
    result = values[0]
    for value in values[1:]:
        result = s.arithmetic.binary(node.name.text, result, value, node.span)
    return result


def _unknown_function(s: ElaborationContext, node: tree.Call) -> CheckError:
    name = node.name.text
    if s.is_operator(name):
        return CheckError(
            f"`{name}` is an operator, not a scalar function",
            node.name.span,
            code="call",
            help=f"call it as a whole right side, T = {name}(X), then read T[...]",
        )
    if name in s.names.tensors:
        return CheckError(
            f"`{name}` is a tensor", node.name.span, code="call", help=f"its elements are {name}[...]"
        )
    if name in FUNCTIONS_ELSEWHERE:
        return CheckError(
            f"unknown function `{name}`", node.name.span, code="name", help=FUNCTIONS_ELSEWHERE[name]
        )
    if s.in_library(name, node.name.span):
        return CheckError(
            f"`{name}` is an operator of the library, not a scalar function",
            node.name.span,
            code="call",
            help=f"write `use ops: {name}` before the operator, T = {name}(X) as a whole right side, and read "
            "T[...]",
        )
    return unknown(
        "function",
        name,
        node.name.span,
        (*FUNCTIONS, *BUILTINS, *RANDOM, *s.functions, *s.names.dtypes, *DTYPES),
    )


def check_call_of_library(s: ElaborationContext, node: tree.Call) -> None:
    """Refuse a whole right side that calls an operator of the library with tensors, and that the text
    does not use.
    """
    name = node.name.text
    if name in s.functions or name in s.names.dtypes or is_scalar_function(name) or s.is_operator(name):
        return
    given = [a.value if isinstance(a, tree.Keyword) else a for a in node.arguments]
    if any(isinstance(a, tree.Name) and a.text in s.names.tensors for a in given) and s.in_library(
        name, node.name.span
    ):
        raise CheckError(f"unknown operator `{name}`", node.name.span, code="name", fixes=[imported(name)])


def _of_a_name(s: ElaborationContext, node: tree.Call) -> Value:
    (argument,) = _arguments(node, 1)
    if not isinstance(argument, tree.Name | tree.PackName):
        raise CheckError(
            f"`{node.name.text}` takes a name",
            argument.span,
            code="call",
            help="numel(S) of a pack *S, lowest(f32) of a type",
        )
    word = tree.Word(argument.span, argument.text)
    if node.name.text == "lowest":
        t = s.names.dtype(word)
        return Value(
            Const(-most(t) if t.is_float else int_range(t)[0] if t.is_int else False, dtype=t, span=node.span)
        )
    size = s.names.sizes.get(word.text)
    if size is None or not size.pack:
        raise unknown("pack", word.text, word.span, (n for n, v in s.names.sizes.items() if v.pack))
    return s.arithmetic.size(size)


def _function(s: ElaborationContext, node: tree.Call, values: list[Value]) -> Value:
    f = FUNCTIONS[node.name.text]
    _arguments(node, f.arity)
    values = [v if v.weak else Value(s.arithmetic.compute(v.expr)) for v in values]
    if f.domain == "float":
        values = [Value(materialize(v, F64, node.span), v.weak) if v.weak == "literal" else v for v in values]
    common = values[0]
    for v in values[1:]:
        x, _, weak = s.arithmetic.unify(common, v, f"`{f.name}`", node.span)
        common = Value(x, weak)
    operands = tuple(s.arithmetic.unify(v, common, f"`{f.name}`", node.span)[0] for v in values)
    t = operands[0].dtype
    if not (t.is_float and f.domain != "int" or t.is_int and f.domain != "float"):
        wanted = {"float": "floats", "int": "integers", "num": "numbers"}[f.domain]
        raise CheckError(
            f"`{f.name}` takes {wanted}, found {t}",
            node.span,
            code="dtype",
            help="convert it: f32(...)" if f.domain == "float" else "",
        )
    if f.result == "bool":
        return Value(Call(f.name, operands, dtype=BOOL, span=node.span))
    return Value(Call(f.name, operands, dtype=t, span=node.span), common.weak)


def _place(s: ElaborationContext, node: tree.Call, scope: Scope) -> Steps:
    """`place(*s)`: how many elements of the pack come before, row after row."""
    (argument,) = _arguments(node, 1)
    if not isinstance(argument, tree.PackName):
        raise CheckError("`place` takes the index of a pack", argument.span, code="call", help="place(*s)")
    return Value((yield s.entry(argument, scope)))


def _random(s: ElaborationContext, node: tree.Call, scope: Scope) -> Steps:
    """`uniform(seed, i, *s)`: f32; converted to f64 at once it is made of 53 bits, see
    `Arithmetic.convert`.
    """
    name = node.name.text
    if not node.arguments:
        raise CheckError(
            f"`{name}` needs a seed", node.span, code="call", help=f"{name}(seed, i, j) with a `seed: u64`"
        )
    first, *rest = node.arguments
    seed = yield s.steps(first, scope.as_value())
    if seed.weak != "literal" and seed.dtype != U64:
        raise CheckError(
            f"a seed is u64; found {describe(seed)}", first.span, code="dtype", help="convert it: u64(...)"
        )
    indices = []
    for argument in rest:
        indices.append((yield s.entry(argument, scope)))
    return Value(Call(name, (materialize(seed, U64, first.span), *indices), dtype=F32, span=node.span))


def _inline(s: ElaborationContext, node: tree.Call, values: list[Value], scope: Scope) -> Steps:
    function = s.functions[node.name.text]
    name = function.name.text
    if name in scope.inlining:
        chain = " -> ".join((*scope.inlining[scope.inlining.index(name) :], name))
        raise CheckError(
            f"`{name}` calls itself: {chain}",
            node.span,
            code="call",
            help="scalar functions are inlined, so they cannot recurse",
        )
    _arguments(node, len(function.parameters))
    s.inlined += 1
    if s.inlined > MAX_INLINED:
        raise ResourceError(f"more than {MAX_INLINED} calls of scalar functions are inlined", node.span)
    local: dict[str, Var | Value] = dict(zip((p.text for p in function.parameters), values))
    return (yield s.steps(function.body, Scope(local, scope.index, scope.widen, (*scope.inlining, name))))
