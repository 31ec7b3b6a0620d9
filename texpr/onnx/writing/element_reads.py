"""Elements of tensors at places that are known or computed, as slices, reshapes, transpositions
and gathers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from texpr.ir.dtypes import BOOL, I64
from texpr.ir.interpreter.evaluate import place
from texpr.onnx.writing.graph import Graph, Value, known
from texpr.onnx.writing.scalar_nodes import Scalars
from texpr.support.frozen_dataclass import frozen

LAST = -(1 << 63)
"""An end of a slice that lies before every element."""


@frozen
class Reader:
    """Reads tensors for every instance of an equation: results have an axis for each of its index
    variables, of extent 1 where they do not depend on it.
    """

    graph: Graph
    scalars: Scalars

    def read(self, x: Value, indices: Sequence[Value], mode: str, outside: Value | None) -> Value:
        """Elements of x.

        Args:
            indices: one per axis of x, each a tensor of integers over the instances.
            mode: what happens outside of x: empty where it cannot be, else that of the guard.
            outside: what such a read gives, with mode `value`.
        """
        rank = max((len(i.shape) for i in indices), default=0)
        if all(i.array is not None for i in indices):
            found, beyond = self._known(x, [i.array for i in indices], mode, rank)  # type: ignore[misc]
            missing = known(beyond, BOOL) if mode == "value" and beyond.any() else None
        else:
            found, missing = self._computed(x, indices, mode, rank)
        return found if missing is None or outside is None else self.scalars.choose(missing, outside, found)

    def _known(self, x: Value, indices: list[np.ndarray], mode: str, rank: int) -> tuple[Value, np.ndarray]:
        each = [place([i], (n,), mode) for i, n in zip(indices, x.shape)]
        places = [p[0] for p, _ in each]
        beyond = np.zeros((1,) * rank, bool)
        for _, far in each:
            if not far.any():  # it has no say in the extents: they may be of named dimensions
                continue
            beyond = beyond | far.reshape((1,) * (rank - far.ndim) + far.shape)
        axes = [_axes(p) for p in places]
        if len({a for found in axes for a in found}) < sum(
            map(len, axes)
        ):  # one variable in two places: a diagonal, a division
            strides = [prod(x.shape[k + 1 :]) for k in range(len(x.shape))]
            whole = sum(p * s for p, s in zip(places, strides))
            x, places = self.graph.reshape(x, (x.size,)), [np.asarray(whole)]
            axes = [_axes(places[0])]
        for k, p in enumerate(places):
            x = self._along(x, k, p.ravel())
        return self._spread(
            x, [[(a, p.shape[a]) for a in found] for p, found in zip(places, axes)], rank
        ), beyond

    def _along(self, x: Value, k: int, places: np.ndarray) -> Value:
        """These elements of axis k."""
        n, count = x.shape[k], len(places)
        if count == n and np.array_equal(places, np.arange(n)):
            return x
        shape = [*x.shape[:k], count, *x.shape[k + 1 :]]
        step = int(places[1] - places[0]) if count > 1 else 1
        if count and step and np.array_equal(places, places[0] + step * np.arange(count)):
            start, end = int(places[0]), int(places[-1]) + (1 if step > 0 else -1)
            if step < 0:
                start, end = start - n, (end - n if end >= 0 else LAST)
            numbers = [
                self.graph.integers(v)
                for v in (start, end if end != n or step < 0 else (1 << 63) - 1, k, step)
            ]
            return self.graph.add("Slice", [x, *numbers], shape, x.dtype)
        return self.graph.add("Gather", [x, known(places.astype(np.int64), I64)], shape, x.dtype, axis=k)

    def _spread(self, x: Value, axes: Sequence[Sequence[tuple[int, int]]], rank: int) -> Value:
        """Each axis of x as the axes of the instances that it stands for, in their order."""
        split = [pair for found in axes for pair in found]
        x = self.graph.reshape(x, [n for _, n in split])
        order = sorted(range(len(split)), key=lambda j: split[j][0])
        x = self.graph.transpose(x, order)
        extents = dict(split)
        return self.graph.reshape(x, [extents.get(a, 1) for a in range(rank)])

    def _computed(
        self, x: Value, indices: Sequence[Value], mode: str, rank: int
    ) -> tuple[Value, Value | None]:
        folded, missing = list(indices), None
        if mode:
            for k, (i, n) in enumerate(zip(indices, x.shape)):
                folded[k], far = self.inside(i, n, mode)
                if far is not None:
                    missing = far if missing is None else self.scalars.apply("Or", missing, far, dtype=BOOL)
        dynamic = [k for k, i in enumerate(folded) if i.array is None]
        axes = [[a for a, n in enumerate(i.shape) if n != 1] for i in folded]
        alone = len({a for found in axes for a in found}) == sum(map(len, axes))
        if len(dynamic) == 1 and alone:
            for k, i in enumerate(folded):
                if i.array is not None:
                    x = self._along(x, k, i.array.ravel())
            k = dynamic[0]
            idx = self.graph.reshape(folded[k], [folded[k].shape[a] for a in axes[k]])
            x = self.graph.add(
                "Gather", [x, idx], [*x.shape[:k], *idx.shape, *x.shape[k + 1 :]], x.dtype, axis=k
            )
            pairs = [[(a, i.shape[a]) for a in found] for i, found in zip(folded, axes)]
            return self._spread(x, pairs, rank), missing
        shape = np.broadcast_shapes(*(i.shape for i in folded))
        parts = [self.graph.reshape(self.graph.expand(i, shape), (*shape, 1)) for i in folded]
        where = (
            self.graph.add("Concat", parts, (*shape, len(parts)), I64, axis=len(shape))
            if len(parts) > 1
            else parts[0]
        )
        return self.graph.add("GatherND", [x, where], shape, x.dtype), missing

    def inside(self, i: Value, n: int, mode: str) -> tuple[Value, Value | None]:
        """An index brought back into 0..n, and where it was not."""
        if i.array is not None:
            (found,), far = place([i.array], (n,), mode)
            return known(found.reshape(i.shape), I64), known(
                far.reshape(i.shape), BOOL
            ) if far.any() else None
        s = self.scalars
        lowest, highest = s.number(0, i), s.number(n - 1, i)
        far = s.apply(
            "Or",
            s.apply("Less", i, lowest, dtype=BOOL),
            s.apply("Greater", i, highest, dtype=BOOL),
            dtype=BOOL,
        )
        if mode == "wrap":
            i = s.apply("Mod", i, s.number(n, i))
        elif mode == "reflect":
            i = s.apply("Sub", highest, s.apply("Abs", s.apply("Sub", highest, s.apply("Abs", i))))
        return s.apply("Max", s.apply("Min", i, highest), lowest), far


def _axes(places: np.ndarray) -> list[int]:
    """The axes of the instances that places depend on."""
    return [a for a, n in enumerate(places.shape) if n != 1]
