; Numbers in place of arrays of rank 0, by the rules of `convert.py`: bool before integers before floats, in range. What is not taken here
; is converted, or complained about, in Python.
;
; Kinds of numbers: 1 bool, 2 to 5 signed and 6 to 9 unsigned integers of 1, 2, 4 and 8 bytes, 10 f32, 11 f64, 12 a Python float, 13 a
; Python int, 14 a Python bool. The table that a specification names has the type or dtype object of each kind, and ends with null.
; A record says which kind the kernel wants, 0 for none, plus 16 where Python's numbers may be given, plus 32 where those of NumPy may be
; of another kind (`Numbers` of spec.py).

declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare double @PyFloat_AsDouble(ptr)
declare double @llvm.fabs.f64(double)
@_Py_TrueStruct = external global i8

; The least and the largest value of each kind, as far as they fit 64 signed bits.
@number_limits = internal constant [10 x { i64, i64 }] [
  { i64, i64 } { i64 1, i64 0 }, { i64, i64 } { i64 0, i64 1 },
  { i64, i64 } { i64 -128, i64 127 }, { i64, i64 } { i64 -32768, i64 32767 }, { i64, i64 } { i64 -2147483648, i64 2147483647 },
  { i64, i64 } { i64 -9223372036854775808, i64 9223372036854775807 },
  { i64, i64 } { i64 0, i64 255 }, { i64, i64 } { i64 0, i64 65535 }, { i64, i64 } { i64 0, i64 4294967295 },
  { i64, i64 } { i64 0, i64 9223372036854775807 }
]

; The kind of a number, by its type, or its dtype where it is an array of rank 0, and where its value lies, unless Python knows that.
; The kind 0 is that of all else.
define internal { i64, ptr } @kind_of(ptr %spec, ptr %object) #1 {
entry:
  %type.at = getelementptr %ndarray, ptr %object, i64 0, i32 1
  %type = load ptr, ptr %type.at
  %ndarray.at = getelementptr %specification, ptr %spec, i64 0, i32 9
  %ndarray = load ptr, ptr %ndarray.at
  %behind = getelementptr i64, ptr %object, i64 2         ; NumPy's scalars, behind the two words of each object
  %array = icmp eq ptr %type, %ndarray
  br i1 %array, label %inside, label %find
inside:
  %descr.at = getelementptr %ndarray, ptr %object, i64 0, i32 7
  %descr = load ptr, ptr %descr.at
  %data.at = getelementptr %ndarray, ptr %object, i64 0, i32 2
  %data = load ptr, ptr %data.at
  %rank.at = getelementptr %ndarray, ptr %object, i64 0, i32 3
  %rank = load i32, ptr %rank.at
  %single = icmp eq i32 %rank, 0
  br i1 %single, label %find, label %none
find:
  %key = phi ptr [ %type, %entry ], [ %descr, %inside ]
  %value = phi ptr [ %behind, %entry ], [ %data, %inside ]
  %table.at = getelementptr %specification, ptr %spec, i64 0, i32 20
  %table = load ptr, ptr %table.at
  br label %look
look:
  %k = phi i64 [ 0, %find ], [ %k.next, %other ]
  %known.at = getelementptr { ptr, i64 }, ptr %table, i64 %k
  %known = load ptr, ptr %known.at
  %same = icmp eq ptr %known, %key
  br i1 %same, label %found, label %other
other:
  %k.next = add i64 %k, 1
  %end = icmp eq ptr %known, null
  br i1 %end, label %none, label %look
found:
  %kind.at = getelementptr { ptr, i64 }, ptr %table, i64 %k, i32 1
  %kind = load i64, ptr %kind.at
  %first = insertvalue { i64, ptr } undef, i64 %kind, 0
  %both = insertvalue { i64, ptr } %first, ptr %value, 1
  ret { i64, ptr } %both
none:
  ret { i64, ptr } zeroinitializer
}

; Write a number as the kernel wants it, into 8 bytes; false if it has to be left to Python.
define internal i1 @take_number(ptr %spec, ptr %record, ptr %object, ptr %into) #0 {
entry:
  %overflow = alloca i32
  %wanted.at = getelementptr i64, ptr %record, i64 3
  %wanted = load i64, ptr %wanted.at
  %target = and i64 %wanted, 15
  %never = icmp eq i64 %target, 0
  br i1 %never, label %no, label %look
look:
  %found = call { i64, ptr } @kind_of(ptr %spec, ptr %object)
  %kind = extractvalue { i64, ptr } %found, 0
  %data = extractvalue { i64, ptr } %found, 1
  %same = icmp eq i64 %kind, %target
  br i1 %same, label %copy, label %may
