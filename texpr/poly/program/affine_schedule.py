"""Affine schedules (Feautrier) for equations that depend on each other: times, affine functions of
instances, found one after the other.

An instance needs the instances that define what it reads. Equations that need each other in a
circle get a shared loop: each a time such that no instance needs a later one. What needs a strictly
earlier time is settled; the rest must be settled inside one iteration, by the order of the text
where there is no circle, else by another loop (Feautrier, Some Efficient Solutions to the Affine
Scheduling Problem, 1992; Allen and Kennedy, Automatic Translation of Fortran Programs to Vector
Form, 1987). A time that is right never closes the way to an order, so none is taken back. Axes are
tried first, then sums of them, then what isl's scheduler proposes; all are proven here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product

from texpr.ir.affine import Linear
from texpr.ir.expr import Read, Tensor
from texpr.ir.tensor import Equation, Program
from texpr.poly.constraints.congruence import distinct_arguments
from texpr.poly.constraints.linear_forms import Form, Key, variable
from texpr.poly.constraints.proof_thread import one_at_a_time
from texpr.poly.constraints.solver import OutOfQuota, Question, System, proposed_times, run_within_quota
from texpr.poly.program.claims import EquationDomain, ProgramProof
from texpr.poly.program.single_assignment import Element, elements, writes
from texpr.support.frozen_dataclass import frozen, frozen_by_identity, replace

SOURCE, SINK = 1, 2
"""The copies of variables in a question: the instance that is needed, and the one that needs it."""
MOST_SUMS = 100
"""Sums of axes that are tried as a time."""
MOST_CHOICES = 16
"""Choices of axes that are tried for each axis of the first equation."""
MOST_TRIED = 1000
"""Choices for some of the equations that are tried at most on the way to choices for all: if all
fail, cycles of a dozen equations have millions.
"""


@frozen
class Loop:
    """Equations, by position, that share a loop: each instance runs at its time. In an iteration
    the parts of the body run in turn.
    """

    times: Mapping[int, Linear]
    body: tuple[Order, ...]


Order = Loop | int
"""A loop, or the position of an equation whose other axes run in any order."""


@frozen_by_identity
class Dependence:
    """Instances of the equation at `sink` that need such of the one at `source`; one case of
    them.
    """

    source: int
    sink: int
    question: Question
    system: System


@one_at_a_time
def order_of(program: Program, positions: Iterable[int]) -> tuple[Order, ...] | None:
    """An order in which every instance of the equations runs after all it needs; None if none is
    found, or not within the quota.
    """
    members = {k: e for k in positions if isinstance(e := program.equations[k], Equation)}
    proof = ProgramProof(replace(program, equations=tuple(members.values())))
    try:
        return run_within_quota(lambda: order_of_places(proof, dict(zip(members, proof.places))))
    except OutOfQuota:
        return None


def order_of_places(proof: ProgramProof, places: Mapping[int, EquationDomain]) -> tuple[Order, ...] | None:
    """As `order_of`, within a proof; to be called within a quota."""
    search = _Search(proof, places)
    return search.parts(list(places), search.dependences(), frozenset())


class _Search:
    """The search among some equations of a program."""

    def __init__(self, proof: ProgramProof, places: Mapping[int, EquationDomain]) -> None:
        self.proof, self.places = proof, places
        self._least: dict[tuple[Dependence, Form, Form], int | None] = {}

    def dependences(self) -> list[Dependence]:
        """The dependences: readers on definitions and updates, updates on definitions and on
        what is folded before them.
        """
        writers: dict[Tensor, list[int]] = {}
        for k, place in self.places.items():
            writers.setdefault(place.equation.target, []).append(k)
        found: list[Dependence] = []
        for sink, place in self.places.items():
            for site in place.sites:
                if isinstance(site.node, Read) and site.node.tensor in writers:
                    needed, _ = elements(
                        self.proof, site.condition, site.node.tensor, site.node.indices, site.node.guard
                    )
                    for source in writers[site.node.tensor]:
                        found += self._meetings(source, sink, needed)
            if place.equation.update is not None:
                guarded_indices, _ = writes(self.proof, place)
                for source in writers[place.equation.target]:
                    if self.places[source].equation.update is None or source < sink:
                        found += self._meetings(source, sink, guarded_indices)
                found += self._successions(sink, guarded_indices)
        return found

    def _meetings(self, source: int, sink: int, needed: Iterable[Element]) -> Iterator[Dependence]:
        """Instance pairs of a dependence: the first of which writes an element that the second
        needs.
        """
        for (p, at), (q, to) in product(writes(self.proof, self.places[source])[0], needed):
            question = self._question(source, sink)
            question.require(p, SOURCE)
            question.require(q, SINK)
            for i, j in zip(at, to):
                question.add(question.compare(i, SOURCE, j, SINK))
            question.add_all(
                [
                    question.compare(i, SOURCE, j, SINK)
                    for i, j in distinct_arguments(self.proof.converter, at, to)
                ]
            )
            system = question.system()
            if not system.is_empty:
                yield Dependence(source, sink, question, system)

    def _successions(self, position: int, guarded_indices: Sequence[Element]) -> Iterator[Dependence]:
        """Dependences between updates of floats: they are folded in the order of the axes."""
        equation = self.places[position].equation
        if not equation.target.dtype.is_float or equation.update in ("max", "min"):
            return
        axes = [variable(a.var) for a in equation.axes]
        for dependence in self._meetings(position, position, guarded_indices):
            for depth in range(len(axes)):
                rows = [dependence.question.compare(v, SINK, v, SOURCE) for v in axes[:depth]]
                rows.append(dependence.question.compare(axes[depth], SINK, axes[depth], SOURCE, gap=1))
                system = dependence.system.also(rows)
                if not system.is_empty:
                    yield replace(dependence, system=system)

    def _question(self, source: int, sink: int) -> Question:
        return self.proof.question(
            [
                (a.var, copy)
                for k, copy in ((source, SOURCE), (sink, SINK))
                for a in self.places[k].equation.axes
            ]
        )

    def parts(
        self, members: Sequence[int], dependences: Sequence[Dependence], used: frozenset[Key]
    ) -> tuple[Order, ...] | None:
        """Cycles of equations, one after the other, in textual order where there is a choice;
        `used` axes are times of loops around.
        """
        order: list[Order] = []
        for cycle in _cycles(members, dependences):
            inside = [n for n in dependences if n.source in cycle and n.sink in cycle]
            if not inside:
                order += cycle
                continue
            loop = self._loop(cycle, inside, used)
            if loop is None:
                return None
            order.append(loop)
        return tuple(order)

    def _loop(
        self, members: Sequence[int], dependences: Sequence[Dependence], used: frozenset[Key]
    ) -> Loop | None:
        times = next(
            (t for t in self._times(members, dependences, used) if self._is_legal(t, dependences)), None
        )
        if times is None:
            return None
        axes = {form.terms[0][0] for form in times.values() if len(form.terms) == 1}
        body = self.parts(members, self._unsatisfied(times, dependences), used | axes)
        return (
            None
            if body is None
            else Loop({k: Linear(times[k].terms, times[k].constant) for k in members}, body)  # type: ignore[arg-type]
        )

    def _unsatisfied(self, times: Mapping[int, Form], dependences: Sequence[Dependence]) -> list[Dependence]:
        """The dependences whose instances have the same time."""
        remaining = []
        for n in dependences:
            least = self._distance(n, times[n.sink], times[n.source])
            if least is None or least < 1:
                system = n.system.also([n.question.compare(times[n.sink], SINK, times[n.source], SOURCE)])
                if not system.is_empty:
                    remaining.append(replace(n, system=system))
        return remaining

    def _distance(self, dependence: Dependence, sink: Form, source: Form) -> int | None:
        """Lower bound of the time of the sink minus the time of the source; None if there is none."""
        lhs, rhs = Form(sink.terms), Form(source.terms)
        key = dependence, lhs, rhs
        if key not in self._least:
            self._least[key] = dependence.system.least(dependence.question.compare(lhs, SINK, rhs, SOURCE))
        least = self._least[key]
        return None if least is None else least + sink.constant - source.constant

    def _is_legal(self, times: Mapping[int, Form], dependences: Sequence[Dependence]) -> bool:
        """True if no instance needs a later one, and some dependence is satisfied or the time is an
        axis of a single equation.
        """
        if not all(
            (d := self._distance(n, times[n.sink], times[n.source])) is not None and d >= 0
            for n in dependences
        ):
            return False
        return (
            len(times) == 1 and all(len(form.terms) == 1 for form in times.values())
        ) or self._satisfies_some(times, dependences)

    def _satisfies_some(self, times: Mapping[int, Form], dependences: Sequence[Dependence]) -> bool:
        return any(
            (d := self._distance(n, times[n.sink], times[n.source])) is not None and d >= 1
            for n in dependences
        ) or (len(self._unsatisfied(times, dependences)) < len(dependences))

    def _times(
        self, members: Sequence[int], dependences: Sequence[Dependence], used: frozenset[Key]
    ) -> Iterator[dict[int, Form]]:
        """Candidate times: axes, sums of axes, proposals of isl."""
        yield from self._along_axes(members, dependences, used)
        if len(members) == 1:
            yield from ({members[0]: t} for t in self._sums(members[0], dependences))
        yield from self._proposed(members, dependences)

    def _along_axes(
        self, members: Sequence[int], dependences: Sequence[Dependence], used: frozenset[Key]
    ) -> Iterator[dict[int, Form]]:
        """An axis and a direction of each equation, shifted by constants; the same place and
        direction for all first.
        """
        choices = {k: self._axis_choices(k, used) for k in members}
        if len(members) == 1:
            choices = {
                k: [w for w in mine if self.places[k].equation.axes[w[0]].var not in used]
                for k, mine in choices.items()
            }
        others = _nearest_first(members, dependences)[1:]
        for first in choices[members[0]]:
            ranked = {
                k: [self._axis(k, w) for w in sorted(choices[k], key=lambda w: w != first)] for k in others
            }
            yield from islice(
                self._consistent({members[0]: self._axis(members[0], first)}, ranked, dependences),
                MOST_CHOICES,
            )

    def _axis_choices(self, k: int, used: frozenset[Key]) -> list[tuple[int, int]]:
        """Axes and directions, those last that are the time of a loop around: there the equation
        runs in one iteration.
        """
        axes = self.places[k].equation.axes
        return [
            (p, sign) for p in sorted(range(len(axes)), key=lambda p: axes[p].var in used) for sign in (1, -1)
        ]

    def _axis(self, k: int, choice: tuple[int, int]) -> Form:
        position, sign = choice
        return variable(self.places[k].equation.axes[position].var).times(sign)

    def _consistent(
        self, start: dict[int, Form], choices: Mapping[int, Sequence[Form]], dependences: Sequence[Dependence]
    ) -> Iterator[dict[int, Form]]:
        """Choices for all equations with bounded distances between dependent ones, shifted so that
        no distance is negative.
        """
        stack, tried = [start], 0
        while stack and tried < MOST_TRIED:
            chosen, tried = stack.pop(), tried + 1
            shifted = self._shifted(chosen, dependences)
            if shifted is None:
                continue
            k = next((k for k in choices if k not in chosen), None)
            if k is None:
                yield shifted
                continue
            stack += [{**chosen, k: form} for form in reversed(choices[k])]

    def _shifted(
        self, times: Mapping[int, Form], dependences: Sequence[Dependence]
    ) -> dict[int, Form] | None:
        """Constants added so that no distance is negative; None if a distance has no bound or a
        cycle of dependences forbids it.
        """
        distances: dict[tuple[int, int], int] = {}
        for n in dependences:
            if n.source in times and n.sink in times:
                distance = self._distance(n, times[n.sink], times[n.source])
                if distance is None:
                    return None
                pair = n.source, n.sink
                distances[pair] = min(distance, distances.get(pair, distance))
        shifts = dict.fromkeys(times, 0)
        for _ in range(len(times) + 1):
            changed = False
            for (source, sink), distance in distances.items():
                if shifts[source] - distance > shifts[sink]:
                    shifts[sink], changed = shifts[source] - distance, True
            if not changed:
                return {k: form.shifted(shifts[k]) for k, form in times.items()}
        return None

    def _sums(self, k: int, dependences: Sequence[Dependence]) -> Iterator[Form]:
        """Sums and differences of axes, few axes first."""
        axes = [a.var for a in self.places[k].equation.axes if not a.var.pack]
        signs = sorted(product((0, 1, -1), repeat=min(len(axes), 4)), key=lambda s: sum(map(abs, s)))
        vectors = [s for s in signs if sum(map(abs, s)) > 1][:MOST_SUMS]
        for s in vectors:
            form = Form(tuple((v, c) for v, c in zip(axes, s) if c))
            if any((d := self._distance(n, form, form)) is not None and d >= 1 for n in dependences):
                yield form

    def _proposed(
        self, members: Sequence[int], dependences: Sequence[Dependence]
    ) -> Iterator[dict[int, Form]]:
        """Proposals of isl's scheduler for the dependences: integer combinations of sizes and axes,
        and a constant.
        """
        sizes = list(self.proof.program.sizes)
        axes = {k: [a.var for a in self.places[k].equation.axes] for k in members}
        domains = {k: self._domain(k) for k in members}
        rows = proposed_times(
            len(sizes),
            {k: len(axes[k]) for k in members},
            domains,
            [(n.source, n.sink, n.system) for n in dependences],
        )
        if rows is not None:
            columns: dict[int, list[Key]] = {k: [*sizes, *axes[k]] for k in members}
            yield {
                k: Form(tuple((key, c) for key, c in zip(columns[k], row) if c), constant)
                for k, (row, constant) in rows.items()
            }

    def _domain(self, k: int) -> list[System]:
        """The instances of an equation."""
        place = self.places[k]
        found = []
        for piece in place.domain.true:
            question = self.proof.question([(a.var, SOURCE) for a in place.equation.axes])
            question.require(piece, SOURCE)
            found.append(question.system())
        return found


def _nearest_first(members: Sequence[int], dependences: Sequence[Dependence]) -> list[int]:
    """Equations in an order in which each depends on, or is needed by, one before it: a conflict is
    seen as soon as it is chosen.
    """
    order, remaining = [members[0]], list(members[1:])
    while remaining:
        known = {*order}
        adjacent = {k for n in dependences if known & {n.source, n.sink} for k in (n.source, n.sink)}
        order.append(next((k for k in remaining if k in adjacent), remaining[0]))
        remaining.remove(order[-1])
    return order


def _cycles(members: Sequence[int], dependences: Sequence[Dependence]) -> list[list[int]]:
    """Strongly connected equations together, producers first, in textual order where there is a
    choice.
    """
    direct: dict[int, set[int]] = {k: set() for k in members}
    for n in dependences:
        direct[n.sink].add(n.source)
    reach = {k: _reachable(k, direct) for k in members}
    remaining, order = list(members), list[list[int]]()
    while remaining:
        first = next(k for k in remaining if not {m for m in reach[k] if k not in reach[m]} & set(remaining))
        cycle = [k for k in remaining if k == first or (k in reach[first] and first in reach[k])]
        order.append(cycle)
        remaining = [k for k in remaining if k not in cycle]
    return order


def _reachable(start: int, direct: Mapping[int, set[int]]) -> set[int]:
    found: set[int] = set()
    stack = [start]
    while stack:
        new = direct[stack.pop()] - found
        found |= new
        stack += new
    return found
