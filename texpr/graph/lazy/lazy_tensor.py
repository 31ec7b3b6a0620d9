"""`Tensor`: an array, or what will be one."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from texpr import ops
from texpr.compiler import CompiledKernel, Op
from texpr.graph.arrays import array_functions, recorded
from texpr.graph.arrays.cotangent import check_leaf, number_of, operand_of, weighted
from texpr.graph.arrays.promotion import is_dtype
from texpr.graph.arrays.recording import active_capture, is_recording, recording
from texpr.graph.capture.capture import resolve_program
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.capture.variable import Variable, array_of
from texpr.graph.execution.placement import device_of
from texpr.graph.lazy.computation_cache import ComputationCache
from texpr.graph.lazy.devices import common_device, transfer
from texpr.graph.lazy.in_place import InPlaceOperators
from texpr.graph.lazy.recipes import MOST as MOST_RECIPES
from texpr.graph.lazy.recipes import (
    RECIPES,
    Observation,
    Recipe,
    Spec,
    call_key,
    observation,
    result_specs,
    static_key,
)
from texpr.graph.lazy.tensor_values import TensorValues
from texpr.ir.dtypes import DTYPES, DType, number
from texpr.ir.shapes import Shape
from texpr.ir.tensor import Program
from texpr.runtime import gpu
from texpr.support.errors import CallError
from texpr.support.suggest import did_you_mean
from texpr.support.tracebacks import boundary, hide_frames

MOST_USERS = 64
"""Each time that a tensor has got so many users more, those that are gone are forgotten."""
_forgetting = threading.Lock()
MOST_READ = 1 << 16
"""Elements that are copied rather than read by a kernel."""
MOST_WAITING = 200
"""Calls in a row that wait for somebody to look: a loop that nobody looks into must not become
one program.
"""
NATIVE_FROM = 64
"""Recorded calls from which on native code looks for them: linking it takes milliseconds."""
_recorded = 0


class Node:
    """A call that was not run yet, or whose history is kept for gradients.

    Attributes:
        program: of the operator, for the dtypes at hand.
        arguments: in the order of the program's inputs.
        outputs: tensors that stand for results and may be an argument of no other call, as long
            as somebody holds them.
        depth: how many calls wait in a row, this one included.
        device: where it will run, a name.
        cache: of a module's program, what holds the plans in which it takes part.
    """

    __slots__ = ("__weakref__", "arguments", "depth", "device", "cache", "outputs", "program")

    def __init__(
        self, program: Program, arguments: tuple[Tensor, ...], cache: ComputationCache | None, device: str
    ) -> None:
        self.program, self.arguments, self.cache, self.device = program, arguments, cache, device
        self.outputs: tuple[weakref.ref[Tensor], ...] = ()
        depth, user = 0, weakref.ref(self)
        for a in arguments:
            before = a.node  # first: another thread may set a value, and then leave the node out
            if a.value is None and before is not None and before.depth > depth:
                depth = before.depth
            users = a.users
            if users is None:
                a.users = [user]  # type: ignore[list-item]
            else:
                users.append(user)  # type: ignore[arg-type]
                if not len(users) % MOST_USERS:
                    a.forget_users()
        self.depth = depth + 1


_NONE: Any = None


class Engine(Protocol):
    """The computation of tensors: `evaluation`, which needs them."""

    def realize(self, wanted: Sequence[Tensor], /) -> None:
        """Compute tensors."""

    def add_gradients(
        self, loss: Tensor, create_graph: bool = False, originals: Mapping[int, Tensor] | None = None, /
    ) -> None:
        """Add derivatives to the leaves."""


class Tensor(TensorValues, InPlaceOperators):
    """Array with NumPy's semantics that computes when its values are looked at.

    Operators of `texpr.ops` and those made by `tx.op` take it as well. Slices and reshapes are
    values of their own, never views; `x[...] = v` and `x += y` give `x` another value and leave
    what was made from it before as it is.

    Attributes:
        shape, dtype, device: known without computing; `dtype` is one of texpr, `device` the name of
            where the values are.
        requires_grad: True if `backward()` computes the derivative in this tensor.
        grad: the derivatives that `backward()` has added up; None before.
    Raises:
        CallError: it is called; `tx.tensor` makes tensors.
    Example:
        >>> x = tx.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.], f64[2])
    """

    __slots__ = (
        "__weakref__",
        "dtype",
        "grad",
        "index",
        "node",
        "owner",
        "requires_grad",
        "shape",
        "spec",
        "stops",
        "users",
        "value",
    )

    engine: ClassVar[Engine]
    if TYPE_CHECKING:

        def __texpr_result__(self) -> Tensor: ...

    def __init__(
        self,
        shape: Shape,
        dtype: DType = _NONE,
        value: Any = None,
        node: Node | None = None,
        index: int = 0,
        spec: Spec | None = None,
    ) -> None:
        """Use `tensor`."""
        if type(dtype) is not DType:
            try:
                raise CallError(
                    "a tensor is made by tx.tensor",
                    code="arguments",
                    help='tx.tensor(data), or tx.tensor(data, dtype="f32")',
                )
            except CallError as error:
                hide_frames(error)
                raise
        self.shape, self.dtype, self.value, self.node, self.index = shape, dtype, value, node, index
        self.requires_grad, self.stops, self.spec = False, not is_recording(), spec
        self.grad: Tensor | None = None
        self.owner: Variable | None = None
        self.users: list[weakref.ref[Node]] | None = None
        """Calls that wait for the value, or may ask for it again."""

    def forget_users(self) -> None:
        """Leave out the users that are gone. Other threads may add some behind meanwhile."""
        users = self.users
        if users is not None and _forgetting.acquire(blocking=False):
            try:
                count = len(users)
                users[:count] = [user for user in users[:count] if user() is not None]
            finally:
                _forgetting.release()

    def own_spec(self) -> Spec | None:
        """The key of the shape and dtype in recipes; None on a device."""
        self.spec = Spec.of(self)
        return self.spec

    def recorded_call(self, method: Callable[..., Any], args: tuple, options: dict[str, Any]) -> Any:
        """A call of a method: as it was recorded before, if it was (`recipes`)."""
        if not args and not options:
            operands: list[Any] = [self]
            key = method, self.spec or self.own_spec()
            recipe = RECIPES.get(key)
            if recipe is not None:
                return _record(recipe, operands)
            if key[1] is None:
                return method(self)
        else:
            if any([isinstance(x, Variable) for x in args]) and active_capture.get() is None:
                return recorded.again(method, self, tuple([_value_of(x) for x in args]), options)
            operands = []
            key = call_key(method, self, args, options, operands)
            if key is None:
                return method(self, *args, **options)
            recipe = RECIPES.get(key)
            if recipe is not None:
                return _record(recipe, operands)
        return _observe(key, method, operands, (self, *args), options)

    def recorded_arithmetic(self, method: Callable[..., Any], other: Any) -> Any:
        """The same of arithmetic, with a tensor or a number of Python."""
        kind, spec = type(other), self.spec or self.own_spec()
        if kind is Tensor:
            second = other.spec or other.own_spec()
            key = (method, spec, second) if other is not self else (method, spec)
            if second is None:
                spec = None
        elif kind is float:
            key = method, spec, kind
        elif kind is int:
            key = method, spec, kind, other
        else:
            return self.recorded_call(method, (other,), {})
        recipe = RECIPES.get(key)
        if recipe is not None:
            return _record(recipe, (self, other))
        if spec is None:
            return method(self, other)
        return _observe(key, method, (self, other), (self, other), {})

    def __texpr_call__(
        self, operator: Op, inputs: Mapping[str, object], constants: Mapping[str, object]
    ) -> object:
        if any(isinstance(value, Symbolic) for value in inputs.values()):
            return NotImplemented  # the program that is captured takes this tensor as a constant
        program = resolve_program(operator, inputs, constants)
        results = apply_program(
            program, tuple(_argument(program, p.name, p.dtype, inputs[p.name]) for p in program.inputs)
        )
        return results[0] if len(results) == 1 else results

    def __texpr_kernel__(self, kernel: CompiledKernel, arrays: Sequence[object], out: object) -> object:
        """A kernel for a device called on tensors: it runs where they are, and nobody waits for
        it.
        """
        from texpr.graph.lazy.making import as_tensor

        tensors = [a if isinstance(a, Tensor) else as_tensor(a, device=gpu.HOST) for a in arrays]
        device = gpu.find_device(common_device(kernel.name, tensors))
        if device is None:
            return NotImplemented
        count = len(kernel.program.inputs)
        wanted = list(out) if isinstance(out, tuple | list) else [] if out is None else [out]
        targets = [*tensors[count:], *(t for t in wanted if isinstance(t, Tensor))]
        if len(targets) != len(tensors[count:]) + len(wanted):
            raise CallError(
                f"{kernel.name}: an output is no tensor on {device.name}",
                code="output",
                help=f'pass tensors made there, or leave `out` out: tx.tensor(..., device="{device.name}")',
            )
        given = [transfer(t.realize().value, device.name) for t in tensors[:count]]
        results = kernel.on_device(device, given, [transfer(t.realize().value, t.device) for t in targets])
        made = targets or [Tensor(r.shape, t.dtype, r) for t, r in zip(kernel.program.outputs, results)]
        return made[0] if len(made) == 1 else tuple(made)

    @property
    def device(self) -> str:
        """The name of the device that the values lie on, or will."""
        node, value = self.node, self.value
        return device_of(value) if value is not None or node is None else node.device

    @boundary
    def to(self, device: Any = None, dtype: object = None) -> Tensor:
        """The same values on another device or in another dtype, or this tensor if they are. What waits
        is computed before it moves.

        Args:
            device: its name; a dtype, or a tensor for its device and dtype, stands here as well.
        Raises:
            CallError: there is no such device; a gradient would have to cross.
            ResourceError: the device cannot be used here, or has not enough memory.
        """
        if isinstance(device, Tensor):
            device, dtype = device.device, device.dtype
        elif dtype is None and device is not None and not gpu.is_device(device):
            if not is_dtype(device) and isinstance(device, str):
                raise CallError(
                    f"{device!r} is neither a device nor a dtype",
                    code="arguments",
                    help=did_you_mean(
                        device, (*gpu.NAMES, *DTYPES, "float16", "float32", "float64", "int32", "int64")
                    )
                    or 'x.to("cpu"), x.to("f16")',
                )
            device, dtype = (None, device) if is_dtype(device) else (device, None)
        found = self if dtype is None else self.astype(dtype)
        return found if device is None else found._moved(device)

    def _moved(self, device: str) -> Tensor:
        if gpu.full_name(device) == self.device:
            return self
        if self.requires_grad and not self.stops:
            raise CallError(
                f"a tensor that requires a gradient is moved from {self.device} to {device}",
                code="gradient",
                help="move the data first: x.detach().to(...).requires_grad_()",
            )
        found = Tensor(self.shape, self.dtype, transfer(self.realize().value, device))
        found.stops = False
        return found

    @boundary
    def cpu(self) -> Tensor:
        """The same values on the host."""
        return self.to(gpu.HOST)

    def realize(self) -> Tensor:
        """Compute the value now, if it is not known.

        Raises:
            CallError: a value outside the range that an operator asks for.
        """
        if (seen := observation.get()) is not None:
            seen.pure = False
        if self.value is None:
            try:
                self.engine.realize([self])
            except Exception as error:
                hide_frames(error)
                raise
        return self

    def kept(self) -> None:
        """The memory of the value is about to change: what still waits for it gets a copy."""
        if self.value is not None and any(user() is not None for user in self.users or ()):
            self.value = self.value.copy()

    def detach(self) -> Tensor:
        """The same values, through which no gradient flows."""
        self._expose()  # of the other one nobody would know
        node = self.node  # before the value, without which another thread does not leave it out
        other = Tensor(self.shape, self.dtype, self.value, node, self.index)
        other.stops = True
        return other

    def own(self) -> Tensor:
        """The same value as a tensor of its own, through which gradients flow."""
        if self.owner is not None or self.requires_grad and self.is_leaf:
            return ops.copy(self)  # type: ignore[return-value]
        other = self.detach()
        other.stops, other.requires_grad = self.stops or not is_recording(), self.requires_grad
        if other.value is None and other.node is not None:
            other.node.outputs += (weakref.ref(other),)
        if (seen := observation.get()) is not None:
            seen.copies[id(other)] = other, self
        return other

    @boundary
    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for gradients in this tensor, or no longer. What was computed from it before has
        none.

        Raises:
            CallError: it is not of floats, or computed from other tensors that require gradients.
        """
        check_leaf(self, requires_grad)
        if requires_grad and (self.stops or not self.requires_grad):
            self.realize()
            self.detach_users()
            self.node, self.stops, self.index = None, False, 0
        self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """True if `backward()` adds the derivative to `grad`, should the tensor require it."""
        return self.node is None or self.stops

    @boundary
    def backward(
        self, gradient: object = None, retain_graph: bool | None = None, create_graph: bool = False
    ) -> None:
        """Add d self / d leaf to `leaf.grad` of every tensor that requires it and that this one was
        computed from.

        Args:
            gradient: the cotangent, of the tensor's shape; a single number needs none.
            retain_graph: accepted, as torch has it: tensors keep their history as long as they
                live, so there may be a second call.
            create_graph: let gradients flow through the derivatives, so that there are second ones;
                else `grad` is a number.
        Raises:
            CallError: nothing requires a gradient, or the tensor is no single number and there is
                no cotangent.
            CheckError: an operator on the way has no gradient.
        """
        from texpr.graph.lazy.making import tensor

        add_gradients = self.engine.add_gradients
        if gradient is None:
            add_gradients(number_of(self), create_graph)
            return
        given = operand_of(gradient)
        with recording(True):  # a block of `no_grad` is for what is computed in it
            origin = leaf_of(given) if isinstance(given, Variable) else given
            cotangent = origin if isinstance(origin, bool | int | float) else tensor(origin)
            add_gradients(
                weighted(self, cotangent),
                create_graph,
                {id(cotangent): origin} if isinstance(origin, Tensor) else {},
            )

    def __getitem__(self, key: object) -> Tensor:
        try:
            if (part := static_key(key)) is not None:
                if (
                    type(self.value) is np.ndarray
                    and not self.requires_grad
                    and (found := self._read(key)) is not None
                ):
                    return found
                return self._part(key, part)
            if (places := _places(key)) is not None:
                array_functions.check_places(places.numpy(), self.shape)
                there = places if places.device == self.device else places.to(self.device)
                return self.recorded_call(array_functions.select, (there,), {})
            # How many elements a mask chooses is known once it is computed; so is whether places are
            # in bounds.
            known = tuple(
                k.numpy() if isinstance(k, Tensor) else k for k in (key if isinstance(key, tuple) else (key,))
            )
            return array_functions.select(self, known if isinstance(key, tuple) else known[0])
        except Exception as error:
            hide_frames(error)
            raise

    def _part(self, key: object, static: tuple) -> Tensor:
        """A part at places that are known: `recorded_call` of `select`."""
        spec = self.spec or self.own_spec()
        if spec is None:
            return array_functions.select(self, key)
        wanted = array_functions.select, spec, static
        recipe = RECIPES.get(wanted)
        if recipe is not None:
            return _record(recipe, (self,))
        return _observe(wanted, array_functions.select, (self,), (self, key), {})

    def _read(self, key: object) -> Tensor | None:
        """A part at places of a known value, where that is small: copied, since a kernel for each place
        would be compiled. None for any other key, and where calls are observed.
        """
        items: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
        if not items or any([type(k) is not int for k in items]) or observation.get() is not None:
            return None
        rank = len(items)
        if rank > len(self.shape) or prod(self.shape[rank:]) > MOST_READ:
            return None
        if not all([-n <= k < n for k, n in zip(items, self.shape)]):
            return None
        found = Tensor(self.shape[rank:], self.dtype, np.array(self.value[items]))
        found.stops = False
        return found

    def set_value(self, value: Any) -> None:
        """Have another value; what was computed from the tensor before keeps the old one."""
        self.detach_users()
        self.value, self.node, self.index, self.requires_grad, self.spec = value, None, 0, False, None

    def detach_users(self) -> None:
        """Let another tensor stand for the value so far in all that was computed from it."""
        other = self.detach()
        other.stops, other.requires_grad = self.stops, self.requires_grad
        other.users = self.users
        for user in map(weakref.ref.__call__, self.users or ()):
            if user is not None:
                user.arguments = tuple(other if a is self else a for a in user.arguments)
        if self.node is not None:
            self.node.outputs = tuple(weakref.ref(other) if r() is self else r for r in self.node.outputs)
        self.users = None


