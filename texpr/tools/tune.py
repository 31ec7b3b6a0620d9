"""`python -m texpr tune FILE M=512 ...`: search for faster schedules by measuring."""

from __future__ import annotations

import argparse
from typing import Any

from texpr.tools.arguments import Commands, add_command, add_operator, add_seed, add_sizes
from texpr.tools.operator_selection import chosen_ops, options_of
from texpr.tune import tune as search
from texpr.tune.search import STRATEGIES


def add_parser(commands: Commands) -> None:
    """Add the command `tune`."""
    parser = add_command(
        commands,
        "tune",
        tune,
        "search for faster schedules by measuring, and print the one that was chosen",
        ["texpr tune ops.tx --op matmul M=512 N=512 K=512"],
    )
    add_operator(parser)
    parser.add_argument(
        "--trials", type=int, default=64, metavar="N", help="schedules to measure (default: %(default)s)"
    )
    parser.add_argument(
        "--strategy", choices=STRATEGIES, default="model", help="the kind of search (default: %(default)s)"
    )
    add_seed(parser, "the search")
    parser.add_argument(
        "--timeout",
        type=float,
        default=20.0,
        metavar="SECONDS",
        help="seconds for a trial (default: %(default)g)",
    )
    add_sizes(parser, "all sizes; constants and dtype variables: M=512 S=2 T=f64")


def tune(arguments: argparse.Namespace) -> int:
    """Tune each operator, and print the schedule that was chosen."""
    ops = chosen_ops(arguments)
    for operator in ops:
        found = search(
            operator,
            trials=arguments.trials,
            strategy=arguments.strategy,
            seed=arguments.seed,
            timeout=arguments.timeout,
            **dict[str, Any](options_of(arguments, operator, ops)),
        )
        gain = found.default_seconds / found.seconds
        print(
            f"# {operator.__name__}: {found.seconds * 1e6:.1f} us, default {found.default_seconds * 1e6:.1f} "
            f"us ({gain:.2f} times), "
            f"{len(found.trials)} trials"
        )
        print(found.script, end="")
    return 0
