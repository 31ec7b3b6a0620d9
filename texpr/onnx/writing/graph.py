"""A graph of ONNX while it is written."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from texpr.ir.dtypes import I64, DType, small, stored
from texpr.onnx.element_types import TO_ONNX
from texpr.onnx.onnx_package import library
from texpr.onnx.validation import check_types
from texpr.onnx.values import Known
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen, replace

OLDEST_WRITTEN = 21
"""The version of ONNX's operators since which GroupNormalization has a weight for each channel."""


@frozen
class Value:
    """A tensor of the graph.

    Attributes:
        name: in the graph; empty for one whose elements are known and which no node has taken yet.
        array: its elements where they are known; what NumPy lacks as f32.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    array: np.ndarray | None = None

    @property
    def size(self) -> int:
        return prod(self.shape)


@frozen
class Written:
    """A node.

    Attributes:
        shapes: of its outputs.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def uses(self) -> set[str]:
        """Names of what it reads, its body too."""
        found = set(filter(None, self.inputs))  # those that are there
        for a in self.attributes.values():
            if isinstance(a, Body):
                found |= a.uses
        return found

    @property
    def unshaped(self) -> Written:
        """The same for tensors of any extents."""
        inner = {k: a.unshaped for k, a in self.attributes.items() if isinstance(a, Body)}
        return replace(self, attributes={**self.attributes, **inner}, shapes=())

    def renamed(self, old: str, new: str) -> Written:
        """With another name for a tensor."""

        def named(names: Sequence[str]) -> tuple[str, ...]:
            return tuple(new if n == old else n for n in names)

        inner = {k: a.renamed(old, new) for k, a in self.attributes.items() if isinstance(a, Body)}
        return replace(
            self,
            inputs=named(self.inputs),
            outputs=named(self.outputs),
            attributes={**self.attributes, **inner},
        )


@frozen
class Body:
    """The graph that a loop runs. It may read the names of the graph around it, where its constants
    are, too.

    Attributes:
        inputs, outputs: name, shape and dtype of each.
    """

    nodes: tuple[Written, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]

    @property
    def uses(self) -> set[str]:
        """Names that its nodes read; its own are among them."""
        return set().union(*(n.uses for n in self.nodes))

    @property
    def unshaped(self) -> Body:
        """The same for tensors of any extents."""
        inputs, outputs = (tuple(replace(v, shape=()) for v in w) for w in (self.inputs, self.outputs))
        return Body(tuple(n.unshaped for n in self.nodes), inputs, outputs)

    def renamed(self, old: str, new: str) -> Body:
        """With another name for a tensor of the graph around it."""
        return replace(self, nodes=tuple(n.renamed(old, new) for n in self.nodes))


class Inexpressible(CallError):
    """A part of a program that ONNX has no operators for."""

    def __init__(self, what: str) -> None:
        super().__init__(what, code="onnx")


def known(array: np.ndarray, dtype: DType) -> Value:
    """A tensor whose elements are known."""
    return Value("", array.shape, dtype, array)


