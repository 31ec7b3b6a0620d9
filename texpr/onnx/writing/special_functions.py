"""Functions that ONNX lacks, by formulas of its operators: in f64, and rounded once.

Stirling's series are those of Abramowitz and Stegun, 6.1.40, 6.3.18 and 6.4.12, for arguments that
are brought above 8; negative ones are reflected (6.1.17, 6.3.7, 6.4.7).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from texpr.ir.dtypes import BOOL, F64, DType
from texpr.ir.functions import BERNOULLI
from texpr.onnx.writing.graph import Value
from texpr.onnx.writing.scalar_nodes import Scalars
from texpr.passes.math.coefficients import ERF_F64, ERFINV_CENTRE, ERFINV_FAR, ERFINV_NEAR
from texpr.passes.math.error_function import TAIL_START
from texpr.passes.math.gamma import LARGE
from texpr.passes.math.gamma_coefficients import DIGAMMA, STIRLING
from texpr.support.frozen_dataclass import frozen


@frozen
class Term:
    """A tensor of a graph in formulas; numbers take its dtype."""

    s: Scalars
    value: Value

    def _with(self, op: str, other: Term | float, back: bool = False, dtype: DType | None = None) -> Term:
        right = other.value if isinstance(other, Term) else self.s.number(other, self.value)
        args = (right, self.value) if back else (self.value, right)
        return Term(self.s, self.s.apply(op, *args, dtype=dtype))

    def __add__(self, other: Term | float) -> Term:
        return self._with("Add", other)

    def __sub__(self, other: Term | float) -> Term:
        return self._with("Sub", other)

    def __rsub__(self, other: float) -> Term:
        return self._with("Sub", other, True)

    def __mul__(self, other: Term | float) -> Term:
        return self._with("Mul", other)

    def __truediv__(self, other: Term | float) -> Term:
        return self._with("Div", other)

    def __rtruediv__(self, other: float) -> Term:
        return self._with("Div", other, True)

    def __neg__(self) -> Term:
        return self.of("Neg")

    def of(self, op: str) -> Term:
        """An operator of one operand."""
        return Term(self.s, self.s.apply(op, self.value, dtype=BOOL if op == "IsNaN" else None))

    def less(self, other: Term | float) -> Term:
        return self._with("Less", other, dtype=BOOL)

    def equals(self, other: Term | float) -> Term:
        return self._with("Equal", other, dtype=BOOL)

    def choose(self, then: Term | float, orelse: Term | float, like: Term) -> Term:
        """Of a condition: `then` where it holds."""
        args = [v.value if isinstance(v, Term) else self.s.number(v, like.value) for v in (then, orelse)]
        return Term(self.s, self.s.apply("Where", self.value, *args))

    def polynomial(self, coefficients: Sequence[float]) -> Term:
        """The coefficient of the highest power comes last."""
        return Term(self.s, self.s.polynomial(self.value, coefficients))


def _raised(a: Term, steps: int) -> tuple[list[Term], Term]:
    """`a + k` for each step k, and the argument above them; a itself where it is large."""
    small = a.less(LARGE)
    return [a + k if k else a for k in range(steps)], small.choose(a + steps, a, a)


def _series(z: Term, coefficients: Sequence[float]) -> Term:
    """A polynomial in 1 / z^2, divided by z."""
    inverse = 1.0 / z
    return inverse * (inverse * inverse).polynomial(coefficients)


def _stirling(a: Term) -> tuple[Term, Term]:
    """log gamma(z), and p with gamma(a) = gamma(z) / p."""
    factors, z = _raised(a, 8)
    p = factors[0]
    for f in factors[1:]:
        p = p * f
    p = a.less(LARGE).choose(p, 1.0, a)
    tail = _series(z, STIRLING) + (0.5 * math.log(2 * math.pi) - 0.5)
    return (z - 0.5) * (z.of("Log") - 1.0) + tail, p


def _angle(x: Term) -> Term:
    """pi times what x has beside the nearest whole number."""
    return (x - x.of("Round")) * math.pi


def _ends(x: Term, y: Term) -> Term:
    """NaN stays, and -infinity gives NaN."""
    return x.equals(-math.inf).choose(math.nan, x.of("IsNaN").choose(x, y, x), x)


def lgamma(x: Term) -> Term:
    """log |gamma(x)|; infinity at 0, -1, -2, ... and at both ends."""
    a = x.of("Abs")
    found, p = _stirling(a)
    positive = found - p.of("Log")
    sine = _angle(a).of("Sin").of("Abs")
    negative = math.log(math.pi) - (sine * a).of("Log") - positive
    y = x.less(0.0).choose(sine.equals(0.0).choose(math.inf, negative, x), positive, x)
    return a.less(math.inf).choose(y, a, x)


def gamma(x: Term) -> Term:
    """Infinity at zeros, with their sign, and NaN at -1, -2, ... and -infinity."""
    a = x.of("Abs")
    found, p = _stirling(a)
    positive = found.of("Exp") / p
    sine = _angle(a).of("Sin").of("Abs")
    half = x.of("Floor") * 0.5
    even = half.of("Floor").equals(half)
    size = math.pi / (sine * a) / positive
    negative = sine.equals(0.0).choose(math.nan, even.choose(size, -size, x), x)
    y = x.less(0.0).choose(negative, positive, x)
    return _ends(x, x.equals(0.0).choose(1.0 / x, y, x))


def _reflected(x: Term) -> tuple[Term, Term]:
    below = x.less(0.0)
    return below, below.choose(1.0 - x, x, x)


def _summed(a: Term, steps: int, power: int) -> tuple[Term, Term]:
    """The sum of 1 / (a + k)^power over the steps, and the argument above them."""
    terms, z = _raised(a, steps)
    each = [1.0 / (t * t if power == 2 else t) for t in terms]
    total = each[0]
    for t in each[1:]:
        total = total + t
    return a.less(LARGE).choose(total, 0.0, a), z


def digamma(x: Term) -> Term:
    """Infinity at zeros, of the other sign, and NaN at -1, -2, ... and -infinity."""
    below, a = _reflected(x)
    less, z = _summed(a, 9, 1)
    inverse = 1.0 / z
    square = inverse * inverse
    positive = z.of("Log") + (square * square.polynomial(DIGAMMA) - inverse * 0.5 - less)
    angle = _angle(x)
    sine = angle.of("Sin")
    negative = sine.equals(0.0).choose(math.nan, positive - angle.of("Cos") * math.pi / sine, x)
    y = below.choose(negative, positive, x)
    return _ends(x, x.equals(0.0).choose(-1.0 / x, y, x))


def trigamma(x: Term) -> Term:
    """Infinity at 0, -1, -2, ... and NaN at -infinity."""
    below, a = _reflected(x)
    more, z = _summed(a, 12, 2)
    inverse = 1.0 / z
    square = inverse * inverse
    positive = inverse * (square * square.polynomial(BERNOULLI) + (inverse * 0.5 + 1.0)) + more
    ratio = math.pi / _angle(x).of("Sin")
    y = below.choose(ratio * ratio - positive, positive, x)
    return _ends(x, x.equals(0.0).choose(math.inf, y, x))


def erfinv(x: Term) -> Term:
    """A polynomial in -log(1 - x^2) or its root (Giles, Approximating the erfinv Function, 2010),
    and one of Halley's steps.
    """
    size = x.of("Abs")
    a = size.less(1.0).choose(size, 0.0, x)
    rest = 1.0 - a
    w = -(rest * (a + 1.0)).of("Log")
    near = a * (w - ERFINV_CENTRE).polynomial(ERFINV_NEAR)
    least = w.less(TAIL_START - 0.01).choose(TAIL_START - 0.01, w, x)
    far = a * (least.of("Sqrt") - 4.0).polynomial(ERFINV_FAR)
    y = w.less(TAIL_START).choose(near, far, x)
    square = y * y
    inner = y * square.polynomial(ERF_F64) + y - a
    beyond = rest - Term(x.s, x.s.complement(y.value))
    error = a.less(0.5).choose(inner, beyond, x)
    step = error * (square.of("Exp") * (0.5 * math.sqrt(math.pi)))
    y = y - step / (y * step + 1.0)
    y = size.less(1.0).choose(y, size.equals(1.0).choose(math.inf, math.nan, x), x)
    return Term(x.s, x.s.signed(y.value, x.value))


def _atan2(s: Scalars, y: Value, x: Value) -> Value:
    """The angle of (x, y) with the signs of zeros as C has them."""
    up, across = Term(s, y), Term(s, x)
    height, width = up.of("Abs"), across.of("Abs")
    swapped = width.less(height)
    most, least = swapped.choose(height, width, up), swapped.choose(width, height, up)
    endless = most.equals(math.inf)
    least = endless.choose(least.equals(math.inf).choose(1.0, 0.0, up), least, up)
    most = endless.choose(1.0, most.equals(0.0).choose(1.0, most, up), up)
    angle = (least / most).of("Atan")
    angle = swapped.choose(math.pi / 2 - angle, angle, up)
    back = Term(s, s.signed(s.number(1, x), x)).less(0.0)
    found = s.signed(back.choose(math.pi - angle, angle, up).value, y)
    nothing = Term(s, s.apply("Add", y, x))
    either = Term(
        s, s.apply("Or", s.apply("IsNaN", y, dtype=BOOL), s.apply("IsNaN", x, dtype=BOOL), dtype=BOOL)
    )
    return either.choose(nothing, Term(s, found), up).value


def _in_doubles(function: Callable[[Term], Term]) -> Callable[[Scalars, Value], Value]:
    def formula(s: Scalars, x: Value) -> Value:
        return s.graph.cast(function(Term(s, s.graph.cast(x, F64))).value, x.dtype)

    return formula


SPECIAL: dict[str, Callable[..., Value]] = {
    **{f.__name__: _in_doubles(f) for f in (lgamma, gamma, digamma, trigamma, erfinv)},
    "atan2": _atan2,
}
"""By the name of the function in the language."""
