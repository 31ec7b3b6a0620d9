"""The nodes directly below a node, and copies of it over others: code that is written for each
class, since passes do little else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any

from texpr.ir.expr import Node
from texpr.support.frozen_dataclass import opened

GETTERS: dict[type, Callable[[Node], tuple[Node, ...]]] = {}
"""Functions that return the children of a node, for each class of nodes met so far."""
LEAVES: set[type] = set()
"""The classes, as far as they have been met, whose nodes have no children."""
_COPIES: dict[type, Callable[[Node, tuple[Node, ...]], Node]] = {}


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below, in the order of `parts`."""
    get = GETTERS.get(type(node))
    return get(node) if get is not None else _getter(type(node))(node)


def with_children(node: Node, new: tuple[Node, ...]) -> Node:
    """A copy of `node` over other children, given in the order of `children(node)`."""
    copy = _COPIES.get(type(node))
    return copy(node, new) if copy is not None else _copy(type(node))(node, new)


def _getter(kind: type[Node]) -> Callable[[Node], tuple[Node, ...]]:
    forms = _forms(kind)
    get: Callable[[Any], Any] = _parts
    if not forms:
        LEAVES.add(kind)
        get = lambda node: ()  # noqa: E731
    elif list(forms.values()) == ["many"] or len(forms) > 1 and set(forms.values()) == {"one"}:
        get = attrgetter(*forms)
    elif "perhaps" not in forms.values():
        get = _written(f"(node): return ({_items(forms)})")
    elif list(forms.values()).index("perhaps") == len(forms) - 1:
        last, _ = forms.popitem()
        get = _written(
            f"(node):\n last = node.{last}\n return ({_items(forms)}) if last is None else "
            f"({_items(forms)}last,)"
        )
    GETTERS[kind] = get
    return get


def _forms(kind: type[Node]) -> dict[str, str]:
    """Of each part: whether it is `one` node, `many`, or one that may be None."""
    declared = {f.name: str(f.type) for f in fields(kind)} if kind.parts else {}  # type: ignore[arg-type]
    return {
        name: "perhaps" if "None" in declared[name] else "many" if "tuple" in declared[name] else "one"
        for name in kind.parts
    }


def _items(forms: dict[str, str]) -> str:
    return "".join(f"*node.{name}," if form == "many" else f"node.{name}," for name, form in forms.items())


def _parts(node: Node) -> tuple[Node, ...]:
    """The general case: several parts may be None."""
    found: list[Node] = []
    for name in node.parts:
        part = getattr(node, name)
        if isinstance(part, tuple):
            found += part
        elif part is not None:
            found.append(part)
    return tuple(found)


def _copy(kind: type[Node]) -> Callable[[Node, tuple[Node, ...]], Node]:
    forms = _forms(kind)
    lines = ["(node, new):", "copy = _new(_open)", "at = 0"]
    lines += [f"copy.{f.name} = node.{f.name}" for f in fields(kind) if f.name not in forms]  # type: ignore[arg-type]
    for name, form in forms.items():
        if form == "many":
            lines += [f"end = at + len(node.{name})", f"copy.{name} = new[at:end]", "at = end"]
        elif form == "one":
            lines += [f"copy.{name} = new[at]", "at += 1"]
        else:
            lines += [
                f"if node.{name} is None: copy.{name} = None",
                "else:",
                f" copy.{name} = new[at]",
                " at += 1",
            ]
    lines += ["assert at == len(new)", "copy.__class__ = _kind", "return copy"]
    made = _COPIES[kind] = _written("\n ".join(lines), _new=object.__new__, _open=opened(kind), _kind=kind)
    return made


def _written(text: str, **known: object) -> Callable[..., Any]:
    """A function from its text."""
    exec(f"def function{text}", known)
    return known["function"]  # type: ignore[return-value]
