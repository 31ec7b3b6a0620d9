"""`jit`: a function of tensors, run once to see what it computes, and as one native call from
then on.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np

from texpr.graph.arrays.recording import active_capture, is_recording, recording
from texpr.graph.capture.capture import Capture, Structured
from texpr.graph.capture.exact_key import exact
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.capture.variable import Variable
from texpr.graph.execution.placement import to_host
from texpr.graph.execution.plan import Plan
from texpr.graph.lazy.devices import common_device
from texpr.graph.lazy.lazy_tensor import Tensor
from texpr.graph.lazy.making import tensor
from texpr.graph.lazy.pytrees import Tree, flattened
from texpr.graph.lazy.recipes import observation
from texpr.graph.lazy.tracing import Effects, GradientFlow, Number, Tracing, result_tensor
from texpr.ir.dtypes import DType
from texpr.runtime import gpu
from texpr.support.errors import CallError
from texpr.support.forks import held_over_forks
from texpr.support.frozen_dataclass import frozen
from texpr.support.options import current
from texpr.support.suggest import did_you_mean, known_arguments
from texpr.support.tracebacks import hide_frames

_DIRECT_DTYPES = frozenset(map(np.dtype, ("?", *"bhiq", *"BHIQ", *"efd")))
"""The dtypes of arrays that plans take as they are."""
R = TypeVar("R")
MOST_TRACES = 64
MOST_VARIANTS = 8
"""Traces for arguments of one structure that are kept: for modules in other modes."""


@frozen
class _Static:
    """A value that is part of the structure."""

    value: Any


@frozen
class Trace:
    """A function's computation for arguments of one structure.

    Attributes:
        results: how what it returned is nested.
        leaves: dtypes of the tensors among its leaves; others as they were.
        sources: the modules that the function calls, each with the structure it had.
        variables: whether there are some whose values it depends on, or which it assigns to.
        effects: what a call changes besides.
        flow: how gradients flow through a call; None where none do.
    """

    plan: Plan
    results: Tree
    leaves: tuple[DType | _Static, ...]
    sources: tuple[tuple[Structured, tuple], ...]
    variables: bool
    effects: Effects
    flow: GradientFlow | None

    @property
    def is_valid(self) -> bool:
        """True if the function would compute the same today: modules may be in another mode, or
        have other parts.
        """
        for source, was in self.sources:
            now = source.__texpr_structure__()
            if now is not was and now != was:
                return False
        return self.effects.are_valid

    def __call__(self, arguments: Sequence[Tensor]) -> Any:
        """The results for the values of the arguments."""
        values = self.plan(*[a.value for a in arguments], *self.effects.read())
        tensors = self._tensors(values)
        self.effects.make(arguments, values[len(tensors) :])
        if self.flow is not None:
            self.flow.note(arguments, tensors)
        return self._nested(tensors)

    @property
    def is_plain(self) -> bool:
        """True if a call gives results and changes nothing but variables, and no gradients flow
        from the results to those.
        """
        return not self.effects and (self.flow is None or not self.flow.variables)

    def of_arrays(self, arrays: Sequence[Any]) -> Any:
        """The same for arrays, where that is all there is to a call."""
        return self._returned(self.plan(*arrays))

    def served(self, arguments: tuple) -> Any:
        """The same where these are arrays that native code takes as they are; None where they
        are not.
        """
        values = self.plan.runner.served(arguments)
        return None if values is None else self._returned(values)

    def _returned(self, values: tuple[Any, ...]) -> Any:
        if self.results.kind is None and values:
            return result_tensor(values[0], self.leaves[0])  # type: ignore[arg-type]
        return self._nested(self._tensors(values))

    def _tensors(self, values: Sequence[Any]) -> list[Tensor]:
        return [
            result_tensor(value, t)
            for value, t in zip(values, (x for x in self.leaves if isinstance(x, DType)))
        ]

    def _nested(self, tensors: Sequence[Tensor]) -> Any:
        rest = iter(tensors)
        return self.results.built(
            iter([x.value if isinstance(x, _Static) else next(rest) for x in self.leaves])
        )


class Jitted(Generic[R]):
    """A function whose calls are captured, fused and compiled once per structure of the arguments:
    shapes, dtypes, nesting.

    Attributes:
        traces: how often the function was run to see what it computes.
    """

    def __init__(self, function: Callable[..., R], static: Collection[str]) -> None:
        if not callable(function):
            raise CallError(
                f"jit takes a function, not {type(function).__name__}",
                code="arguments",
                help="tx.jit(f), or @tx.jit above it",
            )
        self._function, self._static = function, frozenset((static,) if isinstance(static, str) else static)
        self._signature = inspect.signature(function)
        unknown = self._static - set(self._signature.parameters)
        if unknown:
            name = min(unknown)
            raise CallError(
                f"{_name(function)} has no parameter `{name}`",
                code="arguments",
                help=did_you_mean(name, list(self._signature.parameters)),
            )
        parameters = self._signature.parameters.values()
        self._positions = [
            p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        self._rest = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), None)
        self._options = next((p.name for p in parameters if p.kind == p.VAR_KEYWORD), None)
        self._by_position = all(p.kind != p.KEYWORD_ONLY for p in parameters)
        self._traces: OrderedDict[tuple, list[Trace]] = OrderedDict()
        self._traces_of_arrays: dict[tuple, list[Trace]] = {}
        self._recent: tuple[Trace | None, tuple] = None, ()
        """The last trace that served arrays, and its context: `_context_key`."""
        self._lock = held_over_forks(threading.RLock())
        self.traces = 0
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        """The function's result, with tensors that are computed.

        Raises:
            CallError: arguments that do not fit; values were asked of tensors while the function
                was traced.
        """
        try:
            capture = active_capture.get()
            if capture is not None:
                return self._call_in_capture(capture, args, kwargs)
            values = None if kwargs or self._static else _plain_arrays(args)
            recent, around = self._recent
            if recent is not None and values is not None and around == _context_key() and recent.is_valid:
                found = recent.served(values)
                if found is not None:
                    return found
            plain = None if values is None else _array_key(values)
            known = None if plain is None else self._traces_of_arrays.get(plain)
            if values is not None and known is not None and known[0].is_valid:
                self._recent = known[0], _context_key()
                return known[0].of_arrays(values)
            if any(isinstance(x, Symbolic) for x in (*args, *kwargs.values())):
                return self._function(*args, **kwargs)
            named, arrays, key = self._flatten_arguments(args, kwargs)
            traces = self._traces_for(key, named)
            if (
                plain is not None and len(arrays) == len(args) and traces[0].is_plain
            ):  # defaults are arguments too
                if len(self._traces_of_arrays) >= MOST_TRACES:
                    self._traces_of_arrays.clear()
                self._traces_of_arrays[plain] = traces
            return traces[0](arrays)
        except Exception as error:
            hide_frames(error)
            raise

    def plan(self, *args: Any, **kwargs: Any) -> Plan:
        """The program that a call with these arguments runs: its kernels, decisions and memory.

        Nothing is computed. The function is traced if it was not yet for arguments of this structure,
        under the options of that time. Inputs of the plan are the arrays and numbers among the
        arguments, in their order.

        Raises:
            CallError: arguments that do not fit; the function is a part of a program that is traced.
        """
        try:
            if active_capture.get() is not None or any(
                isinstance(x, Symbolic) for x in (*args, *kwargs.values())
            ):
                raise CallError(
                    f"{_name(self._function)} has no plan of its own here: the program around it is traced",
                    code="arguments",
                    help="call plan() with arrays, outside of traced functions",
                )
            named, _, key = self._flatten_arguments(args, kwargs)
            return self._traces_for(key, named)[0].plan
        except Exception as error:
            hide_frames(error)
            raise

    def _call_in_capture(self, capture: Capture, args: tuple, kwargs: dict) -> Any:
        """A call while a program is captured is part of that, but where it computes from arrays
        alone, which are the same in every run.
        """
        if any(isinstance(x, Symbolic) for x in (*args, *kwargs.values())):
            return self._function(*args, **kwargs)
        named, arrays, key = self._flatten_arguments(args, kwargs)
        trace = self._traces_for(key, named)[0]
        if not trace.variables:
            return trace(arrays)
        return self._call_function(named, lambda _, x: _as_constant(capture, x))

    def _traces_for(self, key: tuple, named: Mapping[str, tuple[Tree, list[Any]]]) -> list[Trace]:
        """The traces for arguments of one structure, first of all the one that holds now."""
        with self._lock:
            traces = self._traces.get(key, [])
            trace = next((t for t in traces if t.is_valid), None)
            if trace is None:
                trace = self._trace(named)
            else:
                traces.remove(trace)
            traces[:] = [trace, *traces][:MOST_VARIANTS]
            self._traces[key] = traces
            self._traces.move_to_end(key)
            if len(self._traces) > MOST_TRACES:
                self._traces.popitem(last=False)
            return traces

    def _flatten_arguments(
        self, args: tuple, kwargs: dict
    ) -> tuple[dict[str, tuple[Tree, list[Any]]], list[Tensor], tuple]:
        """The leaves of each argument, the tensors among them with their values, and what
        decides which trace serves the call.
        """
        named: dict[str, tuple[Tree, list[Any]]] = {}
        arrays: list[Tensor] = []
        key: list[object] = [is_recording()]
        for name, value in self._bind_arguments(args, kwargs).items():
            leaves: list[Any] = []
            tree = Tree(None) if name in self._static else flattened(value, leaves)
            if name in self._static:
                leaves.append(_Static(value))
            else:
                leaves = [_leaf(name, x) for x in leaves]
            named[name] = tree, leaves
            key += [name, tree, *(_specification(x) for x in leaves)]
            arrays += [x for x in leaves if isinstance(x, Tensor)]
        for a in arrays:
            a.realize()
        return named, arrays, tuple(key)

    def _bind_arguments(self, args: tuple, kwargs: dict) -> Mapping[str, Any]:
        """All parameters with what they are given. Where all arguments come by position, what
        `inspect` would find in 10 us.
        """
        more = len(args) - len(self._positions)
        if not kwargs and self._by_position and (more == 0 or more > 0 and self._rest is not None):
            rest = {} if self._rest is None else {self._rest: args[len(self._positions) :]}
            return {
                **dict(zip(self._positions, args)),
                **rest,
                **({} if self._options is None else {self._options: {}}),
            }
        try:
            given = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise CallError(f"{_name(self._function)}: {error}", code="arguments") from None
        given.apply_defaults()
        return given.arguments

    def _call_function(
        self, named: Mapping[str, tuple[Tree, list[Any]]], made: Callable[[str, Tensor], Any]
    ) -> Any:
        """The function's result with the values made of the tensors among its arguments."""
        arguments = OrderedDict()
        for name, (tree, leaves) in named.items():
            arguments[name] = tree.built(
                iter([made(name, x) if isinstance(x, Tensor) else x.value for x in leaves])
            )
        bound = inspect.BoundArguments(self._signature, arguments)
        return self._function(*bound.args, **bound.kwargs)

    def _trace(self, named: Mapping[str, tuple[Tree, list[Any]]]) -> Trace:
        """Run the function on symbolic tensors."""
        capture = Tracing(_name(self._function))
        self.traces += 1
        within = is_recording()
        with capture, recording(within):
            returned = self._call_function(named, capture.leaf)
        leaves: list[Any] = []
        tree = flattened(returned, leaves)
        with recording(within):
            results = [
                capture.own_result(found) if isinstance(found := capture.lift(x), Symbolic) else found
                for x in leaves
            ]
        symbolic = [r for r in results if isinstance(r, Symbolic)]
        effects, changed = Effects.of(capture)
        placed = [
            x
            for _, found in named.values()
            for x in found
            if isinstance(x, Tensor) and not isinstance(x, Number)
        ]
        device = common_device(_name(self._function), placed) if placed else None
        if device == gpu.HOST and not any(x.shape for x in placed):
            device = None  # numbers go where the variables are
        flow = GradientFlow.of(capture, symbolic) if within else None
        plan = Plan(capture, [*symbolic, *changed], device=device)
        made = tuple((source, source.__texpr_structure__()) for source in capture.sources)
        kinds = tuple(r.dtype if isinstance(r, Symbolic) else _Static(r) for r in results)
        return Trace(plan, tree, kinds, made, bool(capture.variables), effects, flow)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return (
            f"<jit {_name(self._function)}{self._signature}, {sum(map(len, self._traces.values()))} traces>"
        )


