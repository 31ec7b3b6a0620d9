"""Products whose rows are counted by several loops: where these walk through all memory as one,
they become one loop.

    C[l, i, j] = sum(k: A[l, i, k] * B[k, j])   ->   C[li, j] = sum(k: A[li, k] * B[k, j])

So convolutions with windows of one position are products of all positions of all images with the
weights. Tiles of rows need not end where rows of an image do then. Where some rows are left to
another loop, they stay as they are.
"""

from __future__ import annotations

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.collapsible import are_one
from texpr.autoschedule.core.nest import Nest, boundary_iterations, constant_extent, find_nests
from texpr.autoschedule.core.template import NO_REDUCTION, NOT_A_PRODUCT, NoMatch, Scheduled, Stage
from texpr.autoschedule.cpu.gemm.packed import PackedGemm
from texpr.autoschedule.cpu.reduction.reduction_costs import REDUCTION_COSTS
from texpr.ir.expr import Mul
from texpr.ir.loop import For


class CollapsedRows:
    """Large contractions whose rows several loops count: these become one, then the operand is
    packed.
    """

    name, stage = "CollapsedRows", Stage.NESTS

    def match(self, builder: ScheduleBuilder, nest: Nest) -> Nest | NoMatch:
        """The nest, if two of its loops may become one."""
        if not nest.reduction:
            return NO_REDUCTION
        if not _is_alone(nest):
            return NOT_A_PRODUCT
        if _pair(nest) is None:
            return NoMatch("no loops that walk through memory as one")
        return NoMatch("other nests use the same loops") if _is_linked(builder, nest) else nest

    def apply(self, builder: ScheduleBuilder, match: Nest) -> Scheduled | NoMatch | None:
        """The steps, if the joined loops are those of a large contraction."""
        one = _collapsed(builder, match)
        if one is match or _rows(one) > 1:
            return NoMatch("some rows are left to another loop")
        packed = PackedGemm()
        found = packed.match(builder, one)
        return found if isinstance(found, NoMatch) else packed.apply(builder, found)


def collapse_small_product(builder: ScheduleBuilder, nest: Nest) -> Nest:
    """The nest of a product by itself, with one loop in place of those that walk through memory as
    one, where the last of them counts fewer rows than a tile has; other nests as they are.
    """
    is_product = nest.reduction and isinstance(nest.main.value, Mul) and _is_alone(nest)
    pair = _pair(nest) if is_product and len(find_nests(builder.kernel)) == 1 else None
    short = pair is not None and constant_extent(pair[1]) < REDUCTION_COSTS.tile_rows
    return _collapsed(builder, nest) if short else nest


def _is_alone(nest: Nest) -> bool:
    return not (nest.recurrent or nest.outer or nest.enclosing_loops) and len(nest.accesses) == 3


def _collapsed(builder: ScheduleBuilder, nest: Nest) -> Nest:
    """The nest with one loop in place of those that walk through memory as one."""
    one = nest
    while (pair := _pair(one)) is not None:
        outer, inner = pair
        if not builder.try_fuse(outer, inner, outer.var.name + inner.var.name):
            break
        one = next(
            n
            for n in find_nests(builder.kernel)
            if n.main.equation == nest.main.equation and n.label == nest.label
        )
    return one


def _rows(nest: Nest) -> int:
    """Number of loops along which operands that move with the lanes stay, but for those of one
    iteration.
    """
    lane = nest.spatial[-1]
    moving = [a for a in nest.accesses[1:] if a.stride(lane.var) != 0]
    return sum(
        constant_extent(n) != 1 and all(a.stride(n.var) == 0 for a in moving)
        for n in nest.spatial
        if n is not lane
    )


def _pair(nest: Nest) -> tuple[For, For] | None:
    """Two loops that follow each other and walk through all memory of the statement as one;
    edges inside would be everywhere then.
    """
    pairs = zip(nest.spatial, nest.spatial[1:])
    return next(
        (p for p in pairs if are_one(nest, *p) and all(boundary_iterations(nest, n) == (0, 0) for n in p)),
        None,
    )


def _is_linked(builder: ScheduleBuilder, nest: Nest) -> bool:
    """True if the nest uses the result of another nest, or another one uses it: those may be joined
    with its loops as they are.
    """
    computed = {t.name for t in builder.kernel.temporaries} | {nest.label}
    others = (n for n in find_nests(builder.kernel) if n.label != nest.label)
    read = {a.tensor.name for a in nest.accesses[1:]}
    return bool(read & computed) or any(
        a.tensor.name in (nest.label, nest.main.tensor.name) for n in others for a in n.accesses[1:]
    )
