"""`premultiply`: factors that are multiplied beforehand; the certificate derives the given
equations, and says so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from texpr.ir.expr import Mul, Node
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.tensor import Equation
from texpr.ir.traverse import rewrite
from texpr.passes.lowering.lower import loops_of
from texpr.poly.certificate import certify
from texpr.support.errors import ScheduleError

WEIGHTED = tx.op(
    "op f(A: i32[I, K], w: i32[K], B: i32[K, J]) -> Y: i32[I, J] { Y[i, j] = 3 + sum(k: A[i, k] * w[k] * "
    "B[k, j]) }"
)


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-(2**31), 2**31, shape).astype("i4")


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 2), (2, 1), (0, 2)])
@pytest.mark.parametrize(
    "sizes",
    [{"I": 2, "K": 3, "J": 4}, {"I": 0, "K": 3, "J": 4}, {"I": 2, "K": 0, "J": 4}, {"I": 2, "K": 3, "J": 0}],
)
def test_integers_are_the_same_however_they_wrap(first: int, second: int, sizes: dict[str, int]):
    s = tx.schedule(WEIGHTED).premultiply("k", first, second)
    arrays = [_numbers(sizes["I"], sizes["K"]), _numbers(sizes["K"]), _numbers(sizes["K"], sizes["J"])]
    np.testing.assert_array_equal(
        interpret_kernel(s.kernel, arrays, sizes)[0], tx.interpret(WEIGHTED, *arrays)
    )
    assert s.certificate().bit_exact and tx.schedule(WEIGHTED).replay(s.script()).script() == s.script()


def test_products_lie_as_their_factors_do():
    def shape(text: str, first: int, second: int) -> str:
        op = tx.op(
            f"op f(A: i32[I, R], B: i32[J, R], C: i32[R, K]) -> Y: i32[I, J, K] {{ Y[i, j, k] = sum(r: "
            f"{text}) }}"
        )
        return next(
            line.strip()
            for line in str(tx.schedule(op).premultiply("r", first, second)).splitlines()
            if "Y_mul:" in line
        )

    assert shape("A[i, r] * B[j, r] * C[r, k]", 0, 1) == "let Y_mul: i32[I, J, R]"
    assert shape("A[i, r] * B[j, r] * C[r, k]", 1, 2) == "let Y_mul: i32[J, R, K]"
    assert shape("A[i, r] * 5 * B[j, r] * C[r, k]", 0, 1) == "let Y_mul: i32[I, R]"


def test_one_after_the_other():
    op = tx.op(
        "op f(A: f32[N, K], v: f32[K], w: f32[K], B: f32[K, N]) -> Y: f32[N, N] {"
        " Y[i, j] = sum(k: A[i, k] * v[k] * w[k] * B[k, j]) }"
    )
    s = tx.schedule(op).premultiply("k", 1, 2, reassoc=True).premultiply("Y.k", 1, 2, reassoc=True)
    assert s.certificate().rewrites["factor_out"] == ("Y",) and not s.certificate().bit_exact
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-3, 4, shape).astype("f4") for shape in ((4, 5), (5,), (5,), (5, 4))]
    np.testing.assert_array_equal(
        interpret_kernel(s.kernel, arrays, {"N": 4, "K": 5})[0], tx.interpret(op, *arrays)
    )
    s = tx.schedule(
        tx.op(
            "op f(A: i32[N, M], v: i32[M], B: i32[M, M], w: i32[M]) -> Y: i32[N] {"
            " Y[i] = sum(j, k: A[i, j] * v[j] * B[j, k] * w[k]) }"
        )
    )
    assert s.factor_out("k").premultiply("Y.j", 1, 2).certificate().bit_exact


@pytest.mark.parametrize(
    ("text", "args", "message"),
    [
        (
            "sum(k: A[i, k] * B[k, i])",
            (0, 1),
            "the terms of `k` have 2 factors, and a product of them is all that is added",
        ),
        (
            "sum(k: A[i, k] * A[k, k] * B[k, i])",
            (0, 3),
            "the terms of `k` have 3 factors, and 3 is none of them",
        ),
        (
            "sum(k: A[i, k] * A[k, k] * B[k, i])",
            (0, True),
            "the terms of `k` have 3 factors, and True is none of them",
        ),
        (
            "sum(k: A[i, k] * A[k, k] * B[k, i])",
            (-1, 0),
            "the terms of `k` have 3 factors, and -1 is none of them",
        ),
        ("sum(k: A[i, k] * A[k, k] * B[k, i])", (1, 1), "factor 1 is named twice"),
        ("sum(k where k != i: A[i, k] * A[k, k] * B[k, i])", (0, 1), "the sum over `k` has conditions"),
        ("sum(k in 0..i: A[i, k] * A[k, k] * B[k, i])", (0, 1), "the range of `k` depends on another index"),
        ("sum(j, k in N - 1..N: A[i, k] * A[j, k] * B[k, i])", (0, 1), None),
        ("max(k: A[i, k] * A[k, k] * B[k, i])", (0, 1), "`k` is no loop over terms of a sum of products"),
    ],
)
def test_refusals(text: str, args: tuple, message: str | None):
    op = tx.op(f"op f(A: i32[N, N], B: i32[N, N]) -> Y: i32[N] require N >= 1 {{ Y[i] = {text} }}")
    s = tx.schedule(op)
    if message is None:
        assert s.premultiply("k", *args).certificate().bit_exact
        return
    with pytest.raises(ScheduleError) as e:
        s.premultiply("k", *args)
    assert message in str(e.value) and e.value.help


def test_needs_permission_and_comes_first():
    op = tx.op(
        "op f(A: f32[N, K], w: f32[K], B: f32[K, N]) -> Y: f32[N, N] { Y[i, j] = sum(k: A[i, k] * w[k] * "
        "B[k, j]) }"
    )
    with pytest.raises(ScheduleError) as e:
        tx.schedule(op).premultiply("k", 0, 1)
    assert "error[exact]: premultiply in the terms of `k` changes the order of float products" in str(e.value)
    assert 'help: premultiply("k", 0, 1, reassoc=True) permits it' in str(e.value)
    with pytest.raises(
        ScheduleError, match="premultiply rewrites the equations, before their loops are changed"
    ):
        tx.schedule(op).split("i", 4).premultiply("k", 0, 1, reassoc=True)
    with pytest.raises(ScheduleError, match="`reassoc` is True or False, not 1"):
        tx.schedule(op).premultiply("k", 0, 1, reassoc=1)  # type: ignore[arg-type]


def test_what_is_not_there_for_all_indices_is_refused():
    """Without columns nothing asks for rows beyond the last."""
    op = tx.op(
        "op f(A: i32[M, K], w: i32[K], B: i32[K, J], z: i32[N]) -> Y: i32[N, J] require J == 0 or N <= M {"
        " Y[i, j] = z[i] + sum(k: A[i, k] * w[k] * B[k, j]) }"
    )
    with pytest.raises(
        ScheduleError, match="what both factors read is not proven to be there for all of their indices"
    ):
        tx.schedule(op).premultiply("k", 0, 1)
    assert tx.schedule(op).premultiply("k", 1, 2).certificate().bit_exact


@pytest.mark.parametrize("change", [lambda n: Mul(n.lhs, n.lhs), lambda n: n.lhs, lambda n: Mul(n, n.rhs)])
def test_certificate_refuses_other_products(change):
    kernel, said = tx.schedule(WEIGHTED).premultiply("k", 1, 2).kernel, tx.schedule(WEIGHTED).naive.program
    assert kernel.program is not None and said is not None

    def rule(n: Node) -> Node | None:
        return (
            replace(n, value=change(n.value))
            if isinstance(n, Equation) and n.target.name == "Y_mul"
            else None
        )

    assert certify(kernel, said).bit_exact
    program = rewrite(kernel.program, rule)
    with pytest.raises(ScheduleError, match="not proven"):
        certify(replace(loops_of(program), program=program), said)
