"""Maps from the instances of a rewritten kernel to those of the kernel it was made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement, product, takewhile

from texpr.ir.build import fold
from texpr.ir.expr import Expr, Var
from texpr.ir.loop import Store
from texpr.ir.traverse import rewrite
from texpr.poly.constraints.linear_forms import (
    Conjunction,
    Constraint,
    Form,
    Key,
    Unknown,
    is_parameter,
    variable,
)
from texpr.poly.constraints.solver import Question, Region, System
from texpr.poly.dependence.kernel_model import Nest, Statement, shared_by
from texpr.support.frozen_dataclass import frozen_by_identity

Case = tuple[Conjunction, Conjunction, tuple[Form, ...]]


@frozen_by_identity
class Image:
    """A statement of the new kernel and the statement it comes from.

    Attributes:
        at: in each case, the origin's loop variables as forms over the statement's.
        exact: the cases are precisely which instance it is.
        kept: how many of the outermost loops are those of the origin, in its order, whatever their
            names.
    """

    origin: Statement
    statement: Statement
    at: tuple[tuple[Conjunction, tuple[Form, ...]], ...]
    exact: bool
    kept: int

    @staticmethod
    def of(
        origin: Statement,
        statement: Statement,
        at: tuple[tuple[Conjunction, tuple[Form, ...]], ...],
        exact: bool,
    ) -> Image:
        """The image with the loops that it keeps."""
        same = (
            all(f == variable(n.var) for f in fs) for n, *fs in zip(statement.loops, *(fs for _, fs in at))
        )
        return Image(origin, statement, at, exact, sum(takewhile(bool, same)))

    @property
    def renaming(self) -> dict[Key, Var] | None:
        """The statement's variables as the origin's, if each is one."""
        if [piece for piece, _ in self.at] != [()]:
            return None
        names = {
            key: n.var
            for f, n in zip(self.at[0][1], self.origin.loops)
            for key, _ in f.terms
            if f == variable(key)
        }
        return names if len(names) == len(self.origin.loops) == len(self.statement.loops) else None

    def cases(self) -> Iterator[Case]:
        for domain, (piece, forms) in product(self.statement.domain, self.at):
            yield domain, piece, forms


class LoopSubstitution:
    """The loops of an old statement in terms of the loops of a new one that runs its instances."""

    def __init__(self, image: Image, case: Case) -> None:
        domain, piece, forms = case
        self._run = domain + piece
        self._known = frozenset(c for p in image.origin.domain for c in p)
        self._values: dict[Key, Form] = {n.var: f for n, f in zip(image.origin.loops, forms)}

    def covers(self, form: Form) -> bool:
        """True if a form can be substituted: it has no value of data and no quotient, of which
        the new statement has others.
        """
        return not any(isinstance(k, Unknown) and not k.shared for k, _ in form.terms)

    def form(self, form: Form) -> Form:
        """Substitute in a form that is covered."""
        return form.over(self._values)

    def conditions(self, piece: Conjunction) -> Conjunction:
        """The domain of the new statement, and the constraints of an access beyond the domain of
        the old one, as far as they are covered.
        """
        added = (c for c in piece if c not in self._known and self.covers(c.form))
        return (*self._run, *(Constraint(self.form(c.form), c.equality) for c in added))


def images(
    old: Nest, new: Nest, origin: Mapping[Store, Store], instance: Mapping[Store, Mapping[Var, Expr]]
) -> dict[Store, list[Image]]:
    """The images of each store of the old kernel."""
    by_store = {s.store: s for s in old.statements}
    found: dict[Store, list[Image]] = {s.store: [] for s in old.statements}
    for statement in new.statements:
        # What stands for an extern call is no step's business, and stays as it is.
        assert statement.store in origin or statement.store in by_store, "a store without origin"
        source = by_store[origin.get(statement.store, statement.store)]
        at, exact = new.converter.tuples(_values(old, new, source, instance.get(statement.store, {})))
        found[source.store].append(Image.of(source, statement, at, exact))
    return found


def _values(old: Nest, new: Nest, source: Statement, values: Mapping[Var, Expr]) -> list[Expr]:
    """The loops of an old statement in terms of those of a new one; joined loops stand as two in
    both.
    """
    if not old.parted.loops and not new.parted.loops:
        return [values.get(n.var, n.var) for n in source.loops]
    return [
        new.parted.renewed(_substitute(old.parted.counts.get(n.var, n.var), values)) for n in source.loops
    ]


def _substitute(e: Expr, values: Mapping[Var, Expr]) -> Expr:
    return rewrite(e, lambda n: values.get(n) if isinstance(n, Var) else fold(n))  # type: ignore[return-value]


def same_instances(old: Nest, new: Nest, of: Mapping[Store, Sequence[Image]]) -> bool:
    """The new kernel runs every instance of the old one exactly once."""
    instances = _Instances(old, new)
    return all(
        len(found) == 1
        and _is_renamed_domain(found[0])
        or instances.are_covered(s, found)
        and not instances.overlap(found)
        for s in old.statements
        for found in (of[s.store],)
    )


def _is_renamed_domain(image: Image) -> bool:
    """True if the domain is the old one in other names: the common case, without asking isl."""
    names = image.renaming
    if names is None:
        return False

    def renamed(form: Form) -> tuple[frozenset, int]:
        return frozenset((names.get(k, k), c) for k, c in form.terms), form.constant

    there = {frozenset((renamed(c.form), c.equality) for c in piece) for piece in image.statement.domain}
    here = {
        frozenset(((frozenset(c.form.terms), c.form.constant), c.equality) for c in piece)
        for piece in image.origin.domain
    }
    return here == there


def require_instance(question: Question, statement: Statement, case: Case, old: int, new: int) -> None:
    """Require that copy `new` runs the instance of `statement` that copy `old` stands for."""
    domain, piece, forms = case
    question.require(domain, new)
    question.require(piece, new)
    for n, form in zip(statement.loops, forms):
        question.add(question.compare(variable(n.var), old, form, new))


class _Instances:
    """The instances of the statements of two kernels over the same sizes."""

    def __init__(self, old: Nest, new: Nest) -> None:
        self.facts, self.is_shared = old.facts, shared_by(old, new)

    def are_covered(self, statement: Statement, found: Sequence[Image]) -> bool:
        """The images of the new domains are the old domain."""
        here = [(piece, (), tuple(variable(n.var) for n in statement.loops)) for piece in statement.domain]
        there = [case for image in found for case in image.cases()]
        keys = self._parameters([*here, *there])
        left, right = (
            Region(len(keys) + len(statement.loops), [self._image(keys, statement, case) for case in cases])
            for cases in (here, there)
        )
        return left.minus(right).is_empty and right.minus(left).is_empty

    def _parameters(self, cases: Sequence[Case]) -> list[Key]:
        """Sizes and unknowns of the whole kernel that occur: the columns to compare at."""
        forms = (f for domain, piece, at in cases for f in (*(c.form for c in domain + piece), *at))
        return list(
            dict.fromkeys(k for f in forms for k, _ in f.terms if self.is_shared(k) and is_parameter(k))
        )

    def _image(self, keys: Sequence[Key], statement: Statement, case: Case) -> System:
        """Parameters, then the old loop variables (copy 0), of which the case is an instance
        (copy 1).
        """
        question = Question(self.is_shared)
        for key in keys:
            question.column(key)
        for n in statement.loops:
            question.column(n.var, 0)
        question.require(self.facts)
        require_instance(question, statement, case, 0, 1)
        return question.system()

    def overlap(self, found: Sequence[Image]) -> bool:
        """Two different instances of the new kernel are one of the old."""
        return any(
            self._coincide(a, b, first, second)
            for a, b in combinations_with_replacement(found, 2)
            for first, second in product(a.cases(), b.cases())
        )

    def _coincide(self, a: Image, b: Image, first: Case, second: Case) -> bool:
        question = Question(self.is_shared)
        question.require(self.facts)
        require_instance(question, a.origin, first, 0, 1)
        require_instance(question, b.origin, second, 0, 2)
        system = question.system()
        if a is not b or system.is_empty:
            return not system.is_empty
        loops = [variable(n.var) for n in a.statement.loops]
        return any(not system.also([question.compare(v, 2, v, 1, gap=1)]).is_empty for v in loops)
