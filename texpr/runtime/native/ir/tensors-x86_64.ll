; tensors.c for x86_64: written by scripts/native.py, not to be edited.
; clang 19.1.7 -std=c11 -ffreestanding -O2 -Wall -Wextra -Werror -Wno-unused-function -fwrapv -fno-strict-aliasing -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -fPIC -fno-stack-protector -fno-asynchronous-unwind-tables -fomit-frame-pointer -fno-discard-value-names
; sources b5133188e8995797907528d974ce715982e2d09427688d861bfacb0bd29928a2
source_filename = "tensors/tensors.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

%struct.PyObject = type { i64, ptr }
%struct.Key = type { [24 x ptr], [24 x ptr], i64, i64 }
%struct.Walk = type { ptr, ptr, i64, i64, ptr, i64, i64, ptr, ptr, i64, i64 }
%struct.Met = type { ptr, i64 }
%struct.Made = type { [32 x ptr], [32 x i64], i64, i64 }
%struct.Origin = type { i64, i64, ptr }

@PyFloat_Type = external global %struct.PyObject, align 8
@PyLong_Type = external global %struct.PyObject, align 8
@_Py_NoneStruct = external global %struct.PyObject, align 8
@python_tuple_items = external local_unnamed_addr constant i64, align 8
@python_bytes_data = external local_unnamed_addr constant i64, align 8
@PyTuple_Type = external global %struct.PyObject, align 8
@_Py_TrueStruct = external global %struct.PyObject, align 8
@_Py_FalseStruct = external global %struct.PyObject, align 8
@PyBool_Type = external global %struct.PyObject, align 8
@PyUnicode_Type = external global %struct.PyObject, align 8

; Function Attrs: noinline nounwind
define ptr @tx_arithmetic(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %arguments, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %tensor.addr.i117 = alloca ptr, align 8
  %tensor.addr.i = alloca ptr, align 8
  %parts = alloca [4 x ptr], align 16
  %0 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i = getelementptr i8, ptr %self, i64 %0
  %1 = load ptr, ptr %add.ptr.i, align 8
  %2 = load i64, ptr @python_bytes_data, align 8
  %add.ptr1.i = getelementptr i8, ptr %1, i64 %2
  %cmp.not = icmp eq i64 %count, 3
  br i1 %cmp.not, label %lor.lhs.false, label %if.then

lor.lhs.false:
  %arrayidx = getelementptr i8, ptr %arguments, i64 8
  %3 = load ptr, ptr %arrayidx, align 8
  %ob_type = getelementptr inbounds i8, ptr %3, i64 8
  %4 = load ptr, ptr %ob_type, align 8
  %5 = load ptr, ptr %add.ptr1.i, align 8
  %cmp1.not = icmp eq ptr %4, %5
  br i1 %cmp1.not, label %if.end, label %if.then

if.then:
  %6 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i = add i64 %6, 1
  %cmp.i = icmp ult i64 %add.i, 2147483648
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  store i64 %add.i, ptr @_Py_NoneStruct, align 8
  br label %cleanup64

if.else.i:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %cleanup64

if.end:
  %arrayidx3 = getelementptr i8, ptr %arguments, i64 16
  %7 = load ptr, ptr %arrayidx3, align 8
  call void @llvm.lifetime.start.p0(i64 32, ptr nonnull %parts) #8
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 16 dereferenceable(32) %parts, i8 0, i64 32, i1 false)
  %8 = load ptr, ptr %arguments, align 8
  store ptr %8, ptr %parts, align 16
  %ob_type5 = getelementptr inbounds i8, ptr %7, i64 8
  %9 = load ptr, ptr %ob_type5, align 8
  %cmp6 = icmp eq ptr %9, @PyFloat_Type
  %cmp9 = icmp eq ptr %9, @PyLong_Type
  %or.cond90 = or i1 %cmp6, %cmp9
  br i1 %or.cond90, label %if.then10, label %if.else

if.then10:
  %arrayidx12 = getelementptr inbounds i8, ptr %parts, i64 16
  store ptr %9, ptr %arrayidx12, align 16
  br i1 %cmp9, label %if.then15, label %if.end18

if.then15:
  %arrayidx17 = getelementptr inbounds i8, ptr %parts, i64 24
  store ptr %7, ptr %arrayidx17, align 8
  br label %if.end18

if.end18:
  %size.0 = phi i64 [ 4, %if.then15 ], [ 3, %if.then10 ]
  br label %for.body

for.body:
  %k.0168 = phi i64 [ 2, %if.end18 ], [ %inc21, %incref.exit115 ]
  %arrayidx20 = getelementptr [4 x ptr], ptr %parts, i64 0, i64 %k.0168
  %10 = load ptr, ptr %arrayidx20, align 8
  %11 = load i64, ptr %10, align 8
  %add.i111 = add i64 %11, 1
  %cmp.i112 = icmp ult i64 %add.i111, 2147483648
  br i1 %cmp.i112, label %if.then.i114, label %if.else.i113

if.then.i114:
  store i64 %add.i111, ptr %10, align 8
  br label %incref.exit115

if.else.i113:
  tail call void @Py_IncRef(ptr noundef nonnull %10) #7
  br label %incref.exit115

incref.exit115:
  %inc21 = add nuw nsw i64 %k.0168, 1
  %exitcond.not = icmp eq i64 %inc21, %size.0
  br i1 %exitcond.not, label %if.end36, label %for.body

if.else:
  %cmp24.not = icmp eq ptr %9, %4
  br i1 %cmp24.not, label %if.else27, label %if.then25

if.then25:
  %12 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i91 = add i64 %12, 1
  %cmp.i92 = icmp ult i64 %add.i91, 2147483648
  br i1 %cmp.i92, label %if.then.i94, label %if.else.i93

if.then.i94:
  store i64 %add.i91, ptr @_Py_NoneStruct, align 8
  br label %cleanup

if.else.i93:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %cleanup

if.else27:
  %cmp29.not = icmp eq ptr %7, %3
  br i1 %cmp29.not, label %if.end36.thread, label %if.then30

if.end36.thread:
  %arrayidx38153 = getelementptr inbounds i8, ptr %parts, i64 16
  br label %if.end43

if.then30:
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %tensor.addr.i117)
  store ptr %7, ptr %tensor.addr.i117, align 8
  %spec2.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 168
  %13 = load i64, ptr %spec2.i, align 8
  %add.ptr.i150 = getelementptr i8, ptr %7, i64 %13
  %14 = load ptr, ptr %add.ptr.i150, align 8
  %cmp.i144 = icmp eq ptr %14, @_Py_NoneStruct
  %tobool.not.i119166 = icmp eq ptr %14, null
  %tobool.not.i119 = or i1 %cmp.i144, %tobool.not.i119166
  br i1 %tobool.not.i119, label %if.end.i127, label %if.then.i120

if.then.i120:
  %15 = load i64, ptr %14, align 8
  %add.i.i121 = add i64 %15, 1
  %cmp.i.i122 = icmp ult i64 %add.i.i121, 2147483648
  br i1 %cmp.i.i122, label %if.then.i.i126, label %if.else.i.i123

if.then.i.i126:
  store i64 %add.i.i121, ptr %14, align 8
  br label %take_spec.exit132

if.else.i.i123:
  tail call void @Py_IncRef(ptr noundef nonnull %14) #7
  br label %take_spec.exit132

if.end.i127:
  %own_spec.i128 = getelementptr inbounds i8, ptr %add.ptr1.i, i64 72
  %16 = load ptr, ptr %own_spec.i128, align 8
  %call1.i129 = call ptr @PyObject_Vectorcall(ptr noundef %16, ptr noundef nonnull %tensor.addr.i117, i64 noundef 1, ptr noundef null) #7
  %cmp.not.i130 = icmp eq ptr %call1.i129, @_Py_NoneStruct
  br i1 %cmp.not.i130, label %if.end3.i131, label %take_spec.exit132

if.end3.i131:
  %17 = load i64, ptr @_Py_NoneStruct, align 8
  %sub1.i = add i64 %17, -2
  %cmp.i133 = icmp ult i64 %sub1.i, 2147483647
  br i1 %cmp.i133, label %if.then.i136, label %if.else.i134

if.then.i136:
  %sub.i = add nsw i64 %17, -1
  store i64 %sub.i, ptr @_Py_NoneStruct, align 8
  br label %take_spec.exit132

if.else.i134:
  call void @Py_DecRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %take_spec.exit132

take_spec.exit132:
  %retval.0.i125 = phi ptr [ %call1.i129, %if.end.i127 ], [ %14, %if.else.i.i123 ], [ %14, %if.then.i.i126 ], [ null, %if.then.i136 ], [ null, %if.else.i134 ]
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %tensor.addr.i117)
  %arrayidx33 = getelementptr inbounds i8, ptr %parts, i64 16
  store ptr %retval.0.i125, ptr %arrayidx33, align 16
  br label %if.end36

if.end36:
  %18 = phi ptr [ %retval.0.i125, %take_spec.exit132 ], [ %9, %incref.exit115 ]
  %size.1 = phi i64 [ 3, %take_spec.exit132 ], [ %size.0, %incref.exit115 ]
  %cmp37 = icmp ne i64 %size.1, 3
  %tobool = icmp ne ptr %18, null
  %or.cond = or i1 %cmp37, %tobool
  br i1 %or.cond, label %if.end36.if.end43_crit_edge, label %if.then39

if.end36.if.end43_crit_edge:
  %arrayidx38 = getelementptr inbounds i8, ptr %parts, i64 16
  %.pre = load ptr, ptr %arrayidx, align 8
  br label %if.end43

if.then39:
  %call40 = call ptr @PyErr_Occurred() #7
  %tobool41.not = icmp eq ptr %call40, null
  br i1 %tobool41.not, label %cond.false, label %cleanup

cond.false:
  %19 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i96 = add i64 %19, 1
  %cmp.i97 = icmp ult i64 %add.i96, 2147483648
  br i1 %cmp.i97, label %if.then.i99, label %if.else.i98

if.then.i99:
  store i64 %add.i96, ptr @_Py_NoneStruct, align 8
  br label %cleanup

if.else.i98:
  call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %cleanup

if.end43:
  %20 = phi ptr [ %3, %if.end36.thread ], [ %.pre, %if.end36.if.end43_crit_edge ]
  %arrayidx38157 = phi ptr [ %arrayidx38153, %if.end36.thread ], [ %arrayidx38, %if.end36.if.end43_crit_edge ]
  %size.1156 = phi i64 [ 2, %if.end36.thread ], [ %size.1, %if.end36.if.end43_crit_edge ]
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %tensor.addr.i)
  store ptr %20, ptr %tensor.addr.i, align 8
  %spec2.i145 = getelementptr inbounds i8, ptr %add.ptr1.i, i64 168
  %21 = load i64, ptr %spec2.i145, align 8
  %add.ptr.i149 = getelementptr i8, ptr %20, i64 %21
  %22 = load ptr, ptr %add.ptr.i149, align 8
  %cmp.i147 = icmp eq ptr %22, @_Py_NoneStruct
  %tobool.not.i167 = icmp eq ptr %22, null
  %tobool.not.i = or i1 %cmp.i147, %tobool.not.i167
  br i1 %tobool.not.i, label %if.end.i, label %if.then.i116

if.then.i116:
  %23 = load i64, ptr %22, align 8
  %add.i.i = add i64 %23, 1
  %cmp.i.i = icmp ult i64 %add.i.i, 2147483648
  br i1 %cmp.i.i, label %if.then.i.i, label %if.else.i.i

if.then.i.i:
  store i64 %add.i.i, ptr %22, align 8
  br label %take_spec.exit.thread162

if.else.i.i:
  call void @Py_IncRef(ptr noundef nonnull %22) #7
  br label %take_spec.exit.thread162

if.end.i:
  %own_spec.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 72
  %24 = load ptr, ptr %own_spec.i, align 8
  %call1.i = call ptr @PyObject_Vectorcall(ptr noundef %24, ptr noundef nonnull %tensor.addr.i, i64 noundef 1, ptr noundef null) #7
  %cmp.not.i = icmp eq ptr %call1.i, @_Py_NoneStruct
  br i1 %cmp.not.i, label %if.end3.i, label %take_spec.exit

if.end3.i:
  %25 = load i64, ptr @_Py_NoneStruct, align 8
  %sub1.i137 = add i64 %25, -2
  %cmp.i138 = icmp ult i64 %sub1.i137, 2147483647
  br i1 %cmp.i138, label %if.then.i141, label %if.else.i139

if.then.i141:
  %sub.i142 = add nsw i64 %25, -1
  store i64 %sub.i142, ptr @_Py_NoneStruct, align 8
  br label %take_spec.exit.thread

if.else.i139:
  call void @Py_DecRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %take_spec.exit.thread

take_spec.exit.thread:
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %tensor.addr.i)
  %arrayidx46159 = getelementptr inbounds i8, ptr %parts, i64 8
  store ptr null, ptr %arrayidx46159, align 8
  br label %if.then49

take_spec.exit.thread162:
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %tensor.addr.i)
  %arrayidx46164 = getelementptr inbounds i8, ptr %parts, i64 8
  store ptr %22, ptr %arrayidx46164, align 8
  br label %if.end57

take_spec.exit:
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %tensor.addr.i)
  %arrayidx46 = getelementptr inbounds i8, ptr %parts, i64 8
  store ptr %call1.i, ptr %arrayidx46, align 8
  %tobool48.not = icmp eq ptr %call1.i, null
  br i1 %tobool48.not, label %if.then49, label %if.end57

if.then49:
  %sub = add nsw i64 %size.1156, -2
  call fastcc void @drop_all(ptr noundef nonnull %arrayidx38157, i64 noundef %sub) #9
  %call50 = call ptr @PyErr_Occurred() #7
  %tobool51.not = icmp eq ptr %call50, null
  br i1 %tobool51.not, label %cond.false53, label %cleanup

cond.false53:
  %26 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i101 = add i64 %26, 1
  %cmp.i102 = icmp ult i64 %add.i101, 2147483648
  br i1 %cmp.i102, label %if.then.i104, label %if.else.i103

if.then.i104:
  store i64 %add.i101, ptr @_Py_NoneStruct, align 8
  br label %cleanup

if.else.i103:
  call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %cleanup

if.end57:
  %27 = load i64, ptr %8, align 8
  %add.i106 = add i64 %27, 1
  %cmp.i107 = icmp ult i64 %add.i106, 2147483648
  br i1 %cmp.i107, label %if.then.i109, label %if.else.i108

if.then.i109:
  store i64 %add.i106, ptr %8, align 8
  br label %incref.exit110

if.else.i108:
  call void @Py_IncRef(ptr noundef nonnull %8) #7
  br label %incref.exit110

incref.exit110:
  %call61 = call fastcc ptr @record_key(ptr noundef nonnull %add.ptr1.i, ptr noundef nonnull %parts, i64 noundef %size.1156, ptr noundef nonnull %arrayidx) #9
  br label %cleanup

cleanup:
  %retval.0 = phi ptr [ %call61, %incref.exit110 ], [ null, %if.then39 ], [ null, %if.then49 ], [ @_Py_NoneStruct, %if.then.i94 ], [ @_Py_NoneStruct, %if.else.i93 ], [ @_Py_NoneStruct, %if.then.i99 ], [ @_Py_NoneStruct, %if.else.i98 ], [ @_Py_NoneStruct, %if.then.i104 ], [ @_Py_NoneStruct, %if.else.i103 ]
  call void @llvm.lifetime.end.p0(i64 32, ptr nonnull %parts) #8
  br label %cleanup64

cleanup64:
  %retval.1 = phi ptr [ %retval.0, %cleanup ], [ @_Py_NoneStruct, %if.then.i ], [ @_Py_NoneStruct, %if.else.i ]
  ret ptr %retval.1
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

declare ptr @PyErr_Occurred() local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc void @drop_all(ptr nocapture noundef readonly %objects, i64 noundef %count) unnamed_addr #0 {
entry:
  %cmp3 = icmp sgt i64 %count, 0
  br i1 %cmp3, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  ret void

for.body:
  %k.04 = phi i64 [ %inc, %decref.exit ], [ 0, %entry ]
  %arrayidx = getelementptr ptr, ptr %objects, i64 %k.04
  %0 = load ptr, ptr %arrayidx, align 8
  %1 = load i64, ptr %0, align 8
  %sub1.i = add i64 %1, -2
  %cmp.i = icmp ult i64 %sub1.i, 2147483647
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  %sub.i = add nsw i64 %1, -1
  store i64 %sub.i, ptr %0, align 8
  br label %decref.exit

if.else.i:
  tail call void @Py_DecRef(ptr noundef nonnull %0) #7
  br label %decref.exit

decref.exit:
  %inc = add nuw nsw i64 %k.04, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body
}

; Function Attrs: noinline nounwind
define internal fastcc ptr @record_key(ptr nocapture noundef readonly %model, ptr nocapture noundef readonly %parts, i64 noundef %count, ptr nocapture noundef readonly %operands) unnamed_addr #0 {
entry:
  %value.i81 = alloca ptr, align 8
  %value.i = alloca ptr, align 8
  %call = tail call ptr @PyTuple_New(i64 noundef %count) #7
  %tobool.not = icmp eq ptr %call, null
  br i1 %tobool.not, label %if.then, label %if.end

if.then:
  tail call fastcc void @drop_all(ptr noundef %parts, i64 noundef %count) #9
  br label %cleanup33

if.end:
  %0 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i = getelementptr i8, ptr %call, i64 %0
  %mul = shl i64 %count, 3
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 8 %add.ptr.i, ptr align 8 %parts, i64 %mul, i1 false)
  %recipes = getelementptr inbounds i8, ptr %model, i64 16
  %1 = load ptr, ptr %recipes, align 8
  %call2 = tail call ptr @PyDict_GetItemWithError(ptr noundef %1, ptr noundef nonnull %call) #7
  %tobool3.not = icmp eq ptr %call2, null
  br i1 %tobool3.not, label %if.then7.critedge, label %if.then4

if.then4:
  %2 = load i64, ptr %call2, align 8
  %add.i58 = add i64 %2, 1
  %cmp.i59 = icmp ult i64 %add.i58, 2147483648
  br i1 %cmp.i59, label %if.then.i61, label %if.else.i60

if.then.i61:
  store i64 %add.i58, ptr %call2, align 8
  br label %incref.exit62

if.else.i60:
  tail call void @Py_IncRef(ptr noundef nonnull %call2) #7
  br label %incref.exit62

incref.exit62:
  %3 = load i64, ptr %call, align 8
  %sub1.i72 = add i64 %3, -2
  %cmp.i73 = icmp ult i64 %sub1.i72, 2147483647
  br i1 %cmp.i73, label %if.then.i75, label %if.else.i74

if.then.i75:
  %sub.i76 = add nsw i64 %3, -1
  store i64 %sub.i76, ptr %call, align 8
  br label %decref.exit77

if.else.i74:
  tail call void @Py_DecRef(ptr noundef nonnull %call) #7
  br label %decref.exit77

decref.exit77:
  %ob_type = getelementptr inbounds i8, ptr %call2, i64 8
  %4 = load ptr, ptr %ob_type, align 8
  %cmp = icmp eq ptr %4, @PyTuple_Type
  br i1 %cmp, label %for.cond.i.preheader, label %if.end26

for.cond.i.preheader:
  %ob_size.i97 = getelementptr inbounds i8, ptr %call2, i64 16
  %5 = load i64, ptr %ob_size.i97, align 8
  %cmp.i78103 = icmp sgt i64 %5, 0
  br i1 %cmp.i78103, label %for.body.i.lr.ph, label %if.then13

for.body.i.lr.ph:
  %add.ptr.i.i = getelementptr i8, ptr %call2, i64 %0
  %results.i = getelementptr inbounds i8, ptr %model, i64 264
  %6 = load i64, ptr %results.i, align 8
  br label %for.body.i

if.then7.critedge:
  %7 = load i64, ptr %call, align 8
  %sub1.i = add i64 %7, -2
  %cmp.i63 = icmp ult i64 %sub1.i, 2147483647
  br i1 %cmp.i63, label %if.then.i65, label %if.else.i64

if.then.i65:
  %sub.i = add nsw i64 %7, -1
  store i64 %sub.i, ptr %call, align 8
  br label %decref.exit

if.else.i64:
  tail call void @Py_DecRef(ptr noundef nonnull %call) #7
  br label %decref.exit

decref.exit:
  %call8 = tail call ptr @PyErr_Occurred() #7
  %tobool9.not = icmp eq ptr %call8, null
  br i1 %tobool9.not, label %cond.false, label %cleanup33

cond.false:
  %8 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i = add i64 %8, 1
  %cmp.i = icmp ult i64 %add.i, 2147483648
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  store i64 %add.i, ptr @_Py_NoneStruct, align 8
  br label %cleanup33

if.else.i:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %cleanup33

for.body.i:
  %n.0.i105 = phi i64 [ 0, %for.body.i.lr.ph ], [ %inc.i, %for.body.i ]
  %count.0.i104 = phi i64 [ 0, %for.body.i.lr.ph ], [ %add.i79, %for.body.i ]
  %arrayidx.i = getelementptr ptr, ptr %add.ptr.i.i, i64 %n.0.i105
  %9 = load ptr, ptr %arrayidx.i, align 8
  %add.ptr.i98 = getelementptr i8, ptr %9, i64 %6
  %10 = load ptr, ptr %add.ptr.i98, align 8
  %ob_size.i = getelementptr inbounds i8, ptr %10, i64 16
  %11 = load i64, ptr %ob_size.i, align 8
  %add.i79 = add i64 %11, %count.0.i104
  %inc.i = add nuw nsw i64 %n.0.i105, 1
  %exitcond.not = icmp eq i64 %inc.i, %5
  br i1 %exitcond.not, label %is_short.exit, label %for.body.i

is_short.exit:
  %12 = icmp slt i64 %add.i79, 33
  br i1 %12, label %if.then13, label %if.end26

