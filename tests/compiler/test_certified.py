"""What happens to kernels that are not proven as a whole: a warning where nobody asked, a refusal where somebody did."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.compiler import pipeline

TEXT = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }"


@pytest.fixture(autouse=True)
def nothing_is_proven(monkeypatch):
    def fail(*_):
        raise tx.ScheduleError("not proven", code="certificate")
    monkeypatch.setattr(pipeline, "certificate", fail)


def test_the_default_schedule_warns():
    with tx.options(cache_dir=None), pytest.warns(tx.CertificateWarning, match="not proven"):
        np.testing.assert_array_equal(tx.op(TEXT)(np.zeros(3, "f4")), np.ones(3, "f4"))


def test_a_schedule_by_hand_warns_with_a_way_out():
    with tx.options(cache_dir=None), pytest.warns(tx.CertificateWarning) as warned:
        tx.schedule(tx.op(TEXT)).split("i", 4).compile()(np.zeros(3, "f4"))
    assert str(warned[0].message) == """error[certificate]: not proven
  help: every step was proven, these loops as a whole are not: compare with tx.interpret, or report them; \
tx.options(certify=False) stops asking"""


def test_who_asks_is_refused():
    with tx.options(cache_dir=None, certify=True), pytest.raises(tx.ScheduleError, match="not proven"):
        tx.op(TEXT)(np.zeros(3, "f4"))


def test_who_declines_is_not_told():
    with tx.options(cache_dir=None, certify=False):
        np.testing.assert_array_equal(tx.op(TEXT)(np.zeros(3, "f4")), np.ones(3, "f4"))


def test_what_was_only_warned_of_is_not_in_the_cache_as_proven(tmp_path):
    """Every kernel made anew is warned of, and who asks for a proof is refused, whatever the cache holds."""
    with tx.options(cache_dir=tmp_path):
        for _ in range(2):
            with pytest.warns(tx.CertificateWarning, match="not proven"):
                tx.op(TEXT)(np.zeros(3, "f4"))
    with tx.options(cache_dir=tmp_path, certify=True), pytest.raises(tx.ScheduleError, match="not proven"):
        tx.op(TEXT)(np.zeros(3, "f4"))
