/* Types and declarations that the parts of the native library share.
 *
 * The library is one translation unit, `library.c`, which includes the parts. So functions are static, and
 * the compiler inlines across parts. Functions that other code refers to have names that begin with `tx_`;
 * `native_library.py` lists them (EXPORTS).
 *
 * It is C11 without a C library's headers: the few functions of libc, CPython and NumPy that it calls are
 * declared here or in the part that calls them. So the same sources compile for each host on any machine, and
 * for every version of CPython and NumPy. Builds of CPython without the GIL have another head of objects:
 * `library_free_threaded.c` is the library for them.
 */
#ifndef TEXPR_NATIVE_H
#define TEXPR_NATIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Small functions on the path of every call. */
#define INLINE static inline __attribute__((always_inline))
/* Functions that kernels, Python and NumPy refer to. Calls between parts stay calls: copies of large
 * functions would only take time to compile. */
#define EXPORT __attribute__((noinline))
/* Functions that run seldom, or that keep arrays on the stack: not copied into their callers. */
#define NOINLINE static __attribute__((noinline))
/* Memory until the calling function returns, as C's alloca. */
#define STACK_ARRAY(type, count) ((type *)__builtin_alloca((uint64_t)(count) * sizeof(type)))

#define CACHE_LINE 64

/* ---- CPython and NumPy ---- */

#ifdef TEXPR_FREE_THREADED
/* The head of an object in builds of CPython without the GIL (PEP 703). */
typedef struct PyObject {
    uint64_t ob_tid;
    uint16_t ob_flags;
    uint8_t ob_mutex, ob_gc_bits;
    uint32_t ob_ref_local;
    int64_t ob_ref_shared;
    struct PyObject *ob_type;
} PyObject;

typedef struct {
    uint64_t previous;
    void *mutex;
} PyCriticalSection;

void PyCriticalSection_Begin(PyCriticalSection *, PyObject *);
void PyCriticalSection_End(PyCriticalSection *);
#else
typedef struct PyObject {
    int64_t ob_refcnt;
    struct PyObject *ob_type;
} PyObject;
#endif

typedef struct {
    PyObject ob_base;
    int64_t ob_size;
} PyVarObject;

/* NumPy's PyArrayObject: part of its ABI, the same in all versions. */
typedef struct {
    PyObject ob_base;
    void *data;
    int32_t nd;
    int64_t *dimensions;
    int64_t *strides;
    PyObject *base;
    PyObject *descr;
    int32_t flags;
} PyArrayObject;

enum { NPY_ARRAY_C_CONTIGUOUS = 0x1, NPY_ARRAY_WRITEABLE = 0x400 };

/* Layouts that differ between versions of CPython, in bytes: where a tuple has its items, where it keeps its
 * hash (from CPython 3.14 on; 0 before), where a `bytes` object has its bytes. `native_library.py` writes the
 * values into the IR. */
extern const int64_t python_tuple_items, python_tuple_hash, python_bytes_data;

extern PyObject PyTuple_Type, PyFloat_Type, PyLong_Type, _Py_NoneStruct, _Py_TrueStruct;

void Py_IncRef(PyObject *);
void Py_DecRef(PyObject *);
void PyErr_Clear(void);
int PyErr_CheckSignals(void);
PyObject *PyObject_Vectorcall(PyObject *, PyObject *const *, uint64_t, PyObject *);
PyObject *PyObject_CallNoArgs(PyObject *);
int PyObject_RichCompareBool(PyObject *, PyObject *, int);
PyObject *PyTuple_New(int64_t);
PyObject *PyType_GenericAlloc(PyObject *, int64_t);
int PyType_IsSubtype(PyObject *, PyObject *);
long long PyLong_AsLongLongAndOverflow(PyObject *, int *);
double PyFloat_AsDouble(PyObject *);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *);

/* ---- libc ---- */

long syscall(long, ...);
int sched_yield(void);
unsigned long pthread_self(void);

/* ---- Kernels and what describes their calls
 * ----------------------------------------------------------------------------------------- */

/* One word of what a kernel gets: the address of an array, or a size. */
typedef union {
    void *address;
    int64_t value;
    uint64_t bits;
} Slot;

/* The entry of a kernel. */
typedef int32_t KernelEntry(Slot *slots);
enum { KERNEL_DONE = 0, KERNEL_INTERRUPTED = 1, KERNEL_NO_MEMORY = 2, KERNEL_CHECK_FAILED = 3 };

/* A check of the values of an integer array (`value_checks.c`). */
typedef bool ValueCheckFunction(const void *data, int64_t bytes, int64_t lo, int64_t hi);

/* A bound of a check: constant + sizes[size], or the constant alone where `size` is -1. */
typedef struct {
    int64_t constant;
    int64_t size;
} Bound;

typedef struct {
    int64_t position; /* of the input */
    ValueCheckFunction *function;
    Bound lo, hi;
} ValueCheck;

/* One argument: inputs first, then outputs. Records have different lengths and follow one another. */
typedef struct {
    PyObject *dtype;
    int64_t item_bytes;
    int64_t rank;
    int64_t numbers;   /* which numbers may stand for the array (`numbers.c`) */
    int64_t extents[]; /* `rank` of them: e >= 0 is a constant, -1 - k is size number k */
} ArgumentRecord;

