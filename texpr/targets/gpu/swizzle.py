"""Addresses in swizzled buffers: the unit that an element lies in is another one than its position says."""

from __future__ import annotations

from texpr.ir.affine import Linear
from texpr.ir.dtypes import I64
from texpr.ir.expr import Tensor
from texpr.ir.swizzle import Swizzle
from texpr.support.errors import CompileError
from texpr.targets.emit.function import Value
from texpr.targets.emit.memory_access import Accesses


def check_inside(tensor: Tensor, first: Linear, run: int) -> None:
    """So many neighbours lie in one unit, wherever they begin.

    Args:
        first: the position of the first one.
    Raises:
        CompileError: they may not.
    """
    assert tensor.swizzle is not None
    if tensor.swizzle.unit % run or any(c % run for c in (first.constant, *(c for _, c in first.terms))):
        raise CompileError(f"{run} neighbours of {tensor.name} are used at once, which {tensor.swizzle} may have moved apart",
                           code="target",
                           help="they must begin at multiples of their number; use units of as many elements, or leave the buffer as it is")


def away(emitter: Accesses, first: Linear, lies: Swizzle) -> Value:
    """How far from its position an element lies. Terms that do not change the pattern are left out: neighbouring rows of tiles share it."""
    period = lies.row * lies.count
    near = Linear(tuple((t, c) for t, c in first.terms if c % period), first.constant % period)
    at, units = emitter.position(near), (lies.count - 1) * lies.unit

    def one(instruction: str) -> Value:
        return Value(emitter.function.pure(instruction), I64)

    unit = one(f"and {at}, {units}")
    pattern = one(f"and {one(f'lshr {at}, {lies.row.bit_length() - lies.unit.bit_length()}')}, {units}")
    return one(f"sub {one(f'xor {unit}, {pattern.text}')}, {unit.text}")
