"""Functions of tensors inside of another computation: run once on symbolic arguments, to become a
program that is called, mapped or repeated there.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from texpr import ops
from texpr.compiler import Op
from texpr.graph.arrays.recording import active_capture
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.capture.variable import Variable
from texpr.graph.execution.placement import to_host
from texpr.graph.lazy.lazy_tensor import Tensor, apply_program, leaf_of
from texpr.graph.lazy.making import tensor
from texpr.graph.lazy.pytrees import Tree, flattened
from texpr.graph.lazy.tracing import Tracing
from texpr.ir import expr
from texpr.ir.dtypes import DType
from texpr.ir.printing.tensor import show_program
from texpr.ir.shapes import Shape
from texpr.ir.tensor import Program
from texpr.support.errors import CallError
from texpr.support.forks import held_over_forks
from texpr.support.frozen_dataclass import frozen

MOST_PROGRAMS = 512
_programs: OrderedDict[str, Program] = OrderedDict()
_lock = held_over_forks(threading.RLock())


class Inner(Tracing):
    """A capture of a function whose tensors from outside are inputs of its program.

    Attributes:
        outside: these tensors, in the order of the inputs behind the function's arguments.
        depth: how many captures this one is inside of.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        around = active_capture.get()
        self.depth = 1 if around is None else around.depth + 1
        self.outside: list[Any] = []
        self._found: dict[int, tuple[Any, Symbolic]] = {}

    def note_arguments(self, arguments: Sequence[Symbolic]) -> None:
        """Remember what the arguments are at first."""
        self._arguments = [(x, x.tensor) for x in arguments]

    def lift(self, x: Any) -> Any:
        """A tensor from outside as an input; a number or anything else as it is."""
        if isinstance(x, Symbolic) and x.capture is not self or isinstance(x, Tensor):
            key = id(x.tensor) if isinstance(x, Symbolic) else id(x)
            if key not in self._found:
                self._found[key] = x, self.input("outside", x.shape, x.dtype)
                self.outside.append(x)
            return self._found[key][1]
        return super().lift(x)

    def _argument(self, operator: Op, formal: expr.Tensor, value: object) -> Symbolic:
        return super()._argument(operator, formal, self.lift(value) if isinstance(value, Symbolic) else value)


@frozen
class Body:
    """The computation of a function of tensors, for arguments of these shapes and dtypes.

    Attributes:
        program: its inputs are the arguments, then `outside`.
        outside: tensors and variables that the function takes from outside of it.
        results: how what it returned is nested.
        leaves: for each leaf of that, the position of the output that it is, or its value where it
            is no tensor.
    """

    program: Program
    outside: tuple[Any, ...]
    results: Tree
    leaves: tuple[int | Static, ...]

    def nested(self, outputs: Sequence[Any]) -> Any:
        """The results, nested as the function returned them."""
        return self.results.built(iter([outputs[x] if isinstance(x, int) else x.value for x in self.leaves]))

    @property
    def tensors_only(self) -> bool:
        """True if all leaves are tensors."""
        return all(isinstance(x, int) for x in self.leaves)


@frozen
class Static:
    """A result that is no tensor."""

    value: Any


@frozen
class Spec:
    """An argument: its shape and dtype; `weak` numbers take the dtype of what they meet."""

    shape: Shape
    dtype: DType
    weak: bool = False


