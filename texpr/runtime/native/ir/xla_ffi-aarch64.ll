; xla_ffi.c for aarch64: written by scripts/native.py, not to be edited.
; clang 19.1.7 -std=c11 -ffreestanding -O2 -Wall -Wextra -Werror -Wno-unused-function -fwrapv -fno-strict-aliasing -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -fPIC -fno-stack-protector -fno-asynchronous-unwind-tables -fomit-frame-pointer -fno-discard-value-names
; sources b5133188e8995797907528d974ce715982e2d09427688d861bfacb0bd29928a2
source_filename = "xla/xla_ffi.c"
target datalayout = "e-m:e-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32"
target triple = "aarch64-unknown-linux-gnu"

%struct.Message = type { i64, [1024 x i8] }
%union.Slot = type { ptr }
%struct.Check = type { i64, i64, i64, i64, ptr, i64, i64, ptr, ptr, ptr }
%struct.XlaErrorArguments = type { i64, ptr, ptr, i32 }

@table = internal unnamed_addr global ptr null, align 8
@known = internal unnamed_addr global i64 0, align 8
@.str = private unnamed_addr constant [6 x i8] c"texpr\00", align 1
@.str.1 = private unnamed_addr constant [120 x i8] c"this program was compiled in another process, and its operators were not traced here; call the function once by jax.jit\00", align 1
@.str.2 = private unnamed_addr constant [3 x i8] c": \00", align 1
@.str.3 = private unnamed_addr constant [42 x i8] c"the kernel is for buffers of other shapes\00", align 1
@.str.4 = private unnamed_addr constant [22 x i8] c"interrupted by Ctrl-C\00", align 1
@.str.5 = private unnamed_addr constant [14 x i8] c"out of memory\00", align 1
@.str.6 = private unnamed_addr constant [34 x i8] c"the processor lacks what it needs\00", align 1
@.str.7 = private unnamed_addr constant [6 x i8] c" and \00", align 1
@.str.8 = private unnamed_addr constant [11 x i8] c" are both \00", align 1
@.str.9 = private unnamed_addr constant [27 x i8] c", expected distinct values\00", align 1
@.str.10 = private unnamed_addr constant [2 x i8] c"`\00", align 1
@.str.11 = private unnamed_addr constant [3 x i8] c", \00", align 1
@.str.12 = private unnamed_addr constant [2 x i8] c"[\00", align 1
@.str.13 = private unnamed_addr constant [3 x i8] c"]`\00", align 1
@.str.14 = private unnamed_addr constant [5 x i8] c" is \00", align 1
@.str.15 = private unnamed_addr constant [23 x i8] c", expected a value in \00", align 1

; Function Attrs: noinline nounwind
define range(i32 0, 3) i32 @tx_xla_add(ptr noundef %kernel) local_unnamed_addr #0 {
entry:
  %0 = load atomic i64, ptr @table monotonic, align 8
  %1 = inttoptr i64 %0 to ptr
  %tobool.not = icmp eq i64 %0, 0
  br i1 %tobool.not, label %if.then, label %lor.lhs.false

lor.lhs.false:
  %2 = load i64, ptr @known, align 8
  %add = shl i64 %2, 1
  %mul = add i64 %add, 2
  %3 = load i64, ptr %1, align 8
  %cmp = icmp ugt i64 %mul, %3
  br i1 %cmp, label %if.then, label %if.else

if.then:
  %call = tail call fastcc ptr @larger(ptr noundef %1) #9
  %tobool1.not = icmp eq ptr %call, null
  br i1 %tobool1.not, label %cleanup, label %if.end

if.end:
  %4 = load i64, ptr %kernel, align 8
  %5 = load i64, ptr %call, align 8
  %kernels.i = getelementptr inbounds i8, ptr %call, i64 8
  br label %while.cond.i

while.cond.i:
  %.pn.i = phi i64 [ %4, %if.end ], [ %add.i, %while.cond.i ]
  %at.0.i = and i64 %.pn.i, %5
  %arrayidx.i = getelementptr [0 x ptr], ptr %kernels.i, i64 0, i64 %at.0.i
  %6 = load atomic i64, ptr %arrayidx.i monotonic, align 8
  %tobool.not.i = icmp eq i64 %6, 0
  %add.i = add i64 %at.0.i, 1
  br i1 %tobool.not.i, label %put.exit, label %while.cond.i

put.exit:
  %arrayidx.i.le = getelementptr [0 x ptr], ptr %kernels.i, i64 0, i64 %at.0.i
  %7 = ptrtoint ptr %kernel to i64
  store atomic i64 %7, ptr %arrayidx.i.le release, align 8
  br label %if.end3

if.else:
  %8 = load i64, ptr %kernel, align 8
  %kernels.i11 = getelementptr inbounds i8, ptr %1, i64 8
  br label %while.cond.i12

while.cond.i12:
  %.pn.i13 = phi i64 [ %8, %if.else ], [ %add.i17, %while.cond.i12 ]
  %at.0.i14 = and i64 %.pn.i13, %3
  %arrayidx.i15 = getelementptr [0 x ptr], ptr %kernels.i11, i64 0, i64 %at.0.i14
  %9 = load atomic i64, ptr %arrayidx.i15 monotonic, align 8
  %tobool.not.i16 = icmp eq i64 %9, 0
  %add.i17 = add i64 %at.0.i14, 1
  br i1 %tobool.not.i16, label %put.exit19, label %while.cond.i12

put.exit19:
  %arrayidx.i15.le = getelementptr [0 x ptr], ptr %kernels.i11, i64 0, i64 %at.0.i14
  br label %if.end3

if.end3:
  %kernel.sink = phi ptr [ %kernel, %put.exit19 ], [ %call, %put.exit ]
  %arrayidx.i15.le.sink = phi ptr [ %arrayidx.i15.le, %put.exit19 ], [ @table, %put.exit ]
  %10 = ptrtoint ptr %kernel.sink to i64
  store atomic i64 %10, ptr %arrayidx.i15.le.sink release, align 8
  %11 = load i64, ptr @known, align 8
  %inc = add i64 %11, 1
  store i64 %inc, ptr @known, align 8
  br label %cleanup

cleanup:
  %retval.0 = phi i32 [ 0, %if.end3 ], [ 2, %if.then ]
  ret i32 %retval.0
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: noinline nounwind
define internal fastcc ptr @larger(ptr noundef readonly %old) unnamed_addr #0 {
entry:
  %tobool.not = icmp eq ptr %old, null
  br i1 %tobool.not, label %cond.end, label %cond.true

cond.true:
  %0 = load i64, ptr %old, align 8
  %add = shl i64 %0, 1
  %mul = add i64 %add, 2
  br label %cond.end

cond.end:
  %cond = phi i64 [ %mul, %cond.true ], [ 64, %entry ]
  %mul1 = shl i64 %cond, 3
  %add2 = add i64 %mul1, 8
  %call = tail call ptr @tx_alloc(i64 noundef %add2) #10
  %tobool3.not = icmp eq ptr %call, null
  br i1 %tobool3.not, label %cleanup, label %if.end

if.end:
  tail call void @llvm.memset.p0.i64(ptr nonnull align 8 %call, i8 0, i64 %add2, i1 false)
  %sub = add i64 %cond, -1
  store i64 %sub, ptr %call, align 8
  br i1 %tobool.not, label %cleanup, label %land.rhs.lr.ph

land.rhs.lr.ph:
  %kernels = getelementptr inbounds i8, ptr %old, i64 8
  %kernels.i = getelementptr inbounds i8, ptr %call, i64 8
  br label %for.body

for.body:
  %at.02526 = phi i64 [ 0, %land.rhs.lr.ph ], [ %inc, %if.end9 ]
  %arrayidx = getelementptr [0 x ptr], ptr %kernels, i64 0, i64 %at.02526
  %1 = load atomic i64, ptr %arrayidx monotonic, align 8
  %tobool7.not = icmp eq i64 %1, 0
  br i1 %tobool7.not, label %if.end9, label %if.then8

if.then8:
  %2 = inttoptr i64 %1 to ptr
  %3 = load i64, ptr %2, align 8
  %4 = load i64, ptr %call, align 8
  br label %while.cond.i

while.cond.i:
  %.pn.i = phi i64 [ %3, %if.then8 ], [ %add.i, %while.cond.i ]
  %at.0.i = and i64 %.pn.i, %4
  %arrayidx.i = getelementptr [0 x ptr], ptr %kernels.i, i64 0, i64 %at.0.i
  %5 = load atomic i64, ptr %arrayidx.i monotonic, align 8
  %tobool.not.i = icmp eq i64 %5, 0
  %add.i = add i64 %at.0.i, 1
  br i1 %tobool.not.i, label %put.exit, label %while.cond.i

put.exit:
  %arrayidx.i.le = getelementptr [0 x ptr], ptr %kernels.i, i64 0, i64 %at.0.i
  store atomic i64 %1, ptr %arrayidx.i.le release, align 8
  br label %if.end9

if.end9:
  %inc = add i64 %at.02526, 1
  %6 = load i64, ptr %old, align 8
  %cmp.not = icmp ugt i64 %inc, %6
  br i1 %cmp.not, label %cleanup, label %for.body

cleanup:
  ret ptr %call
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: noinline nounwind
define ptr @tx_xla_handler(ptr nocapture noundef readonly %frame) local_unnamed_addr #0 {
entry:
  %extensions = getelementptr inbounds i8, ptr %frame, i64 8
  %0 = load ptr, ptr %extensions, align 8
  %tobool.not = icmp eq ptr %0, null
  br i1 %tobool.not, label %if.end, label %land.lhs.true

land.lhs.true:
  %type = getelementptr inbounds i8, ptr %0, i64 8
  %1 = load i32, ptr %type, align 8
  %cmp = icmp eq i32 %1, 1
  br i1 %cmp, label %if.then, label %if.end

if.then:
  %metadata1.i = getelementptr inbounds i8, ptr %0, i64 24
  %2 = load ptr, ptr %metadata1.i, align 8
  %major.i = getelementptr inbounds i8, ptr %2, i64 24
  store i32 0, ptr %major.i, align 8
  %api.i = getelementptr inbounds i8, ptr %frame, i64 16
  %3 = load ptr, ptr %api.i, align 8
  %tobool.not.i = icmp eq ptr %3, null
  br i1 %tobool.not.i, label %answer_metadata.exit, label %cond.true.i

cond.true.i:
  %minor.i = getelementptr inbounds i8, ptr %3, i64 36
  %4 = load i32, ptr %minor.i, align 4
  br label %answer_metadata.exit

answer_metadata.exit:
  %cond.i = phi i32 [ %4, %cond.true.i ], [ 1, %if.then ]
  %minor5.i = getelementptr inbounds i8, ptr %2, i64 28
  store i32 %cond.i, ptr %minor5.i, align 4
  %traits.i = getelementptr inbounds i8, ptr %2, i64 32
  store i32 0, ptr %traits.i, align 8
  br label %return

