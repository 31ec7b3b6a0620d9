"""Loads: one element, a run of lanes, or a gather."""

from __future__ import annotations

from texpr.ir.dtypes import BOOL
from texpr.ir.expr import Expr, Read, Tensor
from texpr.ir.traverse import tensors
from texpr.targets.emit.addresses import Addresses
from texpr.targets.emit.function import Scalable, Value, constant, lanes_suffix, memory_type, vector_type

NOTHING = "tx_nothing"
"""Zeros that are loaded where no lane is on."""


class Loads(Addresses):
    """Adds loads to addresses.

    Attributes:
        inputs: tensors that nobody writes.
        changed_meanwhile: the tensors that may be written while the loops around run; None for all
            but the inputs.
        checked_mask: the mask of which a branch around has asked that some lane is on.
    """

    def __init__(self) -> None:
        super().__init__()
        self.inputs: frozenset[Tensor] = frozenset()
        self.changed_meanwhile: frozenset[Tensor] | None = None
        self.checked_mask: Value | None = None

    def load(self, read: Read) -> Value:
        """The value of a read: a load of the lanes that are on, of all where the tensor has their
        elements anyway.
        """
        before = self.mask
        if before is not None and self._has_all_lanes(read):
            self.mask = None
        loaded = self._loaded(read)
        self.mask = before
        return loaded

    def _has_all_lanes(self, read: Read) -> bool:
        """True if a tensor surely has the elements of all lanes, whichever are on, at places that
        are not read: those of lanes that are off may not be.
        """
        return (
            self.lane is not None
            and not tensors(*read.indices)
            and self.enclosing.has(read.tensor, read.indices)
        )

    def _loaded(self, read: Read) -> Value:
        tensor = read.tensor
        element, align = memory_type(tensor.dtype), self.alignment(tensor, read.indices)
        picked = (
            self._strided_load(tensor, read.indices)
            if self.lane is not None and tensor.swizzle is None
            else None
        )
        if picked is not None:
            return self._from_memory_type(Value(picked, tensor.dtype, self.lanes), element)
        address, lanes, stride = self.address(tensor, read.indices)
        if not lanes:
            address = self._safe_address(tensor, read.indices, address)
            text = self._emit_load(
                tensor, f"load {element}, ptr{self.space(tensor)} {address}, align {align}"
            )
            return self._from_memory_type(Value(text, tensor.dtype), element)
        t = vector_type(element, lanes)
        if stride and (self.mask is None or self._is_private_run(tensor, read.indices)):
            text = self._emit_load(tensor, f"load {t}, ptr{self.space(tensor)} {address}, align {align}")
        elif stride:
            text = self._masked_load(tensor, lanes, address, self._mask(stride))
        else:
            mask = self.mask or constant(True, BOOL, lanes)
            name = f"llvm.masked.gather.{self._memory_suffix(element, lanes)}.{lanes_suffix(lanes)}p{self.space_number(tensor)}"
            pointers = f"<{lanes} x ptr{self.space(tensor)}>"
            text = self.intrinsic(
                name, t, f"{pointers} align {align} {address}", str(mask), f"{t} zeroinitializer"
            )
        text = self._reverse(t, text, lanes) if stride < 0 else text
        return self._from_memory_type(Value(text, tensor.dtype, lanes), element)

    def _strided_load(self, tensor: Tensor, indices: tuple[Expr, ...]) -> str | None:
        """The lanes of a load from runs of memory; None where a gather is better."""
        raise NotImplementedError

    def any_lane_active(self) -> str | None:
        """An i1 that is true if a lane is on; None where one is surely on."""
        if self.mask is None or self.lane is None or self.mask == self.checked_mask:
            return None
        # Registers of any length may have lanes behind the end of a loop.
        ends = (0,) if isinstance(self.lanes, Scalable) else (0, self.lanes - 1)
        if self.enclosing.any_lane_active(self.lane, ends):
            return None
        name = f"llvm.vector.reduce.or.{lanes_suffix(self.mask.lanes)}i1"
        self.declared[name] = f"declare i1 @{name}({self.mask.type})"
        return self.function.pure(f"call i1 @{name}({self.mask})")

    def _safe_address(self, tensor: Tensor, indices: tuple[Expr, ...], address: str) -> str:
        """The address of an element that all lanes have in common; of a dummy element where all of
        them are off and the tensor may lack it.
        """
        if self.mask is None or self.enclosing.has(tensor, indices):
            return address
        some = self.any_lane_active()
        if some is None:
            return address
        pointer = f"ptr{self.space(tensor)}"
        return self.function.pure(
            f"select i1 {some}, {pointer} {address}, {pointer} {self.dummy_address(tensor)}"
        )

    def dummy_address(self, tensor: Tensor) -> str:
        """The address of an element of the tensor whose value nobody uses."""
        self.declared[NOTHING] = (
            f"@{NOTHING} = internal{self.space(tensor)} constant [8 x i8] zeroinitializer, align 8"
        )
        return f"@{NOTHING}"

    def _emit_load(self, tensor: Tensor, instruction: str) -> str:
        """Emit a load, once per address if nobody writes the tensor meanwhile."""
        stays = tensor in self.inputs or (
            self.changed_meanwhile is not None and tensor not in self.changed_meanwhile
        )
        return self.function.pure(instruction) if stays else self.function.define(instruction)

    def _masked_load(self, tensor: Tensor, lanes: int, address: str, mask: str) -> str:
        """Elements beside each other, where the mask is on; zeros elsewhere."""
        element, align = memory_type(tensor.dtype), self.alignment(tensor)
        t = vector_type(element, lanes)
        name = f"llvm.masked.load.{self._memory_suffix(element, lanes)}.p{self.space_number(tensor)}"
        loaded = self.intrinsic(
            name, t, f"ptr{self.space(tensor)} align {align} {address}", mask, f"{t} zeroinitializer"
        )
        return self.separate_load(loaded, element, lanes)

    def separate_load(self, loaded: str, element: str, lanes: int) -> str:
        """The value of a masked load, for targets where the load must not become an operand of its
        users.
        """
        return loaded

    def _from_memory_type(self, loaded: Value, element: str) -> Value:
        if loaded.dtype != BOOL:
            return loaded
        t = vector_type(element, loaded.lanes)
        zero = "zeroinitializer" if loaded.lanes else "0"
        return Value(self.function.define(f"icmp ne {t} {loaded.text}, {zero}"), BOOL, loaded.lanes)
