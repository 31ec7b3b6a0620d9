"""Functions of elements of the standard. Each is what the tensor's operator or method gives."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from texpr.graph.array_api.data_types import operands, result_type
from texpr.graph.arrays import array_functions, binary, ufuncs
from texpr.graph.arrays.rearranging import filled
from texpr.graph.lazy.lazy_tensor import Tensor
from texpr.ir.dtypes import BOOL
from texpr.support.errors import CallError


def _unary(name: str, does: str, example: tuple[Any, Any], ufunc: str = "") -> Callable[[Tensor], Tensor]:
    """A function of one operand: NumPy's universal function of its name, or of another one.

    Args:
        example: an operand and the result.
    """

    def function(x: Tensor, /) -> Tensor:
        return ufuncs.apply_ufunc(ufunc or name, "__call__", (x,), {})

    return _described(function, name, does, example)


def _binary(
    name: str, does: str, example: tuple[Any, Any, Any], ufunc: str = ""
) -> Callable[[Any, Any], Tensor]:
    """A function of two operands of one kind of numbers, as `_unary`."""

    def function(x1: Any, x2: Any, /) -> Tensor:
        return ufuncs.apply_ufunc(ufunc or name, "__call__", tuple(operands(x1, x2)), {})

    refused = "numbers of different kinds; shapes that do not fit."
    return _described(function, name, does, example, refused)


def _described(function: Any, name: str, does: str, example: tuple[Any, ...], refused: str = "") -> Any:
    """The function with a name and a docstring."""
    *given, result = example
    first, *others = map(_written, given)
    operands_ = ", ".join([f"xp.asarray({first})", *others])
    function.__name__ = function.__qualname__ = name
    raises = f"\n    Raises:\n        CallError: {refused}" if refused else ""
    function.__doc__ = f"""{does}
{raises}
    Example:
        >>> xp = tx.array_api
        >>> xp.{name}({operands_}).item()
        {result!r}
    """
    return function


def _written(number: Any) -> str:
    return "-xp.inf" if number == -inf else repr(number)


abs = _unary("abs", "The absolute value.", (-2, 2), "absolute")  # noqa: A001
acos = _unary("acos", "The angle in 0 to pi whose cosine is x.", (1.0, 0.0), "arccos")
acosh = _unary("acosh", "The number whose hyperbolic cosine is x.", (1.0, 0.0), "arccosh")
asin = _unary("asin", "The angle in -pi/2 to pi/2 whose sine is x.", (0.0, 0.0), "arcsin")
asinh = _unary("asinh", "The number whose hyperbolic sine is x.", (0.0, 0.0), "arcsinh")
atan = _unary("atan", "The angle in -pi/2 to pi/2 whose tangent is x.", (0.0, 0.0), "arctan")
atanh = _unary("atanh", "The number whose hyperbolic tangent is x.", (0.0, 0.0), "arctanh")
bitwise_invert = _unary("bitwise_invert", "Every bit exchanged.", (5, -6), "invert")
ceil = _unary("ceil", "The smallest whole number not below.", (1.5, 2.0))
conj = _unary("conj", "The number itself: there are no complex numbers.", (2, 2), "conjugate")
cos = _unary("cos", "The cosine.", (0.0, 1.0))
cosh = _unary("cosh", "The hyperbolic cosine.", (0.0, 1.0))
exp = _unary("exp", "e^x.", (0.0, 1.0))
expm1 = _unary("expm1", "e^x - 1.", (0.0, 0.0))
floor = _unary("floor", "The largest whole number not above.", (1.5, 1.0))
isfinite = _unary("isfinite", "True for finite numbers.", (1.5, True))
isinf = _unary("isinf", "True for infinities.", (1.5, False))
isnan = _unary("isnan", "True for NaN.", (1.5, False))
log = _unary("log", "The natural logarithm.", (1.0, 0.0))
log1p = _unary("log1p", "log(1 + x).", (0.0, 0.0))
log2 = _unary("log2", "The logarithm to base 2.", (8.0, 3.0))
log10 = _unary("log10", "The logarithm to base 10.", (1.0, 0.0))
negative = _unary("negative", "-x.", (2, -2))
positive = _unary("positive", "The number itself.", (2, 2))
real = _unary("real", "The number itself: there are no complex numbers.", (2, 2), "conjugate")
reciprocal = _unary("reciprocal", "1 over x, of floats.", (4.0, 0.25))
round = _unary("round", "The nearest whole number, ties to even.", (2.5, 2.0), "rint")  # noqa: A001
sign = _unary("sign", "-1, 0 or 1; NaN of NaN.", (-3, -1))
signbit = _unary("signbit", "True for numbers below 0, -0.0 among them.", (-0.0, True))
sin = _unary("sin", "The sine.", (0.0, 0.0))
sinh = _unary("sinh", "The hyperbolic sine.", (0.0, 0.0))
sqrt = _unary("sqrt", "The square root.", (9.0, 3.0))
square = _unary("square", "x times itself.", (3, 9))
tan = _unary("tan", "The tangent.", (0.0, 0.0))
tanh = _unary("tanh", "The hyperbolic tangent.", (0.0, 0.0))
trunc = _unary("trunc", "Without the fraction.", (-1.5, -1.0))

add = _binary("add", "x1 + x2.", (2, 3, 5))
atan2 = _binary("atan2", "The angle of the point (x2, x1).", (0.0, 1.0, 0.0), "arctan2")
bitwise_and = _binary("bitwise_and", "The bits that both have.", (6, 3, 2))
bitwise_or = _binary("bitwise_or", "The bits that at least one has.", (6, 3, 7))
bitwise_xor = _binary("bitwise_xor", "The bits that exactly one has.", (6, 3, 5))
bitwise_left_shift = _binary("bitwise_left_shift", "x1 2^x2.", (3, 2, 12), "left_shift")
bitwise_right_shift = _binary("bitwise_right_shift", "floor(x1 / 2^x2).", (12, 2, 3), "right_shift")
copysign = _binary("copysign", "|x1| with the sign of x2.", (2.0, -1.0, -2.0))
divide = _binary("divide", "x1 / x2.", (3.0, 2.0, 1.5))
equal = _binary("equal", "True where x1 = x2.", (2, 3, False))
floor_divide = _binary("floor_divide", "floor(x1 / x2).", (-7, 2, -4))
greater = _binary("greater", "True where x1 > x2.", (2, 3, False))
greater_equal = _binary("greater_equal", "True where x1 >= x2.", (3, 3, True))
hypot = _binary("hypot", "The root of x1^2 + x2^2.", (3.0, 4.0, 5.0))
less = _binary("less", "True where x1 < x2.", (2, 3, True))
less_equal = _binary("less_equal", "True where x1 <= x2.", (4, 3, False))
logaddexp = _binary("logaddexp", "log(e^x1 + e^x2).", (0.0, -inf, 0.0))
maximum = _binary("maximum", "The larger of both; NaN if there is one.", (2, 3, 3))
minimum = _binary("minimum", "The smaller of both; NaN if there is one.", (2, 3, 2))
multiply = _binary("multiply", "x1 times x2.", (2, 3, 6))
nextafter = _binary("nextafter", "The next number after x1 towards x2, of f32 and f64.", (0.0, 1.0, 5e-324))
not_equal = _binary("not_equal", "True where x1 and x2 differ.", (2, 3, True))
pow = _binary("pow", "x1 to the power x2.", (2, 3, 8), "power")  # noqa: A001
remainder = _binary("remainder", "x1 modulo x2, with the sign of x2.", (-7, 2, 1))
subtract = _binary("subtract", "x1 - x2.", (2, 3, -1))


def _logical(name: str, does: str, example: tuple[bool, bool, bool]) -> Callable[[Any, Any], Tensor]:
    """A function of truth values, as `_unary`."""

    def function(x1: Any, x2: Any, /) -> Tensor:
        if result_type(x1, x2) != BOOL:
            raise CallError(
                f"logical_{name} of {result_type(x1, x2)}", code="dtype", help="compare it: x != 0"
            )
        return binary.apply_binary(f"bitwise_{name}", x1, x2)

    return _described(function, f"logical_{name}", does, example, "of numbers.")


logical_and = _logical("and", "True where both hold.", (True, False, False))
logical_or = _logical("or", "True where one holds.", (True, False, True))
logical_xor = _logical("xor", "True where exactly one holds.", (True, False, True))


def logical_not(x: Tensor, /) -> Tensor:
    """True where a truth value does not hold.

    Raises:
        CallError: of numbers.
    Example:
        >>> xp = tx.array_api
        >>> xp.logical_not(xp.asarray([True, False])).tolist()
        [False, True]
    """
    if x.dtype != BOOL:
        raise CallError(f"logical_not of {x.dtype}", code="dtype", help="compare it: x == 0")
    return ~x


def imag(x: Tensor, /) -> Tensor:
    """Zeros: there are no complex numbers.

    Example:
        >>> xp = tx.array_api
        >>> xp.imag(xp.asarray([5, 6])).tolist()
        [0, 0]
    """
    return filled(x, 0)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:  # noqa: A002
    """Not below `min`, not above `max`, in the data type of `x`.

    Raises:
        CallError: bounds of another kind of numbers.
    Example:
        >>> xp = tx.array_api
        >>> xp.clip(xp.asarray([1, 5, 9]), 2, 6).tolist()
        [2, 5, 6]
    """
    found = x
    for bound, name in ((min, "maximum"), (max, "minimum")):
        if bound is not None:
            result_type(x, bound)
            found = binary.apply_binary(name, found, bound)
    return array_functions.itself(found) if found is x else found.astype(x.dtype)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """x1 where the condition holds, x2 elsewhere.

    Raises:
        CallError: numbers of different kinds.
    Example:
        >>> xp = tx.array_api
        >>> xp.where(xp.asarray([True, False]), xp.asarray([1, 2]), 0).tolist()
        [1, 0]
    """
    result_type(x1, x2)
    return array_functions.where(condition, x1, x2)
