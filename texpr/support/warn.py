"""Warnings that point at the line of the user's that led to them."""

from __future__ import annotations

import sys
import warnings
from os import sep
from pathlib import Path

PACKAGE = f"{Path(__file__).parents[1]}{sep}"


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn of the innermost line outside of texpr, however deep inside the reason is seen."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)
