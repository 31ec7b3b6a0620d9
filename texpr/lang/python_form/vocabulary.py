"""The words of the Python form: reductions, functions, casts and statements, on traced values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from texpr.ir.dtypes import DTYPES
from texpr.ir.functions import FUNCTIONS
from texpr.ir.interpreter.random import RANDOM
from texpr.lang.python_form.traced import (
    ATOM,
    IF,
    SUM,
    Element,
    Index,
    Pack,
    Scalar,
    Tensor,
    Value,
    checked_name,
    inside,
    operand,
    refused,
)
from texpr.support.frozen_dataclass import frozen_by_identity

Trace = Any
_TRACE: ContextVar[Trace] = ContextVar("texpr_trace", default=None)


@frozen_by_identity
class Range:
    """`lo..hi`, the default of an index: `lambda k=tx.range(0, n): ...`."""

    lo: Value
    hi: Value

    @property
    def text(self) -> str:
        return f"{inside(self.lo, SUM)}..{inside(self.hi, SUM)}"


@contextmanager
def tracing(trace: Trace):
    """Statements go to `trace` inside."""
    token = _TRACE.set(trace)
    try:
        yield
    finally:
        _TRACE.reset(token)


def _trace(word: str) -> Trace:
    trace = _TRACE.get()
    if trace is None:
        raise refused(
            f"tx.{word} outside of an operator", "it is used in a function under @tx.op, while that is traced"
        )
    return trace


def indices(
    function: Callable[..., object], packs: Sequence[bool] = ()
) -> tuple[tuple[Index, ...], dict[str, object], dict[str, Range]]:
    """The indices that a lambda binds, what to call it with, and ranges. `packs` says which are
    packs where a type tells.
    """
    bound: dict[str, object] = {}
    ranges: dict[str, Range] = {}
    found: list[Index] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is not parameter.empty and not isinstance(parameter.default, Range):
            continue  # `lambda i, c=c:` keeps a value of a Python loop.
        if parameter.kind is parameter.VAR_KEYWORD:
            raise refused(
                f"`{parameter}` is no index",
                "a lambda over indices looks like: lambda i, j: ... or lambda *s: ...",
            )
        whole = parameter.kind is parameter.VAR_POSITIONAL
        pack = whole or len(found) < len(packs) and packs[len(found)]
        index = Index(checked_name(parameter.name, "the index"), pack)
        found.append(index)
        bound[parameter.name] = index
        if isinstance(parameter.default, Range):
            ranges[parameter.name] = parameter.default
    return tuple(found), bound, ranges


def applied(function: Callable[..., Any], bound: dict[str, object]) -> Any:
    """Call a lambda over indices, or over fewer of them (`where=`)."""
    positional: list[object] = []
    keywords: dict[str, object] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in bound:
            if parameter.default is parameter.empty:
                raise refused(
                    f"`{parameter.name}` is not an index of the lambda beside it",
                    f"its indices are {', '.join(bound)}",
                )
            if parameter.kind is not parameter.KEYWORD_ONLY:
                positional.append(parameter.default)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            positional += list(bound[parameter.name])  # type: ignore[call-overload]
        elif parameter.kind is parameter.KEYWORD_ONLY:
            keywords[parameter.name] = bound[parameter.name]
        else:
            positional.append(bound[parameter.name])
    return function(*positional, **keywords)


def starred(index: Index) -> str:
    """The index as it is bound."""
    return f"*{index.text}" if index.starred else index.text


def _tensor_method(name: str, value: object) -> Callable[..., Any] | None:
    """The method of a tensor or a parameter, outside of operators: `tx.exp(x)` is `x.exp()` there."""
    is_tensor = hasattr(type(value), "__array_function__") and not isinstance(value, np.ndarray)
    return getattr(value, name, None) if is_tensor and _TRACE.get() is None else None


def _reduction(op: str) -> Callable[..., Any]:
    def reduce(
        body: Any,
        *values: object,
        where: Callable[..., object] | None = None,
        dtype: str | None = None,
        **options: Any,
    ) -> Any:
        # A whole number is an axis, as in np.max(x, 1) and torch.max(x, 1).
        of_two = op in ("max", "min") and len(values) == 1 and type(values[0]) is not int
        if (method := _tensor_method(f"{op}imum" if of_two else op, body)) and where is None:
            return method(*values, **options, **({} if dtype is None else {"dtype": dtype}))
        if options:
            raise refused(f"tx.{op} has no argument `{next(iter(options))}`", f"tx.{op}(lambda k: X[k])")
        if not inspect.isfunction(body):
            if op not in ("max", "min") or not values or where is not None:
                raise refused(
                    f"tx.{op} runs over indices, found {type(body).__name__}", f"tx.{op}(lambda k: X[k])"
                )
            return Value(f"{op}({', '.join(operand(v).text for v in (body, *values))})")
        if values:
            raise refused(f"tx.{op} of a function and values", f"tx.{op}(lambda k: X[k]) or tx.{op}(a, b)")
        found, bound, ranges = indices(body)
        if not found:
            raise refused(f"tx.{op} without an index", f"tx.{op}(lambda k: X[k])")
        inner = operand(applied(body, bound))
        condition = "" if where is None else f" where {operand(applied(where, bound)).text}"
        binders = ", ".join(
            f"{starred(i)} in {ranges[i.text].text}" if i.text in ranges else starred(i) for i in found
        )
        return Value(f"{op}{f'<{dtype}>' if dtype else ''}({binders}{condition}: {inner.text})")

    reduce.__name__ = reduce.__qualname__ = op
    reduce.__doc__ = f"`{op}(k where c: body)` is `tx.{op}(lambda k: body, where=lambda k: c)`."
    if op in ("max", "min"):
        reduce.__doc__ += f" Of values: `tx.{op}(a, b)`; of a tensor and an integer it is along that axis."
    reduce.__doc__ += f" Of a tensor it is the method: `x.{op}()`."
    return reduce


def _function(name: str) -> Callable[..., Any]:
    def call(*values: object) -> Any:
        if values and (method := _tensor_method(name, values[0])):
            return method(*values[1:])
        if not any(isinstance(v, Value | Tensor | Pack) for v in values) and _TRACE.get() is None:
            raise refused(
                f"tx.{name} of {', '.join(type(v).__name__ for v in values) or 'nothing'}",
                f"it is used in a function under @tx.op; arrays are NumPy's, as in np.{name}",
            )
        return Value(
            f"{name}({', '.join(v.text if isinstance(v, Pack) else operand(v).text for v in values)})"
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{name}` of the language, on traced values."
    return call


REDUCTIONS = {
    name: _reduction(name) for name in ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all")
}
SCALARS = {name: _function(name) for name in (*FUNCTIONS, *RANDOM, "clamp", *DTYPES)}


def select(condition: object, then: object, otherwise: object) -> Value:
    """`if condition then a else b`: lazy for bounds and gradients."""
    return Value(f"if {operand(condition).text} then {operand(then).text} else {operand(otherwise).text}", IF)


def range_(lo: object, hi: object) -> Range:
    """`lo..hi` as the default of an index: `lambda k=tx.range(0, n): ...`; `hi` is not included."""
    return Range(operand(lo), operand(hi))


def cast(dtype: str, value: object) -> Value:
    """Convert to a type by name, such as a dtype variable: `tx.cast("T", x)`."""
    return Value(f"{checked_name(dtype, 'the type')}({operand(value).text})")


def size(name: str) -> Value:
    """A size by name: `tx.size("N")`."""
    return Value(checked_name(name, "the size"))


def numel(pack: str) -> Value:
    """The number of elements of a pack: `tx.numel("S")` for `*S`."""
    return Value(f"numel({checked_name(pack, 'the pack')})", ATOM)


def lowest(dtype: str) -> Value:
    """The lowest value of a type: `tx.lowest("T")`."""
    return Value(f"lowest({checked_name(dtype, 'the type')})", ATOM)


def output(name: str) -> Tensor | Scalar:
    """An output by name: for recurrences, pieces and updates."""
    return _trace("output").output(name)


def let(declaration: str, equation: Callable[..., object] | None = None) -> Tensor | Scalar:
    """An intermediate: `let("m", lambda i: ...)` defines one whose shape is inferred, `let("V:
    f32[L, S]")` declares one that `eq` defines, and both together is possible."""
    return _trace("let").let(declaration, equation)


def eq(equation: Callable[..., object], where: Callable[..., object] | None = None) -> None:
    """One equation or update: `eq(lambda s: V[0, s] == E[s, o[0]])`, `eq(lambda i:
    dE[idx[i]].add(G[i]))`. `where` is affine.
    """
    _trace("eq").equation(equation, where)


WORDS: dict[str, Callable[..., object]] = {
    **REDUCTIONS,
    **SCALARS,
    "select": select,
    "range": range_,
    "cast": cast,
    "size": size,
    "numel": numel,
    "lowest": lowest,
    "output": output,
    "let": let,
    "eq": eq,
}
"""Public names of the Python form: `tx.sum`, `tx.exp`, ..."""

__all__ = ["REDUCTIONS", "SCALARS", "WORDS", "Element", "Range", "tracing"]