@overload
def jit(function: Callable[..., R]) -> Jitted[R]:
    """A decorator."""


@overload
def jit(*, static: str | Collection[str] = ()) -> Callable[[Callable[..., R]], Jitted[R]]:
    """A decorator with options."""


@known_arguments
def jit(function: Callable[..., Any] | None = None, *, static: str | Collection[str] = ()) -> Any:
    """Compile a function of tensors as a whole.

    On the first call with arguments of a structure (shapes, dtypes, nesting), the function runs on
    tensors without values. What it computes becomes one plan of fused kernels. Calls of that
    structure then are one native call, without Python between kernels. The results are tensors,
    nested as the function returned them.

    Arrays and numbers anywhere in dicts, lists, tuples and data classes are arguments. Strings,
    None and objects are part of the structure, and so are arguments named in `static`. Python's
    `if` and `for` are possible on shapes and static arguments, not on values.

    Side effects happen while tracing only, but for assignments to variables
    (`parameter.data = value`), which every call makes. Modules that the function calls may change
    between calls: in another mode, or with other parts, it is traced anew. `plan(...)`, with the
    arguments of a call, gives the program of that call: kernels, decisions, memory.

    Args:
        static: names of parameters whose values the function sees; each value is traced on its own.
    Raises:
        CallError: `static` names no parameter.
    Example:
        >>> @tx.jit
        ... def normalized(x):
        ...     return (x - x.mean()) / x.std()
        >>> normalized(tx.tensor([1.0, 3.0]))
        tensor([-1.,  1.], f64[2])
        >>> print(normalized.plan(tx.tensor([1.0, 3.0])))
        reduce_mean_1: f64[] = sum(x)
        reduce_std_1: f64[] = sum(x, reduce_mean_1)
        divide_1: f64[2] = map(x, reduce_mean_1, reduce_std_1)
    """
    if function is None:
        return lambda f: Jitted(f, static)
    return Jitted(function, static)


