"""What the schedules of attention on a GPU have in common: which part nests play, and how they
come under one loop over blocks of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import Nest
from texpr.autoschedule.gpu.shared_memory import on_blocks
from texpr.ir.machine import Machine
from texpr.schedule.analysis.access import Access
from texpr.schedule.structure.loops import qualified
from texpr.schedule.structure.tensors import bytes_of

ROWS, TERMS = 64, 64
"""Rows and terms of a block."""
REST_BYTES = 8 << 10
"""Of shared memory, for paddings and for what else is computed of a block of rows."""


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
    """

    high, wide = ROWS, TERMS
    tiles = False

    def __init__(self, builder: ScheduleBuilder, parts: Parts, depth: int) -> None:
        self.builder, self.parts, self.depth = builder, parts, depth
        self.rows: dict[str, str] = {}
        self.home = parts.ends[-1]
        self.last = parts.runs[-1]

    def names(self, label: str) -> tuple[list[str], list[str]]:
        """Qualified names of the loops over rows, and of those inside."""
        names = [qualified(n) for n in self.parts.nests[label].spatial]
        return names[: self.depth], names[self.depth :]

    def values(self) -> list[tuple[Nest, Access]] | None:
        """The nests of weighted sums, each with what it weights; None where one reads more than
        that.
        """
        made = (*self.parts.inside, *(label[:-2] for label in self.parts.runs))
        found = [
            (n, [a for a in n.accesses[1:] if a.tensor.name not in made])
            for n in weighted(self.parts, self.depth)
        ]
        return (
            [(n, others[0]) for n, others in found] if all(len(others) == 1 for _, others in found) else None
        )

    def moved(self) -> bool:
        """All nests under one loop over blocks of rows, and one over blocks of terms."""
        builder, parts = self.builder, self.parts
        for label in (*parts.inside, *parts.runs, *parts.starts, *parts.ends):
            rows, inner = self.names(label)
            cut = builder.split(rows[-1], self.high)
            if cut is None:
                return False
            self.rows[label] = cut[1]
            if label not in (*parts.ends, *parts.starts) and not builder.try_apply(
                "reorder", *rows[:-1], cut[0], inner[0], cut[1], *inner[1:]
            ):
                return False
            if label == self.home:
                self.block, self.outer = cut[0], rows[:-1]
            if label == self.last:
                self.along = inner[0]
        self.rows[parts.scores] = self.names(parts.scores)[0][-1]

        def at(labels: list[str], loop: str) -> bool:
            return all(
                builder.try_apply("compute_at", label, loop, recompute=False) for label in reversed(labels)
            )

        ordered = [n for n in parts.nests if n in (*parts.inside, *parts.runs) and n != self.last]
        return (
            at(parts.ends[:-1], self.block)
            and at(ordered, self.along)
            and at([self.last], self.block)
            and at(parts.starts, self.block)
            and builder.try_apply("compute_at", parts.scores, self.along, recompute=True)
            and all(builder.try_apply("fold_storage", label[:-2], self.depth) for label in parts.runs)
        )

    def steps(self) -> list[str] | None:
        """All of them; the name of the outermost loop."""
        names = self.done() if self.moved() and self.shared_out() and self.fits() else None
        return names if names is not None and self.ahead() else None

    @classmethod
    def known_to(cls, machine: Machine) -> bool:
        """Whether a machine has instructions of the kind."""
        return True

    def suits(self) -> bool:
        """Whether the machine, and what is computed, are such."""
        return True

    @abstractmethod
    def shared_out(self) -> bool:
        """Rows among warps, what is beside them among lanes."""

    def ahead(self) -> bool:
        """What goes on while threads do, once blocks of rows are blocks of threads."""
        return True

    def fits(self) -> bool:
        """Whether a block has the shared memory."""
        return self.shared_bytes() <= self.builder.machine.shared_bytes - REST_BYTES

    def shared_bytes(self) -> int:
        """What is said to be in shared memory; of tensors that nests fill, which are larger
        before they are placed, a tile.
        """
        shared = [t for t in self.builder.kernel.temporaries if t.scope == "shared"]
        return sum(
            self.high * self.wide * t.dtype.bytes if t.name in self.parts.nests else bytes_of(t)
            for t in shared
        )

    def done(self) -> list[str] | None:
        """Blocks of rows are blocks of threads."""
        return (
            [self.block]
            if on_blocks(self.builder, ([self.block], self.outer[-1:], self.outer[:-1]))
            else None
        )
