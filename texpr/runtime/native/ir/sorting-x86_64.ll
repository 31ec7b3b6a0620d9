; sorting.c for x86_64: written by scripts/native.py, not to be edited.
; clang 19.1.7 -std=c11 -ffreestanding -O2 -Wall -Wextra -Werror -Wno-unused-function -fwrapv -fno-strict-aliasing -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -fPIC -fno-stack-protector -fno-asynchronous-unwind-tables -fomit-frame-pointer -fno-discard-value-names
; sources b5133188e8995797907528d974ce715982e2d09427688d861bfacb0bd29928a2
source_filename = "sorting.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

%struct.Item = type { i64, i64 }

@switch.table.top_of_order = private unnamed_addr constant [14 x i64] [i64 1, i64 2, i64 4, i64 8, i64 1, i64 2, i64 4, i64 8, i64 2, i64 2, i64 4, i64 8, i64 1, i64 1], align 8
@switch.table.argsort_pairs = private unnamed_addr constant [14 x i32] [i32 1, i32 2, i32 4, i32 8, i32 1, i32 2, i32 4, i32 8, i32 2, i32 2, i32 4, i32 8, i32 1, i32 1], align 4

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_i8(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 0, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @argsort(ptr nocapture noundef readonly %data, ptr nocapture noundef writeonly %places, i64 noundef %rows, i64 noundef %n, i32 noundef %type, i1 noundef zeroext %decreasing) unnamed_addr #1 {
entry:
  %cmp = icmp slt i64 %rows, 1
  %cmp1 = icmp slt i64 %n, 1
  %or.cond = or i1 %cmp, %cmp1
  br i1 %or.cond, label %return, label %if.end

if.end:
  switch i32 %type, label %if.end6 [
    i32 0, label %bytes_of.exit
    i32 4, label %bytes_of.exit
    i32 12, label %bytes_of.exit
    i32 13, label %bytes_of.exit
    i32 1, label %bytes_of.exit
    i32 5, label %bytes_of.exit
    i32 8, label %bytes_of.exit
    i32 9, label %bytes_of.exit
    i32 2, label %bytes_of.exit
    i32 6, label %bytes_of.exit
    i32 10, label %bytes_of.exit
  ]

bytes_of.exit:
  %cmp3 = icmp ult i64 %n, 4294967296
  br i1 %cmp3, label %if.then4, label %if.end6

if.then4:
  %cond = sext i1 %decreasing to i32
  %call5 = tail call fastcc i32 @argsort_pairs(ptr noundef %data, ptr noundef %places, i64 noundef %rows, i64 noundef %n, i32 noundef %type, i32 noundef %cond) #11
  br label %return

if.end6:
  %mul7 = shl i64 %n, 5
  %call8 = tail call ptr @tx_alloc(i64 noundef %mul7) #12
  %tobool.not = icmp eq ptr %call8, null
  br i1 %tobool.not, label %return, label %for.cond14.preheader.lr.ph

for.cond14.preheader.lr.ph:
  %cond12 = sext i1 %decreasing to i64
  %add.ptr = getelementptr %struct.Item, ptr %call8, i64 %n
  %0 = icmp ult i32 %type, 14
  %1 = zext nneg i32 %type to i64
  %switch.gep = getelementptr inbounds [14 x i32], ptr @switch.table.argsort_pairs, i64 0, i64 %1
  br label %for.cond14.preheader

for.cond14.preheader:
  %row.084 = phi i64 [ 0, %for.cond14.preheader.lr.ph ], [ %inc36, %for.cond.cleanup25 ]
  %mul18 = mul i64 %row.084, %n
  br label %for.body17

for.cond.cleanup:
  tail call void @tx_free(ptr noundef nonnull %call8) #12
  br label %return

for.cond.cleanup16:
  br i1 %0, label %switch.lookup, label %bytes_of.exit74

switch.lookup:
  %switch.load = load i32, ptr %switch.gep, align 4
  br label %bytes_of.exit74

bytes_of.exit74:
  %retval.0.i71 = phi i32 [ %switch.load, %switch.lookup ], [ 8, %for.cond.cleanup16 ]
  %call21 = tail call fastcc ptr @ordered(ptr noundef nonnull %call8, ptr noundef %add.ptr, i64 noundef %n, i32 noundef %retval.0.i71) #11
  %mul29 = mul i64 %row.084, %n
  %2 = getelementptr i64, ptr %places, i64 %mul29
  br label %for.body26

for.body17:
  %k.080 = phi i64 [ 0, %for.cond14.preheader ], [ %inc, %for.body17 ]
  %arrayidx = getelementptr %struct.Item, ptr %call8, i64 %k.080
  %add = add i64 %k.080, %mul18
  %call19 = tail call fastcc i64 @key_of(ptr noundef %data, i64 noundef %add, i32 noundef %type) #11
  %xor = xor i64 %call19, %cond12
  store i64 %xor, ptr %arrayidx, align 8
  %.compoundliteral.sroa.2.0.arrayidx.sroa_idx = getelementptr inbounds i8, ptr %arrayidx, i64 8
  store i64 %k.080, ptr %.compoundliteral.sroa.2.0.arrayidx.sroa_idx, align 8
  %inc = add nuw nsw i64 %k.080, 1
  %exitcond.not = icmp eq i64 %inc, %n
  br i1 %exitcond.not, label %for.cond.cleanup16, label %for.body17

for.cond.cleanup25:
  %inc36 = add nuw nsw i64 %row.084, 1
  %exitcond86.not = icmp eq i64 %inc36, %rows
  br i1 %exitcond86.not, label %for.cond.cleanup, label %for.cond14.preheader

for.body26:
  %k22.082 = phi i64 [ 0, %bytes_of.exit74 ], [ %inc33, %for.body26 ]
  %place28 = getelementptr %struct.Item, ptr %call21, i64 %k22.082, i32 1
  %3 = load i64, ptr %place28, align 8
  %arrayidx31 = getelementptr i64, ptr %2, i64 %k22.082
  store i64 %3, ptr %arrayidx31, align 8
  %inc33 = add nuw nsw i64 %k22.082, 1
  %exitcond85.not = icmp eq i64 %inc33, %n
  br i1 %exitcond85.not, label %for.cond.cleanup25, label %for.body26

return:
  %retval.1 = phi i32 [ %call5, %if.then4 ], [ 0, %entry ], [ 0, %for.cond.cleanup ], [ 1, %if.end6 ]
  ret i32 %retval.1
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_i8(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 0, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_i8(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 0) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 0) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @top(ptr nocapture noundef readonly %data, ptr nocapture noundef writeonly %places, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef %type) unnamed_addr #1 {
entry:
  %cmp = icmp slt i64 %rows, 1
  %cmp1 = icmp slt i64 %k, 1
  %or.cond = or i1 %cmp, %cmp1
  br i1 %or.cond, label %return, label %if.end

if.end:
  %mul = shl nuw i64 %k, 4
  %call = tail call ptr @tx_alloc(i64 noundef %mul) #12
  %tobool.not = icmp eq ptr %call, null
  br i1 %tobool.not, label %return, label %for.body.lr.ph

for.body.lr.ph:
  %invariant.gep39 = getelementptr i8, ptr %places, i64 -8
  %place = getelementptr inbounds i8, ptr %call, i64 8
  br label %for.body

for.cond.cleanup:
  tail call void @tx_free(ptr noundef nonnull %call) #12
  br label %return

for.body:
  %row.042 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.cond.cleanup8 ]
  %mul5 = mul i64 %row.042, %n
  tail call fastcc void @take_largest(ptr noundef nonnull %call, i64 noundef %k, ptr noundef %data, i64 noundef %mul5, i64 noundef %n, i32 noundef %type) #11
  %mul10 = mul i64 %row.042, %k
  %gep40 = getelementptr i64, ptr %invariant.gep39, i64 %mul10
  br label %for.body9

for.cond.cleanup8:
  %inc = add nuw nsw i64 %row.042, 1
  %exitcond.not = icmp eq i64 %inc, %rows
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

for.body9:
  %left.038 = phi i64 [ %k, %for.body ], [ %sub13, %sink.exit ]
  %0 = load i64, ptr %place, align 8
  %gep = getelementptr i64, ptr %gep40, i64 %left.038
  store i64 %0, ptr %gep, align 8
  %sub13 = add nsw i64 %left.038, -1
  %arrayidx14 = getelementptr %struct.Item, ptr %call, i64 %sub13
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %call, ptr noundef nonnull align 8 dereferenceable(16) %arrayidx14, i64 16, i1 false)
  %item.sroa.0.0.copyload.i = load i64, ptr %call, align 8
  %item.sroa.5.0.copyload.i = load i64, ptr %place, align 8
  %cmp37.i = icmp ugt i64 %sub13, 1
  br i1 %cmp37.i, label %for.body.i, label %sink.exit

