/* Orders of the elements of rows, and places in ordered rows. A translation unit of its own,
 * compiled when the first order is asked for (`call/sorting.py`).
 *
 * Elements are compared by keys: unsigned integers in the same order. -0 and 0 have one key; NaN has the
 * largest, so it comes last, and first where the order is a decreasing one. Equal elements keep their order.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One function for all dtypes: the switch over the type of an element is predicted well, and the IR is short. */
#define SHARED static __attribute__((noinline))

void *tx_alloc(uint64_t bytes);
void tx_free(void *user);

typedef enum { I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, F8E4M3, F8E5M2 } Type;

enum { SHORT = 32, DIGIT = 8, BUCKETS = 1 << DIGIT };

typedef struct {
    uint64_t key;
    int64_t place;
} Item;

/* The key of a float, whose bits are the lower ones of `bits`; what is larger than `largest` is NaN. */
static inline uint64_t key_of_float(uint64_t bits, int width, uint64_t largest) {
    const uint64_t sign = (uint64_t)1 << (width - 1), all = sign | (sign - 1);
    const uint64_t magnitude = bits & (sign - 1);
    if (magnitude > largest)
        return all;
    if (magnitude == 0)
        return sign;
    return (bits & sign ? ~bits : bits | sign) & all;
}

SHARED uint64_t key_of(const void *data, int64_t k, Type type) {
    switch (type) {
    case I8: return (uint8_t)((const uint8_t *)data)[k] ^ 0x80u;
    case I16: return ((const uint16_t *)data)[k] ^ 0x8000u;
    case I32: return ((const uint32_t *)data)[k] ^ 0x80000000u;
    case I64: return ((const uint64_t *)data)[k] ^ ((uint64_t)1 << 63);
    case U8: return ((const uint8_t *)data)[k];
    case U16: return ((const uint16_t *)data)[k];
    case U32: return ((const uint32_t *)data)[k];
    case U64: return ((const uint64_t *)data)[k];
    case F16: return key_of_float(((const uint16_t *)data)[k], 16, 0x7c00);
    case BF16: return key_of_float(((const uint16_t *)data)[k], 16, 0x7f80);
    case F32: return key_of_float(((const uint32_t *)data)[k], 32, 0x7f800000);
    case F64: return key_of_float(((const uint64_t *)data)[k], 64, (uint64_t)0x7ff << 52);
    case F8E4M3: return key_of_float(((const uint8_t *)data)[k], 8, 0x7e); /* its largest number: nothing is infinite */
    case F8E5M2: return key_of_float(((const uint8_t *)data)[k], 8, 0x7c);
    }
    return 0;
}

static inline int bytes_of(Type type) {
    switch (type) {
    case I8: case U8: case F8E4M3: case F8E5M2: return 1;
    case I16: case U16: case F16: case BF16: return 2;
    case I32: case U32: case F32: return 4;
    default: return 8;
    }
}

