"""Modules and functions as models in NNEF."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from texpr.compiler import Op
from texpr.graph import Capture, Symbolic, Variable
from texpr.graph.lazy import Tensor
from texpr.ir.dtypes import readable
from texpr.ir.expr import Tensor as Node
from texpr.ir.interpreter.arithmetic import load as load_array
from texpr.ir.tensor import Invoke
from texpr.nn import Module
from texpr.nn.core import pytree
from texpr.nn.core.inputs import as_input
from texpr.nn.core.program_names import input_names, output_names
from texpr.nnef.model_containers import inside
from texpr.nnef.model_files import GRAPH, QUANTIZATION
from texpr.nnef.nnef_model import NnefModel
from texpr.nnef.tensor_files import file_of
from texpr.nnef.tensor_quantization import text_of_entries
from texpr.nnef.writing.graph_lines import GraphLines, Inexpressible, Named, kind_of, text_of
from texpr.nnef.writing.library_rules import call
from texpr.support.errors import CallError, CheckpointError
from texpr.support.files import write_file
from texpr.support.tracebacks import boundary

_ARCHIVES = {".tgz": "w:gz", ".tar.gz": "w:gz", ".tar": "w"}


@boundary
def save(
    model: Callable[..., Any],
    path: str | os.PathLike[str],
    example: object = None,
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
) -> None:
    """Write what a module or a function computes as a model in NNEF 1.0.

    A model that `load` gave is written with its text as it was and the values that its variables have
    now, quantized ones as floats. Any other program is captured on the example: its dtypes and shapes
    count, not its values. Modules are saved as they are after `eval()`. Parameters and buffers are
    variables under their names.

    Args:
        model: a module, or a function of tensors.
        path: a folder that is not there yet, or a file that ends in `.tgz`, `.tar.gz` or `.tar`.
        example: one array, or a tuple of the positional arguments.
        inputs, outputs: names. Without them, inputs have the names of the parameters of `forward` or the
            function, outputs are `y`, or `y0`, `y1`, ...; a module that was read from a file keeps the
            names of its file.
    Raises:
        CheckpointError: the program has what NNEF has no operations for; all of it is listed.
        CallError: arguments that do not fit.
        OSError: the files cannot be written; what was there before stays.
    Example:
        >>> tx.nnef.save(nn.Linear(3, 2), "linear.tgz", np.zeros((1, 3), np.float32))
        >>> tx.nnef.load("linear.tgz")(np.ones((1, 3), np.float32)).shape
        (1, 2)
    """
    if isinstance(model, NnefModel):
        held = model._activations()
        quantization = "" if held is None else text_of_entries(held)
        _write(Path(path), model._files.document.source.text, _held(model), quantization)
        return
    if not callable(model) or example is None:
        raise CallError(
            "a module or a function of tensors is saved with an example of its inputs",
            code="arguments",
            help="tx.nnef.save(model, path, example)",
        )
    given = example if isinstance(example, tuple) else (example,)
    dtypes = model._example_dtypes(len(given)) if isinstance(model, Module) else [None] * len(given)
    arrays = [as_input(x.numpy() if isinstance(x, Tensor) else x, d) for x, d in zip(given, dtypes)]
    before = [(m, m.training) for m in model.modules()] if isinstance(model, Module) else []
    try:
        for m, _ in before:
            m.training = False
        text, variables = _captured(model, [a.spec for a in arrays], inputs, outputs)
    finally:
        for m, training in before:
            m.training = training
    _write(Path(path), text, variables)


def _held(model: NnefModel) -> dict[str, np.ndarray]:
    """The arrays of a loaded model by their labels."""
    found = {}
    for v in model._files.variables.values():
        owner = model._parameters.get(v.label) or model._buffers.get(v.label)
        found[v.label] = v.value.numbers() if owner is None else readable(owner.held(), owner.dtype)
    return found


class _Recorded(Capture):
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


def _captured(
    model: Callable[..., Any], specs: Sequence[Any], inputs: Sequence[str] | None,
    outputs: Sequence[str] | None,
) -> tuple[str, dict[str, np.ndarray]]:  # fmt: skip
    names = _input_names(model, len(specs), inputs)
    capture = _Recorded()
    symbols = [capture.input(n, shape, t) for n, (shape, t) in zip(names, specs)]
    with capture:
        found = [_result(y, capture) for y in pytree.leaves(model(*symbols))]
    if capture.updates or not found:
        raise CallError("the program assigns to variables, or gives no tensors", code="nnef")
    results = list(outputs) if outputs is not None else _output_names(model, len(found), names)
    if len(results) != len(found) or len({*results, *names}) < len(results) + len(names):
        raise CallError(
            f"the program has {len(found)} outputs, and their names are {', '.join(results)}",
            code="arguments",
        )
    graph = GraphLines([*names, *results])
    values: dict[Node, Named] = {s.tensor: Named(n, s.shape, s.dtype) for n, s in zip(names, symbols)}
    heads = [
        f"{n} = external<{kind_of(t)}>(shape = {text_of(list(shape))});"
        for n, (shape, t) in zip(names, specs)
    ]
    _variables(model, capture, graph, values)
    _lines(capture, graph, values, [s.tensor for s in found])
    for s, name in zip(found, results):
        graph.output(values[s.tensor], name)
    body = "\n".join(f"    {line}" for line in (*heads, *graph.lines))
    return (
        f"version 1.0;\n\ngraph model({', '.join(names)}) -> ({', '.join(results)})\n{{\n{body}\n}}\n",
        graph.variables,
    )


def _result(value: object, capture: Capture) -> Symbolic:
    if isinstance(value, Symbolic):
        return value
    return capture.variable(value) if isinstance(value, Variable) else capture.constant(np.asarray(value))


def _input_names(model: Callable[..., Any], count: int, wished: Sequence[str] | None) -> list[str]:
    names = input_names(model, count, _is_identifier) if wished is None else list(wished)
    if len(names) != count or len(set(names)) < count or not all(map(_is_identifier, names)):
        raise CallError(
            f"the example has {count} arguments, and the inputs are {', '.join(names) or 'none'}",
            code="arguments",
        )
    return names


def _output_names(model: Callable[..., Any], count: int, inputs: Sequence[str]) -> list[str]:
    """The names in the model's file, if they differ from its inputs; else `y`, or `y0`, `y1`, ..."""
    own = output_names(model, count, _is_identifier)
    if own and len({*own, *inputs}) == count + len(inputs):
        return own
    return ["y"] if count == 1 else [f"y{k}" for k in range(count)]


