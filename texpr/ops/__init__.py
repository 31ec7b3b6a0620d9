"""The operator library: files of `library/`, in the same language and through the same door as
users' operators.

`texpr.ops.linear` is read from the file that defines it, on first use, with what it needs, and
proven when it is first called. `names()` lists what there is. `einsum` makes more.
"""

from __future__ import annotations

import re
from functools import cache

from texpr.compiler import Op
from texpr.compiler.imports import library_files
from texpr.compiler.op import load_one
from texpr.ops.lists import of_lists
from texpr.ops.summation import einsum, einsum_op
from texpr.support.elsewhere import FUNCTION
from texpr.support.suggest import UnknownName, did_you_mean
from texpr.support.tracebacks import hide_frames

__all__ = ["LISTS", "einsum", "einsum_op", "names"]
_DEFINITION = re.compile(r"^op ([A-Za-z_][A-Za-z0-9_]*)", re.MULTILINE)


@cache
def _places() -> dict[str, str]:
    """The file that defines each operator."""
    found: dict[str, str] = {}
    for file in library_files():
        for name in _DEFINITION.findall(file.read_text(encoding="utf-8")):
            assert name not in found, f"{name} is defined in {found[name]} and {file}"
            found[name] = str(file)
    return found


LISTS = ("concat", "stack")
"""Operators that take a list of tensors as well as two."""


@cache
def _listed(name: str) -> Op:
    return of_lists(_operator(name))


@cache
def _operator(name: str) -> Op:
    return load_one(_places()[name], name)


def names() -> tuple[str, ...]:
    """All operators of the library."""
    return tuple(sorted(_places()))


def __getattr__(name: str) -> Op:
    if name not in _places():
        try:
            raise UnknownName("texpr.ops", name, lambda: did_you_mean(name, [*names(), "einsum"], FUNCTION))
        except UnknownName as error:
            hide_frames(error)
            raise
    return _listed(name) if name in LISTS else _operator(name)


def __dir__() -> list[str]:
    return sorted([*names(), "einsum", "einsum_op", "names"])
