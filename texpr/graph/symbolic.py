"""What stands for an array while a program is captured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from texpr import ops
from texpr.compiler import Op
from texpr.ir.build import integer
from texpr.ir.dtypes import DType
from texpr.ir.expr import Tensor
from texpr.support.errors import CallError

if TYPE_CHECKING:
    from texpr.graph.capture import Capture


class Symbolic:
    """A tensor of a program that is being captured: a shape and a dtype, no values. Operators applied to it become equations.

    Attributes:
        tensor: of the captured program.
        capture: what records the operators.
    """

    __slots__ = ("capture", "tensor")

    def __init__(self, tensor: Tensor, capture: Capture) -> None:
        self.tensor, self.capture = tensor, capture

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(integer(size) for size in self.tensor.shape)  # type: ignore[misc]

    @property
    def dtype(self) -> DType:
        return self.tensor.dtype

    @property
    def ndim(self) -> int:
        return self.tensor.rank

    def __texpr_call__(self, operator: Op, inputs: Mapping[str, object], constants: Mapping[str, object]) -> object:
        return self.capture.apply(operator, inputs, constants)

    def __add__(self, other: object) -> Symbolic:
        return _both(ops.add, self, other) if _is_tensor(other) else _number(self, 1.0, other)

    def __radd__(self, other: object) -> Symbolic:
        return self + other

    def __sub__(self, other: object) -> Symbolic:
        return _both(ops.subtract, self, other) if _is_tensor(other) else _number(self, 1.0, -other)  # type: ignore[operator]

    def __rsub__(self, other: object) -> Symbolic:
        return _both(ops.subtract, other, self) if _is_tensor(other) else _number(self, -1.0, other)

    def __mul__(self, other: object) -> Symbolic:
        return _both(ops.multiply, self, other) if _is_tensor(other) else _number(self, other, 0.0)

    def __rmul__(self, other: object) -> Symbolic:
        return self * other

    def __truediv__(self, other: object) -> Symbolic:
        return _both(ops.divide, self, other) if _is_tensor(other) else _number(self, 1.0 / other, 0.0)  # type: ignore[operator]

    def __matmul__(self, other: object) -> Symbolic:
        return ops.matmul(self, other)  # type: ignore[return-value]

    def __neg__(self) -> Symbolic:
        return ops.negative(self)  # type: ignore[return-value]

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise self._no_values("an array")

    def __bool__(self) -> NoReturn:
        raise self._no_values("true or false")

    def __float__(self) -> NoReturn:
        raise self._no_values("a number")

    __int__ = __index__ = __float__
    # NumPy must leave `array + symbolic` to this class.
    __array_ufunc__ = None

    def _no_values(self, wanted: str) -> CallError:
        return CallError(f"`{self.tensor.name}` stands for {self.dtype}{list(self.shape)} while a program is captured, without values, "
                         f"and {wanted} was asked of it", code="symbolic", help="use operators of texpr.ops, or write one with tx.op")

    def __repr__(self) -> str:
        return f"<symbolic {self.tensor.name}: {self.dtype}[{', '.join(map(str, self.shape))}]>"


def _is_tensor(value: object) -> bool:
    return hasattr(value, "shape") and value.shape != ()  # type: ignore[attr-defined]


def _number(x: Symbolic, a: object, b: object) -> Symbolic:
    """a * x + b"""
    return ops.affine(x, a, b)  # type: ignore[return-value]


def _both(operator: Op, a: object, b: object) -> Symbolic:
    return operator(a, b)  # type: ignore[return-value]
