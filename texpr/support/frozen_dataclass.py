"""Data classes that cannot be changed. A network is compiled by way of a million of such objects,
so they are made fast.

`dataclass(frozen=True)` sets each field by a call of `object.__setattr__`, which is most of what an
object costs. Here an object is of a class of the same layout while its fields are set, one that
lets them be set, and of its own class from then on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

C = TypeVar("C")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def node(cls: type[C]) -> type[C]:
    """A data class whose objects are frozen, slotted and compared by identity.

    The class attribute `implied` says as text what stands for None: `{"dtype": "lhs.dtype"}`.
    """
    return _with_init(dataclass(frozen=True, slots=True, eq=False, init=False)(cls))


@dataclass_transform(frozen_default=True, eq_default=True, field_specifiers=(field,))
def record(cls: type[C]) -> type[C]:
    """The same, of objects that are equal if their fields are."""
    return _with_init(dataclass(frozen=True, slots=True, init=False)(cls))


def _with_init(cls: type[C]) -> type[C]:
    declared = fields(cls)  # type: ignore[arg-type]
    implied: Mapping[str, str] = getattr(cls, "implied", {})
    _OPEN[cls] = _open(cls)
    known: dict[str, Any] = {
        "_become": object.__dict__["__class__"].__set__,
        "_open": _OPEN[cls],
        "_closed": cls,
    }
    lines = [f"def __init__(self, {', '.join(_parameters(declared, known))}):", "_become(self, _open)"]
    lines += [f"if {name} is None: {name} = {text}" for name, text in implied.items()]
    lines += [f"self.{f.name} = {f.name}" for f in declared]
    lines += [
        "self.__class__ = _closed",
        *(["self.__post_init__()"] if hasattr(cls, "__post_init__") else []),
    ]
    exec("\n ".join(lines), known)
    cls.__init__ = known["__init__"]  # type: ignore[misc]
    cls.__init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return cls


def _parameters(declared: tuple[Field[Any], ...], known: dict[str, Any]) -> list[str]:
    """The parameters of `__init__` as text; what they are where they are not given is put into
    `known`.
    """
    given: list[str] = []
    by_name: list[str] = []
    for f in declared:
        assert f.init and f.default_factory is MISSING, f"{f.name}: fields are given, or have one default"
        if f.default is not MISSING:
            known[f"_{f.name}"] = f.default
        (by_name if f.kw_only else given).append(f.name if f.default is MISSING else f"{f.name}=_{f.name}")
    return [*given, "*", *by_name] if by_name else given


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
