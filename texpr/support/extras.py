"""Optional libraries: one error for all of them, which names the extra to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from texpr.support.errors import ResourceError


class MissingExtra(ResourceError, ImportError):
    """A library that is not installed with texpr is needed. The help is the command that installs it.

    Example:
        >>> issubclass(tx.MissingExtra, ImportError)  # so `except ImportError` catches it, too
        True
    """


@contextmanager
def needs(extra: str, purpose: str) -> Iterator[None]:
    """A block that imports an optional library.

    Args:
        extra: that installs it, as in `pyproject.toml`.
        purpose: the subject of the message: "reading weights".
    Raises:
        MissingExtra: an import of the block fails.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtra(
            f"{purpose} needs {error.name or error}", code="import", help=f'pip install "texpr[{extra}]"'
        ) from None
