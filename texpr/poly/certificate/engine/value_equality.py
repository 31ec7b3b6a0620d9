"""A store computes what its equation says: two expressions in terms of the program, compared
node by node.
"""

from __future__ import annotations

from collections.abc import Callable

from texpr.ir.affine import Linear, linear
from texpr.ir.build import negation
from texpr.ir.dtypes import BOOL, I64
from texpr.ir.expr import And, Const, Expr, Mul, Node, Not, Or, Read, Select, Tensor, Var, index, plain
from texpr.ir.loop import ExternCall
from texpr.ir.printing.expr import show
from texpr.ir.store_kind import PARTIAL_START
from texpr.ir.traverse import children, rewrite, walk
from texpr.poly.certificate.engine.case_split import is_integer_condition, simplify_assuming, split_condition
from texpr.poly.certificate.engine.isl_frame import Frame, same_operation, structurally_equal
from texpr.poly.certificate.engine.obligations import Context, Proof, Refuted, instances, outside_domain
from texpr.poly.certificate.engine.program_semantics import (
    UPDATES,
    Definition,
    Semantics,
    Total,
    at_instance,
    index_in_bounds,
    is_identity,
    is_neutral,
)
from texpr.poly.certificate.engine.reindexing import reindex
from texpr.poly.certificate.engine.statement_extraction import (
    Buffer,
    Statement,
    holds_fold_parts,
    partials_merged_by,
)
from texpr.poly.certificate.engine.value_tracing import Tracer, program_call
from texpr.poly.certificate.engine.zero_terms import adds_nothing
from texpr.support.frozen_dataclass import replace

_Goal = tuple[Expr, Expr, Context]


class Disagreement(Exception):
    """Two expressions that are not proven to be equal for these instances."""

    def __init__(self, found: Expr, wanted: Expr, context: Context) -> None:
        super().__init__()
        self.found, self.wanted, self.context = found, wanted, context


def require_equal(semantics: Semantics, found: Expr, wanted: Expr, context: Context) -> None:
    """Prove that two expressions have one value.

    Raises:
        Disagreement: where they do not, as far as can be told.
    """
    difference = _difference(semantics, found, wanted, context)
    if difference is not None and not (
        found.dtype.is_int and _equal_inlined(semantics, found, wanted, context)
    ):
        raise difference


def _difference(semantics: Semantics, found: Expr, wanted: Expr, context: Context) -> Disagreement | None:
    """The first subexpressions in which two expressions differ; None if they are equal."""
    stack: list[_Goal] = [(found, wanted, context)]
    seen: dict[tuple[int, int, int], _Goal] = {}  # With the objects, whose numbers others would get.
    while stack:
        item = stack.pop()
        a, b, here = item
        key = id(a), id(b), id(here)
        if a is b or key in seen:
            continue
        seen[key] = item
        subgoals = _subgoals(semantics, a, b, here)
        if subgoals is None:
            if here.is_empty:
                continue
            return Disagreement(a, b, here)
        stack += subgoals
    return None


MOST_NODES = 4000
"""Of an expression in which definitions stand for what is read."""


def _equal_inlined(semantics: Semantics, found: Expr, wanted: Expr, context: Context) -> bool:
    """True if two integer expressions are equal in every case once all definitions are inlined."""
    stack: list[_Goal] = [(found, wanted, context)]
    while stack:
        a, b, here = stack.pop()
        condition = split_condition(a, b)
        parts = (
            None
            if condition is None or semantics.can_inline(condition)
            else _goals_by_case(a, b, here, condition)
        )
        if parts is None and (semantics.can_inline(a) or semantics.can_inline(b)):
            parts = [(semantics.inlined(a), semantics.inlined(b), here)]
        if sum(1 for _ in walk(a, b)) > MOST_NODES:
            return False
        if parts is not None:
            stack += parts
        elif _difference(semantics, a, b, here) is not None:
            return False
    return True


