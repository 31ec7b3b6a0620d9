"""Attention on a GPU with products on tensor cores: what is between them stays in the registers
that the first one left it in.

A warp has 16 rows of a block. Which lane holds which sums of a tile is also how lanes hold a tile
of factors (`targets.gpu.warp_instructions`), so scores become exponentials, and these, rounded,
factors of the second product, without a word to other lanes. Four lanes have the elements of a row
between them, and fold its extreme and its sum (`quad_max_f32`, `quad_add_f32`).

Source: Dao, FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning, 2023.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.autoschedule.core.handles import LoopHandle, copy_loops
from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.core.template import NoMatch
from texpr.autoschedule.gpu.attention.attention_costs import ATTENTION_COSTS
from texpr.autoschedule.gpu.attention.common import NO_TILE, OTHER_LOOPS, OTHER_OPERANDS, ROWS, Work, weighted
from texpr.autoschedule.gpu.mma_fragments import whole_lanes
from texpr.autoschedule.gpu.row_reduction import LANES
from texpr.autoschedule.gpu.shared_memory import fragments, shared_units
from texpr.ir.build import integer
from texpr.ir.expr import Cast, Expr, Mul, Tensor
from texpr.ir.loop import For
from texpr.ir.machine import Machine
from texpr.schedule.analysis.access import Access

TALL, WIDE, DEEP = 16, 8, 16
"""Rows, columns and terms of an instruction's tile (PTX ISA, `mma`)."""
WARPS = ROWS // TALL


def _factors(value: Expr) -> str | None:
    """The type that both factors of a product of f32 have before they are converted; None if they
    have none, or different ones.
    """
    match value:
        case Mul(Cast(a), Cast(b)) if a.dtype == b.dtype and value.dtype.name == "f32":
            return a.dtype.name
    return None


