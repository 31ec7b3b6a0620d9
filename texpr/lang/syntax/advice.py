"""Help for people who come from other languages: their spellings, and the spellings here. Every
example in these texts is of the language.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.dtypes import DTYPES
from texpr.ir.expr import Const, Expr, Var
from texpr.ir.printing.expr import show
from texpr.support.fixes import Fix, Write

CHOICE = "a choice is written: if c then a else b"
RANGE = "a range is written lo..hi: 0..N"
_CONVERSION = "a conversion is named after its type: "
_POWER = "a power is written x ** y"
_REMAINDER = "the remainder is x % y"
_RANDOM = "a random number is uniform(seed, i), with an input seed: u64"
_SORT = "rows are ordered by operators: `use ops: sort` (argsort, topk), T = sort(X), then read T[...]"
_MEAN = "a mean is sum(k: X[k]) / N"

FUNCTIONS = {
    "relu": "write max(x, 0)",
    "ln": "the natural logarithm is log(x)",
    "pow": _POWER,
    "power": _POWER,
    "square": "write x * x",
    "fabs": "it is called abs(x)",
    "round": "rint(x) rounds to the nearest integer",
    "maximum": "it is called max(x, y)",
    "minimum": "it is called min(x, y)",
    "mod": _REMAINDER,
    "fmod": _REMAINDER,
    "clip": "it is called clamp(x, lo, hi)",
    "float": _CONVERSION + "f32(x)",
    "double": _CONVERSION + "f64(x)",
    "int": _CONVERSION + "i32(x)",
    "long": _CONVERSION + "i64(x)",
    "random": _RANDOM,
    "rand": _RANDOM,
    "randn": "a normal random number is normal(seed, i), with an input seed: u64",
    "select": CHOICE,
    "ifelse": CHOICE,
    "iif": CHOICE,
    "mean": _MEAN,
    "dot": "a dot product is sum(k: X[k] * Z[k])",
    "matmul": "a matrix product is sum(k: A[i, k] * B[k, j])",
    "len": "a size has a name: N of X: f32[N]",
    "sort": _SORT,
    "sorted": _SORT,
    "argsort": _SORT,
    "where": CHOICE,
    "sigma": "it is called sigmoid(x)",
    "arctan2": "it is called atan2(y, x)",
    "arctan": "it is called atan(x)",
    "arcsin": "it is called asin(x)",
    "arccos": "it is called acos(x)",
    "absolute": "it is called abs(x)",
    "fmax": "it is called max(x, y)",
    "fmin": "it is called min(x, y)",
    "range": RANGE,
    "print": "equations have values only; look at results",
    "zeros": "an equation gives every element: T[i] = 0",
    "ones": "an equation gives every element: T[i] = 1",
    "arange": "an index is a number itself: f32(i)",
    "softplus": "write log1p(exp(x))",
    "silu": "write x * sigmoid(x)",
    "logistic": "it is called sigmoid(x)",
    "isfinite": "write not isnan(x) and not isinf(x)",
}
"""Functions of other languages."""

REDUCTIONS = {
    "mean": _MEAN,
    "average": _MEAN,
    "avg": _MEAN,
    "count": "count with sum(k: if c then 1 else 0)",
    "norm": "a norm is sqrt(sum(k: X[k] * X[k]))",
    "product": "it is called prod",
    "maximum": "it is called max",
    "minimum": "it is called min",
    "forall": "it is called all",
    "exists": "it is called any",
}
"""Reductions of other languages."""

GUARDS = {
    "edge": "clamp",
    "nearest": "clamp",
    "replicate": "clamp",
    "border": "clamp",
    "repeat": "clamp",
    "circular": "wrap",
    "periodic": "wrap",
    "cyclic": "wrap",
    "mirror": "reflect",
    "symmetric": "reflect",
    "zero": "0",
    "zeros": "0",
    "constant": "0",
}
"""Names that other libraries give to what stands outside an array."""


NAMES = {
    "True": "it is written true",
    "False": "it is written false",
    "TRUE": "it is written true",
    "FALSE": "it is written false",
    "NaN": "it is written nan",
    "NAN": "it is written nan",
    "Inf": "it is written inf",
    "INF": "it is written inf",
    "INFINITY": "it is written inf",
    "infinity": "it is written inf",
    "pi": "write the number: 3.141592653589793",
    "PI": "write the number: 3.141592653589793",
    "e": "e to the power x is exp(x); the number is 2.718281828459045",
    "None": "every element has a value: write the number that stands there",
    "null": "every element has a value: write that number",
    "nil": "every element has a value: write that number",
}
"""Constants of other languages."""

_COMPLEX = "there are no complex numbers: keep the real and the imaginary part in two tensors"
TYPES = {
    "complex": _COMPLEX,
    "c64": _COMPLEX,
    "c128": _COMPLEX,
    "complex64": _COMPLEX,
    "complex128": _COMPLEX,
    "str": "there are no texts: use numbers",
    "string": "there are no texts: use numbers",
    "tensor": "an element type stands before the sizes: f32[N]",
    "Tensor": "an element type stands before the sizes: f32[N]",
    "array": "an element type stands before the sizes: f32[N]",
    "i128": "integers have at most 64 bits: i64",
    "u128": "integers have at most 64 bits: u64",
    "int128": "integers have at most 64 bits: i64",
}
"""Types that there are not."""


def dotted_help(before: str, after: str) -> str:
    """Suggestion in place of `np.exp` and of `X.sum()`."""
    known = REDUCTIONS.get(after) or FUNCTIONS.get(after)
    if before in ("np", "numpy", "torch", "math", "jnp", "jax", "tf", "F", "tx", "cupy", "cp"):
        return known or f"functions stand without a module: {after or 'exp'}(...)"
    return known or f"there are no methods: {after or 'exp'}(...) takes what stands before the point"


def letters(count: int) -> str:
    """`i, j` for two indices."""
    return ", ".join("ijklmn"[k] if k < 6 else f"i{k}" for k in range(count))


def conversion(dtype: object, *operands: Expr) -> str:
    """Text that converts operands: `f32(X[i])`; `f32(...)` where its words are long."""
    said = [words(e) for e in operands]
    return f"{dtype}({said[0] if len(said) == 1 and len(said[0]) <= 40 else '...'})"


def converted(begin: str, dtype: object, e: Expr) -> Fix:
    """Advise a conversion of what was written."""
    return Fix(f"{begin}{conversion(dtype, e)}", (Write(words(e), f"{dtype}({words(e)})"),))


def chosen(begin: str, e: Expr) -> Fix:
    """Advise a number in the place of a bool."""
    number = f"if {words(e)} then 1 else 0"
    return Fix(f"{begin}{number}", (Write(words(e), f"({number})"),))


def compared(text: str) -> Fix:
    """Advise a bool in the place of a number."""
    said = " ".join(text.split())
    return Fix(f"compare: {said} != 0", (Write(text, f"{said} != 0"),))


def words(e: Expr) -> str:
    """An expression as the user wrote it; variables and constants, which have no place, as they
    print.
    """
    return show(e) if isinstance(e, Var | Const) or e.span is None else " ".join(e.span.text.split())


def parse_help(token: str, previous: str, words_before: Sequence[str], expected: set[str]) -> str:
    """Suggestion where a text does not parse; empty for no idea.

    Args:
        token, previous: the word that cannot stand here, and the one before it.
        words_before: all words before it.
        expected: the symbols that can stand here.
    """
    elsewhere = _other_languages(token, previous, words_before, expected)
    if elsewhere:
        return elsewhere
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
            return (
                "an equation holds for all its indices; their ranges stand at its end: Y[i] = X[i]  for i in "
                "0..N"
            )
        case "if" | "?" if "and" in expected:
            return CHOICE
        case "where" if "INT" in expected:
            return CHOICE
        case "," if "let" in expected:
            return "statements need no separator"
        case "[" if expected == {":"}:
            arrow = "->" in words_before and "{" not in words_before
            return (
                "an output has a name and a type: -> Y: f32[N]"
                if arrow
                else "a tensor has a name and a type: X: f32[N]"
            )
        case "(" if {"[", "="} <= expected:
            return "elements stand in square brackets: Y[i] = X[i]"
        case "=" if "let" in expected and "let" in words_before:
            return "`let` only declares a shape; an equation says the values: T[i] = 0"
        case "=" if expected == {":"} and len(words_before) > 1 and words_before[-2] == "let":
            return (
                f"`let` declares a shape, let {previous}: f32[N]; what one equation defines needs none: "
                f"{previous}[i] = 2 * X[i]"
            )
        case "<" | "<=" if expected == {"in"}:
            return f"a range is written {previous} in lo..hi: {previous} in 0..N"
        case _ if ".." in expected and "range" in words_before[-5:]:
            return RANGE
        case "requires" | "where" | "assert" if "require" in expected:
            return "conditions on sizes come after `require`"
    return ""


def _other_languages(token: str, previous: str, words_before: Sequence[str], expected: set[str]) -> str:
    """Operators and heads as C, Python, R and Fortran have them."""
    match token:
        case "[" if previous == ")" and "let" in expected:
            return (
                "a call gives one number; an operator is called as a whole right side, T = f(X), and read "
                "after that: T[i]"
            )
        case "<" | ">" if previous == token:
            return f"a shift is a function: {'shl' if token == '<' else 'shr'}(x, n)"
        case ">" if previous == "<":
            return "different is written !="
        case "<" if expected == {",", "="}:
            return "an equation is written with `=`"
        case ")" | "," if "->" not in words_before and expected == {":"}:
            return f"an input has a name and a type: {previous}: f32[N]"
        case _ if "->" not in words_before and expected == {":"} and previous in DTYPES:
            return "the name stands first, then the type: X: f32[N]"
        case _ if "->" not in words_before and expected == {":"} and token in DTYPES:
            return f"a colon stands between a name and its type: {previous}: {token}[N]"
        case "{" if expected == {"->"}:
            return "an output has a name and a type: op f(X: f32[N]) -> Y: f32[N] { ... }"
        case _ if previous in ("mod", "xor") and "[" in expected:
            return (
                "the remainder is x % y"
                if previous == "mod"
                else "exclusive or of bits is bit_xor(x, y), of bools x != y"
            )
        case "," if "require" in expected and "->" in words_before:
            arrow = len(words_before) - words_before[::-1].index("->")
            first = " ".join(words_before[arrow:]).partition(" in ")[0]
            first = first.replace(" : ", ": ").replace(" , ", ", ").replace(" [ ", "[").replace(" ]", "]")
            return f"several outputs stand in parentheses: -> ({first}, ...)"
        case _ if previous == "return":
            return "there is no `return`: an equation says each element of an output, Y[i] = X[i]"
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
