"""Data classes that cannot be changed. A network is compiled by way of a million of such objects,
so they are made fast; `import texpr` makes four hundred of such classes, so these are made fast
too.

`dataclass(frozen=True)` sets each field by a call of `object.__setattr__`, which is most of what an
object costs. Here an object is of a class of the same layout while its fields are set, one that
lets them be set, and of its own class from then on (`node`, `record`).

`dataclass` compiles six methods for each class, which is most of what a class costs. Here one is
compiled with the class, the others are the same for all classes, or are compiled when they are
called first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from dataclasses import replace as by_init
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def node(cls: type[C]) -> type[C]:
    """A data class whose objects are frozen, slotted and compared by identity, and made often.

    The class attribute `implied` says as text what stands for None: `{"dtype": "lhs.dtype"}`.
    """
    return _with_fast_init(_frozen(cls, eq=False))


@dataclass_transform(frozen_default=True, eq_default=True, field_specifiers=(field,))
def record(cls: type[C]) -> type[C]:
    """The same, of objects that are equal if their fields are."""
    return _with_fast_init(_frozen(cls, eq=True))


@dataclass_transform(frozen_default=True, eq_default=True, field_specifiers=(field,))
def frozen(cls: type[C]) -> type[C]:
    """A data class whose objects are frozen, slotted, and equal if their fields are:
    `dataclass(frozen=True, slots=True)`.
    """
    return _with_init(_frozen(cls, eq=True))


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def frozen_by_identity(cls: type[C]) -> type[C]:
    """The same, of objects that are compared by identity."""
    return _with_init(_frozen(cls, eq=False))


def _frozen(cls: type[C], eq: bool) -> type[C]:
    """The class with slots and all methods but `__init__`."""
    made = _with_slots(cls)
    _add(made, "__repr__", _representation)
    _add(made, "__getstate__", _state)
    _add(made, "__setstate__", _set_state)
    made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete  # type: ignore[method-assign,assignment]
    if eq:
        _add_late(made, "__eq__", _equality)
        _add_late(made, "__hash__", _hash)
    return made


def _with_slots(cls: type[C]) -> type[C]:
    """The class as `dataclass` makes it without any methods. It is told that nothing is frozen, since
    it would compile the methods that refuse changes.
    """
    parameters = [
        b.__dict__["__dataclass_params__"] for b in cls.__mro__ if "__dataclass_params__" in b.__dict__
    ]
    frozen_bases = [p for p in parameters if p.frozen]
    for p in frozen_bases:
        p.frozen = False
    try:
        made = dataclass(slots=True, eq=False, repr=False, init=False)(cls)
    finally:
        for p in frozen_bases:
            p.frozen = True
    made.__dataclass_params__.frozen = True  # type: ignore[attr-defined]
    return made


def _add(cls: type, name: str, method: Callable[..., Any]) -> None:
    """Give a class a method, unless it has its own."""
    if name not in cls.__dict__:
        setattr(cls, name, method)


@recursive_repr()
def _representation(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for f, value in zip(fields(self), state):
        object.__setattr__(self, f.name, value)


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _add_late(cls: type, name: str, source: Callable[[type], str]) -> None:
    """Give a class a method that is compiled when it is called first, unless it has its own. (A
    class that has `__eq__` alone has None as `__hash__`.)
    """

    def first_call(self: Any, *arguments: Any) -> Any:
        known: dict[str, Any] = {}
        exec(source(cls), known)
        method = known[name]
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
        return method(self, *arguments)

    if cls.__dict__.get(name) is None:
        setattr(cls, name, first_call)


def _equality(cls: type) -> str:
    names = [f.name for f in fields(cls) if f.compare]  # type: ignore[arg-type]
    sides = (_tuple(names, "self"), _tuple(names, "other"))
    return (
        f"def __eq__(self, other):\n"
        f" if self is other: return True\n"
        f" return {sides[0]} == {sides[1]} if other.__class__ is self.__class__ else NotImplemented"
    )


def _hash(cls: type) -> str:
    names = [f.name for f in fields(cls) if (f.compare if f.hash is None else f.hash)]  # type: ignore[arg-type]
    return f"def __hash__(self): return hash({_tuple(names, 'self')})"


def _tuple(names: list[str], of: str) -> str:
    return f"({''.join(f'{of}.{name},' for name in names)})"


def _with_init(cls: type[C]) -> type[C]:
    """The class with an `__init__` that sets slots one by one."""
    declared = fields(cls)  # type: ignore[arg-type]
    known: dict[str, Any] = {f"_set_{f.name}": getattr(cls, f.name).__set__ for f in declared}
    lines = []
    for f in declared:
        if f.default_factory is not MISSING:
            known[f"_make_{f.name}"] = f.default_factory
            made = f"_make_{f.name}()"
            value = f"{made} if {f.name} is _missing else {f.name}" if f.init else made
        elif f.init:
            value = f.name
        else:
            known[f"_{f.name}"], value = f.default, f"_{f.name}"
        lines += [] if f.default is MISSING and value == f"_{f.name}" else [f"_set_{f.name}(self, {value})"]
    return _compile_init(cls, declared, lines, known)


def _with_fast_init(cls: type[C]) -> type[C]:
    """The class with an `__init__` for objects that are made often."""
    declared = fields(cls)  # type: ignore[arg-type]
    for f in declared:
        assert f.init and f.default_factory is MISSING, f"{f.name}: fields are given, or have one default"
    implied: Mapping[str, str] = getattr(cls, "implied", {})
    _OPEN[cls] = _open(cls)
    if "__init__" not in cls.__dict__ and not hasattr(cls, "__post_init__"):
        _COPIED.add(cls)
    known: dict[str, Any] = {
        "_become": object.__dict__["__class__"].__set__,
        "_open": _OPEN[cls],
        "_closed": cls,
    }
    lines = ["_become(self, _open)"]
    lines += [f"if {name} is None: {name} = {text}" for name, text in implied.items()]
    lines += [f"self.{f.name} = {f.name}" for f in declared]
    return _compile_init(cls, declared, [*lines, "self.__class__ = _closed"], known)


def _compile_init(
    cls: type[C], declared: tuple[Field[Any], ...], lines: list[str], known: dict[str, Any]
) -> type[C]:
    if "__init__" in cls.__dict__:
        return cls
    lines = [f"def __init__(self, {', '.join(_parameters(declared, known))}):", *lines]
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    exec("\n ".join([*lines, "pass"]), known)
    cls.__init__ = known["__init__"]  # type: ignore[misc]
    cls.__init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return cls


def _parameters(declared: tuple[Field[Any], ...], known: dict[str, Any]) -> list[str]:
    """The parameters of `__init__` as text; what they are where they are not given is put into
    `known`.
    """
    given: list[str] = []
    by_name: list[str] = []
    known["_missing"] = MISSING
    for f in declared:
        if not f.init:
            continue
        default = ""
        if f.default is not MISSING:
            known[f"_{f.name}"], default = f.default, f"=_{f.name}"
        elif f.default_factory is not MISSING:
            default = "=_missing"
        (by_name if f.kw_only else given).append(f.name + default)
    return [*given, "*", *by_name] if by_name else given


def replace(given: C, /, **changes: Any) -> C:
    """A copy with other values of some fields, as `dataclasses.replace` makes it. Of a class whose
    objects are made often it takes a third of the time: no field goes through `__init__`.

    Raises:
        TypeError: the class has no such field.
    """
    kind = type(given)
    copy = _COPIES.get(kind)
    if copy is None:
        copy = _COPIES[kind] = _copy(kind)
    return copy(given, changes)


def _copy(kind: type[C]) -> Callable[[C, dict[str, Any]], C]:
    """The function behind `replace` for a class."""
    if kind not in _COPIED:
        return lambda given, changes: by_init(given, **changes)  # type: ignore[type-var,no-any-return]
    names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    lines = ["def copy(given, changes):"]
    if implied := getattr(kind, "implied", None):
        lines += ["if not _implied.isdisjoint(changes): return _by_init(given, **changes)"]
    lines += ["made = _new(_open)"]
    lines += [f"made.{name} = given.{name}" for name in names]
    lines += [
        "for name in changes:",
        " if name not in _names: raise TypeError(f'{_kind.__name__} has no field {name!r}')",
        " setattr(made, name, changes[name])",
        "made.__class__ = _kind",
        "return made",
    ]
    known = {
        "_new": object.__new__,
        "_open": _OPEN[kind],
        "_kind": kind,
        "_names": frozenset(names),
        "_implied": frozenset(implied or ()),
        "_by_init": by_init,
    }
    exec("\n ".join(lines), known)
    return known["copy"]  # type: ignore[return-value]


_COPIES: dict[type, Callable[[Any, dict[str, Any]], Any]] = {}
_COPIED: set[type] = set()
"""Classes whose objects are made of their fields and nothing else."""

_OPEN: dict[type, type] = {}


def opened(cls: type) -> type:
    """The class that objects of a frozen class have while their fields are set: who sets them
    gives them their own afterwards.
    """
    return _OPEN[cls]


def _open(cls: type[C]) -> type[C]:
    """A class of the same layout whose fields can be set. One that changed a method alone would
    be as slow: the two share a slot.
    """
    methods = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    return type(cls)(
        f"Open{cls.__name__}", (cls,), {"__slots__": (), "__module__": cls.__module__, **methods}
    )
