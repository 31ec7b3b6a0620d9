; The call path: from Python's arguments to a kernel and back, without Python code in between when all arguments are as they should be.
;
; @tx_call is a METH_FASTCALL | METH_KEYWORDS function whose `self` is a tuple. Its first item is a `bytes` object that holds the
; specification, an array of 64-bit words that `call.py` packs:
;
;   0 entry   1 inputs   2 outputs   3 sizes   4 duration: 0 long, 1 brief, 2 instant   5 slow   6 "out"   7 wrap   8 failed   9 ndarray   10 PyArray_NewFromDescr
;   11 PyDataMem_SetHandler   12 our memory handler   13 range checks   14 brief where no size is larger than this; 0: never
;   15 what the entry finds in front of its slots: one function of native code serves many callables, which take inputs only; 0 for kernels
;   then for every range check: position of the input, function, and each bound as a constant and a size (constant + size, or -1)
;   then, for every input, then every output: dtype object, bytes of an item, rank, and each extent: e >= 0 is a constant,
;   -1-k is size number k
;
; Arguments are taken here if they are exact ndarrays of that very dtype object, C-contiguous, with these extents, and given by
; position (outputs also as `out=`, several in a tuple); outputs must be writeable and overlap nothing. All else goes to `slow`, the Python function
; that converts, or explains what is wrong. Kernels get a slot per argument and then the sizes.

declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare i32 @PyType_IsSubtype(ptr, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyErr_CheckSignals()
@PyTuple_Type = external global i8

; Is no size of this call larger than a limit?
define internal i1 @sizes_below(ptr %spec, ptr %slots, i64 %limit) #1 {
entry:
  %inputs.at = getelementptr %specification, ptr %spec, i64 0, i32 1
  %inputs = load i64, ptr %inputs.at
  %outputs.at = getelementptr %specification, ptr %spec, i64 0, i32 2
  %outputs = load i64, ptr %outputs.at
  %sizes.at = getelementptr %specification, ptr %spec, i64 0, i32 3
  %count = load i64, ptr %sizes.at
  %all = add i64 %inputs, %outputs
  %sizes = getelementptr i64, ptr %slots, i64 %all
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %one ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %one, label %small
one:
  %at = getelementptr i64, ptr %sizes, i64 %k
  %size = load i64, ptr %at
  %k.next = add i64 %k, 1
  %large = icmp ugt i64 %size, %limit
  br i1 %large, label %out, label %loop
small:
  ret i1 true
out:
  ret i1 false
}

; Run the kernel without the GIL, again after a signal whose handler did not raise. True if it ran; false with an exception set.
define internal i1 @run_kernel(ptr %spec, ptr %slots) #1 {
entry:
  %entry.point = load ptr, ptr %spec
  %duration.at = getelementptr %specification, ptr %spec, i64 0, i32 4
  %duration = load i64, ptr %duration.at
  switch i64 %duration, label %who [
    i64 1, label %brief
    i64 2, label %instant
  ]
who:                                                      ; of small arrays, what may take long is brief
  %limit.at = getelementptr %specification, ptr %spec, i64 0, i32 14
  %limit = load i64, ptr %limit.at
  %bounded = icmp ne i64 %limit, 0
  br i1 %bounded, label %measure, label %long
measure:
  %small = call i1 @sizes_below(ptr %spec, ptr %slots, i64 %limit)
  br i1 %small, label %brief, label %long
instant:
  %instant.result = call i32 %entry.point(ptr %slots)
  %instant.ok = icmp eq i32 %instant.result, 0
  br i1 %instant.ok, label %done, label %fail
brief:                                                    ; it cannot be interrupted: Python sees signals when it is back
  %brief.thread = call ptr @PyEval_SaveThread()
  %brief.result = call i32 %entry.point(ptr %slots)
  call void @PyEval_RestoreThread(ptr %brief.thread)
  switch i32 %brief.result, label %fail [
    i32 0, label %done
    i32 1, label %long                                    ; it saw the flag that was up for another one
  ]
long:
  %self = call i64 @pthread_self()
  %main.id = load i64, ptr @main_thread
  %main = icmp eq i64 %self, %main.id
  br label %again
again:
  br i1 %main, label %signals, label %start
signals:
  call void @watch_again()
  store atomic i32 1, ptr @main_inside seq_cst, align 4
  %raised = call i32 @PyErr_CheckSignals()
  %quiet = icmp eq i32 %raised, 0
  br i1 %quiet, label %start, label %interrupted
start:
  %thread = call ptr @PyEval_SaveThread()
  call void @kernel_enter(i1 %main)
  %result = call i32 %entry.point(ptr %slots)
  call void @kernel_leave()
  call void @PyEval_RestoreThread(ptr %thread)
  br i1 %main, label %outside, label %judge
