; The call path: from Python's arguments to a kernel and back, without Python code in between when all arguments are as they should be.
;
; @tx_call is a METH_FASTCALL | METH_KEYWORDS function whose `self` is a tuple. Its first item is a `bytes` object that holds the
; specification, an array of 64-bit words that `call.py` packs:
;
;   0 entry   1 inputs   2 outputs   3 sizes   4 duration: 0 long, 1 brief, 2 instant   5 slow   6 "out", or null
;   7 wrap: type of the tuple of several outputs, null for one   8 failed   9 ndarray   10 PyArray_NewFromDescr
;   11 PyDataMem_SetHandler   12 our memory handler   13 checks of values
;   14 brief where no size is larger than this; 0: never
;   15 what the entry finds in front of its slots: one function of native code serves many callables, which take inputs only; 0 for kernels
;   16 how many inputs may be given by position   17 how many arguments with all outputs by position; -1: they may not be
;   18 constants   19 word where the names are (keywords.ll)   20 kinds of numbers (numbers.ll)   21 PyArray_NewCopy
;   then for every check: position of the input, function, and its two bounds, each as a constant and a size (constant + size, or -1)
;   then every size that is known, -1 where arguments tell it
;   then, for every input, then every output: dtype object, bytes of an item, rank, what numbers may stand for it (numbers.ll), and each
;   extent: e >= 0 is a constant, -1-k is size number k
;
; Arguments are taken here if they are exact ndarrays of that very dtype object, with these extents, or numbers for inputs of rank 0. Inputs
; that are not C-contiguous are copied; outputs must be C-contiguous, writeable and overlap nothing (several by name: `out=` a tuple). All
; else goes to `slow`, the Python function that converts, or explains what is wrong. Kernels get a slot per argument and then the sizes.

declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyTuple_New(i64)
declare ptr @PyType_GenericAlloc(ptr, i64)
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

; What the call returns: the output, or several in a tuple of the type `wrap`. Takes over the references in `objects`.
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
  %plain = icmp eq ptr %wrap, @PyTuple_Type
  br i1 %plain, label %nameless, label %named
nameless:
  %new = call ptr @PyTuple_New(i64 %outputs)
  br label %made
named:                                                    ; a tuple with names has the layout of any
  %blank = call ptr @PyType_GenericAlloc(ptr %wrap, i64 %outputs)
  br label %made
made:
  %tuple = phi ptr [ %new, %nameless ], [ %blank, %named ]
  %failed = icmp eq ptr %tuple, null
  br i1 %failed, label %undo, label %begin
undo:
  call void @release(ptr %objects, i64 %outputs)
  ret ptr null
begin:
  $TUPLE_HASH
  %items = getelementptr i8, ptr %tuple, i64 $TUPLE_ITEMS
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %k.next, %set ]
  %more = icmp slt i64 %k, %outputs
  br i1 %more, label %set, label %out
set:
  %at = getelementptr ptr, ptr %objects, i64 %k
  %item = load ptr, ptr %at
  %to = getelementptr ptr, ptr %items, i64 %k
  store ptr %item, ptr %to
  %k.next = add i64 %k, 1
  br label %loop
out:
  ret ptr %tuple
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

; A METH_FASTCALL | METH_KEYWORDS function.
define ptr @tx_call(ptr %self, ptr %arguments, i64 %positional, ptr %keywords) #0 {
entry:
  %answer.at = alloca ptr
  %spec = call ptr @spec_of(ptr %self)
  %served = call i1 @serve(ptr %spec, ptr %arguments, i64 %positional, ptr %keywords, ptr %answer.at)
  br i1 %served, label %done, label %slow
done:
  %answer = load ptr, ptr %answer.at
  ret ptr %answer
slow:
  %slow.at = getelementptr %specification, ptr %spec, i64 0, i32 5
  %function = load ptr, ptr %slow.at
  %forwarded = call ptr @PyObject_Vectorcall(ptr %function, ptr %arguments, i64 %positional, ptr %keywords)
  ret ptr %forwarded
}

; The vectorcall function of `callable.Callable`: what the object's `_asked` would do. That is any callable, or a tuple whose first item is
; a `bytes` object with a list: what is called where no specification serves, how many there are, and their addresses. They are asked in
; turn; only this function changes the order. The target may be replaced while it runs.
define ptr @tx_enter(ptr %object, ptr %arguments, i64 %count, ptr %keywords) #0 {
entry:
  %answer.at = alloca ptr
  %target.at = getelementptr i8, ptr %object, i64 24
  %target = load ptr, ptr %target.at
  call void @keep(ptr %target)
  %type.at = getelementptr i8, ptr %target, i64 8
  %type = load ptr, ptr %type.at
  %native = icmp eq ptr %type, @PyTuple_Type
  br i1 %native, label %list, label %forward
