"""A function while it is run to see what it computes, and what a call of it does besides giving
results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from texpr import ops
from texpr.compiler import Op
from texpr.graph.arrays.recording import is_recording, recording
from texpr.graph.capture.capture import Capture
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.capture.variable import Variable
from texpr.graph.execution.placement import to_host
from texpr.graph.lazy.computation_cache import ComputationCache
from texpr.graph.lazy.devices import common_device
from texpr.graph.lazy.lazy_tensor import Node, Tensor, leaf_of
from texpr.ir import expr
from texpr.ir.dtypes import DType, from_numpy
from texpr.ir.tensor import Program
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen


class Number(Tensor):
    """A number of Python: it takes the dtype of what it meets."""

    __slots__ = ()

    def __init__(self, value: np.ndarray) -> None:
        super().__init__((), from_numpy(value.dtype), value)  # type: ignore[arg-type]


class Tracing(Capture):
    """A capture of a function.

    Attributes:
        differentiates: the function asks for gradients.
        started: parameters whose gradients the function reads as they are at first, with what
            stands for them; None where there are none.
        gradients_of: parameters that the function reads or gives gradients, with what these are in
            the end.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name if name.isidentifier() else "function")
        self.differentiates = False
        self.started: dict[Any, Symbolic | None] = {}
        self.gradients_of: dict[Any, Symbolic | None] = {}
        self._arguments: list[tuple[Symbolic, expr.Tensor]] = []
        self._outside: dict[int, tuple[Tensor, Symbolic]] = {}
        self._parameters: list[tuple[Any, Symbolic]] = []
        """Parameters with each value that they have meanwhile."""

    def leaf(self, name: str, x: Tensor) -> Symbolic:
        """An argument of this shape and dtype."""
        found = self.input(name, x.shape, x.dtype)
        found.weak = isinstance(x, Number)
        self._arguments.append((found, found.tensor))
        if x.requires_grad and not x.stops:
            self.make_leaf(found)
        return found

    def assigned(self) -> dict[int, Symbolic]:
        """Arguments to whose elements the function assigns, by position, with what they are in
        the end.
        """
        return {
            k: x
            for k, (x, at_first) in enumerate(self._arguments)
            if x.tensor is not at_first and not x.is_leaf
        }

    def variable(self, variable: Variable) -> Symbolic:
        if variable not in self.variables:
            super().variable(variable)
            self._note_value(variable, self.variables[variable])
        return Symbolic(self.variables[variable], self)

    def assign(self, variable: Variable, value: Symbolic) -> None:
        super().assign(variable, value)
        own = Symbolic(self.updates[variable], self)
        with recording(False):
            own = ops.copy(
                own
            )  # gradients flow through what was assigned, not through what the variable is now
        self.updates[variable] = own.tensor
        self._note_value(variable, own.tensor)

    def _note_value(self, variable: Any, value: expr.Tensor) -> None:
        if variable.dtype.is_float and getattr(variable, "requires_grad", False):
            handle = Symbolic(value, self)
            self.make_leaf(handle)
            self._parameters.append((variable, handle))

    def data_of(self, variable: Variable, data: Any) -> Any:
        return data if any(v is variable for v in self.made) else self.latest(variable)

    def gradient_of(self, variable: Variable, gradient: Any) -> Any:
        if variable not in self.gradients_of:
            found = None if gradient is None else self.input("gradient", gradient.shape, gradient.dtype)
            self.started[variable] = self.gradients_of[variable] = found
        return self.gradients_of[variable]

    def takes_gradient(self, variable: Variable, gradient: Any) -> bool:
        self.gradients_of[variable] = None if gradient is None else self.lift(gradient)
        return True

    def lift(self, x: Any) -> Any:
        """A tensor that was made outside, an array or a variable as part of the program;
        anything else as it is.
        """
        if isinstance(x, Symbolic):
            return x
        if isinstance(x, Variable):
            return self.latest(x)
        if isinstance(x, Tensor):
            if x.requires_grad:
                raise CallError(
                    "a tensor that requires a gradient was made outside of the function that is traced",
                    code="symbolic",
                    help="pass it as an argument, and return its gradient",
                )
            if id(x) not in self._outside:
                self._outside[id(x)] = x, self.constant(to_host(x.realize().value), dtype=x.dtype)  # type: ignore[arg-type]
            return self._outside[id(x)][1]
        return self.constant(x) if isinstance(x, np.ndarray) else x

    def _argument(self, operator: Op, formal: expr.Tensor, value: object) -> Symbolic:
        return super()._argument(operator, formal, self.lift(value) if isinstance(value, Tensor) else value)

    def backward(self, loss: Symbolic, create_graph: bool = False) -> None:
        """Add to the gradients of arguments and of parameters."""
        self.differentiates = True
        super().backward(loss, create_graph)
        for parameter, value in self._parameters:
            if value.grad is not None:
                before, found = parameter.grad, value.grad
                with recording(create_graph):
                    parameter.grad, value.grad = found if before is None else before + found, None


