"""Parameters: variables that an optimizer changes."""

from __future__ import annotations

from texpr.graph import Variable


class Parameter(Variable):
    """A variable that training changes, unless `requires_grad` is False.

    Assign it to an attribute of a module to register it there.
    """

    __slots__ = ("requires_grad",)

    def __init__(self, data: object, requires_grad: bool = True, name: str = "parameter") -> None:
        super().__init__(data, name)
        self.requires_grad = requires_grad
