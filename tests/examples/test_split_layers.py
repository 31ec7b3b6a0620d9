"""Layers that are split over ranks, on ranks that are threads; MPI's are in `tests/distributed`."""

from __future__ import annotations

import pytest

from examples import split_layers
from tests.distributed.thread_world import run_ranks


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_split_layers_equal_the_whole_ones(ranks: int):
    found = run_ranks(ranks, split_layers.worst_difference, timeout=60)
    assert all(not isinstance(each, Exception) for each in found), found
    assert all(worst <= split_layers.BOUND for worst, _ in found)
    assert all(losses == found[0][1] for _, losses in found)
