; value_checks.c for x86_64: written by scripts/native.py, not to be edited.
; clang 19.1.7 -std=c11 -ffreestanding -O2 -Wall -Wextra -Werror -Wno-unused-function -fwrapv -fno-strict-aliasing -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -fPIC -fno-stack-protector -fno-asynchronous-unwind-tables -fomit-frame-pointer -fno-discard-value-names
; sources b5133188e8995797907528d974ce715982e2d09427688d861bfacb0bd29928a2
source_filename = "value_checks.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: read)
define zeroext i1 @tx_range_i8(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %lo, i64 noundef %hi) local_unnamed_addr #0 {
entry:
  %cmp.i1 = icmp sgt i64 %bytes, 0
  br i1 %cmp.i1, label %for.body.i, label %all_in_range.exit

for.body.i:
  %good.0.i3 = phi i1 [ %and614.i, %for.body.i ], [ true, %entry ]
  %k.0.i2 = phi i64 [ %inc.i, %for.body.i ], [ 0, %entry ]
  %arrayidx.i = getelementptr i8, ptr %data, i64 %k.0.i2
  %0 = load i8, ptr %arrayidx.i, align 1
  %conv.i = sext i8 %0 to i64
  %cmp2.i = icmp sge i64 %conv.i, %lo
  %cmp3.i = icmp slt i64 %conv.i, %hi
  %and13.i = and i1 %cmp2.i, %cmp3.i
  %and614.i = and i1 %good.0.i3, %and13.i
  %inc.i = add nuw nsw i64 %k.0.i2, 1
  %exitcond.not = icmp eq i64 %inc.i, %bytes
  br i1 %exitcond.not, label %all_in_range.exit, label %for.body.i

all_in_range.exit:
  %good.0.i.lcssa = phi i1 [ true, %entry ], [ %and614.i, %for.body.i ]
  ret i1 %good.0.i.lcssa
}

; Function Attrs: nounwind
define zeroext i1 @tx_distinct_i8(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %row, i64 noundef %unused) local_unnamed_addr #1 {
entry:
  %room.i = alloca [1024 x i8], align 16
  %cmp.i = icmp eq i64 %bytes, 0
  br i1 %cmp.i, label %all_distinct.exit, label %for.cond.i.preheader

for.cond.i.preheader:
  %cmp1.i43 = icmp sgt i64 %bytes, 0
  br i1 %cmp1.i43, label %for.body.i, label %for.cond.cleanup.i

for.cond.cleanup.i:
  %most.0.i.lcssa = phi i64 [ -9223372036854775808, %for.cond.i.preheader ], [ %cond8.i, %for.body.i ]
  %least.0.i.lcssa = phi i64 [ 9223372036854775807, %for.cond.i.preheader ], [ %cond.i, %for.body.i ]
  %sub.i = sub i64 %most.0.i.lcssa, %least.0.i.lcssa
  %mul.i = shl i64 %row, 2
  %cmp9.not.i = icmp ult i64 %sub.i, %mul.i
  br i1 %cmp9.not.i, label %if.end11.i, label %all_distinct.exit

for.body.i:
  %least.0.i46 = phi i64 [ %cond.i, %for.body.i ], [ 9223372036854775807, %for.cond.i.preheader ]
  %most.0.i45 = phi i64 [ %cond8.i, %for.body.i ], [ -9223372036854775808, %for.cond.i.preheader ]
  %k.0.i44 = phi i64 [ %inc.i, %for.body.i ], [ 0, %for.cond.i.preheader ]
  %arrayidx.i = getelementptr i8, ptr %data, i64 %k.0.i44
  %0 = load i8, ptr %arrayidx.i, align 1
  %conv.i = sext i8 %0 to i64
  %cond.i = tail call i64 @llvm.smin.i64(i64 %conv.i, i64 %least.0.i46)
  %cond8.i = tail call i64 @llvm.smax.i64(i64 %conv.i, i64 %most.0.i45)
  %inc.i = add nuw nsw i64 %k.0.i44, 1
  %exitcond.not = icmp eq i64 %inc.i, %bytes
  br i1 %exitcond.not, label %for.cond.cleanup.i, label %for.body.i

if.end11.i:
  %add.i = add nuw i64 %sub.i, 1
  call void @llvm.lifetime.start.p0(i64 1024, ptr nonnull %room.i) #6
  %cmp14.i = icmp ult i64 %sub.i, 1024
  br i1 %cmp14.i, label %if.end24.i, label %cond.end19.i

cond.end19.i:
  %call18.i = tail call ptr @tx_alloc(i64 noundef %add.i) #7
  %tobool.not.i = icmp eq ptr %call18.i, null
  br i1 %tobool.not.i, label %cleanup.i, label %if.end24.i

if.end24.i:
  %cond20.i28 = phi ptr [ %call18.i, %cond.end19.i ], [ %room.i, %if.end11.i ]
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(1) %cond20.i28, i8 0, i64 %add.i, i1 false)
  %div27.i = sdiv i64 %bytes, %row
  %cmp.i556 = icmp slt i64 %div27.i, 1
  br i1 %cmp.i556, label %are_rows_distinct.exit, label %for.body.i7

for.cond.i3.loopexit:
  %cmp.i5 = icmp sge i64 %add.i9, %div27.i
  %indvars.iv.next = add i64 %indvars.iv, %row
  %exitcond66 = icmp eq i64 %add.i9, %div27.i
  br i1 %exitcond66, label %are_rows_distinct.exit, label %for.body.i7

for.body.i7:
  %indvars.iv = phi i64 [ %indvars.iv.next, %for.cond.i3.loopexit ], [ %row, %if.end24.i ]
  %cmp.i558 = phi i1 [ %cmp.i5, %for.cond.i3.loopexit ], [ false, %if.end24.i ]
  %k.0.i457 = phi i64 [ %add.i9, %for.cond.i3.loopexit ], [ 0, %if.end24.i ]
  %mul.i8 = mul i64 %k.0.i457, %row
  %add.i9 = add nuw nsw i64 %k.0.i457, 1
  %cmp1.i10 = icmp ne i64 %add.i9, %div27.i
  %add.i14 = add i64 %mul.i8, %row
  %cmp.not.i48 = icmp slt i64 %mul.i8, %add.i14
  br i1 %cmp.not.i48, label %for.body.i16, label %for.cond.i3.loopexit

for.body.i16:
  %seen.0.i50 = phi i8 [ %or57.i, %for.inc.i ], [ 0, %for.body.i7 ]
  %k.0.i1349 = phi i64 [ %inc.i20, %for.inc.i ], [ %mul.i8, %for.body.i7 ]
  %arrayidx.i80.i = getelementptr i8, ptr %data, i64 %k.0.i1349
  %1 = load i8, ptr %arrayidx.i80.i, align 1
  %conv.i81.i = sext i8 %1 to i64
  %sub.i17 = sub i64 %conv.i81.i, %least.0.i.lcssa
  %cmp1.not.i.not = icmp ugt i64 %sub.i17, %sub.i
  br i1 %cmp1.not.i.not, label %are_rows_distinct.exit, label %for.inc.i

for.inc.i:
  %arrayidx.i22 = getelementptr i8, ptr %cond20.i28, i64 %sub.i17
  %2 = load i8, ptr %arrayidx.i22, align 1
  %or57.i = or i8 %2, %seen.0.i50
  store i8 1, ptr %arrayidx.i22, align 1
  %inc.i20 = add i64 %k.0.i1349, 1
  %exitcond65.not = icmp eq i64 %inc.i20, %indvars.iv
  br i1 %exitcond65.not, label %cleanup6.i, label %for.body.i16

cleanup6.i:
  %tobool.not.i15 = icmp eq i8 %or57.i, 0
  br i1 %tobool.not.i15, label %for.cond11.i.preheader, label %are_rows_distinct.exit

for.cond11.i.preheader:
  %or.cond.i54 = and i1 %cmp1.i10, %cmp.not.i48
  br i1 %or.cond.i54, label %for.body16.i, label %for.cond.i3.loopexit

for.body16.i:
  %k10.0.i55 = phi i64 [ %inc32.i, %if.end25.i ], [ %mul.i8, %for.cond11.i.preheader ]
  %arrayidx.i.i = getelementptr i8, ptr %data, i64 %k10.0.i55
  %3 = load i8, ptr %arrayidx.i.i, align 1
  %conv.i.i = sext i8 %3 to i64
  %sub20.i = sub i64 %conv.i.i, %least.0.i.lcssa
  %cmp22.not.i.not = icmp ugt i64 %sub20.i, %sub.i
  br i1 %cmp22.not.i.not, label %are_rows_distinct.exit, label %if.end25.i

if.end25.i:
  %arrayidx27.i = getelementptr i8, ptr %cond20.i28, i64 %sub20.i
  store i8 0, ptr %arrayidx27.i, align 1
  %inc32.i = add nsw i64 %k10.0.i55, 1
  %cmp13.i = icmp slt i64 %inc32.i, %add.i14
  br i1 %cmp13.i, label %for.body16.i, label %for.cond.i3.loopexit

are_rows_distinct.exit:
  %cmp.i542 = phi i1 [ true, %if.end24.i ], [ %cmp.i558, %for.body16.i ], [ %cmp.i558, %for.body.i16 ], [ %cmp.i5, %for.cond.i3.loopexit ], [ %cmp.i558, %cleanup6.i ]
  %cmp31.not.i = icmp eq ptr %cond20.i28, %room.i
  br i1 %cmp31.not.i, label %cleanup.i, label %if.then32.i

if.then32.i:
  call void @tx_free(ptr noundef nonnull %cond20.i28) #7
  br label %cleanup.i

cleanup.i:
  %retval.0.i = phi i1 [ false, %cond.end19.i ], [ %cmp.i542, %if.then32.i ], [ %cmp.i542, %are_rows_distinct.exit ]
  call void @llvm.lifetime.end.p0(i64 1024, ptr nonnull %room.i) #6
  br label %all_distinct.exit

