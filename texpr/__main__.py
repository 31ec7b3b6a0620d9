"""`python -m texpr`: the command line."""

from __future__ import annotations

import argparse
import os
import sys

from texpr.support.errors import Error
from texpr.tools import bench, cache, check, doctor, fuzz, run, show, trace, tune, view
from texpr.tools.arguments import add_commands

TOOLS = (run, show, check, trace, view, tune, bench, fuzz, cache, doctor)


def command_line() -> argparse.ArgumentParser:
    """The tree of commands."""
    parser = argparse.ArgumentParser(
        prog="texpr",
        description="Tensor operators as mathematics.",
        epilog="`texpr COMMAND --help` shows the arguments of a command.",
    )
    parser.set_defaults(parser=parser)
    commands = add_commands(parser)
    for tool in TOOLS:
        tool.add_parser(commands)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run a command; 0 if it went well, 1 if it was refused (the reason is on stderr), 2 if the
    arguments make no sense.
    """
    # argparse takes the sizes only where they stand together; options may stand between them.
    arguments, sizes = command_line().parse_known_args(argv)
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
