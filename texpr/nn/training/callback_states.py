"""States of callbacks in files: arrays beside what JSON has, tuples and keys of other kinds as
they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from texpr.support.errors import CallError

_ARRAY, _TUPLE, _PAIRS = "$array", "$tuple", "$pairs"


def packed(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """A state as JSON has it; its arrays are added to `arrays`, under `name` and their places.

    Raises:
        CallError: a value that is neither a number, a text, an array nor a container of such.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        if all(type(k) is str and not k.startswith("$") for k in value):
            return {k: packed(v, f"{name}.{k}", arrays) for k, v in value.items()}
        return {
            _PAIRS: [[packed(k, name, arrays), packed(v, f"{name}.{k}", arrays)] for k, v in value.items()]
        }
    if isinstance(value, list | tuple):
        found = [packed(v, f"{name}.{k}", arrays) for k, v in enumerate(value)]
        return {_TUPLE: found} if isinstance(value, tuple) else found
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        arrays[name] = np.asarray(value)
        return {_ARRAY: name}
    raise CallError(
        f"`{name}` of a training is a {type(value).__name__}, which no file holds",
        code="checkpoint",
        help="a callback's state_dict has numbers, texts, arrays, and lists, tuples and dicts of them",
    )


def unpacked(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The state that `packed` was given.

    Raises:
        KeyError: an array is missing.
        TypeError, ValueError: it is no such state.
    """
    if isinstance(value, list):
        return [unpacked(v, arrays) for v in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {_ARRAY}:
        return arrays[value[_ARRAY]].copy()
    if set(value) == {_TUPLE}:
        return tuple(unpacked(v, arrays) for v in value[_TUPLE])
    if set(value) == {_PAIRS}:
        return {unpacked(k, arrays): unpacked(v, arrays) for k, v in value[_PAIRS]}
    return {k: unpacked(v, arrays) for k, v in value.items()}