def _leaf(name: str, x: Any) -> Any:
    """An argument as a tensor, or as part of the structure.

    Raises:
        CallError: it is neither an array nor a value that can be compared.
    """
    if isinstance(x, Tensor):
        return x
    if isinstance(x, Variable):
        return _Static(x)
    if type(x) in (bool, int, float):
        return Number(np.asarray(x))
    if isinstance(x, np.ndarray | np.generic) or hasattr(x, "__dlpack__"):
        return tensor(x)
    try:
        hash(x)
    except TypeError:
        raise CallError(
            f"`{name}` holds {type(x).__name__}, which is no array and cannot be compared",
            code="arguments",
            help="pass arrays, numbers and containers of them",
        ) from None
    return _Static(x)


def _as_constant(capture: Capture, x: Tensor) -> Any:
    """An argument whose value is a part of the program that is captured."""
    if isinstance(x, Number):
        return x.item()
    return (
        capture.lift(x) if isinstance(capture, Tracing) else capture.constant(to_host(x.value), dtype=x.dtype)
    )


def _plain_arrays(args: tuple) -> tuple | None:
    """Arguments with the arrays of tensors in place of these; None where one is no array, or where
    gradients flow to it. What native code cannot take shows later.
    """
    if Tensor not in map(type, args):
        return args
    if current().device != gpu.HOST or observation.get() is not None:
        return None
    found = []
    for a in args:
        if type(a) is Tensor:
            if a.owner is not None or a.dtype.as_bits or (a.requires_grad and not a.stops):
                return None
            a = a.realize().value
        found.append(a)
    return tuple(found)


def _array_key(args: tuple) -> tuple | None:
    """Key of the trace that serves arrays that can be used as they are; None if some cannot, or are
    something else.
    """
    found: list[object] = [*_context_key()]
    for a in args:
        if type(a) is not np.ndarray or a.dtype not in _DIRECT_DTYPES or not a.flags.c_contiguous:
            return None
        found += a.shape, a.dtype
    return tuple(found)


def _context_key() -> tuple[object, ...]:
    """The part of a trace's key besides the arguments: the device of new tensors; True if gradients
    are recorded.
    """
    return current().device, is_recording()


def _specification(x: Tensor | _Static) -> tuple[object, ...]:
    if isinstance(x, Tensor):
        return type(x), x.shape, x.dtype, x.requires_grad and not x.stops, x.device
    if isinstance(x.value, Variable):
        return x.value, x.value.dtype, x.value.device
    structure = getattr(x.value, "__texpr_structure__", None)
    return exact(x.value), structure() if structure is not None else None


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "function")
