"""Fit the polynomials of `texpr/passes/math` and write `texpr/passes/math/coefficients.py`.

    python scripts/fit_polynomials.py

Every polynomial is a weighted minimax fit by Remez' exchange (Remez 1934; Muller, Elementary
Functions, chapter 3) on a dense grid, in 60-digit decimal arithmetic. Then the coefficients are
rounded to the target's precision one after the other, lowest power first, and the remaining ones
are fitted again to what is left.

Kept by hand: functions of mpmath agree with these to 58 digits, but where two peaks of an error are
equally high, the last digit of a grid point decides, and the coefficients that are in use would
change.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, getcontext
from functools import cache
from pathlib import Path

getcontext().prec = 60
GRID = 600
OUTPUT = Path(__file__).parents[1] / "texpr" / "passes" / "math" / "coefficients.py"
Function = Callable[[Decimal], Decimal]


def series(first: Decimal, ratio: Callable[[int], Decimal]) -> Decimal:
    """`first * (1 + ratio(1) * (1 + ratio(2) * ...))`, until the terms vanish."""
    total, term, k = Decimal(0), first, 0
    while abs(term) > Decimal(10) ** -58:
        total, k = total + term, k + 1
        term *= ratio(k)
    return total


def sin(x: Decimal) -> Decimal:
    return series(x, lambda k: -x * x / (2 * k * (2 * k + 1)))


def cos(x: Decimal) -> Decimal:
    return series(Decimal(1), lambda k: -x * x / (2 * k * (2 * k - 1)))


def atan_inverse(n: int) -> Decimal:
    """atan(1/n)."""
    total, power, k = Decimal(0), Decimal(1) / n, 0
    while abs(power) > Decimal(10) ** -420:
        total += power / (2 * k + 1)
        power, k = -power / (n * n), k + 1
    return total


def pi(digits: int) -> Decimal:
    """Machin's formula."""
    getcontext().prec = digits + 10
    value = 4 * (4 * atan_inverse(5) - atan_inverse(239))
    getcontext().prec = 60
    return value


def erf(x: Decimal) -> Decimal:
    """2/sqrt(pi) * exp(-x^2) * x * sum of (2x^2)^k / (1*3*...*(2k+1)): all terms positive."""
    return 2 / PI.sqrt() * (-x * x).exp() * series(x, lambda k: 2 * x * x / (2 * k + 1))


def expm1(x: Decimal) -> Decimal:
    return series(x, lambda k: x / (k + 1)) if abs(x) < 1 else x.exp() - 1


def log1p(x: Decimal) -> Decimal:
    return (1 + x).ln() if abs(x) > Decimal("1e-20") else x - x * x / 2


def tanh(x: Decimal) -> Decimal:
    e = expm1(2 * x)
    return e / (e + 2)


def atan(x: Decimal) -> Decimal:
    """Halved twice: atan(x) = 2 atan(x / (1 + sqrt(1 + x^2)))."""
    for _ in range(2):
        x = x / (1 + (1 + x * x).sqrt())
    total, power, k = Decimal(0), x, 0
    while abs(power) > Decimal(10) ** -60:
        total, power, k = total + power / (2 * k + 1), -power * x * x, k + 1
    return 4 * total


def asin(x: Decimal) -> Decimal:
    return atan(x / (1 - x * x).sqrt())


def sinh(x: Decimal) -> Decimal:
    return series(x, lambda k: x * x / (2 * k * (2 * k + 1)))


def cbrt(x: Decimal) -> Decimal:
    return (x.ln() / 3).exp()


def erfcx(x: Decimal) -> Decimal:
    """exp(x^2) (1 - erf(x)): above 3 by its continued fraction, x + 1/2 / (x + 1 / (x + 3/2 / (x
    + ...))).
    """
    if x < 3:
        return (x * x).exp() * (1 - erf(x))
    tail = x
    for k in reversed(range(1, 400)):
        tail = x + Decimal(k) / 2 / tail
    return 1 / (PI.sqrt() * tail)


