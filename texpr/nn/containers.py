"""Modules made of modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from texpr.nn.module import Module
from texpr.support.errors import CallError


class Sequential(Module):
    """Modules one after the other: the output of each is the input of the next. Takes modules, or one mapping of names to modules."""

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        super().__init__()
        named = modules[0] if len(modules) == 1 and isinstance(modules[0], Mapping) else {str(k): m for k, m in enumerate(modules)}
        for name, module in named.items():
            _register(self, name, module)

    def forward(self, x: Any) -> Any:
        for module in self._modules.values():
            x = module(x)
        return x

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, position: int | slice) -> Module:
        chosen = list(self._modules.items())[position]
        return Sequential(dict(chosen)) if isinstance(chosen, list) else chosen[1]

    def append(self, module: Module) -> Sequential:
        """Put a module at the end."""
        _register(self, str(len(self)), module)
        return self


class ModuleList(Module):
    """A list whose modules are registered. It has no `forward`."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> ModuleList:
        """Put a module at the end."""
        _register(self, str(len(self)), module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, position: int) -> Module:
        return list(self._modules.values())[position]


def _register(parent: Module, name: str, module: object) -> None:
    if not isinstance(module, Module):
        raise CallError(f"entry {name} of {type(parent).__name__} is a {type(module).__name__}, expected a module", code="module",
                        help="call it: nn.ReLU()" if isinstance(module, type) else "")
    setattr(parent, name, module)
