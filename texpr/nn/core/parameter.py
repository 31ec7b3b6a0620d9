"""The variables of modules: parameters, which an optimizer changes, and buffers, which programs
themselves may change.
"""

from __future__ import annotations

from typing import Any

from texpr.graph import Variable, active_capture
from texpr.graph.lazy import Tensor
from texpr.ir.dtypes import DType
from texpr.support.options import current


class Parameter(Variable):
    """A variable that training changes, unless `requires_grad` is False.

    Assign it to an attribute of a module to register it there. It lies on the device that
    `options(device=...)` says.

    Attributes:
        grad: what `backward()` of lazy tensors has added up; None before.
    """

    __slots__ = ("_grad", "requires_grad")

    def __init__(
        self, data: object, requires_grad: bool = True, name: str = "parameter", dtype: DType | None = None
    ) -> None:
        super().__init__(data, name, dtype, current().device)
        self._grad: Tensor | None = None
        self.requires_grad = requires_grad

    @property
    def grad(self) -> Any:
        """The gradients so far; while a function is traced, what stands for them."""
        capture = active_capture.get()
        return self._grad if capture is None else capture.gradient_of(self, self._grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        capture = active_capture.get()
        if capture is None or not capture.takes_gradient(self, value):
            self._grad = value


class Buffer(Variable):
    """A variable that is no parameter, such as a running mean. Assign it to an attribute of a
    module to register it there.

    Args:
        persistent: whether `state_dict` has it.
        dtype: what NumPy cannot say of `data`: bf16 in 16 bits, floats in 8 bits.
    """

    __slots__ = ("persistent",)

    def __init__(
        self, data: object, persistent: bool = True, name: str = "buffer", dtype: DType | None = None
    ) -> None:
        super().__init__(data, name, dtype, current().device)
        self.persistent = persistent
