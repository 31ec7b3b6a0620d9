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

from texpr.autoschedule.core.nest import Nest, constant_extent
from texpr.autoschedule.gpu.attention.common import ROWS, Work, weighted
from texpr.autoschedule.gpu.mma_fragments import whole_lanes
from texpr.autoschedule.gpu.row_reduction import LANES
from texpr.autoschedule.gpu.shared_memory import fragments, shared_units
from texpr.ir.build import integer
from texpr.ir.expr import Cast, Expr, Mul
from texpr.ir.loop import For
from texpr.ir.machine import Machine
from texpr.schedule.analysis.access import Access
from texpr.schedule.structure.loops import qualified

TALL, WIDE, DEEP = 16, 8, 16
"""Rows, columns and terms of an instruction's tile."""
WARPS = ROWS // TALL
COLUMNS = 64
"""Weighted sums of a row that are added up at a time."""
WIDEST = 192
"""Weighted sums of a row, at most: they stay in registers, and leave room for a tile of both
products.
"""


def _factors(value: Expr) -> str:
    """The type that both factors of a product of f32 have before they are converted; empty if
    they have none, or different ones.
    """
    match value:
        case Mul(Cast(a), Cast(b)) if a.dtype == b.dtype and value.dtype.name == "f32":
            return a.dtype.name
    return ""


