"""Code for numbers that are seldom met is a function that leaves the registers of the loop
around it alone.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.passes.math.evaluate import ulp_error
from tests.passes.math.reference import REFERENCE, WIDE

FUNCTIONS = {"gelu": np.linspace(-9, 9, 999), "sin": np.geomspace(1e-3, 1e30, 999)}


@pytest.mark.qemu
@pytest.mark.parametrize("target", ["native", "x86-64-v3", "aarch64", "aarch64+sve", "a64fx", "armv7"])
@pytest.mark.parametrize("name", ["gelu", "sin"])
def test_vectors_with_and_without_rare_numbers(name: str, target: str):
    """Constants and values of a second function, and of the next iterations, are what they were."""
    x = FUNCTIONS[name].astype("f4")
    random = np.random.default_rng(0).permutation(x)
    op = tx.op(
        f"op f(X: f32[N], Z: f32[N]) -> (Y: f32[N], V: f32[N]) {{ Y[i] = {name}(X[i])  V[i] = exp(Z[i]) * "
        f"0.75 + {name}(Z[i]) }}"
    )
    for values in (x, random):
        kernel = tx.schedule(op, N=len(x)).auto(target).compile(target=target)
        y, v = (kernel if target == "native" else kernel.emulate)(values, np.minimum(values, 3))
        z = np.minimum(values, 3).astype(WIDE)
        assert ulp_error(y, REFERENCE[name](values.astype(WIDE))).max() <= 1.5
        np.testing.assert_allclose(v, np.exp(z) * 0.75 + REFERENCE[name](z), rtol=2e-6, atol=1e-6)


def test_calls_keep_registers():
    """On x86 by an attribute, on ARM by a calling convention; where constants come from memory
    anyway they need not.
    """
    op = tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = gelu(X[i]) }")
    text = {
        t: tx.schedule(op, N=64).auto(t).compile(target=t).llvm
        for t in ("x86-64-v3", "x86-64-v4", "aarch64", "a64fx")
    }
    words = ("no_caller_saved_registers", "aarch64_vector_pcs", "aarch64_sve_vector_pcs")
    kept = {t: [word for word in words if word in text[t]] for t in text}
    assert kept == {
        "x86-64-v3": [],
        "x86-64-v4": ["no_caller_saved_registers"],
        "aarch64": ["aarch64_vector_pcs"],
        "a64fx": ["aarch64_sve_vector_pcs"],
    }
