"""Says which innermost loops of the bench keep something on the stack:  python -m bench.inner [--targets NAME,...] [--rows REGEX]

For every row of `python -m bench.x86` and every target: how many innermost loops its default
schedule becomes, and how many of these load from or store to a fixed place of the stack, since
there were too few registers. Nothing runs: any machine can ask for all targets.
"""

from __future__ import annotations

import argparse
import re
import sys

from bench.inner.assembly import inner_loops, kept
from bench.inner.cases import cases
from texpr.support.errors import Error
from texpr.support.table import Table

TARGETS = ("x86-64-v3", "x86-64-v4", "native", "aarch64", "aarch64+sve", "a64fx", "armv7")


def main() -> int:
    """Print a table, then what was found; 1 if something was."""
    options = _parser().parse_args()
    targets = options.targets.split(",")
    chosen = [case for case in cases() if re.search(options.rows, case.name)]
    if not chosen:
        print(f"no row contains {options.rows!r}")
        return 2
    width = max(len(case.name) for case in chosen)
    table = Table(
        {"loops, of them with something on the stack": f"<{width}", **dict.fromkeys(targets, ">11")}
    )
    print(table.header())
    found: list[str] = []
    for case in chosen:
        cells = []
        for target in targets:
            try:
                loops = inner_loops(case.assembly(target))
            except Error as error:
                cells.append("failed")
                found.append(f"{case.name}, {target}: {str(error).splitlines()[0]}")
                continue
            crowded = [(len(loop), len(kept(loop))) for loop in loops if kept(loop)]
            cells.append(f"{len(loops)}, {len(crowded)}")
            found += [f"{case.name}, {target}: {n} of {of} instructions" for of, n in crowded]
        print(table.row(case.name, *cells), flush=True)
    print("\n".join(found))
    return int(bool(found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.inner", description=(__doc__ or "").partition(":")[0]
    )
    parser.add_argument(
        "--targets", default=",".join(TARGETS), metavar="NAME,...", help=f"default: {','.join(TARGETS)}"
    )
    parser.add_argument(
        "--rows",
        default="",
        metavar="REGEX",
        help="rows whose names, with their class, contain this (default: all)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
