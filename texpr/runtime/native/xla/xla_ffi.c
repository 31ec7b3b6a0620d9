/* Kernels inside XLA: one typed FFI handler for all of them. A translation unit of its own, compiled when
 * the first operator is given to JAX (`call/xla_calls.py`).
 *
 * A call has one attribute, the number of its kernel: a hash of all that the kernel is made of. So a program
 * that XLA kept on disk finds the kernel in another process, where it was traced, and gets an error where it
 * was not. Kernels stay for as long as the process does, as code does that jax.jit has compiled.
 *
 * XLA calls from threads of its own, without the GIL. Nothing here calls Python.
 */
#include <stdatomic.h>
#include <stdbool.h>

#include "xla_ffi.h"

#define EXPORT __attribute__((noinline))
#define SHARED static __attribute__((noinline))
#define STACK_ARRAY(type, count) ((type *)__builtin_alloca((uint64_t)(count) * sizeof(type)))

typedef union {
    void *address;
    int64_t value;
} Slot;

typedef int32_t KernelEntry(Slot *slots);
enum { KERNEL_DONE = 0, KERNEL_INTERRUPTED = 1, KERNEL_NO_MEMORY = 2 };

typedef bool ValueCheckFunction(const void *data, int64_t bytes, int64_t lo, int64_t hi);
typedef int32_t ArgsortFunction(const void *data, int64_t *places, int64_t rows, int64_t n);

int32_t tx_run_uncounted(KernelEntry *entry, Slot *slots);
void *tx_alloc(uint64_t bytes);
void tx_free(void *user);

/* What an input's values have to be: all in lo..hi; or, where there is `argsort`, different within each row
 * of `lo` elements. */
typedef struct {
    int64_t position; /* of the input */
    int64_t bytes;
    int64_t item_bytes;
    int64_t is_signed;
    ValueCheckFunction *holds;
    int64_t lo, hi;
    ArgsortFunction *argsort;
    const char *name;     /* of the input */
    const char *expected; /* in words */
} Check;

typedef struct {
    int64_t type; /* as XLA numbers them */
    int64_t rank;
    int64_t extents[];
} BufferRecord;

/* `xla_calls.py` packs these words; behind them stand the checks, the values of the sizes, and a record for
 * each input and output. */
typedef struct {
    int64_t number;
    KernelEntry *entry;
    const char *name; /* of the operator */
    int64_t inputs, outputs, sizes, checks;
    int64_t words[];
} XlaKernel;

_Static_assert(sizeof(XlaKernel) == 7 * 8, "xla_calls.py packs 7 words");
_Static_assert(sizeof(Check) == 10 * 8, "xla_calls.py packs 10 words per check");

static const Check *checks_of(const XlaKernel *kernel) { return (const Check *)kernel->words; }

static const int64_t *sizes_of(const XlaKernel *kernel) {
    return (const int64_t *)(checks_of(kernel) + kernel->checks);
}

static const BufferRecord *first_record(const XlaKernel *kernel) {
    return (const BufferRecord *)(sizes_of(kernel) + kernel->sizes);
}

/* ---- The kernels, by their numbers ---- */

/* Open addressing. Readers take no lock: a table grows by being replaced, and old ones are left to them. */
typedef struct {
    uint64_t mask;
    const XlaKernel *_Atomic kernels[];
} Table;

static Table *_Atomic table;
static uint64_t known;

static const XlaKernel *find(int64_t number) {
    Table *current = atomic_load_explicit(&table, memory_order_acquire);
    for (uint64_t at = (uint64_t)number; current; at++) {
        const XlaKernel *kernel =
            atomic_load_explicit(&current->kernels[at & current->mask], memory_order_acquire);
        if (!kernel || kernel->number == number)
            return kernel;
    }
    return NULL;
}

static void put(Table *into, const XlaKernel *kernel) {
    uint64_t at = (uint64_t)kernel->number & into->mask;
    while (atomic_load_explicit(&into->kernels[at], memory_order_relaxed))
        at = (at + 1) & into->mask;
    atomic_store_explicit(&into->kernels[at], kernel, memory_order_release);
}

/* A table of twice the places with the same kernels, or NULL. */
SHARED Table *larger(const Table *old) {
    const uint64_t places = old ? 2 * (old->mask + 1) : 64, bytes = sizeof(Table) + places * sizeof(void *);
    Table *made = tx_alloc(bytes);
    if (!made)
        return NULL;
    __builtin_memset(made, 0, bytes);
    made->mask = places - 1;
    for (uint64_t at = 0; old && at <= old->mask; at++) {
        const XlaKernel *kernel = atomic_load_explicit(&old->kernels[at], memory_order_relaxed);
        if (kernel)
            put(made, kernel);
    }
    return made;
}

