"""`python -m texpr bench scaling`: the efficiency of data-parallel training on networks of other
sizes than this machine has, on paper.

A step of one rank is measured here, with the moments at which its plan has buckets of gradients
complete and waits for them. The rest is a model of latency and bandwidth
(`texpr.distributed.step_simulator`). `--measure` tries the model on ranks of this machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from argparse import SUPPRESS, ArgumentTypeError, Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from texpr import distributed
from texpr.distributed.step_simulator import (
    ALGORITHMS,
    Cost,
    Link,
    Message,
    Moment,
    Reduced,
    Trace,
    predicted,
    simulate,
)
from texpr.runtime import host
from texpr.support.errors import CallError
from texpr.support.late import late
from texpr.support.options import options
from texpr.support.table import Table
from texpr.tools.arguments import Commands, add_command, integer
from texpr.tools.bench.own_networks import OwnNetwork
from texpr.tools.bench.scaling_networks import NETWORKS
from texpr.tools.units import duration, rate, said_rate, said_time

if TYPE_CHECKING:
    from texpr.tools.bench import traced_steps
else:
    traced_steps = late("texpr.tools.bench.traced_steps")

_MB = 1e6
_LIMIT = 600.0
"""Seconds that the ranks of a measurement may take."""
_SMALL, _ADDED = 64, 1 << 20
"""Bytes of an allreduce that is latency alone; numbers that are added to measure a rate."""
_BUCKETS = Table(
    {
        "network": "<11",
        "reduced": "<17",
        "MB": ">7.3f",
        "ready, ms": ">9.3f",
        "begin, ms": ">9.3f",
        "end, ms": ">9.3f",
    }
)
_MEASURED = Table(
    {
        "network": "<11",
        "ranks": ">5",
        "predicted, ms": ">9.2f",
        "measured, ms": ">9.2f",
        "ratio": ">5.2f",
        "share predicted": ">6.2f",
        "share measured": ">6.2f",
    }
)


def add_parser(commands: Commands) -> None:
    """Add the command `bench scaling`."""
    parser = add_command(
        commands,
        "scaling",
        bench_scaling,
        "predict the efficiency of data-parallel training on many ranks",
        [
            "texpr bench scaling --ranks 1024 --latency 2us --bandwidth 12GB/s",
            "texpr bench scaling --measure 2",
        ],
    )
    parser.add_argument(
        "--ranks",
        type=integer(2, 1 << 20),
        default=1024,
        metavar="N",
        help="the largest world (default: %(default)s)",
    )
    parser.add_argument(
        "--latency", type=duration, default=2e-6, metavar="TIME", help="of a message (default: 2us)"
    )
    parser.add_argument(
        "--bandwidth", type=rate, default=12e9, metavar="RATE", help="of a rank (default: 12GB/s)"
    )
    parser.add_argument(
        "--adding", type=rate, metavar="RATE", help="at which a rank adds up (default: measured here)"
    )
    parser.add_argument(
        "--algorithm",
        choices=["best", *ALGORITHMS],
        default="best",
        help="of an allreduce (default: the best for each size)",
    )
    parser.add_argument(
        "--bucket-cap-mb",
        type=_megabytes,
        default=25.0,
        metavar="MB",
        help="size of buckets, as Trainer has it (default: %(default)g)",
    )
    parser.add_argument("--only", default="", metavar="NAMES", help=f"some of {','.join(NETWORKS)}")
    parser.add_argument(
        "--network",
        action="append",
        default=[],
        metavar="FILE.py:FUNCTION",
        help="predict this one: what the function gives is a model, a loss, an optimizer, a batch of data "
        "and its targets; may be given several times",
    )
    parser.add_argument(
        "--rounds", type=integer(1), default=20, metavar="N", help="steps to take medians of (default: 20)"
    )
    parser.add_argument(
        "--measure",
        type=_worlds,
        default=(),
        metavar="N,N",
        help="start worlds of so many ranks here, a core each, and compare with the model",
    )
    parser.add_argument("--worker", action="store_true", help=SUPPRESS)


def bench_scaling(arguments: Namespace) -> int:
    """Print tables: efficiencies, reductions of the largest world, and worlds that were measured."""
    networks = _networks(arguments)
    if arguments.worker:
        return _work(networks, arguments)
    if arguments.measure:
        options(threads=1)
    cap, rounds = arguments.bucket_cap_mb, arguments.rounds
    traces = {name: traced_steps.traced(each, cap, rounds) for name, each in networks.items()}
    link = Link(arguments.latency, arguments.bandwidth, arguments.adding or _adding_rate())
    print(
        f"latency {said_time(link.latency)}, bandwidth {said_rate(link.bandwidth)}, adding "
        f"{said_rate(link.adding)}, allreduce: {arguments.algorithm}\n"
    )
    _print_efficiencies(traces, link, arguments)
    print(f"\nReductions of {arguments.ranks} ranks:\n\n{_BUCKETS.header()}")
    for name, trace in traces.items():
        for each in predicted(trace, arguments.ranks, link, arguments.algorithm)[1]:
            print(_BUCKETS.row(name, each.message.name, *_row(each, arguments.ranks)))
    if arguments.measure:
        _print_measured(traces, arguments)
    return 0


def _row(each: Reduced, ranks: int) -> tuple[float, ...]:
    return each.message.bytes_of(ranks) / _MB, each.ready * 1e3, each.begin * 1e3, each.end * 1e3


def _print_efficiencies(traces: dict[str, Trace], link: Link, arguments: Namespace) -> None:
    """A row per network: the share of N times one rank's rate."""
    worlds = worlds_up_to(arguments.ranks)
    table = Table({"network": "<11", "step, ms": ">8.2f", **{str(n): ">5.3f" for n in worlds}})
    print(f"Efficiency of N ranks, the share of N times the rate of one rank:\n\n{table.header()}")
    for name, trace in traces.items():
        found = [predicted(trace, n, link, arguments.algorithm)[0] for n in worlds]
        print(table.row(name, trace.seconds * 1e3, *found))


