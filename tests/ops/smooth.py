"""The cases of the operator library at inputs where they are smooth: what derivatives are tried
with.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

import texpr as tx
from tests.ops import (
    elementwise_cases,
    image_cases,
    layer_cases,
    length_cases,
    linear_cases,
    movement_cases,
    network_cases,
    optimize_cases,
    sequence_cases,
)
from tests.ops.table import Array
from texpr import ops

MODULES = (
    elementwise_cases,
    image_cases,
    layer_cases,
    linear_cases,
    movement_cases,
    network_cases,
    optimize_cases,
    sequence_cases,
    length_cases,
)
CASES = tuple(case for module in MODULES for case in module.CASES)
WITHOUT = {
    "floor",
    "ceil",
    "trunc",
    "round",
    "sign",
    "full_like",
    "histogram_float",
    "bernoulli",
    "uniform_like",
    "normal_like",
    "to_f32",
    "embedding_padded",
    "embedding_limited",
    "embedding_by_frequency",
}
"""Floats come in, and what comes out does not change with them, is f32, or has a derivative of
its own.
"""
ONCE = {"digamma", "lstm_projected"}
"""The derivative is trigamma, which has none; or the second one is that of another operator,
`lstm`, and takes seconds.
"""


@dataclass(frozen=True)
class Smooth:
    """One call of an operator in f64, by the names of its inputs."""

    name: str
    inputs: Mapping[str, Array]
    constants: Mapping[str, object]

    @property
    def operator(self) -> tx.Op:
        return getattr(ops, self.name)

    @cached_property
    def outputs(self) -> tuple[Array, ...]:
        return as_tuple(tx.interpret(self.operator, **self.inputs, **self.constants))

    @cached_property
    def cotangents(self) -> dict[str, Array]:
        """Of the float outputs, by the names that the gradient has for them."""
        return dict(
            zip(_seeds(tx.grad(self.operator), self.operator), self._random(self.floats, 1), strict=True)
        )

    @property
    def floats(self) -> list[Array]:
        """The float outputs."""
        return [y for y in self.outputs if y.dtype.kind == "f"]

    @property
    def has_floats(self) -> bool:
        """True if an output is of floats, by the types that the operator says."""
        signature = self.operator.signature
        kinds = {p.dtype: self.inputs[p.name].dtype.kind for p in signature.inputs if p.name in self.inputs}
        return any(kinds.get(p.dtype, p.dtype[0]) == "f" for p in signature.outputs)

    @cached_property
    def tangents(self) -> list[Array]:
        """Of the float inputs, in their order."""
        return self._random([x for x in self.inputs.values() if x.dtype.kind == "f"], 2)

    def derivatives(self) -> dict[str, list[Array]]:
        """Outputs y, gradients g = J^T u, cotangents v of g, and h: the gradient of v . g in the
        inputs and in u.
        """
        gradient = tx.grad(self.operator)
        first = as_tuple(tx.interpret(gradient, **self.inputs, **self.cotangents, **self.constants))
        if self.name in ONCE:
            return {"y": self.floats, "g": list(first), "v": self.tangents}
        second, v = self.second
        found = as_tuple(tx.interpret(second, **self.inputs, **self.cotangents, **v, **self.constants))
        return {"y": self.floats, "g": list(first), "v": self.tangents, "h": list(found)}

    @cached_property
    def second(self) -> tuple[tx.Op, dict[str, Array]]:
        """The gradient of the gradient, and cotangents of the gradient's outputs, by the names
        that it has for them.
        """
        gradient = tx.grad(self.operator)
        second, given = tx.grad(gradient), {f"d{name}" for name in self.inputs}
        seeds = [
            s
            for s, p in zip(_seeds(second, gradient), gradient.signature.outputs)
            if p.name.rstrip("_") in given
        ]
        return second, dict(zip(seeds, self.tangents, strict=True))

    def _random(self, like: list[Array], seed: int) -> list[Array]:
        random = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        return [np.asarray(random.standard_normal(a.shape)) for a in like]


def _seeds(derived: tx.Op, base: tx.Op) -> list[str]:
    """The inputs that a gradient has besides those of its operator."""
    return [p.name for p in derived.signature.inputs[len(base.signature.inputs) :]]


def as_tuple(value: object) -> tuple[Array, ...]:
    return tuple(np.asarray(v) for v in (value if isinstance(value, tuple) else (value,)))


@cache
def smooth_cases() -> tuple[Smooth, ...]:
    """Every case of every operator that has a derivative. Nothing is computed: all files of tests
    that go through the library ask for it when they are read, in each process.
    """
    return tuple(_smooth_cases())


def first_smooth_cases() -> dict[str, Smooth]:
    """The first of each operator."""
    return {case.name: case for case in reversed(smooth_cases())}


def _smooth_cases() -> Iterator[Smooth]:
    for case in CASES:
        if case.name in WITHOUT or case.dtypes[0] not in ("f4", "f8"):
            continue
        arrays = case.arrays("f8")
        names = [p.name for p in getattr(ops, case.name).signature.inputs]
        if any(a.dtype.kind == "f" for a in arrays) and all(_finite(a) for a in arrays):
            smooth = Smooth(
                case.name, dict(zip(names, map(_moved, arrays, range(len(arrays))))), case.constants
            )
            if smooth.has_floats:
                yield smooth


def _finite(a: Array) -> bool:
    return a.dtype.kind != "f" or bool(np.isfinite(a).all())


def _moved(a: Array, seed: int) -> Array:
    """Whole numbers are moved away from each other and from kinks."""
    if a.dtype.kind != "f":
        return a
    moved = a + np.asarray(np.random.default_rng(seed).uniform(0.1, 0.4, a.shape))
    return np.where(a == np.round(a), moved, a)
