"""Modules and functions as models in ONNX."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from texpr.compiler import Op
from texpr.graph import Capture, Symbolic, Variable
from texpr.graph.lazy import Tensor
from texpr.ir.dtypes import DType
from texpr.ir.expr import Tensor as Node
from texpr.ir.interpreter.arithmetic import load
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Equation, Invoke
from texpr.nn import Module
from texpr.nn.core import pytree
from texpr.nn.core.inputs import as_input
from texpr.nn.core.program_names import input_names, output_names
from texpr.onnx.constant_weights import PRODUCER
from texpr.onnx.converters import NEWEST
from texpr.onnx.element_types import TO_ONNX
from texpr.onnx.kept_nodes import Keeping, Kept, Reshaped, adapted, origin
from texpr.onnx.model_errors import UnsupportedOp
from texpr.onnx.onnx_package import library
from texpr.onnx.values import Known
from texpr.onnx.writing.dims import Named, find_named, name_dims, named_shape
from texpr.onnx.writing.graph import OLDEST_WRITTEN, Body, Graph, Inexpressible, Value, Written, known
from texpr.onnx.writing.layers import call
from texpr.support.errors import CallError, ResourceError
from texpr.support.files import write_file
from texpr.support.frozen_dataclass import frozen
from texpr.support.tracebacks import boundary

MOST_BYTES = (1 << 31) - 1
"""Of a protobuf."""


@boundary
def save(
    model: Callable[..., Any],
    path: str | os.PathLike[str],
    example: object,
    *,
    opset: int = OLDEST_WRITTEN,
    dims: Mapping[str, Mapping[int, str]] | None = None,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
) -> None:
    """Write what a module or a function computes as a model in ONNX.

    The program is captured on the example: its dtypes and shapes count, not its values. Modules are
    saved as they are after `eval()`. Parameters and buffers are initializers under their names. The
    file is there whole or not at all.

    Args:
        model: a module, or a function of tensors.
        example: one array, or a tuple of the positional arguments.
        opset: version of ONNX's operators, 21 or later.
        dims: by input and axis, names of dimensions whose extents the model does not fix.
        inputs, outputs: names. Without them, inputs have the names of the parameters of `forward`
            or the function, outputs are `y`, or `y0`, `y1`, ...; a module that was read from a file
            keeps the names of its file.
    Raises:
        UnsupportedOp: operators that ONNX has nothing for; all of them are listed.
        CallError: arguments that do not fit, or a program that depends on a named dimension.
        ResourceError: the model would be above 2 GiB.
        MissingExtra: the library onnx is not installed.
        OSError: the file cannot be written.
    Example:
        >>> model = nn.Linear(3, 2)
        >>> tx.onnx.save(model, "linear.onnx", np.zeros((1, 3), np.float32), dims={"input": {0: "batch"}})
        >>> loaded = tx.onnx.load("linear.onnx")
        >>> loaded.inputs, loaded.outputs
        (('input',), ('y',))
    """
    onnx = library()
    newest = min(NEWEST, onnx.defs.onnx_opset_version())
    if type(opset) is not int or not OLDEST_WRITTEN <= opset <= newest:
        raise CallError(f"opset is {opset!r}, expected {OLDEST_WRITTEN} to {newest}", code="arguments")
    if not callable(model):
        raise CallError(
            f"the model is a {type(model).__name__}, expected a module or a function of tensors",
            code="arguments",
        )
    examples = example if isinstance(example, tuple) else (example,)
    if any(np.asarray(x).dtype.kind in "USO" for x in examples if not isinstance(x, Tensor)):
        raise UnsupportedOp("the example has texts, which no program has", code="onnx")
    dtypes = model._example_dtypes(len(examples)) if isinstance(model, Module) else [None] * len(examples)
    given = [as_input(x.numpy() if isinstance(x, Tensor) else x, d) for x, d in zip(examples, dtypes)]
    names = _input_names(model, len(given), inputs)
    specs = {n: x.spec for n, x in zip(names, given)}
    named = find_named({n: shape for n, (shape, _) in specs.items()}, dims or {})
    usual = _resized(specs, named, None)
    with _evaluating(model):
        whole = _Captured.of(model, usual, outputs, opset, not named)
        others = [_Captured.of(model, _resized(specs, named, d), outputs, opset, False) for d in named]
    name_dims(whole.graph, [o.graph for o in others], named)
    shapes = [
        named_shape(v.shape, [o.results[k].shape for o in others], named) for k, v in enumerate(whole.results)
    ]
    proto = whole.proto(onnx, opset, usual, named, shapes)
    if proto.ByteSize() > MOST_BYTES:
        raise ResourceError(
            f"the model has {proto.ByteSize():,} bytes, the limit is {MOST_BYTES:,}", code="onnx"
        )
    _check(onnx, proto)
    write_file(path, proto.SerializeToString())


def _check(onnx: Any, proto: Any) -> None:
    try:
        onnx.checker.check_model(proto, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise UnsupportedOp(
            "ONNX's own check refuses the model", code="onnx", notes=str(error).splitlines()[:1]
        ) from error


Specs = Mapping[str, tuple[tuple[int, ...], DType]]


def _input_names(model: Callable[..., Any], count: int, wished: Sequence[str] | None) -> list[str]:
    names = input_names(model, count) if wished is None else list(wished)
    if len(names) < count or len(set(names)) < len(names) or wished is not None and len(names) != count:
        raise CallError(
            f"the example has {count} arguments, and the inputs are {', '.join(names) or 'none'}",
            code="arguments",
        )
    return names


def _resized(specs: Specs, named: Sequence[Named], changed: Named | None) -> Specs:
    """Inputs in which the named dimensions have their extents, and one the other."""
    extents = {place: d.other if d is changed else d.extent for d in named for place in d.places}
    return {
        n: (tuple(extents.get((n, k), size) for k, size in enumerate(shape)), t)
        for n, (shape, t) in specs.items()
    }


@contextmanager
def _evaluating(model: object) -> Iterator[None]:
    """All modules as they are after `eval()`, for a while."""
    modules = list(model.modules()) if isinstance(model, Module) else []
    before = [m.training for m in modules]
    try:
        for m in modules:
            m.training = False
        yield
    finally:
        for m, training in zip(modules, before):
            m.training = training


class _Recorded(Keeping):
    """A capture that keeps which operator each call is of."""

    def __init__(self) -> None:
        super().__init__("model")
        self.operators: dict[Invoke, Op] = {}

    def apply(
        self, operator: Op, inputs: Mapping[str, object], constants: Mapping[str, object]
    ) -> Symbolic | tuple[Symbolic, ...]:
        found = super().apply(operator, inputs, constants)
        last = self.equations[-1]
        assert isinstance(last, Invoke)
        self.operators[last] = operator
        return found


class _Captured:
    """A model's graph.

    Attributes:
        results: the outputs, named as in the graph.
    """

    def __init__(self, graph: Graph, results: list[Value]) -> None:
        self.graph, self.results = graph, results

    @staticmethod
    def of(
        model: Callable[..., Any], specs: Specs, outputs: Sequence[str] | None, version: int, fixed: bool
    ) -> _Captured:
        """Captured on inputs of these shapes.

        Args:
            version: of ONNX's operators.
            fixed: true if no extent keeps a name.
        """
        capture = _Recorded()
        symbols = {n: capture.input(n, shape, t) for n, (shape, t) in specs.items()}
        with capture:
            found = [_result(y, capture) for y in pytree.leaves(model(*symbols.values()))]
        if capture.updates.keys() - capture.seeds:
            raise CallError(
                "the program assigns to variables, and models in ONNX only compute",
                code="onnx",
                help="save it after eval()",
            )
        if not found:
            raise CallError("the program gives no tensors", code="arguments")
        wished = (
            list(outputs)
            if outputs is not None
            else _output_names(model, len(found), {*specs, *_parameters(model).values()})
        )
        if len(wished) != len(found) or len({*wished, *specs}) < len(wished) + len(specs):
            raise CallError(
                f"the program has {len(found)} outputs, and their names are {', '.join(wished)}",
                code="arguments",
                help="names of outputs differ from those of inputs",
            )
        writer = _Writer(capture, _variable_names(model, capture, {*wished, *specs}), wished, version, fixed)
        values = {s.tensor: Value(n, s.shape, s.dtype) for n, s in symbols.items()}
        return writer.captured(values, found)

    def proto(
        self,
        onnx: Any,
        opset: int,
        specs: Specs,
        named: Sequence[Named],
        shapes: Sequence[Sequence[int | str | None]],
    ) -> Any:
        """The onnx.ModelProto; `shapes` are those of the outputs."""
        at = {place: d.name for d in named for place in d.places}
        infos = [
            onnx.helper.make_tensor_value_info(
                n, TO_ONNX[t], [at.get((n, k), size) for k, size in enumerate(shape)]
            )
            for n, (shape, t) in specs.items()
        ]
        results = [
            onnx.helper.make_tensor_value_info(v.name, TO_ONNX[v.dtype], shape)
            for v, shape in zip(self.results, shapes)
        ]
        arrays = {
            n: onnx.numpy_helper.from_array(np.asarray(v.numbers()), n)
            for n, v in self.graph.initializers.items()
        }
        # Constants are nodes: initializers are what training changes.
        nodes = [
            onnx.helper.make_node("Constant", [], [n], value=a)
            for n, a in arrays.items()
            if n not in self.graph.variables
        ]
        nodes += [_node(onnx, n, not named) for n in self.graph.nodes]
        data = [a for n, a in arrays.items() if n in self.graph.variables]
        graph = onnx.helper.make_graph(nodes, "model", infos, results, data)
        sets = [onnx.helper.make_opsetid("", opset)]
        return onnx.helper.make_model(
            graph,
            opset_imports=sets,
            producer_name=PRODUCER,
            ir_version=onnx.helper.find_min_ir_version_for(sets),
        )


def _node(onnx: Any, n: Written, fixed: bool) -> Any:
    """A node of a model, with the graphs of its bodies.

    Args:
        fixed: true if no extent keeps a name.
    """
    attributes = {k: _body(onnx, a, fixed) if isinstance(a, Body) else a for k, a in n.attributes.items()}
    return onnx.helper.make_node(n.op, n.inputs, n.outputs, **attributes)


def _body(onnx: Any, body: Body, fixed: bool) -> Any:
    infos = [
        [
            onnx.helper.make_tensor_value_info(
                v.name, TO_ONNX[v.dtype], v.shape if fixed else [None] * len(v.shape)
            )
            for v in values
        ]
        for values in (body.inputs, body.outputs)
    ]
    return onnx.helper.make_graph([_node(onnx, n, fixed) for n in body.nodes], "body", *infos)


def _result(value: object, capture: Capture) -> Symbolic:
    if isinstance(value, Symbolic):
        return value
    if isinstance(value, Variable):
        return capture.variable(value)
    return capture.constant(np.asarray(value))


def _output_names(model: Callable[..., Any], count: int, taken: set[str]) -> list[str]:
    """The names in the model's file; else `y`, or `y0`, `y1`, ... without names that are taken."""
    own = output_names(model, count)
    if own and not taken.intersection(own):
        return own
    every = ("y" if count == 1 and not k else f"y{k}" for k in range(count + len(taken) + 1))
    return [n for n in every if n not in taken][:count]


