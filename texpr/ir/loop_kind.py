"""Execution of a loop's iterations: a sum of small classes, with the words that listings and JSON
have for them.

    serial   parallel   vector   unroll   bulk_copy   block.x   cluster.x   thread.x   multicast.xy   scalable.2   instruction.NAME
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

from texpr.support.frozen_dataclass import frozen

AXES = ("x", "y", "z")
"""Along which a GPU has blocks and threads."""
REGISTERS_SIDE_BY_SIDE = (1, 2, 4)


class LoopKind:
    """One of the classes below; objects are equal if their data are. `str` gives the word of
    listings.
    """

    __slots__ = ()


@frozen
class Serial(LoopKind):
    """One after the other."""

    def __str__(self) -> str:
        return "serial"


@frozen
class Parallel(LoopKind):
    """On the threads of a CPU."""

    def __str__(self) -> str:
        return "parallel"


@frozen
class Vector(LoopKind):
    """Lanes of vectors; the extent is a constant."""

    def __str__(self) -> str:
        return "vector"


@frozen
class Unrolled(LoopKind):
    """Written out."""

    def __str__(self) -> str:
        return "unroll"


@frozen
class ScalableVector(LoopKind):
    """Lanes of registers of the length that the processor has.

    Attributes:
        registers: that are taken side by side, of `REGISTERS_SIDE_BY_SIDE`.
    """

    registers: int

    def __str__(self) -> str:
        return f"scalable.{self.registers}"


@frozen
class Block(LoopKind):
    """Blocks of a grid along an axis; with clusters there, clusters."""

    axis: str

    def __str__(self) -> str:
        return f"block.{self.axis}"


@frozen
class Cluster(LoopKind):
    """Blocks of a cluster along an axis."""

    axis: str

    def __str__(self) -> str:
        return f"cluster.{self.axis}"


@frozen
class Thread(LoopKind):
    """Threads of a block along an axis."""

    axis: str

    def __str__(self) -> str:
        return f"thread.{self.axis}"


@frozen
class BulkCopy(LoopKind):
    """A nest that copies a box as a whole; of a GPU's threads one orders it.

    Attributes:
        multicast: the axes of a cluster along which each block copies such a box to memory of its
            own, which is the same for all of them: each orders a part, for all. Empty where each
            block copies for itself.
    """

    multicast: str = ""

    def __str__(self) -> str:
        return f"multicast.{self.multicast}" if self.multicast else "bulk_copy"


@frozen
class InstructionNest(LoopKind):
    """A nest that one instruction runs.

    Attributes:
        name: of the instruction (`ir.instructions`).
    """

    name: str

    def __str__(self) -> str:
        return f"instruction.{self.name}"


SERIAL, PARALLEL, VECTOR, UNROLLED, BULK_COPY = Serial(), Parallel(), Vector(), Unrolled(), BulkCopy()
BOUND_KINDS: tuple[Block | Cluster | Thread, ...] = tuple(
    kind(axis) for kind in (Block, Cluster, Thread) for axis in AXES
)
LOOP_KINDS: tuple[LoopKind, ...] = (SERIAL, PARALLEL, VECTOR, UNROLLED, BULK_COPY, *BOUND_KINDS)
"""Kinds that need no further data."""
MULTICASTS = tuple(BulkCopy("".join(axes)) for n in (1, 2, 3) for axes in combinations(AXES, n))
PARAMETRIC = ("instruction", "multicast", "scalable")
"""First words of kinds that carry data, before a dot."""
_OLDER = {"bulk": BULK_COPY}
LOOP_WORDS = (*map(str, LOOP_KINDS), *_OLDER)
"""Words of listings for kinds that need no further data, older ones as well."""
_BY_WORD = _OLDER | {
    str(kind): kind for kind in (*LOOP_KINDS, *MULTICASTS, *map(ScalableVector, REGISTERS_SIDE_BY_SIDE))
}
_INSTRUCTION = "instruction."


@cache
def parse_loop_kind(word: str) -> LoopKind | None:
    """The kind that listings write so; None if there is none."""
    return (
        InstructionNest(word.removeprefix(_INSTRUCTION))
        if word.startswith(_INSTRUCTION)
        else _BY_WORD.get(word)
    )


def is_valid(kind: object) -> bool:
    """True if loops can be of this kind."""
    return isinstance(kind, LoopKind) and parse_loop_kind(str(kind)) == kind


def has_lanes(kind: LoopKind) -> bool:
    """True if iterations are lanes, so that what they add to one element is joined before it is
    touched.
    """
    return isinstance(kind, Vector | ScalableVector)
