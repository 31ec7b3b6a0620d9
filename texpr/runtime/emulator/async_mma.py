"""Products of a warpgroup that go on while their threads do, for the emulator of GPUs.

What a product leaves in the registers of its sums is NaN until a wait that covers its group gives
them back; the sums themselves are kept here, by the number that calls say. Products are computed
where they begin; where threads run backwards, as late as they may, by the wait of their thread;
beside bulk copies, which come early where threads run forwards, the other way round. Asynchronous
copies do the opposite (`fibers`): operands that have not arrived show in one of these, and operands
that are overwritten too early in the other. Left operands in registers are taken from there when a
product is computed, which the lanes of a warp do together then.
"""

from __future__ import annotations

import re

from texpr.runtime.emulator.bulk_copies import uses_bulk_copies
from texpr.runtime.emulator.register_operands import (
    PUBLISHED,
    QUEUE,
    WHERE,
    left_in_registers,
    operands,
    parameters,
)

SUMS = 256
"""Accumulator registers that a thread may have."""
_NAN = "0x7FF8000000000000"
_BEGIN = re.compile(
    r"^define internal ([^\n@]+) (@texpr\.wgmma\.(?:begin|next)\.m64n(\d+)k\d+\.(\w+))\(.*?^\}$",
    re.MULTILINE | re.DOTALL,
)
_COMMIT = re.compile(r"^define internal void @texpr\.wgmma\.commit\(.*?^\}$", re.MULTILINE | re.DOTALL)
_WAIT = re.compile(
    r"^define internal ([^\n@]+) (@texpr\.wgmma\.wait\.(\d+)\.(\d+))\(.*?^\}$", re.MULTILINE | re.DOTALL
)
RESET = f"""  call void @llvm.memset.p0.i64(ptr @fiber_held, i8 0, i64 {SUMS * 1024}, i1 false)
  call void @llvm.memset.p0.i64(ptr @fiber_flying, i8 0, i64 {SUMS * 1024}, i1 false)
  call void @llvm.memset.p0.i64(ptr @fiber_queues, i8 0, i64 24576, i1 false)"""
"""Reset of accumulators when a block begins."""


def emulate_async_mma(text: str) -> str:
    """The module with products that are kept in a queue; as it is if it begins none."""
    if not _BEGIN.search(text):
        return text
    kinds = sorted({(int(n), kind) for _, _, n, kind in _BEGIN.findall(text)})
    text = _WAIT.sub(_wait, _COMMIT.sub(_commit, _BEGIN.sub(_begin, text)))
    support = _SUPPORT.replace("%late = icmp ne", "%late = icmp eq") if uses_bulk_copies(text) else _SUPPORT
    return "\n".join([_TYPE, text, support, *(_run(n, kind) for n, kind in kinds)])


def uses_async_mma(text: str) -> bool:
    """True if blocks of the module have such products."""
    return "@fiber_held" in text


def _begin(found: re.Match[str]) -> str:
    """Note the numbers of the sums and where operands begin; give back NaNs."""
    result, symbol, columns, kind = found.groups()
    count, left = int(columns) // 2, "null" if left_in_registers(kind) else "%a"
    given = ", ".join([*(f"i32 %n{k}" for k in range(count)), *(f"float %s{k}" for k in range(count))])
    lines = [
        f"define internal {result} {symbol}({given}, {parameters(kind)}) {{",
        *operands(kind),
        f"  %q = call ptr @fiber_enqueue(ptr @fiber.run.{columns}.{kind}, ptr {left}, ptr %b, i64 {count})",
    ]
    for k in range(4 if left_in_registers(kind) else 0):
        lines += [
            f"  %q{k} = getelementptr %fiber.product, ptr %q, i32 0, i32 7, i32 {k}",
            f"  store ptr %w{k}, ptr %q{k}",
        ]
    value = "poison"
    for k in range(count):
        lines += [
            f"  call void @fiber_hold(ptr %q, i64 {k}, i32 %n{k}, float %s{k})",
            f"  %v{k} = insertvalue {result} {value}, float {_NAN}, {k}",
        ]
        value = f"%v{k}"
    return "\n".join([*lines, "  call void @fiber_at_once(ptr %q)", f"  ret {result} {value}", "}"])


def _commit(found: re.Match[str]) -> str:
    return "define internal void @texpr.wgmma.commit() {\n  call void @fiber_commit_products()\n  ret void\n}"


