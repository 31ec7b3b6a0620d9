"""What was found, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Checked:
    """The operators of one file.

    Attributes:
        counts: operators that are right, of all; gradients likewise.
        wrong: one line each.
    """

    file: str
    counts: tuple[int, int, int, int] = (0, 0, 0, 0)
    wrong: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Timed:
    """A row: its name, its bar, float operations and bytes of a run, and what was measured, or
    why nothing was.
    """

    name: str
    bar: float
    operations: int
    moved: int
    found: dict[str, Any]


def report(
    about: dict[str, Any], checked: Sequence[Checked], timed: Sequence[Timed], seconds: float, command: str
) -> str:
    """The whole page."""
    emulated = about.get("device") == "emulated"
    lines = ["# On a GPU", "", f"Written by `{command}` in {seconds:.0f} s."]
    lines += (
        [
            "",
            "**Emulated: every GPU thread was a fiber of the CPU. The times say nothing, nothing ran on a "
            "GPU.**",
        ]
        if emulated
        else []
    )
    lines += [
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {_shown(name, value)} |" for name, value in about.items()),
    ]
    lines += ["", "## The operator library", "", *_library(checked)]
    lines += ["", "## Times", "", *_times(timed, float(about.get("copy", 0)))]
    for each in timed:
        lines += _kernels(each)
    return "\n".join(lines) + "\n"


def _shown(name: str, value: Any) -> str:
    return f"{value / 1e9:.0f} GB/s, read and written" if name == "copy" else str(value)


def _library(checked: Sequence[Checked]) -> list[str]:
    total = [sum(c.counts[k] for c in checked) for k in range(4)]
    lines = [
        "Results on the device against the interpreter's, at small sizes.",
        "",
        "| file | operators | gradients |",
        "|---|---|---|",
    ]
    lines += [
        f"| {c.file} | {c.counts[0]} / {c.counts[1]} | {c.counts[2]} / {c.counts[3]} |" for c in checked
    ]
    lines += [f"| **all** | {total[0]} / {total[1]} | {total[2]} / {total[3]} |"]
    wrong = [line for c in checked for line in c.wrong]
    return [*lines, "", *(f"* {line}" for line in wrong)] if wrong else lines


def _times(timed: Sequence[Timed], copy: float) -> list[str]:
    lines = [
        "Medians. The ratio is torch's time over texpr's, or, of what is bound by memory, the share of the "
        "rate of a copy. "
        "`apart`: from torch's result, relative to the largest element.",
        "",
        "| what | texpr ms | rate | torch ms | ratio | bar | apart | first run s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return [*lines, *(_row(t, copy) for t in timed)]


def _row(t: Timed, copy: float) -> str:
    if "ours" not in t.found:
        return f"| {t.name} | {t.found.get('error', 'not measured')} | | | | {t.bar} | | |"
    ours, peer = t.found["ours"], t.found.get("peer")
    rate = t.moved / ours / 1e9 if t.moved else t.operations / ours / 1e12
    shown = f"{rate:.0f} GB/s" if t.moved else f"{rate:.1f} TFLOP/s" if t.operations else ""
    ratio = t.moved / ours / copy if t.moved and copy else peer / ours if peer else None
    said = "" if ratio is None else f"{ratio:.2f}{'' if ratio >= t.bar else ', below'}"
    apart = f"{t.found['apart']:.1e}" if "apart" in t.found else ""
    other = f"{peer * 1e3:.3f} ({t.found['peer name']})" if peer else ""
    return (
        f"| {t.name} | {ours * 1e3:.3f} | {shown} | {other} | {said} | {t.bar} | {apart} | "
        f"{t.found['first']:.1f} |"
    )


def _kernels(t: Timed) -> list[str]:
    """The kernels of a row that has several."""
    kernels = t.found.get("kernels", [])
    if len(kernels) < 2:
        return []
    lines = [
        "",
        f"## Kernels: {t.name}",
        "",
        "The most expensive ones, each waited for: some 10 us of each call are no work of the kernel.",
        "",
        "| kernel | calls | ms | TFLOP/s | GB/s | shapes |",
        "|---|---|---|---|---|---|",
    ]
    return lines + [
        f"| {name} | {calls} | {seconds * 1e3:.3f} | {operations * calls / seconds / 1e12:.1f} | "
        f"{moved * calls / seconds / 1e9:.0f} | {shapes} |"
        for name, shapes, calls, seconds, operations, moved in kernels
    ]