PI = pi(60)
LN2 = Decimal(2).ln()
ROOT2 = Decimal(2).sqrt()
TINY = Decimal("1e-3")  # where an interval starts at 0 and the error is relative
ERFINV_CENTRE = 2.24609375
ONE_SIGN = "ROUND_DOWN"  # of parts whose products with zeros are added: -0 stays -0


@dataclass(frozen=True)
class Fit:
    """Find `sum of c_k * x**powers[k]` close to `target` where `weight` says how much an error
    counts.

    `bits` is the precision of the coefficients: 24 or 53.
    """

    name: str
    what: str
    target: Function
    weight: Function
    powers: tuple[int, ...]
    lo: Decimal
    hi: Decimal
    bits: int


def rounded(x: Decimal, bits: int) -> float:
    """The nearest f64, or f32 for 24 bits."""
    return float(x) if bits == 53 else struct.unpack("<f", struct.pack("<f", float(x)))[0]


def grid(lo: Decimal, hi: Decimal) -> list[Decimal]:
    """Chebyshev points, dense at both ends."""
    middle, half = (lo + hi) / 2, (hi - lo) / 2
    return [middle - half * cos(PI * (2 * k + 1) / (2 * GRID)) for k in range(GRID)]


def solve(rows: list[list[Decimal]]) -> list[Decimal]:
    """Gaussian elimination with partial pivoting of an augmented matrix."""
    n = len(rows)
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            if factor:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k])]
    solution = [Decimal(0)] * n
    for k in reversed(range(n)):
        solution[k] = (rows[k][n] - sum(rows[k][j] * solution[j] for j in range(k + 1, n))) / rows[k][k]
    return solution


def peaks(errors: list[Decimal], count: int) -> list[int]:
    """Positions of `count` extrema of alternating sign, the largest ones."""
    best: list[int] = []
    for k, error in enumerate(errors):
        if best and (error > 0) == (errors[best[-1]] > 0):
            if abs(error) > abs(errors[best[-1]]):
                best[-1] = k
        else:
            best.append(k)
    while len(best) > count:
        least = min(range(len(best)), key=lambda k: abs(errors[best[k]]))
        last = len(best) - 1
        if least in (0, last) or len(best) == count + 1:
            best.pop(0 if abs(errors[best[0]]) < abs(errors[best[-1]]) else -1)
        else:  # its neighbours have one sign: the smaller of them goes with it
            neighbour = min(least - 1, least + 1, key=lambda k: abs(errors[best[k]]))
            best = [i for k, i in enumerate(best) if k not in (least, neighbour)]
    return best


def remez(
    xs: list[Decimal], ys: list[Decimal], ws: list[Decimal], powers: tuple[int, ...]
) -> tuple[list[Decimal], Decimal]:
    """Coefficients with the least maximum of `|w * (y - p(x))|`, and that maximum."""
    columns = [[x**p for p in powers] for x in xs]
    count = len(powers) + 1
    chosen = [round((GRID - 1) * (k + 0.5) / count) for k in range(count)]
    coefficients: list[Decimal] = []
    worst = Decimal(0)
    for _ in range(30):
        rows = [[*columns[i], (-1) ** k / ws[i], ys[i]] for k, i in enumerate(chosen)]
        *coefficients, level = solve(rows)
        errors = [
            w * (y - sum(c * v for c, v in zip(coefficients, column)))
            for w, y, column in zip(ws, ys, columns)
        ]
        worst = max(map(abs, errors))
        found = peaks(errors, count)
        if worst <= abs(level) * Decimal("1.001") or len(found) < count:
            break
        chosen = found
    return coefficients, worst


