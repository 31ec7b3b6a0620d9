; library.c for aarch64: written by scripts/native.py, not to be edited.
; clang 19.1.7 -std=c11 -ffreestanding -O2 -Wall -Wextra -Werror -Wno-unused-function -fwrapv -fno-strict-aliasing -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -fPIC -fno-stack-protector -fno-asynchronous-unwind-tables -fomit-frame-pointer -fno-discard-value-names
; sources b5133188e8995797907528d974ce715982e2d09427688d861bfacb0bd29928a2
source_filename = "library.c"
target datalayout = "e-m:e-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32"
target triple = "aarch64-unknown-linux-gnu"

%struct.PyObject = type { i64, ptr }
%struct.Job = type { ptr, ptr, i64, i64 }
%struct.Queue = type { i64, i64, [48 x i8] }
%struct.anon = type { i64, i64 }
%struct.BitSet = type { [128 x i8] }
%union.SigAction = type { ptr, [248 x i8] }
%struct.TimeSpec = type { i64, i64 }
%union.Slot = type { ptr }
%struct.ValueCheck = type { i64, ptr, %struct.Bound, %struct.Bound }
%struct.Bound = type { i64, i64 }
%union.Number = type { i64 }
%struct.Launch = type { ptr, ptr }
%struct.Patch = type { i64, i64, ptr }
%struct.Sweep = type { ptr, i32 }
%struct.Constant = type { ptr, ptr }
%struct.Element4 = type { i32 }
%struct.Element8 = type { i64 }

@pool_threads = internal unnamed_addr global i64 1, align 64
@pool_workers = internal unnamed_addr global i64 0, align 8
@pool_last_cpu = internal unnamed_addr global i32 -1, align 4
@python_handler = internal unnamed_addr global ptr null, align 8
@tx_interrupted = global i64 0, align 64
@main_thread = internal unnamed_addr global i64 0, align 8
@memory_limit = internal unnamed_addr global i64 140737488355328, align 8
@blocks_limit = internal unnamed_addr global i64 0, align 8
@guard_front = internal unnamed_addr global i64 0, align 8
@PyTuple_Type = external global %struct.PyObject, align 8
@_Py_NoneStruct = external global %struct.PyObject, align 8
@.str = private unnamed_addr constant [9 x i8] c"dltensor\00", align 1
@pool_job = internal global %struct.Job zeroinitializer, align 64
@pool_busy = internal global i32 0, align 64
@pool_thread_ids = internal unnamed_addr global [256 x i32] zeroinitializer, align 4
@pool_wake = internal global i32 0, align 64
@pool_sleepers = internal global i32 0, align 64
@pool_state = internal global i32 0, align 64
@pool_queues = internal global [256 x %struct.Queue] zeroinitializer, align 64
@main_inside = internal unnamed_addr global i32 0, align 4
@blocks_busy = internal global i32 0, align 4
@blocks = internal unnamed_addr global [32 x ptr] zeroinitializer, align 64
@blocks_bytes = internal unnamed_addr global i64 0, align 8
@python_tuple_items = external local_unnamed_addr constant i64, align 8
@python_bytes_data = external local_unnamed_addr constant i64, align 8
@PyFloat_Type = external global %struct.PyObject, align 8
@PyLong_Type = external global %struct.PyObject, align 8
@_Py_TrueStruct = external global %struct.PyObject, align 8
@kind_limits = internal unnamed_addr constant [10 x %struct.anon] [%struct.anon zeroinitializer, %struct.anon zeroinitializer, %struct.anon { i64 -128, i64 127 }, %struct.anon { i64 -32768, i64 32767 }, %struct.anon { i64 -2147483648, i64 2147483647 }, %struct.anon { i64 -9223372036854775808, i64 9223372036854775807 }, %struct.anon { i64 0, i64 255 }, %struct.anon { i64 0, i64 65535 }, %struct.anon { i64 0, i64 4294967295 }, %struct.anon { i64 0, i64 9223372036854775807 }], align 8
@last_look = internal unnamed_addr global i64 0, align 8
@python_tuple_hash = external local_unnamed_addr constant i64, align 8
@llvm.compiler.used = appending global [1 x ptr] [ptr @pool_job], section "llvm.metadata"

; Function Attrs: noinline nounwind
define void @tx_parallel(ptr noundef %function, ptr noundef %context, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %cmp = icmp slt i64 %n, 1
  br i1 %cmp, label %cleanup.cont28, label %if.end

if.end:
  %0 = load atomic i64, ptr @pool_threads monotonic, align 64
  %cond = tail call i64 @llvm.smin.i64(i64 %0, i64 %n)
  %cmp2 = icmp sgt i64 %cond, 1
  br i1 %cmp2, label %land.lhs.true, label %if.end24

land.lhs.true:
  %1 = cmpxchg ptr @pool_busy, i32 0, i32 1 acquire monotonic, align 64
  %2 = extractvalue { i32, i1 } %1, 1
  br i1 %2, label %if.then3, label %if.end24

if.then3:
  %3 = load i64, ptr @pool_workers, align 8
  %sub = add i64 %0, -1
  %cmp4 = icmp slt i64 %3, %sub
  br i1 %cmp4, label %cond.true5, label %cond.end9

cond.true5:
  %call7 = tail call fastcc i64 @pool_start_workers(i64 noundef %sub) #17
  br label %cond.end9

cond.end9:
  %cond10 = phi i64 [ %call7, %cond.true5 ], [ %3, %if.then3 ]
  %add = add i64 %cond10, 1
  %cond16 = tail call i64 @llvm.smin.i64(i64 %add, i64 %cond)
  %cmp17 = icmp slt i64 %cond16, 2
  br i1 %cmp17, label %if.end24.critedge, label %if.then18

if.then18:
  tail call fastcc void @pool_region(ptr noundef %function, ptr noundef %context, i64 noundef %n, i64 noundef %cond16) #17
  store atomic i32 0, ptr @pool_busy release, align 64
  br label %cleanup.cont28

if.end24.critedge:
  store atomic i32 0, ptr @pool_busy release, align 64
  br label %if.end24

if.end24:
  tail call void %function(ptr noundef %context, i64 noundef 0, i64 noundef %n) #18
  br label %cleanup.cont28

cleanup.cont28:
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: noinline nounwind
define internal fastcc i64 @pool_start_workers(i64 noundef %wanted) unnamed_addr #0 {
entry:
  %all = alloca %struct.BitSet, align 8
  %old = alloca %struct.BitSet, align 8
  %thread = alloca i64, align 8
  call void @llvm.lifetime.start.p0(i64 128, ptr nonnull %all) #14
  call void @llvm.lifetime.start.p0(i64 128, ptr nonnull %old) #14
  %call = call i32 @sigfillset(ptr noundef nonnull %all) #18
  %call1 = call i32 @pthread_sigmask(i32 noundef 2, ptr noundef nonnull %all, ptr noundef nonnull %old) #18
  %.old = load i64, ptr @pool_workers, align 8
  %cmp.old = icmp slt i64 %.old, %wanted
  br i1 %cmp.old, label %while.body, label %while.end

while.body:
  %0 = phi i64 [ %inc, %cleanup ], [ %.old, %entry ]
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %thread) #14
  %add = add nsw i64 %0, 1
  %1 = inttoptr i64 %add to ptr
  %call2 = call i32 @pthread_create(ptr noundef nonnull %thread, ptr noundef null, ptr noundef nonnull @pool_worker, ptr noundef %1) #18
  %tobool.not = icmp eq i32 %call2, 0
  br i1 %tobool.not, label %cleanup, label %cleanup.thread

cleanup.thread:
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %thread) #14
  br label %while.end

cleanup:
  %2 = load i64, ptr %thread, align 8
  %call3 = call i32 @pthread_detach(i64 noundef %2) #18
  %3 = load i64, ptr @pool_workers, align 8
  %inc = add i64 %3, 1
  store i64 %inc, ptr @pool_workers, align 8
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %thread) #14
  %cmp = icmp slt i64 %inc, %wanted
  br i1 %cmp, label %while.body, label %while.end

while.end:
  %call4 = call i32 @pthread_sigmask(i32 noundef 2, ptr noundef nonnull %old, ptr noundef null) #18
  %4 = load i64, ptr @pool_workers, align 8
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %old) #14
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %all) #14
  ret i64 %4
}

; Function Attrs: noinline nounwind
define internal fastcc void @pool_region(ptr noundef %function, ptr noundef %context, i64 noundef %n, i64 noundef %threads) unnamed_addr #0 {
entry:
  %mul = shl i64 %threads, 3
  %div = sdiv i64 %n, %mul
  %add = add i64 %div, 1
  store ptr %function, ptr @pool_job, align 64
  store ptr %context, ptr getelementptr inbounds (i8, ptr @pool_job, i64 8), align 8
  store i64 %add, ptr getelementptr inbounds (i8, ptr @pool_job, i64 16), align 16
  store i64 %threads, ptr getelementptr inbounds (i8, ptr @pool_job, i64 24), align 8
  %div.i = sdiv i64 %n, %threads
  %0 = mul i64 %div.i, %threads
  %rem.i.decomposed = sub i64 %n, %0
  %cmp.i12 = icmp sgt i64 %threads, 0
  br i1 %cmp.i12, label %for.body.i, label %pool_fill_queues.exit

for.body.i:
  %start.0.i14 = phi i64 [ %add3.i, %for.body.i ], [ 0, %entry ]
  %k.0.i13 = phi i64 [ %inc.i, %for.body.i ], [ 0, %entry ]
  %add.i = add i64 %start.0.i14, %div.i
  %cmp1.i = icmp slt i64 %k.0.i13, %rem.i.decomposed
  %conv2.i = zext i1 %cmp1.i to i64
  %add3.i = add i64 %add.i, %conv2.i
  %arrayidx.i = getelementptr [256 x %struct.Queue], ptr @pool_queues, i64 0, i64 %k.0.i13
  store atomic i64 %start.0.i14, ptr %arrayidx.i monotonic, align 64
  %end5.i = getelementptr inbounds i8, ptr %arrayidx.i, i64 8
  store i64 %add3.i, ptr %end5.i, align 8
  %inc.i = add nuw nsw i64 %k.0.i13, 1
  %exitcond.not = icmp eq i64 %inc.i, %threads
  br i1 %exitcond.not, label %pool_fill_queues.exit, label %for.body.i

pool_fill_queues.exit:
  store atomic i32 1073741824, ptr @pool_state release, align 64
  %1 = atomicrmw add ptr @pool_wake, i32 1 seq_cst, align 64
  %2 = load atomic i32, ptr @pool_sleepers seq_cst, align 64
  %tobool.not = icmp eq i32 %2, 0
  br i1 %tobool.not, label %if.end, label %if.then

if.then:
  tail call fastcc void @pool_leave_cpu_to_caller() #17
  %3 = trunc i64 %threads to i32
  %conv.i = add i32 %3, -1
  %call.i10 = tail call i64 (i64, ...) @syscall(i64 noundef 98, ptr noundef nonnull @pool_wake, i32 noundef 129, i32 noundef %conv.i, ptr noundef null, ptr noundef null, i32 noundef 0) #18
  br label %if.end

if.end:
  tail call fastcc void @pool_drain(i64 noundef 0) #17
  %4 = atomicrmw and ptr @pool_state, i32 -1073741825 acq_rel, align 64
  %5 = load atomic i32, ptr @pool_state acquire, align 64
  %and.i15 = and i32 %5, 65535
  %tobool.not.i16 = icmp eq i32 %and.i15, 0
  br i1 %tobool.not.i16, label %pool_finish.exit, label %while.body.i

while.body.i:
  %6 = phi i32 [ %7, %while.cond.i.backedge ], [ %5, %if.end ]
  %call.i = tail call fastcc i1 @spin_while(ptr noundef nonnull @pool_state, i32 noundef %6) #17
  br i1 %call.i, label %while.cond.i.backedge, label %if.end.i

while.cond.i.backedge:
  %7 = load atomic i32, ptr @pool_state acquire, align 64
  %and.i = and i32 %7, 65535
  %tobool.not.i = icmp eq i32 %and.i, 0
  br i1 %tobool.not.i, label %pool_finish.exit, label %while.body.i

if.end.i:
  %or.i = or i32 %6, 536870912
  %8 = cmpxchg ptr @pool_state, i32 %6, i32 %or.i seq_cst seq_cst, align 64
  %9 = extractvalue { i32, i1 } %8, 1
  br i1 %9, label %if.then3.i, label %while.cond.i.backedge

if.then3.i:
  %call.i11 = tail call i64 (i64, ...) @syscall(i64 noundef 98, ptr noundef nonnull @pool_state, i32 noundef 128, i32 noundef %or.i, ptr noundef null, ptr noundef null, i32 noundef 0) #18
  br label %while.cond.i.backedge

pool_finish.exit:
  ret void
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: mustprogress nofree noinline norecurse nounwind willreturn memory(readwrite, argmem: none, inaccessiblemem: none)
define void @tx_set_threads(i64 noundef %threads) local_unnamed_addr #2 {
entry:
  store atomic i64 %threads, ptr @pool_threads monotonic, align 64
  store i32 -1, ptr @pool_last_cpu, align 4
  ret void
}

; Function Attrs: noinline nounwind
define void @tx_watch_interrupts() local_unnamed_addr #0 {
entry:
  %action = alloca %union.SigAction, align 16
  call void @llvm.lifetime.start.p0(i64 256, ptr nonnull %action) #14
  %call = call i32 @sigaction(i32 noundef 2, ptr noundef null, ptr noundef nonnull %action) #18
  %tobool.not = icmp eq i32 %call, 0
  br i1 %tobool.not, label %if.end, label %cleanup7

if.end:
  %0 = load atomic i64, ptr @python_handler monotonic, align 8
  %1 = load ptr, ptr %action, align 16
  %cmp = icmp ugt ptr %1, inttoptr (i64 1 to ptr)
  br i1 %cmp, label %lor.lhs.false, label %cleanup7

lor.lhs.false:
  %2 = inttoptr i64 %0 to ptr
  %tobool1.not = icmp eq i64 %0, 0
  %cmp2.not = icmp eq ptr %1, %2
  %or.cond = or i1 %tobool1.not, %cmp2.not
  br i1 %or.cond, label %if.end4, label %cleanup7

if.end4:
  %3 = ptrtoint ptr %1 to i64
  store atomic i64 %3, ptr @python_handler monotonic, align 8
  store ptr @on_interrupt, ptr %action, align 16
  %call5 = call i32 @sigaction(i32 noundef 2, ptr noundef nonnull %action, ptr noundef null) #18
  br label %cleanup7

cleanup7:
  call void @llvm.lifetime.end.p0(i64 256, ptr nonnull %action) #14
  ret void
}

declare i32 @sigaction(i32 noundef, ptr noundef, ptr noundef) local_unnamed_addr #3

; Function Attrs: nounwind
define internal void @on_interrupt(i32 noundef %signal, ptr noundef %info, ptr noundef %context) #4 {
entry:
  %call = tail call fastcc i1 @note_if_held() #17
  br i1 %call, label %return, label %if.end

if.end:
  %0 = load atomic i64, ptr @python_handler monotonic, align 8
  %1 = inttoptr i64 %0 to ptr
  tail call void %1(i32 noundef %signal, ptr noundef %info, ptr noundef %context) #18
  %2 = load atomic i32, ptr @main_inside seq_cst, align 4
  %tobool.not = icmp eq i32 %2, 0
  br i1 %tobool.not, label %return, label %if.then2

if.then2:
  tail call fastcc void @raise_flag() #17
  br label %return

return:
  ret void
}

; Function Attrs: noinline nounwind
define noundef ptr @tx_defer_interrupts(ptr nocapture noundef readnone %self, ptr nocapture noundef readnone %unused) local_unnamed_addr #0 {
entry:
  tail call void @tx_watch_interrupts() #17
  %0 = load atomic i64, ptr @tx_interrupted seq_cst, align 64
  br label %do.body

do.body:
  %word.0 = phi i64 [ %0, %entry ], [ %3, %do.body ]
  %and = and i64 %word.0, -2
  %and1 = shl i64 %word.0, 62
  %cond = and i64 %and1, 4611686018427387904
  %or = or i64 %cond, %and
  %add = add i64 %or, 281474976710656
  %1 = cmpxchg ptr @tx_interrupted, i64 %word.0, i64 %add seq_cst seq_cst, align 64
  %2 = extractvalue { i64, i1 } %1, 1
  %3 = extractvalue { i64, i1 } %1, 0
  br i1 %2, label %do.end, label %do.body

do.end:
  %call = tail call i32 @PyErr_CheckSignals() #18
  %tobool2.not = icmp eq i32 %call, 0
  br i1 %tobool2.not, label %if.end, label %if.then

if.then:
  %4 = load atomic i64, ptr @tx_interrupted seq_cst, align 64
  br label %do.body.i

do.body.i:
  %word.0.i = phi i64 [ %4, %if.then ], [ %9, %land.end.i ]
  %and.i23.i = and i64 %word.0.i, 4611404543450677248
  %cmp.i24.not.i = icmp eq i64 %and.i23.i, 0
  br i1 %cmp.i24.not.i, label %cleanup, label %if.end.i

if.end.i:
  %sub.i = add i64 %word.0.i, -281474976710656
  %and.i = and i64 %sub.i, 4611686018427387904
  %tobool.not.i = icmp eq i64 %and.i, 0
  br i1 %tobool.not.i, label %land.end.i, label %land.rhs.i

land.rhs.i:
  %5 = load atomic i32, ptr @main_inside seq_cst, align 4
  %tobool2.i = icmp ne i32 %5, 0
  br label %land.end.i

land.end.i:
  %6 = phi i1 [ false, %if.end.i ], [ %tobool2.i, %land.rhs.i ]
  %and.i21.i = and i64 %sub.i, 4611404543450677248
  %cmp.i22.not.i = icmp eq i64 %and.i21.i, 0
  %cond.i = zext i1 %6 to i64
  %and4.i = and i64 %sub.i, 4611686018427387903
  %or.i = or i64 %and4.i, %cond.i
  %cond5.i = select i1 %cmp.i22.not.i, i64 %or.i, i64 %sub.i
  %7 = cmpxchg ptr @tx_interrupted, i64 %word.0.i, i64 %cond5.i seq_cst seq_cst, align 64
  %8 = extractvalue { i64, i1 } %7, 1
  %9 = extractvalue { i64, i1 } %7, 0
  br i1 %8, label %do.end.i, label %do.body.i

do.end.i:
  %10 = and i64 %sub.i, -4611967493404098560
  %brmerge.not.i = icmp eq i64 %10, -9223372036854775808
  br i1 %brmerge.not.i, label %if.then9.i, label %cleanup

if.then9.i:
  %11 = load i64, ptr @main_thread, align 8
  %call10.i = tail call i32 @pthread_kill(i64 noundef %11, i32 noundef 2) #18
  br label %cleanup

if.end:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #18
  br label %cleanup

cleanup:
  %retval.0 = phi ptr [ @_Py_NoneStruct, %if.end ], [ null, %do.end.i ], [ null, %if.then9.i ], [ null, %do.body.i ]
  ret ptr %retval.0
}

declare i32 @PyErr_CheckSignals() local_unnamed_addr #3

; Function Attrs: noinline nounwind
define noundef ptr @tx_allow_interrupts(ptr nocapture noundef readnone %self, ptr nocapture noundef readnone %arguments, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %0 = load atomic i64, ptr @tx_interrupted seq_cst, align 64
  br label %do.body.i

do.body.i:
  %word.0.i = phi i64 [ %0, %entry ], [ %5, %land.end.i ]
  %and.i23.i = and i64 %word.0.i, 4611404543450677248
  %cmp.i24.not.i = icmp eq i64 %and.i23.i, 0
  br i1 %cmp.i24.not.i, label %let_go.exit, label %if.end.i

if.end.i:
  %sub.i = add i64 %word.0.i, -281474976710656
  %and.i = and i64 %sub.i, 4611686018427387904
  %tobool.not.i = icmp eq i64 %and.i, 0
  br i1 %tobool.not.i, label %land.end.i, label %land.rhs.i

land.rhs.i:
  %1 = load atomic i32, ptr @main_inside seq_cst, align 4
  %tobool2.i = icmp ne i32 %1, 0
  br label %land.end.i

land.end.i:
  %2 = phi i1 [ false, %if.end.i ], [ %tobool2.i, %land.rhs.i ]
  %and.i21.i = and i64 %sub.i, 4611404543450677248
  %cmp.i22.not.i = icmp eq i64 %and.i21.i, 0
  %cond.i = zext i1 %2 to i64
  %and4.i = and i64 %sub.i, 4611686018427387903
  %or.i = or i64 %and4.i, %cond.i
  %cond5.i = select i1 %cmp.i22.not.i, i64 %or.i, i64 %sub.i
  %3 = cmpxchg ptr @tx_interrupted, i64 %word.0.i, i64 %cond5.i seq_cst seq_cst, align 64
  %4 = extractvalue { i64, i1 } %3, 1
  %5 = extractvalue { i64, i1 } %3, 0
  br i1 %4, label %do.end.i, label %do.body.i

do.end.i:
  %6 = and i64 %sub.i, -4611967493404098560
  %brmerge.not.i = icmp eq i64 %6, -9223372036854775808
  br i1 %brmerge.not.i, label %if.then9.i, label %let_go.exit

if.then9.i:
  %7 = load i64, ptr @main_thread, align 8
  %call10.i = tail call i32 @pthread_kill(i64 noundef %7, i32 noundef 2) #18
  br label %let_go.exit

let_go.exit:
  %call = tail call i32 @PyErr_CheckSignals() #18
  %tobool.not = icmp eq i32 %call, 0
  br i1 %tobool.not, label %cond.false, label %cond.end

cond.false:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #18
  br label %cond.end

cond.end:
  %cond = phi ptr [ @_Py_NoneStruct, %cond.false ], [ null, %let_go.exit ]
  ret ptr %cond
}

; Function Attrs: noinline nounwind
define i32 @tx_run_uncounted(ptr nocapture noundef readonly %entry1, ptr noundef %slots) local_unnamed_addr #0 {
entry:
  %time.i14 = alloca %struct.TimeSpec, align 8
  %time.i = alloca %struct.TimeSpec, align 8
  %call26 = tail call i32 %entry1(ptr noundef %slots) #18
  %cmp.not27 = icmp eq i32 %call26, 1
  br i1 %cmp.not27, label %if.end.lr.ph, label %cleanup11

if.end.lr.ph:
  %nanoseconds.i = getelementptr inbounds i8, ptr %time.i, i64 8
  %nanoseconds.i17 = getelementptr inbounds i8, ptr %time.i14, i64 8
  br label %if.end

for.cond.loopexit:
  %call = call i32 %entry1(ptr noundef %slots) #18
  %cmp.not = icmp eq i32 %call, 1
  br i1 %cmp.not, label %if.end, label %cleanup11

if.end:
  %deadline.028 = phi i64 [ 0, %if.end.lr.ph ], [ %deadline.1, %for.cond.loopexit ]
  %tobool.not = icmp eq i64 %deadline.028, 0
  br i1 %tobool.not, label %if.then2, label %if.end4

if.then2:
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %time.i) #14
  %call.i = call i32 @clock_gettime(i32 noundef 1, ptr noundef nonnull %time.i) #18
  %0 = load i64, ptr %time.i, align 8
  %mul.i = mul i64 %0, 1000000000
  %1 = load i64, ptr %nanoseconds.i, align 8
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %time.i) #14
  %add.i = add i64 %1, 1000000000
  %add = add i64 %add.i, %mul.i
  br label %if.end4

if.end4:
  %deadline.1 = phi i64 [ %deadline.028, %if.end ], [ %add, %if.then2 ]
  %call525 = call fastcc i1 @flag_is_down() #17
  br i1 %call525, label %for.cond.loopexit, label %while.body

