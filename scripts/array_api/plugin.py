"""A plugin of pytest: which tests of the suite are out of scope, which are left out, and the counts.

Data types that the suite skips (`ARRAY_API_TESTS_SKIP_DTYPES`, its own setting) are complex numbers, which
texpr refuses openly. The suite has tests of their special cases all the same: they are counted beside.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SKIPS = Path(__file__).parent / "skips.txt"
SCOPE = ("linalg", "fft", "shapes that depend on data")
SKIPPED = os.environ.get("ARRAY_API_TESTS_SKIP_DTYPES", "")
"""Data types, with commas."""


def reasons() -> list[tuple[str, str]]:
    """Parts of the names of tests, and why those are left out."""
    found, reason = [], ""
    for line in SKIPS.read_text().splitlines():
        if line.startswith("#"):
            reason = line[1:].strip()
        elif line.strip():
            found.append((line.strip(), reason))
    return found


def out_of_scope(item: Any) -> str | None:
    """The part of the standard that a test is of, where that is optional."""
    for extension in SCOPE[:2]:
        if (
            f"test_{extension}.py" in item.nodeid
            or f"[{extension}-" in item.nodeid
            or f"[{extension}." in item.nodeid
        ):
            return extension
    for mark in item.iter_markers():
        if mark.name == "xp_extension":
            return mark.args[0]
        if mark.name == "data_dependent_shapes":
            return SCOPE[2]
    return None


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Mark what does not count, and what is left out."""
    for item in items:
        part = out_of_scope(item)
        if part in SCOPE[:2]:
            item.add_marker(pytest.mark.skip(reason=f"out of scope: {part}"))
        elif part is not None:
            item.user_properties.append(("scope", part))
        for text, reason in reasons():
            if text in item.nodeid and part not in SCOPE[:2]:
                item.add_marker(pytest.mark.skip(reason=f"left out: {reason}"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the counts."""
    passed, failed = (
        [r for r in terminalreporter.stats.get(kind, []) if ("scope", SCOPE[2]) not in r.user_properties]
        for kind in ("passed", "failed")
    )
    data = [
        len([r for r in terminalreporter.stats.get(kind, []) if ("scope", SCOPE[2]) in r.user_properties])
        for kind in ("passed", "failed")
    ]
    failed += terminalreporter.stats.get("error", [])
    why = Counter(
        str(r.longrepr[2]).removeprefix("Skipped: ") for r in terminalreporter.stats.get("skipped", [])
    )
    left = sum(n for reason, n in why.items() if reason.startswith("left out"))
    skipped = sum(n for reason, n in why.items() if reason.startswith("left out: refused"))
    count = len(passed) + len(failed) + left - skipped
    write = terminalreporter.write_line
    write("")
    write(
        "in scope, without linalg, fft, shapes that depend on data, and the skipped data types "
        f"({SKIPPED}): {count} tests"
    )
    if count:
        write(f"  passed {len(passed)}, failed {len(failed)}, left out {left - skipped}")
        write(f"  passed of all in scope: {100 * len(passed) / count:.1f} %")
        write(f"special cases of the skipped data types, which are refused openly: {skipped} tests")
        write(f"  passed with these counted as failed: {100 * len(passed) / (count + skipped):.1f} %")
    write(f"shapes that depend on data, beside: passed {data[0]}, failed {data[1]}")
    for reason, n in sorted(why.items()):
        write(f"{n:5} {reason}")
