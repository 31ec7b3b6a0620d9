"""Accumulators of asynchronous products of warpgroups (`schedule.steps.hardware.async_mma`):
their numbers, and which a wait completes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from texpr.ir.expr import Node, Read, Tensor
from texpr.ir.loop import Alloc, CommitProducts, For, If, Stmt, Store, WaitProducts
from texpr.ir.loop_kind import InstructionNest
from texpr.ir.store_kind import ASYNCHRONOUS
from texpr.ir.traverse import statements, walk
from texpr.targets.gpu.thread_registers import OwnedElements

Element = tuple[int, ...]
InFlight = frozenset[tuple[Tensor, bool]]


@dataclass(slots=True)
class AsyncAccumulators:
    """The accumulators of the asynchronous products of a nest.

    Attributes:
        numbers: of each that a thread has, from 0.
        returned: of each wait, those that it may complete and that the statements around it use.
        consecutive: products that stand directly behind others, which leave registers of
            accumulators as they are.
    """

    numbers: dict[tuple[Tensor, Element], int] = field(default_factory=dict)
    returned: dict[WaitProducts, list[Tensor]] = field(default_factory=dict)
    consecutive: set[Stmt] = field(default_factory=set)


def accumulators_of(nest: Stmt, owned: Mapping[Tensor, OwnedElements]) -> AsyncAccumulators:
    """The accumulators of a nest, whose statements but for products use each thread's part in
    place of the whole buffer.
    """
    tensors = list(
        dict.fromkeys(
            n.tensor
            for n in statements(nest)
            if isinstance(n, Store) and n.mode is ASYNCHRONOUS and n.update is not None
        )
    )
    every = [(t, place) for t in tensors if t in owned for place in owned[t].places]
    found = AsyncAccumulators({key: k for k, key in enumerate(every)})
    for n in statements(nest):
        if isinstance(n, For | If):
            found.consecutive |= {
                s for before, s in pairwise(n.body) if is_asynchronous(before) and is_asynchronous(s)
            }
            used = (
                {t for below in n.body for t in _used(below)}
                if any(isinstance(s, WaitProducts) for s in n.body)
                else set()
            )
            behind = [t for t in tensors if t in owned and (t in used or owned[t].tensor in used)]
            found.returned |= {s: behind for s in n.body if isinstance(s, WaitProducts)}
    ended = _completed(nest, found.returned)
    found.returned = {s: [t for t in behind if t in ended[s]] for s, behind in found.returned.items()}
    return found


def _completed(nest: Stmt, used: Mapping[WaitProducts, Sequence[Tensor]]) -> dict[WaitProducts, set[Tensor]]:
    """The accumulators that each wait completes: those that products have added to since the last
    wait for them. `used` are those that it may give back.
    """
    found: dict[WaitProducts, set[Tensor]] = {}

    def behind(s: Stmt, before: InFlight) -> InFlight:
        """Accumulators to be completed behind a statement, and True if products that add to them
        are in a group.
        """
        match s:
            case CommitProducts():
                return frozenset((t, True) for t, _ in before)
            case WaitProducts(pending):
                found[s] = found.get(s, set()) | {t for t, _ in before}
                return frozenset(
                    (t, grouped) for t, grouped in before if pending or not grouped or t not in used[s]
                )
            case For() if is_asynchronous(s):
                return before | {(n.tensor, False) for n in statements(s) if isinstance(n, Store)}
            case For(body=body) | If(body=body):
                after = before
                for _ in range(2):  # an iteration, and one that follows another
                    start = after = after | before
                    for inside in body:
                        after = behind(inside, after)
                    if after | before == start:  # the next one is the same: twice the work at each depth
                        break
                return before | after
        return before

    behind(nest, frozenset())
    return found


def _used(s: Stmt) -> set[Tensor]:
    """Tensors that a statement uses, except in asynchronous products and except those allocated in
    the statement itself.
    """
    found: set[Tensor] = set()
    owned = {n.tensor for n in statements(s) if isinstance(n, Alloc)}
    stack: list[Node] = [s]
    while stack:
        n = stack.pop()
        if is_asynchronous(n):
            continue
        if isinstance(n, For | If):
            stack += n.body
        else:
            found |= {m.tensor for m in walk(n) if isinstance(m, Read | Store)}
    return found - owned


def is_asynchronous(n: Node) -> bool:
    """True if this is an instruction that begins a product."""
    return (
        isinstance(n, For)
        and isinstance(n.kind, InstructionNest)
        and any(isinstance(s, Store) and s.mode is ASYNCHRONOUS for s in statements(n))
    )
