/* Numbers in place of arrays of rank 0, by the rules of `convert.py`: bool before integers before floats, in
 * range. A number that is not taken here is converted, or refused, in Python.
 *
 * The table `number_types` of a specification has the type or dtype object of each kind. A record's word
 * `numbers` says which kind the kernel wants, 0 for none, plus NUMBERS_OF_PYTHON where Python's numbers may
 * be given, plus NUMBERS_OF_NUMPY where NumPy's numbers may be of another kind (`Numbers` of spec.py).
 */
#include "native.h"

enum {
    KIND_OTHER,
    KIND_BOOL,
    KIND_I8,
    KIND_I16,
    KIND_I32,
    KIND_I64,
    KIND_U8,
    KIND_U16,
    KIND_U32,
    KIND_U64,
    KIND_F32,
    KIND_F64,
    KIND_PYTHON_FLOAT,
    KIND_PYTHON_INT,
    KIND_PYTHON_BOOL
};

enum { NUMBERS_KIND = 15, NUMBERS_OF_PYTHON = 16, NUMBERS_OF_NUMPY = 32 };

/* A number in memory, at any address. */
typedef union __attribute__((packed)) {
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32;
    double f64;
} Number;

typedef struct {
    int64_t kind;
    const Number *data; /* where the value lies, unless Python knows that */
} FoundNumber;

/* The least and the largest value of each integer kind, as far as they fit 64 signed bits. */
static const struct {
    int64_t least, largest;
} kind_limits[] = {
    [KIND_I8] = {INT8_MIN, INT8_MAX},    [KIND_I16] = {INT16_MIN, INT16_MAX},
    [KIND_I32] = {INT32_MIN, INT32_MAX}, [KIND_I64] = {INT64_MIN, INT64_MAX},
    [KIND_U8] = {0, UINT8_MAX},          [KIND_U16] = {0, UINT16_MAX},
    [KIND_U32] = {0, UINT32_MAX},        [KIND_U64] = {0, INT64_MAX},
};

/* The kind of a number: by its type, or by its dtype where it is an array of rank 0. KIND_OTHER for all other
 * objects. */
INLINE FoundNumber find_number(const Specification *spec, PyObject *object) {
    const PyObject *key = object->ob_type;
    const Number *data =
        (const Number *)(object + 1); /* NumPy's scalars hold their value behind the head of the object */
    if (object->ob_type == spec->ndarray) {
        const PyArrayObject *array = (const PyArrayObject *)object;
        if (array->nd)
            return (FoundNumber){KIND_OTHER, NULL};
        key = array->descr;
        data = array->data;
    }
    for (const NumberType *known = spec->number_types; known->type; known++)
        if (known->type == key)
            return (FoundNumber){known->kind, data};
    return (FoundNumber){KIND_OTHER, NULL};
}

/* The value of an integer or a bool; false if it does not fit 64 signed bits, or is neither. */
INLINE bool read_integer(FoundNumber number, PyObject *object, int64_t *value) {
    int overflow = 0;
    switch (number.kind) {
    case KIND_I8: *value = number.data->i8; return true;
    case KIND_I16: *value = number.data->i16; return true;
    case KIND_I32: *value = number.data->i32; return true;
    case KIND_I64: *value = number.data->i64; return true;
    case KIND_BOOL:
    case KIND_U8: *value = number.data->u8; return true;
    case KIND_U16: *value = number.data->u16; return true;
    case KIND_U32: *value = number.data->u32; return true;
    case KIND_U64: *value = number.data->i64; return *value >= 0;
    case KIND_PYTHON_INT: *value = PyLong_AsLongLongAndOverflow(object, &overflow); return !overflow;
    case KIND_PYTHON_BOOL: *value = object == &_Py_TrueStruct; return true;
    default: return false;
    }
}

/* Write an integer as a number of a kind; false if its value does not fit. */
INLINE bool write_integer(int64_t value, int64_t from, int64_t to, Number *into) {
    switch (to) {
    case KIND_F32: into->f32 = (float)value; return true;
    case KIND_F64: into->f64 = (double)value; return true;
    case KIND_BOOL:
        if (from != KIND_PYTHON_BOOL)
            return false;
        break;
    default:
        if (value < kind_limits[to].least || value > kind_limits[to].largest)
            return false;
    }
    into->i64 = value; /* little endian: its lower bytes are the number of fewer bits */
    return true;
}

/* Write a float as a number of a kind; false for integers, and where a finite value would become infinite. */
INLINE bool write_float(double value, int64_t to, Number *into) {
    if (to == KIND_F64) {
        into->f64 = value;
        return true;
    }
    if (to != KIND_F32)
        return false;
    const float rounded = (float)value;
    if (__builtin_fabs((double)rounded) == __builtin_inf() && (double)rounded != value)
        return false;
    into->f32 = rounded;
    return true;
}

/* Write a number as the kernel wants it, into 8 bytes; false if it has to be left to Python. */
NOINLINE bool take_number(const Specification *spec, const ArgumentRecord *record, PyObject *object,
                          Number *into) {
    const int64_t wanted = record->numbers & NUMBERS_KIND;
    if (wanted == KIND_OTHER)
        return false;
    const FoundNumber number = find_number(spec, object);
    if (number.kind == wanted) {
        __builtin_memcpy(into, number.data, (uint64_t)record->item_bytes);
        return true;
    }
    if (!(record->numbers & (number.kind >= KIND_PYTHON_FLOAT ? NUMBERS_OF_PYTHON : NUMBERS_OF_NUMPY)))
        return false;
    switch (number.kind) {
    case KIND_F32: return write_float(number.data->f32, wanted, into);
    case KIND_F64: return write_float(number.data->f64, wanted, into);
    case KIND_PYTHON_FLOAT: return write_float(PyFloat_AsDouble(object), wanted, into);
    }
    int64_t value;
    return read_integer(number, object, &value) && write_integer(value, number.kind, wanted, into);
}
