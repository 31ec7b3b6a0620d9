; The ends of DLPack's capsules and records. An exception may be on its way then (the consumer refuses the tensor), during which no
; Python may run: it is put aside.
;
; A record begins with a tensor of 48 bytes; the object that owns it and its deleter follow.

declare i32 @Py_IsInitialized()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare i32 @PyCapsule_IsValid(ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)

@dltensor = internal constant [9 x i8] c"dltensor\00"

; The deleter of a record: whoever holds it needs it no more.
define void @tx_give_back(ptr %record) #2 {
entry:
  %type = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  %alive = call i32 @Py_IsInitialized()
  %ended = icmp eq i32 %alive, 0
  br i1 %ended, label %out, label %release
release:
  %lock = call i32 @PyGILState_Ensure()
  call void @PyErr_Fetch(ptr %type, ptr %value, ptr %trace)
  %context = getelementptr i8, ptr %record, i64 48
  %owner = load ptr, ptr %context
  call void @Py_DecRef(ptr %owner)
  %t = load ptr, ptr %type
  %v = load ptr, ptr %value
  %b = load ptr, ptr %trace
  call void @PyErr_Restore(ptr %t, ptr %v, ptr %b)
  call void @PyGILState_Release(i32 %lock)
  br label %out
out:
  ret void
}

; The destructor of a capsule: one that was taken over has another name, and its record another holder.
define void @tx_end_capsule(ptr %capsule) #2 {
entry:
  %valid = call i32 @PyCapsule_IsValid(ptr %capsule, ptr @dltensor)
  %unused = icmp ne i32 %valid, 0
  br i1 %unused, label %release, label %out
release:
  %record = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr @dltensor)
  %place = getelementptr i8, ptr %record, i64 56
  %deleter = load ptr, ptr %place
  call void %deleter(ptr %record)
  br label %out
out:
  ret void
}