def _parameters(model: object) -> dict[Variable, str]:
    """Names of a module's parameters and buffers."""
    return (
        {v: n for n, v in (*model.named_parameters(), *model.named_buffers())}
        if isinstance(model, Module)
        else {}
    )


def _variable_names(model: object, capture: Capture, taken: set[str]) -> dict[Variable, str]:
    """Names that a module has for its parameters and buffers; others keep their own."""
    names = _parameters(model)
    clash = sorted(taken & set(names.values()))
    if clash:
        raise CallError(
            f"`{clash[0]}` is a parameter and an input or output",
            code="arguments",
            help="choose others: inputs=, outputs=",
        )
    for v in capture.variables:
        if v not in names:
            names[v] = next(
                n
                for n in (v.name, *(f"{v.name}_{k}" for k in range(2, len(capture.variables) + 3)))
                if n not in taken and n not in names.values()
            )
    return names


@frozen
class _Node:
    """A node that a program was read from, in the form in which it is written."""

    kept: Kept
    inputs: list[Any]
    attributes: dict[str, Any]


def _input(graph: Graph, value: Any, values: Mapping[Node, Value]) -> Value | None:
    """An input of a node that was kept."""
    if isinstance(value, Reshaped):
        found = _input(graph, value.value, values)
        assert found is not None
        return graph.reshape(found, [n if n >= 0 else found.size for n in value.shape])
    if isinstance(value, Known):
        return known(load(value.array, value.dtype), value.dtype)
    return None if value is None else values[value.tensor]


