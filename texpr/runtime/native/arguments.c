/* From argument objects to slots: checks, sizes, new outputs. `call.c` says which arguments are taken. */
#include "native.h"

enum { OUR_MEMORY_FROM = 65536 }; /* bytes of an array; as in numpy_api.py */

/* The extent that a word of a record means; -1 for a size that is not bound yet. */
INLINE int64_t extent_of(int64_t word, const Slot *sizes) { return word >= 0 ? word : sizes[~word].value; }

/* The bytes of an array of a record's rank and extents, whose sizes are bound where they are not; -1 if its
 * shape does not fit. */
INLINE int64_t match_shape(const ArgumentRecord *record, const PyArrayObject *array, Slot *sizes) {
    int64_t bytes = record->item_bytes;
    for (int64_t k = 0; k < record->rank; k++) {
        const int64_t have = array->dimensions[k], word = record->extents[k], extent = extent_of(word, sizes);
        if (have != extent) {
            if (extent >= 0)
                return -1;
            sizes[~word].value = have;
        }
        bytes *= have;
    }
    return bytes;
}

/* Match one argument with its record: bind sizes, write its address and its bytes. Returns the next record,
 * or NULL if it does not fit.
 *
 * An array that is not C-contiguous gets a NULL address. A number for an input of rank 0 is written to
 * `number`, 8 bytes. */
INLINE const ArgumentRecord *take_argument(const Specification *spec, const ArgumentRecord *record,
                                           PyObject *object, int32_t flags, Slot *sizes, Slot *slot,
                                           int64_t *bytes, Number *number) {
    const PyArrayObject *array = (const PyArrayObject *)object;
    if (object->ob_type != spec->ndarray || array->descr != record->dtype) {
        if (!take_number(spec, record, object, number))
            return NULL;
        slot->address = number;
        *bytes = record->item_bytes;
        return next_record(record);
    }
    if ((array->flags & flags) != flags || array->nd != record->rank)
        return NULL;
    *bytes = match_shape(record, array, sizes);
    if (*bytes < 0)
        return NULL;
    slot->address = array->flags & NPY_ARRAY_C_CONTIGUOUS ? array->data : NULL;
    return next_record(record);
}

INLINE int64_t bound_of(const Bound *bound, const Slot *sizes) {
    return bound->size < 0 ? bound->constant : bound->constant + sizes[bound->size].value;
}

/* True if the values of inputs are where the kernel relies on them to be. */
NOINLINE bool checks_hold(const Specification *spec, const Slot *slots, const int64_t *bytes,
                          const Slot *sizes) {
    const ValueCheck *checks = value_checks(spec);
    for (int64_t k = 0; k < spec->checks; k++) {
        const ValueCheck *check = &checks[k];
        if (!check->function(slots[check->position].address, bytes[check->position],
                             bound_of(&check->lo, sizes), bound_of(&check->hi, sizes)))
            return false;
    }
    return true;
}

/* True if an output shares a byte with another argument. */
INLINE bool outputs_overlap(int64_t inputs, int64_t all, const Slot *slots, const int64_t *bytes) {
    for (int64_t i = inputs; i < all; i++) {
        const uint64_t lo = slots[i].bits, hi = lo + (uint64_t)bytes[i];
        for (int64_t j = 0; j < i; j++) {
            const uint64_t other_lo = slots[j].bits, other_hi = other_lo + (uint64_t)bytes[j];
            if (lo < other_hi && other_lo < hi)
                return true;
        }
    }
    return false;
}

/* PyArray_NewFromDescr. Arrays of 64 KB and more get this library's memory, where freed blocks wait for the
 * next call and whose blocks begin at whole cache lines. */
INLINE PyObject *new_array(const Specification *spec, PyObject *dtype, int64_t rank, const int64_t *shape,
                           int64_t bytes) {
    const bool ours = bytes >= OUR_MEMORY_FROM;
    PyObject *previous = ours ? spec->set_handler(spec->memory_handler) : NULL;
    Py_IncRef(dtype); /* the new array takes over a reference */
    PyObject *made = spec->new_from_descr(spec->ndarray, dtype, (int)rank, shape, NULL, NULL, 0, NULL);
    if (previous) {
        Py_DecRef(spec->set_handler(previous));
        Py_DecRef(previous);
    }
    return made;
}

/* A new array for an output; NULL, and no exception set, if that has to be left to `slow`. */
INLINE PyArrayObject *new_output(const Specification *spec, const ArgumentRecord *record, const Slot *sizes) {
    int64_t *shape = STACK_ARRAY(int64_t, record->rank);
    int64_t bytes = record->item_bytes;
    for (int64_t k = 0; k < record->rank; k++) {
        shape[k] = extent_of(record->extents[k], sizes);
        if (shape[k] < 0)
            return NULL;
        bytes *= shape[k];
    }
    if ((uint64_t)bytes > memory_limit)
        return NULL;
    PyObject *made = new_array(spec, record->dtype, record->rank, shape, bytes);
    if (!made)
        PyErr_Clear();
    return (PyArrayObject *)made;
}

NOINLINE void decref_all(PyObject *const *objects, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        Py_DecRef(objects[k]);
}

/* Allocate all outputs into `objects`; false if that has to be left to `slow`. */
INLINE bool new_outputs(const Specification *spec, const ArgumentRecord *record, const Slot *sizes,
                        Slot *slots, PyObject **objects) {
    const int64_t outputs = spec->outputs;
    for (int64_t k = 0; k < outputs; k++, record = next_record(record)) {
        PyArrayObject *made = new_output(spec, record, sizes);
        if (!made) {
            decref_all(objects, k);
            return false;
        }
        objects[k] = &made->ob_base;
        slots[k].address = made->data;
    }
    return true;
}
