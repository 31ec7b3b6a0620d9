"""ARMv7 under QEMU gives what the interpreter gives: addresses of 32 bits, slots of 64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.targets.cases import CASES, Case, assert_close, emulated, kernel_of, matmul, problem
from texpr import nn
from texpr.runtime import qemu
from texpr.support.errors import ResourceError
from texpr.targets import compile_kernel, find_target

needs_qemu = pytest.mark.skipif(bool(qemu.missing("armv7")), reason=f"{qemu.missing('armv7')} is not installed")
ARMV7 = find_target("armv7")


@pytest.mark.qemu
@needs_qemu
@pytest.mark.parametrize("case", (*CASES, matmul(5, 7, 3, fixed=False)), ids=str)
def test_neon(case: Case):
    assert_close(emulated(case, "armv7", processor="armv7"), problem(case).expected)


def test_vector_code():
    assembly = compile_kernel(kernel_of(matmul(33, 17, 65), ARMV7), ARMV7, alone=True).assembly
    assert "vmla.f32\tq" in assembly


@pytest.mark.qemu
@needs_qemu
def test_memory_that_addresses_do_not_reach_is_not_there():
    kernel = tx.schedule(tx.op("op f(X: f32[N]) -> y: f32 { T[i, j] = X[i] * X[j]  y = sum(i, j: T[i, j]) }")).compile("armv7")
    with pytest.raises(ResourceError, match="ran out of memory in the emulator"):
        kernel.emulate(np.ones(33_000, np.float32))
    assert kernel.emulate(np.ones(300, np.float32)) == 90_000


@pytest.mark.qemu
@needs_qemu
def test_a_network(tmp_path: Path):
    nn.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)).eval(), np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 8)
    nn.export(model, tmp_path / "net.o", x, target="armv7", name="net")
    computed = np.zeros((3, 4), np.float32)
    qemu.run((tmp_path / "net.o").read_bytes(), "texpr_net", [x], [computed], [], processor="armv7")
    np.testing.assert_allclose(computed, model(x), rtol=1e-5, atol=1e-6)
