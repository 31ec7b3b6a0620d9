"""Parameters that are functions of others: weight normalization and spectral normalization, with the
names of torch.nn.utils.parametrizations, and functions of one's own.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from texpr.graph.arrays.recording import active_capture
from texpr.graph.lazy.lazy_tensor import leaf_of
from texpr.nn import init
from texpr.nn.core.argument_checks import axis, number, whole
from texpr.nn.core.module import Module
from texpr.nn.core.parameter import Buffer, Parameter
from texpr.nn.modules.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from texpr.support.errors import CallError

__all__ = [
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "spectral_norm",
    "weight_norm",
]

M = TypeVar("M", bound=Module)
_FIRST_ITERATIONS = 15
"""Power iterations before the first use, as torch makes them."""


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Let a parameter be `g v / norm(v)`: length and direction of its rows are trained apart.

    `parametrizations.NAME.original0` is g, `original1` is v, as in torch. Salimans and Kingma,
    Weight Normalization, 2016.

    Args:
        module: has the parameter, and is changed.
        name: of the parameter.
        dim: the axis whose indices have a length each; None for one length of all.
    Raises:
        CallError: there is no such parameter or axis.
    Example:
        >>> layer = nn.parametrizations.weight_norm(nn.Linear(3, 2))
        >>> sorted(layer.state_dict())
        ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    value = _parameter(module, name)
    at = None if dim is None else axis("weight_norm", value, dim)
    return register_parametrization(module, name, _WeightNorm(at))


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Let a parameter be divided by its largest singular value, which power iterations estimate.

    Each step of training makes `n_power_iterations` of them; their vectors are buffers. Miyato et
    al., Spectral Normalization for Generative Adversarial Networks, 2018.

    Args:
        module: has the parameter, and is changed.
        name: of the parameter.
        eps: the least norm that is divided by.
        dim: the axis of the rows of the matrix; 0, and 1 of transposed convolutions, unless given.
    Raises:
        CallError: there is no such parameter or axis.
    Example:
        >>> layer = nn.parametrizations.spectral_norm(nn.Linear(3, 2))
        >>> sorted(layer.state_dict())[1:]
        ['parametrizations.weight.0._u', 'parametrizations.weight.0._v', 'parametrizations.weight.original']
    """
    value = _parameter(module, name)
    if dim is None:
        dim = int(isinstance(module, ConvTranspose1d | ConvTranspose2d | ConvTranspose3d))
    at = axis("spectral_norm", value, dim)
    found = _SpectralNorm(value.numbers(), n_power_iterations, at, eps)
    return register_parametrization(module, name, found)


def register_parametrization(module: M, name: str, parametrization: Module) -> M:
    """Let a parameter be a function of what is trained in its place.

    Args:
        module: has the parameter, and is changed.
        name: of the parameter.
        parametrization: a module whose `forward` gives the parameter. It may have a `right_inverse`
            that gives the trained arrays of the parameter, one or a tuple; else it is trained
            itself.
    Raises:
        CallError: there is no such parameter.
    Example:
        >>> class Positive(nn.Module):
        ...     def forward(self, raw):
        ...         return raw.exp()
        >>> layer = nn.parametrizations.register_parametrization(nn.Linear(3, 2), "weight", Positive())
        >>> bool((layer.weight > 0).all())
        True
    """
    value = _parameter(module, name)
    inverse = getattr(parametrization, "right_inverse", None)
    given = value.numbers() if inverse is None else inverse(value.numbers())
    function = _Parametrized(parametrization, given if isinstance(given, tuple) else (given,), value)
    delattr(module, name)
    if "parametrizations" not in module._modules:
        module.parametrizations = Module()
    module.get_submodule("parametrizations").add_module(name, function)
    module.__class__ = _class_of(
        _original(type(module)), tuple(module.get_submodule("parametrizations")._modules)
    )
    return module


def remove_parametrizations(module: M, name: str) -> M:
    """Let a parameter be itself again, with its value as it is now.

    Raises:
        CallError: it is not parametrized.
    Example:
        >>> layer = nn.parametrizations.weight_norm(nn.Linear(3, 2))
        >>> sorted(nn.parametrizations.remove_parametrizations(layer, "weight").state_dict())
        ['bias', 'weight']
    """
    if not is_parametrized(module, name):
        raise CallError(f"`{name}` of {type(module).__name__} is not parametrized", code="module")
    value, function = getattr(module, name).numpy(), module.get_submodule(f"parametrizations.{name}")
    trained = any(p.requires_grad for p in function._parameters.values() if p is not None)
    delattr(module.get_submodule("parametrizations"), name)
    left = tuple(module.get_submodule("parametrizations")._modules)
    module.__class__ = _class_of(_original(type(module)), left) if left else _original(type(module))
    if not left:
        delattr(module, "parametrizations")
    setattr(module, name, Parameter(value, trained, name))
    return module


def is_parametrized(module: Module, name: str | None = None) -> bool:
    """True if a parameter of a module, or any of them, is a function of others.

    Raises: nothing of its own.
    Example:
        >>> nn.parametrizations.is_parametrized(nn.Linear(3, 2))
        False
    """
    known = module._modules.get("parametrizations")
    return known is not None and (name is None or name in known._modules)


