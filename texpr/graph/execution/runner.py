"""Runs of a plan: bound to the arrays that variables have now, one native call each, all or
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from texpr.graph.capture.variable import (
    announce_changes,
    array_of,
    exchange_arrays,
    layout_of,
    report_changes,
)
from texpr.graph.execution.first_run import FirstRun
from texpr.graph.execution.in_place_updates import LaunchOrder
from texpr.graph.execution.input_checks import InputChecks, Range
from texpr.graph.execution.interface import Interface
from texpr.graph.execution.memory import Memory
from texpr.graph.execution.parcels import Event, pieces
from texpr.graph.execution.placement import Host, OnDevice, Placement, describe, to_host
from texpr.graph.execution.run_lock import RunLock
from texpr.graph.execution.written_memory import WrittenMemory
from texpr.graph.lowering.launch_sequence import Launch
from texpr.graph.passes.flatten_calls import shape_of
from texpr.graph.report.profile import Profile, shapes_of, watching
from texpr.graph.report.timing import Timing
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Tensor
from texpr.runtime import gpu
from texpr.runtime.call.kernel_sequence import Function, Parameter
from texpr.runtime.call.native_callbacks import take_error
from texpr.runtime.call.signal_guard import deferred_interrupts
from texpr.runtime.gpu import DEFAULT_STREAM
from texpr.support.errors import CallError, ResourceError
from texpr.support.gc_pause import uncollected
from texpr.support.late import late
from texpr.support.once import once

if TYPE_CHECKING:
    import statistics
else:
    statistics = late("statistics")

# Variables may alternate between two arrays, so two bindings serve a training loop; a few more
# where users exchange values.
_BINDINGS = 8
_ONCE = 2
"""First in the key of the binding of launches that run once, as 0 and 1 are of others."""

_Step = Callable[[], object]


class Runner:
    """Runs the launches of a plan. One run at a time.

    Calls read the arrays of their callers, and kernels write the arrays that they return. Besides,
    there are arrays that stay, for `fill`, `compute` and `commit`.
    """

    def __init__(
        self,
        placement: Placement,
        interface: Interface,
        order: LaunchOrder,
        memory: Memory,
        events: Sequence[Event] = (),
    ) -> None:
        self._placement, self._interface, self._order, self._memory = placement, interface, order, memory
        self._events = events
        self._launches, self._name = order.all, interface.name
        self._variables, self._updates = tuple(interface.variables), interface.updates
        self._prepacked = memory.prepacked
        self._checks = InputChecks(interface, isinstance(placement, Host))
        specs = (*interface.data, *dict.fromkeys(interface.results))
        self._parameters = {t: Parameter(k, shape_of(t), numpy_dtype(t.dtype)) for k, t in enumerate(specs)}
        # By the identities of the variables' arrays, which each keeps alive.
        self._bindings: dict[tuple[int, ...], _Step] = {}
        self._functions: dict[tuple[int, ...], tuple[Function, WrittenMemory]] = {}
        self._given: Sequence[Any] = ()
        self._to_commit: _Step | None = None
        self._stream = DEFAULT_STREAM
        self._is_function = isinstance(placement, Host) and bool(interface.results) and not events
        self._is_first = self._is_function and not self._updates and self._prepacked.is_first
        self._is_native = self._is_function and self._checks.all_native and not self._is_first
        # A property of the plan, not of its state: bindings know variables by their arrays.
        self._array_of = layout_of if self._is_first else array_of
        # Kernels that run last read data after the native call, which makes copies of strided ones.
        self._reads_late = any(memory.root(t) in interface.data for n in order.in_place for t in n.inputs)
        self._lock = RunLock(self._name)

    @once
    def inputs(self) -> tuple[Any, ...]:
        """Arrays of the data inputs that stay."""
        return tuple(self._memory.fixed[t] for t in self._interface.data)

    @once
    def results(self) -> tuple[Any, ...]:
        """Arrays that hold the results after `compute`, until the next one."""
        return tuple(self._memory.fixed[t] for t in self._interface.results)

    def served(self, arrays: Sequence[object]) -> tuple[Any, ...] | None:
        """The results, new arrays, of one native call, which checks arguments, where `arrays` are
        C-contiguous as the program has them.

        None, and nothing is done, where they are not, and where not all of a run is native. A large
        program leaves nothing of Python in the caches: what a call runs of it comes from memory, a
        line at a time, which is why there is little here.
        """
        if not self._is_native or watching.get() is not None:
            return None
        with (guard := self._lock).lock:  # `RunLock.exclusive`, written out, for every call comes here
            if guard.running:
                guard.raise_busy()
            try:
                guard.running = True
                return self._run_function(arrays)
            finally:
                guard.running = False

    def _run_function(self, arrays: Sequence[Any]) -> tuple[Any, ...] | None:
        """A run on arrays where they lie, assignments included; None, and nothing is done, where
        they are not as the program has them.
        """
        if self._prepacked.stale:
            self._prepacked.renew()
        if self._is_first:
            return self._run_first(arrays)
        if self._prepacked.awaited:
            self._run_once()
        function, written = self._bound_function()
        if self._updates and not all(self._may_be_read(a, written) for a in arrays):
            return None
        self._to_commit, self._given = None, arrays
        try:
            found = function.call(*arrays)
            if found is None:
                return None
            if self._updates:
                self._finish(function.finish)
        finally:
            self._given = ()
        results = self._interface.results
        if len(results) == 1:
            return (found,)
        return found if type(found) is tuple and len(found) == len(results) else self._repeated(found)

    def _run_first(self, arrays: Sequence[np.ndarray]) -> tuple[Any, ...]:
        """The first run: variables that lie elsewhere, and of which copies are made, are there while a
        launch needs them.
        """
        memory, packed = self._memory, self._prepacked
        assert isinstance(self._placement, Host)
        made = {t: self._placement.zeros(t) for t in dict.fromkeys(self._interface.results)}
        found = memory.call_arrays(dict(zip(self._interface.data, arrays)) | made)
        for tensor, check in self._checks.native:
            check([found[tensor]], {})
        FirstRun(self._placement, packed, self._order.first).run(self._name, found, self._raiser)
        packed.complete()
        self._is_first, self._is_native = False, self._checks.all_native
        results = self._interface.results
        return tuple(made[t].copy() if t in results[:k] else made[t] for k, t in enumerate(results))

    def _run_once(self) -> None:
        """Run the launches whose outputs are kept."""
        once = self._prepacked.once
        key = (_ONCE, *map(id, map(array_of, self._variables)))
        found = self._bindings.get(key)
        if found is None:
            arrays, raiser = self._memory.constant_arrays(), self._raiser(once)
            found = self._placement.sequence(self._name, (), once, arrays, raiser)
            self._bindings[key] = found
        found()
        self._prepacked.awaited = False

    def _may_be_read(self, array: Any, written: WrittenMemory) -> bool:
        """True if an argument of a program that assigns to variables can be read where it lies."""
        is_plain = type(array) is np.ndarray and array.flags.c_contiguous
        return not self._reads_late if not is_plain else not written.overlaps(array)

    def _repeated(self, found: Any) -> tuple[Any, ...]:
        """The results, each an array of its own, where a tensor is among them more than once."""
        results, first = self._interface.results, len(self._interface.data)
        made = found if isinstance(found, tuple) else (found,)
        arrays = [made[self._parameters[t].position - first] for t in results]
        return tuple(a.copy() if t in results[:k] else a for k, (t, a) in enumerate(zip(results, arrays)))

    def call(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The same for arrays of any strides, where the program runs on a device, and where it is
        watched.

        Raises:
            CallError: arrays, or their values, are not what the program takes.
        """
        data = self._interface.data
        if len(arrays) != len(data):
            raise CallError(f"the plan takes {len(data)} arrays, found {len(arrays)}", code="arguments")
        with self._lock.exclusive():
            for tensor, array in zip(data, arrays):
                wanted = self._parameters[tensor]
                if getattr(array, "shape", None) != wanted.shape or array.dtype != wanted.dtype:
                    raise CallError(
                        f"the plan takes {describe(wanted)}, found {describe(array)}",
                        code="shape",
                        help="np.asarray(x, dtype) makes an array of another dtype, x.reshape one of another "
                        "shape",
                    )
            if isinstance(self._placement, OnDevice):
                return self._queue(self._placement, arrays)
            found = self._call_checked(arrays)
            return self._run_fixed(arrays) if found is None else found

    def _call_checked(self, arrays: Sequence[Any]) -> tuple[Any, ...] | None:
        """A run on arrays of any strides, whose values are checked first where native code does
        not; None where a run is no function.
        """
        if not self._is_function or watching.get() is not None:
            return None
        tensors = self._interface.data
        given = [
            np.asarray(to_host(a), self._parameters[t].dtype, order="C") for t, a in zip(tensors, arrays)
        ]
        self._checks.check_rest((), dict(zip(tensors, given)).__getitem__)
        if self._updates:
            _, written = self._bound_function()
            given = [a.copy() if written.overlaps(a) else a for a in given]
        return self._run_function(given)

    def _run_fixed(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """A run on copies, in the arrays that stay."""
        for slot, array in zip(self.inputs, arrays):
            slot[...] = array
        self._compute()
        self._commit()
        return tuple([r.copy() for r in self.results])

    def _queue(self, placement: OnDevice, given: Sequence[Any]) -> tuple[gpu.DeviceArray, ...]:
        """Queue the kernels on these arrays as they are; the results are arrays that the kernels
        write.
        """
        tensors, results = self._interface.data, self._interface.results
        for tensor, array in zip(tensors, given):
            self._checks.check(tensor, array)
        data = {
            t: a if isinstance(a, gpu.DeviceArray) else placement.constant(a) for t, a in zip(tensors, given)
        }
        made = {t: gpu.empty(placement.device, shape_of(t), numpy_dtype(t.dtype)) for t in results}
        self._checks.check_rest(tensors, self._memory.fixed.__getitem__)
        self._wait_for_other_streams()
        self._memory.scalars.copy()
        arrays, watcher = self._memory.arrays(data | made), watching.get()
        if watcher is None:
            for launch in self._launches:
                placement.bound(launch, arrays)(placement.device.stream)
        else:
            watcher.run(self._name, self._launches, self._single_steps(arrays))
        self._finish()
        return tuple(made[t] if t not in results[:k] else made[t].copy() for k, t in enumerate(results))

    def _wait_for_other_streams(self) -> None:
        """Runs on other streams of a device share the memory between kernels: this one waits for
        them.
        """
        if isinstance(self._placement, OnDevice):
            stream = self._placement.device.stream
            self._placement.device.order(self._stream, stream)
            self._stream = stream

    def fill(self, position: int, array: Any) -> None:
        """Set a data input, by its position. Arrays of NumPy's are copied to the device where the
        program runs.

        Raises:
            CallError: on a device: a value outside its range.
        """
        slot = self.inputs[position]
        if isinstance(slot, gpu.DeviceArray):
            tensor = self._interface.data[position]
            self._checks.forget(tensor)
            self._checks.check(tensor, array)
            self._wait_for_other_streams()
            slot.set(array)
        else:
            np.copyto(slot, array)

    def run(self) -> None:
        """Run on what `inputs` hold, assignments included."""
        with self._lock.exclusive():
            self._compute()
            self._commit()

    def compute(self) -> None:
        """Run without the assignments."""
        with self._lock.exclusive():
            self._compute()

    def commit(self) -> None:
        """Make the assignments of the last `compute`, if there are any left."""
        with (guard := self._lock).lock:  # `RunLock.exclusive`, written out, for small steps
            if guard.running:
                guard.raise_busy()
            try:
                guard.running = True
                self._commit()
            finally:
                guard.running = False

    def _compute(self) -> None:
        self._to_commit = None
        if self._prepacked.stale:
            self._prepacked.renew()
        self._checks.check_rest(self._checks.checked, self._memory.fixed.__getitem__)
        if isinstance(self._placement, OnDevice):
            self._wait_for_other_streams()
            self._memory.scalars.copy()
        watcher = watching.get()
        if watcher is None:
            self.bound()()
            self._to_commit = self._finish
        else:
            self._watched(watcher)
            self._to_commit = self._exchange

    def _watched(self, watcher: Profile) -> None:
        """Run kernel by kernel, all of them on spare arrays: each may begin anew."""
        arrays = self._memory.spare()
        for tensor, check in self._checks.native:
            check([arrays[tensor]], {})
        for event in self._events:
            if event.waits:
                event.call()
        watcher.run(self._name, self._launches, self._single_steps(arrays))
        self._memory.store_results(arrays)
        for event in self._events:
            if not event.waits:
                event.call()

    def _single_steps(self, arrays: dict[Tensor, Any]) -> list[_Step]:
        """The kernels one by one, each waited for."""
        return [self._placement.single(n, arrays, self._raiser([n])) for n in self._launches]

    def _commit(self) -> None:
        if self._to_commit is not None:
            self._to_commit()

    def _finish(self, in_place: _Step | None = None) -> None:
        """Run the in-place updates, and exchange the arrays of other variables, once nothing can
        fail any more.

        Args:
            in_place: runs the in-place updates; on the arrays that stay, unless given.
        """
        with deferred_interrupts:
            announce_changes(self._updates)
            last = (in_place or self.bound(True)) if self._memory.in_place else None
            self._to_commit = None
            try:
                if last is not None:
                    last()
                exchange_arrays(self._memory.exchanged)
            finally:
                report_changes(self._updates)

    def _exchange(self) -> None:
        """The new values of all variables lie in their spare arrays."""
        with deferred_interrupts:
            announce_changes(self._updates)
            self._to_commit = None
            exchange_arrays(self._updates)
            report_changes(self._updates)

    def profile(self, repeats: int) -> list[Timing]:
        """The time of each launch; results stay, and nothing is assigned."""
        rows = []
        with self._lock.exclusive():
            results, self._to_commit = [r.copy() for r in self.results], None
            arrays = self._memory.restartable(self._order.overwrites)
            for launch, step in zip(self._launches, self._single_steps(arrays)):
                step()
                seconds = statistics.median(_seconds(step) for _ in range(repeats))
                rate = launch.operations / max(seconds, 1e-9) / 1e9
                rows.append(Timing(launch.program.name, shapes_of(launch), seconds * 1e3, rate))
            for array, result in zip(self.results, results):
                array[...] = result
        return rows

    def bound(self, in_place: bool = False) -> _Step:
        """One run on the arrays that the variables have now: of the launches that may fail, or
        of the in-place updates.
        """
        key = (in_place, *map(id, map(array_of, self._variables)))
        found = self._bindings.get(key)
        if found is None:
            if len(self._bindings) >= _BINDINGS:
                self._bindings.clear()
            with uncollected():
                found = self._sequence(self._order.in_place) if in_place else self._first()
                self._bindings[key] = found
        return found

    def _sequence(self, launches: Sequence[Launch], ranges: Sequence[Range] = ()) -> _Step:
        raiser = self._raiser([*ranges, *launches])
        return self._placement.sequence(self._name, ranges, launches, self._memory.arrays(), raiser)

    def _first(self) -> _Step:
        """The launches that may fail, with what happens between them."""
        if not self._events:
            return self._sequence(self._order.first, self._checks.native)
        steps: list[_Step] = []
        for k, (launches, event) in enumerate(pieces(self._order.first, self._events)):
            ranges = () if k else self._checks.native
            steps += [self._sequence(launches, ranges)] if launches or ranges else []
            steps += [] if event is None else [event.call]

        def run() -> None:
            for step in steps:
                step()

        return run

    def _bound_function(self) -> tuple[Function, WrittenMemory]:
        """The run as a function, on the arrays that the variables have now."""
        key = tuple(map(id, map(self._array_of, self._variables)))
        return self._functions.get(key) or self._function()

    def _function(self) -> tuple[Function, WrittenMemory]:
        """The run as a function of the data, but for what is committed then, and what that
        writes.
        """
        assert isinstance(self._placement, Host)
        if len(self._functions) >= _BINDINGS:
            self._functions.clear()
        order, ranges, interface = self._order, self._checks.native, self._interface
        first = [n for n in order.first if n not in self._prepacked.once]
        with uncollected():
            arrays = self._memory.call_arrays(self._parameters)
            found = self._placement.function(
                self._name,
                ranges,
                first,
                order.in_place,
                arrays,
                self._raiser([*ranges, *first, *order.in_place]),
                [self._parameters[t] for t in interface.data],
                [self._parameters[t] for t in dict.fromkeys(interface.results)],
            )
        key = tuple(id(arrays[interface.variables[v]]) for v in self._variables)
        return self._functions.setdefault(key, (found, WrittenMemory(self._memory.assigned)))

    def _raiser(self, entries: Sequence[Range | Launch]) -> Callable[[int], None]:
        """A function that raises the error of the entry that failed."""

        def fail(position: int) -> None:
            entry = entries[position]
            if isinstance(entry, Launch):
                error = take_error()
                raise error or ResourceError(
                    f"{entry.program.name} ran out of memory for its intermediate arrays"
                )
            tensor, check = entry
            check([self._value_of(tensor)], {})

        return fail

    def _value_of(self, tensor: Tensor) -> Any:
        """The value of an input in the run that goes on."""
        interface = self._interface
        variable = next((v for v, t in interface.variables.items() if t is tensor), None)
        if variable is not None:
            return array_of(variable)
        return self._given[interface.data.index(tensor)] if self._given else self._memory.fixed[tensor]


def _seconds(step: _Step) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start
