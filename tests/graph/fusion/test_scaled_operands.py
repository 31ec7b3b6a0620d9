"""Scales of operands that the other operand of a product takes."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.graph import Capture, Plan
from texpr.graph.fusion.producer_consumer import fuse, is_reduction
from texpr.graph.passes import optimize
from texpr.ir.dtypes import BF16, F32
from texpr.ir.tensor import Equation

RNG = np.random.default_rng(7)
SIZES = {"N": 1, "C": 48, "P": 900, "K": 24}
PRODUCT = "sum(c: W[k, c] * T[n, c, p])"


def plan_of(scaled: str, product: str, **sizes: int) -> Plan:
    """The two equations as two operators of one program."""
    given = SIZES | sizes
    first = tx.op(
        "op scale(X: f32[{N}, {C}, {P}], s: f32[{N}, {C}], b: f32[{P}]) -> T: f32[{N}, {C}, {P}] {{\n"
        "  T[n, c, p] = {scaled}\n}}".format(scaled=scaled, **given)
    )
    second = tx.op(
        "op product(T: f32[{N}, {C}, {P}], W: f32[{K}, {C}]) -> Y: f32[{N}, {K}, {P}] {{\n"
        "  Y[n, k, p] = {product}\n}}".format(product=product, **given)
    )
    capture = Capture("layer")
    n, c, p, k = (given[x] for x in "NCPK")
    x, s, b, w = (
        capture.input(name, shape, F32)
        for name, shape in (("x", (n, c, p)), ("s", (n, c)), ("b", (p,)), ("w", (k, c)))
    )
    with capture:
        result = second(first(x, s, b), w)
    return Plan(capture, [result])


def decision(plan: Plan) -> str:
    """The line that says whether the scaled tensor is computed where it is read."""
    (line,) = [each for each in plan.explain().splitlines() if each.startswith("inline")]
    return line


def arrays(**sizes: int) -> list[np.ndarray]:
    n, c, p, k = ((SIZES | sizes)[x] for x in "NCPK")
    shapes = (n, c, p), (n, c), (p,), (k, c)
    return [RNG.standard_normal(shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("scaled", ["X[n, c, p] * s[n, c]", "s[n, c] * X[n, c, p] * max(0, s[n, c])"])
@pytest.mark.parametrize("sizes", [{}, {"N": 3}, {"C": 8}, {"P": 48}])
def test_the_other_operand_takes_a_scale_along_the_sum(scaled: str, sizes: dict[str, int]):
    plan, given = plan_of(scaled, PRODUCT, **sizes), arrays(**sizes)
    x, s, _, w = given
    factor = s * np.maximum(0, s) if "max" in scaled else s
    assert "yes, the other operand takes the scale" in decision(plan)
    assert len(plan.launches) == 1
    wanted = np.einsum("kc,ncp->nkp", w.astype(float), x * factor[..., None].astype(float))
    np.testing.assert_allclose(plan(*given)[0], wanted, rtol=0, atol=2e-6 * np.abs(wanted).max())


OTHERS = {
    "as many filters": ("X[n, c, p] * s[n, c]", PRODUCT, {"P": 40}),
    "a scale of positions": ("X[n, c, p] * b[p]", PRODUCT, {}),
    "a sum": ("X[n, c, p] + s[n, c]", PRODUCT, {}),
    "no scale": ("max(0, X[n, c, p])", PRODUCT, {}),
    "a power": ("X[n, c, p] * X[n, c, p]", PRODUCT, {}),
    "a guard": ("X[n, c, p] * s[n, c]", "sum(c: W[k, c] * T[n, c, p - 1 | 0])", {}),
    "under a function": ("X[n, c, p] * s[n, c]", "sum(c: W[k, c] * max(0, T[n, c, p]))", {}),
}


def test_short_floats_and_devices_keep_their_operands():
    """Products of short floats are rounded, and have instructions of two factors."""
    first = tx.op("op scale(X: bf16[48, 900], s: bf16[48]) -> T: bf16[48, 900] { T[c, p] = X[c, p] * s[c] }")
    second = tx.op(
        "op product(T: bf16[48, 900], W: bf16[24, 48]) -> Y: bf16[24, 900] { Y[k, p] = sum(c: W[k, c] * T[c, p]) }"
    )
    capture = Capture("layer")
    x, s, w = (
        capture.input(n, shape, BF16) for n, shape in (("x", (48, 900)), ("s", (48,)), ("w", (24, 48)))
    )
    with capture:
        result = second(first(x, s), w)
    assert ": no, " in decision(Plan(capture, [result]))
    program = plan_of("X[n, c, p] * s[n, c]", PRODUCT).captured
    given, _ = fuse(optimize(program, {}, 3, [], False), scales=False)
    assert any(not is_reduction(e) for e in given.equations if isinstance(e, Equation))


@pytest.mark.parametrize("name", OTHERS)
def test_other_tensors_are_computed_before(name: str):
    scaled, product, sizes = OTHERS[name]
    assert ": no, " in decision(plan_of(scaled, product, **sizes))