def _wait(found: re.Match[str]) -> str:
    """Finish the groups but the last ones; give back the sums that no product is adding to."""
    result, symbol, pending, count = found.groups()
    n = int(count)
    given = ", ".join([*(f"i32 %n{k}" for k in range(n)), *(f"float %s{k}" for k in range(n))])
    lines = [f"define internal {result} {symbol}({given}) {{", f"  call void @fiber_finish(i64 {pending})"]
    value = "poison"
    for k in range(n):
        lines += [
            f"  %w{k} = call float @fiber_sum(i32 %n{k}, float %s{k})",
            f"  %v{k} = insertvalue {result} {value}, float %w{k}, {k}",
        ]
        value = f"%v{k}"
    return "\n".join([*lines, f"  ret {result} {value}" if n else "  ret void", "}"])


def _run(columns: int, kind: str) -> str:
    """All sums of a lane: register r is row 16*w + l / 4 + 8*(r / 2 % 2), column 8*(r / 4) +
    2*(l % 4) + r % 2 of lane l of warp w.
    """
    return f"""define internal void @fiber.run.{columns}.{kind}(ptr %q) noinline {{
entry:
{WHERE}
  %a.at = getelementptr %fiber.product, ptr %q, i32 0, i32 1
  %a = load ptr, ptr %a.at
  %b.at = getelementptr %fiber.product, ptr %q, i32 0, i32 2
  %b = load ptr, ptr %b.at
  br label %loop
loop:
  %r = phi i32 [ 0, %entry ], [ %next, %loop ]
  %half = lshr i32 %r, 1
  %odd = and i32 %half, 1
  %down = mul i32 %odd, 8
  %i = add i32 %row, %down
  %tile = lshr i32 %r, 2
  %right = mul i32 %tile, 8
  %inside = and i32 %r, 1
  %j0 = add i32 %column, %right
  %j = add i32 %j0, %inside
  %n.at = getelementptr %fiber.product, ptr %q, i32 0, i32 6, i32 %r
  %n = load i32, ptr %n.at
  %sum.at = call ptr @fiber_sum_at(i32 %n)
  %old = load float, ptr %sum.at
  %new = call float @fiber.dot.{kind}(float %old, ptr %a, i32 %i, ptr %b, i32 %j)
  store float %new, ptr %sum.at
  %next = add i32 %r, 1
  %more = icmp ult i32 %next, {columns // 2}
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""


_TYPE = """
; A product: what computes it, its operands, its group, whether it was computed, how many sums it has, and their numbers; where the words of
; a left operand in registers are (when they are shown, the operand is where they are then), and its place in the queue.
%fiber.product = type { ptr, ptr, ptr, i64, i64, i64, [128 x i32], [4 x ptr], i64 }
"""
_NEXT = f"""  %slot = and i64 %k, {QUEUE - 1}
  %row = mul i64 %i, {QUEUE}
  %place = add i64 %row, %slot
  %q = getelementptr %fiber.product, ptr @fiber_products, i64 %place
  %its.at = getelementptr %fiber.product, ptr %q, i32 0, i32 3
  %its = load i64, ptr %its.at
  %early = icmp slt i64 %its, %group
  %many = icmp ugt i64 %left, %most
  %on = or i1 %early, %many"""
"""Product %k of a thread, and whether it is computed now: groups before %group, and more, until
at most %most are under way.
"""
_SUPPORT = f"""
@fiber_products = internal global [{1024 * QUEUE} x %fiber.product] zeroinitializer
; Of each thread: the first product of its queue that is under way, the end of the queue, and the group that is being made.
@fiber_queues = internal global [1024 x {{ i64, i64, i64 }}] zeroinitializer
@fiber_sums = internal global [1024 x [{SUMS} x float]] zeroinitializer
@fiber_held = internal global [1024 x [{SUMS} x i8]] zeroinitializer
@fiber_flying = internal global [1024 x [{SUMS} x i8]] zeroinitializer

