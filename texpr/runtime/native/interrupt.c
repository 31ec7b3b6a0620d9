/* Ctrl-C in a running kernel.
 *
 * Kernels poll the low half of `tx_interrupted` and return KERNEL_INTERRUPTED when it is not 0. The high half
 * counts the kernels that run. Both change in one atomic step, so the flag stays up until the last kernel
 * that could have seen it has returned, or until someone defers interrupts (below). A parallel loop keeps
 * what its chunks saw of the flag in its result: it does not look again.
 *
 * A kernel stopped by a signal that was not meant for it is run again. Kernels do not modify their inputs;
 * those of a plan that do are run again from the first one on, or while interrupts are deferred. The flag
 * goes up only while the main thread is inside a kernel: otherwise Python's own handling is at once. Calls of
 * interruptible kernels that are short at their sizes are not counted: what such a kernel saw of the flag is
 * in its result, and it is run again as an interruptible one.
 *
 * Work that must not be left half done runs between `tx_defer_interrupts` and `tx_allow_interrupts`:
 * meanwhile the flag is down, and a signal waits. The high half of the word counts, above the kernels, the
 * holders. Its last two bits note the flag, if it was up, and a signal of which Python does not know yet. The
 * last holder that lets go sends that signal to the main thread once more, which may be waiting for something
 * else.
 *
 * Memory ordering: all accesses of the word, and of `main_inside` by the handler, are sequentially
 * consistent. The handler runs on any thread that takes signals and calls nothing but Python's handler: it is
 * async-signal-safe.
 */
#include "host.h"
#include "native.h"

#define FLAG_UP ((uint64_t)1)
#define LOW_HALF (((uint64_t)1 << 32) - 1)
#define ONE_KERNEL ((uint64_t)1 << 32) /* bits 32 to 47 count the kernels that run */
#define ONE_HOLDER ((uint64_t)1 << 48) /* bits 48 to 61 count the holders */
#define FLAG_WAITS ((uint64_t)1 << 62)
#define SIGNAL_WAITS ((uint64_t)1 << 63)
#define HOLDERS (FLAG_WAITS - ONE_HOLDER)

typedef void SignalAction(int signal, void *info, void *context);

/* Linux's struct sigaction begins with the handler; 256 bytes are more than it has. */
typedef union {
    SignalAction *handler;
    _Alignas(16) uint8_t bytes[256];
} SigAction;

enum { SIGINT = 2 };

int sigaction(int, const SigAction *, SigAction *);
int pthread_kill(unsigned long, int);

_Alignas(CACHE_LINE) _Atomic uint64_t tx_interrupted;
static unsigned long main_thread;
static _Atomic uint32_t main_inside;         /* 1 while the main thread is inside a kernel */
static SignalAction *_Atomic python_handler; /* for SIGINT, before ours; NULL until ours is installed */
static uint64_t last_look;                   /* ticks of the clock when the action was looked at */

INLINE bool is_held(uint64_t word) { return (word & HOLDERS) != 0; }

/* Add bits to the word if someone defers interrupts; true if so. */
NOINLINE bool note_if_held(uint64_t bits) {
    uint64_t word = atomic_load(&tx_interrupted);
    do {
        if (!is_held(word))
            return false;
    } while (!atomic_compare_exchange_strong(&tx_interrupted, &word, word | bits));
    return true;
}

/* Put the flag up, unless someone defers interrupts: then note it. */
NOINLINE void raise_flag(void) {
    uint64_t word = atomic_load(&tx_interrupted);
    uint64_t bits;
    do
        bits = is_held(word) ? FLAG_WAITS : FLAG_UP;
    while (!atomic_compare_exchange_strong(&tx_interrupted, &word, word | bits));
}

/* The signal handler. Python's goes first: it notes the signal, so whoever sees the flag finds the note. */
static void on_interrupt(int signal, void *info, void *context) {
    if (note_if_held(SIGNAL_WAITS))
        return;
    SignalAction *python = atomic_load_explicit(&python_handler, memory_order_relaxed);
    python(signal, info, context);
    if (atomic_load(&main_inside))
        raise_flag();
}

/* Put our handler in front of Python's, if Python's is in place. `signal.signal` takes ours away; the next
 * interruptible kernel puts it back. SIG_DFL, SIG_IGN and handlers of other libraries are left alone. */
EXPORT void tx_watch_interrupts(void) {
    SigAction action;
    if (sigaction(SIGINT, NULL, &action))
        return;
    SignalAction *known = atomic_load_explicit(&python_handler, memory_order_relaxed);
    bool is_function = (uintptr_t)action.handler > 1; /* neither SIG_DFL nor SIG_IGN */
    if (!is_function || (known && action.handler != known))
        return;
    atomic_store_explicit(&python_handler, action.handler, memory_order_relaxed);
    action.handler = on_interrupt;
    sigaction(SIGINT, &action, NULL);
}

