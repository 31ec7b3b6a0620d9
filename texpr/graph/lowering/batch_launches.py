"""The launches of a program that takes its batch in parts (`fusion.batch_parts`): those of one part
again and again, on the memory of the next examples, and those of the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from math import prod

from texpr.graph.fusion.batch_parts import BatchParts
from texpr.graph.lowering.launch_sequence import Launch, Launches
from texpr.graph.passes.flatten_calls import shape_of
from texpr.ir.expr import Tensor
from texpr.support.frozen_dataclass import replace


def launches_of_parts(split: BatchParts, part: Launches, rest: Launches) -> Launches:
    """All launches in order, of one part after the other. What a part computes of constants alone is
    computed once.
    """
    again = _repeated(split, part)
    views, starts = dict(rest.views), dict(rest.starts)
    order = [n for n in part.order if not _touches(n, again)]
    for tensor, whole in part.views.items():
        if tensor not in again:
            views[tensor] = whole
            starts |= {tensor: part.starts[tensor]} if tensor in part.starts else {}
    for k in range(split.count):
        own = {t: replace(t, name=f"{t.name}_{k}") for t in again}
        for tensor in again:
            whole = part.views.get(tensor, tensor)
            start = part.starts.get(tensor)
            if whole in split.wholes:
                start = (start or 0) + k * prod(shape_of(whole))
                whole = split.wholes[whole]
            if whole is not tensor:
                views[own[tensor]] = own.get(whole, whole)
                starts |= {} if start is None else {own[tensor]: start}
        order += [_on(n, own) for n in part.order if _touches(n, again)]
    decisions = (split.decision, *part.decisions, *rest.decisions)
    return Launches((*order, *rest.order), views, decisions, starts)


def _repeated(split: BatchParts, part: Launches) -> set[Tensor]:
    """The tensors that each part has anew: its examples, and what is computed of them."""
    found = set(split.wholes)
    for launch in part.order:
        found |= {t for t, whole in part.views.items() if whole in found}
        if _touches(launch, found):
            found.update(launch.outputs)
            found |= {part.views[t] for t in launch.outputs if t in part.views}
    return found | {t for t, whole in part.views.items() if whole in found}


def _touches(launch: Launch, tensors: Set[Tensor]) -> bool:
    return any(t in tensors for t in (*launch.inputs, *launch.outputs))


def _on(launch: Launch, own: dict[Tensor, Tensor]) -> Launch:
    """The launch on other tensors."""

    def of(tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
        return tuple(own.get(t, t) for t in tensors)

    return replace(launch, inputs=of(launch.inputs), outputs=of(launch.outputs))