while.body:
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %time.i14) #14
  %call.i15 = call i32 @clock_gettime(i32 noundef 1, ptr noundef nonnull %time.i14) #18
  %2 = load i64, ptr %time.i14, align 8
  %mul.i16 = mul i64 %2, 1000000000
  %3 = load i64, ptr %nanoseconds.i17, align 8
  %add.i18 = add i64 %mul.i16, %3
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %time.i14) #14
  %cmp7 = icmp sgt i64 %add.i18, %deadline.1
  br i1 %cmp7, label %cleanup11, label %if.end9

if.end9:
  %call10 = call i32 @sched_yield() #18
  %call5 = call fastcc i1 @flag_is_down() #17
  br i1 %call5, label %for.cond.loopexit, label %while.body

cleanup11:
  %retval.1.ph = phi i32 [ %call26, %entry ], [ 1, %while.body ], [ %call, %for.cond.loopexit ]
  ret i32 %retval.1.ph
}

; Function Attrs: mustprogress nofree noinline norecurse nounwind willreturn memory(readwrite, argmem: none, inaccessiblemem: none)
define internal fastcc i1 @flag_is_down() unnamed_addr #2 {
entry:
  %0 = load atomic i64, ptr @tx_interrupted seq_cst, align 64
  %1 = and i64 %0, -4294967295
  %or.cond = icmp eq i64 %1, 1
  br i1 %or.cond, label %if.then, label %if.end

if.then:
  %2 = cmpxchg ptr @tx_interrupted, i64 %0, i64 0 seq_cst seq_cst, align 64
  br label %if.end

if.end:
  %3 = load atomic i64, ptr @tx_interrupted seq_cst, align 64
  %and2 = and i64 %3, 1
  %tobool3.not = icmp eq i64 %and2, 0
  ret i1 %tobool3.not
}

declare i32 @sched_yield() local_unnamed_addr #3

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(write, argmem: none, inaccessiblemem: none)
define void @tx_set_main_thread(i64 noundef %thread) local_unnamed_addr #5 {
entry:
  store i64 %thread, ptr @main_thread, align 8
  ret void
}

; Function Attrs: noinline nounwind
define noundef ptr @tx_alloc(i64 noundef %bytes) local_unnamed_addr #0 {
entry:
  %0 = load i64, ptr @memory_limit, align 8
  %cmp = icmp ult i64 %0, %bytes
  br i1 %cmp, label %return, label %if.end

if.end:
  %sub = add i64 %bytes, 127
  %and = and i64 %sub, -64
  %cmp2 = icmp sgt i64 %and, 4095
  br i1 %cmp2, label %land.lhs.true, label %if.then6

land.lhs.true:
  %call = tail call fastcc i1 @blocks_lock() #17
  br i1 %call, label %if.then3, label %if.then6

if.then3:
  %call.i = tail call i64 @pthread_self() #18
  %mul.i = shl nuw i64 %and, 1
  br label %for.body.i

for.cond.cleanup.i:
  %cmp12.i = icmp slt i64 %best.2.i, 0
  br i1 %cmp12.i, label %if.end5.thread25, label %if.end5

if.end5.thread25:
  store atomic i32 0, ptr @blocks_busy release, align 4
  br label %if.then6

for.body.i:
  %best.0.i30 = phi i64 [ -1, %if.then3 ], [ %best.2.i, %cleanup.i ]
  %best_rank.0.i29 = phi i64 [ 9223372036854775807, %if.then3 ], [ %best_rank.2.i, %cleanup.i ]
  %k.0.i28 = phi i64 [ 0, %if.then3 ], [ %inc.i, %cleanup.i ]
  %arrayidx.i = getelementptr [32 x ptr], ptr @blocks, i64 0, i64 %k.0.i28
  %1 = load ptr, ptr %arrayidx.i, align 8
  %tobool.not.i = icmp eq ptr %1, null
  br i1 %tobool.not.i, label %cleanup.i, label %lor.lhs.false.i

lor.lhs.false.i:
  %2 = load i64, ptr %1, align 8
  %cmp1.i = icmp sge i64 %2, %and
  %cmp4.not.i = icmp slt i64 %2, %mul.i
  %or.cond.i = select i1 %cmp1.i, i1 %cmp4.not.i, i1 false
  br i1 %or.cond.i, label %if.end.i, label %cleanup.i

if.end.i:
  %owner.i = getelementptr inbounds i8, ptr %1, i64 8
  %3 = load i64, ptr %owner.i, align 8
  %cmp5.i = icmp eq i64 %3, %call.i
  %or.i = or i64 %2, 4611686018427387904
  %cond.i = select i1 %cmp5.i, i64 %2, i64 %or.i
  %cmp8.i = icmp slt i64 %cond.i, %best_rank.0.i29
  %best_rank.1.i = tail call i64 @llvm.smin.i64(i64 %cond.i, i64 %best_rank.0.i29)
  %best.1.i = select i1 %cmp8.i, i64 %k.0.i28, i64 %best.0.i30
  br label %cleanup.i

cleanup.i:
  %best_rank.2.i = phi i64 [ %best_rank.1.i, %if.end.i ], [ %best_rank.0.i29, %lor.lhs.false.i ], [ %best_rank.0.i29, %for.body.i ]
  %best.2.i = phi i64 [ %best.1.i, %if.end.i ], [ %best.0.i30, %lor.lhs.false.i ], [ %best.0.i30, %for.body.i ]
  %inc.i = add nuw nsw i64 %k.0.i28, 1
  %exitcond.not = icmp eq i64 %inc.i, 32
  br i1 %exitcond.not, label %for.cond.cleanup.i, label %for.body.i

if.end5:
  %arrayidx15.i = getelementptr [32 x ptr], ptr @blocks, i64 0, i64 %best.2.i
  %4 = load ptr, ptr %arrayidx15.i, align 8
  store ptr null, ptr %arrayidx15.i, align 8
  %5 = load i64, ptr %4, align 8
  %6 = load i64, ptr @blocks_bytes, align 8
  %sub.i = sub i64 %6, %5
  store i64 %sub.i, ptr @blocks_bytes, align 8
  store atomic i32 0, ptr @blocks_busy release, align 4
  br label %if.end8

if.then6:
  %cmp.i15 = icmp sgt i64 %and, 65535
  %cmp1.i16 = icmp sgt i64 %and, 4194303
  %conv.i = select i1 %cmp.i15, i64 2048, i64 0
  %7 = select i1 %cmp.i15, i64 4096, i64 64
  %spec.select.i = select i1 %cmp1.i16, i64 2097152, i64 %7
  %add.i = add i64 %and, -1
  %add10.i = add i64 %add.i, %conv.i
  %sub.i17 = add i64 %add10.i, %spec.select.i
  %sub11.i = sub nsw i64 0, %spec.select.i
  %and.i = and i64 %sub.i17, %sub11.i
  %call.i18 = tail call ptr @aligned_alloc(i64 noundef %spec.select.i, i64 noundef %and.i) #18
  %tobool.not.i19 = icmp eq ptr %call.i18, null
  br i1 %tobool.not.i19, label %if.end8, label %if.end.i20

if.end.i20:
  %add.ptr.i = getelementptr i8, ptr %call.i18, i64 %conv.i
  %sub12.i = sub i64 %and.i, %conv.i
  store i64 %sub12.i, ptr %add.ptr.i, align 8
  br i1 %cmp1.i16, label %if.then15.i, label %if.end8

if.then15.i:
  %call16.i = tail call i32 @madvise(ptr noundef nonnull %call.i18, i64 noundef %and.i, i32 noundef 14) #18
  br label %if.end8

if.end8:
  %block.1 = phi ptr [ %4, %if.end5 ], [ null, %if.then6 ], [ %add.ptr.i, %if.then15.i ], [ %add.ptr.i, %if.end.i20 ]
  %tobool9.not = icmp eq ptr %block.1, null
  %add.ptr = getelementptr i8, ptr %block.1, i64 64
  %cond = select i1 %tobool9.not, ptr null, ptr %add.ptr
  br label %return

return:
  %retval.0 = phi ptr [ %cond, %if.end8 ], [ null, %entry ]
  ret ptr %retval.0
}

; Function Attrs: nofree noinline norecurse nounwind memory(readwrite, argmem: none, inaccessiblemem: none)
define internal fastcc i1 @blocks_lock() unnamed_addr #6 {
entry:
  %0 = cmpxchg ptr @blocks_busy, i32 0, i32 1 acquire monotonic, align 4
  %1 = extractvalue { i32, i1 } %0, 1
  br i1 %1, label %cleanup1, label %for.cond

for.cond:
  %k.057 = phi i32 [ %inc, %for.body ], [ 0, %entry ]
  %inc = add nuw nsw i32 %k.057, 1
  %exitcond.not = icmp eq i32 %inc, 64
  br i1 %exitcond.not, label %cleanup1.loopexit, label %for.body

for.body:
  %2 = cmpxchg ptr @blocks_busy, i32 0, i32 1 acquire monotonic, align 4
  %3 = extractvalue { i32, i1 } %2, 1
  br i1 %3, label %cleanup1.loopexit, label %for.cond

cleanup1.loopexit:
  %cmp.le = icmp ult i32 %k.057, 63
  br label %cleanup1

cleanup1:
  %cmp.lcssa = phi i1 [ true, %entry ], [ %cmp.le, %cleanup1.loopexit ]
  ret i1 %cmp.lcssa
}

; Function Attrs: noinline nounwind
define void @tx_free(ptr noundef %user) local_unnamed_addr #0 {
entry:
  %tobool.not = icmp eq ptr %user, null
  br i1 %tobool.not, label %cleanup.cont12, label %if.end

if.end:
  %add.ptr = getelementptr i8, ptr %user, i64 -64
  %0 = load i64, ptr %add.ptr, align 8
  %cmp = icmp sgt i64 %0, 4095
  br i1 %cmp, label %land.lhs.true, label %if.end6

land.lhs.true:
  %call = tail call fastcc i1 @blocks_lock() #17
  br i1 %call, label %if.then2, label %if.end6

if.then2:
  %1 = load i64, ptr @blocks_bytes, align 8
  %2 = load i64, ptr %add.ptr, align 8
  %add.i = add i64 %2, %1
  %3 = load i64, ptr @blocks_limit, align 8
  %cmp.i = icmp sgt i64 %add.i, %3
  br i1 %cmp.i, label %if.end6.sink.split, label %for.body.i

for.cond.i:
  %inc.i = add nuw nsw i64 %k.0.i24, 1
  %exitcond.not = icmp eq i64 %inc.i, 32
  br i1 %exitcond.not, label %if.end6.sink.split, label %for.body.i

for.body.i:
  %k.0.i24 = phi i64 [ %inc.i, %for.cond.i ], [ 0, %if.then2 ]
  %arrayidx.i = getelementptr [32 x ptr], ptr @blocks, i64 0, i64 %k.0.i24
  %4 = load ptr, ptr %arrayidx.i, align 8
  %tobool.not.i = icmp eq ptr %4, null
  br i1 %tobool.not.i, label %blocks_keep.exit.thread19, label %for.cond.i

blocks_keep.exit.thread19:
  %call.i = tail call i64 @pthread_self() #18
  %owner.i = getelementptr i8, ptr %user, i64 -56
  store i64 %call.i, ptr %owner.i, align 8
  store ptr %add.ptr, ptr %arrayidx.i, align 8
  %5 = load i64, ptr %add.ptr, align 8
  %6 = load i64, ptr @blocks_bytes, align 8
  %add6.i = add i64 %6, %5
  store i64 %add6.i, ptr @blocks_bytes, align 8
  store atomic i32 0, ptr @blocks_busy release, align 4
  br label %cleanup.cont12

if.end6.sink.split:
  store atomic i32 0, ptr @blocks_busy release, align 4
  br label %if.end6

if.end6:
  %cmp7 = icmp sgt i64 %0, 65535
  %idx.ext.neg = select i1 %cmp7, i64 -2048, i64 0
  %add.ptr8 = getelementptr i8, ptr %add.ptr, i64 %idx.ext.neg
  tail call void @free(ptr noundef %add.ptr8) #18
  br label %cleanup.cont12

cleanup.cont12:
  ret void
}

declare void @free(ptr noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define noundef ptr @tx_numpy_malloc(ptr nocapture noundef readnone %context, i64 noundef %bytes) local_unnamed_addr #0 {
entry:
  %call = tail call ptr @tx_alloc(i64 noundef %bytes) #17
  ret ptr %call
}

; Function Attrs: noinline nounwind
define noundef ptr @tx_numpy_calloc(ptr nocapture noundef readnone %context, i64 noundef %count, i64 noundef %item) local_unnamed_addr #0 {
entry:
  %0 = tail call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %item)
  %1 = extractvalue { i64, i1 } %0, 1
  %2 = extractvalue { i64, i1 } %0, 0
  br i1 %1, label %cleanup, label %if.end

if.end:
  %call = tail call ptr @tx_alloc(i64 noundef %2) #17
  %tobool.not = icmp eq ptr %call, null
  br i1 %tobool.not, label %cleanup, label %if.then1

if.then1:
  tail call void @llvm.memset.p0.i64(ptr nonnull align 1 %call, i8 0, i64 %2, i1 false)
  br label %cleanup

cleanup:
  %retval.0 = phi ptr [ null, %entry ], [ %call, %if.then1 ], [ null, %if.end ]
  ret ptr %retval.0
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64) #7

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #8

; Function Attrs: noinline nounwind
define noundef ptr @tx_numpy_realloc(ptr nocapture noundef readnone %context, ptr noundef %old, i64 noundef %bytes) local_unnamed_addr #0 {
entry:
  %call = tail call ptr @tx_alloc(i64 noundef %bytes) #17
  %tobool = icmp ne ptr %call, null
  %tobool1 = icmp ne ptr %old, null
  %or.cond = and i1 %tobool1, %tobool
  br i1 %or.cond, label %if.end, label %cleanup

if.end:
  %add.ptr = getelementptr i8, ptr %old, i64 -64
  %0 = load i64, ptr %add.ptr, align 8
  %sub = add i64 %0, -64
  %cond = tail call i64 @llvm.umin.i64(i64 %sub, i64 %bytes)
  tail call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 1 %call, ptr nonnull align 1 %old, i64 %cond, i1 false)
  tail call void @tx_free(ptr noundef nonnull %old) #17
  br label %cleanup

cleanup:
  ret ptr %call
}

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg) #9

; Function Attrs: noinline nounwind
define void @tx_numpy_free(ptr nocapture noundef readnone %context, ptr noundef %user, i64 noundef %bytes) local_unnamed_addr #0 {
entry:
  tail call void @tx_free(ptr noundef %user) #17
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(write, argmem: none, inaccessiblemem: none)
define void @tx_set_memory(i64 noundef %limit, i64 noundef %kept) local_unnamed_addr #5 {
entry:
  store i64 %limit, ptr @memory_limit, align 8
  store i64 %kept, ptr @blocks_limit, align 8
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nounwind willreturn memory(readwrite, argmem: none, inaccessiblemem: none)
define void @tx_set_guard(i64 noundef %front) local_unnamed_addr #2 {
entry:
  store atomic i64 %front, ptr @guard_front monotonic, align 8
  ret void
}

; Function Attrs: noinline nounwind
define ptr @tx_guard_alloc(i64 noundef %size) local_unnamed_addr #0 {
entry:
  %0 = load i64, ptr @memory_limit, align 8
  %cmp = icmp ult i64 %0, %size
  br i1 %cmp, label %return, label %if.end

if.end:
  %sub = add i64 %size, 4095
  %and = and i64 %sub, -4096
  %add2 = add i64 %and, 12288
  %call = tail call ptr @mmap(ptr noundef null, i64 noundef %add2, i32 noundef 3, i32 noundef 34, i32 noundef -1, i64 noundef 0) #18
  %cmp3 = icmp eq ptr %call, inttoptr (i64 -1 to ptr)
  br i1 %cmp3, label %return, label %if.end5

if.end5:
  %add1 = add i64 %and, 8192
  %1 = load atomic i64, ptr @guard_front monotonic, align 8
  %cmp6.not = icmp eq i64 %1, 0
  %sub8 = sub i64 %add1, %size
  %cond = select i1 %cmp6.not, i64 %sub8, i64 8192
  %add.ptr = getelementptr i8, ptr %call, i64 %cond
  %cond14 = select i1 %cmp6.not, i64 %add1, i64 4096
  %add.ptr15 = getelementptr i8, ptr %call, i64 %cond14
  %call16 = tail call i32 @mprotect(ptr noundef %add.ptr15, i64 noundef 4096, i32 noundef 0) #18
  %add.ptr.i = getelementptr i8, ptr %add.ptr, i64 -8192
  store ptr %call, ptr %add.ptr.i, align 1
  %.compoundliteral.sroa.2.0.call17.sroa_idx = getelementptr i8, ptr %add.ptr, i64 -8184
  store i64 %add2, ptr %.compoundliteral.sroa.2.0.call17.sroa_idx, align 1
  tail call void @llvm.memset.p0.i64(ptr align 1 %add.ptr, i8 -91, i64 %size, i1 false)
  br label %return

return:
  %retval.1 = phi ptr [ null, %entry ], [ %add.ptr, %if.end5 ], [ null, %if.end ]
  ret ptr %retval.1
}

declare ptr @mmap(ptr noundef, i64 noundef, i32 noundef, i32 noundef, i32 noundef, i64 noundef) local_unnamed_addr #3

declare i32 @mprotect(ptr noundef, i64 noundef, i32 noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define void @tx_guard_free(ptr noundef readonly %user) local_unnamed_addr #0 {
entry:
  %tobool.not = icmp eq ptr %user, null
  br i1 %tobool.not, label %return, label %if.end

if.end:
  %add.ptr.i = getelementptr i8, ptr %user, i64 -8192
  %mapping.sroa.0.0.copyload = load ptr, ptr %add.ptr.i, align 1
  %mapping.sroa.4.0.call.sroa_idx = getelementptr i8, ptr %user, i64 -8184
  %mapping.sroa.4.0.copyload = load i64, ptr %mapping.sroa.4.0.call.sroa_idx, align 1
  %call1 = tail call i32 @munmap(ptr noundef %mapping.sroa.0.0.copyload, i64 noundef %mapping.sroa.4.0.copyload) #18
  br label %return

return:
  ret void
}

declare i32 @munmap(ptr noundef, i64 noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define ptr @tx_guard_copy(ptr nocapture noundef readonly %array, i64 noundef %size, i32 noundef %sealed) local_unnamed_addr #0 {
entry:
  %call = tail call ptr @tx_guard_alloc(i64 noundef %size) #17
  %tobool.not = icmp eq ptr %call, null
  br i1 %tobool.not, label %cleanup, label %if.end

if.end:
  tail call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 1 %call, ptr align 1 %array, i64 %size, i1 false)
  %tobool1.not = icmp eq i32 %sealed, 0
  br i1 %tobool1.not, label %cleanup, label %if.then2

if.then2:
  %0 = ptrtoint ptr %call to i64
  %and = and i64 %0, -4096
  %1 = inttoptr i64 %and to ptr
  %sub = and i64 %0, 4095
  %add = add i64 %sub, %size
  %call3 = tail call i32 @mprotect(ptr noundef %1, i64 noundef %add, i32 noundef 1) #18
  br label %cleanup

cleanup:
  ret ptr %call
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define void @tx_guard_copy_back(ptr nocapture noundef writeonly %array, ptr nocapture noundef readonly %copy, i64 noundef %size) local_unnamed_addr #10 {
entry:
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 1 %array, ptr align 1 %copy, i64 %size, i1 false)
  ret void
}

; Function Attrs: noinline nounwind
define ptr @tx_call(ptr nocapture noundef readonly %self, ptr noundef %arguments, i64 noundef %positional, ptr noundef %keywords) local_unnamed_addr #0 {
entry:
  %answer = alloca ptr, align 8
  %0 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i = getelementptr i8, ptr %self, i64 %0
  %1 = load ptr, ptr %add.ptr.i, align 8
  %2 = load i64, ptr @python_bytes_data, align 8
  %add.ptr1.i = getelementptr i8, ptr %1, i64 %2
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %answer) #14
  %call1 = call fastcc i1 @serve(ptr noundef %add.ptr1.i, ptr noundef %arguments, i64 noundef %positional, ptr noundef %keywords, ptr noundef nonnull %answer) #17
  br i1 %call1, label %if.then, label %if.end

if.then:
  %3 = load ptr, ptr %answer, align 8
  br label %cleanup

if.end:
  %slow = getelementptr inbounds i8, ptr %add.ptr1.i, i64 40
  %4 = load ptr, ptr %slow, align 8
  %call2 = tail call ptr @PyObject_Vectorcall(ptr noundef %4, ptr noundef %arguments, i64 noundef %positional, ptr noundef %keywords) #18
  br label %cleanup

cleanup:
  %retval.0 = phi ptr [ %3, %if.then ], [ %call2, %if.end ]
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %answer) #14
  ret ptr %retval.0
}

; Function Attrs: noinline nounwind
define internal fastcc noundef i1 @serve(ptr noundef readonly %spec, ptr nocapture noundef readonly %arguments, i64 noundef %positional, ptr noundef readonly %keywords, ptr nocapture noundef writeonly %answer) unnamed_addr #0 {
entry:
  %inputs1 = getelementptr inbounds i8, ptr %spec, i64 8
  %0 = load i64, ptr %inputs1, align 8
  %outputs = getelementptr inbounds i8, ptr %spec, i64 16
  %1 = load i64, ptr %outputs, align 8
  %add = add i64 %1, %0
  %sizes2 = getelementptr inbounds i8, ptr %spec, i64 24
  %2 = load i64, ptr %sizes2, align 8
  %tobool.not = icmp eq ptr %keywords, null
  br i1 %tobool.not, label %if.then, label %if.else

if.then:
  %positional2.i = getelementptr inbounds i8, ptr %spec, i64 128
  %3 = load i64, ptr %positional2.i, align 8
  %cmp.i = icmp eq i64 %0, %3
  %cmp3.i = icmp eq i64 %0, %positional
  %4 = and i1 %cmp3.i, %cmp.i
  %positional_with_outputs.i = getelementptr inbounds i8, ptr %spec, i64 136
  %5 = load i64, ptr %positional_with_outputs.i, align 8
  %cmp4.i = icmp eq i64 %5, %positional
  %or12.i = or i1 %4, %cmp4.i
  %constants.i = getelementptr inbounds i8, ptr %spec, i64 144
  %6 = load i64, ptr %constants.i, align 8
  %tobool.not.i = icmp eq i64 %6, 0
  %and13.i = and i1 %or12.i, %tobool.not.i
  br i1 %and13.i, label %if.then.if.end12_crit_edge, label %cleanup65

if.then.if.end12_crit_edge:
  %.pre316 = shl i64 %add, 3
  br label %if.end12

if.else:
  %mul = shl i64 %add, 3
  %7 = alloca i8, i64 %mul, align 16
  %call7 = call fastcc i64 @order_arguments(ptr noundef nonnull %spec, ptr noundef %arguments, i64 noundef %positional, ptr noundef nonnull %keywords, ptr noundef nonnull %7) #17
  %cmp = icmp sgt i64 %call7, -1
  br i1 %cmp, label %if.else.if.end12_crit_edge, label %cleanup65

if.else.if.end12_crit_edge:
  %.pre = load i64, ptr %outputs, align 8
  br label %if.end12

