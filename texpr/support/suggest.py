"""Names that are not there: what was probably meant, in one way for modules, classes, operators
and arguments.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import CO_VARKEYWORDS
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from texpr.support.elsewhere import argument
from texpr.support.errors import CallError
from texpr.support.late import late
from texpr.support.spelling import nearest
from texpr.support.tracebacks import boundary, forwards, hide_frames, hide_own_frame, mark

if TYPE_CHECKING:
    import difflib
else:
    difflib = late("difflib")

_MOST_LISTED = 12
_MOST_FAMILY = 4
_ONE_LETTER = 0.85
"""Two names are as alike as if one letter were mistyped."""
_CONTAINER = frozenset({"__getitem__", "__setitem__", "__delitem__", "__len__", "__iter__"})
F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def did_you_mean(name: str, known: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> str:
    """A line of help: what another library's name is called here, else the closest known names,
    else all of few; empty for no idea.
    """
    if elsewhere is not None and name in elsewhere:
        return elsewhere[name]
    names = sorted(known)
    found = _close(name, names)
    if found:
        listed = [f"`{n}`" for n in found]
        return (
            f"did you mean {listed[0] if len(listed) == 1 else ', '.join(listed[:-1]) + ' or ' + listed[-1]}?"
        )
    return f"known are {', '.join(names)}" if 0 < len(names) <= _MOST_LISTED else ""


def _close(name: str, names: list[str]) -> list[str]:
    """The same letters; the name with another number of dimensions, or as a part of few; the
    closest.
    """
    told = _folded(name)
    same = [n for n in names if _folded(n) == told]
    family = [
        n
        for n in names
        if len(told) > 3 and _folded(n).startswith(told) and _folded(n)[len(told) :] in ("1d", "2d", "3d")
    ]
    part = [n for n in names if len(told) > 2 and _folded(n).startswith(told)]
    near = nearest(name, names)
    letter = (
        near is not None and difflib.SequenceMatcher(None, name.lower(), near.lower()).ratio() >= _ONE_LETTER
    )
    few = part if len(part) <= _MOST_FAMILY and not letter else []
    return same or family or few or ([near] if near is not None else [])


def _folded(name: str) -> str:
    return name.lower().replace("_", "")


class UnknownName(AttributeError):
    """An attribute that is not there. Its help is made when it is read: most who ask for an
    attribute only want to know.

    Args:
        help: gives the words that come after the colon; empty for none.
    """

    def __init__(self, owner: str, name: str, help: Callable[[], str]) -> None:
        super().__init__(
            owner, name, name=name
        )  # without the object: Python's own suggestion would be a second one
        self._help = help

    def __str__(self) -> str:
        owner, name = self.args
        help = "" if name.startswith("_") else self._help()
        return f"{owner} has no `{name}`{f': {help}' if help else ''}"

    def __reduce__(self) -> tuple:
        return AttributeError, (str(self),)


UnknownName.__module__, UnknownName.__qualname__ = (
    AttributeError.__module__,
    AttributeError.__qualname__,
)  # what tracebacks call it
mark(UnknownName)


def suggest_names(module: str, elsewhere: Mapping[str, str] | None = None) -> None:
    """Let a module say what is meant by names that it does not have. Type checkers do not see
    it: for them such names are mistakes.
    """

    @boundary
    def __getattr__(name: str) -> NoReturn:
        raise UnknownName(module, name, lambda: did_you_mean(name, _public(module), elsewhere))

    vars(sys.modules[module]).setdefault("__getattr__", __getattr__)


def _public(module: str) -> list[str]:
    """The names that a module offers."""
    found = sys.modules[module]
    return list(getattr(found, "__all__", None) or _names_of(found))


def _names_of(owner: object) -> list[str]:
    return [n for n in dir(owner) if not n.startswith("_")]


def suggests(elsewhere: Mapping[str, str]) -> Callable[[C], C]:
    """Let a class say what is meant by attributes and arguments that it does not have; of an
    attribute that fails by itself, such as a property, its own failure is given. Type checkers do
    not see it.
    """

    def __getattr__(self: object, name: str) -> Any:
        kind = type(self)
        if name[:2] != "__" and hasattr(kind, name):
            try:
                return object.__getattribute__(self, name)
            except Exception as error:
                hide_frames(error)
                raise
        try:
            raise UnknownName(kind.__name__, name, lambda: did_you_mean(name, _names_of(self), elsewhere))
        except UnknownName as error:  # often: NumPy asks for its protocols in each conversion
            hide_own_frame(error)
            raise

    def changed(kind: C) -> C:
        know_arguments(kind)
        kind.__getattr__ = __getattr__  # type: ignore[attr-defined]
        return kind

    return changed


def know_arguments(kind: C) -> C:
    """Let the methods of a class refuse arguments that they do not have, with their signature."""
    for name, method in list(vars(kind).items()):
        if isinstance(method, FunctionType) and (name == "__init__" or _is_public(name)):
            setattr(kind, name, known_arguments(method))
    return kind


class KnowsArguments:
    """Base of classes whose subclasses refuse arguments of `__init__` that they do not have."""

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = cls.__module__.partition(".")[0] == __name__.partition(".")[0]
        for name, method in list(vars(cls).items()):
            if name == "__init__" or own and isinstance(method, FunctionType) and _is_public(name):
                setattr(cls, name, known_arguments(method))


def _is_public(name: str) -> bool:
    return name[0] != "_" or name in _CONTAINER


def known_arguments(function: F) -> F:
    """Refuse arguments by name that a function does not have, with the one that was meant. Its
    errors end at its caller (`texpr.support.tracebacks`).
    """
    code = getattr(
        function, "__code__", None
    )  # inspect.signature takes twenty times as long, and modules have hundreds of functions
    if code is None or hasattr(function, "__wrapped__"):
        return function
    if code.co_flags & CO_VARKEYWORDS:
        return boundary(function)
    known = frozenset(
        code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    ) - {"self"}

    @forwards
    @wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            if named and not named.keys() <= known:
                owner = type(arguments[0]).__name__ if function.__name__ == "__init__" else function.__name__
                raise unknown_argument(owner, next(n for n in named if n not in known), known)
            try:
                return function(*arguments, **named)
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise  # of what the function does, not of its call
                # A class that derives its constructor, such as Conv2d, is called by its own name.
                derived = arguments and getattr(type(arguments[0]), "__init__", None) is called
                owner = type(arguments[0]).__name__ if derived else ""
                raise wrong_arguments(function, error, owner) from None
        except Exception as error:
            hide_frames(error)
            raise

    return called  # type: ignore[return-value]


def wrong_arguments(function: Callable[..., Any], error: TypeError, owner: str = "") -> CallError:
    """The error of a call with too many or too few arguments, from Python's own: with the signature.

    Args:
        owner: the class that was called, where it is not that of the function.
    """
    from inspect import Parameter, signature

    full = signature(function)
    own = "self" in full.parameters
    kept = [p.replace(annotation=Parameter.empty) for n, p in full.parameters.items() if n != "self"]
    within = full.replace(parameters=kept, return_annotation=Parameter.empty)
    parts = function.__qualname__.split(".")
    name = owner or (parts[-2] if parts[-1] == "__init__" else parts[-1])
    said = str(error).partition("() ")[2] or str(error)
    if own:  # Python counts the object that the method is of
        said = _COUNTED.sub(lambda m: _NUMBER.sub(lambda n: str(int(n[0]) - 1), m[0]), said)
    said = said if said.startswith("takes") else f"is called without what it needs: {said}"
    return CallError(f"{name} {said}", code="arguments", help=f"it is {name}{within}")


_COUNTED = re.compile(r"takes (?:from )?\d+(?: to \d+)? positional arguments? but \d+")
_NUMBER = re.compile(r"\d+")


def unknown_argument(owner: str, name: str, known: frozenset[str]) -> CallError:
    """The error of an argument by a name that a function does not have."""
    return CallError(
        f"{owner} has no argument `{name}`",
        code="arguments",
        help=did_you_mean(name, known, argument(name, known)),
    )