all_distinct.exit:
  %retval.2.i = phi i1 [ true, %entry ], [ %retval.0.i, %cleanup.i ], [ false, %for.cond.cleanup.i ]
  ret i1 %retval.2.i
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: read)
define zeroext i1 @tx_range_i16(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %lo, i64 noundef %hi) local_unnamed_addr #0 {
entry:
  %div.i = sdiv i64 %bytes, 2
  %cmp.i1 = icmp sgt i64 %bytes, 1
  br i1 %cmp.i1, label %for.body.i, label %all_in_range.exit

for.body.i:
  %good.0.i3 = phi i1 [ %and614.i, %for.body.i ], [ true, %entry ]
  %k.0.i2 = phi i64 [ %inc.i, %for.body.i ], [ 0, %entry ]
  %arrayidx2.i = getelementptr i16, ptr %data, i64 %k.0.i2
  %0 = load i16, ptr %arrayidx2.i, align 1
  %conv3.i = sext i16 %0 to i64
  %cmp2.i = icmp sge i64 %conv3.i, %lo
  %cmp3.i = icmp slt i64 %conv3.i, %hi
  %and13.i = and i1 %cmp2.i, %cmp3.i
  %and614.i = and i1 %good.0.i3, %and13.i
  %inc.i = add nuw nsw i64 %k.0.i2, 1
  %exitcond.not = icmp eq i64 %inc.i, %div.i
  br i1 %exitcond.not, label %all_in_range.exit, label %for.body.i

all_in_range.exit:
  %good.0.i.lcssa = phi i1 [ true, %entry ], [ %and614.i, %for.body.i ]
  ret i1 %good.0.i.lcssa
}

; Function Attrs: nounwind
define zeroext i1 @tx_distinct_i16(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %row, i64 noundef %unused) local_unnamed_addr #1 {
entry:
  %room.i = alloca [1024 x i8], align 16
  %div.i = sdiv i64 %bytes, 2
  %bytes.off = add i64 %bytes, 1
  %cmp.i = icmp ult i64 %bytes.off, 3
  br i1 %cmp.i, label %all_distinct.exit, label %for.cond.i.preheader

for.cond.i.preheader:
  %cmp1.i42 = icmp sgt i64 %bytes, 1
  br i1 %cmp1.i42, label %for.body.i, label %for.cond.cleanup.i

for.cond.cleanup.i:
  %most.0.i.lcssa = phi i64 [ -9223372036854775808, %for.cond.i.preheader ], [ %cond8.i, %for.body.i ]
  %least.0.i.lcssa = phi i64 [ 9223372036854775807, %for.cond.i.preheader ], [ %cond.i, %for.body.i ]
  %sub.i = sub i64 %most.0.i.lcssa, %least.0.i.lcssa
  %mul.i = shl i64 %row, 2
  %cmp9.not.i = icmp ult i64 %sub.i, %mul.i
  br i1 %cmp9.not.i, label %if.end11.i, label %all_distinct.exit

for.body.i:
  %least.0.i45 = phi i64 [ %cond.i, %for.body.i ], [ 9223372036854775807, %for.cond.i.preheader ]
  %most.0.i44 = phi i64 [ %cond8.i, %for.body.i ], [ -9223372036854775808, %for.cond.i.preheader ]
  %k.0.i43 = phi i64 [ %inc.i, %for.body.i ], [ 0, %for.cond.i.preheader ]
  %arrayidx2.i = getelementptr i16, ptr %data, i64 %k.0.i43
  %0 = load i16, ptr %arrayidx2.i, align 1
  %conv3.i = sext i16 %0 to i64
  %cond.i = tail call i64 @llvm.smin.i64(i64 %conv3.i, i64 %least.0.i45)
  %cond8.i = tail call i64 @llvm.smax.i64(i64 %conv3.i, i64 %most.0.i44)
  %inc.i = add nuw nsw i64 %k.0.i43, 1
  %exitcond.not = icmp eq i64 %inc.i, %div.i
  br i1 %exitcond.not, label %for.cond.cleanup.i, label %for.body.i

if.end11.i:
  %add.i = add nuw i64 %sub.i, 1
  call void @llvm.lifetime.start.p0(i64 1024, ptr nonnull %room.i) #6
  %cmp14.i = icmp ult i64 %sub.i, 1024
  br i1 %cmp14.i, label %if.end24.i, label %cond.end19.i

cond.end19.i:
  %call18.i = tail call ptr @tx_alloc(i64 noundef %add.i) #7
  %tobool.not.i = icmp eq ptr %call18.i, null
  br i1 %tobool.not.i, label %cleanup.i, label %if.end24.i

if.end24.i:
  %cond20.i27 = phi ptr [ %call18.i, %cond.end19.i ], [ %room.i, %if.end11.i ]
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(1) %cond20.i27, i8 0, i64 %add.i, i1 false)
  %div27.i = sdiv i64 %div.i, %row
  %cmp.i555 = icmp slt i64 %div27.i, 1
  br i1 %cmp.i555, label %are_rows_distinct.exit, label %for.body.i7

for.cond.i3.loopexit:
  %cmp.i5 = icmp sge i64 %add.i9, %div27.i
  %indvars.iv.next = add i64 %indvars.iv, %row
  %exitcond65 = icmp eq i64 %add.i9, %div27.i
  br i1 %exitcond65, label %are_rows_distinct.exit, label %for.body.i7

for.body.i7:
  %indvars.iv = phi i64 [ %indvars.iv.next, %for.cond.i3.loopexit ], [ %row, %if.end24.i ]
  %cmp.i557 = phi i1 [ %cmp.i5, %for.cond.i3.loopexit ], [ false, %if.end24.i ]
  %k.0.i456 = phi i64 [ %add.i9, %for.cond.i3.loopexit ], [ 0, %if.end24.i ]
  %mul.i8 = mul i64 %k.0.i456, %row
  %add.i9 = add nuw nsw i64 %k.0.i456, 1
  %cmp1.i10 = icmp ne i64 %add.i9, %div27.i
  %add.i14 = add i64 %mul.i8, %row
  %cmp.not.i47 = icmp slt i64 %mul.i8, %add.i14
  br i1 %cmp.not.i47, label %for.body.i16, label %for.cond.i3.loopexit

for.body.i16:
  %seen.0.i49 = phi i8 [ %or57.i, %for.inc.i ], [ 0, %for.body.i7 ]
  %k.0.i1348 = phi i64 [ %inc.i20, %for.inc.i ], [ %mul.i8, %for.body.i7 ]
  %arrayidx2.i77.i = getelementptr i16, ptr %data, i64 %k.0.i1348
  %1 = load i16, ptr %arrayidx2.i77.i, align 1
  %conv3.i78.i = sext i16 %1 to i64
  %sub.i17 = sub i64 %conv3.i78.i, %least.0.i.lcssa
  %cmp1.not.i.not = icmp ugt i64 %sub.i17, %sub.i
  br i1 %cmp1.not.i.not, label %are_rows_distinct.exit, label %for.inc.i

for.inc.i:
  %arrayidx.i = getelementptr i8, ptr %cond20.i27, i64 %sub.i17
  %2 = load i8, ptr %arrayidx.i, align 1
  %or57.i = or i8 %2, %seen.0.i49
  store i8 1, ptr %arrayidx.i, align 1
  %inc.i20 = add i64 %k.0.i1348, 1
  %exitcond64.not = icmp eq i64 %inc.i20, %indvars.iv
  br i1 %exitcond64.not, label %cleanup6.i, label %for.body.i16

cleanup6.i:
  %tobool.not.i15 = icmp eq i8 %or57.i, 0
  br i1 %tobool.not.i15, label %for.cond11.i.preheader, label %are_rows_distinct.exit

for.cond11.i.preheader:
  %or.cond.i53 = and i1 %cmp1.i10, %cmp.not.i47
  br i1 %or.cond.i53, label %for.body16.i, label %for.cond.i3.loopexit

for.body16.i:
  %k10.0.i54 = phi i64 [ %inc32.i, %if.end25.i ], [ %mul.i8, %for.cond11.i.preheader ]
  %arrayidx2.i.i = getelementptr i16, ptr %data, i64 %k10.0.i54
  %3 = load i16, ptr %arrayidx2.i.i, align 1
  %conv3.i.i = sext i16 %3 to i64
  %sub20.i = sub i64 %conv3.i.i, %least.0.i.lcssa
  %cmp22.not.i.not = icmp ugt i64 %sub20.i, %sub.i
  br i1 %cmp22.not.i.not, label %are_rows_distinct.exit, label %if.end25.i

if.end25.i:
  %arrayidx27.i = getelementptr i8, ptr %cond20.i27, i64 %sub20.i
  store i8 0, ptr %arrayidx27.i, align 1
  %inc32.i = add nsw i64 %k10.0.i54, 1
  %cmp13.i = icmp slt i64 %inc32.i, %add.i14
  br i1 %cmp13.i, label %for.body16.i, label %for.cond.i3.loopexit

are_rows_distinct.exit:
  %cmp.i541 = phi i1 [ true, %if.end24.i ], [ %cmp.i557, %for.body16.i ], [ %cmp.i557, %for.body.i16 ], [ %cmp.i5, %for.cond.i3.loopexit ], [ %cmp.i557, %cleanup6.i ]
  %cmp31.not.i = icmp eq ptr %cond20.i27, %room.i
  br i1 %cmp31.not.i, label %cleanup.i, label %if.then32.i

if.then32.i:
  call void @tx_free(ptr noundef nonnull %cond20.i27) #7
  br label %cleanup.i

cleanup.i:
  %retval.0.i = phi i1 [ false, %cond.end19.i ], [ %cmp.i541, %if.then32.i ], [ %cmp.i541, %are_rows_distinct.exit ]
  call void @llvm.lifetime.end.p0(i64 1024, ptr nonnull %room.i) #6
  br label %all_distinct.exit

