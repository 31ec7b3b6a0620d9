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
  %t = trunc i64 %i to i32
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
