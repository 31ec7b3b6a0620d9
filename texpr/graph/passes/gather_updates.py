"""Updates at places that a formula says become sums over the instances that update an element.

`Y[2*h + r - 1] += P[r, h]` for all r and h writes elements in turns, each several times: no vector
of them is complete before the last. As a derivative finds what reads an element, this finds what
updates it: `Y[2*u]` and `Y[2*u + 1]` are sums over taps r of one parity each, written once.
"""

from __future__ import annotations

from texpr.autodiff.cleanup.simplify import is_whole
from texpr.autodiff.core.algebra import plus, zero
from texpr.autodiff.core.contribution import Contribution, equation_scope
from texpr.autodiff.core.names import Names, freshen
from texpr.autodiff.reverse.gather import gather
from texpr.autodiff.reverse.stride_residues import phases
from texpr.ir.affine import linear
from texpr.ir.build import integer, sub
from texpr.ir.dtypes import accumulator
from texpr.ir.expr import Axis, FloorDiv, Guard, Mod, Read, Tensor
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import substitute, tensors, walk
from texpr.support.frozen_dataclass import replace


def gather_updates(program: Program) -> Program:
    """The same tensors, of which those that are defined once and updated once have equations
    without updates, where the places of the updates can be inverted.
    """
    names = Names(program)
    by_target: dict[Tensor, list[Equation | Invoke]] = {}
    for e in program.equations:
        for t in e.targets:
            by_target.setdefault(t, []).append(e)
    changed: dict[int, tuple[Equation, ...]] = {}
    for found in by_target.values():
        match found:
            case [Equation() as start, Equation(update="add") as update] if _is_candidate(start, update) and (
                gathered := _gathered(start, update)
            ):
                changed[id(start)] = ()
                changed[id(update)] = tuple(freshen(e, names.reserved) for e in gathered)  # type: ignore[misc]
    equations = (each for e in program.equations for each in changed.get(id(e), (e,)))
    return replace(program, equations=tuple(equations)) if changed else program


def _is_candidate(start: Equation, update: Equation) -> bool:
    """True if all elements of a tensor are defined first, and updated by elements of another one.

    What is computed of these may be no number where it updates nothing: outside of its tensor an
    element is 0, and 0 times infinity is none.
    """
    target, value = start.target, update.value
    return (
        is_whole(start)
        and target.dtype.is_float
        and accumulator(target.dtype) == target.dtype
        and (update.guard is None or update.guard.mode == "drop")
        and isinstance(value, Read)
        and value.tensor is not target
        and value.guard is None
        and not tensors(*update.indices, *value.indices)
    )


def _gathered(start: Equation, update: Equation) -> list[Equation]:
    """The equations of a tensor without its update; none where an element would look for its
    updates by remainders, or the places cannot be inverted.
    """
    target, axes = start.target, start.axes
    element = tuple(axis.var for axis in axes)
    summed = _summed(update)
    found = Contribution(
        target,
        update.indices,
        Guard("value", zero(target.dtype)),
        replace(equation_scope(update), axes=(*(a for a in update.axes if a not in summed), *summed)),
        update.value,
        len(update.axes) - len(summed),
        update.span,
    )
    whole = gather(found, axes, element)
    if whole is None:
        return []
    equations = []
    for part, at in phases(axes, [whole], any_value=True):
        term = gather(found, part, at)
        if term is None or any(isinstance(n, FloorDiv | Mod) for n in walk(term)):
            return []
        before = substitute(start.value, dict(zip(element, at)))
        equations.append(Equation(target, at, part, plus(before, term), span=update.span))
    return equations


def _summed(update: Equation) -> list[Axis]:
    """The axes that a sum is to run over: of those that move one place together, all but the
    longest, of equal ones that of the largest steps.
    """
    found: list[Axis] = []
    for place in update.indices:
        steps = {a: abs(c) for a in update.axes if (c := linear(place).coefficient(a.var))}
        found += sorted(steps, key=lambda a: (integer(sub(a.hi, a.lo)) or 0, steps[a]))[:-1]
    return list(dict.fromkeys(found))
