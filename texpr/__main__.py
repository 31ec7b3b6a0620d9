"""`python -m texpr`: run, show, check, trace, view, tune, bench, fuzz, cache, doctor."""

from __future__ import annotations

import argparse
import sys

from texpr.support.errors import Error
from texpr.tools import bench, cache, check, doctor, fuzz, run, show, trace, tune, view


def main(argv: list[str] | None = None) -> int:
    """Run a command; 0 if it went well, 1 if it was refused (the reason is on stderr), 2 if the arguments make no sense."""
    parser = argparse.ArgumentParser(prog="texpr", description="Tensor operators as mathematics.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, command, module in (("run", run.run, run), ("show", show.show, show), ("check", check.check, check),
                                  ("trace", trace.trace, trace), ("view", view.view, view), ("tune", tune.tune, tune),
                                  ("bench", bench.bench, bench), ("fuzz", fuzz.fuzz, fuzz), ("cache", cache.cache, cache),
                                  ("doctor", doctor.doctor, None)):
        added = commands.add_parser(name, help=(command.__doc__ or "").partition(".")[0].lower())
        if module is not None:
            module.add_arguments(added)
        added.set_defaults(run=command)
    # argparse takes the sizes only where they stand together; options may stand between them.
    arguments, sizes = parser.parse_known_args(argv)
    if sizes and (not hasattr(arguments, "sizes") or any(text.startswith("-") for text in sizes)):
        parser.error(f"unrecognized arguments: {' '.join(sizes)}")
    if sizes:
        arguments.sizes = [*arguments.sizes, *sizes]
    try:
        return arguments.run(arguments)
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
