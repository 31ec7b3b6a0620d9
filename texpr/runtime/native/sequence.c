/* Several kernels as one: a program that was planned, without Python between its kernels. All functions here
 * are entries of kernels. */
#include "native.h"

/* A kernel and its slots. */
typedef struct {
    KernelEntry *entry;
    Slot *slots;
} Launch;

/* Kernels that run one after the other (`kernel_sequence.py`). */
typedef struct {
    int64_t count;
    int64_t failure; /* is written: the index of the kernel that did not end well */
    Launch launches[];
} Sequence;

/* A slot of a kernel that holds the address of an argument of the call, or of a part of it. */
typedef struct {
    int64_t argument; /* its position: inputs, then outputs */
    int64_t offset;   /* in bytes */
    Slot *slot;
} Patch;

/* A sequence as a function of arrays: the slots, of it and of kernels that run later, to be bound. */
typedef struct {
    Sequence *sequence;
    int64_t count;
    Patch patches[];
} Frame;

/* Kernels that are soon over do not look for Ctrl-C themselves. */
INLINE bool is_interrupted(void) {
    return (uint32_t)atomic_load_explicit(&tx_interrupted, memory_order_relaxed) != 0;
}

/* Slots: the address of a Sequence. Ends with the first result that is not KERNEL_DONE. */
EXPORT int32_t tx_sequence(Slot *slots) {
    Sequence *sequence = slots[0].address;
    const int64_t count = sequence->count;
    for (int64_t k = 0; k < count; k++) {
        if (is_interrupted())
            return KERNEL_INTERRUPTED;
        const int32_t result = sequence->launches[k].entry(sequence->launches[k].slots);
        if (result != KERNEL_DONE) {
            sequence->failure = k;
            return result;
        }
    }
    return KERNEL_DONE;
}

/* Slots: inputs, then outputs; the word in front of them is the address of a Frame. Binds the arguments of
 * the call, where they lie, and runs the sequence. */
EXPORT int32_t tx_function(Slot *slots) {
    const Frame *frame = slots[-1].address;
    for (int64_t k = 0; k < frame->count; k++) {
        const Patch *patch = &frame->patches[k];
        patch->slot->address = (char *)slots[patch->argument].address + patch->offset;
    }
    Slot sequence = {.address = frame->sequence};
    return tx_sequence(&sequence);
}

/* Slots: a check of `value_checks.c`, an array, its bytes, two bounds. KERNEL_CHECK_FAILED if a value is
 * outside. */
EXPORT int32_t tx_check_range(Slot *slots) {
    ValueCheckFunction *check = (ValueCheckFunction *)slots[0].address;
    return check(slots[1].address, slots[2].value, slots[3].value, slots[4].value) ? KERNEL_DONE
                                                                                   : KERNEL_CHECK_FAILED;
}

/* A call of a sweep: a kernel, and behind it its slots. */
typedef struct {
    KernelEntry *entry;
    Slot slots[];
} SweepCall;

typedef struct {
    const Slot *slots;
    _Atomic int32_t result;
} Sweep;

/* Run calls lo..hi; those after a call that did not end well are left out. */
static void sweep_calls(void *context, int64_t lo, int64_t hi) {
    Sweep *sweep = context;
    char *first = sweep->slots[0].address;
    const int64_t stride = sweep->slots[1].value;
    for (int64_t k = lo; k < hi; k++) {
        SweepCall *call = (SweepCall *)(first + k * stride);
        const int32_t result = is_interrupted() ? KERNEL_INTERRUPTED : call->entry(call->slots);
        if (result != KERNEL_DONE) {
            atomic_store_explicit(&sweep->result, result, memory_order_relaxed);
            return;
        }
    }
}

/* Slots: the first of many SweepCalls, the bytes between two of them, their number, and whether threads share
 * them. The calls write different elements; all are one parallel region. */
EXPORT int32_t tx_sweep(Slot *slots) {
    Sweep sweep = {slots, KERNEL_DONE};
    if (slots[3].value)
        tx_parallel(sweep_calls, &sweep, slots[2].value);
    else
        sweep_calls(&sweep, 0, slots[2].value);
    return atomic_load_explicit(&sweep.result, memory_order_relaxed);
}
