"""The derivative of every scalar operation, in one table.

A rule is `rule(a, y, *operands) -> one adjoint per operand`: `a` is the adjoint of the operation's value, `y` an expression of that
value that is cheap to use again, and None stands for an adjoint that is zero everywhere. A scalar
rule is `a` times a partial derivative, so the same table serves forward mode, with the operand's
tangent in the place of `a`.

Where a function has no derivative the conventions are those of PyTorch: `abs` has 0 at 0, `sqrt`
has infinity at 0, `x ** p` has 0 for the exponent at x = 0, `atan2` has 0 at the origin. `max`,
`min`, `if` and reductions are not here: they change the scope (`adjoint`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from texpr.autodiff.core.algebra import constant, minus, negative, over, plus, times, zero
from texpr.ir.build import conjunction
from texpr.ir.expr import (
    Add,
    Call,
    Compare,
    Const,
    Div,
    Expr,
    FloorDiv,
    Mod,
    Mul,
    Neg,
    Node,
    Pow,
    Select,
    Sub,
)
from texpr.ir.interpreter.random import RANDOM
from texpr.ir.traverse import children
from texpr.support.errors import CheckError

Rule = Callable[..., tuple[Expr | None, ...]]
RULES: dict[type[Node] | str, Rule] = {}


def derivative(of: type[Node] | str) -> Callable[[Rule], Rule]:
    """Registers the rule of a node class or of a scalar function by name; a later registration
    replaces an earlier one.
    """

    def register(rule: Rule) -> Rule:
        RULES[of] = rule
        return rule

    return register


def operand_adjoints(node: Expr, a: Expr, y: Expr) -> tuple[Expr | None, ...]:
    """The adjoints of the node's operands, in the order of its children.

    Raises:
        CheckError: there is no rule for the function.
    """
    rule = RULES.get(node.function if isinstance(node, Call) else type(node))
    if rule is None:
        what = f"the function `{node.function}`" if isinstance(node, Call) else f"`{type(node).__name__}`"
        raise CheckError(
            f"{what} has no derivative rule",
            node.span,
            code="gradient",
            help="register one with texpr.autodiff.derivative",
        )
    return rule(a, y, *children(node))


def _of(value: float, like: Expr) -> Const:
    return constant(value, like.dtype)


@derivative(Add)
def add(a: Expr, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr | None, ...]:
    """(x + z)' = x' + z'"""
    return a, a


@derivative(Sub)
def sub(a: Expr, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr | None, ...]:
    """(x - z)' = x' - z'"""
    return a, negative(a)


