"""The questions that single steps ask, of random small nests: every instance is run, and the
answers compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tests.poly.dependence.test_instance_maps import runs_once
from tests.poly.nests import Event, events, ignorable, meet
from tests.profiles import examples
from tests.properties.poly.test_verdicts import (
    evaluate_at,
    is_real,
    kernels,
    rewritten,
    turned_around,
    variables_of,
)
from texpr.ir.expr import Tensor
from texpr.ir.loop import For, Kernel, Store
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import rewrite, walk
from texpr.poly import (
    Conflict,
    anti_dependence,
    dependence_on,
    permutable,
    read_after_write,
    reversed_dependence,
    runs_in_order,
)
from texpr.poly.dependence.legality import reassociable

MANY = examples(30)
Wrong = Callable[[Event, Event], bool]


def agrees(k: Kernel, conflict: Conflict | None, wrong: Wrong) -> None:
    """There is a conflict exactly if two events in this order are wrong, and the example is one
    of them.
    """
    ran = events(k, {})
    found = [(a, b) for a, b in combinations(ran, 2) if wrong(a, b)]
    assert (conflict is not None) == bool(found), show_kernel(k)
    if conflict is not None:
        assert is_real(conflict, ran)
        (source, first), (sink, second) = conflict.source, conflict.sink
        assert any(
            a.store is source and b.store is sink and a.named == first and b.named == second for a, b in found
        ), show_kernel(k)


def together(a: Event, b: Event, depth: int) -> bool:
    """In the same iteration of so many loops, which they share."""
    return (
        a.loops[:depth] == b.loops[:depth]
        and len(a.loops[:depth]) == depth
        and a.iteration[:depth] == b.iteration[:depth]
    )


def of(events_of: frozenset, t: Tensor) -> frozenset:
    return frozenset(x for x in events_of if x[0] is t)


def stores_of(k: Kernel) -> list[Store]:
    return [s for s in walk(k) if isinstance(s, Store)]


def chains(k: Kernel) -> Iterator[tuple[For, ...]]:
    """Nested loops from the outermost inwards."""

    def below(chain: tuple[For, ...]) -> Iterator[tuple[For, ...]]:
        yield chain
        for n in walk(*chain[-1].body):
            if isinstance(n, For) and not any(
                isinstance(m, For) and m is not n and any(x is n for x in walk(m))
                for m in walk(*chain[-1].body)
            ):
                yield from below((*chain, n))

    for n in k.body:
        if isinstance(n, For):
            yield from below((n,))


@MANY
@given(kernels(nests=2))
def test_what_is_read_after_it_is_written_in_an_iteration(k: Kernel):
    for chain in chains(k):
        for t in {s.tensor for s in stores_of(k)}:

            def wrong(a: Event, b: Event, t=t, chain=chain) -> bool:
                return (
                    chain[-1].var in a.loops
                    and together(a, b, len(chain))
                    and bool(of(a.writes, t) & b.reads)
                )

            agrees(k, read_after_write(k, t, chain), wrong)


@MANY
@given(kernels(nests=2), st.integers(0, 3))
def test_what_is_written_over_what_was_read(k: Kernel, number: int):
    stores = stores_of(k)
    for readers in ({stores[number % len(stores)]}, set(stores[: number + 1])):
        for depth in range(4):
            agrees(
                k,
                anti_dependence(k, readers, depth),
                lambda a, b, r=readers, d=depth: (
                    a.store in r and b.store not in r and together(a, b, d) and bool(a.reads & b.writes)
                ),
            )


@MANY
@given(kernels(), st.integers(0, 3), st.integers(0, 2), st.booleans())
def test_what_an_iteration_needs_of_those_before(k: Kernel, number: int, distance: int, private: bool):
    chain = max(chains(k), key=len)
    left_out = [stores_of(k)[0].tensor] if private else []
    for depth, around in enumerate(chain):
        inside = stores_of(around)  # type: ignore[arg-type]
        sinks = {inside[number % len(inside)]}
        sources = set(inside) - sinks

        def wrong(a: Event, b: Event, depth=depth, sinks=sinks, sources=sources) -> bool:
            if a.store not in sources or b.store not in sinks or not together(a, b, depth):
                return False
            return b.iteration[depth] - a.iteration[depth] <= distance and any(
                t not in left_out for t, _ in meet(a, b)
            )

        agrees(k, dependence_on(k, sinks, sources, depth, distance, left_out), wrong)


@MANY
@given(kernels(nests=2))
def test_bands(k: Kernel):
    """Nothing that meets goes backward in a loop of a band; statements in only some of its loops
    run in the order of the text.
    """
    order = {s: n for n, s in enumerate(stores_of(k))}
    for chain in chains(k):
        for first in range(len(chain)):
            band = [n.var for n in chain[first:]]
            pairs = [
                (a, b)
                for a, b in combinations(events(k, {}), 2)
                if band[0] in a.loops
                and band[0] in b.loops
                and together(a, b, first)
                and meet(a, b)
                and not ignorable(a, b)
            ]
            backward = any(
                a.iteration[a.loops.index(v)] > b.iteration[b.loops.index(v)]
                for a, b in pairs
                for v in band
                if v in a.loops and v in b.loops
            )
            against = any(
                order[a.store] > order[b.store]
                for a, b in pairs
                if not all(v in a.loops and v in b.loops for v in band)
            )
            if permutable(k, [{v} for v in band]):
                assert not backward and not against, show_kernel(k)
            else:
                assert backward or against, show_kernel(k)


@MANY
@given(rewritten())
def test_marked_updates_may_change_places(nests):
    before, after, origin, instance = nests
    after = rewrite(
        after, lambda n: replace(n, reassoc=True) if isinstance(n, Store) and n.update == "add" else None
    )
    new = stores_of(after)  # type: ignore[arg-type]
    origin, instance = (
        {s: given[old] for s, old in zip(new, stores_of(nests[1]))} for given in (origin, instance)
    )
    marked = rewrite(
        before, lambda n: replace(n, reassoc=True) if isinstance(n, Store) and n.update == "add" else None
    )
    twin = dict(zip(stores_of(before), stores_of(marked)))  # type: ignore[arg-type]
    assert (reversed_dependence(before, after, origin, instance) is not None) == turned_around(  # type: ignore[arg-type]
        marked, after, {s: twin[old] for s, old in origin.items()}, instance
    )  # type: ignore[arg-type]


@MANY
@given(rewritten())
def test_what_runs_in_the_order_of_the_equations(nests):
    reference, k, origin, instance = nests
    for tensors in ({s.tensor for s in stores_of(k)}, {stores_of(k)[0].tensor}):
        assert runs_in_order(k, reference, tensors, origin, instance) == in_order(
            k, reference, tensors, origin, instance
        )


def in_order(k: Kernel, reference: Kernel, tensors: set[Tensor], origin: dict, instance: dict) -> bool:
    ran = events(k, {})
    for a, b in combinations(ran, 2):
        early = a.reads | (a.writes if a.store.update is not None and b.store.update is None else set())
        if any(t in tensors for t, _ in early & b.writes):
            return False
    place = {
        (
            origin[x.store],
            tuple(
                evaluate_at(instance[x.store][v], dict(zip(x.loops, x.iteration)))
                for v in variables_of(reference, origin[x.store])
            ),
        ): n
        for n, x in enumerate(ran)
    }
    if not runs_once(reference, k, origin, instance):
        return False
    return not any(
        a.writes & b.writes
        and a.store.update is not None is not b.store.update
        and a.store.tensor in tensors
        and not reassociable(a.store)
        and place[a.store, a.iteration] > place[b.store, b.iteration]
        for a, b in combinations(events(reference, {}), 2)
    )
