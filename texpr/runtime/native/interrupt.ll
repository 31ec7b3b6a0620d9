; Ctrl-C in a running kernel.
;
; Kernels poll @tx_interrupted and return 1 when it is not 0. Its low half is that flag, its high half counts the kernels that run.
; Both change in one atomic step, so the flag stays up until the last kernel that could have seen it has returned, or until someone holds
; (below). What a kernel saw of it in a parallel loop is in its result: it does not look again. A kernel stopped by a signal that was not
; meant for it is simply run again (kernels do not modify their inputs; those of a plan that do are run again from the first one on, or
; while Ctrl-C is held). The flag goes up only while the main thread is inside a kernel: otherwise Python's own handling is at once. Calls
; of long kernels that are brief at their sizes are not counted: what such a one saw of the flag is in its result, and it is run again as a
; long one.
;
; What must not be left half done is done between @tx_hold and @tx_release: meanwhile the flag is down, and a signal waits. The high half of
; the word counts, above the kernels, who holds, and notes in its last two bits what waits: the flag, if it was up, and a signal of which
; Python does not know yet. Whoever lets go last sends that to the main thread once more, which may be waiting for something else.

@tx_interrupted = global i64 0, align 64
@main_thread = internal global i64 0
@main_inside = internal global i32 0                      ; the main thread is inside a kernel
@python_handler = internal global ptr null                ; what was installed for SIGINT before ours
@last_look = internal global i64 0

declare i32 @sigaction(i32, ptr, ptr)
@_Py_NoneStruct = external global i8
declare i64 @pthread_self()
declare i32 @pthread_kill(i64, i32)

; The handler: Python's first, which notes the signal, then the flag, so that whoever sees the flag finds the note.
define internal void @on_interrupt(i32 %signal, ptr %info, ptr %machine) #2 {
entry:
  %waits = call i1 @note_if_held(i64 -9223372036854775808)
  br i1 %waits, label %out, label %now
now:
  %python = load atomic ptr, ptr @python_handler monotonic, align 8
  call void %python(i32 %signal, ptr %info, ptr %machine)
  %inside = load atomic i32, ptr @main_inside seq_cst, align 4
  %running = icmp ne i32 %inside, 0
  br i1 %running, label %raise, label %out
raise:
  %later = call i1 @note_if_held(i64 4611686018427387904)
  br i1 %later, label %out, label %try
try:
  %word = load atomic i64, ptr @tx_interrupted seq_cst, align 8
  %held = call i1 @is_held(i64 %word)
  br i1 %held, label %raise, label %up
up:
  %flagged = or i64 %word, 1
  %swap = cmpxchg ptr @tx_interrupted, i64 %word, i64 %flagged seq_cst seq_cst
  %done = extractvalue { i64, i1 } %swap, 1
  br i1 %done, label %out, label %try
out:
  ret void
}

define internal i1 @is_held(i64 %word) #1 {
  %holders = and i64 %word, 4611404543450677248           ; bits 48 to 61
  %held = icmp ne i64 %holders, 0
  ret i1 %held
}

; Note that something waits, if someone holds.
define internal i1 @note_if_held(i64 %what) #2 {
entry:
  br label %try
try:
  %word = load atomic i64, ptr @tx_interrupted seq_cst, align 8
  %held = call i1 @is_held(i64 %word)
  br i1 %held, label %note, label %out
note:
  %noted = or i64 %word, %what
  %swap = cmpxchg ptr @tx_interrupted, i64 %word, i64 %noted seq_cst seq_cst
  %done = extractvalue { i64, i1 } %swap, 1
  br i1 %done, label %out, label %try
out:
  ret i1 %held
}

; A METH_NOARGS function: from now on Ctrl-C waits. What came before is raised here, and then nothing is held.
define ptr @tx_hold(ptr %self, ptr %nothing) #0 {
entry:
  call void @tx_watch_interrupts()                        ; Python's handler may be a moment old
  br label %try
try:                                                      ; kernels that saw the flag say so in their results and are run again
  %word = load atomic i64, ptr @tx_interrupted seq_cst, align 8
  %flag = and i64 %word, 1
  %down = xor i64 %word, %flag
  %waiting = shl i64 %flag, 62
  %noted = or i64 %down, %waiting
  %next = add i64 %noted, 281474976710656
  %swap = cmpxchg ptr @tx_interrupted, i64 %word, i64 %next seq_cst seq_cst
  %in = extractvalue { i64, i1 } %swap, 1
  br i1 %in, label %signals, label %try
signals:
  %raised = call i32 @PyErr_CheckSignals()
  %quiet = icmp eq i32 %raised, 0
  br i1 %quiet, label %out, label %failed
failed:
  call void @let_go()
  ret ptr null
out:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}

; A METH_FASTCALL function, of what `__exit__` is given: the end of that, where what came meanwhile is raised. After a fork nobody holds.
define ptr @tx_release(ptr %self, ptr %arguments, i64 %count) #0 {
entry:
  call void @let_go()
  %raised = call i32 @PyErr_CheckSignals()
  %quiet = icmp eq i32 %raised, 0
  br i1 %quiet, label %out, label %failed
failed:
  ret ptr null
out:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}

define internal void @let_go() #0 {
entry:
  br label %try
try:
  %word = load atomic i64, ptr @tx_interrupted seq_cst, align 8
  %held = call i1 @is_held(i64 %word)
  br i1 %held, label %let.go, label %out
let.go:
  %less = sub i64 %word, 281474976710656
  %others = call i1 @is_held(i64 %less)
  %clean = and i64 %less, 4611686018427387903
  %inside = load atomic i32, ptr @main_inside seq_cst, align 4
  %inside.wide = zext i32 %inside to i64
  %waiting = lshr i64 %less, 62
  %flag = and i64 %waiting, %inside.wide                  ; without a kernel of the main thread the flag is for nobody
  %again = or i64 %clean, %flag
  %next = select i1 %others, i64 %less, i64 %again
  %swap = cmpxchg ptr @tx_interrupted, i64 %word, i64 %next seq_cst seq_cst
  %done = extractvalue { i64, i1 } %swap, 1
  br i1 %done, label %tell, label %try
tell:
  %signal = icmp slt i64 %less, 0
  %mine = xor i1 %others, true
  %send = and i1 %signal, %mine
  br i1 %send, label %again.signal, label %out
again.signal:
  %main = load i64, ptr @main_thread
  %ignored = call i32 @pthread_kill(i64 %main, i32 2)
  br label %out
out:
  ret void
}

; Put our handler in front of Python's, if Python's is in place. `signal.signal` takes it away; the next long kernel puts it back.
; SIG_DFL, SIG_IGN and handlers of other libraries are left alone. (The handler is the first word of `struct sigaction`.)
define void @tx_watch_interrupts() #2 {
entry:
  %action = alloca [256 x i8], align 16
  %failed = call i32 @sigaction(i32 2, ptr null, ptr %action)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %compare, label %out
compare:
  %current = load ptr, ptr %action
  %known = load ptr, ptr @python_handler
  %first = icmp eq ptr %known, null
  %again = icmp eq ptr %current, %known
  %address = ptrtoint ptr %current to i64
  %real = icmp ugt i64 %address, 1                        ; neither SIG_DFL nor SIG_IGN
  %right = or i1 %first, %again
  %install = and i1 %right, %real
  br i1 %install, label %replace, label %out
replace:
  store atomic ptr %current, ptr @python_handler monotonic, align 8
  store ptr @on_interrupt, ptr %action
  %ignored = call i32 @sigaction(i32 2, ptr %action, ptr null)
  br label %out
out:
  ret void
}

; A system call per kernel would be too much: look again when about 20 us have passed.
define internal void @watch_again() #0 {
  %now = call i64 @$COUNTER
  %last = load i64, ptr @last_look
  %passed = sub i64 %now, %last
  %due = icmp ugt i64 %passed, $TICKS
  br i1 %due, label %look, label %out
look:
  store i64 %now, ptr @last_look
  call void @tx_watch_interrupts()
  br label %out
out:
  ret void
}

; A kernel begins. Other threads than the main one first let the interrupted ones drain.
define internal void @kernel_enter(i1 %main) #1 {
entry:
  br label %try
try:
  %word = load atomic i64, ptr @tx_interrupted seq_cst, align 8
  %flag = and i64 %word, 1
  %up = icmp ne i64 %flag, 0
  %count = lshr i64 %word, 32
  %busy = icmp ne i64 %count, 0
  %drain = and i1 %up, %busy
  %other = xor i1 %main, true
  %wait = and i1 %drain, %other
  br i1 %wait, label %yield, label %enter
yield:
  %yielded = call i32 @sched_yield()
  br label %try
enter:                                                    ; a flag that is up while nothing runs is stale, except to the main thread
  %stale = and i1 %up, %other
  %cleared = and i64 %word, -4294967296
  %base = select i1 %stale, i64 %cleared, i64 %word
  %next = add i64 %base, 4294967296
  %swap = cmpxchg ptr @tx_interrupted, i64 %word, i64 %next seq_cst seq_cst
  %in = extractvalue { i64, i1 } %swap, 1
  br i1 %in, label %out, label %try
out:
  ret void
}

; A kernel has returned; the last one takes the flag down.
define internal void @kernel_leave() #1 {
entry:
  br label %try
try:
  %word = load atomic i64, ptr @tx_interrupted seq_cst, align 8
  %less = sub i64 %word, 4294967296
  %last = icmp ult i64 %less, 4294967296
  %next = select i1 %last, i64 0, i64 %less
  %swap = cmpxchg ptr @tx_interrupted, i64 %word, i64 %next seq_cst seq_cst
  %done = extractvalue { i64, i1 } %swap, 1
  br i1 %done, label %out, label %try
out:
  ret void
}

; `thread` is the main thread's pthread_t, as `threading.main_thread().ident` has it.
define void @tx_set_main_thread(i64 %thread) #2 {
  store i64 %thread, ptr @main_thread
  ret void
}

define internal void @interrupts_after_fork() #2 {
  %self = call i64 @pthread_self()
  store i64 %self, ptr @main_thread
  store i32 0, ptr @main_inside
  store i64 0, ptr @tx_interrupted
  ret void
}
