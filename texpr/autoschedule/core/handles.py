"""Handles of loops, which default schedules hold in place of names."""

from __future__ import annotations

from collections.abc import Iterable

from texpr.ir.expr import Tensor
from texpr.ir.loop import For
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class LoopHandle:
    """A loop of a schedule, and the copies of it that steps make (`peel`, `specialize`).

    It stays valid while other steps replace the loop by one of the same name, as they all do.

    Attributes:
        tensor: the label of the nest: the tensor that it computes, or a part of it (`Y.1`).
        name: of the loop variable.
    """

    tensor: str
    name: str

    def __str__(self) -> str:
        """The name that steps take: `Y.i`."""
        return f"{self.tensor}.{self.name}"

    def named(self, name: str) -> LoopHandle:
        """Another loop of the same nest."""
        return replace(self, name=name)


def handle(loop: For) -> LoopHandle:
    """The handle of a loop."""
    return LoopHandle(loop.tensor, loop.var.name)


def handles(loops: Iterable[For]) -> list[LoopHandle]:
    """The handles of loops, in order."""
    return [handle(loop) for loop in loops]


def copy_loop(buffer: Tensor, dimension: int) -> LoopHandle:
    """The loop over a dimension of a buffer in the nest by which `cache_read` and `cache_write`
    copy it.
    """
    return LoopHandle(buffer.name, f"d{dimension}")


def copy_loops(buffer: Tensor, dimensions: Iterable[int]) -> list[LoopHandle]:
    """The loops over some dimensions of a buffer, in that order: see `copy_loop`."""
    return [copy_loop(buffer, d) for d in dimensions]


def sum_loop(loop: LoopHandle) -> LoopHandle:
    """The loop that adds up the parts which `rfactor` made for the iterations of a loop."""
    return loop.named(f"{loop.name}_sum")
