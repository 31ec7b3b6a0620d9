"""A fused multiply-add out of products and sums, for machines that have none: the same bits,
without the C library.

f32: the product is exact in f64, and a sum rounded to odd leaves the last rounding to the
conversion. f64: Boldo and Melquiond, Emulation of FMA and Correctly Rounded Sums, IEEE Transactions
on Computers 2008. A product beyond 2^968, or below 2^-968 beside an addend as small, is scaled
first; only a result below the normal numbers may then be rounded twice.
"""

from __future__ import annotations

from texpr.ir.build import conjunction, disjunction
from texpr.ir.dtypes import F32
from texpr.ir.expr import Call, Cast, Const, Expr, Node
from texpr.ir.traverse import rewrite
from texpr.passes.math.primitives import DOUBLE

SPLITTER = 2.0**27 + 1


def without_fma(root: Node) -> Node:
    """`root` with every `fma` computed by other operations. Only for machines that cannot
    contract a product and a sum.
    """
    known: dict[tuple[int, ...], Expr] = {}

    def rule(node: Node) -> Node | None:
        match node:
            case Call("fma", (a, b, Const(value))) if value == 0 and str(float(value)) == "-0.0":
                return DOUBLE.mul(a, b)
            case Call("fma", (a, b, c)):
                # The operands live as long as what they become part of; `node` may be gone at once,
                # and its number given to another.
                key = id(a), id(b), id(c)
                if key not in known:
                    known[key] = _single(a, b, c) if node.dtype == F32 else _double(a, b, c)
                return known[key]
        return None

    return rewrite(root, rule)


def _two_sum(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    m = DOUBLE
    total = m.add(a, b)
    t = m.sub(total, a)
    return total, m.add(m.sub(a, m.sub(total, t)), m.sub(b, t))


def _to_odd(total: Expr, error: Expr) -> Expr:
    """The sum of both, rounded to the neighbour whose last bit is 1 where it is no number."""
    m = DOUBLE
    bits = m.bits(total)
    away = m.compare(
        ">", m.mul(m.with_sign_of(m.const(1.0), total), m.with_sign_of(m.const(1.0), error)), 0.0
    )
    moved = m.whole_add(bits, m.whole_select(away, 1, -1))
    finite = conjunction(m.compare("<", m.call("abs", error), 2.0**1000), m.compare("!=", error, 0.0))
    return m.select(m.odd(bits), total, m.select(finite, m.from_bits(moved), total))


def _single(a: Expr, b: Expr, c: Expr) -> Expr:
    m = DOUBLE
    return Cast(
        _to_odd(*_two_sum(m.mul(*(Cast(v, dtype=m.real) for v in (a, b))), Cast(c, dtype=m.real))), dtype=F32
    )


def _double(a: Expr, b: Expr, c: Expr) -> Expr:
    m = DOUBLE
    plain = m.mul(a, b)
    size, third = m.call("abs", plain), m.call("abs", c)
    large = disjunction(m.compare(">", size, 2.0**968), m.compare(">", third, 2.0**968))
    small = conjunction(m.compare("<", size, 2.0**-968), m.compare("<", third, 2.0**-900))
    # The factors' exponents are balanced first: neither the parts of one nor their product may
    # leave the numbers.
    a, b = _balanced(a, b)
    factor = m.select(large, 2.0**-60, m.select(small, 2.0**55, 1.0))
    back = m.select(large, 2.0**120, m.select(small, 2.0**-110, 1.0))
    left, right = m.mul(a, factor), m.mul(b, factor)
    result = m.mul(_exact(left, right, m.mul(m.mul(c, factor), factor)), back)
    result = m.select(m.compare(">", m.call("abs", m.mul(left, right)), 2.0**968), plain, result)
    unusual = disjunction(m.compare("==", a, 0.0), m.compare("==", b, 0.0))
    for x in (a, b, c):
        unusual = disjunction(unusual, _endless(x))
    return m.select(unusual, m.add(plain, c), result)


def _endless(x: Expr) -> Expr:
    """Infinite or NaN."""
    return DOUBLE.compare("!=", DOUBLE.sub(x, x), 0.0)


def _balanced(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """a 2^k and b 2^-k where one is huge and the other small."""
    m = DOUBLE
    up = conjunction(m.compare(">", m.call("abs", b), 2.0**400), m.compare("<", m.call("abs", a), 2.0**400))
    down = conjunction(m.compare(">", m.call("abs", a), 2.0**400), m.compare("<", m.call("abs", b), 2.0**400))
    first = m.select(up, 2.0**400, m.select(down, 2.0**-400, 1.0))
    second = m.select(up, 2.0**-400, m.select(down, 2.0**400, 1.0))
    return m.mul(a, first), m.mul(b, second)


def _exact(a: Expr, b: Expr, c: Expr) -> Expr:
    m = DOUBLE
    high = m.mul(a, b)
    (a1, a2), (b1, b2) = _parts(a), _parts(b)
    low = m.add(m.sub(m.mul(a1, b1), high), m.mul(a1, b2))
    low = m.add(m.add(low, m.mul(a2, b1)), m.mul(a2, b2))
    total, error = _two_sum(c, low)
    first, second = _two_sum(high, total)
    return m.add(first, _to_odd(*_two_sum(error, second)))


def _parts(x: Expr) -> tuple[Expr, Expr]:
    """Two halves of 26 bits (Veltkamp)."""
    m = DOUBLE
    t = m.mul(x, SPLITTER)
    high = m.sub(t, m.sub(t, x))
    return high, m.sub(x, high)
