; Does every row of an array of $TYPE, `row` elements, hold each value once? A check of call.ll, which has no use for its last word. False,
; too, where sorting has to tell: where the values could be more than four times as many as a row has elements.
declare ptr @tx_alloc(i64)
declare void @tx_free(ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define i1 @tx_distinct_$NAME(ptr %data, i64 %bytes, i64 %row, i64 %unused) #0 {
entry:
  %item = ptrtoint ptr getelementptr ($TYPE, ptr null, i64 1) to i64
  %count = udiv exact i64 %bytes, %item
  %none = icmp eq i64 %count, 0
  br i1 %none, label %yes, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %least = phi i64 [ 9223372036854775807, %entry ], [ %least.next, %loop ]
  %most = phi i64 [ -9223372036854775808, %entry ], [ %most.next, %loop ]
  %at = getelementptr $TYPE, ptr %data, i64 %i
  %element = load $TYPE, ptr %at, align 1
  %value = $EXTEND
  %least.next = call i64 @llvm.smin.i64(i64 %least, i64 %value)
  %most.next = call i64 @llvm.smax.i64(i64 %most, i64 %value)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %measure
measure:
  %distance = sub i64 %most.next, %least.next
  %limit = shl i64 %row, 2
  %close = icmp ult i64 %distance, %limit
  br i1 %close, label %mark, label %no
mark:
  %span = add i64 %distance, 1
  %rows = udiv i64 %count, %row
  %few = icmp ule i64 %span, 1024
  br i1 %few, label %here, label %there
here:
  %room = alloca [1024 x i8]
  call void @llvm.memset.p0.i64(ptr %room, i8 0, i64 %span, i1 false)
  %seen.here = call i1 @marked(ptr %data, i64 %rows, i64 %row, i64 %least.next, i64 %span, ptr %room)
  ret i1 %seen.here
there:
  %marks = call ptr @tx_alloc(i64 %span)
  %full = icmp eq ptr %marks, null
  br i1 %full, label %no, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %marks, i8 0, i64 %span, i1 false)
  %seen.there = call i1 @marked(ptr %data, i64 %rows, i64 %row, i64 %least.next, i64 %span, ptr %marks)
  call void @tx_free(ptr %marks)
  ret i1 %seen.there
yes:
  ret i1 true
no:
  ret i1 false
}

; Values are marked at their distance from the least one, and unmarked for the next row. What was changed meanwhile may lie outside of the
; marks: false.
define internal i1 @marked(ptr %data, i64 %rows, i64 %row, i64 %least, i64 %span, ptr %marks) #0 {
entry:
  br label %rows.loop
rows.loop:
  %r = phi i64 [ 0, %entry ], [ %r.next, %unmarked ]
  %more.rows = icmp slt i64 %r, %rows
  br i1 %more.rows, label %begin, label %yes
begin:
  %offset = mul i64 %r, %row
  %start = getelementptr $TYPE, ptr %data, i64 %offset
  br label %mark
mark:
  %i = phi i64 [ 0, %begin ], [ %i.next, %inside ]
  %seen = phi i8 [ 0, %begin ], [ %seen.next, %inside ]
  %left = icmp slt i64 %i, %row
  br i1 %left, label %one, label %marked
one:
  %at = getelementptr $TYPE, ptr %start, i64 %i
  %element = load $TYPE, ptr %at, align 1
  %value = $EXTEND
  %distance = sub i64 %value, %least
  %known = icmp ult i64 %distance, %span
  br i1 %known, label %inside, label %no
inside:
  %place = getelementptr i8, ptr %marks, i64 %distance
  %before = load i8, ptr %place
  %seen.next = or i8 %seen, %before
  store i8 1, ptr %place
  %i.next = add i64 %i, 1
  br label %mark
marked:
  %twice = icmp ne i8 %seen, 0
  %r.next = add i64 %r, 1
  %last = icmp eq i64 %r.next, %rows
  br i1 %twice, label %no, label %end
end:
  br i1 %last, label %yes, label %unmark
unmark:
  %j = phi i64 [ 0, %end ], [ %j.next, %clear ]
  %dirty = icmp slt i64 %j, %row
  br i1 %dirty, label %again, label %unmarked
again:
  %again.at = getelementptr $TYPE, ptr %start, i64 %j
  %again.element = load $TYPE, ptr %again.at, align 1
  %again.value = $AGAIN
  %again.distance = sub i64 %again.value, %least
  %still = icmp ult i64 %again.distance, %span
  br i1 %still, label %clear, label %no
clear:
  %again.place = getelementptr i8, ptr %marks, i64 %again.distance
  store i8 0, ptr %again.place
  %j.next = add i64 %j, 1
  br label %unmark
unmarked:
  br label %rows.loop
yes:
  ret i1 true
no:
  ret i1 false
}