def _places(key: object) -> Tensor | None:
    """A key of integers alone as a tensor; None of any other key."""
    if type(key) is list and key and all([type(k) is int for k in key]):
        key = np.asarray(key)
    if type(key) is np.ndarray and key.ndim and key.dtype.kind in "iu":
        from texpr.graph.lazy.making import tensor

        return tensor(key, device=gpu.HOST)
    is_places = type(key) is Tensor and key.dtype.is_int and key.shape
    return key if is_places else None  # type: ignore[return-value]


def apply_program(
    program: Program, arguments: tuple[Tensor, ...], cache: ComputationCache | None = None
) -> tuple[Tensor, ...]:
    """The results of a program that will run when somebody looks at them.

    Args:
        cache: holds the plans in which the program takes part, where they are to go with a module.
    Raises:
        CallError: shapes that do not fit.
    """
    specs = result_specs(program, tuple([a.shape for a in arguments]))
    device = common_device(program.name, arguments)
    if device != gpu.HOST:
        for formal, a in zip(program.inputs, arguments):
            if (
                a.device == gpu.HOST
                and not a.requires_grad
                or formal.value_range is not None
                or formal.distinct
            ):
                # where it is; else it would be computed where this is. Values of data alone are
                # checked on a device
                a.realize()
    return record_call(program, arguments, specs, cache, device)


