; Scratch memory for kernels: aligned to 64 bytes, with large blocks kept for the next call.
;
; In front of a block's bytes is a header of 64 bytes that holds how many there are, itself included, and for one that waits which thread
; freed it. Freed blocks of 4 KB and more wait in a small table, which saves the kernel's page faults on the next allocation of about that
; size. A thread gets its own ones first: their lines are in its caches, and changed ones would come from those of others at many times
; the cost.
;
; Blocks of 64 KB and more begin in the middle of a page, where large arrays of others begin near its start: a store whose address has
; the last 12 bits of a load that comes soon after it holds that load up on many processors (aliasing of 4 KB), as where y[i] lies one
; vector behind x[i].

@blocks = internal global [32 x ptr] zeroinitializer, align 64
@blocks_bytes = internal global i64 0                     ; all that wait in the table
@blocks_busy = internal global i32 0
@blocks_limit = internal global i64 0                     ; at most so many bytes wait
@memory_limit = internal global i64 140737488355328       ; larger requests are refused

declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; True if the table is the caller's; whoever has it lets go within some ten nanoseconds, or was interrupted.
define internal i1 @blocks_lock() #0 {
entry:
  br label %try
try:
  %left = phi i32 [ 64, %entry ], [ %left.next, %try ]
  %swap = cmpxchg ptr @blocks_busy, i32 0, i32 1 acquire monotonic
  %locked = extractvalue { i32, i1 } %swap, 1
  %left.next = sub i32 %left, 1
  %over = icmp eq i32 %left.next, 0
  %end = or i1 %locked, %over
  br i1 %end, label %out, label %try
out:
  ret i1 %locked
}

; The waiting block that fits `size` best and is less than twice as large, of the caller's own if there is one; null if there is none.
; Called with the lock held.
define internal ptr @blocks_take(i64 %size) #1 {
entry:
  %most = shl i64 %size, 1
  %self = call i64 @pthread_self()
  br label %look
look:
  %index = phi i64 [ 0, %entry ], [ %index.next, %next ]
  %best = phi i64 [ -1, %entry ], [ %best.next, %next ]
  %best.rank = phi i64 [ 9223372036854775807, %entry ], [ %best.rank.next, %next ]
  %at = getelementptr [32 x ptr], ptr @blocks, i64 0, i64 %index
  %block = load ptr, ptr %at
  %none = icmp eq ptr %block, null
  br i1 %none, label %next, label %compare
compare:
  %have = load i64, ptr %block
  %large.enough = icmp sge i64 %have, %size
  %small.enough = icmp slt i64 %have, %most
  %fits = and i1 %large.enough, %small.enough
  %owner.at = getelementptr i8, ptr %block, i64 8
  %owner = load i64, ptr %owner.at
  %own = icmp eq i64 %owner, %self
  %behind = or i64 %have, 4611686018427387904
  %rank = select i1 %own, i64 %have, i64 %behind
  %closer = icmp slt i64 %rank, %best.rank
  %better = and i1 %fits, %closer
  %best.new = select i1 %better, i64 %index, i64 %best
  %best.rank.new = select i1 %better, i64 %rank, i64 %best.rank
  br label %next
next:
  %best.next = phi i64 [ %best, %look ], [ %best.new, %compare ]
  %best.rank.next = phi i64 [ %best.rank, %look ], [ %best.rank.new, %compare ]
  %index.next = add i64 %index, 1
  %more = icmp slt i64 %index.next, 32
  br i1 %more, label %look, label %end
end:
  %found = icmp sge i64 %best.next, 0
  br i1 %found, label %take, label %nothing
take:
  %taken.at = getelementptr [32 x ptr], ptr @blocks, i64 0, i64 %best.next
  %taken = load ptr, ptr %taken.at
  store ptr null, ptr %taken.at
  %taken.size = load i64, ptr %taken
  %waiting = load i64, ptr @blocks_bytes
  %left = sub i64 %waiting, %taken.size
  store i64 %left, ptr @blocks_bytes
  ret ptr %taken
nothing:
  ret ptr null
}

; Keep a block, if there is room; true if kept. Called with the lock held.
define internal i1 @blocks_keep(ptr %block, i64 %size) #1 {
entry:
  %waiting = load i64, ptr @blocks_bytes
  %total = add i64 %waiting, %size
  %limit = load i64, ptr @blocks_limit
  %fits = icmp sle i64 %total, %limit
  br i1 %fits, label %look, label %no
look:
  %index = phi i64 [ 0, %entry ], [ %index.next, %next ]
  %at = getelementptr [32 x ptr], ptr @blocks, i64 0, i64 %index
  %there = load ptr, ptr %at
  %vacant = icmp eq ptr %there, null
  br i1 %vacant, label %keep, label %next
next:
  %index.next = add i64 %index, 1
  %more = icmp slt i64 %index.next, 32
  br i1 %more, label %look, label %no
keep:
  %self = call i64 @pthread_self()
  %owner = getelementptr i8, ptr %block, i64 8
  store i64 %self, ptr %owner
  store ptr %block, ptr %at
  store i64 %total, ptr @blocks_bytes
  ret i1 true
no:
  ret i1 false
}

define internal ptr @block_new(i64 %size) #1 {
entry:
  %large = icmp sge i64 %size, 4194304
  %kept = icmp sge i64 %size, 65536
  %half = select i1 %kept, i64 2048, i64 0
  %page = select i1 %kept, i64 4096, i64 64
  %alignment = select i1 %large, i64 2097152, i64 %page
  %last = sub i64 %alignment, 1
  %behind = add i64 %size, %half
  %more = add i64 %behind, %last
  %keep = xor i64 %last, -1
  %rounded = and i64 %more, %keep
  %start = call ptr @aligned_alloc(i64 %alignment, i64 %rounded)
  %failed = icmp eq ptr %start, null
  br i1 %failed, label %none, label %mark
