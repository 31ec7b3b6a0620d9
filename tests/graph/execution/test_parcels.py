"""Values that leave a plan while it runs, and values that come meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr import ops
from texpr.graph import Capture, Plan, Symbolic, Variable
from texpr.graph.execution.parcels import Arrival, Parcel
from texpr.ir.dtypes import F32
from texpr.support.errors import CallError

X = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)


def chain(capture: Capture, depth: int) -> list[Symbolic]:
    """Products, each of the one before."""
    found = [capture.input("x", X.shape, F32)]
    with capture:
        for _ in range(depth):
            found.append(ops.matmul(found[-1], found[0]))  # type: ignore[arg-type]
    return found[1:]


def test_parcels_begin_when_they_are_complete_and_in_order():
    capture, heard = Capture("chain"), []
    products = chain(capture, 4)
    block = np.zeros((4, *X.shape), np.float32)

    def begins(name: str, rows: list[int]) -> Parcel:
        def begin() -> None:
            heard.append((name, [block[k].copy() for k in rows], block[3].copy()))

        return Parcel(name, [products[k] for k in rows], [block[k] for k in rows], begin)

    plan = Plan(capture, [products[0].sum()], parcels=[begins("late", [2]), begins("early", [0, 1])])
    plan.fill(0, X)
    plan.run()
    assert [name for name, *_ in heard] == ["late", "early"]
    expected = [X.astype(np.float64)]
    for _ in range(4):
        expected.append(expected[-1] @ X)
    for (_, found, last), rows in zip(heard, ([2], [0, 1])):
        for array, k in zip(found, rows):
            np.testing.assert_allclose(array, expected[k + 1], rtol=1e-3, atol=1e-2)
        assert not last.any(), "what no result needs is not computed"


def test_the_listing_shows_where_values_leave_and_come():
    capture = Capture("step")
    products, given = chain(capture, 3), Variable(np.zeros(X.shape, np.float32), "given")
    with capture:
        total = products[2] + capture.variable(given)
    block = np.zeros((2, *X.shape), np.float32)
    parcels = [Parcel(f"part {k}", [products[k]], [block[k]], lambda: None) for k in range(2)]
    plan = Plan(capture, [total], parcels=parcels, arrivals=[Arrival("given", [given], lambda: None)])
    kinds = [line.split(" = ")[0].split(":")[0] for line in str(plan).splitlines()]
    assert kinds[1] == "begin part 0" and kinds[3:5] == ["begin part 1", "wait for given"], str(plan)
    assert len(kinds) == len(plan.launches) + 3


def test_a_plan_waits_before_the_first_kernel_that_reads():
    capture, heard = Capture("update"), []
    given, own = (Variable(np.zeros(4, np.float32), n) for n in ("given", "own"))
    with capture:
        capture.assign(own, capture.variable(own) + capture.variable(given))

    def wait() -> None:
        heard.append(own.data.copy())
        given.data[...] = 3

    plan = Plan(capture, [], arrivals=[Arrival("given", [given], wait)])
    for _ in range(2):
        plan.run()
    np.testing.assert_array_equal(own.data, 6)
    np.testing.assert_array_equal(heard, [[0] * 4, [3] * 4])


def test_a_failing_event_leaves_variables_as_they_were():
    capture = Capture("update")
    given, own = (Variable(np.ones(4, np.float32), n) for n in ("given", "own"))
    with capture:
        capture.assign(own, capture.variable(own) + capture.variable(given))

    def wait() -> None:
        raise ValueError("the other one is gone")

    plan = Plan(capture, [], arrivals=[Arrival("given", [given], wait)])
    with pytest.raises(ValueError, match="gone"):
        plan.run()
    plan.commit()
    np.testing.assert_array_equal(own.data, 1)


def test_a_profile_sees_the_same_values():
    capture, heard = Capture("chain"), []
    (product,) = chain(capture, 1)
    block = np.zeros(X.shape, np.float32)
    plan = Plan(capture, [], parcels=[Parcel("all", [product], [block], lambda: heard.append(block.copy()))])
    plan.fill(0, X)
    plan.run()
    block[...] = 0
    with tx.profile() as profile:
        plan.run()
    assert len(heard) == 2 and len(profile.events) == 1
    assert heard[0].tobytes() == heard[1].tobytes()


def test_a_plan_on_a_device_has_no_parcels(monkeypatch: pytest.MonkeyPatch):
    capture = Capture("chain")
    (product,) = chain(capture, 1)
    from texpr.graph.execution import plan as module

    class Elsewhere:
        name = "cuda:0"

    monkeypatch.setattr(module, "choose_placement", lambda *_: Elsewhere())
    with pytest.raises(CallError) as caught:
        Plan(capture, [], parcels=[Parcel("all", [product], [np.zeros(X.shape, np.float32)], lambda: None)])
    assert "values leave and come on the CPU alone" in str(caught.value)
