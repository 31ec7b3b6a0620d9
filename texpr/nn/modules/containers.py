"""Modules made of modules and parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, Self, TypeVar, overload

from texpr.graph import Variable
from texpr.nn.core.module import Module
from texpr.nn.core.parameter import Parameter
from texpr.support.errors import CallError

Entry = TypeVar("Entry", Module, Parameter)


class _Container(Module, Generic[Entry]):
    """Entries of one kind, under their names."""

    kind: type[Entry]

    @property
    def _entries(self) -> dict[str, Entry]:
        return self._modules if self.kind is Module else self._parameters  # type: ignore[return-value]

    def _register(self, name: str, entry: object) -> None:
        if self.kind is Parameter and not isinstance(entry, Variable | Module | type):
            entry = Parameter(entry, name=name)
        if not isinstance(entry, self.kind):
            raise CallError(
                f"entry {name} of {type(self).__name__} is a {type(entry).__name__}, expected a "
                f"{self.kind.__name__.lower()}",
                code="module",
                help="call it: nn.ReLU()" if isinstance(entry, type) else "",
            )
        if hasattr(type(self), name):
            raise CallError(
                f"{type(self).__name__} cannot have an entry {name!r}, which is one of its methods",
                code="module",
            )
        setattr(self, name, entry)

    def __len__(self) -> int:
        return len(self._entries)


class _List(_Container[Entry]):
    """Entries in an order, named by their positions."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__()
        self.extend(values)

    def append(self, entry: Entry) -> Self:
        """Put an entry at the end."""
        self._register(str(len(self)), entry)
        return self

    def extend(self, entries: Iterable[Entry]) -> Self:
        """Put entries at the end."""
        for entry in entries:
            self.append(entry)
        return self

    def insert(self, index: int, entry: Entry) -> None:
        """Put an entry before position `index`; those behind it move on."""
        entries = list(self)
        entries.insert(index, entry)
        self._renumber(entries)

    def _renumber(self, entries: list[Entry]) -> None:
        for name in list(self._entries):
            delattr(self, name)
        self.extend(entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._entries.values()))

    @overload
    def __getitem__(self, position: int) -> Entry: ...
    @overload
    def __getitem__(self, position: slice) -> Self: ...
    def __getitem__(self, position: int | slice) -> Entry | Self:
        chosen = list(self._entries.values())[position]
        return type(self)(chosen) if isinstance(chosen, list) else chosen  # type: ignore[return-value]

    def __setitem__(self, position: int, entry: Entry) -> None:
        self._register(list(self._entries)[position], entry)

    def __delitem__(self, position: int | slice) -> None:
        entries = list(self)
        del entries[position]
        self._renumber(entries)


class _Dict(_Container[Entry]):
    """Entries by name."""

    def __init__(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__()
        self.update(values)

    def update(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Take entries by name."""
        for name, entry in dict(values).items():
            self._register(name, entry)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._entries.keys()

    def values(self) -> Iterable[Entry]:
        """The entries."""
        return self._entries.values()

    def items(self) -> Iterable[tuple[str, Entry]]:
        """Names and entries."""
        return self._entries.items()

    def pop(self, key: str) -> Entry:
        """Take an entry out."""
        found = self._entries[key]
        delattr(self, key)
        return found

    def __getitem__(self, key: str) -> Entry:
        return self._entries[key]

    def __setitem__(self, key: str, entry: Entry) -> None:
        self._register(key, entry)

    def __delitem__(self, key: str) -> None:
        delattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._entries))

    def __contains__(self, key: object) -> bool:
        return key in self._entries


def _with_parameters(container: _Container[Parameter]) -> str:
    """A container of parameters as text, a line for each."""
    lines = [f"  ({name}): {p.dtype}{list(p.shape)}\n" for name, p in container._entries.items()]
    return f"{type(container).__name__}({chr(10) if lines else ''}{''.join(lines)})"


class ModuleList(_List[Module]):
    """List whose modules are registered. It has no `forward`.

    Raises:
        CallError: an entry is no module.
    Example:
        >>> layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(4))
        >>> len(layers), len(list(layers.parameters()))
        (4, 8)
    """

    kind = Module


class ParameterList(_List[Parameter]):
    """List whose parameters are registered; arrays become parameters.

    Raises:
        CallError: an entry is neither a parameter nor an array.
    Example:
        >>> len(nn.ParameterList([np.zeros(3), np.zeros(4)]))
        2
    """

    kind = Parameter

    def __repr__(self) -> str:
        return _with_parameters(self)


class ModuleDict(_Dict[Module]):
    """Dict whose modules are registered. It has no `forward`.

    Raises:
        CallError: an entry is no module, or has the name of a method.
    Example:
        >>> heads = nn.ModuleDict({"a": nn.Linear(3, 1), "b": nn.Linear(3, 2)})
        >>> sorted(heads.keys())
        ['a', 'b']
    """

    kind = Module


class ParameterDict(_Dict[Parameter]):
    """Dict whose parameters are registered; arrays become parameters.

    Raises:
        CallError: an entry is neither a parameter nor an array, or has the name of a method.
    Example:
        >>> nn.ParameterDict({"scale": np.ones(3)})["scale"].shape
        (3,)
    """

    kind = Parameter

    def __repr__(self) -> str:
        return _with_parameters(self)


class Sequential(_List[Module]):
    """Modules one after the other: the output of each is the input of the next.

    Args:
        modules: modules, or one mapping of names to modules.
    Shapes:
        input: as the first module takes it
        output: as the last module gives it
    Raises:
        CallError: an entry is no module.
    Example:
        >>> model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        >>> model(tx.ones(8, 3)).shape
        (8, 2)
    """

    kind = Module

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        super().__init__()
        named = (
            modules[0]
            if len(modules) == 1 and isinstance(modules[0], Mapping)
            else {str(k): m for k, m in enumerate(modules)}
        )
        for name, module in named.items():
            self._register(name, module)

    def forward(self, x: Any) -> Any:
        for module in self:
            x = module(x)
        return x

    def __getitem__(self, position: int | slice) -> Any:
        chosen = list(self._modules.items())[position]
        return Sequential(dict(chosen)) if isinstance(chosen, list) else chosen[1]
