"""The capture as its symbolic tensors see it, and the variable as its methods see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from texpr.compiler import Op
from texpr.graph.arrays.recording import active_capture
from texpr.ir.dtypes import DType
from texpr.ir.expr import Tensor
from texpr.ir.tensor import Equation, Invoke


class CaptureLike(Protocol):
    """The `Capture` behind a `Symbolic` tensor, which records the operators that are applied to it.

    Attributes: see `Capture`.
    """

    inputs: list[Tensor]
    variables: dict[Any, Tensor]
    constants: dict[Tensor, np.ndarray]
    depth: int
    equations: list[Equation | Invoke]

    def made_by(self, source: Any) -> AbstractContextManager[None]:
        """Attribute the work captured in the block to `source`."""
        ...

    def renamed(self, tensor: Tensor) -> Tensor:
        """The same tensor under a name that is free."""
        ...

    def recompute(self, start: int, outputs: Any) -> None:
        """Let gradients compute the equations from `start` on again."""
        ...

    def variable(self, variable: Any) -> Any:
        """The value that a variable has at the start of the program."""
        ...

    def latest(self, variable: Any) -> Any:
        """The value that a variable has so far."""
        ...

    def assign(self, variable: Any, value: Any) -> None:
        """Let a variable have this value after the program."""
        ...

    def apply(self, operator: Op, inputs: Mapping[str, object], constants: Mapping[str, object]) -> Any:
        """Append a call of `operator`."""
        ...

    def constant(self, value: np.ndarray, name: str = "constant", dtype: DType | None = None) -> Any:
        """An array that is the same in every run."""
        ...

    def lift(self, x: Any) -> Any:
        """A variable or an array as part of the program; symbolic tensors and anything else as
        they are.
        """
        ...

    def backward(self, loss: Any, create_graph: bool = False) -> None:
        """Add the derivatives of a number to `grad` of the leaves that it is computed from."""
        ...

    def make_leaf(self, x: Any) -> None:
        """Let `backward` give an input, or a result through which no gradient flows, its
        gradient.
        """
        ...

    def end_leaf(self, x: Any) -> None:
        """Let `backward` give a tensor no gradient any more."""
        ...

    def let_flow(self, x: Any) -> None:
        """Let gradients flow through a result again."""
        ...

    def stop(self, x: Any) -> Any:
        """Let no gradient flow through a result; the result."""
        ...

    def is_varying(self, x: Any) -> bool:
        """True if gradients flow through a tensor to leaves."""
        ...


class VariableLike(Protocol):
    """The part of a `Variable` that methods and operators use."""

    name: str
    dtype: DType

    @property
    def data(self) -> Any:
        """The value as an array."""
        ...

    @data.setter
    def data(self, value: object) -> None: ...


class Evaluation:
    """Conversion of a variable outside of every capture into a tensor, set by `graph.lazy`, which
    stands above.

    Attributes:
        leaf_of: the lazy tensor that stands for the value that a variable has now.
    """

    leaf_of: Callable[[Any], Any]


def value_of(variable: VariableLike) -> Any:
    """The value of a variable as a tensor, which passes gradients to it; while a program is
    captured, a tensor of that.
    """
    capture = active_capture.get()
    return Evaluation.leaf_of(variable).own() if capture is None else capture.latest(variable)
