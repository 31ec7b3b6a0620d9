"""The tensors of a captured program that stand for something outside of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import numpy as np

from texpr.graph.capture.capture import Capture
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.capture.variable import Variable
from texpr.graph.execution.parcels import Parcel
from texpr.ir.expr import Tensor
from texpr.ir.tensor import Program
from texpr.support.frozen_dataclass import frozen


@frozen
class Interface:
    """Inputs that callers and variables give a program, and its results and updates.

    Attributes:
        name: of the program.
        captured: gives the program as it was captured.
        data: inputs that are given at every run.
        variables: each with the input that is its value before a run.
        constants: inputs with their values.
        updates: for each variable that the program assigns to, its value after a run.
        results: what a run returns; a tensor may be there twice.
        distinct_rows: for inputs whose rows must hold each value once, the lengths of such rows.
        sent: what leaves the program in groups while it runs.
    """

    name: str
    captured: Callable[[], Program]
    data: tuple[Tensor, ...]
    variables: Mapping[Variable, Tensor]
    constants: Mapping[Tensor, np.ndarray]
    updates: Mapping[Variable, Tensor]
    results: tuple[Tensor, ...]
    distinct_rows: Mapping[Tensor, set[int]]
    sent: Mapping[Parcel, tuple[Tensor, ...]]

    @staticmethod
    def of(capture: Capture, results: Sequence[Symbolic], parcels: Sequence[Parcel] = ()) -> Interface:
        """The program of a capture with these results. Results that it does not compute are
        copied, in the capture.
        """
        found = tuple(capture.own_result(r).tensor for r in results)
        sent = {p: tuple(r.tensor for r in p.results) for p in parcels}
        outputs = dict.fromkeys((*found, *capture.updates.values(), *chain(*sent.values())))
        program = capture.program(tuple(outputs))
        first, last = len(capture.inputs), len(capture.inputs) + len(capture.variables)
        rows = map(capture.rows.get, (*capture.inputs, *capture.variables.values(), *capture.constants))
        return Interface(
            program.name,
            lambda: program,
            program.inputs[:first],
            dict(zip(capture.variables, program.inputs[first:last])),
            dict(zip(program.inputs[last:], capture.constants.values())),
            dict(capture.updates),
            found,
            {t: lengths for t, lengths in zip(program.inputs, rows) if lengths},
            sent,
        )

    @property
    def unchanged(self) -> set[Tensor]:
        """The values of variables to which the program does not assign."""
        return {t for v, t in self.variables.items() if v not in self.updates}

    @property
    def updated_tensors(self) -> dict[Tensor, Tensor]:
        """The updates as tensors: values before and after a run."""
        return {self.variables[v]: t for v, t in self.updates.items()}