all_distinct.exit:
  %retval.2.i = phi i1 [ true, %entry ], [ %retval.0.i, %cleanup.i ], [ false, %for.cond.cleanup.i ]
  ret i1 %retval.2.i
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: read)
define zeroext i1 @tx_range_i32(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %lo, i64 noundef %hi) local_unnamed_addr #0 {
entry:
  %div.i = sdiv i64 %bytes, 4
  %cmp.i1 = icmp sgt i64 %bytes, 3
  br i1 %cmp.i1, label %for.body.i, label %all_in_range.exit

for.body.i:
  %good.0.i3 = phi i1 [ %and614.i, %for.body.i ], [ true, %entry ]
  %k.0.i2 = phi i64 [ %inc.i, %for.body.i ], [ 0, %entry ]
  %arrayidx5.i = getelementptr i32, ptr %data, i64 %k.0.i2
  %0 = load i32, ptr %arrayidx5.i, align 1
  %conv6.i = sext i32 %0 to i64
  %cmp2.i = icmp sge i64 %conv6.i, %lo
  %cmp3.i = icmp slt i64 %conv6.i, %hi
  %and13.i = and i1 %cmp2.i, %cmp3.i
  %and614.i = and i1 %good.0.i3, %and13.i
  %inc.i = add nuw nsw i64 %k.0.i2, 1
  %exitcond.not = icmp eq i64 %inc.i, %div.i
  br i1 %exitcond.not, label %all_in_range.exit, label %for.body.i

all_in_range.exit:
  %good.0.i.lcssa = phi i1 [ true, %entry ], [ %and614.i, %for.body.i ]
  ret i1 %good.0.i.lcssa
}

; Function Attrs: nounwind
define zeroext i1 @tx_distinct_i32(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %row, i64 noundef %unused) local_unnamed_addr #1 {
entry:
  %room.i = alloca [1024 x i8], align 16
  %div.i = sdiv i64 %bytes, 4
  %bytes.off = add i64 %bytes, 3
  %cmp.i = icmp ult i64 %bytes.off, 7
  br i1 %cmp.i, label %all_distinct.exit, label %for.cond.i.preheader

for.cond.i.preheader:
  %cmp1.i42 = icmp sgt i64 %bytes, 3
  br i1 %cmp1.i42, label %for.body.i, label %for.cond.cleanup.i

for.cond.cleanup.i:
  %most.0.i.lcssa = phi i64 [ -9223372036854775808, %for.cond.i.preheader ], [ %cond8.i, %for.body.i ]
  %least.0.i.lcssa = phi i64 [ 9223372036854775807, %for.cond.i.preheader ], [ %cond.i, %for.body.i ]
  %sub.i = sub i64 %most.0.i.lcssa, %least.0.i.lcssa
  %mul.i = shl i64 %row, 2
  %cmp9.not.i = icmp ult i64 %sub.i, %mul.i
  br i1 %cmp9.not.i, label %if.end11.i, label %all_distinct.exit

for.body.i:
  %least.0.i45 = phi i64 [ %cond.i, %for.body.i ], [ 9223372036854775807, %for.cond.i.preheader ]
  %most.0.i44 = phi i64 [ %cond8.i, %for.body.i ], [ -9223372036854775808, %for.cond.i.preheader ]
  %k.0.i43 = phi i64 [ %inc.i, %for.body.i ], [ 0, %for.cond.i.preheader ]
  %arrayidx5.i = getelementptr i32, ptr %data, i64 %k.0.i43
  %0 = load i32, ptr %arrayidx5.i, align 1
  %conv6.i = sext i32 %0 to i64
  %cond.i = tail call i64 @llvm.smin.i64(i64 %conv6.i, i64 %least.0.i45)
  %cond8.i = tail call i64 @llvm.smax.i64(i64 %conv6.i, i64 %most.0.i44)
  %inc.i = add nuw nsw i64 %k.0.i43, 1
  %exitcond.not = icmp eq i64 %inc.i, %div.i
  br i1 %exitcond.not, label %for.cond.cleanup.i, label %for.body.i

if.end11.i:
  %add.i = add nuw i64 %sub.i, 1
  call void @llvm.lifetime.start.p0(i64 1024, ptr nonnull %room.i) #6
  %cmp14.i = icmp ult i64 %sub.i, 1024
  br i1 %cmp14.i, label %if.end24.i, label %cond.end19.i

cond.end19.i:
  %call18.i = tail call ptr @tx_alloc(i64 noundef %add.i) #7
  %tobool.not.i = icmp eq ptr %call18.i, null
  br i1 %tobool.not.i, label %cleanup.i, label %if.end24.i

if.end24.i:
  %cond20.i27 = phi ptr [ %call18.i, %cond.end19.i ], [ %room.i, %if.end11.i ]
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(1) %cond20.i27, i8 0, i64 %add.i, i1 false)
  %div27.i = sdiv i64 %div.i, %row
  %cmp.i555 = icmp slt i64 %div27.i, 1
  br i1 %cmp.i555, label %are_rows_distinct.exit, label %for.body.i7

for.cond.i3.loopexit:
  %cmp.i5 = icmp sge i64 %add.i9, %div27.i
  %indvars.iv.next = add i64 %indvars.iv, %row
  %exitcond65 = icmp eq i64 %add.i9, %div27.i
  br i1 %exitcond65, label %are_rows_distinct.exit, label %for.body.i7

for.body.i7:
  %indvars.iv = phi i64 [ %indvars.iv.next, %for.cond.i3.loopexit ], [ %row, %if.end24.i ]
  %cmp.i557 = phi i1 [ %cmp.i5, %for.cond.i3.loopexit ], [ false, %if.end24.i ]
  %k.0.i456 = phi i64 [ %add.i9, %for.cond.i3.loopexit ], [ 0, %if.end24.i ]
  %mul.i8 = mul i64 %k.0.i456, %row
  %add.i9 = add nuw nsw i64 %k.0.i456, 1
  %cmp1.i10 = icmp ne i64 %add.i9, %div27.i
  %add.i14 = add i64 %mul.i8, %row
  %cmp.not.i47 = icmp slt i64 %mul.i8, %add.i14
  br i1 %cmp.not.i47, label %for.body.i16, label %for.cond.i3.loopexit

for.body.i16:
  %seen.0.i49 = phi i8 [ %or57.i, %for.inc.i ], [ 0, %for.body.i7 ]
  %k.0.i1348 = phi i64 [ %inc.i20, %for.inc.i ], [ %mul.i8, %for.body.i7 ]
  %arrayidx5.i74.i = getelementptr i32, ptr %data, i64 %k.0.i1348
  %1 = load i32, ptr %arrayidx5.i74.i, align 1
  %conv6.i75.i = sext i32 %1 to i64
  %sub.i17 = sub i64 %conv6.i75.i, %least.0.i.lcssa
  %cmp1.not.i.not = icmp ugt i64 %sub.i17, %sub.i
  br i1 %cmp1.not.i.not, label %are_rows_distinct.exit, label %for.inc.i

for.inc.i:
  %arrayidx.i = getelementptr i8, ptr %cond20.i27, i64 %sub.i17
  %2 = load i8, ptr %arrayidx.i, align 1
  %or57.i = or i8 %2, %seen.0.i49
  store i8 1, ptr %arrayidx.i, align 1
  %inc.i20 = add i64 %k.0.i1348, 1
  %exitcond64.not = icmp eq i64 %inc.i20, %indvars.iv
  br i1 %exitcond64.not, label %cleanup6.i, label %for.body.i16

cleanup6.i:
  %tobool.not.i15 = icmp eq i8 %or57.i, 0
  br i1 %tobool.not.i15, label %for.cond11.i.preheader, label %are_rows_distinct.exit

for.cond11.i.preheader:
  %or.cond.i53 = and i1 %cmp1.i10, %cmp.not.i47
  br i1 %or.cond.i53, label %for.body16.i, label %for.cond.i3.loopexit

for.body16.i:
  %k10.0.i54 = phi i64 [ %inc32.i, %if.end25.i ], [ %mul.i8, %for.cond11.i.preheader ]
  %arrayidx5.i.i = getelementptr i32, ptr %data, i64 %k10.0.i54
  %3 = load i32, ptr %arrayidx5.i.i, align 1
  %conv6.i.i = sext i32 %3 to i64
  %sub20.i = sub i64 %conv6.i.i, %least.0.i.lcssa
  %cmp22.not.i.not = icmp ugt i64 %sub20.i, %sub.i
  br i1 %cmp22.not.i.not, label %are_rows_distinct.exit, label %if.end25.i

if.end25.i:
  %arrayidx27.i = getelementptr i8, ptr %cond20.i27, i64 %sub20.i
  store i8 0, ptr %arrayidx27.i, align 1
  %inc32.i = add nsw i64 %k10.0.i54, 1
  %cmp13.i = icmp slt i64 %inc32.i, %add.i14
  br i1 %cmp13.i, label %for.body16.i, label %for.cond.i3.loopexit

are_rows_distinct.exit:
  %cmp.i541 = phi i1 [ true, %if.end24.i ], [ %cmp.i557, %for.body16.i ], [ %cmp.i557, %for.body.i16 ], [ %cmp.i5, %for.cond.i3.loopexit ], [ %cmp.i557, %cleanup6.i ]
  %cmp31.not.i = icmp eq ptr %cond20.i27, %room.i
  br i1 %cmp31.not.i, label %cleanup.i, label %if.then32.i

if.then32.i:
  call void @tx_free(ptr noundef nonnull %cond20.i27) #7
  br label %cleanup.i

cleanup.i:
  %retval.0.i = phi i1 [ false, %cond.end19.i ], [ %cmp.i541, %if.then32.i ], [ %cmp.i541, %are_rows_distinct.exit ]
  call void @llvm.lifetime.end.p0(i64 1024, ptr nonnull %room.i) #6
  br label %all_distinct.exit