class _Writer:
    """One capture becomes a graph."""

    def __init__(
        self,
        capture: _Recorded,
        variables: Mapping[Variable, str],
        outputs: Sequence[str],
        version: int,
        fixed: bool,
    ) -> None:
        self.capture, self.variables, self.outputs = capture, variables, outputs
        self.version, self.fixed = version, fixed

    def captured(self, values: dict[Node, Value], found: Sequence[Symbolic]) -> _Captured:
        """The graph of what the results need.

        Raises:
            UnsupportedOp: calls that ONNX has no operators for.
        """
        graph = Graph([*(v.name for v in values.values()), *self.variables.values(), *self.outputs])
        for variable, name in self.variables.items():
            if variable in self.capture.variables:
                values[self.capture.variables[variable]] = Value(name, variable.shape, variable.dtype)
                graph.variables.add(name)
                graph.initializers[name] = Known(variable.held(), variable.dtype)
        for tensor, array in self.capture.constants.items():
            values[tensor] = known(load(array, tensor.dtype), tensor.dtype)
        lacking: dict[str, int] = {}
        for equation in self._needed([s.tensor for s in found]):
            if isinstance(equation, _Node):
                self._write_node(graph, equation, values)
                continue
            try:
                self._write(graph, equation, values)
            except Inexpressible as error:
                what = (
                    f"{equation.program.name}: {error.message}"
                    if isinstance(equation, Invoke)
                    else error.message
                )
                lacking[what] = lacking.get(what, 0) + 1
                for t in equation.targets:  # the rest is looked at, too
                    values[t] = Value(
                        graph.name("lacking"), tuple(evaluate_size(e, {}) for e in t.shape), t.dtype
                    )
        if lacking:
            raise UnsupportedOp(
                "the program has what ONNX does not",
                code="onnx",
                notes=[f"{what}: {n} call{'s' * (n > 1)}" for what, n in sorted(lacking.items())],
            )
        results = [graph.output(values[s.tensor], name) for s, name in zip(found, self.outputs)]
        graph.prune([v.name for v in results])
        if graph.initializers.keys() & {self.variables[v] for v in self.capture.seeds}:
            raise UnsupportedOp(
                "random nodes are saved as nodes, and one is not what it was in this version",
                code="onnx",
                help="a seed that is assigned to is in no model: each call would draw the same numbers",
            )
        return _Captured(graph, results)

    def _write(self, graph: Graph, equation: Equation | Invoke, values: dict[Node, Value]) -> None:
        if not isinstance(equation, Invoke):
            raise Inexpressible("a gradient inside of the program")
        args = [values[t] for t in equation.args]
        results = call(graph, self.capture.operators.get(equation), equation.program, args)
        values.update(zip(equation.targets, results))

    def _write_node(self, graph: Graph, node: _Node, values: dict[Node, Value]) -> None:
        inputs = [_input(graph, v, values) for v in node.inputs]
        results = node.kept.results
        shapes = [None if r is None else (r.shape, r.dtype) for r in results]
        given = graph.several(node.kept.op, inputs, shapes, **node.attributes)
        values.update(zip((r.tensor for r in results if r is not None), given, strict=True))

    def _needed(self, results: Sequence[Node]) -> list[Equation | Invoke | _Node]:
        """The calls and nodes that results depend on, each node in the place of its calls."""
        nodes: dict[int, list[_Node]] = {}
        for kept in self.capture.kept:
            form = adapted(kept, self.version) if kept.fixed or self.fixed else None
            if form is not None:
                nodes.setdefault(kept.place, []).append(_Node(kept, *form))
        wanted, given = set(results), set()
        found: list[Equation | Invoke | _Node] = []
        equations = self.capture.equations
        for k in reversed(range(len(equations) + 1)):
            for node in reversed(nodes.get(k, [])):
                targets = {r.tensor for r in node.kept.results if r is not None}
                if (wanted & targets) - given:
                    wanted.update(v.tensor for v in map(origin, node.inputs) if isinstance(v, Symbolic))
                    given |= targets
                    found.append(node)
            if not k:
                break
            e = equations[k - 1]
            if (wanted & set(e.targets)) - given:
                wanted.update(e.args if isinstance(e, Invoke) else ())
                found.append(e)
        return found[::-1]