def record_call(
    program: Program,
    arguments: tuple[Tensor, ...],
    specs: Sequence[Spec],
    cache: ComputationCache | None = None,
    device: str = gpu.HOST,
) -> tuple[Tensor, ...]:
    """Make the node of a call; its results, of these shapes and dtypes.

    Args:
        cache: as for `apply_program`.
    """
    node = Node(program, arguments, cache, device)
    if len(specs) == 1:  # found where it is an argument
        spec = specs[0]
        results: tuple[Tensor, ...] = (Tensor(spec.shape, spec.dtype, None, node, 0, spec),)
    else:
        results = tuple([Tensor(s.shape, s.dtype, None, node, k, s) for k, s in enumerate(specs)])
        node.outputs = tuple(map(weakref.ref, results))
    if device != gpu.HOST:
        for r in results:
            r.spec = None
    for a in arguments:
        if a.requires_grad and not a.stops and is_recording():
            for r in results:
                r.requires_grad = r.dtype.is_float
            break
    if (seen := observation.get()) is not None:
        seen.calls.append((program, arguments, results))
    if node.depth > MOST_WAITING:
        results[0].realize()
    return results


def _observe(
    key: tuple, method: Callable[..., Any], operands: Sequence[Any], args: tuple, options: dict[str, Any]
) -> Any:
    """Run a method, and note what it records unless that is known to be no recipe."""
    if key in RECIPES:
        return method(*args, **options)
    around, seen = observation.get(), Observation()
    token = observation.set(seen)
    try:
        result = method(*args, **options)
    finally:
        observation.reset(token)
    if around is not None:
        around.include(seen)
    if len(RECIPES) >= MOST_RECIPES:
        RECIPES.clear()
    RECIPES[key] = seen.recipe(operands, result)
    return result


