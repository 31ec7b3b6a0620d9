"""Which pairs of instances change places, as far as elimination sees it, in terms of the loops after a step alone.

That leaves half the columns: the statements before the step run for the instances of those after it, so their domains say nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from texpr.ir.expr import Tensor
from texpr.poly.constraints.congruence import distinct_arguments
from texpr.poly.constraints.distances import distances, order, renewed, stays_first
from texpr.poly.constraints.linear_forms import Form, Piece, variable
from texpr.poly.constraints.solver import Question
from texpr.poly.dependence.execution_order import in_order, in_order_of
from texpr.poly.dependence.instance_maps import Image, Renewed
from texpr.poly.dependence.kernel_model import Nest

SOURCE, SINK = 1, 2

Place = tuple[Piece, tuple[Form, ...]]
"""A case of an access: when, and which element."""


class Turns:
    """The pairs that a step turns round."""

    def __init__(self, old: Nest, new: Nest) -> None:
        self.old, self.new = old, new
        self._renewed: dict[Image, list[Renewed]] = {}

    def none(self, tensor: Tensor, source: Image, first: tuple[Place, ...], sink: Image, second: tuple[Place, ...]) -> bool:
        """True if no two instances that access one element of a tensor change places, as far as is seen.

        Args:
            first: where the source accesses the tensor.
            second: where the sink does.
        """
        return not any(self._turn(tensor, source, one, places[0], sink, two, places[1])
                       for one, two in product(self._cases(source), self._cases(sink)) for places in product(first, second))

    def _cases(self, image: Image) -> list[Renewed]:
        if image not in self._renewed:
            self._renewed[image] = [Renewed(image, case) for case in image.cases()]
        return self._renewed[image]

    def _turn(self, tensor: Tensor, source: Image, one: Renewed, first: Place, sink: Image, two: Renewed, second: Place) -> bool:
        """True if instances may access the same element, the first running first before the step and the second after it."""
        (p, at), (q, to) = first, second
        if self._keep(tensor, source, one, at, sink, two, to):
            return False
        equal = [*zip(at, to), *distinct_arguments(self.old.converter, at, to)]
        if not all(one.knows(i) and two.knows(j) for i, j in equal):
            return True
        equal += [(variable(v), variable(v)) for v in self.old.private.get(tensor, ())]
        question = Question(self.new.converter.is_shared)
        question.require(self.new.facts)
        question.require(one.conditions(p), SOURCE)
        question.require(two.conditions(q), SINK)
        question.add_all([question.compare(one.form(i), SOURCE, two.form(j), SINK) for i, j in equal])
        shared = source.origin.loops[: source.origin.common(sink.origin)]
        times = [(one.form(variable(n.var)), two.form(variable(n.var))) for n in shared]
        before = in_order_of(question.system(), question, times, source.origin.order < sink.origin.order, SOURCE, SINK)
        return any(True for ordered in before
                   for _ in in_order(ordered, question, sink.statement, source.statement, SINK, SOURCE))

    def _keep(self, tensor: Tensor, source: Image, one: Renewed, at: Sequence[Form], sink: Image, two: Renewed, to: Sequence[Form]) -> bool:
        """True if the distances of instances that access one element say that they keep their order."""
        shared = source.origin.loops[: source.origin.common(sink.origin)]
        known = distances(at, to, shared, self.old.converter.is_shared, self.old.private.get(tensor, ()))
        if known is None:
            return True
        new = source.statement.loops[: source.statement.common(sink.statement)]
        forms = {n.var: form for n in shared if (form := one.form(variable(n.var))) == two.form(variable(n.var))}
        return stays_first(order((n.var for n in shared), known), source.origin.order < sink.origin.order,
                           order((n.var for n in new), renewed(known, forms, new, self.new.converter.is_shared)),
                           source.statement.order < sink.statement.order)
