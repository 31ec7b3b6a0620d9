; Arguments by name: inputs, `out`, and the constants that a specification is for.
;
; At the place that a specification tells, it has the name of every input, null where it is taken by position only, and then of every
; constant its name and its value. Names are compared by address: Python has one string for each that a program's text uses.

declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
@PyFloat_Type = external global i8
@PyLong_Type = external global i8

; Is a constant what it was? Values of other types than float, int and bool, or of their subclasses, are left to Python.
define internal i1 @same_constant(ptr %given, ptr %known) #0 {
entry:
  %identical = icmp eq ptr %given, %known
  br i1 %identical, label %yes, label %types
types:
  %given.type.at = getelementptr i64, ptr %given, i64 1
  %given.type = load ptr, ptr %given.type.at
  %known.type.at = getelementptr i64, ptr %known, i64 1
  %known.type = load ptr, ptr %known.type.at
  %same.type = icmp eq ptr %given.type, %known.type
  br i1 %same.type, label %which, label %no
which:
  %float = icmp eq ptr %known.type, @PyFloat_Type
  br i1 %float, label %floats, label %others
floats:                                                   ; 0.0 and -0.0 are different constants
  %given.value = call double @PyFloat_AsDouble(ptr %given)
  %known.value = call double @PyFloat_AsDouble(ptr %known)
  %given.bits = bitcast double %given.value to i64
  %known.bits = bitcast double %known.value to i64
  %equal = icmp eq i64 %given.bits, %known.bits
  ret i1 %equal
others:
  %int = icmp eq ptr %known.type, @PyLong_Type
  br i1 %int, label %ints, label %no                      ; there is one True and one False
ints:
  %compared = call i32 @PyObject_RichCompareBool(ptr %given, ptr %known, i32 2)
  %same = icmp eq i32 %compared, 1
  ret i1 %same
yes:
  ret i1 true
no:
  ret i1 false
}

; Where among `count` names, `step` words apart, one is; `count` if it is not there.
define internal i64 @find_name(ptr %names, i64 %count, i64 %step, ptr %name) #1 {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %compare, label %out
compare:
  %offset = mul i64 %k, %step
  %at = getelementptr ptr, ptr %names, i64 %offset
  %known = load ptr, ptr %at
  %same = icmp eq ptr %known, %name
  br i1 %same, label %out, label %next
next:
  %k.next = add i64 %k, 1
  br label %loop
out:
  ret i64 %k
}

; The outputs that `out=` names, behind the inputs: an array, or a tuple of several. False if it is something else.
define internal i1 @spread(ptr %value, i64 %outputs, ptr %into) #0 {
entry:
  %one = icmp eq i64 %outputs, 1
  br i1 %one, label %single, label %several
single:
  store ptr %value, ptr %into
  ret i1 true
several:
  %type.at = getelementptr i8, ptr %value, i64 8
  %type = load ptr, ptr %type.at
  %kind = call i32 @PyType_IsSubtype(ptr %type, ptr @PyTuple_Type)
  %is.tuple = icmp ne i32 %kind, 0
  br i1 %is.tuple, label %measure, label %no
measure:
  %length.at = getelementptr i64, ptr %value, i64 2
  %length = load i64, ptr %length.at
  %enough = icmp eq i64 %length, %outputs
  br i1 %enough, label %copy, label %no
copy:
  %items = getelementptr i8, ptr %value, i64 $TUPLE_ITEMS
  %bytes = shl i64 %outputs, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %into, ptr %items, i64 %bytes, i1 false)
  ret i1 true
no:
  ret i1 false
}

; Write the arguments in the order of slots into `into`, which has a place for every input and output. How many there are; -1 if they are
; not what the specification is for.
define internal i64 @gather(ptr %spec, ptr %arguments, i64 %positional, ptr %keywords, ptr %into) #0 {
entry:
  %inputs.at = getelementptr %specification, ptr %spec, i64 0, i32 1
  %inputs = load i64, ptr %inputs.at
  %outputs.at = getelementptr %specification, ptr %spec, i64 0, i32 2
  %outputs = load i64, ptr %outputs.at
  %all = add i64 %inputs, %outputs
  %prefix.at = getelementptr %specification, ptr %spec, i64 0, i32 16
  %prefix = load i64, ptr %prefix.at
  %most.at = getelementptr %specification, ptr %spec, i64 0, i32 17
  %most = load i64, ptr %most.at
  %constants.at = getelementptr %specification, ptr %spec, i64 0, i32 18
  %constants = load i64, ptr %constants.at
  %names.word = getelementptr %specification, ptr %spec, i64 0, i32 19
  %names.offset = load i64, ptr %names.word
  %names = getelementptr i64, ptr %spec, i64 %names.offset
  %constant.names = getelementptr i64, ptr %names, i64 %inputs
  %out.at = getelementptr %specification, ptr %spec, i64 0, i32 6
  %out = load ptr, ptr %out.at
  %first.output = getelementptr ptr, ptr %into, i64 %inputs
  %few = icmp ule i64 %positional, %prefix
  %full = icmp eq i64 %positional, %most
  %right = or i1 %few, %full
  br i1 %right, label %clear, label %other
