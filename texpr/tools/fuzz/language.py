"""Texts nobody would write, read and run in child processes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from texpr.tools.fuzz.part import Part, alone, batched, file_name
from texpr.tools.fuzz.shrink import shrunk
from texpr.tools.fuzz.texts import text_of
from texpr.tools.fuzz.trial import Finding, trial

SHRINK_SECONDS = 30.0


class Language(Part):
    """The part of the fuzzer that tries texts.

    Args:
        deep: the share of texts that are also compiled, run and differentiated.
        paths: files to take operators from.
    """

    what, size, seconds = "texts", 100, (120.0, 20.0)

    def __init__(self, seed: int, deep: float, paths: list[str]) -> None:
        super().__init__(seed)
        self.deep, self.paths = deep, paths

    def request(self, numbers: list[int]) -> tuple[object, ...]:
        return f"{__name__}:batch", self.seed, numbers, self.deep, self.paths

    def write(self, folder: Path, number: int, finding: Finding) -> Path:
        """A file with the shortest text that still shows the finding, and a file about it."""
        text = text_of(self.seed, number, tuple(self.paths))

        def fails(candidate: str) -> bool:
            again = replayed(candidate)
            return again is not None and again.kind == finding.kind

        small = shrunk(text, fails, SHRINK_SECONDS)
        name = file_name(finding, small)
        (folder / f"{name}.tx").write_bytes(small.encode("utf-8", "surrogatepass"))
        about = (
            f"{finding.kind}\nseed {self.seed}, text {number}\n\n{ascii(small)}\n\nas "
            f"found:\n{ascii(text)}\n\n{finding.detail}\n"
        )
        (folder / f"{name}.txt").write_text(about, encoding="utf-8", errors="backslashreplace")
        return folder / f"{name}.tx"


def replayed(text: str) -> Finding | None:
    """Try a text in a child process."""
    return alone(f"{__name__}:one", text.encode("utf-8", "surrogatepass"), True, seconds=Language.seconds[1])


def batch(seed: int, numbers: list[int], deep: float, paths: list[str]) -> list[Any]:
    """Runs in a child."""
    return batched(
        numbers, lambda number, _: trial(text_of(seed, number, tuple(paths)), _is_deep(seed, number, deep))
    )


def _is_deep(seed: int, number: int, share: float) -> bool:
    return int(hashlib.sha256(f"{seed}:{number}".encode()).hexdigest()[:8], 16) < share * (1 << 32)


def one(text: bytes, deep: bool) -> list[str] | None:
    """Runs in a child."""
    finding = trial(text.decode("utf-8", "surrogatepass"), deep)
    return None if finding is None else [finding.kind, finding.detail]