outside:
  store atomic i32 0, ptr @main_inside release, align 4
  br label %judge
judge:
  switch i32 %result, label %fail [
    i32 0, label %done
    i32 1, label %yield
  ]
yield:
  %yielded = call i32 @sched_yield()
  br label %again
interrupted:
  store atomic i32 0, ptr @main_inside release, align 4
  ret i1 false
fail:                                                     ; `failed` raises; what it returns is null
  %failed.at = getelementptr %specification, ptr %spec, i64 0, i32 8
  %failed = load ptr, ptr %failed.at
  %nothing = call ptr @PyObject_CallNoArgs(ptr %failed)
  ret i1 false
done:
  ret i1 true
}

; What the call returns: the output, or `wrap` of a tuple of them. Takes over the references in `objects`.
define internal ptr @give(ptr %spec, ptr %objects, i64 %outputs) #1 {
entry:
  %wrap.at = getelementptr %specification, ptr %spec, i64 0, i32 7
  %wrap = load ptr, ptr %wrap.at
  %one = icmp eq ptr %wrap, null
  br i1 %one, label %single, label %several
single:
  %object = load ptr, ptr %objects
  ret ptr %object
several:
  %tuple = call ptr @PyTuple_New(i64 %outputs)
  %failed = icmp eq ptr %tuple, null
  br i1 %failed, label %undo, label %loop
undo:
  call void @release(ptr %objects, i64 %outputs)
  ret ptr null
loop:
  %k = phi i64 [ 0, %several ], [ %k.next, %set ]
  %more = icmp slt i64 %k, %outputs
  br i1 %more, label %set, label %call
set:
  %at = getelementptr ptr, ptr %objects, i64 %k
  %item = load ptr, ptr %at
  %ignored = call i32 @PyTuple_SetItem(ptr %tuple, i64 %k, ptr %item)
  %k.next = add i64 %k, 1
  br label %loop
call:
  %result = call ptr @PyObject_CallOneArg(ptr %wrap, ptr %tuple)
  call void @Py_DecRef(ptr %tuple)
  ret ptr %result
}

define internal void @hold(ptr %from, ptr %objects, i64 %count) #1 {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %one ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %one, label %out
one:
  %at = getelementptr ptr, ptr %from, i64 %k
  %object = load ptr, ptr %at
  call void @keep(ptr %object)
  %to = getelementptr ptr, ptr %objects, i64 %k
  store ptr %object, ptr %to
  %k.next = add i64 %k, 1
  br label %loop
out:
  ret void
}

; Slots, behind the word that the entry finds in front of them.
define internal ptr @slots_in(ptr %at, i64 %word) #1 {
  store i64 %word, ptr %at
  %slots = getelementptr i64, ptr %at, i64 1
  ret ptr %slots
}

; How many arguments there are: positional ones, and those given as `out=`; -1 if other keywords are used.
define internal i64 @count_arguments(ptr %spec, ptr %arguments, i64 %positional, ptr %keywords) #1 {
entry:
  %none = icmp eq ptr %keywords, null
  br i1 %none, label %plain, label %length
length:
  %length.at = getelementptr i64, ptr %keywords, i64 2
  %count = load i64, ptr %length.at
  %single = icmp eq i64 %count, 1
  %inputs.at = getelementptr %specification, ptr %spec, i64 0, i32 1
  %inputs = load i64, ptr %inputs.at
  %right = icmp eq i64 %positional, %inputs
  %both = and i1 %single, %right
  br i1 %both, label %compare, label %other
compare:
  %name.at = getelementptr i8, ptr %keywords, i64 $TUPLE_ITEMS
  %name = load ptr, ptr %name.at
  %out.at = getelementptr %specification, ptr %spec, i64 0, i32 6
  %out = load ptr, ptr %out.at
  %same = icmp eq ptr %name, %out
  br i1 %same, label %given, label %other
given:
  %outputs.at = getelementptr %specification, ptr %spec, i64 0, i32 2
  %outputs = load i64, ptr %outputs.at
  %all = add i64 %positional, %outputs
  %one = icmp eq i64 %outputs, 1
  br i1 %one, label %complete, label %several
several:
  %value.at = getelementptr ptr, ptr %arguments, i64 %positional
  %value = load ptr, ptr %value.at
  %type.at = getelementptr i8, ptr %value, i64 8
  %type = load ptr, ptr %type.at
  %kind = call i32 @PyType_IsSubtype(ptr %type, ptr @PyTuple_Type)
  %is.tuple = icmp ne i32 %kind, 0
  br i1 %is.tuple, label %measure, label %other
measure:
  %items.at = getelementptr i64, ptr %value, i64 2
  %items = load i64, ptr %items.at
  %enough = icmp eq i64 %items, %outputs
  br i1 %enough, label %complete, label %other