for.body.i:
  %add40.i = phi i64 [ %add.i, %if.end.i ], [ 1, %for.body9 ]
  %mul39.i = phi i64 [ %mul.i, %if.end.i ], [ 0, %for.body9 ]
  %at.addr.038.i = phi i64 [ %add6.i, %if.end.i ], [ 0, %for.body9 ]
  %add1.i = add nsw i64 %mul39.i, 2
  %cmp2.i = icmp slt i64 %add1.i, %sub13
  br i1 %cmp2.i, label %land.rhs.i, label %land.end.i

land.rhs.i:
  %arrayidx4.i = getelementptr %struct.Item, ptr %call, i64 %add1.i
  %arrayidx5.i = getelementptr %struct.Item, ptr %call, i64 %add40.i
  %1 = load i64, ptr %arrayidx4.i, align 8
  %2 = load i64, ptr %arrayidx5.i, align 8
  %cmp.i.i = icmp ugt i64 %1, %2
  br i1 %cmp.i.i, label %land.end.i, label %lor.rhs.i.i

lor.rhs.i.i:
  %3 = getelementptr inbounds i8, ptr %arrayidx5.i, i64 8
  %4 = load i64, ptr %3, align 8
  %5 = getelementptr inbounds i8, ptr %arrayidx4.i, i64 8
  %6 = load i64, ptr %5, align 8
  %cmp4.i.i = icmp eq i64 %1, %2
  %cmp6.i.i = icmp sgt i64 %6, %4
  %7 = select i1 %cmp4.i.i, i1 %cmp6.i.i, i1 false
  br label %land.end.i

land.end.i:
  %8 = phi i1 [ false, %for.body.i ], [ true, %land.rhs.i ], [ %7, %lor.rhs.i.i ]
  %conv.i = zext i1 %8 to i64
  %add6.i = add nsw i64 %add40.i, %conv.i
  %arrayidx7.i = getelementptr %struct.Item, ptr %call, i64 %add6.i
  %9 = load i64, ptr %arrayidx7.i, align 8
  %cmp.i30.i = icmp ugt i64 %9, %item.sroa.0.0.copyload.i
  br i1 %cmp.i30.i, label %if.end.i, label %is_behind.exit34.i

is_behind.exit34.i:
  %10 = getelementptr inbounds i8, ptr %arrayidx7.i, i64 8
  %11 = load i64, ptr %10, align 8
  %cmp4.i32.i = icmp eq i64 %9, %item.sroa.0.0.copyload.i
  %cmp6.i33.i = icmp sgt i64 %11, %item.sroa.5.0.copyload.i
  %12 = select i1 %cmp4.i32.i, i1 %cmp6.i33.i, i1 false
  br i1 %12, label %if.end.i, label %sink.exit

if.end.i:
  %arrayidx9.i = getelementptr %struct.Item, ptr %call, i64 %at.addr.038.i
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %arrayidx9.i, ptr noundef nonnull align 8 dereferenceable(16) %arrayidx7.i, i64 16, i1 false)
  %mul.i = shl i64 %add6.i, 1
  %add.i = or disjoint i64 %mul.i, 1
  %cmp.i = icmp slt i64 %add.i, %sub13
  br i1 %cmp.i, label %for.body.i, label %sink.exit

sink.exit:
  %at.addr.0.lcssa.i = phi i64 [ 0, %for.body9 ], [ %add6.i, %if.end.i ], [ %at.addr.038.i, %is_behind.exit34.i ]
  %arrayidx11.i = getelementptr %struct.Item, ptr %call, i64 %at.addr.0.lcssa.i
  store i64 %item.sroa.0.0.copyload.i, ptr %arrayidx11.i, align 8
  %item.sroa.5.0.arrayidx11.sroa_idx.i = getelementptr inbounds i8, ptr %arrayidx11.i, i64 8
  store i64 %item.sroa.5.0.copyload.i, ptr %item.sroa.5.0.arrayidx11.sroa_idx.i, align 8
  %cmp7 = icmp sgt i64 %left.038, 1
  br i1 %cmp7, label %for.body9, label %for.cond.cleanup8

return:
  %retval.1 = phi i32 [ 0, %entry ], [ 0, %for.cond.cleanup ], [ 1, %if.end ]
  ret i32 %retval.1
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @top_of_order(ptr nocapture noundef readonly %data, ptr nocapture noundef writeonly %places, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef %type) unnamed_addr #1 {
entry:
  %mul = shl i64 %n, 3
  %call = tail call ptr @tx_alloc(i64 noundef %mul) #12
  %tobool.not = icmp eq ptr %call, null
  %lnot.ext = zext i1 %tobool.not to i32
  %cmp39 = icmp slt i64 %rows, 1
  %.not = or i1 %cmp39, %tobool.not
  br i1 %.not, label %for.cond.cleanup, label %for.body.lr.ph

for.body.lr.ph:
  %cmp936 = icmp sgt i64 %k, 0
  %0 = icmp ult i32 %type, 14
  %1 = zext nneg i32 %type to i64
  %switch.gep = getelementptr inbounds [14 x i64], ptr @switch.table.top_of_order, i64 0, i64 %1
  br label %for.body

for.cond.cleanup:
  %failed.0.lcssa = phi i32 [ %lnot.ext, %entry ], [ %call5, %for.cond.cleanup12 ]
  br i1 %tobool.not, label %if.end, label %if.then

for.body:
  %row.040 = phi i64 [ 0, %for.body.lr.ph ], [ %inc17, %for.cond.cleanup12 ]
  %mul2 = mul i64 %row.040, %n
  br i1 %0, label %switch.lookup, label %bytes_of.exit

switch.lookup:
  %switch.load = load i64, ptr %switch.gep, align 8
  br label %bytes_of.exit

bytes_of.exit:
  %retval.0.i = phi i64 [ %switch.load, %switch.lookup ], [ 8, %for.body ]
  %mul4 = mul i64 %mul2, %retval.0.i
  %add.ptr = getelementptr i8, ptr %data, i64 %mul4
  %call5 = tail call fastcc i32 @argsort(ptr noundef %add.ptr, ptr noundef %call, i64 noundef 1, i64 noundef %n, i32 noundef %type, i1 noundef zeroext true) #11
  %tobool7.not = icmp eq i32 %call5, 0
  %2 = and i1 %tobool7.not, %cmp936
  br i1 %2, label %for.body13.lr.ph, label %for.cond.cleanup12

for.body13.lr.ph:
  %mul14 = mul i64 %row.040, %k
  %3 = getelementptr i64, ptr %places, i64 %mul14
  br label %for.body13

for.cond.cleanup12:
  %inc17 = add nuw nsw i64 %row.040, 1
  %cmp = icmp slt i64 %inc17, %rows
  %4 = select i1 %tobool7.not, i1 %cmp, i1 false
  br i1 %4, label %for.body, label %for.cond.cleanup

for.body13:
  %at.037 = phi i64 [ 0, %for.body13.lr.ph ], [ %inc, %for.body13 ]
  %arrayidx = getelementptr i64, ptr %call, i64 %at.037
  %5 = load i64, ptr %arrayidx, align 8
  %arrayidx15 = getelementptr i64, ptr %3, i64 %at.037
  store i64 %5, ptr %arrayidx15, align 8
  %inc = add nuw nsw i64 %at.037, 1
  %cmp9 = icmp slt i64 %inc, %k
  br i1 %cmp9, label %for.body13, label %for.cond.cleanup12

if.then:
  tail call void @tx_free(ptr noundef nonnull %call) #12
  br label %if.end

if.end:
  ret i32 %failed.0.lcssa
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_i8(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 0, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(argmem: readwrite)
define internal fastcc void @search(ptr nocapture noundef readonly %row, i64 noundef %n, ptr nocapture noundef readonly %values, ptr nocapture noundef writeonly %places, i64 noundef %count, i32 noundef %type, i1 noundef zeroext %right) unnamed_addr #3 {
entry:
  %cmp21 = icmp sgt i64 %count, 0
  br i1 %cmp21, label %for.body.lr.ph, label %for.cond.cleanup

for.body.lr.ph:
  %cmp118 = icmp sgt i64 %n, 0
  br label %for.body

for.cond.cleanup:
  ret void

for.body:
  %k.022 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %while.end ]
  %call = tail call fastcc i64 @key_of(ptr noundef %values, i64 noundef %k.022, i32 noundef %type) #11
  br i1 %cmp118, label %while.body, label %while.end

