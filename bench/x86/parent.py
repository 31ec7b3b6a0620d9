"""The other side of the workers: asks them in turns, and stops those whose turn it is not."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import gettempdir

from bench.timing import Sample, in_turns, typical, undisturbed
from bench.x86.rows import Row

ROOT = Path(__file__).parents[2]
OWN = ("texpr", "peak")
"""What needs no library of others."""
LIBRARIES = ("texpr", "numpy", "torch", "jax", "ort", "numba", "peak")
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NPROC",
    "PJRT_NPROC",
    "TEXPR_THREADS",
)
# Libraries that allocate their results would pay for fresh pages in every call: let malloc keep
# what it got.
KEPT_MEMORY = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
    "MALLOC_TOP_PAD_": str(1 << 26),
    "MALLOC_ARENA_MAX": "1",
}
SAMPLE_SECONDS = 0.04


@dataclass(frozen=True)
class Settings:
    """How to measure.

    Attributes:
        threads: of every library.
        python: the interpreter that has the other libraries.
        clock: `wall`, or `processor` for one thread on a machine that does other work.
        limit: seconds that a worker may take for one answer.
        budget: seconds for the samples of one row.
        rounds: the least number of samples.
        worker: the module that a worker runs.
    """

    threads: int
    python: str
    clock: str = "wall"
    limit: float = 240.0
    budget: float = 12.0
    rounds: int = 7
    worker: str = "bench.x86.worker"


@dataclass
class Found:
    """What was found of one row.

    Attributes:
        row: its name.
        seconds: medians by column.
        details: by column: `first` seconds until the first result, `error` and `correct` where
            there is one; or `failed`.
        clean: no median had to use disturbed samples.
    """

    row: str
    seconds: dict[str, float] = field(default_factory=dict)
    details: dict[str, dict[str, object]] = field(default_factory=dict)
    clean: bool = True

    def as_json(self) -> dict[str, object]:
        """As plain data."""
        return asdict(self)


class Library:
    """The worker of one library. It begins anew after it died or took too long.

    Attributes:
        version: of the library; empty if it is absent.
        absent: why it cannot be used; empty if it can.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        self.name, self._settings = name, settings
        self.version = self.absent = ""
        self._process: subprocess.Popen[str] | None = None
        self._begin()

    def _begin(self) -> None:
        settings = self._settings
        python = sys.executable if self.name in OWN else settings.python
        command = [
            python,
            "-m",
            settings.worker,
            self.name,
            "--threads",
            str(settings.threads),
            "--clock",
            settings.clock,
        ]
        try:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=_environment(self.name, settings),
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as problem:
            self.absent = str(problem)
            return
        answer = self._read(settings.limit)
        self.version, self.absent = (
            str(answer.get("version", "")),
            str(answer.get("absent", answer.get("failed", ""))),
        )
        if self.absent:
            self.close()
        else:
            self._stop()

    def ask(self, **question: object) -> dict:
        """The answer to a question, or `failed` with the reason."""
        if self._process is None and not self.absent:
            self._begin()
        if self._process is None or self._process.stdin is None:
            return {"failed": "not running"}
        os.kill(self._process.pid, signal.SIGCONT)
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self.close()
            return {"failed": "died"}
        answer = self._read(self._settings.limit)
        self._stop()
        return answer

    def _read(self, limit: float) -> dict:
        assert self._process is not None and self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], limit)[0]:
            self.close()
            return {"failed": f"no answer in {limit:g} s"}
        line = self._process.stdout.readline()
        if not line:
            self.close()
            return {"failed": "died"}
        return json.loads(line)

    def _stop(self) -> None:
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGSTOP)

    def close(self) -> None:
        """End the worker."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _environment(name: str, settings: Settings) -> dict[str, str]:
    """Thread counts for everyone; bound threads for torch, which loses much without."""
    found = os.environ | dict.fromkeys(THREAD_VARIABLES, str(settings.threads)) | KEPT_MEMORY
    found.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has byte code
    found |= {
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(Path(gettempdir()) / f"inductor-{settings.threads}"),
    }
    if name == "torch" and settings.threads > 1:
        found |= {"OMP_PROC_BIND": "true", "OMP_WAIT_POLICY": "active"}
    return found


def measure(of: str, row: Row, libraries: Sequence[Library], settings: Settings) -> Found:
    """Prepare a row everywhere, then take samples in turns."""
    found, owners = Found(row.name), {}
    for library in libraries:
        answer = library.ask(prepare=[of, row.name])
        if "failed" in answer:
            found.details[library.name] = answer
            continue
        for column, details in answer.items():
            found.details[column] = details
            if "failed" not in details:
                owners[column] = library
    started = time.perf_counter()
    samples = in_turns(
        {
            column: lambda column=column, library=library: _sample(library, column)
            for column, library in owners.items()
        },
        least=settings.rounds,
        most=10 * settings.rounds,
        budget=max(0.0, settings.budget - (time.perf_counter() - started)),
    )
    for column, taken in samples.items():
        good = [s for s in taken if s.seconds > 0]
        if len(good) < len(taken):
            found.details[column] = {"failed": "died while it was measured"}
            continue
        found.seconds[column] = typical(good)
        found.clean &= undisturbed(good)
    return found


def _sample(library: Library, column: str) -> Sample:
    answer = library.ask(sample=column, seconds=SAMPLE_SECONDS)
    return Sample(answer["seconds"], answer["clean"]) if "seconds" in answer else Sample(0.0, False)
