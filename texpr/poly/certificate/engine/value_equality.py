"""A store computes what its equation says: two expressions in terms of the program, compared node by node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from texpr.ir.affine import Linear, linear
from texpr.ir.build import negation
from texpr.ir.dtypes import BOOL, I64
from texpr.ir.expr import And, Const, Expr, Mul, Node, Not, Or, Read, Select, Tensor, Var, index, plain
from texpr.ir.loop import ExternCall
from texpr.ir.printing.expr import show
from texpr.ir.traverse import children, rewrite, walk
from texpr.poly.certificate.engine.case_split import answered, integral, question
from texpr.poly.certificate.engine.isl_frame import Frame, alike, same_node
from texpr.poly.certificate.engine.obligations import Context, Proof, Refuted, beyond, instances
from texpr.poly.certificate.engine.program_semantics import (
    UPDATES,
    Definition,
    Meaning,
    Total,
    at_instance,
    is_identity,
    is_neutral,
    within,
)
from texpr.poly.certificate.engine.statements import Buffer, Statement, joined, of_parts
from texpr.poly.certificate.engine.value_tracing import Tracer, called, carried_over
from texpr.poly.certificate.engine.zero_terms import adds_nothing

_Item = tuple[Expr, Expr, Context]


class Disagreement(Exception):
    """Two expressions that are not the same for these instances."""

    def __init__(self, found: Expr, wanted: Expr, context: Context) -> None:
        super().__init__()
        self.found, self.wanted, self.context = found, wanted, context


def agree(meaning: Meaning, found: Expr, wanted: Expr, context: Context) -> None:
    """Show that two expressions have one value.

    Raises:
        Disagreement: where they do not, as far as can be told.
    """
    difference = _difference(meaning, found, wanted, context)
    if difference is not None and not (found.dtype.is_int and _same_spelled_out(meaning, found, wanted, context)):
        raise difference


def _difference(meaning: Meaning, found: Expr, wanted: Expr, context: Context) -> Disagreement | None:
    """The first place where two expressions differ, part by part."""
    stack: list[_Item] = [(found, wanted, context)]
    seen: dict[tuple[int, int, int], _Item] = {}  # With the objects, whose numbers others would get.
    while stack:
        item = stack.pop()
        a, b, here = item
        key = id(a), id(b), id(here)
        if a is b or key in seen:
            continue
        seen[key] = item
        further = _steps(meaning, a, b, here)
        if further is None:
            if here.is_empty:
                continue
            return Disagreement(a, b, here)
        stack += further
    return None


MOST_NODES = 4000
"""Of an expression in which definitions stand for what is read."""


def _same_spelled_out(meaning: Meaning, found: Expr, wanted: Expr, context: Context) -> bool:
    """Whether arithmetic of integers folds both to one expression, in every cell, once all definitions stand for what is read."""
    stack: list[_Item] = [(found, wanted, context)]
    while stack:
        a, b, here = stack.pop()
        condition = question(a, b)
        parts = None if condition is None or meaning.reads_plain(condition) else _by_cases(a, b, here, condition)
        if parts is None and (meaning.reads_plain(a) or meaning.reads_plain(b)):
            parts = [(meaning.spelled(a), meaning.spelled(b), here)]
        if sum(1 for _ in walk(a, b)) > MOST_NODES:
            return False
        if parts is not None:
            stack += parts
        elif _difference(meaning, a, b, here) is not None:
            return False
    return True


def _steps(meaning: Meaning, a: Expr, b: Expr, here: Context) -> list[_Item] | None:
    """What remains to be shown for `a` and `b`; None if they differ."""
    if a.dtype != b.dtype:
        return None
    if a.dtype == I64 and (_termwise(meaning, a, b, here) or _linear(a, b) and here.equal(a, b)):
        return []
    if a.dtype == I64 and (meaning.reads_plain(a) or meaning.reads_plain(b)) and (
            _of_the_same(meaning, a, b, here) or here.equal(meaning.spelled_out(a), meaning.spelled_out(b))):
        return []
    if a.dtype == BOOL and _logical(a, b) and here.equivalent(a, b):
        return []
    if isinstance(a, Select) or isinstance(b, Select):
        return _chosen(meaning, a, b, here)
    if same_node(a, b) and (children(a) or isinstance(a, Read | Total)) and not (a.dtype.is_int and _conditional(a, b)):
        return _below(a, b, here)
    if isinstance(a, Const) and isinstance(b, Const):
        return [] if repr(a.value) == repr(b.value) else None
    return _written_out(meaning, a, b, here) or (_by_cases(a, b, here, question(a, b)) if a.dtype.is_int else None)


def _of_the_same(meaning: Meaning, a: Expr, b: Expr, here: Context) -> bool:
    """Whether both do the same with equal parts: definitions need not stand for what is read then. Depth is that of the expressions."""
    parts = bool(children(a)) and same_node(a, b) and not isinstance(a, Read)
    return parts and all(_difference(meaning, x, y, here) is None for x, y, here in _below(a, b, here))


def _termwise(meaning: Meaning, a: Expr, b: Expr, here: Context) -> bool:
    """Whether two sums of data have the same terms. Depth is that of data in indices of data."""
    if alike(a, b):
        return True
    mine, other = linear(a), linear(b)
    terms = [(t, c) for t, c in mine.terms if not isinstance(t, Var)]
    left = [(t, c) for t, c in other.terms if not isinstance(t, Var)]
    if len(terms) != len(left) or not len(terms) or (len(mine.terms), len(other.terms)) == (1, 1) or question(a, b) is not None:
        return False
    for t, c in terms:
        same = next((k for k, (u, d) in enumerate(left) if c == d and _difference(meaning, t, u, here) is None), None)
        if same is None:
            return False
        del left[same]
    rest = (Linear(tuple((t, c) for t, c in form.terms if isinstance(t, Var)), form.constant).expr() for form in (mine, other))
    return here.equal(*rest)


def _linear(*roots: Expr) -> bool:
    """Whether isl is to compare two integers: they are indices, or what choices have left of data is not multiplied with data."""
    nodes = list(walk(*roots))
    return not any(isinstance(n, Read) for n in nodes) or question(*roots) is None and not any(
        isinstance(n, Mul) and not isinstance(n.rhs, Const) for n in nodes)


def _by_cases(a: Expr, b: Expr, here: Context, condition: Expr | None) -> list[_Item] | None:
    """Both sides where a condition holds, and where it does not."""
    if condition is None:
        return None
    if (truth := _known(condition, here)) is not None:
        return [(answered(a, condition, truth), answered(b, condition, truth), here)]
    cases = [(holds, inside) for holds, inside in zip((True, False), here.halves(condition)) if inside is not None]
    return [(answered(a, condition, holds), answered(b, condition, holds), inside) for holds, inside in cases]


def _known(condition: Expr, here: Context) -> bool | None:
    """The truth of a condition on data, if the same is asked of the same data already, maybe at indices that are equal here alone."""
    if not any(isinstance(n, Read) for n in walk(condition)):
        return None
    for given in here.given():
        for asked, truth in ((condition, True), (negation(condition), False)):
            if _is_one(given, asked, here):
                return truth
    return None


def _is_one(a: Node, b: Node, here: Context) -> bool:
    """True if two expressions do the same with the same data at indices that are equal here."""
    stack = [(a, b)]
    while stack:
        x, y = stack.pop()
        if x is y:
            continue
        if isinstance(x, Expr) and isinstance(y, Expr) and x.dtype == y.dtype == I64 and _linear(x, y) and here.equal(x, y):
            continue
        if not same_node(x, y) or not children(x) and not alike(x, y):  # type: ignore[arg-type]
            return False
        stack += zip(children(x), children(y), strict=True)
    return True


def _below(a: Node, b: Node, here: Context) -> list[_Item]:
    return [(x, y, here) for x, y in zip(children(a), children(b), strict=True)]  # type: ignore[misc]


def _logical(a: Expr, b: Expr) -> bool:
    """Whether isl is to compare two conditions: they are on integers, or put together of several."""
    joined_ones = isinstance(a, And | Or | Not | Const | Select) or isinstance(b, And | Or | Not | Const | Select)
    return integral(a) and integral(b) or joined_ones


def _conditional(*roots: Expr) -> bool:
    """Whether integers are chosen by conditions on integers, so that folding may have changed what is around them."""
    return any(isinstance(n, Select) and n.dtype.is_int and integral(n.cond) for n in walk(*roots))


def _chosen(meaning: Meaning, a: Expr, b: Expr, here: Context) -> list[_Item] | None:
    """An `if` on either side: the same on both, or one case after the other."""
    if isinstance(a, Select) and isinstance(b, Select):
        if not _logical(a.cond, b.cond):
            if _difference(meaning, a.cond, b.cond, here) is None:
                return [(a.then, b.then, here), (a.orelse, b.orelse, here)]
            return _one_by_one(meaning, a, b, here)
        one_question = alike(a.cond, b.cond) and question(a.cond) is None
        on_data = not (integral(a.cond) and integral(b.cond))
        if one_question or on_data and _same_condition(meaning, a.cond, b.cond, here):
            return [(a.then, b.then, here.also(a.cond)), (a.orelse, b.orelse, here.also(negation(a.cond)))]
    return _one_by_one(meaning, a, b, here)


def _one_by_one(meaning: Meaning, a: Expr, b: Expr, here: Context) -> list[_Item] | None:
    """The cases of one choice, each beside the other expression as it is."""
    one = _first_choice(a, b)
    if meaning.reads_plain(one.cond):
        spelled = replace(one, cond=meaning.spelled(one.cond))
        return [(spelled, b, here)] if one is a else [(a, spelled, here)]
    if integral(one.cond):
        return _by_cases(a, b, here, question(one))
    if here.implies(one.cond):
        return [(one.then, b, here)] if one is a else [(a, one.then, here)]
    cases = [(one.then, here.also(one.cond)), (one.orelse, here.also(negation(one.cond)))]
    return [(e, b, inside) if one is a else (a, e, inside) for e, inside in cases if not inside.is_empty]


def _first_choice(a: Expr, b: Expr) -> Select:
    """The one to decide first: that by indices, since what is then known of data is known of both."""
    choices = [e for e in (b, a) if isinstance(e, Select)]
    return next((e for e in choices if integral(e.cond)), choices[0])


def _same_condition(meaning: Meaning, a: Expr, b: Expr, here: Context) -> bool:
    """Whether two conditions on data hold alike: isl takes comparisons of floats for unknown, each for itself unless written alike."""
    return here.equivalent(a, b) or _difference(meaning, a, b, here) is None


def _written_out(meaning: Meaning, a: Expr, b: Expr, here: Context) -> list[_Item] | None:
    """The kernel computes in place what the program reads: the definition stands for it."""
    d = meaning.plain_definition(b)
    if d is None:
        return None
    assert isinstance(b, Read), "what is defined is read"
    if set(d.element) == set(d.axes):
        return [(a, at_instance(d.value, d.element, b.indices), here)]  # type: ignore[arg-type]
    value = carried_over(d.value, d.element, set(here.frame.parameters.variables) | meaning.tensors, b.indices)
    return None if value is None else [(a, value, here)]


def agrees(proof: Proof, s: Statement) -> Callable[[Expr, Expr], bool]:
    """Whether two values of a statement's instances are the same."""

    def same(a: Expr, b: Expr) -> bool:
        try:
            agree(proof.meaning, a, b, instances(proof, s))
        except Disagreement:
            return False
        return True

    return same


