"""Updates at places that a formula says, as sums over what updates an element."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr.graph.passes.gather_updates import gather_updates
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.tensor import Equation, Program
from texpr.ir.verifier.program import verify_program
from texpr.passes import specialize

FOLD = (
    "op f(P: f64[R, H], b: f64[M]; S = {s}, D = {d}, Z = {z}) -> Y: f64[M] {{ Y[y] = b[y] "
    "Y[S*h + D*r - Z | drop] += P[r, h] for r in 0..R, h in 0..H }}"
)


def _program(text: str, **sizes: int) -> Program:
    program = tx.op(text).program()
    return specialize(program, {v: sizes[v.name] for v in program.sizes})


def _updates(program: Program) -> int:
    return sum(isinstance(e, Equation) and e.update is not None for e in program.equations)


def _check(before: Program, after: Program) -> None:
    """Both compute the same, up to the order of sums."""
    verify_program(after)
    rng = np.random.default_rng(0)
    given = [rng.normal(size=[n.value for n in t.shape]) for t in before.inputs]  # type: ignore[attr-defined]
    for old, new in zip(interpret(before, given), interpret(after, given)):
        np.testing.assert_allclose(new, old, rtol=1e-13, atol=1e-13)


small = st.integers(1, 5)


@examples(60)
@given(small, small, st.integers(0, 14), st.integers(1, 4), st.integers(1, 3), st.integers(0, 3))
def test_windows_along_a_line(r: int, h: int, m: int, s: int, d: int, z: int):
    """Taps that overlap, meet or leave gaps; results that are shorter or longer than what updates
    them.
    """
    before = _program(FOLD.format(s=s, d=d, z=z), R=r, H=h, M=m)
    after = gather_updates(before)
    _check(before, after)
    assert s > 9 or _updates(after) == 0 or after is before


@pytest.mark.parametrize("s, equations", [(1, 1), (2, 2), (3, 3)])
def test_a_stride_gives_equations(s: int, equations: int):
    before = _program(FOLD.format(s=s, d=1, z=1), R=4, H=6, M=6 * s)
    after = gather_updates(before)
    assert (_updates(after), len(after.equations)) == (0, equations)


def test_two_dimensions_and_a_condition():
    before = _program(
        "op f(P: f64[R, Q, H, W]) -> Y: f64[2*H + 1, 2*W] { Y[y, x] = 1 "
        "Y[2*h + r - 1, 2*w + q - 1 | drop] += P[r, q, h, w] for r in 0..R, q in 0..Q, "
        "h in 0..H, w in 0..W where h + w < 7 }",
        R=3,
        Q=4,
        H=5,
        W=4,
    )
    after = gather_updates(before)
    _check(before, after)
    assert _updates(after) == 0 and len(after.equations) == 4


@pytest.mark.parametrize(
    "text",
    [
        "op f(P: f64[N], k: i64[N] in 0..M, Z: f64[M]) -> Y: f64[M] { Y[m] = Z[m] Y[k[n]] += P[n] for n in 0..N }",
        "op f(P: f64[N], Z: f64[M]) -> Y: f64[M] { Y[m] = Z[m] Y[2*n | clamp] += P[n] for n in 0..N }",
        "op f(P: f64[N], Z: f64[M]) -> Y: f64[M] { Y[m] = Z[m] Y[2*n | drop] max= P[n] for n in 0..N }",
        "op f(P: f64[N], Z: f64[M]) -> Y: f64[M] { Y[m] = Z[m] Y[11*n | drop] += P[n] for n in 0..N }",
        "op f(P: f16[N], Z: f16[M]) -> Y: f16[M] { Y[m] = Z[m] Y[2*n | drop] += P[n] for n in 0..N }",
        "op f(P: f64[N], Z: f64[M]) -> Y: f64[M] { Y[m] = Z[m] Y[2*n | drop] += sum(j in 0..N: P[j]) for n in 0..N }",
        "op f(P: i64[N], Z: i64[M]) -> Y: i64[M] { Y[m] = Z[m] Y[2*n | drop] += P[n] for n in 0..N }",
        "op f(P: f64[N], Q: f64[N], Z: f64[M]) -> Y: f64[M] { Y[m] = Z[m] Y[2*n | drop] += P[n] / Q[n] for n in 0..N }",
    ],
    ids=("data", "clamp", "max", "a long stride", "narrow", "a sum", "integers", "a quotient"),
)
def test_others_stay_updates(text: str):
    before = _program(text, N=4, M=99)
    assert gather_updates(before) is before


def test_transposed_convolutions_are_made_of_sums():
    """The plan of a module has no update, and its values are those of the interpreter."""
    rng = np.random.default_rng(1)
    layer = tx.nn.ConvTranspose2d(3, 4, 4, stride=2, padding=1).eval()
    x = rng.normal(size=(2, 3, 5, 6)).astype("f4")
    with tx.options(opt=1):
        plain = layer(x)
    np.testing.assert_allclose(layer(x), plain, rtol=1e-5, atol=1e-5)


def test_what_is_not_updated_stays_what_it_is():
    """Outside of the windows nothing is multiplied by infinity or divided by 0."""
    f = tx.op(
        "op f(P: f32[R, H], Q: f32[R], Z: f32[M]) -> Y: f32[M] { Y[y] = Z[y] "
        "Y[2*h + r - 1 | drop] += P[r, h] * Q[r] for r in 0..R, h in 0..H }"
    )
    given = np.ones((3, 4), "f4"), np.array([np.inf, 2, 1], "f4"), np.zeros(12, "f4")
    found = tx.jit(lambda *arrays: f(*arrays))(*given)
    np.testing.assert_array_equal(found, tx.interpret(f, *given))
    assert np.isfinite(found[9:]).all()
