"""Modules as those parts of `nn.core` see them that `Module` itself is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class ModuleLike(Protocol):
    """The part of `nn.Module` that hooks and calls on lazy tensors use."""

    training: bool
    _recomputed: bool
    _parameters: dict[str, Any]
    _modules: dict[str, Any]

    @property
    def _hooks(self) -> Mapping[Any, Callable[..., Any]]: ...

    @property
    def _pre_hooks(self) -> Mapping[Any, Callable[..., Any]]: ...

    def __texpr_structure__(self) -> tuple:
        """A key of everything that a captured program depends on besides shapes."""
        ...

    def forward(self, *inputs: Any) -> Any:
        """Compute on symbolic tensors."""
        ...

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Compute, with the hooks around `forward`."""
        ...
