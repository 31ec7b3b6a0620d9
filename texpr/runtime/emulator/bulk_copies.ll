; Bulk copies in the GPU emulator, and counters (mbarriers) of the bytes that they bring. A counter is a word of 64 bits: the parity of its
; phase, then in 15 bits each how many arrivals the phase still wants and how many each phase wants, then the bytes that are still to come.
; The first thread begins the copies. They arrive at once, before the other threads go on; where threads run backwards, as late as they
; may: when somebody waits for the phase of their counter, and only as many as it takes to end that. A phase that cannot end, an arrival
; that none is left for, and copies that are under way when all is done, are faults. Of a cluster, each block has its own memory and
; counters at the same addresses; a copy for several of them is several copies here, and a block whose phase has not ended lets others go on.

@fiber_boxes = global [1024 x [9 x i64]] zeroinitializer
@fiber_boxes_end = global i64 0
@fiber_boxes_left = global i64 0

define void @fiber_counter_begin(ptr %counter, i32 %wanted) noinline {
  %n = zext i32 %wanted to i64
  %each = shl i64 %n, 16
  %now = shl i64 %n, 1
  %word = or i64 %each, %now
  store i64 %word, ptr %counter
  store i64 0, ptr @fiber_boxes_end
  ret void
}

; Count arrivals, and bytes that are expected (or, below 0, have come). The phase ends when none of either is left.
define void @fiber_count(ptr %counter, i64 %arrivals, i64 %bytes) noinline {
  %events = load i64, ptr @fiber_events
  %one.more = add i64 %events, 1
  store i64 %one.more, ptr @fiber_events
  %word = load i64, ptr %counter
  %phase = and i64 %word, 1
  %now.high = lshr i64 %word, 1
  %now = and i64 %now.high, 32767
  %each.high = lshr i64 %word, 16
  %each = and i64 %each.high, 32767
  %left = ashr i64 %word, 32
  %few = icmp ult i64 %now, %arrivals
  %old = load i32, ptr @fiber_fault
  %fault = select i1 %few, i32 2, i32 %old
  store i32 %fault, ptr @fiber_fault
  %wanted = sub i64 %now, %arrivals
  %coming = add i64 %left, %bytes
  %no.more = icmp eq i64 %wanted, 0
  %all.there = icmp eq i64 %coming, 0
  %ended = and i1 %no.more, %all.there
  %flip = zext i1 %ended to i64
  %next.phase = xor i64 %phase, %flip
  %again = select i1 %ended, i64 %each, i64 %wanted
  %again.kept = and i64 %again, 32767
  %again.high = shl i64 %again.kept, 1
  %each.kept = shl i64 %each, 16
  %coming.high = shl i64 %coming, 32
  %a = or i64 %next.phase, %again.high
  %b = or i64 %a, %each.kept
  %c = or i64 %b, %coming.high
  store i64 %c, ptr %counter
  ret void
}

define i64 @fiber_expect(ptr %counter, i32 %bytes) noinline {
  %n = zext i32 %bytes to i64
  call void @fiber_count(ptr %counter, i64 1, i64 %n)
  ret i64 0
}

; Whether the phase of this parity has ended.
define i1 @fiber_ended(ptr %counter, i32 %parity) noinline {
entry:
  %direction = load i64, ptr @fiber_backwards
  %backwards = icmp ne i64 %direction, 0
  br i1 %backwards, label %meet, label %ask
meet:
  ; The thread that begins the copies comes last.
  call void @fiber_wait(i32 524288)
  br label %ask
ask:
  %wanted = zext i32 %parity to i64
  %end = load i64, ptr @fiber_boxes_end
  br label %loop
loop:
  %k = phi i64 [ 0, %ask ], [ %next, %on ]
  %word = load i64, ptr %counter
  %phase = and i64 %word, 1
  %over = icmp ne i64 %phase, %wanted
  br i1 %over, label %yes, label %look
look:
  %some = icmp ult i64 %k, %end
  br i1 %some, label %one, label %never
one:
  %slot = and i64 %k, 1023
  %copy = getelementptr [1024 x [9 x i64]], ptr @fiber_boxes, i64 0, i64 %slot
  %its.at = getelementptr [9 x i64], ptr %copy, i64 0, i64 1
  %its = load ptr, ptr %its.at
  %alike = icmp eq ptr %its, %counter
  %receiver.at = getelementptr [9 x i64], ptr %copy, i64 0, i64 8
  %receiver = load i64, ptr %receiver.at
  %live = load i64, ptr @fiber_live
  %here = icmp eq i64 %receiver, %live
  %mine = and i1 %alike, %here
  br i1 %mine, label %move, label %on
move:
  call void @fiber_move(ptr %copy)
  br label %on
on:
  %next = add i64 %k, 1
  br label %loop
yes:
  ret i1 true
never:
  %blocks = load i64, ptr @fiber_blocks
  %others = icmp ugt i64 %blocks, 1
  br i1 %others, label %spin, label %stuck
spin:
  call void @fiber_wait(i32 524289)
  br label %ask
stuck:
  store i32 1, ptr @fiber_fault
  call void @fiber_wait(i32 -1)
  unreachable
}

