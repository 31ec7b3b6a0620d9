"""Facts from the loops and conditions around a place: whether some lane is on, and whether a tensor
has an element.

An element that is the same for all lanes is used where some lane is on, not where all are off: its
index may lie anywhere then, in front of its tensor or behind it. Where this is known beforehand,
code does not ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from texpr.ir.affine import Linear, linear
from texpr.ir.build import FALSE, TRUE, conjuncts, sub
from texpr.ir.expr import Expr, Tensor, Var, index
from texpr.ir.index.overflow import is_wild
from texpr.passes.analysis.intervals import Ranges, at_least_zero, interval
from texpr.passes.analysis.substitution import folded
from texpr.passes.loop.simplify_guards import decide


class EnclosingStatements:
    """The loops and conditions around the emitted code: `forms` are at least 0, `conditions` differ
    between lanes.
    """

    def __init__(self) -> None:
        self.ranges: Ranges = {}
        self.forms: list[Linear] = []
        self.conditions: list[Expr] = []

    @contextmanager
    def inside(self, var: Var, extent: Expr) -> Iterator[None]:
        """Enter a loop's body."""
        self.ranges[var] = extent
        yield
        del self.ranges[var]

    @contextmanager
    def where(self, cond: Expr, differs: bool) -> Iterator[None]:
        """Enter a branch: code that runs where a condition holds, for lanes where it does if it
        differs between them.
        """
        before = len(self.forms), len(self.conditions)
        if differs:
            self.conditions += conjuncts(cond)
        else:
            self.forms += [form for c in conjuncts(cond) if not is_wild(c) for form in at_least_zero(c)]
        yield
        del self.forms[before[0] :], self.conditions[before[1] :]

    def any_lane_active(self, lane: Var, ends: Iterable[int]) -> bool:
        """True if conditions surely leave one of these lanes on."""
        return any(all(self._holds(folded(c, {lane: index(k)})) for c in self.conditions) for k in ends)

    def first_lanes(self, lane: Var, lanes: int) -> int | None:
        """The number of lanes that are on, if it is the same in all iterations and they are the first
        ones.
        """
        decided = [
            [decide(folded(c, {lane: index(k)}), self.ranges) for c in self.conditions] for k in range(lanes)
        ]
        if any(c is not TRUE and c is not FALSE for each in decided for c in each):
            return None
        on = [all(c is TRUE for c in each) for each in decided]
        count = sum(on)
        return count if all(on[:count]) else None

    def has(self, tensor: Tensor, indices: tuple[Expr, ...]) -> bool:
        """True if a tensor surely has an element, whatever lanes are on."""
        sides = [
            side for i, n in zip(indices, tensor.shape, strict=True) for side in (i, sub(sub(n, index(1)), i))
        ]
        return not any(map(is_wild, indices)) and all(self._is_at_least_zero(linear(side)) for side in sides)

    def _holds(self, cond: Expr) -> bool:
        decided = decide(cond, self.ranges)
        if decided is TRUE or is_wild(decided):
            return decided is TRUE
        asked = at_least_zero(decided)
        return bool(asked) and all(map(self._is_at_least_zero, asked))

    def _is_at_least_zero(self, form: Linear) -> bool:
        return self._never_below(form) or any(self._never_below(form.plus(known, -1)) for known in self.forms)

    def _never_below(self, form: Linear) -> bool:
        least, _ = interval(form.expr(), self.ranges)
        return least is not None and least >= 0
