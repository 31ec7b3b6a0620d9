/* Everything that differs between the hosts: Linux on x86-64 and on aarch64. */
#ifndef TEXPR_NATIVE_HOST_H
#define TEXPR_NATIVE_HOST_H

#include <stdint.h>

#if defined(__x86_64__)

enum { SYS_GETTID = 186, SYS_FUTEX = 202 };

/* A hint to the processor that this is a spin loop. */
static inline void cpu_pause(void) { __builtin_ia32_pause(); }

/* A clock that costs no system call, and 20 us in its ticks at 3 GHz. */
static inline uint64_t cycle_counter(void) { return __builtin_readcyclecounter(); }
#define CYCLES_IN_20_US 60000

#elif defined(__aarch64__)

enum { SYS_GETTID = 178, SYS_FUTEX = 98 };

/* `isb` waits some ten cycles; `yield` is a no-op on most cores. */
static inline void cpu_pause(void) { __builtin_arm_isb(15); }

/* The virtual counter: user code may not read the cycle counter. 50 MHz is assumed; the frequency ranges from
 * 20 MHz to 1 GHz. */
static inline uint64_t cycle_counter(void) { return __builtin_arm_rsr64("cntvct_el0"); }
#define CYCLES_IN_20_US 1000

#else
#error "the native library knows Linux on x86-64 and on aarch64"
#endif

#endif
