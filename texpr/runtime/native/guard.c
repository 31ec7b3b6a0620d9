/* Guard pages: memory that ends, or begins, at a page without access. A kernel that reads or writes past it
 * dies at that instruction.
 *
 * Where `guard_front` is 0 memory ends in front of such a page, else it begins behind one:
 *
 *     0:  [ two pages ][ ... memory ][ guard page ]
 *     1:  [ page ][ guard page ][ memory ... ]
 *
 * Where the mapping begins and how long it is stands 8192 bytes in front of the memory.
 */
#include "native.h"

enum { GUARD_PAGE = 4096, BEFORE = 2 * GUARD_PAGE };
enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2, MAP_PRIVATE = 0x02, MAP_ANONYMOUS = 0x20 };
enum { FILL = 0xa5 }; /* so that a read before the first write shows */

/* A note about a mapping, at any address. */
typedef struct __attribute__((packed)) {
    void *start;
    int64_t bytes;
} Mapping;

static _Atomic int64_t guard_front;

void *mmap(void *, uint64_t, int, int, int, int64_t);
int mprotect(void *, uint64_t, int);
int munmap(void *, uint64_t);

/* From now on memory begins behind a guard page (1), or ends in front of one (0). */
EXPORT void tx_set_guard(int64_t front) { atomic_store_explicit(&guard_front, front, memory_order_relaxed); }

INLINE Mapping *mapping_of(void *user) { return (Mapping *)((char *)user - BEFORE); }

/* `size` bytes, all of them FILL; NULL if there is no memory. */
EXPORT void *tx_guard_alloc(uint64_t size) {
    if (size > memory_limit)
        return NULL;
    const uint64_t room = (size + GUARD_PAGE - 1) & -(uint64_t)GUARD_PAGE;
    const uint64_t bytes = BEFORE + room + GUARD_PAGE;
    char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == (char *)-1)
        return NULL;
    const bool front = atomic_load_explicit(&guard_front, memory_order_relaxed) != 0;
    char *user = start + (front ? BEFORE : BEFORE + room - size);
    mprotect(start + (front ? GUARD_PAGE : BEFORE + room), GUARD_PAGE, PROT_NONE);
    *mapping_of(user) = (Mapping){start, (int64_t)bytes};
    __builtin_memset(user, FILL, size);
    return user;
}

EXPORT void tx_guard_free(void *user) {
    if (!user)
        return;
    const Mapping mapping = *mapping_of(user);
    munmap(mapping.start, (uint64_t)mapping.bytes);
}

/* A copy of an array in such memory, which cannot be written if `sealed` is not 0; NULL if there is no
 * memory. */
EXPORT void *tx_guard_copy(const void *array, uint64_t size, int32_t sealed) {
    void *user = tx_guard_alloc(size);
    if (!user)
        return NULL;
    __builtin_memcpy(user, array, size);
    if (sealed) {
        uint64_t page = (uint64_t)user & -(uint64_t)GUARD_PAGE;
        mprotect((void *)page, (uint64_t)user - page + size, PROT_READ);
    }
    return user;
}

/* Copy back to an array what a kernel wrote to its copy. */
EXPORT void tx_guard_copy_back(void *array, const void *copy, uint64_t size) {
    __builtin_memcpy(array, copy, size);
}