def _subgoals(semantics: Semantics, a: Expr, b: Expr, context: Context) -> list[_Goal] | None:
    """The goals that remain to be proven for `a` and `b`; None if they differ."""
    if a.dtype != b.dtype:
        return None
    if a.dtype == I64 and (
        _equal_termwise(semantics, a, b, context) or _is_affine_question(a, b) and context.equal(a, b)
    ):
        return []
    if (
        a.dtype == I64
        and (semantics.can_inline(a) or semantics.can_inline(b))
        and (
            _equal_operands(semantics, a, b, context)
            or context.equal(semantics.fully_inlined(a), semantics.fully_inlined(b))
        )
    ):
        return []
    if a.dtype == BOOL and _is_logical_question(a, b) and context.equivalent(a, b):
        return []
    if isinstance(a, Select) or isinstance(b, Select):
        return _select_goals(semantics, a, b, context)
    if (
        same_operation(a, b)
        and (children(a) or isinstance(a, Read | Total))
        and not (a.dtype.is_int and _has_integer_choices(a, b))
    ):
        return _operand_goals(a, b, context)
    if isinstance(a, Const) and isinstance(b, Const):
        return [] if repr(a.value) == repr(b.value) else None
    return _inlined_goal(semantics, a, b, context) or (
        _goals_by_case(a, b, context, split_condition(a, b)) if a.dtype.is_int else None
    )


def _equal_operands(semantics: Semantics, a: Expr, b: Expr, context: Context) -> bool:
    """True if both are the same operation on equal operands: nothing has to be inlined then.
    Depth is that of the expressions.
    """
    parts = bool(children(a)) and same_operation(a, b) and not isinstance(a, Read)
    return parts and all(
        _difference(semantics, x, y, context) is None for x, y, context in _operand_goals(a, b, context)
    )


def _equal_termwise(semantics: Semantics, a: Expr, b: Expr, context: Context) -> bool:
    """True if two sums of data have the same terms. Depth is that of data in indices of data."""
    if structurally_equal(a, b):
        return True
    mine, other = linear(a), linear(b)
    terms = [(t, c) for t, c in mine.terms if not isinstance(t, Var)]
    remaining = [(t, c) for t, c in other.terms if not isinstance(t, Var)]
    if (
        len(terms) != len(remaining)
        or not len(terms)
        or (len(mine.terms), len(other.terms)) == (1, 1)
        or split_condition(a, b) is not None
    ):
        return False
    for t, c in terms:
        same = next(
            (
                k
                for k, (u, d) in enumerate(remaining)
                if c == d and _difference(semantics, t, u, context) is None
            ),
            None,
        )
        if same is None:
            return False
        del remaining[same]
    rest = (
        Linear(tuple((t, c) for t, c in form.terms if isinstance(t, Var)), form.constant).expr()
        for form in (mine, other)
    )
    return context.equal(*rest)


def _is_affine_question(*roots: Expr) -> bool:
    """True if isl is to compare two integers: they are indices, or data that is not multiplied
    with data.
    """
    nodes = list(walk(*roots))
    return (
        not any(isinstance(n, Read) for n in nodes)
        or split_condition(*roots) is None
        and not any(isinstance(n, Mul) and not isinstance(n.rhs, Const) for n in nodes)
    )


def _goals_by_case(a: Expr, b: Expr, context: Context, condition: Expr | None) -> list[_Goal] | None:
    """The goals where a condition holds, and where it fails."""
    if condition is None:
        return None
    if (truth := _known_truth(condition, context)) is not None:
        return [(simplify_assuming(a, condition, truth), simplify_assuming(b, condition, truth), context)]
    cases = [
        (holds, inside)
        for holds, inside in zip((True, False), context.split_on(condition))
        if inside is not None
    ]
    return [
        (simplify_assuming(a, condition, holds), simplify_assuming(b, condition, holds), inside)
        for holds, inside in cases
    ]


def _known_truth(condition: Expr, context: Context) -> bool | None:
    """The truth of a condition on data that is among the assumptions, maybe at indices that are
    equal for these instances alone.
    """
    if not any(isinstance(n, Read) for n in walk(condition)):
        return None
    for given in context.assumptions():
        for question, truth in ((condition, True), (negation(condition), False)):
            if _equal_at(given, question, context):
                return truth
    return None