if.end12:
  %mul20.pre-phi = phi i64 [ %.pre316, %if.then.if.end12_crit_edge ], [ %mul, %if.else.if.end12_crit_edge ]
  %8 = phi i64 [ %1, %if.then.if.end12_crit_edge ], [ %.pre, %if.else.if.end12_crit_edge ]
  %call.sroa.0.0 = phi ptr [ %arguments, %if.then.if.end12_crit_edge ], [ %7, %if.else.if.end12_crit_edge ]
  %call.sroa.8.0 = phi i64 [ %positional, %if.then.if.end12_crit_edge ], [ %call7, %if.else.if.end12_crit_edge ]
  %add13 = add i64 %add, 1
  %add14 = add i64 %add13, %2
  %mul15 = shl i64 %add14, 3
  %9 = alloca i8, i64 %mul15, align 16
  %prefix.i = getelementptr inbounds i8, ptr %spec, i64 120
  %10 = load i64, ptr %prefix.i, align 8
  store i64 %10, ptr %9, align 16
  %add.ptr.i = getelementptr i8, ptr %9, i64 8
  %add.ptr = getelementptr %union.Slot, ptr %add.ptr.i, i64 %add
  %11 = alloca i8, i64 %mul20.pre-phi, align 16
  %mul23 = shl i64 %8, 3
  %12 = alloca i8, i64 %mul23, align 16
  %words.i115 = getelementptr inbounds i8, ptr %spec, i64 176
  %checks.i = getelementptr inbounds i8, ptr %spec, i64 104
  %13 = load i64, ptr %checks.i, align 8
  %add.ptr.i96 = getelementptr %struct.ValueCheck, ptr %words.i115, i64 %13
  %cmp26258 = icmp sgt i64 %2, 0
  br i1 %cmp26258, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  %14 = alloca i8, i64 %mul20.pre-phi, align 16
  %15 = load i64, ptr %sizes2, align 8
  %add.ptr.i.i = getelementptr i64, ptr %add.ptr.i96, i64 %15
  %16 = load i64, ptr %inputs1, align 8
  %cmp.not.i263 = icmp sgt i64 %call.sroa.8.0, 0
  br i1 %cmp.not.i263, label %for.body.i.lr.ph, label %take_arguments.exit

for.body.i.lr.ph:
  %ndarray.i = getelementptr inbounds i8, ptr %spec, i64 72
  br label %for.body.i

for.body.i:
  %k.0.i266 = phi i64 [ 0, %for.body.i.lr.ph ], [ %inc.i, %if.end.i ]
  %record.0.i265 = phi ptr [ %add.ptr.i.i, %for.body.i.lr.ph ], [ %add.ptr.i41.i, %if.end.i ]
  %strided.0264 = phi i1 [ false, %for.body.i.lr.ph ], [ %37, %if.end.i ]
  %arrayidx.i = getelementptr ptr, ptr %call.sroa.0.0, i64 %k.0.i266
  %17 = load ptr, ptr %arrayidx.i, align 8
  %cmp3.i97 = icmp slt i64 %k.0.i266, %16
  %arrayidx4.i = getelementptr %union.Slot, ptr %add.ptr.i, i64 %k.0.i266
  %arrayidx5.i = getelementptr i64, ptr %11, i64 %k.0.i266
  %arrayidx6.i = getelementptr %union.Number, ptr %14, i64 %k.0.i266
  %ob_type.i = getelementptr inbounds i8, ptr %17, i64 8
  %18 = load ptr, ptr %ob_type.i, align 8
  %19 = load ptr, ptr %ndarray.i, align 8
  %cmp.not.i116 = icmp eq ptr %18, %19
  br i1 %cmp.not.i116, label %lor.lhs.false.i, label %if.then.i

lor.lhs.false.i:
  %descr.i = getelementptr inbounds i8, ptr %17, i64 56
  %20 = load ptr, ptr %descr.i, align 8
  %21 = load ptr, ptr %record.0.i265, align 8
  %cmp1.not.i = icmp eq ptr %20, %21
  br i1 %cmp1.not.i, label %if.end4.i, label %if.then.i

if.then.i:
  %call.i = call fastcc i1 @take_number(ptr noundef nonnull %spec, ptr noundef %record.0.i265, ptr noundef nonnull %17, ptr noundef %arrayidx6.i) #17
  br i1 %call.i, label %if.end.i118, label %cleanup65

if.end.i118:
  store ptr %arrayidx6.i, ptr %arrayidx4.i, align 8
  %item_bytes.i = getelementptr inbounds i8, ptr %record.0.i265, i64 8
  %22 = load i64, ptr %item_bytes.i, align 8
  store i64 %22, ptr %arrayidx5.i, align 8
  %rank.i40.i = getelementptr inbounds i8, ptr %record.0.i265, i64 16
  br label %take_argument.exit

if.end4.i:
  %flags5.i = getelementptr inbounds i8, ptr %17, i64 64
  %23 = load i32, ptr %flags5.i, align 8
  %24 = select i1 %cmp3.i97, i32 -1, i32 -1026
  %25 = or i32 %23, %24
  %cmp6.not.i = icmp eq i32 %25, -1
  br i1 %cmp6.not.i, label %lor.lhs.false7.i, label %cleanup65

lor.lhs.false7.i:
  %nd.i = getelementptr inbounds i8, ptr %17, i64 24
  %26 = load i32, ptr %nd.i, align 8
  %conv.i = sext i32 %26 to i64
  %rank.i = getelementptr inbounds i8, ptr %record.0.i265, i64 16
  %27 = load i64, ptr %rank.i, align 8
  %cmp8.not.i = icmp eq i64 %27, %conv.i
  br i1 %cmp8.not.i, label %if.end11.i, label %cleanup65

if.end11.i:
  %item_bytes.i122 = getelementptr inbounds i8, ptr %record.0.i265, i64 8
  %28 = load i64, ptr %item_bytes.i122, align 8
  %cmp.not.i126260 = icmp sgt i32 %26, 0
  br i1 %cmp.not.i126260, label %for.body.i128.lr.ph, label %match_shape.exit

for.body.i128.lr.ph:
  %dimensions.i = getelementptr inbounds i8, ptr %17, i64 32
  %extents.i = getelementptr inbounds i8, ptr %record.0.i265, i64 32
  %.pre314 = load ptr, ptr %dimensions.i, align 8
  br label %for.body.i128

for.body.i128:
  %29 = phi i64 [ %conv.i, %for.body.i128.lr.ph ], [ %33, %for.inc.i ]
  %bytes.0.i262 = phi i64 [ %28, %for.body.i128.lr.ph ], [ %mul.i, %for.inc.i ]
  %k.0.i124261 = phi i64 [ 0, %for.body.i128.lr.ph ], [ %inc.i135, %for.inc.i ]
  %arrayidx.i129 = getelementptr i64, ptr %.pre314, i64 %k.0.i124261
  %30 = load i64, ptr %arrayidx.i129, align 8
  %arrayidx1.i = getelementptr [0 x i64], ptr %extents.i, i64 0, i64 %k.0.i124261
  %31 = load i64, ptr %arrayidx1.i, align 8
  %cmp.i136 = icmp sgt i64 %31, -1
  br i1 %cmp.i136, label %extent_of.exit, label %cond.false.i

cond.false.i:
  %not.i137 = xor i64 %31, -1
  %arrayidx.i138 = getelementptr %union.Slot, ptr %add.ptr, i64 %not.i137
  %32 = load i64, ptr %arrayidx.i138, align 8
  br label %extent_of.exit

extent_of.exit:
  %cond.i140 = phi i64 [ %32, %cond.false.i ], [ %31, %for.body.i128 ]
  %cmp2.not.i = icmp eq i64 %30, %cond.i140
  br i1 %cmp2.not.i, label %for.inc.i, label %if.then.i131

if.then.i131:
  %cmp3.i132 = icmp sgt i64 %cond.i140, -1
  br i1 %cmp3.i132, label %match_shape.exit.thread, label %if.end.i133

match_shape.exit.thread:
  store i64 -1, ptr %arrayidx5.i, align 8
  br label %cleanup65

if.end.i133:
  %not.i = xor i64 %31, -1
  %arrayidx5.i134 = getelementptr %union.Slot, ptr %add.ptr, i64 %not.i
  store i64 %30, ptr %arrayidx5.i134, align 8
  %.pre315 = load i64, ptr %rank.i, align 8
  br label %for.inc.i

for.inc.i:
  %33 = phi i64 [ %29, %extent_of.exit ], [ %.pre315, %if.end.i133 ]
  %mul.i = mul i64 %30, %bytes.0.i262
  %inc.i135 = add nuw nsw i64 %k.0.i124261, 1
  %cmp.not.i126 = icmp slt i64 %inc.i135, %33
  br i1 %cmp.not.i126, label %for.body.i128, label %match_shape.exit

match_shape.exit:
  %bytes.0.i.lcssa = phi i64 [ %28, %if.end11.i ], [ %mul.i, %for.inc.i ]
  store i64 %bytes.0.i.lcssa, ptr %arrayidx5.i, align 8
  %cmp13.i = icmp slt i64 %bytes.0.i.lcssa, 0
  br i1 %cmp13.i, label %cleanup65, label %if.end16.i

if.end16.i:
  %and18.i = and i32 %23, 1
  %tobool.not.i119 = icmp eq i32 %and18.i, 0
  br i1 %tobool.not.i119, label %cond.end.i, label %cond.true.i

cond.true.i:
  %data.i = getelementptr inbounds i8, ptr %17, i64 16
  %34 = load ptr, ptr %data.i, align 8
  br label %cond.end.i

cond.end.i:
  %cond.i120 = phi ptr [ %34, %cond.true.i ], [ null, %if.end16.i ]
  store ptr %cond.i120, ptr %arrayidx4.i, align 8
  br label %take_argument.exit

take_argument.exit:
  %rank.i40.i.sink = phi ptr [ %rank.i40.i, %if.end.i118 ], [ %rank.i, %cond.end.i ]
  %35 = phi ptr [ %arrayidx6.i, %if.end.i118 ], [ %cond.i120, %cond.end.i ]
  %extents.i39.i.sink = getelementptr inbounds i8, ptr %record.0.i265, i64 32
  %36 = load i64, ptr %rank.i40.i.sink, align 8
  %add.ptr.i41.i = getelementptr i64, ptr %extents.i39.i.sink, i64 %36
  %tobool.not.i98 = icmp eq ptr %add.ptr.i41.i, null
  br i1 %tobool.not.i98, label %cleanup65, label %if.end.i

if.end.i:
  %tobool10.not.i = icmp eq ptr %35, null
  %37 = or i1 %strided.0264, %tobool10.not.i
  %inc.i = add nuw nsw i64 %k.0.i266, 1
  %exitcond308.not = icmp eq i64 %inc.i, %call.sroa.8.0
  br i1 %exitcond308.not, label %if.end35, label %for.body.i

take_arguments.exit:
  %tobool33.not = icmp eq ptr %add.ptr.i.i, null
  br i1 %tobool33.not, label %cleanup65, label %if.end52

for.body:
  %k.0259 = phi i64 [ %inc, %for.body ], [ 0, %if.end12 ]
  %arrayidx = getelementptr i64, ptr %add.ptr.i96, i64 %k.0259
  %38 = load i64, ptr %arrayidx, align 8
  %arrayidx28 = getelementptr %union.Slot, ptr %add.ptr, i64 %k.0259
  store i64 %38, ptr %arrayidx28, align 8
  %inc = add nuw nsw i64 %k.0259, 1
  %exitcond.not = icmp eq i64 %inc, %2
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

if.end35:
  br i1 %37, label %if.then36, label %if.end52

if.then36:
  %mul37 = shl i64 %0, 3
  %39 = alloca i8, i64 %mul37, align 16
  %40 = alloca [4096 x i8], align 64
  %call43 = call fastcc i64 @copy_inputs(ptr noundef %spec, ptr noundef %call.sroa.0.0, ptr noundef %add.ptr.i, ptr noundef nonnull %11, ptr noundef nonnull %40, ptr noundef nonnull %39) #17
  %cmp46 = icmp sgt i64 %call43, -1
  br i1 %cmp46, label %if.end52, label %cleanup65

if.end52:
  %record.1.i325328 = phi ptr [ %add.ptr.i41.i, %if.then36 ], [ %add.ptr.i41.i, %if.end35 ], [ %add.ptr.i.i, %take_arguments.exit ]
  %call.sroa.36.0 = phi ptr [ %39, %if.then36 ], [ null, %if.end35 ], [ null, %take_arguments.exit ]
  %call.sroa.38.0 = phi i64 [ %call43, %if.then36 ], [ 0, %if.end35 ], [ 0, %take_arguments.exit ]
  %41 = load i64, ptr %inputs1, align 8
  %call2.i = call fastcc i1 @checks_hold(ptr noundef %spec, ptr noundef %add.ptr.i, ptr noundef nonnull %11, ptr noundef %add.ptr) #17
  br i1 %call2.i, label %if.end.i103, label %run_call.exit

if.end.i103:
  %cmp.not.i105 = icmp eq i64 %call.sroa.8.0, %41
  br i1 %cmp.not.i105, label %if.else.i, label %if.then3.i

if.then3.i:
  %42 = load i64, ptr %outputs, align 8
  %add.i = add i64 %42, %41
  %cmp.i142281 = icmp slt i64 %41, %add.i
  br i1 %cmp.i142281, label %for.body.i144, label %for.cond.i107.preheader

for.cond.i107.preheader:
  %cmp11.i283 = icmp sgt i64 %42, 0
  br i1 %cmp11.i283, label %for.body.i110.lr.ph, label %if.end22.i

for.body.i110.lr.ph:
  %43 = getelementptr ptr, ptr %call.sroa.0.0, i64 %41
  br label %for.body.i110

for.body.i144:
  %i.0.i282 = phi i64 [ %inc19.i, %for.inc18.i ], [ %41, %if.then3.i ]
  %arrayidx.i145 = getelementptr %union.Slot, ptr %add.ptr.i, i64 %i.0.i282
  %44 = load i64, ptr %arrayidx.i145, align 8
  %arrayidx1.i146 = getelementptr i64, ptr %11, i64 %i.0.i282
  %45 = load i64, ptr %arrayidx1.i146, align 8
  %add.i147 = add i64 %45, %44
  %cmp3.not.i279 = icmp sgt i64 %i.0.i282, 0
  br i1 %cmp3.not.i279, label %for.body5.i, label %for.inc18.i

for.cond2.i:
  %inc.i150 = add nuw nsw i64 %j.0.i280, 1
  %exitcond309.not = icmp eq i64 %inc.i150, %i.0.i282
  br i1 %exitcond309.not, label %for.inc18.i, label %for.body5.i

for.body5.i:
  %j.0.i280 = phi i64 [ %inc.i150, %for.cond2.i ], [ 0, %for.body.i144 ]
  %arrayidx6.i148 = getelementptr %union.Slot, ptr %add.ptr.i, i64 %j.0.i280
  %46 = load i64, ptr %arrayidx6.i148, align 8
  %arrayidx7.i = getelementptr i64, ptr %11, i64 %j.0.i280
  %47 = load i64, ptr %arrayidx7.i, align 8
  %add8.i = add i64 %47, %46
  %cmp9.i = icmp ult i64 %44, %add8.i
  %cmp10.i = icmp ult i64 %46, %add.i147
  %or.cond.i = select i1 %cmp9.i, i1 %cmp10.i, i1 false
  br i1 %or.cond.i, label %run_call.exit, label %for.cond2.i

for.inc18.i:
  %inc19.i = add nsw i64 %i.0.i282, 1
  %exitcond310.not = icmp eq i64 %inc19.i, %add.i
  br i1 %exitcond310.not, label %for.cond.i107.preheader, label %for.body.i144

for.body.i110:
  %k.0.i108284 = phi i64 [ 0, %for.body.i110.lr.ph ], [ %inc.i112, %incref.exit ]
  %arrayidx.i111 = getelementptr ptr, ptr %43, i64 %k.0.i108284
  %48 = load ptr, ptr %arrayidx.i111, align 8
  %arrayidx13.i = getelementptr ptr, ptr %12, i64 %k.0.i108284
  store ptr %48, ptr %arrayidx13.i, align 8
  %49 = load i64, ptr %48, align 8
  %add.i151 = add i64 %49, 1
  %cmp.i152 = icmp ult i64 %add.i151, 2147483648
  br i1 %cmp.i152, label %if.then.i155, label %if.else.i153

if.then.i155:
  store i64 %add.i151, ptr %48, align 8
  br label %incref.exit

if.else.i153:
  call void @Py_IncRef(ptr noundef nonnull %48) #18
  br label %incref.exit

incref.exit:
  %inc.i112 = add nuw nsw i64 %k.0.i108284, 1
  %50 = load i64, ptr %outputs, align 8
  %cmp11.i = icmp slt i64 %inc.i112, %50
  br i1 %cmp11.i, label %for.body.i110, label %if.end22.i

if.else.i:
  %add.ptr.i113 = getelementptr %union.Slot, ptr %add.ptr.i, i64 %call.sroa.8.0
  %51 = load i64, ptr %outputs, align 8
  %cmp.not.i.i.not289 = icmp sgt i64 %51, 0
  br i1 %cmp.not.i.i.not289, label %for.body.i.i.lr.ph, label %if.end22.i

for.body.i.i.lr.ph:
  %set_handler.i = getelementptr inbounds i8, ptr %spec, i64 88
  %memory_handler.i = getelementptr inbounds i8, ptr %spec, i64 96
  %new_from_descr.i = getelementptr inbounds i8, ptr %spec, i64 80
  %ndarray.i188 = getelementptr inbounds i8, ptr %spec, i64 72
  br label %for.body.i.i

for.body.i.i:
  %k.0.i.i291 = phi i64 [ 0, %for.body.i.i.lr.ph ], [ %inc.i.i, %for.inc.i.i ]
  %record.addr.0.i.i290 = phi ptr [ %record.1.i325328, %for.body.i.i.lr.ph ], [ %add.ptr.i.i.i, %for.inc.i.i ]
  %savedstack = call ptr @llvm.stacksave.p0()
  %rank.i165 = getelementptr inbounds i8, ptr %record.addr.0.i.i290, i64 16
  %52 = load i64, ptr %rank.i165, align 8
  %mul.i166 = shl i64 %52, 3
  %53 = alloca i8, i64 %mul.i166, align 16
  %item_bytes.i167 = getelementptr inbounds i8, ptr %record.addr.0.i.i290, i64 8
  %54 = load i64, ptr %item_bytes.i167, align 8
  %cmp.not.i171285 = icmp sgt i64 %52, 0
  br i1 %cmp.not.i171285, label %for.body.i173.lr.ph, label %for.end.i

for.body.i173.lr.ph:
  %extents.i174 = getelementptr inbounds i8, ptr %record.addr.0.i.i290, i64 32
  br label %for.body.i173

for.body.i173:
  %k.0.i170287 = phi i64 [ 0, %for.body.i173.lr.ph ], [ %inc.i182, %if.end.i181 ]
  %bytes.0.i169286 = phi i64 [ %54, %for.body.i173.lr.ph ], [ %mul6.i, %if.end.i181 ]
  %arrayidx.i175 = getelementptr [0 x i64], ptr %extents.i174, i64 0, i64 %k.0.i170287
  %55 = load i64, ptr %arrayidx.i175, align 8
  %cmp.i.i176 = icmp sgt i64 %55, -1
  br i1 %cmp.i.i176, label %extent_of.exit.i.thread, label %extent_of.exit.i

extent_of.exit.i.thread:
  %arrayidx2.i230 = getelementptr i64, ptr %53, i64 %k.0.i170287
  store i64 %55, ptr %arrayidx2.i230, align 8
  br label %if.end.i181

extent_of.exit.i:
  %not.i.i = xor i64 %55, -1
  %arrayidx.i.i178 = getelementptr %union.Slot, ptr %add.ptr, i64 %not.i.i
  %56 = load i64, ptr %arrayidx.i.i178, align 8
  %arrayidx2.i = getelementptr i64, ptr %53, i64 %k.0.i170287
  store i64 %56, ptr %arrayidx2.i, align 8
  %cmp4.i180 = icmp slt i64 %56, 0
  br i1 %cmp4.i180, label %new_outputs.exit.i, label %if.end.i181

if.end.i181:
  %cond.i.i179232 = phi i64 [ %55, %extent_of.exit.i.thread ], [ %56, %extent_of.exit.i ]
  %mul6.i = mul i64 %cond.i.i179232, %bytes.0.i169286
  %inc.i182 = add nuw nsw i64 %k.0.i170287, 1
  %57 = load i64, ptr %rank.i165, align 8
  %cmp.not.i171 = icmp slt i64 %inc.i182, %57
  br i1 %cmp.not.i171, label %for.body.i173, label %for.end.i

for.end.i:
  %58 = phi i64 [ %52, %for.body.i.i ], [ %57, %if.end.i181 ]
  %bytes.0.i169.lcssa = phi i64 [ %54, %for.body.i.i ], [ %mul6.i, %if.end.i181 ]
  %.old.i = load i64, ptr @memory_limit, align 8
  %cmp7.old.i = icmp ugt i64 %bytes.0.i169.lcssa, %.old.i
  br i1 %cmp7.old.i, label %new_outputs.exit.i, label %if.end9.i

if.end9.i:
  %59 = load ptr, ptr %record.addr.0.i.i290, align 8
  %cmp.i185 = icmp sgt i64 %bytes.0.i169.lcssa, 65535
  br i1 %cmp.i185, label %cond.true.i193, label %cond.end.i186

cond.true.i193:
  %60 = load ptr, ptr %set_handler.i, align 8
  %61 = load ptr, ptr %memory_handler.i, align 8
  %call.i194 = call ptr %60(ptr noundef %61) #18
  br label %cond.end.i186

cond.end.i186:
  %cond.i187 = phi ptr [ %call.i194, %cond.true.i193 ], [ null, %if.end9.i ]
  call void @Py_IncRef(ptr noundef %59) #18
  %62 = load ptr, ptr %new_from_descr.i, align 8
  %63 = load ptr, ptr %ndarray.i188, align 8
  %conv.i189 = trunc i64 %58 to i32
  %call1.i = call ptr %62(ptr noundef %63, ptr noundef %59, i32 noundef %conv.i189, ptr noundef nonnull %53, ptr noundef null, ptr noundef null, i32 noundef 0, ptr noundef null) #18
  %tobool.not.i190 = icmp eq ptr %cond.i187, null
  br i1 %tobool.not.i190, label %new_array.exit, label %if.then.i191

if.then.i191:
  %64 = load ptr, ptr %set_handler.i, align 8
  %call3.i = call ptr %64(ptr noundef nonnull %cond.i187) #18
  call void @Py_DecRef(ptr noundef %call3.i) #18
  call void @Py_DecRef(ptr noundef nonnull %cond.i187) #18
  br label %new_array.exit

new_array.exit:
  %tobool.not.i172 = icmp eq ptr %call1.i, null
  br i1 %tobool.not.i172, label %if.then12.i, label %for.inc.i.i

if.then12.i:
  call void @PyErr_Clear() #18
  br label %new_outputs.exit.i

for.inc.i.i:
  call void @llvm.stackrestore.p0(ptr %savedstack)
  %arrayidx.i.i = getelementptr ptr, ptr %12, i64 %k.0.i.i291
  store ptr %call1.i, ptr %arrayidx.i.i, align 8
  %data.i.i = getelementptr inbounds i8, ptr %call1.i, i64 16
  %65 = load ptr, ptr %data.i.i, align 8
  %arrayidx2.i.i = getelementptr %union.Slot, ptr %add.ptr.i113, i64 %k.0.i.i291
  store ptr %65, ptr %arrayidx2.i.i, align 8
  %inc.i.i = add nuw nsw i64 %k.0.i.i291, 1
  %extents.i.i.i = getelementptr inbounds i8, ptr %record.addr.0.i.i290, i64 32
  %66 = load i64, ptr %rank.i165, align 8
  %add.ptr.i.i.i = getelementptr i64, ptr %extents.i.i.i, i64 %66
  %exitcond311.not = icmp eq i64 %inc.i.i, %51
  br i1 %exitcond311.not, label %if.end22.i, label %for.body.i.i

new_outputs.exit.i:
  call void @llvm.stackrestore.p0(ptr %savedstack)
  call fastcc void @decref_all(ptr noundef nonnull %12, i64 noundef %k.0.i.i291) #17
  br label %run_call.exit

if.end22.i:
  %duration.i.i = getelementptr inbounds i8, ptr %spec, i64 32
  %67 = load i64, ptr %duration.i.i, align 8
  switch i64 %67, label %lor.lhs.false.i.i [
    i64 2, label %if.then.i.i
    i64 1, label %if.then8.i.i
  ]

