"""Schedules by hand: certified for all sizes and for some, equal to the interpreter at sizes
around their tiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest

import texpr as tx
from texpr.ir.shapes import flat_shape

EXACT = ("blur", "gauss_seidel", "gemm", "lu")
"""The others use exp, sigmoid and tanh, which may differ from the interpreter's in the last
place.
"""
CASES: dict[str, list[dict[str, int]]] = {
    "attention": [dict(L=8, M=16, D=4, E=16), dict(L=9, M=17, D=3, E=15), dict(L=1, M=1, D=1, E=1)],
    "blur": [dict(H=32, W=64), dict(H=33, W=65), dict(H=1, W=1), dict(H=70, W=3)],
    "gauss_seidel": [dict(N=16, M=16), dict(N=1, M=5), dict(N=7, M=17)],
    "gemm": [
        dict(M=16, N=64, K=256),
        dict(M=17, N=65, K=257),
        dict(M=7, N=31, K=255),
        dict(M=1, N=1, K=1),
        dict(M=9, N=513, K=3),
    ],
    "lstm": [dict(L=3, B=2, I=5, H=16), dict(L=1, B=1, I=1, H=17), dict(L=4, B=3, I=2, H=7)],
    "lu": [dict(N=16), dict(N=1), dict(N=33)],
}


def example(name: str) -> ModuleType:
    return import_module(f"examples.schedules.{name}")


def arrays(op: tx.Op, sizes: Mapping[str, int]) -> list[np.ndarray]:
    """Random inputs; of `lu` with a heavy diagonal, so that there is a decomposition; of `gemm`
    whole, so that no sum is rounded.
    """
    program, generator = op.program(), np.random.default_rng(0)
    bound = {v: sizes[v.name] for v in program.sizes}
    made = [generator.standard_normal(flat_shape(t, bound)).astype(np.float32) for t in program.inputs]
    if program.name == "gemm":
        return [np.rint(4 * a) for a in made]
    return [a + 4 * len(a) * np.eye(len(a), dtype=np.float32) for a in made] if program.name == "lu" else made


@pytest.mark.parametrize("name", CASES)
def test_certified_for_all_sizes(name: str):
    assert example(name).schedule().certificate()


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("name, sizes", [(name, sizes) for name in CASES for sizes in CASES[name]])
def test_equal_to_the_interpreter(name: str, sizes: dict[str, int], constant: bool):
    module = example(name)
    op = tx.op(module.TEXT)
    given = arrays(op, sizes)
    with tx.options(certify=True):
        found = module.schedule(**sizes if constant else {}).compile()(*given)
    expected = tx.interpret(op, *given)
    for a, b in zip(
        found if isinstance(found, tuple) else (found,),
        expected if isinstance(expected, tuple) else (expected,),
    ):
        np.testing.assert_allclose(a, b, rtol=0 if name in EXACT else 2e-6, atol=0 if name in EXACT else 2e-6)


def test_the_sliding_window_computes_each_row_once():
    assert example("blur").sliding().certificate().bit_exact
    s = example("blur").sliding(H=10, W=4)
    assert s.certificate().bit_exact
    X = np.random.default_rng(0).random((10, 4), np.float32)
    np.testing.assert_array_equal(s.compile()(X), tx.interpret(tx.op(example("blur").TEXT), X))
    assert "let T: f32[4, 4]" in str(s)


def test_conditions_stand_around_the_loops_they_say_nothing_of():
    """A condition per nest on its rows, one per vector loop on its columns."""
    assert str(example("attention").schedule()).count("if ") == 11
