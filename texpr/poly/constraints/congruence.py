"""Congruence closure: the equalities that follow from an equality of two elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from texpr.ir.expr import Read, Tensor
from texpr.poly.constraints.conversion import Converter
from texpr.poly.constraints.elimination import Row
from texpr.poly.constraints.linear_forms import Form, Key, Unknown, variable
from texpr.poly.constraints.solver import Question


def distinct_arguments(
    converter: Converter, at: Sequence[Form], to: Sequence[Form]
) -> list[tuple[Form, Form]]:
    """Further equalities where two elements are equal: rows of a `program.distinct_rows` tensor
    that nothing writes have distinct values.

    If an index is `p[a, i]` here and `p[b, j]` there, the two are equal, and so are `a` and `b`
    because they are indices themselves, then `i` equals `j`.
    """
    known = set(zip(at, to))
    found = []
    for i, j in zip(at, to):
        if len(i.terms) == len(j.terms) == 1 and i.constant == j.constant and i.terms[0][1] == j.terms[0][1]:
            mine, theirs = (_elements_of_distinct(converter, f.terms[0][0]) for f in (i, j))
            if (
                mine
                and theirs
                and mine[0] is theirs[0]
                and known.issuperset(zip(mine[1][:-1], theirs[1][:-1]))
            ):
                found.append((mine[1][-1], theirs[1][-1]))
    return found


def distinct_row_facts(
    converter: Converter, question: Question, one: int, other: int
) -> Iterator[list[list[Row]]]:
    """Facts about the elements of `program.distinct_rows` tensors that two copies of variables in a
    question name: two elements lie in different rows, have different values, or are the same
    element. One disjunction for each pair.
    """
    seen: set[tuple[Key, Key]] = set()
    while pairs := [
        pair for pair in product(question.unknowns(one), question.unknowns(other)) if pair not in seen
    ]:
        seen.update(pairs)
        for key, other_key in pairs:  # What stands in their indices is spoken of from now on.
            mine, theirs = _elements_of_distinct(converter, key), _elements_of_distinct(converter, other_key)
            if mine and theirs and mine[0] is theirs[0]:
                *rows, last = zip(mine[1], theirs[1])
                unequal = [
                    [row]
                    for a, b in (*rows, (variable(key), variable(other_key)))
                    for row in (
                        question.compare(a, one, b, other, gap=1),
                        question.compare(b, other, a, one, gap=1),
                    )
                ]
                yield [[question.compare(last[0], one, last[1], other)], *unequal]


def _elements_of_distinct(converter: Converter, key: Key) -> tuple[Tensor, list[Form]] | None:
    """The tensor and indices of a read from a distinct tensor, where each index is one form."""
    match key:
        case Unknown(node=Read(tensor, args, None)) if (
            tensor.distinct and tensor in converter.stable and args
        ):
            cases = [converter.values(a).cases for a in args]
            if all(
                len(c) == 1 for c in cases
            ):  # What is known of the forms is left out: they are equal whatever it is.
                return tensor, [c[0][1] for c in cases]
    return None
