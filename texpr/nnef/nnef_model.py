"""A model of NNEF as a module: its variables are parameters, its graph is what it computes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import texpr.nnef.operators  # noqa: F401  fills the table
from texpr.graph import Capture, Symbolic, active_capture
from texpr.graph.lazy import Tensor
from texpr.ir.dtypes import F32, DType, from_numpy, numpy_dtype
from texpr.nn import Buffer, Module, Parameter
from texpr.nnef.graph_evaluation import Evaluation, Quantization
from texpr.nnef.graph_values import Known, Value, literal_tensor
from texpr.nnef.model_files import ModelFiles, read_model
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen
from texpr.support.tracebacks import boundary


@boundary
def load(path: str | os.PathLike[str]) -> NnefModel:
    """Model in NNEF 1.0 as a module.

    Args:
        path: a folder with `graph.nnef` and files of tensors, or an archive of tar, compressed or not.
    Raises:
        CheckpointError: the model is damaged, needs operations that texpr does not have, or has names
            that lead outside of its folder; the place is a line and a column, or a byte.
        ResourceError: it is larger or nested deeper than the limits.
        OSError: it cannot be read.
    Example:
        >>> lines = (
        ...     "version 1.0; graph net(x) -> (y) {",
        ...     "    x = external(shape = [2, 3]);",
        ...     "    y = softmax(2.0 * x, axes = [1]);",
        ...     "}",
        ... )
        >>> import pathlib
        >>> pathlib.Path("net").mkdir()
        >>> pathlib.Path("net/graph.nnef").write_text("".join(lines)) > 0
        True
        >>> tx.nnef.load("net")(np.zeros((2, 3), np.float32)).shape
        (2, 3)
    """
    return NnefModel(read_model(path))


class NnefModel(Module):
    """Module that `load` gives: called on arrays by position or by name, it computes the graph's
    outputs.

    Variables of floats are parameters under their labels. Those that are updated, running statistics,
    and attributes such as `epsilon` are buffers.

    Attributes:
        inputs, outputs: names.
    Raises:
        CallError: in a call, inputs that are missing, unknown or do not fit the graph.
    Example:
        >>> import pathlib
        >>> pathlib.Path("twice").mkdir()
        >>> text = "version 1.0; graph g(x) -> (y) { x = external(shape = [2]); y = x + x; }"
        >>> pathlib.Path("twice/graph.nnef").write_text(text) > 0
        True
        >>> model = tx.nnef.load("twice")
        >>> model.inputs, model.outputs
        (('x',), ('y',))
    """

    def __init__(self, files: ModelFiles) -> None:
        super().__init__()
        self._files = files
        self.inputs = tuple(files.document.graph.inputs)
        self.outputs = tuple(files.document.graph.outputs)
        self._constants: dict[str, Known] = {}
        for name, v in files.variables.items():
            if not v.value.dtype.is_float:
                self._constants[name] = v.value
            elif v.role == "parameter":
                self._parameters[v.label] = Parameter(v.value.array, name=v.label, dtype=v.value.dtype)
            else:
                self._buffers[v.label] = Buffer(v.value.array, True, v.label, v.value.dtype)
        self.eval()

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The outputs: one array, or a tuple in the order of `outputs`.

        Raises:
            CallError: inputs that are missing, of another dtype, or whose extents are not those of
                the model.
        """
        given = self._bound([v for v in inputs if not isinstance(v, _Decided)], named)
        attributes = {n: v for n, v in self._files.variables.items() if v.role == "attribute"}
        known = tuple(
            (n, Known(self._buffers[v.label].held().copy(), self._buffers[v.label].dtype))
            for n, v in attributes.items()
        )
        return super().__call__(*given, *([_Decided(known)] if known else []))

    def _input_dtype(self) -> None:
        """Inputs have the dtypes that the model declares."""

    def forward(self, *inputs: Any) -> Any:
        """The graph on symbolic tensors."""
        *given, decided = inputs if inputs and isinstance(inputs[-1], _Decided) else (*inputs, _Decided())
        capture: Any = (
            next((x.capture for x in given if isinstance(x, Symbolic)), None) or active_capture.get()
        )
        if not isinstance(capture, Capture):
            raise CallError("the model has no inputs", code="nnef")
        names: dict[str, Value] = dict(zip(self.inputs, given))
        names |= self._extents(names) | self._constants | {n: _attribute(v) for n, v in decided.known}
        for name, v in self._files.variables.items():
            if name not in names:
                registry = self._parameters if v.role == "parameter" else self._buffers
                names[name] = capture.variable(registry[v.label])
        results = Evaluation(
            self._files.document, capture, names, self.dtype or F32, self._activations()
        ).results()
        found = [_result(capture, r) for r in results]
        return found[0] if len(found) == 1 else tuple(found)

    def _activations(self) -> Quantization | None:
        """Entries of `graph.quant`, but for variables: these are what is trained."""
        held = self._files.quantization
        if held is None:
            return None
        calls = {n: c for n, c in held.calls.items() if n not in self._files.variables}
        return Quantization(held.source, calls)

    def _extents(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """The values of symbols, by the shapes of inputs.

        Raises:
            CallError: shapes that are not those of the model.
        """
        found: dict[str, Value] = {}
        for name, declared in self._files.inputs.items():
            shape = given[name].shape
            fits = len(shape) == len(declared.shape) and all(
                isinstance(d, str) or d in (0, n) for d, n in zip(declared.shape, shape)
            )
            for d, n in zip(declared.shape, shape) if fits else ():
                fits &= not isinstance(d, str) or found.setdefault(d, n) == n
            if not fits:
                raise CallError(
                    f"input `{name}` has shape {list(shape)}, the model declares {declared}", code="shape"
                )
        return found

    def _bound(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        unknown = [n for n in named if n not in self.inputs[len(inputs) :]]
        given = {**dict(zip(self.inputs, inputs)), **named}
        if len(inputs) > len(self.inputs) or unknown or len(given) < len(self.inputs):
            raise CallError(
                f"the model takes {', '.join(self.inputs)}, and got {len(inputs)} by position"
                + (f" and {', '.join(named)}" if named else ""),
                code="arguments",
            )
        return [self._taken(n, given[n]) for n in self.inputs]

    def _taken(self, name: str, value: Any) -> Any:
        """An input in the declared dtype; floats are those of the parameters.

        Raises:
            CallError: it does not fit.
        """
        declared = self._files.inputs[name]
        wanted = declared.dtype or self.dtype or F32
        if isinstance(value, Symbolic | Tensor):
            if value.dtype != wanted:
                raise CallError(f"input `{name}` is {value.dtype}, the model takes {wanted}", code="dtype")
            return value
        array = np.asarray(value)
        found = from_numpy(array.dtype)
        if found == wanted:
            return array
        if found is None or not _converts(array, found, wanted):
            raise CallError(
                f"input `{name}` is {array.dtype}, the model takes {wanted}",
                code="dtype",
                help=f"convert it: x.astype(np.{numpy_dtype(wanted)})",
            )
        return array.astype(numpy_dtype(wanted))

    def extra_repr(self) -> str:
        """Inputs with their shapes, and outputs."""
        given = ", ".join(f"{n}: {d}" for n, d in self._files.inputs.items())
        return f"{given} -> {', '.join(self.outputs)}"


@frozen
class _Decided:
    """Values of attributes that a program is for, given to it behind its inputs."""

    known: tuple[tuple[str, Known], ...] = ()


def _converts(array: np.ndarray, found: DType, wanted: DType) -> bool:
    """True if numbers keep their values, or are rounded as floats are."""
    if found.is_float or wanted.is_float:
        return found.is_float and wanted.is_float and not wanted.as_bits
    if not (found.is_int and wanted.is_int):
        return False
    info = np.iinfo(numpy_dtype(wanted))
    return not array.size or bool(info.min <= int(array.min()) and int(array.max()) <= info.max)


def _attribute(value: Known) -> Value:
    """A number, which has the dtype of what it is used with, or a tensor."""
    return value.numbers().item() if value.array.ndim == 0 else value


def _result(capture: Capture, value: Any) -> Any:
    if isinstance(value, Symbolic):
        return value
    known = value if isinstance(value, Known) else literal_tensor(value)
    return capture.own_result(capture.constant(known.array, "result", known.dtype))
