"""`python -m texpr bench`: how long import, reading, proving, compiling and calling take, against what was promised."""

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
from texpr.tools import calling, compiling, proofs
from texpr.tools.certificates import bench_certificates
from texpr.tools.coverage import bench_coverage
from texpr.tools.gradients import bench_gradients
from texpr.tools.targets import bench_targets

BARS = {"import texpr": 250.0, "import and first use": 250.0, "first operator": 60.0, "grammar": 10.0, "parse and elaborate": 5.0,
        "proofs": 20.0}
"""Milliseconds of processor time, which is what passes on a machine that does nothing else; the last two per operator."""
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
from texpr.tools.bench import measured
measured({"import texpr": imported - start, "import and first use": used - start, "first operator": read - used}, sys.argv[1])
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench`."""
    what = ("frontend", "proofs", "certificates", "coverage", "compile", "calls", "grad", "targets", "onnx", "saving")
    parser.add_argument("what", choices=what, help="what to measure")
    parser.add_argument("file", nargs="?", help="a .tx file (default: the operator library)")
    parser.add_argument("--targets", help="of `targets`: names with commas between (default: a list of CPUs and GPUs)")
    parser.add_argument("--load", metavar="FILE", help="of `targets`: a Python file that registers targets")
    parser.add_argument("--part", default="1/1", help="a part of what `targets`, `coverage`, `onnx` and `saving` try: 2/5 (default: 1/1)")
    parser.add_argument("--gradients", type=int, default=2, help="of `coverage`: the highest order of gradients (default: 2)")
    parser.add_argument("--random", type=int, default=0, help="of `coverage`: so many random operators in place of a file")
    parser.add_argument("--seed", type=int, default=0, help="of `coverage`: of the random operators (default: 0)")
    parser.add_argument("--runs", type=int, default=5, help="runs to take the median of (default: 5)")


def bench(arguments: argparse.Namespace) -> int:
    """Print what something costs: reading (`frontend`), proofs of schedules, certificates, compiling, calling kernels, gradients; count the
    default schedules that are certified (`coverage`); or run all operators on all `targets`, the node tests of ONNX, or all operators as
    models in ONNX (`saving`).
    """
    if arguments.what == "targets":
        return bench_targets(arguments)
    if arguments.what in ("onnx", "saving"):
        return _of_models(arguments)
    if arguments.what == "grad":
        return bench_gradients(max(1, arguments.runs))
    if arguments.what == "certificates":
        return bench_certificates(arguments)
    if arguments.what == "coverage":
        return bench_coverage(arguments)
    if arguments.what in ("compile", "calls"):
        made = compiling.lines(max(1, arguments.runs)) if arguments.what == "compile" else calling.lines(max(1, arguments.runs))
        for line in made:
            print(line, flush=True)
        return 0
    if arguments.what == "proofs":
        found = []
        for cost in proofs.costs(max(1, arguments.runs)):
            print(_row(f"{cost.name:<72}{cost.whole:8.2f} ms   check", cost.check, cost.bar, width=88), flush=True)
            found.append(cost)
        print(proofs.summary(found))
        return 0
    runs = _runs([sys.executable, "-c", _CHILD, arguments.file or ""], max(1, arguments.runs))
    if not runs:
        return 1
    for name, bar in BARS.items():
        values = [median(run[name].values()) if isinstance(run[name], dict) else run[name] for run in runs]
        print(_row(name, median(values), bar))
        if isinstance(runs[0][name], dict):
            each = {op: median(run[name][op] for run in runs) for op in runs[0][name]}
            slowest = sorted(each, key=lambda op: -each[op])[:5]
            print("\n".join(_row(f"  {op}", each[op], bar) for op in slowest))
    return 0


def _of_models(arguments: argparse.Namespace) -> int:
    # Other commands start without networks.
    from texpr.tools.onnx_cases import bench_onnx
    from texpr.tools.onnx_saving import bench_saving

    return bench_onnx(arguments) if arguments.what == "onnx" else bench_saving(arguments)


def _runs(command: list[str], count: int) -> list[dict]:
    """What the children measured; nothing if one failed. The first one fills the cache of bytecode, which an installed package has."""
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


def _row(name: str, milliseconds: float, bar: float, width: int = 24) -> str:
    return f"{name:<{width}}{milliseconds:8.2f} ms   bar {bar:5.0f} ms{'' if milliseconds <= bar else '   over'}"


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
