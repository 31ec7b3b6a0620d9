"""Imports that wait until something is used.

`import texpr` and a call of a kernel that is on disk need a part of the package: the compiler behind
it takes most of the time to import. A package whose names are many offers them by `offer_late`, and
who needs a module only when something is compiled names it by `late`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from texpr.support.forks import waited_for

_BLOCK = re.compile(r"^if TYPE_CHECKING:\n((?:    .*\n|\n)+)", re.MULTILINE)
_IMPORT = re.compile(r"^    from ([\w.]+) import (?:\(([^)]*)\)|([^(\n]*))", re.MULTILINE)
_NAME = re.compile(r"(\w+)(?: as (\w+))?")
_COMMENT = re.compile(r"#.*")


def offer_late(package: str) -> None:
    """Let a package import the names under its `if TYPE_CHECKING:` when one is first asked for."""
    sys.modules[package].__class__ = _Package


def late(module: str) -> Any:
    """A module that is imported when an attribute of it is first asked for. For type checkers it
    is imported as always:

        if TYPE_CHECKING:
            from texpr.compiler import pass_pipeline
        else:
            pass_pipeline = late("texpr.compiler.pass_pipeline")
    """
    waited_for(module)
    return _Module(module)


class _Module:
    """A module by its name: what is read and set is the module's own."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "_name":  # not there yet
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)

    def __setattr__(self, attribute: str, value: object) -> None:
        setattr(import_module(self._name), attribute, value)

    def __delattr__(self, attribute: str) -> None:
        delattr(import_module(self._name), attribute)

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        return late, (self._name,)

    def __repr__(self) -> str:
        return f"<late module {self._name!r}>"


class _Package(ModuleType):
    """A package whose names are imported late. Importing its module of the name of a function does
    not hide the function.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self._offered(name)
        except AttributeError as error:
            from texpr.support.tracebacks import hide_frames

            hide_frames(error)
            raise

    def _offered(self, name: str) -> Any:
        place = _places(self).get(name) if name[:2] != "__" else None
        if place is None:
            missing: Callable[[str], Any] | None = vars(self).get("__getattr__")
            if missing is not None:
                return missing(name)
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        module, attribute = place
        found = import_module(module) if not attribute else getattr(_from(module, attribute), attribute)
        vars(self)[name] = found
        return found

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and _places(self).get(name, ("", ""))[1]:
            return
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *_places(self)})


def _from(module: str, name: str) -> ModuleType:
    """A module, of which `name` may be a module that was not imported yet."""
    return __import__(module, fromlist=(name,))


def _places(package: ModuleType) -> Mapping[str, tuple[str, str]]:
    """The module of each name and what it is called there; nothing for a module itself."""
    found = vars(package).get("_late_places")
    if found is None:
        found = vars(package)["_late_places"] = _read(package)
    return found


def _read(package: ModuleType) -> dict[str, tuple[str, str]]:
    text: str | None = package.__loader__.get_source(package.__name__)  # type: ignore[union-attr]
    if text is None:
        return _compiled(package)
    found: dict[str, tuple[str, str]] = {}
    for block in _BLOCK.findall(text):
        for module, several, one in _IMPORT.findall(block):
            for name, renamed in _NAME.findall(_COMMENT.sub("", several or one)):
                itself = module == package.__name__
                found[renamed or name] = (f"{module}.{name}", "") if itself else (module, name)
    return found


def _compiled(package: ModuleType) -> dict[str, tuple[str, str]]:
    """The same of a package that is installed without its source: from all imports of its code."""
    from dis import get_instructions

    code = package.__loader__.get_code(package.__name__)  # type: ignore[union-attr]
    found: dict[str, tuple[str, str]] = {}
    module, name = "", ""
    for each in get_instructions(code):
        match each.opname:
            case "IMPORT_NAME":
                module, name = each.argval, ""
            case "IMPORT_FROM":
                name = each.argval
            case "STORE_NAME" if module and name:
                itself = module == package.__name__
                found[each.argval] = (f"{module}.{name}", "") if itself else (module, name)
                name = ""
    return found
