"""Statements to LLVM IR: loops, conditions, stores, buffers, threads. Nothing is decided here:
the kernel says how each loop runs.
"""

from __future__ import annotations

from texpr.ir.build import integer, product
from texpr.ir.dtypes import I64, DType
from texpr.ir.expr import Expr, Tensor, index
from texpr.ir.extern import extern_symbol
from texpr.ir.loop import (
    Alloc,
    Barrier,
    Commit,
    CommitProducts,
    ExternCall,
    For,
    If,
    Poll,
    Prefetch,
    Stmt,
    Store,
    Wait,
    WaitProducts,
)
from texpr.ir.loop_kind import InstructionNest, Parallel, Vector
from texpr.ir.traverse import statements, tensors
from texpr.passes.analysis.row_major import flat_index
from texpr.passes.analysis.substitution import folded
from texpr.support.errors import CompileError
from texpr.targets.emit.function import Value, constant, iota, memory_type, register_type
from texpr.targets.emit.instruction_emission import emit_instruction
from texpr.targets.emit.parallel_loops import ParallelLoops


class Emitter(ParallelLoops):
    """Emits the functions of one kernel for a CPU; targets that differ override single methods.

    Attributes:
        adds_addresses: loads take a base, an index and an offset, so that no sums of them need
            registers.
    """

    adds_addresses = False

    def statements(self, body: tuple[Stmt, ...]) -> None:
        at = 0
        while at < len(body):
            group = self.interleaved_group(body[at:])
            with self.known.scope():
                if group:
                    self.store_interleaved(group)
                else:
                    self.statement(body[at])
            at += max(1, len(group))

    def statement(self, s: Stmt) -> None:
        match s:
            case For(var, extent):
                with self.enclosing.inside(var, extent):
                    self.loop(s)
            case If(cond, body):
                self.condition(cond, body)
            case Store():
                self.assignment(s)
            case ExternCall():
                self.extern(s)
            case Alloc(tensor):
                self.allocate(tensor)
            case Poll():
                self.poll()
            case Prefetch():
                self.prefetch(s)
            case Barrier():
                self.barrier()
            case Commit() | Wait() | CommitProducts() | WaitProducts():
                pass  # copies and products are finished where they stand
            case _:
                raise AssertionError(f"no code for {type(s).__name__}")

    def condition(self, cond: Expr, body: tuple[Stmt, ...]) -> None:
        c = self.value(cond)
        if c.lanes:
            before, self.mask = self.mask, self.mask_and(self.mask, c)
            with self.enclosing.where(cond, True):
                self.statements(body)
            self.mask = before
            return
        f = self.function
        inside, after = f.fresh("if"), f.fresh("fi")
        f.emit(f"br {c}, label %{inside}, label %{after}")
        f.start(inside)
        with f.region(), self.enclosing.where(cond, False):
            self.statements(body)
        f.branch(after)
        f.start(after)

    def loop(self, loop: For) -> None:
        match loop.kind:
            case InstructionNest():
                emit_instruction(self, loop)
            case Vector() if self.lane is None:
                self._vector(loop)
            case Parallel() if not self.in_worker and self.lane is None:
                self._parallel(loop)
            case _:
                self._serial(loop, constant(0, I64), self.index(loop.extent))

    def _serial(self, loop: For, first: Value, stop: Value) -> None:
        if stop.lanes:
            raise CompileError(
                f"the extent of loop `{loop.var.name}` differs between vector lanes",
                code="target",
                help="vectorize another loop",
            )
        f, t = self.function, self.counter_type(loop)
        first, stop = self.loop_bound(loop, first), self.loop_bound(loop, stop)
        body, after = f.fresh("loop"), f.fresh("done")
        if (integer(loop.extent) or 0) <= 0 or first.text != "0":
            f.emit(f"{(some := '%' + f.fresh())} = icmp slt {first}, {stop.text}")
            f.emit(f"br i1 {some}, label %{body}, label %{after}")
        else:
            f.branch(body)
        before, var, following = f.block, "%" + f.fresh(_safe(loop.var.name) + "_"), "%" + f.fresh("next")
        f.start(body)
        hole = len(f.lines)
        f.lines.append("")
        self.variables[loop.var] = self.cast(Value(var, t), I64)
        self.loop_depth += 1
        outer, self.changed_meanwhile = self.changed_meanwhile, self.changed_in(loop)
        with f.region():
            self.loop_body(loop)
        self.loop_depth -= 1
        self.changed_meanwhile = outer
        f.emit(f"{following} = add nuw nsw {register_type(t)} {var}, 1")
        f.lines[hole] = (
            f"  {var} = phi {register_type(t)} [ {first.text}, %{before} ], [ {following}, %{f.block} ]"
        )
        more = f.define(f"icmp ne {register_type(t)} {following}, {stop.text}")
        f.emit(f"br i1 {more}, label %{body}, label %{after}, !llvm.loop !0")
        f.start(after)

    def counter_type(self, loop: For) -> DType:
        """The type in which a loop counts; it holds the extent."""
        return I64

    def loop_bound(self, loop: For, end: Value) -> Value:
        """First or last value of a loop's counter, in the type in which it counts. An extent below
        0 is none.
        """
        t = self.counter_type(loop)
        if t == I64 or not end.text.startswith("%"):
            return Value(end.text, t)
        if integer(loop.extent) is None:
            end = self.extreme("max", end, constant(0, I64))
        return self.cast(end, t)

    def changed_in(self, loop: For) -> frozenset[Tensor] | None:
        """The tensors that a loop may write: copies that it only reads are none of them. No call
        stands in a loop.
        """
        return frozenset(s.tensor for s in statements(loop) if isinstance(s, Store))

    def loop_body(self, loop: For) -> None:
        """One iteration of a loop that counts."""
        self.statements(loop.body)

    def _vector(self, loop: For) -> None:
        lanes = integer(loop.extent)
        assert lanes is not None and lanes > 1, "a vector loop has several lanes, a constant number of them"
        self.lane, self.lanes, self.lane_values = loop.var, lanes, iota(I64, lanes)
        self.statements(loop.body)
        self.lane, self.lanes, self.lane_values = None, 0, None

    def poll(self) -> None:
        """Leave with status 1 if the user interrupted the kernel."""
        f = self.function
        flag = f.define("load volatile i32, ptr @tx_interrupted, align 4")
        f.leave_if(f.define(f"icmp ne i32 {flag}, 0"), 1)

    def prefetch(self, s: Prefetch) -> None:
        """Prefetch a line of memory; the element may lie anywhere. In a vector loop, the line of
        the first lane.
        """
        if self.lane is not None and tensors(*s.indices):
            return  # the data that the address depends on may be masked off
        first = {} if self.lane is None else {self.lane: index(0)}
        at = self.position(flat_index(s.tensor, tuple(folded(i, first) for i in s.indices)))
        address = self.function.define(
            f"getelementptr {memory_type(s.tensor.dtype)}, ptr {self.pointers[s.tensor]}, {at}"
        )
        self.intrinsic("llvm.prefetch.p0", "void", f"ptr {address}", "i32 0", "i32 3", "i32 1")

    def barrier(self) -> None:
        """No code: the threads of a block run one after the other here."""

    def allocate(self, tensor: Tensor) -> None:
        """Small buffers of constant size on the stack, others on the heap until the function
        returns.
        """
        if tensor in self.pointers:
            return
        f = self.function
        if self.on_stack(tensor):
            count, element = integer(product(tensor.shape)) or 0, memory_type(tensor.dtype)
            self.pointers[tensor] = f.slot(
                f"[{max(count, 1)} x {element}]", 64 if count > 1 else tensor.dtype.bytes
            )
            return
        assert not self.loop_depth, f"{tensor.name} of variable or large size is allocated inside a loop"
        elements = self.index(product(tensor.shape))
        self.pointers[tensor] = f.heap_buffer(f.define(f"mul i64 {elements.text}, {tensor.dtype.bytes}"))

    def extern(self, call: ExternCall) -> None:
        """Call the symbol that computes an extern operator; the kernel ends where it fails."""
        tensors = (*call.inputs, *call.outputs)
        extents = [self.index(size) for t in tensors for size in t.shape]
        symbol = extern_symbol(call)
        types = ", ".join(["ptr"] * len(tensors) + ["i64"] * len(extents))
        self.declared[symbol] = f"declare i32 @{symbol}({types})"
        given = ", ".join([*(f"ptr {self.pointers[t]}" for t in tensors), *map(str, extents)])
        status = self.function.define(f"call i32 @{symbol}({given})")
        self.function.leave_if(self.function.define(f"icmp ne i32 {status}, 0"), 2)


def _safe(name: str) -> str:
    """A loop's name as part of a name in LLVM IR, which must not begin with a digit."""
    plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return "_" + plain if plain[:1].isdigit() else plain
