"""Functions of elements of the standard. Each is what the tensor's operator or method gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from texpr.graph.array_api.data_types import operands, result_type
from texpr.graph.arrays import array_functions, binary, ufuncs
from texpr.graph.arrays.rearranging import filled
from texpr.graph.lazy.lazy_tensor import Tensor
from texpr.ir.dtypes import BOOL
from texpr.support.errors import CallError


def _unary(name: str, does: str, ufunc: str = "") -> Callable[[Tensor], Tensor]:
    """A function of one operand: NumPy's universal function of its name, or of another one."""

    def function(x: Tensor, /) -> Tensor:
        return ufuncs.apply_ufunc(ufunc or name, "__call__", (x,), {})

    return _described(function, name, does)


def _binary(name: str, does: str, ufunc: str = "") -> Callable[[Any, Any], Tensor]:
    """A function of two operands of one kind of numbers, as `_unary`."""

    def function(x1: Any, x2: Any, /) -> Tensor:
        return ufuncs.apply_ufunc(ufunc or name, "__call__", tuple(operands(x1, x2)), {})

    return _described(
        function,
        name,
        f"{does}\n\n    Raises:\n        CallError: numbers of different kinds; shapes that do not fit.\n    ",
    )


def _described(function: Any, name: str, does: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = does
    return function


abs = _unary("abs", "The absolute value.", "absolute")  # noqa: A001
acos = _unary("acos", "The angle in 0 to pi whose cosine is x.", "arccos")
acosh = _unary("acosh", "The number whose hyperbolic cosine is x.", "arccosh")
asin = _unary("asin", "The angle in -pi/2 to pi/2 whose sine is x.", "arcsin")
asinh = _unary("asinh", "The number whose hyperbolic sine is x.", "arcsinh")
atan = _unary("atan", "The angle in -pi/2 to pi/2 whose tangent is x.", "arctan")
atanh = _unary("atanh", "The number whose hyperbolic tangent is x.", "arctanh")
bitwise_invert = _unary("bitwise_invert", "Every bit exchanged.", "invert")
ceil = _unary("ceil", "The smallest whole number not below.")
conj = _unary("conj", "The number itself: there are no complex numbers.", "conjugate")
cos = _unary("cos", "The cosine.")
cosh = _unary("cosh", "The hyperbolic cosine.")
exp = _unary("exp", "e^x.")
expm1 = _unary("expm1", "e^x - 1.")
floor = _unary("floor", "The largest whole number not above.")
isfinite = _unary("isfinite", "True for finite numbers.")
isinf = _unary("isinf", "True for infinities.")
isnan = _unary("isnan", "True for NaN.")
log = _unary("log", "The natural logarithm.")
log1p = _unary("log1p", "log(1 + x).")
log2 = _unary("log2", "The logarithm to base 2.")
log10 = _unary("log10", "The logarithm to base 10.")
negative = _unary("negative", "-x.")
positive = _unary("positive", "The number itself.")
real = _unary("real", "The number itself: there are no complex numbers.", "conjugate")
reciprocal = _unary("reciprocal", "1 over x, of floats.")
round = _unary("round", "The nearest whole number, ties to even.", "rint")  # noqa: A001
sign = _unary("sign", "-1, 0 or 1; NaN of NaN.")
signbit = _unary("signbit", "True for numbers below 0, -0.0 among them.")
sin = _unary("sin", "The sine.")
sinh = _unary("sinh", "The hyperbolic sine.")
sqrt = _unary("sqrt", "The square root.")
square = _unary("square", "x times itself.")
tan = _unary("tan", "The tangent.")
tanh = _unary("tanh", "The hyperbolic tangent.")
trunc = _unary("trunc", "Without the fraction.")

add = _binary("add", "x1 + x2.")
atan2 = _binary("atan2", "The angle of the point (x2, x1).", "arctan2")
bitwise_and = _binary("bitwise_and", "The bits that both have.")
bitwise_or = _binary("bitwise_or", "The bits that at least one has.")
bitwise_xor = _binary("bitwise_xor", "The bits that exactly one has.")
bitwise_left_shift = _binary("bitwise_left_shift", "x1 2^x2.", "left_shift")
bitwise_right_shift = _binary("bitwise_right_shift", "floor(x1 / 2^x2).", "right_shift")
copysign = _binary("copysign", "|x1| with the sign of x2.")
divide = _binary("divide", "x1 / x2.")
equal = _binary("equal", "True where x1 = x2.")
floor_divide = _binary("floor_divide", "floor(x1 / x2).")
greater = _binary("greater", "True where x1 > x2.")
greater_equal = _binary("greater_equal", "True where x1 >= x2.")
hypot = _binary("hypot", "The root of x1^2 + x2^2.")
less = _binary("less", "True where x1 < x2.")
less_equal = _binary("less_equal", "True where x1 <= x2.")
logaddexp = _binary("logaddexp", "log(e^x1 + e^x2).")
maximum = _binary("maximum", "The larger of both; NaN if there is one.")
minimum = _binary("minimum", "The smaller of both; NaN if there is one.")
multiply = _binary("multiply", "x1 times x2.")
nextafter = _binary("nextafter", "The next number after x1 towards x2, of f32 and f64.")
not_equal = _binary("not_equal", "True where x1 and x2 differ.")
pow = _binary("pow", "x1 to the power x2.", "power")  # noqa: A001
remainder = _binary("remainder", "x1 modulo x2, with the sign of x2.")
subtract = _binary("subtract", "x1 - x2.")


def _logical(name: str, does: str) -> Callable[[Any, Any], Tensor]:
    """A function of truth values.

    Raises:
        CallError: of numbers.
    """

    def function(x1: Any, x2: Any, /) -> Tensor:
        if result_type(x1, x2) != BOOL:
            raise CallError(
                f"logical_{name} of {result_type(x1, x2)}", code="dtype", help="compare it: x != 0"
            )
        return binary.apply_binary(f"bitwise_{name}", x1, x2)

    return _described(function, f"logical_{name}", does)


logical_and = _logical("and", "True where both hold.")
logical_or = _logical("or", "True where one holds.")
logical_xor = _logical("xor", "True where exactly one holds.")


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
