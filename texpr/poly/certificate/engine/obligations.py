"""What a proof in progress knows, and how it ends when something is not so."""

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
from texpr.poly.certificate.engine.case_split import answered, index_question, question
from texpr.poly.certificate.engine.isl_frame import Frame, alike, interval
from texpr.poly.certificate.engine.program_semantics import Definition, Meaning, at_instance, within
from texpr.poly.certificate.engine.statements import Nest, Statement

_SET, _PARAM = isl.dim_type.set, isl.dim_type.param

OBLIGATIONS = ("values", "bounds", "initialised", "covered", "once", "sums", "order", "races")


class Refuted(Exception):
    """An obligation that does not hold, or is not proven.

    Attributes:
        statement: where it fails.
        frame, instances: of the counterexamples, if isl has some.
    """

    def __init__(self, obligation: str, text: str, statement: Statement | None, frame: Frame | None = None,
                 instances: isl.Set | None = None) -> None:
        super().__init__(text)
        self.obligation, self.text, self.statement, self.frame, self.instances = obligation, text, statement, frame, instances

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


class Reused(Refuted):
    """An obligation that does not hold if every element of a buffer holds one value alone.

    Attributes:
        tensor: the buffer, whose elements may hold several, one after the other.
        others: the same of other buffers.
        suspects: where statements stand that are refuted so.
    """

    def __init__(self, tensor: Tensor, obligation: str, text: str, statement: Statement, frame: Frame | None = None,
                 instances: isl.Set | None = None) -> None:
        super().__init__(obligation, text, statement, frame, instances)
        self.tensor = tensor
        self.others: tuple[Reused, ...] = ()
        self.suspects: tuple[int, ...] = ()


class Hollow(Refuted):
    """A copy, of which some instances copy what was never written. They are as if they did not run, if nobody uses what they write."""


@dataclass(slots=True)
class Count:
    """Questions asked for an obligation, and how long they took."""

    questions: int = 0
    seconds: float = 0.0