complete:
  ret i64 %all
plain:
  ret i64 %positional
other:
  ret i64 -1
}

; The inputs, and the outputs out of the tuple behind them.
define internal void @spread(ptr %arguments, i64 %inputs, i64 %outputs, ptr %into) #1 {
entry:
  %input.bytes = shl i64 %inputs, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %into, ptr %arguments, i64 %input.bytes, i1 false)
  %tuple.at = getelementptr ptr, ptr %arguments, i64 %inputs
  %tuple = load ptr, ptr %tuple.at
  %items = getelementptr i8, ptr %tuple, i64 $TUPLE_ITEMS
  %behind = getelementptr ptr, ptr %into, i64 %inputs
  %output.bytes = shl i64 %outputs, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %behind, ptr %items, i64 %output.bytes, i1 false)
  ret void
}

; A METH_FASTCALL | METH_KEYWORDS function.
define ptr @tx_call(ptr %self, ptr %arguments, i64 %positional, ptr %keywords) #0 {
  %spec = call ptr @spec_of(ptr %self)
  %answer = call ptr @serve(ptr %spec, ptr %arguments, i64 %positional, ptr %keywords)
  ret ptr %answer
}

; The vectorcall function of `callable.Callable`: what the object's target would do, which is a tuple as @tx_call has it, or any callable.
; The target may be replaced while it runs.
define ptr @tx_enter(ptr %object, ptr %arguments, i64 %count, ptr %keywords) #0 {
entry:
  %target.at = getelementptr i8, ptr %object, i64 24
  %target = load ptr, ptr %target.at
  call void @keep(ptr %target)
  %type.at = getelementptr i8, ptr %target, i64 8
  %type = load ptr, ptr %type.at
  %native = icmp eq ptr %type, @PyTuple_Type
  br i1 %native, label %direct, label %forward
direct:
  %spec = call ptr @spec_of(ptr %target)
  %positional = and i64 %count, 9223372036854775807        ; the highest bit is no part of the number
  %served = call ptr @serve(ptr %spec, ptr %arguments, i64 %positional, ptr %keywords)
  br label %end
forward:
  %called = call ptr @PyObject_Vectorcall(ptr %target, ptr %arguments, i64 %count, ptr %keywords)
  br label %end
end:
  %answer = phi ptr [ %served, %direct ], [ %called, %forward ]
  call void @drop(ptr %target)
  ret ptr %answer
}

define internal ptr @serve(ptr %spec, ptr %arguments, i64 %positional, ptr %keywords) #0 {
entry:
  %inputs.at = getelementptr %specification, ptr %spec, i64 0, i32 1
  %inputs = load i64, ptr %inputs.at
  %outputs.at = getelementptr %specification, ptr %spec, i64 0, i32 2
  %outputs = load i64, ptr %outputs.at
  %sizes.at = getelementptr %specification, ptr %spec, i64 0, i32 3
  %size.count = load i64, ptr %sizes.at
  %all = add i64 %inputs, %outputs
  %slot.count = add i64 %all, %size.count
  %given = call i64 @count_arguments(ptr %spec, ptr %arguments, i64 %positional, ptr %keywords)
  %front.at = getelementptr %specification, ptr %spec, i64 0, i32 15
  %front.word = load i64, ptr %front.at
  %kernel = icmp eq i64 %front.word, 0
  %without = icmp eq i64 %given, %inputs
  %complete = icmp eq i64 %given, %all
  %with = and i1 %complete, %kernel
  %right = or i1 %without, %with
  br i1 %right, label %prepare, label %slow
prepare:
  %words = add i64 %slot.count, 1
  %front = alloca i64, i64 %words
  %slots = call ptr @slots_in(ptr %front, i64 %front.word)
  %lengths = alloca i64, i64 %all
  %objects = alloca ptr, i64 %outputs
  %sizes = getelementptr i64, ptr %slots, i64 %all
  %named = icmp ne ptr %keywords, null
  %several = icmp ne i64 %outputs, 1
  %in.tuple = and i1 %named, %several
  br i1 %in.tuple, label %unpack, label %ready
unpack:
  %unpacked = alloca ptr, i64 %all
  call void @spread(ptr %arguments, i64 %inputs, i64 %outputs, ptr %unpacked)
  br label %ready
ready:
  %arrays = phi ptr [ %arguments, %prepare ], [ %unpacked, %unpack ]
  br label %unbind
unbind:
  %s = phi i64 [ 0, %ready ], [ %s.next, %free ]
  %unbound = icmp slt i64 %s, %size.count
  br i1 %unbound, label %free, label %read
free:
  %size.at = getelementptr i64, ptr %sizes, i64 %s
  store volatile i64 -1, ptr %size.at                     ; LLVM would call memset
  %s.next = add i64 %s, 1
  br label %unbind
