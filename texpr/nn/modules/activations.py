"""Functions of single elements and along axes, as layers. `inplace` is torch's and changes
nothing: the memory plan decides.
"""

from __future__ import annotations

from typing import Any

from texpr import ops
from texpr.nn.core.argument_checks import number, one_of, whole
from texpr.nn.core.layer_operations import parameter
from texpr.nn.core.module import Module
from texpr.nn.modules.dropout import Seeded
from texpr.support.errors import CallError


class _Elementwise(Module):
    """Base of layers that apply one operator to every element."""

    operator = ""

    def __init__(self, inplace: bool = False, **constants: Any) -> None:
        super().__init__()
        self.constants: dict[str, Any] = constants

    def forward(self, input: Any) -> Any:
        return getattr(ops, self.operator)(input, **self.constants)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value:g}" for name, value in self.constants.items())


class ReLU(_Elementwise):
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


class ReLU6(_Elementwise):
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


class Tanh(_Elementwise):
    """Hyperbolic tangent of each element.

    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: the input is not of floats.
    Example:
        >>> nn.Tanh()(tx.tensor([-2.0, 0.5]))
        tensor([-0.96402758,  0.46211716], f64[2])
    """

    operator = "tanh"

    def __init__(self) -> None:
        super().__init__()


class Sigmoid(Tanh):
    """Logistic function: `1 / (1 + exp(-x))`.

    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: the input is not of floats.
    Example:
        >>> nn.Sigmoid()(tx.tensor([-2.0, 0.5]))
        tensor([0.11920292, 0.62245933], f64[2])
    """

    operator = "sigmoid"


class LogSigmoid(Tanh):
    """Logarithm of the logistic function: `-log(1 + exp(-x))`.

    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: the input is not of floats.
    Example:
        >>> nn.LogSigmoid()(tx.tensor([-2.0, 0.5]))
        tensor([-2.12692801, -0.47407698], f64[2])
    """

    operator = "log_sigmoid"


class Softsign(Tanh):
    """Softsign: `x / (1 + |x|)`.

    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: the input is not of floats.
    Example:
        >>> nn.Softsign()(tx.tensor([-2.0, 0.5]))
        tensor([-0.66666667,  0.33333333], f64[2])
    """

    operator = "softsign"


class Tanhshrink(Tanh):
    """Element less its hyperbolic tangent: `x - tanh(x)`.

    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: the input is not of floats.
    Example:
        >>> nn.Tanhshrink()(tx.tensor([-2.0, 0.5]))
        tensor([-1.03597242,  0.03788284], f64[2])
    """

    operator = "tanhshrink"


class Hardsigmoid(_Elementwise):
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


class Hardswish(_Elementwise):
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


class SiLU(_Elementwise):
    """Sigmoid linear unit (swish): `x sigmoid(x)`.

    Elfwing, Uchibe and Doya, Sigmoid-Weighted Linear Units, 2017.

    Args:
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: the input is not of floats.
    Example:
        >>> nn.SiLU()(tx.tensor([-2.0, 0.5]))
        tensor([-0.23840584,  0.31122967], f64[2])
    """

    operator = "silu"


class Mish(_Elementwise):
    """Mish: `x tanh(log(1 + exp(x)))`.

    Misra, Mish, 2019.

    Args:
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: the input is not of floats.
    Example:
        >>> nn.Mish()(tx.tensor([-2.0, 0.5]))
        tensor([-0.25250148,  0.37524521], f64[2])
    """

    operator = "mish"


class SELU(_Elementwise):
    """Scaled exponential linear unit: `elu` with the scale and the alpha that keep mean 0 and
    variance 1.

    Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Args:
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: the input is not of floats.
    Example:
        >>> nn.SELU()(tx.tensor([-2.0, 0.5]))
        tensor([-1.52016647,  0.52535049], f64[2])
    """

    operator = "selu"


class ELU(_Elementwise):
    """Exponential linear unit: `x` if `x > 0`, else `alpha (exp(x) - 1)`.

    Clevert, Unterthiner and Hochreiter, Exponential Linear Units, 2015.

    Args:
        alpha: the negative of the limit at minus infinity.
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: `alpha` is no finite number.
        CallError: the input is not of floats.
    Example:
        >>> nn.ELU()(tx.tensor([-2.0, 0.5]))
        tensor([-0.86466472,  0.5       ], f64[2])
    """

    operator = "elu"

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=number("ELU", "alpha", alpha, float("-inf")))


class CELU(_Elementwise):
    """Continuously differentiable exponential linear unit:
    `max(x, 0) + min(alpha (exp(x / alpha) - 1), 0)`.

    Barron, Continuously Differentiable Exponential Linear Units, 2017.

    Args:
        alpha: the negative of the limit at minus infinity.
        inplace: accepted as torch's; the memory plan decides.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: `alpha` is not above 0.
        CallError: the input is not of floats.
    Example:
        >>> nn.CELU()(tx.tensor([-2.0, 0.5]))
        tensor([-0.86466472,  0.5       ], f64[2])
    """

    operator = "celu"

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=number("CELU", "alpha", alpha, 1e-300))