def fit(problem: Fit) -> tuple[list[float], Decimal]:
    """Rounded coefficients in the order of `powers`, and the largest weighted error."""
    xs = grid(problem.lo, problem.hi)
    ws = [problem.weight(x) for x in xs]
    left = [problem.target(x) for x in xs]
    done: list[float] = []
    for k, first in enumerate(problem.powers):
        # Divided by x^first, so that the basis starts at 1 and the signs of the error alternate on
        # both sides of 0.
        scaled = [y / x**first for x, y in zip(xs, left)]
        weights = [w * abs(x) ** first for x, w in zip(xs, ws)]
        coefficients, _ = remez(xs, scaled, weights, tuple(p - first for p in problem.powers[k:]))
        done.append(rounded(coefficients[0], problem.bits))
        left = [y - Decimal(done[-1]) * x**first for x, y in zip(xs, left)]
    return done, max(abs(w * y) for w, y in zip(ws, left))


def split(value: Decimal, *bits: int, rounding: str = "ROUND_HALF_EVEN") -> list[float]:
    """`value` as a sum of floats with at most so many bits each; all have one sign with
    `ROUND_DOWN`.
    """
    parts = []
    for width in bits:
        exponent = 0 if value == 0 else int((abs(value).ln() / LN2).to_integral_value(rounding="ROUND_FLOOR"))
        scale = Decimal(2) ** (width - 1 - exponent)
        part = (value * scale).to_integral_value(rounding) / scale
        parts.append(float(part))
        value -= part
    return parts


def odd(lo: int, hi: int) -> tuple[int, ...]:
    return tuple(range(lo, hi + 1, 2))


def up(lo: int, hi: int) -> tuple[int, ...]:
    return tuple(range(lo, hi + 1))


def problems() -> Iterator[Fit]:
    yield from exponentials()
    yield from logarithms()
    yield from angles()
    yield from error_functions()
    yield from error_inverses()
    yield from inverses()
    yield from gelus()


def exponentials() -> Iterator[Fit]:
    half_ln2, half = LN2 / 2 * Decimal("1.0005"), Decimal("0.5")
    for name, bits, degree in (("F32", 24, 6), ("F64", 53, 11)):
        yield Fit(
            f"EXP_{name}",
            "(exp(r) - 1 - r) / r^2 for |r| <= ln(2)/2, error relative to exp(r) - 1",
            lambda r: expm1(r) - r,
            lambda r: 1 / abs(expm1(r)),
            up(2, degree),
            -half_ln2,
            half_ln2,
            bits,
        )
        yield Fit(
            f"EXP2_{name}",
            "(2^r - 1) / r for |r| <= 1/2, error relative to 2^r",
            lambda r: expm1(r * LN2),
            lambda r: 1 / (r * LN2).exp(),
            up(1, degree),
            -half,
            half,
            bits,
        )
    yield Fit(
        "EXP2_SHORT",
        "(2^r - 1) / r for |r| <= 1/2 in f64 to f32 accuracy",
        lambda r: expm1(r * LN2),
        lambda r: 1 / (r * LN2).exp(),
        up(1, 6),
        -half,
        half,
        53,
    )
    yield Fit(
        "TANH_F32",
        "(tanh(x) - x) / x^3 in powers of x^2 for |x| <= 0.625, error relative to tanh(x)",
        lambda x: tanh(x) - x,
        lambda x: 1 / tanh(x),
        odd(3, 11),
        TINY,
        Decimal("0.626"),
        24,
    )


