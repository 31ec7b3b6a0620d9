"""A loaded kernel as a Python callable.

The callable is a built-in function whose code is the native library's `tx_call`: about 50 ns when
the arguments are as they should be (`call.c` says when), and `SlowCall` in Python when they are
not. See `native.h` for the layout that `_pack` writes.
"""

from __future__ import annotations

import ctypes
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator
from functools import lru_cache
from keyword import iskeyword
from struct import pack
from typing import Any

import numpy as np

from texpr.runtime.call import numpy_api, value_checks
from texpr.runtime.call.native_callbacks import take_error
from texpr.runtime.call.slow_path import SlowCall
from texpr.runtime.call.spec import CallSpec, DistinctCheck, Form, RangeCheck
from texpr.runtime.native import native_library
from texpr.support.errors import ResourceError
from texpr.support.frozen_dataclass import replace

FASTCALL, _KEYWORDS, NO_ARGUMENTS = 0x0080, 0x0002, 0x0004
_OUT = sys.intern("out")
_MOST_ARGUMENTS = 4096  # the native code keeps slots on the stack


class _MethodDef(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def make_callable(
    entry: int,
    spec: CallSpec,
    keep: object = None,
    otherwise: Callable[..., object] | None = None,
    form: Form | None = None,
) -> Callable[..., Any]:
    """A Python function that runs the kernel at address `entry` on NumPy arrays.

    It takes the inputs by position or name, and outputs after the inputs or as `out=`; it returns
    the output, or a named tuple of several. Outputs that are not given are allocated.

    Args:
        entry: `i32 entry(ptr slots)`; a slot of 8 bytes per argument (its address) and per size. 0
            is success, 1 interrupted (it is run again unless a signal handler raises), 2 out of
            memory.
        keep: kept alive as long as the function, such as the `Loaded` that owns the code.
        otherwise: called with the same arguments when they are not exactly what the kernel takes,
            in place of the conversions and complaints of `SlowCall`: a dispatcher puts itself here.
            It is left out where there is no fast path.
        form: of the calls that native code takes; unless given, all inputs by position or name, and
            numbers of any kind.
    Raises:
        CallError: when called, if arguments do not fit.
        ResourceError: when called, if memory runs out.
        KeyboardInterrupt: when called, and the user presses Ctrl-C.
    """
    spec = _normal(spec)
    # Making a class takes longer than all else here.
    wrap = (
        result_type(spec.name, tuple(argument.name for argument in spec.outputs))
        if len(spec.outputs) > 1
        else None
    )
    failed = Failed(spec.name)
    slow: Callable[..., object] = SlowCall(spec, lambda: make_runner(entry, spec, keep), wrap and wrap._make)
    slow = otherwise or slow
    if not _is_plain(spec) or not numpy_api.layouts_are_known():
        return slow
    form = form or Form(len(spec.inputs), True, (), ("any",) * len(spec.inputs))
    words = _pack(entry, spec, form, failed=failed, slow=slow, wrap=wrap)
    # What a dispatcher calls nobody looks at.
    text = "" if otherwise is not None else _documentation(spec)
    return builtin(
        "tx_call", FASTCALL | _KEYWORDS, spec.name, text, words, (failed, slow, wrap, spec, form, keep)
    )


def make_function(
    entry: int,
    front: int,
    spec: CallSpec,
    failed: Callable[[], object],
    otherwise: Callable[..., object],
    keep: object = None,
) -> Callable[..., Any]:
    """As `make_callable`, with another end for what does not go as usual.

    Args:
        entry: finds `front` in front of its slots: it may serve many functions.
        failed: called when it could not finish, to raise.
        otherwise: called with arguments that are not exactly what it takes. It is left out where
            there is no fast path.
    Returns:
        a function that takes the inputs by position, as arrays, and returns a new array for the
        output, a tuple where there are several.
    """
    spec = _normal(spec)
    if not _is_plain(spec) or not numpy_api.layouts_are_known():
        return otherwise
    wrap = tuple if len(spec.outputs) > 1 else None
    words = _pack(entry, spec, None, failed=failed, slow=otherwise, wrap=wrap, front=front)
    return builtin("tx_call", FASTCALL | _KEYWORDS, spec.name, "", words, (failed, otherwise, spec, keep))


def make_runner(
    entry: int, spec: CallSpec, keep: object = None, failed: Callable[[], object] | None = None
) -> Callable[..., Any]:
    """A function that runs the kernel on arrays as they are: all of them, in order, then an int64
    array of the sizes.

    Nothing is checked: arrays must be C-contiguous, of the right dtypes and extents. It waits,
    fails and reacts to Ctrl-C as what `make_callable` makes does.

    Args:
        failed: called when the kernel could not finish, to raise; `ResourceError` unless given.
    """
    failed = failed or Failed(spec.name)
    return builtin(
        "tx_run", FASTCALL, f"{spec.name}.run", "", _pack(entry, spec, None, failed=failed), (failed, keep)
    )


def make_address_runner(entry: int, spec: CallSpec, keep: object = None) -> Callable[..., None]:
    """A function that runs the kernel on memory of others: it takes the addresses of all
    arguments, in order, as integers, and gives nothing.

    Nothing is checked: the memory must be C-contiguous, of the right dtypes and extents, aligned to
    its elements, and stay while the kernel runs. Sizes are constants of the kernel.
    """
    assert not spec.sizes, "sizes are constants of the kernel"
    failed = Failed(spec.name)
    words = _pack(entry, spec, None, failed=failed)
    return builtin("tx_run_at", FASTCALL, f"{spec.name}.run_at", "", words, (failed, keep))


def make_address_function(entry: int, spec: CallSpec, keep: object = None) -> Callable[..., Any] | None:
    """A function that takes the addresses of inputs alone, as `make_address_runner` does, and gives
    a new array, a tuple of several outputs; None where native code does not know how arrays are
    laid out.
    """
    assert not spec.sizes, "sizes are constants of the kernel"
    spec = _normal(spec)
    if not _is_plain(spec) or not numpy_api.layouts_are_known():
        return None
    failed, wrap = Failed(spec.name), tuple if len(spec.outputs) > 1 else None
    words = _pack(entry, spec, None, failed=failed, slow=failed, wrap=wrap)
    return builtin("tx_call_at", FASTCALL, f"{spec.name}.call_at", "", words, (failed, wrap, spec, keep))


def _normal(spec: CallSpec) -> CallSpec:
    """The same with NumPy's own dtype objects, which arrays usually have, and names as Python has
    them where it calls: the native code compares addresses."""
    arguments = tuple(
        replace(argument, name=sys.intern(argument.name), dtype=np.dtype(argument.dtype.type))
        for argument in spec.arguments
    )
    assert arguments == tuple(sorted(arguments, key=lambda argument: argument.output)), (
        "inputs come before outputs"
    )
    assert spec.outputs, "a kernel has outputs"
    return CallSpec(spec.name, arguments, spec.sizes, spec.checks, spec.duration, spec.short_up_to)


def _is_plain(spec: CallSpec) -> bool:
    """True if the native code understands every extent and every check."""
    extents = [extent for argument in spec.arguments for extent in argument.shape]
    known = [check for check in spec.checks if isinstance(check, RangeCheck | DistinctCheck)]
    extents += [
        word
        for check in known
        for word in ((check.lo, check.hi) if isinstance(check, RangeCheck) else (check.row,))
    ]
    kinds = [_short(spec.inputs[check.position].dtype) in value_checks.DTYPES for check in known]
    return (
        len(spec.arguments) <= _MOST_ARGUMENTS
        and len(known) == len(spec.checks)
        and all(kinds)
        and all(
            isinstance(extent, int) or (isinstance(extent, str) and extent in spec.sizes)
            for extent in extents
        )
    )


def _short(dtype: np.dtype) -> str:
    """`i32` for int32."""
    return f"{dtype.kind}{8 * dtype.itemsize}"


class Failed:
    """Raises what a kernel's result code means."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self) -> None:
        error = take_error()
        if error is not None:
            raise error
        raise ResourceError(f"{self.name} ran out of memory for its intermediate arrays")


@lru_cache(maxsize=512)
def result_type(name: str, outputs: tuple[str, ...]) -> type:
    """The named tuple of several outputs."""
    return namedtuple(
        name if name.isidentifier() and not iskeyword(name) else "outputs", outputs, rename=True
    )  # noqa: PYI024


def _pack(
    entry: int,
    spec: CallSpec,
    form: Form | None,
    failed: object,
    slow: object = None,
    wrap: object = None,
    front: int = 0,
) -> bytes:
    """The words of a specification; without a form, arrays by position. Whoever uses them keeps
    the objects alive.
    """
    inputs = len(spec.inputs)
    words = [
        entry,
        inputs,
        len(spec.outputs),
        len(spec.sizes),
        ("interruptible", "short", "trivial").index(spec.duration),
    ]
    words += [_address(slow), id(_OUT) if form else 0, _address(wrap), id(failed), id(np.ndarray)]
    words += [
        numpy_api.new_from_descr(),
        numpy_api.set_handler(),
        id(numpy_api.handler()),
        len(spec.checks),
        spec.short_up_to,
        front,
    ]
    words += (
        [form.positional, len(spec.arguments) if form.complete else -1, len(form.constants)]
        if form
        else [inputs, -1, 0]
    )
    sizes = [size if isinstance(size, int) else -1 for size in spec.sizes]
    behind = [*_check_words(spec), *sizes, *_argument_words(spec, form)] if slow is not None else []
    words += [
        len(words) + 3 + len(behind),
        ctypes.addressof(numpy_api.kinds()),
        numpy_api.new_copy(),
        *behind,
        *_name_words(spec, form),
    ]
    return pack(f"{len(words)}q", *words)


def _check_words(spec: CallSpec) -> Iterator[int]:
    for check in spec.checks:
        assert isinstance(check, RangeCheck | DistinctCheck)
        dtype = spec.inputs[check.position].dtype
        if isinstance(check, DistinctCheck):
            function, words = value_checks.distinct_check(_short(dtype)), (check.row, 0)
        else:  # large unsigned values look negative to the native code
            lo = max(check.lo, 0) if isinstance(check.lo, int) and dtype.kind == "u" else check.lo
            function, words = value_checks.range_check(_short(dtype)), (lo, check.hi)
        yield from (check.position, function)
        for bound in words:
            yield from (0, spec.sizes.index(bound)) if isinstance(bound, str) else (int(bound), -1)  # type: ignore[arg-type]


def _argument_words(spec: CallSpec, form: Form | None) -> Iterator[int]:
    numbers = form.numbers if form else ()
    for k, argument in enumerate(spec.arguments):
        allowed = _NUMBERS[numbers[k]] if k < len(numbers) and not argument.shape else None
        yield from (
            id(argument.dtype),
            argument.dtype.itemsize,
            len(argument.shape),
            _number_word(argument.dtype, allowed),
        )
        for extent in argument.shape:
            yield extent if isinstance(extent, int) else -1 - spec.sizes.index(str(extent))


_NUMBERS = {"any": 16 + 32, "python": 16, "own": 0}


def _number_word(dtype: np.dtype, allowed: int | None) -> int:
    """Word for `numbers.c`: the numbers it may take for an array of rank 0 of this dtype."""
    if allowed is None or dtype.type not in numpy_api.KINDS:
        return 0
    return 1 + numpy_api.KINDS.index(dtype.type) + allowed


def _name_words(spec: CallSpec, form: Form | None) -> Iterator[int]:
    """Addresses of names, for `keywords.c`: interned strings, as Python has them where arguments
    are given by name.
    """
    if form is None:
        return
    for argument in spec.inputs:
        yield 0 if argument.name == _OUT else id(argument.name)
    for name, value in form.constants:
        yield from (id(name), id(value))


def _address(value: object) -> int:
    return 0 if value is None else id(value)


def builtin(
    symbol: str | int, flags: int, name: str, doc: str, words: bytes, alive: tuple
) -> Callable[..., Any]:
    """A built-in function with native code. Its `self` keeps alive all that the code refers to, the
    method table entry included.

    Args:
        symbol: of the native library, or an address.
        flags: how Python calls it, as `PyMethodDef` has them.
        words: what its code finds at the beginning of `self`.
    """
    address = symbol if isinstance(symbol, int) else native_library.symbols()[symbol]
    definition = _MethodDef(name.encode(), address, flags, doc.encode() or None)
    owner = (words, definition, *alive)
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype, create.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return create(ctypes.addressof(definition), owner, None)


def _documentation(spec: CallSpec) -> str:
    """With the signature in front, in the form that `inspect` reads from built-in functions."""
    names = [argument.name for argument in spec.inputs if argument.name.isidentifier()]
    return f"{spec.name}({', '.join(names + ['*', 'out=None'])})\n--\n\n{spec}"
