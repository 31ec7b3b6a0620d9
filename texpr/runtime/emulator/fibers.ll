; The scheduler of the GPU emulator: every thread of a block is a fiber with a stack of its own, run one after the other until each
; waits at a barrier or has ended. `$$SWITCH` saves the registers that calls preserve, and the stack, and goes on with another fiber.

module asm ".text"
module asm ".globl fiber_switch"
module asm "fiber_switch:"
$SWITCH

declare void @fiber_switch(ptr, ptr)

@fiber_scheduler = global ptr null
@fiber_current = global i64 0
@fiber_tops = global ptr null
@fiber_states = global ptr null
@fiber_arguments = global ptr null
@fiber_kernel = global ptr null
@fiber_backwards = global i64 0
@fiber_thread = global [3 x i32] zeroinitializer
@fiber_block = global [3 x i32] zeroinitializer

; Of blocks that run together (`clusters`): how many there are, which cluster this is and which block of it; the first fiber of the block
; that runs, its number, where the shared memory of the others lies; a bit for each that has ended, and how much happened to counters.
@fiber_blocks = global i64 1
@fiber_cluster = global [3 x i32] zeroinitializer
@fiber_in_cluster = global [3 x i32] zeroinitializer
@fiber_first = global i64 0
@fiber_live = global i64 0
@fiber_aside = global ptr null
@fiber_gone = global i64 0
@fiber_events = global i64 0
; What went wrong (`boxes`).
@fiber_fault = global i32 0

; Wait at the barrier `site`, from 1 on; -1 ends the fiber.
define void @fiber_wait(i32 %site) noinline {
  %i = load i64, ptr @fiber_current
  %states = load ptr, ptr @fiber_states
  %state = getelementptr i32, ptr %states, i64 %i
  store i32 %site, ptr %state
  %tops = load ptr, ptr @fiber_tops
  %top = getelementptr ptr, ptr %tops, i64 %i
  %back = load ptr, ptr @fiber_scheduler
  call void @fiber_switch(ptr %top, ptr %back)
  ret void
}

define void @fiber_main() noinline {
  %kernel = load ptr, ptr @fiber_kernel
  %arguments = load ptr, ptr @fiber_arguments
  call void %kernel(ptr %arguments)
  call void @fiber_wait(i32 -1)
  unreachable
}

; Run fibers first .. first + count - 1 of a block of extents (x, y, ..) to their next stop, in one or the other order, again and again
; while all of them stop at one collective of their warp. All have the same state then, which is the result; 0 if not.
define i32 @fiber_warp(i64 %first, i64 %count, i32 %x, i32 %y) noinline {
entry:
  %states = load ptr, ptr @fiber_states
  %tops = load ptr, ptr @fiber_tops
  %direction = load i64, ptr @fiber_backwards
  %backwards = icmp ne i64 %direction, 0
  %last = sub i64 %count, 1
  br label %again
again:
  br label %loop
loop:
  %k = phi i64 [ 0, %again ], [ %next, %loop ]
  %before = phi i32 [ 0, %again ], [ %mine, %loop ]
  %same = phi i1 [ true, %again ], [ %still, %loop ]
  %mirrored = sub i64 %last, %k
  %lane = select i1 %backwards, i64 %mirrored, i64 %k
  %i = add i64 %first, %lane
  %block.first = load i64, ptr @fiber_first
  %in.block = sub i64 %i, %block.first
  %t = trunc i64 %in.block to i32
  %tx = urem i32 %t, %x
  %row = udiv i32 %t, %x
  %ty = urem i32 %row, %y
  %tz = udiv i32 %row, %y
  store i32 %tx, ptr @fiber_thread
  store i32 %ty, ptr getelementptr (i32, ptr @fiber_thread, i64 1)
  store i32 %tz, ptr getelementptr (i32, ptr @fiber_thread, i64 2)
  store i64 %i, ptr @fiber_current
  %top = getelementptr ptr, ptr %tops, i64 %i
  %stack = load ptr, ptr %top
  call void @fiber_switch(ptr @fiber_scheduler, ptr %stack)
  %state = getelementptr i32, ptr %states, i64 %i
  %mine = load i32, ptr %state
  %start = icmp eq i64 %k, 0
  %equal = icmp eq i32 %mine, %before
  %agrees = or i1 %start, %equal
  %still = and i1 %same, %agrees
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %stopped
stopped:
  %own = icmp sge i32 %mine, $WARP
  %on = and i1 %own, %still
  br i1 %on, label %again, label %done
done:
  %result = select i1 %still, i32 %mine, i32 0
  ret i32 %result
}

