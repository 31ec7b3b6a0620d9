"""`python -m texpr trace FILE`: what scheduled loops do, store by store."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from texpr.compiler import schedule
from texpr.ir.interpreter.loop import interpret_kernel, loops_around_stores
from texpr.ir.loop import Kernel, Store
from texpr.schedule.legality.replay import random_inputs
from texpr.support.errors import CallError
from texpr.tools.arguments import Commands, add_command, add_operator, add_schedule, add_seed, add_sizes
from texpr.tools.operator_selection import applied, chosen_ops, options_of


def add_parser(commands: Commands) -> None:
    """Add the command `trace`."""
    parser = add_command(
        commands,
        "trace",
        trace,
        "print what scheduled loops store, in their order, on random inputs",
        ["texpr trace ops.tx --op matmul M=3 N=1 K=2"],
    )
    add_operator(parser)
    add_schedule(parser)
    parser.add_argument("--naive", action="store_true", help="keep the loops of the operator, without auto()")
    parser.add_argument(
        "--limit",
        type=int,
        default=100,
        metavar="N",
        help="stores to print of each operator (default: %(default)s)",
    )
    add_seed(parser, "random inputs")
    add_sizes(parser, "all sizes, constants and dtype variables: M=512 S=2 T=f64")


def trace(arguments: argparse.Namespace) -> int:
    """Print in which order the loops of each operator store what, on random inputs of the sizes
    given.
    """
    ops = chosen_ops(arguments)
    for operator in ops:
        scheduled = schedule(operator, **options_of(arguments, operator, ops))
        if not arguments.naive:
            applied(scheduled, arguments.script, arguments.target)
        missing = [v.name for v in scheduled.kernel.sizes]
        if missing:
            raise CallError(
                f"a trace of {operator.__name__} needs all sizes; missing: {', '.join(missing)}",
                code="arguments",
                help=f"write {missing[0]}=4",
            )
        print(
            "\n".join([f"# {operator.__name__}", *_lines(scheduled.kernel, arguments.limit, arguments.seed)])
        )
    return 0


def _lines(kernel: Kernel, limit: int, seed: int) -> Iterator[str]:
    """A line per store, and how many there are beyond."""
    around, lines, count = loops_around_stores(kernel), list[str](), 0

    def watch(
        store: Store, loops: tuple[int, ...], element: tuple[int, ...], old: object, new: object
    ) -> None:
        nonlocal count
        count += 1
        if count <= limit:
            where = " ".join(f"{v.name}={k}" for v, k in zip(around[store], loops))
            before = f"{_number(old)} -> " if store.update is not None else ""
            at = f"[{', '.join(map(str, element))}]" if element else ""
            lines.append(f"{where:<28} {store.tensor.name}{at} = {before}{_number(new)}".lstrip())

    interpret_kernel(kernel, list(random_inputs(kernel, {}, seed)), {}, watch=watch)
    yield from lines
    if count > limit:
        yield f"... {count - limit:,} more stores; --limit {count} prints them all"


def _number(value: object) -> str:
    return f"{value:.7g}" if isinstance(value, float | np.floating) else str(value)