def check_store(proof: Proof, tracer: Tracer, s: Statement) -> None:
    """A store computes the instance of the equation that it says it does.

    Raises:
        Refuted: it does not.
    """
    store = s.store
    context = instances(proof, s)
    with proof.asking("values"):
        if (partial := joined(proof.nest, s)) is not None:
            _check_joined(proof, s, partial)
        elif store.equation >= 0:
            _check_equation(proof, s, tracer.value(s), context)
        else:
            tracer.value(s)
    with proof.asking("bounds"):
        outside = context.failing(proof.exists(s.indices, store.tensor))
        if outside is not None:
            raise Refuted("bounds", f"{store.tensor.name} is written outside its shape", s, s.frame, outside)


def check_call(proof: Proof, tracer: Tracer, call: ExternCall, readers: list[Statement]) -> None:
    """Outside code is given what the program gives it.

    Raises:
        Refuted: it is not.
    """
    unit = called(proof, call)
    with proof.asking("values"):
        sizes = Context(proof, frame := Frame(proof.nest.parameters, ()), frame.universe().intersect_params(proof.facts))
        for mine, theirs in zip((*call.inputs, *call.outputs), (*unit.args, *unit.targets)):
            if not all(map(sizes.equal, mine.shape, theirs.shape)):
                raise Refuted("values", f"{mine.name} is not the array that {call.name} takes in the program", None)
        for reader, wanted in zip(readers, unit.args):
            _agree(proof, reader, tracer.value(reader), Read(wanted, reader.indices), instances(proof, reader))


