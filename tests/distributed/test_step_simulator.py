"""Laws of the model of networks, and steps whose time is known in closed form."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from texpr.distributed.step_simulator import (
    ALGORITHMS,
    Link,
    Message,
    Moment,
    Trace,
    allreduce_seconds,
    opening_seconds,
    predicted,
    simulate,
)

SECONDS = st.floats(0, 10, allow_subnormal=False)
MESSAGES = st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**4)), min_size=1, max_size=5)
WORLDS = st.integers(2, 2048)
LINKS = st.builds(Link, st.floats(0, 1e-3), st.floats(1e6, 1e12), st.floats(1e6, 1e12))
NAMES = st.sampled_from(["best", *ALGORITHMS])


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Steps that begin all messages, and then wait for some."""
    messages = [Message(f"bucket {k}", *sizes) for k, sizes in enumerate(draw(MESSAGES))]
    numbers = range(len(messages))
    waited = draw(st.lists(st.sampled_from(numbers), max_size=6))
    order = [(k, False) for k in numbers] + [(k, True) for k in waited]
    moments = [Moment(k, waits, draw(SECONDS)) for k, waits in order]
    return Trace(tuple(messages), tuple(moments), draw(st.floats(0.01, 10)))


def lasting(trace: Trace, ranks: int, link: Link, algorithm: str = "best") -> float:
    return trace.seconds / predicted(trace, ranks, link, algorithm)[0]


@given(traces(), WORLDS, NAMES)
def test_a_network_without_costs_costs_nothing(trace: Trace, ranks: int, algorithm: str):
    assert predicted(trace, ranks, Link(0, inf), algorithm)[0] == pytest.approx(1, rel=1e-12)


@given(traces(), LINKS)
def test_one_rank_waits_for_nobody(trace: Trace, link: Link):
    assert predicted(trace, 1, link)[0] == pytest.approx(1, rel=1e-12)


@given(traces(), WORLDS, LINKS, NAMES, st.floats(1, 100))
def test_worse_networks_and_larger_worlds_are_slower(
    trace: Trace, ranks: int, link: Link, algorithm: str, times: float
):
    here = lasting(trace, ranks, link, algorithm) * (1 - 1e-12)
    assert lasting(trace, ranks, replace(link, latency=link.latency * times), algorithm) >= here
    assert lasting(trace, ranks, replace(link, bandwidth=link.bandwidth / times), algorithm) >= here
    assert lasting(trace, ranks, replace(link, adding=link.adding / times), algorithm) >= here
    assert lasting(trace, ranks + 1, link, algorithm) >= here


@given(traces(), WORLDS, LINKS)
def test_the_best_algorithm_is_no_slower_than_any(trace: Trace, ranks: int, link: Link):
    each = [lasting(trace, ranks, link, name) for name in ALGORITHMS]
    assert lasting(trace, ranks, link) <= min(each) * (1 + 1e-12)


@given(traces(), WORLDS, LINKS)
def test_overlap_lies_between_computing_alone_and_one_after_the_other(trace: Trace, ranks: int, link: Link):
    def cost(size: int) -> float:
        return allreduce_seconds(ranks, size, link)

    (overlapped, _), (serial, reduced) = (
        simulate(trace, cost, ranks, overlaps=overlaps) for overlaps in (True, False)
    )
    total = sum(each.end - each.begin for each in reduced)
    assert trace.seconds <= overlapped * (1 + 1e-9) and overlapped <= serial * (1 + 1e-9)
    assert serial == pytest.approx(trace.seconds + total, rel=1e-9)


@given(traces(), WORLDS, LINKS)
def test_reductions_follow_each_other_and_are_waited_for(trace: Trace, ranks: int, link: Link):
    _, reduced = predicted(trace, ranks, link)
    assert [each.message for each in reduced] == list(trace.messages)
    assert all(each.ready <= each.begin <= each.end for each in reduced)
    assert all(a.end <= b.begin for a, b in zip(reduced, reduced[1:]))


def test_one_bucket_in_closed_form():
    """Backward for 3 s, the bucket is complete after 2, and the update takes half a second."""
    trace = Trace((Message("bucket 0", 1000),), (Moment(0, False, 2.0), Moment(0, True, 1.0)), 0.5)
    link = Link(0.25, 1000.0)
    taken = 2 * 0.25 + 2 * 3 / 4  # a ring of 4 would take 6 latencies, doubling 2 and the bytes twice
    assert allreduce_seconds(4, 1000, link, "halving") == pytest.approx(taken + 2 * 0.25)
    for cost in (0.5, 1.0, 1.5):
        seconds, _ = simulate(trace, lambda size, cost=cost: cost, 4)
        assert seconds == max(3.0, 2.0 + cost) + 0.5
    assert simulate(trace, lambda size: 1.5, 4, overlaps=False)[0] == 5.0
    assert simulate(trace, lambda size: 0.0, 4, opening=0.25)[0] == 3.75


def test_costs_are_those_of_the_source():
    p, n, link = 16, 1_000_000, Link(3e-6, 2e9, 5e9)
    a, b, c = link.latency, 1 / link.bandwidth, 1 / link.adding
    assert allreduce_seconds(p, n, link, "doubling") == pytest.approx(4 * (a + n * b + n * c))
    shared = (p - 1) / p * n
    assert allreduce_seconds(p, n, link, "ring") == pytest.approx(2 * 15 * a + 2 * shared * b + shared * c)
    assert allreduce_seconds(p, n, link, "halving") == pytest.approx(
        2 * log2(p) * a + 2 * shared * b + shared * c
    )
    assert allreduce_seconds(p, 8, link) == allreduce_seconds(p, 8, link, "doubling")
    assert allreduce_seconds(p, n, link) == allreduce_seconds(p, n, link, "halving")
    assert allreduce_seconds(1, n, link) == allreduce_seconds(p, 0, link) == opening_seconds(1, link) == 0
    assert opening_seconds(p, link) == pytest.approx(2 * 4 * a + 15 * (256 + 24) * b)


def test_rows_of_ranks_grow_with_the_world():
    assert Message("losses", 8, 64).bytes_of(1024) == 8 + 64 * 1024
