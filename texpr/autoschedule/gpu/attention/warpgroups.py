"""Attention on a GPU whose warpgroups multiply what lies in shared memory: scores, and what becomes
of them, stay in registers.

A block has one or two warpgroups of 64 rows each, and blocks of keys and values that all of them
read. The first product takes both operands from shared memory. Its sums are held as a warp's are
(`targets.gpu.warpgroup_instructions`), so the four warps make of their 16 rows what the warps of
`warps` do, and its exponentials, rounded, are the left operand of the second product in the
registers where they are. Copies run ahead, as boxes where tensors are such.

Source: Shah et al., FlashAttention-3: Fast and Accurate Attention with Asynchrony and
Low-precision, 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.gpu.attention.common import ROWS, weighted
from texpr.autoschedule.gpu.attention.warps import DEEP, TALL, WIDE, ByWarps
from texpr.autoschedule.gpu.row_reduction import LANES
from texpr.autoschedule.gpu.shared_memory import ROW, in_rows, neighbours
from texpr.ir.build import integer
from texpr.schedule.analysis.access import Access
from texpr.schedule.structure.loops import qualified

ELEMENTS = ROW // 2
"""Of a row of an operand, as warpgroups read it."""
WARPS = 4
COLUMNS = (128, 64)
"""Weighted sums of a row that an instruction adds to."""
WIDEST = 128
"""Weighted sums of a row, at most: they stay in registers, those of a block beside those so far."""


class ByWarpgroup(ByWarps):
    """A block has one warpgroup."""

    groups, products = 1, "wgmma_"

    def suits(self) -> bool:
        """As for warps, where whole rows of operands are copied 16 bytes at a time."""
        made, sums = self.parts.nests[self.parts.scores], weighted(self.parts, self.depth)
        accesses = [*made.accesses[1:], *(a for _, a in self.values() or ())]
        narrow = all(constant_extent(n.spatial[-1]) <= WIDEST for n in sums)
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

    def shared_out(self) -> bool:
        parts, self.begun = self.parts, list[str]()
        made = parts.nests[parts.scores]
        # before copies have panels of them
        self.panels, self.terms = self.builder.split_if_longer(
            qualified(made.reduction[-1]), ELEMENTS, "exact"
        )
        for label in (parts.scores, *parts.inside, *parts.runs, *parts.starts, *parts.ends):
            if self.groups > 1:
                group, self.rows[label] = self.builder.split(self.rows[label], ROWS, tail="exact") or ("", "")
                if not group or not self.builder.try_apply("bind", group, "thread.z"):
                    return False
        return super().shared_out()

    def _copied(self, access: Access, at: str, copies: dict[str, str]) -> bool:
        buffer = self.builder.new_buffer("cache_read", access.tensor.name, at)
        if buffer is None:
            return False
        copies[access.tensor.name] = buffer.name
        self.builder.try_apply("set_scope", buffer.name, "shared")
        long = [d for d, n in enumerate(buffer.shape) if integer(n) != 1]
        whole = at == self.along and self.builder.machine.has_bulk_copy
        threads = () if whole else (self.groups, WARPS, LANES) if self.groups > 1 else (WARPS, LANES)
        return (
            len(long) == 2
            and long[1] == buffer.rank - 1
            and in_rows(self.builder, buffer, threads, neighbours(access))
        )

    def _scores(self, made: Nest, copies: dict[str, str]) -> bool:
        """The first product, and what is made of it."""
        builder, label = self.builder, self.parts.scores
        row, column = self.rows[label], qualified(made.spatial[-1])
        cut = self._cut((self.terms, DEEP))
        if cut is None:
            return False
        steps = [*([self.panels] if self.panels else []), cut[0]]
        if not builder.try_apply("reorder", *steps, row, column, cut[1]):
            return False
        builder.try_apply("set_scope", made.main.tensor.name, "register")
        builder.try_apply("set_scope", label, "register")
        return self._begun(row, steps, self.wide) and self._in_warps(row, column)

    def _sums(self, nest: Nest, copy: str, values: Access) -> bool:
        """The second product: exponentials are rounded in the lanes that have them."""
        builder, row = self.builder, self.rows[nest.label]
        width = next(n for n in COLUMNS if constant_extent(nest.spatial[-1]) % n == 0)
        chunks, column = builder.split_if_longer(qualified(nest.spatial[-1]), width, "exact")
        cut = self._cut((qualified(nest.reduction[-1]), self.wide))
        inner = None if cut is None else self._cut((cut[1], DEEP))
        if cut is None or inner is None:
            return False
        block, (steps, term) = cut[0], inner
        around = [chunks] if chunks else []
        if not builder.try_apply("reorder", *around, block, steps, row, column, term):
            return False
        rounded = self._rounded(nest, block)
        if rounded is None:
            return False
        return (
            self._in_warps(*rounded, pairs=True)
            and self._begun(row, [steps], width, "_ra_tb")
            and self._in_warps(row, column, around)
        )

    def _begun(self, row: str, steps: list[str], columns: int, suffix: str = "") -> bool:
        """The tiles of a product, and its zeros before, run by instructions."""
        builder = self.builder
        self.begun.append(steps[0])
        return (
            builder.try_apply("tensorize", row, f"zero_wgmma_n{columns}")
            and builder.try_apply("tensorize", row, self._instruction(columns, suffix), reassoc=True)
            and all([builder.try_apply("unroll", name) for name in steps])
        )

    def _in_warps(self, row: str, column: str, around: Sequence[str] = (), *, pairs: bool = False) -> bool:
        """The elements of 64 rows, each in the lane of its warp that holds it as a sum; of two
        types of 16 bits in `pairs`.
        """
        cut = self._cut((row, TALL), (column, WIDE))
        if cut is None:
            return False
        warps, row, tiles, column = cut
        done = self.builder.try_apply(
            "reorder", warps, *around, tiles, row, column
        ) and self.builder.try_apply("bind", warps, "thread.y")
        share = self._pairs if pairs else self._tiles
        return done and share([*around, tiles], row, column)

    def ahead(self) -> bool:
        """The next block is copied while one is multiplied; the steps of a product are begun
        together.
        """
        builder, along = self.builder, self.along
        return (
            builder.try_apply("pipeline", along, 2, asynchronous=True)
            and all(builder.try_apply("commit_mma_group", loop) for loop in self.begun)
            and (not builder.machine.has_bulk_copy or builder.try_apply("bulk_copy", along))
        )


class ByTwoWarpgroups(ByWarpgroup):
    """A block has two, which read the same keys and values."""

    groups, high = 2, 2 * ROWS

    def suits(self) -> bool:
        """As for one, where that leaves no processor without a block."""
        blocks = prod(map(constant_extent, self.parts.nests[self.home].spatial[: self.depth])) // self.high
        return super().suits() and blocks >= self.builder.machine.processors


BY_WARPGROUPS = (ByTwoWarpgroups, ByWarpgroup)