if.end:
  %stage = getelementptr inbounds i8, ptr %frame, i64 32
  %5 = load i32, ptr %stage, align 8
  %cmp2.not = icmp eq i32 %5, 3
  br i1 %cmp2.not, label %if.end4, label %return

if.end4:
  %count.i = getelementptr inbounds i8, ptr %frame, i64 136
  %6 = load i64, ptr %count.i, align 8
  %cmp.not.i = icmp eq i64 %6, 1
  br i1 %cmp.not.i, label %lor.lhs.false.i, label %if.then7

lor.lhs.false.i:
  %kinds.i = getelementptr inbounds i8, ptr %frame, i64 144
  %7 = load ptr, ptr %kinds.i, align 8
  %8 = load i32, ptr %7, align 4
  %cmp2.not.i = icmp eq i32 %8, 3
  br i1 %cmp2.not.i, label %if.end.i, label %if.then7

if.end.i:
  %values.i = getelementptr inbounds i8, ptr %frame, i64 160
  %9 = load ptr, ptr %values.i, align 8
  %10 = load ptr, ptr %9, align 8
  %11 = load i32, ptr %10, align 8
  %cmp4.i = icmp eq i32 %11, 5
  br i1 %cmp4.i, label %cond.true.i18, label %if.then7

cond.true.i18:
  %value.i = getelementptr inbounds i8, ptr %10, i64 8
  %12 = load ptr, ptr %value.i, align 8
  %13 = load i64, ptr %12, align 8
  %14 = load atomic i64, ptr @table acquire, align 8
  %15 = inttoptr i64 %14 to ptr
  %kernels.i.i = getelementptr inbounds i8, ptr %15, i64 8
  %tobool.not.i.i = icmp eq i64 %14, 0
  br i1 %tobool.not.i.i, label %if.then7, label %for.body.i.preheader.i

for.body.i.preheader.i:
  %16 = load i64, ptr %15, align 8
  %and.i8.i = and i64 %16, %13
  %arrayidx.i9.i = getelementptr [0 x ptr], ptr %kernels.i.i, i64 0, i64 %and.i8.i
  %17 = load atomic i64, ptr %arrayidx.i9.i acquire, align 8
  %18 = inttoptr i64 %17 to ptr
  %tobool2.not.i10.i = icmp eq i64 %17, 0
  br i1 %tobool2.not.i10.i, label %kernel_of.exit, label %cleanup.i.i

for.body.i.i:
  %inc.i.i = add i64 %at.020.i11.i, 1
  %19 = load i64, ptr %15, align 8
  %and.i.i = and i64 %19, %inc.i.i
  %arrayidx.i.i = getelementptr [0 x ptr], ptr %kernels.i.i, i64 0, i64 %and.i.i
  %20 = load atomic i64, ptr %arrayidx.i.i acquire, align 8
  %21 = inttoptr i64 %20 to ptr
  %tobool2.not.i.i = icmp eq i64 %20, 0
  br i1 %tobool2.not.i.i, label %kernel_of.exit, label %cleanup.i.i

cleanup.i.i:
  %22 = phi ptr [ %21, %for.body.i.i ], [ %18, %for.body.i.preheader.i ]
  %at.020.i11.i = phi i64 [ %inc.i.i, %for.body.i.i ], [ %13, %for.body.i.preheader.i ]
  %23 = load i64, ptr %22, align 8
  %cmp.not.i.i = icmp eq i64 %23, %13
  br i1 %cmp.not.i.i, label %if.end9, label %for.body.i.i

kernel_of.exit:
  %retval.0.i = phi ptr [ %18, %for.body.i.preheader.i ], [ %21, %for.body.i.i ]
  %tobool6.not = icmp eq ptr %retval.0.i, null
  br i1 %tobool6.not, label %if.then7, label %if.end9

if.then7:
  %call8 = tail call fastcc ptr @fail(ptr noundef %frame, i32 noundef 9, ptr noundef nonnull @.str, ptr noundef nonnull @.str.1) #9
  br label %return

if.end9:
  %retval.0.i24 = phi ptr [ %retval.0.i, %kernel_of.exit ], [ %22, %cleanup.i.i ]
  %call10 = tail call fastcc ptr @run(ptr noundef %frame, ptr noundef nonnull %retval.0.i24) #9
  br label %return

return:
  %retval.1 = phi ptr [ null, %answer_metadata.exit ], [ null, %if.end ], [ %call10, %if.end9 ], [ %call8, %if.then7 ]
  ret ptr %retval.1
}

; Function Attrs: noinline nounwind
define internal fastcc ptr @fail(ptr nocapture noundef readonly %frame, i32 noundef %code, ptr nocapture noundef readonly %name, ptr nocapture noundef readonly %text) unnamed_addr #0 {
entry:
  %message = alloca %struct.Message, align 8
  call void @llvm.lifetime.start.p0(i64 1032, ptr nonnull %message) #11
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(1032) %message, i8 0, i64 1032, i1 false)
  %0 = load i8, ptr %name, align 1
  %tobool.not12.i = icmp eq i8 %0, 0
  br i1 %tobool.not12.i, label %say.exit, label %land.rhs.lr.ph.i

land.rhs.lr.ph.i:
  %text2.i = getelementptr inbounds i8, ptr %message, i64 8
  br label %land.rhs.i

land.rhs.i:
  %1 = phi i8 [ %0, %land.rhs.lr.ph.i ], [ %3, %while.body.i ]
  %text.addr.013.i = phi ptr [ %name, %land.rhs.lr.ph.i ], [ %incdec.ptr.i, %while.body.i ]
  %2 = load i64, ptr %message, align 8
  %add.i = add i64 %2, 1
  %cmp.i = icmp slt i64 %add.i, 1024
  br i1 %cmp.i, label %while.body.i, label %say.exit

while.body.i:
  %incdec.ptr.i = getelementptr i8, ptr %text.addr.013.i, i64 1
  store i64 %add.i, ptr %message, align 8
  %arrayidx.i = getelementptr [1024 x i8], ptr %text2.i, i64 0, i64 %2
  store i8 %1, ptr %arrayidx.i, align 1
  %3 = load i8, ptr %incdec.ptr.i, align 1
  %tobool.not.i = icmp eq i8 %3, 0
  br i1 %tobool.not.i, label %while.body.i.say.exit.loopexit_crit_edge, label %land.rhs.i

while.body.i.say.exit.loopexit_crit_edge:
  %.pre.pre = load i64, ptr %message, align 8
  br label %say.exit

say.exit:
  %4 = phi i64 [ 0, %entry ], [ %.pre.pre, %while.body.i.say.exit.loopexit_crit_edge ], [ %2, %land.rhs.i ]
  %text4.i = getelementptr inbounds i8, ptr %message, i64 8
  %arrayidx6.i = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %4
  store i8 0, ptr %arrayidx6.i, align 1
  br label %land.rhs.i3

land.rhs.i3:
  %5 = phi i8 [ 58, %say.exit ], [ %7, %while.body.i9 ]
  %text.addr.013.i4 = phi ptr [ @.str.2, %say.exit ], [ %incdec.ptr.i10, %while.body.i9 ]
  %6 = load i64, ptr %message, align 8
  %add.i5 = add i64 %6, 1
  %cmp.i6 = icmp slt i64 %add.i5, 1024
  br i1 %cmp.i6, label %while.body.i9, label %say.exit13

while.body.i9:
  %incdec.ptr.i10 = getelementptr i8, ptr %text.addr.013.i4, i64 1
  store i64 %add.i5, ptr %message, align 8
  %arrayidx.i11 = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %6
  store i8 %5, ptr %arrayidx.i11, align 1
  %7 = load i8, ptr %incdec.ptr.i10, align 1
  %exitcond = icmp eq ptr %incdec.ptr.i10, getelementptr inbounds (i8, ptr @.str.2, i64 2)
  br i1 %exitcond, label %while.body.i9.say.exit13_crit_edge, label %land.rhs.i3

while.body.i9.say.exit13_crit_edge:
  %.pre28 = load i64, ptr %message, align 8
  br label %say.exit13

say.exit13:
  %8 = phi i64 [ %.pre28, %while.body.i9.say.exit13_crit_edge ], [ %6, %land.rhs.i3 ]
  %arrayidx6.i8 = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %8
  store i8 0, ptr %arrayidx6.i8, align 1
  %9 = load i8, ptr %text, align 1
  %tobool.not12.i14 = icmp eq i8 %9, 0
  br i1 %tobool.not12.i14, label %say.exit27, label %land.rhs.i17

land.rhs.i17:
  %10 = phi i8 [ %12, %while.body.i23 ], [ %9, %say.exit13 ]
  %text.addr.013.i18 = phi ptr [ %incdec.ptr.i24, %while.body.i23 ], [ %text, %say.exit13 ]
  %11 = load i64, ptr %message, align 8
  %add.i19 = add i64 %11, 1
  %cmp.i20 = icmp slt i64 %add.i19, 1024
  br i1 %cmp.i20, label %while.body.i23, label %say.exit27

while.body.i23:
  %incdec.ptr.i24 = getelementptr i8, ptr %text.addr.013.i18, i64 1
  store i64 %add.i19, ptr %message, align 8
  %arrayidx.i25 = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %11
  store i8 %10, ptr %arrayidx.i25, align 1
  %12 = load i8, ptr %incdec.ptr.i24, align 1
  %tobool.not.i26 = icmp eq i8 %12, 0
  br i1 %tobool.not.i26, label %say.exit27, label %land.rhs.i17

say.exit27:
  %13 = load i64, ptr %message, align 8
  %arrayidx6.i22 = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %13
  store i8 0, ptr %arrayidx6.i22, align 1
  %call = call fastcc ptr @error(ptr noundef %frame, i32 noundef %code, ptr noundef nonnull %message) #9
  call void @llvm.lifetime.end.p0(i64 1032, ptr nonnull %message) #11
  ret ptr %call
}

