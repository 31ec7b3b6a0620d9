"""Attention among equations: scores, their maxima, exponentials, and sums that these weight, where
the sums alone are read by others.

It is one kernel, so that scores need not be kept: a matrix of them for each head is most of what
the equations would move.

Source: Dao et al., FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness,
NeurIPS 2022.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from texpr.autodiff.cleanup.simplify import reads
from texpr.graph.fusion.producer_consumer import is_contraction
from texpr.ir.expr import Mul, Read, Reduce, Tensor
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import walk

Steps = Sequence[Equation | Invoke]
Users = Mapping[Tensor, Sequence[Equation | Invoke]]
MOST_EQUATIONS = 8
"""Between scores and weighted sums, at most."""


def find_attentions(equations: Steps, outputs: Collection[Tensor]) -> list[list[Equation]]:
    """The equations of each, producers first."""
    users: dict[Tensor, list[Equation | Invoke]] = {}
    for e in equations:
        for t in reads(e):
            users.setdefault(t, []).append(e)
    made = {e.target: e for e in equations if isinstance(e, Equation) and e.update is None}
    starts = dict.fromkeys(s for e in equations if (s := _scores(e, made)) is not None)
    place = {e: k for k, e in enumerate(equations)}
    found = [_attention(start, users, outputs) for start in starts]
    return [sorted(each, key=place.__getitem__) for each in found if each]


def _scores(maximum: Equation | Invoke, made: Mapping[Tensor, Equation]) -> Equation | None:
    """The equation of the scores of which these are the largest of each row; None if it is no
    such equation.
    """
    if isinstance(maximum, Invoke) or not isinstance(value := maximum.value, Reduce) or value.op != "max":
        return None
    read = _read(value)
    scores = made.get(read[0]) if len(read) == 1 == len(value.axes) else None
    return scores if scores is not None and is_contraction(scores) else None


def _attention(scores: Equation, users: Users, outputs: Collection[Tensor]) -> list[Equation]:
    """All that is computed of scores up to the sums that they weight; empty where others read
    some of it too.
    """
    inside, waiting, ends = [scores], [scores], list[Equation]()
    while waiting:
        made = waiting.pop()
        if made.target in outputs or len(inside) > MOST_EQUATIONS:
            return []
        for reader in users.get(made.target, ()):
            if isinstance(reader, Invoke) or reader.update is not None or reader.guard is not None:
                return []
            if reader not in inside and reader not in ends:
                weighted = bool(_factors(reader))
                (ends if weighted else waiting).append(reader)
                inside += [] if weighted else [reader]
    made_here = {e.target for e in inside}
    one_other = all(len(_factors(e) - made_here) == 1 and _factors(e) & made_here for e in ends)
    needed_again = _after(ends, users) & {*inside, *ends}
    return [*inside, *ends] if ends and one_other and not needed_again else []


def _after(ends: Steps, users: Users) -> set[Equation | Invoke]:
    """All that is computed of what these compute: if a part of the attention is, it cannot be
    one kernel (the same weights, used twice).
    """
    found, waiting = set[Equation | Invoke](), list(ends)
    while waiting:
        made = waiting.pop()
        targets = made.targets
        new = {r for t in targets for r in users.get(t, ())} - found
        found |= new
        waiting += new
    return found


def _factors(equation: Equation) -> set[Tensor]:
    """Tensors read by an equation's sums of products in which each product is of several tensors."""
    sums = [
        n for n in walk(equation.value) if isinstance(n, Reduce) and n.op == "sum" and isinstance(n.body, Mul)
    ]
    return {t for n in sums if len(_read(n)) > 1 for t in _read(n)}


def _read(reduce: Reduce) -> list[Tensor]:
    return list(dict.fromkeys(n.tensor for n in walk(reduce.body) if isinstance(n, Read)))
