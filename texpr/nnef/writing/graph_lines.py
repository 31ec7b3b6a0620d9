"""The lines of a graph while it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, count
from math import prod
from typing import Any

import numpy as np

from texpr.ir.dtypes import BOOL, DType
from texpr.support.frozen_dataclass import frozen


class Inexpressible(Exception):
    """A part of a program that NNEF has no operations for."""


@frozen
class Named:
    """A tensor of a graph, or a number where `name` is its text.

    Attributes:
        number: its value, where it stands in the text.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    number: float | None = None

    @property
    def size(self) -> int:
        return prod(self.shape)


def kind_of(t: DType) -> str:
    """NNEF's word for a dtype."""
    return "scalar" if t.is_float else "logical" if t == BOOL else "integer"


def text_of(value: Any) -> str:
    """A value as NNEF writes it."""
    match value:
        case Named():
            return value.name
        case bool():
            return "true" if value else "false"
        case str():
            return f"'{value}'"
        case float():
            return _float(value)
        case list():
            return f"[{', '.join(map(text_of, value))}]"
        case tuple():
            return f"({', '.join(map(text_of, value))})"
    return str(int(value))


def _float(value: float) -> str:
    if not np.isfinite(value):
        raise Inexpressible(f"the number {value}")
    text = repr(float(value))
    return text if any(c in text for c in ".e") else text + ".0"


class GraphLines:
    """A graph that grows.

    Attributes:
        lines: of its body.
        variables: arrays by their labels.
    """

    def __init__(self, taken: Sequence[str]) -> None:
        self.lines: list[str] = []
        self.variables: dict[str, np.ndarray] = {}
        self._names = set(taken)

    def name(self, wish: str) -> str:
        """A name that is free."""
        base = re.sub(r"\W", "_", wish, flags=re.ASCII)
        base = base if re.match(r"[A-Za-z_]", base) else f"v_{base}"
        found = next(n for n in chain([base], (f"{base}_{k}" for k in count(2))) if n not in self._names)
        self._names.add(found)
        return found

    def add(
        self, op: str, given: Sequence[Any], shape: Sequence[int], dtype: DType, /, **attributes: Any
    ) -> Named:
        """A line of an operation."""
        found = Named(self.name(f"{op.partition('<')[0]}_{len(self.lines)}"), tuple(shape), dtype)
        inside = [*map(text_of, given), *(f"{k} = {text_of(v)}" for k, v in attributes.items())]
        self.lines.append(f"{found.name} = {op}({', '.join(inside)});")
        return found

    def variable(self, label: str, array: np.ndarray, dtype: DType) -> Named:
        """A line of a variable, whose values go into a file."""
        found = Named(self.name(label), array.shape, dtype)
        shape = text_of(list(array.shape))
        self.lines.append(f"{found.name} = variable<{kind_of(dtype)}>(shape = {shape}, label = '{label}');")
        self.variables[label] = array
        return found

    def number(self, value: float, dtype: DType) -> Named:
        """A number that stands in the text."""
        text = text_of(float(value) if dtype.is_float else bool(value) if dtype == BOOL else int(value))
        return Named(text, (), dtype, float(value))

    def reshape(self, x: Named, shape: Sequence[int]) -> Named:
        """The same elements in another shape."""
        if x.shape == tuple(shape) or x.number is not None:
            return x
        return self.add("reshape", [x], shape, x.dtype, shape=list(shape))

    def transpose(self, x: Named, order: Sequence[int]) -> Named:
        """Axes in another order."""
        if list(order) == sorted(order):
            return x
        return self.add("transpose", [x], [x.shape[a] for a in order], x.dtype, axes=list(order))

    def output(self, x: Named, name: str) -> None:
        """A line that gives a result its name; NNEF has no variables or numbers as outputs."""
        self.lines.append(f"{name} = copy({x.name});")
