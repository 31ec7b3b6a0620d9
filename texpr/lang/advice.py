"""What people who come from other languages write, and how it is said here. Every example in these texts is of the language."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.expr import Const, Expr, Var
from texpr.ir.show_expr import show

CHOICE = "a choice is written: if c then a else b"
RANGE = "a range is written lo..hi: 0..N"
_CONVERSION = "a conversion is named after its type: "
_POWER = "a power is written x ** y"
_REMAINDER = "the remainder is x % y"
_RANDOM = "a random number is uniform(seed, i), with an input seed: u64"
_MEAN = "a mean is sum(k: X[k]) / N"

FUNCTIONS = {
    "relu": "write max(x, 0)", "ln": "the natural logarithm is log(x)", "pow": _POWER, "power": _POWER, "square": "write x * x",
    "fabs": "it is called abs(x)", "round": "rint(x) rounds to the nearest integer", "maximum": "it is called max(x, y)",
    "minimum": "it is called min(x, y)", "mod": _REMAINDER, "fmod": _REMAINDER, "clip": "it is called clamp(x, lo, hi)",
    "float": _CONVERSION + "f32(x)", "double": _CONVERSION + "f64(x)", "int": _CONVERSION + "i32(x)", "long": _CONVERSION + "i64(x)",
    "random": _RANDOM, "rand": _RANDOM, "randn": "a normal random number is normal(seed, i), with an input seed: u64",
    "select": CHOICE, "ifelse": CHOICE, "iif": CHOICE, "mean": _MEAN, "dot": "a dot product is sum(k: X[k] * Z[k])",
    "matmul": "a matrix product is sum(k: A[i, k] * B[k, j])", "len": "a size has a name: N of X: f32[N]",
    "logistic": "it is called sigmoid(x)", "isfinite": "write not isnan(x) and not isinf(x)",
}
"""Functions of other languages."""

REDUCTIONS = {
    "mean": _MEAN, "average": _MEAN, "avg": _MEAN, "count": "count with sum(k: if c then 1 else 0)",
    "norm": "a norm is sqrt(sum(k: X[k] * X[k]))", "product": "it is called prod", "maximum": "it is called max",
    "minimum": "it is called min", "forall": "it is called all", "exists": "it is called any",
}
"""Reductions of other languages."""

GUARDS = {
    "edge": "clamp", "nearest": "clamp", "replicate": "clamp", "border": "clamp", "repeat": "clamp", "circular": "wrap", "periodic": "wrap",
    "cyclic": "wrap", "mirror": "reflect", "symmetric": "reflect", "zero": "0", "zeros": "0", "constant": "0",
}
"""Names that other libraries give to what stands outside an array."""


def letters(count: int) -> str:
    """`i, j` for two indices."""
    return ", ".join("ijklmn"[k] if k < 6 else f"i{k}" for k in range(count))


def conversion(dtype: object, *operands: Expr) -> str:
    """How to convert what was written: `f32(X[i])`; `f32(...)` where its words are long."""
    said = [words(e) for e in operands]
    return f"{dtype}({said[0] if len(said) == 1 and len(said[0]) <= 40 else '...'})"


def words(e: Expr) -> str:
    """An expression as the user wrote it; variables and constants, which have no place, as they print."""
    return show(e) if isinstance(e, Var | Const) or e.span is None else " ".join(e.span.text.split())


def parse_help(token: str, previous: str, words_before: Sequence[str], expected: set[str]) -> str:
    """What to write instead where a text does not parse; empty for no idea.

    Args:
        token, previous: the word that cannot stand here, and the one before it.
        words_before: all words before it.
        expected: the symbols that can stand here.
    """
    inside = _innermost(words_before)
    match token:
        case ":" if ".." in expected:
            return RANGE
        case ":" if "->" in expected:
            return "outputs come after `->`: op f(X: f32[N]) -> Y: f32[N]"
        case ":" if "INT" in expected and inside == "[":
            return "there are no slices: every index has a name, Y[i, j] = X[i, j]"
        case "for" if inside == "(":
            return "a reduction begins with what it runs over: sum(k in 0..N: X[k])"
        case "for" if "let" in expected and "for" not in expected:
            return "an equation holds for all its indices; their ranges stand at its end: Y[i] = X[i]  for i in 0..N"
        case "if" | "?" if "and" in expected:
            return CHOICE
        case "where" if "INT" in expected:
            return CHOICE
        case "," if "let" in expected:
            return "statements need no separator"
        case "[" if expected == {":"}:
            arrow = "->" in words_before and "{" not in words_before
            return "an output has a name and a type: -> Y: f32[N]" if arrow else "a tensor has a name and a type: X: f32[N]"
        case "(" if {"[", "="} <= expected:
            return "elements stand in square brackets: Y[i] = X[i]"
        case "=" if "let" in expected and "let" in words_before:
            return "`let` only declares a shape; an equation says the values: T[i] = 0"
        case "=" if expected == {":"} and len(words_before) > 1 and words_before[-2] == "let":
            return f"`let` declares a shape, let {previous}: f32[N]; what one equation defines needs none: {previous}[i] = 2 * X[i]"
        case "<" | "<=" if expected == {"in"}:
            return f"a range is written {previous} in lo..hi: {previous} in 0..N"
        case _ if ".." in expected and "range" in words_before[-5:]:
            return RANGE
        case "requires" | "where" | "assert" if "require" in expected:
            return "conditions on sizes come after `require`"
    return ""


def _innermost(words_before: Sequence[str]) -> str:
    """The bracket that is open."""
    closing = {")": "(", "]": "[", "}": "{"}
    stack: list[str] = []
    for word in words_before:
        if word in closing.values():
            stack.append(word)
        elif word in closing and stack:
            stack.pop()
    return stack[-1] if stack else ""