if.then13:
  %observation = getelementptr inbounds i8, ptr %model, i64 24
  %13 = load ptr, ptr %observation, align 8
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %value.i81) #8
  store ptr null, ptr %value.i81, align 8
  %call.i82 = call i32 @PyContextVar_Get(ptr noundef %13, ptr noundef null, ptr noundef nonnull %value.i81) #7
  %tobool.i83 = icmp eq i32 %call.i82, 0
  %14 = load ptr, ptr %value.i81, align 8
  %tobool1.i84 = icmp ne ptr %14, null
  %or.cond.i85 = select i1 %tobool.i83, i1 %tobool1.i84, i1 false
  br i1 %or.cond.i85, label %if.end.i87, label %variable.exit94

if.end.i87:
  %15 = load i64, ptr %14, align 8
  %sub1.i.i88 = add i64 %15, -2
  %cmp.i.i89 = icmp ult i64 %sub1.i.i88, 2147483647
  br i1 %cmp.i.i89, label %if.then.i.i92, label %if.else.i.i90

if.then.i.i92:
  %sub.i.i93 = add nsw i64 %15, -1
  store i64 %sub.i.i93, ptr %14, align 8
  br label %decref.exit.i91

if.else.i.i90:
  call void @Py_DecRef(ptr noundef nonnull %14) #7
  br label %decref.exit.i91

decref.exit.i91:
  %16 = load ptr, ptr %value.i81, align 8
  br label %variable.exit94

variable.exit94:
  %retval.0.i86 = phi ptr [ %16, %decref.exit.i91 ], [ null, %if.then13 ]
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %value.i81) #8
  %recording15 = getelementptr inbounds i8, ptr %model, i64 32
  %17 = load ptr, ptr %recording15, align 8
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %value.i) #8
  store ptr null, ptr %value.i, align 8
  %call.i80 = call i32 @PyContextVar_Get(ptr noundef %17, ptr noundef null, ptr noundef nonnull %value.i) #7
  %tobool.i = icmp eq i32 %call.i80, 0
  %18 = load ptr, ptr %value.i, align 8
  %tobool1.i = icmp ne ptr %18, null
  %or.cond.i = select i1 %tobool.i, i1 %tobool1.i, i1 false
  br i1 %or.cond.i, label %if.end.i, label %variable.exit.thread

variable.exit.thread:
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %value.i) #8
  br label %if.end26

if.end.i:
  %19 = load i64, ptr %18, align 8
  %sub1.i.i = add i64 %19, -2
  %cmp.i.i = icmp ult i64 %sub1.i.i, 2147483647
  br i1 %cmp.i.i, label %if.then.i.i, label %if.else.i.i

if.then.i.i:
  %sub.i.i = add nsw i64 %19, -1
  store i64 %sub.i.i, ptr %18, align 8
  br label %variable.exit

if.else.i.i:
  call void @Py_DecRef(ptr noundef nonnull %18) #7
  br label %variable.exit

variable.exit:
  %20 = load ptr, ptr %value.i, align 8
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %value.i) #8
  %tobool17 = icmp ne ptr %retval.0.i86, null
  %tobool18 = icmp ne ptr %20, null
  %or.cond = select i1 %tobool17, i1 %tobool18, i1 false
  br i1 %or.cond, label %if.else, label %if.end26

if.else:
  %cmp20 = icmp eq ptr %retval.0.i86, @_Py_NoneStruct
  br i1 %cmp20, label %if.then21, label %if.end26

if.then21:
  %cmp.i95 = icmp eq ptr %20, @_Py_TrueStruct
  br i1 %cmp.i95, label %is_true.exit, label %lor.rhs.i

lor.rhs.i:
  %call.i96 = call i32 @PyObject_IsTrue(ptr noundef nonnull %20) #7
  %cmp1.i = icmp eq i32 %call.i96, 1
  br label %is_true.exit

is_true.exit:
  %21 = phi i1 [ true, %if.then21 ], [ %cmp1.i, %lor.rhs.i ]
  %call23 = call fastcc ptr @record(ptr noundef nonnull %model, ptr noundef nonnull %call2, ptr noundef %operands, i1 noundef zeroext %21) #9
  br label %if.end26

if.end26:
  %found.1 = phi ptr [ @_Py_NoneStruct, %is_short.exit ], [ @_Py_NoneStruct, %decref.exit77 ], [ %call23, %is_true.exit ], [ @_Py_NoneStruct, %if.else ], [ null, %variable.exit ], [ null, %variable.exit.thread ]
  %22 = load i64, ptr %call2, align 8
  %sub1.i66 = add i64 %22, -2
  %cmp.i67 = icmp ult i64 %sub1.i66, 2147483647
  br i1 %cmp.i67, label %if.then.i69, label %if.else.i68

if.then.i69:
  %sub.i70 = add nsw i64 %22, -1
  store i64 %sub.i70, ptr %call2, align 8
  br label %decref.exit71

if.else.i68:
  call void @Py_DecRef(ptr noundef nonnull %call2) #7
  br label %decref.exit71

decref.exit71:
  %cmp27 = icmp eq ptr %found.1, @_Py_NoneStruct
  br i1 %cmp27, label %cond.true28, label %cleanup33

cond.true28:
  %23 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i53 = add i64 %23, 1
  %cmp.i54 = icmp ult i64 %add.i53, 2147483648
  br i1 %cmp.i54, label %if.then.i56, label %if.else.i55

if.then.i56:
  store i64 %add.i53, ptr @_Py_NoneStruct, align 8
  br label %cleanup33

if.else.i55:
  call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %cleanup33

cleanup33:
  %retval.1 = phi ptr [ null, %if.then ], [ null, %decref.exit ], [ %found.1, %decref.exit71 ], [ @_Py_NoneStruct, %if.then.i ], [ @_Py_NoneStruct, %if.else.i ], [ @_Py_NoneStruct, %if.then.i56 ], [ @_Py_NoneStruct, %if.else.i55 ]
  ret ptr %retval.1
}

; Function Attrs: noinline nounwind
define ptr @tx_recorded(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %arguments, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %key = alloca %struct.Key, align 8
  %0 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i = getelementptr i8, ptr %self, i64 %0
  %1 = load ptr, ptr %add.ptr.i, align 8
  %2 = load i64, ptr @python_bytes_data, align 8
  %add.ptr1.i = getelementptr i8, ptr %1, i64 %2
  %cmp = icmp slt i64 %count, 2
  br i1 %cmp, label %if.then, label %lor.lhs.false

lor.lhs.false:
  %arrayidx = getelementptr i8, ptr %arguments, i64 8
  %3 = load ptr, ptr %arrayidx, align 8
  %ob_type = getelementptr inbounds i8, ptr %3, i64 8
  %4 = load ptr, ptr %ob_type, align 8
  %5 = load ptr, ptr %add.ptr1.i, align 8
  %cmp1.not = icmp eq ptr %4, %5
  br i1 %cmp1.not, label %if.end, label %if.then

if.then:
  %6 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i = add i64 %6, 1
  %cmp.i = icmp ult i64 %add.i, 2147483648
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  store i64 %add.i, ptr @_Py_NoneStruct, align 8
  br label %cleanup22

if.else.i:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %cleanup22

if.end:
  call void @llvm.lifetime.start.p0(i64 400, ptr nonnull %key) #8
  %7 = load ptr, ptr %arguments, align 8
  %8 = load i64, ptr %7, align 8
  %add.i37 = add i64 %8, 1
  %cmp.i38 = icmp ult i64 %add.i37, 2147483648
  br i1 %cmp.i38, label %if.then.i40, label %if.else.i39

if.then.i40:
  store i64 %add.i37, ptr %7, align 8
  br label %for.body.preheader

if.else.i39:
  tail call void @Py_IncRef(ptr noundef nonnull %7) #7
  br label %for.body.preheader

for.body.preheader:
  %9 = load ptr, ptr %arguments, align 8
  store ptr %9, ptr %key, align 8
  %count6 = getelementptr inbounds i8, ptr %key, i64 384
  store i64 1, ptr %count6, align 8
  %tensors = getelementptr inbounds i8, ptr %key, i64 392
  store i64 0, ptr %tensors, align 8
  br label %for.body

for.cond:
  %inc = add nuw nsw i64 %k.044, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %for.end, label %for.body

for.body:
  %k.044 = phi i64 [ %inc, %for.cond ], [ 1, %for.body.preheader ]
  %arrayidx8 = getelementptr ptr, ptr %arguments, i64 %k.044
  %10 = load ptr, ptr %arrayidx8, align 8
  %call9 = call fastcc zeroext i1 @add_argument(ptr noundef nonnull %add.ptr1.i, ptr noundef nonnull %key, ptr noundef %10) #9
  br i1 %call9, label %for.cond, label %if.then10

if.then10:
  %11 = load i64, ptr %count6, align 8
  call fastcc void @drop_all(ptr noundef nonnull %key, i64 noundef %11) #9
  %call13 = tail call ptr @PyErr_Occurred() #7
  %tobool.not = icmp eq ptr %call13, null
  br i1 %tobool.not, label %cond.false, label %cleanup21

cond.false:
  %12 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i32 = add i64 %12, 1
  %cmp.i33 = icmp ult i64 %add.i32, 2147483648
  br i1 %cmp.i33, label %if.then.i35, label %if.else.i34

if.then.i35:
  store i64 %add.i32, ptr @_Py_NoneStruct, align 8
  br label %cleanup21

if.else.i34:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %cleanup21

for.end:
  %.pre = load i64, ptr %count6, align 8
  %operands = getelementptr inbounds i8, ptr %key, i64 192
  %call20 = call fastcc ptr @record_key(ptr noundef nonnull %add.ptr1.i, ptr noundef nonnull %key, i64 noundef %.pre, ptr noundef nonnull %operands) #9
  br label %cleanup21

cleanup21:
  %retval.1 = phi ptr [ %call20, %for.end ], [ @_Py_NoneStruct, %if.else.i34 ], [ @_Py_NoneStruct, %if.then.i35 ], [ null, %if.then10 ]
  call void @llvm.lifetime.end.p0(i64 400, ptr nonnull %key) #8
  br label %cleanup22

cleanup22:
  %retval.2 = phi ptr [ %retval.1, %cleanup21 ], [ @_Py_NoneStruct, %if.then.i ], [ @_Py_NoneStruct, %if.else.i ]
  ret ptr %retval.2
}

; Function Attrs: noinline nounwind
define internal fastcc noundef zeroext i1 @add_argument(ptr nocapture noundef readonly %model, ptr nocapture noundef %key, ptr noundef %value) unnamed_addr #0 {
entry:
  %count = getelementptr inbounds i8, ptr %key, i64 384
  %0 = load i64, ptr %count, align 8
  %tensors = getelementptr inbounds i8, ptr %key, i64 392
  %1 = load i64, ptr %tensors, align 8
  %add = add i64 %0, 3
  %add1 = add i64 %add, %1
  %cmp = icmp sgt i64 %add1, 24
  br i1 %cmp, label %return, label %if.end

if.end:
  %ob_type = getelementptr inbounds i8, ptr %value, i64 8
  %2 = load ptr, ptr %ob_type, align 8
  %3 = load ptr, ptr %model, align 8
  %cmp2 = icmp eq ptr %2, %3
  br i1 %cmp2, label %if.then3, label %if.end4

if.then3:
  %call = tail call fastcc zeroext i1 @add_tensor(ptr noundef nonnull %model, ptr noundef nonnull %key, ptr noundef nonnull %value) #9
  br label %return

if.end4:
  %cmp.i37 = icmp eq ptr %2, @PyLong_Type
  %cmp1.i = icmp eq ptr %2, @PyBool_Type
  %or.cond.i = or i1 %cmp.i37, %cmp1.i
  %cmp3.i = icmp eq ptr %2, @PyUnicode_Type
  %or.cond5.i = or i1 %cmp3.i, %or.cond.i
  %cmp4.i = icmp eq ptr %value, @_Py_NoneStruct
  %spec.select.i = or i1 %cmp4.i, %or.cond5.i
  br i1 %spec.select.i, label %if.then6, label %if.end11

if.then6:
  %4 = load i64, ptr %2, align 8
  %add.i32 = add i64 %4, 1
  %cmp.i33 = icmp ult i64 %add.i32, 2147483648
  br i1 %cmp.i33, label %if.then.i35, label %if.else.i34

if.then.i35:
  store i64 %add.i32, ptr %2, align 8
  br label %incref.exit36

if.else.i34:
  tail call void @Py_IncRef(ptr noundef nonnull %2) #7
  br label %incref.exit36

incref.exit36:
  %5 = load i64, ptr %value, align 8
  %add.i = add i64 %5, 1
  %cmp.i = icmp ult i64 %add.i, 2147483648
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  store i64 %add.i, ptr %value, align 8
  br label %incref.exit

if.else.i:
  tail call void @Py_IncRef(ptr noundef nonnull %value) #7
  br label %incref.exit

incref.exit:
  %6 = load ptr, ptr %ob_type, align 8
  %tobool.i45.not = icmp eq ptr %6, null
  br i1 %tobool.i45.not, label %return, label %add_part.exit44

add_part.exit44:
  %7 = load i64, ptr %count, align 8
  %inc.i48 = add i64 %7, 1
  store i64 %inc.i48, ptr %count, align 8
  %arrayidx.i49 = getelementptr [24 x ptr], ptr %key, i64 0, i64 %7
  store ptr %6, ptr %arrayidx.i49, align 8
  %8 = load i64, ptr %count, align 8
  %inc.i42 = add i64 %8, 1
  store i64 %inc.i42, ptr %count, align 8
  %arrayidx.i43 = getelementptr [24 x ptr], ptr %key, i64 0, i64 %8
  store ptr %value, ptr %arrayidx.i43, align 8
  br label %return

if.end11:
  %cmp13 = icmp eq ptr %2, @PyTuple_Type
  br i1 %cmp13, label %land.rhs14, label %return

land.rhs14:
  %call15 = tail call fastcc ptr @key_of_tuple(ptr noundef %value) #9
  %tobool.i.not = icmp eq ptr %call15, null
  br i1 %tobool.i.not, label %return, label %if.then.i38

if.then.i38:
  %9 = load i64, ptr %count, align 8
  %inc.i = add i64 %9, 1
  store i64 %inc.i, ptr %count, align 8
  %arrayidx.i = getelementptr [24 x ptr], ptr %key, i64 0, i64 %9
  store ptr %call15, ptr %arrayidx.i, align 8
  br label %return

return:
  %retval.0 = phi i1 [ %call, %if.then3 ], [ false, %entry ], [ true, %add_part.exit44 ], [ false, %if.end11 ], [ false, %incref.exit ], [ false, %land.rhs14 ], [ true, %if.then.i38 ]
  ret i1 %retval.0
}

; Function Attrs: noinline nounwind
define ptr @tx_history(ptr nocapture noundef readonly %self, ptr nocapture noundef readonly %arguments, i64 noundef %count) local_unnamed_addr #0 {
entry:
  %walk.i = alloca %struct.Walk, align 8
  %parts.i = alloca [4 x ptr], align 16
  %overflow.i = alloca i32, align 4
  %table = alloca [64 x %struct.Met], align 16
  %words = alloca [256 x i64], align 16
  %room = alloca [192 x ptr], align 16
  %0 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i = getelementptr i8, ptr %self, i64 %0
  %1 = load ptr, ptr %add.ptr.i, align 8
  %2 = load i64, ptr @python_bytes_data, align 8
  %add.ptr1.i = getelementptr i8, ptr %1, i64 %2
  %3 = load ptr, ptr %arguments, align 8
  %cmp.not = icmp eq i64 %count, 1
  br i1 %cmp.not, label %lor.lhs.false, label %if.then

lor.lhs.false:
  %ob_type = getelementptr inbounds i8, ptr %3, i64 8
  %4 = load ptr, ptr %ob_type, align 8
  %5 = load ptr, ptr %add.ptr1.i, align 8
  %cmp1.not = icmp eq ptr %4, %5
  br i1 %cmp1.not, label %if.end, label %if.then

if.then:
  %6 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i = add i64 %6, 1
  %cmp.i = icmp ult i64 %add.i, 2147483648
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  store i64 %add.i, ptr @_Py_NoneStruct, align 8
  br label %cleanup29

if.else.i:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %cleanup29

if.end:
  %node3 = getelementptr inbounds i8, ptr %add.ptr1.i, i64 136
  %7 = load i64, ptr %node3, align 8
  %add.ptr.i60 = getelementptr i8, ptr %3, i64 %7
  %8 = load ptr, ptr %add.ptr.i60, align 8
  %value = getelementptr inbounds i8, ptr %add.ptr1.i, i64 192
  %9 = load i64, ptr %value, align 8
  %add.ptr.i61 = getelementptr i8, ptr %3, i64 %9
  %10 = load ptr, ptr %add.ptr.i61, align 8
  %cmp7 = icmp ne ptr %10, @_Py_NoneStruct
  %cmp9 = icmp eq ptr %8, @_Py_NoneStruct
  %or.cond = select i1 %cmp7, i1 true, i1 %cmp9
  br i1 %or.cond, label %if.then15, label %lor.lhs.false10

lor.lhs.false10:
  %depth = getelementptr inbounds i8, ptr %add.ptr1.i, i64 216
  %11 = load i64, ptr %depth, align 8
  %add.ptr.i62 = getelementptr i8, ptr %8, i64 %11
  %12 = load ptr, ptr %add.ptr.i62, align 8
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %overflow.i) #8
  %call.i51 = call i64 @PyLong_AsLongLongAndOverflow(ptr noundef %12, ptr noundef nonnull %overflow.i) #7
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %overflow.i) #8
  %few = getelementptr inbounds i8, ptr %add.ptr1.i, i64 104
  %13 = load i64, ptr %few, align 8
  %cmp14 = icmp sgt i64 %call.i51, %13
  br i1 %cmp14, label %if.then15, label %if.end17

if.then15:
  %14 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i44 = add i64 %14, 1
  %cmp.i45 = icmp ult i64 %add.i44, 2147483648
  br i1 %cmp.i45, label %if.then.i47, label %if.else.i46

if.then.i47:
  store i64 %add.i44, ptr @_Py_NoneStruct, align 8
  br label %cleanup29

if.else.i46:
  call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %cleanup29

if.end17:
  call void @llvm.lifetime.start.p0(i64 1024, ptr nonnull %table) #8
  call void @llvm.lifetime.start.p0(i64 2048, ptr nonnull %words) #8
  call void @llvm.lifetime.start.p0(i64 1536, ptr nonnull %room) #8
  %add.ptr.i52 = getelementptr inbounds i8, ptr %room, i64 512
  %add.ptr1.i53 = getelementptr inbounds i8, ptr %room, i64 1024
  call void @llvm.lifetime.start.p0(i64 88, ptr nonnull %walk.i) #8
  store ptr %add.ptr1.i, ptr %walk.i, align 8
  %table3.i = getelementptr inbounds i8, ptr %walk.i, i64 8
  store ptr %table, ptr %table3.i, align 8
  %capacity4.i = getelementptr inbounds i8, ptr %walk.i, i64 16
  store i64 64, ptr %capacity4.i, align 8
  %met.i = getelementptr inbounds i8, ptr %walk.i, i64 24
  store i64 0, ptr %met.i, align 8
  %words5.i = getelementptr inbounds i8, ptr %walk.i, i64 32
  store ptr %words, ptr %words5.i, align 8
  %count.i = getelementptr inbounds i8, ptr %walk.i, i64 40
  store i64 0, ptr %count.i, align 8
  %calls.i = getelementptr inbounds i8, ptr %walk.i, i64 48
  store i64 0, ptr %calls.i, align 8
  %leaves6.i = getelementptr inbounds i8, ptr %walk.i, i64 56
  store ptr %room, ptr %leaves6.i, align 8
  %made7.i = getelementptr inbounds i8, ptr %walk.i, i64 64
  store ptr %add.ptr.i52, ptr %made7.i, align 8
  %leaf_count.i = getelementptr inbounds i8, ptr %walk.i, i64 72
  store i64 0, ptr %leaf_count.i, align 8
  %made_count.i = getelementptr inbounds i8, ptr %walk.i, i64 80
  store i64 0, ptr %made_count.i, align 8
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 16 dereferenceable(1024) %table, i8 0, i64 1024, i1 false)
  %15 = load i64, ptr %node3, align 8
  %add.ptr.i59 = getelementptr i8, ptr %3, i64 %15
  %16 = load ptr, ptr %add.ptr.i59, align 8
  %call9.i = call fastcc zeroext i1 @add_call(ptr noundef nonnull %walk.i, ptr noundef %16) #9
  br i1 %call9.i, label %lor.lhs.false.i, label %if.then.i54

lor.lhs.false.i:
  %call10.i = call fastcc zeroext i1 @add_outputs(ptr noundef nonnull %walk.i, ptr noundef nonnull %3) #9
  br i1 %call10.i, label %if.end.i, label %if.then.i54

if.then.i54:
  %17 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i.i = add i64 %17, 1
  %cmp.i.i = icmp ult i64 %add.i.i, 2147483648
  br i1 %cmp.i.i, label %if.then.i.i, label %if.else.i.i

if.then.i.i:
  store i64 %add.i.i, ptr @_Py_NoneStruct, align 8
  br label %walked.exit.thread

if.else.i.i:
  call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %walked.exit.thread

if.end.i:
  %18 = load i64, ptr %leaf_count.i, align 8
  %spec.i = getelementptr inbounds i8, ptr %add.ptr1.i, i64 168
  %19 = load i64, ptr %spec.i, align 8
  %cmp.i84104 = icmp sgt i64 %18, 0
  br i1 %cmp.i84104, label %for.body.i85.lr.ph, label %take.exit81

for.body.i85.lr.ph:
  %cmp1.i86 = icmp slt i64 %19, 0
  br label %for.body.i85

for.body.i85:
  %k.0.i83105 = phi i64 [ 0, %for.body.i85.lr.ph ], [ %inc.i97, %incref.exit.i96 ]
  %arrayidx.i100 = getelementptr ptr, ptr %room, i64 %k.0.i83105
  br i1 %cmp1.i86, label %cond.end.i90, label %cond.false.i87

cond.false.i87:
  %20 = load ptr, ptr %arrayidx.i100, align 8
  %add.ptr.i.i89 = getelementptr i8, ptr %20, i64 %19
  br label %cond.end.i90

