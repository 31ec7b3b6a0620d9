"""What `explain()` says of default schedules: the template of each nest, and why those before it
did not take it.
"""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.autoschedule.core.decision import Decision, show_decisions
from texpr.autoschedule.driver import choose
from texpr.ir.machine import Machine
from texpr.targets import find_target

PRODUCT = "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
SOFTMAX = """op softmax(X: f32[N, M]) -> Y: f32[N, M] require M >= 1 {
  m[n] = max(k: X[n, k])
  e[n, k] = exp(X[n, k] - m[n])
  Y[n, k] = e[n, k] / sum(j: e[n, j]) }"""
TOTAL = "op total(X: f32[N, M]) -> Y: f32 { Y = sum(i, j: X[i, j]) }"
CPU = Machine(vector_bytes=64, vector_registers=32, caches=(32 << 10, 1 << 20), cores=2)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (PRODUCT, {"M": 512, "N": 512, "K": 512}),
        (SOFTMAX, {"N": 64, "M": 300}),
        (TOTAL, {"N": 3000, "M": 1000}),
    ],
    ids=["product", "softmax", "total"],
)
def test_a_default_schedule_says_why(text: str, sizes: dict[str, int], golden):
    kernel = tx.schedule(tx.op(text), **sizes).naive
    golden(
        f"{choose(kernel, CPU).explain()}\n\nsm_80: "
        f"{choose(kernel, find_target('sm_80').machine).explain()}\n"
    )


def test_a_nest_has_one_entry_and_a_reason_is_said_once():
    said = show_decisions(
        [
            Decision(None, None, (("A", "no chain"),)),
            Decision("Y", "B", (("A", "no sum"),)),
            Decision("m", "C"),
            Decision("Y", "D", (("C", "no sum"), ("B", "again"), ("E", "far"))),
        ],
        3,
    )
    assert said == (
        "default schedule, 3 steps\n  all nests: no template\n    not A: no chain\n"
        "  Y: B, then D\n    not A, C: no sum\n    not E: far\n  m: C"
    )


def test_schedules_and_kernels_explain_themselves():
    s = tx.schedule(tx.op(PRODUCT), M=8, N=8, K=8)
    with pytest.raises(tx.ScheduleError, match="no default schedule was chosen"):
        s.explain()
    said = s.auto().explain()
    assert said.startswith(f"default schedule, {len(s.steps)} steps\n") and "\n  C: " in said
    kernel = s.compile()
    with tx.options(cache_dir=None):
        assert kernel.explain() == f"{kernel.certificate}\n{said}"
        by_hand = tx.schedule(tx.op(PRODUCT)).split("i", 4).compile()
        assert by_hand.explain() == str(by_hand.certificate)
