"""Copies of a loop, one after the other, merged into one loop: fewer statements to ask about, the
same order.

`peel` and others leave copies of a loop, each for a range of its iterations. Where every iteration
of the first counts less than every one of the next, they are one loop that counts through all the
ranges, and what one statement of each does is what one statement does.

    for i in 0..1: A[i] = 0                            for i in 0..N:
    for i in 0..N-1: A[i+1] = A[i]            ->         A[i] = 0 if i < 1, A[i] = A[i-1] if i >= 1

Instances, what they access and their order stay as they are, by other names. So questions about a
kernel may be asked of either.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import combinations, groupby

from texpr.ir.loop import For
from texpr.poly.constraints.linear_forms import Conjunction, Constraint, Form, Key, Unknown, variable
from texpr.poly.constraints.solver import Question, Row, merge_cases
from texpr.poly.dependence.kernel_model import Access, Nest, Statement
from texpr.support.frozen_dataclass import frozen_by_identity, replace

FIRST, NEXT = 1, 2

_MEMO: OrderedDict[int, tuple[Nest, Nest]] = OrderedDict()
_MEMO_SIZE = 64


def merge_copies(nest: Nest) -> Nest:
    """Merge copies of loops in a nest; the same nest if there are none, or if this is not seen.

    Its statements are the first of those they stand for, with the loops of these; their domains and
    accesses are of all.
    """
    if id(nest) not in _MEMO:
        _MEMO[id(nest)] = nest, _merge_copies(nest)
        while len(_MEMO) > _MEMO_SIZE:
            _MEMO.popitem(last=False)
    return _MEMO[id(nest)][1]


def _merge_copies(nest: Nest) -> Nest:
    """Statements of more than one case, or about values of data, are not joined: there is
    nothing to be gained.
    """
    if (
        nest.private
        or len({s.store.equation for s in nest.statements}) == len(nest.statements)
        or not all(map(_is_affine, nest.statements))
    ):
        return nest
    copies = _Copies(nest)
    copies.find([list(nest.statements)], 0)
    groups: dict[tuple, list[_RenamedStatement]] = {}
    for s in nest.statements:
        member = copies.member(s)
        groups.setdefault(member.key, []).append(member)
    if len(groups) == len(nest.statements) or not _in_order(list(groups.values())):
        return nest
    return replace(nest, statements=tuple(map(_merge, groups.values())))


def _is_affine(s: Statement) -> bool:
    """True if nothing that is said of a statement depends on values of data or quotients, which
    have names of their own.
    """
    constraints = [c for p in (*s.domain, *(p for a in s.accesses for p, _ in a.cases)) for c in p]
    forms = [*(c.form for c in constraints), *(f for a in s.accesses for _, at in a.cases for f in at)]
    return not any(isinstance(k, Unknown) and not k.shared for form in forms for k, _ in form.terms)


@frozen_by_identity
class _RenamedStatement:
    """A statement over the loops of the first copy.

    Attributes:
        loops: the first copy of each loop around it.
        values: its loop variables in terms of theirs.
    """

    statement: Statement
    loops: tuple[For, ...]
    values: dict[Key, Form]
    _renamed: dict[int, Constraint] = field(default_factory=dict)
    """Constraints of the domain are part of what is said of every access."""

    @property
    def key(self) -> tuple:
        store = self.statement.store
        return self.loops, store.tensor, store.update, store.reassoc, store.equation, self.statement.exact

    @property
    def is_renamed(self) -> bool:
        return any(value != variable(n.var) for n, value in zip(self.loops, self.values.values()))

    def piece(self, of: Conjunction) -> Conjunction:
        """Rename the constraints of the statement."""
        for c in of:
            if id(c) not in self._renamed:
                self._renamed[id(c)] = Constraint(c.form.over(self.values), c.equality)
        return tuple([self._renamed[id(c)] for c in of])


class _Copies:
    """The first copy of each loop, and the shift of its count."""

    def __init__(self, nest: Nest) -> None:
        self._nest = nest
        self._first: dict[For, For] = {}
        self._shift: dict[For, Form] = {}

    def member(self, s: Statement) -> _RenamedStatement:
        values: dict[Key, Form] = {}
        for n in s.loops:
            values[n.var] = (
                variable(self._first[n].var).plus(self._shift[n].over(values), -1)
                if n in self._shift
                else variable(n.var)
            )
        return _RenamedStatement(s, tuple(self._first.get(n, n) for n in s.loops), values)

    def find(self, bodies: Sequence[Sequence[Statement]], depth: int) -> None:
        """Look through bodies that run in different iterations of loops around which are one: in
        each, one run of loops may be copies of the same loop.
        """
        runs: dict[tuple, list[_Run]] = {}
        for body in bodies:
            seen: set[tuple] = set()
            for run in self._runs(body, depth):
                key = run.key if run.key not in seen else (run.loops[0],)
                seen.add(key)
                runs.setdefault(key, []).append(run)
        for equal_runs in runs.values():
            loops = [
                (n, shift, inside)
                for run in equal_runs
                for n, shift, inside in zip(run.loops, run.shifts, run.bodies)
            ]
            if len(loops) > 1:
                for n, shift, _ in loops:
                    self._first[n], self._shift[n] = loops[0][0], shift
            self.find([inside for _, _, inside in loops], depth + 1)

    def _runs(self, body: Sequence[Statement], depth: int) -> Iterator[_Run]:
        """Loops of a body that follow each other and count on, and those that stand alone."""
        run: _Run | None = None
        for loop, of in groupby(body, lambda s: s.loops[depth] if len(s.loops) > depth else None):
            inside = list(of)
            found = None if loop is None else self._run(loop, inside, depth)
            if (
                run is not None
                and found is not None
                and run.key == found.key
                and self._continues(run, found, depth)
            ):
                run.loops.append(found.loops[0])
                run.shifts.append(found.shifts[0])
                run.bodies.append(inside)
                continue
            if run is not None:
                yield run
            run = found
        if run is not None:
            yield run

    def _run(self, loop: For, inside: list[Statement], depth: int) -> _Run:
        """A loop, counted by the index of the equation that it runs along."""
        store = inside[0].store
        around = {n.var for n in inside[0].loops[:depth]}
        for k, e in enumerate(store.at if store.equation >= 0 else ()):
            values = self._nest.converter.values(e).cases
            piece, form = values[0]
            shift = form.plus(variable(loop.var), -1)
            if (
                len(values) == 1
                and not piece
                and all(n in around or self._nest.converter.is_shared(n) for n, _ in shift.terms)
            ):
                return _Run((store.tensor, store.update, store.equation, k), [loop], [shift], [inside])
        return _Run((loop,), [loop], [Form()], [inside])

    def _continues(self, run: _Run, other: _Run, depth: int) -> bool:
        """True if all iterations of the run have smaller counts than those of the other loop, in
        the same iteration of the loops around.
        """
        (last,), (shift,), (inside,) = other.loops, other.shifts, other.bodies
        around = inside[0].loops[:depth]
        least = list(_bounds(_common(inside), last, shift, 1))
        for n, first, body in zip(run.loops, run.shifts, run.bodies):
            if any(
                not (gap := low.plus(high, -1)).terms and gap.constant > 0
                for high in _bounds(_common(body), n, first, -1)
                for low in least
            ):
                continue
            question = Question(self._nest.converter.is_shared)
            question.require(self._nest.facts)
            question.require(_common(body), FIRST)
            question.require(_common(inside), NEXT)
            question.equate((m.var for m in around), FIRST, NEXT)
            question.add(
                question.compare(
                    variable(n.var).plus(first), FIRST, variable(last.var).plus(shift), NEXT, gap=0
                )
            )
            if not question.system().is_empty:
                return False
        return True


@frozen_by_identity
class _Run:
    """Loops that follow each other: one loop that counts through all of them.

    Attributes:
        key: what copies of them have in common.
        shifts: what is added to the variable of each to get the count.
        bodies: the statements in each.
    """

    key: tuple
    loops: list[For]
    shifts: list[Form]
    bodies: list[list[Statement]]


def _common(statements: Sequence[Statement]) -> Conjunction:
    """Constraints that hold whenever one of the statements runs, as far as all have the same:
    the ranges of the loops around all.
    """
    first, *others = (p for s in statements for p in s.domain)
    return tuple(c for c in first if all(c in p for p in others))


def _bounds(piece: Conjunction, loop: For, shift: Form, sign: int) -> Iterator[Form]:
    """The lower bounds (sign 1) or upper bounds (-1) that a piece gives for the count of a loop."""
    for form, _ in piece:
        if (loop.var, sign) in form.terms:
            yield variable(loop.var).plus(form, -sign).plus(shift)


def _in_order(groups: Sequence[Sequence[_RenamedStatement]]) -> bool:
    """True if statements of one iteration stand in the same order in all copies, one of each
    group.
    """
    for members in groups:
        loops = members[0].loops
        if len({n.var for n in loops}) < len(loops) or any(
            a.statement.loops == b.statement.loops for a, b in combinations(members, 2)
        ):
            return False
    return all(_same_order(one, two) for one, two in combinations(groups, 2) if len(one) > 1 or len(two) > 1)


def _same_order(one: Sequence[_RenamedStatement], two: Sequence[_RenamedStatement]) -> bool:
    """The first members stand for all: the order of the others is theirs wherever the text
    decides, as no loop is left that does.
    """
    shared = sum(1 for _ in _common_prefix(one[0].loops, two[0].loops))
    before = one[0].statement.order < two[0].statement.order
    return all(
        (a.statement.order < b.statement.order) == before
        for a in one
        for b in two
        if a.statement.common(b.statement) == shared
    )


def _common_prefix(some: Sequence[For], others: Sequence[For]) -> Iterator[For]:
    for a, b in zip(some, others):
        if a is not b:
            return
        yield a


def _merge(members: Sequence[_RenamedStatement]) -> Statement:
    """One statement with the instances of all members."""
    if len(members) == 1 and not members[0].is_renamed:
        return members[0].statement
    runs = [m.piece(p) for m in members for p in m.statement.domain]
    domain = _merge_cases(runs)
    found: dict[tuple, tuple[Access, tuple[Form, ...], list[Conjunction]]] = {}
    for m in members:
        for access in m.statement.accesses:
            for piece, at in access.cases:
                forms = tuple(f.over(m.values) for f in at)
                key = (
                    access.tensor,
                    access.kind,
                    access.exact,
                    tuple((frozenset(f.terms), f.constant) for f in forms),
                )
                found.setdefault(key, (access, forms, []))[2].append(m.piece(piece))
    accesses = [
        replace(a, cases=tuple((p, forms) for p in (domain if pieces == runs else _merge_cases(pieces))))
        for a, forms, pieces in found.values()
    ]
    return replace(members[0].statement, loops=members[0].loops, domain=domain, accesses=tuple(accesses))


def _merge_cases(pieces: Sequence[Conjunction]) -> tuple[Conjunction, ...]:
    """The same disjunction with adjacent ranges merged."""
    distinct = list(dict.fromkeys(pieces))
    columns: dict[Key, int] = {}
    rows: list[list[Row]] = [
        [
            ([(columns.setdefault(k, len(columns)), n) for k, n in c.form.terms], c.form.constant, c.equality)
            for c in p
        ]
        for p in distinct
    ]
    fewer = merge_cases(len(columns), rows) if len(distinct) > 1 else None
    if fewer is None:
        return tuple(distinct)
    keys = list(columns)
    return tuple(
        tuple(
            Constraint(Form(tuple((keys[k], n) for k, n in terms), constant), equality)
            for terms, constant, equality in case
        )
        for case in fewer
    )