def logarithms() -> Iterator[Fit]:
    below, above, root = -Decimal("0.293"), Decimal("0.4143"), Decimal("0.1716")
    yield Fit(
        "LOG_F32",
        "(log(1 + f) - f) / f^2 for sqrt(1/2) <= 1 + f <= sqrt(2), error relative to log(1 + f)",
        lambda f: log1p(f) - f,
        lambda f: 1 / abs(log1p(f)),
        up(2, 10),
        below,
        above,
        24,
    )
    yield Fit(
        "LOG2_F32",
        "(log2(1 + f) - f log2(e)) / f^2 for sqrt(1/2) <= 1 + f <= sqrt(2), error relative to log2(1 + f)",
        lambda f: (log1p(f) - f) / LN2,
        lambda f: LN2 / abs(log1p(f)),
        up(2, 10),
        below,
        above,
        24,
    )
    yield Fit(
        "LOG2_SHORT",
        "log2(1 + f) / f for sqrt(1/2) <= 1 + f <= sqrt(2) in f64 to f32 accuracy, error relative to log2(1 "
        "+ f)",
        lambda f: log1p(f) / LN2,
        lambda f: LN2 / abs(log1p(f)),
        up(1, 14),
        below,
        above,
        53,
    )
    yield Fit(
        "LOG_F64",
        "(log((1 + s) / (1 - s)) - 2 s) / s^3 in powers of s^2 for |s| <= 3 - sqrt(8)",
        lambda s: log1p(2 * s / (1 - s)) - 2 * s,
        lambda s: 1 / s,
        odd(3, 15),
        TINY,
        root,
        53,
    )
    yield Fit(
        "LOG_PAIR",
        "(log((1 + s) / (1 - s)) - 2 s - 2/3 s^3) / s^5 in powers of s^2 for |s| <= 3 - sqrt(8)",
        lambda s: log1p(2 * s / (1 - s)) - 2 * s - 2 * s**3 / 3,
        lambda s: 1 / s,
        odd(5, 21),
        TINY,
        root,
        53,
    )


def angles() -> Iterator[Fit]:
    half = Decimal("0.5635")
    yield Fit(
        "SIN_PI_F32",
        "sin(pi f) / f in powers of f^2 for |f| <= 0.5635, in f64 to f32 accuracy",
        lambda f: sin(PI * f),
        lambda f: 1 / sin(PI * f),
        odd(1, 11),
        TINY,
        half,
        53,
    )
    yield Fit(
        "SIN_F64",
        "(sin(r) - r) / r^3 in powers of r^2 for |r| <= pi/2",
        lambda r: sin(r) - r,
        lambda r: 1 / sin(r),
        odd(3, 21),
        TINY,
        PI / 2 * Decimal("1.002"),
        53,
    )


def error_functions() -> Iterator[Fit]:
    for name, bits, small, tail, end, middle in (
        ("F32", 24, 13, 8, "3.93", "2"),
        ("F64", 53, 25, 20, "5.95", "3"),
    ):
        yield Fit(
            f"ERF_{name}",
            "(erf(x) - x) / x in powers of x^2 for |x| <= 1, error relative to erf(x)",
            lambda x: erf(x) - x,
            lambda x: 1 / erf(x),
            odd(1, small),
            TINY,
            Decimal(1),
            bits,
        )
        centre = Decimal(middle)
        yield Fit(
            f"ERFC_{name}",
            f"(1 - erf(t + {middle}))^(1/4) for 1 <= t + {middle} <= {end}, error of the fourth power",
            lambda t, c=centre: fourth_root(1 - erf(t + c)),
            lambda t, c=centre: 4 * fourth_root(1 - erf(t + c)) ** 3,
            up(0, tail),
            1 - centre,
            Decimal(end) - centre,
            bits,
        )


def error_inverses() -> Iterator[Fit]:
    """Of erfinv, in w = -log(1 - x^2)."""
    # At this w the value is an f32 number but for 2^-35: its coefficient loses nothing.
    centre = Decimal(ERFINV_CENTRE)
    yield Fit(
        "ERFINV_NEAR",
        f"erfinv(x) / x in t = w - {ERFINV_CENTRE} with w = -log(1 - x^2) for 0 <= w <= 4.25",
        lambda t: erfinv_ratio(t + centre),
        lambda t: 1 / erfinv_ratio(t + centre),
        up(0, 9),
        TINY / 100 - centre,
        Decimal("4.26") - centre,
        24,
    )
    yield Fit(
        "ERFINV_FAR",
        "erfinv(x) / x in s = sqrt(w) - 4 for 4.25 <= w <= 36.1",
        lambda s: erfinv_ratio((s + 4) ** 2),
        lambda s: 1 / erfinv_ratio((s + 4) ** 2),
        up(0, 16),
        Decimal("-1.9411"),
        Decimal("2.01"),
        53,
    )