def _equal_at(a: Node, b: Node, context: Context) -> bool:
    """True if two expressions are the same operations on the same data, at indices that are
    equal for these instances.
    """
    stack = [(a, b)]
    while stack:
        x, y = stack.pop()
        if x is y:
            continue
        if (
            isinstance(x, Expr)
            and isinstance(y, Expr)
            and x.dtype == y.dtype == I64
            and _is_affine_question(x, y)
            and context.equal(x, y)
        ):
            continue
        if not same_operation(x, y) or not children(x) and not structurally_equal(x, y):  # type: ignore[arg-type]
            return False
        stack += zip(children(x), children(y), strict=True)
    return True


def _operand_goals(a: Node, b: Node, context: Context) -> list[_Goal]:
    return [(x, y, context) for x, y in zip(children(a), children(b), strict=True)]  # type: ignore[misc]


def _is_logical_question(a: Expr, b: Expr) -> bool:
    """True if isl is to compare two conditions: they are on integers, or combined of several."""
    joined_ones = isinstance(a, And | Or | Not | Const | Select) or isinstance(
        b, And | Or | Not | Const | Select
    )
    return is_integer_condition(a) and is_integer_condition(b) or joined_ones


def _has_integer_choices(*roots: Expr) -> bool:
    """True if conditions on integers choose integers, so that folding may have changed the
    expressions around them.
    """
    return any(
        isinstance(n, Select) and n.dtype.is_int and is_integer_condition(n.cond) for n in walk(*roots)
    )


def _select_goals(semantics: Semantics, a: Expr, b: Expr, context: Context) -> list[_Goal] | None:
    """The goals for an `if` on either side: the same on both, or one case after the other."""
    if isinstance(a, Select) and isinstance(b, Select):
        if not _is_logical_question(a.cond, b.cond):
            if _difference(semantics, a.cond, b.cond, context) is None:
                return [(a.then, b.then, context), (a.orelse, b.orelse, context)]
            return _goals_by_choice(semantics, a, b, context)
        one_question = structurally_equal(a.cond, b.cond) and split_condition(a.cond) is None
        on_data = not (is_integer_condition(a.cond) and is_integer_condition(b.cond))
        if one_question or on_data and _equal_conditions(semantics, a.cond, b.cond, context):
            return [
                (a.then, b.then, context.also(a.cond)),
                (a.orelse, b.orelse, context.also(negation(a.cond))),
            ]
    return _goals_by_choice(semantics, a, b, context)


def _goals_by_choice(semantics: Semantics, a: Expr, b: Expr, context: Context) -> list[_Goal] | None:
    """The goals for the cases of one choice, each beside the other expression."""
    one = _first_choice(a, b)
    if semantics.can_inline(one.cond):
        inlined = replace(one, cond=semantics.inlined(one.cond))
        return [(inlined, b, context)] if one is a else [(a, inlined, context)]
    if is_integer_condition(one.cond):
        return _goals_by_case(a, b, context, split_condition(one))
    if context.implies(one.cond):
        return [(one.then, b, context)] if one is a else [(a, one.then, context)]
    cases = [(one.then, context.also(one.cond)), (one.orelse, context.also(negation(one.cond)))]
    return [(e, b, inside) if one is a else (a, e, inside) for e, inside in cases if not inside.is_empty]


def _first_choice(a: Expr, b: Expr) -> Select:
    """The choice to decide first: one by indices, since facts about data are then known for both
    sides.
    """
    choices = [e for e in (b, a) if isinstance(e, Select)]
    return next((e for e in choices if is_integer_condition(e.cond)), choices[0])


def _equal_conditions(semantics: Semantics, a: Expr, b: Expr, context: Context) -> bool:
    """True if two conditions on data are equivalent; isl knows comparisons of floats only if
    they are structurally equal.
    """
    return context.equivalent(a, b) or _difference(semantics, a, b, context) is None