while.body:
  %lo.020 = phi i64 [ %lo.1, %if.end ], [ 0, %for.body ]
  %hi.019 = phi i64 [ %hi.1, %if.end ], [ %n, %for.body ]
  %sub = sub i64 %hi.019, %lo.020
  %div = sdiv i64 %sub, 2
  %add = add i64 %div, %lo.020
  %call2 = tail call fastcc i64 @key_of(ptr noundef %row, i64 noundef %add, i32 noundef %type) #11
  br i1 %right, label %cond.true, label %cond.false

cond.true:
  %cmp3.not = icmp ugt i64 %call2, %call
  br i1 %cmp3.not, label %if.end, label %if.then

cond.false:
  %cmp4 = icmp ult i64 %call2, %call
  br i1 %cmp4, label %if.then, label %if.end

if.then:
  %add5 = add i64 %add, 1
  br label %if.end

if.end:
  %hi.1 = phi i64 [ %hi.019, %if.then ], [ %add, %cond.false ], [ %add, %cond.true ]
  %lo.1 = phi i64 [ %add5, %if.then ], [ %lo.020, %cond.false ], [ %lo.020, %cond.true ]
  %cmp1 = icmp slt i64 %lo.1, %hi.1
  br i1 %cmp1, label %while.body, label %while.end

