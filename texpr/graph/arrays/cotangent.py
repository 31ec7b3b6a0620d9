"""Differentiation that tensors with and without values share."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr.graph.arrays import array_functions
from texpr.support.errors import CallError


def number_of(x: Any) -> Any:
    """The tensor as the number that is differentiated.

    Raises:
        CallError: it has several elements.
    """
    if x.shape != ():
        raise CallError(
            f"the tensor is {list(x.shape)}, no single number",
            code="gradient",
            help="reduce it, for example with .sum(), or give a cotangent: .backward(g)",
        )
    return x


def weighted(x: Any, cotangent: Any) -> Any:
    """The sum of the elements of a tensor, each times that of the cotangent.

    Raises:
        CallError: the cotangent has another shape.
    """
    shape = tuple(np.shape(cotangent))
    if shape != x.shape:
        raise CallError(f"the cotangent is {list(shape)}, the tensor {list(x.shape)}", code="shape")
    return (x * cotangent).sum()


def check_leaf(x: Any, requires_grad: bool) -> None:
    """Refuse what cannot ask for gradients, or cannot stop to.

    Raises:
        CallError: it is not of floats, or computed from other tensors that require gradients.
    """
    if requires_grad and not x.dtype.is_float:
        raise CallError(
            f"a tensor of {x.dtype} has no gradient", code="gradient", help='convert it: .astype("f32")'
        )
    if not requires_grad and x.requires_grad and not x.is_leaf:
        raise CallError(
            "the tensor is computed from others that require gradients", code="gradient", help="use .detach()"
        )


def operand_of(gradient: object) -> Any:
    """A cotangent as an operand."""
    return array_functions.operand(gradient)
