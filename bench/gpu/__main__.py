"""The whole of `make gpu`: starts processes, gathers what they say, writes the report. Of the
standard library alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

from bench.gpu.report import Checked, Timed, report
from bench.gpu.wheels import Missing, environment, prepare

ROOT = Path(__file__).resolve().parents[2]
PART = 1500
"""Characters of a file of operators that one process checks."""
LIBRARY_SHARE = 0.35
"""Of the time, at least, for the operator library, which comes after the rows."""
NO_TIME = "no time was left"


def main(argv: Sequence[str] | None = None) -> int:
    """Run everything.

    Returns:
        1 if an operator is wrong, a row ended in an error, or nothing could run.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench.gpu", description="Correctness and speed on a GPU, as a report."
    )
    parser.add_argument("--emulate", action="store_true", help="on the emulated device, at tiny sizes")
    parser.add_argument("--device", default="cuda", help="its name (default: cuda)")
    parser.add_argument("--wheels", default="", help="folder with wheels of what is not installed")
    parser.add_argument("--report", default="", help="file to write (default: standard output only)")
    parser.add_argument("--log", default="", help="file for all that the processes say beside their results")
    parser.add_argument("--seconds", type=float, default=500, help="for everything (default: 500)")
    parser.add_argument(
        "--files", default="", help="files of operators, with commas between (default: the library)"
    )
    parser.add_argument("--rows", default="", help="numbers of rows, with commas between (default: all)")
    arguments = parser.parse_args(argv)
    try:
        children = environment(prepare(arguments.wheels), TEXPR_CERTIFY="0")
    except Missing as error:
        print(error, file=sys.stderr)
        return 1
    run = _Run(
        "emulated" if arguments.emulate else arguments.device,
        arguments.emulate,
        children,
        arguments.seconds,
        arguments.log,
    )
    about = run.record()
    if "error" in about:
        print(f"nothing was run: {about['error']}", file=sys.stderr)
        return 1
    files = (
        arguments.files.split(",")
        if arguments.files
        else sorted(map(str, (ROOT / "texpr" / "ops" / "library").glob("*.tx")))
    )
    timed = run.times([int(k) for k in arguments.rows.split(",")] if arguments.rows else None)
    checked = run.library(files)
    text = report(
        about,
        checked,
        timed,
        time.monotonic() - run.began,
        "make gpu" + (" EMULATE=1" if arguments.emulate else ""),
    )
    print(text)
    if arguments.report:
        Path(arguments.report).write_text(text, encoding="utf-8")
    return int(any(c.wrong for c in checked) or any(t.found.get("error", NO_TIME) != NO_TIME for t in timed))


