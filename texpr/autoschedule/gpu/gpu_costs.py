"""Tuned numbers of the default schedules for GPUs.

Most were chosen by counting what a multiprocessor has room for; of few a time is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass

from texpr.autoschedule.core.cost_model import CostModel, tuned

_RESOURCES = "registers, shared memory and blocks of a multiprocessor; no times recorded"
_INSTRUCTIONS = "counts of instructions; no times recorded"
_TRAFFIC = "elements that are read from memory; no times recorded"


@dataclass(frozen=True)
class GpuCosts(CostModel):
    """Thresholds of products, convolutions, sums and rows on GPUs."""

    # contraction, gemm, warpgroup_gemm
    tile_side: int = tuned(32, "rows or columns", _TRAFFIC)
    """Rows and columns from which on a tile of a block pays; half as many terms are enough, and
    large tiles are for more than twice as many rows and columns."""
    few_tiles: int = tuned(128, "tiles", _RESOURCES)
    """Tiles below which smaller ones keep more processors busy."""
    buffers: int = tuned(4, "buffers", _RESOURCES)
    """Buffers of an operand in shared memory, at most, where warps or threads multiply: copies of
    the next terms fill the others meanwhile."""
    unrolled_terms: int = tuned(
        2, "terms", "counts of instructions: 9 of 10 in the inner loop multiply, 64 of 74 did without"
    )
    """Terms of a thread's sums without a jump: of more, so many operands are fetched ahead that
    registers are spilled, or one block alone has them."""
    # warpgroup_gemm
    warpgroup_buffers: int = tuned(4, "buffers", _RESOURCES)
    """Buffers of an operand in shared memory, at most, where warpgroups multiply."""
    tile_efficiency: float = tuned(0.8, "share of the best tile's", _TRAFFIC)
    """Share of its elements that a tile must use, against the tile that fits best, to be taken for
    its size."""
    resident_blocks: int = tuned(2, "blocks", _RESOURCES)
    """Blocks of a processor at once: more are not worth fewer buffers."""
    cluster_blocks: int = tuned(2, "blocks", _RESOURCES)
    """Blocks of a cluster: more of them wait for each other, and find room together on fewer
    processors."""
    other_registers: int = tuned(56, "registers", _RESOURCES)
    """Registers of a thread beside those for its sums."""
    # persistent_grid
    grid_rows_saved: int = tuned(8, "part of the rows and columns that are read", _TRAFFIC)
    """One in so many rows less that are read make another order of tiles worth it."""
    grid_more_rounds: int = tuned(32, "part of the rounds", _RESOURCES)
    """One in so many rounds more than single tiles would take are worth it."""
    # shared_memory
    unrolled_copy_rounds: int = tuned(8, "rounds", _INSTRUCTIONS)
    """Rounds of a copy to shared memory that are worth code of their own."""
    # convolution
    convolution_channels: int = tuned(8, "channels", _RESOURCES)
    """Channels from which on a block has some of them."""
    convolution_positions: int = tuned(32, "positions", _RESOURCES)
    """Positions from which on a block has a box of them."""
    convolution_terms: int = tuned(8, "terms", _TRAFFIC)
    """Terms from which on a tile of both operands pays."""
    position_threads: int = tuned(32, "threads", _RESOURCES)
    """Threads of a block along positions."""
    channel_threads: int = tuned(8, "threads", _RESOURCES)
    """Threads of a block along channels."""
    thread_positions: int = tuned(4, "positions", _RESOURCES)
    """Positions of a thread, where it has no short loop over positions as a whole."""
    thread_channels: int = tuned(8, "channels", _RESOURCES)
    """Channels of a thread, if there are enough blocks."""
    few_blocks: int = tuned(128, "blocks", _RESOURCES)
    """Blocks below which smaller ones keep more processors busy."""
    tile_terms: int = tuned(64, "terms", _RESOURCES)
    """Terms of a tile, at most."""
    tile_bytes: int = tuned(32 << 10, "bytes", _RESOURCES)
    """Bytes of shared memory for a tile, at most: several blocks run at once."""
    unrolled_products: int = tuned(320, "products", _INSTRUCTIONS)
    """Products of a thread that are written out, at most."""
    window_places: int = tuned(25, "places", _RESOURCES)
    """Places of a window that a thread may have all of, which then share what they read."""
    # row_reduction
    row_warps: int = tuned(8, "warps", _RESOURCES)
    """Warps of a row, at most."""
    row_vectors: int = tuned(4, "vectors", _RESOURCES)
    """Vectors of a row for each thread, from which on more warps take part."""
    rows_per_block: int = tuned(4, "rows", _RESOURCES)
    """Rows of a block, where a warp has one."""
    row_registers: int = tuned(64, "elements", _RESOURCES)
    """Elements of a row that a thread keeps in registers, at most."""
    short_row: int = tuned(32, "elements", _RESOURCES)
    """Elements of a row below which some lanes of a warp would have none."""
    # sums
    few_sums: int = tuned(64, "sums", _RESOURCES)
    """Sums that leave most of the processors idle."""
    long_column: int = tuned(256, "terms", _RESOURCES)
    """Terms of a column from which on several threads share it."""
    part_terms: int = tuned(1 << 13, "terms", _RESOURCES)
    """Terms of a part of a long sum."""
    most_parts: int = tuned(1 << 9, "parts", _RESOURCES)
    """Parts of a long sum, at most; longer sums have longer parts."""
    column_threads: int = tuned(512, "threads", "times of a step of training", "H200, 2026-11")
    """Threads of a block that sums columns, where blocks would be few."""


GPU_COSTS = GpuCosts()
"""The costs of default schedules for GPUs."""
