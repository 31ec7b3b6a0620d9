"""Native functions for lazy tensors (`runtime/native/tensors`), and places of slots in objects.

Their unit is linked when the first one is asked for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from texpr.runtime.call.fast_path import FASTCALL, builtin
from texpr.runtime.native import jit, native_library

_API = (
    "PyBytes_FromStringAndSize",
    "PyContextVar_Get",
    "PyDict_GetItemWithError",
    "PyErr_Occurred",
    "PyList_Append",
    "PyList_New",
    "PyLong_AsLongLongAndOverflow",
    "PyLong_FromLongLong",
    "PyObject_IsTrue",
    "PyObject_Vectorcall",
    "PyTuple_New",
    "PyType_GenericAlloc",
    "PyWeakref_NewRef",
    "Py_DecRef",
    "Py_IncRef",
    "PyBool_Type",
    "PyFloat_Type",
    "PyLong_Type",
    "PyTuple_Type",
    "PyUnicode_Type",
    "_Py_FalseStruct",
    "_Py_NoneStruct",
    "_Py_TrueStruct",
)
_FUNCTIONS = ("tx_arithmetic", "tx_recorded", "tx_history")


def functions(model: bytes, keep: object) -> dict[str, Callable[..., Any]]:
    """The functions by name.

    Args:
        model: of the classes, as `model.h` has it.
        keep: kept alive as long as they are: what the model refers to.
    """
    library = _library()
    return {name: builtin(library[name], FASTCALL, name, "", model, (keep, library)) for name in _FUNCTIONS}


def slots(kind: type, names: list[str]) -> list[int]:
    """The places of slots in objects of a class, in bytes."""
    made: Any = object.__new__(kind)
    marks = {name: object() for name in names}
    for name, mark in marks.items():
        setattr(made, name, mark)
    size = kind.__basicsize__ // 8
    words = list((ctypes.c_int64 * size).from_address(id(made)))
    return [8 * words.index(id(mark)) for mark in marks.values()]


@cache
def _library() -> jit.Library:
    text = native_library.with_layouts(native_library.source("tensors"))
    code = native_library.compiled(text, jit.compile_as_written)
    imports = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in _API
    }
    library = jit.link(code, _FUNCTIONS, imports)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
    return library
