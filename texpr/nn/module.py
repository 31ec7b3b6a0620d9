"""Modules: parameters with names, and a `forward` that says what to compute."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from texpr.graph import Capture, Plan, Symbolic, Variable, active_capture
from texpr.ir.dtypes import from_numpy, numpy_dtype
from texpr.nn.observe import observed
from texpr.nn.parameter import Parameter
from texpr.nn.recent import Recent
from texpr.support.errors import CallError, CheckpointError


class Module:
    """Base of all layers and networks, with the names and rules of torch.nn.Module.

    A parameter or module assigned to an attribute is registered under its name. `forward` applies operators of `texpr.ops`, own
    ones, or other modules; called on arrays it is captured once per shapes, compiled, and run.
    """

    training: bool

    def __init__(self) -> None:
        object.__setattr__(self, "_parameters", {})
        object.__setattr__(self, "_modules", {})
        object.__setattr__(self, "_plans", Recent())
        self.training = True

    _parameters: dict[str, Parameter]
    _modules: dict[str, Module]
    _plans: Recent[_Inference]

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, Parameter | Module) and "_modules" not in self.__dict__:
            raise CallError(f"`{name}` is assigned before {type(self).__name__} is ready", code="module",
                            help="call super().__init__() first")
        for registry, kind in (("_parameters", Parameter), ("_modules", Module)):
            known = self.__dict__.get(registry, {})
            known.pop(name, None)
            if isinstance(value, kind):
                known[name] = value
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._parameters.pop(name, None)
        self._modules.pop(name, None)
        object.__delattr__(self, name)

    def forward(self, *inputs: Any) -> Any:
        """What the module computes, on symbolic tensors."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *inputs: Any) -> Any:
        """Compute: on symbolic tensors as a part of the program that is being captured, on arrays at once.

        Float arrays are converted to the dtype of the module's parameters.

        Raises:
            CallError: inputs that do not fit; the message names the layer.
        """
        capture = next((x.capture for x in inputs if isinstance(x, Symbolic)), active_capture.get())
        if capture is not None:
            return observed(self, capture, tuple(x if isinstance(x, Symbolic) else _captured(x, capture, self.dtype) for x in inputs))
        return self._infer(*(as_input(x, self.dtype) for x in inputs))

    def _infer(self, *arrays: np.ndarray) -> Any:
        key = (*((a.shape, a.dtype) for a in arrays), structure(self))
        return self._plans.get_or_make(key, lambda: _Inference.of(self, arrays))(arrays)

    @property
    def dtype(self) -> np.dtype | None:
        """The dtype of the float parameters; None without any."""
        found = next((p.dtype for p in self.parameters() if p.dtype.is_float), None)
        return None if found is None else numpy_dtype(found)

    def children(self) -> Iterator[Module]:
        """The modules directly below, each once."""
        yield from dict.fromkeys(self._modules.values())

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """This module and all below it with their dotted names, parents first, each once."""
        seen: set[int] = set()
        stack: list[tuple[str, Module]] = [("", self)]
        while stack:
            name, module = stack.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield name, module
            stack += [(f"{name}.{n}" if name else n, m) for n, m in reversed(module._modules.items())]

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        yield from (module for _, module in self.named_modules())

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their dotted names; one that is used twice comes once."""
        seen: set[Parameter] = set()
        for prefix, module in self.named_modules():
            _warn_of_lists(prefix, module)
            for name, parameter in module._parameters.items():
                if parameter not in seen:
                    seen.add(parameter)
                    yield (f"{prefix}.{name}" if prefix else name), parameter

    def parameters(self) -> Iterator[Parameter]:
        """All parameters, each once."""
        yield from (parameter for _, parameter in self.named_parameters())

    def train(self, mode: bool = True) -> Module:
        """Set this module and all below it to training; it matters to layers such as Dropout."""
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self) -> Module:
        """Set this module and all below it to evaluation."""
        return self.train(False)

    def apply(self, function: Callable[[Module], object]) -> Module:
        """Call `function` on every module below and on this one, children first."""
        for module in reversed(list(self.modules())):
            function(module)
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Freeze (False) or release all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of all parameters by dotted name; one that is used twice has both names."""
        return {name: parameter.data.copy() for name, parameter in self._named_state().items()}

    def _named_state(self) -> dict[str, Parameter]:
        found: dict[str, Parameter] = {}
        stack: list[tuple[str, Module]] = [("", self)]
        while stack:
            prefix, module = stack.pop()
            found |= {prefix + name: parameter for name, parameter in module._parameters.items()}
            stack += [(f"{prefix}{n}.", m) for n, m in reversed(module._modules.items())]
        return found

    def load_state_dict(self, state: Mapping[str, np.ndarray], strict: bool = True) -> tuple[list[str], list[str]]:
        """Take the values of `state`; all of them fit, or none is taken.

        Args:
            strict: the names must be exactly the module's.
        Returns:
            the names that `state` lacks, and those that the module does not have.
        Raises:
            CheckpointError: names, shapes or dtypes differ; every difference is listed.
        """
        own = self._named_state()
        missing, unexpected, wrong = compare_states(own, {n: (a.shape, str(a.dtype)) for n, a in state.items()})
        complaints = [*wrong, *([f"missing: {', '.join(missing)}"] if strict and missing else []),
                      *([f"unexpected: {', '.join(unexpected)}"] if strict and unexpected else [])]
        if complaints:
            raise CheckpointError(f"the values do not fit {type(self).__name__}", code="checkpoint", notes=complaints,
                                  help="strict=False ignores missing and unexpected names" if strict and not wrong else "")
        for name, parameter in own.items():
            if name in state:
                parameter.data = state[name]
        return missing, unexpected

    def __getstate__(self) -> dict[str, object]:
        """For copies and pickles: compiled programs stay behind."""
        return {name: value for name, value in self.__dict__.items() if name != "_plans"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _plans=Recent())

    def summary(self, *input_shapes: tuple[int, ...], dtype: str = "f32") -> str:
        """A table of layers: output shapes, parameters, multiply-adds. See `texpr.nn.summary`."""
        from texpr.nn.summary import summary

        return summary(self, *input_shapes, dtype=dtype)

    def extra_repr(self) -> str:
        """The arguments that `repr` shows."""
        return ""

    def __repr__(self) -> str:
        lines = []
        for name, child in self._modules.items():
            lines += [f"({name}): {repr(child)}".replace("\n", "\n  ")]
        inner = "".join(f"\n  {line}" for line in lines) + "\n" if lines else self.extra_repr()
        return f"{type(self).__name__}({inner})"


