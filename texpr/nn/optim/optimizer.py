"""Base class of optimizers: groups of parameters, state, and numbers that change from step to step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from texpr import ops
from texpr.graph import Capture, Plan, Symbolic, Variable
from texpr.graph.arrays.recording import active_capture
from texpr.ir.dtypes import stored
from texpr.nn.core.argument_checks import whole
from texpr.nn.core.bounded_cache import LruCache
from texpr.nn.core.inputs import as_input
from texpr.nn.core.parameter import Parameter
from texpr.nn.optim.clipping import ClipNorm, ClipValue
from texpr.nn.optim.clocks import Clocks
from texpr.nn.optim.group import Group, Limits
from texpr.runtime.call.signal_guard import deferred_interrupts
from texpr.support.errors import CallError, CheckpointError
from texpr.support.suggest import KnowsArguments, suggests


@suggests({})
class Optimizer(KnowsArguments):
    """Base of optimizers: `update` appends the new values of one parameter to a program, `numbers`
    gives a step's scalars.

    An optimizer of one's own is an operator and a few lines.

    Args:
        params: the parameters to change, each once, or pairs of a name and a parameter; or groups
            of them, dicts with the parameters as "params" and options of their own.
        options: of groups that do not have their own: finite numbers of at least 0, tuples of such,
            and truth values.
    Attributes:
        param_groups: the groups with their options, which may be set between steps:
            `optimizer.param_groups[0]["lr"] = 0.1`.
        steps: how many steps were made.
        limits: of options, where "at least 0" is not all.
    Raises:
        CallError: no parameters, something else among them, or an option that is no such number.
    Example:
        >>> text = "op r<T: float>(p: T[*S], g: T[*S], lr: f64) -> q: T[*S] { q[*s] = p[*s] - T(lr) * sign(g[*s]) }"
        >>> rule = tx.op(text)
        >>> class SignDescent(nn.optim.Optimizer):
        ...     def __init__(self, params, lr=1e-3):
        ...         super().__init__(params, lr=lr)
        ...
        ...     def update(self, capture, parameter, gradient):
        ...         self.apply(capture, rule, parameter, gradient)
        >>> w = nn.Parameter(np.float32([1.0]))
        >>> (w * w).sum().backward()
        >>> SignDescent([w], lr=0.5).step()
        >>> w.data
        array([0.5], dtype=float32)
    """

    limits: Mapping[str, Limits] = {}

    def __init__(self, params: Iterable[Parameter] | Iterable[Mapping[str, Any]], **options: Any) -> None:
        if isinstance(params, Parameter | np.ndarray | Mapping) or not isinstance(params, Iterable):
            raise CallError(
                f"{self._name}: params is one {type(params).__name__}, expected model.parameters() or a list",
                code="arguments",
                help=f"write {self._name}(model.parameters())" if hasattr(params, "parameters") else "",
            )
        self.defaults = dict(Group(self._name, self.limits, options))
        self.param_groups: list[Group] = []
        self.steps, self.clocks = 0, Clocks()
        self._state: dict[tuple[Parameter, str], Variable] = {}
        self._numbers: dict[tuple[int, int, str], Variable] = {}
        self._clippings: list[ClipNorm | ClipValue] = []
        self._plans: LruCache[Plan] = LruCache()
        given = list(params)
        grouped = bool(given) and all(isinstance(g, Mapping) for g in given)
        for group in given if grouped else [{"params": given}]:
            self.add_param_group(group)  # type: ignore[arg-type]

    @property
    def _name(self) -> str:
        return type(self).__name__

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Change more parameters, with options of their own.

        Raises:
            CallError: no parameters, parameters that are there already, or options that the
                optimizer does not have.
        """
        options = dict(param_group)
        params = options.pop("params", ())
        given = [params] if isinstance(params, Parameter) else list(params)
        parameters = [_unnamed(p) for p in given]
        if not parameters:
            raise CallError(
                f"{self._name}: there are no parameters",
                code="arguments",
                help="pass the parameters of a model that has some",
            )
        for p in parameters:
            if not isinstance(p, Parameter):
                raise CallError(
                    f"{self._name}: {p!r} is no parameter", code="arguments", help="pass model.parameters()"
                )
        if len({*parameters, *self.parameters}) < len(parameters) + len(self.parameters):
            raise CallError(f"{self._name}: a parameter is listed twice", code="arguments")
        unknown = sorted(set(options) - set(self.defaults))
        if unknown:
            raise CallError(
                f"{self._name}: there is no option {unknown[0]!r}",
                code="arguments",
                help=f"a group may have {', '.join(self.defaults)}",
            )
        self.param_groups.append(Group(self._name, self.limits, self.defaults | options, parameters))
        self.clocks.add(parameters)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters, in the order of their groups."""
        return tuple(p for group in self.param_groups for p in group["params"])

    @property
    def lr(self) -> float:
        """The learning rate of the first group; setting it sets that of all."""
        return self.param_groups[0]["lr"]

    @lr.setter
    def lr(self, value: float) -> None:
        for group in self.param_groups:
            group["lr"] = value

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        """Append the assignments of one parameter and its state, usually by `apply`."""
        raise NotImplementedError(f"{self._name} has no update")

    def numbers(self, group: Group, step: int) -> Mapping[str, float]:
        """The scalars of an update of parameters, counted from 1: the options by name, elements of
        a tuple such as `betas` as `beta1` and `beta2`.
        """
        return group.numbers()

    def apply(
        self,
        capture: Capture,
        operator: ops.Op,
        parameter: Parameter,
        gradient: Symbolic,
        states: Sequence[str] = (),
        numbers: Sequence[str] = ("lr",),
        **constants: object,
    ) -> None:
        """Append operator(parameter, gradient, *states, *numbers), whose results are the next
        values of parameter and states.
        """
        variables = [parameter, *(self.state(parameter, name) for name in states)]
        scalars = [self.number(capture, parameter, name) for name in numbers]
        results = operator(
            capture.latest(parameter), gradient, *map(capture.variable, variables[1:]), *scalars, **constants
        )
        for variable, value in zip(
            variables, results if isinstance(results, tuple) else (results,), strict=True
        ):
            capture.assign(variable, value)

    def number(self, capture: Capture, parameter: Parameter, name: str) -> Symbolic:
        """A scalar of `numbers` of the parameter's group in a program, f64."""
        key = self._position(parameter), self.clocks[parameter], name
        if key not in self._numbers:
            self._numbers[key] = Variable(np.float64(0), name)
        return capture.variable(self._numbers[key])

    def group(self, parameter: Parameter) -> Group:
        """The group that a parameter is in."""
        return self.param_groups[self._position(parameter)]

    def _position(self, parameter: Parameter) -> int:
        return next(
            k for k, group in enumerate(self.param_groups) if any(p is parameter for p in group["params"])
        )

    def state_shape(self, parameter: Parameter, name: str) -> tuple[int, ...]:
        """The shape of a state: that of the parameter."""
        return parameter.shape

    def state(self, parameter: Parameter, name: str) -> Variable:
        """A variable of `state_shape`, at first `first_state`."""
        if (parameter, name) not in self._state:
            shape = self.state_shape(parameter, name)
            first = stored(np.full(shape, self.first_state(parameter, name)), parameter.dtype)
            self._state[parameter, name] = Variable(
                first, f"{parameter.name}_{name}", parameter.dtype, parameter.device
            )
        self._state[parameter, name].move(parameter.device)
        return self._state[parameter, name]

    def first_state(self, parameter: Parameter, name: str) -> float:
        """The value of all elements of a state before the first step."""
        return 0.0

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Self:
        """From now on, scale all gradients so that their norm as one vector is at most max_norm.
        Pascanu et al., 2013.
        """
        self._clippings.append(ClipNorm(max_norm, norm_type))
        return self

    def clip_grad_value_(self, clip_value: float) -> Self:
        """From now on, bring every element of gradients between -clip_value and clip_value."""
        self._clippings.append(ClipValue(clip_value))
        return self

    def append_updates(self, capture: Capture, gradients: Mapping[Parameter, Symbolic]) -> None:
        """Append the updates of all these parameters."""
        for clip in self._clippings:
            gradients = clip(capture, gradients)
        for parameter, gradient in gradients.items():
            uphill = self.group(parameter).get("maximize", False)
            self.update(capture, parameter, ops.negative(gradient) if uphill else gradient)  # type: ignore[arg-type]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients that `backward()` has added up.

        Args:
            set_to_none: False for gradients of 0, with which parameters are changed by decay and
                momentum; those without a gradient stay.
        """
        for p in self.parameters:
            p.forget_gradient(set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by the gradients that `backward()` has given them; those without a
        gradient stay.

        A closure is called first: it computes the loss, calls `backward()` and returns the loss,
        which is the result. A loop in Python on lazy tensors uses this. `Trainer` and
        `TrainingStep` compile the model, its gradients and this step as one.

        Raises:
            CallError: no parameter has a gradient; inside `tx.jit`.
        """
        if active_capture.get() is not None:
            raise CallError(
                f"{self._name}.step() while a program is captured",
                code="symbolic",
                help="nn.TrainingStep and nn.Trainer compile a model, its gradients and the update as one "
                "program",
            )
        loss = None if closure is None else closure()
        gradients = {p: p.grad for p in self.parameters if p.requires_grad and p.grad is not None}
        if not gradients:
            raise CallError(
                f"{self._name}: no parameter has a gradient",
                code="gradient",
                help="call backward() on the loss first",
            )
        key = self.structure(), tuple(gradients), self.clocks.those(gradients), Variable.moves
        plan = self._plans.get_or_make(key, lambda: self._step_on(tuple(gradients)))
        for k, gradient in enumerate(gradients.values()):
            plan.fill(k, gradient.realize().value)
        self.prepare()
        plan.compute()
        with deferred_interrupts:
            plan.commit()
            self.count(gradients)
        return loss

    def _step_on(self, parameters: Sequence[Parameter]) -> Plan:
        """A program that takes gradients and assigns to parameters."""
        capture = Capture("update")
        gradients = {p: capture.input(f"d{p.name}", p.shape, p.dtype) for p in parameters}
        with capture:
            self.append_updates(capture, gradients)
        return Plan(capture, [])

    def structure(self) -> tuple:
        """A key of everything that a captured step depends on, beside the clocks of parameters that
        it updates: which are trained, options that are no numbers.
        """
        groups = tuple(
            (tuple((p, p.requires_grad) for p in g["params"]), g.flags()) for g in self.param_groups
        )
        return groups, tuple(self._clippings)

    def count(self, parameters: Collection[Parameter]) -> None:
        """Count a step that updated these parameters."""
        self.steps += 1
        self.clocks.advance(parameters)

    def prepare(self) -> None:
        """Set the scalars of the next step."""
        values: dict[tuple[int, int], Mapping[str, float]] = {}
        for (position, clock, name), variable in self._numbers.items():
            if (position, clock) not in values:
                values[position, clock] = self.numbers(
                    self.param_groups[position], self.clocks.counts[clock] + 1
                )
            variable.data[...] = values[position, clock][name]

    def state_dict(self) -> dict[str, object]:
        """The number of steps, the options of the groups, and copies of the state, named by the
        parameter's position.
        """
        position = {p: k for k, p in enumerate(self.parameters)}
        groups = [{**g, "params": [position[p] for p in g["params"]]} for g in self.param_groups]
        state = {f"{position[p]}.{name}": v.numpy().copy() for (p, name), v in self._state.items()}
        return {"steps": self.steps, "updates": self.clocks.of(position), "param_groups": groups, **state}

    def load_state_dict(self, state_dict: Mapping[str, object]) -> None:
        """Take the values of `state_dict`.

        Raises:
            CheckpointError: they are of other parameters or another optimizer.
        """
        steps, groups = whole(self._name, "steps", state_dict.get("steps"), 0), state_dict.get("param_groups")
        shapes = [len(g["params"]) for g in self.param_groups]
        if not isinstance(groups, list) or [_count(g) for g in groups] != shapes:
            raise CheckpointError(
                f"{self._name}: the state is not of groups of {', '.join(map(str, shapes))} parameters",
                code="checkpoint",
            )
        updates = state_dict.get(
            "updates", [steps] * len(self.parameters)
        )  # files from before have no such counts
        if not isinstance(updates, list) or len(updates) != len(self.parameters):
            raise CheckpointError(
                f"{self._name}: the updates are not of {len(self.parameters)} parameters", code="checkpoint"
            )
        counts = [whole(self._name, "updates", count, 0) for count in updates]
        arrays = {
            name: np.asarray(value)
            for name, value in state_dict.items()
            if name not in ("steps", "updates", "param_groups")
        }
        for name, array in arrays.items():
            self._check_state(name, array)
        for group in groups:
            self._check_options(group)
        options = [
            Group(self._name, self.limits, {n: v for n, v in g.items() if n != "params"}) for g in groups
        ]
        for group, values in zip(self.param_groups, options):
            group.update(values)
        for name, array in arrays.items():
            position, _, kind = name.partition(".")
            state = self.state(self.parameters[int(position)], kind)
            state.data[...] = as_input(array, state.dtype).array
        self.steps = steps
        self.clocks.set(self.parameters, counts)

    def _check_options(self, group: Mapping[str, Any]) -> None:
        """Options of a group are numbers, pairs or truth values where those of the optimizer
        are.
        """
        for name, default in self.defaults.items():
            value = group.get(name, default)
            kinds = [
                bool if isinstance(v, bool) else len(v) if isinstance(v, list | tuple) else float
                for v in (value, default)
            ]
            if kinds[0] != kinds[1] or name not in group:
                found = f"is {value!r}" if name in group else "is missing"
                raise CheckpointError(f"{self._name}: the option {name} {found}", code="checkpoint")

    def _check_state(self, name: str, array: np.ndarray) -> None:
        position, _, kind = name.partition(".")
        if not position.isdecimal() or int(position) >= len(self.parameters) or not kind:
            raise CheckpointError(f"{self._name}: there is no state `{name}`", code="checkpoint")
        parameter = self.parameters[int(position)]
        shape, dtype = self.state_shape(parameter, kind), parameter.numbers().dtype
        if (array.shape, array.dtype) != (shape, dtype):
            raise CheckpointError(
                f"{self._name}: state `{name}` is {array.dtype}{list(array.shape)}, "
                f"expected {dtype}{list(shape)}",
                code="checkpoint",
            )

    def __repr__(self) -> str:
        return f"{self._name}(lr={self.lr}, {len(self.parameters)} parameters, {self.steps} steps)"


def _unnamed(given: Any) -> Any:
    """The parameter of a pair of `named_parameters()`."""
    named = isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str)
    return given[1] if named else given


def _count(group: object) -> int:
    """Number of parameters of a saved group; -1 where it is none."""
    params = group.get("params", ()) if isinstance(group, Mapping) else None
    return len(params) if isinstance(params, list | tuple) else -1