class LeakyReLU(_Elementwise):
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


class Hardtanh(_Elementwise):
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


class Hardshrink(_Elementwise):
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


class Softshrink(_Elementwise):
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


class Softplus(_Elementwise):
    """Smooth rectifier: `log(1 + exp(beta x)) / beta`, and `x` if `beta x > threshold`.

    Dugas et al., Incorporating Second-Order Functional Knowledge, 2000.

    Args:
        beta: the sharpness of the bend.
        threshold: above it the function is linear.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: `beta` is not above 0.
        CallError: the input is not of floats.
    Example:
        >>> nn.Softplus()(tx.tensor([-2.0, 0.5]))
        tensor([0.12692801, 0.97407698], f64[2])
    """

    operator = "softplus"

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta=number("Softplus", "beta", beta, 1e-300), threshold=float(threshold))


class Threshold(_Elementwise):
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


class GELU(_Elementwise):
    """Gaussian error linear unit: `x Phi(x)` with the normal distribution function Phi.

    Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.

    Args:
        approximate: "none" for the error function, "tanh" for the approximation by tanh.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: `approximate` is another word.
        CallError: the input is not of floats.
    Example:
        >>> nn.GELU()(tx.tensor([-2.0, 0.5]))
        tensor([-0.04550026,  0.34573123], f64[2])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = one_of("GELU", "approximate", approximate, ("none", "tanh"))
        self.operator = "gelu" if approximate == "none" else "gelu_tanh"

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


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


class _Along(Module):
    """Base of functions along an axis."""

    operator = ""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        if not -input.ndim <= self.dim < input.ndim:
            raise CallError(
                f"{type(self).__name__}: there is no axis {self.dim} of {input.ndim}", code="rank"
            )
        return getattr(ops, self.operator)(input, axis=self.dim % input.ndim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class _Softmax(_Along):
    """Base of softmax and its kin: one number is a vector of one, and of nothing there is
    nothing.
    """

    def forward(self, input: Any) -> Any:
        if not input.ndim and self.dim in (-1, 0):
            return super().forward(input.reshape(1)).reshape(())
        nothing = not input.size and -input.ndim <= self.dim < input.ndim
        return input if nothing else super().forward(input)


class Softmax(_Softmax):
    """Normalized exponentials: `exp(x)` over the sum of `exp(x)` along an axis; it does not
    overflow.

    Args:
        dim: the axis; negative numbers count from the end.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: there is no axis `dim`, or the input is not of floats.
    Example:
        >>> nn.Softmax()(tx.tensor([1.0, 1.0]))
        tensor([0.5, 0.5], f64[2])
    """

    operator = "softmax"


class Softmin(_Softmax):
    """Normalized exponentials of the negatives: `softmax(-x)` along an axis.

    Args:
        dim: the axis; negative numbers count from the end.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: there is no axis `dim`, or the input is not of floats.
    Example:
        >>> nn.Softmin()(tx.tensor([0.0, 1.0]))
        tensor([0.73105858, 0.26894142], f64[2])
    """

    operator = "softmin"


class LogSoftmax(_Softmax):
    """Logarithm of the softmax along an axis, without overflow.

    Args:
        dim: the axis; negative numbers count from the end.
    Shapes:
        input: (*), any shape
        output: the shape of the input
    Raises:
        CallError: there is no axis `dim`, or the input is not of floats.
    Example:
        >>> nn.LogSoftmax()(tx.tensor([1.0, 1.0]))
        tensor([-0.69314718, -0.69314718], f64[2])
    """

    operator = "log_softmax"


class GLU(_Along):
    """Gated linear unit: the first half of an axis times the sigmoid of its second half.

    Dauphin et al., Language Modeling with Gated Convolutional Networks, 2016.

    Args:
        dim: the axis; negative numbers count from the end.
    Shapes:
        input: (..., 2 n, ...) with 2 n elements along `dim`
        output: (..., n, ...)
    Raises:
        CallError: there is no axis `dim`, its extent is odd, or the input is not of floats.
    Example:
        >>> nn.GLU()(tx.tensor([2.0, 0.0]))
        tensor([1.], f64[1])
    """

    operator = "glu"


class Softmax2d(Module):
    """Softmax over the channels of images.

    Shapes:
        input: (batch, channels, height, width), or without the batch
        output: the shape of the input
    Raises:
        CallError: the input has neither 3 nor 4 axes.
    Example:
        >>> nn.Softmax2d()(tx.zeros(1, 2, 1, 1)).tolist()
        [[[[0.5]], [[0.5]]]]
    """

    def forward(self, input: Any) -> Any:
        if input.ndim not in (3, 4):
            raise CallError(f"Softmax2d: the input has {input.ndim} dimensions, expected 3 or 4", code="rank")
        return ops.softmax(input, axis=input.ndim - 3)
