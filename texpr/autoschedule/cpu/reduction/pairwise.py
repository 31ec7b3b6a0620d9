"""Sums of many floats in levels: short chains of terms, chains of their sums, and so on.

    for k: s += f(k)   ->   for ko: { p = 0;  for ki: p += f(ko, ki);  s += p }

A sum of n terms that are added one after the other may be off by n/2 roundings, one in chains at
each of a few levels by half of the lengths of the chains together. Another level costs an addition
for each chain of the one below. Source: Castaldo, Whaley and Chronopoulos, Reducing Floating Point
Error in Dot Product Using the Superblock Family of Algorithms, SIAM J. Sci. Comput. 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, sum_loop
from texpr.autoschedule.core.nest import Nest
from texpr.autoschedule.cpu.reduction.reduction_costs import REDUCTION_COSTS
from texpr.ir.build import integer

_Chain = tuple[LoopHandle, int]
"""A loop and how many iterations it has, at most."""


def in_levels(
    builder: ScheduleBuilder,
    nest: Nest,
    terms: Sequence[Sequence[LoopHandle]],
    inside: Sequence[LoopHandle],
    chain: int = REDUCTION_COSTS.chain_terms,
    first: Sequence[int] = (),
) -> list[list[LoopHandle]] | None:
    """Add the terms of a nest in levels, where chains would be longer than twice `chain`.

    Args:
        terms: for each loop over terms, outermost first, the loop that there is now.
        inside: loops over elements that stand inside of those.
        first: factors by which the innermost loop is cut in any case, the innermost one first.
    Returns:
        For each loop over terms those that there are then, outermost first; None where sums stay as
        they are.
    """
    if nest.main.update != "add" or not nest.main.tensor.dtype.is_float or nest.recurrent:
        return None
    count = prod(_iterations(builder, loop) for loops in terms for loop in loops)
    if count <= 2 * chain or any(integer(n.extent) is None for n in nest.loops):
        return None

    def work() -> list[list[_Chain]]:
        loops = [loop for loops in terms for loop in loops]
        found: list[list[_Chain]] = []
        for loop in reversed(loops):
            left = REDUCTION_COSTS.chain_levels - sum(map(len, found))
            found.insert(0, _cut(builder, loop, chain, left, first if loop == loops[-1] else ()))
        chains = [each for of in found for each in of]
        _levels(builder, chains, inside, max(_longest(chain), prod(first)))
        return found

    found = builder.transaction(work)
    return None if found is None else [[loop for loop, _ in of] for of in found]


def _cut(
    builder: ScheduleBuilder, loop: LoopHandle, chain: int, most: int, first: Sequence[int]
) -> list[_Chain]:
    """Cut a loop into chains of chains, outermost first, at most so many times."""
    inside: list[_Chain] = []
    while len(inside) < most and (n := _iterations(builder, loop)) > (
        first[len(inside)] if len(inside) < len(first) else _longest(chain)
    ):
        length = first[len(inside)] if len(inside) < len(first) else _length(n, chain)
        cut = builder.try_split(loop, length, tail="clip" if inside else "guard")
        if cut is None:
            break
        loop = cut[0]
        inside.insert(0, (cut[1], length))
    return [(loop, _iterations(builder, loop)), *inside]


def _length(n: int, chain: int) -> int:
    """The length of chains about as long as there are at each level, by which nothing is left
    over if there is such a one.
    """
    longest, levels = _longest(chain), 1
    while longest**levels < n:
        levels += 1
    about = min(longest, max(chain * 3 // 4, ceil(n ** (1 / levels))))
    choice = sorted(range(chain * 3 // 4, longest + 1), key=lambda c: abs(c - about))
    return next((c for c in choice if n % c == 0 and n // c <= longest ** (levels - 1)), about)


def _longest(chain: int) -> int:
    return chain * 5 // 4


def _levels(
    builder: ScheduleBuilder, chains: Sequence[_Chain], inside: Sequence[LoopHandle], longest: int
) -> None:
    """Each loop but those of the innermost chain gets sums for its iterations."""
    loops = [loop for loop, _ in chains]
    _reorder(builder, *loops, *inside)
    together, outer = 1, len(chains)
    while outer and together * chains[outer - 1][1] <= longest:
        outer -= 1
        together *= chains[outer][1]
    for k, loop in enumerate(loops[:outer]):
        _level(builder, loop, [*loops[k + 1 :], *inside], inside)
    for loop in loops:  # those that end before a tile does have code of their own
        builder.try_apply("partition", loop)


def _level(
    builder: ScheduleBuilder, loop: LoopHandle, below: Sequence[LoopHandle], inside: Sequence[LoopHandle]
) -> None:
    """Give each iteration of a loop over terms a sum of its own, which is added to that of the
    loop around it at once.
    """
    total = sum_loop(loop)
    sums = builder.new_buffer("rfactor", loop, reassoc=True)
    _reorder(builder, total, *inside)
    _reorder(builder, loop, *below)
    builder.apply("merge", loop, loop)
    builder.apply("merge", loop, total)
    builder.apply("fold_storage", sums, len(sums.shape) - 1, 1)


def _reorder(builder: ScheduleBuilder, *loops: LoopHandle) -> None:
    if len(loops) > 1:
        builder.apply("reorder", *loops)


def _iterations(builder: ScheduleBuilder, loop: LoopHandle) -> int:
    """Of the longest loop of a handle."""
    return max(each or 1 for each in builder.extents(loop))
