"""One top-level nest of the loop IR as a GPU kernel: bound loops become indices of threads, the others run serially in each thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from math import gcd

from texpr.ir.affine import Linear
from texpr.ir.build import FALSE, TRUE, add, compare, conjunction, integer, mul, select
from texpr.ir.dtypes import BF16, F32, I64, DType
from texpr.ir.expr import Call, Const, Expr, Node, Read, Tensor, Var, index
from texpr.ir.loop import (
    INSTRUCTION,
    Alloc,
    Barrier,
    Commit,
    CommitProducts,
    For,
    If,
    Kernel,
    Prefetch,
    Stmt,
    Store,
    Wait,
    WaitProducts,
    is_block,
    is_bulk,
)
from texpr.ir.machine import Machine
from texpr.ir.traverse import equal, rewrite, variables, walk
from texpr.passes.analysis.row_major import flat_index
from texpr.passes.analysis.substitution import folded, folded_anew
from texpr.support.errors import CompileError
from texpr.targets.common.records import TensorMap
from texpr.targets.emit.function import Function, Value, constant, memory_type
from texpr.targets.emit.statements import Emitter
from texpr.targets.gpu.async_copies import GLOBAL, SHARED, begin_copy, emit_group, same_in_lanes
from texpr.targets.gpu.async_mma import emit_commit, emit_wait, sums_of
from texpr.targets.gpu.atomic import emit_atomic
from texpr.targets.gpu.barriers import WARP, Meetings, Threads, Uses, uses_of
from texpr.targets.gpu.bulk_copies import emit_box, slots_of
from texpr.targets.gpu.clusters import emit_meeting, read_by_products, which
from texpr.targets.gpu.geometry import AXES, Geometry, axis_of, is_collective, is_thread, is_warp, known, room_of
from texpr.targets.gpu.native_conversions import halved, power, rounded
from texpr.targets.gpu.owned_elements import Own
from texpr.targets.gpu.swizzle import away, check_inside
from texpr.targets.gpu.thread_registers import POSITIONS
from texpr.targets.gpu.warpgroups import PATTERN, axes_of, described, emit_together, not_together
from texpr.targets.gpu.warps import reads_memory

BARRIER = "llvm.nvvm.barrier.cta.sync.aligned.all"
WARP_BARRIER = "llvm.nvvm.bar.warp.sync"
FENCE = "llvm.nvvm.fence.proxy.async.shared_cta"
"""Shows what this thread stored to shared memory to the tensor cores, which read it by descriptors."""
MOST_KNOWN = 1 << 30
"""Bytes that operands of instructions may say beside an address."""
STATIC_BYTES = 48 * 1024
"""Of shared memory: what code may have without its launches saying so."""
LOCAL_BYTES = 512 * 1024
LOCAL = 0
ALIGNMENT = 16
"""Bytes of which the addresses of arrays and buffers are multiples."""
class KernelFunction(Function):
    """A GPU kernel returns nothing and never leaves early."""

    def text(self) -> str:
        """The finished function."""
        assert not self.exits and not self.heap
        return "\n".join([self.header + " {", "entry:", *self.slots, *self.lines, "  ret void", "}"])


class GpuEmitter(Emitter):
    """Emits one nest.

    All threads of a block run the statements that hold loops over threads, and meet in them. The other statements are run by the
    threads whose loops stand around them, along the other axes by thread 0. `active` says whether this thread takes part: it guards
    such statements, never a barrier.
    """

    def __init__(self, kernel: Kernel, nest: Stmt, symbol: str, where: Geometry, own: Mapping[Tensor, Own], machine: Machine,
                 static: GpuEmitter | None = None) -> None:
        """
        Args:
            static: what emitted the same nest, and found that launches have to give it shared memory.
        """
        super().__init__(kernel)
        self.own = own
        self.symbol, self.where = symbol, where
        self.function = KernelFunction("")
        self.active: Expr = TRUE
        self.bound: tuple[str, ...] = ()
        self.in_cluster: dict[str, Var] = {}
        self.since = Meetings()
        self.meets = False
        self.spaces: dict[Tensor, int] = {}
        self.shared: list[str] = []
        self.shared_bytes, self.most_shared, self.dynamic = 0, machine.shared_bytes, static is not None
        self.rounds = "tf32" in machine.functions
        self.copies: dict[Tensor, frozenset[str]] = {}
        self.arriving = {n.tensor for n in walk(nest) if isinstance(n, Store) and n.asynchronous and n.update is None}
        self.sums = sums_of(nest, own)
        self.described = {t for n in walk(nest) if isinstance(n, For) and is_warp(n) for t in described(n)}
        self.shows_nothing = where.cluster != (1, 1, 1) and read_by_products(nest, self.arriving)
        self.boxes, self.counters, self.maps = slots_of(nest), "", list[TensorMap]()
        self.thread_axes = {n.var: axis_of(n) for n in walk(nest) if isinstance(n, For) and is_thread(n)}
        self.threads = self._known_threads(nest) if static is None else static.threads
        self.positions = POSITIONS
        self.variables |= {v: self.special("tid", axis, where.block) for axis, v in self.positions.items()}

    def _known_threads(self, nest: Stmt) -> Threads:
        loops = [n for n in walk(nest) if isinstance(n, For)]
        extents: dict[Var | str, Expr] = {n.var: n.extent for n in loops} | {axis: self.where.extent(axis) for axis in AXES}
        blocks = {n.var for n in loops if is_block(n)}
        warps = (integer(self.where.extent("x")) or 1) % WARP == 0
        return Threads(self.where.several, self.thread_axes, blocks, extents, self.kernel.requires, warps)

    def _call(self, e: Call) -> Value:
        of_processor = {"tf32": rounded, "exp2": power}
        return of_processor[e.function](self, self.value(e.args[0])) if self._has(e) else super()._call(e)

    def _has(self, e: Call) -> bool:
        """Whether the processor has an instruction of its own for a function."""
        return e.function == "tf32" or e.function == "exp2" and e.dtype == F32

    def narrowed(self, a: Value, t: DType) -> Value:
        """By its own instructions, if the processor has them."""
        return halved(self, a) if self.rounds and (a.dtype, t) == (F32, BF16) else super().narrowed(a, t)

    def rare(self, e: Expr) -> Value:
        """In place: a kernel here is one function."""
        return self._under(self.mask, e)

    def alignment(self, tensor: Tensor, indices: tuple[Expr, ...] = ()) -> int:
        """Arrays on a device begin at multiples of `ALIGNMENT`; the first element of a run of lanes may keep it, or a part of it."""
        size = tensor.dtype.bytes
        if self.lane is None:
            return size
        flat = flat_index(tensor, indices)
        first = flat.without(self.lane)
        if flat.coefficient(self.lane) != 1 or any(self._varies(t) for t, _ in first.terms):
            return size
        whole = ALIGNMENT if tensor.swizzle is None else size * tensor.swizzle.unit
        return min(gcd(ALIGNMENT, whole, size * first.constant, *(size * c for _, c in first.terms)), ALIGNMENT)

    def address(self, tensor: Tensor, indices: tuple[Expr, ...]) -> tuple[str, int, int]:
        """As elsewhere; elements of swizzled buffers are one, or a run of neighbours, never a gather."""
        if tensor.swizzle is None:
            return super().address(tensor, indices)
        flat = self._flat(tensor, indices)
        step = 0 if self.lane is None else flat.coefficient(self.lane)
        first = flat if self.lane is None else flat.without(self.lane)
        if step not in (0, 1) or any(self._varies(t) for t, _ in first.terms):
            raise CompileError(f"lanes use elements of {tensor.name} that lie apart, and it is swizzled", code="target",
                               help="vectorize a loop along its last dimension, or none")
        if step:
            check_inside(tensor, first, self.lanes)
        at = self.position(Linear(first.terms, 0))
        at = self._one(f"add {at}, {away(self, first, tensor.swizzle).text}", I64, 0)
        at = self._one(f"add {at}, {first.constant}", I64, 0)
        address = f"getelementptr {memory_type(tensor.dtype)}, ptr{self.space(tensor)} {self.pointers[tensor]}, {at}"
        return self.function.pure(address), self.lanes if step else 0, step

    def apart(self, tensor: Tensor, indices: tuple[Expr, ...]) -> list[str]:
        """The typed address of an element, or of the first of a run, without the known bytes of it, and these."""
        first, size = self._flat(tensor, indices), tensor.dtype.bytes
        first = first if self.lane is None else first.without(self.lane)
        pointer = f"ptr{self.space(tensor)}"
        if tensor.swizzle is not None or abs(first.constant) * size > MOST_KNOWN:
            return [f"{pointer} {self.address(tensor, indices)[0]}", "i64 0"]
        at = f"getelementptr {memory_type(tensor.dtype)}, {pointer} {self.pointers[tensor]}, {self.position(Linear(first.terms, 0))}"
        return [f"{pointer} {self.function.pure(at)}", f"i64 {first.constant * size}"]

    def streams(self, tensor: Tensor, indices: tuple[Expr, ...]) -> bool:
        """Threads of a GPU leave the hint out."""
        return False

    def space_number(self, tensor: Tensor) -> int:
        return self.spaces.get(tensor, GLOBAL)

    def nothing(self, tensor: Tensor) -> str:
        """Of a tensor in the memory of a block or a thread, its first element; those in global memory may have none."""
        return super().nothing(tensor) if self.space_number(tensor) == GLOBAL else self.pointers[tensor]

    def special(self, which: str, axis: str, extents: tuple[Expr, Expr, Expr]) -> Value:
        """The index of this block or thread, as i64."""
        if integer(extents[AXES.index(axis)]) == 1:
            return constant(0, I64)
        raw = self.intrinsic(f"llvm.nvvm.read.ptx.sreg.{which}.{axis}", "i32")
        return Value(self.function.define(f"zext i32 {raw} to i64"), I64)

    def loop(self, loop: For) -> None:
        if loop.kind == "vector" and self.lane is None:
            self._vector(loop)
        elif is_bulk(loop):
            emit_box(self, loop)
        else:
            self._serial(loop, constant(0, I64), self.index(loop.extent))

    def changing_in(self, loop: For) -> frozenset[Tensor] | None:
        return self.changing  # other threads may write what this one only reads

    def condition(self, cond: Expr, body: tuple[Stmt, ...]) -> None:
        """Where a condition differs between lanes, all of them together if it holds for all, else one after the other: no masks."""
        lane = self.lane
        if lane is None or lane not in variables(cond):
            super().condition(cond, body)
            return
        if same_in_lanes(cond, lane, self.lanes):
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
                alone = folded_anew(If(cond, tuple(map(_at_once, body))), {lane: index(k)})
                super().condition(alone.cond, alone.body)
        self.lane, self.lanes, self.lane_values = lane, lanes, values
        f.branch(after)
        f.start(after)

    def loop_body(self, loop: For) -> None:
        if not is_collective(loop):
            self.statements(loop.body)
            return
        self.together(loop.body)
        if integer(loop.extent) != 1:
            self._wait_for(self._uses(loop.body))

    def prefetch(self, s: Prefetch) -> None:
        """Threads hide the time to memory by themselves."""

    def assignment(self, s: Store) -> None:
        if s.asynchronous and not isinstance(s.value, Const):  # where a loop is written out, some copies are of zeros alone
            begin_copy(self, s)
        elif s.atomic and s.tensor not in self.own and self.space_number(s.tensor) != LOCAL:
            emit_atomic(self, s)
        else:
            super().assignment(s)

    # Statements that threads run together.

    def together(self, body: tuple[Stmt, ...]) -> None:
        """A body of statements at the level of the block."""
        single: list[Stmt] = []
        for s in body:
            if isinstance(s, Alloc):
                self._buffer(s.tensor, body)
            elif is_collective(s):
                self._alone(tuple(single))
                single = []
                with self.known.scope():
                    self._collective(s)
            else:
                single.append(s)
        self._alone(tuple(single))

    def _collective(self, s: Stmt) -> None:
        match s:
            case Barrier(cluster):
                self.barrier(cluster)
            case Commit() | Wait():
                emit_group(self, s)
            case CommitProducts():
                emit_commit(self)
            case WaitProducts():
                emit_wait(self, s)
            case If(cond, body):
                self._where(cond, body)
            case For() if is_block(s):
                self.variables[s.var] = which(self, s)
                self.together(s.body)
            case For() if is_thread(s):
                self._threads(s)
            case For() if is_warp(s):
                self._warp(s)
            case For():
                self._repeated(s)
            case _:
                raise AssertionError(f"no code for {type(s).__name__}")

    def _threads(self, loop: For) -> None:
        axis = axis_of(loop)
        self.variables[loop.var] = self.variables[self.positions[axis]]
        before, self.bound = self.bound, (*self.bound, axis)
        self._where(TRUE if equal(loop.extent, self.where.extent(axis)) else compare("<", loop.var, loop.extent), loop.body)
        self.bound = before

    def _where(self, cond: Expr, body: tuple[Stmt, ...]) -> None:
        """`body` under a condition that may differ between threads. It is evaluated once, here."""
        before = self.active
        reads = any(isinstance(n, Read) for n in walk(cond))
        # Only threads that take part may read: the indices of the others may lie outside.
        self.active = select(before, cond, FALSE) if reads else conjunction(before, cond)
        self.value(self.active)
        self.together(body)
        self.active = before

    def _repeated(self, loop: For) -> None:
        """A serial loop around loops over threads: every thread counts along."""
        if any(isinstance(n, Read) or n in self.thread_axes for n in walk(loop.extent)):
            raise CompileError(f"the extent of `{loop.var.name}` differs between threads, which meet inside it", code="target",
                               help="bind an inner loop to the threads instead")
        before = self.since.copy()
        self.loop(loop)
        self.since.add(before)

    def _warp(self, loop: For) -> None:
        """An instruction of a whole warp or warpgroup. Where several stand, those do it whose loops stand around it, else the first one."""
        name = loop.kind.removeprefix(INSTRUCTION)
        axes = frozenset(axes_of(name, self.where.block))
        if not axes or axes & set(self.bound):
            raise not_together(name)
        self._meet((loop,), axes if described(loop) or reads_memory(loop) else frozenset())
        others = sorted(self.where.several - set(self.bound) - axes)
        condition = conjunction(self.active, *(compare("==", self.positions[axis], index(0)) for axis in others))
        with self.known.scope():
            self._if(condition, lambda: emit_together(self, loop))

    def in_first_lane(self, work: Callable[[], None]) -> None:
        """What one lane does for its warp."""
        self._if(compare("==", self.positions["x"], index(0)), work)

    def where_holds(self, conditions: Sequence[Expr], work: Callable[[], None]) -> None:
        """What each lane does if conditions hold for it."""
        with self.known.scope():
            self._if(conjunction(*conditions), work)

    def _if(self, condition: Expr, work: Callable[[], None]) -> None:
        if condition is TRUE:
            work()
            return
        f = self.function
        inside, after = f.fresh("if"), f.fresh("fi")
        f.emit(f"br {self.value(condition)}, label %{inside}, label %{after}")
        f.start(inside)
        with f.region(), self.known.scope():
            work()
        f.branch(after)
        f.start(after)

    def folded(self, update: str, old: Value, new: Value) -> Value:
        """Two values of a reduction in one."""
        if update in ("max", "min"):
            return self.extreme(update, old, new)
        return self._one(f"{'fadd' if old.dtype.is_float else 'add'} {old}, {new.text}", old.dtype, 0)

    def loaded(self, tensor: Tensor, indices: tuple[Expr, ...]) -> Value:
        """An element as it is now."""
        return self.load(Read(tensor, indices))

    def place(self, tensor: Tensor, indices: tuple[Expr, ...], values: Mapping[Var, Expr]) -> str:
        """The typed address of an element of which instructions say where it is: in registers, or in memory."""
        if tensor in self.own:
            return self.register(tensor, indices, values)
        address, _, _ = self.address(tensor, tuple(folded(i, values) for i in indices))
        return f"ptr{self.space(tensor)} {address}"

    def register(self, tensor: Tensor, indices: tuple[Expr, ...], values: Mapping[Var, Expr]) -> str:
        """The typed address of an element in a thread's part of a buffer in registers."""
        at = self.register_place(tensor, tuple(folded(i, values) for i in indices))
        return f"ptr {self.address(self.own[tensor].tensor, at)[0]}"

    def register_place(self, tensor: Tensor, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Where an element is in a thread's part of a buffer in registers."""
        return self._own_of(tensor).local(indices, self._positions())

    def part_address(self, tensor: Tensor, place: Sequence[int]) -> str:
        """The address of what is at a place of that part."""
        return self.address(self.own[tensor].tensor, tuple(map(index, place)))[0]

    def register_stride(self, tensor: Tensor, indices: tuple[Expr, ...], var: Var) -> int:
        """How far apart neighbours along a loop of an instruction are in registers."""
        own = self._own_of(tensor)
        return flat_index(own.tensor, own.local(indices, self._positions())).coefficient(var)

    def _own_of(self, tensor: Tensor) -> Own:
        if tensor not in self.own:
            raise CompileError(f"an instruction of a warp wants {tensor.name} in registers", code="target",
                               help=f'scope("{tensor.name}", "register")')
        return self.own[tensor]

    def _positions(self) -> set[Var]:
        return {*self.thread_axes, *self.positions.values()}

    def _meet(self, body: tuple[Stmt, ...], every: Set[str] = frozenset()) -> None:
        """A barrier, if the statements use what other threads have used since the last one; note what they use. `every` are axes all of
        whose threads read for each other.
        """
        uses = self._uses(body, every)
        self._wait_for(uses)
        self.since.use(uses)

    def _wait_for(self, uses: Uses) -> None:
        """The barrier that stands in front of such uses, if there has to be one."""
        match self.since.who(uses, self.threads):
            case "block":
                self.barrier()
            case "warp":
                self.intrinsic(WARP_BARRIER, "void", "i32 -1")
                self.since.warp = Uses()
                self.meets = True

    def barrier(self, cluster: bool = False) -> None:
        """All threads of the block, or of all blocks of the cluster, meet, active or not.

        Where only products that are done have read what blocks of a cluster copy, nothing is shown: barriers of the block do that.
        """
        relaxed = cluster and self.shows_nothing
        if self.described and not relaxed:
            self.intrinsic(FENCE, "void")
        if cluster:
            emit_meeting(self, relaxed=relaxed)
        else:
            self.intrinsic(BARRIER, "void", "i32 0")
        self.since = self.since if relaxed else Meetings()
        self.meets = True

    # Statements of single threads.

    def _alone(self, body: tuple[Stmt, ...]) -> None:
        """Statements that each thread whose loops stand around them runs on its own."""
        if not body:
            return
        self._meet(body)
        others = sorted(self.where.several - set(self.bound))
        condition = conjunction(self.active, *(compare("==", self.positions[axis], index(0)) for axis in others))
        with self.known.scope():
            if condition is TRUE:
                self.statements(body)
            else:
                self.condition(condition, body)

    def _uses(self, body: tuple[Stmt, ...], every: Set[str] = frozenset()) -> Uses:
        inside = {axis_of(n) for n in walk(*body) if isinstance(n, For) and is_thread(n)}
        return uses_of(body, self.threads, self.where.several - inside - set(self.bound) - every, self.copies, self.arriving)

    # Buffers.

    def allocate(self, tensor: Tensor) -> None:
        """A buffer of one thread."""
        if tensor in self.pointers:
            return
        size = room_of(tensor, LOCAL_BYTES, "a thread's own memory")
        self.pointers[tensor] = self.function.slot(f"[{size} x i8]", 16)
        self.spaces[tensor] = LOCAL

    def _buffer(self, tensor: Tensor, body: tuple[Stmt, ...]) -> None:
        """A buffer allocated where threads run together: shared if loops over threads use it, one for each thread around them."""
        if tensor.scope == "register" or not any(_uses_of(tensor, n) for n in walk(*body) if is_thread(n) or is_warp(n)):
            self.allocate(tensor)
            return
        size, copies = room_of(tensor, self.most_shared, "shared memory"), 1
        copy: Expr = index(0)
        self.copies[tensor] = frozenset(self.bound)
        for axis in self.bound:
            extent = known(self.where.extent(axis), tensor, "shared memory")
            copies, copy = copies * extent, add(mul(copy, index(extent)), self.positions[axis])
        begins = PATTERN if tensor in self.described or self.boxes and tensor in self.arriving else ALIGNMENT
        size = -(-size // begins) * begins if copies > 1 else size
        name = self.shared_memory(size * copies, begins)
        self.spaces[tensor] = SHARED
        offset = self.index(mul(copy, index(size)))
        self.pointers[tensor] = self.function.define(f"getelementptr i8, ptr addrspace({SHARED}) {name}, {offset}") if copies > 1 else name

    def shared_memory(self, size: int, begins: int) -> str:
        """The address, a multiple of `begins`, of so many bytes of shared memory."""
        start = -(-self.shared_bytes // begins) * begins
        self.shared_bytes = start + -(-size // ALIGNMENT) * ALIGNMENT
        if self.shared_bytes > self.most_shared:
            raise CompileError(f"{self.symbol} needs {self.shared_bytes} bytes of shared memory; there are {self.most_shared}",
                               code="target", help="use smaller tiles")
        if self.dynamic:
            whole = f"@{self.symbol}_dynamic"
            most = PATTERN if self.described or self.boxes else ALIGNMENT
            self.shared = [f"{whole} = external addrspace({SHARED}) global [0 x i8], align {most}"]
            return f"getelementptr (i8, ptr addrspace({SHARED}) {whole}, i64 {start})" if start else whole
        name = f"@{self.symbol}_shared{len(self.shared)}"
        self.shared.append(f"{name} = internal addrspace({SHARED}) global [{size} x i8] undef, align {begins}")
        return name


def _at_once(s: Stmt) -> Stmt:
    """The statement with its copies finished where they stand: single elements are too small to be copied past the registers."""
    return rewrite(s, lambda n: replace(n, asynchronous=False) if isinstance(n, Store) and n.asynchronous else None)


def _uses_of(tensor: Tensor, inside: Node) -> bool:
    return any(isinstance(n, Read | Store) and n.tensor is tensor for n in walk(inside))
