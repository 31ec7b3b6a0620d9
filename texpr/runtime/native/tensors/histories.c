/* The calls that a tensor waits for: `History` of `evaluation.py`, where all is on the host and no module
 * takes part. Nothing of Python runs meanwhile, so no thread changes a tensor. */
#include "model.h"

enum { FEW_ENTRIES = 64, MANY_ENTRIES = 1024 };

/* An object that was met: a call by its place, a leaf or a leaf's value by a negative one, or a tensor
 * that a call makes, by how often it is an argument. */
typedef struct {
    PyObject *object;
    int64_t number;
} Met;

typedef struct {
    const Model *model;
    Met *table;
    int64_t capacity, met; /* the capacity is a power of two */
    int64_t *words;        /* of each call its program, and its arguments' places */
    int64_t count, calls;
    PyObject **leaves, **made;
    int64_t leaf_count, made_count;
} Walk;

/* The entry of an object, which has NULL for it where it was not met. There is always room. */
INLINE Met *find(const Walk *walk, PyObject *object) {
    const uint64_t mask = (uint64_t)walk->capacity - 1;
    uint64_t k = ((uint64_t)object >> 4) * 0x9e3779b97f4a7c15u >> 32;
    for (;; k++) {
        Met *met = &walk->table[k & mask];
        if (met->object == object || !met->object)
            return met;
    }
}

/* Add an object; false where the table is half full. */
INLINE bool add(Walk *walk, PyObject *object, int64_t number) {
    Met *met = find(walk, object);
    if (++walk->met > walk->capacity / 2)
        return false;
    *met = (Met){object, number};
    return true;
}

INLINE bool add_word(Walk *walk, int64_t word) {
    walk->words[walk->count++] = word;
    return walk->count < 4 * walk->capacity - 4;
}

/* Add a leaf. Tensors that share a value are one, but for those that want gradients. */
NOINLINE bool add_leaf(Walk *walk, PyObject *tensor) {
    const Model *model = walk->model;
    PyObject *value = get(tensor, model->tensor.value);
    if (find(walk, tensor)->object)
        return true;
    const bool shared = !is_true(get(tensor, model->tensor.requires_grad));
    int64_t place = shared && find(walk, value)->object ? find(walk, value)->number : 0;
    if (!place) {
        if (!spec_of(model, tensor))
            return false;
        walk->leaves[walk->leaf_count++] = tensor;
        place = -walk->leaf_count;
        if (shared && !add(walk, value, place))
            return false;
    }
    return add(walk, tensor, place);
}

/* Note that a tensor without a value is an argument. */
INLINE bool add_use(Walk *walk, PyObject *tensor) {
    Met *met = find(walk, tensor);
    if (met->object) {
        met->number++;
        return true;
    }
    walk->made[walk->made_count++] = tensor;
    return add(walk, tensor, 1);
}

INLINE bool is_plain(const Model *model, PyObject *node) {
    return get(node, model->node.cache) == NONE && get(node, model->node.device) == model->host &&
           !size_of(get(node, model->node.outputs));
}

static bool add_call(Walk *walk, PyObject *node);

/* Add an argument of a call: a leaf, or what it waits for. */
INLINE bool add_argument_of(Walk *walk, PyObject *tensor) {
    const Model *model = walk->model;
    if (get(tensor, model->tensor.value) != NONE)
        return add_leaf(walk, tensor);
    PyObject *before = get(tensor, model->tensor.node);
    return before != NONE && (find(walk, before)->object || add_call(walk, before)) && add_use(walk, tensor);
}

/* Add the place of an argument to the words: a leaf, or a call and the result there. */
INLINE bool add_place(Walk *walk, PyObject *tensor) {
    const Model *model = walk->model;
    if (get(tensor, model->tensor.value) != NONE)
        return add_word(walk, find(walk, tensor)->number);
    return add_word(walk, find(walk, get(tensor, model->tensor.node))->number) &&
           add_word(walk, integer(get(tensor, model->tensor.index)));
}

/* Add a call behind those that its arguments wait for. */
static bool add_call(Walk *walk, PyObject *node) {
    const Model *model = walk->model;
    PyObject *arguments = get(node, model->node.arguments);
    if (!is_plain(model, node))
        return false;
    for (int64_t k = 0; k < size_of(arguments); k++)
        if (!add_argument_of(walk, item(arguments, k)))
            return false;
    if (!add_word(walk, (int64_t)get(node, model->node.program)))
        return false;
    for (int64_t k = 0; k < size_of(arguments); k++)
        if (!add_place(walk, item(arguments, k)))
            return false;
    return add(walk, node, walk->calls++);
}

