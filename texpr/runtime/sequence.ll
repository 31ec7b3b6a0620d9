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