/* A type or dtype object of numbers, and its kind (`numbers.c`). */
typedef struct {
    PyObject *type;
    int64_t kind;
} NumberType;

typedef PyObject *NewFromDescr(PyObject *type, PyObject *descr, int nd, const int64_t *dims,
                               const int64_t *strides, void *data, int flags, PyObject *obj);
typedef PyObject *SetHandler(PyObject *handler);
typedef PyObject *NewCopy(PyObject *array, int order);

/* Whether a kernel lets go of the GIL and looks for Ctrl-C (`Duration` of spec.py). */
enum { DURATION_INTERRUPTIBLE = 0, DURATION_SHORT = 1, DURATION_TRIVIAL = 2 };

/* The specification of a call: 64-bit words that `fast_path.py` packs into a `bytes` object. Behind these
 * words stand the checks, the value of each size (-1: arguments tell it), the argument records, the names. */
typedef struct {
    KernelEntry *entry;
    int64_t inputs, outputs, sizes; /* how many there are */
    int64_t duration;               /* DURATION_* */
    PyObject *slow;                 /* the Python function that takes all calls that are not taken here */
    PyObject *out_name;             /* the string "out", or NULL where outputs may not be named */
    PyObject *result_type;          /* of the tuple of several outputs; NULL for one output */
    PyObject *failed;               /* is called to raise what a kernel that could not finish means */
    PyObject *ndarray;              /* the type */
    NewFromDescr *new_from_descr;   /* PyArray_NewFromDescr */
    SetHandler *set_handler;        /* PyDataMem_SetHandler */
    PyObject *memory_handler;       /* of this library's memory (NEP 49) */
    int64_t checks;                 /* how many there are */
    int64_t short_up_to;            /* an interruptible kernel is short where no size is larger; 0: never */
    int64_t prefix;     /* the word in front of the slots: data of code that many callables share */
    int64_t positional; /* how many inputs may be given by position */
    int64_t positional_with_outputs; /* arguments with all outputs by position; -1: they may not be */
    int64_t constants;               /* how many there are */
    int64_t names_at;                /* index of the word where the names begin (`keywords.c`) */
    const NumberType *number_types;  /* ends with a NULL type (`numbers.c`) */
    NewCopy *new_copy;               /* PyArray_NewCopy */
    int64_t words[];
} Specification;

_Static_assert(sizeof(Specification) == 22 * 8, "fast_path.py packs 22 words");
_Static_assert(sizeof(ValueCheck) == 6 * 8, "fast_path.py packs 6 words per check");

INLINE const ValueCheck *value_checks(const Specification *spec) { return (const ValueCheck *)spec->words; }

INLINE const int64_t *known_sizes(const Specification *spec) {
    return (const int64_t *)(value_checks(spec) + spec->checks);
}

INLINE const ArgumentRecord *first_record(const Specification *spec) {
    return (const ArgumentRecord *)(known_sizes(spec) + spec->sizes);
}

INLINE const ArgumentRecord *next_record(const ArgumentRecord *record) {
    return (const ArgumentRecord *)(record->extents + record->rank);
}

/* The bytes of the first item, a `bytes` object, of a tuple. */
INLINE void *data_of_first_item(PyObject *tuple) {
    PyObject *first = *(PyObject **)((char *)tuple + python_tuple_items);
    return (char *)first + python_bytes_data;
}

INLINE PyObject **tuple_items(PyObject *tuple) { return (PyObject **)((char *)tuple + python_tuple_items); }

#ifdef TEXPR_FREE_THREADED
/* Other threads count as well: CPython knows how. */
INLINE void incref(PyObject *object) { Py_IncRef(object); }

INLINE void decref(PyObject *object) { Py_DecRef(object); }

/* A new reference to the object in a slot of another one. Who replaces it has the same critical section, and
 * lets the old object go behind it. */
INLINE PyObject *reference_in(PyObject *owner, PyObject *const *slot) {
    PyCriticalSection section;
    PyCriticalSection_Begin(&section, owner);
    PyObject *found = *slot;
    Py_IncRef(found);
    PyCriticalSection_End(&section);
    return found;
}
#else
/* Py_INCREF and Py_DECREF without a call. The first word of an object is its reference count where that is
 * small, in every CPython with a GIL. Counts of immortal objects, and objects whose last reference goes, are
 * left to CPython. */
INLINE void incref(PyObject *object) {
    uint64_t more = (uint64_t)object->ob_refcnt + 1;
    if (more < (uint64_t)1 << 31)
        object->ob_refcnt = (int64_t)more;
    else
        Py_IncRef(object);
}

INLINE void decref(PyObject *object) {
    uint64_t less = (uint64_t)object->ob_refcnt - 1;
    if (less - 1 < ((uint64_t)1 << 31) - 1)
        object->ob_refcnt = (int64_t)less;
    else
        Py_DecRef(object);
}

/* A new reference to the object in a slot of another one. */
INLINE PyObject *reference_in(PyObject *owner, PyObject *const *slot) {
    (void)owner;
    incref(*slot);
    return *slot;
}
#endif

#endif