if.then.i.i:
  %68 = load ptr, ptr %spec, align 8
  %call.i.i = call i32 %68(ptr noundef %add.ptr.i) #18
  %cmp2.i.i = icmp eq i32 %call.i.i, 0
  br i1 %cmp2.i.i, label %if.then25.i, label %if.else28.i.sink.split

lor.lhs.false.i.i:
  %short_up_to.i.i = getelementptr inbounds i8, ptr %spec, i64 112
  %69 = load i64, ptr %short_up_to.i.i, align 8
  %tobool.not.i.i = icmp eq i64 %69, 0
  br i1 %tobool.not.i.i, label %if.end20.i.i, label %land.lhs.true.i.i

land.lhs.true.i.i:
  %70 = load i64, ptr %inputs1, align 8
  %add.ptr.i156 = getelementptr %union.Slot, ptr %add.ptr.i, i64 %70
  %71 = load i64, ptr %outputs, align 8
  %add.ptr1.i = getelementptr %union.Slot, ptr %add.ptr.i156, i64 %71
  %72 = load i64, ptr %sizes2, align 8
  %cmp.not.i159.not292 = icmp sgt i64 %72, 0
  br i1 %cmp.not.i159.not292, label %for.body.i160, label %if.then8.i.i

for.cond.i157:
  %inc.i164 = add nuw nsw i64 %k.0.i158293, 1
  %exitcond312.not = icmp eq i64 %inc.i164, %72
  br i1 %exitcond312.not, label %if.then8.i.i, label %for.body.i160

for.body.i160:
  %k.0.i158293 = phi i64 [ %inc.i164, %for.cond.i157 ], [ 0, %land.lhs.true.i.i ]
  %arrayidx.i161 = getelementptr %union.Slot, ptr %add.ptr1.i, i64 %k.0.i158293
  %73 = load i64, ptr %arrayidx.i161, align 8
  %cmp3.i162 = icmp ugt i64 %73, %69
  br i1 %cmp3.i162, label %if.end20.i.i, label %for.cond.i157

if.then8.i.i:
  %call9.i.i = call ptr @PyEval_SaveThread() #18
  %74 = load ptr, ptr %spec, align 8
  %call11.i.i = call i32 %74(ptr noundef %add.ptr.i) #18
  call void @PyEval_RestoreThread(ptr noundef %call9.i.i) #18
  switch i32 %call11.i.i, label %if.else28.i.sink.split [
    i32 1, label %if.end20.i.i
    i32 0, label %if.then25.i
  ]

if.end20.i.i:
  %call21.i.i = call fastcc i1 @run_interruptible(ptr noundef %spec, ptr noundef %add.ptr.i) #17
  br i1 %call21.i.i, label %if.then25.i, label %if.else28.i

if.then25.i:
  %result_type.i.i = getelementptr inbounds i8, ptr %spec, i64 56
  %75 = load ptr, ptr %result_type.i.i, align 8
  %76 = load i64, ptr %outputs, align 8
  %tobool.not.i66.i = icmp eq ptr %75, null
  br i1 %tobool.not.i66.i, label %if.then.i75.i, label %if.end.i67.i

if.then.i75.i:
  %77 = load ptr, ptr %12, align 16
  br label %if.end31.i

if.end.i67.i:
  %cmp.i.i = icmp eq ptr %75, @PyTuple_Type
  br i1 %cmp.i.i, label %cond.true.i.i, label %cond.false.i.i

cond.true.i.i:
  %call.i74.i = call ptr @PyTuple_New(i64 noundef %76) #18
  br label %cond.end.i.i

cond.false.i.i:
  %call2.i.i = call ptr @PyType_GenericAlloc(ptr noundef nonnull %75, i64 noundef %76) #18
  br label %cond.end.i.i

cond.end.i.i:
  %cond.i.i = phi ptr [ %call.i74.i, %cond.true.i.i ], [ %call2.i.i, %cond.false.i.i ]
  %tobool3.not.i.i = icmp eq ptr %cond.i.i, null
  br i1 %tobool3.not.i.i, label %if.then4.i.i, label %if.end5.i.i

if.then4.i.i:
  call fastcc void @decref_all(ptr noundef nonnull %12, i64 noundef %76) #17
  br label %if.end31.i

if.end5.i.i:
  %78 = load i64, ptr @python_tuple_hash, align 8
  %tobool6.not.i.i = icmp eq i64 %78, 0
  br i1 %tobool6.not.i.i, label %if.end8.i.i, label %if.then7.i.i

if.then7.i.i:
  %add.ptr.i.i109 = getelementptr i8, ptr %cond.i.i, i64 %78
  store i64 -1, ptr %add.ptr.i.i109, align 8
  br label %if.end8.i.i

if.end8.i.i:
  %cmp9.i.i294 = icmp sgt i64 %76, 0
  br i1 %cmp9.i.i294, label %for.body.i71.i.lr.ph, label %if.end31.i

for.body.i71.i.lr.ph:
  %79 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i114 = getelementptr i8, ptr %cond.i.i, i64 %79
  br label %for.body.i71.i

for.body.i71.i:
  %k.0.i69.i295 = phi i64 [ 0, %for.body.i71.i.lr.ph ], [ %inc.i73.i, %for.body.i71.i ]
  %arrayidx10.i.i = getelementptr ptr, ptr %12, i64 %k.0.i69.i295
  %80 = load ptr, ptr %arrayidx10.i.i, align 8
  %arrayidx12.i.i = getelementptr ptr, ptr %add.ptr.i114, i64 %k.0.i69.i295
  store ptr %80, ptr %arrayidx12.i.i, align 8
  %inc.i73.i = add nuw nsw i64 %k.0.i69.i295, 1
  %exitcond313.not = icmp eq i64 %inc.i73.i, %76
  br i1 %exitcond313.not, label %if.end31.i, label %for.body.i71.i

if.else28.i.sink.split:
  call fastcc void @fail(ptr noundef nonnull %spec) #17
  br label %if.else28.i

if.else28.i:
  %81 = load i64, ptr %outputs, align 8
  call fastcc void @decref_all(ptr noundef nonnull %12, i64 noundef %81) #17
  br label %if.end31.i

if.end31.i:
  %storemerge.i = phi ptr [ null, %if.else28.i ], [ %77, %if.then.i75.i ], [ null, %if.then4.i.i ], [ %cond.i.i, %if.end8.i.i ], [ %cond.i.i, %for.body.i71.i ]
  store ptr %storemerge.i, ptr %answer, align 8
  br label %run_call.exit

run_call.exit:
  %retval.0.i = phi i1 [ true, %if.end31.i ], [ false, %if.end52 ], [ false, %new_outputs.exit.i ], [ false, %for.body5.i ]
  %tobool55.not = icmp eq i64 %call.sroa.38.0, 0
  br i1 %tobool55.not, label %cleanup65, label %if.then56

if.then56:
  call fastcc void @decref_all(ptr noundef %call.sroa.36.0, i64 noundef %call.sroa.38.0) #17
  br label %cleanup65

cleanup65:
  %retval.4 = phi i1 [ false, %if.else ], [ false, %if.then ], [ false, %if.then36 ], [ false, %take_arguments.exit ], [ %retval.0.i, %if.then56 ], [ %retval.0.i, %run_call.exit ], [ false, %match_shape.exit.thread ], [ false, %match_shape.exit ], [ false, %if.end4.i ], [ false, %lor.lhs.false7.i ], [ false, %if.then.i ], [ false, %take_argument.exit ]
  ret i1 %retval.4
}

declare ptr @PyObject_Vectorcall(ptr noundef, ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define ptr @tx_vectorcall(ptr nocapture noundef readonly %object, ptr noundef %arguments, i64 noundef %count, ptr noundef %keywords) local_unnamed_addr #0 {
entry:
  %answer = alloca ptr, align 8
  %target1 = getelementptr inbounds i8, ptr %object, i64 24
  %0 = load ptr, ptr %target1, align 8
  %1 = load i64, ptr %0, align 8
  %add.i = add i64 %1, 1
  %cmp.i25 = icmp ult i64 %add.i, 2147483648
  br i1 %cmp.i25, label %if.then.i27, label %if.else.i26

if.then.i27:
  store i64 %add.i, ptr %0, align 8
  br label %incref.exit

if.else.i26:
  tail call void @Py_IncRef(ptr noundef nonnull %0) #18
  br label %incref.exit

incref.exit:
  %2 = load ptr, ptr %target1, align 8
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %answer) #14
  %ob_type = getelementptr inbounds i8, ptr %2, i64 8
  %3 = load ptr, ptr %ob_type, align 8
  %cmp = icmp eq ptr %3, @PyTuple_Type
  br i1 %cmp, label %if.then, label %if.end5

if.then:
  %4 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i = getelementptr i8, ptr %2, i64 %4
  %5 = load ptr, ptr %add.ptr.i, align 8
  %6 = load i64, ptr @python_bytes_data, align 8
  %add.ptr1.i = getelementptr i8, ptr %5, i64 %6
  %7 = load ptr, ptr %add.ptr1.i, align 8
  %and = and i64 %count, 9223372036854775807
  %latest1.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 16
  %8 = load atomic i64, ptr %latest1.i monotonic, align 8
  %specs.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 24
  %arrayidx.i = getelementptr [0 x ptr], ptr %specs.i, i64 0, i64 %8
  %9 = load ptr, ptr %arrayidx.i, align 8
  %call.i = call fastcc i1 @serve(ptr noundef %9, ptr noundef %arguments, i64 noundef %and, ptr noundef %keywords, ptr noundef nonnull %answer) #17
  br i1 %call.i, label %if.then4, label %for.cond.i.preheader

for.cond.i.preheader:
  %count.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 8
  %10 = load i64, ptr %count.i, align 8
  %cmp.not.i34 = icmp sgt i64 %10, 0
  br i1 %cmp.not.i34, label %for.body.i, label %if.end5

for.body.i:
  %11 = phi i64 [ %13, %for.inc.i ], [ %10, %for.cond.i.preheader ]
  %k.0.i35 = phi i64 [ %inc.i, %for.inc.i ], [ 0, %for.cond.i.preheader ]
  %cmp2.i = icmp eq i64 %k.0.i35, %8
  br i1 %cmp2.i, label %for.inc.i, label %lor.lhs.false.i

lor.lhs.false.i:
  %arrayidx4.i = getelementptr [0 x ptr], ptr %specs.i, i64 0, i64 %k.0.i35
  %12 = load ptr, ptr %arrayidx4.i, align 8
  %call5.i = call fastcc i1 @serve(ptr noundef %12, ptr noundef %arguments, i64 noundef %and, ptr noundef %keywords, ptr noundef nonnull %answer) #17
  br i1 %call5.i, label %if.end7.i, label %lor.lhs.false.i.for.inc.i_crit_edge

lor.lhs.false.i.for.inc.i_crit_edge:
  %.pre = load i64, ptr %count.i, align 8
  br label %for.inc.i

if.end7.i:
  store atomic i64 %k.0.i35, ptr %latest1.i monotonic, align 8
  br label %if.then4

for.inc.i:
  %13 = phi i64 [ %.pre, %lor.lhs.false.i.for.inc.i_crit_edge ], [ %11, %for.body.i ]
  %inc.i = add nuw nsw i64 %k.0.i35, 1
  %cmp.not.i = icmp slt i64 %inc.i, %13
  br i1 %cmp.not.i, label %for.body.i, label %if.end5

if.then4:
  %14 = load i64, ptr %2, align 8
  %sub1.i19 = add i64 %14, -2
  %cmp.i20 = icmp ult i64 %sub1.i19, 2147483647
  br i1 %cmp.i20, label %if.then.i22, label %if.else.i21

if.then.i22:
  %sub.i23 = add nsw i64 %14, -1
  store i64 %sub.i23, ptr %2, align 8
  br label %cleanup.thread

if.else.i21:
  tail call void @Py_DecRef(ptr noundef nonnull %2) #18
  br label %cleanup.thread

cleanup.thread:
  %15 = load ptr, ptr %answer, align 8
  br label %cleanup7

if.end5:
  %function.0 = phi ptr [ %2, %incref.exit ], [ %7, %for.cond.i.preheader ], [ %7, %for.inc.i ]
  %call6 = tail call ptr @PyObject_Vectorcall(ptr noundef %function.0, ptr noundef %arguments, i64 noundef %count, ptr noundef %keywords) #18
  %16 = load i64, ptr %2, align 8
  %sub1.i = add i64 %16, -2
  %cmp.i = icmp ult i64 %sub1.i, 2147483647
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  %sub.i = add nsw i64 %16, -1
  store i64 %sub.i, ptr %2, align 8
  br label %cleanup7

if.else.i:
  tail call void @Py_DecRef(ptr noundef nonnull %2) #18
  br label %cleanup7

cleanup7:
  %retval.1 = phi ptr [ %15, %cleanup.thread ], [ %call6, %if.then.i ], [ %call6, %if.else.i ]
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %answer) #14
  ret ptr %retval.1
}

; Function Attrs: noinline nounwind
define ptr @tx_run(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %arguments, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %0 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i = getelementptr i8, ptr %self, i64 %0
  %1 = load ptr, ptr %add.ptr.i, align 8
  %2 = load i64, ptr @python_bytes_data, align 8
  %add.ptr1.i = getelementptr i8, ptr %1, i64 %2
  %sub = add i64 %count, -1
  %arrayidx = getelementptr ptr, ptr %arguments, i64 %sub
  %3 = load ptr, ptr %arrayidx, align 8
  %sizes = getelementptr inbounds i8, ptr %add.ptr1.i, i64 24
  %4 = load i64, ptr %sizes, align 8
  %add1 = add i64 %4, %count
  %mul = shl i64 %add1, 3
  %5 = alloca i8, i64 %mul, align 16
  %prefix.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 120
  %6 = load i64, ptr %prefix.i, align 8
  store i64 %6, ptr %5, align 16
  %add.ptr.i26 = getelementptr i8, ptr %5, i64 8
  %cmp36 = icmp sgt i64 %sub, 0
  br i1 %cmp36, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  %add.ptr = getelementptr %union.Slot, ptr %5, i64 %count
  %data5 = getelementptr inbounds i8, ptr %3, i64 16
  %7 = load ptr, ptr %data5, align 8
  %mul7 = shl i64 %4, 3
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %add.ptr, ptr align 1 %7, i64 %mul7, i1 false)
  %duration.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 32
  %8 = load i64, ptr %duration.i, align 8
  switch i64 %8, label %lor.lhs.false.i [
    i64 2, label %if.then.i
    i64 1, label %if.then8.i
  ]

if.then.i:
  %9 = load ptr, ptr %add.ptr1.i, align 8
  %call.i = call i32 %9(ptr noundef %add.ptr.i26) #18
  %cmp2.i = icmp eq i32 %call.i, 0
  br i1 %cmp2.i, label %if.end, label %run_kernel.exit.thread32

run_kernel.exit.thread32:
  call fastcc void @fail(ptr noundef nonnull %add.ptr1.i) #17
  br label %cleanup

lor.lhs.false.i:
  %short_up_to.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 112
  %10 = load i64, ptr %short_up_to.i, align 8
  %tobool.not.i = icmp eq i64 %10, 0
  br i1 %tobool.not.i, label %if.end20.i, label %land.lhs.true.i

land.lhs.true.i:
  %inputs.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 8
  %11 = load i64, ptr %inputs.i, align 8
  %add.ptr.i27 = getelementptr %union.Slot, ptr %add.ptr.i26, i64 %11
  %outputs.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 16
  %12 = load i64, ptr %outputs.i, align 8
  %add.ptr1.i28 = getelementptr %union.Slot, ptr %add.ptr.i27, i64 %12
  %cmp.not.i.not38 = icmp sgt i64 %4, 0
  br i1 %cmp.not.i.not38, label %for.body.i, label %if.then8.i

for.cond.i:
  %inc.i = add nuw nsw i64 %k.0.i39, 1
  %exitcond40.not = icmp eq i64 %inc.i, %4
  br i1 %exitcond40.not, label %if.then8.i, label %for.body.i

for.body.i:
  %k.0.i39 = phi i64 [ %inc.i, %for.cond.i ], [ 0, %land.lhs.true.i ]
  %arrayidx.i = getelementptr %union.Slot, ptr %add.ptr1.i28, i64 %k.0.i39
  %13 = load i64, ptr %arrayidx.i, align 8
  %cmp3.i = icmp ugt i64 %13, %10
  br i1 %cmp3.i, label %if.end20.i, label %for.cond.i

if.then8.i:
  %call9.i = tail call ptr @PyEval_SaveThread() #18
  %14 = load ptr, ptr %add.ptr1.i, align 8
  %call11.i = call i32 %14(ptr noundef %add.ptr.i26) #18
  call void @PyEval_RestoreThread(ptr noundef %call9.i) #18
  switch i32 %call11.i, label %run_kernel.exit [
    i32 1, label %if.end20.i
    i32 0, label %if.end
  ]

if.end20.i:
  %call21.i = call fastcc i1 @run_interruptible(ptr noundef %add.ptr1.i, ptr noundef %add.ptr.i26) #17
  br i1 %call21.i, label %if.end, label %cleanup

run_kernel.exit:
  call fastcc void @fail(ptr noundef nonnull %add.ptr1.i) #17
  br label %cleanup

for.body:
  %k.037 = phi i64 [ %inc, %for.body ], [ 0, %entry ]
  %arrayidx3 = getelementptr ptr, ptr %arguments, i64 %k.037
  %15 = load ptr, ptr %arrayidx3, align 8
  %data = getelementptr inbounds i8, ptr %15, i64 16
  %16 = load ptr, ptr %data, align 8
  %arrayidx4 = getelementptr %union.Slot, ptr %add.ptr.i26, i64 %k.037
  store ptr %16, ptr %arrayidx4, align 8
  %inc = add nuw nsw i64 %k.037, 1
  %exitcond.not = icmp eq i64 %inc, %sub
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

if.end:
  call void @Py_IncRef(ptr noundef %3) #18
  br label %cleanup

cleanup:
  %retval.0 = phi ptr [ %3, %if.end ], [ null, %run_kernel.exit ], [ null, %run_kernel.exit.thread32 ], [ null, %if.end20.i ]
  ret ptr %retval.0
}

declare void @Py_IncRef(ptr noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define noundef ptr @tx_run_at(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %arguments, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %overflow.i = alloca i32, align 4
  %0 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i = getelementptr i8, ptr %self, i64 %0
  %1 = load ptr, ptr %add.ptr.i, align 8
  %2 = load i64, ptr @python_bytes_data, align 8
  %add.ptr1.i = getelementptr i8, ptr %1, i64 %2
  %add = shl i64 %count, 3
  %mul = add i64 %add, 8
  %3 = alloca i8, i64 %mul, align 16
  %prefix.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 120
  %4 = load i64, ptr %prefix.i, align 8
  store i64 %4, ptr %3, align 16
  %add.ptr.i7 = getelementptr i8, ptr %3, i64 8
  %cmp.i23 = icmp sgt i64 %count, 0
  br i1 %cmp.i23, label %for.body.i, label %slots_of_integers.exit

for.body.i:
  %k.0.i24 = phi i64 [ %inc.i, %for.body.i ], [ 0, %entry ]
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %overflow.i) #14
  %arrayidx.i = getelementptr ptr, ptr %arguments, i64 %k.0.i24
  %5 = load ptr, ptr %arrayidx.i, align 8
  %call.i8 = call i64 @PyLong_AsLongLongAndOverflow(ptr noundef %5, ptr noundef nonnull %overflow.i) #18
  %arrayidx1.i = getelementptr %union.Slot, ptr %add.ptr.i7, i64 %k.0.i24
  store i64 %call.i8, ptr %arrayidx1.i, align 8
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %overflow.i) #14
  %inc.i = add nuw nsw i64 %k.0.i24, 1
  %exitcond.not = icmp eq i64 %inc.i, %count
  br i1 %exitcond.not, label %slots_of_integers.exit, label %for.body.i

slots_of_integers.exit:
  %duration.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 32
  %6 = load i64, ptr %duration.i, align 8
  switch i64 %6, label %lor.lhs.false.i [
    i64 2, label %if.then.i
    i64 1, label %if.then8.i
  ]

if.then.i:
  %7 = load ptr, ptr %add.ptr1.i, align 8
  %call.i = call i32 %7(ptr noundef %add.ptr.i7) #18
  %cmp2.i = icmp eq i32 %call.i, 0
  br i1 %cmp2.i, label %if.end, label %run_kernel.exit.thread19

run_kernel.exit.thread19:
  call fastcc void @fail(ptr noundef nonnull %add.ptr1.i) #17
  br label %cleanup

lor.lhs.false.i:
  %short_up_to.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 112
  %8 = load i64, ptr %short_up_to.i, align 8
  %tobool.not.i = icmp eq i64 %8, 0
  br i1 %tobool.not.i, label %if.end20.i, label %land.lhs.true.i

land.lhs.true.i:
  %inputs.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 8
  %9 = load i64, ptr %inputs.i, align 8
  %add.ptr.i9 = getelementptr %union.Slot, ptr %add.ptr.i7, i64 %9
  %outputs.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 16
  %10 = load i64, ptr %outputs.i, align 8
  %add.ptr1.i10 = getelementptr %union.Slot, ptr %add.ptr.i9, i64 %10
  %sizes2.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 24
  %11 = load i64, ptr %sizes2.i, align 8
  %cmp.not.i.not25 = icmp sgt i64 %11, 0
  br i1 %cmp.not.i.not25, label %for.body.i13, label %if.then8.i

for.cond.i11:
  %inc.i15 = add nuw nsw i64 %k.0.i1226, 1
  %exitcond27.not = icmp eq i64 %inc.i15, %11
  br i1 %exitcond27.not, label %if.then8.i, label %for.body.i13

for.body.i13:
  %k.0.i1226 = phi i64 [ %inc.i15, %for.cond.i11 ], [ 0, %land.lhs.true.i ]
  %arrayidx.i14 = getelementptr %union.Slot, ptr %add.ptr1.i10, i64 %k.0.i1226
  %12 = load i64, ptr %arrayidx.i14, align 8
  %cmp3.i = icmp ugt i64 %12, %8
  br i1 %cmp3.i, label %if.end20.i, label %for.cond.i11

if.then8.i:
  %call9.i = call ptr @PyEval_SaveThread() #18
  %13 = load ptr, ptr %add.ptr1.i, align 8
  %call11.i = call i32 %13(ptr noundef %add.ptr.i7) #18
  call void @PyEval_RestoreThread(ptr noundef %call9.i) #18
  switch i32 %call11.i, label %run_kernel.exit [
    i32 1, label %if.end20.i
    i32 0, label %if.end
  ]

if.end20.i:
  %call21.i = call fastcc i1 @run_interruptible(ptr noundef %add.ptr1.i, ptr noundef %add.ptr.i7) #17
  br i1 %call21.i, label %if.end, label %cleanup

run_kernel.exit:
  call fastcc void @fail(ptr noundef nonnull %add.ptr1.i) #17
  br label %cleanup

if.end:
  call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #18
  br label %cleanup

cleanup:
  %retval.0 = phi ptr [ @_Py_NoneStruct, %if.end ], [ null, %run_kernel.exit ], [ null, %run_kernel.exit.thread19 ], [ null, %if.end20.i ]
  ret ptr %retval.0
}