all_distinct.exit:
  %retval.2.i = phi i1 [ true, %entry ], [ %retval.0.i, %cleanup.i ], [ false, %for.cond.cleanup.i ]
  ret i1 %retval.2.i
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: read)
define zeroext i1 @tx_range_i64(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %lo, i64 noundef %hi) local_unnamed_addr #0 {
entry:
  %div.i = sdiv i64 %bytes, 8
  %cmp.i1 = icmp sgt i64 %bytes, 7
  br i1 %cmp.i1, label %for.body.i, label %all_in_range.exit

for.body.i:
  %good.0.i3 = phi i1 [ %and614.i, %for.body.i ], [ true, %entry ]
  %k.0.i2 = phi i64 [ %inc.i, %for.body.i ], [ 0, %entry ]
  %arrayidx8.i = getelementptr i64, ptr %data, i64 %k.0.i2
  %0 = load i64, ptr %arrayidx8.i, align 1
  %cmp2.i = icmp sge i64 %0, %lo
  %cmp3.i = icmp slt i64 %0, %hi
  %and13.i = and i1 %cmp2.i, %cmp3.i
  %and614.i = and i1 %good.0.i3, %and13.i
  %inc.i = add nuw nsw i64 %k.0.i2, 1
  %exitcond.not = icmp eq i64 %inc.i, %div.i
  br i1 %exitcond.not, label %all_in_range.exit, label %for.body.i

all_in_range.exit:
  %good.0.i.lcssa = phi i1 [ true, %entry ], [ %and614.i, %for.body.i ]
  ret i1 %good.0.i.lcssa
}

; Function Attrs: nounwind
define zeroext i1 @tx_distinct_i64(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %row, i64 noundef %unused) local_unnamed_addr #1 {
entry:
  %room.i = alloca [1024 x i8], align 16
  %div.i = sdiv i64 %bytes, 8
  %bytes.off = add i64 %bytes, 7
  %cmp.i = icmp ult i64 %bytes.off, 15
  br i1 %cmp.i, label %all_distinct.exit, label %for.cond.i.preheader

for.cond.i.preheader:
  %cmp1.i42 = icmp sgt i64 %bytes, 7
  br i1 %cmp1.i42, label %for.body.i, label %for.cond.cleanup.i

for.cond.cleanup.i:
  %most.0.i.lcssa = phi i64 [ -9223372036854775808, %for.cond.i.preheader ], [ %cond8.i, %for.body.i ]
  %least.0.i.lcssa = phi i64 [ 9223372036854775807, %for.cond.i.preheader ], [ %cond.i, %for.body.i ]
  %sub.i = sub i64 %most.0.i.lcssa, %least.0.i.lcssa
  %mul.i = shl i64 %row, 2
  %cmp9.not.i = icmp ult i64 %sub.i, %mul.i
  br i1 %cmp9.not.i, label %if.end11.i, label %all_distinct.exit

for.body.i:
  %least.0.i45 = phi i64 [ %cond.i, %for.body.i ], [ 9223372036854775807, %for.cond.i.preheader ]
  %most.0.i44 = phi i64 [ %cond8.i, %for.body.i ], [ -9223372036854775808, %for.cond.i.preheader ]
  %k.0.i43 = phi i64 [ %inc.i, %for.body.i ], [ 0, %for.cond.i.preheader ]
  %arrayidx8.i = getelementptr i64, ptr %data, i64 %k.0.i43
  %0 = load i64, ptr %arrayidx8.i, align 1
  %cond.i = tail call i64 @llvm.smin.i64(i64 %0, i64 %least.0.i45)
  %cond8.i = tail call i64 @llvm.smax.i64(i64 %0, i64 %most.0.i44)
  %inc.i = add nuw nsw i64 %k.0.i43, 1
  %exitcond.not = icmp eq i64 %inc.i, %div.i
  br i1 %exitcond.not, label %for.cond.cleanup.i, label %for.body.i

if.end11.i:
  %add.i = add nuw i64 %sub.i, 1
  call void @llvm.lifetime.start.p0(i64 1024, ptr nonnull %room.i) #6
  %cmp14.i = icmp ult i64 %sub.i, 1024
  br i1 %cmp14.i, label %if.end24.i, label %cond.end19.i

cond.end19.i:
  %call18.i = tail call ptr @tx_alloc(i64 noundef %add.i) #7
  %tobool.not.i = icmp eq ptr %call18.i, null
  br i1 %tobool.not.i, label %cleanup.i, label %if.end24.i

if.end24.i:
  %cond20.i27 = phi ptr [ %call18.i, %cond.end19.i ], [ %room.i, %if.end11.i ]
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(1) %cond20.i27, i8 0, i64 %add.i, i1 false)
  %div27.i = sdiv i64 %div.i, %row
  %cmp.i555 = icmp slt i64 %div27.i, 1
  br i1 %cmp.i555, label %are_rows_distinct.exit, label %for.body.i7

for.cond.i3.loopexit:
  %cmp.i5 = icmp sge i64 %add.i9, %div27.i
  %indvars.iv.next = add i64 %indvars.iv, %row
  %exitcond65 = icmp eq i64 %add.i9, %div27.i
  br i1 %exitcond65, label %are_rows_distinct.exit, label %for.body.i7

for.body.i7:
  %indvars.iv = phi i64 [ %indvars.iv.next, %for.cond.i3.loopexit ], [ %row, %if.end24.i ]
  %cmp.i557 = phi i1 [ %cmp.i5, %for.cond.i3.loopexit ], [ false, %if.end24.i ]
  %k.0.i456 = phi i64 [ %add.i9, %for.cond.i3.loopexit ], [ 0, %if.end24.i ]
  %mul.i8 = mul i64 %k.0.i456, %row
  %add.i9 = add nuw nsw i64 %k.0.i456, 1
  %cmp1.i10 = icmp ne i64 %add.i9, %div27.i
  %add.i14 = add i64 %mul.i8, %row
  %cmp.not.i47 = icmp slt i64 %mul.i8, %add.i14
  br i1 %cmp.not.i47, label %for.body.i16, label %for.cond.i3.loopexit

for.body.i16:
  %seen.0.i49 = phi i8 [ %or57.i, %for.inc.i ], [ 0, %for.body.i7 ]
  %k.0.i1348 = phi i64 [ %inc.i20, %for.inc.i ], [ %mul.i8, %for.body.i7 ]
  %arrayidx8.i72.i = getelementptr i64, ptr %data, i64 %k.0.i1348
  %1 = load i64, ptr %arrayidx8.i72.i, align 1
  %sub.i17 = sub i64 %1, %least.0.i.lcssa
  %cmp1.not.i.not = icmp ugt i64 %sub.i17, %sub.i
  br i1 %cmp1.not.i.not, label %are_rows_distinct.exit, label %for.inc.i

for.inc.i:
  %arrayidx.i = getelementptr i8, ptr %cond20.i27, i64 %sub.i17
  %2 = load i8, ptr %arrayidx.i, align 1
  %or57.i = or i8 %2, %seen.0.i49
  store i8 1, ptr %arrayidx.i, align 1
  %inc.i20 = add i64 %k.0.i1348, 1
  %exitcond64.not = icmp eq i64 %inc.i20, %indvars.iv
  br i1 %exitcond64.not, label %cleanup6.i, label %for.body.i16

cleanup6.i:
  %tobool.not.i15 = icmp eq i8 %or57.i, 0
  br i1 %tobool.not.i15, label %for.cond11.i.preheader, label %are_rows_distinct.exit

for.cond11.i.preheader:
  %or.cond.i53 = and i1 %cmp1.i10, %cmp.not.i47
  br i1 %or.cond.i53, label %for.body16.i, label %for.cond.i3.loopexit

for.body16.i:
  %k10.0.i54 = phi i64 [ %inc32.i, %if.end25.i ], [ %mul.i8, %for.cond11.i.preheader ]
  %arrayidx8.i.i = getelementptr i64, ptr %data, i64 %k10.0.i54
  %3 = load i64, ptr %arrayidx8.i.i, align 1
  %sub20.i = sub i64 %3, %least.0.i.lcssa
  %cmp22.not.i.not = icmp ugt i64 %sub20.i, %sub.i
  br i1 %cmp22.not.i.not, label %are_rows_distinct.exit, label %if.end25.i

if.end25.i:
  %arrayidx27.i = getelementptr i8, ptr %cond20.i27, i64 %sub20.i
  store i8 0, ptr %arrayidx27.i, align 1
  %inc32.i = add nsw i64 %k10.0.i54, 1
  %cmp13.i = icmp slt i64 %inc32.i, %add.i14
  br i1 %cmp13.i, label %for.body16.i, label %for.cond.i3.loopexit

are_rows_distinct.exit:
  %cmp.i541 = phi i1 [ true, %if.end24.i ], [ %cmp.i557, %for.body16.i ], [ %cmp.i557, %for.body.i16 ], [ %cmp.i5, %for.cond.i3.loopexit ], [ %cmp.i557, %cleanup6.i ]
  %cmp31.not.i = icmp eq ptr %cond20.i27, %room.i
  br i1 %cmp31.not.i, label %cleanup.i, label %if.then32.i

if.then32.i:
  call void @tx_free(ptr noundef nonnull %cond20.i27) #7
  br label %cleanup.i

cleanup.i:
  %retval.0.i = phi i1 [ false, %cond.end19.i ], [ %cmp.i541, %if.then32.i ], [ %cmp.i541, %are_rows_distinct.exit ]
  call void @llvm.lifetime.end.p0(i64 1024, ptr nonnull %room.i) #6
  br label %all_distinct.exit

all_distinct.exit:
  %retval.2.i = phi i1 [ true, %entry ], [ %retval.0.i, %cleanup.i ], [ false, %for.cond.cleanup.i ]
  ret i1 %retval.2.i
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: read)
define zeroext i1 @tx_range_u8(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %lo, i64 noundef %hi) local_unnamed_addr #0 {
entry:
  %cmp.i1 = icmp sgt i64 %bytes, 0
  br i1 %cmp.i1, label %for.body.i, label %all_in_range.exit

