"""Weights that a model keeps in `Constant` nodes, or in the graphs of branches, become initializers
of its main graph.

PaddlePaddle's exporter and spox write no initializers: a network's weights stand beside numbers such
as the 6 of a hard sigmoid. What a constant is, is seen by how it is used:

* the weights of an operator that has such (`WEIGHTS`), as they are or behind operators that only
  move elements;
* a row of numbers, one for each channel, that is added to, subtracted from, multiplied by or divided
  into what depends on such an operator;
* one number by which such values are multiplied, and one which is added to the product at once.

All others are numbers of the formula. So are those in bodies of functions, and in models that
`texpr.onnx.save` wrote: it has initializers for what is trained, nodes for what is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from texpr.onnx.element_types import FROM_ONNX
from texpr.onnx.onnx_package import library

PRODUCER = "texpr"
"""The producer that `texpr.onnx.save` names."""
WEIGHTS: dict[str, tuple[int, ...]] = {
    "BatchNormalization": (1, 2, 3, 4),
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "DeformConv": (1, 3),
    "Gemm": (0, 1, 2),
    "GroupNormalization": (1, 2),
    "GRU": (1, 2, 3),
    "InstanceNormalization": (1, 2),
    "LayerNormalization": (1, 2),
    "LSTM": (1, 2, 3, 7),
    "MatMul": (0, 1),
    "PRelu": (1,),
    "RMSNormalization": (1,),
    "RNN": (1, 2, 3),
}
"""Positions of weights, by operator."""
MOVING = {
    "Cast",
    "Concat",
    "Expand",
    "Flatten",
    "Identity",
    "Pad",
    "Reshape",
    "Slice",
    "Split",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
}
"""Operators whose results are elements of their first input, or of all of them (`Concat`)."""
BY_CHANNEL = {"Add", "Div", "Mul", "Sub"}
INSIDE = {"If", "Loop", "Scan"}
"""Operators whose graphs see the names around them. Those of operators that ONNX defines by others,
such as FlexAttention, run inside of the definition.
"""


@dataclass(eq=False, slots=True)
class _Constant:
    """A float constant: a node, or an initializer of a subgraph."""

    name: str
    tensor: Any
    is_weight: bool = False

    @property
    def long_axes(self) -> int:
        """Number of dimensions that are not 1."""
        return sum(n != 1 for n in self.tensor.dims)


@dataclass(slots=True)
class _Use:
    """Knowledge of a value.

    Attributes:
        constants: those whose elements it has.
        depends: on an operator that has weights.
        scale: the one number that it was multiplied by.
    """

    constants: Sequence[_Constant] = ()
    depends: bool = False
    scale: _Constant | None = None

    def mark(self, least: int = 0) -> bool:
        """True if it has constants of so many long axes or more: they are weights."""
        found = [c for c in self.constants if c.long_axes >= least]
        for c in found:
            c.is_weight = True
        return bool(found)


@dataclass(slots=True)
class _Scope:
    """The main graph, or one of a branch or a loop.

    Attributes:
        path: the outputs and attributes of the nodes around it, of the outermost first.
        nodes, initializers: its constants by their places.
    """

    graph: Any
    path: tuple[str, ...]
    nodes: dict[int, _Constant] = field(default_factory=dict)
    initializers: dict[int, _Constant] = field(default_factory=dict)

    def weights(self) -> list[_Constant]:
        """Constants of it that are weights."""
        return [c for each in (self.initializers, self.nodes) for c in each.values() if c.is_weight]


def with_initializers(model: Any, owned: bool) -> Any:
    """The model with its weights as initializers, under the names of the values that they were.

    Where several values of a model have a name, the place of one in a branch is set before it:
    `y.then_branch.weight` stands in a branch of the node that gives `y`.

    Args:
        owned: whether the onnx.ModelProto may be changed.
    """
    if model.producer_name == PRODUCER:
        return model
    scopes = list(_scopes(model))
    if not any(scope.weights() for scope in scopes):
        return model
    if not owned:
        copy = type(model)()
        copy.CopyFrom(model)
        return with_initializers(copy, True)
    times = Counter(n for scope in scopes for n in _defined(scope.graph))
    for scope in scopes:
        for c in scope.weights():
            name = c.name
            if scope.path and times[name] > 1:
                name = ".".join((*scope.path, name))
                _rename(scope.graph, c.name, name)
            t = model.graph.initializer.add()
            t.CopyFrom(c.tensor)
            t.name = name
        for entries, places in (
            (scope.graph.node, scope.nodes),
            (scope.graph.initializer, scope.initializers),
        ):
            for k in sorted((k for k, c in places.items() if c.is_weight), reverse=True):
                del entries[k]
    return model


def _scopes(model: Any) -> list[_Scope]:
    """The graphs of a model, their weights marked."""
    found: list[_Scope] = []
    _walk(model.graph, {}, (), found)
    return found


def _walk(
    graph: Any, outer: Mapping[str, _Use], path: tuple[str, ...], found: list[_Scope]
) -> dict[str, _Use]:
    """Knowledge of the values of a graph; `found` gets it and those inside of it."""
    names, scope = dict(outer), _Scope(graph, path)
    found.append(scope)
    names.update((v.name, _Use()) for v in graph.input)
    for k, t in enumerate(graph.initializer):
        names[t.name] = _Use()
        if path and _is_float(t):
            scope.initializers[k] = _Constant(t.name, t, is_weight=True)
    for k, node in enumerate(graph.node):
        tensor = _value(node) if node.op_type == "Constant" else None
        if tensor is not None:
            scope.nodes[k] = _Constant(node.output[0], tensor)
            names[node.output[0]] = _Use([scope.nodes[k]])
            continue
        given = [names.get(n, _Use()) for n in node.input]
        inner = [
            (a.g, _walk(a.g, names, (*path, node.output[0], a.name), found))
            for a in node.attribute
            if a.HasField("g") and node.op_type in INSIDE
        ]
        use = _used(node, given)
        names.update((n, use) for n in node.output if n)
        if node.op_type == "If":
            names.update((n, _joined(k, inner)) for k, n in enumerate(node.output) if n)
    return names


def _joined(k: int, branches: Sequence[tuple[Any, Mapping[str, _Use]]]) -> _Use:
    """Knowledge of an output that one of several graphs gives."""
    uses = [names.get(g.output[k].name, _Use()) for g, names in branches if k < len(g.output)]
    return _Use([c for u in uses for c in u.constants], any(u.depends for u in uses))


def _is_float(t: Any) -> bool:
    return t.data_type in FROM_ONNX and FROM_ONNX[t.data_type].is_float


def _value(node: Any) -> Any:
    """The floats of a `Constant`, as an onnx.TensorProto; None for others."""
    for a in node.attribute:
        if a.name == "value" and _is_float(a.t):
            return a.t
        if a.name == "value_floats":
            return library().helper.make_tensor(node.output[0], 1, [len(a.floats)], a.floats)
    return None


def _used(node: Any, given: Sequence[_Use]) -> _Use:
    """Knowledge of a node's outputs; constants that it has as weights are marked."""
    op = node.op_type if node.domain in ("", "ai.onnx") else ""
    if op == "Gather":  # of a table; one of numbers is not trained
        return _Use(depends=given[0].mark(2) or given[0].depends)
    for k in WEIGHTS.get(op, ()):
        if k < len(given):
            given[k].mark()
    depends = op in WEIGHTS or any(u.depends for u in given)
    if op in MOVING:
        moved = given if op == "Concat" else given[:1]
        return _Use([c for u in moved for c in u.constants], depends)
    scale = _scaled(op, *given) if op in BY_CHANNEL else None
    return _Use(depends=depends, scale=scale)


