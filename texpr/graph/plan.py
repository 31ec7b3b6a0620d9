"""A captured program, compiled, with memory of its own: data in, run, results out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from statistics import median

import numpy as np

from texpr.graph.capture import Capture
from texpr.graph.launches import Launch, make_launches, shape_of, show_launches
from texpr.graph.memory import share_buffers
from texpr.graph.symbolic import Symbolic
from texpr.ir.build import integer
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Tensor
from texpr.ir.verify import verify_program
from texpr.runtime.spec import Check, DistinctCheck, RangeCheck
from texpr.runtime.steps import bound_kernel
from texpr.support.errors import CallError
from texpr.support.options import current

# Variables alternate between two arrays, so two bindings serve a training loop; a few more where users exchange values.
_BINDINGS = 8

_Step = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """What one launch costs.

    Attributes:
        name: the operator.
        shapes: of its inputs and outputs.
        milliseconds: median.
        gflops: 10^9 float operations per second.
    """

    name: str
    shapes: str
    milliseconds: float
    gflops: float


class Plan:
    """A compiled program that owns its intermediate tensors.

    Launches are data, in order. Variables that the program assigns to are written to their spare arrays and exchanged when all
    launches have succeeded: a run that is interrupted changes nothing. One run at a time; runs of other plans may go on meanwhile.

    Args:
        capture: the program.
        results: what `run` returns, besides the assignments that the capture holds.
    Attributes:
        launches: the native calls of one run.
        inputs: arrays to fill before `run`, one per data input.
        results: arrays that hold the results after `run`, until the next one.
    """

    def __init__(self, capture: Capture, results: Sequence[Symbolic]) -> None:
        results = [capture.own_result(r) for r in results]
        outputs = tuple(dict.fromkeys(r.tensor for r in results))
        self.program = capture.program((*outputs, *(t for t in capture.updates.values() if t not in outputs)))
        if current().verify:
            verify_program(self.program)
        self.launches: tuple[Launch, ...] = make_launches(self.program)
        count = len(capture.inputs)
        data, variables = self.program.inputs[:count], self.program.inputs[count : count + len(capture.variables)]
        constants = dict(zip(self.program.inputs[count + len(variables) :], capture.constants.values()))
        self._variables = dict(zip(capture.variables, variables))
        self._updates = dict(capture.updates)
        self._fixed = self._allocate(data, outputs) | constants
        self.inputs = tuple(self._fixed[t] for t in data)
        self.results = tuple(self._fixed[r.tensor] for r in results)
        rows = dict(zip(self.program.inputs, map(capture.rows.get, (*capture.inputs, *capture.variables.values(), *capture.constants))))
        self._checks = tuple(check for k, t in enumerate(data) for check in _value_checks(k, t, rows[t] or ()))
        for tensor, value in constants.items():
            for check in _value_checks(0, tensor, rows[tensor] or ()):
                check([value], {})
        self._variable_checks = [(v, check) for v, t in self._variables.items() for check in _value_checks(0, t, rows[t] or ())]
        self._bindings: dict[tuple[int, ...], list[_Step]] = {}
        self._lock = threading.RLock()

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        """Run on these data; the results are new arrays.

        Raises:
            CallError: an array has another shape or dtype, or a value outside its range.
        """
        with self._lock:
            for slot, array in zip(self.inputs, arrays, strict=True):
                if array.shape != slot.shape or array.dtype != slot.dtype:
                    raise CallError(f"the plan takes {slot.dtype}{list(slot.shape)}, found {array.dtype}{list(array.shape)}", code="shape")
                np.copyto(slot, array)
            self.run()
            return tuple(r.copy() for r in self.results)

    def run(self) -> None:
        """Run on what `inputs` hold.

        Raises:
            CallError: a value outside its range.
        """
        with self._lock:
            self.compute()
            self.commit()

    def compute(self) -> None:
        """Run without the assignments: variables keep their values until `commit`.

        Raises:
            CallError: a value outside its range.
        """
        with self._lock:
            for check in self._checks:
                check(self.inputs, {})
            for variable, check in self._variable_checks:
                check([variable.data], {})
            for step in self._bound():
                step()

    def commit(self) -> None:
        """Make what the last `compute` has written the values of the variables."""
        for variable in self._updates:
            variable.exchange()

    def profile(self, repeats: int = 20) -> list[Timing]:
        """The time of each launch, measured on what the memory holds now; nothing is assigned."""
        rows = []
        with self._lock:
            for launch, step in zip(self.launches, self._bound()):
                step()
                seconds = median(_seconds(step) for _ in range(repeats))
                shapes = " ".join("x".join(map(str, shape_of(t))) or "1" for t in (*launch.inputs, *launch.outputs))
                rows.append(Timing(launch.program.name, shapes, seconds * 1e3, launch.operations / max(seconds, 1e-9) / 1e9))
        return rows

    @property
    def memory_bytes(self) -> int:
        """Bytes of intermediate tensors and results."""
        return sum(b.nbytes for b in self._buffers)

    def __str__(self) -> str:
        return show_launches(self.launches)

    def _allocate(self, data: Sequence[Tensor], outputs: Sequence[Tensor]) -> dict[Tensor, np.ndarray]:
        """Arrays for data and for all that is computed, what is assigned to variables aside."""
        assigned = set(self._updates.values())
        steps = [(n.inputs, [t for t in n.outputs if t not in assigned]) for n in self.launches]
        shared = share_buffers(steps, set(outputs))
        self._buffers = [np.empty(size, np.uint8) for size in shared.sizes]
        arrays = {t: _view(self._buffers[b], t) for t, b in shared.number.items()}
        return arrays | {t: np.zeros(shape_of(t), numpy_dtype(t.dtype)) for t in data}

    def _bound(self) -> list[_Step]:
        """The launches on the arrays that the variables have now."""
        key = tuple([id(v.data) for v in self._variables])
        if key not in self._bindings:
            if len(self._bindings) >= _BINDINGS:
                self._bindings.clear()
            self._bindings[key] = self._bind()
        return self._bindings[key]

    def _bind(self) -> list[_Step]:
        arrays = dict(self._fixed)
        for variable, tensor in self._variables.items():
            arrays[tensor] = variable.data
        for variable, tensor in self._updates.items():
            arrays[tensor] = variable.arrays()[1]
        return [bound_kernel(n.kernel.address, n.program.name, [arrays[t] for t in n.inputs], [arrays[t] for t in n.outputs], n.kernel)
                for n in self.launches]


def _value_checks(position: int, tensor: Tensor, rows: Iterable[int]) -> Iterator[Check]:
    """What calls ask of the values of an input."""
    if tensor.value_range is not None:
        lo, hi = (integer(e) for e in tensor.value_range)
        yield RangeCheck(position, tensor.name, lo, hi)  # type: ignore[arg-type]
    for row in rows:
        yield DistinctCheck(position, tensor.name, row)


def _view(buffer: np.ndarray, tensor: Tensor) -> np.ndarray:
    shape, dtype = shape_of(tensor), numpy_dtype(tensor.dtype)
    return buffer[: prod(shape) * dtype.itemsize].view(dtype).reshape(shape)


def _seconds(step: _Step) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def timing_table(rows: Sequence[Timing]) -> str:
    """Timings as text, the most expensive first, equal ones added up."""
    totals: dict[tuple[str, str], list[Timing]] = {}
    for row in rows:
        totals.setdefault((row.name, row.shapes), []).append(row)
    lines = [f"{'operator':<28}{'calls':>6}{'ms':>10}{'GFLOP/s':>10}  shapes"]
    for (name, shapes), same in sorted(totals.items(), key=lambda item: -sum(r.milliseconds for r in item[1])):
        total = sum(r.milliseconds for r in same)
        rate = sum(r.gflops * r.milliseconds for r in same) / max(total, 1e-9)
        lines.append(f"{name:<28}{len(same):>6}{total:>10.3f}{rate:>10.2f}  {shapes}")
    return "\n".join(lines)
