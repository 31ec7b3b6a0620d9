"""Software prefetch of operands that sums take from beyond the second cache, each element once or
for few tiles.

A tile of sums in registers takes a few elements of such an operand for each term: weights of which
a panel is used for one tile of positions, or for few. Hardware foresees too few lines of such slow
streams. So the loop over terms asks for what it needs some terms later, or, where several tiles use
a panel, for the same terms of the next panel. Where many tiles use it, waiting for its first use
costs little.
"""

from __future__ import annotations

from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import extent
from texpr.autoschedule.cpu.finishing.finishing_costs import FINISHING_COSTS
from texpr.autoschedule.cpu.gemm.packing import LINE
from texpr.ir.affine import Linear
from texpr.ir.build import integer
from texpr.ir.expr import Read, Tensor
from texpr.ir.loop import For, Store
from texpr.ir.loop_kind import SERIAL, UNROLLED, VECTOR
from texpr.ir.traverse import walk
from texpr.passes.analysis.row_major import flat_index
from texpr.schedule.structure.loops import all_loops, loops_around, stores
from texpr.schedule.structure.tensors import bytes_of
from texpr.support.frozen_dataclass import frozen


@frozen
class _Use:
    """Use of an operand by a loop over the terms of sums in registers.

    Attributes:
        step: bytes that an iteration takes, if these lie side by side, behind those of the
            iteration before, in few lines; else 0.
        panel: the innermost loop around that moves to other elements, if there is one.
        times: how often the loops between use the same elements.
    """

    loop: For
    step: int
    panel: For | None
    times: int


def prefetch_streams(builder: ScheduleBuilder) -> None:
    """Ask, in loops over the terms of sums, for elements of operands that come from afar: what the
    second cache does not hold, and weights, in whose place are others since the last call.
    """
    caches, kernel = builder.machine.caches[:2], builder.kernel
    kept = [t for t in kernel.temporaries if builder.is_kept(t)]
    for tensor in (*kernel.inputs, *kept) if caches else ():
        nearby = caches[0] if tensor in kept or builder.is_constant(tensor) else caches[-1]
        if bytes_of(tensor) > nearby:
            uses = _uses(builder, tensor)
            for name in dict.fromkeys(u.loop.var.name for u in uses):
                _ask(builder, tensor, [u for u in uses if u.loop.var.name == name])


def _ask(builder: ScheduleBuilder, tensor: Tensor, uses: list[_Use]) -> None:
    """Ask in all loops of one name, which steps do not tell apart."""
    if not all(u.step for u in uses):
        return
    distance = -(-FINISHING_COSTS.stream_bytes // min(u.step for u in uses))
    times = max(sum(u.times for u in uses if u.panel == each.panel) for each in uses)
    loop, panel = uses[0].loop, uses[0].panel
    if times == 1:
        if all(extent(u.loop) >= FINISHING_COSTS.prefetch_distances * distance for u in uses):
            builder.try_apply("prefetch", tensor, loop, distance)
    elif times <= FINISHING_COSTS.stream_uses and panel is not None:
        builder.try_apply("prefetch", tensor, panel, 1, at=loop)


def _uses(builder: ScheduleBuilder, tensor: Tensor) -> list[_Use]:
    found: list[_Use] = []
    for loop in filter(_is_over_terms, all_loops(builder.kernel)):
        places = [
            flat_index(tensor, n.indices)
            for n in walk(*loop.body)
            if isinstance(n, Read) and n.tensor is tensor
        ]
        if places:
            around = loops_around(builder.kernel, loop)
            moving = [k for k, n in enumerate(around) if any(p.coefficient(n.var) for p in places)]
            inner = around[moving[-1] + 1 :] if moving else around
            panel = around[moving[-1]] if moving else None
            found.append(_Use(loop, _step(loop, places, tensor), panel, prod(map(extent, inner))))
    return found


def _is_over_terms(loop: For) -> bool:
    """True if an iteration adds products to sums in registers alone."""
    inner = [n for n in walk(*loop.body) if isinstance(n, For)]
    return (
        loop.kind == SERIAL
        and bool(inner)
        and all(n.kind in (VECTOR, UNROLLED) for n in inner)
        and all(s.update == "add" and _factors(s) > 1 for s in stores(loop))
    )


def _factors(s: Store) -> int:
    return len({n.tensor for n in walk(s.value) if isinstance(n, Read)})


def _step(loop: For, places: list[Linear], tensor: Tensor) -> int:
    """The `step` of a use, whose reads are all alike."""
    place, inner = places[0], [n for n in walk(*loop.body) if isinstance(n, For)]
    taken = 1
    for stride, count in sorted((place.coefficient(n.var), integer(n.extent) or 0) for n in inner):
        if stride and stride != taken:
            return 0
        taken *= count if stride else 1
    size = taken * tensor.dtype.bytes
    dense = len(places) == 1 and place.coefficient(loop.var) == taken
    return size if dense and size <= FINISHING_COSTS.stream_lines * LINE else 0
