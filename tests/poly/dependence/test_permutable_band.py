"""Bands whose loops stand in several places."""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.poly import permutable
from texpr.schedule.structure.loops import find_loops
from texpr.support.errors import ScheduleError

WAVE = "op wave(X: f32[N, M]) -> A: f32[N, M] { A[i, j] = A[i-1, j | 0] * 2 + A[i, j-1 | 0] + X[i, j] }"
AGAINST = "op against(X: f32[N, M]) -> A: f32[N, M] { A[i, j] = A[i-1, j+1 | 0] * 2 + X[i, j] }"


def band(s: tx.Schedule, *names: str) -> list[list[object]]:
    return [[n.var for n in find_loops(s.kernel, name)] for name in names]


def test_copies_that_need_only_what_stands_before_them_are_a_band():
    s = tx.schedule(tx.op(WAVE)).peel("i", 1, 1).peel("j", 1, 1)
    assert [len(loops) for loops in band(s, "i", "j")] == [3, 9]
    assert permutable(s.kernel, band(s, "i", "j"))
    s.tile("i", "j", sizes=(16, 8)).certificate()


def test_a_copy_that_a_later_one_feeds_is_in_none():
    """Row i + 1 needs, in the first columns, what row i writes in those after them; tiles would
    run the first columns of both first.
    """
    s = tx.schedule(tx.op(AGAINST)).peel("j", 2, 0)
    assert not permutable(s.kernel, band(s, "i", "j"))
    with pytest.raises(ScheduleError, match="reverses a dependence"):
        s.tile("i", "j", sizes=(4, 4))