@frozen
class GradientFlow:
    """Gradients through a call from outside: it is one call of a program.

    Attributes:
        program: its inputs are arguments, the values of `variables`, and `constants`.
        places: of each result that is a tensor, which output it is, and True if gradients flow
            through it.
    """

    program: Program
    places: tuple[tuple[int, bool], ...]
    variables: tuple[Variable, ...]
    constants: tuple[Tensor, ...]
    cache: ComputationCache

    @staticmethod
    def of(capture: Tracing, results: Sequence[Symbolic]) -> GradientFlow | None:
        """None where none flow: the function gives numbers where it takes gradients itself, or
        changes variables.
        """
        if capture.differentiates or capture.updates or not any(map(capture.is_varying, results)):
            return None
        outputs = tuple(dict.fromkeys(r.tensor for r in results))
        places = tuple((outputs.index(r.tensor), capture.is_varying(r)) for r in results)
        constants = tuple(Tensor(a.shape, t.dtype, a) for t, a in capture.constants.items())
        return GradientFlow(
            capture.differentiable(outputs),
            places,
            tuple(capture.variables),
            constants,
            ComputationCache(weight=1),
        )

    def note(self, arguments: Sequence[Tensor], results: Sequence[Tensor]) -> None:
        """Let gradients flow from results to arguments and parameters, if some require them."""
        given = (*arguments, *map(leaf_of, self.variables), *self.constants)
        if not is_recording() or not any(a.requires_grad and not a.stops for a in given):
            return
        node = Node(self.program, given, self.cache, common_device(self.program.name, given))
        for result, (place, varies) in zip(results, self.places, strict=True):
            if varies and result.dtype.is_float:
                result.node, result.index, result.requires_grad = node, place, True


@frozen
class Effects:
    """Effects of a call besides updates of variables.

    Attributes:
        assigned: positions of tensors among the arguments that get other values.
        started: parameters whose gradients are read; True where they must be None.
        gradients: parameters that get others, True where these are values of the program, not None.
    """

    assigned: tuple[int, ...]
    started: tuple[tuple[Any, bool], ...]
    gradients: tuple[tuple[Any, bool], ...]

    @staticmethod
    def of(capture: Tracing) -> tuple[Effects, list[Symbolic]]:
        """The effects, and the values that they need."""
        assigned = capture.assigned()
        changed = {
            p: g
            for p, g in capture.gradients_of.items()
            if p not in capture.started or g is not capture.started[p]
        }
        started = tuple((p, g is None) for p, g in capture.started.items())
        values = [*assigned.values(), *(g for g in changed.values() if g is not None)]
        return Effects(
            tuple(assigned), started, tuple((p, g is not None) for p, g in changed.items())
        ), values

    @property
    def are_valid(self) -> bool:
        """True if parameters have gradients where they had some when the function was traced."""
        return all((p.grad is None) == absent for p, absent in self.started)

    def read(self) -> list[Any]:
        """The gradients that the program reads."""
        return [p.grad.realize().value for p, absent in self.started if not absent]

    def make(self, arguments: Sequence[Tensor], values: Sequence[Any]) -> None:
        """Let arguments and gradients be what they are after a call."""
        rest = iter(values)
        for k in self.assigned:
            arguments[k].set_value(next(rest))
        for p, given in self.gradients:
            p.grad = result_tensor(next(rest), p.dtype) if given else None

    def __bool__(self) -> bool:
        return bool(self.assigned or self.started or self.gradients)


def result_tensor(value: Any, dtype: DType) -> Tensor:
    """A result as a tensor."""
    found = Tensor(value.shape, dtype, value)
    found.stops = False
    return found