; Function Attrs: noinline nounwind
define ptr @tx_call_at(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %arguments, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %overflow.i = alloca i32, align 4
  %0 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i = getelementptr i8, ptr %self, i64 %0
  %1 = load ptr, ptr %add.ptr.i, align 8
  %2 = load i64, ptr @python_bytes_data, align 8
  %add.ptr1.i = getelementptr i8, ptr %1, i64 %2
  %add = add i64 %count, 1
  %outputs = getelementptr inbounds i8, ptr %add.ptr1.i, i64 16
  %3 = load i64, ptr %outputs, align 8
  %add1 = add i64 %add, %3
  %mul = shl i64 %add1, 3
  %4 = alloca i8, i64 %mul, align 16
  %prefix.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 120
  %5 = load i64, ptr %prefix.i, align 8
  store i64 %5, ptr %4, align 16
  %add.ptr.i35 = getelementptr i8, ptr %4, i64 8
  %mul4 = shl i64 %3, 3
  %6 = alloca i8, i64 %mul4, align 16
  %words.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 176
  %checks.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 104
  %7 = load i64, ptr %checks.i, align 8
  %add.ptr.i62 = getelementptr %struct.ValueCheck, ptr %words.i, i64 %7
  %sizes.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 24
  %8 = load i64, ptr %sizes.i, align 8
  %add.ptr.i38 = getelementptr i64, ptr %add.ptr.i62, i64 %8
  %cmp121 = icmp sgt i64 %count, 0
  br i1 %cmp121, label %for.body, label %slots_of_integers.exit

for.cond.i.preheader:
  br i1 %cmp121, label %for.body.i, label %slots_of_integers.exit

for.body.i:
  %k.0.i125 = phi i64 [ %inc.i, %for.body.i ], [ 0, %for.cond.i.preheader ]
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %overflow.i) #14
  %arrayidx.i = getelementptr ptr, ptr %arguments, i64 %k.0.i125
  %9 = load ptr, ptr %arrayidx.i, align 8
  %call.i36 = call i64 @PyLong_AsLongLongAndOverflow(ptr noundef %9, ptr noundef nonnull %overflow.i) #18
  %arrayidx1.i = getelementptr %union.Slot, ptr %add.ptr.i35, i64 %k.0.i125
  store i64 %call.i36, ptr %arrayidx1.i, align 8
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %overflow.i) #14
  %inc.i = add nuw nsw i64 %k.0.i125, 1
  %exitcond146.not = icmp eq i64 %inc.i, %count
  br i1 %exitcond146.not, label %slots_of_integers.exit.loopexit, label %for.body.i

slots_of_integers.exit.loopexit:
  %.pre = load i64, ptr %outputs, align 8
  br label %slots_of_integers.exit

slots_of_integers.exit:
  %record.0.lcssa151 = phi ptr [ %add.ptr.i39, %slots_of_integers.exit.loopexit ], [ %add.ptr.i39, %for.cond.i.preheader ], [ %add.ptr.i38, %entry ]
  %10 = phi i64 [ %.pre, %slots_of_integers.exit.loopexit ], [ %3, %for.cond.i.preheader ], [ %3, %entry ]
  %add.ptr = getelementptr %union.Slot, ptr %add.ptr.i35, i64 %count
  %cmp.not.i.not130 = icmp sgt i64 %10, 0
  br i1 %cmp.not.i.not130, label %for.body.i42.lr.ph, label %if.end

for.body.i42.lr.ph:
  %set_handler.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 88
  %memory_handler.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 96
  %new_from_descr.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 80
  %ndarray.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 72
  br label %for.body.i42

for.body.i42:
  %k.0.i41132 = phi i64 [ 0, %for.body.i42.lr.ph ], [ %inc.i46, %for.inc.i ]
  %record.addr.0.i131 = phi ptr [ %record.0.lcssa151, %for.body.i42.lr.ph ], [ %add.ptr.i.i, %for.inc.i ]
  %savedstack = call ptr @llvm.stacksave.p0()
  %rank.i73 = getelementptr inbounds i8, ptr %record.addr.0.i131, i64 16
  %11 = load i64, ptr %rank.i73, align 8
  %mul.i = shl i64 %11, 3
  %12 = alloca i8, i64 %mul.i, align 16
  %item_bytes.i = getelementptr inbounds i8, ptr %record.addr.0.i131, i64 8
  %13 = load i64, ptr %item_bytes.i, align 8
  %cmp.not.i76126 = icmp sgt i64 %11, 0
  br i1 %cmp.not.i76126, label %for.body.i80.lr.ph, label %for.end.i

for.body.i80.lr.ph:
  %extents.i81 = getelementptr inbounds i8, ptr %record.addr.0.i131, i64 32
  br label %for.body.i80

for.body.i80:
  %k.0.i75128 = phi i64 [ 0, %for.body.i80.lr.ph ], [ %inc.i85, %if.end.i84 ]
  %bytes.0.i127 = phi i64 [ %13, %for.body.i80.lr.ph ], [ %mul6.i, %if.end.i84 ]
  %arrayidx.i82 = getelementptr [0 x i64], ptr %extents.i81, i64 0, i64 %k.0.i75128
  %14 = load i64, ptr %arrayidx.i82, align 8
  %cmp.i.i = icmp sgt i64 %14, -1
  br i1 %cmp.i.i, label %extent_of.exit.i.thread, label %extent_of.exit.i

extent_of.exit.i.thread:
  %arrayidx2.i8397 = getelementptr i64, ptr %12, i64 %k.0.i75128
  store i64 %14, ptr %arrayidx2.i8397, align 8
  br label %if.end.i84

extent_of.exit.i:
  %not.i.i = xor i64 %14, -1
  %arrayidx.i.i = getelementptr %union.Slot, ptr %add.ptr.i35, i64 %not.i.i
  %15 = load i64, ptr %arrayidx.i.i, align 8
  %arrayidx2.i83 = getelementptr i64, ptr %12, i64 %k.0.i75128
  store i64 %15, ptr %arrayidx2.i83, align 8
  %cmp4.i = icmp slt i64 %15, 0
  br i1 %cmp4.i, label %new_outputs.exit, label %if.end.i84

if.end.i84:
  %cond.i.i99 = phi i64 [ %14, %extent_of.exit.i.thread ], [ %15, %extent_of.exit.i ]
  %mul6.i = mul i64 %cond.i.i99, %bytes.0.i127
  %inc.i85 = add nuw nsw i64 %k.0.i75128, 1
  %16 = load i64, ptr %rank.i73, align 8
  %cmp.not.i76 = icmp slt i64 %inc.i85, %16
  br i1 %cmp.not.i76, label %for.body.i80, label %for.end.i

for.end.i:
  %17 = phi i64 [ %11, %for.body.i42 ], [ %16, %if.end.i84 ]
  %bytes.0.i.lcssa = phi i64 [ %13, %for.body.i42 ], [ %mul6.i, %if.end.i84 ]
  %.old.i = load i64, ptr @memory_limit, align 8
  %cmp7.old.i = icmp ugt i64 %bytes.0.i.lcssa, %.old.i
  br i1 %cmp7.old.i, label %new_outputs.exit, label %if.end9.i

if.end9.i:
  %18 = load ptr, ptr %record.addr.0.i131, align 8
  %cmp.i87 = icmp sgt i64 %bytes.0.i.lcssa, 65535
  br i1 %cmp.i87, label %cond.true.i94, label %cond.end.i88

cond.true.i94:
  %19 = load ptr, ptr %set_handler.i, align 8
  %20 = load ptr, ptr %memory_handler.i, align 8
  %call.i95 = call ptr %19(ptr noundef %20) #18
  br label %cond.end.i88

cond.end.i88:
  %cond.i89 = phi ptr [ %call.i95, %cond.true.i94 ], [ null, %if.end9.i ]
  call void @Py_IncRef(ptr noundef %18) #18
  %21 = load ptr, ptr %new_from_descr.i, align 8
  %22 = load ptr, ptr %ndarray.i, align 8
  %conv.i = trunc i64 %17 to i32
  %call1.i = call ptr %21(ptr noundef %22, ptr noundef %18, i32 noundef %conv.i, ptr noundef nonnull %12, ptr noundef null, ptr noundef null, i32 noundef 0, ptr noundef null) #18
  %tobool.not.i90 = icmp eq ptr %cond.i89, null
  br i1 %tobool.not.i90, label %new_array.exit, label %if.then.i91

if.then.i91:
  %23 = load ptr, ptr %set_handler.i, align 8
  %call3.i92 = call ptr %23(ptr noundef nonnull %cond.i89) #18
  call void @Py_DecRef(ptr noundef %call3.i92) #18
  call void @Py_DecRef(ptr noundef nonnull %cond.i89) #18
  br label %new_array.exit

new_array.exit:
  %tobool.not.i78 = icmp eq ptr %call1.i, null
  br i1 %tobool.not.i78, label %if.then12.i, label %for.inc.i

if.then12.i:
  call void @PyErr_Clear() #18
  br label %new_outputs.exit

for.inc.i:
  call void @llvm.stackrestore.p0(ptr %savedstack)
  %arrayidx.i44 = getelementptr ptr, ptr %6, i64 %k.0.i41132
  store ptr %call1.i, ptr %arrayidx.i44, align 8
  %data.i = getelementptr inbounds i8, ptr %call1.i, i64 16
  %24 = load ptr, ptr %data.i, align 8
  %arrayidx2.i = getelementptr %union.Slot, ptr %add.ptr, i64 %k.0.i41132
  store ptr %24, ptr %arrayidx2.i, align 8
  %inc.i46 = add nuw nsw i64 %k.0.i41132, 1
  %extents.i.i = getelementptr inbounds i8, ptr %record.addr.0.i131, i64 32
  %25 = load i64, ptr %rank.i73, align 8
  %add.ptr.i.i = getelementptr i64, ptr %extents.i.i, i64 %25
  %exitcond147.not = icmp eq i64 %inc.i46, %10
  br i1 %exitcond147.not, label %if.end, label %for.body.i42

new_outputs.exit:
  call void @llvm.stackrestore.p0(ptr %savedstack)
  call fastcc void @decref_all(ptr noundef nonnull %6, i64 noundef %k.0.i41132) #17
  call fastcc void @fail(ptr noundef %add.ptr1.i) #17
  br label %cleanup

for.body:
  %k.0123 = phi i64 [ %inc, %for.body ], [ 0, %entry ]
  %record.0122 = phi ptr [ %add.ptr.i39, %for.body ], [ %add.ptr.i38, %entry ]
  %extents.i = getelementptr inbounds i8, ptr %record.0122, i64 32
  %rank.i = getelementptr inbounds i8, ptr %record.0122, i64 16
  %26 = load i64, ptr %rank.i, align 8
  %add.ptr.i39 = getelementptr i64, ptr %extents.i, i64 %26
  %inc = add nuw nsw i64 %k.0123, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %for.cond.i.preheader, label %for.body

if.end:
  %duration.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 32
  %27 = load i64, ptr %duration.i, align 8
  switch i64 %27, label %lor.lhs.false.i [
    i64 2, label %if.then.i
    i64 1, label %if.then8.i
  ]

if.then.i:
  %28 = load ptr, ptr %add.ptr1.i, align 8
  %call.i = call i32 %28(ptr noundef %add.ptr.i35) #18
  %cmp2.i = icmp eq i32 %call.i, 0
  br i1 %cmp2.i, label %if.then10, label %if.end12.sink.split

lor.lhs.false.i:
  %short_up_to.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 112
  %29 = load i64, ptr %short_up_to.i, align 8
  %tobool.not.i = icmp eq i64 %29, 0
  br i1 %tobool.not.i, label %if.end20.i, label %land.lhs.true.i

land.lhs.true.i:
  %inputs.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 8
  %30 = load i64, ptr %inputs.i, align 8
  %add.ptr.i64 = getelementptr %union.Slot, ptr %add.ptr.i35, i64 %30
  %31 = load i64, ptr %outputs, align 8
  %add.ptr1.i65 = getelementptr %union.Slot, ptr %add.ptr.i64, i64 %31
  %32 = load i64, ptr %sizes.i, align 8
  %cmp.not.i68.not133 = icmp sgt i64 %32, 0
  br i1 %cmp.not.i68.not133, label %for.body.i69, label %if.then8.i

for.cond.i66:
  %inc.i72 = add nuw nsw i64 %k.0.i67134, 1
  %exitcond148.not = icmp eq i64 %inc.i72, %32
  br i1 %exitcond148.not, label %if.then8.i, label %for.body.i69

for.body.i69:
  %k.0.i67134 = phi i64 [ %inc.i72, %for.cond.i66 ], [ 0, %land.lhs.true.i ]
  %arrayidx.i70 = getelementptr %union.Slot, ptr %add.ptr1.i65, i64 %k.0.i67134
  %33 = load i64, ptr %arrayidx.i70, align 8
  %cmp3.i = icmp ugt i64 %33, %29
  br i1 %cmp3.i, label %if.end20.i, label %for.cond.i66

if.then8.i:
  %call9.i = call ptr @PyEval_SaveThread() #18
  %34 = load ptr, ptr %add.ptr1.i, align 8
  %call11.i = call i32 %34(ptr noundef %add.ptr.i35) #18
  call void @PyEval_RestoreThread(ptr noundef %call9.i) #18
  switch i32 %call11.i, label %if.end12.sink.split [
    i32 1, label %if.end20.i
    i32 0, label %if.then10
  ]

if.end20.i:
  %call21.i = call fastcc i1 @run_interruptible(ptr noundef %add.ptr1.i, ptr noundef %add.ptr.i35) #17
  br i1 %call21.i, label %if.then10, label %if.end12

if.then10:
  %result_type.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 56
  %35 = load ptr, ptr %result_type.i, align 8
  %36 = load i64, ptr %outputs, align 8
  %tobool.not.i49 = icmp eq ptr %35, null
  br i1 %tobool.not.i49, label %if.then.i60, label %if.end.i50

if.then.i60:
  %37 = load ptr, ptr %6, align 16
  br label %cleanup

if.end.i50:
  %cmp.i51 = icmp eq ptr %35, @PyTuple_Type
  br i1 %cmp.i51, label %cond.true.i, label %cond.false.i

cond.true.i:
  %call.i59 = call ptr @PyTuple_New(i64 noundef %36) #18
  br label %cond.end.i

cond.false.i:
  %call2.i = call ptr @PyType_GenericAlloc(ptr noundef nonnull %35, i64 noundef %36) #18
  br label %cond.end.i

cond.end.i:
  %cond.i = phi ptr [ %call.i59, %cond.true.i ], [ %call2.i, %cond.false.i ]
  %tobool3.not.i = icmp eq ptr %cond.i, null
  br i1 %tobool3.not.i, label %if.then4.i, label %if.end5.i

if.then4.i:
  call fastcc void @decref_all(ptr noundef nonnull %6, i64 noundef %36) #17
  br label %cleanup

if.end5.i:
  %38 = load i64, ptr @python_tuple_hash, align 8
  %tobool6.not.i = icmp eq i64 %38, 0
  br i1 %tobool6.not.i, label %if.end8.i, label %if.then7.i

if.then7.i:
  %add.ptr.i52 = getelementptr i8, ptr %cond.i, i64 %38
  store i64 -1, ptr %add.ptr.i52, align 8
  br label %if.end8.i

if.end8.i:
  %cmp9.i135 = icmp sgt i64 %36, 0
  br i1 %cmp9.i135, label %for.body.i56.lr.ph, label %cleanup

for.body.i56.lr.ph:
  %add.ptr.i63 = getelementptr i8, ptr %cond.i, i64 %0
  br label %for.body.i56

for.body.i56:
  %k.0.i54136 = phi i64 [ 0, %for.body.i56.lr.ph ], [ %inc.i58, %for.body.i56 ]
  %arrayidx10.i = getelementptr ptr, ptr %6, i64 %k.0.i54136
  %39 = load ptr, ptr %arrayidx10.i, align 8
  %arrayidx12.i = getelementptr ptr, ptr %add.ptr.i63, i64 %k.0.i54136
  store ptr %39, ptr %arrayidx12.i, align 8
  %inc.i58 = add nuw nsw i64 %k.0.i54136, 1
  %exitcond149.not = icmp eq i64 %inc.i58, %36
  br i1 %exitcond149.not, label %cleanup, label %for.body.i56

if.end12.sink.split:
  call fastcc void @fail(ptr noundef nonnull %add.ptr1.i) #17
  br label %if.end12

if.end12:
  %40 = load i64, ptr %outputs, align 8
  call fastcc void @decref_all(ptr noundef nonnull %6, i64 noundef %40) #17
  br label %cleanup

cleanup:
  %retval.0 = phi ptr [ null, %if.end12 ], [ null, %new_outputs.exit ], [ %37, %if.then.i60 ], [ null, %if.then4.i ], [ %cond.i, %if.end8.i ], [ %cond.i, %for.body.i56 ]
  ret ptr %retval.0
}

; Function Attrs: noinline nounwind
define internal fastcc void @fail(ptr nocapture noundef readonly %spec) unnamed_addr #0 {
entry:
  %failed = getelementptr inbounds i8, ptr %spec, i64 64
  %0 = load ptr, ptr %failed, align 8
  %call = tail call ptr @PyObject_CallNoArgs(ptr noundef %0) #18
  ret void
}

; Function Attrs: noinline nounwind
define internal fastcc void @decref_all(ptr nocapture noundef readonly %objects, i64 noundef %count) unnamed_addr #0 {
entry:
  %cmp3 = icmp sgt i64 %count, 0
  br i1 %cmp3, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  ret void

for.body:
  %k.04 = phi i64 [ %inc, %for.body ], [ 0, %entry ]
  %arrayidx = getelementptr ptr, ptr %objects, i64 %k.04
  %0 = load ptr, ptr %arrayidx, align 8
  tail call void @Py_DecRef(ptr noundef %0) #18
  %inc = add nuw nsw i64 %k.04, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body
}

; Function Attrs: noinline nounwind
define i32 @tx_sequence(ptr nocapture noundef readonly %slots) local_unnamed_addr #0 {
entry:
  %0 = load ptr, ptr %slots, align 8
  %1 = load i64, ptr %0, align 8
  %cmp.not28 = icmp sgt i64 %1, 0
  br i1 %cmp.not28, label %for.body.lr.ph, label %cleanup11

for.body.lr.ph:
  %launches = getelementptr inbounds i8, ptr %0, i64 16
  br label %for.body

for.body:
  %k.029 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.inc ]
  %2 = load atomic i64, ptr @tx_interrupted monotonic, align 64
  %3 = and i64 %2, 4294967295
  %cmp.i.not = icmp eq i64 %3, 0
  br i1 %cmp.i.not, label %if.end, label %cleanup11

if.end:
  %arrayidx2 = getelementptr [0 x %struct.Launch], ptr %launches, i64 0, i64 %k.029
  %4 = load ptr, ptr %arrayidx2, align 8
  %slots6 = getelementptr inbounds i8, ptr %arrayidx2, i64 8
  %5 = load ptr, ptr %slots6, align 8
  %call7 = tail call i32 %4(ptr noundef %5) #18
  %cmp8.not = icmp eq i32 %call7, 0
  br i1 %cmp8.not, label %for.inc, label %cleanup

cleanup:
  %failure = getelementptr inbounds i8, ptr %0, i64 8
  store i64 %k.029, ptr %failure, align 8
  br label %cleanup11

for.inc:
  %inc = add nuw nsw i64 %k.029, 1
  %exitcond.not = icmp eq i64 %inc, %1
  br i1 %exitcond.not, label %cleanup11, label %for.body

cleanup11:
  %spec.select = phi i32 [ %call7, %cleanup ], [ 0, %entry ], [ 0, %for.inc ], [ 1, %for.body ]
  ret i32 %spec.select
}

; Function Attrs: noinline nounwind
define i32 @tx_function(ptr nocapture noundef readonly %slots) local_unnamed_addr #0 {
entry:
  %sequence = alloca %union.Slot, align 8
  %arrayidx = getelementptr i8, ptr %slots, i64 -8
  %0 = load ptr, ptr %arrayidx, align 8
  %count = getelementptr inbounds i8, ptr %0, i64 8
  %1 = load i64, ptr %count, align 8
  %cmp11 = icmp sgt i64 %1, 0
  br i1 %cmp11, label %for.body.lr.ph, label %for.cond.cleanup

for.body.lr.ph:
  %patches = getelementptr inbounds i8, ptr %0, i64 16
  br label %for.body

for.cond.cleanup:
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %sequence) #14
  %2 = load ptr, ptr %0, align 8
  store ptr %2, ptr %sequence, align 8
  %call = call i32 @tx_sequence(ptr noundef nonnull %sequence) #17
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %sequence) #14
  ret i32 %call

for.body:
  %k.012 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.body ]
  %arrayidx1 = getelementptr [0 x %struct.Patch], ptr %patches, i64 0, i64 %k.012
  %3 = load i64, ptr %arrayidx1, align 8
  %arrayidx2 = getelementptr %union.Slot, ptr %slots, i64 %3
  %4 = load ptr, ptr %arrayidx2, align 8
  %offset = getelementptr inbounds i8, ptr %arrayidx1, i64 8
  %5 = load i64, ptr %offset, align 8
  %add.ptr = getelementptr i8, ptr %4, i64 %5
  %slot = getelementptr inbounds i8, ptr %arrayidx1, i64 16
  %6 = load ptr, ptr %slot, align 8
  store ptr %add.ptr, ptr %6, align 8
  %inc = add nuw nsw i64 %k.012, 1
  %7 = load i64, ptr %count, align 8
  %cmp = icmp slt i64 %inc, %7
  br i1 %cmp, label %for.body, label %for.cond.cleanup
}

; Function Attrs: noinline nounwind
define range(i32 0, 4) i32 @tx_check_range(ptr nocapture noundef readonly %slots) local_unnamed_addr #0 {
entry:
  %0 = load ptr, ptr %slots, align 8
  %arrayidx1 = getelementptr i8, ptr %slots, i64 8
  %1 = load ptr, ptr %arrayidx1, align 8
  %arrayidx2 = getelementptr i8, ptr %slots, i64 16
  %2 = load i64, ptr %arrayidx2, align 8
  %arrayidx3 = getelementptr i8, ptr %slots, i64 24
  %3 = load i64, ptr %arrayidx3, align 8
  %arrayidx4 = getelementptr i8, ptr %slots, i64 32
  %4 = load i64, ptr %arrayidx4, align 8
  %call = tail call i1 %0(ptr noundef %1, i64 noundef %2, i64 noundef %3, i64 noundef %4) #18
  %cond = select i1 %call, i32 0, i32 3
  ret i32 %cond
}

; Function Attrs: noinline nounwind
define i32 @tx_sweep(ptr noundef %slots) local_unnamed_addr #0 {
entry:
  %sweep = alloca %struct.Sweep, align 8
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %sweep) #14
  store ptr %slots, ptr %sweep, align 8
  %result = getelementptr inbounds i8, ptr %sweep, i64 8
  store i32 0, ptr %result, align 8
  %arrayidx = getelementptr i8, ptr %slots, i64 24
  %0 = load i64, ptr %arrayidx, align 8
  %tobool.not = icmp eq i64 %0, 0
  %arrayidx3 = getelementptr i8, ptr %slots, i64 16
  %1 = load i64, ptr %arrayidx3, align 8
  br i1 %tobool.not, label %if.else, label %if.then

if.then:
  call fastcc void @tx_parallel.specialized.1(ptr noundef nonnull %sweep, i64 noundef %1) #17
  br label %if.end

if.else:
  %2 = load ptr, ptr %slots, align 8
  %arrayidx2.i = getelementptr i8, ptr %slots, i64 8
  %3 = load i64, ptr %arrayidx2.i, align 8
  %cmp29.i = icmp sgt i64 %1, 0
  br i1 %cmp29.i, label %for.body.i, label %if.end

for.cond.i:
  %inc.i = add nuw nsw i64 %k.030.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %1
  br i1 %exitcond.not.i, label %if.end, label %for.body.i

for.body.i:
  %k.030.i = phi i64 [ %inc.i, %for.cond.i ], [ 0, %if.else ]
  %4 = load atomic i64, ptr @tx_interrupted monotonic, align 64
  %5 = and i64 %4, 4294967295
  %cmp.i.not.i = icmp eq i64 %5, 0
  br i1 %cmp.i.not.i, label %cond.end.i, label %if.then.i

cond.end.i:
  %mul.i = mul i64 %k.030.i, %3
  %add.ptr.i = getelementptr i8, ptr %2, i64 %mul.i
  %6 = load ptr, ptr %add.ptr.i, align 8
  %slots5.i = getelementptr inbounds i8, ptr %add.ptr.i, i64 8
  %call6.i = tail call i32 %6(ptr noundef nonnull %slots5.i) #18
  %cmp7.not.i = icmp eq i32 %call6.i, 0
  br i1 %cmp7.not.i, label %for.cond.i, label %if.then.i

