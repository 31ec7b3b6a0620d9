"""Symbolic tensors, in place of arrays while a program is captured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from texpr import ops
from texpr.compiler import Op
from texpr.graph.arrays import array_functions
from texpr.graph.arrays.cotangent import check_leaf, number_of, operand_of, weighted
from texpr.graph.arrays.methods import ArrayMethods
from texpr.graph.arrays.recording import recording
from texpr.graph.arrays.setitem import with_elements
from texpr.graph.capture.protocol import CaptureLike
from texpr.ir.build import integer
from texpr.ir.dtypes import DType
from texpr.ir.expr import Tensor
from texpr.support.errors import CallError


class Symbolic(ArrayMethods):
    """A tensor of a program that is being captured: a shape and a dtype, no values. Operators
    applied to it become equations.

    Attributes:
        tensor: of the captured program.
        capture: what records the operators.
        weak: it stands for a number of Python, which takes the dtype of what it meets.
        is_leaf: `backward()` adds its gradient to `grad`.
        grad: the derivatives that `backward()` has added up; None before.
    """

    __slots__ = ("capture", "grad", "is_leaf", "tensor", "weak")

    def __init__(self, tensor: Tensor, capture: CaptureLike) -> None:
        self.tensor, self.capture, self.weak, self.is_leaf = tensor, capture, False, False
        self.grad: Symbolic | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(integer(size) for size in self.tensor.shape)  # type: ignore[misc]

    @property
    def dtype(self) -> DType:
        return self.tensor.dtype

    @property
    def requires_grad(self) -> bool:
        """True if gradients flow through the tensor to leaves, or it is one."""
        return self.capture.is_varying(self)

    def requires_grad_(self, requires_grad: bool = True) -> Symbolic:
        """Ask for gradients in this tensor, or no longer. What was computed from it before has
        none.

        Raises:
            CallError: it is not of floats, or computed from other tensors that require gradients.
        """
        check_leaf(self, requires_grad)
        if requires_grad and not self.requires_grad:
            self.tensor, self.weak = self.detach().tensor, False
            self.capture.make_leaf(self)
        elif not requires_grad and self.is_leaf:
            self.capture.end_leaf(self)
        return self

    def __texpr_call__(
        self, operator: Op, inputs: Mapping[str, object], constants: Mapping[str, object]
    ) -> object:
        depth = self.capture.depth
        if any(isinstance(value, Symbolic) and value.capture.depth > depth for value in inputs.values()):
            return NotImplemented  # the function inside takes this tensor as an input
        return self.capture.apply(operator, inputs, constants)

    def own(self) -> Symbolic:
        """The same value under a name of its own."""
        found = Symbolic(self.tensor, self.capture)
        found.weak = self.weak
        return found

    def __setitem__(self, key: object, value: object) -> None:
        """Give the name `x` of `x[key] = value` another value; what was computed from it before
        keeps the old one.

        Raises:
            CallError: an argument that requires a gradient; an array of integers as index; shapes
                that do not fit.
        """
        if self.is_leaf:
            raise CallError(
                "elements of a tensor that requires a gradient are assigned",
                code="gradient",
                help="compute a new tensor: where(condition, values, x)",
            )
        new = with_elements(
            self, key, array_functions.operand(value), lambda array: self.capture.constant(np.asarray(array))
        )
        self.tensor, self.weak = new.tensor, False

    def backward(
        self, gradient: object = None, retain_graph: bool | None = None, create_graph: bool = False
    ) -> None:
        """Add d self / d leaf to `leaf.grad` of the leaves that this tensor is computed from, such
        as arguments that require gradients.

        Args:
            gradient, create_graph: see `Tensor.backward`.
        Raises:
            CallError: nothing requires a gradient, or the tensor is no single number and there is
                no cotangent.
        """
        if gradient is None:
            self.capture.backward(number_of(self), create_graph)
            return
        with recording(True):  # a block of `no_grad` is for what is computed in it
            cotangent, flows = self._as_cotangent(operand_of(gradient))
            self.capture.backward(weighted(self, cotangent), create_graph)
        if flows and create_graph:
            self.capture.let_flow(
                cotangent
            )  # in what follows, not here: the cotangent is no variable of this derivative

    def _as_cotangent(self, given: object) -> tuple[Any, bool]:
        """A cotangent through which no gradient flows, and True if one did."""
        if isinstance(given, bool | int | float):
            return given, False
        copied: Symbolic = ops.copy(self.capture.lift(given))  # type: ignore[assignment]
        flows = copied.requires_grad
        return self.capture.stop(copied), flows

    def detach(self) -> Symbolic:
        """The same values, through which no gradient flows."""
        return self.capture.stop(array_functions.unary("constant_of", "detach({0})", self, self.dtype))

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
        decides = not self.shape and any(self.tensor is t for t in self.capture.inputs)
        static = (
            ""
            if not decides
            else '; an argument that decides what is computed is static: tx.jit(static=["name"])'
        )
        help = f"use operators of texpr.ops, or write one with tx.op{static}"  # noqa: A001
        return CallError(
            f"`{self.tensor.name}` stands for {self.dtype}{list(self.shape)} while a program is captured, "
            f"without values, "
            f"and {wanted} was asked of it",
            code="symbolic",
            help=help,
        )

    def __repr__(self) -> str:
        return f"<symbolic {self.tensor.name}: {self.dtype}[{', '.join(map(str, self.shape))}]>"
