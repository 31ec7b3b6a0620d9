"""What the host's code generator makes of the expansions has the bits that NumPy makes of them, in vectors and one by one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.math.evaluate import evaluate
from tests.math.test_bounds import CASES, samples, unary
from texpr.compiler import op, schedule
from texpr.ir.dtypes import DType

TAIL = 3


@pytest.mark.parametrize(("name", "t"), CASES)
def test_compiled_code_has_the_same_bits(name: str, t: DType) -> None:
    lanes = 64 // t.bytes
    values = samples(t, 1 << 12)
    values = values[: values.size // lanes * lanes + TAIL - lanes]
    steps = schedule(op(f"op f(x: {t}[N]) -> y: {t}[N] {{ y[i] = {name}(x[i]) }}"), N=values.size)
    got = steps.split("i", lanes, tail="peel").vectorize("ii").compile()(values)
    root, x = unary(name, t)
    np.testing.assert_array_equal(np.asarray(got), evaluate(root, {x: values}))
