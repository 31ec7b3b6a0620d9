/* Methods of tensors: keys of recipes, as `recorded_call` and `recorded_arithmetic` of `lazy_tensor.py` make
 * them. */
#include "model.h"

enum { MOST_PARTS = 24 };

/* A new reference to the spec of a tensor, which Python finds for a new one; NULL on a device, and with an
 * exception set. */
INLINE PyObject *take_spec(const Model *model, PyObject *tensor) {
    PyObject *spec = spec_of(model, tensor);
    if (spec) {
        incref(spec);
        return spec;
    }
    spec = PyObject_Vectorcall(model->own_spec, &tensor, 1, NULL);
    if (spec != NONE)
        return spec;
    decref(spec);
    return NULL;
}

/* METH_FASTCALL: a method that is `arithmetic`, a tensor, and a tensor or a number of Python. */
EXPORT PyObject *tx_arithmetic(PyObject *self, PyObject *const *arguments, int64_t count) {
    const Model *model = data_of_first_item(self);
    if (count != 3 || arguments[1]->ob_type != model->tensor_type)
        return none();
    PyObject *other = arguments[2], *parts[4] = {arguments[0]};
    int64_t size = 2;
    if (other->ob_type == &PyFloat_Type || other->ob_type == &PyLong_Type) {
        parts[size++] = other->ob_type;
        if (other->ob_type == &PyLong_Type)
            parts[size++] = other; /* its value decides the dtype of the result */
        for (int64_t k = 2; k < size; k++)
            incref(parts[k]);
    } else if (other->ob_type != model->tensor_type)
        return none();
    else if (other != arguments[1])
        parts[size++] = take_spec(model, other);
    if (size == 3 && !parts[2])
        return PyErr_Occurred() ? NULL : none();
    parts[1] = take_spec(model, arguments[1]);
    if (!parts[1]) {
        drop_all(parts + 2, size - 2);
        return PyErr_Occurred() ? NULL : none();
    }
    incref(parts[0]);
    return record_key(model, parts, size, arguments + 1);
}

INLINE bool is_static(PyObject *value) {
    PyObject *type = value->ob_type;
    return type == &PyLong_Type || type == &PyBool_Type || type == &PyUnicode_Type || value == NONE;
}

/* A new tuple of two. */
INLINE PyObject *pair(PyObject *first, PyObject *second) {
    PyObject *found = PyTuple_New(2);
    if (found) {
        incref(first);
        incref(second);
        tuple_items(found)[0] = first;
        tuple_items(found)[1] = second;
    }
    return found;
}

/* The part of a key for a tuple of static values, as `recipes.static_key` has it; NULL without an exception
 * for other tuples. */
NOINLINE PyObject *key_of_tuple(PyObject *tuple) {
    const int64_t count = size_of(tuple);
    for (int64_t k = 0; k < count; k++)
        if (!is_static(item(tuple, k)))
            return NULL;
    PyObject *within = PyTuple_New(count);
    for (int64_t k = 0; within && k < count; k++) {
        PyObject *value = item(tuple, k), *part = pair(value->ob_type, value);
        if (!part) {
            decref(within);
            return NULL;
        }
        tuple_items(within)[k] = part;
    }
    if (!within)
        return NULL;
    PyObject *found = pair(&PyTuple_Type, within);
    decref(within);
    return found;
}

/* A key that grows: new references. */
typedef struct {
    PyObject *parts[MOST_PARTS], *operands[MOST_PARTS];
    int64_t count, tensors;
} Key;

/* Add a part, whose reference is taken over. */
INLINE bool add_part(Key *key, PyObject *part) {
    if (part)
        key->parts[key->count++] = part;
    return part != NULL;
}

/* Add a tensor to a key, as `recipes.call_key` does. */
NOINLINE bool add_tensor(const Model *model, Key *key, PyObject *tensor) {
    for (int64_t k = 0; k < key->tensors; k++)
        if (key->operands[k] == tensor && !add_part(key, PyLong_FromLongLong(k)))
            return false;
    key->operands[key->tensors++] = tensor;
    return add_part(key, take_spec(model, tensor));
}

/* Add an argument to a key; false for those that Python looks at. */
NOINLINE bool add_argument(const Model *model, Key *key, PyObject *value) {
    if (key->count + key->tensors + 3 > MOST_PARTS)
        return false;
    if (value->ob_type == model->tensor_type)
        return add_tensor(model, key, value);
    if (is_static(value)) {
        incref(value->ob_type);
        incref(value);
        return add_part(key, value->ob_type) && add_part(key, value);
    }
    return value->ob_type == &PyTuple_Type && add_part(key, key_of_tuple(value));
}

/* METH_FASTCALL: a method that is `recorded`, a tensor, and the method's other arguments by position. */
EXPORT PyObject *tx_recorded(PyObject *self, PyObject *const *arguments, int64_t count) {
    const Model *model = data_of_first_item(self);
    if (count < 2 || arguments[1]->ob_type != model->tensor_type)
        return none();
    Key key;
    incref(arguments[0]);
    key.parts[0] = arguments[0];
    key.count = 1;
    key.tensors = 0;
    for (int64_t k = 1; k < count; k++)
        if (!add_argument(model, &key, arguments[k])) {
            drop_all(key.parts, key.count);
            return PyErr_Occurred() ? NULL : none();
        }
    return record_key(model, key.parts, key.count, key.operands);
}
