/* Calls of recipes: `_record` of `lazy_tensor.py`. */
#include "model.h"

/* The origin of an argument, as `Call.origins` packs it: operand `position`, a result of an earlier call, or
 * the tensor at an address. */
typedef struct {
    int64_t call, position;
    PyObject *dtype; /* that a number becomes; NULL for a tensor */
} Origin;
enum { OPERAND = -1, CONSTANT = -2 };

enum { MOST_RESULTS = 32 };

/* Note that a call waits for an argument. */
NOINLINE bool add_user(const Model *model, PyObject *argument, PyObject *user) {
    PyObject *users = get(argument, model->tensor.users);
    if (users == NONE) {
        users = PyList_New(0);
        if (!users)
            return false;
        PyObject *before = get(argument, model->tensor.users); /* a collection of garbage runs code */
        set_new(argument, model->tensor.users, users);
        decref(before);
    }
    if (PyList_Append(users, user))
        return false;
    if (size_of(users) % model->most_users)
        return true;
    PyObject *done = PyObject_Vectorcall(model->forget_users, &argument, 1, NULL);
    if (done)
        decref(done);
    return done != NULL;
}

/* The number of calls that wait in a row behind the arguments. */
INLINE int64_t depth_of(const Model *model, PyObject *arguments) {
    int64_t depth = 0;
    for (int64_t k = 0; k < size_of(arguments); k++) {
        PyObject *a = item(arguments, k), *before = get(a, model->tensor.node);
        if (get(a, model->tensor.value) != NONE || before == NONE)
            continue;
        const int64_t waiting = integer(get(before, model->node.depth));
        depth = waiting > depth ? waiting : depth;
    }
    return depth;
}

INLINE bool wants_gradient(const Model *model, PyObject *arguments) {
    for (int64_t k = 0; k < size_of(arguments); k++) {
        PyObject *a = item(arguments, k);
        if (is_true(get(a, model->tensor.requires_grad)) && !is_true(get(a, model->tensor.stops)))
            return true;
    }
    return false;
}

/* A new node of a call; takes over the reference to `arguments`. */
NOINLINE PyObject *new_node(const Model *model, PyObject *program, PyObject *arguments) {
    const int64_t depth = depth_of(model, arguments) + 1;
    PyObject *node = PyType_GenericAlloc(model->node_type, 0);
    PyObject *count = node ? PyLong_FromLongLong(depth) : NULL;
    if (!count) {
        decref(arguments);
        if (node)
            decref(node);
        return NULL;
    }
    set(node, model->node.program, program);
    set_new(node, model->node.arguments, arguments);
    set(node, model->node.cache, NONE);
    set_new(node, model->node.depth, count);
    set(node, model->node.device, model->host);
    set(node, model->node.outputs, model->no_outputs);
    PyObject *user = PyWeakref_NewRef(node, NULL);
    bool added = user != NULL;
    for (int64_t k = 0; added && k < size_of(arguments); k++)
        added = add_user(model, item(arguments, k), user);
    if (user)
        decref(user);
    if (!added) {
        decref(node);
        return NULL;
    }
    return node;
}

/* A new tensor: result `k` of a node. */
INLINE PyObject *new_result(const Model *model, PyObject *node, int64_t k, PyObject *spec, bool recording,
                            bool gradient) {
    PyObject *tensor = PyType_GenericAlloc(model->tensor_type, 0), *index = PyLong_FromLongLong(k);
    if (!tensor || !index) {
        if (tensor)
            decref(tensor);
        if (index)
            decref(index);
        return NULL;
    }
    gradient &= is_true(get(spec, model->spec.is_float));
    set(tensor, model->tensor.shape, get(spec, model->spec.shape));
    set(tensor, model->tensor.dtype, get(spec, model->spec.dtype));
    set(tensor, model->tensor.spec, spec);
    set(tensor, model->tensor.node, node);
    set_new(tensor, model->tensor.index, index);
    set(tensor, model->tensor.requires_grad, truth(gradient));
    set(tensor, model->tensor.stops, truth(!recording));
    set(tensor, model->tensor.value, NONE);
    set(tensor, model->tensor.grad, NONE);
    set(tensor, model->tensor.owner, NONE);
    set(tensor, model->tensor.users, NONE);
    return tensor;
}

/* Let a node know its results, where they are several. */
NOINLINE bool set_outputs(const Model *model, PyObject *node, PyObject **results, int64_t count) {
    PyObject *outputs = PyTuple_New(count);
    if (!outputs)
        return false;
    for (int64_t k = 0; k < count; k++) {
        PyObject *reference = PyWeakref_NewRef(results[k], NULL);
        if (!reference) {
            decref(outputs);
            return false;
        }
        tuple_items(outputs)[k] = reference;
    }
    PyObject *before = get(node, model->node.outputs);
    set_new(node, model->node.outputs, outputs);
    decref(before);
    return true;
}

