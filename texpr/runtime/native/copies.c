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

/* Copy elements that lie `stride` bytes apart. */
INLINE void copy_row(char *to, const char *from, int64_t count, int64_t stride, int64_t item_bytes) {
    if (item_bytes == 4)
        for (int64_t k = 0; k < count; k++)
            ((Element4 *)to)[k] = *(const Element4 *)(from + k * stride);
    else if (item_bytes == 8)
        for (int64_t k = 0; k < count; k++)
            ((Element8 *)to)[k] = *(const Element8 *)(from + k * stride);
    else
        for (int64_t k = 0; k < count; k++)
            __builtin_memcpy(to + k * item_bytes, from + k * stride, (uint64_t)item_bytes);
}

/* Copy the elements of an array in C's order; returns where the next elements go. */
NOINLINE char *copy_elements(char *to, const char *from, const int64_t *shape, const int64_t *strides,
                             int64_t rank, int64_t item_bytes) {
    if (rank == 1) {
        copy_row(to, from, *shape, *strides, item_bytes);
        return to + *shape * item_bytes;
    }
    for (int64_t k = 0; k < *shape; k++)
        to = copy_elements(to, from + k * *strides, shape + 1, strides + 1, rank - 1, item_bytes);
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
