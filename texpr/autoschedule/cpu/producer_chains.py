"""Chains: nests that compute intermediates one after the other, for one nest that uses them last.

Where the caches of a core do not hold the intermediates of one iteration of the outermost loop, the
nests are joined further inside. Where sums read the same for every iteration of that loop (a
product with a matrix), blocks of its iterations are made first: as many as leave the intermediates
near, so that what is read again comes from there too.

Nests that were joined by their outermost loop have all further ones in common, too, that are alike
and in whose iterations no operand of a sum is read again.

Several nests that read the same rows of large inputs, and nothing else but a row of parameters (a
normalization and its gradient), are joined by row, so that each row comes from memory once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd, prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handle
from texpr.autoschedule.core.nest import Nest, constant_extent, find_nests
from texpr.autoschedule.core.template import NoMatch, Stage
from texpr.autoschedule.cpu.cpu_costs import CPU_COSTS
from texpr.ir.expr import Tensor
from texpr.ir.loop import For, Kernel
from texpr.schedule.structure.tensors import bytes_of
from texpr.support.frozen_dataclass import frozen


@frozen
class _Chain:
    """Nests in order, the user last, and how many of their outer loops are alike."""

    nests: tuple[Nest, ...]
    alike: int


@frozen
class _Chains:
    """The chains of a kernel.

    Attributes:
        inside: the one whose intermediates do not stay near, if the last nest ends such a one.
        depths: of others, by label, how many outer loops nests have in common.
    """

    inside: _Chain | None
    depths: Mapping[str, int]


class ProducerChains:
    """Nests that compute intermediates for one that uses them last, joined as far inside as
    these stay near.
    """

    name, stage = "ProducerChains", Stage.CHAINS

    def match(self, builder: ScheduleBuilder, nests: Sequence[Nest]) -> _Chains | NoMatch:
        """The chains."""
        last = _chain(builder.kernel, nests)
        if last is not None and _bytes(builder.kernel, last, 0) > builder.l2_budget:
            return _Chains(last, {})
        depths = _by_rows(builder, nests)
        return (
            _Chains(None, depths)
            if depths
            else NoMatch("no chain of nests whose intermediates or rows go to memory and back")
        )

    def apply(self, builder: ScheduleBuilder, match: _Chains) -> Mapping[str, int] | NoMatch:
        """Cut blocks where a chain needs them; by the label of a nest, in how many of its outer
        loops it is joined with others.
        """
        return match.depths if match.inside is None else _inside(builder, match.inside)


def _by_rows(builder: ScheduleBuilder, nests: Sequence[Nest]) -> Mapping[str, int]:
    """The nests that are joined by row."""
    depths: dict[str, int] = {}
    left = list(nests)
    while left:
        found = _chain(builder.kernel, left)
        if found is not None and _is_by_rows(builder, found):
            depths |= dict.fromkeys((n.label for n in found.nests), 1)
        del left[len(left) - (1 if found is None else len(found.nests)) :]
    return depths


def serves_rows(builder: ScheduleBuilder, nest: Nest) -> bool:
    """True if an element of an intermediate is used by many of another nest, which has its loops
    and more.
    """
    target = nest.main.tensor
    return (
        target in builder.kernel.temporaries
        and nest.label == target.name
        and not nest.reduction
        and any(
            len(user.spatial) > len(nest.spatial) and not user.reduction and not user.recurrent
            for user in find_nests(builder.kernel)
            for a in user.accesses[1:]
            if a.tensor is target
        )
    )


def in_common(
    builder: ScheduleBuilder, nest: Nest, mine: Sequence[LoopHandle], others: Sequence[LoopHandle], least: int
) -> int:
    """The number of outer loops of a nest and its user that may be one: as long as they are alike, and
    no operand of a sum is read again in the iterations of one of them. What both read comes from
    memory once then.

    Args:
        mine, others: the outer loops of the nest and of its user, outermost first.
        least: so many are.
    """
    loops = {handle(n): n for n in nest.spatial}
    depth = least
    for own, other in zip(mine[least:], others[least:]):
        loop, length = loops.get(own), constant_extent(builder.loop(other))
        if (
            loop is None
            or length in (0, 1)
            or constant_extent(builder.loop(own)) != length
            or nest.recurrent
            or _serves_sums(nest, loop)
        ):
            break
        depth += 1
    return depth


def _serves_sums(nest: Nest, loop: For) -> bool:
    """True if operands of a sum are read again in every iteration of a loop."""
    return any(
        a.stride(loop.var) == 0 and any(a.stride(n.var) != 0 for n in nest.reduction)
        for a in nest.accesses[1:]
    )


def _inside(builder: ScheduleBuilder, found: _Chain) -> Mapping[str, int] | NoMatch:
    """The nests so far inside that their intermediates stay near, by blocks where that is worth
    it.
    """
    nearby = builder.l2_budget
    depth = next((d for d in range(1, found.alike + 1) if _bytes(builder.kernel, found, d) <= nearby), None)
    if depth is None:
        return NoMatch("intermediates do not stay near in any of the loops")
    if _reuses(found, depth):
        block = _block(
            constant_extent(found.nests[-1].spatial[depth - 1]),
            nearby // max(1, _bytes(builder.kernel, found, depth)),
        )
        if block is None:
            return NoMatch("no block of iterations whose intermediates stay near")
        for nest in found.nests:
            builder.split(nest.spatial[depth - 1], block, tail="exact")
    return {n.label: depth for n in found.nests}


def _is_by_rows(builder: ScheduleBuilder, found: _Chain) -> bool:
    """True if sums read rows of inputs that others of the chain read too, which the second cache
    would not keep until then.
    """
    if _reuses(found, 1) or sum(1 for n in found.nests if n.reduction) < 2:
        return False
    readers: dict[Tensor, int] = {}
    for nest in found.nests:
        by_rows = (a for a in nest.accesses[1:] if a.stride(nest.spatial[0].var) not in (0, 1))
        for tensor in {a.tensor for a in by_rows if a.tensor in builder.kernel.inputs}:
            readers[tensor] = readers.get(tensor, 0) + 1
    shared = sum(bytes_of(t) for t, count in readers.items() if count > 1)
    return builder.l2_budget < shared <= builder.l2_budget * constant_extent(found.nests[-1].spatial[0])


def _chain(kernel: Kernel, nests: Sequence[Nest]) -> _Chain | None:
    """The last nest and those before it that compute what the chain reads, as long as their
    outer loops are alike.
    """
    if not nests or nests[-1].recurrent:
        return None
    members = [nests[-1]]
    alike = len(nests[-1].spatial)
    intermediates = {t.name: t for t in kernel.temporaries}
    for nest in reversed(nests[:-1]):
        same = _alike(nest, nests[-1])
        if nest.label not in intermediates or nest.recurrent or not same:
            break
        members.insert(0, nest)
        alike = min(alike, same)
    return _Chain(tuple(members), alike) if len(members) > 1 and any(n.reduction for n in members) else None


def _alike(nest: Nest, other: Nest) -> int:
    """Number of outer loops with the same constant extents."""
    extents = [(constant_extent(a), constant_extent(b)) for a, b in zip(nest.spatial, other.spatial)]
    return next((k for k, (a, b) in enumerate(extents) if a != b or not a), len(extents))


def _bytes(kernel: Kernel, chain: _Chain, depth: int) -> int:
    """Of the intermediates in one iteration of the first `depth` loops."""
    labels = {n.label for n in chain.nests}
    total = sum(bytes_of(t) for t in kernel.temporaries if t.name in labels)
    return total // max(1, prod(constant_extent(n) for n in chain.nests[-1].spatial[:depth]))


def _reuses(chain: _Chain, depth: int) -> bool:
    """True if sums read the same elements in every iteration of the last of the joined loops, which
    are many to each of its elements.
    """
    return any(
        a.stride(n.spatial[depth - 1].var) == 0 and len([m for m in n.loops if a.stride(m.var) != 0]) >= 2
        for n in chain.nests
        if n.reduction
        for a in n.accesses[1:]
    )


def _block(extent: int, most: int) -> int | None:
    """Iterations of a block, at most `most`: a divisor, rather a multiple of 8 or 4; None if
    only small ones are left, or all of it.
    """
    divisors = [
        n
        for n in range(
            CPU_COSTS.chain_block_iterations, min(most, extent - 1, CPU_COSTS.most_chain_block_iterations) + 1
        )
        if extent % n == 0
    ]
    return max(divisors, key=lambda n: (gcd(n, 8), n), default=None)
