"""The origin of a model's programs as a digest: everything that they are converted from, but for the
values of parameters and buffers, which they read when they run.

A program that is on disk under it needs no conversion (`graph.execution.plan_records`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from texpr.graph import Variable
from texpr.graph.execution.compile import Settings
from texpr.graph.execution.plan_records import Origin, key_of
from texpr.nn.core.pytree import Skeleton
from texpr.onnx.narrow_types import Narrow
from texpr.onnx.onnx_package import library
from texpr.onnx.text_values import Texts
from texpr.onnx.values import Known, NeedsValue, Nothing
from texpr.runtime import disk_cache
from texpr.support.version import digest

MOST_BYTES = 1 << 26
"""Of a graph or a constant: what is larger takes longer to look through than to convert."""


class Unsaid(Exception):
    """Something of an origin has no text, or is very large."""


def of_model(proto: Any, declared: Iterable[str], constants: Mapping[str, Any]) -> str:
    """A digest of a model's graph and constants.

    Args:
        proto: the onnx.ModelProto without the values of initializers.
        declared: texts of the inputs.
        constants: values of initializers that are no variables, by name.
    Raises:
        Unsaid: a constant is very large.
    """
    graph = proto.SerializeToString(deterministic=True)
    values = (part for name, value in constants.items() for part in (name.encode(), *_bytes_of(value)))
    return _digest((library().__version__.encode(), graph, repr(list(declared)).encode(), *values))


def of_variables(variables: Mapping[str, Variable]) -> str:
    """A digest of names, kinds, dtypes and shapes."""
    lines = (f"{n!r} {v.name!r} {type(v).__name__} {v.dtype} {v.shape}" for n, v in variables.items())
    return _digest([line.encode("utf-8", "surrogatepass") for line in lines])


def of_arguments(specs: Sequence[object], places: Sequence[int], nesting: Skeleton) -> str:
    """A digest of how a model is called.

    Args:
        specs: shapes and dtypes of arrays, and `places` which of them each argument is.
    Raises:
        Unsaid: an argument is something else than an array, a number or None.
    """
    shapes = repr([(tuple(map(int, shape)), str(dtype)) for shape, dtype in specs])  # type: ignore[misc]
    said = [f"{shapes} {tuple(places)} {nesting.tree}".encode("utf-8", "surrogatepass")]
    for plain in nesting.values:
        said += [b"tensor"] if plain is None else [plain.text.encode(), *_bytes_of(plain.value)]
    return _digest(said)


def keep_need(origin: Origin, need: NeedsValue) -> None:
    """Keep that there is no program without some values: nodes are converted to find that out."""
    key = key_of("need", origin.key, Settings.of(None, None, None))
    if key:
        said = [need.inputs, need.parameters, need.what, need.notes]
        disk_cache.shared().put(key, json.dumps(said).encode())


def raise_known_need(origin: Origin) -> None:
    """Raise what was kept.

    Raises:
        NeedsValue: there is no program without some values.
    """
    key = key_of("need", origin.key, Settings.of(None, None, None))
    found = disk_cache.shared().get(key) if key else None
    if found is not None:
        need = _read_need(found)
        if need is not None:
            raise need


def _read_need(found: bytes) -> NeedsValue | None:
    try:
        match json.loads(found):
            case [list(inputs), list(parameters), str(what), list(notes)] if all(
                isinstance(text, str) for text in (*inputs, *parameters, *notes)
            ):
                need = NeedsValue(inputs, parameters, what)
                need.notes = tuple(notes)
                return need
    except ValueError:
        pass
    return None


def _digest(parts: Iterable[bytes]) -> str:
    """A digest of parts.

    Raises:
        Unsaid: a part is very large.
    """
    found = list(parts)
    if any(len(part) > MOST_BYTES for part in found):
        raise Unsaid
    return digest(found)


def _bytes_of(value: Any) -> Iterator[bytes]:
    """A constant as bytes that no other one has."""
    match value:
        case Known():
            yield f"{value.dtype} {value.array.dtype.str} {value.shape}".encode()
            yield value.array.tobytes() if value.array.nbytes <= MOST_BYTES else bytes(MOST_BYTES + 1)
        case Narrow():
            yield str(value.dtype).encode()
            yield from _bytes_of(value.tensor)
        case Texts():
            yield repr((value.shape, value.array.ravel().tolist())).encode("utf-8", "surrogatepass")
        case Nothing():
            yield f"nothing {value.dtype}".encode()
        case None | bool() | int() | float() | str():
            yield f"{type(value).__name__} {value!r}".encode("utf-8", "surrogatepass")
        case _:
            raise Unsaid
