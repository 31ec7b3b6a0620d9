"""Tuned numbers of convolutions on CPUs."""

from __future__ import annotations

from dataclasses import dataclass

from texpr.autoschedule.core.cost_model import CostModel, tuned

_TIMES = "times of kernels; processor not recorded"
_REGISTERS = "counts of registers and instructions; no times recorded"


@dataclass(frozen=True)
class ConvolutionCosts(CostModel):
    """Thresholds and block sizes of convolutions on CPUs, which are sums over windows."""

    # direct: copies
    unpacked_panels: int = tuned(2, "panels", _TIMES, "2026-11-22")
    """Panels beside each other in a row of weights that need no packing: a row then is few cache
    lines."""
    packing_positions: int = tuned(32, "positions", _TIMES, "2026-11-22")
    """Positions that share a panel, from which on packing saves more than it costs."""
    channel_lanes_terms: int = tuned(8, "terms", "times of kernels of 9 to 108 terms", "Zen 3, 2026-11-29")
    """Terms of a sum that are worth lanes across channels: its results are transposed in registers on
    their way to memory."""
    channel_lanes: int = tuned(8, "vectors", "rows `1x1, ` of `bench.layers`", "Zen 4, 2026-11-30")
    """Vectors of channels, from which on these are lanes where positions leave many lanes over."""
    idle_position_lanes: int = tuned(8, "part of the positions", "counts of products; no times recorded")
    """One part of so many: if more lanes would have nothing to do, channels are lanes."""
    shared_copy_elements: int = tuned(1 << 16, "elements", _TIMES, "2026-11-22")
    """Elements of a copy that are worth the work of several threads."""
    # direct: blocks
    address_registers: int = tuned(16, "registers", _REGISTERS)
    """Registers for addresses below which as many rows with edges, or loops over blocks of them,
    would not have theirs."""
    block_rows: int = tuned(8, "rows", _TIMES, "2026-11-22")
    """Rows of a block, at least, or what `block_overlaps` says where that is less: blocks copy the
    rows that they share twice."""
    block_overlaps: int = tuned(4, "overlaps of neighbouring windows", _TIMES, "2026-11-23")
    """Rows of a block, as a multiple of those that windows of neighbouring rows share."""
    block_terms: int = tuned(64, "terms", _TIMES, "2026-11-22")
    """Terms of a block for which sums are fetched and put back, at least."""
    value_registers: int = tuned(4, "registers", _REGISTERS)
    """Registers for values for all lanes, where these do not come from memory as an operand."""
    beyond_l2: int = tuned(3, "times a byte in L2", _TIMES, "2026-11-22")
    """Cost of a byte that comes from behind L2."""
    # direct: edges
    outside_share: float = tuned(1 / 40, "share of the terms along a loop", _TIMES, "2026-11-24")
    """Terms outside of the input that are worth ranges without them."""
    outside_share_copied: float = tuned(1 / 16, "share of the terms along a loop", _TIMES, "2026-11-23")
    """Terms outside of the input that are worth copies of loops for the edges."""
    # epilogue
    epilogue_row_l2_fraction: int = tuned(
        2, "part of L2", "rows `conv, bias` of `bench.layers`", "Zen 4, 2026-11-30"
    )
    """One part of so many of L2: a row of positions that fills more is collected tile by tile."""
    # register_tiling
    tile_sums: int = tuned(
        12, "registers", "latency of products: two units of four to five cycles, and some to spare"
    )
    """Registers of sums that keep the units busy."""
    unrolled_taps: int = tuned(7, "terms", _TIMES, "2026-11-23")
    """Terms along a row of a window that are worth copies of the statement."""
    # depthwise
    plane_rows: int = tuned(2, "rows", _REGISTERS)
    """Rows of a tile, whose windows overlap: with more, what is loaded does not fit the registers
    beside weights and sums."""
    two_vector_registers: int = tuned(32, "registers", _REGISTERS)
    """Registers of a machine, from which on rows of a tile have two vectors."""
    unrolled_row_terms: int = tuned(7, "terms", _REGISTERS)
    """Terms along a row of a window that are worth being written out."""
    unrolled_window_terms: int = tuned(9, "terms", _REGISTERS)
    """Terms of a window that are worth being written out."""
    # depthwise_plane
    plane_lanes: int = tuned(4, "elements", "the shortest vectors of f32; no times recorded")
    """Elements of the shortest rows, and lanes of the shortest vectors."""
    plane_vectors: int = tuned(4, "vectors", "times of kernels", "Zen 3, 2026-11-30")
    """Vectors of a row of a plane that is copied, at most."""
    copied_plane_rows: int = tuned(36, "rows", "times of kernels", "Zen 3, 2026-11-30")
    """Rows of a small plane, with zeros around it, that are copied one by one."""
    copied_plane_rows_apart: int = tuned(64, "rows", "rows `groups` of `bench.layers`", "Zen 4, 2026-11-30")
    """The same where lanes are two elements apart, which the copy has as neighbours."""


CONVOLUTION_COSTS = ConvolutionCosts()
"""The costs of convolutions on CPUs."""