list:
  %list.at = call ptr @spec_of(ptr %target)
  %otherwise = load ptr, ptr %list.at
  %length.at = getelementptr i64, ptr %list.at, i64 1
  %length = load i64, ptr %length.at
  %specs = getelementptr i64, ptr %list.at, i64 2
  %positional = and i64 %count, 9223372036854775807        ; the highest bit is no part of the number
  br label %ask
ask:
  %k = phi i64 [ 0, %list ], [ %k.next, %one ]
  %more = icmp slt i64 %k, %length
  br i1 %more, label %one, label %forward
one:
  %spec.at = getelementptr ptr, ptr %specs, i64 %k
  %spec = load ptr, ptr %spec.at
  %served = call i1 @serve(ptr %spec, ptr %arguments, i64 %positional, ptr %keywords, ptr %answer.at)
  %k.next = add i64 %k, 1
  br i1 %served, label %found, label %ask
found:                                                    ; it changes places with the first: what is called again is found at once
  %first = load ptr, ptr %specs
  %found.now = load ptr, ptr %spec.at
  store ptr %found.now, ptr %specs
  store ptr %first, ptr %spec.at
  %answer.native = load ptr, ptr %answer.at
  br label %end
forward:
  %function = phi ptr [ %target, %entry ], [ %otherwise, %ask ]
  %called = call ptr @PyObject_Vectorcall(ptr %function, ptr %arguments, i64 %count, ptr %keywords)
  br label %end
end:
  %answer = phi ptr [ %answer.native, %found ], [ %called, %forward ]
  call void @drop(ptr %target)
  ret ptr %answer
}

; Whether as many arguments by position, and none by name, are what a specification is for.
define internal i1 @right_count(ptr %spec, i64 %positional, i64 %inputs) #1 {
  %prefix.at = getelementptr %specification, ptr %spec, i64 0, i32 16
  %prefix = load i64, ptr %prefix.at
  %most.at = getelementptr %specification, ptr %spec, i64 0, i32 17
  %most = load i64, ptr %most.at
  %constants.at = getelementptr %specification, ptr %spec, i64 0, i32 18
  %constants = load i64, ptr %constants.at
  %by.position = icmp eq i64 %inputs, %prefix
  %inputs.only = icmp eq i64 %positional, %inputs
  %without = and i1 %by.position, %inputs.only
  %with = icmp eq i64 %positional, %most
  %either = or i1 %without, %with
  %plain = icmp eq i64 %constants, 0
  %right = and i1 %either, %plain
  ret i1 %right
}

; Run the kernel if the arguments are as its specification says, and write what the call returns to `answer`: null with an exception set.
; False, and nothing has happened, if they are not.
define internal i1 @serve(ptr %spec, ptr %arguments, i64 %positional, ptr %keywords, ptr %answer) #0 {
entry:
  %inputs.at = getelementptr %specification, ptr %spec, i64 0, i32 1
  %inputs = load i64, ptr %inputs.at
  %outputs.at = getelementptr %specification, ptr %spec, i64 0, i32 2
  %outputs = load i64, ptr %outputs.at
  %sizes.at = getelementptr %specification, ptr %spec, i64 0, i32 3
  %size.count = load i64, ptr %sizes.at
  %all = add i64 %inputs, %outputs
  %slot.count = add i64 %all, %size.count
  %unnamed = icmp eq ptr %keywords, null
  br i1 %unnamed, label %count, label %sort
count:
  %right = call i1 @right_count(ptr %spec, i64 %positional, i64 %inputs)
  br i1 %right, label %prepare, label %unfit
sort:
  %sorted = alloca ptr, i64 %all
  %gathered = call i64 @gather(ptr %spec, ptr %arguments, i64 %positional, ptr %keywords, ptr %sorted)
  %foreign = icmp slt i64 %gathered, 0
  br i1 %foreign, label %unfit, label %prepare
prepare:
  %arrays = phi ptr [ %arguments, %count ], [ %sorted, %sort ]
  %given = phi i64 [ %positional, %count ], [ %gathered, %sort ]
  %with = icmp ne i64 %given, %inputs
  %front.at = getelementptr %specification, ptr %spec, i64 0, i32 15
  %front.word = load i64, ptr %front.at
  %words = add i64 %slot.count, 1
  %front = alloca i64, i64 %words
  %slots = call ptr @slots_in(ptr %front, i64 %front.word)
  %lengths = alloca i64, i64 %all
  %objects = alloca ptr, i64 %outputs
  %numbers = alloca i64, i64 %all
  %sizes = getelementptr i64, ptr %slots, i64 %all
  %checks.at = getelementptr %specification, ptr %spec, i64 0, i32 13
  %checks = load i64, ptr %checks.at
  %check.words = mul i64 %checks, 6
  %behind = getelementptr %specification, ptr %spec, i64 1
  %sizes.known = getelementptr i64, ptr %behind, i64 %check.words
  %records = getelementptr i64, ptr %sizes.known, i64 %size.count
  br label %unbind