@cache
def erfinv_ratio(w: Decimal) -> Decimal:
    """y / erf(y) for the y with 1 - erf(y)^2 = exp(-w), by Newton's method."""
    y = (w * Decimal("0.75") if w < 2 else w - w.ln() / 2).sqrt()
    while True:
        tail = erfcx(y) * (-y * y).exp()
        slope = 4 * (1 - tail) / PI.sqrt() * (-y * y).exp() / (tail * (2 - tail))
        step = (-(tail * (2 - tail)).ln() - w) / slope
        y -= step
        if abs(step) < Decimal("1e-40"):
            return y / (1 - (-w).exp()).sqrt()


def inverses() -> Iterator[Fit]:
    """Of trigonometric functions, powers and exponentials, as `_F64`, and as `_SHORT` in f64 to
    f32 accuracy.
    """
    for name, atans, asins, sinhs in (("F64", 25, 29, 17), ("SHORT", 13, 13, 9)):
        yield Fit(
            f"ATAN_{name}",
            "(atan(t) - t) / t^3 in powers of t^2 for |t| <= sqrt(2) - 1",
            lambda t: atan(t) - t,
            lambda t: 1 / atan(t),
            odd(3, atans),
            TINY,
            Decimal("0.4143"),
            53,
        )
        yield Fit(
            f"ASIN_{name}",
            "(asin(s) - s) / s^3 in powers of s^2 for |s| <= 1/2",
            lambda s: asin(s) - s,
            lambda s: 1 / asin(s),
            odd(3, asins),
            TINY,
            Decimal("0.5001"),
            53,
        )
        yield Fit(
            f"SINH_{name}",
            "(sinh(x) - x) / x^3 in powers of x^2 for |x| <= 1",
            lambda x: sinh(x) - x,
            lambda x: 1 / sinh(x),
            odd(3, sinhs),
            TINY,
            Decimal(1),
            53,
        )
    quarter = PI / 4 * Decimal("1.001")
    yield Fit(
        "COS_F64",
        "(cos(r) - 1 + r^2/2) / r^4 in powers of r^2 for |r| <= pi/4",
        lambda r: cos(r) - 1 + r * r / 2,
        lambda r: 1 / cos(r),
        tuple(range(4, 18, 2)),
        Decimal("0.01"),
        quarter,
        53,
    )
    yield Fit(
        "CBRT",
        "(1 + f)^(1/3) for sqrt(1/2) <= 1 + f <= sqrt(2)",
        lambda f: cbrt(1 + f),
        lambda f: 1 / cbrt(1 + f),
        up(0, 4),
        -Decimal("0.293"),
        Decimal("0.4143"),
        53,
    )
    for name, degree, end in (("F64", 25, "28"), ("SHORT", 12, "11")):
        yield Fit(
            f"ERFCX_{name}",
            f"((1 + 2 x) exp(x^2) (1 - erf(x)) - 1) / (t + 1) with t = (x - 4) / (x + 4) for 0 <= x <= {end}",
            lambda t: (scaled_erfc(t) - 1) / (1 + t),
            lambda t: (1 + t) / scaled_erfc(t),
            up(0, degree),
            -Decimal(1),
            (Decimal(end) - 4) / (Decimal(end) + 4),
            53,
        )


def scaled_erfc(t: Decimal) -> Decimal:
    x = 4 * (1 + t) / (1 - t)
    return (1 + 2 * x) * erfcx(x)