; Function Attrs: nounwind
define internal fastcc ptr @run(ptr nocapture noundef readonly %frame, ptr noundef readonly %kernel) unnamed_addr #2 {
entry:
  %inputs = getelementptr inbounds i8, ptr %kernel, i64 24
  %0 = load i64, ptr %inputs, align 8
  %add = add i64 %0, 1
  %outputs = getelementptr inbounds i8, ptr %kernel, i64 32
  %1 = load i64, ptr %outputs, align 8
  %add1 = add i64 %add, %1
  %sizes = getelementptr inbounds i8, ptr %kernel, i64 40
  %2 = load i64, ptr %sizes, align 8
  %add2 = add i64 %add1, %2
  %mul = shl i64 %add2, 3
  %3 = alloca i8, i64 %mul, align 16
  %add.ptr = getelementptr %union.Slot, ptr %3, i64 %0
  %add.ptr7 = getelementptr %union.Slot, ptr %add.ptr, i64 %1
  %words.i.i.i = getelementptr inbounds i8, ptr %kernel, i64 56
  %checks.i.i = getelementptr inbounds i8, ptr %kernel, i64 48
  %4 = load i64, ptr %checks.i.i, align 8
  %add.ptr.i.i = getelementptr %struct.Check, ptr %words.i.i.i, i64 %4
  %add.ptr.i = getelementptr i64, ptr %add.ptr.i.i, i64 %2
  %count1.i = getelementptr inbounds i8, ptr %frame, i64 56
  %5 = load i64, ptr %count1.i, align 8
  %cmp.not.i = icmp eq i64 %5, %0
  br i1 %cmp.not.i, label %for.cond.preheader.i, label %if.then

for.cond.preheader.i:
  %cmp2.not66.i = icmp sgt i64 %0, 0
  br i1 %cmp2.not66.i, label %for.body.lr.ph.i, label %take.exit

for.body.lr.ph.i:
  %buffers.i = getelementptr inbounds i8, ptr %frame, i64 72
  %kinds.i = getelementptr inbounds i8, ptr %frame, i64 64
  %6 = load ptr, ptr %buffers.i, align 8
  %7 = load ptr, ptr %kinds.i, align 8
  br label %for.body.i

for.body.i:
  %k.068.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %inc33.i, %for.inc32.i ]
  %record.addr.067.i = phi ptr [ %add.ptr.i, %for.body.lr.ph.i ], [ %add.ptr.i64, %for.inc32.i ]
  %arrayidx.i = getelementptr ptr, ptr %6, i64 %k.068.i
  %8 = load ptr, ptr %arrayidx.i, align 8
  %arrayidx3.i = getelementptr i32, ptr %7, i64 %k.068.i
  %9 = load i32, ptr %arrayidx3.i, align 4
  %cmp4.not.i = icmp eq i32 %9, 1
  br i1 %cmp4.not.i, label %lor.lhs.false.i, label %if.then

lor.lhs.false.i:
  %type.i = getelementptr inbounds i8, ptr %8, i64 16
  %10 = load i32, ptr %type.i, align 8
  %conv.i = sext i32 %10 to i64
  %11 = load i64, ptr %record.addr.067.i, align 8
  %cmp6.not.i = icmp eq i64 %11, %conv.i
  br i1 %cmp6.not.i, label %lor.lhs.false8.i, label %if.then

lor.lhs.false8.i:
  %rank.i = getelementptr inbounds i8, ptr %8, i64 32
  %12 = load i64, ptr %rank.i, align 8
  %rank9.i = getelementptr inbounds i8, ptr %record.addr.067.i, i64 8
  %13 = load i64, ptr %rank9.i, align 8
  %cmp10.not.i = icmp eq i64 %12, %13
  br i1 %cmp10.not.i, label %for.cond14.preheader.i, label %if.then

for.cond14.preheader.i:
  %cmp16.not64.i = icmp sgt i64 %12, 0
  br i1 %cmp16.not64.i, label %for.body19.lr.ph.i, label %for.inc32.i

for.body19.lr.ph.i:
  %extents.i = getelementptr inbounds i8, ptr %8, i64 40
  %14 = load ptr, ptr %extents.i, align 8
  %extents21.i = getelementptr inbounds i8, ptr %record.addr.067.i, i64 16
  br label %for.body19.i

for.cond14.i:
  %inc.i = add nuw nsw i64 %axis.065.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %12
  br i1 %exitcond.not.i, label %for.inc32.i, label %for.body19.i

for.body19.i:
  %axis.065.i = phi i64 [ 0, %for.body19.lr.ph.i ], [ %inc.i, %for.cond14.i ]
  %arrayidx20.i = getelementptr i64, ptr %14, i64 %axis.065.i
  %15 = load i64, ptr %arrayidx20.i, align 8
  %arrayidx22.i = getelementptr [0 x i64], ptr %extents21.i, i64 0, i64 %axis.065.i
  %16 = load i64, ptr %arrayidx22.i, align 8
  %cmp23.not.i = icmp eq i64 %15, %16
  br i1 %cmp23.not.i, label %for.cond14.i, label %if.then

for.inc32.i:
  %data.i = getelementptr inbounds i8, ptr %8, i64 24
  %17 = load ptr, ptr %data.i, align 8
  %arrayidx27.i = getelementptr %union.Slot, ptr %3, i64 %k.068.i
  store ptr %17, ptr %arrayidx27.i, align 8
  %extents28.i = getelementptr inbounds i8, ptr %record.addr.067.i, i64 16
  %add.ptr.i64 = getelementptr i64, ptr %extents28.i, i64 %12
  %inc33.i = add nuw nsw i64 %k.068.i, 1
  %exitcond73.not.i = icmp eq i64 %inc33.i, %0
  br i1 %exitcond73.not.i, label %take.exit, label %for.body.i

take.exit:
  %retval.4.i = phi ptr [ %add.ptr.i, %for.cond.preheader.i ], [ %add.ptr.i64, %for.inc32.i ]
  %tobool.not = icmp eq ptr %retval.4.i, null
  br i1 %tobool.not, label %if.then, label %lor.lhs.false

lor.lhs.false:
  %count1.i65 = getelementptr inbounds i8, ptr %frame, i64 96
  %18 = load i64, ptr %count1.i65, align 8
  %cmp.not.i66 = icmp eq i64 %18, %1
  br i1 %cmp.not.i66, label %for.cond.preheader.i68, label %if.then

for.cond.preheader.i68:
  %cmp2.not66.i69 = icmp sgt i64 %1, 0
  br i1 %cmp2.not66.i69, label %for.body.lr.ph.i70, label %if.end

for.body.lr.ph.i70:
  %buffers.i71 = getelementptr inbounds i8, ptr %frame, i64 112
  %kinds.i72 = getelementptr inbounds i8, ptr %frame, i64 104
  %19 = load ptr, ptr %buffers.i71, align 8
  %20 = load ptr, ptr %kinds.i72, align 8
  br label %for.body.i73

for.body.i73:
  %k.068.i74 = phi i64 [ 0, %for.body.lr.ph.i70 ], [ %inc33.i94, %for.inc32.i89 ]
  %record.addr.067.i75 = phi ptr [ %retval.4.i, %for.body.lr.ph.i70 ], [ %add.ptr.i93, %for.inc32.i89 ]
  %arrayidx.i76 = getelementptr ptr, ptr %19, i64 %k.068.i74
  %21 = load ptr, ptr %arrayidx.i76, align 8
  %arrayidx3.i77 = getelementptr i32, ptr %20, i64 %k.068.i74
  %22 = load i32, ptr %arrayidx3.i77, align 4
  %cmp4.not.i78 = icmp eq i32 %22, 1
  br i1 %cmp4.not.i78, label %lor.lhs.false.i79, label %if.then

lor.lhs.false.i79:
  %type.i80 = getelementptr inbounds i8, ptr %21, i64 16
  %23 = load i32, ptr %type.i80, align 8
  %conv.i81 = sext i32 %23 to i64
  %24 = load i64, ptr %record.addr.067.i75, align 8
  %cmp6.not.i82 = icmp eq i64 %24, %conv.i81
  br i1 %cmp6.not.i82, label %lor.lhs.false8.i83, label %if.then

lor.lhs.false8.i83:
  %rank.i84 = getelementptr inbounds i8, ptr %21, i64 32
  %25 = load i64, ptr %rank.i84, align 8
  %rank9.i85 = getelementptr inbounds i8, ptr %record.addr.067.i75, i64 8
  %26 = load i64, ptr %rank9.i85, align 8
  %cmp10.not.i86 = icmp eq i64 %25, %26
  br i1 %cmp10.not.i86, label %for.cond14.preheader.i87, label %if.then

for.cond14.preheader.i87:
  %cmp16.not64.i88 = icmp sgt i64 %25, 0
  br i1 %cmp16.not64.i88, label %for.body19.lr.ph.i96, label %for.inc32.i89

for.body19.lr.ph.i96:
  %extents.i97 = getelementptr inbounds i8, ptr %21, i64 40
  %27 = load ptr, ptr %extents.i97, align 8
  %extents21.i98 = getelementptr inbounds i8, ptr %record.addr.067.i75, i64 16
  br label %for.body19.i99

for.cond14.i104:
  %inc.i105 = add nuw nsw i64 %axis.065.i100, 1
  %exitcond.not.i106 = icmp eq i64 %inc.i105, %25
  br i1 %exitcond.not.i106, label %for.inc32.i89, label %for.body19.i99

for.body19.i99:
  %axis.065.i100 = phi i64 [ 0, %for.body19.lr.ph.i96 ], [ %inc.i105, %for.cond14.i104 ]
  %arrayidx20.i101 = getelementptr i64, ptr %27, i64 %axis.065.i100
  %28 = load i64, ptr %arrayidx20.i101, align 8
  %arrayidx22.i102 = getelementptr [0 x i64], ptr %extents21.i98, i64 0, i64 %axis.065.i100
  %29 = load i64, ptr %arrayidx22.i102, align 8
  %cmp23.not.i103 = icmp eq i64 %28, %29
  br i1 %cmp23.not.i103, label %for.cond14.i104, label %if.then

for.inc32.i89:
  %data.i90 = getelementptr inbounds i8, ptr %21, i64 24
  %30 = load ptr, ptr %data.i90, align 8
  %arrayidx27.i91 = getelementptr %union.Slot, ptr %add.ptr, i64 %k.068.i74
  store ptr %30, ptr %arrayidx27.i91, align 8
  %extents28.i92 = getelementptr inbounds i8, ptr %record.addr.067.i75, i64 16
  %31 = load i64, ptr %rank9.i85, align 8
  %add.ptr.i93 = getelementptr i64, ptr %extents28.i92, i64 %31
  %inc33.i94 = add nuw nsw i64 %k.068.i74, 1
  %exitcond73.not.i95 = icmp eq i64 %inc33.i94, %1
  br i1 %exitcond73.not.i95, label %take.exit107, label %for.body.i73

take.exit107:
  %tobool12.not = icmp eq ptr %add.ptr.i93, null
  br i1 %tobool12.not, label %if.then, label %if.end

if.then:
  %name = getelementptr inbounds i8, ptr %kernel, i64 16
  %32 = load ptr, ptr %name, align 8
  %call13 = tail call fastcc ptr @fail(ptr noundef %frame, i32 noundef 3, ptr noundef %32, ptr noundef nonnull @.str.3) #9
  br label %cleanup31

if.end:
  %cmp.not33.i = icmp sgt i64 %4, 0
  br i1 %cmp.not33.i, label %for.body.lr.ph.i108, label %refuse_values.exit