def _scaled(op: str, a: _Use, b: _Use) -> _Constant | None:
    """The one number by which a product with it multiplies; rows of numbers, and the number that
    is added to such a product, are marked.
    """
    for constant, other in ((a, b), (b, a)):
        if not other.depends:
            continue
        for c in constant.constants:
            if c.long_axes == 1:
                c.is_weight = True
            elif not c.long_axes and c.tensor.dims:  # of rank 0 are numbers of formulas
                if op == "Mul":
                    return c
                if op == "Add" and other.scale is not None:
                    c.is_weight = other.scale.is_weight = True
    return None


def _defined(graph: Any) -> Iterator[str]:
    """Names of the values of a graph, without those of graphs inside of it."""
    yield from (v.name for v in graph.input)
    yield from (t.name for t in graph.initializer)
    yield from (n for node in graph.node for n in node.output if n)


def _rename(graph: Any, old: str, new: str) -> None:
    """Give the uses of a value a new name, in graphs inside too: ONNX lets none of them have a value
    of the same name.
    """
    for node in graph.node:
        for k, name in enumerate(node.input):
            if name == old:
                node.input[k] = new
        for a in node.attribute:
            if a.HasField("g"):
                _rename(a.g, old, new)
    for v in graph.output:
        if v.name == old:
            v.name = new