class ByWarps(Work):
    """Every nest has its loops over rows cut into warps and lanes, those beside them into tiles
    of columns and lanes.
    """

    tiles, products = True, "mma_"

    @classmethod
    def known_to(cls, machine: Machine) -> bool:
        """Whether a machine multiplies tiles in this way."""
        return any(name.startswith(cls.products) for name in machine.instructions)

    def suits(self) -> bool:
        """Whether the machine multiplies tiles of the factors of both products, and these fill
        all of their sizes.
        """
        made, sums = self.parts.nests[self.parts.scores], weighted(self.parts, self.depth)
        sizes = [(made.reduction[-1], DEEP), *((n.spatial[-1], DEEP) for n in sums)]
        plain = all(a.stride(made.reduction[-1].var) == 1 for a in made.accesses[1:])
        narrow = all(constant_extent(n.spatial[-1]) <= WIDEST for n in sums)
        return (
            plain
            and narrow
            and self.fills(sizes)
            and f"mma_{self.kind()}" in self.builder.machine.instructions
        )

    def fills(self, sizes: Sequence[tuple[For, int]]) -> bool:
        """Whether tiles fill loops of known extents, and blocks those over rows and terms of
        scores.
        """
        rows, terms = self.parts.nests[self.parts.scores].spatial[-2:]
        return all(
            constant_extent(n) > 0 == constant_extent(n) % by
            for n, by in ((rows, self.high), (terms, self.wide), *sizes)
        )

    def kind(self) -> str:
        """The type of the factors of both products; empty if they differ, or there is one
        product alone.
        """
        made, sums = self.parts.nests[self.parts.scores], weighted(self.parts, self.depth)
        kinds = {_factors(n.main.value) for n in (made, *sums)}
        return kinds.pop() if sums and len(kinds) == 1 else ""

    def shared_out(self) -> bool:
        parts, made = self.parts, self.parts.nests[self.parts.scores]
        copies: dict[str, str] = {}
        for access in made.accesses[1:]:
            moves = access.stride(made.spatial[-1].var) != 0
            if not self._copied(access, self.along if moves else self.block, copies):
                return False
        sums = self.values()
        if sums is None or not all([self._copied(values, self.along, copies) for _, values in sums]):
            return False
        if not self._scores(made, copies):
            return False
        if not all(self._sums(n, copies[values.tensor.name], values) for n, values in sums):
            return False
        done = {parts.scores, *(n.label for n, _ in sums)}
        rest = [n for n in (*parts.inside, *parts.runs, *parts.starts, *parts.ends) if n not in done]
        return all(map(self._rest, rest))

    def _copied(self, access: Access, at: str, copies: dict[str, str]) -> bool:
        if not shared_units(self.builder, access, at, (WARPS, LANES)):
            return False
        copies[access.tensor.name] = self.builder.kernel.temporaries[-1].name
        return True

    def _cut(self, *loops: tuple[str, int]) -> list[str] | None:
        """Names of the outer and inner loops of full tiles."""
        found: list[str] = []
        for name, size in loops:
            cut = self.builder.split(name, size, tail="exact")
            if cut is None:
                return None
            found += cut
        return found

    def _scores(self, made: Nest, copies: dict[str, str]) -> bool:
        """The first product, and what is made of it."""
        builder, label = self.builder, self.parts.scores
        rows, columns = made.spatial[-2:]
        cut = self._cut(
            (self.rows[label], TALL), (qualified(columns), WIDE), (qualified(made.reduction[-1]), DEEP)
        )
        if cut is None:
            return False
        warps, row, tiles, column, steps, term = cut
        if not builder.try_apply("reorder", warps, steps, tiles, row, column, term):
            return False
        builder.try_apply("set_scope", made.main.tensor.name, "register")
        builder.try_apply("set_scope", label, "register")
        for access in made.accesses[1:]:
            along = columns if access.stride(columns.var) != 0 else rows
            if not fragments(builder, copies[access.tensor.name], access, steps, along):
                return False
        return (
            self._multiplied(row, steps)
            and builder.try_apply("bind", warps, "thread.y")
            and self._tiles([tiles], row, column)
        )

    def _multiplied(self, row: str, steps: str) -> bool:
        """The tiles of a product, and its zeros before, run by instructions."""
        builder, kind = self.builder, self.kind()
        return (
            builder.try_apply("tensorize", row, "zero_mma_f32")
            and builder.try_apply("tensorize", row, f"mma_{kind}", reassoc=True)
            and builder.try_apply("unroll", steps)
        )

    def _sums(self, nest: Nest, copy: str, values: Access) -> bool:
        """The second product: exponentials are rounded in the lanes that have them."""
        builder, label = self.builder, nest.label
        chunks, columns = builder.split_if_longer(qualified(nest.spatial[-1]), COLUMNS, "exact")
        cut = self._cut((self.rows[label], TALL), (columns, WIDE), (qualified(nest.reduction[-1]), DEEP))
        if cut is None:
            return False
        warps, row, tiles, column, steps, term = cut
        around = [chunks] if chunks else []
        if not builder.try_apply("reorder", warps, *around, steps, tiles, row, column, term):
            return False
        rounded = self._rounded(nest, steps)
        if (
            rounded is None
            or not fragments(builder, copy, values, steps, nest.spatial[-1])
            or not self._multiplied(row, steps)
        ):
            return False
        high, wide = rounded
        inner = self._cut((wide, WIDE))
        done = (
            inner is not None
            and builder.try_apply("reorder", inner[0], high, inner[1])
            and self._pairs([inner[0]], high, inner[1])
        )
        return (
            done
            and builder.try_apply("bind", warps, "thread.y")
            and self._tiles([*around, tiles], row, column)
        )

    def _rounded(self, nest: Nest, at: str) -> tuple[str, str] | None:
        """Sums and the factors of a second product go to registers, the factors rounded at a
        loop: the loops over their rows and terms.
        """
        builder = self.builder
        for name in (nest.main.tensor.name, nest.label.partition(".")[0]):
            builder.try_apply("set_scope", name, "register")
        used = next(a.tensor.name for a in nest.accesses[1:] if a.tensor.name in self.parts.inside)
        factors = builder.new_buffer("cache_read", used, at, dtype=self.kind())
        if factors is None:
            return None
        builder.try_apply("set_scope", factors.name, "register")
        rows, terms = (f"{factors.name}.d{d}" for d, n in enumerate(factors.shape) if integer(n) != 1)
        return rows, terms

    def _tiles(self, around: list[str], row: str, column: str) -> bool:
        """The elements of tiles of 16 rows and 8 columns, each in the lane that holds it as a
        sum.
        """
        pair = whole_lanes(self.builder, around, row, column)
        return bool(pair) and all([self.builder.try_apply("unroll", name) for name in (*around, pair)])

    def _pairs(self, around: list[str], row: str, column: str) -> bool:
        """As `_tiles`, of what fills a register in pairs."""
        pair = whole_lanes(self.builder, around, row, column)
        return (
            bool(pair)
            and all([self.builder.try_apply("unroll", name) for name in around])
            and self.builder.try_apply("vectorize", pair)
        )

    def _rest(self, label: str) -> bool:
        """What is neither product: elements of tiles, what rows are folded to, or a number for
        each row.
        """
        builder, nest = self.builder, self.parts.nests[label]
        inner = self.names(label)[1]
        if label in (*self.parts.inside, *self.parts.runs):
            inner = inner[1:]
        cut = self._cut((self.rows[label], TALL))
        if cut is None or not builder.try_apply("bind", cut[0], "thread.y"):
            return False
        if nest.reduction:
            return not inner and self._folded(nest, cut[1])
        if not inner:
            return builder.try_apply("bind", cut[1], "thread.x")
        tiles = self._cut((inner[-1], WIDE))
        own = label.partition(".")[0]
        if len(inner) > 1 or tiles is None or not builder.try_apply("reorder", tiles[0], cut[1], tiles[1]):
            return False
        if own in (t.name for t in builder.kernel.temporaries) and own not in self.parts.outside:
            builder.try_apply("set_scope", own, "register")
        return self._tiles([tiles[0]], cut[1], tiles[1])

    def _folded(self, nest: Nest, rows: str) -> bool:
        """Each of four lanes takes the elements of a row that it has, then they fold what they
        took.
        """
        builder, update = self.builder, nest.main.update
        cut = self._cut((qualified(nest.reduction[-1]), WIDE))
        parts = None if cut is None else self._cut((cut[1], 2))
        if (
            cut is None
            or parts is None
            or (partial := builder.new_buffer("rfactor", parts[0], reassoc=True)) is None
        ):
            return False
        builder.try_apply("set_scope", partial.name, "register")
        if not builder.try_apply("fission", rows):
            return False
        halves = self._cut((rows, 8))
        if halves is None or not builder.try_apply("reorder", *halves, parts[0], cut[0], parts[1]):
            return False
        permitted = {"reassoc": True} if update == "add" else {}
        if not builder.try_apply(
            "tensorize", halves[1], f"quad_{update}_{nest.main.tensor.dtype}", **permitted
        ):
            return False
        if not builder.try_apply("fuse", halves[1], parts[0], name="lane") or not builder.try_apply(
            "bind", f"{nest.label}.lane", "thread.x"
        ):
            return False
        return builder.try_apply("bind", halves[1], "thread.x") and all(
            [builder.try_apply("unroll", n) for n in (halves[0], cut[0], parts[1])]
        )

    def ahead(self) -> bool:
        """The next block is copied while one is multiplied, where threads go on meanwhile."""
        if self.builder.machine.has_async_copy:
            before = self.builder.checkpoint()
            if self.builder.try_apply("pipeline", self.along, 2, asynchronous=True) and not self.fits():
                self.builder.rollback(before)
        return True