class _Run:
    """Processes on a device, and how long they may take altogether."""

    def __init__(
        self, device: str, tiny: bool, children: dict[str, str], seconds: float, log: str = ""
    ) -> None:
        self.device, self.tiny, self.children, self.log = device, tiny, children, log
        self.writing = Lock()
        self.began = time.monotonic()
        self.seconds = seconds

    def left(self) -> float:
        return self.seconds - (time.monotonic() - self.began)

    def record(self, *more: str, timeout: float = 120) -> dict[str, Any]:
        """What `measure` prints, or an `error`."""
        found, error = self._records(more, timeout)
        return found[0] if found else {"error": error}

    def _records(self, more: Sequence[str], timeout: float) -> tuple[list[dict[str, Any]], str]:
        """All that `measure` prints before it ends, and why it ended."""
        code, out, err = self._process("bench.gpu.measure", self.device, *more, timeout=timeout)
        said = [line for line in err.splitlines() if line.strip()]
        error = next(
            (line for line in reversed(said) if "error" in line.lower()),
            said[-1] if said else f"status {code}",
        )
        return (
            [json.loads(line) for line in out.splitlines() if line.startswith("{")],
            f"took more than {timeout:.0f} s" if code is None else error,
        )

    def _process(self, module: str, *more: str, timeout: float) -> tuple[int | None, str, str]:
        try:
            done = subprocess.run(
                [sys.executable, "-m", module, *more],
                env=self.children,
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=max(timeout, 1),
                check=False,
            )
        except subprocess.TimeoutExpired as cut:
            out, err = ((each or b"").decode(errors="replace") for each in (cut.stdout, cut.stderr))
            self._note(module, more, err + "\ncut")
            return None, out, err
        self._note(module, more, done.stderr)
        return done.returncode, done.stdout, done.stderr

    def _note(self, module: str, more: Sequence[str], said: str) -> None:
        """Append what a process said to the log."""
        if self.log and said.strip():
            with self.writing, Path(self.log).open("a", encoding="utf-8") as file:
                file.write(f"== {module} {' '.join(more)}\n{said.rstrip()}\n")

    def library(self, files: Sequence[str]) -> list[Checked]:
        """All files, large ones in parts, several at once."""
        until = self.began + self.seconds
        parts = [
            (f, k, n)
            for f in sorted(files)
            for n in [1 + os.path.getsize(f) // PART]
            for k in range(1, n + 1)
        ]
        with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) - 1)) as pool:
            found = list(pool.map(lambda p: self._checked(p[0], p[1], p[2], until), parts))
        return [
            _together([c for c in found if c.file == name]) for name in dict.fromkeys(c.file for c in found)
        ]

    def _checked(self, file: str, part: int, parts: int, until: float) -> Checked:
        name = Path(file).name
        code, out, err = self._process(
            "texpr",
            "bench",
            "targets",
            file,
            "--targets",
            self.device,
            "--part",
            f"{part}/{parts}",
            timeout=until - time.monotonic(),
        )
        lines = out.splitlines()
        counts = next(
            (re.findall(r"(\d+) / (\d+)", line) for line in lines if line.startswith(self.device)), []
        )
        if len(counts) != 2:
            said = (
                "did not end in time"
                if code is None
                else (err.strip().splitlines() or [f"ended with {code}"])[-1]
            )
            return Checked(name, wrong=[f"{name}, part {part} of {parts}: {said}"])
        (right, of), (right_of_gradients, of_gradients) = [(int(a), int(b)) for a, b in counts]
        wrong = [line for line in lines if re.match(rf"{self.device}(:\d+)?: ", line)]
        return Checked(name, (right, of, right_of_gradients, of_gradients), wrong)

    def times(self, which: Sequence[int] | None) -> list[Timed]:
        """The rows, one after the other in one process; in another one, those behind a row that
        ended it.
        """
        code, out, err = self._process("bench.gpu.list", *(["--tiny"] if self.tiny else []), timeout=60)
        rows = json.loads(out) if code == 0 else []
        found: dict[int, dict[str, Any]] = {}
        until = time.monotonic() + (1 - LIBRARY_SHARE) * self.left()
        while waiting := [k for k in range(len(rows)) if k not in found and (which is None or k in which)]:
            left = until - time.monotonic()
            more = ["--rows", ",".join(map(str, waiting)), *(["--tiny"] if self.tiny else [])]
            results, error = self._records(more, left) if left > 5 else ([], NO_TIME)
            found |= dict(zip(waiting, results)) | {k: {"error": error} for k in waiting[len(results) :][:1]}
        timed = [Timed(*rows[k], found[k]) for k in sorted(found)]
        return timed or [Timed("rows", 0, 0, 0, {"error": (err.strip().splitlines() or ["none"])[-1]})]


def _together(parts: Sequence[Checked]) -> Checked:
    """The parts of one file."""
    a, b, c, d = (sum(p.counts[k] for p in parts) for k in range(4))
    return Checked(parts[0].file, (a, b, c, d), [line for p in parts for line in p.wrong])


if __name__ == "__main__":
    raise SystemExit(main())
