"""Unevaluated sums of two f64 numbers, about 100 bits: what keeps f64 results within their bound.

f32 results need no second part: with `exact` off the low parts are None, and every operation is one
of f64 (Dekker, A Floating-Point Technique for Extending the Available Precision, 1971; Joldes,
Muller and Popescu, Tight and Rigorous Error Bounds, 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from texpr.ir.expr import Expr
from texpr.passes.math.coefficients import EXP2_SHORT, EXP_F64, LN2_F64, LOG2_SHORT, LOG2E_F64
from texpr.passes.math.logarithm import split
from texpr.passes.math.power import log_pair
from texpr.passes.math.primitives import Arithmetic, Operand
from texpr.support.frozen_dataclass import frozen

Pair = tuple[Expr, Expr | None]


@frozen
class Pairs:
    """Operations of pairs over the f64 arithmetic `m`."""

    m: Arithmetic
    exact: bool

    def choose(self, exact: Sequence[float], short: Sequence[float]) -> Sequence[float]:
        """The polynomial that the accuracy needs."""
        return exact if self.exact else short

    def low(self, *terms: Operand | None) -> Expr | None:
        """The sum of the terms there are."""
        known = [t for t in terms if t is not None]
        return self.m.const(reduce(self.m.add, known)) if known else None

    def value(self, a: Pair) -> Expr:
        """As one number."""
        return a[0] if a[1] is None else self.m.add(a[0], a[1])

    def select(self, cond: Expr, a: Pair, b: Pair) -> Pair:
        """`b` may lack a low part that `a` has."""
        m = self.m
        return m.select(cond, a[0], b[0]), None if a[1] is None else m.select(
            cond, a[1], 0.0 if b[1] is None else b[1]
        )

    def sum(self, a: Operand, b: Operand, *rest: Operand | None) -> Pair:
        """a + b exactly (Knuth); `rest` is much smaller."""
        m = self.m
        total = m.add(a, b)
        if not self.exact:
            return self.value((total, self.low(*rest))), None
        t = m.sub(total, a)
        return total, self.low(m.add(m.sub(a, m.sub(total, t)), m.sub(b, t)), *rest)

    def ordered(self, a: Operand, b: Operand, *rest: Operand | None) -> Pair:
        """a + b for |a| >= |b|."""
        m = self.m
        total = m.add(a, b)
        if not self.exact:
            return self.value((total, self.low(*rest))), None
        return total, self.low(m.sub(b, m.sub(total, a)), *rest)

    def product(self, a: Pair, b: Pair) -> Pair:
        m = self.m
        high = m.fma(a[0], b[0], -0.0)  # not a product: as the operand of a sum it could be fused
        if not self.exact:
            return high, None
        low = m.fma(a[0], b[0], m.neg(high))
        low = low if b[1] is None else m.fma(a[0], b[1], low)
        return high, low if a[1] is None else m.fma(a[1], b[0], low)

    def quotient(self, a: Pair, b: Pair) -> Pair:
        """a / b; b is far from the ends of the exponents."""
        m = self.m
        if not self.exact:
            return m.div(a[0], b[0]), None
        inverse = m.div(1.0, b[0])
        high = m.fma(a[0], inverse, -0.0)
        minus = m.neg(high)
        rest = m.fma(minus, b[0], a[0])
        rest = rest if a[1] is None else m.add(rest, a[1])
        rest = rest if b[1] is None else m.fma(minus, b[1], rest)
        return high, m.fma(rest, inverse, -0.0)

    def root(self, a: Pair) -> Pair:
        """The square root; of 0 it is 0."""
        m = self.m
        high = m.call("sqrt", a[0])
        if not self.exact:
            return high, None
        rest = m.fma(m.neg(high), high, a[0])
        rest = rest if a[1] is None else m.add(rest, a[1])
        return high, m.select(m.compare("==", high, 0.0), 0.0, m.div(rest, m.add(high, high)))

    def log(self, a: Expr) -> Pair:
        """Of a positive finite number."""
        m = self.m
        if self.exact:
            return log_pair(m, a)
        parts = split(m, a)
        log2 = m.fma(m.polynomial(parts.f, LOG2_SHORT), parts.f, m.neg(parts.k))
        return m.fma(log2, LN2_F64[0] + LN2_F64[1], -0.0), None

    def log1p(self, a: Pair) -> Pair:
        """log(1 + a), of small ones too: the part of 1 + a that rounding loses counts to second
        order.
        """
        m = self.m
        one = Pairs(m, True).sum(1.0, a[0], a[1])
        lost = m.div(one[1], one[0])  # type: ignore[arg-type]
        high, low = self.log(one[0])
        return self.sum(high, m.fma(m.mul(lost, lost), -0.5, lost), low)

    def exp(self, a: Pair, offset: int) -> tuple[Pair, Expr, Expr]:
        """p, n, shifted with exp(a) = p 2^n and p near 1; `shifted` as `Arithmetic.nearest` has
        it.
        """
        m = self.m
        n, shifted = m.nearest(a[0], LOG2E_F64[0], offset)
        if not self.exact:
            f = m.fma(a[0], LOG2E_F64[0], m.neg(n))
            return (m.polynomial(f, (1.0, *EXP2_SHORT)), None), n, shifted
        high_ln2, low_ln2 = LN2_F64
        high = m.fma(n, -high_ln2, a[0])
        low = m.fma(n, -low_ln2, a[1] if a[1] is not None else -0.0)
        r = self.sum(high, low)
        square = m.mul(r[0], r[0])
        terms = m.fma(square, m.polynomial(r[0], EXP_F64), m.fma(r[1], r[0], r[1]))  # type: ignore[arg-type]
        return self.ordered(*self.ordered(1.0, r[0], terms)), n, shifted  # type: ignore[arg-type]
