/* Contiguous copies of inputs that have other strides: small ones in memory of the call, others as arrays of
 * NumPy. */
#include "native.h"

enum { NPY_CORDER = 0 };
enum { SMALL_BYTES = 1024, ROOM_BYTES = 4096 }; /* of one copy, and of all small copies of a call */

/* An element of 4 or 8 bytes, at any address. */
typedef struct __attribute__((packed)) {
    uint32_t value;
} Element4;

typedef struct __attribute__((packed)) {
    uint64_t value;
} Element8;

INLINE void copy_element(char *to, const char *from, int64_t item_bytes) {
    if (item_bytes == 4)
        *(Element4 *)to = *(const Element4 *)from;
    else if (item_bytes == 8)
        *(Element8 *)to = *(const Element8 *)from;
    else
        __builtin_memcpy(to, from, (uint64_t)item_bytes);
}

/* Copy the elements of an array in C's order; returns where the next elements go. The last axis is a loop,
 * each axis before it recursion. */
NOINLINE char *copy_elements(char *to, const char *from, const int64_t *shape, const int64_t *strides,
                             int64_t rank, int64_t item_bytes) {
    for (int64_t k = 0; k < *shape; k++) {
        const char *source = from + k * *strides;
        if (rank > 1) {
            to = copy_elements(to, source, shape + 1, strides + 1, rank - 1, item_bytes);
        } else {
            copy_element(to, source, item_bytes);
            to += item_bytes;
        }
    }
    return to;
}

/* Copy the inputs that have no address yet: those of up to SMALL_BYTES into `room` while its ROOM_BYTES last,
 * others as new arrays, which are written to `copies` for the caller to release. Returns the number of new
 * arrays; -1, and no exception set, if there is no memory. */
NOINLINE int64_t copy_inputs(const Specification *spec, PyObject *const *arrays, Slot *slots,
                             const int64_t *bytes, char *room, PyObject **copies) {
    const ArgumentRecord *record = first_record(spec);
    char *const end = room + ROOM_BYTES;
    int64_t count = 0;
    for (int64_t k = 0; k < spec->inputs; k++, record = next_record(record)) {
        if (slots[k].address)
            continue;
        const PyArrayObject *array = (const PyArrayObject *)arrays[k];
        if (bytes[k] <= SMALL_BYTES && bytes[k] <= end - room && record->rank) {
            slots[k].address = room;
            room = copy_elements(room, array->data, array->dimensions, array->strides, record->rank,
                                 record->item_bytes);
            continue;
        }
        PyObject *copy = spec->new_copy(arrays[k], NPY_CORDER);
        if (!copy) {
            PyErr_Clear();
            decref_all(copies, count);
            return -1;
        }
        copies[count++] = copy;
        slots[k].address = ((PyArrayObject *)copy)->data;
    }
    return count;
}