def _check_equation(proof: Proof, s: Statement, value: Expr, context: Context) -> None:
    store = s.store
    d = proof.meaning.definitions.get(store.equation)
    if d is None:
        raise Refuted("values", f"the program has no equation {store.equation}", s)
    if store.part:
        _check_part(s, d, context)
        return
    axes, binders = s.at[: len(d.axes)], s.at[len(d.axes) :]
    if len(axes) != len(d.axes):
        raise Refuted("values", "the store does not say which instance of its equation it computes", s)
    if beyond(proof, s, d) is not None:
        context = _past_the_end(s, d, context)
    if store.start:
        if d.reduction is None or not is_identity(_update(d), store.value) or store.tensor.dtype != d.reduction.dtype:
            raise Refuted("values", "the reduction starts from another value", s)
        return
    if binders or store.update is not None and not d.is_fold:
        _check_update(proof, s, d, value, context)
        return
    if store.update != d.equation.update:
        raise Refuted("values", f"the equation says {d.equation.update or '='}, the store {store.update or '='}", s)
    _inside(s, at_instance(d.stored, d.axes, axes), context)
    _agree(proof, s, value, at_instance(d.value, d.axes, axes), context)


def _update(d: Definition) -> str:
    """How the terms of an equation's reduction are folded in; nothing if it has none."""
    return UPDATES.get(d.reduction.op, "") if d.reduction is not None else ""


