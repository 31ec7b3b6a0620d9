"""A graph of ATen's operators becomes a part of a captured program, node by node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from texpr.graph import Capture, Symbolic, Variable
from texpr.ir.dtypes import DType
from texpr.pt2.converters_of_aten import Converter, find, parameters
from texpr.pt2.program_text import Graph, Name, Node
from texpr.pt2.unknown_operators import UnknownOperators
from texpr.support.errors import CallError, CheckpointError, Error

DECOMPOSE = "save exported.run_decompositions(): it has no operators that work in place"


def check_known(graph: Graph, path: str) -> None:
    """Refuse a program that needs what the table does not have; everything is listed.

    Raises:
        UnknownOperators: it does.
    """
    lacking: dict[str, int] = {}
    for node in graph.all_nodes():
        found = find(node.operator)
        text = node.operator
        if found is not None:
            known, anything = parameters(found[0])
            others = [n for n, _ in node.arguments if n not in known and not anything]
            if not others:
                continue
            text += f" with the argument `{others[0]}`"
        lacking[text] = lacking.get(text, 0) + 1
    if lacking:
        raise UnknownOperators(
            f"{path} needs operators that texpr does not read",
            code="pt2",
            notes=[f"{name}: {n} node{'s' * (n > 1)}" for name, n in sorted(lacking.items())],
            help="the reference page `PyTorch archives` lists those that are read; save "
            "exported.run_decompositions(), which needs fewer",
        )


class Call:
    """A node while it is converted.

    Attributes:
        capture: what the operators are recorded by.
        declared: the dtype that the program says of the first output; None for numbers.
    """

    def __init__(self, run: Run, node: Node, graph: Graph) -> None:
        self.run, self.node, self.capture = run, node, run.capture
        first = node.outputs[0] if node.outputs else None
        first = first[0] if isinstance(first, list) and first else first
        known = graph.types.get(first) if isinstance(first, str) else None
        self.declared = None if known is None else known.dtype
        self.count = len(node.outputs)

    def constant(self, array: Any, dtype: DType | None = None) -> Any:
        """An array as a tensor of the program."""
        return self.capture.constant(np.asarray(array), "constant", dtype)

    def assign(self, name: str, value: Any) -> None:
        """Let the buffer that an argument is have another value after the program."""
        given = dict(self.node.arguments).get(name)
        if isinstance(given, Name):
            self.run.assign(given.name, value, self)

    def refuse(self, message: str, help: str = "") -> CallError:  # noqa: A002
        """An error that names the operator."""
        return CallError(f"{self.node.operator}: {message}", code="pt2", help=help)


class Run:
    """The nodes of a program in one capture.

    Attributes:
        buffers: variables that the program may change, by their names in the graph.
        fixed: names of what the program may not change: inputs and parameters.
        seed: gives a seed of random numbers that no other use has; None where no node draws.
    """

    def __init__(
        self,
        capture: Capture,
        buffers: Mapping[str, Variable],
        fixed: frozenset[str],
        seed: Callable[[], Any] | None,
    ) -> None:
        self.capture, self.buffers, self.fixed, self._seed = capture, buffers, fixed, seed

    def next_seed(self) -> Any:
        """A seed of random numbers."""
        assert self._seed is not None, "the program has no node that draws"
        return self._seed()

    def graph(self, graph: Graph, names: dict[str, Any]) -> list[Any]:
        """The outputs of a graph.

        Args:
            names: the values of its inputs; it gets those of all nodes.
        """
        memory = _Memory(graph)
        for k, node in enumerate(graph.nodes):
            try:
                self._node(node, k, graph, names, memory)
            except Error as error:
                error.notes = (*error.notes, f"in node {k}, {node}")
                raise
            except (TypeError, AttributeError, IndexError, ValueError, ZeroDivisionError) as error:
                raise CheckpointError(
                    f"node {k}, {node}, has arguments that do not fit it: {error}",
                    code="pt2",
                    help="the program is damaged; export it again",
                ) from error
        return [value_of(v, names) for v in graph.outputs]

    def _node(self, node: Node, k: int, graph: Graph, names: dict[str, Any], memory: _Memory) -> None:
        found = find(node.operator)
        assert found is not None, "all operators were checked"
        converter, in_place = found
        call = Call(self, node, graph)
        given = {name: value_of(v, names) for name, v in node.arguments}
        results = converter.convert(call, **given)
        first = next((v.name for _, v in node.arguments[:1] if isinstance(v, Name)), None)
        if in_place:
            assert first is not None
            results = self._written(first, results, k, names, memory, call)
        outputs = results if isinstance(results, tuple) else (results,)
        if len(node.outputs) == 1 and isinstance(node.outputs[0], list):
            outputs = (list(results),)
        for name, value in zip(node.outputs, outputs):
            self._named(name, value, names)
            for each in name if isinstance(name, list) else [name]:
                if first is not None and isinstance(each, str):
                    memory.share(each, first, converter, in_place)

    def _named(self, name: Any, value: Any, names: dict[str, Any]) -> None:
        if isinstance(name, list):
            names.update(zip(name, value))
        elif isinstance(name, str):
            names[name] = value

    def _written(
        self, name: str, value: Any, k: int, names: dict[str, Any], memory: _Memory, call: Call
    ) -> Any:
        """Let a tensor that an operator works in have its result, under all its names.

        Raises:
            CallError: names of other parts of its memory are read later.
        """
        before = names[name]
        if isinstance(before, Symbolic):
            value = value.astype(before.dtype).broadcast_to(before.shape)
        same, parts = memory.family(name)
        later = [n for n in parts if memory.last_read.get(n, -1) > k]
        if later:
            raise call.refuse(f"it writes into `{name}`, of which `{later[0]}` is a part", help=DECOMPOSE)
        for other in same:
            names[other] = value
            self.assign(other, value, call)
        return value

    def assign(self, name: str, value: Any, call: Call) -> None:
        """Let a buffer have a value after the program.

        Raises:
            CallError: it is an input or a parameter.
        """
        if name in self.fixed:
            raise call.refuse(f"it writes into `{name}`, an input or a parameter", help=DECOMPOSE)
        if name in self.buffers:
            self.capture.assign(self.buffers[name], value)


class _Memory:
    """Names of tensors that share memory in PyTorch.

    Attributes:
        last_read: the last node that reads a name.
    """

    def __init__(self, graph: Graph) -> None:
        self._whole: dict[str, str] = {}
        self._root: dict[str, str] = {}
        self.last_read: dict[str, int] = {}
        for k, node in enumerate(graph.nodes):
            self.last_read |= {n: k for n in _names([a for _, a in node.arguments])}
        self.last_read |= dict.fromkeys(_names(graph.outputs), len(graph.nodes))

    def share(self, name: str, first: str, converter: Converter, in_place: bool) -> None:
        """Note that a result lies where the first argument lies, or in a part of it."""
        if in_place or converter.same:
            self._whole[name] = self._whole.get(first, first)
        if in_place or converter.same or converter.view:
            self._root[name] = self._root.get(first, first)

    def family(self, name: str) -> tuple[list[str], list[str]]:
        """Names of the same tensor, and those of other parts of its memory."""
        whole, root = self._whole.get(name, name), self._root.get(name, name)
        same = [whole, *(n for n, w in self._whole.items() if w == whole)]
        parts = [n for n in (root, *(n for n, r in self._root.items() if r == root)) if n not in same]
        return same, parts


def _names(values: Sequence[Any]) -> list[str]:
    found: list[str] = []
    for v in values:
        if isinstance(v, Name):
            found.append(v.name)
        elif isinstance(v, list):
            found += _names(v)
    return found


def value_of(given: Any, names: Mapping[str, Any]) -> Any:
    """An argument with the values of its names.

    Raises:
        CheckpointError: nothing gives a value to a name.
    """
    if isinstance(given, Name):
        if given.name not in names:
            raise CheckpointError(f"`{given.name}` is read before anything computes it", code="pt2")
        return names[given.name]
    return [value_of(v, names) for v in given] if isinstance(given, list) else given
