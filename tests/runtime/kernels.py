"""Kernels written by hand in LLVM IR, and their specifications."""

from __future__ import annotations

import numpy as np

from texpr.runtime.call.fast_path import make_callable
from texpr.runtime.call.spec import Argument, CallSpec
from texpr.runtime.native import jit, native_library

POLLING = """
@tx_interrupted = external global i32
declare void @tx_parallel(ptr, ptr, i64)
declare ptr @tx_alloc(i64)
declare void @tx_free(ptr)
"""


def link(text: str, *names: str):
    """Compile IR text that may use the native symbols; a mapping from names to addresses."""
    return jit.link(jit.compile_text(POLLING + text), names, native_library.symbols())


F32, I32, I64 = np.dtype(np.float32), np.dtype(np.int32), np.dtype(np.int64)

# slots: A, B, C, N
ADD = """
define i32 @add(ptr %slots) {
entry:
  %a = load ptr, ptr %slots
  %b.at = getelementptr ptr, ptr %slots, i64 1
  %b = load ptr, ptr %b.at
  %c.at = getelementptr ptr, ptr %slots, i64 2
  %c = load ptr, ptr %c.at
  %n.at = getelementptr i64, ptr %slots, i64 3
  %n = load i64, ptr %n.at
  %none = icmp eq i64 %n, 0
  br i1 %none, label %out, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %ai = getelementptr float, ptr %a, i64 %i
  %bi = getelementptr float, ptr %b, i64 %i
  %ci = getelementptr float, ptr %c, i64 %i
  %x = load float, ptr %ai, align 1
  %y = load float, ptr %bi, align 1
  %z = fadd float %x, %y
  store float %z, ptr %ci, align 1
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %out
out:
  ret i32 0
}
"""

# C[i, j] = A[i] * B[j]; D = A[0] where there is one.   slots: A, B, C, D, M, N
OUTER = """
define i32 @outer(ptr %slots) {
entry:
  %a = load ptr, ptr %slots
  %b.at = getelementptr ptr, ptr %slots, i64 1
  %b = load ptr, ptr %b.at
  %c.at = getelementptr ptr, ptr %slots, i64 2
  %c = load ptr, ptr %c.at
  %d.at = getelementptr ptr, ptr %slots, i64 3
  %d = load ptr, ptr %d.at
  %m.at = getelementptr i64, ptr %slots, i64 4
  %m = load i64, ptr %m.at
  %n.at = getelementptr i64, ptr %slots, i64 5
  %n = load i64, ptr %n.at
  store float 0.0, ptr %d, align 1
  %all = mul i64 %m, %n
  %none = icmp eq i64 %all, 0
  br i1 %none, label %out, label %begin
begin:
  %first = load float, ptr %a, align 1
  store float %first, ptr %d, align 1
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %next, %loop ]
  %i = udiv i64 %k, %n
  %j = urem i64 %k, %n
  %ai = getelementptr float, ptr %a, i64 %i
  %bj = getelementptr float, ptr %b, i64 %j
  %ck = getelementptr float, ptr %c, i64 %k
  %x = load float, ptr %ai, align 1
  %y = load float, ptr %bj, align 1
  %z = fmul float %x, %y
  store float %z, ptr %ck, align 1
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %all
  br i1 %more, label %loop, label %out
out:
  ret i32 0
}
"""

# Y = X after steps[0] times about 100 ns, looking for Ctrl-C all along, on one thread or on the
# pool.   slots: steps, X, Y
SLOW = """
define internal void @burn(ptr %slots, i64 %lo, i64 %hi) {
entry:
  br label %outer
outer:
  %i = phi i64 [ %lo, %entry ], [ %i.next, %outer.next ]
  %flag = load volatile i32, ptr @tx_interrupted
  %stop = icmp ne i32 %flag, 0
  br i1 %stop, label %out, label %inner
inner:
  %k = phi i64 [ 0, %outer ], [ %k.next, %inner ]
  call void asm sideeffect "nop", "~{memory}"()
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, 300
  br i1 %k.more, label %inner, label %outer.next
outer.next:
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %hi
  br i1 %more, label %outer, label %out
out:
  ret void
}

define internal i32 @finish(ptr %slots) {
  %flag = load volatile i32, ptr @tx_interrupted
  %stop = icmp ne i32 %flag, 0
  br i1 %stop, label %interrupted, label %store
store:
  %x.at = getelementptr ptr, ptr %slots, i64 1
  %x = load ptr, ptr %x.at
  %y.at = getelementptr ptr, ptr %slots, i64 2
  %y = load ptr, ptr %y.at
  %value = load float, ptr %x
  store float %value, ptr %y
  ret i32 0
interrupted:
  ret i32 1
}

define i32 @slow(ptr %slots) {
  %steps.at = load ptr, ptr %slots
  %steps = load i64, ptr %steps.at
  call void @burn(ptr %slots, i64 0, i64 %steps)
  %result = call i32 @finish(ptr %slots)
  ret i32 %result
}

define i32 @slow_parallel(ptr %slots) {
  %steps.at = load ptr, ptr %slots
  %steps = load i64, ptr %steps.at
  call void @tx_parallel(ptr @burn, ptr %slots, i64 %steps)
  %result = call i32 @finish(ptr %slots)
  ret i32 %result
}
"""

ZERO = "define i32 @zero(ptr %slots) { ret i32 0 }"

# slots: X, Y; the result is X[0].
RESULT = """
define i32 @result(ptr %slots) {
  %x = load ptr, ptr %slots
  %value = load i32, ptr %x
  ret i32 %value
}
"""


def kernel(text, symbol, *arguments, sizes=(), checks=(), duration="interruptible", name=None, short_up_to=0):
    library = link(text, symbol)
    return make_callable(
        library[symbol], CallSpec(name or symbol, arguments, sizes, checks, duration, short_up_to), library
    )


def add(duration="interruptible", n="N", checks=()):
    arguments = Argument("A", F32, (n,)), Argument("B", F32, (n,)), Argument("C", F32, (n,), True)
    return kernel(ADD, "add", *arguments, sizes=("N",), checks=checks, duration=duration)


def outer():
    arguments = (
        Argument("A", F32, ("M",)),
        Argument("B", F32, ("N",)),
        Argument("C", F32, ("M", "N"), True),
        Argument("D", F32, (), True),
    )
    return kernel(OUTER, "outer", *arguments, sizes=("M", "N"))


def slow(symbol="slow", short_up_to=0):
    return kernel(
        SLOW,
        symbol,
        Argument("steps", I64, ()),
        Argument("X", F32, ()),
        Argument("Y", F32, (), True),
        short_up_to=short_up_to,
    )