class _Parametrized(Module):
    """The trained arrays of a parameter, `original` or `original0`, ..., and the function `0`."""

    def __init__(self, function: Module, values: tuple[Any, ...], like: Parameter) -> None:
        super().__init__()
        names = ["original"] if len(values) == 1 else [f"original{k}" for k in range(len(values))]
        for name, value in zip(names, values):
            self.register_parameter(name, Parameter(value, like.requires_grad, name, like.dtype))
        self.add_module("0", function)

    def value(self) -> Any:
        """The parameter: in a program a part of it, elsewhere a tensor."""
        capture = active_capture.get()
        read = leaf_of if capture is None else capture.variable
        return self._modules["0"].forward(*(read(p) for p in self._parameters.values()))


class _WeightNorm(Module):
    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = dim

    def _axes(self, rank: int) -> tuple[int, ...]:
        return tuple(k for k in range(rank) if k != self.dim)

    def forward(self, length: Any, direction: Any) -> Any:
        axes = self._axes(direction.ndim)
        norm = (direction * direction).sum(axis=axes, keepdims=True) ** 0.5 if axes else abs(direction)
        if self.dim is None:
            norm = norm.reshape(())
        return direction * (length / norm)

    def right_inverse(self, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The lengths and the value."""
        norm = np.sqrt((value * value).sum(axis=self._axes(value.ndim), keepdims=self.dim is not None))
        return norm, value

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class _SpectralNorm(Module):
    def __init__(self, value: np.ndarray, iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        self.iterations = whole("spectral_norm", "n_power_iterations", iterations)
        self.dim, self.eps = dim, number("spectral_norm", "eps", eps)
        if value.ndim > 1:
            matrix = np.moveaxis(value, dim, 0).reshape(value.shape[dim], -1)
            random = init.generator()
            u, v = (_unit(random.normal(size=n).astype(value.dtype), self.eps) for n in matrix.shape)
            for _ in range(_FIRST_ITERATIONS):
                u = _unit(matrix @ v, self.eps)
                v = _unit(matrix.T @ u, self.eps)
            self._u, self._v = Buffer(u, name="_u"), Buffer(v, name="_v")

    def forward(self, weight: Any) -> Any:
        if weight.ndim == 1:
            return weight / self._norm(weight)
        axes = (self.dim, *(k for k in range(weight.ndim) if k != self.dim))
        matrix = weight.permute(*axes).reshape((weight.shape[self.dim], -1))
        u, v = self._vectors(matrix)
        return weight / (u * (matrix @ v)).sum()

    def _vectors(self, matrix: Any) -> tuple[Any, Any]:
        """Vectors of the largest singular value, after the iterations of a step of training."""
        capture = active_capture.get()
        if capture is None:
            return leaf_of(self._u).detach(), leaf_of(self._v).detach()
        u, v = capture.latest(self._u), capture.latest(self._v)
        if self.training:
            fixed = matrix.detach()
            for _ in range(self.iterations):
                u = fixed @ v
                u = u / self._norm(u)
                v = fixed.T @ u
                v = v / self._norm(v)
            u, v = u.detach(), v.detach()
            capture.assign(self._u, u)
            capture.assign(self._v, v)
        return u, v

    def _norm(self, x: Any) -> Any:
        return ((x * x).sum() ** 0.5).maximum(self.eps)

    def extra_repr(self) -> str:
        return f"n_power_iterations={self.iterations}, dim={self.dim}"


def _unit(x: np.ndarray, eps: float) -> np.ndarray:
    return x / max(float(np.linalg.norm(x)), eps)


def _parameter(module: Module, name: str) -> Parameter:
    found = module._parameters.get(name)
    if found is None:
        already = ": it is parametrized already" if is_parametrized(module, name) else ""
        raise CallError(
            f"{type(module).__name__} has no parameter `{name}`{already}",
            code="module",
            help=f"it has {', '.join(module._parameters)}" if module._parameters else "",
        )
    return found


_CLASSES: dict[tuple[type, tuple[str, ...]], type] = {}
_KINDS: dict[type, type] = {}
"""The classes of modules without their parametrizations."""


def _original(kind: type) -> type:
    """The class of a module without its parametrizations."""
    return _KINDS.get(kind, kind)


def _class_of(kind: type, names: tuple[str, ...]) -> type:
    """The class of modules of a kind whose parameters of these names are functions."""
    if (kind, names) not in _CLASSES:
        members: dict[str, Any] = {name: _property(name) for name in names}

        def reduced(self: Module) -> tuple:
            return _made, (kind, names), self.__getstate__()

        members |= {"__reduce__": reduced, "__module__": kind.__module__, "__doc__": kind.__doc__}
        made = type(kind.__name__, (kind,), members)
        _CLASSES[kind, names], _KINDS[made] = made, kind
    return _CLASSES[kind, names]


def _made(kind: type, names: tuple[str, ...]) -> Any:
    """An empty module of a class whose parameters are functions, for copies and pickles."""
    found: Any = _class_of(kind, names)
    return found.__new__(found)


def _property(name: str) -> property:
    def get(self: Module) -> Any:
        return self.parametrizations._modules[name].value()  # type: ignore[attr-defined]

    def put(self: Module, value: object) -> None:
        raise CallError(
            f"`{name}` of {type(self).__name__} is a function of others",
            code="module",
            help=f"write to .parametrizations.{name}, or call remove_parametrizations first",
        )

    return property(get, put)