def _check_part(s: Statement, d: Definition, context: Context) -> None:
    """A partial result of a fold begins as nothing, and says which element of the target it is a part of."""
    target = d.equation.target
    if len(s.at) != target.rank or s.store.tensor.dtype != target.dtype or not is_neutral(d.equation.update, s.store.value):
        raise Refuted("values", "the parts of a fold start from another value", s)
    _inside(s, within(s.at, target.shape), context)


def _check_joined(proof: Proof, s: Statement, partial: Buffer) -> None:
    """A partial result is folded into another one; which instances it stands for is told with the sum."""
    d = proof.meaning.definitions.get(s.store.equation)
    if d is None or s.store.update != (d.equation.update if of_parts(partial) else _update(d)) or (
            not of_parts(partial) and len(s.at) != len(d.axes)):
        raise Refuted("values", "the store folds otherwise than its equation", s)


def _past_the_end(s: Statement, d: Definition, context: Context) -> Context:
    """The instances that the equation has. The others must be of no element of its tensor: then nothing that the program says is taken
    from them, for that takes elements that exist, and totals of instances that exist.
    """
    axes, folds_a_term = s.at[: len(d.axes)], s.store.update is not None and (not d.is_fold or len(s.at) > len(d.axes))
    domain = at_instance(d.domain, d.axes, axes)
    if not (s.store.start or folds_a_term):
        element = tuple(at_instance(i, d.axes, axes) for i in d.element)
        target = d.equation.target
        past = context.also(negation(domain))
        if not d.is_fold and target.value_range is None:
            past = past.also(within(element, target.shape))
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
    inside = at_instance(d.inside, names, s.at)
    outside = context.failing(inside)
    if outside is not None:
        if s.store.update != "add" or not adds_nothing(value, context.also(negation(inside))):
            raise Refuted("values", "the equation has no such instance", s, s.frame, outside)
        context = context.also(inside)
    _agree(proof, s, value, at_instance(d.body, names, s.at), context)


def _inside(s: Statement, condition: Expr, context: Context) -> None:
    outside = context.failing(condition)
    if outside is not None:
        raise Refuted("values", "the equation has no such instance", s, s.frame, outside)


def _agree(proof: Proof, s: Statement, found: Expr, wanted: Expr, context: Context) -> None:
    try:
        agree(proof.meaning, found, wanted, context)
    except Disagreement as e:
        raise Refuted("values", _said(e, proof.meaning), s, e.context.frame, e.context.set) from None


def _said(e: Disagreement, meaning: Meaning) -> str:
    return f"the store computes `{_shown(e.found, meaning)}` where its equation says `{_shown(e.wanted, meaning)}`"


def _shown(e: Expr, meaning: Meaning) -> str:
    """An expression with totals named after what they are totals of."""

    def rule(node: Node) -> Node | None:
        if isinstance(node, Total):
            target = meaning.definitions[node.equation].equation.target
            return Read(Tensor(f"{target.name}_total", node.dtype, plain(*(index(1) for _ in node.axes))), node.axes)
        return None

    return show(rewrite(e, rule))
