"""Values while a model is turned into a program: some are known then, others are tensors of the
program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from texpr.graph import Symbolic
from texpr.ir.dtypes import DType, as_bits, known_dtype, native_dtype, readable, stored
from texpr.onnx.narrow_types import Narrow
from texpr.onnx.text_values import Texts
from texpr.support.errors import CallError

MOST_NAMES = 4
"""Number of names in an error."""


class Known:
    """An array whose values are known when the program is made: a constant of the model, or what
    was computed from such ones.

    Attributes:
        array: as texpr stores `dtype`: what NumPy lacks as its bits.
    """

    __slots__ = ("array", "dtype")

    def __init__(self, array: np.ndarray, dtype: DType) -> None:
        self.array, self.dtype = array, dtype

    @staticmethod
    def of(array: object) -> Known:
        """An array of NumPy's.

        Raises:
            CallError: a dtype that texpr does not have.
        """
        found = np.asarray(array)
        dtype = known_dtype("an array", found.dtype)
        stored = as_bits(found, dtype)
        return Known(np.ascontiguousarray(stored, native_dtype(stored.dtype)).reshape(found.shape), dtype)

    @staticmethod
    def rounded(numbers: object, dtype: DType) -> Known:
        """Numbers as the nearest of a dtype."""
        return Known(stored(np.asarray(numbers), dtype), dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def numbers(self) -> np.ndarray:
        """The values as numbers."""
        return readable(self.array, self.dtype)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Known)
            and (self.dtype, self.shape) == (other.dtype, other.shape)
            and self.array.tobytes() == other.array.tobytes()
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape, self.array.tobytes()))


class NoTensors(list):
    """A sequence of no tensors, which has an element type all the same."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: DType) -> None:
        super().__init__()
        self.dtype = dtype


class Nothing:
    """An empty sequence as an argument of a call: an empty list says no type, and is taken for
    an array of no numbers.
    """

    __slots__ = ("dtype",)

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nothing) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((Nothing, self.dtype))


Value = Known | Symbolic | Narrow | Texts | list | None
"""A tensor, a sequence of tensors, or an optional that is absent."""


def is_known(value: Value) -> bool:
    """True if the values of a tensor are known, or it is absent."""
    return value is None or isinstance(value.tensor if isinstance(value, Narrow) else value, Known | Texts)


def tensor_of(value: Value) -> Value:
    """A value, or the bytes of one of a narrow type."""
    return value.tensor if isinstance(value, Narrow) else value


class NeedsValue(CallError):
    """The refusal of a model whose shapes, or the choice of nodes to run, depend on inputs or
    parameters: a program is for one value of these.

    Attributes:
        inputs, parameters: their names.
        what: what depends on them, in words.
    """

    def __init__(self, inputs: Sequence[str], parameters: Sequence[str], what: str) -> None:
        names = ", ".join(f"`{n}`" for n in (*inputs, *parameters)[:MOST_NAMES])
        super().__init__(
            f"{what} must be known when the program is made, and it is computed from "
            f"{names or 'other tensors'}",
            code="value",
            help="call the model on arrays, outside of programs that are captured" if names else "",
        )
        self.inputs, self.parameters, self.what = tuple(inputs), tuple(parameters), what


def numbered(values: Sequence[Any]) -> tuple[list[Any], np.ndarray]:
    """Values with numbers in the place of texts, and the texts that these stand for, in order."""
    flat = [v.array.ravel() for v in values if isinstance(v, Texts)]
    words = np.array(sorted({w for array in flat for w in array}), object)
    places = {w: k for k, w in enumerate(words)}

    def numbers(x: Texts) -> Known:
        return Known.of(np.array([places[w] for w in x.array.ravel()], np.int64).reshape(x.shape))

    return [numbers(v) if isinstance(v, Texts) else v for v in values], words
