"""Shapes of register tiles of matrix products: rows and vectors whose sums stay in registers."""

from __future__ import annotations

from texpr.autoschedule.core.builder import UNBOUNDED, ScheduleBuilder
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.cpu.gemm.gemm_costs import GEMM_COSTS
from texpr.autoschedule.cpu.gemm.packing import WAYS
from texpr.ir.loop import For


def tile_of(
    builder: ScheduleBuilder,
    size: int,
    lanes: int,
    places: int = UNBOUNDED,
    rows: int = 0,
    across: bool = False,
    whole: bool = False,
) -> tuple[int, int]:
    """Width and height of a tile: its sums, a row of the panel and a value for all lanes fit the
    registers.

    Three vectors load least per product; two or four where less is left over, or where a first
    cache has `places` for few rows alone.

    Args:
        rows: how many there are, where tiles of another height may leave fewer over; 0 if that is
            not known.
        across: neighbouring lanes lie apart: of whole tiles of them squares are turned in
            registers, which is fast.
        whole: sums are of whole numbers: a product takes a register of its own before it is added.
    """
    if across and size == lanes:
        return lanes, min(
            GEMM_COSTS.single_register_rows, builder.machine.vector_registers - GEMM_COSTS.spare_registers
        )
    if builder.machine.vector_registers < 32:
        return 2 * lanes, 4 if builder.machine.has_indexed_fma else 5 if whole else 6
    # Where rows take registers too, four vectors of few rows load more than two of many.
    tiles = (
        [(3, 8), (2, 12)]
        if builder.machine.has_indexed_fma
        else [(3, 8), (4, 6), (2, 12 if places >= 12 else WAYS), (2, WAYS)]
    )

    def cost(tile: tuple[int, int]) -> float:
        n, height = tile
        computed = -(-size // (n * lanes)) * n
        if rows >= GEMM_COSTS.block_rows and not builder.machine.has_indexed_fma:
            tall = height_of(rows, height)
            computed *= -(-rows // tall) * tall / rows
        if across and size % (n * lanes):
            computed *= 1 + GEMM_COSTS.ragged_panel_penalty
        if builder.machine.split_load_cost > 1:
            return computed * (
                1 + _loads(-(-size // lanes), n, height) + GEMM_COSTS.l1_conflict_penalty * (height > places)
            )
        return computed * (
            1
            + GEMM_COSTS.packed_width_penalty * abs(n - 3)
            + GEMM_COSTS.few_sums_penalty * (n * height < GEMM_COSTS.few_sums)
            + GEMM_COSTS.l1_conflict_penalty * (height > places)
        )

    vectors, height = min(tiles, key=cost)
    return vectors * lanes, height


def height_of(rows: int, most: int) -> int:
    """As tall as fits, or a little less where nothing is left over; of few rows, as many at a
    time as leave the fewest over.
    """
    if rows < GEMM_COSTS.block_rows:
        return max(range(most // 2, most + 1), key=lambda n: (-(rows % n), n))
    return next((n for n in range(most, most - most // 8 - 1, -1) if rows % n == 0), most)


def product_tile(builder: ScheduleBuilder, nest: Nest, lane: For, row: For, lanes: int) -> tuple[int, int]:
    """Registers beside each other and rows of a tile of a product that is not packed: such that the
    core that has most rows has few; of equal ones the tile of more rows, for which less of the
    panel comes from the second cache.
    """
    registers, rows, vectors = (
        builder.machine.vector_registers,
        constant_extent(row),
        -(-constant_extent(lane) // lanes),
    )
    if nest.outer or nest.enclosing_loops:
        width, height = tile_of(builder, constant_extent(lane), lanes)
        return width // lanes, height_of(rows, height)
    cores = builder.machine.cores if nest.spatial[0] is row else 1

    def cost(tile: tuple[int, int]) -> float:
        n, height = tile
        tiles = -(-rows // height)
        busiest = -(-tiles // cores) * height * cores
        uneven = GEMM_COSTS.remainder_tile_penalty * (vectors % n != 0)
        if builder.machine.split_load_cost > 1:
            return busiest * (1 + uneven + _loads(vectors, n, height, builder.machine.split_load_cost))
        return busiest * (1 + uneven + GEMM_COSTS.tile_shape_penalty * (max(0, height - WAYS) + abs(n - 3)))

    tiles = [
        (n, h) for n in (3, 2, 4) for h in range((registers - 1) // n - 1, GEMM_COSTS.tile_sums // n - 1, -1)
    ]
    return min(tiles, key=cost)


def _loads(vectors: int, n: int, height: int, each: int = 1) -> float:
    """Cost of loads beside products, if rows of `vectors` registers have tiles of `n`, and one of
    the panel counts as `each`.
    """
    return GEMM_COSTS.load_cost * (-(-vectors // n) / vectors / 3 + each / height)