cond.end.i90:
  %cond.i91.in = phi ptr [ %add.ptr.i.i89, %cond.false.i87 ], [ %arrayidx.i100, %for.body.i85 ]
  %cond.i91 = load ptr, ptr %cond.i91.in, align 8
  %arrayidx3.i92 = getelementptr ptr, ptr %add.ptr1.i53, i64 %k.0.i83105
  store ptr %cond.i91, ptr %arrayidx3.i92, align 8
  %21 = load i64, ptr %cond.i91, align 8
  %add.i.i93 = add i64 %21, 1
  %cmp.i.i94 = icmp ult i64 %add.i.i93, 2147483648
  br i1 %cmp.i.i94, label %if.then.i.i98, label %if.else.i.i95

if.then.i.i98:
  store i64 %add.i.i93, ptr %cond.i91, align 8
  br label %incref.exit.i96

if.else.i.i95:
  call void @Py_IncRef(ptr noundef nonnull %cond.i91) #7
  br label %incref.exit.i96

incref.exit.i96:
  %inc.i97 = add nuw nsw i64 %k.0.i83105, 1
  %exitcond.not = icmp eq i64 %inc.i97, %18
  br i1 %exitcond.not, label %take.exit101, label %for.body.i85

take.exit101:
  %22 = load i64, ptr %value, align 8
  br i1 %cmp.i84104, label %for.body.i72.lr.ph, label %take.exit81

for.body.i72.lr.ph:
  %cmp1.i = icmp slt i64 %22, 0
  br label %for.body.i72

for.body.i72:
  %k.0.i70107 = phi i64 [ 0, %for.body.i72.lr.ph ], [ %inc.i78, %incref.exit.i77 ]
  %arrayidx.i80 = getelementptr ptr, ptr %room, i64 %k.0.i70107
  br i1 %cmp1.i, label %cond.end.i, label %cond.false.i

cond.false.i:
  %23 = load ptr, ptr %arrayidx.i80, align 8
  %add.ptr.i.i = getelementptr i8, ptr %23, i64 %22
  br label %cond.end.i

cond.end.i:
  %cond.i.in = phi ptr [ %add.ptr.i.i, %cond.false.i ], [ %arrayidx.i80, %for.body.i72 ]
  %cond.i = load ptr, ptr %cond.i.in, align 8
  %arrayidx3.i73 = getelementptr ptr, ptr %room, i64 %k.0.i70107
  store ptr %cond.i, ptr %arrayidx3.i73, align 8
  %24 = load i64, ptr %cond.i, align 8
  %add.i.i74 = add i64 %24, 1
  %cmp.i.i75 = icmp ult i64 %add.i.i74, 2147483648
  br i1 %cmp.i.i75, label %if.then.i.i79, label %if.else.i.i76

if.then.i.i79:
  store i64 %add.i.i74, ptr %cond.i, align 8
  br label %incref.exit.i77

if.else.i.i76:
  call void @Py_IncRef(ptr noundef nonnull %cond.i) #7
  br label %incref.exit.i77

incref.exit.i77:
  %inc.i78 = add nuw nsw i64 %k.0.i70107, 1
  %exitcond110.not = icmp eq i64 %inc.i78, %18
  br i1 %exitcond110.not, label %take.exit81, label %for.body.i72

take.exit81:
  %25 = load i64, ptr %made_count.i, align 8
  %cmp.i63108 = icmp sgt i64 %25, 0
  br i1 %cmp.i63108, label %for.body.i, label %walked.exit

for.body.i:
  %k.0.i109 = phi i64 [ %inc.i, %incref.exit.i67 ], [ 0, %take.exit81 ]
  %arrayidx.i = getelementptr ptr, ptr %add.ptr.i52, i64 %k.0.i109
  %26 = load ptr, ptr %arrayidx.i, align 8
  %27 = load i64, ptr %26, align 8
  %add.i.i64 = add i64 %27, 1
  %cmp.i.i65 = icmp ult i64 %add.i.i64, 2147483648
  br i1 %cmp.i.i65, label %if.then.i.i68, label %if.else.i.i66

if.then.i.i68:
  store i64 %add.i.i64, ptr %26, align 8
  br label %incref.exit.i67

if.else.i.i66:
  call void @Py_IncRef(ptr noundef nonnull %26) #7
  br label %incref.exit.i67

incref.exit.i67:
  %inc.i = add nuw nsw i64 %k.0.i109, 1
  %exitcond111.not = icmp eq i64 %inc.i, %25
  br i1 %exitcond111.not, label %walked.exit, label %for.body.i

walked.exit.thread:
  call void @llvm.lifetime.end.p0(i64 88, ptr nonnull %walk.i) #8
  br label %if.end23

walked.exit:
  call void @llvm.lifetime.start.p0(i64 32, ptr nonnull %parts.i) #8
  %28 = load i64, ptr %count.i, align 8
  %mul17.i = shl i64 %28, 3
  %call18.i = call ptr @PyBytes_FromStringAndSize(ptr noundef nonnull %words, i64 noundef %mul17.i) #7
  store ptr %call18.i, ptr %parts.i, align 16
  %arrayinit.element.i = getelementptr inbounds i8, ptr %parts.i, i64 8
  %call19.i = call fastcc ptr @tuple_of(ptr noundef nonnull %add.ptr1.i53, i64 noundef %18) #9
  store ptr %call19.i, ptr %arrayinit.element.i, align 8
  %arrayinit.element20.i = getelementptr inbounds i8, ptr %parts.i, i64 16
  %call21.i = call fastcc ptr @tuple_of(ptr noundef nonnull %room, i64 noundef %18) #9
  store ptr %call21.i, ptr %arrayinit.element20.i, align 16
  %arrayinit.element22.i = getelementptr inbounds i8, ptr %parts.i, i64 24
  %call24.i = call fastcc ptr @tuple_of(ptr noundef nonnull %add.ptr.i52, i64 noundef %25) #9
  store ptr %call24.i, ptr %arrayinit.element22.i, align 8
  %call25.i = call fastcc ptr @tuple_of_four(ptr noundef nonnull %parts.i) #9
  call void @llvm.lifetime.end.p0(i64 32, ptr nonnull %parts.i) #8
  call void @llvm.lifetime.end.p0(i64 88, ptr nonnull %walk.i) #8
  %cmp21.not = icmp eq ptr %call25.i, @_Py_NoneStruct
  br i1 %cmp21.not, label %if.end23, label %cleanup

if.end23:
  %29 = load i64, ptr @_Py_NoneStruct, align 8
  %sub1.i = add i64 %29, -2
  %cmp.i55 = icmp ult i64 %sub1.i, 2147483647
  br i1 %cmp.i55, label %if.then.i58, label %if.else.i56

if.then.i58:
  %sub.i = add nsw i64 %29, -1
  store i64 %sub.i, ptr @_Py_NoneStruct, align 8
  br label %decref.exit

if.else.i56:
  call void @Py_DecRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %decref.exit

decref.exit:
  %call24 = call fastcc ptr @walked_far(ptr noundef nonnull %add.ptr1.i, ptr noundef %3) #9
  br label %cleanup

cleanup:
  %retval.0 = phi ptr [ %call24, %decref.exit ], [ %call25.i, %walked.exit ]
  call void @llvm.lifetime.end.p0(i64 1536, ptr nonnull %room) #8
  call void @llvm.lifetime.end.p0(i64 2048, ptr nonnull %words) #8
  call void @llvm.lifetime.end.p0(i64 1024, ptr nonnull %table) #8
  br label %cleanup29

cleanup29:
  %retval.2 = phi ptr [ %retval.0, %cleanup ], [ @_Py_NoneStruct, %if.then.i ], [ @_Py_NoneStruct, %if.else.i ], [ @_Py_NoneStruct, %if.then.i47 ], [ @_Py_NoneStruct, %if.else.i46 ]
  ret ptr %retval.2
}

; Function Attrs: noinline nounwind
define internal fastcc ptr @walked_far(ptr noundef %model, ptr noundef %wanted) unnamed_addr #0 {
entry:
  %walk.i = alloca %struct.Walk, align 8
  %parts.i = alloca [4 x ptr], align 16
  %table = alloca [1024 x %struct.Met], align 16
  %words = alloca [4096 x i64], align 16
  %room = alloca [3072 x ptr], align 16
  call void @llvm.lifetime.start.p0(i64 16384, ptr nonnull %table) #8
  call void @llvm.lifetime.start.p0(i64 32768, ptr nonnull %words) #8
  call void @llvm.lifetime.start.p0(i64 24576, ptr nonnull %room) #8
  %add.ptr.i = getelementptr inbounds i8, ptr %room, i64 8192
  %add.ptr1.i = getelementptr inbounds i8, ptr %room, i64 16384
  call void @llvm.lifetime.start.p0(i64 88, ptr nonnull %walk.i) #8
  store ptr %model, ptr %walk.i, align 8
  %table3.i = getelementptr inbounds i8, ptr %walk.i, i64 8
  store ptr %table, ptr %table3.i, align 8
  %capacity4.i = getelementptr inbounds i8, ptr %walk.i, i64 16
  store i64 1024, ptr %capacity4.i, align 8
  %met.i = getelementptr inbounds i8, ptr %walk.i, i64 24
  store i64 0, ptr %met.i, align 8
  %words5.i = getelementptr inbounds i8, ptr %walk.i, i64 32
  store ptr %words, ptr %words5.i, align 8
  %count.i = getelementptr inbounds i8, ptr %walk.i, i64 40
  store i64 0, ptr %count.i, align 8
  %calls.i = getelementptr inbounds i8, ptr %walk.i, i64 48
  store i64 0, ptr %calls.i, align 8
  %leaves6.i = getelementptr inbounds i8, ptr %walk.i, i64 56
  store ptr %room, ptr %leaves6.i, align 8
  %made7.i = getelementptr inbounds i8, ptr %walk.i, i64 64
  store ptr %add.ptr.i, ptr %made7.i, align 8
  %leaf_count.i = getelementptr inbounds i8, ptr %walk.i, i64 72
  store i64 0, ptr %leaf_count.i, align 8
  %made_count.i = getelementptr inbounds i8, ptr %walk.i, i64 80
  store i64 0, ptr %made_count.i, align 8
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 16 dereferenceable(16384) %table, i8 0, i64 16384, i1 false)
  %node.i = getelementptr inbounds i8, ptr %model, i64 136
  %0 = load i64, ptr %node.i, align 8
  %add.ptr.i3 = getelementptr i8, ptr %wanted, i64 %0
  %1 = load ptr, ptr %add.ptr.i3, align 8
  %call9.i = call fastcc zeroext i1 @add_call(ptr noundef nonnull %walk.i, ptr noundef %1) #9
  br i1 %call9.i, label %lor.lhs.false.i, label %if.then.i

lor.lhs.false.i:
  %call10.i = call fastcc zeroext i1 @add_outputs(ptr noundef nonnull %walk.i, ptr noundef nonnull %wanted) #9
  br i1 %call10.i, label %if.end.i, label %if.then.i

if.then.i:
  %2 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i.i = add i64 %2, 1
  %cmp.i.i = icmp ult i64 %add.i.i, 2147483648
  br i1 %cmp.i.i, label %if.then.i.i, label %if.else.i.i

if.then.i.i:
  store i64 %add.i.i, ptr @_Py_NoneStruct, align 8
  br label %walked.exit

if.else.i.i:
  call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %walked.exit

if.end.i:
  %3 = load i64, ptr %leaf_count.i, align 8
  %spec.i = getelementptr inbounds i8, ptr %model, i64 168
  %4 = load i64, ptr %spec.i, align 8
  %cmp.i2442 = icmp sgt i64 %3, 0
  br i1 %cmp.i2442, label %for.body.i25.lr.ph, label %take.exit21

for.body.i25.lr.ph:
  %cmp1.i26 = icmp slt i64 %4, 0
  br label %for.body.i25

for.body.i25:
  %k.0.i2343 = phi i64 [ 0, %for.body.i25.lr.ph ], [ %inc.i37, %incref.exit.i36 ]
  %arrayidx.i40 = getelementptr ptr, ptr %room, i64 %k.0.i2343
  br i1 %cmp1.i26, label %cond.end.i30, label %cond.false.i27

cond.false.i27:
  %5 = load ptr, ptr %arrayidx.i40, align 8
  %add.ptr.i.i29 = getelementptr i8, ptr %5, i64 %4
  br label %cond.end.i30

cond.end.i30:
  %cond.i31.in = phi ptr [ %add.ptr.i.i29, %cond.false.i27 ], [ %arrayidx.i40, %for.body.i25 ]
  %cond.i31 = load ptr, ptr %cond.i31.in, align 8
  %arrayidx3.i32 = getelementptr ptr, ptr %add.ptr1.i, i64 %k.0.i2343
  store ptr %cond.i31, ptr %arrayidx3.i32, align 8
  %6 = load i64, ptr %cond.i31, align 8
  %add.i.i33 = add i64 %6, 1
  %cmp.i.i34 = icmp ult i64 %add.i.i33, 2147483648
  br i1 %cmp.i.i34, label %if.then.i.i38, label %if.else.i.i35

if.then.i.i38:
  store i64 %add.i.i33, ptr %cond.i31, align 8
  br label %incref.exit.i36

if.else.i.i35:
  call void @Py_IncRef(ptr noundef nonnull %cond.i31) #7
  br label %incref.exit.i36

incref.exit.i36:
  %inc.i37 = add nuw nsw i64 %k.0.i2343, 1
  %exitcond.not = icmp eq i64 %inc.i37, %3
  br i1 %exitcond.not, label %take.exit41, label %for.body.i25

take.exit41:
  %value.i = getelementptr inbounds i8, ptr %model, i64 192
  %7 = load i64, ptr %value.i, align 8
  br i1 %cmp.i2442, label %for.body.i12.lr.ph, label %take.exit21

for.body.i12.lr.ph:
  %cmp1.i = icmp slt i64 %7, 0
  br label %for.body.i12

for.body.i12:
  %k.0.i1045 = phi i64 [ 0, %for.body.i12.lr.ph ], [ %inc.i18, %incref.exit.i17 ]
  %arrayidx.i20 = getelementptr ptr, ptr %room, i64 %k.0.i1045
  br i1 %cmp1.i, label %cond.end.i, label %cond.false.i

cond.false.i:
  %8 = load ptr, ptr %arrayidx.i20, align 8
  %add.ptr.i.i = getelementptr i8, ptr %8, i64 %7
  br label %cond.end.i

cond.end.i:
  %cond.i.in = phi ptr [ %add.ptr.i.i, %cond.false.i ], [ %arrayidx.i20, %for.body.i12 ]
  %cond.i = load ptr, ptr %cond.i.in, align 8
  %arrayidx3.i13 = getelementptr ptr, ptr %room, i64 %k.0.i1045
  store ptr %cond.i, ptr %arrayidx3.i13, align 8
  %9 = load i64, ptr %cond.i, align 8
  %add.i.i14 = add i64 %9, 1
  %cmp.i.i15 = icmp ult i64 %add.i.i14, 2147483648
  br i1 %cmp.i.i15, label %if.then.i.i19, label %if.else.i.i16

if.then.i.i19:
  store i64 %add.i.i14, ptr %cond.i, align 8
  br label %incref.exit.i17

if.else.i.i16:
  call void @Py_IncRef(ptr noundef nonnull %cond.i) #7
  br label %incref.exit.i17

incref.exit.i17:
  %inc.i18 = add nuw nsw i64 %k.0.i1045, 1
  %exitcond48.not = icmp eq i64 %inc.i18, %3
  br i1 %exitcond48.not, label %take.exit21, label %for.body.i12

take.exit21:
  %10 = load i64, ptr %made_count.i, align 8
  %cmp.i46 = icmp sgt i64 %10, 0
  br i1 %cmp.i46, label %for.body.i, label %take.exit

for.body.i:
  %k.0.i47 = phi i64 [ %inc.i, %incref.exit.i7 ], [ 0, %take.exit21 ]
  %arrayidx.i = getelementptr ptr, ptr %add.ptr.i, i64 %k.0.i47
  %11 = load ptr, ptr %arrayidx.i, align 8
  %12 = load i64, ptr %11, align 8
  %add.i.i4 = add i64 %12, 1
  %cmp.i.i5 = icmp ult i64 %add.i.i4, 2147483648
  br i1 %cmp.i.i5, label %if.then.i.i8, label %if.else.i.i6

if.then.i.i8:
  store i64 %add.i.i4, ptr %11, align 8
  br label %incref.exit.i7

if.else.i.i6:
  call void @Py_IncRef(ptr noundef nonnull %11) #7
  br label %incref.exit.i7

incref.exit.i7:
  %inc.i = add nuw nsw i64 %k.0.i47, 1
  %exitcond49.not = icmp eq i64 %inc.i, %10
  br i1 %exitcond49.not, label %take.exit, label %for.body.i

take.exit:
  call void @llvm.lifetime.start.p0(i64 32, ptr nonnull %parts.i) #8
  %13 = load i64, ptr %count.i, align 8
  %mul17.i = shl i64 %13, 3
  %call18.i = call ptr @PyBytes_FromStringAndSize(ptr noundef nonnull %words, i64 noundef %mul17.i) #7
  store ptr %call18.i, ptr %parts.i, align 16
  %arrayinit.element.i = getelementptr inbounds i8, ptr %parts.i, i64 8
  %call19.i = call fastcc ptr @tuple_of(ptr noundef nonnull %add.ptr1.i, i64 noundef %3) #9
  store ptr %call19.i, ptr %arrayinit.element.i, align 8
  %arrayinit.element20.i = getelementptr inbounds i8, ptr %parts.i, i64 16
  %call21.i = call fastcc ptr @tuple_of(ptr noundef nonnull %room, i64 noundef %3) #9
  store ptr %call21.i, ptr %arrayinit.element20.i, align 16
  %arrayinit.element22.i = getelementptr inbounds i8, ptr %parts.i, i64 24
  %call24.i = call fastcc ptr @tuple_of(ptr noundef nonnull %add.ptr.i, i64 noundef %10) #9
  store ptr %call24.i, ptr %arrayinit.element22.i, align 8
  %call25.i = call fastcc ptr @tuple_of_four(ptr noundef nonnull %parts.i) #9
  call void @llvm.lifetime.end.p0(i64 32, ptr nonnull %parts.i) #8
  br label %walked.exit

walked.exit:
  %retval.0.i = phi ptr [ %call25.i, %take.exit ], [ @_Py_NoneStruct, %if.else.i.i ], [ @_Py_NoneStruct, %if.then.i.i ]
  call void @llvm.lifetime.end.p0(i64 88, ptr nonnull %walk.i) #8
  call void @llvm.lifetime.end.p0(i64 24576, ptr nonnull %room) #8
  call void @llvm.lifetime.end.p0(i64 32768, ptr nonnull %words) #8
  call void @llvm.lifetime.end.p0(i64 16384, ptr nonnull %table) #8
  ret ptr %retval.0.i
}

declare void @Py_IncRef(ptr noundef) local_unnamed_addr #3

declare ptr @PyObject_Vectorcall(ptr noundef, ptr noundef, i64 noundef, ptr noundef) local_unnamed_addr #3

declare ptr @PyTuple_New(i64 noundef) local_unnamed_addr #3

; Function Attrs: mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg) #4

declare ptr @PyDict_GetItemWithError(ptr noundef, ptr noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc ptr @record(ptr nocapture noundef readonly %model, ptr nocapture noundef readonly %recipe, ptr nocapture noundef readonly %operands, i1 noundef zeroext %recording) unnamed_addr #0 {
entry:
  %made = alloca %struct.Made, align 8
  call void @llvm.lifetime.start.p0(i64 528, ptr nonnull %made) #8
  %count = getelementptr inbounds i8, ptr %made, i64 520
  store i64 0, ptr %count, align 8
  %calls = getelementptr inbounds i8, ptr %made, i64 512
  store i64 0, ptr %calls, align 8
  %ob_size.i34 = getelementptr inbounds i8, ptr %recipe, i64 16
  %0 = load i64, ptr %ob_size.i34, align 8
  %cmp.not35 = icmp sgt i64 %0, 0
  br i1 %cmp.not35, label %for.body.lr.ph, label %for.end

for.body.lr.ph:
  %1 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i.i = getelementptr i8, ptr %recipe, i64 %1
  %first = getelementptr inbounds i8, ptr %made, i64 256
  %results13 = getelementptr inbounds i8, ptr %model, i64 264
  br label %for.body

for.body:
  %n.036 = phi i64 [ 0, %for.body.lr.ph ], [ %inc19, %if.end ]
  %arrayidx.i = getelementptr ptr, ptr %add.ptr.i.i, i64 %n.036
  %2 = load ptr, ptr %arrayidx.i, align 8
  %call3 = call fastcc ptr @arguments_of(ptr noundef %model, ptr noundef %2, ptr noundef %operands, ptr noundef nonnull %made) #9
  %tobool.not = icmp eq ptr %call3, null
  br i1 %tobool.not, label %if.then, label %lor.lhs.false

lor.lhs.false:
  %3 = load i64, ptr %count, align 8
  %add.ptr = getelementptr ptr, ptr %made, i64 %3
  %call6 = call fastcc zeroext i1 @record_call(ptr noundef %model, ptr noundef %2, ptr noundef nonnull %call3, i1 noundef zeroext %recording, ptr noundef %add.ptr) #9
  br i1 %call6, label %if.end, label %if.then

if.then:
  %4 = load i64, ptr %count, align 8
  call fastcc void @drop_all(ptr noundef nonnull %made, i64 noundef %4) #9
  br label %cleanup23

if.end:
  %5 = load i64, ptr %count, align 8
  %6 = load i64, ptr %calls, align 8
  %inc = add i64 %6, 1
  store i64 %inc, ptr %calls, align 8
  %arrayidx = getelementptr [32 x i64], ptr %first, i64 0, i64 %6
  store i64 %5, ptr %arrayidx, align 8
  %7 = load i64, ptr %results13, align 8
  %add.ptr.i = getelementptr i8, ptr %2, i64 %7
  %8 = load ptr, ptr %add.ptr.i, align 8
  %ob_size.i = getelementptr inbounds i8, ptr %8, i64 16
  %9 = load i64, ptr %ob_size.i, align 8
  %add = add i64 %5, %9
  store i64 %add, ptr %count, align 8
  %inc19 = add nuw nsw i64 %n.036, 1
  %10 = load i64, ptr %ob_size.i34, align 8
  %cmp.not = icmp slt i64 %inc19, %10
  br i1 %cmp.not, label %for.body, label %for.end

for.end:
  %call22 = call fastcc ptr @result_of(ptr noundef nonnull %made) #9
  br label %cleanup23

cleanup23:
  %retval.3 = phi ptr [ %call22, %for.end ], [ null, %if.then ]
  call void @llvm.lifetime.end.p0(i64 528, ptr nonnull %made) #8
  ret ptr %retval.3
}

