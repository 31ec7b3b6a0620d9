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
    """max(x, 0)"""

    operator = "relu"


class ReLU6(_Elementwise):
    """min(max(x, 0), 6). Krizhevsky, Convolutional Deep Belief Networks on CIFAR-10, 2010."""

    operator = "relu6"


class Tanh(_Elementwise):
    """The hyperbolic tangent."""

    operator = "tanh"

    def __init__(self) -> None:
        super().__init__()


class Sigmoid(Tanh):
    """1 / (1 + exp(-x))"""

    operator = "sigmoid"


class LogSigmoid(Tanh):
    """log(1 / (1 + exp(-x)))"""

    operator = "log_sigmoid"


class Softsign(Tanh):
    """x / (1 + |x|)"""

    operator = "softsign"


class Tanhshrink(Tanh):
    """x - tanh(x)"""

    operator = "tanhshrink"


class Hardsigmoid(_Elementwise):
    """min(max(x / 6 + 1/2, 0), 1). Howard et al., Searching for MobileNetV3, 2019."""

    operator = "hardsigmoid"


class Hardswish(_Elementwise):
    """x hardsigmoid(x), from the same paper."""

    operator = "hardswish"


class SiLU(_Elementwise):
    """x sigmoid(x). Elfwing, Uchibe and Doya, Sigmoid-Weighted Linear Units, 2017."""

    operator = "silu"


class Mish(_Elementwise):
    """x tanh(log(1 + exp(x))). Misra, Mish, 2019."""

    operator = "mish"


class SELU(_Elementwise):
    """elu with the scale and alpha that keep mean 0 and variance 1. Klambauer et al.,
    Self-Normalizing Neural Networks, 2017.
    """

    operator = "selu"


class ELU(_Elementwise):
    """x where x > 0, else alpha (exp(x) - 1). Clevert, Unterthiner and Hochreiter, Exponential
    Linear Units, 2015.
    """

    operator = "elu"

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=number("ELU", "alpha", alpha, float("-inf")))


class CELU(_Elementwise):
    """max(x, 0) + min(alpha (exp(x / alpha) - 1), 0). Barron, Continuously Differentiable
    Exponential Linear Units, 2017.
    """

    operator = "celu"

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=number("CELU", "alpha", alpha, 1e-300))


class LeakyReLU(_Elementwise):
    """x where x > 0, else negative_slope x. Maas, Hannun and Ng, Rectifier Nonlinearities, 2013."""

    operator = "leaky_relu"

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(slope=number("LeakyReLU", "negative_slope", negative_slope, float("-inf")))


class Hardtanh(_Elementwise):
    """min(max(x, min_val), max_val)"""

    operator = "hardtanh"

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        if not min_val < max_val:
            raise CallError(f"Hardtanh: min_val {min_val} is not below max_val {max_val}", code="arguments")
        super().__init__(lo=float(min_val), hi=float(max_val))


class Hardshrink(_Elementwise):
    """x where |x| > lambd, else 0."""

    operator = "hardshrink"

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=number("Hardshrink", "lambd", lambd, float("-inf")))


class Softshrink(_Elementwise):
    """x moved towards 0 by lambd, 0 where |x| <= lambd."""

    operator = "softshrink"

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=number("Softshrink", "lambd", lambd))


class Softplus(_Elementwise):
    """log(1 + exp(beta x)) / beta, and x where beta x > threshold. Dugas et al., 2000."""

    operator = "softplus"

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta=number("Softplus", "beta", beta, 1e-300), threshold=float(threshold))


class Threshold(_Elementwise):
    """x where x > threshold, else `value`."""

    operator = "threshold"

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(limit=float(threshold), value=float(value))


class GELU(_Elementwise):
    """x Phi(x) with the normal distribution Phi, or its approximation by tanh. Hendrycks and
    Gimpel, 2016.
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = one_of("GELU", "approximate", approximate, ("none", "tanh"))
        self.operator = "gelu" if approximate == "none" else "gelu_tanh"

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class PReLU(Module):
    """x where x > 0, else weight x, with a weight for all channels (axis 1) or one each. He et
    al., Delving Deep into Rectifiers, 2015.
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
    """x where x > 0, else x times a number of lower..upper: drawn for each element in training,
    else their mean. Xu et al., 2015.
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
    """exp(x) over the sum of exp(x) along axis `dim`."""

    operator = "softmax"


class Softmin(_Softmax):
    """softmax(-x) along axis `dim`."""

    operator = "softmin"


class LogSoftmax(_Softmax):
    """The logarithm of softmax along axis `dim`."""

    operator = "log_softmax"


class GLU(_Along):
    """The first half of axis `dim` times the sigmoid of the second half. Dauphin et al., 2016."""

    operator = "glu"


class Softmax2d(Module):
    """Softmax over the channels of images, with or without a batch."""

    def forward(self, input: Any) -> Any:
        if input.ndim not in (3, 4):
            raise CallError(f"Softmax2d: the input has {input.ndim} dimensions, expected 3 or 4", code="rank")
        return ops.softmax(input, axis=input.ndim - 3)
