"""One top-level nest of the loop IR as a GPU kernel: bound loops become indices of threads, the others run serially in each thread."""

from __future__ import annotations

from texpr.ir.build import FALSE, TRUE, add, compare, conjunction, integer, mul, product, select
from texpr.ir.dtypes import I64
from texpr.ir.expr import Expr, Node, Read, Tensor, Var, index
from texpr.ir.loop import Alloc, Barrier, For, If, Kernel, Prefetch, Stmt, Store
from texpr.ir.traverse import equal, walk
from texpr.support.errors import CompileError
from texpr.targets.function import Function, Value, constant
from texpr.targets.geometry import AXES, Geometry, axis_of, is_block, is_collective, is_thread
from texpr.targets.statements import Emitter
from texpr.targets.sync import Uses, uses_of

BARRIER = "llvm.nvvm.barrier.cta.sync.aligned.all"
SHARED_BYTES = 48 * 1024
LOCAL_BYTES = 512 * 1024
GLOBAL, SHARED, LOCAL = 1, 3, 0
# What the backend has code for on every processor in the table of targets; over others it ends the process.
INTRINSICS = {"sqrt", "floor", "ceil", "trunc", "roundeven", "fabs", "fma", "maximum", "minimum", "fptosi.sat", "fptoui.sat",
              "smax", "smin", "umax", "umin", "abs"}


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

    def __init__(self, kernel: Kernel, nest: Stmt, symbol: str, where: Geometry) -> None:
        super().__init__(kernel)
        self.symbol, self.where = symbol, where
        self.function = KernelFunction("")
        self.active: Expr = TRUE
        self.bound: tuple[str, ...] = ()
        self.since = Uses()
        self.meets = False
        self.spaces: dict[Tensor, int] = {}
        self.shared: list[str] = []
        self.shared_bytes = 0
        self.thread_axes = {n.var: axis_of(n) for n in walk(nest) if isinstance(n, For) and is_thread(n)}
        self.positions = {axis: Var(f"thread.{axis}") for axis in AXES}
        self.variables |= {v: self._register("tid", axis, where.block) for axis, v in self.positions.items()}

    def rare(self, e: Expr) -> Value:
        """In place: a kernel here is one function."""
        return self._under(self.mask, e)

    def alignment(self, tensor: Tensor) -> int:
        """Arrays on a device begin at element boundaries."""
        return tensor.dtype.bytes

    def streams(self, tensor: Tensor, indices: tuple[Expr, ...]) -> bool:
        """Threads of a GPU leave the hint out."""
        return False

    def space_number(self, tensor: Tensor) -> int:
        return self.spaces.get(tensor, GLOBAL)

    def intrinsic(self, name: str, result: str, *args: str, flags: str = "") -> str:
        base = name.removeprefix("llvm.")
        while base not in INTRINSICS and "." in base:
            base = base.rpartition(".")[0]
        if base not in INTRINSICS and not name.startswith("llvm.nvvm."):
            raise CompileError(f"the target has no code for {name}", code="target")
        return super().intrinsic(name, result, *args, flags=flags)

    def _register(self, which: str, axis: str, extents: tuple[Expr, Expr, Expr]) -> Value:
        """The index of this block or thread, as i64."""
        if integer(extents[AXES.index(axis)]) == 1:
            return constant(0, I64)
        raw = self.intrinsic(f"llvm.nvvm.read.ptx.sreg.{which}.{axis}", "i32")
        return Value(self.function.define(f"zext i32 {raw} to i64"), I64)

    def loop(self, loop: For) -> None:
        self._serial(loop, constant(0, I64), self.index(loop.extent))

    def loop_body(self, loop: For) -> None:
        if not is_collective(loop):
            self.statements(loop.body)
            return
        self.together(loop.body)
        if self.since.conflicts(self._uses(loop.body), self.where.several):
            self.barrier()

    def prefetch(self, s: Prefetch) -> None:
        """Threads hide the time to memory by themselves."""

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
            case Barrier():
                self.barrier()
            case If(cond, body):
                self._where(cond, body)
            case For() if is_block(s):
                self.variables[s.var] = self._register("ctaid", axis_of(s), self.where.grid)
                self.together(s.body)
            case For() if is_thread(s):
                self._threads(s)
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

    def barrier(self) -> None:
        """All threads of the block meet, active or not."""
        self.intrinsic(BARRIER, "void", "i32 0")
        self.since = Uses()
        self.meets = True

    # Statements of single threads.

    def _alone(self, body: tuple[Stmt, ...]) -> None:
        """Statements that each thread whose loops stand around them runs on its own."""
        if not body:
            return
        uses = self._uses(body)
        if self.since.conflicts(uses, self.where.several):
            self.barrier()
        self.since.add(uses)
        others = sorted(self.where.several - set(self.bound))
        condition = conjunction(self.active, *(compare("==", self.positions[axis], index(0)) for axis in others))
        with self.known.scope():
            if condition is TRUE:
                self.statements(body)
            else:
                self.condition(condition, body)

    def _uses(self, body: tuple[Stmt, ...]) -> Uses:
        inside = {axis_of(n) for n in walk(*body) if isinstance(n, For) and is_thread(n)}
        return uses_of(body, self.thread_axes, self.where.several - inside - set(self.bound))

    # Buffers.

    def allocate(self, tensor: Tensor) -> None:
        """A buffer of one thread."""
        if tensor in self.pointers:
            return
        size = _bytes(tensor, LOCAL_BYTES, "a thread's own memory")
        self.pointers[tensor] = self.function.slot(f"[{size} x i8]", 16)
        self.spaces[tensor] = LOCAL

    def _buffer(self, tensor: Tensor, body: tuple[Stmt, ...]) -> None:
        """A buffer allocated where threads run together: shared if loops over threads use it, one for each thread around them."""
        if not any(_uses_of(tensor, n) for n in walk(*body) if is_thread(n)):
            self.allocate(tensor)
            return
        size, copies = _bytes(tensor, SHARED_BYTES, "shared memory"), 1
        copy: Expr = index(0)
        for axis in self.bound:
            extent = _constant(self.where.extent(axis), tensor, "shared memory")
            copies, copy = copies * extent, add(mul(copy, index(extent)), self.positions[axis])
        self.shared_bytes += -(-size * copies // 16) * 16
        if self.shared_bytes > SHARED_BYTES:
            raise CompileError(f"{self.symbol} needs {self.shared_bytes} bytes of shared memory; there are {SHARED_BYTES}", code="target",
                               help="use smaller tiles")
        name = f"@{self.symbol}_shared{len(self.shared)}"
        self.shared.append(f"{name} = internal addrspace({SHARED}) global [{size * copies} x i8] undef, align 16")
        self.spaces[tensor] = SHARED
        offset = self.index(mul(copy, index(size)))
        self.pointers[tensor] = self.function.define(f"getelementptr i8, ptr addrspace({SHARED}) {name}, {offset}") if copies > 1 else name


def _uses_of(tensor: Tensor, inside: Node) -> bool:
    return any(isinstance(n, Read | Store) and n.tensor is tensor for n in walk(inside))


def _bytes(tensor: Tensor, most: int, where: str) -> int:
    size = _constant(product(tensor.shape), tensor, where) * tensor.dtype.bytes
    if size > most:
        raise CompileError(f"{tensor.name} needs {size} bytes of {where}; there are {most}", code="target", help="use smaller tiles")
    return max(size, 1)


def _constant(elements: Expr, tensor: Tensor, where: str) -> int:
    count = integer(elements)
    if count is None:
        raise CompileError(f"{tensor.name} lies in {where}, so its size must be known when it is compiled", code="target",
                           help="give the sizes to the schedule as constants")
    return count
