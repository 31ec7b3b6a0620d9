"""Functions that modules are made into: a call makes the module of these settings once, and keeps it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from itertools import takewhile
from typing import Any, overload

import numpy as np

from texpr.graph.arrays.recorded import as_recorded
from texpr.graph.capture.exact_key import exact
from texpr.graph.lazy import Tensor
from texpr.ir.dtypes import F32
from texpr.nn import init
from texpr.nn.core.bare_parameters import bare_parameters
from texpr.nn.core.bounded_cache import LruCache
from texpr.nn.core.module import Module
from texpr.support.errors import CallError
from texpr.support.once import once
from texpr.support.tracebacks import boundary

Shapes = Mapping[str, tuple[int, ...]]


class ModuleFunction:
    """A function of tensors by torch's name: what a module computes that is made with these settings.

    Its arguments are those of `forward`, then those of the constructor, unless torch has another order.
    A function that draws random numbers has `training`, as torch's have.

    Args:
        name: of the function.
        cls: the class of modules.
        training: the default of the argument; None where there is none.
        signature: the arguments where torch orders them otherwise: `"input, weight, bias=None"`.
    """

    def __init__(
        self, name: str, cls: type[Module], training: bool | None = None, signature: str | None = None
    ) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = "texpr.nn.functional"
        self.cls, self.training, self._text = cls, training, signature
        self.__doc__ = (
            cls.__doc__ if cls.__name__.startswith("_") else f"The function of `nn.{cls.__name__}`."
        )
        self._modules: LruCache[Module] = LruCache()
        self._computed = self._compute  # one object, by which recorded calls are found

    @once
    def inputs(self) -> tuple[str, ...]:
        """The arguments that are tensors."""
        return tuple(inspect.signature(self.cls.forward).parameters)[1:]

    @once
    def _by_position(self) -> tuple[str, ...]:
        """The first arguments of `forward`, which may be given by position."""
        named = inspect.signature(self.cls.forward).parameters.values()
        return tuple(p.name for p in list(named)[1:] if p.kind is p.POSITIONAL_OR_KEYWORD)

    @once
    def __signature__(self) -> inspect.Signature:
        if self._text is not None:
            return inspect.signature(eval(f"lambda {self._text}: None"))
        given = list(inspect.signature(self.cls.forward).parameters.values())[1:]
        made = list(inspect.signature(self.cls.__init__).parameters.values())[1:]
        if self.training is not None:
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            last = len(made) - (bool(made) and made[-1].name == "inplace")
            made.insert(last, inspect.Parameter("training", kind, default=self.training))
        needed = [p for p in given if p.default is p.empty]
        made += [p for p in given if p.default is not p.empty]
        several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        plain = [
            p.replace(annotation=inspect.Parameter.empty)
            for p in (*needed, *made)
            if p.kind not in several and p.name != "dtype"
        ]
        return inspect.Signature(sorted(plain, key=lambda p: p.kind is p.KEYWORD_ONLY))

    @once
    def _names(self) -> tuple[frozenset[str], tuple[str, ...], frozenset[str]]:
        """The arguments by name, those by position, and those without a default."""
        found = self.__signature__.parameters.values()
        return (
            frozenset(p.name for p in found if p.kind is not p.POSITIONAL_ONLY),
            tuple(p.name for p in found if p.kind is not p.KEYWORD_ONLY),
            frozenset(p.name for p in found if p.default is p.empty),
        )

    @overload
    def __call__(self, input: Tensor, /, *args: Any, **settings: Any) -> Tensor: ...
    @overload
    def __call__(
        self, input: np.ndarray[Any, Any], /, *args: Any, **settings: Any
    ) -> np.ndarray[Any, Any]: ...
    @overload
    def __call__(self, *args: Any, **settings: Any) -> Any: ...
    @boundary
    def __call__(self, *args: Any, **settings: Any) -> Any:
        return as_recorded(self._computed, args, settings)

    def _compute(self, *args: Any, **settings: Any) -> Any:
        found = self._bound(args, settings)
        inputs = {n: value for n in self.inputs if (value := found.pop(n, None)) is not None}
        # A call takes numbers and lists for arrays by position, and keywords as they are.
        given = [inputs.pop(n) for n in tuple(takewhile(inputs.__contains__, self._by_position))]
        return self._module(found)(*given, **inputs)

    def _bound(self, args: tuple[Any, ...], settings: dict[str, Any]) -> dict[str, Any]:
        """The arguments that are given, by name.

        Raises:
            CallError: they do not fit.
        """
        names, positional, needed = self._names
        found = dict(zip(positional, args))
        if len(args) == len(found) and found.keys().isdisjoint(settings) and names.issuperset(settings):
            found |= settings
            if needed <= found.keys():
                return found
        try:  # for the message
            return dict(self.__signature__.bind(*args, **settings).arguments)
        except TypeError as error:
            shown = ", ".join(map(str, self.__signature__.parameters.values()))
            raise CallError(
                f"nn.functional.{self.__name__}: {error}",
                code="arguments",
                help=f"F.{self.__name__}({shown})",
            ) from None

    def _module(self, settings: dict[str, Any]) -> Module:
        """The module of these settings; those of tensors are made anew."""
        # Random numbers begin anew after `nn.manual_seed`, which makes another generator.
        key = (init.generator(), tuple([(n, exact(v)) for n, v in settings.items()]))
        try:
            return self._modules.get_or_make(key, lambda: self._made(settings))
        except TypeError:  # a setting without a hash, such as the weights of classes
            return self._made(settings)

    def _made(self, settings: dict[str, Any]) -> Module:
        if self.training is None:
            return self.cls(**settings)
        given = dict(settings)
        training = given.pop("training", self.training)
        return self.cls(**given).train(bool(training))

    def __reduce__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return f"<function nn.functional.{self.__name__}{self.__signature__}>"


class WeightedFunction(ModuleFunction):
    """The same of a module whose parameters are arguments.

    Args:
        signature: the arguments, as torch orders them: `"input, weight, bias=None, stride=1"`.
        made: the arguments of the constructor that follow from the shapes of tensors, and settings.
        tensors: the names of arguments that are tensors beside the first one.
    """

    def __init__(
        self,
        name: str,
        cls: type[Module],
        signature: str,
        made: Callable[[Shapes, dict[str, Any]], dict[str, Any]],
        tensors: tuple[str, ...] = ("weight", "bias"),
    ) -> None:
        super().__init__(name, cls, signature=signature)
        self.__doc__ = f"The function of `nn.{cls.__name__}` on parameters that are given."
        self._arguments, self._tensors = made, tensors

    def _compute(self, *args: Any, **settings: Any) -> Any:
        found = self._bound(args, settings)
        inputs = [found.pop(n) for n in self.inputs if n in found]
        tensors = {n: found.pop(n) for n in self._tensors if found.get(n) is not None}
        for n in self._tensors:
            found.pop(n, None)
        shapes = {n: tuple(np.shape(v)) for n, v in {**tensors, "input": inputs[0]}.items()}
        settings = self._arguments(shapes, found)
        if "bias" in self._tensors:
            settings = {**settings, "bias": "bias" in tensors}
        return self._module(settings)(*inputs, **tensors)

    def _made(self, settings: dict[str, Any]) -> Module:
        with bare_parameters(F32):
            layer = self.cls(**settings)
        return Applied(layer, self._tensors)


class Applied(Module):
    """A layer whose parameters are arguments.

    Args:
        layer: the layer; it keeps no parameters.
        names: of the parameters.
    """

    def __init__(self, layer: Module, names: tuple[str, ...]) -> None:
        super().__init__()
        for name in names:
            layer.register_parameter(name, None)
        object.__setattr__(self, "layer", layer)  # no part of this module: it has no values of its own

    layer: Module

    def __repr__(self) -> str:
        return repr(self.layer)

    def forward(self, *inputs: Any, **tensors: Any) -> Any:
        layer = copy(self.layer)
        for name, value in tensors.items():
            object.__setattr__(layer, name, value)
        return layer.forward(*inputs)