copy:
  %item.at = getelementptr i64, ptr %record, i64 1
  %item = load i64, ptr %item.at
  call void @llvm.memcpy.p0.p0.i64(ptr %into, ptr %data, i64 %item, i1 false)
  br label %yes
may:
  %python = icmp uge i64 %kind, 12
  %bit = select i1 %python, i64 16, i64 32
  %has = and i64 %wanted, %bit
  %refused = icmp eq i64 %has, 0
  br i1 %refused, label %no, label %read
read:
  switch i64 %kind, label %no [
    i64 1, label %u8
    i64 2, label %i8
    i64 3, label %i16
    i64 4, label %i32
    i64 5, label %i64
    i64 6, label %u8
    i64 7, label %u16
    i64 8, label %u32
    i64 9, label %u64
    i64 10, label %f32
    i64 11, label %f64
    i64 12, label %float
    i64 13, label %int
    i64 14, label %bool
  ]
i8:
  %i8.value = load i8, ptr %data, align 1
  %i8.wide = sext i8 %i8.value to i64
  br label %integer
i16:
  %i16.value = load i16, ptr %data, align 1
  %i16.wide = sext i16 %i16.value to i64
  br label %integer
i32:
  %i32.value = load i32, ptr %data, align 1
  %i32.wide = sext i32 %i32.value to i64
  br label %integer
i64:
  %i64.value = load i64, ptr %data, align 1
  br label %integer
u8:
  %u8.value = load i8, ptr %data, align 1
  %u8.wide = zext i8 %u8.value to i64
  br label %integer
u16:
  %u16.value = load i16, ptr %data, align 1
  %u16.wide = zext i16 %u16.value to i64
  br label %integer
u32:
  %u32.value = load i32, ptr %data, align 1
  %u32.wide = zext i32 %u32.value to i64
  br label %integer
u64:
  %u64.value = load i64, ptr %data, align 1
  %beyond = icmp slt i64 %u64.value, 0
  br i1 %beyond, label %no, label %integer
int:
  %int.value = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %over = load i32, ptr %overflow
  %fits = icmp eq i32 %over, 0
  br i1 %fits, label %integer, label %no
bool:
  %true = icmp eq ptr %object, @_Py_TrueStruct
  %bool.value = zext i1 %true to i64
  br label %integer
f32:
  %f32.value = load float, ptr %data, align 1
  %f32.wide = fpext float %f32.value to double
  br label %real
f64:
  %f64.value = load double, ptr %data, align 1
  br label %real
float:
  %float.value = call double @PyFloat_AsDouble(ptr %object)
  br label %real
integer:
  %value = phi i64 [ %i8.wide, %i8 ], [ %i16.wide, %i16 ], [ %i32.wide, %i32 ], [ %i64.value, %i64 ], [ %u8.wide, %u8 ],
                   [ %u16.wide, %u16 ], [ %u32.wide, %u32 ], [ %u64.value, %u64 ], [ %int.value, %int ], [ %bool.value, %bool ]
  switch i64 %target, label %limited [
    i64 1, label %truth
    i64 10, label %to.f32
    i64 11, label %to.f64
  ]
truth:                                                    ; only truth values are
  %is.python = icmp eq i64 %kind, 14
  br i1 %is.python, label %whole, label %no
limited:
  %lo.at = getelementptr [10 x { i64, i64 }], ptr @number_limits, i64 0, i64 %target
  %lo = load i64, ptr %lo.at
  %hi.at = getelementptr { i64, i64 }, ptr %lo.at, i64 0, i32 1
  %hi = load i64, ptr %hi.at
  %above = icmp sge i64 %value, %lo
  %below = icmp sle i64 %value, %hi
  %inside = and i1 %above, %below
  br i1 %inside, label %whole, label %no
whole:                                                    ; its lower bytes come first
  store i64 %value, ptr %into
  br label %yes
to.f32:
  %rounded = sitofp i64 %value to float
  store float %rounded, ptr %into
  br label %yes
to.f64:
  %nearest = sitofp i64 %value to double
  store double %nearest, ptr %into
  br label %yes
real:
  %number = phi double [ %f32.wide, %f32 ], [ %f64.value, %f64 ], [ %float.value, %float ]
  switch i64 %target, label %no [
    i64 10, label %narrow
    i64 11, label %keep
  ]
narrow:
  %short = fptrunc double %number to float
  %again = fpext float %short to double
  %size = call double @llvm.fabs.f64(double %again)
  %infinite = fcmp oeq double %size, 0x7FF0000000000000
  %unchanged = fcmp oeq double %again, %number
  %finite = xor i1 %infinite, true
  %good = or i1 %finite, %unchanged
  br i1 %good, label %put, label %no
put:
  store float %short, ptr %into
  br label %yes
keep:
  store double %number, ptr %into
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}