for.body.i:
  %good.0.i3 = phi i1 [ %and614.i, %for.body.i ], [ true, %entry ]
  %k.0.i2 = phi i64 [ %inc.i, %for.body.i ], [ 0, %entry ]
  %arrayidx10.i = getelementptr i8, ptr %data, i64 %k.0.i2
  %0 = load i8, ptr %arrayidx10.i, align 1
  %conv11.i = zext i8 %0 to i64
  %cmp2.i = icmp sge i64 %conv11.i, %lo
  %cmp3.i = icmp slt i64 %conv11.i, %hi
  %and13.i = and i1 %cmp2.i, %cmp3.i
  %and614.i = and i1 %good.0.i3, %and13.i
  %inc.i = add nuw nsw i64 %k.0.i2, 1
  %exitcond.not = icmp eq i64 %inc.i, %bytes
  br i1 %exitcond.not, label %all_in_range.exit, label %for.body.i

all_in_range.exit:
  %good.0.i.lcssa = phi i1 [ true, %entry ], [ %and614.i, %for.body.i ]
  ret i1 %good.0.i.lcssa
}

; Function Attrs: nounwind
define zeroext i1 @tx_distinct_u8(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %row, i64 noundef %unused) local_unnamed_addr #1 {
entry:
  %room.i = alloca [1024 x i8], align 16
  %cmp.i = icmp eq i64 %bytes, 0
  br i1 %cmp.i, label %all_distinct.exit, label %for.cond.i.preheader

for.cond.i.preheader:
  %cmp1.i42 = icmp sgt i64 %bytes, 0
  br i1 %cmp1.i42, label %for.body.i, label %for.cond.cleanup.i

for.cond.cleanup.i:
  %most.0.i.lcssa = phi i64 [ -9223372036854775808, %for.cond.i.preheader ], [ %cond8.i, %for.body.i ]
  %least.0.i.lcssa = phi i64 [ 9223372036854775807, %for.cond.i.preheader ], [ %cond.i, %for.body.i ]
  %sub.i = sub i64 %most.0.i.lcssa, %least.0.i.lcssa
  %mul.i = shl i64 %row, 2
  %cmp9.not.i = icmp ult i64 %sub.i, %mul.i
  br i1 %cmp9.not.i, label %if.end11.i, label %all_distinct.exit

for.body.i:
  %least.0.i45 = phi i64 [ %cond.i, %for.body.i ], [ 9223372036854775807, %for.cond.i.preheader ]
  %most.0.i44 = phi i64 [ %cond8.i, %for.body.i ], [ -9223372036854775808, %for.cond.i.preheader ]
  %k.0.i43 = phi i64 [ %inc.i, %for.body.i ], [ 0, %for.cond.i.preheader ]
  %arrayidx10.i = getelementptr i8, ptr %data, i64 %k.0.i43
  %0 = load i8, ptr %arrayidx10.i, align 1
  %conv11.i = zext i8 %0 to i64
  %cond.i = tail call i64 @llvm.smin.i64(i64 %conv11.i, i64 %least.0.i45)
  %cond8.i = tail call i64 @llvm.smax.i64(i64 %conv11.i, i64 %most.0.i44)
  %inc.i = add nuw nsw i64 %k.0.i43, 1
  %exitcond.not = icmp eq i64 %inc.i, %bytes
  br i1 %exitcond.not, label %for.cond.cleanup.i, label %for.body.i

if.end11.i:
  %add.i = add nuw i64 %sub.i, 1
  call void @llvm.lifetime.start.p0(i64 1024, ptr nonnull %room.i) #6
  %cmp14.i = icmp ult i64 %sub.i, 1024
  br i1 %cmp14.i, label %if.end24.i, label %cond.end19.i

cond.end19.i:
  %call18.i = tail call ptr @tx_alloc(i64 noundef %add.i) #7
  %tobool.not.i = icmp eq ptr %call18.i, null
  br i1 %tobool.not.i, label %cleanup.i, label %if.end24.i

if.end24.i:
  %cond20.i27 = phi ptr [ %call18.i, %cond.end19.i ], [ %room.i, %if.end11.i ]
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(1) %cond20.i27, i8 0, i64 %add.i, i1 false)
  %div27.i = sdiv i64 %bytes, %row
  %cmp.i555 = icmp slt i64 %div27.i, 1
  br i1 %cmp.i555, label %are_rows_distinct.exit, label %for.body.i7

for.cond.i3.loopexit:
  %cmp.i5 = icmp sge i64 %add.i9, %div27.i
  %indvars.iv.next = add i64 %indvars.iv, %row
  %exitcond65 = icmp eq i64 %add.i9, %div27.i
  br i1 %exitcond65, label %are_rows_distinct.exit, label %for.body.i7

for.body.i7:
  %indvars.iv = phi i64 [ %indvars.iv.next, %for.cond.i3.loopexit ], [ %row, %if.end24.i ]
  %cmp.i557 = phi i1 [ %cmp.i5, %for.cond.i3.loopexit ], [ false, %if.end24.i ]
  %k.0.i456 = phi i64 [ %add.i9, %for.cond.i3.loopexit ], [ 0, %if.end24.i ]
  %mul.i8 = mul i64 %k.0.i456, %row
  %add.i9 = add nuw nsw i64 %k.0.i456, 1
  %cmp1.i10 = icmp ne i64 %add.i9, %div27.i
  %add.i14 = add i64 %mul.i8, %row
  %cmp.not.i47 = icmp slt i64 %mul.i8, %add.i14
  br i1 %cmp.not.i47, label %for.body.i16, label %for.cond.i3.loopexit

for.body.i16:
  %seen.0.i49 = phi i8 [ %or57.i, %for.inc.i ], [ 0, %for.body.i7 ]
  %k.0.i1348 = phi i64 [ %inc.i20, %for.inc.i ], [ %mul.i8, %for.body.i7 ]
  %arrayidx10.i69.i = getelementptr i8, ptr %data, i64 %k.0.i1348
  %1 = load i8, ptr %arrayidx10.i69.i, align 1
  %conv11.i70.i = zext i8 %1 to i64
  %sub.i17 = sub nsw i64 %conv11.i70.i, %least.0.i.lcssa
  %cmp1.not.i.not = icmp ugt i64 %sub.i17, %sub.i
  br i1 %cmp1.not.i.not, label %are_rows_distinct.exit, label %for.inc.i

for.inc.i:
  %arrayidx.i = getelementptr i8, ptr %cond20.i27, i64 %sub.i17
  %2 = load i8, ptr %arrayidx.i, align 1
  %or57.i = or i8 %2, %seen.0.i49
  store i8 1, ptr %arrayidx.i, align 1
  %inc.i20 = add i64 %k.0.i1348, 1
  %exitcond64.not = icmp eq i64 %inc.i20, %indvars.iv
  br i1 %exitcond64.not, label %cleanup6.i, label %for.body.i16

cleanup6.i:
  %tobool.not.i15 = icmp eq i8 %or57.i, 0
  br i1 %tobool.not.i15, label %for.cond11.i.preheader, label %are_rows_distinct.exit

for.cond11.i.preheader:
  %or.cond.i53 = and i1 %cmp1.i10, %cmp.not.i47
  br i1 %or.cond.i53, label %for.body16.i, label %for.cond.i3.loopexit

for.body16.i:
  %k10.0.i54 = phi i64 [ %inc32.i, %if.end25.i ], [ %mul.i8, %for.cond11.i.preheader ]
  %arrayidx10.i.i = getelementptr i8, ptr %data, i64 %k10.0.i54
  %3 = load i8, ptr %arrayidx10.i.i, align 1
  %conv11.i.i = zext i8 %3 to i64
  %sub20.i = sub nsw i64 %conv11.i.i, %least.0.i.lcssa
  %cmp22.not.i.not = icmp ugt i64 %sub20.i, %sub.i
  br i1 %cmp22.not.i.not, label %are_rows_distinct.exit, label %if.end25.i

if.end25.i:
  %arrayidx27.i = getelementptr i8, ptr %cond20.i27, i64 %sub20.i
  store i8 0, ptr %arrayidx27.i, align 1
  %inc32.i = add nsw i64 %k10.0.i54, 1
  %cmp13.i = icmp slt i64 %inc32.i, %add.i14
  br i1 %cmp13.i, label %for.body16.i, label %for.cond.i3.loopexit

are_rows_distinct.exit:
  %cmp.i541 = phi i1 [ true, %if.end24.i ], [ %cmp.i557, %for.body16.i ], [ %cmp.i557, %for.body.i16 ], [ %cmp.i5, %for.cond.i3.loopexit ], [ %cmp.i557, %cleanup6.i ]
  %cmp31.not.i = icmp eq ptr %cond20.i27, %room.i
  br i1 %cmp31.not.i, label %cleanup.i, label %if.then32.i

if.then32.i:
  call void @tx_free(ptr noundef nonnull %cond20.i27) #7
  br label %cleanup.i

cleanup.i:
  %retval.0.i = phi i1 [ false, %cond.end19.i ], [ %cmp.i541, %if.then32.i ], [ %cmp.i541, %are_rows_distinct.exit ]
  call void @llvm.lifetime.end.p0(i64 1024, ptr nonnull %room.i) #6
  br label %all_distinct.exit

all_distinct.exit:
  %retval.2.i = phi i1 [ true, %entry ], [ %retval.0.i, %cleanup.i ], [ false, %for.cond.cleanup.i ]
  ret i1 %retval.2.i
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: read)
define zeroext i1 @tx_range_u16(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %lo, i64 noundef %hi) local_unnamed_addr #0 {
entry:
  %div.i = sdiv i64 %bytes, 2
  %cmp.i1 = icmp sgt i64 %bytes, 1
  br i1 %cmp.i1, label %for.body.i, label %all_in_range.exit

