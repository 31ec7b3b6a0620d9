"""The interface of a nest's emitter to modules for single instructions: its state, addresses of
operands, code under conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from texpr.ir.build import TRUE, compare, conjunction, integer
from texpr.ir.dtypes import I64
from texpr.ir.expr import Expr, Read, Tensor, Var, index
from texpr.ir.loop import For, Kernel, Stmt, axis_of, is_thread
from texpr.ir.traverse import statements
from texpr.passes.analysis.row_major import flat_index
from texpr.passes.analysis.substitution import folded
from texpr.support.errors import CompileError
from texpr.targets.common.records import TensorMap
from texpr.targets.emit.function import Function, Value, constant
from texpr.targets.emit.statements import Emitter
from texpr.targets.gpu.addressing import GpuAddressing
from texpr.targets.gpu.async_accumulators import accumulators_of
from texpr.targets.gpu.barriers import Threads
from texpr.targets.gpu.geometry import AXES, Geometry
from texpr.targets.gpu.native_conversions import NativeConversions
from texpr.targets.gpu.shared_memory import SharedMemory
from texpr.targets.gpu.thread_registers import POSITIONS, OwnedElements


class KernelFunction(Function):
    """The function of a GPU kernel: it returns nothing and never leaves early."""

    def text(self) -> str:
        """The finished function."""
        assert not self.exits and not self.heap
        return "\n".join([self.header + " {", "entry:", *self.slots, *self.lines, "  ret void", "}"])


class GpuContext(GpuAddressing, NativeConversions, Emitter):
    """Emits the code of one nest. The statements stand in `thread_statements` and `emitter`,
    instructions in modules of their own.

    Attributes:
        geometry: the blocks and threads that run the nest.
        threads: what is known of them.
        thread_axes: the axis of each loop over threads, by its variable.
        positions: the index of a thread along each axis.
        owned: each thread's part of the buffers in registers that threads fill and use together.
        accumulators: of asynchronous products.
        shared: the memory of a block.
        in_cluster: the variable of the loop over the blocks of a cluster along an axis, where there
            is one.
        counters: the address of the counters (mbarrier) of bulk copies.
        copy_counters: which of these a bulk copy uses, by the variable of its outermost loop.
        tensor_maps: those that bulk copies of this kernel use so far.
    """

    counters = ""

    def __init__(
        self,
        kernel: Kernel,
        nest: Stmt,
        geometry: Geometry,
        threads: Threads,
        owned: Mapping[Tensor, OwnedElements],
        shared: SharedMemory,
    ) -> None:
        super().__init__(kernel)
        self.function = KernelFunction("")
        self.geometry, self.threads, self.owned, self.shared = geometry, threads, owned, shared
        self.accumulators = accumulators_of(nest, owned)
        self.thread_axes = {
            n.var: axis_of(n) for n in statements(nest) if isinstance(n, For) and is_thread(n)
        }
        self.positions = POSITIONS
        self.address_spaces: dict[Tensor, int] = {}
        self.in_cluster: dict[str, Var] = {}
        self.copy_counters: Mapping[Var, Expr] = {}
        self.tensor_maps: list[TensorMap] = []

    def barrier(self, cluster: bool = False) -> None:
        """Barrier of all threads of the block, or of all blocks of the cluster, active or not."""
        raise NotImplementedError

    def special_register(self, which: str, axis: str, extents: tuple[Expr, Expr, Expr]) -> Value:
        """The index of this block or thread, as i64."""
        if integer(extents[AXES.index(axis)]) == 1:
            return constant(0, I64)
        raw = self.intrinsic(f"llvm.nvvm.read.ptx.sreg.{which}.{axis}", "i32")
        return Value(self.function.define(f"zext i32 {raw} to i64"), I64)

    # Code under conditions.

    def in_first_lane(self, work: Callable[[], None]) -> None:
        """Let one lane do work for its warp."""
        self._if(compare("==", self.positions["x"], index(0)), work)

    def where_holds(self, conditions: Sequence[Expr], work: Callable[[], None]) -> None:
        """Let each lane for which the conditions hold do work."""
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

    # Operands.

    def combine(self, update: str, old: Value, new: Value) -> Value:
        """The combination of two values of a reduction."""
        if update in ("max", "min"):
            return self.extreme(update, old, new)
        return self._pure(f"{'fadd' if old.dtype.is_float else 'add'} {old}, {new.text}", old.dtype, 0)

    def load_element(self, tensor: Tensor, indices: tuple[Expr, ...]) -> Value:
        """An element as it is now."""
        return self.load(Read(tensor, indices))

    def operand_address(self, tensor: Tensor, indices: tuple[Expr, ...], values: Mapping[Var, Expr]) -> str:
        """The typed address of an element of which instructions say where it is: in registers,
        or in memory.
        """
        if tensor in self.owned:
            return self.register_address(tensor, indices, values)
        address, _, _ = self.address(tensor, tuple(folded(i, values) for i in indices))
        return f"ptr{self.space(tensor)} {address}"

    def register_address(self, tensor: Tensor, indices: tuple[Expr, ...], values: Mapping[Var, Expr]) -> str:
        """The typed address of an element in a thread's part of a buffer in registers."""
        at = self.owned_indices(tensor, tuple(folded(i, values) for i in indices))
        return f"ptr {self.address(self.owned[tensor].tensor, at)[0]}"

    def owned_indices(self, tensor: Tensor, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The indices of an element in a thread's part of a buffer in registers."""
        return self._owned_elements(tensor).local(indices, self._thread_variables())

    def owned_address(self, tensor: Tensor, place: Sequence[int]) -> str:
        """The address of the element at a place of that part."""
        return self.address(self.owned[tensor].tensor, tuple(map(index, place)))[0]

    def register_stride(self, tensor: Tensor, indices: tuple[Expr, ...], var: Var) -> int:
        """Distance in registers of neighbours along a loop of an instruction."""
        owned = self._owned_elements(tensor)
        return flat_index(owned.tensor, owned.local(indices, self._thread_variables())).coefficient(var)

    def _owned_elements(self, tensor: Tensor) -> OwnedElements:
        if tensor not in self.owned:
            raise CompileError(
                f"an instruction of a warp wants {tensor.name} in registers",
                code="target",
                help=f'set_scope("{tensor.name}", "register")',
            )
        return self.owned[tensor]

    def _thread_variables(self) -> set[Var]:
        return {*self.thread_axes, *self.positions.values()}
