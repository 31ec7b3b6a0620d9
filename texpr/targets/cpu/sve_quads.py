"""Products of SVE with one element of each 128 bits of a register: a row is loaded as quads,
which stand in every part of one.
"""

from __future__ import annotations

from collections.abc import Callable

from texpr.ir.affine import Linear
from texpr.ir.build import integer, product
from texpr.ir.dtypes import F32, F64
from texpr.ir.expr import Expr, Mul, Read, Tensor
from texpr.ir.loop import Store
from texpr.passes.analysis.row_major import flat_index
from texpr.support.frozen_dataclass import frozen

PART = 16
"""Bytes that are loaded into each part of a register."""


@frozen
class QuadProduct:
    """The product that a statement adds to lanes: other lanes, times one element of a tensor.

    Attributes:
        first: the position of the first of the neighbours that are loaded together.
        place: of the element among them.
    """

    lanes: Expr
    tensor: Tensor
    first: Linear
    place: int


def quad_product(s: Store, differs: Callable[[Expr], bool]) -> QuadProduct | None:
    """The product that a statement adds, if it is lanes times an element, and all neighbours of the
    element are elements of the tensor.

    Args:
        differs: whether an expression differs between lanes.
    """
    if s.update != "add" or s.tensor.dtype not in (F32, F64) or not isinstance(s.value, Mul):
        return None
    for one, lanes in ((s.value.lhs, s.value.rhs), (s.value.rhs, s.value.lhs)):
        if (
            not isinstance(one, Read)
            or one.tensor.dtype != s.tensor.dtype
            or differs(one)
            or not differs(lanes)
        ):
            continue
        count, size, flat = (
            PART // one.tensor.dtype.bytes,
            integer(product(one.tensor.shape)),
            flat_index(one.tensor, one.indices),
        )
        if size is not None and size % count == 0 and all(c % count == 0 for _, c in flat.terms):
            place = flat.constant % count
            return QuadProduct(lanes, one.tensor, Linear(flat.terms, flat.constant - place), place)
    return None
