"""A captured program, compiled, with memory of its own: data in, run, results out."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from texpr import aot
from texpr.graph.capture.capture import Capture
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.capture.variable import Variable, announce, array_of, exchange
from texpr.graph.execution.arena import in_place, lifetimes, make_arena
from texpr.graph.execution.compile import compiled, wanted
from texpr.graph.execution.export import Exported, export
from texpr.graph.execution.in_place_updates import Order, in_order
from texpr.graph.execution.placement import Host, OnDevice, Scalars, device_of, on_host, place_for, shown
from texpr.graph.execution.run_lock import Turn
from texpr.graph.lowering.launches import Launch, show_launches
from texpr.graph.passes import IN_PLACE
from texpr.graph.passes.flatten_calls import shape_of, with_views
from texpr.graph.report.dot import to_dot
from texpr.graph.report.profile import Profile, shapes_of, watching
from texpr.graph.report.svg import picture
from texpr.graph.report.timing import Timing
from texpr.ir.build import integer
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Tensor
from texpr.ir.printing.tensor import show_program
from texpr.ir.verifier.program import verify_program
from texpr.runtime import gpu
from texpr.runtime.call.extern import take_error
from texpr.runtime.call.signal_guard import held
from texpr.runtime.call.spec import Check, DistinctCheck, RangeCheck
from texpr.runtime.call.value_checks import DTYPES as CHECKED
from texpr.runtime.gpu import DEFAULT_STREAM, HOST
from texpr.support.errors import CallError, CompileError, ResourceError
from texpr.support.gc_pause import uncollected
from texpr.support.options import current

# Variables may alternate between two arrays, so two bindings serve a training loop; a few more where users exchange values.
_BINDINGS = 8

_Step = Callable[[], object]


class Plan:
    """A compiled program that owns its intermediate tensors.

    A run is one native call, which calls the kernels in order, and, where variables are updated in place, another one for the kernels that
    do so (`last`): these run when all others have succeeded, and cannot fail. Other variables that the program assigns to are written to
    their spare arrays and exchanged then. So a run that fails or is interrupted changes nothing: Ctrl-C comes before all changes or waits
    for the last of them. One run at a time; runs of other plans may go on meanwhile.

    On a device, kernels are queued and nobody waits for them until values are asked for (`value`); from its second run on, the launches
    are one graph.

    Args:
        capture: the program.
        results: what `run` returns, besides the assignments that the capture holds.
        device: where it runs, unless the variables say so: they must be there.
        opt, disable, reassociate: in the place of the options of these names (`tx.options`).
    Attributes:
        captured: the program as it was captured.
        program: the same after all passes: what the kernels compute.
        launches: the kernels of one run, in order.
        decisions: what was fused and what not, and why.
        arena: where intermediate tensors and results lie.
        inputs: arrays to fill before `run`, one per data input.
        results: arrays that hold the results after `run`, until the next one. On a device, use `fill` and `value`.
    Raises:
        CallError: `disable` names no pass, or variables lie on different devices.
    """

    def __init__(self, capture: Capture, results: Sequence[Symbolic], *, opt: int | None = None, disable: Collection[str] | None = None,
                 reassociate: bool | None = None, device: str | None = None) -> None:
        self.place = place_for(device, capture.variables, capture.updates)
        results = [capture.own_result(r) for r in results]
        outputs = tuple(dict.fromkeys(r.tensor for r in results))
        self.captured = capture.program((*outputs, *(t for t in capture.updates.values() if t not in outputs)))
        if current().verify:
            verify_program(self.captured)
        inputs = self.captured.inputs
        data, variables = inputs[: len(capture.inputs)], inputs[len(capture.inputs) : len(capture.inputs) + len(capture.variables)]
        constants = dict(zip(inputs[len(data) + len(variables) :], capture.constants.values()))
        with uncollected():
            self.program, made = compiled(self.captured, constants, self.place, opt, disable, reassociate)
        self._variables, self._updates = dict(zip(capture.variables, variables)), dict(capture.updates)
        self._views = made.views
        here = {v: t for v, t in self._variables.items() if device_of(array_of(v)) == HOST != self.place.name}
        self._scalars = Scalars(self.place, here)
        moved = {t: self.place.constant(a) for t, a in constants.items()}
        level, left_out, _ = wanted(opt, disable, reassociate)
        over = level >= 1 and IN_PLACE not in left_out
        with uncollected():  # kernels are compiled to know what they may write over
            updates = {self._variables[v]: t for v, t in self._updates.items()}
            order = self.place.with_scratch(made.order)
            self._order = in_order(order, updates, outputs, self._root) if over and self.place.name == HOST else Order(order)
            self.launches, self.decisions = (*self._order.first, *self._order.last), (*made.decisions, *self._order.decisions)
            own = self._allocate(data, outputs, over)
        self._fixed = own | moved | self._scalars.arrays
        self.inputs = tuple(self._fixed[t] for t in data)
        self.results = tuple(self._fixed[r.tensor] for r in results)
        self._outputs = tuple(r.tensor for r in results)
        self._data, self._stream = data, DEFAULT_STREAM
        self._checked: set[Tensor] = set()
        """Data inputs on a device whose values were checked."""
        self._check_values(capture, data, variables, constants)
        # By the identities of the variables' arrays, which each keeps alive.
        self._bindings: dict[tuple[int, ...], _Step] = {}
        self._functions: dict[tuple[int, ...], Callable[..., Any]] = {}
        self._in_place = tuple(v for v, t in self._updates.items() if t in self._order.over)
        self._exchanged = tuple(v for v in self._updates if v not in self._in_place)
        self._left: _Step | None = None
        """What a commit has to do."""
        self._is_native = isinstance(self.place, Host) and bool(self.results) and not self._slow_checks
        self._turn = Turn(self.captured.name)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """Run on these data; the results are new arrays, on the device where the program runs.

        Raises:
            CallError: arrays, or their values, are not what the program takes; it is called by what it runs, such as an `extern op`.
        """
        found = self.served(arrays)
        if found is not None:
            return found
        if len(arrays) != len(self.inputs):
            raise CallError(f"the plan takes {len(self.inputs)} arrays, found {len(arrays)}", code="arguments")
        with self._turn.alone():
            for slot, array in zip(self.inputs, arrays):
                if getattr(array, "shape", None) != slot.shape or array.dtype != slot.dtype:
                    raise CallError(f"the plan takes {shown(slot)}, found {shown(array)}", code="shape",
                                    help="np.asarray(x, dtype) makes an array of another dtype, x.reshape one of another shape")
            if isinstance(self.place, OnDevice):
                return self._queued(self.place, arrays)
            for slot, array in zip(self.inputs, arrays):
                slot[...] = array
            self._compute()
            self._commit()
            return tuple([r.copy() for r in self.results])

    def served(self, arrays: Sequence[object]) -> tuple[Any, ...] | None:
        """The same in one native call, which checks and copies, where these are C-contiguous arrays as the program has them.

        None, and nothing is done, where they are not, and where not all of a run is native. A large program leaves nothing of Python in the
        caches: what a call runs of it comes from memory, a line at a time, which is why there is little here.
        """
        if not self._is_native or watching.get() is not None:
            return None
        with (turn := self._turn).lock:  # `Turn.alone`, written out, for every call comes here
            function = self._functions.get(tuple(map(id, map(array_of, self._variables)))) or self._function()
            if turn.taken:
                turn.refuse()
            try:
                turn.taken, self._left = True, None
                found = function(*arrays)
                if found is not None and self._updates:
                    self._finish()
            finally:
                turn.taken = False
        return found if found is None or len(self.results) > 1 else (found,)

    def _queued(self, place: OnDevice, given: Sequence[Any]) -> tuple[gpu.DeviceArray, ...]:
        """Queue the kernels on these arrays as they are; the results are arrays that the kernels write."""
        for tensor, array in zip(self._data, given):
            self._check(tensor, array)
        data = {t: a if isinstance(a, gpu.DeviceArray) else place.constant(a) for t, a in zip(self._data, given)}
        made = {t: gpu.empty(place.device, shape_of(t), numpy_dtype(t.dtype)) for t in self._outputs}
        self._check_rest(self._data)
        self._take_turns()
        self._scalars.copy()
        arrays, watcher = self._arrays(data | made), watching.get()
        if watcher is None:
            for launch in self.launches:
                place.bound(launch, arrays)(place.device.stream)
        else:
            steps = [place.alone(n, arrays, self._fail_at([n])) for n in self.launches]
            watcher.run(self.captured.name, self.launches, steps)
        self._finish()
        return tuple(made[t] if t not in self._outputs[:k] else made[t].copy() for k, t in enumerate(self._outputs))

    def _take_turns(self) -> None:
        """Runs on other streams of a device share the memory between kernels: this one waits for them."""
        if isinstance(self.place, OnDevice):
            stream = self.place.device.stream
            self.place.device.order(self._stream, stream)
            self._stream = stream

    def fill(self, position: int, array: Any) -> None:
        """Set a data input, by its position. Arrays of NumPy's are copied to the device where the program runs.

        Raises:
            CallError: on a device: a value outside its range.
        """
        slot = self.inputs[position]
        if isinstance(slot, gpu.DeviceArray):
            self._checked.discard(self._data[position])
            self._check(self._data[position], array)
            self._take_turns()
            slot.set(array)
        else:
            np.copyto(slot, array)

    def value(self, position: int) -> np.ndarray:
        """A result of the last run as an array of NumPy's; on the host, the one of `results`."""
        return on_host(self.results[position])

    def run(self) -> None:
        """Run on what `inputs` hold.

        Raises:
            CallError: a value outside its range.
        """
        with self._turn.alone():
            self._compute()
            self._commit()

    def compute(self) -> None:
        """Run without the assignments: variables keep their values until `commit`, for which inputs, and the variables that the program
        reads, must stay as they are.

        Raises:
            CallError: a value outside its range.
        """
        with self._turn.alone():
            self._compute()

    def _compute(self) -> None:
        self._left = None
        self._check_rest(self._checked)
        if isinstance(self.place, OnDevice):
            self._take_turns()
            self._scalars.copy()
        watcher = watching.get()
        if watcher is None:
            self._bound()()
            self._left = self._finish
        else:
            self._watched(watcher)
            self._left = self._exchange

    def _watched(self, watcher: Profile) -> None:
        """Run kernel by kernel, all of them on spare arrays: each may begin anew."""
        arrays = self._arrays(self._apart() | {t: v.arrays()[1] for v, t in self._updates.items()})
        for tensor, check in self._ranges:
            check([arrays[tensor]], {})
        steps = [self.place.alone(n, arrays, self._fail_at([n])) for n in self.launches]
        watcher.run(self.captured.name, self.launches, steps)
        for t in {*self._outputs} & self.arena.over.keys():
            self._fixed[t][...] = arrays[t]

    def _apart(self) -> dict[Tensor, Any]:
        """Memory of their own for tensors that are computed over others: kernels that run alone may begin anew."""
        return {t: self.place.zeros(t) for t in self.arena.over}

    @property
    def assigned(self) -> tuple[Variable, ...]:
        """The variables that a run assigns to."""
        return tuple(self._updates)

    def commit(self) -> None:
        """Let the variables have the values that follow from the last `compute`; nothing if they have, or if it failed.

        Raises:
            KeyboardInterrupt: before all variables have changed, or after.
        """
        with (turn := self._turn).lock:  # `Turn.alone`, written out, for small steps
            if turn.taken:
                turn.refuse()
            try:
                turn.taken = True
                self._commit()
            finally:
                turn.taken = False

    def _commit(self) -> None:
        if self._left is not None:
            self._left()

    def _finish(self) -> None:
        """Run the last launches, and exchange what they do not write over, once nothing can fail any more."""
        with held:
            announce(self._updates)
            last = self._bound(True) if self._in_place else None
            self._left = None
            if last is not None:
                last()
            exchange(self._exchanged)

    def _exchange(self) -> None:
        """The new values of all variables lie in their spare arrays."""
        with held:
            announce(self._updates)
            self._left = None
            exchange(self._updates)

    def profile(self, repeats: int = 20) -> list[Timing]:
        """The time of each launch, measured on what the memory holds now. Results stay; nothing is assigned, by a `commit` afterwards
        neither.
        """
        rows = []
        with self._turn.alone():
            results, self._left = [r.copy() for r in self.results], None
            arrays = self._arrays(self._apart() | {t: self.place.zeros(t) for t in self._order.over})
            for launch in self.launches:
                step = self.place.alone(launch, arrays, self._fail_at([launch]))
                step()
                seconds = median(_seconds(step) for _ in range(repeats))
                rows.append(Timing(launch.program.name, shapes_of(launch), seconds * 1e3, launch.operations / max(seconds, 1e-9) / 1e9))
            for array, result in zip(self.results, results):
                array[...] = result
        return rows

    def save(self, path: str | Path, *, header: str | Path | None = None, target: str = "native", weights: str = "inside",
             name: str = "") -> None:
        """Write the program as one function of C, which needs no texpr: see the header.

        Args:
            path: its suffix says what is written: `.o` an object, `.a` a static library, `.so` a shared one, `.s` assembly, `.ll` LLVM IR.
            header: where to write a C header.
            target: a CPU.
            weights: the values that the variables have now are `inside` of the code, or `beside` it, in a file of its name with `.weights`
                at its end, whose content the caller gives as the last argument. A program that assigns to its variables does so there.
            name: of the function, behind `texpr_`; else that of the capture.
        Raises:
            CompileError: what cannot be saved so.
            ResourceError: a tool that the form needs is not installed.
            OSError: the files cannot be written.
        """
        if self.place.name != HOST:
            raise CompileError(f"the program runs on {self.place.name}, and files are for CPUs", code="save",
                               help='move the model first: model.to("cpu")')
        library = export(self._exported(name or self.captured.name), target, weights)
        aot.save(path, library.artifact, library.function, header, library.weights)

    def _exported(self, name: str) -> Exported:
        variables = {t: array_of(v) for v, t in self._variables.items()}
        updates = {self._variables[v]: t for v, t in self._updates.items()}
        data = self.captured.inputs[: len(self.inputs)]
        constants = {t: on_host(self._fixed[t]) for t in self.captured.inputs[len(data) :] if t not in variables}
        return Exported(name, self.launches, data, self._outputs, variables, constants, updates, self._views)

    def explain(self) -> str:
        """One line per decision: what was fused, what was not, and why; and per kernel whose default schedule was left, why it was."""
        left = (k.fallback for n in self.launches for k in n.kernels if k.fallback is not None)
        return "\n".join(map(str, (*self.decisions, *left)))

    @property
    def memory_bytes(self) -> int:
        """Bytes of intermediate tensors and results."""
        return self.arena.size

    @property
    def held_bytes(self) -> int:
        """Bytes of all memory that the plan holds, that of variables and constants aside."""
        return self.arena.size + sum(array.nbytes for array in self.inputs)

    def __str__(self) -> str:
        return show_launches(self.launches)

    def text(self) -> str:
        """The program as it was captured, with the operators that it calls: parses back."""
        return show_program(with_views(self.captured), with_callees=True)

    def svg(self) -> str:
        """The kernels and what passes between them as a picture, laid out by Graphviz where that is installed."""
        return picture(self.launches, self._views)

    def to_dot(self) -> str:
        """The same as text for Graphviz."""
        return to_dot(self.launches, self._views)

    def _repr_html_(self) -> str:
        return self.svg()

    def _allocate(self, data: Sequence[Tensor], outputs: Sequence[Tensor], over: bool) -> dict[Tensor, np.ndarray]:
        """Arrays for data and for all that is computed, what is assigned to variables aside.

        Args:
            over: tensors may be computed in the memory of others.
        """
        assigned = set(self._updates.values())
        root = self._root
        steps = [([root(t) for t in n.inputs], [root(t) for t in (*n.outputs, *n.scratch) if t not in assigned]) for n in self.launches]
        lives = lifetimes(steps, set(outputs))
        pairs = [n.overwrites if over else () for n in self.launches]
        self.arena = make_arena(lives, in_place([(s[0], n.outputs) for s, n in zip(steps, self.launches)], pairs, lives))
        memory = self.place.block(self.arena.size)
        arrays = {t: self.place.view(memory, at, t) for t, at in self.arena.offset.items()}
        return arrays | {t: self.place.zeros(t) for t in data}

    def _root(self, tensor: Tensor) -> Tensor:
        """The tensor whose memory this one is."""
        return self._views.get(tensor, tensor)

    def _check_values(self, capture: Capture, data: Sequence[Tensor], variables: Sequence[Tensor],
                      constants: Mapping[Tensor, np.ndarray]) -> None:
        """Values that calls ask of inputs are checked: of constants now, of others in every run."""
        rows = dict(zip(self.captured.inputs, map(capture.rows.get, (*capture.inputs, *capture.variables.values(), *capture.constants))))
        self._ranges: list[tuple[Tensor, RangeCheck]] = []
        self._slow_checks: list[tuple[Tensor, Check, Variable | None]] = []
        for tensor, value in constants.items():
            for check in _value_checks(tensor, rows[tensor] or ()):
                check([value], {})
        variable_of = {t: v for v, t in self._variables.items()}
        for tensor in (*data, *variables):
            for check in _value_checks(tensor, rows[tensor] or ()):
                native = isinstance(check, RangeCheck) and f"{tensor.dtype.kind}{tensor.dtype.bits}" in CHECKED
                if native and self.place.name == HOST:
                    self._ranges.append((tensor, check))  # type: ignore[arg-type]
                else:
                    self._slow_checks.append((tensor, check, variable_of.get(tensor)))

    def _check(self, tensor: Tensor, array: Any) -> None:
        """Check the values that a data input is going to have."""
        checks = [check for t, check, _ in self._slow_checks if t is tensor]
        if checks:
            values = on_host(array)
            for check in checks:
                check([values], {})
            self._checked.add(tensor)

    def _check_rest(self, known: Collection[Tensor]) -> None:
        """Check what else has ranges, or rows of distinct values."""
        for tensor, check, variable in self._slow_checks:
            if tensor not in known:
                check([on_host(self._fixed[tensor] if variable is None else array_of(variable))], {})

    def _arrays(self, instead: Mapping[Tensor, Any] | None = None) -> dict[Tensor, Any]:
        """All tensors as arrays, with those that the variables have now, and `instead` in the place of others."""
        arrays = dict(self._fixed)
        for variable, tensor in self._variables.items():
            if tensor not in self._scalars.arrays:
                arrays[tensor] = array_of(variable)
        arrays |= {self._updates[v]: array_of(v) for v in self._in_place} | {self._updates[v]: v.arrays()[1] for v in self._exchanged}
        arrays |= instead or {}
        return arrays | {t: arrays[source].reshape(shape_of(t)) for t, source in self._views.items()}

    def _bound(self, last: bool = False) -> _Step:
        """One run on the arrays that the variables have now: of the first launches, or of the last ones."""
        key = (last, *map(id, map(array_of, self._variables)))
        found = self._bindings.get(key)
        if found is None:
            if len(self._bindings) >= _BINDINGS:
                self._bindings.clear()
            launches, ranges = (self._order.last, ()) if last else (self._order.first, self._ranges)
            with uncollected():
                found = self.place.sequence(self.captured.name, ranges, launches, self._arrays(), self._fail_at([*ranges, *launches]))
                self._bindings[key] = found
        return found

    def _function(self) -> Callable[..., Any]:
        """The run as a function of the data, but for what is left then; None for what it does not take."""
        assert isinstance(self.place, Host)
        if len(self._functions) >= _BINDINGS:
            self._functions.clear()
        launches, ranges = self._order.first, self._ranges
        with uncollected():
            found = self.place.function(self.captured.name, ranges, launches, self._arrays(), self._fail_at([*ranges, *launches]),
                                        self.inputs, self.results)
        return self._functions.setdefault(tuple(map(id, map(array_of, self._variables))), found)

    def _fail_at(self, entries: Sequence[tuple[Tensor, RangeCheck] | Launch]) -> Callable[[int], None]:
        """What raises for the entry that failed."""
        def fail(position: int) -> None:
            entry = entries[position]
            if isinstance(entry, Launch):
                error = take_error()
                raise error or ResourceError(f"{entry.program.name} ran out of memory for its intermediate arrays")
            tensor, check = entry
            check([self._arrays()[tensor]], {})

        return fail


def _value_checks(tensor: Tensor, rows: Iterable[int]) -> Iterator[Check]:
    """What calls ask of the values of an input."""
    if tensor.value_range is not None:
        lo, hi = (integer(e) for e in tensor.value_range)
        yield RangeCheck(0, tensor.name, lo, hi)  # type: ignore[arg-type]
    for row in rows:
        yield DistinctCheck(0, tensor.name, row)


def _seconds(step: _Step) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start
