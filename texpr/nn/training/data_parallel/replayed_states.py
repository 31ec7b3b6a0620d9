"""States that a step changes besides what it trains: running statistics, seeds of dropout.

One process that takes batches one after the other changes them batch by batch. Ranks take these
batches at once. So each sends what its batch has to say about them, such as the mean of an
activation, and all ranks make the changes of all batches, in the order of the ranks. What changes
by itself, such as a seed, is changed ahead on each rank, as often as there are ranks before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from texpr.autodiff.cleanup.simplify import reads
from texpr.graph import Capture, Plan, Symbolic, Variable
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Tensor
from texpr.ir.tensor import Equation, Invoke
from texpr.runtime.slabs import ALIGNMENT
from texpr.support.once import once

_WORD = 8


class States:
    """The changes of states that a captured program makes, taken out of it.

    Attributes:
        words: of 8 bytes, that a rank sends.
    """

    def __init__(self, capture: Capture, once: Collection[Variable] = ()) -> None:
        """Take the assignments out of a capture.

        Args:
            once: states that change once in a step, not with each batch.
        """
        updates, singly = dict(capture.updates), capture.updates.keys() & set(once)
        capture.updates.clear()
        sliced = _Slice(capture, updates)
        self._once = sliced.program({v: t for v, t in updates.items() if v in singly})
        updates = {v: t for v, t in updates.items() if v not in singly}
        self._whole = sliced.program(updates)
        alone = {v: t for v, t in updates.items() if not sliced.program({v: t}).inputs}
        self._alone = sliced.program(alone)
        self._inputs = [*dict.fromkeys((*self._whole.inputs, *self._once.inputs))]
        self._places, self.words = _places(self._inputs)
        self._capture = capture

    def sent(self) -> list[Symbolic]:
        """Tensors that depend on the batch, and that the changes are computed from, as results of
        the program.
        """
        with self._capture as capture:
            return [capture.own_result(Symbolic(t, capture)) for t in self._inputs]

    @property
    def variables(self) -> list[Variable]:
        """The states that change."""
        return [*self._whole.updates, *self._once.updates]

    def views(self, row: np.ndarray) -> list[np.ndarray]:
        """The arrays of what is sent in a row of words."""
        flat = row.view(np.uint8)
        return [
            flat[at : at + int(np.prod(s.shape, dtype=np.int64)) * numpy_dtype(s.dtype).itemsize]
            .view(numpy_dtype(s.dtype))
            .reshape(s.shape)
            for at, s in zip(self._places, (Symbolic(t, self._capture) for t in self._inputs))
        ]

    @once
    def _change(self) -> Plan:
        return Plan(self._whole, [])

    @once
    def _change_once(self) -> Plan:
        return Plan(self._once, [])

    @once
    def _advance(self) -> Plan:
        return Plan(self._alone, [])

    def change(self, row: np.ndarray, first: bool) -> None:
        """Make the changes of a batch, of which a rank has sent this.

        Args:
            first: it is the first batch of a step.
        """
        arrays = dict(zip(self._inputs, self.views(row)))
        if self._whole.updates:
            _run_on(self._change, [arrays[t] for t in self._whole.inputs])
        if first and self._once.updates:
            _run_on(self._change_once, [arrays[t] for t in self._once.inputs])

    @contextmanager
    def ahead(self, count: int) -> Iterator[None]:
        """Within the block, what changes by itself is where it is after so many other batches."""
        kept = {v: v.held().copy() for v in self._alone.updates} if count else {}
        try:
            for _ in range(count if kept else 0):
                self._advance.run()
            yield
        finally:
            for variable, value in kept.items():
                variable.data = value


class _Slice:
    """The parts of a program that change states."""

    def __init__(self, capture: Capture, updates: dict[Variable, Tensor]) -> None:
        self._capture = capture
        self._made = {t: e for e in capture.equations for t in e.targets}
        data = set(capture.inputs)
        states = {capture.variables[v] for v in updates}
        self._of_batch, self._of_states = self._dependents(data), self._dependents(states)

    def _dependents(self, roots: set[Tensor]) -> set[Tensor]:
        found = set(roots)
        for e in self._capture.equations:
            if not found.isdisjoint(_arguments(e)):
                found.update(e.targets)
        return found

    def program(self, updates: dict[Variable, Tensor]) -> Capture:
        """A program of these updates alone, whose inputs are what depends on the batch and on no
        state.
        """
        whole, needed = self._capture, set(updates.values())
        inputs: dict[Tensor, None] = {}
        equations: list[Equation | Invoke] = []
        for t in [t for t in needed if self._is_sent(t)]:
            inputs[t] = None
        for e in reversed(whole.equations):
            if needed.isdisjoint(e.targets) or all(self._is_sent(t) for t in needed.intersection(e.targets)):
                continue
            equations.append(e)
            needed.update(_arguments(e))
            inputs |= dict.fromkeys(t for t in _arguments(e) if self._is_sent(t))
        found = Capture("states")
        found.inputs = sorted(inputs, key=[*whole.inputs, *self._made].index)
        found.variables = {v: t for v, t in whole.variables.items() if t in needed or v in updates}
        found.constants = {t: a for t, a in whole.constants.items() if t in needed}
        found.equations = equations[::-1]
        found._names = set(whole._names)
        with found:
            for v, t in updates.items():
                found.assign(v, Symbolic(t, found))
        return found

    def _is_sent(self, tensor: Tensor) -> bool:
        return tensor in self._of_batch and tensor not in self._of_states


def _run_on(plan: Plan, arrays: Sequence[np.ndarray]) -> None:
    for k, array in enumerate(arrays):
        plan.fill(k, array)
    plan.run()


def _arguments(equation: Equation | Invoke) -> tuple[Tensor, ...]:
    return equation.args if isinstance(equation, Invoke) else tuple(reads(equation))


def _places(tensors: list[Tensor]) -> tuple[list[int], int]:
    """The bytes where each tensor begins, and the words of all."""
    places, at = [], 0
    for t in tensors:
        places.append(at)
        size = int(np.prod(Symbolic(t, None).shape, dtype=np.int64)) * numpy_dtype(t.dtype).itemsize  # type: ignore[arg-type]
        at += -(-size // ALIGNMENT) * ALIGNMENT
    return places, at // _WORD
