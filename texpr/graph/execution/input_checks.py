"""Checks of the values that a program's inputs must have: ranges, and rows of distinct values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from texpr.graph.capture.variable import Variable, array_of
from texpr.graph.execution.interface import Interface
from texpr.graph.execution.placement import to_host
from texpr.ir.build import integer
from texpr.ir.expr import Tensor
from texpr.runtime.call.spec import Check, DistinctCheck, RangeCheck
from texpr.runtime.call.value_checks import DTYPES as CHECKED

Range = tuple[Tensor, RangeCheck]


class InputChecks:
    """The checks of one program. Values of constants are checked when it is made, others in every
    run.

    Attributes:
        native: ranges that native code checks.
        checked: data inputs whose values were checked when they were given.
    Raises:
        CallError: a constant outside of its range.
    """

    def __init__(self, interface: Interface, on_host: bool) -> None:
        self.native: list[Range] = []
        self.checked: set[Tensor] = set()
        self._others: list[tuple[Tensor, Check, Variable | None]] = []
        rows = interface.distinct_rows
        for tensor, value in interface.constants.items():
            for check in _checks_of(tensor, rows.get(tensor, ())):
                check([value], {})
        variable_of = {t: v for v, t in interface.variables.items()}
        for tensor in (*interface.data, *variable_of):
            for check in _checks_of(tensor, rows.get(tensor, ())):
                if (
                    on_host
                    and isinstance(check, RangeCheck)
                    and f"{tensor.dtype.kind}{tensor.dtype.bits}" in CHECKED
                ):
                    self.native.append((tensor, check))
                else:
                    self._others.append((tensor, check, variable_of.get(tensor)))

    @property
    def all_native(self) -> bool:
        """True if native code makes all checks."""
        return not self._others

    def check(self, tensor: Tensor, array: Any) -> None:
        """Check the values that a data input is going to have."""
        checks = [check for t, check, _ in self._others if t is tensor]
        if checks:
            values = to_host(array)
            for check in checks:
                check([values], {})
            self.checked.add(tensor)

    def forget(self, tensor: Tensor) -> None:
        """A data input is about to have other values."""
        self.checked.discard(tensor)

    def check_rest(self, known: Collection[Tensor], value_of: Callable[[Tensor], Any]) -> None:
        """Check, but for the tensors that are `known`, all inputs that native code does not.

        Args:
            value_of: gives the array of a data input.
        """
        for tensor, check, variable in self._others:
            if tensor not in known:
                check([to_host(value_of(tensor) if variable is None else array_of(variable))], {})


def _checks_of(tensor: Tensor, rows: Iterable[int]) -> Iterator[Check]:
    """Checks of an input's values in each call."""
    if tensor.value_range is not None:
        lo, hi = (integer(e) for e in tensor.value_range)
        yield RangeCheck(0, tensor.name, lo, hi)  # type: ignore[arg-type]
    for row in rows:
        yield DistinctCheck(0, tensor.name, row)
