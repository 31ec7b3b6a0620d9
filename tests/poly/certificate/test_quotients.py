"""Quotients: factors that have but one value where they are used are numbers; where the
certificate has no form for one, it refuses.
"""

from __future__ import annotations

import pytest

import texpr as tx
from texpr import autodiff
from texpr.compiler import load
from texpr.compiler.imports import LIBRARY
from texpr.tools.bench.certificates import usual

TWO = """
op f(X1: f32[M, M]) -> (Y: f32[M, M, M], t0: f32[M, M]) {
  t0[i, j] = sum(r1 in 0..M where r1 != 1: X1[i, j + 2 | clamp] * abs(0))
  Y[i, j, k] = sum(r2 in 0..M where r2 != 1: X1[2 * i + j - 1, i | clamp] * X1[i, k])
}
"""
STEPS = """split("Y.j", 2, tail="peel")
reorder("Y.jo", "k", "r2", "Y.ji")
vectorize("Y.ji")
fuse("jo", "k", name="both")
split("both", 2)
unroll("bothi")"""


def test_a_quotient_by_a_size_is_refused_and_nothing_breaks():
    s = tx.schedule(tx.op(TWO)).replay(STEPS)
    with pytest.raises(tx.ScheduleError) as error:
        s.certificate()
    assert error.value.code == "certificate"


@pytest.mark.parametrize("order", (0, 1, 2))
@pytest.mark.parametrize("size", (1, 2, 3, 8))
@pytest.mark.parametrize("name", ("adaptive_avgpool3d", "adaptive_maxpool1d"))
def test_what_has_one_value_is_a_number(name: str, size: int, order: int):
    """Windows of adaptive pooling: their extents, which divide, are 1 where there is one element,
    and where they begin, to which a place is added that may be any number, is 0.
    """
    program = usual(vars(load(str(LIBRARY / "pooling.tx"), prove=False))[name])
    for _ in range(order):
        program = autodiff.grad(program)
    assert tx.Schedule(program, dict.fromkeys(program.sizes, size)).auto().certificate()
