"""Measurements of a training."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from io import BytesIO
from math import isfinite, nan
from pathlib import Path
from typing import Any

from texpr.support.extras import needs
from texpr.support.files import write_file
from texpr.support.table import aligned, html_curve, html_table

_SHOWN = 20
"""Epochs in a table."""


class History(dict[str, list[float]]):
    """Lists of measurements (`loss`, `accuracy`, `val_loss`, `lr`, ...) with one entry per epoch; a
    dict.

    An entry is NaN where something was not measured. `lr` is the learning rate at the end of the
    epoch, of the first group of parameters. Times are no measurements: two trainings with the same
    numbers are equal.

    Attributes:
        seconds: of training, for each epoch that was made in this process; else NaN.
        samples_per_second: of training, for each epoch.
    Raises: nothing of its own.
    Example:
        >>> history = nn.History()
        >>> history.add({"loss": 0.5})
        >>> history["loss"], history.epochs
        ([0.5], 1)
    """

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.seconds, self._samples = [nan] * self.epochs, [0] * self.epochs

    def __reduce__(self) -> tuple:
        times = {"seconds": self.seconds, "_samples": self._samples}
        return History, (dict(self),), times

    @property
    def samples_per_second(self) -> list[float]:
        """Examples per second of training, for each epoch; NaN where the time is not known."""
        return [n / t if t > 0 else nan for n, t in zip(self._samples, self.seconds)]

    def add(self, values: Mapping[str, float], seconds: float = nan, samples: int = 0) -> None:
        """Append an epoch.

        Args:
            seconds, samples: how long it was trained, on how many examples.
        """
        epochs = self.epochs
        self.seconds.append(float(seconds))
        self._samples.append(samples)
        for name in dict.fromkeys((*self, *values)):
            self.setdefault(name, [nan] * epochs).append(values.get(name, nan))

    @property
    def epochs(self) -> int:
        """Number of epochs."""
        return max(map(len, self.values()), default=0)

    def save(self, path: str | Path) -> None:
        """Write a table in CSV."""
        write_file(path, ("\n".join(self.rows()) + "\n").encode())

    def rows(self) -> list[str]:
        """A table in CSV: the names of the columns, and a row per epoch."""
        rows = [",".join(["epoch", *self])]
        return rows + [
            ",".join([str(k + 1), *(repr(v[k]) for v in self.values())]) for k in range(self.epochs)
        ]

    def __str__(self) -> str:
        """A table of the last epochs, as `print` shows it; `repr` is that of a dict."""
        shown = range(max(0, self.epochs - _SHOWN), self.epochs)
        rows = [[str(k + 1), *(f"{v[k]:.4g}" for v in self.values())] for k in shown]
        note = f"\nthe last {_SHOWN} of {self.epochs} epochs" if self.epochs > _SHOWN else ""
        return aligned([["epoch", *self], *rows], ">") + note

    def _repr_html_(self) -> str:
        """The curves, and a table of the last epochs."""
        names = [n for n in self if n.removeprefix("val_") not in self or n == n.removeprefix("val_")]
        curves = "".join(
            f"<td>{escape(n)}<br>{html_curve(self[n], self.get(f'val_{n}', ()))}</td>" for n in names
        )
        rows = [
            [
                str(k + 1),
                *(f"{v[k]:.4g}" for v in self.values()),
                f"{self.seconds[k]:.2f}",
                f"{self.samples_per_second[k]:,.0f}",
            ]
            for k in range(max(0, self.epochs - _SHOWN), self.epochs)
        ]
        table = html_table(["epoch", *self, "seconds", "samples/s"], rows, left=0)
        note = f"<p>the last {_SHOWN} of {self.epochs} epochs</p>" if self.epochs > _SHOWN else ""
        return f"<table><tr>{curves}</tr></table>{table}{note}"

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the measurements over the epochs, those of training and validation together.

        Args:
            path: where the picture is written; its ending says which kind.
        Returns:
            the figure of matplotlib.
        Raises:
            MissingExtra: matplotlib is not installed.
        """
        with needs("plot", "drawing"):
            from matplotlib.figure import Figure
        names = [n for n in self if not (n.startswith("val_") and n.removeprefix("val_") in self)] or ["loss"]
        figure = Figure(figsize=(4.5 * len(names), 3.2), layout="constrained")
        for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names):
            for each, label in ((name, "training"), (f"val_{name}", "validation")):
                if each in self:
                    axes.plot(range(1, len(self[each]) + 1), self[each], marker=".", label=label)
            values = [v for each in (name, f"val_{name}") for v in self.get(each, ()) if isfinite(v)]
            if "loss" in name and values and min(values) > 0:
                axes.set_yscale("log")
            axes.set(xlabel="epoch", title=name)
            if f"val_{name}" in self:
                axes.legend()
        if path is not None:
            picture = BytesIO()
            figure.savefig(picture, format=Path(path).suffix[1:] or "png")
            write_file(path, picture.getvalue())
        return figure