for.body.i:
  %good.0.i3 = phi i1 [ %and614.i, %for.body.i ], [ true, %entry ]
  %k.0.i2 = phi i64 [ %inc.i, %for.body.i ], [ 0, %entry ]
  %arrayidx13.i = getelementptr i16, ptr %data, i64 %k.0.i2
  %0 = load i16, ptr %arrayidx13.i, align 1
  %conv14.i = zext i16 %0 to i64
  %cmp2.i = icmp sge i64 %conv14.i, %lo
  %cmp3.i = icmp slt i64 %conv14.i, %hi
  %and13.i = and i1 %cmp2.i, %cmp3.i
  %and614.i = and i1 %good.0.i3, %and13.i
  %inc.i = add nuw nsw i64 %k.0.i2, 1
  %exitcond.not = icmp eq i64 %inc.i, %div.i
  br i1 %exitcond.not, label %all_in_range.exit, label %for.body.i

all_in_range.exit:
  %good.0.i.lcssa = phi i1 [ true, %entry ], [ %and614.i, %for.body.i ]
  ret i1 %good.0.i.lcssa
}

; Function Attrs: nounwind
define zeroext i1 @tx_distinct_u16(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %row, i64 noundef %unused) local_unnamed_addr #1 {
entry:
  %room.i = alloca [1024 x i8], align 16
  %div.i = sdiv i64 %bytes, 2
  %bytes.off = add i64 %bytes, 1
  %cmp.i = icmp ult i64 %bytes.off, 3
  br i1 %cmp.i, label %all_distinct.exit, label %for.cond.i.preheader

for.cond.i.preheader:
  %cmp1.i42 = icmp sgt i64 %bytes, 1
  br i1 %cmp1.i42, label %for.body.i, label %for.cond.cleanup.i

for.cond.cleanup.i:
  %most.0.i.lcssa = phi i64 [ -9223372036854775808, %for.cond.i.preheader ], [ %cond8.i, %for.body.i ]
  %least.0.i.lcssa = phi i64 [ 9223372036854775807, %for.cond.i.preheader ], [ %cond.i, %for.body.i ]
  %sub.i = sub i64 %most.0.i.lcssa, %least.0.i.lcssa
  %mul.i = shl i64 %row, 2
  %cmp9.not.i = icmp ult i64 %sub.i, %mul.i
  br i1 %cmp9.not.i, label %if.end11.i, label %all_distinct.exit

for.body.i:
  %least.0.i45 = phi i64 [ %cond.i, %for.body.i ], [ 9223372036854775807, %for.cond.i.preheader ]
  %most.0.i44 = phi i64 [ %cond8.i, %for.body.i ], [ -9223372036854775808, %for.cond.i.preheader ]
  %k.0.i43 = phi i64 [ %inc.i, %for.body.i ], [ 0, %for.cond.i.preheader ]
  %arrayidx13.i = getelementptr i16, ptr %data, i64 %k.0.i43
  %0 = load i16, ptr %arrayidx13.i, align 1
  %conv14.i = zext i16 %0 to i64
  %cond.i = tail call i64 @llvm.smin.i64(i64 %conv14.i, i64 %least.0.i45)
  %cond8.i = tail call i64 @llvm.smax.i64(i64 %conv14.i, i64 %most.0.i44)
  %inc.i = add nuw nsw i64 %k.0.i43, 1
  %exitcond.not = icmp eq i64 %inc.i, %div.i
  br i1 %exitcond.not, label %for.cond.cleanup.i, label %for.body.i

if.end11.i:
  %add.i = add nuw i64 %sub.i, 1
  call void @llvm.lifetime.start.p0(i64 1024, ptr nonnull %room.i) #6
  %cmp14.i = icmp ult i64 %sub.i, 1024
  br i1 %cmp14.i, label %if.end24.i, label %cond.end19.i

cond.end19.i:
  %call18.i = tail call ptr @tx_alloc(i64 noundef %add.i) #7
  %tobool.not.i = icmp eq ptr %call18.i, null
  br i1 %tobool.not.i, label %cleanup.i, label %if.end24.i

if.end24.i:
  %cond20.i27 = phi ptr [ %call18.i, %cond.end19.i ], [ %room.i, %if.end11.i ]
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(1) %cond20.i27, i8 0, i64 %add.i, i1 false)
  %div27.i = sdiv i64 %div.i, %row
  %cmp.i555 = icmp slt i64 %div27.i, 1
  br i1 %cmp.i555, label %are_rows_distinct.exit, label %for.body.i7

for.cond.i3.loopexit:
  %cmp.i5 = icmp sge i64 %add.i9, %div27.i
  %indvars.iv.next = add i64 %indvars.iv, %row
  %exitcond65 = icmp eq i64 %add.i9, %div27.i
  br i1 %exitcond65, label %are_rows_distinct.exit, label %for.body.i7

for.body.i7:
  %indvars.iv = phi i64 [ %indvars.iv.next, %for.cond.i3.loopexit ], [ %row, %if.end24.i ]
  %cmp.i557 = phi i1 [ %cmp.i5, %for.cond.i3.loopexit ], [ false, %if.end24.i ]
  %k.0.i456 = phi i64 [ %add.i9, %for.cond.i3.loopexit ], [ 0, %if.end24.i ]
  %mul.i8 = mul i64 %k.0.i456, %row
  %add.i9 = add nuw nsw i64 %k.0.i456, 1
  %cmp1.i10 = icmp ne i64 %add.i9, %div27.i
  %add.i14 = add i64 %mul.i8, %row
  %cmp.not.i47 = icmp slt i64 %mul.i8, %add.i14
  br i1 %cmp.not.i47, label %for.body.i16, label %for.cond.i3.loopexit

for.body.i16:
  %seen.0.i49 = phi i8 [ %or57.i, %for.inc.i ], [ 0, %for.body.i7 ]
  %k.0.i1348 = phi i64 [ %inc.i20, %for.inc.i ], [ %mul.i8, %for.body.i7 ]
  %arrayidx13.i66.i = getelementptr i16, ptr %data, i64 %k.0.i1348
  %1 = load i16, ptr %arrayidx13.i66.i, align 1
  %conv14.i67.i = zext i16 %1 to i64
  %sub.i17 = sub nsw i64 %conv14.i67.i, %least.0.i.lcssa
  %cmp1.not.i.not = icmp ugt i64 %sub.i17, %sub.i
  br i1 %cmp1.not.i.not, label %are_rows_distinct.exit, label %for.inc.i

for.inc.i:
  %arrayidx.i = getelementptr i8, ptr %cond20.i27, i64 %sub.i17
  %2 = load i8, ptr %arrayidx.i, align 1
  %or57.i = or i8 %2, %seen.0.i49
  store i8 1, ptr %arrayidx.i, align 1
  %inc.i20 = add i64 %k.0.i1348, 1
  %exitcond64.not = icmp eq i64 %inc.i20, %indvars.iv
  br i1 %exitcond64.not, label %cleanup6.i, label %for.body.i16

cleanup6.i:
  %tobool.not.i15 = icmp eq i8 %or57.i, 0
  br i1 %tobool.not.i15, label %for.cond11.i.preheader, label %are_rows_distinct.exit

for.cond11.i.preheader:
  %or.cond.i53 = and i1 %cmp1.i10, %cmp.not.i47
  br i1 %or.cond.i53, label %for.body16.i, label %for.cond.i3.loopexit

for.body16.i:
  %k10.0.i54 = phi i64 [ %inc32.i, %if.end25.i ], [ %mul.i8, %for.cond11.i.preheader ]
  %arrayidx13.i.i = getelementptr i16, ptr %data, i64 %k10.0.i54
  %3 = load i16, ptr %arrayidx13.i.i, align 1
  %conv14.i.i = zext i16 %3 to i64
  %sub20.i = sub nsw i64 %conv14.i.i, %least.0.i.lcssa
  %cmp22.not.i.not = icmp ugt i64 %sub20.i, %sub.i
  br i1 %cmp22.not.i.not, label %are_rows_distinct.exit, label %if.end25.i

if.end25.i:
  %arrayidx27.i = getelementptr i8, ptr %cond20.i27, i64 %sub20.i
  store i8 0, ptr %arrayidx27.i, align 1
  %inc32.i = add nsw i64 %k10.0.i54, 1
  %cmp13.i = icmp slt i64 %inc32.i, %add.i14
  br i1 %cmp13.i, label %for.body16.i, label %for.cond.i3.loopexit

are_rows_distinct.exit:
  %cmp.i541 = phi i1 [ true, %if.end24.i ], [ %cmp.i557, %for.body16.i ], [ %cmp.i557, %for.body.i16 ], [ %cmp.i5, %for.cond.i3.loopexit ], [ %cmp.i557, %cleanup6.i ]
  %cmp31.not.i = icmp eq ptr %cond20.i27, %room.i
  br i1 %cmp31.not.i, label %cleanup.i, label %if.then32.i

if.then32.i:
  call void @tx_free(ptr noundef nonnull %cond20.i27) #7
  br label %cleanup.i

cleanup.i:
  %retval.0.i = phi i1 [ false, %cond.end19.i ], [ %cmp.i541, %if.then32.i ], [ %cmp.i541, %are_rows_distinct.exit ]
  call void @llvm.lifetime.end.p0(i64 1024, ptr nonnull %room.i) #6
  br label %all_distinct.exit

all_distinct.exit:
  %retval.2.i = phi i1 [ true, %entry ], [ %retval.0.i, %cleanup.i ], [ false, %for.cond.cleanup.i ]
  ret i1 %retval.2.i
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: read)
define zeroext i1 @tx_range_u32(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %lo, i64 noundef %hi) local_unnamed_addr #0 {
entry:
  %div.i = sdiv i64 %bytes, 4
  %cmp.i1 = icmp sgt i64 %bytes, 3
  br i1 %cmp.i1, label %for.body.i, label %all_in_range.exit

