/* Deleters of DLPack's capsules and managed tensors.
 *
 * A managed tensor begins with a DLTensor of 48 bytes; the object that owns it and its deleter follow. An
 * exception may be on its way when a tensor ends (the consumer refuses it); no Python may run during one, so
 * it is put aside.
 */
#include "native.h"

typedef struct ManagedTensor {
    uint8_t tensor[48];
    PyObject *owner; /* manager_ctx */
    void (*deleter)(struct ManagedTensor *);
} ManagedTensor;

int Py_IsInitialized(void);
int PyGILState_Ensure(void);
void PyGILState_Release(int);
void PyErr_Fetch(PyObject **, PyObject **, PyObject **);
void PyErr_Restore(PyObject *, PyObject *, PyObject *);
int PyCapsule_IsValid(PyObject *, const char *);
void *PyCapsule_GetPointer(PyObject *, const char *);

/* The deleter of a managed tensor: its holder needs it no more. Called by any thread, with or without the
 * GIL. */
EXPORT void tx_dlpack_deleter(ManagedTensor *managed) {
    if (!Py_IsInitialized())
        return;
    PyObject *type, *value, *traceback;
    const int state = PyGILState_Ensure();
    PyErr_Fetch(&type, &value, &traceback);
    Py_DecRef(managed->owner);
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(state);
}

/* The destructor of a capsule. A capsule that a consumer took over has another name, and its tensor another
 * holder. */
EXPORT void tx_dlpack_capsule_destructor(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor"))
        return;
    ManagedTensor *managed = PyCapsule_GetPointer(capsule, "dltensor");
    managed->deleter(managed);
}
