"""Names of the processor and of versions, to stand beside times that were measured."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

from texpr.runtime import host


def describe(*packages: str) -> str:
    """Name the processor, its cores, the system, and the versions of Python, NumPy, texpr and more.

    No name of the computer and no path is in it.

    Args:
        packages: names of further installed packages whose versions are named.

    Raises:
        importlib.metadata.PackageNotFoundError: a package is not installed.
    """
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "texpr", *packages))
    return (
        f"{_processor()} ({host.cpu_name()}), {host.cores()} cores, {platform.system()}; "
        f"Python {platform.python_version()}, {versions}"
    )


def _processor() -> str:
    """The processor, as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine() or os.name
