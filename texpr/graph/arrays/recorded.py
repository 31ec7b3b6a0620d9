"""Methods of tensors whose calls are the same programs whenever shapes and dtypes are the same."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from texpr.graph.arrays.argument_names import PAIRS, numpy_arguments, with_numpy_names
from texpr.support.suggest import known_arguments
from texpr.support.tracebacks import forwards, hide_frames

Method = TypeVar("Method", bound=Callable[..., Any])


def _unknown(method: Callable[..., Any], tensor: Any, *args: Any) -> Any:
    """The result of a call that was recorded before, by native code; None where it finds none."""


_found_recorded = _found_arithmetic = _unknown


def look_up_by(recorded: Callable[..., Any], arithmetic: Callable[..., Any]) -> None:
    """Ask these functions first: of a method, a tensor and the method's other arguments."""
    global _found_recorded, _found_arithmetic
    _found_recorded, _found_arithmetic = recorded, arithmetic


def recorded(method: Method) -> Method:
    """Mark a method that applies operators to its operands and looks at no value of a tensor: one
    may find the calls that it recorded before in the place of running the method.
    """
    known, name, renamed = known_arguments(method), method.__name__, numpy_arguments(method)

    @functools.wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        try:
            if not options and (found := _found_recorded(known, self, *args)) is not None:
                return found
            if options and renamed:
                if "dim" in options and "axis" not in options and name in PAIRS:
                    return self._values_and_places(name, *args, **options)
                options = with_numpy_names(name, options, renamed)
            return self.recorded_call(known, args, options)
        except Exception as error:
            hide_frames(error)
            raise

    return call  # type: ignore[return-value]


def arithmetic(method: Method) -> Method:
    """Mark such a method of two operands, that takes floats of Python whatever their values are."""

    @forwards
    @functools.wraps(method)
    def call(self: Any, other: Any) -> Any:
        try:
            found = _found_arithmetic(method, self, other)
            return self.recorded_arithmetic(method, other) if found is None else found
        except Exception as error:
            hide_frames(error)
            raise

    return call  # type: ignore[return-value]


class Recorded:
    """Base of classes with such methods: they are run."""

    __slots__ = ()
    _values_and_places: Callable[..., Any]

    def recorded_call(self, method: Callable[..., Any], args: tuple, options: dict[str, Any]) -> Any:
        """A call of a method that is `recorded`."""
        return method(self, *args, **options)

    def recorded_arithmetic(self, method: Callable[..., Any], other: Any) -> Any:
        """A call of a method that is `arithmetic`."""
        return method(self, other)


def as_recorded(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The result of a function that looks at no value of a tensor: of a first argument that is one, a
    call that was recorded before is found as that of a method is.
    """
    if not args or not isinstance(args[0], Recorded):
        return function(*args, **options)
    return again(function, args[0], args[1:], options)


def again(method: Callable[..., Any], tensor: Recorded, args: tuple[Any, ...], options: dict) -> Any:
    """The result of a method: of a call that was recorded before, if native code finds it."""
    if not options and (found := _found_recorded(method, tensor, *args)) is not None:
        return found
    return tensor.recorded_call(method, args, options)
