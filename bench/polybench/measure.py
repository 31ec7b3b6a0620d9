"""One kernel, measured in a process of its own: texpr and the C loops in turns."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import texpr as tx
from bench import timing
from bench.polybench import native, operator
from bench.polybench.compare import BOUNDS, difference
from bench.polybench.table import Arrays, Kernel


@dataclass(frozen=True)
class Outcome:
    """What was found of one kernel.

    Attributes:
        kernel: its name.
        seconds: the median of each candidate: `texpr`, `gcc`, and with several threads `openmp`.
        error: the largest difference from the C loops, relative to the largest element.
        correct: it is within the bound of the type.
        compiling: seconds until texpr's first result: scheduling, compiling, running once.
        work: operations on floats; 0 if they are integers.
        moved: bytes of inputs and outputs.
        dtype: of the work.
        clean: all samples of the median were taken undisturbed.
    """

    kernel: str
    seconds: dict[str, float]
    error: float
    correct: bool
    compiling: float
    work: float
    moved: int
    dtype: str
    clean: bool

    def as_json(self) -> dict[str, object]:
        """As plain data."""
        return asdict(self)


def measure(kernel: Kernel, dataset: str, threads: int, budget: float, rounds: int) -> Outcome:
    """Time a kernel, after its results were compared with those of the C loops.

    Args:
        rounds: the least number of samples.
        budget: seconds to spend on samples, beyond the least number of them.
    """
    tx.options(threads=threads, certify=False)
    sizes = kernel.dataset(dataset)
    operands = _aligned(kernel.operands(sizes))
    with TemporaryDirectory() as folder:
        begin = time.perf_counter()
        compiled = operator.Compiled(kernel, sizes)
        results = compiled(operands)
        compiling = time.perf_counter() - begin
        others = {"gcc": native.compile_kernel(kernel, sizes, Path(folder))}
        if threads > 1:
            others["openmp"] = native.compile_kernel(kernel, sizes, Path(folder), parallel=True)
        arguments = _aligned(kernel.arguments(sizes, operands))
        expected = _run_once(kernel, others["gcc"], arguments)
        errors = [difference(f, e) for f, e in zip(results, expected, strict=True)]
        samples = _samples(kernel, compiled, others, operands, arguments, threads, budget, rounds)
    return Outcome(
        kernel.name,
        {name: timing.typical(found) for name, found in samples.items()},
        max(errors),
        all(e <= BOUNDS[x.dtype.str[1:]] for e, x in zip(errors, expected)),
        compiling,
        kernel.work(sizes),
        sum(a.nbytes for a in (*operands.values(), *results)),
        kernel.dtype.replace("f8", "f64").replace("f4", "f32"),
        all(map(timing.undisturbed, samples.values())),
    )


def _run_once(kernel: Kernel, function: Callable[[Arrays], None], arguments: Arrays) -> list[np.ndarray]:
    """Results of the C function; the arguments stay as they were."""
    used = _aligned(arguments)
    function(used)
    return [used[name] for name in kernel.results.split()]


def _samples(
    kernel: Kernel,
    compiled: operator.Compiled,
    others: dict[str, Callable[[Arrays], None]],
    operands: Arrays,
    arguments: Arrays,
    threads: int,
    budget: float,
    rounds: int,
) -> dict[str, list[timing.Sample]]:
    """Both sides begin with arguments that were just written, which is not timed: the C
    functions change theirs.
    """
    clock = timing.measure_processor if threads == 1 else timing.measure
    used, given = _aligned(arguments), _aligned(operands)

    def c_sample(function: Callable[[Arrays], None]) -> Callable[[], timing.Sample]:
        def sample() -> timing.Sample:
            _restore(used, arguments)
            taken = clock(lambda: function(used))
            if threads > 1:
                time.sleep(timing.SETTLING)
            return taken

        return sample

    def texpr_sample() -> timing.Sample:
        _restore(given, operands)
        return clock(lambda: compiled(given))

    gc.disable()
    try:
        return timing.in_turns(
            {"texpr": texpr_sample} | {name: c_sample(f) for name, f in others.items()},
            least=rounds,
            budget=budget,
        )
    finally:
        gc.enable()


def _restore(arrays: Arrays, wanted: Arrays) -> None:
    for name, a in arrays.items():
        np.copyto(a, wanted[name])


def _aligned(arrays: Arrays) -> Arrays:
    """Copies that begin at a page, as PolyBench's do."""
    return {name: _page_copy(a) for name, a in arrays.items()}


def _page_copy(a: np.ndarray) -> np.ndarray:
    page = os.sysconf("SC_PAGE_SIZE")
    room = np.empty(a.nbytes + page, np.uint8)
    begin = -room.ctypes.data % page
    copy = room[begin : begin + a.nbytes].view(a.dtype).reshape(a.shape)
    copy[...] = a
    return copy
