"""Stores: one element, a run of lanes, a scatter, non-temporal and interleaved ones."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.affine import linear
from texpr.ir.build import sub
from texpr.ir.dtypes import BOOL
from texpr.ir.expr import Expr, Read, Tensor
from texpr.ir.loop import Stmt, Store
from texpr.ir.traverse import variables, walk
from texpr.passes.analysis.row_major import flat_index, row_length
from texpr.targets.emit.addresses import Addresses
from texpr.targets.emit.function import Value, constant, lanes_suffix, memory_type, vector_type

LINE = 64
"""Bytes of a cache line: a part of one would be read, merged and written back."""


class Stores(Addresses):
    """Adds stores to addresses."""

    def store(
        self,
        tensor: Tensor,
        indices: tuple[Expr, ...],
        value: Value,
        *,
        nontemporal: bool = False,
        uniform: bool = False,
    ) -> None:
        """Emit a store. Where all lanes have one element and conditions turn lanes off, at most one
        lane is on; `uniform` if the value is that of all lanes that are on.
        """
        element, align = memory_type(tensor.dtype), self.alignment(tensor, indices)
        address, lanes, stride = self.address(tensor, indices)
        if not lanes and self.mask is not None and not uniform:
            lanes = self.lanes
            address = self._splat_pointer(f"ptr{self.space(tensor)}", address, lanes)
        if lanes:
            value = self.broadcast(value, lanes)
        assert value.lanes == lanes, f"every lane would store to one element of {tensor.name}"
        t = vector_type(element, lanes)
        text = self.function.define(f"zext {value} to {t}") if value.dtype == BOOL else value.text
        space = self.space(tensor)
        text = self._reverse(t, text, lanes) if stride < 0 else text
        if stride and self.mask is not None and self._is_private_run(tensor, indices):
            before = self.function.define(f"load {t}, ptr{space} {address}, align {align}")
            text = self.function.define(f"select {self._mask(stride)}, {t} {text}, {t} {before}")
            self.function.emit(f"store {t} {text}, ptr{space} {address}, align {align}")
            return
        if nontemporal and stride == 1 and self.mask is None and self.can_bypass_caches(tensor, indices):
            self._nontemporal_store(tensor, f"store {t} {text}, ptr {address}", align)
        elif not lanes or (stride and self.mask is None):
            self.function.emit(f"store {t} {text}, ptr{space} {address}, align {align}")
        elif stride:
            self.masked_store(tensor, text, address, align, stride)
        else:
            mask = self.mask or constant(True, BOOL, lanes)
            name = f"llvm.masked.scatter.{self._memory_suffix(element, lanes)}.{lanes_suffix(lanes)}p{self.space_number(tensor)}"
            self.intrinsic(
                name, "void", f"{t} {text}", f"<{lanes} x ptr{space}> align {align} {address}", str(mask)
            )

    def masked_store(self, tensor: Tensor, text: str, address: str, align: int, stride: int) -> None:
        """Emit a store of lanes beside each other, in the order of memory, where the mask is on."""
        element, lanes = memory_type(tensor.dtype), self.lanes
        self.intrinsic(
            f"llvm.masked.store.{self._memory_suffix(element, lanes)}.p{self.space_number(tensor)}",
            "void",
            f"{vector_type(element, lanes)} {text}",
            f"ptr{self.space(tensor)} align {align} {address}",
            self._mask(stride),
        )

    def _splat_pointer(self, scalar: str, text: str, lanes: int) -> str:
        """A scalar of a type without a dtype, in every lane."""
        t = f"<{lanes} x {scalar}>"
        first = self.function.pure(f"insertelement {t} poison, {scalar} {text}, i64 0")
        return self.function.pure(f"shufflevector {t} {first}, {t} poison, <{lanes} x i32> zeroinitializer")

    def can_bypass_caches(self, tensor: Tensor, indices: tuple[Expr, ...]) -> bool:
        """True if a vector can be stored without the caches: its row is made of whole lines, and it
        begins at a multiple of its length there.
        """
        assert self.lane is not None
        row = row_length(tensor)
        if tensor.rank > 1 and (row is None or row * tensor.dtype.bytes % LINE):
            return False
        first = flat_index(tensor, indices).without(self.lane)
        return first.constant % self.lanes == 0 and all(c % self.lanes == 0 for _, c in first.terms)

    def _nontemporal_store(self, tensor: Tensor, store: str, align: int) -> None:
        """A non-temporal store where the array is aligned to the vector's bytes, which is the same
        for all of the function.
        """
        f, size = self.function, self.lanes * tensor.dtype.bytes
        stands = f"{self.pointers[tensor]}.at{size}"
        first = [
            f"  {stands}.number = ptrtoint ptr {self.pointers[tensor]} to i64",
            f"  {stands}.rest = and i64 {stands}.number, {size - 1}",
            f"  {stands} = icmp eq i64 {stands}.rest, 0",
        ]
        f.slots += [] if first[0] in f.slots else first
        past, plain, after = f.fresh("past"), f.fresh("plain"), f.fresh("stored")
        f.emit(f"br i1 {stands}, label %{past}, label %{plain}")
        f.start(past)
        f.emit(f"{store}, align {size}, !nontemporal !2")
        f.branch(after)
        f.start(plain)
        f.emit(f"{store}, align {align}")
        f.branch(after)
        f.start(after)
        f.epilogue += [line for line in self.nontemporal_fence() if line not in f.epilogue]

    def nontemporal_fence(self) -> list[str]:
        """Fence that makes non-temporal stores visible to other threads before the statements that
        follow.
        """
        return ["  fence seq_cst"]

    def interleaved_group(self, body: Sequence[Stmt]) -> list[Store]:
        """The first statements of a body if they are plain stores of lanes that interleave: 2, 4, 8
        or 16 of them fill memory.
        """
        first = body[0]
        if (
            self.lane is None
            or self.mask is not None
            or not isinstance(first, Store)
            or first.tensor.swizzle is not None
        ):
            return []
        base = self._flat(first.tensor, first.indices)
        n = base.coefficient(self.lane)
        group = [
            s for s in body[:n] if isinstance(s, Store) and s.tensor is first.tensor and s.update is None
        ]
        if (
            n not in (2, 4, 8, 16)
            or len(group) != n
            or any(self.lane in variables(t) for t, _ in base.terms if t is not self.lane)
        ):
            return []
        offsets = [linear(sub(flat_index(s.tensor, s.indices).expr(), base.expr())) for s in group]
        in_order = all(not o.terms and o.constant == k for k, o in enumerate(offsets))
        reads = any(isinstance(e, Read) and e.tensor is first.tensor for s in group for e in walk(s.value))
        return group if in_order and not reads else []

    def store_interleaved(self, group: Sequence[Store]) -> None:
        """Store interleaved vectors: pairs of vectors are woven into one until a single one is
        left: element k of lane j ends at place n * j + k.
        """
        tensor, lane = group[0].tensor, self.lane
        assert lane is not None, "lanes are stored"
        values = [self.broadcast(self.value(s.value), self.lanes) for s in group]
        element, lanes = memory_type(tensor.dtype), self.lanes
        texts = [
            self.function.define(f"zext {v} to {vector_type(element, lanes)}") if v.dtype == BOOL else v.text
            for v in values
        ]
        while len(texts) > 1:
            half = len(texts) // 2
            order = ", ".join(f"i32 {k // 2 + k % 2 * lanes}" for k in range(2 * lanes))
            t = vector_type(element, lanes)
            texts = [
                self.function.define(
                    f"shufflevector {t} {texts[k]}, {t} {texts[k + half]}, <{2 * lanes} x i32> <{order}>"
                )
                for k in range(half)
            ]
            lanes *= 2
        offset = flat_index(tensor, group[0].indices).without(lane)
        address = self._element(self.pointers[tensor], element, offset, self.space(tensor))
        self.function.emit(
            f"store {vector_type(element, lanes)} {texts[0]}, ptr{self.space(tensor)} {address}, "
            f"align {self.alignment(tensor)}"
        )
