; A fork/join pool of threads.
;
;   tx_parallel(fn, context, n): calls fn(context, lo, hi) on disjoint ranges that cover 0..n, on the caller and on the workers.
;
; The range is cut into one queue per thread, each queue into chunks. A thread empties its own queue first (so that the same thread
; sees the same data in region after region), then helps with the others. Which thread runs a chunk never changes what is computed.
;
; Workers join a region if they wake in time; nobody waits for one that sleeps. A region is: publish the job, open @pool_state, bump
; @pool_wake, work, close, wait until nobody is inside. @pool_state counts the workers inside and holds two flags.
; The pool serves one region at a time: a nested call, or one from another Python thread meanwhile, runs its range itself.

%pool.job = type { ptr, ptr, i64, i64 }                   ; fn, context, iterations of a chunk, threads
%pool.queue = type { i64, i64, [6 x i64] }                ; next iteration, end; a cache line each

@pool_busy = internal global i32 0, align 64
@pool_state = internal global i32 0, align 64
@pool_wake = internal global i32 0, align 64              ; counts regions; idle workers watch it
@pool_sleepers = internal global i32 0, align 64
@pool_job = internal global %pool.job zeroinitializer, align 64
@pool_queues = internal global [256 x %pool.queue] zeroinitializer, align 64
@pool_threads = internal global i64 1, align 64           ; wanted, the caller included
@pool_workers = internal global i64 0                     ; started
@pool_thread_ids = internal global [256 x i32] zeroinitializer
@pool_last_cpu = internal global i32 -1

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i64 @syscall(i64, ...)
declare i32 @sched_yield()
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i32 @clock_gettime(i32, ptr)

define internal i64 @nanoseconds() #1 {
  %time = alloca { i64, i64 }
  %ignored = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %fraction.at = getelementptr { i64, i64 }, ptr %time, i64 0, i32 1
  %fraction = load i64, ptr %fraction.at
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %fraction
  ret i64 %all
}

; Spin for about 100 us while the word keeps its value; true if it changed.
define internal i1 @spin_while(ptr %word, i32 %value) #0 {
entry:
  br label %look
look:
  %round = phi i64 [ 0, %entry ], [ %round.next, %pause ]
  %deadline = phi i64 [ 0, %entry ], [ %deadline.next, %pause ]
  %now = load atomic i32, ptr %word acquire, align 4
  %changed = icmp ne i32 %now, %value
  br i1 %changed, label %yes, label %wait
wait:
  call void @$PAUSE
  %round.next = add i64 %round, 1
  %low = and i64 %round.next, 255
  %due = icmp eq i64 %low, 0
  br i1 %due, label %check, label %pause
check:
  %yielded = call i32 @sched_yield()
  %time = call i64 @nanoseconds()
  %first = icmp eq i64 %deadline, 0
  %start = add i64 %time, 100000
  %until = select i1 %first, i64 %start, i64 %deadline
  %late = icmp sgt i64 %time, %until
  br i1 %late, label %no, label %pause
pause:
  %deadline.next = phi i64 [ %deadline, %wait ], [ %until, %check ]
  br label %look
yes:
  ret i1 true
no:
  ret i1 false
}

; Run chunks until all queues are empty, beginning with queue `home`. No chunk is left out, whatever happens: one that finds
; @tx_interrupted set says so in its context, and the kernel looks there.
define internal void @pool_drain(i64 %home) #0 {
entry:
  %fn = load ptr, ptr @pool_job
  %context = load ptr, ptr getelementptr (%pool.job, ptr @pool_job, i64 0, i32 1)
  %chunk = load i64, ptr getelementptr (%pool.job, ptr @pool_job, i64 0, i32 2)
  %threads = load i64, ptr getelementptr (%pool.job, ptr @pool_job, i64 0, i32 3)
  br label %queue
queue:
  %visited = phi i64 [ 0, %entry ], [ %visited.next, %empty ]
  %place = add i64 %home, %visited
  %index = urem i64 %place, %threads
  %next.at = getelementptr [256 x %pool.queue], ptr @pool_queues, i64 0, i64 %index, i32 0
  %end.at = getelementptr [256 x %pool.queue], ptr @pool_queues, i64 0, i64 %index, i32 1
  %end = load i64, ptr %end.at
  br label %peek
