"""Statements of single threads of a GPU: copies past registers, atomic updates, conditions that
differ between lanes.
"""

from __future__ import annotations

from texpr.ir.dtypes import I64
from texpr.ir.expr import Const, Expr, Tensor, index
from texpr.ir.loop import For, If, Prefetch, Stmt, Store, is_bulk
from texpr.ir.loop_kind import VECTOR
from texpr.ir.store_kind import ASYNCHRONOUS, ATOMIC, PLAIN
from texpr.ir.traverse import rewrite, variables
from texpr.passes.analysis.substitution import folded, folded_anew
from texpr.support.frozen_dataclass import replace
from texpr.targets.emit.function import Value, constant
from texpr.targets.gpu.addressing import LOCAL
from texpr.targets.gpu.async_copies import emit_async_copy, is_uniform
from texpr.targets.gpu.atomic import emit_atomic
from texpr.targets.gpu.bulk_copies import emit_bulk_copy
from texpr.targets.gpu.emission_context import GpuContext
from texpr.targets.gpu.geometry import room_of

LOCAL_BYTES = 512 * 1024
"""Bytes of a thread's local memory (CUDA C++ Programming Guide 13.0, technical specifications per
capability).
"""


class ThreadStatements(GpuContext):
    """Emits what each thread runs on its own."""

    def loop(self, loop: For) -> None:
        if loop.kind == VECTOR and self.lane is None:
            self._vector(loop)
        elif is_bulk(loop):
            emit_bulk_copy(self, loop)
        else:
            self._serial(loop, constant(0, I64), self.index(loop.extent))

    def changed_in(self, loop: For) -> frozenset[Tensor] | None:
        return self.changed_meanwhile  # other threads may write what this one only reads

    def outlined_slow_path(self, e: Expr) -> Value:
        """The value in place: a kernel is one function here."""
        return self._value_under(self.mask, e)

    def condition(self, cond: Expr, body: tuple[Stmt, ...]) -> None:
        """Emit a branch without masks. If the condition differs between lanes, all lanes run the
        body together where it holds for all, else one after the other.
        """
        lane = self.lane
        if lane is None or lane not in variables(cond):
            super().condition(cond, body)
            return
        if is_uniform(cond, lane, self.lanes):
            super().condition(folded(cond, {lane: index(0)}), body)
            return
        f, mask = self.function, self.broadcast(self.value(cond), self.lanes)
        every = "true"
        for k in range(self.lanes):
            every = f.define(f"and i1 {every}, {f.define(f'extractelement {mask}, i64 {k}')}")
        whole, apart, after = f.fresh("whole"), f.fresh("apart"), f.fresh("fi")
        f.emit(f"br i1 {every}, label %{whole}, label %{apart}")
        f.start(whole)
        with f.region(), self.known.scope():
            self.statements(body)
        f.branch(after)
        f.start(apart)
        lanes, values = self.lanes, self.lane_values
        self.lane, self.lanes, self.lane_values = None, 0, None
        with f.region(), self.known.scope():
            for k in range(lanes):  # what is known of all lanes is not known of one
                alone = folded_anew(If(cond, tuple(map(_synchronous, body))), {lane: index(k)})
                super().condition(alone.cond, alone.body)
        self.lane, self.lanes, self.lane_values = lane, lanes, values
        f.branch(after)
        f.start(after)

    def prefetch(self, s: Prefetch) -> None:
        """No code: threads hide the latency of memory by themselves."""

    def assignment(self, s: Store) -> None:
        if s.mode is ASYNCHRONOUS and not isinstance(
            s.value, Const
        ):  # where a loop is written out, some copies are of zeros alone
            emit_async_copy(self, s)
        elif s.mode is ATOMIC and s.tensor not in self.owned and self.space_number(s.tensor) != LOCAL:
            emit_atomic(self, s)
        else:
            super().assignment(s)

    def allocate(self, tensor: Tensor) -> None:
        """A buffer of one thread."""
        if tensor in self.pointers:
            return
        size = room_of(tensor, LOCAL_BYTES, "a thread's own memory")
        self.pointers[tensor] = self.function.slot(f"[{size} x i8]", 16)
        self.address_spaces[tensor] = LOCAL


def _synchronous(s: Stmt) -> Stmt:
    """The statement with its copies finished where they stand: single elements are too small to
    be copied past the registers.
    """
    return rewrite(
        s, lambda n: replace(n, mode=PLAIN) if isinstance(n, Store) and n.mode is ASYNCHRONOUS else None
    )
