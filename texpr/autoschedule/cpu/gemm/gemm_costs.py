"""Tuned numbers of matrix products on CPUs.

Penalties are shares of what the products of a tile cost; the fraction of a cache is one part of so
many equal ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from texpr.autoschedule.core.cost_model import CostModel, tuned

_TIMES = "times of kernels; processor not recorded"
_FEW_ROWS = "times of products of 512 to 1024 columns and terms: 1.05 to 1.37 times as fast"
_REGISTERS = "counts of registers and instructions; no times recorded"


@dataclass(frozen=True)
class GemmCosts(CostModel):
    """Thresholds, block sizes and penalties of matrix products on CPUs."""

    # packed: when an operand is packed
    packing_rows: int = tuned(32, "rows", _TIMES, "2026-11-22")
    """Rows that share an operand, from which on packing it saves more than it costs."""
    packed_once_rows: int = tuned(8, "rows", "bench/layers.py, nn.Linear in eval", "Zen 4, 2026-12-01")
    """The same of constant operands, which are packed once."""
    panel_rows: int = tuned(12, "rows", "bench/layers.py, 1x1 taps in eval", "Zen 3, 2026-11-30")
    """The same where panels are copied to L1 one after the other, since a tile of 16 registers reads
    little of each."""
    collapsed_lane_rows: int = tuned(128, "rows", _TIMES, "2026-11-25")
    """The same where lanes are those of a collapsed loop: they are full without packing."""
    lane_sum_terms: int = tuned(16, "terms for each row", _TIMES, "2026-11-22")
    """Terms of a sum for each row that shares a panel, beyond which few rows are better off with
    lanes along the terms."""
    idle_lane_fraction: int = tuned(4, "part of the lanes", _TIMES, "2026-11-25")
    """One lane of so many may be idle: more idle lanes cost more than rows that lie apart."""
    # packed: blocks
    block_terms: int = tuned(1024, "terms", _TIMES, "2026-11-22")
    """Terms up to which sums do not go back to memory: L2 holds a few panels of so many rows."""
    block_rows: int = tuned(64, "rows", _TIMES, "2026-11-22")
    """Rows that one thread works on at a time, at least; fewer rows are few."""
    most_block_rows: int = tuned(512, "rows", _TIMES, "2026-11-20")
    """Rows that one thread works on at a time, at most."""
    small_block_l2_fraction: int = tuned(16, "part of L2", _TIMES, "2026-11-25")
    """L2 is so many times as large as a small block, which is taken where loads that cross cache
    lines are dear."""
    panel_l1_fraction: int = tuned(4, "part of L1", "bench/layers.py, 1x1 taps in eval", "Zen 3, 2026-11-30")
    """One part of so many of L1 holds a block of panels that are copied just before they are used."""
    uneven_block_fraction: int = tuned(32, "part of a core's work", _TIMES, "2026-11-24")
    """One part of so many more work for the busiest core is worth larger blocks."""
    uneven_work_fraction: int = tuned(8, "part of all the work", _TIMES, "2026-11-25")
    """One part of so many more for the busiest core makes it better to share out rows."""
    unrolled_pair_rows: int = tuned(256, "rows", _TIMES, "2026-11-23")
    """Rows from which on code for two terms of each sum runs often enough to be worth its length,
    and a copy pays whose registers are cache lines, where loads that cross these are dear. With
    fewer rows such code, among other kernels, takes longer."""
    filled_tiles: int = tuned(16, "tiles", _TIMES, "2026-11-22")
    """Full tiles beside which one may be filled up with zeros: idle computation costs less than the
    code of a remainder loop."""
    # packed: shape of a register tile
    tile_sums: int = tuned(16, "registers", _REGISTERS)
    """Registers of sums in a tile, at least: they take as long to add to as one addition does, and
    less is loaded than is multiplied."""
    l1_conflict_penalty: float = tuned(0.1, "share of a tile's products", _TIMES, "2026-11-23")
    """Added where rows of a tile evict each other from L1."""
    remainder_tile_penalty: float = tuned(0.02, "share of a tile's products", _TIMES, "2026-11-25")
    """Added where tiles of fewer registers are left over."""
    ragged_panel_penalty: float = tuned(0.1, "share of a tile's products", _TIMES, "2026-11-25")
    """Added where a panel is transposed that has no whole number of tiles."""
    tile_shape_penalty: float = tuned(0.003, "share of a tile's products", _TIMES, "2026-11-25")
    """Added, in products that are not packed, for each row that is one more than L1 has ways, and
    for each register more or fewer than three."""
    packed_width_penalty: float = tuned(0.014, "share of a tile's products", _TIMES, "2026-11-24")
    """Added, in packed products, for each register more or fewer than three."""
    load_cost: float = tuned(
        4, "products", "times of products of 64 to 512, fitted", "Zen 5 and Granite Rapids, 2026-11-25"
    )
    """Loads beside products that wait for them; the load of a value for all lanes costs a third."""
    few_sums: int = tuned(18, "registers", _TIMES, "2026-11-24")
    """Registers of sums below which `few_sums_penalty` is added."""
    few_sums_penalty: float = tuned(0.005, "share of a tile's products", _TIMES, "2026-11-24")
    """Added where as much is loaded for fewer products, as in tiles of two registers of eight
    rows."""
    single_register_rows: int = tuned(16, "rows", _REGISTERS)
    """Rows of a tile that is one register wide, at most."""
    spare_registers: int = tuned(4, "registers", _REGISTERS)
    """Registers that a tile one register wide leaves to loads."""
    # packing
    packing_prefetch_bytes: int = tuned(256, "bytes", _TIMES, "2026-11-25")
    """Bytes of a row that are asked for before they are packed."""
    # indexed_fma
    indexed_row_tiles: int = tuned(4, "tiles", _TIMES, "2026-11-22")
    """Tiles of lanes that share rows, from which on copying these rows saves more than it costs."""
    indexed_terms: int = tuned(4, "terms", "what LLVM loads ahead of products; no times recorded")
    """Terms of a sum that are added together with 32 registers; half as many with 16."""
    # dot_instructions
    dot_rows: int = tuned(4, "rows", _TIMES, "2026-11-22")
    """Rows from which on dot instructions are taken."""
    panel_load_rows: float = tuned(0.5, "rows", _TIMES, "2026-11-25")
    """Rows whose products take as long as a load of the panel."""
    dot_width_penalty: float = tuned(0.02, "share of a tile's products", _TIMES, "2026-11-22")
    """Added for each register of a tile more than two, and for a tile of one."""
    dot_load_penalty: float = tuned(0.15, "share of a tile's products", _TIMES, "2026-11-25")
    """Added for tiles one register wide, which load about as much as they multiply, where two
    products begin in a cycle."""
    dot_copy_elements: int = tuned(64, "elements", _TIMES, "2026-11-22")
    """Elements of a row that are copied together."""
    # matrix_instructions
    unrolled_groups: int = tuned(2, "groups of terms", _TIMES, "2026-11-24")
    """Groups of terms that are added in an iteration."""
    # tile_registers
    tile_register_side: int = tuned(8, "rows or columns", _TIMES, "2026-11-25")
    """Rows and columns from which on operands are packed for tile registers."""
    tile_fill_share: float = tuned(1 / 4, "share of the products", _TIMES, "2026-11-25")
    """Share of the products of tile registers that is no filling, below which other instructions do
    as much."""
    tile_rows_l1_fraction: int = tuned(3, "part of L1", _TIMES, "2026-11-25")
    """The part of L1 that rows of the left operand of products in tile registers have."""
    prefetch_rows: int = tuned(2, "rows", _TIMES, "2026-11-25")
    """Rows ahead for which rows from far away are asked for."""
    prefetch_groups: int = tuned(4, "rows of groups of terms", _TIMES, "2026-11-25")
    """The same of rows of groups of terms."""
    # skinny
    skinny_least_rows: int = tuned(16, "rows", _FEW_ROWS, "Zen 4, 2026-11-25")
    """Rows of a skinny product, at least; with fewer one walks along rows of the operand
    (`cpu.reduction.streaming`)."""
    skinny_rows: int = tuned(64, "rows", _FEW_ROWS, "Zen 4, 2026-11-25")
    """Rows of a skinny product, at most; for more a copy pays (`cpu.gemm.packed`)."""
    copied_skinny_rows: int = tuned(128, "rows", "times of kernels", "Granite Rapids, 2026-11-26")
    """The same where loads that cross cache lines are dear, so that the operand is copied anyway:
    it is copied on its way."""
    wide_tile_rows: int = tuned(4, "rows", "times of kernels", "Granite Rapids, 2026-11-26")
    """Rows of a tile that is four registers wide: runs of four cache lines are read while the
    operand is far, so more lines are on their way."""
    skinny_idle_lane_fraction: int = tuned(16, "part of the lanes", _TIMES, "2026-11-25")
    """One lane of so many may be idle in skinny products."""
    skinny_operand_l2s: int = tuned(4, "L2", _TIMES, "2026-11-25")
    """Second caches that the operand of a skinny product may fill: the third cache holds it then,
    and a page of it serves several strips."""
    skinny_operand_l2_fraction: int = tuned(8, "part of L2", "times of kernels", "Granite Rapids, 2026-11-26")
    """One part of so many of L2: a skinny product's operand of this size is copied faster than it
    comes."""
    strip_l2_fraction: int = tuned(4, "part of L2", _TIMES, "2026-11-25")
    """One part of so many of L2, which a strip of the operand may fill."""


GEMM_COSTS = GemmCosts()
"""The costs of matrix products on CPUs."""
