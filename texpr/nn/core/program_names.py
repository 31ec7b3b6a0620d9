"""Names of a program's inputs and outputs, for files that say them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from texpr.nn.core.module import Module


def input_names(model: Callable[..., Any], count: int, valid: Callable[[str], bool] = bool) -> list[str]:
    """Names of the inputs of a program: the parameters of `forward` or of the function.

    A module that was read from a file has `forward(*inputs)`, and keeps the names of its file.

    Args:
        count: how many there are.
        valid: True if a format allows the name.
    Returns:
        as many names, or fewer if the program takes fewer.
    """
    own = _of_file(model, ("inputs", "arguments"), valid)
    if len(own) >= count:
        return own[:count]
    names: list[str] = []
    for p in _parameters(model):
        several = p.kind == p.VAR_POSITIONAL
        names += [f"{p.name}{k}" for k in range(count - len(names))] if several else [p.name]
    return names[:count]


def output_names(model: Callable[..., Any], count: int, valid: Callable[[str], bool] = bool) -> list[str]:
    """Names of the outputs that a module has from its file; none for other programs."""
    own = _of_file(model, ("outputs",), valid)
    return own if len(own) == count else []


def _of_file(
    model: Callable[..., Any], attributes: tuple[str, ...], valid: Callable[[str], bool]
) -> list[str]:
    if not isinstance(model, Module) or all(p.kind != p.VAR_POSITIONAL for p in _parameters(model)):
        return []
    taken = {name for name, _ in (*model.named_parameters(), *model.named_buffers())}
    for names in (getattr(model, a, None) for a in attributes):
        if isinstance(names, tuple) and all(
            isinstance(n, str) and valid(n) and n not in taken for n in names
        ):
            return list(names)
    return []


def _parameters(model: Callable[..., Any]) -> list[inspect.Parameter]:
    function = model.forward if isinstance(model, Module) else model
    return list(inspect.signature(function).parameters.values())