peek:                                                     ; a plain look first keeps empty queues' lines shared
  %seen = load atomic i64, ptr %next.at monotonic, align 8
  %left = icmp slt i64 %seen, %end
  br i1 %left, label %take, label %empty
take:
  %lo = atomicrmw add ptr %next.at, i64 %chunk monotonic
  %got = icmp slt i64 %lo, %end
  br i1 %got, label %limit, label %empty
limit:
  %past = add i64 %lo, %chunk
  %short = icmp slt i64 %past, %end
  %hi = select i1 %short, i64 %past, i64 %end
  call void %fn(ptr %context, i64 %lo, i64 %hi)
  br label %peek
empty:
  %visited.next = add i64 %visited, 1
  %more = icmp slt i64 %visited.next, %threads
  br i1 %more, label %queue, label %out
out:
  ret void
}

; Enter the open region, if there is one with room; true if inside.
define internal i1 @pool_join() #1 {
entry:
  br label %try
try:
  %state = load atomic i32, ptr @pool_state acquire, align 4
  %open = and i32 %state, 1073741824
  %closed = icmp eq i32 %open, 0
  br i1 %closed, label %no, label %enter
enter:
  %more = add i32 %state, 1
  %swap = cmpxchg ptr @pool_state, i32 %state, i32 %more acq_rel acquire
  %in = extractvalue { i32, i1 } %swap, 1
  br i1 %in, label %count, label %try
count:                                                    ; the job may be read now that the caller has to wait for us
  %threads = load i64, ptr getelementptr (%pool.job, ptr @pool_job, i64 0, i32 3)
  %inside = and i32 %more, 65535
  %inside.wide = zext i32 %inside to i64
  %room = icmp slt i64 %inside.wide, %threads
  br i1 %room, label %yes, label %leave
yes:
  ret i1 true
leave:
  call void @pool_leave()
  br label %no
no:
  ret i1 false
}

define internal void @pool_leave() #0 {
  %before = atomicrmw sub ptr @pool_state, i32 1 acq_rel
  %awaited = icmp eq i32 %before, 536870913               ; the last one, and the caller sleeps
  br i1 %awaited, label %wake, label %out
wake:
  %ignored = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr @pool_state, i32 129, i32 1, ptr null, ptr null, i32 0)
  br label %out
out:
  ret void
}

define internal ptr @pool_worker(ptr %argument) #0 {
entry:
  %id = ptrtoint ptr %argument to i64
  %thread = call i64 (i64, ...) @syscall(i64 $GETTID)
  %thread.short = trunc i64 %thread to i32
  %thread.at = getelementptr [256 x i32], ptr @pool_thread_ids, i64 0, i64 %id
  store atomic i32 %thread.short, ptr %thread.at release, align 4
  br label %idle
idle:
  %last = phi i32 [ 0, %entry ], [ %seen, %region ], [ %seen, %leave ]
  %changed = call i1 @spin_while(ptr @pool_wake, i32 %last)
  br i1 %changed, label %region, label %doze
doze:
  %one.more = atomicrmw add ptr @pool_sleepers, i32 1 seq_cst
  br label %sleep
sleep:
  %ignored = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr @pool_wake, i32 128, i32 %last, ptr null, ptr null, i32 0)
  %now = load atomic i32, ptr @pool_wake acquire, align 4
  %same = icmp eq i32 %now, %last
  br i1 %same, label %sleep, label %awake
awake:
  %one.less = atomicrmw sub ptr @pool_sleepers, i32 1 seq_cst
  br label %region
region:
  %seen = load atomic i32, ptr @pool_wake acquire, align 4
  %inside = call i1 @pool_join()
  br i1 %inside, label %work, label %idle
work:
  %threads = load i64, ptr getelementptr (%pool.job, ptr @pool_job, i64 0, i32 3)
  %home = urem i64 %id, %threads
  call void @pool_drain(i64 %home)
  br label %leave
leave:
  call void @pool_leave()
  br label %idle
}

; Start workers until there are `wanted`. They take no signals: those belong to Python's threads. Returns how many there are.
define internal i64 @pool_start(i64 %wanted) #2 {
entry:
  %handle = alloca i64
  %all = alloca [128 x i8]
  %old = alloca [128 x i8]
  %started = load i64, ptr @pool_workers
  %enough = icmp sge i64 %started, %wanted
  br i1 %enough, label %done, label %begin