; Run the n fibers of a block, warp after warp, until each waits at a barrier or has ended. All have the same state then, which is the
; result; 0 if not.
define i32 @fiber_round(i64 %n, i32 %x, i32 %y) noinline {
entry:
  %direction = load i64, ptr @fiber_backwards
  %backwards = icmp ne i64 %direction, 0
  %up = add i64 %n, 31
  %warps = udiv i64 %up, 32
  %last = sub i64 %warps, 1
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %before = phi i32 [ 0, %entry ], [ %mine, %loop ]
  %same = phi i1 [ true, %entry ], [ %still, %loop ]
  %mirrored = sub i64 %last, %k
  %warp = select i1 %backwards, i64 %mirrored, i64 %k
  %first = mul i64 %warp, 32
  %left = sub i64 %n, %first
  %whole = icmp ugt i64 %left, 32
  %count = select i1 %whole, i64 32, i64 %left
  %mine = call i32 @fiber_warp(i64 %first, i64 %count, i32 %x, i32 %y)
  %start = icmp eq i64 %k, 0
  %equal = icmp eq i32 %mine, %before
  %agrees = or i1 %start, %equal
  %still = and i1 %same, %agrees
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %warps
  br i1 %more, label %loop, label %done
done:
  %result = select i1 %still, i32 %mine, i32 0
  ret i32 %result
}

; What lanes of a warp show each other: 16 words for each thread of a block.
@fiber_mail = global [16384 x i32] zeroinitializer

define ptr @fiber_box(i32 %lane, i32 %word) alwaysinline {
  %i = load i64, ptr @fiber_current
  %first = and i64 %i, -32
  %l = zext i32 %lane to i64
  %thread = add i64 %first, %l
  %at = mul i64 %thread, 16
  %w = zext i32 %word to i64
  %place = add i64 %at, %w
  %box = getelementptr i32, ptr @fiber_mail, i64 %place
  ret ptr %box
}

define i32 @fiber_lane() alwaysinline {
  %i = load i64, ptr @fiber_current
  %t = trunc i64 %i to i32
  %lane = and i32 %t, 31
  ret i32 %lane
}

; Copies that go on while their thread does: 64 of each thread, from the first that has not arrived to the last that was begun, each with
; the number of its group. They arrive as late as they may, where their thread waits for them; where threads run backwards, at once.
@fiber_copies = global [65536 x { ptr, ptr, i64, i64, i64 }] zeroinitializer
@fiber_progress = global [1024 x { i64, i64, i64 }] zeroinitializer

