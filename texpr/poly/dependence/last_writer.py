"""Last writers: the instance of a write whose value a read finds, solved for in terms of the
instance that reads.

A guess is made from the indices alone, loops that both share being equal, and then checked: it
touches the same element, it runs whenever the read does, and it runs before. A guess that holds is
a proof, without a question about all instances; no guess is none.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from texpr.poly.constraints.linear_forms import (
    Conjunction,
    Constraint,
    Form,
    Key,
    Unknown,
    defining,
    variable,
)
from texpr.poly.constraints.solver import Assumptions
from texpr.poly.dependence.kernel_model import Access, Nest, Statement


def is_written_before(nest: Nest, reader: Statement, read: Access, writer: Statement, write: Access) -> bool:
    """True if each instance of a read is seen to come after a write to its element, in the same
    iteration of all loops that both share.
    """
    sure = write.exact and writer.order < reader.order
    return sure and all(
        any(_case_is_written_before(nest, reader, case, writer, other) for other in write.cases)
        for case in read.cases
    )


def _case_is_written_before(
    nest: Nest,
    reader: Statement,
    case: tuple[Conjunction, tuple[Form, ...]],
    writer: Statement,
    other: tuple[Conjunction, tuple[Form, ...]],
) -> bool:
    (reads, at), (writes, to) = case, other
    if any(
        isinstance(k, Unknown) and not k.shared for f in (*to, *(c.form for c in writes)) for k, _ in f.terms
    ):
        return False
    values = writer_instance(
        at, writer, to, {n.var: variable(n.var) for n in reader.loops[: reader.common(writer)]}
    )
    if values is None:
        return False
    quotients = {
        k: None for c in writes for k, _ in c.form.terms if isinstance(k, Unknown) and k.of is not None
    }
    given = Assumptions(nest.converter, nest.facts + reads + tuple(c for k in quotients for c in defining(k)))
    known = set(given.piece)
    return all(
        given.implies(wanted)
        for c in writes
        if (wanted := Constraint(c.form.over(values), c.equality)) not in known
    )


def writer_instance(
    at: Sequence[Form],
    writer: Statement,
    to: Sequence[Form],
    known: Mapping[Key, Form],
    otherwise: Mapping[Key, Form] | None = None,
) -> dict[Key, Form] | None:
    """The loops of the instance that writes the element `at`, where `to` is what the writer writes;
    None where they are not seen.

    Args:
        known: loops whose values are given.
        otherwise: the values of loops of which the element says nothing.
    """
    values = dict(known)
    for i, j in zip(at, to):
        _solve(i, j, values, {n.var for n in writer.loops} - values.keys())
    values = {**(otherwise or {}), **values}
    found = len(values) == len(writer.loops) and all(
        _is_zero(i.plus(j.over(values), -1)) for i, j in zip(at, to)
    )
    return values if found else None


def _solve(i: Form, j: Form, values: dict[Key, Form], unknown: Container[Key]) -> None:
    """Values for the unknown loops in `j` with which it is `i`: the term of the same coefficient
    of each but one, which is the rest.
    """
    rest = i.plus(Form(tuple((k, c) for k, c in j.terms if k not in unknown), j.constant).over(values), -1)
    open_terms = [(k, c) for k, c in j.terms if k in unknown]
    for k, c in sorted(open_terms, key=lambda term: -abs(term[1])):
        if c in (1, -1) and len(open_terms) == 1:
            values[k] = rest.times(c)
            return
        match = next((key for key, n in rest.terms if n == c), None)
        if match is None:
            return
        values[k] = variable(match)
        rest = rest.plus(variable(match), -c)
        open_terms.remove((k, c))


def _is_zero(form: Form) -> bool:
    return not form.terms and form.constant == 0
