"""Buffers that each iteration of a scalable vector loop has for itself: a register for each
element, or memory of all lanes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from texpr.ir.build import product
from texpr.ir.dtypes import BOOL, F32, I64
from texpr.ir.expr import Expr, Read, Tensor
from texpr.ir.loop import Alloc, For, Kernel, Stmt, Store
from texpr.ir.loop_kind import ScalableVector
from texpr.ir.traverse import statements, walk
from texpr.passes.analysis.row_major import flat_index
from texpr.targets.emit.function import Scalable, Value, constant, lanes_suffix, memory_type, vector_type
from texpr.targets.emit.statements import Emitter

REGISTER = 16
"""Bytes of the shortest registers."""
MOST_LANES = 16
"""Bits of a predicate for each 128 bits of a register."""
MOST_ON_STACK = 256
"""Elements of a lane's buffer beyond which it lives on the heap."""


class LaneBuffers(Emitter):
    """Adds buffers of single lanes.

    Attributes:
        lane_buffers: the lanes of the loop whose iterations have a buffer each.
        known_elements: the elements of such a buffer that are used, where all of them are known.
        element_registers: the address of a register for each of these.
        strip_mask: the lanes of this strip of the loop that lie before its end.
        lane_count: how many lanes the processor's registers have.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        loops = _outermost(kernel)
        self.lane_buffers = {
            s.tensor: lanes_of(n) for n in loops for s in statements(*n.body) if isinstance(s, Alloc)
        }
        self.known_elements = _known_elements(loops, self.lane_buffers)
        self.element_registers: dict[tuple[Tensor, int], str] = {}
        self.strip_mask: Value | None = None
        self.lane_count = constant(0, I64)

    @property
    def is_scalable(self) -> bool:
        """True inside of a scalable vector loop."""
        return isinstance(self.lanes, Scalable)

    def stores_one_element(self, s: Store) -> bool:
        return s.tensor not in self.lane_buffers and super().stores_one_element(s)

    def differs(self, *roots: Expr) -> bool:
        own = (isinstance(n, Read) and n.tensor in self.lane_buffers for n in walk(*roots))
        return super().differs(*roots) or self.is_scalable and any(own)

    def on_stack(self, tensor: Tensor) -> bool:
        if tensor not in self.lane_buffers:
            return super().on_stack(tensor)
        # LLVM makes registers of single vectors on the stack, and has no arrays of them there.
        return len(self.known_elements.get(tensor, ())) in range(1, MOST_ON_STACK)

    def allocate(self, tensor: Tensor) -> None:
        if tensor not in self.lane_buffers or tensor in self.pointers:
            super().allocate(tensor)
            return
        f, elements = self.function, self.index(product(tensor.shape))
        if self.on_stack(tensor):
            for k in self.known_elements[tensor]:
                self.element_registers[tensor, k] = f.slot(
                    vector_type(memory_type(tensor.dtype), self.lane_buffers[tensor]), REGISTER
                )
            return
        assert not self.loop_depth, f"{tensor.name} of variable or large size is allocated inside a loop"
        size = int(self.lane_buffers[tensor]) * tensor.dtype.bytes
        lanes = self._pure(f"mul i64 {self.intrinsic('llvm.vscale.i64', 'i64')}, {size}", I64, 0)
        self.pointers[tensor] = f.heap_buffer(f.define(f"mul {elements}, {lanes.text}"))

    def load(self, read: Read) -> Value:
        tensor, element = read.tensor, memory_type(read.tensor.dtype)
        if tensor not in self.lane_buffers:
            return super().load(read)
        at, t = self._element_of_lanes(tensor, read.indices), vector_type(element, self.lanes)
        if isinstance(at, str):
            text = self.function.define(f"load {t}, ptr {at}, align {REGISTER}")
        else:
            name = (
                f"llvm.masked.gather.{self._memory_suffix(element, self.lanes)}.{lanes_suffix(self.lanes)}p0"
            )
            text = self.intrinsic(
                name,
                t,
                f"{vector_type('ptr', self.lanes)} align {tensor.dtype.bytes} {at.text}",
                str(self.mask),
                f"{t} zeroinitializer",
            )
        return self._from_memory_type(Value(text, tensor.dtype, self.lanes), element)

    def store(
        self,
        tensor: Tensor,
        indices: tuple[Expr, ...],
        value: Value,
        *,
        nontemporal: bool = False,
        uniform: bool = False,
    ) -> None:
        if tensor not in self.lane_buffers:
            super().store(tensor, indices, value, nontemporal=nontemporal, uniform=uniform)
            return
        at, element = self._element_of_lanes(tensor, indices), memory_type(tensor.dtype)
        value, t = self.broadcast(value, self.lanes), vector_type(element, self.lanes)
        assert self.mask is not None, "lanes past the end are off"
        if isinstance(at, str) and self.mask is not self.strip_mask:
            value = self.select(self.mask, value, self.load(Read(tensor, indices)))
        text = self.function.define(f"zext {value} to {t}") if value.dtype == BOOL else value.text
        if isinstance(at, str):
            self.function.emit(f"store {t} {text}, ptr {at}, align {REGISTER}")
            return
        name = f"llvm.masked.scatter.{self._memory_suffix(element, self.lanes)}.{lanes_suffix(self.lanes)}p0"
        places = f"{vector_type('ptr', self.lanes)} align {tensor.dtype.bytes} {at.text}"
        self.intrinsic(name, "void", f"{t} {text}", places, str(self.mask))

    def _element_of_lanes(self, tensor: Tensor, indices: tuple[Expr, ...]) -> str | Value:
        """Address of the lanes' element: of a register; one for each lane where they differ."""
        flat = self._flat(tensor, indices)
        found = self.element_registers.get((tensor, flat.constant)) if not flat.terms else None
        if found is not None:
            return found
        base, element = self.pointers[tensor], memory_type(tensor.dtype)
        position = self.index(flat.expr())
        if not position.lanes:
            return self.function.pure(
                f"getelementptr {vector_type(element, self.lanes)}, ptr {base}, {position}"
            )
        assert self.lane_values is not None
        rows = self._pure(
            f"mul {position}, {self.broadcast(self.lane_count, self.lanes).text}", I64, self.lanes
        )
        places = self._pure(f"add {rows}, {self.lane_values.text}", I64, self.lanes)
        return Value(self.function.pure(f"getelementptr {element}, ptr {base}, {places}"), I64, self.lanes)