define internal ptr @fiber_sum_at(i32 %n) {{
  %i = load i64, ptr @fiber_current
  %at = getelementptr [1024 x [{SUMS} x float]], ptr @fiber_sums, i64 0, i64 %i, i32 %n
  ret ptr %at
}}
define internal ptr @fiber_held_at(i32 %n) {{
  %i = load i64, ptr @fiber_current
  %at = getelementptr [1024 x [{SUMS} x i8]], ptr @fiber_held, i64 0, i64 %i, i32 %n
  ret ptr %at
}}
define internal ptr @fiber_flying_at(i32 %n) {{
  %i = load i64, ptr @fiber_current
  %at = getelementptr [1024 x [{SUMS} x i8]], ptr @fiber_flying, i64 0, i64 %i, i32 %n
  ret ptr %at
}}
define internal ptr @fiber_enqueue(ptr %run, ptr %a, ptr %b, i64 %count) noinline {{
  call void @fiber_retire(i64 -1, i64 {QUEUE - 1})
  %i = load i64, ptr @fiber_current
  %mine = getelementptr [1024 x {{ i64, i64, i64 }}], ptr @fiber_queues, i64 0, i64 %i
  %end.at = getelementptr {{ i64, i64, i64 }}, ptr %mine, i32 0, i32 1
  %end = load i64, ptr %end.at
  %group.at = getelementptr {{ i64, i64, i64 }}, ptr %mine, i32 0, i32 2
  %group = load i64, ptr %group.at
  %slot = and i64 %end, {QUEUE - 1}
  %row = mul i64 %i, {QUEUE}
  %place = add i64 %row, %slot
  %q = getelementptr %fiber.product, ptr @fiber_products, i64 %place
  store ptr %run, ptr %q
  %words.at = getelementptr %fiber.product, ptr %q, i32 0, i32 7
  store ptr null, ptr %words.at
  %slot.at = getelementptr %fiber.product, ptr %q, i32 0, i32 8
  store i64 %slot, ptr %slot.at
  %a.at = getelementptr %fiber.product, ptr %q, i32 0, i32 1
  store ptr %a, ptr %a.at
  %b.at = getelementptr %fiber.product, ptr %q, i32 0, i32 2
  store ptr %b, ptr %b.at
  %its.at = getelementptr %fiber.product, ptr %q, i32 0, i32 3
  store i64 %group, ptr %its.at
  %done.at = getelementptr %fiber.product, ptr %q, i32 0, i32 4
  store i64 0, ptr %done.at
  %count.at = getelementptr %fiber.product, ptr %q, i32 0, i32 5
  store i64 %count, ptr %count.at
  %next = add i64 %end, 1
  store i64 %next, ptr %end.at
  ret ptr %q
}}
; Sum number n is register k of a product: it is kept here from the first product on that adds to it.
define internal void @fiber_hold(ptr %q, i64 %k, i32 %n, float %value) {{
  %n.at = getelementptr %fiber.product, ptr %q, i32 0, i32 6, i64 %k
  store i32 %n, ptr %n.at
  %held.at = call ptr @fiber_held_at(i32 %n)
  %held = load i8, ptr %held.at
  %known = icmp ne i8 %held, 0
  %sum.at = call ptr @fiber_sum_at(i32 %n)
  %sum = load float, ptr %sum.at
  %kept = select i1 %known, float %sum, float %value
  store float %kept, ptr %sum.at
  store i8 1, ptr %held.at
  %flying.at = call ptr @fiber_flying_at(i32 %n)
  %flying = load i8, ptr %flying.at
  %more = add i8 %flying, 1
  store i8 %more, ptr %flying.at
  ret void
}}
; Show the words of an operand in registers, as they are now; whether there is one.
define internal i1 @fiber_take(ptr %q) noinline {{
  %w0.at = getelementptr %fiber.product, ptr %q, i32 0, i32 7
  %w0 = load ptr, ptr %w0.at
  %none = icmp eq ptr %w0, null
  br i1 %none, label %out, label %take
out:
  ret i1 false
take:
  %w1.at = getelementptr ptr, ptr %w0.at, i64 1
  %w1 = load ptr, ptr %w1.at
  %w2.at = getelementptr ptr, ptr %w0.at, i64 2
  %w2 = load ptr, ptr %w2.at
  %w3.at = getelementptr ptr, ptr %w0.at, i64 3
  %w3 = load ptr, ptr %w3.at
  %slot.at = getelementptr %fiber.product, ptr %q, i32 0, i32 8
  %slot = load i64, ptr %slot.at
  %a = call ptr @fiber_show(i64 %slot, ptr %w0, ptr %w1, ptr %w2, ptr %w3)
  %a.at = getelementptr %fiber.product, ptr %q, i32 0, i32 1
  store ptr %a, ptr %a.at
  ret i1 true
}}
define internal void @fiber_compute(ptr %q) noinline {{
  %done.at = getelementptr %fiber.product, ptr %q, i32 0, i32 4
  %done = load i64, ptr %done.at
  %was = icmp ne i64 %done, 0
  br i1 %was, label %out, label %run
run:
  store i64 1, ptr %done.at
  %f = load ptr, ptr %q
  call void %f(ptr %q)
  br label %out
out:
  ret void
}}
define internal void @fiber_at_once(ptr %q) noinline {{
  %direction = load i64, ptr @fiber_backwards
  %late = icmp ne i64 %direction, 0
  br i1 %late, label %out, label %run
run:
  %shown = call i1 @fiber_take(ptr %q)
  br i1 %shown, label %meet, label %compute
meet:
  call void @fiber_wait(i32 {PUBLISHED})
  br label %compute
compute:
  call void @fiber_compute(ptr %q)
  br label %out
out:
  ret void
}}
; Show the operands in registers of the products that `fiber_retire` is about to compute, to all lanes of the warp.
define internal void @fiber_take_all(i64 %group, i64 %most) noinline {{
entry:
  %i = load i64, ptr @fiber_current
  %mine = getelementptr [1024 x {{ i64, i64, i64 }}], ptr @fiber_queues, i64 0, i64 %i
  %first = load i64, ptr %mine
  %end.at = getelementptr {{ i64, i64, i64 }}, ptr %mine, i32 0, i32 1
  %end = load i64, ptr %end.at
  br label %loop
loop:
  %k = phi i64 [ %first, %entry ], [ %next, %after ]
  %any = phi i1 [ false, %entry ], [ %more.any, %after ]
  %left = sub i64 %end, %k
  %some = icmp ne i64 %left, 0
  br i1 %some, label %look, label %out
look:
{_NEXT}
  br i1 %on, label %ask, label %out
ask:
  %done.at = getelementptr %fiber.product, ptr %q, i32 0, i32 4
  %done = load i64, ptr %done.at
  %was = icmp ne i64 %done, 0
  br i1 %was, label %after, label %take
take:
  %shown = call i1 @fiber_take(ptr %q)
  br label %after
after:
  %new = phi i1 [ false, %ask ], [ %shown, %take ]
  %more.any = or i1 %any, %new
  %next = add i64 %k, 1
  br label %loop
out:
  %shows = phi i1 [ %any, %loop ], [ %any, %look ]
  br i1 %shows, label %meet, label %end.all
meet:
  call void @fiber_wait(i32 {PUBLISHED + 1})
  br label %end.all
end.all:
  ret void
}}
; End the products of this thread that belong to groups before `group`, and more, until at most `most` are under way.
define internal void @fiber_retire(i64 %group, i64 %most) noinline {{
entry:
  call void @fiber_take_all(i64 %group, i64 %most)
  %i = load i64, ptr @fiber_current
  %mine = getelementptr [1024 x {{ i64, i64, i64 }}], ptr @fiber_queues, i64 0, i64 %i
  %end.at = getelementptr {{ i64, i64, i64 }}, ptr %mine, i32 0, i32 1
  %end = load i64, ptr %end.at
  br label %loop
loop:
  %k = load i64, ptr %mine
  %left = sub i64 %end, %k
  %some = icmp ne i64 %left, 0
  br i1 %some, label %look, label %out
look:
{_NEXT}
  br i1 %on, label %finish, label %out
finish:
  call void @fiber_compute(ptr %q)
  %count.at = getelementptr %fiber.product, ptr %q, i32 0, i32 5
  %count = load i64, ptr %count.at
  br label %sums
sums:
  %r = phi i64 [ 0, %finish ], [ %r.next, %sums ]
  %n.at = getelementptr %fiber.product, ptr %q, i32 0, i32 6, i64 %r
  %n = load i32, ptr %n.at
  %flying.at = call ptr @fiber_flying_at(i32 %n)
  %flying = load i8, ptr %flying.at
  %fewer = sub i8 %flying, 1
  store i8 %fewer, ptr %flying.at
  %r.next = add i64 %r, 1
  %more = icmp ult i64 %r.next, %count
  br i1 %more, label %sums, label %after
after:
  %next = add i64 %k, 1
  store i64 %next, ptr %mine
  br label %loop
out:
  ret void
}}
define internal void @fiber_commit_products() noinline {{
  %i = load i64, ptr @fiber_current
  %group.at = getelementptr [1024 x {{ i64, i64, i64 }}], ptr @fiber_queues, i64 0, i64 %i, i32 2
  %group = load i64, ptr %group.at
  %next = add i64 %group, 1
  store i64 %next, ptr %group.at
  ret void
}}
define internal void @fiber_finish(i64 %pending) noinline {{
  %i = load i64, ptr @fiber_current
  %group.at = getelementptr [1024 x {{ i64, i64, i64 }}], ptr @fiber_queues, i64 0, i64 %i, i32 2
  %group = load i64, ptr %group.at
  %before = sub i64 %group, %pending
  call void @fiber_retire(i64 %before, i64 {QUEUE})
  ret void
}}
; What is in the register of sum n behind a wait: the sum, or NaN while a product adds to it.
define internal float @fiber_sum(i32 %n, float %value) noinline {{
  %held.at = call ptr @fiber_held_at(i32 %n)
  %held = load i8, ptr %held.at
  %here = icmp eq i8 %held, 0
  br i1 %here, label %own, label %kept
own:
  ret float %value
kept:
  %flying.at = call ptr @fiber_flying_at(i32 %n)
  %flying = load i8, ptr %flying.at
  %done = icmp eq i8 %flying, 0
  br i1 %done, label %back, label %away
back:
  store i8 0, ptr %held.at
  %sum.at = call ptr @fiber_sum_at(i32 %n)
  %sum = load float, ptr %sum.at
  ret float %sum
away:
  ret float {_NAN}
}}
"""
