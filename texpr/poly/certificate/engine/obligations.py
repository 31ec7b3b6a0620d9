"""The state of a proof in progress, its obligations, and the refutation of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

import islpy as isl

from texpr.ir.affine import same_value
from texpr.ir.build import TRUE, compare, conjunction, negation
from texpr.ir.dtypes import I64
from texpr.ir.expr import And, Compare, Const, Expr, Mul, Node, Select, Sub, Tensor, Var, index
from texpr.ir.loop import Stmt
from texpr.ir.shapes import evaluate_size
from texpr.ir.traverse import rewrite, variables
from texpr.poly.certificate.engine.case_split import index_split_condition, simplify_assuming, split_condition
from texpr.poly.certificate.engine.isl_frame import Frame, interval, structurally_equal
from texpr.poly.certificate.engine.program_semantics import (
    Definition,
    Semantics,
    at_instance,
    index_in_bounds,
)
from texpr.poly.certificate.engine.statement_extraction import Nest, Statement

_SET, _PARAM = isl.dim_type.set, isl.dim_type.param

OBLIGATIONS = ("values", "bounds", "initialised", "covered", "once", "sums", "order", "races")


class Refuted(Exception):
    """An obligation that does not hold, or is not proven.

    Attributes:
        statement: where it fails.
        frame, instances: of the counterexamples, if isl has some.
    """

    def __init__(
        self,
        obligation: str,
        text: str,
        statement: Statement | None,
        frame: Frame | None = None,
        instances: isl.Set | None = None,
    ) -> None:
        super().__init__(text)
        self.obligation, self.text, self.statement, self.frame, self.instances = (
            obligation,
            text,
            statement,
            frame,
            instances,
        )

    def witness(self) -> tuple[dict[str, int], dict[str, int]]:
        """The smallest sizes and then the earliest instance, by name."""
        if self.instances is None:
            return {}, {}
        assert self.frame is not None, "instances are of a frame"
        count = self.instances.dim(_PARAM)
        flat = self.instances.move_dims(_SET, 0, _PARAM, 0, count)
        for k in range(count):
            flat = flat.lower_bound_val(_SET, k, isl.Val.zero(flat.get_ctx()))
        try:
            point = flat.lexmin().sample_point()
            values = [point.get_coordinate_val(_SET, k).to_python() for k in range(flat.dim(_SET))]
        except isl.Error:
            return {}, {}
        names = self.frame.parameters.variables[:count]
        atoms = {v for _, v in (*self.frame.parameters.terms, *self.frame.atoms)}
        sizes = {v.name: n for v, n in zip(names, values) if v not in atoms}
        instance: dict[str, int] = {}
        for v, n in zip(self.frame.variables, values[count:]):
            if v not in atoms:
                instance[v.name + "'" if v.name in instance else v.name] = n
        return sizes, instance


class ReusedBuffer(Refuted):
    """An obligation that fails if every element of a buffer is taken to hold one value alone.

    Attributes:
        tensor: the buffer, whose elements may hold several values, one after the other.
        others: the same refutation for other buffers.
        suspects: the positions of the statements that are refuted.
    """

    def __init__(
        self,
        tensor: Tensor,
        obligation: str,
        text: str,
        statement: Statement,
        frame: Frame | None = None,
        instances: isl.Set | None = None,
    ) -> None:
        super().__init__(obligation, text, statement, frame, instances)
        self.tensor = tensor
        self.others: tuple[ReusedBuffer, ...] = ()
        self.suspects: tuple[int, ...] = ()


class UndefinedCopy(Refuted):
    """A copy some of whose instances copy undefined elements. They are as if they did not run,
    if nobody uses the copies.
    """


@dataclass(slots=True)
class Count:
    """The number of questions for an obligation, and their time."""

    questions: int = 0
    seconds: float = 0.0


@dataclass(slots=True, eq=False)
class Proof:
    """The state of one certificate in the making.

    Attributes:
        program_tensors: the tensor of the program for each input and output of the kernel.
        facts: the facts about the parameters.
        reassociated: sums whose additions run in another order than the program's.
        version_dims: the number of leading dimensions that name the version, for each renamed
            buffer (`buffer_renaming`).
        suspects: the positions of statements that are checked first, since they were refuted
            before.
        undefined_copies: copies of which some instances may copy undefined elements.
    """

    nest: Nest
    semantics: Semantics
    program_tensors: dict[Tensor, Tensor]
    facts: isl.Set
    counts: dict[str, Count] = field(default_factory=lambda: {name: Count() for name in OBLIGATIONS})
    reassociated: dict[str, None] = field(default_factory=dict)
    version_dims: dict[Tensor, int] = field(default_factory=dict)
    suspects: tuple[int, ...] = ()
    undefined_copies: frozenset[Stmt] = frozenset()
    _open: list[tuple[str, float]] = field(default_factory=list)

    def exists(self, indices: Sequence[Expr], tensor: Tensor) -> Expr:
        """The condition that the element exists."""
        names = self.version_dims.get(tensor, 0)
        return index_in_bounds(indices[names:], tensor.shape[names:])

    @contextmanager
    def obligation(self, obligation: str) -> Iterator[None]:
        """Count the time inside for an obligation, without the time of obligations inside it."""
        self.counts[obligation].questions += 1
        start = perf_counter()
        if self._open:
            self.counts[self._open[-1][0]].seconds += start - self._open[-1][1]
        self._open.append((obligation, start))
        try:
            yield
        finally:
            now = perf_counter()
            name, since = self._open.pop()
            self.counts[name].seconds += now - since
            if self._open:
                self._open[-1] = (self._open[-1][0], now)


class Context:
    """A set of instances of a statement, under conditions; isl sets are made lazily."""

    def __init__(
        self, proof: Proof, frame: Frame, base: isl.Set | Statement | Context, known: Expr = TRUE
    ) -> None:
        self.proof, self.frame, self._base, self.known = proof, frame, base, known
        self._set: isl.Set | None = None
        self._columns = -1
        self._splits: list[tuple[Expr, tuple[Context | None, Context | None]]] = []
        self._parts: list[tuple[Expr, list[Context]]] = []

    def also(self, condition: Expr) -> Context:
        """The instances for which `condition` holds as well."""
        return Context(self.proof, self.frame, self, condition)

    @property
    def set(self) -> isl.Set:
        if self._set is None:
            self._set, self._columns = self._make_set(), -1
        known = len(self.frame.variables) + len(self.frame.parameters.terms)
        if self._columns != known:
            self._columns = known
            self._set = self.frame.lift(self._set) & self.frame.holds(self.frame.bounds())
        return self._set

    def _make_set(self) -> isl.Set:
        match self._base:
            case Context():
                plain = self.frame.abstract(self.known)
                return self.frame.lift(self._base.set) & self.frame.holds(plain)
            case Statement():
                return self._base.domain(self.proof.facts)
        return self._base

    @property
    def is_empty(self) -> bool:
        return self.set.is_empty()

    def implies(self, condition: Expr) -> bool:
        """True if a condition is proven to hold."""
        return self.counterexamples(condition) is None

    def counterexamples(self, condition: Expr) -> isl.Set | None:
        """The instances for which a condition fails; None if there are none."""
        for c in conjuncts(condition):
            if (
                any(structurally_equal(c, k) for k in self.assumptions())
                or truth_by_ranges(self.frame.abstract(c), self.frame) is True
            ):
                continue
            for here, (e,) in self.cases(c):
                outside = here._counterexamples_within(e)
                if outside is not None and all(
                    more._counterexamples_within(e) is not None for more in here._with_resolved_data()
                ):
                    return outside
            if isinstance(self._base, Statement):
                self._base.proven.append(c)
        return None

    def _counterexamples_within(self, condition: Expr) -> isl.Set | None:
        holds = self._where(condition)
        return None if self.set.is_subset(holds) else self.set - holds

    def _with_resolved_data(self) -> Iterator[Context]:
        """The same instances with data at a place with a choice, `p[if c then i else 0]`, resolved
        to data at the chosen place.

        Nothing where that says no more.
        """
        terms = [
            (self.frame.original.get(var, term), var)
            for term, var in (*self.frame.atoms, *self.frame.parameters.terms)
        ]
        resolved = [
            (var, self._without_choices(term)) for term, var in terms if split_condition(term) is not None
        ]
        same = [
            compare("==", var, self.frame.as_integer(chosen))
            for var, chosen in resolved
            if chosen is not None
        ]
        if same:
            yield self.also(conjunction(*same))

    def _without_choices(self, term: Expr) -> Expr | None:
        """A term without its choices; None if one of them is open for these instances."""
        while (condition := split_condition(term)) is not None:
            holds, fails = self.split_on(condition)
            if holds is not None and fails is not None:
                return None
            term = simplify_assuming(term, condition, holds is not None)
        return term

    def cases(self, *es: Expr) -> Iterator[tuple[Context, tuple[Expr, ...]]]:
        """Split the instances until no choice between integers is open: each case with the
        expressions as they are there.
        """
        stack: list[tuple[Context, tuple[Expr, ...]]] = [(self, es)]
        while stack:
            here, now = stack.pop()
            condition = index_split_condition(*now)
            if condition is None:
                yield here, now
                continue
            for inside, holds in zip(here.split_on(condition), (True, False)):
                if inside is not None:
                    stack.append((inside, tuple(simplify_assuming(e, condition, holds) for e in now)))

    def where(self, *conditions: Expr) -> list[Context]:
        """The parts of the instances in which conditions hold."""
        found: list[Context] = [self]
        for c in conditions:
            found = [part for each in found for part in each._parts_where(c)]
        return found

    def _parts_where(self, condition: Expr) -> list[Context]:
        known = next((parts for c, parts in self._parts if structurally_equal(c, condition)), None)
        if known is None:
            known = [here.also(e) for here, (e,) in self.cases(condition) if not _is_false(e)]
            self._parts.append((condition, known))
        return known

    def split_on(self, condition: Expr) -> tuple[Context | None, Context | None]:
        """The instances for which a condition without choices holds, and those for which it
        fails; None for an empty side.
        """
        known = next((halves for c, halves in self._splits if structurally_equal(c, condition)), None)
        if known is None:
            known = self._split_set(condition)
            self._splits.append((condition, known))
        return known

    def _split_set(self, condition: Expr) -> tuple[Context | None, Context | None]:
        truth = truth_by_ranges(self.frame.abstract(condition), self.frame)
        if truth is None:
            holds = self._where(condition)
            truth = True if self.set.is_subset(holds) else False if self.set.is_disjoint(holds) else None
        if truth is not None:
            return (self, None) if truth else (None, self)
        return self.also(condition), self.also(negation(condition))

    def _where(self, condition: Expr) -> isl.Set:
        """The set in which a condition holds, in the columns of the instances."""
        plain = self.frame.abstract(condition)
        _ = self.set  # May know of more atoms.
        return self.frame.holds(plain)

    def assumptions(self) -> Iterator[Expr]:
        """The conditions that are known to hold, innermost first."""
        here: Context | Statement | isl.Set = self
        while isinstance(here, Context):
            yield from conjuncts(here.known)
            here = here._base
        if isinstance(here, Statement):
            for c in here.traced_conditions:
                yield from conjuncts(c)
            yield from here.proven

    def equal(self, a: Expr, b: Expr) -> bool:
        """True if two integers are proven to be equal."""
        return structurally_equal(a, b) or all(
            here._equal(x, y) or any(more._equal(x, y) for more in here._with_resolved_data())
            for here, (x, y) in self.cases(a, b)
        )

    def _equal(self, a: Expr, b: Expr) -> bool:
        if self._surely_equal(a, b):
            return True
        x, y = self._with_constant_factors(a), self._with_constant_factors(b)
        return (x is not a or y is not b) and self._surely_equal(x, y)

    def _with_constant_factors(self, e: Expr) -> Expr:
        """Replace factors that have a single value by numbers: isl knows products with numbers
        alone.
        """

        def rule(node: Node) -> Node | None:
            if not isinstance(node, Mul) or isinstance(node.lhs, Const) or isinstance(node.rhs, Const):
                return None
            factors = self._constant_value(node.lhs), self._constant_value(node.rhs)  # type: ignore[arg-type]
            changed = [f if n is None else index(n) for n, f in zip(factors, (node.lhs, node.rhs))]
            return None if factors == (None, None) else Mul(*changed, dtype=node.dtype)

        return rewrite(e, rule)  # type: ignore[return-value]

    def _constant_value(self, e: Expr) -> int | None:
        """The value that an integer has in all instances; None if it has several."""
        plain = self.frame.abstract(e)
        if e.dtype != I64 or self.set.is_empty():
            return None
        point, columns = self.set.sample_point(), {v: k for k, v in enumerate(self.frame.variables)}
        values: dict[Var, int] = {}
        for v in variables(plain):
            place = (_SET, columns[v]) if v in columns else (_PARAM, self.frame.parameters.position[v])
            values[v] = point.get_coordinate_val(*place).to_python()
        n = evaluate_size(plain, values)
        return n if (self.set & self._where(compare("!=", plain, index(n)))).is_empty() else None

    def _surely_equal(self, a: Expr, b: Expr) -> bool:
        x, y = self.frame.abstract(a), self.frame.abstract(b)
        return same_value(x, y) or (self.set & self._where(compare("!=", x, y))).is_empty()

    def equivalent(self, a: Expr, b: Expr) -> bool:
        """True if two conditions are proven to be equivalent."""
        if structurally_equal(a, b):
            return True
        return all(here._equivalent(x, y) for here, (x, y) in self.cases(a, b))

    def _equivalent(self, a: Expr, b: Expr) -> bool:
        x, y = self.frame.abstract(a), self.frame.abstract(b)
        inside = self.set
        return (inside & self.frame.holds(x)).is_equal(inside & self.frame.holds(y))


def instances(proof: Proof, s: Statement) -> Context:
    """The instances of a statement."""
    if s.instances is None or s.instances.proof is not proof:
        s.instances = Context(proof, s.frame, s)
    return s.instances


def outside_domain(proof: Proof, s: Statement, d: Definition) -> isl.Set | None:
    """The instances of a store outside the domain of its equation, as in a tile that is filled
    past the end; None if there are none.
    """
    if s.outside_domain is None:
        s.outside_domain = (
            instances(proof, s).counterexamples(at_instance(d.domain, d.axes, s.at[: len(d.axes)])),
        )
    return s.outside_domain[0]


def _is_false(e: Expr) -> bool:
    return isinstance(e, Const) and not e.value


def conjuncts(e: Expr) -> list[Expr]:
    """The conditions that are joined by `and`."""
    found: list[Expr] = []
    stack = [e]
    while stack:
        node = stack.pop()
        match node:
            case And(a, b) | Select(a, b, Const(False)):
                stack += [b, a]
            case Const(True):
                pass
            case _:
                found.append(node)
    return found


def truth_by_ranges(e: Expr, frame: Frame) -> bool | None:
    """The truth of an abstracted condition, if the constant ranges of the loops decide it."""
    match e:
        case Const(value):
            return bool(value)
        case Compare(op, a, b) if a.dtype == I64:
            low, high = interval(Sub(a, b), frame.ranges)
            return _truth_of_interval(op, low, high)
    return None


def _truth_of_interval(op: str, low: int | None, high: int | None) -> bool | None:
    below, above = high is not None and high < 0, low is not None and low > 0
    not_above, not_below = high is not None and high <= 0, low is not None and low >= 0
    zero = low == high == 0
    holds = {"<": below, "<=": not_above, ">": above, ">=": not_below, "==": zero, "!=": below or above}
    fails = {"<": not_below, "<=": above, ">": not_above, ">=": below, "==": below or above, "!=": zero}
    return True if holds[op] else False if fails[op] else None
