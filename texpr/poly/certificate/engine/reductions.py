"""Reductions and folds: every contribution is there, once, after the start and before the result
is used; and in which order.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from texpr.ir.build import compare, conjunction, negation
from texpr.ir.expr import Expr, Read, Tensor, Var
from texpr.ir.store_kind import START
from texpr.ir.traverse import children
from texpr.poly.certificate.engine.buffer_accesses import access, definition_accesses, update_accesses
from texpr.poly.certificate.engine.exposed_uses import without_shared_conditions
from texpr.poly.certificate.engine.instance_pairs import (
    Access,
    InstancePair,
    Order,
    dependence,
    dependence_in_order,
    index_difference,
    possible_orders,
    same_element,
)
from texpr.poly.certificate.engine.isl_frame import same_operation
from texpr.poly.certificate.engine.obligations import Proof, Refuted, ReusedBuffer, instances, outside_domain
from texpr.poly.certificate.engine.program_semantics import Definition, Total, at_instance
from texpr.poly.certificate.engine.required_instances import (
    Contribution,
    RequiredInstances,
    depends_on_other_data,
    require_no_other_data,
)
from texpr.poly.certificate.engine.statement_extraction import (
    Buffer,
    Statement,
    holds_fold_parts,
    partials_merged_by,
)
from texpr.poly.certificate.engine.value_tracing import Tracer
from texpr.support.frozen_dataclass import replace


class Reductions:
    """The proof of the reductions of one kernel, each buffer once."""

    def __init__(self, proof: Proof) -> None:
        self.proof = proof
        self.tracer = Tracer(proof, self.check_complete, self.check_all_written)
        self._done: set[tuple[int, bool]] = set()
        self._contributions: dict[int, list[Contribution]] = {}

    def check_complete(self, buffer: Buffer, use: Access) -> None:
        """Prove that a use finds everything folded in.

        Raises:
            Refuted: it does not.
        """
        if holds_fold_parts(buffer):  # Only a total that they are folded into makes something of them.
            raise Refuted(
                "sums", f"{buffer.tensor.name} holds parts of what is folded, not all of it", use.statement
            )
        self.check_buffer(buffer, complete=True)
        self.check_finished(buffer, use)

    def check_finished(self, buffer: Buffer, use: Access) -> None:
        """Prove that no update comes after a use of its element."""
        with self.proof.obligation("sums"):
            for u in update_accesses(buffer):
                self._require_no_dependence(
                    use,
                    u,
                    "sums",
                    f"{buffer.tensor.name} is used before all is folded into it",
                    use.statement,
                )

    def check_all_written(self, buffer: Buffer, use: Access) -> None:
        """Prove that all instances of the equations run, once, and before the use: for elements
        that data chooses.

        That they define every element, and none twice, was proven of the program.
        """
        with self.proof.obligation("covered"):
            wanted = {
                d.number
                for t in _targets(self.proof, buffer)
                for d in self.proof.semantics.by_target[t]
                if not d.is_fold
            }
            if buffer.allocation_loops or {s.store.equation for s in buffer.definitions} != wanted:
                raise Refuted(
                    "covered",
                    f"whether {buffer.tensor.name} is written depends on data",
                    buffer.definitions[0],
                )
            instances = [
                Contribution(s, self.proof.semantics.definitions[s.store.equation], s.at, ())
                for s in buffer.definitions
            ]
            for number in wanted:
                d = self.proof.semantics.definitions[number]
                self._check_every_instance(
                    d, buffer.definitions[0], None, conjunction(d.domain, d.stored), d.axes, instances, buffer
                )
            for s in buffer.definitions:
                self._require_no_dependence(
                    Access(use.statement, (), False),
                    Access(s, (), True),
                    "initialised",
                    f"{buffer.tensor.name} is read before all of it is written",
                    use.statement,
                )

    def check_buffer(self, buffer: Buffer, *, complete: bool) -> None:
        """Prove the updates of a buffer, independently of its uses; `complete` if no term may be
        missing.
        """
        if (id(buffer), complete) in self._done:
            return
        self._done.add((id(buffer), complete))
        starts = definition_accesses(buffer)
        self._check_started_once(buffer, starts)
        folded = self.contributions(buffer)
        self._check_after_start(buffer, starts)
        self._check_destination(buffer)
        self._check_once(buffer, folded)
        if complete:
            for start in starts:
                self._check_all_present(buffer, start.statement, folded)
        self._check_order(buffer, folded)

    def contributions(self, buffer: Buffer) -> list[Contribution]:
        """The contributions of all updates of a buffer; of partial results, those folded into
        them.
        """
        found = self._contributions.get(id(buffer))
        if found is None:
            found = self._contributions[id(buffer)] = []
            for u in buffer.updates:
                found += self._contributions_of(buffer, u)
        return found

    def _contributions_of(self, buffer: Buffer, u: Statement) -> list[Contribution]:
        d = self.proof.semantics.definitions.get(u.store.equation)
        if d is None:
            raise Refuted("sums", f"the program has no equation {u.store.equation}", u)
        place = access(buffer, u, u.indices).place
        partial = partials_merged_by(self.proof.nest, u)
        if partial is None:
            at, is_fold = tuple(map(u.frame.abstract, u.at)), folds_instances(buffer, d)
            if len(at) != len(d.axes) + (0 if is_fold else len(d.binders)):
                folded = "term of a reduction" if is_fold else "reduction"
                raise Refuted("sums", f"the update folds a {folded} into {buffer.tensor.name}", u)
            return [Contribution(u, d, at if is_fold else at[len(d.axes) :], place)]
        value = u.store.value
        assert isinstance(value, Read)
        use = access(partial, u, tuple(self.tracer.trace(u, i) for i in value.indices))
        with self.proof.obligation("initialised"):
            self.tracer.check_initialised(partial, use)
        self.check_buffer(partial, complete=False)
        self.check_finished(partial, use)
        self._check_partial_of_same_total(
            buffer, u, self.tracer.value_at(partial, u, use.place[len(partial.allocation_loops) :], [use])
        )
        self._require_reassociation(u, d)
        depth = len(partial.allocation_loops)
        return [self._through_partial(u, use, c, place, depth) for c in self.contributions(partial)]

    def _check_partial_of_same_total(self, buffer: Buffer, u: Statement, partial: Expr) -> None:
        """Prove that partial results are folded into the total whose parts they are."""
        self._check_same_total(buffer, u, partial, self.tracer.value_at(buffer, u, u.indices))

    def _check_same_total(self, buffer: Buffer, u: Statement, mine: Expr, theirs: Expr) -> None:
        """Prove that two totals, or elements, are the same one."""
        if not same_operation(mine, theirs):
            raise Refuted("sums", f"{buffer.tensor.name} is not what the update folds into", u)
        context = instances(self.proof, u)
        for a, b in zip(children(mine), children(theirs)):
            assert isinstance(a, Expr) and isinstance(b, Expr), "indices"
            inlined = self.proof.semantics.fully_inlined
            if not context.equal(a, b) and not context.equal(inlined(a), inlined(b)):
                wrong = context.also(compare("!=", a, b)).set
                raise Refuted(
                    "sums",
                    f"the update is of another element than {buffer.tensor.name} holds there",
                    u,
                    u.frame,
                    wrong,
                )

    def _through_partial(
        self, u: Statement, use: Access, c: Contribution, place: tuple[Expr, ...], depth: int
    ) -> Contribution:
        """The contribution that reaches a sum through a partial result, which `depth` loops around
        both have for each iteration, under no further condition on data.
        """
        reduced = without_shared_conditions(u, c.statement) if depends_on_other_data(u, set()) else None
        if reduced is None:
            require_no_other_data(u, set())
            reduced = u
        use = replace(use, statement=reduced)
        pair = InstancePair(use, c.access, depth, self.proof.facts)
        pairs = pair.also(same_element(pair, use, c.access))
        if reduced is not u:
            loops = u.loops[: u.common_depth(c.statement)]
            if not pairs.is_subset(pair.also(*(compare("==", n.var, pair.second(n.var)) for n in loops))):
                require_no_other_data(u, set())
        statement = replace(reduced, frame=pair.frame, traced_conditions=[], _domain=pairs)
        binders = tuple(pair.second(b) for b in c.binders)
        return Contribution(statement, c.definition, binders, place, c, depth)

    def _require_reassociation(self, u: Statement, d: Definition) -> None:
        store = u.store
        if store.tensor.dtype.is_float and store.update in ("add", "mul"):
            if not store.reassoc:
                raise Refuted("order", "a sum of floats is cut into parts, which nothing permits", u)
            self.proof.reassociated[name_of(d)] = None

    def _require_no_dependence(
        self, first: Access, then: Access, rule: str, what: str, at: Statement
    ) -> None:
        """Refute with the text `what` if an element is used by `first` and later by `then`."""
        found = dependence(first, then, self.proof.facts)
        if found is not None:
            raise Refuted(rule, what, at, found[0].frame, found[1])

    def _check_started_once(self, buffer: Buffer, starts: Sequence[Access]) -> None:
        with self.proof.obligation("once"):
            for a in starts:
                for b in starts:
                    found = self._conflicting_start(a, b)
                    if found is not None:
                        copied = next((s.statement for s in (b, a) if s.statement.store.equation < 0), None)
                        what = (
                            f"an element of {buffer.tensor.name} is started twice"
                            if copied is None
                            else f"what is copied into {buffer.tensor.name} is not proven to be the sum that "
                            f"is there, with more folded in"
                        )
                        raise ReusedBuffer(
                            buffer.tensor, "once", what, copied or b.statement, found[0].frame, found[1]
                        )

    def _conflicting_start(self, a: Access, b: Access) -> tuple[InstancePair, isl.Set] | None:
        """An instance of `a` and a later one of `b` that use one element, for more than to store
        there what is there: the value that one instance of an equation begins with, in the same
        place. That no update comes between is asked of updates.
        """
        found = dependence(a, b, self.proof.facts)
        one, other = a.statement.store, b.statement.store
        if found is None or one.equation < 0 or (one.equation, one.role) != (other.equation, other.role):
            return found
        pair, pairs = found
        mine, theirs = ((*s.indices, *s.at) for s in (a.statement, b.statement))
        same = (
            compare("==", a.statement.frame.abstract(x), pair.second(b.statement.frame.abstract(y)))
            for x, y in zip(mine, theirs)
        )
        wrong = pairs & pair.frame.holds(negation(conjunction(*same)))
        return None if wrong.is_empty() else (pair, wrong)

    def _check_after_start(self, buffer: Buffer, starts: Sequence[Access]) -> None:
        with self.proof.obligation("initialised"):
            for u in update_accesses(buffer):
                self.tracer.check_initialised(buffer, u)
                for start in starts:
                    self._require_no_dependence(
                        u, start, "sums", f"{buffer.tensor.name} is started after an update", start.statement
                    )
                    if start.statement.store.equation < 0:  # All of a sum is there when it is copied.
                        what = f"more is folded into {buffer.tensor.name} than what was copied there"
                        self._require_no_dependence(start, u, "sums", what, u.statement)

    def _check_destination(self, buffer: Buffer) -> None:
        """Prove that an update folds into the element that its instance belongs to."""
        with self.proof.obligation("sums"):
            for u in buffer.updates:
                d = self.proof.semantics.definitions[u.store.equation]
                partial = partials_merged_by(self.proof.nest, u)
                if partial is not None and holds_fold_parts(partial):
                    continue  # They are of the same element.
                element = Read(d.equation.target, tuple(at_instance(i, d.axes, u.at) for i in d.element))
                wanted = (
                    element
                    if folds_instances(buffer, d)
                    else Total(d.number, u.at[: len(d.axes)], dtype=u.store.tensor.dtype)
                )
                self._check_same_total(buffer, u, self.tracer.value_at(buffer, u, u.indices), wanted)

    def _check_once(self, buffer: Buffer, folded: Sequence[Contribution]) -> None:
        with self.proof.obligation("sums"):
            for a in folded:
                for b in folded:
                    if a.definition is b.definition:
                        self._require_no_dependence(
                            a.with_binders,
                            b.with_binders,
                            "sums",
                            f"one contribution is folded into {buffer.tensor.name} twice",
                            b.statement,
                        )

    def _check_all_present(self, buffer: Buffer, start: Statement, folded: Sequence[Contribution]) -> None:
        """Prove that every instance that the program folds into the element of a start is folded
        in.
        """
        number = start.store.equation
        if start.store.is_start:
            d = self.proof.semantics.definitions[number]
            inside = (
                d.reduction_domain
                if outside_domain(self.proof, start, d) is None
                else conjunction(d.domain, d.reduction_domain)
            )
            self._check_every_instance(d, start, start.at, inside, d.binders, folded, buffer)
            return
        target = self.proof.semantics.definitions[number].equation.target if number >= 0 else None
        self._check_defined_once(buffer)
        runs = start.domain(self.proof.facts).params()  # Where no start runs, nothing is used.
        for d in self.proof.semantics.by_target[target] if target is not None else ():
            if d.is_fold:
                self._check_every_instance(
                    d, start, None, conjunction(d.domain, d.stored), d.axes, folded, buffer, runs
                )

    def _check_defined_once(self, buffer: Buffer) -> None:
        """Prove that no element that is folded into is defined twice: a definition determines
        the contributions that belong to it.
        """
        with self.proof.obligation("once"):
            elements = [(s, self.tracer.claim(s)) for s in buffer.definitions]
            elements_written = [
                Access(s, tuple(map(s.frame.abstract, e.indices)), True)
                for s, e in elements
                if isinstance(e, Read)
            ]
            for a in elements_written:
                for b in elements_written:
                    if (found := self._conflicting_start(a, b)) is not None:
                        what = f"an element of {buffer.tensor.name} is defined twice"
                        raise Refuted("once", what, b.statement, found[0].frame, found[1])

    def _check_every_instance(
        self,
        d: Definition,
        start: Statement,
        at: tuple[Expr, ...] | None,
        inside: Expr,
        binders: tuple[Var, ...],
        folded: Sequence[Contribution],
        buffer: Buffer,
        sizes: isl.Set | None = None,
    ) -> None:
        with self.proof.obligation("sums"):
            required = RequiredInstances(
                self.proof, d, start, at, inside, binders, self.proof.facts if sizes is None else sizes
            )
            matching = [c for c in folded if c.definition is d]
            if not required.is_missing_after(matching, buffer):
                return
            at_fault = matching[-1].statement if matching else start
            raise Refuted(
                "sums",
                f"a contribution to {buffer.tensor.name} is missing",
                at_fault,
                required.frame,
                required.missing,
            )

    def _check_order(self, buffer: Buffer, folded: Sequence[Contribution]) -> None:
        """Prove that floats are added in the order of the program, or that the store permits
        another order.
        """
        with self.proof.obligation("order"):
            for a in folded:
                if a.statement.store.reassoc or not is_order_sensitive(a.statement):
                    if is_order_sensitive(a.statement):
                        self.proof.reassociated[name_of(a.definition)] = None
                    continue
                for b in folded:
                    for order in possible_orders(a.statement, b.statement):
                        self._check_forward(buffer, a, b, order)

    def _check_forward(self, buffer: Buffer, a: Contribution, b: Contribution, order: Order) -> None:
        """Prove that of two contributions to one element the first one is first in the program."""
        if a.definition is not b.definition:
            if (
                a.definition.number > b.definition.number
                and dependence_in_order(a.access, b.access, order, self.proof.facts) is not None
            ):
                raise Refuted(
                    "order",
                    f"{buffer.tensor.name} is folded in another order than the program's",
                    b.statement,
                )
            return
        for x, y in zip(a.binders, b.binders):
            low, high = index_difference(x, y, a.statement, b.statement, order)
            if high is not None and high < 0:
                return
            if (low, high) != (0, 0):
                break
        found = dependence_in_order(a.access, b.access, order, self.proof.facts)
        if found is None:
            return
        pair, pairs = found
        for k in range(len(a.binders)):
            same = [compare("==", x, pair.second(y)) for x, y in zip(a.binders[:k], b.binders)]
            wrong = pairs & pair.frame.holds(
                conjunction(*same, compare(">", a.binders[k], pair.second(b.binders[k])))
            )
            if not wrong.is_empty():
                raise Refuted(
                    "order",
                    f"{buffer.tensor.name} is folded in another order than the program's",
                    b.statement,
                    pair.frame,
                    wrong,
                )


def folds_instances(buffer: Buffer, d: Definition) -> bool:
    """True if updates are instances of a fold, rather than terms of the reduction in its value."""
    return d.is_fold and not any(s.store.role is START for s in buffer.definitions)


def is_order_sensitive(s: Statement) -> bool:
    """True if the order of these updates changes the result."""
    return s.store.tensor.dtype.is_float and s.store.update in ("add", "mul")


def name_of(d: Definition) -> str:
    """The name of a sum in a certificate."""
    return d.equation.target.name


def _targets(proof: Proof, buffer: Buffer) -> set[Tensor]:
    found = (
        proof.semantics.definitions.get(s.store.equation) for s in buffer.definitions if not s.store.is_start
    )
    return {d.equation.target for d in found if d is not None}
