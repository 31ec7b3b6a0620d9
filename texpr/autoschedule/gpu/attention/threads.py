"""Attention on a GPU in the arithmetic of threads: lanes have terms of rows, which they fold,
and sums beside each other.
"""

from __future__ import annotations

from texpr.autoschedule.core.layouts import layout_with_last_dim
from texpr.autoschedule.core.nest import constant_extent
from texpr.autoschedule.gpu.attention.common import ROWS, Work
from texpr.autoschedule.gpu.row_reduction import LANES, MOST_WARPS
from texpr.autoschedule.gpu.shared_memory import copied
from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.schedule.structure.loops import qualified

EACH = ROWS // MOST_WARPS
"""Rows of a warp."""
WIDEST = 128
"""Weighted sums of a row, at most: they stay in registers."""
STEP = 4
"""Terms of a product that are written out: neighbours of a row come from shared memory at once."""


class ByThreads(Work):
    """A warp has eight rows."""

    def shared_out(self) -> bool:
        """Rows among warps, what is beside them among lanes."""
        parts = self.parts
        made = parts.nests[parts.scores]
        for access in made.accesses[1:]:
            moves = access.stride(made.spatial[-1].var) != 0
            if not self._copied(access.tensor, self.along if moves else self.block, turned=moves):
                return False
        weighted = self.values()
        if weighted is None:
            return False
        for n, values in weighted:
            if not 0 < constant_extent(n.spatial[-1]) <= WIDEST or not self._copied(
                values.tensor, self.along, turned=False
            ):
                return False
        for label in (parts.scores, *parts.inside, *parts.runs, *parts.starts, *parts.ends):
            if not self._threads(label):
                return False
        return True

    def _copied(self, tensor: Tensor, at: str, *, turned: bool) -> bool:
        """Copy what a block reads to shared memory; neighbours along the scores become
        neighbours.
        """
        builder = self.builder
        buffer = copied(builder, tensor, at, (MOST_WARPS, LANES), 1)
        if buffer is None or not turned:
            return buffer is not None
        first = next(d for d, n in enumerate(buffer.shape) if integer(n) != 1)
        if not builder.try_apply("layout", buffer.name, layout_with_last_dim(buffer, first)):
            return False
        return builder.try_apply(
            "pad", buffer.name, buffer.rank - 1, 1, extra=1
        )  # what lanes write begins in different banks

    def _threads(self, label: str) -> bool:
        builder, nest = self.builder, self.parts.nests[label]
        _, inner = self.names(label)
        if label in (*self.parts.inside, *self.parts.runs):
            inner = inner[1:]
        cut = builder.split(self.rows[label], EACH, tail="exact")
        if cut is None or not builder.try_apply("bind", cut[0], "thread.y"):
            return False
        if inner:
            return self._lanes(label, cut, inner, [qualified(n) for n in nest.reduction])
        if nest.reduction:
            return self._folded(label, cut[1], qualified(nest.reduction[-1]))
        return builder.try_apply("bind", cut[1], "thread.x")

    def _lanes(self, label: str, rows: tuple[str, str], inner: list[str], terms: list[str]) -> bool:
        """Lanes have neighbours, and each some rows, whose sums stay in registers."""
        builder = self.builder
        parts, lanes = builder.split_if_longer(inner[-1], LANES, "guard")
        written = [rows[1], *([parts] if parts else [])]
        steps = [name for t in terms for name in (builder.split_if_longer(t, STEP, "guard")) if name]
        if len(inner) != 1 or not builder.try_apply("reorder", rows[0], lanes, *steps, *written):
            return False
        if not builder.try_apply("bind", lanes, "thread.x"):
            return False
        for name in (*written, *steps[1:2]):
            builder.try_apply("unroll", name)
        own = label.partition(".")[0]
        if any(t.name == f"{own}_acc" for t in builder.kernel.temporaries):
            builder.try_apply("set_scope", f"{own}_acc", "register")
        if own in (t.name for t in builder.kernel.temporaries) and own not in self.parts.outside:
            # Lanes use each other's factors of sums, along which the terms run.
            builder.try_apply("set_scope", own, "shared" if label in self.parts.inside else "register")
        return True

    def _folded(self, label: str, rows: str, terms: str) -> bool:
        """Lanes take terms of a row, and fold what they have."""
        builder, nest = self.builder, self.parts.nests[label]
        parts, lanes = builder.split_if_longer(terms, LANES, "guard")
        if (partial := builder.new_buffer("rfactor", lanes, reassoc=True)) is None:
            return False
        builder.try_apply("set_scope", partial.name, "register")
        if not builder.try_apply("bind", lanes, "thread.x"):
            return False
        for name in (parts, rows):
            if name:
                builder.try_apply("unroll", name)
        return builder.try_apply(
            "tensorize", f"{lanes}_sum", f"warp_{nest.main.update}_{nest.main.tensor.dtype}"
        )