for.body.lr.ph.i108:
  %buffers.i109 = getelementptr inbounds i8, ptr %frame, i64 72
  br label %for.body.i110

for.body.i110:
  %k.034.i = phi i64 [ 0, %for.body.lr.ph.i108 ], [ %inc.i113, %for.inc.i ]
  %arrayidx.i111 = getelementptr %struct.Check, ptr %words.i.i.i, i64 %k.034.i
  %holds.i = getelementptr inbounds i8, ptr %arrayidx.i111, i64 32
  %33 = load ptr, ptr %holds.i, align 8
  %34 = load ptr, ptr %buffers.i109, align 8
  %35 = load i64, ptr %arrayidx.i111, align 8
  %arrayidx2.i = getelementptr ptr, ptr %34, i64 %35
  %36 = load ptr, ptr %arrayidx2.i, align 8
  %data.i112 = getelementptr inbounds i8, ptr %36, i64 24
  %37 = load ptr, ptr %data.i112, align 8
  %bytes.i = getelementptr inbounds i8, ptr %arrayidx.i111, i64 8
  %38 = load i64, ptr %bytes.i, align 8
  %lo.i = getelementptr inbounds i8, ptr %arrayidx.i111, i64 40
  %39 = load i64, ptr %lo.i, align 8
  %hi.i = getelementptr inbounds i8, ptr %arrayidx.i111, i64 48
  %40 = load i64, ptr %hi.i, align 8
  %call3.i = tail call i1 %33(ptr noundef %37, i64 noundef %38, i64 noundef %39, i64 noundef %40) #10
  br i1 %call3.i, label %for.inc.i, label %if.end.i

if.end.i:
  %argsort.i = getelementptr inbounds i8, ptr %arrayidx.i111, i64 56
  %41 = load ptr, ptr %argsort.i, align 8
  %tobool.not.i = icmp eq ptr %41, null
  br i1 %tobool.not.i, label %cond.false.i, label %cond.true.i

cond.true.i:
  %call4.i = tail call fastcc ptr @refuse_repeats(ptr noundef nonnull readonly %frame, ptr noundef nonnull readonly %kernel, ptr noundef nonnull readonly %arrayidx.i111) #9
  br label %cond.end.i

cond.false.i:
  %call5.i = tail call fastcc ptr @refuse_range(ptr noundef nonnull readonly %frame, ptr noundef nonnull readonly %kernel, ptr noundef nonnull readonly %arrayidx.i111) #9
  br label %cond.end.i

cond.end.i:
  %cond.i = phi ptr [ %call4.i, %cond.true.i ], [ %call5.i, %cond.false.i ]
  %tobool6.not.i = icmp eq ptr %cond.i, null
  br i1 %tobool6.not.i, label %for.inc.i, label %cleanup31

for.inc.i:
  %inc.i113 = add nuw nsw i64 %k.034.i, 1
  %42 = load i64, ptr %checks.i.i, align 8
  %cmp.not.i114 = icmp slt i64 %inc.i113, %42
  br i1 %cmp.not.i114, label %for.body.i110, label %refuse_values.exit.loopexit

refuse_values.exit.loopexit:
  %.pre = load i64, ptr %sizes, align 8
  br label %refuse_values.exit

refuse_values.exit:
  %43 = phi i64 [ %42, %refuse_values.exit.loopexit ], [ %4, %if.end ]
  %44 = phi i64 [ %.pre, %refuse_values.exit.loopexit ], [ %2, %if.end ]
  %cmp129 = icmp sgt i64 %44, 0
  br i1 %cmp129, label %for.body.lr.ph, label %for.cond.cleanup

for.body.lr.ph:
  %add.ptr.i116 = getelementptr %struct.Check, ptr %words.i.i.i, i64 %43
  br label %for.body

for.cond.cleanup:
  %entry21 = getelementptr inbounds i8, ptr %kernel, i64 8
  %45 = load ptr, ptr %entry21, align 8
  %call22 = call i32 @tx_run_uncounted(ptr noundef %45, ptr noundef nonnull %3) #10
  switch i32 %call22, label %sw.default [
    i32 0, label %cleanup31
    i32 1, label %sw.bb23
    i32 2, label %sw.bb26
  ]

for.body:
  %k.0130 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.body ]
  %arrayidx = getelementptr i64, ptr %add.ptr.i116, i64 %k.0130
  %46 = load i64, ptr %arrayidx, align 8
  %arrayidx20 = getelementptr %union.Slot, ptr %add.ptr7, i64 %k.0130
  store i64 %46, ptr %arrayidx20, align 8
  %inc = add nuw nsw i64 %k.0130, 1
  %exitcond.not = icmp eq i64 %inc, %44
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

sw.bb23:
  %name24 = getelementptr inbounds i8, ptr %kernel, i64 16
  %47 = load ptr, ptr %name24, align 8
  %call25 = call fastcc ptr @fail(ptr noundef %frame, i32 noundef 1, ptr noundef %47, ptr noundef nonnull @.str.4) #9
  br label %cleanup31

sw.bb26:
  %name27 = getelementptr inbounds i8, ptr %kernel, i64 16
  %48 = load ptr, ptr %name27, align 8
  %call28 = call fastcc ptr @fail(ptr noundef %frame, i32 noundef 8, ptr noundef %48, ptr noundef nonnull @.str.5) #9
  br label %cleanup31

sw.default:
  %name29 = getelementptr inbounds i8, ptr %kernel, i64 16
  %49 = load ptr, ptr %name29, align 8
  %call30 = call fastcc ptr @fail(ptr noundef %frame, i32 noundef 9, ptr noundef %49, ptr noundef nonnull @.str.6) #9
  br label %cleanup31

cleanup31:
  %retval.1 = phi ptr [ %call13, %if.then ], [ %call30, %sw.default ], [ %call28, %sw.bb26 ], [ %call25, %sw.bb23 ], [ null, %for.cond.cleanup ], [ %cond.i, %cond.end.i ]
  ret ptr %retval.1
}

declare ptr @tx_alloc(i64 noundef) local_unnamed_addr #3

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #4

; Function Attrs: noinline nounwind
define internal fastcc ptr @error(ptr nocapture noundef readonly %frame, i32 noundef %code, ptr noundef %message) unnamed_addr #0 {
entry:
  %arguments = alloca %struct.XlaErrorArguments, align 8
  call void @llvm.lifetime.start.p0(i64 32, ptr nonnull %arguments) #11
  store i64 32, ptr %arguments, align 8
  %extensions = getelementptr inbounds i8, ptr %arguments, i64 8
  store ptr null, ptr %extensions, align 8
  %message1 = getelementptr inbounds i8, ptr %arguments, i64 16
  %text = getelementptr inbounds i8, ptr %message, i64 8
  store ptr %text, ptr %message1, align 8
  %code2 = getelementptr inbounds i8, ptr %arguments, i64 24
  store i32 %code, ptr %code2, align 8
  %api = getelementptr inbounds i8, ptr %frame, i64 16
  %0 = load ptr, ptr %api, align 8
  %make_error = getelementptr inbounds i8, ptr %0, i64 48
  %1 = load ptr, ptr %make_error, align 8
  %call = call ptr %1(ptr noundef nonnull %arguments) #10
  call void @llvm.lifetime.end.p0(i64 32, ptr nonnull %arguments) #11
  ret ptr %call
}

declare i32 @tx_run_uncounted(ptr noundef, ptr noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc ptr @refuse_repeats(ptr nocapture noundef readonly %frame, ptr nocapture noundef readonly %kernel, ptr nocapture noundef readonly %check) unnamed_addr #0 {
entry:
  %bits.i.i = alloca i64, align 8
  %message.i = alloca %struct.Message, align 8
  %bits.i55 = alloca i64, align 8
  %bits.i = alloca i64, align 8
  %buffers = getelementptr inbounds i8, ptr %frame, i64 72
  %0 = load ptr, ptr %buffers, align 8
  %1 = load i64, ptr %check, align 8
  %arrayidx = getelementptr ptr, ptr %0, i64 %1
  %2 = load ptr, ptr %arrayidx, align 8
  %data1 = getelementptr inbounds i8, ptr %2, i64 24
  %3 = load ptr, ptr %data1, align 8
  %bytes = getelementptr inbounds i8, ptr %check, i64 8
  %4 = load i64, ptr %bytes, align 8
  %item_bytes = getelementptr inbounds i8, ptr %check, i64 16
  %5 = load i64, ptr %item_bytes, align 8
  %div = sdiv i64 %4, %5
  %lo = getelementptr inbounds i8, ptr %check, i64 40
  %6 = load i64, ptr %lo, align 8
  %mul = shl i64 %div, 3
  %call = tail call ptr @tx_alloc(i64 noundef %mul) #10
  %tobool.not = icmp eq ptr %call, null
  br i1 %tobool.not, label %if.then, label %lor.lhs.false

lor.lhs.false:
  %argsort = getelementptr inbounds i8, ptr %check, i64 56
  %7 = load ptr, ptr %argsort, align 8
  %div2 = sdiv i64 %div, %6
  %call3 = tail call i32 %7(ptr noundef %3, ptr noundef nonnull %call, i64 noundef %div2, i64 noundef %6) #10
  %tobool4.not = icmp eq i32 %call3, 0
  br i1 %tobool4.not, label %for.cond.preheader, label %if.then

for.cond.preheader:
  %cmp86 = icmp sgt i64 %div, 1
  br i1 %cmp86, label %for.body.lr.ph, label %for.cond.cleanup

for.body.lr.ph:
  %is_signed.i = getelementptr inbounds i8, ptr %check, i64 24
  %name.i = getelementptr inbounds i8, ptr %kernel, i64 16
  %text2.i.i = getelementptr inbounds i8, ptr %message.i, i64 8
  br label %for.body

if.then:
  tail call void @tx_free(ptr noundef %call) #10
  %name = getelementptr inbounds i8, ptr %kernel, i64 16
  %8 = load ptr, ptr %name, align 8
  %call5 = tail call fastcc ptr @fail(ptr noundef nonnull %frame, i32 noundef 8, ptr noundef %8, ptr noundef nonnull @.str.5) #9
  br label %cleanup

for.cond.cleanup:
  %found.0.lcssa = phi ptr [ null, %for.cond.preheader ], [ %found.1, %if.end18 ]
  call void @tx_free(ptr noundef nonnull %call) #10
  br label %cleanup

for.body:
  %k.087 = phi i64 [ 1, %for.body.lr.ph ], [ %inc, %if.end18 ]
  %9 = srem i64 %k.087, %6
  %mul8 = sub nsw i64 %k.087, %9
  %10 = getelementptr i64, ptr %call, i64 %k.087
  %arrayidx9 = getelementptr i8, ptr %10, i64 -8
  %11 = load i64, ptr %arrayidx9, align 8
  %add = add i64 %mul8, %11
  %12 = load i64, ptr %10, align 8
  %add11 = add i64 %12, %mul8
  %cmp12.not = icmp eq i64 %9, 0
  br i1 %cmp12.not, label %if.end18, label %land.lhs.true

land.lhs.true:
  %13 = load i64, ptr %item_bytes, align 8
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %bits.i)
  store i64 0, ptr %bits.i, align 8
  %mul2.i = mul i64 %13, %add
  %add.ptr.i = getelementptr i8, ptr %3, i64 %mul2.i
  call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 8 %bits.i, ptr readonly align 1 %add.ptr.i, i64 %13, i1 false)
  %14 = load i64, ptr %is_signed.i, align 8
  %tobool.not.i = icmp eq i64 %14, 0
  br i1 %tobool.not.i, label %cond.false.i69, label %cond.true.i61

