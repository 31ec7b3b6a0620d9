"""Constants that count axes of an input."""

from __future__ import annotations

from texpr.support.frozen_dataclass import frozen
from texpr.support.spelling import counted


@frozen
class AxisSpec:
    """A constant that is the length of the first pack of an input.

    Attributes:
        default: its value where it is not given; None if it must be.
        others: how many dimensions of the input stand behind the pack at least.
        added: how many the result has at this place and the input has not.
        outside: how many dimensions of the input hold examples (`vmap`), which are not counted.
    """

    constant: str
    input: str
    default: int | None
    others: int
    added: int = 0
    outside: int = 0

    def from_start(self, value: object, rank: int) -> int | None:
        """The same axis counted from the start, None where an input of this rank has no such
        axis.
        """
        assert isinstance(value, int)
        rank -= self.outside
        first = value + rank + self.added if value < 0 else value
        return first if 0 <= first <= rank - self.others else None

    def smallest(self, value: object) -> object:
        """An axis from the start that a negative one can mean: the first, where nothing depends
        on the rank.
        """
        return max(0, value + self.others + self.added) if isinstance(value, int) and value < 0 else value

    def allowed(self, rank: int) -> str:
        """Advice: the values that an input of this rank takes."""
        rank -= self.outside
        if rank < self.others:
            return f"`{self.input}` needs at least {counted(self.others, 'dimension')} here"
        return (
            f"{self.constant} is "
            + (f"{-rank - self.added} to {rank - self.others}" if rank + self.added else "0")
            + " here"
        )
