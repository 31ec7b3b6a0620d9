"""Builds of CPython without the GIL (PEP 703)."""

from __future__ import annotations

import sys

FREE_THREADED = "t" in getattr(sys, "abiflags", "")
"""True in such a build, whether its GIL is on or not: objects have another head there."""


def runs_without_gil() -> bool:
    """True while threads run Python at once: the GIL of such a build is on after an import of a module
    that asks for it, and with `PYTHON_GIL=1`.
    """
    return FREE_THREADED and not sys._is_gil_enabled()  # type: ignore[attr-defined]
