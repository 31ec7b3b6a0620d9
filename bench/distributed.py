"""Training on ranks beside one process, and an allreduce beside mpi4py's.

Each rank has one core. `python -m bench.distributed` starts the ranks by `texpr launch`; each runs
this file again with the name of what it measures.

Kept by hand: benchmarks of one process know no ranks that wait for each other.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

ROOT = Path(__file__).parents[1]
NETS = ("cnn", "transformer")
BAR, COST_BAR, ALLREDUCE_BAR, MB = 0.85, 0.02, 1.1, 25
"""The share of N times one rank's rate; what one rank costs; times mpi4py's time; of a buffer."""
RUNS = 3
"""Runs of one rank and of several, of which medians count."""


def timed(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each, in turns, so that other load of the machine meets all: all ranks
    make equally many rounds, after three others.

    A round begins as soon as the one before has ended, so waiting for slower ranks counts.
    """
    times: dict[str, list[float]] = {column: [] for column in runs}
    for k in range(rounds + 3):
        for column, run in runs.items():
            start = time.perf_counter()
            run()
            times[column] += [time.perf_counter() - start] if k >= 3 else []
    return {column: median(each) * 1e3 for column, each in times.items()}


def training(name: str, rounds: int) -> dict[str, float]:
    """Milliseconds of a step on one batch as `Trainer` makes it with a communicator. Where there is one
    rank, also without one, and with the buckets that several ranks have, which are sent nowhere.
    """
    from bench.train.modules import module
    from bench.train.nets import NETS as ALL
    from texpr import distributed as dist
    from texpr import nn
    from texpr.nn.training.data_parallel.parallel_step import ParallelStep
    from texpr.tools.bench.traced_steps import on_batch

    comm, net = dist.init(), ALL[name]
    x, y = net.batch()

    def parts() -> tuple[nn.Module, nn.Loss, nn.optim.Optimizer]:
        model = module(nn, net)
        for parameter, value in zip(model.parameters(), (v for each in net.weights() for v in each)):
            parameter.data = value
        kind = {"sgd": nn.optim.SGD, "adam": nn.optim.Adam, "adamw": nn.optim.AdamW}[net.optimizer]
        return model, nn.CrossEntropyLoss(), kind(model.parameters(), lr=net.rate)

    def made(step: nn.TrainingStep) -> Callable[[], object]:
        return on_batch(step, x, y) if isinstance(step, ParallelStep) else lambda: step(x, y)

    runs = {"together": made(nn.Trainer(*parts(), comm=comm).step)}
    if comm.size == 1:
        runs["alone"] = made(nn.Trainer(*parts()).step)
        runs["buckets"] = made(ParallelStep(*parts(), comm))
    return timed(runs, rounds)


def allreduce(rounds: int) -> dict[str, float]:
    """Milliseconds of an allreduce of 25 MB by texpr and by mpi4py."""
    from texpr import distributed as dist

    comm, buffer = dist.init(), np.ones(MB * 2**20 // 4, np.float32)
    if comm.size == 1:
        return {"texpr": 0.0, "mpi4py": 0.0}
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    runs: dict[str, Callable[[], object]] = {
        "texpr": lambda: comm.thread.submit(buffer).wait(),
        "mpi4py": lambda: world.Allreduce(MPI.IN_PLACE, buffer),
    }
    times: dict[str, list[float]] = {column: [] for column in runs}
    for k in range(rounds + 3):
        for column, run in runs.items():
            buffer[:] = 1
            world.Barrier()
            start = time.perf_counter()
            run()
            times[column] += [time.perf_counter() - start] if k >= 3 else []
    return {column: median(each) * 1e3 for column, each in times.items()}


def on_ranks(ranks: int, what: str, rounds: int) -> dict[str, float]:
    """The numbers of rank 0, of some ranks on a core each."""
    command = [sys.executable, "-m", "texpr", "launch", "-n", str(ranks), "--threads", "1", "--allow-root"]
    worker = ["-m", "bench.distributed", "--worker", what, "--rounds", str(rounds)]
    found = subprocess.run([*command, *worker], cwd=ROOT, capture_output=True, text=True, timeout=600)
    if found.returncode:
        raise SystemExit(found.stderr)
    return json.loads(found.stdout.splitlines()[-1])


def work(what: str, rounds: int) -> None:
    """Measure on a rank; rank 0 prints a line of JSON."""
    from texpr import distributed as dist

    found = allreduce(rounds) if what == "allreduce" else training(what, rounds)
    if dist.init().is_main:
        print(json.dumps(found), flush=True)


def network_row(name: str, ranks: int, rounds: int) -> str:
    """A line of the table: medians of some runs of one rank and of several, in turns."""
    runs = [(on_ranks(1, name, rounds), on_ranks(ranks, name, rounds)) for _ in range(RUNS)]
    alone, one = (median(first[column] for first, _ in runs) for column in ("alone", "together"))
    several = median(last["together"] for _, last in runs)
    cost, buckets = (
        median(first[column] / first["alone"] for first, _ in runs) - 1 for column in ("together", "buckets")
    )
    share = median(first["alone"] / last["together"] for first, last in runs)
    return (
        f"| {name} | {alone:.2f} | {one:.2f} | {cost:+.1%}, bar {COST_BAR:.0%} | {buckets:+.1%} "
        f"| {several:.2f} | {share:.2f}, bar {BAR} |"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=50, help="steps, or allreduces, of each measurement")
    parser.add_argument("--only", default="", help="networks, or allreduce, with commas between them")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker, options.rounds)
        return
    wanted = [n for n in options.only.split(",") if n] or [*NETS, "allreduce"]
    ranks = options.ranks
    columns = "network | no ranks, ms | one rank, ms | cost | its buckets would cost"
    print(f"| {columns} | {ranks} ranks, ms | share of {ranks} times |")
    print("|---|---|---|---|---|---|---|")
    for name in (n for n in wanted if n in NETS):
        print(network_row(name, ranks, options.rounds), flush=True)
    if "allreduce" in wanted:
        found = on_ranks(ranks, "allreduce", options.rounds)
        times = found["texpr"] / found["mpi4py"]
        print(
            f"\nallreduce of {MB} MB: {found['texpr']:.2f} ms, {times:.2f} times mpi4py's, bar {ALLREDUCE_BAR}"
        )


if __name__ == "__main__":
    main()
