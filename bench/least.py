"""The least that is expected of speeds, as ratios: `python -m bench.least` exits with 1 where one
is missed. No test asserts times.

Each row compares two ways of this package, or one with a bound that a busy machine keeps.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
import timeit
from collections.abc import Callable

import numpy as np

import texpr as tx
from tests.autoschedule.derivatives.test_derive import SCHEDULES, arrays_for, derived
from tests.runtime.emulator.test_fibers import emulated, matmul
from tests.runtime.kernels import slow
from tests.targets.cases import problem
from texpr.runtime.call.spec import DistinctCheck
from texpr.support.table import Table

PRODUCT = "op product(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
ADD = "op add(A: f32[N], B: f32[N]) -> C: f32[N] { C[i] = A[i] + B[i] }"


def main() -> int:
    """Prints the table; 1 if a bar is missed."""
    rows = [row() for row in ROWS]
    table = Table({"what": "<", "found": ">.3g", "bar": ">"})
    print(table.text((what, found, f"{'>' if more else '<'} {bar:g}") for what, found, bar, more in rows))
    missed = [what for what, found, bar, more in rows if (found < bar if more else found > bar)]
    print("\n".join(f"missed: {what}" for what in missed) or "all bars are kept")
    return int(bool(missed))


Row = tuple[str, float, float, bool]
"""What, the figure found, its bar, whether more is better."""


def default_product() -> Row:
    """A product of 512 by its default schedule and by its naive nest."""
    n = 512
    a, b = np.random.default_rng(0).standard_normal((2, n, n), dtype=np.float32)
    schedules = [tx.schedule(tx.op(PRODUCT), M=n, N=n, K=n) for _ in range(2)]
    naive, fast = schedules[0].compile(), schedules[1].auto().compile()
    return (
        "default schedule of a product, times as fast as the naive nest",
        least(naive, a, b) / least(fast, a, b),
        10,
        True,
    )


def derivatives() -> Row:
    """Schedules that follow from those of operators, and naive nests of the same gradients; the
    worst of them. Not the convolution: lanes of its rows become lanes of the three columns of a
    filter.
    """
    ratios = []
    with tx.options(threads=1):
        for name in (n for n in SCHEDULES if n != "conv2d"):
            operator, constants, *_, sizes = SCHEDULES[name]
            arrays = arrays_for(schedule := derived(name), sizes)
            ratios.append(
                least(tx.schedule(tx.grad(operator), **constants).compile(), *arrays)
                / least(schedule.compile(), *arrays)
            )
    return "derived schedules of gradients, times as fast as naive nests, the worst", min(ratios), 1, True


def distinct() -> Row:
    """The check that a million elements differ, and sorting them."""
    p = np.random.default_rng(0).permutation(1 << 20).astype(np.int32)
    check = DistinctCheck(0, "p", p.size)
    return (
        "check of distinct elements, times as fast as sorting",
        least(np.sort, p) / least(lambda p: check([p], {}), p),
        1,
        True,
    )


def emulation() -> Row:
    """A product of 64 by the emulator of GPUs."""
    case = matmul(64, 64, 64)
    problem(case)
    return "emulated product of 64, s", least(emulated, case), 1, False


def call() -> Row:
    """A call of a kernel that adds 16 floats into a given output."""
    a, b, c = np.ones((3, 16), np.float32)
    add = tx.op(ADD)
    return (
        "call of a kernel into a given output, us",
        1e6 * least(lambda: add(a, b, out=c), number=2000),
        1.5,
        False,
    )


def interrupt() -> Row:
    """From Ctrl-C to its exception, in a kernel of half a minute."""
    kernel, pressed = slow("slow_parallel"), list[float]()

    def press() -> None:
        time.sleep(0.1)
        pressed.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    try:
        kernel(np.int64(300_000_000), np.float32(2))
    except KeyboardInterrupt:
        return "Ctrl-C in a kernel, s", time.perf_counter() - pressed[0], 0.2, False
    raise AssertionError("the kernel was not interrupted")


def least(function: Callable, *arguments: object, number: int = 1) -> float:
    """The least seconds of a call: what the code can do, whatever else the machine does."""
    function(*arguments)
    return min(timeit.repeat(lambda: function(*arguments), number=number, repeat=5)) / number


ROWS: list[Callable[[], Row]] = [default_product, derivatives, distinct, emulation, call, interrupt]

if __name__ == "__main__":
    sys.exit(main())
