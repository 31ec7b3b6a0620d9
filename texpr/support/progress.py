"""Progress of long work, where tqdm is installed and someone watches."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def progress(items: Sequence[T], unit: str) -> Iterable[T]:
    """The items, with a bar on a terminal while they are taken."""
    if not sys.stderr.isatty():
        return items
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return items
    return tqdm(items, unit=f" {unit}", leave=False)
