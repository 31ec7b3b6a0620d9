"""Proofs that reads are in bounds. Indices that are data are in bounds where the program reads
there, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from texpr.ir.build import compare, conjunction, negation
from texpr.ir.expr import And, Compare, Expr, Or, Read, Select, Var
from texpr.ir.traverse import children, variables, walk
from texpr.poly.certificate.engine.case_split import is_integer_condition
from texpr.poly.certificate.engine.isl_frame import structurally_equal
from texpr.poly.certificate.engine.obligations import Proof, Refuted, conjuncts, instances, outside_domain
from texpr.poly.certificate.engine.program_semantics import Definition, at_instance, index_in_bounds
from texpr.poly.certificate.engine.statement_extraction import Statement

When = Sequence[tuple[Expr, bool]]
"""Conditions, and whether they hold."""


def check_in_bounds(proof: Proof, s: Statement, read: Read, when: When) -> list[Expr]:
    """Prove that a read is of an element that exists.

    Returns:
        What had to be known of data for that.
    Raises:
        Refuted: it is not, or that is not proven.
    """
    conditions = [c if holds else negation(c) for c, holds in when]
    exists = proof.exists(read.indices, read.tensor)

    def failing(*more: Expr) -> object:
        inside = instances(proof, s).where(*conditions, *more)
        return next((left for each in inside if (left := each.counterexamples(exists)) is not None), None)

    failing_instances = failing()
    if failing_instances is None:
        return []
    if _read_by_program(proof, s, read):
        return [exists]
    known = list(_facts_of_program(proof, s, conditions))
    if not known or failing(*known) is not None:
        raise Refuted(
            "bounds",
            f"{read.tensor.name} is read outside its shape",
            s,
            s.frame,
            failing_instances,  # type: ignore[arg-type]
        )
    return known


def _equation(proof: Proof, s: Statement) -> tuple[Definition, tuple[Var, ...]] | None:
    """The equation that a statement computes instances of, and its indices; None if it has
    others too, or inner loops decide.
    """
    d = proof.semantics.definitions.get(s.store.equation)
    known = {*s.frame.variables, *proof.nest.parameters.variables}
    if (
        d is None
        or len(s.at) < len(d.axes)
        or not variables(*s.at[: len(d.axes)]) <= known
        or outside_domain(proof, s, d) is not None
    ):
        return None
    return d, (*d.axes, *d.binders)[: len(s.at)]


def _read_by_program(proof: Proof, s: Statement, read: Read) -> bool:
    """True if the program reads this element too, so that it exists: for indices that are data."""
    tensor = proof.program_tensors.get(read.tensor)
    data = {v for _, v in (*s.frame.atoms, *s.frame.parameters.terms)}
    if (
        tensor is None
        or not variables(*(s.frame.abstract(i) for i in read.indices)) & data
        or (found := _equation(proof, s)) is None
    ):
        return False
    d, names = found
    parts = (d.value, *([d.body] if d.body is not None else []), d.reduction_domain, d.domain, *d.element)
    theirs = [n for n in walk(*parts) if isinstance(n, Read) and n.tensor is tensor]
    mine, inlined = Read(tensor, read.indices), proof.semantics.fully_inlined
    reads = [at_instance(n, names, s.at) for n in theirs]
    return any(structurally_equal(mine, n) or structurally_equal(inlined(mine), inlined(n)) for n in reads)


def written_by_program(proof: Proof, s: Statement) -> Expr | None:
    """The facts about data that follow from the program's write to an existing element; None for
    instances that it may not have.
    """
    if (found := _equation(proof, s)) is None:
        return None
    d, names = found
    inlined = proof.semantics.fully_inlined
    theirs = [at_instance(i, names, s.at) for i in d.element]
    same = [
        compare("==", i, n) for i, n in zip(s.indices, theirs) if structurally_equal(inlined(i), inlined(n))
    ]
    return conjunction(index_in_bounds(theirs, d.equation.target.shape), *same)


def _facts_of_program(proof: Proof, s: Statement, conditions: Sequence[Expr]) -> Iterator[Expr]:
    """Facts about data that the program uses as indices under the same conditions: those elements
    exist. Values that are computed of them may stand in their place.
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
            asked = [
                [at_instance(c if holds else negation(c), names, s.at) for c, holds in each]
                for each in contexts.get(id(n), ())
            ]
            if any(
                all(any(structurally_equal(c, mine) for mine in conditions) for c in each) for each in asked
            ):
                yield index_in_bounds([at_instance(i, names, s.at) for i in n.indices], n.tensor.shape)


def integral_part(condition: Expr, holds: bool) -> list[tuple[Expr, bool]]:
    """The conjuncts of a condition, or of its opposite, that compare integers; data may choose
    these integers.
    """
    if holds:
        return [(c, True) for c in conjuncts(condition) if _compares_integers(c)]
    return [(condition, False)] if _compares_integers(condition) else []


def _compares_integers(e: Expr) -> bool:
    return isinstance(e, Compare) and e.lhs.dtype.is_int or is_integer_condition(e)


def contexts_of(e: Expr) -> dict[int, list[tuple[tuple[Expr, bool], ...]]]:
    """For each read, the conditions under which it is evaluated, for every path to it."""
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
            stack += [
                (node.orelse, (*context, (node.cond, False))),
                (node.then, (*context, (node.cond, True))),
                (node.cond, context),
            ]
        else:
            stack += [(c, context) for c in children(node)]  # type: ignore[misc]
    return found