def worlds_up_to(ranks: int) -> list[int]:
    """Powers of two from 2, and the largest world."""
    powers = [1 << k for k in range(1, ranks.bit_length()) if 1 << k < ranks]
    return [*powers, ranks]


def _print_measured(traces: dict[str, Trace], arguments: Namespace) -> None:
    """A row per network and world: the model, with what an allreduce takes here, beside the truth.

    Kernels count as they are while all ranks compute, each for itself: ranks share caches, memory,
    and cores where there are fewer. A rank here has one core, which computes or reduces.
    """
    print(f"\nRanks of this machine, which has {host.cores()} cores:\n\n{_MEASURED.header()}")
    for ranks in arguments.measure:
        found = _on_ranks(ranks, arguments)
        for name in traces:
            taken, trace = found["taken"][name], _trace_of(found["traces"][name])
            guess, _ = simulate(trace, _cost_of(found), ranks, opening=found["opening"], overlaps=False)
            alone = traces[name].seconds
            row = (guess * 1e3, taken * 1e3, taken / guess, alone / guess, alone / taken)
            print(_MEASURED.row(name, ranks, *row), flush=True)


def _cost_of(found: dict[str, Any]) -> Cost:
    """Seconds of an allreduce: those of few bytes, and more for each byte."""
    slope = max(0.0, found["large"] - found["small"]) / found["bytes"]
    return lambda size: found["small"] + slope * size


def _trace_of(record: dict[str, Any]) -> Trace:
    return Trace(
        tuple(Message(*each) for each in record["messages"]),
        tuple(Moment(*each) for each in record["moments"]),
        record["rest"],
    )


def _record(trace: Trace) -> dict[str, Any]:
    return {
        "messages": [(m.name, m.size, m.per_rank) for m in trace.messages],
        "moments": [(m.message, m.waits, m.seconds) for m in trace.moments],
        "rest": trace.rest,
    }


def _on_ranks(ranks: int, arguments: Namespace) -> dict[str, Any]:
    """The measurements of the ranks of a world here."""
    command = [sys.executable, "-m", "texpr", "launch", "-n", str(ranks), "--threads", "1"]
    command += ["--oversubscribe", "--allow-root", "-m", "texpr", "bench", "scaling", "--worker"]
    command += ["--only", arguments.only, "--rounds", str(arguments.rounds)]
    command += [word for place in arguments.network for word in ("--network", place)]
    command += ["--bucket-cap-mb", str(arguments.bucket_cap_mb)]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        raise CallError(
            f"{ranks} ranks have not ended within {_LIMIT:g} s", code="launch", help="fewer --rounds"
        ) from None
    if found.returncode:
        raise CallError(
            f"{ranks} ranks ended with status {found.returncode}",
            code="launch",
            notes=found.stderr.strip().splitlines()[-3:],
        )
    return json.loads(found.stdout.splitlines()[-1])


def _work(networks: Mapping[str, traced_steps.Network], arguments: Namespace) -> int:
    """Measure on a rank; rank 0 prints a line of JSON."""
    comm, rounds, timed = distributed.init(), arguments.rounds, traced_steps.timed
    small, large = np.zeros(_SMALL // 4, np.float32), np.zeros(_ADDED, np.float32)
    found: dict[str, Any] = {
        "opening": timed(lambda: comm.allgather(np.zeros((1, 3), np.int64)), comm, rounds),
        "small": timed(lambda: comm.thread.submit(small).wait(), comm, rounds),
        "large": timed(lambda: comm.thread.submit(large).wait(), comm, rounds),
        "bytes": large.nbytes,
        "traces": {},
        "taken": {},
    }
    cap = arguments.bucket_cap_mb
    for name, network in networks.items():
        trace, found["taken"][name] = traced_steps.compared(network, cap, rounds, comm)
        found["traces"][name] = _record(trace)
    if comm.is_main:
        print(json.dumps(found), flush=True)
    return 0


def _adding_rate() -> float:
    """Bytes per second that one core adds up, of buffers that lie in no cache."""
    total, more = np.zeros(_ADDED, np.float32), np.ones(_ADDED, np.float32)
    times = []
    for _ in range(9):
        start = time.perf_counter()
        np.add(total, more, out=total)
        times.append(time.perf_counter() - start)
    return total.nbytes / float(np.median(times))


def _networks(arguments: Namespace) -> dict[str, traced_steps.Network]:
    """The networks of the user, and those of `--only`; unless there are any, all of the command."""
    own: dict[str, OwnNetwork] = {}
    for place in arguments.network:
        network = OwnNetwork(place)
        if network.name in own or network.name in NETWORKS:
            raise network.error(f"another one is called `{network.name}`")
        own[network.name] = network
    names = [n for n in arguments.only.split(",") if n] or ([] if own else list(NETWORKS))
    for name in names:
        if name not in NETWORKS:
            raise CallError(f"--only {name}: expected some of {', '.join(NETWORKS)}", code="arguments")
    return {**own, **{name: NETWORKS[name] for name in names}}


def _worlds(text: str) -> tuple[int, ...]:
    return tuple(map(integer(2, 64), text.split(",")))


def _megabytes(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise ArgumentTypeError(f"{text}: expected megabytes above 0")
    return found
