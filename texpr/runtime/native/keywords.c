/* Arguments by name: inputs, `out`, and the constants that a specification is for.
 *
 * At the place that a specification tells, it has the name of every input, NULL where it is taken by position
 * only, and then of every constant its name and its value. Names are compared by address: Python interns the
 * strings of names that a program's text uses.
 */
#include "native.h"

enum { PY_EQ = 2 }; /* Py_EQ */

typedef struct {
    PyObject *name, *value;
} Constant;

INLINE uint64_t bits_of(double value) {
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* True if a constant is the known one. Values of other types than float, int and bool, or of their
 * subclasses, are left to Python. */
NOINLINE bool is_same_constant(PyObject *given, PyObject *known) {
    if (given == known)
        return true; /* there is one True and one False */
    if (given->ob_type != known->ob_type)
        return false;
    if (known->ob_type == &PyFloat_Type) /* 0.0 and -0.0 are different constants */
        return bits_of(PyFloat_AsDouble(given)) == bits_of(PyFloat_AsDouble(known));
    return known->ob_type == &PyLong_Type && PyObject_RichCompareBool(given, known, PY_EQ) == 1;
}

/* The position of an input with a name; `inputs` if there is none. */
INLINE int64_t find_input(PyObject *const *names, int64_t inputs, const PyObject *name) {
    int64_t k = 0;
    while (k < inputs && names[k] != name)
        k++;
    return k;
}

INLINE bool is_known_constant(const Constant *constants, int64_t count, const PyObject *name,
                              PyObject *value) {
    for (int64_t k = 0; k < count; k++)
        if (constants[k].name == name)
            return is_same_constant(value, constants[k].value);
    return false;
}

/* Write the outputs that `out=` names: an array, or a tuple of several. False if `value` is neither. */
NOINLINE bool spread_outputs(PyObject *value, int64_t outputs, PyObject **into) {
    if (outputs == 1) {
        *into = value;
        return true;
    }
    if (!PyType_IsSubtype(value->ob_type, &PyTuple_Type) || ((PyVarObject *)value)->ob_size != outputs)
        return false;
    __builtin_memcpy(into, tuple_items(value), (uint64_t)outputs * sizeof *into);
    return true;
}

/* Write the arguments by name to their places in `into`. Returns how many arguments there are then; -1 if one
 * is unknown or given twice, or if the constants are not those that the specification is for. */
INLINE int64_t place_keywords(const Specification *spec, PyObject *const *values, int64_t given,
                              PyObject *keywords, PyObject **into) {
    const int64_t inputs = spec->inputs, outputs = spec->outputs, count = ((PyVarObject *)keywords)->ob_size;
    PyObject *const *names = tuple_items(keywords);
    PyObject *const *input_names = (PyObject *const *)spec + spec->names_at;
    const Constant *constants = (const Constant *)(input_names + inputs);
    int64_t matched = 0;
    for (int64_t k = 0; k < count; k++) {
        PyObject *name = names[k], *value = values[k];
        if (name == spec->out_name) {
            if (value == &_Py_NoneStruct)
                continue;
            if (!spread_outputs(value, outputs, into + inputs))
                return -1;
            given += outputs; /* outputs that came by position as well are too many then */
            continue;
        }
        const int64_t position = find_input(input_names, inputs, name);
        if (position < inputs) {
            if (into[position])
                return -1;
            into[position] = value;
            given++;
        } else if (is_known_constant(constants, spec->constants, name, value))
            matched++;
        else
            return -1;
    }
    return matched == spec->constants ? given : -1;
}

/* Write the arguments in the order of slots into `into`, which has a place for every input and output.
 * Returns how many there are, with or without outputs; -1 if they are not what the specification is for. */
NOINLINE int64_t order_arguments(const Specification *spec, PyObject *const *arguments, int64_t positional,
                                 PyObject *keywords, PyObject **into) {
    const int64_t inputs = spec->inputs, all = inputs + spec->outputs;
    if (positional > spec->positional && positional != spec->positional_with_outputs)
        return -1;
    for (int64_t k = 0; k < all; k++)
        into[k] = NULL;
    for (int64_t k = 0; k < positional; k++)
        into[k] = arguments[k];
    const int64_t given = place_keywords(spec, arguments + positional, positional, keywords, into);
    if (given != inputs && given != all)
        return -1;
    for (int64_t k = 0; k < inputs; k++) /* as many as there are places may still have left one out */
        if (!into[k])
            return -1;
    return given;
}