def _outermost(kernel: Kernel) -> list[For]:
    """The scalable vector loops that are in no other."""
    found: list[For] = []
    stack: list[Stmt] = list(kernel.body)
    while stack:
        s = stack.pop()
        if isinstance(s, For) and isinstance(s.kind, ScalableVector):
            found.append(s)
        else:
            stack += getattr(s, "body", ())
    return found


def _known_elements(loops: Sequence[For], buffers: Collection[Tensor]) -> dict[Tensor, set[int]]:
    """Positions of the elements of each buffer that are used; left out where some index is not a
    constant.
    """
    found: dict[Tensor, set[int]] = {}
    unknown: set[Tensor] = set()
    for n in walk(*(s for loop in loops for s in loop.body)):
        if isinstance(n, Read | Store) and n.tensor in buffers:
            flat = flat_index(n.tensor, n.indices)
            found.setdefault(n.tensor, set()).add(flat.constant)
            unknown |= {n.tensor} if flat.terms else set()
    return {t: places for t, places in found.items() if t not in unknown}


def lanes_of(loop: For) -> Scalable:
    """The lanes of a loop: as many as its registers hold of its widest type; a predicate has
    room for them.
    """
    widest = max((n.tensor.dtype.bytes for n in walk(loop) if isinstance(n, Read | Store)), default=F32.bytes)
    assert isinstance(loop.kind, ScalableVector)
    return Scalable(min(MOST_LANES, loop.kind.registers * REGISTER // widest))
