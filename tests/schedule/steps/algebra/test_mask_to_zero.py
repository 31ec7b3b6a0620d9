"""`mask_to_zero`: sums with terms that are 0 since a factor is; the certificate derives them,
and says so.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.schedule.steps.algebra.altered import certified_with
from texpr.ir.expr import Compare, Const, Node, Select
from texpr.support.errors import ScheduleError

LOWER = """op lower(X: f32[N, N], V: f32[N, M]) -> O: f32[N, M] {
  let e: f32[N, N]
  e[i, j] = exp(X[i, j])  where j <= i
  O[i, v] = sum(j where j <= i: e[i, j] * V[j, v])
}"""
ATTENTION = tx.op("""op attention(X: f32[N, N], V: f32[N, M]) -> O: f32[N, M] {
  let e: f32[N, N]
  m[i] = max(j in 0..i + 1: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])  for j in 0..i + 1
  O[i, v] = sum(j in 0..i + 1: e[i, j] * V[j, v]) / sum(j in 0..i + 1: e[i, j])
}""")


def given(n: int = 24, m: int = 5) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    return generator.standard_normal((n, n)).astype("f4"), generator.standard_normal((n, m)).astype("f4")


def behind_online() -> tx.Schedule:
    return tx.schedule(ATTENTION, N=24).online_softmax("m", 8, rows=8, reassoc=True)


def test_the_picture(golden):
    golden(str(behind_online().mask_to_zero("e_block", finite=True)))


def test_what_it_gives():
    """More terms than are said, each of them 0; of a value that was not defined nothing is
    computed.
    """
    kernel, (x, v) = behind_online().mask_to_zero("e_block", finite=True).compile(), given()
    np.testing.assert_allclose(kernel(x, v), tx.interpret(ATTENTION, x, v), rtol=1e-5, atol=1e-6)
    x[np.triu_indices(24, 1)] = np.nan
    np.testing.assert_allclose(kernel(x, v), tx.interpret(ATTENTION, x, v), rtol=1e-5, atol=1e-6)


def test_what_is_permitted():
    """An infinity that is multiplied by 0, which the sum does not say."""
    x, v = given(8)
    v[7] = np.inf
    found = (
        tx.schedule(ATTENTION, N=8)
        .online_softmax("m", 8, rows=8, reassoc=True)
        .mask_to_zero("e_block", finite=True)
        .compile()(x, v)
    )
    assert np.isnan(found[0]).all() and np.isfinite(np.asarray(tx.interpret(ATTENTION, x, v))[0]).all()


def test_the_certificate_names_the_law():
    certificate = behind_online().mask_to_zero("e_block", finite=True).certificate()
    assert certificate.rewrites["mask_to_zero"] == ("O_sum_run", "O_sum__run") and not certificate.bit_exact
    assert "mask_to_zero: 0 times infinity or NaN is added in O_sum_run, O_sum__run" in certificate.rounding


@pytest.mark.parametrize("change", ("one", "condition"))
def test_the_certificate_refuses_others(change: str):
    """A factor that is 1 elsewhere, or 0 under another condition."""
    changed: list[Node] = []

    def rule(n: Node) -> Node | None:
        match n:
            case Select(Compare(_, lhs, rhs) as cond, then, Const(0.0) as zero):
                changed.append(n)
                return (
                    Select(cond, then, Const(1.0, dtype=zero.dtype))
                    if change == "one"
                    else Select(Compare("<=", lhs, rhs), then, zero)
                )
        return None

    whole = behind_online().mask_to_zero("e_block", finite=True)
    with pytest.raises(ScheduleError, match="error\\[certificate\\]"):
        certified_with(whole, tx.schedule(ATTENTION, N=24), rule)
    assert (
        changed
        and certified_with(whole, tx.schedule(ATTENTION, N=24), lambda n: None).rewrites["mask_to_zero"]
    )


def complaint(s: tx.Schedule, name: str, finite: bool = True) -> str:
    with pytest.raises(ScheduleError) as error:
        s.widen(name, finite=finite)
    return str(error.value)


def test_complaints():
    assert "error[exact]: mask_to_zero of `e_block` adds 0 times what else is in its sums" in complaint(
        behind_online(), "e_block", False
    )
    assert "error[mask_to_zero]: `m_scale` is not defined by one equation under a condition" in complaint(
        behind_online(), "m_scale"
    )
    assert "before their loops are changed" in complaint(tx.schedule(tx.op(LOWER)).split("e.i", 4), "e")
    other = LOWER.replace("sum(j where j <= i: e[i, j] * V[j, v])", "sum(j where j <= i: e[i, j] + V[j, v])")
    assert "is read by `O" in complaint(tx.schedule(tx.op(other)), "e")
    fewer = LOWER.replace("sum(j where j <= i:", "sum(j where j < i:")
    assert "is not under the condition of `e`" in complaint(tx.schedule(tx.op(fewer)), "e")
    outside = LOWER.replace(
        "sum(j where j <= i: e[i, j] * V[j, v])", "sum(j where j <= i: e[i, j] * V[2 * i - j, v])"
    ).replace("V: f32[N, M]", "V: f32[2 * N, M]")
    assert "would have more read `V` outside" in complaint(tx.schedule(tx.op(outside)), "e")