def structure(module: Module) -> tuple:
    """What a captured program depends on besides shapes: which modules and parameters there are, and their modes."""
    modules = [m for _, m in module.named_modules()]
    return tuple((m, m.training) for m in modules), tuple(p for m in modules for p in m._parameters.values())


def compare_states(own: Mapping[str, Variable], found: Mapping[str, tuple[tuple[int, ...], str]]) -> tuple[list[str], list[str], list[str]]:
    """Names that are missing, names that are unexpected, and complaints about shapes and dtypes."""
    missing = [n for n in own if n not in found]
    unexpected = sorted(n for n in found if n not in own)
    wrong = []
    for name, variable in own.items():
        shape, dtype = found.get(name, (variable.shape, str(variable.data.dtype)))
        if (tuple(shape), dtype) != (variable.shape, str(variable.data.dtype)):
            wrong.append(f"{name} is {dtype}{list(shape)}, expected {variable.data.dtype}{list(variable.shape)}")
    return missing, unexpected, wrong


def as_input(value: object, dtype: np.dtype | None) -> np.ndarray:
    """An array as a network takes it: floats in the network's dtype, everything else as it is.

    Raises:
        CallError: no array, or of a dtype that texpr does not have.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise CallError("the input is a masked array, whose mask would be lost", code="type", help="fill it: x.filled(0)")
    array = np.asarray(value)
    if array.dtype.kind == "f" and dtype is not None:
        return np.ascontiguousarray(array, dtype).reshape(array.shape)
    if from_numpy(array.dtype) is None:
        raise CallError(f"the input has dtype {array.dtype}, which texpr does not have", code="dtype", help="convert it: x.astype(...)")
    return array


def _captured(value: object, capture: Capture, dtype: np.dtype | None) -> Symbolic:
    """A variable or an array that a `forward` gives to another module."""
    return capture.variable(value) if isinstance(value, Variable) else capture.constant(as_input(value, dtype))


@dataclass(frozen=True, slots=True)
class _Inference:
    """A compiled forward pass."""

    plan: Plan
    single: bool

    @staticmethod
    def of(module: Module, arrays: tuple[np.ndarray, ...]) -> _Inference:
        if not arrays:
            raise CallError(f"{type(module).__name__} was called without inputs", code="arguments")
        capture = Capture(type(module).__name__)
        inputs = [capture.input(f"x{k}" if k else "x", a.shape, from_numpy(a.dtype)) for k, a in enumerate(arrays)]  # type: ignore[arg-type]
        with capture:
            outputs = module(*inputs)
        single = not isinstance(outputs, tuple)
        return _Inference(Plan(capture, [outputs] if single else list(outputs)), single)

    def __call__(self, arrays: tuple[np.ndarray, ...]) -> Any:
        results = self.plan(*arrays)
        return results[0] if self.single else results


def _warn_of_lists(name: str, module: Module) -> None:
    """A plain list hides its modules from `parameters()`."""
    for attribute, value in vars(module).items():
        held = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        if attribute not in ("_parameters", "_modules", "_plans") and any(isinstance(v, Module | Parameter) for v in held):
            where = f"{name}.{attribute}" if name else attribute
            warnings.warn(f"`{where}` of {type(module).__name__} is a plain {type(value).__name__} of modules or parameters: they are not "
                          "registered and will not be trained or saved; use nn.ModuleList or nn.Sequential", UserWarning, stacklevel=3)
