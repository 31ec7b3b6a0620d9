"""Tensors of texts. No kernel has them: they are known when a program is made, and operators on them
run in Python then. A model that gives texts is computed anew for each call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr.support.frozen_dataclass import frozen


@frozen
class TextType:
    """The element type of texts.

    Attributes:
        number: of onnx.TensorProto.DataType.
        bytes: of an element of an array, which refers to a text.
    """

    number: int = 8
    name: str = "string"
    bits: int = 0
    bytes: int = 8
    is_float: bool = False
    is_int: bool = False

    def __str__(self) -> str:
        return self.name


TEXT = TextType()


class Texts:
    """A tensor of texts.

    Attributes:
        array: of objects, each a `str`.
    """

    __slots__ = ("array",)
    dtype = TEXT

    def __init__(self, array: Any) -> None:
        given = np.asarray(array, object)
        flat = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in given.ravel()]
        self.array = np.empty(given.shape, object)
        self.array.ravel()[:] = flat

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def size(self) -> int:
        return self.array.size

    def numbers(self) -> np.ndarray:
        """The texts, for callers."""
        return self.array

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Texts)
            and self.shape == other.shape
            and bool(np.array_equal(self.array, other.array))
        )

    def __hash__(self) -> int:
        return hash((self.shape, tuple(self.array.ravel())))
