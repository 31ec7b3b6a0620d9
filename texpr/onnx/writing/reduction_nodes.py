"""Reductions and sums of products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from string import ascii_letters

import numpy as np

from texpr.ir.dtypes import BOOL, I32, I64, U64, DType
from texpr.ir.expr import Reduce
from texpr.ir.interpreter.arithmetic import compute_dtype, identity
from texpr.onnx.writing.graph import Graph, Inexpressible, Value, known
from texpr.onnx.writing.scalar_nodes import Scalars
from texpr.support.frozen_dataclass import frozen

_OPS = {
    "sum": "ReduceSum",
    "prod": "ReduceProd",
    "max": "ReduceMax",
    "min": "ReduceMin",
    "any": "ReduceMax",
    "all": "ReduceMin",
}


@frozen
class Reducer:
    """Reduces axes at the end of the instances, or any."""

    graph: Graph
    scalars: Scalars

    def over(self, op: str, x: Value, axes: Sequence[int]) -> Value:
        """One of `sum prod max min any all`; the axes are gone afterwards."""
        shape = tuple(n for a, n in enumerate(x.shape) if a not in axes)
        if op in ("any", "all"):
            return self.graph.cast(
                self.over("max" if op == "any" else "min", self.graph.cast(x, I32), axes), BOOL
            )
        if all(x.shape[a] == 1 for a in axes):
            return self.graph.reshape(x, shape)
        if (wide := _wide(x.dtype, op)) != x.dtype:
            return self.graph.cast(self.over(op, self.graph.cast(x, wide), axes), x.dtype)
        return self.graph.add(_OPS[op], [x, self.graph.integers(*axes)], shape, x.dtype, keepdims=0)

    def masked(self, op: str, x: Value, mask: Value) -> Value:
        """The operand with the identity of the reduction where the mask is false."""
        kind = "min" if op == "argmin" else "max" if op == "argmax" else op
        nothing = known(np.array(identity(kind, x.dtype), compute_dtype(x.dtype)), x.dtype)
        return self.scalars.choose(mask, x, nothing)

    def product(
        self, factors: Sequence[Value], over: Sequence[int], extents: Sequence[int], t: DType
    ) -> Value:
        """The sum of products of tensors, of which each has some of the axes."""
        rank = len(extents)
        if rank > len(ascii_letters):
            raise Inexpressible("more axes than Einsum has letters")
        terms, given = [], []
        for f in factors:
            axes = [a for a, n in enumerate(f.shape) if n != 1]
            terms.append("".join(ascii_letters[a] for a in axes))
            given.append(self.graph.cast(self.graph.reshape(f, [f.shape[a] for a in axes]), t))
        seen = {c for term in terms for c in term}
        repeated = prod(extents[a] for a in over if ascii_letters[a] not in seen)
        kept = [a for a in range(rank) if a not in over]
        result = [a for a in kept if ascii_letters[a] in seen]
        equation = f"{','.join(terms)}->{''.join(ascii_letters[a] for a in result)}"
        found = self.graph.add("Einsum", given, [extents[a] for a in result], t, equation=equation)
        found = self.graph.reshape(found, [extents[a] if a in result else 1 for a in kept])
        return (
            found if repeated == 1 else self.scalars.apply("Mul", found, self.scalars.number(repeated, found))
        )

    def place(
        self,
        e: Reduce,
        x: Value,
        mask: Value | None,
        over: Sequence[int],
        extents: Sequence[int],
        first: Sequence[int],
    ) -> Value:
        """Place of the largest or smallest element: the index of one of the axes."""
        x = x if mask is None else self.masked(e.op, x, mask)
        x = self.graph.expand(x, [extents[a] if a in over else n for a, n in enumerate(x.shape)])
        kept, counts = x.shape[: -len(over)], [extents[a] for a in over]
        rows = self.graph.reshape(self.graph.cast(x, _wide(x.dtype, e.op)), (*kept, prod(counts)))
        found = self.graph.add(
            "ArgMax" if e.op == "argmax" else "ArgMin", [rows], kept, I64, axis=len(kept), keepdims=0
        )
        behind = prod(counts[e.which + 1 :])
        if behind > 1:
            found = self.scalars.apply("Div", found, self.scalars.number(behind, found))
        if e.which:
            found = self.scalars.apply("Mod", found, self.scalars.number(counts[e.which], found))
        return (
            self.scalars.apply("Add", found, self.scalars.number(first[e.which], found))
            if first[e.which]
            else found
        )


def _wide(t: DType, op: str) -> DType:
    """The type in which integers are reduced: ONNX and its runtimes reduce few others. Sums and
    products wrap in either.
    """
    if not t.is_int or t == U64 and op not in ("sum", "prod"):
        return t
    return I32 if t.bits < 32 else t if t.is_signed else I64