declare i32 @PyContextVar_Get(ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc ptr @arguments_of(ptr nocapture noundef readonly %model, ptr nocapture noundef readonly %call, ptr nocapture noundef readonly %operands, ptr nocapture noundef readonly %made) unnamed_addr #0 {
entry:
  %given.i = alloca [2 x ptr], align 16
  %call1 = getelementptr inbounds i8, ptr %model, i64 248
  %0 = load i64, ptr %call1, align 8
  %add.ptr.i31 = getelementptr i8, ptr %call, i64 %0
  %1 = load ptr, ptr %add.ptr.i31, align 8
  %2 = load i64, ptr @python_bytes_data, align 8
  %add.ptr = getelementptr i8, ptr %1, i64 %2
  %ob_size.i = getelementptr inbounds i8, ptr %1, i64 16
  %3 = load i64, ptr %ob_size.i, align 8
  %div = sdiv i64 %3, 24
  %call5 = tail call ptr @PyTuple_New(i64 noundef %div) #7
  %tobool = icmp eq ptr %call5, null
  %cmp43 = icmp slt i64 %3, 24
  %.not44 = or i1 %tobool, %cmp43
  br i1 %.not44, label %cleanup10, label %for.body.lr.ph

for.body.lr.ph:
  %arrayinit.element.i = getelementptr inbounds i8, ptr %given.i, i64 8
  %of_number.i = getelementptr inbounds i8, ptr %model, i64 56
  %4 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i41 = getelementptr i8, ptr %call5, i64 %4
  %first.i = getelementptr inbounds i8, ptr %made, i64 256
  br label %for.body

for.body:
  %k.045 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.inc ]
  %arrayidx = getelementptr %struct.Origin, ptr %add.ptr, i64 %k.045
  %5 = load i64, ptr %arrayidx, align 8
  %cmp.i28 = icmp sgt i64 %5, -1
  br i1 %cmp.i28, label %if.then.i30, label %if.else.i29

if.then.i30:
  %arrayidx.i = getelementptr [32 x i64], ptr %first.i, i64 0, i64 %5
  %6 = load i64, ptr %arrayidx.i, align 8
  %position.i = getelementptr inbounds i8, ptr %arrayidx, i64 8
  %7 = load i64, ptr %position.i, align 8
  %add.i = add i64 %7, %6
  %arrayidx2.i = getelementptr [32 x ptr], ptr %made, i64 0, i64 %add.i
  %8 = load ptr, ptr %arrayidx2.i, align 8
  br label %if.end17.i

if.else.i29:
  %cmp4.i = icmp eq i64 %5, -2
  br i1 %cmp4.i, label %if.then5.i, label %if.else7.i

if.then5.i:
  %position6.i = getelementptr inbounds i8, ptr %arrayidx, i64 8
  %9 = load i64, ptr %position6.i, align 8
  %10 = inttoptr i64 %9 to ptr
  br label %if.end17.i

if.else7.i:
  %dtype.i = getelementptr inbounds i8, ptr %arrayidx, i64 16
  %11 = load ptr, ptr %dtype.i, align 8
  %tobool.not.i = icmp eq ptr %11, null
  br i1 %tobool.not.i, label %if.else13.i, label %argument_of.exit

if.else13.i:
  %position14.i = getelementptr inbounds i8, ptr %arrayidx, i64 8
  %12 = load i64, ptr %position14.i, align 8
  %arrayidx15.i = getelementptr ptr, ptr %operands, i64 %12
  %13 = load ptr, ptr %arrayidx15.i, align 8
  br label %if.end17.i

if.end17.i:
  %found.0.i = phi ptr [ %8, %if.then.i30 ], [ %10, %if.then5.i ], [ %13, %if.else13.i ]
  %14 = load i64, ptr %found.0.i, align 8
  %add.i.i = add i64 %14, 1
  %cmp.i.i = icmp ult i64 %add.i.i, 2147483648
  br i1 %cmp.i.i, label %if.then.i.i, label %if.else.i.i

if.then.i.i:
  store i64 %add.i.i, ptr %found.0.i, align 8
  br label %for.inc

if.else.i.i:
  call void @Py_IncRef(ptr noundef nonnull %found.0.i) #7
  br label %for.inc

argument_of.exit:
  call void @llvm.lifetime.start.p0(i64 16, ptr nonnull %given.i) #8
  %position9.i = getelementptr inbounds i8, ptr %arrayidx, i64 8
  %15 = load i64, ptr %position9.i, align 8
  %arrayidx10.i = getelementptr ptr, ptr %operands, i64 %15
  %16 = load ptr, ptr %arrayidx10.i, align 8
  store ptr %16, ptr %given.i, align 16
  store ptr %11, ptr %arrayinit.element.i, align 8
  %17 = load ptr, ptr %of_number.i, align 8
  %call12.i = call ptr @PyObject_Vectorcall(ptr noundef %17, ptr noundef nonnull %given.i, i64 noundef 2, ptr noundef null) #7
  call void @llvm.lifetime.end.p0(i64 16, ptr nonnull %given.i) #8
  %tobool7.not.not = icmp eq ptr %call12.i, null
  br i1 %tobool7.not.not, label %if.then, label %for.inc

if.then:
  %18 = load i64, ptr %call5, align 8
  %sub1.i = add i64 %18, -2
  %cmp.i = icmp ult i64 %sub1.i, 2147483647
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  %sub.i = add nsw i64 %18, -1
  store i64 %sub.i, ptr %call5, align 8
  br label %cleanup10

if.else.i:
  call void @Py_DecRef(ptr noundef nonnull %call5) #7
  br label %cleanup10

for.inc:
  %found.0.i.sink = phi ptr [ %call12.i, %argument_of.exit ], [ %found.0.i, %if.else.i.i ], [ %found.0.i, %if.then.i.i ]
  %arrayidx9 = getelementptr ptr, ptr %add.ptr.i41, i64 %k.045
  store ptr %found.0.i.sink, ptr %arrayidx9, align 8
  %inc = add nuw nsw i64 %k.045, 1
  %cmp.not = icmp slt i64 %inc, %div
  br i1 %cmp.not, label %for.body, label %cleanup10

cleanup10:
  %spec.select = phi ptr [ null, %if.else.i ], [ null, %if.then.i ], [ %call5, %entry ], [ %call5, %for.inc ]
  ret ptr %spec.select
}

; Function Attrs: noinline nounwind
define internal fastcc noundef zeroext i1 @record_call(ptr nocapture noundef readonly %model, ptr nocapture noundef readonly %call, ptr noundef %arguments, i1 noundef zeroext %recording, ptr noundef %results) unnamed_addr #0 {
entry:
  %overflow.i = alloca i32, align 4
  %results2 = getelementptr inbounds i8, ptr %model, i64 264
  %0 = load i64, ptr %results2, align 8
  %add.ptr.i169 = getelementptr i8, ptr %call, i64 %0
  %1 = load ptr, ptr %add.ptr.i169, align 8
  %ob_size.i = getelementptr inbounds i8, ptr %1, i64 16
  %2 = load i64, ptr %ob_size.i, align 8
  br i1 %recording, label %for.cond.i.preheader, label %land.end

for.cond.i.preheader:
  %ob_size.i.i = getelementptr inbounds i8, ptr %arguments, i64 16
  %3 = load i64, ptr %ob_size.i.i, align 8
  %cmp.i84.not181 = icmp sgt i64 %3, 0
  br i1 %cmp.i84.not181, label %for.body.i.lr.ph, label %land.end

for.body.i.lr.ph:
  %4 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i.i.i = getelementptr i8, ptr %arguments, i64 %4
  %requires_grad.i = getelementptr inbounds i8, ptr %model, i64 152
  %stops.i = getelementptr inbounds i8, ptr %model, i64 176
  br label %for.body.i

for.body.i:
  %k.0.i182 = phi i64 [ 0, %for.body.i.lr.ph ], [ %inc.i, %if.end.i ]
  %arrayidx.i.i = getelementptr ptr, ptr %add.ptr.i.i.i, i64 %k.0.i182
  %5 = load ptr, ptr %arrayidx.i.i, align 8
  %6 = load i64, ptr %requires_grad.i, align 8
  %add.ptr.i168 = getelementptr i8, ptr %5, i64 %6
  %7 = load ptr, ptr %add.ptr.i168, align 8
  %cmp.i17.i = icmp eq ptr %7, @_Py_TrueStruct
  br i1 %cmp.i17.i, label %land.lhs.true.i, label %is_true.exit21.i

is_true.exit21.i:
  %call.i19.i = tail call i32 @PyObject_IsTrue(ptr noundef %7) #7
  %cmp1.i20.i = icmp eq i32 %call.i19.i, 1
  br i1 %cmp1.i20.i, label %land.lhs.true.i, label %if.end.i

land.lhs.true.i:
  %8 = load i64, ptr %stops.i, align 8
  %add.ptr.i167 = getelementptr i8, ptr %5, i64 %8
  %9 = load ptr, ptr %add.ptr.i167, align 8
  %cmp.i.i = icmp eq ptr %9, @_Py_TrueStruct
  br i1 %cmp.i.i, label %if.end.i, label %is_true.exit.i

is_true.exit.i:
  %call.i16.i = tail call i32 @PyObject_IsTrue(ptr noundef %9) #7
  %cmp1.i.i = icmp eq i32 %call.i16.i, 1
  br i1 %cmp1.i.i, label %if.end.i, label %land.end

if.end.i:
  %inc.i = add nuw nsw i64 %k.0.i182, 1
  %10 = load i64, ptr %ob_size.i.i, align 8
  %cmp.i84.not = icmp slt i64 %inc.i, %10
  br i1 %cmp.i84.not, label %for.body.i, label %land.end

land.end:
  %11 = phi i1 [ false, %entry ], [ false, %for.cond.i.preheader ], [ false, %if.end.i ], [ true, %is_true.exit.i ]
  %program = getelementptr inbounds i8, ptr %model, i64 256
  %12 = load i64, ptr %program, align 8
  %add.ptr.i170 = getelementptr i8, ptr %call, i64 %12
  %13 = load ptr, ptr %add.ptr.i170, align 8
  %call9 = tail call fastcc ptr @new_node(ptr noundef nonnull %model, ptr noundef %13, ptr noundef %arguments) #9
  %tobool.not = icmp eq ptr %call9, null
  br i1 %tobool.not, label %cleanup, label %while.cond.preheader

while.cond.preheader:
  %cmp184 = icmp sgt i64 %2, 0
  br i1 %cmp184, label %land.rhs10.lr.ph, label %while.end

land.rhs10.lr.ph:
  %14 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i.i = getelementptr i8, ptr %1, i64 %14
  %spec10.i = getelementptr inbounds i8, ptr %model, i64 272
  %is_float.i = getelementptr inbounds i8, ptr %model, i64 280
  %tensor16.i = getelementptr inbounds i8, ptr %model, i64 112
  %shape.i = getelementptr inbounds i8, ptr %model, i64 160
  %shape18.i = getelementptr inbounds i8, ptr %model, i64 288
  %spec25.i = getelementptr inbounds i8, ptr %model, i64 168
  %node27.i = getelementptr inbounds i8, ptr %model, i64 136
  %index29.i = getelementptr inbounds i8, ptr %model, i64 128
  %requires_grad.i93 = getelementptr inbounds i8, ptr %model, i64 152
  %stops.i94 = getelementptr inbounds i8, ptr %model, i64 176
  %cond.i = select i1 %recording, ptr @_Py_FalseStruct, ptr @_Py_TrueStruct
  %value.i = getelementptr inbounds i8, ptr %model, i64 192
  %grad.i = getelementptr inbounds i8, ptr %model, i64 120
  %owner.i = getelementptr inbounds i8, ptr %model, i64 144
  %users.i = getelementptr inbounds i8, ptr %model, i64 184
  br label %land.rhs10

land.rhs10:
  %made.0185 = phi i64 [ 0, %land.rhs10.lr.ph ], [ %inc, %while.body ]
  %arrayidx.i = getelementptr ptr, ptr %add.ptr.i.i, i64 %made.0185
  %15 = load ptr, ptr %arrayidx.i, align 8
  %16 = load ptr, ptr %model, align 8
  %call.i85 = tail call ptr @PyType_GenericAlloc(ptr noundef %16, i64 noundef 0) #7
  %call2.i = tail call ptr @PyLong_FromLongLong(i64 noundef %made.0185) #7
  %tobool.i = icmp ne ptr %call.i85, null
  %tobool3.i = icmp ne ptr %call2.i, null
  %or.cond.i = select i1 %tobool.i, i1 %tobool3.i, i1 false
  br i1 %or.cond.i, label %if.end9.i, label %if.then.i86

if.then.i86:
  br i1 %tobool.i, label %if.then5.i, label %if.end.i87

if.then5.i:
  %17 = load i64, ptr %call.i85, align 8
  %sub1.i79.i = add i64 %17, -2
  %cmp.i80.i = icmp ult i64 %sub1.i79.i, 2147483647
  br i1 %cmp.i80.i, label %if.then.i82.i, label %if.else.i81.i

if.then.i82.i:
  %sub.i83.i = add nsw i64 %17, -1
  store i64 %sub.i83.i, ptr %call.i85, align 8
  br label %if.end.i87

if.else.i81.i:
  tail call void @Py_DecRef(ptr noundef nonnull %call.i85) #7
  br label %if.end.i87

if.end.i87:
  br i1 %tobool3.i, label %if.then7.i, label %new_result.exit.thread

if.then7.i:
  %18 = load i64, ptr %call2.i, align 8
  %sub1.i.i = add i64 %18, -2
  %cmp.i.i88 = icmp ult i64 %sub1.i.i, 2147483647
  br i1 %cmp.i.i88, label %if.then.i.i, label %if.else.i.i

if.then.i.i:
  %sub.i.i = add nsw i64 %18, -1
  store i64 %sub.i.i, ptr %call2.i, align 8
  br label %new_result.exit.thread

if.else.i.i:
  tail call void @Py_DecRef(ptr noundef nonnull %call2.i) #7
  br label %new_result.exit.thread

if.end9.i:
  %19 = load i64, ptr %is_float.i, align 8
  %add.ptr.i166 = getelementptr i8, ptr %15, i64 %19
  %20 = load ptr, ptr %add.ptr.i166, align 8
  %cmp.i85.i = icmp eq ptr %20, @_Py_TrueStruct
  br i1 %cmp.i85.i, label %is_true.exit.i91, label %lor.rhs.i.i89

lor.rhs.i.i89:
  %call.i86.i = tail call i32 @PyObject_IsTrue(ptr noundef %20) #7
  %cmp1.i.i90 = icmp eq i32 %call.i86.i, 1
  br label %is_true.exit.i91

is_true.exit.i91:
  %21 = phi i1 [ true, %if.end9.i ], [ %cmp1.i.i90, %lor.rhs.i.i89 ]
  %and76.i = and i1 %11, %21
  %22 = load i64, ptr %shape.i, align 8
  %23 = load i64, ptr %shape18.i, align 8
  %add.ptr.i165 = getelementptr i8, ptr %15, i64 %23
  %24 = load ptr, ptr %add.ptr.i165, align 8
  %25 = load i64, ptr %24, align 8
  %add.i.i138 = add i64 %25, 1
  %cmp.i.i139 = icmp ult i64 %add.i.i138, 2147483648
  br i1 %cmp.i.i139, label %if.then.i.i141, label %if.else.i.i140

if.then.i.i141:
  store i64 %add.i.i138, ptr %24, align 8
  br label %set.exit142

if.else.i.i140:
  tail call void @Py_IncRef(ptr noundef nonnull %24) #7
  br label %set.exit142

set.exit142:
  %add.ptr.i163 = getelementptr i8, ptr %call.i85, i64 %22
  store ptr %24, ptr %add.ptr.i163, align 8
  %26 = load i64, ptr %tensor16.i, align 8
  %27 = load i64, ptr %spec10.i, align 8
  %add.ptr.i164 = getelementptr i8, ptr %15, i64 %27
  %28 = load ptr, ptr %add.ptr.i164, align 8
  %29 = load i64, ptr %28, align 8
  %add.i.i133 = add i64 %29, 1
  %cmp.i.i134 = icmp ult i64 %add.i.i133, 2147483648
  br i1 %cmp.i.i134, label %if.then.i.i136, label %if.else.i.i135

if.then.i.i136:
  store i64 %add.i.i133, ptr %28, align 8
  br label %set.exit137

if.else.i.i135:
  tail call void @Py_IncRef(ptr noundef nonnull %28) #7
  br label %set.exit137

set.exit137:
  %add.ptr.i162 = getelementptr i8, ptr %call.i85, i64 %26
  store ptr %28, ptr %add.ptr.i162, align 8
  %30 = load i64, ptr %spec25.i, align 8
  %31 = load i64, ptr %15, align 8
  %add.i.i128 = add i64 %31, 1
  %cmp.i.i129 = icmp ult i64 %add.i.i128, 2147483648
  br i1 %cmp.i.i129, label %if.then.i.i131, label %if.else.i.i130

if.then.i.i131:
  store i64 %add.i.i128, ptr %15, align 8
  br label %set.exit132

if.else.i.i130:
  tail call void @Py_IncRef(ptr noundef nonnull %15) #7
  br label %set.exit132

set.exit132:
  %add.ptr.i161 = getelementptr i8, ptr %call.i85, i64 %30
  store ptr %15, ptr %add.ptr.i161, align 8
  %32 = load i64, ptr %node27.i, align 8
  %33 = load i64, ptr %call9, align 8
  %add.i.i123 = add i64 %33, 1
  %cmp.i.i124 = icmp ult i64 %add.i.i123, 2147483648
  br i1 %cmp.i.i124, label %if.then.i.i126, label %if.else.i.i125

if.then.i.i126:
  store i64 %add.i.i123, ptr %call9, align 8
  br label %set.exit127

if.else.i.i125:
  tail call void @Py_IncRef(ptr noundef nonnull %call9) #7
  br label %set.exit127

set.exit127:
  %add.ptr.i160 = getelementptr i8, ptr %call.i85, i64 %32
  store ptr %call9, ptr %add.ptr.i160, align 8
  %34 = load i64, ptr %index29.i, align 8
  %add.ptr.i = getelementptr i8, ptr %call.i85, i64 %34
  store ptr %call2.i, ptr %add.ptr.i, align 8
  %35 = load i64, ptr %requires_grad.i93, align 8
  %cond.i172 = select i1 %and76.i, ptr @_Py_TrueStruct, ptr @_Py_FalseStruct
  %36 = load i64, ptr %cond.i172, align 8
  %add.i.i118 = add i64 %36, 1
  %cmp.i.i119 = icmp ult i64 %add.i.i118, 2147483648
  br i1 %cmp.i.i119, label %if.then.i.i121, label %if.else.i.i120

if.then.i.i121:
  store i64 %add.i.i118, ptr %cond.i172, align 8
  br label %set.exit122

if.else.i.i120:
  tail call void @Py_IncRef(ptr noundef nonnull %cond.i172) #7
  br label %set.exit122

set.exit122:
  %add.ptr.i159 = getelementptr i8, ptr %call.i85, i64 %35
  store ptr %cond.i172, ptr %add.ptr.i159, align 8
  %37 = load i64, ptr %stops.i94, align 8
  %38 = load i64, ptr %cond.i, align 8
  %add.i.i113 = add i64 %38, 1
  %cmp.i.i114 = icmp ult i64 %add.i.i113, 2147483648
  br i1 %cmp.i.i114, label %if.then.i.i116, label %if.else.i.i115

if.then.i.i116:
  store i64 %add.i.i113, ptr %cond.i, align 8
  br label %set.exit117

if.else.i.i115:
  tail call void @Py_IncRef(ptr noundef nonnull %cond.i) #7
  br label %set.exit117

set.exit117:
  %add.ptr.i158 = getelementptr i8, ptr %call.i85, i64 %37
  store ptr %cond.i, ptr %add.ptr.i158, align 8
  %39 = load i64, ptr %value.i, align 8
  %40 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i.i108 = add i64 %40, 1
  %cmp.i.i109 = icmp ult i64 %add.i.i108, 2147483648
  br i1 %cmp.i.i109, label %if.then.i.i111, label %if.else.i.i110

if.then.i.i111:
  store i64 %add.i.i108, ptr @_Py_NoneStruct, align 8
  br label %set.exit112

if.else.i.i110:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %set.exit112

set.exit112:
  %add.ptr.i157 = getelementptr i8, ptr %call.i85, i64 %39
  store ptr @_Py_NoneStruct, ptr %add.ptr.i157, align 8
  %41 = load i64, ptr %grad.i, align 8
  %42 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i.i103 = add i64 %42, 1
  %cmp.i.i104 = icmp ult i64 %add.i.i103, 2147483648
  br i1 %cmp.i.i104, label %if.then.i.i106, label %if.else.i.i105

if.then.i.i106:
  store i64 %add.i.i103, ptr @_Py_NoneStruct, align 8
  br label %set.exit107

if.else.i.i105:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %set.exit107

set.exit107:
  %add.ptr.i156 = getelementptr i8, ptr %call.i85, i64 %41
  store ptr @_Py_NoneStruct, ptr %add.ptr.i156, align 8
  %43 = load i64, ptr %owner.i, align 8
  %44 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i.i98 = add i64 %44, 1
  %cmp.i.i99 = icmp ult i64 %add.i.i98, 2147483648
  br i1 %cmp.i.i99, label %if.then.i.i101, label %if.else.i.i100

