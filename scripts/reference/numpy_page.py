"""The page of NumPy's functions: what each gives for tensors, by calls that are made."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import texpr as tx
from scripts.reference.docstrings import filled
from scripts.reference.numpy_calls import (
    CALLS,
    Call,
    given,
    of_universal,
    public_functions,
    universal_functions,
)

TENSOR, FACTS, VALUES, REFUSED = "tensors", "facts", "values", "refused"
HEADS = {
    TENSOR: (
        "Operators",
        "These give tensors: they are operators, compiled, recorded in traced functions, and gradients flow "
        "through them where they have derivatives.",
    ),
    FACTS: (
        "Answers that are no arrays",
        "These give what NumPy gives: shapes, truth values, names of types.",
    ),
    VALUES: (
        "NumPy's own, on values",
        "These compute the tensor and give NumPy's result for its values: arrays, not tensors. Where the tensor "
        "requires a gradient and the result has floats, they raise `tx.CallError`: none would flow. In a traced "
        "function, where there are no values yet, they raise it too.",
    ),
    REFUSED: (
        "Refused",
        "These raise `tx.CallError`: they write into their argument, or tensors have no such function. "
        "`np.asarray(x)` gives the values.",
    ),
}


class Outcome(NamedTuple):
    """A function of NumPy's called on arrays and on tensors."""

    name: str
    kind: str
    expected: Any
    found: Any


def leaves(value: Any) -> list[Any]:
    """The results of a call in order."""
    if isinstance(value, tuple | list):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


def every_call() -> Iterator[tuple[str, Call]]:
    """The names of all functions with a call of each."""
    for name in public_functions():
        yield name, CALLS[name]
    for name in universal_functions():
        yield name, of_universal(name)


def outcome(name: str, call: Call) -> Outcome:
    """What a function gives for arrays, and for tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = call(given(lambda a: a))
        try:
            found = call(given(tx.tensor))
        except tx.CallError as error:
            return Outcome(name, REFUSED, expected, error)
    parts = leaves(found)
    if any(isinstance(x, tx.Tensor) for x in parts):
        return Outcome(name, TENSOR, expected, found)
    of_numpy = any(isinstance(x, np.ndarray | np.generic) for x in parts)
    return Outcome(name, VALUES if of_numpy else FACTS, expected, found)


def numpy_page() -> str:
    """The page as text."""
    found: dict[str, list[str]] = {kind: [] for kind in HEADS}
    for name, call in every_call():
        found[outcome(name, call).kind].append(name)
    count = sum(map(len, found.values()))
    parts = [
        "# NumPy's functions of tensors",
        filled(
            f"What the {count} public functions of `numpy`, `numpy.linalg` and `numpy.fft` that take arrays do with "
            "tensors and parameters. Functions of dates and files are left out. Names are those of "
            f"NumPy {'.'.join(np.__version__.split('.')[:2])}; a few arguments of a function may be without an operator, "
            "such as `order=`: then NumPy's own function computes on the values."
        ),
        "Written by `python -m scripts.reference` from calls of all of them.",
    ]
    for kind, (head, text) in HEADS.items():
        parts += [f"## {head}: {len(found[kind])}", filled(text), _table(found[kind])]
    return "\n\n".join([*parts, filled(_METHODS)]) + "\n"


def _table(names: list[str]) -> str:
    """Names by their first letter, those of `linalg` and `fft` by themselves, few in a row."""
    rows: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda n: (n.count("."), n.lower())):
        rows.setdefault(name.partition(".")[0] if "." in name else name[0], []).append(f"`{name}`")
    lines = ["| | functions |", "|---|---|"]
    for key, of in rows.items():
        lines += [f"| {'' if k else key} | {', '.join(of[k : k + 7])} |" for k in range(0, len(of), 7)]
    return "\n".join(lines)


_METHODS = (
    "Of universal functions, `reduce` (of `add`, `multiply`, `maximum`, `minimum`, `logical_and`, `logical_or`), "
    "`accumulate` (of the first four) and `outer` give tensors; `dtype=` converts operands first. `out=`, `where=`, "
    "`at` and `reduceat` are refused."
)
