/* A fork/join pool of threads.
 *
 * tx_parallel(function, context, n) calls function(context, lo, hi) on disjoint ranges that cover 0..n, on
 * the caller and on the workers.
 *
 * The range is cut into one queue per thread, each queue into chunks. A thread empties its own queue first,
 * so that the same thread sees the same data in region after region, then helps with the others (work
 * stealing). Which thread runs a chunk never changes the results.
 *
 * A parallel region: publish the job, open `pool_state`, bump `pool_wake`, work, close, wait until no worker
 * is inside. Workers join a region if they wake in time; nobody waits for one that sleeps. The pool serves
 * one region at a time: a nested call, or a call from another Python thread meanwhile, runs its range itself.
 *
 * Memory ordering: the job and the queues are plain data. The caller's release store to `pool_state`
 * publishes them; a worker reads them after its compare-and-swap of `pool_state` (acquire) has counted it as
 * inside, and then the caller does not change them before the worker's release decrement.
 */
#include "host.h"
#include "native.h"

typedef void RangeFunction(void *context, int64_t lo, int64_t hi);

enum { MOST_THREADS = 256 };

typedef struct {
    RangeFunction *function;
    void *context;
    int64_t chunk; /* iterations */
    int64_t threads;
} Job;

typedef struct {
    _Alignas(CACHE_LINE) _Atomic int64_t next; /* iteration */
    int64_t end;
} Queue;

/* `pool_state`: the number of workers inside, and two flags. */
enum { STATE_INSIDE = 0xffff, STATE_OPEN = 1 << 30, STATE_CALLER_SLEEPS = 1 << 29 };

/* Each word that threads contend for has a cache line to itself. */
static _Alignas(CACHE_LINE) _Atomic uint32_t pool_busy; /* 1 during a region */
static _Alignas(CACHE_LINE) _Atomic uint32_t pool_state;
static _Alignas(CACHE_LINE) _Atomic uint32_t pool_wake; /* counts regions; idle workers watch it */
static _Alignas(CACHE_LINE) _Atomic uint32_t pool_sleepers;
/* `used`: LLVM would split the job, and its members would lie on four cache lines. */
static _Alignas(CACHE_LINE) __attribute__((used)) Job pool_job;
static Queue pool_queues[MOST_THREADS];
static _Alignas(CACHE_LINE) _Atomic int64_t pool_threads = 1; /* wanted, the caller included */
static int64_t pool_workers;                                  /* started */
static _Atomic int32_t pool_thread_ids[MOST_THREADS];         /* of the kernel, by worker; 0: not started */
static int32_t pool_last_cpu = -1;

typedef struct {
    int64_t seconds, nanoseconds;
} TimeSpec;

/* glibc's sigset_t and cpu_set_t have 128 bytes. */
typedef struct {
    _Alignas(8) uint8_t bytes[128];
} BitSet;

enum { CLOCK_MONOTONIC = 1, SIG_SETMASK = 2, FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129 };

int clock_gettime(int, TimeSpec *);
int pthread_create(unsigned long *, const void *, void *(*)(void *), void *);
int pthread_detach(unsigned long);
int pthread_sigmask(int, const BitSet *, BitSet *);
int sigfillset(BitSet *);
int sched_getcpu(void);
int sched_getaffinity(int, uint64_t, BitSet *);
int sched_setaffinity(int, uint64_t, const BitSet *);

