"""Clusters of blocks: index, barrier, and the part of a copy that each block orders for others.

Source: PTX ISA 8.0, 9.7.12.3 (barrier.cluster), 9.7.8.24.9 (cp.async.bulk.tensor with
.multicast::cluster), NVIDIA 2022.
"""

from __future__ import annotations

from collections.abc import Set
from itertools import product as places
from math import prod

from texpr.ir.build import add, integer, mul
from texpr.ir.expr import Expr, Node, Read, Tensor, index
from texpr.ir.loop import For, Stmt, axis_of
from texpr.ir.loop_kind import Cluster
from texpr.ir.traverse import children
from texpr.passes.analysis.bulk_boxes import Box
from texpr.support.errors import CompileError
from texpr.support.frozen_dataclass import replace
from texpr.targets.emit.function import Value
from texpr.targets.gpu.emission_context import GpuContext
from texpr.targets.gpu.geometry import AXES, is_warp
from texpr.targets.gpu.warpgroup_instructions import descriptor_operands

ARRIVE, ARRIVE_RELAXED, AWAIT = (
    f"llvm.nvvm.barrier.cluster.{what}.aligned" for what in ("arrive", "arrive.relaxed", "wait")
)


def block_index(emitter: GpuContext, loop: For) -> Value:
    """The block of its cluster, or the cluster of the grid, that this is along an axis; without
    clusters there, the block of the grid.
    """
    axis, (cluster, grid) = axis_of(loop), (emitter.geometry.cluster, emitter.geometry.grid)
    if isinstance(loop.kind, Cluster):
        emitter.in_cluster[axis] = loop.var
        return emitter.special_register(
            "cluster.ctaid", axis, (index(cluster[0]), index(cluster[1]), index(cluster[2]))
        )
    return emitter.special_register("ctaid" if cluster[AXES.index(axis)] == 1 else "clusterid", axis, grid)


def emit_cluster_barrier(emitter: GpuContext, *, relaxed: bool) -> None:
    """Barrier of all threads of a cluster; if `relaxed`, without showing each other what they
    stored, which takes long.
    """
    emitter.intrinsic(ARRIVE_RELAXED if relaxed else ARRIVE, "void")
    emitter.intrinsic(AWAIT, "void")


def read_by_descriptors_alone(nest: Stmt, tensors: Set[Tensor]) -> bool:
    """True if nothing but instructions that take descriptors reads some buffers."""
    stack: list[Node] = [nest]
    seen: set[Node] = set()
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        if isinstance(n, Read) and n.tensor in tensors:
            return False
        if not (is_warp(n) and isinstance(n, For) and descriptor_operands(n)):
            stack += children(n)
    return True


def multicast_part(emitter: GpuContext, box: Box, begins: int, axes: str) -> tuple[Box, str]:
    """The rows of a box that this block orders for those of its cluster along some axes, and how
    many bytes behind its start they go.

    Args:
        begins: bytes of whose multiples parts begin at one.
    """
    count = prod(n for a, n in zip(AXES, emitter.geometry.cluster) if a in axes)
    along = next((k for k, n in enumerate(box.extents) if n > 1), 0)
    rows = box.extents[along] // count
    if box.extents[along] % count or box.bytes // count % begins:
        raise CompileError(
            f"{count} blocks of a cluster order equal parts of a box, of a multiple of {begins} bytes each, "
            f"and that of "
            f"{box.source.name} has {box.extents[along]} rows and {box.bytes} bytes",
            code="target",
            help="clusters of fewer blocks, larger boxes, or bulk copies without multicast",
        )
    mine: Expr = index(0)
    for a in reversed(axes):
        mine = add(mul(mine, index(emitter.geometry.cluster[AXES.index(a)])), emitter.in_cluster[a])
    extents = (*box.extents[:along], rows, *box.extents[along + 1 :])
    corner = (*box.corner[:along], add(box.corner[along], mul(mine, index(rows))), *box.corner[along + 1 :])
    return replace(
        box, extents=extents, corner=corner
    ), f"{emitter.index(mul(mine, index(box.bytes // count)))}"


def multicast_mask(emitter: GpuContext, axes: str) -> str:
    """A bit for each block of the cluster that gets a copy: those with this one's place along
    all other axes. As an i16.
    """
    x, y, _ = emitter.geometry.cluster
    along = (range(n if a in axes else 1) for a, n in zip(AXES, emitter.geometry.cluster))
    bits = sum(1 << i + x * (j + y * k) for i, j, k in places(*along))
    rank: Expr = index(0)
    for a, step, n in zip(AXES, (1, x, x * y), emitter.geometry.cluster):
        if a not in axes and n > 1:
            rank = add(rank, mul(emitter.in_cluster[a], index(step)))
    if integer(rank) == 0:
        return f"{bits}"
    return emitter.function.define(
        f"shl i16 {bits}, {emitter.function.define(f'trunc {emitter.index(rank)} to i16')}"
    )
