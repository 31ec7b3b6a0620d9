"""The variables of modules: parameters, which an optimizer changes, and buffers, which programs
themselves may change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from texpr.graph import Variable, active_capture
from texpr.graph.arrays.promotion import named
from texpr.graph.lazy import Tensor
from texpr.graph.lazy.creation import zeros_like
from texpr.ir.dtypes import DType, numpy_dtype, stored
from texpr.support.options import current
from texpr.support.tracebacks import boundary


class Parameter(Variable):
    """A variable that training changes, unless `requires_grad` is False.

    Assign it to an attribute of a module to register it there. It lies on the device that
    `options(device=...)` says.

    Args:
        data: the first value. Numbers of Python, and lists of them, are f32; arrays and tensors keep
            their dtype.
        requires_grad: False for a parameter that training leaves alone.
        name: for messages; that of the attribute where it is assigned.
        dtype: the dtype, by name or as it is: data of another one is converted. Data as bits has it
            already: bf16 in 16 bits, floats in 8 bits.
    Attributes:
        grad: what `backward()` of lazy tensors has added up; None before.
    Raises:
        CallError: a dtype that texpr does not have.
    Example:
        >>> w = nn.Parameter(np.float32([1.0, 2.0]))
        >>> (w * w).sum().backward()
        >>> w.grad
        tensor([2., 4.], f32[2])
        >>> nn.Parameter(0.5).dtype.name, nn.Parameter(np.array(0.5)).dtype.name
        ('f32', 'f64')
    """

    __slots__ = ("_grad", "requires_grad")

    @boundary
    def __init__(
        self, data: object, requires_grad: bool = True, name: str = "parameter", dtype: object = None
    ) -> None:
        super().__init__(*_converted(data, name, dtype), current().device)
        self._grad: Tensor | None = None
        self.requires_grad = requires_grad

    @property
    def grad(self) -> Any:
        """The gradients so far; while a function is traced, what stands for them."""
        capture = active_capture.get()
        return self._grad if capture is None else capture.gradient_of(self, self._grad)

    @grad.setter
    @boundary
    def grad(self, value: Any) -> None:
        capture = active_capture.get()
        if capture is None or not capture.takes_gradient(self, value):
            self._grad = value

    def forget_gradient(self, set_to_none: bool = True) -> None:
        """Let `grad` be None, or 0 where there is one."""
        if set_to_none or self.grad is not None:
            self.grad = None if set_to_none else zeros_like(self.grad)

    def __repr__(self) -> str:
        values = np.array2string(
            np.asarray(self.numbers()), separator=", ", prefix=f"Parameter({self.name}: "
        )
        frozen = "" if self.requires_grad else ", requires_grad=False"
        return f"Parameter({self.name}: {values}, {self.dtype}{list(self.shape)}{frozen})"


class Buffer(Variable):
    """Variable that is no parameter, such as a running mean.

    Assign it to an attribute of a module to register it there.

    Args:
        data: the first value.
        persistent: True if `state_dict` has it.
        dtype: the dtype, by name or as it is: data of another one is converted. Data as bits has it
            already: bf16 in 16 bits, floats in 8 bits.
    Raises:
        CallError: a dtype that texpr does not have.
    Example:
        >>> model = nn.Identity()
        >>> model.scale = nn.Buffer(np.ones(3))
        >>> sorted(model.state_dict())
        ['scale']
    """

    __slots__ = ("persistent",)

    def __init__(
        self, data: object, persistent: bool = True, name: str = "buffer", dtype: object = None
    ) -> None:
        super().__init__(*_converted(data, name, dtype), current().device)
        self.persistent = persistent


def _converted(data: object, name: str, dtype: object) -> tuple[Any, str, DType | None]:
    """Data in a dtype, if one is given, and the other arguments of a variable."""
    if dtype is None:
        return (np.float32(data) if _is_of_python(data) else data), name, None  # type: ignore[arg-type]
    wanted, array = named(dtype), np.asarray(data)
    return data if array.dtype == numpy_dtype(wanted) else stored(array, wanted), name, wanted


def _is_of_python(data: object) -> bool:
    """True for a float of Python's, and for lists with one: they say no dtype, and networks are f32
    elsewhere. A float of NumPy's says f64.
    """
    kinds = set(map(type, _numbers(data)))
    return float in kinds and kinds <= {int, float}


def _numbers(data: object) -> Iterator[object]:
    if isinstance(data, (list, tuple)):
        for part in data:
            yield from _numbers(part)
    else:
        yield data