; Begin the copy of a box whose first element is (c0, c1, ..), the last dimension first, for this block, or for those of a cluster that
; have a bit.
define void @fiber_begin(ptr %to, ptr %counter, ptr %map, i32 %c0, i32 %c1, i32 %c2, i32 %c3, i32 %c4, i16 %mask, i1 %several) noinline {
entry:
  %live = load i64, ptr @fiber_live
  %alone = shl i64 1, %live
  %given = zext i16 %mask to i64
  %bits = select i1 %several, i64 %given, i64 %alone
  %blocks = load i64, ptr @fiber_blocks
  %beyond = lshr i64 %bits, %blocks
  %bad = icmp ne i64 %beyond, 0
  br i1 %bad, label %fault, label %loop
fault:
  store i32 5, ptr @fiber_fault
  ret void
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %on ]
  %high = lshr i64 %bits, %k
  %bit = and i64 %high, 1
  %wanted = icmp ne i64 %bit, 0
  br i1 %wanted, label %one, label %on
one:
  call void @fiber_begin_for(i64 %k, ptr %to, ptr %counter, ptr %map, i32 %c0, i32 %c1, i32 %c2, i32 %c3, i32 %c4)
  br label %on
on:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %blocks
  br i1 %more, label %loop, label %done
done:
  ret void
}

define void @fiber_begin_for(i64 %receiver, ptr %to, ptr %counter, ptr %map, i32 %c0, i32 %c1, i32 %c2, i32 %c3, i32 %c4) noinline {
entry:
  %end = load i64, ptr @fiber_boxes_end
  %slot = and i64 %end, 1023
  %copy = getelementptr [1024 x [9 x i64]], ptr @fiber_boxes, i64 0, i64 %slot
  %receiver.at = getelementptr i64, ptr %copy, i64 8
  store i64 %receiver, ptr %receiver.at
  store ptr %to, ptr %copy
  %its.at = getelementptr i64, ptr %copy, i64 1
  store ptr %counter, ptr %its.at
  %map.at = getelementptr i64, ptr %copy, i64 2
  store ptr %map, ptr %map.at
  %p0 = getelementptr i64, ptr %copy, i64 3
  %w0 = sext i32 %c0 to i64
  store i64 %w0, ptr %p0
  %p1 = getelementptr i64, ptr %copy, i64 4
  %w1 = sext i32 %c1 to i64
  store i64 %w1, ptr %p1
  %p2 = getelementptr i64, ptr %copy, i64 5
  %w2 = sext i32 %c2 to i64
  store i64 %w2, ptr %p2
  %p3 = getelementptr i64, ptr %copy, i64 6
  %w3 = sext i32 %c3 to i64
  store i64 %w3, ptr %p3
  %p4 = getelementptr i64, ptr %copy, i64 7
  %w4 = sext i32 %c4 to i64
  store i64 %w4, ptr %p4
  %next = add i64 %end, 1
  store i64 %next, ptr @fiber_boxes_end
  %left = load i64, ptr @fiber_boxes_left
  %one.more = add i64 %left, 1
  store i64 %one.more, ptr @fiber_boxes_left
  %direction = load i64, ptr @fiber_backwards
  %backwards = icmp ne i64 %direction, 0
  br i1 %backwards, label %done, label %early
early:
  call void @fiber_move(ptr %copy)
  br label %done
done:
  ret void
}

