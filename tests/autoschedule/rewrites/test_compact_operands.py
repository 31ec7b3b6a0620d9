"""Default schedules copy what large products read in steps, without the elements between."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

TARGETS = ["x86-64-v3", "x86-64-v4", "aarch64", "aarch64+sve"]


def strided(channels: int, step: int = 2, index: str = "{0}*i, {0}*j", outputs: int = 64) -> tx.Op:
    """A convolution of one tap that moves in steps over images of 14 rows."""
    out = -(-14 // step)
    return tx.op(
        f"""op f(X: f32[{channels}, 14, 14], W: f32[{outputs}, {channels}]) -> Y: f32[{outputs}, {out}, {out}] {{
          Y[o, i, j] = sum(c: W[o, c] * X[c, {index.format(step)}]) for i in 0..{out}, j in 0..{out}
        }}"""
    )


def copies(op: tx.Op, target: str = "x86-64-v3") -> list[str]:
    """The copies that are made before all loops."""
    steps = tx.schedule(op).auto(target).steps
    return [str(s) for s in steps if s.name == "cache_read" and len(s.args) == 1]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("step", [2, 3])
def test_what_is_read_in_steps_is_copied_on_cpus(step: int, target: str):
    op = strided(32, step)
    assert copies(op, target) == ['cache_read("X")']
    s = tx.schedule(op).auto(target)
    assert s.kernel.temporaries[1].name.startswith("X_cache")
    s.certificate()


def test_the_product_walks_through_all_positions_as_one():
    explained = tx.schedule(strided(256, outputs=512)).auto("x86-64-v3").explain()
    assert "  Y: CollapsedLoops, then PackedGemm\n" in explained


@pytest.mark.parametrize("target", TARGETS)
def test_panels_of_copies_that_begin_within_a_row_are_certified(target: str):
    """A panel of a copy is found by its place among all positions, `(io * 112 + ii) // 28`."""
    op = tx.op(
        """op f(X: f32[256, 56, 56], W: f32[512, 256]) -> Y: f32[512, 28, 28] {
          Y[o, i, j] = sum(c: W[o, c] * X[c, 2*i, 2*j]) for i in 0..28, j in 0..28
        }"""
    )
    tx.schedule(op).auto(target, constant=["W"]).certificate()


@pytest.mark.parametrize(("channels", "step"), [(1, 2), (5, 3), (32, 2), (70, 13), (33, 14)])
def test_values_are_those_of_the_interpreter(channels: int, step: int):
    op, rng = strided(channels, step), np.random.default_rng(channels)
    x = rng.standard_normal((channels, 14, 14), dtype="f4")
    w = rng.standard_normal((64, channels), dtype="f4")
    np.testing.assert_allclose(op(x, w), tx.interpret(op, x, w), rtol=0, atol=1e-6 * channels)


@pytest.mark.parametrize(
    "op",
    [
        strided(32, 1),
        strided(32, outputs=4),  # few uses of each element
        strided(32, 2, "i, j"),
        strided(32, 2, "{0}*i + min(i, 0), {0}*j"),
        tx.op(
            """op pool(X: f32[32, 14, 14]) -> Y: f32[32, 7, 7] {
              Y[c, i, j] = max(r in 0..2, q in 0..2: X[c, 2*i + r, 2*j + q])
            }"""
        ),
        tx.op(
            """op both(X: f32[32, 14, 14], W: f32[64, 32]) -> (Y: f32[64, 7, 7], Z: f32[32, 14, 14]) {
              Y[o, i, j] = sum(c: W[o, c] * X[c, 2*i, 2*j])
              Z[c, i, j] = X[c, i, j] * 2
            }"""
        ),
    ],
    ids=["no steps", "few uses", "a corner", "no affine index", "windows", "other reads"],
)
def test_what_is_not_copied(op: tx.Op):
    assert copies(op) == []


def test_nothing_is_copied_on_gpus():
    assert copies(strided(32), "sm_80") == []
