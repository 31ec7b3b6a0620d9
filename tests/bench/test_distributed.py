"""The workers of `bench.distributed` in a world of one."""

from __future__ import annotations

from bench import distributed


def test_numbers_of_one_rank():
    found = distributed.training("digits-mlp", 1)
    assert set(found) == {"alone", "together", "buckets"} and all(t > 0 for t in found.values())
    assert distributed.allreduce(1) == {"texpr": 0.0, "mpi4py": 0.0}
