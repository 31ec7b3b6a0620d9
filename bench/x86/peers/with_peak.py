"""The machine itself: as many products and additions as a row has, of numbers that stay in
registers.

In turns with the libraries, as processors are slower when they are warm, and where others share
them: medians of both are compared.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

from bench.machine import instructions, products
from bench.x86.candidate import Candidate, Columns
from bench.x86.rows import Arrays, Row

KINDS = ("gemm", "gemm_batched")
LEAST = 1e9
"""Operations for each of several threads, below which the time in which they begin would count."""


def columns(threads: int) -> Columns:
    """One column."""
    pool = ThreadPoolExecutor(threads)
    return {"peak": dict.fromkeys(KINDS, partial(_peak, threads, pool))}


def version() -> str:
    """Which loop."""
    return "of registers"


def _peak(threads: int, pool: ThreadPoolExecutor, row: Row, _: Arrays) -> Candidate | None:
    if threads > 1 and row.flops < LEAST * threads:
        return None
    loop = products(instructions()[row.dtype])
    turns = max(1, round(row.flops / loop.operations / threads))

    def run() -> None:
        list(pool.map(loop.run, [turns] * threads))

    return Candidate(run if threads > 1 else partial(loop.run, turns), None)
