"""Judgements by enumeration: whether two kernels compute the same, whether iterations that run at
once meet, whether a witness is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from texpr.ir.expr import Expr, Read, Select, Tensor, Var
from texpr.ir.loop import Alloc, Barrier, For, If, Kernel
from texpr.ir.loop_kind import SERIAL, UNROLLED, VECTOR, InstructionNest, has_lanes
from texpr.ir.shapes import evaluate_size, flat_shape
from texpr.ir.store_kind import ATOMIC
from texpr.ir.traverse import variables, walk
from texpr.poly.dependence.legality import reassociable
from texpr.schedule.legality.refusal import Refused
from texpr.schedule.structure.loops import all_loops, paths, stores
from texpr.tools.fuzz.instances import Element, Event, Machine, Outside, Terms, TooLarge

Sizes = Mapping[Var, int]
Data = Mapping[str, np.ndarray]
SEEDS = 12
"""Data that is tried for a witness that depends on it."""


def index_data(inputs: Sequence[Tensor], sizes: Sizes, seed: int) -> dict[str, np.ndarray]:
    """Integers and bools for the inputs. Those with a range are all alike for seed 0, where the
    most instances meet.
    """
    generator = np.random.default_rng(seed)
    made = {}
    for t in inputs:
        shape = flat_shape(t, sizes)
        if t.value_range is not None:
            low, high = (evaluate_size(e, sizes) for e in t.value_range)
            made[t.name] = _in_range(generator, shape, low, max(high, low + 1), t.distinct, seed)
        elif t.dtype.is_int:
            made[t.name] = generator.integers(0 if t.dtype.kind == "u" else -40, 40, shape)
        elif not t.dtype.is_float:
            made[t.name] = generator.integers(0, 2, shape)
    return made


def _in_range(
    generator: np.random.Generator, shape: tuple[int, ...], low: int, high: int, distinct: bool, seed: int
) -> np.ndarray:
    if distinct and shape and shape[-1] <= high - low:
        rows = [
            generator.permutation(np.arange(low, high))[: shape[-1]] for _ in range(int(np.prod(shape[:-1])))
        ]
        return np.array(rows, np.int64).reshape(shape)
    return np.full(shape, low) if seed == 0 else generator.integers(low, high, shape)


def disagreement(
    before: Kernel, after: Kernel, sizes: Sizes, seed: int, loose: bool, distributed: bool = False
) -> str | None:
    """A difference between the results of two kernels at these sizes, as text; None where they
    agree or too much would run.

    Args:
        loose: sums and products of floats have no order.
        distributed: products have no order either, and those of sums of floats are sums of
            products.
    """
    data, terms = index_data(before.inputs, sizes, seed), Terms(loose, distributed)
    try:
        expected = Machine(before, _of(before, sizes), data, terms).run()
        found = Machine(after, _of(after, sizes), data, terms, most=100_000).run()
    except TooLarge:
        return None
    except Outside as error:
        return f"an access to {error}"
    poison = terms("poison")
    for element, term in expected.items():
        other = found[element]
        if other != term:
            return (
                f"{element[0]}{list(element[1])} is "
                f"{'never computed' if other == poison else 'made of something else'}"
            )
    return None


def _of(kernel: Kernel, sizes: Sizes) -> dict[Var, int]:
    by_name = {v.name: n for v, n in sizes.items()}
    return {v: by_name[v.name] for v in kernel.sizes}


def races(kernel: Kernel, placed: Kernel, sizes: Sizes, seed: int) -> str | None:
    """Two iterations of a loop that runs at once, of which one writes what the other uses.

    Args:
        kernel: as scheduled: lanes of a vector are judged here, each loop alone.
        placed: with its temporaries where they live: what an iteration allocates is its own.
    """
    lanes = [n for n in all_loops(kernel) if n.kind == VECTOR]
    threads = [
        n
        for n in all_loops(placed)
        if n.kind not in (SERIAL, UNROLLED, VECTOR) and not isinstance(n.kind, InstructionNest)
    ]
    if any(isinstance(n, Barrier) for n in walk(placed)):
        threads = []
    found = None
    if lanes:
        found = next(_meetings(kernel, lanes, sizes, seed), None)
    if found is None and threads:
        found = next(_meetings(placed, threads, sizes, seed), None)
    return found


def _meetings(kernel: Kernel, loops: Sequence[For], sizes: Sizes, seed: int) -> Iterator[str]:
    events = events_of(kernel, sizes, index_data(kernel.inputs, sizes, seed))
    for loop in loops:
        private = {n.tensor.name for n in walk(*loop.body) if isinstance(n, Alloc)}
        pair = meeting(events or (), loop, private)
        if pair is not None:
            yield f"{loop.kind} loop {loop.var.name}: {described(pair[0])} and {described(pair[1])} meet"


def events_of(kernel: Kernel, sizes: Sizes, data: Data, most: int = 20_000) -> list[Event] | None:
    """All instances in the order in which they run; None if there are too many."""
    machine = Machine(kernel, _of(kernel, sizes), data, Terms(), watched=True, most=most)
    try:
        machine.run()
    except TooLarge:
        return None
    return machine.events


def described(e: Event) -> str:
    """An instance for people."""
    at = ", ".join(f"{v.name}={k}" for v, k in e.loops)
    return f"{e.writes[0]}{list(e.writes[1])} at ({at})"


def meeting(events: Sequence[Event], loop: For, private: Collection[str]) -> tuple[Event, Event] | None:
    """Two iterations of `loop`, the loops around it alike, that use one element which at least one
    of them writes.

    Lanes join what they all add to one element before they touch it.

    Args:
        private: tensors of which every iteration has its own.
    """
    joined = has_lanes(loop.kind) and all(
        loop.var not in variables(*s.indices) for s in stores(loop) if s.update is not None
    )
    used: dict[tuple[object, Element], list[tuple[int, Event]]] = {}
    for e in events:
        depth = next((k for k, (v, _) in enumerate(e.loops) if v is loop.var), None)
        if depth is not None:
            around = tuple(k for _, k in e.loops[:depth])
            for element in e.touches:
                if element[0] not in private:
                    used.setdefault((around, element), []).append((e.loops[depth][1], e))
    for (_, element), uses in used.items():
        for k, writer in uses:
            if writer.writes == element:
                others = (e for n, e in uses if n != k and not (joined and _same_update(writer, e)))
                other = next((e for e in others if not (_again(writer, e) or _both_atomic(writer, e))), None)
                if other is not None:
                    return writer, other
    return None


def _both_atomic(a: Event, b: Event) -> bool:
    """Two updates that wait for each other, and may run in any order."""
    return (
        a.store.mode is ATOMIC
        and b.store.mode is ATOMIC
        and a.store.update == b.store.update
        and a.writes == b.writes
    )


def _same_update(a: Event, b: Event) -> bool:
    return a.store is b.store and a.writes == b.writes and reassociable(a.store)


def _again(a: Event, b: Event) -> bool:
    """One instance that runs twice, and so writes one value twice."""
    return (
        a.name == b.name
        and a.store.update is None
        and a.writes == b.writes
        and a.writes not in a.reads
        and bool(a.store.at)
    )


def dependent(a: Event, b: Event) -> bool:
    """True if two instances may not change places."""
    return not _same_update(a, b) and (a.writes in b.touches or b.writes in a.touches)


def unreal(why: Refused) -> str | None:
    """The fault in the witness of a refusal; None if the two instances are there, depend on each
    other, and change places.

    Raises:
        TooLarge: the sizes are too large to look.
    """
    conflict = why.conflict
    sizes = {v: conflict.sizes.get(v.name, 1) for v in why.kernel.sizes}
    said = "its instances never run"
    indirect = any(t.dtype.is_int or not t.dtype.is_float for t in why.kernel.inputs)
    for seed in range(SEEDS if indirect else 1):
        data = index_data(why.kernel.inputs, sizes, seed)
        events = events_of(why.kernel, sizes, data)
        if events is None:
            raise TooLarge
        first, second = (_instances(events, at) for _, at in (conflict.source, conflict.sink))
        element = (conflict.tensor.name, conflict.element)
        pairs = [
            (a, b)
            for a in first
            for b in second
            if a is not b
            and element in a.touches & b.touches
            and (element in (a.writes, b.writes) if why.at_once else dependent(a, b))
        ]
        if first and second:
            said = "its instances do not depend on each other"
        if pairs and (why.at_once or why.after is None):
            return None
        if pairs:
            said = "its instances keep their order"
        if pairs and _turned(pairs, events, why.after, sizes, data):
            return None
        if indirect and _others(why, events, sizes, data):
            return None
    return None if _asks_data(why) else said


def _asks_data(why: Refused) -> bool:
    """True if data that no seed may have decide whether an instance of the witness runs or reads,
    or floats, which no proof looks into.
    """
    ends = [why.conflict.source[0], why.conflict.sink[0]]
    conditions = [
        n.cond
        for above, s in paths(why.kernel)
        if any(s is end for end in ends)
        for n in above
        if isinstance(n, If)
    ]
    conditions += [n.cond for end in ends for n in walk(end.value) if isinstance(n, Select)]
    return any(isinstance(n, Read) or isinstance(n, Expr) and n.dtype.is_float for n in walk(*conditions))


def _others(why: Refused, events: Sequence[Event], sizes: Sizes, data: Data) -> bool:
    """Other instances are what the witness claims to be. Where indices are data, it tells
    nothing of what the data would have to be.
    """
    if not any(
        isinstance(n, Read) for s in (why.conflict.source[0], why.conflict.sink[0]) for n in walk(*s.indices)
    ):
        return False
    if why.after is None or why.at_once:
        used = [
            (e, element) for e in events for element in e.touches if element[0] == why.conflict.tensor.name
        ]
        stores_of = {id(s) for s in (why.conflict.source[0], why.conflict.sink[0])}
        return any(
            a is not b and x == y and x in (a.writes, b.writes) and {id(a.store), id(b.store)} <= stores_of
            for a, x in used
            for b, y in used
        )
    return turned_around(why.kernel, why.after, sizes, data) is not None


def _instances(events: Sequence[Event], at: Mapping[str, int]) -> list[Event]:
    return [e for e in events if {v.name: k for v, k in e.loops} == dict(at)]


def _turned(
    pairs: Sequence[tuple[Event, Event]],
    before: Sequence[Event],
    after: Kernel | None,
    sizes: Sizes,
    data: Data,
) -> bool:
    """A pair runs the other way round in `after`; so does one of which some instance has no name
    there, or several.
    """
    assert after is not None
    try:
        later = events_of(after, sizes, data)
    except Outside:
        return True
    if later is None:
        raise TooLarge
    place = {e.name: k for k, e in enumerate(later)}
    if not len(place) == len(later) == len(before) == len({e.name for e in before}):
        return True
    position = {id(e): k for k, e in enumerate(before)}
    return any((place[a.name] > place[b.name]) != (position[id(a)] > position[id(b)]) for a, b in pairs)


def turned_around(before: Kernel, after: Kernel, sizes: Sizes, data: Data) -> tuple[Event, Event] | None:
    """Two instances that depend on each other and run in another order in `after`, which runs
    the same instances.
    """
    old, new = events_of(before, sizes, data), events_of(after, sizes, data)
    if old is None or new is None:
        return None
    place = {event.name: k for k, event in enumerate(new)}
    assert len(place) == len(old) == len({event.name for event in old}), "the step loses or repeats instances"
    users: dict[Element, list[Event]] = {}
    for e in old:
        for element in e.touches:
            users.setdefault(element, []).append(e)
    for uses in users.values():
        for k, a in enumerate(uses):
            for b in uses[k + 1 :]:
                if place[a.name] > place[b.name] and dependent(a, b):
                    return a, b
    return None
