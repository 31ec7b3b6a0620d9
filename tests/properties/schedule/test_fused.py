"""Whole operators with each stage computed where it is used, in native code."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.fused import EXAMPLES
from texpr.ir.shapes import flat_shape

CASES = [(name, script) for name, example in EXAMPLES.items() for script in example.scripts]


@pytest.mark.parametrize("name, script", CASES)
def test_native_code_is_what_the_text_says(name, script):
    example = EXAMPLES[name]
    operator = tx.op(example.text)
    kernel = tx.schedule(operator).replay(example.scripts[script]).compile()
    for sizes in example.small:
        bound = {v: sizes[v.name] for v in operator.program().sizes}
        generator = np.random.default_rng(0)
        arrays = [
            generator.standard_normal(flat_shape(t, bound)).astype(np.float32)
            for t in operator.program().inputs
        ]
        expected = tx.interpret(operator, *arrays)
        np.testing.assert_allclose(kernel(*arrays), expected, rtol=2e-5, atol=2e-5)