cond.true.i61:
  %mul.i = shl i64 %13, 3
  %sub.i = sub i64 64, %mul.i
  %bits.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0..i = load i64, ptr %bits.i, align 8
  %sh_prom.i = and i64 %sub.i, 4294967288
  %shl.i = shl i64 %bits.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0..i, %sh_prom.i
  %shr.i = ashr exact i64 %shl.i, %sh_prom.i
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %bits.i)
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %bits.i55)
  store i64 0, ptr %bits.i55, align 8
  %mul2.i57 = mul i64 %13, %add11
  %add.ptr.i58 = getelementptr i8, ptr %3, i64 %mul2.i57
  call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 8 %bits.i55, ptr readonly align 1 %add.ptr.i58, i64 %13, i1 false)
  %bits.i55.0.bits.i55.0.bits.i55.0.bits.0.bits.0.bits.0..i64 = load i64, ptr %bits.i55, align 8
  %shl.i66 = shl i64 %bits.i55.0.bits.i55.0.bits.i55.0.bits.0.bits.0.bits.0..i64, %sh_prom.i
  %shr.i67 = ashr exact i64 %shl.i66, %sh_prom.i
  br label %element.exit71

cond.false.i69:
  %bits.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0.5.i = load i64, ptr %bits.i, align 8
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %bits.i)
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %bits.i55)
  store i64 0, ptr %bits.i55, align 8
  %mul2.i5773 = mul i64 %13, %add11
  %add.ptr.i5874 = getelementptr i8, ptr %3, i64 %mul2.i5773
  call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 8 %bits.i55, ptr readonly align 1 %add.ptr.i5874, i64 %13, i1 false)
  %bits.i55.0.bits.i55.0.bits.i55.0.bits.0.bits.0.bits.0.5.i70 = load i64, ptr %bits.i55, align 8
  br label %element.exit71

element.exit71:
  %cond.i75 = phi i64 [ %shr.i, %cond.true.i61 ], [ %bits.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0.5.i, %cond.false.i69 ]
  %cond.i68 = phi i64 [ %shr.i67, %cond.true.i61 ], [ %bits.i55.0.bits.i55.0.bits.i55.0.bits.0.bits.0.bits.0.5.i70, %cond.false.i69 ]
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %bits.i55)
  %cmp15 = icmp eq i64 %cond.i75, %cond.i68
  br i1 %cmp15, label %if.then16, label %if.end18

if.then16:
  %15 = load ptr, ptr %buffers, align 8
  %16 = load i64, ptr %check, align 8
  %arrayidx.i = getelementptr ptr, ptr %15, i64 %16
  %17 = load ptr, ptr %arrayidx.i, align 8
  call void @llvm.lifetime.start.p0(i64 1032, ptr nonnull %message.i) #11
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(1032) %message.i, i8 0, i64 1032, i1 false)
  %18 = load ptr, ptr %name.i, align 8
  %19 = load i8, ptr %18, align 1
  %tobool.not12.i.i = icmp eq i8 %19, 0
  br i1 %tobool.not12.i.i, label %say.exit.i, label %land.rhs.i.i

land.rhs.i.i:
  %20 = phi i8 [ %22, %while.body.i.i ], [ %19, %if.then16 ]
  %text.addr.013.i.i = phi ptr [ %incdec.ptr.i.i, %while.body.i.i ], [ %18, %if.then16 ]
  %21 = load i64, ptr %message.i, align 8
  %add.i.i = add i64 %21, 1
  %cmp.i.i = icmp slt i64 %add.i.i, 1024
  br i1 %cmp.i.i, label %while.body.i.i, label %say.exit.i

while.body.i.i:
  %incdec.ptr.i.i = getelementptr i8, ptr %text.addr.013.i.i, i64 1
  store i64 %add.i.i, ptr %message.i, align 8
  %arrayidx.i.i = getelementptr [1024 x i8], ptr %text2.i.i, i64 0, i64 %21
  store i8 %20, ptr %arrayidx.i.i, align 1
  %22 = load i8, ptr %incdec.ptr.i.i, align 1
  %tobool.not.i.i = icmp eq i8 %22, 0
  br i1 %tobool.not.i.i, label %while.body.i.say.exit.loopexit_crit_edge.i, label %land.rhs.i.i

while.body.i.say.exit.loopexit_crit_edge.i:
  %.pre.pre.i = load i64, ptr %message.i, align 8
  br label %say.exit.i

say.exit.i:
  %23 = phi i64 [ 0, %if.then16 ], [ %.pre.pre.i, %while.body.i.say.exit.loopexit_crit_edge.i ], [ %21, %land.rhs.i.i ]
  %arrayidx6.i.i = getelementptr [1024 x i8], ptr %text2.i.i, i64 0, i64 %23
  store i8 0, ptr %arrayidx6.i.i, align 1
  br label %land.rhs.i12.i

land.rhs.i12.i:
  %24 = phi i8 [ 58, %say.exit.i ], [ %26, %while.body.i18.i ]
  %text.addr.013.i13.i = phi ptr [ @.str.2, %say.exit.i ], [ %incdec.ptr.i19.i, %while.body.i18.i ]
  %25 = load i64, ptr %message.i, align 8
  %add.i14.i = add i64 %25, 1
  %cmp.i15.i = icmp slt i64 %add.i14.i, 1024
  br i1 %cmp.i15.i, label %while.body.i18.i, label %say.exit22.i

while.body.i18.i:
  %incdec.ptr.i19.i = getelementptr i8, ptr %text.addr.013.i13.i, i64 1
  store i64 %add.i14.i, ptr %message.i, align 8
  %arrayidx.i20.i = getelementptr [1024 x i8], ptr %text2.i.i, i64 0, i64 %25
  store i8 %24, ptr %arrayidx.i20.i, align 1
  %26 = load i8, ptr %incdec.ptr.i19.i, align 1
  %exitcond.i = icmp eq ptr %incdec.ptr.i19.i, getelementptr inbounds (i8, ptr @.str.2, i64 2)
  br i1 %exitcond.i, label %while.body.i18.say.exit22_crit_edge.i, label %land.rhs.i12.i

while.body.i18.say.exit22_crit_edge.i:
  %.pre66.i = load i64, ptr %message.i, align 8
  br label %say.exit22.i

say.exit22.i:
  %27 = phi i64 [ %.pre66.i, %while.body.i18.say.exit22_crit_edge.i ], [ %25, %land.rhs.i12.i ]
  %arrayidx6.i17.i = getelementptr [1024 x i8], ptr %text2.i.i, i64 0, i64 %27
  store i8 0, ptr %arrayidx6.i17.i, align 1
  call fastcc void @say_place(ptr noundef nonnull %message.i, ptr noundef nonnull readonly %check, ptr noundef %17, i64 noundef %add) #9
  br label %land.rhs.i25.i

land.rhs.i25.i:
  %28 = phi i8 [ 32, %say.exit22.i ], [ %30, %while.body.i31.i ]
  %text.addr.013.i26.i = phi ptr [ @.str.7, %say.exit22.i ], [ %incdec.ptr.i32.i, %while.body.i31.i ]
  %29 = load i64, ptr %message.i, align 8
  %add.i27.i = add i64 %29, 1
  %cmp.i28.i = icmp slt i64 %add.i27.i, 1024
  br i1 %cmp.i28.i, label %while.body.i31.i, label %say.exit35.i

while.body.i31.i:
  %incdec.ptr.i32.i = getelementptr i8, ptr %text.addr.013.i26.i, i64 1
  store i64 %add.i27.i, ptr %message.i, align 8
  %arrayidx.i33.i = getelementptr [1024 x i8], ptr %text2.i.i, i64 0, i64 %29
  store i8 %28, ptr %arrayidx.i33.i, align 1
  %30 = load i8, ptr %incdec.ptr.i32.i, align 1
  %exitcond63.i = icmp eq ptr %incdec.ptr.i32.i, getelementptr inbounds (i8, ptr @.str.7, i64 5)
  br i1 %exitcond63.i, label %while.body.i31.say.exit35_crit_edge.i, label %land.rhs.i25.i

while.body.i31.say.exit35_crit_edge.i:
  %.pre67.i = load i64, ptr %message.i, align 8
  br label %say.exit35.i

say.exit35.i:
  %31 = phi i64 [ %.pre67.i, %while.body.i31.say.exit35_crit_edge.i ], [ %29, %land.rhs.i25.i ]
  %arrayidx6.i30.i = getelementptr [1024 x i8], ptr %text2.i.i, i64 0, i64 %31
  store i8 0, ptr %arrayidx6.i30.i, align 1
  call fastcc void @say_place(ptr noundef nonnull %message.i, ptr noundef nonnull readonly %check, ptr noundef %17, i64 noundef %add11) #9
  br label %land.rhs.i38.i

land.rhs.i38.i:
  %32 = phi i8 [ 32, %say.exit35.i ], [ %34, %while.body.i44.i ]
  %text.addr.013.i39.i = phi ptr [ @.str.8, %say.exit35.i ], [ %incdec.ptr.i45.i, %while.body.i44.i ]
  %33 = load i64, ptr %message.i, align 8
  %add.i40.i = add i64 %33, 1
  %cmp.i41.i = icmp slt i64 %add.i40.i, 1024
  br i1 %cmp.i41.i, label %while.body.i44.i, label %say.exit48.i

while.body.i44.i:
  %incdec.ptr.i45.i = getelementptr i8, ptr %text.addr.013.i39.i, i64 1
  store i64 %add.i40.i, ptr %message.i, align 8
  %arrayidx.i46.i = getelementptr [1024 x i8], ptr %text2.i.i, i64 0, i64 %33
  store i8 %32, ptr %arrayidx.i46.i, align 1
  %34 = load i8, ptr %incdec.ptr.i45.i, align 1
  %exitcond64.i = icmp eq ptr %incdec.ptr.i45.i, getelementptr inbounds (i8, ptr @.str.8, i64 10)
  br i1 %exitcond64.i, label %while.body.i44.say.exit48_crit_edge.i, label %land.rhs.i38.i

