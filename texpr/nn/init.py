"""Random first values, with torch.nn.init's names and formulas, from one generator per thread.

The functions that end in `_` fill a parameter, a variable or an array in place and return it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod, sqrt
from typing import Any, TypeVar

import numpy as np

from texpr.graph import Variable
from texpr.graph.lazy.random_numbers import generator as generator
from texpr.graph.lazy.random_numbers import manual_seed as manual_seed
from texpr.ir.dtypes import stored
from texpr.nn.core.bare_parameters import bare_dtype
from texpr.support.errors import CallError
from texpr.support.suggest import suggest_names
from texpr.support.tracebacks import boundary

Filled = TypeVar("Filled", Variable, np.ndarray)
F = TypeVar("F", bound=Callable[..., Any])


def _filling(function: F) -> F:
    """The function, for what can be filled alone."""

    @boundary
    @functools.wraps(function)
    def checked(tensor: Any, *args: Any, **options: Any) -> Any:
        if not hasattr(tensor, "shape"):
            raise CallError(
                f"{function.__name__} fills a parameter or an array, got {tensor!r}",
                code="arguments",
                help=f"nn.init.{function.__name__}(model.weight)",
            )
        return function(tensor, *args, **options)

    return checked  # type: ignore[return-value]


def _fill(tensor: Filled, values: object) -> Filled:
    """Numbers are drawn in 64 bits, so that models of one seed are alike in all dtypes."""
    if isinstance(tensor, Variable):
        tensor.data = np.broadcast_to(stored(values, tensor.dtype), tensor.shape)
    else:
        tensor[...] = values
    return tensor


@_filling
def uniform_(tensor: Filled, a: float = 0.0, b: float = 1.0) -> Filled:
    """Uniform distribution over `a <= x < b`.

    Args:
        a, b: the ends.
    Raises:
        CallError: neither a parameter nor an array.
    Example:
        >>> w = nn.init.uniform_(nn.Parameter(np.zeros((2, 3), np.float32)))
        >>> bool((w.data >= 0).all() and (w.data < 1).all())
        True
    """
    if bare_dtype.get() is not None:
        return tensor
    return _fill(tensor, generator().uniform(a, b, tensor.shape))


@_filling
def normal_(tensor: Filled, mean: float = 0.0, std: float = 1.0) -> Filled:
    """Normal distribution.

    Args:
        mean, std: the mean and the standard deviation.
    Raises:
        CallError: neither a parameter nor an array.
    Example:
        >>> w = nn.init.normal_(nn.Parameter(np.zeros((2, 3), np.float32)), std=0.1)
        >>> w.shape
        (2, 3)
    """
    if bare_dtype.get() is not None:
        return tensor
    return _fill(tensor, generator().normal(mean, std, tensor.shape))


@_filling
def trunc_normal_(
    tensor: Filled, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> Filled:
    """Truncated normal distribution: numbers outside of a..b are drawn again.

    Args:
        mean, std: the mean and the standard deviation before.
        a, b: the ends.
    Raises:
        CallError: nearly nothing of the distribution is within a..b.
    Example:
        >>> w = nn.init.trunc_normal_(nn.Parameter(np.zeros((2, 3), np.float32)), a=-0.5, b=0.5)
        >>> bool((abs(w.data) <= 0.5).all())
        True
    """
    values = generator().normal(mean, std, tensor.shape)
    if not a < b or max(a - mean, mean - b) > 6 * std:
        raise CallError(
            f"trunc_normal_: nearly nothing of mean {mean} and deviation {std} is within {a} to {b}",
            code="arguments",
        )
    while (outside := (values < a) | (values > b)).any():
        values[outside] = generator().normal(mean, std, int(outside.sum()))
    return _fill(tensor, values)


@_filling
def constant_(tensor: Filled, val: float) -> Filled:
    """Constant: all elements `val`.

    Raises:
        CallError: neither a parameter nor an array.
    Example:
        >>> w = nn.init.constant_(nn.Parameter(np.zeros((2, 3), np.float32)), 3.0)
        >>> w.data.tolist()
        [[3.0, 3.0, 3.0], [3.0, 3.0, 3.0]]
    """
    return _fill(tensor, val)


@_filling
def ones_(tensor: Filled) -> Filled:
    """Constant 1.

    Raises:
        CallError: neither a parameter nor an array.
    Example:
        >>> w = nn.init.ones_(nn.Parameter(np.zeros((2, 3), np.float32)))
        >>> w.data.tolist()
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    return _fill(tensor, 1)