begin:
  %filled = call i32 @sigfillset(ptr %all)
  %masked = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)
  br label %loop
loop:
  %count = phi i64 [ %started, %begin ], [ %id, %next ]
  %missing = icmp slt i64 %count, %wanted
  br i1 %missing, label %create, label %end
create:
  %id = add i64 %count, 1
  %argument = inttoptr i64 %id to ptr
  %failed = call i32 @pthread_create(ptr %handle, ptr null, ptr @pool_worker, ptr %argument)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %next, label %end
next:
  %created = load i64, ptr %handle
  %detached = call i32 @pthread_detach(i64 %created)
  br label %loop
end:
  store i64 %count, ptr @pool_workers
  %restored = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  br label %done
done:
  %result = phi i64 [ %started, %entry ], [ %count, %end ]
  ret i64 %result
}

; Linux likes to wake a thread on the CPU of whoever wakes it, where it waits for a time slice (0.5 to 1 ms). So before a wake-up the
; workers are kept off the caller's CPU. Only the workers' own affinity is touched, and always a part of what the caller may use.
define internal void @pool_make_way(i64 %workers) #2 {
entry:
  %mask = alloca [128 x i8], align 8
  %cpu = call i32 @sched_getcpu()
  %last = load i32, ptr @pool_last_cpu
  %same = icmp eq i32 %cpu, %last
  %odd = icmp uge i32 %cpu, 1024                          ; unknown (-1), or beyond the mask
  %leave = or i1 %same, %odd
  br i1 %leave, label %out, label %read
read:
  store i32 %cpu, ptr @pool_last_cpu
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr %mask)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %clear, label %out
clear:
  %cpu.wide = zext i32 %cpu to i64
  %byte = lshr i64 %cpu.wide, 3
  %bit = and i32 %cpu, 7
  %one = shl i32 1, %bit
  %keep.wide = xor i32 %one, 255
  %keep = trunc i32 %keep.wide to i8
  %byte.at = getelementptr i8, ptr %mask, i64 %byte
  %before = load i8, ptr %byte.at
  %after = and i8 %before, %keep
  store i8 %after, ptr %byte.at
  br label %loop
loop:                                                     ; an empty mask is refused by the kernel: nothing changes then
  %id = phi i64 [ 1, %clear ], [ %id.next, %skip ]
  %beyond = icmp sgt i64 %id, %workers
  br i1 %beyond, label %out, label %set
set:
  %thread.at = getelementptr [256 x i32], ptr @pool_thread_ids, i64 0, i64 %id
  %thread = load atomic i32, ptr %thread.at acquire, align 4
  %known = icmp ne i32 %thread, 0
  br i1 %known, label %move, label %skip
move:
  %ignored = call i32 @sched_setaffinity(i32 %thread, i64 128, ptr %mask)
  br label %skip
skip:
  %id.next = add i64 %id, 1
  br label %loop
out:
  ret void
}

; Cut 0..n into one queue per thread.
define internal void @pool_deal(i64 %n, i64 %threads) #1 {
entry:
  %base = udiv i64 %n, %threads
  %rest = urem i64 %n, %threads
  br label %loop
loop:
  %index = phi i64 [ 0, %entry ], [ %index.next, %loop ]
  %start = phi i64 [ 0, %entry ], [ %end, %loop ]
  %longer = icmp slt i64 %index, %rest
  %extra = zext i1 %longer to i64
  %length = add i64 %base, %extra
  %end = add i64 %start, %length
  %next.at = getelementptr [256 x %pool.queue], ptr @pool_queues, i64 0, i64 %index, i32 0
  %end.at = getelementptr [256 x %pool.queue], ptr @pool_queues, i64 0, i64 %index, i32 1
  store i64 %start, ptr %next.at
  store i64 %end, ptr %end.at
  %index.next = add i64 %index, 1
  %more = icmp slt i64 %index.next, %threads
  br i1 %more, label %loop, label %out
out:
  ret void
}

; Close the region and wait until nobody is inside: spin first, then sleep.
define internal void @pool_finish() #1 {
entry:
  %closed = atomicrmw and ptr @pool_state, i32 -1073741825 acq_rel
  br label %look
look:
  %state = load atomic i32, ptr @pool_state acquire, align 4
  %inside = and i32 %state, 65535
  %empty = icmp eq i32 %inside, 0
  br i1 %empty, label %out, label %spin