if.then.i:
  %cond28.i = phi i32 [ %call6.i, %cond.end.i ], [ 1, %for.body.i ]
  store atomic i32 %cond28.i, ptr %result monotonic, align 8
  br label %if.end

if.end:
  %7 = load atomic i32, ptr %result monotonic, align 8
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %sweep) #14
  ret i32 %7
}

; Function Attrs: nounwind
define internal void @sweep_calls(ptr nocapture noundef %context, i64 noundef %lo, i64 noundef %hi) #4 {
entry:
  %0 = load ptr, ptr %context, align 8
  %1 = load ptr, ptr %0, align 8
  %arrayidx2 = getelementptr i8, ptr %0, i64 8
  %2 = load i64, ptr %arrayidx2, align 8
  %cmp29 = icmp slt i64 %lo, %hi
  br i1 %cmp29, label %for.body, label %cleanup10

for.cond:
  %inc = add i64 %k.030, 1
  %exitcond.not = icmp eq i64 %inc, %hi
  br i1 %exitcond.not, label %cleanup10, label %for.body

for.body:
  %k.030 = phi i64 [ %inc, %for.cond ], [ %lo, %entry ]
  %3 = load atomic i64, ptr @tx_interrupted monotonic, align 64
  %4 = and i64 %3, 4294967295
  %cmp.i.not = icmp eq i64 %4, 0
  br i1 %cmp.i.not, label %cond.end, label %if.then

cond.end:
  %mul = mul i64 %k.030, %2
  %add.ptr = getelementptr i8, ptr %1, i64 %mul
  %5 = load ptr, ptr %add.ptr, align 8
  %slots5 = getelementptr inbounds i8, ptr %add.ptr, i64 8
  %call6 = tail call i32 %5(ptr noundef nonnull %slots5) #18
  %cmp7.not = icmp eq i32 %call6, 0
  br i1 %cmp7.not, label %for.cond, label %if.then

if.then:
  %cond28 = phi i32 [ %call6, %cond.end ], [ 1, %for.body ]
  %result8 = getelementptr inbounds i8, ptr %context, i64 8
  store atomic i32 %cond28, ptr %result8 monotonic, align 8
  br label %cleanup10

cleanup10:
  ret void
}

; Function Attrs: noinline nounwind
define void @tx_dlpack_deleter(ptr nocapture noundef readonly %managed) local_unnamed_addr #0 {
entry:
  %type = alloca ptr, align 8
  %value = alloca ptr, align 8
  %traceback = alloca ptr, align 8
  %call = tail call i32 @Py_IsInitialized() #18
  %tobool.not = icmp eq i32 %call, 0
  br i1 %tobool.not, label %return, label %if.end

if.end:
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %type) #14
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %value) #14
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %traceback) #14
  %call1 = tail call i32 @PyGILState_Ensure() #18
  call void @PyErr_Fetch(ptr noundef nonnull %type, ptr noundef nonnull %value, ptr noundef nonnull %traceback) #18
  %owner = getelementptr inbounds i8, ptr %managed, i64 48
  %0 = load ptr, ptr %owner, align 8
  call void @Py_DecRef(ptr noundef %0) #18
  %1 = load ptr, ptr %type, align 8
  %2 = load ptr, ptr %value, align 8
  %3 = load ptr, ptr %traceback, align 8
  call void @PyErr_Restore(ptr noundef %1, ptr noundef %2, ptr noundef %3) #18
  call void @PyGILState_Release(i32 noundef %call1) #18
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %traceback) #14
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %value) #14
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %type) #14
  br label %return

return:
  ret void
}

declare i32 @Py_IsInitialized() local_unnamed_addr #3

declare i32 @PyGILState_Ensure() local_unnamed_addr #3

declare void @PyErr_Fetch(ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #3

declare void @Py_DecRef(ptr noundef) local_unnamed_addr #3

declare void @PyErr_Restore(ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #3

declare void @PyGILState_Release(i32 noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define void @tx_dlpack_capsule_destructor(ptr noundef %capsule) local_unnamed_addr #0 {
entry:
  %call = tail call i32 @PyCapsule_IsValid(ptr noundef %capsule, ptr noundef nonnull @.str) #18
  %tobool.not = icmp eq i32 %call, 0
  br i1 %tobool.not, label %return, label %if.end

if.end:
  %call1 = tail call ptr @PyCapsule_GetPointer(ptr noundef %capsule, ptr noundef nonnull @.str) #18
  %deleter = getelementptr inbounds i8, ptr %call1, i64 56
  %0 = load ptr, ptr %deleter, align 8
  tail call void %0(ptr noundef %call1) #18
  br label %return

return:
  ret void
}

declare i32 @PyCapsule_IsValid(ptr noundef, ptr noundef) local_unnamed_addr #3

declare ptr @PyCapsule_GetPointer(ptr noundef, ptr noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define void @tx_after_fork() local_unnamed_addr #0 {
entry:
  tail call fastcc void @pool_after_fork() #17
  tail call fastcc void @interrupts_after_fork() #17
  tail call fastcc void @memory_after_fork() #17
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nounwind willreturn memory(readwrite, argmem: none, inaccessiblemem: none)
define internal fastcc void @pool_after_fork() unnamed_addr #2 {
entry:
  store atomic i32 0, ptr @pool_busy monotonic, align 64
  store atomic i32 0, ptr @pool_state monotonic, align 64
  store atomic i32 0, ptr @pool_wake monotonic, align 64
  store atomic i32 0, ptr @pool_sleepers monotonic, align 64
  store i64 0, ptr @pool_workers, align 8
  store i32 -1, ptr @pool_last_cpu, align 4
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 4 dereferenceable(1024) @pool_thread_ids, i8 0, i64 1024, i1 false)
  ret void
}

; Function Attrs: noinline nounwind
define internal fastcc void @interrupts_after_fork() unnamed_addr #0 {
entry:
  %call = tail call i64 @pthread_self() #18
  store i64 %call, ptr @main_thread, align 8
  store atomic i32 0, ptr @main_inside monotonic, align 4
  store atomic i64 0, ptr @tx_interrupted monotonic, align 64
  ret void
}

; Function Attrs: mustprogress nofree noinline norecurse nounwind willreturn memory(readwrite, argmem: none, inaccessiblemem: none)
define internal fastcc void @memory_after_fork() unnamed_addr #2 {
entry:
  %0 = load atomic i32, ptr @blocks_busy monotonic, align 4
  %tobool.not = icmp eq i32 %0, 0
  br i1 %tobool.not, label %return, label %if.end

if.end:
  tail call void @llvm.memset.p0.i64(ptr noundef nonnull align 64 dereferenceable(256) @blocks, i8 0, i64 256, i1 false)
  store i64 0, ptr @blocks_bytes, align 8
  store atomic i32 0, ptr @blocks_busy monotonic, align 4
  br label %return

return:
  ret void
}

declare i32 @sigfillset(ptr noundef) local_unnamed_addr #3

declare i32 @pthread_sigmask(i32 noundef, ptr noundef, ptr noundef) local_unnamed_addr #3

declare i32 @pthread_create(ptr noundef, ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #3

; Function Attrs: noreturn nounwind
define internal noalias noundef nonnull ptr @pool_worker(ptr noundef %argument) #11 {
entry:
  %0 = ptrtoint ptr %argument to i64
  %arrayidx = getelementptr [256 x i32], ptr @pool_thread_ids, i64 0, i64 %0
  %call = tail call i64 (i64, ...) @syscall(i64 noundef 178) #18
  %conv = trunc i64 %call to i32
  store atomic i32 %conv, ptr %arrayidx release, align 4
  br label %for.cond

for.cond:
  %seen.0 = phi i32 [ 0, %entry ], [ %4, %for.cond.backedge ]
  %call1 = tail call fastcc i1 @spin_while(ptr noundef nonnull @pool_wake, i32 noundef %seen.0) #17
  br i1 %call1, label %if.end, label %if.then

if.then:
  %1 = atomicrmw add ptr @pool_sleepers, i32 1 seq_cst, align 64
  br label %do.body.i7

do.body.i7:
  %call.i.i = tail call i64 (i64, ...) @syscall(i64 noundef 98, ptr noundef nonnull @pool_wake, i32 noundef 128, i32 noundef %seen.0, ptr noundef null, ptr noundef null, i32 noundef 0) #18
  %2 = load atomic i32, ptr @pool_wake acquire, align 64
  %cmp.i8 = icmp eq i32 %2, %seen.0
  br i1 %cmp.i8, label %do.body.i7, label %sleep_while.exit

sleep_while.exit:
  %3 = atomicrmw sub ptr @pool_sleepers, i32 1 seq_cst, align 64
  br label %if.end

if.end:
  %4 = load atomic i32, ptr @pool_wake acquire, align 64
  %5 = load atomic i32, ptr @pool_state acquire, align 64
  br label %do.body.i

do.body.i:
  %state.0.i = phi i32 [ %5, %if.end ], [ %8, %do.cond.i ]
  %and.i = and i32 %state.0.i, 1073741824
  %tobool.not.i = icmp eq i32 %and.i, 0
  br i1 %tobool.not.i, label %for.cond.backedge, label %do.cond.i

do.cond.i:
  %add.i = add i32 %state.0.i, 1
  %6 = cmpxchg ptr @pool_state, i32 %state.0.i, i32 %add.i acq_rel acquire, align 64
  %7 = extractvalue { i32, i1 } %6, 1
  %8 = extractvalue { i32, i1 } %6, 0
  br i1 %7, label %do.end.i, label %do.body.i

do.end.i:
  %and2.i = and i32 %add.i, 65535
  %conv.i = zext nneg i32 %and2.i to i64
  %9 = load i64, ptr getelementptr inbounds (i8, ptr @pool_job, i64 24), align 8
  %cmp.i = icmp sgt i64 %9, %conv.i
  br i1 %cmp.i, label %if.then3, label %if.end4.sink.split

if.then3:
  %rem = urem i64 %0, %9
  tail call fastcc void @pool_drain(i64 noundef %rem) #17
  br label %if.end4.sink.split

if.end4.sink.split:
  tail call fastcc void @pool_leave() #17
  br label %for.cond.backedge

for.cond.backedge:
  br label %for.cond
}

declare i32 @pthread_detach(i64 noundef) local_unnamed_addr #3

declare i64 @syscall(i64 noundef, ...) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc noundef i1 @spin_while(ptr nocapture noundef readonly %word, i32 noundef %value) unnamed_addr #0 {
entry:
  %time.i = alloca %struct.TimeSpec, align 8
  %0 = load atomic i32, ptr %word acquire, align 4
  %cmp.not16.not = icmp eq i32 %0, %value
  br i1 %cmp.not16.not, label %for.body.lr.ph, label %cleanup10

for.body.lr.ph:
  %nanoseconds.i = getelementptr inbounds i8, ptr %time.i, i64 8
  br label %for.body

for.body:
  %deadline.018 = phi i64 [ 0, %for.body.lr.ph ], [ %deadline.2, %for.inc ]
  %round.017 = phi i64 [ 1, %for.body.lr.ph ], [ %inc, %for.inc ]
  call void @llvm.aarch64.isb(i32 15)
  %rem = and i64 %round.017, 255
  %tobool.not = icmp eq i64 %rem, 0
  br i1 %tobool.not, label %if.end, label %for.inc

if.end:
  %call = call i32 @sched_yield() #18
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %time.i) #14
  %call.i = call i32 @clock_gettime(i32 noundef 1, ptr noundef nonnull %time.i) #18
  %1 = load i64, ptr %time.i, align 8
  %mul.i = mul i64 %1, 1000000000
  %2 = load i64, ptr %nanoseconds.i, align 8
  %add.i = add i64 %mul.i, %2
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %time.i) #14
  %tobool2.not = icmp eq i64 %deadline.018, 0
  %add = add i64 %add.i, 100000
  %spec.select = select i1 %tobool2.not, i64 %add, i64 %deadline.018
  %cmp5.not = icmp sgt i64 %add.i, %spec.select
  br i1 %cmp5.not, label %cleanup10, label %for.inc

for.inc:
  %deadline.2 = phi i64 [ %deadline.018, %for.body ], [ %spec.select, %if.end ]
  %inc = add i64 %round.017, 1
  %3 = load atomic i32, ptr %word acquire, align 4
  %cmp.not.not = icmp eq i32 %3, %value
  br i1 %cmp.not.not, label %for.body, label %cleanup10

cleanup10:
  %cmp.not.lcssa = phi i1 [ true, %entry ], [ true, %for.inc ], [ false, %if.end ]
  ret i1 %cmp.not.lcssa
}

; Function Attrs: noinline nounwind
define internal fastcc void @pool_drain(i64 noundef %home) unnamed_addr #0 {
entry:
  %job.sroa.0.0.copyload = load ptr, ptr @pool_job, align 64
  %job.sroa.4.0.copyload = load ptr, ptr getelementptr inbounds (i8, ptr @pool_job, i64 8), align 8
  %job.sroa.5.0.copyload = load i64, ptr getelementptr inbounds (i8, ptr @pool_job, i64 16), align 16
  %job.sroa.8.0.copyload = load i64, ptr getelementptr inbounds (i8, ptr @pool_job, i64 24), align 8
  %cmp30 = icmp sgt i64 %job.sroa.8.0.copyload, 0
  br i1 %cmp30, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  ret void

for.body:
  %visited.031 = phi i64 [ %inc, %while.end ], [ 0, %entry ]
  %add = add i64 %visited.031, %home
  %rem = urem i64 %add, %job.sroa.8.0.copyload
  %arrayidx = getelementptr [256 x %struct.Queue], ptr @pool_queues, i64 0, i64 %rem
  %end2 = getelementptr inbounds i8, ptr %arrayidx, i64 8
  %0 = load i64, ptr %end2, align 8
  %1 = load atomic i64, ptr %arrayidx monotonic, align 64
  %cmp329 = icmp slt i64 %1, %0
  br i1 %cmp329, label %while.body, label %while.end

while.body:
  %2 = atomicrmw add ptr %arrayidx, i64 %job.sroa.5.0.copyload monotonic, align 64
  %cmp6.not = icmp slt i64 %2, %0
  br i1 %cmp6.not, label %cleanup, label %while.end

cleanup:
  %add8 = add i64 %2, %job.sroa.5.0.copyload
  %cond = tail call i64 @llvm.smin.i64(i64 %add8, i64 %0)
  tail call void %job.sroa.0.0.copyload(ptr noundef %job.sroa.4.0.copyload, i64 noundef %2, i64 noundef %cond) #18
  %3 = load atomic i64, ptr %arrayidx monotonic, align 64
  %cmp3 = icmp slt i64 %3, %0
  br i1 %cmp3, label %while.body, label %while.end

while.end:
  %inc = add nuw nsw i64 %visited.031, 1
  %exitcond.not = icmp eq i64 %inc, %job.sroa.8.0.copyload
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body
}

; Function Attrs: noinline nounwind
define internal fastcc void @pool_leave() unnamed_addr #0 {
entry:
  %0 = atomicrmw sub ptr @pool_state, i32 1 acq_rel, align 64
  %cmp = icmp eq i32 %0, 536870913
  br i1 %cmp, label %if.then, label %if.end

if.then:
  %call.i = tail call i64 (i64, ...) @syscall(i64 noundef 98, ptr noundef nonnull @pool_state, i32 noundef 129, i32 noundef 1, ptr noundef null, ptr noundef null, i32 noundef 0) #18
  br label %if.end

if.end:
  ret void
}

; Function Attrs: mustprogress nofree nounwind willreturn
declare void @llvm.aarch64.isb(i32) #12

; Function Attrs: noinline nounwind
define internal fastcc void @pool_leave_cpu_to_caller() unnamed_addr #0 {
entry:
  %allowed = alloca %struct.BitSet, align 8
  %call = tail call i32 @sched_getcpu() #18
  %0 = load i32, ptr @pool_last_cpu, align 4
  %cmp = icmp eq i32 %call, %0
  %cmp1 = icmp ugt i32 %call, 1023
  %or.cond = or i1 %cmp1, %cmp
  br i1 %or.cond, label %cleanup17, label %if.end

if.end:
  store i32 %call, ptr @pool_last_cpu, align 4
  call void @llvm.lifetime.start.p0(i64 128, ptr nonnull %allowed) #14
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(128) %allowed, i8 0, i64 128, i1 false)
  %call3 = call i32 @sched_getaffinity(i32 noundef 0, i64 noundef 128, ptr noundef nonnull %allowed) #18
  %tobool.not = icmp eq i32 %call3, 0
  br i1 %tobool.not, label %if.end5, label %cleanup

if.end5:
  %rem = and i32 %call, 7
  %shl = shl nuw nsw i32 1, %rem
  %div25 = lshr i32 %call, 3
  %idxprom = zext nneg i32 %div25 to i64
  %arrayidx = getelementptr [128 x i8], ptr %allowed, i64 0, i64 %idxprom
  %1 = load i8, ptr %arrayidx, align 1
  %2 = trunc nuw i32 %shl to i8
  %3 = xor i8 %2, -1
  %conv9 = and i8 %1, %3
  store i8 %conv9, ptr %arrayidx, align 1
  %4 = load i64, ptr @pool_workers, align 8
  %cmp10.not26 = icmp slt i64 %4, 1
  br i1 %cmp10.not26, label %cleanup, label %for.body

for.body:
  %id.027 = phi i64 [ %inc, %if.end16 ], [ 1, %if.end5 ]
  %arrayidx12 = getelementptr [256 x i32], ptr @pool_thread_ids, i64 0, i64 %id.027
  %5 = load atomic i32, ptr %arrayidx12 acquire, align 4
  %tobool13.not = icmp eq i32 %5, 0
  br i1 %tobool13.not, label %if.end16, label %if.then14

if.then14:
  %call15 = call i32 @sched_setaffinity(i32 noundef %5, i64 noundef 128, ptr noundef nonnull %allowed) #18
  br label %if.end16

if.end16:
  %inc = add i64 %id.027, 1
  %6 = load i64, ptr @pool_workers, align 8
  %cmp10.not = icmp sgt i64 %inc, %6
  br i1 %cmp10.not, label %cleanup, label %for.body

cleanup:
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %allowed) #14
  br label %cleanup17

cleanup17:
  ret void
}

declare i32 @sched_getcpu() local_unnamed_addr #3

declare i32 @sched_getaffinity(i32 noundef, i64 noundef, ptr noundef) local_unnamed_addr #3

declare i32 @sched_setaffinity(i32 noundef, i64 noundef, ptr noundef) local_unnamed_addr #3

; Function Attrs: nofree noinline norecurse nounwind memory(readwrite, argmem: none, inaccessiblemem: none)
define internal fastcc noundef i1 @note_if_held() unnamed_addr #6 {
entry:
  %0 = load atomic i64, ptr @tx_interrupted seq_cst, align 64
  br label %do.body

do.body:
  %word.0 = phi i64 [ %0, %entry ], [ %3, %do.cond ]
  %and.i = and i64 %word.0, 4611404543450677248
  %cmp.i.not = icmp ne i64 %and.i, 0
  br i1 %cmp.i.not, label %do.cond, label %cleanup

do.cond:
  %or = or i64 %word.0, -9223372036854775808
  %1 = cmpxchg ptr @tx_interrupted, i64 %word.0, i64 %or seq_cst seq_cst, align 64
  %2 = extractvalue { i64, i1 } %1, 1
  %3 = extractvalue { i64, i1 } %1, 0
  br i1 %2, label %cleanup, label %do.body

cleanup:
  ret i1 %cmp.i.not
}

; Function Attrs: nofree noinline norecurse nounwind memory(readwrite, argmem: none, inaccessiblemem: none)
define internal fastcc void @raise_flag() unnamed_addr #6 {
entry:
  %0 = load atomic i64, ptr @tx_interrupted seq_cst, align 64
  br label %do.body

do.body:
  %word.0 = phi i64 [ %0, %entry ], [ %3, %do.body ]
  %and.i = and i64 %word.0, 4611404543450677248
  %cmp.i.not = icmp eq i64 %and.i, 0
  %cond = select i1 %cmp.i.not, i64 1, i64 4611686018427387904
  %or = or i64 %cond, %word.0
  %1 = cmpxchg ptr @tx_interrupted, i64 %word.0, i64 %or seq_cst seq_cst, align 64
  %2 = extractvalue { i64, i1 } %1, 1
  %3 = extractvalue { i64, i1 } %1, 0
  br i1 %2, label %do.end, label %do.body

do.end:
  ret void
}

declare i32 @pthread_kill(i64 noundef, i32 noundef) local_unnamed_addr #3

declare i32 @clock_gettime(i32 noundef, ptr noundef) local_unnamed_addr #3

declare i64 @pthread_self() local_unnamed_addr #3

declare ptr @aligned_alloc(i64 noundef, i64 noundef) local_unnamed_addr #3

