/* The call path: from Python's arguments to a kernel and back, without Python code in between when all
 * arguments are as they should be.
 *
 * `tx_call` is a METH_FASTCALL | METH_KEYWORDS function whose `self` is a tuple. Its first item is a `bytes`
 * object that holds a Specification (`native.h`).
 *
 * Arguments are taken here if they are exact ndarrays of the very dtype object of their record, with its
 * extents, or numbers for inputs of rank 0. Inputs that are not C-contiguous are copied; outputs must be
 * C-contiguous, writeable and overlap nothing (several by name: `out=` a tuple). All other calls go to
 * `slow`, the Python function that converts arguments, or explains what is wrong. A kernel gets a slot per
 * argument and then the sizes.
 */
#include "native.h"

/* True if no size of this call is larger than a limit. */
INLINE bool sizes_up_to(const Specification *spec, const Slot *slots, int64_t limit) {
    const Slot *sizes = slots + spec->inputs + spec->outputs;
    for (int64_t k = 0; k < spec->sizes; k++)
        if (sizes[k].bits > (uint64_t)limit)
            return false;
    return true;
}

/* Call `failed`, which raises; it returns NULL. */
NOINLINE bool fail(const Specification *spec) {
    PyObject_CallNoArgs(spec->failed);
    return false;
}

/* Run a kernel that looks for Ctrl-C, again after a signal whose handler did not raise. True if it ran; false
 * with an exception set. */
NOINLINE bool run_interruptible(const Specification *spec, Slot *slots) {
    const bool is_main = pthread_self() == main_thread;
    for (;;) {
        if (is_main) {
            watch_again();
            atomic_store(&main_inside, 1);
            if (PyErr_CheckSignals()) {
                atomic_store_explicit(&main_inside, 0, memory_order_release);
                return false;
            }
        }
        void *thread = PyEval_SaveThread();
        kernel_enter(is_main);
        const int32_t result = spec->entry(slots);
        kernel_leave();
        PyEval_RestoreThread(thread);
        if (is_main)
            atomic_store_explicit(&main_inside, 0, memory_order_release);
        if (result != KERNEL_INTERRUPTED)
            return result == KERNEL_DONE || fail(spec);
        sched_yield();
    }
}

/* Run the kernel: with the GIL if it is over at once, else without. True if it ran; false with an exception
 * set. */
INLINE bool run_kernel(const Specification *spec, Slot *slots) {
    if (spec->duration == DURATION_TRIVIAL)
        return spec->entry(slots) == KERNEL_DONE || fail(spec);
    /* A short kernel cannot be interrupted: Python sees signals when it is back. */
    if (spec->duration == DURATION_SHORT ||
        (spec->short_up_to && sizes_up_to(spec, slots, spec->short_up_to))) {
        void *thread = PyEval_SaveThread();
        const int32_t result = spec->entry(slots);
        PyEval_RestoreThread(thread);
        if (result != KERNEL_INTERRUPTED) /* by the flag that was up for another kernel */
            return result == KERNEL_DONE || fail(spec);
    }
    return run_interruptible(spec, slots);
}

/* The result of a call: the output, or a tuple of several. Takes over the references in `objects`. */
INLINE PyObject *make_result(const Specification *spec, PyObject **objects) {
    PyObject *type = spec->result_type;
    const int64_t outputs = spec->outputs;
    if (!type)
        return objects[0];
    /* A named tuple has the layout of any tuple. */
    PyObject *tuple = type == &PyTuple_Type ? PyTuple_New(outputs) : PyType_GenericAlloc(type, outputs);
    if (!tuple) {
        decref_all(objects, outputs);
        return NULL;
    }
    if (python_tuple_hash)
        *(int64_t *)((char *)tuple + python_tuple_hash) = -1; /* unknown yet */
    for (int64_t k = 0; k < outputs; k++)
        tuple_items(tuple)[k] = objects[k];
    return tuple;
}

/* The words that a kernel gets: slots behind the specification's prefix. */
INLINE Slot *slots_behind_prefix(const Specification *spec, Slot *words) {
    words[0].value = spec->prefix;
    return words + 1;
}

/* True if as many arguments by position, and none by name, are what a specification is for. */
INLINE bool is_positional_form(const Specification *spec, int64_t positional) {
    const int64_t inputs = spec->inputs;
    const bool inputs_only = inputs == spec->positional && positional == inputs;
    return (inputs_only | (positional == spec->positional_with_outputs)) & !spec->constants;
}