/* The kernel compares the word with `value` before it lets the thread sleep. */
static void futex_wait(_Atomic uint32_t *word, uint32_t value) {
    syscall(SYS_FUTEX, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int64_t threads) {
    syscall(SYS_FUTEX, word, FUTEX_WAKE_PRIVATE, (int)threads, NULL, NULL, 0);
}

static int64_t nanoseconds(void) {
    TimeSpec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.seconds * 1000000000 + time.nanoseconds;
}

/* Spin for about 100 us while the word keeps its value; true if it changed. */
NOINLINE bool spin_while(_Atomic uint32_t *word, uint32_t value) {
    int64_t deadline = 0;
    for (uint64_t round = 1; atomic_load_explicit(word, memory_order_acquire) == value; round++) {
        cpu_pause();
        if (round % 256)
            continue;
        sched_yield();
        int64_t now = nanoseconds();
        if (!deadline)
            deadline = now + 100000;
        if (now > deadline)
            return false;
    }
    return true;
}

/* Run chunks until all queues are empty, beginning with queue `home`. No chunk is left out, whatever happens:
 * a chunk that finds `tx_interrupted` set says so in its context, and the kernel looks there. */
NOINLINE void pool_drain(uint64_t home) {
    const Job job = pool_job;
    for (int64_t visited = 0; visited < job.threads; visited++) {
        Queue *queue = &pool_queues[(home + (uint64_t)visited) % (uint64_t)job.threads];
        const int64_t end = queue->end;
        /* A plain look first keeps the cache lines of empty queues shared. */
        while (atomic_load_explicit(&queue->next, memory_order_relaxed) < end) {
            int64_t lo = atomic_fetch_add_explicit(&queue->next, job.chunk, memory_order_relaxed);
            if (lo >= end)
                break;
            job.function(job.context, lo, lo + job.chunk < end ? lo + job.chunk : end);
        }
    }
}

/* Leave the region; the last worker wakes the caller if it sleeps. */
NOINLINE void pool_leave(void) {
    uint32_t before = atomic_fetch_sub_explicit(&pool_state, 1, memory_order_acq_rel);
    if (before == (STATE_CALLER_SLEEPS | 1))
        futex_wake(&pool_state, 1);
}

/* Enter the open region, if there is one with room; true if inside. */
INLINE bool pool_join(void) {
    uint32_t state = atomic_load_explicit(&pool_state, memory_order_acquire);
    do {
        if (!(state & STATE_OPEN))
            return false;
    } while (!atomic_compare_exchange_strong_explicit(&pool_state, &state, state + 1, memory_order_acq_rel,
                                                      memory_order_acquire));
    /* The job may be read now that the caller has to wait for this worker. */
    if (((state + 1) & STATE_INSIDE) < pool_job.threads)
        return true;
    pool_leave();
    return false;
}

/* Sleep in the kernel while the word keeps its value. */
static void sleep_while(_Atomic uint32_t *word, uint32_t value) {
    atomic_fetch_add_explicit(&pool_sleepers, 1, memory_order_seq_cst);
    do
        futex_wait(word, value);
    while (atomic_load_explicit(word, memory_order_acquire) == value);
    atomic_fetch_sub_explicit(&pool_sleepers, 1, memory_order_seq_cst);
}

/* The thread function of worker number `argument`, from 1 on. It never ends. */
static void *pool_worker(void *argument) {
    const uint64_t id = (uint64_t)argument;
    atomic_store_explicit(&pool_thread_ids[id], (int32_t)syscall(SYS_GETTID), memory_order_release);
    for (uint32_t seen = 0;;) {
        if (!spin_while(&pool_wake, seen))
            sleep_while(&pool_wake, seen);
        seen = atomic_load_explicit(&pool_wake, memory_order_acquire);
        if (pool_join()) {
            pool_drain(id % (uint64_t)pool_job.threads);
            pool_leave();
        }
    }
}

/* Start workers until there are `wanted`. They take no signals: those belong to Python's threads. Returns how
 * many there are. */
NOINLINE int64_t pool_start_workers(int64_t wanted) {
    BitSet all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (pool_workers < wanted) {
        unsigned long thread;
        if (pthread_create(&thread, NULL, pool_worker, (void *)(pool_workers + 1)))
            break;
        pthread_detach(thread);
        pool_workers++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return pool_workers;
}

/* Linux likes to wake a thread on the CPU of its waker, where it waits for a time slice (0.5 to 1 ms). So
 * before a wake-up the workers are kept off the caller's CPU. Only the workers' own affinity is touched, and
 * always a subset of what the caller may use. */
NOINLINE void pool_leave_cpu_to_caller(void) {
    const int32_t cpu = sched_getcpu();
    if (cpu == pool_last_cpu || (uint32_t)cpu >= 8 * sizeof(BitSet)) /* unknown (-1), or beyond the set */
        return;
    pool_last_cpu = cpu;
    BitSet allowed = {{0}};
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    allowed.bytes[cpu / 8] &= (uint8_t)~(1 << cpu % 8);
    for (int64_t id = 1; id <= pool_workers; id++) {
        int32_t thread = atomic_load_explicit(&pool_thread_ids[id], memory_order_acquire);
        if (thread) /* the kernel refuses an empty set: nothing changes then */
            sched_setaffinity(thread, sizeof allowed, &allowed);
    }
}

/* Cut 0..n into one queue per thread. */
INLINE void pool_fill_queues(int64_t n, int64_t threads) {
    const int64_t base = n / threads, longer = n % threads;
    int64_t start = 0;
    for (int64_t k = 0; k < threads; k++) {
        int64_t end = start + base + (k < longer);
        atomic_store_explicit(&pool_queues[k].next, start, memory_order_relaxed);
        pool_queues[k].end = end;
        start = end;
    }
}

/* Close the region and wait until no worker is inside: spin first, then sleep. */
INLINE void pool_finish(void) {
    atomic_fetch_and_explicit(&pool_state, ~(uint32_t)STATE_OPEN, memory_order_acq_rel);
    uint32_t state;
    while ((state = atomic_load_explicit(&pool_state, memory_order_acquire)) & STATE_INSIDE) {
        if (spin_while(&pool_state, state))
            continue;
        if (atomic_compare_exchange_strong(&pool_state, &state, state | STATE_CALLER_SLEEPS))
            futex_wait(&pool_state, state | STATE_CALLER_SLEEPS);
    }
}

/* Run one region; the caller holds `pool_busy`. */
NOINLINE void pool_region(RangeFunction *function, void *context, int64_t n, int64_t threads) {
    pool_job = (Job){function, context, n / (8 * threads) + 1, threads};
    pool_fill_queues(n, threads);
    atomic_store_explicit(&pool_state, STATE_OPEN, memory_order_release);
    /* Sequentially consistent, as is the count of sleepers: either this sees a sleeper, or the sleeper sees
     * the new `pool_wake`. */
    atomic_fetch_add(&pool_wake, 1);
    if (atomic_load(&pool_sleepers)) {
        pool_leave_cpu_to_caller();
        futex_wake(&pool_wake, threads - 1);
    }
    pool_drain(0);
    pool_finish();
}

/* The pool has one owner at a time; nobody waits for it. */
INLINE bool pool_lock(void) {
    uint32_t idle = 0;
    return atomic_compare_exchange_strong_explicit(&pool_busy, &idle, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

INLINE void pool_unlock(void) { atomic_store_explicit(&pool_busy, 0, memory_order_release); }

/* Run a range on all threads; returns when it is done. Safe on any thread, nested too. */
EXPORT void tx_parallel(RangeFunction *function, void *context, int64_t n) {
    if (n <= 0)
        return;
    const int64_t wanted = atomic_load_explicit(&pool_threads, memory_order_relaxed);
    const int64_t useful = n < wanted ? n : wanted;
    if (useful >= 2 && pool_lock()) {
        int64_t workers = pool_workers < wanted - 1 ? pool_start_workers(wanted - 1) : pool_workers;
        int64_t threads = workers + 1 < useful ? workers + 1 : useful;
        if (threads >= 2)
            pool_region(function, context, n, threads);
        pool_unlock();
        if (threads >= 2)
            return;
    }
    function(context, 0, n);
}

/* Use `threads` threads, the caller included, from the next region on. 1 to 256. */
EXPORT void tx_set_threads(int64_t threads) {
    atomic_store_explicit(&pool_threads, threads, memory_order_relaxed);
    pool_last_cpu = -1;
}

/* In a forked child only the forking thread lives on: forget the workers and the region. */
NOINLINE void pool_after_fork(void) {
    atomic_store_explicit(&pool_busy, 0, memory_order_relaxed);
    atomic_store_explicit(&pool_state, 0, memory_order_relaxed);
    atomic_store_explicit(&pool_wake, 0, memory_order_relaxed);
    atomic_store_explicit(&pool_sleepers, 0, memory_order_relaxed);
    pool_workers = 0;
    pool_last_cpu = -1;
    __builtin_memset((void *)pool_thread_ids, 0, sizeof pool_thread_ids);
}
