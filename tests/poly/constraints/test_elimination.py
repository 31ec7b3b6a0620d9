"""Contradictions found by elimination are contradictions, and what it leaves has a solution
exactly if the constraints have one.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from texpr.ir.expr import Var
from texpr.poly.constraints.elimination import ReducedSystem, Row, collect_terms
from texpr.poly.constraints.linear_forms import Conjunction, Constraint, Form, is_contradiction
from texpr.poly.constraints.solver import Question, Region, System, run_within_quota

WIDTH, LARGEST = 3, 3
VARIABLES = [Var(f"x{k}") for k in range(WIDTH)]
BOX: list[Row] = [row for k in range(WIDTH) for row in (([(k, 1)], 0, False), ([(k, -1)], LARGEST, False))]
"""Each column is in 0..4, so that all points can be tried."""

terms = st.lists(
    st.tuples(st.integers(0, WIDTH - 1), st.sampled_from([-4, -3, -2, -1, 1, 1, 2, 3, 4])),
    min_size=0,
    max_size=4,
)
constraints = st.lists(st.tuples(terms, st.integers(-6, 6), st.booleans()), max_size=4)
many = examples(500)


def solutions(rows: Iterable[Row]) -> list[tuple[int, ...]]:
    rows = list(rows)
    return [at for at in product(range(LARGEST + 1), repeat=WIDTH) if all(holds(row, at) for row in rows)]


def holds(row: Row, at: tuple[int, ...]) -> bool:
    value = sum(c * at[k] for k, c in row[0]) + row[1]
    return value == 0 if row[2] else value >= 0


@many
@given(constraints, constraints)
def test_contradictions_have_no_solution(first: list[Row], more: list[Row]):
    left = ReducedSystem(BOX + first).also(more)
    found = solutions(first + more)
    assert not (left.is_contradiction and found)
    assert found or left.is_contradiction or not left.has_obvious_solution()


@many
@given(constraints)
def test_bounds_that_exclude_each_other_have_no_solution(rows: list[Row]):
    assert not (is_contradiction(piece(rows)) and solutions(rows))


def test_bounds_that_exclude_each_other_are_seen():
    between = [([(0, 1), (1, -2)], -3, False), ([(1, 2), (0, -1)], 2, False)]  # 3 <= x - 2y <= 2
    assert is_contradiction(piece(between)) and not is_contradiction(
        piece([between[0], ([(1, 2), (0, -1)], 3, False)])
    )


def piece(rows: Iterable[Row]) -> Conjunction:
    """Rows as constraints; columns are keys, each once."""
    return tuple(
        Constraint(
            Form(tuple((VARIABLES[k], c) for k, c in collect_terms(given).items() if c), constant), equality
        )
        for given, constant, equality in rows
    )


@many
@given(constraints, constraints)
def test_what_is_left_has_a_solution_where_there_was_one(first: list[Row], more: list[Row]):
    left = ReducedSystem(BOX + first).also(more)
    if not left.is_contradiction:
        rows = list(left.rows())
        assert bool(solutions(rows)) == bool(solutions(first + more))


@many
@given(constraints, constraints)
def test_a_system_is_empty_where_no_point_satisfies_it(first: list[Row], more: list[Row]):
    question = Question(lambda key: False)
    for k in range(WIDTH):
        question.column(k, 0)  # type: ignore[arg-type]
    question.add_all(BOX + first)
    system = question.system().also(more)
    found = solutions(first + more)
    assert run_within_quota(lambda: system.is_empty) == (not found)
    if found:
        assert run_within_quota(lambda: system.smallest(WIDTH)) == found[0]


def tiles(sign: int, *more: Row) -> list[Row]:
    """16*a + b == 16*c + d + sign with b and d in 0..16: columns a, b, c, d."""
    digits: list[Row] = [row for k in (1, 3) for row in (([(k, 1)], 0, False), ([(k, -1)], 15, False))]
    return [*digits, ([(0, 16), (1, 1), (2, -16), (3, -1)], -sign, True), *more]


FOUND = {
    "a column above itself": [([(0, 1), (0, -1)], -1, False)],
    "equal ones, one of them larger": [([(0, 1), (1, -1)], 0, True), ([(0, 1), (1, -1)], -1, False)],
    "equal through a third": [
        ([(0, 1), (2, -1)], 0, True),
        ([(1, 1), (2, -1)], 0, True),
        ([(1, 1), (0, -1)], -1, False),
    ],
    "equal through a third, twice over": [
        ([(0, 2), (2, -2)], 0, True),
        ([(1, 3), (2, -3)], 0, True),
        ([(1, 1), (0, -1)], -1, False),
    ],
    "an odd number that is even": [([(0, 2), (1, -4)], 1, True)],
    "between two numbers": [([(0, 3)], -1, False), ([(0, -3)], 2, False)],
    "opposite sums": [([(0, 1), (1, 1)], -3, False), ([(0, -1), (1, -1)], 2, False)],
    "tiles apart": tiles(0, ([(0, 1), (2, -1)], -1, False)),
    "places in equal tiles apart": tiles(0, ([(1, 1), (3, -1)], -1, False)),
    "a neighbour two tiles on": tiles(1, ([(0, 1), (2, -1)], -2, False)),
    "a neighbour a tile back": tiles(1, ([(2, 1), (0, -1)], -1, False)),
    "a neighbour in the same tile before": tiles(
        1, ([(0, 1), (2, -1)], 0, True), ([(3, 1), (1, -1)], -1, False)
    ),
    "three digits": [row for k in (1, 2, 4, 5) for row in (([(k, 1)], 0, False), ([(k, -1)], 3, False))]
    + [([(0, 16), (1, 4), (2, 1), (3, -16), (4, -4), (5, -1)], 0, True), ([(1, 1), (4, -1)], -1, False)],
    "beyond the end": [([(0, 1)], 0, False), ([(1, -1)], 0, False), ([(0, -1), (1, 1)], -1, False)],
}


@pytest.mark.parametrize("name", FOUND)
def test_found_without_isl(name: str):
    assert ReducedSystem(FOUND[name]).is_contradiction


@pytest.mark.parametrize("name", FOUND)
def test_found_whatever_the_order(name: str):
    rows = FOUND[name]
    assert ReducedSystem(reversed(rows)).is_contradiction
    assert ReducedSystem(rows[:-1]).also(rows[-1:]).is_contradiction


@many
@given(constraints, constraints.filter(bool))
def test_what_is_said_holds_in_every_solution(first: list[Row], more: list[Row]):
    left = ReducedSystem(BOX + first)
    assert all(holds(row, at) for row in more if left.implies(row) for at in solutions(first))


@examples(100)
@given(constraints, constraints)
def test_a_projection_has_the_first_values_of_all_solutions(first: list[Row], more: list[Row]):
    rows = [*BOX, *first, *more]
    system = System(WIDTH, rows, ReducedSystem(BOX + first).also(more))

    def inside(at: tuple[int, ...]) -> bool:
        region = Region(2, [system])
        for k, value in enumerate(at):
            region = region.also(([(k, 1)], -value, True))
        return not region.is_empty

    points = list(product(range(LARGEST + 1), repeat=2))
    assert run_within_quota(lambda: set(filter(inside, points))) == {at[:2] for at in solutions(first + more)}


FREE_SUM = [(0, 2), (1, 3)]
"""Of columns without ends, none of which an equality expresses by the others in integers at
once.
"""


@pytest.mark.parametrize("value, contradicts", [(5, True), (6, False), (7, False), (8, False), (9, True)])
def test_a_sum_is_one_of_the_values_that_it_may_have(value: int, contradicts: bool):
    """6 <= 2a + 3b <= 8, where it equals a number."""
    least, most = (FREE_SUM, -6, False), ([(k, -c) for k, c in FREE_SUM], 8, False)
    assert ReducedSystem([least, most]).also([(FREE_SUM, -value, True)]).is_contradiction == contradicts
    assert ReducedSystem([least]).also([(FREE_SUM, -value, True)]).is_contradiction == (value < 6)
    assert ReducedSystem([most]).also([(FREE_SUM, -value, True)]).is_contradiction == (value > 8)
    assert (
        ReducedSystem([least, most]).also([([(k, -c) for k, c in FREE_SUM], value, True)]).is_contradiction
        == contradicts
    )