; Let the copies of this thread arrive that belong to groups before `group`, and more, until at most `most` are under way.
define void @fiber_arrive(i64 %group, i64 %most) noinline {
entry:
  %i = load i64, ptr @fiber_current
  %mine = getelementptr [1024 x { i64, i64, i64 }], ptr @fiber_progress, i64 0, i64 %i
  %end.at = getelementptr { i64, i64, i64 }, ptr %mine, i32 0, i32 1
  %end = load i64, ptr %end.at
  br label %loop
loop:
  %k = load i64, ptr %mine
  %left = sub i64 %end, %k
  %some = icmp ne i64 %left, 0
  br i1 %some, label %look, label %done
look:
  %slot = and i64 %k, 63
  %row = mul i64 %i, 64
  %place = add i64 %row, %slot
  %copy = getelementptr { ptr, ptr, i64, i64, i64 }, ptr @fiber_copies, i64 %place
  %group.at = getelementptr { ptr, ptr, i64, i64, i64 }, ptr %copy, i32 0, i32 3
  %its = load i64, ptr %group.at
  %early = icmp slt i64 %its, %group
  %many = icmp ugt i64 %left, %most
  %on = or i1 %early, %many
  br i1 %on, label %move, label %done
move:
  %to = load ptr, ptr %copy
  %from.at = getelementptr { ptr, ptr, i64, i64, i64 }, ptr %copy, i32 0, i32 1
  %from = load ptr, ptr %from.at
  %size.at = getelementptr { ptr, ptr, i64, i64, i64 }, ptr %copy, i32 0, i32 2
  %size = load i64, ptr %size.at
  %whole.at = getelementptr { ptr, ptr, i64, i64, i64 }, ptr %copy, i32 0, i32 4
  %whole = load i64, ptr %whole.at
  call void @llvm.memset.p0.i64(ptr %to, i8 0, i64 %whole, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  %next = add i64 %k, 1
  store i64 %next, ptr %mine
  br label %loop
done:
  ret void
}

define void @fiber_copy(ptr %to, ptr %from, i64 %size, i64 %whole) noinline {
  %direction = load i64, ptr @fiber_backwards
  %late = icmp eq i64 %direction, 0
  %most = select i1 %late, i64 63, i64 0
  call void @fiber_arrive(i64 0, i64 63)
  %i = load i64, ptr @fiber_current
  %mine = getelementptr [1024 x { i64, i64, i64 }], ptr @fiber_progress, i64 0, i64 %i
  %end.at = getelementptr { i64, i64, i64 }, ptr %mine, i32 0, i32 1
  %end = load i64, ptr %end.at
  %group.at = getelementptr { i64, i64, i64 }, ptr %mine, i32 0, i32 2
  %group = load i64, ptr %group.at
  %slot = and i64 %end, 63
  %row = mul i64 %i, 64
  %place = add i64 %row, %slot
  %copy = getelementptr { ptr, ptr, i64, i64, i64 }, ptr @fiber_copies, i64 %place
  store ptr %to, ptr %copy
  %from.at = getelementptr { ptr, ptr, i64, i64, i64 }, ptr %copy, i32 0, i32 1
  store ptr %from, ptr %from.at
  %size.at = getelementptr { ptr, ptr, i64, i64, i64 }, ptr %copy, i32 0, i32 2
  store i64 %size, ptr %size.at
  %its.at = getelementptr { ptr, ptr, i64, i64, i64 }, ptr %copy, i32 0, i32 3
  store i64 %group, ptr %its.at
  %whole.at = getelementptr { ptr, ptr, i64, i64, i64 }, ptr %copy, i32 0, i32 4
  store i64 %whole, ptr %whole.at
  %next = add i64 %end, 1
  store i64 %next, ptr %end.at
  call void @fiber_arrive(i64 0, i64 %most)
  ret void
}

define void @fiber_commit() noinline {
  %i = load i64, ptr @fiber_current
  %group.at = getelementptr [1024 x { i64, i64, i64 }], ptr @fiber_progress, i64 0, i64 %i, i32 2
  %group = load i64, ptr %group.at
  %next = add i64 %group, 1
  store i64 %next, ptr %group.at
  ret void
}

; Wait for all groups of this thread but the last `pending`.
define void @fiber_wait_for(i32 %pending) noinline {
  %i = load i64, ptr @fiber_current
  %group.at = getelementptr [1024 x { i64, i64, i64 }], ptr @fiber_progress, i64 0, i64 %i, i32 2
  %group = load i64, ptr %group.at
  %p = sext i32 %pending to i64
  %before = sub i64 %group, %p
  call void @fiber_arrive(i64 %before, i64 64)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Fill the stacks of n fibers, `size` bytes each, so that the first switch enters `fiber_main`.
define void @fiber_prepare(ptr %stacks, i64 %size, i64 %n) {
entry:
  %tops = load ptr, ptr @fiber_tops
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %next = add i64 %i, 1
  %end = mul i64 %next, %size
  %start = sub i64 %end, $FRAME
  %stack = getelementptr i8, ptr %stacks, i64 %start
  call void @llvm.memset.p0.i64(ptr %stack, i8 0, i64 $FRAME, i1 false)
  %entry.slot = getelementptr i8, ptr %stack, i64 $ENTRY
  store ptr @fiber_main, ptr %entry.slot
  %top = getelementptr ptr, ptr %tops, i64 %i
  store ptr %stack, ptr %top
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; One block: 0 if all threads ended together, else 1 after threads stopped at different places.
define i32 @fiber_run_block(ptr %stacks, i64 %size, i64 %n, i32 %x, i32 %y) {
entry:
  call void @fiber_prepare(ptr %stacks, i64 %size, i64 %n)
  call void @fiber_poison()
  call void @llvm.memset.p0.i64(ptr @fiber_progress, i8 0, i64 24576, i1 false)
  br label %loop
loop:
  %state = call i32 @fiber_round(i64 %n, i32 %x, i32 %y)
  switch i32 %state, label %loop [ i32 -1, label %ended
                                   i32 0, label %apart ]
ended:
  ret i32 0
apart:
  ret i32 1
}

; One launch over a grid of (gx, gy, gz) blocks of n threads.
define i32 @fiber_launch(ptr %kernel, ptr %arguments, ptr %stacks, i64 %size, i64 %n, i32 %x, i32 %y, i64 %gx, i64 %gy, i64 %gz) {
entry:
  store ptr %kernel, ptr @fiber_kernel
  store ptr %arguments, ptr @fiber_arguments
  %plane = mul i64 %gx, %gy
  %blocks = mul i64 %plane, %gz
  br label %loop
loop:
  %b = phi i64 [ 0, %entry ], [ %next, %on ]
  %bx = urem i64 %b, %gx
  %row = udiv i64 %b, %gx
  %by = urem i64 %row, %gy
  %bz = udiv i64 %row, %gy
  %bx32 = trunc i64 %bx to i32
  %by32 = trunc i64 %by to i32
  %bz32 = trunc i64 %bz to i32
  store i32 %bx32, ptr @fiber_block
  store i32 %by32, ptr getelementptr (i32, ptr @fiber_block, i64 1)
  store i32 %bz32, ptr getelementptr (i32, ptr @fiber_block, i64 2)
  %failed = call i32 @fiber_run_block(ptr %stacks, i64 %size, i64 %n, i32 %x, i32 %y)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %leave, label %on
on:
  %next = add i64 %b, 1
  %more = icmp ult i64 %next, %blocks
  br i1 %more, label %loop, label %leave
leave:
  %status = phi i32 [ 1, %loop ], [ 0, %on ]
  ret i32 %status
}
