"""`python -m texpr bench coverage`: how many default schedules are certified, over operators,
their gradients and several sizes.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random

from texpr import autodiff
from texpr.compiler import Op, Schedule, load, op
from texpr.compiler.fallback import DefaultSchedule, find_fallback
from texpr.compiler.imports import library_files
from texpr.compiler.pass_pipeline import certificate
from texpr.ir.expr import Var
from texpr.ir.printing.tensor import show_program
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Program
from texpr.support.errors import CertificateError, Error
from texpr.support.progress import bar
from texpr.tools.arguments import Commands, add_command, add_library, add_part, add_seed, part_of_all
from texpr.tools.bench.certificates import MOST_TRIES, sizes_like, usual
from texpr.tools.fuzz.random_operators import operator_text

SIZES = (1, 2, 7, 33, 520)
"""Extents: one, two, below a vector, above a vector, above a tile of the second cache."""
FALLBACK_BAR = 0.001
"""Largest share of default schedules that may be left for a plainer one."""


def add_parser(commands: Commands) -> None:
    """Add the command `bench coverage`."""
    parser = add_command(
        commands,
        "coverage",
        bench_coverage,
        "count the default schedules that are certified",
        ["texpr bench coverage ops.tx --gradients 1", "texpr bench coverage --random 1000 --part 1/10"],
    )
    add_library(parser)
    parser.add_argument(
        "--gradients",
        type=int,
        default=2,
        metavar="N",
        help="the highest order of gradients (default: %(default)s)",
    )
    parser.add_argument(
        "--random", type=int, default=0, metavar="N", help="try N random operators in place of a file"
    )
    add_seed(parser, "the random operators")
    add_part(parser)


def bench_coverage(arguments: argparse.Namespace) -> int:
    """Certify default schedules and print each one that is not certified, with its reason (and its
    text, if it is random), and the counts.

    Returns:
        1 if a program has no certified schedule at all, or more than 0.1 % have only a plainer one.
    """
    counts: Counter[str] = Counter()
    programs = _random(arguments) if arguments.random else _written(arguments)
    shown = bar(unit=" kernels", mininterval=1.0)
    for program, sizes in programs:
        outcome, reason = _outcome(program, sizes)
        counts[outcome] += 1
        if outcome != "certified":
            at = ", ".join(f"{v.name}={n}" for v, n in sizes.items())
            print(f"{outcome}: {program.name} ({at}): {reason}", flush=True)
            if arguments.random:
                print(show_program(program), flush=True)
        if shown is not None:
            shown.update(1)
    total = sum(counts.values())
    print(f"{total} default schedules: " + ", ".join(f"{n} {outcome}" for outcome, n in counts.most_common()))
    return int(counts["uncertified"] + counts["refused"] > 0 or counts["plainer"] > FALLBACK_BAR * total)


def _written(arguments: argparse.Namespace) -> Iterator[tuple[Program, dict[Var, int]]]:
    """Programs of files with their gradients, up to the order asked for, at each size."""
    paths = [Path(arguments.file)] if arguments.file else library_files()
    operators = [each for path in paths for each in vars(load(path, prove=False)).values()]
    for operator in operators[_part(arguments)]:
        for program in with_gradients(operator, arguments.gradients):
            for size in SIZES:
                sizes = next(fitting(program, size), None)
                if sizes is not None:
                    yield program, sizes
            yield program, {}


def with_gradients(operator: Op, order: int) -> Iterator[Program]:
    """The program of an operator, and its gradients up to an order, as far as there are some."""
    try:
        program = usual(operator)
        yield program
        for _ in range(order):
            program = autodiff.grad(program)
            yield program
    except Error:
        return  # no gradient


def fitting(program: Program, size: int) -> Iterator[dict[Var, int]]:
    """Sizes near to one that the program accepts."""
    for sizes in islice(sizes_like(program, size), MOST_TRIES):
        if all(evaluate_size(r, sizes) for r in program.requires):
            yield sizes


def _random(arguments: argparse.Namespace) -> Iterator[tuple[Program, dict[Var, int]]]:
    """Random operators at random sizes, a quarter of them symbolic."""
    for number in range(arguments.random)[_part(arguments)]:
        random, found = Random(f"{arguments.seed}:{number}"), None
        while found is None:
            found = drawn(random)
        yield found


def drawn(random: Random) -> tuple[Program, dict[Var, int]] | None:
    """An operator and its sizes; None where text or sizes are refused."""
    try:
        program = op(operator_text(random)).program()
    except Error:
        return None
    if random.random() < 0.25:
        return program, {}
    sizes = {v: random.choice((0, 1, 1, 2, 3, 7, 16, 33, 64, 100, 129, 520)) for v in program.sizes}
    return (program, sizes) if all(evaluate_size(r, sizes) for r in program.requires) else None


def _part(arguments: argparse.Namespace) -> slice:
    part, parts = part_of_all(arguments.part)
    return slice(part - 1, None, parts)


def _outcome(program: Program, sizes: dict[Var, int]) -> tuple[str, str]:
    """`certified`, `plainer`, `uncertified` or `refused`, and the reason."""
    try:
        schedule = Schedule(program, sizes).auto()
        schedule.certificate()
    except CertificateError as error:
        default = DefaultSchedule(lambda: schedule.steps, lambda: schedule.naive)
        found = find_fallback(
            program.name, default, error, lambda kernel: certificate(kernel, program, sizes)
        )
        return ("uncertified" if found is None else "plainer"), _summary(error)
    except Error as error:
        return "refused", str(error).splitlines()[0]
    return "certified", ""


def _summary(error: CertificateError) -> str:
    lines: Sequence[str] = str(error).splitlines()
    return f"{error.message} | {lines[2].strip()[:200] if len(lines) > 2 else ''}"