/* Make a kernel known, whose number is new; it has to stay where it is. One caller at a time. 0, or 2 where
 * there is no memory. */
EXPORT int32_t tx_xla_add(const XlaKernel *kernel) {
    Table *current = atomic_load_explicit(&table, memory_order_relaxed);
    if (!current || 2 * (known + 1) > current->mask) {
        current = larger(current);
        if (!current)
            return KERNEL_NO_MEMORY;
        put(current, kernel);
        atomic_store_explicit(&table, current, memory_order_release);
    } else
        put(current, kernel);
    known++;
    return KERNEL_DONE;
}

/* ---- Messages ---- */

typedef struct {
    int64_t length;
    char text[1024];
} Message;

static void say(Message *message, const char *text) {
    while (*text && message->length + 1 < (int64_t)sizeof message->text)
        message->text[message->length++] = *text++;
    message->text[message->length] = 0;
}

SHARED void say_number(Message *message, uint64_t bits, bool is_signed) {
    char digits[24];
    char *first = digits + sizeof digits - 1;
    const bool negative = is_signed && (int64_t)bits < 0;
    uint64_t rest = negative ? -bits : bits;
    *first = 0;
    do
        *--first = (char)('0' + rest % 10);
    while (rest /= 10);
    if (negative)
        *--first = '-';
    say(message, first);
}

SHARED XlaError *error(const XlaCallFrame *frame, int32_t code, const Message *message) {
    XlaErrorArguments arguments = {sizeof arguments, NULL, message->text, code};
    return frame->api->make_error(&arguments);
}

/* `name: text` as an error. */
SHARED XlaError *fail(const XlaCallFrame *frame, int32_t code, const char *name, const char *text) {
    Message message = {0};
    say(&message, name);
    say(&message, ": ");
    say(&message, text);
    return error(frame, code, &message);
}

/* ---- Checks of values ---- */

static uint64_t element(const Check *check, const void *data, int64_t k) {
    const int shift = 64 - 8 * (int)check->item_bytes;
    uint64_t bits = 0;
    __builtin_memcpy(&bits, (const char *)data + k * check->item_bytes, (uint64_t)check->item_bytes);
    return check->is_signed ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits;
}

/* `name[i, j]` of element number k. */
SHARED void say_place(Message *message, const Check *check, const XlaBuffer *buffer, int64_t k) {
    int64_t below = 1;
    for (int64_t axis = 0; axis < buffer->rank; axis++)
        below *= buffer->extents[axis];
    say(message, "`");
    say(message, check->name);
    for (int64_t axis = 0; axis < buffer->rank; axis++) {
        below /= buffer->extents[axis];
        say(message, axis ? ", " : "[");
        say_number(message, (uint64_t)(k / below % buffer->extents[axis]), false);
    }
    say(message, buffer->rank ? "]`" : "`");
}

/* The first element that is outside. */
static int64_t first_outside(const Check *check, const void *data) {
    const int64_t last = check->bytes / check->item_bytes - 1;
    for (int64_t k = 0; k < last; k++) {
        const int64_t value = (int64_t)element(check, data, k);
        if (value < check->lo || value >= check->hi)
            return k;
    }
    return last;
}

SHARED XlaError *refuse_range(const XlaCallFrame *frame, const XlaKernel *kernel, const Check *check) {
    const XlaBuffer *buffer = frame->arguments.buffers[check->position];
    const int64_t k = first_outside(check, buffer->data);
    Message message = {0};
    say(&message, kernel->name);
    say(&message, ": ");
    say_place(&message, check, buffer, k);
    say(&message, " is ");
    say_number(&message, element(check, buffer->data, k), check->is_signed);
    say(&message, ", expected a value in ");
    say(&message, check->expected);
    return error(frame, XLA_INVALID_ARGUMENT, &message);
}

static XlaError *refuse_repeated(const XlaCallFrame *frame, const XlaKernel *kernel, const Check *check,
                                 int64_t k, int64_t other) {
    const XlaBuffer *buffer = frame->arguments.buffers[check->position];
    Message message = {0};
    say(&message, kernel->name);
    say(&message, ": ");
    say_place(&message, check, buffer, k);
    say(&message, " and ");
    say_place(&message, check, buffer, other);
    say(&message, " are both ");
    say_number(&message, element(check, buffer->data, k), check->is_signed);
    say(&message, ", expected distinct values");
    return error(frame, XLA_INVALID_ARGUMENT, &message);
}

