"""Vectors of the length that the processor has: strips of loops, by as many lanes as registers hold.

    for j in 0..n scalable.2: S(j)   ->   for c in 0..n by vl: lanes w in 0..vl where c + w < n: S(c + w)        vl: lanes of 2 registers

Iterations of such a loop are independent, so any of them may run together: the code is right for every length at once. A register is an
LLVM type of `vscale` times so many elements. What each iteration has for itself has a register for each of its elements.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeGuard

from texpr.ir.affine import Linear, linear
from texpr.ir.build import add, product, sub
from texpr.ir.dtypes import BOOL, F32, I64
from texpr.ir.expr import Compare, Expr, Read, Tensor, Var
from texpr.ir.loop import SCALABLE, Alloc, For, Kernel, Stmt, Store
from texpr.ir.traverse import statements, variables, walk
from texpr.passes.analysis.row_major import flat_index
from texpr.passes.analysis.substitution import folded_anew
from texpr.support.errors import CompileError
from texpr.targets.cpu.sve_quads import PART, QuadProduct, quad_product
from texpr.targets.emit.expressions import neutral
from texpr.targets.emit.fma_contraction import adds_terms
from texpr.targets.emit.function import Scalable, Value, constant, lanes_suffix, memory_type, vector_type
from texpr.targets.emit.outline_nests import ApartEmitter

REGISTER = 16
"""Bytes of the shortest registers."""
MOST_LANES = 16
"""Bits of a predicate for each 128 bits of a register."""
MOST_ON_STACK = 256
"""Elements of what each lane has for itself, beyond which it lives on the heap."""


class ScalableEmitter(ApartEmitter):
    """Adds loops over lanes of registers of any length.

    `own` has the lanes of the loop whose iterations have a buffer each, `places` the elements of it that are used where all of them are
    known, `kept` the addresses of a register for each. What is seldom called keeps half of the registers.
    """

    rare_convention = "aarch64_sve_vector_pcs"

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.declared["llvm.vscale.i64"] = "declare i64 @llvm.vscale.i64()"
        loops = _outermost(kernel)
        self.own = {s.tensor: _lanes(n) for n in loops for s in statements(*n.body) if isinstance(s, Alloc)}
        self.places = _places(loops, self.own)
        self.kept: dict[tuple[Tensor, int], str] = {}
        self.strip: Value | None = None
        self.count = constant(0, I64)
        self.sums: dict[Store, tuple[str, Value]] = {}

    @property
    def any_length(self) -> bool:
        """Whether this is inside of a loop over such lanes."""
        return isinstance(self.lanes, Scalable)

    def loop(self, loop: For) -> None:
        if not loop.kind.startswith(SCALABLE):
            super().loop(loop)
        elif self.lane is None:
            self._strips(loop)
        else:
            self._serial(loop, constant(0, I64), self.index(loop.extent))

    def _strips(self, loop: For) -> None:
        f, lanes, extent = self.function, _lanes(loop), self.index(loop.extent)
        start, lane = Var(loop.var.name), Var(loop.var.name)
        body = tuple(folded_anew(s, {loop.var: add(start, lane)}) for s in loop.body)
        self.count = self._one(f"mul i64 {self.intrinsic('llvm.vscale.i64', 'i64')}, {int(lanes)}", I64, 0)
        self.sums = {s: self._sum(s, lanes) for s in body if _is_sum(s, lane) and s.tensor not in self.own}
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
            self.lane_values = Value(self.intrinsic(f"llvm.stepvector.{lanes_suffix(lanes)}i64", vector_type("i64", lanes)), I64, lanes)
            self.strip = self.mask = self._first_lanes("llvm.get.active.lane.mask", Value(var, I64), extent)
            self.looping += 1
            self.statements(body)
            self.looping -= 1
        f.emit(f"{following} = add nuw nsw i64 {var}, {self.count.text}")
        f.lines[hole] = f"  {var} = phi i64 [ 0, %{head} ], [ {following}, %{f.block} ]"
        self.strip = self.mask = None
        done = f.fresh("strips_done")
        f.emit(f"br i1 {f.define(f'icmp slt i64 {following}, {extent.text}')}, label %{inside}, label %{done}, !llvm.loop !0")
        f.start(done)
        with f.region():
            self._add_up()
        self.lane, self.lanes, self.lane_values = None, 0, None
        f.branch(after)
        f.start(after)

    def _first_lanes(self, intrinsic: str, first: Value, stop: Value) -> Value:
        """The lanes for which a number that counts with them from `first` on is below `stop`."""
        name = f"{intrinsic}.{lanes_suffix(self.lanes)}i1.i64"
        return Value(self.intrinsic(name, vector_type("i1", self.lanes), str(first), str(stop)), BOOL, self.lanes)

    # Sums over the loop.

    def _sum(self, s: Store, lanes: Scalable) -> tuple[str, Value]:
        """A register for the terms that each lane has seen of what all of them update, and what it has before."""
        assert s.update is not None
        start = constant(neutral(s.update, s.tensor.dtype), s.tensor.dtype, lanes)
        slot = self.function.slot(start.type, REGISTER)
        self.function.emit(f"store {start}, ptr {slot}, align {REGISTER}")
        return slot, start

    def assignment(self, s: Store) -> None:
        if s not in self.sums or s.update is None:
            found = quad_product(s, self.differs) if self.fma and adds_terms(self.kernel, s) and self.any_length else None
            # Of what the kernel packed itself: quads along the terms of several rows would want more registers than products can name.
            packed = found is not None and found.tensor not in self.own and found.tensor not in self.kernel.inputs
            if found is None or not packed or not self._add_products(s, found):
                super().assignment(s)
            return
        slot, start = self.sums[s]
        value = self.cast(self.term(s), s.tensor.dtype)
        old = Value(self.function.define(f"load {start.type}, ptr {slot}, align {REGISTER}"), start.dtype, start.lanes)
        new = self.extreme(s.update, old, value) if s.update in ("max", "min") else self._updated(s, old, value)
        assert self.mask is not None, "lanes past the end are off"
        self.function.emit(f"store {self.select(self.mask, new, old)}, ptr {slot}, align {REGISTER}")

    def _add_products(self, s: Store, added: QuadProduct) -> bool:
        """Products with one element of every 128 bits of a register; whether these registers are those of the lanes."""
        count, element = PART // s.tensor.dtype.bytes, memory_type(s.tensor.dtype)
        if self.is_one(s) or int(self.lanes) % count:
            return False
        lanes, old = self.value(added.lanes), self.load(Read(s.tensor, s.indices))
        t, suffix = vector_type(element, Scalable(count)), self._memory_suffix(element, Scalable(count))
        address = self._element(self.pointers[added.tensor], element, added.first, "")
        on = vector_type("i1", Scalable(count))
        quad = self.intrinsic(f"llvm.aarch64.sve.ld1rq.{suffix}", t, f"{on} splat (i1 true)", f"ptr {address}")
        new, whole = old.text, f"{suffix}.{self.suffix(old)}"
        for at in range(0, int(self.lanes), count):
            if int(self.lanes) == count:
                parts, before = lanes.text, old.text
            else:
                parts, before = (self.intrinsic(f"llvm.vector.extract.{whole}", t, str(v), f"i64 {at}") for v in (lanes, old))
            sum_ = self.intrinsic(f"llvm.aarch64.sve.fmla.lane.{suffix}", t, f"{t} {before}", f"{t} {parts}", f"{t} {quad}",
                                  f"i32 {added.place}")
            new = sum_ if int(self.lanes) == count else self.intrinsic(
                f"llvm.vector.insert.{self.suffix(old)}.{suffix}", old.type, f"{old.type} {new}", f"{t} {sum_}", f"i64 {at}")
        self.store(s.tensor, s.indices, Value(new, old.dtype, old.lanes))
        return True

    def _add_up(self) -> None:
        """The lanes of each sum into the element that they belong to, once the loop is over."""
        sums, self.sums = self.sums, {}
        for s, (slot, start) in sums.items():
            assert s.update is not None
            each = Value(self.function.define(f"load {start.type}, ptr {slot}, align {REGISTER}"), start.dtype, start.lanes)
            value, read = self.over_lanes(s.update, each), Read(s.tensor, s.indices)
            with self.known.scope():
                old = self.load(read)
                new = self.extreme(s.update, old, value) if s.update in ("max", "min") else self._updated(s, old, value)
                self.store(s.tensor, s.indices, new)

    def over_lanes(self, update: str, a: Value) -> Value:
        if update == "mul" and self.any_length:
            raise CompileError("a product over the lanes of registers of any length is not one of their instructions", code="target",
                               help="vectorize names a number of lanes")
        return super().over_lanes(update, a)

    def is_one(self, s: Store) -> bool:
        return s.tensor not in self.own and super().is_one(s)

    def differs(self, *roots: Expr) -> bool:
        return super().differs(*roots) or self.any_length and any(isinstance(n, Read) and n.tensor in self.own for n in walk(*roots))

    # Masks.

    def _combined(self, e: Expr) -> Value:
        found = self._while(e) if self.any_length and isinstance(e, Compare) and e.lhs.dtype == I64 else None
        return super()._combined(e) if found is None else found

    def _while(self, e: Compare) -> Value | None:
        """A comparison with what counts with the lanes: the lanes up to one, or those after it."""
        form = linear(sub(e.lhs, e.rhs))
        lane = self.lane
        assert lane is not None
        step, rest = form.coefficient(lane), form.without(lane)
        if step not in (1, -1) or e.op not in ("<", "<=", ">", ">=") or any(lane in variables(t) for t, _ in rest.terms):
            return None
        if any(self.value(t).lanes for t, _ in rest.terms):
            return None
        first = self.position(rest if step == 1 else rest.negated)
        upward = e.op in ("<", "<=") if step == 1 else e.op in (">", ">=")
        strict = e.op in ("<", ">") if upward else e.op in ("<=", ">=")
        stop = constant(0 if strict else 1, I64)
        lanes = self._first_lanes("llvm.aarch64.sve.whilelt", first, stop)
        return lanes if upward else self._one(f"xor {lanes}, {constant(True, BOOL, self.lanes).text}", BOOL, self.lanes)

    # Memory.

    def of_last(self, first: Linear) -> Value:
        if not self.any_length:
            return super().of_last(first)
        return self._one(f"sub {self.position(Linear(first.terms, first.constant + 1))}, {self.count.text}", I64, 0)

    def _reversed(self, t: str, text: str, lanes: int) -> str:
        if not isinstance(lanes, Scalable):
            return super()._reversed(t, text, lanes)
        element = t.partition(f"{lanes} x ")[2].rstrip(">")
        return self.intrinsic(f"llvm.vector.reverse.{self._memory_suffix(element, lanes)}", t, f"{t} {text}")

    def _picked(self, tensor: Tensor, indices: tuple[Expr, ...]) -> str | None:
        return None if self.any_length else super()._picked(tensor, indices)

    def interleaving(self, body: Sequence[Stmt]) -> list[Store]:
        return [] if self.any_length else super().interleaving(body)

    def _is_whole(self, tensor: Tensor, indices: tuple[Expr, ...]) -> bool:
        return not self.any_length and super()._is_whole(tensor, indices)

    def streams(self, tensor: Tensor, indices: tuple[Expr, ...]) -> bool:
        return not self.any_length and super().streams(tensor, indices)

    # What each lane has for itself.

    def on_stack(self, tensor: Tensor) -> bool:
        # LLVM makes registers of single vectors on the stack, and has no arrays of them there.
        return len(self.places.get(tensor, ())) in range(1, MOST_ON_STACK) if tensor in self.own else super().on_stack(tensor)

    def allocate(self, tensor: Tensor) -> None:
        if tensor not in self.own or tensor in self.pointers:
            super().allocate(tensor)
            return
        f, elements = self.function, self.index(product(tensor.shape))
        if self.on_stack(tensor):
            for k in self.places[tensor]:
                self.kept[tensor, k] = f.slot(vector_type(memory_type(tensor.dtype), self.own[tensor]), REGISTER)
            return
        assert not self.looping, f"{tensor.name} of variable or large size is allocated inside a loop"
        lanes = self._one(f"mul i64 {self.intrinsic('llvm.vscale.i64', 'i64')}, {int(self.own[tensor]) * tensor.dtype.bytes}", I64, 0)
        self.pointers[tensor] = f.heap_buffer(f.define(f"mul {elements}, {lanes.text}"))

    def load(self, read: Read) -> Value:
        tensor, element = read.tensor, memory_type(read.tensor.dtype)
        if tensor not in self.own:
            return super().load(read)
        at, t = self._place(tensor, read.indices), vector_type(element, self.lanes)
        if isinstance(at, str):
            text = self.function.define(f"load {t}, ptr {at}, align {REGISTER}")
        else:
            name = f"llvm.masked.gather.{self._memory_suffix(element, self.lanes)}.{lanes_suffix(self.lanes)}p0"
            text = self.intrinsic(name, t, f"{vector_type('ptr', self.lanes)} align {tensor.dtype.bytes} {at.text}", str(self.mask),
                                  f"{t} zeroinitializer")
        return self._from_memory(Value(text, tensor.dtype, self.lanes), element)

    def store(self, tensor: Tensor, indices: tuple[Expr, ...], value: Value, *, stream: bool = False, one_for_all: bool = False) -> None:
        if tensor not in self.own:
            super().store(tensor, indices, value, stream=stream, one_for_all=one_for_all)
            return
        at, element = self._place(tensor, indices), memory_type(tensor.dtype)
        value, t = self.broadcast(value, self.lanes), vector_type(element, self.lanes)
        assert self.mask is not None, "lanes past the end are off"
        if isinstance(at, str) and self.mask is not self.strip:
            value = self.select(self.mask, value, self.load(Read(tensor, indices)))
        text = self.function.define(f"zext {value} to {t}") if value.dtype == BOOL else value.text
        if isinstance(at, str):
            self.function.emit(f"store {t} {text}, ptr {at}, align {REGISTER}")
            return
        name = f"llvm.masked.scatter.{self._memory_suffix(element, self.lanes)}.{lanes_suffix(self.lanes)}p0"
        places = f"{vector_type('ptr', self.lanes)} align {tensor.dtype.bytes} {at.text}"
        self.intrinsic(name, "void", f"{t} {text}", places, str(self.mask))

    def _place(self, tensor: Tensor, indices: tuple[Expr, ...]) -> str | Value:
        """Where the lanes have an element: the address of a register of it; one for each lane where it is another one in each."""
        flat = self._flat(tensor, indices)
        found = self.kept.get((tensor, flat.constant)) if not flat.terms else None
        if found is not None:
            return found
        base, element = self.pointers[tensor], memory_type(tensor.dtype)
        position = self.index(flat.expr())
        if not position.lanes:
            return self.function.pure(f"getelementptr {vector_type(element, self.lanes)}, ptr {base}, {position}")
        assert self.lane_values is not None
        rows = self._one(f"mul {position}, {self.broadcast(self.count, self.lanes).text}", I64, self.lanes)
        places = self._one(f"add {rows}, {self.lane_values.text}", I64, self.lanes)
        return Value(self.function.pure(f"getelementptr {element}, ptr {base}, {places}"), I64, self.lanes)


def _outermost(kernel: Kernel) -> list[For]:
    """The loops over such lanes that are in no other."""
    found: list[For] = []
    stack: list[Stmt] = list(kernel.body)
    while stack:
        s = stack.pop()
        if isinstance(s, For) and s.kind.startswith(SCALABLE):
            found.append(s)
        else:
            stack += getattr(s, "body", ())
    return found


def _places(loops: Sequence[For], own: Collection[Tensor]) -> dict[Tensor, set[int]]:
    """Which elements of each buffer are used; left out where some index is not a constant."""
    found: dict[Tensor, set[int]] = {}
    unknown: set[Tensor] = set()
    for n in walk(*(s for loop in loops for s in loop.body)):
        if isinstance(n, Read | Store) and n.tensor in own:
            flat = flat_index(n.tensor, n.indices)
            found.setdefault(n.tensor, set()).add(flat.constant)
            unknown |= {n.tensor} if flat.terms else set()
    return {t: places for t, places in found.items() if t not in unknown}


def _lanes(loop: For) -> Scalable:
    """As many as the registers of a loop hold of its widest type; a predicate has room for them."""
    widest = max((n.tensor.dtype.bytes for n in walk(loop) if isinstance(n, Read | Store)), default=F32.bytes)
    return Scalable(min(MOST_LANES, int(loop.kind.removeprefix(SCALABLE)) * REGISTER // widest))


def _is_sum(s: Stmt, lane: Var) -> TypeGuard[Store]:
    """Whether a statement of the loop updates one element in all of its iterations, in the type of the sum."""
    return isinstance(s, Store) and s.update is not None and lane not in variables(*s.indices) and s.tensor.dtype.bits >= 32
