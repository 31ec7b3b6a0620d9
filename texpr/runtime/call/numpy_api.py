"""NumPy's C functions and memory layout, as far as the native library uses them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

from texpr.runtime.native import native_library

# Places in NumPy's table of C functions, which is stable.
_NEW_COPY, _NEW_FROM_DESCR, _SET_HANDLER = 85, 94, 304
LARGE = 1 << 16
"""Bytes from which on outputs come from our memory, as in `arguments.c`: they begin at a whole
line, so that threads which write parts of rows do not take lines from each other. Few smaller ones
are shared, and NumPy's allocator is exchanged for each."""


class _Handler(ctypes.Structure):
    """PyDataMem_Handler of NEP 49."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    ]


@cache
def _table() -> ctypes.Array[ctypes.c_void_p]:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return (ctypes.c_void_p * (_SET_HANDLER + 1)).from_address(
        get(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    )


def new_copy() -> int:
    """The address of PyArray_NewCopy."""
    return _table()[_NEW_COPY] or 0


def new_from_descr() -> int:
    """The address of PyArray_NewFromDescr."""
    return _table()[_NEW_FROM_DESCR] or 0


def set_handler() -> int:
    """The address of PyDataMem_SetHandler."""
    return _table()[_SET_HANDLER] or 0


KINDS: tuple[type[np.generic], ...] = (
    np.bool_,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float32,
    np.float64,
)
"""Numbers that native code converts, in the order of `numbers.c`, where the first is number 1;
Python's follow.
"""


@cache
def kinds() -> ctypes.Array[ctypes.c_int64]:
    """The table in which `numbers.c` looks for the type or dtype of a number. It lives for ever,
    and so do these types.
    """
    numbered = list(enumerate(KINDS, 1))
    python = [(k, t) for k, t in enumerate((float, int, bool), len(KINDS) + 1)]
    entries: list[tuple[int, object]] = [*python, *numbered, *((k, np.dtype(t)) for k, t in numbered)]
    words = [word for kind, each in entries for word in (id(each), kind)]
    return (ctypes.c_int64 * (len(words) + 2))(*words, 0, 0)


@cache
def handler() -> object:
    """A capsule that makes NumPy allocate arrays with `tx_alloc`. Arrays refer to it; it lives
    for ever.
    """
    names = ("malloc", "calloc", "realloc", "free")
    record = _Handler(b"texpr", 1, None, *(native_library.symbols()[f"tx_numpy_{name}"] for name in names))
    create = ctypes.pythonapi.PyCapsule_New
    create.restype, create.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = ctypes.create_string_buffer(b"mem_handler")
    capsule = create(ctypes.addressof(record), ctypes.cast(name, ctypes.c_char_p), None)
    for kept in (record, name, capsule):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    return capsule


@contextmanager
def our_memory() -> Iterator[None]:
    """Arrays made inside, in this thread, come from the native library's memory."""
    change = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(set_handler())
    previous = change(handler())
    try:
        yield
    finally:
        change(previous)


@cache
def layouts_are_known() -> bool:
    """True if objects have the layout in memory that the native code assumes; on an interpreter
    where they do not, all calls go through Python.
    """
    probe = np.zeros((3, 5), np.float32)
    type_word = object.__basicsize__ - 8  # the last one of an object's head
    words = (ctypes.c_int64 * 8).from_address(id(probe) + type_word)
    shape = (ctypes.c_int64 * 2).from_address(words[3]) if words[2] & 0xFFFFFFFF == 2 else (0, 0)
    array = (words[0], words[1], words[6], words[7] & 0xFFFFFFFF, *shape)
    expected = (id(np.ndarray), probe.ctypes.data, id(probe.dtype), probe.flags.num, 3, 5)
    numbers = [(t(1), np.dtype(t).itemsize) for t in KINDS]
    content = b"known"
    pair = (content, probe)
    return (
        array == expected
        and all(ctypes.string_at(id(n) + object.__basicsize__, size) == n.tobytes() for n, size in numbers)
        and ctypes.string_at(id(content) + bytes.__basicsize__ - 1, 5) == content
        and ctypes.c_int64.from_address(id(pair) + tuple.__basicsize__).value == id(content)
    )
