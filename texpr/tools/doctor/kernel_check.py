"""Check of kernels: a product, compiled in a process of its own on one thread and on all, and
compared with NumPy and with the interpreter.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import texpr
from texpr.support.options import current
from texpr.support.spelling import counted
from texpr.tools.doctor.finding import Finding

if TYPE_CHECKING:
    import numpy as np

PRODUCT = "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
LARGE, SMALL = (192, 224, 160), (5, 7, 6)
"""Sizes M, N, K that are compared with NumPy, and with the interpreter."""
CHILD = (
    "import sys; sys.path.append(sys.argv[1])\n"
    "from texpr.tools.doctor.kernel_check import report; report(int(sys.argv[2]))"
)
"""Program of the process that runs the kernels. A fault of the machine code ends that process alone."""
_REPORT = "report this with the output of python -m texpr doctor --json"


def kernels(limit: float) -> Iterator[Finding]:
    """Check the product on one thread and on as many as the options say.

    Args:
        limit: seconds of each.
    """
    for threads in sorted({1, current().threads}):
        yield _finding(threads, limit)


def _finding(threads: int, limit: float) -> Finding:
    name, began = counted(threads, "thread"), time.perf_counter()
    problem, help = _answer(threads, limit)
    if problem:
        return Finding("kernels", name, "problem", problem, help)
    shown = "x".join(map(str, LARGE))
    value = f"product {shown} = NumPy's, interpreter's, {time.perf_counter() - began:.1f} s with imports"
    return Finding("kernels", name, "ok", value)


def _answer(threads: int, limit: float) -> tuple[str, str]:
    """A problem and a way out of it, both empty where the kernels are right."""
    command = [sys.executable, "-c", CHILD, str(Path(texpr.__file__).parents[1]), str(threads)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return f"no result after {limit:g} s", "where the machine is busy: --timeout SECONDS"
    except OSError as error:
        return f"{sys.executable}: {error.strerror}", "allow this process to start others"
    if done.returncode < 0:
        return f"the process ended with {_signal(-done.returncode)}", _REPORT
    try:
        problem = str(json.loads(done.stdout.splitlines()[-1])["problem"])
    except (IndexError, KeyError, TypeError, ValueError):
        lines = done.stderr.strip().splitlines()
        problem = lines[-1] if lines else f"the process ended with {done.returncode}"
    return problem, _REPORT if problem else ""


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def report(threads: int) -> None:
    """Print the problem of the product as a line of JSON, for the process that asks."""
    try:
        problem = compare(threads)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    print(json.dumps({"problem": problem}))


def compare(threads: int) -> str:
    """The first difference between the compiled product, NumPy's and the interpreter's; empty for
    none. Elements are small integers, so that all sums are exact in any order.
    """
    product = texpr.op(PRODUCT)
    with texpr.options(threads=threads, cache_dir=None, device="cpu"):
        for reference, sizes in (("NumPy", LARGE), ("the interpreter", SMALL)):
            A, B = _inputs(sizes)
            wanted = A @ B if reference == "NumPy" else texpr.interpret(product, A, B)
            if problem := _difference(product(A, B), wanted, reference):
                return problem
    return ""


def _inputs(sizes: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    import numpy as np

    M, N, K = sizes
    numbers = np.random.default_rng(0)
    return numbers.integers(-8, 9, (M, K)).astype("f4"), numbers.integers(-8, 9, (K, N)).astype("f4")


def _difference(found: np.ndarray, wanted: Any, reference: str) -> str:
    import numpy as np

    places = np.argwhere(np.asarray(found) != np.asarray(wanted))
    if not len(places):
        return ""
    i, j = map(int, places[0])
    count = f"{len(places)} of {wanted.size} elements differ"
    return f"C[{i}, {j}] is {found[i, j]:g}, by {reference} {wanted[i, j]:g} ({count})"
