"""Objects that are called at the cost of a built-in function: no Python code runs when native code
serves them.

A class whose `__call__` is written in Python costs 100 ns and more per call before anything
happens. `Callable` has CPython's vectorcall protocol as well: a word of every object is the address
of the function that calls it, `tx_vectorcall` of `call.c`. While the word is null, before there is
native code, CPython takes `__call__`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable as Function
from struct import pack
from threading import RLock
from typing import TYPE_CHECKING, Any

from texpr.runtime.native import native_library
from texpr.support.forks import held_over_forks
from texpr.support.tracebacks import hide_frames

_LONG_LONG, _READ_ONLY, _SSIZE = 17, 1, 19  # kinds of members
MOST_SERVED = 16
"""Functions that native code asks, one after the other: less than 10 ns each. The one that took
a call is asked first the next time.
"""
_serving = held_over_forks(RLock())
"""Of threads that add functions to an object at the same time: none of them is lost."""
_CALL, _MEMBERS = 50, 72  # slots of a type
_BASE_TYPE, _VECTORCALL = 1 << 10, 1 << 11
_FIRST_WORD = object.__basicsize__
_FLAGS_AT = _FIRST_WORD + 152


class _Member(ctypes.Structure):
    """PyMemberDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _Slot(ctypes.Structure):
    """PyType_Slot."""

    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    """PyType_Spec."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    ]


def _word_type() -> type:
    """A type whose objects have a word that says what calling them runs."""
    members = (_Member * 3)(
        _Member(b"__vectorcalloffset__", _SSIZE, _FIRST_WORD, _READ_ONLY),
        _Member(b"_entry", _LONG_LONG, _FIRST_WORD),
    )
    call = ctypes.cast(ctypes.pythonapi.PyVectorcall_Call, ctypes.c_void_p)
    slots = (_Slot * 3)(_Slot(_CALL, call), _Slot(_MEMBERS, ctypes.addressof(members)))
    spec = _Spec(b"texpr.runtime.call.callable.Word", _FIRST_WORD + 8, 0, _BASE_TYPE | _VECTORCALL, slots)
    create = ctypes.pythonapi.PyType_FromSpec
    create.restype, create.argtypes = ctypes.py_object, [ctypes.POINTER(_Spec)]
    made = create(spec)
    made._kept = members, spec
    return made


if TYPE_CHECKING:

    class _Word:
        _entry: int
else:
    _Word = _word_type()


class Callable(_Word):
    """Base of classes whose objects are called as a function that can be replaced."""

    # Python lays out names in their order: what `tx_vectorcall` reads is the first word behind that
    # of `Word`.
    __slots__ = ("_asked", "_function", "_served")
    _asked: object
    _function: Function[..., Any]
    _served: tuple[Function[..., Any], ...]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _enable(cls)

    def __call__(self, *arguments: object, **options: object) -> Any:
        """Call the function."""
        try:
            return self._function(*arguments, **options)
        except Exception as error:
            hide_frames(error)
            raise

    def _become(self, function: Function[..., object]) -> None:
        """From now on, `function` is called."""
        self._asked = self._function = function
        self._served = ()

    def _serve(self, native: Function[..., object]) -> None:
        """From now on, `native` is asked first, and then those before it."""
        with _serving:
            others = [f for f in self._served if f is not native][: MOST_SERVED - 1]
            self._become_native(self._function, (native, *others))

    def _become_native(
        self, function: Function[..., object], served: tuple[Function[..., object], ...] = ()
    ) -> None:
        """From now on, `function` is called where none of `served` takes the arguments. They are
        what `make_callable` made, and asked in turn by native code: `tx_vectorcall` of `call.c`
        says what it reads."""
        self._served = served
        owners = [f.__self__ for f in served]  # type: ignore[attr-defined]
        addresses = [id(owner[0]) + bytes.__basicsize__ - 1 for owner in owners]
        listed = pack(f"{len(owners) + 3}q", id(function), len(owners), 0, *addresses)
        self._function, self._asked = function, (listed, function, *owners) if owners else function
        self._entry = native_library.symbols()["tx_vectorcall"]


def is_native(function: Function[..., object]) -> bool:
    """True if native code serves a callable: one of `make_callable` that is not all Python."""
    return isinstance(getattr(function, "__self__", None), tuple)


def _enable(cls: type) -> None:
    """Let CPython look at the word: a class that Python defines has the place of it from its
    base, and not the flag that says so.
    """
    flags = ctypes.c_ulong.from_address(id(cls) + _FLAGS_AT)
    if flags.value == cls.__flags__:  # types look in memory as this file believes
        flags.value |= _VECTORCALL
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))
