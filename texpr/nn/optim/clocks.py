"""Number of updates of each parameter: for a parameter that was frozen, or had no gradient, the
count goes on where it stopped.

Parameters that were always updated together share a *clock*, so that the scalars of a step are
computed once for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from texpr.nn.core.parameter import Parameter


class Clocks:
    """Counts of updates.

    Attributes:
        counts: of each clock.
    """

    def __init__(self) -> None:
        self.counts: list[int] = []
        self._of: dict[Parameter, int] = {}

    def __getitem__(self, parameter: Parameter) -> int:
        """The clock of a parameter."""
        return self._of[parameter]

    def add(self, parameters: Iterable[Parameter]) -> None:
        """Begin to count, from 0: together with parameters that have not been updated yet."""
        clock = self._with(0)
        self._of |= dict.fromkeys(parameters, clock)

    def advance(self, parameters: Collection[Parameter]) -> None:
        """Count an update of some parameters. Those that shared their clock and stay behind get
        another one.
        """
        if len(parameters) == len(self._of):
            self.counts = [count + 1 for count in self.counts]
            return
        updated = set(parameters)
        for clock in {self._of[p] for p in parameters}:
            behind = [p for p, c in self._of.items() if c == clock and p not in updated]
            if behind:
                self.counts.append(self.counts[clock])
                self._of |= dict.fromkeys(behind, len(self.counts) - 1)
            self.counts[clock] += 1

    def those(self, parameters: Iterable[Parameter]) -> tuple[int, ...]:
        """The clocks of parameters, on which programs that update them depend."""
        return tuple(self._of[p] for p in parameters)

    def of(self, parameters: Iterable[Parameter]) -> list[int]:
        """Number of updates of each parameter."""
        return [self.counts[self._of[p]] for p in parameters]

    def set(self, parameters: Iterable[Parameter], counts: Sequence[int]) -> None:
        """Have counts for all parameters."""
        self.counts, self._of = [], {}
        self._of = {p: self._with(count) for p, count in zip(parameters, counts, strict=True)}

    def _with(self, count: int) -> int:
        """A clock with that count."""
        if count not in self.counts:
            self.counts.append(count)
        return self.counts.index(count)
