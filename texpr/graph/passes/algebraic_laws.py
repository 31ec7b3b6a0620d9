"""The algebraic laws that the pass `algebra` applies. Each is tested alone, on random and
special values.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import frexp, isfinite

from texpr.graph.passes.law_matcher import Law


def _power_of_two(value: float) -> bool:
    return isfinite(value) and abs(frexp(value)[0]) == 0.5


def _reciprocal(numbers: Mapping[str, float]) -> bool:
    """a and 1/a are powers of two that every float type holds."""
    return _power_of_two(numbers["a"]) and 2.0**-14 <= abs(numbers["a"]) <= 2.0**14


def _growing(numbers: Mapping[str, float]) -> bool:
    """Powers of two of at least 1: what overflows once overflows in one step, and nothing is
    rounded.
    """
    return all(_power_of_two(n) and 1 <= n <= 2.0**7 for n in numbers.values())


def _regular(numbers: Mapping[str, float]) -> bool:
    return all(isfinite(n) and n != 0 for n in numbers.values())


def _small(numbers: Mapping[str, float]) -> bool:
    """Positive integers whose product fits every type."""
    return all(0 < n <= 11 for n in numbers.values())


def _digits(numbers: Mapping[str, float]) -> bool:
    """Numbers of two digits to the bases a and b fit every type."""
    return all(n > 0 for n in numbers.values()) and numbers["a"] * numbers["b"] <= 127


def _number(numbers: Mapping[str, float]) -> bool:
    """The digits of a number to the base a fit every type."""
    return 0 <= numbers["b"] < numbers["a"] and 0 <= numbers["n"] and (numbers["n"] + 1) * numbers["a"] <= 127


def _middle_digit(numbers: Mapping[str, float]) -> bool:
    """`m` is the base `a` times the base `r` of a digit `b`, and the number fits every type."""
    return (
        numbers["m"] == numbers["a"] * numbers["r"]
        and 0 <= numbers["b"] < numbers["r"]
        and 0 <= numbers["n"]
        and (numbers["n"] + 1) * numbers["m"] <= 127
    )


def _ordered(numbers: Mapping[str, float]) -> bool:
    return numbers["a"] <= numbers["b"]


_EXACT_ON_FLOATS = (
    "x * 1 = x",
    "x / 1 = x",
    "x - 0 = x",
    "x + -0.0 = x",
    "x * -1 = -x",
    "x / -1 = -x",
    "--x = x",
    "x + -y = x - y",
    "x - -y = x + y",
    "-x * -y = x * y",
    "-x / -y = x / y",
    "x + x = x * 2",
    "max(x, x) = x",
    "min(x, x) = x",
    "max(max(x, y), y) = max(x, y)",
    "min(min(x, y), y) = min(x, y)",
    "max(max(x, a), b) = max(x, max(a, b))",
    "min(min(x, a), b) = min(x, min(a, b))",
    "max(x, -1e999) = x",
    "min(x, 1e999) = x",
    "-max(-x, -y) = min(x, y)",
    "-min(-x, -y) = max(x, y)",
    "abs(-x) = abs(x)",
    "abs(abs(x)) = abs(x)",
    "abs(x) * abs(x) = x * x",
    "abs(x * x) = x * x",
    "max(abs(x), 0) = abs(x)",
    "abs(exp(x)) = exp(x)",
    "max(exp(x), 0) = exp(x)",
    "floor(floor(x)) = floor(x)",
    "ceil(ceil(x)) = ceil(x)",
    "trunc(trunc(x)) = trunc(x)",
    "rint(rint(x)) = rint(x)",
    "x ** 1 = x",
    "x ** 0 = 1",
    "1 ** x = 1",
    "max(x, 0) > 0 = x > 0",
    "min(x, 0) < 0 = x < 0",
    "-x > 0 = x < 0",
    "-x < 0 = x > 0",
    "-x < -y = x > y",
    "-x > -y = x < y",
    "x < x = False",
    "x > x = False",
    "abs(x) < 0 = False",
    "x * x < 0 = False",
)
_EXACT_ON_NARROW_FLOATS = ("x ** 2 = x * x", "x ** -1 = 1 / x")
_EXACT_CHOICES = (
    "x if c else x = x",
    "x if True else y = x",
    "x if False else y = y",
    "x if not c else y = y if c else x",
    "(x if c else y) if c else z = x if c else z",
    "x if c else (y if c else z) = x if c else z",
    "not not c = c",
    "c and c = c",
    "c or c = c",
    "c and True = c",
    "c or False = c",
    "c and False = False",
    "c or True = True",
    "c and (c or d) = c",
    "c or (c and d) = c",
    "not (x == y) = x != y",
    "not (x != y) = x == y",
)
_EXACT_ON_INTEGERS = (
    "x + 0 = x",
    "x - 0 = x",
    "0 - x = -x",
    "x * 1 = x",
    "x * 0 = 0",
    "x - x = 0",
    "x // 1 = x",
    "x % 1 = 0",
    "--x = x",
    "x + -y = x - y",
    "x - -y = x + y",
    "-x * -y = x * y",
    "x + a + b = x + (a + b)",
    "x * a * b = x * (a * b)",
    "x + y - y = x",
    "x - y + y = x",
    "x * y + x * z = x * (y + z)",
    "x * y - x * z = x * (y - z)",
    "max(x, x) = x",
    "min(x, x) = x",
    "max(x, min(x, y)) = x",
    "min(x, max(x, y)) = x",
    "max(max(x, y), y) = max(x, y)",
    "min(min(x, y), y) = min(x, y)",
    "x % y % y = x % y",
    "x == x = True",
    "x != x = False",
    "x <= x = True",
    "x >= x = True",
    "x < x = False",
    "x > x = False",
    "not (x < y) = x >= y",
    "not (x <= y) = x > y",
    "not (x > y) = x <= y",
    "not (x >= y) = x < y",
)
_REASSOCIATING = (
    "x + 0 = x",
    "0 - x = -x",
    "x * 0 = 0",
    "0 / x = 0",
    "x - x = 0",
    "x / x = 1",
    "x + y - y = x",
    "x - y + y = x",
    "x * y / y = x",
    "x / y * y = x",
    "x * y + x * z = x * (y + z)",
    "x * y - x * z = x * (y - z)",
    "x / z + y / z = (x + y) / z",
    "x / z - y / z = (x - y) / z",
    "x / (y / z) = x * z / y",
    "1 / (1 / x) = x",
    "-(x - y) = y - x",
    "sqrt(x) * sqrt(x) = x",
    "sqrt(x * x) = abs(x)",
    "exp(x) * exp(y) = exp(x + y)",
    "log(exp(x)) = x",
    "exp(log(x)) = x",
    "log(1 + x) = log1p(x)",
    "exp(x) - 1 = expm1(x)",
    "1 / (1 + exp(-x)) = sigmoid(x)",
    "x ** 0.5 = sqrt(x)",
    "x ** 2 = x * x",
    "x ** 3 = x * x * x",
    "max(x, y) + min(x, y) = x + y",
    "max(x, y) * min(x, y) = x * y",
)


def _table() -> tuple[Law, ...]:
    exact = [Law(text, "float", True) for text in _EXACT_ON_FLOATS]
    exact += [Law(text, "narrow", True) for text in _EXACT_ON_NARROW_FLOATS]
    exact += [
        Law("x / a = x * (1 / a)", "float", True, _reciprocal),
        Law("x * a * b = x * (a * b)", "float", True, _growing),
    ]
    exact += [Law(text, "any", True) for text in _EXACT_CHOICES]
    exact += [Law(text, "int", True) for text in _EXACT_ON_INTEGERS]
    exact += [
        Law("x // a // b = x // (a * b)", "int", True, _small),
        Law("max(min(x, b), a) = min(max(x, a), b)", "int", True, _ordered),
        Law("y % b == x // a and z % a == x % a = x == y % b * a + z % a", "int", True, _digits),
        Law("n == x // a and b == x % a = x == n * a + b", "int", True, _number),
        Law("n == x // m and b == x // a % r = x // a == n * r + b", "int", True, _middle_digit),
        Law(
            "n == x // m and (b == x // a % r and c) = x // a == n * r + b and c", "int", True, _middle_digit
        ),
    ]
    loose = [Law(text, "float", False) for text in _REASSOCIATING]
    loose += [
        Law(text, "float", False, _regular)
        for text in (
            "x * a * b = x * (a * b)",
            "x / a = x * (1 / a)",
            "x + a + b = x + (a + b)",
            "x - a - b = x - (a + b)",
        )
    ]
    return tuple([*exact, *loose])


LAWS: tuple[Law, ...] = _table()
"""All laws; those that are not exact are applied where the option `reassociate` is set."""
EXACT: tuple[Law, ...] = tuple(law for law in LAWS if law.exact)
