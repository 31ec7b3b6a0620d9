"""Modules: parameters with names, and a `forward` that says what to compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from texpr.graph import Capture, Symbolic, Variable, active_capture
from texpr.graph.capture.protocol import CaptureLike
from texpr.graph.capture.variable import Structures
from texpr.graph.execution import early_workers
from texpr.graph.execution.plan_records import Origin
from texpr.graph.lazy import Tensor
from texpr.ir.dtypes import ML_DTYPES, DType, numpy_dtype
from texpr.nn.core import pytree
from texpr.nn.core.argument_checks import float_dtype
from texpr.nn.core.bounded_cache import LruCache
from texpr.nn.core.compiled_call import CompiledCall
from texpr.nn.core.hooks import Handle, Hook, run_forward
from texpr.nn.core.inputs import NetworkInput, as_input
from texpr.nn.core.lazy_call import CapturedCall, as_tensor
from texpr.nn.core.parameter import Buffer, Parameter
from texpr.nn.core.registry import Registry
from texpr.runtime import gpu
from texpr.support.elsewhere import LAYER
from texpr.support.errors import CallError, CheckpointError
from texpr.support.gc_pause import uncollected
from texpr.support.options import current
from texpr.support.suggest import KnowsArguments, did_you_mean, suggests
from texpr.support.tracebacks import hide_frames
from texpr.support.warn import warn


@suggests(LAYER)
class Module(KnowsArguments):
    """Base of all layers and networks, with the names and rules of torch.nn.Module.

    A parameter, buffer or module assigned to an attribute is registered under its name. `forward`
    applies operators of `texpr.ops`, own ones, or other modules; called on arrays it is captured
    once per shapes, compiled, and run.

    Raises: nothing of its own.
    Example:
        >>> class Residual(nn.Module):
        ...     def __init__(self, width):
        ...         super().__init__()
        ...         self.linear = nn.Linear(width, width)
        ...
        ...     def forward(self, x):
        ...         return x + tx.ops.relu(self.linear(x))
        >>> model = Residual(4)
        >>> model(tx.ones(2, 4)).shape, [name for name, p in model.named_parameters()]
        ((2, 4), ['linear.weight', 'linear.bias'])
    """

    training: bool
    _recomputed = False
    """Gradients compute what is inside of it again (`nn.utils.checkpoint`)."""

    def __init__(self) -> None:
        for registry in (*_KINDS, "_hooks", "_pre_hooks"):
            object.__setattr__(self, registry, Registry())
        object.__setattr__(self, "_plans", LruCache())
        object.__setattr__(self, "_structure", (None, ()))
        self.training = True

    _parameters: dict[str, Parameter]
    _buffers: dict[str, Buffer]
    _modules: dict[str, Module]
    _hooks: dict[Handle, Hook]
    _pre_hooks: dict[Handle, Hook]
    _plans: LruCache[Any]
    _structure: tuple[object, tuple]
    """The last result of `structure`, and the stamp under which it holds."""

    def __setattr__(self, name: str, value: object) -> None:
        try:
            self._assign(name, value)
        except Exception as error:
            hide_frames(error)
            raise

    def _assign(self, name: str, value: object) -> None:
        if isinstance(value, Parameter | Buffer | Module) and "_modules" not in self.__dict__:
            raise CallError(
                f"`{name}` is assigned before {type(self).__name__} is ready",
                code="module",
                help="call super().__init__() first",
            )
        if isinstance(value, Module) and any(m is self for m in value.modules()):
            raise CallError(
                f"`{name}` of {type(self).__name__} would contain it",
                code="module",
                help="modules are trees, or share parts",
            )
        for registry, kind in _KINDS.items():
            known = self.__dict__.get(registry, {})
            if isinstance(value, kind):
                known[name] = value
            elif name in known and pytree.is_tensor(value) and not isinstance(value, Variable):
                raise CallError(
                    f"`{name}` of {type(self).__name__} is a {kind.__name__.lower()} and would become a "
                    f"{type(value).__name__}",
                    code="module",
                    help=f"write its value: .{name}.data[...] = ...",
                )
            else:
                known.pop(name, None)
        object.__setattr__(self, name, value)
        if name == "training":
            Structures.change()

    def __delattr__(self, name: str) -> None:
        for registry in _KINDS:
            self.__dict__[registry].pop(name, None)
        object.__delattr__(self, name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Assign a parameter to an attribute; None for one that a configuration does not have."""
        setattr(self, name, param)

    def register_buffer(self, name: str, tensor: object, persistent: bool = True) -> None:
        """Assign values to an attribute that are not trained and that programs may change, such as
        running statistics.

        Args:
            tensor: the first values, or None for a buffer that a configuration does not have.
            persistent: whether `state_dict` has it.
        """
        setattr(self, name, None if tensor is None else Buffer(tensor, persistent, name))

    def add_module(self, name: str, module: Module | None) -> None:
        """Assign a module to an attribute."""
        setattr(self, name, module)

    register_module = add_module

    def register_forward_hook(self, hook: Hook) -> Handle:
        """Call `hook(module, inputs, outputs)` whenever `forward` is captured; what it returns,
        unless None, replaces the outputs.

        Its arguments are symbolic tensors, and operators applied to them become part of the
        program. `.remove()` of the result ends it.
        """
        return Handle(self._hooks, hook)

    def register_forward_pre_hook(self, hook: Hook) -> Handle:
        """Call `hook(module, inputs)` before `forward` is captured; what it returns, unless
        None, replaces the tuple of inputs.
        """
        return Handle(self._pre_hooks, hook)

    if TYPE_CHECKING:
        forward: Callable[..., Any]
    else:

        def forward(self, *inputs: Any) -> Any:
            """The module's outputs, on symbolic tensors."""
            raise NotImplementedError(f"{type(self).__name__} has no forward")

    @overload
    def __call__(self, x: Tensor, /, *inputs: Any, **options: Any) -> Tensor: ...
    @overload
    def __call__(self, x: np.ndarray[Any, Any], /, *inputs: Any, **options: Any) -> np.ndarray[Any, Any]: ...
    @overload
    def __call__(self, *inputs: Any, **options: Any) -> Any: ...
    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Compute: on symbolic tensors as a part of the program that is being captured, on arrays
        at once, on lazy tensors when somebody looks at the results.

        Arguments may be nested in tuples, lists and dicts, and so may results. Float arrays are
        converted to the dtype of the module's parameters. Numbers by position are arrays too;
        numbers by name are part of the program.

        Raises:
            CallError: inputs that do not fit; the message names the layer.
        """
        try:
            if inputs and not options and active_capture.get() is None:
                # Nothing is to be taken apart, which takes longer than small networks.
                if all([type(x) is np.ndarray for x in inputs]):
                    return self._call_on_arrays(inputs, pytree.positional(len(inputs)))
                if all([type(x) is Tensor for x in inputs]):
                    return self._call_lazily(inputs, pytree.positional(len(inputs)))
            return self._call_on_any(inputs, options)
        except Exception as error:
            hide_frames(error)
            raise

    def _call_on_any(self, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Arguments of any form."""
        given = tuple(map(pytree.argument, inputs)), options
        tensors = list(pytree.leaves(given))
        capture = next((x.capture for x in tensors if isinstance(x, Symbolic)), active_capture.get())
        if capture is None and any(isinstance(x, Tensor | Variable) for x in tensors):
            return self._call_lazily(tensors, pytree.skeleton(given))
        if capture is None:
            return self._call_on_arrays(tensors, pytree.skeleton(given))
        symbols = [as_symbolic(x, capture, self._input_dtype()) for x in tensors]
        return run_forward(self, capture, *pytree.rebuild(pytree.skeleton(given), symbols))

    def _call_lazily(self, tensors: Sequence[object], nesting: pytree.Skeleton) -> Any:
        """As a part of what lazy tensors will compute."""
        found, dtype = structure(self), self._input_dtype()
        given = [as_tensor(t, dtype) for t in tensors]
        key = (CapturedCall, *((t.shape, t.dtype) for t in given), nesting, found)
        return self._plans.get_or_make(key, lambda: CapturedCall.of(self, given, nesting))(given)

    def _call_on_arrays(self, tensors: Sequence[object], nesting: pytree.Skeleton) -> Any:
        """Arrays that are given twice are one input of the program."""
        distinct = {id(t): t for t in tensors}
        found, dtype = structure(self), self._input_dtype()
        given = [as_input(t, dtype) for t in distinct.values()]
        places = tuple(map(list(distinct).index, map(id, tensors)))
        key = (*(g.spec for g in given), places, nesting, found)
        return self._plans.get_or_make(key, lambda: self._compiled_call(given, places, nesting))(
            [g.array for g in given]
        )

    def _compiled_call(
        self,
        given: Sequence[NetworkInput],
        places: tuple[int, ...],
        nesting: pytree.Skeleton,
        origin: Origin | None = None,
    ) -> CompiledCall:
        """The call on arrays like these, captured and compiled.

        Args:
            places: which of `given` each tensor of `nesting` is.
            origin: what the program is captured from, if that can be said.
        """
        if not given:
            raise CallError(f"{type(self).__name__} was called without inputs", code="arguments")
        capture = Capture(type(self).__name__)
        symbols = [capture.input(f"x{k}" if k else "x", *g.spec) for k, g in enumerate(given)]
        variables = sum(1 for _ in self.parameters())
        with uncollected(), capture, early_workers.capturing(variables):
            inputs, options = pytree.rebuild(nesting, [symbols[k] for k in places])
            outputs = self(*inputs, **options)
            results = [as_symbolic(y, capture, self.dtype) for y in pytree.leaves(outputs)]
        return CompiledCall.of(capture, outputs, results, not self.training, origin)

    def _input_dtype(self) -> DType | None:
        """The dtype that float arrays are converted to; None where they stay what they are."""
        return dtype_of(structure(self))

    def _example_dtypes(self, count: int) -> Sequence[DType | None]:
        """The dtypes that float arrays are converted to, of so many inputs of a program that is saved."""
        return [self.dtype] * count

    def __texpr_structure__(self) -> tuple:
        """A key of everything that a traced function depends on in this module."""
        return structure(self)

    @property
    def dtype(self) -> DType | None:
        """The dtype of the float parameters, or buffers where there are none; None without any."""
        return dtype_of(structure(self))

    @property
    def device(self) -> str:
        """The name of the device that parameters and buffers lie on: of the first of them;
        without any, the one of new tensors.
        """
        return next(
            (v.device for v in (*self.parameters(), *self.buffers())), gpu.full_name(current().device)
        )

    def cpu(self) -> Self:
        """Move all parameters and buffers to the host."""
        return self.to(gpu.HOST)

    def to(self, dtype: object) -> Self:
        """Convert all float parameters and buffers, in place, to f8e4m3, f8e5m2, f16, bf16, f32 or
        f64; or, given the name of a device, move all of them there.

        Raises:
            CallError: another dtype.
            ResourceError: the device cannot be used here, or has not enough memory.
        """
        if gpu.is_device(dtype):
            gpu.find_device(dtype)
            for variable in (*self.parameters(), *self.buffers()):
                variable.move(str(dtype))
            return self
        wanted = float_dtype("to", dtype)
        for variable in (*self.parameters(), *self.buffers()):
            if variable.dtype.is_float:
                variable.convert(wanted)
        return self

    def double(self) -> Self:
        """Convert all float parameters and buffers to f64."""
        return self.to("f64")

    def float(self) -> Self:
        """Convert all float parameters and buffers to f32."""
        return self.to("f32")

    def half(self) -> Self:
        """Convert all float parameters and buffers to f16."""
        return self.to("f16")

    def bfloat16(self) -> Self:
        """Convert all float parameters and buffers to bf16. Arrays of it are held as 16 bits,
        results are arrays of `ml_dtypes.bfloat16` where that is installed, else of f32.
        """
        return self.to("bf16")

    def children(self) -> Iterator[Module]:
        """The modules directly below, each once."""
        yield from dict.fromkeys(self._modules.values())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly below with their names, each once."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module not in seen:
                seen.add(module)
                yield name, module

    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name; this one for the empty name.

        Raises:
            CallError: there is none.
        """
        found = self
        for part in filter(None, target.split(".")):
            if part not in found._modules:
                raise CallError(
                    f"{type(self).__name__} has no module `{target}`: there is no `{part}` in "
                    f"{type(found).__name__}",
                    code="module",
                )
            found = found._modules[part]
        return found

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name, such as `"0.weight"`.

        Raises:
            CallError: there is none.
        """
        return self._entry(target, dict(self.named_parameters()), "parameter")

    def get_buffer(self, target: str) -> Buffer:
        """The buffer of a dotted name, such as `"1.running_mean"`.

        Raises:
            CallError: there is none.
        """
        return self._entry(target, dict(self.named_buffers()), "buffer")

    def _entry(self, target: str, known: Mapping[str, Any], kind: str) -> Any:
        if target not in known:
            raise CallError(
                f"{type(self).__name__} has no {kind} `{target}`",
                code="module",
                help=did_you_mean(target, known),
            )
        return known[target]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, as the optimizer's `zero_grad` does.

        Args:
            set_to_none: False for gradients of 0.
        """
        for p in self.parameters():
            p.forget_gradient(set_to_none)

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
        """This module and all below it, parents first, each once."""
        seen: set[int] = set()
        stack: list[Module] = [self]
        while stack:
            module = stack.pop()
            if id(module) not in seen:
                seen.add(id(module))
                yield module
                stack += reversed(module._modules.values())

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their dotted names; one that is used twice comes once."""
        seen: set[Parameter] = set()
        for prefix, module in self.named_modules():
            _warn_of_lists(prefix, module)
            for name, parameter in module._parameters.items():
                if parameter not in seen:
                    seen.add(parameter)
                    yield (f"{prefix}.{name}" if prefix else name), parameter

    def named_buffers(self) -> Iterator[tuple[str, Buffer]]:
        """All buffers with their dotted names, persistent or not; one that is used twice comes
        once.
        """
        seen: set[Buffer] = set()
        for prefix, module in self.named_modules():
            for name, buffer in module._buffers.items():
                if buffer not in seen:
                    seen.add(buffer)
                    yield (f"{prefix}.{name}" if prefix else name), buffer

    def buffers(self) -> Iterator[Buffer]:
        """All buffers, each once."""
        yield from (buffer for _, buffer in self.named_buffers())

    def parameters(self) -> Iterator[Parameter]:
        """All parameters, each once."""
        yield from (parameter for _, parameter in self.named_parameters())

    def train(self, mode: bool = True) -> Self:
        """Set this module and all below it to training; it matters to layers such as Dropout."""
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self) -> Self:
        """Set this module and all below it to evaluation."""
        return self.train(False)

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call `fn` on every module below and on this one, children first."""
        for module in reversed(list(self.modules())):
            fn(module)
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze (False) or release all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of all parameters and persistent buffers by dotted name; one that is used twice
        has both names.
        """
        return {name: variable.numbers().copy() for name, variable in self._named_state().items()}

    def _named_state(self) -> dict[str, Variable]:
        found: dict[str, Variable] = {}
        stack: list[tuple[str, Module]] = [("", self)]
        while stack:
            prefix, module = stack.pop()
            found |= {prefix + name: parameter for name, parameter in module._parameters.items()}
            found |= {prefix + name: buffer for name, buffer in module._buffers.items() if buffer.persistent}
            stack += [(f"{prefix}{n}.", m) for n, m in reversed(module._modules.items())]
        return found

    def load_state_dict(
        self, state_dict: Mapping[str, object], strict: bool = True
    ) -> tuple[list[str], list[str]]:
        """Take the values of `state_dict`; all of them fit, or none is taken.

        Args:
            state_dict: arrays by name, NumPy's or another library's: that of a torch.nn.Module of
                the same layers is one.
            strict: the names must be exactly the module's.
        Returns:
            the names that `state_dict` lacks, and those that the module does not have.
        Raises:
            CheckpointError: names, shapes or dtypes differ; every difference is listed.
        """
        if not isinstance(state_dict, Mapping) or not all(isinstance(n, str) for n in state_dict):
            raise CheckpointError(
                f"state_dict is a {type(state_dict).__name__}, expected arrays by name", code="checkpoint"
            )
        own, state = self._named_state(), {n: np.asarray(a) for n, a in state_dict.items()}
        missing, unexpected, wrong = compare_states(
            own, {n: (a.shape, a.dtype.name) for n, a in state.items()}
        )
        complaints = [
            *wrong,
            *([f"missing: {', '.join(missing)}"] if strict and missing else []),
            *([f"unexpected: {', '.join(unexpected)}"] if strict and unexpected else []),
        ]
        if complaints:
            same_shapes = all(state[n].shape == v.shape for n, v in own.items() if n in state)
            way_out = "strict=False ignores missing and unexpected names" if strict and not wrong else ""
            raise CheckpointError(
                f"the values do not fit {type(self).__name__}",
                code="checkpoint",
                notes=complaints,
                help="convert the module before: .float(), .double(), .half()"
                if wrong and same_shapes
                else way_out,
            )
        for name, variable in own.items():
            if name in state:
                variable.data = as_input(state[name], variable.dtype).array
        return missing, unexpected

    def __getstate__(self) -> dict[str, object]:
        """For copies and pickles: compiled programs stay behind."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_plans", "_structure")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _plans=LruCache(), _structure=(None, ()))

    def summary(self, *input_shapes: tuple[int, ...], dtype: str = "f32") -> str:
        """A table of layers: output shapes, parameters, multiply-adds, as a text and for notebooks.
        See `texpr.nn.core.summary`.
        """
        from texpr.nn.core.summary import summary

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


_KINDS: dict[str, type] = {"_parameters": Parameter, "_buffers": Buffer, "_modules": Module}
"""The class of each registry's entries."""