def _record(recipe: Recipe, operands: Sequence[Any]) -> Any:
    """Make the nodes of a recipe; its result, or a tuple of several."""
    global _recorded
    _recorded += 1
    if _recorded == NATIVE_FROM:
        from texpr.graph.lazy.native_tensors import install

        install()
    call = recipe[0]
    if call.order is not None and len(recipe) == 1:  # as of most methods
        results = record_call(call.program, tuple([operands[k] for k in call.order]), call.results)
        return results[0] if len(results) == 1 else results
    made: list[Sequence[Tensor]] = []
    for call in recipe:
        arguments = call.arguments(operands, made, of_number)
        made.append(record_call(call.program, tuple(arguments), call.results))
    return made[-1][0] if len(made[-1]) == 1 else made[-1]


def of_number(value: float, dtype: DType) -> Tensor:
    """A number as a tensor of rank 0."""
    return Tensor((), dtype, number(value, dtype), spec=Spec.named((), dtype))


def leaf_of(variable: Variable) -> Tensor:
    """The value that a variable has now; it stays what it is when the variable changes.
    `backward()` adds to the variable's `grad`, if it requires one.
    """
    found: Any = variable.leaf
    wanted = bool(getattr(variable, "requires_grad", False)) and variable.dtype.is_float
    if found is None or found.requires_grad != wanted:
        found = variable.leaf = Tensor(variable.shape, variable.dtype, array_of(variable))
        found.stops, found.owner = False, variable
        found.requires_grad = wanted
    return found


def _value_of(x: Any) -> Any:
    """The value of a variable, anything else as it is."""
    return leaf_of(x) if isinstance(x, Variable) else x


def _argument(program: Program, name: str, dtype: DType, value: object) -> Tensor:
    """An input of a call as a tensor."""
    if isinstance(value, Tensor):
        found = value
    elif isinstance(value, Variable):
        found = leaf_of(value)
    elif isinstance(value, bool | int | float):
        found = of_number(value, dtype)
        if (seen := observation.get()) is not None:
            seen.numbers[id(found)] = found, value
    else:
        from texpr.graph.lazy.making import tensor

        found = tensor(value, device=gpu.HOST if np.ndim(value) == 0 else None)  # type: ignore[arg-type]
    if found.dtype != dtype:
        raise CallError(
            f"{program.name}: `{name}` is {found.dtype}, expected {dtype}",
            code="dtype",
            help=f'convert it: .astype("{dtype}")',
        )
    return found
