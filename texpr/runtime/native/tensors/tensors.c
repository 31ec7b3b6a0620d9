/* Lazy tensors: calls that were recorded before, and what waits for a value. A translation unit of its own,
 * for builds of CPython with a GIL (`graph/lazy/native_tensors.py` links it).
 *
 * Tensors, calls (`Node`), recipes and specs are objects of Python classes with slots; a Model says where
 * these lie. Each function does what Python does in `lazy_tensor.py` and `evaluation.py`, or returns None
 * before anything has happened: then Python does it.
 */
#include "model.h"

#include "recording.c"

#include "keys.c"

#include "histories.c"
