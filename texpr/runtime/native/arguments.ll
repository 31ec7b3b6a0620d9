; From argument objects to slots: checks, sizes, new outputs. What is checked, and the words of a specification: see call.ll.

%specification = type { ptr, i64, i64, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64, i64, i64, i64, ptr, ptr }
%ndarray = type { i64, ptr, ptr, i32, ptr, ptr, ptr, ptr, i32 }      ; PyArrayObject: ..., data, nd, dimensions, strides, base, descr, flags

declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)

; One reference more, and one less. An object's first word is the number of them where it is small, in every CPython with a GIL; that of
; an immortal object, or of one that goes now, is left to CPython.
define internal void @keep(ptr %object) #1 {
  %count = load i64, ptr %object
  %more = add i64 %count, 1
  %usual = icmp ult i64 %more, 2147483648
  br i1 %usual, label %here, label %there
here:
  store i64 %more, ptr %object
  ret void
there:
  call void @Py_IncRef(ptr %object)
  ret void
}

define internal void @drop(ptr %object) #1 {
  %count = load i64, ptr %object
  %less = sub i64 %count, 1
  %beyond = sub i64 %less, 1
  %usual = icmp ult i64 %beyond, 2147483647
  br i1 %usual, label %here, label %there
here:
  store i64 %less, ptr %object
  ret void
there:
  call void @Py_DecRef(ptr %object)
  ret void
}

define internal ptr @spec_of(ptr %self) #1 {
  %first.at = getelementptr i8, ptr %self, i64 $TUPLE_ITEMS
  %first = load ptr, ptr %first.at
  %spec = getelementptr i8, ptr %first, i64 $BYTES_DATA
  ret ptr %spec
}

; The extent that a specification word means; -1 for a size that is not bound yet.
define internal i64 @extent_of(i64 %word, ptr %sizes) #1 {
entry:
  %constant = icmp sge i64 %word, 0
  br i1 %constant, label %known, label %bound
known:
  ret i64 %word
bound:
  %index = xor i64 %word, -1
  %at = getelementptr i64, ptr %sizes, i64 %index
  %size = load i64, ptr %at
  ret i64 %size
}

; Check one argument against its record; bind sizes, note its address and its bytes. The next record, or null if it does not fit. An input
; that is not contiguous has null for its address; a number for an input of rank 0 is written to `number`, 8 bytes.
define internal ptr @take_argument(ptr %spec, ptr %record, ptr %object, i32 %flags, ptr %sizes, ptr %slot, ptr %bytes, ptr %number) #1 {
entry:
  %item.at = getelementptr i64, ptr %record, i64 1
  %item = load i64, ptr %item.at
  %ndim.at = getelementptr i64, ptr %record, i64 2
  %ndim = load i64, ptr %ndim.at
  %extents = getelementptr i64, ptr %record, i64 4
  %following = getelementptr i64, ptr %extents, i64 %ndim
  %type.at = getelementptr %ndarray, ptr %object, i64 0, i32 1
  %type = load ptr, ptr %type.at
  %ndarray.at = getelementptr %specification, ptr %spec, i64 0, i32 9
  %ndarray = load ptr, ptr %ndarray.at
  %exact = icmp eq ptr %type, %ndarray
  br i1 %exact, label %element, label %other
element:
  %descr.at = getelementptr %ndarray, ptr %object, i64 0, i32 7
  %descr = load ptr, ptr %descr.at
  %dtype = load ptr, ptr %record
  %same.dtype = icmp eq ptr %descr, %dtype
  br i1 %same.dtype, label %fields, label %other
fields:
  %flags.at = getelementptr %ndarray, ptr %object, i64 0, i32 8
  %has = load i32, ptr %flags.at
  %wanted = and i32 %has, %flags
  %right.flags = icmp eq i32 %wanted, %flags
  %rank.at = getelementptr %ndarray, ptr %object, i64 0, i32 3
  %rank.short = load i32, ptr %rank.at
  %rank = zext i32 %rank.short to i64
  %same.rank = icmp eq i64 %rank, %ndim
  %good = and i1 %right.flags, %same.rank
  br i1 %good, label %begin, label %unfit
begin:
  %shape.at = getelementptr %ndarray, ptr %object, i64 0, i32 4
  %shape = load ptr, ptr %shape.at
  br label %axis
axis:
  %k = phi i64 [ 0, %begin ], [ %k.next, %next ]
  %total = phi i64 [ %item, %begin ], [ %total.next, %next ]
  %more = icmp slt i64 %k, %ndim
  br i1 %more, label %check, label %fit
check:
  %have.at = getelementptr i64, ptr %shape, i64 %k
  %have = load i64, ptr %have.at
  %word.at = getelementptr i64, ptr %extents, i64 %k
  %word = load i64, ptr %word.at
  %extent = call i64 @extent_of(i64 %word, ptr %sizes)
  %equal = icmp eq i64 %have, %extent
  br i1 %equal, label %next, label %unbound