clear:
  %c = phi i64 [ 0, %entry ], [ %c.next, %clear.one ]
  %c.more = icmp slt i64 %c, %all
  br i1 %c.more, label %clear.one, label %copy
clear.one:
  %c.at = getelementptr ptr, ptr %into, i64 %c
  store volatile ptr null, ptr %c.at                      ; LLVM would call memset
  %c.next = add i64 %c, 1
  br label %clear
copy:
  %bytes = shl i64 %positional, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %into, ptr %arguments, i64 %bytes, i1 false)
  %count.at = getelementptr i64, ptr %keywords, i64 2
  %count = load i64, ptr %count.at
  %items = getelementptr i8, ptr %keywords, i64 $TUPLE_ITEMS
  %values = getelementptr ptr, ptr %arguments, i64 %positional
  br label %keyword
keyword:
  %k = phi i64 [ 0, %copy ], [ %k.next, %next ]
  %given = phi i64 [ %positional, %copy ], [ %given.next, %next ]
  %matched = phi i64 [ 0, %copy ], [ %matched.next, %next ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %match, label %judge
match:
  %name.at = getelementptr ptr, ptr %items, i64 %k
  %name = load ptr, ptr %name.at
  %value.at = getelementptr ptr, ptr %values, i64 %k
  %value = load ptr, ptr %value.at
  %is.out = icmp eq ptr %name, %out
  br i1 %is.out, label %output, label %input
output:
  %none = icmp eq ptr %value, @_Py_NoneStruct
  br i1 %none, label %next, label %put
put:                                                      ; outputs that came by position as well are too many then
  %spread = call i1 @spread(ptr %value, i64 %outputs, ptr %first.output)
  br i1 %spread, label %behind, label %other
behind:
  %with.outputs = add i64 %given, %outputs
  br label %next
input:
  %position = call i64 @find_name(ptr %names, i64 %inputs, i64 1, ptr %name)
  %is.input = icmp slt i64 %position, %inputs
  br i1 %is.input, label %slot, label %constant
slot:
  %slot.at = getelementptr ptr, ptr %into, i64 %position
  %before = load ptr, ptr %slot.at
  %empty = icmp eq ptr %before, null
  br i1 %empty, label %fill, label %other
fill:
  store ptr %value, ptr %slot.at
  %one.more = add i64 %given, 1
  br label %next
constant:
  %which = call i64 @find_name(ptr %constant.names, i64 %constants, i64 2, ptr %name)
  %is.constant = icmp slt i64 %which, %constants
  br i1 %is.constant, label %compare, label %other
compare:
  %twice = shl i64 %which, 1
  %known.offset = add i64 %twice, 1
  %known.at = getelementptr ptr, ptr %constant.names, i64 %known.offset
  %known = load ptr, ptr %known.at
  %same = call i1 @same_constant(ptr %value, ptr %known)
  %matched.more = add i64 %matched, 1
  br i1 %same, label %next, label %other
next:
  %given.next = phi i64 [ %given, %output ], [ %with.outputs, %behind ], [ %one.more, %fill ], [ %given, %compare ]
  %matched.next = phi i64 [ %matched, %output ], [ %matched, %behind ], [ %matched, %fill ], [ %matched.more, %compare ]
  %k.next = add i64 %k, 1
  br label %keyword
judge:                                                    ; as many as there are places may still have left one out
  %without = icmp eq i64 %given, %inputs
  %complete = icmp eq i64 %given, %all
  %enough = or i1 %without, %complete
  %constants.right = icmp eq i64 %matched, %constants
  %good = and i1 %enough, %constants.right
  br i1 %good, label %inputs.there, label %other
inputs.there:
  %i = phi i64 [ 0, %judge ], [ %i.next, %there ]
  %i.more = icmp slt i64 %i, %inputs
  br i1 %i.more, label %look, label %done
look:
  %i.at = getelementptr ptr, ptr %into, i64 %i
  %object = load ptr, ptr %i.at
  %missing = icmp eq ptr %object, null
  br i1 %missing, label %other, label %there
there:
  %i.next = add i64 %i, 1
  br label %inputs.there
done:
  ret i64 %given
other:
  ret i64 -1
}
