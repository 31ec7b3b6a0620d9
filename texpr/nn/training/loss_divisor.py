"""The number that a loss divides by: how much a batch counts beside others.

A loss that is the mean over elements, tokens or class weights is a sum divided by a number that
differs from batch to batch. Means over several batches, and gradients that are accumulated, weight
each batch by that number: they are what one batch of all examples gives. The number is found in the
captured program, so it does not matter whether a loss of `texpr.nn` or a function computes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from texpr.graph import Symbolic
from texpr.graph.capture.protocol import CaptureLike
from texpr.graph.capture.variable import Variable
from texpr.ir.expr import Tensor
from texpr.ir.interpreter.tensor import reads
from texpr.ir.tensor import Invoke
from texpr.support.frozen_dataclass import frozen

_SUMS, _MEANS = ("sum_all", "reduce_sum"), ("mean_all", "reduce_mean")
_SAME = frozenset(
    {
        "astype",
        "copy",
        "constant_of",
        "to_f16",
        "to_bf16",
        "to_f32",
        "to_f64",
        "negative",
        "flatten",
        "reshape",
        "expand",
        "pick",
    }
)
"""Operators of one tensor that keep how it depends on the examples of a batch."""
_LIMITS = frozenset({"maximum", "clip", "clip_between"})
"""Operators that keep a number that a loss divides by away from 0."""


@frozen
class Divisor:
    """The number by which a loss divides its sum over the batch.

    Attributes:
        number: where it is the same for all batches of these shapes; 1 where the loss is a sum.
        tensor: where it depends on the batch's data.
        is_sum: the loss is not divided: that of several batches is the sum of theirs.
    """

    number: float = 1.0
    tensor: Tensor | None = None
    is_sum: bool = False


SUM = Divisor(is_sum=True)
_EACH = Divisor(-1.0)
"""A tensor with elements of its own for each example: the axis of the batch is still there."""
_FREE = Divisor(-2.0)
"""A tensor that does not depend on the batch."""


def divisor_of(loss: Symbolic, examples: int) -> Divisor:
    """Find what a captured loss divides by; the number of examples where the program does not say
    it.

    Args:
        examples: the extent of the batch's axis.
    """
    found = _Search(loss.capture, examples).look(loss.tensor)
    return found if found is not None and found not in (_EACH, _FREE) else Divisor(float(examples))


class _Search:
    """A walk from the loss back to the inputs. None stands for tensors that are no sums and no
    means of examples.
    """

    def __init__(self, capture: CaptureLike, examples: int) -> None:
        self._examples = max(examples, 1)
        self._made = {t: e for e in capture.equations if isinstance(e, Invoke) for t in e.targets}
        self._constants = capture.constants
        self._of_batch = _dependents(capture, capture.inputs)
        trained = [t for v, t in capture.variables.items() if _is_trained(v)]
        self._of_parameters = _dependents(capture, trained)
        self._known: dict[Tensor, Divisor | None] = {}

    def look(self, tensor: Tensor) -> Divisor | None:
        if tensor not in self._known:
            self._known[tensor] = self._look(tensor)
        return self._known[tensor]

    def _look(self, tensor: Tensor) -> Divisor | None:
        if tensor not in self._of_batch:
            return _FREE
        made = self._made.get(tensor)
        if made is None:
            return _EACH
        name, args = made.program.name, made.args
        if name in _SUMS or name in _MEANS:
            return self._reduced(tensor, args[0], name in _MEANS)
        if name in _SAME and len(args) == 1:
            return self.look(args[0])
        if name in ("add", "subtract"):
            return self._added(*map(self.look, args))
        if name == "multiply" and _FREE in (parts := tuple(map(self.look, args))):
            return parts[0] if parts[1] == _FREE else parts[1]
        if name == "divide" and not tensor.shape:
            return self._divided(*args)
        return _EACH if tensor.shape else None

    def _reduced(self, tensor: Tensor, of: Tensor, is_mean: bool) -> Divisor | None:
        inner = self.look(of)
        if inner != _EACH:
            return inner
        before, after = _shape(of), _shape(tensor)
        if after and after != before[1:]:
            return _EACH
        return Divisor(float(np.prod(before) / np.prod(after))) if is_mean else SUM

    def _added(self, a: Divisor | None, b: Divisor | None) -> Divisor | None:
        """Of two summands that count alike: both are divided by the same number, or by the
        examples' number times a constant.
        """
        if a == b or b == _FREE:
            return a
        if a == _FREE:
            return b
        alike = a is not None and b is not None and not {a, b} & {_EACH, SUM} and a.tensor is b.tensor is None
        return a if alike else None

    def _divided(self, total: Tensor, count: Tensor) -> Divisor | None:
        parts, kind = self.look(count), self.look(total)
        if parts == _FREE:
            return self._by_constant(kind, count)
        if kind != SUM or count in self._of_parameters:
            return None
        return Divisor(tensor=self._unlimited(count))

    def _by_constant(self, kind: Divisor | None, count: Tensor) -> Divisor | None:
        """A sum over a multiple of the number of examples is a mean; one over another number is
        a sum in other units.
        """
        value = self._constants.get(count)
        if kind != SUM or value is None:
            return kind
        return Divisor(float(value)) if float(value) > 0 and float(value) % self._examples == 0 else kind

    def _unlimited(self, count: Tensor) -> Tensor:
        """The number itself where a program divides by max(number, 1): a batch without any
        counts for nothing.
        """
        made = self._made.get(count)
        if made is None or not (made.program.name in _LIMITS or made.program.name in _SAME):
            return count
        inner = [t for t in made.args if t in self._of_batch]
        return self._unlimited(inner[0]) if len(inner) == 1 else count


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return Symbolic(tensor, None).shape  # type: ignore[arg-type]


def _is_trained(variable: Variable) -> bool:
    return getattr(variable, "requires_grad", False)


def _dependents(capture: CaptureLike, roots: Iterable[Tensor]) -> set[Tensor]:
    """Everything that is computed from `roots`, and they themselves."""
    found = set(roots)
    for equation in capture.equations:
        if isinstance(equation, Invoke) and not found.isdisjoint(equation.args):
            found.update(_targets(equation, found))
    return found


def _targets(call: Invoke, known: set[Tensor]) -> Iterator[Tensor]:
    """The results of a call that depend on known arguments: a count of labels does not depend on
    the logits beside them.
    """
    program = call.program
    if len(program.outputs) == 1:
        return iter(call.targets)
    inner = {formal for formal, actual in zip(program.inputs, call.args) if actual in known}
    while new := {t for e in program.equations if not inner.isdisjoint(reads(e)) for t in e.targets} - inner:
        inner |= new
    return (target for formal, target in zip(program.outputs, call.targets) if formal in inner)