def traced(
    what: str,
    function: Callable[..., Any],
    specs: Sequence[Spec],
    arguments: Callable[[list[Any]], tuple],
    apart: bool = False,
) -> Body:
    """Run a function once on tensors without values.

    Args:
        what: what asks for it, for messages: `vmap`.
        arguments: from symbolic tensors like `specs`, the function's arguments.
        apart: each result is an output of its own, also where two are the same tensor.
    Raises:
        CallError: it assigns to variables, to elements of its arguments, or sets gradients of
            parameters; it asks for values.
    """
    name = name_of(function)
    capture = Inner(name)
    with capture:
        leaves = [capture.input("x", s.shape, s.dtype) for s in specs]
        for leaf, spec in zip(leaves, specs):
            leaf.weak = spec.weak
        capture.note_arguments(leaves)
        returned = function(*arguments(leaves))
        found: list[Any] = []
        tree = flattened(returned, found)
        values = [_result(capture, x) for x in found]
        values = _apart(values) if apart else values
    _refuse_effects(what, name, capture)
    outputs: dict[expr.Tensor, int] = {}
    kinds = tuple(
        outputs.setdefault(v.tensor, len(outputs)) if isinstance(v, Symbolic) else Static(v) for v in values
    )
    program = interned(capture.differentiable(tuple(outputs)))
    constants = [Tensor(a.shape, t.dtype, a) for t, a in capture.constants.items()]
    return Body(program, (*capture.outside, *capture.variables, *constants), tree, kinds)


def _result(capture: Inner, x: Any) -> Any:
    """A result as a tensor of its own, where it is one; numbers and arrays are tensors too."""
    if type(x) in (bool, int, float):
        x = np.asarray(x)
    lifted = capture.lift(x)
    return capture.own_result(lifted) if isinstance(lifted, Symbolic) else x


def _apart(values: Sequence[Any]) -> list[Any]:
    """The results, of which no two are one tensor."""
    seen: set[expr.Tensor] = set()
    made: list[Any] = []
    for x in values:
        if isinstance(x, Symbolic):
            x = ops.copy(x) if x.tensor in seen else x
            seen.add(x.tensor)  # type: ignore[union-attr]
        made.append(x)
    return made


def _refuse_effects(what: str, name: str, capture: Inner) -> None:
    if capture.updates:
        changed = next(iter(capture.updates))
        raise CallError(
            f"{what}: {name} assigns to the variable `{changed.name}`",
            code="symbolic",
            help="return the new value, and assign it outside; or put modules in evaluation mode: .eval()",
        )
    if capture.gradients_of:
        raise CallError(
            f"{what}: {name} sets gradients of parameters",
            code="symbolic",
            help="ask for gradients of arguments: x.requires_grad_(), and return x.grad",
        )
    if capture.assigned():
        raise CallError(
            f"{what}: {name} assigns to elements of its arguments",
            code="symbolic",
            help="work on a copy: x = x.copy()",
        )


def interned(program: Program) -> Program:
    """The same program for the same text: plans are found by it."""
    text = show_program(program, with_callees=True)
    with _lock:
        known = _programs.setdefault(text, program)
        _programs.move_to_end(text)
        if len(_programs) > MOST_PROGRAMS:
            _programs.popitem(last=False)
        return known


def apply(program: Program, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """A call of a program, on lazy tensors or in the program that is captured.

    Raises:
        CallError: shapes that do not fit.
    """
    capture: Any = active_capture.get() or next(
        (a.capture for a in arguments if isinstance(a, Symbolic)), None
    )
    if capture is None:
        return apply_program(program, tuple(leaf_of(a) if isinstance(a, Variable) else a for a in arguments))
    return capture.call(program, [_in_capture(capture, a) for a in arguments])


def _in_capture(capture: Any, x: Any) -> Symbolic:
    """An argument in a program that is captured."""
    if isinstance(x, Variable):
        return capture.latest(x)
    found = capture.lift(x)
    if isinstance(found, Tensor):
        return capture.constant(to_host(found.realize().value), dtype=found.dtype)
    return found


def as_operand(what: str, x: Any) -> Any:
    """An argument as a tensor; symbolic ones and variables as they are.

    Raises:
        CallError: it is no array and no number.
    """
    if isinstance(x, Symbolic | Tensor):
        return x
    if isinstance(x, Variable):
        return x.as_tensor()
    if x is None or isinstance(x, str | bytes | set):
        raise CallError(f"{what}: {x!r:.40} is no array", code="arguments", help="pass tensors and arrays")
    return tensor(x)


def is_number(x: Any) -> bool:
    """True for a number of Python."""
    return type(x) in (bool, int, float)


def name_of(function: Callable[..., Any]) -> str:
    """A function's name, for messages and programs."""
    return getattr(function, "__name__", type(function).__name__)