class ByWarps(Work):
    """Every nest has its loops over rows cut into warps and lanes, those beside them into tiles
    of columns and lanes.
    """

    tiles, products = True, "mma_"

    @classmethod
    def known_to(cls, machine: Machine) -> bool:
        """True if a machine multiplies tiles in this way."""
        return any(name.startswith(cls.products) for name in machine.instructions)

    def suits(self) -> bool:
        """True if the machine multiplies tiles of the factors of both products, and these fill all
        of their sizes.
        """
        made, sums = self.parts.nests[self.parts.scores], weighted(self.parts, self.depth)
        sizes = [(made.reduction[-1], DEEP), *((n.spatial[-1], DEEP) for n in sums)]
        plain = all(a.stride(made.reduction[-1].var) == 1 for a in made.accesses[1:])
        narrow = all(constant_extent(n.spatial[-1]) <= ATTENTION_COSTS.warp_sums for n in sums)
        return (
            plain
            and narrow
            and self.fills(sizes)
            and f"mma_{self.kind()}" in self.builder.machine.instructions
        )

    def fills(self, sizes: Sequence[tuple[For, int]]) -> bool:
        """True if tiles fill loops of known extents, and blocks those over rows and terms of
        scores.
        """
        rows, terms = self.parts.nests[self.parts.scores].spatial[-2:]
        return all(
            constant_extent(n) > 0 == constant_extent(n) % by
            for n, by in ((rows, self.high), (terms, self.wide), *sizes)
        )

    def kind(self) -> str | None:
        """The type of the factors of both products; None if they differ, or there is one product
        alone.
        """
        made, sums = self.parts.nests[self.parts.scores], weighted(self.parts, self.depth)
        kinds = {_factors(n.main.value) for n in (made, *sums)}
        return kinds.pop() if sums and len(kinds) == 1 else None

    def share_out(self) -> NoMatch | None:
        """Share the rows of all nests among warps, tiles of products among lanes."""
        parts, made = self.parts, self.parts.nests[self.parts.scores]
        copies: dict[Tensor, Tensor] = {}
        for access in made.accesses[1:]:
            moves = access.stride(made.spatial[-1].var) != 0
            copy = self._copy(access, self.along if moves else self.block)
            if copy is None:
                return NO_TILE
            copies[access.tensor] = copy
        sums = self.values()
        if sums is None:
            return OTHER_OPERANDS
        for _, values in sums:
            copy = self._copy(values, self.along)
            if copy is None:
                return NO_TILE
            copies[values.tensor] = copy
        if not self._scores(made, copies):
            return NO_TILE
        if not all(self._sum(n, copies[values.tensor], values) for n, values in sums):
            return NO_TILE
        done = {parts.scores, *(n.label for n, _ in sums)}
        rest = [n for n in (*parts.inside, *parts.runs, *parts.starts, *parts.ends) if n not in done]
        return next(filter(None, map(self._share, rest)), None)

    def _copy(self, access: Access, at: LoopHandle) -> Tensor | None:
        """A copy of an operand in shared memory; None if its parts are no tiles."""
        return shared_units(self.builder, access, at, (WARPS, LANES))

    def _cut(self, loop: LoopHandle | For, size: int) -> tuple[LoopHandle, LoopHandle]:
        """The outer and the inner loop of full tiles."""
        return self.builder.split(loop, size, tail="exact")

    def _scores(self, made: Nest, copies: dict[Tensor, Tensor]) -> bool:
        """The first product, and what is made of it; True if operands are tiles."""
        builder, label = self.builder, self.parts.scores
        rows, columns = made.spatial[-2:]
        warps, row = self._cut(self.rows[label], TALL)
        tiles, column = self._cut(columns, WIDE)
        steps, term = self._cut(made.reduction[-1], DEEP)
        builder.apply("reorder", warps, steps, tiles, row, column, term)
        builder.try_apply("set_scope", made.main.tensor, "register")
        builder.try_apply("set_scope", label, "register")
        for access in made.accesses[1:]:
            along = columns if access.stride(columns.var) != 0 else rows
            if not fragments(builder, copies[access.tensor], access, steps, along):
                return False
        self._multiply(row, steps)
        builder.apply("bind", warps, "thread.y")
        self._share_tiles([tiles], row, column)
        return True

    def _multiply(self, row: LoopHandle, steps: LoopHandle) -> None:
        """Replace the tiles of a product, and its zeros before, by instructions."""
        self.builder.apply("tensorize", row, "zero_mma_f32")
        self.builder.apply("tensorize", row, f"mma_{self.kind()}", reassoc=True)
        self.builder.apply("unroll", steps)

    def _sum(self, nest: Nest, copy: Tensor, values: Access) -> bool:
        """The second product: exponentials are rounded in the lanes that have them; True if
        operands are tiles.
        """
        builder = self.builder
        chunks, columns = builder.split_if_longer(
            nest.spatial[-1], ATTENTION_COSTS.warp_sums_at_once, "exact"
        )
        warps, row = self._cut(self.rows[nest.label], TALL)
        tiles, column = self._cut(columns, WIDE)
        steps, term = self._cut(nest.reduction[-1], DEEP)
        around = [] if chunks is None else [chunks]
        builder.apply("reorder", warps, *around, steps, tiles, row, column, term)
        rounded_row, rounded_column = self._round(nest, steps)
        if not fragments(builder, copy, values, steps, nest.spatial[-1]):
            return False
        self._multiply(row, steps)
        rounded_tiles, within = self._cut(rounded_column, WIDE)
        builder.apply("reorder", rounded_tiles, rounded_row, within)
        self._share_pairs([rounded_tiles], rounded_row, within)
        builder.apply("bind", warps, "thread.y")
        self._share_tiles([*around, tiles], row, column)
        return True

    def _round(self, nest: Nest, at: LoopHandle) -> list[LoopHandle]:
        """Keep sums and the factors of a second product in registers, the factors rounded at a
        loop; the loops over their rows and terms.
        """
        builder = self.builder
        for name in (nest.main.tensor.name, nest.tensor_name):
            builder.try_apply("set_scope", name, "register")
        used = next(a.tensor for a in nest.accesses[1:] if a.tensor.name in self.parts.inside)
        factors = builder.new_buffer("cache_read", used, at, dtype=self.kind())
        builder.try_apply("set_scope", factors, "register")
        return copy_loops(factors, (d for d, n in enumerate(factors.shape) if integer(n) != 1))

    def _share_tiles(self, around: list[LoopHandle], row: LoopHandle, column: LoopHandle) -> None:
        """The elements of tiles of 16 rows and 8 columns, each in the lane that holds it as a
        sum.
        """
        pair = whole_lanes(self.builder, around, row, column)
        for loop in (*around, pair):
            self.builder.apply("unroll", loop)

    def _share_pairs(self, around: list[LoopHandle], row: LoopHandle, column: LoopHandle) -> None:
        """As `_share_tiles`, of what fills a register in pairs."""
        pair = whole_lanes(self.builder, around, row, column)
        for loop in around:
            self.builder.apply("unroll", loop)
        self.builder.apply("vectorize", pair)

    def _share(self, label: str) -> NoMatch | None:
        """Schedule the nests that are neither product: elements of tiles, what rows are folded to,
        or a number for each row.
        """
        builder, nest, inner = self.builder, self.parts.nests[label], self.inner(label)
        warps, rows = self._cut(self.rows[label], TALL)
        builder.apply("bind", warps, "thread.y")
        if len(inner) > 1 or inner and nest.reduction:
            return OTHER_LOOPS
        if nest.reduction:
            self._fold(nest, rows)
        elif not inner:
            builder.apply("bind", rows, "thread.x")
        else:
            tiles, column = self._cut(inner[0], WIDE)
            builder.apply("reorder", tiles, rows, column)
            own = nest.tensor_name
            if own in (t.name for t in builder.kernel.temporaries) and own not in self.parts.outside:
                builder.try_apply("set_scope", own, "register")
            self._share_tiles([tiles], rows, column)
        return None

    def _fold(self, nest: Nest, rows: LoopHandle) -> None:
        """Each of four lanes takes the elements of a row that it has, then they fold what they
        took.
        """
        builder, update = self.builder, nest.main.update
        tiles, within = self._cut(nest.reduction[-1], WIDE)
        fours, pair = self._cut(within, 2)
        partial = builder.new_buffer("rfactor", fours, reassoc=True)
        builder.try_apply("set_scope", partial, "register")
        builder.apply("fission", rows)
        halves, eighth = self._cut(rows, 8)
        builder.apply("reorder", halves, eighth, fours, tiles, pair)
        permitted = {"reassoc": True} if update == "add" else {}
        builder.apply("tensorize", eighth, f"quad_{update}_{nest.main.tensor.dtype}", **permitted)
        builder.apply("bind", builder.fuse(eighth, fours, "lane"), "thread.x")
        builder.apply("bind", eighth, "thread.x")
        for loop in (halves, tiles, pair):
            builder.apply("unroll", loop)

    def run_ahead(self) -> None:
        """Copy the next block while one is multiplied, where threads go on meanwhile."""
        if self.builder.machine.has_async_copy:
            before = self.builder.checkpoint()
            if self.builder.try_apply("pipeline", self.along, 2, asynchronous=True) and not self.fits():
                self.builder.rollback(before)
