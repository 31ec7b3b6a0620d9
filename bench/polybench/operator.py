"""The operators: read, scheduled and compiled for fixed sizes."""

from __future__ import annotations

from functools import cache

import numpy as np

import texpr as tx
from bench.polybench.native import function_name
from bench.polybench.table import FOLDER, Arrays, Kernel, Sizes


@cache
def load(kernel: Kernel) -> tx.Op:
    """The operator of a kernel."""
    return getattr(tx.load(FOLDER / f"{kernel.name}.tx"), function_name(kernel))


def schedule(kernel: Kernel, sizes: Sizes) -> tx.Schedule:
    """The default schedule, then folded storage for the recurrences that the table names."""
    made = tx.schedule(load(kernel), **sizes).auto()
    for tensor in kernel.folded.split():
        made.fold(tensor, 0)
    return made


class Compiled:
    """A scheduled operator as a function of its inputs, which writes the same outputs every
    time.
    """

    def __init__(self, kernel: Kernel, sizes: Sizes) -> None:
        self._kernel = schedule(kernel, sizes).compile()
        self._outputs: tuple[np.ndarray, ...] = ()

    def __call__(self, inputs: Arrays) -> tuple[np.ndarray, ...]:
        if self._outputs:
            self._kernel(*inputs.values(), *self._outputs)
        else:
            self._outputs = results(self._kernel(*inputs.values()))
        return self._outputs


def is_proven(kernel: Kernel, sizes: Sizes) -> bool:
    """Whether the final loops of the schedule are proven to compute the operator."""
    try:
        schedule(kernel, sizes).certificate()
    except tx.ScheduleError:
        return False
    return True


def interpret(kernel: Kernel, sizes: Sizes, inputs: Arrays) -> tuple[np.ndarray, ...]:
    """What the operator means."""
    operator = load(kernel)
    return results(
        tx.interpret(
            operator, *inputs.values(), **{c.name: sizes[c.name] for c in operator.signature.constants}
        )
    )


def results(value: object) -> tuple[np.ndarray, ...]:
    """Results as a tuple."""
    return tuple(map(np.asarray, value)) if isinstance(value, tuple | list) else (np.asarray(value),)