/* The state of a call. Its arrays are on the stack of `serve`. */
typedef struct {
    PyObject *const *arrays; /* inputs, then outputs if they are given, in the order of slots */
    int64_t given;           /* how many there are */
    Slot *slots, *sizes;
    int64_t *bytes;     /* of each argument */
    PyObject **objects; /* outputs */
    PyObject **copies;  /* of inputs, to be released */
    int64_t copied;
} Call;

/* Match the arguments with their records. Returns the record behind the last one, or NULL if an argument does
 * not fit; `strided` tells whether an input has to be copied. */
INLINE const ArgumentRecord *take_arguments(const Specification *spec, Call *call, Number *numbers,
                                            bool *strided) {
    const ArgumentRecord *record = first_record(spec);
    const int64_t inputs = spec->inputs;
    const int32_t of_outputs = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE;
    *strided = false;
    for (int64_t k = 0; k < call->given; k++) {
        record = take_argument(spec, record, call->arrays[k], k < inputs ? 0 : of_outputs, call->sizes,
                               &call->slots[k], &call->bytes[k], &numbers[k]);
        if (!record)
            return NULL;
        *strided |= !call->slots[k].address;
    }
    return record;
}

/* Check values, take or allocate outputs, run the kernel. False, and nothing has happened, if the call has to
 * be left to `slow`; else `answer` is the result of the call: NULL with an exception set. */
INLINE bool run_call(const Specification *spec, const Call *call, const ArgumentRecord *outputs,
                     PyObject **answer) {
    const int64_t inputs = spec->inputs;
    if (!checks_hold(spec, call->slots, call->bytes, call->sizes))
        return false;
    if (call->given != inputs) {
        if (outputs_overlap(inputs, inputs + spec->outputs, call->slots, call->bytes))
            return false;
        for (int64_t k = 0; k < spec->outputs; k++) {
            call->objects[k] = call->arrays[inputs + k];
            incref(call->objects[k]);
        }
    } else if (!new_outputs(spec, outputs, call->sizes, call->slots + inputs, call->objects))
        return false;
    if (run_kernel(spec, call->slots)) {
        *answer = make_result(spec, call->objects);
    } else {
        decref_all(call->objects, spec->outputs);
        *answer = NULL;
    }
    return true;
}

/* Run the kernel if the arguments are as its specification says, and write the result of the call to
 * `answer`: NULL with an exception set. False, and nothing has happened, if they are not. */
NOINLINE bool serve(const Specification *spec, PyObject *const *arguments, int64_t positional,
                    PyObject *keywords, PyObject **answer) {
    const int64_t inputs = spec->inputs, all = inputs + spec->outputs, sizes = spec->sizes;
    Call call = {.arrays = arguments, .given = positional};
    if (!keywords) {
        if (!is_positional_form(spec, positional))
            return false;
    } else {
        PyObject **ordered = STACK_ARRAY(PyObject *, all);
        call.arrays = ordered;
        call.given = order_arguments(spec, arguments, positional, keywords, ordered);
        if (call.given < 0)
            return false;
    }
    call.slots = slots_behind_prefix(spec, STACK_ARRAY(Slot, 1 + all + sizes));
    call.sizes = call.slots + all;
    call.bytes = STACK_ARRAY(int64_t, all);
    call.objects = STACK_ARRAY(PyObject *, spec->outputs);
    const int64_t *known = known_sizes(spec);
    for (int64_t k = 0; k < sizes; k++)
        call.sizes[k].value = known[k];
    bool strided;
    const ArgumentRecord *outputs = take_arguments(spec, &call, STACK_ARRAY(Number, all), &strided);
    if (!outputs)
        return false;
    if (strided) {
        call.copies = STACK_ARRAY(PyObject *, inputs);
        char *room = __builtin_alloca_with_align(ROOM_BYTES, 8 * CACHE_LINE);
        call.copied = copy_inputs(spec, call.arrays, call.slots, call.bytes, room, call.copies);
        if (call.copied < 0)
            return false;
    }
    const bool served = run_call(spec, &call, outputs, answer);
    if (call.copied)
        decref_all(call.copies, call.copied);
    return served;
}

/* METH_FASTCALL | METH_KEYWORDS: one callable of one specification. */
EXPORT PyObject *tx_call(PyObject *self, PyObject *const *arguments, int64_t positional, PyObject *keywords) {
    const Specification *spec = data_of_first_item(self);
    PyObject *answer;
    if (serve(spec, arguments, positional, keywords, &answer))
        return answer;
    return PyObject_Vectorcall(spec->slow, arguments, (uint64_t)positional, keywords);
}

/* An object of `callable.Callable`. */
typedef struct {
    PyObject ob_base;
    void *vectorcall;
    PyObject *target; /* `_asked` */
} Callable;

