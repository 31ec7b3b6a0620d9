"""Answers of the namespace about itself: devices, data types, capabilities."""

from __future__ import annotations

from typing import Any

from texpr.graph.array_api.data_types import DEFAULTS, STANDARD_NAMES, isdtype
from texpr.ir.dtypes import DTYPES, DType
from texpr.runtime import gpu
from texpr.support.options import current


class NamespaceInfo:
    """Answers of `__array_namespace_info__()`."""

    def capabilities(self) -> dict[str, Any]:
        """The optional parts that are there: masks as indices and shapes that depend on values, which are
        computed at once; the most axes of a tensor, None for no limit.
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> str:
        """The device of tensors that are made without one."""
        return current().device

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType | None]:
        """The data types of numbers without one; None of complex ones, which are not there."""
        del device
        return dict(DEFAULTS)

    def dtypes(self, *, device: str | None = None, kind: Any = None) -> dict[str, DType]:
        """Data types of the standard by name: all, or those of a kind."""
        del device
        found = {name: DTYPES[own] for name, own in STANDARD_NAMES.items()}
        return {name: t for name, t in found.items() if kind is None or isdtype(t, kind)}

    def devices(self) -> list[str]:
        """Names of the devices that can be used."""
        return list(dict.fromkeys([gpu.HOST, current().device]))


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807
    """The namespace's answers about devices, data types and capabilities.

    Example:
        >>> tx.array_api.__array_namespace_info__().default_device()
        'cpu'
    """
    return NamespaceInfo()