if.then.i.i101:
  store i64 %add.i.i98, ptr @_Py_NoneStruct, align 8
  br label %set.exit102

if.else.i.i100:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %set.exit102

set.exit102:
  %add.ptr.i155 = getelementptr i8, ptr %call.i85, i64 %43
  store ptr @_Py_NoneStruct, ptr %add.ptr.i155, align 8
  %45 = load i64, ptr %users.i, align 8
  %46 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i.i = add i64 %46, 1
  %cmp.i.i95 = icmp ult i64 %add.i.i, 2147483648
  br i1 %cmp.i.i95, label %if.then.i.i97, label %if.else.i.i96

if.then.i.i97:
  store i64 %add.i.i, ptr @_Py_NoneStruct, align 8
  br label %while.body

if.else.i.i96:
  tail call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %while.body

new_result.exit.thread:
  %arrayidx174 = getelementptr ptr, ptr %results, i64 %made.0185
  store ptr null, ptr %arrayidx174, align 8
  br label %while.end

while.body:
  %add.ptr.i154 = getelementptr i8, ptr %call.i85, i64 %45
  store ptr @_Py_NoneStruct, ptr %add.ptr.i154, align 8
  %arrayidx = getelementptr ptr, ptr %results, i64 %made.0185
  store ptr %call.i85, ptr %arrayidx, align 8
  %inc = add nuw nsw i64 %made.0185, 1
  %exitcond.not = icmp eq i64 %inc, %2
  br i1 %exitcond.not, label %land.rhs18, label %land.rhs10

while.end:
  %made.0180 = phi i64 [ %made.0185, %new_result.exit.thread ], [ 0, %while.cond.preheader ]
  %cmp17 = icmp eq i64 %made.0180, %2
  br i1 %cmp17, label %land.rhs18, label %if.then37

land.rhs18:
  %made.0180195 = phi i64 [ %made.0180, %while.end ], [ %2, %while.body ]
  %cmp19 = icmp eq i64 %2, 1
  br i1 %cmp19, label %land.lhs.true, label %land.end21

land.end21:
  %call20 = tail call fastcc zeroext i1 @set_outputs(ptr noundef nonnull %model, ptr noundef nonnull %call9, ptr noundef %results, i64 noundef %2) #9
  br i1 %call20, label %land.lhs.true, label %if.then37

land.lhs.true:
  %depth = getelementptr inbounds i8, ptr %model, i64 216
  %47 = load i64, ptr %depth, align 8
  %add.ptr.i171 = getelementptr i8, ptr %call9, i64 %47
  %48 = load ptr, ptr %add.ptr.i171, align 8
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %overflow.i) #8
  %call.i77 = call i64 @PyLong_AsLongLongAndOverflow(ptr noundef %48, ptr noundef nonnull %overflow.i) #7
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %overflow.i) #8
  %most_waiting = getelementptr inbounds i8, ptr %model, i64 88
  %49 = load i64, ptr %most_waiting, align 8
  %cmp27 = icmp sgt i64 %call.i77, %49
  br i1 %cmp27, label %if.then28, label %if.end38

if.then28:
  %realize = getelementptr inbounds i8, ptr %model, i64 80
  %50 = load ptr, ptr %realize, align 8
  %call29 = call ptr @PyObject_Vectorcall(ptr noundef %50, ptr noundef %results, i64 noundef 1, ptr noundef null) #7
  %cmp30.not = icmp eq ptr %call29, null
  br i1 %cmp30.not, label %if.then37, label %if.then33

if.then33:
  %51 = load i64, ptr %call29, align 8
  %sub1.i78 = add i64 %51, -2
  %cmp.i79 = icmp ult i64 %sub1.i78, 2147483647
  br i1 %cmp.i79, label %if.then.i81, label %if.else.i80

if.then.i81:
  %sub.i82 = add nsw i64 %51, -1
  store i64 %sub.i82, ptr %call29, align 8
  br label %if.end38

if.else.i80:
  call void @Py_DecRef(ptr noundef nonnull %call29) #7
  br label %if.end38

if.then37:
  %made.0180194 = phi i64 [ %made.0180, %while.end ], [ %made.0180195, %land.end21 ], [ %made.0180195, %if.then28 ]
  call fastcc void @drop_all(ptr noundef %results, i64 noundef %made.0180194) #9
  br label %if.end38

if.end38:
  %done.0.in178 = phi i1 [ false, %if.then37 ], [ true, %if.else.i80 ], [ true, %if.then.i81 ], [ true, %land.lhs.true ]
  %52 = load i64, ptr %call9, align 8
  %sub1.i = add i64 %52, -2
  %cmp.i = icmp ult i64 %sub1.i, 2147483647
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  %sub.i = add nsw i64 %52, -1
  store i64 %sub.i, ptr %call9, align 8
  br label %cleanup

if.else.i:
  call void @Py_DecRef(ptr noundef nonnull %call9) #7
  br label %cleanup

cleanup:
  %retval.0 = phi i1 [ false, %land.end ], [ %done.0.in178, %if.then.i ], [ %done.0.in178, %if.else.i ]
  ret i1 %retval.0
}

; Function Attrs: noinline nounwind
define internal fastcc ptr @result_of(ptr nocapture noundef readonly %made) unnamed_addr #0 {
entry:
  %first = getelementptr inbounds i8, ptr %made, i64 256
  %calls = getelementptr inbounds i8, ptr %made, i64 512
  %0 = load i64, ptr %calls, align 8
  %sub = add i64 %0, -1
  %arrayidx = getelementptr [32 x i64], ptr %first, i64 0, i64 %sub
  %1 = load i64, ptr %arrayidx, align 8
  %count1 = getelementptr inbounds i8, ptr %made, i64 520
  %2 = load i64, ptr %count1, align 8
  %sub2 = sub i64 %2, %1
  %cmp = icmp eq i64 %sub2, 1
  br i1 %cmp, label %for.cond.cleanup.thread, label %cond.end

for.cond.cleanup.thread:
  %arrayidx3 = getelementptr [32 x ptr], ptr %made, i64 0, i64 %1
  %3 = load ptr, ptr %arrayidx3, align 8
  br label %cond.end18

cond.end:
  %call = tail call ptr @PyTuple_New(i64 noundef %sub2) #7
  %cmp4 = icmp sgt i64 %sub2, 1
  %tobool = icmp ne ptr %call, null
  %or.cond = select i1 %cmp4, i1 %tobool, i1 false
  br i1 %or.cond, label %for.body.lr.ph, label %cond.false16

for.body.lr.ph:
  %4 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i = getelementptr i8, ptr %call, i64 %4
  br label %for.body

for.cond.cleanup:
  br i1 %cmp, label %cond.end18, label %cond.false16

for.body:
  %k.044 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %incref.exit ]
  %add = add i64 %k.044, %1
  %arrayidx7 = getelementptr [32 x ptr], ptr %made, i64 0, i64 %add
  %5 = load ptr, ptr %arrayidx7, align 8
  %6 = load i64, ptr %5, align 8
  %add.i = add i64 %6, 1
  %cmp.i = icmp ult i64 %add.i, 2147483648
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  store i64 %add.i, ptr %5, align 8
  br label %incref.exit

if.else.i:
  tail call void @Py_IncRef(ptr noundef nonnull %5) #7
  br label %incref.exit

incref.exit:
  %7 = load ptr, ptr %arrayidx7, align 8
  %arrayidx12 = getelementptr ptr, ptr %add.ptr.i, i64 %k.044
  store ptr %7, ptr %arrayidx12, align 8
  %inc = add nuw nsw i64 %k.044, 1
  %cmp5 = icmp slt i64 %inc, %sub2
  br i1 %cmp5, label %for.body, label %for.cond.cleanup

cond.false16:
  %8 = load i64, ptr %count1, align 8
  br label %cond.end18

cond.end18:
  %cond4951 = phi ptr [ %call, %cond.false16 ], [ %call, %for.cond.cleanup ], [ %3, %for.cond.cleanup.thread ]
  %cond19 = phi i64 [ %8, %cond.false16 ], [ %1, %for.cond.cleanup ], [ %1, %for.cond.cleanup.thread ]
  tail call fastcc void @drop_all(ptr noundef nonnull %made, i64 noundef %cond19) #9
  ret ptr %cond4951
}

; Function Attrs: noinline nounwind
define internal fastcc ptr @new_node(ptr nocapture noundef readonly %model, ptr noundef %program, ptr noundef %arguments) unnamed_addr #0 {
entry:
  %overflow.i.i = alloca i32, align 4
  %ob_size.i.i = getelementptr inbounds i8, ptr %arguments, i64 16
  %0 = load i64, ptr %ob_size.i.i, align 8
  %cmp.i82113 = icmp sgt i64 %0, 0
  br i1 %cmp.i82113, label %for.body.i.lr.ph, label %depth_of.exit

for.body.i.lr.ph:
  %1 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i.i.i = getelementptr i8, ptr %arguments, i64 %1
  %node.i = getelementptr inbounds i8, ptr %model, i64 136
  %value.i = getelementptr inbounds i8, ptr %model, i64 192
  %depth8.i = getelementptr inbounds i8, ptr %model, i64 216
  br label %for.body.i

for.body.i:
  %2 = phi i64 [ %0, %for.body.i.lr.ph ], [ %10, %cleanup.i ]
  %depth.0.i115 = phi i64 [ 0, %for.body.i.lr.ph ], [ %depth.1.i, %cleanup.i ]
  %k.0.i114 = phi i64 [ 0, %for.body.i.lr.ph ], [ %inc.i, %cleanup.i ]
  %arrayidx.i.i = getelementptr ptr, ptr %add.ptr.i.i.i, i64 %k.0.i114
  %3 = load ptr, ptr %arrayidx.i.i, align 8
  %4 = load i64, ptr %node.i, align 8
  %add.ptr.i110 = getelementptr i8, ptr %3, i64 %4
  %5 = load ptr, ptr %add.ptr.i110, align 8
  %6 = load i64, ptr %value.i, align 8
  %add.ptr.i109 = getelementptr i8, ptr %3, i64 %6
  %7 = load ptr, ptr %add.ptr.i109, align 8
  %cmp5.i = icmp ne ptr %7, @_Py_NoneStruct
  %cmp6.i = icmp eq ptr %5, @_Py_NoneStruct
  %or.cond.i = select i1 %cmp5.i, i1 true, i1 %cmp6.i
  br i1 %or.cond.i, label %cleanup.i, label %if.end.i

if.end.i:
  %8 = load i64, ptr %depth8.i, align 8
  %add.ptr.i108 = getelementptr i8, ptr %5, i64 %8
  %9 = load ptr, ptr %add.ptr.i108, align 8
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %overflow.i.i) #8
  %call.i27.i = call i64 @PyLong_AsLongLongAndOverflow(ptr noundef %9, ptr noundef nonnull %overflow.i.i) #7
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %overflow.i.i) #8
  %cond.i = call i64 @llvm.smax.i64(i64 %call.i27.i, i64 %depth.0.i115)
  %.pre = load i64, ptr %ob_size.i.i, align 8
  br label %cleanup.i

cleanup.i:
  %10 = phi i64 [ %.pre, %if.end.i ], [ %2, %for.body.i ]
  %depth.1.i = phi i64 [ %cond.i, %if.end.i ], [ %depth.0.i115, %for.body.i ]
  %inc.i = add nuw nsw i64 %k.0.i114, 1
  %cmp.i82 = icmp slt i64 %inc.i, %10
  br i1 %cmp.i82, label %for.body.i, label %depth_of.exit

depth_of.exit:
  %depth.0.i.lcssa = phi i64 [ 0, %entry ], [ %depth.1.i, %cleanup.i ]
  %node_type = getelementptr inbounds i8, ptr %model, i64 8
  %11 = load ptr, ptr %node_type, align 8
  %call1 = call ptr @PyType_GenericAlloc(ptr noundef %11, i64 noundef 0) #7
  %tobool.not = icmp eq ptr %call1, null
  br i1 %tobool.not, label %if.then, label %cond.end

cond.end:
  %add = add nuw i64 %depth.0.i.lcssa, 1
  %call2 = call ptr @PyLong_FromLongLong(i64 noundef %add) #7
  %tobool3.not = icmp eq ptr %call2, null
  br i1 %tobool3.not, label %if.then, label %if.end6

if.then:
  %12 = load i64, ptr %arguments, align 8
  %sub1.i76 = add i64 %12, -2
  %cmp.i77 = icmp ult i64 %sub1.i76, 2147483647
  br i1 %cmp.i77, label %if.then.i79, label %if.else.i78

if.then.i79:
  %sub.i80 = add nsw i64 %12, -1
  store i64 %sub.i80, ptr %arguments, align 8
  br label %decref.exit81

if.else.i78:
  call void @Py_DecRef(ptr noundef nonnull %arguments) #7
  br label %decref.exit81

decref.exit81:
  br i1 %tobool.not, label %cleanup29, label %if.then5

if.then5:
  %13 = load i64, ptr %call1, align 8
  %sub1.i70 = add i64 %13, -2
  %cmp.i71 = icmp ult i64 %sub1.i70, 2147483647
  br i1 %cmp.i71, label %if.then.i73, label %if.else.i72

if.then.i73:
  %sub.i74 = add nsw i64 %13, -1
  store i64 %sub.i74, ptr %call1, align 8
  br label %cleanup29

if.else.i72:
  call void @Py_DecRef(ptr noundef nonnull %call1) #7
  br label %cleanup29

if.end6:
  %node7 = getelementptr inbounds i8, ptr %model, i64 200
  %program8 = getelementptr inbounds i8, ptr %model, i64 240
  %14 = load i64, ptr %program8, align 8
  %15 = load i64, ptr %program, align 8
  %add.i.i93 = add i64 %15, 1
  %cmp.i.i94 = icmp ult i64 %add.i.i93, 2147483648
  br i1 %cmp.i.i94, label %if.then.i.i96, label %if.else.i.i95

if.then.i.i96:
  store i64 %add.i.i93, ptr %program, align 8
  br label %set.exit97

if.else.i.i95:
  call void @Py_IncRef(ptr noundef nonnull %program) #7
  br label %set.exit97

set.exit97:
  %add.ptr.i107 = getelementptr i8, ptr %call1, i64 %14
  store ptr %program, ptr %add.ptr.i107, align 8
  %16 = load i64, ptr %node7, align 8
  %add.ptr.i = getelementptr i8, ptr %call1, i64 %16
  store ptr %arguments, ptr %add.ptr.i, align 8
  %cache = getelementptr inbounds i8, ptr %model, i64 208
  %17 = load i64, ptr %cache, align 8
  %18 = load i64, ptr @_Py_NoneStruct, align 8
  %add.i.i88 = add i64 %18, 1
  %cmp.i.i89 = icmp ult i64 %add.i.i88, 2147483648
  br i1 %cmp.i.i89, label %if.then.i.i91, label %if.else.i.i90

if.then.i.i91:
  store i64 %add.i.i88, ptr @_Py_NoneStruct, align 8
  br label %set.exit92

if.else.i.i90:
  call void @Py_IncRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %set.exit92

set.exit92:
  %add.ptr.i106 = getelementptr i8, ptr %call1, i64 %17
  store ptr @_Py_NoneStruct, ptr %add.ptr.i106, align 8
  %depth13 = getelementptr inbounds i8, ptr %model, i64 216
  %19 = load i64, ptr %depth13, align 8
  %add.ptr.i103 = getelementptr i8, ptr %call1, i64 %19
  store ptr %call2, ptr %add.ptr.i103, align 8
  %device = getelementptr inbounds i8, ptr %model, i64 224
  %20 = load i64, ptr %device, align 8
  %host = getelementptr inbounds i8, ptr %model, i64 40
  %21 = load ptr, ptr %host, align 8
  %22 = load i64, ptr %21, align 8
  %add.i.i83 = add i64 %22, 1
  %cmp.i.i84 = icmp ult i64 %add.i.i83, 2147483648
  br i1 %cmp.i.i84, label %if.then.i.i86, label %if.else.i.i85

if.then.i.i86:
  store i64 %add.i.i83, ptr %21, align 8
  br label %set.exit87

if.else.i.i85:
  call void @Py_IncRef(ptr noundef nonnull %21) #7
  br label %set.exit87

set.exit87:
  %add.ptr.i105 = getelementptr i8, ptr %call1, i64 %20
  store ptr %21, ptr %add.ptr.i105, align 8
  %outputs = getelementptr inbounds i8, ptr %model, i64 232
  %23 = load i64, ptr %outputs, align 8
  %no_outputs = getelementptr inbounds i8, ptr %model, i64 48
  %24 = load ptr, ptr %no_outputs, align 8
  %25 = load i64, ptr %24, align 8
  %add.i.i = add i64 %25, 1
  %cmp.i.i = icmp ult i64 %add.i.i, 2147483648
  br i1 %cmp.i.i, label %if.then.i.i, label %if.else.i.i

if.then.i.i:
  store i64 %add.i.i, ptr %24, align 8
  br label %set.exit

if.else.i.i:
  call void @Py_IncRef(ptr noundef nonnull %24) #7
  br label %set.exit

set.exit:
  %add.ptr.i104 = getelementptr i8, ptr %call1, i64 %23
  store ptr %24, ptr %add.ptr.i104, align 8
  %call16 = call ptr @PyWeakref_NewRef(ptr noundef nonnull %call1, ptr noundef null) #7
  %cmp.not = icmp eq ptr %call16, null
  br i1 %cmp.not, label %if.then26, label %land.rhs.lr.ph

land.rhs.lr.ph:
  %26 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i.i = getelementptr i8, ptr %arguments, i64 %26
  br label %land.rhs

land.rhs:
  %k.0117 = phi i64 [ 0, %land.rhs.lr.ph ], [ %inc, %for.body ]
  %27 = load i64, ptr %ob_size.i.i, align 8
  %cmp18.not.not = icmp slt i64 %k.0117, %27
  br i1 %cmp18.not.not, label %for.body, label %for.cond.cleanup

for.cond.cleanup:
  br i1 %cmp.not, label %if.end24, label %if.then23

for.body:
  %arrayidx.i = getelementptr ptr, ptr %add.ptr.i.i, i64 %k.0117
  %28 = load ptr, ptr %arrayidx.i, align 8
  %call20 = call fastcc zeroext i1 @add_user(ptr noundef %model, ptr noundef %28, ptr noundef nonnull %call16) #9
  %inc = add nuw nsw i64 %k.0117, 1
  br i1 %call20, label %land.rhs, label %for.cond.cleanup

if.then23:
  %29 = load i64, ptr %call16, align 8
  %sub1.i64 = add i64 %29, -2
  %cmp.i65 = icmp ult i64 %sub1.i64, 2147483647
  br i1 %cmp.i65, label %if.then.i67, label %if.else.i66

if.then.i67:
  %sub.i68 = add nsw i64 %29, -1
  store i64 %sub.i68, ptr %call16, align 8
  br i1 %cmp18.not.not, label %if.then26, label %cleanup29

if.else.i66:
  call void @Py_DecRef(ptr noundef nonnull %call16) #7
  br i1 %cmp18.not.not, label %if.then26, label %cleanup29

if.end24:
  br i1 %cmp18.not.not, label %if.then26, label %cleanup29

if.then26:
  %30 = load i64, ptr %call1, align 8
  %sub1.i = add i64 %30, -2
  %cmp.i = icmp ult i64 %sub1.i, 2147483647
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  %sub.i = add nsw i64 %30, -1
  store i64 %sub.i, ptr %call1, align 8
  br label %cleanup29

if.else.i:
  call void @Py_DecRef(ptr noundef nonnull %call1) #7
  br label %cleanup29

cleanup29:
  %retval.1 = phi ptr [ null, %decref.exit81 ], [ %call1, %if.end24 ], [ null, %if.then.i73 ], [ null, %if.else.i72 ], [ null, %if.then.i ], [ null, %if.else.i ], [ %call1, %if.else.i66 ], [ %call1, %if.then.i67 ]
  ret ptr %retval.1
}

; Function Attrs: noinline nounwind
define internal fastcc noundef zeroext i1 @set_outputs(ptr nocapture noundef readonly %model, ptr nocapture noundef %node, ptr nocapture noundef readonly %results, i64 noundef %count) unnamed_addr #0 {
entry:
  %call = tail call ptr @PyTuple_New(i64 noundef %count) #7
  %tobool.not = icmp eq ptr %call, null
  br i1 %tobool.not, label %cleanup15, label %for.cond.preheader

for.cond.preheader:
  %cmp.not37 = icmp sgt i64 %count, 0
  br i1 %cmp.not37, label %for.body.lr.ph, label %for.end

for.body.lr.ph:
  %0 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i = getelementptr i8, ptr %call, i64 %0
  br label %for.body

for.body:
  %k.038 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.inc ]
  %arrayidx = getelementptr ptr, ptr %results, i64 %k.038
  %1 = load ptr, ptr %arrayidx, align 8
  %call1 = tail call ptr @PyWeakref_NewRef(ptr noundef %1, ptr noundef null) #7
  %tobool2.not.not = icmp eq ptr %call1, null
  br i1 %tobool2.not.not, label %if.then3, label %for.inc

if.then3:
  %2 = load i64, ptr %call, align 8
  %sub1.i28 = add i64 %2, -2
  %cmp.i29 = icmp ult i64 %sub1.i28, 2147483647
  br i1 %cmp.i29, label %if.then.i31, label %if.else.i30

if.then.i31:
  %sub.i32 = add nsw i64 %2, -1
  store i64 %sub.i32, ptr %call, align 8
  br label %cleanup15

if.else.i30:
  tail call void @Py_DecRef(ptr noundef nonnull %call) #7
  br label %cleanup15

for.inc:
  %arrayidx6 = getelementptr ptr, ptr %add.ptr.i, i64 %k.038
  store ptr %call1, ptr %arrayidx6, align 8
  %inc = add nuw nsw i64 %k.038, 1
  %exitcond.not = icmp eq i64 %inc, %count
  br i1 %exitcond.not, label %for.end, label %for.body

