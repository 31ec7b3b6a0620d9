"""Calls of an operator inside JAX beside the same function of JAX: `python -m bench.jax_ops`, in an
environment with JAX.

Both are jitted. Each row is the least of many rounds in which the contestants take turns, from a
call on arrays of JAX to the end of the computation; no copies are counted, as none are made.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import texpr as tx
from bench.tables import seconds
from texpr.support.table import Table

SIZES = (1000, 1_000_000)
SILU = "op silu(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] / (1 + exp(-X[i])) }"


def contestants(size: int) -> dict[str, dict[str, Callable[[], object]]]:
    """Calls by what they compute, and by who computes it."""
    import jax

    x = jax.numpy.asarray(np.random.default_rng(0).normal(size=size).astype(np.float32))
    ours, theirs = tx.jax.op(tx.op(SILU)), jax.nn.silu
    functions = {"tx.jax.op": ours, "jax.nn": theirs}
    values = {name: jax.jit(f) for name, f in functions.items()}
    gradients = {name: jax.jit(jax.grad(lambda x, f=f: f(x).sum())) for name, f in functions.items()}
    calls = {"silu": {**values, "tx.jax.op, not jitted": ours}, "gradient of its sum": gradients}
    return {
        what: {name: lambda f=f: f(x).block_until_ready() for name, f in each.items()}
        for what, each in calls.items()
    }


def least(calls: dict[str, Callable[[], object]], rounds: int, repeats: int) -> dict[str, float]:
    """Seconds of a call of each."""
    found = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            found[name] = min(found[name], (time.perf_counter() - start) / repeats)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    rounds = parser.parse_args().rounds
    rows = []
    for size in SIZES:
        for what, calls in contestants(size).items():
            found = least(calls, rounds, 20 if size < 10_000 else 1)
            rows += [(f"{size:,}", what, name, seconds(t)) for name, t in found.items()]
    print(Table({"floats": ">", "what": "<", "who": "<", "a call": ">"}).text(rows))


if __name__ == "__main__":
    main()
