"""Equations that need themselves or each other: loops in which every element is written before it is read.

One equation runs in its own nest, if some choice of directions of its axes is right. Several share a loop over their first axes, the
time: in each iteration they run one after the other. Which directions, shifts in time and textual order are right is asked of isl, for
all sizes; the first choice that is proven is taken, forward and textual ones first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product

from texpr import poly
from texpr.ir.affine import linear
from texpr.ir.build import add, compare, conjunction, sub
from texpr.ir.expr import Axis, Expr, Tensor, Var, index
from texpr.ir.loop import For, Kernel, Stmt
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import substitute
from texpr.passes.nests import Nests, guarded
from texpr.support.errors import CheckError, ScheduleError

# Choices that are tried before giving up, and by how much equations may be shifted against each other.
ATTEMPTS = 200
SHIFTS = (0, 1, -1)


@dataclass(frozen=True, slots=True)
class _Choice:
    """How a group runs: the equations in textual order of an iteration, each with its shift in time; time forward or backward."""

    order: tuple[int, ...]
    shifts: tuple[int, ...]
    backward: bool


def recurrence(program: Program, nests: Nests, group: Sequence[int]) -> tuple[Stmt, ...]:
    """Loops for the equations at the positions `group`, which need each other.

    Raises:
        CheckError: none of the orders tried is right.
    """
    equations = {k: e for k in group if isinstance(e := program.equations[k], Equation)}
    targets = {e.target for e in equations.values()}
    tries = _own_nests(nests, group[0], equations[group[0]]) if len(group) == 1 else _shared_loops(nests, equations)
    for attempt, (body, accumulators) in enumerate(tries):
        if attempt == ATTEMPTS:
            break
        if _is_right(program, nests, body, targets):
            return body
        nests.forget(accumulators)
    first = equations[group[0]]
    names = ", ".join(dict.fromkeys(e.target.name for e in equations.values()))
    raise CheckError(f"no order of loops was found in which {names} can be computed", first.span, code="cycle",
                     help="write the axis that the recurrence runs along first in each equation; tx.interpret runs any order")


def _is_right(program: Program, nests: Nests, body: tuple[Stmt, ...], targets: set[Tensor]) -> bool:
    temporaries = (*program.temporaries, *nests.accumulators)
    kernel = Kernel(program.name, program.inputs, program.outputs, temporaries, program.sizes, body, requires=program.requires)
    try:
        return poly.read_too_early(kernel, targets) is None
    except ScheduleError:
        return False


_Try = tuple[tuple[Stmt, ...], int]
"""A body and how many accumulators it needed."""


def _own_nests(nests: Nests, number: int, equation: Equation) -> Iterator[_Try]:
    """The nest with no axis backward, then one, then more."""
    for count in range(len(equation.axes) + 1):
        for backward in combinations(range(len(equation.axes)), count):
            before = len(nests.accumulators)
            body = nests.nest(equation, number, backward=frozenset(backward))
            yield body, len(nests.accumulators) - before


def _shared_loops(nests: Nests, equations: dict[int, Equation]) -> Iterator[_Try]:
    if not all(e.axes for e in equations.values()) or not _comparable([e.axes[0] for e in equations.values()]):
        return
    for choice in _choices(tuple(equations)):
        before = len(nests.accumulators)
        yield _together(nests, equations, choice), len(nests.accumulators) - before


def _choices(numbers: tuple[int, ...]) -> Iterator[_Choice]:
    """Textual order and no shifts first."""
    orders = [numbers, numbers[::-1], *(permutations(numbers) if len(numbers) <= 4 else ())]
    shifts = sorted(product(SHIFTS, repeat=len(numbers) - 1), key=lambda s: sum(map(abs, s)))
    for shift in shifts:
        for order in dict.fromkeys(orders):
            for backward in (False, True):
                yield _Choice(order, (0, *shift), backward)


def _comparable(axes: Sequence[Axis]) -> bool:
    """Whether the ranges begin and end at constant distances from the first one's."""
    first = axes[0]
    return all(_distance(a.lo, first.lo) is not None and _distance(a.hi, first.hi) is not None for a in axes)


def _distance(a: Expr, b: Expr) -> int | None:
    form = linear(sub(a, b))
    return None if form.terms else form.constant


def _together(nests: Nests, equations: dict[int, Equation], choice: _Choice) -> tuple[Stmt, ...]:
    """for t in time: the nest of each equation at its time, under a condition where its range is shorter."""
    shift = dict(zip(equations, choice.shifts))
    axes = {k: e.axes[0] for k, e in equations.items()}
    first = next(iter(axes.values()))
    starts = {k: (_distance(a.lo, first.lo) or 0) + shift[k] for k, a in axes.items()}
    stops = {k: (_distance(a.hi, first.hi) or 0) + shift[k] for k, a in axes.items()}
    lo, hi = add(first.lo, index(min(starts.values()))), add(first.hi, index(max(stops.values())))
    extent = sub(hi, lo)
    time = Var(first.var.name)
    at = sub(sub(hi, index(1)), time) if choice.backward else add(time, lo)
    body: list[Stmt] = []
    for k in choice.order:
        own = sub(at, index(shift[k]))
        conditions = [compare("<=", axes[k].lo, own)] if starts[k] > min(starts.values()) else []
        conditions += [compare("<", own, axes[k].hi)] if stops[k] < max(stops.values()) else []
        inner = _at_time(equations[k], own)
        body += guarded(conjunction(*conditions), nests.nest(inner, k, at=(own,), around={time: extent}))
    return (For(time, extent, tuple(body), tensor=nests.labels[next(iter(equations))]),)


def _at_time(equation: Equation, time: Expr) -> Equation:
    """The equation for one value of its first axis."""
    rest = replace(equation, axes=equation.axes[1:])
    return substitute(rest, {equation.axes[0].var: time})