while.body.i44.say.exit48_crit_edge.i:
  %.pre68.i = load i64, ptr %message.i, align 8
  br label %say.exit48.i

say.exit48.i:
  %35 = phi i64 [ %.pre68.i, %while.body.i44.say.exit48_crit_edge.i ], [ %33, %land.rhs.i38.i ]
  %arrayidx6.i43.i = getelementptr [1024 x i8], ptr %text2.i.i, i64 0, i64 %35
  store i8 0, ptr %arrayidx6.i43.i, align 1
  %data.i = getelementptr inbounds i8, ptr %17, i64 24
  %36 = load ptr, ptr %data.i, align 8
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %bits.i.i)
  store i64 0, ptr %bits.i.i, align 8
  %add.ptr.i.i = getelementptr i8, ptr %36, i64 %mul2.i
  call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 8 %bits.i.i, ptr readonly align 1 %add.ptr.i.i, i64 %13, i1 false)
  br i1 %tobool.not.i, label %cond.false.i.i, label %cond.true.i.i

cond.true.i.i:
  %mul.i.i = shl i64 %13, 3
  %sub.i.i = sub i64 64, %mul.i.i
  %bits.i.i.0.bits.i.i.0.bits.i.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0..i.i = load i64, ptr %bits.i.i, align 8
  %sh_prom.i.i = and i64 %sub.i.i, 4294967288
  %shl.i.i = shl i64 %bits.i.i.0.bits.i.i.0.bits.i.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0..i.i, %sh_prom.i.i
  %shr.i.i = ashr exact i64 %shl.i.i, %sh_prom.i.i
  br label %element.exit.i

cond.false.i.i:
  %bits.i.i.0.bits.i.i.0.bits.i.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0.5.i.i = load i64, ptr %bits.i.i, align 8
  br label %element.exit.i

element.exit.i:
  %cond.i.i = phi i64 [ %shr.i.i, %cond.true.i.i ], [ %bits.i.i.0.bits.i.i.0.bits.i.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0.5.i.i, %cond.false.i.i ]
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %bits.i.i)
  %tobool.i = icmp ne i64 %14, 0
  call fastcc void @say_number(ptr noundef nonnull %message.i, i64 noundef %cond.i.i, i1 noundef %tobool.i) #9
  br label %land.rhs.i52.i

land.rhs.i52.i:
  %37 = phi i8 [ 44, %element.exit.i ], [ %39, %while.body.i58.i ]
  %text.addr.013.i53.i = phi ptr [ @.str.9, %element.exit.i ], [ %incdec.ptr.i59.i, %while.body.i58.i ]
  %38 = load i64, ptr %message.i, align 8
  %add.i54.i = add i64 %38, 1
  %cmp.i55.i = icmp slt i64 %add.i54.i, 1024
  br i1 %cmp.i55.i, label %while.body.i58.i, label %refuse_repeated.exit

while.body.i58.i:
  %incdec.ptr.i59.i = getelementptr i8, ptr %text.addr.013.i53.i, i64 1
  store i64 %add.i54.i, ptr %message.i, align 8
  %arrayidx.i60.i = getelementptr [1024 x i8], ptr %text2.i.i, i64 0, i64 %38
  store i8 %37, ptr %arrayidx.i60.i, align 1
  %39 = load i8, ptr %incdec.ptr.i59.i, align 1
  %exitcond65.i = icmp eq ptr %incdec.ptr.i59.i, getelementptr inbounds (i8, ptr @.str.9, i64 26)
  br i1 %exitcond65.i, label %while.body.i58.say.exit62_crit_edge.i, label %land.rhs.i52.i

while.body.i58.say.exit62_crit_edge.i:
  %.pre69.i = load i64, ptr %message.i, align 8
  br label %refuse_repeated.exit

refuse_repeated.exit:
  %40 = phi i64 [ %.pre69.i, %while.body.i58.say.exit62_crit_edge.i ], [ %38, %land.rhs.i52.i ]
  %arrayidx6.i57.i = getelementptr [1024 x i8], ptr %text2.i.i, i64 0, i64 %40
  store i8 0, ptr %arrayidx6.i57.i, align 1
  %call1.i = call fastcc ptr @error(ptr noundef readonly %frame, i32 noundef 3, ptr noundef nonnull %message.i) #9
  call void @llvm.lifetime.end.p0(i64 1032, ptr nonnull %message.i) #11
  br label %if.end18

if.end18:
  %found.1 = phi ptr [ %call1.i, %refuse_repeated.exit ], [ null, %element.exit71 ], [ null, %for.body ]
  %inc = add nuw nsw i64 %k.087, 1
  %cmp = icmp slt i64 %inc, %div
  %tobool6.not = icmp eq ptr %found.1, null
  %41 = select i1 %cmp, i1 %tobool6.not, i1 false
  br i1 %41, label %for.body, label %for.cond.cleanup

cleanup:
  %retval.0 = phi ptr [ %call5, %if.then ], [ %found.0.lcssa, %for.cond.cleanup ]
  ret ptr %retval.0
}

; Function Attrs: noinline nounwind
define internal fastcc ptr @refuse_range(ptr nocapture noundef readonly %frame, ptr nocapture noundef readonly %kernel, ptr nocapture noundef readonly %check) unnamed_addr #0 {
entry:
  %bits.i = alloca i64, align 8
  %bits.i.i = alloca i64, align 8
  %message = alloca %struct.Message, align 8
  %buffers = getelementptr inbounds i8, ptr %frame, i64 72
  %0 = load ptr, ptr %buffers, align 8
  %1 = load i64, ptr %check, align 8
  %arrayidx = getelementptr ptr, ptr %0, i64 %1
  %2 = load ptr, ptr %arrayidx, align 8
  %data = getelementptr inbounds i8, ptr %2, i64 24
  %3 = load ptr, ptr %data, align 8
  %bytes.i = getelementptr inbounds i8, ptr %check, i64 8
  %4 = load i64, ptr %bytes.i, align 8
  %item_bytes.i = getelementptr inbounds i8, ptr %check, i64 16
  %5 = load i64, ptr %item_bytes.i, align 8
  %div.i = sdiv i64 %4, %5
  %sub.i = add i64 %div.i, -1
  %hi.i = getelementptr inbounds i8, ptr %check, i64 48
  %cmp.not21.i = icmp sgt i64 %sub.i, 0
  br i1 %cmp.not21.i, label %for.body.lr.ph.i, label %first_outside.exit

for.body.lr.ph.i:
  %is_signed.i.i = getelementptr inbounds i8, ptr %check, i64 24
  %6 = load i64, ptr %is_signed.i.i, align 8
  %tobool.not.i.i = icmp eq i64 %6, 0
  %mul.i.i = shl i64 %5, 3
  %sub.i.i = sub i64 64, %mul.i.i
  %sh_prom.i.i = and i64 %sub.i.i, 4294967288
  %lo.i = getelementptr inbounds i8, ptr %check, i64 40
  %7 = load i64, ptr %lo.i, align 8
  br label %for.body.i

for.body.i:
  %k.022.i = phi i64 [ 0, %for.body.lr.ph.i ], [ %inc.i, %for.inc.i ]
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %bits.i.i)
  store i64 0, ptr %bits.i.i, align 8
  %mul2.i.i = mul i64 %k.022.i, %5
  %add.ptr.i.i = getelementptr i8, ptr %3, i64 %mul2.i.i
  call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 8 %bits.i.i, ptr readonly align 1 %add.ptr.i.i, i64 %5, i1 false)
  %bits.i.i.0.bits.i.i.0.bits.i.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0..i.i = load i64, ptr %bits.i.i, align 8
  %shl.i.i = shl i64 %bits.i.i.0.bits.i.i.0.bits.i.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0..i.i, %sh_prom.i.i
  %shr.i.i = ashr exact i64 %shl.i.i, %sh_prom.i.i
  %cond.i.i = select i1 %tobool.not.i.i, i64 %bits.i.i.0.bits.i.i.0.bits.i.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0..i.i, i64 %shr.i.i
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %bits.i.i)
  %cmp1.i = icmp slt i64 %cond.i.i, %7
  br i1 %cmp1.i, label %first_outside.exit, label %cleanup.i

cleanup.i:
  %8 = load i64, ptr %hi.i, align 8
  %cmp2.not.i = icmp slt i64 %cond.i.i, %8
  br i1 %cmp2.not.i, label %for.inc.i, label %first_outside.exit

for.inc.i:
  %inc.i = add nuw nsw i64 %k.022.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %sub.i
  br i1 %exitcond.not.i, label %first_outside.exit, label %for.body.i

first_outside.exit:
  %k.0.lcssa.i = phi i64 [ 0, %entry ], [ %k.022.i, %cleanup.i ], [ %sub.i, %for.inc.i ], [ %k.022.i, %for.body.i ]
  %spec.select.i = tail call i64 @llvm.smin.i64(i64 %k.0.lcssa.i, i64 %sub.i)
  call void @llvm.lifetime.start.p0(i64 1032, ptr nonnull %message) #11
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(1032) %message, i8 0, i64 1032, i1 false)
  %name = getelementptr inbounds i8, ptr %kernel, i64 16
  %9 = load ptr, ptr %name, align 8
  %10 = load i8, ptr %9, align 1
  %tobool.not12.i = icmp eq i8 %10, 0
  br i1 %tobool.not12.i, label %say.exit, label %land.rhs.lr.ph.i

land.rhs.lr.ph.i:
  %text2.i = getelementptr inbounds i8, ptr %message, i64 8
  br label %land.rhs.i

land.rhs.i:
  %11 = phi i8 [ %10, %land.rhs.lr.ph.i ], [ %13, %while.body.i ]
  %text.addr.013.i = phi ptr [ %9, %land.rhs.lr.ph.i ], [ %incdec.ptr.i, %while.body.i ]
  %12 = load i64, ptr %message, align 8
  %add.i = add i64 %12, 1
  %cmp.i = icmp slt i64 %add.i, 1024
  br i1 %cmp.i, label %while.body.i, label %say.exit

while.body.i:
  %incdec.ptr.i = getelementptr i8, ptr %text.addr.013.i, i64 1
  store i64 %add.i, ptr %message, align 8
  %arrayidx.i = getelementptr [1024 x i8], ptr %text2.i, i64 0, i64 %12
  store i8 %11, ptr %arrayidx.i, align 1
  %13 = load i8, ptr %incdec.ptr.i, align 1
  %tobool.not.i = icmp eq i8 %13, 0
  br i1 %tobool.not.i, label %while.body.i.say.exit.loopexit_crit_edge, label %land.rhs.i

while.body.i.say.exit.loopexit_crit_edge:
  %.pre.pre = load i64, ptr %message, align 8
  br label %say.exit

