"""The schedule builder: handles of loops, steps that are needed and steps that are tried."""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.autoschedule.core.builder import Refused, ScheduleBuilder
from texpr.autoschedule.core.decision import Decision
from texpr.autoschedule.core.handles import LoopHandle, copy_loop, handle, sum_loop
from texpr.autoschedule.core.nest import find_nests
from texpr.autoschedule.core.template import NoMatch, Stage, apply_first
from texpr.targets import find_target

PRODUCT = "op p(A: f32[32, 64], B: f32[64, 48]) -> C: f32[32, 48] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"


@pytest.fixture
def builder() -> ScheduleBuilder:
    return ScheduleBuilder(tx.schedule(tx.op(PRODUCT)).naive, find_target("x86-64-v3").machine)


def test_steps_are_recorded_by_the_names_of_handles(builder: ScheduleBuilder):
    (nest,) = find_nests(builder.kernel)
    i, j = nest.spatial
    outer, inner = builder.split(j, 16, tail="exact")
    assert (str(outer), str(inner)) == ("C.jo", "C.ji")
    builder.apply("reorder", i, outer, nest.reduction[0], inner)
    buffer = builder.new_buffer("cache_read", nest.accesses[2].tensor, outer)
    assert builder.loops(copy_loop(buffer, 0)) and not builder.loops(copy_loop(buffer, 2))
    assert [str(step) for step in builder.steps] == [
        'split("C.j", 16, tail="exact")',
        'reorder("C.i", "C.jo", "C.k", "C.ji")',
        'cache_read("B", "C.jo")',
    ]


def test_new_loops_have_names_of_their_own(builder: ScheduleBuilder):
    j = LoopHandle("C", "j")
    builder.apply("split", "C.i", 4, names=("jo", "x"))
    outer, _ = builder.split(j, 16, tail="exact")
    assert outer != LoopHandle("C", "jo") and builder.loop(outer) and builder.loop(LoopHandle("C", "jo"))


def test_loops_of_reductions_and_fused_ones(builder: ScheduleBuilder):
    _, inner = builder.split(LoopHandle("C", "k"), 8, tail="exact")
    builder.new_buffer("rfactor", inner, reassoc=True)
    assert builder.extents(sum_loop(inner)) == [8]
    both = builder.try_fuse(LoopHandle("C", "i"), LoopHandle("C", "j"), "ij")
    assert both is not None and builder.extents(both) == [32 * 48]


def test_a_step_that_is_needed_ends_the_work(builder: ScheduleBuilder):
    gone = LoopHandle("C", "gone")
    with pytest.raises(Refused, match="the step split was refused"):
        builder.split(gone, 4)
    with pytest.raises(Refused, match="the step reorder was refused"):
        builder.apply("reorder", gone, "C.i")
    with pytest.raises(Refused, match="cache_read"):
        builder.new_buffer("cache_read", "Z", gone)
    with pytest.raises(Refused, match="fuse"):
        builder.fuse(gone, LoopHandle("C", "j"), "x")
    with pytest.raises(Refused, match="split"):
        builder.split_longer(LoopHandle("C", "i"), 64)
    assert builder.try_split(gone, 4) is None and builder.try_new_buffer("cache_read", "Z", gone) is None
    assert builder.steps == []


def test_a_transaction_leaves_nothing_of_work_that_is_refused(builder: ScheduleBuilder):
    def work() -> LoopHandle:
        outer, _ = builder.split(LoopHandle("C", "i"), 4)
        builder.apply("vectorize", LoopHandle("C", "gone"))
        return outer

    assert builder.transaction(work) is None and builder.steps == []


def test_a_template_whose_step_is_refused_says_which():
    class Needs:
        name, stage = "Needs", Stage.NESTS

        def match(self, builder, subject):
            return subject

        def apply(self, builder, match):
            builder.split(match.spatial[0], 4)
            builder.apply("vectorize", LoopHandle("C", "gone"))
            return NoMatch("it does not come here")

    builder = ScheduleBuilder(tx.schedule(tx.op(PRODUCT)).naive, find_target("x86-64-v3").machine)
    (nest,) = find_nests(builder.kernel)
    assert handle(nest.spatial[0]) == LoopHandle("C", "i")
    assert apply_first(builder, (Needs(),), nest, "C") is None and builder.steps == []
    assert builder.decisions == [Decision("C", None, (("Needs", "the step vectorize was refused"),))]
