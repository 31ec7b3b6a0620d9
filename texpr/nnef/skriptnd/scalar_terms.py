"""Operators and functions of SkriptND on scalars: numbers and sizes are computed, terms are written."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from texpr.nnef.skriptnd.runtime_terms import (
    AND,
    ATOM,
    COMPARED,
    LOOSE,
    PRODUCT,
    SUM,
    AllOf,
    AnyOf,
    Edge,
    Tensor,
    Term,
    Unsure,
    is_whole,
)
from texpr.nnef.skriptnd.size_polynomials import (
    Size,
    bounds_of_size,
    ceil_quotient,
    extreme,
    floor_quotient,
    has_index,
    remainder,
    text_of,
)


class Refusal(Exception):
    """A refusal that does not know its place: a message, and a way out."""

    def __init__(self, message: str, help: str = "") -> None:  # noqa: A002
        super().__init__(message)
        self.message, self.help = message, help


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_REALS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": math.atanh,
    "erf": math.erf,
    "round": lambda x: float(round(x)),
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "frac": lambda x: x - math.floor(x),
}
BUILT_IN = {*_REALS, "abs", "sign"}
LARGEST = 1 << 63
"""Whole numbers are below it: those of the language have 64 bits."""
_MOST_TERMS, _MOST_FACTORS = 1024, 64
"""Terms of a size, and names that are multiplied in one."""
_SHOWN = 80
"""Characters of operands that a message has."""


def kind_of(x: Any) -> str:
    """`real`, `int`, `bool` or `str`."""
    if isinstance(x, Term):
        return x.kind
    if isinstance(x, (bool, Unsure, AllOf, AnyOf)):
        return "bool"
    if is_whole(x):
        return "int"
    return "real" if isinstance(x, float) else "str"


def number_text(x: float) -> str:
    """A number in the language."""
    if math.isnan(x):
        return "nan"
    return repr(x) if math.isfinite(x) else "inf" if x > 0 else "-inf"


def term(x: Any) -> Term:
    """A value as a term.

    Raises:
        Refusal: it is none.
    """
    if isinstance(x, Term):
        return x
    if isinstance(x, bool):
        return Term("true" if x else "false", "bool")
    if is_whole(x):
        text = text_of(x)
        simple = text.isidentifier() or text.isdecimal()
        return Term(text, "int", ATOM if simple else LOOSE)
    if isinstance(x, float):
        text = number_text(x)
        return Term(text, "real", SUM if text.startswith("-") else ATOM)
    if isinstance(x, Unsure):
        return Term(str(x), "bool", COMPARED)
    raise Refusal(f"{_said(x)} stands where a number is needed")


def _said(x: Any) -> str:
    if isinstance(x, list):
        return "a pack"
    if x is None:
        return "an absent value"
    return "a text" if isinstance(x, str) else f"a {type(x).__name__.lower()}"


def _same_kind(symbol: str, x: Any, y: Any) -> str:
    kinds = kind_of(x), kind_of(y)
    if kinds[0] != kinds[1]:
        raise Refusal(
            f"`{symbol}` needs two values of one type; found {kinds[0]} and {kinds[1]}",
            f"convert one of them: {kinds[0]}(...)",
        )
    return kinds[0]


def as_tensor(value: Any) -> Any:
    """A number as a tensor of rank 0; what is none as it is."""
    if isinstance(value, (bool, int, float, Size, Term)):
        return Tensor("", kind_of(value), [], value=value)
    return value


def arithmetic(symbol: str, x: Any, y: Any) -> Any:
    """`+ - * / \\ % ** <? >?` of two scalars."""
    kind = _same_kind(symbol, x, y)
    if kind not in ("int", "real"):
        raise Refusal(f"`{symbol}` of {kind}; it is for numbers")
    if isinstance(x, Term) or isinstance(y, Term):
        return _written(symbol, kind, term(x), term(y))
    try:
        return _whole(symbol, x, y) if kind == "int" else _real(symbol, x, y)
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        operands = f" of {x} and {y}"
        said = operands if len(operands) <= _SHOWN else ""
        raise Refusal(f"`{symbol}`{said} has no value: {error}") from None


def _whole(symbol: str, x: Any, y: Any) -> Any:
    if symbol == "**":
        if isinstance(y, int) and 0 <= y <= 64:
            power: Any = 1
            for _ in range(y):
                power = _limited(power * x)
            return power
        raise Refusal("a power of whole numbers needs an exponent of 0 to 64")
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": floor_quotient,
        "\\": ceil_quotient,
        "%": remainder,
        "<?": lambda a, b: extreme("min", a, b),
        ">?": lambda a, b: extreme("max", a, b),
    }
    return _limited(functions[symbol](x, y))


def _limited(x: Any) -> Any:
    """A number or a size that is not too large.

    Raises:
        OverflowError: it is.
    """
    terms = x.terms if isinstance(x, Size) else {(): x}
    if any(abs(factor) >= LARGEST for factor in terms.values()):
        raise OverflowError("whole numbers have 64 bits")
    if len(terms) > _MOST_TERMS or max(map(len, terms)) > _MOST_FACTORS:
        raise OverflowError(f"sizes have {_MOST_TERMS} terms and products of {_MOST_FACTORS} names at most")
    return x


def _real(symbol: str, x: float, y: float) -> float:
    functions: dict[str, Callable[[float, float], float]] = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "\\": lambda a, b: math.ceil(a / b),
        "%": operator.mod,
        "**": math.pow,  # of a negative number, a complex one is none
        "<?": min,
        ">?": max,
    }
    return float(functions[symbol](x, y))


def _written(symbol: str, kind: str, x: Term, y: Term) -> Term:
    if symbol in ("<?", ">?"):
        return Term(f"{'min' if symbol == '<?' else 'max'}({x.text}, {y.text})", kind)
    if symbol in "+-":
        return Term(f"{x.held(SUM)} {symbol} {y.held(PRODUCT)}", kind, SUM)
    if symbol == "*":
        known = x.outside == "0" and _zero_outside(y) or y.outside == "0" and _zero_outside(x)
        outside = "0" if known else ""
        return Term(f"{x.held(PRODUCT)} * {y.held(ATOM)}", kind, PRODUCT, outside)
    if symbol == "\\" and kind == "real":
        return Term(f"ceil({x.held(ATOM)} / {y.held(ATOM)})", kind)
    if symbol == "\\":
        return Term(f"-(-{x.held(ATOM)} // {y.held(ATOM)})", kind, SUM)
    if symbol == "/" and kind == "real":
        outside = x.outside if x.outside == "0" and _is_divisor(y) else ""
        return Term(f"{x.held(ATOM)} / {y.held(ATOM)}", kind, PRODUCT, outside)
    word = {"/": "//" if kind == "int" else "/", "%": "%", "**": "**"}[symbol]
    return Term(f"{x.held(ATOM)} {word} {y.held(ATOM)}", kind, PRODUCT)


def _zero_outside(x: Term) -> bool:
    """True if no read in a factor is outside where the product with it would not be 0."""
    return x.outside == "0" or " | " not in x.text


def _is_divisor(x: Term) -> bool:
    """True for a number other than 0."""
    try:
        return float(x.text) not in (0.0, math.inf, -math.inf)
    except ValueError:
        return False


def negative(x: Any) -> Any:
    """`-x`"""
    if isinstance(x, Term):
        return Term(f"-{x.held(ATOM)}", x.kind, SUM, "0" if x.outside == "0" else "")
    if isinstance(x, bool) or not (is_whole(x) or isinstance(x, float)):
        raise Refusal(f"`-` of {kind_of(x)}; it is for numbers")
    return -x


def compared(symbol: str, x: Any, y: Any) -> Any:
    """A comparison of two scalars."""
    kind = _same_kind(symbol, x, y)
    if isinstance(x, Term) or isinstance(y, Term):
        a, b = term(x), term(y)
        return Term(f"{a.held(SUM)} {symbol} {b.held(SUM)}", "bool", COMPARED)
    if kind == "int":
        return _sizes_compared(symbol, x, y)
    return COMPARISONS[symbol](x, y)


def _sizes_compared(symbol: str, x: Any, y: Any) -> Any:
    difference = x - y
    if isinstance(difference, int):
        return COMPARISONS[symbol](difference, 0)
    low, high = bounds_of_size(difference)
    decided = _decided(symbol, low, high)
    if decided is not None:
        return decided
    if has_index(difference):
        return Term(f"{text_of(x)} {symbol} {text_of(y)}", "bool", COMPARED)
    return Unsure(symbol, x, y)


def _decided(symbol: str, low: int | None, high: int | None) -> bool | None:
    above, below = low is not None and low > 0, high is not None and high < 0
    not_below, not_above = low is not None and low >= 0, high is not None and high <= 0
    yes = {">": above, ">=": not_below, "<": below, "<=": not_above, "==": False, "!=": above or below}
    no = {">": not_above, ">=": below, "<": not_below, "<=": above, "==": above or below, "!=": False}
    return True if yes[symbol] else False if no[symbol] else None


def logical(symbol: str, x: Any, y: Any) -> Any:
    """`&& || ^ =>` of two scalars."""
    if symbol == "=>":
        return logical("||", inverted(x), y)
    if {kind_of(x), kind_of(y)} != {"bool"}:
        raise Refusal(f"`{symbol}` needs two truth values; found {kind_of(x)} and {kind_of(y)}")
    if symbol == "^":
        if isinstance(x, bool) and isinstance(y, bool):
            return x != y
        return Term(f"{term(x).held(SUM)} != {term(y).held(SUM)}", "bool", COMPARED)
    both = symbol == "&&"
    for value, other in ((x, y), (y, x)):
        if isinstance(value, bool):
            return other if value == both else value
    if isinstance(x, Term) or isinstance(y, Term):
        word, tightness = ("and", AND) if both else ("or", LOOSE)
        a, b = (_condition(v).held(COMPARED) for v in (x, y))
        return Term(f"{a} {word} {b}", "bool", tightness)
    return AllOf((x, y)) if both else AnyOf((x, y))


def _condition(x: Any) -> Term:
    if isinstance(x, (AllOf, AnyOf)):
        word = " and " if isinstance(x, AllOf) else " or "
        return Term(word.join(_condition(p).held(COMPARED) for p in x.parts), "bool", LOOSE)
    return term(x)


def inverted(x: Any) -> Any:
    """`!x`"""
    if isinstance(x, bool):
        return not x
    if isinstance(x, Term) and x.kind == "bool":
        return Term(f"not {x.held(ATOM)}", "bool", AND)
    if isinstance(x, Unsure):
        return Unsure(_NEGATED[x.operator], x.x, x.y)
    if isinstance(x, (AllOf, AnyOf)):
        other: Any = AnyOf if isinstance(x, AllOf) else AllOf
        return other(tuple(inverted(p) for p in x.parts))
    raise Refusal(f"`!` of {kind_of(x)}; it is for truth values")


def chosen(condition: Any, yes: Any, no: Any) -> Any:
    """`condition ? yes : no`, for a condition that is known or that is a term."""
    if isinstance(condition, bool):
        return yes if condition else no
    if isinstance(condition, (Unsure, AllOf, AnyOf)):
        raise Refusal(
            f"sizes do not decide whether {condition_text(condition)}",
            "give numbers for them: shapes in the place of ranks",
        )
    if not isinstance(condition, Term) or condition.kind != "bool":
        raise Refusal(f"a condition is a truth value; found {kind_of(condition)}")
    if isinstance(yes, (Edge, list)) or isinstance(no, (Edge, list)):
        raise Refusal("a choice by data is between numbers")
    if no is None or yes is None:
        raise Refusal("a choice by data needs both values")
    kind = _same_kind("?:", yes, no)
    return Term(f"if {condition.text} then {_branch(yes)} else {term(no).text}", kind, LOOSE)


def _branch(x: Any) -> str:
    held = term(x)
    return f"({held.text})" if held.text.startswith("if ") else held.text


def condition_text(x: Any) -> str:
    """A condition on sizes."""
    return _condition(x).text


def function(name: str, x: Any) -> Any:
    """A built-in function of a scalar."""
    if name in ("abs", "sign"):
        return _of_number(name, x)
    if kind_of(x) != "real":
        raise Refusal(f"{name} of {kind_of(x)}; it is for reals", f"convert it: {name}(real(...))")
    if isinstance(x, Term):
        if name == "frac":
            return Term(f"{x.held(SUM)} - floor({x.text})", "real", SUM)
        return Term(f"{name}({x.text})", "real")
    try:
        return _REALS[name](x)
    except (ValueError, OverflowError) as error:
        raise Refusal(f"{name}({x}) has no value", str(error)) from None


def _of_number(name: str, x: Any) -> Any:
    if kind_of(x) not in ("int", "real"):
        raise Refusal(f"{name} of {kind_of(x)}; it is for numbers")
    if isinstance(x, Size):
        x = term(x)
    if isinstance(x, Term):
        return Term(f"{name}({x.text})", x.kind)
    return abs(x) if name == "abs" else type(x)((x > 0) - (x < 0))


def converted(kind: str, x: Any, dtypes: Mapping[str, str]) -> Any:
    """`real(x)`, `int(x)` or `bool(x)`."""
    found = kind_of(x)
    if found == kind:
        return x
    if found == "str" or kind == "str":
        raise Refusal(f"{kind}(...) of {found}; texts are not converted")
    if kind == "int" and isinstance(x, float) and not abs(x) < LARGEST:
        raise Refusal(f"int({number_text(x)}) has no value: whole numbers have 64 bits")
    if isinstance(x, (bool, int, float)):
        return {"real": float, "int": int, "bool": bool}[kind](x)
    held = _condition(x) if found == "bool" else term(x)
    if kind == "bool":
        return Term(f"{held.held(SUM)} != {'0.0' if found == 'real' else '0'}", "bool", COMPARED)
    if found == "bool":
        one, zero = ("1.0", "0.0") if kind == "real" else ("1", "0")
        return Term(f"{dtypes[kind]}(if {held.text} then {one} else {zero})", kind)
    return Term(f"{dtypes[kind]}({held.text})", kind)
