"""Claims about a program: each holds for all sizes, holds but for sizes of zero, or has a smallest
counterexample.

A claim is refuted by a region: values of sizes, then of what an example shows, for which it fails.
An empty region is a proof. If only zero sizes refute, the claim becomes a requirement; otherwise
the smallest point is the example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import reduce
from typing import Any

from texpr.ir.affine import Linear
from texpr.ir.build import compare, disjunction, negation
from texpr.ir.expr import Axis, Cast, Expr, Reduce, Tensor, Var, index
from texpr.ir.printing.expr import show
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import equal, variables, walk
from texpr.poly.constraints.access_sites import Site, sites
from texpr.poly.constraints.conversion import Converter
from texpr.poly.constraints.integer_intermediates import Definitions
from texpr.poly.constraints.linear_forms import ALWAYS, Conjunction, Constraint, Form, Key, Truth, conjoined
from texpr.poly.constraints.solver import Question, Region, Row, System
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import frozen, frozen_by_identity

_MOST_CASES = 4  # of facts, before they are simplified


@frozen_by_identity
class EquationDomain:
    """An equation with its domain, and its reads and reductions."""

    equation: Equation
    domain: Truth
    sites: tuple[Site, ...]


@frozen
class Example:
    """The smallest counterexample.

    Attributes:
        sizes: values of the sizes.
        shown: values of the columns after the sizes.
        holds: when there is no refutation, as far as it is readable; else empty.
        told: what `note` said: the witness of the error, and `holds`.
    """

    sizes: dict[Var, int]
    shown: tuple[int, ...]
    holds: str
    told: dict[str, Any] = field(default_factory=dict)

    def note(self, axes: Sequence[Axis], used: set[Var]) -> str:
        """`at W=2, Q=3, x=0` for the sizes and axes in `used`, with the condition under which
        the claim holds.
        """
        sizes = {v.name: n for v, n in self.sizes.items() if v in used}
        instance = {a.var.name: n for a, n in zip(axes, self.shown) if a.var in used}
        self.told.update({"sizes": sizes, "instance": instance} if sizes or instance else {})
        parts = [f"{name}={n}" for name, n in [*sizes.items(), *instance.items()]]
        condition = f"holds when  {self.holds}" if self.holds else ""
        self.told["holds"] = self.holds
        return ("        " if condition and parts else "").join(
            p for p in ("at " + ", ".join(parts) if parts else "", condition) if p
        )


class ProgramProof:
    """The facts about a program, and the requirements found so far."""

    def __init__(self, program: Program) -> None:
        self.program = program
        every = [*program.inputs, *program.outputs, *program.temporaries]
        axes = [n for n in walk(program) if isinstance(n, Axis)]
        bound = {a.var for a in axes}
        self.converter = Converter(bound, every, _chosen(program, bound), axes, Definitions(program).value)
        self.facts = ALWAYS
        for fact in (*program.requires, *self._extents()):
            self.facts = self._fewer(conjoined(self.facts, self.converter.truth(fact)))
        self.places = [self._place(e) for e in program.equations if isinstance(e, Equation)]
        self.required: list[Expr] = []

    def _extents(self) -> list[Expr]:
        """Facts that extents of inputs are not negative, since inputs exist."""
        extents = (n for t in self.program.inputs for n in t.shape if not isinstance(n, Var))
        return [compare("<=", index(0), n) for n in extents]

    def _fewer(self, facts: Truth) -> Truth:
        """Facts in as few cases as possible: requirements that are disjunctions multiply. What
        is only assumed may be less than known.
        """
        facts = facts._replace(false=(), exact=True)
        if len(facts.true) <= _MOST_CASES or not all(
            isinstance(k, Var) for p in facts.true for c in p for k, _ in c.form.terms
        ):
            return facts
        conjunctions = Region(len(self.program.sizes), self._systems(facts)).conjunctions(
            Region.all(len(self.program.sizes))
        )
        if conjunctions is None or not 0 < len(conjunctions) < len(facts.true):
            return facts
        sizes = self.program.sizes
        return facts._replace(
            true=tuple(
                tuple(
                    Constraint(Form(tuple((sizes[k], c) for k, c in terms), constant), equality)
                    for terms, constant, equality in conjunction_rows
                )
                for conjunction_rows in conjunctions
            )
        )

    def _place(self, equation: Equation) -> EquationDomain:
        domain = self.facts
        found: list[Site] = []
        for k, axis in enumerate(equation.axes):
            found += sites((axis.lo, axis.hi), self.converter, domain, equation.axes[:k])
            domain = conjoined(
                domain, self.converter.assuming(*domain.true).within(axis.var, axis.lo, axis.hi)
            )
        if equation.where is not None:
            found += sites((equation.where,), self.converter, domain, equation.axes)
            domain = conjoined(domain, self.converter.assuming(*domain.true).truth(equation.where))
        found += sites((*equation.indices, equation.value), self.converter, domain, equation.axes)
        return EquationDomain(equation, domain, tuple(found))

    def question(self, columns: Sequence[tuple[Key, int]]) -> Question:
        """A question whose first columns are the sizes and the given keys in their copies."""
        question = Question(self.converter.is_shared)
        for size in self.program.sizes:
            question.column(size)
        for key, copy in columns:
            question.column(key, copy)
        return question

    def refuting(self, condition: Truth, violation: Expr, axes: Sequence[Axis]) -> Region:
        """Sizes and values of the axes for which the condition and the violation can hold
        together.
        """
        pieces = [p + q for p in condition.true for q in self.converter.assuming(p).truth(violation).true]
        return self.region(Truth(tuple(pieces), ()), axes)

    def region(self, condition: Truth, axes: Sequence[Axis]) -> Region:
        """Sizes and values of the axes for which the condition can hold."""
        return Region(len(self.program.sizes) + len(axes), [self._system(p, axes) for p in condition.true])

    def _system(self, piece: Conjunction, axes: Sequence[Axis]) -> System:
        question = self.question([(a.var, 0) for a in axes])
        question.require(piece)
        return question.system()

    def claim(self, refuting: Region, complain: Callable[[Example], CheckError]) -> None:
        """Prove a claim: no point is in `refuting`, whose first columns are the sizes.

        Raises:
            CheckError: what `complain` makes of the smallest example, if there is one with sizes of
                at least 1.
        """
        if refuting.is_empty:
            return
        count = len(self.program.sizes)
        positive = refuting.from_one(count)
        if positive.is_empty:
            self._require(refuting.first(count))
            return
        values = positive.smallest()
        sizes = dict(zip(self.program.sizes, values))
        example = Example(sizes, values[count:], self._holds(positive.first(count)))
        error = complain(example)
        error.holds = example.told.pop("holds", "")
        error.witness.update(example.told)
        raise error

    def _sizes(self) -> Region:
        """All sizes that satisfy the facts."""
        return Region(len(self.program.sizes), self._systems(self.facts))

    def _systems(self, facts: Truth) -> list[System]:
        systems = []
        for piece in facts.true:
            question = self.question(())
            question.require(piece)
            systems.append(question.system())
        return systems

    def _require(self, failing: Region) -> None:
        """Sizes of zero refute: what they must satisfy instead, one condition for each way to
        fail.
        """
        given = self._sizes()
        conjunctions = failing.conjunctions(given)
        if conjunctions is None:
            conjunctions = [[([(k, 1)], 0, True)] for k in range(len(self.program.sizes))]
        for rows in conjunctions:
            opposites = [
                e for row in sorted(rows, key=lambda row: not row[2]) for e in self._opposites(row, given)
            ]
            self._add(reduce(disjunction, opposites))

    def _add(self, condition: Expr) -> None:
        if not any(equal(condition, known) for known in (*self.program.requires, *self.required)):
            self.required.append(condition)

    def require(self, condition: Expr, complain: Callable[[Example], CheckError]) -> None:
        """Require a condition over sizes: it holds for all sizes, or for those of at least 1 and is
        required of the others.
        """
        self.claim(self.refuting(self.facts, negation(condition), ()), complain)

    def _holds(self, failing: Region) -> str:
        """The opposite of `failing` where it is one comparison, else nothing."""
        given = self._sizes().from_one(len(self.program.sizes))
        conjunctions = failing.conjunctions(given)
        if conjunctions is None or len(conjunctions) != 1 or len(conjunctions[0]) != 1:
            return ""
        opposites = self._opposites(conjunctions[0][0], given)
        return show(opposites[0]) if len(opposites) == 1 else ""

    def _opposites(self, row: Row, given: Region) -> list[Expr]:
        """The comparisons of which one holds where the row does not, for sizes in `given`."""
        terms, constant, equality = row
        below_it: Row = [(k, -c) for k, c in terms], -constant - 1, False
        above_it: Row = terms, constant - 1, False
        possible = [
            r for r in ((above_it, below_it) if equality else (below_it,)) if not given.also(r).is_empty
        ]
        return [comparison([(self.program.sizes[k], c) for k, c in r[0]], r[1]) for r in possible]


def _chosen(program: Program, bound: set[Var]) -> dict[Tensor, tuple[Expr, Expr]]:
    """The ranges of tensors that hold results of `argmax` and `argmin`."""
    found: dict[Tensor, tuple[Expr, Expr]] = {}
    several: set[Tensor] = set()
    for e in program.equations:
        if isinstance(e, Equation):
            value = e.value.operand if isinstance(e.value, Cast) else e.value
            several |= {e.target} & found.keys()
            found[e.target] = (index(0), index(0))
            if isinstance(value, Reduce) and value.op in ("argmax", "argmin"):
                axis = value.axes[value.which]
                found[e.target] = axis.lo, axis.hi
            else:
                several.add(e.target)
    return {t: r for t, r in found.items() if t not in several and bound.isdisjoint(variables(*r))}


def telling(example: Example, condition: Truth, start: set[Var]) -> set[Var]:
    """The variables an example must show: those the condition ties to the given ones, and sizes
    that had to be above 1.
    """
    start = start | {v for v, n in example.sizes.items() if n > 1}
    ties = [{k for k, _ in c.form.terms} for piece in condition.true for c in piece]
    found: set[Key] = set(start)
    grows = True
    while grows:
        more = set().union(*(keys for keys in ties if not keys.isdisjoint(found))) - found
        found, grows = found | more, bool(more)
    return {k for k in found if isinstance(k, Var)}


def comparison(terms: Sequence[tuple[Var, int]], constant: int) -> Expr:
    """`terms + constant >= 0` with positive coefficients on both sides; `D == 0` for a size that
    may not be positive.
    """
    left = tuple((v, -c) for v, c in terms if c < 0)
    right = tuple((v, c) for v, c in terms if c > 0)
    if not left:
        return compare(">=", Linear(right, 0).expr(), index(-constant))
    if not right and len(left) == 1 and left[0][1] == 1 and constant == 0:
        return compare("==", left[0][0], index(0))
    return compare("<=", Linear(left, max(-constant, 0)).expr(), Linear(right, max(constant, 0)).expr())
