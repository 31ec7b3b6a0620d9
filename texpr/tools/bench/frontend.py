"""`python -m texpr bench frontend`: times of import, grammar, reading and proving beside their
bars.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from texpr.compiler.imports import library_files
from texpr.ir.dtypes import F32, I32
from texpr.ir.tensor import Program
from texpr.lang import OpDeclaration, parse
from texpr.lang.elaboration.elaborate import unproven
from texpr.lang.syntax import parser
from texpr.poly import check_program
from texpr.support.errors import Error
from texpr.support.table import Table
from texpr.tools.arguments import Commands, add_command, add_library, add_runs
from texpr.tools.bench.bars import verdict

BARS = {
    "import texpr": 250.0,
    "import and first use": 250.0,
    "first operator": 60.0,
    "grammar": 10.0,
    "parse and elaborate": 5.0,
    "proofs": 20.0,
}
"""Milliseconds of processor time, which is what passes on a machine that does nothing else; the
last two per operator.
"""
# The imports are timed before this module is there to be imported.
_CHILD = """
import sys, time
start = time.process_time()
import texpr
imported = time.process_time()
texpr.op
used = time.process_time()
texpr.op("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }")
read = time.process_time()
from texpr.tools.bench.frontend import measured
measured({"import texpr": imported - start, "import and first use": used - start, "first operator": read - used}, sys.argv[1])
"""


def add_parser(commands: Commands) -> None:
    """Add the command `bench frontend`."""
    parser = add_command(
        commands, "frontend", bench_frontend, "time importing, reading and proving, in processor time"
    )
    add_library(parser)
    add_runs(parser)


_TABLE = Table({"front end": "<24", "ms": ">8.2f", "bar": ">5.0f", "": "<"})


def bench_frontend(arguments: argparse.Namespace) -> int:
    """Print a row per stage, and the slowest operators of those that are measured per operator.

    Returns:
        1 if a file cannot be read.
    """
    runs = _runs([sys.executable, "-c", _CHILD, arguments.file or ""], arguments.runs)
    if not runs:
        return 1
    print(_TABLE.header())
    for name, bar in BARS.items():
        values = [median(run[name].values()) if isinstance(run[name], dict) else run[name] for run in runs]
        print(_row(name, median(values), bar))
        if isinstance(runs[0][name], dict):
            each = {op: median(run[name][op] for run in runs) for op in runs[0][name]}
            slowest = sorted(each, key=lambda op: -each[op])[:5]
            print("\n".join(_row(f"  {op}", each[op], bar) for op in slowest))
    return 0


def _runs(command: list[str], count: int) -> list[dict]:
    """Measurements of the children; nothing if one failed. The first one fills the cache of
    bytecode, which an installed package has.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        for _ in range(count + 1):
            child = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            if child.returncode:
                print(child.stderr, file=sys.stderr)
                return []
            found.append(json.loads(child.stdout))
    return found[1:]


def _row(name: str, milliseconds: float, bar: float) -> str:
    return _TABLE.row(name, milliseconds, bar, verdict(milliseconds, bar))


def measured(seconds: dict[str, float], file: str) -> None:
    """Runs in a child: add what reading and proving take, and print all as JSON in milliseconds."""
    found: dict[str, object] = {name: s * 1e3 for name, s in seconds.items()}
    parser.load.cache_clear()
    _, found["grammar"] = _timed(parser.load)
    # Whichever operator comes then would pay for a collection of all that the imports made.
    gc.collect()
    gc.freeze()
    reading: dict[str, float] = {}
    proving: dict[str, float] = {}
    for path in [Path(file)] if file else library_files():
        module, parsing = _timed(lambda path=path: parse(path.read_text(encoding="utf-8"), str(path)))
        for name, op in module.ops.items():
            program, elaborating = _timed(lambda op=op: _program(op))
            if program is not None:
                reading[name] = parsing / len(module.ops) + elaborating
                _, proving[name] = _timed(lambda program=program: check_program(program))
    print(json.dumps(found | {"parse and elaborate": reading, "proofs": proving}))


def _timed(make: Callable[[], object]) -> tuple:
    start = time.process_time()
    made = make()
    return made, (time.process_time() - start) * 1e3


def _program(op: OpDeclaration) -> Program | None:
    """An instance with usual types and small constants; None where there is none."""
    types = {v.name: I32 if v.kind == "int" else F32 for v in op.type_variables}
    try:
        return unproven(op, types, {c.name: 4 for c in op.constants if c.required})
    except Error:
        return None
