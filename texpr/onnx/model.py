"""A model of ONNX as a module: its initializers are parameters, its graph is what it computes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import texpr.onnx.operators  # noqa: F401  fills the table
from texpr.graph import Capture, Symbolic, active_capture
from texpr.graph.execution.plan_records import Origin
from texpr.graph.lazy import Tensor
from texpr.ir.dtypes import DType, int_range, numpy_dtype, readable, stored
from texpr.nn import Buffer, Module, Parameter, init
from texpr.nn.core.compiled_call import CompiledCall
from texpr.nn.core.hooks import is_watched
from texpr.nn.core.inputs import NetworkInput
from texpr.nn.core.pytree import Skeleton
from texpr.onnx import program_origins
from texpr.onnx.constant_weights import with_initializers
from texpr.onnx.converters import draws, find
from texpr.onnx.element_types import FROM_ONNX
from texpr.onnx.graph_conversion import Run, evaluated
from texpr.onnx.large_values import StoredValues, restore_constants, stored_values
from texpr.onnx.narrow_types import NARROW, Narrow
from texpr.onnx.read import all_nodes, array_of, elem_type, opsets, read_model, without_data
from texpr.onnx.text_values import TEXT, Texts
from texpr.onnx.values import Known, NeedsValue, NoTensors, Nothing, tensor_of
from texpr.runtime import gpu
from texpr.support.errors import CallError, CheckpointError
from texpr.support.frozen_dataclass import frozen
from texpr.support.options import current
from texpr.support.tracebacks import boundary


@boundary
def load(source: Any, dims: Mapping[str, int] | None = None, *, constants: str = "parameters") -> OnnxModel:
    """Model in ONNX as a module.

    Large weights of a path are read when they are needed, and the file is open until then: it may be
    replaced or deleted, but not written to. `load(path.read_bytes())` reads all at once.

    Args:
        source: a path, the bytes of a file, or an onnx.ModelProto.
        dims: extents of dimensions that the model names; others are those of each call's arrays.
        constants: what weights in `Constant` nodes and in branches are: "parameters" named by the
            nodes' outputs, or "fixed" numbers of the program. A constant is a weight if it is used
            like one: by a convolution, a product, a recurrence, a normalization or a table, or
            added or multiplied by channel after such an operator.
    Raises:
        CallError: `constants` or `dims` are none of these.
        CheckpointError: the model is damaged, refers to files outside of its folder, or breaks a
            rule of ONNX.
        UnsupportedOp: it needs operators or element types that texpr does not have; all of them are
            listed.
        ResourceError: it is larger or nested deeper than the limits.
        MissingExtra: the library onnx is not installed.
        OSError: the file cannot be read.
    Example:
        >>> model = nn.Linear(3, 2)
        >>> tx.onnx.save(model, "linear.onnx", np.zeros((1, 3), np.float32), dims={"input": {0: "batch"}})
        >>> loaded = tx.onnx.load("linear.onnx")
        >>> loaded(np.zeros((4, 3), np.float32)).shape
        (4, 2)
    """
    if constants not in ("parameters", "fixed"):
        raise CallError(f"constants is {constants!r}, expected `parameters` or `fixed`", code="arguments")
    path = Path(source) if isinstance(source, str | PathLike) else None
    proto = read_model(source)
    if constants == "parameters":
        proto = with_initializers(proto, owned=proto is not source)
    if path is not None:
        restore_constants(proto.graph.node, path)
    return OnnxModel(proto, dims or {}, path)


class OnnxModel(Module):
    """Module that `load` gives: called on arrays by position or by name, it computes the model's
    outputs.

    Initializers of floats are parameters under their names, weights in `Constant` nodes under those
    of their outputs; running statistics and scales of quantization are buffers, others constants.
    Parameters of rank 0, such as the bound of a maximum, are trained only if their `requires_grad`
    is set. An input or a parameter whose values decide
    shapes or branches is known to the program: there is one program for each of its values.

    Attributes:
        inputs, outputs: names.
    Raises:
        CallError: in a call, inputs that are missing, unknown or do not fit the model.
        CheckpointError: in a call, the file was written to since it was loaded.
    Example:
        >>> model = nn.Linear(3, 2)
        >>> tx.onnx.save(model, "linear.onnx", np.zeros((1, 3), np.float32), dims={"input": {0: "batch"}})
        >>> loaded = tx.onnx.load("linear.onnx")
        >>> isinstance(loaded, tx.onnx.OnnxModel), loaded.inputs
        (True, ('input',))
    """

    def __init__(self, proto: Any, dims: Mapping[str, int], path: Any = None) -> None:
        super().__init__()
        self._proto = without_data(proto, 0)  # their values are parameters, buffers and constants
        if not isinstance(dims, Mapping) or not all(type(n) is int and n >= 0 for n in dims.values()):
            raise CallError(
                "dims is a mapping of names to extents", code="arguments", help='for example {"batch": 8}'
            )
        self._declared = [
            _Input(v, dims)
            for v in proto.graph.input
            if v.name not in {t.name for t in proto.graph.initializer}
        ]
        unknown = sorted(
            set(dims) - {d.dim_param for v in proto.graph.input for d in v.type.tensor_type.shape.dim}
        )
        if unknown:
            raise CallError(f"the model has no dimensions {', '.join(unknown)}", code="onnx")
        self.inputs = tuple(i.name for i in self._declared)
        self.outputs = tuple(v.name for v in proto.graph.output)
        self._narrow = {v.name: NARROW[t] for v in proto.graph.output if (t := elem_type(v)) in NARROW}
        # Texts are in no program: a model that gives some is computed from known values.
        gives_texts = any(elem_type(v) == TEXT.number for v in proto.graph.output)
        self._static: set[str] = {*self.inputs} if gives_texts else set()
        self._decisive: set[str] = set()
        self._constants: dict[str, Known | Narrow | Texts] = {}
        self._seeds: dict[float | None, str] = {}
        self._register(proto, path)
        self.eval()

    def _register(self, proto: Any, path: Any) -> None:
        constants, kept = _roles(proto)
        self._add_seeds(proto)
        stored = _stored(proto, path, constants)
        for t in proto.graph.initializer:
            source = stored.get(t.name)
            value = Known(source.stand_in, FROM_ONNX[t.data_type]) if source else array_of(t, path)
            if isinstance(value, Narrow | Texts) or not value.dtype.is_float or t.name in constants:
                self._constants[t.name] = value
                continue
            if t.name in kept:
                found = self._buffers[t.name] = Buffer(value.array, True, t.name, value.dtype)
            else:
                trained = bool(value.shape)  # a number of rank 0 is mostly one of a formula
                found = self._parameters[t.name] = Parameter(value.array, trained, t.name, value.dtype)
            if source:
                found.defer(source)

    def _add_seeds(self, proto: Any) -> None:
        """A seed for each stream of random numbers, as a buffer that `state_dict` leaves out."""
        taken = {t.name for t in proto.graph.initializer} | set(self.inputs)
        for stream in sorted(_streams(proto), key=str):
            name = "random.seed" if stream is None else f"random.seed.{stream:g}"
            while name in taken:
                name += "_"
            taken.add(name)
            first = init.generator().integers(1 << 63, dtype=np.uint64) if stream is None else _bits(stream)
            self._seeds[stream] = name
            self._buffers[name] = Buffer(np.asarray(first), persistent=False, name=name)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The outputs: one array, or a tuple in the order of `outputs`.

        Raises:
            CallError: inputs that are missing, of another dtype, or whose extents are not those of
                the model.
        """
        given = self._bound([v for v in inputs if not isinstance(v, _Decided)], named)
        while True:
            try:
                return self._readable(
                    self._computed(
                        [_known(v) if name in self._static else v for name, v in zip(self.inputs, given)]
                    )
                )
            except NeedsValue as need:
                names = set(need.inputs) - self._static
                weights = set(need.parameters) - self._decisive if active_capture.get() is None else set()
                if not names | weights or not all(
                    _has_values(v) for n, v in zip(self.inputs, given) if n in names
                ):
                    raise
                self._static |= names
                self._decisive |= weights

    def _readable(self, results: Any) -> Any:
        """Arrays of narrow types as those of ml_dtypes."""
        if not self._narrow:
            return results
        several = results if isinstance(results, tuple) else (results,)
        read = tuple(
            self._narrow[n].readable(y) if n in self._narrow and isinstance(y, np.ndarray) else y
            for n, y in zip(self.outputs, several)
        )
        return read if isinstance(results, tuple) else read[0]

    def _computed(self, given: Sequence[Any]) -> Any:
        variables = {**self._parameters, **self._buffers}
        values = _Decided(
            tuple((n, Known(variables[n].held().copy(), variables[n].dtype)) for n in sorted(self._decisive))
        )
        if (
            any(not isinstance(v, Known | Texts | Nothing | None) for v in _flat(given))
            or active_capture.get() is not None
        ):
            return super().__call__(*given, *([values] if self._decisive else []))
        capture = Capture("model")
        with capture:
            results = [tensor_of(r) for r in self._results(capture, given, values)]
        found = iter(evaluated(capture, [r for r in _flat(results) if isinstance(r, Symbolic)]))
        arrays = [_array(r, found) for r in results]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def _compiled_call(
        self,
        given: Sequence[NetworkInput],
        places: tuple[int, ...],
        nesting: Skeleton,
        origin: Origin | None = None,
    ) -> CompiledCall:
        """The call, from disk where another process made it: no node is converted then."""
        origin = self._origin(given, places, nesting)
        if origin is None:
            return super()._compiled_call(given, places, nesting)
        found = CompiledCall.found(origin)
        if found is not None:
            return found
        program_origins.raise_known_need(origin)
        try:
            return super()._compiled_call(given, places, nesting, origin)
        except NeedsValue as need:
            program_origins.keep_need(origin, need)
            raise

    def _origin(
        self, given: Sequence[NetworkInput], places: tuple[int, ...], nesting: Skeleton
    ) -> Origin | None:
        """Everything that a program of the model comes from; None where that cannot be said, or the
        program may change variables.
        """
        if type(self) is not OnnxModel or self.training or self._seeds or is_watched(self):
            return None
        variables = {**self._parameters, **self._buffers}
        declared = [f"{i.name!r} {i.narrow} {i}" for i in self._declared]
        try:
            parts = (
                program_origins.of_model(self._proto, declared, self._constants),
                program_origins.of_variables(self._parameters),
                program_origins.of_variables(self._buffers),
                program_origins.of_arguments([g.spec for g in given], places, nesting),
                *sorted(self._static),
                *sorted(self._decisive),
            )
        except program_origins.Unsaid:
            return None
        return Origin(repr(parts), variables)

    def _input_dtype(self) -> None:
        """Inputs have the dtypes that the model declares."""

    def _example_dtypes(self, count: int) -> Sequence[DType | None]:
        found = [i.dtype if i.dtype is not None and i.dtype.is_float else None for i in self._declared]
        return [*found, *[None] * count][:count]

    def forward(self, *inputs: Any) -> Any:
        """The graph on symbolic tensors; constants are allowed among them."""
        *given, values = inputs if inputs and isinstance(inputs[-1], _Decided) else (*inputs, _Decided())
        capture: Any = (
            next((x.capture for x in given if isinstance(x, Symbolic)), None) or active_capture.get()
        )
        assert capture is not None
        found = self._results(capture, tuple(given), values)
        results = [self._as_result(capture, tensor_of(r)) for r in found]
        return results[0] if len(results) == 1 else tuple(results)

    def _as_result(self, capture: Capture, value: Any) -> Any:
        if isinstance(value, list):
            return [self._as_result(capture, v) for v in value]
        if isinstance(value, Texts):
            raise CallError(
                "the model gives texts, which no program has",
                code="onnx",
                help="call the model on arrays, outside of programs that are captured",
            )
        if isinstance(value, Known):
            return capture.own_result(capture.constant(value.array, "result", value.dtype))
        return value

    def _results(self, capture: Capture, inputs: Sequence[Any], values: _Decided) -> list[Any]:
        names: dict[str, Any] = {
            n: NoTensors(v.dtype) if isinstance(v, Nothing) else v for n, v in zip(self.inputs, inputs)
        }
        narrow = {i.name: i.narrow for i in self._declared if i.narrow is not None}
        self._check_dims({n: v.shape for n, v in names.items() if v is not None and not isinstance(v, list)})
        names |= {n: Narrow(names[n], t) for n, t in narrow.items() if names[n] is not None}
        names |= self._constants
        names |= dict(values.known)
        names |= {
            n: capture.variable(v)
            for n, v in (*self._parameters.items(), *self._buffers.items())
            if n not in names and n not in self._seeds.values()
        }
        owners = {
            v.tensor: n
            for n, given in zip(self.inputs, inputs)
            for v in _flat([given])
            if isinstance(v, Symbolic)
        }
        seeds = {stream: self._buffers[n] for stream, n in self._seeds.items()}
        run = Run(self._proto, capture, owners, seeds)
        return self._of_declared_types(run.graph(self._proto.graph, names, opsets(self._proto)))

    def _of_declared_types(self, results: list[Any]) -> list[Any]:
        for n, r in zip(self.outputs, results):
            found, declared = getattr(r, "dtype", None), self._narrow.get(n)
            if (isinstance(r, Narrow) or declared is not None) and found != declared:
                raise CheckpointError(
                    f"the output `{n}` is {found}, the model declares {declared or 'another type'}",
                    code="onnx",
                )
        return results

    def _bound(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        if len(inputs) > len(self.inputs):
            raise CallError(
                f"the model has {len(self.inputs)} inputs and got {len(inputs)}", code="arguments"
            )
        given = dict(zip(self.inputs, inputs))
        unknown = [n for n in named if n not in self.inputs or n in given]
        if unknown:
            raise CallError(
                f"the model has no further inputs: {', '.join(unknown)}",
                code="arguments",
                help=f"it takes {', '.join(self.inputs)}, by position or by name",
            )
        given |= named
        missing = [i.name for i in self._declared if i.name not in given and not i.optional]
        if missing:
            raise CallError(f"the model needs {', '.join(missing)}", code="arguments")
        return [i.taken(given.get(i.name)) for i in self._declared]

    def _check_dims(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Extents must be the declared ones, and those of one name the same."""
        found: dict[str, tuple[int, str]] = {}
        for declared in self._declared:
            shape = shapes.get(declared.name)
            if shape is None or declared.dims is None:
                continue
            fits = len(shape) == len(declared.dims) and all(
                isinstance(d, str) or d == n for d, n in zip(declared.dims, shape)
            )
            if not fits:
                raise CallError(
                    f"input `{declared.name}` has shape {list(shape)}, the model declares "
                    f"{list(declared.dims)}",
                    code="shape",
                )
            for d, n in zip(declared.dims, shape):
                if isinstance(d, str) and d != "?" and found.setdefault(d, (n, declared.name))[0] != n:
                    raise CallError(
                        f"dimension {d} is {found[d][0]} in `{found[d][1]}` and {n} in `{declared.name}`",
                        code="shape",
                    )

    def extra_repr(self) -> str:
        return f"{', '.join(f'{i.name}: {i}' for i in self._declared)} -> {', '.join(self.outputs)}"


@frozen
class _Decided:
    """Values of parameters that a program is for, given to it behind its inputs."""

    known: tuple[tuple[str, Known], ...] = ()


class _Input:
    """A model's declaration of an input.

    Attributes:
        dims: extents, or their names; None where nothing is declared.
    """

    def __init__(self, value: Any, dims: Mapping[str, int]) -> None:
        self.name = value.name
        kind = value.type
        self.optional = kind.HasField("optional_type")
        kind = kind.optional_type.elem_type if self.optional else kind
        self.sequence = kind.HasField("sequence_type")
        kind = kind.sequence_type.elem_type if self.sequence else kind
        tensor = kind.tensor_type
        self.narrow = NARROW.get(tensor.elem_type)
        self.texts = tensor.elem_type == TEXT.number
        strange = tensor.elem_type not in FROM_ONNX and self.narrow is None and not self.texts
        if strange or (self.narrow or self.texts) and self.sequence:
            raise CheckpointError(
                f"the input `{self.name}` is neither a tensor nor a sequence of tensors", code="onnx"
            )
        kept = TEXT if self.texts else FROM_ONNX.get(tensor.elem_type)
        self.dtype: Any = self.narrow.stored if self.narrow else kept
        self.dims: list[int | str] | None = None
        if tensor.HasField("shape") and not self.sequence:
            self.dims = [_extent(d, dims) for d in tensor.shape.dim]

    def taken(self, value: Any) -> Any:
        """A value that is given, in the declared dtype.

        Raises:
            CallError: it is of another kind, or does not fit.
        """
        if self.sequence and isinstance(value, list | tuple):
            return [self._tensor(v) for v in value] or Nothing(self.dtype)
        return value if isinstance(value, Nothing | None) else self._tensor(value)

    def _tensor(self, value: Any) -> Any:
        if self.texts:
            return self._text(value)
        if isinstance(value, Symbolic | Tensor | Known):
            return self._same(value)
        found = Known.of(self._bytes(np.asarray(value)))
        if found.dtype == self.dtype:
            return readable(found.array, found.dtype)
        numbers = found.numbers()
        fits = found.dtype.is_float and self.dtype.is_float
        if found.dtype.is_int and self.dtype.is_int:
            lo, hi = int_range(self.dtype)
            fits = not numbers.size or bool(lo <= int(numbers.min()) and int(numbers.max()) <= hi)
        if not fits:
            raise CallError(
                f"input `{self.name}` is {found.dtype}, the model declares {self.dtype}",
                code="dtype",
                help=f"convert it: x.astype(np.{numpy_dtype(self.dtype)})",
            )
        return readable(stored(numbers, self.dtype), self.dtype)

    def _text(self, value: Any) -> Texts:
        found = value.array if isinstance(value, Texts) else np.asarray(value)
        if found.dtype.kind not in "USO" or not all(isinstance(v, str | bytes) for v in found.ravel()):
            raise CallError(f"input `{self.name}` has other elements than texts", code="dtype")
        return Texts(found)

    def _bytes(self, array: np.ndarray) -> np.ndarray:
        """An array of ml_dtypes as it is kept, or an array of these bytes.

        Raises:
            CallError: it has elements that the declared type has not.
        """
        t = self.narrow
        if t is None:
            return array
        if array.dtype.name == t.library:
            return t.bytes_of(array)
        lo, hi = t.range if t.is_int else (0, (1 << t.bits) - 1)
        inside = array.dtype.kind in "iu" and (not array.size or lo <= array.min() and array.max() <= hi)
        if not inside or not t.is_int and array.dtype != np.uint8:
            raise CallError(
                f"input `{self.name}` is {array.dtype}, the model declares {t}",
                code="dtype",
                help=f"convert it: x.astype(ml_dtypes.{t.library})",
            )
        return array.astype(numpy_dtype(t.stored))

    def _same(self, value: Any) -> Any:
        if value.dtype != self.dtype:
            raise CallError(
                f"input `{self.name}` is {value.dtype}, the model declares {self.dtype}", code="dtype"
            )
        return value

    def __str__(self) -> str:
        t = self.narrow or self.dtype
        return f"{t}[{', '.join(map(str, self.dims))}]" if self.dims is not None else str(t)


def _extent(d: Any, dims: Mapping[str, int]) -> int | str:
    """A declared dimension: an extent, a name, or `?` where nothing is known. Exporters also
    write -1, 0 and `None` for that.
    """
    if d.HasField("dim_value"):
        return d.dim_value if d.dim_value > 0 else "?"
    known = any(c.isalpha() for c in d.dim_param) and d.dim_param != "None"
    return dims.get(d.dim_param, d.dim_param if known else "?")


def _roles(proto: Any) -> tuple[set[str], set[str]]:
    """Names whose values programs depend on, and names that training does not change, by the
    inputs that they are given to.
    """
    constants, kept = set(), set()
    for node in all_nodes(proto):
        found = find(node.domain, node.op_type)
        if found is not None:
            constants |= {node.input[k] for k in found.known if k < len(node.input)}
            kept |= {node.input[k] for k in found.kept if k < len(node.input)}
    return constants, kept


def _stored(proto: Any, path: Any, constants: Collection[str]) -> dict[str, StoredValues]:
    """Values of variables that stay in the file until they are needed, by name.

    Args:
        constants: names of what is no variable.
    """
    if path is None or gpu.full_name(current().device) != gpu.HOST:
        return {}
    variables = (t for t in proto.graph.initializer if t.name not in constants and t.data_type in FROM_ONNX)
    return stored_values((t for t in variables if FROM_ONNX[t.data_type].is_float), path)


def _streams(proto: Any) -> set[float | None]:
    """The attributes `seed` of the nodes that may draw random numbers."""
    return {
        next((a.f for a in node.attribute if a.name == "seed"), None)
        for node in all_nodes(proto)
        if draws(node)
    }


def _bits(seed: float) -> np.ndarray:
    """A u64 that no other float of 32 bits gives, far from those of others."""
    return np.asarray(np.float32(seed).view(np.uint32), np.uint64) << np.uint64(31)


def _known(value: Any) -> Any:
    if isinstance(value, list):
        return [_known(v) for v in value]
    return (
        value
        if isinstance(value, Known | Symbolic | Texts | Nothing | None)
        else Known.of(value.numpy() if isinstance(value, Tensor) else value)
    )


def _has_values(value: Any) -> bool:
    return all(v is not None and not isinstance(v, Symbolic) for v in _flat([value]))


def _flat(values: Sequence[Any]) -> list[Any]:
    return [w for v in values for w in (_flat(v) if isinstance(v, list) else [v])]


def _array(value: Any, values: Any) -> Any:
    if isinstance(value, list):
        return [_array(v, values) for v in value]
    return (next(values) if isinstance(value, Symbolic) else value).numbers() if value is not None else None
