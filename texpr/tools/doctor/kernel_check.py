"""Check of kernels: a product, compiled in a process of its own on one thread and on all, and
compared with NumPy and with the interpreter.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

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
    "from texpr.tools.doctor.kernel_check import report; report(map(int, sys.argv[2:]))"
)
"""Program of the process that runs the kernels. A fault of the machine code ends that process alone."""
_REPORT = "report this with the output of python -m texpr doctor --json"


class Answer(NamedTuple):
    """The problem of the product on a number of threads, empty for none; a way out of it; the
    seconds that the check took.
    """

    problem: str
    help: str
    seconds: float = 0.0


def kernels(limit: float) -> Iterator[Finding]:
    """Check the product on one thread and on as many as the options say.

    Imports take most of the time, so one process checks all numbers of threads. Those that it left
    open when it ended have another process.

    Args:
        limit: seconds of each.
    """
    left = sorted({1, current().threads})
    while left:
        answers = _answers(left, limit)
        yield from map(_finding, left, answers)
        left = left[len(answers) :]


def _finding(threads: int, answer: Answer) -> Finding:
    name = counted(threads, "thread")
    if answer.problem:
        return Finding("kernels", name, "problem", answer.problem, answer.help)
    shown = "x".join(map(str, LARGE))
    value = f"product {shown} = NumPy's, interpreter's, {answer.seconds:.1f} s"
    return Finding("kernels", name, "ok", value)


def _answers(threads: Sequence[int], limit: float) -> list[Answer]:
    """The answers of a process, in the order of the numbers of threads: one at least, fewer than
    were asked for where the process ended early.
    """
    command = [sys.executable, "-c", CHILD, str(Path(texpr.__file__).parents[1]), *map(str, threads)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit * len(threads), stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as ended:
        late = Answer(f"no result after {limit:g} s", "where the machine is busy: --timeout SECONDS")
        return _printed(_text(ended.stdout)) or [late]
    except OSError as error:
        return [Answer(f"{sys.executable}: {error.strerror}", "allow this process to start others")]
    return _printed(done.stdout) or [_ending(done)]


def _text(output: bytes | str | None) -> str:
    """The output of a process until its time was over: bytes, even where text was asked for."""
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


def _printed(output: str) -> list[Answer]:
    """The answers that a process printed, a line each."""
    found = []
    for line in output.splitlines():
        try:
            told = json.loads(line)
            problem, seconds = str(told["problem"]), float(told["seconds"])
        except (KeyError, TypeError, ValueError):
            continue
        found.append(Answer(problem, _REPORT, seconds))
    return found


def _ending(done: subprocess.CompletedProcess[str]) -> Answer:
    """The problem of a process that ended without an answer."""
    if done.returncode < 0:
        return Answer(f"the process ended with {_signal(-done.returncode)}", _REPORT)
    lines = done.stderr.strip().splitlines()
    return Answer(lines[-1] if lines else f"the process ended with {done.returncode}", _REPORT)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def report(numbers: Iterable[int]) -> None:
    """Print the problem of the product for each number of threads as a line of JSON, with its
    seconds, for the process that asks.
    """
    for threads in numbers:
        began = time.perf_counter()
        try:
            problem = compare(threads)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        print(json.dumps({"problem": problem, "seconds": time.perf_counter() - began}), flush=True)


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