; A copy arrives. A map is: address, bytes of an element, bytes of the rows in which units are exchanged, then five sizes of the tensor and
; five of the box, the last dimension first.
define void @fiber_move(ptr %copy) noinline {
entry:
  %live = load i64, ptr @fiber_live
  %receiver.at = getelementptr i64, ptr %copy, i64 8
  %receiver = load i64, ptr %receiver.at
  %ended = load i64, ptr @fiber_gone
  %its.bit = lshr i64 %ended, %receiver
  %bit = and i64 %its.bit, 1
  %gone = icmp ne i64 %bit, 0
  %old.fault = load i32, ptr @fiber_fault
  %fault = select i1 %gone, i32 4, i32 %old.fault
  store i32 %fault, ptr @fiber_fault
  call void @fiber_go(i64 %receiver)
  %to = load i64, ptr %copy
  %counter.at = getelementptr i64, ptr %copy, i64 1
  %counter = load ptr, ptr %counter.at
  store ptr null, ptr %counter.at
  %map.at = getelementptr i64, ptr %copy, i64 2
  %map = load ptr, ptr %map.at
  %base = load i64, ptr %map
  %size.at = getelementptr i64, ptr %map, i64 1
  %size = load i64, ptr %size.at
  %mode.at = getelementptr i64, ptr %map, i64 2
  %mode = load i64, ptr %mode.at
  %units = lshr i64 %mode, 4
  %some = icmp ne i64 %mode, 0
  %less = sub i64 %units, 1
  %mask = select i1 %some, i64 %less, i64 0
  br label %element
element:
  %e = phi i64 [ 0, %entry ], [ %e.next, %placed ]
  br label %dimension
dimension:
  %d = phi i64 [ 0, %element ], [ %d.next, %dimension ]
  %rest = phi i64 [ %e, %element ], [ %rest.next, %dimension ]
  %stride = phi i64 [ %size, %element ], [ %stride.next, %dimension ]
  %offset = phi i64 [ 0, %element ], [ %offset.next, %dimension ]
  %inside = phi i1 [ true, %element ], [ %inside.next, %dimension ]
  %total = phi i64 [ 1, %element ], [ %total.next, %dimension ]
  %n.index = add i64 %d, 3
  %n.at = getelementptr i64, ptr %map, i64 %n.index
  %n = load i64, ptr %n.at
  %b.index = add i64 %d, 8
  %b.at = getelementptr i64, ptr %map, i64 %b.index
  %b = load i64, ptr %b.at
  %corner.index = add i64 %d, 3
  %corner.at = getelementptr i64, ptr %copy, i64 %corner.index
  %corner = load i64, ptr %corner.at
  %k = urem i64 %rest, %b
  %rest.next = udiv i64 %rest, %b
  %i = add i64 %corner, %k
  %there = icmp ult i64 %i, %n
  %inside.next = and i1 %inside, %there
  %part = mul i64 %i, %stride
  %offset.next = add i64 %offset, %part
  %stride.next = mul i64 %stride, %n
  %total.next = mul i64 %total, %b
  %d.next = add i64 %d, 1
  %more.dimensions = icmp ult i64 %d.next, 5
  br i1 %more.dimensions, label %dimension, label %place
place:
  %along = mul i64 %e, %size
  %plain = add i64 %to, %along
  %line = lshr i64 %plain, 7
  %pattern = and i64 %line, %mask
  %unit = shl i64 %pattern, 4
  %address = xor i64 %plain, %unit
  %target = inttoptr i64 %address to ptr
  br i1 %inside.next, label %copied, label %outside
copied:
  %from = add i64 %base, %offset.next
  %source = inttoptr i64 %from to ptr
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %size, i1 false)
  br label %placed
outside:
  call void @llvm.memset.p0.i64(ptr %target, i8 0, i64 %size, i1 false)
  br label %placed
placed:
  %e.next = add i64 %e, 1
  %more = icmp ult i64 %e.next, %total.next
  br i1 %more, label %element, label %done
done:
  %left = load i64, ptr @fiber_boxes_left
  %one.less = sub i64 %left, 1
  store i64 %one.less, ptr @fiber_boxes_left
  %bytes = mul i64 %total.next, %size
  %come = sub i64 0, %bytes
  call void @fiber_count(ptr %counter, i64 0, i64 %come)
  call void @fiber_go(i64 %live)
  ret void
}
