"""One kernel for three targets: the same values, wherever it runs."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

softmax = tx.op("""op softmax<T: float>(X: T[*A:axis, D, *B]; axis = 0) -> Y: T[*A, D, *B] {
  m[*a, *b]    = max(j: X[*a, j, *b])
  e[*a, j, *b] = exp(X[*a, j, *b] - m[*a, *b])
  Y[*a, j, *b] = e[*a, j, *b] / sum(k: e[*a, k, *b])
}""")


@pytest.mark.parametrize("target", ["sm_80", pytest.param("aarch64", marks=pytest.mark.qemu)])
def test_emulated_kernels_take_the_shapes_of_callers(target: str):
    x = np.random.default_rng(0).standard_normal((2, 3, 7), dtype=np.float32)
    kernel = tx.schedule(softmax, axis=2, D=7).auto(target).compile(target)
    np.testing.assert_allclose(kernel.emulate(x), tx.interpret(softmax, x, axis=2), rtol=1e-6)


def test_foreign_code_is_not_called():
    kernel = tx.schedule(softmax, axis=1, D=7).compile("aarch64")
    with pytest.raises(tx.CompileError) as e:
        kernel(np.ones((2, 7), np.float32))
    assert (
        str(e.value)
        == """error[target]: code for aarch64 does not run in this process
  help: kernel.emulate(...) runs it in an emulator; kernel.save(...) writes it to a file"""
    )


def test_an_unknown_target():
    with pytest.raises(tx.CompileError, match="there is no target 'x86-64-v5'") as e:
        tx.schedule(softmax, axis=1, D=7).compile("x86-64-v5")
    assert "targets: native, x86-64, " in str(e.value)
    assert "did you mean `x86-64-v" in str(e.value)


def test_emulation_checks_its_arrays():
    kernel = tx.schedule(softmax, axis=1, D=7).compile("sm_80")
    with pytest.raises(tx.CallError) as e:
        kernel.emulate(np.ones((2, 7)))
    assert (
        str(e.value)
        == """error[dtype]: `X` is float64, expected float32
  help: use X.astype(float32)"""
    )
