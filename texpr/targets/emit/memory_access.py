"""Loads and stores: one element, a run of lanes, or a gather."""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.affine import Linear, linear
from texpr.ir.build import integer, product, sub
from texpr.ir.dtypes import BOOL, I64
from texpr.ir.expr import Expr, FloorDiv, Read, Tensor, Var
from texpr.ir.loop import Stmt, Store
from texpr.ir.traverse import variables, walk
from texpr.passes.analysis.row_major import flat_index, row_length
from texpr.targets.emit.expressions import Expressions
from texpr.targets.emit.function import Scalable, Value, constant, lanes_suffix, memory_type, vector_type

NOTHING = "tx_nothing"
"""Zeros that are loaded where no lane is on."""
LINE = 64
"""Bytes of a cache line: a part of one would be read, merged and written back."""


class Accesses(Expressions):
    """Adds loads and stores to expressions.

    Attributes:
        pointers: the address of each tensor's first element.
        changed_meanwhile: the tensors that may be written while the loops around run; None for all
            but the inputs.
        checked_mask: the mask of which a branch around has asked that some lane is on.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pointers: dict[Tensor, str] = {}
        self.inputs: frozenset[Tensor] = frozenset()
        self.changed_meanwhile: frozenset[Tensor] | None = None
        self.checked_mask: Value | None = None
        self._last: tuple[Tensor, tuple[Expr, ...], Linear] | None = None

    def _flat(self, tensor: Tensor, indices: tuple[Expr, ...]) -> Linear:
        """The linear position of an element. The last one is kept: it is needed twice."""
        if self._last is None or self._last[0] is not tensor or self._last[1] is not indices:
            self._last = tensor, indices, flat_index(tensor, indices)
        return self._last[2]

    def alignment(self, tensor: Tensor, indices: tuple[Expr, ...] = ()) -> int:
        """Alignment in bytes of an element, or of the first one of a run of lanes, is a multiple.
        Arrays may stand anywhere.
        """
        return 1 if tensor.scope == "global" else tensor.dtype.bytes

    def load(self, read: Read) -> Value:
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

    def _strided_load(self, tensor: Tensor, indices: tuple[Expr, ...]) -> str | None:
        """Lanes that are every second, third or fourth element of memory, or some lanes each the
        same element, from runs of memory; None for others.

        Nothing is read but what lies between the first and the last element wanted.
        """
        flat, lanes = self._flat(tensor, indices), self.lanes
        varying = [(t, c) for t, c in flat.terms if t is self.lane or self._differs_between_lanes(t)]
        if len(varying) != 1:
            return None
        match varying[0]:
            case (Var(), 2 | 3 | 4 as step) if lanes % step == 0 or step == 3 <= lanes:
                return self._load_strided_runs(tensor, flat.without(self.lane), step)  # type: ignore[arg-type]
            case (FloorDiv(dividend, divisor) as term, 1):
                above, d = linear(dividend), integer(divisor) or 0
                others = above.without(self.lane)  # type: ignore[arg-type]
                if d < 2 or lanes % d or above.coefficient(self.lane) != 1 or others.constant % d:  # type: ignore[arg-type]
                    return None
                if any(c % d or self._differs_between_lanes(t) for t, c in others.terms):
                    return None
                rest = Linear(
                    tuple((t, c) for t, c in flat.terms if t is not term),
                    flat.constant + others.constant // d,
                )
                first = rest.plus(Linear(tuple((t, c // d) for t, c in others.terms), 0))
                run = self._load_run(
                    tensor, first, lanes // d, [[k * d + r for k in range(lanes // d)] for r in range(d)]
                )
                return self._shuffle(tensor, [run, run], lanes // d, [k // d for k in range(lanes)])
        return None

    def _load_strided_runs(self, tensor: Tensor, first: Linear, step: int) -> str:
        """A strided load: each `step`-th element, one for each lane: from as many runs, the last of
        which ends with the last element wanted.
        """
        lanes = self.lanes
        starts = [*(lanes * part for part in range(step - 1)), step * (lanes - 1) + 1 - lanes]
        part_of = [min(step * k // lanes, step - 1) for k in range(lanes)]
        runs = []
        for part, start in enumerate(starts):
            wanted = {step * k - start: k for k in range(lanes) if part_of[k] == part}
            runs.append(
                self._load_run(
                    tensor,
                    Linear(first.terms, first.constant + start),
                    lanes,
                    [[wanted.get(p) for p in range(lanes)]],
                )
            )
        value = runs[0]
        for part in range(1, step):  # those of the first run move when it meets the second one
            there = [step * k if part_of[k] == 0 and part == 1 else k for k in range(lanes)]
            picks = [
                lanes + step * k - starts[part] if part_of[k] == part else at for k, at in enumerate(there)
            ]
            value = self._shuffle(tensor, [value, runs[part]], lanes, picks)
        return value

    def _load_run(
        self, tensor: Tensor, first: Linear, count: int, users: Sequence[Sequence[int | None]]
    ) -> str:
        """A load of neighbouring elements, masked by the lanes that are on.

        Args:
            users: lists of the lanes that want each element.
        """
        element, space, align = memory_type(tensor.dtype), self.space(tensor), self.alignment(tensor)
        t = vector_type(element, count)
        if self.mask is None:
            start = self._element(self.pointers[tensor], element, first, space)
            return self._emit_load(tensor, f"load {t}, ptr{space} {start}, align {align}")
        wanted = ""
        for each in users:
            picks = ", ".join(f"i32 {self.lanes if k is None else k}" for k in each)
            on = self.function.define(
                f"shufflevector {self.mask}, {self.mask.type} zeroinitializer, <{count} x i32> <{picks}>"
            )
            wanted = self.function.define(f"or <{count} x i1> {wanted}, {on}") if wanted else on
        address = self.function.pure(
            f"getelementptr {element}, ptr{space} {self.pointers[tensor]}, {self.position(first)}"
        )
        return self._masked_load(tensor, count, address, f"<{count} x i1> {wanted}")

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

    def _shuffle(self, tensor: Tensor, runs: Sequence[str], count: int, picks: Sequence[int]) -> str:
        t = vector_type(memory_type(tensor.dtype), count)
        chosen = ", ".join(f"i32 {k}" for k in picks)
        return self.function.define(
            f"shufflevector {t} {runs[0]}, {t} {runs[1]}, <{len(picks)} x i32> <{chosen}>"
        )

    def _from_memory_type(self, loaded: Value, element: str) -> Value:
        if loaded.dtype != BOOL:
            return loaded
        t = vector_type(element, loaded.lanes)
        zero = "zeroinitializer" if loaded.lanes else "0"
        return Value(self.function.define(f"icmp ne {t} {loaded.text}, {zero}"), BOOL, loaded.lanes)

    def store(
        self,
        tensor: Tensor,
        indices: tuple[Expr, ...],
        value: Value,
        *,
        stream: bool = False,
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
        if stream and stride == 1 and self.mask is None and self.can_bypass_caches(tensor, indices):
            self._nontemporal_store(tensor, f"store {t} {text}, ptr {address}", align)
        elif not lanes or (stride and self.mask is None):
            self.function.emit(f"store {t} {text}, ptr{space} {address}, align {align}")
        elif stride:
            self.intrinsic(
                f"llvm.masked.store.{self._memory_suffix(element, lanes)}.p{self.space_number(tensor)}",
                "void",
                f"{t} {text}",
                f"ptr{space} align {align} {address}",
                self._mask(stride),
            )
        else:
            mask = self.mask or constant(True, BOOL, lanes)
            name = f"llvm.masked.scatter.{self._memory_suffix(element, lanes)}.{lanes_suffix(lanes)}p{self.space_number(tensor)}"
            self.intrinsic(
                name, "void", f"{t} {text}", f"<{lanes} x ptr{space}> align {align} {address}", str(mask)
            )

    def _is_private_run(self, tensor: Tensor, indices: tuple[Expr, ...]) -> bool:
        """True if a run of lanes lies in a buffer of this function's own stack, lanes that are off
        as well: nobody else looks at it, so what is left alone may be written as it was, and LLVM
        keeps it in registers, which it does not under masks.
        """
        if self.pointers[tensor] not in self.function.stack_slots or self.lane is None:
            return False
        flat, size = self._flat(tensor, indices), integer(product(tensor.shape))
        first = flat.without(self.lane)
        lowest = first.constant - (self.lanes - 1 if flat.coefficient(self.lane) < 0 else 0)
        return size is not None and not first.terms and 0 <= lowest <= size - self.lanes

    def _splat_pointer(self, scalar: str, text: str, lanes: int) -> str:
        """A scalar of a type without a dtype, in every lane."""
        t = f"<{lanes} x {scalar}>"
        first = self.function.pure(f"insertelement {t} poison, {scalar} {text}, i64 0")
        return self.function.pure(f"shufflevector {t} {first}, {t} poison, <{lanes} x i32> zeroinitializer")

    def _reverse(self, t: str, text: str, lanes: int) -> str:
        """A vector with its last lane first."""
        picks = ", ".join(f"i32 {k}" for k in reversed(range(lanes)))
        return self.function.define(f"shufflevector {t} {text}, {t} poison, <{lanes} x i32> <{picks}>")

    def _mask(self, stride: int) -> str:
        """The mask of lanes in the order of memory."""
        assert self.mask is not None
        return (
            str(self.mask)
            if stride > 0
            else f"{self.mask.type} {self._reverse(self.mask.type, self.mask.text, self.mask.lanes)}"
        )

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

    @staticmethod
    def _memory_suffix(element: str, lanes: int) -> str:
        return (
            f"{lanes_suffix(lanes)}{ {'half': 'f16', 'float': 'f32', 'double': 'f64'}.get(element, element) }"
        )

    def space(self, tensor: Tensor) -> str:
        """The address space of a tensor's pointer, as it stands after `ptr`."""
        number = self.space_number(tensor)
        return f" addrspace({number})" if number else ""

    def space_number(self, tensor: Tensor) -> int:
        return 0

    def address(self, tensor: Tensor, indices: tuple[Expr, ...]) -> tuple[str, int, int]:
        """Address, lanes and stride: (scalar address, 0, 0), (lowest address of a run of lanes,
        lanes, 1 or -1), or (vector of addresses, lanes, 0)."""
        flat = self._flat(tensor, indices)
        space = self.space(tensor)
        base, element = self.pointers[tensor], memory_type(tensor.dtype)
        varying = [t for t, _ in flat.terms if t is self.lane or self._differs_between_lanes(t)]
        if not varying:
            return self._element(base, element, flat, space), 0, 0
        assert self.lane is not None
        step = flat.coefficient(self.lane)
        if varying == [self.lane] and step in (1, -1):
            first = flat.without(self.lane)
            if step == 1 and self.mask is None:
                return self._element(base, element, first, space), self.lanes, 1
            # Where the first lanes are off, this may lie in front of the tensor.
            if step == 1:
                return (
                    self.function.pure(f"getelementptr {element}, ptr{space} {base}, {self.position(first)}"),
                    self.lanes,
                    1,
                )
            # Where the last lanes are off, this may lie in front of the tensor.
            return (
                self.function.pure(
                    f"getelementptr {element}, ptr{space} {base}, {self.last_lane_position(first)}"
                ),
                self.lanes,
                -1,
            )
        offsets = self.broadcast(self.index(flat.expr()), self.lanes)
        return self.function.pure(f"getelementptr {element}, ptr{space} {base}, {offsets}"), self.lanes, 0

    def last_lane_position(self, first: Linear) -> Value:
        """The position of the last lane of a reversed run."""
        return self.position(Linear(first.terms, first.constant - (self.lanes - 1)))

    def _differs_between_lanes(self, term: Expr) -> bool:
        """True if a term of a position differs between lanes."""
        return not isinstance(term, Var) and self.differs(term)

    def _element(self, base: str, element: str, offset: Linear, space: str) -> str:
        at = self.position(offset)
        return (
            base
            if at.text == "0"
            else self.function.pure(f"getelementptr inbounds {element}, ptr{space} {base}, {at}")
        )

    def position(self, form: Linear) -> Value:
        """A linear form that is the same for all lanes, without an expression for it: its positive
        terms come first.
        """
        total: Value | None = None
        for term, c in sorted(form.terms, key=lambda tc: tc[1] < 0):
            part = self.index(term)
            if abs(c) != 1:
                part = self._pure(f"mul {part}, {abs(c)}", I64, 0)
            if total is None and c > 0:
                total = part
            else:
                total = self._pure(
                    f"{'add' if c > 0 else 'sub'} {total or constant(0, I64)}, {part.text}", I64, 0
                )
        if total is None or not form.constant:
            return total or constant(form.constant, I64)
        return self._pure(f"{'add' if form.constant > 0 else 'sub'} {total}, {abs(form.constant)}", I64, 0)