def _is_identifier(name: str) -> bool:
    return name.isidentifier() and name.isascii()


def _variables(
    model: Callable[..., Any], capture: Capture, graph: GraphLines, values: dict[Node, Named]
) -> None:  # fmt: skip
    """Lines of the variables and constants of a program."""
    known = (*model.named_parameters(), *model.named_buffers()) if isinstance(model, Module) else ()
    labels: dict[Variable, str] = {v: n for n, v in known}
    for variable, tensor in capture.variables.items():
        label = labels.get(variable) or graph.name(variable.name)
        values[tensor] = graph.variable(label, readable(variable.held(), variable.dtype), variable.dtype)
    for tensor, array in capture.constants.items():
        held = load_array(array, tensor.dtype)
        if held.ndim == 0:
            values[tensor] = graph.number(held.item(), tensor.dtype)
        else:
            label = next(n for k in range(1 << 30) if (n := f"constant_{k}") not in graph.variables)
            values[tensor] = graph.variable(label, np.asarray(held), tensor.dtype)


def _lines(
    capture: _Recorded, graph: GraphLines, values: dict[Node, Named], results: Sequence[Node]
) -> None:  # fmt: skip
    """Lines of the calls that results depend on.

    Raises:
        CheckpointError: NNEF has no operations for some.
    """
    wanted, needed = set(results), []
    for e in reversed(capture.equations):
        assert isinstance(e, Invoke), "only gradients add equations"
        if wanted & set(e.targets):
            wanted.update(e.args)
            needed.append(e)
    lacking: dict[str, int] = {}
    for e in reversed(needed):
        try:
            found = call(graph, capture.operators.get(e), e.program, [values[t] for t in e.args])
            values.update(zip(e.targets, found))
        except (Inexpressible, KeyError) as error:
            if isinstance(error, Inexpressible):
                what = f"{e.program.name}: {error}"
                lacking[what] = lacking.get(what, 0) + 1
            elif not lacking:
                raise
    if lacking:
        raise CheckpointError(
            "the program has what NNEF has no operations for",
            code="nnef",
            notes=[f"{what}: {n} call{'s' * (n > 1)}" for what, n in sorted(lacking.items())],
        )


def _write(path: Path, text: str, variables: Mapping[str, np.ndarray], quantization: str = "") -> None:
    """A folder or an archive, there whole or not at all."""
    bad = [label for label in variables if not inside(label)]
    if bad:
        raise CheckpointError(f"`{bad[0]}` cannot be the name of a file", code="nnef")
    files = {GRAPH: text.encode(), **{f"{n}.dat": file_of(a, n) for n, a in variables.items()}}
    if quantization:
        files[QUANTIZATION] = quantization.encode()
    mode = next((m for ending, m in _ARCHIVES.items() if path.name.endswith(ending)), None)
    if mode is not None:
        held = io.BytesIO()
        with tarfile.open(fileobj=held, mode=mode) as tar:  # type: ignore[call-overload]
            for name, data in files.items():
                about = tarfile.TarInfo(name)
                about.size = len(data)
                tar.addfile(about, io.BytesIO(data))
        write_file(path, held.getvalue())
        return
    if path.exists():
        raise FileExistsError(f"{path} is there already: a model is a new folder, or a file `.tgz` or `.tar`")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as place:
        for name, data in files.items():
            target = Path(place, "model", name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        os.rename(Path(place, "model"), path)
