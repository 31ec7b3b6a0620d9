"""Common parts of schedules of attention on a GPU: roles of nests, and their fusion under one loop
over blocks of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.handles import LoopHandle, handle, handles
from texpr.autoschedule.core.nest import Nest
from texpr.autoschedule.core.template import NoMatch, Scheduled
from texpr.autoschedule.gpu.attention.attention_costs import ATTENTION_COSTS
from texpr.autoschedule.gpu.shared_memory import NOT_ON_BLOCKS, on_blocks
from texpr.ir.expr import Tensor
from texpr.ir.machine import Machine
from texpr.schedule.analysis.access import Access
from texpr.schedule.structure.tensors import bytes_of

ROWS, TERMS = 64, 64
"""Rows and terms of a block: as many rows as a warpgroup multiplies (PTX ISA, `wgmma`)."""
OTHER_OPERANDS = NoMatch("a weighted sum of several operands")
NO_TILE = NoMatch("a part of an operand is no tile")
OTHER_LOOPS = NoMatch("other loops than those over rows and their elements")


@dataclass(slots=True)
class Parts:
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

    def accumulator(self, label: str) -> Tensor | None:
        """The buffer in which the sums of the tensor of a nest are added up, if it has one of its own."""
        name = self.nests[label].tensor_name
        main = (n.main.tensor for n in self.nests.values() if n.tensor_name == name)
        return next((t for t in main if t.name != name), None)


def weighted(parts: Parts, depth: int) -> list[Nest]:
    """The nests that add up, block by block, what each row weights: sums of several elements a
    row.
    """
    return [n for label in parts.runs if (n := parts.nests[label]).reduction and len(n.spatial) > depth + 1]


class Work(ABC):
    """The steps, all of which have to be possible.

    Attributes:
        high, wide: rows and terms of a block.
        tiles: whether instructions multiply tiles of factors that are rounded: these have no
            conditions, and exponentials may be powers of 2 where the machine has an instruction for
            them.
        rows: by labels of nests, the loops over the rows of a block.
        block, outer: the loop over blocks of rows, and those around it, which all nests share.
        along: the loop over blocks of terms.
    """

    high, wide = ROWS, TERMS
    tiles = False
    block: LoopHandle
    outer: list[LoopHandle]
    along: LoopHandle

    def __init__(self, builder: ScheduleBuilder, parts: Parts, depth: int) -> None:
        self.builder, self.parts, self.depth = builder, parts, depth
        self.rows: dict[str, LoopHandle] = {}
        self.home = parts.ends[-1]
        self.last = parts.runs[-1]

    def loops(self, label: str) -> tuple[list[LoopHandle], list[LoopHandle]]:
        """The loops over rows, and those inside."""
        loops = handles(self.parts.nests[label].spatial)
        return loops[: self.depth], loops[self.depth :]

    def inner(self, label: str) -> list[LoopHandle]:
        """The loops over the elements of a row, of a block of it where there are blocks."""
        _, inner = self.loops(label)
        return inner[1:] if label in (*self.parts.inside, *self.parts.runs) else inner

    def values(self) -> list[tuple[Nest, Access]] | None:
        """The nests of weighted sums, each with what it weights; None where one reads more than
        that.
        """
        runs = (self.parts.nests[label].tensor_name for label in self.parts.runs)
        made = (*self.parts.inside, *runs)
        found = [
            (n, [a for a in n.accesses[1:] if a.tensor.name not in made])
            for n in weighted(self.parts, self.depth)
        ]
        return (
            [(n, others[0]) for n, others in found] if all(len(others) == 1 for _, others in found) else None
        )

    def move(self) -> None:
        """All nests under one loop over blocks of rows, and one over blocks of terms."""
        builder, parts = self.builder, self.parts
        for label in (*parts.inside, *parts.runs, *parts.starts, *parts.ends):
            rows, inner = self.loops(label)
            block, self.rows[label] = builder.split(rows[-1], self.high)
            if label not in (*parts.ends, *parts.starts):
                builder.apply("reorder", *rows[:-1], block, inner[0], self.rows[label], *inner[1:])
            if label == self.home:
                self.block, self.outer = block, rows[:-1]
            if label == self.last:
                self.along = inner[0]
        self.rows[parts.scores] = handle(parts.nests[parts.scores].spatial[self.depth - 1])

        ordered = [n for n in parts.nests if n in (*parts.inside, *parts.runs) and n != self.last]
        self._compute_at(parts.ends[:-1], self.block)
        self._compute_at(ordered, self.along)
        self._compute_at([self.last], self.block)
        self._compute_at(parts.starts, self.block)
        builder.apply("compute_at", parts.scores, self.along, recompute=True)
        for label in parts.runs:
            builder.apply("fold_storage", parts.nests[label].tensor_name, self.depth)

    def _compute_at(self, labels: list[str], loop: LoopHandle) -> None:
        for label in reversed(labels):
            self.builder.apply("compute_at", label, loop, recompute=False)

    def steps(self) -> Scheduled | NoMatch:
        """All of them."""
        self.move()
        if (wrong := self.share_out()) is not None:
            return wrong
        if not self.fits():
            return NoMatch("more shared memory than a block has")
        if not on_blocks(self.builder, ([self.block], self.outer[-1:], self.outer[:-1])):
            return NOT_ON_BLOCKS
        self.run_ahead()
        return Scheduled([self.block])

    @classmethod
    def known_to(cls, machine: Machine) -> bool:
        """True if a machine has instructions of the kind."""
        return True

    def suits(self) -> bool:
        """True if the machine and the nests suit the template."""
        return True

    @abstractmethod
    def share_out(self) -> NoMatch | None:
        """Share rows among warps, what is beside them among lanes; the reason where nests are not
        such.
        """

    @abstractmethod
    def run_ahead(self) -> None:
        """Let copies run ahead, once blocks of rows are blocks of threads."""

    def fits(self) -> bool:
        """True if a block has the shared memory."""
        return self.shared_bytes() <= self.builder.machine.shared_bytes - ATTENTION_COSTS.spare_shared_bytes

    def shared_bytes(self) -> int:
        """Bytes of the buffers in shared memory; of tensors that nests fill, which are larger
        before they are placed, a tile.
        """
        shared = [t for t in self.builder.kernel.temporaries if t.scope == "shared"]
        return sum(
            self.high * self.wide * t.dtype.bytes if t.name in self.parts.nests else bytes_of(t)
            for t in shared
        )
