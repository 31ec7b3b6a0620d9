"""Values that leave a plan while it runs, and values that come meanwhile.

A collective operation of several processes may go on beside the kernels that do not need it. So a
plan says when results of a group are complete, and waits for variables at the first kernel that
reads them. Both are known when the plan is made: they stand in its listing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.capture.variable import Variable
from texpr.graph.lowering.launch_sequence import Launch
from texpr.ir.expr import Tensor
from texpr.support.frozen_dataclass import frozen_by_identity

Root = Callable[[Tensor], Tensor]
"""The tensor whose memory a tensor is."""


@frozen_by_identity
class Parcel:
    """Results that lie in memory of the caller, who hears when all of them are there.

    Attributes:
        name: for listings.
        results: tensors of the capture, computed and assigned to nothing.
        arrays: where they lie: C-contiguous, of their shapes and dtypes.
        begin: called in each run as soon as all of them are there, in the order of the parcels.
    """

    name: str
    results: Sequence[Symbolic]
    arrays: Sequence[np.ndarray]
    begin: Callable[[], object]


@frozen_by_identity
class Arrival:
    """Variables whose values come while a plan runs.

    Attributes:
        name: for listings.
        variables: the program reads them and does not assign to them.
        wait: called in each run before the first kernel that reads one of them; it returns when all
            have their values.
    """

    name: str
    variables: Sequence[Variable]
    wait: Callable[[], object]


@frozen_by_identity
class Event:
    """A call between two launches.

    Attributes:
        position: the number of launches before it.
        text: for listings.
        call: what is called.
        waits: True if kernels behind it read what it waits for.
    """

    position: int
    text: str
    call: Callable[[], object]
    waits: bool


def soonest(launches: Sequence[Launch], groups: Sequence[Sequence[Tensor]], root: Root) -> list[Launch]:
    """The same launches, what the first group of results needs first, and so on; otherwise in
    their order.
    """
    makers: dict[Tensor, list[Launch]] = {}
    for n in launches:
        for t in n.outputs:
            makers.setdefault(root(t), []).append(n)
    place = {n: k for k, n in enumerate(launches)}
    order: dict[Launch, None] = {}
    for group in groups:
        needed: set[Launch] = set()
        waiting = [n for t in group for n in makers[root(t)]]
        while waiting:
            launch = waiting.pop()
            if launch not in needed and launch not in order:
                needed.add(launch)
                waiting += [n for s in map(root, launch.inputs) for n in makers.get(s, ())]
        order |= dict.fromkeys(sorted(needed, key=place.__getitem__))
    return list(order | dict.fromkeys(launches))


def events(
    launches: Sequence[Launch],
    sent: Mapping[Parcel, Sequence[Tensor]],
    awaited: Mapping[Arrival, Sequence[Tensor]],
    root: Root,
) -> tuple[Event, ...]:
    """The events of a run, in order.

    A parcel begins behind the launch that completes it and behind all parcels before it: every
    process has the same order, whatever its launches are. What no launch reads is waited for at the
    end.
    """
    found: list[Event] = []
    position = 0
    for parcel, tensors in sent.items():
        wanted = {root(t) for t in tensors}
        made = [k + 1 for k, n in enumerate(launches) if not wanted.isdisjoint(map(root, n.outputs))]
        position = max([position, *made])
        found.append(Event(position, f"begin {parcel.name}", parcel.begin, False))
    for arrival, tensors in awaited.items():
        wanted = {root(t) for t in tensors}
        readers = [k for k, n in enumerate(launches) if not wanted.isdisjoint(map(root, n.inputs))]
        position = min(readers, default=len(launches))
        found.append(Event(position, f"wait for {arrival.name}", arrival.wait, True))
    return tuple(sorted(found, key=lambda e: e.position))


def pieces(
    launches: Sequence[Launch], between: Sequence[Event]
) -> Iterator[tuple[Sequence[Launch], Event | None]]:
    """Launches up to each event, and the event; at last what is left, with none."""
    done = 0
    for event in between:
        yield launches[done : event.position], event
        done = event.position
    yield launches[done:], None
