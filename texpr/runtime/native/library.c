/* The native library, one translation unit: parts stand behind those that they use. */
#include "native.h"

#include "pool.c"
#include "interrupt.c"
#include "memory.c"
#include "guard.c"
#include "numbers.c"
#include "arguments.c"
#include "keywords.c"
#include "copies.c"
#include "call.c"
#include "sequence.c"
#include "dlpack.c"

/* In a forked child. */
EXPORT void tx_after_fork(void) {
    pool_after_fork();
    interrupts_after_fork();
    memory_after_fork();
}