@_filling
def zeros_(tensor: Filled) -> Filled:
    """Constant 0.

    Raises:
        CallError: neither a parameter nor an array.
    Example:
        >>> w = nn.init.zeros_(nn.Parameter(np.zeros((2, 3), np.float32)))
        >>> w.data.tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return _fill(tensor, 0)


@_filling
def eye_(tensor: Filled) -> Filled:
    """Unit matrix.

    Raises:
        CallError: the tensor is no matrix.
    Example:
        >>> w = nn.init.eye_(nn.Parameter(np.zeros((2, 3), np.float32)))
        >>> w.data.tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    _rank("eye_", tensor, 2, 2)
    rows, columns = tensor.shape
    return _fill(tensor, np.eye(rows, columns))


@_filling
def dirac_(tensor: Filled, groups: int = 1) -> Filled:
    """Identity of a convolution: 1 in the middle of the window for equal channels, as many as there
    are.

    Args:
        groups: groups of channels that see only each other.
    Raises:
        CallError: the tensor has no 3 to 5 axes, or channels cannot be divided into groups.
    Example:
        >>> w = nn.init.dirac_(nn.Parameter(np.zeros((2, 2, 3), np.float32)))
        >>> w.data[:, :, 1].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    _rank("dirac_", tensor, 3, 5)
    if tensor.shape[0] % groups:
        raise CallError(
            f"dirac_: {tensor.shape[0]} output channels cannot be divided into {groups} groups",
            code="arguments",
        )
    values = np.zeros(tensor.shape)
    each = tensor.shape[0] // groups
    for group in range(groups):
        for channel in range(min(each, tensor.shape[1])):
            values[(group * each + channel, channel, *(k // 2 for k in tensor.shape[2:]))] = 1
    return _fill(tensor, values)


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """Fan-in and fan-out of a weight (out, in, ...): inputs per output and outputs per input.

    Raises:
        CallError: the shape has fewer than 2 axes.
    Example:
        >>> nn.init.fans((8, 3, 5, 5))
        (75, 200)
    """
    if len(shape) < 2:
        raise CallError(
            f"a tensor of shape {list(shape)} has no fans; it needs 2 dimensions", code="arguments"
        )
    return shape[1] * prod(shape[2:]), shape[0] * prod(shape[2:])


@_filling
def xavier_uniform_(tensor: Filled, gain: float = 1.0) -> Filled:
    """Glorot initialization: uniform within `gain sqrt(6 / (fan in + fan out))`.

    Glorot and Bengio, Understanding the Difficulty of Training Deep Feedforward Neural Networks,
    2010.

    Args:
        gain: a factor, see `calculate_gain`.
    Raises:
        CallError: the tensor has fewer than 2 axes.
    Example:
        >>> w = nn.init.xavier_uniform_(nn.Parameter(np.zeros((2, 3), np.float32)))
        >>> bool((abs(w.data) <= (6 / 5) ** 0.5).all())
        True
    """
    bound = gain * sqrt(6 / sum(fans(tensor.shape)))
    return uniform_(tensor, -bound, bound)


@_filling
def xavier_normal_(tensor: Filled, gain: float = 1.0) -> Filled:
    """Glorot initialization: normal with deviation `gain sqrt(2 / (fan in + fan out))`.

    Glorot and Bengio, Understanding the Difficulty of Training Deep Feedforward Neural Networks,
    2010.

    Args:
        gain: a factor, see `calculate_gain`.
    Raises:
        CallError: the tensor has fewer than 2 axes.
    Example:
        >>> w = nn.init.xavier_normal_(nn.Parameter(np.zeros((2, 3), np.float32)))
        >>> w.shape
        (2, 3)
    """
    return normal_(tensor, 0.0, gain * sqrt(2 / sum(fans(tensor.shape))))


@_filling
def kaiming_uniform_(
    tensor: Filled, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Filled:
    """He initialization: uniform within `gain sqrt(3 / fan)`.

    He et al., Delving Deep into Rectifiers, 2015.

    Args:
        a: the slope of leaky_relu for negative numbers; torch's layers take sqrt(5).
        mode: "fan_in" or "fan_out".
        nonlinearity: the function behind the layer, see `calculate_gain`.
    Raises:
        CallError: the tensor has fewer than 2 axes, or an unknown word.
    Example:
        >>> w = nn.init.kaiming_uniform_(nn.Parameter(np.zeros((2, 3), np.float32)), nonlinearity="relu")
        >>> bool((abs(w.data) <= 2**0.5).all())
        True
    """
    bound = sqrt(3.0) * _deviation(tensor.shape, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


@_filling
def kaiming_normal_(
    tensor: Filled, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Filled:
    """He initialization: normal with deviation `gain / sqrt(fan)`.

    He et al., Delving Deep into Rectifiers, 2015.

    Args:
        a: the slope of leaky_relu for negative numbers; torch's layers take sqrt(5).
        mode: "fan_in" or "fan_out".
        nonlinearity: the function behind the layer, see `calculate_gain`.
    Raises:
        CallError: the tensor has fewer than 2 axes, or an unknown word.
    Example:
        >>> w = nn.init.kaiming_normal_(nn.Parameter(np.zeros((2, 3), np.float32)), nonlinearity="relu")
        >>> w.shape
        (2, 3)
    """
    return normal_(tensor, 0.0, _deviation(tensor.shape, a, mode, nonlinearity))


def _deviation(shape: Sequence[int], a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise CallError(f"mode is {mode!r}, expected fan_in or fan_out", code="arguments")
    return calculate_gain(nonlinearity, a) / sqrt(max(1, fans(shape)[mode == "fan_out"]))


@_filling
def orthogonal_(tensor: Filled, gain: float = 1) -> Filled:
    """Orthogonal rows, or columns where there are fewer: the Q of a random matrix.

    Saxe, McClelland and Ganguli, Exact Solutions to the Nonlinear Dynamics of Learning, 2013.

    Args:
        gain: a factor.
    Raises:
        CallError: the tensor has fewer than 2 axes.
    Example:
        >>> w = nn.init.orthogonal_(nn.Parameter(np.zeros((2, 3), np.float32)))
        >>> bool(np.allclose(w.data @ w.data.T, np.eye(2), atol=1e-5))
        True
    """
    if tensor.ndim < 2:
        raise CallError(
            f"orthogonal_: the tensor has {tensor.ndim} dimensions, expected at least 2", code="arguments"
        )
    rows, columns = tensor.shape[0], prod(tensor.shape[1:])
    flat = generator().normal(size=(rows, columns))
    q, r = np.linalg.qr(flat.T if rows < columns else flat)
    q = q * np.sign(np.diagonal(r))
    return _fill(tensor, gain * (q.T if rows < columns else q).reshape(tensor.shape))


@_filling
def sparse_(tensor: Filled, sparsity: float, std: float = 0.01) -> Filled:
    """Sparse initialization: normal, but for the share `sparsity` of each column, which is 0.

    Martens, Deep Learning via Hessian-Free Optimization, 2010.

    Args:
        sparsity: the share of zeros of each column.
        std: the standard deviation of the others.
    Raises:
        CallError: the tensor is no matrix.
    Example:
        >>> w = nn.init.sparse_(nn.Parameter(np.zeros((4, 3), np.float32)), sparsity=0.5)
        >>> (w.data == 0).sum(axis=0).tolist()
        [2, 2, 2]
    """
    _rank("sparse_", tensor, 2, 2)
    values = generator().normal(0.0, std, tensor.shape)
    for column in values.T:
        column[generator().permutation(len(column))[: -int(-sparsity * len(column) // 1)]] = 0
    return _fill(tensor, values)


@boundary
def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Gain of a nonlinearity: the factor that makes up for its shrinking of the deviation, as torch
    has it.

    Args:
        nonlinearity: its name, such as "relu" or "tanh".
        param: the negative slope of leaky_relu.
    Raises:
        CallError: there is no gain for that name.
    Example:
        >>> round(nn.init.calculate_gain("relu"), 4)
        1.4142
    """
    match nonlinearity:
        case (
            "linear"
            | "sigmoid"
            | "conv1d"
            | "conv2d"
            | "conv3d"
            | "conv_transpose1d"
            | "conv_transpose2d"
            | "conv_transpose3d"
        ):
            return 1.0
        case "tanh":
            return 5.0 / 3
        case "relu":
            return sqrt(2.0)
        case "leaky_relu":
            slope = 0.01 if param is None else param
            return sqrt(2.0 / (1 + slope * slope))
        case "selu":
            return 3.0 / 4
    raise CallError(
        f"there is no gain for {nonlinearity!r}",
        code="arguments",
        help="there is one for linear, conv1d, sigmoid, tanh, relu, leaky_relu, selu",
    )


def _rank(name: str, tensor: Variable | np.ndarray, least: int, most: int) -> None:
    if not least <= tensor.ndim <= most:
        expected = str(least) if least == most else f"{least} to {most}"
        raise CallError(
            f"{name}: the tensor has {tensor.ndim} dimensions, expected {expected}", code="arguments"
        )


suggest_names(__name__)
