"""Addresses of prefetches: the data that they depend on has to be there, or nothing is asked
for.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.guarded import run
from texpr.compiler.pass_pipeline import certified_loops
from texpr.ir.expr import Read
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import Kernel, Prefetch
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import statements, tensors
from texpr.lang import parse_kernel
from texpr.passes.loop.drop_hints import check_hints
from texpr.poly import unproven_prefetches

ROWS = "op f(E: f32[V, D], idx: i64[B, L] in 0..V) -> Y: f32[B, D] { Y[b, d] = sum(l: E[idx[b, l], d]) }"


def hints(kernel: Kernel) -> list[Prefetch]:
    return [s for s in statements(kernel) if isinstance(s, Prefetch)]


def run_padded(steps: str) -> None:
    kernel = tx.schedule(tx.op(ROWS)).replay(steps)
    with tx.options(guard=True):
        compiled = kernel.compile()
        for b in (1, 3, 4, 5):
            e, i = (
                np.random.default_rng(b).random((7, 3), np.float32),
                np.random.default_rng(b).integers(0, 7, (b, 5)),
            )
            np.testing.assert_allclose(compiled(e, i), e[i].sum(1), rtol=1e-6)


@pytest.mark.parametrize(
    "steps",
    [
        "split('b', 4, tail='pad')",
        "split('b', 4, tail='overlap')",
        "split('b', 4)",
        "split('b', 4, tail='peel')",
        "split('l', 4, tail='guard')",
        "split('b', 4, tail='pad')\nsplit('d', 2)\nvectorize('di')",
    ],
)
def test_hints_under_steps(steps: str):
    script = f"prefetch('E', 'l', 1)\n{steps}"
    final = certified_loops(tx.schedule(tx.op(ROWS)).replay(script).kernel)
    assert hints(final)
    assert not list(unproven_prefetches(final))
    run("tests.poly.dependence.test_prefetch_addresses:run_padded", script, text=ROWS)


def test_padded_rows_are_asked_for_where_they_are():
    s = tx.schedule(tx.op(ROWS)).prefetch("E", "l", 1).split("b", 4, tail="pad")
    assert (
        "if bo * 4 + bi < B\n            prefetch E[idx[bo * 4 + bi, min(l + 1, L - 1)], d]"
        in show_kernel(s.kernel)
    )


PLANTED = [
    "E[idx[B, 0], 0]",
    "E[idx[b, l + 1], d]",
    "E[idx[b, L], d]",
    "E[idx[b - 1, l], d]",
    "E[idx[b, l + idx[b, l]], d]",
    "E[if b < B + 1 then idx[b + 1, l] else 0, d]",
]


@pytest.mark.parametrize("address", PLANTED)
def test_planted_hints(address: str):
    """They are refused by the certificate, and left out of kernels that are made."""
    s = tx.schedule(tx.op(ROWS)).prefetch("E", "l", 1)
    text = show_kernel(s.kernel).replace("E[idx[b, min(l + 1, L - 1)], d]", address)
    assert address in text
    kernel = parse_kernel(text)
    with pytest.raises(tx.ScheduleError, match="a prefetch of E reads idx where it may have no element"):
        check_hints(kernel)
    assert hints(kernel)
    assert not hints(certified_loops(kernel))


@pytest.mark.parametrize(
    "address", ["E[idx[b, l], d]", "E[V + 100, d]", "E[if l + 1 < L then idx[b, l + 1] else 0, d]"]
)
def test_hints_that_may_stay(address: str):
    """Where they ask for does not matter: nothing is read there."""
    s = tx.schedule(tx.op(ROWS)).prefetch("E", "l", 1)
    kernel = parse_kernel(show_kernel(s.kernel).replace("E[idx[b, min(l + 1, L - 1)], d]", address))
    assert not list(unproven_prefetches(kernel))
    assert hints(certified_loops(kernel))


def test_the_interpreter_of_loops_reads_what_addresses_depend_on():
    s = tx.schedule(tx.op(ROWS)).prefetch("E", "l", 1)
    kernel = parse_kernel(show_kernel(s.kernel).replace("min(l + 1, L - 1)", "l + 1"))
    assert any(isinstance(i, Read) for h in hints(kernel) for i in h.indices) and tensors(
        *hints(kernel)[0].indices
    )
    arrays = [np.ones((3, 2), np.float32), np.zeros((2, 2), np.int64)]
    with pytest.raises((AssertionError, IndexError)):
        interpret_kernel(kernel, arrays, {"V": 3, "D": 2, "B": 2, "L": 2})
