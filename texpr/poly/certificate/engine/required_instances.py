"""The instances of an equation that a sum needs, and the contributions that bring them."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from texpr.ir.build import compare, conjunction, integer
from texpr.ir.expr import Expr, Var
from texpr.ir.traverse import substitute, tensors, variables
from texpr.poly.certificate.engine.buffer_accesses import access
from texpr.poly.certificate.engine.instance_pairs import Access, InstancePair, distinct_facts, same_element
from texpr.poly.certificate.engine.isl_frame import Bounds, Frame, find_equal
from texpr.poly.certificate.engine.obligations import Proof, Refuted
from texpr.poly.certificate.engine.program_semantics import Definition, at_instance, index_in_bounds
from texpr.poly.certificate.engine.statement_extraction import Buffer, Statement, reads
from texpr.support.frozen_dataclass import frozen_by_identity


@frozen_by_identity
class Contribution:
    """An instance of an equation that an update folds in: by its binders in a reduction, by its
    axes in a fold.

    Attributes:
        part: the contribution to a partial result that comes in through it.
        shared: in so many of its loops the part is in the same iteration.
    """

    statement: Statement
    definition: Definition
    binders: tuple[Expr, ...]
    place: tuple[Expr, ...]
    part: Contribution | None = None
    shared: int = 0

    @property
    def access(self) -> Access:
        return Access(self.statement, self.place, True)

    @property
    def with_binders(self) -> Access:
        """The access with the binders as further indices: two that coincide fold the same term
        into the same element.
        """
        return Access(self.statement, (*self.place, *self.binders), True)


class RequiredInstances:
    """The instances of an equation that belong to a start, at some sizes, and those of them that
    no contribution covers.
    """

    def __init__(
        self,
        proof: Proof,
        d: Definition,
        start: Statement,
        at: tuple[Expr, ...] | None,
        inside: Expr,
        binders: tuple[Var, ...],
        sizes: isl.Set,
    ) -> None:
        self.proof, self.d, self.start = proof, d, start
        program_frame = Frame(proof.nest.parameters, (), _ranges(d))
        condition = program_frame.abstract(inside)
        if at is None:  # All terms of a tensor: the program is proven to write inside.
            condition = conjunction(
                condition, program_frame.abstract(index_in_bounds(d.element, d.equation.target.shape))
            )
        condition = conjunction(condition, program_frame.bounds())
        self.terms = [(program_frame.original[var], var) for _, var in program_frame.atoms]
        self.names = (*(d.axes if at is not None else ()), *binders)
        reading = any(map(reads, at or ()))
        at = None if at is None else tuple(map(start.frame.abstract, at))
        outer = start.frame if at is not None else Frame(proof.nest.parameters, ())
        self.fresh = tuple(Var(v.name) for v in binders)
        self.data = {v: Var(v.name) for _, v in program_frame.atoms}
        self.frame = Frame(
            proof.nest.parameters,
            (*outer.variables, *self.fresh, *self.data.values()),
            outer.ranges,
            outer.constants,
        )
        values = dict(zip(self.names, (*(at or ()), *self.fresh)))
        plain = [(v, self.frame.with_constants(substitute(term, values))) for term, v in self.terms]
        data_facts = [compare("==", self.data[v], n) for v, n in plain if n is not None]
        data_facts += distinct_facts(
            self.frame, [(substitute(term, values), self.data[v]) for term, v in self.terms]
        )
        if reading:  # Data of the start and of its equation are the same.
            found = [(v, _input(start.frame, substitute(term, values))) for term, v in self.terms]
            data_facts += [compare("==", self.data[v], mine) for v, mine in found if mine is not None]
        self.missing = self.frame.holds(
            conjunction(substitute(condition, values | self.data), *data_facts)
        ).intersect_params(sizes)
        if at is not None:
            self.missing = self.missing & self.frame.lift(start.domain(proof.facts))
        self.by_start = at is not None

    def is_missing_after(self, folded: Sequence[Contribution], buffer: Buffer) -> bool:
        """True if an instance is missing once all of these are there."""
        for c in folded:
            if self.missing.is_empty():
                return False
            self._cover(c, buffer)
        return not self.missing.is_empty()

    def _cover(self, c: Contribution, buffer: Buffer) -> None:
        start = (
            access(buffer, self.start, self.start.indices) if self.by_start else Access(self.start, (), False)
        )
        shared = (
            self.start.common_depth(c.statement)
            if self.by_start and self.start.order < c.statement.order
            else 0
        )
        part, depth = c, shared
        while part is not None:
            known = {v for _, e in self._data(part) for v in variables(e)}
            if depth and depends_on_other_data(part.statement, known):
                self.frame.atoms = self._start_atoms()  # Pairs of instances find them equal then.
                known |= self._data_of_start(part.statement, depth)
            require_no_other_data(part.statement, known)
            part, depth = part.part, min(depth, part.shared)
        data = self._data(c)
        pair = InstancePair(start, c.access, shared, self.proof.facts, self.frame, self.missing)
        pairs = [compare("==", v, pair.second(e)) for v, e in zip(self.fresh, c.binders)]
        pairs += [compare("==", self.data[v], pair.second(e)) for v, e in data]
        where = same_element(pair, start, c.access) if self.by_start else conjunction()
        self.missing = self.missing - pair.project_to_first(pair.also(where, *pairs))

    def _data_of_start(self, s: Statement, depth: int) -> set[Var]:
        """The data that decide whether the start runs as well, in the same iteration of so many
        loops: where it does, they are what it found.
        """
        parameters, known = s.frame.parameters, dict[Var, Var]()
        decided = {n.var for n in s.loops[:depth]} | set(parameters.variables)
        for term, var in s.frame.atoms:
            there = substitute(term, known)
            if variables(there) <= decided and (mine := _input(self.frame, there)) is not None:
                known[var] = mine
                decided.add(mine)
        return set(known)

    def _start_atoms(self) -> list[tuple[Expr, Var]]:
        """The data of the start that have columns here."""
        return [(term, v) for term, v in self.start.frame.atoms if v in self.frame.position]

    def _data(self, c: Contribution) -> list[tuple[Var, Expr]]:
        """The data on which the equation depends at the instance of a contribution, in the frame
        of the contribution.
        """
        instance = (*c.statement.at[: len(self.d.axes)], *c.binders) if self.by_start else c.binders
        names = (*self.d.axes, *self.d.binders) if self.by_start else self.d.axes
        return [
            (var, c.statement.frame.as_integer(at_instance(term, names, instance)))
            for term, var in self.terms
        ]


def _ranges(d: Definition) -> dict[Var, Bounds]:
    """The ranges of an equation's axes that are constants: there are no instances elsewhere."""
    axes = [
        *zip(d.axes, d.equation.axes),
        *(zip(d.binders, d.reduction.axes) if d.reduction is not None else ()),
    ]
    ends = [(v, integer(a.lo), integer(a.hi)) for v, a in axes]
    return {v: (lo, hi - 1) for v, lo, hi in ends if lo is not None and hi is not None}


def _input(frame: Frame, term: Expr) -> Var | None:
    """The column of an element of an input in a frame; None if it has none."""
    if all(t in frame.parameters.inputs for t in tensors(term)):
        return find_equal(frame.atoms, term)
    return None


def depends_on_other_data(u: Statement, known: set[Var]) -> bool:
    """True if other data than these say whether an update happens."""
    plain = [u.frame.abstract(e) for e in (*u.traced_conditions, *u.extents)]
    return bool(plain and (variables(*plain) & {v for _, v in u.frame.atoms}) - known)


def require_no_other_data(u: Statement, known: set[Var]) -> None:
    """Refute an update that depends on data on which the equation does not depend."""
    if depends_on_other_data(u, known):
        raise Refuted("sums", "whether the update happens depends on data that the equation does not ask", u)
