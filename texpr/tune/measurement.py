"""Running a schedule in another process: where it crashes or hangs, only that process is lost.

What goes there and comes back is JSON: the program as text, sizes, the schedule as a script. The
process proves the kernel, compiles it, and compares its results with those of the default schedule
before any time counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from math import inf, prod
from time import perf_counter

import numpy as np

from texpr.compiler import op
from texpr.compiler.kernel_cache import machine_text
from texpr.compiler.kernels.compiled_kernel import CompiledKernel
from texpr.compiler.schedule import Schedule
from texpr.compiler.scheduled_kernels import scripted
from texpr.ir.dtypes import DType, numpy_dtype, stored
from texpr.ir.expr import Tensor, Var
from texpr.ir.shapes import caller_shape, evaluate_size
from texpr.ir.tensor import Program
from texpr.runtime.process.worker import run_in_child
from texpr.support.errors import CompileError, Error, ScheduleError
from texpr.support.frozen_dataclass import frozen
from texpr.support.options import options
from texpr.targets import find_target
from texpr.tune.trial_slots import cores

SAMPLES = 5
SAMPLE_SECONDS = 2e-3
"""A sample runs the kernel as often as takes so long."""
ROUNDS = 11
MOST_WRONG = {16: 2.0**-6, 32: 2.0**-12, 64: 2.0**-30}
"""Largest difference of floats of so many bits from those of the default schedule, relative to the
largest: sums may be in another order.
"""


@frozen
class Case:
    """A program to tune, with its sizes.

    Attributes:
        text: the program as text.
        sizes: all of them, by name.
        seed: of the inputs.
        threads: that parallel loops use.
        cache_dir: where compiled kernels are kept; empty for nowhere.
    """

    text: str
    sizes: tuple[tuple[str, int], ...]
    seed: int
    threads: int
    cache_dir: str


@frozen
class Measured:
    """A trial.

    Attributes:
        seconds: of a call; infinite where the schedule does not count, for the reason `error`.
        machine: the record of the machine that measured.
    """

    seconds: float
    error: str
    machine: str


def measure(case: Case, script: str, timeout: float) -> Measured:
    """Run a schedule in a child process, while no other trial has its cores."""
    machine = machine_text(find_target("native"))
    try:
        with cores(case.threads):
            seconds = run_in_child(
                "texpr.tune.measurement:measure_here", asdict(case), script, timeout=timeout
            )
        return Measured(float(seconds), "", machine)
    except (CompileError, ScheduleError) as error:
        return Measured(inf, error.message, machine)
    except (Error, AssertionError) as error:
        return Measured(inf, str(error)[-400:], machine)


def compare(case: Case, scripts: Sequence[str], timeout: float) -> list[float]:
    """Seconds of a call with the default schedule and with each script, measured in turns.

    Raises:
        CompileError: the process died.
    """
    return run_in_child("texpr.tune.measurement:compare_here", asdict(case), list(scripts), timeout=timeout)


# In the other process.


def measure_here(case: Mapping[str, object], script: str) -> float:
    """See `measure`.

    Raises:
        ScheduleError: a step is refused, the loops are not proven, or the result is not that of the
            default schedule.
    """
    program, sizes, inputs, expected = _prepared(Case(**_tuples(case)))  # type: ignore[arg-type]
    with _options(case):
        kernel = _proven(program, sizes, script)
        outputs = [np.empty_like(e) for e in expected]
        kernel(*inputs, *outputs)
        _check(outputs, expected)
        return min(_samples(kernel, inputs, outputs, SAMPLES))


def compare_here(case: Mapping[str, object], scripts: Sequence[str]) -> list[float]:
    """See `compare`."""
    program, sizes, inputs, expected = _prepared(Case(**_tuples(case)))  # type: ignore[arg-type]
    with _options(case):
        kernels = [Schedule(program, sizes).auto().compile(), *(_proven(program, sizes, s) for s in scripts)]
        outputs = [np.empty_like(e) for e in expected]
        found: list[list[float]] = [[] for _ in kernels]
        for _ in range(ROUNDS):
            for kernel, times in zip(kernels, found):
                times += _samples(kernel, inputs, outputs, 1)
        return [min(times) for times in found]  # what else runs on the machine only adds


def _tuples(case: Mapping[str, object]) -> dict[str, object]:
    return {**case, "sizes": tuple(tuple(pair) for pair in case["sizes"])}  # type: ignore[union-attr]


def _options(case: Mapping[str, object]):
    return options(threads=case["threads"], cache_dir=case["cache_dir"] or None, tuned=False)


def _proven(program: Program, sizes: Mapping[Var, int], script: str) -> CompiledKernel:
    with options(certify=True):
        return scripted(program, sizes, script).ready()


@lru_cache(maxsize=4)
def _prepared(case: Case) -> tuple[Program, dict[Var, int], list[np.ndarray], list[np.ndarray]]:
    """The program, its sizes, inputs, and the outputs of the default schedule."""
    program = op(case.text).program()
    numbers = dict(case.sizes)
    sizes = {v: numbers[v.name] for v in program.sizes}
    rng = np.random.default_rng(case.seed)
    inputs = [_values(t, sizes, rng) for t in program.inputs]
    with _options(asdict(case)):
        found = Schedule(program, sizes).auto().compile()(*inputs)
    return program, sizes, inputs, [np.asarray(o) for o in (found if len(program.outputs) > 1 else [found])]  # type: ignore[union-attr]


def _values(tensor: Tensor, sizes: Mapping[Var, int], rng: np.random.Generator) -> np.ndarray:
    """Random elements that an input may have."""
    shape, t = caller_shape(tensor, sizes, {}), numpy_dtype(tensor.dtype)
    if tensor.value_range is not None:
        low, high = (evaluate_size(e, sizes) for e in tensor.value_range)
        if tensor.distinct and shape:
            rows = [low + rng.permutation(high - low)[: shape[-1]] for _ in range(prod(shape[:-1]))]
            return np.array(rows).reshape(shape).astype(t)
        return rng.integers(low, max(high, low + 1), shape).astype(t)
    if tensor.dtype.is_float:
        return stored(rng.standard_normal(shape), tensor.dtype)
    if tensor.distinct and shape:
        return np.tile(np.arange(shape[-1]), (*shape[:-1], 1)).astype(t)
    return rng.integers(0, 2 if _is_bool(tensor.dtype) else 8, shape).astype(t)


def _is_bool(t: DType) -> bool:
    return t.kind == "bool"


def _check(outputs: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    for found, wanted in zip(outputs, expected):
        if found.dtype.kind not in "fV":
            right = np.array_equal(found, wanted)
        else:
            a, b = found.astype(np.float64), wanted.astype(np.float64)
            largest = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
            right = np.allclose(
                a, b, rtol=0, atol=MOST_WRONG[8 * found.itemsize] * (largest + 1e-30), equal_nan=True
            )
        if not right:
            raise ScheduleError("the result is not that of the default schedule", code="tune")


def _samples(
    kernel: CompiledKernel, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], count: int
) -> list[float]:
    """Seconds of a call, `count` times."""
    start = perf_counter()
    kernel(*inputs, *outputs)
    number = max(1, min(10_000, int(SAMPLE_SECONDS / max(perf_counter() - start, 1e-9))))
    found = []
    for _ in range(count):
        start = perf_counter()
        for _ in range(number):
            kernel(*inputs, *outputs)
        found.append((perf_counter() - start) / number)
    return found
