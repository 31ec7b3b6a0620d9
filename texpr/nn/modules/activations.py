"""Smooth functions of single elements, as layers. `inplace` is torch's and changes nothing: the
memory plan decides.
"""

from __future__ import annotations

from typing import Any

from texpr import ops
from texpr.nn.core.argument_checks import number, one_of
from texpr.nn.core.module import Module


class Elementwise(Module):
    """Base of layers that apply one operator to every element."""

    operator = ""

    def __init__(self, inplace: bool = False, **constants: Any) -> None:
        super().__init__()
        self.constants: dict[str, Any] = constants

    def forward(self, input: Any) -> Any:
        return getattr(ops, self.operator)(input, **self.constants)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value:g}" for name, value in self.constants.items())


class Tanh(Elementwise):
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


class SiLU(Elementwise):
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


class Mish(Elementwise):
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


class GELU(Elementwise):
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


class ELU(Elementwise):
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


class SELU(Elementwise):
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


class CELU(Elementwise):
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


class Softplus(Elementwise):
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