/* Record a call: new references to its results in `results`. Takes over that to `arguments`. */
NOINLINE bool record_call(const Model *model, PyObject *call, PyObject *arguments, bool recording,
                          PyObject **results) {
    PyObject *specs = get(call, model->call.results);
    const int64_t count = size_of(specs);
    const bool gradient = recording && wants_gradient(model, arguments);
    PyObject *node = new_node(model, get(call, model->call.program), arguments);
    if (!node)
        return false;
    int64_t made = 0;
    while (made < count &&
           (results[made] = new_result(model, node, made, item(specs, made), recording, gradient)))
        made++;
    bool done = made == count && (count == 1 || set_outputs(model, node, results, count));
    if (done && integer(get(node, model->node.depth)) > model->most_waiting) {
        PyObject *same = PyObject_Vectorcall(model->realize, results, 1, NULL);
        done = same != NULL;
        if (same)
            decref(same);
    }
    if (!done)
        drop_all(results, made);
    decref(node);
    return done;
}

/* The results of the calls of a recipe so far: of call n from `first[n]` on. */
typedef struct {
    PyObject *results[MOST_RESULTS];
    int64_t first[MOST_RESULTS];
    int64_t calls, count;
} Made;

/* A new reference to an argument. */
INLINE PyObject *argument_of(const Model *model, const Origin *origin, PyObject *const *operands,
                             const Made *made) {
    PyObject *found;
    if (origin->call >= 0)
        found = made->results[made->first[origin->call] + origin->position];
    else if (origin->call == CONSTANT)
        found = (PyObject *)origin->position;
    else if (origin->dtype) {
        PyObject *given[] = {operands[origin->position], origin->dtype};
        return PyObject_Vectorcall(model->of_number, given, 2, NULL);
    } else
        found = operands[origin->position];
    incref(found);
    return found;
}

/* The arguments of a call of a recipe: a new tuple. */
NOINLINE PyObject *arguments_of(const Model *model, PyObject *call, PyObject *const *operands,
                                const Made *made) {
    PyObject *packed = get(call, model->call.origins);
    const Origin *origins = (const Origin *)((char *)packed + python_bytes_data);
    const int64_t count = size_of(packed) / (int64_t)sizeof(Origin);
    PyObject *arguments = PyTuple_New(count);
    for (int64_t k = 0; arguments && k < count; k++) {
        PyObject *argument = argument_of(model, &origins[k], operands, made);
        if (!argument) {
            decref(arguments);
            return NULL;
        }
        tuple_items(arguments)[k] = argument;
    }
    return arguments;
}

/* The result of a recipe, a tuple of several: of the last call. The others go. */
NOINLINE PyObject *result_of(Made *made) {
    const int64_t last = made->first[made->calls - 1], count = made->count - last;
    PyObject *result = count == 1 ? made->results[last] : PyTuple_New(count);
    for (int64_t k = 0; count > 1 && result && k < count; k++) {
        incref(made->results[last + k]);
        tuple_items(result)[k] = made->results[last + k];
    }
    drop_all(made->results, count == 1 ? last : made->count);
    return result;
}

/* Record the calls of a recipe; NULL with an exception set. */
NOINLINE PyObject *record(const Model *model, PyObject *recipe, PyObject *const *operands, bool recording) {
    Made made;
    made.calls = made.count = 0;
    for (int64_t n = 0; n < size_of(recipe); n++) {
        PyObject *call = item(recipe, n), *arguments = arguments_of(model, call, operands, &made);
        PyObject **results = made.results + made.count;
        if (!arguments || !record_call(model, call, arguments, recording, results)) {
            drop_all(made.results, made.count);
            return NULL;
        }
        made.first[made.calls++] = made.count;
        made.count += size_of(get(call, model->call.results));
    }
    return result_of(&made);
}

/* True if a recipe is short enough for `Made`. */
INLINE bool is_short(const Model *model, PyObject *recipe) {
    int64_t count = 0;
    for (int64_t n = 0; n < size_of(recipe); n++)
        count += size_of(get(item(recipe, n), model->call.results));
    return count <= MOST_RESULTS;
}

/* Record the recipe of a key; None where there is none, and where calls are observed. Takes over the
 * references to the parts of the key. */
NOINLINE PyObject *record_key(const Model *model, PyObject **parts, int64_t count,
                              PyObject *const *operands) {
    PyObject *key = PyTuple_New(count);
    if (!key) {
        drop_all(parts, count);
        return NULL;
    }
    __builtin_memcpy(tuple_items(key), parts, (uint64_t)count * sizeof *parts);
    PyObject *recipe = PyDict_GetItemWithError(model->recipes, key);
    if (recipe)
        incref(recipe); /* others may forget it meanwhile */
    decref(key);
    if (!recipe)
        return PyErr_Occurred() ? NULL : none();
    PyObject *found = NONE;
    if (recipe->ob_type == &PyTuple_Type && is_short(model, recipe)) {
        PyObject *seen = variable(model->observation), *recording = variable(model->recording);
        if (!seen || !recording)
            found = NULL;
        else if (seen == NONE)
            found = record(model, recipe, operands, is_true(recording));
    }
    decref(recipe);
    return found == NONE ? none() : found;
}
