"""A kernel as an LLVM module for a CPU: the entry that unpacks the argument slots, the body, its
workers.
"""

from __future__ import annotations

from texpr.ir.build import mul, product
from texpr.ir.dtypes import I64
from texpr.ir.expr import Cast, Tensor, index
from texpr.ir.loop import Alloc, For, Kernel, Store
from texpr.ir.loop_kind import PARALLEL
from texpr.ir.traverse import statements, walk
from texpr.support.options import current
from texpr.targets.common import llvm_backend
from texpr.targets.common.records import symbol_of
from texpr.targets.emit.function import Function, Scoped, Value
from texpr.targets.emit.loop_carried import carries
from texpr.targets.emit.pass_selection import is_plain, sums_in_registers
from texpr.targets.emit.statements import Emitter

_RUNTIME = """declare void @tx_parallel(ptr, ptr, i64)
declare noalias ptr @tx_alloc(i64)
declare void @tx_free(ptr)
@tx_interrupted = external global i32"""

# What a kernel needs where no texpr runtime is linked: serial loops, the C library's memory, no
# interrupts.
_ALONE = """define internal void @tx_parallel(ptr %f, ptr %context, i64 %n) alwaysinline {
  call void %f(ptr %context, i64 0, i64 %n)
  ret void
}
declare void @free(ptr)
define internal void @tx_free(ptr %p) alwaysinline {
  call void @free(ptr %p)
  ret void
}
@tx_interrupted = internal global i32 0"""

_GUARDED = """declare void @tx_parallel(ptr, ptr, i64)
declare noalias ptr @tx_guard_alloc(i64)
declare void @tx_guard_free(ptr)
declare ptr @tx_guard_copy(ptr, i64, i32)
declare void @tx_guard_copy_back(ptr, ptr, i64)
define internal ptr @tx_alloc(i64 %size) alwaysinline {
  %p = call ptr @tx_guard_alloc(i64 %size)
  ret ptr %p
}
define internal void @tx_free(ptr %p) alwaysinline {
  call void @tx_guard_free(ptr %p)
  ret void
}
@tx_interrupted = external global i32"""
"""Declarations for a kernel whose memory stands beside pages that cannot be touched
(`runtime/native/guard.c`).
"""

_ALLOC = {
    64: """declare noalias ptr @malloc(i64)
define internal ptr @tx_alloc(i64 %size) alwaysinline {
  %p = call ptr @malloc(i64 %size)
  ret ptr %p
}""",
    32: """declare noalias ptr @malloc(i32)
define internal ptr @tx_alloc(i64 %size) {
  %low = trunc i64 %size to i32
  %back = zext i32 %low to i64
  %fits = icmp eq i64 %back, %size
  br i1 %fits, label %ask, label %none
ask:
  %p = call ptr @malloc(i32 %low)
  ret ptr %p
none:
  ret ptr null
}""",
}
"""Declarations of allocation, by the bits of an address: larger sizes give no memory."""

_LAUNCHING = "attributes #1 = { nounwind noinline optnone }"
"""Attributes of code that only launches loops, a few instructions once per call: without
optimization LLVM takes half a millisecond less.
"""

_METADATA = """!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = !{i32 1}"""


def emit_module(
    kernel: Kernel,
    attributes: str,
    *,
    alone: bool = False,
    using: type[Emitter] = Emitter,
    address_bits: int = 64,
    check: str = "",
) -> str:
    """The LLVM IR of `kernel`: a function `i32 texpr_NAME(ptr args)` over 8-byte slots: inputs,
    outputs, buffers that callers give or keep, sizes.

    Args:
        attributes: function attributes of the target, such as `"target-cpu"="znver4"`.
        alone: define what the runtime would provide, for objects that are linked without it.
        using: the emitter of a target that differs.
        address_bits: of the target; slots have 64 bits everywhere.
        check: defines `i1 @tx_fits()`, whether the processor is the right one; where it is not, the
            kernel returns 3.
    """
    emitter = using(kernel)
    arguments = (*kernel.inputs, *kernel.outputs, *kernel.scratch, *kernel.prepacked)
    emitter.overwriting = {t for k, j in kernel.overwrites for t in (kernel.inputs[k], kernel.outputs[j])}
    parameters = [
        *(f"ptr{emitter.noalias(t)} %t{k}" for k, t in enumerate(arguments)),
        *(f"i64 %n{k}" for k in range(len(kernel.sizes))),
    ]
    name = symbol_of(kernel.name)
    emitter.function = Function(
        f'define internal i32 @"{name}.body"({", ".join(parameters)}) alwaysinline #0'
    )
    emitter.pointers = {t: f"%t{k}" for k, t in enumerate(arguments)}
    emitter.variables = {v: Value(f"%n{k}", I64) for k, v in enumerate(kernel.sizes)}
    for tensor in kernel.temporaries:
        emitter.allocate(tensor)
    _allocate_outside(emitter, kernel)
    emitter.statements(kernel.body)
    body, guarded = emitter.function.text(), bool(current().guard) and not alone
    entry = (
        _guarded(emitter, name)
        if guarded
        else _entry(name, arguments, len(kernel.sizes), bool(check), _launches(kernel))
    )
    functions = [*emitter.functions, body, entry]
    tail = f"attributes #0 = {{ nounwind {attributes} {_passes(emitter)} }}\n{_LAUNCHING}\n{_METADATA}"
    head = f"{_ALONE}\n{_ALLOC[address_bits]}" if alone else _GUARDED if guarded else _RUNTIME
    return "\n".join([head, check, *emitter.declared.values(), *functions, tail, ""])