/* Short rows: insertion of one item after the other. */
static inline void insert_all(Item *items, int64_t n) {
    for (int64_t k = 1; k < n; k++) {
        const Item item = items[k];
        int64_t at = k;
        for (; at > 0 && items[at - 1].key > item.key; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* One digit of the keys, least significant first: counts are of all items. False if all have the same. */
static inline bool scatter_by_digit(const Item *from, Item *to, int64_t n, int shift) {
    int64_t starts[BUCKETS] = {0};
    for (int64_t k = 0; k < n; k++)
        starts[from[k].key >> shift & (BUCKETS - 1)]++;
    if (starts[from[0].key >> shift & (BUCKETS - 1)] == n)
        return false;
    int64_t total = 0;
    for (int d = 0; d < BUCKETS; d++) {
        const int64_t count = starts[d];
        starts[d] = total;
        total += count;
    }
    for (int64_t k = 0; k < n; k++)
        to[starts[from[k].key >> shift & (BUCKETS - 1)]++] = from[k];
    return true;
}

/* The ordered items, in one of the two arrays. */
SHARED Item *ordered(Item *items, Item *others, int64_t n, int bytes) {
    if (n <= SHORT) {
        insert_all(items, n);
        return items;
    }
    for (int digit = 0; digit < bytes; digit++)
        if (scatter_by_digit(items, others, n, digit * DIGIT)) {
            Item *swapped = items;
            items = others;
            others = swapped;
        }
    return items;
}

/* Keys of up to 32 bits are one number with their places, half as long as an item: the key above the place, so
 * that equal ones differ in the order of their places. */
typedef uint64_t Pair;
enum { PAIRED = 4, PLACE_BITS = 32 };

SHARED void pair_all(const void *data, int64_t first, Pair *pairs, int64_t n, Type type, uint32_t flip) {
    if (type == F32) {
        const uint32_t *row = (const uint32_t *)data + first;
        for (int64_t k = 0; k < n; k++)
            pairs[k] = (Pair)((uint32_t)key_of_float(row[k], 32, 0x7f800000) ^ flip) << PLACE_BITS | (uint32_t)k;
        return;
    }
    for (int64_t k = 0; k < n; k++)
        pairs[k] = (Pair)((uint32_t)key_of(data, first + k, type) ^ flip) << PLACE_BITS | (uint32_t)k;
}

static inline void insert_pairs(Pair *pairs, int64_t n) {
    for (int64_t k = 1; k < n; k++) {
        const Pair pair = pairs[k];
        int64_t at = k;
        for (; at > 0 && pairs[at - 1] > pair; at--)
            pairs[at] = pairs[at - 1];
        pairs[at] = pair;
    }
}

/* The ordered pairs, in one of the two arrays: all digits are counted at once. */
SHARED Pair *ordered_pairs(Pair *pairs, Pair *others, int64_t n, int bytes) {
    uint32_t starts[PAIRED][BUCKETS] = {{0}};
    if (n <= SHORT) {
        insert_pairs(pairs, n);
        return pairs;
    }
    for (int64_t k = 0; k < n; k++) {
        const uint32_t key = (uint32_t)(pairs[k] >> PLACE_BITS);
        for (int digit = 0; digit < PAIRED; digit++)
            starts[digit][key >> digit * DIGIT & (BUCKETS - 1)]++;
    }
    for (int digit = 0; digit < bytes; digit++) {
        const int shift = PLACE_BITS + digit * DIGIT;
        uint32_t *start = starts[digit], total = 0;
        if (start[pairs[0] >> shift & (BUCKETS - 1)] == n)
            continue;
        for (int d = 0; d < BUCKETS; d++) {
            const uint32_t count = start[d];
            start[d] = total;
            total += count;
        }
        for (int64_t k = 0; k < n; k++)
            others[start[pairs[k] >> shift & (BUCKETS - 1)]++] = pairs[k];
        Pair *swapped = pairs;
        pairs = others;
        others = swapped;
    }
    return pairs;
}

/* As `argsort`, of rows whose places fit beside their keys. */
SHARED int32_t argsort_pairs(const void *data, int64_t *places, int64_t rows, int64_t n, Type type, uint32_t flip) {
    Pair *pairs = tx_alloc((uint64_t)n * 2 * sizeof(Pair));
    if (!pairs)
        return 1;
    for (int64_t row = 0; row < rows; row++) {
        pair_all(data, row * n, pairs, n, type, flip);
        const Pair *sorted = ordered_pairs(pairs, pairs + n, n, bytes_of(type));
        for (int64_t k = 0; k < n; k++)
            places[row * n + k] = (uint32_t)sorted[k];
    }
    tx_free(pairs);
    return 0;
}

/* The places of the elements of each row in order. 0, or 1 where there is no memory. */
SHARED int32_t argsort(const void *data, int64_t *places, int64_t rows, int64_t n, Type type, bool decreasing) {
    if (rows <= 0 || n <= 0)
        return 0;
    if (bytes_of(type) <= PAIRED && n <= UINT32_MAX)
        return argsort_pairs(data, places, rows, n, type, decreasing ? UINT32_MAX : 0);
    Item *items = tx_alloc((uint64_t)n * 2 * sizeof(Item));
    if (!items)
        return 1;
    const uint64_t flip = decreasing ? ~(uint64_t)0 : 0;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t k = 0; k < n; k++)
            items[k] = (Item){key_of(data, row * n + k, type) ^ flip, k};
        const Item *sorted = ordered(items, items + n, n, bytes_of(type));
        for (int64_t k = 0; k < n; k++)
            places[row * n + k] = sorted[k].place;
    }
    tx_free(items);
    return 0;
}

/* The largest elements of a row: a heap of those so far, whose last one in the order is the first item. */
static inline bool is_behind(Item a, Item b) {
    return a.key > b.key || (a.key == b.key && a.place > b.place);
}

static inline void sink(Item *heap, int64_t n, int64_t at) {
    const Item item = heap[at];
    for (int64_t below; (below = 2 * at + 1) < n; at = below) {
        below += below + 1 < n && is_behind(heap[below + 1], heap[below]);
        if (!is_behind(heap[below], item))
            break;
        heap[at] = heap[below];
    }
    heap[at] = item;
}

enum { CHUNK = 16 };
typedef float Chunk __attribute__((vector_size(CHUNK * sizeof(float))));

/* True if no element of a chunk is above a number, or NaN. */
static inline bool is_below(const float *row, float number) {
    Chunk chunk;
    __builtin_memcpy(&chunk, row, sizeof chunk);
    return __builtin_reduce_and(chunk <= number) != 0;
}

/* Have an element take the place of the last one, if it comes before it: an equal one behind it does not. */
static inline void offer(Item *heap, int64_t k, const void *data, int64_t first, int64_t place, Type type) {
    const uint64_t key = ~key_of(data, first + place, type);
    if (key < heap[0].key) {
        heap[0] = (Item){key, place};
        sink(heap, k, 0);
    }
}

SHARED void take_largest(Item *heap, int64_t k, const void *data, int64_t first, int64_t n, Type type) {
    for (int64_t at = 0; at < k; at++)
        heap[at] = (Item){~key_of(data, first + at, type), at};
    for (int64_t at = k / 2 - 1; at >= 0; at--)
        sink(heap, k, at);
    const float *row = (const float *)data + first;
    for (int64_t at = k; at < n;) {
        if (type == F32 && at + CHUNK <= n && is_below(row + at, row[heap[0].place])) {
            at += CHUNK;
            continue;
        }
        for (const int64_t end = at + CHUNK < n ? at + CHUNK : n; at < end; at++)
            if (type != F32 || !(row[at] <= row[heap[0].place]))
                offer(heap, k, data, first, at, type);
    }
}

/* The places of the k largest elements of each row, in decreasing order. 0, or 1 where there is no memory. */
SHARED int32_t top(const void *data, int64_t *places, int64_t rows, int64_t n, int64_t k, Type type) {
    if (rows <= 0 || k <= 0)
        return 0;
    Item *heap = tx_alloc((uint64_t)k * sizeof(Item));
    if (!heap)
        return 1;
    for (int64_t row = 0; row < rows; row++) {
        take_largest(heap, k, data, row * n, n, type);
        for (int64_t left = k; left > 0; left--) {
            places[row * k + left - 1] = heap[0].place;
            heap[0] = heap[left - 1];
            sink(heap, left - 1, 0);
        }
    }
    tx_free(heap);
    return 0;
}

/* The same by whole orders, where k is no small part of n. */
SHARED int32_t top_of_order(const void *data, int64_t *places, int64_t rows, int64_t n, int64_t k, Type type) {
    int64_t *all = tx_alloc((uint64_t)n * sizeof(int64_t));
    int32_t failed = !all;
    for (int64_t row = 0; !failed && row < rows; row++) {
        failed = argsort((const char *)data + row * n * bytes_of(type), all, 1, n, type, true);
        for (int64_t at = 0; !failed && at < k; at++)
            places[row * k + at] = all[at];
    }
    if (all)
        tx_free(all);
    return failed;
}

enum { SMALL_PART = 8 };

/* For each value of a row, the number of elements of the ordered row that are less, or less or equal. */
SHARED void search(const void *row, int64_t n, const void *values, int64_t *places, int64_t count, Type type,
                   bool right) {
    for (int64_t k = 0; k < count; k++) {
        const uint64_t key = key_of(values, k, type);
        int64_t lo = 0, hi = n;
        while (lo < hi) {
            const int64_t middle = lo + (hi - lo) / 2;
            const uint64_t other = key_of(row, middle, type);
            if (right ? other <= key : other < key)
                lo = middle + 1;
            else
                hi = middle;
        }
        places[k] = lo;
    }
}

/* As kernels call extern operators: arrays, then the extents of all of them, packs as one. The extents of
 * results repeat those of inputs. */
#define SORTING(dtype, type)                                                                                 \
    int32_t tx_argsort_##dtype(const void *x, int64_t *p, int64_t rows, int64_t n) {                         \
        return argsort(x, p, rows, n, type, false);                                                          \
    }                                                                                                        \
    int32_t tx_argsort_down_##dtype(const void *x, int64_t *p, int64_t rows, int64_t n) {                    \
        return argsort(x, p, rows, n, type, true);                                                           \
    }                                                                                                        \
    int32_t tx_top_##dtype(const void *x, int64_t *p, int64_t rows, int64_t n, int64_t same, int64_t k) {      \
        (void)same;                                                                                          \
        return k <= n / SMALL_PART ? top(x, p, rows, n, k, type) : top_of_order(x, p, rows, n, k, type);     \
    }                                                                                                        \
    int32_t tx_search_##dtype(const void *a, const void *v, int64_t *p, int64_t n, int64_t m) {              \
        search(a, n, v, p, m, type, false);                                                                  \
        return 0;                                                                                            \
    }                                                                                                        \
    int32_t tx_search_right_##dtype(const void *a, const void *v, int64_t *p, int64_t n, int64_t m) {        \
        search(a, n, v, p, m, type, true);                                                                   \
        return 0;                                                                                            \
    }

SORTING(i8, I8)
SORTING(i16, I16)
SORTING(i32, I32)
SORTING(i64, I64)
SORTING(u8, U8)
SORTING(u16, U16)
SORTING(u32, U32)
SORTING(u64, U64)
SORTING(f16, F16)
SORTING(bf16, BF16)
SORTING(f32, F32)
SORTING(f64, F64)
SORTING(f8e4m3, F8E4M3)
SORTING(f8e5m2, F8E5M2)