@derivative(Neg)
def neg(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """(-x)' = -x'"""
    return (negative(a),)


@derivative(Mul)
def mul(a: Expr, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr | None, ...]:
    """(x z)' = x' z + x z'"""
    return times(a, rhs), times(a, lhs)


@derivative(Div)
def div(a: Expr, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr | None, ...]:
    """(x / z)' = x' / z - y z' / z"""
    return over(a, rhs), negative(over(times(a, y), rhs))


@derivative(FloorDiv)
def floordiv(a: Expr, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr | None, ...]:
    """Piecewise constant."""
    return None, None


@derivative(Mod)
def mod(a: Expr, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr | None, ...]:
    """x % z = x - z floor(x / z), the floor constant"""
    return a, negative(times(a, Call("floor", (Div(lhs, rhs),))))


@derivative(Pow)
def power(a: Expr, y: Expr, x: Expr, p: Expr) -> tuple[Expr | None, ...]:
    """(x ** p)' = p x ** (p - 1) x' + y log(x) p'"""
    at_zero = Compare("==", x, zero(x.dtype)), Compare(">=", p, zero(p.dtype))
    by_exponent = Select(conjunction(*at_zero), zero(a.dtype), times(times(a, y), Call("log", (x,))))
    return _by_base(a, x, p), by_exponent


def _by_base(a: Expr, x: Expr, p: Expr) -> Expr | None:
    """a * p * x ** (p - 1), and 0 where p is 0 whatever x is."""
    match p:
        case Const(value) if value == 0:
            return None
        case Const(value) if value in (1, 2):
            return a if value == 1 else times(times(a, p), x)
        case Const(value):
            return times(times(a, p), Pow(x, _of(value - 1, p)))
    slope = times(times(a, p), Pow(x, minus(p, _of(1, p))))
    return Select(Compare("==", p, zero(p.dtype)), zero(a.dtype), slope)


@derivative("exp")
def exp(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """exp' = exp"""
    return (times(a, y),)


@derivative("exp2")
def exp2(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """(2 ** x)' = 2 ** x log 2"""
    return (times(times(a, y), _of(math.log(2), x)),)


@derivative("expm1")
def expm1(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """(exp x - 1)' = y + 1"""
    return (times(a, plus(y, _of(1, x))),)


@derivative("log")
def log(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """log' = 1 / x"""
    return (over(a, x),)


@derivative("log2")
def log2(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """log2' = 1 / (x log 2)"""
    return (over(a, times(x, _of(math.log(2), x))),)


@derivative("log1p")
def log1p(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """log(1 + x)' = 1 / (1 + x)"""
    return (over(a, plus(x, _of(1, x))),)


@derivative("sqrt")
def sqrt(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """sqrt' = 1 / (2 y)"""
    return (over(a, times(_of(2, x), y)),)


@derivative("rsqrt")
def rsqrt(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """(x ** -1/2)' = -1/2 y ** 3"""
    return (times(times(_of(-0.5, x), a), times(times(y, y), y)),)


@derivative("sin")
def sin(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """sin' = cos"""
    return (times(a, Call("cos", (x,))),)


@derivative("cos")
def cos(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """cos' = -sin"""
    return (negative(times(a, Call("sin", (x,)))),)


@derivative("tan")
def tan(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """tan' = 1 + y ** 2"""
    return (times(a, plus(_of(1, x), times(y, y))),)


def _root_of_square(x: Expr, sign: float, one: float) -> Expr:
    """sqrt(sign x ** 2 + one)"""
    square = times(x, x)
    return Call("sqrt", (plus(square, _of(one, x)) if sign > 0 else minus(_of(one, x), square),))


@derivative("asin")
def asin(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """asin' = 1 / sqrt(1 - x ** 2)"""
    return (over(a, _root_of_square(x, -1, 1)),)


@derivative("acos")
def acos(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """acos' = -1 / sqrt(1 - x ** 2)"""
    return (negative(over(a, _root_of_square(x, -1, 1))),)


@derivative("atan")
def atan(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """atan' = 1 / (1 + x ** 2)"""
    return (over(a, plus(_of(1, x), times(x, x))),)


@derivative("atan2")
def atan2(a: Expr, y: Expr, z: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """atan2(z, x)' = (x z' - z x') / (x ** 2 + z ** 2), 0 at the origin"""
    square = plus(times(x, x), times(z, z))
    each = Select(Compare("==", square, zero(x.dtype)), zero(a.dtype), over(a, square))
    return times(each, x), negative(times(each, z))


@derivative("sinh")
def sinh(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """sinh' = cosh"""
    return (times(a, Call("cosh", (x,))),)


@derivative("cosh")
def cosh(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """cosh' = sinh"""
    return (times(a, Call("sinh", (x,))),)


@derivative("asinh")
def asinh(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """asinh' = 1 / sqrt(x ** 2 + 1)"""
    return (over(a, _root_of_square(x, 1, 1)),)


@derivative("acosh")
def acosh(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """acosh' = 1 / sqrt(x ** 2 - 1)"""
    return (over(a, _root_of_square(x, 1, -1)),)


@derivative("atanh")
def atanh(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """atanh' = 1 / (1 - x ** 2)"""
    return (over(a, minus(_of(1, x), times(x, x))),)


@derivative("log10")
def log10(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """log10' = 1 / (x log 10)"""
    return (over(a, times(x, _of(math.log(10), x))),)


@derivative("cbrt")
def cbrt(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """cbrt' = 1 / (3 y ** 2)"""
    return (over(a, times(_of(3, x), times(y, y))),)


@derivative("hypot")
def hypot(a: Expr, y: Expr, x: Expr, z: Expr) -> tuple[Expr | None, ...]:
    """hypot(x, z)' = (x x' + z z') / y"""
    return times(a, over(x, y)), times(a, over(z, y))


@derivative("erfc")
def erfc(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """erfc' = -erf'"""
    return (negative(times(a, times(_of(2 / math.sqrt(math.pi), x), Call("exp", (negative(times(x, x)),))))),)


@derivative("lgamma")
def lgamma(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """lgamma' = digamma"""
    return (times(a, Call("digamma", (x,))),)


@derivative("gamma")
def gamma(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """gamma' = gamma digamma"""
    return (times(a, times(y, Call("digamma", (x,)))),)


@derivative("digamma")
def digamma(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """digamma' = trigamma"""
    return (times(a, Call("trigamma", (x,))),)


@derivative("with_slope")
def with_slope(a: Expr, y: Expr, value: Expr, x: Expr, slope: Expr) -> tuple[Expr | None, ...]:
    """The value's own, and slope x'"""
    return a, times(a, slope), None


@derivative("erfinv")
def erfinv(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """erfinv' = sqrt(pi) / 2 exp(y ** 2)"""
    return (times(a, times(_of(math.sqrt(math.pi) / 2, x), Call("exp", (times(y, y),)))),)


@derivative("fmod")
def fmod(a: Expr, y: Expr, lhs: Expr, rhs: Expr) -> tuple[Expr | None, ...]:
    """fmod(x, z) = x - z trunc(x / z), the trunc constant"""
    return a, negative(times(a, Call("trunc", (Div(lhs, rhs),))))


@derivative("copysign")
def copysign(a: Expr, y: Expr, x: Expr, z: Expr) -> tuple[Expr | None, ...]:
    """copysign(x, z)' = sign(x) sign(y) x', 0 at x = 0; nothing for z"""
    return times(a, times(Call("sign", (x,)), Call("sign", (y,)))), None


@derivative("tanh")
def tanh(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """tanh' = 1 - y ** 2"""
    return (times(a, minus(_of(1, x), times(y, y))),)


@derivative("sigmoid")
def sigmoid(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """sigmoid' = y (1 - y)"""
    return (times(times(a, y), minus(_of(1, x), y)),)


@derivative("erf")
def erf(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """erf' = 2 / sqrt(pi) exp(-x ** 2)"""
    return (times(a, times(_of(2 / math.sqrt(math.pi), x), Call("exp", (negative(times(x, x)),)))),)


@derivative("gelu")
def gelu(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """gelu' = Phi(x) + x Phi'(x) with the normal distribution Phi(x) = (1 + erf(x / sqrt(2))) /
    2
    """
    share = times(_of(0.5, x), plus(_of(1, x), Call("erf", (times(x, _of(math.sqrt(0.5), x)),))))
    density = times(_of(1 / math.sqrt(2 * math.pi), x), Call("exp", (times(_of(-0.5, x), times(x, x)),)))
    return (times(a, plus(share, times(x, density))),)


@derivative("abs")
def absolute(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """abs' = sign"""
    return (times(a, Call("sign", (x,))),)


@derivative("tf32")
def tf32(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """The derivative of x: a rounding has none, as those of conversions have none."""
    return (a,)


@derivative("fma")
def fma(a: Expr, y: Expr, lhs: Expr, rhs: Expr, addend: Expr) -> tuple[Expr | None, ...]:
    """(x z + w)' = x' z + x z' + w'"""
    return times(a, rhs), times(a, lhs), a


def flat(a: Expr, y: Expr, x: Expr) -> tuple[Expr | None, ...]:
    """Piecewise constant: 0 wherever there is a derivative."""
    return (None,)


def discrete(a: Expr, y: Expr, *operands: Expr) -> tuple[Expr | None, ...]:
    """Operands are integers, which have no derivative."""
    return tuple(None for _ in operands)


for _name in ("floor", "ceil", "trunc", "rint", "round", "sign", "detach"):
    RULES[_name] = flat
for _name in RANDOM:
    RULES[_name] = discrete
