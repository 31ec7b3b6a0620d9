"""Runs the benchmarks of the site and writes their pages, with the machine and the date.

    python scripts/benchmarks.py [PAGE...]
    python scripts/benchmarks.py --quick [PAGE...]     # does each command work? into build/benchmarks

Peers stand in the environment that `make bench-peers` makes. Run it on a machine without other work.
A page is written once all of its commands have ended well. `--quick` runs each command on its
smallest settings: the figures mean nothing, and the site keeps its pages.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from texpr.runtime import host

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "benchmarks"


class Page(NamedTuple):
    """A page: its title, a sentence or two, and the arguments of Python for each table."""

    title: str
    opening: str
    commands: tuple[str, ...]
    quick: str
    """More arguments, for the least that each command can do."""

    def arguments(self, quick: bool) -> tuple[str, ...]:
        """The arguments of each command."""
        return tuple(f"{each} {self.quick}" for each in self.commands) if quick else self.commands


FOUND = {
    "first": Page(
        "An operator and its gradient",
        "RMS norm of the first page and its derived gradient, beside other libraries, on one thread.",
        ("-m bench.x86 --threads 1 --only norm",),
        "--rows rms_norm --libraries texpr,numpy --budget 0.5",
    ),
    "kernels": Page(
        "Kernels beside other libraries",
        "Operators by their default schedules. A ratio is the time of the best peer over that of texpr.",
        ("-m bench.x86 --threads 1 --budget 4",),
        "--only memory --libraries texpr,numpy --budget 0.1",
    ),
    "training": Page(
        "Training steps beside PyTorch and JAX",
        "One step: forward pass, gradients, optimizer. PyTorch runs eagerly and compiled.",
        ("-m bench.train --threads 1",),
        "--only digits-mlp --libraries texpr,torch --budget 0.5",
    ),
    "models": Page(
        "Networks beside ONNX Runtime",
        "Networks of torchvision and transformers, with random weights, at batch 1.",
        ("-m bench.models --threads 2 --batches 1 --libraries texpr,onnxruntime",),
        "--only squeezenet1_1 --budget 0.5",
    ),
    "polybench": Page(
        "PolyBench beside C",
        "30 loop nests beside the same loops in C, compiled by gcc with `-O3 -march=native -ffast-math`.",
        ("-m bench.polybench --threads 1",),
        "--only gesummv --dataset mini --budget 0.5",
    ),
    "costs": Page(
        "Costs of calls, proofs and compilation",
        "Times of texpr alone, beside the bars that the project holds itself to.",
        tuple(
            f"-m texpr bench {name}" for name in ("calls", "plans", "compile", "frontend", "proofs", "grad")
        ),
        "--runs 1",
    ),
}


def written(page: Page, quick: bool = False) -> str:
    """The page, after its commands have run.

    Raises:
        SystemExit: a command failed.
    """
    today = datetime.date.today().isoformat()
    head = (
        f"# {page.title}\n\n{page.opening}\n\nWritten by `make benchmarks` on {today}, on {host.cpu_name()} "
        f"({host.cores()} cores), Python {sys.version.split()[0]}.\n"
    )
    return "\n".join(
        [head, *(f"```sh\npython {c}\n```\n\n```output\n{_output(c)}\n```\n" for c in page.arguments(quick))]
    )


QUOTED = ("texpr", "jax", "compile", "torch", "numpy")
"""Columns of the table in the README."""


def quoted(output: str) -> list[str]:
    """The rows of the README's table: times of RMS norm and of its gradient, from the table of `first`."""
    lines = output.splitlines()
    titles = re.split(r"\s{2,}", next(line for line in lines if re.match(r"norm\s+numpy", line)))
    found = []
    for name, said in (("rms_norm", "RMS norm"), ("gradient of rms_norm", "its gradient")):
        cells = re.split(r"\s{2,}", next(line for line in lines if line.startswith(f"{name} 4096x1024 ")))
        times = [dict(zip(titles, cells))[column] for column in QUOTED]
        found.append(f"| {said} | {' | '.join(times)} |")
    return found


def quote_in_readme(page: str) -> None:
    """Write the rows of the README's table anew."""
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    for row in quoted(page):
        start = row[: row.index("|", 2) + 1]
        text = re.sub(rf"^{re.escape(start)}.*$", row, text, flags=re.MULTILINE)
    path.write_text(text, encoding="utf-8")


def _output(command: str) -> str:
    print(f"python {command}", file=sys.stderr, flush=True)
    ran = subprocess.run(
        [sys.executable, *shlex.split(command)],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        text=True,
    )
    if ran.returncode not in (0, 1):  # 1: a bar is missed, which the table says
        raise SystemExit(f"python {command} ended with {ran.returncode}")
    return ran.stdout.strip("\n")


def main() -> None:
    """Write the pages that are named, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"default: all of {', '.join(FOUND)}")
    parser.add_argument("--quick", action="store_true", help="smallest settings, into build/benchmarks")
    given = parser.parse_args()
    names = given.pages or list(FOUND)
    if unknown := [name for name in names if name not in FOUND]:
        parser.error(f"no page {unknown[0]!r}; pages: {', '.join(FOUND)}")
    folder = ROOT / "build" / "benchmarks" if given.quick else PAGES
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        start = time.perf_counter()
        text = written(FOUND[name], given.quick)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
        if name == "first" and not given.quick:
            quote_in_readme(text)


if __name__ == "__main__":
    main()
