"""Compare functions of f32, as compiled for this machine, with f64 for every one of the 2^32
numbers.

    python scripts/check_ulp.py [function...]

The reference is the compiled f64 function, whose bound `tests/passes/math` keeps (sin and cos:
NumPy's, which are right for every f32). Prints the largest error in ulp, where it is, and how many
results have the wrong sign or are NaN on one side only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from texpr.compiler import op, schedule
from texpr.passes.math import EXPANSIONS, SPECIAL

CHUNK = 1 << 22


def compiled(name: str, dtype: str, lanes: int) -> Callable[[np.ndarray], np.ndarray]:
    steps = schedule(op(f"op f(x: {dtype}[N]) -> y: {dtype}[N] {{ y[i] = {name}(x[i]) }}"), N=CHUNK)
    return steps.split("i", lanes).vectorize("ii").compile()  # type: ignore[return-value]


def errors(got: np.ndarray, want: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Errors in ulp, and which results are of the wrong kind."""
    near = want.astype(np.float32)
    unit = np.spacing(np.minimum(np.abs(near), np.finfo(np.float32).max)).astype(np.float64)
    error = np.abs(got.astype(np.float64) - want) / unit
    same = (got == near) & np.isinf(near) | np.isnan(near)
    wrong = (np.isnan(near) != np.isnan(got)) | (
        (got == 0) & (near == 0) & (np.signbit(got) != np.signbit(near))
    )
    return np.where(same, 0, error), wrong


def check(name: str) -> None:
    single = compiled(name, "f32", 16)
    exact = getattr(np, name) if name in ("sin", "cos") else compiled(name, "f64", 8)
    worst, place, count = 0.0, 0.0, 0
    for start in range(0, 1 << 32, CHUNK):
        x = np.arange(start, start + CHUNK, dtype=np.uint32).view(np.float32)
        error, wrong = errors(single(x), exact(x.astype(np.float64)))
        k = int(np.argmax(error))
        if error[k] > worst:
            worst, place = float(error[k]), float(x[k])
        count += int(wrong.sum())
    print(f"{name:8} {worst:.3f} ulp at {place!r}, {count} of the wrong kind", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "functions",
        nargs="*",
        default=[*EXPANSIONS, *SPECIAL],
        metavar="function",
        help="default: all of them",
    )
    with np.errstate(all="ignore"):
        for function in parser.parse_args().functions:
            check(function)
