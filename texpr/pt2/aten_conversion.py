"""A graph of ATen's operators becomes a part of a captured program, node by node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from texpr.graph import Capture, Symbolic, Variable
from texpr.ir.dtypes import DType
from texpr.pt2.converters_of_aten import find, parameters
from texpr.pt2.names_in_memory import Memory, names_in, value_of
from texpr.pt2.program_text import Graph, Name, Node
from texpr.pt2.unknown_operators import UnknownOperators
from texpr.support.errors import CallError, CheckpointError, Error

DECOMPOSE = "save exported.run_decompositions(): it has no operators that work in place"

_PACKED = ("_pack_padded_sequence", "_pad_packed_sequence")
_PADDED = (
    "packed sequences are not read, since lengths are values of a tensor; let the network take padded "
    "sequences and a mask, and export it again"
)


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
            help=_PADDED
            if any(name.startswith(_PACKED) or name.endswith(".data") for name in lacking)
            else "the reference page `PyTorch archives` lists those that are read; save "
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
        given = [v.name for _, v in node.arguments[:1] if isinstance(v, Name)]
        self._first = graph.types.get(given[0]) if given else None

    def by_rows(self) -> bool:
        """True if PyTorch lays the first argument out by rows, from the start of its memory."""
        first = self._first
        if first is None or first.offset != 0 or len(first.strides) != len(first.dims):
            return False
        step = 1
        for n, s in zip(reversed(first.dims), reversed(first.strides)):
            if n != 1 and s != step or not isinstance(n, int):
                return False
            step *= n
        return True

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
        if self._seed is None:
            raise CallError(
                "Dropout in training mode inside of a loop draws the same numbers in every step",
                code="pt2",
                help="export model.eval()",
            )
        return self._seed()

    def graph(self, graph: Graph, names: dict[str, Any]) -> list[Any]:
        """The outputs of a graph.

        Args:
            names: the values of its inputs; it gets those of all nodes.
        """
        memory = Memory(graph, names, self._results)
        for k, node in enumerate(graph.nodes):
            try:
                for name in names_in([a for _, a in node.arguments]):
                    memory.refresh(name)
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
        for name in names_in(graph.outputs):
            memory.refresh(name)
        return [value_of(v, names) for v in graph.outputs]

    def _results(self, node: Node, graph: Graph, names: dict[str, Any]) -> Sequence[Any]:
        """The values of a node, one for each of its outputs."""
        found = find(node.operator)
        assert found is not None, "all operators were checked"
        given = {name: value_of(v, names) for name, v in node.arguments}
        results = found[0].convert(Call(self, node, graph), **given)
        several = len(node.outputs) == 1 and isinstance(node.outputs[0], list)
        return results if several or isinstance(results, tuple) else (results,)

    def _node(self, node: Node, k: int, graph: Graph, names: dict[str, Any], memory: Memory) -> None:
        found = find(node.operator)
        assert found is not None, "all operators were checked"
        converter, in_place = found
        results = self._results(node, graph, names)
        first = next((v.name for _, v in node.arguments[:1] if isinstance(v, Name)), None)
        if in_place:
            if first is None:
                raise TypeError("its first argument, in which it works, is no tensor")
            results = (self._written(first, results[0], k, names, memory, Call(self, node, graph)),)
        outputs = node.outputs
        if len(outputs) == 1 and isinstance(outputs[0], list):
            outputs = outputs[0]
        for place, (name, value) in enumerate(zip(outputs, results)):
            if not isinstance(name, str):
                continue
            names[name] = value
            if first is not None and in_place:
                memory.alias(name, first, node)
            elif first is not None:
                memory.share(name, first, node, place, converter)

    def _written(
        self, name: str, value: Any, k: int, names: dict[str, Any], memory: Memory, call: Call
    ) -> Any:
        """Let a tensor that an operator works in have its result, and what it is a part of.

        Raises:
            CallError: an input or a parameter would change, or a name that cannot be followed.
        """
        before = names[name]
        if isinstance(before, Symbolic):
            value = value.astype(before.dtype).broadcast_to(before.shape)
        lost = memory.unfollowed(name, k, self.fixed | set(self.buffers))
        if lost is not None:
            raise call.refuse(
                f"it writes into `{name}`, which may lie in the memory of `{lost}`", help=DECOMPOSE
            )
        whole = memory.write(name, value)
        self.assign(whole, names[whole], call)
        return value

    def assign(self, name: str, value: Any, call: Call) -> None:
        """Let a buffer have a value after the program.

        Raises:
            CallError: it is an input or a parameter.
        """
        if name in self.fixed:
            raise call.refuse(
                f"it writes into the memory of `{name}`, an input or a parameter",
                help="let the network write into a copy, x.clone(), and export it again",
            )
        if name in self.buffers:
            self.capture.assign(self.buffers[name], value)

    def inside(self, names: dict[str, Any], capture: Capture | None = None) -> Run:
        """For a graph that is an argument: its inputs are values, which it may not write into.

        Args:
            capture: of a graph that is a program of its own, where no seeds are given.
        """
        return Run(capture or self.capture, {}, frozenset(names), None if capture else self._seed)
