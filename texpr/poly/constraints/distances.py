"""Dependence distances: the iterations between two instances that access one element, where the
indices alone determine them.

`A[i, j]` and `A[i-1, j+1]` are one element where the second runs one iteration later in `i` and one
earlier in `j`, whatever the domains are. Most dependences of dense programs are so (uniform ones;
Wolf and Lam, A Loop Transformation Theory and an Algorithm to Maximize Parallelism, 1991), and what
a new order does to them is seen without a question about domains. In a loop that the indices do not
fix, any distance is possible: it stands for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from texpr.ir.build import integer
from texpr.ir.expr import Var
from texpr.ir.loop import For
from texpr.poly.constraints.linear_forms import Form, Key

Distances = dict[Var, int]
"""Number of iterations by which the second instance follows the first, for each loop with a single
distance.
"""
Order = list[int | Var]
"""A comparison key of execution order between two instances, outermost first: loops with any
distance, then perhaps a number, which decides.
"""


def distances(
    at: Sequence[Form],
    to: Sequence[Form],
    loops: Sequence[For],
    is_shared: Callable[[Key], bool],
    equal: Iterable[Key] = (),
) -> Distances | None:
    """The distances of instances that access one element; None where there are none.

    Args:
        at: the indices of the first access.
        to: those of the second.
        loops: around both.
        is_shared: whether a key has one value in all instances.
        equal: loops in which both are in the same iteration, and what has one value in both.
    """
    found: dict[Key, int] = dict.fromkeys(equal, 0)
    extents: dict[Key, int | None] = {n.var: integer(n.extent) for n in loops}
    left = [(i.terms, i.constant - j.constant) for i, j in zip(at, to) if i.terms == j.terms]
    known = -1
    while known < len(found):
        known = len(found)
        for terms, distance in left:
            unknown = [(k, c) for k, c in terms if k not in found and not is_shared(k)]
            rest = distance - sum([c * found[k] for k, c in terms if k in found])
            if not unknown and rest or len(unknown) == 1 and rest % unknown[0][1]:
                return None
            if len(unknown) == 1 or not rest and _are_digits(unknown, extents):
                found.update((k, rest // c) for k, c in unknown)
    return {n.var: found[n.var] for n in loops if n.var in found}


def order(loops: Iterable[Var], known: Mapping[Var, int | Var]) -> Order:
    """The comparison of two instances in nested loops."""
    found: Order = []
    for var in loops:
        step = known.get(var, var)
        if step == 0:
            continue
        found.append(step)
        if isinstance(step, int):
            break
    return found


def stays_first(old: Order, in_text: bool, new: Order, in_new_text: bool) -> bool:
    """True if the first instance runs first in the new order wherever it does in the old one.

    Args:
        in_text: whether it stands before the other one in the text of the old order; False for the
            same statement.
        in_new_text: the same of the new one.
    """
    if runs_first(old, in_text) is False or runs_first(new, in_new_text):
        return True
    return old == new and (in_text <= in_new_text or bool(old) and isinstance(old[-1], int))


def runs_first(steps: Order, in_text: bool) -> bool | None:
    """True if the first instance runs first; None where a loop with any distance decides.

    Args:
        in_text: whether it stands before the other one in the text; False for the same statement.
    """
    if not steps:
        return in_text
    return steps[0] > 0 if isinstance(steps[0], int) else None


def in_new_loops(
    known: Distances, forms: Mapping[Var, Form], new: Sequence[For], is_shared: Callable[[Key], bool]
) -> dict[Var, int | Var]:
    """The distances in new loops, in terms of which the old ones are forms, the same for both
    instances. An old loop that has any distance and is a new one stands for it.

    Args:
        forms: the old loops that are one form for both instances.
        new: the new loops around both.
        is_shared: whether a key has one value in all instances.
    """
    found: dict[Var, int | Var] = {}
    extents: dict[Key, int | None] = {n.var: integer(n.extent) for n in new}
    for var, form in sorted(forms.items(), key=lambda item: len(item[1].terms)):
        terms = [(k, c) for k, c in form.terms if not is_shared(k)]
        if any(k not in extents for k, _ in terms):
            continue
        if var not in known:
            if len(terms) == 1 and terms[0][1] == 1:
                found.setdefault(terms[0][0], var)  # type: ignore[arg-type]
        elif known[var] == 0 and _are_digits(terms, extents):
            found.update((k, 0) for k, _ in terms)  # type: ignore[misc]
        else:
            _solve(known[var], terms, found)
    # A loop may be counted from its other end by the same variable: what is not known must not pass
    # for the old loop.
    return {n.var: found[n.var] if n.var in found else Var(n.var.name) for n in new}


def _are_digits(terms: Sequence[tuple[Key, int]], extents: Mapping[Key, int | None]) -> bool:
    """True if the terms are digits of one number: each value of the sum is reached by one choice of
    its loops.
    """
    room: int | None = 1
    for key, c in sorted(terms, key=lambda term: term[1]):
        if room is None or c < room or key not in extents:
            return False
        extent = extents[key]
        room = c * extent if extent else None
    return True


def _solve(distance: int, terms: Sequence[tuple[Key, int]], found: dict[Var, int | Var]) -> None:
    """Solve for the one loop whose distance follows from those of the others."""
    unknown = [(k, c) for k, c in terms if not isinstance(found.get(k), int)]  # type: ignore[arg-type]
    if len(unknown) == 1:
        ((key, c),) = unknown
        rest = distance - sum(n * found[k] for k, n in terms if k is not key)  # type: ignore[index, operator]
        if rest % c == 0:
            found[key] = rest // c  # type: ignore[index]
