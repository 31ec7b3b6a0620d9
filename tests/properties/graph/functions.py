"""Random functions of tensors: the same Python code for tensors with values, without them, and
in modules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import texpr as tx

Shape = tuple[int, ...]
SHAPES = [(), (1,), (3,), (4,), (2, 3), (3, 4), (1, 3), (4, 1), (3, 3), (2, 0)]
NUMBERS = [0, 1, 2, -3, 0.5, -1.5, True]


@dataclass(frozen=True)
class Step:
    """What is computed of earlier values, at these places of the list."""

    name: str
    compute: Callable[..., Any]
    of: tuple[int, ...]


@dataclass(frozen=True)
class Function:
    """A function of tensors of some shapes, which gives its last values.

    Attributes:
        exact: floats that are small multiples of 1/8 stay exact, in whichever order sums are added.
    """

    shapes: tuple[Shape, ...]
    dtypes: tuple[str, ...]
    steps: tuple[Step, ...]
    exact: bool
    many: int

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        values = list(inputs)
        for step in self.steps:
            values.append(step.compute(*(values[k] for k in step.of)))
        return tuple(values[-self.many :])

    def arrays(self) -> list[np.ndarray]:
        """Small multiples of 1/8, or of 1/7, none of them equal."""
        random, part = np.random.default_rng(len(self.steps)), 8 if self.exact else 7
        return [
            ((random.permutation(40)[: int(np.prod(s))] - 20) / part).reshape(s).astype(t)
            for s, t in zip(self.shapes, self.dtypes)
        ]

    def __repr__(self) -> str:
        return f"f({self.shapes}, {self.dtypes}): " + "; ".join(f"{s.name}{s.of}" for s in self.steps)


def _assigned(x: Any, y: Any) -> Any:
    new = x * 1
    new[0] = y
    return new


def _without(x: Any) -> Any:
    with tx.no_grad():
        y = x * x
    return y + x


def _along(x: Any) -> Any:
    total = x[0] * 0
    for k in range(x.shape[0]):
        total = total + x[k] * (k + 1)
    return total


def _cast(name: str) -> Callable[[Any], Any]:
    return lambda x: x.astype(name)


ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "neg": lambda x: -x,
    "abs": abs,
    "square": lambda x: x * x,
    "detached": lambda x: x * x.detach(),
    "without": _without,
    "clip": lambda x: x.clip(-1, 1.5),
    "kept": lambda x: tx.where(x > 0.5, x, x * 0.5),
    "copied": lambda x: x * 1,
}
ROUNDED: dict[str, Callable[[Any], Any]] = {
    "tanh": lambda x: x.tanh(),
    "exp": lambda x: (-abs(x)).exp(),
    "root": lambda x: (x * x + 0.5).sqrt(),
    "third": lambda x: x / 3,
    "inverse": lambda x: 1 / (x * x + 0.3),
    "sigmoid": lambda x: x.sigmoid(),
    "cubed": lambda x: x**3,
    "wide": _cast("f64"),
    "narrow": _cast("f32"),
}
MOVED: dict[str, Callable[[Any], Any]] = {
    "reversed": lambda x: x[::-1],
    "first": lambda x: x[0],
    "flat": lambda x: x.reshape(-1),
    "turned": lambda x: x.T,
    "longer": lambda x: x[None],
    "chosen": lambda x: x[np.array([0, -1, 0])],
    "along": _along,
    "whole": lambda x: x.astype("i32") + x,
}
REDUCED: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "rows": lambda x: x.sum(0),
    "kept rows": lambda x: x.sum(-1, keepdims=True),
    "max": lambda x: x.max(0),
    "product": lambda x: x @ x.T,
}
PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "largest": lambda x, y: tx.where(x > y, x, y),
    "apart": lambda x, y: x * y - y * x,
    "fused": lambda x, y: x * y + x,
}


@st.composite
def functions(draw: Callable, *, sums: bool = True, rounded: bool = True, most: int = 6) -> Function:
    """Functions that are defined for their shapes.

    Args:
        sums: they may add elements of tensors.
        rounded: they may compute what is rounded.
    """
    count = draw(st.integers(1, 3))
    shapes = tuple(draw(st.sampled_from(SHAPES[:-1] if sums else SHAPES)) for _ in range(count))
    dtypes = tuple(draw(st.sampled_from(["f4", "f8"] if rounded else ["f8"])) for _ in range(count))
    known: list[Shape] = list(shapes)
    steps: list[Step] = []
    exact = not rounded
    for _ in range(draw(st.integers(1, most))):
        steps.append(_step(draw, known, sums, rounded))
    return Function(shapes, dtypes, tuple(steps), exact, draw(st.integers(1, min(2, len(steps)))))


def _step(draw: Callable, known: list[Shape], sums: bool, rounded: bool) -> Step:
    """Draw a step and note the shape of its value."""
    table = [
        *ELEMENTWISE.items(),
        *MOVED.items(),
        *(ROUNDED.items() if rounded else ()),
        *(REDUCED.items() if sums else ()),
    ]
    if draw(st.booleans()):
        name, compute = draw(st.sampled_from(list(PAIRS.items())))
        of = (draw(st.integers(0, len(known) - 1)), draw(st.integers(0, len(known) - 1)))
    elif draw(st.integers(0, 3)) == 0:
        number = draw(st.sampled_from(NUMBERS))
        name, of = f"{number} * ", (draw(st.integers(0, len(known) - 1)),)
        compute = lambda x: number * x + number  # noqa: E731
    elif draw(st.integers(0, 4)) == 0:
        name, compute = "assigned", _assigned
        of = (draw(st.integers(0, len(known) - 1)), draw(st.integers(0, len(known) - 1)))
    else:
        name, compute = draw(st.sampled_from(table))
        of = (draw(st.integers(0, len(known) - 1)),)
    shape = _shape(compute, [known[k] for k in of])
    if shape is None:
        name, compute, of = "copied", ELEMENTWISE["copied"], of[:1]
        shape = known[of[0]]
    known.append(shape)
    return Step(name, compute, of)


def _shape(compute: Callable[..., Any], shapes: Sequence[Shape]) -> Shape | None:
    """The shape of a value; None where there is none."""
    try:
        found = compute(*(tx.tensor(np.ones(s)) for s in shapes)).shape
    except (tx.Error, IndexError, TypeError):
        return None
    return found if np.prod(found) <= 64 and len(found) < 4 else None


UNARY = {
    "-{}": "-{}",
    "abs({})": "abs({})",
    "tanh({})": "{}.tanh()",
    "sqrt(abs({}) + 0.5)": "(abs({}) + 0.5).sqrt()",
    "exp(-abs({}))": "(-abs({})).exp()",
    "({} / 3)": "({} / 3)",
    "sin({})": "{}.sin()",
    "floor({})": "{}.floor()",
}
BINARY = {f"({{}} {sign} {{}})": f"({{}} {sign} {{}})" for sign in "+-*"} | {
    "({} / (abs({}) + 0.5))": "({} / (abs({}) + 0.5))",
    "max({}, {})": "tx.ops.maximum({}, {})",
    "(if {} < {} then 2.5 else X[i])": "tx.where({} < {}, 2.5, X)",
}


@st.composite
def expressions(draw: Callable, depth: int = 4) -> tuple[str, str]:
    """An expression of the elements of X and Y in the language, and the same of tensors in
    Python.
    """
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        name = draw(st.sampled_from("XY"))
        return f"{name}[i]", name
    table, count = (UNARY, 1) if draw(st.booleans()) else (BINARY, 2)
    text, code = draw(st.sampled_from(list(table.items())))
    parts = [draw(expressions(depth=depth - 1)) for _ in range(count)]
    return text.format(*(p[0] for p in parts)), code.format(*(p[1] for p in parts))
