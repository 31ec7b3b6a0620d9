"""`python -m texpr`: the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from texpr import __version__
from texpr.support.errors import Error
from texpr.tools.arguments import add_commands

TOOLS = ("run", "show", "check", "trace", "view", "tune", "bench", "fuzz", "launch", "lsp", "cache", "doctor")
"""Modules of `texpr.tools`. They are imported when a command line is read: `doctor` and `--version`
work where a package that the others need is missing.
"""


def command_line(tools: Sequence[str] = TOOLS) -> argparse.ArgumentParser:
    """The tree of commands.

    Raises:
        ImportError: a package is missing that one of the tools needs.
    """
    parser = argparse.ArgumentParser(
        prog="texpr",
        description="Tensor operators as mathematics.",
        epilog="`texpr COMMAND --help` shows the arguments of a command.",
    )
    parser.add_argument(
        "--version", action="version", version=f"texpr {__version__}", help="print the version"
    )
    parser.set_defaults(parser=parser)
    commands = add_commands(parser)
    for tool in tools:
        import_module(f"texpr.tools.{tool}").add_parser(commands)
    return parser


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The commands that a command line may need."""
    first = next(iter(argv), "")
    return command_line({"doctor": ("doctor",), "launch": ("launch",), "--version": ()}.get(first, TOOLS))


def main(argv: list[str] | None = None) -> int:
    """Run a command; 0 if it went well, 1 if it was refused (the reason is on stderr), 2 if the
    arguments make no sense.
    """
    argv = sys.argv[1:] if argv is None else argv
    try:
        parser = _parser(argv)
    except ImportError as error:
        print(
            f"error[import]: {error}\n  help: `python -m texpr doctor` says what to install", file=sys.stderr
        )
        return 1
    # argparse takes the sizes only where they stand together; options may stand between them.
    arguments, sizes = parser.parse_known_args(argv)
    if sizes and (not hasattr(arguments, "sizes") or any(text.startswith("-") for text in sizes)):
        arguments.parser.error(f"unrecognized arguments: {' '.join(sizes)}")
    if sizes:
        arguments.sizes = [*arguments.sizes, *sizes]
    try:
        return arguments.run(arguments)
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:  # a reader such as `head` has seen enough; nothing more may be flushed at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
