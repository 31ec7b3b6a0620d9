"""Functions of single elements that are made of straight lines, as layers: rectifiers, clamps,
shrinkage, and what is a product with one of them.
"""

from __future__ import annotations

from typing import Any

from texpr import ops
from texpr.nn.core.argument_checks import number, whole
from texpr.nn.core.layer_operations import parameter
from texpr.nn.core.module import Module
from texpr.nn.modules.activations import Elementwise
from texpr.nn.modules.dropout import Seeded
from texpr.support.errors import CallError


class ReLU(Elementwise):
    """Rectified linear unit: `max(x, 0)`.

    Args:
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: the input is not of floats.
    Example:
        >>> nn.ReLU()(tx.tensor([-2.0, 0.5]))
        tensor([0. , 0.5], f64[2])
    """

    operator = "relu"


class ReLU6(Elementwise):
    """Rectified linear unit with an upper bound: `min(max(x, 0), 6)`.

    Krizhevsky, Convolutional Deep Belief Networks on CIFAR-10, 2010.

    Args:
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: the input is not of floats.
    Example:
        >>> nn.ReLU6()(tx.tensor([-2.0, 9.0]))
        tensor([0., 6.], f64[2])
    """

    operator = "relu6"


class LeakyReLU(Elementwise):
    """Leaky rectified linear unit: `x` if `x > 0`, else `negative_slope x`.

    Maas, Hannun and Ng, Rectifier Nonlinearities, 2013.

    Args:
        negative_slope: the slope below 0.
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: `negative_slope` is no finite number.
        CallError: the input is not of floats.
    Example:
        >>> nn.LeakyReLU(0.1)(tx.tensor([-2.0, 0.5]))
        tensor([-0.2,  0.5], f64[2])
    """

    operator = "leaky_relu"

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(slope=number("LeakyReLU", "negative_slope", negative_slope, float("-inf")))


class PReLU(Module):
    """Rectified linear unit with a learned slope: `x` if `x > 0`, else `weight x`.

    He et al., Delving Deep into Rectifiers, 2015.

    Args:
        num_parameters: 1 for all channels, or the number of channels (axis 1).
        init: the first value of the slopes.
    Shapes:
        weight: (num_parameters,)
        input: (batch, channels, ...), or any shape for one parameter
        output: the shape of the input
    Raises:
        CallError: `num_parameters` is no integer of at least 1, or not the number of channels.
        CallError: the input is not of floats.
    Example:
        >>> nn.PReLU()(tx.tensor([-2.0, 0.5], dtype="f32"))
        tensor([-0.5,  0.5], f32[2], requires_grad=True)
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, *, dtype: object = "f32") -> None:
        super().__init__()
        self.num_parameters = whole("PReLU", "num_parameters", num_parameters)
        self.weight = parameter(self, "weight", (self.num_parameters,), dtype, float(init))

    def forward(self, input: Any) -> Any:
        return (
            ops.prelu_shared(input, self.weight)
            if self.num_parameters == 1
            else ops.prelu(input, self.weight)
        )

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class RReLU(Seeded):
    """Rectified linear unit with a random slope: `x` if `x > 0`, else `a x`.

    In training, the slope `a` is drawn evenly from lower..upper for each element; in evaluation it
    is their mean. Xu et al., Empirical Evaluation of Rectified Activations, 2015.

    Args:
        lower, upper: the range of slopes.
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: `lower` is above `upper`, or the input is not of floats.
    Example:
        >>> nn.RReLU(0.1, 0.3).eval()(tx.tensor([-2.0, 0.5]))
        tensor([-0.4,  0.5], f64[2])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper = float(lower), float(upper)
        if not self.lower <= self.upper:
            raise CallError(f"RReLU: lower {lower} is above upper {upper}", code="arguments")

    def forward(self, input: Any) -> Any:
        if self.training:
            return ops.rrelu(input, self.next_seed(input.capture), lower=self.lower, upper=self.upper)
        return ops.leaky_relu(input, slope=(self.lower + self.upper) / 2)

    def extra_repr(self) -> str:
        return f"lower={self.lower:g}, upper={self.upper:g}"


class Threshold(Elementwise):
    """Threshold: `x` if `x > threshold`, else `value`.

    Args:
        threshold: the bound.
        value: the result at and below the bound.
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: the input is not of floats.
    Example:
        >>> nn.Threshold(0.0, -1.0)(tx.tensor([-2.0, 0.5]))
        tensor([-1. ,  0.5], f64[2])
    """

    operator = "threshold"

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(limit=float(threshold), value=float(value))


class Hardtanh(Elementwise):
    """Clamp to an interval: `min(max(x, min_val), max_val)`.

    Args:
        min_val, max_val: the ends of the interval.
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: `min_val` is not below `max_val`.
        CallError: the input is not of floats.
    Example:
        >>> nn.Hardtanh()(tx.tensor([-2.0, 0.5]))
        tensor([-1. ,  0.5], f64[2])
    """

    operator = "hardtanh"

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        if not min_val < max_val:
            raise CallError(f"Hardtanh: min_val {min_val} is not below max_val {max_val}", code="arguments")
        super().__init__(lo=float(min_val), hi=float(max_val))


class Hardsigmoid(Elementwise):
    """Piecewise linear sigmoid: `min(max(x / 6 + 1/2, 0), 1)`.

    Howard et al., Searching for MobileNetV3, 2019.

    Args:
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: the input is not of floats.
    Example:
        >>> nn.Hardsigmoid()(tx.tensor([-2.0, 0.5]))
        tensor([0.16666667, 0.58333333], f64[2])
    """

    operator = "hardsigmoid"


class Hardswish(Elementwise):
    """Element times its piecewise linear sigmoid: `x hardsigmoid(x)`.

    Howard et al., Searching for MobileNetV3, 2019.

    Args:
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: the input is not of floats.
    Example:
        >>> nn.Hardswish()(tx.tensor([-2.0, 0.5]))
        tensor([-0.33333333,  0.29166667], f64[2])
    """

    operator = "hardswish"


class Hardshrink(Elementwise):
    """Hard shrinkage: `x` if `|x| > lambd`, else 0.

    Args:
        lambd: the threshold.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: `lambd` is no finite number.
        CallError: the input is not of floats.
    Example:
        >>> nn.Hardshrink()(tx.tensor([-2.0, 0.5]))
        tensor([-2.,  0.], f64[2])
    """

    operator = "hardshrink"

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=number("Hardshrink", "lambd", lambd, float("-inf")))


class Softshrink(Elementwise):
    """Soft shrinkage: `x` moved towards 0 by `lambd`, and 0 if `|x| <= lambd`.

    Args:
        lambd: the threshold.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: `lambd` is below 0.
        CallError: the input is not of floats.
    Example:
        >>> nn.Softshrink()(tx.tensor([-2.0, 0.5]))
        tensor([-1.5,  0. ], f64[2])
    """

    operator = "softshrink"

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=number("Softshrink", "lambd", lambd))
