"""Reads of elements that exist. Where data says which, the program knows: it reads there, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from texpr.ir.build import compare, conjunction, negation
from texpr.ir.expr import And, Compare, Expr, Or, Read, Select, Var
from texpr.ir.traverse import children, variables, walk
from texpr.poly.certificate.engine.case_split import integral
from texpr.poly.certificate.engine.isl_frame import alike
from texpr.poly.certificate.engine.obligations import Proof, Refuted, beyond, conjuncts, instances
from texpr.poly.certificate.engine.program_semantics import Definition, at_instance, within
from texpr.poly.certificate.engine.statements import Statement

When = Sequence[tuple[Expr, bool]]
"""Conditions, and whether they hold."""


def check_inside(proof: Proof, s: Statement, read: Read, when: When) -> list[Expr]:
    """A read is of an element that exists.

    Returns:
        What had to be known of data for that.
    Raises:
        Refuted: it is not, or that is not proven.
    """
    conditions = [c if holds else negation(c) for c, holds in when]
    exists = proof.exists(read.indices, read.tensor)

    def failing(*more: Expr) -> object:
        inside = instances(proof, s).where(*conditions, *more)
        return next((left for each in inside if (left := each.failing(exists)) is not None), None)

    outside = failing()
    if outside is None:
        return []
    if _as_in_program(proof, s, read):
        return [exists]
    known = list(_known(proof, s, conditions))
    if not known or failing(*known) is not None:
        raise Refuted("bounds", f"{read.tensor.name} is read outside its shape", s, s.frame, outside)  # type: ignore[arg-type]
    return known


def _equation(proof: Proof, s: Statement) -> tuple[Definition, tuple[Var, ...]] | None:
    """The equation that a statement computes instances of, and its indices; None if it has others too, or loops inside say which."""
    d = proof.meaning.definitions.get(s.store.equation)
    known = {*s.frame.variables, *proof.nest.parameters.variables}
    if d is None or len(s.at) < len(d.axes) or not variables(*s.at[: len(d.axes)]) <= known or beyond(proof, s, d) is not None:
        return None
    return d, (*d.axes, *d.binders)[: len(s.at)]


def _as_in_program(proof: Proof, s: Statement, read: Read) -> bool:
    """The program reads this element too, and nothing outside: for indices that are data, of which only the program knows more."""
    named = proof.named.get(read.tensor)
    data = {v for _, v in (*s.frame.atoms, *s.frame.parameters.terms)}
    if named is None or not variables(*(s.frame.plain(i) for i in read.indices)) & data or (found := _equation(proof, s)) is None:
        return False
    d, names = found
    parts = (d.value, *([d.body] if d.body is not None else []), d.inside, d.domain, *d.element)
    theirs = [n for n in walk(*parts) if isinstance(n, Read) and n.tensor is named]
    mine, spelled = Read(named, read.indices), proof.meaning.spelled_out
    return any(alike(mine, n) or alike(spelled(mine), spelled(n)) for n in (at_instance(n, names, s.at) for n in theirs))


def written_by_program(proof: Proof, s: Statement) -> Expr | None:
    """What holds of data since the program writes to an element that exists; None for instances that it may not have."""
    if (found := _equation(proof, s)) is None:
        return None
    d, names = found
    spelled = proof.meaning.spelled_out
    theirs = [at_instance(i, names, s.at) for i in d.element]
    same = [compare("==", i, n) for i, n in zip(s.indices, theirs) if alike(spelled(i), spelled(n))]
    return conjunction(within(theirs, d.equation.target.shape), *same)


def _known(proof: Proof, s: Statement, conditions: Sequence[Expr]) -> Iterator[Expr]:
    """What holds of data by which the program reads other tensors under the same conditions: those elements exist. What is computed of them
    may stand in their place.
    """
    if (found := _equation(proof, s)) is None:
        return
    d, names = found
    contexts = contexts_of(d.value)
    for n in walk(d.value):
        if not isinstance(n, Read):
            continue
        by_data = any(isinstance(m, Read) for i in n.indices for m in walk(i))
        if by_data and variables(*n.indices) <= {*names, *proof.nest.parameters.variables}:
            asked = [[at_instance(c if holds else negation(c), names, s.at) for c, holds in each] for each in contexts.get(id(n), ())]
            if any(all(any(alike(c, mine) for mine in conditions) for c in each) for each in asked):
                yield within([at_instance(i, names, s.at) for i in n.indices], n.tensor.shape)


def integral_part(condition: Expr, holds: bool) -> list[tuple[Expr, bool]]:
    """The conjuncts of a condition, or of its opposite, that compare integers; data may choose these integers."""
    if holds:
        return [(c, True) for c in conjuncts(condition) if _compares_integers(c)]
    return [(condition, False)] if _compares_integers(condition) else []


def _compares_integers(e: Expr) -> bool:
    return isinstance(e, Compare) and e.lhs.dtype.is_int or integral(e)


def contexts_of(e: Expr) -> dict[int, list[tuple[tuple[Expr, bool], ...]]]:
    """For each read the conditions under which it happens, for every way in which it is reached."""
    found: dict[int, list[tuple[tuple[Expr, bool], ...]]] = {}
    stack: list[tuple[Expr, tuple[tuple[Expr, bool], ...]]] = [(e, ())]
    seen: dict[tuple[int, int], object] = {}  # With the contexts, whose numbers others would get.
    while stack:
        node, context = stack.pop()
        if (id(node), id(context)) in seen:
            continue
        seen[id(node), id(context)] = context
        if isinstance(node, Read):
            found.setdefault(id(node), []).append(context)
        if isinstance(node, And | Or):
            stack += [(node.rhs, (*context, (node.lhs, isinstance(node, And)))), (node.lhs, context)]
        elif isinstance(node, Select):
            stack += [(node.orelse, (*context, (node.cond, False))), (node.then, (*context, (node.cond, True))), (node.cond, context)]
        else:
            stack += [(c, context) for c in children(node)]  # type: ignore[misc]
    return found
