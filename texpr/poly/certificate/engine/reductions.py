"""Reductions and folds: every contribution is there, once, after the start and before the result is used; and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from texpr.ir.build import compare, conjunction, integer, negation
from texpr.ir.expr import Expr, Read, Tensor, Var
from texpr.ir.traverse import children, substitute, variables
from texpr.poly.certificate.engine.coverage import under_conditions_of
from texpr.poly.certificate.engine.instance_pairs import Access, Joint, Order, collide, difference, later, meeting, met, of_itself
from texpr.poly.certificate.engine.isl_frame import Bounds, Frame, same_node
from texpr.poly.certificate.engine.obligations import Proof, Refuted, Reused, beyond, instances
from texpr.poly.certificate.engine.program_semantics import Definition, Total, at_instance, within
from texpr.poly.certificate.engine.statements import Buffer, Statement, joined, of_parts
from texpr.poly.certificate.engine.value_tracing import Tracer, access, updated, written


@dataclass(frozen=True, slots=True, eq=False)
class Contribution:
    """What an update folds in: the instance of the equation, by its binders in a reduction and by its axes in a fold.

    Attributes:
        part: the contribution to a partial result that comes in through it.
    """

    statement: Statement
    definition: Definition
    binders: tuple[Expr, ...]
    place: tuple[Expr, ...]
    part: Contribution | None = None

    @property
    def access(self) -> Access:
        return Access(self.statement, self.place, True)

    @property
    def with_binders(self) -> Access:
        """Two of these meet where they fold the same into the same."""
        return Access(self.statement, (*self.place, *self.binders), True)


class Sums:
    """Proves the reductions of one kernel, each buffer once."""

    def __init__(self, proof: Proof) -> None:
        self.proof = proof
        self.tracer = Tracer(proof, self.complete, self.whole)
        self._done: set[tuple[int, bool]] = set()
        self._contributions: dict[int, list[Contribution]] = {}

    def complete(self, proof: Proof, buffer: Buffer, use: Access) -> None:
        """A use finds everything folded in.

        Raises:
            Refuted: it does not.
        """
        if of_parts(buffer):  # Only a total that they are folded into makes something of them.
            raise Refuted("sums", f"{buffer.tensor.name} holds parts of what is folded, not all of it", use.statement)
        self.prepare(buffer, whole=True)
        self.finished(buffer, use)

    def finished(self, buffer: Buffer, use: Access) -> None:
        """No update comes after a use of its element."""
        with self.proof.asking("sums"):
            for u in updated(self.proof, buffer):
                self._never(use, u, "sums", f"{buffer.tensor.name} is used before all is folded into it", use.statement)

    def whole(self, buffer: Buffer, use: Access) -> None:
        """Where data says which elements are written: all instances of the equations run, once, and before the use.

        That they define every element, and none twice, was proven of the program.
        """
        with self.proof.asking("covered"):
            wanted = {d.number for t in _targets(self.proof, buffer) for d in self.proof.meaning.of[t] if not d.is_fold}
            if buffer.home or {s.store.equation for s in buffer.definitions} != wanted:
                raise Refuted("covered", f"whether {buffer.tensor.name} is written depends on data", buffer.definitions[0])
            instances = [Contribution(s, self.proof.meaning.definitions[s.store.equation], s.at, ()) for s in buffer.definitions]
            for number in wanted:
                d = self.proof.meaning.definitions[number]
                self._every_instance(d, buffer.definitions[0], None, conjunction(d.domain, d.stored), d.axes, instances, buffer)
            for s in buffer.definitions:
                self._never(Access(use.statement, (), False), Access(s, (), True), "initialised",
                            f"{buffer.tensor.name} is read before all of it is written", use.statement)

    def prepare(self, buffer: Buffer, *, whole: bool) -> None:
        """What holds of a buffer's updates whoever uses it; `whole` if nothing may be missing."""
        if (id(buffer), whole) in self._done:
            return
        self._done.add((id(buffer), whole))
        starts = written(self.proof, buffer)
        self._started_once(buffer, starts)
        folded = self.contributions(buffer)
        self._after_start(buffer, starts)
        self._into_its_own(buffer, folded)
        self._once(buffer, folded)
        if whole:
            for start in starts:
                self._all_there(buffer, start.statement, folded)
        self._in_order(buffer, folded)

    def contributions(self, buffer: Buffer) -> list[Contribution]:
        """Of all updates of a buffer; of partial results, what was folded into them."""
        found = self._contributions.get(id(buffer))
        if found is None:
            found = self._contributions[id(buffer)] = []
            for u in buffer.updates:
                found += self._of_update(buffer, u)
        return found

    def _of_update(self, buffer: Buffer, u: Statement) -> list[Contribution]:
        d = self.proof.meaning.definitions.get(u.store.equation)
        if d is None:
            raise Refuted("sums", f"the program has no equation {u.store.equation}", u)
        place = access(buffer, u, u.indices).place
        partial = joined(self.proof.nest, u)
        if partial is None:
            at, whole = tuple(map(u.frame.plain, u.at)), folds(buffer, d)
            if len(at) != len(d.axes) + (0 if whole else len(d.binders)):
                raise Refuted("sums", f"the update folds a{' term of a reduction' if whole else ' reduction'} into {buffer.tensor.name}", u)
            return [Contribution(u, d, at if whole else at[len(d.axes) :], place)]
        value = u.store.value
        assert isinstance(value, Read)
        use = access(partial, u, tuple(self.tracer.traced(u, i) for i in value.indices))
        with self.proof.asking("initialised"):
            self.tracer.initialised(partial, use)
        self.prepare(partial, whole=False)
        self.finished(partial, use)
        self._of_the_same(buffer, u, self.tracer.content(partial, u, use.place[len(partial.home) :], [use]))
        self._reassociated(u, d)
        return [self._through(u, use, c, place) for c in self.contributions(partial)]

    def _of_the_same(self, buffer: Buffer, u: Statement, partial: Expr) -> None:
        """Partial results are folded into the total that they are parts of."""
        self._belongs(buffer, u, partial, self.tracer.content(buffer, u, u.indices))

    def _belongs(self, buffer: Buffer, u: Statement, mine: Expr, theirs: Expr) -> None:
        """Two totals, or elements, are one."""
        if not same_node(mine, theirs):
            raise Refuted("sums", f"{buffer.tensor.name} is not what the update folds into", u)
        context = instances(self.proof, u)
        for a, b in zip(children(mine), children(theirs)):
            assert isinstance(a, Expr) and isinstance(b, Expr), "indices"
            spelled = self.proof.meaning.spelled_out
            if not context.equal(a, b) and not context.equal(spelled(a), spelled(b)):
                wrong = context.also(compare("!=", a, b)).set
                raise Refuted("sums", f"the update is of another element than {buffer.tensor.name} holds there", u, u.frame, wrong)

    def _through(self, u: Statement, use: Access, c: Contribution, place: tuple[Expr, ...]) -> Contribution:
        """What comes into a sum through a partial one, under no further condition on data."""
        alone = under_conditions_of(u, c.statement) if _other_data(u, set()) else None
        if alone is None:
            _no_other_data(u, set())
            alone = u
        use = replace(use, statement=alone)
        joint = Joint(use, c.access, 0, self.proof.facts)
        pairs = joint.also(met(joint, use, c.access))
        if alone is not u:
            loops = u.loops[: u.common(c.statement)]
            if not pairs.is_subset(joint.also(*(compare("==", n.var, joint.there(n.var)) for n in loops))):
                _no_other_data(u, set())
        statement = replace(alone, frame=joint.frame, held=[], _domain=pairs)
        return Contribution(statement, c.definition, tuple(joint.there(b) for b in c.binders), place, c)

    def _reassociated(self, u: Statement, d: Definition) -> None:
        store = u.store
        if store.tensor.dtype.is_float and store.update in ("add", "mul"):
            if not store.reassoc:
                raise Refuted("order", "a sum of floats is cut into parts, which nothing permits", u)
            self.proof.reassociated[name_of(d)] = None

    def _never(self, first: Access, then: Access, rule: str, what: str, at: Statement) -> None:
        """Raise Refuted, saying `what` of a place, if an element is used by `first` and later by `then`."""
        found = meeting(first, then, self.proof.facts)
        if found is not None:
            raise Refuted(rule, what, at, found[0].frame, found[1])

    def _started_once(self, buffer: Buffer, starts: Sequence[Access]) -> None:
        with self.proof.asking("once"):
            for a in starts:
                for b in starts:
                    found = self._meeting_anew(a, b)
                    if found is not None:
                        copied = next((s.statement for s in (b, a) if s.statement.store.equation < 0), None)
                        what = (f"an element of {buffer.tensor.name} is started twice" if copied is None else
                                f"what is copied into {buffer.tensor.name} is not proven to be the sum that is there, with more folded in")
                        raise Reused(buffer.tensor, "once", what, copied or b.statement, found[0].frame, found[1])

    def _meeting_anew(self, a: Access, b: Access) -> tuple[Joint, isl.Set] | None:
        """An instance of `a` and a later one of `b` that use one element, for more than to store there what is there: the value that one
        instance of an equation begins with, in the same place. That no update comes between is asked of updates.
        """
        found = meeting(a, b, self.proof.facts)
        one, other = a.statement.store, b.statement.store
        if found is None or one.equation < 0 or (one.equation, one.start, one.part) != (other.equation, other.start, other.part):
            return found
        joint, pairs = found
        mine, theirs = ((*s.indices, *s.at) for s in (a.statement, b.statement))
        same = (compare("==", a.statement.frame.plain(x), joint.there(b.statement.frame.plain(y))) for x, y in zip(mine, theirs))
        wrong = pairs & joint.frame.holds(negation(conjunction(*same)))
        return None if wrong.is_empty() else (joint, wrong)

    def _after_start(self, buffer: Buffer, starts: Sequence[Access]) -> None:
        with self.proof.asking("initialised"):
            for u in updated(self.proof, buffer):
                self.tracer.initialised(buffer, u)
                for start in starts:
                    self._never(u, start, "sums", f"{buffer.tensor.name} is started after an update", start.statement)
                    if start.statement.store.equation < 0:  # All of a sum is there when it is copied.
                        self._never(start, u, "sums", f"more is folded into {buffer.tensor.name} than what was copied there", u.statement)

    def _into_its_own(self, buffer: Buffer, folded: Sequence[Contribution]) -> None:
        """An update folds into the element that its instance belongs to."""
        with self.proof.asking("sums"):
            for u in buffer.updates:
                d = self.proof.meaning.definitions[u.store.equation]
                partial = joined(self.proof.nest, u)
                if partial is not None and of_parts(partial):
                    continue  # They are of the same element.
                element = Read(d.equation.target, tuple(at_instance(i, d.axes, u.at) for i in d.element))
                wanted = element if folds(buffer, d) else Total(d.number, u.at[: len(d.axes)], dtype=u.store.tensor.dtype)
                self._belongs(buffer, u, self.tracer.content(buffer, u, u.indices), wanted)

    def _once(self, buffer: Buffer, folded: Sequence[Contribution]) -> None:
        with self.proof.asking("sums"):
            for a in folded:
                for b in folded:
                    if a.definition is b.definition:
                        self._never(a.with_binders, b.with_binders, "sums",
                                    f"one contribution is folded into {buffer.tensor.name} twice", b.statement)

    def _all_there(self, buffer: Buffer, start: Statement, folded: Sequence[Contribution]) -> None:
        """Every instance that the program folds into the element of a start is folded in."""
        number = start.store.equation
        if start.store.start:
            d = self.proof.meaning.definitions[number]
            inside = d.inside if beyond(self.proof, start, d) is None else conjunction(d.domain, d.inside)
            self._every_instance(d, start, start.at, inside, d.binders, folded, buffer)
            return
        target = self.proof.meaning.definitions[number].equation.target if number >= 0 else None
        self._defined_once(buffer)
        runs = start.domain(self.proof.facts).params()  # Where no start runs, nothing is used.
        for d in self.proof.meaning.of[target] if target is not None else ():
            if d.is_fold:
                self._every_instance(d, start, None, conjunction(d.domain, d.stored), d.axes, folded, buffer, runs)

    def _defined_once(self, buffer: Buffer) -> None:
        """No element that is folded into has two lives, so that it can be said what belongs to one."""
        with self.proof.asking("once"):
            elements = [(s, self.tracer.claim(s)) for s in buffer.definitions]
            lives = [Access(s, tuple(map(s.frame.plain, e.indices)), True) for s, e in elements if isinstance(e, Read)]
            for a in lives:
                for b in lives:
                    if (found := self._meeting_anew(a, b)) is not None:
                        what = f"an element of {buffer.tensor.name} is defined twice"
                        raise Refuted("once", what, b.statement, found[0].frame, found[1])

    def _every_instance(self, d: Definition, start: Statement, at: tuple[Expr, ...] | None, inside: Expr, binders: tuple[Var, ...],
                        folded: Sequence[Contribution], buffer: Buffer, sizes: isl.Set | None = None) -> None:
        with self.proof.asking("sums"):
            needed = _Needed(self.proof, d, start, at, inside, binders, self.proof.facts if sizes is None else sizes)
            own = [c for c in folded if c.definition is d]
            if not needed.left_by(own, buffer):
                return
            raise Refuted("sums", f"a contribution to {buffer.tensor.name} is missing", own[-1].statement if own else start, needed.frame,
                          needed.left)

    def _in_order(self, buffer: Buffer, folded: Sequence[Contribution]) -> None:
        """Floats are added in the order of the program, or the store says that another order is permitted."""
        with self.proof.asking("order"):
            for a in folded:
                if a.statement.store.reassoc or not ordered(a.statement):
                    if ordered(a.statement):
                        self.proof.reassociated[name_of(a.definition)] = None
                    continue
                for b in folded:
                    for order in later(a.statement, b.statement):
                        self._runs_forward(buffer, a, b, order)

    def _runs_forward(self, buffer: Buffer, a: Contribution, b: Contribution, order: Order) -> None:
        """Of two contributions to one element, the one that runs first is first in the program."""
        if a.definition is not b.definition:
            if a.definition.number > b.definition.number and collide(a.access, b.access, order, self.proof.facts) is not None:
                raise Refuted("order", f"{buffer.tensor.name} is folded in another order than the program's", b.statement)
            return
        for x, y in zip(a.binders, b.binders):
            low, high = difference(x, y, a.statement, b.statement, order)
            if high is not None and high < 0:
                return
            if (low, high) != (0, 0):
                break
        found = collide(a.access, b.access, order, self.proof.facts)
        if found is None:
            return
        joint, pairs = found
        for k in range(len(a.binders)):
            same = [compare("==", x, joint.there(y)) for x, y in zip(a.binders[:k], b.binders)]
            wrong = pairs & joint.frame.holds(conjunction(*same, compare(">", a.binders[k], joint.there(b.binders[k]))))
            if not wrong.is_empty():
                raise Refuted("order", f"{buffer.tensor.name} is folded in another order than the program's", b.statement, joint.frame,
                              wrong)


