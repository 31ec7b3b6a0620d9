"""Sums whose last tile is filled with terms of 0 * 0: where that changes nothing.

A sum that starts at +0 is never -0 in between, and x + 0 is x for everything else. What is read
past the end is 0 there, but only a product of two zeros is: 0 * inf is NaN, and 0 * -1 is -0.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr import poly
from texpr.ir.build import add, compare, floordiv, mul
from texpr.ir.expr import Add, Axis, Call, Cast, Const, Expr, Mul, Read, Select, index
from texpr.ir.loop import For, If, Kernel, Store
from texpr.ir.traverse import variables
from texpr.schedule.structure.loops import stores


def is_sum(kernel: Kernel, loop: For, store: Store) -> bool:
    """True if iterations of `loop` add terms to an element of a buffer, which starts at +0."""
    starts = [s.value for s in stores_of(kernel, store) if s.update is None]
    return (
        store.update == "add"
        and store.tensor in kernel.temporaries
        and loop.var not in variables(*store.indices)
        and bool(starts)
        and all(_is_zero(e) for e in starts)
    )


def stores_of(kernel: Kernel, store: Store) -> list[Store]:
    """All stores to the tensor of one."""
    return [s for n in kernel.body for s in stores(n) if s.tensor is store.tensor]


def ends_in_zeros(kernel: Kernel, above: Sequence[For | If], loop: For, factor: int, store: Store) -> bool:
    """True if the terms past the end of `loop` are zeros, once whatever is read outside its tensor
    is 0.
    """
    rounded = mul(floordiv(add(loop.extent, index(factor - 1)), index(factor)), index(factor))
    axes = [
        Axis(n.var, loop.extent, rounded) if n is loop else Axis(n.var, index(0), n.extent)
        for n in above
        if isinstance(n, For)
    ]
    known = (*kernel.requires, *(n.cond for n in above if isinstance(n, If)))
    written = {s.tensor for s in stores(loop)}
    stack: list[Expr] = [store.value]
    while stack:
        match stack.pop():
            case Const() as e if _is_zero(e):
                pass
            case Mul(a, b) | Add(a, b) | Select(_, a, b):
                stack += [a, b]
            case Cast(operand) | Call("tf32", (operand,)):
                stack.append(operand)
            case Read(tensor, indices, None) if tensor not in written and any(
                loop.var in variables(i) and poly.always(compare("<=", n, i), axes, known)
                for i, n in zip(indices, tensor.shape)
            ):
                pass
            case _:
                return False
    return True


def _is_zero(e: Expr) -> bool:
    """True if it is 0 and not -0."""
    return isinstance(e, Const) and str(e.value) in ("0", "0.0")
