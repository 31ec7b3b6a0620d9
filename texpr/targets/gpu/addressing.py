"""Addresses on a GPU: address spaces, aligned arrays, swizzled buffers."""

from __future__ import annotations

from math import gcd

from texpr.ir.affine import Linear
from texpr.ir.dtypes import I64
from texpr.ir.expr import Expr, Tensor
from texpr.ir.swizzle import Swizzle
from texpr.passes.analysis.row_major import flat_index
from texpr.support.errors import CompileError
from texpr.targets.emit.function import Value, memory_type
from texpr.targets.emit.memory_access import Accesses
from texpr.targets.gpu.shared_memory import ALIGNMENT

LOCAL, GLOBAL = 0, 1
"""Address spaces of LLVM: of a thread's own memory, and of arrays."""
MOST_OFFSET = 1 << 30
"""Largest offset of an address in an instruction's operand, in bytes."""


class GpuAddressing(Accesses):
    """Adds address spaces and swizzled buffers to accesses of memory.

    Attributes:
        address_spaces: of buffers; other tensors are arrays in global memory.
    """

    address_spaces: dict[Tensor, int]

    def alignment(self, tensor: Tensor, indices: tuple[Expr, ...] = ()) -> int:
        """Alignment in bytes. Arrays on a device begin at multiples of `ALIGNMENT`; the first
        element of a run of lanes may keep it, or a part of it.
        """
        size = tensor.dtype.bytes
        if self.lane is None:
            return size
        flat = flat_index(tensor, indices)
        first = flat.without(self.lane)
        if flat.coefficient(self.lane) != 1 or any(self._differs_between_lanes(t) for t, _ in first.terms):
            return size
        whole = ALIGNMENT if tensor.swizzle is None else size * tensor.swizzle.unit
        return min(
            gcd(ALIGNMENT, whole, size * first.constant, *(size * c for _, c in first.terms)), ALIGNMENT
        )

    def address(self, tensor: Tensor, indices: tuple[Expr, ...]) -> tuple[str, int, int]:
        """The address of an element; of a swizzled buffer it is of one element, or a run of
        neighbours, never a gather.
        """
        if tensor.swizzle is None:
            return super().address(tensor, indices)
        flat = self._flat(tensor, indices)
        step = 0 if self.lane is None else flat.coefficient(self.lane)
        first = flat if self.lane is None else flat.without(self.lane)
        if step not in (0, 1) or any(self._differs_between_lanes(t) for t, _ in first.terms):
            raise CompileError(
                f"lanes use elements of {tensor.name} that lie apart, and it is swizzled",
                code="target",
                help="vectorize a loop along its last dimension, or none",
            )
        if step:
            check_inside(tensor, first, self.lanes)
        at = self.position(Linear(first.terms, 0))
        at = self._pure(f"add {at}, {swizzle_offset(self, first, tensor.swizzle).text}", I64, 0)
        at = self._pure(f"add {at}, {first.constant}", I64, 0)
        address = (
            f"getelementptr {memory_type(tensor.dtype)}, ptr{self.space(tensor)} {self.pointers[tensor]}, "
            f"{at}"
        )
        return self.function.pure(address), self.lanes if step else 0, step

    def split_address(self, tensor: Tensor, indices: tuple[Expr, ...]) -> list[str]:
        """The typed address of an element, or of the first of a run, without its known bytes, and
        these bytes: two operands.
        """
        first, size = self._flat(tensor, indices), tensor.dtype.bytes
        first = first if self.lane is None else first.without(self.lane)
        pointer = f"ptr{self.space(tensor)}"
        if tensor.swizzle is not None or abs(first.constant) * size > MOST_OFFSET:
            return [f"{pointer} {self.address(tensor, indices)[0]}", "i64 0"]
        at = (
            f"getelementptr {memory_type(tensor.dtype)}, {pointer} {self.pointers[tensor]}, "
            f"{self.position(Linear(first.terms, 0))}"
        )
        return [f"{pointer} {self.function.pure(at)}", f"i64 {first.constant * size}"]

    def can_bypass_caches(self, tensor: Tensor, indices: tuple[Expr, ...]) -> bool:
        """False: threads of a GPU have no use for non-temporal stores."""
        return False

    def space_number(self, tensor: Tensor) -> int:
        return self.address_spaces.get(tensor, GLOBAL)

    def dummy_address(self, tensor: Tensor) -> str:
        """The address of the first element of a tensor in shared or local memory; tensors in global
        memory may have none.
        """
        return super().dummy_address(tensor) if self.space_number(tensor) == GLOBAL else self.pointers[tensor]


def check_inside(tensor: Tensor, first: Linear, run: int) -> None:
    """Check that so many neighbours lie in one unit of the swizzle, wherever they begin.

    Args:
        first: the position of the first one.
    Raises:
        CompileError: they may not.
    """
    assert tensor.swizzle is not None
    if tensor.swizzle.unit % run or any(c % run for c in (first.constant, *(c for _, c in first.terms))):
        raise CompileError(
            f"{run} neighbours of {tensor.name} are used at once, which {tensor.swizzle} may have moved "
            f"apart",
            code="target",
            help="they must begin at multiples of their number; use units of as many elements, or leave the "
            "buffer as it is",
        )


def swizzle_offset(emitter: Accesses, first: Linear, lies: Swizzle) -> Value:
    """Distance of an element from its row-major position under the swizzle. Terms that do not
    change the pattern are left out: neighbouring rows of tiles share it.
    """
    period = lies.row * lies.count
    near = Linear(tuple((t, c) for t, c in first.terms if c % period), first.constant % period)
    at, units = emitter.position(near), (lies.count - 1) * lies.unit

    def one(instruction: str) -> Value:
        return Value(emitter.function.pure(instruction), I64)

    unit = one(f"and {at}, {units}")
    pattern = one(f"and {one(f'lshr {at}, {lies.row.bit_length() - lies.unit.bit_length()}')}, {units}")
    return one(f"sub {one(f'xor {unit}, {pattern.text}')}, {unit.text}")
