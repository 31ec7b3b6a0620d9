"""`python -m texpr bench certificates`: how long the certificates of operators take, and what
they say.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from statistics import mean, median

from texpr.compiler import Op, Schedule, load
from texpr.compiler.imports import library_files
from texpr.ir.expr import Var
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Program
from texpr.poly.certificate import Certificate
from texpr.support.errors import Error
from texpr.support.table import Table
from texpr.tools.arguments import Commands, add_command, add_library

SIZE = 16
MOST_TRIES = 8


_TABLE = Table({"operator": "<28", "ms": ">7.1f", "questions": ">9", "rounding": "<"})


def add_parser(commands: Commands) -> None:
    """Add the command `bench certificates`."""
    parser = add_command(
        commands,
        "certificates",
        bench_certificates,
        "certify the default schedules of operators, in processor time",
    )
    add_library(parser)


def bench_certificates(arguments: argparse.Namespace) -> int:
    """Print a row per operator after `auto()`: milliseconds of processor time, questions, and what
    is said of rounding.

    Returns:
        1 if a kernel is not proven.
    """
    refused = 0
    times: list[float] = []
    print(_TABLE.header())
    for path in [Path(arguments.file)] if arguments.file else library_files():
        for name, op in vars(load(path)).items():
            try:
                schedule = scheduled(op)
            except Error as e:
                print(_TABLE.row(name, None, None, f"not scheduled: {str(e).splitlines()[0]}"))
                continue
            if schedule is None:
                print(_TABLE.row(name, None, None, "no small sizes meet its requirements"))
                continue
            start = time.process_time()
            try:
                certificate = schedule.certificate()
            except Error as e:
                refused += 1
                print(_TABLE.row(name, None, None, f"REFUSED: {str(e).splitlines()[0]}"))
                continue
            times.append((time.process_time() - start) * 1e3)
            print(_row(name, times[-1], certificate))
    if times:
        print(
            f"{len(times)} proven, {refused} refused; median {median(times):.1f} ms, mean {mean(times):.1f} "
            f"ms, most {max(times):.1f} ms"
        )
    return int(refused > 0)


def _row(name: str, milliseconds: float, certificate: Certificate) -> str:
    return _TABLE.row(
        name, milliseconds, sum(asked for asked, _ in certificate.obligations.values()), certificate.rounding
    )


def scheduled(op: Op) -> Schedule | None:
    """The default schedule of an operator with usual dtypes, small constants and sizes; None
    where none of the sizes tried will do.
    """
    program, sizes = small(op)
    return None if sizes is None else Schedule(program, sizes).auto()


def small(op: Op, size: int = SIZE) -> tuple[Program, dict[Var, int] | None]:
    """A program of an operator, with usual dtypes and small constants, and sizes for it, if some
    that are tried will do.
    """
    program = usual(op)
    tried = islice(sizes_like(program, size), MOST_TRIES)
    return program, next((s for s in tried if all(evaluate_size(r, s) for r in program.requires)), None)


def usual(op: Op) -> Program:
    """A program of an operator, with usual dtypes and small constants."""
    axes = {a.constant for a in op.signature.axes}
    return op.program(
        {},
        {c.name: 1 if c.name in axes else 4 for c in op.signature.constants if c.required or c.name in axes},
    )


def sizes_like(program: Program, size: int) -> Iterator[dict[Var, int]]:
    """All sizes alike first, then in some variety."""
    for k in count():
        yield {v: size * (1 + k // 2) + (7 * p * k) % 5 for p, v in enumerate(program.sizes)}
