"""Refusals: their witness as data, both results, the place of the call."""

from __future__ import annotations

import re

import pytest

import texpr as tx
from tests.schedule.steps.cases import OPS
from texpr.schedule.legality.replay import Replay


def refusal(op: str, sizes: dict[str, int], text: str) -> tx.ScheduleError:
    s = tx.schedule(OPS[op], **sizes)
    with pytest.raises(tx.ScheduleError) as error:
        exec(text, {"s": s})
    return error.value


def test_a_witness_is_data():
    assert refusal("lag", {}, 's.parallel("Y.i").compute_at("h", "Y.i", recompute=False)').witness == {
        "sizes": {"M": 2},
        "first": {"i": 0},
        "second": {"i": 1},
        "tensor": "h",
        "element": (0,),
    }


def test_both_results():
    shown = refusal("matmul", {}, 's.split("k", 4).reorder("ki", "ko")').replay()
    assert isinstance(shown, Replay)
    assert (shown.tensor, shown.element, shown.sizes) == ("C", (0, 0), {"M": 1, "K": 5, "N": 1})
    assert shown.expected != shown.found
    assert (
        str(shown)
        == f"at M=1, K=5, N=1: C[0, 0] is {shown.expected} in the order as it is, {shown.found} in the new "
        f"order"
    )


def test_updates_that_could_be_lost():
    """In every order of whole iterations a maximum is the same; run at once, one may overwrite
    what another wrote.
    """
    shown = refusal("updates", {}, 's.parallel("z.1.i")').replay()
    assert shown.tensor == "z"
    assert shown.expected != shown.found


def test_a_request_that_makes_no_sense_has_no_results():
    with pytest.raises(tx.ScheduleError, match="no two results"):
        refusal("matmul", {}, 's.split("i", 0)').replay()


def test_the_place_of_the_call_is_told():
    with pytest.raises(tx.ScheduleError) as error:
        tx.schedule(OPS["matmul"]).split("i", 4).parallel("k")
    assert re.search(r'^    step 2, test_refused\.py:\d+: parallel\("k"\)$', str(error.value), re.M)
