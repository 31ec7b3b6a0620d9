/* Checks of the values of integer arrays: in range, distinct. A translation unit of its own:
 * `value_checks.py` compiles the check of one dtype when the first array of that dtype is checked.
 *
 * All values are compared as int64_t. Elements of 64 unsigned bits are taken as they are: no bound is above
 * 2^63.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

void *tx_alloc(uint64_t bytes);
void tx_free(void *user);

typedef enum { I8, I16, I32, I64, U8, U16, U32, U64 } Type;

/* Elements at any address. */
#define UNALIGNED(name, type) typedef type name __attribute__((aligned(1)))
UNALIGNED(i8, int8_t);
UNALIGNED(i16, int16_t);
UNALIGNED(i32, int32_t);
UNALIGNED(i64, int64_t);
UNALIGNED(u8, uint8_t);
UNALIGNED(u16, uint16_t);
UNALIGNED(u32, uint32_t);
UNALIGNED(u64, uint64_t);

INLINE int64_t element(const void *data, int64_t k, Type type) {
    switch (type) {
    case I8: return ((const i8 *)data)[k];
    case I16: return ((const i16 *)data)[k];
    case I32: return ((const i32 *)data)[k];
    case I64: return ((const i64 *)data)[k];
    case U8: return ((const u8 *)data)[k];
    case U16: return ((const u16 *)data)[k];
    case U32: return ((const u32 *)data)[k];
    case U64: return (int64_t)((const u64 *)data)[k];
    }
    return 0;
}

INLINE int64_t bytes_of(Type type) { return (int64_t)1 << (type & 3); }

/* True if all elements are in lo..hi. Without an early exit, so that it becomes a vector loop. */
INLINE bool all_in_range(const void *data, int64_t bytes, int64_t lo, int64_t hi, Type type) {
    const int64_t count = bytes / bytes_of(type);
    bool good = true;
    for (int64_t k = 0; k < count; k++) {
        int64_t value = element(data, k, type);
        good &= (value >= lo) & (value < hi);
    }
    return good;
}

/* One byte per value between the least and the largest one. */
typedef struct {
    int64_t least;
    uint64_t span;
    uint8_t *marks;
} Marks;

/* True if no value of a row is met twice. Values are marked, and unmarked for the next row. An array that
 * another thread changes meanwhile may have values outside of the marks: false. */
INLINE bool is_row_distinct(const void *data, int64_t first, int64_t row, Type type, Marks at, bool is_last) {
    uint8_t seen = 0;
    for (int64_t k = first; k < first + row; k++) {
        uint64_t place = (uint64_t)(element(data, k, type) - at.least);
        if (place >= at.span)
            return false;
        seen |= at.marks[place];
        at.marks[place] = 1;
    }
    if (seen)
        return false;
    for (int64_t k = first; !is_last && k < first + row; k++) {
        uint64_t place = (uint64_t)(element(data, k, type) - at.least);
        if (place >= at.span)
            return false;
        at.marks[place] = 0;
    }
    return true;
}

INLINE bool are_rows_distinct(const void *data, int64_t rows, int64_t row, Type type, Marks at) {
    for (int64_t k = 0; k < rows; k++)
        if (!is_row_distinct(data, k * row, row, type, at, k + 1 == rows))
            return false;
    return true;
}

/* True if every row of `row` elements holds each value once. False, too, where sorting has to tell: where the
 * values could be more than four times as many as a row has elements, or where there is no memory. */
INLINE bool all_distinct(const void *data, int64_t bytes, int64_t row, Type type) {
    enum { ON_STACK = 1024 };
    const int64_t count = bytes / bytes_of(type);
    int64_t least = INT64_MAX, most = INT64_MIN;
    if (count == 0)
        return true;
    for (int64_t k = 0; k < count; k++) {
        int64_t value = element(data, k, type);
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    const uint64_t distance = (uint64_t)most - (uint64_t)least;
    if (distance >= (uint64_t)row * 4)
        return false;
    Marks at = {least, distance + 1, NULL};
    uint8_t room[ON_STACK];
    at.marks = at.span <= ON_STACK ? room : tx_alloc(at.span);
    if (!at.marks)
        return false;
    __builtin_memset(at.marks, 0, at.span);
    const bool distinct = are_rows_distinct(data, count / row, row, type, at);
    if (at.marks != room)
        tx_free(at.marks);
    return distinct;
}

/* Two functions per dtype, as call.c calls them; the second has no use for its last word. */
#define CHECKS(dtype, type)                                                                                  \
    bool tx_range_##dtype(const void *data, int64_t bytes, int64_t lo, int64_t hi) {                         \
        return all_in_range(data, bytes, lo, hi, type);                                                      \
    }                                                                                                        \
    bool tx_distinct_##dtype(const void *data, int64_t bytes, int64_t row, int64_t unused) {                 \
        (void)unused;                                                                                        \
        return all_distinct(data, bytes, row, type);                                                         \
    }

CHECKS(i8, I8)
CHECKS(i16, I16)
CHECKS(i32, I32)
CHECKS(i64, I64)
CHECKS(u8, U8)
CHECKS(u16, U16)
CHECKS(u32, U32)
CHECKS(u64, U64)
