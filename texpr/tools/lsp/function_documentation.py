"""Functions of the language with a line of documentation each; `docs/reference/language.md` has the rules."""

from __future__ import annotations

from texpr.ir.functions import FUNCTIONS

DOCUMENTATION = {
    "exp": "e to the power x",
    "exp2": "2 to the power x",
    "expm1": "e to the power x, less 1, with all digits near 0",
    "log": "natural logarithm",
    "log2": "logarithm to base 2",
    "log10": "logarithm to base 10",
    "log1p": "natural logarithm of 1 + x, with all digits near 0",
    "sqrt": "square root",
    "cbrt": "cube root",
    "hypot": "square root of x^2 + y^2",
    "rsqrt": "1 / sqrt(x)",
    "sin": "sine of an angle in radians",
    "cos": "cosine of an angle in radians",
    "tan": "tangent of an angle in radians",
    "asin": "inverse sine, in radians",
    "acos": "inverse cosine, in radians",
    "atan": "inverse tangent, in radians",
    "atan2": "angle of the point (y, x), in radians: first the ordinate, then the abscissa",
    "sinh": "hyperbolic sine",
    "cosh": "hyperbolic cosine",
    "asinh": "inverse hyperbolic sine",
    "acosh": "inverse hyperbolic cosine",
    "atanh": "inverse hyperbolic tangent",
    "tanh": "hyperbolic tangent",
    "sigmoid": "1 / (1 + exp(-x))",
    "erf": "error function",
    "erfc": "complementary error function, 1 - erf(x)",
    "gelu": "x times the normal distribution function",
    "lgamma": "logarithm of the absolute value of the gamma function",
    "gamma": "gamma function",
    "digamma": "derivative of lgamma",
    "trigamma": "derivative of digamma",
    "erfinv": "inverse of erf",
    "floor": "largest whole number that is at most x",
    "ceil": "least whole number that is at least x",
    "trunc": "whole part, rounded towards 0",
    "rint": "nearest whole number, of two the even one",
    "round": "nearest whole number, of two the even one",
    "fmod": "remainder with the sign of x",
    "copysign": "absolute value of x with the sign of y",
    "abs": "absolute value",
    "sign": "-1, 0 or 1",
    "isnan": "true where x is NaN",
    "isinf": "true where x is infinite",
    "isfinite": "true where x is neither infinite nor NaN",
    "tf32": "nearest number with 10 bits of fraction and an exponent of f32",
    "fma": "x * y + z, rounded once",
    "detach": "x; its derivative is 0",
    "with_slope": "y; its derivative by x is the third argument",
    "bit_and": "bitwise and",
    "bit_or": "bitwise or",
    "bit_xor": "bitwise exclusive or",
    "mulhi": "upper half of the exact product",
    "shl": "bits shifted left",
    "shr": "bits shifted right",
    "max": "larger one of two numbers; with a binder, the largest of many",
    "min": "smaller one of two numbers; with a binder, the smallest of many",
    "clamp": "x, but at least lo and at most hi",
    "numel": "number of elements of a pack of dimensions",
    "lowest": "least value of a type",
    "place": "position of the indices of a pack, row by row",
    "uniform": "random number from 0 up to 1, a function of the seed and the indices",
    "normal": "random number of the normal distribution, a function of the seed and the indices",
    "sum": "sum over the values of its indices; of nothing, 0",
    "prod": "product over the values of its indices; of nothing, 1",
    "argmax": "position of the first largest element",
    "argmin": "position of the first least element",
    "any": "true where some element is true",
    "all": "true where every element is true",
}
_HEADS = {
    "max": "max(x, y), max(k: body)",
    "min": "min(x, y), min(k: body)",
    "clamp": "clamp(x, lo, hi)",
    "numel": "numel(S)",
    "lowest": "lowest(T)",
    "place": "place(*s)",
    "uniform": "uniform(seed, i, ...) -> f32",
    "normal": "normal(seed, i, ...) -> f32",
    "atan2": "atan2(y, x)",
    "with_slope": "with_slope(y, x, slope)",
}
_DOMAINS = {"float": "floats", "int": "integers", "num": "numbers"}


def signature(name: str) -> str:
    """The head of a function: `exp(x)  # of floats`."""
    if name in FUNCTIONS:
        f = FUNCTIONS[name]
        head = _HEADS.get(name, f"{name}({', '.join('xyz'[: f.arity])})")
        return f"{head}  # of {_DOMAINS[f.domain]}{', gives bool' if f.result == 'bool' else ''}"
    return _HEADS.get(name, f"{name}(k in lo..hi where condition: body)")