for.body.i:
  %good.0.i3 = phi i1 [ %and614.i, %for.body.i ], [ true, %entry ]
  %k.0.i2 = phi i64 [ %inc.i, %for.body.i ], [ 0, %entry ]
  %arrayidx16.i = getelementptr i32, ptr %data, i64 %k.0.i2
  %0 = load i32, ptr %arrayidx16.i, align 1
  %conv17.i = zext i32 %0 to i64
  %cmp2.i = icmp sge i64 %conv17.i, %lo
  %cmp3.i = icmp slt i64 %conv17.i, %hi
  %and13.i = and i1 %cmp2.i, %cmp3.i
  %and614.i = and i1 %good.0.i3, %and13.i
  %inc.i = add nuw nsw i64 %k.0.i2, 1
  %exitcond.not = icmp eq i64 %inc.i, %div.i
  br i1 %exitcond.not, label %all_in_range.exit, label %for.body.i

all_in_range.exit:
  %good.0.i.lcssa = phi i1 [ true, %entry ], [ %and614.i, %for.body.i ]
  ret i1 %good.0.i.lcssa
}

; Function Attrs: nounwind
define zeroext i1 @tx_distinct_u32(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %row, i64 noundef %unused) local_unnamed_addr #1 {
entry:
  %room.i = alloca [1024 x i8], align 16
  %div.i = sdiv i64 %bytes, 4
  %bytes.off = add i64 %bytes, 3
  %cmp.i = icmp ult i64 %bytes.off, 7
  br i1 %cmp.i, label %all_distinct.exit, label %for.cond.i.preheader

for.cond.i.preheader:
  %cmp1.i42 = icmp sgt i64 %bytes, 3
  br i1 %cmp1.i42, label %for.body.i, label %for.cond.cleanup.i

for.cond.cleanup.i:
  %most.0.i.lcssa = phi i64 [ -9223372036854775808, %for.cond.i.preheader ], [ %cond8.i, %for.body.i ]
  %least.0.i.lcssa = phi i64 [ 9223372036854775807, %for.cond.i.preheader ], [ %cond.i, %for.body.i ]
  %sub.i = sub i64 %most.0.i.lcssa, %least.0.i.lcssa
  %mul.i = shl i64 %row, 2
  %cmp9.not.i = icmp ult i64 %sub.i, %mul.i
  br i1 %cmp9.not.i, label %if.end11.i, label %all_distinct.exit

for.body.i:
  %least.0.i45 = phi i64 [ %cond.i, %for.body.i ], [ 9223372036854775807, %for.cond.i.preheader ]
  %most.0.i44 = phi i64 [ %cond8.i, %for.body.i ], [ -9223372036854775808, %for.cond.i.preheader ]
  %k.0.i43 = phi i64 [ %inc.i, %for.body.i ], [ 0, %for.cond.i.preheader ]
  %arrayidx16.i = getelementptr i32, ptr %data, i64 %k.0.i43
  %0 = load i32, ptr %arrayidx16.i, align 1
  %conv17.i = zext i32 %0 to i64
  %cond.i = tail call i64 @llvm.smin.i64(i64 %conv17.i, i64 %least.0.i45)
  %cond8.i = tail call i64 @llvm.smax.i64(i64 %conv17.i, i64 %most.0.i44)
  %inc.i = add nuw nsw i64 %k.0.i43, 1
  %exitcond.not = icmp eq i64 %inc.i, %div.i
  br i1 %exitcond.not, label %for.cond.cleanup.i, label %for.body.i

if.end11.i:
  %add.i = add nuw i64 %sub.i, 1
  call void @llvm.lifetime.start.p0(i64 1024, ptr nonnull %room.i) #6
  %cmp14.i = icmp ult i64 %sub.i, 1024
  br i1 %cmp14.i, label %if.end24.i, label %cond.end19.i

cond.end19.i:
  %call18.i = tail call ptr @tx_alloc(i64 noundef %add.i) #7
  %tobool.not.i = icmp eq ptr %call18.i, null
  br i1 %tobool.not.i, label %cleanup.i, label %if.end24.i

if.end24.i:
  %cond20.i27 = phi ptr [ %call18.i, %cond.end19.i ], [ %room.i, %if.end11.i ]
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(1) %cond20.i27, i8 0, i64 %add.i, i1 false)
  %div27.i = sdiv i64 %div.i, %row
  %cmp.i555 = icmp slt i64 %div27.i, 1
  br i1 %cmp.i555, label %are_rows_distinct.exit, label %for.body.i7

for.cond.i3.loopexit:
  %cmp.i5 = icmp sge i64 %add.i9, %div27.i
  %indvars.iv.next = add i64 %indvars.iv, %row
  %exitcond65 = icmp eq i64 %add.i9, %div27.i
  br i1 %exitcond65, label %are_rows_distinct.exit, label %for.body.i7

for.body.i7:
  %indvars.iv = phi i64 [ %indvars.iv.next, %for.cond.i3.loopexit ], [ %row, %if.end24.i ]
  %cmp.i557 = phi i1 [ %cmp.i5, %for.cond.i3.loopexit ], [ false, %if.end24.i ]
  %k.0.i456 = phi i64 [ %add.i9, %for.cond.i3.loopexit ], [ 0, %if.end24.i ]
  %mul.i8 = mul i64 %k.0.i456, %row
  %add.i9 = add nuw nsw i64 %k.0.i456, 1
  %cmp1.i10 = icmp ne i64 %add.i9, %div27.i
  %add.i14 = add i64 %mul.i8, %row
  %cmp.not.i47 = icmp slt i64 %mul.i8, %add.i14
  br i1 %cmp.not.i47, label %for.body.i16, label %for.cond.i3.loopexit

for.body.i16:
  %seen.0.i49 = phi i8 [ %or57.i, %for.inc.i ], [ 0, %for.body.i7 ]
  %k.0.i1348 = phi i64 [ %inc.i20, %for.inc.i ], [ %mul.i8, %for.body.i7 ]
  %arrayidx16.i63.i = getelementptr i32, ptr %data, i64 %k.0.i1348
  %1 = load i32, ptr %arrayidx16.i63.i, align 1
  %conv17.i64.i = zext i32 %1 to i64
  %sub.i17 = sub nsw i64 %conv17.i64.i, %least.0.i.lcssa
  %cmp1.not.i.not = icmp ugt i64 %sub.i17, %sub.i
  br i1 %cmp1.not.i.not, label %are_rows_distinct.exit, label %for.inc.i

for.inc.i:
  %arrayidx.i = getelementptr i8, ptr %cond20.i27, i64 %sub.i17
  %2 = load i8, ptr %arrayidx.i, align 1
  %or57.i = or i8 %2, %seen.0.i49
  store i8 1, ptr %arrayidx.i, align 1
  %inc.i20 = add i64 %k.0.i1348, 1
  %exitcond64.not = icmp eq i64 %inc.i20, %indvars.iv
  br i1 %exitcond64.not, label %cleanup6.i, label %for.body.i16

cleanup6.i:
  %tobool.not.i15 = icmp eq i8 %or57.i, 0
  br i1 %tobool.not.i15, label %for.cond11.i.preheader, label %are_rows_distinct.exit

for.cond11.i.preheader:
  %or.cond.i53 = and i1 %cmp1.i10, %cmp.not.i47
  br i1 %or.cond.i53, label %for.body16.i, label %for.cond.i3.loopexit

for.body16.i:
  %k10.0.i54 = phi i64 [ %inc32.i, %if.end25.i ], [ %mul.i8, %for.cond11.i.preheader ]
  %arrayidx16.i.i = getelementptr i32, ptr %data, i64 %k10.0.i54
  %3 = load i32, ptr %arrayidx16.i.i, align 1
  %conv17.i.i = zext i32 %3 to i64
  %sub20.i = sub nsw i64 %conv17.i.i, %least.0.i.lcssa
  %cmp22.not.i.not = icmp ugt i64 %sub20.i, %sub.i
  br i1 %cmp22.not.i.not, label %are_rows_distinct.exit, label %if.end25.i

if.end25.i:
  %arrayidx27.i = getelementptr i8, ptr %cond20.i27, i64 %sub20.i
  store i8 0, ptr %arrayidx27.i, align 1
  %inc32.i = add nsw i64 %k10.0.i54, 1
  %cmp13.i = icmp slt i64 %inc32.i, %add.i14
  br i1 %cmp13.i, label %for.body16.i, label %for.cond.i3.loopexit

are_rows_distinct.exit:
  %cmp.i541 = phi i1 [ true, %if.end24.i ], [ %cmp.i557, %for.body16.i ], [ %cmp.i557, %for.body.i16 ], [ %cmp.i5, %for.cond.i3.loopexit ], [ %cmp.i557, %cleanup6.i ]
  %cmp31.not.i = icmp eq ptr %cond20.i27, %room.i
  br i1 %cmp31.not.i, label %cleanup.i, label %if.then32.i

if.then32.i:
  call void @tx_free(ptr noundef nonnull %cond20.i27) #7
  br label %cleanup.i

cleanup.i:
  %retval.0.i = phi i1 [ false, %cond.end19.i ], [ %cmp.i541, %if.then32.i ], [ %cmp.i541, %are_rows_distinct.exit ]
  call void @llvm.lifetime.end.p0(i64 1024, ptr nonnull %room.i) #6
  br label %all_distinct.exit

all_distinct.exit:
  %retval.2.i = phi i1 [ true, %entry ], [ %retval.0.i, %cleanup.i ], [ false, %for.cond.cleanup.i ]
  ret i1 %retval.2.i
}

; Function Attrs: nofree norecurse nosync nounwind memory(argmem: read)
define zeroext i1 @tx_range_u64(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %lo, i64 noundef %hi) local_unnamed_addr #0 {
entry:
  %div.i = sdiv i64 %bytes, 8
  %cmp.i1 = icmp sgt i64 %bytes, 7
  br i1 %cmp.i1, label %for.body.i, label %all_in_range.exit