def _inlined_goal(semantics: Semantics, a: Expr, b: Expr, context: Context) -> list[_Goal] | None:
    """The goal with the definition of `b` in its place: the kernel computes in place what the
    program reads.
    """
    d = semantics.inlinable_definition(b)
    if d is None:
        return None
    assert isinstance(b, Read), "what is defined is read"
    if set(d.element) == set(d.axes):
        return [(a, at_instance(d.value, d.element, b.indices), context)]  # type: ignore[arg-type]
    value = reindex(
        d.value, d.element, set(context.frame.parameters.variables) | semantics.tensors, b.indices
    )
    return None if value is None else [(a, value, context)]


def equality_test(proof: Proof, s: Statement) -> Callable[[Expr, Expr], bool]:
    """A predicate: true if two values of a statement's instances are proven to be equal."""

    def same(a: Expr, b: Expr) -> bool:
        try:
            require_equal(proof.semantics, a, b, instances(proof, s))
        except Disagreement:
            return False
        return True

    return same


def check_store(proof: Proof, tracer: Tracer, s: Statement) -> None:
    """Prove that a store computes the instance of the equation that it names.

    Raises:
        Refuted: it does not.
    """
    store = s.store
    context = instances(proof, s)
    with proof.obligation("values"):
        if (partial := partials_merged_by(proof.nest, s)) is not None:
            _check_merged_partials(proof, s, partial)
        elif store.equation >= 0:
            _check_equation(proof, s, tracer.value(s), context)
        else:
            tracer.value(s)
    with proof.obligation("bounds"):
        outside = context.counterexamples(proof.exists(s.indices, store.tensor))
        if outside is not None:
            raise Refuted("bounds", f"{store.tensor.name} is written outside its shape", s, s.frame, outside)


def check_call(proof: Proof, tracer: Tracer, call: ExternCall, readers: list[Statement]) -> None:
    """Prove that outside code is given the arguments of the program.

    Raises:
        Refuted: it is not.
    """
    unit = program_call(proof, call)
    with proof.obligation("values"):
        sizes = Context(
            proof, frame := Frame(proof.nest.parameters, ()), frame.universe().intersect_params(proof.facts)
        )
        for mine, theirs in zip((*call.inputs, *call.outputs), (*unit.args, *unit.targets)):
            if not all(map(sizes.equal, mine.shape, theirs.shape)):
                raise Refuted(
                    "values", f"{mine.name} is not the array that {call.name} takes in the program", None
                )
        for reader, wanted in zip(readers, unit.args):
            _check_equal(
                proof, reader, tracer.value(reader), Read(wanted, reader.indices), instances(proof, reader)
            )


def _check_equation(proof: Proof, s: Statement, value: Expr, context: Context) -> None:
    store = s.store
    d = proof.semantics.definitions.get(store.equation)
    if d is None:
        raise Refuted("values", f"the program has no equation {store.equation}", s)
    if store.role is PARTIAL_START:
        _check_part(s, d, context)
        return
    axes, binders = s.at[: len(d.axes)], s.at[len(d.axes) :]
    if len(axes) != len(d.axes):
        raise Refuted("values", "the store does not say which instance of its equation it computes", s)
    if outside_domain(proof, s, d) is not None:
        context = _restrict_to_domain(s, d, context)
    if store.is_start:
        if (
            d.reduction is None
            or not is_identity(_update(d), store.value)
            or store.tensor.dtype != d.reduction.dtype
        ):
            raise Refuted("values", "the reduction starts from another value", s)
        return
    if binders or store.update is not None and not d.is_fold:
        _check_update(proof, s, d, value, context)
        return
    if store.update != d.equation.update:
        raise Refuted(
            "values", f"the equation says {d.equation.update or '='}, the store {store.update or '='}", s
        )
    _check_in_domain(s, at_instance(d.stored, d.axes, axes), context)
    _check_equal(proof, s, value, at_instance(d.value, d.axes, axes), context)


