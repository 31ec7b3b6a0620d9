"""Statements to LLVM IR: loops, conditions, stores, buffers, threads. Nothing is decided here: the kernel says how each loop runs."""

from __future__ import annotations

from texpr.ir.build import integer, product
from texpr.ir.dtypes import F32, I64, DType
from texpr.ir.expr import Add, Const, Expr, Max, Min, Mul, Read, Tensor, Var, index
from texpr.ir.extern import extern_symbol
from texpr.ir.loop import (
    INSTRUCTION,
    Alloc,
    Barrier,
    Commit,
    CommitProducts,
    ExternCall,
    For,
    If,
    Kernel,
    Poll,
    Prefetch,
    Stmt,
    Store,
    Wait,
    WaitProducts,
)
from texpr.ir.traverse import children, statements, tensors, walk
from texpr.passes.analysis.row_major import flat_index
from texpr.passes.analysis.substitution import folded
from texpr.passes.loop.place_buffers import PARTS, fits_stack, stride_of
from texpr.support.errors import CompileError
from texpr.targets.common.records import symbol_of
from texpr.targets.emit.fma_contraction import adds_terms, continues
from texpr.targets.emit.function import Function, Scoped, Value, constant, iota, memory_type, register_type
from texpr.targets.emit.instructions import emit_instruction
from texpr.targets.emit.memory_access import Accesses

_UPDATES = {"add": Add, "mul": Mul, "max": Max, "min": Min}


