"""Attention on a GPU in the arithmetic of threads: lanes have terms of rows, which they fold,
and sums beside each other.
"""

from __future__ import annotations

from texpr.autoschedule.core.handles import LoopHandle, handle, handles, sum_loop
from texpr.autoschedule.core.layouts import layout_with_last_dim
from texpr.autoschedule.core.nest import constant_extent
from texpr.autoschedule.core.template import NoMatch
from texpr.autoschedule.gpu.attention.attention_costs import ATTENTION_COSTS
from texpr.autoschedule.gpu.attention.common import OTHER_LOOPS, OTHER_OPERANDS, ROWS, Work
from texpr.autoschedule.gpu.gpu_costs import GPU_COSTS
from texpr.autoschedule.gpu.row_reduction import LANES
from texpr.autoschedule.gpu.shared_memory import copied
from texpr.ir.build import integer
from texpr.ir.expr import Tensor

EACH = ROWS // GPU_COSTS.row_warps
"""Rows of a warp."""


class ByThreads(Work):
    """A warp has eight rows."""

    def share_out(self) -> NoMatch | None:
        """Share rows among warps, what is beside them among lanes."""
        parts = self.parts
        made = parts.nests[parts.scores]
        for access in made.accesses[1:]:
            moves = access.stride(made.spatial[-1].var) != 0
            self._copy(access.tensor, self.along if moves else self.block, turned=moves)
        sums = self.values()
        if sums is None:
            return OTHER_OPERANDS
        for n, values in sums:
            if not 0 < constant_extent(n.spatial[-1]) <= ATTENTION_COSTS.thread_sums:
                return NoMatch("rows of more weighted sums than stay in registers")
            self._copy(values.tensor, self.along, turned=False)
        labels = (parts.scores, *parts.inside, *parts.runs, *parts.starts, *parts.ends)
        return next(filter(None, map(self._share, labels)), None)

    def _copy(self, tensor: Tensor, at: LoopHandle, *, turned: bool) -> None:
        """Copy what a block reads to shared memory; neighbours along the scores become
        neighbours.
        """
        builder = self.builder
        buffer = copied(builder, tensor, at, (GPU_COSTS.row_warps, LANES), 1)
        if turned:
            first = next(d for d, n in enumerate(buffer.shape) if integer(n) != 1)
            builder.apply("layout", buffer, layout_with_last_dim(buffer, first))
            # what lanes write begins in different banks
            builder.apply("pad", buffer, buffer.rank - 1, 1, extra=1)

    def _share(self, label: str) -> NoMatch | None:
        builder, nest, inner = self.builder, self.parts.nests[label], self.inner(label)
        warps, rows = builder.split(self.rows[label], EACH, tail="exact")
        builder.apply("bind", warps, "thread.y")
        if len(inner) > 1:
            return OTHER_LOOPS
        if inner:
            self._lanes(label, (warps, rows), inner[0], handles(nest.reduction))
        elif nest.reduction:
            self._fold(label, rows, handle(nest.reduction[-1]))
        else:
            builder.apply("bind", rows, "thread.x")
        return None

    def _lanes(
        self, label: str, rows: tuple[LoopHandle, LoopHandle], inner: LoopHandle, terms: list[LoopHandle]
    ) -> None:
        """Lanes have neighbours, and each some rows, whose sums stay in registers."""
        builder, own = self.builder, self.parts.nests[label].tensor_name
        parts, lanes = builder.split_if_longer(inner, LANES, "guard")
        written = [rows[1], *filter(None, [parts])]
        steps = [
            loop
            for t in terms
            for loop in builder.split_if_longer(t, ATTENTION_COSTS.unrolled_terms, "guard")
            if loop
        ]
        builder.apply("reorder", rows[0], lanes, *steps, *written)
        builder.apply("bind", lanes, "thread.x")
        for loop in (*written, *steps[1:2]):
            builder.try_apply("unroll", loop)
        sums = self.parts.accumulator(label)
        if sums is not None:
            builder.try_apply("set_scope", sums, "register")
        if own in (t.name for t in builder.kernel.temporaries) and own not in self.parts.outside:
            # Lanes use each other's factors of sums, along which the terms run.
            builder.try_apply("set_scope", own, "shared" if label in self.parts.inside else "register")

    def _fold(self, label: str, rows: LoopHandle, terms: LoopHandle) -> None:
        """Lanes take terms of a row, and fold what they have."""
        builder, nest = self.builder, self.parts.nests[label]
        parts, lanes = builder.split_if_longer(terms, LANES, "guard")
        partial = builder.new_buffer("rfactor", lanes, reassoc=True)
        builder.try_apply("set_scope", partial, "register")
        builder.apply("bind", lanes, "thread.x")
        for loop in filter(None, [parts, rows]):
            builder.try_apply("unroll", loop)
        builder.apply("tensorize", sum_loop(lanes), f"warp_{nest.main.update}_{nest.main.tensor.dtype}")

    def run_ahead(self) -> None:
        """No copy runs ahead of threads that use it."""