class Graph:
    """Nodes and initializers in the order in which they were added; names are made by counting, so
    equal programs get equal graphs.

    Attributes:
        initializers: by name: parameters, buffers, constants.
        variables: names of initializers that are parameters and buffers.
        sizes: names of initializers that are lists of extents, which may depend on named
            dimensions.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.nodes: list[Written] = []
        self.initializers: dict[str, Known] = {}
        self.variables: set[str] = set()
        self.sizes: set[str] = set()
        self._used = set(names)
        self._constants: dict[tuple, str] = {}
        self._reshaped: dict[str, Value] = {}
        self._renamed: dict[str, str] = {}

    def inside(self) -> Graph:
        """A graph that a node of this one runs: its own nodes, and the constants of this one."""
        found = Graph(())
        found.initializers, found.variables, found.sizes = self.initializers, self.variables, self.sizes
        found._used, found._constants = self._used, self._constants
        found._reshaped = dict(self._reshaped)
        return found

    def body(self, inputs: Sequence[Value], results: Sequence[Value]) -> Body:
        """The nodes that were added, as the body of a node; only those that the results need are kept."""
        outputs = []
        for r in results:
            name = self.reference(r)
            own = any(name in n.outputs for n in self.nodes) and name not in [o.name for o in outputs]
            if not own:
                name = self.name("same")
                self.nodes.append(Written("Identity", (self.reference(r),), (name,), {}, (r.shape,)))
            outputs.append(replace(r, name=name, array=None))
        nodes, _ = _needed(self.nodes, {o.name for o in outputs})
        return Body(tuple(nodes), tuple(inputs), tuple(outputs))

    def name(self, wish: str) -> str:
        """A name that nothing has yet."""
        k, name = 0, wish
        while name in self._used:
            k += 1
            name = f"{wish}_{k}"
        self._used.add(name)
        return name

    def add(
        self, op: str, inputs: Sequence[Value | None], shape: Sequence[int], dtype: DType, **attributes: Any
    ) -> Value:
        """A node with one output."""
        return self.several(op, inputs, [(shape, dtype)], **attributes)[0]

    def several(
        self,
        op: str,
        inputs: Sequence[Value | None],
        results: Sequence[tuple[Sequence[int], DType] | None],
        **attributes: Any,
    ) -> list[Value]:
        """A node with these shapes and dtypes of its outputs. Absent inputs and outputs are None; the
        outputs that are there are returned.

        Raises:
            Inexpressible: ONNX does not define the operator for these element types.
        """
        try:
            check_types(library().defs.get_schema(op, OLDEST_WRITTEN), inputs)
        except CallError as error:
            raise Inexpressible(
                f"{op} of {', '.join(dict.fromkeys(v.dtype.name for v in inputs if v is not None))}"
            ) from error
        names = ["" if v is None else self.reference(v) for v in inputs]
        while names and not names[-1]:
            names.pop()
        outputs = [None if r is None else Value(self.name(op.lower()), tuple(r[0]), r[1]) for r in results]
        self.nodes.append(
            Written(
                op,
                tuple(names),
                tuple("" if v is None else v.name for v in outputs),
                attributes,
                tuple(() if v is None else v.shape for v in outputs),
            )
        )
        return [v for v in outputs if v is not None]

    def reference(self, value: Value) -> str:
        """The name of a value; one whose elements are known becomes an initializer."""
        if value.name:
            return value.name
        assert value.array is not None
        stored = np.ascontiguousarray(value.array).reshape(value.shape)
        key = (value.dtype, stored.shape, stored.tobytes())
        if key not in self._constants:
            self._constants[key] = self.name("constant")
            self.initializers[self._constants[key]] = numbers(stored, value.dtype)
        return self._constants[key]

    def extents(self, shape: Sequence[int]) -> Value:
        """A list of extents as an input of a node; each has its own initializer, since they may
        depend on named dimensions.
        """
        name = self.name("extents")
        self.sizes.add(name)
        self.initializers[name] = Known(np.array(shape, np.int64), I64)
        return Value(name, (len(shape),), I64)

    def integers(self, *values: int) -> Value:
        """A list of integers that depend on no extent."""
        return known(np.array(values, np.int64), I64)

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """Another shape for the same elements."""
        x = self._reshaped.get(x.name, x) if x.name else x
        if tuple(shape) == x.shape:
            return x
        if x.array is not None:
            return known(np.asarray(x.array).reshape(shape), x.dtype)
        exact = {"allowzero": 1} if 0 in shape else {}  # else 0 stands for the extent that was there
        found = self.add("Reshape", [x, self.extents(shape)], shape, x.dtype, **exact)
        self._reshaped[found.name] = x
        return found

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        """Axis k of the result is axis `order[k]`."""
        if list(order) == list(range(len(order))):
            return x
        shape = [x.shape[k] for k in order]
        moved = [k for k in order if x.shape[k] != 1]
        if moved == sorted(moved):
            return self.reshape(x, shape)
        if x.array is not None:
            return known(np.transpose(x.array, order), x.dtype)
        return self.add("Transpose", [x], shape, x.dtype, perm=list(order))

    def expand(self, x: Value, shape: Sequence[int]) -> Value:
        """Axes of extent 1 repeated."""
        if tuple(shape) == x.shape:
            return x
        return self.add("Expand", [x, self.extents(shape)], shape, x.dtype)

    def output(self, x: Value, name: str) -> Value:
        """A value under the name of an output: the node that computes it gets it, unless it has
        one already.
        """
        source = self.reference(x)
        if source not in self._renamed and any(source in n.outputs for n in self.nodes):
            self._renamed[source] = name
            self.nodes = [n.renamed(source, name) for n in self.nodes]
        else:
            self.nodes.append(
                Written("Identity", (self._renamed.get(source, source),), (name,), {}, (x.shape,))
            )
        return replace(x, name=name, array=None)

    def prune(self, results: Sequence[str]) -> None:
        """Drop nodes and initializers that no result needs."""
        self.nodes, wanted = _needed(self.nodes, set(results))
        self.initializers = {name: v for name, v in self.initializers.items() if name in wanted}
        self.sizes &= wanted

    def cast(self, x: Value, dtype: DType) -> Value:
        """Other elements."""
        if x.dtype == dtype:
            return x
        exact = {} if small(dtype) is None else {"saturate": 0}
        return self.add("Cast", [x], x.shape, dtype, to=TO_ONNX[dtype], **exact)


def _needed(nodes: Sequence[Written], wanted: set[str]) -> tuple[list[Written], set[str]]:
    """The nodes that these names need, and all names that are needed then."""
    kept = []
    for n in reversed(nodes):
        if wanted & set(n.outputs):
            wanted |= n.uses
            kept.append(n)
    return kept[::-1], wanted


def numbers(values: np.ndarray, dtype: DType) -> Known:
    """Numbers, those that NumPy lacks as f32, in the form in which texpr stores them."""
    return Known(stored(values, dtype) if dtype.as_bits else values, dtype)