while.end:
  %lo.0.lcssa = phi i64 [ 0, %for.body ], [ %lo.1, %if.end ]
  %arrayidx = getelementptr i64, ptr %places, i64 %k.022
  store i64 %lo.0.lcssa, ptr %arrayidx, align 8
  %inc = add nuw nsw i64 %k.022, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_i8(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 0, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_i16(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 1, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_i16(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 1, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_i16(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 1) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 1) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_i16(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 1, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_i16(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 1, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_i32(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 2, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_i32(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 2, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_i32(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 2) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 2) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_i32(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 2, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_i32(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 2, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_i64(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 3, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_i64(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 3, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_i64(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 3) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 3) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_i64(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 3, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_i64(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 3, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_u8(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 4, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_u8(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 4, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_u8(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 4) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 4) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_u8(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 4, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_u8(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 4, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_u16(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 5, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_u16(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 5, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_u16(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 5) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 5) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_u16(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 5, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_u16(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 5, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_u32(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 6, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_u32(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 6, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_u32(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 6) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 6) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_u32(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 6, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_u32(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 6, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_u64(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 7, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_u64(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 7, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_u64(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 7) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 7) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_u64(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 7, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_u64(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 7, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_f16(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 8, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_f16(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 8, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_f16(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 8) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 8) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_f16(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 8, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_f16(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 8, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_bf16(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 9, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_bf16(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 9, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_bf16(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 9) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 9) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_bf16(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 9, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_bf16(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 9, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_f32(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 10, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_f32(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 10, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_f32(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 10) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 10) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_f32(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 10, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_f32(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 10, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_f64(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 11, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_f64(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 11, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_f64(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 11) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 11) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_f64(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 11, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_f64(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 11, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_f8e4m3(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 12, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_f8e4m3(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 12, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_f8e4m3(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 12) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 12) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_f8e4m3(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 12, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_f8e4m3(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 12, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_f8e5m2(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 13, i1 noundef zeroext false) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_argsort_down_f8e5m2(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n) local_unnamed_addr #0 {
entry:
  %call = tail call fastcc i32 @argsort(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i32 noundef 13, i1 noundef zeroext true) #11
  ret i32 %call
}

; Function Attrs: nounwind
define range(i32 0, 2) i32 @tx_top_f8e5m2(ptr nocapture noundef readonly %x, ptr nocapture noundef writeonly %p, i64 noundef %rows, i64 noundef %n, i64 noundef %same, i64 noundef %k) local_unnamed_addr #0 {
entry:
  %div = sdiv i64 %n, 8
  %cmp.not = icmp slt i64 %div, %k
  br i1 %cmp.not, label %cond.false, label %cond.true

cond.true:
  %call = tail call fastcc i32 @top(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 13) #11
  br label %cond.end

cond.false:
  %call1 = tail call fastcc i32 @top_of_order(ptr noundef %x, ptr noundef %p, i64 noundef %rows, i64 noundef %n, i64 noundef %k, i32 noundef 13) #11
  br label %cond.end

cond.end:
  %cond = phi i32 [ %call, %cond.true ], [ %call1, %cond.false ]
  ret i32 %cond
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_f8e5m2(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 13, i1 noundef zeroext false) #11
  ret i32 0
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: readwrite)
define noundef i32 @tx_search_right_f8e5m2(ptr nocapture noundef readonly %a, ptr nocapture noundef readonly %v, ptr nocapture noundef writeonly %p, i64 noundef %n, i64 noundef %m) local_unnamed_addr #2 {
entry:
  tail call fastcc void @search(ptr noundef %a, i64 noundef %n, ptr noundef %v, ptr noundef %p, i64 noundef %m, i32 noundef 13, i1 noundef zeroext true) #11
  ret i32 0
}

; Function Attrs: noinline nounwind
define internal fastcc range(i32 0, 2) i32 @argsort_pairs(ptr nocapture noundef readonly %data, ptr nocapture noundef writeonly %places, i64 noundef %rows, i64 noundef %n, i32 noundef %type, i32 noundef %flip) unnamed_addr #1 {
entry:
  %mul1 = shl nuw nsw i64 %n, 4
  %call = tail call ptr @tx_alloc(i64 noundef %mul1) #12
  %tobool.not = icmp eq ptr %call, null
  br i1 %tobool.not, label %cleanup, label %for.cond.preheader

for.cond.preheader:
  %cmp34 = icmp sgt i64 %rows, 0
  br i1 %cmp34, label %for.body.lr.ph, label %for.cond.cleanup

for.body.lr.ph:
  %add.ptr = getelementptr i64, ptr %call, i64 %n
  %cmp632 = icmp sgt i64 %n, 0
  %0 = icmp ult i32 %type, 14
  %1 = zext nneg i32 %type to i64
  %switch.gep = getelementptr inbounds [14 x i32], ptr @switch.table.argsort_pairs, i64 0, i64 %1
  br label %for.body

for.cond.cleanup:
  tail call void @tx_free(ptr noundef nonnull %call) #12
  br label %cleanup

for.body:
  %row.035 = phi i64 [ 0, %for.body.lr.ph ], [ %inc13, %for.cond.cleanup7 ]
  %mul2 = mul i64 %row.035, %n
  tail call fastcc void @pair_all(ptr noundef %data, i64 noundef %mul2, ptr noundef nonnull %call, i64 noundef %n, i32 noundef %type, i32 noundef %flip) #11
  br i1 %0, label %switch.lookup, label %bytes_of.exit

switch.lookup:
  %switch.load = load i32, ptr %switch.gep, align 4
  br label %bytes_of.exit

bytes_of.exit:
  %retval.0.i = phi i32 [ %switch.load, %switch.lookup ], [ 8, %for.body ]
  %call4 = tail call fastcc ptr @ordered_pairs(ptr noundef nonnull %call, ptr noundef %add.ptr, i64 noundef %n, i32 noundef %retval.0.i) #11
  br i1 %cmp632, label %for.body8.lr.ph, label %for.cond.cleanup7

for.body8.lr.ph:
  %2 = getelementptr i64, ptr %places, i64 %mul2
  br label %for.body8

for.cond.cleanup7:
  %inc13 = add nuw nsw i64 %row.035, 1
  %exitcond36.not = icmp eq i64 %inc13, %rows
  br i1 %exitcond36.not, label %for.cond.cleanup, label %for.body

for.body8:
  %k.033 = phi i64 [ 0, %for.body8.lr.ph ], [ %inc, %for.body8 ]
  %arrayidx = getelementptr i64, ptr %call4, i64 %k.033
  %3 = load i64, ptr %arrayidx, align 8
  %conv9 = and i64 %3, 4294967295
  %arrayidx11 = getelementptr i64, ptr %2, i64 %k.033
  store i64 %conv9, ptr %arrayidx11, align 8
  %inc = add nuw nsw i64 %k.033, 1
  %exitcond.not = icmp eq i64 %inc, %n
  br i1 %exitcond.not, label %for.cond.cleanup7, label %for.body8

cleanup:
  %retval.0 = phi i32 [ 0, %for.cond.cleanup ], [ 1, %entry ]
  ret i32 %retval.0
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #4

declare ptr @tx_alloc(i64 noundef) local_unnamed_addr #5

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: read)
define internal fastcc i64 @key_of(ptr nocapture noundef readonly %data, i64 noundef %k, i32 noundef %type) unnamed_addr #6 {
entry:
  switch i32 %type, label %return [
    i32 0, label %sw.bb
    i32 1, label %sw.bb2
    i32 2, label %sw.bb7
    i32 3, label %sw.bb11
    i32 4, label %sw.bb14
    i32 5, label %sw.bb17
    i32 6, label %sw.bb20
    i32 7, label %sw.bb23
    i32 8, label %sw.bb25
    i32 9, label %sw.bb28
    i32 10, label %sw.bb32
    i32 11, label %sw.bb36
    i32 12, label %sw.bb39
    i32 13, label %sw.bb43
  ]

sw.bb:
  %arrayidx = getelementptr i8, ptr %data, i64 %k
  %0 = load i8, ptr %arrayidx, align 1
  %1 = xor i8 %0, -128
  %conv1 = zext i8 %1 to i64
  br label %return

sw.bb2:
  %arrayidx3 = getelementptr i16, ptr %data, i64 %k
  %2 = load i16, ptr %arrayidx3, align 2
  %3 = xor i16 %2, -32768
  %conv6 = zext i16 %3 to i64
  br label %return

sw.bb7:
  %arrayidx8 = getelementptr i32, ptr %data, i64 %k
  %4 = load i32, ptr %arrayidx8, align 4
  %xor9 = xor i32 %4, -2147483648
  %conv10 = zext i32 %xor9 to i64
  br label %return

sw.bb11:
  %arrayidx12 = getelementptr i64, ptr %data, i64 %k
  %5 = load i64, ptr %arrayidx12, align 8
  %xor13 = xor i64 %5, -9223372036854775808
  br label %return

sw.bb14:
  %arrayidx15 = getelementptr i8, ptr %data, i64 %k
  %6 = load i8, ptr %arrayidx15, align 1
  %conv16 = zext i8 %6 to i64
  br label %return

sw.bb17:
  %arrayidx18 = getelementptr i16, ptr %data, i64 %k
  %7 = load i16, ptr %arrayidx18, align 2
  %conv19 = zext i16 %7 to i64
  br label %return

sw.bb20:
  %arrayidx21 = getelementptr i32, ptr %data, i64 %k
  %8 = load i32, ptr %arrayidx21, align 4
  %conv22 = zext i32 %8 to i64
  br label %return

sw.bb23:
  %arrayidx24 = getelementptr i64, ptr %data, i64 %k
  %9 = load i64, ptr %arrayidx24, align 8
  br label %return

sw.bb25:
  %arrayidx26 = getelementptr i16, ptr %data, i64 %k
  %10 = load i16, ptr %arrayidx26, align 2
  %conv27 = zext i16 %10 to i64
  %and.i = and i64 %conv27, 32767
  %cmp.i = icmp ugt i64 %and.i, 31744
  br i1 %cmp.i, label %return, label %if.end.i

if.end.i:
  %cmp3.i = icmp eq i64 %and.i, 0
  br i1 %cmp3.i, label %return, label %if.end5.i

if.end5.i:
  %not.i = xor i64 %conv27, -1
  %or7.i = or i64 %conv27, 32768
  %tobool.not.i143 = icmp slt i16 %10, 0
  %cond.i = select i1 %tobool.not.i143, i64 %not.i, i64 %or7.i
  %and8.i = and i64 %cond.i, 65535
  br label %return

sw.bb28:
  %arrayidx29 = getelementptr i16, ptr %data, i64 %k
  %11 = load i16, ptr %arrayidx29, align 2
  %conv30 = zext i16 %11 to i64
  %and.i73 = and i64 %conv30, 32767
  %cmp.i74 = icmp ugt i64 %and.i73, 32640
  br i1 %cmp.i74, label %return, label %if.end.i75

if.end.i75:
  %cmp3.i76 = icmp eq i64 %and.i73, 0
  br i1 %cmp3.i76, label %return, label %if.end5.i77

if.end5.i77:
  %not.i80 = xor i64 %conv30, -1
  %or7.i81 = or i64 %conv30, 32768
  %tobool.not.i79142 = icmp slt i16 %11, 0
  %cond.i82 = select i1 %tobool.not.i79142, i64 %not.i80, i64 %or7.i81
  %and8.i83 = and i64 %cond.i82, 65535
  br label %return

sw.bb32:
  %arrayidx33 = getelementptr i32, ptr %data, i64 %k
  %12 = load i32, ptr %arrayidx33, align 4
  %conv34 = zext i32 %12 to i64
  %and.i86 = and i64 %conv34, 2147483647
  %cmp.i87 = icmp ugt i64 %and.i86, 2139095040
  br i1 %cmp.i87, label %return, label %if.end.i88

if.end.i88:
  %cmp3.i89 = icmp eq i64 %and.i86, 0
  br i1 %cmp3.i89, label %return, label %if.end5.i90

if.end5.i90:
  %not.i93 = xor i64 %conv34, -1
  %or7.i94 = or i64 %conv34, 2147483648
  %tobool.not.i92141 = icmp slt i32 %12, 0
  %cond.i95 = select i1 %tobool.not.i92141, i64 %not.i93, i64 %or7.i94
  %and8.i96 = and i64 %cond.i95, 4294967295
  br label %return

sw.bb36:
  %arrayidx37 = getelementptr i64, ptr %data, i64 %k
  %13 = load i64, ptr %arrayidx37, align 8
  %and.i99 = and i64 %13, 9223372036854775807
  %cmp.i100 = icmp ugt i64 %and.i99, 9218868437227405312
  br i1 %cmp.i100, label %return, label %if.end.i101

if.end.i101:
  %cmp3.i102 = icmp eq i64 %and.i99, 0
  br i1 %cmp3.i102, label %return, label %if.end5.i103

if.end5.i103:
  %not.i106 = xor i64 %13, -1
  %or7.i107 = or i64 %13, -9223372036854775808
  %tobool.not.i105140 = icmp slt i64 %13, 0
  %cond.i108 = select i1 %tobool.not.i105140, i64 %not.i106, i64 %or7.i107
  br label %return

sw.bb39:
  %arrayidx40 = getelementptr i8, ptr %data, i64 %k
  %14 = load i8, ptr %arrayidx40, align 1
  %conv41 = zext i8 %14 to i64
  %and.i112 = and i64 %conv41, 127
  switch i64 %and.i112, label %if.end5.i116 [
    i64 127, label %return
    i64 0, label %return.fold.split
  ]

if.end5.i116:
  %not.i119 = xor i64 %conv41, -1
  %or7.i120 = or i64 %conv41, 128
  %tobool.not.i118139 = icmp slt i8 %14, 0
  %cond.i121 = select i1 %tobool.not.i118139, i64 %not.i119, i64 %or7.i120
  %and8.i122 = and i64 %cond.i121, 255
  br label %return

sw.bb43:
  %arrayidx44 = getelementptr i8, ptr %data, i64 %k
  %15 = load i8, ptr %arrayidx44, align 1
  %conv45 = zext i8 %15 to i64
  %and.i125 = and i64 %conv45, 127
  %cmp.i126 = icmp ugt i64 %and.i125, 124
  br i1 %cmp.i126, label %return, label %if.end.i127

if.end.i127:
  %cmp3.i128 = icmp eq i64 %and.i125, 0
  br i1 %cmp3.i128, label %return, label %if.end5.i129

if.end5.i129:
  %not.i132 = xor i64 %conv45, -1
  %or7.i133 = or i64 %conv45, 128
  %tobool.not.i131138 = icmp slt i8 %15, 0
  %cond.i134 = select i1 %tobool.not.i131138, i64 %not.i132, i64 %or7.i133
  %and8.i135 = and i64 %cond.i134, 255
  br label %return

return.fold.split:
  br label %return

return:
  %retval.0 = phi i64 [ %9, %sw.bb23 ], [ %conv22, %sw.bb20 ], [ %conv19, %sw.bb17 ], [ %conv16, %sw.bb14 ], [ %xor13, %sw.bb11 ], [ %conv10, %sw.bb7 ], [ %conv6, %sw.bb2 ], [ %conv1, %sw.bb ], [ 0, %entry ], [ %and8.i, %if.end5.i ], [ 65535, %sw.bb25 ], [ 32768, %if.end.i ], [ %and8.i83, %if.end5.i77 ], [ 65535, %sw.bb28 ], [ 32768, %if.end.i75 ], [ %and8.i96, %if.end5.i90 ], [ 4294967295, %sw.bb32 ], [ 2147483648, %if.end.i88 ], [ %cond.i108, %if.end5.i103 ], [ -1, %sw.bb36 ], [ -9223372036854775808, %if.end.i101 ], [ %and8.i122, %if.end5.i116 ], [ 255, %sw.bb39 ], [ %and8.i135, %if.end5.i129 ], [ 255, %sw.bb43 ], [ 128, %if.end.i127 ], [ 128, %return.fold.split ]
  ret i64 %retval.0
}

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg) #7

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #4

; Function Attrs: nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none)
define internal fastcc ptr @ordered(ptr noundef %items, ptr noundef %others, i64 noundef %n, i32 noundef %bytes) unnamed_addr #8 {
entry:
  %starts.i = alloca [256 x i64], align 16
  %cmp = icmp slt i64 %n, 33
  br i1 %cmp, label %if.then, label %for.cond.preheader

for.cond.preheader:
  %cmp119 = icmp sgt i32 %bytes, 0
  br i1 %cmp119, label %for.body.preheader, label %return

for.body.preheader:
  %wide.trip.count = zext nneg i32 %bytes to i64
  br label %for.body

if.then:
  %cmp28.i = icmp sgt i64 %n, 1
  br i1 %cmp28.i, label %for.body.i, label %return

for.body.i:
  %k.029.i = phi i64 [ %inc.i, %for.end.i ], [ 1, %if.then ]
  %arrayidx.i = getelementptr %struct.Item, ptr %items, i64 %k.029.i
  %item.sroa.0.0.copyload.i = load i64, ptr %arrayidx.i, align 8
  %item.sroa.5.0.arrayidx.sroa_idx.i = getelementptr inbounds i8, ptr %arrayidx.i, i64 8
  %item.sroa.5.0.copyload.i = load i64, ptr %item.sroa.5.0.arrayidx.sroa_idx.i, align 8
  br label %land.rhs.i

land.rhs.i:
  %at.027.i = phi i64 [ %k.029.i, %for.body.i ], [ %dec.i, %for.body6.i ]
  %0 = getelementptr %struct.Item, ptr %items, i64 %at.027.i
  %arrayidx3.i = getelementptr i8, ptr %0, i64 -16
  %1 = load i64, ptr %arrayidx3.i, align 8
  %cmp5.i = icmp ugt i64 %1, %item.sroa.0.0.copyload.i
  br i1 %cmp5.i, label %for.body6.i, label %for.end.i

for.body6.i:
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %0, ptr noundef nonnull align 8 dereferenceable(16) %arrayidx3.i, i64 16, i1 false)
  %dec.i = add nsw i64 %at.027.i, -1
  %cmp2.i = icmp sgt i64 %at.027.i, 1
  br i1 %cmp2.i, label %land.rhs.i, label %for.end.i

for.end.i:
  %at.0.lcssa.i = phi i64 [ 0, %for.body6.i ], [ %at.027.i, %land.rhs.i ]
  %arrayidx10.i = getelementptr %struct.Item, ptr %items, i64 %at.0.lcssa.i
  store i64 %item.sroa.0.0.copyload.i, ptr %arrayidx10.i, align 8
  %item.sroa.5.0.arrayidx10.sroa_idx.i = getelementptr inbounds i8, ptr %arrayidx10.i, i64 8
  store i64 %item.sroa.5.0.copyload.i, ptr %item.sroa.5.0.arrayidx10.sroa_idx.i, align 8
  %inc.i = add nuw nsw i64 %k.029.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %n
  br i1 %exitcond.not.i, label %return, label %for.body.i

for.body:
  %indvars.iv = phi i64 [ 0, %for.body.preheader ], [ %indvars.iv.next, %scatter_by_digit.exit ]
  %items.addr.021 = phi ptr [ %items, %for.body.preheader ], [ %spec.select13, %scatter_by_digit.exit ]
  %others.addr.020 = phi ptr [ %others, %for.body.preheader ], [ %spec.select, %scatter_by_digit.exit ]
  %mul = shl i64 %indvars.iv, 3
  call void @llvm.lifetime.start.p0(i64 2048, ptr nonnull %starts.i) #13
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 16 dereferenceable(2048) %starts.i, i8 0, i64 2048, i1 false)
  %sh_prom.i = and i64 %mul, 4294967288
  br label %for.body.i14

for.cond.cleanup.i:
  %2 = load i64, ptr %items.addr.021, align 8
  %shr6.i = lshr i64 %2, %sh_prom.i
  %and7.i = and i64 %shr6.i, 255
  %arrayidx8.i = getelementptr [256 x i64], ptr %starts.i, i64 0, i64 %and7.i
  %3 = load i64, ptr %arrayidx8.i, align 8
  %cmp9.i.not = icmp eq i64 %3, %n
  br i1 %cmp9.i.not, label %scatter_by_digit.exit, label %for.body13.i

for.body.i14:
  %k.054.i = phi i64 [ %inc2.i, %for.body.i14 ], [ 0, %for.body ]
  %arrayidx.i15 = getelementptr %struct.Item, ptr %items.addr.021, i64 %k.054.i
  %4 = load i64, ptr %arrayidx.i15, align 8
  %shr.i = lshr i64 %4, %sh_prom.i
  %and.i = and i64 %shr.i, 255
  %arrayidx1.i = getelementptr [256 x i64], ptr %starts.i, i64 0, i64 %and.i
  %5 = load i64, ptr %arrayidx1.i, align 8
  %inc.i16 = add i64 %5, 1
  store i64 %inc.i16, ptr %arrayidx1.i, align 8
  %inc2.i = add nuw nsw i64 %k.054.i, 1
  %exitcond.not.i17 = icmp eq i64 %inc2.i, %n
  br i1 %exitcond.not.i17, label %for.cond.cleanup.i, label %for.body.i14

for.body13.i:
  %indvars.iv.i = phi i64 [ %indvars.iv.next.i, %for.body13.i ], [ 0, %for.cond.cleanup.i ]
  %total.055.i = phi i64 [ %add.i, %for.body13.i ], [ 0, %for.cond.cleanup.i ]
  %arrayidx14.i = getelementptr [256 x i64], ptr %starts.i, i64 0, i64 %indvars.iv.i
  %6 = load i64, ptr %arrayidx14.i, align 8
  store i64 %total.055.i, ptr %arrayidx14.i, align 8
  %add.i = add i64 %6, %total.055.i
  %indvars.iv.next.i = add nuw nsw i64 %indvars.iv.i, 1
  %exitcond60.not.i = icmp eq i64 %indvars.iv.next.i, 256
  br i1 %exitcond60.not.i, label %for.body24.i, label %for.body13.i

for.body24.i:
  %k20.058.i = phi i64 [ %inc35.i, %for.body24.i ], [ 0, %for.body13.i ]
  %arrayidx25.i = getelementptr %struct.Item, ptr %items.addr.021, i64 %k20.058.i
  %7 = load i64, ptr %arrayidx25.i, align 8
  %shr28.i = lshr i64 %7, %sh_prom.i
  %and29.i = and i64 %shr28.i, 255
  %arrayidx30.i = getelementptr [256 x i64], ptr %starts.i, i64 0, i64 %and29.i
  %8 = load i64, ptr %arrayidx30.i, align 8
  %inc31.i = add i64 %8, 1
  store i64 %inc31.i, ptr %arrayidx30.i, align 8
  %arrayidx32.i = getelementptr %struct.Item, ptr %others.addr.020, i64 %8
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %arrayidx32.i, ptr noundef nonnull readonly align 8 dereferenceable(16) %arrayidx25.i, i64 16, i1 false)
  %inc35.i = add nuw nsw i64 %k20.058.i, 1
  %exitcond61.not.i = icmp eq i64 %inc35.i, %n
  br i1 %exitcond61.not.i, label %scatter_by_digit.exit, label %for.body24.i

scatter_by_digit.exit:
  %spec.select13 = phi ptr [ %items.addr.021, %for.cond.cleanup.i ], [ %others.addr.020, %for.body24.i ]
  %spec.select = phi ptr [ %others.addr.020, %for.cond.cleanup.i ], [ %items.addr.021, %for.body24.i ]
  call void @llvm.lifetime.end.p0(i64 2048, ptr nonnull %starts.i) #13
  %indvars.iv.next = add nuw nsw i64 %indvars.iv, 1
  %exitcond.not = icmp eq i64 %indvars.iv.next, %wide.trip.count
  br i1 %exitcond.not, label %return, label %for.body

return:
  %retval.0 = phi ptr [ %items, %if.then ], [ %items, %for.cond.preheader ], [ %items, %for.end.i ], [ %spec.select13, %scatter_by_digit.exit ]
  ret ptr %retval.0
}

declare void @tx_free(ptr noundef) local_unnamed_addr #5

; Function Attrs: nofree noinline norecurse nosync nounwind memory(argmem: readwrite)
define internal fastcc void @pair_all(ptr nocapture noundef readonly %data, i64 noundef %first, ptr nocapture noundef writeonly %pairs, i64 noundef %n, i32 noundef %type, i32 noundef %flip) unnamed_addr #3 {
entry:
  %cmp = icmp eq i32 %type, 10
  br i1 %cmp, label %if.then, label %for.cond8.preheader

for.cond8.preheader:
  %cmp941 = icmp sgt i64 %n, 0
  br i1 %cmp941, label %for.body12, label %for.end24

if.then:
  %add.ptr = getelementptr i32, ptr %data, i64 %first
  %cmp143 = icmp sgt i64 %n, 0
  br i1 %cmp143, label %for.body, label %for.end24

for.body:
  %k.044 = phi i64 [ %inc, %key_of_float.exit ], [ 0, %if.then ]
  %arrayidx = getelementptr i32, ptr %add.ptr, i64 %k.044
  %0 = load i32, ptr %arrayidx, align 4
  %1 = and i32 %0, 2147483647
  %cmp.i = icmp ugt i32 %1, 2139095040
  br i1 %cmp.i, label %key_of_float.exit, label %if.end.i

if.end.i:
  %cmp3.i = icmp eq i32 %1, 0
  br i1 %cmp3.i, label %key_of_float.exit, label %if.end5.i

if.end5.i:
  %not.i = xor i32 %0, -1
  %or7.i = or i32 %0, -2147483648
  %tobool.not.i39 = icmp slt i32 %0, 0
  %cond.i = select i1 %tobool.not.i39, i32 %not.i, i32 %or7.i
  br label %key_of_float.exit

key_of_float.exit:
  %retval.0.i = phi i32 [ %cond.i, %if.end5.i ], [ -1, %for.body ], [ -2147483648, %if.end.i ]
  %xor = xor i32 %retval.0.i, %flip
  %conv3 = zext i32 %xor to i64
  %shl = shl nuw i64 %conv3, 32
  %conv5 = and i64 %k.044, 4294967295
  %or = or disjoint i64 %shl, %conv5
  %arrayidx6 = getelementptr i64, ptr %pairs, i64 %k.044
  store i64 %or, ptr %arrayidx6, align 8
  %inc = add nuw nsw i64 %k.044, 1
  %exitcond46.not = icmp eq i64 %inc, %n
  br i1 %exitcond46.not, label %for.end24, label %for.body

for.body12:
  %k7.042 = phi i64 [ %inc23, %for.body12 ], [ 0, %for.cond8.preheader ]
  %add = add i64 %k7.042, %first
  %call13 = tail call fastcc i64 @key_of(ptr noundef %data, i64 noundef %add, i32 noundef %type) #11
  %conv14 = trunc i64 %call13 to i32
  %xor15 = xor i32 %conv14, %flip
  %conv16 = zext i32 %xor15 to i64
  %shl17 = shl nuw i64 %conv16, 32
  %conv19 = and i64 %k7.042, 4294967295
  %or20 = or disjoint i64 %shl17, %conv19
  %arrayidx21 = getelementptr i64, ptr %pairs, i64 %k7.042
  store i64 %or20, ptr %arrayidx21, align 8
  %inc23 = add nuw nsw i64 %k7.042, 1
  %exitcond.not = icmp eq i64 %inc23, %n
  br i1 %exitcond.not, label %for.end24, label %for.body12

for.end24:
  ret void
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none)
define internal fastcc ptr @ordered_pairs(ptr noundef %pairs, ptr noundef %others, i64 noundef %n, i32 noundef %bytes) unnamed_addr #8 {
entry:
  %starts = alloca [4 x [256 x i32]], align 16
  call void @llvm.lifetime.start.p0(i64 4096, ptr nonnull %starts) #13
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 16 dereferenceable(4096) %starts, i8 0, i64 4096, i1 false)
  %cmp = icmp slt i64 %n, 33
  br i1 %cmp, label %if.then, label %for.body

if.then:
  %cmp26.i = icmp sgt i64 %n, 1
  br i1 %cmp26.i, label %for.body.i, label %cleanup70

for.body.i:
  %k.027.i = phi i64 [ %inc.i, %for.end.i ], [ 1, %if.then ]
  %arrayidx.i = getelementptr i64, ptr %pairs, i64 %k.027.i
  %0 = load i64, ptr %arrayidx.i, align 8
  br label %land.rhs.i

land.rhs.i:
  %at.025.i = phi i64 [ %k.027.i, %for.body.i ], [ %dec.i, %for.body5.i ]
  %1 = getelementptr i64, ptr %pairs, i64 %at.025.i
  %arrayidx3.i = getelementptr i8, ptr %1, i64 -8
  %2 = load i64, ptr %arrayidx3.i, align 8
  %cmp4.i = icmp ugt i64 %2, %0
  br i1 %cmp4.i, label %for.body5.i, label %for.end.i

for.body5.i:
  store i64 %2, ptr %1, align 8
  %dec.i = add nsw i64 %at.025.i, -1
  %cmp2.i = icmp sgt i64 %at.025.i, 1
  br i1 %cmp2.i, label %land.rhs.i, label %for.end.i

for.end.i:
  %at.0.lcssa.i = phi i64 [ 0, %for.body5.i ], [ %at.025.i, %land.rhs.i ]
  %arrayidx9.i = getelementptr i64, ptr %pairs, i64 %at.0.lcssa.i
  store i64 %0, ptr %arrayidx9.i, align 8
  %inc.i = add nuw nsw i64 %k.027.i, 1
  %exitcond.not.i = icmp eq i64 %inc.i, %n
  br i1 %exitcond.not.i, label %cleanup70, label %for.body.i

for.cond16.preheader:
  %cmp17109 = icmp sgt i32 %bytes, 0
  br i1 %cmp17109, label %for.body20.lr.ph, label %cleanup70

for.body20.lr.ph:
  %wide.trip.count = zext nneg i32 %bytes to i64
  br label %for.body20

for.body:
  %k.0104 = phi i64 [ %inc13, %for.cond.cleanup5 ], [ 0, %entry ]
  %arrayidx = getelementptr i64, ptr %pairs, i64 %k.0104
  %3 = load i64, ptr %arrayidx, align 8
  %shr = lshr i64 %3, 32
  %conv = trunc nuw i64 %shr to i32
  br label %for.body6

for.cond.cleanup5:
  %inc13 = add nuw nsw i64 %k.0104, 1
  %exitcond116.not = icmp eq i64 %inc13, %n
  br i1 %exitcond116.not, label %for.cond16.preheader, label %for.body

for.body6:
  %indvars.iv = phi i64 [ 0, %for.body ], [ %indvars.iv.next, %for.body6 ]
  %indvars.iv.tr = trunc i64 %indvars.iv to i32
  %4 = shl i32 %indvars.iv.tr, 3
  %shr8 = lshr i32 %conv, %4
  %and = and i32 %shr8, 255
  %idxprom9 = zext nneg i32 %and to i64
  %arrayidx10 = getelementptr [4 x [256 x i32]], ptr %starts, i64 0, i64 %indvars.iv, i64 %idxprom9
  %5 = load i32, ptr %arrayidx10, align 4
  %inc = add i32 %5, 1
  store i32 %inc, ptr %arrayidx10, align 4
  %indvars.iv.next = add nuw nsw i64 %indvars.iv, 1
  %exitcond.not = icmp eq i64 %indvars.iv.next, 4
  br i1 %exitcond.not, label %for.cond.cleanup5, label %for.body6

for.body20:
  %indvars.iv122 = phi i64 [ 0, %for.body20.lr.ph ], [ %indvars.iv.next123, %cleanup ]
  %pairs.addr.0112 = phi ptr [ %pairs, %for.body20.lr.ph ], [ %pairs.addr.1, %cleanup ]
  %others.addr.0111 = phi ptr [ %others, %for.body20.lr.ph ], [ %others.addr.1, %cleanup ]
  %mul21 = shl i64 %indvars.iv122, 3
  %add = add i64 %mul21, 32
  %arrayidx23 = getelementptr [4 x [256 x i32]], ptr %starts, i64 0, i64 %indvars.iv122
  %6 = load i64, ptr %pairs.addr.0112, align 8
  %sh_prom = and i64 %add, 4294967288
  %shr25 = lshr i64 %6, %sh_prom
  %and26 = and i64 %shr25, 255
  %arrayidx27 = getelementptr i32, ptr %arrayidx23, i64 %and26
  %7 = load i32, ptr %arrayidx27, align 4
  %conv28 = zext i32 %7 to i64
  %cmp29 = icmp eq i64 %conv28, %n
  br i1 %cmp29, label %cleanup, label %for.body37

for.body37:
  %indvars.iv117 = phi i64 [ %indvars.iv.next118, %for.body37 ], [ 0, %for.body20 ]
  %total.0105 = phi i32 [ %add42, %for.body37 ], [ 0, %for.body20 ]
  %arrayidx39 = getelementptr i32, ptr %arrayidx23, i64 %indvars.iv117
  %8 = load i32, ptr %arrayidx39, align 4
  store i32 %total.0105, ptr %arrayidx39, align 4
  %add42 = add i32 %8, %total.0105
  %indvars.iv.next118 = add nuw nsw i64 %indvars.iv117, 1
  %exitcond120.not = icmp eq i64 %indvars.iv.next118, 256
  br i1 %exitcond120.not, label %for.body51, label %for.body37

for.body51:
  %k46.0108 = phi i64 [ %inc62, %for.body51 ], [ 0, %for.body37 ]
  %arrayidx52 = getelementptr i64, ptr %pairs.addr.0112, i64 %k46.0108
  %9 = load i64, ptr %arrayidx52, align 8
  %shr55 = lshr i64 %9, %sh_prom
  %and56 = and i64 %shr55, 255
  %arrayidx57 = getelementptr i32, ptr %arrayidx23, i64 %and56
  %10 = load i32, ptr %arrayidx57, align 4
  %inc58 = add i32 %10, 1
  store i32 %inc58, ptr %arrayidx57, align 4
  %idxprom59 = zext i32 %10 to i64
  %arrayidx60 = getelementptr i64, ptr %others.addr.0111, i64 %idxprom59
  store i64 %9, ptr %arrayidx60, align 8
  %inc62 = add nuw nsw i64 %k46.0108, 1
  %exitcond121.not = icmp eq i64 %inc62, %n
  br i1 %exitcond121.not, label %cleanup, label %for.body51

cleanup:
  %others.addr.1 = phi ptr [ %others.addr.0111, %for.body20 ], [ %pairs.addr.0112, %for.body51 ]
  %pairs.addr.1 = phi ptr [ %pairs.addr.0112, %for.body20 ], [ %others.addr.0111, %for.body51 ]
  %indvars.iv.next123 = add nuw nsw i64 %indvars.iv122, 1
  %exitcond125.not = icmp eq i64 %indvars.iv.next123, %wide.trip.count
  br i1 %exitcond125.not, label %cleanup70, label %for.body20

cleanup70:
  %retval.0 = phi ptr [ %pairs, %if.then ], [ %pairs, %for.cond16.preheader ], [ %pairs, %for.end.i ], [ %pairs.addr.1, %cleanup ]
  call void @llvm.lifetime.end.p0(i64 4096, ptr nonnull %starts) #13
  ret ptr %retval.0
}

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #9

; Function Attrs: nofree noinline norecurse nosync nounwind memory(argmem: readwrite)
define internal fastcc void @take_largest(ptr nocapture noundef %heap, i64 noundef %k, ptr nocapture noundef readonly %data, i64 noundef %first, i64 noundef %n, i32 noundef %type) unnamed_addr #3 {
entry:
  %cmp83 = icmp sgt i64 %k, 0
  br i1 %cmp83, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  %cmp385.not = icmp ult i64 %k, 2
  br i1 %cmp385.not, label %for.cond.cleanup4, label %for.body5.preheader

for.body5.preheader:
  %div78 = lshr i64 %k, 1
  br label %for.body5

for.body:
  %at.084 = phi i64 [ %inc, %for.body ], [ 0, %entry ]
  %arrayidx = getelementptr %struct.Item, ptr %heap, i64 %at.084
  %add = add i64 %at.084, %first
  %call = tail call fastcc i64 @key_of(ptr noundef %data, i64 noundef %add, i32 noundef %type) #11
  %not = xor i64 %call, -1
  store i64 %not, ptr %arrayidx, align 8
  %.compoundliteral.sroa.2.0.arrayidx.sroa_idx = getelementptr inbounds i8, ptr %arrayidx, i64 8
  store i64 %at.084, ptr %.compoundliteral.sroa.2.0.arrayidx.sroa_idx, align 8
  %inc = add nuw nsw i64 %at.084, 1
  %exitcond.not = icmp eq i64 %inc, %k
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body

for.cond.cleanup4:
  %add.ptr = getelementptr float, ptr %data, i64 %first
  %cmp1091 = icmp slt i64 %k, %n
  br i1 %cmp1091, label %for.body12.lr.ph, label %for.cond.cleanup11

for.body12.lr.ph:
  %cmp13 = icmp ne i32 %type, 10
  %place19 = getelementptr inbounds i8, ptr %heap, i64 8
  %cmp37.i.i = icmp sgt i64 %k, 1
  br label %for.body12

for.body5:
  %at1.0.in86 = phi i64 [ %at1.0, %sink.exit ], [ %div78, %for.body5.preheader ]
  %at1.0 = add nsw i64 %at1.0.in86, -1
  %arrayidx.i = getelementptr %struct.Item, ptr %heap, i64 %at1.0
  %item.sroa.0.0.copyload.i = load i64, ptr %arrayidx.i, align 8
  %item.sroa.5.0.arrayidx.sroa_idx.i = getelementptr inbounds i8, ptr %arrayidx.i, i64 8
  %item.sroa.5.0.copyload.i = load i64, ptr %item.sroa.5.0.arrayidx.sroa_idx.i, align 8
  %mul35.i = shl nuw i64 %at1.0, 1
  %add36.i = or disjoint i64 %mul35.i, 1
  %cmp37.i = icmp slt i64 %add36.i, %k
  br i1 %cmp37.i, label %for.body.i, label %sink.exit

for.body.i:
  %add40.i = phi i64 [ %add.i, %if.end.i ], [ %add36.i, %for.body5 ]
  %mul39.i = phi i64 [ %mul.i, %if.end.i ], [ %mul35.i, %for.body5 ]
  %at.addr.038.i = phi i64 [ %add6.i, %if.end.i ], [ %at1.0, %for.body5 ]
  %add1.i = add nsw i64 %mul39.i, 2
  %cmp2.i = icmp slt i64 %add1.i, %k
  br i1 %cmp2.i, label %land.rhs.i, label %land.end.i

land.rhs.i:
  %arrayidx4.i = getelementptr %struct.Item, ptr %heap, i64 %add1.i
  %arrayidx5.i = getelementptr %struct.Item, ptr %heap, i64 %add40.i
  %0 = load i64, ptr %arrayidx4.i, align 8
  %1 = load i64, ptr %arrayidx5.i, align 8
  %cmp.i.i = icmp ugt i64 %0, %1
  br i1 %cmp.i.i, label %land.end.i, label %lor.rhs.i.i

lor.rhs.i.i:
  %2 = getelementptr inbounds i8, ptr %arrayidx5.i, i64 8
  %3 = load i64, ptr %2, align 8
  %4 = getelementptr inbounds i8, ptr %arrayidx4.i, i64 8
  %5 = load i64, ptr %4, align 8
  %cmp4.i.i = icmp eq i64 %0, %1
  %cmp6.i.i = icmp sgt i64 %5, %3
  %6 = select i1 %cmp4.i.i, i1 %cmp6.i.i, i1 false
  br label %land.end.i

land.end.i:
  %7 = phi i1 [ false, %for.body.i ], [ true, %land.rhs.i ], [ %6, %lor.rhs.i.i ]
  %conv.i = zext i1 %7 to i64
  %add6.i = add i64 %add40.i, %conv.i
  %arrayidx7.i = getelementptr %struct.Item, ptr %heap, i64 %add6.i
  %8 = load i64, ptr %arrayidx7.i, align 8
  %cmp.i30.i = icmp ugt i64 %8, %item.sroa.0.0.copyload.i
  br i1 %cmp.i30.i, label %if.end.i, label %is_behind.exit34.i

is_behind.exit34.i:
  %9 = getelementptr inbounds i8, ptr %arrayidx7.i, i64 8
  %10 = load i64, ptr %9, align 8
  %cmp4.i32.i = icmp eq i64 %8, %item.sroa.0.0.copyload.i
  %cmp6.i33.i = icmp sgt i64 %10, %item.sroa.5.0.copyload.i
  %11 = select i1 %cmp4.i32.i, i1 %cmp6.i33.i, i1 false
  br i1 %11, label %if.end.i, label %sink.exit

if.end.i:
  %arrayidx9.i = getelementptr %struct.Item, ptr %heap, i64 %at.addr.038.i
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %arrayidx9.i, ptr noundef nonnull align 8 dereferenceable(16) %arrayidx7.i, i64 16, i1 false)
  %mul.i = shl i64 %add6.i, 1
  %add.i = or disjoint i64 %mul.i, 1
  %cmp.i = icmp slt i64 %add.i, %k
  br i1 %cmp.i, label %for.body.i, label %sink.exit

sink.exit:
  %at.addr.0.lcssa.i = phi i64 [ %at1.0, %for.body5 ], [ %add6.i, %if.end.i ], [ %at.addr.038.i, %is_behind.exit34.i ]
  %arrayidx11.i = getelementptr %struct.Item, ptr %heap, i64 %at.addr.0.lcssa.i
  store i64 %item.sroa.0.0.copyload.i, ptr %arrayidx11.i, align 8
  %item.sroa.5.0.arrayidx11.sroa_idx.i = getelementptr inbounds i8, ptr %arrayidx11.i, i64 8
  store i64 %item.sroa.5.0.copyload.i, ptr %item.sroa.5.0.arrayidx11.sroa_idx.i, align 8
  %cmp3 = icmp sgt i64 %at1.0.in86, 1
  br i1 %cmp3, label %for.body5, label %for.cond.cleanup4

for.cond.cleanup11:
  ret void

for.body12:
  %at8.092 = phi i64 [ %k, %for.body12.lr.ph ], [ %at8.0.be, %for.cond9.backedge ]
  %add14 = add i64 %at8.092, 16
  %cmp15.not = icmp sgt i64 %add14, %n
  %or.cond = or i1 %cmp13, %cmp15.not
  br i1 %or.cond, label %if.end, label %land.lhs.true16

land.lhs.true16:
  %add.ptr17 = getelementptr float, ptr %add.ptr, i64 %at8.092
  %12 = load i64, ptr %place19, align 8
  %arrayidx20 = getelementptr float, ptr %add.ptr, i64 %12
  %13 = load float, ptr %arrayidx20, align 4
  %chunk.0.copyload.i = load <16 x float>, ptr %add.ptr17, align 4
  %splat.splatinsert.i = insertelement <16 x float> poison, float %13, i64 0
  %splat.splat.i = shufflevector <16 x float> %splat.splatinsert.i, <16 x float> poison, <16 x i32> zeroinitializer
  %14 = fcmp ugt <16 x float> %chunk.0.copyload.i, %splat.splat.i
  %15 = bitcast <16 x i1> %14 to i16
  %16 = icmp eq i16 %15, 0
  br i1 %16, label %for.cond9.backedge, label %if.end

for.cond9.backedge:
  %at8.0.be = phi i64 [ %add14, %land.lhs.true16 ], [ %at8.092, %if.end ], [ %cond, %for.inc38 ]
  %cmp10 = icmp slt i64 %at8.0.be, %n
  br i1 %cmp10, label %for.body12, label %for.cond.cleanup11

if.end:
  %cond = tail call i64 @llvm.smin.i64(i64 %add14, i64 %n)
  %cmp2787 = icmp slt i64 %at8.092, %cond
  br i1 %cmp2787, label %for.body29, label %for.cond9.backedge

for.body29:
  %at8.188 = phi i64 [ %inc39, %for.inc38 ], [ %at8.092, %if.end ]
  br i1 %cmp13, label %if.then36, label %lor.lhs.false

lor.lhs.false:
  %arrayidx31 = getelementptr float, ptr %add.ptr, i64 %at8.188
  %17 = load float, ptr %arrayidx31, align 4
  %18 = load i64, ptr %place19, align 8
  %arrayidx34 = getelementptr float, ptr %add.ptr, i64 %18
  %19 = load float, ptr %arrayidx34, align 4
  %cmp35 = fcmp ugt float %17, %19
  br i1 %cmp35, label %if.then36, label %for.inc38

if.then36:
  %add.i79 = add i64 %at8.188, %first
  %call.i = tail call fastcc i64 @key_of(ptr noundef readonly %data, i64 noundef %add.i79, i32 noundef %type) #11
  %not.i = xor i64 %call.i, -1
  %20 = load i64, ptr %heap, align 8
  %cmp.i80 = icmp ugt i64 %20, %not.i
  br i1 %cmp.i80, label %if.then.i, label %for.inc38

if.then.i:
  store i64 %not.i, ptr %heap, align 8
  store i64 %at8.188, ptr %place19, align 8
  br i1 %cmp37.i.i, label %for.body.i.i, label %sink.exit.i

for.body.i.i:
  %add40.i.i = phi i64 [ %add.i.i, %if.end.i.i ], [ 1, %if.then.i ]
  %mul39.i.i = phi i64 [ %mul.i.i, %if.end.i.i ], [ 0, %if.then.i ]
  %at.addr.038.i.i = phi i64 [ %add6.i.i, %if.end.i.i ], [ 0, %if.then.i ]
  %add1.i.i = add nsw i64 %mul39.i.i, 2
  %cmp2.i.i = icmp slt i64 %add1.i.i, %k
  br i1 %cmp2.i.i, label %land.rhs.i.i, label %land.end.i.i

land.rhs.i.i:
  %arrayidx4.i.i = getelementptr %struct.Item, ptr %heap, i64 %add1.i.i
  %arrayidx5.i.i = getelementptr %struct.Item, ptr %heap, i64 %add40.i.i
  %21 = load i64, ptr %arrayidx4.i.i, align 8
  %22 = load i64, ptr %arrayidx5.i.i, align 8
  %cmp.i.i.i = icmp ugt i64 %21, %22
  br i1 %cmp.i.i.i, label %land.end.i.i, label %lor.rhs.i.i.i

lor.rhs.i.i.i:
  %23 = getelementptr inbounds i8, ptr %arrayidx5.i.i, i64 8
  %24 = load i64, ptr %23, align 8
  %25 = getelementptr inbounds i8, ptr %arrayidx4.i.i, i64 8
  %26 = load i64, ptr %25, align 8
  %cmp4.i.i.i = icmp eq i64 %21, %22
  %cmp6.i.i.i = icmp sgt i64 %26, %24
  %27 = select i1 %cmp4.i.i.i, i1 %cmp6.i.i.i, i1 false
  br label %land.end.i.i

land.end.i.i:
  %28 = phi i1 [ false, %for.body.i.i ], [ true, %land.rhs.i.i ], [ %27, %lor.rhs.i.i.i ]
  %conv.i.i = zext i1 %28 to i64
  %add6.i.i = add i64 %add40.i.i, %conv.i.i
  %arrayidx7.i.i = getelementptr %struct.Item, ptr %heap, i64 %add6.i.i
  %29 = load i64, ptr %arrayidx7.i.i, align 8
  %cmp.i30.i.i = icmp ugt i64 %29, %not.i
  br i1 %cmp.i30.i.i, label %if.end.i.i, label %is_behind.exit34.i.i

is_behind.exit34.i.i:
  %30 = getelementptr inbounds i8, ptr %arrayidx7.i.i, i64 8
  %31 = load i64, ptr %30, align 8
  %cmp4.i32.i.i = icmp eq i64 %29, %not.i
  %cmp6.i33.i.i = icmp sgt i64 %31, %at8.188
  %32 = select i1 %cmp4.i32.i.i, i1 %cmp6.i33.i.i, i1 false
  br i1 %32, label %if.end.i.i, label %sink.exit.i

if.end.i.i:
  %arrayidx9.i.i = getelementptr %struct.Item, ptr %heap, i64 %at.addr.038.i.i
  tail call void @llvm.memcpy.p0.p0.i64(ptr noundef nonnull align 8 dereferenceable(16) %arrayidx9.i.i, ptr noundef nonnull align 8 dereferenceable(16) %arrayidx7.i.i, i64 16, i1 false)
  %mul.i.i = shl i64 %add6.i.i, 1
  %add.i.i = or disjoint i64 %mul.i.i, 1
  %cmp.i.i82 = icmp slt i64 %add.i.i, %k
  br i1 %cmp.i.i82, label %for.body.i.i, label %sink.exit.i

sink.exit.i:
  %at.addr.0.lcssa.i.i = phi i64 [ 0, %if.then.i ], [ %at.addr.038.i.i, %is_behind.exit34.i.i ], [ %add6.i.i, %if.end.i.i ]
  %arrayidx11.i.i = getelementptr %struct.Item, ptr %heap, i64 %at.addr.0.lcssa.i.i
  store i64 %not.i, ptr %arrayidx11.i.i, align 8
  %item.sroa.5.0.arrayidx11.sroa_idx.i.i = getelementptr inbounds i8, ptr %arrayidx11.i.i, i64 8
  store i64 %at8.188, ptr %item.sroa.5.0.arrayidx11.sroa_idx.i.i, align 8
  br label %for.inc38

for.inc38:
  %inc39 = add nsw i64 %at8.188, 1
  %exitcond93.not = icmp eq i64 %inc39, %cond
  br i1 %exitcond93.not, label %for.cond9.backedge, label %for.body29
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #10

attributes #0 = { nounwind "no-builtins" }
attributes #1 = { noinline nounwind "no-builtins" }
attributes #2 = { nofree norecurse nosync nounwind memory(argmem: readwrite) "no-builtins" }
attributes #3 = { nofree noinline norecurse nosync nounwind memory(argmem: readwrite) "no-builtins" }
attributes #4 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #5 = { "no-builtins" }
attributes #6 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: read) "no-builtins" }
attributes #7 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #8 = { nofree noinline norecurse nosync nounwind memory(readwrite, inaccessiblemem: none) "no-builtins" }
attributes #9 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #10 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #11 = { nobuiltin "no-builtins" }
attributes #12 = { nobuiltin nounwind "no-builtins" }
attributes #13 = { nounwind }
