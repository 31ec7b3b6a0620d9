"""One top-level nest of the loop IR as a GPU kernel: bound loops become indices of threads, the
others run serially in each thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from texpr.ir.build import FALSE, TRUE, add, compare, conjunction, integer, mul, select
from texpr.ir.expr import Expr, Node, Read, Tensor, Var, index
from texpr.ir.loop import (
    Alloc,
    Barrier,
    Commit,
    CommitProducts,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    Wait,
    WaitProducts,
    axis_of,
    instruction_of,
    is_block,
    is_thread,
)
from texpr.ir.machine import Machine
from texpr.ir.store_kind import ASYNCHRONOUS
from texpr.ir.traverse import equal, statements, walk
from texpr.support.errors import CompileError
from texpr.targets.gpu.async_copies import emit_copy_group
from texpr.targets.gpu.async_mma import emit_commit, emit_wait
from texpr.targets.gpu.barriers import WARP, AccessSet, BarrierState, Threads, accesses_of
from texpr.targets.gpu.bulk_copies import counters_of
from texpr.targets.gpu.clusters import block_index, emit_cluster_barrier, read_by_descriptors_alone
from texpr.targets.gpu.geometry import AXES, Geometry, is_collective, is_warp, known, room_of
from texpr.targets.gpu.shared_memory import ALIGNMENT, SHARED, SharedMemory
from texpr.targets.gpu.thread_registers import OwnedElements
from texpr.targets.gpu.thread_statements import ThreadStatements
from texpr.targets.gpu.warp_instructions import reads_operands_from_memory
from texpr.targets.gpu.warpgroup_instructions import PATTERN, axes_of, descriptor_operands, misplaced
from texpr.targets.gpu.warpgroups import emit_warp_instruction

BARRIER = "llvm.nvvm.barrier.cta.sync.aligned.all"
WARP_BARRIER = "llvm.nvvm.bar.warp.sync"
FENCE = "llvm.nvvm.fence.proxy.async.shared_cta"
"""Shows what this thread stored to shared memory to the tensor cores, which read it by
descriptors.
"""


class GpuEmitter(ThreadStatements):
    """Emits one nest.

    All threads of a block run the statements that hold loops over threads, and meet in them. The
    other statements are run by the threads whose loops stand around them, along the other axes by
    thread 0.

    Attributes:
        active: whether this thread takes part: it guards statements of single threads, never a
            barrier.
        bound: the axes of the loops over threads around.
        barriers: what was used since threads met.
        has_barriers: threads meet somewhere.
        private_copies: the buffers in shared memory, with the axes of whose threads each has one of
            its own.
        filled_by_copies: the buffers that asynchronous copies fill.
        descriptor_buffers: the buffers that instructions read by descriptors of shared memory.
        relaxed_clusters: barriers of the cluster need not show what was stored: only products that
            are done have read it.
    """

    def __init__(
        self,
        kernel: Kernel,
        nest: Stmt,
        symbol: str,
        geometry: Geometry,
        owned: Mapping[Tensor, OwnedElements],
        machine: Machine,
        threads: Threads,
        *,
        dynamic: bool,
    ) -> None:
        """
        Args:
            dynamic: launches have to give the nest its shared memory (`SharedMemory`).
        """
        self.descriptor_buffers = {
            t for n in statements(nest) if isinstance(n, For) and is_warp(n) for t in descriptor_operands(n)
        }
        counters = counters_of(nest)
        alignment = PATTERN if self.descriptor_buffers or counters else ALIGNMENT
        super().__init__(
            kernel,
            nest,
            geometry,
            threads,
            owned,
            SharedMemory(symbol, machine.shared_bytes, dynamic, alignment),
        )
        self.converts_natively, self.copy_counters = "tf32" in machine.functions, counters
        self.active: Expr = TRUE
        self.bound: tuple[str, ...] = ()
        self.barriers, self.has_barriers = BarrierState(), False
        self.private_copies: dict[Tensor, frozenset[str]] = {}
        self.filled_by_copies = {
            n.tensor
            for n in statements(nest)
            if isinstance(n, Store) and n.mode is ASYNCHRONOUS and n.update is None
        }
        self.relaxed_clusters = geometry.cluster != (1, 1, 1) and read_by_descriptors_alone(
            nest, self.filled_by_copies
        )
        self.variables |= {
            v: self.special_register("tid", axis, geometry.block) for axis, v in self.positions.items()
        }

    def loop_body(self, loop: For) -> None:
        if not is_collective(loop):
            self.statements(loop.body)
            return
        self.collective_body(loop.body)
        if integer(loop.extent) != 1:
            self._wait_for(self._accesses(loop.body))

    # Statements that threads run together.

    def collective_body(self, body: tuple[Stmt, ...]) -> None:
        """A body of statements at the level of the block."""
        single: list[Stmt] = []
        for s in body:
            if isinstance(s, Alloc):
                self._allocate_for_block(s.tensor, body)
            elif is_collective(s):
                self._single_threads(tuple(single))
                single = []
                with self.known.scope():
                    self._collective(s)
            else:
                single.append(s)
        self._single_threads(tuple(single))

    def _collective(self, s: Stmt) -> None:
        match s:
            case Barrier(cluster):
                self.barrier(cluster)
            case Commit() | Wait():
                emit_copy_group(self, s)
            case CommitProducts():
                emit_commit(self)
            case WaitProducts():
                emit_wait(self, s)
            case If(cond, body):
                self._where(cond, body)
            case For() if is_block(s):
                self.variables[s.var] = block_index(self, s)
                self.collective_body(s.body)
            case For() if is_thread(s):
                self._thread_loop(s)
            case For() if is_warp(s):
                self._warp_instruction(s)
            case For():
                self._serial_around_threads(s)
            case _:
                raise AssertionError(f"no code for {type(s).__name__}")

    def _thread_loop(self, loop: For) -> None:
        axis = axis_of(loop)
        self.variables[loop.var] = self.variables[self.positions[axis]]
        before, self.bound = self.bound, (*self.bound, axis)
        self._where(
            TRUE if equal(loop.extent, self.geometry.extent(axis)) else compare("<", loop.var, loop.extent),
            loop.body,
        )
        self.bound = before

    def _where(self, cond: Expr, body: tuple[Stmt, ...]) -> None:
        """Emit `body` under a condition that may differ between threads. The condition is evaluated
        once, here.
        """
        before = self.active
        reads = any(isinstance(n, Read) for n in walk(cond))
        # Only threads that take part may read: the indices of the others may lie outside.
        self.active = select(before, cond, FALSE) if reads else conjunction(before, cond)
        self.value(self.active)
        self.collective_body(body)
        self.active = before

    def _serial_around_threads(self, loop: For) -> None:
        """Emit a serial loop around loops over threads: every thread counts along."""
        if any(isinstance(n, Read) or n in self.thread_axes for n in walk(loop.extent)):
            raise CompileError(
                f"the extent of `{loop.var.name}` differs between threads, which meet inside it",
                code="target",
                help="bind an inner loop to the threads instead",
            )
        before = self.barriers.copy()
        self.loop(loop)
        self.barriers.add(before)

    def _warp_instruction(self, loop: For) -> None:
        """Emit an instruction of a whole warp or warpgroup. Of several warps, those inside the
        loops around it do it, else the first one.
        """
        name = instruction_of(loop)
        axes = frozenset(axes_of(name, self.geometry.block))
        if not axes or axes & set(self.bound):
            raise misplaced(name)
        self._synchronize(
            (loop,), axes if descriptor_operands(loop) or reads_operands_from_memory(loop) else frozenset()
        )
        with self.known.scope():
            self._if(self._taking_part(axes), lambda: emit_warp_instruction(self, loop))

    def _single_threads(self, body: tuple[Stmt, ...]) -> None:
        """Emit statements that each thread, inside the loops around them, runs on its own."""
        if not body:
            return
        self._synchronize(body)
        condition = self._taking_part()
        with self.known.scope():
            if condition is TRUE:
                self.statements(body)
            else:
                self.condition(condition, body)

    def _taking_part(self, together: Set[str] = frozenset()) -> Expr:
        """The condition of threads that run a statement: active ones, of index 0 along axes
        without a loop around, but for `together`.
        """
        others = sorted(self.geometry.several - set(self.bound) - together)
        return conjunction(self.active, *(compare("==", self.positions[axis], index(0)) for axis in others))

    # Barriers.

    def _synchronize(self, body: tuple[Stmt, ...], every: Set[str] = frozenset()) -> None:
        """Emit a barrier, if statements use memory that other threads have used since the last one,
        and record their uses. `every` are axes all of whose threads read for each other.
        """
        accesses = self._accesses(body, every)
        self._wait_for(accesses)
        self.barriers.use(accesses)

    def _accesses(self, body: tuple[Stmt, ...], every: Set[str] = frozenset()) -> AccessSet:
        inside = {axis_of(n) for n in statements(*body) if isinstance(n, For) and is_thread(n)}
        single = self.geometry.several - inside - set(self.bound) - every
        return accesses_of(body, self.threads, single, self.private_copies, self.filled_by_copies)

    def _wait_for(self, accesses: AccessSet) -> None:
        """The barrier that stands in front of such accesses, if there has to be one."""
        match self.barriers.required_barrier(accesses, self.threads):
            case "block":
                self.barrier()
            case "warp":
                self.intrinsic(WARP_BARRIER, "void", "i32 -1")
                self.barriers.warp = AccessSet()
                self.has_barriers = True

    def barrier(self, cluster: bool = False) -> None:
        """Barrier of all threads of the block, or of all blocks of the cluster, active or not.

        Where only products that are done have read what blocks of a cluster copy, nothing is shown:
        barriers of the block do that.
        """
        relaxed = cluster and self.relaxed_clusters
        if self.descriptor_buffers and not relaxed:
            self.intrinsic(FENCE, "void")
        if cluster:
            emit_cluster_barrier(self, relaxed=relaxed)
        else:
            self.intrinsic(BARRIER, "void", "i32 0")
        self.barriers = self.barriers if relaxed else BarrierState()
        self.has_barriers = True

    # Buffers.

    def _allocate_for_block(self, tensor: Tensor, body: tuple[Stmt, ...]) -> None:
        """A buffer allocated where threads run together: shared if loops over threads use it,
        one for each thread around them.
        """
        if tensor.scope == "register" or not any(
            _is_used(tensor, n) for n in statements(*body) if is_thread(n) or is_warp(n)
        ):
            self.allocate(tensor)
            return
        size, copies = room_of(tensor, self.shared.most_bytes, "shared memory"), 1
        copy: Expr = index(0)
        self.private_copies[tensor] = frozenset(self.bound)
        for axis in self.bound:
            extent = known(self.geometry.extent(axis), tensor, "shared memory")
            copies, copy = copies * extent, add(mul(copy, index(extent)), self.positions[axis])
        patterned = (
            tensor in self.descriptor_buffers or self.copy_counters and tensor in self.filled_by_copies
        )
        alignment = PATTERN if patterned else ALIGNMENT
        size = -(-size // alignment) * alignment if copies > 1 else size
        name = self.shared.allocate(size * copies, alignment)
        self.address_spaces[tensor] = SHARED
        offset = self.index(mul(copy, index(size)))
        self.pointers[tensor] = (
            self.function.define(f"getelementptr i8, ptr addrspace({SHARED}) {name}, {offset}")
            if copies > 1
            else name
        )


def thread_facts(nest: Stmt, geometry: Geometry, requires: Sequence[Expr]) -> Threads:
    """Facts about the threads that run a nest."""
    loops = [n for n in statements(nest) if isinstance(n, For)]
    extents: dict[Var | str, Expr] = {n.var: n.extent for n in loops} | {
        axis: geometry.extent(axis) for axis in AXES
    }
    blocks = {n.var for n in loops if is_block(n)}
    warps = (integer(geometry.extent("x")) or 1) % WARP == 0
    return Threads(
        geometry.several, {n.var: axis_of(n) for n in loops if is_thread(n)}, blocks, extents, requires, warps
    )


def _is_used(tensor: Tensor, inside: Node) -> bool:
    return any(isinstance(n, Read | Store) and n.tensor is tensor for n in walk(inside))
