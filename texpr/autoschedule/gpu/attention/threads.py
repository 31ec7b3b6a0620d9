"""Attention on a GPU in the arithmetic of threads: lanes have terms of rows, which they fold, and sums beside each other."""

from __future__ import annotations

from texpr.autoschedule.core.layouts import with_last
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
            if not 0 < constant_extent(n.spatial[-1]) <= WIDEST or not self._copied(values.tensor, self.along, turned=False):
                return False
        for label in (parts.scores, *parts.inside, *parts.runs, *parts.starts, *parts.ends):
            if not self._threads(label):
                return False
        return True

    def _copied(self, tensor: Tensor, at: str, *, turned: bool) -> bool:
        """Copy what a block reads to shared memory; neighbours along the scores become neighbours."""
        plan = self.plan
        buffer = copied(plan, tensor, at, (MOST_WARPS, LANES), 1)
        if buffer is None or not turned:
            return buffer is not None
        first = next(d for d, n in enumerate(buffer.shape) if integer(n) != 1)
        if not plan.step("layout", buffer.name, with_last(buffer, first)):
            return False
        return plan.step("pad", buffer.name, buffer.rank - 1, 1, extra=1)  # what lanes write begins in different banks

    def _threads(self, label: str) -> bool:
        plan, nest = self.plan, self.parts.nests[label]
        _, inner = self.names(label)
        if label in (*self.parts.inside, *self.parts.runs):
            inner = inner[1:]
        cut = plan.split(self.rows[label], EACH, tail="exact")
        if cut is None or not plan.step("bind", cut[0], "thread.y"):
            return False
        if inner:
            return self._lanes(label, cut, inner, [qualified(n) for n in nest.reduction])
        if nest.reduction:
            return self._folded(label, cut[1], qualified(nest.reduction[-1]))
        return plan.step("bind", cut[1], "thread.x")

    def _lanes(self, label: str, rows: tuple[str, str], inner: list[str], terms: list[str]) -> bool:
        """Lanes have neighbours, and each some rows, whose sums stay in registers."""
        plan = self.plan
        parts, lanes = plan.cut(inner[-1], LANES, "guard")
        written = [rows[1], *([parts] if parts else [])]
        steps = [name for t in terms for name in (plan.cut(t, STEP, "guard")) if name]
        if len(inner) != 1 or not plan.step("reorder", rows[0], lanes, *steps, *written):
            return False
        if not plan.step("bind", lanes, "thread.x"):
            return False
        for name in (*written, *steps[1:2]):
            plan.step("unroll", name)
        own = label.partition(".")[0]
        if any(t.name == f"{own}_acc" for t in plan.kernel.temporaries):
            plan.step("scope", f"{own}_acc", "register")
        if own in (t.name for t in plan.kernel.temporaries) and own not in self.parts.outside:
            # Lanes use each other's factors of sums, along which the terms run.
            plan.step("scope", own, "shared" if label in self.parts.inside else "register")
        return True

    def _folded(self, label: str, rows: str, terms: str) -> bool:
        """Lanes take terms of a row, and fold what they have."""
        plan, nest = self.plan, self.parts.nests[label]
        parts, lanes = plan.cut(terms, LANES, "guard")
        if not plan.step("rfactor", lanes, reassoc=True):
            return False
        plan.step("scope", plan.kernel.temporaries[-1].name, "register")
        if not plan.step("bind", lanes, "thread.x"):
            return False
        for name in (parts, rows):
            if name:
                plan.step("unroll", name)
        return plan.step("tensorize", f"{lanes}_sum", f"warp_{nest.main.update}_{nest.main.tensor.dtype}")
