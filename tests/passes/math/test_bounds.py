"""Laws: error bounds over all exponents, exact results at special values, one meaning under
contraction, sharing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.passes.math.evaluate import evaluate, fma_f32, fma_f64, ulp_error
from tests.passes.math.reference import REFERENCE, WIDE
from tests.profiles import examples
from texpr.ir.dtypes import F32, F64, I32, DType, numpy_dtype
from texpr.ir.expr import Add, Call, Const, Expr, FloorDiv, Mod, Mul, Pow, Sub, Var
from texpr.ir.traverse import children, walk
from texpr.passes.math import EXPANSIONS, SCALE, expand_math

BOUND = {F32: 1.5, F64: 2.0}
SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1,
    -1,
    0.5,
    -0.5,
    2,
    -2,
    3,
    1e-45,
    -1e-45,
    5e-324,
    1.17549435e-38,
    3.4028235e38,
]
SPECIAL += [-3.4028235e38, 1e300, -1e300, 88.72283, 88.72284, -87.33655, -103.97, -103.98]
SPECIAL += [709.782712893384, 709.7827128933841, -745.13, -745.14, -708.4]
CASES = [(name, t) for name in EXPANSIONS for t in (F32, F64)]


def samples(t: DType, count: int, seed: int = 0) -> np.ndarray:
    """Bit patterns of all exponents and signs, more of them near 1, and the special values."""
    rng = np.random.default_rng(seed)
    kind = numpy_dtype(t)
    bits = rng.integers(0, 1 << t.bits, count, dtype=np.uint64).astype(f"u{t.bytes}").view(kind)
    scales = np.repeat([1e-3, 0.3, 1, 3, 30, 300], count // 6)
    with np.errstate(over="ignore"):
        return np.concatenate(
            [bits, (rng.normal(size=scales.size) * scales).astype(kind), np.array(SPECIAL).astype(kind)]
        )


def unary(name: str, t: DType, native: frozenset[str] = frozenset()) -> tuple[Expr, Var]:
    x = Var("x", dtype=t)
    return expand_math(Call(name, (x,)), native), x


def check(got: np.ndarray, want: np.ndarray, bound: float, *inputs: np.ndarray) -> None:
    """Within the bound, and zeros with the right sign."""
    error = ulp_error(got, want)
    zero = (want == 0) & (np.signbit(want) != np.signbit(got))
    worst = int(np.argmax(np.where(zero, np.inf, error)))
    assert error[worst] <= bound and not zero.any(), (
        [x[worst] for x in inputs],
        got[worst],
        want[worst],
        error[worst],
    )


@pytest.mark.parametrize(("name", "t"), CASES)
def test_error_is_within_the_bound(name: str, t: DType) -> None:
    root, x = unary(name, t)
    values = samples(t, 1 << (15 if t == F32 else 14))
    with np.errstate(all="ignore"):
        want = REFERENCE[name](values.astype(WIDE))
    check(evaluate(root, {x: values}), want, BOUND[t], values)


@pytest.mark.parametrize(("name", "t"), CASES)
@examples(25)
@given(data=st.data())
def test_any_number_is_within_the_bound(name: str, t: DType, data: st.DataObject) -> None:
    number = data.draw(st.floats(width=t.bits))
    root, x = unary(name, t)
    values = np.array([number], numpy_dtype(t))
    with np.errstate(all="ignore"):
        want = REFERENCE[name](values.astype(WIDE))
    check(evaluate(root, {x: values}), want, BOUND[t], values)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("t", [F32, F64])
def test_near_multiples_of_a_right_angle(name: str, t: DType) -> None:
    """Where the reduced angle loses most."""
    rng = np.random.default_rng(0)
    turns = np.floor(2.0 ** rng.uniform(0, 900 if t == F64 else 90, 1 << 13)).astype(WIDE)
    values = (turns * 2 * np.arctan(WIDE(1))).astype(numpy_dtype(t))
    root, x = unary(name, t)
    check(evaluate(root, {x: values}), REFERENCE[name](values.astype(WIDE)), BOUND[t], values)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_the_largest_angles(name: str) -> None:
    """The first is the f64 number that lies nearest to a multiple of pi/2 (Muller, Elementary
    Functions, 11.3).
    """
    values = np.array(
        [
            6381956970095103 * 2.0**797,
            5.319372648326541e255,
            2.0**44,
            -(2.0**51),
            1e22,
            2.0**1023,
            np.finfo(np.float64).max,
        ]
    )
    root, x = unary(name, F64)
    check(evaluate(root, {x: values}), REFERENCE[name](values.astype(WIDE)), 2.0, values)
    assert np.isnan(evaluate(root, {x: np.array([np.inf, -np.inf, np.nan])})).all()


def pairs_of(t: DType, count: int = 1 << 12) -> tuple[np.ndarray, np.ndarray]:
    """Numbers near each other, numbers of all exponents, and all pairs of special ones."""
    rng = np.random.default_rng(1)
    kind = numpy_dtype(t)

    def column(special: np.ndarray) -> np.ndarray:
        bits = rng.integers(0, 1 << t.bits, count, dtype=np.uint64).astype(f"u{t.bytes}").view(kind)
        with np.errstate(over="ignore"):
            return np.concatenate([rng.normal(size=count).astype(kind), bits, special.astype(kind)])

    corners = np.array(SPECIAL)
    return column(np.repeat(corners, corners.size)), column(np.tile(corners, corners.size))


@pytest.mark.parametrize("t", [F32, F64])
@pytest.mark.parametrize(("name", "reference"), [("atan2", np.arctan2), ("hypot", np.hypot)])
def test_functions_of_two_numbers(name: str, reference: np.ufunc, t: DType) -> None:
    a, b = pairs_of(t)
    x, y = Var("x", dtype=t), Var("y", dtype=t)
    with np.errstate(all="ignore"):
        want = reference(a.astype(WIDE), b.astype(WIDE))
    check(evaluate(expand_math(Call(name, (x, y))), {x: a, y: b}), want, BOUND[t], a, b)


@pytest.mark.parametrize("t", [F32, F64])
@pytest.mark.parametrize(
    ("build", "reference"),
    [
        (lambda x, y: Call("fmod", (x, y)), np.fmod),
        (lambda x, y: Call("copysign", (x, y)), np.copysign),
        (Mod, np.remainder),
        (FloorDiv, np.floor_divide),
    ],
)
def test_remainders_are_numpys(build: Callable[[Expr, Expr], Expr], reference: np.ufunc, t: DType) -> None:
    a, b = pairs_of(t)
    x, y = Var("x", dtype=t), Var("y", dtype=t)
    with np.errstate(all="ignore"):
        want = reference(a, b)
    got = evaluate(expand_math(build(x, y)), {x: a, y: b})
    np.testing.assert_array_equal(got, want)
    known = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(want[known]))


@pytest.mark.parametrize("t", [F32, F64])
def test_a_multiply_add_without_the_instruction(t: DType) -> None:
    """Sums that cancel, and numbers of all exponents."""
    rng = np.random.default_rng(2)
    kind, n = numpy_dtype(t), 1 << 13
    a, b, c = (
        rng.normal(size=n).astype(kind) * (2.0 ** rng.integers(-20, 20, n)).astype(kind) for _ in range(3)
    )
    c[: n // 2] = (-(a * b) * (1 + rng.integers(-3, 4, n) * np.finfo(kind).eps))[: n // 2]
    bits = [
        rng.integers(0, 1 << t.bits, n, dtype=np.uint64).astype(f"u{t.bytes}").view(kind) for _ in range(3)
    ]
    x, y, z = (Var(name, dtype=t) for name in "xyz")
    root = expand_math(Call("fma", (x, y, z)), fma=False)
    assert not any(isinstance(e, Call) and e.function == "fma" for e in walk(root))
    for values in ((a, b, c), bits):
        with np.errstate(all="ignore"):
            want = (fma_f32 if t == F32 else fma_f64)(*values)
        np.testing.assert_array_equal(evaluate(root, dict(zip((x, y, z), values))), want)


@pytest.mark.parametrize(("name", "t"), [*CASES, ("pow", F32)])
def test_functions_without_the_instruction_give_the_same_bits(name: str, t: DType) -> None:
    """Many multiply-adds in one expression, each of its own operands; of numbers whose products
    do not leave those of full precision.
    """
    x = Var("x", dtype=t)
    root = Pow(x, x) if name == "pow" else Call(name, (x,))
    values = np.random.default_rng(0).uniform(0.01, 0.99, 64).astype(numpy_dtype(t))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            evaluate(expand_math(root, fma=False), {x: values}), evaluate(expand_math(root), {x: values})
        )


@pytest.mark.parametrize(("name", "t"), [*CASES, ("pow", F32), ("pow", F64)])
def test_no_product_is_the_operand_of_a_sum(name: str, t: DType) -> None:
    """So a kernel that may contract `a * b + c` computes the same bits."""
    root = expand_math(Pow(Var("x", dtype=t), Var("y", dtype=t))) if name == "pow" else unary(name, t)[0]
    sums = [n for n in walk(root) if isinstance(n, Add | Sub) and n.dtype.is_float]
    assert not [n for n in sums if any(isinstance(c, Mul) for c in children(n))]


@pytest.mark.parametrize(("name", "t"), [("exp", F32), ("exp", F64), ("exp2", F32), ("exp2", F64)])
def test_a_native_scale_gives_the_same_bits(name: str, t: DType) -> None:
    values = samples(t, 1 << 12)
    plain, x = unary(name, t)
    native, y = unary(name, t, frozenset({SCALE}))
    assert any(isinstance(n, Call) and n.function == SCALE for n in walk(native))
    np.testing.assert_array_equal(evaluate(plain, {x: values}), evaluate(native, {y: values}))


@pytest.mark.parametrize("t", [F32, F64])
def test_power_is_within_the_bound(t: DType) -> None:
    rng = np.random.default_rng(0)
    kind, n = numpy_dtype(t), 1 << 12
    x, y = Var("x", dtype=t), Var("y", dtype=t)
    bases = [
        np.exp(rng.normal(size=n) * 3),
        np.exp(rng.normal(size=n) * 0.01),
        np.exp(rng.uniform(-1, 1, n) * (80 if t == F32 else 700)),
    ]
    exponents = [rng.normal(size=n) * 10, rng.normal(size=n) * 1000, rng.uniform(-1.05, 1.05, n)]
    corners = np.array([*SPECIAL, 2.5, -2.5, 2.0**24 - 1, 2.0**53 - 1, 2.0**53, -1e10, 1 - 1e-7, 1 + 1e-7])
    with np.errstate(over="ignore"):
        a = np.concatenate([*bases, np.repeat(corners, corners.size)]).astype(kind)
        b = np.concatenate([*exponents, np.tile(corners, corners.size)]).astype(kind)
    with np.errstate(all="ignore"):
        want = np.power(a.astype(WIDE), b.astype(WIDE))
    check(evaluate(expand_math(Pow(x, y)), {x: a, y: b}), want, BOUND[t], a, b)


@pytest.mark.parametrize("t", [F32, F64])
@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, 4.0, -1.0, 0.5, -0.5, -2.0, 1.5])
def test_a_constant_power_is_the_power(t: DType, exponent: float) -> None:
    x = Var("x", dtype=t)
    values = samples(t, 1 << 12)
    with np.errstate(all="ignore"):
        want = np.power(values.astype(WIDE), WIDE(exponent))
    root = expand_math(Pow(x, Const(exponent, dtype=t)))
    check(np.broadcast_to(evaluate(root, {x: values}), values.shape), want, 2.0, values)


def test_a_power_of_two_is_exp2() -> None:
    x = Var("x", dtype=F32)
    values = samples(F32, 1 << 10)
    root, y = unary("exp2", F32)
    got = evaluate(expand_math(Pow(Const(2.0, dtype=F32), x)), {x: values})
    np.testing.assert_array_equal(got, evaluate(root, {y: values}))


@pytest.mark.parametrize("t", [F32, F64, I32])
def test_sign(t: DType) -> None:
    x = Var("x", dtype=t)
    values = np.array(
        [-7, -1, 0, 1, 9] if t == I32 else [-np.inf, -3, -0.0, 0.0, 1e-30, 2, np.inf, np.nan]
    ).astype(numpy_dtype(t))
    got = evaluate(expand_math(Call("sign", (x,))), {x: values})
    np.testing.assert_array_equal(got, np.sign(values))
    assert not np.signbit(got[np.asarray(values == 0)]).any()


def test_calls_of_one_node_share_their_expansion() -> None:
    x = Var("x", dtype=F32)
    root = expand_math(Mul(Call("exp", (x,)), Call("exp", (x,))))
    assert isinstance(root, Mul) and root.lhs is root.rhs


def test_what_is_primitive_stays_the_same_object() -> None:
    x = Var("x", dtype=F32)
    root = Add(Call("sqrt", (x,)), Call("abs", (x,)))
    assert expand_math(root) is root


@pytest.mark.parametrize("t", [F32, F64])
def test_remainders_at_the_ends_of_one_division(t: DType) -> None:
    """Quotients just below, at and above whole numbers and the largest that needs no branch; a
    result is that of exact integers.
    """
    rng = np.random.default_rng(3)
    kind, limit = numpy_dtype(t).type, 23 if t == F32 else 50
    b = np.ldexp(rng.integers(1, 1 << limit, 2000).astype(kind), rng.integers(-140, 60, 2000)).astype(kind)
    b = np.where(b > 0, b, kind(1))
    whole = np.ldexp(kind(1), rng.integers(0, limit + 3, 2000)).astype(kind) - rng.integers(
        0, 2, 2000
    ).astype(kind)
    near = (whole * b).astype(kind)
    a = np.concatenate([np.nextafter(near, kind(0)), near, np.nextafter(near, kind(np.inf))])
    x, y = Var("x", dtype=t), Var("y", dtype=t)
    got = evaluate(expand_math(Call("fmod", (x, y))), {x: a, y: np.tile(b, 3)})
    np.testing.assert_array_equal(got, np.fmod(a, np.tile(b, 3)))
