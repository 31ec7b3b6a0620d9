"""Variables that are updated where they lie: the kernels that do so run last, once nothing can fail any more.

A kernel that writes a new value over the old one needs no second array, and no lines of one come to the caches. Behind it nothing may go
wrong, or a part of the variables would be new and the others old. So such a kernel comes after all that can fail, asks neither for memory
nor for functions of others, computes nothing but new values of variables, and Ctrl-C waits until all of them are there. What it reads of
others stays until then, so it reads no more of that than it saves. What programs of small variables would save is less than another native
call costs: everything they need stays in the caches anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from texpr.graph.fusion.producer_consumer import Decision, amount, tensor_bytes
from texpr.graph.lowering.launches import Launch
from texpr.ir.expr import Tensor

LEAST = 1 << 18
"""Bytes of variables for which launches are put in order."""


@dataclass(frozen=True, slots=True)
class Order:
    """Launches in two parts, the second of which only has to be run to its end.

    Attributes:
        first, last: the launches of each, in the order in which they were.
        over: new values that lie where the variables do.
        decisions: for each launch that computes new values alone, whether it is one of the last, and why.
    """

    first: tuple[Launch, ...]
    last: tuple[Launch, ...] = ()
    over: Mapping[Tensor, Tensor] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()


def in_order(launches: Sequence[Launch], updates: Mapping[Tensor, Tensor], results: Collection[Tensor],
             root: Callable[[Tensor], Tensor], least: int = LEAST) -> Order:
    """Which launches run last, and what they write over.

    Args:
        launches: of a program, in an order that works.
        updates: variables and their new values.
        results: what else the program gives.
        root: the tensor whose memory a tensor is.
        least: bytes of variables that are updated in place, or none are.
    """
    needed = {*results, *(root(t) for n in launches for t in n.inputs)}
    own = set(updates.values()) - needed
    candidates = [n for n in launches if own.issuperset(n.outputs)]
    reads = Counter(root(t) for n in candidates for t in n.inputs)
    made = {t for n in launches for t in n.outputs}
    old = {new: variable for variable, new in updates.items()}
    found = {n: _over(n, old, reads) for n in candidates}
    kept = {n: sum(map(tensor_bytes, made.intersection(map(root, n.inputs)))) for n in candidates}
    against = {n: _against(n, found[n], kept[n]) for n in candidates}
    over = {new: variable for n in candidates if not against[n] for new, variable in found[n].items()}
    if sum(map(tensor_bytes, over)) < least:
        over, against = {}, {n: reason or f"all together are less than {amount(least)}" for n, reason in against.items()}
    first, last = ([n for n in launches if (against.get(n) == "") == wanted] for wanted in (False, True))
    return Order(tuple(first), tuple(last), over, tuple(_decision(n, found[n], reason) for n, reason in against.items()))


def _over(launch: Launch, old: Mapping[Tensor, Tensor], reads: Mapping[Tensor, int]) -> dict[Tensor, Tensor]:
    """The new values of a launch that may lie over the old ones, which nothing that may run last reads but this."""
    pairs = [(launch.outputs[j], launch.inputs[i]) for i, j in launch.overwrites]
    return {new: variable for new, variable in pairs if old[new] is variable and reads[variable] == 1}


def _against(launch: Launch, over: Mapping[Tensor, Tensor], kept: int) -> str:
    """Why a launch does not run last; empty if it does."""
    if not over:
        return "not every old element is proven to be read last where it is replaced"
    if not launch.self_contained:
        return "its kernel may fail"
    if kept > sum(map(tensor_bytes, over)):
        return f"it would keep {amount(kept)} until then"
    return ""


def _decision(launch: Launch, over: Mapping[Tensor, Tensor], against: str) -> Decision:
    names = ", ".join(t.name for t in launch.outputs), tuple(t.name for t in over.values())
    return Decision("over", *names, not against, sum(map(tensor_bytes, over)), 0, against or "nothing can fail when it runs")
