"""Recursion without Python's stack: the depth of a text never meets the depth of that."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

Steps = Generator[Any, Any, Any]
"""Yields generators of its kind, and is sent the result of each."""


def run(steps: Steps) -> Any:
    """The result of a generator that yields the generators whose results it needs."""
    stack, result = [steps], None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as finished:
            stack.pop()
            result = finished.value
    return result
