/* The native library without Python: threads, memory, a call, checks of values. Prints `ok`, or ends with a
 * number.
 *
 * ITEMS and DATA are where a tuple has its items and a `bytes` object its bytes. */
#include "native.h"
#include <stdio.h>
#include <string.h>

void tx_parallel(void (*)(void *, long, long), void *, long);
void tx_set_threads(long);
void *tx_alloc(long);
void tx_free(void *);
void tx_watch_interrupts(void);
PyObject *tx_call(PyObject *, PyObject **, long, PyObject *);
bool tx_range_i32(const void *, long, long, long);
bool tx_distinct_u8(const void *, long, long, long);
int tx_argsort_f32(const void *, long *, long, long);
int tx_argsort_down_u8(const void *, long *, long, long);
int tx_search_i64(const void *, const void *, long *, long, long);

static int counts[1000];

static void count(void *p, long lo, long hi) {
    for (long i = lo; i < hi; i++)
        ((int *)p)[i]++;
}

static int threads(void) {
    for (int threads = 1; threads < 5; threads++) {
        tx_set_threads(threads);
        for (int n = 0; n < 1000; n += 7) {
            memset(counts, 0, sizeof counts);
            tx_parallel(count, counts, n);
            for (int i = 0; i < 1000; i++)
                if (counts[i] != (i < n))
                    return 1;
        }
    }
    return 0;
}

static int memory(void) {
    for (long size = 0; size < 10000000; size = size * 2 + 1) {
        char *p = tx_alloc(size);
        if (!p || (long)p % 64)
            return 1;
        memset(p, 1, size);
        tx_free(p);
    }
    return tx_alloc(-1) != 0;
}

/* Slots: x: i32[N], n: f64, y: i32[N], N. */
static int add(Slot *slots) {
    int *x = slots[0].address, *y = slots[2].address, n = *(double *)slots[1].address;
    if (slots[3].value != 5)
        return 2;
    for (int i = 0; i < 5; i++)
        y[i] = x[i] + n;
    return 0;
}

/* y = x + n, where x is every second element of ten, in 0..N, and n is an f32 where the kernel wants an f64.
 */
static int call(long duration) {
    static PyObject type, dtype, real, string;
    int from[10] = {0, 0, 1, 0, 2, 0, 3, 0, 4, 0}, to[5];
    int64_t shape[] = {5}, strides[] = {8};
    PyArrayObject x = {{1, &type}, from, 1, shape, strides, 0, &dtype, 0};
    PyArrayObject y = {{1, &type}, to, 1, shape, strides, 0, &dtype, 0x401};
    struct {
        PyObject head;
        float value;
    } n = {{1, &real}, 3};
    NumberType kinds[] = {{&real, 10}, {0, 0}};
    struct {
        Specification spec;
        long check[6], size, x[5], n[4], y[5];
    } bytes = {{add, 2, 1, 1, duration, .out_name = &string, .ndarray = &type, .checks = 1, .positional = 2,
                .positional_with_outputs = 3, .number_types = kinds},
               {0, (long)tx_range_i32, 0, -1, 0, 0},
               -1,
               {(long)&dtype, 4, 1, 0, -1},
               {0, 8, 0, 11 + 32},
               {(long)&dtype, 4, 1, 0, -1}};
    void *self[8];
    *(void **)((char *)self + ITEMS) = (char *)&bytes - DATA;
    PyObject *arguments[] = {&x.ob_base, &n.head, &y.ob_base};
    if (tx_call((PyObject *)self, arguments, 3, 0) != &y.ob_base || y.ob_base.ob_refcnt != 2)
        return 1;
    for (int i = 0; i < 5; i++)
        if (to[i] != i + 3)
            return 1;
    from[4] = 5; /* outside: the call goes to Python, which is not there */
    return tx_call((PyObject *)self, arguments, 3, 0) != 0;
}

static int checks(void) {
    bool distinct = tx_distinct_u8("abcd", 4, 2, 0) && tx_distinct_u8("abab", 4, 2, 0);
    return !distinct || tx_distinct_u8("abaa", 4, 2, 0);
}

/* Rows of all lengths around the one from which on digits are counted, and values with equal keys. */
static int orders(void) {
    static float x[3 * 100];
    static unsigned char bytes[300];
    static long p[300];
    for (int n = 0; n <= 100; n += 3) {
        for (int k = 0; k < 3 * n; k++) {
            x[k] = (float)(k * 37 % 23) - 11;
            bytes[k] = (unsigned char)(k * 37 % 23);
        }
        if (tx_argsort_f32(x, p, 3, n))
            return 1;
        for (int k = 1; k < n; k++)
            if (x[p[k - 1]] > x[p[k]] || (x[p[k - 1]] == x[p[k]] && p[k - 1] > p[k]))
                return 2;
        if (tx_argsort_down_u8(bytes, p, 1, 3 * n))
            return 3;
        for (int k = 1; k < 3 * n; k++)
            if (bytes[p[k - 1]] < bytes[p[k]] || (bytes[p[k - 1]] == bytes[p[k]] && p[k - 1] > p[k]))
                return 4;
    }
    const long row[] = {-2, 0, 0, 5}, values[] = {-3, 0, 5, 6};
    tx_search_i64(row, values, p, 4, 4);
    return p[0] != 0 || p[1] != 1 || p[2] != 3 || p[3] != 4 ? 5 : tx_search_i64(row, values, p, 0, 4) || p[3];
}

int main(void) {
    if (threads())
        return 1;
    tx_watch_interrupts();
    if (memory())
        return 2;
    if (call(DURATION_INTERRUPTIBLE) || call(DURATION_SHORT) || call(DURATION_TRIVIAL))
        return 3;
    if (checks())
        return 4;
    puts("ok");
    return 0;
}
