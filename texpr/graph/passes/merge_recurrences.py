"""Recurrences that are written twice are computed once.

A gradient computes what it needs of the operator anew. Equal definitions are found one by one
(`without_duplicates`), but tensors of a recurrence are defined by each other. Here two of them are
taken to be equal, so are those that their equations read in the same places, and so on; where all
equations agree then, they are: a recurrence has one solution.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from texpr.autodiff.cleanup.simplify import definitions, renamed
from texpr.ir.expr import Read, Tensor
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import equal, walk

Equations = list[Equation | Invoke]
_Made = Mapping[Tensor, Sequence[Equation]]


def merge_recurrences(equations: Equations, outputs: Collection[Tensor]) -> Equations:
    """Of recurrences that differ in names alone, one; nothing becomes of `outputs`."""
    while True:
        equal_tensors = _first_equal_tensors(equations, outputs)
        if not equal_tensors:
            return equations
        left = [e for e in equations if isinstance(e, Invoke) or e.target not in equal_tensors]
        equations = renamed(left, equal_tensors)


def _first_equal_tensors(equations: Equations, outputs: Collection[Tensor]) -> dict[Tensor, Tensor]:
    """For the tensors of a recurrence, those of an earlier one that are equal to them; nothing
    where there is none.
    """
    made: dict[Tensor, list[Equation]] = {}
    for e in equations:
        if isinstance(e, Equation):
            made.setdefault(e.target, []).append(e)
    whole = definitions(equations)
    parts = [t for t in made if t not in whole]
    for k, later in enumerate(parts):
        for earlier in parts[:k]:
            found = _equal_tensors(earlier, later, made)
            if found is not None and not any(t in outputs for t in found):
                return found
    return {}


def _equal_tensors(earlier: Tensor, later: Tensor, made: _Made) -> dict[Tensor, Tensor] | None:
    """Tensors that are equal if these two are: the later ones by the earlier ones; None where their
    equations differ.
    """
    names = {later: earlier}
    waiting = [(earlier, later)]
    while waiting:
        a, b = waiting.pop()
        if (
            a.dtype != b.dtype
            or not equal(a.shape, b.shape)
            or len(made.get(a, ())) != len(made.get(b, ()))
            or a not in made
        ):
            return None
        for one, other in zip(made[a], made[b]):
            reads, others = ([n.tensor for n in walk(e) if isinstance(n, Read)] for e in (one, other))
            if len(reads) != len(others):
                return None
            for mine, theirs in zip(reads, others):
                if names.get(theirs, mine) is not mine:
                    return None
                if theirs is not mine and theirs not in names:
                    names[theirs] = mine
                    waiting.append((mine, theirs))
    apart = not names.keys() & set(names.values())
    return names if apart and all(_agree(made[a], made[b], names) for b, a in names.items()) else None


def _agree(ones: Sequence[Equation], others: Sequence[Equation], names: dict[Tensor, Tensor]) -> bool:
    return all(equal(one, other) for one, other in zip(ones, renamed(others, names)))
