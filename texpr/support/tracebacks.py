"""Tracebacks that end where the user's code is.

A public function leaves by this pattern, which costs nothing where nothing fails:

    try:
        ...
    except Exception as error:
        hide_frames(error)
        raise

A bare `raise` takes the traceback that the error has, and adds no entry for the frame that it stands
in. So a function that hides its own entry and those below it is not seen by its caller.

What texpr says on purpose loses the frames of the package; those of the user's functions, which the
package called, stay. A failure that nobody foresaw keeps all frames and asks for a report.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from opcode import opname
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

from texpr.support.errors import Error
from texpr.support.warn import PACKAGE

F = TypeVar("F", bound=Callable[..., Any])
REPORT = (
    "texpr did not foresee this failure. If the arguments are as the documentation says, please report "
    "it, with this traceback and the output of `python -m texpr doctor`."
)
_USES = frozenset({"islpy", "lark", "llvmlite", "numpy", "onnx", "safetensors"}) | (
    sys.stdlib_module_names - {"__main__"}
)
"""Libraries that the package calls: what fails in them below its frames fails in the package."""
_FORESEEN = (OSError, Warning, StopIteration, StopAsyncIteration, MemoryError)
"""Errors of the system, and ends of loops: no faults of texpr, whoever raised them."""
_MARK = "_texpr_meant"
_forwarding: set[CodeType] = set()
_chosen: list[Callable[[], str]] = [lambda: os.environ.get("TEXPR_TRACEBACK", "")]
"""Functions that say `short` or `full`; the last one counts: that of the options, once imported."""


def follow(chosen: Callable[[], str]) -> None:
    """Let the options choose: they stand above this module."""
    _chosen.append(chosen)


def forwards(function: F) -> F:
    """Mark a function that hands a user's arguments on, or calls what the user gave: a call that does
    not fit is the user's mistake, and so is what fails in another library that is called there.
    """
    codes = [function.__code__]  # type: ignore[attr-defined]
    while codes:
        _forwarding.add(code := codes.pop())
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]  # comprehensions, lambdas
    return function


def boundary(function: F) -> F:
    """Let a function's errors end at its caller. It costs a call of Python: for functions that take
    microseconds.
    """

    @forwards
    @wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except Exception as error:
            hide_frames(error)
            raise

    return called  # type: ignore[return-value]


def hide_frames(error: BaseException) -> None:
    """Take the frames of the package out of an error's traceback, and of what it was raised from. To
    be called where the error is caught, before `raise`.
    """
    if _shows_all():
        return
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        entries = _entries(each.__traceback__)
        if entries and _is_meant(each, entries):
            mark(each)
            each.__traceback__ = _chain([e for e in entries if not _of_package(e.tb_frame)])
        elif entries and each is error:
            _ask_for_report(each, entries)
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)


def hide_own_frame(error: BaseException) -> None:
    """The same where the error is raised in the frame that catches it: without a look at frames. Its
    class is marked.
    """
    if not _shows_all():
        error.__traceback__ = None


def _shows_all() -> bool:
    try:
        return _chosen[-1]() == "full"
    except Error:  # the option itself is wrong, and says so
        return False


def _entries(trace: TracebackType | None) -> list[TracebackType]:
    found = []
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def _chain(entries: list[TracebackType]) -> TracebackType | None:
    """New entries: others may hold the old ones."""
    made: TracebackType | None = None
    for entry in reversed(entries):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


def _of_package(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(PACKAGE)


def _is_meant(error: BaseException, entries: list[TracebackType]) -> bool:
    """True if the message says all: texpr raised it on purpose, or the user's own code did."""
    if isinstance(error, Error) or hasattr(error, _MARK):
        return True
    last = next((k for k in reversed(range(len(entries))) if _of_package(entries[k].tb_frame)), None)
    if last is None or isinstance(error, AssertionError) and last == len(entries) - 1:
        return False
    if isinstance(error, _FORESEEN):
        return True
    hands_on = entries[last].tb_frame.f_code in _forwarding
    if last < len(entries) - 1:
        return hands_on or not _is_used(entries[last + 1].tb_frame)
    return hands_on and isinstance(error, TypeError) or _is_raised(entries[last])


def _is_raised(entry: TracebackType) -> bool:
    """True if a `raise` of the package raised it, and not an operation that failed."""
    return opname[entry.tb_frame.f_code.co_code[entry.tb_lasti]] == "RAISE_VARARGS"


def _is_used(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in _USES


def mark(error: BaseException | type[BaseException]) -> None:
    """Remember that an error, or each of a class, is raised on purpose: frames that are gone do not say
    who raised it.
    """
    if not isinstance(error, Error):
        try:
            setattr(error, _MARK, True)
        except AttributeError:  # a class with slots of its own
            pass


def _ask_for_report(error: BaseException, entries: list[TracebackType]) -> None:
    """Say whose fault it is, once, where the error comes from the package or from below it."""
    inner = entries[-1].tb_frame
    if (_of_package(inner) or _is_used(inner)) and REPORT not in getattr(error, "__notes__", ()):
        error.add_note(REPORT)