class Emitter(Accesses):
    """Emits the functions of one kernel for a CPU; targets that differ override single methods.

    Attributes:
        adds_addresses: loads take a base, an index and an offset, so that no sums of them need registers.
        rare_convention: how functions that are seldom called are called.
    """

    adds_addresses = False
    rare_convention = ""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.kernel = kernel
        self.fma, self.inputs = kernel.fma, frozenset(kernel.inputs)
        self.functions: list[str] = []
        self.rare_functions: dict[str, str] = {}
        self.in_worker = False
        self.overwriting: set[Tensor] = set()
        self.looping = 0
        self.workers = 0

    def statements(self, body: tuple[Stmt, ...]) -> None:
        at = 0
        while at < len(body):
            group = self.interleaving(body[at:])
            with self.known.scope():
                if group:
                    self.store_interleaved(group)
                else:
                    self.statement(body[at])
            at += max(1, len(group))

    def statement(self, s: Stmt) -> None:
        match s:
            case For(var, extent):
                with self.around.inside(var, extent):
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

    def rare(self, e: Expr) -> Value:
        """In a function of its own, one for all places that compute the same of other values: its code is long."""
        given: dict[int, tuple[Expr, Value]] = {}
        stack, seen = [e], set()
        while stack:
            node = stack.pop()
            if id(node) in seen or isinstance(node, Const):
                continue
            seen.add(id(node))
            value = self._known(node)
            if value is not None:
                given[id(node)] = node, value
            elif isinstance(node, Read):
                return super().rare(e)
            else:
                stack += [c for c in children(node) if isinstance(c, Expr)]
        if any(isinstance(node, Var) for node, _ in given.values()):
            return super().rare(e)
        return self._called(e, given)

    def rare_attributes(self, result: Value) -> str:
        """Of a function that is seldom called."""
        return "noinline"

    def _called(self, e: Expr, given: dict[int, tuple[Expr, Value]]) -> Value:
        outer = self.function, self.known, self.mask
        parameters = [Value(f"%p{k}", v.dtype, v.lanes) for k, (_, v) in enumerate(given.values())]
        self.function, self.mask = Function(""), None
        self.known = Scoped({key: (node, p) for (key, (node, _)), p in zip(given.items(), parameters)})
        result = self.value(e)
        head = f"({', '.join(map(str, parameters))}) {self.rare_attributes(result)} #0 {{"
        lines = "\n".join([head, "entry:", *self.function.lines, f"  ret {result}", "}"])
        self.function, self.known, self.mask = outer
        text = f"{result.type} @{{}}{lines}"
        name = self.rare_functions.get(text)
        if name is None:
            name = self.rare_functions[text] = f"rare{len(self.rare_functions)}"
            self.functions.append(f"define internal {self.rare_convention} {result.type} @{name}{lines}")
        arguments = ", ".join(str(v) for _, v in given.values())
        return self._one(f"call {self.rare_convention} {result.type} @{name}({arguments})", result.dtype, result.lanes)

    def assignment(self, s: Store) -> None:
        value = self.term(s)
        if s.update is None:
            self.store(s.tensor, s.indices, value, stream=s.stream)
            return
        some = self.some_lane() if self.is_one(s) else None
        if some is None:
            self._update(s, s.update, value)
            return
        f, before = self.function, self.asked
        inside, after = f.fresh("if"), f.fresh("fi")
        f.emit(f"br i1 {some}, label %{inside}, label %{after}")
        f.start(inside)
        self.asked = self.mask
        with f.region(), self.known.scope():
            self._update(s, s.update, value)
        self.asked = before
        f.branch(after)
        f.start(after)

    def _update(self, s: Store, update: str, value: Value) -> None:
        self.store(s.tensor, s.indices, self._folded_in(s, update, value), one_for_all=True)

    def term(self, s: Store) -> Value:
        """What a store writes or adds; a product that is added to a sum may be joined with it."""
        e = s.value
        if self.fma == "sums" and e.dtype.is_float and continues(self.kernel, s):
            assert isinstance(e, Add) and isinstance(e.lhs, Mul)
            a, b = self._same(self._joined(e.lhs), self.value(e.rhs))
            return self._one(f"fadd contract {a}, {b.text}", a.dtype, a.lanes)
        if self.fma != "sums" or not isinstance(e, Mul) or not e.dtype.is_float or not adds_terms(self.kernel, s):
            return self.value(e)
        return self._joined(e)

    def _joined(self, e: Mul) -> Value:
        """A product that may be joined with what it is added to."""
        a, b = self._same(self.value(e.lhs), self.value(e.rhs))
        return self._one(f"fmul contract {a}, {b.text}", a.dtype, a.lanes)

    def _folded_in(self, s: Store, update: str, value: Value) -> Value:
        """What an element becomes; of types that NumPy lacks by way of f32, rounded once."""
        by_way = F32 if s.tensor.dtype.as_bits else s.tensor.dtype
        value = self.cast(value, by_way)
        if self.lane is not None and self.is_one(s):
            value = self.over_lanes(update, value)
        old = self.cast(self.load(Read(s.tensor, s.indices)), by_way)
        new = self.extreme(update, old, value) if update in ("max", "min") else self._updated(s, old, value)
        return self.cast(new, s.tensor.dtype)

    def is_one(self, s: Store) -> bool:
        """Whether what a statement of a vector loop writes is one element for all lanes."""
        return not self.differs(*s.indices)

    def _updated(self, s: Store, old: Value, value: Value) -> Value:
        """old + value or old * value; where that is allowed the backend may join it with the product in `value`."""
        old, value = self._same(old, value)
        operation = _UPDATES[s.update or ""]
        if not old.dtype.is_float:
            return self._one(f"{'add' if operation is Add else 'mul'} {old}, {value.text}", old.dtype, old.lanes)
        flags = " contract" if self.fma == "all" or self.fma == "sums" and adds_terms(self.kernel, s) else ""
        return self._one(f"{'fadd' if operation is Add else 'fmul'}{flags} {old}, {value.text}", old.dtype, old.lanes)

    def condition(self, cond: Expr, body: tuple[Stmt, ...]) -> None:
        c = self.value(cond)
        if c.lanes:
            before, self.mask = self.mask, self.both(self.mask, c)
            with self.around.where(cond, True):
                self.statements(body)
            self.mask = before
            return
        f = self.function
        inside, after = f.fresh("if"), f.fresh("fi")
        f.emit(f"br {c}, label %{inside}, label %{after}")
        f.start(inside)
        with f.region(), self.around.where(cond, False):
            self.statements(body)
        f.branch(after)
        f.start(after)

    def loop(self, loop: For) -> None:
        match loop.kind:
            case kind if kind.startswith(INSTRUCTION):
                emit_instruction(self, loop)
            case "vector" if self.lane is None:
                self._vector(loop)
            case "parallel" if not self.in_worker and self.lane is None:
                self._parallel(loop)
            case _:
                self._serial(loop, constant(0, I64), self.index(loop.extent))

    def _serial(self, loop: For, first: Value, stop: Value) -> None:
        if stop.lanes:
            raise CompileError(f"the extent of loop `{loop.var.name}` differs between vector lanes", code="target",
                               help="vectorize another loop")
        f, t = self.function, self.counter(loop)
        first, stop = self.counted(loop, first), self.counted(loop, stop)
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
        self.looping += 1
        outer, self.changing = self.changing, self.changing_in(loop)
        with f.region():
            self.loop_body(loop)
        self.looping -= 1
        self.changing = outer
        f.emit(f"{following} = add nuw nsw {register_type(t)} {var}, 1")
        f.lines[hole] = f"  {var} = phi {register_type(t)} [ {first.text}, %{before} ], [ {following}, %{f.block} ]"
        more = f.define(f"icmp ne {register_type(t)} {following}, {stop.text}")
        f.emit(f"br i1 {more}, label %{body}, label %{after}, !llvm.loop !0")
        f.start(after)

    def counter(self, loop: For) -> DType:
        """The type in which a loop counts; it holds the extent."""
        return I64

    def counted(self, loop: For, end: Value) -> Value:
        """Where a loop begins or ends, in the type in which it counts. An extent below 0 is none."""
        t = self.counter(loop)
        if t == I64 or not end.text.startswith("%"):
            return Value(end.text, t)
        if integer(loop.extent) is None:
            end = self.extreme("max", end, constant(0, I64))
        return self.cast(end, t)

    def changing_in(self, loop: For) -> frozenset[Tensor] | None:
        """The tensors that may be written while a loop runs: not copies, in loops that only read them. No call stands in a loop."""
        return frozenset(s.tensor for s in statements(loop) if isinstance(s, Store))

    def loop_body(self, loop: For) -> None:
        """One iteration of a loop that counts."""
        self.statements(loop.body)

    def _vector(self, loop: For) -> None:
        lanes = integer(loop.extent)
        assert lanes is not None, "a vector loop has a constant extent"
        if lanes == 1:
            self._serial(loop, constant(0, I64), constant(1, I64))
            return
        self.lane, self.lanes, self.lane_values = loop.var, lanes, iota(I64, lanes)
        self.statements(loop.body)
        self.lane, self.lanes, self.lane_values = None, 0, None

    def poll(self) -> None:
        """Leave with status 1 if the user interrupted the kernel."""
        f = self.function
        flag = f.define("load volatile i32, ptr @tx_interrupted, align 4")
        f.leave_if(f.define(f"icmp ne i32 {flag}, 0"), 1)

    def prefetch(self, s: Prefetch) -> None:
        """Ask for a line of memory to be read; the element may lie anywhere. In a vector loop, for that of the first lane."""
        if self.lane is not None and tensors(*s.indices):
            return  # the data that the address depends on may be masked off
        first = {} if self.lane is None else {self.lane: index(0)}
        at = self.position(flat_index(s.tensor, tuple(folded(i, first) for i in s.indices)))
        address = self.function.define(f"getelementptr {memory_type(s.tensor.dtype)}, ptr {self.pointers[s.tensor]}, {at}")
        self.intrinsic("llvm.prefetch.p0", "void", f"ptr {address}", "i32 0", "i32 3", "i32 1")

    def barrier(self) -> None:
        """Loops over the threads of a block run one after the other here."""

    def allocate(self, tensor: Tensor) -> None:
        """Small buffers of constant size on the stack, others on the heap until the function returns."""
        if tensor in self.pointers:
            return
        f = self.function
        if self.on_stack(tensor):
            count, element = integer(product(tensor.shape)) or 0, memory_type(tensor.dtype)
            self.pointers[tensor] = f.slot(f"[{max(count, 1)} x {element}]", 64 if count > 1 else tensor.dtype.bytes)
            return
        assert not self.looping, f"{tensor.name} of variable or large size is allocated inside a loop"
        elements = self.index(product(tensor.shape))
        self.pointers[tensor] = f.heap_buffer(f.define(f"mul i64 {elements.text}, {tensor.dtype.bytes}"))

    def extern(self, call: ExternCall) -> None:
        """A call of the symbol that computes an extern operator; the kernel ends where it fails."""
        tensors = (*call.inputs, *call.outputs)
        extents = [self.index(size) for t in tensors for size in t.shape]
        symbol = extern_symbol(call)
        types = ", ".join(["ptr"] * len(tensors) + ["i64"] * len(extents))
        self.declared[symbol] = f"declare i32 @{symbol}({types})"
        given = ", ".join([*(f"ptr {self.pointers[t]}" for t in tensors), *map(str, extents)])
        status = self.function.define(f"call i32 @{symbol}({given})")
        self.function.leave_if(self.function.define(f"icmp ne i32 {status}, 0"), 2)

    def _parallel(self, loop: For) -> None:
        """The loop becomes a function over a range of iterations, which the pool calls on its threads."""
        f, name = self.function, f"{symbol_of(self.kernel.name)}.worker{self.workers}"
        self.workers += 1
        extent = self.index(loop.extent)
        used, free = self.captured(loop)
        made = {s.tensor for s in statements(loop) if isinstance(s, Alloc)}
        parts = [t for t in used if t in made]  # callers give them
        context = f.slot(f"[{len(used) + len(free) + 2} x i64]", 8)
        captured: list[Value | str] = [*(self.pointers[t] for t in used), *(self.variables[v] for v in free)]
        for k, item in enumerate(captured):
            at = f.define(f"getelementptr i64, ptr {context}, i64 {k + 1}")
            f.emit(f"store {item if isinstance(item, Value) else f'ptr {item}'}, ptr {at}, align 8")
        f.emit(f"store i64 0, ptr {context}, align 8")
        if parts:
            taken = f.define(f"getelementptr i64, ptr {context}, i64 {len(captured) + 1}")
            f.emit(f"store i64 {-(1 << min(integer(loop.extent) or 0, PARTS)) % (1 << 64)}, ptr {taken}, align 8")
        f.emit(f"call void @tx_parallel(ptr @{_quoted(name)}, ptr {context}, i64 {extent.text})")
        status = f.define(f"load i64, ptr {context}, align 8")
        self._worker(loop, name, used, free, parts)
        for code in (1, 2):
            f.leave_if(f.define(f"icmp eq i64 {status}, {code}"), code)

    def captured(self, loop: For) -> tuple[list[Tensor], list[Var]]:
        """The tensors and variables of the function around that a loop uses."""
        # Not `tensors` and `variables`, which remember what they find in every node: what is here is new, and asked for once.
        nodes = list(walk(loop))
        own = {s.tensor for s in nodes if isinstance(s, Alloc)}.difference(self.kernel.scratch)
        used = [t for t in dict.fromkeys(n.tensor for n in nodes if isinstance(n, Read | Store | Prefetch)) if t not in own]
        # Sizes are needed for strides and buffers even where no expression names them.
        needed = {n for n in nodes if isinstance(n, Var)}.union(self.kernel.sizes)
        return used, [v for v in sorted(needed, key=lambda v: v.name) if v in self.variables and v is not loop.var]

    def _worker(self, loop: For, name: str, used: list[Tensor], free: list[Var], parts: list[Tensor]) -> None:
        """Two functions: one with the captured values as parameters (so that `noalias` holds), one that unpacks them.

        Args:
            parts: tensors of which each range takes one of those that callers give.
        """
        outer = self.function, self.pointers, self.variables, self.looping, self.known
        self.looping, self.known = 0, Scoped()
        types = ["ptr"] * len(used) + ["i64"] * len(free)
        parameters = [f"%p{k}" for k in range(len(types))]
        typed = [f"ptr{self.alone(t)} {p}" for t, p in zip(used, parameters)] + [f"i64 {p}" for p in parameters[len(used) :]]
        signature = ", ".join([*typed, "i64 %lo", "i64 %hi", "i64 %part"])
        self.function = Function(f"define internal i32 @{_quoted(name + '.body')}({signature}) alwaysinline #0")
        self.pointers = dict(zip(used, parameters))
        self.variables = dict(zip(free, (Value(p, I64) for p in parameters[len(used) :])))
        self.in_worker = True
        for tensor in parts:
            at = self.function.define(f"mul i64 %part, {stride_of(tensor)}")
            self.pointers[tensor] = self.function.define(f"getelementptr i8, ptr {self.pointers[tensor]}, i64 {at}")
        self._hoisted_buffers(loop)
        self._serial(loop, Value("%lo", I64), Value("%hi", I64))
        self.in_worker = False
        self.functions += [self.function.text(), _unpacking(name, types, bool(parts))]
        if parts:
            self.declared |= {"llvm.cttz.i64": "declare i64 @llvm.cttz.i64(i64, i1)", "texpr.take": _TAKE}
        self.function, self.pointers, self.variables, self.looping, self.known = outer

    def alone(self, tensor: Tensor) -> str:
        """What is said of a pointer to a tensor: that nothing else is there, unless an output may lie over an input."""
        return "" if tensor in self.overwriting else " noalias"

    def _hoisted_buffers(self, loop: For) -> None:
        """Buffers that are too large for the stack are allocated once per function, before its loops."""
        for s in statements(loop):
            if isinstance(s, Alloc) and s.tensor not in self.pointers and not self.on_stack(s.tensor):
                self.allocate(s.tensor)

    def on_stack(self, tensor: Tensor) -> bool:
        """Whether a buffer is small enough for the stack."""
        return tensor.scope != "heap" and fits_stack(tensor)


