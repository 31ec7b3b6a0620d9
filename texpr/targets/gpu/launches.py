"""The launches of a GPU artifact at given sizes, in numbers, for loaders and emulators."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from texpr.ir.build import product
from texpr.ir.expr import Expr, Var
from texpr.ir.shapes import evaluate_size
from texpr.support.frozen_dataclass import frozen
from texpr.targets.common.records import Artifact
from texpr.targets.gpu.geometry import check_extents

Extents = tuple[int, int, int]
MapNumbers = tuple[int, str, tuple[int, ...], tuple[int, ...], int]


@frozen
class Plan:
    """One call of a GPU artifact.

    Attributes:
        launches: symbol, grid, block and bytes of shared memory of each launch, in order; launches
            without blocks are left out.
        scratch: bytes of each buffer that is passed between the outputs and the sizes.
        maps: what launches take behind the sizes: of each the position of its array, type, shape,
            box and swizzle (`TensorMap`).
    """

    launches: tuple[tuple[str, Extents, Extents, int], ...]
    scratch: tuple[int, ...]
    maps: tuple[MapNumbers, ...] = ()


def plan(artifact: Artifact, sizes: Mapping[Var, int]) -> Plan:
    """The launches of `artifact` at the given sizes.

    Raises:
        CompileError: a grid or block is larger than a GPU allows.
    """
    launches = []
    for launch in artifact.launches:
        grid, block = _extents(launch.grid, sizes), _extents(launch.block, sizes)
        check_extents(grid, block)
        if prod(grid):
            launches.append((launch.symbol, grid, block, launch.shared_bytes))
    maps = max((launch.maps for launch in artifact.launches), key=len, default=())
    scratch = tuple(evaluate_size(product(t.shape), sizes) * t.dtype.bytes for t in artifact.scratch)
    return Plan(tuple(launches), scratch, tuple((m.tensor, m.dtype, m.shape, m.box, m.swizzle) for m in maps))


def _extents(extents: tuple[Expr, Expr, Expr], sizes: Mapping[Var, int]) -> Extents:
    x, y, z = (max(0, evaluate_size(e, sizes)) for e in extents)
    return x, y, z
