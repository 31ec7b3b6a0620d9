"""Variables that are updated where they lie: the kernels that do so run last, once nothing can fail
any more.

A kernel that writes a new value over the old one needs no second array, and no lines of one come to
the caches. Behind it nothing may go wrong, or a part of the variables would be new and the others
old. So such a kernel comes after all that can fail, asks neither for memory nor for functions of
others, computes nothing but new values of variables, and Ctrl-C waits until all of them are there.
What it reads of others stays until then, so it reads no more of that than it saves. What programs
of small variables would save is less than another native call costs: everything they need stays in
the caches anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field

from texpr.graph.fusion.producer_consumer import Decision, amount, tensor_bytes
from texpr.graph.lowering.launch_sequence import Launch
from texpr.ir.expr import Tensor
from texpr.support.frozen_dataclass import frozen

LEAST_BYTES = 1 << 18
"""Of variables, for which launches are put in order."""


@frozen
class LaunchOrder:
    """Launches in two parts, the second of which cannot fail.

    Attributes:
        first: launches that may fail, in the order in which they were.
        in_place: launches that update variables where they lie, likewise.
        overwrites: new values that lie where the variables do.
        decisions: for each launch that computes new values alone, whether it is one of the last,
            and why.
    """

    first: tuple[Launch, ...]
    in_place: tuple[Launch, ...] = ()
    overwrites: Mapping[Tensor, Tensor] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()

    @property
    def all(self) -> tuple[Launch, ...]:
        """Every launch, in order."""
        return (*self.first, *self.in_place)


def order_in_place_updates(
    launches: Sequence[Launch],
    updates: Mapping[Tensor, Tensor],
    results: Collection[Tensor],
    root: Callable[[Tensor], Tensor],
    least: int = LEAST_BYTES,
) -> LaunchOrder:
    """Let launches that update variables in place run last.

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
    found = {n: _overwritten(n, old, reads) for n in candidates}
    retained = {n: sum(map(tensor_bytes, made.intersection(map(root, n.inputs)))) for n in candidates}
    reasons = {n: _reason_against(n, found[n], retained[n]) for n in candidates}
    over = {new: variable for n in candidates if not reasons[n] for new, variable in found[n].items()}
    if sum(map(tensor_bytes, over)) < least:
        over, reasons = (
            {},
            {n: reason or f"all together are less than {amount(least)}" for n, reason in reasons.items()},
        )
    first, in_place = ([n for n in launches if (reasons.get(n) == "") == wanted] for wanted in (False, True))
    return LaunchOrder(
        tuple(first),
        tuple(in_place),
        over,
        tuple(_decision(n, found[n], reason) for n, reason in reasons.items()),
    )


def _overwritten(
    launch: Launch, old: Mapping[Tensor, Tensor], reads: Mapping[Tensor, int]
) -> dict[Tensor, Tensor]:
    """The new values of a launch that may lie over the old ones, which nothing that may run last
    reads but this.
    """
    pairs = [(launch.outputs[j], launch.inputs[i]) for i, j in launch.overwrites]
    return {new: variable for new, variable in pairs if old[new] is variable and reads[variable] == 1}


def _reason_against(launch: Launch, over: Mapping[Tensor, Tensor], retained: int) -> str:
    """The reason why a launch does not run last; empty if it does."""
    if not over:
        return "not every old element is proven to be read last where it is replaced"
    if not launch.self_contained:
        return "its kernel may fail"
    if retained > sum(map(tensor_bytes, over)):
        return f"it would keep {amount(retained)} until then"
    return ""


def _decision(launch: Launch, over: Mapping[Tensor, Tensor], reason: str) -> Decision:
    names = ", ".join(t.name for t in launch.outputs), tuple(t.name for t in over.values())
    return Decision(
        "over", *names, not reason, sum(map(tensor_bytes, over)), 0, reason or "nothing can fail when it runs"
    )
