"""What code generators make of the expansions has the bits that NumPy makes of them: in vectors
and one by one, on two processors.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.math.evaluate import evaluate
from tests.passes.math.test_bounds import CASES, pairs_of, samples, unary
from texpr.compiler import op, schedule
from texpr.ir.dtypes import F32, F64, DType
from texpr.ir.expr import Call, FloorDiv, Mod, Var
from texpr.passes.math import EXPANSIONS, expand_math
from texpr.runtime.process import qemu
from texpr.targets import symbol_of

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


BINARY = [
    "atan2(x[i], y[i])",
    "hypot(x[i], y[i])",
    "fmod(x[i], y[i])",
    "x[i] % y[i]",
    "x[i] // y[i]",
    "copysign(x[i], y[i])",
]


@pytest.mark.parametrize("t", [F32, F64])
@pytest.mark.parametrize("text", BINARY)
def test_functions_of_two_numbers_have_the_same_bits(text: str, t: DType) -> None:
    a, b = pairs_of(t, 1 << 10)
    operator = op(f"op f(x: {t}[N], y: {t}[N]) -> z: {t}[N] {{ z[i] = {text} }}")
    x, y = Var("x", dtype=t), Var("y", dtype=t)
    word = text.split("(")[0]
    e = Mod(x, y) if "%" in text else FloorDiv(x, y) if "//" in text else Call(word, (x, y))
    np.testing.assert_array_equal(np.asarray(operator(a, b)), evaluate(expand_math(e), {x: a, y: b}))


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v2"])
def test_a_machine_without_fma_does_not_call_the_c_library(level: str) -> None:
    text = (
        "op f(x: f64[N]) -> (y: f64[N], z: f32[N]) { y[i] = exp(x[i]) * atan(x[i]) \n z[i] = tanh(f32(x[i])) "
        "}"
    )
    kernel = schedule(op(text), N=64).compile(level)
    assert "llvm.fma" not in kernel.llvm and "fma" not in kernel.asm


@pytest.mark.qemu
@pytest.mark.skipif(bool(qemu.missing_tool()), reason=f"{qemu.missing_tool()} is not installed")
@pytest.mark.parametrize("t", [F32, F64])
def test_another_processor_has_the_same_bits(t: DType) -> None:
    values = samples(t, 1 << 10)
    values = values[: values.size // 4 * 4]
    outputs = ", ".join(f"{name}_: {t}[N]" for name in EXPANSIONS)
    equations = "\n".join(f"  {name}_[i] = {name}(x[i])" for name in EXPANSIONS)
    steps = schedule(op(f"op all_functions(x: {t}[N]) -> ({outputs}) {{\n{equations}\n}}"), N=values.size)
    for name in EXPANSIONS:
        steps = steps.split(f"{name}_.i", 4).vectorize(f"{name}_.ii")
    compiled = steps.compile("aarch64")
    results = [np.empty_like(values) for _ in EXPANSIONS]
    qemu.run(compiled.artifact.object_code, symbol_of(compiled.name), [values], results, [], cpu="cortex-a72")
    for name, got in zip(EXPANSIONS, results):
        root, x = unary(name, t)
        np.testing.assert_array_equal(got, evaluate(root, {x: values}), err_msg=name)
