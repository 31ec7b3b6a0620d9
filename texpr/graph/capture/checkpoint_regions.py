"""Parts of a captured program that its gradient computes again, so that their intermediate tensors
need not be kept (activation checkpointing). Griewank and Walther, Algorithm 799: Revolve, 2000.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from texpr.autodiff.cleanup.simplify import reads
from texpr.compiler import op
from texpr.graph.capture.protocol import CaptureLike
from texpr.graph.capture.stop_gradient import with_targets
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.passes.flatten_calls import shape_of
from texpr.ir.expr import Tensor
from texpr.ir.tensor import Equation, Invoke
from texpr.support.frozen_dataclass import frozen, replace

Equations = Sequence[Equation | Invoke]
MUCH_LESS = 4
"""Tensors that are this many times smaller hardly count beside others."""

ONCE_THERE = op("""op once_there<T: float, U: float>(X: T[*S], d: U[N]) -> Y: T[*S] require N >= 1 {
  Y[*s] = if d[0] == d[0] then X[*s] else T(d[0])
}""")
"""X, once a derivative is there: without it, the equal definitions would be computed once, and
kept. A derivative that is NaN makes it NaN, as all that follows from it is.
"""


@frozen
class Region:
    """A part of a program.

    Attributes:
        start, stop: its equations.
        outputs: its results.
    """

    start: int
    stop: int
    outputs: tuple[Tensor, ...]


def recomputed(
    capture: CaptureLike, regions: Sequence[Region], gradient: Equations
) -> list[Equation | Invoke]:
    """The equations of a gradient, with the regions of the program computed again where it reads
    their intermediate tensors.
    """
    found = list(gradient)
    for region in regions:
        if _is_wanted_at_once(capture, region):
            continue
        if not any(r.start <= region.start and region.stop <= r.stop and r is not region for r in regions):
            found = _with_copy(capture, region, found)
    return found


def _is_wanted_at_once(capture: CaptureLike, region: Region) -> bool:
    """True if little is computed between a region and the gradient, which begins with it: what is
    inside would be there again before it could be forgotten.
    """
    inside, behind = (
        sum(t.dtype.bytes * prod(shape_of(t)) for e in equations for t in e.targets)
        for equations in (capture.equations[region.start : region.stop], capture.equations[region.stop :])
    )
    return MUCH_LESS * behind <= inside


def _with_copy(
    capture: CaptureLike, region: Region, gradient: list[Equation | Invoke]
) -> list[Equation | Invoke]:
    equations = capture.equations[region.start : region.stop]
    own = {t for e in equations for t in e.targets}
    others = [*capture.equations[: region.start], *capture.equations[region.stop :]]
    inner = own - {t for e in others for t in reads(e)} - set(region.outputs)
    first = next((k for k, e in enumerate(gradient) if not inner.isdisjoint(reads(e))), None)
    token = None if first is None else next(_derivatives(gradient, first), None)
    if first is None or token is None:
        return gradient
    computed = {t for e in capture.equations[: region.start] for t in e.targets} | set(capture.inputs)
    copied: list[Equation | Invoke] = []
    renamed: dict[Tensor, Tensor] = {}
    for t in dict.fromkeys(t for e in equations for t in reads(e)):
        if t in computed and t.dtype.is_float:
            made, renamed[t] = _after(capture, t, token)
            copied += made
    for e in equations:
        renamed |= {t: capture.renamed(t) for t in e.targets}
        copied.append(with_targets(_reading(e, renamed), renamed))
    again = {t: renamed[t] for t in inner}
    return [*gradient[:first], *copied, *(_reading(e, again) for e in gradient[first:])]


def _derivatives(gradient: Equations, first: int) -> Iterator[Tensor]:
    """Derivatives that are there when a region is wanted again, the last ones first."""
    known = {t for e in gradient[:first] for t in e.targets}
    yield from (t for t in reads(gradient[first]) if t in known and t.dtype.is_float)
    for e in reversed(gradient[:first]):
        yield from (t for t in e.targets if t.dtype.is_float)


def _after(capture: CaptureLike, tensor: Tensor, token: Tensor) -> tuple[list[Equation | Invoke], Tensor]:
    """Equations of the tensor's values once the token is there, and their result."""
    before = len(capture.equations)
    found = Symbolic(token, capture)
    result = ONCE_THERE(Symbolic(tensor, capture), found.reshape((prod(found.shape),)))
    made = capture.equations[before:]
    del capture.equations[before:]
    return made, result.tensor  # type: ignore[union-attr]


def _reading(equation: Equation | Invoke, others: dict[Tensor, Tensor]) -> Equation | Invoke:
    """The call with other tensors in place of those that it reads."""
    if not isinstance(equation, Invoke):
        return equation
    return replace(equation, args=tuple(others.get(t, t) for t in equation.args))
