"""The table of operations: for each one that is not defined by others, a function that computes it by
operators of texpr.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from texpr.graph import Capture, Symbolic
from texpr.ir.dtypes import DType
from texpr.nnef.graph_values import Known, literal_tensor
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen


@frozen
class Entry:
    """An operation.

    Attributes:
        convert: takes the `Operation` and its arguments by name, gives its results: one, or a tuple.
        numbers: it takes numbers as they are instead of as tensors.
        raw: it takes all arguments as they are, and is not computed now where they are constants.
    """

    convert: Callable[..., Any]
    numbers: bool = False
    raw: bool = False


OPERATIONS: dict[str, Entry] = {}


def operation(*names: str, numbers: bool = False, raw: bool = False) -> Callable[..., Any]:
    """Enter a function in the table."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            assert name not in OPERATIONS, f"{name} is there already"
            OPERATIONS[name] = Entry(function, numbers, raw)
        return function

    return enter


class Operation:
    """A call of an operation while it is converted.

    Attributes:
        name, generic: of the operation, and the type that is written behind it.
        evaluation: of the graph.
    """

    def __init__(self, name: str, generic: str, capture: Capture, evaluation: Any) -> None:
        self.name, self.generic, self.capture, self.evaluation = name, generic, capture, evaluation

    def refuse(self, message: str, help: str = "") -> CallError:  # noqa: A002
        """An error that names the operation."""
        return CallError(f"{self.name}: {message}", code="nnef", help=help)

    def tensor(self, value: Any, like: DType | None = None) -> Symbolic:
        """A value as a tensor of the program."""
        if isinstance(value, Symbolic):
            return value
        known = value if isinstance(value, Known) else literal_tensor(value, like)
        return self.capture.constant(known.array, "constant", known.dtype)

    def axis(self, given: int, rank: int) -> int:
        """An axis counted from the first one.

        Raises:
            CallError: there is no such axis.
        """
        if not isinstance(given, int) or not -rank <= given < rank:
            raise self.refuse(f"axis {given} of {rank}")
        return given % rank

    def axes(self, given: Sequence[int], rank: int) -> tuple[int, ...]:
        """Axes counted from the first one, each once, in order."""
        found = sorted({self.axis(a, rank) for a in given})
        if len(found) != len(given):
            raise self.refuse(f"axes {list(given)} name one twice")
        return tuple(found)

    def word(self, name: str, value: str, *words: str) -> str:
        """A text that is one of a few words.

        Raises:
            CallError: it is another one.
        """
        if value not in words:
            raise self.refuse(f"{name} is `{value}`; {', '.join(words)} are read")
        return value
