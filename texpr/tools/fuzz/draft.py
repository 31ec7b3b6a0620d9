"""A random operator while it is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random


@dataclass(slots=True)
class Draft:
    """An operator as far as it is written.

    Attributes:
        tensors: name -> its dimensions, as text.
        over: index in scope -> the size it runs over from 0, "" where it runs otherwise.
    """

    rng: Random
    dtype: str
    sizes: list[str]
    tensors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    over: dict[str, str] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    binders: int = 0

    def one_of(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def maybe(self, share: float) -> bool:
        return self.rng.random() < share

    def type_of(self, shape: tuple[str, ...]) -> str:
        return f"{self.dtype}[{', '.join(shape)}]" if shape else self.dtype

    def input(self, name: str, shape: tuple[str, ...]) -> None:
        """One more input."""
        self.tensors[name] = shape
        self.inputs.append(f"{name}: {self.type_of(shape)}")

    def inputs_for_sizes(self) -> None:
        """One more input for the sizes that no other one has."""
        missing = [n for n in self.sizes if all(n not in shape for shape in self.tensors.values())]
        if missing:
            self.input("Z", tuple(missing))

    def element(self, name: str) -> str:
        """The left side of an equation for all elements in scope."""
        return f"{name}[{', '.join(self.over)}]" if self.over else name