/* The fast check could not tell: order each row and compare neighbours. */
SHARED XlaError *refuse_repeats(const XlaCallFrame *frame, const XlaKernel *kernel, const Check *check) {
    const void *data = frame->arguments.buffers[check->position]->data;
    const int64_t count = check->bytes / check->item_bytes, row = check->lo;
    XlaError *found = NULL;
    int64_t *places = tx_alloc((uint64_t)count * sizeof(int64_t));
    if (!places || check->argsort(data, places, count / row, row)) {
        tx_free(places);
        return fail(frame, XLA_RESOURCE_EXHAUSTED, kernel->name, "out of memory");
    }
    for (int64_t k = 1; k < count && !found; k++) {
        const int64_t start = k / row * row, one = start + places[k - 1], two = start + places[k];
        if (k > start && element(check, data, one) == element(check, data, two))
            found = refuse_repeated(frame, kernel, check, one, two);
    }
    tx_free(places);
    return found;
}

static XlaError *refuse_values(const XlaCallFrame *frame, const XlaKernel *kernel) {
    const Check *checks = checks_of(kernel);
    for (int64_t k = 0; k < kernel->checks; k++) {
        const Check *check = &checks[k];
        if (check->holds(frame->arguments.buffers[check->position]->data, check->bytes, check->lo, check->hi))
            continue;
        XlaError *found = check->argsort ? refuse_repeats(frame, kernel, check)
                                         : refuse_range(frame, kernel, check);
        if (found)
            return found;
    }
    return NULL;
}

/* ---- Calls ---- */

/* Match buffers with their records and write their addresses. Returns the next record, or NULL if one does
 * not fit. */
static const BufferRecord *take(const XlaBuffers *given, const BufferRecord *record, int64_t count,
                                Slot *slots) {
    if (given->count != count)
        return NULL;
    for (int64_t k = 0; k < count; k++) {
        const XlaBuffer *buffer = given->buffers[k];
        if (given->kinds[k] != XLA_IS_BUFFER || buffer->type != record->type || buffer->rank != record->rank)
            return NULL;
        for (int64_t axis = 0; axis < record->rank; axis++)
            if (buffer->extents[axis] != record->extents[axis])
                return NULL;
        slots[k].address = buffer->data;
        record = (const BufferRecord *)(record->extents + record->rank);
    }
    return record;
}

/* The kernel of a call; NULL if it is not known here. */
static const XlaKernel *kernel_of(const XlaCallFrame *frame) {
    const XlaAttributes *attributes = &frame->attributes;
    if (attributes->count != 1 || attributes->kinds[0] != XLA_IS_SCALAR)
        return NULL;
    const XlaScalar *scalar = attributes->values[0];
    return scalar->type == XLA_S64 ? find(*(const int64_t *)scalar->value) : NULL;
}

static XlaError *run(const XlaCallFrame *frame, const XlaKernel *kernel) {
    Slot *slots = STACK_ARRAY(Slot, 1 + kernel->inputs + kernel->outputs + kernel->sizes);
    Slot *outputs = slots + kernel->inputs, *sizes = outputs + kernel->outputs;
    const BufferRecord *record = take(&frame->arguments, first_record(kernel), kernel->inputs, slots);
    if (!record || !take(&frame->results, record, kernel->outputs, outputs))
        return fail(frame, XLA_INVALID_ARGUMENT, kernel->name, "the kernel is for buffers of other shapes");
    XlaError *refused = refuse_values(frame, kernel);
    if (refused)
        return refused;
    for (int64_t k = 0; k < kernel->sizes; k++)
        sizes[k].value = sizes_of(kernel)[k];
    switch (tx_run_uncounted(kernel->entry, slots)) {
    case KERNEL_DONE: return NULL;
    case KERNEL_INTERRUPTED: return fail(frame, XLA_CANCELLED, kernel->name, "interrupted by Ctrl-C");
    case KERNEL_NO_MEMORY: return fail(frame, XLA_RESOURCE_EXHAUSTED, kernel->name, "out of memory");
    default: return fail(frame, XLA_FAILED_PRECONDITION, kernel->name, "the processor lacks what it needs");
    }
}

/* Tell XLA for which version this is: for any minor one of ours. */
static XlaError *answer_metadata(const XlaCallFrame *frame) {
    XlaMetadata *metadata = ((XlaMetadataExtension *)frame->extensions)->metadata;
    metadata->version.major = XLA_MAJOR_VERSION;
    metadata->version.minor = frame->api ? frame->api->version.minor : 1;
    metadata->traits = 0;
    return NULL;
}

/* An XLA_FFI_Handler. */
EXPORT XlaError *tx_xla_handler(XlaCallFrame *frame) {
    if (frame->extensions && frame->extensions->type == XLA_EXTENSION_METADATA)
        return answer_metadata(frame);
    if (frame->stage != XLA_STAGE_EXECUTE)
        return NULL;
    const XlaKernel *kernel = kernel_of(frame);
    if (!kernel)
        return fail(frame, XLA_FAILED_PRECONDITION, "texpr",
                    "this program was compiled in another process, and its operators were not traced here; "
                    "call the function once by jax.jit");
    return run(frame, kernel);
}
