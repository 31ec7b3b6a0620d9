; Several kernels as one: a program that was planned, without Python between its kernels.
;
; @tx_sequence has one slot, the address of a table of 64-bit words: how many entries there are, where a failure is noted, and then for
; every entry the address of a function `i32 (ptr slots)` and that of its slots. It ends with the first result that is not 0.

define i32 @tx_sequence(ptr %slots) #0 {
entry:
  %table = load ptr, ptr %slots
  %count = load i64, ptr %table
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %ask, label %done
ask:                                                      ; kernels that are soon over do not look for Ctrl-C themselves
  %word = load atomic i32, ptr @tx_interrupted monotonic, align 8
  %quiet = icmp eq i32 %word, 0
  br i1 %quiet, label %run, label %interrupted
run:
  %twice = shl i64 %k, 1
  %place = add i64 %twice, 2
  %function.at = getelementptr i64, ptr %table, i64 %place
  %function = load ptr, ptr %function.at
  %own.at = getelementptr i64, ptr %function.at, i64 1
  %own = load ptr, ptr %own.at
  %result = call i32 %function(ptr %own)
  %good = icmp eq i32 %result, 0
  br i1 %good, label %next, label %fail
next:
  %k.next = add i64 %k, 1
  br label %loop
fail:
  %failure = getelementptr i64, ptr %table, i64 1
  store i64 %k, ptr %failure
  ret i32 %result
interrupted:
  ret i32 1
done:
  ret i32 0
}

; A sequence as a function of arrays. In front of its slots, which are inputs and then outputs, it finds the address of a frame: the address
; of the sequence's table, how many inputs and how many outputs there are, and for each of them the address where the sequence has it, and
; its bytes. An input is copied there, an output from there.
define i32 @tx_function(ptr %slots) #0 {
entry:
  %frame.at = getelementptr ptr, ptr %slots, i64 -1
  %frame = load ptr, ptr %frame.at
  %inputs.at = getelementptr i64, ptr %frame, i64 1
  %inputs = load i64, ptr %inputs.at
  %outputs.at = getelementptr i64, ptr %frame, i64 2
  %outputs = load i64, ptr %outputs.at
  %all = add i64 %inputs, %outputs
  %places = getelementptr i64, ptr %frame, i64 3
  br label %input
input:
  %k = phi i64 [ 0, %entry ], [ %k.next, %take ]
  %more = icmp slt i64 %k, %inputs
  br i1 %more, label %take, label %run
take:
  %given.at = getelementptr ptr, ptr %slots, i64 %k
  %given = load ptr, ptr %given.at
  %to.at = getelementptr { ptr, i64 }, ptr %places, i64 %k
  %to = load ptr, ptr %to.at
  %size.at = getelementptr { ptr, i64 }, ptr %places, i64 %k, i32 1
  %size = load i64, ptr %size.at
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %given, i64 %size, i1 false)
  %k.next = add i64 %k, 1
  br label %input
run:
  %result = call i32 @tx_sequence(ptr %frame)
  %good = icmp eq i32 %result, 0
  br i1 %good, label %output, label %out
output:
  %j = phi i64 [ %inputs, %run ], [ %j.next, %give ]
  %rest = icmp slt i64 %j, %all
  br i1 %rest, label %give, label %out
give:
  %wanted.at = getelementptr ptr, ptr %slots, i64 %j
  %wanted = load ptr, ptr %wanted.at
  %from.at = getelementptr { ptr, i64 }, ptr %places, i64 %j
  %from = load ptr, ptr %from.at
  %bytes.at = getelementptr { ptr, i64 }, ptr %places, i64 %j, i32 1
  %bytes = load i64, ptr %bytes.at
  call void @llvm.memcpy.p0.p0.i64(ptr %wanted, ptr %from, i64 %bytes, i1 false)
  %j.next = add i64 %j, 1
  br label %output
out:
  ret i32 %result
}

; An entry that checks values: its slots are a check of `ranges.ll`, an array, how many bytes it has, and bounds. 3 if one is outside.
define i32 @tx_check_range(ptr %slots) #0 {
entry:
  %check = load ptr, ptr %slots
  %data.at = getelementptr i64, ptr %slots, i64 1
  %data = load ptr, ptr %data.at
  %bytes.at = getelementptr i64, ptr %slots, i64 2
  %bytes = load i64, ptr %bytes.at
  %lo.at = getelementptr i64, ptr %slots, i64 3
  %lo = load i64, ptr %lo.at
  %hi.at = getelementptr i64, ptr %slots, i64 4
  %hi = load i64, ptr %hi.at
  %holds = call i1 %check(ptr %data, i64 %bytes, i64 %lo, i64 %hi)
  %result = select i1 %holds, i32 0, i32 3
  ret i32 %result
}

; An entry that makes many calls as one region of the pool: its slots are the address of the first call, how many bytes lie between two of
; them, how many there are, and whether threads share them. A call is a kernel and its slots. The calls write different elements.
define i32 @tx_sweep(ptr %slots) #0 {
entry:
  %context = alloca { ptr, i32 }, align 8
  store ptr %slots, ptr %context
  %result.at = getelementptr { ptr, i32 }, ptr %context, i64 0, i32 1
  store i32 0, ptr %result.at
  %count.at = getelementptr i64, ptr %slots, i64 2
  %count = load i64, ptr %count.at
  %shared.at = getelementptr i64, ptr %slots, i64 3
  %shared = load i64, ptr %shared.at
  %together = icmp ne i64 %shared, 0
  br i1 %together, label %threads, label %alone
threads:
  call void @tx_parallel(ptr @sweep_calls, ptr %context, i64 %count)
  br label %done
alone:
  call void @sweep_calls(ptr %context, i64 0, i64 %count)
  br label %done
done:
  %result = load atomic i32, ptr %result.at monotonic, align 4
  ret i32 %result
}

; Calls lo..hi; those after one that did not return 0 are left out.
define internal void @sweep_calls(ptr %context, i64 %lo, i64 %hi) #0 {
entry:
  %slots = load ptr, ptr %context
  %result.at = getelementptr { ptr, i32 }, ptr %context, i64 0, i32 1
  %first = load ptr, ptr %slots
  %stride.at = getelementptr i64, ptr %slots, i64 1
  %stride = load i64, ptr %stride.at
  br label %loop
loop:
  %k = phi i64 [ %lo, %entry ], [ %k.next, %good ]
  %more = icmp slt i64 %k, %hi
  br i1 %more, label %ask, label %out
ask:
  %word = load atomic i32, ptr @tx_interrupted monotonic, align 8
  %quiet = icmp eq i32 %word, 0
  br i1 %quiet, label %run, label %stop
run:
  %offset = mul i64 %k, %stride
  %call = getelementptr i8, ptr %first, i64 %offset
  %kernel = load ptr, ptr %call
  %own = getelementptr i64, ptr %call, i64 1
  %result = call i32 %kernel(ptr %own)
  %fine = icmp eq i32 %result, 0
  br i1 %fine, label %good, label %stop
good:
  %k.next = add i64 %k, 1
  br label %loop
stop:
  %why = phi i32 [ 1, %ask ], [ %result, %run ]
  store atomic i32 %why, ptr %result.at monotonic, align 4
  br label %out
out:
  ret void
}
