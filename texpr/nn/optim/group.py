"""Groups of parameters: options by name, which may change between steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from texpr.nn.core.argument_checks import number
from texpr.nn.core.parameter import Parameter
from texpr.support.errors import CallError

Limits = tuple[float, float]
"""The least number that an option may be, and what it must be below."""


_PAIRS = {"betas": "(0.9, 0.999)", "etas": "(0.5, 1.2)", "step_sizes": "(1e-6, 50)"}
"""Options of two numbers, with an example."""


class Group(dict[str, Any]):
    """Parameters as "params", and options: numbers, tuples of numbers, truth values. What is set is
    checked.

    Raises:
        CallError: a value that is no finite number within its limits.
    """

    def __init__(
        self,
        owner: str,
        limits: Mapping[str, Limits],
        options: Mapping[str, Any],
        params: Sequence[Parameter] = (),
    ) -> None:
        super().__init__({"params": list(params)} if params else {})
        self._owner, self._limits = owner, limits
        self._known: tuple[tuple, dict[str, float], tuple[tuple[str, bool], ...]] = (), {}, ()
        self.update(options)

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(
            name, value if isinstance(value, bool) or name == "params" else self._checked(name, value)
        )

    def __reduce__(self) -> tuple:
        options = {name: value for name, value in self.items() if name != "params"}
        return Group, (self._owner, self._limits, options, self.get("params", ()))

    def update(self, *others: Any, **more: Any) -> None:
        """Set several options."""
        for name, value in dict(*others, **more).items():
            self[name] = value

    def _checked(self, name: str, value: Any) -> float | tuple[float, ...]:
        limits = self._limits.get(name, (0.0, float("inf")))
        if name in _PAIRS and not (isinstance(value, tuple | list) and len(value) == 2):
            raise CallError(
                f"{self._owner}: {name} is {value!r}, expected two numbers",
                code="arguments",
                help=f"{name}={_PAIRS[name]}",
            )
        if isinstance(value, tuple | list):
            return tuple(number(self._owner, f"{name}[{k}]", v, *limits) for k, v in enumerate(value))
        return number(self._owner, "the learning rate" if name == "lr" else name, value, *limits)

    def numbers(self) -> dict[str, float]:
        """All numbers by name; elements of a tuple `betas` are `beta1`, `beta2`."""
        return self._sorted()[1]

    def flags(self) -> tuple[tuple[str, bool], ...]:
        """The truth values by name."""
        return self._sorted()[2]

    def _sorted(self) -> tuple[tuple, dict[str, float], tuple[tuple[str, bool], ...]]:
        """All options with the numbers and the truth values of them, which are sought anew where
        an option has changed.
        """
        options = tuple(self.items())
        if options != self._known[0]:
            numbers = {n: v for n, v in options if isinstance(v, float)}
            numbers |= {
                f"{n.removesuffix('s')}{k + 1}": e
                for n, v in options
                if isinstance(v, tuple)
                for k, e in enumerate(v)
            }
            self._known = options, numbers, tuple((n, v) for n, v in options if isinstance(v, bool))
        return self._known
