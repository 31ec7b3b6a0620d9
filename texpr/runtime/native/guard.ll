; Memory that ends, or begins, at a page that cannot be touched: a kernel that reads or writes past it dies at that instruction.
;
; Where @guard_front is 0 memory ends in front of such a page, else it begins behind one:
;
;     0:  [ two pages ][ ... memory ][ page that cannot be touched ]
;     1:  [ page ][ page that cannot be touched ][ memory ... ]
;
; The words of where it all begins and how long it is stand 8192 bytes in front of the memory.

@guard_front = internal global i64 0

declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @mprotect(ptr, i64, i32)
declare i32 @munmap(ptr, i64)

; From now on memory begins behind such a page (1), or ends in front of one (0).
define void @tx_set_guard(i64 %front) #2 {
  store atomic i64 %front, ptr @guard_front monotonic, align 8
  ret void
}

; So many bytes, all 165, so that what is read before it is written shows; null if there is no memory.
define ptr @tx_guard_alloc(i64 %size) #2 {
entry:
  %limit = load i64, ptr @memory_limit
  %refused = icmp ugt i64 %size, %limit
  br i1 %refused, label %none, label %map
map:
  %up = add i64 %size, 4095
  %room = and i64 %up, -4096
  %whole = add i64 %room, 12288
  %start = call ptr @mmap(ptr null, i64 %whole, i32 3, i32 34, i32 -1, i64 0)
  %failed = icmp eq ptr %start, inttoptr (i64 -1 to ptr)
  br i1 %failed, label %none, label %protect
protect:
  %front = load atomic i64, ptr @guard_front monotonic, align 8
  %in.front = icmp ne i64 %front, 0
  %behind = add i64 %room, 8192
  %guard.at = select i1 %in.front, i64 4096, i64 %behind
  %guard = getelementptr i8, ptr %start, i64 %guard.at
  %ignored = call i32 @mprotect(ptr %guard, i64 4096, i32 0)
  %last = sub i64 %behind, %size
  %first = select i1 %in.front, i64 8192, i64 %last
  %user = getelementptr i8, ptr %start, i64 %first
  %words = getelementptr i8, ptr %user, i64 -8192
  store ptr %start, ptr %words, align 1
  %length = getelementptr i8, ptr %words, i64 8
  store i64 %whole, ptr %length, align 1
  call void @llvm.memset.p0.i64(ptr align 1 %user, i8 -91, i64 %size, i1 false)
  ret ptr %user
none:
  ret ptr null
}

define void @tx_guard_free(ptr %user) #2 {
entry:
  %nothing = icmp eq ptr %user, null
  br i1 %nothing, label %out, label %unmap
unmap:
  %words = getelementptr i8, ptr %user, i64 -8192
  %start = load ptr, ptr %words, align 1
  %length = getelementptr i8, ptr %words, i64 8
  %whole = load i64, ptr %length, align 1
  %ignored = call i32 @munmap(ptr %start, i64 %whole)
  br label %out
out:
  ret void
}

; A copy of an array in such memory, which cannot be written if it is `sealed`.
define ptr @tx_guard_copy(ptr %array, i64 %size, i1 %sealed) #2 {
entry:
  %user = call ptr @tx_guard_alloc(i64 %size)
  %none = icmp eq ptr %user, null
  br i1 %none, label %out, label %fill
fill:
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %user, ptr align 1 %array, i64 %size, i1 false)
  br i1 %sealed, label %seal, label %out
seal:                                                     ; 1 is PROT_READ
  %address = ptrtoint ptr %user to i64
  %page = and i64 %address, -4096
  %pages = inttoptr i64 %page to ptr
  %before = sub i64 %address, %page
  %length = add i64 %before, %size
  %ignored = call i32 @mprotect(ptr %pages, i64 %length, i32 1)
  br label %out
out:
  ret ptr %user
}

; What a kernel wrote to the copy of an array, in the array.
define void @tx_guard_back(ptr %array, ptr %copy, i64 %size) #2 {
entry:
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %array, ptr align 1 %copy, i64 %size, i1 false)
  ret void
}
