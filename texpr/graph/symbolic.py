"""What stands for an array while a program is captured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from texpr.compiler import Op
from texpr.graph.arrays import calls
from texpr.graph.arrays.assigning import with_elements
from texpr.graph.arrays.methods import ArrayMethods
from texpr.ir.build import integer
from texpr.ir.dtypes import DType
from texpr.ir.expr import Tensor
from texpr.support.errors import CallError

if TYPE_CHECKING:
    from texpr.graph.capture import Capture


class Symbolic(ArrayMethods):
    """A tensor of a program that is being captured: a shape and a dtype, no values. Operators applied to it become equations.

    Attributes:
        tensor: of the captured program.
        capture: what records the operators.
        weak: it stands for a number of Python, which takes the dtype of what it meets.
    """

    __slots__ = ("capture", "tensor", "weak")

    def __init__(self, tensor: Tensor, capture: Capture) -> None:
        self.tensor, self.capture, self.weak = tensor, capture, False

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(integer(size) for size in self.tensor.shape)  # type: ignore[misc]

    @property
    def dtype(self) -> DType:
        return self.tensor.dtype

    def __texpr_call__(self, operator: Op, inputs: Mapping[str, object], constants: Mapping[str, object]) -> object:
        return self.capture.apply(operator, inputs, constants)

    def __setitem__(self, key: object, value: object) -> None:
        """Give the name `x` of `x[key] = value` another value; what was computed from it before keeps the old one.

        Raises:
            CallError: an argument that requires a gradient; an array of integers as index; shapes that do not fit.
        """
        if getattr(self, "requires_grad", False):
            raise CallError("elements of a tensor that requires a gradient are assigned", code="gradient",
                            help="compute a new tensor: where(condition, values, x)")
        new = with_elements(self, key, calls.operand(value), lambda array: self.capture.constant(np.asarray(array)))
        self.tensor, self.weak = new.tensor, False

    def backward(self) -> None:
        """Ask for the derivatives of this number in the arguments that require them: they are in their `grad` then.

        Raises:
            CallError: it is no single float, or no argument requires a gradient.
        """
        self.capture.backward(self)

    def detach(self) -> Symbolic:
        """The same values, through which no gradient flows."""
        return calls.unary("constant_of", "detach({0})", self, self.dtype)

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise self._no_values("an array")

    def __bool__(self) -> NoReturn:
        raise self._no_values("true or false")

    def __float__(self) -> NoReturn:
        raise self._no_values("a number")

    __int__ = __index__ = __float__

    def numpy(self) -> NoReturn:
        """There are no values yet: an error that says so."""
        raise self._no_values("an array")

    item = tolist = realize = numpy

    def _no_values(self, wanted: str) -> CallError:
        return CallError(f"`{self.tensor.name}` stands for {self.dtype}{list(self.shape)} while a program is captured, without values, "
                         f"and {wanted} was asked of it", code="symbolic", help="use operators of texpr.ops, or write one with tx.op")

    def __repr__(self) -> str:
        return f"<symbolic {self.tensor.name}: {self.dtype}[{', '.join(map(str, self.shape))}]>"
