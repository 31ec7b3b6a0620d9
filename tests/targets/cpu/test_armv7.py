"""ARMv7 under QEMU gives what the interpreter gives: addresses of 32 bits, slots of 64."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from bench.inner.assembly import inner_loops
from bench.inner.cases import cases
from tests.targets.cases import CASES, Case, assert_close, emulated, kernel_of, matmul, problem
from texpr import nn
from texpr.ir.build import add, compare, floordiv, mod, mul, sub
from texpr.ir.expr import Compare, Expr, Var, index
from texpr.ir.printing.expr import show
from texpr.runtime.process import qemu
from texpr.support.errors import ResourceError
from texpr.targets import compile_kernel, find_target
from texpr.targets.cpu.armv7 import bounds, cancel_common_terms

needs_qemu = pytest.mark.skipif(
    bool(qemu.missing_tool("armv7")), reason=f"{qemu.missing_tool('armv7')} is not installed"
)
ARMV7 = find_target("armv7")
OUTER, INNER = Var("i"), Var("j")
"""In 0..8 and in 0..64."""
ROW = add(mul(OUTER, index(64)), INNER)


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
    kernel = tx.schedule(
        tx.op("op f(X: f32[N]) -> y: f32 { T[i, j] = X[i] * X[j]  y = sum(i, j: T[i, j]) }")
    ).compile("armv7")
    with pytest.raises(ResourceError, match="ran out of memory in the emulator"):
        kernel.emulate(np.ones(33_000, np.float32))
    assert kernel.emulate(np.ones(300, np.float32)) == 90_000


@pytest.mark.qemu
@needs_qemu
def test_a_network(tmp_path: Path):
    nn.manual_seed(0)
    model, x = (
        nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)).eval(),
        np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 8),
    )
    nn.export(model, tmp_path / "net.o", x, target="armv7", name="net")
    computed = np.zeros((3, 4), np.float32)
    qemu.run((tmp_path / "net.o").read_bytes(), "texpr_net", [x], [computed], [], processor="armv7")
    np.testing.assert_allclose(computed, model(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "e, values",
    (
        (ROW, lambda i, j: i * 64 + j),
        (floordiv(add(ROW, index(1)), index(16)), lambda i, j: (i * 64 + j + 1) // 16),
        (
            sub(floordiv(add(ROW, index(16)), index(16)), floordiv(add(ROW, index(1)), index(16))),
            lambda i, j: (i * 64 + j + 16) // 16 - (i * 64 + j + 1) // 16,
        ),
        (sub(OUTER, mod(ROW, index(100))), lambda i, j: i - (i * 64 + j) % 100),
        (floordiv(sub(OUTER, INNER), index(16)), lambda i, j: (i - j) // 16),
        (mul(floordiv(ROW, index(7)), index(3)), lambda i, j: (i * 64 + j) // 7 * 3),
    ),
)
def test_bounds_hold_all_values(e: Expr, values: Callable[[int, int], int]):
    found = [values(i, j) for i in range(8) for j in range(64)]
    low, high = bounds(e, {OUTER: index(8), INNER: index(64)})
    assert low is not None and high is not None and low <= min(found) and max(found) <= high
    assert high - low <= 2 * (max(found) - min(found)) + 64, "no wider than what each part may be"


def test_bounds_of_what_is_not_known():
    n = Var("n")
    for e in (floordiv(add(n, OUTER), index(4)), sub(floordiv(n, index(2)), mod(OUTER, index(4)))):
        assert bounds(e, {OUTER: index(8)}) == (None, None)


def test_comparisons_lose_what_both_sides_have():
    both = compare("<", add(ROW, index(1)), add(mul(OUTER, index(64)), index(9)))
    assert isinstance(both, Compare)
    assert [show(side) for side in cancel_common_terms(both)] == ["j", "8"]
    other = compare("<=", sub(OUTER, INNER), add(OUTER, index(3)))
    assert isinstance(other, Compare)
    assert [show(side) for side in cancel_common_terms(other)] == ["0", "j + 3"]


@pytest.mark.qemu
@needs_qemu
def test_what_all_lanes_are_divided_by_is_in_none_of_them():
    """NEON has no division; the bits are those of one division for each element."""
    op = tx.op("op ratio(X: f32[N, M], T: f32[N]) -> Y: f32[N, M] { Y[i, j] = X[i, j] / T[i] }")
    x, t = (np.random.default_rng(0).normal(size=shape).astype(np.float32) for shape in ((5, 64), (5,)))
    kernel = tx.schedule(op, N=5, M=64).vectorize("j").compile("armv7")
    np.testing.assert_array_equal(kernel.emulate(x, t), x / t[:, None])
    assert "fdiv <" not in kernel.text and "fdiv float" in kernel.text


def test_a_line_is_asked_for_once():
    """A row of three is one request, one row ahead and some vectors ahead, of each of three
    rows.
    """
    (main, *_) = inner_loops(next(case for case in cases() if "blur" in case.name).assembly("armv7"))
    assert sum(n.startswith("pld") for n in main) == 6