unbound:
  %first = icmp slt i64 %extent, 0
  br i1 %first, label %bind, label %unfit
bind:
  %index = xor i64 %word, -1
  %size.at = getelementptr i64, ptr %sizes, i64 %index
  store i64 %have, ptr %size.at
  br label %next
next:
  %total.next = mul i64 %total, %have
  %k.next = add i64 %k, 1
  br label %axis
fit:
  %data.at = getelementptr %ndarray, ptr %object, i64 0, i32 2
  %data = load ptr, ptr %data.at
  %in.order = and i32 %has, 1
  %loose = icmp eq i32 %in.order, 0
  %address = select i1 %loose, ptr null, ptr %data
  store ptr %address, ptr %slot
  store i64 %total, ptr %bytes
  ret ptr %following
other:
  %taken = call i1 @take_number(ptr %spec, ptr %record, ptr %object, ptr %number)
  br i1 %taken, label %single, label %unfit
single:
  store ptr %number, ptr %slot
  store i64 %item, ptr %bytes
  ret ptr %following
unfit:
  ret ptr null
}

; The bound at `word`: a constant, plus the size whose number follows, unless that is -1.
define internal i64 @bound_of(ptr %word, ptr %sizes) #1 {
entry:
  %constant = load i64, ptr %word
  %index.at = getelementptr i64, ptr %word, i64 1
  %index = load i64, ptr %index.at
  %plain = icmp slt i64 %index, 0
  br i1 %plain, label %known, label %add
add:
  %size.at = getelementptr i64, ptr %sizes, i64 %index
  %size = load i64, ptr %size.at
  %sum = add i64 %constant, %size
  ret i64 %sum
known:
  ret i64 %constant
}

; Are the values of the inputs where the kernel relies on them to be?
define internal i1 @ranges_hold(ptr %spec, i64 %checks, ptr %slots, ptr %lengths, ptr %sizes) #0 {
entry:
  %first = getelementptr %specification, ptr %spec, i64 1
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %check ]
  %so.far = phi i1 [ true, %entry ], [ %holds, %check ]
  %more = icmp slt i64 %k, %checks
  %go = and i1 %more, %so.far
  br i1 %go, label %check, label %out
check:
  %offset = mul i64 %k, 6
  %record = getelementptr i64, ptr %first, i64 %offset
  %position = load i64, ptr %record
  %function.at = getelementptr i64, ptr %record, i64 1
  %function = load ptr, ptr %function.at
  %lo.at = getelementptr i64, ptr %record, i64 2
  %lo = call i64 @bound_of(ptr %lo.at, ptr %sizes)
  %hi.at = getelementptr i64, ptr %record, i64 4
  %hi = call i64 @bound_of(ptr %hi.at, ptr %sizes)
  %data.at = getelementptr ptr, ptr %slots, i64 %position
  %data = load ptr, ptr %data.at
  %length.at = getelementptr i64, ptr %lengths, i64 %position
  %length = load i64, ptr %length.at
  %holds = call i1 %function(ptr %data, i64 %length, i64 %lo, i64 %hi)
  %k.next = add i64 %k, 1
  br label %loop
out:
  ret i1 %so.far
}

; Does any output share a byte with another argument?
define internal i1 @outputs_overlap(i64 %inputs, i64 %all, ptr %slots, ptr %lengths) #1 {
entry:
  br label %output
output:
  %i = phi i64 [ %inputs, %entry ], [ %i.next, %output.next ]
  %more.outputs = icmp slt i64 %i, %all
  br i1 %more.outputs, label %range, label %no
range:
  %lo.at = getelementptr i64, ptr %slots, i64 %i
  %lo = load i64, ptr %lo.at
  %length.at = getelementptr i64, ptr %lengths, i64 %i
  %length = load i64, ptr %length.at
  %hi = add i64 %lo, %length
  br label %other
other:
  %j = phi i64 [ 0, %range ], [ %j.next, %other.next ]
  %more = icmp slt i64 %j, %i
  br i1 %more, label %compare, label %output.next
compare:
  %other.lo.at = getelementptr i64, ptr %slots, i64 %j
  %other.lo = load i64, ptr %other.lo.at
  %other.length.at = getelementptr i64, ptr %lengths, i64 %j
  %other.length = load i64, ptr %other.length.at
  %other.hi = add i64 %other.lo, %other.length
  %before = icmp ult i64 %lo, %other.hi
  %after = icmp ult i64 %other.lo, %hi
  %both = and i1 %before, %after
  br i1 %both, label %yes, label %other.next
other.next:
  %j.next = add i64 %j, 1
  br label %other
output.next:
  %i.next = add i64 %i, 1
  br label %output
yes:
  ret i1 true
no:
  ret i1 false
}