def _launches(kernel: Kernel) -> bool:
    """True if a kernel does nothing but hand loops to workers."""
    return all(isinstance(s, For) and s.kind == PARALLEL for s in kernel.body)


def _passes(emitter: Emitter) -> str:
    """Passes of LLVM for the text, as an attribute: all over the module unless another one says so."""
    if carries(emitter.kernel):
        return ""
    if not is_plain(emitter.kernel):
        return (
            llvm_backend.REGISTER_PASSES
            if emitter.adds_addresses and sums_in_registers(emitter.kernel)
            else llvm_backend.FUNCTION_PASSES
        )
    floats = all(t.dtype.is_float for t in emitter.kernel.outputs)
    # Of functions that are computed in wider numbers, constants fill the registers: where they are
    # loaded is better seen by LLVM.
    converts = any(
        isinstance(n, Cast) for s in statements(emitter.kernel) if isinstance(s, Store) for n in walk(s.value)
    )
    return (
        llvm_backend.NO_PASSES
        if floats and not converts and not emitter.slow_paths
        else llvm_backend.FEW_PASSES
    )


def _allocate_outside(emitter: Emitter, kernel: Kernel) -> None:
    """Large buffers of serial loops are allocated once; those of parallel loops once per range,
    by their workers.
    """
    inside: set[Tensor] = set()
    for node in statements(kernel):
        if isinstance(node, For) and node.kind == PARALLEL:
            inside |= {s.tensor for s in statements(node) if isinstance(s, Alloc)}
    for node in statements(kernel):
        if isinstance(node, Alloc) and node.tensor not in inside and not emitter.on_stack(node.tensor):
            emitter.allocate(node.tensor)


def _entry(symbol: str, arguments: tuple[Tensor, ...], sizes: int, checked: bool, launches: bool) -> str:
    lines = [f'define i32 @"{symbol}"(ptr %args) #{1 if launches else 0} {{']
    if checked:
        lines += [
            "  %fits = call i1 @tx_fits()",
            "  br i1 %fits, label %run, label %other",
            "other:",
            "  ret i32 3",
            "run:",
        ]
    types = ["ptr"] * len(arguments) + ["i64"] * sizes
    for k, t in enumerate(types):
        lines += [
            f"  %a{k} = getelementptr i64, ptr %args, i64 {k}",
            f"  %v{k} = load {t}, ptr %a{k}, align 8",
        ]
    args = ", ".join(f"{t} %v{k}" for k, t in enumerate(types))
    return "\n".join([*lines, f'  %s = call i32 @"{symbol}.body"({args})', "  ret i32 %s", "}"])


def _guarded(emitter: Emitter, symbol: str) -> str:
    """The entry of a kernel that gets copies of its arrays, each beside a page that cannot be
    touched; inputs cannot be written there.
    """
    kernel = emitter.kernel
    assert not kernel.scratch and not kernel.prepacked, "a guarded kernel asks for its buffers itself"
    arrays, count = (*kernel.inputs, *kernel.outputs), len(kernel.inputs)
    f = emitter.function = Function("")
    emitter.known, places = (
        Scoped(),
        [f.define(f"getelementptr i64, ptr %args, i64 {k}") for k in range(len(arrays) + len(kernel.sizes))],
    )
    given = [f.define(f"load ptr, ptr {at}, align 8") for at in places[: len(arrays)]]
    emitter.variables = {
        v: Value(f.define(f"load i64, ptr {at}, align 8"), I64)
        for v, at in zip(kernel.sizes, places[len(arrays) :])
    }
    sizes = [emitter.index(mul(product(t.shape), index(t.dtype.bytes))) for t in arrays]
    written = {k for k, _ in kernel.overwrites}
    copies = [
        f.define(f"call ptr @tx_guard_copy(ptr {p}, {size}, i32 {int(k < count and k not in written)})")
        for k, (p, size) in enumerate(zip(given, sizes))
    ]
    used = list(copies)
    for k, j in kernel.overwrites:  # an output that lies over an input does so still
        same = f.define(f"icmp eq ptr {given[k]}, {given[count + j]}")
        used[count + j] = f.define(f"select i1 {same}, ptr {used[k]}, ptr {used[count + j]}")
    every = "true"
    for p in copies:
        every = f.define(f"and i1 {every}, {f.define(f'icmp ne ptr {p}, null')}")
    types = ", ".join([*(f"ptr {p}" for p in used), *(str(emitter.variables[v]) for v in kernel.sizes)])
    back = [
        f"  call void @tx_guard_copy_back(ptr {given[k]}, ptr {used[k]}, {sizes[k]})"
        for k in range(count, len(arrays))
    ]
    return "\n".join(
        [
            f'define i32 @"{symbol}"(ptr %args) #0 {{',
            "entry:",
            *f.lines,
            f"  br i1 {every}, label %run, label %end",
            "run:",
            f'  %s = call i32 @"{symbol}.body"({types})',
            *back,
            "  br label %end",
            "end:",
            "  %status = phi i32 [ 2, %entry ], [ %s, %run ]",
            *(f"  call void @tx_guard_free(ptr {p})" for p in copies),
            "  ret i32 %status",
            "}",
        ]
    )