def structure(module: Module) -> tuple:
    """A key of everything that a captured program depends on besides shapes: which modules, hooks
    and variables there are, modes, dtypes, devices.
    """
    stamp, found = module._structure
    if stamp is not Structures.stamp:
        stamp = Structures.stamp
        found = _structure(module)
        object.__setattr__(module, "_structure", (stamp, found))
    return found


def _structure(module: Module) -> tuple:
    modules = list(module.modules())
    hooks = [h for m in modules if m._hooks or m._pre_hooks for h in (*m._hooks, *m._pre_hooks)]
    variables = [(v, v.dtype) for m in modules for v in m._parameters.values()]
    variables += [(v, v.dtype) for m in modules if m._buffers for v in m._buffers.values()]
    return (
        tuple([(m, m.training, m._recomputed) for m in modules]),
        tuple(hooks),
        tuple(variables),
        Variable.moves,
    )


def dtype_of(structure: tuple) -> DType | None:
    """The dtype of the first float variable of a `structure`: parameters come before buffers.
    None without any.
    """
    for _, dtype in structure[2]:
        if dtype.is_float:
            return dtype
    return None


def compare_states(
    own: Mapping[str, Variable], found: Mapping[str, tuple[tuple[int, ...], str]]
) -> tuple[list[str], list[str], list[str]]:
    """Names that are missing, names that are unexpected, and complaints about shapes and dtypes."""
    missing = [n for n in own if n not in found]
    unexpected = sorted(n for n in found if n not in own)
    wrong = []
    for name, variable in own.items():
        expected = ML_DTYPES.get(variable.dtype) or numpy_dtype(variable.dtype).name
        shape, dtype = found.get(name, (variable.shape, expected))
        if tuple(shape) != variable.shape or dtype not in (
            expected,
            "float32" if variable.dtype.as_bits else expected,
        ):
            wrong.append(f"{name} is {dtype}{list(shape)}, expected {expected}{list(variable.shape)}")
    return missing, unexpected, wrong


def as_symbolic(value: object, capture: CaptureLike, dtype: DType | None) -> Symbolic:
    """A tensor that a `forward` gives to another module, or returns."""
    if isinstance(value, Symbolic):
        return value
    if isinstance(value, Variable):
        return capture.variable(value)
    given = as_input(value, dtype)
    return capture.constant(given.array, dtype=given.dtype)


def _warn_of_lists(name: str, module: Module) -> None:
    """A plain list hides its modules from `parameters()`."""
    for attribute, value in vars(module).items():
        held = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        own = (*_KINDS, "_hooks", "_pre_hooks", "_plans", "_structure")
        if attribute not in own and any(isinstance(v, Module | Parameter) for v in held):
            where = f"{name}.{attribute}" if name else attribute
            warn(
                f"`{where}` of {type(module).__name__} is a plain {type(value).__name__} of modules or "
                f"parameters: they are not "
                "registered and will not be trained or saved; use nn.ModuleList or nn.Sequential"
            )
