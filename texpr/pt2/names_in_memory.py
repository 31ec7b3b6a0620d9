"""Names of a program that share memory in PyTorch: what a write into one of them changes.

Values here are never changed in place. A write gives the whole tensor a new value; a part of it is
taken again when it is next read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from texpr.pt2.converters_of_aten import WRITERS, Converter
from texpr.pt2.program_text import Graph, Name, Node
from texpr.support.errors import CheckpointError
from texpr.support.frozen_dataclass import frozen

Convert = Callable[[Node, Graph, dict[str, Any]], Sequence[Any]]


@frozen
class View:
    """A name whose tensor lies in the memory of another.

    Attributes:
        parent: the name of that one.
        node: what makes the part of the parent.
        place: of its outputs, which.
        same: it is the parent under another name.
        sure: PyTorch never copies here; otherwise it may.
    """

    parent: str
    node: Node
    place: int
    same: bool
    sure: bool


class Memory:
    """The names of a graph by the memory that they lie in.

    Args:
        names: the values of all names; `refresh` and `write` change them.
        convert: gives the outputs of a node again.
    """

    def __init__(self, graph: Graph, names: dict[str, Any], convert: Convert) -> None:
        self._graph, self._names, self._convert = graph, names, convert
        self._views: dict[str, View] = {}
        self._families: dict[str, list[str]] = {}
        self._written: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self._writes = 0
        self.last_read: dict[str, int] = {}
        for k, node in enumerate(graph.nodes):
            self.last_read |= {n: k for n in names_in([a for _, a in node.arguments])}
        self.last_read |= dict.fromkeys(names_in(graph.outputs), len(graph.nodes))

    def share(self, name: str, first: str, node: Node, place: int, converter: Converter) -> None:
        """Note that an output lies in the memory of the first argument, if it does."""
        types = self._graph.types
        view = converter.shares(types.get(first), types.get(name), dict(node.arguments))
        if view == "same":
            self.alias(name, first, node)
        elif view != "no":
            self._add(name, View(first, node, place, False, view != "maybe"))

    def alias(self, name: str, first: str, node: Node) -> None:
        """Note that a name is another one for the tensor of the first argument."""
        self._add(name, View(self._whole(first), node, 0, True, True))

    def _add(self, name: str, view: View) -> None:
        self._views[name], self._seen[name] = view, self._writes
        self._families.setdefault(self.root(name), []).append(name)

    def root(self, name: str, sure: bool = False) -> str:
        """The name of the whole that a name lies in.

        Args:
            sure: no further than PyTorch certainly shares memory.
        """
        while (view := self._views.get(name)) is not None and (view.sure or not sure):
            name = view.parent
        return name

    def refresh(self, name: str) -> None:
        """Let a name have the value that its memory has now."""
        written, old = self._written.get(self.root(name, True), 0), []
        while (view := self._views.get(name)) is not None and view.sure and self._seen[name] < written:
            old.append((name, view))
            name = view.parent
        for n, view in reversed(old):
            self._seen[n] = self._writes
            self._names[n] = (
                self._names[view.parent]
                if view.same
                else self._convert(view.node, self._graph, self._names)[view.place]
            )

    def unfollowed(self, name: str, k: int, kept: Iterable[str]) -> str | None:
        """A name that a write into `name` at node k would change, if it is read after that or is kept
        after the program, and cannot be followed there; None where all can.
        """
        root, sure, follows = self.root(name), self.root(name, True), self._follows(name)
        for n in [root, *self._families.get(root, ())]:
            later = self.last_read.get(n, -1) > k or n == root and root in kept
            followed = self.root(n, True) == sure and (follows or self._whole(n) == self._whole(name))
            if later and not followed:
                return n
        return None

    def write(self, name: str, value: Any) -> str:
        """Let a tensor have a value, and the whole that it is a part of; gives the whole's name."""
        self._writes += 1
        root, follows = self.root(name, True), self._follows(name)
        self._names[name], self._seen[name] = value, self._writes
        while (view := self._views.get(name)) is not None and view.sure and (view.same or follows):
            if not view.same:
                self.refresh(view.parent)
                value = self._put(view, value)
            name = view.parent
            self._names[name], self._seen[name] = value, self._writes
        self._written[root] = self._writes
        return name

    def _whole(self, name: str) -> str:
        """The first name of the same tensor."""
        while (view := self._views.get(name)) is not None and view.same:
            name = view.parent
        return name

    def _follows(self, name: str) -> bool:
        """True if a write into a name is a write into the whole by operators that are known."""
        while (view := self._views.get(name)) is not None and view.sure:
            if not view.same and view.node.operator.partition(".")[0] not in WRITERS:
                return False
            name = view.parent
        return True

    def _put(self, view: View, value: Any) -> Any:
        """The parent with a value in the place of a part."""
        writer = WRITERS[view.node.operator.partition(".")[0]]
        _, *others = view.node.arguments
        given = {name: value_of(v, self._names) for name, v in others}
        return writer(self._names[view.parent], value, view.place, **given)


def names_in(values: Sequence[Any]) -> list[str]:
    """The names among arguments, also in lists."""
    found: list[str] = []
    for v in values:
        if isinstance(v, Name):
            found.append(v.name)
        elif isinstance(v, list):
            found += names_in(v)
    return found


def value_of(given: Any, names: Mapping[str, Any]) -> Any:
    """An argument with the values of its names.

    Raises:
        CheckpointError: nothing gives a value to a name.
    """
    if isinstance(given, Name):
        if given.name not in names:
            raise CheckpointError(f"`{given.name}` is read before anything computes it", code="pt2")
        return names[given.name]
    return [value_of(v, names) for v in given] if isinstance(given, list) else given
