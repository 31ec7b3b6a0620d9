"""`python -m texpr tune FILE M=512 ...`: search for faster schedules by measuring."""

from __future__ import annotations

import argparse
from typing import Any

from texpr.tools.show import chosen_ops, options_of
from texpr.tune import tune as search
from texpr.tune.search import STRATEGIES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `tune`."""
    parser.add_argument("file", help="a .tx file")
    parser.add_argument("--op", help="which operator of the file; all of them unless given")
    parser.add_argument("--trials", type=int, default=64, help="schedules to measure (default: 64)")
    parser.add_argument("--strategy", choices=STRATEGIES, default="model", help="how to search (default: model)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for a trial (default: 20)")
    parser.add_argument("sizes", nargs="*", metavar="NAME=VALUE", help="all sizes; constants and dtype variables, such as M=512 S=2 T=f64")


def tune(arguments: argparse.Namespace) -> int:
    """Tune each operator, and print the schedule that was chosen."""
    ops = chosen_ops(arguments)
    for operator in ops:
        found = search(operator, trials=arguments.trials, strategy=arguments.strategy, seed=arguments.seed, timeout=arguments.timeout,
                       **dict[str, Any](options_of(arguments, operator, ops)))
        gain = found.default_seconds / found.seconds
        print(f"# {operator.__name__}: {found.seconds * 1e6:.1f} us, default {found.default_seconds * 1e6:.1f} us ({gain:.2f} times), "
              f"{len(found.trials)} trials")
        print(found.script, end="")
    return 0
