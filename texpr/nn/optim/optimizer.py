"""What all optimizers share: parameters, state, and numbers that change from step to step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from texpr.graph import Capture, Symbolic, Variable
from texpr.ir.dtypes import DType, numpy_dtype
from texpr.nn.arguments import number, whole
from texpr.nn.parameter import Parameter
from texpr.support.errors import CallError, CheckpointError


class Optimizer:
    """Base of optimizers: `update` appends the new values of one parameter to a program, `numbers` gives this step's scalars.

    Args:
        params: the parameters to change, each once.
        lr: learning rate; a finite number of at least 0 (0 changes nothing). May be set between steps: `optimizer.lr *= 0.5`.
    Attributes:
        steps: how many steps were made.
    Raises:
        CallError: no parameters, something else among them, or a learning rate that is no such number.
    """

    def __init__(self, params: Iterable[Parameter], lr: float) -> None:
        if isinstance(params, Parameter | np.ndarray):
            raise CallError(f"{self._name}: params is one {type(params).__name__}, expected model.parameters() or a list", code="arguments")
        self.parameters: tuple[Parameter, ...] = tuple(params)
        for p in self.parameters:
            if not isinstance(p, Parameter):
                raise CallError(f"{self._name}: {p!r} is no parameter", code="arguments", help="pass model.parameters()")
        if not self.parameters:
            raise CallError(f"{self._name}: there are no parameters", code="arguments", help="pass the parameters of a model that has some")
        if len(set(self.parameters)) < len(self.parameters):
            raise CallError(f"{self._name}: a parameter is listed twice", code="arguments")
        self.lr = lr
        self.steps = 0
        self._state: dict[tuple[Parameter, str], Variable] = {}
        self._numbers: dict[tuple[str, DType], Variable] = {}

    @property
    def _name(self) -> str:
        return type(self).__name__

    @property
    def lr(self) -> float:
        """The learning rate."""
        return self._lr

    @lr.setter
    def lr(self, value: float) -> None:
        self._lr = number(self._name, "the learning rate", value)

    def update(self, capture: Capture, parameter: Parameter, gradient: Symbolic) -> None:
        """Append the assignments of one parameter and its state."""
        raise NotImplementedError(f"{self._name} has no update")

    def numbers(self, step: int) -> Mapping[str, float]:
        """The scalars of a step, counted from 1, that `number` stands for in the program."""
        return {"lr": self.lr}

    def number(self, capture: Capture, name: str, dtype: DType) -> Symbolic:
        """A scalar of `numbers` in a program."""
        if (name, dtype) not in self._numbers:
            self._numbers[name, dtype] = Variable(np.zeros((), numpy_dtype(dtype)), name)
        return capture.variable(self._numbers[name, dtype])

    def state(self, parameter: Parameter, name: str) -> Variable:
        """A variable of the parameter's shape, at first 0."""
        if (parameter, name) not in self._state:
            self._state[parameter, name] = Variable(np.zeros_like(parameter.data), f"{parameter.name}_{name}")
        return self._state[parameter, name]

    def prepare(self) -> None:
        """Set the scalars of the next step."""
        values = self.numbers(self.steps + 1)
        for (name, _), variable in self._numbers.items():
            variable.data[...] = values[name]

    def state_dict(self) -> dict[str, object]:
        """The number of steps, the learning rate, and copies of the state, named by the parameter's position."""
        position = {p: k for k, p in enumerate(self.parameters)}
        state = {f"{position[p]}.{name}": v.data.copy() for (p, name), v in self._state.items()}
        return {"steps": self.steps, "lr": self.lr, **state}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Take the values of `state_dict`.

        Raises:
            CheckpointError: they are of other parameters.
        """
        steps, lr = whole(self._name, "steps", state.get("steps"), 0), number(self._name, "lr", state.get("lr"))
        arrays = {name: np.asarray(value) for name, value in state.items() if name not in ("steps", "lr")}
        for name, array in arrays.items():
            self._check_state(name, array)
        for name, array in arrays.items():
            position, _, kind = name.partition(".")
            self.state(self.parameters[int(position)], kind).data[...] = array
        self.steps, self.lr = steps, lr

    def _check_state(self, name: str, array: np.ndarray) -> None:
        position, _, kind = name.partition(".")
        if not position.isdecimal() or int(position) >= len(self.parameters) or not kind:
            raise CheckpointError(f"{self._name}: there is no state `{name}`", code="checkpoint")
        like = self.parameters[int(position)].data
        if (array.shape, array.dtype) != (like.shape, like.dtype):
            raise CheckpointError(f"{self._name}: state `{name}` is {array.dtype}{list(array.shape)}, "
                                  f"expected {like.dtype}{list(like.shape)}", code="checkpoint")

    def __repr__(self) -> str:
        return f"{self._name}(lr={self.lr}, {len(self.parameters)} parameters, {self.steps} steps)"


def assign_all(capture: Capture, variables: Sequence[Variable], values: Sequence[Symbolic]) -> None:
    """Each variable its value."""
    for variable, value in zip(variables, values, strict=True):
        capture.assign(variable, value)