say.exit:
  %14 = phi i64 [ 0, %first_outside.exit ], [ %.pre.pre, %while.body.i.say.exit.loopexit_crit_edge ], [ %12, %land.rhs.i ]
  %text4.i = getelementptr inbounds i8, ptr %message, i64 8
  %arrayidx6.i = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %14
  store i8 0, ptr %arrayidx6.i, align 1
  br label %land.rhs.i15

land.rhs.i15:
  %15 = phi i8 [ 58, %say.exit ], [ %17, %while.body.i21 ]
  %text.addr.013.i16 = phi ptr [ @.str.2, %say.exit ], [ %incdec.ptr.i22, %while.body.i21 ]
  %16 = load i64, ptr %message, align 8
  %add.i17 = add i64 %16, 1
  %cmp.i18 = icmp slt i64 %add.i17, 1024
  br i1 %cmp.i18, label %while.body.i21, label %say.exit25

while.body.i21:
  %incdec.ptr.i22 = getelementptr i8, ptr %text.addr.013.i16, i64 1
  store i64 %add.i17, ptr %message, align 8
  %arrayidx.i23 = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %16
  store i8 %15, ptr %arrayidx.i23, align 1
  %17 = load i8, ptr %incdec.ptr.i22, align 1
  %exitcond = icmp eq ptr %incdec.ptr.i22, getelementptr inbounds (i8, ptr @.str.2, i64 2)
  br i1 %exitcond, label %while.body.i21.say.exit25_crit_edge, label %land.rhs.i15

while.body.i21.say.exit25_crit_edge:
  %.pre71 = load i64, ptr %message, align 8
  br label %say.exit25

say.exit25:
  %18 = phi i64 [ %.pre71, %while.body.i21.say.exit25_crit_edge ], [ %16, %land.rhs.i15 ]
  %arrayidx6.i20 = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %18
  store i8 0, ptr %arrayidx6.i20, align 1
  call fastcc void @say_place(ptr noundef nonnull %message, ptr noundef nonnull %check, ptr noundef %2, i64 noundef %spec.select.i) #9
  br label %land.rhs.i28

land.rhs.i28:
  %19 = phi i8 [ 32, %say.exit25 ], [ %21, %while.body.i34 ]
  %text.addr.013.i29 = phi ptr [ @.str.14, %say.exit25 ], [ %incdec.ptr.i35, %while.body.i34 ]
  %20 = load i64, ptr %message, align 8
  %add.i30 = add i64 %20, 1
  %cmp.i31 = icmp slt i64 %add.i30, 1024
  br i1 %cmp.i31, label %while.body.i34, label %say.exit38

while.body.i34:
  %incdec.ptr.i35 = getelementptr i8, ptr %text.addr.013.i29, i64 1
  store i64 %add.i30, ptr %message, align 8
  %arrayidx.i36 = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %20
  store i8 %19, ptr %arrayidx.i36, align 1
  %21 = load i8, ptr %incdec.ptr.i35, align 1
  %exitcond69 = icmp eq ptr %incdec.ptr.i35, getelementptr inbounds (i8, ptr @.str.14, i64 4)
  br i1 %exitcond69, label %while.body.i34.say.exit38_crit_edge, label %land.rhs.i28

while.body.i34.say.exit38_crit_edge:
  %.pre72 = load i64, ptr %message, align 8
  br label %say.exit38

say.exit38:
  %22 = phi i64 [ %.pre72, %while.body.i34.say.exit38_crit_edge ], [ %20, %land.rhs.i28 ]
  %arrayidx6.i33 = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %22
  store i8 0, ptr %arrayidx6.i33, align 1
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %bits.i)
  store i64 0, ptr %bits.i, align 8
  %mul2.i = mul i64 %spec.select.i, %5
  %add.ptr.i = getelementptr i8, ptr %3, i64 %mul2.i
  call void @llvm.memcpy.p0.p0.i64(ptr nonnull align 8 %bits.i, ptr readonly align 1 %add.ptr.i, i64 %5, i1 false)
  %is_signed.i = getelementptr inbounds i8, ptr %check, i64 24
  %23 = load i64, ptr %is_signed.i, align 8
  %tobool.not.i40 = icmp eq i64 %23, 0
  br i1 %tobool.not.i40, label %cond.false.i, label %cond.true.i

cond.true.i:
  %mul.i = shl i64 %5, 3
  %sub.i41 = sub i64 64, %mul.i
  %bits.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0..i = load i64, ptr %bits.i, align 8
  %sh_prom.i = and i64 %sub.i41, 4294967288
  %shl.i = shl i64 %bits.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0..i, %sh_prom.i
  %shr.i = ashr exact i64 %shl.i, %sh_prom.i
  br label %element.exit

cond.false.i:
  %bits.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0.5.i = load i64, ptr %bits.i, align 8
  br label %element.exit

element.exit:
  %cond.i = phi i64 [ %shr.i, %cond.true.i ], [ %bits.i.0.bits.i.0.bits.i.0.bits.0.bits.0.bits.0.5.i, %cond.false.i ]
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %bits.i)
  %tobool = icmp ne i64 %23, 0
  call fastcc void @say_number(ptr noundef nonnull %message, i64 noundef %cond.i, i1 noundef %tobool) #9
  br label %land.rhs.i44

land.rhs.i44:
  %24 = phi i8 [ 44, %element.exit ], [ %26, %while.body.i50 ]
  %text.addr.013.i45 = phi ptr [ @.str.15, %element.exit ], [ %incdec.ptr.i51, %while.body.i50 ]
  %25 = load i64, ptr %message, align 8
  %add.i46 = add i64 %25, 1
  %cmp.i47 = icmp slt i64 %add.i46, 1024
  br i1 %cmp.i47, label %while.body.i50, label %say.exit54

while.body.i50:
  %incdec.ptr.i51 = getelementptr i8, ptr %text.addr.013.i45, i64 1
  store i64 %add.i46, ptr %message, align 8
  %arrayidx.i52 = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %25
  store i8 %24, ptr %arrayidx.i52, align 1
  %26 = load i8, ptr %incdec.ptr.i51, align 1
  %exitcond70 = icmp eq ptr %incdec.ptr.i51, getelementptr inbounds (i8, ptr @.str.15, i64 22)
  br i1 %exitcond70, label %while.body.i50.say.exit54_crit_edge, label %land.rhs.i44

while.body.i50.say.exit54_crit_edge:
  %.pre73 = load i64, ptr %message, align 8
  br label %say.exit54

say.exit54:
  %27 = phi i64 [ %.pre73, %while.body.i50.say.exit54_crit_edge ], [ %25, %land.rhs.i44 ]
  %arrayidx6.i49 = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %27
  store i8 0, ptr %arrayidx6.i49, align 1
  %expected = getelementptr inbounds i8, ptr %check, i64 72
  %28 = load ptr, ptr %expected, align 8
  %29 = load i8, ptr %28, align 1
  %tobool.not12.i55 = icmp eq i8 %29, 0
  br i1 %tobool.not12.i55, label %say.exit68, label %land.rhs.i58

land.rhs.i58:
  %30 = phi i8 [ %32, %while.body.i64 ], [ %29, %say.exit54 ]
  %text.addr.013.i59 = phi ptr [ %incdec.ptr.i65, %while.body.i64 ], [ %28, %say.exit54 ]
  %31 = load i64, ptr %message, align 8
  %add.i60 = add i64 %31, 1
  %cmp.i61 = icmp slt i64 %add.i60, 1024
  br i1 %cmp.i61, label %while.body.i64, label %say.exit68

while.body.i64:
  %incdec.ptr.i65 = getelementptr i8, ptr %text.addr.013.i59, i64 1
  store i64 %add.i60, ptr %message, align 8
  %arrayidx.i66 = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %31
  store i8 %30, ptr %arrayidx.i66, align 1
  %32 = load i8, ptr %incdec.ptr.i65, align 1
  %tobool.not.i67 = icmp eq i8 %32, 0
  br i1 %tobool.not.i67, label %say.exit68, label %land.rhs.i58

say.exit68:
  %33 = load i64, ptr %message, align 8
  %arrayidx6.i63 = getelementptr [1024 x i8], ptr %text4.i, i64 0, i64 %33
  store i8 0, ptr %arrayidx6.i63, align 1
  %call3 = call fastcc ptr @error(ptr noundef %frame, i32 noundef 3, ptr noundef nonnull %message) #9
  call void @llvm.lifetime.end.p0(i64 1032, ptr nonnull %message) #11
  ret ptr %call3
}

declare void @tx_free(ptr noundef) local_unnamed_addr #3

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg) #5

; Function Attrs: nofree noinline norecurse nosync nounwind memory(read, argmem: readwrite, inaccessiblemem: none)
define internal fastcc void @say_place(ptr nocapture noundef %message, ptr nocapture noundef readonly %check, ptr nocapture noundef readonly %buffer, i64 noundef %k) unnamed_addr #6 {
entry:
  %rank = getelementptr inbounds i8, ptr %buffer, i64 32
  %0 = load i64, ptr %rank, align 8
  %cmp75 = icmp sgt i64 %0, 0
  br i1 %cmp75, label %for.body.lr.ph, label %for.cond.cleanup

for.body.lr.ph:
  %extents = getelementptr inbounds i8, ptr %buffer, i64 40
  %1 = load ptr, ptr %extents, align 8
  br label %for.body

for.cond.cleanup:
  %below.0.lcssa = phi i64 [ 1, %entry ], [ %mul, %for.body ]
  %text2.i = getelementptr inbounds i8, ptr %message, i64 8
  %2 = load i64, ptr %message, align 8
  %add.i = add i64 %2, 1
  %cmp.i = icmp slt i64 %add.i, 1024
  br i1 %cmp.i, label %while.body.i, label %say.exit

while.body.i:
  store i64 %add.i, ptr %message, align 8
  %arrayidx.i = getelementptr [1024 x i8], ptr %text2.i, i64 0, i64 %2
  store i8 96, ptr %arrayidx.i, align 1
  %.pre = load i64, ptr %message, align 8
  br label %say.exit

say.exit:
  %3 = phi i64 [ %.pre, %while.body.i ], [ %2, %for.cond.cleanup ]
  %arrayidx6.i = getelementptr [1024 x i8], ptr %text2.i, i64 0, i64 %3
  store i8 0, ptr %arrayidx6.i, align 1
  %name = getelementptr inbounds i8, ptr %check, i64 64
  %4 = load ptr, ptr %name, align 8
  %5 = load i8, ptr %4, align 1
  %tobool.not12.i = icmp eq i8 %5, 0
  br i1 %tobool.not12.i, label %say.exit46, label %land.rhs.i36

