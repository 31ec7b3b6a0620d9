"""The native support library: its LLVM IR, compiled and linked into the process when it is first
needed.

Its source is `library.c` and the files that this includes, and `library_free_threaded.c` for builds
of CPython without the GIL. The checks of `call.value_checks` are a library of their own.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
import threading
from collections.abc import Callable
from pathlib import Path

from texpr.runtime import disk_cache, host
from texpr.runtime.native import jit
from texpr.support.errors import CallError
from texpr.support.options import current, watch
from texpr.support.version import FREE_THREADED, installed

FOR_KERNELS = (
    "tx_parallel",
    "tx_interrupted",
    "tx_alloc",
    "tx_free",
    "tx_guard_alloc",
    "tx_guard_free",
    "tx_guard_copy",
    "tx_guard_copy_back",
)
"""Functions and variables that kernels refer to."""
EXPORTS = (
    *FOR_KERNELS,
    "tx_set_threads",
    "tx_set_memory",
    "tx_set_guard",
    "tx_set_main_thread",
    "tx_watch_interrupts",
    "tx_run_uncounted",
    "tx_defer_interrupts",
    "tx_allow_interrupts",
    "tx_after_fork",
    "tx_numpy_malloc",
    "tx_numpy_calloc",
    "tx_numpy_realloc",
    "tx_numpy_free",
    "tx_call",
    "tx_vectorcall",
    "tx_run",
    "tx_run_at",
    "tx_call_at",
    "tx_sequence",
    "tx_function",
    "tx_sweep",
    "tx_check_range",
    "tx_dlpack_deleter",
    "tx_dlpack_capsule_destructor",
)
PYTHON_API = (
    "PyObject_Vectorcall",
    "PyObject_CallNoArgs",
    "PyObject_RichCompareBool",
    "PyTuple_New",
    "PyType_GenericAlloc",
    "PyType_IsSubtype",
    "PyLong_AsLongLongAndOverflow",
    "PyFloat_AsDouble",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyErr_CheckSignals",
    "PyErr_Clear",
    "PyErr_Fetch",
    "PyErr_Restore",
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyCapsule_IsValid",
    "PyCapsule_GetPointer",
    "Py_IsInitialized",
    "Py_IncRef",
    "Py_DecRef",
    "PyTuple_Type",
    "PyFloat_Type",
    "PyLong_Type",
    "_Py_NoneStruct",
    "_Py_TrueStruct",
)
FREE_THREADED_API = ("PyCriticalSection_Begin", "PyCriticalSection_End")
"""Further functions that the library for builds without the GIL calls."""
LARGEST_POOL = 256


def text(machine: str = platform.machine()) -> str:
    """The library's LLVM IR for a host, this one by default, with the layouts of this Python's
    objects.
    """
    return with_layouts(source("library_free_threaded" if FREE_THREADED else "library", machine))


def with_layouts(ir: str) -> str:
    """The LLVM IR of a translation unit with the layouts of this Python's objects (`native.h`)."""
    items, after_size = tuple.__basicsize__, object.__basicsize__ + 8
    layouts = {
        "python_tuple_items": items,
        # The hash that a tuple keeps from Python 3.14 on, in front of its items.
        "python_tuple_hash": after_size if items > after_size else 0,
        "python_bytes_data": bytes.__basicsize__ - 1,
    }
    for name, value in layouts.items():
        declaration = f"@{name} = external local_unnamed_addr constant i64,"
        ir = ir.replace(declaration, f"@{name} = internal constant i64 {value},")
    assert "@python_" not in re.sub(r"@python_\w+ = internal|ptr @python_", "", ir), "an unknown layout"
    return ir


def source(unit: str, machine: str = platform.machine()) -> str:
    """The LLVM IR of a translation unit, such as `library` or `value_checks` (`scripts/native.py`
    compiles it from C).
    """
    return (Path(__file__).parent / "ir" / f"{unit}-{machine}.ll").read_text(encoding="utf-8")


@functools.cache
def _library() -> jit.Library:
    jit.require_known_host()
    names = PYTHON_API + (FREE_THREADED_API if FREE_THREADED else ())
    imports = {name: _address(getattr(ctypes.pythonapi, name)) for name in names}
    library = jit.link(compiled(text(), jit.compile_as_written), EXPORTS, imports)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))
    memory = host.memory_bytes()
    _function(library, "tx_set_memory", 2)(memory, min(memory // 8, 1 << 30))
    _function(library, "tx_set_threads", 1)(_initial_threads())
    set_guard = _function(library, "tx_set_guard", 1)
    set_guard(current().guard == "begin")
    watch(lambda options: set_guard(options.guard == "begin"))
    watch(lambda options: set_threads(min(options.threads, LARGEST_POOL)))
    _function(library, "tx_set_main_thread", 1)(threading.main_thread().ident)
    _function(library, "tx_watch_interrupts", 0)()
    os.register_at_fork(after_in_child=_function(library, "tx_after_fork", 0))
    return library


def compiled(text: str, make: Callable[[str], bytes]) -> bytes:
    """Object code of LLVM IR, made once per machine if there is a disk cache."""
    store = disk_cache.shared()
    key = repr(("native", text, host.cpu_name(), host.cpu_features(), installed("llvmlite")))
    code = store.get(key)
    if code is None:
        code = make(text)
        store.put(key, code)
    return code


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _function(library: jit.Library, name: str, arity: int):
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * arity)(library[name])


def symbols() -> dict[str, int]:
    """Addresses by name: what kernels may refer to, and what the call path is made of."""
    with jit.lock:
        return _symbols()


@functools.cache
def _symbols() -> dict[str, int]:
    return {name: _library()[name] for name in EXPORTS}


def _initial_threads() -> int:
    return min(current().threads, LARGEST_POOL)


def _checked(count: int) -> int:
    if not 1 <= count <= LARGEST_POOL:
        raise CallError(f"{count} threads; expected 1 to {LARGEST_POOL}")
    return count


def set_threads(count: int) -> None:
    """Run parallel loops on `count` threads, the calling one included. Results do not depend on
    it.
    """
    with jit.lock:
        _function(_library(), "tx_set_threads", 1)(_checked(count))
        global pool_threads
        pool_threads = count


pool_threads = 0
"""The number that was set last; 0 before. A call that follows another library's number reads it."""


def threads() -> int:
    """Number of threads of parallel loops."""
    return pool_threads or _initial_threads()
