"""`python -m texpr bench saving`: the operators of the library as models in ONNX, run by another
runtime.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from texpr.ir.dtypes import readable
from texpr.ir.tensor import Program
from texpr.onnx.model_errors import UnsupportedOp
from texpr.onnx.model_export import save
from texpr.support.errors import Error
from texpr.tools.arguments import part_of_all
from texpr.tools.bench.targets import TOLERANCE, cases_of, expected_of


def bench_saving(arguments: argparse.Namespace) -> int:
    """Save every operator and gradient of the library, run the models, print how many are right and
    why others are not saved.

    Returns:
        1 if a model gives other results than the interpreter.
    """
    name, runtime = find_runtime()
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    wrong = []
    for operator, program, sizes, is_gradient in cases_of(None, part_of_all(arguments.part)):
        try:
            given, expected = expected_of(program, sizes)
        except Error:
            continue
        if not given:
            continue
        kind = "gradients" if is_gradient else "operators"
        try:
            problem = difference(program, given, expected, runtime)
        except UnsupportedOp as error:
            reasons.update(note.split(": ")[1] for note in error.notes)
            counts[f"{kind} that ONNX lacks parts of"] += 1
            continue
        counts[f"{kind} {'wrong' if problem else 'right'}"] += 1
        wrong += [f"{operator}: {problem}"] if problem else []
    print(*wrong, sep="\n")
    print(f"run by {name}:", ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts)))
    print("not in ONNX:", ", ".join(f"{what} ({n})" for what, n in reasons.most_common()))
    return int(bool(wrong))


Runtime = Callable[[Path, dict[str, np.ndarray]], Sequence[Any]]


def find_runtime() -> tuple[str, Runtime]:
    """onnxruntime where it is installed, else the reference of the library onnx; with its name."""
    try:
        import onnxruntime
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        return "onnx.reference", lambda path, given: list(ReferenceEvaluator(str(path)).run(None, given))

    def run(path: Path, given: dict[str, np.ndarray]) -> Sequence[Any]:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(
            None, given
        )

    return "onnxruntime", run


def difference(
    program: Program, given: Sequence[np.ndarray], expected: Sequence[np.ndarray], runtime: Runtime
) -> str:
    """Differences in the results of a program's model; empty if there is none.

    Raises:
        UnsupportedOp: ONNX has no operators for it.
    """
    names = [f"in{k}" for k in range(len(given))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        save(
            lambda *xs: xs[0].capture.call(program, xs),
            path,
            tuple(given),
            inputs=names,
            outputs=[f"out{k}" for k in range(len(expected))],
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = runtime(path, {n: np.asarray(x) for n, x in zip(names, given)})
    for output, y, stored in zip(program.outputs, found, expected, strict=True):
        wanted, y = readable(stored, output.dtype), np.asarray(y)
        if (y.dtype, y.shape) != (wanted.dtype, wanted.shape):
            return f"`{output.name}` is {y.dtype}{list(y.shape)}, expected {wanted.dtype}{list(wanted.shape)}"
        bound = 10 * TOLERANCE[min(output.dtype.bits, 64)] if output.dtype.is_float else 0
        if not np.allclose(
            y.astype(np.float64), wanted.astype(np.float64), rtol=bound, atol=bound, equal_nan=True
        ):
            return f"`{output.name}` is off by {np.nanmax(np.abs(y.astype(np.float64) - wanted)):.2g}"
    return ""