land.rhs.i36:
  %6 = phi i8 [ %8, %while.body.i42 ], [ %5, %say.exit ]
  %text.addr.013.i37 = phi ptr [ %incdec.ptr.i43, %while.body.i42 ], [ %4, %say.exit ]
  %7 = load i64, ptr %message, align 8
  %add.i38 = add i64 %7, 1
  %cmp.i39 = icmp slt i64 %add.i38, 1024
  br i1 %cmp.i39, label %while.body.i42, label %say.exit46

while.body.i42:
  %incdec.ptr.i43 = getelementptr i8, ptr %text.addr.013.i37, i64 1
  store i64 %add.i38, ptr %message, align 8
  %arrayidx.i44 = getelementptr [1024 x i8], ptr %text2.i, i64 0, i64 %7
  store i8 %6, ptr %arrayidx.i44, align 1
  %8 = load i8, ptr %incdec.ptr.i43, align 1
  %tobool.not.i45 = icmp eq i8 %8, 0
  br i1 %tobool.not.i45, label %say.exit46, label %land.rhs.i36

say.exit46:
  %9 = load i64, ptr %message, align 8
  %arrayidx6.i41 = getelementptr [1024 x i8], ptr %text2.i, i64 0, i64 %9
  store i8 0, ptr %arrayidx6.i41, align 1
  %10 = load i64, ptr %rank, align 8
  %cmp478 = icmp sgt i64 %10, 0
  br i1 %cmp478, label %for.body6.lr.ph, label %for.cond.cleanup5

for.body6.lr.ph:
  %extents7 = getelementptr inbounds i8, ptr %buffer, i64 40
  br label %for.body6

for.body:
  %axis.077 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.body ]
  %below.076 = phi i64 [ 1, %for.body.lr.ph ], [ %mul, %for.body ]
  %arrayidx = getelementptr i64, ptr %1, i64 %axis.077
  %11 = load i64, ptr %arrayidx, align 8
  %mul = mul i64 %11, %below.076
  %inc = add nuw nsw i64 %axis.077, 1
  %exitcond.not = icmp eq i64 %inc, %0
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

for.cond.cleanup5:
  %.lcssa = phi i64 [ %10, %say.exit46 ], [ %26, %say.exit74 ]
  %tobool16.not = icmp eq i64 %.lcssa, 0
  %cond17 = select i1 %tobool16.not, ptr @.str.10, ptr @.str.13
  %12 = load i8, ptr %cond17, align 1
  %tobool.not12.i47 = icmp eq i8 %12, 0
  br i1 %tobool.not12.i47, label %say.exit60, label %land.rhs.i50

land.rhs.i50:
  %13 = phi i8 [ %15, %while.body.i56 ], [ %12, %for.cond.cleanup5 ]
  %text.addr.013.i51 = phi ptr [ %incdec.ptr.i57, %while.body.i56 ], [ %cond17, %for.cond.cleanup5 ]
  %14 = load i64, ptr %message, align 8
  %add.i52 = add i64 %14, 1
  %cmp.i53 = icmp slt i64 %add.i52, 1024
  br i1 %cmp.i53, label %while.body.i56, label %say.exit60

while.body.i56:
  %incdec.ptr.i57 = getelementptr i8, ptr %text.addr.013.i51, i64 1
  store i64 %add.i52, ptr %message, align 8
  %arrayidx.i58 = getelementptr [1024 x i8], ptr %text2.i, i64 0, i64 %14
  store i8 %13, ptr %arrayidx.i58, align 1
  %15 = load i8, ptr %incdec.ptr.i57, align 1
  %tobool.not.i59 = icmp eq i8 %15, 0
  br i1 %tobool.not.i59, label %say.exit60, label %land.rhs.i50

say.exit60:
  %16 = load i64, ptr %message, align 8
  %arrayidx6.i55 = getelementptr [1024 x i8], ptr %text2.i, i64 0, i64 %16
  store i8 0, ptr %arrayidx6.i55, align 1
  ret void

for.body6:
  %axis1.080 = phi i64 [ 0, %for.body6.lr.ph ], [ %inc13, %say.exit74 ]
  %below.179 = phi i64 [ %below.0.lcssa, %for.body6.lr.ph ], [ %div, %say.exit74 ]
  %17 = load ptr, ptr %extents7, align 8
  %arrayidx8 = getelementptr i64, ptr %17, i64 %axis1.080
  %18 = load i64, ptr %arrayidx8, align 8
  %div = sdiv i64 %below.179, %18
  %tobool.not = icmp eq i64 %axis1.080, 0
  %cond = select i1 %tobool.not, ptr @.str.12, ptr @.str.11
  %19 = load i8, ptr %cond, align 1
  %tobool.not12.i61 = icmp eq i8 %19, 0
  br i1 %tobool.not12.i61, label %say.exit74, label %land.rhs.i64

land.rhs.i64:
  %20 = phi i8 [ %22, %while.body.i70 ], [ %19, %for.body6 ]
  %text.addr.013.i65 = phi ptr [ %incdec.ptr.i71, %while.body.i70 ], [ %cond, %for.body6 ]
  %21 = load i64, ptr %message, align 8
  %add.i66 = add i64 %21, 1
  %cmp.i67 = icmp slt i64 %add.i66, 1024
  br i1 %cmp.i67, label %while.body.i70, label %say.exit74

while.body.i70:
  %incdec.ptr.i71 = getelementptr i8, ptr %text.addr.013.i65, i64 1
  store i64 %add.i66, ptr %message, align 8
  %arrayidx.i72 = getelementptr [1024 x i8], ptr %text2.i, i64 0, i64 %21
  store i8 %20, ptr %arrayidx.i72, align 1
  %22 = load i8, ptr %incdec.ptr.i71, align 1
  %tobool.not.i73 = icmp eq i8 %22, 0
  br i1 %tobool.not.i73, label %say.exit74, label %land.rhs.i64

say.exit74:
  %23 = load i64, ptr %message, align 8
  %arrayidx6.i69 = getelementptr [1024 x i8], ptr %text2.i, i64 0, i64 %23
  store i8 0, ptr %arrayidx6.i69, align 1
  %div9 = sdiv i64 %k, %div
  %24 = load ptr, ptr %extents7, align 8
  %arrayidx11 = getelementptr i64, ptr %24, i64 %axis1.080
  %25 = load i64, ptr %arrayidx11, align 8
  %rem = srem i64 %div9, %25
  tail call fastcc void @say_number(ptr noundef nonnull %message, i64 noundef %rem, i1 noundef false) #9
  %inc13 = add nuw nsw i64 %axis1.080, 1
  %26 = load i64, ptr %rank, align 8
  %cmp4 = icmp slt i64 %inc13, %26
  br i1 %cmp4, label %for.body6, label %for.cond.cleanup5
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(argmem: readwrite)
define internal fastcc void @say_number(ptr nocapture noundef %message, i64 noundef %bits, i1 noundef %is_signed) unnamed_addr #7 {
entry:
  %digits = alloca [24 x i8], align 1
  call void @llvm.lifetime.start.p0(i64 24, ptr nonnull %digits) #11
  %add.ptr1 = getelementptr inbounds i8, ptr %digits, i64 23
  %cmp = icmp slt i64 %bits, 0
  %0 = and i1 %cmp, %is_signed
  %sub = sub i64 0, %bits
  %cond = select i1 %0, i64 %sub, i64 %bits
  store i8 0, ptr %add.ptr1, align 1
  br label %do.body

do.body:
  %first.0 = phi ptr [ %add.ptr1, %entry ], [ %incdec.ptr, %do.body ]
  %rest.0 = phi i64 [ %cond, %entry ], [ %div, %do.body ]
  %rest.0.frozen = freeze i64 %rest.0
  %div = udiv i64 %rest.0.frozen, 10
  %1 = mul i64 %div, 10
  %rem.decomposed = sub i64 %rest.0.frozen, %1
  %2 = trunc nuw nsw i64 %rem.decomposed to i8
  %conv = or disjoint i8 %2, 48
  %incdec.ptr = getelementptr i8, ptr %first.0, i64 -1
  store i8 %conv, ptr %incdec.ptr, align 1
  %tobool.not = icmp ult i64 %rest.0, 10
  br i1 %tobool.not, label %do.end, label %do.body

do.end:
  br i1 %0, label %if.then, label %land.rhs.lr.ph.i

if.then:
  %incdec.ptr5 = getelementptr i8, ptr %first.0, i64 -2
  store i8 45, ptr %incdec.ptr5, align 1
  br label %land.rhs.lr.ph.i

land.rhs.lr.ph.i:
  %3 = phi i8 [ 45, %if.then ], [ %conv, %do.end ]
  %first.1 = phi ptr [ %incdec.ptr5, %if.then ], [ %incdec.ptr, %do.end ]
  %text2.i = getelementptr inbounds i8, ptr %message, i64 8
  br label %land.rhs.i

land.rhs.i:
  %4 = phi i8 [ %3, %land.rhs.lr.ph.i ], [ %6, %while.body.i ]
  %text.addr.013.i = phi ptr [ %first.1, %land.rhs.lr.ph.i ], [ %incdec.ptr.i, %while.body.i ]
  %5 = load i64, ptr %message, align 8
  %add.i = add i64 %5, 1
  %cmp.i = icmp slt i64 %add.i, 1024
  br i1 %cmp.i, label %while.body.i, label %say.exit

while.body.i:
  %incdec.ptr.i = getelementptr i8, ptr %text.addr.013.i, i64 1
  store i64 %add.i, ptr %message, align 8
  %arrayidx.i = getelementptr [1024 x i8], ptr %text2.i, i64 0, i64 %5
  store i8 %4, ptr %arrayidx.i, align 1
  %6 = load i8, ptr %incdec.ptr.i, align 1
  %tobool.not.i = icmp eq i8 %6, 0
  br i1 %tobool.not.i, label %while.body.i.say.exit_crit_edge, label %land.rhs.i

while.body.i.say.exit_crit_edge:
  %.pre = load i64, ptr %message, align 8
  br label %say.exit

say.exit:
  %7 = phi i64 [ %.pre, %while.body.i.say.exit_crit_edge ], [ %5, %land.rhs.i ]
  %arrayidx6.i = getelementptr [1024 x i8], ptr %text2.i, i64 0, i64 %7
  store i8 0, ptr %arrayidx6.i, align 1
  call void @llvm.lifetime.end.p0(i64 24, ptr nonnull %digits) #11
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #8

attributes #0 = { noinline nounwind "no-builtins" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nounwind "no-builtins" }
attributes #3 = { "no-builtins" }
attributes #4 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #5 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #6 = { nofree noinline norecurse nosync nounwind memory(read, argmem: readwrite, inaccessiblemem: none) "no-builtins" }
attributes #7 = { nofree noinline norecurse nosync nounwind memory(argmem: readwrite) "no-builtins" }
attributes #8 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #9 = { nobuiltin "no-builtins" }
attributes #10 = { nobuiltin nounwind "no-builtins" }
attributes #11 = { nounwind }