/* Number of references to an object: CPython 3.14 has flags above it. */
INLINE int64_t references(PyObject *object) { return (int64_t)(uint32_t)object->ob_refcnt; }

/* Leave those tensors in `made` that others hold than the calls, and `wanted`. Adds their places to the
 * words. */
NOINLINE bool add_outputs(Walk *walk, PyObject *wanted) {
    const Model *model = walk->model;
    int64_t kept = 0;
    bool has_wanted = false;
    for (int64_t k = 0; k < walk->made_count; k++) {
        PyObject *tensor = walk->made[k];
        if (references(tensor) <= find(walk, tensor)->number)
            continue;
        walk->made[kept++] = tensor;
        has_wanted |= tensor == wanted;
    }
    if (!has_wanted)
        walk->made[kept++] = wanted;
    walk->made_count = kept;
    for (int64_t k = 0; k < kept; k++) {
        PyObject *tensor = walk->made[k];
        if (!add_word(walk, find(walk, get(tensor, model->tensor.node))->number) ||
            !add_word(walk, integer(get(tensor, model->tensor.index))))
            return false;
    }
    return add_word(walk, kept);
}

/* New references to slots of tensors; to the tensors themselves with -1. */
INLINE void take(PyObject *const *tensors, int64_t count, int64_t place, PyObject **into) {
    for (int64_t k = 0; k < count; k++) {
        into[k] = place < 0 ? tensors[k] : get(tensors[k], place);
        incref(into[k]);
    }
}

/* A new tuple; takes over the references. */
NOINLINE PyObject *tuple_of(PyObject **objects, int64_t count) {
    PyObject *found = PyTuple_New(count);
    if (found)
        __builtin_memcpy(tuple_items(found), objects, (uint64_t)count * sizeof *objects);
    else
        drop_all(objects, count);
    return found;
}

/* The same of four, one of which may be NULL: then it is NULL. */
NOINLINE PyObject *tuple_of_four(PyObject **parts) {
    if (parts[0] && parts[1] && parts[2] && parts[3])
        return tuple_of(parts, 4);
    for (int64_t k = 0; k < 4; k++)
        if (parts[k])
            decref(parts[k]);
    return NULL;
}

/* The structure and what belongs to it, with so many entries; None where they are too few. */
INLINE PyObject *walked(const Model *model, PyObject *wanted, int64_t capacity, Met *table, int64_t *words,
                        PyObject **room) {
    PyObject **leaves = room, **made = room + capacity, **specs = room + 2 * capacity;
    Walk walk = {model, table, capacity, 0, words, 0, 0, leaves, made, 0, 0};
    __builtin_memset(table, 0, (uint64_t)capacity * sizeof *table);
    if (!add_call(&walk, get(wanted, model->tensor.node)) || !add_outputs(&walk, wanted))
        return none();
    /* All that is referred to is held before memory is asked for: a collection of garbage runs code. */
    const int64_t found = walk.leaf_count;
    take(leaves, found, model->tensor.spec, specs);
    take(leaves, found, model->tensor.value, leaves);
    take(made, walk.made_count, -1, made);
    PyObject *parts[] = {
        PyBytes_FromStringAndSize((const char *)words, walk.count * 8),
        tuple_of(specs, found),
        tuple_of(leaves, found),
        tuple_of(made, walk.made_count),
    };
    return tuple_of_four(parts);
}

NOINLINE PyObject *walked_far(const Model *model, PyObject *wanted) {
    Met table[MANY_ENTRIES];
    int64_t words[4 * MANY_ENTRIES];
    PyObject *room[3 * MANY_ENTRIES];
    return walked(model, wanted, MANY_ENTRIES, table, words, room);
}

/* METH_O-like FASTCALL: a tensor. Gives its structure as bytes, specs and values of its leaves, and the
 * tensors that are to be computed: in the order of `History`. None where Python walks. */
EXPORT PyObject *tx_history(PyObject *self, PyObject *const *arguments, int64_t count) {
    const Model *model = data_of_first_item(self);
    PyObject *wanted = arguments[0];
    if (count != 1 || wanted->ob_type != model->tensor_type)
        return none();
    PyObject *node = get(wanted, model->tensor.node);
    if (get(wanted, model->tensor.value) != NONE || node == NONE ||
        integer(get(node, model->node.depth)) > model->few)
        return none();
    Met table[FEW_ENTRIES];
    int64_t words[4 * FEW_ENTRIES];
    PyObject *room[3 * FEW_ENTRIES];
    PyObject *found = walked(model, wanted, FEW_ENTRIES, table, words, room);
    if (found != NONE)
        return found;
    decref(found);
    return walked_far(model, wanted);
}