def folds(buffer: Buffer, d: Definition) -> bool:
    """Whether updates are instances of a fold, rather than terms of the reduction in its value."""
    return d.is_fold and not any(s.store.start and not s.store.part for s in buffer.definitions)


def ordered(s: Statement) -> bool:
    """Whether the order of these updates changes the result."""
    return s.store.tensor.dtype.is_float and s.store.update in ("add", "mul")


def name_of(d: Definition) -> str:
    """What a sum is called in a certificate."""
    return d.equation.target.name


def _targets(proof: Proof, buffer: Buffer) -> set[Tensor]:
    found = (proof.meaning.definitions.get(s.store.equation) for s in buffer.definitions if not s.store.start)
    return {d.equation.target for d in found if d is not None}


class _Needed:
    """The instances of an equation that belong to a start, at some sizes, and which of them no contribution covers."""

    def __init__(self, proof: Proof, d: Definition, start: Statement, at: tuple[Expr, ...] | None, inside: Expr,
                 binders: tuple[Var, ...], sizes: isl.Set) -> None:
        self.proof, self.d, self.start = proof, d, start
        own = Frame(proof.nest.parameters, (), _ranges(d))
        condition = own.plain(inside)
        if at is None:  # All terms of a tensor: the program is proven to write inside.
            condition = conjunction(condition, own.plain(within(d.element, d.equation.target.shape)))
        condition = conjunction(condition, own.bounds())
        self.terms = [(own.whole[var], var) for _, var in own.atoms]
        self.names = (*(d.axes if at is not None else ()), *binders)
        outer = start.frame if at is not None else Frame(proof.nest.parameters, ())
        self.fresh = tuple(Var(v.name) for v in binders)
        self.data = {v: Var(v.name) for _, v in own.atoms}
        self.frame = Frame(proof.nest.parameters, (*outer.variables, *self.fresh, *self.data.values()), outer.ranges, outer.constants)
        values = dict(zip(self.names, (*(at or ()), *self.fresh)))
        plain = [(v, self.frame.with_constants(substitute(term, values))) for term, v in self.terms]
        told = [compare("==", self.data[v], n) for v, n in plain if n is not None]
        told += of_itself(self.frame, [(substitute(term, values), self.data[v]) for term, v in self.terms])
        self.left = self.frame.holds(conjunction(substitute(condition, values | self.data), *told)).intersect_params(sizes)
        if at is not None:
            self.left = self.left & self.frame.up(start.domain(proof.facts))
        self.by_start = at is not None

    def left_by(self, folded: Sequence[Contribution], buffer: Buffer) -> bool:
        """Whether something is left once all of these are there."""
        for c in folded:
            if self.left.is_empty():
                return False
            self._cover(c, buffer)
        return not self.left.is_empty()

    def _cover(self, c: Contribution, buffer: Buffer) -> None:
        part: Contribution | None = c
        while part is not None:
            _no_other_data(part.statement, {v for _, e in self._data(part) for v in variables(e)})
            part = part.part
        start = access(buffer, self.start, self.start.indices) if self.by_start else Access(self.start, (), False)
        shared = self.start.common(c.statement) if self.by_start and self.start.order < c.statement.order else 0
        data = self._data(c)
        joint = Joint(start, c.access, shared, self.proof.facts, self.frame, self.left)
        pairs = [compare("==", v, joint.there(e)) for v, e in zip(self.fresh, c.binders)]
        pairs += [compare("==", self.data[v], joint.there(e)) for v, e in data]
        where = met(joint, start, c.access) if self.by_start else conjunction()
        self.left = self.left - joint.of_first(joint.also(where, *pairs))

    def _data(self, c: Contribution) -> list[tuple[Var, Expr]]:
        """The data that the equation asks at the instance of a contribution, in the frame of that."""
        instance = (*c.statement.at[: len(self.d.axes)], *c.binders) if self.by_start else c.binders
        names = (*self.d.axes, *self.d.binders) if self.by_start else self.d.axes
        return [(var, c.statement.frame.number(at_instance(term, names, instance))) for term, var in self.terms]


def _ranges(d: Definition) -> dict[Var, Bounds]:
    """The ranges of an equation's axes that are constants: there are no instances elsewhere."""
    axes = [*zip(d.axes, d.equation.axes), *(zip(d.binders, d.reduction.axes) if d.reduction is not None else ())]
    ends = [(v, integer(a.lo), integer(a.hi)) for v, a in axes]
    return {v: (lo, hi - 1) for v, lo, hi in ends if lo is not None and hi is not None}


def _other_data(u: Statement, known: set[Var]) -> bool:
    plain = [u.frame.plain(e) for e in (*u.held, *u.extents)]
    return bool(plain and (variables(*plain) & {v for _, v in u.frame.atoms}) - known)


def _no_other_data(u: Statement, known: set[Var]) -> None:
    """Whether an update happens depends on no data that the program does not ask."""
    if _other_data(u, known):
        raise Refuted("sums", "whether the update happens depends on data that the equation does not ask", u)