for.body.i:
  %good.0.i3 = phi i1 [ %and614.i, %for.body.i ], [ true, %entry ]
  %k.0.i2 = phi i64 [ %inc.i, %for.body.i ], [ 0, %entry ]
  %arrayidx19.i = getelementptr i64, ptr %data, i64 %k.0.i2
  %0 = load i64, ptr %arrayidx19.i, align 1
  %cmp2.i = icmp sge i64 %0, %lo
  %cmp3.i = icmp slt i64 %0, %hi
  %and13.i = and i1 %cmp2.i, %cmp3.i
  %and614.i = and i1 %good.0.i3, %and13.i
  %inc.i = add nuw nsw i64 %k.0.i2, 1
  %exitcond.not = icmp eq i64 %inc.i, %div.i
  br i1 %exitcond.not, label %all_in_range.exit, label %for.body.i

all_in_range.exit:
  %good.0.i.lcssa = phi i1 [ true, %entry ], [ %and614.i, %for.body.i ]
  ret i1 %good.0.i.lcssa
}

; Function Attrs: nounwind
define zeroext i1 @tx_distinct_u64(ptr nocapture noundef readonly %data, i64 noundef %bytes, i64 noundef %row, i64 noundef %unused) local_unnamed_addr #1 {
entry:
  %room.i = alloca [1024 x i8], align 16
  %div.i = sdiv i64 %bytes, 8
  %bytes.off = add i64 %bytes, 7
  %cmp.i = icmp ult i64 %bytes.off, 15
  br i1 %cmp.i, label %all_distinct.exit, label %for.cond.i.preheader

for.cond.i.preheader:
  %cmp1.i42 = icmp sgt i64 %bytes, 7
  br i1 %cmp1.i42, label %for.body.i, label %for.cond.cleanup.i

for.cond.cleanup.i:
  %most.0.i.lcssa = phi i64 [ -9223372036854775808, %for.cond.i.preheader ], [ %cond8.i, %for.body.i ]
  %least.0.i.lcssa = phi i64 [ 9223372036854775807, %for.cond.i.preheader ], [ %cond.i, %for.body.i ]
  %sub.i = sub i64 %most.0.i.lcssa, %least.0.i.lcssa
  %mul.i = shl i64 %row, 2
  %cmp9.not.i = icmp ult i64 %sub.i, %mul.i
  br i1 %cmp9.not.i, label %if.end11.i, label %all_distinct.exit

for.body.i:
  %least.0.i45 = phi i64 [ %cond.i, %for.body.i ], [ 9223372036854775807, %for.cond.i.preheader ]
  %most.0.i44 = phi i64 [ %cond8.i, %for.body.i ], [ -9223372036854775808, %for.cond.i.preheader ]
  %k.0.i43 = phi i64 [ %inc.i, %for.body.i ], [ 0, %for.cond.i.preheader ]
  %arrayidx19.i = getelementptr i64, ptr %data, i64 %k.0.i43
  %0 = load i64, ptr %arrayidx19.i, align 1
  %cond.i = tail call i64 @llvm.smin.i64(i64 %0, i64 %least.0.i45)
  %cond8.i = tail call i64 @llvm.smax.i64(i64 %0, i64 %most.0.i44)
  %inc.i = add nuw nsw i64 %k.0.i43, 1
  %exitcond.not = icmp eq i64 %inc.i, %div.i
  br i1 %exitcond.not, label %for.cond.cleanup.i, label %for.body.i

if.end11.i:
  %add.i = add nuw i64 %sub.i, 1
  call void @llvm.lifetime.start.p0(i64 1024, ptr nonnull %room.i) #6
  %cmp14.i = icmp ult i64 %sub.i, 1024
  br i1 %cmp14.i, label %if.end24.i, label %cond.end19.i

cond.end19.i:
  %call18.i = tail call ptr @tx_alloc(i64 noundef %add.i) #7
  %tobool.not.i = icmp eq ptr %call18.i, null
  br i1 %tobool.not.i, label %cleanup.i, label %if.end24.i

if.end24.i:
  %cond20.i27 = phi ptr [ %call18.i, %cond.end19.i ], [ %room.i, %if.end11.i ]
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 1 dereferenceable(1) %cond20.i27, i8 0, i64 %add.i, i1 false)
  %div27.i = sdiv i64 %div.i, %row
  %cmp.i555 = icmp slt i64 %div27.i, 1
  br i1 %cmp.i555, label %are_rows_distinct.exit, label %for.body.i7

for.cond.i3.loopexit:
  %cmp.i5 = icmp sge i64 %add.i9, %div27.i
  %indvars.iv.next = add i64 %indvars.iv, %row
  %exitcond65 = icmp eq i64 %add.i9, %div27.i
  br i1 %exitcond65, label %are_rows_distinct.exit, label %for.body.i7

for.body.i7:
  %indvars.iv = phi i64 [ %indvars.iv.next, %for.cond.i3.loopexit ], [ %row, %if.end24.i ]
  %cmp.i557 = phi i1 [ %cmp.i5, %for.cond.i3.loopexit ], [ false, %if.end24.i ]
  %k.0.i456 = phi i64 [ %add.i9, %for.cond.i3.loopexit ], [ 0, %if.end24.i ]
  %mul.i8 = mul i64 %k.0.i456, %row
  %add.i9 = add nuw nsw i64 %k.0.i456, 1
  %cmp1.i10 = icmp ne i64 %add.i9, %div27.i
  %add.i14 = add i64 %mul.i8, %row
  %cmp.not.i47 = icmp slt i64 %mul.i8, %add.i14
  br i1 %cmp.not.i47, label %for.body.i16, label %for.cond.i3.loopexit

for.body.i16:
  %seen.0.i49 = phi i8 [ %or57.i, %for.inc.i ], [ 0, %for.body.i7 ]
  %k.0.i1348 = phi i64 [ %inc.i20, %for.inc.i ], [ %mul.i8, %for.body.i7 ]
  %arrayidx19.i60.i = getelementptr i64, ptr %data, i64 %k.0.i1348
  %1 = load i64, ptr %arrayidx19.i60.i, align 1
  %sub.i17 = sub i64 %1, %least.0.i.lcssa
  %cmp1.not.i.not = icmp ugt i64 %sub.i17, %sub.i
  br i1 %cmp1.not.i.not, label %are_rows_distinct.exit, label %for.inc.i

for.inc.i:
  %arrayidx.i = getelementptr i8, ptr %cond20.i27, i64 %sub.i17
  %2 = load i8, ptr %arrayidx.i, align 1
  %or57.i = or i8 %2, %seen.0.i49
  store i8 1, ptr %arrayidx.i, align 1
  %inc.i20 = add i64 %k.0.i1348, 1
  %exitcond64.not = icmp eq i64 %inc.i20, %indvars.iv
  br i1 %exitcond64.not, label %cleanup6.i, label %for.body.i16

cleanup6.i:
  %tobool.not.i15 = icmp eq i8 %or57.i, 0
  br i1 %tobool.not.i15, label %for.cond11.i.preheader, label %are_rows_distinct.exit

for.cond11.i.preheader:
  %or.cond.i53 = and i1 %cmp1.i10, %cmp.not.i47
  br i1 %or.cond.i53, label %for.body16.i, label %for.cond.i3.loopexit

for.body16.i:
  %k10.0.i54 = phi i64 [ %inc32.i, %if.end25.i ], [ %mul.i8, %for.cond11.i.preheader ]
  %arrayidx19.i.i = getelementptr i64, ptr %data, i64 %k10.0.i54
  %3 = load i64, ptr %arrayidx19.i.i, align 1
  %sub20.i = sub i64 %3, %least.0.i.lcssa
  %cmp22.not.i.not = icmp ugt i64 %sub20.i, %sub.i
  br i1 %cmp22.not.i.not, label %are_rows_distinct.exit, label %if.end25.i

if.end25.i:
  %arrayidx27.i = getelementptr i8, ptr %cond20.i27, i64 %sub20.i
  store i8 0, ptr %arrayidx27.i, align 1
  %inc32.i = add nsw i64 %k10.0.i54, 1
  %cmp13.i = icmp slt i64 %inc32.i, %add.i14
  br i1 %cmp13.i, label %for.body16.i, label %for.cond.i3.loopexit

are_rows_distinct.exit:
  %cmp.i541 = phi i1 [ true, %if.end24.i ], [ %cmp.i557, %for.body16.i ], [ %cmp.i557, %for.body.i16 ], [ %cmp.i5, %for.cond.i3.loopexit ], [ %cmp.i557, %cleanup6.i ]
  %cmp31.not.i = icmp eq ptr %cond20.i27, %room.i
  br i1 %cmp31.not.i, label %cleanup.i, label %if.then32.i

if.then32.i:
  call void @tx_free(ptr noundef nonnull %cond20.i27) #7
  br label %cleanup.i

cleanup.i:
  %retval.0.i = phi i1 [ false, %cond.end19.i ], [ %cmp.i541, %if.then32.i ], [ %cmp.i541, %are_rows_distinct.exit ]
  call void @llvm.lifetime.end.p0(i64 1024, ptr nonnull %room.i) #6
  br label %all_distinct.exit

all_distinct.exit:
  %retval.2.i = phi i1 [ true, %entry ], [ %retval.0.i, %cleanup.i ], [ false, %for.cond.cleanup.i ]
  ret i1 %retval.2.i
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #2

declare ptr @tx_alloc(i64 noundef) local_unnamed_addr #3

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #4

declare void @tx_free(ptr noundef) local_unnamed_addr #3

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #5

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smax.i64(i64, i64) #5

attributes #0 = { nofree norecurse nosync nounwind memory(argmem: read) "no-builtins" }
attributes #1 = { nounwind "no-builtins" }
attributes #2 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #3 = { "no-builtins" }
attributes #4 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #5 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #6 = { nounwind }
attributes #7 = { nobuiltin nounwind "no-builtins" }