for.end:
  %outputs10 = getelementptr inbounds i8, ptr %model, i64 232
  %3 = load i64, ptr %outputs10, align 8
  %add.ptr.i36 = getelementptr i8, ptr %node, i64 %3
  %4 = load ptr, ptr %add.ptr.i36, align 8
  store ptr %call, ptr %add.ptr.i36, align 8
  %5 = load i64, ptr %4, align 8
  %sub1.i = add i64 %5, -2
  %cmp.i = icmp ult i64 %sub1.i, 2147483647
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  %sub.i = add nsw i64 %5, -1
  store i64 %sub.i, ptr %4, align 8
  br label %cleanup15

if.else.i:
  tail call void @Py_DecRef(ptr noundef nonnull %4) #7
  br label %cleanup15

cleanup15:
  %retval.3 = phi i1 [ false, %entry ], [ false, %if.else.i30 ], [ false, %if.then.i31 ], [ true, %if.then.i ], [ true, %if.else.i ]
  ret i1 %retval.3
}

declare ptr @PyType_GenericAlloc(ptr noundef, i64 noundef) local_unnamed_addr #3

declare ptr @PyLong_FromLongLong(i64 noundef) local_unnamed_addr #3

declare ptr @PyWeakref_NewRef(ptr noundef, ptr noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc noundef zeroext i1 @add_user(ptr nocapture noundef readonly %model, ptr noundef %argument, ptr noundef %user) unnamed_addr #0 {
entry:
  %argument.addr = alloca ptr, align 8
  store ptr %argument, ptr %argument.addr, align 8
  %users1 = getelementptr inbounds i8, ptr %model, i64 184
  %0 = load i64, ptr %users1, align 8
  %add.ptr.i41 = getelementptr i8, ptr %argument, i64 %0
  %1 = load ptr, ptr %add.ptr.i41, align 8
  %cmp = icmp eq ptr %1, @_Py_NoneStruct
  br i1 %cmp, label %if.then, label %if.end9

if.then:
  %call2 = tail call ptr @PyList_New(i64 noundef 0) #7
  %tobool.not = icmp eq ptr %call2, null
  br i1 %tobool.not, label %cleanup, label %if.end

if.end:
  %2 = load i64, ptr %users1, align 8
  %add.ptr.i42 = getelementptr i8, ptr %argument, i64 %2
  %3 = load ptr, ptr %add.ptr.i42, align 8
  store ptr %call2, ptr %add.ptr.i42, align 8
  %4 = load i64, ptr %3, align 8
  %sub1.i34 = add i64 %4, -2
  %cmp.i35 = icmp ult i64 %sub1.i34, 2147483647
  br i1 %cmp.i35, label %if.then.i37, label %if.else.i36

if.then.i37:
  %sub.i38 = add nsw i64 %4, -1
  store i64 %sub.i38, ptr %3, align 8
  br label %if.end9

if.else.i36:
  tail call void @Py_DecRef(ptr noundef nonnull %3) #7
  br label %if.end9

if.end9:
  %users.0 = phi ptr [ %1, %entry ], [ %call2, %if.then.i37 ], [ %call2, %if.else.i36 ]
  %call10 = tail call i32 @PyList_Append(ptr noundef %users.0, ptr noundef %user) #7
  %tobool11.not = icmp eq i32 %call10, 0
  br i1 %tobool11.not, label %if.end13, label %cleanup

if.end13:
  %ob_size.i = getelementptr inbounds i8, ptr %users.0, i64 16
  %5 = load i64, ptr %ob_size.i, align 8
  %most_users = getelementptr inbounds i8, ptr %model, i64 96
  %6 = load i64, ptr %most_users, align 8
  %rem = srem i64 %5, %6
  %tobool15.not = icmp eq i64 %rem, 0
  br i1 %tobool15.not, label %if.end17, label %cleanup

if.end17:
  %forget_users = getelementptr inbounds i8, ptr %model, i64 64
  %7 = load ptr, ptr %forget_users, align 8
  %call18 = call ptr @PyObject_Vectorcall(ptr noundef %7, ptr noundef nonnull %argument.addr, i64 noundef 1, ptr noundef null) #7
  %tobool19.not = icmp eq ptr %call18, null
  br i1 %tobool19.not, label %cleanup, label %if.then20

if.then20:
  %8 = load i64, ptr %call18, align 8
  %sub1.i = add i64 %8, -2
  %cmp.i = icmp ult i64 %sub1.i, 2147483647
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  %sub.i = add nsw i64 %8, -1
  store i64 %sub.i, ptr %call18, align 8
  br label %cleanup

if.else.i:
  call void @Py_DecRef(ptr noundef nonnull %call18) #7
  br label %cleanup

cleanup:
  %retval.0 = phi i1 [ false, %if.then ], [ false, %if.end9 ], [ true, %if.end13 ], [ false, %if.end17 ], [ true, %if.then.i ], [ true, %if.else.i ]
  ret i1 %retval.0
}

declare ptr @PyList_New(i64 noundef) local_unnamed_addr #3

declare i32 @PyList_Append(ptr noundef, ptr noundef) local_unnamed_addr #3

declare i32 @PyObject_IsTrue(ptr noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc noundef zeroext i1 @add_tensor(ptr nocapture noundef readonly %model, ptr nocapture noundef %key, ptr noundef %tensor) unnamed_addr #0 {
entry:
  %tensor.addr.i = alloca ptr, align 8
  %tensors = getelementptr inbounds i8, ptr %key, i64 392
  %0 = load i64, ptr %tensors, align 8
  %cmp45 = icmp sgt i64 %0, 0
  br i1 %cmp45, label %for.body.lr.ph, label %for.end

for.body.lr.ph:
  %operands = getelementptr inbounds i8, ptr %key, i64 192
  %count.i27 = getelementptr inbounds i8, ptr %key, i64 384
  br label %for.body

for.body:
  %1 = phi i64 [ %0, %for.body.lr.ph ], [ %4, %for.inc ]
  %k.046 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.inc ]
  %arrayidx = getelementptr [24 x ptr], ptr %operands, i64 0, i64 %k.046
  %2 = load ptr, ptr %arrayidx, align 8
  %cmp1 = icmp eq ptr %2, %tensor
  br i1 %cmp1, label %land.lhs.true, label %for.inc

land.lhs.true:
  %call = tail call ptr @PyLong_FromLongLong(i64 noundef %k.046) #7
  %tobool.i24.not = icmp eq ptr %call, null
  br i1 %tobool.i24.not, label %return, label %add_part.exit30.thread

add_part.exit30.thread:
  %3 = load i64, ptr %count.i27, align 8
  %inc.i28 = add i64 %3, 1
  store i64 %inc.i28, ptr %count.i27, align 8
  %arrayidx.i29 = getelementptr [24 x ptr], ptr %key, i64 0, i64 %3
  store ptr %call, ptr %arrayidx.i29, align 8
  %.pre = load i64, ptr %tensors, align 8
  br label %for.inc

for.inc:
  %4 = phi i64 [ %.pre, %add_part.exit30.thread ], [ %1, %for.body ]
  %inc = add nuw nsw i64 %k.046, 1
  %cmp = icmp slt i64 %inc, %4
  br i1 %cmp, label %for.body, label %for.end

for.end:
  %5 = phi i64 [ %0, %entry ], [ %4, %for.inc ]
  %operands3 = getelementptr inbounds i8, ptr %key, i64 192
  %inc5 = add i64 %5, 1
  store i64 %inc5, ptr %tensors, align 8
  %arrayidx6 = getelementptr [24 x ptr], ptr %operands3, i64 0, i64 %5
  store ptr %tensor, ptr %arrayidx6, align 8
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %tensor.addr.i)
  store ptr %tensor, ptr %tensor.addr.i, align 8
  %spec2.i = getelementptr inbounds i8, ptr %model, i64 168
  %6 = load i64, ptr %spec2.i, align 8
  %add.ptr.i = getelementptr i8, ptr %tensor, i64 %6
  %7 = load ptr, ptr %add.ptr.i, align 8
  %cmp.i21 = icmp eq ptr %7, @_Py_NoneStruct
  %tobool.not.i43 = icmp eq ptr %7, null
  %tobool.not.i = or i1 %cmp.i21, %tobool.not.i43
  br i1 %tobool.not.i, label %if.end.i, label %if.then.i

if.then.i:
  %8 = load i64, ptr %7, align 8
  %add.i.i = add i64 %8, 1
  %cmp.i.i = icmp ult i64 %add.i.i, 2147483648
  br i1 %cmp.i.i, label %if.then.i.i, label %if.else.i.i

if.then.i.i:
  store i64 %add.i.i, ptr %7, align 8
  br label %take_spec.exit.thread

if.else.i.i:
  tail call void @Py_IncRef(ptr noundef nonnull %7) #7
  br label %take_spec.exit.thread

if.end.i:
  %own_spec.i = getelementptr inbounds i8, ptr %model, i64 72
  %9 = load ptr, ptr %own_spec.i, align 8
  %call1.i = call ptr @PyObject_Vectorcall(ptr noundef %9, ptr noundef nonnull %tensor.addr.i, i64 noundef 1, ptr noundef null) #7
  %cmp.not.i = icmp eq ptr %call1.i, @_Py_NoneStruct
  br i1 %cmp.not.i, label %if.end3.i, label %take_spec.exit

if.end3.i:
  %10 = load i64, ptr @_Py_NoneStruct, align 8
  %sub1.i = add i64 %10, -2
  %cmp.i = icmp ult i64 %sub1.i, 2147483647
  br i1 %cmp.i, label %if.then.i20, label %if.else.i

if.then.i20:
  %sub.i = add nsw i64 %10, -1
  store i64 %sub.i, ptr @_Py_NoneStruct, align 8
  br label %take_spec.exit.thread40

if.else.i:
  call void @Py_DecRef(ptr noundef nonnull @_Py_NoneStruct) #7
  br label %take_spec.exit.thread40

take_spec.exit.thread:
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %tensor.addr.i)
  br label %if.then.i23

take_spec.exit.thread40:
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %tensor.addr.i)
  br label %return

take_spec.exit:
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %tensor.addr.i)
  %tobool.i.not = icmp eq ptr %call1.i, null
  br i1 %tobool.i.not, label %return, label %if.then.i23

if.then.i23:
  %retval.0.i36 = phi ptr [ %7, %take_spec.exit.thread ], [ %call1.i, %take_spec.exit ]
  %count.i = getelementptr inbounds i8, ptr %key, i64 384
  %11 = load i64, ptr %count.i, align 8
  %inc.i = add i64 %11, 1
  store i64 %inc.i, ptr %count.i, align 8
  %arrayidx.i = getelementptr [24 x ptr], ptr %key, i64 0, i64 %11
  store ptr %retval.0.i36, ptr %arrayidx.i, align 8
  br label %return

return:
  %retval.1 = phi i1 [ false, %take_spec.exit ], [ true, %if.then.i23 ], [ false, %take_spec.exit.thread40 ], [ false, %land.lhs.true ]
  ret i1 %retval.1
}

; Function Attrs: noinline nounwind
define internal fastcc ptr @key_of_tuple(ptr nocapture noundef readonly %tuple) unnamed_addr #0 {
entry:
  %ob_size.i = getelementptr inbounds i8, ptr %tuple, i64 16
  %0 = load i64, ptr %ob_size.i, align 8
  %cmp.not79 = icmp sgt i64 %0, 0
  br i1 %cmp.not79, label %for.body.lr.ph, label %for.end

for.body.lr.ph:
  %1 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i.i56 = getelementptr i8, ptr %tuple, i64 %1
  br label %for.body

for.cond:
  %inc = add nuw nsw i64 %k.080, 1
  %exitcond.not = icmp eq i64 %inc, %0
  br i1 %exitcond.not, label %for.end, label %for.body

for.body:
  %k.080 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.cond ]
  %arrayidx.i57 = getelementptr ptr, ptr %add.ptr.i.i56, i64 %k.080
  %2 = load ptr, ptr %arrayidx.i57, align 8
  %ob_type.i = getelementptr inbounds i8, ptr %2, i64 8
  %3 = load ptr, ptr %ob_type.i, align 8
  %cmp.i58 = icmp eq ptr %3, @PyLong_Type
  %cmp1.i = icmp eq ptr %3, @PyBool_Type
  %or.cond.i = or i1 %cmp.i58, %cmp1.i
  %cmp3.i = icmp eq ptr %3, @PyUnicode_Type
  %or.cond5.i = or i1 %cmp3.i, %or.cond.i
  %cmp4.i = icmp eq ptr %2, @_Py_NoneStruct
  %spec.select.i = or i1 %cmp4.i, %or.cond5.i
  br i1 %spec.select.i, label %for.cond, label %cleanup29

for.end:
  %call3 = tail call ptr @PyTuple_New(i64 noundef %0) #7
  %tobool = icmp eq ptr %call3, null
  %cmp681 = icmp slt i64 %0, 1
  %.not82 = or i1 %tobool, %cmp681
  br i1 %.not82, label %for.end22, label %for.body8.lr.ph

for.body8.lr.ph:
  %4 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i.i = getelementptr i8, ptr %tuple, i64 %4
  %add.ptr.i = getelementptr i8, ptr %call3, i64 %4
  br label %for.body8

for.body8:
  %k4.083 = phi i64 [ 0, %for.body8.lr.ph ], [ %inc19, %for.inc18 ]
  %arrayidx.i = getelementptr ptr, ptr %add.ptr.i.i, i64 %k4.083
  %5 = load ptr, ptr %arrayidx.i, align 8
  %ob_type = getelementptr inbounds i8, ptr %5, i64 8
  %6 = load ptr, ptr %ob_type, align 8
  %call.i61 = tail call ptr @PyTuple_New(i64 noundef 2) #7
  %tobool.not.i62 = icmp eq ptr %call.i61, null
  br i1 %tobool.not.i62, label %if.then12, label %if.then.i63

if.then.i63:
  %7 = load i64, ptr %6, align 8
  %add.i9.i64 = add i64 %7, 1
  %cmp.i10.i65 = icmp ult i64 %add.i9.i64, 2147483648
  br i1 %cmp.i10.i65, label %if.then.i12.i76, label %if.else.i11.i66

if.then.i12.i76:
  store i64 %add.i9.i64, ptr %6, align 8
  br label %incref.exit13.i67

if.else.i11.i66:
  tail call void @Py_IncRef(ptr noundef nonnull %6) #7
  br label %incref.exit13.i67

incref.exit13.i67:
  %8 = load i64, ptr %5, align 8
  %add.i.i68 = add i64 %8, 1
  %cmp.i.i69 = icmp ult i64 %add.i.i68, 2147483648
  br i1 %cmp.i.i69, label %if.then.i.i75, label %if.else.i.i70

if.then.i.i75:
  store i64 %add.i.i68, ptr %5, align 8
  br label %for.inc18

if.else.i.i70:
  tail call void @Py_IncRef(ptr noundef nonnull %5) #7
  br label %for.inc18

if.then12:
  %9 = load i64, ptr %call3, align 8
  %sub1.i50 = add i64 %9, -2
  %cmp.i51 = icmp ult i64 %sub1.i50, 2147483647
  br i1 %cmp.i51, label %if.then.i53, label %if.else.i52

if.then.i53:
  %sub.i54 = add nsw i64 %9, -1
  store i64 %sub.i54, ptr %call3, align 8
  br label %cleanup29

if.else.i52:
  tail call void @Py_DecRef(ptr noundef nonnull %call3) #7
  br label %cleanup29

for.inc18:
  %add.ptr.i14.i72 = getelementptr i8, ptr %call.i61, i64 %4
  store ptr %6, ptr %add.ptr.i14.i72, align 8
  %arrayidx3.i74 = getelementptr i8, ptr %add.ptr.i14.i72, i64 8
  store ptr %5, ptr %arrayidx3.i74, align 8
  %arrayidx = getelementptr ptr, ptr %add.ptr.i, i64 %k4.083
  store ptr %call.i61, ptr %arrayidx, align 8
  %inc19 = add nuw nsw i64 %k4.083, 1
  %cmp6.not = icmp slt i64 %inc19, %0
  br i1 %cmp6.not, label %for.body8, label %if.end25

for.end22:
  br i1 %tobool, label %cleanup29, label %if.end25

if.end25:
  %call.i = tail call ptr @PyTuple_New(i64 noundef 2) #7
  %tobool.not.i = icmp eq ptr %call.i, null
  br i1 %tobool.not.i, label %pair.exit, label %if.then.i59

if.then.i59:
  %10 = load i64, ptr @PyTuple_Type, align 8
  %add.i9.i = add i64 %10, 1
  %cmp.i10.i = icmp ult i64 %add.i9.i, 2147483648
  br i1 %cmp.i10.i, label %if.then.i12.i, label %if.else.i11.i

if.then.i12.i:
  store i64 %add.i9.i, ptr @PyTuple_Type, align 8
  br label %incref.exit13.i

if.else.i11.i:
  tail call void @Py_IncRef(ptr noundef nonnull @PyTuple_Type) #7
  br label %incref.exit13.i

incref.exit13.i:
  %11 = load i64, ptr %call3, align 8
  %add.i.i = add i64 %11, 1
  %cmp.i.i = icmp ult i64 %add.i.i, 2147483648
  br i1 %cmp.i.i, label %if.then.i.i, label %if.else.i.i

if.then.i.i:
  store i64 %add.i.i, ptr %call3, align 8
  br label %incref.exit.i

if.else.i.i:
  tail call void @Py_IncRef(ptr noundef nonnull %call3) #7
  br label %incref.exit.i

incref.exit.i:
  %12 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i14.i = getelementptr i8, ptr %call.i, i64 %12
  store ptr @PyTuple_Type, ptr %add.ptr.i14.i, align 8
  %arrayidx3.i = getelementptr i8, ptr %add.ptr.i14.i, i64 8
  store ptr %call3, ptr %arrayidx3.i, align 8
  br label %pair.exit

pair.exit:
  %13 = load i64, ptr %call3, align 8
  %sub1.i = add i64 %13, -2
  %cmp.i = icmp ult i64 %sub1.i, 2147483647
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  %sub.i = add nsw i64 %13, -1
  store i64 %sub.i, ptr %call3, align 8
  br label %cleanup29

if.else.i:
  tail call void @Py_DecRef(ptr noundef nonnull %call3) #7
  br label %cleanup29

cleanup29:
  %retval.5 = phi ptr [ null, %for.end22 ], [ null, %if.else.i52 ], [ null, %if.then.i53 ], [ %call.i, %if.then.i ], [ %call.i, %if.else.i ], [ null, %for.body ]
  ret ptr %retval.5
}

declare i64 @PyLong_AsLongLongAndOverflow(ptr noundef, ptr noundef) local_unnamed_addr #3

; Function Attrs: nounwind
define internal fastcc noundef zeroext i1 @add_call(ptr nocapture noundef %walk, ptr noundef %node) unnamed_addr #5 {
entry:
  %overflow.i.i = alloca i32, align 4
  %0 = load ptr, ptr %walk, align 8
  %node2 = getelementptr inbounds i8, ptr %0, i64 200
  %1 = load i64, ptr %node2, align 8
  %add.ptr.i = getelementptr i8, ptr %node, i64 %1
  %2 = load ptr, ptr %add.ptr.i, align 8
  %cache.i = getelementptr inbounds i8, ptr %0, i64 208
  %3 = load i64, ptr %cache.i, align 8
  %add.ptr.i.i58 = getelementptr i8, ptr %node, i64 %3
  %4 = load ptr, ptr %add.ptr.i.i58, align 8
  %cmp.i = icmp eq ptr %4, @_Py_NoneStruct
  br i1 %cmp.i, label %land.lhs.true.i, label %cleanup32

land.lhs.true.i:
  %device.i = getelementptr inbounds i8, ptr %0, i64 224
  %5 = load i64, ptr %device.i, align 8
  %add.ptr.i15.i = getelementptr i8, ptr %node, i64 %5
  %6 = load ptr, ptr %add.ptr.i15.i, align 8
  %host.i = getelementptr inbounds i8, ptr %0, i64 40
  %7 = load ptr, ptr %host.i, align 8
  %cmp4.i = icmp eq ptr %6, %7
  br i1 %cmp4.i, label %is_plain.exit, label %cleanup32

is_plain.exit:
  %outputs.i = getelementptr inbounds i8, ptr %0, i64 232
  %8 = load i64, ptr %outputs.i, align 8
  %add.ptr.i16.i = getelementptr i8, ptr %node, i64 %8
  %9 = load ptr, ptr %add.ptr.i16.i, align 8
  %ob_size.i.i = getelementptr inbounds i8, ptr %9, i64 16
  %10 = load i64, ptr %ob_size.i.i, align 8
  %tobool.not.i = icmp eq i64 %10, 0
  br i1 %tobool.not.i, label %for.cond.preheader, label %cleanup32

for.cond.preheader:
  %ob_size.i54 = getelementptr inbounds i8, ptr %2, i64 16
  %11 = load i64, ptr %ob_size.i54, align 8
  %cmp.not164 = icmp sgt i64 %11, 0
  br i1 %cmp.not164, label %for.body.lr.ph, label %for.end

for.body.lr.ph:
  %12 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i.i55 = getelementptr i8, ptr %2, i64 %12
  %capacity.i125 = getelementptr inbounds i8, ptr %walk, i64 16
  %table.i133 = getelementptr inbounds i8, ptr %walk, i64 8
  %made.i = getelementptr inbounds i8, ptr %walk, i64 64
  %made_count.i = getelementptr inbounds i8, ptr %walk, i64 80
  %met1.i.i = getelementptr inbounds i8, ptr %walk, i64 24
  br label %for.body

for.body:
  %k.0165 = phi i64 [ 0, %for.body.lr.ph ], [ %inc, %for.inc ]
  %arrayidx.i56 = getelementptr ptr, ptr %add.ptr.i.i55, i64 %k.0165
  %13 = load ptr, ptr %arrayidx.i56, align 8
  %14 = load ptr, ptr %walk, align 8
  %value.i = getelementptr inbounds i8, ptr %14, i64 192
  %15 = load i64, ptr %value.i, align 8
  %add.ptr.i.i59 = getelementptr i8, ptr %13, i64 %15
  %16 = load ptr, ptr %add.ptr.i.i59, align 8
  %cmp.not.i = icmp eq ptr %16, @_Py_NoneStruct
  br i1 %cmp.not.i, label %if.end.i, label %add_argument_of.exit

