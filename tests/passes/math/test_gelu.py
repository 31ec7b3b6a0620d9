"""gelu of arrays: all digits far below 0, the limits, and texts that have their own."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.passes.math.evaluate import ulp_error
from tests.passes.math.reference import WIDE, gelu
from texpr import ops


@pytest.mark.parametrize(("dtype", "bound"), [("f4", 1.5), ("f8", 2.0)])
def test_the_operator_has_all_digits(dtype: str, bound: float):
    """Lanes with numbers of both kinds, and vectors of one."""
    x = np.concatenate(
        [np.linspace(-15, -3, 1001), np.linspace(-6, 6, 1003)[np.random.default_rng(0).permutation(1003)]]
    ).astype(dtype)
    assert ulp_error(ops.gelu(x), gelu(x.astype(WIDE))).max() <= bound


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_limits(dtype: str):
    x = np.array([-np.inf, -60, -0.0, 0, 60, np.inf, np.nan], dtype)
    y = ops.gelu(x)
    np.testing.assert_array_equal(y, np.array([-0.0, -0.0, -0.0, 0, 60, np.inf, np.nan], dtype))
    assert np.signbit(y[:4]).tolist() == [True, True, True, False]


def test_a_function_of_the_text_is_meant():
    own = tx.op("""
fn gelu(v) = 2 * v
op f(X: f32[N]) -> Y: f32[N] { Y[i] = gelu(X[i]) }""")
    assert own(np.ones(3, "f4")).tolist() == [2, 2, 2]


def test_an_operator_of_that_name_is_meant_for_whole_tensors():
    op = tx.op(
        """
op gelu(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * gelu(X[i]) }
op f(X: f32[N]) -> Y: f32[N] { Y = gelu(X) }""",
        name="f",
    )
    np.testing.assert_allclose(op(np.ones(3, "f4")), 2 * 0.8413447460685429, rtol=1e-6)


def test_so_is_one_of_rank_0():
    text = (
        "op gelu(a: f32) -> y: f32 { y = a + 1 }\nop f(a: f32) -> y: f32 { y = gelu(a) }\nop g(a: f32) -> y: "
        "f32 { y = gelu(a + 0) }"
    )
    assert tx.op(text, name="f")(np.float32(2)) == 3
    assert abs(tx.op(text, name="g")(np.float32(2)) - 1.9544997) < 1e-6
