"""Numbers, extents and shapes that break compilers, in every way a kernel can be made (`ways`).

Which bad input is tried where: extent 0 in a reduction, `test_reductions_of_nothing`; 2^31 and
products that overflow, `test_huge_extents`; 4 TiB, `test_an_absurd_allocation`; ranks 0 and 33,
`test_ranks`; shapes, `test_shapes_that_do_not_fit`; NaN in max, min, argmax, relu, clip, softmax,
`ELEMENTWISE`, `ROWS`; infinities in softmax and logsumexp, `ROWS`, `test_rows_of_infinities`; -0.0,
`ELEMENTWISE`, `test_zeros_have_signs`; constants that may or may not be folded,
`test_only_exact_constants_are_joined`; division by 0 and INT_MIN, floor division of negative
numbers, shifts, `test_integers`; floats to integers, `test_conversions_saturate` (and
`test_conversions.py`); gradients at kinks, `test_gradients_at_kinks`.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.properties.compiler.ways import WAYS, assert_everywhere, computed

NAN, INF = np.nan, np.inf
SPECIAL = [
    NAN,
    INF,
    -INF,
    0.0,
    -0.0,
    1e-40,
    -1e-45,
    3e38,
    -3e38,
    1.5,
    -2.5,
    0.5,
    -0.5,
    1.0,
    -1.0,
    16777217,
    2.0**63,
]
X = np.array([*SPECIAL, *np.random.default_rng(0).standard_normal(20)], np.float32)

ELEMENTWISE = [
    "max(X[i], 0)",
    "max(0, X[i])",
    "min(X[i], 0)",
    "clamp(X[i], -1, 1)",
    "if X[i] > 0 then X[i] else 0",
    "abs(X[i])",
    "sign(X[i])",
    "X[i] + 0",
    "X[i] - 0",
    "0 - X[i]",
    "X[i] * 0",
    "X[i] * 1",
    "-X[i]",
    "1 / X[i]",
    "X[i] / X[i]",
    "X[i] - X[i]",
    "max(X[i], -X[i])",
    "min(X[i], -X[i])",
    "floor(X[i])",
    "ceil(X[i])",
    "trunc(X[i])",
    "rint(X[i])",
    "if isnan(X[i]) then 1 else 0",
    "X[i] * 2 * 2",
    "X[i] * 0.1 * 3",
    "sqrt(X[i])",
    "if X[i] == X[i] then 1 else 0",
    "if X[i] != X[i] then 1 else 0",
    "if not X[i] < 0 then 1 else 0",
    "max(X[i], X[N - 1 - i])",
    "min(X[i], X[N - 1 - i])",
    "X[i] / 8",
    "X[i] / 3",
    "if X[i] < nan then 1 else 0",
    "if isinf(X[i]) then 1 else 0",
]
FUNCTIONS = ["exp", "exp2", "expm1", "log", "log2", "log1p", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf"]
POWERS = ["X[i]**0.5", "X[i]**X[i]", "X[i]**0", "0**X[i]", "X[i]**2", "X[i]**(0 - 1)", "X[i]**3"]


def elementwise(*values: str) -> tx.Op:
    """An operator with one output per expression."""
    outputs = ", ".join(f"Y{k}: f32[N]" for k in range(len(values)))
    return tx.op(
        f"op f(X: f32[N]) -> ({outputs}) {{ "
        + "  ".join(f"Y{k}[i] = {v}" for k, v in enumerate(values))
        + " }"
    )


@pytest.mark.parametrize("value", ELEMENTWISE)
def test_one_expression(value: str):
    assert_everywhere("default", elementwise(value), X)


@pytest.mark.parametrize("way", WAYS)
def test_special_numbers(way: str):
    assert_everywhere(way, elementwise(*ELEMENTWISE), X)


@pytest.mark.parametrize("way", WAYS)
def test_functions_of_special_numbers(way: str):
    with np.errstate(all="ignore"):
        assert_everywhere(way, elementwise(*(f"{f}(X[i])" for f in FUNCTIONS), *POWERS), X, ulps=4)


def rows() -> np.ndarray:
    """Rows with NaN, infinities and zeros of both signs among numbers."""
    found = np.random.default_rng(1).standard_normal((10, 37)).astype(np.float32)
    found[0, 5] = NAN
    found[1] = -INF
    found[2, 33] = INF
    found[3, 3] = -INF
    found[4] = INF
    found[5, 2], found[5, 36] = INF, -INF
    found[6], found[6, 4] = 0.0, -0.0
    found[7], found[7, 34] = -0.0, 0.0
    found[8, 30], found[8, 31] = NAN, INF
    return found


ROWS = [
    "max(j: X[i, j])",
    "min(j: X[i, j])",
    "f32(argmax(j: X[i, j]))",
    "f32(argmin(j: X[i, j]))",
    "max(j: max(X[i, j], 0))",
    "max(j where j > 3: X[i, j])",
    "max(j: if X[i, j] > 0 then X[i, j] else lowest(f32))",
]


@pytest.mark.parametrize("way", WAYS)
def test_reductions_of_special_numbers(way: str):
    outputs = ", ".join(f"Y{k}: f32[N]" for k in range(len(ROWS)))
    body = "  ".join(f"Y{k}[i] = {value}" for k, value in enumerate(ROWS))
    assert_everywhere(way, tx.op(f"op f(X: f32[N, M]) -> ({outputs}) require M >= 5 {{ {body} }}"), rows())


def test_extremes_are_those_of_numpy():
    x = rows()
    f = tx.op(
        "op f(X: f32[N, M]) -> (a: f32[N], b: f32[N], p: i64[N], q: i64[N]) "
        "{ a[i] = max(j: X[i, j])  b[i] = min(j: X[i, j])  p[i] = argmax(j: X[i, j])  q[i] = argmin(j: X[i, "
        "j]) }"
    )
    found = f(x)
    zeros = [6, 7]  # NumPy takes -0 and 0 for equal
    for value, expected in zip(found, (x.max(1), x.min(1), x.argmax(1), x.argmin(1))):
        np.testing.assert_array_equal(np.delete(value, zeros), np.delete(expected, zeros))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_rows_of_infinities(name: str, way: str):
    x = rows()
    op = getattr(tx.ops, name)
    found = computed(way, op, x, axis=1)
    if found is None:
        return
    with np.errstate(all="ignore"):
        most = x.max(1, keepdims=True)
        shift = np.where(np.isfinite(most), most, 0)
        total = np.exp(x - shift).sum(1, keepdims=True)
        direct = {
            "softmax": np.exp(x - most) / np.exp(x - most).sum(1, keepdims=True),
            "log_softmax": x - most - np.log(np.exp(x - most).sum(1, keepdims=True)),
            "logsumexp": (np.log(total) + shift)[:, 0],
        }[name]
    if name == "logsumexp":
        assert found[0][1] == -INF and found[0][4] == INF and np.isnan(found[0][0]) and found[0][2] == INF
    else:
        assert np.isnan(found[0][[0, 1, 4]]).all(), "a row of one infinity has no distribution, as in torch"
    np.testing.assert_allclose(found[0], direct, rtol=1e-5, atol=1e-6)


def test_zeros_have_signs():
    zero, minus = np.zeros(19, np.float32), np.full(19, -0.0, np.float32)
    f = tx.op(
        "op f(X: f32[N], Z: f32[N]) -> (a: f32[N], b: f32[N], c: f32[N], d: f32[N], e: f32[N]) "
        "{ a[i] = X[i] + 0  b[i] = X[i] * 0  c[i] = 0 - X[i]  d[i] = max(X[i], Z[i])  e[i] = 1 / X[i] }"
    )
    for x, z in ((zero, minus), (minus, zero)):
        for found, expected in zip(f(x, z), (x + 0, x * 0, 0 - x, zero, np.copysign(INF, x))):
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_only_exact_constants_are_joined():
    near = np.array([3e38, 1e38, -3e38, 1.1, 0.7], np.float32)
    f = elementwise("X[i] * 2 * 0.5", "X[i] * 0.1 * 3", "X[i] * 3 / 3")
    with np.errstate(over="ignore"):
        for found, expected in zip(
            f(near), (near * 2 * np.float32(0.5), near * np.float32(0.1) * 3, near * 3 / 3)
        ):
            np.testing.assert_array_equal(found, expected)


INTEGERS = [
    "X[i] // Z[i]",
    "X[i] % Z[i]",
    "X[i] // 3",
    "X[i] % 3",
    "X[i] // 8",
    "X[i] % 8",
    "X[i] // 1",
    "X[i] % 1",
    "shl(X[i], Z[i])",
    "shr(X[i], Z[i])",
    "mulhi(X[i], Z[i])",
    "X[i] * Z[i]",
    "X[i] - Z[i]",
    "abs(X[i])",
    "sign(X[i])",
    "max(X[i], Z[i])",
]
SIGNED = ["X[i] // (-1)", "X[i] % (-1)", "X[i] // (-3)", "X[i] % (-3)", "-X[i]", "X[i] // (-8)"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("t", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
def test_integers(t: str, way: str):
    info = np.iinfo(t.replace("i", "int").replace("u", "uint"))
    ends = [
        info.min,
        info.min + 1,
        info.max,
        info.max - 1,
        0,
        1,
        2,
        3,
        5,
        7,
        8,
        100,
        *([-1, -2, -7, -8] if info.min else []),
    ]
    x, z = (
        np.array(v.ravel(), info.dtype) for v in np.meshgrid(np.array(ends, object), np.array(ends, object))
    )
    values = [*INTEGERS, *(SIGNED if info.min else [])]
    outputs = ", ".join(f"Y{k}: {t}[N]" for k in range(len(values)))
    body = "  ".join(f"Y{k}[i] = {v}" for k, v in enumerate(values))
    assert_everywhere(way, tx.op(f"op f(X: {t}[N], Z: {t}[N]) -> ({outputs}) {{ {body} }}"), x, z)


def test_division_is_that_of_numpy():
    f = tx.op(
        "op f(X: i32[N], Z: i32[N]) -> (q: i32[N], r: i32[N]) { q[i] = X[i] // Z[i]  r[i] = X[i] % Z[i] }"
    )
    least = np.iinfo(np.int32).min
    x = np.array([1, -7, 7, -7, least, least, least, 0, -1] * 3, np.int32)
    z = np.array([0, 2, -2, -3, -1, 1, 0, 0, 2147483647] * 3, np.int32)
    with np.errstate(all="ignore"):
        quotient, rest = x // z, x % z
    assert (f(x, z)[0] == quotient).all() and (f(x, z)[1] == rest).all()
    assert list(quotient[:5]) == [0, -4, -4, 2, least] and list(rest[:5]) == [0, 1, -1, -1, 0]


@pytest.mark.parametrize("way", WAYS)
def test_conversions_saturate(way: str):
    kinds = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"]
    outputs = ", ".join(f"Y{k}: {t}[N]" for k, t in enumerate(kinds))
    f = tx.op(
        f"op f(X: f32[N]) -> ({outputs}) {{ "
        + "  ".join(f"Y{k}[i] = {t}(X[i])" for k, t in enumerate(kinds))
        + " }"
    )
    x = np.array(
        [
            NAN,
            INF,
            -INF,
            1e30,
            -1e30,
            300,
            -300,
            254.9,
            255.5,
            127.9,
            -128.9,
            2.0**31,
            2.0**63,
            2.0**64,
            -0.9,
            65535.5,
            3,
        ],
        np.float32,
    )
    assert_everywhere(way, f, x)
    found = computed(way, f, x)
    if found is not None:
        assert found[0].tolist()[:7] == [0, 255, 0, 255, 0, 255, 0]
        assert found[5].tolist()[:5] == [0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)], ids=str)
def test_reductions_of_nothing(shape: tuple[int, int], way: str):
    f = tx.op(
        "op f(X: f32[N, M]) -> (s: f32[N], p: f32[N], a: bool[N], e: bool[N]) "
        "{ s[i] = sum(j: X[i, j])  p[i] = prod(j: X[i, j])  a[i] = all(j: X[i, j] > 0)  e[i] = any(j: X[i, "
        "j] > 0) }"
    )
    assert_everywhere(way, f, np.ones(shape, np.float32))
    extreme = tx.op(
        "op f(X: f32[N, M]) -> (m: f32[N], k: i64[N]) { m[i] = max(j: X[i, j])  k[i] = argmin(j: X[i, j]) }"
    )
    if shape == (5, 0):
        with pytest.raises(tx.CallError, match="f requires M >= 1 or N == 0, and M = 0, N = 5"):
            computed(way, extreme, np.ones(shape, np.float32))
    else:
        assert_everywhere(way, extreme, np.ones(shape, np.float32))


EMPTY = {
    "elementwise": "op f(X: f32[N, M]) -> Y: f32[N, M] { Y[i, j] = X[i, j] + 1 }",
    "stencil": "op f(X: f32[N, M]) -> Y: f32[N, M] { Y[i, j] = X[i, j - 1 | 0] + X[i, j + 1 | clamp] }",
    "transpose": "op f(X: f32[N, M]) -> Y: f32[M, N] { Y[j, i] = X[i, j] }",
    "prefix": "op f(X: f32[N, M]) -> Y: f32[N, M] { Y[i, j] = Y[i - 1, j | 0] + X[i, j] }",
    "fold": "op f(X: f32[N, M]) -> Y: f32[N] { Y[i] = 0  Y[i // 2] += sum(j: X[i, j])  for i in 0..N }",
    "group": "op f(X: f32[N, M]) -> Y: f32[(N, M)] { Y[(i, j)] = X[i, j] }",
    "all": "op f(X: f32[N, M]) -> y: f32 { y = sum(i, j: X[i, j]) }",
}


@pytest.mark.parametrize("way", [w for w in WAYS if w != "aarch64"])
@pytest.mark.parametrize("name", EMPTY)
def test_arrays_of_no_elements(name: str, way: str):
    for shape in ((0, 0), (0, 3), (3, 0), (1, 1)):
        assert_everywhere(way, tx.op(EMPTY[name]), np.ones(shape, np.float32))


ONE = np.ones(1, "f4")


def view(*shape: int) -> np.ndarray:
    """An array of one byte and any shape."""
    return np.broadcast_to(np.ones((), "u1"), shape)


@pytest.mark.parametrize(
    "text, array, words",
    [
        (
            "op f(X: f32[N]) -> Y: f32[N * 65536 * 65536 * 65536 * 65536] { Y[i] = 1 }",
            ONE,
            "`Y` would have 18446744073709551616",
        ),
        (
            "op f(X: f32[N]) -> Y: f32[N * 4294967296, N * 4294967296] { Y[i, j] = 1 }",
            ONE,
            "4294967296 \\* 4294967296 elements",
        ),
        (
            "op f(X: f32[N]) -> y: f32 { T[i, j] = X[0] for i in 0..2147483648, j in 0..2147483648 * N  y = "
            "T[0, 0] }",
            ONE,
            "`T` would have",
        ),
        ("op f(X: u8[N]) -> Y: u8[N, N, N] { Y[i, j, k] = X[i] }", view(2**31), "2147483648 \\* 2147483648"),
        (
            "op f(X: u8[N, M]) -> Y: u8[(N, M), 4] { Y[(i, j), k] = X[i, j] }",
            view(2**31, 2**31),
            "would have",
        ),
    ],
    ids=range(5),
)
def test_huge_extents(text, array, words):
    for call in (tx.op(text), tx.schedule(tx.op(text)).compile(), lambda *a: tx.interpret(tx.op(text), *a)):
        with pytest.raises(tx.ResourceError, match=words):
            call(array)


@pytest.mark.parametrize("way", WAYS)
def test_index_arithmetic_is_wide(way: str):
    """Places beyond 2^32 are outside of a small array; in 32 bits they would be inside."""
    far = tx.op(
        "op f(X: f32[N], k: i64[M], p: i64) -> (a: f32[M], b: f32[M]) { a[i] = X[k[i] | 7]  b[i] = X[p * 3 + "
        "i | 7] }"
    )
    places = np.array([2**32 + 3, 3, -(2**32) + 1, 2**63 - 1, -(2**63), 2**31, 0], np.int64)
    assert_everywhere(way, far, np.arange(5, dtype="f4"), places, np.int64(2**32))


def test_an_absurd_allocation():
    x = np.ones(2**20, np.float32)
    with pytest.raises((tx.ResourceError, MemoryError)):
        tx.op("op f(X: f32[N]) -> Y: f32[N, N, 4] { Y[i, j, k] = X[i] }")(x)


SHAPES = [
    (
        "op f(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
        [(3, 4), (5, 6)],
        "error[shape]: axis 0 of `B` has extent 5, expected K = 4",
    ),
    (
        "op f(A: f32[N], B: f32[N]) -> C: f32[N] { C[i] = A[i] + B[i] }",
        [(3,), (1,)],
        "axis 0 of `B` has extent 1, expected N = 3",
    ),
    ("op f(A: f32[N, N]) -> y: f32 { y = A[0, 0] }", [(3, 4)], "axis 1 of `A` has extent 4, expected N = 3"),
    ("op f(A: f32[N]) -> y: f32 { y = A[0] }", [(3, 4)], "`A` has 2 dimensions, expected 1"),
    ("op f(A: f32[N]) -> y: f32 { y = A[0] }", [()], "`A` has 0 dimensions, expected 1"),
    ("op f(A: f32) -> y: f32 { y = A }", [(1,)], "`A` has 1 dimension, expected 0"),
    ("op f(A: f32[2*N]) -> Y: f32[2*N] require N >= 1 { Y[i] = A[i] }", [(3,)], ""),
    (
        "op f(A: f32[N, (G, 3)]) -> Y: f32[N] { Y[i] = sum(g, k in 0..3: A[i, (g, k)]) }",
        [(2, 7)],
        "has extent 7, not a multiple of 3",
    ),
    (
        "op f(A: f32[*S], B: f32[*S]) -> Y: f32[*S] { Y[*s] = A[*s] + B[*s] }",
        [(2, 3), (3, 2)],
        "`B` has shape (3, 2) for the pack *S, but (2, 3) was found before",
    ),
    (
        "op f(A: f32[*S], B: f32[*S]) -> Y: f32[*S] { Y[*s] = A[*s] + B[*s] }",
        [(2, 3), (6,)],
        "`B` has 1 dimension",
    ),
    (
        "op f(A: f32[*S, N]) -> Y: f32[*S] { Y[*s] = sum(j: A[*s, j]) }",
        [()],
        "`A` has 0 dimensions, expected at least 1",
    ),
    (
        "op f(A: f32[N], B: f32[N + 1]) -> y: f32 { y = sum(i: A[i]) + B[0] }",
        [(3,), (3,)],
        "axis 0 of `B` has extent 3, expected 4",
    ),
]


@pytest.mark.parametrize("text, shapes, said", SHAPES, ids=range(len(SHAPES)))
def test_shapes_that_do_not_fit(text, shapes, said):
    if not said:
        with pytest.raises(tx.CheckError):
            tx.op(text)
        return
    operator = tx.op(text)
    for call in (operator, tx.schedule(operator).compile(), lambda *a: tx.interpret(operator, *a)):
        with pytest.raises(tx.CallError) as e:
            call(*(np.ones(shape, "f4") for shape in shapes))
        assert said in str(e.value)


@pytest.mark.parametrize("way", WAYS)
def test_ranks(way: str):
    """Packs take any rank NumPy has; 64 is its limit."""
    f = tx.op("op f(X: f32[*S], s: f32) -> Y: f32[*S] { Y[*s_] = X[*s_] * s }")
    for rank in (0, 1, 33, 64):
        x = np.full((1,) * rank, 2, np.float32)
        found = computed(way, f, x, np.float32(3))
        assert found is None or (found[0].shape == x.shape and (found[0] == 6).all())
    one = tx.op("op f(x: f32) -> (y: f32, k: i64) { y = x * x  k = i64(x) }")
    assert_everywhere(way, one, np.float32(-2.5))


@pytest.mark.parametrize("dims", [33, 60])
def test_many_named_dimensions(dims: int):
    names, indices = ([f"{c}{k}" for k in range(dims)] for c in "Ni")
    f = tx.op(
        f"op f(X: f32[{', '.join(names)}]) -> y: f32 {{ y = sum({', '.join(indices)}: "
        f"X[{', '.join(indices)}]) }}"
    )
    assert f(np.full((1,) * dims, 3, np.float32)) == 3


KINKS = [
    ("max(X[i], 0)", [0.0, -0.0, 1, -1], [0, 0, 1, 0]),
    ("abs(X[i])", [0.0, 2, -2], [0, 1, -1]),
    ("sqrt(X[i])", [0.0, 4], [INF, 0.25]),
    ("log(X[i])", [0.0, 2], [INF, 0.5]),
    ("X[i] / X[i]", [2.0, -4], [0, 0]),
    ("X[i]**2", [0.0, 3], [0, 6]),
    ("sign(X[i])", [0.0, 5], [0, 0]),
    ("floor(X[i])", [1.0, 1.5], [0, 0]),
    ("if X[i] > 0 then log(X[i]) else 0", [0.0, -1, 2], [0, 0, 0.5]),
    ("if X[i] > 0 then sqrt(X[i]) else 0", [0.0, -4, 4], [0, 0, 0.25]),
    ("clamp(X[i], -1, 1)", [0.5, 2, -2], [1, 0, 0]),
]


@pytest.mark.parametrize("value, at, slope", KINKS)
def test_gradients_at_kinks(value: str, at: list[float], slope: list[float]):
    f = tx.op(f"op f(X: f32[N]) -> Y: f32[N] {{ Y[i] = {value} }}")
    x = np.array(at, np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(tx.grad(f)(x, np.ones_like(x)), slope, rtol=1e-6)


def test_a_tie_has_one_winner():
    f = tx.op("op f(X: f32[N]) -> y: f32 { y = max(i: X[i]) }")
    np.testing.assert_array_equal(tx.grad(f)(np.array([1, 3, 3, 2], "f4"), np.float32(5)), [0, 5, 0, 0])


RINGS = {
    "roll": "op f(X: f32[N], k: i32) -> Y: f32[N] { Y[i] = X[(i - k) % N] }",
    "both ways": "op f(X: f32[N], k: i32) -> Y: f32[N] { Y[i] = X[(i + 1) % N] - X[(i - 1) % N] + f32(k) }",
    "a fold": "op f(X: f32[N], k: i32) -> Y: f32[N] { Y[i] = 0  Y[(i * 3 + k) % N] += X[i]  for i in 0..N }",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RINGS)
def test_remainders_of_sizes_stay_inside(name: str, way: str):
    for n, k in ((7, 3), (0, 1), (16, 2**31 - 1)):
        assert_everywhere(way, tx.op(RINGS[name]), np.arange(n, dtype="f4"), np.int32(k))


def test_buffers_of_a_schedule_are_not_larger_than_addresses():
    """Partial results of partial results: 2^63 elements, whose bytes would wrap to none."""
    n = 1 << 21
    s = tx.schedule(tx.op("op f(X: i32[N]) -> Y: i32[1] { Y[z] = sum(i, j, k: X[i] * X[j] * X[k]) }"), N=n)
    kernel = s.rfactor("i").rfactor("j").rfactor("k").compile()
    with pytest.raises(tx.ResourceError, match="2097152 \\* 2097152 \\* 2097152 elements"):
        kernel(np.ones(n, np.int32))