declare i32 @madvise(ptr noundef, i64 noundef, i32 noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc i64 @order_arguments(ptr nocapture noundef readonly %spec, ptr nocapture noundef readonly %arguments, i64 noundef %positional, ptr nocapture noundef readonly %keywords, ptr nocapture noundef %into) unnamed_addr #0 {
entry:
  %inputs1 = getelementptr inbounds i8, ptr %spec, i64 8
  %0 = load i64, ptr %inputs1, align 8
  %outputs = getelementptr inbounds i8, ptr %spec, i64 16
  %1 = load i64, ptr %outputs, align 8
  %add = add i64 %1, %0
  %positional2 = getelementptr inbounds i8, ptr %spec, i64 128
  %2 = load i64, ptr %positional2, align 8
  %cmp = icmp slt i64 %2, %positional
  br i1 %cmp, label %land.lhs.true, label %if.end

land.lhs.true:
  %positional_with_outputs = getelementptr inbounds i8, ptr %spec, i64 136
  %3 = load i64, ptr %positional_with_outputs, align 8
  %cmp3.not = icmp eq i64 %3, %positional
  br i1 %cmp3.not, label %if.end, label %cleanup32

if.end:
  %cmp4103 = icmp sgt i64 %add, 0
  br i1 %cmp4103, label %for.body, label %for.cond6.preheader

for.cond6.preheader:
  %cmp7105 = icmp sgt i64 %positional, 0
  br i1 %cmp7105, label %for.body9, label %for.cond.cleanup8

for.body:
  %k.0104 = phi i64 [ %inc, %for.body ], [ 0, %if.end ]
  %arrayidx = getelementptr ptr, ptr %into, i64 %k.0104
  store ptr null, ptr %arrayidx, align 8
  %inc = add nuw nsw i64 %k.0104, 1
  %exitcond.not = icmp eq i64 %inc, %add
  br i1 %exitcond.not, label %for.cond6.preheader, label %for.body

for.cond.cleanup8:
  %add.ptr = getelementptr ptr, ptr %arguments, i64 %positional
  %4 = load i64, ptr %inputs1, align 8
  %5 = load i64, ptr %outputs, align 8
  %ob_size.i = getelementptr inbounds i8, ptr %keywords, i64 16
  %6 = load i64, ptr %ob_size.i, align 8
  %7 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i58 = getelementptr i8, ptr %keywords, i64 %7
  %names_at.i = getelementptr inbounds i8, ptr %spec, i64 152
  %8 = load i64, ptr %names_at.i, align 8
  %add.ptr.i = getelementptr ptr, ptr %spec, i64 %8
  %add.ptr3.i = getelementptr ptr, ptr %add.ptr.i, i64 %4
  %invariant.gep = getelementptr i8, ptr %add.ptr3.i, i64 8
  %cmp.not.i114 = icmp sgt i64 %6, 0
  br i1 %cmp.not.i114, label %for.body.i.lr.ph, label %for.end.i

for.body.i.lr.ph:
  %out_name.i = getelementptr inbounds i8, ptr %spec, i64 48
  %cmp.i107 = icmp sgt i64 %4, 0
  %constants20.i = getelementptr inbounds i8, ptr %spec, i64 144
  %add.ptr8.i = getelementptr ptr, ptr %into, i64 %4
  br label %for.body.i

for.body.i:
  %given.addr.0.i117 = phi i64 [ %positional, %for.body.i.lr.ph ], [ %given.addr.3.i.ph, %for.inc.i ]
  %matched.0.i116 = phi i64 [ 0, %for.body.i.lr.ph ], [ %matched.3.i.ph, %for.inc.i ]
  %k.0.i115 = phi i64 [ 0, %for.body.i.lr.ph ], [ %inc29.i, %for.inc.i ]
  %arrayidx.i = getelementptr ptr, ptr %add.ptr.i58, i64 %k.0.i115
  %9 = load ptr, ptr %arrayidx.i, align 8
  %arrayidx4.i = getelementptr ptr, ptr %add.ptr, i64 %k.0.i115
  %10 = load ptr, ptr %arrayidx4.i, align 8
  %11 = load ptr, ptr %out_name.i, align 8
  %cmp5.i = icmp eq ptr %9, %11
  br i1 %cmp5.i, label %if.then.i, label %while.cond.i.preheader

while.cond.i.preheader:
  br i1 %cmp.i107, label %land.rhs.i, label %if.else.i

if.then.i:
  %cmp6.i = icmp eq ptr %10, @_Py_NoneStruct
  br i1 %cmp6.i, label %for.inc.i, label %if.end.i

if.end.i:
  %call9.i = tail call fastcc i1 @spread_outputs(ptr noundef %10, i64 noundef %5, ptr noundef %add.ptr8.i) #17
  %add.i = add i64 %given.addr.0.i117, %5
  br i1 %call9.i, label %for.inc.i, label %place_keywords.exit

land.rhs.i:
  %k.0.i59108 = phi i64 [ %inc.i61, %while.body.i ], [ 0, %while.cond.i.preheader ]
  %arrayidx.i60 = getelementptr ptr, ptr %add.ptr.i, i64 %k.0.i59108
  %12 = load ptr, ptr %arrayidx.i60, align 8
  %cmp1.not.i = icmp eq ptr %12, %9
  br i1 %cmp1.not.i, label %if.then15.i, label %while.body.i

while.body.i:
  %inc.i61 = add nuw nsw i64 %k.0.i59108, 1
  %exitcond128.not = icmp eq i64 %inc.i61, %4
  br i1 %exitcond128.not, label %if.else.i, label %land.rhs.i

if.then15.i:
  %arrayidx16.i = getelementptr ptr, ptr %into, i64 %k.0.i59108
  %13 = load ptr, ptr %arrayidx16.i, align 8
  %tobool.not.i = icmp eq ptr %13, null
  br i1 %tobool.not.i, label %if.end18.i, label %place_keywords.exit

if.end18.i:
  store ptr %10, ptr %arrayidx16.i, align 8
  %inc.i = add i64 %given.addr.0.i117, 1
  br label %for.inc.i

if.else.i:
  %14 = load i64, ptr %constants20.i, align 8
  %cmp.i64109 = icmp sgt i64 %14, 0
  br i1 %cmp.i64109, label %for.body.i66, label %place_keywords.exit

for.body.i66:
  %k.0.i63110 = phi i64 [ %inc.i69, %for.inc.i68 ], [ 0, %if.else.i ]
  %arrayidx.i67 = getelementptr %struct.Constant, ptr %add.ptr3.i, i64 %k.0.i63110
  %15 = load ptr, ptr %arrayidx.i67, align 8
  %cmp2.i = icmp eq ptr %15, %9
  br i1 %cmp2.i, label %is_known_constant.exit, label %for.inc.i68

for.inc.i68:
  %inc.i69 = add nuw nsw i64 %k.0.i63110, 1
  %exitcond129.not = icmp eq i64 %inc.i69, %14
  br i1 %exitcond129.not, label %place_keywords.exit, label %for.body.i66

is_known_constant.exit:
  %gep = getelementptr %struct.Constant, ptr %invariant.gep, i64 %k.0.i63110
  %16 = load ptr, ptr %gep, align 8
  %call.i = tail call fastcc i1 @is_same_constant(ptr noundef %10, ptr noundef %16) #17
  %inc23.i = add i64 %matched.0.i116, 1
  br i1 %call.i, label %for.inc.i, label %place_keywords.exit

for.inc.i:
  %matched.3.i.ph = phi i64 [ %matched.0.i116, %if.end18.i ], [ %matched.0.i116, %if.then.i ], [ %matched.0.i116, %if.end.i ], [ %inc23.i, %is_known_constant.exit ]
  %given.addr.3.i.ph = phi i64 [ %inc.i, %if.end18.i ], [ %given.addr.0.i117, %if.then.i ], [ %add.i, %if.end.i ], [ %given.addr.0.i117, %is_known_constant.exit ]
  %inc29.i = add nuw nsw i64 %k.0.i115, 1
  %exitcond130.not = icmp eq i64 %inc29.i, %6
  br i1 %exitcond130.not, label %for.end.i, label %for.body.i

for.end.i:
  %matched.0.i.lcssa = phi i64 [ 0, %for.cond.cleanup8 ], [ %matched.3.i.ph, %for.inc.i ]
  %given.addr.0.i.lcssa = phi i64 [ %positional, %for.cond.cleanup8 ], [ %given.addr.3.i.ph, %for.inc.i ]
  %constants32.i = getelementptr inbounds i8, ptr %spec, i64 144
  %17 = load i64, ptr %constants32.i, align 8
  %cmp33.i = icmp eq i64 %matched.0.i.lcssa, %17
  %cond.i = select i1 %cmp33.i, i64 %given.addr.0.i.lcssa, i64 -1
  br label %place_keywords.exit

place_keywords.exit:
  %retval.4.i = phi i64 [ %cond.i, %for.end.i ], [ -1, %for.inc.i68 ], [ -1, %if.then15.i ], [ -1, %is_known_constant.exit ], [ -1, %if.else.i ], [ -1, %if.end.i ]
  %cmp15.not = icmp eq i64 %retval.4.i, %0
  %cmp17.not = icmp eq i64 %retval.4.i, %add
  %or.cond = select i1 %cmp15.not, i1 true, i1 %cmp17.not
  br i1 %or.cond, label %for.cond21.preheader, label %cleanup32

for.cond21.preheader:
  %cmp22.not120 = icmp sgt i64 %0, 0
  br i1 %cmp22.not120, label %for.body24, label %cleanup32

for.body9:
  %k5.0106 = phi i64 [ %inc13, %for.body9 ], [ 0, %for.cond6.preheader ]
  %arrayidx10 = getelementptr ptr, ptr %arguments, i64 %k5.0106
  %18 = load ptr, ptr %arrayidx10, align 8
  %arrayidx11 = getelementptr ptr, ptr %into, i64 %k5.0106
  store ptr %18, ptr %arrayidx11, align 8
  %inc13 = add nuw nsw i64 %k5.0106, 1
  %exitcond127.not = icmp eq i64 %inc13, %positional
  br i1 %exitcond127.not, label %for.cond.cleanup8, label %for.body9

for.cond21:
  %inc29 = add nuw nsw i64 %k20.0121, 1
  %exitcond131.not = icmp eq i64 %inc29, %0
  br i1 %exitcond131.not, label %cleanup32, label %for.body24

for.body24:
  %k20.0121 = phi i64 [ %inc29, %for.cond21 ], [ 0, %for.cond21.preheader ]
  %arrayidx25 = getelementptr ptr, ptr %into, i64 %k20.0121
  %19 = load ptr, ptr %arrayidx25, align 8
  %tobool.not = icmp eq ptr %19, null
  br i1 %tobool.not, label %cleanup32, label %for.cond21

cleanup32:
  %retval.2 = phi i64 [ -1, %land.lhs.true ], [ -1, %place_keywords.exit ], [ %retval.4.i, %for.cond21.preheader ], [ -1, %for.body24 ], [ %retval.4.i, %for.cond21 ]
  ret i64 %retval.2
}

; Function Attrs: noinline nounwind
define internal fastcc i64 @copy_inputs(ptr nocapture noundef readonly %spec, ptr nocapture noundef readonly %arrays, ptr nocapture noundef %slots, ptr nocapture noundef readonly %bytes, ptr noundef %room, ptr nocapture noundef %copies) unnamed_addr #0 {
entry:
  %inputs = getelementptr inbounds i8, ptr %spec, i64 8
  %0 = load i64, ptr %inputs, align 8
  %cmp.not64 = icmp sgt i64 %0, 0
  br i1 %cmp.not64, label %for.body.lr.ph, label %cleanup24

for.body.lr.ph:
  %add.ptr = getelementptr i8, ptr %room, i64 4096
  %words.i = getelementptr inbounds i8, ptr %spec, i64 176
  %checks.i = getelementptr inbounds i8, ptr %spec, i64 104
  %1 = load i64, ptr %checks.i, align 8
  %add.ptr.i59 = getelementptr %struct.ValueCheck, ptr %words.i, i64 %1
  %sizes.i = getelementptr inbounds i8, ptr %spec, i64 24
  %2 = load i64, ptr %sizes.i, align 8
  %add.ptr.i = getelementptr i64, ptr %add.ptr.i59, i64 %2
  %sub.ptr.lhs.cast = ptrtoint ptr %add.ptr to i64
  %new_copy = getelementptr inbounds i8, ptr %spec, i64 168
  br label %for.body

for.body:
  %room.addr.068 = phi ptr [ %room, %for.body.lr.ph ], [ %room.addr.2, %for.inc ]
  %k.067 = phi i64 [ 0, %for.body.lr.ph ], [ %inc22, %for.inc ]
  %count.066 = phi i64 [ 0, %for.body.lr.ph ], [ %count.3, %for.inc ]
  %record.065 = phi ptr [ %add.ptr.i, %for.body.lr.ph ], [ %add.ptr.i57, %for.inc ]
  %arrayidx = getelementptr %union.Slot, ptr %slots, i64 %k.067
  %3 = load ptr, ptr %arrayidx, align 8
  %tobool.not = icmp eq ptr %3, null
  br i1 %tobool.not, label %if.end, label %for.inc

if.end:
  %arrayidx1 = getelementptr ptr, ptr %arrays, i64 %k.067
  %4 = load ptr, ptr %arrayidx1, align 8
  %arrayidx2 = getelementptr i64, ptr %bytes, i64 %k.067
  %5 = load i64, ptr %arrayidx2, align 8
  %cmp3 = icmp sgt i64 %5, 1024
  %sub.ptr.rhs.cast = ptrtoint ptr %room.addr.068 to i64
  %sub.ptr.sub = sub i64 %sub.ptr.lhs.cast, %sub.ptr.rhs.cast
  %cmp5.not = icmp sgt i64 %5, %sub.ptr.sub
  %or.cond = select i1 %cmp3, i1 true, i1 %cmp5.not
  br i1 %or.cond, label %if.end12, label %land.lhs.true6

land.lhs.true6:
  %rank = getelementptr inbounds i8, ptr %record.065, i64 16
  %6 = load i64, ptr %rank, align 8
  %tobool7.not = icmp eq i64 %6, 0
  br i1 %tobool7.not, label %if.end12, label %if.then8

if.then8:
  store ptr %room.addr.068, ptr %arrayidx, align 8
  %data = getelementptr inbounds i8, ptr %4, i64 16
  %7 = load ptr, ptr %data, align 8
  %dimensions = getelementptr inbounds i8, ptr %4, i64 32
  %8 = load ptr, ptr %dimensions, align 8
  %strides = getelementptr inbounds i8, ptr %4, i64 40
  %9 = load ptr, ptr %strides, align 8
  %10 = load i64, ptr %rank, align 8
  %item_bytes = getelementptr inbounds i8, ptr %record.065, i64 8
  %11 = load i64, ptr %item_bytes, align 8
  %call11 = tail call fastcc ptr @copy_elements(ptr noundef %room.addr.068, ptr noundef %7, ptr noundef %8, ptr noundef %9, i64 noundef %10, i64 noundef %11) #17
  br label %for.inc

if.end12:
  %12 = load ptr, ptr %new_copy, align 8
  %call14 = tail call ptr %12(ptr noundef %4, i32 noundef 0) #18
  %tobool15.not = icmp eq ptr %call14, null
  br i1 %tobool15.not, label %cleanup21, label %if.end17

if.end17:
  %inc = add i64 %count.066, 1
  %arrayidx18 = getelementptr ptr, ptr %copies, i64 %count.066
  store ptr %call14, ptr %arrayidx18, align 8
  %data19 = getelementptr inbounds i8, ptr %call14, i64 16
  %13 = load ptr, ptr %data19, align 8
  store ptr %13, ptr %arrayidx, align 8
  br label %for.inc

cleanup21:
  tail call void @PyErr_Clear() #18
  tail call fastcc void @decref_all(ptr noundef %copies, i64 noundef %count.066) #17
  br label %cleanup24

for.inc:
  %count.3 = phi i64 [ %count.066, %for.body ], [ %inc, %if.end17 ], [ %count.066, %if.then8 ]
  %room.addr.2 = phi ptr [ %room.addr.068, %for.body ], [ %room.addr.068, %if.end17 ], [ %call11, %if.then8 ]
  %inc22 = add nuw nsw i64 %k.067, 1
  %extents.i = getelementptr inbounds i8, ptr %record.065, i64 32
  %rank.i = getelementptr inbounds i8, ptr %record.065, i64 16
  %14 = load i64, ptr %rank.i, align 8
  %add.ptr.i57 = getelementptr i64, ptr %extents.i, i64 %14
  %15 = load i64, ptr %inputs, align 8
  %cmp.not = icmp slt i64 %inc22, %15
  br i1 %cmp.not, label %for.body, label %cleanup24

cleanup24:
  %spec.select = phi i64 [ -1, %cleanup21 ], [ 0, %entry ], [ %count.3, %for.inc ]
  ret i64 %spec.select
}

; Function Attrs: noinline nounwind
define internal fastcc noundef i1 @spread_outputs(ptr noundef %value, i64 noundef %outputs, ptr nocapture noundef writeonly %into) unnamed_addr #0 {
entry:
  %cmp = icmp eq i64 %outputs, 1
  br i1 %cmp, label %if.then, label %if.end

if.then:
  store ptr %value, ptr %into, align 8
  br label %return

if.end:
  %ob_type = getelementptr inbounds i8, ptr %value, i64 8
  %0 = load ptr, ptr %ob_type, align 8
  %call = tail call i32 @PyType_IsSubtype(ptr noundef %0, ptr noundef nonnull @PyTuple_Type) #18
  %tobool.not = icmp eq i32 %call, 0
  br i1 %tobool.not, label %return, label %lor.lhs.false

lor.lhs.false:
  %ob_size = getelementptr inbounds i8, ptr %value, i64 16
  %1 = load i64, ptr %ob_size, align 8
  %cmp1.not = icmp eq i64 %1, %outputs
  br i1 %cmp1.not, label %if.end3, label %return

if.end3:
  %2 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i = getelementptr i8, ptr %value, i64 %2
  %mul = shl i64 %outputs, 3
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 8 %into, ptr align 8 %add.ptr.i, i64 %mul, i1 false)
  br label %return

return:
  %retval.0 = phi i1 [ true, %if.then ], [ true, %if.end3 ], [ false, %lor.lhs.false ], [ false, %if.end ]
  ret i1 %retval.0
}

declare i32 @PyType_IsSubtype(ptr noundef, ptr noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc i1 @is_same_constant(ptr noundef %given, ptr noundef %known) unnamed_addr #0 {
entry:
  %cmp = icmp eq ptr %given, %known
  br i1 %cmp, label %return, label %if.end

if.end:
  %ob_type = getelementptr inbounds i8, ptr %given, i64 8
  %0 = load ptr, ptr %ob_type, align 8
  %ob_type1 = getelementptr inbounds i8, ptr %known, i64 8
  %1 = load ptr, ptr %ob_type1, align 8
  %cmp2.not = icmp eq ptr %0, %1
  br i1 %cmp2.not, label %if.end4, label %return

if.end4:
  %cmp6 = icmp eq ptr %0, @PyFloat_Type
  br i1 %cmp6, label %if.then7, label %if.end12

if.then7:
  %call = tail call double @PyFloat_AsDouble(ptr noundef nonnull %given) #18
  %2 = bitcast double %call to i64
  %call9 = tail call double @PyFloat_AsDouble(ptr noundef nonnull %known) #18
  %3 = bitcast double %call9 to i64
  %cmp11 = icmp eq i64 %2, %3
  br label %return

if.end12:
  %cmp14 = icmp eq ptr %0, @PyLong_Type
  br i1 %cmp14, label %land.rhs, label %return

land.rhs:
  %call15 = tail call i32 @PyObject_RichCompareBool(ptr noundef nonnull %given, ptr noundef nonnull %known, i32 noundef 2) #18
  %cmp16 = icmp eq i32 %call15, 1
  br label %return

return:
  %retval.0 = phi i1 [ %cmp11, %if.then7 ], [ true, %entry ], [ false, %if.end ], [ false, %if.end12 ], [ %cmp16, %land.rhs ]
  ret i1 %retval.0
}

declare double @PyFloat_AsDouble(ptr noundef) local_unnamed_addr #3

declare i32 @PyObject_RichCompareBool(ptr noundef, ptr noundef, i32 noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc noundef i1 @take_number(ptr nocapture noundef readonly %spec, ptr nocapture noundef readonly %record, ptr noundef %object, ptr nocapture noundef writeonly %into) unnamed_addr #0 {
entry:
  %overflow.i = alloca i32, align 4
  %numbers = getelementptr inbounds i8, ptr %record, i64 24
  %0 = load i64, ptr %numbers, align 8
  %and = and i64 %0, 15
  %cmp = icmp eq i64 %and, 0
  br i1 %cmp, label %cleanup25, label %if.end

if.end:
  %ob_type.i = getelementptr inbounds i8, ptr %object, i64 8
  %1 = load ptr, ptr %ob_type.i, align 8
  %add.ptr.i = getelementptr i8, ptr %object, i64 16
  %ndarray.i = getelementptr inbounds i8, ptr %spec, i64 72
  %2 = load ptr, ptr %ndarray.i, align 8
  %cmp.i = icmp eq ptr %1, %2
  br i1 %cmp.i, label %if.then.i, label %if.end5.i

if.then.i:
  %nd.i = getelementptr inbounds i8, ptr %object, i64 24
  %3 = load i32, ptr %nd.i, align 8
  %tobool.not.i = icmp eq i32 %3, 0
  br i1 %tobool.not.i, label %cleanup.i.thread, label %find_number.exit

cleanup.i.thread:
  %descr.i = getelementptr inbounds i8, ptr %object, i64 56
  %4 = load ptr, ptr %descr.i, align 8
  %5 = load ptr, ptr %add.ptr.i, align 8
  br label %if.end5.i

if.end5.i:
  %key.1.i = phi ptr [ %1, %if.end ], [ %4, %cleanup.i.thread ]
  %data.1.i = phi ptr [ %add.ptr.i, %if.end ], [ %5, %cleanup.i.thread ]
  %number_types.i = getelementptr inbounds i8, ptr %spec, i64 160
  %6 = load ptr, ptr %number_types.i, align 8
  %7 = load ptr, ptr %6, align 8
  %tobool6.not.i86 = icmp eq ptr %7, null
  br i1 %tobool6.not.i86, label %find_number.exit, label %for.body.i

for.body.i:
  %8 = phi ptr [ %10, %for.inc.i ], [ %7, %if.end5.i ]
  %known.0.i87 = phi ptr [ %incdec.ptr.i, %for.inc.i ], [ %6, %if.end5.i ]
  %cmp8.i = icmp eq ptr %8, %key.1.i
  br i1 %cmp8.i, label %if.then9.i, label %for.inc.i

if.then9.i:
  %kind11.i = getelementptr inbounds i8, ptr %known.0.i87, i64 8
  %9 = load i64, ptr %kind11.i, align 8
  br label %find_number.exit

for.inc.i:
  %incdec.ptr.i = getelementptr i8, ptr %known.0.i87, i64 16
  %10 = load ptr, ptr %incdec.ptr.i, align 8
  %tobool6.not.i = icmp eq ptr %10, null
  br i1 %tobool6.not.i, label %find_number.exit, label %for.body.i

find_number.exit:
  %retval.sroa.0.3.i = phi i64 [ 0, %if.then.i ], [ %9, %if.then9.i ], [ 0, %if.end5.i ], [ 0, %for.inc.i ]
  %retval.sroa.4.3.i = phi ptr [ null, %if.then.i ], [ %data.1.i, %if.then9.i ], [ null, %if.end5.i ], [ null, %for.inc.i ]
  %cmp1 = icmp eq i64 %retval.sroa.0.3.i, %and
  br i1 %cmp1, label %if.then2, label %if.end3

if.then2:
  %item_bytes = getelementptr inbounds i8, ptr %record, i64 8
  %11 = load i64, ptr %item_bytes, align 8
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 1 %into, ptr align 1 %retval.sroa.4.3.i, i64 %11, i1 false)
  br label %cleanup25

if.end3:
  %cmp6 = icmp sgt i64 %retval.sroa.0.3.i, 11
  %conv = select i1 %cmp6, i64 16, i64 32
  %and7 = and i64 %conv, %0
  %tobool.not = icmp eq i64 %and7, 0
  br i1 %tobool.not, label %cleanup25, label %if.end9

if.end9:
  switch i64 %retval.sroa.0.3.i, label %sw.epilog [
    i64 10, label %sw.bb
    i64 11, label %sw.bb14
    i64 12, label %sw.bb17
  ]

sw.bb:
  %12 = load float, ptr %retval.sroa.4.3.i, align 1
  %conv12 = fpext float %12 to double
  switch i64 %and, label %cleanup25 [
    i64 11, label %if.then.i65
    i64 10, label %if.end3.i57
  ]

if.then.i65:
  store double %conv12, ptr %into, align 1
  br label %cleanup25

if.end3.i57:
  %13 = tail call double @llvm.fabs.f64(double %conv12)
  %cmp5.i60 = fcmp oeq double %13, 0x7FF0000000000000
  %cmp8.i61 = fcmp uno float %12, 0.000000e+00
  %or.cond.i62 = and i1 %cmp8.i61, %cmp5.i60
  br i1 %or.cond.i62, label %cleanup25, label %if.end11.i63

if.end11.i63:
  store float %12, ptr %into, align 1
  br label %cleanup25

sw.bb14:
  %14 = load double, ptr %retval.sroa.4.3.i, align 1
  switch i64 %and, label %cleanup25 [
    i64 11, label %if.then.i55
    i64 10, label %if.end3.i47
  ]

if.then.i55:
  store double %14, ptr %into, align 1
  br label %cleanup25

if.end3.i47:
  %conv.i48 = fptrunc double %14 to float
  %conv4.i49 = fpext float %conv.i48 to double
  %15 = tail call double @llvm.fabs.f64(double %conv4.i49)
  %cmp5.i50 = fcmp oeq double %15, 0x7FF0000000000000
  %cmp8.i51 = fcmp une double %14, %conv4.i49
  %or.cond.i52 = and i1 %cmp8.i51, %cmp5.i50
  br i1 %or.cond.i52, label %cleanup25, label %if.end11.i53

if.end11.i53:
  store float %conv.i48, ptr %into, align 1
  br label %cleanup25

sw.bb17:
  %call18 = tail call double @PyFloat_AsDouble(ptr noundef %object) #18
  switch i64 %and, label %cleanup25 [
    i64 11, label %if.then.i46
    i64 10, label %if.end3.i
  ]

if.then.i46:
  store double %call18, ptr %into, align 1
  br label %cleanup25

if.end3.i:
  %conv.i = fptrunc double %call18 to float
  %conv4.i = fpext float %conv.i to double
  %16 = tail call double @llvm.fabs.f64(double %conv4.i)
  %cmp5.i = fcmp oeq double %16, 0x7FF0000000000000
  %cmp8.i45 = fcmp une double %call18, %conv4.i
  %or.cond.i = and i1 %cmp8.i45, %cmp5.i
  br i1 %or.cond.i, label %cleanup25, label %if.end11.i

if.end11.i:
  store float %conv.i, ptr %into, align 1
  br label %cleanup25