/* Specifications to be asked in turn, as `Callable._become_native` packs them. */
typedef struct {
    PyObject *otherwise;    /* is called where none of them serves */
    int64_t count;          /* at least 1 */
    _Atomic int64_t latest; /* index of the specification that served last */
    const Specification *specs[];
} Dispatch;

#define PY_VECTORCALL_ARGUMENTS_OFFSET ((uint64_t)1 << 63)

/* Serve a call by the first specification that fits. The latest one is asked first: a call that is made again
 * is served at once. Threads may disagree about it, and then ask one more. */
INLINE bool dispatch(Dispatch *list, PyObject *const *arguments, int64_t positional, PyObject *keywords,
                     PyObject **answer) {
    const int64_t latest = atomic_load_explicit(&list->latest, memory_order_relaxed);
    if (serve(list->specs[latest], arguments, positional, keywords, answer))
        return true;
    for (int64_t k = 0; k < list->count; k++) {
        if (k == latest || !serve(list->specs[k], arguments, positional, keywords, answer))
            continue;
        atomic_store_explicit(&list->latest, k, memory_order_relaxed);
        return true;
    }
    return false;
}

/* The vectorcall function of `callable.Callable`. Its target is any callable, or a tuple whose first item is
 * a `bytes` object with a Dispatch, in which only `latest` changes. The target may be replaced while it runs.
 */
EXPORT PyObject *tx_vectorcall(Callable *object, PyObject *const *arguments, uint64_t count,
                               PyObject *keywords) {
    PyObject *target = reference_in(&object->ob_base, &object->target), *answer, *function = target;
    if (target->ob_type == &PyTuple_Type) {
        Dispatch *list = data_of_first_item(target);
        function = list->otherwise;
        if (dispatch(list, arguments, (int64_t)(count & ~PY_VECTORCALL_ARGUMENTS_OFFSET), keywords,
                     &answer)) {
            decref(target);
            return answer;
        }
    }
    answer = PyObject_Vectorcall(function, arguments, count, keywords);
    decref(target);
    return answer;
}

/* METH_FASTCALL, for `slow`: run the kernel. The arguments are arrays as the kernel wants them, then an int64
 * array of its sizes, which is returned. */
EXPORT PyObject *tx_run(PyObject *self, PyObject *const *arguments, int64_t count) {
    const Specification *spec = data_of_first_item(self);
    const int64_t all = count - 1;
    PyObject *last = arguments[all];
    Slot *slots = slots_behind_prefix(spec, STACK_ARRAY(Slot, 1 + all + spec->sizes));
    for (int64_t k = 0; k < all; k++)
        slots[k].address = ((const PyArrayObject *)arguments[k])->data;
    __builtin_memcpy(slots + all, ((const PyArrayObject *)last)->data, (uint64_t)spec->sizes * sizeof(Slot));
    if (!run_kernel(spec, slots))
        return NULL;
    Py_IncRef(last);
    return last;
}

/* Slots from integers of Python. */
INLINE void slots_of_integers(Slot *slots, PyObject *const *integers, int64_t count) {
    for (int64_t k = 0; k < count; k++) {
        int32_t overflow;
        slots[k].value = PyLong_AsLongLongAndOverflow(integers[k], &overflow);
    }
}

/* METH_FASTCALL: run the kernel on memory of others. The arguments are the addresses of inputs and outputs,
 * as integers. Returns None. */
EXPORT PyObject *tx_run_at(PyObject *self, PyObject *const *arguments, int64_t count) {
    const Specification *spec = data_of_first_item(self);
    Slot *slots = slots_behind_prefix(spec, STACK_ARRAY(Slot, 1 + count));
    slots_of_integers(slots, arguments, count);
    if (!run_kernel(spec, slots))
        return NULL;
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

/* METH_FASTCALL: the same of the addresses of inputs alone. Returns new arrays. */
EXPORT PyObject *tx_call_at(PyObject *self, PyObject *const *arguments, int64_t count) {
    const Specification *spec = data_of_first_item(self);
    Slot *slots = slots_behind_prefix(spec, STACK_ARRAY(Slot, 1 + count + spec->outputs));
    PyObject **objects = STACK_ARRAY(PyObject *, spec->outputs);
    const ArgumentRecord *record = first_record(spec);
    for (int64_t k = 0; k < count; k++)
        record = next_record(record);
    slots_of_integers(slots, arguments, count);
    if (!new_outputs(spec, record, slots, slots + count, objects)) {
        fail(spec);
        return NULL;
    }
    if (run_kernel(spec, slots))
        return make_result(spec, objects);
    decref_all(objects, spec->outputs);
    return NULL;
}