def fourth_root(x: Decimal) -> Decimal:
    return x.sqrt().sqrt()


def gelus() -> Iterator[Fit]:
    """Of the normal distribution's part beyond t, in f64 to f32 accuracy."""
    yield Fit(
        "GELU_NEAR",
        "(1 - Phi(t))^(1/8) for 0 <= t <= 5.6, error of the eighth power: relative below 4.25, then as a "
        "part of Phi(t)",
        root_beyond,
        lambda t: 8 / root_beyond(t) if t < Decimal("4.25") else 8 * root_beyond(t) ** 7,
        up(0, 10),
        Decimal(0),
        Decimal("5.6"),
        53,
    )
    yield Fit(
        "GELU_FAR",
        "t (1 - Phi(t)) exp(t^2 / 2) for 4.25 <= t <= 15",
        lambda t: t * erfcx(t / ROOT2) / 2,
        lambda t: 2 / (t * erfcx(t / ROOT2)),
        up(0, 12),
        Decimal("4.24"),
        Decimal("15"),
        53,
    )


@cache
def root_beyond(t: Decimal) -> Decimal:
    return fourth_root((erfcx(t / ROOT2) * (-t * t / 2).exp() / 2).sqrt())


def text() -> str:
    """The module of coefficients."""
    lines = [
        '"""Coefficients, lowest power first. Written by `scripts/fit_polynomials.py`; the errors are those '
        'of the fit alone."""',
        "",
    ]
    lines += constants()
    for problem in problems():
        lines += ["", *fitted(problem)]
    return "\n".join(lines) + "\n"


def fitted(problem: Fit) -> list[str]:
    """The lines of one polynomial."""
    coefficients, error = fit(problem)
    return [
        f"# {problem.what}: 2^{float(error.ln() / LN2):.1f}.",
        f"{problem.name} = (",
        *(f"    {c!r}," for c in coefficients),
        ")",
    ]


def constants() -> Iterator[str]:
    """Named constants as sums of floats of few bits, so that small integers times them are
    exact.
    """
    yield f"LN2_F32 = {tuple(split(LN2, 15, 24))}"
    yield f"LN2_F64 = {tuple(split(LN2, 42, 53))}"
    yield f"LOG2E_F32 = {tuple(split(1 / LN2, 24, 24))}"
    yield f"LOG2E_F64 = {tuple(split(1 / LN2, 53, 53))}"
    yield f"PI_F64 = {tuple(split(PI, 53, 53, 53, rounding=ONE_SIGN))}"
    yield f"INVERSE_PI = {float(1 / PI)!r}"
    yield "# (s, 2^s / pi modulo 2 in two parts)"
    many = pi(400)
    getcontext().prec = 400
    many = 1 / many
    rows = []
    for shift in (0, 27, 54, 81):
        turns = many * 2**shift % 2
        turns = turns - 2 if turns > 1 else turns
        rows.append((shift, *(split(turns, 53, 53) if shift else split(turns, 53, 53, rounding=ONE_SIGN))))
    far = [split(2 * many * Decimal(2) ** (32 * j) % 1024, 53, 53, 53, 53) for j in range(31)]
    getcontext().prec = 60
    yield "TURNS = ("
    yield from (f"    {row}," for row in rows)
    yield ")"
    yield "# 2^(32 j) * 2 / pi modulo 1024 in four parts, for j = 0, 1, ..."
    yield "QUARTER_TURNS = ("
    yield from (f"    {tuple(row)}," for row in far)
    yield ")"
    yield f"HALF_PI = {tuple(split(PI / 2, 53, 53))}"
    yield f"ERFINV_CENTRE = {ERFINV_CENTRE}"
    yield f"ROOT2 = {tuple(split(ROOT2, 53, 53))}"
    yield f"LOG10E = {tuple(split(1 / Decimal(10).ln(), 53, 53))}"


if __name__ == "__main__":
    OUTPUT.write_text(text())
