"""The native support library: pool of threads, Ctrl-C, scratch memory, memory beside pages that cannot be touched, call path, ends of
DLPack's capsules.

Its source is the `.ll` files next to this one, without the checks of `call.value_checks.py`.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import threading
from collections.abc import Callable
from pathlib import Path
from string import Template

import llvmlite.binding as llvm

from texpr.runtime import disk_cache as cache
from texpr.runtime import host
from texpr.runtime.native import jit
from texpr.support.errors import CallError
from texpr.support.options import current, watch

PARTS = ("pool", "interrupt", "memory", "guard", "arguments", "numbers", "keywords", "copies", "call", "sequence", "dlpack")
FOR_KERNELS = ("tx_parallel", "tx_interrupted", "tx_alloc", "tx_free", "tx_guard_alloc", "tx_guard_free", "tx_guard_copy",
               "tx_guard_back")
"""What kernels may refer to."""
EXPORTS = (
    *FOR_KERNELS,
    "tx_set_threads",
    "tx_set_memory",
    "tx_set_guard",
    "tx_set_main_thread",
    "tx_watch_interrupts",
    "tx_hold",
    "tx_release",
    "tx_after_fork",
    "tx_numpy_malloc",
    "tx_numpy_calloc",
    "tx_numpy_realloc",
    "tx_numpy_free",
    "tx_call",
    "tx_enter",
    "tx_run",
    "tx_sequence",
    "tx_function",
    "tx_sweep",
    "tx_check_range",
    "tx_give_back",
    "tx_end_capsule",
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
LARGEST_POOL = 256

# What the text leaves open per architecture: system call numbers, a pause in waiting loops, a clock and 20 us of its ticks.
_HOSTS = {
    "x86_64": {"FUTEX": "202", "GETTID": "186", "PAUSE": "llvm.x86.sse2.pause()", "COUNTER": "llvm.readcyclecounter()", "TICKS": "60000"},
    "aarch64": {
        "FUTEX": "98", "GETTID": "178", "PAUSE": "llvm.aarch64.isb(i32 15)",
        "COUNTER": "llvm.read_volatile_register.i64(metadata !0)", "TICKS": "1000",
    },
}  # fmt: skip
_DECLARATIONS = {
    "x86_64": "declare void @llvm.x86.sse2.pause()\ndeclare i64 @llvm.readcyclecounter()\n",
    "aarch64": 'declare void @llvm.aarch64.isb(i32)\ndeclare i64 @llvm.read_volatile_register.i64(metadata)\n!0 = !{!"cntvct_el0"}\n',
}


def text(machine: str = platform.machine()) -> str:
    """The library's LLVM IR for a kind of machine, this one's by default."""
    items = tuple.__basicsize__
    # From Python 3.14 on, a tuple has a word for its hash in front of its items, -1 until it is known.
    unknown_hash = f"%hash.at = getelementptr i8, ptr %tuple, i64 {items - 8}\n  store i64 -1, ptr %hash.at" if items == 32 else ""
    layout = {"TUPLE_ITEMS": str(items), "TUPLE_HASH": unknown_hash, "BYTES_DATA": str(bytes.__basicsize__ - 1)}
    # 2 is for what runs seldom: making its code takes less time.
    attributes = ("\nattributes #0 = { nounwind }\nattributes #1 = { nounwind alwaysinline }"
                  "\nattributes #2 = { nounwind noinline optnone }\n")
    parts = [source(part) for part in PARTS]
    return Template("\n".join(parts) + attributes + _DECLARATIONS[machine]).substitute(layout | _HOSTS[machine])


def source(part: str) -> str:
    """One of the `.ll` files."""
    return Path(__file__).with_name(f"{part}.ll").read_text(encoding="utf-8")


@functools.cache
def _library() -> llvm.ResourceTracker:
    jit.host_machine()  # refuses other systems
    imports = {name: _address(getattr(ctypes.pythonapi, name)) for name in PYTHON_API}
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
    store = cache.shared()
    key = repr(("native", text, host.cpu_name(), host.cpu_features(), llvm.llvm_version_info))
    code = store.get(key)
    if code is None:
        code = make(text)
        store.put(key, code)
    return code


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


def _function(library: llvm.ResourceTracker, name: str, arity: int):
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
    """Run parallel loops on `count` threads, the calling one included. Results do not depend on it."""
    with jit.lock:
        _function(_library(), "tx_set_threads", 1)(_checked(count))
        global _threads
        _threads = count


_threads = 0


def threads() -> int:
    """How many threads parallel loops use."""
    return _threads or _initial_threads()
