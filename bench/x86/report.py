"""Tables of what was measured, one per class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.machine import Limits
from bench.tables import geometric_mean, percent, ratio, seconds
from bench.x86.parent import Found
from bench.x86.rows import Class, Row
from texpr.support.table import aligned

OURS, PEAK = "texpr", "peak"
LEGEND = """Times are medians. ratio: the fastest other column over the fastest of texpr. of limit: the least time that arithmetic and
memory allow over texpr's. peak: as many products of numbers in registers, in turns with the others; of peak: its time over texpr's.
first: until texpr's first result, compiling and proving included. A dash: not offered, absent or failed. Notes:
wrong: columns whose results miss the reference by more than the bound of the type, which do not count; disturbed: other work ran meanwhile.
last, nhwc: images with channels last. ort has the weights of convolutions as constants; the others pack them in every call."""


def ours(found: Found) -> float | None:
    """texpr's time: the faster of its columns."""
    return min((t for column, t in _correct(found).items() if column.startswith(OURS)), default=None)


def others(found: Found) -> float | None:
    """The fastest other column."""
    return min((t for column, t in _correct(found).items() if not column.startswith(OURS)), default=None)


def advantage(found: Found) -> float | None:
    """How much faster texpr is than the fastest other column; None where one of them is missing."""
    mine, best = ours(found), others(found)
    return None if mine is None or best is None else best / mine


def of_peak(found: Found) -> float | None:
    """texpr's share of the rate that products of numbers in registers have; None where one of
    them is missing.
    """
    mine, peak = ours(found), found.seconds.get(PEAK)
    return None if mine is None or peak is None else peak / mine


def mean(rows: Sequence[Found]) -> float:
    """The geometric mean of the ratios that are known."""
    return geometric_mean([a for a in map(advantage, rows) if a is not None])


def table(of: Class, found: Sequence[Found], limits: Limits) -> str:
    """The rows of a class, their mean, and what failed."""
    columns = [
        c for c in dict.fromkeys(c for f in found for c in f.details) if any(c in f.seconds for f in found)
    ]
    columns.sort(key=lambda c: (c.startswith(OURS), c == PEAK))  # texpr beside its shares
    peaks = ["of peak"] * (PEAK in columns)
    by_name = {row.name: row for row in of.rows}
    header = [of.name, *columns, "ratio", *peaks, "of limit", "first", "notes"]
    text = aligned([header, *(_cells(by_name[f.row], f, columns, limits) for f in found)], "<>")
    reached = sum(a is not None and a >= of.least for a in map(advantage, found))
    failed = "".join(
        f"failed: {f.row}, {c}: {d['failed']}\n" for f in found for c, d in f.details.items() if "failed" in d
    )
    bar = of.bar(limits.threads)
    return (
        f"{text}\ngeometric mean {mean(found):.2f}, bar {bar:.2f}; {reached} of {len(found)} at least "
        f"{of.least:.2f}\n{failed}"
    )


def summary(classes: Mapping[str, tuple[Class, Sequence[Found]]], threads: int) -> str:
    """Means and smallest ratios of all classes beside their bars."""
    rows = [["class", "rows", "mean ratio", "bar", "smallest", "bar", "reached"]]
    for name, (of, found) in classes.items():
        worst = min((a for a in map(advantage, found) if a is not None), default=0.0)
        reached = mean(found) >= of.bar(threads) and worst >= of.least
        rows.append(
            [
                name,
                str(len(found)),
                ratio(mean(found)),
                ratio(of.bar(threads)),
                ratio(worst),
                ratio(of.least),
                "yes" if reached else "no",
            ]
        )
    return aligned(rows, "<>")


def _correct(found: Found) -> dict[str, float]:
    return {c: t for c, t in found.seconds.items() if found.details[c].get("correct")}


def _cells(row: Row, found: Found, columns: Sequence[str], limits: Limits) -> list[str]:
    mine = ours(found)
    share = None if mine is None else limits.seconds(row.flops, row.dtype, row.moved()) / mine
    starts = [float(str(d["first"])) for c, d in found.details.items() if c.startswith(OURS) and "first" in d]
    wrong = [c for c in found.seconds if not found.details[c].get("correct", c == PEAK)]
    notes = ([f"wrong: {', '.join(wrong)}"] if wrong else []) + ([] if found.clean else ["disturbed"])
    return [
        row.name,
        *(seconds(found.seconds.get(c)) for c in columns),
        ratio(advantage(found)),
        *([percent(of_peak(found))] * (PEAK in columns)),
        percent(share),
        seconds(max(starts, default=None)),
        "; ".join(notes),
    ]
