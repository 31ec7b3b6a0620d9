"""A search whose trials run on the ranks of `mpi4py.futures`."""

from __future__ import annotations

import sys

from mpi4py.futures import MPIPoolExecutor

import texpr as tx

SUMS = "op sums(X: f32[M, N]) -> Y: f32[M] { T[i, j] = X[i, j] * 2  Y[i] = sum(j: T[i, j]) }"


def rows(s: tx.Schedule, tile: int) -> None:
    """A schedule to tune."""
    s.split("Y.i", tile)


if __name__ == "__main__":
    with MPIPoolExecutor() as executor, tx.options(cache_dir=sys.argv[1], threads=1):
        found = tx.tune(
            tx.op(SUMS),
            M=24,
            N=40,
            schedule=rows,
            space={"tile": [3, 6, 8]},
            executor=executor,
            progress=False,
        )
    assert [t.error for t in found.trials] == ["", "", ""], found.trials
    print("measured", len(found.trials))
