/* Scratch memory for kernels: aligned to 64 bytes, with a cache of large freed blocks.
 *
 * In front of a block's bytes is a header of 64 bytes. Freed blocks of 4 KB and more wait in a small table,
 * which saves the page faults of the next allocation of about that size. A thread gets its own blocks first:
 * their lines are in its caches, and modified lines would come from the caches of other cores at many times
 * the cost.
 *
 * Blocks of 64 KB and more begin in the middle of a page, where large arrays of other allocators begin near
 * its start (4 KB aliasing): on many processors a store delays a load that follows it soon and whose address
 * has the same last 12 bits, as where y[i] lies one vector behind x[i].
 */
#include "native.h"

enum {
    TABLE_SIZE = 32,
    LOCK_TRIES = 64,
    CACHED_FROM = 4096,       /* bytes: smaller blocks go back to malloc at once */
    MID_PAGE_FROM = 65536,    /* bytes: such blocks begin in the middle of a page */
    HUGE_PAGES_FROM = 1 << 22 /* bytes: such blocks are aligned to huge pages of 2 MB */
};

enum { HALF_PAGE = 2048, PAGE = 4096, HUGE_PAGE = 1 << 21, MADV_HUGEPAGE = 14 };

typedef struct {
    int64_t bytes;       /* the header included */
    unsigned long owner; /* the thread that freed the block, if it waits */
    uint8_t padding[48];
} Block;

_Static_assert(sizeof(Block) == CACHE_LINE, "memory behind the header is aligned as the header is");

static _Alignas(CACHE_LINE) Block *blocks[TABLE_SIZE];
static int64_t blocks_bytes;                      /* of all blocks in the table */
static _Atomic uint32_t blocks_busy;              /* the lock of the table: 1 while a thread has it */
static int64_t blocks_limit;                      /* at most so many bytes wait */
static uint64_t memory_limit = (uint64_t)1 << 47; /* larger requests are refused */

void *aligned_alloc(uint64_t, uint64_t);
void free(void *);
int madvise(void *, uint64_t, int);

/* True if the table is the caller's. Another thread keeps it for some ten nanoseconds, unless it was
 * preempted: then nobody waits. */
NOINLINE bool blocks_lock(void) {
    for (int k = 0; k < LOCK_TRIES; k++) {
        uint32_t idle = 0;
        if (atomic_compare_exchange_strong_explicit(&blocks_busy, &idle, 1, memory_order_acquire,
                                                    memory_order_relaxed))
            return true;
    }
    return false;
}

INLINE void blocks_unlock(void) { atomic_store_explicit(&blocks_busy, 0, memory_order_release); }

/* Take the smallest block of at least `size` and less than 2 * size bytes, the caller's own first; NULL if
 * there is none. With the lock. */
INLINE Block *blocks_take(int64_t size) {
    const unsigned long self = pthread_self();
    const int64_t of_others = (int64_t)1 << 62;
    int64_t best = -1, best_rank = INT64_MAX;
    for (int64_t k = 0; k < TABLE_SIZE; k++) {
        const Block *block = blocks[k];
        if (!block || block->bytes < size || block->bytes >= 2 * size)
            continue;
        int64_t rank = block->owner == self ? block->bytes : block->bytes | of_others;
        if (rank < best_rank)
            best = k, best_rank = rank;
    }
    if (best < 0)
        return NULL;
    Block *taken = blocks[best];
    blocks[best] = NULL;
    blocks_bytes -= taken->bytes;
    return taken;
}

/* Put a block into the table if there is room; true if so. With the lock. */
INLINE bool blocks_keep(Block *block) {
    if (blocks_bytes + block->bytes > blocks_limit)
        return false;
    for (int64_t k = 0; k < TABLE_SIZE; k++) {
        if (blocks[k])
            continue;
        block->owner = pthread_self();
        blocks[k] = block;
        blocks_bytes += block->bytes;
        return true;
    }
    return false;
}

/* A new block of at least `size` bytes, or NULL. */
INLINE Block *block_new(int64_t size) {
    const bool mid_page = size >= MID_PAGE_FROM, huge = size >= HUGE_PAGES_FROM;
    const int64_t before = mid_page ? HALF_PAGE : 0;
    const int64_t alignment = huge ? HUGE_PAGE : mid_page ? PAGE : CACHE_LINE;
    const int64_t bytes = (size + before + alignment - 1) & -alignment;
    char *start = aligned_alloc((uint64_t)alignment, (uint64_t)bytes);
    if (!start)
        return NULL;
    Block *block = (Block *)(start + before);
    block->bytes = bytes - before;
    if (huge)
        madvise(start, (uint64_t)bytes, MADV_HUGEPAGE); /* a refusal does no harm */
    return block;
}

/* `bytes` bytes aligned to 64, uninitialised; NULL if there is no such memory. */
EXPORT void *tx_alloc(uint64_t bytes) {
    if (bytes > memory_limit)
        return NULL;
    const int64_t size = (int64_t)((bytes + sizeof(Block) + CACHE_LINE - 1) & -(uint64_t)CACHE_LINE);
    Block *block = NULL;
    if (size >= CACHED_FROM && blocks_lock()) {
        block = blocks_take(size);
        blocks_unlock();
    }
    if (!block)
        block = block_new(size);
    return block ? block + 1 : NULL;
}

/* Give memory of `tx_alloc` back; nothing happens for NULL. */
EXPORT void tx_free(void *user) {
    if (!user)
        return;
    Block *block = (Block *)user - 1;
    const int64_t bytes = block->bytes;
    if (bytes >= CACHED_FROM && blocks_lock()) {
        bool kept = blocks_keep(block);
        blocks_unlock();
        if (kept)
            return;
    }
    free((char *)block - (bytes >= MID_PAGE_FROM ? HALF_PAGE : 0));
}

/* NumPy's allocator functions (NEP 49), for large outputs: the context is unused. */
EXPORT void *tx_numpy_malloc(void *context, uint64_t bytes) {
    (void)context;
    return tx_alloc(bytes);
}

EXPORT void *tx_numpy_calloc(void *context, uint64_t count, uint64_t item) {
    (void)context;
    uint64_t bytes;
    if (__builtin_mul_overflow(count, item, &bytes))
        return NULL;
    void *user = tx_alloc(bytes);
    if (user)
        __builtin_memset(user, 0, bytes);
    return user;
}

EXPORT void *tx_numpy_realloc(void *context, void *old, uint64_t bytes) {
    (void)context;
    void *user = tx_alloc(bytes);
    if (!user || !old)
        return user;
    const uint64_t have = (uint64_t)((Block *)old - 1)->bytes - sizeof(Block);
    __builtin_memcpy(user, old, bytes < have ? bytes : have);
    tx_free(old);
    return user;
}

EXPORT void tx_numpy_free(void *context, void *user, uint64_t bytes) {
    (void)context, (void)bytes;
    tx_free(user);
}

/* Refuse requests above `limit` bytes; keep at most `kept` bytes of freed blocks. */
EXPORT void tx_set_memory(int64_t limit, int64_t kept) {
    memory_limit = (uint64_t)limit;
    blocks_limit = kept;
}

/* If the fork came while another thread had the table, the table is lost: its blocks leak in the child. */
NOINLINE void memory_after_fork(void) {
    if (!atomic_load_explicit(&blocks_busy, memory_order_relaxed))
        return;
    __builtin_memset(blocks, 0, sizeof blocks);
    blocks_bytes = 0;
    atomic_store_explicit(&blocks_busy, 0, memory_order_relaxed);
}