sw.epilog:
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %overflow.i) #14
  store i32 0, ptr %overflow.i, align 4
  switch i64 %retval.sroa.0.3.i, label %read_integer.exit.thread82 [
    i64 2, label %sw.bb.i
    i64 3, label %sw.bb1.i
    i64 4, label %sw.bb4.i
    i64 5, label %sw.bb7.i
    i64 1, label %sw.bb9.i
    i64 6, label %sw.bb9.i
    i64 7, label %sw.bb12.i
    i64 8, label %sw.bb15.i
    i64 9, label %read_integer.exit
    i64 13, label %sw.bb21.i
    i64 14, label %sw.bb22.i
  ]

read_integer.exit.thread82:
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %overflow.i) #14
  br label %cleanup25

sw.bb.i:
  %17 = load i8, ptr %retval.sroa.4.3.i, align 1
  %conv.i70 = sext i8 %17 to i64
  br label %read_integer.exit.thread

sw.bb1.i:
  %18 = load i16, ptr %retval.sroa.4.3.i, align 1
  %conv3.i = sext i16 %18 to i64
  br label %read_integer.exit.thread

sw.bb4.i:
  %19 = load i32, ptr %retval.sroa.4.3.i, align 1
  %conv6.i = sext i32 %19 to i64
  br label %read_integer.exit.thread

sw.bb7.i:
  %20 = load i64, ptr %retval.sroa.4.3.i, align 1
  br label %read_integer.exit.thread

sw.bb9.i:
  %21 = load i8, ptr %retval.sroa.4.3.i, align 1
  %conv11.i = zext i8 %21 to i64
  br label %read_integer.exit.thread

sw.bb12.i:
  %22 = load i16, ptr %retval.sroa.4.3.i, align 1
  %conv14.i = zext i16 %22 to i64
  br label %read_integer.exit.thread

sw.bb15.i:
  %23 = load i32, ptr %retval.sroa.4.3.i, align 1
  %conv17.i = zext i32 %23 to i64
  br label %read_integer.exit.thread

sw.bb21.i:
  %call.i = call i64 @PyLong_AsLongLongAndOverflow(ptr noundef %object, ptr noundef nonnull %overflow.i) #18
  %24 = load i32, ptr %overflow.i, align 4
  %tobool.not.i68 = icmp eq i32 %24, 0
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %overflow.i) #14
  br i1 %tobool.not.i68, label %land.rhs, label %cleanup25

sw.bb22.i:
  %cmp23.i = icmp eq ptr %object, @_Py_TrueStruct
  %conv25.i = zext i1 %cmp23.i to i64
  br label %read_integer.exit.thread

read_integer.exit.thread:
  %value.0.ph = phi i64 [ %conv.i70, %sw.bb.i ], [ %conv3.i, %sw.bb1.i ], [ %conv6.i, %sw.bb4.i ], [ %20, %sw.bb7.i ], [ %conv11.i, %sw.bb9.i ], [ %conv14.i, %sw.bb12.i ], [ %conv17.i, %sw.bb15.i ], [ %conv25.i, %sw.bb22.i ]
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %overflow.i) #14
  br label %land.rhs

read_integer.exit:
  %25 = load i64, ptr %retval.sroa.4.3.i, align 1
  %cmp.i69 = icmp sgt i64 %25, -1
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %overflow.i) #14
  br i1 %cmp.i69, label %land.rhs, label %cleanup25

land.rhs:
  %value.081 = phi i64 [ %value.0.ph, %read_integer.exit.thread ], [ %25, %read_integer.exit ], [ %call.i, %sw.bb21.i ]
  switch i64 %and, label %sw.default.i [
    i64 10, label %sw.bb.i73
    i64 11, label %sw.bb1.i72
    i64 1, label %sw.bb3.i
  ]

sw.bb.i73:
  %conv.i74 = sitofp i64 %value.081 to float
  store float %conv.i74, ptr %into, align 1
  br label %cleanup25

sw.bb1.i72:
  %conv2.i = sitofp i64 %value.081 to double
  store double %conv2.i, ptr %into, align 1
  br label %cleanup25

sw.bb3.i:
  %cmp.not.i = icmp eq i64 %retval.sroa.0.3.i, 14
  br i1 %cmp.not.i, label %sw.epilog.i, label %cleanup25

sw.default.i:
  %arrayidx.i = getelementptr [10 x %struct.anon], ptr @kind_limits, i64 0, i64 %and
  %26 = load i64, ptr %arrayidx.i, align 8
  %cmp5.i75 = icmp sgt i64 %26, %value.081
  br i1 %cmp5.i75, label %cleanup25, label %lor.lhs.false.i

lor.lhs.false.i:
  %largest.i = getelementptr inbounds i8, ptr %arrayidx.i, i64 8
  %27 = load i64, ptr %largest.i, align 8
  %cmp8.i76 = icmp slt i64 %27, %value.081
  br i1 %cmp8.i76, label %cleanup25, label %sw.epilog.i

sw.epilog.i:
  store i64 %value.081, ptr %into, align 1
  br label %cleanup25

cleanup25:
  %retval.1 = phi i1 [ false, %entry ], [ true, %if.then2 ], [ false, %if.end3 ], [ true, %if.then.i65 ], [ false, %sw.bb ], [ true, %if.end11.i63 ], [ false, %if.end3.i57 ], [ true, %if.then.i55 ], [ false, %sw.bb14 ], [ true, %if.end11.i53 ], [ false, %if.end3.i47 ], [ true, %if.then.i46 ], [ false, %sw.bb17 ], [ true, %if.end11.i ], [ false, %if.end3.i ], [ false, %read_integer.exit ], [ false, %read_integer.exit.thread82 ], [ false, %sw.bb21.i ], [ true, %sw.epilog.i ], [ true, %sw.bb1.i72 ], [ true, %sw.bb.i73 ], [ false, %sw.bb3.i ], [ false, %lor.lhs.false.i ], [ false, %sw.default.i ]
  ret i1 %retval.1
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare double @llvm.fabs.f64(double) #7

declare i64 @PyLong_AsLongLongAndOverflow(ptr noundef, ptr noundef) local_unnamed_addr #3

; Function Attrs: nofree noinline nosync nounwind memory(readwrite, inaccessiblemem: none)
define internal fastcc ptr @copy_elements(ptr noundef %to, ptr nocapture noundef readonly %from, ptr nocapture noundef readonly %shape, ptr nocapture noundef readonly %strides, i64 noundef %rank, i64 noundef %item_bytes) unnamed_addr #13 {
entry:
  %cmp = icmp eq i64 %rank, 1
  %0 = load i64, ptr %shape, align 8
  br i1 %cmp, label %if.then, label %for.cond.preheader

for.cond.preheader:
  %cmp122 = icmp sgt i64 %0, 0
  br i1 %cmp122, label %for.body.lr.ph, label %return

for.body.lr.ph:
  %add.ptr4 = getelementptr i8, ptr %shape, i64 8
  %add.ptr5 = getelementptr i8, ptr %strides, i64 8
  %sub = add i64 %rank, -1
  br label %for.body

if.then:
  %1 = load i64, ptr %strides, align 8
  %cmp18.i29 = icmp sgt i64 %0, 0
  switch i64 %item_bytes, label %for.cond17.i.preheader [
    i64 4, label %for.cond.i.preheader
    i64 8, label %for.cond5.i.preheader
  ]

for.cond5.i.preheader:
  br i1 %cmp18.i29, label %for.body8.i, label %copy_row.exit

for.cond.i.preheader:
  br i1 %cmp18.i29, label %for.body.i, label %copy_row.exit

for.cond17.i.preheader:
  br i1 %cmp18.i29, label %for.body20.i, label %copy_row.exit

for.body.i:
  %k.0.i28 = phi i64 [ %inc.i, %for.body.i ], [ 0, %for.cond.i.preheader ]
  %arrayidx.i = getelementptr %struct.Element4, ptr %to, i64 %k.0.i28
  %mul.i = mul i64 %k.0.i28, %1
  %add.ptr.i = getelementptr i8, ptr %from, i64 %mul.i
  %2 = load i32, ptr %add.ptr.i, align 1
  store i32 %2, ptr %arrayidx.i, align 1
  %inc.i = add nuw nsw i64 %k.0.i28, 1
  %exitcond33.not = icmp eq i64 %inc.i, %0
  br i1 %exitcond33.not, label %copy_row.exit, label %for.body.i

for.body8.i:
  %k4.0.i26 = phi i64 [ %inc13.i, %for.body8.i ], [ 0, %for.cond5.i.preheader ]
  %arrayidx9.i = getelementptr %struct.Element8, ptr %to, i64 %k4.0.i26
  %mul10.i = mul i64 %k4.0.i26, %1
  %add.ptr11.i = getelementptr i8, ptr %from, i64 %mul10.i
  %3 = load i64, ptr %add.ptr11.i, align 1
  store i64 %3, ptr %arrayidx9.i, align 1
  %inc13.i = add nuw nsw i64 %k4.0.i26, 1
  %exitcond.not = icmp eq i64 %inc13.i, %0
  br i1 %exitcond.not, label %copy_row.exit, label %for.body8.i

for.body20.i:
  %k16.0.i30 = phi i64 [ %inc26.i, %for.body20.i ], [ 0, %for.cond17.i.preheader ]
  %mul21.i = mul i64 %k16.0.i30, %item_bytes
  %add.ptr22.i = getelementptr i8, ptr %to, i64 %mul21.i
  %mul23.i = mul i64 %k16.0.i30, %1
  %add.ptr24.i = getelementptr i8, ptr %from, i64 %mul23.i
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 1 %add.ptr22.i, ptr align 1 %add.ptr24.i, i64 %item_bytes, i1 false)
  %inc26.i = add nuw nsw i64 %k16.0.i30, 1
  %exitcond34.not = icmp eq i64 %inc26.i, %0
  br i1 %exitcond34.not, label %copy_row.exit, label %for.body20.i

copy_row.exit:
  %4 = load i64, ptr %shape, align 8
  %mul = mul i64 %4, %item_bytes
  %add.ptr = getelementptr i8, ptr %to, i64 %mul
  br label %return

for.body:
  %k.024 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.body ]
  %to.addr.023 = phi ptr [ %to, %for.body.lr.ph ], [ %call, %for.body ]
  %5 = load i64, ptr %strides, align 8
  %mul2 = mul i64 %5, %k.024
  %add.ptr3 = getelementptr i8, ptr %from, i64 %mul2
  %call = tail call fastcc ptr @copy_elements(ptr noundef %to.addr.023, ptr noundef %add.ptr3, ptr noundef %add.ptr4, ptr noundef %add.ptr5, i64 noundef %sub, i64 noundef %item_bytes) #17
  %inc = add nuw nsw i64 %k.024, 1
  %6 = load i64, ptr %shape, align 8
  %cmp1 = icmp slt i64 %inc, %6
  br i1 %cmp1, label %for.body, label %return

return:
  %retval.0 = phi ptr [ %add.ptr, %copy_row.exit ], [ %to, %for.cond.preheader ], [ %call, %for.body ]
  ret ptr %retval.0
}

declare void @PyErr_Clear() local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc noundef i1 @checks_hold(ptr nocapture noundef readonly %spec, ptr nocapture noundef readonly %slots, ptr nocapture noundef readonly %bytes, ptr nocapture noundef readonly %sizes) unnamed_addr #0 {
entry:
  %words.i = getelementptr inbounds i8, ptr %spec, i64 176
  %checks1 = getelementptr inbounds i8, ptr %spec, i64 104
  %0 = load i64, ptr %checks1, align 8
  %cmp.not29 = icmp slt i64 %0, 1
  br i1 %cmp.not29, label %cleanup10, label %for.body

for.cond:
  %inc = add nuw nsw i64 %k.030, 1
  %1 = load i64, ptr %checks1, align 8
  %cmp.not.not = icmp slt i64 %inc, %1
  br i1 %cmp.not.not, label %for.body, label %cleanup10

for.body:
  %k.030 = phi i64 [ %inc, %for.cond ], [ 0, %entry ]
  %arrayidx = getelementptr %struct.ValueCheck, ptr %words.i, i64 %k.030
  %function = getelementptr inbounds i8, ptr %arrayidx, i64 8
  %2 = load ptr, ptr %function, align 8
  %3 = load i64, ptr %arrayidx, align 8
  %arrayidx2 = getelementptr %union.Slot, ptr %slots, i64 %3
  %4 = load ptr, ptr %arrayidx2, align 8
  %arrayidx4 = getelementptr i64, ptr %bytes, i64 %3
  %5 = load i64, ptr %arrayidx4, align 8
  %lo = getelementptr inbounds i8, ptr %arrayidx, i64 16
  %size.i21 = getelementptr inbounds i8, ptr %arrayidx, i64 24
  %6 = load i64, ptr %size.i21, align 8
  %cmp.i22 = icmp slt i64 %6, 0
  %7 = load i64, ptr %lo, align 8
  br i1 %cmp.i22, label %bound_of.exit28, label %cond.false.i23

cond.false.i23:
  %arrayidx.i24 = getelementptr %union.Slot, ptr %sizes, i64 %6
  %8 = load i64, ptr %arrayidx.i24, align 8
  %add.i25 = add i64 %8, %7
  br label %bound_of.exit28

bound_of.exit28:
  %cond.i26 = phi i64 [ %add.i25, %cond.false.i23 ], [ %7, %for.body ]
  %hi = getelementptr inbounds i8, ptr %arrayidx, i64 32
  %size.i = getelementptr inbounds i8, ptr %arrayidx, i64 40
  %9 = load i64, ptr %size.i, align 8
  %cmp.i = icmp slt i64 %9, 0
  %10 = load i64, ptr %hi, align 8
  br i1 %cmp.i, label %bound_of.exit, label %cond.false.i

cond.false.i:
  %arrayidx.i = getelementptr %union.Slot, ptr %sizes, i64 %9
  %11 = load i64, ptr %arrayidx.i, align 8
  %add.i = add i64 %11, %10
  br label %bound_of.exit

bound_of.exit:
  %cond.i = phi i64 [ %add.i, %cond.false.i ], [ %10, %bound_of.exit28 ]
  %call7 = tail call i1 %2(ptr noundef %4, i64 noundef %5, i64 noundef %cond.i26, i64 noundef %cond.i) #18
  br i1 %call7, label %for.cond, label %cleanup10

cleanup10:
  %cmp.not.lcssa = phi i1 [ true, %entry ], [ %call7, %for.cond ], [ %call7, %bound_of.exit ]
  ret i1 %cmp.not.lcssa
}

declare ptr @PyEval_SaveThread() local_unnamed_addr #3

declare void @PyEval_RestoreThread(ptr noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc noundef i1 @run_interruptible(ptr nocapture noundef readonly %spec, ptr noundef %slots) unnamed_addr #0 {
entry:
  %call = tail call i64 @pthread_self() #18
  %0 = load i64, ptr @main_thread, align 8
  %cmp = icmp eq i64 %call, %0
  br label %for.cond

for.cond:
  br i1 %cmp, label %if.then, label %if.end4

if.then:
  %1 = tail call i64 @llvm.read_volatile_register.i64(metadata !53)
  %2 = load i64, ptr @last_look, align 8
  %sub.i27 = sub i64 %1, %2
  %cmp.i28 = icmp ugt i64 %sub.i27, 1000
  br i1 %cmp.i28, label %if.then.i29, label %watch_again.exit

if.then.i29:
  store i64 %1, ptr @last_look, align 8
  tail call void @tx_watch_interrupts() #17
  br label %watch_again.exit

watch_again.exit:
  store atomic i32 1, ptr @main_inside seq_cst, align 4
  %call1 = tail call i32 @PyErr_CheckSignals() #18
  %tobool.not = icmp eq i32 %call1, 0
  br i1 %tobool.not, label %if.end4, label %if.then2

if.then2:
  store atomic i32 0, ptr @main_inside release, align 4
  br label %cleanup20

if.end4:
  %call5 = tail call ptr @PyEval_SaveThread() #18
  br label %for.cond.i

for.cond.i:
  %3 = load atomic i64, ptr @tx_interrupted seq_cst, align 64
  %and.i = and i64 %3, 1
  %tobool.not.i = icmp eq i64 %and.i, 0
  %brmerge.i = or i1 %cmp, %tobool.not.i
  br i1 %brmerge.i, label %if.end3.i, label %if.then.i

if.then.i:
  %cmp.i = icmp ugt i64 %3, 4294967295
  br i1 %cmp.i, label %if.then1.i, label %if.end3.i

if.then1.i:
  %call.i = tail call i32 @sched_yield() #18
  br label %for.cond.i.backedge

if.end3.i:
  %next.0.i = phi i64 [ %3, %for.cond.i ], [ 0, %if.then.i ]
  %add.i = add i64 %next.0.i, 4294967296
  %4 = cmpxchg ptr @tx_interrupted, i64 %3, i64 %add.i seq_cst seq_cst, align 64
  %5 = extractvalue { i64, i1 } %4, 1
  br i1 %5, label %kernel_enter.exit, label %for.cond.i.backedge

for.cond.i.backedge:
  br label %for.cond.i

kernel_enter.exit:
  %6 = load ptr, ptr %spec, align 8
  %call8 = tail call i32 %6(ptr noundef %slots) #18
  %7 = load atomic i64, ptr @tx_interrupted seq_cst, align 64
  br label %do.body.i

do.body.i:
  %word.0.i = phi i64 [ %7, %kernel_enter.exit ], [ %10, %do.body.i ]
  %sub.i = add i64 %word.0.i, -4294967296
  %cmp.i25 = icmp ugt i64 %sub.i, 4294967295
  %cond.i = select i1 %cmp.i25, i64 %sub.i, i64 0
  %8 = cmpxchg ptr @tx_interrupted, i64 %word.0.i, i64 %cond.i seq_cst seq_cst, align 64
  %9 = extractvalue { i64, i1 } %8, 1
  %10 = extractvalue { i64, i1 } %8, 0
  br i1 %9, label %kernel_leave.exit, label %do.body.i

kernel_leave.exit:
  tail call void @PyEval_RestoreThread(ptr noundef %call5) #18
  br i1 %cmp, label %if.then10, label %if.end12

if.then10:
  store atomic i32 0, ptr @main_inside release, align 4
  br label %if.end12

if.end12:
  switch i32 %call8, label %lor.rhs [
    i32 1, label %cleanup
    i32 0, label %cleanup20
  ]

lor.rhs:
  tail call fastcc void @fail(ptr noundef nonnull %spec) #17
  br label %cleanup20

cleanup:
  %call18 = tail call i32 @sched_yield() #18
  br label %for.cond

cleanup20:
  %retval.2 = phi i1 [ false, %if.then2 ], [ false, %lor.rhs ], [ true, %if.end12 ]
  ret i1 %retval.2
}

; Function Attrs: nounwind
declare i64 @llvm.read_volatile_register.i64(metadata) #14

declare ptr @PyObject_CallNoArgs(ptr noundef) local_unnamed_addr #3

declare ptr @PyTuple_New(i64 noundef) local_unnamed_addr #3

declare ptr @PyType_GenericAlloc(ptr noundef, i64 noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc void @tx_parallel.specialized.1(ptr noundef %context, i64 noundef %n) unnamed_addr #0 {
entry:
  %cmp = icmp slt i64 %n, 1
  br i1 %cmp, label %cleanup.cont28, label %if.end

if.end:
  %0 = load atomic i64, ptr @pool_threads monotonic, align 64
  %cond = tail call i64 @llvm.smin.i64(i64 %0, i64 %n)
  %cmp2 = icmp sgt i64 %cond, 1
  br i1 %cmp2, label %land.lhs.true, label %if.end24

land.lhs.true:
  %1 = cmpxchg ptr @pool_busy, i32 0, i32 1 acquire monotonic, align 64
  %2 = extractvalue { i32, i1 } %1, 1
  br i1 %2, label %if.then3, label %if.end24

if.then3:
  %3 = load i64, ptr @pool_workers, align 8
  %sub = add i64 %0, -1
  %cmp4 = icmp slt i64 %3, %sub
  br i1 %cmp4, label %cond.true5, label %cond.end9

cond.true5:
  %call7 = tail call fastcc i64 @pool_start_workers(i64 noundef %sub) #17
  br label %cond.end9

cond.end9:
  %cond10 = phi i64 [ %call7, %cond.true5 ], [ %3, %if.then3 ]
  %add = add i64 %cond10, 1
  %cond16 = tail call i64 @llvm.smin.i64(i64 %add, i64 %cond)
  %cmp17 = icmp slt i64 %cond16, 2
  br i1 %cmp17, label %if.end24.critedge, label %if.then18

if.then18:
  tail call fastcc void @pool_region(ptr noundef nonnull @sweep_calls, ptr noundef %context, i64 noundef %n, i64 noundef %cond16) #17
  store atomic i32 0, ptr @pool_busy release, align 64
  br label %cleanup.cont28

if.end24.critedge:
  store atomic i32 0, ptr @pool_busy release, align 64
  br label %if.end24

if.end24:
  %4 = load ptr, ptr %context, align 8
  %5 = load ptr, ptr %4, align 8
  %arrayidx2.i = getelementptr i8, ptr %4, i64 8
  %6 = load i64, ptr %arrayidx2.i, align 8
  br label %for.body.i

for.cond.i:
  %inc.i = add i64 %k.030.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %n
  br i1 %exitcond.not.i, label %cleanup.cont28, label %for.body.i

for.body.i:
  %k.030.i = phi i64 [ %inc.i, %for.cond.i ], [ 0, %if.end24 ]
  %7 = load atomic i64, ptr @tx_interrupted monotonic, align 64
  %8 = and i64 %7, 4294967295
  %cmp.i.not.i = icmp eq i64 %8, 0
  br i1 %cmp.i.not.i, label %cond.end.i, label %if.then.i

cond.end.i:
  %mul.i = mul i64 %k.030.i, %6
  %add.ptr.i = getelementptr i8, ptr %5, i64 %mul.i
  %9 = load ptr, ptr %add.ptr.i, align 8
  %slots5.i = getelementptr inbounds i8, ptr %add.ptr.i, i64 8
  %call6.i = tail call i32 %9(ptr noundef nonnull %slots5.i) #18
  %cmp7.not.i = icmp eq i32 %call6.i, 0
  br i1 %cmp7.not.i, label %for.cond.i, label %if.then.i

if.then.i:
  %cond28.i = phi i32 [ %call6.i, %cond.end.i ], [ 1, %for.body.i ]
  %result8.i = getelementptr inbounds i8, ptr %context, i64 8
  store atomic i32 %cond28.i, ptr %result8.i monotonic, align 8
  br label %cleanup.cont28

cleanup.cont28:
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #15

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #15

; Function Attrs: nocallback nofree nosync nounwind willreturn
declare ptr @llvm.stacksave.p0() #16

; Function Attrs: nocallback nofree nosync nounwind willreturn
declare void @llvm.stackrestore.p0(ptr) #16

attributes #0 = { noinline nounwind "no-builtins" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nofree noinline norecurse nounwind willreturn memory(readwrite, argmem: none, inaccessiblemem: none) "no-builtins" }
attributes #3 = { "no-builtins" }
attributes #4 = { nounwind "no-builtins" }
attributes #5 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(write, argmem: none, inaccessiblemem: none) "no-builtins" }
attributes #6 = { nofree noinline norecurse nounwind memory(readwrite, argmem: none, inaccessiblemem: none) "no-builtins" }
attributes #7 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #8 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #9 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #10 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite) "no-builtins" }
attributes #11 = { noreturn nounwind "no-builtins" }
attributes #12 = { mustprogress nofree nounwind willreturn }
attributes #13 = { nofree noinline nosync nounwind memory(readwrite, inaccessiblemem: none) "no-builtins" }
attributes #14 = { nounwind }
attributes #15 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #16 = { nocallback nofree nosync nounwind willreturn }
attributes #17 = { nobuiltin "no-builtins" }
attributes #18 = { nobuiltin nounwind "no-builtins" }


!53 = !{!"cntvct_el0"}