/* The same at most every 20 us: a system call per kernel would be too much. */
static void watch_again(void) {
    const uint64_t now = cycle_counter();
    if (now - last_look > CYCLES_IN_20_US) {
        last_look = now;
        tx_watch_interrupts();
    }
}

/* Count one holder less. The last one puts the flag up again if it waits, and sends the signal that waits.
 * After a fork nobody holds. */
static void let_go(void) {
    uint64_t word = atomic_load(&tx_interrupted), less, next;
    do {
        if (!is_held(word))
            return;
        less = word - ONE_HOLDER;
        /* Without a kernel of the main thread the flag is for nobody. */
        uint64_t flag = less & FLAG_WAITS && atomic_load(&main_inside) ? FLAG_UP : 0;
        next = is_held(less) ? less : (less & ~(FLAG_WAITS | SIGNAL_WAITS)) | flag;
    } while (!atomic_compare_exchange_strong(&tx_interrupted, &word, next));
    if (less & SIGNAL_WAITS && !is_held(less))
        pthread_kill(main_thread, SIGINT);
}

INLINE PyObject *none(void) {
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

/* METH_NOARGS. Defer interrupts from now on. A signal that came before is raised here, and then nothing is
 * deferred. */
EXPORT PyObject *tx_defer_interrupts(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    tx_watch_interrupts(); /* Python's handler may be a moment old */
    uint64_t word = atomic_load(&tx_interrupted), next;
    do /* kernels that saw the flag say so in their results and are run again */
        next = ((word & ~FLAG_UP) | (word & FLAG_UP ? FLAG_WAITS : 0)) + ONE_HOLDER;
    while (!atomic_compare_exchange_strong(&tx_interrupted, &word, next));
    if (PyErr_CheckSignals()) {
        let_go();
        return NULL;
    }
    return none();
}

/* METH_FASTCALL, called as `__exit__`: defer interrupts no longer. A signal that came meanwhile is raised
 * here. */
EXPORT PyObject *tx_allow_interrupts(PyObject *self, PyObject *const *arguments, int64_t count) {
    (void)self, (void)arguments, (void)count;
    let_go();
    return PyErr_CheckSignals() ? NULL : none();
}

/* An interruptible kernel begins. Threads other than the main one first let the interrupted kernels drain. */
INLINE void kernel_enter(bool is_main) {
    for (;;) {
        uint64_t word = atomic_load(&tx_interrupted), next = word;
        if (word & FLAG_UP && !is_main) {
            if (word > LOW_HALF) {
                sched_yield();
                continue;
            }
            next = word & ~LOW_HALF; /* nothing runs: the flag is stale, except to the main thread */
        }
        if (atomic_compare_exchange_strong(&tx_interrupted, &word, next + ONE_KERNEL))
            return;
    }
}

/* An interruptible kernel has returned; the last one takes the flag down. */
INLINE void kernel_leave(void) {
    uint64_t word = atomic_load(&tx_interrupted), less;
    do
        less = word - ONE_KERNEL;
    while (!atomic_compare_exchange_strong(&tx_interrupted, &word, less > LOW_HALF ? less : 0));
}

/* Take the flag down if it is for nobody: no kernel that looks at it is counted. True if it is down. */
NOINLINE bool flag_is_down(void) {
    uint64_t word = atomic_load(&tx_interrupted);
    if (word & FLAG_UP && word <= LOW_HALF)
        atomic_compare_exchange_strong(&tx_interrupted, &word, 0);
    return !(atomic_load(&tx_interrupted) & FLAG_UP);
}

/* Run a kernel for a caller that is not Python, whose threads have no say in Ctrl-C (`xla_ffi.c`). It is not
 * counted, and is run again if it saw the flag that was up for others. They take it down when they end, unless
 * they wait for this kernel: KERNEL_INTERRUPTED where it is still up after a second. */
EXPORT int32_t tx_run_uncounted(KernelEntry *entry, Slot *slots) {
    for (int64_t deadline = 0;;) {
        const int32_t result = entry(slots);
        if (result != KERNEL_INTERRUPTED)
            return result;
        if (!deadline)
            deadline = nanoseconds() + 1000000000;
        while (!flag_is_down()) {
            if (nanoseconds() > deadline)
                return KERNEL_INTERRUPTED;
            sched_yield();
        }
    }
}

/* `thread` is the main thread's pthread_t, as `threading.main_thread().ident` has it. */
EXPORT void tx_set_main_thread(int64_t thread) { main_thread = (unsigned long)thread; }

NOINLINE void interrupts_after_fork(void) {
    main_thread = pthread_self();
    atomic_store_explicit(&main_inside, 0, memory_order_relaxed);
    atomic_store_explicit(&tx_interrupted, 0, memory_order_relaxed);
}
