/* Slots of tensors, of their calls, and of recipes, as the parts of this unit see them. */
#ifndef TEXPR_MODEL_H
#define TEXPR_MODEL_H

#include "../native.h"

extern PyObject PyBool_Type, PyUnicode_Type, _Py_FalseStruct;

PyObject *PyBytes_FromStringAndSize(const char *, int64_t);
int PyContextVar_Get(PyObject *, PyObject *, PyObject **);
PyObject *PyDict_GetItemWithError(PyObject *, PyObject *);
PyObject *PyErr_Occurred(void);
int PyList_Append(PyObject *, PyObject *);
PyObject *PyList_New(int64_t);
PyObject *PyLong_FromLongLong(long long);
int PyObject_IsTrue(PyObject *);
PyObject *PyWeakref_NewRef(PyObject *, PyObject *);

#define NONE (&_Py_NoneStruct)

/* What `native_tensors.py` packs: objects, limits, and the places of slots in bytes. */
typedef struct {
    PyObject *tensor_type, *node_type;
    PyObject *recipes;                                       /* a dict */
    PyObject *observation, *recording;                       /* context variables */
    PyObject *host;                                          /* the name of the host among devices */
    PyObject *no_outputs;                                    /* the empty tuple */
    PyObject *of_number, *forget_users, *own_spec, *realize; /* Python functions */
    int64_t most_waiting, most_users, few;
    struct {
        int64_t dtype, grad, index, node, owner, requires_grad, shape, spec, stops, users, value;
    } tensor;
    struct {
        int64_t arguments, cache, depth, device, outputs, program;
    } node;
    struct {
        int64_t origins, program, results;
    } call;
    struct {
        int64_t dtype, is_float, shape;
    } spec;
} Model;

_Static_assert(sizeof(Model) == 37 * 8, "native_tensors.py packs 37 words");

INLINE PyObject **slot_at(PyObject *object, int64_t place) { return (PyObject **)((char *)object + place); }

INLINE PyObject *get(PyObject *object, int64_t place) { return *slot_at(object, place); }

INLINE void set_new(PyObject *object, int64_t place, PyObject *value) { *slot_at(object, place) = value; }

INLINE void set(PyObject *object, int64_t place, PyObject *value) {
    incref(value);
    set_new(object, place, value);
}

INLINE int64_t size_of(PyObject *sequence) { return ((PyVarObject *)sequence)->ob_size; }

INLINE PyObject *item(PyObject *tuple, int64_t k) { return tuple_items(tuple)[k]; }

INLINE PyObject *truth(bool value) { return value ? &_Py_TrueStruct : &_Py_FalseStruct; }

INLINE bool is_true(PyObject *value) { return value == &_Py_TrueStruct || PyObject_IsTrue(value) == 1; }

INLINE int64_t integer(PyObject *value) {
    int32_t overflow;
    return PyLong_AsLongLongAndOverflow(value, &overflow);
}

INLINE PyObject *none(void) {
    incref(NONE);
    return NONE;
}

NOINLINE void drop_all(PyObject **objects, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        decref(objects[k]);
}

/* The value of a context variable, borrowed: whoever set it, or the variable itself, has it. */
INLINE PyObject *variable(PyObject *variable) {
    PyObject *value = NULL;
    if (PyContextVar_Get(variable, NULL, &value) || !value)
        return NULL;
    decref(value);
    return value;
}

/* The spec of a tensor on the host; NULL where it is not known yet, and on a device. */
INLINE PyObject *spec_of(const Model *model, PyObject *tensor) {
    PyObject *spec = get(tensor, model->tensor.spec);
    return spec == NONE ? NULL : spec;
}

#endif