mark:
  %block = getelementptr i8, ptr %start, i64 %half
  %bytes = sub i64 %rounded, %half
  store i64 %bytes, ptr %block
  br i1 %large, label %advise, label %out
advise:                                                   ; 14 is MADV_HUGEPAGE; a refusal does no harm
  %ignored = call i32 @madvise(ptr %start, i64 %rounded, i32 14)
  br label %out
out:
  ret ptr %block
none:
  ret ptr null
}

; `bytes` bytes aligned to 64, uninitialised; null if there is no such memory.
define ptr @tx_alloc(i64 %bytes) #0 {
entry:
  %limit = load i64, ptr @memory_limit
  %refused = icmp ugt i64 %bytes, %limit
  br i1 %refused, label %none, label %round
round:
  %with.header = add i64 %bytes, 127
  %size = and i64 %with.header, -64
  %small = icmp slt i64 %size, 4096
  br i1 %small, label %fresh, label %lock
lock:
  %locked = call i1 @blocks_lock()
  br i1 %locked, label %search, label %fresh
search:
  %kept = call ptr @blocks_take(i64 %size)
  store atomic i32 0, ptr @blocks_busy release, align 4
  %missing = icmp eq ptr %kept, null
  br i1 %missing, label %fresh, label %give
fresh:
  %new = call ptr @block_new(i64 %size)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %none, label %give
give:
  %block = phi ptr [ %kept, %search ], [ %new, %fresh ]
  %user = getelementptr i8, ptr %block, i64 64
  ret ptr %user
none:
  ret ptr null
}

define void @tx_free(ptr %user) #0 {
entry:
  %nothing = icmp eq ptr %user, null
  br i1 %nothing, label %out, label %size
size:
  %block = getelementptr i8, ptr %user, i64 -64
  %bytes = load i64, ptr %block
  %small = icmp slt i64 %bytes, 4096
  %in.line = icmp slt i64 %bytes, 65536
  %half = select i1 %in.line, i64 0, i64 -2048
  br i1 %small, label %release, label %lock
lock:
  %locked = call i1 @blocks_lock()
  br i1 %locked, label %try, label %release
try:
  %kept = call i1 @blocks_keep(ptr %block, i64 %bytes)
  store atomic i32 0, ptr @blocks_busy release, align 4
  br i1 %kept, label %out, label %release
release:
  %start = getelementptr i8, ptr %block, i64 %half
  call void @free(ptr %start)
  br label %out
out:
  ret void
}

; NumPy's allocator functions (NEP 49), for large outputs: the first argument is unused.
define ptr @tx_numpy_malloc(ptr %unused, i64 %bytes) #2 {
  %user = call ptr @tx_alloc(i64 %bytes)
  ret ptr %user
}

define ptr @tx_numpy_calloc(ptr %unused, i64 %count, i64 %item) #2 {
entry:
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %item)
  %bytes = extractvalue { i64, i1 } %product, 0
  %wrapped = extractvalue { i64, i1 } %product, 1
  br i1 %wrapped, label %none, label %allocate
allocate:
  %user = call ptr @tx_alloc(i64 %bytes)
  %failed = icmp eq ptr %user, null
  br i1 %failed, label %none, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %user, i8 0, i64 %bytes, i1 false)
  ret ptr %user
none:
  ret ptr null
}

define ptr @tx_numpy_realloc(ptr %unused, ptr %old, i64 %bytes) #2 {
entry:
  %user = call ptr @tx_alloc(i64 %bytes)
  %failed = icmp eq ptr %user, null
  %nothing = icmp eq ptr %old, null
  %no.copy = or i1 %failed, %nothing
  br i1 %no.copy, label %out, label %copy
copy:
  %block = getelementptr i8, ptr %old, i64 -64
  %size = load i64, ptr %block
  %have = sub i64 %size, 64
  %shrinks = icmp ult i64 %bytes, %have
  %common = select i1 %shrinks, i64 %bytes, i64 %have
  call void @llvm.memcpy.p0.p0.i64(ptr %user, ptr %old, i64 %common, i1 false)
  call void @tx_free(ptr %old)
  br label %out
out:
  ret ptr %user
}

define void @tx_numpy_free(ptr %unused, ptr %user, i64 %bytes) #2 {
  call void @tx_free(ptr %user)
  ret void
}

; Refuse requests above `limit` bytes; keep at most `kept` bytes of freed blocks.
define void @tx_set_memory(i64 %limit, i64 %kept) #2 {
  store i64 %limit, ptr @memory_limit
  store i64 %kept, ptr @blocks_limit
  ret void
}

; If the fork came while another thread changed the table, the table is lost (the blocks leak in the child).
define internal void @memory_after_fork() #2 {
entry:
  %busy = load i32, ptr @blocks_busy
  %torn = icmp ne i32 %busy, 0
  br i1 %torn, label %forget, label %out
forget:
  call void @llvm.memset.p0.i64(ptr @blocks, i8 0, i64 256, i1 false)
  store i64 0, ptr @blocks_bytes
  store i32 0, ptr @blocks_busy
  br label %out
out:
  ret void
}

; After a fork, in the child.
define void @tx_after_fork() #2 {
  call void @pool_after_fork()
  call void @interrupts_after_fork()
  call void @memory_after_fork()
  ret void
}