; Arrays of 64 KB and more live in our memory, where freed blocks wait for the next call, and begin at whole lines. What NumPy used before,
; or null if nothing was changed.
define internal ptr @choose_memory(ptr %spec, i64 %bytes) #1 {
entry:
  %large = icmp uge i64 %bytes, 65536
  br i1 %large, label %set, label %leave
set:
  %handler.at = getelementptr %specification, ptr %spec, i64 0, i32 12
  %handler = load ptr, ptr %handler.at
  %set.at = getelementptr %specification, ptr %spec, i64 0, i32 11
  %set.handler = load ptr, ptr %set.at
  %previous = call ptr %set.handler(ptr %handler)
  ret ptr %previous
leave:
  ret ptr null
}

define internal void @restore_memory(ptr %spec, ptr %previous) #1 {
entry:
  %unchanged = icmp eq ptr %previous, null
  br i1 %unchanged, label %out, label %set
set:
  %set.at = getelementptr %specification, ptr %spec, i64 0, i32 11
  %set.handler = load ptr, ptr %set.at
  %ours = call ptr %set.handler(ptr %previous)
  call void @Py_DecRef(ptr %ours)
  call void @Py_DecRef(ptr %previous)
  br label %out
out:
  ret void
}

; A new array for the output that `record` describes; null (and no exception) if that has to be left to `slow`.
define internal ptr @new_output(ptr %spec, ptr %record, ptr %sizes) #1 {
entry:
  %dtype = load ptr, ptr %record
  %item.at = getelementptr i64, ptr %record, i64 1
  %item = load i64, ptr %item.at
  %ndim.at = getelementptr i64, ptr %record, i64 2
  %ndim = load i64, ptr %ndim.at
  %extents = getelementptr i64, ptr %record, i64 4
  %shape = alloca i64, i64 %ndim
  br label %axis
axis:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %total = phi i64 [ %item, %entry ], [ %total.next, %next ]
  %more = icmp slt i64 %k, %ndim
  br i1 %more, label %read, label %create
read:
  %word.at = getelementptr i64, ptr %extents, i64 %k
  %word = load i64, ptr %word.at
  %extent = call i64 @extent_of(i64 %word, ptr %sizes)
  %known = icmp sge i64 %extent, 0
  br i1 %known, label %next, label %none
next:
  %at = getelementptr i64, ptr %shape, i64 %k
  store i64 %extent, ptr %at
  %total.next = mul i64 %total, %extent
  %k.next = add i64 %k, 1
  br label %axis
create:
  %limit = load i64, ptr @memory_limit
  %huge = icmp ugt i64 %total, %limit
  br i1 %huge, label %none, label %call
call:
  call void @Py_IncRef(ptr %dtype)
  %new.at = getelementptr %specification, ptr %spec, i64 0, i32 10
  %new = load ptr, ptr %new.at
  %type.at = getelementptr %specification, ptr %spec, i64 0, i32 9
  %type = load ptr, ptr %type.at
  %rank = trunc i64 %ndim to i32
  %previous = call ptr @choose_memory(ptr %spec, i64 %total)
  %made = call ptr %new(ptr %type, ptr %dtype, i32 %rank, ptr %shape, ptr null, ptr null, i32 0, ptr null)
  call void @restore_memory(ptr %spec, ptr %previous)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %clear, label %out
clear:
  call void @PyErr_Clear()
  br label %none
out:
  ret ptr %made
none:
  ret ptr null
}

define internal void @release(ptr %objects, i64 %count) #0 {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %drop ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %drop, label %out
drop:
  %at = getelementptr ptr, ptr %objects, i64 %k
  %object = load ptr, ptr %at
  call void @Py_DecRef(ptr %object)
  %k.next = add i64 %k, 1
  br label %loop
out:
  ret void
}

; Allocate all outputs into `objects`; false if any has to be left to `slow`.
define internal i1 @new_outputs(ptr %spec, ptr %records, i64 %outputs, ptr %sizes, ptr %slots, ptr %objects) #1 {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %keep ]
  %record = phi ptr [ %records, %entry ], [ %record.next, %keep ]
  %more = icmp slt i64 %k, %outputs
  br i1 %more, label %create, label %done
create:
  %made = call ptr @new_output(ptr %spec, ptr %record, ptr %sizes)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %undo, label %keep
keep:
  %object.at = getelementptr ptr, ptr %objects, i64 %k
  store ptr %made, ptr %object.at
  %data.at = getelementptr %ndarray, ptr %made, i64 0, i32 2
  %data = load ptr, ptr %data.at
  %slot = getelementptr ptr, ptr %slots, i64 %k
  store ptr %data, ptr %slot
  %ndim.at = getelementptr i64, ptr %record, i64 2
  %ndim = load i64, ptr %ndim.at
  %words = add i64 %ndim, 4
  %record.next = getelementptr i64, ptr %record, i64 %words
  %k.next = add i64 %k, 1
  br label %loop
undo:
  call void @release(ptr %objects, i64 %k)
  ret i1 false
done:
  ret i1 true
}