@dataclass(slots=True, eq=False)
class Proof:
    """One certificate in the making.

    Attributes:
        named: kernel tensors that are the program's, by either's object.
        facts: what holds of the parameters.
        reassociated: sums whose additions run in another order than the program's.
        named_lives: of buffers whose elements hold one value after another, how many of the indices say which (`buffer_renaming`).
        suspects: where statements stand that are looked at first: they were refuted before.
        hollow: copies whose instances need not all have a source.
    """

    nest: Nest
    meaning: Meaning
    named: dict[Tensor, Tensor]
    facts: isl.Set
    counts: dict[str, Count] = field(default_factory=lambda: {name: Count() for name in OBLIGATIONS})
    reassociated: dict[str, None] = field(default_factory=dict)
    named_lives: dict[Tensor, int] = field(default_factory=dict)
    suspects: tuple[int, ...] = ()
    hollow: frozenset[Stmt] = frozenset()
    _open: list[tuple[str, float]] = field(default_factory=list)

    def exists(self, indices: Sequence[Expr], tensor: Tensor) -> Expr:
        """The element exists."""
        names = self.named_lives.get(tensor, 0)
        return within(indices[names:], tensor.shape[names:])

    @contextmanager
    def asking(self, obligation: str) -> Iterator[None]:
        """Time spent inside counts for the obligation, without what inner questions take."""
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
    """Instances of a statement for which conditions hold; the set is only made when somebody needs it."""

    def __init__(self, proof: Proof, frame: Frame, base: isl.Set | Statement | Context, known: Expr = TRUE) -> None:
        self.proof, self.frame, self._base, self.known = proof, frame, base, known
        self._set: isl.Set | None = None
        self._columns = -1
        self._split: list[tuple[Expr, tuple[Context | None, Context | None]]] = []
        self._wheres: list[tuple[Expr, list[Context]]] = []

    def also(self, condition: Expr) -> Context:
        """The instances for which `condition` holds as well."""
        return Context(self.proof, self.frame, self, condition)

    @property
    def set(self) -> isl.Set:
        if self._set is None:
            self._set, self._columns = self._made(), -1
        known = len(self.frame.variables) + len(self.frame.parameters.terms)
        if self._columns != known:
            self._columns = known
            self._set = self.frame.up(self._set) & self.frame.holds(self.frame.bounds())
        return self._set

    def _made(self) -> isl.Set:
        match self._base:
            case Context():
                plain = self.frame.plain(self.known)
                return self.frame.up(self._base.set) & self.frame.holds(plain)
            case Statement():
                return self._base.domain(self.proof.facts)
        return self._base

    @property
    def is_empty(self) -> bool:
        return self.set.is_empty()

    def implies(self, condition: Expr) -> bool:
        """Whether a condition surely holds."""
        return self.failing(condition) is None

    def failing(self, condition: Expr) -> isl.Set | None:
        """Instances for which it does not hold; None if there are none."""
        for c in conjuncts(condition):
            if any(alike(c, k) for k in self.given()) or decided(self.frame.plain(c), self.frame) is True:
                continue
            for here, (e,) in self.cells(c):
                outside = here._outside(e)
                if outside is not None and all(more._outside(e) is not None for more in here._with_decided_data()):
                    return outside
            if isinstance(self._base, Statement):
                self._base.proven.append(c)
        return None

    def _outside(self, condition: Expr) -> isl.Set | None:
        holds = self._where(condition)
        return None if self.set.is_subset(holds) else self.set - holds

    def _with_decided_data(self) -> Iterator[Context]:
        """The same instances with more known: data at a place that a choice says, `p[if c then i else 0]`, is data at what is chosen.

        Nothing where that says no more.
        """
        terms = [(self.frame.whole.get(var, term), var) for term, var in (*self.frame.atoms, *self.frame.parameters.terms)]
        decided = [(var, self._decided(term)) for term, var in terms if question(term) is not None]
        same = [compare("==", var, self.frame.number(chosen)) for var, chosen in decided if chosen is not None]
        if same:
            yield self.also(conjunction(*same))

    def _decided(self, term: Expr) -> Expr | None:
        """A term without its choices; None if one of them is open here."""
        while (condition := question(term)) is not None:
            holds, fails = self.halves(condition)
            if holds is not None and fails is not None:
                return None
            term = answered(term, condition, holds is not None)
        return term

    def cells(self, *es: Expr) -> Iterator[tuple[Context, tuple[Expr, ...]]]:
        """The instances in parts in which no choice between integers is left open, and the expressions there."""
        stack: list[tuple[Context, tuple[Expr, ...]]] = [(self, es)]
        while stack:
            here, now = stack.pop()
            condition = index_question(*now)
            if condition is None:
                yield here, now
                continue
            for inside, holds in zip(here.halves(condition), (True, False)):
                if inside is not None:
                    stack.append((inside, tuple(answered(e, condition, holds) for e in now)))

    def where(self, *conditions: Expr) -> list[Context]:
        """The parts of the instances in which conditions hold."""
        found: list[Context] = [self]
        for c in conditions:
            found = [part for each in found for part in each._where_holds(c)]
        return found

    def _where_holds(self, condition: Expr) -> list[Context]:
        known = next((parts for c, parts in self._wheres if alike(c, condition)), None)
        if known is None:
            known = [here.also(e) for here, (e,) in self.cells(condition) if not _is_false(e)]
            self._wheres.append((condition, known))
        return known

    def halves(self, condition: Expr) -> tuple[Context | None, Context | None]:
        """The instances for which a condition without choices holds, and those for which it does not; None where there are none."""
        known = next((halves for c, halves in self._split if alike(c, condition)), None)
        if known is None:
            known = self._halves(condition)
            self._split.append((condition, known))
        return known

    def _halves(self, condition: Expr) -> tuple[Context | None, Context | None]:
        truth = decided(self.frame.plain(condition), self.frame)
        if truth is None:
            holds = self._where(condition)
            truth = True if self.set.is_subset(holds) else False if self.set.is_disjoint(holds) else None
        if truth is not None:
            return (self, None) if truth else (None, self)
        return self.also(condition), self.also(negation(condition))

    def _where(self, condition: Expr) -> isl.Set:
        """Where a condition holds, in the columns of the instances."""
        plain = self.frame.plain(condition)
        _ = self.set  # May know of more atoms.
        return self.frame.holds(plain)

    def given(self) -> Iterator[Expr]:
        """The conditions that are known to hold, innermost first."""
        here: Context | Statement | isl.Set = self
        while isinstance(here, Context):
            yield from conjuncts(here.known)
            here = here._base
        if isinstance(here, Statement):
            for c in here.held:
                yield from conjuncts(c)
            yield from here.proven

    def equal(self, a: Expr, b: Expr) -> bool:
        """Whether two integers are surely equal."""
        return alike(a, b) or all(here._equal(x, y) or any(more._equal(x, y) for more in here._with_decided_data())
                                  for here, (x, y) in self.cells(a, b))

    def _equal(self, a: Expr, b: Expr) -> bool:
        if self._surely_equal(a, b):
            return True
        x, y = self._with_numbers(a), self._with_numbers(b)
        return (x is not a or y is not b) and self._surely_equal(x, y)

    def _with_numbers(self, e: Expr) -> Expr:
        """An integer with numbers for factors that have but one value here: isl knows products with numbers alone."""

        def rule(node: Node) -> Node | None:
            if not isinstance(node, Mul) or isinstance(node.lhs, Const) or isinstance(node.rhs, Const):
                return None
            factors = self._number(node.lhs), self._number(node.rhs)  # type: ignore[arg-type]
            changed = [f if n is None else index(n) for n, f in zip(factors, (node.lhs, node.rhs))]
            return None if factors == (None, None) else Mul(*changed, dtype=node.dtype)

        return rewrite(e, rule)  # type: ignore[return-value]

    def _number(self, e: Expr) -> int | None:
        """The value that an integer has in all instances; None where there are several."""
        plain = self.frame.plain(e)
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
        x, y = self.frame.plain(a), self.frame.plain(b)
        return same_value(x, y) or (self.set & self._where(compare("!=", x, y))).is_empty()

    def equivalent(self, a: Expr, b: Expr) -> bool:
        """Whether two conditions surely say the same."""
        if alike(a, b):
            return True
        return all(here._equivalent(x, y) for here, (x, y) in self.cells(a, b))

    def _equivalent(self, a: Expr, b: Expr) -> bool:
        x, y = self.frame.plain(a), self.frame.plain(b)
        inside = self.set
        return (inside & self.frame.holds(x)).is_equal(inside & self.frame.holds(y))


