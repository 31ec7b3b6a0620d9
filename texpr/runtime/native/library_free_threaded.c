/* The native library for builds of CPython without the GIL: objects have another head, and other threads may
 * count references and replace attributes at any time. */
#define TEXPR_FREE_THREADED
#include "library.c"
