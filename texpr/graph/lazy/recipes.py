"""Calls of tensors' methods as they were recorded before: found by method, shapes and dtypes.

A method composes the text of an operator, looks its program up and computes the shapes of results:
tens of microseconds. The first call with operands of some shapes and dtypes is observed
(`Observation`); if all it did was to apply programs to its operands, to numbers and to their
results, that is kept as a `Recipe`, and later calls make the same nodes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from struct import pack
from typing import Any, ClassVar

import numpy as np

from texpr.graph.capture.capture import bind_call
from texpr.ir.dtypes import DType
from texpr.ir.shapes import Shape, caller_shape
from texpr.ir.tensor import Program
from texpr.runtime.gpu import HOST

MOST = 4096
"""Recipes that are kept; then all are forgotten."""
_STATIC = frozenset((int, bool, str, type(None)))
"""Types of arguments that are part of the key by their values."""

_PLACES = frozenset((int, type(None)))

OPERAND = -1
_CONSTANT = -2
Source = tuple[int, int, DType | None] | Any
"""The origin of an argument: operand k is (OPERAND, k), result k of call n is (n, k); with the dtype
that a number becomes. A tensor stands for itself: a number that the key determines.
"""


class Spec:
    """A shape and a dtype of tensors on the host: one object of each, so that keys are compared by
    identity.
    """

    __slots__ = ("dtype", "is_float", "shape")
    known: ClassVar[dict[tuple[Shape, DType], Spec]] = {}

    def __init__(self, shape: Shape, dtype: DType) -> None:
        self.shape, self.dtype, self.is_float = shape, dtype, dtype.is_float

    @classmethod
    def of(cls, tensor: Any) -> Spec | None:
        """The spec of a tensor; None on a device."""
        node, value = tensor.node, tensor.value
        if (type(value) is not np.ndarray) if value is not None else (node.device != HOST):
            return None
        return cls.named(tensor.shape, tensor.dtype)

    @classmethod
    def named(cls, shape: Shape, dtype: DType) -> Spec:
        """The spec of a shape and a dtype."""
        found = cls.known.get((shape, dtype))
        if found is None:
            if len(cls.known) >= MOST:  # keys of recipes have old ones: those are not found any more
                cls.known.clear()
            found = cls.known.setdefault((shape, dtype), cls(shape, dtype))
        return found


class Call:
    """A call of a program in a recipe.

    Attributes:
        sources: the origin of each argument.
        order: the operands that are the arguments, where all of them are tensors among these.
        results: of each result.
        origins: the sources for native code, three words each (`tensors/recording.c`).
    """

    __slots__ = ("order", "origins", "program", "results", "sources")

    def __init__(self, program: Program, sources: tuple[Source, ...], results: tuple[Spec, ...]) -> None:
        self.program, self.sources, self.results = program, sources, results
        plain = [s for s in sources if type(s) is tuple and s[0] == OPERAND and s[2] is None]
        self.order = tuple(s[1] for s in plain) if len(plain) == len(sources) else None
        self.origins = b"".join(map(_packed, sources))

    def arguments(self, operands: Sequence[Any], made: Sequence[Sequence[Any]], tensor: Any) -> list[Any]:
        """The arguments.

        Args:
            made: results of the calls before.
            tensor: makes a tensor of a number and a dtype.
        """
        return [self._argument(source, operands, made, tensor) for source in self.sources]

    @staticmethod
    def _argument(source: Source, operands: Sequence[Any], made: Sequence[Sequence[Any]], tensor: Any) -> Any:
        if type(source) is not tuple:
            return source
        call, position, dtype = source
        if call != OPERAND:
            return made[call][position]
        return operands[position] if dtype is None else tensor(operands[position], dtype)


def _packed(source: Source) -> bytes:
    """A source as three words: call, position, and the address of the dtype of a number. Of a tensor
    the address stands for the position.
    """
    if type(source) is not tuple:
        return pack("3q", _CONSTANT, id(source), 0)
    call, position, dtype = source
    return pack("3q", call, position, 0 if dtype is None else id(dtype))


Recipe = tuple[Call, ...]
"""The calls of a method, in order; the method returns the results of the last one."""
RECIPES: dict[tuple, Recipe | None] = {}
"""By key; None of calls that are not recorded so."""


class Observation:
    """The effects of a method that is run.

    Attributes:
        calls: programs with their arguments and results.
        numbers: tensors that were made of numbers, by identity, with the number.
        copies: tensors that stand for others, by identity, with the other one.
        pure: no value of a tensor was looked at.
    """

    __slots__ = ("calls", "copies", "numbers", "pure")

    def __init__(self) -> None:
        self.calls: list[tuple[Program, Sequence[Any], Sequence[Any]]] = []
        self.numbers: dict[int, tuple[Any, object]] = {}
        self.copies: dict[int, tuple[Any, Any]] = {}
        self.pure = True

    def include(self, inner: Observation) -> None:
        """Add the effects of a method that this one called."""
        self.calls += inner.calls
        self.numbers |= inner.numbers
        self.copies |= inner.copies
        self.pure &= inner.pure

    def recipe(self, operands: Sequence[Any], result: object) -> Recipe | None:
        """The observed calls as a recipe; None where they are none."""
        if not (self.pure and self.calls):
            return None
        last = self.calls[-1][2]
        if len(last) == 1 and last[0] is not result or len(last) != 1 and last is not result:
            return None
        origins: dict[int, Source] = {id(a): (OPERAND, k, None) for k, a in reversed([*enumerate(operands)])}
        found: list[Call] = []
        for n, (program, arguments, results) in enumerate(self.calls):
            given = map(self._copied, arguments)
            sources = [origins.get(id(a)) or self._number(a, operands) for a in given]
            if any(s is None for s in sources):
                return None
            origins |= {id(r): (n, k, None) for k, r in enumerate(results)}
            found.append(Call(program, tuple(sources), tuple(Spec.named(r.shape, r.dtype) for r in results)))
        return tuple(found)

    def _copied(self, argument: Any) -> Any:
        """The tensor that an argument stands for."""
        while id(argument) in self.copies:
            argument = self.copies[id(argument)][1]
        return argument

    def _number(self, argument: Any, operands: Sequence[Any]) -> Source | None:
        """The origin of a tensor that was made of a number."""
        tensor, number = self.numbers.get(id(argument), (None, None))
        if tensor is None:
            return None
        at = next((k for k, x in enumerate(operands) if x is number), None)
        return argument if at is None else (OPERAND, at, argument.dtype)


observation: ContextVar[Observation | None] = ContextVar("texpr_observation", default=None)
"""The observation that goes on, if there is one."""


def call_key(
    method: Callable[..., Any], tensor: Any, args: tuple, options: dict[str, Any], operands: list[Any]
) -> tuple | None:
    """The key that determines the recipe of a call; None where it may depend on more: on values, on
    a device, on other types.

    Args:
        operands: the tensors among the arguments are appended, the tensor itself first.
    """
    kind, key = type(tensor), [method, *options]
    for x in (tensor, *args, *options.values()):
        t = type(x)
        if t is kind:
            spec = x.spec or x.own_spec()
            if spec is None:
                return None
            for k, other in enumerate(operands):
                if other is x:
                    key.append(k)  # x @ x is not x @ y
            key.append(spec)
            operands.append(x)
        elif t is float:
            key += (t, x.hex())
        elif t in _STATIC:
            key += (t, x)
        elif (part := static_key(x)) is not None:
            key.append(part)
        else:
            return None
    return tuple(key)


def static_key(value: object) -> tuple | None:
    """The part of a key for an argument that is compared by its value: a dtype, a slice, or a tuple
    of such and of numbers; None of others.
    """
    t = type(value)
    if t in _STATIC or t is DType or value is Ellipsis:
        return t, value
    if t is slice:
        within = value.start, value.stop, value.step  # type: ignore[attr-defined]
        return (t, *within) if all([type(n) in _PLACES for n in within]) else None
    if t is tuple:
        parts = tuple([static_key(part) for part in value])  # type: ignore[attr-defined]
        return None if None in parts else (t, parts)
    return None


_SPECS: dict[tuple[int, tuple[Shape, ...]], tuple[Program, tuple[Spec, ...]]] = {}
"""By the identity of a program, which is kept, and the shapes of its arguments."""


def result_specs(program: Program, shapes: tuple[Shape, ...]) -> tuple[Spec, ...]:
    """Shapes and dtypes of the results of a program.

    Raises:
        CallError: shapes that do not fit.
    """
    found = _SPECS.get((id(program), shapes))
    if found is None:
        sizes, packs = bind_call(program, shapes)
        specs = tuple(Spec.named(caller_shape(t, sizes, packs), t.dtype) for t in program.outputs)
        if len(_SPECS) >= MOST:
            _SPECS.clear()
        found = _SPECS.setdefault((id(program), shapes), (program, specs))
    return found[1]
