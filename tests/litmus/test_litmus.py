"""The litmus suite: no illegal pair is accepted, no legal one refused, and what legal schedules
compute is what the program says.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.litmus.cases import Case, cases
from tests.properties.schedule.drawing import Scheduled, check, random_arrays
from texpr.ir.expr import Var
from texpr.ir.interpreter.loop import ORDERS
from texpr.support.errors import ScheduleError

CASES = cases()
LEGAL, ILLEGAL = [c for c in CASES if c.legal], [c for c in CASES if not c.legal]
SIZE = 6


def test_there_are_enough():
    assert len(LEGAL) >= 60 and len(ILLEGAL) >= 60
    assert len({c.name for c in CASES}) == len(CASES)


@pytest.mark.parametrize("case", ILLEGAL, ids=lambda c: c.name)
def test_illegal(case: Case):
    with pytest.raises(tx.Error) as error:
        case.schedule()
    if isinstance(error.value, ScheduleError) and (error.value.code == "order" or error.value.witness):
        assert error.value.witness
        assert error.value.replay().tensor, "no run shows that the step changes the answer"


UNPROVEN: dict[str, str] = {}
"""Legal cases whose final loops the certificate does not prove yet, and why not."""


@pytest.mark.parametrize("case", LEGAL, ids=lambda c: c.name)
def test_legal_loops_are_certified(case: Case):
    """What is compiled of them is not warned of."""
    s = case.schedule()
    if case.name in UNPROVEN:
        with pytest.raises(ScheduleError):
            s.certificate()
    else:
        assert s.certificate()


@pytest.mark.parametrize("case", LEGAL, ids=lambda c: c.name)
def test_legal(case: Case):
    """In the order of the text, and with iterations that may run at once run in other orders."""
    s = case.schedule()
    sizes = {v: dict(case.sizes).get(v.name, SIZE) for v in s.program.sizes}
    arrays = _arrays(s, sizes)
    for order in ORDERS:
        check(Scheduled(s.program, sizes, s.kernel, s.steps), s.kernel, arrays, order)


def _arrays(s: tx.Schedule, sizes: dict[Var, int]) -> list[np.ndarray]:
    arrays = random_arrays(s.program, sizes)
    reassociated = any(dict(step.options).get("reassoc") for step in s.steps)
    rewritten = any(step.name in ("online_softmax", "reciprocal", "tf32") for step in s.steps)
    for tensor, array in zip(s.program.inputs, arrays):
        if rewritten and tensor.dtype.is_float:
            # Exponentials of differences are 0 and 1, products with powers of two exact.
            array[...] = np.sign(array) * 256 * 2.0 ** np.clip(np.rint(array), -4, 4)
        elif tensor.distinct:
            array[...] = np.random.default_rng(0).permuted(
                np.broadcast_to(np.arange(array.shape[-1]), array.shape), axis=-1
            )
        elif reassociated:
            array[...] = np.rint(array)  # sums of small whole numbers are exact in any order
    return arrays
