; Contiguous copies of inputs that have other strides: of small ones in memory of the call, of others as arrays of NumPy.

; Elements of an array in C's order; where the next ones go. The last axis is a loop, each one before it calls itself.
define internal ptr @copy_elements(ptr %to, ptr %from, ptr %shape, ptr %strides, i64 %rank, i64 %item) #0 {
entry:
  %extent = load i64, ptr %shape
  %stride = load i64, ptr %strides
  %last = icmp eq i64 %rank, 1
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %at = phi ptr [ %to, %entry ], [ %at.next, %next ]
  %more = icmp slt i64 %k, %extent
  br i1 %more, label %one, label %done
one:
  %offset = mul i64 %k, %stride
  %source = getelementptr i8, ptr %from, i64 %offset
  br i1 %last, label %element, label %row
row:
  %inner.shape = getelementptr i64, ptr %shape, i64 1
  %inner.strides = getelementptr i64, ptr %strides, i64 1
  %inner.rank = sub i64 %rank, 1
  %behind.row = call ptr @copy_elements(ptr %at, ptr %source, ptr %inner.shape, ptr %inner.strides, i64 %inner.rank, i64 %item)
  br label %next
element:
  %behind = getelementptr i8, ptr %at, i64 %item
  switch i64 %item, label %bytes [
    i64 4, label %four
    i64 8, label %eight
  ]
four:
  %word = load i32, ptr %source, align 1
  store i32 %word, ptr %at, align 1
  br label %next
eight:
  %double = load i64, ptr %source, align 1
  store i64 %double, ptr %at, align 1
  br label %next
bytes:
  call void @llvm.memcpy.p0.p0.i64(ptr %at, ptr %source, i64 %item, i1 false)
  br label %next
next:
  %at.next = phi ptr [ %behind.row, %row ], [ %behind, %four ], [ %behind, %eight ], [ %behind, %bytes ]
  %k.next = add i64 %k, 1
  br label %loop
done:
  ret ptr %at
}

; Copy the inputs that have no address yet: those of up to 1 KB into `room` while it lasts, 4 KB; arrays of others are written to `copies`,
; for the caller to release. How many; -1 if there is no memory.
define internal i64 @copy_inputs(ptr %spec, ptr %records, ptr %arrays, ptr %slots, ptr %lengths, ptr %room, ptr %copies) #0 {
entry:
  %inputs.at = getelementptr %specification, ptr %spec, i64 0, i32 1
  %inputs = load i64, ptr %inputs.at
  %copy.at = getelementptr %specification, ptr %spec, i64 0, i32 21
  %copy = load ptr, ptr %copy.at
  %end = getelementptr i8, ptr %room, i64 4096
  %end.address = ptrtoint ptr %end to i64
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %count = phi i64 [ 0, %entry ], [ %count.next, %next ]
  %free = phi ptr [ %room, %entry ], [ %free.next, %next ]
  %record = phi ptr [ %records, %entry ], [ %record.next, %next ]
  %more = icmp slt i64 %k, %inputs
  br i1 %more, label %look, label %done
look:
  %item.at = getelementptr i64, ptr %record, i64 1
  %item = load i64, ptr %item.at
  %rank.at = getelementptr i64, ptr %record, i64 2
  %rank = load i64, ptr %rank.at
  %words = add i64 %rank, 4
  %record.next = getelementptr i64, ptr %record, i64 %words
  %slot = getelementptr ptr, ptr %slots, i64 %k
  %address = load ptr, ptr %slot
  %loose = icmp eq ptr %address, null
  br i1 %loose, label %measure, label %next
measure:
  %array.at = getelementptr ptr, ptr %arrays, i64 %k
  %array = load ptr, ptr %array.at
  %length.at = getelementptr i64, ptr %lengths, i64 %k
  %length = load i64, ptr %length.at
  %free.address = ptrtoint ptr %free to i64
  %left = sub i64 %end.address, %free.address
  %fits = icmp ule i64 %length, %left
  %few = icmp ule i64 %length, 1024
  %axes = icmp ne i64 %rank, 0
  %brief = and i1 %fits, %few
  %small = and i1 %brief, %axes
  br i1 %small, label %here, label %make
here:
  %data.at = getelementptr %ndarray, ptr %array, i64 0, i32 2
  %data = load ptr, ptr %data.at
  %shape.at = getelementptr %ndarray, ptr %array, i64 0, i32 4
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr %ndarray, ptr %array, i64 0, i32 5
  %strides = load ptr, ptr %strides.at
  store ptr %free, ptr %slot
  %behind = call ptr @copy_elements(ptr %free, ptr %data, ptr %shape, ptr %strides, i64 %rank, i64 %item)
  br label %next
make:
  %made = call ptr %copy(ptr %array, i32 0)               ; 0: in C's order
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %undo, label %note
note:
  %place = getelementptr ptr, ptr %copies, i64 %count
  store ptr %made, ptr %place
  %made.data.at = getelementptr %ndarray, ptr %made, i64 0, i32 2
  %made.data = load ptr, ptr %made.data.at
  store ptr %made.data, ptr %slot
  %count.more = add i64 %count, 1
  br label %next
next:
  %count.next = phi i64 [ %count, %look ], [ %count, %here ], [ %count.more, %note ]
  %free.next = phi ptr [ %free, %look ], [ %behind, %here ], [ %free, %note ]
  %k.next = add i64 %k, 1
  br label %loop
undo:
  call void @PyErr_Clear()
  call void @release(ptr %copies, i64 %count)
  ret i64 -1
done:
  ret i64 %count
}
