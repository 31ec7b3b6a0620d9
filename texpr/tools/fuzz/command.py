"""The command: batches of texts in child processes, findings in a folder."""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from random import SystemRandom
from time import monotonic
from typing import Any

from texpr.runtime.child import run_in_child
from texpr.support.errors import CompileError
from texpr.tools.fuzz.shrink import shrunk
from texpr.tools.fuzz.texts import text_of
from texpr.tools.fuzz.trial import Finding, trial

BATCH, BATCH_SECONDS, TEXT_SECONDS, SHRINK_SECONDS = 100, 120.0, 20.0, 30.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `fuzz`."""
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to look (default: 60)")
    parser.add_argument("--texts", type=int, default=sys.maxsize, help="how many texts to try at most")
    parser.add_argument("--seed", type=int, default=None, help="the same texts again; a new seed is chosen and shown unless given")
    parser.add_argument("--deep", type=float, default=0.05, help="the share of texts that are also compiled, run, differentiated (0.05)")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="folder to write to (default: fuzz-findings)")
    parser.add_argument("--corpus", type=Path, nargs="*", default=[], help="further .tx files to take operators from")
    parser.add_argument("--replay", type=Path, help="try the text in this file instead, and show what goes wrong")


def fuzz(arguments: argparse.Namespace) -> int:
    """Read and run texts nobody would write; 1 if one led to anything but an answer or a tx.Error."""
    if arguments.replay is not None:
        return _replay(arguments.replay)
    seed = SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    paths = sorted(str(path) for path in (*Path(str(files("texpr.ops"))).glob("*.tx"), *arguments.corpus))
    print(f"seed {seed}, {len(paths)} files of operators", flush=True)
    kinds: set[str] = set()
    done = 0
    for first in _progress(arguments.seconds, arguments.texts):
        count = min(BATCH, arguments.texts - first)
        for number, finding in _batch(seed, first, count, arguments.deep, paths):
            if finding.kind not in kinds:
                kinds.add(finding.kind)
                _write(arguments.findings, seed, number, finding, paths)
        done = first + count
    print(f"{done} texts, {len(kinds)} kinds of findings" + (f" in {arguments.findings}" if kinds else ""))
    return 1 if kinds else 0


def _progress(seconds: float, texts: int) -> Iterator[int]:
    """The numbers of the first text of each batch, until the time is over; a bar where tqdm is installed."""
    bar = _bar()
    start = monotonic()
    first = 0
    while first < texts and monotonic() - start < seconds:
        yield first
        first += BATCH
        bar(BATCH)


def _bar():  # noqa: ANN202
    try:
        from tqdm import tqdm
    except ImportError:
        return lambda count: None
    return tqdm(unit=" texts", mininterval=1.0).update


def _batch(seed: int, first: int, count: int, deep: float, paths: list[str]) -> Iterator[tuple[int, Finding]]:
    """The findings among some texts. If the child dies or hangs, every text gets a child of its own."""
    try:
        found = run_in_child(f"{__name__}:batch", seed, first, count, deep, paths, timeout=BATCH_SECONDS)
        yield from ((number, Finding(kind, detail)) for number, kind, detail in found)
    except CompileError:
        for number in range(first, first + count):
            finding = alone(text_of(seed, number, tuple(paths)), _is_deep(seed, number, deep))
            if finding is not None:
                yield number, finding


def batch(seed: int, first: int, count: int, deep: float, paths: list[str]) -> list[list[Any]]:
    """Runs in a child: number, kind and detail of each finding."""
    found = []
    for number in range(first, first + count):
        finding = trial(text_of(seed, number, tuple(paths)), _is_deep(seed, number, deep))
        if finding is not None:
            found.append([number, finding.kind, finding.detail])
    return found


def _is_deep(seed: int, number: int, share: float) -> bool:
    return int(hashlib.sha256(f"{seed}:{number}".encode()).hexdigest()[:8], 16) < share * (1 << 32)


def alone(text: str, deep: bool) -> Finding | None:
    """Try a text in a child process: it may end the process, or never end."""
    try:
        found = run_in_child(f"{__name__}:one", text.encode("utf-8", "surrogatepass"), deep, timeout=TEXT_SECONDS)
    except CompileError as error:
        return Finding(re.sub(r"[0-9.]+ s\b", "a while", error.message), error.message)
    return None if found is None else Finding(*found)


def one(text: bytes, deep: bool) -> list[str] | None:
    """Runs in a child."""
    finding = trial(text.decode("utf-8", "surrogatepass"), deep)
    return None if finding is None else [finding.kind, finding.detail]


def _write(folder: Path, seed: int, number: int, finding: Finding, paths: list[str]) -> None:
    """A file with the shortest text that still shows the finding, and a file about it."""
    text = text_of(seed, number, tuple(paths))

    def fails(candidate: str) -> bool:
        again = alone(candidate, True)
        return again is not None and again.kind == finding.kind

    small = shrunk(text, fails, SHRINK_SECONDS)
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(small.encode("utf-8", "replace")).hexdigest()[:8]
    name = f"{re.sub('[^A-Za-z0-9]+', '-', finding.kind).strip('-')[:60]}-{digest}"
    (folder / f"{name}.tx").write_bytes(small.encode("utf-8", "surrogatepass"))
    about = f"{finding.kind}\nseed {seed}, text {number}\n\n{ascii(small)}\n\nas found:\n{ascii(text)}\n\n{finding.detail}\n"
    (folder / f"{name}.txt").write_text(about, encoding="utf-8", errors="backslashreplace")
    print(f"\n{finding.kind}: {folder / name}.tx", flush=True)


def _replay(path: Path) -> int:
    finding = alone(path.read_bytes().decode("utf-8", "surrogatepass"), True)
    print(f"{finding.kind}\n{finding.detail}" if finding else "nothing goes wrong")
    return 1 if finding else 0