if.end.i:
  %node.i = getelementptr inbounds i8, ptr %14, i64 136
  %17 = load i64, ptr %node.i, align 8
  %add.ptr.i21.i = getelementptr i8, ptr %13, i64 %17
  %18 = load ptr, ptr %add.ptr.i21.i, align 8
  %cmp6.not.i = icmp eq ptr %18, @_Py_NoneStruct
  br i1 %cmp6.not.i, label %cleanup32, label %land.lhs.true.i60

land.lhs.true.i60:
  %19 = load i64, ptr %capacity.i125, align 8
  %sub.i126 = add i64 %19, -1
  %20 = ptrtoint ptr %18 to i64
  %shr.i127 = lshr i64 %20, 4
  %mul.i128 = mul i64 %shr.i127, -7046029254386353131
  %shr1.i129 = lshr i64 %mul.i128, 32
  %21 = load ptr, ptr %table.i133, align 8
  br label %for.cond.i130

for.cond.i130:
  %k.0.i131 = phi i64 [ %shr1.i129, %land.lhs.true.i60 ], [ %inc.i142, %for.cond.i130 ]
  %and.i134 = and i64 %k.0.i131, %sub.i126
  %arrayidx.i135 = getelementptr %struct.Met, ptr %21, i64 %and.i134
  %22 = load ptr, ptr %arrayidx.i135, align 8
  %cmp.i136 = icmp ne ptr %22, %18
  %tobool.not.i137 = icmp ne ptr %22, null
  %or.cond.i138.not = and i1 %cmp.i136, %tobool.not.i137
  %inc.i142 = add i64 %k.0.i131, 1
  br i1 %or.cond.i138.not, label %for.cond.i130, label %find.exit143

find.exit143:
  %23 = load ptr, ptr %arrayidx.i135, align 8
  %tobool.not.i61 = icmp eq ptr %23, null
  br i1 %tobool.not.i61, label %lor.lhs.false.i, label %land.rhs.i62

lor.lhs.false.i:
  %call8.i = tail call fastcc zeroext i1 @add_call(ptr noundef nonnull %walk, ptr noundef %18) #9
  br i1 %call8.i, label %lor.lhs.false.i.land.rhs.i62_crit_edge, label %cleanup32

lor.lhs.false.i.land.rhs.i62_crit_edge:
  %.pre = load i64, ptr %capacity.i125, align 8
  %.pre169 = load ptr, ptr %table.i133, align 8
  %.pre170 = add i64 %.pre, -1
  br label %land.rhs.i62

land.rhs.i62:
  %sub.i13.i.pre-phi = phi i64 [ %.pre170, %lor.lhs.false.i.land.rhs.i62_crit_edge ], [ %sub.i126, %find.exit143 ]
  %24 = phi ptr [ %.pre169, %lor.lhs.false.i.land.rhs.i62_crit_edge ], [ %21, %find.exit143 ]
  %25 = ptrtoint ptr %13 to i64
  %shr.i14.i = lshr i64 %25, 4
  %mul.i15.i = mul i64 %shr.i14.i, -7046029254386353131
  %shr1.i16.i = lshr i64 %mul.i15.i, 32
  br label %for.cond.i17.i

for.cond.i17.i:
  %k.0.i18.i = phi i64 [ %shr1.i16.i, %land.rhs.i62 ], [ %inc.i29.i, %for.cond.i17.i ]
  %and.i21.i = and i64 %k.0.i18.i, %sub.i13.i.pre-phi
  %arrayidx.i22.i = getelementptr %struct.Met, ptr %24, i64 %and.i21.i
  %26 = load ptr, ptr %arrayidx.i22.i, align 8
  %cmp.i23.i = icmp ne ptr %26, %13
  %tobool.not.i24.i = icmp ne ptr %26, null
  %or.cond.i25.i.not = and i1 %cmp.i23.i, %tobool.not.i24.i
  %inc.i29.i = add i64 %k.0.i18.i, 1
  br i1 %or.cond.i25.i.not, label %for.cond.i17.i, label %find.exit30.i

find.exit30.i:
  %27 = load ptr, ptr %arrayidx.i22.i, align 8
  %tobool.not.i144 = icmp eq ptr %27, null
  br i1 %tobool.not.i144, label %if.end.i149, label %if.then.i145

if.then.i145:
  %number.i146 = getelementptr inbounds i8, ptr %arrayidx.i22.i, i64 8
  %28 = load i64, ptr %number.i146, align 8
  %inc.i147 = add i64 %28, 1
  store i64 %inc.i147, ptr %number.i146, align 8
  br label %for.inc

if.end.i149:
  %29 = load ptr, ptr %made.i, align 8
  %30 = load i64, ptr %made_count.i, align 8
  %inc1.i = add i64 %30, 1
  store i64 %inc1.i, ptr %made_count.i, align 8
  %arrayidx.i150 = getelementptr ptr, ptr %29, i64 %30
  store ptr %13, ptr %arrayidx.i150, align 8
  %31 = load i64, ptr %capacity.i125, align 8
  %sub.i.i151 = add i64 %31, -1
  %32 = load ptr, ptr %table.i133, align 8
  br label %for.cond.i.i

for.cond.i.i:
  %k.0.i.i = phi i64 [ %shr1.i16.i, %if.end.i149 ], [ %inc.i11.i, %for.cond.i.i ]
  %and.i.i = and i64 %k.0.i.i, %sub.i.i151
  %arrayidx.i.i153 = getelementptr %struct.Met, ptr %32, i64 %and.i.i
  %33 = load ptr, ptr %arrayidx.i.i153, align 8
  %cmp.i10.i = icmp ne ptr %33, %13
  %tobool.not.i.i = icmp ne ptr %33, null
  %or.cond.i.i.not = and i1 %cmp.i10.i, %tobool.not.i.i
  %inc.i11.i = add i64 %k.0.i.i, 1
  br i1 %or.cond.i.i.not, label %for.cond.i.i, label %find.exit.i

find.exit.i:
  %34 = load i64, ptr %met1.i.i, align 8
  %inc.i.i154 = add i64 %34, 1
  store i64 %inc.i.i154, ptr %met1.i.i, align 8
  %div.i.i = sdiv i64 %31, 2
  %cmp.i.i156.not = icmp sgt i64 %inc.i.i154, %div.i.i
  br i1 %cmp.i.i156.not, label %cleanup32, label %if.end.i.i

if.end.i.i:
  store ptr %13, ptr %arrayidx.i.i153, align 8
  %.compoundliteral.sroa.2.0..sroa_idx.i.i = getelementptr inbounds i8, ptr %arrayidx.i.i153, i64 8
  store i64 1, ptr %.compoundliteral.sroa.2.0..sroa_idx.i.i, align 8
  br label %for.inc

add_argument_of.exit:
  %call3.i = tail call fastcc zeroext i1 @add_leaf(ptr noundef nonnull %walk, ptr noundef nonnull %13) #9
  br i1 %call3.i, label %for.inc, label %cleanup32

for.inc:
  %inc = add nuw nsw i64 %k.0165, 1
  %35 = load i64, ptr %ob_size.i54, align 8
  %cmp.not = icmp slt i64 %inc, %35
  br i1 %cmp.not, label %for.body, label %for.end

for.end:
  %program = getelementptr inbounds i8, ptr %0, i64 240
  %36 = load i64, ptr %program, align 8
  %add.ptr.i57 = getelementptr i8, ptr %node, i64 %36
  %37 = load ptr, ptr %add.ptr.i57, align 8
  %38 = ptrtoint ptr %37 to i64
  %words.i = getelementptr inbounds i8, ptr %walk, i64 32
  %39 = load ptr, ptr %words.i, align 8
  %count.i = getelementptr inbounds i8, ptr %walk, i64 40
  %40 = load i64, ptr %count.i, align 8
  %inc.i = add i64 %40, 1
  store i64 %inc.i, ptr %count.i, align 8
  %arrayidx.i63 = getelementptr i64, ptr %39, i64 %40
  store i64 %38, ptr %arrayidx.i63, align 8
  %41 = load i64, ptr %count.i, align 8
  %capacity.i = getelementptr inbounds i8, ptr %walk, i64 16
  %42 = load i64, ptr %capacity.i, align 8
  %mul.i = shl i64 %42, 2
  %sub.i = add i64 %mul.i, -4
  %cmp.i64 = icmp slt i64 %41, %sub.i
  br i1 %cmp.i64, label %for.cond16.preheader, label %cleanup32

for.cond16.preheader:
  %43 = load i64, ptr %ob_size.i54, align 8
  %cmp18.not166 = icmp sgt i64 %43, 0
  br i1 %cmp18.not166, label %for.body20.lr.ph, label %for.end29

for.body20.lr.ph:
  %44 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i.i = getelementptr i8, ptr %2, i64 %44
  %table.i114 = getelementptr inbounds i8, ptr %walk, i64 8
  br label %for.body20

for.body20:
  %45 = phi i64 [ %41, %for.body20.lr.ph ], [ %73, %for.inc25 ]
  %46 = phi i64 [ %42, %for.body20.lr.ph ], [ %74, %for.inc25 ]
  %k15.0167 = phi i64 [ 0, %for.body20.lr.ph ], [ %inc26, %for.inc25 ]
  %arrayidx.i = getelementptr ptr, ptr %add.ptr.i.i, i64 %k15.0167
  %47 = load ptr, ptr %arrayidx.i, align 8
  %48 = load ptr, ptr %walk, align 8
  %value.i65 = getelementptr inbounds i8, ptr %48, i64 192
  %49 = load i64, ptr %value.i65, align 8
  %add.ptr.i.i66 = getelementptr i8, ptr %47, i64 %49
  %50 = load ptr, ptr %add.ptr.i.i66, align 8
  %cmp.not.i67 = icmp eq ptr %50, @_Py_NoneStruct
  br i1 %cmp.not.i67, label %if.end.i71, label %if.then.i68

if.then.i68:
  %sub.i107 = add i64 %46, -1
  %51 = ptrtoint ptr %47 to i64
  %shr.i108 = lshr i64 %51, 4
  %mul.i109 = mul i64 %shr.i108, -7046029254386353131
  %shr1.i110 = lshr i64 %mul.i109, 32
  %52 = load ptr, ptr %table.i114, align 8
  br label %for.cond.i111

for.cond.i111:
  %k.0.i112 = phi i64 [ %shr1.i110, %if.then.i68 ], [ %inc.i123, %for.cond.i111 ]
  %and.i115 = and i64 %k.0.i112, %sub.i107
  %arrayidx.i116 = getelementptr %struct.Met, ptr %52, i64 %and.i115
  %53 = load ptr, ptr %arrayidx.i116, align 8
  %cmp.i117 = icmp ne ptr %53, %47
  %tobool.not.i118 = icmp ne ptr %53, null
  %or.cond.i119.not = and i1 %cmp.i117, %tobool.not.i118
  %inc.i123 = add i64 %k.0.i112, 1
  br i1 %or.cond.i119.not, label %for.cond.i111, label %find.exit124

find.exit124:
  %number.i = getelementptr inbounds i8, ptr %arrayidx.i116, i64 8
  %54 = load i64, ptr %number.i, align 8
  %55 = load ptr, ptr %words.i, align 8
  %inc.i39.i = add i64 %45, 1
  store i64 %inc.i39.i, ptr %count.i, align 8
  %arrayidx.i40.i = getelementptr i64, ptr %55, i64 %45
  store i64 %54, ptr %arrayidx.i40.i, align 8
  %56 = load i64, ptr %count.i, align 8
  %57 = load i64, ptr %capacity.i, align 8
  %mul.i42.i = shl i64 %57, 2
  %sub.i43.i = add i64 %mul.i42.i, -4
  %cmp.i44.i = icmp slt i64 %56, %sub.i43.i
  br i1 %cmp.i44.i, label %for.inc25, label %cleanup32

if.end.i71:
  %node.i72 = getelementptr inbounds i8, ptr %48, i64 136
  %58 = load i64, ptr %node.i72, align 8
  %add.ptr.i27.i = getelementptr i8, ptr %47, i64 %58
  %59 = load ptr, ptr %add.ptr.i27.i, align 8
  %sub.i88 = add i64 %46, -1
  %60 = ptrtoint ptr %59 to i64
  %shr.i89 = lshr i64 %60, 4
  %mul.i90 = mul i64 %shr.i89, -7046029254386353131
  %shr1.i91 = lshr i64 %mul.i90, 32
  %61 = load ptr, ptr %table.i114, align 8
  br label %for.cond.i92

for.cond.i92:
  %k.0.i93 = phi i64 [ %shr1.i91, %if.end.i71 ], [ %inc.i104, %for.cond.i92 ]
  %and.i96 = and i64 %k.0.i93, %sub.i88
  %arrayidx.i97 = getelementptr %struct.Met, ptr %61, i64 %and.i96
  %62 = load ptr, ptr %arrayidx.i97, align 8
  %cmp.i98 = icmp ne ptr %62, %59
  %tobool.not.i99 = icmp ne ptr %62, null
  %or.cond.i100.not = and i1 %cmp.i98, %tobool.not.i99
  %inc.i104 = add i64 %k.0.i93, 1
  br i1 %or.cond.i100.not, label %for.cond.i92, label %find.exit105

find.exit105:
  %number8.i = getelementptr inbounds i8, ptr %arrayidx.i97, i64 8
  %63 = load i64, ptr %number8.i, align 8
  %64 = load ptr, ptr %words.i, align 8
  %inc.i31.i = add i64 %45, 1
  store i64 %inc.i31.i, ptr %count.i, align 8
  %arrayidx.i32.i = getelementptr i64, ptr %64, i64 %45
  store i64 %63, ptr %arrayidx.i32.i, align 8
  %65 = load i64, ptr %count.i, align 8
  %66 = load i64, ptr %capacity.i, align 8
  %mul.i34.i = shl i64 %66, 2
  %sub.i35.i = add i64 %mul.i34.i, -4
  %cmp.i36.i = icmp slt i64 %65, %sub.i35.i
  br i1 %cmp.i36.i, label %add_place.exit, label %cleanup32

add_place.exit:
  %index.i = getelementptr inbounds i8, ptr %48, i64 128
  %67 = load i64, ptr %index.i, align 8
  %add.ptr.i28.i = getelementptr i8, ptr %47, i64 %67
  %68 = load ptr, ptr %add.ptr.i28.i, align 8
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %overflow.i.i) #8
  %call.i26.i = call i64 @PyLong_AsLongLongAndOverflow(ptr noundef %68, ptr noundef nonnull %overflow.i.i) #7
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %overflow.i.i) #8
  %69 = load ptr, ptr %words.i, align 8
  %70 = load i64, ptr %count.i, align 8
  %inc.i.i = add i64 %70, 1
  store i64 %inc.i.i, ptr %count.i, align 8
  %arrayidx.i.i = getelementptr i64, ptr %69, i64 %70
  store i64 %call.i26.i, ptr %arrayidx.i.i, align 8
  %71 = load i64, ptr %count.i, align 8
  %72 = load i64, ptr %capacity.i, align 8
  %mul.i.i = shl i64 %72, 2
  %sub.i.i = add i64 %mul.i.i, -4
  %cmp.i.i = icmp slt i64 %71, %sub.i.i
  br i1 %cmp.i.i, label %for.inc25, label %cleanup32

for.inc25:
  %73 = phi i64 [ %56, %find.exit124 ], [ %71, %add_place.exit ]
  %74 = phi i64 [ %57, %find.exit124 ], [ %72, %add_place.exit ]
  %inc26 = add nuw nsw i64 %k15.0167, 1
  %75 = load i64, ptr %ob_size.i54, align 8
  %cmp18.not = icmp slt i64 %inc26, %75
  br i1 %cmp18.not, label %for.body20, label %for.end29

for.end29:
  %76 = phi i64 [ %42, %for.cond16.preheader ], [ %74, %for.inc25 ]
  %calls = getelementptr inbounds i8, ptr %walk, i64 48
  %77 = load i64, ptr %calls, align 8
  %inc30 = add i64 %77, 1
  store i64 %inc30, ptr %calls, align 8
  %sub.i80 = add i64 %76, -1
  %78 = ptrtoint ptr %node to i64
  %shr.i = lshr i64 %78, 4
  %mul.i81 = mul i64 %shr.i, -7046029254386353131
  %shr1.i = lshr i64 %mul.i81, 32
  %table.i = getelementptr inbounds i8, ptr %walk, i64 8
  %79 = load ptr, ptr %table.i, align 8
  br label %for.cond.i

for.cond.i:
  %k.0.i = phi i64 [ %shr1.i, %for.end29 ], [ %inc.i86, %for.cond.i ]
  %and.i = and i64 %k.0.i, %sub.i80
  %arrayidx.i83 = getelementptr %struct.Met, ptr %79, i64 %and.i
  %80 = load ptr, ptr %arrayidx.i83, align 8
  %cmp.i84 = icmp ne ptr %80, %node
  %tobool.not.i85 = icmp ne ptr %80, null
  %or.cond.i.not = and i1 %cmp.i84, %tobool.not.i85
  %inc.i86 = add i64 %k.0.i, 1
  br i1 %or.cond.i.not, label %for.cond.i, label %find.exit

find.exit:
  %met1.i = getelementptr inbounds i8, ptr %walk, i64 24
  %81 = load i64, ptr %met1.i, align 8
  %inc.i75 = add i64 %81, 1
  store i64 %inc.i75, ptr %met1.i, align 8
  %div.i = sdiv i64 %76, 2
  %cmp.i77.not = icmp sgt i64 %inc.i75, %div.i
  br i1 %cmp.i77.not, label %cleanup32, label %if.end.i78

if.end.i78:
  store ptr %node, ptr %arrayidx.i83, align 8
  %.compoundliteral.sroa.2.0..sroa_idx.i = getelementptr inbounds i8, ptr %arrayidx.i83, i64 8
  store i64 %77, ptr %.compoundliteral.sroa.2.0..sroa_idx.i, align 8
  br label %cleanup32

cleanup32:
  %retval.2 = phi i1 [ false, %is_plain.exit ], [ false, %for.end ], [ false, %find.exit ], [ true, %if.end.i78 ], [ false, %land.lhs.true.i ], [ false, %entry ], [ false, %find.exit124 ], [ false, %add_place.exit ], [ false, %find.exit105 ], [ false, %add_argument_of.exit ], [ false, %lor.lhs.false.i ], [ false, %if.end.i ], [ false, %find.exit.i ]
  ret i1 %retval.2
}

; Function Attrs: noinline nounwind
define internal fastcc zeroext i1 @add_outputs(ptr nocapture noundef %walk, ptr noundef %wanted) unnamed_addr #0 {
entry:
  %overflow.i = alloca i32, align 4
  %0 = load ptr, ptr %walk, align 8
  %made_count = getelementptr inbounds i8, ptr %walk, i64 80
  %1 = load i64, ptr %made_count, align 8
  %cmp121 = icmp sgt i64 %1, 0
  br i1 %cmp121, label %for.body.lr.ph, label %if.then11

for.body.lr.ph:
  %made = getelementptr inbounds i8, ptr %walk, i64 64
  %capacity.i102 = getelementptr inbounds i8, ptr %walk, i64 16
  %table.i110 = getelementptr inbounds i8, ptr %walk, i64 8
  br label %for.body

for.cond.cleanup:
  br i1 %has_wanted.1, label %if.end15, label %if.then11

for.body:
  %2 = phi i64 [ %1, %for.body.lr.ph ], [ %12, %cleanup ]
  %kept.0124 = phi i64 [ 0, %for.body.lr.ph ], [ %kept.1, %cleanup ]
  %k.0123 = phi i64 [ 0, %for.body.lr.ph ], [ %inc8, %cleanup ]
  %has_wanted.0122 = phi i1 [ false, %for.body.lr.ph ], [ %has_wanted.1, %cleanup ]
  %3 = load ptr, ptr %made, align 8
  %arrayidx = getelementptr ptr, ptr %3, i64 %k.0123
  %4 = load ptr, ptr %arrayidx, align 8
  %5 = load i64, ptr %4, align 8
  %6 = load i64, ptr %capacity.i102, align 8
  %sub.i103 = add i64 %6, -1
  %7 = ptrtoint ptr %4 to i64
  %shr.i104 = lshr i64 %7, 4
  %mul.i105 = mul i64 %shr.i104, -7046029254386353131
  %shr1.i106 = lshr i64 %mul.i105, 32
  %8 = load ptr, ptr %table.i110, align 8
  br label %for.cond.i107

for.cond.i107:
  %k.0.i108 = phi i64 [ %shr1.i106, %for.body ], [ %inc.i119, %for.cond.i107 ]
  %and.i111 = and i64 %k.0.i108, %sub.i103
  %arrayidx.i112 = getelementptr %struct.Met, ptr %8, i64 %and.i111
  %9 = load ptr, ptr %arrayidx.i112, align 8
  %cmp.i113 = icmp ne ptr %9, %4
  %tobool.not.i114 = icmp ne ptr %9, null
  %or.cond.i115.not = and i1 %cmp.i113, %tobool.not.i114
  %inc.i119 = add i64 %k.0.i108, 1
  br i1 %or.cond.i115.not, label %for.cond.i107, label %find.exit120

find.exit120:
  %conv1.i = and i64 %5, 4294967295
  %number = getelementptr inbounds i8, ptr %arrayidx.i112, i64 8
  %10 = load i64, ptr %number, align 8
  %cmp3.not = icmp sgt i64 %conv1.i, %10
  br i1 %cmp3.not, label %if.end, label %cleanup

if.end:
  %inc = add i64 %kept.0124, 1
  %arrayidx5 = getelementptr ptr, ptr %3, i64 %kept.0124
  store ptr %4, ptr %arrayidx5, align 8
  %cmp6 = icmp eq ptr %4, %wanted
  %11 = or i1 %has_wanted.0122, %cmp6
  %.pre = load i64, ptr %made_count, align 8
  br label %cleanup

