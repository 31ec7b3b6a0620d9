"""Base of the fuzzer's parts: numbered trials in child processes, and a folder of findings."""

from __future__ import annotations

import hashlib
import re
import resource
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from math import ceil
from pathlib import Path
from time import process_time
from typing import Any

from texpr.runtime.process.worker import run_in_child
from texpr.support.errors import CompileError
from texpr.tools.fuzz.trial import Finding

PATIENCE = 30
"""Seconds that are waited for each second of processor time that a child may take: it may be asleep for
ever, or on a machine that has other work.
"""
_SPENT = "ended by SIGXCPU"


class Part(ABC):
    """A sequence of trials, each told by its number and a seed.

    Attributes:
        what: what is tried, in the plural.
        size: trials per batch.
        seconds: of processor time, what a batch, and one trial alone, may take.
        counts: how often what happened, so far.
        examples: the trial in which it happened first.
    """

    what: str
    size: int
    seconds: tuple[float, float]

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, int] = {}

    @abstractmethod
    def request(self, numbers: list[int]) -> tuple[object, ...]:
        """The request to a child process: a function that gives what `batched` does, and its
        arguments.
        """

    @abstractmethod
    def write(self, folder: Path, number: int, finding: Finding) -> Path:
        """Cut the trial down and write it to a file."""


def batched(numbers: list[int], trial: Callable[[int, Counter[str]], Finding | None]) -> list[Any]:
    """[number, kind, detail] for each finding; and for what happened how often it did and in which
    trial first.

    Args:
        trial: makes the trial of a number, and counts what happens.
    """
    found: list[Any] = []
    happened: dict[str, list[int]] = {}
    for number in numbers:
        counts: Counter[str] = Counter()
        finding = trial(number, counts)
        for what, count in counts.items():
            happened.setdefault(what, [0, number])[0] += count
        if finding is not None:
            found.append([number, finding.kind, finding.detail])
    return [found, happened]


def findings(part: Part, numbers: list[int]) -> Iterator[tuple[int, Finding]]:
    """The findings of some trials. If the child dies or hangs, every trial gets a child of its
    own.
    """
    try:
        yield from _asked(part, numbers, part.seconds[0])
    except CompileError:
        for number in numbers:
            try:
                yield from _asked(part, [number], part.seconds[1])
            except CompileError as error:
                yield number, ended(error)


def _asked(part: Part, numbers: list[int], seconds: float) -> list[tuple[int, Finding]]:
    function, *arguments = part.request(numbers)
    found, happened = _in_child(str(function), *arguments, seconds=seconds)
    for what, (count, number) in happened.items():
        part.counts[what] += count
        part.examples.setdefault(what, number)
    return [(number, Finding(kind, detail)) for number, kind, detail in found]


def alone(function: str, *arguments: object, seconds: float) -> Finding | None:
    """One trial in a child process: it may end the process, or never end."""
    try:
        found: Any = _in_child(function, *arguments, seconds=seconds)
    except CompileError as error:
        return ended(error)
    return None if found is None else Finding(*found)


def _in_child(function: str, *arguments: object, seconds: float) -> Any:
    """Call a function in a child that may take some seconds of processor time."""
    try:
        return run_in_child(f"{__name__}:within", seconds, function, *arguments, timeout=PATIENCE * seconds)
    except CompileError as error:
        if _SPENT not in error.message:
            raise
    raise CompileError(f"the child process took more than {seconds:g} s of processor time")


def within(seconds: float, function: str, *arguments: object) -> Any:
    """Runs in a child: call a function, and end this process if it takes more processor time."""
    before = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (ceil(process_time() + seconds), before[1]))
    module, _, name = function.partition(":")
    try:
        return getattr(import_module(module), name)(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before)


def ended(error: CompileError) -> Finding:
    """The child did not answer."""
    return Finding(re.sub(r"[0-9.]+ s\b", "a while", error.message), error.message)


def file_name(finding: Finding, content: str) -> str:
    """A name that says what was found."""
    digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{re.sub('[^A-Za-z0-9]+', '-', finding.kind).strip('-')[:60]}-{digest}"
