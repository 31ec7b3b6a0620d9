"""An exported program of PyTorch as a module: its parameters and buffers are the archive's, its
graph is what it computes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import texpr.pt2.aten  # noqa: F401  fills the table
from texpr.graph import Symbolic, active_capture
from texpr.graph.lazy import Tensor
from texpr.ir.dtypes import DType, as_bits, from_numpy, int_range, numpy_dtype, readable, stored
from texpr.nn import Buffer, Module, Parameter, Seeded
from texpr.pt2.aten_conversion import Run, check_known
from texpr.pt2.json_reading import Json
from texpr.pt2.names_in_memory import value_of
from texpr.pt2.program_text import Input, Name, Nesting, Node, ProgramText, program_text
from texpr.pt2.weights import TensorType, Weights
from texpr.pt2.zip_members import Members
from texpr.support.errors import CallError, CheckpointError
from texpr.support.frozen_dataclass import frozen
from texpr.support.tracebacks import boundary


@boundary
def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview, model: str | None = None
) -> ExportedModule:
    """Module of an archive that `torch.export.save` has written (`.pt2`); PyTorch is not needed.

    Args:
        source: a path, or the bytes of an archive.
        model: the name of one of its programs, where it has several.
    Raises:
        CheckpointError: the archive is damaged, of PyTorch 2.7 or older, or has pickled values.
        UnknownOperators: the program needs operators that texpr does not read; all are listed.
        ResourceError: it is larger or nested deeper than the limits.
        OSError: the file cannot be read.
    Example:
        >>> import torch
        >>> network = torch.nn.Linear(3, 2).eval()
        >>> program = torch.export.export(network, (torch.zeros(4, 3),))
        >>> torch.export.save(program, "linear.pt2")
        >>> loaded = tx.pt2.load("linear.pt2")
        >>> loaded(np.zeros((4, 3), np.float32)).shape
        (4, 2)
    """
    members = Members(source)
    name = _chosen(members, model)
    place = f"models/{name}.json"
    text = program_text(Json.of(members.text(place), f"{members.path}, {place}"))
    check_known(text.graph, members.path)
    return ExportedModule(text, Weights(members, name))


def _chosen(members: Members, model: str | None) -> str:
    """The name of the program to read."""
    names = [n.removesuffix(".json") for n in members.names("models/") if n.endswith(".json")]
    if not names:
        compiled = members.names("data/aotinductor/")
        raise members.damaged(
            "it has compiled code of AOTInductor and no graph" if compiled else "it has no models/*.json",
            help="torch.export.save writes the graph",
        )
    if model is None and len(names) > 1:
        raise CallError(
            f"{members.path} has the programs {', '.join(names)}", code="arguments", help="say model=..."
        )
    if model is not None and model not in names:
        raise CallError(f"{members.path} has no program `{model}`, but {', '.join(names)}", code="arguments")
    return model or names[0]


class ExportedModule(Module):
    """Module that `load` gives: called with the arguments that the PyTorch module was exported
    with, by position or by name, it gives results that are nested like that one's.

    Its parameters and buffers have the names of the PyTorch module; a weight that stands there
    under two names is one here too. Whether layers such as BatchNorm train is part of the program.

    Attributes:
        arguments: names of the arguments, as far as the archive says them.
        nodes: number of operators in the program's graph.
    Raises:
        CallError: in a call, arguments that are missing, unknown or do not fit the program.
    Example:
        >>> import torch
        >>> program = torch.export.export(torch.nn.Linear(3, 2), (torch.zeros(4, 3),))
        >>> torch.export.save(program, "linear.pt2")
        >>> loaded = tx.pt2.load("linear.pt2")
        >>> loaded.arguments, list(loaded.state_dict())
        (('input',), ['weight', 'bias'])
    """

    def __init__(self, text: ProgramText, weights: Weights) -> None:
        super().__init__()
        self._text, self.arguments, self.nodes = text, text.names, len(text.graph.nodes)
        self._names: dict[str, str] = {}
        """Names of parameters and buffers, by their names in the graph."""
        self._constants: dict[str, tuple[np.ndarray, DType]] = {}
        self._user = [i for i in text.inputs if i.kind in ("user_input", "constant_input")]
        made: dict[int, Parameter | Buffer] = {}
        for given in text.inputs:
            if given not in self._user:
                self._register(given, weights, made)
        found = sum(_leaves(n) for n in self._containers())
        if found != len(self._user):
            raise CheckpointError(
                f"the program has {len(self._user)} inputs and its arguments {found} values", code="pt2"
            )
        self._exported = self.dtype
        self._seeds = Seeded() if any(map(_draws, text.graph.all_nodes())) else None
        self.eval()

    def _register(self, given: Input, weights: Weights, made: dict[int, Any]) -> None:
        array, dtype = weights.read(given.named, given.place)
        if given.kind == "tensor_constant":
            self._constants[given.arg.name] = array, dtype
            return
        declared = self._text.graph.types.get(given.arg.name)
        fits = declared is not None and (declared.dtype, declared.dims) == (dtype, array.shape)
        if not fits:
            raise given.place.refuse(
                f"`{given.named}` has values {dtype}{list(array.shape)}, not as declared"
            )
        self._names[given.arg.name] = given.named
        if id(array) not in made:
            trained = declared is not None and declared.trained
            made[id(array)] = (
                Parameter(array, trained, given.named, dtype)
                if given.kind == "parameter" and dtype.is_float
                else Buffer(array, given.persistent or given.kind == "parameter", given.named, dtype)
            )
        variable = made[id(array)]
        table: dict[str, Any] = self._parameters if isinstance(variable, Parameter) else self._buffers
        table[given.named] = variable

    def _containers(self) -> tuple[Nesting, Nesting]:
        """Nestings of arguments by position and by name."""
        whole = self._text.arguments
        if whole.kind != "tuple" or len(whole.children) != 2 or whole.children[1].kind != "dict":
            raise CheckpointError("the program's arguments are no pair of a tuple and a dict", code="pt2")
        return whole.children[0], whole.children[1]

    def _input_dtype(self) -> None:
        """Inputs have the dtypes that the program declares."""

    def _example_dtypes(self, count: int) -> Sequence[DType | None]:
        types = {n: self._now(self._text.graph.types[n].dtype) for n in self._tensor_names()}
        found = [types.get(i.arg.name) if isinstance(i.arg, Name) else None for i in self._user]
        return [*(d if d is not None and d.is_float else None for d in found), *[None] * count][:count]

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The results.

        Raises:
            CallError: arguments are missing, nested otherwise, of another dtype, or their extents
                are not those of the program; a number that is part of the program is another one.
        """
        if isinstance(named.get("sizes"), _Sizes):  # arguments that were taken apart before
            return super().__call__(*inputs, **named)
        leaves = self._flat(inputs, named)
        tensors, numbers = [], []
        for given, value in zip(self._user, leaves):
            if given.kind == "constant_input" or not isinstance(given.arg, Name):
                self._check_constant(given, value)
            elif given.arg.name in self._text.graph.types:
                tensors.append(self._taken(given.arg.name, value))
            else:
                numbers.append((given.arg.name, self._size(given.arg.name, value)))
        self._check_dims(tensors)
        return super().__call__(*tensors, sizes=_Sizes(tuple(numbers)))

    def forward(self, *tensors: Any, sizes: _Sizes) -> Any:
        """The graph on symbolic tensors."""
        capture: Any = next((x.capture for x in tensors if isinstance(x, Symbolic)), active_capture.get())
        assert capture is not None
        names: dict[str, Any] = dict(sizes.known)
        names |= dict(zip(self._tensor_names(), tensors))
        buffers = {n: self._buffers[v] for n, v in self._names.items() if v in self._buffers}
        for name, full in self._names.items():
            names[name] = capture.latest(
                self._parameters[full] if full in self._parameters else buffers[name]
            )
        for name, (array, dtype) in self._constants.items():
            names[name] = capture.constant(self._converted(array, dtype), "constant", self._now(dtype))
        fixed = frozenset(n for n in names if n not in buffers and n not in self._constants)
        seed = partial(self._seeds.next_seed, capture) if self._seeds is not None else None
        Run(capture, buffers, fixed, seed).graph(self._text.graph, names)
        for output in self._text.outputs:
            if output.kind == "buffer_mutation" and output.named in self._buffers:
                capture.assign(self._buffers[output.named], value_of(output.arg, names))
        found = [value_of(o.arg, names) for o in self._text.outputs if o.kind == "user_output"]
        return _nested(self._text.results, iter(found))

    def _tensor_names(self) -> list[str]:
        return [
            i.arg.name
            for i in self._user
            if i.kind == "user_input" and isinstance(i.arg, Name) and i.arg.name in self._text.graph.types
        ]

    def _now(self, dtype: DType) -> DType:
        """A dtype of the program, in a module that was converted to another one."""
        return self.dtype or dtype if dtype == self._exported else dtype

    def _converted(self, array: np.ndarray, dtype: DType) -> np.ndarray:
        now = self._now(dtype)
        return array if now == dtype else stored(readable(array, dtype), now)

    def _flat(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The values of all arguments in the program's order."""
        by_place, by_name = self._containers()
        count, names = len(by_place.children), list(self.arguments)
        given = dict(named)
        if len(inputs) > count:
            raise CallError(f"the program takes {count} arguments and got {len(inputs)}", code="arguments")
        values = list(inputs)
        for k in range(len(values), count):
            if k >= len(names) or names[k] not in given:
                missing = f"`{names[k]}`" if k < len(names) else f"argument {k}"
                others = ", ".join(n for n in given if n not in (*names, *by_name.keys))
                raise CallError(
                    f"the program needs {missing}" + (f", and got {others}" if others else ""),
                    code="arguments",
                    help=self._usage(),
                )
            values.append(given.pop(names[k]))
        if set(given) != set(by_name.keys):
            others = ", ".join(sorted(set(given) ^ set(by_name.keys)))
            raise CallError(
                f"arguments by name are not those of the program: {others}",
                code="arguments",
                help=self._usage(),
            )
        found: list[Any] = []
        for k, (nesting, value) in enumerate(zip(by_place.children, values)):
            _flatten(nesting, value, names[k] if k < len(names) else f"argument {k}", found)
        for key, nesting in zip(by_name.keys, by_name.children):
            _flatten(nesting, given[key], key, found)
        return found

    def _usage(self) -> str:
        return f"its arguments: {', '.join(self.arguments)}" if self.arguments else ""

    def _check_constant(self, given: Input, value: Any) -> None:
        if value != given.arg or type(value) is bool and given.arg is not value:
            raise CallError(
                f"`{given.named or 'an argument'}` was {given.arg!r} when the program was exported and is "
                f"{value!r}",
                code="arguments",
                help="numbers, texts and None are part of a program; export it with the other value",
            )

    def _size(self, name: str, value: Any) -> int:
        if type(value) is not int:
            raise CallError(f"`{name}` is a {type(value).__name__}, expected an int", code="arguments")
        return value

    def _taken(self, name: str, value: Any) -> Any:
        """A tensor that is given, in the declared dtype."""
        wanted = self._now(self._text.graph.types[name].dtype)
        if isinstance(value, Symbolic | Tensor):
            found = value.dtype
            if found == wanted:
                return value
        else:
            array = np.asarray(value)
            found = from_numpy(array.dtype)
            if found == wanted:
                return value
            if found is not None and _fits(array, found, wanted):
                return readable(stored(readable(as_bits(array, found), found), wanted), wanted)
        raise CallError(
            f"input `{name}` is {found or np.asarray(value).dtype}, the program declares {wanted}",
            code="dtype",
            help=f'convert it: x.astype("{numpy_dtype(wanted)}")',
        )

    def _check_dims(self, tensors: Sequence[Any]) -> None:
        """Extents must be the declared ones, those of one symbol the same and within its range."""
        sizes: dict[str, tuple[int, str]] = {}
        for name, tensor in zip(self._tensor_names(), tensors):
            declared, shape = self._text.graph.types[name], tuple(np.shape(tensor))
            if not _agrees(declared, shape):
                raise CallError(
                    f"input `{name}` has shape {list(shape)}, the program declares "
                    f"[{', '.join('?' if d is None else str(d) for d in declared.dims)}]",
                    code="shape",
                    help="export with dynamic_shapes for extents that vary"
                    if len(shape) == len(declared.dims)
                    else f"give it {len(declared.dims)} axes",
                )
            for d, n in zip(declared.dims, shape):
                if isinstance(d, str):
                    self._check_symbol(d, n, sizes.setdefault(d, (n, name)), name)

    def _check_symbol(self, symbol: str, n: int, before: tuple[int, str], name: str) -> None:
        if before[0] != n:
            raise CallError(
                f"dimension {symbol} is {before[0]} in `{before[1]}` and {n} in `{name}`", code="shape"
            )
        least, most = self._text.ranges.get(symbol, (None, None))
        if (least is not None and n < least) or (most is not None and n > most):
            raise CallError(
                f"dimension {symbol} of `{name}` is {n}; the program was exported for "
                f"{0 if least is None else least} to {'any' if most is None else most}",
                code="shape",
            )

    def extra_repr(self) -> str:
        return f"{', '.join(self.arguments)}, {self.nodes} nodes"


@frozen
class _Sizes:
    """Arguments that are integers, by their names in the graph: parts of the program."""

    known: tuple[tuple[str, int], ...]


def _draws(node: Node) -> bool:
    """True if a node is Dropout in training mode."""
    return node.operator.startswith(("dropout", "native_dropout")) and ("train", True) in node.arguments


def _fits(array: np.ndarray, found: DType, wanted: DType) -> bool:
    """True if an array's numbers can be of the other dtype."""
    if found.is_float or wanted.is_float:
        return found.is_float and wanted.is_float
    if not (found.is_int and wanted.is_int):
        return False
    lo, hi = int_range(wanted)
    return not array.size or bool(lo <= int(array.min()) and int(array.max()) <= hi)


def _agrees(declared: TensorType, shape: tuple[int, ...]) -> bool:
    return len(shape) == len(declared.dims) and all(
        not isinstance(d, int) or d == n for d, n in zip(declared.dims, shape)
    )


def _leaves(nesting: Nesting) -> int:
    return 1 if nesting.kind == "leaf" else sum(map(_leaves, nesting.children))


def _flatten(nesting: Nesting, value: Any, name: str, found: list[Any]) -> None:
    """The values of a container in order.

    Raises:
        CallError: it is another container.
    """
    if nesting.kind == "leaf":
        found.append(value)
        return
    if nesting.kind == "dict":
        if not isinstance(value, Mapping) or set(value) != set(nesting.keys):
            raise CallError(
                f"`{name}` was a dict of {', '.join(map(str, nesting.keys))} when the program was exported",
                code="arguments",
            )
        values: Sequence[Any] = [value[k] for k in nesting.keys]
    elif isinstance(value, tuple | list) and len(value) == len(nesting.children):
        values = value
    else:
        raise CallError(
            f"`{name}` had {len(nesting.children)} values when the program was exported", code="arguments"
        )
    for k, (child, v) in enumerate(zip(nesting.children, values)):
        _flatten(child, v, f"{name}[{nesting.keys[k] if nesting.kind == 'dict' else k}]", found)


def _nested(nesting: Nesting, values: Iterator[Any]) -> Any:
    """Values in containers; those of classes that texpr does not know are dicts where their fields
    have names, and tuples otherwise.
    """
    if nesting.kind == "leaf":
        return next(values, None)
    found = [_nested(c, values) for c in nesting.children]
    if nesting.kind != "tuple" and nesting.keys:
        return dict(zip(nesting.keys, found))
    return found if nesting.kind == "list" else tuple(found)
