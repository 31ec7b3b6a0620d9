"""Values of a JSON document that know where they stand, so that an error can say it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from texpr.support.errors import CheckpointError, json_fault

_KINDS = {dict: "an object", list: "a list", str: "a text", int: "an integer", bool: "true or false"}


class Json:
    """A value and its place, such as `models/model.json: graph_module.graph.nodes[3].target`."""

    __slots__ = ("place", "value")

    def __init__(self, value: Any, place: str) -> None:
        self.value, self.place = value, place

    @staticmethod
    def of(text: str, place: str) -> Json:
        """A document.

        Raises:
            CheckpointError: it is not JSON, or says a name twice.
        """
        try:
            return Json(json.loads(text, object_pairs_hook=_unique), f"{place}: ")
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{place} is not valid JSON: {json_fault(error)}", code="pt2") from None

    def __getitem__(self, key: str) -> Json:
        found = self.as_(dict)
        if key not in found:
            raise self.refuse(f"`{key}` is missing")
        return Json(found[key], self._at(key))

    def get(self, key: str) -> Json | None:
        """A value that may be missing or null."""
        found = self.as_(dict).get(key)
        return None if found is None else Json(found, self._at(key))

    def __iter__(self) -> Iterator[Json]:
        return iter([Json(v, f"{self.place}[{k}]") for k, v in enumerate(self.as_(list))])

    def items(self) -> list[tuple[str, Json]]:
        """Names and values."""
        return [(k, Json(v, self._at(k))) for k, v in self.as_(dict).items()]

    def one(self) -> tuple[str, Json]:
        """The one name that is given in an object of which others may be null, and its value."""
        given = [(k, v) for k, v in self.items() if v.value is not None]
        if len(given) != 1:
            raise self.refuse(f"it has {len(given)} names, expected one")
        return given[0]

    def as_(self, kind: type) -> Any:
        """The value, which must be of a kind.

        Raises:
            CheckpointError: it is of another one.
        """
        if type(self.value) is not kind:
            raise self.refuse(f"it is {_shown(self.value)}, expected {_KINDS[kind]}")
        return self.value

    def number(self) -> float:
        """A float; JSON has no infinities, which PyTorch writes as texts."""
        if type(self.value) in (int, float):
            return self.value
        if self.value in ("Infinity", "-Infinity", "NaN"):
            return float(self.value)
        raise self.refuse(f"it is {_shown(self.value)}, expected a number")

    def refuse(self, reason: str) -> CheckpointError:
        """An error that names the place."""
        place = self.place.removesuffix(": ")
        return CheckpointError(f"{place}: {reason}", code="pt2")

    def _at(self, key: str) -> str:
        return f"{self.place}{key}" if self.place.endswith(": ") else f"{self.place}.{key}"


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 40 else f"{text[:40]}..."


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"`{next(n for n in names if names.count(n) > 1)}` comes twice")
    return found
