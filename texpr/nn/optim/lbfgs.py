"""L-BFGS: Newton's steps by what the last steps have told of the curvature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

import numpy as np

from texpr import ops
from texpr.graph import Capture, Symbolic
from texpr.graph.execution.placement import to_host
from texpr.graph.lazy import Tensor
from texpr.graph.lazy.lazy_tensor import leaf_of
from texpr.graph.lazy.making import of_bits, tensor
from texpr.ir.dtypes import numpy_dtype
from texpr.nn.core.argument_checks import whole
from texpr.nn.core.parameter import Parameter
from texpr.nn.optim.argument_types import Params
from texpr.nn.optim.line_search import Point, strong_wolfe
from texpr.nn.optim.optimizer import Optimizer
from texpr.support.errors import CallError, CheckpointError
from texpr.support.frozen_dataclass import frozen, replace

CURVED = 1e-10
"""Least product of a step and the change of the gradient that shows positive curvature."""


@frozen
class _History:
    """The last steps and what they changed in the gradient, newest first, with room for more; then
    the step that is not among them yet.

    Attributes:
        steps, changes: (room, elements).
        inverse: 1 / (step * change) of each, 0 where there is none.
        scale: what H is without any.
        gradient, step: where the last step began, and the step.
    """

    steps: Tensor
    changes: Tensor
    inverse: tuple[float, ...]
    scale: float
    gradient: Tensor
    step: Tensor


class LBFGS(Optimizer):
    """Limited-memory BFGS: steps along `-H g`, where H approximates the inverse of the Hessian from
    the last `history_size` steps.

    `step(closure)` makes up to `max_iter` of them. `closure()` forgets gradients, computes the loss
    on lazy tensors, calls its `backward()` and returns it. The search decides how often it is
    called, so `Trainer` and `TrainingStep` refuse this optimizer. Liu and Nocedal, On the Limited
    Memory BFGS Method for Large Scale Optimization, 1989.

    Args:
        max_eval: calls of the closure in a step; 5/4 of max_iter unless given.
        tolerance_grad: a step ends where no element of the gradient is larger.
        tolerance_change: a step ends where parameters or the loss change less.
        line_search_fn: "strong_wolfe", or None for steps of length lr.
        maximize: look for a maximum.
    Raises:
        CallError: no parameters, an option out of its range, or an unknown line search.
    Example:
        >>> w = nn.Parameter(np.float64([1.0]))
        >>> optimizer = nn.optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - 3) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> loss = optimizer.step(closure)
        >>> round(float(w.data[0]), 4)
        3.0
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        most = whole("LBFGS", "max_iter", max_iter)
        super().__init__(
            params,
            lr=lr,
            max_iter=most,
            max_eval=most * 5 // 4 if max_eval is None else whole("LBFGS", "max_eval", max_eval),
            tolerance_grad=tolerance_grad,
            tolerance_change=tolerance_change,
            history_size=whole("LBFGS", "history_size", history_size),
            maximize=bool(maximize),
        )
        if line_search_fn not in (None, "strong_wolfe"):
            raise CallError(
                f"LBFGS: line_search_fn is {line_search_fn!r}, expected None or 'strong_wolfe'",
                code="arguments",
            )
        if len(self.param_groups) > 1 or len({(p.dtype, p.device) for p in self.parameters}) > 1:
            raise CallError(
                "LBFGS: the parameters are of several groups, dtypes or devices, expected one",
                code="arguments",
            )
        self.line_search_fn = line_search_fn
        self._history: _History | None = None

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        """L-BFGS is no program of a fixed length.

        Raises:
            CallError: always.
        """
        raise CallError(
            "LBFGS computes the loss as often as its search asks, and a compiled step computes it once",
            code="arguments",
            help="write the loop: optimizer.step(closure)",
        )

    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor:  # type: ignore[override]
        """Move the parameters towards a minimum, or with `maximize` a maximum; the loss before.

        Raises:
            CallError: there is no closure, or the loss depends on no parameter.
        """
        if closure is None:
            raise CallError(
                "LBFGS: step() was called without a closure",
                code="arguments",
                help="pass a function that computes the loss, calls its backward() and returns it",
            )
        first = closure()
        here, calls, group = (
            Point(0.0, self._sign * float(first), self._gradient(), 0.0),
            1,
            self.param_groups[0],
        )
        for iteration in range(int(group["max_iter"])):
            if _largest(here.gradient) <= group["tolerance_grad"]:
                break
            direction = self._direction(here.gradient)
            start = Point(0.0, here.loss, here.gradient, _dot(here.gradient, direction))
            at = group["lr"] * (1.0 if self.steps else min(1.0, 1.0 / float(here.gradient.abs().sum())))
            self.steps += 1
            if start.slope > -group["tolerance_change"]:
                break
            last = iteration + 1 == group["max_iter"]
            here, looked = self._moved(closure, start, direction, at, calls, last)
            assert self._history is not None
            self._history = replace(self._history, step=self._times(direction, here.at))
            calls += looked
            tired = (
                last or calls >= group["max_eval"] or abs(here.loss - start.loss) < group["tolerance_change"]
            )
            if tired or _largest(self._history.step) <= group["tolerance_change"]:
                break
        return first

    def state_dict(self) -> dict[str, object]:
        """The number of steps, the options, and what the last steps have told, by names
        `history.NAME`.
        """
        known = self._history
        parts = (
            {}
            if known is None
            else {f"history.{f.name}": np.asarray(getattr(known, f.name)) for f in fields(known)}
        )
        return {**super().state_dict(), **parts}

    def load_state_dict(self, state_dict: Mapping[str, object]) -> None:
        """Take the values of `state_dict`.

        Raises:
            CheckpointError: they are of other parameters or another optimizer.
        """
        names = [f"history.{f.name}" for f in fields(_History)]
        parts = [np.asarray(state_dict[n]) for n in names if n in state_dict]
        count = sum(p.size for p in self.parameters)
        if parts and (
            len(parts) < len(names)
            or any(a.shape[-1:] != (count,) for k, a in enumerate(parts) if k not in (2, 3))
        ):
            raise CheckpointError(f"LBFGS: the history is not of {count} elements", code="checkpoint")
        super().load_state_dict({n: v for n, v in state_dict.items() if n not in names})
        like = self.parameters[0]
        if parts:
            made = [tensor(a, like.dtype.name, device=like.device) for a in parts]
            self._history = _History(
                made[0], made[1], tuple(parts[2].tolist()), float(parts[3]), made[4], made[5]
            )

    def _moved(
        self,
        closure: Callable[[], Tensor],
        start: Point,
        direction: Tensor,
        first: float,
        calls: int,
        last: bool,
    ) -> tuple[Point, int]:
        """Go in a direction; where the parameters are then, and how many calls that took. After
        the last step, nobody asks for more.
        """
        origin = self._flat([leaf_of(p).detach() for p in self.parameters])

        def look(at: float) -> Point:
            self._assign((origin + self._times(direction, at)).realize())
            loss = self._sign * float(closure())
            gradient = self._gradient()
            return Point(at, loss, gradient, _dot(gradient, direction))

        if self.line_search_fn is None and last:
            self._assign((origin + self._times(direction, first)).realize())
            return replace(start, at=first), 0
        if self.line_search_fn is None:
            return look(first), 1
        group = self.param_groups[0]
        least, most = group["tolerance_change"] / _largest(direction), int(group["max_eval"]) - calls
        found, looked = strong_wolfe(look, start, first, least, most)
        self._assign((origin + self._times(direction, found.at)).realize())
        return found, looked

    def _direction(self, gradient: Tensor) -> Tensor:
        """-H g, where H has learnt of the last step."""
        known = self._history
        if known is None:
            nothing = of_bits(
                np.zeros((1, gradient.shape[0]), numpy_dtype(gradient.dtype)),
                gradient.dtype,
                device=gradient.device,
            )
            known = _History(nothing, nothing, (0.0,), 1.0, gradient, gradient)
        else:
            known = self._learnt(known, (gradient - known.gradient).realize())
        scale = self._number(known.scale, gradient)
        inverse = tensor(np.array(known.inverse), device=gradient.device).astype(gradient.dtype)
        found = ops.lbfgs_direction(gradient, known.steps, known.changes, inverse, scale).realize()  # type: ignore[union-attr]
        self._history = replace(known, gradient=gradient)
        return found

    def _learnt(self, known: _History, change: Tensor) -> _History:
        """With the last step in front. Room doubles until it is that of history_size."""
        product = _dot(known.step, change)
        if product <= CURVED:
            return known
        most = int(self.param_groups[0]["history_size"])
        count = min(sum(r != 0 for r in known.inverse) + 1, most)
        room = min(most, 1 << (count - 1).bit_length())
        steps, changes = (
            _in_front(x, rows, room) for x, rows in ((known.step, known.steps), (change, known.changes))
        )
        inverse = (1 / product, *known.inverse, *(0.0,) * room)[:room]
        return replace(
            known, steps=steps, changes=changes, inverse=inverse, scale=product / _dot(change, change)
        )

    @property
    def _sign(self) -> float:
        """The factor of the loss that is minimised."""
        return -1.0 if self.param_groups[0]["maximize"] else 1.0

    def _gradient(self) -> Tensor:
        """The gradients that the closure has left, as one vector; turned round where a maximum is
        looked for.

        Raises:
            CallError: there are none.
        """
        if all(p.grad is None for p in self.parameters):
            raise CallError(
                "LBFGS: no parameter has a gradient",
                code="gradient",
                help="the closure calls backward() on the loss",
            )
        found = self._flat(
            [
                leaf_of(p).detach() * 0 if p.grad is None or not p.requires_grad else p.grad
                for p in self.parameters
            ]
        )
        return found if self._sign > 0 else (-found).realize()

    def _flat(self, tensors: Sequence[Tensor]) -> Tensor:
        return ops.concat([t.reshape((t.size,)) for t in tensors]).realize()  # type: ignore[union-attr]

    def _assign(self, flat: Tensor) -> None:
        """Give the parameters the elements of a vector."""
        at, values = 0, to_host(flat.realize().value)
        for p in self.parameters:
            p.data = values[at : at + p.size].reshape(p.shape)
            at += p.size

    def _times(self, x: Tensor, factor: float) -> Tensor:
        return (x * self._number(factor, x)).realize()

    @staticmethod
    def _number(value: float, like: Tensor) -> Tensor:
        """A number that programs take as an input, so that another one does not compile anew."""
        return tensor(np.asarray(value), device=like.device).astype(like.dtype)


def _in_front(first: Tensor, rows: Tensor, room: int) -> Tensor:
    """A row before others, so many of them in all."""
    found = ops.concat(first.reshape((1, first.shape[0])), rows)
    missing = room - rows.shape[0] - 1
    found = ops.pad(found, after=missing) if missing > 0 else found[:room] if missing < 0 else found  # type: ignore[index]
    return found.realize()  # type: ignore[union-attr]


def _dot(a: Tensor, b: Tensor) -> float:
    return float((a * b).sum())


def _largest(x: Tensor) -> float:
    return float(x.abs().max())
