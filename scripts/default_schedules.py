"""Default schedules before and after a change of their code.

    python scripts/default_schedules.py record FILE [--part 1/4]
    python scripts/default_schedules.py compare BEFORE AFTER

Programs: the operators of `tests/autoschedule/test_registry.py`, products and convolutions, each on
every target; the library with its first gradients at two sizes and without, and random operators,
each on some targets. To record the state before, run the script of this commit with `PYTHONPATH` on
a worktree of that commit.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, count, islice
from pathlib import Path
from random import Random
from typing import NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[1]))  # behind PYTHONPATH

from tests.autoschedule.test_registry import CASES
from texpr.autoschedule.driver import choose
from texpr.compiler.imports import library_files
from texpr.compiler.op import load, op
from texpr.compiler.schedule import Schedule, schedule
from texpr.ir.machine import Machine
from texpr.support.progress import progress
from texpr.targets import find_target
from texpr.tools.arguments import part_of_all
from texpr.tools.bench import coverage

TARGETS = (
    "x86-64-v2 x86-64-v3 x86-64-v4 x86-64-v4+amx aarch64 aarch64+dotprod aarch64+i8mm aarch64+sve armv7 "
    "sm_80 sm_90a"
).split()
SECONDS = 20
"""Wall-clock time of a schedule; what takes longer is not compared."""
RANDOM = 150
"""Random operators."""
SIZES = (33, 520)
"""Sizes of operators of the library, beside symbolic ones."""
PRODUCTS = ((1, 64, 64), (5, 16, 64), (17, 33, 65), (128, 128, 128), (300, 200, 100), (1024, 64, 2048))
DTYPES = (("f32", "f32"), ("bf16", "f32"), ("f16", "f32"), ("i8", "i32"), ("f64", "f64"))
CONVOLUTIONS = ((1, 3, 32, 16, 3, 1), (2, 16, 28, 32, 3, 1), (1, 8, 14, 64, 1, 1), (1, 3, 64, 32, 7, 2))
"""Images, channels, side, filters, side of the filter, stride."""


class _Case(NamedTuple):
    key: str
    schedule: Schedule
    machine: Machine


class _TooLong(Exception):
    """A schedule takes longer than `SECONDS`."""


def machines() -> dict[str, Machine]:
    """The machines of the targets, with caches and cores that are the same everywhere."""
    found = {name: find_target(name).machine for name in TARGETS}
    caches = 32 << 10, 1 << 20, 32 << 20
    return {n: m if m.gpu_threads else replace(m, cores=4, caches=caches) for n, m in found.items()}


def cases() -> Iterator[_Case]:
    """All of them, in an order that is the same everywhere."""
    found = machines()
    for name, made in chain(_registered(), _products(), _convolutions()):
        for target, machine in found.items():
            yield _Case(f"{name} {target}", made, machine)
    for k, (name, made) in enumerate(chain(_library(), _random())):
        target = TARGETS[2 * k % len(TARGETS)]
        yield _Case(f"{name} {target}", made, found[target])


def _registered() -> Iterator[tuple[str, Schedule]]:
    for name, case in CASES.items():
        yield name, case.schedule()


def _products() -> Iterator[tuple[str, Schedule]]:
    for of, to in DTYPES:
        for m, k, n in PRODUCTS:
            for b in ("B[k, j]", "B[j, k]"):
                shape = f"{k}, {n}" if b == "B[k, j]" else f"{n}, {k}"
                text = (
                    f"op product(A: {of}[{m}, {k}], B: {of}[{shape}]) -> C: {to}[{m}, {n}] "
                    f"{{ C[i, j] = sum(k: {to}(A[i, k]) * {to}({b})) }}"
                )
                yield f"product {of} {m} {k} {n} {b}", schedule(op(text))


def _convolutions() -> Iterator[tuple[str, Schedule]]:
    for n, c, side, filters, k, stride in CONVOLUTIONS:
        pad = k // 2
        to = (side + 2 * pad - k) // stride + 1
        text = (
            f"op convolution(X: f32[{n}, {c}, {side}, {side}], W: f32[{filters}, {c}, {k}, {k}]) "
            f"-> Y: f32[{n}, {filters}, {to}, {to}] {{ Y[b, f, y, x] = sum(c in 0..{c}, p, q in 0..{k}: "
            f"X[b, c, y*{stride} + p - {pad}, x*{stride} + q - {pad} | 0] * W[f, c, p, q]) }}"
        )
        yield f"convolution {n} {c} {side} {filters} {k} {stride}", schedule(op(text))


def _library() -> Iterator[tuple[str, Schedule]]:
    operators = [
        (path.stem, each) for path in library_files() for each in vars(load(path, prove=False)).values()
    ]
    for file, operator in operators:
        for program in coverage.with_gradients(operator, 1):
            for size in SIZES:
                for sizes in islice(coverage.fitting(program, size), 1):
                    yield f"{file}.{program.name} {size}", Schedule(program, sizes)
            yield f"{file}.{program.name} symbolic", Schedule(program, {})


def _random() -> Iterator[tuple[str, Schedule]]:
    random = Random(5)
    found = filter(None, (coverage.drawn(random) for _ in count()))
    for number, (program, sizes) in enumerate(islice(found, RANDOM)):
        yield f"random {number}", Schedule(program, sizes)


def steps(case: _Case) -> list[str] | None:
    """The steps of a default schedule; None where it takes too long."""
    signal.alarm(SECONDS)
    try:
        return [str(step) for step in choose(case.schedule.naive, case.machine).steps]
    except _TooLong:
        return None
    finally:
        signal.alarm(0)


def _stop(*_: object) -> None:
    raise _TooLong


def record(file: Path, part: str) -> int:
    """Write the steps of a part of the cases."""
    signal.signal(signal.SIGALRM, _stop)
    k, parts = part_of_all(part)
    found = {case.key: steps(case) for case in progress(islice(cases(), k - 1, None, parts), "schedules")}
    file.write_text(json.dumps(found, indent=0), encoding="utf-8")
    late = sum(each is None for each in found.values())
    print(f"{len(found)} default schedules, {late} of them took more than {SECONDS} s")
    return 0


def compare(before: Path, after: Path) -> int:
    """Print the first step of each schedule that differs."""
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after))
    both = [key for key in old if old[key] is not None and new.get(key) is not None]
    different = [key for key in both if old[key] != new[key]]
    for key in different:
        k = next((k for k, (a, b) in enumerate(zip(old[key], new[key])) if a != b), None)
        print(key, "other length" if k is None else f"step {k}: {old[key][k]} | {new[key][k]}")
    print(f"{len(both)} compared, {len(different)} differ; {len(old) - len(both)} not compared")
    return int(bool(different))


def main(arguments: list[str]) -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True)
    add = commands.add_parser("record")
    add.add_argument("file", type=Path)
    add.add_argument("--part", default="1/1")
    add.set_defaults(run=lambda found: record(found.file, found.part))
    add = commands.add_parser("compare")
    add.add_argument("before", type=Path)
    add.add_argument("after", type=Path)
    add.set_defaults(run=lambda found: compare(found.before, found.after))
    found = parser.parse_args(arguments)
    return found.run(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
