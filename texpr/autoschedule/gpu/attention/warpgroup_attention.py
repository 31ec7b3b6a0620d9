"""Attention on a GPU whose warpgroups multiply what lies in shared memory: scores, and what becomes
of them, stay in registers.

A block has one or two warpgroups of 64 rows each, and blocks of keys and values that all of them
read. The first product takes both operands from shared memory. Its sums are held as a warp's are
(`targets.gpu.warpgroup_instructions`), so the four warps make of their 16 rows what the warps of
`warp_attention` do, and its exponentials, rounded, are the left operand of the second product in
the registers where they are. Copies run ahead, as boxes where tensors are such.

Source: Shah et al., FlashAttention-3: Fast and Accurate Attention with Asynchrony and
Low-precision, 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from texpr.autoschedule.core.handles import LoopHandle, handle
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.template import NoMatch
from texpr.autoschedule.gpu.attention.attention_costs import ATTENTION_COSTS
from texpr.autoschedule.gpu.attention.common import ROWS, weighted
from texpr.autoschedule.gpu.attention.warp_attention import DEEP, TALL, WIDE, ByWarps
from texpr.autoschedule.gpu.row_reduction import LANES
from texpr.autoschedule.gpu.shared_memory import ROW, in_rows, neighbours
from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.schedule.analysis.access import Access

ELEMENTS = ROW // 2
"""Elements of 16 bits of a row of an operand, as warpgroups read it."""
WARPS = 4
"""Warps of a warpgroup."""
COLUMNS = (128, 64)
"""Weighted sums of a row that an instruction adds to."""


class ByWarpgroup(ByWarps):
    """A block has one warpgroup."""

    groups, products = 1, "wgmma_"

    def suits(self) -> bool:
        """As for warps, where whole rows of operands are copied 16 bytes at a time."""
        made, sums = self.parts.nests[self.parts.scores], weighted(self.parts, self.depth)
        accesses = [*made.accesses[1:], *(a for _, a in self.values() or ())]
        narrow = all(constant_extent(n.spatial[-1]) <= ATTENTION_COSTS.warpgroup_sums for n in sums)
        plain = all(a.stride(made.reduction[-1].var) == 1 for a in made.accesses[1:])
        full = self.fills([(made.reduction[-1], ELEMENTS), *((n.spatial[-1], ELEMENTS) for n in sums)])
        return (
            bool(accesses)
            and narrow
            and plain
            and full
            and all(neighbours(a) == 16 // a.tensor.dtype.bytes for a in accesses)
            and self._instruction(self.wide) in self.builder.machine.instructions
        )

    def _instruction(self, columns: int, suffix: str = "") -> str:
        return f"wgmma_{self.kind()}_n{columns}{suffix}"

    def share_out(self) -> NoMatch | None:
        """As warps do, each warpgroup with rows of its own."""
        parts, self.begun = self.parts, list[LoopHandle]()
        made = parts.nests[parts.scores]
        # before copies have panels of them
        self.panels, self.terms = self.builder.split_if_longer(made.reduction[-1], ELEMENTS, "exact")
        for label in (parts.scores, *parts.inside, *parts.runs, *parts.starts, *parts.ends):
            if self.groups > 1:
                group, self.rows[label] = self._cut(self.rows[label], ROWS)
                self.builder.apply("bind", group, "thread.z")
        return super().share_out()

    def _copy(self, access: Access, at: LoopHandle) -> Tensor | None:
        """A copy of an operand in shared memory, in swizzled rows."""
        buffer = self.builder.new_buffer("cache_read", access.tensor, at)
        self.builder.try_apply("set_scope", buffer, "shared")
        long = [d for d, n in enumerate(buffer.shape) if integer(n) != 1]
        if len(long) != 2 or long[1] != buffer.rank - 1:
            return None
        whole = at == self.along and self.builder.machine.has_bulk_copy
        threads = () if whole else (self.groups, WARPS, LANES) if self.groups > 1 else (WARPS, LANES)
        in_rows(self.builder, buffer, threads, neighbours(access))
        return buffer

    def _scores(self, made: Nest, copies: dict[Tensor, Tensor]) -> bool:
        """The first product, and what is made of it."""
        builder, label = self.builder, self.parts.scores
        row, column = self.rows[label], handle(made.spatial[-1])
        parts, term = self._cut(self.terms, DEEP)
        steps = [*filter(None, [self.panels]), parts]
        builder.apply("reorder", *steps, row, column, term)
        builder.try_apply("set_scope", made.main.tensor, "register")
        builder.try_apply("set_scope", label, "register")
        self._begin(row, steps, self._instruction(self.wide), self.wide)
        self._share_warps(row, column)
        return True

    def _sum(self, nest: Nest, copy: Tensor, values: Access) -> bool:
        """The second product: exponentials are rounded in the lanes that have them."""
        builder, row = self.builder, self.rows[nest.label]
        width = next(n for n in COLUMNS if constant_extent(nest.spatial[-1]) % n == 0)
        chunks, column = builder.split_if_longer(nest.spatial[-1], width, "exact")
        block, within = self._cut(nest.reduction[-1], self.wide)
        steps, term = self._cut(within, DEEP)
        around = [] if chunks is None else [chunks]
        builder.apply("reorder", *around, block, steps, row, column, term)
        rounded_row, rounded_column = self._round(nest, block)
        self._share_warps(rounded_row, rounded_column, pairs=True)
        self._begin(row, [steps], self._instruction(width, "_ra_tb"), width)
        self._share_warps(row, column, around)
        return True

    def _begin(self, row: LoopHandle, steps: list[LoopHandle], instruction: str, columns: int) -> None:
        """Replace the tiles of a product, and its zeros before, by instructions."""
        self.begun.append(steps[0])
        self.builder.apply("tensorize", row, f"zero_wgmma_n{columns}")
        self.builder.apply("tensorize", row, instruction, reassoc=True)
        for loop in steps:
            self.builder.apply("unroll", loop)

    def _share_warps(
        self, row: LoopHandle, column: LoopHandle, around: Sequence[LoopHandle] = (), *, pairs: bool = False
    ) -> None:
        """The elements of 64 rows, each in the lane of its warp that holds it as a sum; of two
        types of 16 bits in `pairs`.
        """
        warps, row = self._cut(row, TALL)
        tiles, column = self._cut(column, WIDE)
        self.builder.apply("reorder", warps, *around, tiles, row, column)
        self.builder.apply("bind", warps, "thread.y")
        share = self._share_pairs if pairs else self._share_tiles
        share([*around, tiles], row, column)

    def run_ahead(self) -> None:
        """Copy the next block while one is multiplied; begin the steps of a product together."""
        self.builder.apply("pipeline", self.along, 2, asynchronous=True)
        for loop in self.begun:
            self.builder.apply("commit_mma_group", loop)
        if self.builder.machine.has_bulk_copy:
            self.builder.apply("bulk_copy", self.along)


class ByTwoWarpgroups(ByWarpgroup):
    """A block has two, which read the same keys and values."""

    groups, high = 2, 2 * ROWS

    def suits(self) -> bool:
        """As for one, where that leaves no processor without a block."""
        blocks = prod(map(constant_extent, self.parts.nests[self.home].spatial[: self.depth])) // self.high
        return super().suits() and blocks >= self.builder.machine.processors


BY_WARPGROUPS = (ByTwoWarpgroups, ByWarpgroup)
