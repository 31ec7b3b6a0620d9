"""`python -m texpr run FILE`: an operator on arrays from files, or on random ones."""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from texpr.compiler import Op, Schedule, interpret, schedule
from texpr.compiler.operator_signature import split_options
from texpr.schedule.legality.replay import random_inputs
from texpr.support.errors import CallError
from texpr.support.files import write_file
from texpr.tools.arguments import Commands, add_command, add_operator, add_seed, add_sizes
from texpr.tools.operator_selection import chosen_ops, options_of

MOST_SHOWN = 200
"""Elements of a result that is printed in full."""


def add_parser(commands: Commands) -> None:
    """Add the command `run`."""
    parser = add_command(
        commands,
        "run",
        run,
        "run operators on arrays from files, or on random ones, and print the results",
        [
            "texpr run ops.tx --op matmul M=4 N=3 K=5",
            "texpr run ops.tx --op scale X=x.npy by=2 --out results.npz",
        ],
    )
    add_operator(parser)
    parser.add_argument(
        "--interpret",
        action="store_true",
        help="compute the reference meaning, slowly, in place of compiled code",
    )
    add_seed(parser, "random inputs")
    parser.add_argument("--out", metavar="FILE", help="a .npz file for inputs and results")
    add_sizes(parser, "inputs: A=a.npy; sizes of random inputs, constants, dtype variables: M=512 S=2 T=f64")


def run(arguments: argparse.Namespace) -> int:
    """Run each operator, and print its results."""
    ops = chosen_ops(arguments)
    kept: dict[str, np.ndarray] = {}
    for operator in ops:
        arrays, constants = _call(operator, options_of(arguments, operator, ops), arguments.seed)
        results: Any = (partial(interpret, operator) if arguments.interpret else operator)(
            *arrays.values(), **constants
        )
        names = (p.name for p in operator.signature.outputs)
        outputs: dict[str, np.ndarray] = dict(
            zip(names, results if isinstance(results, tuple) else (results,))
        )
        for name, array in outputs.items():
            print(f"{name}: {array.dtype}{list(array.shape)}")
            print(np.array2string(array, threshold=MOST_SHOWN))
        prefix = f"{operator.__name__}." if len(ops) > 1 else ""
        kept |= {f"{prefix}{name}": array for name, array in (arrays | outputs).items()}
    if arguments.out:
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **kept)
        write_file(arguments.out, file.getvalue())
    return 0


def _call(operator: Op, options: dict[str, Any], seed: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Inputs by name, and constants.

    Raises:
        CallError: an input's file has no array, or sizes of random inputs are missing.
    """
    names = [p.name for p in operator.signature.inputs]
    read = {name: _read(str(options.pop(name))) for name in names if name in options}
    made = dict(_random(schedule(operator, **options), seed)) if len(read) < len(names) else {}
    return {name: read[name] if name in read else made[name] for name in names}, split_options(
        operator, options
    ).constants


def _random(scheduled: Schedule, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    program = scheduled.program
    missing = [v.name for v in program.sizes if v not in scheduled.sizes]
    if missing:
        raise CallError(
            f"random inputs of {program.name} need all sizes; missing: {', '.join(missing)}",
            code="arguments",
            help=f"write {missing[0]}=8, or inputs as files: {program.inputs[0].name}=file.npy",
        )
    return zip((t.name for t in program.inputs), random_inputs(program, scheduled.sizes, seed))


def _read(path: str) -> np.ndarray:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError):
        raise CallError(f"{path} holds no array", code="arguments", help="np.save writes arrays") from None
