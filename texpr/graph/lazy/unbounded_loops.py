"""Loops of as many steps as their values say: operators of the runtime (`extern`), which run two
compiled plans in turn.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, NoReturn

import numpy as np

from texpr import autodiff
from texpr.graph.capture.capture import Capture
from texpr.graph.execution.plan import Plan
from texpr.ir.build import integer
from texpr.ir.dtypes import numbers_of, stored
from texpr.ir.expr import Tensor
from texpr.ir.extern import keep_in_process, register_extern
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Program
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import replace
from texpr.support.once import once


@functools.lru_cache(maxsize=512)
def loop_program(holds: Program, step: Program, carries: int) -> Program:
    """The operator `carried values, what `holds` shares, what `step` shares -> carried values`.

    Its name is that of the two texts, so that what was compiled for them is found again.

    Args:
        holds: the condition, of the carried values and what it shares.
        step: the next carried values, of these and what it shares.
    """
    text = show_program(holds, with_callees=True) + show_program(step, with_callees=True)
    name = f"while_loop_{sha256(text.encode()).hexdigest()[:12]}"
    register_extern(name, _Loop(holds, step, carries))
    autodiff.register_vjp(name, _refuse)
    keep_in_process(name, "it holds a while_loop, which runs in Python")
    given = [*step.inputs[:carries], *holds.inputs[carries:], *step.inputs[carries:]]
    inputs = tuple(_named(t, f"x{k}") for k, t in enumerate(given))
    outputs = tuple(_named(t, f"y{k}") for k, t in enumerate(step.outputs[:carries]))
    return Program(name, inputs, outputs, ())


def _named(tensor: Tensor, name: str) -> Tensor:
    return replace(tensor, name=name, distinct=False)


def _refuse(program: Program, wrt: Sequence[str], outputs: Sequence[str]) -> NoReturn:
    raise CheckError(
        "no gradient flows through while_loop: the number of its steps is not known before it runs",
        code="gradient",
        help="tx.scan(f, init, length=...) has gradients; or detach what comes out: .detach()",
    )


class _Loop:
    """The function behind a loop, of arrays."""

    def __init__(self, holds: Program, step: Program, carries: int) -> None:
        self._holds, self._step, self._carries = holds, step, carries

    def __call__(self, *arrays: np.ndarray) -> Any:
        holds, step = self._plans
        shared = len(self._holds.inputs) - self._carries
        given = [self._stored(a, t) for a, t in zip(arrays, self._tensors, strict=True)]
        carried = tuple(given[: self._carries])
        of_holds = given[self._carries : self._carries + shared]
        of_step = given[self._carries + shared :]
        while bool(np.asarray(next(iter(holds(*carried, *of_holds))))):
            carried = step(*carried, *of_step)
        found = [
            numbers_of(np.asarray(c), t.dtype) if t.dtype.as_bits else np.array(c)
            for c, t in zip(carried, self._step.outputs)
        ]
        return tuple(found) if len(found) > 1 else found[0]

    @once
    def _tensors(self) -> list[Tensor]:
        carries = self._carries
        return [*self._step.inputs[:carries], *self._holds.inputs[carries:], *self._step.inputs[carries:]]

    @once
    def _plans(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        return _plan(self._holds), _plan(self._step)

    @staticmethod
    def _stored(array: np.ndarray, tensor: Tensor) -> np.ndarray:
        return stored(array, tensor.dtype) if tensor.dtype.as_bits else np.asarray(array, order="C")


def _plan(program: Program) -> Plan:
    """A program as a plan of its own."""
    capture = Capture(program.name)
    inputs = [capture.input(t.name, tuple(integer(s) or 0 for s in t.shape), t.dtype) for t in program.inputs]
    return Plan(capture, list(capture.call(program, inputs)))
