"""Interface of the first prover to isl: solutions of conjunctions of integer constraints, and the
smallest one.

isl counts its operations; past `QUOTA` a question ends in `OutOfQuota`, which callers turn into
"cannot be proven", never into "yes".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import islpy as isl

from texpr.ir.expr import Var
from texpr.poly.constraints.conversion import Converter
from texpr.poly.constraints.elimination import ReducedSystem, Row, collect_terms
from texpr.poly.constraints.linear_forms import Conjunction, Constraint, Form, Key, Unknown, variable
from texpr.poly.constraints.proof_thread import alone
from texpr.support.once import once
from texpr.support.unread import is_unread

QUOTA = 2_000_000
"""isl operations per question; about a second."""
ROWS = 100_000
"""Constraints that elimination looks at per question."""

_CONTEXT = isl.Context()
_CONTEXT.set_schedule_algorithm(int(isl.schedule_algorithm.FEAUTRIER))
_LOOKED_AT = [0]
"""Constraints so far in this question."""
_EFFORT = [0]
"""Constraints so far in this process."""
_SET = isl.dim_type.set
_VALUES: dict[int, isl.Val] = {}

T = TypeVar("T")


def context() -> isl.Context:
    """The context of all objects of isl."""
    return _CONTEXT


def effort() -> int:
    """The number of constraints that were looked at so far: a measure of time that is the same
    on every machine.
    """
    return _EFFORT[0]


MOST_HIDDEN = 12
"""Columns that may be projected out before smallest values are looked for: with 20 isl takes
minutes, and counts no operations meanwhile.
"""


class OutOfQuota(Exception):
    """A question took more isl operations than it may."""


def run_within_quota(question: Callable[[], T], quota: int | None = None) -> T:
    """Run a function that asks isl, within the quota (`QUOTA` unless given), one thread at a
    time.
    """
    return alone(lambda: _run_within_quota(question, QUOTA if quota is None else quota))


def _run_within_quota(question: Callable[[], T], quota: int) -> T:
    outer = _CONTEXT.get_max_operations()
    if outer == 0:
        _CONTEXT.reset_operations()
        _CONTEXT.set_max_operations(quota)
        _LOOKED_AT[0] = 0
    try:
        return question()
    except isl.Error as e:
        raise OutOfQuota(str(e)) from None
    finally:
        if outer == 0:
            _CONTEXT.set_max_operations(0)
            _LOOKED_AT[0] = 0


def _count_effort(rows: Sequence[Row]) -> Sequence[Row]:
    _LOOKED_AT[0] += len(rows)
    _EFFORT[0] += len(rows)
    if _LOOKED_AT[0] > ROWS:
        raise OutOfQuota(f"more than {ROWS:,} constraints")
    return rows


def _value(n: int) -> isl.Val:
    found = _VALUES.get(n)
    if found is None:
        found = (
            isl.Val.int_from_si(_CONTEXT, n) if abs(n) < 1 << 62 else isl.Val.read_from_str(_CONTEXT, str(n))
        )
        if len(_VALUES) < 4096:
            _VALUES[n] = found
    return found


class Question:
    """Constraints over columns: sizes once, every other variable once per copy of its statement.
    Then solved by isl.

    Args:
        is_shared: whether a key is the same in all copies.
        least: the smallest value of a size.
    """

    def __init__(self, is_shared: Callable[[Key], bool], least: int = 0) -> None:
        self._is_shared, self._least = is_shared, least
        self._columns: dict[tuple[Key, int], int] = {}
        self._rows: list[Row] = []
        self._choices: list[Sequence[Sequence[Row]]] = []
        self.width = 0
        """Number of columns."""

    def copy(self) -> Question:
        other = Question(self._is_shared, self._least)
        other._columns, other._rows, other._choices = (
            self._columns.copy(),
            self._rows.copy(),
            self._choices.copy(),
        )
        other.width = self.width
        return other

    def column(self, key: Key, copy: int = 0) -> int:
        """The column of a key in a copy; a size is at least `least`."""
        found = self._columns.get((key, copy))
        if found is None:
            found = self._columns[key, copy] = (
                self._shared_column(key) if self._is_shared(key) else self._next()
            )
        return found

    def _shared_column(self, key: Key) -> int:
        """The column of a key that all copies share."""
        found = self._columns.get((key, -1))
        if found is None:
            found = self._columns[key, -1] = self._next()
            if isinstance(key, Var):
                self._rows.append(([(found, 1)], -self._least, False))
        return found

    def _next(self) -> int:
        self.width += 1
        return self.width - 1

    def require(self, piece: Conjunction, copy: int = 0) -> None:
        self._rows += [self.row(c, copy) for c in piece]

    def unknowns(self, copy: int) -> list[Unknown]:
        """The unknowns that have a column in a copy or in all of them."""
        return list(
            dict.fromkeys(key for key, of in self._columns if isinstance(key, Unknown) and of in (copy, -1))
        )

    def add_disjunction(self, choice: Sequence[Sequence[Row]]) -> None:
        """Require that one of these conjunctions holds. `cases` looks at them, since most
        systems are empty without.
        """
        self._choices.append(choice)

    def row(self, constraint: Constraint, copy: int = 0) -> Row:
        form, columns = constraint.form, self._columns
        terms = [
            (self.column(k, copy) if (at := columns.get((k, copy))) is None else at, c) for k, c in form.terms
        ]
        return terms, form.constant, constraint.equality

    def compare(self, lhs: Form, of: int, rhs: Form, to: int, gap: int | None = None) -> Row:
        """lhs in copy `of` equals rhs in copy `to`, or exceeds it by at least `gap`."""
        left = [(self.column(k, of), c) for k, c in lhs.terms]
        right = [(self.column(k, to), -c) for k, c in rhs.terms]
        return left + right, lhs.constant - rhs.constant - (gap or 0), gap is None

    def equate(self, keys: Iterable[Key], one: int, other: int) -> None:
        """Each of the keys has one value in two copies."""
        self.add_all(self.compare(variable(k), one, variable(k), other) for k in keys)

    def add(self, row: Row) -> None:
        self._rows.append(row)

    def add_all(self, rows: Iterable[Row]) -> None:
        self._rows += rows

    def system(self) -> System:
        """The system of all constraints, to be solved."""
        return System(self.width, list(self._rows), ReducedSystem(_count_effort(self._rows)))

    def cases(self, system: System) -> Iterator[System]:
        """The nonempty systems of this question in each case of the disjunctions."""
        systems = [] if system.is_empty else [system]
        for choice in self._choices:
            systems = [both for each in systems for rows in choice if not (both := each.also(rows)).is_empty]
        yield from systems

    def extended_system(self, other: Question, solved: System) -> System:
        """The system of a question that was copied from `other` and got further rows: `solved`
        is the system of the other one.
        """
        return solved.also(self._rows[len(other._rows) :])


class System:
    """A conjunction of constraints over numbered columns. Elimination decides what it can, isl the
    rest.
    """

    def __init__(self, width: int, rows: Sequence[Row], remainder: ReducedSystem) -> None:
        self._width, self._rows, self._remainder = width, rows, remainder
        self._cached_set: isl.BasicSet | None = None

    def also(self, rows: Sequence[Row]) -> System:
        """The system with these rows added."""
        return System(self._width, [*self._rows, *rows], self._remainder.also(_count_effort(rows)))

    @property
    def is_contradiction(self) -> bool:
        """True if elimination finds no solution: `is_empty` at no cost, where it is enough to leave
        out much.
        """
        return self._remainder.is_contradiction

    def implies(self, row: Row) -> bool:
        """True if elimination finds at once that a row follows."""
        return self._remainder.implies(row)

    @property
    def is_empty(self) -> bool:
        if self._remainder.is_contradiction:
            return True
        return (
            not self._remainder.has_obvious_solution()
            and _basic_set(*_numbered(list(self._remainder.rows()))).is_empty()
        )

    @property
    def _basic(self) -> isl.BasicSet:
        if self._cached_set is None:
            last = max((column for terms, _, _ in self._rows for column, _ in terms), default=0)
            self._cached_set = _basic_set(max(self._width, last + 1), self._rows)
        return self._cached_set

    def least(self, row: Row) -> int | None:
        """The smallest value of a sum of columns; None if there is none. There must be a
        solution.
        """
        terms, constant, _ = row
        form = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(self._basic.get_space()))
        for column, c in collect_terms(terms).items():
            form = form.set_coefficient_val(isl.dim_type.in_, column, _value(c))
        found = self._basic.to_set().min_val(form.set_constant_val(_value(constant)))
        return found.to_python() if found.is_int() else None

    def projected(self, count: int) -> isl.Set:
        """The values of the first columns in solutions. Columns that are expressed by others,
        and beyond those, say nothing.
        """
        if self._remainder.is_contradiction:
            return isl.Set.empty(isl.Space.set_alloc(_CONTEXT, 0, count))
        return _projected(*self._rows_over(count), count)

    def _rows_over(self, count: int) -> tuple[int, list[Row]]:
        """The constraints over the first columns and what is left of the others, and how many
        columns that are.
        """
        return _numbered([*self._remainder.rows(), *self._remainder.values(count)], count)

    def smallest(self, count: int) -> tuple[int, ...]:
        """Values of the first `count` columns, the lexicographically smallest ones if they are
        shown to people and few other columns say what they are; there must be a solution.
        """
        width, rows = self._rows_over(count)
        found = _projected(width, rows, count)
        if not is_unread() and width - count <= MOST_HIDDEN:
            found = found.lexmin()
        point = found.sample_point()
        return tuple(point.get_coordinate_val(_SET, k).to_python() for k in range(count))


def _projected(width: int, rows: Sequence[Row], count: int) -> isl.Set:
    """The values of the first columns where the rows hold."""
    return _basic_set(width, rows).project_out(_SET, count, width - count).to_set()


def _numbered(rows: Sequence[Row], first: int = 0) -> tuple[int, list[Row]]:
    """Renumber columns without gaps: the number of columns and the constraints. The first
    columns stay where they are.
    """
    numbers = {column: column for column in range(first)}
    numbered = [
        ([(numbers.setdefault(column, len(numbers)), c) for column, c in terms], constant, equality)
        for terms, constant, equality in rows
    ]
    return len(numbers), numbered


def _basic_set(width: int, rows: Iterable[Row]) -> isl.BasicSet:
    """The set of the points that satisfy the rows: as matrices, since isl simplifies a set anew
    at each constraint it is given.
    """
    distinct = dict.fromkeys(
        (tuple(sorted(collect_terms(terms).items())), constant, equality)
        for terms, constant, equality in rows
    )
    equal, least = (
        _matrix(width, [(terms, constant) for terms, constant, equality in distinct if equality is wanted])
        for wanted in (True, False)
    )
    return isl.BasicSet.from_constraint_matrices(
        isl.Space.set_alloc(_CONTEXT, 0, width),
        equal,
        least,
        _SET,
        isl.dim_type.div,
        isl.dim_type.param,
        isl.dim_type.cst,
    )


def _matrix(width: int, rows: Sequence[tuple[Iterable[tuple[int, int]], int]]) -> isl.Mat:
    """A row of coefficients per constraint, the constant last."""
    matrix = isl.Mat.alloc(_CONTEXT, 0, width + 1).add_zero_rows(len(rows))
    for k, (terms, constant) in enumerate(rows):
        for column, c in terms:
            matrix = matrix.set_element_val(k, column, _value(c))
        matrix = matrix.set_element_val(k, width, _value(constant))
    return matrix


def _constraint(space: isl.LocalSpace, row: Row) -> isl.Constraint:
    terms, constant, equality = row
    c = isl.Constraint.equality_alloc(space) if equality else isl.Constraint.inequality_alloc(space)
    for column, coefficient in collect_terms(terms).items():
        c = c.set_coefficient_val(_SET, column, _value(coefficient))
    return c.set_constant_val(_value(constant))


class Assumptions:
    """The assumption that a piece holds of an instance."""

    def __init__(self, converter: Converter, piece: Conjunction) -> None:
        self.piece = piece
        self._is_shared = converter.is_shared

    def allows(self, more: Conjunction) -> bool:
        """True if more constraints have a solution together with the piece."""
        question = self._question.copy()
        question.require(more)
        return not question.extended_system(self._question, self._solved).is_empty

    def implies(self, wanted: Constraint) -> bool:
        """True if a constraint follows from the piece."""
        question = self._question.copy()
        if self._solved.implies(question.row(wanted)):
            return True
        return not any(self.allows((c,)) for c in wanted.opposites())

    @once
    def _question(self) -> Question:
        """The question that requires the piece, made when it is first needed: for many pieces it
        never is.
        """
        question = Question(self._is_shared)
        question.require(self.piece)
        return question

    @once
    def _solved(self) -> System:
        return self._question.system()


class Region:
    """The values of some columns for which systems have a solution: a set that can be cut and
    compared.

    Args:
        count: of columns; the first `count` columns of all systems mean the same.
    """

    def __init__(self, count: int, systems: Iterable[System] = ()) -> None:
        self.count = count
        self._set = isl.Set.empty(isl.Space.set_alloc(_CONTEXT, 0, count))
        for system in systems:
            if not system.is_contradiction:
                self._set = self._set.union(system.projected(count))

    @classmethod
    def all(cls, count: int) -> Region:
        """Every point."""
        return cls._with(count, isl.Set.universe(isl.Space.set_alloc(_CONTEXT, 0, count)))

    def minus(self, other: Region) -> Region:
        """The points that are not in `other`."""
        return self._with(self.count, self._set.subtract(other._set))

    def joined(self, others: Iterable[Region]) -> Region:
        """The points that are in this region or in others."""
        whole = self._set
        for other in others:
            whole = whole.union(other._set)
        return self._with(self.count, whole.coalesce())

    def is_within(self, other: Region) -> bool:
        """True if every point is in `other`."""
        return self._set.is_subset(other._set)

    def first(self, count: int) -> Region:
        """The values the first columns take."""
        return self._with(count, self._set.project_out(_SET, count, self.count - count))

    def also(self, row: Row) -> Region:
        """The points that satisfy the row as well."""
        space = isl.LocalSpace.from_space(self._set.get_space())
        return self._with(self.count, self._set.add_constraint(_constraint(space, row)))

    def from_one(self, count: int) -> Region:
        """The points whose first `count` columns are at least 1."""
        bounded = self._set
        for k in range(count):
            bounded = bounded.lower_bound_val(_SET, k, _value(1))
        return self._with(self.count, bounded)

    @property
    def is_empty(self) -> bool:
        return self._set.is_empty()

    def smallest(self) -> tuple[int, ...]:
        """The lexicographically smallest point; there must be a point."""
        point = self._set.lexmin().sample_point()
        return tuple(point.get_coordinate_val(_SET, k).to_python() for k in range(self.count))

    def conjunctions(self, given: Region) -> list[list[Row]] | None:
        """The region as a disjunction of constraints, leaving out what `given` says; None where
        quotients are needed.
        """
        context = given._set.coalesce()
        found = []
        for basic in self._set.coalesce().gist(context).coalesce().get_basic_sets():
            if basic.dim(isl.dim_type.div):
                return None
            found.append([_row(self.count, c) for c in _irredundant(basic.get_constraints(), context)])
        return found

    def hull(self, given: int) -> list[Row]:
        """Constraints that all points satisfy, without those that follow from what the first
        `given` columns satisfy.
        """
        if self._set.is_empty():
            return []
        simplified = self._set.coalesce().remove_divs().coalesce()
        context = simplified.project_out(_SET, given, self.count - given).add_dims(_SET, self.count - given)
        hull = (
            simplified.polyhedral_hull() if simplified.n_basic_set() > 1 else simplified.get_basic_sets()[0]
        )
        return [
            _row(self.count, c) for c in _irredundant(hull.remove_redundancies().get_constraints(), context)
        ]

    @staticmethod
    def _with(count: int, found: isl.Set) -> Region:
        region = Region(count)
        region._set = found
        return region


def _row(count: int, c: isl.Constraint) -> Row:
    coefficients = [(k, c.get_coefficient_val(_SET, k).to_python()) for k in range(count)]
    return [(k, n) for k, n in coefficients if n], c.get_constant_val().to_python(), c.is_equality()


def merge_cases(width: int, cases: Sequence[Sequence[Row]]) -> list[list[Row]] | None:
    """Merge cases of a disjunction of conjunctions over `width` columns; None if that takes
    quotients.
    """
    found = isl.Set.empty(isl.Space.set_alloc(_CONTEXT, 0, width))
    for rows in cases:
        found = found.union(_basic_set(width, rows).to_set())
    basics = found.coalesce().get_basic_sets()
    return (
        None
        if any(b.dim(isl.dim_type.div) for b in basics)
        else [[_row(width, c) for c in b.get_constraints()] for b in basics]
    )


def _irredundant(constraints: list[isl.Constraint], context: isl.Set) -> list[isl.Constraint]:
    """Without those that follow from the others in the context, inequalities first."""
    needed = sorted(constraints, key=lambda c: not c.is_equality())
    for c in reversed(list(needed)):
        rest = context
        for other in needed:
            rest = rest if other is c else rest.add_constraint(other)
        if rest.is_subset(context.add_constraint(c)):
            needed = [other for other in needed if other is not c]
    return needed


Times = dict[int, tuple[list[int], int]]
"""For each statement the coefficients of the sizes and of its axes, and a constant."""


def proposed_times(
    sizes: int,
    axes: Mapping[int, int],
    domains: Mapping[int, Sequence[System]],
    needs: Sequence[tuple[int, int, System]],
) -> Times | None:
    """The outermost times that isl's scheduler gives statements, in the sense of Feautrier; None
    where it finds none.

    Args:
        axes: how many each statement has.
        domains: systems whose columns begin with sizes and axes.
        needs: source and sink; systems whose columns begin with the sizes, the axes of the source
            and those of the sink.
    """
    constraints = isl.ScheduleConstraints.on_domain(
        _union(
            [
                _with_parameters(s.projected(sizes + axes[k]), sizes).set_tuple_name(f"S{k}")
                for k, systems in domains.items()
                for s in systems
            ]
        )
    )
    validity = isl.UnionMap.empty(constraints.get_domain().get_space())
    for source, sink, system in needs:
        pairs = isl.Map.from_range(
            _with_parameters(system.projected(sizes + axes[source] + axes[sink]), sizes)
        )
        pairs = pairs.move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, axes[source])
        pairs = pairs.set_tuple_name(isl.dim_type.in_, f"S{source}").set_tuple_name(
            isl.dim_type.out, f"S{sink}"
        )
        validity = validity.union(pairs.to_union_map())
    try:
        schedule = constraints.set_validity(validity).set_proximity(validity).compute_schedule()
    except isl.Error as e:
        if "unable to carry dependences" in str(e):
            return None
        raise
    node = schedule.get_root().child(0)
    if node.get_type() != isl.schedule_node_type.band:
        return None
    return _outermost(node.band_get_partial_schedule().get_at(0), sizes, axes)


def _with_parameters(found: isl.Set, sizes: int) -> isl.Set:
    """With the first columns as named parameters."""
    found = found.move_dims(isl.dim_type.param, 0, _SET, 0, sizes)
    for k in range(sizes):
        found = found.set_dim_name(isl.dim_type.param, k, f"n{k}")
    return found


def _union(sets: Sequence[isl.Set]) -> isl.UnionSet:
    found = sets[0].to_union_set()
    for other in sets[1:]:
        found = found.union(other.to_union_set())
    return found


def _outermost(times: isl.UnionPwAff, sizes: int, axes: Mapping[int, int]) -> Times | None:
    found: Times = {}
    parts = times.get_pw_aff_list()
    for part in (parts.get_at(k) for k in range(parts.n_pw_aff())):
        pieces = part.get_pieces()
        if len(pieces) != 1:
            return None
        form = pieces[0][1]
        k = int(form.get_domain_space().get_tuple_name(_SET)[1:])
        form = form.scale_val(form.get_denominator_val())
        parameters = [
            form.get_coefficient_val(
                isl.dim_type.param, form.find_dim_by_name(isl.dim_type.param, f"n{n}")
            ).to_python()
            for n in range(sizes)
        ]
        own = [form.get_coefficient_val(isl.dim_type.in_, n).to_python() for n in range(axes[k])]
        found[k] = [*parameters, *own], form.get_constant_val().to_python()
    return found if found.keys() == axes.keys() else None
