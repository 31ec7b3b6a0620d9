"""Parallel loops: functions over ranges of iterations, which the pool of the runtime calls on
its threads.
"""

from __future__ import annotations

from texpr.ir.build import integer
from texpr.ir.dtypes import I64
from texpr.ir.expr import Read, Tensor, Var
from texpr.ir.loop import Alloc, For, Kernel, Prefetch, Store
from texpr.ir.traverse import statements, walk
from texpr.passes.loop.place_buffers import PARTS, fits_stack, stride_of
from texpr.targets.common.records import symbol_of
from texpr.targets.emit.function import Function, Scoped, Value
from texpr.targets.emit.updates import Updates


class ParallelLoops(Updates):
    """Adds functions that workers run.

    Attributes:
        in_worker: code stands in such a function.
        overwriting: outputs that may lie over an input, and these inputs.
        loop_depth: loops around in the current function.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.in_worker = False
        self.overwriting: set[Tensor] = set()
        self.loop_depth = 0
        self.workers = 0

    def allocate(self, tensor: Tensor) -> None:
        """A buffer that lives until the function returns."""
        raise NotImplementedError

    def _serial(self, loop: For, first: Value, stop: Value) -> None:
        """A loop that counts from `first` up to `stop`."""
        raise NotImplementedError

    def _parallel(self, loop: For) -> None:
        """Emit a parallel loop as a function over a range of iterations, which the pool calls on
        its threads.
        """
        f, name = self.function, f"{symbol_of(self.kernel.name)}.worker{self.workers}"
        self.workers += 1
        extent = self.index(loop.extent)
        used, free = self.captured_values(loop)
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
            f.emit(
                f"store i64 {-(1 << min(integer(loop.extent) or 0, PARTS)) % (1 << 64)}, ptr {taken}, align 8"
            )
        f.emit(f"call void @tx_parallel(ptr @{_quoted(name)}, ptr {context}, i64 {extent.text})")
        status = f.define(f"load i64, ptr {context}, align 8")
        self._worker(loop, name, used, free, parts)
        for code in (1, 2):
            f.leave_if(f.define(f"icmp eq i64 {status}, {code}"), code)

    def captured_values(self, loop: For) -> tuple[list[Tensor], list[Var]]:
        """The tensors and variables of the function around that a loop uses."""
        # Not `tensors` and `variables`, which remember what they find in every node: what is here
        # is new, and asked for once.
        nodes = list(walk(loop))
        own = {s.tensor for s in nodes if isinstance(s, Alloc)}.difference(self.kernel.scratch)
        used = [
            t
            for t in dict.fromkeys(n.tensor for n in nodes if isinstance(n, Read | Store | Prefetch))
            if t not in own
        ]
        # Sizes are needed for strides and buffers even where no expression names them.
        needed = {n for n in nodes if isinstance(n, Var)}.union(self.kernel.sizes)
        return used, [
            v for v in sorted(needed, key=lambda v: v.name) if v in self.variables and v is not loop.var
        ]

    def _worker(self, loop: For, name: str, used: list[Tensor], free: list[Var], parts: list[Tensor]) -> None:
        """Two functions: one with the captured values as parameters (so that `noalias` holds), one
        that unpacks them.

        Args:
            parts: tensors of which each range takes one of those that callers give.
        """
        outer = self.function, self.pointers, self.variables, self.loop_depth, self.known
        self.loop_depth, self.known = 0, Scoped()
        types = ["ptr"] * len(used) + ["i64"] * len(free)
        parameters = [f"%p{k}" for k in range(len(types))]
        typed = [f"ptr{self.noalias(t)} {p}" for t, p in zip(used, parameters)] + [
            f"i64 {p}" for p in parameters[len(used) :]
        ]
        signature = ", ".join([*typed, "i64 %lo", "i64 %hi", "i64 %part"])
        self.function = Function(
            f"define internal i32 @{_quoted(name + '.body')}({signature}) alwaysinline #0"
        )
        self.pointers = dict(zip(used, parameters))
        self.variables = dict(zip(free, (Value(p, I64) for p in parameters[len(used) :])))
        self.in_worker = True
        for tensor in parts:
            at = self.function.define(f"mul i64 %part, {stride_of(tensor)}")
            self.pointers[tensor] = self.function.define(
                f"getelementptr i8, ptr {self.pointers[tensor]}, i64 {at}"
            )
        self._hoisted_buffers(loop)
        self._serial(loop, Value("%lo", I64), Value("%hi", I64))
        self.in_worker = False
        self.functions += [self.function.text(), _unpacking(name, types, bool(parts))]
        if parts:
            self.declared |= {"llvm.cttz.i64": "declare i64 @llvm.cttz.i64(i64, i1)", "texpr.take": _TAKE}
        self.function, self.pointers, self.variables, self.loop_depth, self.known = outer

    def noalias(self, tensor: Tensor) -> str:
        """The attribute `noalias` of a pointer to a tensor, unless an output may lie over an input."""
        return "" if tensor in self.overwriting else " noalias"

    def _hoisted_buffers(self, loop: For) -> None:
        """The buffers too large for the stack: they are allocated once per function, before its
        loops.
        """
        for s in statements(loop):
            if isinstance(s, Alloc) and s.tensor not in self.pointers and not self.on_stack(s.tensor):
                self.allocate(s.tensor)

    def on_stack(self, tensor: Tensor) -> bool:
        """True if a buffer is small enough for the stack."""
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
"""A function that takes the lowest bit of a word that is 0, and sets it; it waits for one."""


def _unpacking(name: str, types: list[str], parts: bool) -> str:
    """Args:
    parts: each range takes a part, by a bit of the word behind the captured values.
    """
    lines = [f"define internal void @{_quoted(name)}(ptr %context, i64 %lo, i64 %hi) #0 {{"]
    for k, t in enumerate(types):
        lines += [
            f"  %a{k} = getelementptr i64, ptr %context, i64 {k + 1}",
            f"  %v{k} = load {t}, ptr %a{k}, align 8",
        ]
    part = "%part" if parts else "0"
    if parts:
        lines += [
            f"  %taken = getelementptr i64, ptr %context, i64 {len(types) + 1}",
            "  %part = call i64 @texpr.take(ptr %taken)",
        ]
    args = ", ".join([*(f"{t} %v{k}" for k, t in enumerate(types)), "i64 %lo", "i64 %hi", f"i64 {part}"])
    lines.append(f"  %s = call i32 @{_quoted(name + '.body')}({args})")
    if parts:
        lines += [
            "  %bit = shl i64 1, %part",
            "  %others = xor i64 %bit, -1",
            "  %before = atomicrmw and ptr %taken, i64 %others release",
        ]
    lines += [
        "  %failed = icmp ne i32 %s, 0",
        "  br i1 %failed, label %report, label %done",
        "report:",
        "  %wide = zext i32 %s to i64",
        "  store atomic i64 %wide, ptr %context monotonic, align 8",
        "  br label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _quoted(name: str) -> str:
    return f'"{name}"'
