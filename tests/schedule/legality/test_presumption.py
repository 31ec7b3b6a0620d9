"""Steps whose legality is presumed: taken without proofs, but for those that are asked about."""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.schedule.legality.presumption import presumed
from texpr.targets import find_target

RUNNING = "op f(X: f32[50]) -> Y: f32[50] { Y[0] = X[0]\n Y[i] = Y[i - 1] + X[i] for i in 1..50 }"


def test_a_step_is_taken_without_a_proof_and_the_certificate_refuses_the_result():
    schedule = tx.schedule(tx.op(RUNNING))
    with pytest.raises(tx.ScheduleError):
        schedule.parallel("i")
    with presumed():
        schedule.parallel("i")
    with pytest.raises(tx.CertificateError):
        schedule.certificate()


def test_what_a_template_asks_is_proven():
    builder = ScheduleBuilder(tx.schedule(tx.op(RUNNING)).kernel, find_target("native").machine)
    with presumed():
        assert not builder.can_apply("parallel", "i")
        assert builder.try_apply("parallel", "i")
