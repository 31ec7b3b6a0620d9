"""Sums weighted by exponentials of scores on a GPU, such as attention: one kernel, in which scores never reach memory.

The equations are rewritten to blocks with a maximum that runs along (`online`). A block of threads has some rows: it walks along the
blocks of terms, computes the scores of each, and adds to sums that stay in registers. Each warp has rows of its own, whose extremes and
sums its lanes fold. Rows whose terms end at a diagonal walk up to there.

Source: Dao et al., FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness, NeurIPS 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from texpr.ir.build import integer
from texpr.ir.expr import Read, Tensor
from texpr.ir.loop import For
from texpr.ir.traverse import variables, walk
from texpr.schedule.loops import qualified
from texpr.schedule.nests import Nest, constant_extent, find_nests
from texpr.schedule.packing import with_last
from texpr.schedule.plan import Plan
from texpr.schedule.rows import LANES, MOST_WARPS
from texpr.schedule.staging import copied, is_product

ROWS, TERMS = 64, 64
"""Rows and terms of a block."""
EACH = ROWS // MOST_WARPS
"""Rows of a warp."""
LEAST = 32
"""Elements that a row of scores has of each operand, at least."""
WIDEST = 128
"""Weighted sums of a row, at most: they stay in registers."""
REST_BYTES = 8 << 10
"""Of shared memory, for paddings and for what else is computed of a block of rows."""
STEP = 4
"""Terms of a product that are written out: neighbours of a row come from shared memory at once."""


def attended(plan: Plan) -> bool:
    """Schedule the nests around the first maximum that allows it; whether there is one."""
    nests = find_nests(plan.kernel)
    found = (n.label for n in nests if n.main.update == "max" and _of_products(plan, n, nests))
    return any(plan.whole(lambda label=label: _scheduled(plan, label)) is not None for label in found)


def _of_products(plan: Plan, maximum: Nest, nests: list[Nest]) -> bool:
    """Whether these are maxima along rows of an intermediate that is a sum of products, of constant sizes."""
    read = maximum.accesses[1].tensor
    scores = [n for n in nests if n.label == read.name]
    if len(maximum.reduction) != 1 or len(maximum.accesses) != 2 or read not in plan.kernel.temporaries or len(scores) != 1:
        return False
    made = scores[0]
    enough = all(constant_extent(n) >= LEAST for n in made.spatial[-2:]) and len(made.spatial) == len(maximum.spatial) + 1
    return enough and made.main.update == "add" and len(made.reduction) == 1 and is_product(made.main.value)


def _moves(terms: For, rows: Sequence[For]) -> bool:
    """Whether the number of terms differs from row to row, along one of these loops alone."""
    moving = variables(terms.extent)
    return bool(moving) and moving <= {n.var for n in rows}


@dataclass(slots=True)
class _Parts:
    """Labels of nests, in the order of the kernel.

    Attributes:
        starts, runs: of what runs along the blocks: before the first one, from one to the next.
        inside: what is computed for each block.
        ends: what is computed of rows after the last block.
        outside: tensors that other nests read.
    """

    nests: dict[str, Nest]
    scores: str
    starts: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    outside: set[str] = field(default_factory=set)


def _scheduled(plan: Plan, maximum: str) -> list[str] | None:
    before = {n.label for n in find_nests(plan.kernel)}
    old = next(n for n in find_nests(plan.kernel) if n.label == maximum)
    scores, depth = old.accesses[1].tensor.name, len(old.spatial)
    along = {"rows": ROWS} if _moves(old.reduction[0], old.spatial[-1:]) else {}
    if not plan.step("online", maximum, TERMS, **along, reassoc=True):
        return None
    parts = _parts(plan, before, scores, depth)
    if parts is None:
        return None
    work = _Work(plan, parts, depth)
    return work.done() if work.moved() and work.shared_out() and work.fits() else None


def _parts(plan: Plan, before: set[str], scores: str, depth: int) -> _Parts | None:
    """What the nests are; None if some have other loops than rows and blocks."""
    nests = {n.label: n for n in find_nests(plan.kernel)}
    running = {label[:-2] for label in nests if label.endswith(".1") and label not in before}
    lengths = {t.name: integer(t.shape[depth]) for t in plan.kernel.temporaries if t.rank > depth}
    blocks = max((lengths[r] or 0 for r in running), default=0) - 1
    for label, n in nests.items():
        if label not in before and len(n.spatial) > depth and not n.reduction and lengths.get(label) == blocks + 1:
            if label.partition(".")[0] not in running and not plan.step("inline", label):
                return None
    nests = {n.label: n for n in find_nests(plan.kernel)}
    parts = _Parts(nests, scores)
    final = set(running)
    for s in plan.kernel.body:
        assert isinstance(s, For)
        label, read = s.tensor, {n.tensor.name for n in walk(s) if isinstance(n, Read)}
        own = label.partition(".")[0]
        if own in running:
            (parts.runs if label.endswith(".1") else parts.starts).append(label)
        elif label not in before and len(nests[label].spatial) > depth and lengths.get(label) == blocks:
            parts.inside.append(label)
        elif read & final and _of_rows(nests[label], final, depth):
            parts.ends.append(label)
            final.add(own)
        elif label != scores:
            parts.outside |= read
    return parts if scores in nests and parts.runs and parts.ends else None


def _of_rows(nest: Nest, final: set[str], depth: int) -> bool:
    """Whether a nest computes, of each row by itself, what it reads of such tensors."""
    rows = [n.var for n in nest.spatial[:depth]]
    used = [a for a in nest.accesses[1:] if a.tensor.name in final]
    aligned = all(len(a.indices) >= depth and all(i is v for i, v in zip(a.indices, rows)) for a in used)
    return not nest.reduction and not nest.again and len(nest.spatial) in (depth, depth + 1) and aligned


class _Work:
    """The steps, all of which have to be possible."""

    def __init__(self, plan: Plan, parts: _Parts, depth: int) -> None:
        self.plan, self.parts, self.depth = plan, parts, depth
        self.rows: dict[str, str] = {}
        self.home = parts.ends[-1]
        self.last = parts.runs[-1]

    def _names(self, label: str) -> tuple[list[str], list[str]]:
        """Qualified names of the loops over rows, and of those inside."""
        names = [qualified(n) for n in self.parts.nests[label].spatial]
        return names[: self.depth], names[self.depth :]

    def moved(self) -> bool:
        """All nests under one loop over blocks of rows, and one over blocks of terms."""
        plan, parts = self.plan, self.parts
        for label in (*parts.inside, *parts.runs, *parts.starts, *parts.ends):
            rows, inner = self._names(label)
            cut = plan.split(rows[-1], ROWS)
            if cut is None:
                return False
            self.rows[label] = cut[1]
            if label not in (*parts.ends, *parts.starts) and not plan.step("reorder", *rows[:-1], cut[0], inner[0], cut[1], *inner[1:]):
                return False
            if label == self.home:
                self.block, self.outer = cut[0], rows[:-1]
            if label == self.last:
                self.along = inner[0]
        self.rows[parts.scores] = self._names(parts.scores)[0][-1]
        def at(labels: list[str], loop: str) -> bool:
            return all(plan.step("compute_at", label, loop, recompute=False) for label in reversed(labels))

        ordered = [n for n in parts.nests if n in (*parts.inside, *parts.runs) and n != self.last]
        return (at(parts.ends[:-1], self.block) and at(ordered, self.along) and at([self.last], self.block) and at(parts.starts, self.block)
                and plan.step("compute_at", parts.scores, self.along, recompute=True)
                and all(plan.step("fold", label[:-2], self.depth) for label in parts.runs))

    def shared_out(self) -> bool:
        """Rows among warps, what is beside them among lanes."""
        parts = self.parts
        made = parts.nests[parts.scores]
        for access in made.accesses[1:]:
            moves = access.stride(made.spatial[-1].var) != 0
            if not self._copied(access.tensor, self.along if moves else self.block, turned=moves):
                return False
        weighted = [n for label in parts.runs if (n := parts.nests[label]).reduction and len(n.spatial) > self.depth + 1]
        for n in weighted:
            others = [a.tensor for a in n.accesses[1:] if a.tensor.name not in (*parts.inside, *(r[:-2] for r in parts.runs))]
            if len(others) != 1 or not 0 < constant_extent(n.spatial[-1]) <= WIDEST:
                return False
            if not self._copied(others[0], self.along, turned=False):
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
        _, inner = self._names(label)
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

    def fits(self) -> bool:
        """Whether a block has the shared memory."""
        shared = [t for t in self.plan.kernel.temporaries if t.scope == "shared"]
        used = sum(prod(integer(n) or 0 for n in t.shape) * t.dtype.bytes for t in shared if t.name not in self.parts.nests)
        return used + ROWS * TERMS * 4 <= self.plan.machine.shared_bytes - REST_BYTES

    def done(self) -> list[str] | None:
        """Blocks of rows are blocks of threads."""
        for axis, name in zip("xyz", (self.block, *reversed(self.outer))):
            if not self.plan.step("bind", name, f"block.{axis}"):
                return None
        return [self.block]