cleanup:
  %12 = phi i64 [ %.pre, %if.end ], [ %2, %find.exit120 ]
  %has_wanted.1 = phi i1 [ %11, %if.end ], [ %has_wanted.0122, %find.exit120 ]
  %kept.1 = phi i64 [ %inc, %if.end ], [ %kept.0124, %find.exit120 ]
  %inc8 = add nuw nsw i64 %k.0123, 1
  %cmp = icmp slt i64 %inc8, %12
  br i1 %cmp, label %for.body, label %for.cond.cleanup

if.then11:
  %kept.0.lcssa132 = phi i64 [ %kept.1, %for.cond.cleanup ], [ 0, %entry ]
  %made12 = getelementptr inbounds i8, ptr %walk, i64 64
  %13 = load ptr, ptr %made12, align 8
  %inc13 = add i64 %kept.0.lcssa132, 1
  %arrayidx14 = getelementptr ptr, ptr %13, i64 %kept.0.lcssa132
  store ptr %wanted, ptr %arrayidx14, align 8
  br label %if.end15

if.end15:
  %kept.2 = phi i64 [ %kept.1, %for.cond.cleanup ], [ %inc13, %if.then11 ]
  store i64 %kept.2, ptr %made_count, align 8
  %cmp19.not126 = icmp sgt i64 %kept.2, 0
  br i1 %cmp19.not126, label %for.body22.lr.ph, label %if.end15.for.end44_crit_edge

if.end15.for.end44_crit_edge:
  %count.i.phi.trans.insert = getelementptr inbounds i8, ptr %walk, i64 40
  %.pre129 = load i64, ptr %count.i.phi.trans.insert, align 8
  br label %for.end44

for.body22.lr.ph:
  %made24 = getelementptr inbounds i8, ptr %walk, i64 64
  %node = getelementptr inbounds i8, ptr %0, i64 136
  %capacity.i96 = getelementptr inbounds i8, ptr %walk, i64 16
  %table.i = getelementptr inbounds i8, ptr %walk, i64 8
  %words.i88 = getelementptr inbounds i8, ptr %walk, i64 32
  %count.i89 = getelementptr inbounds i8, ptr %walk, i64 40
  %index = getelementptr inbounds i8, ptr %0, i64 128
  %.pre128 = load i64, ptr %capacity.i96, align 8
  br label %for.body22

for.cond18:
  %inc41 = add nuw nsw i64 %k17.0127, 1
  %exitcond.not = icmp eq i64 %inc41, %kept.2
  br i1 %exitcond.not, label %for.end44, label %for.body22

for.body22:
  %14 = phi i64 [ %.pre128, %for.body22.lr.ph ], [ %32, %for.cond18 ]
  %k17.0127 = phi i64 [ 0, %for.body22.lr.ph ], [ %inc41, %for.cond18 ]
  %15 = load ptr, ptr %made24, align 8
  %arrayidx25 = getelementptr ptr, ptr %15, i64 %k17.0127
  %16 = load ptr, ptr %arrayidx25, align 8
  %17 = load i64, ptr %node, align 8
  %add.ptr.i = getelementptr i8, ptr %16, i64 %17
  %18 = load ptr, ptr %add.ptr.i, align 8
  %sub.i97 = add i64 %14, -1
  %19 = ptrtoint ptr %18 to i64
  %shr.i = lshr i64 %19, 4
  %mul.i98 = mul i64 %shr.i, -7046029254386353131
  %shr1.i = lshr i64 %mul.i98, 32
  %20 = load ptr, ptr %table.i, align 8
  br label %for.cond.i

for.cond.i:
  %k.0.i = phi i64 [ %shr1.i, %for.body22 ], [ %inc.i101, %for.cond.i ]
  %and.i = and i64 %k.0.i, %sub.i97
  %arrayidx.i99 = getelementptr %struct.Met, ptr %20, i64 %and.i
  %21 = load ptr, ptr %arrayidx.i99, align 8
  %cmp.i100 = icmp ne ptr %21, %18
  %tobool.not.i = icmp ne ptr %21, null
  %or.cond.i.not = and i1 %cmp.i100, %tobool.not.i
  %inc.i101 = add i64 %k.0.i, 1
  br i1 %or.cond.i.not, label %for.cond.i, label %find.exit

find.exit:
  %number29 = getelementptr inbounds i8, ptr %arrayidx.i99, i64 8
  %22 = load i64, ptr %number29, align 8
  %23 = load ptr, ptr %words.i88, align 8
  %24 = load i64, ptr %count.i89, align 8
  %inc.i90 = add i64 %24, 1
  store i64 %inc.i90, ptr %count.i89, align 8
  %arrayidx.i91 = getelementptr i64, ptr %23, i64 %24
  store i64 %22, ptr %arrayidx.i91, align 8
  %25 = load i64, ptr %count.i89, align 8
  %26 = load i64, ptr %capacity.i96, align 8
  %mul.i93 = shl i64 %26, 2
  %sub.i94 = add i64 %mul.i93, -4
  %cmp.i95 = icmp slt i64 %25, %sub.i94
  br i1 %cmp.i95, label %lor.lhs.false, label %cleanup46

lor.lhs.false:
  %27 = load i64, ptr %index, align 8
  %add.ptr.i79 = getelementptr i8, ptr %16, i64 %27
  %28 = load ptr, ptr %add.ptr.i79, align 8
  call void @llvm.lifetime.start.p0(i64 4, ptr nonnull %overflow.i) #8
  %call.i78 = call i64 @PyLong_AsLongLongAndOverflow(ptr noundef %28, ptr noundef nonnull %overflow.i) #7
  call void @llvm.lifetime.end.p0(i64 4, ptr nonnull %overflow.i) #8
  %29 = load ptr, ptr %words.i88, align 8
  %30 = load i64, ptr %count.i89, align 8
  %inc.i82 = add i64 %30, 1
  store i64 %inc.i82, ptr %count.i89, align 8
  %arrayidx.i83 = getelementptr i64, ptr %29, i64 %30
  store i64 %call.i78, ptr %arrayidx.i83, align 8
  %31 = load i64, ptr %count.i89, align 8
  %32 = load i64, ptr %capacity.i96, align 8
  %mul.i85 = shl i64 %32, 2
  %sub.i86 = add i64 %mul.i85, -4
  %cmp.i87 = icmp slt i64 %31, %sub.i86
  br i1 %cmp.i87, label %for.cond18, label %cleanup46

for.end44:
  %33 = phi i64 [ %.pre129, %if.end15.for.end44_crit_edge ], [ %31, %for.cond18 ]
  %words.i = getelementptr inbounds i8, ptr %walk, i64 32
  %34 = load ptr, ptr %words.i, align 8
  %count.i = getelementptr inbounds i8, ptr %walk, i64 40
  %inc.i = add i64 %33, 1
  store i64 %inc.i, ptr %count.i, align 8
  %arrayidx.i = getelementptr i64, ptr %34, i64 %33
  store i64 %kept.2, ptr %arrayidx.i, align 8
  %35 = load i64, ptr %count.i, align 8
  %capacity.i = getelementptr inbounds i8, ptr %walk, i64 16
  %36 = load i64, ptr %capacity.i, align 8
  %mul.i = shl i64 %36, 2
  %sub.i = add i64 %mul.i, -4
  %cmp.i = icmp slt i64 %35, %sub.i
  br label %cleanup46

cleanup46:
  %retval.3 = phi i1 [ %cmp.i, %for.end44 ], [ false, %lor.lhs.false ], [ false, %find.exit ]
  ret i1 %retval.3
}

declare ptr @PyBytes_FromStringAndSize(ptr noundef, i64 noundef) local_unnamed_addr #3

; Function Attrs: noinline nounwind
define internal fastcc ptr @tuple_of(ptr nocapture noundef readonly %objects, i64 noundef %count) unnamed_addr #0 {
entry:
  %call = tail call ptr @PyTuple_New(i64 noundef %count) #7
  %tobool.not = icmp eq ptr %call, null
  br i1 %tobool.not, label %if.else, label %if.then

if.then:
  %0 = load i64, ptr @python_tuple_items, align 8
  %add.ptr.i = getelementptr i8, ptr %call, i64 %0
  %mul = shl i64 %count, 3
  tail call void @llvm.memcpy.p0.p0.i64(ptr align 8 %add.ptr.i, ptr align 8 %objects, i64 %mul, i1 false)
  br label %if.end

if.else:
  tail call fastcc void @drop_all(ptr noundef %objects, i64 noundef %count) #9
  br label %if.end

if.end:
  ret ptr %call
}

; Function Attrs: noinline nounwind
define internal fastcc ptr @tuple_of_four(ptr nocapture noundef readonly %parts) unnamed_addr #0 {
entry:
  %0 = load ptr, ptr %parts, align 8
  %tobool.not = icmp eq ptr %0, null
  br i1 %tobool.not, label %for.body.preheader, label %land.lhs.true

for.body.preheader:
  br label %for.body

land.lhs.true:
  %arrayidx1 = getelementptr i8, ptr %parts, i64 8
  %1 = load ptr, ptr %arrayidx1, align 8
  %tobool2.not = icmp eq ptr %1, null
  br i1 %tobool2.not, label %for.body.preheader, label %land.lhs.true3

land.lhs.true3:
  %arrayidx4 = getelementptr i8, ptr %parts, i64 16
  %2 = load ptr, ptr %arrayidx4, align 8
  %tobool5.not = icmp eq ptr %2, null
  br i1 %tobool5.not, label %for.body.preheader, label %land.lhs.true6

land.lhs.true6:
  %arrayidx7 = getelementptr i8, ptr %parts, i64 24
  %3 = load ptr, ptr %arrayidx7, align 8
  %tobool8.not = icmp eq ptr %3, null
  br i1 %tobool8.not, label %for.body.preheader, label %if.then

if.then:
  %call = tail call fastcc ptr @tuple_of(ptr noundef nonnull %parts, i64 noundef 4) #9
  br label %return

for.body:
  %k.023 = phi i64 [ %inc, %for.inc ], [ 0, %for.body.preheader ]
  %arrayidx9 = getelementptr ptr, ptr %parts, i64 %k.023
  %4 = load ptr, ptr %arrayidx9, align 8
  %tobool10.not = icmp eq ptr %4, null
  br i1 %tobool10.not, label %for.inc, label %if.then11

if.then11:
  %5 = load i64, ptr %4, align 8
  %sub1.i = add i64 %5, -2
  %cmp.i = icmp ult i64 %sub1.i, 2147483647
  br i1 %cmp.i, label %if.then.i, label %if.else.i

if.then.i:
  %sub.i = add nsw i64 %5, -1
  store i64 %sub.i, ptr %4, align 8
  br label %for.inc

if.else.i:
  tail call void @Py_DecRef(ptr noundef nonnull %4) #7
  br label %for.inc

for.inc:
  %inc = add nuw nsw i64 %k.023, 1
  %exitcond.not = icmp eq i64 %inc, 4
  br i1 %exitcond.not, label %return, label %for.body

return:
  %retval.0 = phi ptr [ %call, %if.then ], [ null, %for.inc ]
  ret ptr %retval.0
}

; Function Attrs: noinline nounwind
define internal fastcc noundef zeroext i1 @add_leaf(ptr nocapture noundef %walk, ptr noundef %tensor) unnamed_addr #0 {
entry:
  %0 = load ptr, ptr %walk, align 8
  %value3 = getelementptr inbounds i8, ptr %0, i64 192
  %1 = load i64, ptr %value3, align 8
  %add.ptr.i52 = getelementptr i8, ptr %tensor, i64 %1
  %2 = load ptr, ptr %add.ptr.i52, align 8
  %capacity.i125 = getelementptr inbounds i8, ptr %walk, i64 16
  %3 = load i64, ptr %capacity.i125, align 8
  %sub.i126 = add i64 %3, -1
  %4 = ptrtoint ptr %tensor to i64
  %shr.i127 = lshr i64 %4, 4
  %mul.i128 = mul i64 %shr.i127, -7046029254386353131
  %shr1.i129 = lshr i64 %mul.i128, 32
  %table.i133 = getelementptr inbounds i8, ptr %walk, i64 8
  %5 = load ptr, ptr %table.i133, align 8
  br label %for.cond.i130

for.cond.i130:
  %k.0.i131 = phi i64 [ %shr1.i129, %entry ], [ %inc.i142, %for.cond.i130 ]
  %and.i134 = and i64 %k.0.i131, %sub.i126
  %arrayidx.i135 = getelementptr %struct.Met, ptr %5, i64 %and.i134
  %6 = load ptr, ptr %arrayidx.i135, align 8
  %cmp.i136 = icmp ne ptr %6, %tensor
  %tobool.not.i137 = icmp ne ptr %6, null
  %or.cond.i138.not = and i1 %cmp.i136, %tobool.not.i137
  %inc.i142 = add i64 %k.0.i131, 1
  br i1 %or.cond.i138.not, label %for.cond.i130, label %find.exit143

find.exit143:
  %7 = load ptr, ptr %arrayidx.i135, align 8
  %tobool.not = icmp eq ptr %7, null
  br i1 %tobool.not, label %if.end, label %cleanup27

if.end:
  %requires_grad = getelementptr inbounds i8, ptr %0, i64 152
  %8 = load i64, ptr %requires_grad, align 8
  %add.ptr.i53 = getelementptr i8, ptr %tensor, i64 %8
  %9 = load ptr, ptr %add.ptr.i53, align 8
  %cmp.i50 = icmp eq ptr %9, @_Py_TrueStruct
  br i1 %cmp.i50, label %if.then13, label %is_true.exit

is_true.exit:
  %call.i51 = tail call i32 @PyObject_IsTrue(ptr noundef %9) #7
  %cmp1.i = icmp eq i32 %call.i51, 1
  br i1 %cmp1.i, label %if.then13, label %land.lhs.true

land.lhs.true:
  %10 = load i64, ptr %capacity.i125, align 8
  %sub.i107 = add i64 %10, -1
  %11 = ptrtoint ptr %2 to i64
  %shr.i108 = lshr i64 %11, 4
  %mul.i109 = mul i64 %shr.i108, -7046029254386353131
  %shr1.i110 = lshr i64 %mul.i109, 32
  %12 = load ptr, ptr %table.i133, align 8
  br label %for.cond.i111

for.cond.i111:
  %k.0.i112 = phi i64 [ %shr1.i110, %land.lhs.true ], [ %inc.i123, %for.cond.i111 ]
  %and.i115 = and i64 %k.0.i112, %sub.i107
  %arrayidx.i116 = getelementptr %struct.Met, ptr %12, i64 %and.i115
  %13 = load ptr, ptr %arrayidx.i116, align 8
  %cmp.i117 = icmp ne ptr %13, %2
  %tobool.not.i118 = icmp ne ptr %13, null
  %or.cond.i119.not = and i1 %cmp.i117, %tobool.not.i118
  %inc.i123 = add i64 %k.0.i112, 1
  br i1 %or.cond.i119.not, label %for.cond.i111, label %find.exit124

find.exit124:
  %14 = load ptr, ptr %arrayidx.i116, align 8
  %tobool10.not = icmp eq ptr %14, null
  br i1 %tobool10.not, label %if.then13, label %for.cond.i92

for.cond.i92:
  %k.0.i93 = phi i64 [ %inc.i104, %for.cond.i92 ], [ %shr1.i110, %find.exit124 ]
  %and.i96 = and i64 %k.0.i93, %sub.i107
  %arrayidx.i97 = getelementptr %struct.Met, ptr %12, i64 %and.i96
  %15 = load ptr, ptr %arrayidx.i97, align 8
  %cmp.i98 = icmp ne ptr %15, %2
  %tobool.not.i99 = icmp ne ptr %15, null
  %or.cond.i100.not = and i1 %cmp.i98, %tobool.not.i99
  %inc.i104 = add i64 %k.0.i93, 1
  br i1 %or.cond.i100.not, label %for.cond.i92, label %cond.end

cond.end:
  %number = getelementptr inbounds i8, ptr %arrayidx.i97, i64 8
  %16 = load i64, ptr %number, align 8
  %tobool12.not = icmp eq i64 %16, 0
  br i1 %tobool12.not, label %if.then13, label %if.end24

if.then13:
  %17 = phi i1 [ false, %cond.end ], [ true, %is_true.exit ], [ false, %find.exit124 ], [ true, %if.end ]
  %spec2.i = getelementptr inbounds i8, ptr %0, i64 168
  %18 = load i64, ptr %spec2.i, align 8
  %add.ptr.i = getelementptr i8, ptr %tensor, i64 %18
  %19 = load ptr, ptr %add.ptr.i, align 8
  %cmp.i = icmp eq ptr %19, @_Py_NoneStruct
  %tobool15.not146 = icmp eq ptr %19, null
  %tobool15.not = or i1 %cmp.i, %tobool15.not146
  br i1 %tobool15.not, label %cleanup27, label %if.end17

if.end17:
  %leaves = getelementptr inbounds i8, ptr %walk, i64 56
  %20 = load ptr, ptr %leaves, align 8
  %leaf_count = getelementptr inbounds i8, ptr %walk, i64 72
  %21 = load i64, ptr %leaf_count, align 8
  %inc = add i64 %21, 1
  store i64 %inc, ptr %leaf_count, align 8
  %arrayidx = getelementptr ptr, ptr %20, i64 %21
  store ptr %tensor, ptr %arrayidx, align 8
  %22 = load i64, ptr %leaf_count, align 8
  %sub = sub i64 0, %22
  %.pre147 = load i64, ptr %capacity.i125, align 8
  %.pre149 = load ptr, ptr %table.i133, align 8
  br i1 %17, label %if.end24, label %land.lhs.true20

land.lhs.true20:
  %sub.i = add i64 %.pre147, -1
  %23 = ptrtoint ptr %2 to i64
  %shr.i = lshr i64 %23, 4
  %mul.i = mul i64 %shr.i, -7046029254386353131
  %shr1.i = lshr i64 %mul.i, 32
  br label %for.cond.i

for.cond.i:
  %k.0.i = phi i64 [ %shr1.i, %land.lhs.true20 ], [ %inc.i67, %for.cond.i ]
  %and.i = and i64 %k.0.i, %sub.i
  %arrayidx.i = getelementptr %struct.Met, ptr %.pre149, i64 %and.i
  %24 = load ptr, ptr %arrayidx.i, align 8
  %cmp.i65 = icmp ne ptr %24, %2
  %tobool.not.i = icmp ne ptr %24, null
  %or.cond.i.not = and i1 %cmp.i65, %tobool.not.i
  %inc.i67 = add i64 %k.0.i, 1
  br i1 %or.cond.i.not, label %for.cond.i, label %find.exit

find.exit:
  %met1.i56 = getelementptr inbounds i8, ptr %walk, i64 24
  %25 = load i64, ptr %met1.i56, align 8
  %inc.i57 = add i64 %25, 1
  store i64 %inc.i57, ptr %met1.i56, align 8
  %div.i59 = sdiv i64 %.pre147, 2
  %cmp.i60.not = icmp sgt i64 %inc.i57, %div.i59
  br i1 %cmp.i60.not, label %cleanup27, label %add.exit63.thread

add.exit63.thread:
  store ptr %2, ptr %arrayidx.i, align 8
  %.compoundliteral.sroa.2.0..sroa_idx.i62 = getelementptr inbounds i8, ptr %arrayidx.i, i64 8
  store i64 %sub, ptr %.compoundliteral.sroa.2.0..sroa_idx.i62, align 8
  %.pre = load i64, ptr %capacity.i125, align 8
  %.pre148 = load ptr, ptr %table.i133, align 8
  br label %if.end24

if.end24:
  %26 = phi ptr [ %12, %cond.end ], [ %.pre149, %if.end17 ], [ %.pre148, %add.exit63.thread ]
  %27 = phi i64 [ %10, %cond.end ], [ %.pre147, %if.end17 ], [ %.pre, %add.exit63.thread ]
  %place.0 = phi i64 [ %16, %cond.end ], [ %sub, %if.end17 ], [ %sub, %add.exit63.thread ]
  %sub.i69 = add i64 %27, -1
  br label %for.cond.i73

for.cond.i73:
  %k.0.i74 = phi i64 [ %shr1.i129, %if.end24 ], [ %inc.i85, %for.cond.i73 ]
  %and.i77 = and i64 %k.0.i74, %sub.i69
  %arrayidx.i78 = getelementptr %struct.Met, ptr %26, i64 %and.i77
  %28 = load ptr, ptr %arrayidx.i78, align 8
  %cmp.i79 = icmp ne ptr %28, %tensor
  %tobool.not.i80 = icmp ne ptr %28, null
  %or.cond.i81.not = and i1 %cmp.i79, %tobool.not.i80
  %inc.i85 = add i64 %k.0.i74, 1
  br i1 %or.cond.i81.not, label %for.cond.i73, label %find.exit86

find.exit86:
  %met1.i = getelementptr inbounds i8, ptr %walk, i64 24
  %29 = load i64, ptr %met1.i, align 8
  %inc.i = add i64 %29, 1
  store i64 %inc.i, ptr %met1.i, align 8
  %div.i = sdiv i64 %27, 2
  %cmp.i54.not = icmp sgt i64 %inc.i, %div.i
  br i1 %cmp.i54.not, label %cleanup27, label %if.end.i

if.end.i:
  store ptr %tensor, ptr %arrayidx.i78, align 8
  %.compoundliteral.sroa.2.0..sroa_idx.i = getelementptr inbounds i8, ptr %arrayidx.i78, i64 8
  store i64 %place.0, ptr %.compoundliteral.sroa.2.0..sroa_idx.i, align 8
  br label %cleanup27

cleanup27:
  %retval.1 = phi i1 [ true, %find.exit143 ], [ false, %if.then13 ], [ false, %find.exit ], [ false, %find.exit86 ], [ true, %if.end.i ]
  ret i1 %retval.1
}

declare void @Py_DecRef(ptr noundef) local_unnamed_addr #3

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smax.i64(i64, i64) #6

attributes #0 = { noinline nounwind "no-builtins" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #3 = { "no-builtins" }
attributes #4 = { mustprogress nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #5 = { nounwind "no-builtins" }
attributes #6 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { nobuiltin nounwind "no-builtins" }
attributes #8 = { nounwind }
attributes #9 = { nobuiltin "no-builtins" }
