"""Variables in expressions: methods and operators of tensors, on the value that a variable has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Self

from texpr.graph.arrays.elementary import Elementary
from texpr.graph.arrays.in_place_methods import InPlaceMethods
from texpr.graph.arrays.methods import ArrayMethods, ArrayOperators
from texpr.graph.arrays.recording import active_capture, is_recording
from texpr.graph.arrays.sorting_methods import SortingMethods
from texpr.graph.arrays.torch_methods import TorchDtypes, TorchMethods
from texpr.graph.capture.protocol import Evaluation, VariableLike, value_of
from texpr.support.elsewhere import TENSOR
from texpr.support.errors import CallError
from texpr.support.suggest import suggests
from texpr.support.tracebacks import boundary

_OWN = {"__eq__", "__getattr__", "__ne__", "__hash__", "__len__"}
"""Methods that a variable keeps as an object: programs are keyed by variables, and all of them are
true.
"""


def assigned(variable: VariableLike, value: Any) -> VariableLike:
    """The variable, with the value of a tensor: what `p -= y` does.

    Raises:
        CallError: gradients would not know of it; another shape.
    """
    captured = active_capture.get() is not None
    if getattr(variable, "requires_grad", False) and is_recording() and not captured:
        raise CallError(
            f"`{variable.name}` requires a gradient, and is changed in place",
            code="gradient",
            help="change it inside `with tx.no_grad():`, or compute another tensor: p = p - y",
        )
    new = value.astype(variable.dtype)
    variable.data = new if captured else new.realize().value
    return variable


def _operand(variable: VariableLike) -> Any:
    """The value of a variable for methods that give other tensors: without a copy."""
    capture = active_capture.get()
    return Evaluation.leaf_of(variable) if capture is None else capture.latest(variable)


def _delegated(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @boundary
    @wraps(method)
    def found(self: VariableLike, *arguments: object, **options: object) -> Any:
        value = _operand(self)
        result = getattr(value, name)(*arguments, **options)
        return value.own() if result is value else result  # nobody is to change a leaf

    return found


def _of_value(name: str) -> Callable[..., Any]:
    """A method of the tensor that stands for the value."""

    def found(self: VariableLike, *arguments: object, **options: object) -> Any:
        return getattr(value_of(self), name)(*arguments, **options)

    found.__name__ = name
    return boundary(found)


@suggests(TENSOR)
class VariableMethods(InPlaceMethods):
    """The methods and operators of tensors, but for `==` and truth, which are those of objects."""

    __slots__ = ()
    __array_priority__ = 1000  # NumPy leaves `array * variable` to this class

    def __setitem__(self, key: object, value: object) -> None:
        """Give the variable a value with these elements replaced."""
        new = value_of(self).detach()  # type: ignore[arg-type]
        new[key] = value
        assigned(self, new)  # type: ignore[arg-type]

    def as_tensor(self) -> Any:
        """The value as a tensor, which passes gradients to the variable."""
        return value_of(self)  # type: ignore[arg-type]

    @property
    def T(self) -> Any:  # noqa: N802
        """All axes in the opposite order."""
        return _operand(self).T  # type: ignore[arg-type]

    @property
    def mT(self) -> Any:  # noqa: N802
        """The last two axes exchanged."""
        return _operand(self).mT  # type: ignore[arg-type]

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return value_of(self).nbytes  # type: ignore[arg-type]

    @property
    def is_leaf(self) -> bool:
        """True: a variable is computed from nothing."""
        return True

    @boundary
    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Ask for gradients in this variable, or no longer."""
        if requires_grad and not self.dtype.is_float:  # type: ignore[attr-defined]
            raise CallError(
                f"a variable of {self.dtype} has no gradient",  # type: ignore[attr-defined]
                code="gradient",
                help='convert it: .astype("f32")',
            )
        self.requires_grad = requires_grad  # type: ignore[attr-defined]
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(value_of(self))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(value_of(self))  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        """True, whatever the value and its length are: `if self.bias` asks if there is one."""
        return True

    def item(self) -> float | int | bool:
        """The only element."""
        return value_of(self).item()  # type: ignore[arg-type]

    def tolist(self) -> Any:
        """The values as nested lists."""
        return value_of(self).tolist()  # type: ignore[arg-type]

    def detach(self) -> Any:
        """The value as a tensor through which no gradient flows."""
        return value_of(self).detach()  # type: ignore[arg-type]


def _updating(name: str) -> Callable[..., Any]:
    def found(self: VariableLike, other: object) -> VariableLike:
        return assigned(self, getattr(value_of(self), name)(other))

    return found


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(VariableMethods, f"__i{_name}__", _updating(f"__{_name}__"))
for _name in (
    "to",
    "cpu",
    "to_device",
    "realize",
    "backward",
    "__float__",
    "__int__",
    "__index__",
    "__complex__",
    "__format__",
    "__array_namespace__",
    "__dlpack__",
    "__dlpack_device__",
):
    setattr(VariableMethods, _name, _of_value(_name))
for _class in (Elementary, ArrayOperators, TorchDtypes, TorchMethods, SortingMethods, ArrayMethods):
    for _name, _method in vars(_class).items():
        if callable(_method) and _name not in _OWN:
            setattr(VariableMethods, _name, _delegated(_name, _method))