unbind:
  %s = phi i64 [ 0, %prepare ], [ %s.next, %free ]
  %unbound = icmp slt i64 %s, %size.count
  br i1 %unbound, label %free, label %loop
free:
  %size.at = getelementptr i64, ptr %sizes, i64 %s
  %size.known.at = getelementptr i64, ptr %sizes.known, i64 %s
  %size.known = load i64, ptr %size.known.at
  store i64 %size.known, ptr %size.at
  %s.next = add i64 %s, 1
  br label %unbind
loop:
  %k = phi i64 [ 0, %unbind ], [ %k.next, %next ]
  %record = phi ptr [ %records, %unbind ], [ %following, %next ]
  %loose = phi i1 [ false, %unbind ], [ %loose.next, %next ]
  %more = icmp slt i64 %k, %given
  br i1 %more, label %take, label %taken
take:
  %object.at = getelementptr ptr, ptr %arrays, i64 %k
  %object = load ptr, ptr %object.at
  %is.output = icmp sge i64 %k, %inputs
  %flags = select i1 %is.output, i32 1025, i32 0          ; C_CONTIGUOUS and WRITEABLE for outputs
  %slot = getelementptr i64, ptr %slots, i64 %k
  %length = getelementptr i64, ptr %lengths, i64 %k
  %number = getelementptr i64, ptr %numbers, i64 %k
  %following = call ptr @take_argument(ptr %spec, ptr %record, ptr %object, i32 %flags, ptr %sizes, ptr %slot, ptr %length, ptr %number)
  %wrong = icmp eq ptr %following, null
  br i1 %wrong, label %unfit, label %next
next:
  %address = load ptr, ptr %slot
  %none = icmp eq ptr %address, null
  %loose.next = or i1 %loose, %none
  %k.next = add i64 %k, 1
  br label %loop
taken:
  br i1 %loose, label %copy, label %bound
copy:
  %room = alloca [4096 x i8], align 64
  %copies.made = alloca ptr, i64 %inputs
  %copied.now = call i64 @copy_inputs(ptr %spec, ptr %records, ptr %arrays, ptr %slots, ptr %lengths, ptr %room, ptr %copies.made)
  %full = icmp slt i64 %copied.now, 0
  br i1 %full, label %unfit, label %bound
bound:
  %copies = phi ptr [ null, %taken ], [ %copies.made, %copy ]
  %copied = phi i64 [ 0, %taken ], [ %copied.now, %copy ]
  %held = call i1 @ranges_hold(ptr %spec, i64 %checks, ptr %slots, ptr %lengths, ptr %sizes)
  br i1 %held, label %place, label %undo
place:
  br i1 %with, label %separate, label %allocate
separate:
  %overlap = call i1 @outputs_overlap(i64 %inputs, i64 %all, ptr %slots, ptr %lengths)
  br i1 %overlap, label %undo, label %keep
keep:
  %first.output = getelementptr ptr, ptr %arrays, i64 %inputs
  call void @hold(ptr %first.output, ptr %objects, i64 %outputs)
  br label %run
allocate:
  %output.slots = getelementptr i64, ptr %slots, i64 %inputs
  %made = call i1 @new_outputs(ptr %spec, ptr %record, i64 %outputs, ptr %sizes, ptr %output.slots, ptr %objects)
  br i1 %made, label %run, label %undo
run:
  %ran = call i1 @run_kernel(ptr %spec, ptr %slots)
  br i1 %ran, label %finish, label %drop
finish:
  %result = call ptr @give(ptr %spec, ptr %objects, i64 %outputs)
  br label %end
drop:
  call void @release(ptr %objects, i64 %outputs)
  br label %end
end:
  %returned = phi ptr [ %result, %finish ], [ null, %drop ]
  store ptr %returned, ptr %answer
  %clean = icmp eq i64 %copied, 0
  br i1 %clean, label %done, label %discard
discard:
  call void @release(ptr %copies, i64 %copied)
  br label %done
done:
  ret i1 true
undo:
  call void @release(ptr %copies, i64 %copied)
  br label %unfit
unfit:
  ret i1 false
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
