"""What a training has measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from texpr.support.files import write_file


class History(dict[str, list[float]]):
    """A list per measurement (`loss`, `accuracy`, `val_loss`, ...), one entry per epoch."""

    def add(self, values: Mapping[str, float]) -> None:
        """Append an epoch."""
        for name, value in values.items():
            self.setdefault(name, []).append(value)

    @property
    def epochs(self) -> int:
        """How many epochs there are."""
        return max(map(len, self.values()), default=0)

    def save(self, path: str | Path) -> None:
        """Write a table in CSV."""
        rows = [",".join(["epoch", *self])]
        rows += [",".join([str(k + 1), *(repr(v[k]) if k < len(v) else "" for v in self.values())]) for k in range(self.epochs)]
        write_file(path, ("\n".join(rows) + "\n").encode())