def instances(proof: Proof, s: Statement) -> Context:
    """The instances of a statement."""
    if s.instances is None or s.instances.proof is not proof:
        s.instances = Context(proof, s.frame, s)
    return s.instances


def beyond(proof: Proof, s: Statement, d: Definition) -> isl.Set | None:
    """The instances of a store that its equation does not have, as in a tile that is filled past the end; None if there are none."""
    if s.beyond is None:
        s.beyond = (instances(proof, s).failing(at_instance(d.domain, d.axes, s.at[: len(d.axes)])),)
    return s.beyond[0]


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


def decided(e: Expr, frame: Frame) -> bool | None:
    """The truth of a plain condition, if the constant ranges of the loops tell."""
    match e:
        case Const(value):
            return bool(value)
        case Compare(op, a, b) if a.dtype == I64:
            low, high = interval(Sub(a, b), frame.ranges)
            return _truth(op, low, high)
    return None


def _truth(op: str, low: int | None, high: int | None) -> bool | None:
    below, above = high is not None and high < 0, low is not None and low > 0
    not_above, not_below = high is not None and high <= 0, low is not None and low >= 0
    zero = low == high == 0
    holds = {"<": below, "<=": not_above, ">": above, ">=": not_below, "==": zero, "!=": below or above}
    fails = {"<": not_below, "<=": above, ">": not_above, ">=": below, "==": below or above, "!=": zero}
    return True if holds[op] else False if fails[op] else None

