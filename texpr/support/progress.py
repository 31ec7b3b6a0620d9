"""Progress of long work, where tqdm is installed and someone watches."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T")


def bar(**options: Any) -> Any:
    """A bar of tqdm with these options; None where it is not installed or nobody watches."""
    if not sys.stderr.isatty():
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(leave=False, **options)


def progress(
    items: Iterable[T], unit: str, total: int | None = None, label: str | None = None
) -> Iterable[T]:
    """The items, with a bar while they are taken."""
    shown = bar(iterable=items, unit=unit, total=total, desc=label)
    return items if shown is None else shown