_TAKE = """define internal i64 @texpr.take(ptr %taken) {
entry:
  br label %look
look:
  %word = load atomic i64, ptr %taken monotonic, align 8
  %free = xor i64 %word, -1
  %none = icmp eq i64 %free, 0
  br i1 %none, label %look, label %try
try:
  %part = call i64 @llvm.cttz.i64(i64 %free, i1 true)
  %bit = shl i64 1, %part
  %with = or i64 %word, %bit
  %swap = cmpxchg ptr %taken, i64 %word, i64 %with acquire monotonic
  %mine = extractvalue { i64, i1 } %swap, 1
  br i1 %mine, label %out, label %look
out:
  ret i64 %part
}"""
"""The lowest bit of a word that is 0, which is 1 then; waits for one."""


def _unpacking(name: str, types: list[str], parts: bool) -> str:
    """Args:
        parts: each range takes a part, by a bit of the word behind the captured values.
    """
    lines = [f"define internal void @{_quoted(name)}(ptr %context, i64 %lo, i64 %hi) #0 {{"]
    for k, t in enumerate(types):
        lines += [f"  %a{k} = getelementptr i64, ptr %context, i64 {k + 1}", f"  %v{k} = load {t}, ptr %a{k}, align 8"]
    part = "%part" if parts else "0"
    if parts:
        lines += [f"  %taken = getelementptr i64, ptr %context, i64 {len(types) + 1}", "  %part = call i64 @texpr.take(ptr %taken)"]
    args = ", ".join([*(f"{t} %v{k}" for k, t in enumerate(types)), "i64 %lo", "i64 %hi", f"i64 {part}"])
    lines.append(f"  %s = call i32 @{_quoted(name + '.body')}({args})")
    if parts:
        lines += ["  %bit = shl i64 1, %part", "  %others = xor i64 %bit, -1",
                  "  %before = atomicrmw and ptr %taken, i64 %others release"]
    lines += ["  %failed = icmp ne i32 %s, 0",
              "  br i1 %failed, label %report, label %done", "report:", "  %wide = zext i32 %s to i64",
              "  store atomic i64 %wide, ptr %context monotonic, align 8", "  br label %done", "done:", "  ret void", "}"]
    return "\n".join(lines)


def _quoted(name: str) -> str:
    return f'"{name}"'


def _safe(name: str) -> str:
    """A loop's name as part of a name in LLVM IR, which must not begin with a digit."""
    plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return "_" + plain if plain[:1].isdigit() else plain