def _update(d: Definition) -> str:
    """The operation of an equation's reduction; empty if it has none."""
    return UPDATES.get(d.reduction.op, "") if d.reduction is not None else ""


def _check_part(s: Statement, d: Definition, context: Context) -> None:
    """Prove that a partial result of a fold starts from the identity, and names the element of
    the target that it is a part of.
    """
    target = d.equation.target
    if (
        len(s.at) != target.rank
        or s.store.tensor.dtype != target.dtype
        or not is_neutral(d.equation.update, s.store.value)
    ):
        raise Refuted("values", "the parts of a fold start from another value", s)
    _check_in_domain(s, index_in_bounds(s.at, target.shape), context)


def _check_merged_partials(proof: Proof, s: Statement, partial: Buffer) -> None:
    """Prove that a partial result is folded by the operation of its equation; its instances are
    checked with the sum.
    """
    d = proof.semantics.definitions.get(s.store.equation)
    if (
        d is None
        or s.store.update != (d.equation.update if holds_fold_parts(partial) else _update(d))
        or (not holds_fold_parts(partial) and len(s.at) != len(d.axes))
    ):
        raise Refuted("values", "the store folds otherwise than its equation", s)


def _restrict_to_domain(s: Statement, d: Definition, context: Context) -> Context:
    """The instances that the equation has. The others must be of no element of its tensor: then
    nothing that the program says is taken from them, for that takes elements that exist, and totals
    of instances that exist.
    """
    axes, folds_a_term = (
        s.at[: len(d.axes)],
        s.store.update is not None and (not d.is_fold or len(s.at) > len(d.axes)),
    )
    domain = at_instance(d.domain, d.axes, axes)
    if not (s.store.is_start or folds_a_term):
        element = tuple(at_instance(i, d.axes, axes) for i in d.element)
        target = d.equation.target
        past = context.also(negation(domain))
        if not d.is_fold and target.value_range is None:
            past = past.also(index_in_bounds(element, target.shape))
        if not past.is_empty:
            raise Refuted("values", "the equation has no such instance", s, s.frame, past.set)
    return context.also(domain)


def _check_update(proof: Proof, s: Statement, d: Definition, value: Expr, context: Context) -> None:
    if s.store.update != _update(d):
        raise Refuted("values", "the store folds otherwise than its equation", s)
    if len(s.at) != len(d.axes) + len(d.binders):
        raise Refuted("values", "the store does not say which instance of its equation it computes", s)
    assert d.body is not None, "it has a reduction"
    names = (*d.axes, *d.binders)
    inside = at_instance(d.reduction_domain, names, s.at)
    outside = context.counterexamples(inside)
    if outside is not None:
        if s.store.update != "add" or not adds_nothing(value, context.also(negation(inside))):
            raise Refuted("values", "the equation has no such instance", s, s.frame, outside)
        context = context.also(inside)
    _check_equal(proof, s, value, at_instance(d.body, names, s.at), context)


def _check_in_domain(s: Statement, condition: Expr, context: Context) -> None:
    outside = context.counterexamples(condition)
    if outside is not None:
        raise Refuted("values", "the equation has no such instance", s, s.frame, outside)


def _check_equal(proof: Proof, s: Statement, found: Expr, wanted: Expr, context: Context) -> None:
    try:
        require_equal(proof.semantics, found, wanted, context)
    except Disagreement as e:
        raise Refuted("values", _message(e, proof.semantics), s, e.context.frame, e.context.set) from None


def _message(e: Disagreement, semantics: Semantics) -> str:
    return (
        f"the store computes `{_readable(e.found, semantics)}` where its equation says "
        f"`{_readable(e.wanted, semantics)}`"
    )


def _readable(e: Expr, semantics: Semantics) -> str:
    """Name totals after their targets, for a message."""

    def rule(node: Node) -> Node | None:
        if isinstance(node, Total):
            target = semantics.definitions[node.equation].equation.target
            return Read(
                Tensor(f"{target.name}_total", node.dtype, plain(*(index(1) for _ in node.axes))), node.axes
            )
        return None

    return show(rewrite(e, rule))
