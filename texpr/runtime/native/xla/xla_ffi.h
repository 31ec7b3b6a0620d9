/* What XLA hands to a typed FFI handler: our own declarations of the part of its C ABI that is used here. The
 * layouts are those of `xla/ffi/api/c_api.h`, major version 0; `tests/bridges/jax/test_abi.py` compares them
 * with the header of the jaxlib that is installed. Every structure begins with its size and a list of
 * extensions.
 */
#ifndef TEXPR_XLA_FFI_H
#define TEXPR_XLA_FFI_H

#include <stddef.h>
#include <stdint.h>

enum { XLA_MAJOR_VERSION = 0 };
enum { XLA_EXTENSION_METADATA = 1, XLA_STAGE_EXECUTE = 3, XLA_IS_BUFFER = 1, XLA_IS_SCALAR = 3 };
/* Codes of errors. */
enum {
    XLA_CANCELLED = 1,
    XLA_INVALID_ARGUMENT = 3,
    XLA_RESOURCE_EXHAUSTED = 8,
    XLA_FAILED_PRECONDITION = 9
};
/* Types of elements. */
enum { XLA_S64 = 5 };

typedef struct XlaExtension {
    size_t size;
    int32_t type;
    struct XlaExtension *next;
} XlaExtension;

typedef struct {
    size_t size;
    XlaExtension *extensions;
    int32_t major, minor;
} XlaVersion;

/* Is asked for when a handler is registered. */
typedef struct {
    size_t size;
    XlaVersion version; /* written */
    uint32_t traits;    /* written */
} XlaMetadata;

typedef struct {
    XlaExtension base;
    XlaMetadata *metadata;
} XlaMetadataExtension;

typedef struct XlaError XlaError;

typedef struct {
    size_t size;
    XlaExtension *extensions;
    const char *message;
    int32_t code;
} XlaErrorArguments;

typedef struct {
    size_t size;
    XlaExtension *extensions;
    XlaVersion version;
    const void *internal;
    XlaError *(*make_error)(XlaErrorArguments *);
} XlaApi;

typedef struct {
    size_t size;
    XlaExtension *extensions;
    int32_t type;
    void *data;
    int64_t rank;
    int64_t *extents;
} XlaBuffer;

/* Arguments or results: `count` of them. */
typedef struct {
    size_t size;
    XlaExtension *extensions;
    int64_t count;
    int32_t *kinds;
    XlaBuffer **buffers;
} XlaBuffers;

typedef struct {
    int32_t type;
    void *value;
} XlaScalar;

typedef struct {
    size_t size;
    XlaExtension *extensions;
    int64_t count;
    int32_t *kinds;
    void **names;
    void **values;
} XlaAttributes;

typedef struct {
    size_t size;
    XlaExtension *extensions;
    const XlaApi *api;
    void *context;
    int32_t stage;
    XlaBuffers arguments, results;
    XlaAttributes attributes;
} XlaCallFrame;

#endif