read:
  %checks.at = getelementptr %specification, ptr %spec, i64 0, i32 13
  %checks = load i64, ptr %checks.at
  %check.words = mul i64 %checks, 6
  %before = add i64 %check.words, 16
  %records = getelementptr i64, ptr %spec, i64 %before
  br label %loop
loop:
  %k = phi i64 [ 0, %read ], [ %k.next, %next ]
  %record = phi ptr [ %records, %read ], [ %following, %next ]
  %more = icmp slt i64 %k, %given
  br i1 %more, label %take, label %bound
take:
  %object.at = getelementptr ptr, ptr %arrays, i64 %k
  %object = load ptr, ptr %object.at
  %is.output = icmp sge i64 %k, %inputs
  %flags = select i1 %is.output, i32 1025, i32 1          ; C_CONTIGUOUS, and WRITEABLE for outputs
  %slot = getelementptr i64, ptr %slots, i64 %k
  %length = getelementptr i64, ptr %lengths, i64 %k
  %following = call ptr @take_argument(ptr %spec, ptr %record, ptr %object, i32 %flags, ptr %sizes, ptr %slot, ptr %length)
  %unfit = icmp eq ptr %following, null
  br i1 %unfit, label %slow, label %next
next:
  %k.next = add i64 %k, 1
  br label %loop
bound:
  %held = call i1 @ranges_hold(ptr %spec, i64 %checks, ptr %slots, ptr %lengths, ptr %sizes)
  br i1 %held, label %place, label %slow
place:
  br i1 %with, label %separate, label %allocate
separate:
  %overlap = call i1 @outputs_overlap(i64 %inputs, i64 %all, ptr %slots, ptr %lengths)
  br i1 %overlap, label %slow, label %keep
keep:
  %first.output = getelementptr ptr, ptr %arrays, i64 %inputs
  call void @hold(ptr %first.output, ptr %objects, i64 %outputs)
  br label %run
allocate:
  %output.slots = getelementptr i64, ptr %slots, i64 %inputs
  %made = call i1 @new_outputs(ptr %spec, ptr %record, i64 %outputs, ptr %sizes, ptr %output.slots, ptr %objects)
  br i1 %made, label %run, label %slow
run:
  %ran = call i1 @run_kernel(ptr %spec, ptr %slots)
  br i1 %ran, label %finish, label %drop
finish:
  %result = call ptr @give(ptr %spec, ptr %objects, i64 %outputs)
  ret ptr %result
drop:
  call void @release(ptr %objects, i64 %outputs)
  ret ptr null
slow:
  %slow.at = getelementptr %specification, ptr %spec, i64 0, i32 5
  %function = load ptr, ptr %slow.at
  %answer = call ptr @PyObject_Vectorcall(ptr %function, ptr %arguments, i64 %positional, ptr %keywords)
  ret ptr %answer
}

; For `slow`: run the kernel. The arguments are arrays as the kernel wants them, then an int64 array of its sizes. Returns that array.
define ptr @tx_run(ptr %self, ptr %arguments, i64 %count) #0 {
entry:
  %spec = call ptr @spec_of(ptr %self)
  %sizes.at = getelementptr %specification, ptr %spec, i64 0, i32 3
  %size.count = load i64, ptr %sizes.at
  %all = sub i64 %count, 1
  %slot.count = add i64 %all, %size.count
  %words = add i64 %slot.count, 1
  %front = alloca i64, i64 %words
  %front.at = getelementptr %specification, ptr %spec, i64 0, i32 15
  %front.word = load i64, ptr %front.at
  %slots = call ptr @slots_in(ptr %front, i64 %front.word)
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %loop ]
  %object.at = getelementptr ptr, ptr %arguments, i64 %k
  %object = load ptr, ptr %object.at
  %data.at = getelementptr %ndarray, ptr %object, i64 0, i32 2
  %data = load ptr, ptr %data.at
  %slot = getelementptr ptr, ptr %slots, i64 %k
  store ptr %data, ptr %slot
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %all
  br i1 %more, label %loop, label %run
run:
  %last.at = getelementptr ptr, ptr %arguments, i64 %all
  %last = load ptr, ptr %last.at
  %sizes.data.at = getelementptr %ndarray, ptr %last, i64 0, i32 2
  %sizes.data = load ptr, ptr %sizes.data.at
  %size.slots = getelementptr ptr, ptr %slots, i64 %all
  %size.bytes = shl i64 %size.count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %size.slots, ptr %sizes.data, i64 %size.bytes, i1 false)
  %ran = call i1 @run_kernel(ptr %spec, ptr %slots)
  br i1 %ran, label %ok, label %failed
ok:
  call void @Py_IncRef(ptr %last)
  ret ptr %last
failed:
  ret ptr null
}
