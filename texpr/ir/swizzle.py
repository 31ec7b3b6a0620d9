"""Permutations of the elements of a shared buffer under which threads that access a column use
different banks.
"""

from __future__ import annotations

from texpr.support.frozen_dataclass import frozen


@frozen
class Swizzle:
    """Neighbouring units of a buffer exchanged, in each row by another pattern:

        element p   ->   p ^ (unit * (p // row % count))

    Units keep their inside and their order in memory begins anew every `count` of them, so no two
    elements get one place.

    Attributes:
        unit: neighbours that stay together.
        count: how many units are exchanged with each other.
        row: elements after which the pattern is the next one; a multiple of unit * count. All are
            powers of two.
    """

    unit: int
    count: int
    row: int

    @property
    def is_one_to_one(self) -> bool:
        """True if the permutation is one-to-one: no two elements get one place."""
        powers = all(n > 0 and n & (n - 1) == 0 for n in (self.unit, self.count, self.row))
        return powers and self.count > 1 and self.row >= self.unit * self.count

    def place(self, element: int) -> int:
        """Place of an element; `element` is its row-major position."""
        return element ^ self.unit * (element // self.row % self.count)

    def room(self, elements: int) -> int:
        """Number of places that so many elements need: whole groups of units."""
        return -(-elements // (self.unit * self.count)) * self.unit * self.count

    def __str__(self) -> str:
        return f"swizzle({self.unit}, {self.count}, {self.row})"
