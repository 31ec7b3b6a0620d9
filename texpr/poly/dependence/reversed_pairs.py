"""Pairs of instances whose order a step reverses, as far as elimination sees them, over the loops
after the step alone.

That leaves half the columns: the statements before the step run for the instances of those after
it, so their domains say nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from texpr.ir.expr import Tensor
from texpr.poly.constraints.congruence import distinct_arguments
from texpr.poly.constraints.distances import distances, in_new_loops, order, runs_first, stays_first
from texpr.poly.constraints.linear_forms import Conjunction, Form, variable
from texpr.poly.constraints.solver import Question
from texpr.poly.dependence.execution_order import in_order, in_order_at_times
from texpr.poly.dependence.instance_maps import Image, LoopSubstitution
from texpr.poly.dependence.kernel_model import Nest

SOURCE, SINK = 1, 2

AccessCase = tuple[Conjunction, tuple[Form, ...]]
"""A case of an access: its conditions, and the element."""


class ReversedPairs:
    """The pairs of instances whose order a step reverses."""

    def __init__(self, old: Nest, new: Nest) -> None:
        self.old, self.new = old, new
        self._renewed: dict[Image, list[LoopSubstitution]] = {}

    def is_empty_for(
        self,
        tensor: Tensor,
        source: Image,
        first: tuple[AccessCase, ...],
        sink: Image,
        second: tuple[AccessCase, ...],
    ) -> bool:
        """True if no two instances that access one element of a tensor change their order, as far
        as elimination sees.

        Args:
            first: where the source accesses the tensor.
            second: where the sink does.
        """
        return not any(
            self._may_reverse(tensor, source, one, places[0], sink, two, places[1])
            for one, two in product(self._cases(source), self._cases(sink))
            for places in product(first, second)
        )

    def _cases(self, image: Image) -> list[LoopSubstitution]:
        if image not in self._renewed:
            self._renewed[image] = [LoopSubstitution(image, case) for case in image.cases()]
        return self._renewed[image]

    def _may_reverse(
        self,
        tensor: Tensor,
        source: Image,
        one: LoopSubstitution,
        first: AccessCase,
        sink: Image,
        two: LoopSubstitution,
        second: AccessCase,
    ) -> bool:
        """True if instances may access the same element, the first running first before the step
        and the second after it.
        """
        (p, at), (q, to) = first, second
        if self._keeps_order(tensor, source, one, at, sink, two, to):
            return False
        equal = [*zip(at, to), *distinct_arguments(self.old.converter, at, to)]
        if not all(one.covers(i) and two.covers(j) for i, j in equal):
            return True
        equal += [(variable(v), variable(v)) for v in self.old.private.get(tensor, ())]
        question = Question(self.new.converter.is_shared)
        question.require(self.new.facts)
        question.require(one.conditions(p), SOURCE)
        question.require(two.conditions(q), SINK)
        question.add_all([question.compare(one.form(i), SOURCE, two.form(j), SINK) for i, j in equal])
        shared = source.origin.loops[: source.origin.common(sink.origin)]
        times = [(one.form(variable(n.var)), two.form(variable(n.var))) for n in shared]
        before = in_order_at_times(
            question.system(), question, times, source.origin.order < sink.origin.order, SOURCE, SINK
        )
        return any(
            True
            for ordered in before
            for _ in in_order(ordered, question, sink.statement, source.statement, SINK, SOURCE)
        )

    def _keeps_order(
        self,
        tensor: Tensor,
        source: Image,
        one: LoopSubstitution,
        at: Sequence[Form],
        sink: Image,
        two: LoopSubstitution,
        to: Sequence[Form],
    ) -> bool:
        """True if the distances of instances that access one element say that they keep their order:
        those in the loops before the step, or those in the loops after it alone.
        """
        shared = source.origin.loops[: source.origin.common(sink.origin)]
        known = distances(at, to, shared, self.old.converter.is_shared, self.old.private.get(tensor, ()))
        if known is None:
            return True
        new = source.statement.loops[: source.statement.common(sink.statement)]
        forms = {
            n.var: form for n in shared if (form := one.form(variable(n.var))) == two.form(variable(n.var))
        }
        after = source.statement.order < sink.statement.order
        if stays_first(
            order((n.var for n in shared), known),
            source.origin.order < sink.origin.order,
            order((n.var for n in new), in_new_loops(known, forms, new, self.new.converter.is_shared)),
            after,
        ):
            return True
        covered = [(one.form(i), two.form(j)) for i, j in zip(at, to) if one.covers(i) and two.covers(j)]
        here, there = [i for i, _ in covered], [j for _, j in covered]
        now = distances(here, there, new, self.new.converter.is_shared)
        return now is None or runs_first(order((n.var for n in new), now), after) is True
