"""Arguments that commands share.

A help text is an imperative or a noun phrase with a small first letter and no full stop. Its
default stands at its end, in brackets.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from typing import Any

from texpr.support.errors import CallError

Commands = Any
"""Result of `ArgumentParser.add_subparsers`; its class is private."""


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[Namespace], int] | None,
    help: str,
    examples: Sequence[str] = (),
) -> ArgumentParser:
    """Add a command to a parser's commands.

    Args:
        run: gives the exit code; None for a command that has commands itself.
        help: for the list of commands, and for the command's own page.
        examples: lines that one could type, shown last.
    """
    parser = commands.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.",
        epilog="\n  ".join(["examples:", *examples]) if examples else None,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, parser=parser)
    return parser


def add_commands(parser: ArgumentParser, required: bool = True) -> Commands:
    """Let a parser have commands."""
    return parser.add_subparsers(title="commands", metavar="COMMAND", required=required)


def add_operator(parser: ArgumentParser) -> None:
    """A file, and which of its operators."""
    parser.add_argument("file", help="a .tx file")
    parser.add_argument("--op", metavar="NAME", help="one operator of the file (default: all)")


def add_schedule(parser: ArgumentParser) -> None:
    """Add options for the schedule of operators, and for the target."""
    parser.add_argument(
        "--target", default="native", help="the target to compile for (default: this machine)"
    )
    parser.add_argument(
        "--script", metavar="FILE", help="a file of steps to apply (default: the steps of auto())"
    )


def add_sizes(
    parser: ArgumentParser, what: str = "sizes, constants and dtype variables: M=512 S=2 T=f64"
) -> None:
    """Values by name."""
    parser.add_argument("sizes", nargs="*", metavar="NAME=VALUE", help=what)


def add_seed(parser: ArgumentParser, of: str) -> None:
    """The seed of a random choice."""
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help=f"the seed of {of} (default: %(default)s)"
    )


def add_library(parser: ArgumentParser) -> None:
    """A file of operators, or the library."""
    parser.add_argument("file", nargs="?", help="a .tx file (default: the operator library)")


def add_runs(parser: ArgumentParser) -> None:
    """The number of measurements."""
    parser.add_argument(
        "--runs",
        type=integer(1),
        default=5,
        metavar="N",
        help="runs to take the median of (default: %(default)s)",
    )


def add_part(parser: ArgumentParser) -> None:
    """A share of the work; `part_of_all` reads it."""
    parser.add_argument(
        "--part", default="1/1", metavar="K/N", help="try one of N equal parts (default: %(default)s)"
    )


def integer(least: int, most: int | None = None) -> Callable[[str], int]:
    """A reader of integers between bounds: the `type` of an argument.

    It raises ArgumentTypeError for another text.
    """
    expected = f"an integer of at least {least}" if most is None else f"an integer from {least} to {most}"

    def read(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = least - 1
        if found < least or (most is not None and found > most):
            raise ArgumentTypeError(f"{text}: expected {expected}")
        return found

    return read


def part_of_all(text: str) -> tuple[int, int]:
    """Read a share of the work: `2/5` is the second of five.

    Raises:
        CallError: it says something else.
    """
    found = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise CallError(f"--part {text}: expected a part of all, such as 1/3", code="arguments")
    return int(found[1]), int(found[2])