spin:
  %changed = call i1 @spin_while(ptr @pool_state, i32 %state)
  br i1 %changed, label %look, label %sleep
sleep:
  %waiting = or i32 %state, 536870912
  %swap = cmpxchg ptr @pool_state, i32 %state, i32 %waiting seq_cst seq_cst
  %ok = extractvalue { i32, i1 } %swap, 1
  br i1 %ok, label %wait, label %look
wait:
  %ignored = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr @pool_state, i32 128, i32 %waiting, ptr null, ptr null, i32 0)
  br label %look
out:
  ret void
}

define internal void @pool_region(ptr %fn, ptr %context, i64 %n, i64 %threads) #0 {
entry:
  store ptr %fn, ptr @pool_job
  store ptr %context, ptr getelementptr (%pool.job, ptr @pool_job, i64 0, i32 1)
  %pieces = mul i64 %threads, 8
  %whole = udiv i64 %n, %pieces
  %chunk = add i64 %whole, 1
  store i64 %chunk, ptr getelementptr (%pool.job, ptr @pool_job, i64 0, i32 2)
  store i64 %threads, ptr getelementptr (%pool.job, ptr @pool_job, i64 0, i32 3)
  call void @pool_deal(i64 %n, i64 %threads)
  store atomic i32 1073741824, ptr @pool_state release, align 4
  %count = atomicrmw add ptr @pool_wake, i32 1 seq_cst
  %sleepers = load atomic i32, ptr @pool_sleepers seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  br i1 %asleep, label %wake, label %work
wake:
  %workers = load i64, ptr @pool_workers
  call void @pool_make_way(i64 %workers)
  %others.wide = sub i64 %threads, 1
  %others = trunc i64 %others.wide to i32
  %ignored = call i64 (i64, ...) @syscall(i64 $FUTEX, ptr @pool_wake, i32 129, i32 %others, ptr null, ptr null, i32 0)
  br label %work
work:
  call void @pool_drain(i64 0)
  call void @pool_finish()
  ret void
}

define void @tx_parallel(ptr %fn, ptr %context, i64 %n) #0 {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %size, label %out
size:
  %wanted = load atomic i64, ptr @pool_threads monotonic, align 8
  %fewer = icmp slt i64 %n, %wanted
  %useful = select i1 %fewer, i64 %n, i64 %wanted
  %single = icmp slt i64 %useful, 2
  br i1 %single, label %serial, label %lock
lock:
  %swap = cmpxchg ptr @pool_busy, i32 0, i32 1 acquire monotonic
  %locked = extractvalue { i32, i1 } %swap, 1
  br i1 %locked, label %start, label %serial
start:
  %workers.wanted = sub i64 %wanted, 1
  %workers = call i64 @pool_start(i64 %workers.wanted)
  %available = add i64 %workers, 1
  %scarce = icmp slt i64 %available, %useful
  %threads = select i1 %scarce, i64 %available, i64 %useful
  %alone = icmp slt i64 %threads, 2
  br i1 %alone, label %unlock.serial, label %region
region:
  call void @pool_region(ptr %fn, ptr %context, i64 %n, i64 %threads)
  store atomic i32 0, ptr @pool_busy release, align 4
  br label %out
unlock.serial:
  store atomic i32 0, ptr @pool_busy release, align 4
  br label %serial
serial:
  call void %fn(ptr %context, i64 0, i64 %n)
  br label %out
out:
  ret void
}

; Use `threads` threads, the caller included, from the next region on. 1 to 256.
define void @tx_set_threads(i64 %threads) #2 {
  store atomic i64 %threads, ptr @pool_threads monotonic, align 8
  store i32 -1, ptr @pool_last_cpu
  ret void
}

; In a forked child only the forking thread lives on: forget the workers, and whatever was going on.
define internal void @pool_after_fork() #2 {
  store i32 0, ptr @pool_busy
  store i32 0, ptr @pool_state
  store i32 0, ptr @pool_wake
  store i32 0, ptr @pool_sleepers
  store i64 0, ptr @pool_workers
  store i32 -1, ptr @pool_last_cpu
  call void @llvm.memset.p0.i64(ptr @pool_thread_ids, i8 0, i64 1024, i1 false)
  ret void
}
