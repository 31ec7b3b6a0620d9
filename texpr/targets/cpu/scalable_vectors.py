"""Scalable vectors: strips of loops, by as many lanes as registers hold.

    for j in 0..n scalable.2: S(j)   ->   for c in 0..n by vl: lanes w in 0..vl where c + w < n: S(c + w)        vl: lanes of 2 registers

Iterations of such a loop are independent, so any of them may run together: the code is right for
every length at once. A register is an LLVM type of `vscale` times so many elements. What each
iteration has for itself has a register for each of its elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from texpr.ir.affine import Linear, linear
from texpr.ir.build import add, sub
from texpr.ir.dtypes import BOOL, I64
from texpr.ir.expr import Compare, Expr, Read, Tensor, Var
from texpr.ir.loop import For, Kernel, Stmt, Store
from texpr.ir.loop_kind import ScalableVector
from texpr.ir.traverse import variables
from texpr.passes.analysis.substitution import folded_anew
from texpr.support.errors import CompileError
from texpr.targets.cpu.lane_buffers import REGISTER, LaneBuffers, lanes_of
from texpr.targets.cpu.sve_quads import PART, QuadProduct, quad_product
from texpr.targets.emit.fma_contraction import adds_terms
from texpr.targets.emit.function import Scalable, Value, constant, lanes_suffix, memory_type, vector_type
from texpr.targets.emit.scalar_arithmetic import neutral


class ScalableEmitter(LaneBuffers):
    """Adds loops over the lanes of scalable vectors. Outlined slow paths keep half of the
    registers.

    Attributes:
        accumulators: of each update that all lanes of a loop share, a register with the part of
            each lane, and its value before.
    """

    cold_calling_convention = "aarch64_sve_vector_pcs"

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.declared["llvm.vscale.i64"] = "declare i64 @llvm.vscale.i64()"
        self.accumulators: dict[Store, tuple[str, Value]] = {}

    def loop(self, loop: For) -> None:
        if not isinstance(loop.kind, ScalableVector):
            super().loop(loop)
        elif self.lane is None:
            self._strips(loop)
        else:
            self._serial(loop, constant(0, I64), self.index(loop.extent))

    def _strips(self, loop: For) -> None:
        f, lanes, extent = self.function, lanes_of(loop), self.index(loop.extent)
        start, lane = Var(loop.var.name), Var(loop.var.name)
        body = tuple(folded_anew(s, {loop.var: add(start, lane)}) for s in loop.body)
        self.lane_count = self._pure(
            f"mul i64 {self.intrinsic('llvm.vscale.i64', 'i64')}, {int(lanes)}", I64, 0
        )
        self.accumulators = {
            s: self._accumulator(s, lanes)
            for s in body
            if _is_reduction(s, lane) and s.tensor not in self.lane_buffers
        }
        head, inside, after = f.fresh("strips"), f.fresh("strip"), f.fresh("stripped")
        f.emit(f"br i1 {f.define(f'icmp sgt {extent}, 0')}, label %{head}, label %{after}")
        f.start(head)
        f.branch(inside)
        f.start(inside)
        var, following, hole = "%" + f.fresh("from"), "%" + f.fresh("next"), len(f.lines)
        f.lines.append("")
        self.variables[start] = Value(var, I64)
        self.lane, self.lanes = lane, lanes
        with f.region():
            self.lane_values = Value(
                self.intrinsic(f"llvm.stepvector.{lanes_suffix(lanes)}i64", vector_type("i64", lanes)),
                I64,
                lanes,
            )
            self.strip_mask = self.mask = self._first_lanes(
                "llvm.get.active.lane.mask", Value(var, I64), extent
            )
            self.loop_depth += 1
            self.statements(body)
            self.loop_depth -= 1
        f.emit(f"{following} = add nuw nsw i64 {var}, {self.lane_count.text}")
        f.lines[hole] = f"  {var} = phi i64 [ 0, %{head} ], [ {following}, %{f.block} ]"
        self.strip_mask = self.mask = None
        done = f.fresh("strips_done")
        f.emit(
            f"br i1 {f.define(f'icmp slt i64 {following}, {extent.text}')}, label %{inside}, label %{done}, "
            f"!llvm.loop !0"
        )
        f.start(done)
        with f.region():
            self._reduce_accumulators()
        self.lane, self.lanes, self.lane_values = None, 0, None
        f.branch(after)
        f.start(after)

    def _first_lanes(self, intrinsic: str, first: Value, stop: Value) -> Value:
        """The lanes for which a number that counts with them from `first` on is below `stop`."""
        name = f"{intrinsic}.{lanes_suffix(self.lanes)}i1.i64"
        return Value(
            self.intrinsic(name, vector_type("i1", self.lanes), str(first), str(stop)), BOOL, self.lanes
        )

    # Sums over the loop.

    def _accumulator(self, s: Store, lanes: Scalable) -> tuple[str, Value]:
        """The register of partial sums of a reduction's lanes, with the neutral element at first."""
        assert s.update is not None
        start = constant(neutral(s.update, s.tensor.dtype), s.tensor.dtype, lanes)
        slot = self.function.slot(start.type, REGISTER)
        self.function.emit(f"store {start}, ptr {slot}, align {REGISTER}")
        return slot, start

    def assignment(self, s: Store) -> None:
        if s not in self.accumulators or s.update is None:
            found = (
                quad_product(s, self.differs)
                if self.fma and adds_terms(self.kernel, s) and self.is_scalable
                else None
            )
            # Of what the kernel packed itself: quads along the terms of several rows would want
            # more registers than products can name.
            packed = (
                found is not None
                and found.tensor not in self.lane_buffers
                and found.tensor not in self.kernel.inputs
            )
            if found is None or not packed or not self._add_products(s, found):
                super().assignment(s)
            return
        slot, start = self.accumulators[s]
        value = self.cast(self.stored_value(s), s.tensor.dtype)
        old = Value(
            self.function.define(f"load {start.type}, ptr {slot}, align {REGISTER}"), start.dtype, start.lanes
        )
        new = (
            self.extreme(s.update, old, value)
            if s.update in ("max", "min")
            else self._accumulate(s, old, value)
        )
        assert self.mask is not None, "lanes past the end are off"
        self.function.emit(f"store {self.select(self.mask, new, old)}, ptr {slot}, align {REGISTER}")

    def _add_products(self, s: Store, added: QuadProduct) -> bool:
        """Emit products with one element of every 128 bits of a register; True if these registers
        are those of the lanes.
        """
        count, element = PART // s.tensor.dtype.bytes, memory_type(s.tensor.dtype)
        if self.stores_one_element(s) or int(self.lanes) % count:
            return False
        lanes, old = self.value(added.lanes), self.load(Read(s.tensor, s.indices))
        t, suffix = vector_type(element, Scalable(count)), self._memory_suffix(element, Scalable(count))
        address = self._element(self.pointers[added.tensor], element, added.first, "")
        on = vector_type("i1", Scalable(count))
        quad = self.intrinsic(
            f"llvm.aarch64.sve.ld1rq.{suffix}", t, f"{on} splat (i1 true)", f"ptr {address}"
        )
        new, whole = old.text, f"{suffix}.{self.suffix(old)}"
        for at in range(0, int(self.lanes), count):
            if int(self.lanes) == count:
                parts, before = lanes.text, old.text
            else:
                parts, before = (
                    self.intrinsic(f"llvm.vector.extract.{whole}", t, str(v), f"i64 {at}")
                    for v in (lanes, old)
                )
            sum_ = self.intrinsic(
                f"llvm.aarch64.sve.fmla.lane.{suffix}",
                t,
                f"{t} {before}",
                f"{t} {parts}",
                f"{t} {quad}",
                f"i32 {added.place}",
            )
            new = (
                sum_
                if int(self.lanes) == count
                else self.intrinsic(
                    f"llvm.vector.insert.{self.suffix(old)}.{suffix}",
                    old.type,
                    f"{old.type} {new}",
                    f"{t} {sum_}",
                    f"i64 {at}",
                )
            )
        self.store(s.tensor, s.indices, Value(new, old.dtype, old.lanes))
        return True

    def _reduce_accumulators(self) -> None:
        """Reduce the lanes of each sum into its element, once the loop is over."""
        sums, self.accumulators = self.accumulators, {}
        for s, (slot, start) in sums.items():
            assert s.update is not None
            each = Value(
                self.function.define(f"load {start.type}, ptr {slot}, align {REGISTER}"),
                start.dtype,
                start.lanes,
            )
            value, read = self.reduce_lanes(s.update, each), Read(s.tensor, s.indices)
            with self.known.scope():
                old = self.load(read)
                new = (
                    self.extreme(s.update, old, value)
                    if s.update in ("max", "min")
                    else self._accumulate(s, old, value)
                )
                self.store(s.tensor, s.indices, new)

    def reduce_lanes(self, update: str, a: Value) -> Value:
        if update == "mul" and self.is_scalable:
            raise CompileError(
                "a product over the lanes of registers of any length is not one of their instructions",
                code="target",
                help="vectorize names a number of lanes",
            )
        return super().reduce_lanes(update, a)

    # Masks.

    def _evaluate(self, e: Expr) -> Value:
        found = (
            self._lanes_while(e)
            if self.is_scalable and isinstance(e, Compare) and e.lhs.dtype == I64
            else None
        )
        return super()._evaluate(e) if found is None else found

    def _lanes_while(self, e: Compare) -> Value | None:
        """The mask of a comparison of an index that counts with the lanes: the lanes up to one, or
        those after it.
        """
        form = linear(sub(e.lhs, e.rhs))
        lane = self.lane
        assert lane is not None
        step, rest = form.coefficient(lane), form.without(lane)
        if (
            step not in (1, -1)
            or e.op not in ("<", "<=", ">", ">=")
            or any(lane in variables(t) for t, _ in rest.terms)
        ):
            return None
        if any(self.value(t).lanes for t, _ in rest.terms):
            return None
        first = self.position(rest if step == 1 else rest.negated)
        upward = e.op in ("<", "<=") if step == 1 else e.op in (">", ">=")
        strict = e.op in ("<", ">") if upward else e.op in ("<=", ">=")
        stop = constant(0 if strict else 1, I64)
        lanes = self._first_lanes("llvm.aarch64.sve.whilelt", first, stop)
        return (
            lanes
            if upward
            else self._pure(f"xor {lanes}, {constant(True, BOOL, self.lanes).text}", BOOL, self.lanes)
        )

    # Memory.

    def last_lane_position(self, first: Linear) -> Value:
        if not self.is_scalable:
            return super().last_lane_position(first)
        return self._pure(
            f"sub {self.position(Linear(first.terms, first.constant + 1))}, {self.lane_count.text}", I64, 0
        )

    def _reverse(self, t: str, text: str, lanes: int) -> str:
        if not isinstance(lanes, Scalable):
            return super()._reverse(t, text, lanes)
        element = t.partition(f"{lanes} x ")[2].rstrip(">")
        return self.intrinsic(f"llvm.vector.reverse.{self._memory_suffix(element, lanes)}", t, f"{t} {text}")

    def _strided_load(self, tensor: Tensor, indices: tuple[Expr, ...]) -> str | None:
        return None if self.is_scalable else super()._strided_load(tensor, indices)

    def interleaved_group(self, body: Sequence[Stmt]) -> list[Store]:
        return [] if self.is_scalable else super().interleaved_group(body)

    def _is_private_run(self, tensor: Tensor, indices: tuple[Expr, ...]) -> bool:
        return not self.is_scalable and super()._is_private_run(tensor, indices)

    def _has_all_lanes(self, read: Read) -> bool:
        return not self.is_scalable and super()._has_all_lanes(read)

    def can_bypass_caches(self, tensor: Tensor, indices: tuple[Expr, ...]) -> bool:
        return not self.is_scalable and super().can_bypass_caches(tensor, indices)


def _is_reduction(s: Stmt, lane: Var) -> TypeGuard[Store]:
    """True if a statement of the loop updates one element in all of its iterations, in the type of
    the sum.
    """
    return (
        isinstance(s, Store)
        and s.update is not None
        and lane not in variables(*s.indices)
        and s.tensor.dtype.bits >= 32
    )
